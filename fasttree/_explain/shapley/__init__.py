"""Shapley values of what predicts by linear models."""
