"""Rules of the leaves of a tree, committees of rule sets, and predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cubist.growing import Node, grow
from cubist.problem import F, Problem, bounds, estimated
from cubist.pruning import cut_small, cuts_to_values, fit_models, prune, smooth
from cubist.regressing import raw


@dataclass
class Rule:
    """A rule; a test is (feature, "<=" or ">", cut) or (feature, "in", categories)."""

    tests: list[tuple]
    model: np.ndarray
    cover: int
    mean: float
    least: float
    largest: float
    estimate: float
    limits: tuple


def passes(problem: Problem, test: tuple, columns: list[np.ndarray]) -> np.ndarray:
    j, operator, value = test
    if operator == "in":
        return np.isin(columns[j], sorted(value))
    return columns[j] <= value if operator == "<=" else columns[j] > value


def paths(problem: Problem, node: Node, tests: list[tuple]):
    if not node.children:
        yield node, tests
        return
    if problem.sizes[node.feature]:
        branches = [(node.feature, "in", frozenset(side)) for side in (node.left, node.right)]
    else:
        branches = [(node.feature, operator, node.cut) for operator in ("<=", ">")]
    for child, test in zip(node.children, branches, strict=True):
        yield from paths(problem, child, [*tests, test])


def rules_of(problem: Problem, root: Node) -> list[Rule]:
    """Turn the paths to the leaves into rules, one after the other: each joins the mean of what covers a sample."""
    every = np.arange(problem.n)
    total, count = np.empty(problem.n, F), np.ones(problem.n)
    for leaf in root.nodes():
        if not leaf.children:
            value = raw(problem, leaf.model, leaf.rows)
            total[leaf.rows] = np.clip(value, problem.floor, problem.ceiling)
    found: list[Rule] = []
    for leaf, tests in paths(problem, root, []):
        value = raw(problem, leaf.model, every)
        inside = np.clip(value, problem.floor, problem.ceiling)
        before, after = (total / count.astype(F)).astype(F), ((total + inside) / (count + 1).astype(F)).astype(F)
        gain = np.abs(problem.y - before).astype(float) - np.abs(problem.y - after).astype(float)
        fails = np.array([~passes(problem, test, problem.columns) for test in tests]).reshape(len(tests), problem.n)
        initial = fails.any(axis=0)
        kept = list(range(len(tests)))
        while True:
            single = fails[kept].sum(axis=0) == 1
            joins = {d: fails[d] & single for d in kept}
            if len(kept) <= 1:
                break
            gains = {d: gain[joins[d]].sum() for d in kept}
            best = max(kept, key=lambda d: (gains[d], -d))
            if gains[best] < 0:
                break
            kept.remove(best)
        covered = ~fails[kept].any(axis=0) if kept else np.ones(problem.n, bool)
        y = problem.y[covered]
        error = np.abs(y - inside[covered]).astype(float).sum()
        estimate = F(estimated(error / len(y), len(y), leaf.coefficients))
        kept.sort(key=lambda d: -np.count_nonzero(joins[d]))
        chosen = [tests[d] for d in kept]
        same = next((rule for rule in found if rule.tests == chosen), None)
        if same is not None:
            if estimate < same.estimate:
                same.model, same.estimate = leaf.model.copy(), estimate
            continue
        least, largest = y.min(), y.max()
        limits = bounds(least, largest, problem.extrapolation)
        mean = F(y.astype(float).sum() / len(y))
        rule = Rule(chosen, leaf.model.copy(), len(y), mean, least, largest, estimate, limits)
        found.append(rule)
        new = covered & initial
        total[new] = (total[new] + np.clip(value[new], least, largest)).astype(F)
        count[new] += 1
        if problem.unbiased:
            remove_bias(problem, rule, value[covered], y, leaf.coefficients)
    return in_order(found)


def remove_bias(problem: Problem, rule: Rule, value: np.ndarray, y: np.ndarray, coefficients: float) -> None:
    bias = (np.clip(value, *rule.limits).astype(float) - y).mean()
    last, error = np.inf, -1.0
    while abs(bias) >= 0.5 * problem.unit and abs(bias) < abs(last):
        rule.model[0] -= bias
        value = (value - bias).astype(F)
        residual = np.clip(value, *rule.limits).astype(float) - y
        last, bias, error = bias, residual.mean(), np.abs(residual).sum()
    if error >= 0:
        rule.model[0] = np.rint(rule.model[0] / problem.unit) * problem.unit
        rule.estimate = F(estimated(error / len(y), rule.cover, int(coefficients)))


def in_order(rules: list[Rule]) -> list[Rule]:
    """Order the rules by their mean, by selection with exchanges."""
    for r in range(len(rules)):
        least = min(range(r, len(rules)), key=lambda i: rules[i].mean)
        rules[r], rules[least] = rules[least], rules[r]
    return rules


def rule_set(problem: Problem, target: np.ndarray) -> list[Rule]:
    root = grow(problem, target, np.arange(problem.n))
    fit_models(problem, target, root)
    cut_small(problem, root)
    smooth(problem, target, root)
    prune(problem, target, root)
    cuts_to_values(problem, root)
    return rules_of(problem, root)


def predicted(problem: Problem, rules: list[Rule], columns: list[np.ndarray]) -> np.ndarray:
    n = len(columns[0])
    total, count = np.zeros(n), np.zeros(n)
    for rule in rules:
        covered = np.ones(n, bool)
        for test in rule.tests:
            covered &= passes(problem, test, columns)
        value = np.full(n, rule.model[0])
        for j in problem.continuous:
            value = value + rule.model[j + 1] * columns[j].astype(float)
        total[covered] += np.clip(value, *rule.limits)[covered]
        count[covered] += 1
    return np.where(count > 0, total / np.maximum(count, 1), problem.mean_of_all).astype(F)


def committee(problem: Problem, members: int) -> list[list[Rule]]:
    target, found = problem.y, []
    for _ in range(members):
        found.append(rule_set(problem, target))
        target = 2 * problem.y - predicted(problem, found[-1], problem.columns)
    return found
