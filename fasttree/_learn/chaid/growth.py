"""Growth of a tree by CHAID: the predictor of the smallest adjusted p-value splits a node into its merged groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.sums import sum_of_sizes
from fasttree._engine.merging import add_cells, add_features, divide_rows
from fasttree._learn.chaid.columns import CategoryColumn, by_rows, columns_of
from fasttree._learn.chaid.merging import Choices, Merged
from fasttree._learn.chaid.reports import UNTESTED, MergedFeature, Report, tests_of
from fasttree._learn.chaid.testing import Sizes, Tester
from fasttree._learn.grow.grower import Grower
from fasttree._learn.limits import Limits
from fasttree._learn.progress import share
from fasttree._learn.samples import Samples
from fasttree._model.arrays import INTERVALS, KNOWN, LARGEST_CUT, LEAF, NOMINAL, STOP, THRESHOLD, offsets_of, parents
from fasttree._model.paths import Paths
from fasttree._model.tested import SPLIT, TestedTree
from fasttree._model.tree import Tree

Rows = npt.NDArray[np.intp]
Reachable = dict[int, npt.NDArray[np.bool_]]  # of some features, which categories can arrive at a node, and missing values
_ROWS_OF_CELL = 0.25  # of a node, per cell of its children's tables, from which these are kept until the children are tested
_EXACT = 52  # bits of a sum that doubles hold exactly, less one


@dataclass
class ChaidGrower(Grower):
    """Growth by CHAID, in the place of a recipe's growth."""

    choices: Choices = field(default_factory=Choices)
    reachable: Reachable = field(default_factory=dict)  # at the root

    def below(self, tree: Tree, node: int, /) -> Self:
        """Return the growth of a branch, which has no branches for categories that cannot arrive."""
        schema, reachable = self.samples.table.schema, Reachable()
        joined = Paths(tree, schema).joined
        while (condition := joined[node]) is not None:
            if (categories := schema.features[condition.index].categories) and condition.index not in reachable:
                arriving = [category in condition.categories for category in categories]
                reachable[condition.index] = np.array([*arriving, True])
            node = int(tree.parent[node])
        return replace(self, reachable=reachable)

    def __call__(self, part: Samples | None = None, rows: Rows | None = None) -> Tree:
        """Grow a tree on all samples, on a part of them by other weights, or on some rows."""
        samples = self.samples if part is None else part
        return grow(samples, self.choices, self.limits, self.recipe.impurity, self.n_classes, rows, self.reachable)


class _Split(NamedTuple):
    """How a node is divided: `branch_of` is the branch of each category, -1 if it does not occur."""

    feature: int
    branch_of: npt.NDArray[np.intp]
    n_branches: int
    has_empty: bool  # the last branch is that of categories that do not occur


@dataclass(slots=True)  # there are many of them, which the collector of garbage visits
class _Node:
    """A node in growth.

    For classes, `row` holds the weights, as the parent's table has them, and `cells` the tables of all features, if they were
    counted with those of its siblings.
    """

    rows: Rows | None
    parent: int
    depth: int
    reachable: Reachable
    row: Floats | None = None
    cells: Floats | None = None


@dataclass
class _Target:
    """The target of some samples; weights are whole multiples of `unit`, so that no sum depends on the order of rows."""

    values: npt.NDArray[Any]
    n_classes: int
    weight: Floats | None
    unit: float = 1.0
    rows: Rows | None = None  # those of `values`; None: all

    def of(self, rows: Rows | None) -> _Target:
        """Return the target of some rows."""
        if rows is None:
            return self
        return _Target(self.values[rows], self.n_classes, None if self.weight is None else self.weight[rows], self.unit, rows)

    def table(self, codes: npt.NDArray[Any], n: int) -> Floats:
        """Return the table of categories, whose codes are those of all rows: weights of classes; or as `_of_numbers` does."""
        if self.n_classes:
            return self._added(codes, self.rows, self.weight, np.zeros((n, self.n_classes)), self.values) * self.unit
        return self._of_numbers(codes, self.rows, n)

    def total(self) -> Floats:
        """Return the row of all samples together."""
        if self.n_classes:
            return np.asarray(np.bincount(self.values, self.weight, minlength=self.n_classes) * self.unit, np.float64)
        row: Floats = self._of_numbers(np.zeros(len(self.values), np.uint8), None, 1)[0]
        return row

    def _of_numbers(self, codes: npt.NDArray[Any], rows: Rows | None, n: int) -> Floats:
        """Return weight, mean and sum of squared deviations of each category."""
        mean, first, second = self._moments
        weight = self._added(codes, rows, self.weight, np.zeros((n, 1)))[:, 0] * self.unit
        sums, squares = (self._added(codes, rows, each.multiples, np.zeros((n, 1)))[:, 0] * each.unit for each in (first, second))
        shift: Floats = np.divide(sums, weight, out=np.zeros_like(sums), where=weight > 0)
        return np.asarray(np.stack([weight, mean + shift, np.maximum(squares - sums * shift, 0.0)], axis=1), np.float64)

    @staticmethod
    def _added(
        codes: npt.NDArray[Any], rows: Rows | None, weight: Floats | None, out: Floats, label: Rows | None = None
    ) -> Floats:
        add_cells(codes, rows, label, weight, out)
        return out

    @cached_property
    def _moments(self) -> tuple[float, _Multiples, _Multiples]:
        """The mean, and the deviations from it and their squares, times the weights."""
        weight = None if self.weight is None else self.weight * self.unit
        products = self.values if weight is None else self.values * weight
        total = float(len(products)) if weight is None else sum_of_sizes(weight)
        mean = (sum_of_sizes(products[products > 0]) - sum_of_sizes(products[products < 0])) / total
        deviation = self.values - mean
        first = deviation if weight is None else deviation * weight
        return mean, _multiples(first), _multiples(first * deviation)


class _Multiples(NamedTuple):
    """Numbers as whole multiples of a unit, whose sums are exact."""

    multiples: Floats
    unit: float


def _multiples(values: Floats) -> _Multiples:
    unit = _unit(sum_of_sizes(values))
    return _Multiples(np.rint(values / unit), unit)


def grow(
    samples: Samples,
    choices: Choices,
    limits: Limits,
    impurity: str,
    n_classes: int,
    rows: Rows | None = None,
    reachable: Reachable | None = None,
) -> TestedTree:
    """Grow a tree.

    Parameters
    ----------
    samples : Samples
        Samples of weight 0 are left out, and those without any known value.
    choices : Choices
    limits : Limits
        `max_depth`, `min_samples_split`, `min_samples_leaf` and `min_weight_leaf` are used.
    impurity : {"gini", "entropy", "squared_error"}
        Impurity of the nodes, for views and importances alone.
    n_classes : int
        0 for numbers.
    rows : array of int or None, default None
        Samples to grow on; None: all.
    reachable : dict or None, default None
        Which categories of some features can arrive at the root; None: all of all features.
    """
    columns = columns_of(samples.table, samples.weight, choices.n_intervals)
    chosen = _chosen(columns, samples, rows)
    growth = _Growth(columns, _target_of(samples, n_classes), choices, limits, impurity)
    return growth.tree(chosen, reachable or {})


def _chosen(columns: Sequence[CategoryColumn], samples: Samples, rows: Rows | None) -> Rows | None:
    """Return the rows that count: of positive weight, with a known value; None for all."""
    known = np.zeros(samples.table.n_samples, np.bool_)
    for column in columns:
        known |= column.codes < column.n_known
        if known.all():
            break
    weighted = np.ones_like(known) if samples.weight is None else samples.weight > 0
    counts = known & weighted
    if rows is not None:
        counts &= np.bincount(rows, minlength=len(counts)) > 0
        weighted &= np.bincount(rows, minlength=len(counts)) > 0
    if not counts.any():  # a leaf alone
        counts = weighted
    return None if counts.all() else np.flatnonzero(counts)


def _target_of(samples: Samples, n_classes: int) -> _Target:
    weight, unit = samples.weight, 1.0
    values = samples.target.astype(np.intp) if n_classes else samples.target
    if weight is not None and not (weight == np.rint(weight)).all():
        unit = _unit(sum_of_sizes(weight))
        weight = np.where(weight > 0, np.maximum(np.rint(weight / unit), 1.0), 0.0)
    return _Target(values, n_classes, weight, unit)


def _unit(total: float) -> float:
    """Return the power of two of which `total` holds less than 2**52: sums of multiples are exact."""
    return float(np.ldexp(1.0, int(np.frexp(total)[1]) - _EXACT)) if total > 0 else 1.0


class _Growth:
    """One growth; the lists have an entry per node, breadth first."""

    def __init__(
        self, columns: Sequence[CategoryColumn], target: _Target, choices: Choices, limits: Limits, impurity: str
    ) -> None:
        self.target, self.choices, self.limits = target, choices, limits
        self.columns = columns
        if target.n_classes:
            self.codes = by_rows(columns)
        light = [column._replace(codes=np.empty(0, np.uint8)) for column in columns]
        self.tester = Tester(light, choices, limits, target.n_classes)
        self.starts, self.parts, self.room = self.tester.starts, self.tester.parts, self.tester.room()
        self.impurity_of = _IMPURITIES[impurity]
        self.nodes: list[_Node] = []
        self.splits: list[_Split | None] = []
        self.reports: list[Report] = []
        self.values: list[Floats] = []
        self.counts: list[int] = []
        self.weights: list[float] = []
        self.impurities: list[float] = []

    def tree(self, rows: Rows | None, reachable: Reachable) -> TestedTree:
        """Grow all nodes."""
        self.nodes = [_Node(rows, -1, 0, reachable)]
        first_child: list[int] = []
        progress, settled = share(), 0
        for place, node in enumerate(self.nodes):  # the list grows
            split, report = self._split(node, self._describe(place, node))
            self.splits.append(split)
            self.reports.append(report)
            first_child.append(len(self.nodes) if split else -1)
            if split is not None:
                self.nodes += self._children(node, place, split)
            elif progress is not None:
                settled += self.counts[place]
                progress(settled / self.counts[0])
            node.rows = node.cells = None
        return self._made(np.array(first_child, np.int32))

    def _n_rows(self, node: _Node) -> int:
        return len(self.target.values) if node.rows is None else len(node.rows)

    def _describe(self, place: int, node: _Node) -> Floats:
        """Keep the figures of a node; return its row of a table."""
        if not (n := self._n_rows(node)):  # an empty branch predicts as its parent does
            self.values.append(self.values[node.parent])
            self.counts.append(0)
            self.weights.append(0.0)
            self.impurities.append(0.0)
            return np.empty(0)
        row = self.target.of(node.rows).total() if node.row is None else node.row
        self.counts.append(n)
        self.weights.append(float(row.sum() if self.target.n_classes else row[0]))
        self.values.append(row if self.target.n_classes else row[1:2])
        self.impurities.append(self.impurity_of(row))
        return row

    def _split(self, node: _Node, row: Floats) -> tuple[_Split | None, Report]:
        """Return the split of a node, or None, and its tests."""
        limits, n = self.limits, self._n_rows(node)
        if not n or _is_pure(row, self.target.n_classes):
            return None, Report("pure")
        if limits.max_depth is not None and node.depth >= limits.max_depth:
            return None, Report("max_depth")
        if n < limits.min_samples_split:
            return None, Report("min_samples_split")
        if self.target.n_classes and node.cells is None:
            node.cells = self._counted(node.rows)
        if node.cells is not None and self.target.weight is None and n < 2 * limits.min_samples_leaf:
            return None, Report(UNTESTED, cells=node.cells.astype(np.min_scalar_type(n)))
        cells, tables = self._tables(node)
        report = self.tester.report(cells, tables, self.room, self._sizes(node))
        if report.reason != SPLIT:
            return None, report
        assert isinstance(report.best, MergedFeature)  # of a split
        assert report.final is not None
        return self._as_split(node, report.best, report.final), report

    def _sizes(self, node: _Node) -> Sizes | None:
        """Return a function of the numbers of samples, where these are not the weights."""
        if self.target.weight is None or self.limits.min_samples_leaf <= 1:
            return None
        return lambda best: _counts(self.columns[best.feature], node.rows)[best.present]

    def _tables(self, node: _Node) -> tuple[Floats | None, list[Floats]]:
        """Return the table of each feature; for classes also the array of which these are parts."""
        if node.cells is None:
            target = self.target.of(node.rows)
            return None, [target.table(column.codes, column.n_known + 1) for column in self.columns]
        return node.cells, [node.cells[start:stop] for start, stop in self.parts]

    def _counted(self, rows: Rows | None) -> Floats:
        target = self.target
        cells = np.zeros((self.starts[-1], target.n_classes))
        add_features(self.codes, self.starts, rows, target.values, target.weight, cells)
        if target.unit != 1.0:
            cells *= target.unit
        return cells

    def _count_children(self, node: _Node, children: Sequence[_Node]) -> None:
        """Count the tables of all children but the largest, which has what is left of the node's."""
        limits, sizes = self.limits, [0 if child.rows is None else len(child.rows) for child in children]
        deepest = limits.max_depth is not None and node.depth + 1 >= limits.max_depth
        if node.cells is None or deepest or sum(sizes) < len(children) * node.cells.size * _ROWS_OF_CELL:
            return
        largest = max(range(len(children)), key=sizes.__getitem__)
        if sizes[largest] < limits.min_samples_split:
            return
        left = node.cells.copy()
        for i, child in enumerate(children):
            if i != largest:
                child.cells = self._counted(child.rows)
                left -= child.cells
        children[largest].cells = left

    def _as_split(self, node: _Node, best: MergedFeature, final: Merged) -> _Split:
        """Return the branches: those of ordered groups in their order, an empty one for categories that do not occur last."""
        column = best.column
        branch_of = np.full(column.n_known + 1, -1, np.intp)
        for branch, group in enumerate(sorted(final.groups, key=min)):
            branch_of[best.present[list(group)]] = branch
        n_branches = len(final.groups)
        unseen = (branch_of[:-1] < 0) & self._reachable(node, best.feature)[:-1]
        has_empty = column.bounds is None and final.missing >= 0 and bool(unseen.any())
        if has_empty:  # else they stop at the node, as a missing value does
            branch_of[:-1][unseen] = n_branches
        return _Split(best.feature, branch_of, n_branches + has_empty, has_empty)

    def _reachable(self, node: _Node, feature: int) -> npt.NDArray[np.bool_]:
        known = node.reachable.get(feature)
        return np.ones(self.columns[feature].n_known + 1, np.bool_) if known is None else known

    def _children(self, node: _Node, place: int, split: _Split) -> list[_Node]:
        rows, ends = np.empty(self._n_rows(node), np.intp), np.zeros(split.n_branches, np.intp)
        divide_rows(self.columns[split.feature].codes, node.rows, split.branch_of, ends, rows)
        parts = [rows[start:stop] for start, stop in pairwise([0, *ends.tolist()])]
        of_branches: list[Floats] | list[None] = [None] * split.n_branches
        if node.cells is not None:
            of_categories = node.cells[slice(*self.parts[split.feature])]
            of_branches = [of_categories[split.branch_of == branch].sum(axis=0) for branch in range(split.n_branches)]
        before = self._reachable(node, split.feature)
        children = [
            _Node(part, place, node.depth + 1, node.reachable | {split.feature: before & (split.branch_of == branch)}, row)
            for branch, (part, row) in enumerate(zip(parts, of_branches, strict=True))
        ]
        self._count_children(node, children)
        return children

    def _made(self, first_child: npt.NDArray[np.int32]) -> TestedTree:
        """Return the nodes as a tree."""
        n = len(self.nodes)
        n_branches = np.array([split.n_branches if split else 0 for split in self.splits], np.int32)
        weight = np.array(self.weights)
        impurity = np.array(self.impurities)
        value = np.array(self.values)
        parent = parents(np.flatnonzero(n_branches), n_branches[n_branches > 0])
        below = np.bincount(parent[1:], (weight * impurity)[1:], minlength=n)
        gain = np.where(n_branches > 0, impurity - below / np.where(weight > 0, weight, 1.0), 0.0)
        tests = [self._test_of(i) for i in range(n)]
        cuts = [test.cuts for test in tests]
        has_cuts = any(map(len, cuts))
        return TestedTree(
            tests=tests_of(self.reports, self.tester.columns, self.choices, self.tester.untested),
            task="classification" if self.target.n_classes else "regression",
            n_features=len(self.columns),
            parent=parent,
            first_child=first_child,
            n_branches=n_branches,
            feature=np.array([split.feature if split else -1 for split in self.splits], np.int32),
            kind=np.array([test.kind for test in tests], np.uint8),
            threshold=np.array([test.threshold for test in tests]),
            missing=np.array([test.missing for test in tests], np.int32),
            categories_start=offsets_of(np.array([len(test.codes) for test in tests])),
            categories_code=np.concatenate([test.codes for test in tests]).astype(np.uint32),
            categories_branch=np.concatenate([test.branches for test in tests]).astype(np.int32),
            n_samples=np.array(self.counts, np.int64),
            weight=weight,
            value=value + 0.0,
            impurity=impurity,
            gain=gain,
            cut_start=offsets_of(np.array([len(each) for each in cuts])) if has_cuts else None,
            cut=np.concatenate(cuts) if has_cuts else None,
        )

    def _test_of(self, place: int) -> _TreeTest:
        """Return the test of a node as the tree has it."""
        split = self.splits[place]
        if split is None:
            return _TreeTest(LEAF)
        column = self.columns[split.feature]
        known, of_missing = split.branch_of[:-1], int(split.branch_of[-1])
        missing = of_missing if of_missing >= 0 else STOP
        present = np.flatnonzero(known >= 0)
        if column.kind == "nominal" or split.has_empty:
            return _TreeTest(NOMINAL, missing, codes=present + 1, branches=known[present])
        n_known = len(np.unique(known[present]))
        if n_known == 1:
            return _TreeTest(KNOWN, missing)
        if column.bounds is None:
            unseen = (known < 0) & self._reachable(self.nodes[place], split.feature)[:-1]
            if unseen.any() or (n_known > 2 and n_known < split.n_branches):
                return _TreeTest(NOMINAL, missing, codes=present + 1, branches=known[present])
        ends = present[np.flatnonzero(np.diff(known[present]))]  # the last categories of all branches but the last
        cuts = (ends + 1).astype(np.float64) if column.bounds is None else column.bounds[ends]
        if n_known == 2:
            return _TreeTest(THRESHOLD, missing, threshold=float(cuts[0]))
        own = [LARGEST_CUT] if n_known < split.n_branches else []
        return _TreeTest(INTERVALS, missing, cuts=np.concatenate([cuts, own]))


class _TreeTest(NamedTuple):
    """A test as `Tree` has it."""

    kind: int
    missing: int = STOP
    threshold: float = math.nan
    codes: npt.NDArray[Any] = np.empty(0, np.intp)
    branches: npt.NDArray[Any] = np.empty(0, np.intp)
    cuts: Floats = np.empty(0)


def _counts(column: CategoryColumn, rows: Rows | None) -> npt.NDArray[Any]:
    return np.bincount(column.codes if rows is None else column.codes[rows], minlength=column.n_known + 1)


def _is_pure(row: Floats, n_classes: int) -> bool:
    return bool(np.count_nonzero(row > 0) < 2 if n_classes else row[2] <= 0)


def _gini(row: Floats) -> float:
    shares = row / row.sum()
    return max(float(1 - (shares * shares).sum()), 0.0)


def _entropy(row: Floats) -> float:
    shares = row[row > 0] / row.sum()
    return max(float(-(shares * np.log2(shares)).sum()), 0.0)


def _variance(row: Floats) -> float:
    return float(row[2] / row[0])


_IMPURITIES = {"gini": _gini, "entropy": _entropy, "squared_error": _variance}
