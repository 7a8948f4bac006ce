"""Columns of a table in the engine's form: codes, presorted lists, or bins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind, Schema
from fasttree._data.table import Few, Table
from fasttree._engine.columns.locks import new_lock
from fasttree._engine.encoding import Binning, Encoding, bin_codes, code_values, copy_columns
from fasttree._learn.constraints import FREE, Constraints
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe
from fasttree._model.threads import in_threads

MOST_CODES = 255  # of a feature of large nodes, which are searched by histograms

BYTES_AT_ONCE = 32  # of a row of a C-ordered table: little memory, and few reads of a cache line
LEAST_COPIED = 1_024  # rows of a C-ordered table whose columns are copied, so that each is in one piece
INTEGERS_AT_ONCE = 32  # columns of bytes, which take the place of `BYTES_AT_ONCE`
LEAST_INTEGERS = 16  # columns that are read side by side: fewer take longer than one after the other
FEATURES_AT_ONCE = 8  # at most, that a thread encodes one after the other: their codes are neighbours
LISTS_AT_ONCE = 4  # features that a thread sorts one after the other

ROWS_OF_SAMPLE = 16_384  # that say where the bins of the bounded search end
STEP_OF_SAMPLE = 8  # rows apart, among which few values are soon seen
SHARED_FROM = 16_384  # fewest samples of a table that threads share in a bounded search
PARTS, LEAST_ROWS = 2, 4_096  # private blocks for each thread, unless they would have fewer samples
ROWS_OF_TASK = 4_096  # that a thread encodes at once: so few that no thread waits long for the last

NEARLY_THE_GAP = 1.5e-5  # Quinlan's program does not separate single-precision values closer than 1e-5: check all near that


class AnyTable(Protocol):
    """What growth reads: columns of a table, of some of its rows, or of a node."""

    schema: Schema
    n_samples: int
    n_features: int

    @property
    def matrix(self) -> npt.NDArray[Any] | None: ...

    def column(self, j: int) -> npt.NDArray[Any]: ...


class Bins(NamedTuple):
    """Ranges of the values of a continuous feature, one per code."""

    least: Floats  # (n_bins,): smallest value of each bin
    most: Floats  # largest value

    def gap(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the values on both sides of a cut: the largest in the bin of `low`, the smallest in that of `high`."""
        below, above = (np.searchsorted(self.least, values, side="right") - 1 for values in (low, high))
        return self.most[below], self.least[above]


Encoded: TypeAlias = "tuple[Encoding, bool, dict[int, Bins]]"  # as from `encode_columns`


class KeptColumns:
    """The columns of a table, each read once and kept in one piece of memory, for trees on some of its rows.

    Threads may read them at the same time.  They are sorted once, when growth on lists first needs it.
    """

    matrix = None

    def __init__(self, table: AnyTable, recipe: Recipe, limits: Limits, bins_of: npt.NDArray[np.intp] | None = None) -> None:
        kept = [np.ascontiguousarray(table.column(feature)) for feature in range(table.n_features)]
        self.schema, self.n_samples, self.n_features = table.schema, table.n_samples, table.n_features
        self._columns, self._lock, self._sorted = kept, new_lock(), list[_Sorted]()
        self._recipe, self._limits, self.bins_of = recipe, limits, bins_of
        self._table = table

    def column(self, j: int) -> npt.NDArray[Any]:
        return self._columns[j]

    def few(self, j: int, _column: npt.NDArray[Any] | None = None) -> Few | None:
        """Return the values of a continuous feature and the code of each cell, if there are few."""
        return self._table.few(j, self._columns[j]) if isinstance(self._table, Table) else None

    def sorted(self, block_rows: int) -> _Sorted:
        """Return the encoding of all rows, and which rows have a missing value if samples may be divided."""
        with self._lock:
            if not self._sorted:
                of_bins = self if self.bins_of is None else SomeRows(self, self.bins_of)
                encoding, has_missing, bins = encode_columns(self, of_bins, self._recipe, self._limits, block_rows, 0, 1)
                lacking = np.zeros(self.n_samples, dtype=bool)
                for column in self._columns if has_missing else ():
                    lacking |= is_missing(column)
                self._sorted.append(_Sorted(encoding, lacking, has_missing, bins))
        return self._sorted[0]


class _Sorted(NamedTuple):
    encoding: Encoding
    lacking: npt.NDArray[np.bool_]
    has_missing: bool
    bins: dict[int, Bins]


class InOrder:
    """Kept columns in another order."""

    matrix = None

    def __init__(self, kept: KeptColumns, order: npt.NDArray[np.intp]) -> None:
        self.schema = Schema(tuple(kept.schema.features[feature] for feature in order), kept.schema.has_names)
        self.n_samples, self.n_features = kept.n_samples, kept.n_features
        self.kept, self.order = kept, order
        self.is_in_place = bool((order == np.arange(order.size)).all())

    def column(self, j: int) -> npt.NDArray[Any]:
        return self.kept.column(int(self.order[j]))

    def with_bins(self) -> AnyTable:
        """Return the samples of which bins are made."""
        return self if self.kept.bins_of is None else SomeRows(self, self.kept.bins_of)

    def encoded(self, rows: npt.NDArray[np.intp] | None, block_rows: int) -> Encoded:
        """Return the encoding of some rows, which needs no sorting; that of all rows in place is shared by all who ask for it."""
        whole = self.kept.sorted(block_rows)
        if rows is None and self.is_in_place:
            return whole.encoding, whole.has_missing, whole.bins
        rows = np.arange(self.n_samples) if rows is None else rows
        encoding = whole.encoding.of_rows(rows.astype(np.int64, copy=False), self.order.astype(np.int64, copy=False), block_rows)
        order = self.order.tolist() if whole.bins else ()
        bins = {j: whole.bins[feature] for j, feature in enumerate(order) if feature in whole.bins}
        return encoding, whole.has_missing and bool(np.count_nonzero(whole.lacking.take(rows))), bins


class SomeRows:
    """Some rows of a table, read column by column."""

    matrix = None

    def __init__(self, table: AnyTable, rows: npt.NDArray[np.intp]) -> None:
        self.schema = table.schema
        self.n_samples, self.n_features = len(rows), table.n_features
        self.table, self.rows = table, rows

    def column(self, j: int) -> npt.NDArray[Any]:
        return self.table.column(j)[self.rows]


def is_missing(column: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    """Return which cells of an encoded column are missing."""
    missing: npt.NDArray[np.bool_] = np.isnan(column) if column.dtype.kind == "f" else column == 0
    return missing


def few_values(table: AnyTable, feature: int) -> Floats | None:
    """Return the values of a continuous feature that occur, ascending; None if they are many."""
    whole, rows = (table.table, table.rows) if isinstance(table, SomeRows) else (table, None)
    owner, j = (whole.kept, int(whole.order[feature])) if isinstance(whole, InOrder) else (whole, feature)
    few = _few_of(owner, j)
    if few is None or rows is None:
        return None if few is None else few[0]
    found: Floats = few[0][np.bincount(few[1].take(rows), minlength=len(few[0]) + 1)[1:] > 0]
    return found


def _few_of(table: AnyTable, feature: int, column: npt.NDArray[Any] | None = None) -> Few | None:
    """Return the values of a continuous feature and the code of each cell, if they are few and the table keeps them."""
    return table.few(feature, column) if isinstance(table, Table | KeptColumns) else None


class OneFeature:
    """One feature of a table, with all samples."""

    matrix = None

    def __init__(self, table: Table, feature: int) -> None:
        self.schema = Schema((table.schema.features[feature],), table.schema.has_names)
        self.n_samples, self.n_features = table.n_samples, 1
        self._table, self._feature = table, feature

    def column(self, j: int) -> npt.NDArray[Any]:
        return self._table.column(self._feature)


def columns(table: AnyTable, features: Iterable[int]) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Yield columns, each for use before the next; those of a matrix in rows are copied a few at a time (cache)."""
    matrix = _in_rows(table)
    if matrix is None:
        for feature in features:
            yield feature, table.column(feature)
        return
    width = BYTES_AT_ONCE // matrix.itemsize
    block, wanted = np.empty((width, matrix.shape[0]), dtype=matrix.dtype), list(features)
    while wanted:
        n_several = next((i for i in range(1, width) if wanted[i : i + 1] != [wanted[0] + i]), width)
        copy_columns(matrix, wanted[0], block[:n_several])
        yield from zip(wanted[:n_several], block[:n_several], strict=True)
        wanted = wanted[n_several:]


def _in_rows(table: AnyTable) -> npt.NDArray[Any] | None:
    """Return the matrix of a table whose rows are in one piece, if it is large."""
    matrix = table.matrix
    return None if matrix is None or matrix.strides[0] <= matrix.strides[1] or matrix.shape[0] < LEAST_COPIED else matrix


def ordered_codes(cells: npt.NDArray[Any], kind: Kind) -> npt.NDArray[np.int32]:
    """Return the codes of a column in the order of its values, from 1; 0 for missing values."""
    if kind is not Kind.CONTINUOUS:
        return cells.astype(np.int32)
    few = code_values(cells)
    if few is not None:
        return few[1].astype(np.int32)
    known = ~np.isnan(cells)
    codes = np.zeros(len(cells), np.int32)
    codes[known] = np.unique(cells[known], return_inverse=True)[1] + 1
    return codes


_IN_TWO = frozenset(("subset", "one_vs_rest", "threshold", "error"))  # forms of splits into two branches


def may_be_bounded(
    table: AnyTable, recipe: Recipe, limits: Limits, constraints: Constraints, n_classes: int, weighted: bool, several: bool
) -> bool:
    """Whether large nodes may be searched by histograms and bounds, which are for two-way splits of all features by gain."""
    return (
        recipe.rank == "gain"
        and not recipe.release8
        and not several
        and recipe.impurity in ("gini", "entropy", "misclassification", "squared_error")
        and not (weighted and n_classes == 0)
        and _IN_TWO.issuperset((recipe.nominal, recipe.ordinal, recipe.continuous))
        and recipe.missing in ("direction", "error")
        and limits.max_features is None
        and not limits.random_cuts
        and constraints == FREE
        and (
            table.schema.is_continuous
            or all(f.categories is None or len(f.categories) <= MOST_CODES for f in table.schema.features)
        )
    )


def encode_columns(
    table: AnyTable, bins_of: AnyTable, recipe: Recipe, limits: Limits, block_rows: int, most_codes: int, n_jobs: int
) -> Encoded:
    """Return the encoded features, whether a value is missing (found only if samples may be divided), and the bins."""
    whole, rows = (table.table, table.rows) if isinstance(table, SomeRows) else (table, None)
    if isinstance(whole, InOrder):
        if not most_codes or table.n_samples <= block_rows:
            return whole.encoded(rows, block_rows)
        bins_of = whole.with_bins()
    if n_jobs > 1 and table.n_samples >= (SHARED_FROM if most_codes else 2 * LEAST_ROWS + 1):
        parts = 1 if recipe.impurity == "absolute_error" else PARTS  # by which threads search children of a node one by one
        block_rows = min(block_rows, max(table.n_samples // (parts * n_jobs), LEAST_ROWS))  # what none takes whole is shared
    if table.n_samples <= block_rows:
        n_jobs = 1
    encoding = Encoding(table.n_samples, table.n_features, block_rows, most_codes > 0, max(most_codes, 2), n_jobs > 1)
    planned = _plan_rows(encoding, table, n_jobs) if encoding.bounded and limits.max_bins is None else []
    done = set(planned)
    if limits.max_bins is None and table.n_samples >= LEAST_COPIED and _gap_of(recipe, limits) < 0:
        done.update(_encode_integers(encoding, table, planned, most_codes or MOST_CODES, n_jobs))
    if planned:  # after the integers, which are written with what is beside them
        _encode_rows(encoding, table, n_jobs)
    bins, has_missing = _encode_side_by_side(encoding, table, bins_of, recipe, limits, n_jobs, done)
    encoding.finish()
    return encoding, has_missing, bins


def _gap_of(recipe: Recipe, limits: Limits) -> float:
    """Return the distance up to which growth must know whether two values of a feature are so close; negative: it need not."""
    if recipe.rank == "mdl_gain_ratio" or limits.random_cuts:
        return math.inf  # a threshold pays for the interval that it names, or is drawn, so the engine reads all values
    return NEARLY_THE_GAP if recipe.release8 else -1.0


def pieces_of(n_features: int, n_jobs: int, at_once: int = FEATURES_AT_ONCE) -> list[range]:
    """Return the features that a thread encodes one after the other: pieces of nearly the same size, as many for each thread."""
    n_pieces = min(-(-n_features // (at_once * n_jobs)) * n_jobs, n_features)
    return [range(i * n_features // n_pieces, (i + 1) * n_features // n_pieces) for i in range(n_pieces)]


def _encode_side_by_side(
    encoding: Encoding,
    table: AnyTable,
    bins_of: AnyTable,
    recipe: Recipe,
    limits: Limits,
    n_jobs: int,
    done: set[int],
) -> tuple[dict[int, Bins], bool]:
    """Encode the features that are not `done`; return the bins, and whether a value is missing, if samples may be divided."""
    gap, divides, features = _gap_of(recipe, limits), recipe.missing == "fractional", table.schema.features
    bins: dict[int, Bins] = {}
    lacking: list[int] = []
    pieces = pieces_of(table.n_features, n_jobs, FEATURES_AT_ONCE if encoding.bounded or n_jobs == 1 else LISTS_AT_ONCE)

    def encode(piece: int) -> None:
        wanted = [feature for feature in pieces[piece] if feature not in done]
        if not wanted:
            return
        binning = None if limits.max_bins is None else Binning(bins_of.n_samples, limits.max_bins)
        for feature, column in columns(table, wanted):
            described, few = features[feature], None
            if described.categories is not None:
                encoding.add_codes(feature, column, len(described.categories), described.kind == Kind.ORDINAL)
                if limits.random_cuts and described.kind == Kind.ORDINAL and len(described.categories) > MOST_CODES:
                    encoding.keep_values(feature, column.astype(np.float32))  # private blocks number the codes of lists anew
            elif binning is not None:
                bins[feature] = _bin(encoding, feature, binning, column, None if bins_of is table else bins_of, gap)
            elif recipe.release8 and (few := _few_of(table, feature, column)) is not None:  # which thresholds need, too
                values, codes = few
                encoding.add_bins(feature, codes, len(values))
                if (np.diff(values) <= gap).any():
                    encoding.keep_values(feature, np.append(0.0, values))
            elif encoding.add_continuous(feature, column, gap):
                encoding.keep_values(feature, table.column(feature))
            if divides and not lacking and (is_missing(column).any() if few is None else not few[1].all()):
                lacking.append(feature)

    in_threads(encode, len(pieces), n_jobs)
    return bins, bool(lacking)


def _plan_rows(encoding: Encoding, table: AnyTable, n_jobs: int) -> list[int]:
    """Return the features of many values of a float32 matrix that a bounded search can encode in one pass, all at once."""
    matrix = table.matrix
    if matrix is None or matrix.dtype != np.float32:
        return []
    rows, pieces = matrix[:: max(len(matrix) // ROWS_OF_SAMPLE, 1)], pieces_of(table.n_features, n_jobs)
    planned = list[int]()

    def plan(some: range) -> None:
        for feature, sample in enumerate(np.ascontiguousarray(rows[:, some.start : some.stop].T), some.start):
            if code_values(sample[::STEP_OF_SAMPLE]) is None and encoding.plan_bins(feature, sample):
                planned.append(feature)

    in_threads(lambda i: plan(pieces[i]), len(pieces), n_jobs)
    for feature in planned:
        encoding.keep_values(feature, matrix[:, feature])
    return planned


def _encode_rows(encoding: Encoding, table: AnyTable, n_jobs: int) -> None:
    """Encode the planned features."""
    n, matrix = table.n_samples, table.matrix
    assert matrix is not None
    in_threads(
        lambda i: encoding.code_rows(matrix, i * ROWS_OF_TASK, min((i + 1) * ROWS_OF_TASK, n)), -(-n // ROWS_OF_TASK), n_jobs
    )


def _encode_integers(encoding: Encoding, table: AnyTable, others: list[int], most_codes: int, n_jobs: int) -> list[int]:
    """Encode features of few integers of a float32 matrix, none of the `others`, from its rows; return which these are."""
    matrix = _in_rows(table)
    if matrix is None or matrix.dtype != np.float32 or matrix.strides[1] != matrix.itemsize or matrix.shape[1] < LEAST_INTEGERS:
        return []
    wanted, found = np.ones(table.n_features, dtype=np.int32), list[int]()
    wanted[others] = 0
    pieces = pieces_of(table.n_features, min(n_jobs, table.n_features // LEAST_INTEGERS), INTEGERS_AT_ONCE)
    starts = [some.start // FEATURES_AT_ONCE * FEATURES_AT_ONCE for some in pieces]  # no less than LEAST_INTEGERS apart
    ends = [*starts[1:], table.n_features]

    def encode(piece: int) -> None:
        n_codes = wanted[starts[piece] : ends[piece]]
        encoding.code_integers(matrix, starts[piece], n_codes, most_codes)
        found.extend((starts[piece] + n_codes.nonzero()[0]).tolist())

    in_threads(encode, len(starts), n_jobs)
    return found


def _bin(
    encoding: Encoding, feature: int, binning: Binning, column: npt.NDArray[Any], bins_of: AnyTable | None, gap: float
) -> Bins:
    """Encode a continuous feature by bins of its column, or of that of another table; return the bins."""
    codes, edges, *bounds = binning.bin(column if bins_of is None else bins_of.column(feature))
    bins = Bins(*bounds)
    if bins_of is not None:
        codes = bin_codes(column, edges)
    _add_bins(encoding, feature, codes, bins, gap)
    return bins


def _add_bins(encoding: Encoding, feature: int, codes: npt.NDArray[Any], bins: Bins, gap: float) -> None:
    encoding.add_bins(feature, codes, len(bins.least))
    with np.errstate(over="ignore"):
        close = np.diff(bins.least) <= gap
    if close.any():
        # the gap rule compares the first values of bins: by code, or by sample if there are too many codes to count
        values = np.append(0.0, bins.least)
        encoding.keep_values(feature, values if codes.dtype == np.uint8 else values[codes])
