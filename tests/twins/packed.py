"""The slow, obvious twin of the walks of rows through packed trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._model.packed.nodes import LEAF, SUBSET, THRESHOLD, Packed, pairs


def add_sums(packed: Packed, value: Floats, X: npt.NDArray[Any], out: Floats, first: int, last: int) -> None:
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
    """
    for tree in range(first, last):
        nodes = packed.nodes[packed.start[tree] : packed.start[tree + 1]]
        out += value[pairs(nodes)[:, 0][_ends(nodes, packed.bits, X)]]


def find_leaves(packed: Packed, X: npt.NDArray[Any], out: npt.NDArray[np.int32], first: int, last: int) -> None:
    """Write the leaf of each row of X in the trees first, ..., last - 1 into `out` of shape (n, last - first)."""
    for tree in range(first, last):
        nodes = packed.nodes[packed.start[tree] : packed.start[tree + 1]]
        out[:, tree - first] = _ends(nodes, packed.bits, X)


def _ends(nodes: npt.NDArray[Any], bits: npt.NDArray[np.uint32], X: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the leaf of each row of X in one tree."""
    at = np.zeros(len(X), dtype=np.int64)
    on_the_way = np.flatnonzero(np.full(len(X), nodes["kind"][0] != LEAF))
    operands = pairs(nodes)
    while on_the_way.size:
        node = at[on_the_way]
        x = X[on_the_way, nodes["feature"][node]].astype(np.float64)
        kind, branch = nodes["kind"][node], nodes["missing"][node].astype(np.int64)
        missing = np.isnan(x)
        by_value = np.flatnonzero((kind == THRESHOLD) & ~missing)
        branch[by_value] = x[by_value] > nodes["operand"][node[by_value]]
        by_code = np.flatnonzero((kind == SUBSET) & ~missing)
        branch[by_code] = _branches(operands[node[by_code]].astype(np.int64), bits, x[by_code], branch[by_code])
        known = (kind != THRESHOLD) & (kind != SUBSET) & ~missing
        branch[known] = 0
        at[on_the_way] = nodes["child"][node] + branch
        on_the_way = on_the_way[nodes["kind"][at[on_the_way]] != LEAF]
    return at


def _branches(
    tables: npt.NDArray[np.int64], bits: npt.NDArray[np.uint32], x: Floats, missing: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the branch of each code; `missing` if the table does not have it."""
    offset, words = tables.T
    code = np.clip(x, 0, 2**20).astype(np.int64)  # what is no code is not in a table
    in_table = np.flatnonzero(code // 32 < words)
    place = (offset + code // 32)[in_table]
    flag = np.left_shift(np.uint32(1), (code % 32).astype(np.uint32))[in_table]
    known = (bits[place] & flag) != 0
    left = (bits[place + words[in_table]] & flag) != 0
    branch = missing.copy()
    branch[in_table] = np.where(known, ~left, branch[in_table])
    return branch


def judge(
    packed: Packed,
    value: Floats,
    X: npt.NDArray[Any],
    lacking: npt.NDArray[np.uint8],
    target: Floats,
    weight: Floats,
    by_class: bool,
) -> tuple[Floats, Floats, Floats]:
    """Return sums and numbers of predictions by trees whose bags lack a row, and errors and weights after each tree."""
    sums, n_seen = np.zeros((len(X), value.shape[1])), np.zeros(len(X))
    errors = np.zeros((2, len(lacking)))
    for tree in range(len(lacking)):
        found = np.zeros_like(sums)
        add_sums(packed, value, X, found, tree, tree + 1)
        for row in np.flatnonzero(np.unpackbits(lacking[tree], count=len(X))):
            sums[row] += found[row]
            n_seen[row] += 1
        for row in np.flatnonzero(n_seen):
            mean = sums[row] / n_seen[row]
            error = float(mean.argmax() != target[row]) if by_class else (mean[0] - target[row]) ** 2
            errors[:, tree] += error * weight[row], weight[row]
    return sums, n_seen, errors
