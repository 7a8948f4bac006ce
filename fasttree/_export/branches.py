"""Tests of nodes as the values of each branch, and destinations of all other values, for writers that go node by node.

Writers see intervals of numbers and categories, not codes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Category, Feature, Kind, Schema
from fasttree._export.subject import Subject, check_target
from fasttree._export.substitutes import Adapted
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, SHARES, THRESHOLD
from fasttree._model.tree import Tree

__all__ = ["REFUSED", "Answers", "Range", "Test", "answers", "apart", "destinations", "surrogates_of", "test_of"]

REFUSED = -3  # a destination besides branches and STOP: no prediction


@dataclass(frozen=True)
class Range:
    """The numbers x with ``low < x <= high``, not NaN."""

    low: float
    high: float


@dataclass(frozen=True)
class Test:
    """A test of one feature: the values of each branch, as an interval or categories; None if no value takes it."""

    feature: Feature
    takes: tuple[Range | tuple[Category, ...] | None, ...]

    @property
    def known(self) -> tuple[Category, ...]:
        """The categories with a branch."""
        return self.known_beside(-1)

    def known_beside(self, branch: int) -> tuple[Category, ...]:
        """Return the categories that take another branch."""
        parts = [part for other, part in enumerate(self.takes) if other != branch and isinstance(part, tuple)]
        return tuple(category for part in parts for category in part)

    @property
    def decides_all(self) -> bool:
        """Whether every value known in fit has a branch."""
        return self.feature.categories is None or len(self.known) == len(self.feature.categories)


def test_of(tree: Tree, schema: Schema, node: int) -> Test:
    """Return the test of an inner node."""
    feature, kind = schema.features[tree.feature[node]], tree.kind[node]
    n_branches = int(tree.n_branches[node])
    if kind == KNOWN:
        return _cut(feature, [], n_branches)
    if kind == THRESHOLD:
        return _cut(feature, [float(tree.threshold[node])], n_branches)
    if kind == INTERVALS:
        return _cut(feature, tree.cuts_of(node).tolist(), n_branches)
    assert feature.categories is not None
    if kind == CATEGORY:
        parts = tuple((category,) for category in feature.categories)
        return Test(feature, parts + (None,) * (n_branches - len(parts)))
    return _table(feature, *tree.categories_of(node), n_branches)


def surrogates_of(tree: Tree, schema: Schema, node: int) -> list[Test]:
    """Return the tests that are tried in turn if the node's own test does not decide."""
    surrogates = tree.surrogates
    if surrogates is None or tree.kind[node] == KNOWN:
        return []
    tests = []
    for i in range(int(surrogates.start[node]), int(surrogates.start[node + 1])):
        feature = schema.features[surrogates.feature[i]]
        if surrogates.kind[i] != THRESHOLD:
            tests.append(_table(feature, *surrogates.categories_of(i), 2))
            continue
        test = _cut(feature, [float(surrogates.threshold[i])], 2)
        tests.append(test if surrogates.low_branch[i] == 0 else Test(feature, test.takes[::-1]))
    return tests


def _cut(feature: Feature, cuts: Sequence[float], n_branches: int) -> Test:
    """Return a test with branches between ascending cuts; further branches take no value."""
    edges = [-math.inf, *cuts, math.inf]
    parts: list[Range | tuple[Category, ...] | None] = [Range(*pair) for pair in pairwise(edges)]
    if feature.kind != Kind.CONTINUOUS:
        assert feature.categories is not None
        coded = list(enumerate(feature.categories, start=1))
        parts = [tuple(category for code, category in coded if low < code <= high) or None for low, high in pairwise(edges)]
    return Test(feature, tuple(parts) + (None,) * (n_branches - len(parts)))


def _table(feature: Feature, codes: NDArray[Any], branches: NDArray[Any], n_branches: int) -> Test:
    assert feature.categories is not None
    parts: list[list[Category]] = [[] for _ in range(n_branches)]
    for code, branch in zip(codes.tolist(), branches.tolist(), strict=True):
        if code <= len(feature.categories):
            parts[branch].append(feature.categories[code - 1])
    return Test(feature, tuple(tuple(part) or None for part in parts))


def destinations(subject: Subject, adapted: Adapted) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the destinations of missing values and of unseen categories, each int32 (n,): a branch, `STOP` or `REFUSED`.

    A category unknown to the test goes where unseen ones go.
    """
    own, inner = subject.tree.missing, subject.tree.n_branches > 0
    missing = np.where(adapted.refused, REFUSED, adapted.subject.tree.missing)
    # a substitute for missing values that the model rejects does not apply to categories
    unseen = np.where(subject.refuses_missing & (own != SHARES), own, missing)
    return missing.astype(np.int32), np.where(inner, unseen, missing).astype(np.int32)


@dataclass(frozen=True)
class Answers:
    """The prediction of each node for one target: a label or a number, and the probabilities of the classes."""

    values: list[Any]
    labels: list[Any]
    probabilities: NDArray[np.float64]
    weights: NDArray[np.float64]


def answers(subject: Subject, target: int) -> Answers:
    """Return the predictions of the nodes of a tree for one of its targets.

    Raises
    ------
    ValueError
        If there is no such target.
    """
    tree = subject.tree
    check_target(target, tree.n_outputs)
    predictions = tree.by_output(tree.predict_nodes())[target]
    if subject.classes is None:
        empty = np.zeros((tree.node_count, 0))
        return Answers(predictions[:, 0].tolist(), [], empty, empty)
    several = tree.outputs is not None
    labels = np.asarray(subject.classes[target] if several else subject.classes)
    best = tree.predicted_classes[:, target]
    weights = np.where(tree.weight[:, None] > 0, tree.by_output(tree.value)[target], 0.0)
    return Answers(labels[best].tolist(), labels.tolist(), predictions, weights)


def apart(name: str, taken: Sequence[str]) -> str:
    """Return the name, with underscores added until it differs from all others in any case."""
    others = {other.casefold() for other in taken}
    while name.casefold() in others:
        name += "_"
    return name
