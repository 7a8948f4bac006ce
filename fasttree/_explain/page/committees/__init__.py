"""The page of rules with linear models."""
