"""Rules with linear models: trees of residuals, rules of their leaves, committees, neighbours."""
