"""The slow, obvious twin of the search for surrogate splits: every candidate is a list of samples, weights are fractions."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import naive

LEAST_ON_A_SIDE = 2
LEAST_ADJUSTED = 1e-10


@dataclass(frozen=True)
class Surrogate:
    """A test of another feature: values up to `threshold` to `low_branch`, or categories by table."""

    feature: int
    agreement: float
    adjusted: float
    threshold: float = math.nan
    low_branch: int = -1
    table: dict[int, int] = field(default_factory=dict)

    def branch(self, value: Any) -> int | None:
        """Where a value goes; None if it is missing or unknown here."""
        if self.table:
            return self.table.get(int(value))
        if math.isnan(value) or (isinstance(value, int) and value == 0):
            return None
        return self.low_branch if value <= self.threshold else 1 - self.low_branch


def surrogates(problem: naive.Problem, split: naive.Split) -> list[Surrogate]:
    """What stands in for a split of two branches, best first."""
    side = {row: b for b, branch in enumerate(split.branches) for row, _ in branch}
    weight = {row: Fraction(w) for row, w in [*split.branches[0], *split.branches[1], *split.left_out]}
    found = [one for f in range(len(problem.columns)) if f != split.feature and (one := imitate(problem, f, side, weight))]
    found.sort(key=lambda one: -one.agreement)
    return found[: problem.limits.max_surrogates]


def imitate(problem: naive.Problem, feature: int, side: dict[int, int], weight: dict[int, Fraction]) -> Surrogate | None:
    values = {row: problem.columns[feature][row].item() for row in weight if problem.known(row, feature)}
    target = {row: side[row] for row in values if row in side}
    tests = thresholds(values) if problem.form(feature) == "threshold" else [by_category(values, target, weight)]
    best, best_agreeing = None, Fraction(0)
    for test in tests:
        sent = {row: test.branch(values[row]) for row in target}
        agreeing = sum((weight[row] for row in target if sent[row] == target[row]), Fraction(0))
        if min(list(sent.values()).count(b) for b in (0, 1)) >= LEAST_ON_A_SIDE and agreeing > best_agreeing:
            best, best_agreeing = test, agreeing
    if best is None:
        return None
    judged = side if problem.limits.surrogate_agreement == "all" else target
    of_sides = [sum((weight[row] for row in judged if judged[row] == b), Fraction(0)) for b in (0, 1)]
    agreement, majority = best_agreeing / sum(of_sides), max(of_sides) / sum(of_sides)
    if majority == 1 or (adjusted := (agreement - majority) / (1 - majority)) <= LEAST_ADJUSTED:
        return None
    return Surrogate(feature, float(agreement), float(adjusted), best.threshold, best.low_branch, best.table)


def thresholds(values: dict[int, Any]) -> list[Surrogate]:
    distinct = sorted(set(values.values()))
    return [
        Surrogate(-1, 0.0, 0.0, naive.midpoint(a, b), low_branch)
        for a, b in itertools.pairwise(distinct)
        for low_branch in (0, 1)
    ]


def by_category(values: dict[int, Any], target: dict[int, int], weight: dict[int, Fraction]) -> Surrogate:
    """Each category to its majority; where that ties, to the heavier branch of all that are known, or else to branch 1."""
    of_category: dict[int, list[Fraction]] = defaultdict(lambda: [Fraction(0), Fraction(0)])
    for row, b in target.items():
        of_category[values[row]][b] += weight[row]
    zero, one = (sum((w[b] for w in of_category.values()), Fraction(0)) for b in (0, 1))
    default = 0 if zero > one else 1
    table = {c: default if w[0] == w[1] else int(w[1] > w[0]) for c, w in sorted(of_category.items())}
    return Surrogate(-1, 0.0, 0.0, table=table)


def heavier(problem: naive.Problem, split: naive.Split) -> naive.Missing:
    """Where samples go on which no surrogate decides."""
    zero, one = (sum((Fraction(w) for _, w in branch), Fraction(0)) for branch in split.branches)
    return "stop" if problem.limits.no_surrogate == "stop" or zero == one else int(one > zero)


def hand_down(problem: naive.Problem, split: naive.Split, stand_ins: list[Surrogate]) -> list[list[naive.Part]]:
    """The samples of both children; those that no surrogate sends and that may stay are in neither."""
    branches = [list(branch) for branch in split.branches]
    for row, w in split.left_out:
        told = (one.branch(problem.columns[one.feature][row].item()) for one in stand_ins)
        branch = next((b for b in told if b is not None), heavier(problem, split))
        if branch != "stop":
            branches[branch].append((row, w))
    return branches
