"""Tables in files: CSV (also gzip) and Parquet, read whole or in blocks of rows; and files that appear whole or not at all.

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

import polars as pl

__all__ = ["TableFile"]

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
        if absent := [name for name in names if name not in self.names]:
            raise ValueError(f"{self.path} has no column {_listing(absent)}; it has {_listing(self.names)}{self.hint}")

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
                block = rows.select(names).slice(start, BLOCK_ROWS).collect()
            self.share_read = start / n_rows
            yield block

    def _csv_blocks(self, types: Mapping[str, pl.DataType]) -> Iterator[pl.DataFrame]:
        with open(self.path, "rb") as raw, self._unpacked(raw) as file:
            size = os.fstat(raw.fileno()).st_size or 1
            records = self._records(file)
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
            columns=list(types),
            schema_overrides=dict(types),
        ).select(list(types))

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
