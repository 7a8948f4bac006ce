"""A tree as a stand-alone SVG document: no scripts, no fonts from elsewhere, light or dark as the reader's screen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields
from typing import Any
from xml.sax.saxutils import escape

from .._table import Schema
from .._tree import Tree
from .._words import Classes
from .colours import DARK, LIGHT, Theme
from .drawing import draw
from .scene import Box, Dots, Mark, Path, Scene, Text

__all__ = ["export_svg", "notebook_html", "svg_of"]

FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"


def export_svg(tree: Tree, schema: Schema, classes: Classes = None, **how: Any) -> str:
    """Draw a tree as a stand-alone ``<svg>`` document.

    Parameters
    ----------
    tree, schema, classes
        As for `fasttree._pictures.drawing.draw`.
    **how
        As for `fasttree._pictures.drawing.draw`.

    Returns
    -------
    str
    """
    return svg_of(draw(tree, schema, classes, **how))


def notebook_html(tree: Tree, schema: Schema, classes: Classes = None, **how: Any) -> str:
    """Draw a tree for a cell of a notebook, which scrolls where the picture is wider than the page."""
    return f'<div style="overflow-x: auto; max-width: 100%">{export_svg(tree, schema, classes, **how)}</div>'


def svg_of(scene: Scene) -> str:
    """Write a picture as a stand-alone ``<svg>`` document."""
    body = "\n".join(_body(scene))
    # several pictures may stand in one page: what they name must differ
    name = "tree-" + hashlib.sha256(f"{scene.title}{body}".encode()).hexdigest()[:12]
    width, height = _number(scene.width), _number(scene.height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="fasttree" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-labelledby="{name}-title {name}-desc" font-family="{FONTS}">\n'
        f'<title id="{name}-title">{_text(scene.title)}</title>\n<desc id="{name}-desc">{_text(scene.description)}</desc>\n'
        f"<style>{_style()}</style>\n"
        f'<rect class="f-paper" width="100%" height="100%"/>\n{body}\n</svg>\n'
    )


def _style() -> str:
    def rules(theme: Theme) -> str:
        colours = [(role.name, getattr(theme, role.name)) for role in fields(theme)]
        return " ".join(f".fasttree .f-{name}{{fill:{c}}} .fasttree .s-{name}{{stroke:{c}}}" for name, c in colours)

    return f"{rules(LIGHT)} @media (prefers-color-scheme: dark){{{rules(DARK)}}}"


def _body(scene: Scene) -> Iterator[str]:
    yield '<g fill="none">'
    yield from map(_mark, scene.branches)
    yield "</g>"
    for group in scene.groups:
        yield f'<g data-node="{group.node}"><title>{_text(group.about)}</title>'
        yield from map(_mark, group.marks)
        yield "</g>"
    yield from map(_mark, scene.around)


def _mark(mark: Mark) -> str:
    match mark:
        case Text():
            return _text_mark(mark)
        case Box():
            return _box(mark)
        case Path():
            return _path(mark)
        case Dots():
            return _dots(mark)


def _text_mark(mark: Text) -> str:
    anchor = "" if mark.anchor == "start" else f' text-anchor="{mark.anchor}"'
    weight = ' font-weight="bold"' if mark.bold else ""
    place = f'x="{_number(mark.x)}" y="{_number(mark.y)}" font-size="{_number(mark.size)}"'
    return f"<text {place}{anchor}{weight}{_painted('fill', mark.colour)}>{_text(mark.text)}</text>"


def _box(mark: Box) -> str:
    place = f'x="{_number(mark.x)}" y="{_number(mark.y)}" width="{_number(mark.width)}" height="{_number(mark.height)}"'
    corners = f' rx="{_number(mark.radius)}"' if mark.radius else ""
    dashes = ' stroke-dasharray="4 3"' if mark.dashed else ""
    opacity = f' fill-opacity="{mark.opacity:.3g}"' if mark.opacity < 1 else ""
    classes = [f"f-{mark.fill}"] if mark.fill and mark.fill[0] != "#" else []
    colours = f' fill="{mark.fill}"' if mark.fill and mark.fill[0] == "#" else "" if mark.fill else ' fill="none"'
    if mark.line:
        if mark.line[0] == "#":
            colours += f' stroke="{mark.line}"'
        else:
            classes.append(f"s-{mark.line}")
        if mark.line_width != 1:
            colours += f' stroke-width="{_number(mark.line_width)}"'
    named = f' class="{" ".join(classes)}"' if classes else ""
    return f"<rect {place}{corners}{named}{colours}{opacity}{dashes}/>"


def _path(mark: Path) -> str:
    (x, y), *rest = mark.points
    ways = " ".join(f"{_number(x)} {_number(y)}" for x, y in rest)
    dashes = ' stroke-dasharray="3 3"' if mark.dashed else ""
    width = f'stroke-width="{_number(mark.width)}"'
    way = f"M{_number(x)} {_number(y)}{'C' if mark.curved else 'L'}{ways}"
    return f'<path d="{way}" fill="none" {width}{_painted("stroke", mark.colour)}{dashes}/>'


def _dots(mark: Dots) -> str:
    # a line of no length with round ends is a disc: one element for all of them
    way = "".join(f"M{_number(x)} {_number(y)}h0" for x, y in mark.points)
    look = f'fill="none" stroke-linecap="round" stroke-width="{_number(2 * mark.radius)}" stroke-opacity="{mark.opacity:.3g}"'
    return f'<path d="{way}" {look}{_painted("stroke", mark.fill)}/>'


def _painted(what: str, colour: str) -> str:
    return f' {what}="{colour}"' if colour[0] == "#" else f' class="{what[0]}-{colour}"'


def _number(number: float) -> str:
    """Write to a tenth of a pixel."""
    return f"{number:.1f}".removesuffix(".0")


def _text(text: str) -> str:
    """Escape, and leave out what XML cannot hold."""
    return escape(
        "".join(c for c in text if c in "\n\t" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff"))
    )
