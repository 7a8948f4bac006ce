"""Soft thresholds: how far around each cut a value should count for both sides (Quinlan 1993, chapter 8).

The training samples are sent down the finished tree once more.  A threshold is moved through their values until the errors below
its node rise by one standard error; what lies between is not decided by the data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core
from ._grow import blocks, fixed_point_weights
from ._table import Kind, Table
from ._tree import Tree

BELOW_TOLERANCE = 1e-6  # of Release 8: a value so little above the cut still counts as below it

Floats = npt.NDArray[np.float64]


class _Tests(NamedTuple):
    """Samples at threshold nodes, one entry for each sample and node: whether a branch gives it a wrong class."""

    row: npt.NDArray[np.int64]
    node: npt.NDArray[np.int32]
    own_wrong: npt.NDArray[np.bool_]  # the branch that its value asks for
    other_wrong: npt.NDArray[np.bool_]

    def where(self, chosen: npt.NDArray[np.bool_]) -> _Tests:
        return _Tests(self.row[chosen], self.node[chosen], self.own_wrong[chosen], self.other_wrong[chosen])


def soften(tree: Tree, table: Table, class_codes: npt.NDArray[np.integer[Any]], sample_weight: Floats | None = None) -> Tree:
    """Give every threshold the interval around it in which a value goes to both branches.

    At each threshold node, the samples that reach it whole (no test above met a missing value) and whose value is known are
    classified from both branches, by the tree with hard thresholds.  With b errors of weight n at the cut, the errors may rise to
    ``b + sqrt((b + 0.5) (n - b + 0.5) / (n + 1))``.  `lower` is where, coming from below, they first fall to that limit, and
    `upper` where, above the cut, they last rise past it, both interpolated between neighbouring values; without such a place, the
    smallest and the largest value.  Thresholds on ordinal features stay hard: between codes there is nothing.

    Parameters
    ----------
    tree : Tree
        A classification tree, usually pruned.  It is not modified; soft thresholds that it has are found anew.
    table : Table
        The training samples, as the tree knows them.
    class_codes : array of int, shape (n_samples,)
        0, ..., n_classes - 1.
    sample_weight : float64 array of shape (n_samples,) or None, default None
        Not negative: a sample counts as many times. None: every sample counts 1, as in Release 8.

    Returns
    -------
    Tree
        With `lower` and `upper`, the same for any order of the samples.
    """
    tree = tree.replace(lower=None, upper=None)
    tests = _tests(tree, table, class_codes)
    if sample_weight is not None:
        tests = tests.where(sample_weight[tests.row] > 0)
    weight, unit = fixed_point_weights(sample_weight)
    lower, upper = tree.threshold.copy(), tree.threshold.copy()
    # feature by feature: the values in hand are one column, the entries to sort those of one feature
    feature_of = tree.feature[tests.node]
    for feature in np.unique(feature_of).tolist():
        if table.schema.features[feature].kind == Kind.ORDINAL:
            continue
        here = tests.where(feature_of == feature)
        values = table.column(feature)[here.row].astype(np.float64)
        counts = np.ones(len(here.row), np.int64) if weight is None else weight[here.row]
        _bound(tree.threshold, here, values, counts, unit, lower, upper)
    return tree.replace(lower=lower, upper=upper)


def _tests(tree: Tree, table: Table, class_codes: npt.NDArray[np.integer[Any]]) -> _Tests:
    classes = np.ascontiguousarray(class_codes, dtype=np.int32)
    parts = []
    for rows, block in blocks(table):
        n_rows = len(block)
        starts = np.zeros(n_rows + 1, np.int64)
        own = np.empty(n_rows, np.uint8)
        _core.threshold_tests(tree, block, classes[rows], starts, own, None, own)
        np.cumsum(starts, out=starts)
        node, other = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint8)
        _core.threshold_tests(tree, block, classes[rows], starts, own, node, other)
        row = np.repeat(np.arange(n_rows), np.diff(starts))
        parts.append(_Tests(row + rows.start, node, own[row] > 0, other > 0))
    return _Tests(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _bound(
    threshold: Floats, tests: _Tests, values: Floats, counts: npt.NDArray[np.int64], unit: float, lower: Floats, upper: Floats
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
    # errors if the threshold were this entry's value: as if all went right, and what moves to the left up to here
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
    # the first fall and the last rise of a node count: of equal indices the last assignment stays
    falls = np.flatnonzero((errors[a] > limit[a]) & below[b])[::-1]
    rises = np.flatnonzero((errors[a] <= limit[a]) & ~below[b])
    owner = node[a]
    lower[owner[falls]] = np.minimum(threshold[owner[falls]], place[falls])
    upper[owner[rises]] = np.maximum(threshold[owner[rises]], place[rises])
