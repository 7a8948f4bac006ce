"""Risks and gains of sets of samples."""
