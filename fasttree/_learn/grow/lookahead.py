"""Growth that looks ahead: columns as views for the engine, nodes level by level, and the found tests as arrays of a tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind
from fasttree._data.sums import sums_of_sizes
from fasttree._engine.lookahead import ENTROPY, ERRORS, GINI, SIGNED, Lookahead
from fasttree._engine.records import EngineLimits, Sums
from fasttree._learn.constraints import FREE, Constraints
from fasttree._learn.grow.encode import AnyTable, ordered_codes
from fasttree._learn.grow.fixed_point import fixed_point_targets
from fasttree._learn.limits import Limits
from fasttree._learn.progress import share
from fasttree._learn.recipe import Recipe
from fasttree._model.arrays import KNOWN, LEAF, NOMINAL, STOP, THRESHOLD
from fasttree._model.packed.nodes import class_impurity

_KINDS = {"gini": GINI, "entropy": ENTROPY, "misclassification": ERRORS, "squared_error": SIGNED}
_BITS = 51  # sums of weights and targets stay below 2**52, so that doubles hold them exactly
_MOST_LOGS = 2**20

Ints = npt.NDArray[np.int32]
Rows = npt.NDArray[np.intp]


def check_lookahead(recipe: Recipe, limits: Limits, constraints: Constraints, *, several: bool) -> None:
    """Check that growth can look ahead by a recipe and limits.

    Raises
    ------
    ValueError
        If it cannot; it names the choice and a remedy.
    """
    what, remedy = "", ""
    if several:
        what, remedy = "several targets", "fit a tree to each target"
    elif recipe.impurity not in _KINDS:
        words = "'gini', 'entropy' or 'misclassification', and of numbers 'squared_error'"
        what, remedy = f"criterion={recipe.impurity!r}", f"use the impurity {words}"
    elif recipe.rank != "gain" or recipe.release8:
        what, remedy = "splits that do not compete by gain", "use rank='gain' and release8=False"
    elif recipe.nominal != "subset" or recipe.ordinal != "threshold" or recipe.continuous == "intervals":
        what = f"nominal={recipe.nominal!r}, ordinal={recipe.ordinal!r} and continuous={recipe.continuous!r}"
        remedy = "use nominal='subset', ordinal='threshold' and continuous='threshold'"
    elif recipe.missing not in ("direction", "error"):
        what, remedy = f"missing={recipe.missing!r}", "use missing='direction' or 'error'"
    elif constraints != FREE:
        what, remedy = "monotonic_cst or interaction_cst", "leave the constraints out"
    elif limits.max_bins is not None:
        what, remedy = f"max_bins={limits.max_bins}", "leave it out"
    elif limits.max_features is not None:
        what, remedy = "max_features", "leave it out"
    if what:
        raise ValueError(f"lookahead=2 and {what} exclude each other: {remedy}, or use lookahead=1")


class _Views(NamedTuple):
    """Orders of codes, as the engine takes them: missing values come last, and first in a second view."""

    codes: Ints
    nominal: npt.NDArray[np.uint8]
    is_second: npt.NDArray[np.uint8]
    missing: Ints
    feature: Ints


def _views_of(table: AnyTable) -> _Views:
    codes: list[Ints] = []
    described: list[tuple[bool, bool, int, int]] = []
    for j, feature in enumerate(table.schema.features):
        first = ordered_codes(table.column(j), feature.kind)
        known = first > 0
        nominal, last = feature.kind is Kind.NOMINAL, int(first.max(initial=0)) + 1
        if known.all():
            codes.append(first)
            described.append((nominal, False, -1, j))
        else:
            codes += [np.where(known, first, last).astype(np.int32), first]
            described += [(nominal, False, last, j), (nominal, True, 0, j)]
    columns = np.array(described, np.int32).reshape(len(codes), 4).T
    return _Views(
        np.array(codes, np.int32).reshape(len(codes), table.n_samples),
        columns[0].astype(np.uint8),
        columns[1].astype(np.uint8),
        np.ascontiguousarray(columns[2]),
        np.ascontiguousarray(columns[3]),
    )


class _Rows(NamedTuple):
    """What the rows are, as the engine takes them: whole multiples of units."""

    kind: int
    n_classes: int
    label: Ints
    amount: Floats
    weight: Floats
    weighted: bool
    logs: Floats
    unit: float  # of the weights
    amount_unit: float  # of weights times targets


def _whole(values: npt.NDArray[np.int64], least: int) -> tuple[Floats, float]:
    """Return whole numbers as doubles whose sum is exact, and their unit."""
    total = float(np.abs(values.astype(np.float64)).sum())
    shift = max(int(np.frexp(total)[1]) - _BITS, 0)
    found = np.rint(values / 2.0**shift)
    return np.where(values > 0, np.maximum(found, least), found), 2.0**shift


class _Open(NamedTuple):
    """A node that may be split: its number, depth and rows, and the views of its rows as the engine takes them."""

    number: int
    depth: int
    row: Ints
    order: Ints
    rank: Ints
    slot: Ints
    n_ranks: Ints


class _Test(NamedTuple):
    """The test of a node."""

    parent: int
    n_samples: int
    feature: int = -1
    kind: int = LEAF
    row_low: int = 0
    row_high: int = 0
    missing: int = STOP
    first_child: int = -1
    codes: npt.NDArray[Any] = np.empty(0, np.intp)
    branches: npt.NDArray[Any] = np.empty(0, np.intp)


class _Growth:
    """Growth on the rows of a table, level by level."""

    def __init__(
        self, table: AnyTable, target: npt.NDArray[Any], rows: _Rows, limits: EngineLimits, impurity_unit: float
    ) -> None:
        self.views, self.rows, self.target, self.limits = _views_of(table), rows, target, limits
        self.impurity_unit = impurity_unit
        self.engine = Lookahead(self.views, rows, limits)
        self.tests: list[_Test] = [_Test(-1, len(target))]
        self.report, self.n_settled = share(), 0
        self.leaf = np.zeros(len(target), np.intp)

    def run(self) -> None:
        no_difference = self.impurity_unit == 0  # squares of tiny targets are 0
        waiting = [] if no_difference or self._is_leaf(np.arange(len(self.target)), 0) else [self._root()]
        while waiting:
            below: list[_Open] = []
            waiting.reverse()
            while waiting:
                below += self._split(waiting.pop())
            waiting = below

    def _root(self) -> _Open:
        codes = self.views.codes
        order, rank = np.empty(codes.shape, np.int32), np.empty(codes.shape, np.int32)
        slot, n_ranks = np.full(len(codes), -1, np.int32), np.zeros(len(codes), np.int32)
        n_slots = 0
        for view, column in enumerate(codes):
            ranks = (np.cumsum(np.bincount(column) > 0) - 1).astype(np.int32)
            if ranks[-1] > 0:
                rank[n_slots] = ranks[column]
                order[n_slots] = np.argsort(rank[n_slots].astype(np.uint16 if ranks[-1] < 2**16 else np.int32), kind="stable")
                slot[view], n_ranks[view] = n_slots, ranks[-1] + 1
                n_slots += 1
        return _Open(0, 0, np.arange(codes.shape[1], dtype=np.int32), order, rank, slot, n_ranks)

    def _is_leaf(self, rows: npt.NDArray[Any], depth: int) -> bool:
        limits = self.limits
        if depth == limits.max_depth or len(rows) < max(limits.min_samples_split, 2 * limits.min_samples_leaf):
            return True
        return bool((self.target[rows] == self.target[rows[0]]).all())

    def _split(self, node: _Open) -> list[_Open]:
        """Split a node if a test gains enough; return the branches that may be split."""
        limits, weight = self.limits, float(self.rows.weight[node.row].sum())
        levels = 1 if node.depth + 1 == limits.max_depth else 2
        found = self.engine.search(node, levels, limits.min_impurity * weight / self.impurity_unit)
        if found is None or not self._is_enough(*found[-2:], weight):
            self._settle(len(node.row))
            return []
        view, cut, end, has_missing, *_ = found
        test, first = self._test(node, view, cut, end, has_missing)
        self.tests[node.number] = test
        children = []
        for taken in (np.flatnonzero(first), np.flatnonzero(~first)):
            rows = node.row[taken]
            number = len(self.tests)
            self.leaf[rows] = number
            self.tests.append(_Test(node.number, len(rows)))
            if self._is_leaf(rows, node.depth + 1):
                self._settle(len(rows))
            else:
                children.append(self._child(node, number, taken))
        return children

    def _is_enough(self, gain: float, tie: float, weight: float) -> bool:
        """Whether a gain is above the limits for a node of this weight."""
        if (gain - tie) * self.impurity_unit <= self.limits.min_gain * weight:
            return False
        decrease = max(gain * self.impurity_unit, 0.0) * self.rows.unit / self.limits.n_cases
        return bool(decrease + np.finfo(float).eps >= self.limits.min_impurity_decrease)

    def _settle(self, n_samples: int) -> None:
        """Report that samples have reached a leaf."""
        self.n_settled += n_samples
        if self.report is not None:
            self.report(self.n_settled / len(self.target))

    def _child(self, node: _Open, number: int, taken: Rows) -> _Open:
        local = np.full(len(node.row), -1, np.int32)
        local[taken] = np.arange(len(taken))
        shape = (int(np.count_nonzero(node.slot >= 0)), len(taken))
        order, rank = np.empty(shape, np.int32), np.empty(shape, np.int32)
        slot, n_ranks = np.empty_like(node.slot), np.empty_like(node.slot)
        child = _Open(number, node.depth + 1, node.row[taken], order, rank, slot, n_ranks)
        self.engine.take(node, local, child)
        return child

    def _test(self, node: _Open, view: int, cut: int, end: int, has_missing: bool) -> tuple[_Test, npt.NDArray[np.bool_]]:
        """Return the test of a cut, and which rows of the node are in the first branch."""
        order, rank = node.order[node.slot[view]], node.rank[node.slot[view]]
        first = rank <= cut
        is_second = bool(self.views.is_second[view])
        missing = int(not is_second) if has_missing else int(2 * end <= len(order))
        test = _Test(
            parent=self.tests[node.number].parent,
            n_samples=len(order),
            feature=int(self.views.feature[view]),
            kind=THRESHOLD,
            row_low=int(node.row[order[end - 1]]),
            row_high=int(node.row[order[end]]),
            missing=missing,
            first_child=len(self.tests),
        )
        if has_missing and not is_second and cut == node.n_ranks[view] - 2:
            return test._replace(kind=KNOWN), first
        if self.views.nominal[view]:
            codes = self.views.codes[view][node.row]
            known = codes != self.views.missing[view]
            present, at = np.unique(codes[known], return_index=True)
            branches = (~first[known][at]).astype(np.intp)
            if branches[0]:  # the lowest code is in the first branch
                branches, first, missing = 1 - branches, ~first, 1 - missing
            return test._replace(kind=NOMINAL, missing=missing, codes=present, branches=branches), first
        return test, first


def grow_ahead(
    table: AnyTable,
    target: npt.NDArray[Any],
    weight: npt.NDArray[np.int64] | None,
    unit: float,
    recipe: Recipe,
    limits: EngineLimits,
    n_classes: int,
) -> dict[str, npt.NDArray[Any]]:
    """Grow a tree whose tests look one level ahead.

    Parameters
    ----------
    table, target, recipe, n_classes
        As for `growth.grow`.
    weight : int64 array or None
        Weights as multiples of `unit`.
    limits : EngineLimits
        In the weights that growth adds up.

    Returns
    -------
    dict
        The arrays of the engine's growth.
    """
    n_samples = len(target)
    whole = np.ones(n_samples, np.int64) if weight is None else weight
    weights, scale = _whole(whole, 1)
    label = target.astype(np.int32) if n_classes else np.zeros(n_samples, np.int32)
    amount, amount_unit = weights, unit * scale
    sums = None
    if not n_classes:
        sums = fixed_point_targets(np.ascontiguousarray(target, np.float64).reshape(-1, 1), weight, unit, recipe.impurity, False)
        amount, amount_scale = _whole(sums.sums[:, 0], 0)
        amount_unit = amount_scale * float(sums.unit[0])
    logs = np.zeros(0)
    if recipe.impurity == "entropy":
        logs = np.arange(1 + int(min(weights.sum(), _MOST_LOGS)), dtype=np.float64)
        logs[1:] *= np.log2(logs[1:])
    rows = _Rows(_KINDS[recipe.impurity], n_classes, label, amount, weights, weight is not None, logs, unit * scale, amount_unit)
    in_units = limits._replace(min_weight_leaf=limits.min_weight_leaf / rows.unit * (1 - 1e-9))
    growth = _Growth(table, target, rows, in_units, (amount_unit / rows.unit) ** 2)
    growth.run()
    return _arrays(growth, target, whole, unit, recipe.impurity, n_classes, sums)


def _arrays(
    growth: _Growth,
    target: npt.NDArray[Any],
    weight: npt.NDArray[np.int64],
    unit: float,
    impurity: str,
    n_classes: int,
    sums: Sums | None,
) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a tree, with the figures of its nodes."""
    tests, leaf, n_nodes = growth.tests, growth.leaf, len(growth.tests)
    parent = np.array([test.parent for test in tests], np.int32)
    levels = _levels(parent)
    weights = _summed(weight, leaf, levels, parent)
    total = weights * unit
    if n_classes:
        by_class = np.column_stack([_summed(np.where(target == k, weight, 0), leaf, levels, parent) for k in range(n_classes)])
        value = np.asarray(by_class * unit, np.float64)
        of_node = class_impurity(value, impurity)
    else:
        assert sums is not None
        mean = _summed(sums.sums[:, 0], leaf, levels, parent) * float(sums.unit[0]) / total + float(sums.centre[0])
        value = np.clip(mean, target.min(), target.max()).reshape(-1, 1)
        of_node = _deviations(
            np.asarray(target, np.float64), np.asarray(weight * unit, np.float64), value[:, 0], leaf, levels, parent
        )
        of_node /= total
    below = np.bincount(parent[1:], (total * of_node)[1:], minlength=n_nodes)
    split = np.array([test.first_child >= 0 for test in tests])
    sizes = [len(test.codes) for test in tests]
    return {
        "parent": parent,
        "first_child": np.array([test.first_child for test in tests], np.int32),
        "n_branches": np.where(split, 2, 0).astype(np.int32),
        "feature": np.array([test.feature for test in tests], np.int32),
        "missing": np.array([test.missing for test in tests], np.int32),
        "row_low": np.array([test.row_low for test in tests], np.uint32),
        "row_high": np.array([test.row_high for test in tests], np.uint32),
        "kind": np.array([test.kind for test in tests], np.uint8),
        "n_samples": np.array([test.n_samples for test in tests], np.int64),
        "weight": total,
        "impurity": of_node,
        "gain": np.where(split, np.maximum((total * of_node - below) / total, 0.0), 0.0),
        "value": value,
        "categories_node": np.repeat(np.arange(n_nodes), sizes),
        "categories_code": np.concatenate([test.codes for test in tests]).astype(np.uint32),
        "categories_branch": np.concatenate([test.branches for test in tests]).astype(np.int32),
    }


def _levels(parent: Ints) -> list[npt.NDArray[np.intp]]:
    """Return the nodes of each level."""
    levels = [np.zeros(1, np.intp)]
    while levels[-1][-1] + 1 < len(parent):
        start = levels[-1][-1] + 1
        levels.append(np.arange(start, np.searchsorted(parent, levels[-1][-1], side="right")))
    return levels


def _summed(values: npt.NDArray[np.int64], leaf: Rows, levels: list[npt.NDArray[np.intp]], parent: Ints) -> npt.NDArray[np.int64]:
    """Return the sums of the rows at each node."""
    sums = np.zeros(len(parent), np.int64)
    np.add.at(sums, leaf, values)
    for level in levels[:0:-1]:
        np.add.at(sums, parent[level], sums[level])
    return sums


def _deviations(
    target: Floats, weight: Floats, mean: Floats, leaf: Rows, levels: list[npt.NDArray[np.intp]], parent: Ints
) -> Floats:
    """Return the weighted squared deviations from the mean of each node, rounded once."""
    sums = np.zeros(len(parent))
    at = leaf
    for level in levels[::-1]:
        inside = at >= level[0]
        found = sums_of_sizes(weight * (target - mean[at]) ** 2 * inside, np.where(inside, at - level[0], 0), len(level))
        sums[level] = found
        at = np.where(inside, parent[at], at)
    return sums
