"""The interactive page: one HTML file with the tree, its style and its script."""
