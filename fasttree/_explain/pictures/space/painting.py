"""Plots of regions with their samples, with matplotlib: a line or a plane of features, of classes or of numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fasttree._explain.pictures.colours import DARK, LIGHT, Theme, contrast, mix, tint
from fasttree._explain.pictures.space.regions import CellAxis, Regions, spread, thinned
from fasttree._explain.pictures.style import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Shown", "plot_regions"]

Floats = npt.NDArray[np.float64]

SIZE = (6.4, 4.6)  # inches of a new figure
DOT, SMALL_DOT, CROWDED = 16, 7, 600  # square points; number of dots above which they are small
MARKS = "os^DvPX<>*"  # of classes, which are not distinguished by their colours alone
BARS = 40  # of a histogram
MANY = 5000  # dots that are an image also in vector formats
MOST_IN_COLUMN = 20  # classes in a column of the legend
TURNED_FROM = 40  # letters of all names of categories, from which they read upwards
SHADES = (0.1, 1.0)  # opacity of the colour of the least and the largest mean


@dataclass(frozen=True)
class Shown:
    """What a plot shows beside the regions.

    Attributes
    ----------
    columns : list of arrays
        Values or codes of the samples, for each feature.
    target : array
        Class indices or numbers of the samples.
    names : list of str
        Names of the features.
    heading : str
        Name of the target.
    classes : list of str or None
        Names of the classes; None in regression.
    style : Style
        Colours.
    most : int
        Maximum number of dots.
    """

    columns: list[npt.NDArray[Any]]
    target: npt.NDArray[Any]
    names: list[str]
    heading: str
    classes: list[str] | None
    style: Style
    most: int


def plot_regions(regions: Regions, shown: Shown, ax: Axes | None) -> Axes:
    """Draw what a model predicts along one or two features, and samples."""
    try:
        from matplotlib import colors, pyplot
    except ModuleNotFoundError as absent:
        raise ImportError("plots are drawn with matplotlib: install it by pip install 'fasttree[plot]'") from absent
    if ax is None:
        _, ax = pyplot.subplots(figsize=SIZE, layout="constrained")
    behind = colors.to_hex(ax.get_facecolor())
    theme = DARK if contrast(behind, DARK.ink) > contrast(behind, LIGHT.ink) else LIGHT
    places = [line.places(column) for line, column in zip(regions.lines, shown.columns, strict=True)]
    known = ~np.isnan(np.column_stack(places)).any(axis=1)
    keys = [place[known] for place in reversed(places)]
    rows = np.flatnonzero(known)[thinned([shown.target[known], *keys], shown.most)]
    counts_samples = len(places) == 1 and shown.classes is not None
    if counts_samples:
        _bars(regions, shown, places[0], theme, ax)
    elif len(places) == 1:
        _steps(regions, shown, places[0], rows, theme, ax)
    else:
        _plane(regions, shown, places, rows, theme, ax)
    _name_axes(regions.lines, shown, theme, ax)
    notes = []
    if not counts_samples and rows.size < np.count_nonzero(known):
        notes.append(f"{rows.size:,} of {np.count_nonzero(known):,} samples")
    if not known.all():
        notes.append(f"{np.count_nonzero(~known):,} samples with missing values are not drawn")
    ax.set_title("; ".join(notes), fontsize="small", loc="left", color=theme.muted)
    return ax


def _bars(regions: Regions, shown: Shown, places: Floats, theme: Theme, ax: Axes) -> None:
    """Draw a histogram of the classes above the regions of a feature."""
    (line,) = regions.lines
    known = ~np.isnan(places)
    edges = line.edges if line.categories else np.linspace(line.edges[0], line.edges[-1], BARS + 1)
    below = np.zeros(len(edges) - 1)
    for k, name in enumerate(shown.classes or []):
        counts = np.histogram(places[known & (shown.target == k)], edges)[0]
        widths = np.diff(edges) * (0.7 if line.categories else 0.94)
        middles = (edges[:-1] + edges[1:]) / 2
        ax.bar(middles, counts, widths, below, color=shown.style.colour(k), linewidth=0, label=name, zorder=2)
        below += counts
    for start, stop, colour in _spans(line, _tints(regions, shown, theme)[0]):
        ax.axvspan(start, stop, color=colour, linewidth=0, zorder=0)
    _cuts(regions, theme, ax)
    ax.set_ylim(0, 1.05 * max(below.max(), 1))
    ax.set_ylabel("samples")
    _legend(shown, ax)


def _steps(regions: Regions, shown: Shown, places: Floats, rows: npt.NDArray[np.intp], theme: Theme, ax: Axes) -> None:
    """Draw the samples of a feature with their targets, and the prediction as a line."""
    (line,) = regions.lines
    target = shown.target[rows]
    across = spread(places[rows], [target, places[rows]]) if line.categories else places[rows]
    colour = shown.style.numeric
    ax.scatter(across, target, DOT, colour, alpha=0.5, linewidths=0, label="samples", zorder=2, rasterized=rows.size > MANY)
    if regions.ends is not None:
        _fitted_lines(regions, regions.ends, theme, ax)
    else:
        means = regions.value[0, :, 0]
        starts = np.concatenate([[0], np.flatnonzero(np.diff(means)) + 1]) if not line.categories else np.arange(len(means))
        ends = line.edges[[*starts[1:].tolist(), len(means)]]
        ax.hlines(means[starts], line.edges[starts], ends, color=theme.ink, linewidth=2, label="prediction", zorder=3)
    _cuts(regions, theme, ax)
    ax.set_ylabel(shown.heading)
    ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _fitted_lines(regions: Regions, ends: Floats, theme: Theme, ax: Axes) -> None:
    """Draw the model of each leaf along a feature, interrupted where leaves meet."""
    from matplotlib.collections import LineCollection

    edges = regions.lines[0].edges
    pieces = np.stack([np.stack([edges[:-1], ends[0]], 1), np.stack([edges[1:], ends[1]], 1)], 1)
    ax.add_collection(LineCollection(list(pieces), colors=theme.ink, linewidths=2, label="prediction", zorder=3))


def _plane(regions: Regions, shown: Shown, places: Sequence[Floats], rows: npt.NDArray[np.intp], theme: Theme, ax: Axes) -> None:
    """Draw the regions of two features, and the samples above them."""
    from matplotlib import cm, colors

    across, up = (
        spread(place[rows], [shown.target[rows], *keys]) if line.categories else place[rows]
        for line, place, keys in zip(
            regions.lines, places, ([places[1][rows], places[0][rows]], [places[0][rows], places[1][rows]]), strict=True
        )
    )
    tints = _tints(regions, shown, theme)
    distinct, at = np.unique(tints, return_inverse=True)
    if len(distinct) == 1:
        ax.set_facecolor(distinct[0])
    else:
        edges = [line.edges for line in regions.lines]
        ax.pcolormesh(*edges, at.reshape(tints.shape), cmap=colors.ListedColormap(distinct.tolist()), zorder=0, rasterized=True)
    _cuts(regions, theme, ax)
    many, size = rows.size > MANY, DOT if rows.size <= CROWDED else SMALL_DOT
    if shown.classes is None:
        low, high = _range(regions, shown)
        shades = colors.LinearSegmentedColormap.from_list(
            "means", [mix(shown.style.numeric, theme.paper, each) for each in SHADES]
        )
        colour = cm.ScalarMappable(colors.Normalize(low, high), shades)
        dots = colour.to_rgba(shown.target[rows])
        ax.scatter(across, up, size, dots, edgecolors=theme.muted, linewidths=0.4, zorder=2, rasterized=many)
        ax.figure.colorbar(colour, ax=ax, label=shown.heading).ax.yaxis.label.set_parse_math(False)
        return
    counts = np.bincount(shown.target[rows], minlength=len(shown.classes))
    above = 2 + np.argsort(np.argsort(-counts, kind="stable")) / len(counts)  # rare classes above frequent ones
    for k, name in enumerate(shown.classes):
        own = shown.target[rows] == k
        if own.any():
            ax.scatter(
                across[own], up[own], size, shown.style.colour(k), marker=MARKS[k % len(MARKS)], label=name,
                edgecolors=theme.paper, linewidths=0.3, zorder=above[k], rasterized=many,
            )  # fmt: skip
    _legend(shown, ax)


def _range(regions: Regions, shown: Shown) -> tuple[float, float]:
    """Return the range of the colours: that of the predictions, and of the middle 98 percent of the samples."""
    ends = np.quantile(shown.target, [0.01, 0.99]) if shown.target.size else []
    numbers = np.concatenate([regions.value.ravel(), ends])
    return float(numbers.min()), float(numbers.max())


def _tints(regions: Regions, shown: Shown, theme: Theme) -> npt.NDArray[Any]:
    """Return the colour of each cell: that of its class, or of its mean, fuller if more certain or larger."""
    value, style = regions.value, shown.style
    flat = value.reshape(-1, value.shape[-1])
    if regions.answers is None:
        distinct, at = np.unique(flat, axis=0, return_inverse=True)
        low, high = _range(regions, shown)
        shares = (distinct[:, 0] - low) / ((high - low) or 1.0)
        found = [mix(style.numeric, theme.paper, SHADES[0] + (SHADES[1] - SHADES[0]) * share) for share in shares.tolist()]
    else:
        even = 1 / value.shape[-1]
        distinct, at = np.unique(np.column_stack([regions.answers.ravel(), flat]), axis=0, return_inverse=True)
        found = []
        for label, *shares in distinct.tolist():
            colour = style.colour(int(label))
            certainty = (shares[int(label)] - even) / ((1 - even) or 1.0)
            found.append(mix(colour, theme.paper, style.opacity(colour, certainty) if certainty > 0 else tint(0.0)))
    return np.array(found)[at.ravel()].reshape(value.shape[:2])


def _spans(line: CellAxis, colours: npt.NDArray[Any]) -> list[tuple[float, float, str]]:
    """Return start, stop and colour of neighbouring cells of one colour."""
    spans, start = [], 0
    for colour, group in itertools.groupby(colours.tolist()):
        stop = start + sum(1 for _ in group)
        spans.append((float(line.edges[start]), float(line.edges[stop]), colour))
        start = stop
    return spans


def _cuts(regions: Regions, theme: Theme, ax: Axes) -> None:
    """Draw dashed lines between cells of different leaves."""
    from matplotlib.collections import LineCollection

    leaf, across = regions.leaf, regions.lines[0].edges
    if len(regions.lines) == 1:
        for at in np.flatnonzero(leaf[0, 1:] != leaf[0, :-1]).tolist():
            ax.axvline(across[at + 1], color=theme.muted, linewidth=1, linestyle="--", zorder=1)
        return
    up = regions.lines[1].edges
    walls = [[(across[j + 1], up[i]), (across[j + 1], up[i + 1])] for i, j in np.argwhere(leaf[:, 1:] != leaf[:, :-1]).tolist()]
    walls += [[(across[j], up[i + 1]), (across[j + 1], up[i + 1])] for i, j in np.argwhere(leaf[1:] != leaf[:-1]).tolist()]
    ax.add_collection(LineCollection(walls, colors=theme.line, linewidths=0.7, zorder=1), autolim=False)


def _name_axes(lines: Sequence[CellAxis], shown: Shown, theme: Theme, ax: Axes) -> None:
    """Write the names of features and of their categories, and set the limits."""
    for line, name, axis in zip(lines, shown.names, (ax.xaxis, ax.yaxis), strict=False):
        axis.set_label_text(name)
        if line.categories:
            axis.set_ticks(range(len(line.categories)), line.categories)
            if axis is ax.xaxis and sum(map(len, line.categories)) > TURNED_FROM:
                axis.set_tick_params(rotation=90)
    for text in (ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels()):
        text.set_parse_math(False)
    ax.set_xlim(lines[0].edges[0], lines[0].edges[-1])
    if len(lines) > 1:
        ax.set_ylim(lines[1].edges[0], lines[1].edges[-1])
    ax.spines[["top", "right"]].set_visible(False)


def _legend(shown: Shown, ax: Axes) -> None:
    n_columns = -(-len(shown.classes or ()) // MOST_IN_COLUMN)
    key = ax.legend(
        title=shown.heading, frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0), ncols=n_columns
    )
    for text in (key.get_title(), *key.get_texts()):
        text.set_parse_math(False)
