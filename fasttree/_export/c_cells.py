"""Cells of the tables in C source: numbers, texts and comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fasttree._data.schema import Feature
from fasttree._export.layout import as_python
from fasttree._export.nested import Line

__all__ = [
    "CLASS_NAMES",
    "RecordColumn",
    "among",
    "branches",
    "commented",
    "doubles",
    "integer",
    "integers",
    "is_text",
    "labels_of",
    "numbers_of",
    "row_of",
    "string",
    "texts_of",
    "wrapped",
]

CLASS_NAMES = "const char *const tree_classes[TREE_N_CLASSES]"
LINE = 110  # characters, as far as cells allow


class RecordColumn(NamedTuple):
    """A field of records and its values."""

    type: str
    name: str
    cells: list[str]
    comment: str


def doubles(name: str, values: Any, comment: str) -> RecordColumn:
    """Return a column of doubles; NaN, for records without a value, is written as 0."""
    return RecordColumn("double", name, [repr(value) if value == value else "0" for value in values.tolist()], comment)


def integers(name: str, values: Any, comment: str) -> RecordColumn:
    values = values.tolist()
    return RecordColumn(integer(values), name, list(map(str, values)), comment)


def integer(values: Sequence[int]) -> str:
    """Return the smallest signed integer type that holds some values."""
    low, high = min(values, default=0), max(values, default=0)
    return next((f"int{n}_t" for n in (8, 16, 32) if -(2 ** (n - 1)) <= low and high < 2 ** (n - 1)), "int64_t")


def wrapped(cells: Iterable[str]) -> str:
    """Write cells in lines of at most `LINE` characters, or of a single longer cell."""
    lines: list[list[str]] = [[]]
    length = 0
    for cell in cells:
        if lines[-1] and length + len(cell) > LINE:
            lines.append([])
            length = 0
        lines[-1].append(cell)
        length += len(cell) + 2
    return "".join(f"    {', '.join(line)},\n" for line in lines).removesuffix(",\n") + "\n"


def row_of(cells: Sequence[float]) -> str:
    return "{" + ", ".join(map(repr, cells)) + "}"


def among(x: str, codes: Sequence[int]) -> str:
    """Write the condition that a value is one of some ascending codes; consecutive ones are a range."""
    last = [i for i in range(len(codes)) if i + 1 == len(codes) or codes[i + 1] > codes[i] + 1]
    first = [0, *(i + 1 for i in last[:-1])]
    tests = [
        f"{x} == {codes[i]}" if i == j else f"{x} >= {codes[i]} && {x} <= {codes[j]}" for i, j in zip(first, last, strict=True)
    ]
    return tests[0] if len(tests) == 1 else " || ".join(f"({test})" if "&&" in test else test for test in tests)


# --- texts and names


def is_text(feature: Feature) -> bool:
    return isinstance(next(iter(feature.categories or ()), None), str)


def texts_of(feature: Feature) -> list[tuple[str, int]]:
    """Return the categories of a feature as C strings with their codes, in the order of bytes; none if they are numbers."""
    if not is_text(feature):
        return []
    assert feature.categories is not None
    texts = sorted((str(category).encode("utf-8", "surrogatepass"), code) for code, category in enumerate(feature.categories, 1))
    return [(string_of(text), code) for text, code in texts]


def numbers_of(feature: Feature) -> list[tuple[str, int]]:
    """Return the categories of a feature as doubles with their codes, ascending; none if they are texts."""
    if not feature.categories or is_text(feature):
        return []
    values = sorted((as_python(category), code) for code, category in enumerate(feature.categories, 1))
    for value, _ in values:
        if float(value) != value:
            raise ValueError(
                f"column {feature.name!r}: its category {value} is not exact as a double, as C needs it: make its categories text"
            )
    return [(repr(float(value)), code) for value, code in values]


def string(text: str) -> str:
    return string_of(text.encode("utf-8", "surrogatepass"))


def string_of(text: bytes) -> str:
    """Write a C string in ASCII; escapes do not extend to the next character, and there are no trigraphs."""
    if 0 in text:
        raise ValueError(f"{text.decode('utf-8', 'replace')!r}: holds the character of code 0, which ends a string in C")
    return '"' + "".join(chr(c) if 32 <= c < 127 and c not in b'"\\?' else f"\\{c:03o}" for c in text) + '"'


def commented(text: str) -> str:
    """Write a line for a comment, without ends and beginnings of comments and without trigraphs."""
    return re.sub(r"\?(?=\?)", "? ", text.replace("*/", "* /").replace("/*", "/ *"))


def labels_of(labels: Iterable[Any]) -> list[str]:
    """Write classes as texts."""
    return [string(str(as_python(label))) for label in labels]


def branches(nested: Iterable[Line]) -> list[str]:
    """Write nested conditions; a leaf returns its row."""
    lines = []
    for line in nested:
        indent = "    " * (line.level + 1)
        note = f" /* {commented(line.note)} */" if line.note else ""
        if line.word == "if":
            lines.append(f"{indent}if ({line.condition}) {{{note}\n")
        elif line.word == "else if":
            lines.append(f"{indent}}} else if ({line.condition}) {{{note}\n")
        elif line.word == "else":
            lines.append(f"{indent}}} else {{{note}\n")
        elif line.word == "return":
            lines.append(f"{indent}return {line.row};{note}\n")
        else:
            lines.append(f"{indent}}}\n")
    return lines
