"""Small charts inside the nodes of a drawn tree: the samples of a node along the feature that it tests.

In classification, they are histograms, or bars of categories, stacked by class.  In regression, they show samples as dots above
an axis of the target, with the mean of each branch; leaves show them along the target.  A line marks each threshold, a gap
separates groups of categories, as in T. Parr and P. Grover's dtreeviz.  This file knows no estimators.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Kind
from fasttree._data.table import Table
from fasttree._explain.pictures.colours import NUMERIC
from fasttree._explain.pictures.lettering import distinct, shortened, text_width
from fasttree._explain.pictures.scene import Box, Dots, Mark, Path, Text
from fasttree._explain.pictures.style import DEFAULT, Style
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, NOMINAL, THRESHOLD
from fasttree._model.tree import Tree
from fasttree._model.words import Words, fixed

__all__ = ["Chart", "ChartSamples", "Charts"]

BARS = 22  # of a histogram
MOST_CATEGORIES = 12  # with a bar of their own, the most frequent
MOST_DOTS = 150  # in a chart; `docs/guide/pictures.md` states it
ABOVE = 3.0  # room above the bars
DOT, LINE = 1.4, 1.6
LETTERS = 8.0  # text size under the axis
LEAST_NAME = 6  # characters of a category that is shortened under its column; others read too much alike
MOST_TURNED = 60.0  # pixels of a name that reads upwards
GAP = 7.0  # between the bars of two branches
TICK = 4.0  # length of a tick, and its distance from its label
# An axis leaves out the outermost percent of a side whose outliers make it longer by half of what exceeds 1 here.
SQUEEZED, FAR = 1.25, 3.0  # with dots, and with bars, which count outliers at their end
TURN = 0.6180339887  # golden section: spreads dots side by side without rows


class ChartSamples:
    """Samples to show in the nodes of a tree.

    Parameters
    ----------
    table : Table
        Features of the samples, encoded for the tree.
    target : array, shape (n_samples,)
        Class indices, or numbers.
    path : scipy.sparse matrix, shape (n_samples, node_count)
        Nonzero where a sample passes a node.
    """

    def __init__(self, table: Table, target: npt.NDArray[Any], path: Any) -> None:
        self.table = table
        self.target = target
        by_node = path.tocsc()
        self._start, self._rows = by_node.indptr, by_node.indices

    def rows(self, node: int) -> npt.NDArray[np.intp]:
        """Return the indices of the samples that pass a node."""
        rows: npt.NDArray[np.intp] = self._rows[self._start[node] : self._start[node + 1]].astype(np.intp)
        return rows


@dataclass(frozen=True)
class Bar:
    """A column of a chart: its start and stop, in [0, 1], and its parts from bottom to top."""

    start: float
    stop: float
    parts: Sequence[tuple[float, str]]  # height in [0, 1], colour
    name: str = ""


@dataclass(frozen=True)
class Chart:
    """Bars, dots and lines above an axis; positions are in [0, 1], from the left and from the bottom."""

    width: float
    room: float  # height of the bars
    bars: Sequence[Bar] = ()
    dots: Sequence[tuple[float, float]] = ()
    levels: Sequence[tuple[float, float, float]] = ()  # start, stop, height
    cuts: Sequence[float] = ()
    bands: Sequence[tuple[float, float]] = ()  # where values follow both branches
    ends: tuple[str, str] = ("", "")  # labels under the axis, at 0 and at `stop`
    stop: float = 1.0
    cut_texts: Sequence[str] = ()  # labels of the cuts, under the axis
    ticks: Sequence[tuple[float, str]] = ()  # heights of an axis on the left, and their labels
    name: str = ""  # of that axis
    hue: str = NUMERIC  # of the dots
    turned: bool = False  # whether the names of columns read upwards, as they are longer than their columns are wide

    @property
    def height(self) -> float:
        """Height, including the labels around the axes."""
        if self.turned:
            return self._above + self.room + 4.0 + max(text_width(bar.name, LETTERS) for bar in self.bars)
        below = any(self.ends) or any(bar.name for bar in self.bars)
        return self._above + self.room + (1.3 * LETTERS if below else 3.0)

    @property
    def _above(self) -> float:
        return ABOVE + (1.3 * LETTERS if self.name else 0.0)

    def marks(self, x: float, y: float, width: float) -> Iterator[Mark]:
        """Draw at a place."""
        ground = y + self._above + self.room
        if self.name:
            yield Text(x, y + 0.8 * LETTERS, shortened(self.name, width, LETTERS), LETTERS, "muted", anchor="start")
        y = ground - self.room - ABOVE
        yield from self._left_axis(x, ground)
        x, width = x + gutter(self.ticks), width - gutter(self.ticks)
        for start, stop in self.bands:
            yield Box(x + start * width, y, (stop - start) * width, ABOVE + self.room, "branch", 0.6)
        for bar in self.bars:
            yield from self._bar(bar, x, ground, width)
        if self.dots:
            yield Dots([(x + at * width, ground - up * self.room) for at, up in self.dots], DOT, self.hue, 0.7)
        for start, stop, up in self.levels:
            yield Path([(x + start * width, ground - up * self.room), (x + stop * width, ground - up * self.room)], LINE, "ink")
        yield Path([(x, ground), (x + width, ground)], 1.0, "line")
        for cut in self.cuts:
            end = ground + (1.0 if self.cut_texts else 3.0)
            yield Path([(x + cut * width, y), (x + cut * width, end)], 1.2, "ink", dashed=True)
        yield from self._below(x, ground + 1.1 * LETTERS, width)

    def _left_axis(self, x: float, ground: float) -> Iterator[Mark]:
        if not self.ticks:
            return
        x += gutter(self.ticks) - TICK
        yield Path([(x + TICK, ground - self.room), (x + TICK, ground)], 1.0, "line")
        for up, text in self.ticks:
            height = ground - up * self.room
            yield Path([(x + 1.0, height), (x + TICK, height)], 1.0, "line")
            yield Text(x, height + 0.35 * LETTERS, text, LETTERS, "muted", anchor="end")

    def _below(self, x: float, baseline: float, width: float) -> Iterator[Text]:
        """Write the cuts and the ends of the axis, without those that would touch another."""
        taken: list[tuple[float, float]] = []
        wanted = [(cut * width, text, "ink") for cut, text in zip(self.cuts, self.cut_texts, strict=False)]
        wanted += [(place, text, "muted") for place, text in zip((0.0, self.stop * width), self.ends, strict=True)]
        for place, text, colour in wanted:
            length = text_width(text, LETTERS)
            start = min(max(place - length / 2, 0.0), self.stop * width - length)
            if text and start >= 0 and all(start > stop + 4.0 or start + length < begin - 4.0 for begin, stop in taken):
                taken.append((start, start + length))
                yield Text(x + start, baseline, text, LETTERS, colour, anchor="start")

    def _bar(self, bar: Bar, x: float, ground: float, width: float) -> Iterator[Mark]:
        left, wide, up = x + bar.start * width, (bar.stop - bar.start) * width, 0.0
        for height, colour in bar.parts:
            if height > 0:
                yield Box(left, ground - (up + height) * self.room, max(wide - 0.6, 0.4), height * self.room, colour)
            up += height
        if self.turned:
            yield Text(left + wide / 2 + 0.27 * LETTERS, ground + 3.0, bar.name, LETTERS, "muted", anchor="end", turned=True)
            return
        name = shortened(bar.name, wide, LETTERS) if bar.name else ""
        if (name == bar.name or len(name) >= LEAST_NAME) and name and text_width(name, LETTERS) <= wide:
            yield Text(left + wide / 2, ground + 1.1 * LETTERS, name, LETTERS, "muted")


def gutter(ticks: Sequence[tuple[float, str]]) -> float:
    """Return the room that an axis on the left needs."""
    return max(text_width(text, LETTERS) for _, text in ticks) + TICK if ticks else 0.0


@dataclass(frozen=True)
class ValueAxis:
    """The axis of a continuous feature."""

    low: float
    high: float
    cuts: Sequence[float]
    ends: tuple[str, str]  # their labels
    by_one: bool  # whether values are whole numbers, and so few that each has a bar

    @property
    def span(self) -> float:
        return (self.high - self.low) or 1.0

    def place(self, value: float) -> float:
        """Return the place of a value, in [0, 1]."""
        return (value - self.low) / self.span

    def edges(self) -> list[float]:
        """Return the edges of bars."""
        if not self.by_one:
            return _edges([self.low, *self.cuts, self.high])
        edges: list[float] = np.arange(self.low, self.high + 0.5).tolist()
        return edges


class Charts:
    """Charts of the nodes of one tree.

    Parameters
    ----------
    tree : Tree
    words : Words
    samples : ChartSamples
    small : bool
        Whether to draw small charts.
    style : Style, optional
        Colours, and whether charts of a feature have the same axis.
    """

    def __init__(self, tree: Tree, words: Words, samples: ChartSamples, small: bool, style: Style = DEFAULT) -> None:
        self.tree = tree
        self.words = words
        self.samples = samples
        self.style = style
        self._ranges: dict[int, tuple[float, float]] = {}  # of features whose charts have the same axis
        self.small = small
        self.width, self.room = (90.0, 26.0) if small else (140.0, 44.0)
        self.n_classes = tree.n_values if tree.task == "classification" else 0
        known = samples.target if samples.target.size else np.zeros(1)
        self.least, self.largest = _range_of(known)
        if not self.n_classes:  # all means are in the range
            self.least, self.largest = min(self.least, float(tree.value.min())), max(self.largest, float(tree.value.max()))
        self.ticks = [] if self.n_classes else [(self._up(tick), _short(tick)) for tick in _ticks(self.least, self.largest)]
        self.name = words.targets[0]

    def __call__(self, node: int) -> Chart | None:
        """Return the chart of a node; None if it has nothing to show."""
        rows = self.samples.rows(node)
        if rows.size == 0:
            return None
        if self.tree.n_branches[node] == 0:
            return None if self.n_classes else self._targets(rows)
        feature = int(self.tree.feature[node])
        column = self.samples.table.column(feature)[rows]
        categorical = self.samples.table.schema.features[feature].kind != Kind.CONTINUOUS
        if self.tree.kind[node] == KNOWN:
            known = column > 0 if categorical else ~np.isnan(column)
            return self._by_category(np.where(known, 0, 1), ["known", "missing"], [0, 1], rows)
        if categorical:
            return self._categories(node, feature, column.astype(np.intp), rows)
        return self._values(node, np.asarray(column, np.float64), rows)

    # --- numbers

    def _cuts(self, node: int) -> list[float]:
        tree = self.tree
        if tree.kind[node] == THRESHOLD:
            return [float(tree.threshold[node])]
        cuts: list[float] = tree.cuts_of(node).tolist()
        return cuts

    def _values(self, node: int, values: npt.NDArray[np.float64], rows: npt.NDArray[np.intp]) -> Chart | None:
        known = ~np.isnan(values)
        target, values = self.samples.target[rows[known]], values[known]
        if values.size == 0:
            return None
        axis = self._axis(node, values)
        cut_texts = [self.words.threshold_text(int(self.tree.feature[node]), cut) for cut in axis.cuts]
        chart = self._dotted(axis, values, target) if not self.n_classes else self._bars(axis, values, target, rows[~known])
        bands = [(start * chart.stop, stop * chart.stop) for start, stop in self._band(node, axis.low, axis.span)]
        places = [axis.place(cut) * chart.stop for cut in axis.cuts]
        return replace(chart, cuts=places, bands=bands, ends=axis.ends, cut_texts=cut_texts)

    def _axis(self, node: int, values: npt.NDArray[np.float64]) -> ValueAxis:
        cuts = self._cuts(node)
        least, largest = float(values.min()), float(values.max())
        low, high = self._range(int(self.tree.feature[node]), values)
        if self.n_classes:  # the bars at the ends hold the outliers, which must be on their side of every cut
            low, high = least if low >= cuts[0] else low, largest if high <= cuts[-1] else high
        ends = f"{'≤ ' if least < low else ''}{_short(low)}", f"{'≥ ' if largest > high else ''}{_short(high)}"
        by_one = max(high, *cuts) - min(low, *cuts) < BARS and not ((values % 1).any() or (np.array(cuts) % 1 != 0.5).any())
        if by_one and self.n_classes:
            low, high = low - 0.5, high + 0.5
        return ValueAxis(min(low, *cuts), max(high, *cuts), cuts, ends, by_one)

    def _dotted(self, axis: ValueAxis, values: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> Chart:
        """Return dots of the samples, and the mean of each branch."""
        sides = np.searchsorted(axis.cuts, values, side="left")
        reach = [0.0, 1.0]
        if self.style.same_axes:  # the lines of the means end where the samples do
            reach = np.clip((np.array([values.min(), values.max()]) - axis.low) / axis.span, 0.0, 1.0).tolist()
        levels = [
            (max(start, reach[0]), min(stop, reach[1]), self._up(float(target[sides == side].mean())))
            for side, (start, stop) in enumerate(itertools.pairwise([0.0, *map(axis.place, axis.cuts), 1.0]))
            if (sides == side).any()
        ]
        dots = self._dots((values - axis.low) / axis.span, target)
        width = self.width + gutter(self.ticks)
        return Chart(width, self.room, dots=dots, levels=levels, ticks=self.ticks, name=self.name, hue=self.style.numeric)

    def _bars(
        self, axis: ValueAxis, values: npt.NDArray[np.float64], target: npt.NDArray[Any], lost: npt.NDArray[np.intp]
    ) -> Chart:
        """Return a histogram of the classes, with a bar for the samples whose value is missing."""
        whole = 0.9 if lost.size else 1.0  # share of the axis; the rest is for missing values
        edges = axis.edges()
        n_bars = len(edges) - 1
        # the edge belongs to the bar before it, as a threshold to its branch: x <= edge
        bar_of = np.clip(np.searchsorted(edges, values, side="left") - 1, 0, n_bars - 1)
        counts = self._counts(bar_of, target, n_bars)
        heights = counts / np.maximum(np.diff(edges), axis.span * 1e-9)[:, None]
        tallest = float(heights.sum(axis=1).max())
        heights /= tallest
        at = (np.array(edges) - axis.low) / axis.span * whole
        bars = [Bar(float(at[i]), float(at[i + 1]), self._parts(heights[i])) for i in range(n_bars)]
        if lost.size:
            missing = self._counts(np.zeros(lost.size, np.intp), self.samples.target[lost], 1)[0]
            bars.append(Bar(0.94, 1.0, self._parts(missing / max(float(counts.sum(axis=1).max()), float(lost.size))), "?"))
        ticks = self._count_ticks(tallest * (1.0 if axis.by_one else axis.span / BARS))
        return Chart(self.width + gutter(ticks), self.room, bars, stop=whole, ticks=ticks, name="samples" if ticks else "")

    def _range(self, feature: int, values: npt.NDArray[np.float64]) -> tuple[float, float]:
        """Return the range of the axis of a node, or the one of the feature in all nodes."""
        if not self.style.same_axes:
            return _range_of(values, FAR if self.n_classes else SQUEEZED)
        if feature not in self._ranges:
            column = np.asarray(self.samples.table.column(feature), np.float64)
            self._ranges[feature] = _range_of(column[~np.isnan(column)], FAR if self.n_classes else SQUEEZED)
        return self._ranges[feature]

    def _count_ticks(self, tallest: float) -> list[tuple[float, str]]:
        """Return the ticks of an axis that counts samples, 0 excluded; none unless all charts have axes."""
        if not self.style.same_axes:
            return []
        return [(tick / tallest, _short(tick)) for tick in _ticks(0.0, tallest) if tick > 0]

    def _band(self, node: int, low: float, span: float) -> Iterator[tuple[float, float]]:
        """Yield the interval of a soft threshold, clipped to the samples."""
        lower, upper = self.tree.lower, self.tree.upper
        if lower is not None and upper is not None and lower[node] < upper[node]:
            ends = [min(max((float(end[node]) - low) / span, 0.0), 1.0) for end in (lower, upper)]
            if ends[0] < ends[1]:
                yield ends[0], ends[1]

    def _targets(self, rows: npt.NDArray[np.intp]) -> Chart:
        """Return the samples of a leaf as dots along their targets, on the scale of all targets, one above the other."""
        target = self.samples.target[rows]
        shown = _evenly(np.sort(target))
        up = 0.08 + 0.84 * ((np.arange(shown.size) * TURN) % 1)
        dots = list(zip(self._up_all(shown).tolist(), up.tolist(), strict=True))
        ends = (_short(self.least), _short(self.largest))
        mean = self._up(float(target.mean()))
        return Chart(0.5 * self.width, 0.5 * self.room, dots=dots, cuts=[mean], ends=ends, hue=self.style.numeric)

    def _up(self, target: float) -> float:
        return float(self._up_all(np.array([target]))[0])

    def _up_all(self, target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        return np.clip((target - self.least) / ((self.largest - self.least) or 1.0), 0.0, 1.0).astype(np.float64)

    def _dots(self, across: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> list[tuple[float, float]]:
        """Return the positions of the samples, or of an evenly spaced part of many, independent of the order of rows."""
        order = _evenly(np.lexsort((target, across)))
        return list(zip(np.clip(across[order], 0.0, 1.0).tolist(), self._up_all(target[order]).tolist(), strict=True))

    # --- categories

    def _categories(self, node: int, feature: int, codes: npt.NDArray[np.intp], rows: npt.NDArray[np.intp]) -> Chart:
        """Draw bars in the order of the branches, one for all rare categories of a branch; missing values are last."""
        names = self.words.categories[feature]
        branch_of = self._branches(node, len(names))
        counts = np.bincount(codes, minlength=len(names) + 1)
        present = np.flatnonzero(counts[1:]) + 1
        heavy = set(present[np.argsort(-counts[present], kind="stable")][:MOST_CATEGORIES].tolist())
        column_of = np.zeros(len(names) + 1, np.intp)
        labels: list[str] = []
        branches: list[int] = []
        for branch in sorted({int(branch_of[code]) for code in present}, key=lambda b: (b < 0, b)):
            own = [int(code) for code in present if branch_of[code] == branch]
            for code in own:
                if code in heavy:
                    column_of[code] = len(labels)
                    labels.append(names[code - 1])
                    branches.append(branch)
            rest = [code for code in own if code not in heavy]
            if rest:
                column_of[rest] = len(labels)
                labels.append("…")
                branches.append(branch)
        if counts[0]:
            column_of[0] = len(labels)
            labels.append("?")
            branches.append(-2)
        return self._by_category(column_of[codes], labels, branches, rows)

    def _branches(self, node: int, n_categories: int) -> npt.NDArray[np.intp]:
        """Return the branch of each code, -1 for none."""
        tree, kind = self.tree, int(self.tree.kind[node])
        codes = np.arange(n_categories + 1)
        if kind == CATEGORY:
            return codes - 1
        if kind in (THRESHOLD, INTERVALS):
            return np.searchsorted(self._cuts(node), codes, side="left").astype(np.intp)
        assert kind == NOMINAL
        branches = np.full(n_categories + 1, -1, np.intp)
        known, branch_of = tree.categories_of(node)
        branches[known] = branch_of
        return branches

    def _by_category(
        self, column_of: npt.NDArray[np.intp], names: Sequence[str], branches: Sequence[int], rows: npt.NDArray[np.intp]
    ) -> Chart:
        target = self.samples.target[rows]
        n = len(names)
        n_gaps = sum(a != b for a, b in itertools.pairwise(branches))
        gap = GAP / self.width
        wide = (1 - n_gaps * gap) / n
        turned = (
            not self.small
            and wide * self.width >= LETTERS
            and any(text_width(name, LETTERS) > wide * self.width for name in names)
        )
        if turned:
            brief = distinct(names, MOST_TURNED, LETTERS)
            names = [brief[name] for name in names]
        starts = [0.0]
        for a, b in itertools.pairwise(branches):
            starts.append(starts[-1] + wide + (gap if a != b else 0.0))
        if self.n_classes:
            counts = self._counts(column_of, target, n)
            tallest = float(counts.sum(axis=1).max())
            parts = [self._parts(row) for row in counts / tallest]
            columns = [Bar(s, s + wide, p, name) for s, p, name in zip(starts, parts, names, strict=True)]
            ticks = self._count_ticks(tallest)
            return Chart(
                self.width + gutter(ticks), self.room, columns, ticks=ticks, name="samples" if ticks else "", turned=turned
            )
        bars = [Bar(s, s + wide, [], name) for s, name in zip(starts, names, strict=True)]
        # side by side within the column, in an order that depends only on the samples
        order = np.lexsort((target, column_of))
        beside = 0.5 + 0.7 * ((np.arange(order.size) * TURN) % 1 - 0.5)
        across = np.empty(order.size)
        across[order] = np.array(starts)[column_of[order]] + wide * beside
        levels = [
            (s, s + wide, self._up(float(target[column_of == i].mean()))) for i, s in enumerate(starts) if (column_of == i).any()
        ]
        return Chart(
            self.width + gutter(self.ticks), self.room, bars, self._dots(across, target), levels, ticks=self.ticks,
            name=self.name, hue=self.style.numeric, turned=turned,
        )  # fmt: skip

    # --- classes

    def _counts(self, bar_of: npt.NDArray[np.intp], target: npt.NDArray[Any], n_bars: int) -> npt.NDArray[np.float64]:
        """Return the number of samples of each class in each bar, of shape (n_bars, n_classes)."""
        counts = np.bincount(bar_of * self.n_classes + target, minlength=n_bars * self.n_classes)
        return counts.reshape(n_bars, self.n_classes).astype(np.float64)

    def _parts(self, heights: npt.NDArray[np.float64]) -> list[tuple[float, str]]:
        return [(float(heights[k]), self.style.colour(int(k))) for k in np.flatnonzero(heights)]


def _edges(marks: Sequence[float]) -> list[float]:
    """Return edges of bars of about equal width, including all marks."""
    width = ((marks[-1] - marks[0]) or 1.0) / BARS
    edges = [marks[0]]
    for start, stop in itertools.pairwise(marks):
        if stop > start:
            edges.extend(np.linspace(start, stop, max(1, round((stop - start) / width)) + 1)[1:].tolist())
    return edges if len(edges) > 1 else [marks[0] - 0.5, marks[0] + 0.5]


def _range_of(numbers: npt.NDArray[Any], factor: float = SQUEEZED) -> tuple[float, float]:
    """Return the range of an axis: that of all numbers, without the outermost percent of a side whose outliers would fill it."""
    least, largest = float(numbers.min()), float(numbers.max())
    low, high = (float(end) for end in np.quantile(numbers, [0.01, 0.99], method="nearest"))
    far = (factor - 1) / 2 * (high - low)
    if low >= high:
        return least, largest
    return low if low - least > far else least, high if largest - high > far else largest


def _evenly(sorted_samples: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the samples to draw as dots: all of them, or an evenly spaced part of many."""
    if sorted_samples.size <= MOST_DOTS:
        return sorted_samples
    return sorted_samples[np.linspace(0, sorted_samples.size - 1, MOST_DOTS).astype(np.intp)]


def _ticks(low: float, high: float) -> list[float]:
    """Return two to four round numbers in an interval."""
    if not low < high:
        return []
    size = 10.0 ** math.floor(math.log10(high - low))
    step = next(step for step in (2 * size, size, size / 2, size / 5) if math.floor(high / step) - math.ceil(low / step) >= 1)
    return [min(max(at * step, low), high) for at in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _short(number: float) -> str:
    text = f"{number:.3g}"
    if 1000 <= abs(number) < 1e7:
        return f"{number:,.0f}"
    return fixed(number, 2) if "e" in text and abs(number) < 1e7 else text
