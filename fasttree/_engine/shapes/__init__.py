"""Loops and trees of the rounds of additive models."""
