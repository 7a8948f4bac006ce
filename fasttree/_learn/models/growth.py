"""A model tree: a tree grown by its recipe, models of its nodes, pruning, smoothing (Quinlan 1992; Wang and Witten 1997)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind
from fasttree._data.sums import sum_of_sizes, sums_of_sizes
from fasttree._data.table import Table
from fasttree._learn.grow.grower import Grower
from fasttree._learn.models.least_squares import Elimination, Fits, fit
from fasttree._learn.models.m5p import grow_m5p
from fasttree._learn.samples import weighted_rows
from fasttree._model import walks
from fasttree._model.arrays import counts_below
from fasttree._model.linear.model_tree import LinearModels, ModelTree, levels_of, smoothed
from fasttree._model.tree import Tree

__all__ = ["ModelChoices", "grow_models"]

TOO_MANY = 10.0  # factor of the error of a node that has as many parameters as samples
MOST_INDICATORS = 32  # of a feature
FIFTH = 0.2  # the impurity "fifth_root" is this power of the variance


class ModelChoices(NamedTuple):
    """What M5 chooses besides the recipe and the limits of the tree."""

    least_deviation: float  # of a node that is split, as a share of that of all samples
    path_features: bool
    pruning_factor: float | None  # None: no pruning
    smoothing: float
    extrapolation: float | None  # None: predictions have no bounds
    elimination: Elimination
    linear: bool  # whether models have terms
    indicators: bool  # whether models have terms of nominal features, too
    as_m5p: bool = False  # growth with the rounding of Weka's M5P


def grow_models(grower: Grower, choices: ModelChoices) -> tuple[ModelTree, Tree]:
    """Return the tree with models, pruned and smoothed, and the tree as grown."""
    samples = grower.samples
    rows = weighted_rows(samples)
    targets = list(np.ascontiguousarray(np.asarray(samples.target, np.float64)[rows].reshape(rows.size, -1).T))
    weight = None if samples.weight is None else samples.weight[rows]
    if weight is not None and (weight == 1).all():
        weight = None  # a sample of weight 0 is as none at all, bit for bit
    units = _units(targets, weight)
    if choices.as_m5p:
        tree = _grown_as_m5p(grower, choices, rows, targets[0], weight)
    elif len(targets) > 1:
        tree = _grown_for_all(grower, choices, units)
    else:
        tree = _grown(grower, choices, _variance(targets[0], weight))
    features = _features_of_models(tree, samples.table, Kind.CONTINUOUS)[: None if choices.linear else 0]
    columns = _filled(samples.table, features, rows, weight)
    if choices.linear and choices.indicators:
        columns = _with_indicators(columns, samples.table, _features_of_models(tree, samples.table, Kind.NOMINAL), rows, weight)
    leaf = walks.walk(tree, samples.table)[rows]
    allowed = _candidates(tree, columns.features, choices.path_features)
    fits = fit(tree, leaf, columns.values, targets, weight, allowed, choices.elimination)
    cut = np.zeros(tree.node_count, dtype=bool)
    if choices.pruning_factor is not None:
        cut = _cut(tree, fits, units, choices.pruning_factor)
    kept, pruned = np.flatnonzero(~counts_below(cut, tree.parent)), tree.prune_at(cut)
    models = [_models(Fits(*(part[kept] for part in each)), columns, choices.extrapolation) for each in fits]
    leaves = pruned.n_branches == 0
    by_target = [smoothed(pruned, each, leaves, choices.smoothing) for each in models]
    return ModelTree.of(pruned, by_target, choices.smoothing), tree


def _units(targets: Sequence[Floats], weight: Floats | None) -> Floats:
    """Return the standard deviation of each of several targets; 1 for a target alone, and for a constant one, which has none."""
    return np.array([(_deviation(target, weight) or 1.0) if len(targets) > 1 else 1.0 for target in targets])


def _deviation(target: Floats, weight: Floats | None) -> float:
    """Return the standard deviation, of numbers whose squares may be too small or too large for a double, too."""
    apart = target - _mean(target, weight)
    largest = float(np.abs(apart).max())
    return largest * math.sqrt(_mean((apart / largest) ** 2, weight)) if largest else 0.0


def _grown(grower: Grower, choices: ModelChoices, variance: float) -> Tree:
    power = FIFTH if grower.recipe.impurity == "fifth_root" else 1.0
    least = min(choices.least_deviation, 1e150) ** 2 * variance
    return replace(grower, limits=grower.limits._replace(min_impurity=least**power))()


def _grown_for_all(grower: Grower, choices: ModelChoices, units: Floats) -> Tree:
    """Grow on several targets in units of their standard deviations, whose mean variance is the impurity, or its power.

    A target then counts the same whatever its unit, as in clustering trees (Blockeel, De Raedt and Ramon 1998).
    """
    samples = grower.samples
    target = samples.target / units
    varies = np.ptp(target if samples.weight is None else target[samples.weight > 0], axis=0) > 0
    tree = _grown(replace(grower, samples=samples._replace(target=target)), choices, float(varies.mean()))
    return tree.replace(value=tree.value * units + 0.0)


def _grown_as_m5p(grower: Grower, choices: ModelChoices, rows: NDArray[np.intp], target: Floats, weight: Floats | None) -> Tree:
    table = grower.samples.table
    if weight is not None:
        raise ValueError("sample_weight: variant='weka' has no weights other than 0 and 1, because M5P grows without them")
    other = next((feature for feature in table.schema.features if feature.kind != Kind.CONTINUOUS), None)
    if other is not None:
        raise ValueError(
            f"feature {other.name!r} has categories: variant='weka' needs numbers; make columns of 0 and 1, as M5P does, or use "
            "variant='m5'"
        )
    features = np.arange(table.n_features)
    columns = _filled(table, features, rows, weight)
    return grow_m5p(np.column_stack(columns.values), features, target, table.n_features, grower.limits, choices.least_deviation)


def _mean(values: Floats, weight: Floats | None) -> float:
    """Return the mean, whatever the order of the values."""
    products = values if weight is None else values * weight
    total = float(values.size) if weight is None else sum_of_sizes(weight)
    return (sum_of_sizes(products[products > 0]) - sum_of_sizes(products[products < 0])) / total


def _variance(target: Floats, weight: Floats | None) -> float:
    return _mean((target - _mean(target, weight)) ** 2, weight)


class _Columns(NamedTuple):
    """Columns that may have terms, without missing values."""

    values: list[Floats]
    features: NDArray[np.intp]  # of each column
    numbers: NDArray[np.intp]  # of each column, as in LinearModels
    filling: Floats  # of all features, and of the indicators
    indicators: NDArray[np.int64]


def _features_of_models(tree: Tree, table: Table, kind: Kind) -> NDArray[np.intp]:
    """Return the features of a kind that the tree tests, ascending."""
    tested = np.unique(tree.feature[tree.n_branches > 0])
    return np.array([j for j in tested.tolist() if table.schema.features[j].kind == kind], dtype=np.intp)


def _filled(table: Table, features: NDArray[np.intp], rows: NDArray[np.intp], weight: Floats | None) -> _Columns:
    """Return the columns of continuous features, with means in the place of missing values.

    A column without a value gets 0, as by M5P.
    """
    filling, columns = np.full(table.n_features, np.nan), []
    for feature in features.tolist():
        column = table.column(feature)[rows].astype(np.float64)
        filling[feature] = _fill(column, ~np.isnan(column), weight)
        columns.append(column)
    return _Columns(columns, features, features, filling, np.empty((0, 2), np.int64))


def _with_indicators(
    columns: _Columns, table: Table, features: NDArray[np.intp], rows: NDArray[np.intp], weight: Floats | None
) -> _Columns:
    """Return the columns, and the indicators of categories of nominal features.

    The category of most weight has no indicator: its samples are those for which the others are 0.  Of the others the heaviest
    have one, at most `MOST_INDICATORS` of a feature.
    """
    values, filling, found = list(columns.values), columns.filling.tolist(), list[tuple[int, int]]()
    for feature in features.tolist():
        codes = table.column(feature)[rows].astype(np.intp)
        size = len(table.schema.features[feature].categories or ())
        total = sums_of_sizes(np.ones(codes.size) if weight is None else weight, codes, size + 1)
        heaviest = 1 + np.argsort(-total[1:], kind="stable")[1 : 1 + MOST_INDICATORS]
        for code in np.sort(heaviest[total[heaviest] > 0]).tolist():
            column = (codes == code).astype(np.float64)
            filling.append(_fill(column, codes > 0, weight))
            values.append(column)
            found.append((feature, code))
    indicators = np.array(found, np.int64).reshape(-1, 2)
    numbers = np.append(columns.numbers, table.n_features + np.arange(len(found)))
    return _Columns(values, np.append(columns.features, indicators[:, 0]), numbers, np.array(filling), indicators)


def _fill(column: Floats, known: NDArray[np.bool_], weight: Floats | None) -> float:
    """Put the mean of a column in the place of missing values, and return it."""
    if known.all():
        return _mean(column, weight)
    mean = _mean(column[known], None if weight is None else weight[known]) if known.any() else 0.0
    column[~known] = mean
    return mean


def _candidates(tree: Tree, features: NDArray[np.intp], with_path: bool) -> NDArray[np.bool_]:
    """Return which features may be in the model of each node: those tested at it or below it, and on the way to it."""
    tested = np.equal(tree.feature[:, None], features) & (tree.n_branches > 0)[:, None]
    below, above = tested.copy(), np.zeros_like(tested)
    for first, stop in levels_of(tree)[-2::-1]:
        inner = first + np.flatnonzero(tree.n_branches[first:stop])
        below[inner] |= below[tree.first_child[inner]] | below[tree.first_child[inner] + 1]
    if not with_path:
        return below
    for first, stop in levels_of(tree)[1:]:
        parent = tree.parent[first:stop]
        above[first:stop] = above[parent] | tested[parent]
    return below | above


def _models(fits: Fits, columns: _Columns, extrapolation: float | None) -> LinearModels:
    if extrapolation is None:
        lower, upper = np.full_like(fits.intercept, -np.inf), np.full_like(fits.intercept, np.inf)
    else:
        margin = extrapolation * (fits.largest - fits.least)
        lower, upper = fits.least - margin, fits.largest + margin
    figures = (fits.intercept, lower, upper, columns.filling, columns.indicators)
    return LinearModels.of_rows(fits.coefficient, columns.numbers, *figures)


def _cut(tree: Tree, fits: Sequence[Fits], units: Floats, factor: float) -> NDArray[np.bool_]:
    """Return the nodes that become leaves: those whose models have no larger estimated error than their subtree.

    The root mean squared error counts (n + factor v) / (n - v) times; v are the parameters, and one for each test.  Those of
    several targets are added, each in its unit.
    """
    n, cut = tree.n_samples.astype(np.float64), np.zeros(tree.node_count, dtype=bool)
    error, size = np.array([each.error for each in fits]), np.array([each.n_parameters for each in fits])

    def estimated(nodes: NDArray[np.intp], errors: Floats, sizes: Floats) -> Floats:
        found: Floats = (np.sqrt(errors) * _factor(n[nodes], sizes, factor) / units[:, None]).sum(axis=0)
        return found

    for first, stop in levels_of(tree)[-2::-1]:
        inner = first + np.flatnonzero(tree.n_branches[first:stop])
        one = tree.first_child[inner]
        below, below_size = error[:, one] + error[:, one + 1], size[:, one] + size[:, one + 1] + 1
        is_cut = estimated(inner, error[:, inner], size[:, inner]) <= estimated(inner, below, below_size)
        cut[inner] = is_cut
        error[:, inner] = np.where(is_cut, error[:, inner], below)
        size[:, inner] = np.where(is_cut, size[:, inner], below_size)
    return cut


def _factor(n: Floats, size: Floats, factor: float) -> Floats:
    with np.errstate(divide="ignore"):
        return np.where(n > size, (n + factor * size) / (n - size), TOO_MANY)
