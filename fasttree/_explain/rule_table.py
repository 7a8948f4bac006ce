"""Tables of rules in Markdown, HTML and data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal, TypeAlias

__all__ = ["Backend", "frame", "html_table", "markdown_table"]

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
BACKENDS = ("pandas", "polars", "pyarrow")


def markdown_table(texts: Sequence[str], figures: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table with columns of texts, then columns of figures, which are aligned to the right."""
    lines = [[*texts, *figures], [*["---"] * len(texts), *["---:"] * len(figures)], *([*map(_cell, row)] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def html_table(texts: Sequence[str], figures: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write the same table in HTML."""
    left = ' style="text-align: left"'
    head = "".join(f"<th{left}>{name}</th>" for name in texts) + "".join(f"<th>{name}</th>" for name in figures)
    body = ""
    for row in rows:
        cells = [f"<td{left if i < len(texts) else ''}>{escape(cell)}</td>" for i, cell in enumerate(row)]
        body += f"<tr>{''.join(cells)}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def frame(columns: Mapping[str, list[Any]], backend: Backend) -> Any:
    """Return columns as a data frame.

    Raises
    ------
    ValueError
        If `backend` is not one of "pandas", "polars" and "pyarrow".
    ImportError
        If the backend is not installed.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend={backend!r}: must be one of {', '.join(map(repr, BACKENDS))}")
    from fasttree._data.frames import frame_of  # not above: it imports narwhals

    try:
        return frame_of(dict(columns), backend)
    except ModuleNotFoundError as error:
        raise ImportError(f"to_frame(backend={backend!r}) needs {backend}: install it, or choose another backend") from error


def _cell(text: str) -> str:
    """Escape the end of a cell and the markup of Markdown."""
    text = escape(text, quote=False)
    for mark in "\\|*_`[]":
        text = text.replace(mark, f"\\{mark}")
    return text
