"""A picture as a list of simple marks, independent of the renderer.

Coordinates and sizes are CSS pixels (1/96 inch), from the upper left corner.  A colour is ``#rrggbb`` or the name of a field of
`colours.Theme`, which differs between light and dark pictures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["Box", "Dots", "Mark", "MarkGroup", "Path", "Scene", "Sector", "Text"]


@dataclass(frozen=True)
class Text:
    """A line of text on its baseline at `y`; `x` is its start, middle or end.

    A turned text reads upwards and ends at `y`; its baseline is at `x`.
    """

    x: float
    y: float
    text: str
    size: float
    colour: str = "ink"
    bold: bool = False
    anchor: str = "middle"
    turned: bool = False


@dataclass(frozen=True)
class Box:
    """A rectangle, filled, outlined or both."""

    x: float
    y: float
    width: float
    height: float
    fill: str | None = None
    opacity: float = 1.0
    line: str | None = None
    line_width: float = 1.0
    dashed: bool = False
    radius: float = 0.0


@dataclass(frozen=True)
class Path:
    """A line through points, or cubic Bezier curves: the start, then two control points and an end for each."""

    points: Sequence[tuple[float, float]]
    width: float
    colour: str
    curved: bool = False
    dashed: bool = False


@dataclass(frozen=True)
class Dots:
    """Equal discs."""

    points: Sequence[tuple[float, float]]
    radius: float
    fill: str
    opacity: float = 1.0


@dataclass(frozen=True)
class Sector:
    """A sector of a disc, clockwise; `start` and `stop` are in turns from the top, and 0 to 1 is the whole disc."""

    x: float
    y: float
    radius: float
    start: float
    stop: float
    fill: str

    def at(self, turn: float) -> tuple[float, float]:
        """Return the point of the edge at an angle."""
        angle = 2 * math.pi * turn
        return self.x + self.radius * math.sin(angle), self.y - self.radius * math.cos(angle)


Mark = Text | Box | Path | Dots | Sector


@dataclass(frozen=True)
class MarkGroup:
    """The marks of one node: first its box, then its contents and the label of its branch.

    `about` is the text of its tooltip, with all names in full.
    """

    node: int
    about: str
    marks: Sequence[Mark]
    is_faded: bool = False  # beside the path of a sample

    @property
    def box(self) -> Box:
        """The node's box."""
        box = self.marks[0]
        assert isinstance(box, Box)
        return box


@dataclass(frozen=True)
class Scene:
    """A whole picture."""

    width: float
    height: float
    title: str
    description: str
    branches: Sequence[Path]
    groups: Sequence[MarkGroup]
    around: Sequence[Mark] = field(default_factory=list)  # legend and notes
    scale: float = 1.0  # size on the screen, in pixels per unit
    theme: str | None = None  # "light", "dark" or "print"; None: as the reader's screen

    def marks(self) -> Iterator[Mark]:
        """All marks, from the back to the front."""
        yield from self.branches
        for group in self.groups:
            yield from group.marks
        yield from self.around
