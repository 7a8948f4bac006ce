"""The ways of samples through a finished tree."""
