"""Task in memory below a node whose rows fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree import _core
from fasttree._data.schema import Kind, Schema
from fasttree._engine.encoding import Encoding
from fasttree._engine.records import EngineLimits, PathLimits, Policy, Root, Scale, Sums
from fasttree._learn.constraints import FREE
from fasttree._learn.grow.decode import decode_thresholds
from fasttree._learn.grow.encode import MOST_CODES, Bins, encode_columns, may_be_bounded
from fasttree._learn.grow.growth import BLOCK_ROWS
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe
from fasttree._model.arrays import THRESHOLD
from fasttree._scale.nodes import TreeNode
from fasttree._scale.shards import Arrays

LEAST_IN_ROWS = 2**17  # of a node: the columns of a smaller one are in the cache
ROWS_AT_ONCE = 2**12  # whose values stay in the cache until they have their places


@dataclass
class RowsOfNode:
    """The rows of a node as a table; `matrix` has them one after the other, if all columns are float32."""

    schema: Schema
    columns: list[npt.NDArray[Any]]
    n_samples: int
    n_features: int
    matrix: npt.NDArray[np.float32] | None = None

    def column(self, j: int) -> npt.NDArray[Any]:
        """Return a column."""
        return self.columns[j]

    def put_in_rows(self) -> None:
        """Put columns of float32 into a matrix, because the rows of a smaller node are read from fewer lines of memory there."""
        if self.n_samples < LEAST_IN_ROWS or any(column.dtype != np.float32 for column in self.columns):
            return
        self.matrix = np.empty((self.n_samples, self.n_features), dtype=np.float32)
        for start in range(0, self.n_samples, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            for j, column in enumerate(self.columns):
                self.matrix[some, j] = column[some]
        self.columns[:] = self.matrix.T  # the others are not kept


@dataclass(frozen=True)
class Task:
    """What all nodes of a growth have in common."""

    schema: Schema
    recipe: Recipe
    limits: Limits
    policy: Policy
    numbers: EngineLimits
    scale: Scale
    n_classes: int
    n_jobs: int = 1
    bins: Mapping[int, Bins] = field(default_factory=dict)  # of features whose columns are codes of bins
    order: npt.NDArray[np.intp] | None = None  # of the features, in which the first one wins ties; None: as in the table

    @property
    def has_many_codes(self) -> bool:
        """Whether a feature has more categories than the bounded search takes."""
        return any(feature.categories is not None and len(feature.categories) > MOST_CODES for feature in self.schema.features)


def grow_below(growth: Task, node: TreeNode, rows: Arrays) -> dict[str, npt.NDArray[Any]]:
    """Return the tree below a node as fields of a tree, whose node 0 is the node itself."""
    scale = growth.scale
    schema, order, columns = growth.schema, growth.order, rows.columns
    if order is not None:
        columns = [columns[j] for j in order.tolist()]
        schema = Schema(tuple(schema.features[j] for j in order.tolist()))
    table = RowsOfNode(schema, columns, rows.n_rows, len(columns))
    if growth.bins:
        encoding = _encoded_bins(growth, rows)
        table.columns = [_values(column, growth.bins.get(j)) for j, column in enumerate(rows.columns)]
    else:
        table.put_in_rows()
        weighted = rows.weight is not None
        bounded = may_be_bounded(table, growth.recipe, growth.limits, FREE, growth.n_classes, weighted, False)
        most_codes = MOST_CODES if bounded else 0
        encoding, _, _ = encode_columns(table, table, growth.recipe, growth.limits, BLOCK_ROWS, most_codes, growth.n_jobs)
    depth = growth.numbers.max_depth
    numbers = growth.numbers._replace(max_depth=depth if depth < 0 else depth - node.depth)
    grown = _core.grow(
        encoding,
        _targets(growth, rows),
        _core.Spec(growth.policy, numbers, PathLimits()),
        weight=rows.weight,
        n_jobs=growth.n_jobs,
        seed=node.key,
        workspace=_core.Workspace(consume=True),
        root=Root(scale.n_samples, scale.total_weight, node.reach),
    )
    by_threshold = np.flatnonzero(grown["kind"] == THRESHOLD)
    grown["threshold"] = decode_thresholds(grown, by_threshold, table, table, growth.recipe, growth.bins)
    del grown["row_low"], grown["row_high"]
    if order is not None:
        grown["feature"] = np.where(grown["feature"] < 0, -1, order[grown["feature"]]).astype(np.int32)
    return grown


def _encoded_bins(growth: Task, rows: Arrays) -> Encoding:
    """Return columns for the engine, of which some are codes of bins."""
    bounded = not growth.has_many_codes and (rows.weight is None or growth.n_classes > 0)
    encoding = Encoding(rows.n_rows, len(rows.columns), BLOCK_ROWS, bounded, MOST_CODES)
    for j, (column, described) in enumerate(zip(rows.columns, growth.schema.features, strict=True)):
        if j in growth.bins:
            encoding.add_bins(j, column, len(growth.bins[j].least))
        else:
            encoding.add_codes(j, column, len(described.categories or ()), described.kind == Kind.ORDINAL)
    encoding.finish()
    return encoding


def _values(column: npt.NDArray[Any], bins: Bins | None) -> npt.NDArray[Any]:
    """Return the smallest value of each bin for its code."""
    return column if bins is None else np.append(np.nan, bins.least)[column]


def _targets(growth: Task, rows: Arrays) -> _core.Targets:
    """Return labels or values for the engine, in the units of the whole table."""
    scale = growth.scale
    if growth.n_classes:
        assert rows.label is not None
        first_class = np.array([0, growth.n_classes], dtype=np.int32)
        return _core.Targets(scale.unit, labels=rows.label.reshape(-1, 1), first_class=first_class)
    assert rows.y is not None
    assert rows.sums is not None
    constants = (np.array([number]) for number in (scale.y_unit, scale.y_centre, scale.y_bound, scale.deviation_bound))
    return _core.Targets(scale.unit, values=rows.y.reshape(-1, 1), sums=Sums(rows.sums.reshape(-1, 1), *constants))
