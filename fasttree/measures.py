"""Measures of the textbooks: impurity of class counts, and its decrease by a split.

They are meant for studying a textbook and for selecting features before growth.  The trees do not use them.

A split is given in one of two forms: as a *contingency table*, with a row per value of the feature and a column per class, or as
two columns, the feature and the classes, of any type (numbers, strings, a pandas or polars series):

>>> from fasttree import measures
>>> round(measures.entropy([9, 6]), 4)
0.971
>>> round(measures.information_gain([[6, 4], [0, 5]]), 4)
0.3237
>>> round(measures.information_gain(["no", "no", "yes", "yes"], ["refuse", "grant", "grant", "grant"]), 4)
0.3113

Missing values of a feature (NaN, None, NaT, NA) are treated as in Quinlan (1993, section 3.2): a gain is computed on the samples
with a known value and multiplied by their share, and the split information counts missing as one more value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Contingency",
    "Cuts",
    "chi_square",
    "class_counts",
    "classification_error",
    "conditional_entropy",
    "contingency",
    "cuts",
    "entropy",
    "gain",
    "gain_ratio",
    "gain_ratio_scores",
    "gini",
    "gini_scores",
    "gini_split",
    "information_gain",
    "information_gain_scores",
    "split_information",
]

Floats = NDArray[np.float64]


# Impurity of a node


def entropy(counts: ArrayLike, *, base: float = 2.0) -> float:
    """Compute the entropy of class counts, ``-sum(p log p)`` with ``0 log 0 = 0``.

    Parameters
    ----------
    counts : array-like of shape (n_classes,)
        Number or weight of samples per class; at least one positive.
    base : float, default 2
        Base of the logarithm: 2 gives bits, ``math.e`` nats.

    Returns
    -------
    float
        Between 0 and ``log(n_classes)``.

    References
    ----------
    J. R. Quinlan, "Induction of Decision Trees", Machine Learning 1, 1986.
    """
    shares = _shares(counts)
    shares = shares[shares > 0]
    return max(0.0, -float(shares @ np.log(shares))) / _log(base)


def gini(counts: ArrayLike) -> float:
    """Compute the Gini impurity of class counts, ``1 - sum(p**2)``.

    Parameters
    ----------
    counts : array-like of shape (n_classes,)
        Number or weight of samples per class; at least one positive.

    Returns
    -------
    float
        Between 0 and ``1 - 1 / n_classes``.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, Classification and Regression Trees, 1984.
    """
    shares = _shares(counts)
    return 1.0 - float(shares @ shares)


def classification_error(counts: ArrayLike) -> float:
    """Compute the share of samples that are not of the most frequent class, ``1 - max(p)``.

    Parameters
    ----------
    counts : array-like of shape (n_classes,)
        Number or weight of samples per class; at least one positive.

    Returns
    -------
    float
        Between 0 and ``1 - 1 / n_classes``.
    """
    return 1.0 - float(_shares(counts).max())


_IMPURITIES: dict[str, Callable[[Floats], float]] = {
    "entropy": entropy,
    "gini": gini,
    "misclassification": classification_error,
}


# From columns to counts


@dataclass(frozen=True)
class Contingency:
    """Counts of the samples by value of a feature and class.

    Attributes
    ----------
    values : tuple
        Distinct known values of the feature, ascending; one row of `counts` each.
    classes : tuple
        Distinct classes, ascending; one column of `counts` each.
    counts : float64 array of shape (n_values, n_classes)
        Weight of the samples by value and class.
    unknown : float
        Weight of the samples whose value is missing.
    """

    values: tuple[Any, ...]
    classes: tuple[Any, ...]
    counts: Floats
    unknown: float


def contingency(feature: ArrayLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Contingency:
    """Compute the contingency table of two columns.

    Parameters
    ----------
    feature : array-like of shape (n_samples,)
        Values of any type; NaN, None, NaT and NA are missing.
    y : array-like of shape (n_samples,)
        Classes of any type, none missing.
    sample_weight : array-like of shape (n_samples,), default None
        Weights, not negative; None for a weight of 1 per sample.

    Returns
    -------
    Contingency

    Raises
    ------
    ValueError
        If the columns are empty or differ in length, a class is missing, or a weight is negative or not finite.
    """
    values, codes = _encode(feature, "the feature")
    classes, class_codes = _encode_classes(y)
    if len(codes) != len(class_codes):
        raise ValueError(f"the feature has {len(codes)} samples and y has {len(class_codes)}: their lengths must be equal")
    weight = np.ones(len(codes)) if sample_weight is None else _not_negative(sample_weight, "sample_weight", 1)
    if len(weight) != len(codes):
        raise ValueError(f"sample_weight has {len(weight)} entries for {len(codes)} samples: give one per sample")
    known = codes >= 0
    cell = codes[known] * len(classes) + class_codes[known]
    counts = np.bincount(cell, weight[known], minlength=len(values) * len(classes)).astype(np.float64)
    return Contingency(values, classes, counts.reshape(len(values), len(classes)), float(weight[~known].sum()))


def class_counts(y: ArrayLike) -> NDArray[np.intp]:
    """Count the samples of each class, in ascending order of the classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes of any type, none missing.

    Returns
    -------
    intp array of shape (n_classes,)

    Raises
    ------
    ValueError
        If `y` is empty or a class is missing.
    """
    classes, codes = _encode_classes(y)
    return np.bincount(codes, minlength=len(classes))


# Effect of a split


def conditional_entropy(feature: ArrayLike, y: ArrayLike | None = None, *, base: float = 2.0) -> float:
    """Compute the entropy of the classes given the feature's value, ``H(D|A) = sum(|D_i| / |D| * H(D_i))``.

    Parameters
    ----------
    feature : array-like of shape (n_values, n_classes) or (n_samples,)
        Contingency table if `y` is None, else the feature's column; samples with a missing value are left out.
    y : array-like of shape (n_samples,), default None
        Classes.
    base : float, default 2
        Base of the logarithm.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If counts are negative or not finite, or no sample has a known value.
    """
    counts, _ = _split(feature, y)
    return _mean_impurity(counts, lambda row: entropy(row, base=base))


def information_gain(feature: ArrayLike, y: ArrayLike | None = None, *, unknown: float = 0.0, base: float = 2.0) -> float:
    """Compute the information gain, ``g(D, A) = H(D) - H(D|A)``, the criterion of ID3.

    Parameters
    ----------
    feature : array-like of shape (n_values, n_classes) or (n_samples,)
        Contingency table if `y` is None, else the feature's column.
    y : array-like of shape (n_samples,), default None
        Classes.
    unknown : float, default 0
        Weight of the samples whose value is missing, for a contingency table; in columns they are counted.
    base : float, default 2
        Base of the logarithm.

    Returns
    -------
    float
        Gain on the samples with a known value, times their share; 0 if there is none.

    Raises
    ------
    ValueError
        If counts are negative or not finite, or there is no sample.

    References
    ----------
    J. R. Quinlan, "Induction of Decision Trees", Machine Learning 1, 1986.
    """
    return _gain(*_split(feature, y, unknown), lambda row: entropy(row, base=base))


def split_information(feature: ArrayLike, y: ArrayLike | None = None, *, unknown: float = 0.0, base: float = 2.0) -> float:
    """Compute the entropy of the split itself, ``H_A(D)``, that is of the samples over the feature's values.

    Parameters
    ----------
    feature : array-like of shape (n_values, n_classes) or (n_samples,)
        Contingency table if `y` is None, else the feature's column.
    y : array-like of shape (n_samples,), default None
        Classes.
    unknown : float, default 0
        Weight of the samples whose value is missing, for a contingency table; in columns they are counted.  Missing counts as
        one more value.
    base : float, default 2
        Base of the logarithm.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If counts are negative or not finite, or there is no sample.
    """
    counts, unknown_weight = _split(feature, y, unknown)
    return entropy([*counts.sum(axis=1), unknown_weight], base=base)


def gain_ratio(feature: ArrayLike, y: ArrayLike | None = None, *, unknown: float = 0.0, base: float = 2.0) -> float:
    """Compute the gain ratio, information gain divided by split information, the criterion of C4.5.

    Parameters
    ----------
    feature : array-like of shape (n_values, n_classes) or (n_samples,)
        Contingency table if `y` is None, else the feature's column.
    y : array-like of shape (n_samples,), default None
        Classes.
    unknown : float, default 0
        Weight of the samples whose value is missing, for a contingency table; in columns they are counted.
    base : float, default 2
        Base of the logarithm; the ratio does not depend on it.

    Returns
    -------
    float
        NaN if fewer than two values occur: such a feature does not split, and the ratio is undefined.

    Raises
    ------
    ValueError
        If counts are negative or not finite, or there is no sample.

    References
    ----------
    J. R. Quinlan, C4.5: Programs for Machine Learning, 1993, section 2.2.
    """
    counts, unknown_weight = _split(feature, y, unknown)
    if len(counts) < 2:
        return math.nan
    of_split = split_information(counts, unknown=unknown_weight, base=base)
    return information_gain(counts, unknown=unknown_weight, base=base) / of_split


def gain(feature: ArrayLike, y: ArrayLike | None = None, *, impurity: str = "entropy", unknown: float = 0.0) -> float:
    """Compute the decrease of any impurity by a split, ``I(parent) - sum(N(v) / N * I(v))``.

    Parameters
    ----------
    feature : array-like of shape (n_values, n_classes) or (n_samples,)
        Contingency table if `y` is None, else the feature's column.
    y : array-like of shape (n_samples,), default None
        Classes.
    impurity : {"entropy", "gini", "misclassification"}, default "entropy"
        Entropy in bits.
    unknown : float, default 0
        Weight of the samples whose value is missing, for a contingency table; in columns they are counted.

    Returns
    -------
    float
        Gain on the samples with a known value, times their share; 0 if there is none.

    Raises
    ------
    ValueError
        If counts are negative or not finite, there is no sample, or the impurity is unknown.
    """
    return _gain(*_split(feature, y, unknown), _impurity(impurity))


def gini_split(feature: ArrayLike, y: ArrayLike | None = None, *, value: object = None) -> float:
    """Compute the Gini impurity after a split, ``Gini(D, A)`` or, of one value against the rest, ``Gini(D, A=a)``, as in CART.

    Parameters
    ----------
    feature : array-like of shape (n_values, n_classes) or (n_samples,)
        Contingency table if `y` is None, else the feature's column; samples with a missing value are left out.
    y : array-like of shape (n_samples,), default None
        Classes.
    value : object, default None
        Value to split from all others: a row number of the table, or a value that occurs in the column.  None for one branch
        per value.

    Returns
    -------
    float
        Smaller values are better.

    Raises
    ------
    ValueError
        If counts are negative or not finite, no sample has a known value, or `value` does not occur.
    """
    if y is None:
        counts = _not_negative(feature, "the contingency table", 2)
        values: tuple[object, ...] = tuple(range(len(counts)))
    else:
        table = contingency(feature, y)
        counts, values = table.counts, table.values
    if value is not None:
        if value not in values:
            raise ValueError(f"value={value!r} does not occur; values: {', '.join(map(repr, values))}")
        row = values.index(value)
        counts = np.stack([counts[row], np.delete(counts, row, axis=0).sum(axis=0)])
    return _mean_impurity(counts, gini)


def chi_square(feature: ArrayLike, y: ArrayLike | None = None) -> float:
    """Compute Pearson's chi-square statistic of feature and class, ``sum((observed - expected)**2 / expected)``.

    Parameters
    ----------
    feature : array-like of shape (n_values, n_classes) or (n_samples,)
        Contingency table if `y` is None, else the feature's column; samples with a missing value are left out.
    y : array-like of shape (n_samples,), default None
        Classes.

    Returns
    -------
    float
        The statistic; its degrees of freedom are (values that occur - 1) * (classes that occur - 1).

    Raises
    ------
    ValueError
        If counts are negative or not finite, or no sample has a known value.
    """
    counts, _ = _split(feature, y)
    _check_known(counts)
    counts = counts[:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    return float((np.square(counts - expected) / expected).sum())


# Binary cuts of a continuous feature


@dataclass(frozen=True)
class Cuts:
    """All binary cuts of a continuous feature, in ascending order of thresholds; `best` is the index of the best one.

    Attributes
    ----------
    threshold : float64 array of shape (n_cuts,)
        Midpoints of neighbouring values; a sample goes left if its value is at most the threshold.
    left, right : float64 arrays of shape (n_cuts, n_classes) or (n_cuts,)
        Class counts of both sides, or their means for squared error.
    impurity : float64 array of shape (n_cuts,)
        Mean impurity of both sides, weighted by their samples.
    risk : float64 array of shape (n_cuts,)
        `impurity` times the number of samples; for squared error the sum m(s) over both sides of a regression tree's cut.
    gain : float64 array of shape (n_cuts,)
        Decrease of the impurity, times the share of samples with a known value.
    """

    threshold: Floats
    left: Floats
    right: Floats
    impurity: Floats
    risk: Floats
    gain: Floats

    @property
    def best(self) -> int:
        """Index of the largest gain; that of the lowest threshold if gains are equal up to rounding."""
        largest = self.gain.max()
        return int(np.argmax(self.gain >= largest - 1e-10 * abs(largest)))


def cuts(feature: ArrayLike, y: ArrayLike, *, impurity: str = "gini") -> Cuts:
    """Evaluate all binary cuts of a continuous feature.

    Parameters
    ----------
    feature : array-like of shape (n_samples,)
        Numbers; NaN is missing, and such samples are left out.
    y : array-like of shape (n_samples,)
        Classes of any type, or numbers for squared error; none missing.
    impurity : {"gini", "entropy", "misclassification", "squared_error"}, default "gini"
        Entropy in bits.

    Returns
    -------
    Cuts

    Raises
    ------
    ValueError
        If the feature has fewer than two distinct values, infinite values, or another number of samples than `y`; if `y` has
        missing values; or if the impurity is unknown.
    """
    x = _numbers(feature, "the feature", 1)
    if np.isinf(x).any():
        raise ValueError("the feature has infinite values: replace them")
    if impurity == "squared_error":
        target = _numbers(y, "y", 1)
        if not np.isfinite(target).all():
            raise ValueError("y has missing or infinite values: squared error needs finite numbers")
        of_sample = target
    else:
        measure = _impurity(impurity)
        classes, codes = _encode_classes(y)
        of_sample = np.eye(len(classes))[codes]
    if len(x) != len(of_sample):
        raise ValueError(f"the feature has {len(x)} samples and y has {len(of_sample)}: their lengths must be equal")
    known = ~np.isnan(x)
    order = np.flatnonzero(known)[np.argsort(x[known], kind="stable")]
    x, of_sample = x[order], of_sample[order]
    last_left = np.flatnonzero(x[:-1] < x[1:])  # positions after which the value changes
    if not len(last_left):
        raise ValueError("the feature has fewer than two distinct known values: there is nothing to cut")
    lower, upper = x[last_left], x[last_left + 1]
    middle = lower / 2 + upper / 2
    threshold = np.where(middle < upper, middle, lower)  # there is no number between neighbouring floats

    n_left = last_left + 1.0
    n_right = len(x) - n_left
    if impurity == "squared_error":
        mean = of_sample.mean()
        deviation = of_sample - mean  # small numbers, to lose no digits when their squares are subtracted
        total, squares = deviation.cumsum(), np.square(deviation).cumsum()
        left, right = total[last_left] / n_left, (total[-1] - total[last_left]) / n_right
        risk = np.maximum(squares[-1] - n_left * np.square(left) - n_right * np.square(right), 0.0)
        left, right = left + mean, right + mean
        before = float(squares[-1]) / len(x)
    else:
        running = of_sample.cumsum(axis=0)
        left, right = running[last_left], running[-1] - running[last_left]
        risk = n_left * np.array([measure(row) for row in left]) + n_right * np.array([measure(row) for row in right])
        before = measure(running[-1])
    after = risk / len(x)
    return Cuts(threshold, left, right, after, risk, (before - after) * known.mean())


# Scorers for feature selection


def information_gain_scores(X: ArrayLike, y: ArrayLike) -> Floats:
    """Compute the information gain of each column, with a category per distinct value.

    The function is a scorer for feature selection in scikit-learn, ``SelectKBest(information_gain_scores, k=5)``.  It takes
    strings and missing values, but `SelectKBest` takes only numbers: put an `OrdinalEncoder` before it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Table of nominal columns; a data frame, an array or nested lists.
    y : array-like of shape (n_samples,)
        Classes.

    Returns
    -------
    float64 array of shape (n_features,)
        Gains in bits.
    """
    return _scores(information_gain, X, y)


def gain_ratio_scores(X: ArrayLike, y: ArrayLike) -> Floats:
    """Compute the gain ratio of each column, with a category per distinct value; NaN if there are fewer than two.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Table of nominal columns; a data frame, an array or nested lists.
    y : array-like of shape (n_samples,)
        Classes.

    Returns
    -------
    float64 array of shape (n_features,)

    See Also
    --------
    information_gain_scores : How to use a scorer with scikit-learn.
    """
    return _scores(gain_ratio, X, y)


def gini_scores(X: ArrayLike, y: ArrayLike) -> Floats:
    """Compute the decrease of Gini impurity by each column, with a branch per distinct value.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Table of nominal columns; a data frame, an array or nested lists.
    y : array-like of shape (n_samples,)
        Classes.

    Returns
    -------
    float64 array of shape (n_features,)

    See Also
    --------
    information_gain_scores : How to use a scorer with scikit-learn.
    """
    return _scores(lambda column, classes: gain(column, classes, impurity="gini"), X, y)


def _scores(measure: Callable[[ArrayLike, ArrayLike], float], X: ArrayLike, y: ArrayLike) -> Floats:
    table = _as_array(X)
    if table.ndim != 2:
        raise ValueError(f"X has {table.ndim} dimension(s): give a table of shape (n_samples, n_features)")
    return np.array([measure(column, y) for column in table.T])


# Checks and conversions


def _log(base: float) -> float:
    if not base > 1:
        raise ValueError(f"base={base!r}: must be a number > 1, such as 2 (bits) or math.e (nats)")
    return math.log(base)


def _impurity(name: str) -> Callable[[Floats], float]:
    if name not in _IMPURITIES:
        raise ValueError(f"impurity={name!r}: must be one of {', '.join(map(repr, _IMPURITIES))}")
    return _IMPURITIES[name]


def _numbers(data: ArrayLike, what: str, n_dimensions: int) -> Floats:
    try:
        numbers = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must hold numbers, in {n_dimensions} dimension(s) without ragged rows") from None
    if numbers.ndim != n_dimensions:
        raise ValueError(f"{what} has {numbers.ndim} dimension(s): {n_dimensions} needed")
    return numbers


def _not_negative(data: ArrayLike, what: str, n_dimensions: int) -> Floats:
    numbers = _numbers(data, what, n_dimensions)
    wrong = ~(np.isfinite(numbers) & (numbers >= 0))
    if wrong.any():
        raise ValueError(f"{what} holds {numbers[wrong][0]}: only finite numbers >= 0 are allowed")
    return numbers


def _shares(counts: ArrayLike) -> Floats:
    weights = _not_negative(counts, "counts", 1)
    total = weights.sum()
    if not total > 0:
        raise ValueError("counts are empty or all zero: at least one must be positive")
    shares: Floats = weights / total
    return shares


def _split(feature: ArrayLike, y: ArrayLike | None, unknown: float = 0.0) -> tuple[Floats, float]:
    """Return the rows of the contingency table with samples, and the weight of the samples with a missing value."""
    if y is None:
        counts = _not_negative(feature, "the contingency table", 2)
        if not 0 <= unknown < math.inf:
            raise ValueError(f"unknown={unknown!r}: must be a finite number >= 0")
    else:
        if unknown:
            raise ValueError(f"unknown={unknown!r} with columns: missing values of the column are counted; leave it out")
        table = contingency(feature, y)
        counts, unknown = table.counts, table.unknown
    if not counts.sum() + unknown > 0:
        raise ValueError("the contingency table is empty or all zero: at least one count must be positive")
    return counts[counts.sum(axis=1) > 0], unknown


def _check_known(counts: Floats) -> None:
    if not counts.sum() > 0:
        raise ValueError("no sample has a known value of the feature: at least one is needed")


def _mean_impurity(counts: Floats, impurity: Callable[[Floats], float]) -> float:
    _check_known(counts)
    weight = counts.sum(axis=1)
    return float(sum(w * impurity(row) for w, row in zip(weight, counts, strict=True) if w > 0) / weight.sum())


def _gain(counts: Floats, unknown: float, impurity: Callable[[Floats], float]) -> float:
    known = float(counts.sum())
    if known == 0:
        return 0.0
    return known / (known + unknown) * (impurity(counts.sum(axis=0)) - _mean_impurity(counts, impurity))


def _as_array(data: ArrayLike) -> NDArray[Any]:
    # As objects, because NumPy would turn strings and NaN in a list into strings, such as "nan".
    return np.asarray(data) if hasattr(data, "__array__") else np.asarray(data, dtype=object)


def _encode(column: ArrayLike, what: str) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
    """Return the distinct values, ascending, and the index of each sample's value; -1 if it is missing."""
    array = _as_array(column)
    if array.ndim != 1:
        raise ValueError(f"{what} has {array.ndim} dimension(s): one column is needed")
    if not len(array):
        raise ValueError(f"{what} has no samples: at least one is needed")
    missing = np.array([_is_missing(value) for value in array]) if array.dtype == object else array != array
    codes = np.full(len(array), -1, dtype=np.intp)
    if array.dtype == object:
        values = sorted(set(array[~missing]), key=_sort_key)
        index = {value: i for i, value in enumerate(values)}
        codes[~missing] = [index[value] for value in array[~missing]]
        return tuple(values), codes
    distinct, codes[~missing] = np.unique(array[~missing], return_inverse=True)
    return tuple(distinct.tolist()), codes


def _encode_classes(y: ArrayLike) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
    classes, codes = _encode(y, "y")
    if (codes < 0).any():
        raise ValueError(f"y has missing values in {(codes < 0).sum()} samples: every sample needs a class")
    return classes, codes


def _is_missing(value: object) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)  # NaN and NaT differ from themselves
    except TypeError:  # pandas' NA has no truth value
        return True


def _sort_key(value: object) -> tuple[str, Any]:
    """Return a key that orders numbers by value, and other values by type and value."""
    return ("", value) if isinstance(value, int | float | np.number) else (type(value).__name__, value)
