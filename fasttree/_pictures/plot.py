"""Pictures, by matplotlib, which is imported when one is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from .._table import Schema
from .._tree import Tree
from .._words import Classes
from .colours import DARK, LIGHT, Theme, contrast, mix
from .drawing import ORIENTATIONS, draw
from .scene import Box, Dots, Path, Scene, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path as Outline

CROWDED = 30  # subtrees, from which on marks and bars are drawn smaller
MANY = 200  # from which on they crowd together to the right, as what is chosen is seldom there

PIXELS, POINTS = 96.0, 72.0  # an inch of a scene, and of matplotlib's text
LARGEST = 32.0  # inches, the side of a figure of our own
SMALLEST = 4.0  # points, of the least text that is still read
LARGEST_SCALE = 1.25  # in axes that are given: a small tree does not fill a poster
FIRST_TRY = 2000  # nodes: more were never readable
ROUND = 0.5523  # of the radius: control points of a Bezier curve that looks like a quarter of a circle


def plot_tree(tree: Tree, schema: Schema, classes: Classes, ax: Axes | None, **how: Any) -> Axes:
    """Draw a tree; see `Views.plot`, and `fasttree._pictures.drawing.draw` for `how`."""
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as absent:
        raise ImportError("plot draws with matplotlib: install it by pip install 'fasttree[plot]'") from absent
    if ax is None:
        scene, scale = _fitting(tree, schema, classes, LARGEST * PIXELS, LARGEST * PIXELS, 1.0, how)
        figure = pyplot.figure(figsize=(scale * scene.width / PIXELS, scale * scene.height / PIXELS))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    else:
        ax.set_axis_off()
        page = ax.figure.canvas.figure  # also where the axes are in a part of it
        if page.get_layout_engine() is not None:
            page.draw_without_rendering()  # now the axes have the size that they will have
        how = how if how["orientation"] else how | {"orientation": ORIENTATIONS}
        scene, scale = _fitting(tree, schema, classes, *_room(ax), LARGEST_SCALE, how)
    _paint(scene, ax, scale)
    return ax


def _room(ax: Axes) -> tuple[float, float]:
    """Width and height of axes in pixels of a scene."""
    extent = ax.get_window_extent()
    return extent.width / ax.figure.dpi * PIXELS, extent.height / ax.figure.dpi * PIXELS


def _fitting(
    tree: Tree, schema: Schema, classes: Classes, width: float, height: float, largest: float, how: dict[str, Any]
) -> tuple[Scene, float]:
    """The picture with the most nodes whose text is still large enough once it fits into the room, and its scale."""
    most = tree.node_count if how["max_nodes"] is None else min(how["max_nodes"], tree.node_count)
    ways = how["orientation"] if isinstance(how["orientation"], tuple) else (how["orientation"],)

    def attempt(max_nodes: int) -> tuple[Scene, float]:
        """In the way that leaves the text largest; with small boxes only where large ones do not do."""
        for compact in (None, True):
            look = how | {"max_nodes": max_nodes, "compact": compact}
            scenes = [draw(tree, schema, classes, **look | {"orientation": way}) for way in ways]
            scales = [min(width / scene.width, height / scene.height, largest) for scene in scenes]
            best = scales.index(max(scales))
            if is_readable(scenes[best], scales[best]):
                break
        return scenes[best], scales[best]

    def is_readable(scene: Scene, scale: float) -> bool:
        least = min(mark.size for mark in scene.marks() if isinstance(mark, Text))
        return least * scale * POINTS / PIXELS >= SMALLEST

    found = attempt(min(most, FIRST_TRY))
    if is_readable(*found):
        return found
    readable, too_many = 1, min(most, FIRST_TRY)
    found = attempt(readable)
    while too_many - readable > 1:
        middle = (readable + too_many) // 2
        tried = attempt(middle)
        if is_readable(*tried):
            readable, found = middle, tried
        else:
            too_many = middle
    return found


def _paint(scene: Scene, ax: Axes, scale: float) -> None:
    """Draw the marks of a scene, its pixel as large as the scale says, in the middle of the axes."""
    from matplotlib import colors

    behind = colors.to_hex(ax.figure.get_facecolor())
    theme = DARK if contrast(behind, DARK.ink) > contrast(behind, LIGHT.ink) else LIGHT
    width, height = (side / scale for side in _room(ax))
    left, top = (scene.width - width) / 2, (scene.height - height) / 2
    ax.set_axis_off()
    ax.set_xlim(left, left + width)
    ax.set_ylim(top + height, top)
    point = scale * POINTS / PIXELS
    marks = list(scene.marks())
    _draw_paths(ax, scene.branches, theme, point, 1)
    _draw_boxes(ax, [mark for mark in marks if isinstance(mark, Box)], theme, point)
    _draw_paths(ax, [mark for group in scene.groups for mark in group.marks if isinstance(mark, Path)], theme, point, 4)
    for mark in marks:
        match mark:
            case Dots():
                across, along = zip(*mark.points, strict=True)
                size = (2 * mark.radius * point) ** 2
                ax.scatter(across, along, size, _seen(mark.fill, theme), alpha=mark.opacity, linewidths=0, zorder=3)
            case Text():
                ax.text(
                    mark.x,
                    mark.y,
                    mark.text,
                    fontsize=mark.size * point,
                    fontweight="bold" if mark.bold else "normal",
                    color=_seen(mark.colour, theme),
                    horizontalalignment={"start": "left", "middle": "center", "end": "right"}[mark.anchor],
                    verticalalignment="baseline",
                    parse_math=False,
                    usetex=False,
                    zorder=5,
                )


def _draw_boxes(ax: Axes, boxes: Iterable[Box], theme: Theme, point: float) -> None:
    from matplotlib.collections import PathCollection

    boxes = list(boxes)
    ax.add_collection(
        PathCollection(
            [_rectangle(box) for box in boxes],
            facecolors=["none" if box.fill is None else mix(_seen(box.fill, theme), theme.paper, box.opacity) for box in boxes],
            edgecolors=["none" if box.line is None else _seen(box.line, theme) for box in boxes],
            linewidths=[box.line_width * point if box.line else 0.0 for box in boxes],
            linestyles=[(0, (4, 3)) if box.dashed else "solid" for box in boxes],
            zorder=2,
        ),
        autolim=False,
    )


def _draw_paths(ax: Axes, paths: Iterable[Path], theme: Theme, point: float, order: int) -> None:
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path as Outline

    paths = list(paths)
    if not paths:
        return
    outlines = [
        Outline(path.points, [Outline.MOVETO, *[Outline.CURVE4 if path.curved else Outline.LINETO] * (len(path.points) - 1)])
        for path in paths
    ]
    ax.add_collection(
        PathCollection(
            outlines,
            facecolors="none",
            edgecolors=[_seen(path.colour, theme) for path in paths],
            linewidths=[path.width * point for path in paths],
            linestyles=[(0, (3, 3)) if path.dashed else "solid" for path in paths],
            zorder=order,
        ),
        autolim=False,
    )


def _rectangle(box: Box) -> Outline:
    from matplotlib.path import Path as Outline

    left, top, right, bottom, r = box.x, box.y, box.x + box.width, box.y + box.height, box.radius
    if r == 0:
        return Outline([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)], closed=True)
    near = r * (1 - ROUND)
    points = [(left + r, top)]
    # from corner to corner, clockwise: where the corner begins, its two control points, where it ends
    for x, y, across, along in ((right, top, -1, 1), (right, bottom, -1, -1), (left, bottom, 1, -1), (left, top, 1, 1)):
        begin, end = [(x + across * r, y), (x, y + along * r)], [(x + across * near, y), (x, y + along * near)]
        if across * along > 0:
            begin, end = begin[::-1], end[::-1]
        points += [begin[0], *end, begin[1]]
    codes = [Outline.MOVETO, *[Outline.LINETO, *[Outline.CURVE4] * 3] * 4]
    return Outline(points, codes)


def _seen(colour: str, theme: Theme) -> str:
    """A colour as it is, or that of a part of the theme."""
    return colour if colour[0] == "#" else str(getattr(theme, colour))


def plot_pruning_table(table: Bunch, ax: Axes | None) -> Axes:
    """Draw the errors of the subtrees of a sequence, from the root to the whole tree; see `BaseTree.plot_pruning_table`."""
    try:
        from matplotlib import pyplot, ticker
    except ModuleNotFoundError as absent:
        raise ImportError("plot_pruning_table draws with matplotlib: install it by pip install 'fasttree[plot]'") from absent
    if ax is None:
        _, ax = pyplot.subplots(layout="constrained")
    by_alpha = "ccp_alphas" in table
    labels = _alphas(table.ccp_alphas) if by_alpha else _short(np.maximum(table.critical_values, 0.0))
    labels, n_leaves = labels[::-1], table.n_leaves[::-1].tolist()
    error, deviation = table.xerror[::-1], table.xstd[::-1]
    first = 1 if len(labels) >= MANY else 0  # a logarithm knows no place 0
    place, last = np.arange(first, first + len(labels)), len(labels) - 1
    chosen, least = last - int(table.chosen), int(np.argmin(error))

    size = 5.0 if len(labels) < CROWDED else 3.0
    ax.errorbar(
        place, error, deviation, fmt="o-", color="C0", ecolor="0.6", elinewidth=1, capsize=size / 2, markersize=size, linewidth=1
    )
    limit = float(error[least] + deviation[least])
    ax.axhline(limit, linestyle="--", color="0.4", linewidth=1, label="least + 1 standard error")
    ax.plot(
        place[chosen],
        error[chosen],
        "o",
        markersize=size + 5,
        markerfacecolor="none",
        markeredgecolor="C3",
        markeredgewidth=1.5,
        label=f"chosen: {_counted(n_leaves[chosen])}",
    )
    if first:
        ax.set_xscale("log")
    ax.set_xlim(first - 0.5, first + last + 0.5)
    ax.set_xlabel("ccp_alpha (geometric means)" if by_alpha else "critical value")
    ax.set_ylabel("relative error")
    ax.legend(frameon=False, fontsize="small")
    top = ax.secondary_xaxis("top")
    top.set_xlabel("leaves")
    for axis, words in ((ax.xaxis, labels), (top.xaxis, list(map(str, n_leaves)))):
        axis.set_major_locator(
            ticker.LogLocator(subs=(1, 3)) if first else ticker.MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10])
        )
        axis.set_major_formatter(ticker.FuncFormatter(_at_places(words, first)))
        axis.set_minor_locator(ticker.NullLocator())
    return ax


def _alphas(steps: npt.NDArray[np.float64]) -> list[str]:
    """A subtree is the best for an interval of alpha, whose ends' geometric mean stands for it; the root's has no end."""
    return [*_short(np.sqrt(steps[:-1] * steps[1:])), "∞"]


def _short(numbers: npt.NDArray[np.float64]) -> list[str]:
    return [f"{number:.2g}".replace("e-0", "e-").replace("e+0", "e+") for number in numbers]


def _counted(n_leaves: int) -> str:
    return f"{n_leaves:,} {'leaf' if n_leaves == 1 else 'leaves'}"


def _at_places(words: list[str], first: int) -> Callable[[float, int | None], str]:
    """Label of a place on an axis: the word of an integer from the first place on, nothing elsewhere."""
    return lambda place, _: words[round(place) - first] if round(place, 6) in range(first, first + len(words)) else ""
