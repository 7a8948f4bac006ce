"""Fitted additive models."""
