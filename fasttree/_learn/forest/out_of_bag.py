"""What the samples out of the bags say: predictions, errors, importances, and the spread of a prediction (Breiman 2001).

A sample is out of the bag of a tree that has not drawn it, so that the tree can judge it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.table import Table
from fasttree._learn.progress import steps
from fasttree._model.bags import Bags, stream
from fasttree._model.ensemble import Ensemble
from fasttree._model.threads import in_threads

N_BLOCKS, LEAST_ROWS, MOST_ROWS = 16, 8_192, 32_768  # blocks of rows do not depend on the number of threads
CELLS_AT_ONCE = 2**22


class OutOfBag(NamedTuple):
    """Predictions by the trees whose bags lack a sample.

    Parameters
    ----------
    values : array of float64, shape (n_samples, k)
        Mean class shares or means; NaN if every bag has the sample.
    error : array of float64, shape (n_trees,)
        Mean error after each number of trees, of the samples that are predicted by then; NaN if there are none.
    """

    values: Floats
    error: Floats


def float_rows(table: Table, start: int, stop: int) -> npt.NDArray[Any]:
    """Return rows as floats, at most to the end of the table."""
    return table.block(start, min(stop, table.n_samples))


def left_out(bags: Bags, n_trees: int, n_jobs: int) -> npt.NDArray[np.uint8]:
    """Return the samples that each bag lacks, one bit each; shape (n_trees, n_samples / 8 rounded up)."""
    bits = in_threads(lambda tree: np.packbits(bags.counts(tree) == 0), n_trees, n_jobs)
    return np.array(bits, dtype=np.uint8)


def wrong(ensemble: Ensemble, values: Floats, target: npt.NDArray[Any]) -> Floats:
    """Return the error of each prediction: 1 for a wrong class, or the squared deviation, of several targets their mean."""
    if ensemble.task == "regression":
        deviation = values - _columns(target)
        return np.asarray((deviation * deviation).mean(axis=1))
    return np.asarray((ensemble.predicted_codes(values) != _columns(target)).any(axis=1), np.float64)


def _columns(target: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a target as a matrix with a column for each target."""
    return target if target.ndim > 1 else target[:, None]


def out_of_bag(
    ensemble: Ensemble, bags: Bags, table: Table, target: npt.NDArray[Any], weight: Floats | None, n_jobs: int
) -> OutOfBag:
    """Return the out-of-bag predictions of the samples of a fit.

    The mean error weighs samples by `weight`.  Nothing depends on the number of threads.
    """
    lacking = left_out(bags, ensemble.n_trees, n_jobs)
    values = np.full((table.n_samples, ensemble.n_columns), np.nan)
    step = min(max(table.n_samples // N_BLOCKS, LEAST_ROWS) // 8 * 8, MOST_ROWS)

    def judge(block: int) -> Floats:
        rows = slice(block * step, min((block + 1) * step, table.n_samples))
        X = float_rows(table, rows.start, rows.stop)
        of_block = np.ones(len(X)) if weight is None else weight[rows]
        bits = lacking[:, rows.start // 8 : (rows.stop + 7) // 8]
        if ensemble.packed is not None:
            sums, n_seen, errors = ensemble.judge(X, bits, target[rows], of_block)
        else:
            sums, n_seen, errors = _judge_by_trees(ensemble, X, bits, target[rows], of_block)
        np.divide(sums, n_seen[:, None], out=values[rows], where=n_seen[:, None] > 0)
        return errors

    blocks = [errors for errors in in_threads(judge, -(-table.n_samples // step), n_jobs) if errors is not None]
    total, counted = np.sum(blocks, axis=0)
    error = np.divide(total, counted, out=np.full(ensemble.n_trees, np.nan), where=counted > 0)
    return OutOfBag(values, error)


def _judge_by_trees(
    ensemble: Ensemble, X: npt.NDArray[Any], lacking: npt.NDArray[np.uint8], target: npt.NDArray[Any], weight: Floats
) -> tuple[Floats, Floats, Floats]:
    """Do for trees of any form what `Ensemble.judge` does for packed ones."""
    sums, n_seen, error = np.zeros((len(X), ensemble.n_columns)), np.zeros(len(X)), np.zeros(len(X))
    errors = np.zeros((2, ensemble.n_trees))
    for tree in range(ensemble.n_trees):
        some = np.flatnonzero(np.unpackbits(lacking[tree], count=len(X)))
        sums[some] += ensemble.sums(X[some], tree, tree + 1)
        n_seen[some] += 1
        error[some] = wrong(ensemble, sums[some] / n_seen[some, None], target[some])
        errors[:, tree] = (error * weight).sum(), weight[n_seen > 0].sum()
    return sums, n_seen, errors


class Permuted(NamedTuple):
    """Importances by permutation.

    Parameters
    ----------
    mean, std : arrays of float64, shape (n_groups,)
        Increase of the error, over the trees.
    each : array of float64, shape (n_groups, n_trees)
        That of each tree; NaN if its bag has all samples.
    """

    mean: Floats
    std: Floats
    each: Floats


def permutation_importances(
    ensemble: Ensemble,
    bags: Bags,
    table: Table,
    target: npt.NDArray[Any],
    weight: Floats | None,
    groups: Sequence[Sequence[int]],
    n_jobs: int,
) -> Permuted:
    """Return how much the error of each tree out of its bag rises if the values of features are permuted (Breiman 2001).

    The columns of a group are permuted together.  Features that a tree does not test change nothing.
    """
    X = float_rows(table, 0, table.n_samples)

    def of_tree(tree: int) -> Floats:
        rises = np.zeros(len(groups))
        rows = np.flatnonzero(bags.counts(tree) == 0)
        if weight is not None:
            rows = rows[weight[rows] > 0]
        if not rows.size:
            return np.full(len(groups), np.nan)
        some = np.array(X[rows], dtype=np.float64)
        counted = None if weight is None else weight[rows]

        def error() -> float:
            return float(np.average(wrong(ensemble, ensemble.sums(some, tree, tree + 1), target[rows]), weights=counted))

        tested = set(np.unique(ensemble.tree(tree).feature).tolist())
        at_first, random = error(), stream(bags.seed, tree, "permutation")
        for i, group in enumerate(groups):
            order = np.argsort(random.random_raw(len(rows)), kind="stable")
            columns = [feature for feature in group if feature in tested]
            if columns:
                kept = some[:, columns]
                some[:, columns] = kept[order]
                rises[i] = error() - at_first
                some[:, columns] = kept
        return rises

    report = steps("permutation", ensemble.n_trees)
    report(0)
    each = np.array(in_threads(of_tree, ensemble.n_trees, n_jobs, after=report), dtype=np.float64).T
    judged = each[:, ~np.isnan(each[0])] if len(groups) else each
    if not judged.shape[1]:
        empty = np.full(len(groups), np.nan)
        return Permuted(empty, empty, each)
    return Permuted(judged.mean(axis=1), judged.std(axis=1), each)


def jackknife_after_bootstrap(ensemble: Ensemble, bags: Bags, X: npt.NDArray[Any], n_jobs: int) -> Floats:
    """Return the standard error of the predictions, shape (n, k).

    It is the jackknife after bootstrap with the correction of its bias by the number of trees (Wager, Hastie and Efron 2014,
    equations 6 and 8).  A variance that the correction makes negative is 0.
    """
    lacking = np.unpackbits(left_out(bags, ensemble.n_trees, n_jobs), axis=1, count=bags.n_samples)
    if bags.rows is not None:
        lacking = lacking[:, bags.rows]
    n, n_trees = lacking.shape[1], ensemble.n_trees
    n_lacking = lacking.sum(axis=0)
    lacking, n_lacking = lacking[:, n_lacking > 0].astype(np.float64), n_lacking[n_lacking > 0]
    assert bags.n_drawn is not None
    odds = (1 - 1 / n) ** -bags.n_drawn - 1 if n > 1 else 0.0  # of being in a bag; e - 1 if all of many samples are drawn
    out = np.zeros((len(X), ensemble.n_columns))
    step = max(1, CELLS_AT_ONCE // max(n, n_trees * ensemble.n_columns))

    def of_block(block: int) -> None:
        rows = slice(block * step, (block + 1) * step)
        by_tree = np.array([ensemble.sums(X[rows], tree, tree + 1) for tree in range(n_trees)])  # (n_trees, rows, k)
        deviation = by_tree - by_tree.mean(axis=0)
        for column in range(ensemble.n_columns):
            without = deviation[:, :, column].T @ lacking / n_lacking  # (rows, n): mean of the trees without each sample
            variance = (n - 1) / n * (without**2).sum(axis=1)
            noise = odds * n / n_trees**2 * (deviation[:, :, column] ** 2).sum(axis=0)
            out[rows, column] = np.sqrt(np.maximum(variance - noise, 0.0))

    in_threads(of_block, -(-len(X) // step), n_jobs)
    return out
