"""Tables in files: CSV (also gzip), Parquet, C4.5's files and ARFF, read whole or in blocks of rows.

For the command line.  Knows polars and files; knows nothing of trees.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
import polars as pl
from polars.selectors import by_name

from ._formats import ArffTable, C45Table, c45_file, c45_stem

__all__ = ["DeclaredFile", "TableFile", "open_table"]

BLOCK_BYTES = 2**24  # of CSV text
BLOCK_ROWS = 2**17  # of Parquet
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"


@dataclass
class TableFile:
    """A CSV or Parquet file, told apart by its first bytes.

    Parameters
    ----------
    path : str
    markers : tuple of str
        Cells of a CSV file that mean a missing value, besides the empty cell.
    separator : str
        What stands between the cells of a CSV file: one character of ASCII.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    share_read : float
        Share of the file that `blocks` has read, from 0 to 1.
    target, test_path, notes
        Nothing; see `DeclaredFile`.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it is empty, or neither CSV in UTF-8 nor Parquet, or two columns have one name; here and while reading.
    """

    path: str
    markers: tuple[str, ...] = ()
    separator: str = ","
    names: list[str] = field(init=False)
    share_read: float = field(init=False, default=0.0)
    target: str | None = field(init=False, default=None)
    test_path: str | None = field(init=False, default=None)
    notes: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        with open(self.path, "rb") as file:
            start = file.read(4)
        if not start:
            raise ValueError(f"{self.path} is empty")
        self._is_parquet = start == _PARQUET
        self._is_gzip = start[:2] == _GZIP
        if self._is_parquet:
            with self._as_own_error("Parquet"):
                self.names = pl.scan_parquet(self.path, glob=False, hive_partitioning=False).collect_schema().names()
        else:
            self.names = self._csv_names()

    def require(self, names: Iterable[str]) -> None:
        """Raise a ValueError if a column is absent."""
        _require(self, names)

    @property
    def is_csv(self) -> bool:
        """Whether the cells are text that gets its type in reading."""
        return not self._is_parquet

    @property
    def hint(self) -> str:
        """What to add to a message that a column is absent: another separator, if there seems to be one."""
        if self._is_parquet or len(self.names) > 1:
            return ""
        likely = [character for character in ",;\t|" if character in self.names[0]]
        if not likely:
            return ""
        written = "tab" if likely[0] == "\t" else f"'{likely[0]}'"
        return f". If its cells are separated by {written}, add --separator {written}"

    def read(self, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """Read the whole file; CSV columns without a type get the narrowest that suits all their cells.

        Types are for CSV: a Parquet file has its own.
        """
        if self._is_parquet:
            with self._as_own_error("Parquet"):
                return pl.read_parquet(self.path, glob=False, hive_partitioning=False)
        with open(self.path, "rb") as raw, self._unpacked(raw) as file:
            for _ in self._whole_records(file):
                pass
        with self._as_own_error("CSV"):
            table = pl.read_csv(
                self.path,
                separator=self.separator,
                null_values=["", *self.markers],
                schema_overrides=dict(types),
                infer_schema_length=None,
                glob=False,
            )
        return table

    def blocks(self, types: Mapping[str, pl.DataType]) -> Iterator[pl.DataFrame]:
        """Read the columns named in `types`, in their order, in blocks of rows.

        Raises
        ------
        ValueError
            Also if a column is absent, or a cell of a CSV file is not of its column's type.
        """
        self.require(types)
        yield from self._parquet_blocks(list(types)) if self._is_parquet else self._csv_blocks(types)
        self.share_read = 1.0

    def _parquet_blocks(self, names: list[str]) -> Iterator[pl.DataFrame]:
        with self._as_own_error("Parquet"):
            rows = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
            n_rows = rows.select(pl.len()).collect().item()
        for start in range(0, n_rows, BLOCK_ROWS):
            with self._as_own_error("Parquet"):
                block = rows.select(by_name(names)).slice(start, BLOCK_ROWS).collect()[names]
            self.share_read = start / n_rows
            yield block

    def _csv_blocks(self, types: Mapping[str, pl.DataType]) -> Iterator[pl.DataFrame]:
        with open(self.path, "rb") as raw, self._unpacked(raw) as file:
            size = os.fstat(raw.fileno()).st_size or 1
            records = self._whole_records(file)
            header = next(records, b"")
            for block in records:
                with self._as_own_error("CSV"):
                    table = self._parse(header + block, types)
                self.share_read = min(1.0, raw.tell() / size)
                yield table

    def _parse(self, text: bytes, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
        return pl.read_csv(
            io.BytesIO(text),
            separator=self.separator,
            null_values=["", *self.markers],
            columns=[self.names.index(name) for name in types],
            schema_overrides=dict(types),
        )[list(types)]  # by position and by [], as a name such as * is a pattern to polars

    def _csv_names(self) -> list[str]:
        with open(self.path, "rb") as raw, self._unpacked(raw) as file:
            header = next(self._records(file), b"")
        if b"\0" in header:
            raise ValueError(f"{self.path} is neither CSV in UTF-8 nor Parquet")
        with self._as_own_error("CSV"):
            names = pl.read_csv(io.BytesIO(header), separator=self.separator, infer_schema=False).columns
        for name in names:
            original, duplicated, _ = name.rpartition("_duplicated_")  # what polars makes of a name that came before
            if duplicated and original in names:
                raise ValueError(f"{self.path} has more than one column called {original!r}")
        return names

    def _unpacked(self, raw: BinaryIO) -> BinaryIO | gzip.GzipFile:
        return gzip.open(raw) if self._is_gzip else raw

    def _whole_records(self, file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
        """`_records`, each with as many cells as the header has names: polars would fill a short one with missing cells.

        Raises
        ------
        ValueError
            Naming the line of the first other record.
        """
        line = 1
        for text in self._records(file):
            short = _first_other_width(text, self.separator, len(self.names)) if len(self.names) > 1 else None
            if short is not None:
                offset, found = short
                where = line + text.count(b"\n", 0, offset)
                raise ValueError(
                    f"{self.path}:{where}: a row of {found} cell{'s' * (found != 1)}; the header has {len(self.names)}"
                )
            line += text.count(b"\n")
            yield text

    def _records(self, file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
        """Give the header line, then blocks of whole records: a line end between quotes ends no record."""
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
                if waiting:
                    yield waiting
                return
            if not is_header and (end := _last_record_end(waiting)):
                yield waiting[:end]
                waiting = waiting[end:]

    @contextlib.contextmanager
    def _as_own_error(self, form: str) -> Iterator[None]:
        try:
            yield
        except (pl.exceptions.PolarsError, OSError, EOFError) as error:
            if isinstance(error, pl.exceptions.NoDataError):
                raise ValueError(f"{self.path} is empty") from None
            reason = str(error).partition("\n")[0]
            if "invalid utf-8" in reason:
                raise ValueError(
                    f"{self.path} is not in UTF-8: save it as UTF-8, or convert it, such as from Latin-1 by "
                    "iconv -f LATIN1 -t UTF-8"
                ) from None
            unfit = re.match(r"could not parse `(.*)` as dtype `(.*?)` at column '(.*)' \(", reason)
            if unfit:
                cell, dtype, name = unfit.groups()
                wanted = "a number" if dtype.startswith(("f", "i")) else f"of type {dtype}"
                raise ValueError(
                    f"{self.path}: column {name!r} has the cell {cell!r}, which is not {wanted}; "
                    f"if it stands for a missing value, give --missing-marker {cell!r}"
                ) from None
            raise ValueError(f"{self.path} cannot be read as {form}: {reason}") from None


class DeclaredFile:
    """A file that declares its columns and which of them is the target, with the interface of `TableFile`.

    Parameters
    ----------
    table : C45Table or ArffTable

    Attributes
    ----------
    names, share_read
        As of `TableFile`.
    target : str
        The column to predict.
    test_path : str or None
        The test cases that lie beside training cases.
    notes : list of str
        What was read otherwise than it is written.
    """

    is_csv = False
    hint = ""

    def __init__(self, table: C45Table | ArffTable) -> None:
        self._table = table
        self.path, self.names, self.target = table.path, table.names, table.target
        self.share_read = 0.0
        self.test_path = table.test_path if isinstance(table, C45Table) else None

    @property
    def notes(self) -> list[str]:
        """Sentences about what the last `read` or `blocks` found."""
        return self._table.notes

    def require(self, names: Iterable[str]) -> None:
        """Raise a ValueError if a column is absent."""
        _require(self, names)

    def read(self, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """Read the whole file; its columns have the types that it declares."""
        return self._table.read()

    def blocks(self, types: Mapping[str, pl.DataType]) -> Iterator[pl.DataFrame]:
        """Read the columns named in `types`, in their order, in blocks of rows.

        Raises
        ------
        ValueError
            Also if a column is absent, or text is not what its type wants.
        """
        self.require(types)
        table = self._table.read(types)
        table = pl.DataFrame([self._converted(table[name], dtype) for name, dtype in types.items()])
        for start in range(0, max(1, table.height), BLOCK_ROWS):
            yield table[start : start + BLOCK_ROWS]
            self.share_read = min(1.0, (start + BLOCK_ROWS) / max(1, table.height))

    def _converted(self, column: pl.Series, dtype: pl.DataType) -> pl.Series:
        """Turn text into numbers or truth values, as they are read from CSV; numbers stay."""
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
    """Open a table: ARFF by its name, C4.5's files by theirs where the .names file is there, any other as CSV or Parquet.

    Raises
    ------
    OSError, ValueError
        As `TableFile`, and if declarations cannot be read.
    """
    if path.endswith((".arff", ".arff.gz")):
        return DeclaredFile(ArffTable(path))
    stem, part = c45_stem(path) or (path, "")
    has_names = os.path.exists(c45_file(stem, ".names"))
    if part == ".names" or (has_names and (part or not os.path.exists(path))):
        return DeclaredFile(C45Table(path))
    return TableFile(path, markers, separator)


def _require(file: TableFile | DeclaredFile, names: Iterable[str]) -> None:
    if absent := [name for name in names if name not in file.names]:
        raise ValueError(f"{file.path} has no column {_listing(absent)}; it has {_listing(file.names)}{file.hint}")


def _first_other_width(text: bytes, separator: str, width: int) -> tuple[int, int] | None:
    """Where the first record of another width starts, and its cells; None if there is none.  Empty lines are no records."""
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    if text and not text.endswith(b"\n"):
        ends = np.append(ends, data.size)
    separators = np.flatnonzero(data == ord(separator))
    if b'"' in text:  # what stands between quotes ends no cell and no record
        quotes = np.flatnonzero(data == ord('"'))
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
        separators = separators[np.searchsorted(quotes, separators) % 2 == 0]
    starts = np.append(0, ends[:-1] + 1) if ends.size else ends
    cells = np.searchsorted(separators, ends) - np.searchsorted(separators, starts) + 1
    for i in np.flatnonzero(cells != width).tolist():
        if text[int(starts[i]) : int(ends[i])].strip():
            return int(starts[i]), int(cells[i])
    return None


def _header_end(text: bytes) -> int:
    """Return where the first record ends, or 0 if it does not end here."""
    end = text.find(b"\n") + 1
    while end and text.count(b'"', 0, end) % 2:
        end = text.find(b"\n", end) + 1
    return end


def _last_record_end(text: bytes) -> int:
    """Return where the last whole record ends, or 0: after a line end that an even number of quotes comes before."""
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
