"""Verification of packed trees, in time linear in their nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._model.arrays import gather
from fasttree._model.packed.nodes import KNOWN, LEAF, NODE, SUBSET, THRESHOLD, Packed, pairs

_TOLERANCE = 1e-9


def check_packed(packed: Packed, task: str, n_features: int) -> None:
    """Verify that walks of packed trees and `unpack_tree` stay within the arrays, and that leaves have values.

    Raises
    ------
    ValueError
        If an invariant does not hold; the message names the first one.
    """
    nodes, start, bits, value = packed
    if nodes.dtype != NODE or start.dtype != np.int64 or bits.dtype != np.uint32 or value.dtype != np.float64:
        raise ValueError("nodes, start, bits and value must be arrays of NODE, int64, uint32 and float64")
    if len(start) < 2 or start[0] != 0 or start[-1] != len(nodes) or (np.diff(start) < 1).any():
        raise ValueError("start must begin with 0, rise, and end with the number of nodes: every tree has at least one")
    if value.ndim != 2 or value.shape[1] < 1 or (task == "regression" and value.shape[1] != 2):
        raise ValueError("value must have a column per class, or 2 for regression: mean and impurity")
    if not np.isfinite(value).all():
        raise ValueError("value must be finite")
    if task == "classification" and not ((value >= 0).all() and (np.abs(value.sum(axis=1) - 1) <= _TOLERANCE).all()):
        raise ValueError("value must hold shares of classes, which are not negative and sum to 1")
    if task == "regression" and (value[:, 1] < 0).any():
        raise ValueError("value: impurities must not be negative")
    _check_nodes(packed, n_features)
    _check_tables(packed)


def _check_nodes(packed: Packed, n_features: int) -> None:
    nodes, start = packed.nodes, packed.start
    kind, operands = nodes["kind"], pairs(nodes)
    leaf = kind == LEAF
    _require((kind <= KNOWN).all(), "kind must be 0 to 3")
    first = np.repeat(start[:-1], np.diff(start))
    inner = np.cumsum(~leaf)
    before = np.repeat(np.append(0, inner)[start[:-1]], np.diff(start))
    expected = np.where(leaf, np.arange(len(nodes)) - first, 2 * (inner - before) - 1)
    _require((nodes["child"] == expected).all(), "child must be the node itself at a leaf, else the next pair, breadth first")
    n_inner = np.diff(np.append(0, inner)[start])
    _require((2 * n_inner + 1 == np.diff(start)).all(), "a tree must have one leaf more than inner nodes")
    before_children = (nodes["child"] > np.arange(len(nodes)) - first) | leaf
    _require(before_children.all(), "children must follow their parent")
    _require((nodes["feature"] < np.where(leaf, 1, n_features)).all(), "feature must be a column of the table, 0 at a leaf")
    _require((nodes["missing"] <= ~leaf).all(), "missing must be 0 or 1, and 0 at a leaf")
    known = nodes[kind == KNOWN]
    _require((known["missing"] == 1).all(), "missing must be 1 where known values are tested")
    _require((known["operand"] == np.inf).all(), "the operand must be infinite where known values are tested")
    _require(np.isfinite(nodes["operand"][kind == THRESHOLD]).all(), "a threshold must be finite")
    _require((operands[leaf, 0] < len(packed.value)).all(), "a leaf must have a row of value")
    counts = np.where(leaf, operands[:, 1], 0).astype(np.int64)
    _require((counts[leaf] > 0).all(), "a leaf must have samples")
    _require((np.add.reduceat(counts, start[:-1]) < 2**32).all(), "a tree must have less than 2**32 samples")


def _check_tables(packed: Packed) -> None:
    offset, words = pairs(packed.nodes)[packed.nodes["kind"] == SUBSET].astype(np.int64).T
    _require(((words > 0) & (offset + 2 * words <= len(packed.bits))).all(), "a table of categories must be within bits")
    _, at = gather(offset, words)
    known, left = packed.bits[at], packed.bits[at + np.repeat(words, words)]
    _require((left & ~known == 0).all(), "bits: only known categories may go to the first child")
    starts = np.cumsum(words) - words
    _require(not words.size or bool(np.bitwise_or.reduceat(known, starts).all()), "bits: a table must know a category")
    _require((known[starts] & np.uint32(1) == 0).all(), "bits: codes of categories count from 1")


def _require(holds: Any, rule: str) -> None:
    if not holds:
        raise ValueError(rule)


def as_array(data: bytes, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return bytes as an array.

    Raises
    ------
    ValueError
        If they are no whole number of entries.
    """
    wanted = np.dtype(dtype)
    if len(data) % wanted.itemsize:
        raise ValueError(f"{len(data)} bytes are no whole number of entries of {wanted.itemsize}")
    return np.frombuffer(data, dtype=wanted)
