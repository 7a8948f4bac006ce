"""Leaves, predictions and decision paths of the samples of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree import _core
from fasttree._data.cells import Array, Floats
from fasttree._data.table import Table, check_finite
from fasttree._model.threads import in_threads, slices
from fasttree._model.tree import Tree, best_classes

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

ROWS_AT_ONCE = 32_768  # of a table that is no matrix
CELLS_AT_ONCE = 2**22  # of columns that are read together: to ask a data frame for a few takes as long as for many
ROWS_OF_MATRIX = 2**20  # of a table that is a matrix of floats: they take a fraction of a second, after which interrupts are seen

Ends: TypeAlias = "npt.NDArray[np.int32]"  # the leaf of each sample, negative where it is not known
OfNodes: TypeAlias = "Callable[[Ends | None], Array]"  # a row for each of some nodes, or of all nodes

FROM_IN_THREADS = 50_000  # rows from which threads pay
PARTS_OF_THREAD = 3  # that it takes in turn
ROWS_TAKEN = 2**16  # whose ends stay in the cache until they are looked up


def ends(tree: Tree, X: Array, of_nodes: OfNodes | None = None, *, refuse_missing: bool, n_jobs: int = 1) -> Array | None:
    """Return where each row of a plain array ends, or what `of_nodes` has for these nodes; None as `Walker.ends`."""
    if X.ndim != 2 or len(X) < FROM_IN_THREADS or (n_jobs == 1 and of_nodes is None):
        found: Array | None = tree.walker.ends(X, refuse_missing)
        if found is None or of_nodes is None:
            return found
        return of_nodes(found) if len(X) < tree.node_count else of_nodes(None).take(found, axis=0)
    each = None if of_nodes is None else of_nodes(None)
    out = np.empty(len(X), dtype=np.int32) if each is None else np.empty((len(X), *each.shape[1:]), dtype=each.dtype)
    parts, others = slices(0, len(X), max(PARTS_OF_THREAD * n_jobs, len(X) // ROWS_TAKEN), n_jobs), list[int]()

    def walk(i: int) -> None:
        found = None if others else tree.walker.ends(X[parts[i]], refuse_missing)
        if found is None:
            others.append(i)
        elif each is None:
            out[parts[i]] = found
        else:
            each.take(found, axis=0, out=out[parts[i]], mode="clip")  # else `take` writes to an array of its own first

    in_threads(walk, len(parts), n_jobs)
    return None if others else out


def blocks(table: Table) -> Iterator[tuple[slice, Array]]:
    """Yield the table in blocks of rows, as floats."""
    for parts, stretch in stretches(table, 1, "C"):
        for rows in parts:
            yield rows, stretch.block(rows)


@dataclass(frozen=True)
class Stretch:
    """Rows of a table whose columns have been read together.

    Parameters
    ----------
    table : Table
    order : {"C", "F"}
        The order of the blocks.
    first : int
        The first row.
    columns : list of ndarray or None
        What `Table.some_of` returns for each feature.  None: the table is in rows.
    """

    table: Table
    order: Literal["C", "F"]
    first: int = 0
    columns: list[Array] | None = None

    def block(self, rows: slice) -> Array:
        """Return some of the rows as floats."""
        if self.columns is None:
            return self.table.block(rows.start, rows.stop)
        here = slice(rows.start - self.first, rows.stop - self.first)
        return self.table.in_rows([column[here] for column in self.columns], self.order)

    def check_finite(self) -> None:
        """Raise the error of the first column that holds infinity."""
        columns = self.columns or [self.table.column(j) for j in range(self.table.n_features)]
        for feature, column in zip(self.table.schema.features, columns, strict=True):
            check_finite(column, feature.name, self.first)


def stretches(
    table: Table, n_jobs: int, order: Literal["C", "F"], *, checked: bool = True
) -> Iterator[tuple[list[slice], Stretch]]:
    """Yield parts of the table and the stretches where they are; not `checked`: the caller looks for infinity."""
    n, step = table.n_samples, max(CELLS_AT_ONCE // table.n_features, 1)
    if table.is_in_rows:
        most = min(ROWS_AT_ONCE, step) if table.matrix is None else ROWS_OF_MATRIX
        yield slices(0, n, -(-n // most), n_jobs), Stretch(table, order)
        return
    for first in range(0, n, step):
        stop = min(first + step, n)
        columns = [table.some_of(j, first, stop, checked=checked) for j in range(table.n_features)]
        yield slices(first, stop, -(-(stop - first) // ROWS_AT_ONCE), n_jobs), Stretch(table, order, first, columns)


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
            ends[rows], found = _walk_block(tree, table.some(rows), Stretch(table, "C"))
            divided += [_Divided(rows[some.samples], some.values) for some in found]
        return ends, divided
    ends = np.empty(table.n_samples, dtype=np.int32)
    n_jobs = n_jobs if table.n_samples >= ROWS_AT_ONCE else 1
    for parts, stretch in stretches(table, n_jobs, "F", checked=False):
        pieces = in_threads(partial(_walk_piece, tree, parts, stretch, ends), len(parts), n_jobs)
        divided += [some for piece in pieces for some in piece or ()]
    return ends, divided


def _walk_piece(tree: Tree, parts: list[slice], stretch: Stretch, ends: Ends, i: int) -> list[_Divided]:
    """Write where the samples of a block end, and return those that are divided."""
    ends[parts[i]], found = _walk_block(tree, stretch.block(parts[i]), stretch)
    return [_Divided(some.samples + parts[i].start, some.values) for some in found]


def _walk_block(tree: Tree, block: Array, stretch: Stretch) -> tuple[npt.NDArray[np.int32], list[_Divided]]:
    """Return the same for rows of floats of a stretch."""
    ends = np.empty(len(block), dtype=np.int32)
    n_divided = _core.walk(tree, block, ends)
    if n_divided < 0:
        stretch.check_finite()
    if n_divided == 0:
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
