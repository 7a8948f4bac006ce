"""The walk of an ONNX model: tests of all kinds as tests ``x <= t``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Feature, Kind
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, STOP, THRESHOLD
from fasttree._model.tree import Tree

__all__ = ["Walk", "lower", "rounded_down"]


@dataclass
class Walk:
    """Tests ``column <= threshold``; those below a test come before it.

    A way is the number of a test, or ``~row`` if a sample ends.  Each test has one parent, because runtimes need a tree.
    """

    column: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    missing_true: list[bool] = field(default_factory=list)  # whether a missing value goes with small values, else with large ones
    if_true: list[int] = field(default_factory=list)
    if_false: list[int] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)  # the first way of each tree
    columns: dict[tuple[int, bytes], int] = field(default_factory=dict)  # feature, parts of its categories (empty: its values)

    def add(self, column: int, threshold: float, if_true: int, if_false: int, *, missing_true: bool) -> int:
        self.column.append(column)
        self.threshold.append(threshold)
        self.missing_true.append(missing_true)
        self.if_true.append(if_true)
        self.if_false.append(if_false)
        return len(self.column) - 1

    def by_cuts(self, column: int, cuts: Sequence[float], ways: Sequence[int], missing: int) -> int:
        """Add tests that send a value along ``ways[number of cuts below it]``, and a missing value along its own way."""
        if missing not in ways:
            known = self.by_cuts(column, cuts, ways, ways[-1])
            return self.add(column, math.inf, known, missing, missing_true=False)
        of_missing = ways.index(missing)

        def between(start: int, stop: int) -> int:
            if stop - start == 1:
                return ways[start]
            middle = (start + stop) // 2
            low, high = between(start, middle), between(middle, stop)
            return self.add(column, cuts[middle - 1], low, high, missing_true=of_missing < middle)

        return between(0, len(ways))

    def by_category(self, feature: int, ways: NDArray[np.int64]) -> int:
        """Add tests that send each category along its way; the last way is that of missing values."""
        distinct, first, inverse = np.unique(ways, return_index=True, return_inverse=True)
        order = np.argsort(first)  # the same partition of the categories gives the same column, whatever the ways
        number = np.argsort(order).astype(np.uint32)[inverse]
        if distinct.size == 1:
            return int(distinct[0])
        column = self.columns.setdefault((feature, number.tobytes()), len(self.columns))
        cuts = (np.arange(distinct.size - 1) + 0.5).tolist()
        leads = distinct[order].tolist()
        return self.by_cuts(column, cuts, leads, leads[0])

    def reached(self, root: int) -> NDArray[np.int64]:
        """Return the tests that samples can reach, beginning with the root; branches without categories are omitted."""
        found = [root] if root >= 0 else []
        for test in found:
            found += [way for way in (self.if_true[test], self.if_false[test]) if way >= 0]
        return np.array(found, np.int64)


def lower(walk: Walk, tree: Tree, features: Sequence[Feature], row_of: NDArray[np.int64], *, single: bool) -> None:
    """Convert a tree to binary tests, bottom-up, which are added to the walk."""
    threshold = rounded_down(tree.threshold, single=single).tolist()
    cut = None if tree.cut is None else rounded_down(tree.cut, single=single)
    way = (~row_of).tolist()  # of a sample that reaches a node
    kind, feature, first_child, n_branches, missing = (
        getattr(tree, name).tolist() for name in ("kind", "feature", "first_child", "n_branches", "missing")
    )
    for node in np.flatnonzero(tree.n_branches)[::-1].tolist():
        ways = way[first_child[node] : first_child[node] + n_branches[node]]
        of_missing = way[node] if missing[node] == STOP else ways[missing[node]]
        j = feature[node]
        if features[j].kind is not Kind.CONTINUOUS:
            way[node] = walk.by_category(j, _ways_of_categories(tree, node, features[j], ways, of_missing))
            continue
        column = walk.columns.setdefault((j, b""), len(walk.columns))
        if kind[node] == THRESHOLD:
            way[node] = walk.by_cuts(column, threshold[node : node + 1], ways[:2], of_missing)
        elif kind[node] == KNOWN:
            way[node] = walk.by_cuts(column, [], ways[:1], of_missing)
        else:
            assert cut is not None
            assert tree.cut_start is not None
            cuts = cut[tree.cut_start[node] : tree.cut_start[node + 1]].tolist()
            way[node] = walk.by_cuts(column, cuts, ways[: len(cuts) + 1], of_missing)
    walk.roots.append(way[0])


def rounded_down(thresholds: NDArray[np.float64], *, single: bool) -> NDArray[np.float64]:
    """Return the largest float32 up to each threshold; a float32 exceeds it if and only if it exceeds the threshold."""
    if not single:
        return thresholds
    with np.errstate(over="ignore"):
        rounded = thresholds.astype(np.float32)
    too_high = rounded > thresholds
    rounded[too_high] = np.nextafter(rounded[too_high], np.float32(-np.inf))
    return rounded.astype(np.float64)


def _ways_of_categories(tree: Tree, node: int, feature: Feature, ways: list[int], missing: int) -> NDArray[np.int64]:
    """Return the way of each category from a node, then that of missing values."""
    assert feature.categories is not None
    n_categories = len(feature.categories)
    found = np.full(n_categories + 1, missing, np.int64)
    of_branch = np.array(ways)
    kind = tree.kind[node]
    codes = np.arange(1, n_categories + 1)
    if kind == THRESHOLD:
        found[:-1] = np.where(codes <= tree.threshold[node], ways[0], ways[1])
    elif kind == KNOWN:
        found[:-1] = ways[0]
    elif kind == INTERVALS:
        found[:-1] = of_branch[np.searchsorted(tree.cuts_of(node), codes)]
    elif kind == CATEGORY:
        n_known = min(n_categories, of_branch.size)
        found[:n_known] = of_branch[:n_known]
    else:
        known, branch = tree.categories_of(node)
        found[known.astype(np.int64) - 1] = of_branch[branch]
    return found
