"""What the estimators of additive models share."""
