"""Leaves, predictions and decision paths of the samples of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree import _core
from fasttree._data.cells import Array, Floats
from fasttree._data.table import Table
from fasttree._engine import encoding
from fasttree._model.threads import in_threads
from fasttree._model.tree import Tree, best_classes

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

ROWS_AT_ONCE = 32_768  # of a table with categories, which is converted to floats
CELLS_AT_ONCE = 2**24  # of these rows, at most
CELLS_READ = 2**22  # of columns that are read together: to ask a data frame for a few cells takes as long as for many
ROWS_OF_MATRIX = 2**20  # of a table that is a matrix of floats: they take a fraction of a second, after which interrupts are seen


Ends: TypeAlias = "npt.NDArray[np.int32]"  # the leaf of each sample, negative where it is not known
OfNodes: TypeAlias = "Callable[[Ends | None], Array]"  # a row for each of some nodes, or of all nodes

FROM_IN_THREADS = 50_000  # rows from which threads pay
PARTS_OF_THREAD, LEAST_ROWS = 3, 4_096  # that threads take in turn


def ends(tree: Tree, X: Array, of_nodes: OfNodes | None = None, *, refuse_missing: bool, n_jobs: int = 1) -> Array | None:
    """Return where each row of a plain array ends, or what `of_nodes` has for these nodes; None as `Walker.ends`.

    Threads take parts of the rows.
    """
    if n_jobs > 1 and X.ndim == 2 and len(X) >= FROM_IN_THREADS:
        return _ends_in_threads(tree, X, of_nodes, refuse_missing, n_jobs)
    found = tree.walker.ends(X, refuse_missing)
    if found is None or of_nodes is None:
        return found
    return of_nodes(found) if found.size < tree.node_count else of_nodes(None).take(found, axis=0)


def _ends_in_threads(tree: Tree, X: Array, of_nodes: OfNodes | None, refuse_missing: bool, n_jobs: int) -> Array | None:
    """Return the same."""
    walker, elsewhere = tree.walker, list[int]()
    edges = edges_of(len(X), _parts_of_matrix(len(X), n_jobs), n_jobs)
    each = None if of_nodes is None or len(X) < tree.node_count else of_nodes(None)
    answers = None if each is None else np.empty((len(X), *each.shape[1:]), each.dtype)

    def walk_some(i: int) -> Array | None:
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


def edges_of(n_rows: int, n_parts: int, n_jobs: int) -> list[int]:
    """Return where at least so many parts of a table begin and end, as many for each thread."""
    n_parts = -(-n_parts // n_jobs) * n_jobs
    return [n_rows * i // n_parts for i in range(n_parts + 1)]


def _parts_of_matrix(n_rows: int, n_jobs: int) -> int:
    """Return the number of parts of a matrix: so many that no thread waits long for the last."""
    return max(min(PARTS_OF_THREAD * n_jobs, n_rows // LEAST_ROWS) if n_jobs > 1 else 1, -(-n_rows // ROWS_OF_MATRIX))


def blocks(table: Table) -> Iterator[tuple[slice, Array]]:
    """Yield the table in blocks of rows, as floats."""
    for stretch in _stretches(table, 1, in_order=True):
        for start, stop in pairwise(stretch.edges):
            yield slice(start, stop), stretch.block(start, stop)


class _Stretch(NamedTuple):
    """Rows whose columns have been read: the ends of blocks of them, and a function that returns a block as floats."""

    edges: list[int]
    block: Callable[[int, int], Array]


def _stretches(table: Table, n_jobs: int, *, in_order: bool = False) -> Iterator[_Stretch]:
    """Yield all rows, as many at once as should be read together, for blocks that threads may take.

    They are as of `Table.block` if they are to be in order; else infinite values are still to be looked for.
    """
    most = min(ROWS_AT_ONCE, max(CELLS_AT_ONCE // table.n_features, 1))
    if table.is_in_rows:
        n_parts = -(-table.n_samples // most) if table.matrix is None else _parts_of_matrix(table.n_samples, n_jobs)
        yield _Stretch(edges_of(table.n_samples, n_parts, n_jobs), table.block)
        return
    step = max(most, CELLS_READ // table.n_features)
    for first in range(0, table.n_samples, step):
        stop = min(first + step, table.n_samples)
        columns = [table.some_of(j, first, stop, checked=in_order) for j in range(table.n_features)]
        edges = [first + edge for edge in edges_of(stop - first, -(-(stop - first) // most), n_jobs)]
        yield _Stretch(edges, partial(_block_of, columns, first, table.in_rows if in_order else table.side_by_side))


def _block_of(columns: list[Array], first: int, join: Callable[[list[Array]], Array], start: int, stop: int) -> Array:
    return join([column[start - first : stop - first] for column in columns])


class _Divided(NamedTuple):
    """Samples that reach several leaves, and their predictions."""

    samples: npt.NDArray[np.intp]
    values: Floats  # (n, k)


def _walk(tree: Tree, table: Table, known: Ends | None = None, n_jobs: int = 1) -> tuple[npt.NDArray[np.int32], list[_Divided]]:
    """Return the node where each sample ends (its leaf of largest part if it reaches several), and the divided samples.

    Samples whose ends are `known`, not negative, are not walked.
    """
    divided = list[_Divided]()
    if known is not None:
        rest, ends = np.flatnonzero(known < 0), known.copy()
        for start in range(0, rest.size, ROWS_AT_ONCE):
            rows = rest[start : start + ROWS_AT_ONCE]
            ends[rows], found = _walk_block(tree, table.some(rows))
            divided += [_Divided(rows[some.samples], some.values) for some in found]
        return ends, divided
    ends = np.empty(table.n_samples, dtype=np.int32)
    n_jobs = n_jobs if table.n_samples >= ROWS_AT_ONCE else 1
    for edges, block in _stretches(table, n_jobs):
        pieces = in_threads(partial(_walk_piece, tree, edges, block, ends, table.is_in_rows), len(edges) - 1, n_jobs)
        if None in pieces:
            table.block(edges[0], edges[-1])  # raises the error
        divided += [some for piece in pieces for some in piece or ()]
    return ends, divided


def _walk_piece(
    tree: Tree, edges: list[int], block: Callable[[int, int], Array], ends: Ends, checked: bool, i: int
) -> list[_Divided] | None:
    """Write where the samples of a block end, and return those that are divided; None if a value is infinite."""
    start, stop = edges[i], edges[i + 1]
    rows = block(start, stop)
    if not checked and encoding.holds_infinity(rows):
        return None
    ends[start:stop], found = _walk_block(tree, rows)
    return [_Divided(some.samples + start, some.values) for some in found]


def _walk_block(tree: Tree, block: Array) -> tuple[npt.NDArray[np.int32], list[_Divided]]:
    """Return the same for rows of floats."""
    ends = np.empty(len(block), dtype=np.int32)
    if not _core.walk(tree, block, ends):
        return ends, []
    marked = np.flatnonzero(ends == _core.DIVIDED)
    found, leaves = np.empty((marked.size, tree.value.shape[1])), np.empty(marked.size, dtype=np.int32)
    _core.walk_shares(tree, block[marked], tree.contribution, found, leaves)
    ends[marked] = leaves
    return ends, [_Divided(marked, found)]


def walk(tree: Tree, table: Table, known: Ends | None = None, n_jobs: int = 1) -> npt.NDArray[np.int32]:
    """Return the node where each sample ends, int32 (n_samples,); of several leaves the one with the largest part."""
    return _walk(tree, table, known, n_jobs)[0]


def predict_value(tree: Tree, table: Table, n_jobs: int = 1) -> Floats:
    """Return class shares (rows sum to 1) or means, float64 (n_samples, k)."""
    ends, divided = _walk(tree, table, n_jobs=n_jobs)
    values = tree.predict_nodes(ends)
    for some in divided:
        values[some.samples] = some.values
    return values


def predict_class(tree: Tree, table: Table, known: Ends | None = None, n_jobs: int = 1) -> npt.NDArray[np.intp]:
    """Return the index of the predicted class of each sample for a single target, shape (n_samples,)."""
    ends, divided = _walk(tree, table, known, n_jobs)
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
