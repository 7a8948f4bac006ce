"""Data frames of any library, read through narwhals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

from fasttree._data import errors
from fasttree._data.cells import (
    FLOAT32,
    FLOAT64,
    Array,
    Cells,
    Labels,
    Numbers,
    array_cells,
    check_labels,
    is_plain_frame,
    object_cells,
    occurring,
)
from fasttree._engine import encoding

_TO_VALUES = {  # methods of lazy data frames that return one with values
    nw.Implementation.POLARS: ["collect"],
    nw.Implementation.DUCKDB: ["df", "pl", "arrow"],
    nw.Implementation.DASK: ["compute"],
    nw.Implementation.IBIS: ["to_pandas", "to_polars", "to_pyarrow"],
    nw.Implementation.PYSPARK: ["toPandas"],  # `collect` of this and the next two returns a list of rows
    nw.Implementation.PYSPARK_CONNECT: ["toPandas"],
    nw.Implementation.SQLFRAME: ["toPandas"],
}
_FEW_TEXTS = 512  # distinct ones
_TYPES_OF_ENDS = {"string": np.int32, "large_string": np.int64}  # of texts of Arrow, which lie one after the other


def series_cells(series: nw.Series[Any], name: str, first_row: int) -> Cells:
    """Read a column of a data frame by its type, with the library's own dictionary encoding for strings."""
    if series.implementation.is_polars():
        series = series.alias("")  # methods of polars columns, too, take a name such as ^a$ for a pattern
    if series.implementation.is_pandas():
        return _pandas_cells(series.to_native(), name, first_row)
    return _cells_by_type(series, name, first_row)


def _cells_by_type(series: nw.Series[Any], name: str, first_row: int) -> Cells:
    dtype = series.dtype
    if series.implementation.is_pandas_like() and series.to_native().dtype == object:
        return object_cells(series.to_native().tolist(), name, first_row)
    if dtype.is_float():
        return array_cells(series.to_numpy(), name, first_row)
    if dtype in (nw.Int128, nw.UInt128) or dtype.is_decimal():
        return Numbers(series.cast(nw.Float64()).to_numpy())
    if dtype.is_integer() or dtype == nw.Boolean:
        if not series.null_count():
            return Numbers(series.to_numpy())
        filled = series.fill_null(False if dtype == nw.Boolean else 0)
        return Numbers(filled.to_numpy(), series.is_null().to_numpy())
    if dtype == nw.String:
        return _string_cells(series, name)
    if dtype in (nw.Categorical, nw.Enum):
        return _category_cells(series, name)
    if dtype.is_temporal():
        raise errors.dates(name, dtype)
    if dtype.is_nested():
        raise errors.nested_cells(name, dtype)
    if series.null_count() == len(series):
        return Numbers(np.full(len(series), np.nan))
    if dtype == nw.Binary:
        raise errors.unsupported_column(name, dtype)
    return array_cells(np.asarray(series.to_numpy()), name, first_row)


def _pandas_cells(series: Any, name: str, first_row: int) -> Cells:
    """Read a column of pandas; numbers of NumPy, strings of Arrow and categories without narwhals, which takes longer."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return Numbers(series.to_numpy())
    if hasattr(dtype, "categories"):
        given = series.array  # `cat` copies the codes
        labels = Labels(given.categories.tolist(), np.asarray(given.codes), declared=True, ordered=bool(given.ordered))
        check_labels(labels.values, name)
        return labels
    if dtype.name in ("str", "string") and getattr(dtype, "storage", None) == "pyarrow":
        import pyarrow as pa

        return _arrow_strings(pa.array(series.array), name)
    return _cells_by_type(nw.from_native(series, series_only=True), name, first_row)


def arrow_cells(column: Any, name: str, first_row: int) -> Cells:
    """Read a column of an Arrow table or of a record batch."""
    import pyarrow as pa

    if not column.null_count and (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        return array_cells(column.to_numpy(), name, first_row)  # to ask for the library takes longer than to read a batch
    if not hasattr(column, "chunks"):
        column = pa.chunked_array([column])
    return column_cells(column, name, first_row)


def column_cells(column: Any, name: str, first_row: int) -> Cells:
    """Read a column of a data frame of any library."""
    return series_cells(nw.from_native(column, series_only=True), name, first_row)


def _string_cells(series: nw.Series[Any], name: str) -> Labels:
    native = series.to_native()
    if series.implementation.is_pandas_like():
        codes, distinct = native.factorize()
        return Labels(distinct.tolist(), np.asarray(codes))
    if series.implementation.is_pyarrow():
        return _arrow_strings(native, name)
    if nw.dependencies.get_pyarrow() is not None:  # to import it for a small table takes longer
        return _arrow_strings(native.to_arrow(), name)
    labels = series.drop_nulls().unique().sort().to_list()
    codes = series.cast(nw.Enum(labels)).to_native().to_physical()
    return Labels(labels, _from_nullable(codes))


def _category_cells(series: nw.Series[Any], name: str) -> Labels:
    native = series.to_native()
    if series.implementation.is_polars():
        if series.dtype == nw.Categorical:  # its categories belong to the process, not to the column
            return _string_cells(series.cast(nw.String()), name)
        categories = series.dtype.categories  # type: ignore[attr-defined]  # it is an Enum
        return Labels(list(categories), _from_nullable(native.to_physical()), declared=True)
    if series.implementation.is_pandas_like() and hasattr(native.dtype, "categories"):
        labels = Labels(
            native.cat.categories.tolist(), native.cat.codes.to_numpy(), declared=True, ordered=bool(native.cat.ordered)
        )
    else:
        labels = _arrow_dictionary(series.to_arrow(), name)
    check_labels(labels.values, name)
    return labels if labels.declared else _without_unused(labels)


def _without_unused(labels: Labels) -> Labels:
    """Return labels without those of a dictionary that do not occur."""
    used = occurring(labels.positions, len(labels.values))
    if len(used) == len(labels.values):
        return labels
    new = np.full(len(labels.values) + 1, -1)  # the last entry serves position -1
    new[used] = np.arange(len(used))
    return Labels([labels.values[position] for position in used.tolist()], new[labels.positions])


def _from_nullable(codes: Any) -> Array:
    """Return positions from a polars column of unsigned codes; null becomes -1."""
    if not codes.null_count():
        return np.asarray(codes.to_numpy())
    missing = codes.is_null().to_numpy()
    positions: Array = codes.fill_null(0).to_numpy().astype(np.intp)
    positions[missing] = -1
    return positions


def _arrow_strings(column: Any, name: str) -> Labels:
    """Return positions and labels of an Arrow column of text."""
    chunks = [chunk for chunk in (column.chunks if hasattr(column, "chunks") else [column]) if len(chunk)]
    parts = []
    try:
        for chunk in chunks:
            if (part := _few_texts(chunk)) is None:
                break
            parts.append(part)
        else:
            if parts:
                return _joined(parts)
    except ValueError as error:
        raise errors.damaged_labels(name, error) from None
    encoded = column.dictionary_encode()
    if hasattr(encoded, "combine_chunks"):
        encoded = encoded.combine_chunks()
    _check_text(encoded.dictionary, name)
    return Labels(encoded.dictionary.to_pylist(), _arrow_positions(encoded))


def _few_texts(array: Any) -> Labels | None:
    """Return positions and labels in half the time that Arrow takes; None if many texts differ, or are kept in another way.

    Raises
    ------
    ValueError
        If the array is damaged.
    """
    type_of_ends = _TYPES_OF_ENDS.get(str(array.type))
    if type_of_ends is None:
        return None
    array.validate()
    _, ends, texts = array.buffers()
    ends = np.frombuffer(ends, dtype=type_of_ends)[array.offset : array.offset + len(array) + 1].astype(np.int64, copy=False)
    is_there = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else np.ones(len(array), dtype=bool)
    places, first = np.empty(len(array), dtype=np.int16), np.empty(_FEW_TEXTS, dtype=np.int64)
    texts = memoryview(texts or b"").cast("B")
    found = encoding.place_texts(np.frombuffer(texts, dtype=np.uint8), ends, is_there, places, first)
    if found < -1:
        raise ValueError("a text lies outside of its buffer")
    return None if found < 0 else Labels([str(texts[ends[row] : ends[row + 1]], "utf-8") for row in first[:found]], places)


def _joined(parts: Sequence[Labels]) -> Labels:
    """Return the labels of the parts of a column, each once."""
    if len(parts) == 1:
        return parts[0]
    index: dict[str, int] = {}
    places = []
    for part in parts:
        new = [index.setdefault(label, len(index)) for label in part.values]
        places.append(np.array([*new, -1]).take(part.positions))  # -1, of a missing cell, is also the place of the last entry
    return Labels(list(index), np.concatenate(places))


def _arrow_dictionary(column: Any, name: str) -> Labels:
    """Return positions and labels of an Arrow dictionary column, whose dictionary may hold nulls and repeated values."""
    _check_text(column, name)
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    labels, positions = column.dictionary.to_pylist(), _arrow_positions(column)
    distinct = {label: None for label in labels if label is not None}
    if len(distinct) < len(labels):
        index = {label: position for position, label in enumerate(distinct)}
        positions = np.array([index.get(label, -1) for label in labels] + [-1])[positions]
    ordered = bool(column.type.ordered)
    return Labels(list(distinct), positions, declared=ordered, ordered=ordered)


def _check_text(column: Any, name: str) -> None:
    try:  # Arrow reads positions past the end of a dictionary, and text in any encoding
        column.validate(full=True)
    except ValueError as error:
        raise errors.damaged_labels(name, error) from None


def _arrow_positions(column: Any) -> Array:
    """Return the positions of the cells of a dictionary column; null becomes -1."""
    indices = column.indices
    if indices.null_count:
        unsigned = str(indices.type).startswith("u")
        indices = (indices.cast("int64") if unsigned else indices).fill_null(-1)
    positions: Array = indices.to_numpy(zero_copy_only=False)
    return positions


class FrameSource:
    """A data frame, read through narwhals."""

    matrix: Array | None = None

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self._frame = frame
        self._names: list[Any] = list(frame.columns)
        self.labels: list[Any] | None = self._names
        self.shape: tuple[int, int] = frame.shape
        self._polars: Any = frame.to_native() if frame.implementation.is_polars() else None

    def cells(self, j: int, start: int, stop: int, name: str) -> Cells:
        if self._polars is not None and (column := self._polars.to_series(j)).dtype.is_float():  # sooner than through narwhals
            return array_cells(column.slice(start, stop - start).to_numpy(), name, start)
        series = self._frame.get_column(self._names[j])  # by number, a frame lists its names each time
        if stop - start < len(series):
            series = series[start:stop]
        return series_cells(series, name, start)


class PandasSource:
    """A data frame of pandas, which takes half the time without narwhals."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._names: list[Any] = list(frame.columns)
        self.labels: list[Any] | None = self._names
        self.shape: tuple[int, int] = frame.shape
        self.matrix = _float_matrix(frame) if all(frame.shape) else None

    def cells(self, j: int, start: int, stop: int, name: str) -> Cells:
        series = self._frame[self._names[j]]
        if stop - start < len(series):
            series = series.iloc[start:stop]
        return _pandas_cells(series, name, start)


def _float_matrix(frame: Any) -> Array | None:
    """Return a frame of pandas as a matrix without copying if it is kept as one of float32 or float64, else None."""
    types = set(frame.dtypes)
    if types != {FLOAT32} and types != {FLOAT64}:
        return None
    first, last = frame.iloc[:, 0].to_numpy(), frame.iloc[:, -1].to_numpy()
    if first.base is None or first.base is not last.base:
        return None
    matrix = frame.to_numpy()
    return matrix if is_plain_frame(matrix) else None


def frame_source(X: Any) -> FrameSource | PandasSource | None:
    """Return the source of a data frame of any library; None if `X` is none."""
    pandas = nw.dependencies.get_pandas()
    if pandas is not None and isinstance(X, pandas.DataFrame):
        return PandasSource(X)
    frame = open_frame(X)
    if frame is None:
        return None
    return PandasSource(frame.to_native()) if frame.implementation.is_pandas() else FrameSource(frame)


def open_frame(X: Any) -> nw.DataFrame[Any] | None:
    try:
        frame = nw.from_native(X, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError:
        raise errors.duplicate_names(list(X.column_names if hasattr(X, "column_names") else X.columns)) from None
    if isinstance(frame, nw.LazyFrame):
        raise lazy_table("X", X, frame)
    if isinstance(frame, nw.Series):
        raise errors.not_two_dimensional(frame.shape)
    if isinstance(frame, nw.DataFrame):
        return frame
    if hasattr(X, "__arrow_c_stream__"):
        return nw.DataFrame.from_arrow(X, backend="pyarrow")
    return None


def lazy_table(name: str, given: Any, frame: nw.LazyFrame[Any]) -> TypeError:
    """Return the error for a lazy data frame; it names the methods that return one with values."""
    of_narwhals = type(given).__module__.partition(".")[0] == "narwhals"  # it has `collect`, whatever is in it
    methods = ["collect"] if of_narwhals else _TO_VALUES.get(frame.implementation, [])
    return errors.lazy_table(name, type(given).__name__, [method for method in methods if hasattr(given, method)])


def frame_of(columns: Mapping[str, Sequence[Any]], backend: Literal["pandas", "polars", "pyarrow"]) -> Any:
    """Return a data frame of the library `backend`.

    Raises
    ------
    ModuleNotFoundError
        If the library is not installed.
    """
    return nw.from_dict(columns, backend=backend).to_native()


def as_pandas(given: Any, names: Sequence[str]) -> Any:
    """Return a new pandas frame with the columns of a table, for libraries that take no other."""
    import pandas as pd  # type: ignore[import-untyped]

    frame = nw.from_native(given, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame.to_pandas().copy()
    return pd.DataFrame(np.asarray(given), columns=list(names)).infer_objects()
