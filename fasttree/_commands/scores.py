"""What rows add to the figures of a model, and how sure the differences between two models are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from .._base import BaseRegressor
from .models import Estimator, best_answers

__all__ = ["LEVEL", "Interval", "paired_interval", "resampled_interval", "row_scores"]

LEVEL = 0.95  # of the intervals
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)  # of a true class, as in scikit-learn's log loss

Floats = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """A mean of differences, and where its expectation lies at `LEVEL`."""

    difference: float
    low: float
    high: float


def row_scores(model: Estimator, truth: Sequence[Any], answer: npt.NDArray[Any]) -> dict[str, Floats]:
    """What each row adds to the figures of a model, which are the means over rows.

    Parameters
    ----------
    model : estimator
    truth : sequence of length n_rows
        Classes or numbers.
    answer : array, shape (n_rows, n_classes) or (n_rows,)
        The model's probabilities or predictions.

    Returns
    -------
    dict of str to float64 array, shape (n_rows,)
        For classes: accuracy (1 or 0), balanced_accuracy (1 by the class's share and the number of classes, or 0), log_loss
        (nats; as in scikit-learn a probability is at least the float64 epsilon).  For numbers: r2 (1 less the squared error in
        units of the variance of the truth; NaN where that is 0) and mae (the absolute error).
    """
    if isinstance(model, BaseRegressor):
        values = np.asarray(truth, dtype=np.float64)
        variance = float(np.var(values)) or math.nan
        return {"r2": 1 - (values - answer) ** 2 / variance, "mae": np.abs(values - answer)}
    index = {label: k for k, label in enumerate(model.classes_.tolist())}
    n_known = len(index)
    codes = np.fromiter((index.setdefault(label, len(index)) for label in truth), dtype=np.intp, count=len(truth))
    right = (best_answers(model, answer) == codes).astype(np.float64)
    counts = np.bincount(codes)
    probability = np.zeros(len(codes))  # of a class that the model does not know
    is_known = codes < n_known
    probability[is_known] = answer[is_known, codes[is_known]]
    return {
        "accuracy": right,
        "balanced_accuracy": right * (len(codes) / (counts[codes] * np.count_nonzero(counts))),
        "log_loss": -np.log(np.clip(probability, LEAST_PROBABILITY, None)),
    }


def paired_interval(differences: Floats) -> Interval:
    """Where the mean of differences lies that are independent of one another, by Student's t.

    Parameters
    ----------
    differences : float64 array, shape (n,)
        Of the scores of two models on the same rows.
    """
    return _interval(differences, 1 / len(differences))


def resampled_interval(differences: Floats, test_share: float) -> Interval:
    """Where the mean of differences over folds lies, by the corrected resampled t of Nadeau and Bengio (2003).

    Folds share most of the rows that they learn from, so their variance says too little of that of their mean: instead of
    ``1 / n`` it counts ``1 / n + n_test / n_train``, as if folds were as alike as the rows that they measure on are few.

    Parameters
    ----------
    differences : float64 array, shape (n,)
        Of the figures of two entries on the same folds.
    test_share : float
        Rows of a fold to measure on, for each row to learn from.
    """
    return _interval(differences, 1 / len(differences) + test_share)


def _interval(differences: Floats, factor: float) -> Interval:
    mean, n = float(differences.mean()), len(differences)
    if n < 2:
        return Interval(mean, math.nan, math.nan)
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * math.sqrt(factor * float(differences.var(ddof=1)))
    return Interval(mean, mean - half, mean + half)
