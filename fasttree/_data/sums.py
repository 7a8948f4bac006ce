"""Sums over samples, rounded once and therefore independent of the order of the samples."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fasttree._engine import passes

__all__ = ["nearest", "sum_of_sizes", "sums_of_sizes", "units_of_sizes"]

Floats = npt.NDArray[np.float64]

UNITS_OF_ONE = 2**1074  # the unit is the smallest positive double
FEW_TERMS = 128  # which Python adds up sooner
MOST_TERMS = 2**30  # of one pass: half of what the digits of a sum can hold


def sum_of_sizes(values: Floats) -> float:
    """Return the double nearest to the exact sum of ``abs(values)``, infinity if it is too large.

    `values` has shape (n,) and is finite.
    """
    if len(values) <= FEW_TERMS:
        try:
            return math.fsum(np.abs(values).tolist())  # rounded once, too
        except OverflowError:
            return math.inf
    return float(sums_of_sizes(values, None, 1)[0])


def sums_of_sizes(values: Floats, group: npt.NDArray[np.intp] | None, n_groups: int) -> Floats:
    """Return such sums by group, shape (n_groups,); `group` is the group of each value, or None if all are in the first."""
    return np.array([nearest(units) for units in units_of_sizes(values, group, n_groups)])


def units_of_sizes(values: Floats, group: npt.NDArray[np.intp] | None, n_groups: int) -> list[int]:
    """Return exact sums by group as integers, of which `nearest` makes doubles; sums of parts of the values can be added."""
    whole = [0] * n_groups
    for start in range(0, len(values), MOST_TERMS):
        part = slice(start, start + MOST_TERMS)
        digits = np.zeros((n_groups, passes.DIGITS_OF_SUM), dtype=np.int64)
        passes.add_sizes(values[part], None if group is None else group[part], digits)
        for i, row in enumerate(digits.tolist()):
            whole[i] += sum(digit << 32 * place for place, digit in enumerate(row) if digit)
    return whole


def nearest(units: int) -> float:
    """Return the double nearest to an exact sum, infinity if it is too large."""
    try:
        return units / UNITS_OF_ONE  # Python rounds the quotient of two integers once
    except OverflowError:
        return float("inf")
