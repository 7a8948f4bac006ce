"""The samples of a rule set, in the original's precision, and what it knows of all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

F = np.float32
LEAST_SIDE = 3


@dataclass
class Problem:
    """Samples, and the options of a fit.

    `columns` are float32 arrays, or for a nominal feature codes 0, 1, ... of its `sizes` categories; none is missing.
    """

    columns: list[np.ndarray]
    sizes: list[int]  # 0 for a continuous feature
    y: np.ndarray
    max_rules: int = 100
    extrapolation: float = 0.05
    unbiased: bool = False
    mean: np.ndarray = field(init=False)
    deviation: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.n, self.d = len(self.y), len(self.columns)
        self.y = self.y.astype(F)
        y = self.y.astype(float)
        self.continuous = [j for j in range(self.d) if not self.sizes[j]]
        self.unit = 1 / (10 * fraction_base(self.y))
        self.deviation_of_all = deviation(self.n, y.sum(), (y * y).sum(), 0.0)
        self.mean_of_all = y.mean()
        least, largest = self.y.min(), self.y.max()
        self.floor, self.ceiling = bounds(least, largest, self.extrapolation)
        m = min(20, round(self.n / 100))
        if m > self.n / self.max_rules:
            m = int(self.n / self.max_rules)
        self.least_cover = max(m, LEAST_SIDE)
        self._describe_features()

    def _describe_features(self) -> None:
        self.mean, self.deviation = np.zeros(self.d, F), np.ones(self.d, F)
        self.preference, self.units, self.least = np.zeros(self.d, F), np.ones(self.d), np.zeros(self.d)
        mean_of_y = rounded_mean(self.y)
        for j in self.continuous:
            x = self.columns[j]
            wide = x.astype(float)
            self.mean[j] = rounded_mean(x)
            square = np.cumsum(x * x, dtype=float)[-1]
            self.deviation[j] = np.sqrt(max((square - wide.sum() ** 2 / self.n) / (self.n - 1), 0.0)) + 1e-6
            known = x != self.mean[j]
            same = np.count_nonzero(((x > self.mean[j]) == (self.y > mean_of_y))[known])
            n = np.count_nonzero(known)
            self.preference[j] = (2 * max(same, n - same) - n) / self.n
            self.least[j] = 0.01 * self.deviation_of_all / self.deviation[j]
            while self.least[j] > 0 and self.units[j] > self.least[j]:
                self.units[j] /= 10


def fraction_base(values: np.ndarray) -> int:
    """Return the smallest power of ten with which all values, printed in single precision, become whole."""
    decimals = 0
    for value in np.unique(values).tolist():
        text = f"{float(f'{value:.7g}'):f}" if abs(value) < 1e16 else "0"
        decimals = max(decimals, len(text.partition(".")[2].rstrip("0")))
    return 10 ** min(decimals, 6)


def rounded_mean(values: np.ndarray) -> np.float32:
    precision = 10 * fraction_base(values)
    return F(np.floor(values.astype(float).mean() * precision + 0.1) / precision)


def bounds(least: np.float32, largest: np.float32, extrapolation: float) -> tuple[np.float32, np.float32]:
    """Return how far predictions go: beyond the range by a share of it, but not beyond 0."""
    margin = F(extrapolation) * (largest - least)
    lower, upper = least - margin, largest + margin
    return F(0) if lower < 0 <= least else lower, F(0) if upper > 0 >= largest else upper


def deviation(n: float, total: float, square: float, of_all: float) -> float:
    return of_all if n < 2 else np.sqrt((square - total * total / n + 1e-3) / (n - 1))


def estimated(error: float, n: float, parameters: float) -> float:
    parameters = min(parameters, n - 1)
    return error * (n + parameters) / (n - parameters)
