"""Growing a tree (Quinlan 1993, chapters 2, 3 and 7), in the steps of Release 8."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arithmetic import EPSILON, Arithmetic, Rows
from .candidates import Candidate, Growth, threshold_candidate, values_candidate, worth
from .problem import UNKNOWN, Node, Options, Table
from .subsets import subset_candidate

NO_AVERAGE = 1e6


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
    leaf.seen = rows.copy(), a.weight[rows], growth.minimum
    if frequencies.max() == cases or not a.reaches(cases, 2 * growth.minimum):
        return leaf
    winner = best_candidate(growth, evaluate(growth, rows, cases, tested))
    if winner is None:
        return leaf
    node = Node(leaf.label, leaf.cases, leaf.weights, a.round(0), winner.test, seen=leaf.seen)
    grow_branches(growth, node, rows, cases, tested | {winner.test.attribute})
    node.errors = sum((child.errors for child in node.children), start=type(leaf.errors)(0))
    if float(node.errors) < float(leaf.errors) - EPSILON:
        return node
    # a split that does not reduce the training errors is undone, on the way up
    leaf.undone = node
    return leaf


def make_leaf(a: Arithmetic, cases: Any, frequencies: NDArray[Any]) -> Node:
    weights = a.real(frequencies)
    label = int(weights.argmax())
    return Node(label, a.real(cases), weights, a.real(cases) - weights[label])


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
    candidates = (candidate_of(growth, rows, cases, tested, attribute) for attribute in range(len(growth.table.n_values)))
    return [candidate for candidate in candidates if candidate is not None and candidate.gain > -EPSILON]


def candidate_of(growth: Growth, rows: Rows, cases: Any, tested: frozenset[int], attribute: int) -> Candidate | None:
    n_values = growth.table.n_values[attribute]
    if n_values == 0:
        return threshold_candidate(growth, rows, attribute)
    if growth.options.subset and n_values > 2:
        return subset_candidate(growth, rows, cases, attribute)
    return None if attribute in tested else values_candidate(growth, rows, cases, attribute)


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
