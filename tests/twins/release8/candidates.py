"""The splits with which attributes compete, and what they are worth (Quinlan 1993, chapters 2 and 3; Quinlan 1996)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arithmetic import EPSILON, GAP, Arithmetic, Rows, logarithm, xlgx
from .problem import Options, Table, Test

MANY_VALUES = 0.3  # of the cases: an attribute with so many values stays out of the average gain
LARGEST_SIDE = 25.0


@dataclass(frozen=True)
class Candidate:
    """The split with which an attribute competes."""

    test: Test
    gain: Any
    info: Any


@dataclass
class Growth:
    """What stays the same in all nodes; only the original's slip with subsets ever changes `minimum`."""

    table: Table
    options: Options
    arithmetic: Arithmetic
    minimum: float

    def has_many_values(self, attribute: int) -> bool:
        return self.table.n_values[attribute] >= MANY_VALUES * len(self.table)


def worth(growth: Growth, gain: Any, info: Any, least_gain: Any) -> float:
    if growth.options.gain:
        return float(gain) if info > 0 and gain > -EPSILON else -EPSILON
    if float(gain) >= float(least_gain) - EPSILON and float(info) > EPSILON:
        return float(growth.arithmetic.round(gain / info))
    return -EPSILON


# A branch for every value


def values_candidate(growth: Growth, rows: Rows, cases: Any, attribute: int) -> Candidate | None:
    """A branch for every declared value."""
    a = growth.arithmetic
    table = value_table(growth, rows, attribute)
    gain = gain_of_branches(growth, table[0], table[1:], cases, known_base(a, table, cases))
    return None if gain is None else Candidate(Test("values", attribute), gain, info_of_branches(a, table, cases))


def value_table(growth: Growth, rows: Rows, attribute: int) -> NDArray[Any]:
    """Weights by value and class, (n_values + 1, n_classes); row 0 is for missing values."""
    n_codes = growth.table.n_values[attribute] + 1
    return growth.arithmetic.by_class(rows, growth.table.columns[attribute][rows], n_codes)


def row_sums(table: NDArray[Any]) -> Any:
    """Class weights added in class order."""
    return np.add.accumulate(table, axis=-1)[..., -1]


def known_base(a: Arithmetic, table: NDArray[Any], cases: Any) -> Any:
    """Information per case of the classes of all known values, summed in double."""
    known = a.single(cases - row_sums(table[0]))
    if not known > 0:
        return a.round(0)
    total = 0.0
    for term in xlgx(a.single(np.add.accumulate(table[1:])[-1])).tolist():
        total += term
    return a.round((float(known) * logarithm(float(known)) - total) / float(known))


def gain_of_branches(growth: Growth, lost: NDArray[Any], branches: NDArray[Any], cases: Any, base: Any) -> Any:
    """Gain of a branch per row of `branches`, or None if that is no reasonable split; `base` is of all values together."""
    a = growth.arithmetic
    unknown = row_sums(lost)
    known = cases - unknown
    if not cases > unknown or a.reaches(row_sums(branches), growth.minimum).sum() < 2:
        return None
    info = a.running(a.information(a.single(branches)))
    return a.gain(base, info, a.single(known), a.round(a.single(unknown) / a.single(cases)))


def info_of_branches(a: Arithmetic, table: NDArray[Any], cases: Any) -> Any:
    """Split information: every row is an outcome, the first one of the missing values."""
    return a.round(a.information(a.single(row_sums(table))) / a.single(cases))


# A threshold


@dataclass(frozen=True)
class Cuts:
    """The admissible cuts of an attribute in a node, ascending: the values and weights on their sides, gains less the penalty."""

    attribute: int
    below: NDArray[Any]
    above: NDArray[Any]
    sides: NDArray[Any]
    gains: NDArray[Any]
    infos: NDArray[Any]

    def best(self, table: Table) -> Candidate | None:
        """The cut of largest gain, the first one on ties, if there is any gain."""
        return self.candidate(table, int(self.gains.argmax())) if self.gains.max() > 0 else None

    def candidate(self, table: Table, cut: int) -> Candidate:
        stored = stored_cut(table, self.attribute, self.below[cut], self.above[cut])
        return Candidate(Test("threshold", self.attribute, stored), self.gains[cut], self.infos[cut])


def threshold_candidate(growth: Growth, rows: Rows, attribute: int) -> Candidate | None:
    cuts = admissible_cuts(growth, rows, attribute)
    return None if cuts is None else cuts.best(growth.table)


def admissible_cuts(growth: Growth, rows: Rows, attribute: int) -> Cuts | None:
    """All cuts, less the penalty for choosing among so many; the cases are sorted in place."""
    a, r = growth.arithmetic, growth.arithmetic.round
    values = growth.table.singles[attribute]
    cases = a.total(rows)
    n_unknown = a.forward(rows, np.isnan(values[rows]))
    lost, here = row_sums(a.by_class(rows[:n_unknown])), rows[n_unknown:]
    known = cases - lost
    if not a.reaches(known, 2 * growth.minimum):
        return None
    a.sort(here, values)
    x = values[here]
    classes = a.by_class(here)
    base = r(a.information(a.single(classes)) / a.single(known))
    left, right, low = a.moved(here, classes)
    admissible = a.between(low[:-1], known, smallest_side(growth, known)) & (x[:-1] < x[1:].astype(np.float64) - GAP)
    tried = np.flatnonzero(admissible)
    if not len(tried):
        return None
    left, right, low = left[tried], right[tried], low[tried]
    info = r(a.information(a.single(left)) + a.information(a.single(right)))
    unknown = r(1 - np.float64(a.single(known)) / np.float64(a.single(cases)))
    gains = a.gain(base, info, a.single(known), unknown)
    gains[~(a.reaches(low, growth.minimum) & a.reaches(known - low, growth.minimum))] = -EPSILON
    penalty = r(logarithm(len(tried)) / float(a.single(cases)))
    sides = np.stack([np.full_like(low, lost), low, known - low], axis=1)
    infos = r(a.information(a.single(sides)) / a.single(cases))
    return Cuts(attribute, x[tried], x[tried + 1], a.real(sides[:, 1:]), r(gains - penalty), infos)


def smallest_side(growth: Growth, known: Any) -> float:
    """Least weight on either side: a tenth of the average class, but within [minimum, 25]."""
    side = 0.1 * float(growth.arithmetic.real(known)) / growth.table.n_classes
    return growth.minimum if side <= growth.minimum else min(side, LARGEST_SIDE)


def stored_cut(table: Table, attribute: int, below: np.float32, above: np.float32) -> float:
    """The largest value of the whole table up to the midpoint: a cut is a value that occurs."""
    middle = np.float32(np.float32(below + above) / np.float32(2))
    values = table.sorted_values[attribute]
    return float(values[np.searchsorted(values.astype(np.float32), middle, side="right") - 1])
