"""A tree as an icicle: rectangles as wide as the weights of their nodes, each below its parent (Kruskal and Landwehr 1983).

All nodes share one width, so that a tree of a thousand nodes is one picture; nodes of less than a pixel are only counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fasttree._data.schema import Schema
from fasttree._explain.pictures.cards import LOOKS
from fasttree._explain.pictures.drawing import MARGIN, Artist, Item, Outline, above, below, description, moved, title_of
from fasttree._explain.pictures.lettering import ELLIPSIS, shortened, text_width
from fasttree._explain.pictures.scene import Box, Mark, MarkGroup, Scene, Text
from fasttree._explain.pictures.style import DEFAULT, Style
from fasttree._model.tested import branch_tests
from fasttree._model.tree import Tree
from fasttree._model.words import Classes, Words

__all__ = ["draw_icicle"]

WIDTH, ROW, LEAST_ROW = 960.0, 46.0, 18.0  # of the root; heights of a level
NAME, SMALL = 11.0, 9.5  # text sizes
NARROWEST = 1.0  # pixels
LEAST_NAME = 7  # characters to which a name is shortened
BESIDE = 3.0  # room beside a text


def draw_icicle(
    tree: Tree,
    schema: Schema,
    classes: Classes = None,
    *,
    max_depth: int | None = None,
    max_nodes: int | None = None,
    max_categories: int = 12,
    decimals: int = 2,
    show_missing: bool | None = None,
    legend: bool = True,
    targets: Sequence[str] = (),
    title: str | None = None,
    way: Mapping[int, str] | None = None,
    style: Style = DEFAULT,
    room: tuple[float, float] | None = None,
    **ignored: Any,
) -> Scene:
    """Compose an icicle; for the parameters see `draw` of `drawing.py`.

    Parameters
    ----------
    room : tuple of (float, float), optional
        Width and height to fill; None: 960 pixels, and 46 for each level.

    Returns
    -------
    Scene
    """
    words = Words(tree, schema, classes, max_categories=max_categories, decimals=decimals, targets=targets)
    outline = Outline(tree, words, max_depth, max_nodes, show_missing, way or {})
    artist = Artist(outline, LOOKS["down", False], None, style)
    width = WIDTH if room is None else room[0] - 2 * MARGIN
    key, key_height = above(artist, title, width, legend)
    top = MARGIN + key_height
    places = _places(outline, width)
    n_levels = 1 + max(outline.items[at].level for at in places)
    row = ROW
    if room is not None:
        height_below = below(artist, room[0], 0.0, len(places))[2]
        row = max(min((room[1] - top - MARGIN - height_below) / n_levels, 1.5 * ROW), LEAST_ROW)
    groups = []
    for at, (start, stop) in places.items():
        item = outline.items[at]
        marks = list(_cell(artist, item, (start + MARGIN, top + item.level * row, stop - start, row)))
        groups.append(MarkGroup(item.nodes[0], artist.about(item), marks, bool(way) and not outline.is_passed(item)))
    n_drawn = sum(len(outline.items[at].nodes) for at in places)
    notes, full_width, height = below(artist, width + 2 * MARGIN, top + n_levels * row + MARGIN, n_drawn)
    around = [*(moved(mark, MARGIN, MARGIN) for mark in key), *notes]
    return Scene(
        full_width, height, title or title_of(words), description(tree, words), [], groups, around, style.scale, style.theme
    )


def _places(outline: Outline, width: float) -> dict[int, tuple[float, float]]:
    """Return start and stop of the items that are wide enough, from the root on."""
    weight = outline.tree.weight
    weights = [float(weight[list(item.nodes)].sum()) for item in outline.items]
    places = {0: (0.0, width)}
    for at, item in enumerate(outline.items):
        if at not in places or not item.n_branches:
            continue
        start, stop = places[at]
        children = range(item.first_child, item.first_child + item.n_branches)
        # parts of samples that end in the node leave a gap; rounded weights must not lead beyond it
        scale = (stop - start) / max(weights[at], sum(weights[child] for child in children), 1e-300)
        for child in children:
            end = start + scale * weights[child]
            if end - start >= NARROWEST:
                places[child] = (start, end)
            start = end
    return places


def _cell(artist: Artist, item: Item, place: tuple[float, float, float, float]) -> Iterator[Mark]:
    """Draw a node: the condition that leads to it, and its test or its prediction."""
    x, y, width, height = place
    node = item.nodes[0]
    fill, opacity = artist.fills.of(node)
    thin = 0.3 if width < 6.0 else 1.0
    yield Box(x, y, width, height, "paper")
    yield Box(x, y, width, height, fill, opacity, "line", thin)
    used, rows = 0.0, []
    for text, size, colour, bold, is_name in _lines(artist, item):
        shown = _fitting_text(text, width - 2 * BESIDE, size, bold, is_name)
        if shown and used + 1.25 * size <= height - 2.0:
            rows.append((shown, size, colour, bold))
            used += 1.25 * size
    baseline = y + (height - used) / 2
    for text, size, colour, bold in rows:
        yield Text(x + width / 2, baseline + size, text, size, colour, bold)
        baseline += 1.25 * size


def _lines(artist: Artist, item: Item) -> Iterator[tuple[str, float, str, bool, bool]]:
    """Yield the lines of a node: text, size, colour, whether bold, and whether it is of names, which can be shortened."""
    node = item.nodes[0]
    if item.label:
        yield ", ".join(item.label), SMALL, "muted", False, item.is_set
    if item.is_open:
        yield artist.names[artist.words.raw_names[int(artist.tree.feature[node])]], NAME, "ink", True, True
        for text in branch_tests(artist.words, node)[1:]:  # the p-values
            yield text, SMALL, "muted", False, False
        return
    answer = artist.answer_text(node, 0)
    yield f"{answer} {ELLIPSIS}" if item.folded else answer, NAME, "ink", True, bool(artist.words.labels)
    yield artist.figures(node, 0), SMALL, "muted", False, False


def _fitting_text(text: str, room: float, size: float, bold: bool, is_name: bool) -> str:
    """Return a text that fits, or a name that is shortened unless too little would remain; else nothing."""
    if text_width(text, size, bold) <= room:
        return text
    brief = shortened(text, room, size, bold) if is_name else ""
    return brief if len(brief) >= LEAST_NAME and text_width(brief, size, bold) <= room else ""
