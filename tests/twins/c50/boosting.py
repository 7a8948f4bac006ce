"""Boosting: trials on weights that grow by additions, and their vote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .classifying import classify, with_default
from .growing import Growth, grow, single
from .problem import NULL, Costs, Node, Options, Rows, Table
from .pruning import prune
from .rules import RuleSet, Weighed, rules_of

LEAVES_MORE = 1.1  # leaves per case of later trials, relative to the first tree
WORST = 0.49  # share of wrong weight from which a trial is not used
ENOUGH = 0.1  # wrong weight below which boosting is finished
FEWEST_TRIALS = 3
LEAST_WEIGHT = 0.001
MANY_CASES = 4001
LIGHT = 0.2


@dataclass(frozen=True)
class Boosted:
    """The trees of the trials, or their rules."""

    trees: list[Node]
    costs: Costs | None = None
    rules: list[RuleSet] = field(default_factory=list)

    @property
    def sizes(self) -> list[int]:
        return [len(found.rules) for found in self.rules] or [tree.size for tree in self.trees]

    def trials(self, table: Table) -> Iterator[tuple[Rows, NDArray[np.float64]]]:
        """Yield the classes and confidences of each trial."""
        for tree in [] if self.rules else self.trees:
            yield classify(tree, table, self.costs)
        for found in self.rules:
            yield found.classify(table)

    def predict(self, table: Table) -> Rows:
        """Return the classes of the vote; a class other than the first default must have more."""
        votes = np.zeros((len(table), table.n_classes))
        for predicted, confidence in self.trials(table):
            votes[np.arange(len(table)), predicted] += confidence
        return with_default(votes / len(self.sizes), self.rules[0].default if self.rules else self.trees[0].label)

    def first(self, n: int) -> Boosted:
        return Boosted(self.trees[:n], self.costs, self.rules[:n])


def n_compressed_leaves(node: Node, n_values: tuple[int, ...]) -> int:
    """Return the number of leaves, where a leaf of several values counts for each of them."""
    if node.test is None:
        return int(node.cases >= NULL)
    total = 0
    for b, child in enumerate(node.children):
        n = n_compressed_leaves(child, n_values)
        total += n * len(node.test.sets[b]) if node.test.kind == "subset" and child.test is None else n
    return total


def boost(table: Table, options: Options, n_trials: int, costs: Costs | None = None, *, rules: bool = False) -> Boosted:
    n = len(table)
    every = np.arange(n)
    weight = np.ones(n, np.float32)
    if costs is not None and costs.class_weight is not None:
        weight = costs.class_weight.astype(np.float32)[table.classes]
    votes = np.zeros((n, table.n_classes))
    made = Boosted([], costs)
    ratio, right_always = np.inf, 1.0
    kept = np.ones(n, bool)
    for trial in range(n_trials):
        settings: dict[str, Any] = {"compresses_leaves": not trial and not rules} | ({"leaf_ratio": ratio} if trial else {})
        growth = Growth.of(table, options, weight, costs=costs, **settings)
        rows = every[kept]
        grown_on = rows
        if n > MANY_CASES and trial and right_always <= LIGHT:
            grown_on = rows[weight[rows] > right_always + LEAST_WEIGHT]
        tree = prune(grow(growth, grown_on), growth, rows, regrows=trial == 0)
        weight = growth.weight
        if trial == 0:
            first = tree.size if options.subset or rules else n_compressed_leaves(tree, table.n_values)
            ratio = LEAVES_MORE * first / n
            tested = frozenset(node.test.attribute for node in tree.walk() if node.test is not None)
        if rules:
            found = rules_of(tree, Weighed(table, weight.astype(np.float64), tested), options.minimum)
        predicted, confidence = found.classify(table) if rules else classify(tree, table, costs)
        votes[every, predicted] += confidence
        if trial + 1 > n_trials / 2:
            ahead = votes.max(axis=1) - votes[every, table.classes]
            lost = kept & (ahead > n_trials - 1 - trial)
            kept &= ~lost
            weight[lost] = 0
        wrong = kept & (predicted != table.classes)
        right = kept & ~wrong
        e, o = (float(weight[part].astype(np.float64).sum()) for part in (wrong, right))
        k, remaining = int(wrong.sum()), int(kept.sum())
        is_last = trial == n_trials - 1
        is_constant = tree.test is None or (rules and not found.rules)
        if trial and not is_last and (is_constant or e / remaining >= WORST):
            break
        made.trees.append(tree)
        if rules:
            made.rules.append(found)
        if is_last or e < ENOUGH or (not trial and e / remaining >= WORST):
            break
        x = (o - e) / 4
        f = remaining / (o + e)
        weight[wrong] = (f * (weight[wrong].astype(np.float64) + x / k)).astype(np.float32)
        weight[right] = np.maximum(f * weight[right].astype(np.float64) * (o - x) / o, LEAST_WEIGHT).astype(np.float32)
        right_always = float(single(max(f * right_always * (o - x) / o, LEAST_WEIGHT)))
    return made if len(made.trees) >= FEWEST_TRIALS else made.first(1)
