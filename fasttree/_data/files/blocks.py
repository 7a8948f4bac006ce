"""Tables from files (CSV, gzip, Parquet, C4.5 files and ARFF), whole or in blocks of rows, for the command line.

Needs polars.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl
from polars.selectors import by_name

from fasttree._data.files.arff import ArffTable
from fasttree._data.files.c45 import C45Table, c45_file, c45_stem

STANDARD_INPUT = "-"
BLOCK_BYTES = 2**22  # of CSV text
RECORD_BYTES = 2**26  # limit of one CSV record: a longer one has an open quote, and reading on would read the whole file
BLOCK_ROWS = 2**17  # of Parquet, at most
BLOCK_CELLS = 2**21  # limit for tables of many columns: of Parquet, and of predictions written at once
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"


class Block(NamedTuple):
    """Rows of a table.

    Parameters
    ----------
    asked, kept : DataFrame
        Columns of the requested types, and columns as they are in the file.
    """

    asked: pl.DataFrame
    kept: pl.DataFrame


@dataclass
class TableFile:
    """A CSV or Parquet file; its first bytes decide which.

    Parameters
    ----------
    path : str
        ``"-"`` is the standard input, which is CSV and can be read once.
    markers : tuple of str
        Cells of a CSV file that mean a missing value, besides the empty cell.
    separator : str
        Character between the cells of a CSV file, in ASCII.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    share_read : float or None
        Share of the file that `blocks` has read, from 0 to 1; None if its size is not known.
    target, test_path, notes
        Empty; see `DeclaredFile`.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If the file is empty, neither CSV in UTF-8 nor Parquet, or two columns have the same name; also while reading.
    """

    path: str
    markers: tuple[str, ...] = ()
    separator: str = ","
    names: list[str] = field(init=False)
    share_read: float | None = field(init=False, default=0.0)
    target: str | None = field(init=False, default=None)
    test_path: str | None = field(init=False, default=None)
    notes: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._is_stream = self.path == STANDARD_INPUT
        self._begun = b""  # the first bytes of a stream, already read
        self._own_names: dict[str, str] = {}  # of the columns of CSV, by what polars calls them
        self._has_blank_lines = False  # known once the file has been read
        if self._is_stream:
            self.path, self.share_read = "the standard input", None
            self._begun = start = sys.stdin.buffer.read(BLOCK_BYTES)
        else:
            with open(self.path, "rb") as file:
                start = file.read(4)
        if not start:
            raise ValueError(f"{self.path} is empty")
        self._is_parquet = start.startswith(_PARQUET)
        self._is_gzip = start.startswith(_GZIP)
        if self._is_parquet and self._is_stream:
            raise ValueError(f"{self.path} is Parquet, which can only be read from a file: name the file, or give CSV")
        if self._is_parquet:
            with self._as_own_error("Parquet"):
                self.names = pl.scan_parquet(self.path, glob=False, hive_partitioning=False).collect_schema().names()
        else:
            with io.BytesIO(start) if self._is_stream else open(self.path, "rb") as raw:
                self.names = self._csv_names(raw)

    def require(self, names: Iterable[str]) -> None:
        """Raise a ValueError if a column is absent."""
        _require(self, names)

    @property
    def is_csv(self) -> bool:
        """Whether the cells are text without types."""
        return not self._is_parquet

    @property
    def hint(self) -> str:
        """Addition to a message about an absent column, if the separator or the header seems to be wrong; else empty."""
        if self._is_parquet:
            return ""
        likely = [character for character in ",;\t|" if character in self.names[0]] if len(self.names) == 1 else []
        if likely:
            written = "tab" if likely[0] == "\t" else f"'{likely[0]}'"
            return f". If its cells are separated by {written}, add --separator {written}"
        return ". Is its first line a header?" if any(map(_is_number, self.names)) else ""

    def read(self, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """Read the whole file; CSV columns without a type get the narrowest that fits all cells.

        A Parquet file has its own types and ignores `types`.
        """
        if self._is_parquet:
            with self._as_own_error("Parquet"):
                return pl.read_parquet(self.path, glob=False, hive_partitioning=False)
        text = []
        with self._opened() as raw, self._unpacked(raw) as file:
            for records in self._whole_records(file):
                if self._is_stream:
                    text.append(records)
        if self._has_blank_lines and not self._is_stream:
            with self._opened() as raw, self._unpacked(raw) as file:
                text = list(self._whole_records(file))
        with self._as_own_error("CSV"):
            return self._read_csv(
                b"".join(text) or self.path,
                types,
                null_values=["", *self.markers],
                infer_schema_length=None,
                glob=False,
            )

    def blocks(self, types: Mapping[str, pl.DataType], kept: Sequence[str] = ()) -> Iterator[Block]:
        """Yield blocks of rows with the columns of `types`, in their order; at least one block, which may be empty.

        Each block also has the columns of `kept` as they are in the file: cells of CSV as text, missing ones included.

        Raises
        ------
        ValueError
            If a column is absent, or a cell of a CSV file is not of its column's type.
        """
        self.require([*types, *kept])
        yield from self._parquet_blocks(list(types), list(kept)) if self._is_parquet else self._csv_blocks(types, kept)
        self.share_read = 1.0

    def find_types(self, given: Mapping[str, pl.DataType]) -> tuple[dict[str, set[pl.DataType]], int]:
        """Return the types of each column in the blocks of a CSV file, and the number of rows; missing cells have no type."""
        seen: dict[str, set[pl.DataType]] = {name: set() for name in self.names}
        n_rows = 0
        with self._opened() as raw, self._unpacked(raw) as file:
            records = self._whole_records(file)
            header = next(records, b"")
            for block in records:
                with self._as_own_error("CSV"):
                    found = self._read_csv(header + block, given, null_values=["", *self.markers], infer_schema_length=None)
                n_rows += found.height
                for name, column in zip(self.names, found.get_columns(), strict=True):
                    if column.null_count() < found.height:
                        seen[name].add(column.dtype)
        return seen, n_rows

    def _parquet_blocks(self, names: list[str], kept: list[str]) -> Iterator[Block]:
        # A slice reads its own pages and the headers of the others, whatever the row groups of the file.  Batches are not used:
        # polars reads ahead of their consumer without a limit.
        with self._as_own_error("Parquet"):
            rows = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
            n_rows = rows.select(pl.len()).collect().item()
        both = list(dict.fromkeys([*names, *kept]))
        step = min(BLOCK_ROWS, BLOCK_CELLS // max(len(both), 1) + 1)
        for start in range(0, max(1, n_rows), step):
            with self._as_own_error("Parquet"):
                block = rows.select(by_name(both)).slice(start, step).collect()
            self.share_read = min(1.0, (start + step) / max(1, n_rows))
            # the codes of a categorical column differ between blocks
            yield Block(block[names], _columns(block, kept).cast({pl.Categorical: pl.String}))

    def _csv_blocks(self, types: Mapping[str, pl.DataType], kept: Sequence[str]) -> Iterator[Block]:
        with self._opened() as raw, self._unpacked(raw) as file:
            size = None if self._is_stream else os.fstat(raw.fileno()).st_size or 1
            records = self._whole_records(file)
            header = next(records, b"")
            for block in itertools.chain([next(records, b"")], records):
                with self._as_own_error("CSV"):
                    asked = self._parse(header + block, types, null_values=["", *self.markers])
                    as_written = self._parse(header + block, dict.fromkeys(kept, pl.String())) if kept else pl.DataFrame()
                self.share_read = None if size is None else min(1.0, raw.tell() / size)
                yield Block(asked, as_written)

    def _parse(self, text: bytes, types: Mapping[str, pl.DataType], null_values: list[str] | None = None) -> pl.DataFrame:
        columns = [self.names.index(name) for name in types]
        table = self._read_csv(text, types, null_values=null_values, columns=columns)
        return table[list(types)]  # by position and with [], because a name such as * is a pattern in polars

    def _read_csv(self, source: str | bytes, types: Mapping[str, pl.DataType], **options: Any) -> pl.DataFrame:
        given = {called: types[name] for called, name in self._own_names.items() if name in types}
        table = pl.read_csv(source, separator=self.separator, schema_overrides=given, **options)
        table.columns = [self._own_names[called] for called in table.columns]
        for j, name in enumerate(table.columns):
            if name not in types and (numbers := _as_numbers(table[name].alias(""))) is not None:
                table.replace_column(j, numbers.alias(name))
        return table

    def _csv_names(self, raw: BinaryIO) -> list[str]:
        with self._unpacked(raw) as file:
            header = next(self._records(file), b"")
        if header and not header.strip():
            raise ValueError(f"{self.path}: the first line is empty; it must be a header that names each column")
        if b"\0" in header:
            raise ValueError(f"{self.path} is neither CSV in UTF-8 nor Parquet")
        with self._as_own_error("CSV"):
            called = pl.read_csv(io.BytesIO(header), separator=self.separator, infer_schema=False).columns
        text = header.decode("utf-8-sig", errors="replace").rstrip("\r\n")
        try:  # polars leaves quotes in a name doubled, and renames repeated columns
            names = next(csv.reader([text], delimiter=self.separator))
        except csv.Error:
            names = []
        if len(names) != len(called):
            raise ValueError(
                f"{self.path}: the first line cannot be read as a header: write a name with a quote or a line end inside in "
                "quotes, and its quotes twice"
            )
        if repeated := [name for name, count in Counter(names).items() if count > 1]:
            raise ValueError(
                f"{self.path} has more than one column called {repeated[0]!r}; the first line must be a header that names each "
                "column once"
            )
        self._own_names = dict(zip(called, names, strict=True))
        return names

    @contextlib.contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if not self._is_stream:
            with open(self.path, "rb") as file:
                yield file
            return
        if not self._begun:
            raise ValueError(f"{self.path} has been read and cannot be read again: give a file")
        begun, self._begun = self._begun, b""
        yield io.BufferedReader(_Resumed(begun, sys.stdin.buffer))

    def _unpacked(self, raw: BinaryIO) -> BinaryIO | gzip.GzipFile:
        return gzip.open(raw) if self._is_gzip else raw

    def _whole_records(self, file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
        """Yield `_records` without empty lines, checked to have as many cells as the header: polars fills short ones.

        In a table of one column, an empty line is a missing cell.

        Raises
        ------
        ValueError
            If a record has another number of cells; the message names its line.
        """
        line = 1
        for text in self._records(file):
            blank = []
            for start, stop, found in _other_widths(text, self.separator, len(self.names)) if len(self.names) > 1 else ():
                if text[start:stop].strip():
                    where = line + text.count(b"\n", 0, start)
                    raise ValueError(
                        f"{self.path}:{where}: a row of {found} cell{'s' * (found != 1)}; the header has {len(self.names)}"
                    )
                blank.append((start, stop))
            line += text.count(b"\n")
            self._has_blank_lines |= bool(blank)
            bounds = [0, *itertools.chain(*blank), len(text)]
            yield b"".join(text[start:stop] for start, stop in zip(bounds[::2], bounds[1::2], strict=True)) if blank else text

    def _records(self, file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
        """Yield the header, then blocks of whole records; a line end in quotes ends no record."""
        waiting = b""
        is_header = True
        while True:
            with self._as_own_error("CSV"):
                more = file.read(BLOCK_BYTES)
            waiting += more
            if is_header and (end := _header_end(waiting)):
                yield waiting[:end]
                waiting, is_header = waiting[end:], False
            if not more:
                if waiting.count(b'"') % 2:
                    raise self._open_quote(waiting[_last_record_end(waiting) :])
                if waiting:
                    yield waiting
                return
            if not is_header and (end := _last_record_end(waiting)):
                yield waiting[:end]
                waiting = waiting[end:]
            if len(waiting) > RECORD_BYTES:
                raise self._open_quote(waiting)

    def _open_quote(self, record: bytes) -> ValueError:
        begin = record[:40].decode(errors="replace")
        return ValueError(f"{self.path}: a row begins with {begin!r} and does not end; close its quote")

    @contextlib.contextmanager
    def _as_own_error(self, form: str) -> Iterator[None]:
        try:
            yield
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError) as error:
            if isinstance(error, pl.exceptions.NoDataError):
                raise ValueError(f"{self.path} is empty") from None
            reason = str(error).partition("\n")[0]
            if "invalid utf-8" in reason:
                raise ValueError(
                    f"{self.path} is not in UTF-8: save it as UTF-8, or convert it, from Latin-1 for example with "
                    "iconv -f LATIN1 -t UTF-8"
                ) from None
            unfit = re.match(r"could not parse `(.*)` as dtype `(.*?)` at column '(.*)' \(", reason)
            if unfit:
                cell, dtype, name = unfit.groups()
                wanted = "a number" if dtype.startswith(("f", "i")) else f"of type {dtype}"
                raise ValueError(
                    f"{self.path}: column {self._own_names.get(name, name)!r} has the cell {cell!r}, which is not {wanted}; "
                    f"if it means a missing value, add --missing-marker {cell!r}"
                ) from None
            raise ValueError(f"{self.path} cannot be read as {form}: {reason}") from None


class _Resumed(io.RawIOBase):
    """A stream that repeats its first bytes, which were already read, and then continues."""

    def __init__(self, begun: bytes, stream: BinaryIO) -> None:
        self._begun = io.BytesIO(begun)
        self._stream: Any = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n_read: int = self._begun.readinto(buffer) or self._stream.readinto(buffer)
        return n_read


class DeclaredFile:
    """A file that declares its columns and its target, with the interface of `TableFile`.

    Parameters
    ----------
    table : C45Table or ArffTable

    Attributes
    ----------
    names, share_read
        See `TableFile`.
    target : str
        Name of the column to predict.
    test_path : str or None
        File of test cases beside the training cases.
    """

    is_csv = False
    hint = ""

    def __init__(self, table: C45Table | ArffTable) -> None:
        self._table = table
        self.path, self.names, self.target = table.path, table.names, table.target
        self.share_read: float | None = 0.0
        self.test_path = table.test_path if isinstance(table, C45Table) else None

    @property
    def notes(self) -> list[str]:
        """Sentences about values that the last `read` or `blocks` changed."""
        return self._table.notes

    def require(self, names: Iterable[str]) -> None:
        """Raise a ValueError if a column is absent."""
        _require(self, names)

    def read(self, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """Read the whole file with its declared types; `types` is ignored."""
        return self._table.read()

    def blocks(self, types: Mapping[str, pl.DataType], kept: Sequence[str] = ()) -> Iterator[Block]:
        """Yield blocks of rows with the columns of `types`, in their order; at least one block, which may be empty.

        Each block also has the columns of `kept` with the types that the file declares.

        Raises
        ------
        ValueError
            If a column is absent, or a text is not of its column's type.
        """
        self.require([*types, *kept])
        table = self._table.read(dict.fromkeys([*types, *kept]))
        as_declared = _columns(table, kept)
        table = pl.DataFrame([self._converted(table[name], dtype) for name, dtype in types.items()])
        for start in range(0, max(1, table.height), BLOCK_ROWS):
            yield Block(table[start : start + BLOCK_ROWS], as_declared[start : start + BLOCK_ROWS])
            self.share_read = min(1.0, (start + BLOCK_ROWS) / max(1, table.height))

    def _converted(self, column: pl.Series, dtype: pl.DataType) -> pl.Series:
        """Convert text to numbers or booleans as in CSV; keep numbers as they are."""
        if not isinstance(column.dtype, pl.Enum | pl.String) or dtype == pl.String:
            return column.cast(pl.String) if dtype == pl.String and isinstance(column.dtype, pl.Enum) else column
        texts = column.cast(pl.String)
        if dtype == pl.Boolean:
            values = texts.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
        else:
            values = texts.cast(dtype, strict=False)
        wrong = values.is_null() & texts.is_not_null()
        if wrong.any():
            wanted = "true or false" if dtype == pl.Boolean else "a number"
            raise ValueError(
                f"{self.path}: column {column.name!r} has the cell {texts.filter(wrong)[0]!r}, which is not {wanted}"
            )
        return values


def open_table(path: str, markers: tuple[str, ...], separator: str) -> TableFile | DeclaredFile:
    """Open a table: ARFF by its name, C4.5 files by their names if the .names file exists, any other as CSV or Parquet.

    Raises
    ------
    OSError, ValueError
        As for `TableFile`, and if the declarations cannot be read.
    """
    if path.endswith((".arff", ".arff.gz")):
        return DeclaredFile(ArffTable(path))
    stem, part = c45_stem(path) or (path, "")
    has_names = os.path.exists(c45_file(stem, ".names"))
    if part == ".names" or (has_names and (part or not os.path.exists(path))):
        return DeclaredFile(C45Table(path))
    return TableFile(path, markers, separator)


def widest_type(found: set[pl.DataType]) -> pl.DataType:
    """Return the type of a CSV column from those of its blocks, as polars does for a whole file."""
    if len(found) == 1:
        (only,) = found
        return pl.Float64() if str(only) == "Int128" else only
    return pl.Float64() if found and all(one.is_numeric() for one in found) else pl.String()


def _require(file: TableFile | DeclaredFile, names: Iterable[str]) -> None:
    if absent := [name for name in names if name not in file.names]:
        raise ValueError(f"{file.path} has no column {_listing(absent)}; it has {_listing(file.names)}{file.hint}")


def _other_widths(text: bytes, separator: str, width: int) -> list[tuple[int, int, int]]:
    """Return start, stop and number of cells of each record that has not `width` cells, such as an empty line."""
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    if text and not text.endswith(b"\n"):
        ends = np.append(ends, data.size)
    separators = np.flatnonzero(data == ord(separator))
    if b'"' in text:  # characters in quotes end no cell and no record
        quotes = np.flatnonzero(data == ord('"'))
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
        separators = separators[np.searchsorted(quotes, separators) % 2 == 0]
    starts = np.append(0, ends[:-1] + 1) if ends.size else ends
    cells = np.searchsorted(separators, ends) - np.searchsorted(separators, starts) + 1
    others = np.flatnonzero(cells != width)
    return list(zip(starts[others].tolist(), (ends[others] + 1).tolist(), cells[others].tolist(), strict=True))


def _as_numbers(column: pl.Series) -> pl.Series | None:
    """Return a column of text whose cells are all numbers that polars reads but does not look for: +1, or after a blank."""
    if column.dtype != pl.String or column.null_count() == column.len():
        return None
    for cells in (column.drop_nulls().head(1), column):  # most columns of text are known by their first cell
        for dtype in (pl.Int64, pl.Float64):
            numbers = cells.str.strip_chars_start(" ").cast(dtype, strict=False)
            if numbers.null_count() == cells.null_count():
                break
        else:
            return None
    return numbers


def _columns(table: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Select columns by name; unlike in polars, selecting none is allowed."""
    return pl.DataFrame([table[name] for name in names])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _header_end(text: bytes) -> int:
    """Return the end of the first record, or 0 if it does not end in `text`."""
    end = text.find(b"\n") + 1
    while end and text.count(b'"', 0, end) % 2:
        end = text.find(b"\n", end) + 1
    return end


def _last_record_end(text: bytes) -> int:
    """Return the end of the last whole record, or 0: the last line end with an even number of quotes before it."""
    quotes = text.count(b'"')
    stop = len(text)
    while end := text.rfind(b"\n", 0, stop) + 1:
        quotes -= text.count(b'"', end, stop)
        if quotes % 2 == 0:
            return end
        stop = end - 1
    return 0


def _listing(names: list[str], shown: int = 8) -> str:
    text = ", ".join(repr(name) for name in names[:shown])
    return f"{text}, … ({len(names)} in all)" if len(names) > shown else text
