"""Rules with linear models for other programs."""
