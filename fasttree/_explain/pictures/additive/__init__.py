"""Pictures of additive models."""
