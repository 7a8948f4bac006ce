"""From the engine's arrays to a `Tree`: cuts become thresholds, lists become tables of categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind, Schema
from fasttree._engine import passes
from fasttree._learn.grow.encode import AnyTable, Bins, SomeRows, few_values, pieces_of
from fasttree._learn.recipe import Recipe
from fasttree._learn.samples import Costs
from fasttree._model.arrays import NOMINAL, THRESHOLD
from fasttree._model.surrogates import Surrogates
from fasttree._model.threads import in_threads
from fasttree._model.tree import Tree

RAISED_AT_ONCE = 64  # features whose thresholds become values of the table in one pass, with a megabyte of cells


def decode_surrogates(
    grown: dict[str, Any], table: AnyTable, whole: AnyTable | None, recipe: Recipe, bins: Mapping[int, Bins]
) -> Surrogates:
    """Return the surrogates by node; the engine lists them in the order of its growth."""
    found, codes, branches = (grown.pop(name) for name in ("surrogates", "surrogate_code", "surrogate_branch"))
    by_threshold = np.flatnonzero(found["low_branch"] >= 0)
    in_order_of_growth = Surrogates(
        start=np.arange(len(found) + 1),
        feature=found["feature"],
        kind=np.where(found["low_branch"] >= 0, THRESHOLD, NOMINAL),
        threshold=decode_thresholds(found, by_threshold, table, whole, recipe, bins),
        low_branch=found["low_branch"],
        categories_start=np.append(0, found["categories_stop"]),
        categories_code=codes,
        categories_branch=branches,
        agreement=found["agreement"],
        adjusted=found["adjusted"],
    )
    by_node = in_order_of_growth.of_nodes(np.argsort(found["node"], kind="stable"))
    sizes = np.bincount(found["node"], minlength=len(grown["kind"]))
    return replace(by_node, start=np.append(0, np.cumsum(sizes)))


def critical_value(p_value: float, n_classes: int) -> float:
    """Return the chi-square statistic of two intervals and K classes with this p-value: K - 1 degrees of freedom, at least 1."""
    from scipy.special import chdtri

    return float(chdtri(max(n_classes - 1, 1), p_value))


def decode_cuts(
    grown: dict[str, Any], table: AnyTable, whole: AnyTable | None, recipe: Recipe, bins: Mapping[int, Bins]
) -> dict[str, npt.NDArray[Any]]:
    """Return where the intervals of nodes meet, as fields of `Tree`; empty if there are none."""
    if "cut_node" not in grown:
        return {}
    node, low, high = grown.pop("cut_node"), grown.pop("cut_low"), grown.pop("cut_high")
    in_order_of_growth = {"feature": grown["feature"][node], "row_low": low, "row_high": high}
    cut = decode_thresholds(in_order_of_growth, np.arange(node.size), table, whole, recipe, bins)
    sizes = np.bincount(node, minlength=len(grown["kind"]))
    return {"cut_start": np.append(0, np.cumsum(sizes)), "cut": cut[np.argsort(node, kind="stable")]}


def decode_thresholds(
    grown: Mapping[str, Any] | npt.NDArray[Any],
    by_threshold: npt.NDArray[np.intp],
    table: AnyTable,
    whole: AnyTable | None,
    recipe: Recipe,
    bins: Mapping[int, Bins],
    n_jobs: int = 1,
) -> Floats:
    """Return the midpoints of the two values that each cut separates, or numbers just below them, by `recipe.midpoint`.

    C4.5 takes the largest value of `whole` up to the midpoint; if `whole` is None, a number that divides all values as the
    midpoint does in single precision.  For a feature in bins, the two values are of the whole table, too: every sample is then on
    the side of its bin.  The thresholds of tests not in `by_threshold` are NaN.
    """
    thresholds = np.empty(len(grown["feature"]))
    thresholds.fill(np.nan)
    if not by_threshold.size:
        return thresholds
    if table.matrix is not None and not recipe.release8 and not bins and recipe.midpoint == "low":
        passes.thresholds(table.matrix, by_threshold, grown["feature"], grown["row_low"], grown["row_high"], thresholds)
        return thresholds
    by_threshold = by_threshold[_order_of(grown, by_threshold)]
    features = grown["feature"][by_threshold]
    by_feature = list(_by_feature(features))
    low, high = _separated(grown, by_threshold, by_feature, table, bins)
    between = thresholds_between(low, high, features, table.schema, recipe)
    if recipe.release8:
        single = single_midpoints(low, high)
        numbers = {feature: at for feature, at in by_feature if table.schema.features[feature].kind == Kind.CONTINUOUS}
        found = {feature: single[at] for feature, at in numbers.items()}
        if whole is not None:
            found = raised(whole, found, n_jobs)
        for feature, at in numbers.items():
            between[at] = found[feature]
    thresholds[by_threshold] = between
    return thresholds


def random_thresholds(
    grown: Mapping[str, Any] | npt.NDArray[Any],
    by_threshold: npt.NDArray[np.intp],
    table: AnyTable,
    bins: Mapping[int, Bins],
    seed: int,
) -> Floats:
    """Return random numbers between the two values that each cut separates, NaN for tests not in `by_threshold`."""
    thresholds = np.full(len(grown["feature"]), np.nan)
    if by_threshold.size:
        order = _order_of(grown, by_threshold)
        in_order, place = by_threshold[order], np.argsort(order)
        by_feature = list(_by_feature(grown["feature"][in_order]))
        low, high = _separated(grown, in_order, by_feature, table, bins)
        thresholds[by_threshold] = _random_between(low[place], high[place], seed)
    return thresholds


def _separated(
    grown: Mapping[str, Any] | npt.NDArray[Any],
    by_threshold: npt.NDArray[np.intp],
    by_feature: list[tuple[int, slice]],
    table: AnyTable,
    bins: Mapping[int, Bins],
) -> tuple[Floats, Floats]:
    """Return the values below and above each cut; for a feature in bins, those of the whole table."""
    rows = np.array([grown[side][by_threshold] for side in ("row_low", "row_high")])
    low, high = _cells(table, rows, grown["feature"][by_threshold], by_feature)
    for feature, at in by_feature if bins else ():
        if feature in bins:
            low[at], high[at] = bins[feature].gap(low[at], high[at])
    return low, high


def _cells(
    table: AnyTable, rows: npt.NDArray[Any], features: npt.NDArray[np.int32], by_feature: list[tuple[int, slice]]
) -> Floats:
    """Return the values in rows of shape (m, n), of the features of shape (n,), whose positions are in `by_feature`."""
    if isinstance(table, SomeRows):  # its columns are copies
        return _cells(table.table, table.rows[rows], features, by_feature)
    if table.matrix is not None:
        return np.asarray(table.matrix[rows, features], np.float64)
    cells = np.empty(rows.shape)
    for feature, at in by_feature:
        cells[:, at] = table.column(feature).take(rows[:, at])
    return cells


def _order_of(grown: Mapping[str, Any] | npt.NDArray[Any], by_threshold: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the order of nodes by their features."""
    return np.argsort(grown["feature"][by_threshold], kind="stable")


def _by_feature(features: npt.NDArray[np.int32]) -> Iterator[tuple[int, slice]]:
    """Yield every feature that occurs among ascending ones, and its positions."""
    starts = (features[1:] != features[:-1]).nonzero()[0] + 1
    for first, last in pairwise([0, *starts.tolist(), len(features)]):
        if first < last:
            yield int(features[first]), slice(first, last)


def single_midpoints(low: Floats, high: Floats) -> Floats:
    """Return the largest doubles that in single precision, in which Release 8 compares, are not above the midpoints.

    Where the two values are one in single precision, it is `low`.
    """
    between = np.empty(len(low))
    passes.midpoints(low, high, between, single=True)
    return between


def raised(table: AnyTable, thresholds: Mapping[int, Floats], n_jobs: int = 1) -> dict[int, Floats]:
    """Return the largest values of features up to their thresholds, which are not below its least; never -0.0."""
    found, many = dict[int, Floats](), list[int]()
    for feature, given in thresholds.items():
        if (values := few_values(table, feature)) is None:
            many.append(feature)
        else:
            found[feature] = values[np.searchsorted(values, given, side="right") - 1]
    pieces = pieces_of(len(many), n_jobs, RAISED_AT_ONCE)

    def raise_some(i: int) -> None:
        some = many[pieces[i].start : pieces[i].stop]
        if table.matrix is not None:
            found.update(_raised_in(table.matrix, some, [thresholds[feature] for feature in some]))
        else:
            for feature in some:
                found[feature] = _raised_in(table.column(feature)[:, None], [0], [thresholds[feature]])[0]

    in_threads(raise_some, len(pieces), n_jobs)
    return found


def _raised_in(columns: npt.NDArray[Any], places: list[int], thresholds: list[Floats]) -> dict[int, Floats]:
    """Return the same for the columns in some places of a matrix."""
    ordered, inverse = zip(*(np.unique(each, return_inverse=True) for each in thresholds), strict=True)
    starts = np.cumsum([0, *map(len, ordered)], dtype=np.int64)
    largest = np.full(starts[-1], -np.inf)
    passes.raise_thresholds(columns, np.array(places, np.int64), starts, np.concatenate(ordered), largest)
    largest += 0.0
    return {place: largest[starts[k] : starts[k + 1]][inverse[k]] for k, place in enumerate(places)}


def midpoints(low: Floats, high: Floats) -> Floats:
    """Return doubles t with low <= t < high, halfway if there is one; never -0.0."""
    between = np.empty(len(low))
    passes.midpoints(low, high, between)
    return between


def _random_between(low: Floats, high: Floats, seed: int) -> Floats:
    """Return uniform random doubles t with low <= t < high; never -0.0.

    The engine has drawn between which two values a threshold is, so that it is uniform over all values of the node.
    """
    share = np.random.Generator(np.random.Philox(key=np.array([seed, 1], dtype=np.uint64))).random(len(low))
    with np.errstate(over="ignore", invalid="ignore"):
        between = low + share * (high - low)
    return np.where((low <= between) & (between < high), between, low) + 0.0


def thresholds_between(low: Floats, high: Floats, features: npt.NDArray[np.int32], schema: Schema, recipe: Recipe) -> Floats:
    """Return the thresholds of cuts between two values of a feature each, by `recipe.midpoint`."""
    between = midpoints(low, high)
    if recipe.midpoint == "high":
        is_continuous = np.array([feature.kind == Kind.CONTINUOUS for feature in schema.features])
        between = np.where(is_continuous[features], _below(between, low), between)
    return between


def _below(between: Floats, low: Floats) -> Floats:
    """Return the largest numbers below midpoints, but not below `low`; for 0, a normal number, which all programs read."""
    below = np.where(between == 0, -np.finfo(np.float64).tiny, np.nextafter(between, -np.inf))
    return np.maximum(below, low) + 0.0  # not -0.0


def with_weights_as_given(grown: dict[str, Any], costs: Costs) -> dict[str, Any]:
    """Return the fields of nodes with the given weights of the samples instead of altered priors; risks do not change."""
    value = grown["value"] / costs.loss.sum(axis=1)
    weight = np.where(grown["weight"] > 0, value.sum(axis=1), 0.0)
    risk_per_impurity = grown["weight"] / costs.mean
    per_weight = np.divide(risk_per_impurity, weight, out=np.ones_like(weight), where=weight > 0)
    return {
        "value": value,
        "weight": weight,
        "impurity": grown["impurity"] * per_weight,
        "gain": grown["gain"] * per_weight,
        "loss": costs.loss.copy(),
    }


def as_tree(
    grown: dict[str, Any],
    task: str,
    n_features: int,
    *,
    surrogates: Surrogates | None,
    cuts: dict[str, npt.NDArray[Any]],
    outputs: tuple[int, ...] | None,
) -> Tree:
    categories_by_node(grown)
    grown.update(cuts)
    return Tree.of_engine(grown, task=task, n_features=n_features, surrogates=surrogates, outputs=outputs)


def categories_by_node(grown: dict[str, Any]) -> None:
    """Put the categories of tests in the order of their nodes, and say where those of each node start."""
    owner = grown.pop("categories_node")
    start = np.zeros(len(grown["kind"]) + 1, dtype=np.int64)
    if owner.size:
        by_node = np.argsort(owner, kind="stable")
        np.cumsum(np.bincount(owner, minlength=len(grown["kind"])), out=start[1:])
        grown["categories_code"], grown["categories_branch"] = (
            grown["categories_code"][by_node],
            grown["categories_branch"][by_node],
        )
    grown["categories_start"] = start
