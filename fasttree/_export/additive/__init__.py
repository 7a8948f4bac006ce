"""Additive models for other programs: text, SQL, Python and C."""
