"""Bounds on gains, and the search that they shorten."""
