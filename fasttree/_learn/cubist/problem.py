"""The samples of a fit of rules with models: columns without missing values, and figures of the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind
from fasttree._data.sums import sum_of_sizes
from fasttree._data.table import Table
from fasttree._learn.models.order import in_order

__all__ = ["CommitteeChoices", "CommitteeProblem", "bounds_of", "problem_of"]

LEAST_SIDE, MOST_COVER = 3, 20  # samples that a rule must cover at least
SOFTENING = 1e-3  # of a sum of squares
LEAST_VARIANCE = 1e-6  # of a feature with a term
STEADINESS = 1e-10
UNIT_SHARE = 0.01  # of the target's deviation: what a coefficient's unit may change for a deviation of its feature
MOST_DECIMALS = 15
SINGLE = 6e-8  # rounding error of single precision
SMALL_DEVIATION, LARGE_DEVIATION = 1e-6, 1e6  # of features that are read as they are; the constants above suit these
FISHER = 1.96  # standard normal quantile of 95 %


class CommitteeChoices(NamedTuple):
    """What the estimator chooses."""

    committees: int
    max_rules: int
    extrapolation: float
    unbiased: bool


@dataclass
class CommitteeProblem:
    """Samples in an order that depends on their values alone, and what is known of all of them.

    The sums of the original have constants that depend on the unit of the numbers; here they are smaller if the numbers are.
    """

    columns: Floats  # (n_continuous, n)
    codes: npt.NDArray[np.int32]  # (n_nominal, n), from 0
    sizes: npt.NDArray[np.int32]
    features: npt.NDArray[np.intp]  # of the table: the continuous ones, then the others
    y: Floats
    weight: Floats  # 1 on average
    filling: Floats  # of each feature of the table: what takes the place of a missing value, as a number or a code from 0
    unit: float  # of the target: intercepts are multiples of it
    units: Floats  # (2, n_continuous + 1): least coefficients, and their units; the intercept is first
    preference: Floats
    least_variance: Floats
    steadiness: Floats
    softening: float
    mean: float
    deviation: float  # of the target
    deviations: Floats  # of the continuous features
    choices: CommitteeChoices
    place: npt.NDArray[np.intp]  # of each sample among the rows that were given
    scale: Floats  # of the continuous features, powers of 2: columns are the table's times these

    @cached_property
    def order(self) -> npt.NDArray[np.int32]:
        """Rows sorted by each continuous feature, and then all rows."""
        order = np.empty((self.n_continuous + 1, self.n), dtype=np.int32)
        for j, column in enumerate(self.columns):
            order[j] = np.argsort(column, kind="stable")
        order[-1] = np.arange(self.n)
        return order

    @cached_property
    def ascending(self) -> list[Floats]:
        """The values of each continuous feature, sorted."""
        return [column[order] for column, order in zip(self.columns, self.order[:-1], strict=True)]

    @property
    def n(self) -> int:
        return int(self.y.size)

    @property
    def n_continuous(self) -> int:
        return len(self.columns)

    @property
    def least_cover(self) -> int:
        """Samples that a rule covers at least in its tree: 1 %, at most 20, and so that there is room for `max_rules`."""
        at_most = min(MOST_COVER, round(self.n / 100))
        if at_most > self.n / self.choices.max_rules:
            at_most = int(self.n / self.choices.max_rules)
        return max(at_most, LEAST_SIDE)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        return bounds_of(float(self.y.min()), float(self.y.max()), self.choices.extrapolation)

    @cached_property
    def side_by_side(self) -> Floats:
        """The values of each sample of the continuous features, one after the other."""
        return np.ascontiguousarray(self.columns.T)

    def samples(self, target: Floats) -> tuple[object, ...]:
        """Return the samples with a target, as the engine reads them."""
        return self.columns, self.side_by_side, target, self.weight, self.least_variance, *self.bounds

    @cached_property
    def significant(self) -> tuple[Floats, Floats]:
        """Return k / (k - 1), and the least squared correlation that is significant, by the number k of samples."""
        k = np.arange(self.n + 1, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(k > 1, k / (k - 1), 1.0)
            least = np.where(k < 6, np.inf, np.tanh(FISHER / np.sqrt(np.maximum(k - 3, 1))) ** 2)
        return factor, least


def bounds_of(least: float, largest: float, extrapolation: float) -> tuple[float, float]:
    """Return how far a prediction may leave a range: a share of it, but not beyond 0 if no value is there."""
    margin = extrapolation * (largest - least)
    lower, upper = least - margin, largest + margin
    return 0.0 if lower < 0 <= least else lower, 0.0 if upper > 0 >= largest else upper


def problem_of(
    table: Table, target: Floats, weight: Floats | None, rows: npt.NDArray[np.intp], choices: CommitteeChoices
) -> CommitteeProblem:
    """Read some rows of a table."""
    y = np.asarray(target, np.float64)[rows]
    w = np.ones(rows.size) if weight is None else np.array(weight[rows], np.float64)
    continuous, nominal, scale, filling = [], [], [], np.zeros(table.n_features)
    places: list[list[int]] = [[], []]
    for j, feature in enumerate(table.schema.features):
        column = np.asarray(table.column(j))[rows]
        if feature.kind == Kind.CONTINUOUS:
            values = column.astype(np.float64)
            scale.append(_scale_of(values, w))
            values *= scale[-1]
            middle = rounded_mean(values, w)
            values[np.isnan(values)] = middle
            filling[j] = middle / scale[-1]
            continuous.append(values)
            places[0].append(j)
        elif feature.categories:
            codes = column.astype(np.int32) - 1
            filling[j] = _mode(codes, w, len(feature.categories))
            codes[codes < 0] = int(filling[j])
            nominal.append(codes)
            places[1].append(j)
    w *= rows.size / sum_of_sizes(w)
    order = in_order(np.zeros(rows.size, np.int32), [*continuous, *(codes.astype(np.float64) for codes in nominal), y, w])
    y, w = y[order], w[order]
    columns = np.array([values[order] for values in continuous]).reshape(len(continuous), rows.size)
    codes = np.array([values[order] for values in nominal], dtype=np.int32).reshape(len(nominal), rows.size)
    sizes = np.array([len(table.schema.features[j].categories or ()) for j in places[1]], dtype=np.int32)
    read = _Columns(columns, codes, sizes, np.array([*places[0], *places[1]], dtype=np.intp), filling, np.array(scale))
    return _described(read, y, w, choices, order)


class _Columns(NamedTuple):
    """What `CommitteeProblem` has of the columns."""

    columns: Floats
    codes: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int32]
    features: npt.NDArray[np.intp]
    filling: Floats
    scale: Floats


def _described(read: _Columns, y: Floats, w: Floats, choices: CommitteeChoices, place: npt.NDArray[np.intp]) -> CommitteeProblem:
    columns, codes, sizes, features, filling, scale = read
    n, d = y.size, len(columns)
    mean = float((w * y).sum() / n)
    variance = _variance(y, w)
    variances = np.array([_variance(column, w) for column in columns])
    softening = SOFTENING * min(1.0, variance)
    deviation = float(np.sqrt(variance + softening / max(n - 1, 1)))
    deviations = np.sqrt(variances)
    decimals = decimals_of(y)
    least = np.divide(UNIT_SHARE * deviation, deviations, out=np.zeros(d), where=deviations > 0)
    positive = np.where(least > 0, least, 1.0)
    units = np.minimum(1.0, 10.0 ** np.floor(np.log10(positive) + 1e-12))
    unit = 10.0 ** -(decimals + 1)
    preference = np.zeros(d + len(codes))
    above = y > rounded_mean(y, w)
    for j, column in enumerate(columns):
        middle = filling[features[j]] * scale[j]
        known = column != middle
        same = np.count_nonzero(((column > middle) == above) & known)
        among = np.count_nonzero(known)
        preference[j] = (2 * max(same, among - same) - among) / n
    return CommitteeProblem(
        columns, codes, sizes, features, y, w, filling, unit,
        np.array([[0.0, *least], [unit, *units]]), preference,
        LEAST_VARIANCE * np.minimum(1.0, variances), STEADINESS * np.minimum(1.0, variances * variance), softening,
        mean, deviation, deviations, choices, place, scale,
    )  # fmt: skip


def _scale_of(values: Floats, w: Floats) -> float:
    """Return 1, or the power of 2 that makes the deviation of tiny or huge values about 1, which changes no digit of them."""
    known = ~np.isnan(values)
    deviation = float(np.sqrt(_variance(values[known], w[known] / w[known].mean()))) if known.any() else 0.0
    if deviation == 0 or SMALL_DEVIATION <= deviation <= LARGE_DEVIATION:
        return 1.0
    return float(2.0 ** -np.round(np.log2(deviation)))


def _variance(values: Floats, w: Floats) -> float:
    """Return the variance with divisor n - 1; the weights are 1 on average."""
    n = values.size
    if n < 2:
        return 0.0
    mean = (w * values).sum() / n
    return float((w * (values - mean) ** 2).sum() / (n - 1))


def _mode(codes: npt.NDArray[np.int32], w: Floats, size: int) -> int:
    known = codes >= 0
    return int(np.bincount(codes[known], w[known], size).argmax())


def decimals_of(values: Floats) -> int:
    """Return the number of decimals with which single precision writes all values."""
    known = values[~np.isnan(values)]
    for decimals in range(MOST_DECIMALS):
        if (np.abs(np.round(known, decimals) - known) <= SINGLE * np.abs(known)).all():
            return decimals
    return MOST_DECIMALS


def rounded_mean(values: Floats, w: Floats) -> float:
    """Return the mean of the known values with one decimal more than they have, rounded down as by the original."""
    known = ~np.isnan(values)
    if not known.any():
        return 0.0
    products = values[known] * w[known]
    total = sum_of_sizes(products[products > 0]) - sum_of_sizes(-products[products < 0])
    mean = total / sum_of_sizes(w[known])
    power = 10.0 ** (decimals_of(values) + 1)
    rounded = float(np.floor(mean * power + 0.1) / power)
    return rounded if np.isfinite(rounded) else mean
