"""Rules that vote, from a pruned tree: every set of cases is a mask, and every number of errors is counted anew."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .boosting import with_default
from .classifying import n_errors
from .growing import Growth, grow
from .problem import Node, Options, Rows, Table
from .pruning import prune

Mask = NDArray[np.bool_]

SHARE = 0.23  # of the bits of conditions
LEAST_LIFT = 0.95


@dataclass(frozen=True)
class Condition:
    """A branch of a test: values of a discrete attribute, or a side of a cut."""

    attribute: int
    values: frozenset[int] = frozenset()
    cut: float = math.nan
    above: bool = False

    def holds(self, table: Table) -> Mask:
        column = table.columns[self.attribute]
        if self.values:
            return np.isin(column, list(self.values))
        return (column > self.cut) if self.above else (column <= self.cut)  # NaN is neither

    def bits(self, table: Table) -> float:
        n, column = len(table), table.columns[self.attribute]
        if not self.values:
            n_cuts = len(set(column[~np.isnan(column)].tolist())) - 1
            return 1 + math.log2(n_cuts) / 2 if n_cuts > 1 else 0.0
        count = [int((column == value).sum()) for value in range(1, table.n_values[self.attribute] + 1)]
        occurring = [found for found in count if found]
        if len(self.values) == 1:
            return sum(found / n * math.log2(n / found) for found in occurring)
        return math.log2(math.comb(len(occurring), min(len(self.values), len(occurring) - 1)))


@dataclass(frozen=True)
class Rule:
    conditions: frozenset[Condition]
    label: int
    covers: frozenset[int]
    n_wrong: int
    bits: float

    @property
    def vote(self) -> int:
        return math.floor(1000 * (len(self.covers) - self.n_wrong + 1) / (len(self.covers) + 2) + 0.5)


@dataclass(frozen=True)
class RuleSet:
    rules: list[Rule]
    default: int

    def predict(self, table: Table) -> Rows:
        votes = np.zeros((len(table), table.n_classes))
        for rule in self.rules:
            votes[fires(rule.conditions, table), rule.label] += rule.vote
        return with_default(votes, self.default)


def fires(conditions: Sequence[Condition] | frozenset[Condition], table: Table) -> Mask:
    found = np.ones(len(table), bool)
    for condition in conditions:
        found &= condition.holds(table)
    return found


def learn(table: Table, options: Options, n_usable: int | None = None) -> RuleSet:
    """Return the rules of the tree of a table."""
    growth, rows = Growth.of(table, options, compresses_leaves=False), np.arange(len(table))
    tree = prune(grow(growth, rows), growth, rows)
    return rules_of(tree, table, options.minimum, n_usable or len(table.columns))


def rules_of(tree: Node, table: Table, minimum: float, n_usable: int) -> RuleSet:
    made: dict[tuple[frozenset[Condition], int], Rule] = {}
    for path, node in below(tree, ()):
        rule = shortened(path, node.label, table, n_usable)
        if rule is not None:
            made.setdefault((rule.conditions, rule.label), rule)
    rules = list(made.values())
    chosen = best_set(rules, table, minimum, n_errors(tree, table))
    covered = np.zeros(len(table), bool)
    for r in chosen:
        covered |= fires(rules[r].conditions, table)
    left = np.bincount(table.classes[~covered], minlength=table.n_classes)
    every = np.bincount(table.classes, minlength=table.n_classes)
    default = int(((left + 1) / (left.sum() + 2.001) + every / len(table)).argmax())
    order = sorted(chosen, key=lambda r: (rules[r].label, -rules[r].vote, r))
    return RuleSet([rules[r] for r in order], default)


def below(node: Node, path: tuple[Condition, ...]) -> Iterator[tuple[tuple[Condition, ...], Node]]:
    """Yield the nodes below a node with the conditions that lead to them, children before their node."""
    test = node.test
    for b, child in enumerate(node.children):
        assert test is not None
        if test.kind == "threshold":
            condition = Condition(test.attribute, cut=test.cut, above=b == 2)
        else:
            condition = Condition(test.attribute, frozenset([b + 1]) if test.kind == "values" else test.sets[b])
        here = (*path, condition)
        yield from below(child, here)
        if child.cases >= 1:
            yield here, child


def both(a: float, b: float) -> float:
    """Return the bits that name the side of each of a + b cases."""
    return sum(n * math.log2((a + b) / n) for n in (a, b) if n)


def shortened(path: Sequence[Condition], label: int, table: Table, n_usable: int) -> Rule | None:
    """Return the rule without the conditions that do not pay; None if it is of no use."""
    n, is_class = len(table), table.classes == label
    n_class, kept = int(is_class.sum()), list(path)
    while True:
        covers = fires(kept, table)
        total, wrong = int(covers.sum()), int((covers & ~is_class).sum())
        bits = sum(math.log2(n_usable) + condition.bits(table) for condition in kept)
        bits -= sum(math.log2(k) for k in range(1, len(kept) + 1))
        right = total - wrong
        gain = both(n_class, n - n_class) - both(right, wrong) - both(n_class - right, n - n_class - wrong)
        pays = SHARE * bits <= gain
        if len(kept) == 1:
            break
        errors = []
        for i in range(len(kept)):
            without = fires(kept[:i] + kept[i + 1 :], table)
            errors.append((int((without & ~is_class).sum()) + 1) / (int(without.sum()) + 2))
        if pays and min(errors) > (wrong + 1) / (total + 2):
            break
        del kept[max(i for i in range(len(kept)) if errors[i] == min(errors))]
    lift = (right + 1) / ((total + 2) * n_class / n) if n_class else 0.0
    if not (total and pays and lift >= LEAST_LIFT):
        return None
    return Rule(frozenset(kept), label, frozenset(np.flatnonzero(covers).tolist()), wrong, bits + math.log2(len(kept)))


def best_set(rules: list[Rule], table: Table, minimum: float, tree_errors: int) -> set[int]:
    """Return the rules whose message, together with the cases that they predict wrong, is shortest; found by climbing."""
    n, n_classes = len(table), table.n_classes
    mask = np.array([fires(rule.conditions, table) for rule in rules]).reshape(len(rules), n)
    figures = [(rule.label, rule.vote, rule.bits) for rule in rules]
    expected = (tree_errors + n_classes - 1) / (n + n_classes)
    return search(mask, figures, table.classes, np.ones(n, int), n_classes, minimum, 0.45 if expected > 0.5 else expected)


def search(
    mask: Mask, figures: list[tuple[int, int, float]], truth: Rows, weight: Rows, n_classes: int, minimum: float, expected: float
) -> set[int]:
    """Return such rules; `figures` are the class, votes and bits of each."""
    n = weight.sum()

    def n_wrong(chosen: set[int]) -> int:
        votes: NDArray[Any] = np.zeros((len(truth), n_classes))
        for r in chosen:
            votes[mask[r], figures[r][0]] += figures[r][1]
        return int(weight[(votes.argmax(axis=1) != truth) | (votes.max(axis=1) == 0)].sum())

    def length(chosen: set[int]) -> float:
        wrong = n_wrong(chosen)
        bits = sum(figures[r][2] for r in chosen) - sum(math.log2(k) for k in range(1, len(chosen) + 1))
        of_wrong = -math.log2(expected) + math.log2(max(n_classes - 1, 1))
        return round(100 * (SHARE * max(0.0, bits) + wrong * of_wrong - (n - wrong) * math.log2(1 - expected))) / 100

    chosen, last = start(mask, figures, truth, weight, n_classes, minimum), None
    while True:
        best, toggled, may_add = length(chosen), None, n_wrong(chosen) > 0
        for r in range(len(figures)):
            if r == last or (r not in chosen and not may_add):
                continue
            found = length(chosen ^ {r})
            if found < best or (found == best and r in chosen):
                best, toggled = found, r
        if toggled is None:
            return chosen
        chosen, last = chosen ^ {toggled}, toggled


def start(
    mask: Mask, figures: list[tuple[int, int, float]], truth: Rows, weight: Rows, n_classes: int, minimum: float
) -> set[int]:
    """Return, for each class, rules by decreasing votes that newly cover more cases right than wrong."""
    chosen = set()
    for label in range(n_classes):
        own = truth == label
        covered = np.zeros(len(truth), bool)
        for r in sorted((r for r, figure in enumerate(figures) if figure[0] == label), key=lambda r: -figures[r][1]):
            if weight[own & ~covered].sum() <= weight[covered & ~own].sum():
                break
            new = mask[r] & ~covered
            if weight[mask[r] & own].sum() >= minimum and weight[new & own].sum() - weight[new & ~own].sum() > minimum + 0.0001:
                chosen.add(r)
                covered |= new
    return chosen
