"""Soft thresholds: the interval around each cut in which a value counts for both sides (Quinlan 1993, chapter 8).

The training samples are sent down the finished tree once more.  A threshold is moved through their values until the errors below
its node rise by one standard error; within these limits the data do not decide.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind
from fasttree._data.table import Table
from fasttree._engine import passes
from fasttree._learn.grow.fixed_point import fixed_point_weights
from fasttree._model.tree import Tree
from fasttree._model.walks import blocks

BELOW_TOLERANCE = 1e-6  # of Release 8: a value that is above the cut by no more still counts as below it


class Tests(NamedTuple):
    """Samples at threshold nodes, one entry for each sample and node: whether a branch gives it a wrong class."""

    row: npt.NDArray[np.int64]
    node: npt.NDArray[np.int32]
    part: Floats  # how much of the sample reaches the node
    own_wrong: npt.NDArray[np.bool_]  # of the branch of its value
    other_wrong: npt.NDArray[np.bool_]

    def where(self, chosen: npt.NDArray[np.bool_]) -> Tests:
        own, other = self.own_wrong[chosen], self.other_wrong[chosen]
        return Tests(self.row[chosen], self.node[chosen], self.part[chosen], own, other)


def soften(tree: Tree, table: Table, class_codes: npt.NDArray[np.integer[Any]], sample_weight: Floats | None = None) -> Tree:
    """Give every threshold an interval around it in which a value goes to both branches.

    At each threshold node, the samples that reach it whole (no test above met a missing value) and whose value is known are
    classified from both branches, by the tree with hard thresholds.  With b errors of weight n at the cut, the errors may rise to
    ``b + sqrt((b + 0.5) (n - b + 0.5) / (n + 1))``.  From below, `lower` is the first place where they fall to that limit; above
    the cut, `upper` is the last place where they rise past it.  Both are interpolated between neighbouring values; if there is no
    such place, they are the smallest and the largest value.  Thresholds on ordinal features stay hard: there is nothing between
    two codes.

    Parameters
    ----------
    tree : Tree
        A classification tree, usually pruned.  It is not modified; soft thresholds that it has are replaced.
    table : Table
        The training samples, encoded as for the tree.
    class_codes : array of int, shape (n_samples,)
        0, ..., n_classes - 1.
    sample_weight : float64 array of shape (n_samples,) or None, default None
        Not negative.  None: every sample counts 1, as in Release 8.

    Returns
    -------
    Tree
        With `lower` and `upper`, the same for any order of the samples.
    """
    tree = tree.replace(lower=None, upper=None)
    tests = tests_of(tree, table, class_codes, divided=False)
    if sample_weight is not None:
        tests = tests.where(sample_weight[tests.row] > 0)
    weight, unit = fixed_point_weights(sample_weight)
    lower, upper = tree.threshold.copy(), tree.threshold.copy()
    # feature by feature: only one column is in memory, and only its entries are sorted
    feature_of = tree.feature[tests.node]
    for feature in np.unique(feature_of).tolist():
        if table.schema.features[feature].kind == Kind.ORDINAL:
            continue
        here = tests.where(feature_of == feature)
        # no -0.0: which of two equal zeros comes first must not show
        values = table.column(feature)[here.row].astype(np.float64) + 0.0
        counts = np.ones(len(here.row), np.int64) if weight is None else weight[here.row]
        _bound(tree.threshold, here, values, counts, unit, lower, upper)
    return tree.replace(lower=lower, upper=upper)


def tests_of(tree: Tree, table: Table, class_codes: npt.NDArray[np.integer[Any]], divided: bool) -> Tests:
    """Return the threshold nodes that samples reach with a known value, whole or also `divided` by missing values."""
    classes = np.ascontiguousarray(class_codes, dtype=np.int32)
    parts = []
    none = np.empty((2, 0), np.uint8)
    for rows, block in blocks(table):
        n_rows = len(block)
        starts = np.zeros(n_rows + 1, np.int64)
        passes.threshold_tests(tree, block, classes[rows], starts, None, np.empty(0) if divided else None, none)
        np.cumsum(starts, out=starts)
        n = int(starts[-1])
        node, part, wrong = np.empty(n, np.int32), np.ones(n), np.empty((2, n), np.uint8)
        passes.threshold_tests(tree, block, classes[rows], starts, node, part if divided else None, wrong)
        row = np.repeat(np.arange(n_rows), np.diff(starts))
        parts.append(Tests(row + rows.start, node, part, wrong[0] > 0, wrong[1] > 0))
    return Tests(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _bound(
    threshold: Floats, tests: Tests, values: Floats, counts: npt.NDArray[np.int64], unit: float, lower: Floats, upper: Floats
) -> None:
    """Set `lower` and `upper` of the nodes in `tests`, all of one feature; `counts` are weights in multiples of `unit`."""
    order = np.lexsort((values, tests.node))
    node, values, counts = tests.node[order], values[order], counts[order]
    went_left = values <= threshold[node]
    own, other = tests.own_wrong[order], tests.other_wrong[order]
    wrong_left = counts * np.where(went_left, own, other)
    wrong_right = counts * np.where(went_left, other, own)
    below = values <= threshold[node] + BELOW_TOLERANCE

    starts = np.flatnonzero(np.diff(node, prepend=-1))
    sizes = np.diff(starts, append=node.size)
    total = np.add.reduceat(counts, starts) * unit
    base = np.add.reduceat(np.where(below, wrong_left, wrong_right), starts) * unit
    limit = np.repeat(base + np.sqrt((base + 0.5) * (total - base + 0.5) / (total + 1)), sizes)
    # errors if the threshold were this entry's value: all samples go right, except those up to here, which go left
    moved = np.cumsum(wrong_left - wrong_right)
    before = np.repeat(np.concatenate([[0], moved[starts[1:] - 1]]), sizes)
    errors = (np.repeat(np.add.reduceat(wrong_right, starts), sizes) + moved - before) * unit

    bounded = node[starts]
    lower[bounded] = np.minimum(threshold[bounded], values[starts])
    upper[bounded] = np.maximum(threshold[bounded], values[starts + sizes - 1])
    distinct = np.flatnonzero(np.append((values[1:] != values[:-1]) | (node[1:] != node[:-1]), True))
    a, b = distinct[:-1], distinct[1:]
    crosses = (node[a] == node[b]) & ((errors[a] > limit[a]) != (errors[b] > limit[a]))
    a, b = a[crosses], b[crosses]
    share = (limit[a] - errors[a]) / (errors[b] - errors[a])
    place = values[a] * (1 - share) + values[b] * share
    # the first fall and the last rise of a node count: with equal indices, the last assignment remains
    falls = np.flatnonzero((errors[a] > limit[a]) & below[b])[::-1]
    rises = np.flatnonzero((errors[a] <= limit[a]) & ~below[b])
    owner = node[a]
    lower[owner[falls]] = np.minimum(threshold[owner[falls]], place[falls])
    upper[owner[rises]] = np.maximum(threshold[owner[rises]], place[rises])
