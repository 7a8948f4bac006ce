"""Rules from an unpruned tree (Quinlan 1993, chapter 5), in the steps of Release 8's second program.

All counts are whole cases, so there is one arithmetic only: what the original stores is rounded to single precision.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arithmetic import LN2, Rows, logarithm
from .problem import Node, Table, Test
from .pruning import Limit

f32 = np.float32

HOPELESS = 0.7  # a rule with a larger estimated error never fires
EXHAUSTIVE = 10  # rules of a class up to which every subset is tried
THEORY_WEIGHT = f32(0.5)  # of the bits for rules against those for exceptions
NEARLY = 1e-6
IMPOSSIBLE = 1e6  # bits
KINDS = ("values", "threshold", "subset")

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Condition:
    """A test has this outcome; a missing value does not satisfy it."""

    test: Test
    branch: int

    def holds(self, table: Table) -> Mask:
        return self.test.branches(table) == self.branch

    def precedes(self, other: Condition) -> bool:
        a, b = self.test, other.test
        return (
            a.attribute < b.attribute
            or KINDS.index(a.kind) < KINDS.index(b.kind)
            or (a.attribute == b.attribute and a.cut < b.cut)
        )

    def resembles(self, other: Condition) -> bool:
        """Equal as far as the original looks: neither at the direction of a threshold nor at the block of a subset."""
        a, b = self.test, other.test
        if (a.attribute, a.kind) != (b.attribute, b.kind):
            return False
        return {"values": self.branch == other.branch, "threshold": a.cut == b.cut, "subset": a is b}[a.kind]


@dataclass
class Rule:
    """If all conditions hold, then the class; `error` is the estimated rate."""

    conditions: list[Condition]
    label: int
    error: float

    def fires(self, table: Table) -> Mask:
        if self.error > HOPELESS:
            return np.zeros(len(table), bool)
        return np.logical_and.reduce([condition.holds(table) for condition in self.conditions])

    def resembles(self, other: Rule) -> bool:
        return (
            self.label == other.label
            and len(self.conditions) == len(other.conditions)
            and all(a.resembles(b) for a, b in zip(self.conditions, other.conditions, strict=True))
        )


@dataclass
class RuleSet:
    """Rules in the order in which they are tried, and the class where none fires."""

    rules: list[Rule]
    default: int
    n_dropped: int = 0

    def classify(self, table: Table) -> Rows:
        answer = np.full(len(table), self.default)
        for rule in reversed(self.rules):
            answer[rule.fires(table)] = rule.label
        return answer

    def n_errors(self, table: Table) -> int:
        return int((self.classify(table) != table.classes).sum())


def find_rules(tree: Node, table: Table, confidence: float = 0.25) -> RuleSet:
    """The rules of an unpruned tree, from all training cases."""
    rules: list[Rule] = []
    for conditions, label in paths(tree):
        rule = generalise(table, conditions, label, Limit(confidence))
        if rule is None:
            continue
        same = next((other for other in rules if rule.resembles(other)), None)
        if same is None:
            rules.append(rule)
        else:
            same.error = max(same.error, rule.error)
    chosen = choose_rules(table, rules)
    return drop_harmful(table, put_in_order(table, chosen))


def paths(node: Node, above: tuple[Condition, ...] = ()) -> Iterator[tuple[list[Condition], int]]:
    """Conditions and class of every leaf with at least one case."""
    if node.test is None:
        if node.cases >= 1:
            yield list(above), node.label
        return
    for branch, child in enumerate(node.children):
        yield from paths(child, (*above, Condition(node.test, branch)))


# One rule


def generalise(table: Table, conditions: list[Condition], label: int, limit: Limit) -> Rule | None:
    """Leave out conditions as long as the estimated error does not rise; None if no useful rule remains."""
    n_class = int((table.classes == label).sum())
    default_error = f32(1 - (n_class + 1) / (len(table) + 2))

    def rates(covered: Mask) -> tuple[float, float, int]:
        n = int(covered.sum())
        if n == 0:
            return float(default_error), 0.0, 0
        errors = int((table.classes[covered] != label).sum())
        return float((f32(errors) + limit.extra(n, errors)) / f32(n)), float(f32(errors / n)), n

    path: list[Condition | None] = list(conditions)  # None: left out
    while True:
        left = [d for d, condition in enumerate(path) if condition is not None]
        fails = np.array([~conditions[d].holds(table) for d in left]).reshape(len(left), len(table))
        n_failed = fails.sum(axis=0)
        estimate, actual, n_covered = rates(n_failed == 0)
        without = [rates((n_failed - fail) == 0) for fail in fails]
        if not any(other <= estimate or other_actual <= actual for other, other_actual, _ in without):
            break
        lowest = min(other for other, _, _ in without)
        path[max(d for d, (other, _, _) in zip(left, without, strict=True) if other == lowest)] = None
    if not left or n_covered == 0 or estimate >= float(default_error):
        return None
    return Rule(put_in_places(path), label, estimate)


def put_in_places(path: list[Condition | None]) -> list[Condition]:
    """The conditions that are left, in an order that is not transitive, hence exactly so.

    What a place gets changes places with what was there, which may be a condition that was left out.
    """
    path = path.copy()
    for place in range(len(path) - path.count(None)):
        first, at = None, place
        for i, condition in enumerate(path[place:], place):
            if condition is not None and (first is None or condition.precedes(first)):
                first, at = condition, i
        path[place], path[at] = path[at], path[place]
    return [condition for condition in path if condition is not None]


# Choosing among the rules of a class by description length


def lg_number(n: int) -> np.float32:
    return f32(logarithm(n))


def lg_factorial(n: int) -> float:
    """A sum in double of logarithms in single precision."""
    return sum(float(lg_number(i)) for i in range(2, n + 1))


def attribute_bits(table: Table) -> list[np.float32]:
    """Bits to say a value of each attribute."""
    n, bits = len(table), []
    for column, n_values in zip(table.columns, table.n_values, strict=True):
        sum_of_bits = f32(0)
        if n_values:
            for count in np.bincount(column, minlength=n_values + 1)[1:].tolist():
                if count:
                    sum_of_bits = f32(float(sum_of_bits) + count / n * float(lg_number(n) - lg_number(count)))
        else:
            n_distinct = len(np.unique(column))  # missing counts as one
            sum_of_bits = f32(1) + lg_number(n_distinct) / f32(2) if n_distinct > 1 else f32(0)
        bits.append(sum_of_bits)
    return bits


def rule_bits(table: Table, rules: list[Rule]) -> list[np.float32]:
    bits = attribute_bits(table)
    total, choice = f32(0), f32(0)
    for b in bits:
        total += b
    for share in (float(b / total) for b in bits if b > 0):
        choice = f32(float(choice) - share * math.log(share) / LN2)

    def condition_bits(test: Test) -> np.float32:
        return choice + (f32(table.n_values[test.attribute]) if test.kind == "subset" else bits[test.attribute])

    def bits_of(rule: Rule) -> np.float32:
        n, sum_of_bits = len(rule.conditions), f32(0)
        for condition in rule.conditions:
            sum_of_bits += condition_bits(condition.test)
        return f32(float(sum_of_bits + lg_number(n)) - lg_factorial(n))

    return [bits_of(rule) for rule in rules]


def exception_bits(n: int, n_covered: int, false_positives: int, false_negatives: int) -> np.float32:
    """Bits to name the cases that the rules get wrong."""

    def part(cases: int, errors: int, expected: np.float32) -> float:
        if float(expected) <= NEARLY:
            return 0.0 if errors == 0 else IMPOSSIBLE
        if float(expected) >= cases - NEARLY:
            return 0.0 if errors == cases else IMPOSSIBLE
        rate = expected / f32(cases)
        return float(f32(-errors * logarithm(float(rate)) - (cases - errors) * logarithm(float(f32(1) - rate))))

    mean = f32((false_positives + false_negatives) / 2)
    few = n_covered <= n / 2
    positives = part(n_covered, false_positives, f32(false_positives) if few else mean)
    return f32(logarithm(n) + positives + part(n - n_covered, false_negatives, mean if few else f32(false_negatives)))


@dataclass
class Choice:
    """The rules of one class, among which a subset is sought."""

    covers: NDArray[np.int64]
    """(n_rules, n_cases)"""
    members: Mask
    bits: list[np.float32]

    def theory(self, chosen: Mask) -> np.float32:
        """Bits for the chosen rules, in any order."""
        total = f32(0)
        for bits in itertools.compress(self.bits, chosen):
            total += bits
        return f32(float(total) - lg_factorial(int(chosen.sum())))

    def total(self, theory: np.float32, n_positive: int, n_negative: int) -> np.float32:
        """Bits for rules and their exceptions; they cover so many cases of the class and of others."""
        n_missed = int(self.members.sum()) - n_positive
        return THEORY_WEIGHT * theory + exception_bits(len(self.members), n_positive + n_negative, n_negative, n_missed)

    def length(self, chosen: Mask) -> np.float32:
        covered = self.covers[chosen].any(axis=0)
        return self.total(self.theory(chosen), int((covered & self.members).sum()), int((covered & ~self.members).sum()))

    def reductions(self, chosen: Mask) -> NDArray[np.float32]:
        """By how many bits the total falls when a rule is taken in, or left out.

        The original does not sum the bits of the other rules anew.
        """
        depth, n_chosen = self.covers[chosen].sum(axis=0), int(chosen.sum())
        n_positive, n_negative = int((depth[self.members] > 0).sum()), int((depth[~self.members] > 0).sum())
        theory = self.theory(chosen)
        now = self.total(theory, n_positive, n_negative)
        reductions = []
        for rule, covers in enumerate(self.covers):
            alone = (covers > 0) & (depth == chosen[rule])  # covered by no other chosen rule
            n_right, n_wrong = int((alone & self.members).sum()), int((alone & ~self.members).sum())
            if chosen[rule]:
                toggled = theory - self.bits[rule] + lg_number(n_chosen)
                reductions.append(now - self.total(toggled, n_positive - n_right, n_negative - n_wrong))
            else:
                toggled = theory + self.bits[rule] - lg_number(n_chosen + 1)
                reductions.append(now - self.total(toggled, n_positive + n_right, n_negative + n_wrong))
        return np.array(reductions)


def choose_rules(table: Table, rules: list[Rule]) -> list[Rule]:
    """For every class, the subset of its rules that is described in the fewest bits."""
    bits = rule_bits(table, rules)
    random = uniform_numbers()
    chosen: list[Rule] = []
    for label in range(table.n_classes):
        own = [i for i, rule in enumerate(rules) if rule.label == label]
        if not own:
            continue
        covers = np.array([rules[i].fires(table) for i in own]).astype(np.int64)
        choice = Choice(covers, table.classes == label, [bits[i] for i in own])
        best = every_subset(choice) if len(own) <= EXHAUSTIVE else hill_climbs(choice, random)
        chosen += [rules[i] for i in itertools.compress(own, best)]
    return chosen


def every_subset(choice: Choice) -> Mask:
    best, least = np.zeros(len(choice.bits), bool), math.inf
    for number in range(1 << len(choice.bits)):
        chosen = np.array([number >> i & 1 for i in range(len(choice.bits))], bool)
        length = choice.length(chosen)
        if length < least:
            best, least = chosen, length
    return best


def hill_climbs(choice: Choice, random: Callable[[], float]) -> Mask:
    """The best set seen on eleven climbs, which start with none, a tenth, ..., all of the rules, drawn by lot."""
    best, least = np.zeros(len(choice.bits), bool), math.inf
    for tenths in range(11):
        chosen = np.array([random() < float(f32(tenths / 10)) for _ in choice.bits])
        while True:
            length = choice.length(chosen)
            if length < least:
                best, least = chosen.copy(), length
            reductions = choice.reductions(chosen)
            if not reductions.max() > 0:
                break
            chosen[reductions.argmax()] ^= True
    return best


def uniform_numbers() -> Callable[[], float]:
    """Numbers in [0, 1) from the additive feedback generator of the C library, with its default seed."""
    numbers = random_integers()
    return lambda: next(numbers) / 2**31


def random_integers(seed: int = 1) -> Iterator[int]:
    """r[i] = r[i - 3] + r[i - 31] mod 2^32, of which the lowest bit is dropped."""
    state = [seed]
    for _ in range(30):
        state.append(16807 * state[-1] % (2**31 - 1))
    state += state[:3]
    for i in itertools.count(34):
        state.append((state[-3] + state[-31]) % 2**32)
        del state[:-31]
        if i >= 344:
            yield state[-1] >> 1


# Order, default, and a last look


def put_in_order(table: Table, rules: list[Rule]) -> RuleSet:
    """Classes by the false positives of their rules, the rules of a class by estimated error."""
    of_class: list[list[Rule]] = [[rule for rule in rules if rule.label == label] for label in range(table.n_classes)]
    covered = [np.any([rule.fires(table) for rule in own] or [np.zeros(len(table), bool)], axis=0) for own in of_class]
    uncovered = np.ones(len(table), bool)
    waiting = list(range(table.n_classes))
    ordered: list[Rule] = []
    while waiting:
        label = min(waiting, key=lambda k: int((covered[k] & uncovered & (table.classes != k)).sum()))
        ordered += sorted(of_class[label], key=lambda rule: rule.error)
        uncovered &= ~covered[label]
        waiting.remove(label)
    left = np.bincount(table.classes[uncovered], minlength=table.n_classes)
    overall = np.bincount(table.classes, minlength=table.n_classes)
    default = max(range(table.n_classes), key=lambda k: (left[k], overall[k], -k))
    return RuleSet(ordered, default)


def drop_harmful(table: Table, found: RuleSet) -> RuleSet:
    """Take out, one at a time, the first rule that makes more cases wrong than right, compared with what would fire next."""
    rules = found.rules.copy()
    while (harmful := first_harmful(table, rules, found.default)) is not None:
        rules.pop(harmful)
    return RuleSet(rules, found.default, len(found.rules) - len(rules))


def first_harmful(table: Table, rules: list[Rule], default: int) -> int | None:
    if not rules:
        return None
    fired = np.array([rule.fires(table) for rule in rules])
    labels = np.array([rule.label for rule in rules] + [default])
    first = np.where(fired.any(axis=0), fired.argmax(axis=0), len(rules))
    cases = np.flatnonzero(first < len(rules))
    fired[first[cases], cases] = False
    second = np.where(fired.any(axis=0), fired.argmax(axis=0), len(rules))
    for rule in range(len(rules)):
        here = (first == rule) & (labels[second] != rules[rule].label)
        better = int((here & (table.classes == rules[rule].label)).sum())
        worse = int((here & (table.classes == labels[second])).sum())
        if worse > better:
            return rule
    return None
