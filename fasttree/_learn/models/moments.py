"""Centred sums of the samples of every node: one pass over the samples of the leaves, then parents add up their children.

The sums of a node are its weight, the means of its columns, and the sums of products of deviations from these means (Chan, Golub
and LeVeque 1979), so that large values cost no digits.  They do not depend on the order of the samples: those of a leaf are
added in an order that follows from their contents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._model.linear.model_tree import levels_of
from fasttree._model.tree import Tree

__all__ = ["Moments", "in_order", "moments_of"]

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio
_SHIFT = np.uint64(29)


@dataclass
class Moments:
    """Centred sums of n nodes over d columns, the last of which is the target."""

    weight: Floats  # (n,)
    mean: Floats  # (n, d)
    product: Floats  # (n, d, d)
    least: Floats  # (n,): of the target
    largest: Floats


def in_order(leaf: npt.NDArray[np.int32], columns: Sequence[Floats]) -> npt.NDArray[np.intp]:
    """Return an order of samples by leaf, and within a leaf by a number that follows from all their values alone."""
    key = np.zeros(leaf.size, dtype=np.uint64)
    for column in columns:
        key = (key ^ column.view(np.uint64)) * _ODD
        key ^= key >> _SHIFT
    return np.lexsort((key, leaf))


def moments_of(tree: Tree, leaf: npt.NDArray[np.int32], columns: Sequence[Floats], weight: Floats | None) -> Moments:
    """Return the sums of all nodes.

    Parameters
    ----------
    tree : Tree
        With two branches at each inner node.
    leaf : int32 array, shape (n_samples,)
        Leaf of each sample; every leaf has one.
    columns : sequence of float64 array, shape (n_samples,)
        Features without missing values, then the target.
    weight : float64 array, shape (n_samples,), or None
        Positive; None: every sample counts 1.
    """
    order = in_order(leaf, columns if weight is None else [*columns, weight])
    ends, starts = np.unique(leaf[order], return_index=True)
    d, n = len(columns), tree.node_count
    weights = None if weight is None else weight[order]
    sizes = np.diff(np.append(starts, leaf.size))
    total = sizes.astype(np.float64) if weights is None else np.add.reduceat(weights, starts)
    found = Moments(np.zeros(n), np.zeros((n, d)), np.zeros((n, d, d)), np.zeros(n), np.zeros(n))
    found.weight[ends] = total
    deviations = []
    for j, column in enumerate(columns):
        ordered = column[order]
        if j == d - 1:
            found.least[ends] = np.minimum.reduceat(ordered, starts)
            found.largest[ends] = np.maximum.reduceat(ordered, starts)
        mean = np.add.reduceat(ordered if weights is None else ordered * weights, starts) / total
        found.mean[ends, j] = mean
        ordered -= np.repeat(mean, sizes)
        weighted = ordered if weights is None else ordered * weights
        deviations.append(ordered)
        for i, other in enumerate(deviations):
            found.product[ends, i, j] = found.product[ends, j, i] = np.add.reduceat(other * weighted, starts)
    _add_up(tree, found)
    return found


def _add_up(tree: Tree, found: Moments) -> None:
    """Fill in the sums of inner nodes, level by level from the bottom."""
    for first, stop in levels_of(tree)[-2::-1]:
        inner = first + np.flatnonzero(tree.n_branches[first:stop])
        one = tree.first_child[inner]
        other = one + 1
        share = found.weight[other] / (found.weight[one] + found.weight[other])
        found.weight[inner] = found.weight[one] + found.weight[other]
        apart = found.mean[other] - found.mean[one]
        found.mean[inner] = found.mean[one] + apart * share[:, None]
        scaled = apart * (found.weight[one] * share)[:, None]
        found.product[inner] = found.product[one] + found.product[other] + scaled[:, :, None] * apart[:, None, :]
        found.least[inner] = np.minimum(found.least[one], found.least[other])
        found.largest[inner] = np.maximum(found.largest[one], found.largest[other])
