"""Shapes of an additive model with matplotlib: steps with bands, categories, and maps of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Schema
from fasttree._explain.pictures.colours import class_colour
from fasttree._explain.pictures.lettering import distinct
from fasttree._model.additive.model import AdditiveModel, Axis, Term

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Figure

__all__ = ["plot_all_shapes", "plot_shape"]

Floats = npt.NDArray[np.float64]

GREY, BAR = "#9aa1ad", "#d5d9e0"
BAND = 2.0  # standard deviations over the bags on each side
DENSITY = 0.15  # height of the bars of the samples, as a share of the axes
TAIL = 0.005  # share of the weight at each end that does not widen the axis
WIDTH, HEIGHT = 4.4, 3.2  # inches of a shape
NAME_ROOM, NAME_SIZE = 120.0, 9.0
MOST_CATEGORIES = 40


def plot_shape(term: Term, schema: Schema, outputs: Sequence[str], ax: Axes | None, ylabel: str) -> Axes:
    """Draw the table of a term; of several scores, a line for each."""
    if ax is None:
        ax = _pyplot().subplots(figsize=(WIDTH, HEIGHT), layout="constrained")[1]
    if len(term.axes) > 1:
        return _pair(term, schema, ax, ylabel)
    axis = term.axes[0]
    ax.axhline(0.0, color=GREY, linewidth=1, zorder=1)
    for k, (scores, deviations) in enumerate(zip(term.scores, term.deviations, strict=True)):
        label, colour = outputs[k] if len(term.scores) > 1 else None, class_colour(k)
        draw = _steps if axis.cuts is not None else _categories
        draw(ax, term, (scores, BAND * deviations), colour, label)
    _density(ax, term)
    ax.set_xlabel(schema.features[axis.feature].name, parse_math=False)
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    if axis.cuts is None:
        _name_categories(ax, term, schema)
    if len(term.scores) > 1:
        ax.legend(frameon=False, fontsize="small")
    if term.by_hand:
        ax.set_title("changed by hand", fontsize="small", loc="right")
    return ax


def plot_all_shapes(model: AdditiveModel, schema: Schema, outputs: Sequence[str], max_terms: int, ylabel: str) -> Figure:
    """Draw the most important terms in a grid, on one scale of scores."""
    chosen = sorted(model.terms, key=lambda term: -term.importance)[:max_terms]
    n_columns = min(len(chosen), 3)
    n_rows = -(-len(chosen) // max(n_columns, 1))
    size = (WIDTH * max(n_columns, 1), HEIGHT * max(n_rows, 1))
    figure: Figure
    figure, grid = _pyplot().subplots(max(n_rows, 1), max(n_columns, 1), figsize=size, layout="constrained", squeeze=False)
    places = grid.ravel().tolist()
    single = [ax for ax, term in zip(places, chosen, strict=False) if len(term.axes) == 1]
    for ax, term in zip(places, chosen, strict=False):
        plot_shape(term, schema, outputs, ax, ylabel)
    limits = [ax.get_ylim() for ax in single]
    for ax in single:
        ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    for ax in places[len(chosen) :]:
        ax.set_visible(False)
    return figure


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as absent:
        raise ImportError("plots are drawn with matplotlib: install it by pip install 'fasttree[plot]'") from absent
    return pyplot


def edges_of(axis: Axis, weight: Floats) -> Floats:
    """Return the edges of the bins of values; the outer ones are as far from the first and last cut as these are apart."""
    cuts = axis.cuts
    assert cuts is not None
    if len(cuts) == 0:
        return np.array([0.0, 1.0])
    upto = np.cumsum(weight[1:]) / max(float(weight[1:].sum()), 1e-300)
    first, last = (min(int(np.searchsorted(upto, share)), len(cuts) - 1) for share in (TAIL, 1 - TAIL))
    room = max(0.05 * (cuts[last] - cuts[first]), float(np.median(np.diff(cuts))) if len(cuts) > 1 else 0.5)
    low = cuts[0] - room if first == 0 else cuts[first] - room
    high = cuts[-1] + room if last == len(cuts) - 1 else cuts[last] + room
    return np.array([min(low, cuts[0]), *cuts, max(high, cuts[-1])])


def _steps(ax: Axes, term: Term, figures: tuple[Floats, Floats], colour: str, label: str | None) -> None:
    scores, band = figures
    edges = edges_of(term.axes[0], term.weight)
    ax.fill_between(
        np.repeat(edges, 2)[1:-1],
        np.repeat(scores[1:] - band[1:], 2),
        np.repeat(scores[1:] + band[1:], 2),
        color=colour,
        alpha=0.2,
        linewidth=0,
    )
    ax.stairs(scores[1:], edges, baseline=None, color=colour, linewidth=1.5, label=label)
    if term.weight[0] > 0:
        ax.errorbar([1.03], [scores[0]], [band[0]], fmt="o", color=colour, transform=ax.get_yaxis_transform(), clip_on=False)
        ax.annotate("missing", (1.03, 0), (0, -4), xycoords="axes fraction", textcoords="offset points", fontsize="small",
                    ha="center", va="top")  # fmt: skip


def _shown(term: Term) -> list[int]:
    """Return the bins of a feature with categories that are drawn: the heaviest, in their order, and missing values last."""
    known = np.argsort(-term.weight[1:], kind="stable")[:MOST_CATEGORIES] + 1
    return [*np.sort(known).tolist(), *([0] if term.weight[0] > 0 else [])]


def _categories(ax: Axes, term: Term, figures: tuple[Floats, Floats], colour: str, label: str | None) -> None:
    scores, band = figures
    shown = _shown(term)
    ax.errorbar(range(len(shown)), scores[shown], band[shown], fmt="o", color=colour, markersize=4, capsize=2, label=label)


def _name_categories(ax: Axes, term: Term, schema: Schema) -> None:
    categories = schema.features[term.features[0]].categories or ()
    names = ["missing" if bin_ == 0 else str(categories[bin_ - 1]) for bin_ in _shown(term)]
    brief = distinct(names, NAME_ROOM, NAME_SIZE)
    ax.set_xticks(range(len(names)), [brief[name] for name in names], rotation=45, ha="right", fontsize="small")
    for tick in ax.get_xticklabels():
        tick.set_parse_math(False)


def _density(ax: Axes, term: Term) -> None:
    """Draw the weight of the samples as bars at the bottom."""
    below = ax.twinx()
    below.set_zorder(ax.get_zorder() - 1)
    ax.patch.set_visible(False)
    axis = term.axes[0]
    if axis.cuts is not None:
        edges = edges_of(axis, term.weight)
        heights, bars = np.histogram((edges[:-1] + edges[1:]) / 2, bins=30, range=(edges[0], edges[-1]), weights=term.weight[1:])
        below.bar(bars[:-1], heights, np.diff(bars), align="edge", color=BAR)
        ax.set_xlim(edges[0], edges[-1])
    else:
        shown = _shown(term)
        heights = term.weight[shown]
        below.bar(range(len(shown)), heights, 0.8, color=BAR)
    below.set_ylim(0, max(float(np.max(heights, initial=0.0)), 1e-300) / DENSITY)
    below.set_axis_off()


def _pair(term: Term, schema: Schema, ax: Axes, label: str) -> Axes:
    """Draw a pair of features as a map."""
    first, second = term.axes
    scores = term.scores[-1][1:, 1:] if term.scores.shape[0] == 1 else np.abs(term.scores).mean(axis=0)[1:, 1:]
    size = float(np.abs(scores).max(initial=0.0)) or 1.0
    sides = [
        edges_of(axis, np.ones(axis.n_bins)) if axis.cuts is not None else np.arange(axis.n_bins) - 0.5
        for axis in (first, second)
    ]
    drawn = ax.pcolormesh(sides[0], sides[1], scores.T, cmap="PuOr_r", vmin=-size, vmax=size)
    ax.figure.colorbar(drawn, ax=ax, label=label)
    for axis, set_label, set_ticks in ((first, ax.set_xlabel, ax.set_xticks), (second, ax.set_ylabel, ax.set_yticks)):
        feature = schema.features[axis.feature]
        set_label(feature.name, parse_math=False)
        if feature.categories is not None:
            set_ticks(range(len(feature.categories)), list(map(str, feature.categories)))
    return ax
