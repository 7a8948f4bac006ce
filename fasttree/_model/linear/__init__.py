"""Linear models in the nodes of a tree."""
