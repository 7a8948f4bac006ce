"""Rules of the leaves of a tree, and committees of rule sets (Quinlan 1993; Cubist 2.07)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._engine.lines import equations
from fasttree._learn.cubist.growth import Grown, grow, prune
from fasttree._learn.cubist.problem import CommitteeProblem

__all__ = ["RuleDraft", "RuleTest", "committee_of"]

DIGITS = 14  # of coefficients, after products with units left rounding errors


class RuleTest(NamedTuple):
    """A test of a rule: continuous values up to `cut` or above it, or categories by their codes from 0."""

    feature: int  # number in the problem
    above: bool = False
    cut: float = 0.0
    codes: tuple[int, ...] = ()


class RuleDraft(NamedTuple):
    """A rule of a problem."""

    parts: tuple[RuleTest, ...]
    model: list[float]  # the intercept, then the coefficients of the continuous features
    cover: int
    mean: float
    least: float
    largest: float
    bounds: tuple[float, float]
    estimate: float


def committee_of(problem: CommitteeProblem) -> Iterator[list[RuleDraft]]:
    """Yield the rule sets of a committee: each next one learns 2 y less the prediction of the one before."""
    target = problem.y
    for member in range(problem.choices.committees):
        tree = grow(problem, target)
        drafts, covered = _rules_of(problem, tree, prune(problem, tree))
        yield drafts
        if member + 1 < problem.choices.committees:
            target = 2 * problem.y - _predicted(problem, drafts, covered)


def _paths(problem: CommitteeProblem, tree: Grown, leaf: npt.NDArray[np.bool_]) -> Iterator[tuple[int, list[RuleTest]]]:
    """Yield the leaves with the tests on the way to them."""
    waiting: list[tuple[int, list[RuleTest]]] = [(0, [])]
    while waiting:
        node, parts = waiting.pop()
        if leaf[node]:
            yield node, parts
            continue
        feature = int(tree.feature[node])
        if feature < problem.n_continuous:
            values = problem.ascending[feature]
            place = int(values.searchsorted(tree.cut[node], side="right")) - 1
            cut = float(values[place])  # a value of the fit, maybe of a sample elsewhere
            sides = [RuleTest(feature, above, cut) for above in (False, True)]
        else:
            codes = problem.codes[feature - problem.n_continuous]
            sides = []
            for child in tree.children[node].tolist():
                among = np.unique(codes[tree.rows[tree.first[child] : tree.stop[child]]])
                sides.append(RuleTest(feature, codes=tuple(among.tolist())))
        for child, side in reversed(list(zip(tree.children[node].tolist(), sides, strict=True))):
            waiting.append((child, [*parts, side]))


def _rules_of(
    problem: CommitteeProblem, tree: Grown, cut: npt.NDArray[np.bool_]
) -> tuple[list[RuleDraft], npt.NDArray[np.uint64]]:
    """Turn the paths to the leaves into rules, by the mean of their targets; return also what each covers, as bits."""
    nodes, paths = zip(*_paths(problem, tree, cut | (tree.children[:, 0] < 0)), strict=True)
    leaf, n = np.array(nodes), len(nodes)
    numbers: dict[RuleTest, int] = {}
    path = np.array([numbers.setdefault(part, len(numbers)) for parts in paths for part in parts], dtype=np.int32)
    start = np.cumsum([0, *map(len, paths)])
    models, kept = tree.models[leaf], np.zeros(n, np.int64)
    covered, figures = np.empty((n, -(-problem.n // 64)), np.uint64), np.empty((n, 7))
    equations.make_rules(
        problem.samples(problem.y),
        _written_tests(problem, list(numbers)),
        (tree.rows, tree.first[leaf], tree.stop[leaf], tree.n_coefficients[leaf].astype(np.int64), start),
        (path, kept, models, covered, figures),
        np.array([problem.choices.extrapolation, problem.unit, problem.choices.unbiased]),
    )
    tests, drafts, order = list(numbers), list[RuleDraft](), np.argsort(figures[:, 1], kind="stable")
    order = order[figures[order, 0] > 0]
    for rule in order.tolist():
        cover, mean, least, largest, lower, upper, estimate = figures[rule].tolist()
        parts = tuple(tests[part] for part in path[start[rule] : start[rule] + kept[rule]].tolist())
        # numbers have as many digits as the original writes
        model = [float(f"{number:.{DIGITS}g}") if number else number for number in models[rule].tolist()]
        drafts.append(RuleDraft(parts, model, int(cover), mean, least, largest, (lower, upper), estimate))
    return drafts, covered[order]


def _written_tests(problem: CommitteeProblem, tests: list[RuleTest]) -> tuple[npt.NDArray[np.generic], ...]:
    """Return tests as arrays."""
    sizes = [
        0 if part.feature < problem.n_continuous else int(problem.sizes[part.feature - problem.n_continuous]) for part in tests
    ]
    start = np.cumsum([0, *sizes])
    passes = np.zeros(start[-1], np.uint8)
    for part, first in zip(tests, start.tolist(), strict=False):
        if part.codes:
            passes[first + np.array(part.codes)] = 1
    return (
        np.array([part.feature for part in tests], dtype=np.int32),
        np.array([part.above for part in tests], dtype=np.uint8),
        np.array([part.cut for part in tests], dtype=np.float64),
        start,
        passes,
        problem.codes,
    )


def _predicted(problem: CommitteeProblem, drafts: list[RuleDraft], covered: npt.NDArray[np.uint64]) -> Floats:
    predicted = np.empty(problem.n)
    models, bounds = np.array([draft.model for draft in drafts]), np.array([draft.bounds for draft in drafts])
    equations.predict_rules(problem.samples(problem.y), models, covered, bounds, problem.mean, predicted)
    return predicted
