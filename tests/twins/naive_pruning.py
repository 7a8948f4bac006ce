"""Error-based pruning of any tree that divides samples, by the recursion of the book (Quinlan 1993, chapter 4).

Everything is in double precision, and the samples of a node pass again for each question.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._learn.prune.error_based import normal_quantile
from fasttree._model.arrays import CATEGORY, THRESHOLD
from fasttree._model.tree import Tree

FAVOUR = 0.1  # errors by which a simpler tree may be worse

Part = tuple[int, float]  # a row and its weight


@dataclass
class Pruned:
    """A node: the one of the grown tree whose test it has, and what came to it."""

    test: int
    children: list[Pruned]
    counts: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    errors: float = 0.0


def extra_errors(n: float, wrong: float, confidence: float, q: float) -> float:
    """Errors beyond those seen: the upper limit of a binomial; q is the squared normal quantile of the confidence."""
    if wrong < 1e-6:
        return float(n * (1 - confidence ** (1 / n)))
    if wrong < 0.9999:
        none = extra_errors(n, 0, confidence, q)
        return none + wrong * (extra_errors(n, 1, confidence, q) - none)
    if wrong + 0.5 >= n:
        return 0.67 * (n - wrong)
    above = wrong + 0.5
    return n * (above + q / 2 + math.sqrt(q * (above * (1 - above / n) + q / 4))) / (n + q) - wrong


@dataclass(frozen=True)
class Pruning:
    tree: Tree
    columns: Sequence[NDArray[Any]]  # numbers, NaN = missing, or codes, 0 = missing
    classes: NDArray[Any]
    confidence: float
    least: float  # lighter parts of a sample are not divided

    def counts(self, parts: Iterable[Part]) -> NDArray[np.float64]:
        counts = np.zeros(self.tree.value.shape[1])
        for row, weight in parts:
            counts[self.classes[row]] += weight
        return counts

    def leaf_errors(self, counts: NDArray[np.float64]) -> float:
        n, wrong = float(counts.sum()), float(counts.sum() - counts.max())
        return wrong + extra_errors(n, wrong, self.confidence, float(normal_quantile(self.confidence)) ** 2)

    def branch(self, node: int, row: int) -> int | None:
        """The branch of a sample, None if its value says none."""
        tree, value = self.tree, self.columns[self.tree.feature[node]][row]
        if tree.kind[node] == THRESHOLD:
            return None if math.isnan(value) else int(value > tree.threshold[node])
        if tree.kind[node] == CATEGORY:
            return int(value) - 1 if value else None
        entries = slice(tree.categories_start[node], tree.categories_start[node + 1])
        return dict(zip(tree.categories_code[entries].tolist(), tree.categories_branch[entries].tolist(), strict=True)).get(value)

    def divided(self, node: Pruned, parts: list[Part]) -> tuple[list[list[Part]], list[float]]:
        """The samples of each branch, and the known weight of each: light samples without a branch follow the last heaviest."""
        known: list[list[Part]] = [[] for _ in node.children]
        unknown: list[Part] = []
        for row, weight in parts:
            branch = self.branch(node.test, row)
            (unknown if branch is None else known[branch]).append((row, weight))
        weights = [math.fsum(weight for _, weight in own) for own in known]
        heaviest = max(range(len(weights)), key=lambda b: (weights[b], b))
        light = [part for part in unknown if part[1] < self.least]
        heavy = [part for part in unknown if part[1] >= self.least]
        branches = [
            own + [(row, weight * share / sum(weights)) for row, weight in heavy] + (light if b == heaviest else [])
            for b, (own, share) in enumerate(zip(known, weights, strict=True))
            if sum(weights)
        ]
        return branches or known, weights

    def evaluated(self, node: Pruned, parts: list[Part]) -> float:
        """Predicted errors of these samples below a node that stays as it is."""
        if not node.children:
            return self.leaf_errors(self.counts(parts))
        branches, weights = self.divided(node, parts)
        below = zip(node.children, branches, weights, strict=True)
        return math.fsum(self.evaluated(child, own) for child, own, weight in below if weight)

    def prune(self, node: Pruned, parts: list[Part]) -> None:
        node.counts = self.counts(parts)
        as_leaf = self.leaf_errors(node.counts)
        if not node.children:
            node.errors = as_leaf
            return
        branches, weights = self.divided(node, parts)
        for child, own, weight in zip(node.children, branches, weights, strict=True):
            if weight:
                self.prune(child, own)
            else:
                child.children, child.counts, child.errors = [], 0 * node.counts, 0.0
        node.errors = math.fsum(child.errors for child in node.children)
        raised = node.children[max(range(len(weights)), key=lambda b: (weights[b], b))]
        in_its_place = self.evaluated(raised, parts)
        if as_leaf <= min(in_its_place, node.errors) + FAVOUR:
            node.children, node.errors = [], as_leaf
        elif in_its_place <= node.errors + FAVOUR:
            self.prune(raised, parts)
            node.test, node.children, node.counts, node.errors = raised.test, raised.children, raised.counts, raised.errors


def prune(
    tree: Tree, columns: Sequence[NDArray[Any]], classes: NDArray[Any], weight: NDArray[Any], confidence: float, least: float
) -> list[Pruned]:
    """The nodes of the pruned tree, breadth first."""
    nodes = [Pruned(i, []) for i in range(tree.node_count)]
    for i, node in enumerate(nodes):
        node.children = [nodes[tree.first_child[i] + b] for b in range(tree.n_branches[i])]
    Pruning(tree, columns, classes, confidence, least).prune(nodes[0], list(enumerate(weight.tolist())))
    ordered = [nodes[0]]
    for node in ordered:
        ordered += node.children
    return ordered
