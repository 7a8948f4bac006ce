"""The best cut of one feature in one node."""
