"""Windowing: trees grown on a part of the samples, to which misclassified samples are added (Quinlan 1993, chapter 6).

A trial starts from a random window in which the class counts are as equal as possible.  Several trials give several trees, and
the one that is best after pruning predicts.  The caller knows how trees are grown and pruned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.sums import sum_of_sizes
from fasttree._data.table import Table
from fasttree._learn.progress import each
from fasttree._model.tree import Tree
from fasttree._model.walks import predict_value, walk

__all__ = ["Trial", "grow_in_windows", "window_increment", "window_size"]

Rows = npt.NDArray[np.intp]


class Trial(NamedTuple):
    """The best tree of a trial, as grown and as pruned with all samples."""

    grown: Tree
    pruned: Tree


def window_size(n_samples: int) -> int:
    """Return Release 8's size of the first window: a fifth of all samples, and at least twice their square root."""
    return min(max(int(2 * np.sqrt(n_samples)), n_samples // 5), n_samples)


def window_increment(size: int) -> int:
    """Return Release 8's largest increment of a window of this first size: a fifth of it."""
    return max(size // 5, 1)


def grow_in_windows(
    table: Table,
    class_codes: npt.NDArray[np.integer[Any]],
    sample_weight: npt.NDArray[np.float64] | None,
    grow_on: Callable[[Rows], Tree],
    prune: Callable[[Tree], Tree],
    *,
    n_trials: int,
    size: int | None,
    increment: int | None,
    random: np.random.Generator | np.random.RandomState,
) -> tuple[list[Trial], int]:
    """Grow a tree in each of several trials, and find the best one.

    A trial repeats three steps: grow a tree on the window; classify the samples outside; add the first misclassified samples (the
    exceptions) to the window.  It ends when there are none.  Its result is the tree with the fewest errors on all samples.

    Parameters
    ----------
    table : Table
    class_codes : int array, shape (n_samples,)
        0, ..., n_classes - 1.
    sample_weight : float64 array, shape (n_samples,), or None
        Not negative.  Samples of weight 0 are ignored; windows count samples, errors are weights.
    grow_on : callable
        Grows a tree on the samples with the given row numbers, ascending.
    prune : callable
        Prunes a tree with all samples.
    n_trials : int
    size, increment : int or None
        Number of samples in the first window, at most all, and largest number of samples added at a time, unless half of the
        exceptions are more.  None: Release 8's numbers, from `window_size` and `window_increment`.
    random : Generator or RandomState
        Each trial draws one permutation of the samples.

    Returns
    -------
    trials : list of Trial
    best : int
        The first trial whose pruned tree has the fewest estimated errors, or errors on the samples if there are no estimates.
    """
    samples = np.arange(table.n_samples) if sample_weight is None else np.flatnonzero(sample_weight)
    size = min(window_size(samples.size) if size is None else size, samples.size)
    increment = window_increment(size) if increment is None else increment
    targets = _targets(np.bincount(class_codes[samples]), size)
    trials = []
    for _ in each("windowing", range(n_trials)):
        order, start = _first_window(random.permutation(samples), class_codes, targets)
        grown = _trial(table, class_codes, sample_weight, grow_on, order, start, increment)
        trials.append(Trial(grown, prune(grown)))
    errors = [_final_errors(trial.pruned, table, class_codes, sample_weight) for trial in trials]
    return trials, int(np.argmin(errors))


def _targets(counts: npt.NDArray[np.integer[Any]], size: int) -> npt.NDArray[np.int64]:
    """Return the number of samples of each class in the first window: an equal part, or all samples of a rare class."""
    targets = np.zeros(counts.size, np.int64)
    order = np.argsort(counts, kind="stable")
    present = order[counts[order] > 0]
    for n_before, k in enumerate(present):
        n_left = present.size - n_before
        targets[k] = min(int(counts[k]), int(size / n_left + 0.5))
        size -= int(targets[k])
    return targets


def _first_window(order: Rows, class_codes: npt.NDArray[np.integer[Any]], targets: npt.NDArray[np.int64]) -> tuple[Rows, int]:
    """Put the first samples of each class in front, up to the targets; return the order and the size of the window."""
    codes = class_codes[order]
    inside = np.zeros(order.size, np.bool_)
    for k, target in enumerate(targets):
        inside[np.flatnonzero(codes == k)[:target]] = True
    return np.concatenate([order[inside], order[~inside]]), int(inside.sum())


def _trial(
    table: Table,
    class_codes: npt.NDArray[np.integer[Any]],
    sample_weight: npt.NDArray[np.float64] | None,
    grow_on: Callable[[Rows], Tree],
    order: Rows,
    size: int,
    increment: int,
) -> Tree:
    """Return the best tree of one trial, whose first window is the first `size` samples of `order`."""
    best, least = None, np.inf
    while True:
        tree = grow_on(np.sort(order[:size]))
        outside = order[size:]
        wrong = _predict(tree, table)[outside] != class_codes[outside]
        errors = _training_errors(tree)
        if sample_weight is None:
            # rounded, because errors of divided samples need not add up to whole numbers
            errors = np.floor(errors + 0.5) + np.count_nonzero(wrong)
        else:
            errors += sum_of_sizes(sample_weight[outside[wrong]])
        if best is None or errors < least:
            best, least = tree, errors
        n_wrong = int(np.count_nonzero(wrong))
        if n_wrong == 0:
            return best
        order = np.concatenate([order[:size], outside[wrong], outside[~wrong]])
        size += max(min(n_wrong, increment), n_wrong // 2)


def _training_errors(tree: Tree) -> float:
    leaves = tree.leaves()[tree.weight[tree.leaves()] > 0]
    return float((tree.weight[leaves] - tree.value[leaves].max(axis=1)).sum())


def _predict(tree: Tree, table: Table) -> npt.NDArray[np.intp]:
    if tree.divides:
        return np.asarray(predict_value(tree, table).argmax(axis=1), np.intp)
    return tree.predicted_class[walk(tree, table)]


def _final_errors(
    tree: Tree, table: Table, class_codes: npt.NDArray[np.integer[Any]], sample_weight: npt.NDArray[np.float64] | None
) -> float:
    if tree.estimated_errors is not None:
        return float(tree.estimated_errors[0])
    wrong = _predict(tree, table) != class_codes
    return float(wrong.sum()) if sample_weight is None else sum_of_sizes(sample_weight[wrong])
