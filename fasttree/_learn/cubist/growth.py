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


def grow(problem: CommitteeProblem, target: Floats) -> Grown:
    """Grow a tree for a target, fit its models, and smooth them."""
    n, d = problem.n, problem.n_continuous
    samples = problem.samples(target)
    order = problem.order.copy()
    room = 2 * (n // 3) + 3
    parent, feature = np.empty(room, np.int32), np.empty(room, np.int32)
    first, stop, cut = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    tables = (*problem.significant, problem.steadiness)
    choices = np.array([problem.softening, 0.5 * problem.unit, problem.least_cover])
    features = (np.argsort(problem.features, kind="stable").astype(np.int32), problem.preference)
    nodes = (parent, feature, first, stop, cut)
    size = equations.grow(samples, (problem.codes, problem.sizes), order, features, tables, choices, nodes)
    parent, feature, first, stop, cut = parent[:size], feature[:size], first[:size], stop[:size], cut[:size]
    place, children = np.empty(size, np.int64), np.empty((size, 2), np.int64)
    above, allowed = np.empty(size, np.int32), np.empty((size, d), np.uint8)
    size = equations.arrange((parent, feature, first, stop), d, problem.least_cover, (place, children, above, allowed))
    place, children, above = place[:size], children[:size], above[:size]
    feature = np.where(children[:, 0] >= 0, feature[place], np.int32(-1))
    first, stop, rows = first[place], stop[place], order[d].copy()
    raw = np.zeros((size, d + 1))
    equations.fit_nodes(samples, rows, first, stop, allowed, raw)
    models, error = np.empty_like(raw), np.empty(size)
    equations.smooth(samples, rows, (first, stop, above), raw, problem.units, models, error)
    n_coefficients = 1 + np.count_nonzero(raw[:, 1:], axis=1)
    return Grown(above, feature, children, first, stop, cut[place], rows, models, n_coefficients, error)


def prune(problem: CommitteeProblem, tree: Grown) -> npt.NDArray[np.bool_]:
    """Return the nodes that become leaves.

    The estimated error of the tree counts its absolute error (n + P) / (n - P) times, for P parameters.  The subtree that adds
    least error goes, of those that do not raise the estimate; then of those within 0.5 % of it; then until there are at most
    `max_rules` leaves.
    """
    own, size = tree.error, tree.n_coefficients.astype(np.float64)
    inner, nominal = tree.children[:, 0] >= 0, tree.feature >= problem.n_continuous
    counted = np.full(len(own), float(OF_TEST))
    counted[nominal] = np.where(problem.sizes[tree.feature[nominal] - problem.n_continuous] == 2, OF_TWO_CATEGORIES, OF_TEST)
    error, parameters = np.where(inner, 0.0, own), np.where(inner, counted, size)
    cut, alive = np.zeros(len(own), np.uint8), inner.astype(np.uint8)
    equations.prune(tree.parent, (own, size), (error, parameters), alive, cut, float(problem.n), problem.choices.max_rules)
    return cut > 0
