"""Samples that share leaves: proximities, and distributions of the target (Meinshausen 2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.table import Table
from fasttree._model.arrays import offsets_of
from fasttree._model.bags import Bags
from fasttree._model.ensemble import Ensemble

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

ROWS_AT_ONCE = 1024
_ROUNDING = 1e-12


def leaves_of(ensemble: Ensemble, table: Table, n_jobs: int) -> npt.NDArray[np.int32]:
    """Return the leaf of each sample of a table in each tree, int32 (n_samples, n_trees)."""
    out = np.empty((table.n_samples, ensemble.n_trees), dtype=np.int32)
    step = table.n_samples if table.matrix is not None else 16_384
    for start in range(0, table.n_samples, max(step, 1)):
        block = table.block(start, min(start + step, table.n_samples))
        out[start : start + step] = ensemble.leaves(block, n_jobs=n_jobs)
    return out


def proximity(n_trees: int, reached: csr_matrix) -> csr_matrix:
    """Return the share of trees in which two samples have the same leaf; shape (n, n)."""
    shared = (reached @ reached.T).tocsr()
    shared.data /= n_trees
    shared.sort_indices()
    return shared


def leaf_indicator(ensemble: Ensemble, leaves: npt.NDArray[np.int32], part: Floats | None = None) -> csr_matrix:
    """Return the leaves of all trees side by side that each sample reaches, 1 or its part; shape (n, node_count)."""
    from scipy.sparse import csr_matrix

    n, n_trees = leaves.shape
    starts = offsets_of(ensemble.node_counts)
    data = np.ones(n * n_trees) if part is None else part.ravel()
    columns = (leaves + starts[:-1]).ravel()
    return csr_matrix((data, columns, np.arange(0, n * n_trees + 1, n_trees)), shape=(n, int(starts[-1])))


def quantiles(
    ensemble: Ensemble,
    bags: Bags,
    of_fit: tuple[npt.NDArray[np.int32], Floats, Floats | None],
    leaves: npt.NDArray[np.int32],
    q: Floats,
) -> Floats:
    """Return quantiles of the target, shape (n, len(q)).

    A sample of the fit counts by its share in the weight of the bag in the leaf, averaged over the trees.  The quantile is the
    smallest target whose cumulated share is at least q.  Where a sample stops at an inner node, all samples of the fit below this
    node count, and where the bag has none, those below the nearest node above that has some.

    Parameters
    ----------
    ensemble, bags
    of_fit : leaves, targets and weights of the samples of the fit
    leaves : int32 array of shape (n, n_trees)
    q : float64 array

    Raises
    ------
    ValueError
        If a bag has no weight.
    """
    leaves_of_fit, target, weight = of_fit
    order = np.argsort(target, kind="stable")
    part = np.array([bags.counts(tree) for tree in range(ensemble.n_trees)], dtype=np.float64).T
    if weight is not None:
        part *= weight[:, None]
    starts = offsets_of(ensemble.node_counts)
    flat = leaves_of_fit + starts[:-1]
    total = np.asarray(np.bincount(flat.ravel(), weights=part.ravel(), minlength=int(starts[-1])), np.float64)
    part /= np.maximum(total[flat], np.finfo(np.float64).tiny) * ensemble.n_trees
    by_leaf = leaf_indicator(ensemble, leaves_of_fit[order], part[order]).T.tocsr()
    if ensemble.packed is None or not total[leaves + starts[:-1]].all():  # samples end at leaves of packed trees
        leaves, below = _with_samples(ensemble, leaves, total)
        by_leaf = below @ by_leaf
    out = np.empty((len(leaves), len(q)))
    ascending = target[order]
    for start in range(0, len(leaves), ROWS_AT_ONCE):
        shares = (leaf_indicator(ensemble, leaves[start : start + ROWS_AT_ONCE]) @ by_leaf).tocsr()
        shares.eliminate_zeros()
        shares.sort_indices()
        for i in range(shares.shape[0]):
            row = slice(shares.indptr[i], shares.indptr[i + 1])
            cumulated = np.cumsum(shares.data[row])
            at = np.searchsorted(cumulated, q * cumulated[-1] * (1 - _ROUNDING))
            out[start + i] = ascending[shares.indices[row][np.minimum(at, len(cumulated) - 1)]]
    return out


def _with_samples(ensemble: Ensemble, leaves: npt.NDArray[np.int32], total: Floats) -> tuple[npt.NDArray[np.int32], csr_matrix]:
    """Return nodes that have samples in the place of leaves, and the share of each leaf in the weight of such a node.

    Parameters
    ----------
    ensemble
    leaves : int32 array of shape (n, n_trees)
    total : float64 array
        Weight of the samples that end at each node of all trees, side by side.
    """
    from scipy.sparse import csr_matrix

    starts = offsets_of(ensemble.node_counts)
    parent = np.concatenate([tree.parent + start for tree, start in zip(ensemble.trees(), starts[:-1], strict=True)])
    parent[starts[:-1]] = -1
    weight, ends = total.copy(), np.flatnonzero(total)
    above, of = parent[ends], ends  # of each end, a node above it: first its parent, at last the root
    rows, columns = [ends], [ends]
    while above.size:
        above, of = above[above >= 0], of[above >= 0]
        np.add.at(weight, above, total[of])
        rows, columns, above = [*rows, above], [*columns, of], parent[above]
    if not weight[starts[:-1]].all():
        raise ValueError("a tree has drawn no sample of positive weight: give the samples and the weights of the fit")
    nodes = leaves + starts[:-1]
    while (empty := weight[nodes] == 0).any():
        nodes[empty] = parent[nodes[empty]]
    row, column = np.concatenate(rows), np.concatenate(columns)
    used = np.isin(row, nodes)
    row, column = row[used], column[used]
    below = csr_matrix((total[column] / weight[row], (row, column)), shape=(len(parent), len(parent)))
    return (nodes - starts[:-1]).astype(np.int32), below
