"""A compact tree for servers; it needs only NumPy."""
