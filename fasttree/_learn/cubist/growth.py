"""A tree of residuals with models in its nodes, smoothed, rounded, and pruned as a whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._engine.lines import equations
from fasttree._learn.cubist.problem import CommitteeProblem

__all__ = ["Grown", "grow", "prune"]

OF_TEST, OF_TWO_CATEGORIES = 4, 3  # parameters that a test counts for


@dataclass
class Grown:
    """A tree as arrays of its nodes, in preorder; children are after their parent, the left one first."""

    parent: npt.NDArray[np.int32]
    feature: npt.NDArray[np.int32]  # -1 at a leaf; those of the table's nominal features follow the continuous ones
    children: npt.NDArray[np.intp]  # (n_nodes, 2)
    first: npt.NDArray[np.int64]  # of the slice of `rows`
    stop: npt.NDArray[np.int64]
    cut: Floats
    rows: npt.NDArray[np.int32]
    models: Floats  # (n_nodes, d + 1), smoothed and rounded, the intercept first
    n_coefficients: npt.NDArray[np.intp]  # before that, and the intercept
    error: Floats  # sum of absolute errors of each node as a leaf

    def left_codes(self, node: int, codes: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
        """Return the categories that go left at a node that tests a feature with these codes."""
        left = int(self.children[node, 0])
        return np.unique(codes[self.rows[self.first[left] : self.stop[left]]]).astype(np.intp)


def grow(problem: CommitteeProblem, target: Floats) -> Grown:
    """Grow a tree for a target, fit its models, and smooth them."""
    n, d = problem.n, problem.n_continuous
    samples = (problem.columns, target, problem.weight, problem.least_variance, *problem.bounds)
    order = problem.order.copy()
    room = 2 * (n // 3) + 3
    parent, feature = np.empty(room, np.int32), np.empty(room, np.int32)
    first, stop, cut = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    tables = (*problem.significant(), problem.steadiness)
    choices = np.array([problem.softening, 0.5 * problem.unit, problem.least_cover])
    features = (np.argsort(problem.features, kind="stable").astype(np.int32), problem.preference)
    nodes = (parent, feature, first, stop, cut)
    size = equations.grow(samples, (problem.codes, problem.sizes), order, features, tables, choices, nodes)
    parent, feature, first, stop, cut = parent[:size], feature[:size], first[:size], stop[:size], cut[:size]
    allowed = _tested(parent, feature, d)
    kept = _without_small(parent, feature, first, stop, problem.least_cover)
    return _with_models(problem, target, samples, Grown(
        parent, feature, np.empty((0, 2), np.intp), first, stop, cut, order[d].copy(), np.empty((0, d + 1)),
        np.empty(0, np.intp), np.empty(0),
    ), kept, allowed)  # fmt: skip


def _tested(parent: npt.NDArray[np.int32], feature: npt.NDArray[np.int32], d: int) -> npt.NDArray[np.uint8]:
    """Return the continuous features that are tested at each node, above it or below it."""
    tested = np.zeros((len(parent), d), dtype=bool)
    inner = np.flatnonzero((feature >= 0) & (feature < d))
    tested[inner, feature[inner]] = True
    below = tested.copy()
    levels = _levels(parent)
    for start, end in reversed(levels[1:]):
        np.logical_or.at(below, parent[start:end], below[start:end])
    above = np.zeros_like(tested)
    for start, end in levels[1:]:
        above[start:end] = above[parent[start:end]] | tested[parent[start:end]]
    return (above | below).astype(np.uint8)


def _levels(parent: npt.NDArray[np.int32]) -> list[tuple[int, int]]:
    """Return the slices of the levels of a tree that is numbered breadth first."""
    levels, start, end = [(0, 1)], 0, 1
    while end < len(parent):
        following = end + int(np.searchsorted(parent[end:], end))
        start, end = end, following
        levels.append((start, end))
    return levels


def _without_small(
    parent: npt.NDArray[np.int32],
    feature: npt.NDArray[np.int32],
    first: npt.NDArray[np.int64],
    stop: npt.NDArray[np.int64],
    least_cover: int,
) -> npt.NDArray[np.bool_]:
    """Return the nodes that stay if divisions with a branch of too few samples go."""
    small = np.zeros(len(parent), dtype=bool)
    np.logical_or.at(small, np.maximum(parent, 0), (stop - first < least_cover) & (parent >= 0))
    kept = np.ones(len(parent), dtype=bool)
    for start, end in _levels(parent)[1:]:
        above = parent[start:end]
        kept[start:end] = kept[above] & ~small[above]
    return kept


def _with_models(
    problem: CommitteeProblem, target: Floats, samples: tuple[object, ...], tree: Grown, kept: npt.NDArray[np.bool_],
    allowed: npt.NDArray[np.uint8],
) -> Grown:  # fmt: skip
    """Return the nodes that stay, in preorder, with their models."""
    place = _preorder(tree.parent, kept)
    number = np.full(len(tree.parent), -1, dtype=np.int32)
    number[place] = np.arange(len(place))
    parent = np.where(tree.parent[place] >= 0, number[tree.parent[place]], -1).astype(np.int32)
    children = np.full((len(place), 2), -1, dtype=np.intp)
    for node in range(1, len(place)):
        children[parent[node], int(children[parent[node], 0] >= 0)] = node
    feature = np.where(children[:, 0] >= 0, tree.feature[place], -1).astype(np.int32)
    first, stop = tree.first[place].copy(), tree.stop[place].copy()
    raw = np.zeros((len(place), problem.n_continuous + 1))
    equations.fit_nodes(samples, tree.rows, first, stop, np.ascontiguousarray(allowed[place]), raw)
    models, error = np.empty_like(raw), np.empty(len(place))
    equations.smooth(samples, tree.rows, (first, stop, parent), raw, problem.units, models, error)
    n_coefficients = 1 + np.count_nonzero(raw[:, 1:], axis=1)
    return Grown(parent, feature, children, first, stop, tree.cut[place], tree.rows, models, n_coefficients, error)


def _preorder(parent: npt.NDArray[np.int32], kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Return the nodes that stay, each before its descendants."""
    nodes = np.flatnonzero(kept)
    below: dict[int, list[int]] = {}
    for node, above in zip(nodes[1:].tolist(), parent[nodes[1:]].tolist(), strict=True):
        below.setdefault(above, []).append(node)
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting.extend(reversed(below.get(node, ())))
    return np.array(order, dtype=np.intp)


def prune(problem: CommitteeProblem, tree: Grown) -> npt.NDArray[np.bool_]:
    """Return the nodes that become leaves.

    The estimated error of the tree counts its absolute error (n + P) / (n - P) times, for P parameters.  The subtree that adds
    least error goes, of those that do not raise the estimate; then of those within 0.5 % of it; then until there are at most
    `max_rules` leaves.
    """
    n = problem.n
    own, size = tree.error, tree.n_coefficients.astype(np.float64)
    inner = tree.children[:, 0] >= 0
    error, parameters = own.copy(), size.copy()
    two = np.zeros(len(own), dtype=bool)
    nominal = np.flatnonzero(tree.feature >= problem.n_continuous)
    two[nominal] = problem.sizes[tree.feature[nominal] - problem.n_continuous] == 2
    for node in np.flatnonzero(inner)[::-1].tolist():
        below = tree.children[node]
        error[node] = error[below].sum()
        parameters[node] = (OF_TWO_CATEGORIES if two[node] else OF_TEST) + parameters[below].sum()
    cut, alive = np.zeros(len(own), np.uint8), inner.astype(np.uint8)
    equations.prune(tree.parent, (own, size), (error, parameters), alive, cut, float(n), problem.choices.max_rules)
    return cut > 0
