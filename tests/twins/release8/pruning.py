"""Error-based pruning (Quinlan 1993, chapter 4), in the steps of Release 8."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arithmetic import Arithmetic, Rows
from .problem import UNKNOWN, Node, Options, Table

CONFIDENCES = np.array([0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.00], np.float32)
DEVIATIONS = np.array([4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.00], np.float32)
FAVOUR = 0.1  # errors by which a simpler tree may be worse


@dataclass(frozen=True)
class Limit:
    """The upper limit of a number of errors, with a confidence: `extra` is what it adds to the errors seen."""

    confidence: float
    round: type[np.float32] | type[np.float64] = np.float32

    @property
    def square(self) -> Any:
        """The square of the normal quantile, which the original interpolates in a table of nine values."""
        level = np.float32(self.confidence)
        i = next(i for i in range(1, len(CONFIDENCES)) if level <= CONFIDENCES[i])
        (low, high), (z, z_high) = CONFIDENCES[i - 1 : i + 1], DEVIATIONS[i - 1 : i + 1]
        z += (z_high - z) * (level - low) / (high - low)
        return self.round(z * z)

    def extra(self, n: float, errors: float) -> Any:
        """The original stores cases, errors and the upper limit of the rate in single precision."""
        r = self.round
        n, e = r(n), r(errors)
        if e < 1e-6:
            return r(float(n) * (1 - math.exp(math.log(np.float32(self.confidence)) / float(n))))
        if e < 0.9999:
            none = self.extra(n, 0.0)
            return none + e * (self.extra(n, 1.0) - none)
        if e + 0.5 >= n:
            return r(0.67 * float(n - e))
        q, width = float(self.square), float(n + self.square)
        more = float(e) + 0.5
        rate = r((more + q / 2 + math.sqrt(q * (more * (1 - more / float(n)) + q / 4))) / width)
        return n * rate - e


@dataclass
class Pruning:
    table: Table
    limit: Limit
    arithmetic: Arithmetic


def prune(tree: Node, table: Table, options: Options, arithmetic: Arithmetic, rows: Rows | None = None) -> Node:
    """A pruned copy of the tree, its errors those predicted.  `rows` is permuted as the original permutes its cases."""
    arithmetic.restart()
    pruned = tree.copy()
    pruning = Pruning(table, Limit(options.confidence, arithmetic.round), arithmetic)
    prune_node(pruning, pruned, np.arange(len(table)) if rows is None else rows)
    drop_impossible(pruned, {})
    return pruned


def prune_node(pruning: Pruning, node: Node, rows: Rows, update: bool = True) -> Any:
    """Predicted errors of the node for the cases `rows`.

    With `update` the node's counts become those of the cases, and the node is replaced by a leaf or by its largest branch where
    that is predicted to be no worse; else nothing changes.
    """
    a, r = pruning.arithmetic, pruning.arithmetic.round
    cases, frequencies = a.total(rows), a.by_class(rows)
    label = node.label if frequencies.max() == frequencies[node.label] else int(frequencies.argmax())
    total = a.real(cases)
    leaf_errors = a.single(cases) - a.single(frequencies[label])
    as_leaf = r(leaf_errors + r(pruning.limit.extra(a.single(cases), leaf_errors)))
    if update:
        node.label, node.cases, node.weights = label, total, a.real(frequencies)
    if node.test is None:
        if update:
            node.errors = as_leaf
        return as_leaf
    as_tree, largest = prune_branches(pruning, node, rows, update)
    if not update:
        return as_tree
    raised = prune_node(pruning, largest, rows, update=False)
    node.errors = as_tree
    if float(as_leaf) <= float(raised) + FAVOUR and float(as_leaf) <= float(as_tree) + FAVOUR:
        node.test, node.children, node.errors = None, [], as_leaf
    elif float(raised) <= float(as_tree) + FAVOUR:
        prune_node(pruning, largest, rows)
        node.become(largest)
    node.alternatives = as_leaf, raised, as_tree
    return node.errors


def prune_branches(pruning: Pruning, node: Node, rows: Rows, update: bool) -> tuple[Any, Node]:
    """The branches' predicted errors together, and the largest branch: the last one on ties."""
    assert node.test is not None
    a = pruning.arithmetic
    branch = node.test.branches(pruning.table)
    n_unknown = a.forward(rows, branch[rows] == UNKNOWN)
    known = a.total(rows[n_unknown:])
    errors, largest, largest_share = a.round(0), node.children[-1], 0.0
    for b, child in enumerate(node.children):
        end = n_unknown + a.forward(rows[n_unknown:], branch[rows[n_unknown:]] == b)
        if end == n_unknown:
            continue
        share = a.share(a.total(rows[n_unknown:end]), known)
        if share >= largest_share:
            largest, largest_share = child, share
        with a.divided(rows[:n_unknown], share):
            errors = a.round(errors + prune_node(pruning, child, rows[:end], update))
            a.forward(rows[:end], branch[rows[:end]] == UNKNOWN)
    return errors, largest


def drop_impossible(node: Node, possible: dict[int, frozenset[int]]) -> None:
    """Take the values that a subset test above has sent elsewhere out of the last blocks, which hold what was left over."""
    if node.test is None:
        return
    attribute, blocks = node.test.attribute, node.test.blocks
    if node.test.kind != "subset":
        for child in node.children:
            drop_impossible(child, possible)
        return
    if attribute in possible:
        blocks[-1] &= possible[attribute]
        if not blocks[-1]:
            blocks.pop()
            node.children.pop()
    for block, child in zip(blocks, node.children, strict=True):
        drop_impossible(child, possible | {attribute: block})
