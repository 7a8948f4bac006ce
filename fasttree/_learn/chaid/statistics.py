"""Significance tests of CHAID: chi-square and F statistics, their upper tails, and Bonferroni multipliers.

A table has a row for each group: the weights of the classes, or weight, mean and sum of squared deviations of a numeric target.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, chdtrc, fdtrc, gammaln

from fasttree._data.cells import Floats

SMALLEST = 1e-290  # p-values below this are computed as logarithms
ROUNDING = 1e-13  # share of all squared deviations up to which those within the groups are rounding
MOST_EXACT = 250  # most categories for which Stirling numbers are exact integers; beyond, they are logarithms
LARGEST = float(np.finfo(np.float64).max)
_TERMS = 10_000  # most terms of a continued fraction


class TestResults(NamedTuple):
    """Results of some tests, an entry for each."""

    statistic: Floats
    df: Floats  # of the numerator
    df_within: Floats  # of the denominator of F; 0 for chi-square
    log_p: Floats


class Statistic(NamedTuple):
    """A test as functions of tables.

    `pairs` compares each row of one table with the same row of the other, and `whole` tests a table of shape
    (n_tables, n_groups, n_columns), table by table.  `merged` returns the sum of rows, for groups in the last axis but one.
    """

    pairs: Callable[[Floats, Floats], TestResults]
    whole: Callable[[Floats], TestResults]
    merged: Callable[[Floats], Floats]


# Upper tails


def log_chi_square_tail(statistic: Floats, df: Floats) -> Floats:
    """Return the logarithm of the upper tail probability of chi-square; 0 if there are no degrees of freedom."""
    if (df > 0).all():
        p = chdtrc(df, statistic)
        if not (p < SMALLEST).any():
            return np.asarray(np.log(p))
    statistic, df = np.broadcast_arrays(np.asarray(statistic, np.float64), np.asarray(df, np.float64))
    p = np.where(df > 0, chdtrc(np.maximum(df, 1.0), np.maximum(statistic, 0.0)), 1.0)
    return _logs(p, lambda at: _log_gamma_tail(df[at] / 2, statistic[at] / 2))


def log_f_tail(statistic: Floats, df: Floats, df_within: Floats) -> Floats:
    """Return the logarithm of the upper tail probability of F; 0 if there are no degrees of freedom."""
    statistic, df, df_within = np.broadcast_arrays(*(np.asarray(each, np.float64) for each in (statistic, df, df_within)))
    possible = (df > 0) & (df_within > 0)
    finite = np.where(np.isfinite(statistic), statistic, 0.0)
    p = np.where(possible, fdtrc(np.where(possible, df, 1.0), np.where(possible, df_within, 1.0), finite), 1.0)
    logs = _logs(p, lambda at: _log_beta_tail(df_within[at] / 2, df[at] / 2, finite[at] * df[at] / df_within[at]))
    return np.where(possible & np.isposinf(statistic), -np.inf, logs)


def _logs(p: Floats, of_small: Callable[[Any], Floats]) -> Floats:
    """Return the logarithms of p-values; those that may have underflowed are computed anew."""
    small = p < SMALLEST
    logs = np.array(np.log(np.where(small, 1.0, p)))
    if small.any():
        logs[small] = of_small(small)
    return logs


def _log_gamma_tail(a: Floats, x: Floats) -> Floats:
    """Return the logarithm of the upper incomplete gamma function over the whole one, for x far above a."""
    fraction = _continued_fraction(x + 1 - a, lambda i: -i * (i - a), lambda i: x + 2 * i + 1 - a)
    return np.asarray(-x + a * np.log(x) - gammaln(a) - np.log(fraction))


def _log_beta_tail(a: Floats, b: Floats, odds: Floats) -> Floats:
    """Return the logarithm of the incomplete beta function at x = 1 / (1 + odds), for x far below a / (a + b)."""
    log_x, log_y = -np.log1p(odds), np.log(odds) - np.log1p(odds)
    x = 1 / (1 + odds)

    def numerator(i: int) -> Floats:
        m = i // 2
        if i % 2:
            return np.asarray(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)))
        return np.asarray(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)))

    fraction = _continued_fraction(np.ones_like(x), numerator, lambda i: np.ones_like(x))
    return np.asarray(a * log_x + b * log_y - np.log(a) - betaln(a, b) - np.log(fraction))


def _continued_fraction(first: Floats, numerator: Callable[[int], Floats], denominator: Callable[[int], Floats]) -> Floats:
    """Return b0 + a1 / (b1 + a2 / (b2 + ...)) by Lentz's method."""
    tiny = 1e-300
    value = np.where(first == 0, tiny, first)
    c, d = value.copy(), np.zeros_like(value)
    for i in range(1, _TERMS):
        above, below = numerator(i), denominator(i)
        d = below + above * d
        d = 1 / np.where(d == 0, tiny, d)
        c = below + above / c
        c = np.where(c == 0, tiny, c)
        step = c * d
        value = value * step
        if (np.abs(step - 1) < 1e-15).all():
            break
    return value


# Classes: a row has the weight of each class


def pearson_pairs(one: Floats, other: Floats) -> TestResults:
    """Test pairs of groups by Pearson's chi-square statistic, without Yates's correction."""
    n, m = one.sum(axis=-1), other.sum(axis=-1)
    both = one + other
    occurs = both > 0
    difference = one * m[..., None] - other * n[..., None]
    if occurs.all():  # the usual case needs no masks
        statistic = (difference * difference / both).sum(axis=-1) / (n * m)
        return _chi_square(statistic, np.full_like(statistic, both.shape[-1] - 1.0))
    parts = np.divide(difference * difference, both, out=np.zeros_like(both), where=occurs)
    weight = n * m
    statistic = np.divide(parts.sum(axis=-1), weight, out=np.zeros_like(weight), where=weight > 0)
    return _chi_square(statistic, np.where(weight > 0, occurs.sum(axis=-1) - 1.0, 0.0))


def pearson(tables: Floats) -> TestResults:
    """Test tables of groups and classes by Pearson's chi-square statistic; empty rows and columns do not count."""
    rows, columns, total = tables.sum(axis=-1), tables.sum(axis=-2), tables.sum(axis=(-2, -1))
    expected = rows[..., :, None] * columns[..., None, :] / total[..., None, None]
    difference = tables - expected
    parts = np.divide(difference * difference, expected, out=np.zeros_like(expected), where=expected > 0)
    return _chi_square(parts.sum(axis=(-2, -1)), _df_of_table(rows, columns))


def likelihood_ratio_pairs(one: Floats, other: Floats) -> TestResults:
    """Test pairs of groups by the likelihood-ratio chi-square statistic."""
    return likelihood_ratio(np.stack([one, other], axis=-2))


def likelihood_ratio(tables: Floats) -> TestResults:
    """Test tables of groups and classes by the likelihood-ratio chi-square statistic."""
    rows, columns, total = tables.sum(axis=-1), tables.sum(axis=-2), tables.sum(axis=(-2, -1))
    expected = rows[..., :, None] * columns[..., None, :] / total[..., None, None]
    ratio = np.divide(tables, expected, out=np.ones_like(tables), where=tables > 0)
    statistic = 2 * (tables * np.log(ratio)).sum(axis=(-2, -1))
    return _chi_square(np.maximum(statistic, 0.0), _df_of_table(rows, columns))


def _df_of_table(rows: Floats, columns: Floats) -> Floats:
    return np.asarray(np.maximum((rows > 0).sum(axis=-1) - 1.0, 0.0) * np.maximum((columns > 0).sum(axis=-1) - 1.0, 0.0))


def _chi_square(statistic: Floats, df: Floats) -> TestResults:
    statistic, df = np.asarray(statistic), np.asarray(df)
    return TestResults(statistic, df, np.zeros_like(df), log_chi_square_tail(statistic, df))


def merged_classes(groups: Floats) -> Floats:
    """Return the weights of the classes of all groups together."""
    return np.asarray(groups.sum(axis=-2))


# Numbers: a row has weight, mean, and sum of squared deviations from the mean


def f_pairs(one: Floats, other: Floats) -> TestResults:
    """Test pairs of groups by the F statistic of the analysis of variance."""
    return f_test(np.stack([one, other], axis=-2))


def f_test(tables: Floats) -> TestResults:
    """Test whether the means of groups differ, by the F statistic of the analysis of variance.

    Weights are frequencies: the degrees of freedom within the groups are the weight less the number of groups.
    """
    weight = tables[..., 0]
    together = merged_values(tables)
    n_groups = (weight > 0).sum(axis=-1)
    within = tables[..., 2].sum(axis=-1)
    deviation = tables[..., 1] - together[..., 1][..., None]
    between = (weight * deviation * deviation).sum(axis=-1)
    df, df_within = np.maximum(n_groups - 1.0, 0.0), np.maximum(together[..., 0] - n_groups, 0.0)
    possible = (df > 0) & (df_within > 0)
    whole = between + within
    no_within, no_between = within <= ROUNDING * whole, between <= ROUNDING * whole
    ratio = np.divide(between * df_within, within * df, out=np.zeros_like(within), where=possible & ~no_within)
    statistic = np.where(no_between, 0.0, np.where(possible & no_within, np.inf, ratio))
    return TestResults(statistic, df, df_within, log_f_tail(statistic, df, df_within))


def merged_values(groups: Floats) -> Floats:
    """Return weight, mean and sum of squared deviations of all groups together (Chan, Golub and LeVeque 1983)."""
    weight = groups[..., 0].sum(axis=-1)
    sums = (groups[..., 0] * groups[..., 1]).sum(axis=-1)
    mean = np.divide(sums, weight, out=np.zeros_like(sums), where=weight > 0)
    deviation = groups[..., 1] - mean[..., None]
    squares = groups[..., 2].sum(axis=-1) + (groups[..., 0] * deviation * deviation).sum(axis=-1)
    return np.stack([weight, mean, squares], axis=-1)


STATISTICS = {
    "pearson": Statistic(pearson_pairs, pearson, merged_classes),
    "likelihood_ratio": Statistic(likelihood_ratio_pairs, likelihood_ratio, merged_classes),
    "f": Statistic(f_pairs, f_test, merged_values),
}


# Bonferroni multipliers


@lru_cache(maxsize=1 << 12)
def log_multiplier(kind: str, method: str, n_categories: int, n_groups: int, exhaustive_multiplier: str = "spss") -> float:
    """Return the logarithm of the number of ways to merge categories, by which a p-value is multiplied.

    Parameters
    ----------
    kind : {"nominal", "ordinal", "floating"}
        "floating" is ordinal with a missing category, which counts among the categories and may join any group.
    method : {"chaid", "exhaustive"}
    n_categories, n_groups : int
        Categories that occur in the node, and groups that are left.
    exhaustive_multiplier : {"spss", "biggs"}, default "spss"
        For nominal features by exhaustive CHAID: I (I^2 - 1) / 2 as in SPSS, or a third of it, the number of tests that are made
        (Biggs et al. 1991).
    """
    i, r = n_categories, n_groups
    if method == "exhaustive":
        of_nominal = i * (i * i - 1) // (2 if exhaustive_multiplier == "spss" else 6)
        ways = of_nominal if kind == "nominal" else i * (i - 1) // 2
        return math.log(max(ways, 1))
    if kind == "nominal":
        return log_stirling(i, r)
    ways = math.comb(i - 1, r - 1)
    if kind == "floating":
        ways = (math.comb(i - 2, r - 2) if r >= 2 else 0) + r * math.comb(i - 2, r - 1)
    return math.log(max(ways, 1))


def log_stirling(n: int, k: int) -> float:
    """Return the logarithm of the Stirling number of the second kind: the ways to put n categories into k groups."""
    if n > MOST_EXACT:
        return float(_log_stirling_row(n)[k])
    return math.log(max(_stirling_row(n)[k], 1))


@lru_cache(maxsize=MOST_EXACT + 1)
def _stirling_row(n: int) -> list[int]:
    """Return S(n, 0), ..., S(n, n) by the recurrence S(n, k) = k S(n - 1, k) + S(n - 1, k - 1)."""
    row = [1]
    for size in range(1, n + 1):
        row = [0, *(k * (row[k] if k < size else 0) + row[k - 1] for k in range(1, size + 1))]
    return row


@lru_cache(maxsize=64)
def _log_stirling_row(n: int) -> Floats:
    """Return the logarithms of S(n, 0), ..., S(n, n)."""
    with np.errstate(divide="ignore"):
        row = np.array([*(math.log(each) if each else -math.inf for each in _stirling_row(MOST_EXACT)), *[-math.inf] * n])
        log_k = np.log(np.arange(n + 1.0))
    row = row[: n + 1]
    for _ in range(MOST_EXACT, n):
        row[1:] = np.logaddexp(log_k[1:] + row[1:], row[:-1])
        row[0] = -math.inf
    return row


def as_number(log: float) -> float:
    """Return the number of a logarithm, at most the largest float."""
    return LARGEST if log > 709.0 else math.exp(log)
