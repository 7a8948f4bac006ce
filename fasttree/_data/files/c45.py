"""Quinlan's .names, .data and .test files."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from fasttree._data.files.columns import (
    BLANK,
    EXAMPLES,
    Attribute,
    Cells,
    Convert,
    Form,
    LineLayout,
    Lines,
    as_enum,
    as_latin_1,
    as_numbers,
    first,
    first_repeated,
    lines_of,
    not_text,
    read_blocks,
    read_frame,
    shown,
)

codecs.register_error("fasttree.latin-1", as_latin_1)

# The format follows Quinlan (1993), "C4.5: Programs for Machine Learning", Morgan Kaufmann, appendix, and Release 8.

# White space and comments; a name; its end: a comma, a colon, a line end, a period before white space or a comment, or nothing
# (before a comment or at the end of the text).  A backslash escapes the next character.
# No possessive groups: CPython before 3.11.5 gives wrong matches for them.  Nothing here can fail, so nothing is tried twice.
_NAME = re.compile(
    r"(?:\s|\|[^\n]*)*((?:[^\\,:|\n.]+|\\.|\.(?![ \t\n|]|\Z))*)([,:\n.\\]?)",
    re.DOTALL | re.ASCII,
)
_PARTS = (".names", ".data", ".test")


def c45_stem(path: str) -> tuple[str, str] | None:
    """Return the stem and the part (".names", ".data" or ".test") of a file name; None for any other name."""
    stem, part = os.path.splitext(path.removesuffix(".gz"))
    return (stem, part) if part in _PARTS else None


def c45_file(stem: str, part: str) -> str:
    """Return the name of a file of the family, with .gz if only the compressed file exists."""
    path = stem + part
    return f"{path}.gz" if os.path.exists(f"{path}.gz") and not os.path.exists(path) else path


@dataclass
class C45Table:
    """The files stem.names, stem.data and stem.test: the declarations, and the cases of one of the other two.

    Parameters
    ----------
    path : str
        The stem, or one of the files.  The cases are those of stem.test if it is that file, else those of stem.data.
    max_undeclared : int or None
        Largest number of undeclared values of attributes and classes together; None for no limit.

    Attributes
    ----------
    path : str
        File of the cases.
    classes : list of str
    attributes : list of Attribute
    target : str
        Name of the column of classes: "class", with underscores added if an attribute has that name.
    names : list of str
        Names of the attributes that are not ignored, then of the target.
    notes : list of str
        Sentences about values that `read` changed.
    test_path : str or None
        stem.test, if it exists and the cases are those of stem.data.
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
        """Read and check the named columns, or all."""
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
                columns[attribute.name] = j, as_enum(collected[attribute.name])
            else:
                columns[attribute.name] = j, strangers.attribute(attribute)
        if self.target in wanted:
            columns[self.target] = len(self.attributes), strangers.target(self.classes)
        table = read_frame(read_blocks(self.path, self._layout), {name: columns[name] for name in names})
        self.notes += strangers.notes()
        if missing_marks:
            counts = ", ".join(f"{name!r} ({count:,})" for name, count in missing_marks.items())
            self.notes.append(f"{self.path}: -999 in continuous attributes is read as missing, as C4.5 does: {counts}")
        return table

    def _numbers(self, name: str, marks: dict[str, int]) -> Convert:
        read = as_numbers(name, self.path)

        def convert(texts: pl.Series, lines: Lines) -> pl.Series:
            values = read(texts, lines)
            is_mark = values == -999
            if is_mark.any():
                marks[name] = marks.get(name, 0) + int(is_mark.sum())
                values = values.set(is_mark, None)
            return values

        return convert

    def _collected(self, names: set[str]) -> dict[str, list[str]]:
        """Return the values of the attributes declared as `discrete n`, in order of appearance in stem.data."""
        found: dict[str, dict[str, None]] = {}
        columns: dict[str, tuple[int, Convert]] = {}
        path = c45_file(self._stem, ".data")
        for j, attribute in enumerate(self.attributes):
            if attribute.form is Form.COLLECTED and attribute.name in names:
                found[attribute.name] = {}
                columns[attribute.name] = j, _collect(attribute, found[attribute.name], path)
        if columns:
            read_frame(read_blocks(path, self._layout), columns)
        return {name: list(values) for name, values in found.items()}

    @property
    def _layout(self) -> LineLayout:
        return LineLayout(len(self.attributes) + 1, _is_special_case, _cut_case, ("?", ""))


class _Undeclared:
    """Undeclared values, which C4.5 reads as missing, and undeclared classes, which it reads as the first class."""

    def __init__(self, path: str, names_path: str, limit: int | None) -> None:
        self.path, self.names_path, self.limit = path, names_path, limit
        self.values: list[tuple[int, str, str]] = []  # line, attribute, value
        self.labels: list[tuple[int, str]] = []

    def attribute(self, attribute: Attribute) -> Convert:
        read = as_enum(attribute.values)

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
        read = as_enum(classes)

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
        """Return the numbers of undeclared values and classes with the first of them, as texts; empty if there are none."""
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
                    f"{path}:{lines[first(texts == value) or 0]}: {attribute.name!r} is declared as discrete {attribute.limit} "
                    f"but has another value, {value!r}: declare a larger number"
                )
        return texts

    return convert


def _plain_name(written: str) -> str:
    """Return a name without escapes, with single blanks."""
    name = written.strip(BLANK)
    if "  " in name or "\t" in name:
        name = re.sub(r"[ \t]+", " ", name)
    return re.sub(r"\\(.?)", r"\1", name, flags=re.DOTALL) if "\\" in name else name


def _read_names(path: str) -> tuple[list[str], list[Attribute]]:
    """Read the declarations: the classes first, then the attributes."""
    text = "\n".join(lines_of(path))
    if "\0" in text:
        raise not_text(path)
    classes: list[str] = []
    attributes: list[Attribute] = []
    declared: set[str] = set()
    for line, name, values in _declarations(path, text):
        try:
            if (repeated := first_repeated(values)) is not None:
                raise ValueError(f"{repeated!r} is declared twice")
            if not classes:
                if name is not None:
                    raise ValueError(f"the attribute {name!r} comes before the classes: list their names, separated by commas")
                classes = values
                continue
            if name is None:
                raise ValueError(f"{shown(', '.join(values))} declares nothing: an attribute has a name, a colon and values")
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
    """Yield each declaration: the line of its end, the name before the colon if there is one, and the names after it."""
    head: str | None = None
    names: list[str] = []
    line, counted = 1, 0
    for match in _NAME.finditer(text):
        name, end = _plain_name(match[1]), match[2]
        line += text.count("\n", counted, match.start(2))
        counted = match.start(2)
        if not name and not end:  # only a comment remains
            break
        if not name or end == "\\":
            raise ValueError(
                f"{path}:{line}: " + ("a backslash escapes nothing" if end == "\\" else f"a name is empty before {end!r}")
            )
        if end == ":":
            if names or head is not None:
                raise ValueError(f"{path}:{line}: a colon after {shown(name)}; write a comma, a period or a line end")
            head = name
            continue
        names.append(name)
        if end != ",":
            yield line, head, names
            head, names = None, []
    if names or head is not None:
        yield line, head, names


def _declared(name: str, values: Sequence[str]) -> Attribute:
    """Return the attribute that the names after the colon declare."""
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
        while found and found[-1] == ("", ""):  # a comment or the end of the line
            found.pop()
        if not found:
            return []
        if found[-1][1] == "\\":
            raise ValueError("a backslash at the end escapes nothing")
        cells = [_plain_name(name) for name, _ in found]
        if found[-1][1] == ",":
            cells.append("")
    return [None if cell in ("?", "") else cell for cell in cells]
