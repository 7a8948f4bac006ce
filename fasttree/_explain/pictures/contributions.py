"""Contributions of features with matplotlib: importances, and SHAP values of many samples or of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fasttree._explain.pictures.colours import NUMERIC, class_colour
from fasttree._explain.pictures.lettering import distinct
from fasttree._model.words import check_count, grouped_mean, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes

__all__ = ["plot_bars", "plot_error_curve", "plot_importances", "plot_leaves", "plot_samples", "plot_waterfall"]

Floats = npt.NDArray[np.float64]

LOW, MIDDLE, HIGH, GREY = "#0072b2", "#9aa1ad", "#e69f00", "#9aa1ad"  # least, middle and largest value; without order
DOWN, UP = "#0072b2", "#e69f00"  # contributions that lower or raise a prediction
NAME_ROOM, NAME_SIZE = 170.0, 10.0
PLACES, SPREAD = 120, 0.4  # columns of a swarm; largest distance of a dot from its line
MANY = 5000  # dots in a line; above, they are an image also in vector formats
ROW, MARGIN, WIDTH = 0.36, 1.1, 7.0  # inches of a new figure
CURVE_ROWS = 8  # height of a curve, in rows


def plot_bars(
    sizes: Sequence[tuple[str, Floats]], ax: Axes | None, xlabel: str, series: Sequence[str] = (), *, is_share: bool = False
) -> Axes:
    """Draw a bar for each name, the first on top; several numbers of a name are stacked, in the colours of classes."""
    ax = _axes(ax, len(sizes))
    numbers = np.array([row for _, row in sizes]).reshape(len(sizes), -1)
    start = np.zeros(len(sizes))
    for k, column in enumerate(numbers.T):
        colour = class_colour(k) if series else NUMERIC
        ax.barh(range(len(sizes)), column, 0.7, start, color=colour, label=series[k] if series else None)
        start += column
    for at, total in enumerate(start.tolist()):
        ax.annotate(percent(total) if is_share else f"{total:.3g}", (total, at), (4, 0), textcoords="offset points", va="center")
    _dress(ax, [name for name, _ in sizes], xlabel)
    ax.set_xlim(0, 1.15 * max(float(start.max()), 1e-300))
    if series:
        ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax


def plot_importances(names: Sequence[str], shares: Floats, max_features: int, ax: Axes | None) -> Axes:
    """Draw the importances of features as bars, the largest on top, without those that are zero."""
    check_count("max_features", max_features, 1)
    order = np.argsort(-shares, kind="stable")[: max(min(max_features, int(np.count_nonzero(shares))), 1)].tolist()
    return plot_bars([(names[j], shares[[j]]) for j in order], ax, "share in the decrease of impurity", is_share=True)


def plot_leaves(leaves: Sequence[dict[str, Any]], max_leaves: int, is_share: bool, ax: Axes | None) -> Axes:
    """Draw two bars for each leaf, the heaviest on top: the expected and the observed figure, this one with its interval."""
    check_count("max_leaves", max_leaves, 1)
    shown = sorted(leaves, key=lambda leaf: -leaf["share"])[:max_leaves]
    ax = _axes(ax, 2 * len(shown))
    expected, observed, low, high = (np.array([leaf[name] for leaf in shown]) for name in ("expected", "observed", "low", "high"))
    places = np.arange(len(shown))
    ax.barh(places - 0.19, expected, 0.36, color=GREY, label="training")
    ax.barh(places + 0.19, observed, 0.36, color=NUMERIC, label="these samples")
    sides = np.maximum([observed - low, high - observed], 0.0)
    ax.errorbar(observed, places + 0.19, xerr=sides, fmt="none", ecolor="0.25", elinewidth=1, capsize=2)
    names = [f"leaf {leaf['node']:,} · {percent(leaf['share'])}" for leaf in shown]
    _dress(ax, names, "share of the predicted class" if is_share else "mean")
    ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return ax


def plot_error_curve(errors: Floats, ax: Axes | None, ylabel: str) -> Axes:
    """Draw an error by the number of trees, with a dashed line at that of all trees."""
    ax = _axes(ax, CURVE_ROWS)
    last = float(errors[-1])
    ax.plot([1, len(errors)], [last, last], color=GREY, linewidth=1, linestyle="--", zorder=1)
    ax.plot(range(1, len(errors) + 1), errors, color=NUMERIC, linewidth=1.5, marker="o" if len(errors) == 1 else "")
    figure = f"{last:,.0f}" if last >= 1000 else f"{last:.3g}"
    ax.annotate(figure, (len(errors), last), (4, 0), textcoords="offset points", va="center")
    ax.set_xlabel("trees")
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_samples(names: Sequence[str], values: Floats, data: Sequence[Sequence[Any]], ax: Axes | None, xlabel: str) -> Axes:
    """Draw a line of dots for each feature, a dot for each sample at its SHAP value, in the colour of the feature's value."""
    ax = _axes(ax, len(names))
    ax.axvline(0.0, color=GREY, linewidth=1, zorder=1)
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    for at, column in enumerate(values.T):
        ax.scatter(
            column, at - _swarm(column, low, high), 9, _colours(data[at]), linewidths=0, zorder=2, rasterized=len(column) > MANY
        )
    _dress(ax, names, xlabel)
    for name, colour in (("low value", LOW), ("high value", HIGH), ("missing or category", GREY)):
        ax.scatter([], [], 16, colour, linewidths=0, label=name)
    ax.legend(frameon=False, fontsize="small", loc="best")
    return ax


def plot_waterfall(steps: Sequence[tuple[str, float]], base: float, ax: Axes | None, xlabel: str) -> Axes:
    """Draw how contributions lead from the base value to a prediction, the first on top."""
    ax = _axes(ax, len(steps))
    ends = base + np.cumsum([step for _, step in steps[::-1]])[::-1]  # the largest comes last, next to the prediction
    decimals = _decimals(float(np.ptp([base, *ends.tolist()])))
    for at, ((_, step), end) in enumerate(zip(steps, ends.tolist(), strict=True)):
        ax.barh(at, step, 0.7, end - step, color=UP if step > 0 else DOWN)
        side = 1 if step >= 0 else -1
        text = f"{'+' if step >= 0 else '−'}{grouped_mean(abs(step), decimals)}"
        ax.annotate(text, (end, at), (4 * side, 0), textcoords="offset points", va="center", ha="left" if side > 0 else "right")
        if at:
            ax.plot([end, end], [at - 1, at], color=GREY, linewidth=1, zorder=1)
    ax.axvline(base, color=GREY, linewidth=1, linestyle="--", zorder=1)
    prediction = grouped_mean(float(ends[0]) if len(steps) else base, decimals)
    _dress(ax, [name for name, _ in steps], xlabel)
    ax.set_title(f"prediction {prediction}, base value {grouped_mean(base, decimals)}", fontsize="medium", loc="left")
    places = [base, *ends.tolist()]
    room = 0.2 * (max(places) - min(places)) or 0.1
    ax.set_xlim(min(places) - room, max(places) + room)  # for the figures beside the bars
    return ax


def _axes(ax: Axes | None, n_rows: int) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as absent:
        raise ImportError("plots are drawn with matplotlib: install it by pip install 'fasttree[plot]'") from absent
    _, new = pyplot.subplots(figsize=(WIDTH, MARGIN + ROW * max(n_rows, 2)), layout="constrained")
    return new


def _dress(ax: Axes, names: Sequence[str], xlabel: str) -> None:
    brief = distinct(names, NAME_ROOM, NAME_SIZE)
    ax.set_yticks(range(len(names)), [brief[name] for name in names])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel(xlabel)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)


def _swarm(column: Floats, low: float, high: float) -> Floats:
    """Return distances of dots from their line, so that dots with similar values lie side by side; independent of row order."""
    place = np.rint((column - low) / ((high - low) or 1.0) * PLACES).astype(np.intp)
    order = np.lexsort((column, place))
    counts = np.bincount(place)
    rank = np.empty(len(column), np.intp)
    rank[order] = np.arange(len(column)) - np.repeat(np.cumsum(counts) - counts, counts)
    side = np.where(rank % 2, 1, -1) * ((rank + 1) // 2)
    most = max(int(counts.max(initial=1)) // 2, 8)
    return side / most * SPREAD


def _colours(cells: Sequence[Any]) -> list[str]:
    """Return a colour for each value by its rank; grey for missing values and categories."""
    from matplotlib import colors

    numbers = np.array([cell if isinstance(cell, float | int) else math.nan for cell in cells], np.float64)
    known = np.isfinite(numbers)
    ordered = np.sort(numbers[known])
    ends = [np.searchsorted(ordered, numbers[known], side=side) for side in ("left", "right")]
    ranks = (ends[0] + ends[1]) / 2 / max(int(known.sum()), 1)
    shades = colors.LinearSegmentedColormap.from_list("low to high", [LOW, MIDDLE, HIGH])
    found = np.full(len(numbers), GREY, object)
    found[known] = [colors.to_hex(shade) for shade in shades(ranks)]
    colours: list[str] = found.tolist()
    return colours


def _decimals(size: float) -> int:
    return max(2 - math.floor(math.log10(size)), 0) if size > 0 else 3
