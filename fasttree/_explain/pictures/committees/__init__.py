"""Pictures of rules with linear models."""
