"""Decision trees: grown exactly, fast, and made to be read."""
