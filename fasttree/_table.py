"""From any table to columns of numbers and codes; the only file that knows data frames.

Whatever holds the table, a column is read as one of two things: `Numbers` or `Labels` (positions in a list of distinct
values).  Everything after that, kinds, categories, codes, is the same for pandas, polars, Arrow, NumPy and lists, which is why
the same rows give the same columns.  Columns are read one at a time and blocks of rows when asked for; the table as a whole is
never copied.  This file knows nothing of trees and recipes.
"""

from __future__ import annotations

import datetime
import itertools
import math
import numbers
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.exceptions import DataConversionWarning

from . import _checks, _core
from ._schema import Category as Category
from ._schema import Feature as Feature
from ._schema import Group, default_target_names, group
from ._schema import Kind as Kind
from ._schema import Schema as Schema
from ._schema import is_missing as is_missing

Array: TypeAlias = npt.NDArray[Any]
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)

MAX_SAMPLES = 2**31 - 1  # the tree counts samples in 32 bits where it can
SMALL_TABLE = 2**22  # bytes: of a smaller table every column is read once
MANY_CATEGORIES = 2**12  # a longer dictionary is looked up once, not for every block of rows
EXACT_FLOAT32 = 2**24  # integers up to here are exact in float32


# Cells: what a column is read as


@dataclass(frozen=True)
class Numbers:
    """Cells that are numbers: booleans, integers or floats (NaN = missing), and a mask of missing cells or None.

    `parsed` says that reading was slow (cell by cell), so that the result is worth keeping.
    """

    values: Array
    missing: Array | None = None
    parsed: bool = False

    def labels(self) -> Labels:
        """Turn the cells into positions in their sorted distinct values."""
        values, missing = self.values, self.missing
        if values.dtype.kind == "f":
            values = values + values.dtype.type(0)  # -0.0 and 0.0 are one category
            missing = np.isnan(values)
        if missing is None or not missing.any():
            distinct, positions = _distinct(values)
        else:
            distinct, present = _distinct(values[~missing])
            positions = np.full(len(values), -1, dtype=np.intp)
            positions[~missing] = present
        return Labels(distinct.tolist(), positions)

    def floats(self) -> Array:
        """Turn the cells into float32 or float64, NaN = missing; float32 where it is exact by type or by range."""
        values = self.values
        if values.dtype.kind == "f":
            return values.astype(np.float32 if values.dtype.itemsize <= 4 else np.float64, copy=False)
        small = values.dtype.itemsize <= 2 or not len(values)
        small = small or bool(values.min() >= -EXACT_FLOAT32 and values.max() <= EXACT_FLOAT32)
        result = values.astype(np.float32 if small else np.float64)
        if self.missing is not None:
            result[self.missing] = np.nan
        return result


@dataclass(frozen=True)
class Labels:
    """Cells that are positions in a list of distinct labels; -1 = missing.

    `declared` says that the table declared the labels, absent ones included, and their order; `ordered` that the order means
    something.  Undeclared labels may be absent and in any order.
    """

    values: list[Any]
    positions: Array
    declared: bool = False
    ordered: bool = False


Cells: TypeAlias = Numbers | Labels


def _distinct(values: Array) -> tuple[Array, Array]:
    """Sorted distinct values and every value's position among them; linear for integers of a small range."""
    if values.dtype.kind in "iu" and values.dtype != np.uint64 and len(values):
        found = _core.distinct_integers(values.astype(np.int64, copy=False), max(len(values), 1000))
        if found is not None:
            return found[0].astype(values.dtype, copy=False), found[1]
    distinct, positions = np.unique(values, return_inverse=True)
    return distinct, positions


# Reading cells


def _array_cells(values: Array, name: str, first_row: int) -> Cells:
    """Read a 1-D NumPy array."""
    kind = values.dtype.kind
    if kind in "biuf":
        return Numbers(values)
    if kind in "OUT":
        return _object_cells(values.astype(object, copy=False).tolist(), name, first_row)
    if kind == "c":
        raise _checks.complex_values(name)
    if kind in "mM":
        raise _checks.dates(name, values.dtype)
    raise _checks.unsupported_column(name, values.dtype)


def _object_cells(cells: list[Any], name: str, first_row: int) -> Cells:
    """Read Python objects: strings, booleans or numbers, as the cells that are not missing decide."""
    groups = {cell_type: group(cell_type) for cell_type in set(map(type, cells))}
    found = set(groups.values())
    if Group.OTHER in found:
        row = next(row for row, cell in enumerate(cells) if groups[type(cell)] is Group.OTHER)
        raise _unreadable(cells[row], name, first_row + row)
    if Group.TEXT in found:
        return _text_cells(cells, name)
    missing = None
    if Group.MISSING in found or (Group.REAL in found and len(found) > 1):
        # NaN among integers or booleans is a missing value and does not make them floats.
        missing = np.fromiter(map(is_missing, cells), dtype=bool, count=len(cells))
        cells = [cell for cell, absent in zip(cells, missing, strict=True) if not absent]
        found = {groups[cell_type] for cell_type in set(map(type, cells))}
    if found == {Group.BOOLEAN}:
        present = np.array(cells, dtype=bool)
    elif found and Group.REAL not in found:
        present = _integers(cells)
    else:
        present = _floats(cells)
    if missing is None:
        return Numbers(present, parsed=True)
    is_float = present.dtype.kind == "f"
    values = np.full(len(missing), np.nan) if is_float else np.zeros(len(missing), dtype=present.dtype)
    values[~missing] = present
    return Numbers(values, None if is_float else missing, parsed=True)


def _integers(cells: list[Any]) -> Array:
    """Make an array of Python integers: int64, else uint64, else (rounded) float64."""
    for dtype in (np.int64, np.uint64):
        try:
            return np.array(cells, dtype=dtype)
        except OverflowError:
            continue
    return _floats(cells)


def _floats(cells: list[Any]) -> Array:
    """Make an array of floats: the nearest ones, infinite where a number is beyond them."""
    try:
        return np.array(cells, dtype=np.float64)
    except OverflowError:
        return np.array([_nearest(cell) for cell in cells], dtype=np.float64)


def _nearest(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _text_cells(cells: list[Any], name: str) -> Labels:
    """Read strings and missing cells by one pass through a dictionary."""
    index = {cell: position for position, cell in enumerate(dict.fromkeys(cells))}
    positions = np.fromiter(map(index.__getitem__, cells), dtype=np.intp, count=len(cells))
    present = np.array([not is_missing(cell) for cell in index], dtype=bool)
    labels = [cell for cell, is_present in zip(index, present, strict=True) if is_present]
    types = {type(label) for label in labels}
    if any(group(label_type) is not Group.TEXT for label_type in types):
        raise _checks.mixed_cells(name, {label_type.__qualname__ for label_type in types})
    new_positions = np.where(present, np.cumsum(present) - 1, -1)
    return Labels([str(label) for label in labels], new_positions[positions])


def _unreadable(cell: Any, name: str, row: int) -> Exception:
    if isinstance(cell, numbers.Complex):
        return _checks.complex_values(name)
    if isinstance(cell, (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)):
        return _checks.dates(name, type(cell).__qualname__)
    return _checks.unsupported_cell(name, cell, row)


def _series_cells(series: nw.Series[Any], name: str, first_row: int) -> Cells:
    """Read a column of a data frame by its type, with the library's own dictionary encoding for strings."""
    if series.implementation.is_polars():
        series = series.alias("")  # polars takes a name such as ^a$ for a pattern, in methods of a column too
    dtype = series.dtype
    if series.implementation.is_pandas_like() and series.to_native().dtype == object:
        return _object_cells(series.to_native().tolist(), name, first_row)
    if dtype.is_float():
        return _array_cells(series.to_numpy(), name, first_row)
    if dtype in (nw.Int128, nw.UInt128) or dtype.is_decimal():
        return Numbers(series.cast(nw.Float64()).to_numpy())
    if dtype.is_integer() or dtype == nw.Boolean:
        if not series.null_count():
            return Numbers(series.to_numpy())
        filled = series.fill_null(False if dtype == nw.Boolean else 0)
        return Numbers(filled.to_numpy(), series.is_null().to_numpy())
    if dtype == nw.String:
        return _string_cells(series)
    if dtype in (nw.Categorical, nw.Enum):
        return _category_cells(series, name)
    if dtype.is_temporal():
        raise _checks.dates(name, dtype)
    if dtype.is_nested():
        raise _checks.nested_cells(name, dtype)
    if series.null_count() == len(series):
        return Numbers(np.full(len(series), np.nan))
    if dtype == nw.Binary:
        raise _checks.unsupported_column(name, dtype)
    return _array_cells(np.asarray(series.to_numpy()), name, first_row)


def _string_cells(series: nw.Series[Any]) -> Labels:
    native = series.to_native()
    if series.implementation.is_pandas_like():
        codes, distinct = native.factorize()
        return Labels(distinct.tolist(), np.asarray(codes))
    if series.implementation.is_pyarrow():
        return _arrow_dictionary(native.dictionary_encode())
    labels = series.drop_nulls().unique().sort().to_list()
    codes = series.cast(nw.Enum(labels)).to_native().to_physical()
    return Labels(labels, _from_nullable(codes))


def _category_cells(series: nw.Series[Any], name: str) -> Labels:
    native = series.to_native()
    if series.implementation.is_polars():
        if series.dtype == nw.Categorical:  # its categories are those of the process, not of the column
            return _string_cells(series.cast(nw.String()))
        categories = series.dtype.categories  # type: ignore[attr-defined]  # it is an Enum
        return Labels(list(categories), _from_nullable(native.to_physical()), declared=True)
    if series.implementation.is_pandas_like() and hasattr(native.dtype, "categories"):
        labels = Labels(
            native.cat.categories.tolist(), native.cat.codes.to_numpy(), declared=True, ordered=bool(native.cat.ordered)
        )
    else:
        labels = _arrow_dictionary(series.to_arrow())
    _check_labels(labels.values, name)
    return labels


def _from_nullable(codes: Any) -> Array:
    """Positions from a polars column of unsigned codes: null becomes -1."""
    if not codes.null_count():
        return np.asarray(codes.to_numpy())
    missing = codes.is_null().to_numpy()
    positions: Array = codes.fill_null(0).to_numpy().astype(np.intp)
    positions[missing] = -1
    return positions


def _arrow_dictionary(column: Any) -> Labels:
    """Positions and labels of an Arrow dictionary column; Arrow lets the dictionary hold nulls and repeat values."""
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    labels = column.dictionary.to_pylist()
    positions = column.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    distinct = {label: None for label in labels if label is not None}
    if len(distinct) < len(labels):
        index = {label: position for position, label in enumerate(distinct)}
        positions = np.array([index.get(label, -1) for label in labels] + [-1])[positions]
    ordered = bool(column.type.ordered)
    return Labels(list(distinct), positions, declared=ordered, ordered=ordered)


def _check_labels(labels: list[Any], name: str) -> None:
    """Categories that a data frame brings must be strings, or numbers, not both."""
    groups = {group(type(label)) for label in labels}
    if groups & {Group.OTHER, Group.MISSING}:
        raise _checks.unsupported_category(
            name, next(label for label in labels if group(type(label)) in (Group.OTHER, Group.MISSING))
        )
    if Group.TEXT in groups and len(groups) > 1:
        raise _checks.mixed_cells(name, {type(label).__qualname__ for label in labels})


# Sources: where the columns are


class _Source(Protocol):
    """A table of any library: column labels (None for arrays), cells on demand, and a matrix that shares its memory, or None."""

    labels: list[Any] | None
    shape: tuple[int, int]
    matrix: Array | None

    def cells(self, j: int, start: int, stop: int, name: str) -> Cells: ...


class _ArraySource:
    matrix: Array | None = None

    def __init__(self, values: Array) -> None:
        self.values = values
        self.labels: list[Any] | None = None
        self.shape: tuple[int, int] = (values.shape[0], values.shape[1])

    def cells(self, j: int, start: int, stop: int, name: str) -> Cells:
        return _array_cells(self.values[start:stop, j], name, start)


class _SparseSource:
    """A matrix of scipy.sparse; what it leaves out is zero.  One column at a time is made dense, or a block of rows."""

    matrix: Array | None = None

    def __init__(self, matrix: Any) -> None:
        self.by_column = matrix.tocsc()
        self.labels: list[Any] | None = None
        self.shape: tuple[int, int] = matrix.shape
        self._by_row: Any = None
        self._block: tuple[int, int, Array] = (0, 0, np.empty((0, 0)))

    def cells(self, j: int, start: int, stop: int, name: str) -> Cells:
        if (start, stop) == (0, self.shape[0]):
            return _array_cells(self.by_column[:, [j]].toarray()[:, 0], name, start)
        if (start, stop) != self._block[:2]:
            if self._by_row is None:
                self._by_row = self.by_column.tocsr()
            self._block = start, stop, self._by_row[start:stop].toarray()
        return _array_cells(self._block[2][:, j], name, start)


class _FrameSource:
    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self.frame = frame
        self.labels: list[Any] | None = list(frame.columns)
        self.shape: tuple[int, int] = frame.shape
        self.matrix = _float_matrix(frame)

    def cells(self, j: int, start: int, stop: int, name: str) -> Cells:
        series = self.frame[:, j]
        if stop - start < len(series):
            series = series[start:stop]
        return _series_cells(series, name, start)


def _float_matrix(frame: nw.DataFrame[Any]) -> Array | None:
    """The frame as a matrix where pandas keeps it as one, all of one type of floats; nothing large is copied for it."""
    if not frame.implementation.is_pandas() or not all(frame.shape):
        return None
    native = frame.to_native()
    types = set(native.dtypes)
    if types != {_FLOAT32} and types != {_FLOAT64}:
        return None
    first, last = native.iloc[:, 0].to_numpy(), native.iloc[:, -1].to_numpy()
    if first.base is None or first.base is not last.base:
        return None
    matrix = native.to_numpy()
    return matrix if _is_plain(matrix) else None


def _open(X: Any) -> _Source:
    """Find out what `X` is; checks of its shape only."""
    if issparse(X):
        if X.ndim != 2:
            raise _checks.not_two_dimensional(X.shape)
        return _checked(_SparseSource(X))
    if isinstance(X, (str, bytes, os.PathLike, Mapping)):
        raise _checks.not_a_table(X)
    if not isinstance(X, (np.ndarray, list, tuple)):
        frame = open_frame(X)
        if frame is not None:
            return _checked(_FrameSource(frame))
    if isinstance(X, (list, tuple)):
        if X and isinstance(X[0], Mapping):
            raise _checks.rows_with_names(X)
        # Cell by cell: NumPy would make strings of a row that holds a string.
        values = np.array(X, dtype=object)
        if values.ndim == 1 and any(isinstance(row, Sequence) and not isinstance(row, str) for row in values):
            raise _checks.ragged_rows()
    elif isinstance(X, np.ma.MaskedArray) and np.ma.getmaskarray(X).any():
        values = np.asarray(X).astype(object)
        values[np.ma.getmaskarray(X)] = None
    else:
        values = np.asarray(X)
    if values.ndim != 2:
        raise _checks.not_two_dimensional(values.shape)
    return _checked(_ArraySource(values))


def open_frame(X: Any) -> nw.DataFrame[Any] | None:
    try:
        frame = nw.from_native(X, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError:
        raise _checks.duplicate_names(list(X.column_names if hasattr(X, "column_names") else X.columns)) from None
    if isinstance(frame, nw.LazyFrame):
        raise _checks.lazy_table()
    if isinstance(frame, nw.Series):
        raise _checks.not_two_dimensional(frame.shape)
    if isinstance(frame, nw.DataFrame):
        return frame
    if hasattr(X, "__arrow_c_stream__"):
        return nw.DataFrame.from_arrow(X, backend="pyarrow")
    return None


def _checked(source: _Source) -> _Source:
    n_samples, n_features = source.shape
    if n_features == 0:
        raise _checks.no_features(source.shape)
    if n_samples == 0:
        raise _checks.no_samples(source.shape)
    if n_samples > MAX_SAMPLES:
        raise _checks.too_many_samples(n_samples, MAX_SAMPLES)
    if source.labels is not None and len(set(source.labels)) < n_features:
        raise _checks.duplicate_names(source.labels)
    return source


def _column_names(source: _Source) -> list[str] | None:
    """Return the column names if they are all strings, None for arrays and for other labels."""
    if source.labels is None:
        return None
    n_strings = sum(isinstance(label, str) for label in source.labels)
    if 0 < n_strings < len(source.labels):
        raise _checks.mixed_names(source.labels)
    return [str(label) for label in source.labels] if n_strings else None


# The table


def _is_plain(X: Any) -> bool:
    """Whether `X` can be used as it is: a 2-D NumPy array of native float32 or float64, not empty, any strides."""
    return (
        isinstance(X, np.ndarray)
        and X.ndim == 2
        and X.dtype in (np.float32, np.float64)
        and X.dtype.isnative
        and X.flags.aligned
        and X.size > 0
        and len(X) <= MAX_SAMPLES
        and not isinstance(X, (np.ma.MaskedArray, np.matrix))
    )


class Table:
    """The columns of a table, read when asked for.

    Made by `learn_table` and `encode_table`; the input is kept, never modified.

    Attributes
    ----------
    schema : Schema
    n_samples, n_features : int
    matrix : ndarray or None
        The input itself if it is a plain 2-D float32 or float64 array (any strides) and every feature is continuous.
    """

    def __init__(self, source: _Source, schema: Schema, matrix: Array | None = None, unseen: str = "as_missing") -> None:
        self.schema = schema
        self.n_samples, self.n_features = source.shape
        self.matrix = matrix
        self._source = source
        self._unseen = unseen
        self._kept: dict[int, Array] = {}  # columns that were slow to read, or small
        self._lookups: dict[int, dict[Category, int]] = {}
        self._numeric: Array | None = None  # an array of numbers, all features continuous: no need to go by columns
        if isinstance(source, _ArraySource) and source.values.dtype.kind in "biuf" and schema.is_continuous:
            self._numeric = source.values

    def column(self, j: int) -> Array:
        """Column of feature `j`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Continuous: float32 or float64, perhaps a strided or read-only view of the input, NaN = missing, never infinite.
            Ordinal, nominal: codes, in the smallest of uint8, uint16, uint32 that holds the number of categories; 0 = missing
            or unseen, category `c` has its index + 1.
        """
        if self.matrix is not None:
            return self.matrix[:, j]
        if j in self._kept:
            return self._kept[j]
        column = self._read(j, 0, self.n_samples)
        if column.nbytes * self.n_features <= SMALL_TABLE:
            self._kept[j] = column
        return column

    def block(self, start: int, stop: int) -> Array:
        """Rows `start` to `stop` as numbers for the walk, codes as floats.

        Returns
        -------
        ndarray of shape (stop - start, n_features)
            float32 or float64; missing or unseen = NaN. A view of the input (any strides) where `matrix` is not None, else a
            new C-ordered float64 array of these rows only.
        """
        if self.matrix is not None:
            return self.matrix[start:stop]
        stop = min(stop, self.n_samples)
        if self._numeric is not None:
            block = self._numeric[start:stop].astype(np.float64, order="C")
            _check_finite_matrix(block, self.schema, start)
            return block
        block = np.empty((stop - start, self.n_features))
        for j, feature in enumerate(self.schema.features):
            if feature.categories is not None and len(feature.categories) > MANY_CATEGORIES and j not in self._kept:
                self._kept[j] = self._read(j, 0, self.n_samples)
            column = self._kept[j][start:stop] if j in self._kept else self._read(j, start, stop)
            block[:, j] = column
            if feature.kind is not Kind.CONTINUOUS:
                block[column == 0, j] = np.nan
        return block

    def _read(self, j: int, start: int, stop: int) -> Array:
        feature = self.schema.features[j]
        return self._encode(j, self._source.cells(j, start, stop, feature.name), start)

    def _encode(self, j: int, cells: Cells, first_row: int) -> Array:
        feature = self.schema.features[j]
        if feature.categories is None:
            return _continuous(cells, feature.name, first_row)
        if j not in self._lookups:
            self._lookups[j] = {category: code for code, category in enumerate(feature.categories, start=1)}
        labels = _as_labels(cells)
        codes, unknown = _codes(labels, self._lookups[j])
        if (
            unknown is not None
            and not codes.any()
            and feature.categories
            and isinstance(unknown.values[0], str) != isinstance(feature.categories[0], str)
        ):
            # every cell would pass for missing, and nobody would know
            raise _checks.other_type(feature.name, unknown.values[0], first_row + unknown.row, feature.categories)
        if unknown is not None and self._unseen == "error":
            raise _checks.unseen_categories(feature.name, unknown.values, first_row + unknown.row, feature.categories)
        return codes


def _continuous(cells: Cells, name: str, first_row: int) -> Array:
    """Cells as float32 or float64; labels too, if they are numbers."""
    if isinstance(cells, Labels):
        label = next((label for label in cells.values if isinstance(label, str)), None)
        if label is not None:
            row = int(np.argmax(cells.positions == cells.values.index(label)))
            raise _checks.not_numbers(name, label, first_row + row)
        values = np.array([*cells.values, np.nan], dtype=np.float64)[cells.positions]
    else:
        values = cells.floats()
    _check_finite(values, name, first_row)
    return values


def _check_finite(values: Array, name: str, first_row: int) -> None:
    # A sum is finite only if all its terms are, and it is the cheapest look at all values.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    infinite = np.isinf(values)
    if infinite.any():
        raise _checks.infinite_values(name, int(np.count_nonzero(infinite)), first_row + int(np.argmax(infinite)))


def _check_finite_matrix(values: Array, schema: Schema, first_row: int) -> None:
    if _core.holds_infinity(values):
        for j, feature in enumerate(schema.features):
            _check_finite(values[:, j], feature.name, first_row)


def _as_labels(cells: Cells) -> Labels:
    return cells if isinstance(cells, Labels) else cells.labels()


@dataclass(frozen=True)
class _Unknown:
    """Labels that have no code, and the first row where one occurs."""

    values: list[Any]
    row: int


def _codes(labels: Labels, lookup: Mapping[Category, int]) -> tuple[Array, _Unknown | None]:
    """Codes of the cells, by value: the labels' own order does not matter."""
    code_of = np.zeros(len(labels.values) + 1, dtype=np.min_scalar_type(len(lookup)))  # the last entry serves position -1
    code_of[:-1] = [lookup.get(label, 0) for label in labels.values]
    codes = code_of[labels.positions]
    unknown = None
    without_code = code_of[:-1] == 0
    if without_code.any():
        hits = np.append(without_code, False)[labels.positions]
        if hits.any():
            occurring = np.unique(labels.positions[hits])
            unknown = _Unknown([labels.values[position] for position in occurring], int(np.argmax(hits)))
    return codes, unknown


# Learning a schema


@lru_cache(maxsize=64)
def _continuous_schema(n_features: int) -> Schema:
    return Schema(tuple(Feature(f"x{j}", Kind.CONTINUOUS) for j in range(n_features)))


def learn_table(
    X: Any,
    *,
    categorical_features: Iterable[Any] | None = None,
    ordinal_features: Mapping[Any, Sequence[Category]] | None = None,
    integers: str = "continuous",
) -> Table:
    """Learn the kinds and categories of a table for `fit`.

    Float and integer columns are continuous; booleans, strings and unordered categories nominal; ordered categories of pandas
    and Arrow ordinal. Columns of Python objects are numeric if every cell that is not missing is a number. Categories come in
    declared order, absent ones included, where pandas or an Enum declares them; else those that occur, sorted.

    Parameters
    ----------
    X : data frame (pandas, polars, Arrow or any that narwhals knows), array or list of rows
        Missing: NaN, None, NA, null, NaT, masked. Integers beyond 2**53 are rounded where their column is continuous.
    categorical_features : list of column names or indices, or boolean mask, optional
        Columns to make nominal; numbers keep their type as categories. In a table whose column labels are integers, an
        integer that is a label is that column, else it is an index.
    ordinal_features : dict of column name or index to list of values from low to high, optional
        Columns to make ordinal; every value that occurs must be listed.
    integers : {"continuous", "nominal"}
        Kind of integer columns.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        Infinite values, complex numbers, wrong shape, empty table, duplicate names, a value that an order does not list.
    TypeError
        Sparse or lazy tables, dates, nested or mixed cells.
    """
    if categorical_features is None and ordinal_features is None and _is_plain(X):
        return _plain_table(X, _continuous_schema(X.shape[1]))
    if integers not in ("continuous", "nominal"):
        raise _checks.wrong_choice("integers", integers, ("continuous", "nominal"))
    source = _open(X)
    column_names = _column_names(source)
    names = column_names or [f"x{j}" for j in range(source.shape[1])]
    if categorical_features is None and ordinal_features is None and source.matrix is not None:
        continuous = tuple(Feature(name, Kind.CONTINUOUS) for name in names)
        return _plain_table(source.matrix, Schema(continuous, has_names=column_names is not None))
    labels = source.labels or names
    nominal = _nominal_columns(categorical_features, labels)
    orders = _orders(ordinal_features, labels, names)
    if both := nominal & orders.keys():
        raise _checks.two_kinds(names[min(both)])

    features: list[Feature] = []
    kept: dict[int, Array] = {}
    for j, name in enumerate(names):
        cells = source.cells(j, 0, source.shape[0], name)
        feature = _learn_feature(name, cells, j in nominal, orders.get(j), integers)
        features.append(feature)
        if feature.categories is not None:
            kept[j] = _learned_codes(cells, feature, j in orders)
        elif isinstance(cells, Numbers):
            small = cells.values.itemsize * source.shape[0] * source.shape[1] <= SMALL_TABLE
            if small or cells.parsed or cells.values.dtype.kind == "f":
                column = _continuous(cells, name, 0)
                if small or cells.parsed:
                    kept[j] = column
    table = Table(source, Schema(tuple(features), has_names=column_names is not None))
    table._kept = kept
    return table


def _plain_table(X: Array, schema: Schema) -> Table:
    X = np.asarray(X)
    _check_finite_matrix(X, schema, 0)
    return Table(_ArraySource(X), schema, matrix=X)


def _learn_feature(name: str, cells: Cells, named_nominal: bool, order: tuple[Category, ...] | None, integers: str) -> Feature:
    if order is not None:
        return Feature(name, Kind.ORDINAL, order)
    if isinstance(cells, Numbers) and not named_nominal:
        kind = cells.values.dtype.kind
        if kind == "f" or (kind in "iu" and integers == "continuous"):
            return Feature(name, Kind.CONTINUOUS)
    if isinstance(cells, Numbers) and cells.values.dtype.kind == "f":
        _check_finite(cells.values, name, 0)
    labels = _as_labels(cells)
    meaning = Kind.ORDINAL if labels.ordered and not named_nominal else Kind.NOMINAL
    if labels.declared:
        return Feature(name, meaning, _of_one_type(labels.values))
    return Feature(name, meaning, _sorted_occurring(labels))


def _sorted_occurring(labels: Labels) -> tuple[Category, ...]:
    occurs = np.bincount(labels.positions + 1, minlength=len(labels.values) + 1)[1:] > 0
    return tuple(sorted(itertools.compress(labels.values, occurs)))


def _learned_codes(cells: Cells, feature: Feature, is_ordered_by_user: bool) -> Array:
    categories = feature.categories or ()
    codes, unknown = _codes(_as_labels(cells), {category: code for code, category in enumerate(categories, start=1)})
    if unknown is not None and is_ordered_by_user:
        raise _checks.not_in_order(feature.name, unknown.values, unknown.row, categories)
    return codes


def _column_index(parameter: str, given: Any, labels: Sequence[Any]) -> int:
    """Index of a column named by its label or its index; a label wins where both are integers."""
    is_index = isinstance(given, numbers.Integral) and not isinstance(given, (bool, np.bool_))
    if not is_index and not isinstance(given, str):
        raise _checks.wrong_type_of_features(parameter, given, "column names or indices")
    if given in labels:
        return list(labels).index(given)
    if is_index and 0 <= given < len(labels):
        return int(given)
    raise _checks.unknown_feature(parameter, given, labels)


def _nominal_columns(categorical_features: Iterable[Any] | None, labels: Sequence[Any]) -> set[int]:
    parameter = "categorical_features"
    if categorical_features is None:
        return set()
    if isinstance(categorical_features, (str, Mapping)) or not isinstance(categorical_features, Iterable):
        raise _checks.wrong_type_of_features(
            parameter, categorical_features, "a list of column names or indices, or a boolean mask"
        )
    given = list(categorical_features)
    if given and all(isinstance(entry, (bool, np.bool_)) for entry in given):
        if len(given) != len(labels):
            raise _checks.wrong_mask(parameter, len(given), len(labels))
        return {j for j, is_nominal in enumerate(given) if is_nominal}
    return {_column_index(parameter, entry, labels) for entry in given}


def _orders(
    ordinal_features: Mapping[Any, Sequence[Category]] | None, labels: Sequence[Any], names: Sequence[str]
) -> dict[int, tuple[Category, ...]]:
    parameter = "ordinal_features"
    if ordinal_features is None:
        return {}
    if not isinstance(ordinal_features, Mapping):
        raise _checks.wrong_type_of_features(
            parameter, ordinal_features, "a dict of column names or indices to lists of values from low to high"
        )
    orders: dict[int, tuple[Category, ...]] = {}
    for given, order in ordinal_features.items():
        j = _column_index(parameter, given, labels)
        orders[j] = _order(names[j], order)
    return orders


def _order(name: str, order: Any) -> tuple[Category, ...]:
    if isinstance(order, (str, Mapping)) or not isinstance(order, Iterable):
        raise _checks.wrong_order(name, order)
    values = tuple(value.item() if isinstance(value, np.generic) else value for value in order)
    groups = {group(type(value)) for value in values}
    legal = groups == {Group.TEXT} or (groups and groups <= {Group.BOOLEAN, Group.INTEGER, Group.REAL})
    if not legal or len(set(values)) < len(values) or any(value != value for value in values):
        raise _checks.wrong_order(name, order)
    return _of_one_type(values)


def _of_one_type(values: Sequence[Any]) -> tuple[Category, ...]:
    """Numbers and truth values as the widest of their types, as a column that holds them all has them; texts as they are."""
    groups = {group(type(value)) for value in values}
    widest = next((of for found, of in ((Group.REAL, float), (Group.INTEGER, int)) if found in groups), None)
    if widest is None:
        return tuple(values)
    converted = tuple(widest(value) for value in values)
    return converted if len(set(converted)) == len(values) else tuple(values)


# Prediction


def encode_table(X: Any, schema: Schema, *, unseen: str = "as_missing", estimator_name: str = "this tree") -> Table:
    """Encode a table by a learned schema, for prediction; rows are read when `Table.block` asks for them.

    Parameters
    ----------
    X : as in `learn_table`
        Columns as in fit: of a data frame the same names in the same order, else the same number. They may arrive in another
        type: categories are compared by value in their own type, so that 1 and 1.0 are the category 1 and "1" is not.
    schema : Schema
    unseen : {"as_missing", "error"}
        What happens to a category that fit did not see: code 0, or a ValueError when its row is read.
    estimator_name : str
        For messages.

    Warns
    -----
    UserWarning
        Only one of `X` and the schema has column names.

    Raises
    ------
    ValueError
        Another number of columns, other names or another order of names, infinite values.
    TypeError
        Strings in a continuous column; all that `learn_table` refuses.
    """
    if unseen not in ("as_missing", "error"):
        raise _checks.wrong_choice("unseen", unseen, ("as_missing", "error"))
    n_features = len(schema.features)
    is_plain = _is_plain(X)
    source = _ArraySource(np.asarray(X)) if is_plain else _open(X)
    matrix = X if is_plain else source.matrix
    column_names = _column_names(source)
    if column_names is not None and schema.has_names:
        expected = [feature.name for feature in schema.features]
        if column_names != expected:
            raise _checks.wrong_names(column_names, expected)
    elif schema.has_names:
        warnings.warn(_checks.names_lost(estimator_name), UserWarning, stacklevel=3)
    elif column_names is not None:
        warnings.warn(_checks.names_gained(estimator_name), UserWarning, stacklevel=3)
    if source.shape[1] != n_features:
        raise _checks.wrong_n_features(source.shape[1], n_features, estimator_name)
    if matrix is not None and schema.is_continuous:
        return _plain_table(matrix, schema)
    return Table(source, schema, unseen=unseen)


def missing_cell(table: Table) -> tuple[Feature, int] | None:
    """First feature with a cell of code 0 or NaN, and the first such row; None if there is none."""
    for j, feature in enumerate(table.schema.features):
        column = table.column(j)
        missing = np.isnan(column) if feature.categories is None else column == 0
        if missing.any():
            return feature, int(missing.argmax())
    return None


def missing_cell_of(X: Any, table: Table) -> tuple[Feature, int] | None:
    """The same for `X`, of which `table` was encoded by a schema: what the schema does not know is not missing."""
    cell = missing_cell(table)
    if cell is not None and cell[0].categories is not None:
        # in codes of its own, X has no unseen category
        categorical = [feature.categories is not None for feature in table.schema.features]
        cell = missing_cell(learn_table(X, categorical_features=categorical))
    return cell


# The target


def _target_cells(y: Any) -> tuple[Cells, bool]:
    """Read a target column; also whether its strings came as objects rather than as a NumPy string array or a list."""
    if y is None:
        raise _checks.no_target()
    if issparse(y):
        raise _checks.sparse_target()
    if isinstance(y, str):
        raise _checks.target_is_a_name(y)
    if not isinstance(y, (np.ndarray, list, tuple)):
        series = nw.from_native(_whole_column(y), pass_through=True, allow_series=True)
        if isinstance(series, nw.DataFrame):
            if series.shape[1] != 1:
                raise _checks.not_one_target(series.shape)
            warnings.warn(_checks.COLUMN_VECTOR, DataConversionWarning, stacklevel=4)
            series = series[:, 0]
        if isinstance(series, nw.Series):
            return _series_cells(series, "y", 0), True
    values = np.array(y, dtype=object) if isinstance(y, (list, tuple)) else np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(_checks.COLUMN_VECTOR, DataConversionWarning, stacklevel=4)
        values = values[:, 0]
    if values.ndim != 1:
        raise _checks.not_one_target(values.shape)
    return _array_cells(values, "y", 0), isinstance(y, np.ndarray) and values.dtype.kind == "O"


def _whole_column(y: Any) -> Any:
    """Wrap a bare pandas or Arrow array, which narwhals does not know, as a column of its library."""
    pandas, pyarrow = nw.dependencies.get_pandas(), nw.dependencies.get_pyarrow()
    if pandas is not None and isinstance(y, (pandas.api.extensions.ExtensionArray, pandas.Index)):
        return pandas.Series(y)
    if pyarrow is not None and isinstance(y, pyarrow.Array):
        return pyarrow.chunked_array([y])
    return y


def _check_target(missing: Array) -> None:
    if missing.any():
        raise _checks.missing_target(int(np.count_nonzero(missing)), int(np.argmax(missing)))


def _check_target_floats(values: Array) -> None:
    if np.isfinite(values).all():
        return
    _check_target(np.isnan(values))
    infinite = np.isinf(values)
    raise _checks.infinite_target(int(np.count_nonzero(infinite)), int(np.argmax(infinite)))


def target_columns(y: Any) -> list[Any] | None:
    """The columns of several targets, each fit for `encode_classes` or `encode_values`; None where y is one target."""
    if y is None or issparse(y):
        return None
    if not isinstance(y, (np.ndarray, list, tuple)):
        frame = nw.from_native(_whole_column(y), pass_through=True, allow_series=True)
        if isinstance(frame, nw.DataFrame):
            return [frame[:, j].to_native() for j in range(frame.shape[1])] if frame.shape[1] > 1 else None
        if isinstance(frame, nw.Series):
            return None
    try:
        values = np.array(y, dtype=object) if isinstance(y, (list, tuple)) else np.asarray(y)
    except ValueError:  # rows of several lengths: no table
        return None
    if values.ndim != 2 or values.shape[1] < 2:
        return None
    return [column if isinstance(y, np.ndarray) else column.tolist() for column in values.T]


def target_names(y: Any, n_targets: int) -> list[str]:
    """Names of the targets: of the columns of y; y, or y0, y1, ... where they have none that is text."""
    names: Sequence[Any] = []
    if not isinstance(y, (np.ndarray, list, tuple)):
        frame = nw.from_native(_whole_column(y), pass_through=True, allow_series=True)
        names = frame.columns if isinstance(frame, nw.DataFrame) else [frame.name] if isinstance(frame, nw.Series) else []
    others = default_target_names(n_targets)
    return (
        [name if isinstance(name, str) and name else other for name, other in zip(names, others, strict=True)]
        if names
        else others
    )


def encode_classes(y: Any) -> tuple[Array, npt.NDArray[np.intp]]:
    """Classes of a target and the code of every sample.

    Parameters
    ----------
    y : column of a data frame, array or list of shape (n_samples,)
        Strings, booleans, integers, integral floats, or categories.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The declared categories in declared order, empty ones included, where pandas or an Enum declares them; else the
        classes that occur, sorted.
    codes : ndarray of intp, shape (n_samples,)
        Index of the class of every sample.

    Raises
    ------
    ValueError
        Missing targets, floats that are not integral, more than one column.
    """
    cells, as_objects = _target_cells(y)
    if isinstance(cells, Numbers):
        if cells.values.dtype.kind == "f":
            _check_target_floats(cells.values)
            fractional = cells.values != np.trunc(cells.values)
            if fractional.any():
                raise _checks.continuous_target(float(cells.values[np.argmax(fractional)]))
        elif cells.missing is not None:
            _check_target(cells.missing)
        classes, codes = _distinct(cells.values)
        return classes, codes.astype(np.intp, copy=False)
    _check_target(cells.positions < 0)
    categories: Sequence[Any] = cells.values
    if not cells.declared:
        categories = _sorted_occurring(cells)
    lookup = {category: code for code, category in enumerate(categories)}
    code_of = np.array([lookup.get(label, -1) for label in cells.values], dtype=np.intp)
    is_text = any(isinstance(category, str) for category in categories)
    return np.array(categories, dtype=object if as_objects and is_text else None), code_of[cells.positions]


def encode_values(y: Any) -> npt.NDArray[np.float64]:
    """Target of a regression.

    Parameters
    ----------
    y : column of a data frame, array or list of shape (n_samples,)

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        Finite and contiguous; the input itself where it is that already.

    Raises
    ------
    ValueError
        Missing, infinite or non-numeric targets, more than one column.
    """
    cells, _ = _target_cells(y)
    if isinstance(cells, Labels):
        _check_target(cells.positions < 0)
        label = next((label for label in cells.values if isinstance(label, str)), None)
        if label is not None:
            raise _checks.target_not_numeric(label)
        values = np.array(cells.values, dtype=np.float64)[cells.positions]
    else:
        if cells.missing is not None:
            _check_target(cells.missing)
        values = np.ascontiguousarray(cells.values, dtype=np.float64)
    _check_target_floats(values)
    return values
