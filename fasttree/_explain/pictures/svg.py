"""A tree as a stand-alone SVG document without scripts and web fonts, in light or dark mode."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields
from html import escape
from typing import Any

from fasttree._data.schema import Schema
from fasttree._explain.pictures.colours import DARK, FADED, LIGHT, PRINT, Theme
from fasttree._explain.pictures.drawing import draw
from fasttree._explain.pictures.icicle import draw_icicle
from fasttree._explain.pictures.scene import Box, Dots, Mark, Path, Scene, Sector, Text
from fasttree._model.tree import Tree
from fasttree._model.words import Classes

__all__ = ["export_svg", "notebook_html", "svg_of"]

FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"


def export_svg(tree: Tree, schema: Schema, classes: Classes = None, **how: Any) -> str:
    """Draw a tree as a stand-alone ``<svg>`` document; for the parameters see `draw` of `drawing.py` and `draw_icicle`."""
    compose = draw_icicle if how.pop("kind", "tree") == "icicle" else draw
    return svg_of(compose(tree, schema, classes, **how))


def notebook_html(tree: Tree, schema: Schema, classes: Classes = None, **how: Any) -> str:
    """Draw a tree for a cell of a notebook, with a scroll bar if the picture is wider than the page."""
    return f'<div style="overflow-x: auto; max-width: 100%">{export_svg(tree, schema, classes, **how)}</div>'


def svg_of(scene: Scene) -> str:
    """Write a picture as a stand-alone ``<svg>`` document."""
    body = "\n".join(_body(scene))
    # ids must differ between several pictures in one page
    name = "tree-" + hashlib.sha256(f"{scene.title}{scene.theme}{body}".encode()).hexdigest()[:12]
    width, height = _number(scene.width), _number(scene.height)
    size = f'width="{_number(scene.scale * scene.width)}" height="{_number(scene.scale * scene.height)}"'
    shown = f'class="{" ".join(_classes(scene.theme))}" {size}'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {shown} viewBox="0 0 {width} {height}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc" font-family="{FONTS}">\n'
        f'<title id="{name}-title">{_text(scene.title)}</title>\n<desc id="{name}-desc">{_text(scene.description)}</desc>\n'
        f"<style>{_rules_of(scene.theme)}</style>\n"
        f'<rect class="f-paper" width="100%" height="100%"/>\n{body}\n</svg>\n'
    )


def _classes(theme: str | None) -> list[str]:
    """Return the classes of a picture: styles hold in the whole page, so that a theme needs a class of its own."""
    return ["fasttree"] if theme is None else ["fasttree", f"fasttree-{theme}"]


def _rules_of(name: str | None) -> str:
    """Return the colours of a theme, or of light and dark mode."""
    inside = "." + ".".join(_classes(name))

    def rules(theme: Theme) -> str:
        colours = [(role.name, getattr(theme, role.name)) for role in fields(theme)]
        return " ".join(f"{inside} .f-{role}{{fill:{c}}} {inside} .s-{role}{{stroke:{c}}}" for role, c in colours)

    if name is not None:
        return rules({"light": LIGHT, "dark": DARK, "print": PRINT}[name])
    return f"{rules(LIGHT)} @media (prefers-color-scheme: dark){{{rules(DARK)}}}"


def _body(scene: Scene) -> Iterator[str]:
    yield '<g fill="none">'
    yield from map(_mark, scene.branches)
    yield "</g>"
    for group in scene.groups:
        faded = f' opacity="{FADED:g}"' if group.is_faded else ""
        yield f'<g data-node="{group.node}"{faded}><title>{_text(group.about)}</title>'
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
        case Sector():
            return _sector(mark)


def _text_mark(mark: Text) -> str:
    anchor = "" if mark.anchor == "start" else f' text-anchor="{mark.anchor}"'
    if mark.turned:
        anchor = f' text-anchor="end" transform="rotate(-90 {_number(mark.x)} {_number(mark.y)})"'
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
    # lines of zero length with round ends are discs: one element draws all of them
    way = "".join(f"M{_number(x)} {_number(y)}h0" for x, y in mark.points)
    look = f'fill="none" stroke-linecap="round" stroke-width="{_number(2 * mark.radius)}" stroke-opacity="{mark.opacity:.3g}"'
    return f'<path d="{way}" {look}{_painted("stroke", mark.fill)}/>'


def _sector(mark: Sector) -> str:
    radius = f"{mark.radius:.2f}"
    if mark.stop - mark.start > 0.9999:
        return f'<circle cx="{_number(mark.x)}" cy="{_number(mark.y)}" r="{radius}"{_painted("fill", mark.fill)}/>'
    (x, y), (to_x, to_y) = mark.at(mark.start), mark.at(mark.stop)
    arc = f"A{radius} {radius} 0 {int(mark.stop - mark.start > 0.5)} 1 {to_x:.2f} {to_y:.2f}"
    return f'<path d="M{mark.x:.2f} {mark.y:.2f}L{x:.2f} {y:.2f}{arc}Z"{_painted("fill", mark.fill)}/>'


def _painted(what: str, colour: str) -> str:
    return f' {what}="{colour}"' if colour[0] == "#" else f' class="{what[0]}-{colour}"'


def _number(number: float) -> str:
    """Write a number with one decimal."""
    return f"{number:.1f}".removesuffix(".0")


def _text(text: str) -> str:
    """Escape text, and remove characters that XML does not allow."""
    return escape(
        "".join(c for c in text if c in "\n\t" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")),
        quote=False,
    )
