"""Rows of small CSV files without quotes, in plain Python: polars takes longer to import than such a file takes to read.

Whatever needs a decision (quotes, a mark of the byte order, numbers in other forms, wrong cells) is left to `blocks`.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

CellKind: TypeAlias = Literal["number", "integer", "boolean", "text"]

MOST_BYTES = 2**21  # at most a block of `blocks`, which checks the cells of a block together
_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")  # `open_table` reads others by their names
_CELLS: dict[CellKind, tuple[str, Callable[[str], Any]]] = {
    "number": (r"-?[0-9]{1,300}+(?:\.[0-9]++)?", float),
    "integer": (r"-?[0-9]{1,18}", int),
    "boolean": (r"true|false", "true".__eq__),
}


@dataclass(frozen=True)
class PlainFile:
    """A small CSV file without quotes.

    Parameters
    ----------
    path : str
    names : list of str
        Columns, at least two.
    lines : list of str
        Rows.
    separator : str
    """

    path: str
    names: list[str]
    lines: list[str]
    separator: str
    target: None = None
    hint: str = ""

    def rows(self, kinds: Mapping[str, CellKind], markers: Sequence[str], wanted: Sequence[int]) -> list[dict[str, Any]] | None:
        """Return rows as `blocks` would, or None if a column or a row is absent or a cell needs the other reader."""
        table = [line.split(self.separator) for line in self.lines]
        if any(len(row) != len(self.names) for row in table) or not set(kinds) <= set(self.names) or max(wanted) >= len(table):
            return None
        missing = {"", *markers}
        rows: list[dict[str, Any]] = [{} for _ in wanted]
        for name, kind in kinds.items():
            position = self.names.index(name)
            convert: Callable[[str], Any] = str
            if kind != "text":
                pattern, convert = _CELLS[kind]
                known = "\n".join([cell for row in table if (cell := row[position]) not in missing])
                if known and not re.fullmatch(rf"(?:(?:{pattern})(?:\n|\Z))*+", known):
                    return None
            for row, number in zip(rows, wanted, strict=True):
                cell = table[number][position]
                row[name] = None if cell in missing else convert(cell)
        return rows


def open_plain(path: str, separator: str) -> PlainFile | None:
    """Read a file, or return None if it is large or not as plain as this reader needs it."""
    if not path.endswith(_ENDINGS) or not os.path.isfile(path):
        return None
    with open(path, "rb") as raw:
        data = raw.read(MOST_BYTES + 1)
        if data.startswith(b"\x1f\x8b"):
            raw.seek(0)
            try:
                with gzip.open(raw) as file:
                    data = file.read(MOST_BYTES + 1)
            except (OSError, EOFError, zlib.error):
                return None
    data = data.replace(b"\r\n", b"\n")
    if len(data) > MOST_BYTES or any(mark in data for mark in (b'"', b"\r", b"\0", b"\n\n", b"\xef\xbb\xbf")):
        return None
    try:
        header, *lines = data.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        return None
    names = _names_in(header, separator)
    return None if names is None else PlainFile(path, names, lines, separator)


def plain_names(path: str, separator: str) -> list[str] | None:
    """Return the names of the columns of a CSV file of any size, or None if its first line is not plain."""
    if not path.endswith(_ENDINGS) or not os.path.isfile(path):
        return None
    with open(path, "rb") as raw:
        is_gzip = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        try:
            with gzip.open(raw) if is_gzip else raw as file:
                line = file.readline(MOST_BYTES)
        except (OSError, EOFError, zlib.error):
            return None
    header = line.removesuffix(b"\n").removesuffix(b"\r")
    if len(line) == MOST_BYTES or any(mark in header for mark in (b'"', b"\r", b"\0", b"\xef\xbb\xbf")):
        return None
    try:
        return _names_in(header.decode(), separator)
    except UnicodeDecodeError:
        return None


def _names_in(header: str, separator: str) -> list[str] | None:
    names = header.split(separator)
    if len(names) < 2 or len(set(names)) < len(names) or not all(name.strip() and not _is_number(name) for name in names):
        return None
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
