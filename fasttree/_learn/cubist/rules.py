"""Rules of the leaves of a tree, and committees of rule sets (Quinlan 1993; Cubist 2.07)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._engine.lines import equations
from fasttree._learn.cubist.growth import Grown, grow, prune
from fasttree._learn.cubist.problem import CommitteeProblem, bounds_of

__all__ = ["RuleDraft", "RuleTest", "committee_of"]

MOST_CONDITIONS = 32_000  # that `equations.drop_conditions` counts
DIGITS = 14  # of coefficients, after products with units left rounding errors


class RuleTest(NamedTuple):
    """A test of a rule: continuous values up to `cut` or above it, or categories by their codes from 0."""

    feature: int  # number in the problem
    above: bool = False
    cut: float = 0.0
    codes: tuple[int, ...] = ()


@dataclass
class RuleDraft:
    """A rule of a problem."""

    parts: tuple[RuleTest, ...]
    model: Floats  # the intercept, then the coefficients of the continuous features
    cover: int
    mean: float
    least: float
    largest: float
    bounds: tuple[float, float]
    estimate: float
    rows: npt.NDArray[np.intp]  # that it covers


def committee_of(problem: CommitteeProblem) -> Iterator[list[RuleDraft]]:
    """Yield the rule sets of a committee: each next one learns 2 y less the prediction of the one before."""
    target = problem.y
    for member in range(problem.choices.committees):
        tree = grow(problem, target)
        drafts = _rules_of(problem, tree, prune(problem, tree))
        yield drafts
        if member + 1 < problem.choices.committees:
            target = 2 * problem.y - _predicted(problem, drafts)


def _fails(problem: CommitteeProblem, part: RuleTest) -> npt.NDArray[np.bool_]:
    if part.feature >= problem.n_continuous:
        by_code = np.ones(problem.sizes[part.feature - problem.n_continuous], dtype=bool)
        by_code[list(part.codes)] = False
        failing: npt.NDArray[np.bool_] = by_code[problem.codes[part.feature - problem.n_continuous]]
        return failing
    values = problem.columns[part.feature]
    failing = values <= part.cut if part.above else values > part.cut
    return failing


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
            place = int(np.searchsorted(values, tree.cut[node], side="right")) - 1
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


def _values(problem: CommitteeProblem, model: Floats, rows: npt.NDArray[np.integer]) -> Floats:
    intercept, *coefficients = model.tolist()
    value = np.full(rows.size, intercept)
    for column, coefficient in zip(problem.columns, coefficients, strict=True):
        if coefficient:
            value += coefficient * column[rows]
    return value


def _rules_of(problem: CommitteeProblem, tree: Grown, cut: npt.NDArray[np.bool_]) -> list[RuleDraft]:
    """Turn the paths to the leaves into rules, one after the other.

    A sample's prediction is the mean of the tree's and of the rules that cover it so far.  A condition is dropped if the samples
    that fail it alone gain, as their prediction joins the mean.
    """
    floor, ceiling = problem.bounds
    leaf = cut | (tree.children[:, 0] < 0)
    paths = list(_paths(problem, tree, leaf))
    samples = (problem.columns, problem.y, problem.weight, problem.least_variance, floor, ceiling)
    total, count = np.empty(problem.n), np.ones(problem.n)
    value, gain, error = np.empty(problem.n), np.empty(problem.n), np.empty(problem.n)
    for node, _ in paths:
        rows = tree.rows[tree.first[node] : tree.stop[node]]
        total[rows] = np.minimum(np.maximum(_values(problem, tree.models[node], rows), floor), ceiling)
    np.abs(problem.y - total, out=error)
    known: dict[RuleTest, npt.NDArray[np.bool_]] = {}
    found: dict[tuple[RuleTest, ...], RuleDraft] = {}
    for node, parts in paths:
        equations.gains_of(samples, tree.models[node], (total, count, error), value, gain)
        for part in parts:
            if part not in known:
                known[part] = _fails(problem, part)
        fails = np.array([known[part] for part in parts], dtype=np.uint8).reshape(len(parts), problem.n)
        kept, covered = _kept(problem, fails, gain)
        rows = tree.rows[tree.first[node] : tree.stop[node]]
        chosen = tuple(parts[d] for d in kept)
        draft = _draft(problem, chosen, tree.models[node], covered, value, int(tree.n_coefficients[node]))
        if chosen in found:
            if draft.estimate < found[chosen].estimate:
                found[chosen] = replace(found[chosen], model=draft.model, estimate=draft.estimate)
            continue
        joins = np.ones(problem.n, dtype=bool)
        joins[rows] = False
        new = covered[joins[covered]]
        total[new] += np.minimum(np.maximum(value[new], draft.least), draft.largest)
        count[new] += 1
        error[new] = np.abs(problem.y[new] - total[new] / count[new])
        if problem.choices.unbiased:
            draft = _without_bias(problem, draft, value[covered], covered, int(tree.n_coefficients[node]))
        found[chosen] = draft
    return [_written(draft) for draft in sorted(found.values(), key=lambda draft: draft.mean)]


def _kept(problem: CommitteeProblem, fails: npt.NDArray[np.uint8], gain: Floats) -> tuple[list[int], npt.NDArray[np.intp]]:
    """Return the conditions that stay, those first whose absence would add most samples, and the samples that pass them."""
    if len(fails) < 1:
        return [], np.arange(problem.n)
    if len(fails) > MOST_CONDITIONS:
        raise ValueError(
            f"a rule has {len(fails)} conditions, and at most {MOST_CONDITIONS} are counted: set a smaller max_rules"
        )
    dropped, joined, failed = np.empty(len(fails), np.uint8), np.empty(len(fails)), np.empty(problem.n, np.int32)
    equations.drop_conditions(fails, gain, problem.weight, dropped, joined, failed)
    kept = sorted((dropped == 0).nonzero()[0].tolist(), key=lambda d: -joined[d])
    return kept, (failed == 0).nonzero()[0]


def _draft(
    problem: CommitteeProblem, parts: tuple[RuleTest, ...], model: Floats, covered: npt.NDArray[np.intp], value: Floats, size: int
) -> RuleDraft:
    y, w = problem.y[covered], problem.weight[covered]
    weight = w.sum()
    inside = np.minimum(np.maximum(value[covered], problem.bounds[0]), problem.bounds[1])
    error = float((w * np.abs(y - inside)).sum() / weight)
    least, largest = float(y.min()), float(y.max())
    bounds = bounds_of(least, largest, problem.choices.extrapolation)
    estimate = _estimated(error, len(covered), size)
    return RuleDraft(parts, model.copy(), len(covered), float((w * y).sum() / weight), least, largest, bounds, estimate, covered)


def _estimated(error: float, n: int, size: int) -> float:
    counted = min(size, n - 1)
    return error * (n + counted) / (n - counted)


def _without_bias(
    problem: CommitteeProblem, draft: RuleDraft, value: Floats, covered: npt.NDArray[np.intp], size: int
) -> RuleDraft:
    """Return a rule whose intercept is moved until the mean residual of its samples is below half a unit."""
    y, w = problem.y[covered], problem.weight[covered]
    weight, (lower, upper) = w.sum(), draft.bounds
    residual = np.minimum(np.maximum(value, lower), upper) - y
    bias, before, model, moved = float((w * residual).sum() / weight), np.inf, draft.model.copy(), False
    while abs(bias) >= 0.5 * problem.unit and abs(bias) < before:
        model[0] -= bias
        value = value - bias
        residual = np.minimum(np.maximum(value, lower), upper) - y
        before, bias, moved = abs(bias), float((w * residual).sum() / weight), True
    if not moved:
        return draft
    model[0] = np.rint(model[0] / problem.unit) * problem.unit
    error = float((w * np.abs(residual)).sum() / weight)
    return replace(draft, model=model, estimate=_estimated(error, draft.cover, size))


def _written(draft: RuleDraft) -> RuleDraft:
    """Return a rule whose numbers have as many digits as the original writes."""
    model = [float(f"{number:.{DIGITS}g}") if number else number for number in draft.model.tolist()]
    return replace(draft, model=np.array(model))


def _predicted(problem: CommitteeProblem, drafts: list[RuleDraft]) -> Floats:
    total, count = np.zeros(problem.n), np.zeros(problem.n)
    for draft in drafts:
        rows = draft.rows
        total[rows] += np.minimum(np.maximum(_values(problem, draft.model, rows), draft.bounds[0]), draft.bounds[1])
        count[rows] += 1
    return np.where(count > 0, total / np.maximum(count, 1), problem.mean)
