"""The best split of every feature at one node: the competitors of its test.

For each feature, a tree with one test is grown on the samples that reach the node, by the recipe of the whole tree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree import _core
from fasttree._data.cells import Floats
from fasttree._data.schema import Feature
from fasttree._learn.grow.encode import is_missing
from fasttree._learn.limits import Limits
from fasttree._learn.samples import Samples, costs_of
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, NOMINAL, THRESHOLD
from fasttree._model.tree import Tree
from fasttree._model.walks import blocks

__all__ = ["CompetingSplit", "best_first", "branches_of", "parts_at", "split_of"]

EQUAL_GAINS = 1e-10  # relative to the larger gain: rounding does not decide the order


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
        Decrease of the impurity per unit weight of the node, as `Tree.gain`.  Times the node's weight it is the improvement that
        rpart reports for classes.
    threshold : float or None
        For a continuous feature: values up to it go to the first branch.  Infinity if all known values go there, and missing ones
        to the other branch.  None if there are `categories` or `cuts`.
    categories : tuple of tuples or None
        For a nominal or ordinal feature: the categories of each branch; categories in no branch are treated as missing.
    cuts : tuple of float or None
        For a continuous feature that is split into intervals: where they meet, ascending.

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


def parts_at(tree: Tree, samples: Samples, node: int, limits: Limits | None) -> Floats:
    """Return the part of each sample that arrives at a node, float64 (n_samples,): 0, 1, or between if samples are divided.

    `limits` are those of a growth that divides samples, but not their light parts; None: it divides all or none.
    """
    if limits is not None and (limits.min_part_weight or limits.min_part_share):
        return _parts_by_growth(tree, samples, node, limits)
    # the nodes that are left keep their numbers: only nodes after this one are removed or renumbered
    above = tree.prune_at(np.arange(tree.node_count) == node)
    here = np.zeros((above.node_count, 2))
    here[:, 0] = 1.0
    here[node] = 0.0, 1.0
    if tree.task == "classification":  # its walk takes class weights, and for an empty node the largest of them
        here *= np.where(above.weight > 0, above.weight, 1.0)[:, None]
    parts = np.empty((samples.table.n_samples, 2))
    leaves = np.empty(samples.table.n_samples, dtype=np.int32)
    for rows, block in blocks(samples.table):
        _core.walk_shares(above, block, here, parts[rows], leaves[rows])
    return parts[:, 1].copy()


def _parts_by_growth(tree: Tree, samples: Samples, node: int, limits: Limits) -> Floats:
    """Return what `parts_at` does by the rule of growth: a light part follows the heaviest branch."""
    path = [node]
    while path[0]:
        path.insert(0, int(tree.parent[path[0]]))
    weight = np.ones(samples.table.n_samples) if samples.counts is None else samples.counts
    if tree.loss is not None:  # growth has altered priors
        weight = weight * (tree.loss.sum(axis=1) / costs_of(samples, tree.loss).mean)[samples.target]
    parts = np.where(weight > 0, 1.0, 0.0)
    for above, below in pairwise(path):
        branch, taken = branches_of(tree, above, samples.table.column(int(tree.feature[above]))), below - tree.first_child[above]
        known = np.bincount(branch[branch >= 0], (parts * weight)[branch >= 0], minlength=int(tree.n_branches[above]))
        heaviest = np.flatnonzero(known >= known.max() * (1 - EQUAL_GAINS))[-1]
        is_light = (parts * weight < limits.min_part_weight) | (parts < limits.min_part_share)
        of_unknown = np.where(is_light, float(heaviest == taken), known[taken] / known.sum())
        parts *= np.where(branch < 0, of_unknown, branch == taken)
    return parts


def branches_of(tree: Tree, node: int, column: npt.NDArray[np.generic]) -> npt.NDArray[np.intp]:
    """Return the branch of each value of a node's feature, -1 if it is missing."""
    branch: npt.NDArray[np.intp]
    if tree.kind[node] == THRESHOLD:
        branch = (column > tree.threshold[node]).astype(np.intp)
    elif tree.kind[node] == INTERVALS:
        branch = np.searchsorted(tree.cuts_of(node), column)
    elif tree.kind[node] == NOMINAL:
        codes, branches = tree.categories_of(node)
        branch_of = np.full(int(max(codes.max(), column.max(initial=0))) + 1, -1, np.intp)
        branch_of[codes] = branches
        branch = branch_of[column]
    else:
        branch = column.astype(np.intp) - 1
    branch[is_missing(column)] = -1
    return branch


def split_of(stump: Tree, feature: int, described: Feature) -> CompetingSplit | None:
    """Return the test at the root of a tree that was grown on one feature; None if there is no test."""
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
    """Return the categories that have a branch, and their branches."""
    if stump.kind[0] == NOMINAL:
        entries = zip(stump.categories_code.tolist(), stump.categories_branch.tolist(), strict=True)
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
    """Return the splits by falling gain; equal ones are in the order of the columns."""
    waiting = sorted(splits, key=lambda split: -split.gain)
    ordered: list[CompetingSplit] = []
    while waiting:
        limit = waiting[0].gain * (1 - EQUAL_GAINS)
        n_equal = next((i for i, split in enumerate(waiting) if split.gain < limit), len(waiting))
        ordered += sorted(waiting[:n_equal], key=lambda split: split.feature)
        waiting = waiting[n_equal:]
    return ordered
