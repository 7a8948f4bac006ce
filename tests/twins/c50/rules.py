"""Rules that vote, from a pruned tree: every set of cases is a mask, and every weight of errors is added up anew."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .classifying import leaf_errors, with_default
from .growing import Growth, grow, single
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
class Weighed:
    """A table whose cases have weights, 0 for those that boosting dropped, which still count as cases.

    Thresholds of attributes that are not `tested`, by the first of several trees, need no bits.
    """

    table: Table
    weight: NDArray[np.float64]
    tested: frozenset[int] | None = None
    n_usable: int = 0

    def __len__(self) -> int:
        return len(self.table)

    def of(self, cases: Mask) -> float:
        return float(self.weight[cases].sum())

    def bits(self, condition: Condition) -> float:
        is_free = self.tested is not None and not condition.values and condition.attribute not in self.tested
        return math.log2(self.n_usable or len(self.table.columns)) + (0.0 if is_free else condition.bits(self.table))


@dataclass(frozen=True)
class Rule:
    conditions: frozenset[Condition]
    label: int
    cover: np.float32
    right: np.float32
    bits: float

    @property
    def vote(self) -> int:
        return math.floor(1000 * (float(self.right) + 1) / (float(self.cover) + 2) + 0.5)


@dataclass(frozen=True)
class RuleSet:
    rules: list[Rule]
    default: int

    def predict(self, table: Table) -> Rows:
        return self.classify(table)[0]

    def classify(self, table: Table) -> tuple[Rows, NDArray[np.float64]]:
        """Return the classes, and the votes of the rules for them of least cover; where no rule fires, 0.5."""
        every = np.arange(len(table))
        votes, confidence = np.zeros((len(table), table.n_classes)), np.zeros((len(table), table.n_classes))
        for rule in sorted(self.rules, key=lambda rule: (-rule.cover, rule.vote)):
            cases = fires(rule.conditions, table)
            votes[cases, rule.label] += rule.vote
            confidence[cases, rule.label] = rule.vote / 1000
        predicted = with_default(votes, self.default)
        return predicted, np.where(votes.any(axis=1), confidence[every, predicted], 0.5)


def fires(conditions: Sequence[Condition] | frozenset[Condition], table: Table) -> Mask:
    found = np.ones(len(table), bool)
    for condition in conditions:
        found &= condition.holds(table)
    return found


def learn(table: Table, options: Options, n_usable: int = 0) -> RuleSet:
    """Return the rules of the tree of a table."""
    growth, rows = Growth.of(table, options, compresses_leaves=False), np.arange(len(table))
    tree = prune(grow(growth, rows), growth, rows)
    return rules_of(tree, Weighed(table, growth.weight.astype(np.float64), None, n_usable), options.minimum)


def rules_of(tree: Node, weighed: Weighed, minimum: float) -> RuleSet:
    table = weighed.table
    made: dict[tuple[frozenset[Condition], int], Rule] = {}
    for path, node in below(tree, ()):
        rule = shortened(path, node.label, weighed)
        if rule is not None:
            made.setdefault((rule.conditions, rule.label), rule)
    rules = list(made.values())
    chosen = best_set(rules, weighed, minimum, leaf_errors(tree))
    covered = np.zeros(len(table), bool)
    for r in chosen:
        covered |= fires(rules[r].conditions, table)
    left = np.array([weighed.of(~covered & (table.classes == label)) for label in range(table.n_classes)])
    every = np.array([weighed.of(table.classes == label) for label in range(table.n_classes)])
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


def shortened(path: Sequence[Condition], label: int, weighed: Weighed) -> Rule | None:
    """Return the rule without the conditions that do not pay; None if it is of no use."""
    n, table = len(weighed), weighed.table
    is_class, kept = table.classes == label, list(path)
    n_class = weighed.of(is_class)

    def weights(conditions: Sequence[Condition]) -> tuple[float, float]:
        covers = fires(conditions, table)
        return weighed.of(covers), weighed.of(covers & ~is_class)

    def estimate(total: float, wrong: float) -> np.float32:
        return single((wrong + 1) / (total + 2) if total >= 0.0001 else 0.5)

    while True:
        total, wrong = weights(kept)
        bits = sum(weighed.bits(condition) for condition in kept) - sum(math.log2(k) for k in range(1, len(kept) + 1))
        right = total - wrong
        gain = both(n_class, n - n_class) - both(right, wrong) - both(n_class - right, n - n_class - wrong)
        pays = SHARE * bits <= gain
        if len(kept) == 1:
            break
        errors = [estimate(*weights(kept[:i] + kept[i + 1 :])) for i in range(len(kept))]
        if pays and min(errors) > estimate(total, wrong):
            break
        del kept[max(i for i in range(len(kept)) if errors[i] == min(errors))]
    if not (total > 0.99 and pays and (right + 1) / ((total + 2) * n_class / n) >= LEAST_LIFT):
        return None
    return Rule(frozenset(kept), label, single(total), single(right), bits + math.log2(len(kept)))


def best_set(rules: list[Rule], weighed: Weighed, minimum: float, tree_errors: float) -> set[int]:
    """Return the rules whose message, together with the cases that they predict wrong, is shortest; found by climbing."""
    n, table = len(weighed), weighed.table
    mask = np.array([fires(rule.conditions, table) for rule in rules]).reshape(len(rules), n)
    figures = [(rule.label, rule.vote, rule.bits) for rule in rules]
    expected = (tree_errors + table.n_classes - 1) / (n + table.n_classes)
    expected = 0.45 if expected > 0.5 else expected
    return search(mask, figures, table.classes, weighed.weight, table.n_classes, minimum, expected)


def search(
    mask: Mask,
    figures: list[tuple[int, int, float]],
    truth: Rows,
    weight: NDArray[Any],
    n_classes: int,
    minimum: float,
    expected: float,
) -> set[int]:
    """Return such rules; `figures` are the class, votes and bits of each."""
    n = len(weight)  # a constant of every message, but for rounding

    def n_wrong(chosen: set[int]) -> float:
        votes: NDArray[Any] = np.zeros((len(truth), n_classes))
        for r in chosen:
            votes[mask[r], figures[r][0]] += figures[r][1]
        return float(weight[(votes.argmax(axis=1) != truth) | (votes.max(axis=1) == 0)].sum())

    def length(chosen: set[int]) -> float:
        wrong = n_wrong(chosen)
        bits = sum(figures[r][2] for r in chosen) - sum(math.log2(k) for k in range(1, len(chosen) + 1))
        of_wrong = -math.log2(expected) + math.log2(max(n_classes - 1, 1))
        return round(100 * (SHARE * max(0.0, bits) + wrong * of_wrong - (n - wrong) * math.log2(1 - expected))) / 100

    chosen, last = start(mask, figures, truth, weight, n_classes, minimum), None
    while True:
        best, toggled, may_add = length(chosen), None, n_wrong(chosen) >= 0.001
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
    mask: Mask, figures: list[tuple[int, int, float]], truth: Rows, weight: NDArray[Any], n_classes: int, minimum: float
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
