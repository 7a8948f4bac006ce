"""Walks of rows through packed trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._engine.forest import PackedWalk
from fasttree._model.packed.nodes import Packed


def walk_of(packed: Packed, X: npt.NDArray[Any]) -> PackedWalk:
    """Return a walk of the rows of X, float32 or float64, through the trees."""
    return PackedWalk(packed.nodes, packed.start, packed.bits, len(packed.value), X)


def add_sums(
    packed: Packed, value: Floats, X: npt.NDArray[Any], out: Floats, first: int, last: int, weights: Floats | None = None
) -> None:
    """Add the rows of `value` where each row of X ends in the trees first, ..., last - 1, in this order.

    Parameters
    ----------
    packed : Packed
    value : array of float64, shape (n_values, k)
        A row for each of `packed.value`.
    X : array of float32 or float64, shape (n, n_features)
        Codes as floats, missing = NaN.
    out : array of float64, shape (n, k)
    first, last : int
    weights : array of float64, shape (n_trees,), or None, default None
        Factor of each tree; None: 1.
    """
    walk_of(packed, X).add_sums(value, out, first, last, weights)


def find_leaves(packed: Packed, X: npt.NDArray[Any], out: npt.NDArray[np.int32], first: int, last: int) -> None:
    """Write the leaf of each row of X in the trees first, ..., last - 1 into `out` of shape (n, last - first)."""
    walk_of(packed, X).find_leaves(out, first, last)
