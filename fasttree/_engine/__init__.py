"""The engine: what is called per row, per candidate and per node, compiled."""
