"""Linear models in the leaves of a tree, in the page."""
