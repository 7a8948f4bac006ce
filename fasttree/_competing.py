"""The best split of every feature at one node: what its test had to beat.

For each feature a tree of one test is grown on the samples that reach the node, by the recipe of the whole tree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._grow import blocks
from ._table import Feature, Table
from ._tree import CATEGORY, INTERVALS, KNOWN, NOMINAL, Tree

__all__ = ["CompetingSplit", "best_first", "parts_at", "split_of"]

EQUAL_GAINS = 1e-10  # of the larger one: rounding does not decide an order


@dataclass(frozen=True)
class CompetingSplit:
    """The best split of one feature at a node.

    Attributes
    ----------
    feature : int
        Column of the table.
    name : str
        Its name.
    gain : float
        Decrease of the impurity per unit weight of the node, as `Tree.gain`; times the node's weight it is the improvement that
        rpart reports for classes.
    threshold : float or None
        Of a continuous feature: values up to it go to the first branch.  Infinity where all known values do, and missing ones to
        the other.  None where there are `categories` or `cuts`.
    categories : tuple of tuples or None
        Of a nominal or ordinal feature: the categories of each branch, those in none of them being treated as missing.
    cuts : tuple of float or None
        Of a continuous feature that is split into intervals: where they meet, ascending.

    Examples
    --------
    >>> from fasttree import CARTClassifier
    >>> X, y = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", None]], ["ripe", "unripe", "unripe", "unripe"]
    >>> model = CARTClassifier().fit(X, y)
    >>> for split in model.competing_splits(0, X, y):
    ...     print(split.name, split.gain, split.threshold, split.categories)
    x1 0.375 2.5 None
    x0 0.125 None (('blue',), ('red',))
    """

    feature: int
    name: str
    gain: float
    threshold: float | None
    categories: tuple[tuple[Any, ...], ...] | None
    cuts: tuple[float, ...] | None = None


def parts_at(tree: Tree, table: Table, node: int) -> npt.NDArray[np.float64]:
    """What part of each sample arrives at a node, float64 (n_samples,): 0, 1 or, where samples are divided, between."""
    # of the nodes that stay none gets another number: those below come after it
    above = tree.prune_at(np.arange(tree.node_count) == node)
    here = np.zeros((above.node_count, 2))
    here[:, 0] = 1.0
    here[node] = 0.0, 1.0
    if tree.task == "classification":  # whose walk takes weights of classes, and of an empty node the largest
        here *= np.where(above.weight > 0, above.weight, 1.0)[:, None]
    parts = np.empty((table.n_samples, 2))
    leaves = np.empty(table.n_samples, dtype=np.int32)
    for rows, block in blocks(table):
        _core.walk_shares(above, block, here, parts[rows], leaves[rows])
    return parts[:, 1].copy()


def split_of(stump: Tree, feature: int, described: Feature) -> CompetingSplit | None:
    """The test at the root of a tree that was grown on one feature; None if it has none."""
    if stump.n_branches[0] == 0:
        return None
    threshold, categories, cuts = None, None, None
    if described.categories is None and stump.kind[0] == INTERVALS:
        assert stump.cut is not None
        cuts = tuple(stump.cut.tolist())
    elif described.categories is None:
        threshold = math.inf if stump.kind[0] == KNOWN else float(stump.threshold[0])
    else:
        branches: list[list[Any]] = [[] for _ in range(int(stump.n_branches[0]))]
        for category, branch in _branches(stump, described.categories):
            branches[branch].append(category)
        categories = tuple(map(tuple, branches))
    return CompetingSplit(feature, described.name, float(stump.gain[0]), threshold, categories, cuts)


def _branches(stump: Tree, categories: tuple[Any, ...]) -> list[tuple[Any, int]]:
    """The branch of each category that has one."""
    if stump.kind[0] == NOMINAL:
        entries = zip(stump.table_code.tolist(), stump.table_branch.tolist(), strict=True)
        return [(categories[code - 1], branch) for code, branch in entries]
    if stump.kind[0] == CATEGORY:
        return [(category, branch) for branch, category in enumerate(categories)]
    if stump.kind[0] == KNOWN:
        return [(category, 0) for category in categories]
    if stump.kind[0] == INTERVALS:
        assert stump.cut is not None
        branches = np.searchsorted(stump.cut, np.arange(len(categories)) + 1).tolist()
        return list(zip(categories, branches, strict=True))
    return [(category, int(code > stump.threshold[0])) for code, category in enumerate(categories, start=1)]


def best_first(splits: Iterable[CompetingSplit]) -> list[CompetingSplit]:
    """The splits by falling gain; equal ones in the order of the columns."""
    waiting = sorted(splits, key=lambda split: -split.gain)
    ordered: list[CompetingSplit] = []
    while waiting:
        limit = waiting[0].gain * (1 - EQUAL_GAINS)
        n_equal = next((i for i, split in enumerate(waiting) if split.gain < limit), len(waiting))
        ordered += sorted(waiting[:n_equal], key=lambda split: split.feature)
        waiting = waiting[n_equal:]
    return ordered
