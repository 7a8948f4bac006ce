"""Columns of a table as categories for CHAID: the missing one is the last, continuous features are binned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind
from fasttree._data.table import Table

_ROWS_AT_ONCE = 4096
_CLOSE = 1e-8  # a share of the weight that exceeds the end of a bin by less than this is rounding


class CategoryColumn(NamedTuple):
    """Categories of a feature, from 0; the code `n_known` is that of missing values.

    `bounds` are the largest values of the bins of a continuous feature, else None.
    """

    codes: npt.NDArray[Any]
    n_known: int
    kind: str
    bounds: Floats | None = None


def columns_of(table: Table, weight: Floats | None, n_intervals: int) -> list[CategoryColumn]:
    """Return the categories of all features; samples of weight 0 do not count in the bins."""
    columns = []
    for j, feature in enumerate(table.schema.features):
        cells = table.column(j)
        if feature.categories is None:
            columns.append(_binned(cells, weight, n_intervals))
            continue
        n = len(feature.categories)
        codes = cells - cells.dtype.type(1)  # of a missing value the largest number that the type holds
        np.minimum(codes, cells.dtype.type(n), out=codes)
        columns.append(CategoryColumn(codes, n, "ordinal" if feature.kind is Kind.ORDINAL else "nominal"))
    return columns


def _binned(cells: npt.NDArray[Any], weight: Floats | None, n_intervals: int) -> CategoryColumn:
    """Return the bins of a continuous feature: a value whose cumulative share is S belongs to bin ceil(n_intervals S)."""
    bounds = bounds_of(cells, weight, n_intervals)
    dtype = np.min_scalar_type(len(bounds))
    if cells.dtype == np.float32:  # the bounds are values of the column, so that single precision compares them exactly
        codes = np.searchsorted(bounds.astype(np.float32), cells).astype(dtype)
    else:
        codes = np.searchsorted(bounds, cells).astype(dtype)
    if len(bounds):
        codes[codes == len(bounds)] = len(bounds) - 1  # a sample of weight 0 may be above all bins
    codes[np.isnan(cells)] = len(bounds)
    return CategoryColumn(codes, len(bounds), "ordinal", bounds)


def bounds_of(cells: npt.NDArray[Any], weight: Floats | None, n_intervals: int) -> Floats:
    """Return the largest value of each bin."""
    known = ~np.isnan(cells)
    if weight is not None:
        known &= weight > 0
    values, where, counts = np.unique(cells[known], return_inverse=True, return_counts=True)
    if not len(values):
        return np.empty(0)
    total = counts if weight is None else np.bincount(where, weight[known])
    cumulative = np.cumsum(total, dtype=np.float64)
    bins = np.ceil(n_intervals * (cumulative / cumulative[-1]) - _CLOSE)
    last = np.append(bins[1:] != bins[:-1], True)
    bounds: Floats = values[last].astype(np.float64) + 0.0  # no -0.0
    return bounds


def by_rows(columns: Sequence[CategoryColumn]) -> npt.NDArray[Any]:
    """Return the codes of all columns row by row."""
    n = len(columns[0].codes)
    codes = np.empty((n, len(columns)), np.result_type(*(column.codes.dtype for column in columns)))
    for start in range(0, n, _ROWS_AT_ONCE):  # few enough to stay in the processor's cache
        for j, column in enumerate(columns):
            codes[start : start + _ROWS_AT_ONCE, j] = column.codes[start : start + _ROWS_AT_ONCE]
    return codes
