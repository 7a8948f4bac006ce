"""Lines in a node: least squares, and cuts judged by lines on both sides."""
