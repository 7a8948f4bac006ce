"""What estimators share: parameters, fitting, pruning, reading, exporting."""
