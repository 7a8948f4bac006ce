"""Regions of one or two features in which a model predicts the same, with the other features held at the values of a sample.

The model is evaluated once in each cell between neighbouring thresholds, so regions are exact.  This file knows no estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Feature, Kind, Schema
from fasttree._data.sources import ArraySource
from fasttree._data.table import Table
from fasttree._model import walks
from fasttree._model.arrays import INTERVALS, THRESHOLD
from fasttree._model.linear.model_tree import ModelTree
from fasttree._model.tree import Tree

__all__ = [
    "MODEL_STEPS",
    "CellAxis",
    "Regions",
    "axes_of",
    "chosen_features",
    "ends_of",
    "lines_of",
    "regions_of",
    "spread",
    "table_of",
    "thinned",
    "used_by",
]

Floats = npt.NDArray[np.float64]

MARGIN = 0.04  # of the range of the samples, on both sides of an axis
SOFT_STEPS = 16  # in which the shares of a soft threshold are drawn
MODEL_STEPS = 120  # in which the range of a feature is divided if leaves have models
MOST_CELLS = 1_000_000
TURN = 0.6180339887  # golden section: spreads samples side by side without rows
WIDE = 0.7  # share of the room of a category in which its samples are spread


@dataclass(frozen=True)
class CellAxis:
    """A feature as an axis of cells.

    Attributes
    ----------
    index : int
        Column of the feature.
    edges : array, shape (n_cells + 1,)
        Ends of the cells, ascending.
    values : array, shape (n_cells,)
        A value of the feature in each cell, or the code of its category.
    categories : list of str
        Names of the cells; empty for numbers.
    """

    index: int
    edges: Floats
    values: Floats
    categories: list[str]

    def places(self, column: npt.NDArray[Any]) -> Floats:
        """Return the places of samples on the axis, NaN if they have none; those of a category have one place."""
        if not self.categories:
            return column.astype(np.float64)
        at = np.searchsorted(self.values, column).clip(0, len(self.values) - 1)
        return np.where(self.values[at] == column, at.astype(np.float64), np.nan)


@dataclass(frozen=True)
class Regions:
    """The cells of one or two features, and what the tree predicts there.

    Attributes
    ----------
    lines : list of CellAxis
        Across, and if there are two, up.
    leaf : array of int, shape (n_up, n_across)
        Leaf of each cell, of several the one with the largest part.
    value : array, shape (n_up, n_across, k)
        Shares of the classes, or the mean.
    answers : array of int, shape (n_up, n_across), or None
        Index of the predicted class; None in regression.
    ends : array, shape (2, n_across), or None
        What the models of the leaves predict at both ends of each cell of a single feature of numbers; None without models.
    """

    lines: list[CellAxis]
    leaf: npt.NDArray[np.int32]
    value: Floats
    answers: npt.NDArray[np.intp] | None
    ends: Floats | None = None


def used_by(tree: Tree) -> list[int]:
    """Return the features that a tree tests, or that the models of its leaves have."""
    used: list[int] = tree.used if isinstance(tree, ModelTree) else np.unique(tree.feature[tree.feature >= 0]).tolist()
    return used


def chosen_features(used: list[int], schema: Schema, features: Any, *, has_rest: bool) -> list[int]:
    """Return the indices of the features to draw; None: those that the model uses.

    Raises
    ------
    ValueError
        If they are not one or two features, or if the model uses others without values for them.
    """
    names = [feature.name for feature in schema.features]
    if features is None:
        if not 1 <= len(used) <= 2:
            raise ValueError(f"features=None: the model uses {len(used)} features; name one or two, such as {names[:2]}")
        return used
    given = [features] if isinstance(features, str | int) else list(features)
    found = []
    for each in given:
        if isinstance(each, str) and each in names:
            found.append(names.index(each))
        elif isinstance(each, int) and 0 <= each < len(names):
            found.append(int(each))
        else:
            raise ValueError(f"features: {each!r} is not the name or the index of a column of the fit: {names[:20]}")
    if not 1 <= len(found) <= 2 or len(set(found)) < len(found):
        raise ValueError(f"features={features!r}: must be one feature, or two different ones")
    others = [names[j] for j in used if j not in found]
    if others and not has_rest:
        raise ValueError(
            f"the model also uses {', '.join(others[:5])}{', …' if len(others) > 5 else ''}: "
            "give at=, a sample whose values these features have, such as X.iloc[0]"
        )
    return found


def lines_of(
    tree: Tree, schema: Schema, shown: Schema, indices: Sequence[int], columns: Sequence[npt.NDArray[Any]]
) -> list[CellAxis]:
    """Return the axes of features, as long as the samples in `columns` need.

    Raises
    ------
    ValueError
        If a feature has no known value, or there are more than a million cells.
    """
    cuts = [_cuts(tree, j) for j in indices]
    return axes_of(cuts, MODEL_STEPS if isinstance(tree, ModelTree) else 0, schema, shown, indices, columns)


def axes_of(
    cuts: Sequence[Floats], steps: int, schema: Schema, shown: Schema, indices: Sequence[int], columns: Sequence[npt.NDArray[Any]]
) -> list[CellAxis]:
    """Return the same from the cuts of each feature; a number's axis is also divided into so many steps."""
    lines = [
        _line(own, steps, schema.features[j], shown.features[j], j, column)
        for own, j, column in zip(cuts, indices, columns, strict=True)
    ]
    n_cells = int(np.prod([len(line.values) for line in lines]))
    if n_cells > MOST_CELLS:
        raise ValueError(
            f"the model divides these features into {n_cells:,} cells, and {MOST_CELLS:,} can be drawn: fit a smaller one"
        )
    return lines


def _line(cuts: Floats, steps: int, feature: Feature, shown: Feature, index: int, column: npt.NDArray[Any]) -> CellAxis:
    if feature.kind is not Kind.CONTINUOUS:
        codes = np.unique(column[column > 0])
        if not codes.size:
            raise ValueError(f"feature {feature.name!r} has no known value in X")
        names = [str((shown.categories or ())[code - 1]) for code in codes.tolist()]
        return CellAxis(index, np.arange(codes.size + 1, dtype=np.float64) - 0.5, codes.astype(np.float64), names)
    known = column[~np.isnan(column)].astype(np.float64)
    if not known.size:
        raise ValueError(f"feature {feature.name!r} has no known value in X")
    least, largest = float(known.min()), float(known.max())
    margin = MARGIN * (largest - least) or 0.5
    low, high = least - margin, largest + margin
    if steps:
        cuts = np.union1d(cuts, np.linspace(low, high, steps + 1))
    edges: Floats = np.concatenate([[low], cuts[(cuts > low) & (cuts < high)], [high]])
    middle: Floats = (edges[:-1] + edges[1:]) / 2
    values: Floats = np.where(middle > edges[:-1], middle, edges[1:])  # a cell has its upper end, not its lower one
    return CellAxis(index, edges, values, [])


def _cuts(tree: Tree, feature: int) -> Floats:
    """Return the numbers at which the prediction may change along a feature, ascending."""
    found: list[Floats] = []
    nodes = np.flatnonzero((tree.feature == feature) & (tree.n_branches > 0))
    for node in nodes.tolist():
        if tree.kind[node] == THRESHOLD:
            found.append(tree.threshold[[node]])
        elif tree.kind[node] == INTERVALS:
            found.append(tree.cuts_of(node))
        if tree.lower is not None and tree.upper is not None and tree.lower[node] < tree.upper[node]:
            found.append(np.linspace(tree.lower[node], tree.upper[node], SOFT_STEPS + 1))
    surrogates = tree.surrogates
    if surrogates is not None:
        found.append(surrogates.threshold[(surrogates.feature == feature) & (surrogates.kind == THRESHOLD)])
    return np.unique(np.concatenate([np.empty(0), *found]))


class CellTable(Table):
    """Values and codes in the rows of an array, NaN = missing."""

    def __init__(self, cells: Floats, schema: Schema) -> None:
        super().__init__(ArraySource(cells), schema, matrix=cells)

    def column(self, j: int) -> npt.NDArray[Any]:
        """Return the column of feature `j`, as other tables do."""
        column: npt.NDArray[Any] = super().column(j)
        return column if self.schema.features[j].kind is Kind.CONTINUOUS else np.nan_to_num(column).astype(np.uint32)


def table_of(schema: Schema, lines: Sequence[CellAxis], rest: Floats) -> tuple[tuple[int, int], Table]:
    """Return the numbers of cells up and across, and a table with a row for each."""
    shape = (len(lines[1].values) if len(lines) > 1 else 1, len(lines[0].values))
    cells = np.tile(rest, (shape[0] * shape[1], 1))
    cells[:, lines[0].index] = np.tile(lines[0].values, shape[0])
    if len(lines) > 1:
        cells[:, lines[1].index] = np.repeat(lines[1].values, shape[1])
    return shape, CellTable(cells, schema)


def ends_of(lines: Sequence[CellAxis], table: Table, predict: Callable[[Table], Floats]) -> Floats | None:
    """Return what is predicted at both ends of the cells of a single feature of numbers; None for others."""
    if len(lines) > 1 or lines[0].categories:
        return None
    block, found = table.block(0, table.n_samples).copy(), []
    for place in (lines[0].edges[:-1], lines[0].edges[1:]):
        block[:, lines[0].index] = place
        found.append(predict(CellTable(block, table.schema)))
    return np.array(found)


def regions_of(tree: Tree, schema: Schema, lines: Sequence[CellAxis], rest: Floats) -> Regions:
    """Predict in every cell.

    Parameters
    ----------
    tree : Tree
    schema : Schema
    lines : sequence of CellAxis
        One or two.
    rest : array, shape (n_features,)
        Values and codes of the other features, NaN = missing.
    """
    shape, table = table_of(schema, lines, rest)
    if isinstance(tree, ModelTree):
        models, leaf = tree, walks.walk(tree, table)
        ends = ends_of(lines, table, lambda place: models.predict(place, leaf))
        return Regions(list(lines), leaf.reshape(shape), tree.predict(table, leaf).reshape(*shape, 1), None, ends)
    value = walks.predict_value(tree, table)
    answers = walks.predict_class(tree, table).reshape(shape) if tree.task == "classification" else None
    return Regions(list(lines), walks.walk(tree, table).reshape(shape), value.reshape(*shape, -1), answers)


def thinned(keys: Sequence[npt.NDArray[Any]], most: int) -> npt.NDArray[np.intp]:
    """Return rows in the order of keys, the last one first, or an evenly spaced part of many; independent of their order."""
    order = np.lexsort(keys)
    return order[np.linspace(0, order.size - 1, most).astype(np.intp)] if order.size > most else order


def spread(places: Floats, keys: Sequence[npt.NDArray[Any]]) -> Floats:
    """Move samples at the places of categories aside, so that they do not hide each other."""
    order = np.lexsort(keys)
    aside = np.empty(len(places))
    aside[order] = WIDE * ((np.arange(len(places)) * TURN) % 1 - 0.5)
    return places + aside
