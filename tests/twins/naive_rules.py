"""The slow, obvious twin of the rule kernels: Quinlan's rules from a tree, written out on lists of samples.

A condition is the node it leads to (the edge from its parent).  Single precision (`f32`) stands where the original stores a
number; every set of samples is a set, every total is computed anew.  Nothing of the compiled core is used.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fasttree._model.arrays import CATEGORY, THRESHOLD
from fasttree._model.tree import Tree

f32 = np.float32

NEVER_FIRES = f32(0.7)  # a rule of a larger error estimate is as good as absent
QUANTILES = [(0, 4.0), (0.001, 3.09), (0.005, 2.58), (0.01, 2.33), (0.05, 1.65), (0.10, 1.28), (0.20, 0.84), (0.40, 0.25), (1, 0)]


@dataclass(frozen=True)
class Problem:
    """Training samples in the encoded form of the engine; `n_categories` is 0 where a column is continuous."""

    columns: Sequence[np.ndarray]
    n_categories: Sequence[int]
    y: np.ndarray
    n_classes: int
    confidence: float = 0.25
    redundancy: float = 1.0
    significance: float | None = None

    @property
    def n_samples(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class NaiveRule:
    """Nodes whose edges are the conditions, class, and what the rule does on the training samples."""

    tree: Tree
    nodes: tuple[int, ...]
    label: int
    fires: frozenset[int]
    estimate: np.float32

    @property
    def decides_on(self) -> frozenset[int]:
        return self.fires if self.estimate <= NEVER_FIRES else frozenset()

    def wrong(self, problem: Problem) -> frozenset[int]:
        return frozenset(i for i in self.fires if problem.y[i] != self.label)


def lg(x: float) -> float:
    return math.log(x) / math.log(2) if x > 0 else 0.0


# Section "Pruning decision trees" of the book, in the form of the program


def quantile(level: np.float32) -> np.float32:
    """By straight lines between the entries of the table, in single precision."""
    i = next(i for i in range(1, len(QUANTILES)) if level <= f32(QUANTILES[i][0]))
    (low, z_low), (high, z_high) = QUANTILES[i - 1 : i + 1]
    return f32(z_low) + (f32(z_high) - f32(z_low)) * (level - f32(low)) / (f32(high) - f32(low))


def added_errors(n: int, e: int, level: np.float32) -> np.float32:
    """Errors that are expected beyond the e observed in n samples."""
    z = quantile(level)
    q, confidence, width = float(z * z), float(level), float(f32(n) + z * z)
    if e == 0:
        return f32(n * (1 - math.exp(math.log(confidence) / n)))
    if e + 0.5 >= n:
        return f32(0.67 * (n - e))
    p = f32((e + 0.5 + q / 2 + math.sqrt(q * ((e + 0.5) * (1 - (e + 0.5) / n) + q / 4))) / width)
    return f32(n) * p - f32(e)


# Rules from leaves


def satisfies(tree: Tree, node: int, cell: Any) -> bool:
    """Whether a cell follows the edge that leads to this node; a missing one follows none."""
    parent = int(tree.parent[node])
    branch = node - int(tree.first_child[parent])
    if cell != cell or (tree.kind[parent] != THRESHOLD and cell == 0):
        return False
    if tree.kind[parent] == THRESHOLD:
        return bool((float(cell) > tree.threshold[parent]) == bool(branch))
    if tree.kind[parent] == CATEGORY:
        return int(cell) - 1 == branch
    entries = slice(*tree.categories_start[parent : parent + 2])
    where = np.flatnonzero(tree.categories_code[entries] == cell)
    return bool(where.size and tree.categories_branch[entries][where[0]] == branch)


def leaves_in_order(tree: Tree, node: int = 0) -> Iterator[int]:
    if tree.n_branches[node] == 0:
        if f32(tree.weight[node]) >= 1:
            yield node
        return
    for branch in range(tree.n_branches[node]):
        yield from leaves_in_order(tree, int(tree.first_child[node]) + branch)


def path_to(tree: Tree, node: int) -> list[int]:
    path = []
    while node > 0:
        path.insert(0, node)
        node = int(tree.parent[node])
    return path


def pessimistic(problem: Problem, total: int, errors: int, if_none: np.float32) -> tuple[np.float32, np.float32]:
    """Pessimistic and actual error rate."""
    if total == 0:
        return if_none, f32(0)
    added = added_errors(total, errors, f32(problem.confidence))
    return (f32(errors) + added) / f32(total), f32(errors) / f32(total)


def fisher_tail(e0: int, r0: int, e1: int, r1: int) -> float:
    """One-sided exact probability of as few or fewer than e0 errors among e0 + r0, given the margins."""
    n0, errors, n = e0 + r0, e0 + e1, e0 + r0 + e1 + r1
    ways = sum(math.comb(errors, e) * math.comb(n - errors, n0 - e) for e in range(max(0, n0 + errors - n), e0 + 1))
    return ways / math.comb(n, n0)


def default_error(problem: Problem, label: int) -> np.float32:
    n_of_class = int((problem.y == label).sum())
    return f32(1 - (n_of_class + 1) / (problem.n_samples + 2))


def prune(problem: Problem, tree: Tree, leaf: int, holds: dict[int, frozenset[int]]) -> NaiveRule | None:
    """Drop conditions while that does not make the rule worse; None if nothing useful is left."""
    label = int(tree.value[leaf].argmax())
    path: list[int | None] = list(path_to(tree, leaf))  # None: dropped
    everything = frozenset(range(problem.n_samples))
    at_worst = default_error(problem, label)

    def fires_on(kept: Sequence[int]) -> frozenset[int]:
        return everything.intersection(*(holds[node] for node in kept))

    def count(fires: frozenset[int]) -> tuple[int, int]:
        return len(fires), sum(problem.y[i] != label for i in fires)

    while True:
        nodes = [node for node in path if node is not None]
        fires = fires_on(nodes)
        t0, e0 = count(fires)
        estimate, actual = pessimistic(problem, t0, e0, at_worst)
        best, least, may_drop = None, None, False
        for d in range(len(nodes)):
            t, e = count(fires_on(nodes[:d] + nodes[d + 1 :]))
            without, actual_without = pessimistic(problem, t, e, at_worst)
            if least is None or without <= least:
                best, least = d, without
            may_drop |= without <= estimate or actual_without <= actual
            if problem.significance is not None:
                may_drop |= fisher_tail(e0, t0 - e0, e - e0, (t - t0) - (e - e0)) > problem.significance
        if not may_drop:
            break
        path[path.index(nodes[best])] = None
    if not nodes or t0 == 0 or estimate >= at_worst:
        return None
    return NaiveRule(tree, tuple(in_order(tree, path)), label, fires, estimate)


def in_order(tree: Tree, path: list[int | None]) -> list[int]:
    """Swap into each place the condition that no later one comes before; the relation is the original's, and not transitive."""

    def before(a: int, b: int) -> bool:
        (feature_a, kind_a, cut_a), (feature_b, kind_b, cut_b) = place(tree, a), place(tree, b)
        return feature_a < feature_b or kind_a < kind_b or (feature_a == feature_b and cut_a < cut_b)

    path = list(path)
    for i in range(len(path) - path.count(None)):
        rest = [node for node in path[i:] if node is not None]
        j = path.index(functools.reduce(lambda first, other: other if before(other, first) else first, rest))
        path[i], path[j] = path[j], path[i]
    return [node for node in path if node is not None]


def place(tree: Tree, node: int) -> tuple[int, int, float]:
    """What the order of conditions looks at: feature, kind of test, threshold."""
    parent = int(tree.parent[node])
    kind = {CATEGORY: 1, THRESHOLD: 2}.get(int(tree.kind[parent]), 3)
    return int(tree.feature[parent]), kind, float(tree.threshold[parent]) if kind == 2 else 0.0


def looks_like(a: NaiveRule, b: NaiveRule) -> bool:
    """The original's equality, blind for the direction of a threshold and the branch of a subset test."""

    def seen(rule: NaiveRule) -> list[Any]:
        keys = []
        for node in rule.nodes:
            parent = int(rule.tree.parent[node])
            feature, kind, threshold = place(rule.tree, node)
            keys.append(
                (feature, kind, (node - int(rule.tree.first_child[parent]), threshold, (id(rule.tree), parent))[kind - 1])
            )
        return keys

    return a.label == b.label and seen(a) == seen(b)


def add_unless_known(rules: list[NaiveRule], rule: NaiveRule) -> None:
    for i, earlier in enumerate(rules):
        if looks_like(rule, earlier):
            rules[i] = replace(earlier, estimate=max(earlier.estimate, rule.estimate))
            return
    rules.append(rule)


def rules_of(problem: Problem, tree: Tree) -> list[NaiveRule]:
    holds = {
        node: frozenset(
            i for i in range(problem.n_samples) if satisfies(tree, node, problem.columns[tree.feature[tree.parent[node]]][i])
        )
        for node in range(1, tree.node_count)
    }
    rules: list[NaiveRule] = []
    for leaf in leaves_in_order(tree):
        rule = prune(problem, tree, leaf, holds)
        if rule is not None:
            add_unless_known(rules, rule)
    return rules


# The choice of rules by description length


def test_bits(problem: Problem) -> tuple[np.float32, list[np.float32]]:
    """Bits to say which feature, and to say which value or threshold of each."""
    n = problem.n_samples
    value_bits = []
    for column, n_categories in zip(problem.columns, problem.n_categories, strict=True):
        bits = f32(0)
        if n_categories:
            for count in np.bincount(column, minlength=n_categories + 1)[1:].tolist():
                if count:
                    bits = f32(float(bits) + (count / n) * float(f32(lg(n)) - f32(lg(count))))
        else:
            distinct = len(np.unique(column.astype(np.float32)))
            bits = f32(1) + f32(lg(distinct)) / f32(2) if distinct > 1 else f32(0)
        value_bits.append(bits)
    total = f32(0)
    for bits in value_bits:
        total = total + bits
    which = f32(0)
    for bits in value_bits:
        if total > 0 and bits > 0:
            share = float(bits / total)
            which = f32(float(which) - share * math.log(share) / math.log(2))
    return which, value_bits


def rule_bits(problem: Problem, rule: NaiveRule, which: np.float32, value_bits: Sequence[np.float32]) -> np.float32:
    bits = f32(0)
    for node in rule.nodes:
        feature, kind, _ = place(rule.tree, node)
        of_test = f32(problem.n_categories[feature]) if kind == 3 else value_bits[feature]
        bits = bits + (which / f32(problem.redundancy) + of_test)
    k = len(rule.nodes)
    return f32(float(bits + f32(lg(k))) - log_factorial(k))


def log_factorial(k: int) -> float:
    return sum(float(f32(lg(i))) for i in range(2, k + 1))


def biased(n: int, e: int, expected: np.float32) -> np.float32:
    """Bits to tell which e of n, when `expected` were to be expected."""
    if expected <= 1e-6:
        return f32(0 if e == 0 else 1e6)
    if expected >= n - 1e-6:
        return f32(0 if e == n else 1e6)
    rate = f32(expected / f32(n))
    return f32(-e * lg(rate) - (n - e) * lg(f32(1 - rate)))


def exception_bits(n: int, fired: int, fp: int, fn: int) -> np.float32:
    mean = f32(0.5 * (fp + fn))
    if fired > n - fired:
        in_fired, in_rest = mean, f32(fn)
    else:
        in_fired, in_rest = f32(fp), mean
    return f32(lg(n) + float(biased(fired, fp, in_fired)) + float(biased(n - fired, fn, in_rest)))


class ClassRules:
    """The rules of one class, and the length of any selection among them."""

    def __init__(self, problem: Problem, rules: list[NaiveRule], label: int, which: np.float32, value_bits: list[np.float32]):
        self.problem, self.rules, self.label = problem, rules, label
        self.bits = [rule_bits(problem, rule, which, value_bits) for rule in rules]
        self.fires = [rule.decides_on for rule in rules]
        self.members = frozenset(np.flatnonzero(problem.y == label).tolist())

    def exceptions(self, covered: frozenset[int]) -> np.float32:
        fp = len(covered - self.members)
        return exception_bits(self.problem.n_samples, len(covered), fp, len(self.members - covered))

    def covered(self, selected: Sequence[bool]) -> frozenset[int]:
        return frozenset().union(*itertools.compress(self.fires, selected))

    def theory(self, selected: Sequence[bool]) -> np.float32:
        total = f32(0)
        for bits in itertools.compress(self.bits, selected):
            total = total + bits
        return f32(float(total) - log_factorial(sum(selected)))

    def length(self, selected: Sequence[bool]) -> np.float32:
        return f32(0.5) * self.theory(selected) + self.exceptions(self.covered(selected))

    def length_after(self, selected: Sequence[bool], rule: int) -> np.float32:
        """With a rule toggled: the bits of the others are not summed anew."""
        other = [s != (i == rule) for i, s in enumerate(selected)]
        if selected[rule]:
            theory = self.theory(selected) - self.bits[rule] + f32(lg(sum(selected)))
        else:
            theory = self.theory(selected) + self.bits[rule] - f32(lg(sum(other)))
        return f32(0.5) * theory + self.exceptions(self.covered(other))


def draws() -> Iterator[float]:
    """Numbers in [0, 1): the C library's `random()` as it starts without a seed (additive feedback, 31 words)."""
    state = [1]
    for _ in range(30):
        state.append(16807 * state[-1] % (2**31 - 1))
    state += state[:3]
    for i in itertools.count(len(state)):
        state.append((state[-3] + state[-31]) % 2**32)
        if i >= 344:
            yield (state[-1] >> 1) / 2**31


def select(candidates: ClassRules, random: Iterator[float]) -> list[NaiveRule]:
    """Best selection: of all where they are few, else of all that eleven climbs see."""
    n = len(candidates.rules)
    best, least = [False] * n, None

    def consider(selected: list[bool]) -> None:
        nonlocal best, least
        length = candidates.length(selected)
        if least is None or length < least:
            best, least = list(selected), length

    if n <= 10:
        for number in range(2**n):
            consider([bool(number >> i & 1) for i in range(n)])
        return list(itertools.compress(candidates.rules, best))
    for tenths in range(11):
        selected = [next(random) < float(f32(tenths / 10)) for _ in range(n)]
        while True:
            consider(selected)
            now = candidates.length(selected)
            reductions = [now - candidates.length_after(selected, i) for i in range(n)]
            step = max(range(n), key=reductions.__getitem__)
            if not reductions[step] > 0:
                break
            selected[step] = not selected[step]
    return list(itertools.compress(candidates.rules, best))


# Order, default, and a last look


def arrange(problem: Problem, chosen: list[list[NaiveRule]]) -> tuple[list[NaiveRule], int]:
    """Rules in order of use, and the default class."""
    covered: frozenset[int] = frozenset()
    ordered = []
    waiting = list(range(problem.n_classes))
    while waiting:

        def false_positives(label: int, covered: frozenset[int] = covered) -> int:
            fires = frozenset().union(*(rule.decides_on for rule in chosen[label])) - covered
            return sum(problem.y[i] != label for i in fires)

        label = min(waiting, key=false_positives)
        waiting.remove(label)
        ordered += sorted(chosen[label], key=lambda rule: rule.estimate)
        covered = covered.union(*(rule.decides_on for rule in chosen[label]))
    counts = np.bincount(problem.y, minlength=problem.n_classes)
    uncovered = np.bincount([problem.y[i] for i in range(problem.n_samples) if i not in covered], minlength=problem.n_classes)
    default = max(range(problem.n_classes), key=lambda k: (uncovered[k], counts[k], -k))
    return ordered, default


def drop(problem: Problem, rules: list[NaiveRule], default: int) -> list[NaiveRule]:
    """Drop the first rule that does more harm than good, again and again."""
    rules = list(rules)
    while True:
        better, worse = [0] * len(rules), [0] * len(rules)
        for i in range(problem.n_samples):
            firing = [j for j, rule in enumerate(rules) if i in rule.fires]
            if firing:
                label = rules[firing[0]].label
                other = rules[firing[1]].label if len(firing) > 1 else default
                if label != other:
                    better[firing[0]] += int(problem.y[i] == label)
                    worse[firing[0]] += int(problem.y[i] == other)
        harmful = [j for j in range(len(rules)) if worse[j] > better[j]]
        if not harmful:
            return rules
        del rules[harmful[0]]


def choose(problem: Problem, rules: list[NaiveRule], random: Iterator[float]) -> tuple[list[NaiveRule], int]:
    """Rules in order of use, and the default class."""
    which, value_bits = test_bits(problem)
    chosen = []
    for label in range(problem.n_classes):
        of_class = [rule for rule in rules if rule.label == label]
        chosen.append(select(ClassRules(problem, of_class, label, which, value_bits), random))
    return arrange(problem, chosen)


def induce(problem: Problem, trees: Sequence[Tree]) -> tuple[list[NaiveRule], int, int]:
    """Rules in order of use, default class, and how many rules the last look dropped."""
    random = draws()
    pools = [rules_of(problem, tree) for tree in trees]
    pool = pools[0]
    if len(trees) > 1:
        pool = []
        for rules in pools:
            for rule in choose(problem, rules, random)[0]:
                add_unless_known(pool, rule)
    ordered, default = choose(problem, pool, random)
    in_use = [rule for rule in ordered if rule.estimate <= NEVER_FIRES]
    kept = drop(problem, in_use, default)
    return kept, default, len(in_use) - len(kept)
