"""Legend of a picture: the names of the targets, with the colours of their classes or a scale of their means."""

from __future__ import annotations

from dataclasses import replace

from fasttree._explain.pictures.fills import ColourScale, Fills
from fasttree._explain.pictures.lettering import distinct, shortened, text_width
from fasttree._explain.pictures.scene import Box, Mark, Text
from fasttree._explain.pictures.style import Style
from fasttree._model.words import Words

__all__ = ["MOST_LEGEND", "legend_of"]

MOST_LEGEND = 14  # classes in a legend; with more there is none, as leaves name their classes
LEGEND, SHADES = 11.0, 7  # text size; boxes of a scale of means


def legend_of(words: Words, room: float, style: Style, fills: Fills) -> tuple[list[Mark], float]:
    """Return the marks of a legend of the classes of each target, or of a scale, and its height."""
    scale: list[Text | Box] = []
    scale_height = 0.0
    if fills.scale is not None:
        scale, scale_height = _scale(fills.scale, style)
    if not words.labels or len(words.labels) > MOST_LEGEND:
        return [*scale], scale_height
    marks, height = _names(words, room, style)
    return [*marks, *(replace(mark, y=mark.y + height - 12.0) for mark in scale)], height + max(scale_height - 12.0, 0.0)


def _names(words: Words, room: float, style: Style) -> tuple[list[Text | Box], float]:
    size, swatch = LEGEND, 10.0
    marks: list[Text | Box] = []
    y = 0.0
    for target, columns in zip(words.targets, words.columns, strict=True):
        start = x = _heading(target, y, marks)
        brief = distinct(words.raw_labels[columns], 240.0, size)
        for label in range(columns.start, columns.stop):
            text = brief[words.raw_labels[label]]
            width = swatch + 5.0 + text_width(text, size)
            if x > start and x + width > room:
                x, y = start, y + 18.0
            marks.append(Box(x, y, swatch, swatch, style.colour(label), radius=2.0))
            marks.append(Text(x + swatch + 5.0, y + 9.0, text, size, "muted", anchor="start"))
            x += width + 16.0
        y += 18.0
    return marks, y + 12.0


def _heading(target: str, y: float, marks: list[Text | Box]) -> float:
    """Add the name of a target to the marks of a legend, and return where it ends."""
    if not target:
        return 0.0
    heading = shortened(f"{target}:", 240.0, LEGEND, True)
    marks.append(Text(0.0, y + 9.0, heading, LEGEND, "ink", bold=True, anchor="start"))
    return text_width(heading, LEGEND, True) + 8.0


def _scale(scale: ColourScale, style: Style) -> tuple[list[Text | Box], float]:
    """Return the marks of a scale from pale to full, and its height."""
    marks: list[Text | Box] = []
    x = _heading(scale.heading, 0.0, marks)
    if scale.low == scale.high:
        return marks, 30.0
    marks.append(Text(x, 9.0, scale.low, LEGEND, "muted", anchor="start"))
    x += text_width(scale.low, LEGEND) + 6.0
    for step in range(SHADES):
        marks.append(Box(x, 0.0, 10.0, 10.0, scale.colour, style.opacity(scale.colour, step / (SHADES - 1))))
        x += 10.0
    marks.append(Text(x + 6.0, 9.0, scale.high, LEGEND, "muted", anchor="start"))
    return marks, 30.0
