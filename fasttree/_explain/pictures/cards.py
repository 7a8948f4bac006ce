"""Boxes of a drawn tree: rows of text, bars and strips, and their sizes.

This file knows what rows look like; `drawing.py` decides what they contain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from fasttree._explain.pictures.colours import NUMERIC
from fasttree._explain.pictures.lettering import text_width
from fasttree._explain.pictures.scene import Box, Mark, Path, Sector, Text

__all__ = ["LOOKS", "Caption", "Card", "ClassBar", "Disc", "Look", "Row", "Strip"]

SEGMENT = 0.4  # pixels; narrower classes of a bar are not drawn


class Row(Protocol):
    """A part of a box, over its whole width."""

    @property
    def width(self) -> float:
        """Minimum width."""

    @property
    def height(self) -> float:
        """Height."""

    def marks(self, x: float, y: float, width: float) -> Iterator[Mark]:
        """Draw at a place, in a width of at least the row's own."""


@dataclass(frozen=True)
class Look:
    """Sizes, in pixels."""

    name: float  # text of names and predictions
    small: float  # text of figures
    label: float  # text on branches
    padding: float
    between: float  # space between rows
    bar: float
    beside: float  # space between boxes
    name_room: float
    label_room: float
    label_lines: int
    widest_box: float  # of the root; others in proportion to their weight, unless their text needs more
    widest_branch: float
    figures: bool  # whether tests show their weight
    in_line: bool  # whether a prediction and its figures are on one line
    disc: float  # largest radius of a disc


LOOKS = {
    ("down", False): Look(12.5, 10.5, 11.0, 7.0, 3.0, 7.0, 12.0, 170.0, 130.0, 4, 170.0, 14.0, True, False, 20.0),
    ("right", False): Look(12.5, 10.5, 11.0, 6.0, 3.0, 6.0, 8.0, 170.0, 150.0, 3, 150.0, 12.0, True, True, 13.0),
    ("down", True): Look(10.5, 9.0, 9.5, 4.0, 2.0, 4.0, 7.0, 120.0, 84.0, 3, 120.0, 10.0, False, False, 12.0),
    ("right", True): Look(10.5, 9.5, 9.5, 3.0, 1.5, 3.0, 4.0, 130.0, 120.0, 2, 90.0, 8.0, False, True, 9.0),
}


@dataclass(frozen=True)
class Caption:
    """A line of one centred text, or of two texts at its ends."""

    parts: Sequence[tuple[str, float, str, bool]]  # text, size, colour, bold

    @property
    def width(self) -> float:
        return sum(text_width(text, size, bold) for text, size, _, bold in self.parts) + 7.0 * (len(self.parts) - 1)

    @property
    def height(self) -> float:
        return 1.25 * max(size for _, size, _, _ in self.parts)

    def marks(self, x: float, y: float, width: float) -> Iterator[Mark]:
        baseline = y + 0.8 * self.height
        places = [(x + width / 2, "middle")] if len(self.parts) == 1 else [(x, "start"), (x + width, "end")]
        for (text, size, colour, bold), (place, anchor) in zip(self.parts, places, strict=True):
            yield Text(place, baseline, text, size, colour, bold, anchor)


@dataclass(frozen=True)
class ClassBar:
    """Shares of the classes, side by side."""

    shares: Sequence[tuple[float, str]]
    height: float
    width: float = 24.0

    def marks(self, x: float, y: float, width: float) -> Iterator[Mark]:
        for share, colour in self.shares:
            if share * width >= SEGMENT:
                yield Box(x, y, share * width, self.height, colour)
            x += share * width


@dataclass(frozen=True)
class Strip:
    """A mean on the scale from the least to the largest of the tree, with its deviation; all in [0, 1]."""

    mean: float
    deviation: float
    height: float
    width: float = 36.0
    colour: str = NUMERIC

    def marks(self, x: float, y: float, width: float) -> Iterator[Mark]:
        middle = y + self.height / 2
        yield Path([(x, middle), (x + width, middle)], 1.0, "line")
        low, high = max(self.mean - self.deviation, 0.0), min(self.mean + self.deviation, 1.0)
        if high > low:
            yield Box(x + low * width, y + 0.2 * self.height, (high - low) * width, 0.6 * self.height, self.colour, 0.35)
        thick = 3.0
        yield Box(x + self.mean * (width - thick), y, thick, self.height, self.colour)


@dataclass(frozen=True)
class Disc:
    """A disc in the middle of the box, whose area shows the weight of a leaf, and its sectors the shares of the classes."""

    radius: float
    shares: Sequence[tuple[float, str]]

    @property
    def width(self) -> float:
        return 2 * self.radius

    @property
    def height(self) -> float:
        return 2 * self.radius

    def marks(self, x: float, y: float, width: float) -> Iterator[Mark]:
        start = 0.0
        for share, colour in self.shares:
            yield Sector(x + width / 2, y + self.radius, self.radius, start, min(start + share, 1.0), colour)
            start += share


@dataclass
class Card:
    """A box and its rows, from top to bottom."""

    rows: Sequence[Row]
    look: Look
    least_width: float = 0.0
    fill: str | None = None
    opacity: float = 1.0
    line: str = "line"
    dashed: bool = False
    radius: float = 4.0

    @property
    def width(self) -> float:
        """Width of the box."""
        return max([self.least_width, *(row.width + 2 * self.look.padding for row in self.rows)])

    @property
    def height(self) -> float:
        """Height of the box."""
        return sum(row.height for row in self.rows) + self.look.between * (len(self.rows) - 1) + 2 * self.look.padding

    def marks(self, x: float, y: float) -> Iterator[Mark]:
        """Draw with the upper left corner at a place."""
        width, height, padding = self.width, self.height, self.look.padding
        yield Box(x, y, width, height, "paper", 1.0, self.line, 1.0, self.dashed, self.radius)
        if self.fill is not None:
            yield Box(x, y, width, height, self.fill, self.opacity, radius=self.radius)
        y += padding
        for row in self.rows:
            yield from row.marks(x + padding, y, width - 2 * padding)
            y += row.height + self.look.between
