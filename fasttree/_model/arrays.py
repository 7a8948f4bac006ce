"""Kinds of nodes, and helpers for arrays that describe nodes."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

LEAF, THRESHOLD, NOMINAL, CATEGORY, KNOWN, INTERVALS = 0, 1, 2, 3, 4, 5  # Tree.kind
SHARES, STOP = -1, -2  # Tree.missing, besides the branches 0, 1, ...
LARGEST_CUT = float(np.finfo(np.float64).max)  # the last cut of `INTERVALS` whose last branch has the missing values alone

TASKS = ("classification", "regression")

# name: dtype and number of dimensions
ARRAYS: dict[str, tuple[type[np.generic], int]] = {
    "parent": (np.int32, 1),
    "first_child": (np.int32, 1),
    "n_branches": (np.int32, 1),
    "feature": (np.int32, 1),
    "kind": (np.uint8, 1),
    "threshold": (np.float64, 1),
    "missing": (np.int32, 1),
    "categories_start": (np.int64, 1),
    "categories_code": (np.uint32, 1),
    "categories_branch": (np.int32, 1),
    "n_samples": (np.int64, 1),
    "weight": (np.float64, 1),
    "value": (np.float64, 2),
    "impurity": (np.float64, 1),
    "gain": (np.float64, 1),
}
# float64 (n,), or None where a tree does not have them
OPTIONAL_ARRAYS = ("estimated_errors", "lower", "upper")
CUTS = ("cut_start", "cut")

_NATIVE: dict[type[np.generic], np.dtype[Any]] = {
    dtype: np.dtype(dtype) for dtype in (np.bool_, np.uint8, np.int32, np.uint32, np.int64, np.float64)
}


class Nodes(Protocol):
    """The arrays of a tree that a check of its surrogates needs."""

    n_features: int
    n_branches: npt.NDArray[np.int32]
    missing: npt.NDArray[np.int32]
    feature: npt.NDArray[np.int32]

    @property
    def node_count(self) -> int: ...


def distinct_rows(*arrays: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Find the distinct rows, compared bit by bit, in order of first occurrence.

    Parameters
    ----------
    *arrays : array, shape (m, k)
        Columns of the rows, of any types.

    Returns
    -------
    first, row_of : array of intp, shape (r,) and (m,)
        First occurrence of each distinct row, and the distinct row of each row.
    """
    parts = [np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1) for array in arrays if array.size]
    rows = np.ascontiguousarray(np.hstack(parts))
    _, first, inverse = np.unique(rows.view(f"V{rows.shape[1]}").ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return first[order], place[inverse]


def read_only(name: str, given: npt.ArrayLike, dtype: type[np.generic], n_dimensions: int) -> npt.NDArray[Any]:
    if type(given) is np.ndarray and given.dtype is _NATIVE[dtype] and given.ndim == n_dimensions and given.flags.c_contiguous:
        given.setflags(write=False)
        return given
    array = np.asarray(given)
    if array.ndim != n_dimensions:
        raise ValueError(f"{name}: must have {n_dimensions} dimension(s); got shape {array.shape}")
    converted = np.ascontiguousarray(array, dtype=dtype)
    if array.dtype != dtype and np.issubdtype(dtype, np.integer) and not np.array_equal(array, converted):
        raise ValueError(f"{name}: must hold integers that fit {dtype.__name__}")
    converted.flags.writeable = False
    return converted


def parents(inner: npt.NDArray[np.intp], n_branches: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the parent of every node, numbered breadth first, from the inner nodes in ascending order."""
    return np.concatenate([[-1], np.repeat(inner, n_branches)]).astype(np.int32)


def counts_below(marked: npt.NDArray[np.bool_], parent: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Return, for each node, whether a proper ancestor is marked."""
    ancestor = np.maximum(parent, 0).astype(np.intp)
    below = marked.take(ancestor)
    below[0] = False
    # Each round doubles the length of the path examined: there are as many rounds as the depth has bits.
    while ancestor.any():
        below |= below.take(ancestor)
        ancestor = ancestor.take(ancestor)
    return below


def offsets_of(sizes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    offsets = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def gather(starts: npt.NDArray[np.int64], sizes: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the offsets of pieces of an array after they are joined, and the indices of their entries."""
    offsets = offsets_of(sizes)
    return offsets, np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])


def same_bits(a: npt.NDArray[Any] | None, b: npt.NDArray[Any] | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and np.array_equal(a.view(np.uint8), b.view(np.uint8))


def require(holds: npt.NDArray[Any], rule: str, node_of: npt.NDArray[np.intp] | None = None) -> None:
    """Raise a ValueError if `holds` is not all true; `node_of` is the node of each entry, by default its index."""
    if not holds.all():
        first = int(holds.argmin())
        raise ValueError(f"node {first if node_of is None else node_of[first]}: {rule}")


def cuts_of(
    start: npt.NDArray[np.int64] | None,
    size: npt.NDArray[np.int64] | None,
    cut: npt.NDArray[np.float64] | None,
    nodes: npt.NDArray[Any],
) -> dict[str, Any]:
    """Return the arrays of cuts of some nodes, in their order; empty if no node has cuts."""
    if start is None or size is None or cut is None or not size[nodes].any():
        return {}
    offsets, entries = gather(start[nodes], size[nodes])
    return {"cut_start": offsets, "cut": cut[entries]}


def largest(value: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return ``value.max(axis=1)``, which takes several times as long for short rows."""
    place = value.argmax(axis=1)
    place += np.arange(0, value.size, value.shape[1])
    found: npt.NDArray[np.float64] = value.reshape(-1).take(place)
    return found
