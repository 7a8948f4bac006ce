"""Soft thresholds (Quinlan 1993, chapter 8): how far a value may move before the other branch would answer better."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arithmetic import Arithmetic, Rows
from .classifying import classify
from .problem import Node, Table, Test

NEARLY = 1e-6  # values up to so far above the cut count as below it


def soften(tree: Node, table: Table, arithmetic: Arithmetic) -> Node:
    """A copy of the tree whose thresholds know their `lower` and `upper`."""
    softened = tree.copy()
    soften_node(softened, table, np.arange(len(table)), arithmetic)
    return softened


def soften_node(node: Node, table: Table, rows: Rows, arithmetic: Arithmetic) -> None:
    if node.test is None:
        return
    branch = node.test.branches(table)[rows]
    if node.test.kind == "threshold" and len(rows):
        values = arithmetic.values(node.test.attribute)[rows]
        order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
        known = table.take(rows[order])
        wrong = [classify(child, known, arithmetic) != known.classes for child in node.children]
        set_bounds(node.test, values[order], wrong[0], wrong[1])
    for b, child in enumerate(node.children):
        soften_node(child, table, rows[branch == b], arithmetic)


def set_bounds(test: Test, values: NDArray[Any], wrong_left: NDArray[np.bool_], wrong_right: NDArray[np.bool_]) -> None:
    """`values` ascending; whether each of their cases would be answered wrongly by either branch."""
    cut, n = values.dtype.type(test.cut), len(values)
    below = values <= cut + NEARLY
    base = int(np.where(below, wrong_left, wrong_right).sum())
    limit = base + math.sqrt((base + 0.5) * (n - base + 0.5) / (n + 1))
    steps = np.cumsum(wrong_left.astype(int) - wrong_right.astype(int))
    last = np.append(values[1:] != values[:-1], True)  # of several cases with one value
    distinct = values[last].tolist()
    errors = (wrong_right.sum() + steps[last]).tolist()
    lower, upper = min(float(cut), distinct[0]), max(float(cut), distinct[-1])
    has_lower = False
    for a, b, error_a, error_b in zip(distinct, distinct[1:], errors, errors[1:], strict=False):
        if not has_lower and error_a > limit and error_b <= limit and b <= cut + NEARLY:
            lower, has_lower = b - (b - a) * (limit - error_b) / (error_a - error_b), True
        elif error_a <= limit and error_b > limit and b > cut + NEARLY:
            upper = max(float(cut), a + (b - a) * (limit - error_a) / (error_b - error_a))
    test.lower, test.upper = lower, upper
