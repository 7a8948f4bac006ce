"""A tree in DOT, the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from fasttree._data.schema import Schema
from fasttree._explain.pictures.cards import LOOKS, Caption, ClassBar, Row, Strip
from fasttree._explain.pictures.colours import LIGHT, mix
from fasttree._explain.pictures.drawing import MANY, TITLE, Artist, check_orientation, title_of
from fasttree._explain.pictures.lettering import one_line
from fasttree._explain.pictures.outline import Item, Outline
from fasttree._explain.pictures.style import DEFAULT, Style
from fasttree._model.tree import Tree
from fasttree._model.words import Classes, Words

__all__ = ["export_dot"]

BAR = 90  # length of a bar, in points
MARK = 3  # width of the mark of a mean, in points
ROOM = 7  # beside the text of a branch, in points
FONT = "Helvetica"


def export_dot(
    tree: Tree,
    schema: Schema,
    classes: Classes = None,
    *,
    max_depth: int | None = None,
    max_nodes: int | None = None,
    orientation: str | None = None,
    max_categories: int = 12,
    decimals: int = 2,
    show_missing: bool | None = None,
    targets: Sequence[str] = (),
    title: str | None = None,
    style: Style = DEFAULT,
) -> str:
    """Write a tree in DOT; see `Views.export_dot`."""
    check_orientation(orientation)
    words = Words(tree, schema, classes, max_categories=max_categories, decimals=decimals, targets=targets)
    outline = Outline(tree, words, max_depth, max_nodes, show_missing)
    artist = Artist(outline, LOOKS[orientation or "down", len(outline.items) > MANY], None, style)
    return "\n".join(_lines(outline, artist, "LR" if orientation == "right" else "TB", title)) + "\n"


def _lines(outline: Outline, artist: Artist, direction: str, title: str | None) -> Iterator[str]:
    yield f"digraph {_quoted(title_of(outline.words))} {{"
    yield f'graph [rankdir={direction}, ranksep=0.35, nodesep=0.12, bgcolor="transparent", fontname={FONT}]'
    if title:
        yield f'graph [label={_quoted(title)}, labelloc=t, fontsize={TITLE:g}, fontcolor="{LIGHT.ink}"]'
    yield (
        f'node [shape=box, style="rounded,filled", margin="0.08,0.05", width=0, height=0, color="{LIGHT.line}", '
        f'fillcolor="{LIGHT.paper}", fontcolor="{LIGHT.ink}", fontname={FONT}]'
    )
    size = f"{artist.look.label:g}"
    yield f'edge [color="{LIGHT.branch}", fontcolor="{LIGHT.ink}", fontname={FONT}, fontsize={size}, arrowhead=none]'
    total = float(outline.tree.weight[0]) or 1.0
    for at, item in enumerate(outline.items):
        node = f"n{item.nodes[0]}"
        yield f"{node} [label=<{_label(artist, item)}>, tooltip={_quoted(artist.about(item))}{_fill(artist, item)}]"
        if at:
            parent = f"n{outline.items[item.parent].nodes[0]}"
            weight = sum(float(outline.tree.weight[child]) for child in item.nodes)
            width = max(1.0, artist.look.widest_branch * weight / total)
            yield f"{parent} -> {node} [label=<{_beside(artist, item, width)}>, penwidth={width:.3g}]"
    yield "}"


def _beside(artist: Artist, item: Item, width: float) -> str:
    """Return the text of a branch with room for the branch on its left, and to the next text on its right."""
    lines = "<BR/>".join(_escaped(line.text) for line in artist.label(item))
    room = f'<TD WIDTH="{round(width / 2 + ROOM)}"></TD>', f'<TD WIDTH="{ROOM}"></TD>'
    cells = f'{room[0]}<TD BALIGN="LEFT">{lines}</TD>{room[1]}'
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"><TR>{cells}</TR></TABLE>'


def _label(artist: Artist, item: Item) -> str:
    rows = "".join(_row(row) for row in artist.card(item).rows)
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{rows}</TABLE>'


def _row(row: Row) -> str:
    match row:
        case Caption():
            return f"<TR><TD>{'  '.join(_part(*part) for part in row.parts)}</TD></TR>"
        case ClassBar():
            return _cells([(round(BAR * share), colour) for share, colour in row.shares])
        case Strip():
            faint = mix(row.colour, LIGHT.paper, 0.35)
            low, high = max(row.mean - row.deviation, 0.0), min(row.mean + row.deviation, 1.0)
            before, after = round(BAR * (row.mean - low)), round(BAR * (high - row.mean))
            rest = BAR - before - after
            left = round(rest * low / ((low + 1 - high) or 1.0))
            return _cells(
                [(left, LIGHT.branch), (before, faint), (MARK, row.colour), (after, faint), (rest - left, LIGHT.branch)]
            )
    raise AssertionError(row)


def _part(text: str, size: float, colour: str, bold: bool) -> str:
    shown = f"<B>{_escaped(text)}</B>" if bold else _escaped(text)
    return f'<FONT POINT-SIZE="{size:g}" COLOR="{getattr(LIGHT, colour)}">{shown}</FONT>'


def _cells(parts: Sequence[tuple[int, str]]) -> str:
    """Return a bar of coloured cells, without those of zero length."""
    cells = "".join(
        f'<TD FIXEDSIZE="TRUE" WIDTH="{width}" HEIGHT="6" BGCOLOR="{colour}"></TD>' for width, colour in parts if width > 0
    )
    # the size is fixed, because wider text beside the bar would stretch the cells
    size = f'FIXEDSIZE="TRUE" WIDTH="{sum(max(width, 0) for width, _ in parts)}" HEIGHT="6"'
    return f'<TR><TD><TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0" {size}><TR>{cells}</TR></TABLE></TD></TR>'


def _fill(artist: Artist, item: Item) -> str:
    card = artist.card(item)
    dashed = ', style="rounded,filled,dashed"' if card.dashed else ""
    return "" if card.fill is None else f', fillcolor="{mix(card.fill, LIGHT.paper, card.opacity)}"{dashed}'


def _escaped(text: str) -> str:
    return escape(one_line(text), quote=False) or " "


def _quoted(text: str) -> str:
    """Return a string literal of DOT, with backslashes escaped and centred lines."""
    lines = (one_line(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    return '"' + "\\n".join(lines) + '"'
