"""Growth of many small trees, each on some rows of one table, by Release 8's rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree import _core
from fasttree._data.cells import Floats
from fasttree._data.schema import Kind
from fasttree._data.table import Table
from fasttree._engine import passes
from fasttree._engine.encoding import Encoding
from fasttree._learn import progress
from fasttree._learn.constraints import FREE
from fasttree._learn.grow.afterwards import tolerated_errors
from fasttree._learn.grow.decode import categories_by_node, single_midpoints
from fasttree._learn.grow.encode import Bins, SomeRows, encode_columns, is_missing
from fasttree._learn.grow.fixed_point import fixed_point_weights, fractional_weights
from fasttree._learn.grow.growth import BLOCK_ROWS, Size, engine_limits, policy_of
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe
from fasttree._model.arrays import THRESHOLD


class PartGrowth:
    """`growth.grow` of Release 8's trees that keep midpoints, without what is the same for all rows, and without a `Tree`.

    Parameters
    ----------
    table : Table
    target : array of shape (n_samples,)
        Class codes.
    recipe : Recipe
        With Release 8's rules and thresholds for continuous features alone.
    limits : Limits
        With `n_cases`, and without limits of the depth, the leaves or the features of a node.
    n_classes : int
    """

    def __init__(self, table: Table, target: npt.NDArray[Any], recipe: Recipe, limits: Limits, n_classes: int) -> None:
        self._table, self._recipe, self._limits = table, recipe, limits
        self._label = target.astype(np.uint16)
        self._first_class = np.array([0, n_classes], dtype=np.int32)
        self._least = 2 * limits.min_branch_weight * (1 - 1e-9)
        assert limits.n_cases is not None
        size = Size(table.n_samples, table.n_features, 1.0, limits.n_cases)
        numbers = engine_limits(size, recipe, limits, n_classes)
        self._spec = _core.Spec(policy_of(recipe, limits), numbers, FREE.for_engine(table.n_features))
        self._columns = passes.Columns(table.n_features)
        self._lacking = np.zeros(table.n_samples, dtype=bool)
        self._kept = [(table.column(j), feature.categories, feature.kind) for j, feature in enumerate(table.schema.features)]
        for feature, (column, *_) in enumerate(self._kept):
            self._columns.add(feature, column)
            self._lacking |= is_missing(column)

    def __call__(self, rows: npt.NDArray[np.intp], weight: Floats) -> dict[str, npt.NDArray[Any]] | None:
        """Return the arrays of the tree on some rows, ascending; None if it is a leaf for their number or their one class.

        Splits that C4.5's collapse takes back are leaves; what was below them is still there.
        """
        label = self._label[rows]
        if float(weight.sum()) < self._least or (label[1:] == label[:1]).all():
            return None
        if not weight.all():
            rows, label, weight = rows[weight > 0], label[weight > 0], weight[weight > 0]
        units, unit = fixed_point_weights(weight)
        encoding, bins = self._encode(rows)
        if unit == 1.0 and self._lacking[rows].any():
            units, unit = fractional_weights(units, len(rows))
        grown = _core.grow(
            encoding,
            _core.Targets(unit, labels=label[:, None], first_class=self._first_class),
            self._spec,
            weight=units,
            seed=self._limits.seed,
            workspace=_core.Workspace(consume=True, report=progress.share()),
        )
        low, high = (self._values(grown, rows, side) for side in ("row_low", "row_high"))
        for feature, found in bins.items():
            at = grown["feature"] == feature
            low[at], high[at] = found.gap(low[at], high[at])
        grown["threshold"] = np.where(grown["kind"] == THRESHOLD, single_midpoints(low, high), np.nan)
        categories_by_node(grown)
        self._collapse(grown)
        return grown

    def _encode(self, rows: npt.NDArray[np.intp]) -> tuple[Encoding, dict[int, Bins]]:
        """Return the encoding of some rows, and the bins: what `encode_columns` returns, with fewer steps for each column."""
        if self._limits.max_bins is not None:
            some = SomeRows(self._table, rows)
            encoding, _, bins = encode_columns(some, some, self._recipe, self._limits, BLOCK_ROWS, 0, 1)
            return encoding, bins
        encoding = Encoding(len(rows), self._table.n_features, BLOCK_ROWS)
        for feature, (column, categories, kind) in enumerate(self._kept):
            part = column.take(rows)
            if categories is not None:
                encoding.add_codes(feature, part, len(categories), kind is Kind.ORDINAL)
            elif encoding.add_continuous(feature, part, math.inf):  # thresholds pay for the interval that they name
                encoding.keep_values(feature, part)
        encoding.finish()
        return encoding, {}

    def _values(self, grown: dict[str, npt.NDArray[Any]], rows: npt.NDArray[np.intp], side: str) -> Floats:
        """Return the values on one side of each threshold, and any others of other nodes."""
        values = np.empty(len(rows := rows[grown[side]]))
        self._columns.values(np.maximum(grown["feature"], 0), rows, values)
        return values

    def _collapse(self, grown: dict[str, npt.NDArray[Any]]) -> None:
        if len(grown["kind"]) == 1:
            return
        useless = np.empty(len(grown["kind"]), dtype=np.uint8)
        errors = np.where(grown["weight"] > 0, grown["weight"] - grown["value"].max(axis=1), 0.0)
        tolerance = tolerated_errors(errors, self._recipe.rank)
        passes.useless_splits(grown["parent"], grown["first_child"], errors, tolerance, np.zeros(len(errors)), useless)
        leaf = useless.nonzero()[0]
        grown["first_child"][leaf], grown["n_branches"][leaf] = -1, 0
