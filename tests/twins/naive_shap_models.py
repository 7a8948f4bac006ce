"""Shapley values of a model by their definition: every set of its features is evaluated."""

from __future__ import annotations

import math

import numpy as np


def by_sets(predict, X, others, used):
    """Return the Shapley values of arrays of samples, shape (n_samples, n_features); `used` are the features that may count."""
    values, m = np.zeros(X.shape), len(used)
    for row, x in enumerate(X):
        worth = np.empty(2**m)
        for chosen in range(2**m):
            mixed = others.copy()
            for i, j in enumerate(used):
                if chosen >> i & 1:
                    mixed[:, j] = x[j]
            worth[chosen] = predict(mixed).mean()
        for chosen in range(2**m):
            for i, j in enumerate(used):
                if not chosen >> i & 1:
                    weight = 1 / (m * math.comb(m - 1, chosen.bit_count()))
                    values[row, j] += weight * (worth[chosen | 1 << i] - worth[chosen])
    return values
