"""Tables in pieces: Parquet files and batches of Arrow, column by column.

A column gets the kind that `learn_table` gives it when it sees all rows at once.  Categories are numbered as they come, and put
in their order when all rows are read.
"""

from __future__ import annotations

import contextlib
import glob
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree._data import errors
from fasttree._data.cells import Cells, Labels, Numbers, array_cells, as_labels
from fasttree._data.frames import arrow_cells, column_cells
from fasttree._data.learn import nominal_columns, of_one_type, orders_of
from fasttree._data.schema import Category, Feature, Kind
from fasttree._data.table import check_finite
from fasttree._scale.messages import N_CODES

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]

MOST_CATEGORIES = 2**16 - 1  # of a column
MOST_CLASSES = 2**16
ROWS_AT_ONCE = 2**16  # of a Parquet file, at most
BYTES_AT_ONCE = 2**24  # of values
BUFFER_BYTES = 2**18  # of a column of a Parquet file, whose row groups may be larger than memory

NO_ARROW = "reads Parquet and Arrow with pyarrow, which is not installed: pip install 'fasttree[parquet]'"


class RowBatch(NamedTuple):
    """Some rows.

    Parameters
    ----------
    columns : dict of str to Arrow column
    n_rows : int
    where : str
        File or batch, for messages.
    """

    columns: Mapping[str, Any]
    n_rows: int
    where: str


class ParquetFiles:
    """Rows of Parquet files, in the order of their names.

    Parameters
    ----------
    paths : path, pattern such as "trips/*.parquet", or list of paths
    """

    def __init__(self, paths: Any) -> None:
        try:
            import pyarrow.parquet
        except ModuleNotFoundError:
            raise ImportError(f"Dataset.from_parquet {NO_ARROW}") from None
        self._parquet = pyarrow.parquet
        self.paths = _found(paths)
        self.seen = [_state(path) for path in self.paths]
        self.names: list[str] = []
        self.value_bytes: dict[str, int] = {}  # of a value on the disk
        self.n_rows: int | None = 0
        for path in self.paths:
            with _as_own_error(path), self._parquet.ParquetFile(path) as file:
                schema, n_rows = file.schema_arrow, file.metadata.num_rows
            names = schema.names
            for name, kind in zip(names, schema.types, strict=True):
                self.value_bytes[name] = max(self.value_bytes.get(name, 4), 8 if _is_wide(kind) else 4)
            self.names = self.names or list(names)
            _check_columns(path, names, self.paths[0], self.names)
            self.n_rows += n_rows

    def batches(self, names: Sequence[str]) -> Iterator[RowBatch]:
        """Yield the rows with some of the columns.

        Raises
        ------
        OSError
            If a file is no longer what it was.
        """
        for path, seen in zip(self.paths, self.seen, strict=True):
            _check_unchanged(path, seen)
            with _as_own_error(path):
                file = self._parquet.ParquetFile(
                    path, page_checksum_verification=True, pre_buffer=False, buffer_size=BUFFER_BYTES
                )
            with file:
                n_rows = min(ROWS_AT_ONCE, max(BYTES_AT_ONCE // (8 * len(names)), 1))
                yield from self._rows(path, file.iter_batches(n_rows, columns=list(names)), names)
            _check_unchanged(path, seen)

    def _rows(self, path: str, batches: Iterator[Any], names: Sequence[str]) -> Iterator[RowBatch]:
        n_read = 0
        while True:
            with _as_own_error(path, f" after row {n_read:,}"):
                batch = next(batches, None)
            if batch is None:
                return
            n_read += batch.num_rows
            yield RowBatch({name: batch.column(name) for name in names}, batch.num_rows, path)


def release_memory() -> None:
    """Let Arrow return the memory of batches that are no longer needed to the system."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None:
        pyarrow.default_memory_pool().release_unused()


class ArrowBatches:
    """Rows of batches that a function makes.

    Parameters
    ----------
    make : callable
        Returns an iterator of Arrow tables or record batches.
    n_rows : int or None, default=None
        Rows of all batches, if their number is known.
    """

    def __init__(self, make: Callable[[], Iterable[Any]], n_rows: int | None = None) -> None:
        if not callable(make):
            raise TypeError(
                f"make_batches is a {type(make).__name__}: must be a function that returns an iterator of Arrow tables"
            )
        self._make = make
        first = next(iter(make()), None)
        if first is None:
            raise ValueError("make_batches() yields no batch: there must be at least one")
        if not hasattr(first, "schema") or not hasattr(first, "num_rows"):
            raise TypeError(f"make_batches() yields a {type(first).__name__}: must yield Arrow tables or record batches")
        self.names = list(first.schema.names)
        self.value_bytes = dict.fromkeys(self.names, 8)
        self.n_rows = n_rows

    def batches(self, names: Sequence[str]) -> Iterator[RowBatch]:
        """Yield the rows with some of the columns."""
        for number, found in enumerate(self._make()):
            _check_columns(f"batch {number}", found.schema.names, "batch 0", self.names)
            yield RowBatch({name: found.column(name) for name in names}, found.num_rows, f"batch {number}")


Source: TypeAlias = ParquetFiles | ArrowBatches


def _found(paths: Any) -> list[str]:
    """Return the paths of files, sorted if a pattern names them."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found: list[str] = []
    for path in (str(os.fspath(path)) for path in given):
        if os.path.isdir(path):
            path = os.path.join(glob.escape(path), "*.parquet")
        matches = sorted(glob.glob(path)) if not os.path.exists(path) else [path]
        if not matches:
            raise FileNotFoundError(f"{path}: there is no such file")
        found += matches
    if not found:
        raise ValueError("paths is empty: name at least one Parquet file")
    return found


def _state(path: str) -> tuple[int, int]:
    """Return what changes if a file is written."""
    state = os.stat(path)
    return state.st_size, state.st_mtime_ns


def _is_wide(kind: Any) -> bool:
    """Whether a value of an Arrow type is written with 8 bytes, as `FeatureColumn` reads it; codes and narrow numbers have 4."""
    import pyarrow.types

    narrow = (pyarrow.types.is_float32, pyarrow.types.is_int8, pyarrow.types.is_int16, pyarrow.types.is_uint8)
    codes = (pyarrow.types.is_string, pyarrow.types.is_large_string, pyarrow.types.is_dictionary, pyarrow.types.is_boolean)
    return not any(test(kind) for test in (*narrow, *codes, pyarrow.types.is_null, pyarrow.types.is_uint16))


def _check_unchanged(path: str, seen: tuple[int, int]) -> None:
    try:
        changed = _state(path) != seen
    except FileNotFoundError:
        changed = True
    if changed:
        raise OSError(f"{path} has changed since the Dataset was made: make a new one")


@contextlib.contextmanager
def _as_own_error(path: str, where: str = "") -> Iterator[None]:
    """Name the file in an error of pyarrow about what is in it."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, UnicodeDecodeError, OSError) as error:
        if isinstance(error, (FileNotFoundError, PermissionError)):
            raise
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(
            f"{path} cannot be read as Parquet{where}, because it is another kind of file, or a part of it is missing or "
            f"damaged: write it again, or leave it out ({reason})"
        ) from None


def _check_columns(where: str, names: Iterable[str], first: str, wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in set(names)]
    if missing:
        raise ValueError(f"{where} has no column {errors.listing(missing)}, which {first} has: all must have the same columns")


# Columns


def cells_of(column: Any, name: str, first_row: int) -> Cells:
    """Read a column of Arrow or of a data frame, or an array."""
    if isinstance(column, np.ndarray):
        return array_cells(column, name, first_row)
    return arrow_cells(column, name, first_row) if hasattr(column, "to_pylist") else column_cells(column, name, first_row)


class FeatureColumn:
    """A feature while its rows are read.

    Parameters
    ----------
    name : str
    is_nominal : bool
        The caller names it as nominal.
    order : tuple or None
        The caller gives its categories from low to high.
    """

    def __init__(self, name: str, is_nominal: bool, order: tuple[Category, ...] | None) -> None:
        self.name = name
        self.first_missing = -1  # row
        self.extremes = np.empty(0)  # the smallest and the largest number
        self._is_nominal = is_nominal or order is not None
        self._order = order
        self._dtype: Any = None  # of a continuous column; None until a value is seen
        self._declared: tuple[Category, ...] | None = None
        self._is_ordered = False
        self._codes: dict[Category, int] = {}
        self._group: Any = None  # of the categories: text, numbers or truth values
        self._is_text = False  # or truth values, of which none may have been seen

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of a continuous column: the widest so far."""
        return np.dtype(self._dtype or np.float64)

    def read(self, batch: RowBatch, first_row: int) -> Array:
        """Return the values of a batch: floats, or codes of categories as they were numbered."""
        cells = cells_of(batch.columns[self.name], self.name, first_row)
        is_number = isinstance(cells, Numbers) and cells.values.dtype.kind != "b"
        if not is_number and self._dtype is not None and _is_empty(cells):
            cells, is_number = Numbers(np.full(batch.n_rows, np.nan)), True
        self._is_text |= not is_number
        if isinstance(cells, Numbers) and is_number and not self._is_nominal and not (self._codes and _is_empty(cells)):
            if self._codes:
                raise self._mixed(batch, "numbers", "categories")
            values = self._floats(cells, batch, first_row)
        else:
            values = self._labels(cells, batch, first_row)
            self._note_missing(values == 0, first_row)
        return values

    def _note_missing(self, missing: Array, first_row: int) -> None:
        if self.first_missing < 0 and missing.any():
            self.first_missing = first_row + int(np.argmax(missing))

    def _floats(self, cells: Numbers, batch: RowBatch, first_row: int) -> Array:
        kind, size = cells.values.dtype.kind, cells.values.dtype.itemsize
        dtype = np.dtype(np.float32 if size <= (4 if kind == "f" else 2) else np.float64)
        if size < 8 or kind != "f" or not np.isnan(cells.values).all():
            self._dtype = dtype if self._dtype is None else np.promote_types(self._dtype, dtype)
        values = cells.floats().astype(self.dtype, copy=False)
        if not len(values):
            return values
        ends = np.array([values.min(), values.max()], dtype=np.float64)
        if np.isnan(ends[0]):
            self._note_missing(np.isnan(values), first_row)
            ends = np.array([np.fmin.reduce(values), np.fmax.reduce(values)], dtype=np.float64)
        if np.isinf(ends).any():
            check_finite(values, self.name, first_row)
        found = np.append(self.extremes, ends[~np.isnan(ends)])
        self.extremes = np.array([found.min(), found.max()]) if found.size else found
        return values

    def _labels(self, cells: Cells, batch: RowBatch, first_row: int) -> Array:
        labels = as_labels(cells)
        if not labels.values:
            return np.zeros(batch.n_rows, dtype=np.uint32)
        if self._dtype is not None:
            raise self._mixed(batch, "categories", "numbers")
        found = "text" if isinstance(labels.values[0], str) else "truth values" if _is_truth(labels.values[0]) else "numbers"
        if self._group not in (None, found):
            raise self._mixed(batch, found, self._group)
        self._group = found
        if self._codes and labels.declared != (self._declared is not None) and self._order is None:
            raise self._mixed(batch, *("declared categories", "plain values")[:: 1 if labels.declared else -1])
        if labels.declared and self._order is None:
            self._declare(labels, batch)
        values = of_one_type(labels.values) if labels.declared else tuple(labels.values)
        if self._order is not None:
            self._check_order(labels, first_row)
        used = labels.occurring()
        for position in used.tolist():
            self._codes.setdefault(values[position], len(self._codes) + 1)
        self._check_number()
        code_of = np.zeros(len(values) + 1, dtype=np.uint32)  # the last entry serves position -1
        code_of[used] = [self._codes[values[position]] for position in used.tolist()]
        codes: Array = code_of[labels.positions]
        return codes

    def _check_number(self) -> None:
        if len(self._codes) > MOST_CATEGORIES:
            raise ValueError(
                f"column {self.name!r} has more than {MOST_CATEGORIES:,} categories, which a Dataset does not take: leave it "
                f"out by features=, or group its categories"
            )

    def _mixed(self, batch: RowBatch, found: str, before: str) -> TypeError:
        return TypeError(
            f"column {self.name!r} of {batch.where} has {found}, and rows before it have {before}: give the column one type "
            f"in all files, or leave it out by features="
        )

    def _declare(self, labels: Labels, batch: RowBatch) -> None:
        """Note declared categories: those of an order must be the same everywhere, others are added to those before."""
        found = of_one_type(labels.values)
        self._is_ordered = labels.ordered and not self._is_nominal
        if self._declared is None or not self._is_ordered:
            self._declared = tuple(dict.fromkeys([*(self._declared or ()), *found]))
        elif found != self._declared:
            raise ValueError(
                f"column {self.name!r} of {batch.where} declares the order {errors.listing(found)}, and rows before it "
                f"{errors.listing(self._declared)}: give the column one order in all files"
            )

    def _check_order(self, labels: Labels, first_row: int) -> None:
        assert self._order is not None
        strangers = [value for value in labels.values if value not in self._order]
        hits = np.isin(labels.positions, [i for i, value in enumerate(labels.values) if value in strangers])
        if hits.any():
            raise errors.not_in_order(self.name, strangers, first_row + int(np.argmax(hits)), self._order)

    def absorb(self, other: FeatureColumn, first_row: int) -> Array | None:
        """Learn what another reader has learned of the rows from `first_row` on.

        Returns
        -------
        array or None
            By code of the other reader: the code here; None if it has read no category.
        """
        if (self._codes and other._dtype is not None) or (other._codes and self._dtype is not None):
            raise self._of_two_types("categories", "numbers")
        if self._group is not None and other._group not in (None, self._group):
            raise self._of_two_types(self._group, other._group)
        if self._codes and other._codes and (self._declared is None) != (other._declared is None):
            raise self._of_two_types("declared categories", "plain values")
        self._group = self._group or other._group
        self._is_text |= other._is_text
        if self.first_missing < 0 <= other.first_missing:
            self.first_missing = first_row + other.first_missing
        if other._dtype is not None:
            self._dtype = np.promote_types(self._dtype or other._dtype, other._dtype)
        if other._declared is not None:
            self._is_ordered |= other._is_ordered
            self._declared = _declared_by_both(self.name, self._declared, other._declared, self._is_ordered)
        for category in other._codes:
            self._codes.setdefault(category, len(self._codes) + 1)
        self._check_number()
        return np.array([0, *(self._codes[category] for category in other._codes)], dtype=np.uint32) if other._codes else None

    def _of_two_types(self, one: str, other: str) -> TypeError:
        return TypeError(f"column {self.name!r} has {one} in some partitions, and {other} in others: give it one type")

    @property
    def is_continuous(self) -> bool:
        """Whether it has numbers, as far as it is read."""
        if self._codes or self._order is not None or self._declared is not None or self._is_nominal:
            return False
        return self._dtype is not None or not self._is_text

    def learned(self) -> tuple[Feature, Array | None]:
        """Return the feature, and for one with categories the code of each category as they were numbered."""
        if self.is_continuous:
            return Feature(self.name, Kind.CONTINUOUS), None
        categories = self._order or self._declared or tuple(sorted(self._codes))
        code_of = np.zeros(len(self._codes) + 1, dtype=np.uint8 if len(categories) < N_CODES else np.uint16)
        place = {category: code for code, category in enumerate(categories, 1)}
        for category, number in self._codes.items():
            code_of[number] = place[category]
        kind = Kind.ORDINAL if self._order is not None or self._is_ordered else Kind.NOMINAL
        return Feature(self.name, kind, categories), code_of


def _declared_by_both(name: str, one: tuple[Any, ...] | None, other: tuple[Any, ...], is_ordered: bool) -> tuple[Any, ...]:
    """Return the categories that two parts of a column declare, those of the first one first."""
    if one is None or one == other:
        return other
    if is_ordered:
        raise ValueError(f"column {name!r} declares other categories in some partitions than in others, and they are ordered")
    return tuple(dict.fromkeys([*one, *other]))


def _is_empty(cells: Cells) -> bool:
    """Whether a batch of a column has no value, and so no type."""
    if isinstance(cells, Labels):
        return not cells.values
    missing = np.isnan(cells.values) if cells.values.dtype.kind == "f" else cells.missing
    return missing is not None and bool(missing.all())


def _is_truth(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


class TargetColumn:
    """The column to predict while its rows are read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.labels: dict[Any, int] = {}
        self._declared: tuple[Any, ...] | None = None
        self.numbers: Array | None = np.empty(0)  # distinct ones; None: more than there may be classes
        self.is_text = False
        self.has_fractions = False
        self._dtype: np.dtype[Any] | None = None
        self.label_dtype: np.dtype[Any] | None = None  # None: as the labels are

    @property
    def is_numeric(self) -> bool:
        """Whether the rows read so far have numbers, not labels or truth values."""
        return self._dtype is not None and self._dtype.kind != "b"

    def read(self, batch: RowBatch, first_row: int) -> Floats:
        """Return numbers, or labels as they were numbered."""
        cells = cells_of(batch.columns[self.name], self.name, first_row)
        if isinstance(cells, Labels):
            return self._read_labels(cells, batch, first_row)
        if self.is_text:
            raise TypeError(f"the target {self.name!r} of {batch.where} has numbers, and rows before it have labels")
        values = cells.values.astype(np.float64)
        missing = np.isnan(values) if cells.missing is None else cells.missing
        self._check(missing, batch, first_row)
        if np.isinf(values).any():
            raise errors.infinite_target(int(np.isinf(values).sum()), first_row + int(np.argmax(np.isinf(values))))
        self._dtype = cells.values.dtype if self._dtype is None else np.promote_types(self._dtype, cells.values.dtype)
        if cells.values.dtype.kind == "f" and not self.has_fractions:
            self.has_fractions = bool((values != np.trunc(values)).any())
        if self.numbers is not None:
            self.numbers = np.union1d(self.numbers, values) + 0.0
            self._check_numbers()
        return values

    def _check(self, missing: Array, batch: RowBatch, first_row: int) -> None:
        if missing.any():
            raise errors.missing_target(int(np.count_nonzero(missing)), first_row + int(np.argmax(missing)))

    def _read_labels(self, cells: Labels, batch: RowBatch, first_row: int) -> Floats:
        if self._dtype is not None:
            raise TypeError(f"the target {self.name!r} of {batch.where} has labels, and rows before it have numbers")
        self.is_text = True
        self._check(cells.positions < 0, batch, first_row)
        if cells.declared:
            self._declared = tuple(dict.fromkeys([*(self._declared or ()), *cells.values]))
        elif self._declared is not None:
            raise TypeError(f"the target {self.name!r} of {batch.where} has plain labels, and rows before it a dictionary")
        used = cells.occurring()
        for position in used.tolist():
            self.labels.setdefault(cells.values[position], len(self.labels))
        self._check_labels()
        code_of = np.zeros(len(cells.values))
        code_of[used] = [self.labels[cells.values[position]] for position in used.tolist()]
        codes: Floats = code_of[cells.positions]
        return codes

    def absorb(self, other: TargetColumn) -> Array | None:
        """Learn what another reader has learned of other rows; return the code here of each of its labels, None for numbers."""
        is_empty = not self.is_text and self._dtype is None
        if not is_empty and self.is_text != other.is_text:
            raise TypeError(f"the target {self.name!r} has labels in some partitions, and numbers in others: give it one type")
        self.is_text, self.has_fractions = other.is_text, self.has_fractions or other.has_fractions
        if other._dtype is not None:
            self._dtype = np.promote_types(self._dtype or other._dtype, other._dtype)
        if other._declared is not None:
            self._declared = _declared_by_both(self.name, self._declared, other._declared, False)
        if self.numbers is not None:
            self.numbers = None if other.numbers is None else np.union1d(self.numbers, other.numbers)
            self._check_numbers()
        for label in other.labels:
            self.labels.setdefault(label, len(self.labels))
        self._check_labels()
        return np.array([float(self.labels[label]) for label in other.labels]) if other.is_text else None

    def _check_labels(self) -> None:
        if len(self.labels) > MOST_CLASSES:
            raise ValueError(
                f"the target {self.name!r} has more than {MOST_CLASSES} classes: name a column of numbers, or of fewer"
            )

    def _check_numbers(self) -> None:
        if self.numbers is not None and len(self.numbers) > MOST_CLASSES:
            self.numbers = None

    def state(self) -> dict[str, Any]:
        """Return what is known after all rows, as JSON has it."""
        dtype = None if self._dtype is None else self._dtype.str
        numbers = None if self.numbers is None else self.numbers.tolist()
        return {"labels": list(self.labels), "declared": self._declared, "numbers": numbers, "is_text": self.is_text,
                "has_fractions": self.has_fractions, "dtype": dtype}  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take a state over."""
        self.labels = {label: code for code, label in enumerate(state["labels"])}
        self._declared = None if state["declared"] is None else tuple(state["declared"])
        self.numbers = None if state["numbers"] is None else np.array(state["numbers"], dtype=np.float64)
        self.is_text, self.has_fractions = state["is_text"], state["has_fractions"]
        self._dtype = None if state["dtype"] is None else np.dtype(state["dtype"])

    def classes(self) -> tuple[Array, Array]:
        """Return the classes as `encode_classes` does, and the code of each label as they were numbered, or the numbers."""
        if self.is_text:
            classes = self._declared or tuple(sorted(self.labels))
            place = {label: code for code, label in enumerate(classes)}
            code_of = np.array([place[label] for label in self.labels], dtype=np.uint16)
            text = any(isinstance(label, str) for label in classes)
            return np.array(classes, dtype=self.label_dtype or (object if text else None)), code_of
        if self.numbers is None:
            raise ValueError(f"the target {self.name!r} has more than {MOST_CLASSES} different numbers: use CARTRegressor")
        fractional = self.numbers != np.trunc(self.numbers)
        if fractional.any():
            raise errors.continuous_target(float(self.numbers[np.argmax(fractional)]))
        assert self._dtype is not None
        return self.numbers.astype(self._dtype), self.numbers


def columns_of(
    names: Sequence[str],
    categorical_features: Iterable[Any] | None,
    ordinal_features: Mapping[Any, Sequence[Category]] | None,
) -> list[FeatureColumn]:
    """Return readers of the features."""
    nominal = nominal_columns(categorical_features, names)
    orders = orders_of(ordinal_features, names, names)
    if both := nominal & orders.keys():
        raise errors.two_kinds(names[min(both)])
    return [FeatureColumn(name, j in nominal, orders.get(j)) for j, name in enumerate(names)]
