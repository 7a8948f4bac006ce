"""Data of the samples in the page: their counts along the feature that a node tests, and the competing splits of a node.

The page gets counts per bar, and in regression per cell of a grid of bars and rows, never the samples.  The heaviest nodes come
first, until all charts together hold `MOST_NUMBERS` numbers.  This file knows no estimators.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Kind
from fasttree._explain.page.linear.models import chart_term
from fasttree._explain.pictures.charts import SQUEEZED, ChartSamples
from fasttree._learn.grow.competing import CompetingSplit
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, NOMINAL, THRESHOLD
from fasttree._model.linear.model_tree import ModelTree
from fasttree._model.tree import Tree

__all__ = ["chart_data", "split_data"]

BARS = 24  # about so many in a histogram
ROWS = 16  # of the grid of a regression tree
MOST_CATEGORIES = 24  # with a column of their own, the most frequent
MOST_CUTS = 12  # at which bars meet
MOST_CHARTS = 1000
MOST_NUMBERS = 60_000
MOST_BYTES = 2**27  # of columns that are kept in memory
MISSING = 0  # as a column of a chart, and the code of a missing category

Counts = npt.NDArray[np.intp]


def chart_data(tree: Tree, samples: ChartSamples, target: int = 0) -> dict[str, Any] | None:
    """Return the charts of the heaviest nodes for a target, or None if no node has one.

    Parameters
    ----------
    tree : Tree
    samples : ChartSamples
        With the codes or numbers of this target.
    target : int, default 0
        Index of the target; those of a tree share the numbers that the page may hold.

    Returns
    -------
    dict or None
        `of`, the number of samples; `range` and `rows` of the targets in regression; `nodes`, a list of charts.  A chart has its
        `node`, and by column `count`, pairs of class and number of samples, or in regression `cell`, pairs of cell and number.
        Columns are bars between `edges`, or `below` and `above` the threshold in steps of `step`, or `codes` of categories with
        their `branch`.  `isCut` marks a first and a last bar that hold values beyond them.  If `lost`, missing values are in one
        more column.  In regression, `mean` has the mean of each branch or category.  The chart of a leaf with a model is `along`
        the feature of one term; `at` has pairs of each other column of the model and its mean.
    """
    if not samples.table.n_samples:
        return None
    charts = _Charts(tree, samples, target)
    nodes: list[dict[str, Any]] = []
    left = MOST_NUMBERS // tree.n_outputs
    for node in np.argsort(-tree.weight, kind="stable")[:MOST_CHARTS].tolist():
        chart = charts.of(node)
        if chart is None:
            continue
        left -= _size(chart)
        if left < 0:
            break
        nodes.append({"node": node, **chart})
    if not nodes:
        return None
    common: dict[str, Any] = {"of": samples.table.n_samples, "nodes": nodes}
    if not charts.n_classes:
        common |= {"rows": ROWS, "range": [figure(charts.least), figure(charts.largest)]}
    return common


def _size(chart: dict[str, Any]) -> int:
    return 8 + len(chart.get("cell", ())) + sum(len(pairs) + 1 for pairs in chart.get("count", ())) + len(chart.get("codes", ()))


class _Charts:
    """Charts of the nodes of one tree, for one target."""

    def __init__(self, tree: Tree, samples: ChartSamples, target: int) -> None:
        self.tree, self.samples = tree, samples
        self._kept: dict[int, npt.NDArray[Any]] = {}
        widths = [tree.n_values] if tree.outputs is None else tree.outputs
        self.n_classes = widths[target] if tree.task == "classification" else 0
        if not self.n_classes:
            means = tree.value[:, target]
            low, high = _range_of(samples.target)
            self.least, self.largest = min(low, float(means.min())), max(high, float(means.max()))

    def of(self, node: int) -> dict[str, Any] | None:
        rows = self.samples.rows(node)
        if not rows.size:
            return None
        tree, kind = self.tree, int(self.tree.kind[node])
        if not tree.n_branches[node]:
            return None if self.n_classes else self._leaf(node, rows)
        feature = int(tree.feature[node])
        column = self._column(feature)[rows]
        is_number = self.samples.table.schema.features[feature].kind is Kind.CONTINUOUS
        if kind == KNOWN:
            known = ~np.isnan(column) if is_number else column > 0
            return {"isKnown": 1, **self._columns(np.where(known, 0, 1), 2, rows)}
        if is_number:
            return self._values(self._cuts(node), column.astype(np.float64), rows)
        return self._categories(node, column.astype(np.intp), rows)

    def _leaf(self, node: int, rows: Counts) -> dict[str, Any]:
        """Return the targets in a leaf, along a feature of its model if it has one."""
        term = chart_term(self.tree.models, self.samples.table, node, rows) if isinstance(self.tree, ModelTree) else None
        if term is not None:
            feature, means = term
            chart = self._values([], self._column(feature)[rows].astype(np.float64), rows)
            if chart is not None:
                del chart["mean"]  # the line of the model is drawn
                pairs = [number for pair in means.items() for number in pair]
                return {"along": feature, "at": pairs, **chart}
        return {"cell": self._cells(np.zeros(rows.size, np.intp), rows)}

    def _column(self, feature: int) -> npt.NDArray[Any]:
        """Return a column of the table, which takes long to read; some are kept."""
        column = self._kept.get(feature)
        if column is None:
            column = self.samples.table.column(feature)
            if (len(self._kept) + 1) * column.nbytes <= MOST_BYTES:
                self._kept[feature] = column
        return column

    def _columns(self, column_of: Counts, n: int, rows: Counts) -> dict[str, Any]:
        """Return the counts in each column."""
        target = self.samples.target[rows]
        if not self.n_classes:
            means = [_mean(target[column_of == i]) for i in range(n)]
            return {"cell": self._cells(column_of, rows), "mean": means}
        counts = np.bincount(column_of * self.n_classes + target, minlength=n * self.n_classes).reshape(n, self.n_classes)
        return {"count": [pairs_of(row) for row in counts]}

    def _cells(self, column_of: Counts, rows: Counts) -> list[int]:
        """Return cells, counted up the columns from the first one, and the number of samples in each."""
        span = (self.largest - self.least) or 1.0
        up = ((self.samples.target[rows] - self.least) / span * ROWS).clip(0, ROWS - 1).astype(np.intp)
        return pairs_of(np.bincount(column_of * ROWS + up))

    # --- numbers

    def _cuts(self, node: int) -> list[float]:
        cuts = [float(self.tree.threshold[node])] if self.tree.kind[node] == THRESHOLD else self.tree.cuts_of(node).tolist()
        return [cut for cut in cuts if math.isfinite(cut)]

    def _values(self, cuts: list[float], values: npt.NDArray[np.float64], rows: Counts) -> dict[str, Any] | None:
        known = ~np.isnan(values)
        if not known.any():
            return None
        low, high = _range_of(values[known])
        low, high = min([low, *cuts]), max([high, *cuts])
        if not math.isfinite(high - low):
            return None
        axis: dict[str, Any]
        if len(cuts) == 1:
            below, above, step = _aligned(cuts[0], low, high, bool((values[known] == np.rint(values[known])).all()))
            n_bars, ends = below + above, (cuts[0] - below * step, cuts[0] + above * step)
            bar_of = np.ceil((values[known] - cuts[0]) / step) - 1 + below
            axis = {"below": below, "above": above, "step": step}
        else:
            edges = _edges([low, *(cuts if len(cuts) <= MOST_CUTS else ()), high])
            n_bars, ends = len(edges) - 1, (edges[0], edges[-1])
            bar_of = np.searchsorted(edges, values[known], side="left") - 1.0
            axis = {"edges": edges}
        is_cut = [int((values[known] < ends[0]).any()), int((values[known] > ends[1]).any())]
        column_of = np.full(values.size, n_bars, np.intp)
        column_of[known] = bar_of.clip(0, n_bars - 1)
        lost = int(np.count_nonzero(~known))
        drawn = self._columns(column_of, n_bars + (lost > 0), rows)
        if not self.n_classes:
            branch_of = np.searchsorted(cuts, values, side="left")
            target = self.samples.target[rows]
            drawn["mean"] = [_mean(target[known & (branch_of == branch)]) for branch in range(len(cuts) + 1)]
        return axis | drawn | ({"isCut": is_cut} if any(is_cut) else {}) | ({"lost": lost} if lost else {})

    # --- categories

    def _categories(self, node: int, codes: Counts, rows: Counts) -> dict[str, Any]:
        """Return a column per category in the order of the branches; rare ones of a branch share one, missing values are last."""
        n_codes = len(self.samples.table.schema.features[int(self.tree.feature[node])].categories or ()) + 1
        branch_of = self._branches(node, n_codes)
        counts = np.bincount(codes, minlength=n_codes)
        present = np.flatnonzero(counts[1:]) + 1
        heavy = set(present[np.argsort(-counts[present], kind="stable")][:MOST_CATEGORIES].tolist())
        columns: list[tuple[int, list[int]]] = []
        left: list[int] = []  # of branches without a heavy category
        for branch in sorted({int(branch_of[code]) for code in present}, key=lambda b: (b < 0, b)):
            own = [int(code) for code in present if branch_of[code] == branch]
            columns += [(branch, [code]) for code in own if code in heavy]
            rest = [code for code in own if code not in heavy]
            if len(rest) == len(own):
                left += rest
            elif rest:
                columns.append((branch, rest))
        if left:
            columns.append((-1 if len({int(branch_of[code]) for code in left}) > 1 else int(branch_of[left[0]]), left))
        if counts[0]:
            columns.append((-2, [MISSING]))
        column_of = np.zeros(n_codes, np.intp)
        for i, (_, together) in enumerate(columns):
            column_of[together] = i
        return {
            "codes": [together[0] if len(together) == 1 else together for _, together in columns],
            "branch": [branch for branch, _ in columns],
            **self._columns(column_of[codes], len(columns), rows),
        }

    def _branches(self, node: int, n_codes: int) -> Counts:
        """Return the branch of each code, -1 for none."""
        tree, kind, codes = self.tree, int(self.tree.kind[node]), np.arange(n_codes)
        if kind == CATEGORY:
            return codes - 1
        if kind in (THRESHOLD, INTERVALS):
            return np.searchsorted(self._cuts(node), codes, side="left").astype(np.intp)
        assert kind == NOMINAL
        branches = np.full(n_codes, -1, np.intp)
        known, branch_of = tree.categories_of(node)
        branches[known] = branch_of
        return branches


def _range_of(numbers: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the range of all numbers, or if outliers would fill most of it, of the middle 98 percent."""
    least, largest = float(numbers.min()), float(numbers.max())
    low, high = (float(end) for end in np.quantile(numbers, [0.01, 0.99], method="nearest"))
    return (low, high) if low < high and largest - least > SQUEEZED * (high - low) else (least, largest)


def _aligned(cut: float, low: float, high: float, is_whole: bool) -> tuple[int, int, float]:
    """Return the numbers of bars below and above a cut that cover a range, and their width; each holds as many whole numbers."""
    step = max((high - low) / BARS, abs(cut) * 1e-9) or 1.0
    if is_whole:
        step = max(math.ceil(step), 1)
    below, above = max(math.ceil((cut - low) / step - 1e-9), 1), max(math.ceil((high - cut) / step - 1e-9), 1)
    if is_whole and cut - below * step >= low:  # a bar lacks its left end
        below += 1
    return below, above, step


def _edges(marks: Sequence[float]) -> list[float]:
    """Return edges of bars of about equal width, among them all marks."""
    width = ((marks[-1] - marks[0]) or 1.0) / BARS
    edges = [marks[0]]
    for start, stop in itertools.pairwise(marks):
        if stop > start:
            edges.extend(np.linspace(start, stop, max(1, round((stop - start) / width)) + 1)[1:].tolist())
    return edges if len(edges) > 1 else [marks[0] - 0.5, marks[0] + 0.5]


def pairs_of(counts: npt.NDArray[np.intp]) -> list[int]:
    """Return the places of the counts that are not 0, each with its count."""
    present = np.flatnonzero(counts)
    return np.column_stack([present, counts[present]]).ravel().tolist()


def _mean(numbers: npt.NDArray[Any]) -> float | None:
    return figure(float(numbers.mean())) if numbers.size else None


def figure(number: float) -> float | int:
    """Return a number of six digits, as an integer if it is one."""
    rounded = float(f"{number:.6g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def split_data(tree: Tree, samples: ChartSamples, node: int, splits: Sequence[CompetingSplit]) -> dict[str, Any]:
    """Return the competing splits of a node.

    Returns
    -------
    dict
        `node` and `splits`.  Each split has `feature`, `gain`, whether it `isOwn`, the split of the tree, and `python`, feature
        and place as `split` takes them, or null if it takes no such place; `cuts` and their `texts`, or `codes` by branch;
        `sides`, the samples of each branch, and `lost`, those of no branch: pairs of class and number, or in regression number
        and mean.
    """
    rows = samples.rows(node)
    return {"node": node, "splits": [_split(tree, samples, node, rows, split) for split in splits]}


def _split(tree: Tree, samples: ChartSamples, node: int, rows: npt.NDArray[np.intp], split: CompetingSplit) -> dict[str, Any]:
    categories = samples.table.schema.features[split.feature].categories
    column = samples.table.column(split.feature)[rows]
    name = split.name if isinstance(split.name, str) else split.feature
    can_split = not isinstance(tree, ModelTree)
    found: dict[str, Any] = {"feature": split.feature, "gain": figure(split.gain), "isOwn": int(_is_own(tree, node, split))}
    if split.categories is not None:
        code_of = {category: code for code, category in enumerate(categories or (), start=1)}
        codes = [[code_of[category] for category in branch] for branch in split.categories]
        branch_of = np.full(len(code_of) + 1, -1, np.intp)
        for branch, own in enumerate(codes):
            branch_of[own] = branch
        sides, n_sides = branch_of[column.astype(np.intp)], len(codes)
        place = [[_plain(category) for category in branch] for branch in split.categories]
        found |= {"codes": codes, "python": f"{name!r}, {place!r}" if all(place) and can_split else None}
    else:
        cuts = [float(cut) for cut in (split.cuts if split.threshold is None else (split.threshold,)) or ()]
        numbers = column.astype(np.float64)
        if np.isfinite(cuts).all():
            sides = np.where(np.isnan(numbers), -1, np.searchsorted(cuts, numbers, side="left"))
            n_sides = len(cuts) + 1
            found |= {
                "cuts": cuts,
                "texts": [str(figure(cut)) for cut in cuts],
                "python": f"{name!r}, {cuts[0] if len(cuts) == 1 else cuts!r}" if can_split else None,
            }
        else:  # it separates missing values
            sides, n_sides = np.isnan(numbers).astype(np.intp), 2
            found |= {"cuts": [], "texts": [], "python": None}
    found["sides"] = [_side(tree, samples.target[rows[sides == side]]) for side in range(n_sides)]
    found["lost"] = _side(tree, samples.target[rows[sides < 0]])
    return found


def _is_own(tree: Tree, node: int, split: CompetingSplit) -> bool:
    if tree.feature[node] != split.feature:
        return False
    return tree.kind[node] != THRESHOLD or split.threshold is None or bool(tree.threshold[node] == split.threshold)


def _side(tree: Tree, target: npt.NDArray[Any]) -> list[Any]:
    """Return pairs of class and number of samples, or number and mean; empty without samples."""
    if tree.task == "classification":
        return pairs_of(np.bincount(target, minlength=tree.n_values))
    return [target.size, figure(float(target.mean()))] if target.size else []


def _plain(category: Any) -> Any:
    """Return a category as a type whose representation is Python code."""
    return category.item() if isinstance(category, np.generic) else category
