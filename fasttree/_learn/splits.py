"""Folds of a cross-validation that a user gives: rows of the table to grow on, and rows to judge by.

A splitter of scikit-learn and a list of pairs mean the same; one place reads both and checks every fold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fasttree._data.checks import on_a_line

__all__ = ["Split", "given_splits"]

Rows = NDArray[np.intp]


class Split(NamedTuple):
    """A fold: rows of the table, listed as often as they count.  If `train` is None, it is all other rows, each once."""

    test: Rows
    train: Rows | None = None


def given_splits(cv: Any, X: Any, y: NDArray[Any], weight: NDArray[np.float64] | None) -> list[Split]:
    """Read and check the folds of a splitter, or of pairs (train, test).

    Parameters
    ----------
    cv : splitter or iterable of (train, test)
        Rows are numbers from 0, or masks with a truth value for each row of the table.
    X : table
        As the user gave it, for splitters that need it.
    y : array, shape (n_samples,)
        Classes or numbers, for splitters that stratify.
    weight : float64 array, shape (n_samples,), or None
        Not negative; a sample of weight 0 may be in any fold, where it does not count.

    Raises
    ------
    ValueError
        If there is no fold, no tree can grow on one of them, or its rows are not rows of X.
    """
    splits = [_checked(fold, split, len(y), weight) for fold, split in enumerate(_pairs(cv, X, y))]
    if not splits:
        once = "; an iterator gives its pairs only once, so make a list of them" if isinstance(cv, Iterator) else ""
        raise ValueError(f"cv={on_a_line(cv)} gives no folds: give at least one pair of rows (train, test){once}")
    if weight is not None and not any(weight[split.test].any() for split in splits):
        raise ValueError(
            "the rows of test have weight 0 in every fold of cv: subtrees are judged by rows of positive weight; change the "
            "folds or the weights"
        )
    return splits


def _pairs(cv: Any, X: Any, y: NDArray[Any]) -> Iterator[Any]:
    if not hasattr(cv, "split"):
        yield from cv
        return
    # some tables, such as Arrow streams, have no length and can be read only once
    rows = X if hasattr(X, "shape") or hasattr(X, "__len__") else np.zeros((len(y), 1))
    try:
        yield from cv.split(rows, y)
    except (TypeError, ValueError) as error:
        by_groups = "group" in f"{type(cv).__name__} {error}".lower()
        if isinstance(error, TypeError) and not by_groups:  # before 1.9, scikit-learn iterates over groups that are None
            raise
        groups = "; fit takes no groups, so give the folds themselves: cv=list(splitter.split(X, y, groups))"
        raise ValueError(
            f"cv={on_a_line(cv)} cannot split the {len(y)} rows of X: {error}{groups if by_groups else ''}"
        ) from error


def _checked(fold: int, split: Any, n_samples: int, weight: NDArray[np.float64] | None) -> Split:
    where = f"fold {fold} of cv (counted from 0)"
    try:
        given_train, given_test = split
    except (TypeError, ValueError):
        raise ValueError(
            f"{where} is {on_a_line(split)}: must be a pair of rows (train, test), as in cv=[(train, test), ...]"
        ) from None
    train = _rows(f"{where}: train", given_train, n_samples)
    test = _rows(f"{where}: test", given_test, n_samples)
    grows, judges = (np.bincount(rows, minlength=n_samples) for rows in (train, test))
    shared = np.flatnonzero((grows > 0) & (judges > 0))
    if shared.size:
        others = f" and {shared.size - 1} more" if shared.size > 1 else ""
        raise ValueError(
            f"{where}: train and test both hold row {shared[0]}{others}: a row on which the tree grows cannot judge it; take it "
            "out of one of the two"
        )
    if weight is not None and not weight[train].any():
        raise ValueError(
            f"{where}: every row of train has weight 0: a tree grows on rows of positive weight; change the fold or the weights"
        )
    return Split(test, None if (grows == (judges == 0)).all() else train)  # None: leave-one-out would take n x n numbers


def _rows(where: str, given: Any, n_samples: int) -> Rows:
    try:
        rows = np.asarray(given)
    except ValueError:  # lists of several lengths
        rows = np.zeros((0, 0))
    if rows.ndim != 1:
        raise ValueError(
            f"{where} is {on_a_line(given)}: must be a list of row numbers, or a mask with a truth value for each row of X"
        )
    if rows.dtype.kind == "b":
        if rows.size != n_samples:
            raise ValueError(f"{where} is a mask of length {rows.size}: X has {n_samples} rows, and a mask must have as many")
        rows = np.flatnonzero(rows)
    if rows.size == 0:
        raise ValueError(f"{where} has no rows: give it at least one, or leave out the fold")
    if rows.dtype.kind not in "iu":
        raise ValueError(
            f"{where}[0] is {rows.tolist()[0]!r} (dtype {rows.dtype}): row numbers must be integers, from 0 to {n_samples - 1}"
        )
    outside = (rows < 0) | (rows >= n_samples)
    if outside.any():
        first = int(outside.argmax())
        raise ValueError(
            f"{where}[{first}] is {rows[first]}: X has {n_samples} rows, so row numbers must be from 0 to {n_samples - 1}; they "
            "are positions in X, not labels of an index"
        )
    return rows.astype(np.intp, copy=False)
