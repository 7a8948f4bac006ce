"""Growth of trees that no other tree of their depth beats: columns as views for the engine, and the found tests as a tree."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind
from fasttree._data.sums import sum_of_sizes
from fasttree._data.table import Table
from fasttree._engine.columns.locks import new_lock, started_threads
from fasttree._engine.optimal import GROUPS, SCORES, SIGNS, SQUARES, Optimal
from fasttree._learn.grow.decode import midpoints
from fasttree._learn.grow.encode import ordered_codes
from fasttree._learn.grow.grower import Grower
from fasttree._learn.progress import bounds, share
from fasttree._learn.samples import Samples
from fasttree._model.arrays import KNOWN, LEAF, NOMINAL, STOP, THRESHOLD, offsets_of, parents
from fasttree._model.tested import OPTIMAL, Proof, ProvenTree
from fasttree._model.tree import Tree

MOST_LANES = 1000  # classes, as the engine has room for
SMALLEST = 5e-324  # positive double
_BITS = 51  # sums of costs stay below 2**52, so that doubles hold them exactly
_DECIMALS = 6  # of costs that are kept exactly
_SECONDS_OF_REST = 1.0  # of a thread that waits for a batch, until it looks whether the search is over

Rows = npt.NDArray[np.intp]
FirstGroup = Callable[[int, Rows], npt.NDArray[np.int32]]  # codes of the first branch of a view's best groups, on some rows


@dataclass(frozen=True)
class SearchLimits:
    """What a search may cost, and what a leaf costs.

    Parameters
    ----------
    leaf_penalty, max_gap : float
        In the unit of wrong predictions.
    time_limit : float or None
        Seconds of a search.
    memory_limit : float
        Megabytes of the results that are kept.
    """

    leaf_penalty: float = 0.0
    max_gap: float = 0.0
    time_limit: float | None = None
    memory_limit: float = 256


@dataclass
class OptimalGrower(Grower):
    """Growth of the best tree, in the place of a recipe's growth."""

    search: SearchLimits = field(default_factory=SearchLimits)

    def __call__(self, part: Samples | None = None, rows: Rows | None = None) -> Tree:
        """Grow a tree on all samples, on a part of them by other weights, or on some rows."""
        samples = self.samples if part is None else part
        counts = samples.counts
        chosen = np.arange(samples.table.n_samples) if rows is None else np.asarray(rows)
        if counts is not None:
            chosen = chosen[counts[chosen] > 0]
        weight = np.ones(len(chosen)) if counts is None else counts[chosen]
        views = views_of(samples.table, chosen)
        target = samples.target[chosen].astype(np.intp if self.n_classes else np.float64)
        loss = None if self.costs is None else self.costs.loss
        found, group, proof = self._find(views, target, weight, loss)
        tree = _Tests(samples.table, views, chosen, group).tree(found, _Leaves(target, weight, self.n_classes, loss))
        if not self.n_classes or (loss is not None and _rounds(loss)):  # without the rounding of the search
            objective = math.fsum(tree.risk[tree.leaves()]) + self.search.leaf_penalty * tree.n_leaves
            bound = objective if proof.status == OPTIMAL else min(proof.lower_bound, objective)
            proof = proof._replace(objective=objective, lower_bound=bound)
        return ProvenTree.of(tree, proof._replace(n_leaves=tree.n_leaves))

    def _find(
        self, views: SearchViews, target: npt.NDArray[Any], weight: Floats, loss: Floats | None
    ) -> tuple[Any, FirstGroup, Proof]:
        """Search; return the tests, level by level, a function that divides categories into groups, and the proof."""
        search, limits = self.search, self.limits
        mass, mass_unit = _whole(weight, 2.0**_BITS)  # a comparison with a least weight does not depend on the order of rows
        if self.n_classes:
            problem = _problem(target, weight, self.n_classes, loss)._replace(weight=mass)
        else:
            problem = _squares(target, mass, mass_unit)
        penalty = search.leaf_penalty / problem.unit
        optimal = Optimal(
            views,
            problem,
            penalty=penalty,
            min_leaf=min(limits.min_samples_leaf, len(target) + 1),
            min_weight=limits.min_weight_leaf / mass_unit,
            tolerance=0.0 if self.n_classes and penalty.is_integer() else 1e-12 * float(problem.worth.sum()),
            memory=int(min(search.memory_limit, 2.0**40) * 2**20),
        )
        assert limits.max_depth is not None
        reports = _Reports(problem.unit)
        watch = _watch(search.time_limit, reports)
        value, low, tests, over = _run(optimal, limits.max_depth, watch, search.max_gap / problem.unit, self.n_jobs)
        if optimal.failure is not None and not isinstance(optimal.failure, KeyboardInterrupt):
            raise optimal.failure
        objective = value * problem.unit
        bound = max(min(low * problem.unit, objective), 0.0)
        ends = {"interrupted": optimal.failure is not None, "time_limit": over, "max_gap": optimal.is_near and bound < objective}
        status = next((end for end, is_so in ends.items() if is_so), OPTIMAL)
        bound = objective if status == OPTIMAL else bound
        reports.tell(value, bound / problem.unit)
        return tests, optimal.first_group, Proof(objective, bound, status, 0)


def _run(
    optimal: Optimal, max_depth: int, watch: Callable[[float, float], bool] | None, max_gap: float, n_jobs: int
) -> tuple[float, float, npt.NDArray[np.int32], bool]:
    """Search by `Optimal.run`, in several threads unless `n_jobs` is 1."""
    if n_jobs == 1:
        return optimal.run(max_depth, watch, None, max_gap)
    team = _Team(optimal, n_jobs)
    with team.goes_on, team:  # an interrupt may cut short how the team ends, but a lock is released in one step
        return optimal.run(max_depth, watch, team, max_gap)


class _Team:
    """Threads that search the lanes of one batch after the other; they start with the first batch, and end with the search.

    Parameters
    ----------
    optimal : Optimal
    n_threads : int
        Threads, among them the one that calls.

    Attributes
    ----------
    goes_on : Lock
        Held by the caller until the search is over.
    """

    def __init__(self, optimal: Optimal, n_threads: int) -> None:
        self._optimal, self._n_others = optimal, n_threads - 1
        self._threads: list[threading.Thread] = []
        self._batches, self._done = SimpleQueue[_Batch | None](), SimpleQueue[None]()
        self.goes_on = new_lock()

    def __enter__(self) -> _Team:
        return self

    def __exit__(self, _kind: object, failure: BaseException | None, _traceback: object) -> None:
        if failure is not None:
            self._optimal.stop(failure)
        self._unhurt(self._dismiss)
        for thread in self._threads:
            self._unhurt(thread.join)

    def _dismiss(self) -> None:
        for _thread in self._threads:
            self._batches.put(None)

    def __call__(self, search: Callable[[int], None], n_lanes: int) -> None:
        """Search all lanes; an interrupt ends the search."""
        if not self._threads:
            self._threads = started_threads(self._serve, min(self._n_others, n_lanes - 1))
        batch = _Batch(search, deque(range(n_lanes)), deque())
        for _thread in self._threads:
            self._batches.put(batch)
        self._take(batch)
        while len(batch.finished) < len(
            self._threads
        ):  # not so many waits: an interrupt may fall between a wait's end and the next
            try:
                self._done.get()
            except KeyboardInterrupt as interrupt:
                self._optimal.stop(interrupt)

    def _serve(self, number: int) -> None:
        while self.goes_on.locked():
            try:
                batch = self._batches.get(timeout=_SECONDS_OF_REST)
            except Empty:  # an interrupt of what starts or ends the threads loses them: they see by themselves that it is over
                continue
            if batch is None:
                return
            self._take(batch)
            batch.finished.append(number)
            self._done.put(None)

    def _take(self, batch: _Batch) -> None:
        try:
            while True:
                try:
                    lane = batch.lanes.popleft()
                except IndexError:
                    return
                batch.search(lane)
        except BaseException as failure:
            self._optimal.stop(failure)

    def _unhurt(self, step: Callable[[], object]) -> None:
        """Do a step, again after an interrupt, which ends the search: what is left is then short."""
        while True:
            try:
                step()
                return
            except KeyboardInterrupt as interrupt:
                self._optimal.stop(interrupt)


class _Batch(NamedTuple):
    """A function of a lane, the lanes that no thread has taken, and the threads besides the calling one that are done."""

    search: Callable[[int], None]
    lanes: deque[int]
    finished: deque[int]


class _Reports:
    """Progress of a search, from the thread that began it."""

    def __init__(self, unit: float) -> None:
        self._unit, self._thread, self._last = unit, threading.get_ident(), (math.nan, math.nan)
        self._share, self._bounds = share(), bounds()

    def __bool__(self) -> bool:
        return self._share is not None or self._bounds is not None

    def tell(self, best: float, low: float) -> None:
        """Report the cost of the best tree and a bound, if they are new, and their ratio."""
        if threading.get_ident() != self._thread or (best, low) == self._last:
            return
        self._last = best, low
        if self._bounds is not None:
            self._bounds(best * self._unit, low * self._unit)
        if self._share is not None:
            self._share(low / best if 0 < best < math.inf else 0.0)


def _watch(seconds: float | None, reports: _Reports) -> Callable[[float, float], bool] | None:
    """Return a function of the cost of the best tree and of a bound: it reports them, and says whether the time is over."""
    if seconds is None and not reports:
        return None
    end = math.inf if seconds is None else time.monotonic() + seconds

    def is_over(best: float, low: float) -> bool:
        reports.tell(best, low)
        return time.monotonic() >= end

    return is_over


class SearchViews(NamedTuple):
    """Orders of codes, as the engine takes them: `missing` is the code of missing values in the second view of a feature."""

    codes: npt.NDArray[np.int32]
    nominal: npt.NDArray[np.uint8]
    missing: npt.NDArray[np.int32]

    @property
    def features(self) -> npt.NDArray[np.intp]:
        """The feature of each view."""
        return np.cumsum(self.missing < 0) - 1


def views_of(table: Table, rows: Rows) -> SearchViews:
    """Return one view of each feature, and a second one of those with missing values, which have the code 0 in the first."""
    codes: list[npt.NDArray[Any]] = []
    nominal, missing = [], []
    for j, feature in enumerate(table.schema.features):
        first = ordered_codes(table.column(j)[rows], feature.kind)
        known = first > 0
        is_nominal = feature.kind is Kind.NOMINAL
        last = int(first.max(initial=0)) + 1
        codes.append(first)
        nominal.append(is_nominal)
        missing.append(-1)
        if not known.all():
            codes.append(first if is_nominal else np.where(known, first, last))
            nominal.append(is_nominal)
            missing.append(0 if is_nominal else last)
    stacked = np.array(codes, np.int32).reshape(len(codes), len(rows))
    return SearchViews(stacked, np.array(nominal, np.uint8), np.array(missing, np.int32))


class _Problem(NamedTuple):
    """What the rows cost, as the engine takes it, in multiples of `unit`."""

    kind: int
    lanes: int
    label: npt.NDArray[np.int32]
    amount: Floats
    weight: Floats
    worth: Floats
    score: Floats | None
    unit: float


def _problem(target: npt.NDArray[np.intp], weight: Floats, n_classes: int, loss: Floats | None) -> _Problem:
    if n_classes == 2:
        cost = weight if loss is None else weight * loss.max(axis=1)[target]
        amount, unit = _whole(cost, 2.0**_BITS)
        signed = np.where(target == 0, -amount, amount)
        return _Problem(SIGNS, 1, np.zeros(len(target), np.int32), signed, weight, amount / 2, None, unit)
    label = target.astype(np.int32)
    if loss is None or np.array_equal(loss, 1 - np.eye(n_classes)):
        amount, unit = _whole(weight, 2.0**_BITS)
        return _Problem(SCORES, n_classes, label, amount, weight, amount, None, unit)
    whole, cost_unit = _whole_costs(loss)
    amount, unit = _whole(weight, 2.0**_BITS / float(whole.max()))
    largest = whole.max(axis=1)
    score = np.ascontiguousarray(largest[:, None] - whole)
    return _Problem(SCORES, n_classes, label, amount, weight, amount * largest[target], score, unit * cost_unit)


def _squares(target: Floats, mass: Floats, unit: float) -> _Problem:
    """Return the problem of numbers: deviations from their mean, and multiples of a unit, whose sums no order of rows changes."""
    total = math.fsum(mass)
    deviation = target - math.fsum(target * (mass / total))
    amount, worth = (_multiples(values) for values in (mass * deviation, mass * deviation**2))
    return _Problem(SQUARES, 2, np.zeros(len(target), np.int32), amount, mass, worth, None, unit)


def _multiples(values: Floats) -> Floats:
    """Round values to multiples of a power of two, so that doubles hold their sums exactly."""
    total = sum_of_sizes(values)
    unit = max(float(np.ldexp(1.0, int(np.frexp(total)[1]) - _BITS)), SMALLEST) if total else 1.0
    rounded: Floats = np.rint(values / unit) * unit
    return rounded


def _whole(values: Floats, most: float) -> tuple[Floats, float]:
    """Return values as whole multiples of a unit, at least 1, and the unit: 1 for whole numbers, else a power of two."""
    total = sum_of_sizes(values)
    if total < most and np.array_equal(values, np.rint(values)):
        return values, 1.0
    unit = float(np.ldexp(1.0, int(np.frexp(total / most)[1])))
    return np.where(values > 0, np.maximum(np.rint(values / unit), 1.0), 0.0), unit


def _rounds(loss: Floats) -> bool:
    """Whether costs are rounded."""
    whole, unit = _whole_costs(loss)
    return len(loss) > 2 and not np.allclose(whole * unit, loss, rtol=1e-12, atol=0)


def _whole_costs(loss: Floats) -> tuple[Floats, float]:
    """Return costs as whole numbers, and their unit; with more than six decimals they are rounded to 2**-20 of the largest."""
    for decimals in range(_DECIMALS + 1):
        scaled = np.rint(loss * 10.0**decimals)
        if np.array_equal(scaled / 10.0**decimals, loss) and scaled.max() < 2**24:
            return scaled, 10.0**-decimals
    unit = float(loss.max()) * 2.0**-20
    return np.rint(loss / unit), unit


class _Node(NamedTuple):
    """A node of the tree: its place among the tests, level by level, and its rows."""

    place: int
    rows: Rows
    parent: int


@dataclass
class _Split:
    """A test as `Tree` has it."""

    feature: int = -1
    kind: int = LEAF
    threshold: float = math.nan
    missing: int = STOP
    codes: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0, np.intp))
    branches: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0, np.intp))


class _Tests:
    """Tests that a search found, and the rows of a table that they divide."""

    def __init__(self, table: Table, views: SearchViews, chosen: Rows, group: FirstGroup) -> None:
        self.table, self.views, self.chosen, self.group = table, views, chosen, group
        self.features = views.features

    def divide(self, view: int, code: int, rows: Rows) -> tuple[_Split, npt.NDArray[np.bool_]]:
        """Return a test, and which rows take its first branch."""
        feature = int(self.features[view])
        described = self.table.schema.features[feature]
        first = self._is_first(view, code, rows)
        cells = self.table.column(feature)[self.chosen[rows]]
        unknown = np.isnan(cells) if described.kind is Kind.CONTINUOUS else cells == 0
        if unknown.any():
            missing = 0 if first[unknown].all() else 1
            if (first != unknown).all() or (first == unknown).all():
                return _Split(feature, KNOWN, missing=1), ~unknown
        else:
            missing = int(2 * np.count_nonzero(first) < len(rows))
        known = ~unknown
        if described.kind is Kind.NOMINAL:
            present, where = np.unique(cells[known], return_index=True)
            branches = (~first[known][where]).astype(np.intp)
            return _Split(feature, NOMINAL, missing=missing, codes=present, branches=branches), first
        low, high = cells[known & first].max(), cells[known & ~first].min()
        threshold = float(midpoints(np.array([low], np.float64), np.array([high], np.float64))[0])
        return _Split(feature, THRESHOLD, threshold, missing), first

    def tree(self, tests: Any, leaves: _Leaves) -> Tree:
        """Return the tree with the figures of all nodes."""
        nodes = [_Node(0, np.arange(len(leaves.target)), -1)]
        splits: list[_Split] = []
        first_child = []
        for number, node in enumerate(nodes):  # the list grows
            view = tests[node.place][0] if node.place < len(tests) else -1
            first_child.append(len(nodes) if view >= 0 else -1)
            if view < 0:
                splits.append(_Split())
                continue
            code = int(tests[node.place][1])
            split, first = self.divide(int(view), code, node.rows)
            # a known test has the known values first, whichever side of the view they are
            swapped = split.kind == KNOWN and bool(self._is_first(int(view), code, node.rows)[~first].any())
            splits.append(split)
            for branch, rows in enumerate((node.rows[first], node.rows[~first])):
                nodes.append(_Node(2 * node.place + 1 + (branch ^ swapped), rows, number))
        return _made(nodes, splits, np.array(first_child, np.int32), leaves, self.table.n_features)

    def _is_first(self, view: int, code: int, rows: Rows) -> npt.NDArray[np.bool_]:
        """Return which rows are in the first branch of the search's test."""
        codes = self.views.codes[view][rows]
        if code == GROUPS:
            return np.isin(codes, self.group(view, rows))
        if not self.views.nominal[view]:
            return np.asarray(codes <= code)
        return np.asarray((codes == code) | (codes == 0 if self.views.missing[view] == 0 else False))


class _Leaves(NamedTuple):
    """What the samples of a leaf say."""

    target: npt.NDArray[Any]
    weight: Floats
    n_classes: int  # 0 for numbers
    loss: Floats | None

    def figures(self, rows: Rows) -> tuple[Floats, float, float]:
        """Return the weights of the classes or the mean, the weight, and the cost of a leaf, all in any order of rows."""
        target, weight = self.target[rows], self.weight[rows]
        if self.n_classes:
            value: Floats = np.bincount(target, weight, self.n_classes).astype(np.float64)
            cost = float((value.sum() - value if self.loss is None else value @ self.loss).min())
            return value, float(value.sum()), cost
        total = math.fsum(weight)
        mean = math.fsum(target * (weight / total))
        return np.array([mean]), total, math.fsum(weight * (target - mean) ** 2)


def _made(nodes: list[_Node], splits: list[_Split], first_child: npt.NDArray[np.int32], leaves: _Leaves, n_features: int) -> Tree:
    value, weight, costs = map(np.array, zip(*(leaves.figures(node.rows) for node in nodes), strict=True))
    n_branches = np.where(first_child >= 0, 2, 0).astype(np.int32)
    parent = parents(np.flatnonzero(n_branches), n_branches[n_branches > 0])
    impurity = costs / weight
    below = np.bincount(parent[1:], costs[1:], minlength=len(nodes))
    return Tree(
        task="classification" if leaves.n_classes else "regression",
        n_features=n_features,
        parent=parent,
        first_child=first_child,
        n_branches=n_branches,
        feature=np.array([split.feature for split in splits], np.int32),
        kind=np.array([split.kind for split in splits], np.uint8),
        threshold=np.array([split.threshold for split in splits]),
        missing=np.array([split.missing for split in splits], np.int32),
        categories_start=offsets_of(np.array([len(split.codes) for split in splits])),
        categories_code=np.concatenate([split.codes for split in splits]).astype(np.uint32),
        categories_branch=np.concatenate([split.branches for split in splits]).astype(np.int32),
        n_samples=np.array([len(node.rows) for node in nodes], np.int64),
        weight=weight,
        value=value,
        impurity=impurity,
        gain=np.where(n_branches > 0, np.maximum(costs - below, 0.0) / weight, 0.0),
        loss=leaves.loss,
    )
