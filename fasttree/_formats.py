"""Text files that declare their columns, read into polars: Quinlan's .names, .data and .test, and Weka's ARFF.

Lines become blocks of columns of text (null = missing), and these become columns as declared.  What differs between the formats
is how a line is cut into cells and what a cell means that does not fit its declaration.  Nothing here knows trees.
"""

from __future__ import annotations

import codecs
import enum
import functools
import gzip
import io
import itertools
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import polars as pl

__all__ = ["ArffTable", "C45Table"]

BLOCK_LINES = 2**12  # small enough that the collector of cycles finds little to walk through
BLANK = " \t\n\r\f\v"
EXAMPLES = 5  # of what is wrong, in one message

Cells: TypeAlias = Sequence[str | None]
Lines: TypeAlias = Sequence[int]  # the number of every row's line, counted from 1
Block: TypeAlias = tuple[Lines, list[pl.Series]]  # some rows, as columns of text
Convert: TypeAlias = Callable[[pl.Series, Lines], pl.Series]  # a column of text to one of its type


class Form(enum.Enum):
    """What an attribute is declared to hold."""

    NUMBER = enum.auto()
    NOMINAL = enum.auto()  # one of listed values
    COLLECTED = enum.auto()  # values that are not listed, but counted
    IGNORED = enum.auto()
    TEXT = enum.auto()
    DATE = enum.auto()


@dataclass(frozen=True)
class Attribute:
    """A declared column."""

    name: str
    form: Form
    values: tuple[str, ...] = ()  # NOMINAL: in declared order
    limit: int = 0  # COLLECTED: most values
    pattern: str = ""  # DATE: as strftime writes it


# What both formats share


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("fasttree.latin-1", _as_latin_1)


def _lines(path: str) -> Iterator[str]:
    """Lines of a text file, compressed or not, without their ends; what is not UTF-8 is taken as Latin-1."""
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


def _not_text(path: str) -> ValueError:
    return ValueError(f"{path} is neither UTF-8 nor Latin-1 text: it holds zero bytes")


@dataclass(frozen=True)
class Layout:
    """How a format writes rows."""

    n_cells: int  # in a row
    special: Callable[[str], bool]  # whether commas alone do not tell the cells of a line
    cut: Callable[[str], Cells]  # any line into its cells; none for a line without a row
    missing: Sequence[str]  # cells that mean missing where the line is not special


def _read_blocks(path: str, layout: Layout, skipped: int = 0) -> Iterator[Block]:
    """Read rows by block after the skipped lines; there is at least one block, which may be empty."""
    n_cells = layout.n_cells
    lines = itertools.islice(enumerate(_lines(path), start=1), skipped, None)
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


def _cut_rows(path: str, lines: Iterable[tuple[int, str]], layout: Layout) -> tuple[list[int], Cells]:
    """Cut every line by itself; return the lines that hold a row, and the cells of one row after the other."""
    numbers: list[int] = []
    cells: list[str | None] = []
    for number, line in lines:
        try:
            row = layout.cut(line)
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from None
        if row:
            if len(row) != layout.n_cells:
                raise ValueError(f"{path}:{number}: a row of {len(row)} cells, parted by commas; {layout.n_cells} are declared")
            numbers.append(number)
            cells += row
    return numbers, cells


def _read_frame(blocks: Iterable[Block], columns: Mapping[str, tuple[int, Convert]]) -> pl.DataFrame:
    """Read the named columns, each from its position in the rows."""
    frames = (pl.DataFrame({name: convert(texts[j], lines) for name, (j, convert) in columns.items()}) for lines, texts in blocks)
    return pl.concat(frames, rechunk=True)


def _texts(cells: Cells) -> pl.Series:
    return pl.Series(cells, dtype=pl.String)


def _first(wrong: pl.Series) -> int | None:
    """Return the first row that a mask marks."""
    return wrong.arg_max() if wrong.any() else None


def _repeated(names: Iterable[str]) -> str | None:
    """Return the first name that came before."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _numbers(name: str, path: str) -> Convert:
    def convert(texts: pl.Series, lines: Lines) -> pl.Series:
        values = texts.cast(pl.Float64, strict=False)
        row = _first(texts.is_not_null() & ~values.is_finite().fill_null(False))
        if row is not None:
            raise ValueError(
                f"{path}:{lines[row]}: {name!r} is declared a number and has {texts[row]!r}; a missing value is written ?"
            )
        return values

    return convert


def _enum(values: Iterable[str]) -> Convert:
    """Categories as declared; any other value is missing."""
    categories = pl.Enum(values)
    return lambda texts, _: texts.cast(categories, strict=False)


# C4.5: Quinlan (1993), "C4.5: Programs for Machine Learning", Morgan Kaufmann, appendix; behaviour of Release 8

# White space and comments; a name; what ends it: a comma, a colon, a line end, a period before white space or a comment, or
# nothing (a comment, the end of the text).  A backslash takes the meaning from the character after it.
_NAME = re.compile(
    r"(?:\s|\|[^\n]*+)*+((?:[^\\,:|\n.]++|\\.|\.(?![ \t\n|]|\Z))*+)([,:\n.\\]?+)",
    re.DOTALL | re.ASCII,
)
_PARTS = (".names", ".data", ".test")


def c45_stem(path: str) -> tuple[str, str] | None:
    """Return the stem of a file of the family and which it is, ".names", ".data" or ".test"; None for any other name."""
    stem, part = os.path.splitext(path.removesuffix(".gz"))
    return (stem, part) if part in _PARTS else None


def c45_file(stem: str, part: str) -> str:
    """Return the name of a file of the family, with .gz if it is only there compressed."""
    path = stem + part
    return f"{path}.gz" if os.path.exists(f"{path}.gz") and not os.path.exists(path) else path


@dataclass
class C45Table:
    """The family stem.names, stem.data, stem.test: the names, and the cases of one of the other two.

    Parameters
    ----------
    path : str
        The stem, or one of the files; the cases are those of stem.test if it is that one, else of stem.data.
    max_undeclared : int or None
        More undeclared values, of attributes and classes together, are an error; None for any number.

    Attributes
    ----------
    path : str
        The file that holds the cases.
    classes : list of str
    attributes : list of Attribute
    target : str
        Name of the column of classes: "class", with underscores added if an attribute has that name.
    names : list of str
        The attributes that are not ignored, then the target.
    notes : list of str
        What `read` took otherwise than it was written, in sentences.
    test_path : str or None
        stem.test, if it is there and the cases are not its own.
    """

    path: str
    max_undeclared: int | None = 10
    classes: list[str] = field(init=False)
    attributes: list[Attribute] = field(init=False)
    target: str = field(init=False)
    names: list[str] = field(init=False)
    notes: list[str] = field(init=False, default_factory=list)
    test_path: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._stem, part = c45_stem(self.path) or (self.path, ".data")
        self.path = c45_file(self._stem, ".test" if part == ".test" else ".data")
        if part != ".test" and os.path.exists(test_path := c45_file(self._stem, ".test")):
            self.test_path = test_path
        self.names_path = c45_file(self._stem, ".names")
        self.classes, self.attributes = _read_names(self.names_path)
        self.names = [attribute.name for attribute in self.attributes if attribute.form is not Form.IGNORED]
        if not self.names:
            raise ValueError(f"{self.names_path} declares no attribute that is not ignored")
        self.target = "class"
        while self.target in self.names:
            self.target += "_"
        self.names.append(self.target)

    def read(self, names: Iterable[str] | None = None) -> pl.DataFrame:
        """Read the named columns, or all; only what is read is checked."""
        names = self.names if names is None else list(names)
        self.notes = []
        strangers = _Undeclared(self.path, self.names_path, self.max_undeclared)
        missing_marks: dict[str, int] = {}
        columns: dict[str, tuple[int, Convert]] = {}
        wanted = set(names)
        collected = self._collected(wanted)
        for j, attribute in enumerate(self.attributes):
            if attribute.name not in wanted or attribute.form is Form.IGNORED:
                continue
            if attribute.form is Form.NUMBER:
                columns[attribute.name] = j, self._numbers(attribute.name, missing_marks)
            elif attribute.form is Form.COLLECTED:
                columns[attribute.name] = j, _enum(collected[attribute.name])
            else:
                columns[attribute.name] = j, strangers.attribute(attribute)
        if self.target in wanted:
            columns[self.target] = len(self.attributes), strangers.target(self.classes)
        table = _read_frame(_read_blocks(self.path, self._layout), {name: columns[name] for name in names})
        self.notes += strangers.notes()
        if missing_marks:
            counts = ", ".join(f"{name!r} ({count:,})" for name, count in missing_marks.items())
            self.notes.append(f"{self.path}: -999 in continuous attributes is read as missing, as C4.5 does: {counts}")
        return table

    def _numbers(self, name: str, marks: dict[str, int]) -> Convert:
        read = _numbers(name, self.path)

        def convert(texts: pl.Series, lines: Lines) -> pl.Series:
            values = read(texts, lines)
            is_mark = values == -999
            if is_mark.any():
                marks[name] = marks.get(name, 0) + int(is_mark.sum())
                values = values.set(is_mark, None)
            return values

        return convert

    def _collected(self, names: set[str]) -> dict[str, list[str]]:
        """Values, in order of appearance in stem.data, of the attributes that are declared as `discrete n`."""
        found: dict[str, dict[str, None]] = {}
        columns: dict[str, tuple[int, Convert]] = {}
        path = c45_file(self._stem, ".data")
        for j, attribute in enumerate(self.attributes):
            if attribute.form is Form.COLLECTED and attribute.name in names:
                found[attribute.name] = {}
                columns[attribute.name] = j, _collect(attribute, found[attribute.name], path)
        if columns:
            _read_frame(_read_blocks(path, self._layout), columns)
        return {name: list(values) for name, values in found.items()}

    @property
    def _layout(self) -> Layout:
        return Layout(len(self.attributes) + 1, _is_special_case, _cut_case, ("?", ""))


class _Undeclared:
    """Counts values that are not declared, which C4.5 reads as missing, and classes, which it reads as the first."""

    def __init__(self, path: str, names_path: str, limit: int | None) -> None:
        self.path, self.names_path, self.limit = path, names_path, limit
        self.values: list[tuple[int, str, str]] = []  # line, attribute, value
        self.labels: list[tuple[int, str]] = []

    def attribute(self, attribute: Attribute) -> Convert:
        read = _enum(attribute.values)

        def convert(texts: pl.Series, lines: Lines) -> pl.Series:
            values = read(texts, lines)
            if values.null_count() > texts.null_count():
                strange = (values.is_null() & texts.is_not_null()).arg_true()
                self.values += ((lines[row], attribute.name, texts[row]) for row in strange)
                self._check()
            return values

        return convert

    def target(self, classes: Sequence[str]) -> Convert:
        self.first = classes[0]
        read = _enum(classes)

        def convert(texts: pl.Series, lines: Lines) -> pl.Series:
            labels = read(texts, lines)
            if labels.null_count():
                self.labels += ((lines[row], texts[row] or "?") for row in labels.is_null().arg_true())
                self._check()
            return labels.fill_null(self.first)

        return convert

    def _check(self) -> None:
        if self.limit is not None and len(self.values) + len(self.labels) > self.limit:
            allowed = "none is allowed" if self.limit == 0 else f"at most {self.limit} are allowed"
            found = " and ".join(filter(None, self._found()))
            raise ValueError(
                f"{self.path} has {found} that {self.names_path} does not declare; {allowed}: declare or correct them"
            )

    def notes(self) -> list[str]:
        read_as = "missing", f"the first class, {self.first!r}" if self.labels else ""
        return [
            f"{self.path} has {found} that {self.names_path} does not declare, read as {meaning}"
            for found, meaning in zip(self._found(), read_as, strict=True)
            if found
        ]

    def _found(self) -> tuple[str, str]:
        """Say how many values and classes there are, and the first of them; nothing where there are none."""
        values = [f"{name!r} {value!r} (line {line})" for line, name, value in sorted(self.values)[:EXAMPLES]]
        labels = [f"{label!r} (line {line})" for line, label in sorted(self.labels)[:EXAMPLES]]
        return _counted(len(self.values), "value", "values", values), _counted(len(self.labels), "class", "classes", labels)


def _counted(count: int, one: str, many: str, examples: list[str]) -> str:
    more = ", …" if count > len(examples) else ""
    return f"{count:,} {one if count == 1 else many} ({', '.join(examples)}{more})" if count else ""


def _collect(attribute: Attribute, found: dict[str, None], path: str) -> Convert:
    def convert(texts: pl.Series, lines: Lines) -> pl.Series:
        for value in texts.drop_nulls().unique(maintain_order=True):
            found.setdefault(value)
            if len(found) > attribute.limit:
                raise ValueError(
                    f"{path}:{lines[_first(texts == value) or 0]}: {attribute.name!r} is declared as discrete {attribute.limit} "
                    f"and has one more value, {value!r}: declare a larger number"
                )
        return texts

    return convert


def _plain_name(written: str) -> str:
    """Undo the escapes of a name; several blanks are one."""
    name = written.strip(BLANK)
    if "  " in name or "\t" in name:
        name = re.sub(r"[ \t]+", " ", name)
    return re.sub(r"\\(.?)", r"\1", name, flags=re.DOTALL) if "\\" in name else name


def _read_names(path: str) -> tuple[list[str], list[Attribute]]:
    """Read the declarations: the classes first, then the attributes."""
    text = "\n".join(_lines(path))
    if "\0" in text:
        raise _not_text(path)
    classes: list[str] = []
    attributes: list[Attribute] = []
    declared: set[str] = set()
    for line, name, values in _declarations(path, text):
        try:
            if (repeated := _repeated(values)) is not None:
                raise ValueError(f"{repeated!r} is declared twice")
            if not classes:
                if name is not None:
                    raise ValueError(f"the attribute {name!r} stands where the classes must: names parted by commas, no colon")
                classes = values
                continue
            if name is None:
                raise ValueError(f"{_shown(', '.join(values))} declares nothing: an attribute is a name, a colon and its values")
            if name in declared:
                raise ValueError(f"attribute {name!r} is declared twice")
            declared.add(name)
            attributes.append(_declared(name, values))
        except ValueError as error:
            raise ValueError(f"{path}:{line}: {error}") from None
    if not classes:
        raise ValueError(f"{path} declares no classes")
    return classes, attributes


def _declarations(path: str, text: str) -> Iterator[tuple[int, str | None, list[str]]]:
    """Give every declaration: the line where it ends, the name before the colon if there is one, the names after it."""
    head: str | None = None
    names: list[str] = []
    line, counted = 1, 0
    for match in _NAME.finditer(text):
        name, end = _plain_name(match[1]), match[2]
        line += text.count("\n", counted, match.start(2))
        counted = match.start(2)
        if not name and not end:  # what is left is a comment
            break
        if not name or end == "\\":
            raise ValueError(
                f"{path}:{line}: " + ("a backslash escapes nothing" if end == "\\" else f"a name is empty before {end!r}")
            )
        if end == ":":
            if names or head is not None:
                raise ValueError(f"{path}:{line}: a colon after {_shown(name)}, where a comma, a period or a line end must stand")
            head = name
            continue
        names.append(name)
        if end != ",":
            yield line, head, names
            head, names = None, []
    if names or head is not None:
        yield line, head, names


def _declared(name: str, values: Sequence[str]) -> Attribute:
    """Turn what stands after the colon into an attribute."""
    words = values[0].split(" ") if len(values) == 1 else []
    if len(values) > 1:
        return Attribute(name, Form.NOMINAL, tuple(values))
    if words == ["continuous"]:
        return Attribute(name, Form.NUMBER)
    if words == ["ignore"]:
        return Attribute(name, Form.IGNORED)
    if len(words) == 2 and words[0] == "discrete" and re.fullmatch("0*[1-9][0-9]{0,8}", words[1]):
        return Attribute(name, Form.COLLECTED, limit=int(words[1]))
    given = f"has one value, {values[0]!r}" if values else "has no values"
    raise ValueError(f"{name!r} {given}: list two or more, or write continuous, discrete N or ignore")


def _is_special_case(line: str) -> bool:
    return "\\" in line or "|" in line or ":" in line or "\t" in line or "  " in line or ". " in line or line.endswith(".")


def _cut_case(line: str) -> Cells:
    """Cut a line of .data or .test."""
    if not line.strip(BLANK):
        return []
    if not _is_special_case(line):
        cells = [cell.strip(BLANK) for cell in line.split(",")]
    else:
        found: list[tuple[str, str]] = _NAME.findall(line)
        while found and found[-1] == ("", ""):  # a comment, the end
            found.pop()
        if not found:
            return []
        if found[-1][1] == "\\":
            raise ValueError("a backslash at the end escapes nothing")
        cells = [_plain_name(name) for name, _ in found]
        if found[-1][1] == ",":
            cells.append("")
    return [None if cell in ("?", "") else cell for cell in cells]


# ARFF: Witten, Frank, Hall (2011), "Data Mining", section 2.4, and Weka's own reader.
# Not scipy.io.arff: it reads neither text nor sparse rows, and keeps the backslashes in quoted values.

# A value, quoted or bare, and the comma or brace after it; nothing at all matches, too.  A percent sign begins a comment only
# where a value or a word may begin, so that a bare 50% is a value.
_QUOTED = r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\""""
_BARE = r"""(?:[^,}\s%'"][^,}\s]*+(?:\s++[^,}\s%][^,}\s]*+)*+)?+"""
_VALUE = re.compile(rf"\s*+({_QUOTED}|{_BARE})\s*+([,}}]?+)", re.DOTALL | re.ASCII)
_ENTRY = re.compile(rf"\s*+([0-9]{{1,9}})\s++({_QUOTED}|{_BARE})\s*+([,}}])", re.DOTALL | re.ASCII)
_ATTRIBUTE = re.compile(rf"@attribute\s++({_QUOTED}|[^\s{{'\"]++)\s*+(.*)", re.IGNORECASE | re.DOTALL | re.ASCII)
_DATE = re.compile(rf"date\b\s*+({_QUOTED}|[^\s%]*+)", re.IGNORECASE | re.DOTALL | re.ASCII)
_EMPTY = re.compile(r"\{\s*+\}", re.ASCII)
_REST = re.compile(r"\s*+(?:%.*)?\Z", re.DOTALL | re.ASCII)  # nothing but a comment
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
# Letters of Java's SimpleDateFormat
_DATE_PARTS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "SSS": "%3f"}


@dataclass
class ArffTable:
    """A file of Weka's attribute-relation file format.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    attributes : list of Attribute
    names : list of str
        The attributes.
    target : str
        The last attribute.
    notes : list of str
        As of `C45Table`; nothing here is taken otherwise than it is written.
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
        """Read the named columns, or all; only what is read is checked."""
        names = self.names if names is None else list(names)
        wanted = set(names)
        columns = {
            attribute.name: (j, self._conversion(attribute))
            for j, attribute in enumerate(self.attributes)
            if attribute.name in wanted
        }
        layout = Layout(len(self.attributes), _is_special_row, functools.partial(_cut_row, left_out=self._left_out()), ("?",))
        blocks = _read_blocks(self.path, layout, self._header_lines)
        return _read_frame(blocks, {name: columns[name] for name in names})

    def _wrong(self, line: int, reason: str) -> ValueError:
        return ValueError(f"{self.path}:{line}: {reason}")

    def _read_header(self) -> int:
        """Read the declarations and return how many lines they take."""
        for number, line in enumerate(_lines(self.path), start=1):
            if "\0" in line:
                raise _not_text(self.path)
            line = line.strip(BLANK)
            keyword = line.split(maxsplit=1)[0].lower() if line else "%"
            if keyword.startswith("%") or keyword == "@relation":
                continue
            try:
                if keyword == "@attribute":
                    self.attributes.append(_declared_attribute(line))
                    continue
                if keyword != "@data":
                    raise ValueError(f"{_shown(line)} where @relation, @attribute or @data must stand")
                if not self.attributes:
                    raise ValueError("@data comes before any @attribute")
                if (name := _repeated(attribute.name for attribute in self.attributes)) is not None:
                    raise ValueError(f"attribute {name!r} is declared twice")
            except ValueError as error:
                raise self._wrong(number, str(error)) from None
            return number
        raise ValueError(f"{self.path} is no ARFF file: it has no line @data")

    def _left_out(self) -> Cells:
        """What a sparse row leaves out is zero: the number 0, or the value number 0."""
        zero = {Form.NUMBER: "0"}
        return [attribute.values[0] if attribute.values else zero.get(attribute.form) for attribute in self.attributes]

    def _conversion(self, attribute: Attribute) -> Convert:
        if attribute.form is Form.NUMBER:
            return _numbers(attribute.name, self.path)
        if attribute.form is Form.TEXT:
            return lambda texts, _: texts
        if attribute.form is Form.NOMINAL:
            return self._all(attribute, _enum(attribute.values))
        pattern = attribute.pattern
        return self._all(attribute, lambda texts, _: texts.str.to_datetime(pattern, time_unit="ms", strict=False))

    def _all(self, attribute: Attribute, read: Convert) -> Convert:
        """Read a column in which every cell must become a value."""
        declared = ", ".join(attribute.values) if attribute.values else f"a date written as {attribute.pattern}"

        def convert(texts: pl.Series, lines: Lines) -> pl.Series:
            values = read(texts, lines)
            row = _first(values.is_null() & texts.is_not_null())
            if row is not None:
                raise self._wrong(lines[row], f"{attribute.name!r} has {texts[row]!r}; declared is {_shown(declared, 100)}")
            return values

        return convert


def _shown(text: str, length: int = 40) -> str:
    return repr(text) if len(text) <= length else repr(text[:length]) + "…"


def _unquoted(written: str) -> str:
    """Return the value of a cell as it is written."""
    if not written.startswith(("'", '"')):
        return written
    if "\\" not in written:
        return written[1:-1]
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), written[1:-1], flags=re.DOTALL)


def _cut_values(text: str, position: int, closing: str) -> tuple[list[str | None], int]:
    """Cut values parted by commas up to what closes them; return where this ends."""
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
        return f"the quote of {_shown(rest)} has no end, or something but a comma before it"
    return f"cannot be read from {_shown(rest)} on" if rest else "ends where } or a value must stand"


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
    """Cut ``{index value, ...}``, with indices from 0."""
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
            raise ValueError(f"a sparse row with the index {index}; the last attribute is {len(cells) - 1}, counted from 0")
        cells[int(index)] = None if written == "?" else _unquoted(written)
        position = match.end()
    if end != "}" or not _REST.match(line, position):
        raise ValueError(f"{_shown(line[position:])} after a sparse row: weights of rows are not supported")
    return cells


def _declared_attribute(line: str) -> Attribute:
    match = _ATTRIBUTE.match(line)
    if not match:
        raise ValueError(f"{_shown(line)} is no declaration: @attribute, a name, and a type or values in braces")
    name, declared = _unquoted(match[1]), match[2]
    if declared.startswith("{"):
        values, position = _cut_values(declared, 1, "}")
        if not _REST.match(declared, position):
            raise ValueError(_unreadable(declared, position))
        texts = ["?" if value is None else value for value in values]
        if texts == [""] and not re.match(r"\{\s*+['\"]", declared):
            raise ValueError(f"attribute {name!r} declares no values")
        if (value := _repeated(texts)) is not None:
            raise ValueError(f"attribute {name!r} declares the value {value!r} twice")
        return Attribute(name, Form.NOMINAL, tuple(texts))
    words = declared.split()
    word = words[0].lower() if words else ""
    if word == "date" and (date := _DATE.match(declared)) and _REST.match(declared, date.end()):
        return Attribute(name, Form.DATE, pattern=_date_pattern(_unquoted(date[1]) or "yyyy-MM-dd'T'HH:mm:ss"))
    forms = {"numeric": Form.NUMBER, "real": Form.NUMBER, "integer": Form.NUMBER, "string": Form.TEXT}
    if word not in forms or not _REST.match(declared, len(words[0])):
        raise ValueError(
            f"attribute {name!r} is of type {_shown(declared)}; read are numeric, real, integer, string, date and {{value, ...}}"
        )
    return Attribute(name, forms[word])


def _date_pattern(java: str) -> str:
    """Turn a pattern of Java's SimpleDateFormat into one of strftime."""
    parts = []
    for match in re.finditer(r"'([^']*+)'|(([A-Za-z])\3*+)|(.)", java, re.DOTALL):
        literal, letters, _, other = match.groups()
        if letters is not None and letters not in _DATE_PARTS:
            raise ValueError(f"date pattern {java!r}: {letters} is not supported; {', '.join(_DATE_PARTS)} are")
        parts.append(_DATE_PARTS[letters] if letters else (literal if other is None else other).replace("%", "%%"))
    if not {"%Y", "%m", "%d"} <= set(parts):
        raise ValueError(f"date pattern {java!r} lacks yyyy, MM or dd")
    return "".join(parts)
