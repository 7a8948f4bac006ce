"""What a tree answers (Quinlan 1993, chapter 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arithmetic import Arithmetic, Rows
from .problem import UNKNOWN, Node, Table


def class_weights(tree: Node, table: Table, arithmetic: Arithmetic) -> NDArray[Any]:
    """Of every case of the table, the weight of each class over the leaves that it reaches; (n_cases, n_classes)."""
    sums = np.zeros((len(table), table.n_classes), arithmetic.stored)
    send(tree, table, np.arange(len(table)), np.ones(len(table), arithmetic.stored), sums)
    return sums


def classify(tree: Node, table: Table, arithmetic: Arithmetic) -> NDArray[np.intp]:
    """The class of largest weight, the first one on ties."""
    return class_weights(tree, table, arithmetic).argmax(axis=1)


def n_errors(tree: Node, table: Table, arithmetic: Arithmetic) -> int:
    return int((classify(tree, table, arithmetic) != table.classes).sum())


def send(node: Node, table: Table, rows: Rows, weight: NDArray[Any], sums: NDArray[Any]) -> None:
    """Add what the cases `rows`, each with its weight, find in the leaves."""
    if node.test is None:
        if node.cases > 0:
            sums[rows] += weight[:, None] * node.weights / node.cases
        else:
            sums[rows, node.label] += weight
        return
    branch = node.test.branches(table)[rows]
    for b, child in enumerate(node.children):
        part = np.where(branch == UNKNOWN, weight * child.cases / node.cases, weight)
        here = (branch == b) | ((branch == UNKNOWN) & (child.cases > 0))
        if here.any():
            send(child, table, rows[here], part[here], sums)
