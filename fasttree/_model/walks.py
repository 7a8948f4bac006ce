"""Leaves, predictions and decision paths of the samples of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree import _core
from fasttree._data.cells import Floats
from fasttree._data.table import Table
from fasttree._model.threads import in_threads
from fasttree._model.tree import Tree, best_classes

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

ROWS_AT_ONCE = 16_384  # of a table with categories, which is converted to floats
CELLS_AT_ONCE = 2**24
ROWS_OF_MATRIX = 2**20  # of a table that is a matrix of floats: they take a fraction of a second, after which interrupts are seen


Ends: TypeAlias = "npt.NDArray[np.int32]"  # the leaf of each sample, negative where it is not known
OfNodes: TypeAlias = "Callable[[Ends | None], npt.NDArray[Any]]"  # a row for each of some nodes, or of all nodes

FROM_IN_THREADS = 50_000  # rows from which threads pay
PARTS_OF_THREAD, LEAST_ROWS = 4, 4_096  # that threads take in turn


def ends(
    tree: Tree, X: npt.NDArray[Any], of_nodes: OfNodes | None = None, *, refuse_missing: bool, n_jobs: int = 1
) -> npt.NDArray[Any] | None:
    """Return where each row of a plain array ends, or what `of_nodes` has for these nodes; None as `Walker.ends`.

    Threads take parts of the rows.
    """
    if n_jobs > 1 and X.ndim == 2 and len(X) >= FROM_IN_THREADS:
        return _ends_in_threads(tree, X, of_nodes, refuse_missing, n_jobs)
    found = tree.walker.ends(X, refuse_missing)
    if found is None or of_nodes is None:
        return found
    return of_nodes(found) if found.size < tree.node_count else of_nodes(None).take(found, axis=0)


def _ends_in_threads(
    tree: Tree, X: npt.NDArray[Any], of_nodes: OfNodes | None, refuse_missing: bool, n_jobs: int
) -> npt.NDArray[Any] | None:
    """Return the same."""
    walker, edges, elsewhere = tree.walker, parts(len(X), n_jobs), list[int]()
    each = None if of_nodes is None or len(X) < tree.node_count else of_nodes(None)
    answers = None if each is None else np.empty((len(X), *each.shape[1:]), each.dtype)

    def walk_some(i: int) -> npt.NDArray[Any] | None:
        rows = slice(edges[i], edges[i + 1])
        found = None if elsewhere else walker.ends(X[rows], refuse_missing)
        if found is None:
            elsewhere.append(i)
        elif each is not None and answers is not None:
            each.take(found, 0, answers[rows], "clip")  # all are nodes: with a check, NumPy would make a copy
        elif of_nodes is not None:
            return of_nodes(found)
        return found

    pieces = in_threads(walk_some, len(edges) - 1, n_jobs)
    if elsewhere:
        return None
    return np.concatenate([piece for piece in pieces if piece is not None]) if answers is None else answers


def parts(n_rows: int, n_jobs: int) -> list[int]:
    """Return where the parts of a table begin and end that threads take in turn: so many that none waits long for the last."""
    n_parts = min(PARTS_OF_THREAD * n_jobs, -(-n_rows // LEAST_ROWS))
    return [n_rows * i // n_parts for i in range(n_parts + 1)]


def blocks(table: Table) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """Yield the table in blocks of rows, as floats."""
    step = ROWS_AT_ONCE if table.n_features <= CELLS_AT_ONCE // ROWS_AT_ONCE else max(CELLS_AT_ONCE // table.n_features, 1)
    if table.matrix is not None:
        step = ROWS_OF_MATRIX
    for start in range(0, table.n_samples, step):
        stop = min(start + step, table.n_samples)
        yield slice(start, stop), table.block(start, stop)


class _Divided(NamedTuple):
    """Samples that reach several leaves, and their predictions."""

    samples: npt.NDArray[np.intp]
    values: Floats  # (n, k)


def _walk(tree: Tree, table: Table, known: Ends | None = None) -> tuple[npt.NDArray[np.int32], list[_Divided]]:
    """Return the node where each sample ends (its leaf of largest part if it reaches several), and the divided samples.

    Samples whose ends are `known`, not negative, are not walked.
    """
    if known is not None:
        rest = np.flatnonzero(known < 0)
        ends, divided = known.copy(), []
        for start in range(0, rest.size, ROWS_AT_ONCE):
            rows = rest[start : start + ROWS_AT_ONCE]
            ends[rows], found = _walk_block(tree, table.some(rows))
            divided += [_Divided(rows[some.samples], some.values) for some in found]
        return ends, divided
    ends, divided = np.empty(table.n_samples, dtype=np.int32), []
    for part, block in blocks(table):
        ends[part], found = _walk_block(tree, block)
        divided += [_Divided(some.samples + part.start, some.values) for some in found]
    return ends, divided


def _walk_block(tree: Tree, block: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], list[_Divided]]:
    """Return the same for rows of floats."""
    ends = np.empty(len(block), dtype=np.int32)
    if not _core.walk(tree, block, ends):
        return ends, []
    marked = np.flatnonzero(ends == _core.DIVIDED)
    found, leaves = np.empty((marked.size, tree.value.shape[1])), np.empty(marked.size, dtype=np.int32)
    _core.walk_shares(tree, block[marked], tree.contribution, found, leaves)
    ends[marked] = leaves
    return ends, [_Divided(marked, found)]


def walk(tree: Tree, table: Table, known: Ends | None = None) -> npt.NDArray[np.int32]:
    """Return the node where each sample ends, int32 (n_samples,); of several leaves the one with the largest part."""
    return _walk(tree, table, known)[0]


def predict_value(tree: Tree, table: Table) -> Floats:
    """Return class shares (rows sum to 1) or means, float64 (n_samples, k)."""
    ends, divided = _walk(tree, table)
    values = tree.predict_nodes(ends)
    for some in divided:
        values[some.samples] = some.values
    return values


def predict_class(tree: Tree, table: Table, known: Ends | None = None) -> npt.NDArray[np.intp]:
    """Return the index of the predicted class of each sample for a single target, shape (n_samples,)."""
    ends, divided = _walk(tree, table, known)
    answers: npt.NDArray[np.intp] = tree.predicted_class.take(ends)
    for some in divided:
        answers[some.samples] = best_classes(some.values, tree.loss)
    return answers


def predict_votes(tree: Tree, table: Table, known: Ends | None = None) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the index of the predicted class of each sample, and the share of this class; for a tree without losses."""
    ends, divided = _walk(tree, table, known)
    shares, of_node = tree.predict_nodes(), tree.predicted_class
    classes, votes = of_node.take(ends), shares[np.arange(len(shares)), of_node].take(ends)
    for some in divided:
        classes[some.samples] = best_classes(some.values, None)
        votes[some.samples] = some.values.max(axis=1)
    return classes, votes


def decision_path(tree: Tree, table: Table) -> csr_matrix:
    """Return the node indicator of the samples, a bool CSR matrix (n_samples, node_count)."""
    from scipy.sparse import csr_matrix

    starts = np.zeros(table.n_samples + 1, dtype=np.int64)
    for rows, block in blocks(table):
        _core.paths(tree, block, starts[rows.start : rows.stop + 1], None)
    np.cumsum(starts, out=starts)
    nodes = np.empty(starts[-1], dtype=np.int32)
    for rows, block in blocks(table):
        _core.paths(tree, block, starts[rows.start : rows.stop + 1], nodes)
    indicator = csr_matrix((np.ones(len(nodes), dtype=np.bool_), nodes, starts), shape=(table.n_samples, tree.node_count))
    indicator.sort_indices()
    return indicator
