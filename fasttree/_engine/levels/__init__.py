"""The best trees of one and two levels of a node: headers of `optimal.pyx`."""
