"""Deterministic tables of any size.

`signal` has distinct values and something to learn, `noise` has nothing to learn, `covtype_like` has few values per column, most
of them 0 or 1, and `nominal` has codes of categories.  The order of the random draws must not change, because figures of other
dates are compared.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats32 = NDArray[np.float32]
Floats = NDArray[np.float64]
Classes = NDArray[np.int64]


def signal(n_samples: int, n_features: int = 28, seed: int = 0, dtype: str = "float32") -> tuple[NDArray[Any], Classes, Floats]:
    """Return X in C order, each column a permutation of distinct normal quantiles; y of two classes; a regression target.

    Eleven features matter, by products, a step and a sine among others; the Bayes error is far from 0.  In float64 the quantiles
    are not rounded; the targets are those of float32.
    """
    if n_features < 11:
        raise ValueError(f"n_features={n_features}: must be at least 11, the number of features in the target")
    rng = np.random.default_rng(seed)
    quantiles = ndtri((np.arange(n_samples) + 0.5) / n_samples)
    X = np.empty((n_samples, n_features), dtype)
    for column in X.T:
        column[:] = quantiles[rng.permutation(n_samples)]
    x = X[:, :11].astype(np.float32).astype(np.float64).T
    logit = (
        1.2 * x[0] * x[1]
        + np.sin(2 * x[2])
        + 0.8 * (x[3] > 0.3) * x[4]
        + 0.5 * np.abs(x[5])
        - 0.4 * x[6] ** 2
        + 0.7 * x[7]
        + 0.3 * x[8] * x[9] * x[10]
    )
    logit -= logit.mean()
    y = (rng.random(n_samples) < 1 / (1 + np.exp(-1.5 * logit))).astype(np.int64)
    return X, y, logit + rng.normal(size=n_samples)


def noise(n_samples: int, n_features: int = 28, seed: int = 0) -> tuple[Floats32, Classes]:
    """Return the X of `signal`, and classes that do not depend on it."""
    X, _, _ = signal(n_samples, n_features, seed)
    return X, np.random.default_rng(5).integers(0, 2, n_samples)


def covtype_like(n_samples: int, seed: int = 7) -> tuple[Floats32, Classes]:
    """Return X of 10 columns of small integers and 4 + 40 one-hot columns, as in forest cover; y of 7 unequal classes."""
    rng = np.random.default_rng(seed)

    def bounded(values: NDArray[Any], low: int, high: int) -> Floats:
        return np.clip(np.rint(values), low, high)

    elevation = bounded(rng.normal(2960, 280, n_samples), 1859, 3858)
    aspect = rng.integers(0, 361, n_samples)
    slope = bounded(rng.gamma(3.5, 4.0, n_samples), 0, 66)
    water = bounded(30 * np.abs(rng.normal(0, 9, n_samples)), 0, 1397)
    height_over_water = bounded(0.15 * water + rng.normal(0, 30, n_samples), -173, 601)
    road = bounded(rng.gamma(2.2, 1070, n_samples), 0, 7117)

    def shade(level: float, slant: float, sun: float) -> Floats:
        lit = slant * np.cos(np.deg2rad(aspect - sun)) * slope / 14 * 20
        return bounded(level + lit + rng.normal(0, 6, n_samples), 0, 254)

    shades = [shade(212, 1.0, 80), shade(223, 0.5, 180), shade(142, -1.0, 90)]
    fire = bounded(rng.gamma(2.3, 860, n_samples), 0, 7173)
    area = (rng.random(n_samples) * 4 * (1 + 0.1 * (elevation > 3100))).astype(int).clip(0, 3)
    soil = bounded((elevation - 1859) / 2000 * 30 + rng.normal(0, 4, n_samples) + 3 * area, 0, 39).astype(int)

    X = np.zeros((n_samples, 54), np.float32)
    X[:, :10] = np.column_stack([elevation, aspect, slope, water, height_over_water, road, *shades, fire])
    rows = np.arange(n_samples)
    X[rows, 10 + area] = 1
    X[rows, 14 + soil] = 1

    score = np.column_stack(
        [
            (elevation - 3100) / 150 - 0.3 * (water > 300),
            0.9 - np.abs(elevation - 2900) / 220 + 0.2 * (road > 2000),
            (2450 - elevation) / 140 + 0.5 * (slope > 18),
            (2300 - elevation) / 80,
            -0.7 - np.abs(elevation - 2780) / 90 + 0.6 * (aspect < 120),
            (2430 - elevation) / 150 + 0.4 * (shades[0] > 215) - 0.3,
            (elevation - 3330) / 110 - 0.2 + 0.5 * (area == 2),
        ]
    )
    score += 0.35 * np.sin(soil)[:, None] * np.arange(7) / 6
    score += 0.25 * np.sin(fire / 700)[:, None] * np.array([1, -1, 0, 0, 1, 0, -1])
    return X, (score + rng.gumbel(0, 0.22, (n_samples, 7))).argmax(axis=1)


def nominal(n_samples: int, seed: int = 0) -> tuple[NDArray[np.uint8], Classes]:
    """Return 20 columns of codes of 3 to 30 categories, and two classes that depend on seven of the columns."""
    rng = np.random.default_rng(seed)
    sizes = [3, 4, 5, 6, 8, 10, 12, 15, 20, 30] * 2
    X = np.empty((n_samples, len(sizes)), np.uint8)
    score = np.zeros(n_samples)
    for j, size in enumerate(sizes):
        X[:, j] = rng.integers(0, size, n_samples)
        if j % 3 == 0:
            score += rng.normal(0, 0.5, size)[X[:, j]]
    return X, (score + rng.normal(size=n_samples) > 0).astype(np.int64)
