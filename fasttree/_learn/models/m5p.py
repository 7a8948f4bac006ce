"""Growth as Weka's M5P computes it, with its ties: in double precision, sample by sample.

M5P's variance of a side comes from running sums of the targets and their squares.  Where all targets of a side are equal, it is a
rounding error, whose fifth root is large enough to choose between two tests that divide the samples alike.  These trees are found
only by the same operations in the same order.  M5P takes samples of equal values in an order that its sort leaves; here they are
in the order of their targets, so that the tree does not depend on the order of the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._learn import progress
from fasttree._learn.limits import Limits
from fasttree._model.arrays import LEAF, STOP, THRESHOLD, parents
from fasttree._model.tree import Tree

__all__ = ["grow_m5p"]

EQUAL = 1e-6  # values, and gains, that differ by less are equal; no share, so that it depends on their unit
FIFTH = 0.2
SIDES = 5  # each side has more than a fifth of the samples

Rows = npt.NDArray[np.intp]


class _Test(NamedTuple):
    feature: int
    threshold: float
    gain: float


def grow_m5p(columns: Floats, features: Rows, target: Floats, n_features: int, limits: Limits, least_deviation: float) -> Tree:
    """Return the tree of M5P.

    Parameters
    ----------
    columns : float64 array, shape (n_samples, d)
        Without missing values.
    features : intp array, shape (d,)
        Number of each column in the table.
    target : float64 array, shape (n_samples,)
    n_features : int
        Number of features of the table.
    limits : Limits
        `max_depth`, `min_samples_split` and `min_samples_leaf` count.
    least_deviation : float
        A node of a smaller standard deviation, as a share of that of all samples, is a leaf.

    Returns
    -------
    Tree
        Missing values go where the mean of the column goes.
    """
    by_target = np.argsort(target, kind="stable")
    rank = np.empty(columns.shape, np.int32)
    for j in range(columns.shape[1]):
        rank[by_target[np.argsort(columns[by_target, j], kind="stable")], j] = np.arange(target.size)
    least = least_deviation * float(np.std(target[by_target]))
    nodes, depth, first_child = [by_target], [0], []
    tests: list[_Test | None] = []
    finished, share = 0, progress.share()
    for rows in nodes:  # breadth first; the list grows
        test = None
        if rows.size >= limits.min_samples_split and (limits.max_depth is None or depth[len(tests)] < limits.max_depth):
            test = _best(columns[rows], rank[rows], target[rows], least, limits.min_samples_leaf)
        first_child.append(-1 if test is None else len(nodes))
        if test is None:
            finished += rows.size
            if share is not None:
                share(finished / target.size)
        else:
            left = columns[rows, test.feature] <= test.threshold
            nodes += [rows[left], rows[~left]]
            depth += [depth[len(tests)] + 1] * 2
        tests.append(test)
    return _tree(nodes, tests, np.array(first_child, np.int32), columns, features, target, n_features)


def _best(columns: Floats, rank: npt.NDArray[np.int32], target: Floats, least: float, min_side: int) -> _Test | None:
    """Return the best test of a node, whose samples are in the order of their targets, None for a leaf."""
    n = target.size
    end = max(n // SIDES, 1)
    if float(np.std(target)) < least or n - 2 * end < 2:
        return None
    order = np.argsort(rank, axis=0)
    y = target[order]
    squares = y * y
    x = np.take_along_axis(columns, order, axis=0)
    first, stop = end, n - end - 1  # the last sample of the left side is one of these
    low, high = x[first:stop], x[first + 1 : stop + 1]
    is_cut = high - low >= EQUAL
    n_left = np.arange(first + 1.0, stop + 1.0)
    if min_side > 1:
        is_cut &= ((n_left >= min_side) & (n - n_left >= min_side))[:, None]
    if not is_cut.any():
        return None
    whole, of_squares = np.add.accumulate(y)[-1], np.add.accumulate(squares)[-1]
    variance = np.abs((of_squares - whole * whole / n) / n)
    sums = [_running(values, first, stop) for values in (y, squares)]
    left, right = (_variance(sums[0][side], sums[1][side], count[:, None]) for side, count in enumerate((n_left, n - n_left)))
    share = (n_left / n)[:, None]
    gain = variance**FIFTH - share * left**FIFTH - ((n - n_left) / n)[:, None] * right**FIFTH
    gain[~is_cut] = -np.inf
    place = gain.argmax(axis=0)
    largest = gain[place, np.arange(gain.shape[1])].tolist()
    best, found = -np.inf, -1
    for j, value in enumerate(largest):
        if value > best + EQUAL:
            best, found = value, j
    at = place[found]
    return _Test(found, float((low[at, found] + high[at, found]) * 0.5), max(best, 0.0))


def _running(values: Floats, first: int, stop: int) -> tuple[Floats, Floats]:
    """Return the sums of the left and the right side, for each last sample of the left side from `first` to `stop`."""
    before = np.add.accumulate(values[:first])[-1]
    after = np.add.accumulate(values[first:])[-1]
    left = np.add.accumulate(np.concatenate([before[None], values[first:stop]]))[1:]
    right = np.subtract.accumulate(np.concatenate([after[None], values[first:stop]]))[1:]
    return left, right


def _variance(total: Floats, squares: Floats, n: Floats) -> Floats:
    """Return what M5P takes for the variance: a rounding error where it is 0."""
    found: Floats = np.abs((n * squares - total * total) / (n * n))
    return found


def _tree(
    nodes: list[Rows],
    tests: list[_Test | None],
    first_child: npt.NDArray[np.int32],
    columns: Floats,
    features: Rows,
    target: Floats,
    n_features: int,
) -> Tree:
    n_branches = np.where(first_child >= 0, 2, 0).astype(np.int32)
    inner = np.flatnonzero(n_branches)
    count, n_nodes = np.array([rows.size for rows in nodes], np.int64), len(nodes)
    threshold, gain = np.full(n_nodes, np.nan), np.zeros(n_nodes)
    feature, missing = np.full(n_nodes, -1, np.int32), np.full(n_nodes, STOP, np.int32)
    means = columns.mean(axis=0)
    for node in inner.tolist():
        test = tests[node]
        assert test is not None
        feature[node], missing[node] = features[test.feature], means[test.feature] > test.threshold
        threshold[node], gain[node] = test.threshold, test.gain
    return Tree(
        task="regression",
        n_features=n_features,
        parent=parents(inner, n_branches[inner]),
        first_child=first_child,
        n_branches=n_branches,
        feature=feature,
        kind=np.where(n_branches > 0, THRESHOLD, LEAF).astype(np.uint8),
        missing=missing,
        categories_start=np.zeros(n_nodes + 1, np.int64),
        categories_code=np.zeros(0, np.uint32),
        categories_branch=np.zeros(0, np.int32),
        n_samples=count,
        weight=count.astype(np.float64),
        value=np.array([[target[rows].mean()] for rows in nodes]),
        impurity=np.array([target[rows].var() for rows in nodes]) ** FIFTH,
        threshold=threshold,
        gain=gain,
    )
