"""Pictures with matplotlib, which is imported only when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Schema
from fasttree._explain.pictures.colours import DARK, FADED, LIGHT, PRINT, Theme, contrast, mix
from fasttree._explain.pictures.drawing import ORIENTATIONS, draw
from fasttree._explain.pictures.icicle import draw_icicle
from fasttree._explain.pictures.lettering import text_width
from fasttree._explain.pictures.scene import Box, Dots, Mark, MarkGroup, Path, Scene, Sector, Text
from fasttree._model.tree import Tree
from fasttree._model.words import Classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path as Outline
    from matplotlib.text import Text as DrawnText
    from sklearn.utils import Bunch

CROWDED = 30  # number of subtrees from which marks are smaller and bars join to a band
MANY = 200  # number of subtrees from which the axis is logarithmic, as large subtrees are rarely chosen

PIXELS, POINTS = 96.0, 72.0  # per inch, of a scene and of matplotlib's text
LARGEST = 32.0  # inches, maximum side of a new figure
SMALLEST = 4.0  # points, minimum readable text
LARGEST_SCALE = 1.25  # in given axes, so that a small tree does not fill a poster
FIRST_TRY = 2000  # nodes: larger trees are never readable
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
ROUND = 0.5523  # share of the radius: control points of a Bezier curve that approximates a quarter circle


def plot_tree(tree: Tree, schema: Schema, classes: Classes, ax: Axes | None, **how: Any) -> Axes:
    """Draw a tree; see `Views.plot`, and `draw` of `drawing.py` for `how`."""
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as absent:
        raise ImportError("plot draws with matplotlib: install it by pip install 'fasttree[plot]'") from absent
    is_icicle = how.pop("kind", "tree") == "icicle"
    if ax is None and is_icicle:
        scene, scale = draw_icicle(tree, schema, classes, **how), how["style"].scale
    elif ax is None:
        scene, scale, _ = _fitting(tree, schema, classes, LARGEST * PIXELS, LARGEST * PIXELS, how["style"].scale, how)
    if ax is None:
        figure = pyplot.figure(figsize=(scale * scene.width / PIXELS, scale * scene.height / PIXELS))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    else:
        ax.set_axis_off()
        page = ax.figure.canvas.figure  # the whole figure if the axes are in a subfigure
        if page.get_layout_engine() is not None:
            page.draw_without_rendering()  # gives the axes their final size
        width, height = _room(ax)
        if is_icicle:
            scene, scale = _icicle(tree, schema, classes, (width, height), how)
        else:
            how = how if how["orientation"] else how | {"orientation": ORIENTATIONS}
            scene, scale, how = _fitting(tree, schema, classes, width, height, LARGEST_SCALE, how)
            scene = draw(tree, schema, classes, **how | {"room": (width / scale, height / scale)})
    _paint(scene, ax, scale)
    return ax


def plot_scene(scene: Scene, ax: Axes | None) -> Axes:
    """Draw a picture in axes, or in a new figure as large as it, up to 32 inches."""
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as absent:
        raise ImportError("plot draws with matplotlib: install it by pip install 'fasttree[plot]'") from absent
    if ax is None:
        scale = min(1.0, LARGEST * PIXELS / max(scene.width, scene.height))
        figure = pyplot.figure(figsize=(scale * scene.width / PIXELS, scale * scene.height / PIXELS))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    width, height = _room(ax)
    _paint(scene, ax, min(width / scene.width, height / scene.height, LARGEST_SCALE))
    return ax


def _icicle(tree: Tree, schema: Schema, classes: Classes, room: tuple[float, float], how: dict[str, Any]) -> tuple[Scene, float]:
    """Return an icicle that fills a room, and its scale, which is less than 1 if the tree has too many levels."""
    scene = draw_icicle(tree, schema, classes, **how | {"room": room})
    scale = min(room[0] / scene.width, room[1] / scene.height, 1.0)
    if scale < 1:
        scene = draw_icicle(tree, schema, classes, **how | {"room": (room[0] / scale, room[1] / scale)})
    return scene, scale


def _room(ax: Axes) -> tuple[float, float]:
    """Return width and height of axes in pixels of a scene."""
    extent = ax.get_window_extent()
    return extent.width / ax.figure.dpi * PIXELS, extent.height / ax.figure.dpi * PIXELS


def _fitting(
    tree: Tree, schema: Schema, classes: Classes, width: float, height: float, largest: float, how: dict[str, Any]
) -> tuple[Scene, float, dict[str, Any]]:
    """Return the picture with the most nodes whose text is readable when it fits into the room, its scale and its parameters."""
    most = tree.node_count if how["max_nodes"] is None else min(how["max_nodes"], tree.node_count)
    ways = how["orientation"] if isinstance(how["orientation"], tuple) else (how["orientation"],)

    def attempt(max_nodes: int) -> tuple[Scene, float, dict[str, Any]]:
        """Draw in the orientation with the largest text; use small boxes only if large ones are not readable."""
        for compact in (None, True):
            look = how | {"max_nodes": max_nodes, "compact": compact}
            scenes = [draw(tree, schema, classes, **look | {"orientation": way}) for way in ways]
            scales = [min(width / scene.width, height / scene.height, largest) for scene in scenes]
            best = scales.index(max(scales))
            if is_readable(scenes[best], scales[best]):
                break
        return scenes[best], scales[best], look | {"orientation": ways[best]}

    def is_readable(scene: Scene, scale: float, _: Any = None) -> bool:
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
    """Draw the marks of a scene at a scale, in the middle of the axes."""
    from matplotlib import colors

    if scene.theme is None:
        behind = colors.to_hex(ax.figure.get_facecolor())
        theme = DARK if contrast(behind, DARK.ink) > contrast(behind, LIGHT.ink) else LIGHT
    else:
        theme = {"light": LIGHT, "dark": DARK, "print": PRINT}[scene.theme]
    width, height = (side / scale for side in _room(ax))
    left, top = (scene.width - width) / 2, (scene.height - height) / 2
    ax.set_axis_off()
    ax.set_xlim(left, left + width)
    ax.set_ylim(top + height, top)
    if scene.theme is not None:
        paper = Box(left, top, width, height, theme.paper)
        _draw_boxes(ax, [paper], theme, 1.0, 0)
    point = scale * POINTS / PIXELS
    groups = [_faded(group, theme) if group.is_faded else group for group in scene.groups]
    scene = replace(scene, groups=groups)
    marks = list(scene.marks())
    _draw_paths(ax, scene.branches, theme, point, 1)
    _draw_boxes(ax, [mark for mark in marks if isinstance(mark, Box)], theme, point)
    _draw_sectors(ax, [mark for mark in marks if isinstance(mark, Sector)], theme)
    _draw_paths(ax, [mark for group in scene.groups for mark in group.marks if isinstance(mark, Path)], theme, point, 4)
    for mark in marks:
        match mark:
            case Dots():
                across, along = zip(*mark.points, strict=True)
                size = (2 * mark.radius * point) ** 2
                ax.scatter(across, along, size, _seen(mark.fill, theme), alpha=mark.opacity, linewidths=0, zorder=3)
            case Text():
                drawn = ax.text(
                    mark.x,
                    mark.y,
                    mark.text,
                    fontsize=mark.size * point,
                    fontweight="bold" if mark.bold else "normal",
                    color=_seen(mark.colour, theme),
                    horizontalalignment={"start": "left", "middle": "center", "end": "right"}[mark.anchor],
                    verticalalignment="baseline",
                    rotation=90 if mark.turned else 0,
                    rotation_mode="anchor",
                    parse_math=False,
                    usetex=False,
                    zorder=5,
                )
                _keep_in_room(drawn, text_width(mark.text, mark.size, mark.bold) * scale / PIXELS * float(ax.figure.dpi))


def _faded(group: MarkGroup, theme: Theme) -> MarkGroup:
    """Return a group in pale colours."""

    def pale(colour: str | None) -> str | None:
        return None if colour is None else mix(_seen(colour, theme), theme.paper, FADED)

    marks: list[Mark] = []
    for mark in group.marks:
        match mark:
            case Box():
                fill = None if mark.fill is None else mix(_seen(mark.fill, theme), theme.paper, mark.opacity)
                marks.append(replace(mark, fill=pale(fill), opacity=1.0, line=pale(mark.line)))
            case Dots() | Sector():
                marks.append(replace(mark, fill=str(pale(mark.fill))))
            case _:
                marks.append(replace(mark, colour=str(pale(mark.colour))))
    return replace(group, marks=marks)


def _keep_in_room(drawn: DrawnText, room: float) -> None:
    """Make a text smaller if its font is wider, or its hinting makes it wider, than the picture expects."""
    extent = drawn.get_window_extent()
    width = extent.height if drawn.get_rotation() else extent.width
    if width > room > 0:
        size = float(drawn.get_fontsize())
        drawn.set_fontsize(max(size * room / width, min(size, SMALLEST)))


def _draw_boxes(ax: Axes, boxes: Iterable[Box], theme: Theme, point: float, order: int = 2) -> None:
    from matplotlib.collections import PathCollection

    boxes = list(boxes)
    ax.add_collection(
        PathCollection(
            [_rectangle(box) for box in boxes],
            facecolors=["none" if box.fill is None else mix(_seen(box.fill, theme), theme.paper, box.opacity) for box in boxes],
            edgecolors=["none" if box.line is None else _seen(box.line, theme) for box in boxes],
            linewidths=[box.line_width * point if box.line else 0.0 for box in boxes],
            linestyles=[(0, (4, 3)) if box.dashed else "solid" for box in boxes],
            zorder=order,
        ),
        autolim=False,
    )


def _draw_sectors(ax: Axes, sectors: Iterable[Sector], theme: Theme) -> None:
    from matplotlib.collections import PolyCollection

    sectors = list(sectors)
    corners = []
    for sector in sectors:
        edge = [sector.at(turn) for turn in np.linspace(sector.start, sector.stop, 2 + round(90 * (sector.stop - sector.start)))]
        corners.append([(sector.x, sector.y), *edge])
    colours = [_seen(sector.fill, theme) for sector in sectors]
    ax.add_collection(PolyCollection(corners, facecolors=colours, linewidths=0, zorder=3), autolim=False)


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
    # clockwise: start, two control points and end of each corner
    for x, y, across, along in ((right, top, -1, 1), (right, bottom, -1, -1), (left, bottom, 1, -1), (left, top, 1, 1)):
        begin, end = [(x + across * r, y), (x, y + along * r)], [(x + across * near, y), (x, y + along * near)]
        if across * along > 0:
            begin, end = begin[::-1], end[::-1]
        points += [begin[0], *end, begin[1]]
    codes = [Outline.MOVETO, *[Outline.LINETO, *[Outline.CURVE4] * 3] * 4]
    return Outline(points, codes)


def _seen(colour: str, theme: Theme) -> str:
    """Return a colour unchanged, or look up its name in the theme."""
    return colour if colour[0] == "#" else str(getattr(theme, colour))


def plot_pruning_table(table: Bunch, ax: Axes | None) -> Axes:
    """Draw the errors of the subtrees of a sequence, from the root to the whole tree; see `Views.plot_pruning_table`."""
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
    first = 1 if len(labels) >= MANY else 0  # a logarithmic axis has no place 0
    place, last = np.arange(first, first + len(labels)), len(labels) - 1
    chosen, least = last - int(table.chosen), int(np.argmin(error))

    size = 5.0 if len(labels) < CROWDED else 2.0
    ax.plot(place, error, "-" if first else "o-", color="C0", markersize=size, linewidth=1)
    if len(labels) < CROWDED:
        ax.errorbar(place, error, deviation, fmt="none", ecolor="0.6", elinewidth=1, capsize=size / 2, zorder=1)
    else:
        ax.fill_between(
            place, error - deviation, error + deviation, color="C0", alpha=0.2, linewidth=0, label="± 1 standard error"
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
    ax.set_ylabel("error, as a share of the root's")
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
    """Return the geometric mean of the interval of alpha for which each subtree is best; the root's interval has no end."""
    return [*_short(np.sqrt(steps[:-1] * steps[1:])), "∞"]


def _short(numbers: npt.NDArray[np.float64]) -> list[str]:
    return [_in_tens(f"{number:.2g}") for number in numbers]


def _in_tens(text: str) -> str:
    """Write ``6.1e-05`` as 6.1 · 10⁻⁵."""
    digits, mark, exponent = text.partition("e")
    return f"{digits}·10{str(int(exponent)).translate(SUPERSCRIPTS)}" if mark else text


def _counted(n_leaves: int) -> str:
    return f"{n_leaves:,} {'leaf' if n_leaves == 1 else 'leaves'}"


def _at_places(words: list[str], first: int) -> Callable[[float, int | None], str]:
    """Return a formatter of places on an axis: words at the integers from the first place on, nothing elsewhere."""
    return lambda place, _: words[round(place) - first] if round(place, 6) in range(first, first + len(words)) else ""
