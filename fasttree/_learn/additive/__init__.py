"""Additive models of trees: bins, bags, rounds of boosting, pairs of features."""
