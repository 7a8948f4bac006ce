"""Growing a tree (Quinlan 1993, chapters 2, 3 and 7; Quinlan 1996 for thresholds), in the steps of Release 8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arithmetic import EPSILON, GAP, Arithmetic, Rows, logarithm, xlgx
from .problem import UNKNOWN, Node, Options, Table, Test

MANY_VALUES = 0.3  # of the cases: an attribute with so many values stays out of the average gain
NO_AVERAGE = 1e6
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


def grow(table: Table, options: Options, arithmetic: Arithmetic, rows: Rows | None = None) -> Node:
    """Grow the unpruned tree.  `rows` is permuted as the original permutes its cases."""
    growth = Growth(table, options, arithmetic, options.minimum)
    arithmetic.restart()
    return grow_node(growth, np.arange(len(table)) if rows is None else rows, frozenset())


def grow_node(growth: Growth, rows: Rows, tested: frozenset[int]) -> Node:
    """`tested`: discrete attributes that a branch-per-value test above has used up."""
    a = growth.arithmetic
    cases, frequencies = a.total(rows), a.by_class(rows)
    leaf = make_leaf(a, cases, frequencies)
    if frequencies.max() == cases or not a.reaches(cases, 2 * growth.minimum):
        return leaf
    winner = best_candidate(growth, evaluate(growth, rows, cases, tested))
    if winner is None:
        return leaf
    node = Node(leaf.label, leaf.cases, leaf.weights, a.round(0), winner.test)
    grow_branches(growth, node, rows, cases, tested | {winner.test.attribute})
    node.errors = sum((child.errors for child in node.children), start=type(leaf.errors)(0))
    # a split that does not reduce the training errors is undone, on the way up
    return leaf if float(node.errors) >= float(leaf.errors) - EPSILON else node


def make_leaf(a: Arithmetic, cases: Any, frequencies: NDArray[Any]) -> Node:
    label = int(frequencies.argmax())
    return Node(label, a.real(cases), a.real(frequencies), a.real(cases) - a.real(frequencies[label]))


def grow_branches(growth: Growth, node: Node, rows: Rows, cases: Any, tested: frozenset[int]) -> None:
    assert node.test is not None
    a = growth.arithmetic
    branch = node.test.branches(growth.table)
    n_unknown = a.forward(rows, branch[rows] == UNKNOWN)
    known = cases - a.total(rows[:n_unknown])
    for b in range(node.test.n_branches(growth.table)):
        end = n_unknown + a.forward(rows[n_unknown:], branch[rows[n_unknown:]] == b)
        if end == n_unknown:
            node.children.append(Node(node.label, a.real(0 * cases), node.weights, type(node.cases)(0)))
            continue
        share = a.share(a.total(rows[n_unknown:end]), known)
        with a.divided(rows[:n_unknown], share):
            node.children.append(grow_node(growth, rows[:end], tested))
            a.forward(rows[:end], branch[rows[:end]] == UNKNOWN)


# The choice of a test


def evaluate(growth: Growth, rows: Rows, cases: Any, tested: frozenset[int]) -> list[Candidate]:
    """The usable attributes in file order."""
    from .subsets import subset_candidate

    candidates = []
    for attribute, n_values in enumerate(growth.table.n_values):
        candidate = None
        if n_values == 0:
            candidate = threshold_candidate(growth, rows, cases, attribute)
        elif growth.options.subset and n_values > 2:
            candidate = subset_candidate(growth, rows, cases, attribute)
        elif attribute not in tested:
            candidate = values_candidate(growth, rows, cases, attribute)
        if candidate is not None and candidate.gain > -EPSILON:
            candidates.append(candidate)
    return candidates


def best_candidate(growth: Growth, candidates: list[Candidate]) -> Candidate | None:
    """The first of largest worth: gain ratio, among gains that are not below the average; or gain."""
    least = average_gain(growth, candidates)
    best, best_worth = None, -EPSILON
    for candidate in candidates:
        value = worth(growth, candidate.gain, candidate.info, least)
        if value > best_worth:
            best, best_worth = candidate, value
    return best


def average_gain(growth: Growth, candidates: list[Candidate]) -> Any:
    r = growth.arithmetic.round
    n_attributes = len(growth.table.n_values)
    everyone = growth.options.subset or all(map(growth.has_many_values, range(n_attributes)))
    counted = [c.gain for c in candidates if everyone or not growth.has_many_values(c.test.attribute)]
    return r(growth.arithmetic.running(np.array(counted)) / r(len(counted))) if counted else r(NO_AVERAGE)


def worth(growth: Growth, gain: Any, info: Any, least_gain: Any) -> float:
    if growth.options.gain:
        return float(gain) if info > 0 and gain > -EPSILON else -EPSILON
    if float(gain) >= float(least_gain) - EPSILON and float(info) > EPSILON:
        return float(growth.arithmetic.round(gain / info))
    return -EPSILON


# Candidates


def values_candidate(growth: Growth, rows: Rows, cases: Any, attribute: int) -> Candidate | None:
    """A branch for every declared value."""
    a = growth.arithmetic
    table = value_table(growth, rows, attribute)
    gain = gain_of_branches(growth, table[0], table[1:], cases, table[1:])
    return None if gain is None else Candidate(Test("values", attribute), gain, info_of_branches(a, table, cases))


def value_table(growth: Growth, rows: Rows, attribute: int) -> NDArray[Any]:
    """Weights by value and class, (n_values + 1, n_classes); row 0 is for missing values."""
    n_codes = growth.table.n_values[attribute] + 1
    return growth.arithmetic.by_class(rows, growth.table.columns[attribute][rows], n_codes)


def row_sums(a: Arithmetic, table: NDArray[Any]) -> NDArray[Any]:
    return np.add.accumulate(table, axis=1)[:, -1]


def known_base(a: Arithmetic, branches: NDArray[Any], known: Any) -> Any:
    """Information per case of the classes of all branches together, summed in double."""
    classes = a.single(np.add.accumulate(branches)[-1])
    items = a.single(known)
    total = 0.0
    for term in xlgx(classes).tolist():
        total += term
    return a.round((float(items) * logarithm(float(items)) - total) / float(items))


def gain_of_branches(growth: Growth, lost: NDArray[Any], branches: NDArray[Any], cases: Any, values: NDArray[Any]) -> Any:
    """Gain of a branch per row of `branches`, or None if that is no reasonable split; `values` has a row for each value."""
    a = growth.arithmetic
    unknown = row_sums(a, lost[None])[0]
    known = cases - unknown
    if not cases > unknown or a.reaches(row_sums(a, branches), growth.minimum).sum() < 2:
        return None
    info = a.running(a.information(a.single(branches)))
    return a.gain(known_base(a, values, known), info, a.single(known), a.round(a.single(unknown) / a.single(cases)))


def info_of_branches(a: Arithmetic, table: NDArray[Any], cases: Any) -> Any:
    """Split information: every row is an outcome, the first one of the missing values."""
    return a.round(a.information(a.single(row_sums(a, table))) / a.single(cases))


def threshold_candidate(growth: Growth, rows: Rows, cases: Any, attribute: int) -> Candidate | None:
    """The cut of largest gain, less the penalty for choosing it among so many."""
    a, r = growth.arithmetic, growth.arithmetic.round
    values = growth.table.singles[attribute]
    cases = a.total(rows)
    n_unknown = a.forward(rows, np.isnan(values[rows]))
    lost, here = row_sums(a, a.by_class(rows[:n_unknown])[None])[0], rows[n_unknown:]
    known = cases - lost
    if not a.reaches(known, 2 * growth.minimum):
        return None
    a.sort(here, values)
    x = values[here]
    classes = a.by_class(here)
    base = r(a.information(a.single(classes)) / a.single(known))
    left, right, low = a.moved(here, classes)
    side = smallest_side(growth, known)
    tried = np.flatnonzero(a.between(low[:-1], known, side) & (x[:-1] < x[1:].astype(np.float64) - GAP))
    if not len(tried):
        return None
    left, right, low = left[tried], right[tried], low[tried]
    info = r(a.information(a.single(left)) + a.information(a.single(right)))
    unknown = r(1 - np.float64(a.single(known)) / np.float64(a.single(cases)))
    gains = a.gain(base, info, a.single(known), unknown)
    reasonable = a.reaches(low, growth.minimum) & a.reaches(known - low, growth.minimum)
    gains[~reasonable] = -EPSILON
    penalised = r(gains - r(logarithm(len(tried)) / float(a.single(cases))))
    best = int(penalised.argmax())
    if not penalised[best] > 0:
        return None
    test = Test("threshold", attribute, stored_cut(growth.table, attribute, x[tried[best]], x[tried[best] + 1]))
    parts = a.single(np.array([lost, low[best], known - low[best]]))
    return Candidate(test, penalised[best], r(a.information(parts) / a.single(cases)))


def smallest_side(growth: Growth, known: Any) -> float:
    """Least weight on either side: a tenth of the average class, but within [minimum, 25]."""
    side = 0.1 * float(growth.arithmetic.real(known)) / growth.table.n_classes
    return growth.minimum if side <= growth.minimum else min(side, LARGEST_SIDE)


def stored_cut(table: Table, attribute: int, below: np.float32, above: np.float32) -> float:
    """The largest value of the whole table up to the midpoint: a cut is a value that occurs."""
    middle = np.float32(np.float32(below + above) / np.float32(2))
    values = table.sorted_values[attribute]
    return float(values[np.searchsorted(values.astype(np.float32), middle, side="right") - 1])
