"""Packed trees: nodes of 16 bytes behind one another, their walks and their verification."""
