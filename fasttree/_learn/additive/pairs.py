"""Pairs of features: their grids, and the screen that finds those that interact (Lou et al. 2013: FAST)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Schema
from fasttree._data.table import Table
from fasttree._engine.additive import Booster
from fasttree._learn.additive.binning import MOST_BINS, cuts_of
from fasttree._learn.additive.boosting import (
    CATEGORY_SMOOTHING,
    GRID,
    LEAST_CURVATURE,
    LOSSES,
    TOLERANCE,
    Binned,
    Floats,
    TermPlan,
)
from fasttree._learn.constraints import feature_at
from fasttree._model.additive.model import Axis

PAIR_BINS = 32  # of a continuous feature in a pair: a grid has about a thousand cells
PAIRS_AT_ONCE = 16  # that are screened, for their codes take memory


def coarse_axes(table: Table, rows: NDArray[np.intp] | None, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Return the bins of features in pairs."""
    coarse = []
    for axis in axes:
        if axis.cuts is not None and len(axis.cuts) >= PAIR_BINS:
            column = table.column(axis.feature)
            cuts = cuts_of(column if rows is None else column[rows], PAIR_BINS)
            axis = Axis(axis.feature, cuts, len(cuts) + 2)
        coarse.append(axis)
    return tuple(coarse)


def plan_of(pairs: Sequence[tuple[int, int]], axes: Sequence[Axis], codes: NDArray[np.uint16]) -> TermPlan:
    """Return the plan of pairs; `codes` are those of the features."""
    entries = np.array([[GRID, axes[i].n_bins * axes[j].n_bins, axes[j].n_bins, 0] for i, j in pairs], dtype=np.int64)
    cells = np.empty((len(pairs), codes.shape[1]), dtype=np.uint16)
    for out, (i, j) in zip(cells, pairs, strict=True):
        out[:] = codes[i] * np.uint16(axes[j].n_bins) + codes[j]
    return TermPlan(cells, entries)


def asked_pairs(given: Any, schema: Schema) -> list[tuple[int, int]] | int:
    """Return the number of pairs to find, or the pairs that the parameter `interactions` lists."""
    if not isinstance(given, Iterable):
        return int(given)
    pairs = []
    for entry in given:
        if isinstance(entry, str) or not isinstance(entry, Iterable) or len(members := list(entry)) != 2:
            raise ValueError(f"interactions holds {entry!r}: must be pairs of column names or indices, such as [(0, 1), (0, 2)]")
        i, j = sorted(feature_at("interactions", member, schema) for member in members)
        if i == j or (i, j) in pairs:
            raise ValueError(f"interactions holds {entry!r}: the features of a pair, and the pairs, must differ")
        pairs.append((i, j))
    return pairs


def found_pairs(
    rows: Binned, score: Floats, axes: Sequence[Axis], codes: NDArray[np.uint16], n_pairs: int, min_samples_leaf: int
) -> list[tuple[int, int]]:
    """Return the pairs whose best two cuts gain most after the main effects, in the order of the features.

    Parameters
    ----------
    rows : Binned
    score : ndarray of shape (n_scores, n_rows)
        Scores by the main effects.
    axes, codes : bins of the features in pairs
    n_pairs, min_samples_leaf : int
    """
    pairs = [(i, j) for i, j in combinations(range(len(axes)), 2) if axes[i].n_bins * axes[j].n_bins <= MOST_BINS]
    gains: list[float] = []
    for first in range(0, len(pairs), PAIRS_AT_ONCE):
        plan = plan_of(pairs[first : first + PAIRS_AT_ONCE], axes, codes)
        booster = Booster(
            plan.codes,
            rows.target,
            rows.weight,
            score.copy(),
            plan.entries,
            (LOSSES[rows.link], len(rows.target), 2, 0, 1, 0),
            (1.0, float(min_samples_leaf), LEAST_CURVATURE, 0.0, CATEGORY_SMOOTHING, TOLERANCE),
        )
        gains += booster.screen().tolist()
    best = sorted(range(len(pairs)), key=lambda i: (-gains[i], i))[:n_pairs]
    return sorted(pairs[i] for i in best)


def check_grids(pairs: Sequence[tuple[int, int]], axes: Sequence[Axis], schema: Schema) -> None:
    """Raise a ValueError if the grid of a pair has more cells than codes."""
    for i, j in pairs:
        if axes[i].n_bins * axes[j].n_bins > MOST_BINS:
            names = " and ".join(repr(schema.features[k].name) for k in (i, j))
            raise ValueError(f"the pair of {names} has more than {MOST_BINS} cells: join rare categories, or leave the pair out")
