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
    smallest target whose cumulated share is at least q.

    Parameters
    ----------
    ensemble, bags
    of_fit : leaves, targets and weights of the samples of the fit
    leaves : int32 array of shape (n, n_trees)
    q : float64 array
    """
    leaves_of_fit, target, weight = of_fit
    order = np.argsort(target, kind="stable")
    part = np.array([bags.counts(tree) for tree in range(ensemble.n_trees)], dtype=np.float64).T
    if weight is not None:
        part *= weight[:, None]
    starts = offsets_of(ensemble.node_counts)
    flat = leaves_of_fit + starts[:-1]
    total = np.bincount(flat.ravel(), weights=part.ravel(), minlength=int(starts[-1]))
    part /= np.maximum(total[flat], np.finfo(np.float64).tiny) * ensemble.n_trees
    by_leaf = leaf_indicator(ensemble, leaves_of_fit[order], part[order]).T.tocsr()
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
