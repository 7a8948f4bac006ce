"""Linear models in the nodes of a grown tree."""
