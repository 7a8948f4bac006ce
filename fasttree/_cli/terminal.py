"""Trees on a terminal: lines wrapped at its width, dim guides and bold predictions; in a pipe a tree stays as it is."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

import click

__all__ = ["columns", "fitted", "has_styles"]

GUIDES = re.compile(r"(?:│   |\|   |    )*(?:[├└]── |[|`]-- )?")
PARTS = re.compile(r"""(?:^|(?<=[ {]))(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|: |  +""")  # a quoted name, or a condition's end
LEAST_ROOM = 20  # columns for text; where guides leave fewer, lines are not wrapped


def has_styles() -> bool:
    """Return whether standard output is a terminal that shows styles, and the user has not switched them off."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns() -> int | None:
    """Return the width of the terminal; None in a pipe."""
    if not sys.stdout.isatty():
        return None
    import shutil  # not above: it imports the libraries of archives

    return shutil.get_terminal_size((100, 24)).columns


def fitted(drawing: str) -> str:
    """Return the drawing of a tree as a terminal shows it best; in a pipe, return it unchanged.

    Lines wider than the terminal are wrapped at spaces, and the guides continue beside the rest.  Guides are dim, and
    predictions bold.
    """
    width, styled = columns(), has_styles()
    if width is None:
        return drawing
    lines = drawing.splitlines()
    guides = [found[0] if (found := GUIDES.match(line)) else "" for line in lines]
    shown = []
    for line, guide, following in zip(lines, guides, [*guides[1:], ""], strict=True):
        text, opens = line.removeprefix(guide), len(following) > len(guide)
        is_leaf = guide.endswith("─ " if "─" in guide else "-- ") and not opens
        prediction = _prediction(text) if is_leaf else len(text)
        through = ("│   " if set("─│") & set(following) else "|   ") if opens else "    "
        below = _continued(guide) + through
        for start, stop in _pieces(text, width - len(guide), width - len(below)):
            parts = below if start else guide, text[start : min(stop, prediction)], text[max(start, prediction) : stop].rstrip()
            if styled:
                parts = click.style(parts[0], dim=True), parts[1], parts[2] and click.style(parts[2], bold=True)
            shown.append("".join(parts).rstrip() + "\n")
    return "".join(shown)


def _continued(guide: str) -> str:
    """Return the guides beside the second line of a wrapped text."""
    through = {"├── ": "│   ", "└── ": "    ", "|-- ": "|   ", "`-- ": "    "}.get(guide[-4:])
    return guide if through is None else guide[:-4] + through


def _prediction(text: str) -> int:
    """Return the place of the prediction of a leaf, after its condition."""
    for found in PARTS.finditer(text):
        if found[0][0] in ": ":
            return found.end()
    return len(text)


def _pieces(text: str, first_room: int, room: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each line of a wrapped text; a word that is wider than a line stays whole."""
    from rich.cells import cell_len

    if cell_len(text) > first_room and room >= LEAST_ROOM:
        start, left = 0, first_room
        for word in re.finditer(r"\S+ *", text):
            if text[start : word.start()].strip() and cell_len(word[0].rstrip()) > left:
                yield start, word.start()
                start, left = word.start(), room
            left -= cell_len(word[0])
        yield start, len(text)
    else:
        yield 0, len(text)
