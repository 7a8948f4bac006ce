"""The loop that grows a tree, and what it does to a node."""
