"""A picture as a list of simple marks, which every renderer draws alike.

Coordinates and sizes are CSS pixels (1/96 inch), from the upper left corner.  A colour is ``#rrggbb`` or the name of a field of
`colours.Theme`, which light and dark pictures fill differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["Box", "Dots", "Group", "Mark", "Path", "Scene", "Text"]


@dataclass(frozen=True)
class Text:
    """A line of text on its baseline at `y`; `x` is its start, middle or end."""

    x: float
    y: float
    text: str
    size: float
    colour: str = "ink"
    bold: bool = False
    anchor: str = "middle"


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


Mark = Text | Box | Path | Dots


@dataclass(frozen=True)
class Group:
    """The marks of one node: its box first, then what is in it and the label of the branch that leads to it.

    `about` is told where the pointer rests, and has all names in full.
    """

    node: int
    about: str
    marks: Sequence[Mark]

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
    groups: Sequence[Group]
    around: Sequence[Mark] = field(default_factory=list)  # legend and notes

    def marks(self) -> Iterator[Mark]:
        """All marks, from the back to the front."""
        yield from self.branches
        for group in self.groups:
            yield from group.marks
        yield from self.around
