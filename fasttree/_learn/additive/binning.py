"""Bins of the columns of a table, and rows in an order that follows from what they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fasttree._data.table import Table
from fasttree._model.additive.model import Axis

MOST_BINS = 65_535  # of a term: codes have 16 bits
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def axes_of(table: Table, rows: NDArray[np.intp] | None, max_bins: int) -> tuple[Axis, ...]:
    """Return the bins of every feature: a bin for each value, or quantiles if there are more than `max_bins` values."""
    axes = []
    for j, feature in enumerate(table.schema.features):
        if feature.categories is not None:
            n_bins = len(feature.categories) + 1
            if n_bins > MOST_BINS:
                raise ValueError(
                    f"column {feature.name!r} has {n_bins - 1} categories: an additive model takes at most {MOST_BINS - 1}; join "
                    "rare ones"
                )
            axes.append(Axis(j, None, n_bins))
            continue
        column = table.column(j)
        cuts = cuts_of(column if rows is None else column[rows], max_bins)
        axes.append(Axis(j, cuts, len(cuts) + 2))
    return tuple(axes)


def cuts_of(column: NDArray[np.floating], max_bins: int) -> NDArray[np.float64]:
    """Return the cuts between values, midway: between all of them, or at quantiles so that there are at most `max_bins` bins."""
    values, counts = np.unique(column[~np.isnan(column)].astype(np.float64), return_counts=True)
    last = np.arange(len(values) - 1)  # the value below each cut
    if len(values) > max_bins:
        upto = np.cumsum(counts)
        wanted = upto[-1] * np.arange(1, max_bins) / max_bins
        last = np.unique(np.searchsorted(upto, wanted, side="left"))
        last = last[last < len(values) - 1]
    low, high = values[last], values[last + 1]
    middle = low / 2 + high / 2
    return np.where((low <= middle) & (middle < high), middle, low)


def codes_of(table: Table, axes: tuple[Axis, ...], rows: NDArray[np.intp] | None) -> NDArray[np.uint16]:
    """Return the bin of each row on each axis, uint16 (n_features, n_rows)."""
    n_rows = table.n_samples if rows is None else len(rows)
    codes = np.empty((len(axes), n_rows), dtype=np.uint16)
    for axis, out in zip(axes, codes, strict=True):
        column = table.column(axis.feature)
        out[:] = axis.codes(column if rows is None else column[rows])
    return codes


def canonical_order(codes: NDArray[np.uint16], target: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return an order of rows that follows from what they hold: equal rows are beside one another, others as if shuffled."""
    key = _mixed(target.view(np.uint64) ^ _mixed(weight.view(np.uint64)))
    for column in codes:
        key = _mixed(key + column)
    return np.argsort(key, kind="stable")


def _mixed(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the numbers mixed (SplitMix64: Steele, Lea, Flood 2014)."""
    key = key + np.uint64(_MIX[0])
    key = (key ^ (key >> np.uint64(30))) * np.uint64(_MIX[1])
    key = (key ^ (key >> np.uint64(27))) * np.uint64(_MIX[2])
    return key ^ (key >> np.uint64(31))
