"""Weka's ARFF files, dense and sparse."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import polars as pl

from fasttree._data.files.columns import (
    BLANK,
    Attribute,
    Cells,
    Convert,
    Form,
    LineLayout,
    Lines,
    as_enum,
    as_numbers,
    first,
    first_repeated,
    lines_of,
    not_text,
    read_blocks,
    read_frame,
    shown,
)

# ARFF follows Witten, Frank, Hall (2011), "Data Mining", section 2.4, and Weka's own reader.
# scipy.io.arff is not used: it reads neither text nor sparse rows, and keeps the backslashes in quoted values.

# A value, quoted or bare, and the comma or brace after it; empty text matches, too.  A percent sign starts a comment only where
# a value or a word may start: a bare 50% is a value.
_QUOTED = r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\""""
_BARE = r"""(?:[^,}\s%'"][^,}\s]*+(?:\s++[^,}\s%][^,}\s]*+)*+)?+"""
_VALUE = re.compile(rf"\s*+({_QUOTED}|{_BARE})\s*+([,}}]?+)", re.DOTALL | re.ASCII)
_ENTRY = re.compile(rf"\s*+([0-9]{{1,9}})\s++({_QUOTED}|{_BARE})\s*+([,}}])", re.DOTALL | re.ASCII)
_ATTRIBUTE = re.compile(rf"@attribute\s++({_QUOTED}|[^\s{{'\"]++)\s*+(.*)", re.IGNORECASE | re.DOTALL | re.ASCII)
_DATE = re.compile(rf"date\b\s*+({_QUOTED}|[^\s%]*+)", re.IGNORECASE | re.DOTALL | re.ASCII)
_EMPTY = re.compile(r"\{\s*+\}", re.ASCII)
_REST = re.compile(r"\s*+(?:%.*)?\Z", re.DOTALL | re.ASCII)  # at most a comment
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
# Letters of Java's SimpleDateFormat
_DATE_PARTS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "SSS": "%3f"}


@dataclass
class ArffTable:
    """A file in Weka's attribute-relation file format.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    attributes : list of Attribute
    names : list of str
        Names of the attributes.
    target : str
        Name of the last attribute.
    notes : list of str
        Empty; see `C45Table`.
    """

    path: str
    attributes: list[Attribute] = field(init=False, default_factory=list)
    names: list[str] = field(init=False)
    target: str = field(init=False)
    notes: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._header_lines = self._read_header()
        self.names = [attribute.name for attribute in self.attributes]
        self.target = self.names[-1]

    def read(self, names: Iterable[str] | None = None) -> pl.DataFrame:
        """Read and check the named columns, or all."""
        names = self.names if names is None else list(names)
        wanted = set(names)
        columns = {
            attribute.name: (j, self._conversion(attribute))
            for j, attribute in enumerate(self.attributes)
            if attribute.name in wanted
        }
        layout = LineLayout(len(self.attributes), _is_special_row, functools.partial(_cut_row, left_out=self._left_out()), ("?",))
        blocks = read_blocks(self.path, layout, self._header_lines)
        return read_frame(blocks, {name: columns[name] for name in names})

    def _wrong(self, line: int, reason: str) -> ValueError:
        return ValueError(f"{self.path}:{line}: {reason}")

    def _read_header(self) -> int:
        """Read the declarations and return how many lines they take."""
        for number, line in enumerate(lines_of(self.path), start=1):
            if "\0" in line:
                raise not_text(self.path)
            line = line.strip(BLANK)
            keyword = line.split(maxsplit=1)[0].lower() if line else "%"
            if keyword.startswith("%") or keyword == "@relation":
                continue
            try:
                if keyword == "@attribute":
                    self.attributes.append(_declared_attribute(line))
                    continue
                if keyword != "@data":
                    raise ValueError(f"{shown(line)} is not @relation, @attribute or @data")
                if not self.attributes:
                    raise ValueError("@data comes before any @attribute")
                if (name := first_repeated(attribute.name for attribute in self.attributes)) is not None:
                    raise ValueError(f"attribute {name!r} is declared twice")
            except ValueError as error:
                raise self._wrong(number, str(error)) from None
            return number
        raise ValueError(f"{self.path} is no ARFF file: it has no @data line")

    def _left_out(self) -> Cells:
        """Return the cells that a sparse row omits: the number 0, or the first declared value."""
        zero = {Form.NUMBER: "0"}
        return [attribute.values[0] if attribute.values else zero.get(attribute.form) for attribute in self.attributes]

    def _conversion(self, attribute: Attribute) -> Convert:
        if attribute.form is Form.NUMBER:
            return as_numbers(attribute.name, self.path)
        if attribute.form is Form.TEXT:
            return lambda texts, _: texts
        if attribute.form is Form.NOMINAL:
            return self._all(attribute, as_enum(attribute.values))
        pattern = attribute.pattern
        return self._all(attribute, lambda texts, _: texts.str.to_datetime(pattern, time_unit="ms", strict=False))

    def _all(self, attribute: Attribute, read: Convert) -> Convert:
        """Return a conversion that raises an error if a cell has no value of the declared type."""
        declared = ", ".join(attribute.values) if attribute.values else f"a date written as {attribute.pattern}"

        def convert(texts: pl.Series, lines: Lines) -> pl.Series:
            values = read(texts, lines)
            row = first(values.is_null() & texts.is_not_null())
            if row is not None:
                raise self._wrong(lines[row], f"{attribute.name!r} has {texts[row]!r}, but is declared {shown(declared, 100)}")
            return values

        return convert


def _unquoted(written: str) -> str:
    """Return the value of a cell without quotes and escapes."""
    if not written.startswith(("'", '"')):
        return written
    if "\\" not in written:
        return written[1:-1]
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), written[1:-1], flags=re.DOTALL)


def _cut_values(text: str, position: int, closing: str) -> tuple[list[str | None], int]:
    """Cut comma-separated values up to the closing character; return them and where they end."""
    values: list[str | None] = []
    end = ""
    for match in _VALUE.finditer(text, position):
        written, end = match.groups()
        values.append(None if written == "?" else _unquoted(written))
        if end != ",":
            position = match.end()
            break
    if end != closing or not (closing or _REST.match(text, position)):
        raise ValueError(_unreadable(text, position))
    return values, position


def _unreadable(text: str, position: int) -> str:
    rest = text[position:].lstrip()
    if rest.startswith(("'", '"')):
        return f"the quote of {shown(rest)} is not closed, or does not follow a comma"
    return f"cannot be read from {shown(rest)} on" if rest else "ends before a value or }"


def _is_special_row(line: str) -> bool:
    return "'" in line or '"' in line or "{" in line or "}" in line or "%" in line


def _cut_row(line: str, left_out: Cells) -> Cells:
    line = line.strip(BLANK)
    if not line or line.startswith("%"):
        return []
    if line.startswith("{"):
        return _cut_sparse(line, left_out)
    if _is_special_row(line):
        return _cut_values(line, 0, "")[0]
    return [None if (cell := written.strip(BLANK)) == "?" else cell for written in line.split(",")]


def _cut_sparse(line: str, left_out: Cells) -> Cells:
    """Cut ``{index value, ...}`` with indices from 0."""
    cells = list(left_out)
    if empty := _EMPTY.match(line):
        position, end = empty.end(), "}"
    else:
        position, end = 1, ","
    while end == ",":
        match = _ENTRY.match(line, position)
        if not match:
            raise ValueError(f"a sparse row is {{index value, ...}}: {_unreadable(line, position)}")
        index, written, end = match.groups()
        if int(index) >= len(cells):
            raise ValueError(f"a sparse row has the index {index}; the last attribute is {len(cells) - 1}, counted from 0")
        cells[int(index)] = None if written == "?" else _unquoted(written)
        position = match.end()
    if end != "}" or not _REST.match(line, position):
        raise ValueError(f"{shown(line[position:])} follows a sparse row: weights of rows are not supported")
    return cells


def _declared_attribute(line: str) -> Attribute:
    match = _ATTRIBUTE.match(line)
    if not match:
        raise ValueError(f"{shown(line)} is no declaration: write @attribute, a name, and a type or values in braces")
    name, declared = _unquoted(match[1]), match[2]
    if declared.startswith("{"):
        values, position = _cut_values(declared, 1, "}")
        if not _REST.match(declared, position):
            raise ValueError(_unreadable(declared, position))
        texts = ["?" if value is None else value for value in values]
        if texts == [""] and not re.match(r"\{\s*+['\"]", declared):
            raise ValueError(f"attribute {name!r} declares no values")
        if (value := first_repeated(texts)) is not None:
            raise ValueError(f"attribute {name!r} declares the value {value!r} twice")
        return Attribute(name, Form.NOMINAL, tuple(texts))
    words = declared.split()
    word = words[0].lower() if words else ""
    if word == "date" and (date := _DATE.match(declared)) and _REST.match(declared, date.end()):
        return Attribute(name, Form.DATE, pattern=_date_pattern(_unquoted(date[1]) or "yyyy-MM-dd'T'HH:mm:ss"))
    forms = {"numeric": Form.NUMBER, "real": Form.NUMBER, "integer": Form.NUMBER, "string": Form.TEXT}
    if word not in forms or not _REST.match(declared, len(words[0])):
        raise ValueError(
            f"attribute {name!r} has type {shown(declared)}: must be numeric, real, integer, string, date or {{value, ...}}"
        )
    return Attribute(name, forms[word])


def _date_pattern(java: str) -> str:
    """Convert a pattern of Java's SimpleDateFormat to one of strftime."""
    parts = []
    for match in re.finditer(r"'([^']*+)'|(([A-Za-z])\3*+)|(.)", java, re.DOTALL):
        literal, letters, _, other = match.groups()
        if letters is not None and letters not in _DATE_PARTS:
            raise ValueError(f"date pattern {java!r}: {letters} is not supported; {', '.join(_DATE_PARTS)} are")
        parts.append(_DATE_PARTS[letters] if letters else (literal if other is None else other).replace("%", "%%"))
    if not {"%Y", "%m", "%d"} <= set(parts):
        raise ValueError(f"date pattern {java!r} lacks yyyy, MM or dd")
    return "".join(parts)
