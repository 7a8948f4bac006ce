"""Text files that declare their columns: lines become blocks of text columns, which become typed columns.

The formats differ in how a line is cut into cells, and in the meaning of a cell that does not match its declaration; see `c45`
and `arff`.
"""

from __future__ import annotations

import enum
import gzip
import io
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl

BLOCK_LINES = 2**12  # small, so that Python's garbage collector has few objects to visit
BLANK = " \t\n\r\f\v"
EXAMPLES = 5  # at most, in one message

Cells: TypeAlias = Sequence[str | None]
Lines: TypeAlias = Sequence[int]  # the number of every row's line, counted from 1
Block: TypeAlias = tuple[Lines, list[pl.Series]]  # some rows as columns of text
Convert: TypeAlias = Callable[[pl.Series, Lines], pl.Series]  # from a column of text to one of its type


class Form(enum.Enum):
    """Declared type of an attribute."""

    NUMBER = enum.auto()
    NOMINAL = enum.auto()  # one of listed values
    COLLECTED = enum.auto()  # values that are not listed, up to a number of them
    IGNORED = enum.auto()
    TEXT = enum.auto()
    DATE = enum.auto()


@dataclass(frozen=True)
class Attribute:
    """A declared column."""

    name: str
    form: Form
    values: tuple[str, ...] = ()  # NOMINAL: in declared order
    limit: int = 0  # COLLECTED: largest number of values
    pattern: str = ""  # DATE: of strftime


def as_latin_1(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


def lines_of(path: str) -> Iterator[str]:
    """Yield the lines of a text file, compressed or not, without line ends; bytes that are not UTF-8 are read as Latin-1."""
    try:
        with (
            open(path, "rb") as raw,
            gzip.open(raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw as file,
            io.TextIOWrapper(file, encoding="utf-8-sig", errors="fasttree.latin-1") as text,
        ):
            for line in text:
                yield line.removesuffix("\n")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} cannot be decompressed: {error}") from None


def not_text(path: str) -> ValueError:
    return ValueError(f"{path} is neither UTF-8 nor Latin-1 text: it holds zero bytes")


@dataclass(frozen=True)
class LineLayout:
    """Form of the rows of a format."""

    n_cells: int  # in a row
    special: Callable[[str], bool]  # whether a line cannot be split at its commas
    cut: Callable[[str], Cells]  # splits any line into its cells; no cells if the line holds no row
    missing: Sequence[str]  # cells that mean missing in lines that are not special


def read_blocks(path: str, layout: LineLayout, skipped: int = 0) -> Iterator[Block]:
    """Yield blocks of the rows after the skipped lines; at least one, which may be empty."""
    n_cells = layout.n_cells
    lines = itertools.islice(enumerate(lines_of(path), start=1), skipped, None)
    for number in itertools.count():
        block = list(itertools.islice(lines, BLOCK_LINES))
        if number and not block:
            return
        if n_cells > 1 and all(line.count(",") == n_cells - 1 and not layout.special(line) for _, line in block):
            numbers = [line for line, _ in block]
            cells: Cells = ",".join([line for _, line in block]).split(",") if block else []
            texts = [_texts(cells[j::n_cells]).str.strip_chars(BLANK) for j in range(n_cells)]
            yield numbers, [column.set(column.is_in(layout.missing), None) for column in texts]
        else:
            numbers, cells = _cut_rows(path, block, layout)
            yield numbers, [_texts(cells[j::n_cells]) for j in range(n_cells)]


def _cut_rows(path: str, lines: Iterable[tuple[int, str]], layout: LineLayout) -> tuple[list[int], Cells]:
    """Cut each line by itself; return the numbers of the lines with a row, and the cells row by row."""
    numbers: list[int] = []
    cells: list[str | None] = []
    for number, line in lines:
        try:
            row = layout.cut(line)
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from None
        if row:
            if len(row) != layout.n_cells:
                raise ValueError(f"{path}:{number}: a row of {len(row)} comma-separated cells; {layout.n_cells} are declared")
            numbers.append(number)
            cells += row
    return numbers, cells


def read_frame(blocks: Iterable[Block], columns: Mapping[str, tuple[int, Convert]]) -> pl.DataFrame:
    """Read the named columns, each from its position in the rows."""
    frames = (pl.DataFrame({name: convert(texts[j], lines) for name, (j, convert) in columns.items()}) for lines, texts in blocks)
    return pl.concat(frames, rechunk=True)


def _texts(cells: Cells) -> pl.Series:
    return pl.Series(cells, dtype=pl.String)


def first(wrong: pl.Series) -> int | None:
    """Return the first row that a mask marks."""
    return wrong.arg_max() if wrong.any() else None


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs a second time."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def as_numbers(name: str, path: str) -> Convert:
    def convert(texts: pl.Series, lines: Lines) -> pl.Series:
        values = texts.cast(pl.Float64, strict=False)
        row = first(texts.is_not_null() & ~values.is_finite().fill_null(False))
        if row is not None:
            raise ValueError(
                f"{path}:{lines[row]}: {name!r} is declared a number but has {texts[row]!r}; write ? for a missing value"
            )
        return values

    return convert


def as_enum(values: Iterable[str]) -> Convert:
    """Return a conversion to the declared categories; any other value becomes missing."""
    categories = pl.Enum(values)
    return lambda texts, _: texts.cast(categories, strict=False)


def shown(text: str, length: int = 40) -> str:
    return repr(text) if len(text) <= length else repr(text[:length]) + "…"
