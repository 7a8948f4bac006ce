"""Sets of values of a discrete attribute, found greedily by merging (option -s)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .growing import Candidate, Growth, gain_of, information, lg, single
from .problem import Rows, Test

OCCURS = 0.0001  # weight above which a value occurs
ALIKE = 0.001  # by which class shares of two values that merge may differ
STEP = 0.0001  # by which the gain of a later pair must be larger


@dataclass
class Sets:
    """Disjoint sets of values with their class weights."""

    missing: NDArray[Any]
    values: list[frozenset[int]]
    tables: list[NDArray[Any]]

    def gain(self, cases: float) -> float:
        return gain_of(np.array([self.missing, *self.tables]), cases)

    def info(self, cases: float) -> float:
        return float(information(np.array([t.sum() for t in [self.missing, *self.tables]])) / cases)

    def merged(self, i: int, j: int) -> Sets:
        values, tables = self.values.copy(), self.tables.copy()
        values[i], tables[i] = values[i] | values[j], tables[i] + tables[j]
        del values[j], tables[j]
        return Sets(self.missing, values, tables)

    def n_reasonable(self, minimum: float) -> int:
        return sum(bool(t.sum() >= minimum) for t in self.tables)


@cache
def stirling(n: int, k: int) -> float:
    """Return the number of ways to put n things into k sets that are not empty."""
    if k in (1, n):
        return 1.0
    return stirling(n - 1, k - 1) + k * stirling(n - 1, k)


def price(n: int, k: int) -> float:
    ways = stirling(n, k)
    return (n - k + 1) * lg(k) if np.isinf(ways) else lg(ways)


def subset_candidate(growth: Growth, rows: Rows, cases: float, attribute: int, limit: float) -> Candidate | None:
    table = growth.by_value(rows, attribute)
    sizes = table.sum(axis=1)
    if not (sizes[1:] >= growth.minimum).any():
        return None
    known = cases - float(sizes[0])
    values = [v for v in range(1, len(table)) if sizes[v] > OCCURS]
    sets = Sets(table[0], [frozenset([v]) for v in values], [table[v] for v in values])
    if len(values) < 2:
        return None
    n_first = len(values)
    best, best_gain, best_info = sets, sets.gain(cases), sets.info(cases)
    best_value = best_gain / best_info
    start = 1 if 1 in values else 0  # "not applicable" is never merged

    def judge(sets: Sets) -> None:
        nonlocal best, best_gain, best_info, best_value
        gain, info, bits = sets.gain(cases), sets.info(cases), price(n_first, len(sets.tables))
        value = (gain - bits / cases) / info if info > 0 else -np.inf
        if value >= best_value:
            best, best_gain, best_info, best_value = sets, gain - bits / known, info, value

    i = start
    while i < len(sets.tables) - 1:
        j = i + 1
        while j < len(sets.tables):
            shares = [sets.tables[b] / sets.tables[b].sum() for b in (i, j)]
            if (np.abs(shares[0] - shares[1]) < ALIKE).all():
                sets = sets.merged(i, j)
            else:
                j += 1
        i += 1
    if len(sets.tables) < n_first and len(sets.tables) >= 2 and sets.n_reasonable(growth.minimum) >= 2:
        judge(sets)
    while len(sets.tables) > 2:
        heavy = [b for b, t in enumerate(sets.tables) if t.sum() >= growth.minimum]
        found, found_gain = None, -np.inf
        for i in range(start, len(sets.tables)):
            for j in range(i + 1, len(sets.tables)):
                if len(heavy) == 2 and [i, j] == heavy:
                    continue
                tried = sets.merged(i, j)
                gain = tried.gain(cases)
                if found is None or gain > found_gain + STEP:
                    found, found_gain = tried, gain
        if found is None:
            break
        sets = found
        judge(sets)
    left = frozenset(range(1, len(table))).difference(*best.values)
    test = Test("subset", attribute, sets=[*best.values, left] if left else best.values)
    return Candidate(test, single(best_gain), single(best_info), len(test.sets))
