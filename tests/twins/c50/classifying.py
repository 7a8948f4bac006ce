"""Classifying cases with a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .problem import STAYS, UNKNOWN, Costs, Node, Rows, Table

single = np.float32
NOTHING = 0.0001  # case weight below which a leaf predicts as its parent does


def class_sums(tree: Node, table: Table) -> NDArray[np.float64]:
    """Return the weight of each class over the leaves that each case reaches; (n_cases, n_classes)."""
    sums = np.zeros((len(table), table.n_classes))
    send(tree, tree, table, np.arange(len(table)), np.ones(len(table), single), sums)
    return sums


def stand_alone(tree: Node, table: Table) -> NDArray[np.float64]:
    """Return the probabilities of the classifier of saved trees."""
    rows, ones, sums = np.arange(len(table)), np.ones(len(table), single), np.zeros((len(table), table.n_classes + 1))
    send(tree, tree, table, rows, ones, sums)
    n = sums[:, -1:]
    return (n * sums[:, :-1] + tree.weights / tree.cases) / (n + 1)


def classify(tree: Node, table: Table, costs: Costs | None = None) -> tuple[Rows, NDArray[np.float64]]:
    """Return the class of largest sum, the first one on ties, and that sum as its confidence; or the class of least cost."""
    sums = class_sums(tree, table)
    if costs is None:
        return sums.argmax(axis=1), sums.max(axis=1)
    expected = sums @ costs.loss
    return np.array([costs.label(row) for row in sums]), 1 - expected.min(axis=1) / expected.sum(axis=1)


def n_errors(tree: Node, table: Table) -> int:
    return int((classify(tree, table)[0] != table.classes).sum())


def leaf_errors(tree: Node) -> float:
    """Return the case weight of other classes in the leaves."""
    leaves = [node for node in tree.walk() if node.test is None and node.cases > 0.001]
    return float(sum(single(single(leaf.cases) - single(leaf.weights[leaf.label])) for leaf in leaves))


def with_default(votes: NDArray[Any], default: int) -> Rows:
    """Return the class of most votes; another class than the default must have more."""
    best = votes.argmax(axis=1)
    return np.where(votes[:, default] >= votes.max(axis=1), default, best)


def send(node: Node, parent: Node, table: Table, rows: Rows, weight: NDArray[Any], sums: NDArray[Any]) -> None:
    if node.test is None:
        found = node if node.cases >= NOTHING else parent
        add(found, rows, weight, sums)
        return
    branch = node.test.branches(table)[rows]
    stays = branch == STAYS
    add(node, rows[stays], weight[stays], sums)
    unknown = branch == UNKNOWN
    for b, child in enumerate(node.children):
        here = (branch == b) | (unknown & (child.cases > NOTHING))
        if here.any():
            part = np.where(unknown, weight * single(single(child.cases) / single(node.cases)), weight)[here]
            send(child, node, table, rows[here], part, sums)


def add(node: Node, rows: Rows, weight: NDArray[Any], sums: NDArray[Any]) -> None:
    """Add the class shares of a node, times `weight`; a further column gets its cases."""
    weights = [*(weight[:, None] * single(node.weights) / single(node.cases)).T, weight * single(node.cases)]
    sums[rows] += np.stack(weights[: sums.shape[1]], axis=1)
