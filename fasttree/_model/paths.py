"""Conditions on the paths to the nodes of a tree, and the nodes where samples end; the basis of rules and explanations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Kind, Schema
from fasttree._data.table import Table
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, LARGEST_CUT, SHARES, STOP, THRESHOLD
from fasttree._model.conditions import Condition, SoftTest, left_part
from fasttree._model.tree import Tree
from fasttree._model.walks import decision_path, walk

__all__ = ["Paths", "conditions_of", "ends_of", "missing_shares"]


def conditions_of(tree: Tree, schema: Schema, node: int) -> tuple[list[Condition], Condition | None]:
    """Return the condition for each branch of an inner node, and that for a value to stay there, None if none does.

    A category unknown to the node, or unseen in fit, goes where a missing value goes.
    """
    index, n_branches = int(tree.feature[node]), int(tree.n_branches[node])
    feature = schema.features[index]
    missing = int(tree.missing[node])
    asks = tree.surrogates is not None and bool(tree.surrogates.start[node] < tree.surrogates.start[node + 1])
    shares = missing_shares(tree, node)
    if feature.categories is None:
        limits = _limits(tree, node)
        result = [
            Condition.interval(feature, index, low, high, missing=share, surrogates=asks, soft=soft)
            for (low, high, soft), share in zip(limits, shares, strict=True)
        ]
        stays = Condition.interval(feature, index, math.inf, -math.inf, missing=1.0, surrogates=asks)
        return result, stays if missing == STOP else None
    declared = feature.categories
    groups: list[list[Any]] = [[] for _ in range(n_branches)]
    unknown: list[Any] = []
    for category, branch in zip(declared, _branch_of_code(tree, node, len(declared)), strict=True):
        (unknown if branch < 0 else groups[branch]).append(category)
    order = {category: code for code, category in enumerate(declared)} if unknown else {}
    divided = _divided_codes(tree, node, declared)
    result = []
    for branch, (group, share) in enumerate(zip(groups, shares, strict=True)):
        whole = sorted([*group, *unknown], key=order.__getitem__) if unknown and share == 1 else group
        parts = [(category, share) for category in unknown] if 0 < share < 1 else []
        if divided and branch < 2:
            whole = [category for category in whole if category not in divided]
            parts = [(category, 1 - left if branch else left) for category, left in divided.items()]
        asked = unknown if asks else []
        result.append(Condition.among(feature, index, whole, missing=share, parts=parts, surrogates=asks, asked=asked))
    stays = Condition.among(feature, index, unknown, missing=1.0, surrogates=asks, asked=unknown if asks else [])
    return result, stays if missing == STOP else None


def missing_shares(tree: Tree, node: int) -> list[float]:
    """Return the part of a sample that follows each branch if its value is missing and no surrogate decides."""
    first, n_branches, missing = int(tree.first_child[node]), int(tree.n_branches[node]), int(tree.missing[node])
    if missing == SHARES:
        weights: list[float] = tree.weight[first : first + n_branches].tolist()
        whole = sum(weights)
        return [weight / whole for weight in weights]
    return [float(branch == missing) for branch in range(n_branches)]


def _limits(tree: Tree, node: int) -> list[tuple[float, float, tuple[SoftTest, ...]]]:
    """Return, for each branch of a test on numbers, its interval and its test if the threshold is soft."""
    nothing, everything = (math.inf, -math.inf, ()), (-math.inf, math.inf, ())
    if tree.kind[node] == KNOWN:
        return [everything, nothing]
    if tree.kind[node] == INTERVALS:
        cuts = [-math.inf, *tree.cuts_of(node).tolist(), math.inf]
        intervals: list[tuple[float, float, tuple[SoftTest, ...]]] = [(low, high, ()) for low, high in itertools.pairwise(cuts)]
        return [*intervals[:-1], nothing] if cuts[-2] == LARGEST_CUT else intervals
    threshold = float(tree.threshold[node])
    soft: list[tuple[SoftTest, ...]] = [(), ()]
    if tree.lower is not None and tree.upper is not None and tree.lower[node] < tree.upper[node]:
        lower, upper = float(tree.lower[node]), float(tree.upper[node])
        soft = [(SoftTest(lower, threshold, upper, above),) for above in (False, True)]
    sides = [(-math.inf, threshold, soft[0]), (threshold, math.inf, soft[1])]
    return [*sides, *[nothing] * (int(tree.n_branches[node]) - 2)]


def _branch_of_code(tree: Tree, node: int, n_categories: int) -> list[int]:
    """Return the branch of each category at a node; -1 if it has none."""
    kind = int(tree.kind[node])
    if kind == CATEGORY:
        return list(range(n_categories))
    if kind == KNOWN:
        return [0] * n_categories
    codes = np.arange(1, n_categories + 1)
    if kind == THRESHOLD:
        return list(map(int, codes > tree.threshold[node]))
    if kind == INTERVALS:
        return list(map(int, np.searchsorted(tree.cuts_of(node), codes)))
    branches = np.full(n_categories, -1)
    known, branch_of = tree.categories_of(node)
    branches[known.astype(np.intp) - 1] = branch_of
    return list(map(int, branches))


def _divided_codes(tree: Tree, node: int, declared: Sequence[Any]) -> dict[Any, float]:
    """Return the categories of an ordinal feature that a soft threshold divides, and their part on the left."""
    if tree.kind[node] != THRESHOLD or tree.lower is None or tree.upper is None or not tree.lower[node] < tree.upper[node]:
        return {}
    codes = np.arange(1.0, len(declared) + 1)
    left = left_part(tree.lower[node], tree.threshold[node], tree.upper[node], codes).tolist()
    return {category: part for category, part in zip(declared, left, strict=True) if 0 < part < 1}


class Paths:
    """The conditions on the paths to the nodes of a tree.

    Each node has the condition of the branch that leads to it, and the same joined with all conditions above on the same feature.
    The last joined condition of each feature on a path implies the others, so memory is needed per node, not per path.

    Attributes
    ----------
    own, joined : list of Condition or None
        Conditions by node; None at the root.
    own_strays, joined_strays : list of bool
        Whether a missing value that passes the condition of a node followed a branch that is not the heaviest.
    stays : dict
        Own and joined condition of the samples that stop at an inner node, for nodes where samples can stop.
    ends : list of int
        Nodes where a sample can end, from the first branch to the last; inner nodes follow all nodes below them.
    """

    def __init__(self, tree: Tree, schema: Schema) -> None:
        self.own: list[Condition | None] = [None] * tree.node_count
        self.joined: list[Condition | None] = [None] * tree.node_count
        self.own_strays: list[bool] = [False] * tree.node_count
        self.joined_strays: list[bool] = [False] * tree.node_count
        self.stays: dict[int, tuple[Condition, Condition]] = {}
        # for each node: number of tests above it, of their features, and of tests above the first one on its condition's feature
        self._depth = [0] * tree.node_count
        self._n_tested = [0] * tree.node_count
        self._first = [0] * tree.node_count
        self.ends: list[int] = []
        self._parent: list[int] = tree.parent.tolist()
        first_child, n_branches, feature = tree.first_child.tolist(), tree.n_branches.tolist(), tree.feature.tolist()
        last: dict[int, int] = {}  # for each feature, the last node on the current path whose parent tests it
        hidden: list[int] = []  # previous entries of `last`, to be restored
        waiting = [(0, False)]
        while waiting:
            node, is_done = waiting.pop()
            condition = self.joined[node]
            if is_done:
                if node in self.stays or not n_branches[node]:
                    self.ends.append(node)
                if condition is not None:
                    last[condition.index] = hidden.pop()
                continue
            if condition is not None:
                hidden.append(last.get(condition.index, 0))
                last[condition.index] = node
            waiting.append((node, True))
            if n_branches[node]:
                self._open(tree, schema, node, last.get(feature[node], 0))
                children = range(first_child[node], first_child[node] + n_branches[node])
                waiting.extend((child, False) for child in reversed(children))

    def _open(self, tree: Tree, schema: Schema, node: int, above: int) -> None:
        """Set the conditions of the children; `above` is the last node with a condition on the same feature, else 0."""
        branches, stays = conditions_of(tree, schema, node)
        before = self.joined[above]
        first, missing = int(tree.first_child[node]), int(tree.missing[node])
        for child, condition in enumerate(branches, first):
            self.own[child] = condition
            self.joined[child] = condition if before is None else before & condition
            self._depth[child] = self._depth[node] + 1
            self._n_tested[child] = self._n_tested[node] + (before is None)
            self._first[child] = self._depth[node] if before is None else self._first[above]
        if missing >= 0 and not branches[missing].surrogates:
            weights = tree.weight[first : first + len(branches)]
            self.own_strays[first + missing] = bool(weights[missing] < weights.max())
        for child in range(first, first + len(branches)):
            joined = self.joined[child]
            assert joined is not None
            self.joined_strays[child] = joined.missing > 0 and (self.own_strays[child] or self.joined_strays[above])
        if stays is not None:
            joined = stays if before is None else before & stays
            if not joined.admits_nothing:
                self.stays[node] = stays, joined

    def tests(self, end: int) -> list[tuple[Condition, bool]]:
        """Return the conditions on the path from the root to an end, and whether missing values that pass one stray."""
        path = [(self.stays[end][0], True)] if end in self.stays else []
        while end:
            condition = self.own[end]
            assert condition is not None
            path.append((condition, self.own_strays[end]))
            end = self._parent[end]
        return path[::-1]

    def merged(self, end: int) -> list[tuple[Condition, bool]]:
        """Return the same with one condition per feature, in the order of first test, without those that everything passes."""
        found: dict[int, tuple[int, Condition, bool]] = {}
        stays = self.stays.get(end)
        n_wanted = self._n_tested[end]
        node = end
        while len(found) < n_wanted:
            joined = self.joined[node]
            assert joined is not None
            found.setdefault(joined.index, (self._first[node], joined, self.joined_strays[node]))
            node = self._parent[node]
        if stays is not None:
            first = found[stays[1].index][0] if stays[1].index in found else self._depth[end]
            found[stays[1].index] = first, stays[1], True
        in_order = sorted(found.values(), key=lambda entry: entry[0])
        return [(condition, strays) for _, condition, strays in in_order if not condition.admits_all]


def ends_of(tree: Tree, table: Table) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[np.float64]]:
    """Return the ends of the samples as rows, nodes and parts of a sample, with an entry for each pair."""
    if not tree.divides:
        return np.arange(table.n_samples), walk(tree, table), np.ones(table.n_samples)
    visited = decision_path(tree, table)
    nodes = visited.indices
    rows = np.repeat(np.arange(table.n_samples), np.diff(visited.indptr))
    keys = rows.astype(np.int64) * tree.node_count + nodes  # ascending
    below = nodes > 0
    above = np.searchsorted(keys, keys - nodes + np.maximum(tree.parent[nodes], 0))  # the entry of the parent
    n_children = np.bincount(above[below], minlength=nodes.size)
    factor = _factors(tree, table, rows, nodes, above, below & (n_children[above] > 1))
    parts = np.ones(nodes.size)
    depth = tree.depth()[nodes]
    by_depth = np.argsort(depth, kind="stable")
    for level in np.split(by_depth, np.cumsum(np.bincount(depth))[:-1])[1:]:
        parts[level] = parts[above[level]] * factor[level]
    ends = n_children == 0
    return rows[ends], nodes[ends], parts[ends]


def _factors(
    tree: Tree, table: Table, rows: NDArray[np.intp], nodes: NDArray[Any], above: NDArray[np.intp], divided: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the part of a node's part of a sample that goes to a child, if several children get some, else 1."""
    weight = tree.weight[nodes]
    whole = np.bincount(above[divided], weights=weight[divided], minlength=nodes.size)
    factor = np.ones(nodes.size)
    factor[divided] = weight[divided] / whole[above[divided]]
    if tree.lower is None or tree.upper is None:
        return factor
    parent = np.maximum(tree.parent[nodes], 0)
    soft = divided & (tree.kind[parent] == THRESHOLD)
    for index in np.unique(tree.feature[parent[soft]]).tolist():
        column = table.column(index).astype(np.float64)
        if table.schema.features[index].kind != Kind.CONTINUOUS:
            column[column == 0] = np.nan
        some = np.flatnonzero(soft & (tree.feature[parent] == index))
        some = some[~np.isnan(column[rows[some]])]
        test = parent[some]
        left = left_part(tree.lower[test], tree.threshold[test], tree.upper[test], column[rows[some]])
        factor[some] = np.where(nodes[some] == tree.first_child[test], left, 1 - left)
    return factor
