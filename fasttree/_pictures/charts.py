"""Small charts inside the nodes of a drawn tree: how the samples of a node lie along the feature that it tests.

Classification: histograms, or bars of categories, stacked by class.  Regression: samples as dots, with the mean of each branch;
at a leaf the histogram of its targets.  The test shows as a line at each threshold, or as a gap between groups of categories, in
the manner of T. Parr and P. Grover's dtreeviz.  This file knows no estimators.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._table import Kind, Table
from .._tree import CATEGORY, INTERVALS, KNOWN, NOMINAL, THRESHOLD, Tree
from .._words import Words, fixed
from .colours import NUMERIC, class_colour
from .lettering import shortened, text_width
from .scene import Box, Dots, Mark, Path, Text

__all__ = ["Chart", "Charts", "Samples"]

BARS = 22  # of a histogram
MOST_CATEGORIES = 12  # with a bar of their own, the heaviest of them
MOST_DOTS = 150
ABOVE = 3.0  # room over the bars
DOT, LINE = 1.4, 1.6
LETTERS = 8.0  # size of what stands under the axis
NARROW = 16.0  # pixels of a column that has no room for its category's name
GAP = 7.0  # between the bars of two branches
TURN = 0.6180339887  # golden section: dots side by side that never fall in a row


class Samples:
    """Samples that are to be seen in a tree.

    Parameters
    ----------
    table : Table
        The samples' features, encoded as the tree's.
    target : array, shape (n_samples,)
        Class indices, or numbers.
    path : scipy.sparse matrix, shape (n_samples, node_count)
        Not zero where a sample passes a node.
    """

    def __init__(self, table: Table, target: npt.NDArray[Any], path: Any) -> None:
        self.table = table
        self.target = target
        by_node = path.tocsc()
        self._start, self._rows = by_node.indptr, by_node.indices

    def rows(self, node: int) -> npt.NDArray[np.intp]:
        """Samples that pass a node."""
        rows: npt.NDArray[np.intp] = self._rows[self._start[node] : self._start[node + 1]].astype(np.intp)
        return rows


@dataclass(frozen=True)
class Bar:
    """A column of a chart: where it begins and ends, in [0, 1], and its parts from the ground up."""

    start: float
    stop: float
    parts: Sequence[tuple[float, str]]  # height in [0, 1], colour
    name: str = ""


@dataclass(frozen=True)
class Chart:
    """Bars, dots and lines over an axis; places are in [0, 1], from the left and from the ground."""

    width: float
    room: float  # height of the bars
    bars: Sequence[Bar] = ()
    dots: Sequence[tuple[float, float]] = ()
    levels: Sequence[tuple[float, float, float]] = ()  # start, stop, height
    cuts: Sequence[float] = ()
    bands: Sequence[tuple[float, float]] = ()  # where values go both ways
    ends: tuple[str, str] = ("", "")  # written under the axis, from 0 to `stop`
    stop: float = 1.0

    @property
    def height(self) -> float:
        """Height, with what stands under the axis."""
        below = any(self.ends) or any(bar.name for bar in self.bars)
        return ABOVE + self.room + (1.3 * LETTERS if below else 3.0)

    def marks(self, x: float, y: float, width: float) -> Iterator[Mark]:
        """Draw at a place."""
        ground = y + ABOVE + self.room
        for start, stop in self.bands:
            yield Box(x + start * width, y, (stop - start) * width, ABOVE + self.room, "branch", 0.6)
        for bar in self.bars:
            yield from self._bar(bar, x, ground, width)
        if self.dots:
            yield Dots([(x + at * width, ground - up * self.room) for at, up in self.dots], DOT, NUMERIC, 0.5)
        for start, stop, up in self.levels:
            yield Path([(x + start * width, ground - up * self.room), (x + stop * width, ground - up * self.room)], LINE, "ink")
        yield Path([(x, ground), (x + width, ground)], 1.0, "line")
        for cut in self.cuts:
            yield Path([(x + cut * width, y), (x + cut * width, ground + 3.0)], 1.2, "ink", dashed=True)
        for text, place, anchor in zip(self.ends, (x, x + self.stop * width), ("start", "end"), strict=True):
            if text:
                yield Text(place, ground + 1.1 * LETTERS, text, LETTERS, "muted", anchor=anchor)

    def _bar(self, bar: Bar, x: float, ground: float, width: float) -> Iterator[Mark]:
        left, wide, up = x + bar.start * width, (bar.stop - bar.start) * width, 0.0
        for height, colour in bar.parts:
            if height > 0:
                yield Box(left, ground - (up + height) * self.room, max(wide - 0.6, 0.4), height * self.room, colour)
            up += height
        name = shortened(bar.name, wide, LETTERS) if bar.name else ""
        if name and text_width(name, LETTERS) <= wide:
            yield Text(left + wide / 2, ground + 1.1 * LETTERS, name, LETTERS, "muted")


class Charts:
    """Charts of the nodes of one tree.

    Parameters
    ----------
    tree : Tree
    words : Words
    samples : Samples
    small : bool
        Whether there is little room.
    """

    def __init__(self, tree: Tree, words: Words, samples: Samples, small: bool) -> None:
        self.tree = tree
        self.words = words
        self.samples = samples
        self.width, self.room = (90.0, 26.0) if small else (140.0, 44.0)
        self.n_classes = tree.n_outputs_or_classes if tree.task == "classification" else 0
        known = samples.target if samples.target.size else np.zeros(1)
        self.least, self.largest = float(known.min()), float(known.max())

    def __call__(self, node: int) -> Chart | None:
        """Chart of a node; None where there is nothing to see."""
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
        low, high = float(values.min()), float(values.max())
        cuts = self._cuts(node)
        low, high = min(low, *cuts), max(high, *cuts)
        span = (high - low) or 1.0
        n_missing = int(np.count_nonzero(~known))
        whole = 0.9 if n_missing and self.n_classes else 1.0  # of the axis; the rest is for missing values
        ends = (_short(low), _short(high))
        places = [(cut - low) / span * whole for cut in cuts]
        bands = [(start * whole, stop * whole) for start, stop in self._band(node, low, span)]
        if not self.n_classes:
            dots = self._dots((values - low) / span, target)
            sides = np.searchsorted(cuts, values, side="left")
            levels = [
                (start, stop, self._up(float(target[sides == side].mean())))
                for side, (start, stop) in enumerate(itertools.pairwise([0.0, *places, 1.0]))
                if (sides == side).any()
            ]
            return Chart(self.width, self.room, dots=dots, levels=levels, cuts=places, bands=bands, ends=ends)
        edges = _edges([low, *cuts, high])
        n_bars = len(edges) - 1
        # a bar ends at its edge, as a branch at its threshold: x <= edge
        bar_of = np.clip(np.searchsorted(edges, values, side="left") - 1, 0, n_bars - 1)
        counts = self._counts(bar_of, target, n_bars)
        heights = counts / np.maximum(np.diff(edges), span * 1e-9)[:, None]
        heights /= heights.sum(axis=1).max()
        at = (np.array(edges) - low) / span * whole
        bars = [Bar(float(at[i]), float(at[i + 1]), self._parts(heights[i])) for i in range(n_bars)]
        if n_missing:
            lost = self._counts(np.zeros(n_missing, np.intp), self.samples.target[rows[~known]], 1)[0]
            tallest = max(float(counts.sum(axis=1).max()), float(lost.sum()))
            bars.append(Bar(0.94, 1.0, self._parts(lost / tallest), "?"))
        return Chart(self.width, self.room, bars=bars, cuts=places, bands=bands, ends=ends, stop=whole)

    def _band(self, node: int, low: float, span: float) -> Iterator[tuple[float, float]]:
        """The interval of a soft threshold, as far as it lies within the samples."""
        lower, upper = self.tree.lower, self.tree.upper
        if lower is not None and upper is not None and lower[node] < upper[node]:
            ends = [min(max((float(end[node]) - low) / span, 0.0), 1.0) for end in (lower, upper)]
            if ends[0] < ends[1]:
                yield ends[0], ends[1]

    def _targets(self, rows: npt.NDArray[np.intp]) -> Chart:
        """Histogram of the targets of a leaf, on the scale of all targets."""
        target = self.samples.target[rows]
        counts, edges = np.histogram(self._up_all(target), bins=BARS, range=(0.0, 1.0))
        tallest = counts.max()
        bars = [Bar(float(edges[i]), float(edges[i + 1]), [(float(counts[i] / tallest), NUMERIC)]) for i in range(BARS)]
        ends = (_short(self.least), _short(self.largest))
        return Chart(0.5 * self.width, 0.5 * self.room, bars=bars, cuts=[self._up(float(target.mean()))], ends=ends)

    def _up(self, target: float) -> float:
        return float(self._up_all(np.array([target]))[0])

    def _up_all(self, target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        return np.asarray((target - self.least) / ((self.largest - self.least) or 1.0), np.float64)

    def _dots(self, across: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> list[tuple[float, float]]:
        """Places of the samples; of many, some that lie evenly among them, whatever the order of the rows."""
        order = np.lexsort((target, across))
        if order.size > MOST_DOTS:
            order = order[np.linspace(0, order.size - 1, MOST_DOTS).astype(np.intp)]
        return list(zip(across[order].tolist(), self._up_all(target[order]).tolist(), strict=True))

    # --- categories

    def _categories(self, node: int, feature: int, codes: npt.NDArray[np.intp], rows: npt.NDArray[np.intp]) -> Chart:
        """Bars in the order of the branches, the lightest categories of a branch together; at the end what is missing."""
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
        """Branch of each code; -1 where there is none."""
        tree, kind = self.tree, int(self.tree.kind[node])
        codes = np.arange(n_categories + 1)
        if kind == CATEGORY:
            return codes - 1
        if kind in (THRESHOLD, INTERVALS):
            return np.searchsorted(self._cuts(node), codes, side="left").astype(np.intp)
        assert kind == NOMINAL
        branches = np.full(n_categories + 1, -1, np.intp)
        known, branch_of = tree.table_of(node)
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
        if wide * self.width < NARROW:
            names = [name if name == "?" else "" for name in names]
        starts = [0.0]
        for a, b in itertools.pairwise(branches):
            starts.append(starts[-1] + wide + (gap if a != b else 0.0))
        if self.n_classes:
            counts = self._counts(column_of, target, n)
            heights = counts / counts.sum(axis=1).max()
            parts = [self._parts(row) for row in heights]
            return Chart(
                self.width, self.room, [Bar(s, s + wide, p, name) for s, p, name in zip(starts, parts, names, strict=True)]
            )
        bars = [Bar(s, s + wide, [], name) for s, name in zip(starts, names, strict=True)]
        # side by side within the column, in an order that depends on the samples alone
        order = np.lexsort((target, column_of))
        beside = 0.5 + 0.7 * ((np.arange(order.size) * TURN) % 1 - 0.5)
        across = np.empty(order.size)
        across[order] = np.array(starts)[column_of[order]] + wide * beside
        levels = [
            (s, s + wide, self._up(float(target[column_of == i].mean()))) for i, s in enumerate(starts) if (column_of == i).any()
        ]
        return Chart(self.width, self.room, bars, self._dots(across, target), levels)

    # --- classes

    def _counts(self, bar_of: npt.NDArray[np.intp], target: npt.NDArray[Any], n_bars: int) -> npt.NDArray[np.float64]:
        """Samples of each class in each bar; shape (n_bars, n_classes)."""
        counts = np.bincount(bar_of * self.n_classes + target, minlength=n_bars * self.n_classes)
        return counts.reshape(n_bars, self.n_classes).astype(np.float64)

    def _parts(self, heights: npt.NDArray[np.float64]) -> list[tuple[float, str]]:
        return [(float(heights[k]), class_colour(int(k))) for k in np.flatnonzero(heights)]


def _edges(marks: Sequence[float]) -> list[float]:
    """Edges of bars that are about equally wide, none of which lies on both sides of a mark."""
    width = ((marks[-1] - marks[0]) or 1.0) / BARS
    edges = [marks[0]]
    for start, stop in itertools.pairwise(marks):
        if stop > start:
            edges.extend(np.linspace(start, stop, max(1, round((stop - start) / width)) + 1)[1:].tolist())
    return edges if len(edges) > 1 else [marks[0] - 0.5, marks[0] + 0.5]


def _short(number: float) -> str:
    text = f"{number:.3g}"
    return fixed(number, 2) if "e" in text and abs(number) < 1e7 else text
