"""The page of an additive model."""
