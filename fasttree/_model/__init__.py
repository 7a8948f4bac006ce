"""Fitted models: the tree, its conditions, paths and texts, independent of how a tree is grown."""
