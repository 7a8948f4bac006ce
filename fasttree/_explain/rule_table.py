"""Tables of rules in Markdown, HTML and data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Literal, TypeAlias

__all__ = ["Backend", "frame", "html_of", "html_table", "markdown_table"]

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
BACKENDS = ("pandas", "polars", "pyarrow")
LONG = ("rule", "branch", "as", "else")  # columns of sentences, which need room on a phone
# in the cells themselves, as a page need not have the sheet of a notebook
_CELL, _TEXT, _FIGURE, _WIDE = "padding: 0.2em 0.5em", "text-align: left", "text-align: right", "; min-width: 13em"


def markdown_table(texts: Sequence[str], figures: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table with columns of texts, then columns of figures, which are aligned to the right."""
    lines = [[*texts, *figures], [*["---"] * len(texts), *["---:"] * len(figures)], *([*map(_cell, row)] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def html_table(texts: Sequence[str], figures: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write the same table in HTML."""
    return html_of([*texts, *figures], [[escape(cell) for cell in row] for row in rows], n_texts=len(texts))


def html_of(names: Sequence[str], rows: Iterable[Sequence[str]], *, n_texts: int) -> str:
    """Write a table of cells that are HTML, texts before figures, which scrolls where it is wider than the page."""
    styles = [
        f' style="{_CELL}; {_TEXT if i < n_texts else _FIGURE}{_WIDE if name in LONG else ""}"' for i, name in enumerate(names)
    ]
    head = "".join(f"<th{style}>{name}</th>" for name, style in zip(names, styles, strict=True))
    body = ""
    for row in rows:
        body += f"<tr>{''.join(f'<td{style}>{cell}</td>' for cell, style in zip(row, styles, strict=True))}</tr>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div style="overflow-x: auto">{table}</div>'


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
