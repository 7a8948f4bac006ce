"""A tree as a Mermaid flowchart, which GitHub, GitLab and many wikis draw within Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fasttree._data.schema import Schema
from fasttree._explain.pictures.cards import LOOKS, Caption, Card
from fasttree._explain.pictures.colours import LIGHT, mix
from fasttree._explain.pictures.drawing import Artist, check_orientation
from fasttree._explain.pictures.lettering import one_line
from fasttree._explain.pictures.outline import Outline
from fasttree._explain.pictures.style import DEFAULT, Style
from fasttree._model.tree import Tree
from fasttree._model.words import Classes, Words

__all__ = ["export_mermaid"]

# Characters with a meaning in Mermaid or HTML, as entities of Mermaid; "#" begins them.
_ENTITIES = {character: f"#{ord(character)};" for character in '#"<>&;`|\\'}


def export_mermaid(
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
    """Write a tree as a Mermaid flowchart; see `Views.export_mermaid`."""
    check_orientation(orientation)
    words = Words(tree, schema, classes, max_categories=max_categories, decimals=decimals, targets=targets)
    outline = Outline(tree, words, max_depth, max_nodes, show_missing)
    artist = Artist(outline, LOOKS[orientation or "down", False], None, style)
    return "\n".join(_lines(outline, artist, "LR" if orientation == "right" else "TD", title)) + "\n"


def _lines(outline: Outline, artist: Artist, direction: str, title: str | None) -> Iterator[str]:
    if title:
        yield f"---\ntitle: {_quoted(title)}\n---"
    yield f"flowchart {direction}"
    for at, item in enumerate(outline.items):
        node, card = f"n{item.nodes[0]}", artist.card(item)
        opening, closing = ("[", "]") if item.is_open else ("(", ")")
        yield f'{node}{opening}"{_box_text(card)}"{closing}'
        if at:
            text = "<br/>".join(_escaped(line.text) for line in artist.label(item))
            yield f'n{outline.items[item.parent].nodes[0]} -->|"{text}"| {node}'
        if card.fill is not None:
            dashes = ",stroke-dasharray:4 3" if card.dashed else ""
            fill = mix(card.fill, LIGHT.paper, card.opacity)
            yield f"style {node} fill:{fill},stroke:{LIGHT.line},color:{LIGHT.ink}{dashes}"


def _box_text(card: Card) -> str:
    """Return the texts of a box, those of names in bold."""
    rows = (row.parts for row in card.rows if isinstance(row, Caption))
    return "<br/>".join(
        " ".join(f"<b>{_escaped(text)}</b>" if bold else _escaped(text) for text, _, _, bold in parts) for parts in rows
    )


def _escaped(text: str) -> str:
    return "".join(_ENTITIES.get(character, character) for character in one_line(text)) or " "


def _quoted(text: str) -> str:
    """Return a string of YAML, in which the title is written."""
    return '"' + one_line(text).replace("\\", "\\\\").replace('"', '\\"') + '"'
