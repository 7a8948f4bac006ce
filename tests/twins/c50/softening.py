"""Soft thresholds (option -p): how far a value may move before the other branch makes too many errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .classifying import send
from .growing import Growth, divide
from .problem import UNKNOWN, Node, Rows, Table
from .pruning import leaf_errors

SLOPE = 1e-6  # added to lengths
SKIPPED = 0.01  # weight below which a branch is not visited


def soften(tree: Node, growth: Growth) -> Node:
    """Give the thresholds of a copy of the tree their bounds, parents first."""
    tree = tree.copy()
    set_errors(tree, growth, np.arange(len(growth.table)))
    bound(tree, growth, np.arange(len(growth.table)))
    return tree


def set_errors(node: Node, growth: Growth, rows: Rows) -> None:
    """Set the training errors below each node; those of a node with missing values count as 0, as in the original."""
    node.errors = leaf_errors(node)
    if node.test is None:
        return
    for child, here in zip(node.children, divide(growth, node.test, rows), strict=True):
        if here is None:
            child.errors = 0.0
        else:
            set_errors(child, growth, here)
    missing = (node.test.branches(growth.table)[rows] == UNKNOWN).any()
    node.errors = 0.0 if missing else sum(child.errors for child in node.children)


def bound(node: Node, growth: Growth, rows: Rows) -> None:
    if node.test is None:
        return
    if node.test.kind == "threshold":
        bound_threshold(node, growth, rows)
    for child, here in zip(node.children, divide(growth, node.test, rows), strict=True):
        if here is not None:
            bound(child, growth, here)


def bound_threshold(node: Node, growth: Growth, rows: Rows) -> None:
    test = node.test
    assert test is not None
    table = growth.table.take(rows)
    column = table.columns[test.attribute]
    order = np.argsort(column, kind="stable")
    order = order[np.isfinite(column[order])]
    values, weight = column[order].astype(float), growth.weight[rows][order].astype(float)
    here = table.take(order)
    wrong = [weight * (hard_class(child, node, here) != here.classes) for child in node.children[1:]]
    n = float(growth.cases(rows) - growth.cases(rows[np.isnan(column)]))
    error = 2 * math.sqrt(max(node.errors * (n - node.errors), 0) / (n + 0.001))
    s = int(np.searchsorted(values, test.cut, "right"))
    test.middle = (values[s - 1] + values[s]) / 2 if 0 < s < len(values) else test.cut
    test.lower = test.upper = test.middle
    for found in moved(values[:s][::-1], wrong[1][:s][::-1], wrong[0][:s][::-1], error):
        test.lower = found
    for found in moved(values[s:], wrong[0][s:], wrong[1][s:], error):
        test.upper = found


def moved(values: NDArray[Any], other: NDArray[Any], own: NDArray[Any], error: float) -> Any:
    """Yield the values that a bound may reach, one after the other."""
    in_other = in_own = 0.0
    for i in range(len(values) - 1):
        in_other += other[i]
        in_own += own[i]
        if values[i] != values[i + 1]:
            if in_other > 2 * in_own + 1 or in_other - in_own > error / 2:
                return
            yield float(values[i + 1])


def hard_class(node: Node, parent: Node, table: Table) -> Rows:
    sums = np.zeros((len(table), table.n_classes))
    send(node, parent, table, np.arange(len(table)), np.ones(len(table)), sums)
    return sums.argmax(axis=1)


def n_soft_errors(tree: Node, table: Table) -> int:
    sums = np.zeros((len(table), table.n_classes))
    send_softly(tree, tree, table, np.arange(len(table)), np.ones(len(table)), sums)
    return int((sums.argmax(axis=1) != table.classes).sum())


def below(test: Any, x: NDArray[Any]) -> NDArray[Any]:
    """Return the weight of the lower branch; a value in the very middle has a half, also where the interval has no length."""
    low = 1 - 0.5 * (x - test.lower) / (test.middle - test.lower + SLOPE)
    high = 0.5 - 0.5 * (x - test.middle) / (test.upper - test.middle + SLOPE)
    return np.where(x < test.lower, 1.0, np.where(x > test.upper, 0.0, np.where(x < test.middle, low, high)))


def send_softly(node: Node, parent: Node, table: Table, rows: Rows, weight: NDArray[Any], sums: NDArray[Any]) -> None:
    if node.test is None or node.test.kind != "threshold":
        if node.test is None:
            send(node, parent, table, rows, weight, sums)
            return
        branch = node.test.branches(table)[rows]
        stays = branch == -2
        sums[rows[stays]] += weight[stays, None] * node.weights / node.cases
        for b, child in enumerate(node.children):
            here = (branch == b) | ((branch == UNKNOWN) & (child.cases > 0.0001))
            if here.any():
                part = np.where(branch == UNKNOWN, weight * child.cases / node.cases, weight)[here]
                send_softly(child, node, table, rows[here], part, sums)
        return
    x = table.columns[node.test.attribute][rows].astype(float)
    share = below(node.test, x)
    parts = [np.where(x == -np.inf, 1.0, 0.0), np.where(x == -np.inf, 0.0, share), np.where(x == -np.inf, 0.0, 1 - share)]
    for part, child in zip(parts, node.children, strict=True):
        known = np.where(np.isnan(x), child.cases / node.cases, part)
        here = np.where(np.isnan(x), child.cases > 0.0001, known >= SKIPPED)
        if here.any():
            send_softly(child, node, table, rows[here], (weight * known)[here], sums)
