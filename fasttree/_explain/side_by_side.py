"""The picture of the differences between two trees: both side by side, with the boxes marked that differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fasttree._data.schema import Schema
from fasttree._explain.pictures.colours import class_colour
from fasttree._explain.pictures.drawing import MARGIN, draw, moved
from fasttree._explain.pictures.lettering import text_width, wrapped
from fasttree._explain.pictures.scene import Box, Mark, Scene, Text
from fasttree._explain.pictures.style import style_of
from fasttree._model.tree import Tree
from fasttree._model.words import Classes

__all__ = ["MARKED", "ShownTree", "draw_pair"]

MARKED = {"~": ("#b36b00", "changed"), "-": ("#c0392b", "only in the first"), "+": ("#2e7d32", "only in the second")}
APART, LINE, KEY = 28.0, 2.5, 11.0  # pixels between the trees, width of a marked outline, text size


class ShownTree(NamedTuple):
    """One of the two trees, in the words of its model."""

    tree: Tree
    schema: Schema
    classes: Classes
    targets: Sequence[str]


def draw_pair(
    sides: Sequence[ShownTree],
    marks: Sequence[Mapping[int, str]],
    note: str,
    *,
    titles: Sequence[str],
    theme: str | None,
    **how: Any,
) -> Scene:
    """Compose the picture.

    Parameters
    ----------
    sides : two ShownTree
    marks : two dicts
        The mark of each node that differs, by its id.
    note : str
        Text below the trees; may be empty.
    titles : two str
    theme : str or None
    how
        `max_depth`, `max_nodes` and `orientation` of `draw`.

    Returns
    -------
    Scene
        Its groups have the ids of their nodes in their own trees.
    """
    palette = _palette([side.classes for side in sides])
    scenes = [
        draw(
            *side[:3],
            targets=side.targets,
            title=title,
            style=style_of(side.classes, theme=theme, palette=palette and {k: palette[k] for k in _labels(side.classes)}),
            **how,
        )
        for side, title in zip(sides, titles, strict=True)
    ]
    left, right = scenes[0], _moved(scenes[1], scenes[0].width + APART)
    groups = [
        replace(group, marks=[_outlined(group.box, mark), *group.marks[1:]]) if (mark := found.get(group.node)) else group
        for scene, found in zip((left, right), marks, strict=True)
        for group in scene.groups
    ]
    width, height = left.width + APART + right.width, max(left.height, right.height)
    key, height = _key({mark for found in marks for mark in found.values()}, note, width, height)
    return Scene(
        width,
        height,
        f"Two trees: {left.title}; {right.title}",
        f"{titles[0]}: {left.description} {titles[1]}: {right.description}",
        [*left.branches, *right.branches],
        groups,
        [*left.around, *right.around, *key],
        theme=theme,
    )


def _outlined(box: Box, mark: str) -> Box:
    return replace(box, line=MARKED[mark][0], line_width=LINE)


def _key(marks: Iterable[str], note: str, width: float, height: float) -> tuple[list[Mark], float]:
    """Return the explanation of the marks and the note, and the height of the picture with them."""
    drawn: list[Mark] = []
    x = MARGIN
    for mark in [mark for mark in MARKED if mark in set(marks)]:
        colour, text = MARKED[mark]
        drawn.append(Box(x, height, 10.0, 10.0, line=colour, line_width=LINE, radius=2.0))
        drawn.append(Text(x + 16.0, height + 9.0, text, KEY, "muted", anchor="start"))
        x += 16.0 + text_width(text, KEY) + 18.0
    height += 20.0 if drawn else 0.0
    for line in wrapped(note, width - 2 * MARGIN, KEY, 3) if note else ():
        drawn.append(Text(MARGIN, height + 9.0, line, KEY, "muted", anchor="start"))
        height += 15.0
    return drawn, height + MARGIN / 2


def _moved(scene: Scene, right: float) -> Scene:
    return replace(
        scene,
        branches=[replace(path, points=[(x + right, y) for x, y in path.points]) for path in scene.branches],
        groups=[replace(group, marks=[moved(mark, right, 0.0) for mark in group.marks]) for group in scene.groups],
        around=[moved(mark, right, 0.0) for mark in scene.around],
    )


def _labels(classes: Classes) -> list[Any]:
    return classes.tolist() if isinstance(classes, np.ndarray) else []


def _palette(classes: Sequence[Classes]) -> dict[Any, str] | None:
    """Return colours by class if the trees have different classes, so that a class has one colour in both; else None."""
    first, second = map(_labels, classes)
    if first == second:
        return None
    return {label: class_colour(i) for i, label in enumerate(dict.fromkeys([*first, *second]))}
