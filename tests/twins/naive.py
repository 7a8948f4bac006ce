"""The slow, obvious twin of the growing engine.

One recursive function grows the tree of any recipe from plain lists of samples: every candidate split is written out as
lists of samples, scored by the definition, and the best one by the tie rule is taken.  Nothing is sorted once, counted by
subtraction or cached, and nothing of the compiled core is used, so that the two can be compared node for node.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import naive_surrogates
import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, chi2_contingency

from fasttree._learn.constraints import FREE, Constraints
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe

CONTINUOUS, ORDINAL, NOMINAL = 0, 1, 2

Part = tuple[int, float]
"""A sample in a node: its row number and the weight of the part of it that is here."""

Bounds = tuple[float, float]
"""What the ordered values of the nodes below must not leave."""

Missing = int | Literal["shares", "stop"]
"""Where a missing value goes: a branch, every branch by its weight, or nowhere (the sample stays)."""

OF_NUMBERS = ("squared_error", "absolute_error", "poisson", "fifth_root")
RELEASE8_EPSILON = 0.001
RELEASE8_GAP = 0.00001
EXHAUSTIVE_CATEGORIES = 10


@dataclass
class Node:
    """A node; a leaf has kind "leaf" and no children."""

    n_samples: int
    weight: float
    value: list[float]
    impurity: float
    kind: str = "leaf"
    feature: int = -1
    threshold: float = math.nan
    table: dict[int, int] = field(default_factory=dict)
    cuts: list[float] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    missing: Missing = "stop"
    gain: float = 0.0
    surrogates: list[naive_surrogates.Surrogate] = field(default_factory=list)


@dataclass(frozen=True)
class Problem:
    """What stays the same in all nodes."""

    columns: Sequence[NDArray[Any]]
    kinds: Sequence[int]
    n_categories: Sequence[int]
    y: NDArray[Any]
    n_classes: Any
    recipe: Recipe
    limits: Limits
    root: tuple[Part, ...]
    constraints: Constraints = FREE

    @cached_property
    def middle(self) -> float:
        """What the engine counts targets from, so that both round alike: for squared error the middle of their range."""
        if self.recipe.impurity != "squared_error" or self.y.ndim > 1:
            return 0.0
        targets = [self.y[row] for row, _ in self.root]
        return float(0.5 * min(targets) + 0.5 * max(targets))

    @cached_property
    def targets(self) -> list[Problem]:
        """The problem of each target alone; `n_classes` is a sequence where there are several."""
        if self.y.ndim == 1:
            return [self]
        widths = self.n_classes if isinstance(self.n_classes, Sequence) else [self.n_classes] * self.y.shape[1]
        return [replace(self, y=column, n_classes=width) for column, width in zip(self.y.T, widths, strict=True)]

    @cached_property
    def answers(self) -> list[Any]:
        """`y` as Python's numbers, which are faster to read one by one."""
        return list(self.y.tolist())

    def answer(self, row: int) -> tuple[Any, ...]:
        return tuple(np.atleast_1d(self.y[row]))

    @cached_property
    def divides(self) -> bool:
        """Whether samples are divided, by a recipe that knows no least weight of a branch."""
        rows, features = [row for row, _ in self.root], range(len(self.columns))
        missing = any(not self.known(row, feature) for row in rows for feature in features)
        return missing and self.recipe.missing == "fractional" and not self.recipe.release8

    @cached_property
    def least_of_parts(self) -> float:
        """One sample: of average weight, unless the weights are whole and may count samples."""
        weights = [w for _, w in self.root]
        return 1.0 if all(w.is_integer() for w in weights) else math.fsum(weights) / len(weights)

    def known(self, row: int, feature: int) -> bool:
        value = self.columns[feature][row]
        return not math.isnan(value) if self.kinds[feature] == CONTINUOUS else bool(value != 0)

    def form(self, feature: int) -> str:
        """How the recipe splits this feature."""
        kind = self.kinds[feature]
        return {CONTINUOUS: self.recipe.continuous, ORDINAL: self.recipe.ordinal, NOMINAL: self.recipe.nominal}[kind]


@dataclass(frozen=True)
class Split:
    """A candidate: the samples of every branch, and how good that is."""

    feature: int
    kind: str
    branches: list[list[Part]]
    order: tuple[Any, ...]
    """The one with the smaller order wins, if two candidates of one feature tie."""
    threshold: float = math.nan
    table: dict[int, int] = field(default_factory=dict)
    cuts: list[float] = field(default_factory=list)
    missing: Missing = "stop"
    left_out: list[Part] = field(default_factory=list)
    """Samples with a missing value that do not count for the gain: they go where `missing` says."""
    gain: float = 0.0
    split_info: float = 0.0
    single_gain: np.float32 = np.float32(0)
    """Release 8's own figures for the choice."""
    single_info: np.float32 = np.float32(0)
    is_half: bool = False
    """The first half of many categories: a candidate only where these are all alike."""


def grow(
    columns: Sequence[NDArray[Any]],
    kinds: Sequence[int],
    n_categories: Sequence[int],
    y: NDArray[Any],
    n_classes: int,
    sample_weight: NDArray[np.float64] | None,
    recipe: Recipe,
    limits: Limits,
    constraints: Constraints = FREE,
) -> Node:
    """Grow the tree of `recipe` and return its root.

    Parameters
    ----------
    columns : sequence of arrays, each (n_samples,)
        Continuous: float64, NaN = missing.  Ordinal and nominal: codes, 0 = missing.
    kinds : sequence of {0, 1, 2}
        Continuous, ordinal, nominal.
    n_categories : sequence of int
        Declared categories of each feature (0 for a continuous one).
    y : array (n_samples,)
        Class codes 0 to `n_classes` - 1, or targets when the impurity is one `OF_NUMBERS`.
    n_classes : int
        Declared classes; 1 for regression.
    sample_weight : float64 array (n_samples,) or None
        None counts every sample once.  Samples of weight 0 take no part.
    recipe, limits : Recipe, Limits
        `limits.max_features` is not supported: the twin looks at every feature.
    constraints : Constraints
        What predictions and paths must keep.
    """
    weights = [1.0] * len(y) if sample_weight is None else [float(w) for w in sample_weight]
    root = tuple((row, w) for row, w in enumerate(weights) if w > 0)
    problem = Problem(columns, kinds, n_categories, y, n_classes, recipe, limits, root, constraints)
    return grow_node(problem, list(root), depth=0, used=frozenset(), path=frozenset(), bounds=(-math.inf, math.inf))


def grow_node(
    problem: Problem, parts: list[Part], depth: int, used: frozenset[int], path: frozenset[int], bounds: Bounds
) -> Node:
    """`used`: features that a branch-per-category split above has used up; `path`: all that are tested above."""
    node = within(problem, describe(problem, parts), bounds)
    if must_be_leaf(problem, node, parts, depth):
        return node
    split = best_split(problem, parts, used, path, bounds)
    if split is None:
        return node
    if problem.form(split.feature) in ("declared", "present") and split.kind != "known":
        used |= {split.feature}
    stand_ins = []
    branches = hand_down(split)
    if problem.recipe.missing == "surrogate":
        stand_ins = naive_surrogates.surrogates(problem, split)
        branches = naive_surrogates.hand_down(problem, split, stand_ins)
        split = replace(split, missing=naive_surrogates.heavier(problem, split))
    if independence_probability(problem, branches) > (problem.limits.split_p_value or 1.0):
        return node
    children = [
        grow_node(problem, branch, depth + 1, used, path | {split.feature}, narrower) if branch else empty_leaf(node)
        for branch, narrower in zip(branches, bounds_below(problem, split, bounds), strict=True)
    ]
    errors = math.fsum(map(training_errors, children))
    if problem.recipe.release8 and errors >= training_errors(node) - RELEASE8_EPSILON:
        # Quinlan's collapse: a split that does not reduce the training errors is undone, from the bottom up
        return node
    return replace(
        node,
        kind=split.kind,
        feature=split.feature,
        threshold=split.threshold,
        table=split.table,
        cuts=split.cuts,
        children=children,
        missing=split.missing,
        gain=split.gain,
        surrogates=stand_ins,
    )


def describe(problem: Problem, parts: list[Part]) -> Node:
    """The node of these samples, as a leaf."""
    total = weight(parts)
    numeric = problem.recipe.impurity in OF_NUMBERS
    value = [v for one in problem.targets for v in ([centre(one, parts)] if numeric else class_weights(one, parts))]
    return Node(len(parts), total, value, impurity(problem, parts))


def empty_leaf(parent: Node) -> Node:
    """A declared category without samples is answered as its parent would be."""
    return Node(0, 0.0, list(parent.value), parent.impurity)


def must_be_leaf(problem: Problem, node: Node, parts: list[Part], depth: int) -> bool:
    limits = problem.limits
    return (
        depth == limits.max_depth
        or len({problem.answer(row) for row, _ in parts}) == 1
        or node.impurity <= limits.min_impurity
        or node.n_samples < limits.min_samples_split
        or node.n_samples < 2 * limits.min_samples_leaf
        or (problem.recipe.release8 and not reaches(node.weight, 2 * limits.min_branch_weight))
        # parts of samples that do not even make up one: or a tree of a few samples might have any number of nodes
        or (problem.divides and not reaches(node.weight, problem.least_of_parts))
    )


def training_errors(node: Node) -> float:
    """Weight of the training samples that are not of their leaf's first heaviest class."""
    if node.children:
        return math.fsum(map(training_errors, node.children))
    return node.weight - max(node.value) if node.weight > 0 else 0.0


# Measures


def weight(parts: Iterable[Part]) -> float:
    return math.fsum([w for _, w in parts])


def reaches(total: float, limit: float) -> bool:
    """total >= limit for sums of weights, where thirds may miss a whole by rounding."""
    return total >= limit * (1 - 1e-9)


def independence_probability(problem: Problem, branches: list[list[Part]]) -> float:
    """Of a chi-square statistic as large as that of branches x classes, if they are independent; 1 where nothing can depend."""
    if problem.limits.split_p_value is None:
        return 0.0
    counts = np.array([class_weights(problem, branch) for branch in branches if branch])
    counts = counts[:, counts.any(axis=0)]
    return float(chi2_contingency(counts, correction=False).pvalue)


def class_weights(problem: Problem, parts: list[Part]) -> list[float]:
    by_class: list[list[float]] = [[] for _ in range(problem.n_classes)]
    for row, w in parts:
        by_class[problem.answers[row]].append(w)
    return list(map(math.fsum, by_class))


def entropy(weights: Iterable[float]) -> float:
    """In bits; 0 log 0 = 0."""
    present = [w for w in weights if w > 0]
    total = math.fsum(present)
    return -math.fsum(w / total * math.log2(w / total) for w in present) + 0.0


def impurity(problem: Problem, parts: list[Part]) -> float:
    """Impurity per unit weight; of several targets the mean, or the fifth root of their mean variance."""
    if len(problem.targets) > 1:
        if problem.recipe.impurity == "fifth_root":
            return (math.fsum(impurity(target, parts) ** 5 for target in problem.targets) / len(problem.targets)) ** 0.2
        return math.fsum(impurity(target, parts) for target in problem.targets) / len(problem.targets)
    if len({problem.answers[row] for row, _ in parts}) == 1:
        return 0.0
    total = weight(parts)
    if problem.recipe.impurity in OF_NUMBERS:
        answer = centre(problem, parts)
        mean = math.fsum([w * deviation(problem.recipe.impurity, problem.answers[row], answer) for row, w in parts]) / total
        return mean**0.2 if problem.recipe.impurity == "fifth_root" else mean
    counts = class_weights(problem, parts)
    if problem.recipe.impurity == "entropy":
        return entropy(counts)
    shares = [count / total for count in counts]
    if problem.recipe.impurity == "gini":
        return 1 - math.fsum(p * p for p in shares)
    return 1 - max(shares)


def centre(problem: Problem, parts: list[Part]) -> float:
    """What a leaf answers: the mean of the targets, or their median."""
    if problem.recipe.impurity == "absolute_error":
        return median([(float(problem.answers[row]), w) for row, w in parts])
    return math.fsum([w * problem.answers[row] for row, w in parts]) / weight(parts)


def median(values: list[tuple[float, float]]) -> float:
    """The middle of the numbers with half of the weight on either side."""
    in_order = sorted(values)
    weights = whole([w for _, w in in_order])
    total = sum(weights)
    up_to = list(itertools.accumulate(weights))
    lower = next(v for (v, _), sum_to in zip(in_order, up_to, strict=True) if 2 * sum_to >= total)
    before = [0, *up_to[:-1]]
    upper = next(v for (v, _), sum_before in zip(in_order[::-1], before[::-1], strict=True) if 2 * (total - sum_before) >= total)
    return lower / 2 + upper / 2


def whole(weights: list[float]) -> list[int]:
    """The weights in a unit so small that each is a whole number: integers add up exactly, and faster than fractions."""
    ratios = [w.as_integer_ratio() for w in weights]
    unit = max(denominator for _, denominator in ratios)  # all are powers of two
    return [numerator * (unit // denominator) for numerator, denominator in ratios]


def deviation(impurity: str, y: float, answer: float) -> float:
    if impurity in ("squared_error", "fifth_root"):
        return (y - answer) ** 2
    if impurity == "absolute_error":
        return abs(y - answer)
    return (y * math.log(y / answer) if y > 0 else 0.0) - y + answer


def score(problem: Problem, split: Split) -> Split:
    """The split with its gain per unit weight of the node and its split information.

    The gain is that of the samples that are not left out, times their share of the node's weight.  Those that will be divided are
    one more outcome for the split information (Quinlan 1993, section 3).
    """
    placed = [part for branch in split.branches for part in branch]
    total, placed_weight = weight(placed + split.left_out), weight(placed)
    after = math.fsum(weight(branch) / placed_weight * impurity(problem, branch) for branch in split.branches if branch)
    divided = weight(split.left_out) if split.missing == "shares" else 0.0
    # no impurity used here can rise by a split: below 0 is rounding
    gain = max(0.0, placed_weight / total * (impurity(problem, placed) - after))
    return replace(split, gain=gain, split_info=entropy([divided, *map(weight, split.branches)]))


def hand_down(split: Split) -> list[list[Part]]:
    """The samples of every child; a part of each left-out sample goes to every branch that has samples, or all to one."""
    if isinstance(split.missing, int):
        return [branch + (split.left_out if b == split.missing else []) for b, branch in enumerate(split.branches)]
    total = math.fsum(map(weight, split.branches))
    return [
        branch + [(row, w * (weight(branch) / total)) for row, w in split.left_out] if branch else [] for branch in split.branches
    ]


# Choice of the split


def best_split(problem: Problem, parts: list[Part], used: frozenset[int], path: frozenset[int], bounds: Bounds) -> Split | None:
    """The winner among all features, or None if there is no admissible split."""
    node_impurity = impurity(problem, parts)
    by_feature = [
        candidates(problem, parts, feature, used) if may_follow(problem, feature, path) else []
        for feature in range(len(problem.columns))
    ]
    if problem.recipe.release8:
        usable = [release8_best(problem, splits, parts) for splits in by_feature]
        winner = release8_winner(problem, [split for split in usable if split is not None], node_impurity)
    else:
        allowed = [
            [split for split in splits if leaves_are_large_enough(problem, split) and is_in_order(problem, split, bounds)]
            for splits in by_feature
        ]
        allowed = [halves_or_others(problem, splits, node_impurity) for splits in allowed]
        if problem.recipe.rank == "gain":
            winner = first_best(itertools.chain(*allowed), lambda split: split.gain, node_impurity)
        else:
            finalists = [first_best(splits, lambda split: split.gain, node_impurity) for splits in allowed]
            finalists = [split for split in finalists if split is not None]
            if problem.recipe.rank == "gain_ratio":
                finalists = at_least_average(finalists, node_impurity)
            winner = first_best(finalists, gain_ratio, node_impurity)
    if winner is None:
        return None
    if not winner.gain > problem.limits.min_gain:
        return None
    if problem.recipe.rank == "plain_gain_ratio" and not gain_ratio(winner) > problem.limits.min_ratio:
        return None
    decrease = weight(parts) / weight(problem.root) * winner.gain
    return winner if decrease + np.finfo(float).eps >= problem.limits.min_impurity_decrease else None


def halves_or_others(problem: Problem, splits: list[Split], node_impurity: float) -> list[Split]:
    """Where no division of many categories gains anything, the first half of them is divided from the rest; else it is none."""

    def gain_of_categories(split: Split) -> float:
        if len(split.branches) == 2:
            return split.gain
        *known, missing = split.branches
        return score(problem, replace(split, branches=known, left_out=missing)).gain

    groups = [split for split in splits if split.kind == "nominal"]
    halves = [split for split in groups if split.is_half]
    if halves and all(gain_of_categories(split) <= 1e-13 * node_impurity for split in groups if not split.is_half):
        return [*halves, *(split for split in splits if split.kind != "nominal")]
    return [split for split in splits if not split.is_half]


def leaves_are_large_enough(problem: Problem, split: Split) -> bool:
    """Left-out samples do not help a branch to its size, as they do not count for its gain."""
    share, n_samples = problem.limits.side_share, sum(map(len, split.branches))
    if share and min(map(len, split.branches)) <= max(n_samples // share, 1):
        return False
    return all(
        len(branch) >= problem.limits.min_samples_leaf and reaches(weight(branch), problem.limits.min_weight_leaf)
        for branch in split.branches
        if branch
    ) and (
        problem.recipe.impurity != "poisson"
        or all(any(target.y[row] for row, _ in branch) for branch in split.branches for target in problem.targets)
    )


def tolerance(top: float, node_impurity: float) -> float:
    """Two gains are equal when they differ by no more than this."""
    return 1e-10 * abs(top) + 1e-13 * node_impurity


def first_best(splits: Iterable[Split], worth: Callable[[Split], float], node_impurity: float) -> Split | None:
    """Of the splits that are as good as the best one: the lowest feature, then the smallest order."""
    in_order = sorted(splits, key=lambda split: (split.feature, split.order))
    if not in_order:
        return None
    top = max(map(worth, in_order))
    return next(split for split in in_order if worth(split) >= top - tolerance(top, node_impurity))


def gain_ratio(split: Split) -> float:
    return split.gain / split.split_info


def at_least_average(finalists: list[Split], node_impurity: float) -> list[Split]:
    """The splits whose gain is not below the average (Quinlan 1986)."""
    average = math.fsum(split.gain for split in finalists) / max(len(finalists), 1)
    return [split for split in finalists if split.gain >= average - tolerance(average, node_impurity)]


# Constraints


def may_follow(problem: Problem, feature: int, path: frozenset[int]) -> bool:
    """May a feature be tested below the features of a path?"""
    together = path | {feature}
    if problem.constraints.pairwise:
        return len(together) <= 2
    return problem.constraints.sets is None or any(together <= set(group) for group in problem.constraints.sets)


def ordered_value(problem: Problem, parts: list[Part]) -> float:
    """What a monotone constraint puts in order: the mean class index, or the mean target."""
    return math.fsum(w * (problem.y[row] - problem.middle) for row, w in parts) / weight(parts)


def direction(problem: Problem, split: Split) -> int:
    """Whether values must rise (1) or fall (-1) from the first branch to the second; 0: neither."""
    monotone = problem.constraints.monotone
    return monotone[split.feature] if monotone is not None and split.kind == "threshold" else 0


def is_in_order(problem: Problem, split: Split, bounds: Bounds) -> bool:
    """scikit-learn's rule: values within the bounds and in order, asked of the features that have a direction."""
    if not direction(problem, split):
        return True
    first, second = (ordered_value(problem, branch) for branch in split.branches)
    return all(bounds[0] <= value <= bounds[1] for value in (first, second)) and (second - first) * direction(problem, split) >= 0


def bounds_below(problem: Problem, split: Split, bounds: Bounds) -> list[Bounds]:
    if not direction(problem, split):
        return [bounds] * len(split.branches)
    middle = math.fsum(0.5 * ordered_value(problem, branch) for branch in split.branches)
    below, above = (bounds[0], middle), (middle, bounds[1])
    return [below, above] if direction(problem, split) > 0 else [above, below]


def within(problem: Problem, node: Node, bounds: Bounds) -> Node:
    """The node with a value within bounds: a class at the end takes weight from all classes."""
    if len(problem.targets) > 1:  # which knows no bounds
        return node
    if problem.recipe.impurity in OF_NUMBERS:
        low, high = (bound + problem.middle for bound in bounds)
        return replace(node, value=[min(max(node.value[0], low), high)])
    index = math.fsum(k * w for k, w in enumerate(node.value)) / node.weight
    bound = min(max(index, bounds[0]), bounds[1])
    if bound == index:
        return node
    last = len(node.value) - 1 if bound > index else 0
    part = (bound - index) / (last - index)
    return replace(node, value=[w * (1 - part) + part * node.weight * (k == last) for k, w in enumerate(node.value)])


# Candidates of one feature


def candidates(problem: Problem, parts: list[Part], feature: int, used: frozenset[int]) -> list[Split]:
    """Every split of the feature, scored, in any order, without regard to the limits."""
    form = problem.form(feature)
    by_value: dict[Any, list[Part]] = defaultdict(list)
    missing = []
    for row, w in parts:
        if problem.known(row, feature):
            by_value[problem.columns[feature][row].item()].append((row, w))
        else:
            missing.append((row, w))
    if form == "threshold":
        splits = threshold_splits(feature, by_value)
    elif form in ("subset", "one_vs_rest"):
        splits = group_splits(problem, feature, by_value)
    elif form == "intervals":
        splits = interval_splits(problem, feature, by_value)
    elif feature in used:
        return []
    elif len(by_value) < 2:
        splits = []
    else:
        splits = [multiway_split(problem, feature, by_value)]
    return [score(problem, split) for split in place_missing(problem, splits, feature, by_value, missing)]


def threshold_splits(feature: int, by_value: dict[Any, list[Part]]) -> list[Split]:
    """A cut between any two neighbouring values of the node."""
    values = sorted(by_value)
    splits = []
    for a, b in itertools.pairwise(values):
        left = [part for value in values if value <= a for part in by_value[value]]
        right = [part for value in values if value >= b for part in by_value[value]]
        cut = midpoint(float(a), float(b))
        splits.append(Split(feature, "threshold", [left, right], order=(cut,), threshold=cut))
    return splits


def interval_splits(problem: Problem, feature: int, by_value: dict[Any, list[Part]]) -> list[Split]:
    """A branch per interval that is left when neighbours merge (Kerber 1992, ChiMerge); none if one is left."""
    limits = problem.limits
    critical = np.float32(1 + chi2.isf(limits.merge_p_value, max(problem.n_classes - 1, 1)))
    most = limits.max_intervals or len(by_value)
    intervals = [[value] for value in sorted(by_value)]

    def parts_of(interval: list[Any]) -> list[Part]:
        return [part for value in interval for part in by_value[value]]

    def is_small(interval: list[Any]) -> bool:
        parts = parts_of(interval)
        return len(parts) < limits.min_samples_leaf or not reaches(weight(parts), limits.min_weight_leaf)

    while True:
        pairs = []
        for i, (one, other) in enumerate(itertools.pairwise(intervals)):
            difference = chi_square([class_weights(problem, parts_of(interval)) for interval in (one, other)])
            if difference <= critical or len(intervals) > most or is_small(one) or is_small(other):
                pairs.append((difference, i))
        if not pairs:
            break
        _, i = min(pairs)
        intervals[i : i + 2] = [intervals[i] + intervals[i + 1]]
    if len(intervals) < 2:
        return []
    cuts = [midpoint(float(below[-1]), float(above[0])) for below, above in itertools.pairwise(intervals)]
    return [Split(feature, "intervals", [parts_of(interval) for interval in intervals], order=(), cuts=cuts)]


def chi_square(rows: list[list[float]]) -> np.float32:
    """1 + Pearson's statistic, in single precision, so that what rounding alone sets apart is equal."""
    columns, total = [math.fsum(column) for column in zip(*rows, strict=True)], math.fsum(itertools.chain(*rows))
    terms = []
    for row in rows:
        for count, column in zip(row, columns, strict=True):
            expected = math.fsum(row) * column / total
            terms.append((count - expected) ** 2 / expected if expected else 0.0)
    return np.float32(1 + math.fsum(terms))


def midpoint(a: float, b: float) -> float:
    """A number t with a <= t < b, halfway as far as float64 allows."""
    if math.isinf(b - a):
        return a / 2 + b / 2
    t = a + (b - a) / 2
    return t if t < b else a


def multiway_split(problem: Problem, feature: int, by_value: dict[Any, list[Part]]) -> Split:
    """One branch per declared category, or one per category in the node."""
    if problem.form(feature) == "declared":
        branches = [by_value.get(code, []) for code in range(1, problem.n_categories[feature] + 1)]
        return Split(feature, "category", branches, order=())
    codes = sorted(by_value)
    table = {code: branch for branch, code in enumerate(codes)}
    return Split(feature, "nominal", [by_value[code] for code in codes], order=(), table=table)


def group_splits(problem: Problem, feature: int, by_value: dict[Any, list[Part]]) -> list[Split]:
    """Two groups of categories; branch 0 is the group with the lowest code."""
    codes = sorted(by_value)

    def split_by(group: tuple[int, ...]) -> Split:
        table = {code: 0 if code in group else 1 for code in codes}
        branches = [[part for code in codes if table[code] == branch for part in by_value[code]] for branch in (0, 1)]
        return Split(feature, "nominal", branches, order=(group,), table=table)

    splits = [split_by(group) for group in category_groups(problem, feature, by_value)]
    if len(codes) > EXHAUSTIVE_CATEGORIES and problem.form(feature) == "subset" and problem.recipe.impurity != "absolute_error":
        splits.append(replace(split_by(tuple(codes[: (len(codes) + 1) // 2])), is_half=True))
    return splits


def category_groups(problem: Problem, feature: int, by_value: dict[Any, list[Part]]) -> set[tuple[int, ...]]:
    """The groups to try, each as its sorted codes, the lowest code of the node among them."""
    codes = sorted(by_value)
    groups: list[Iterable[int]] = []
    if len(codes) < 2:
        return set()
    if problem.form(feature) == "one_vs_rest":
        groups.extend([code] for code in codes)
    elif tries_every_partition(problem) and len(codes) <= EXHAUSTIVE_CATEGORIES:
        for size in range(len(codes) - 1):
            groups.extend((codes[0], *others) for others in itertools.combinations(codes[1:], size))
    else:
        for order in category_orders(problem, by_value):
            groups.extend(order[:n] for n in range(1, len(order)))
    canonical = set()
    for group in groups:
        chosen = set(group)
        canonical.add(tuple(sorted(chosen if codes[0] in chosen else set(codes) - chosen)))
    return canonical


def tries_every_partition(problem: Problem) -> bool:
    if problem.recipe.impurity == "absolute_error":
        return False
    return len(problem.targets) > 1 or problem.n_classes > 2


def category_orders(problem: Problem, by_value: dict[Any, list[Part]]) -> list[list[int]]:
    """Orders of the categories whose cuts hold the best grouping (two classes, regression) or a good one.

    Breiman et al. 1984, theorem 4.5; Fisher 1958; Coppersmith, Hong and Hosking 1999 for more classes.
    """
    several = [order for target in problem.targets for order in target_orders(target, by_value)]
    if len(problem.targets) == 1 and (problem.recipe.impurity in OF_NUMBERS or problem.n_classes == 2):
        return several
    return several if problem.recipe.impurity == "absolute_error" else [principal_order(problem, by_value), *several]


def target_orders(problem: Problem, by_value: dict[Any, list[Part]]) -> list[list[int]]:
    """Orders by one target: its mean or median, or the share of a class."""
    codes = sorted(by_value)

    def by_mean(response: Callable[[int], Any]) -> list[int]:
        def mean(code: int) -> Fraction:
            weights = whole([w for _, w in by_value[code]])
            responses = [float(response(row)) for row, _ in by_value[code]]
            *numerators, unit = whole([*responses, 1.0])  # the last is how many units make 1
            return Fraction(sum(map(operator.mul, weights, numerators)), sum(weights) * unit)

        return sorted(codes, key=lambda code: (mean(code), code))

    if problem.recipe.impurity in OF_NUMBERS:
        order = by_mean(lambda row: problem.answers[row])
        if problem.recipe.impurity == "absolute_error":
            order.sort(key=lambda code: centre(problem, by_value[code]))  # stable: the means, then the codes, settle ties
        return [order]
    if problem.n_classes == 2:
        return [by_mean(lambda row: problem.answers[row] == 1)]
    return [by_mean(lambda row, k=k: problem.answers[row] == k) for k in range(problem.n_classes)]  # type: ignore[misc]


def totals_of(problem: Problem, parts: list[Part]) -> list[float]:
    if problem.recipe.impurity in OF_NUMBERS:
        return [math.fsum(w * problem.y[row] for row, w in parts)]
    return class_weights(problem, parts)


def principal_order(problem: Problem, by_value: dict[Any, list[Part]]) -> list[int]:
    """Categories along the first principal component of their class probabilities, or of their means."""
    codes = sorted(by_value)
    counts = np.array([[v for target in problem.targets for v in totals_of(target, by_value[code])] for code in codes])
    totals = np.array([weight(by_value[code]) for code in codes])
    if problem.recipe.impurity == "poisson":
        counts = counts / np.sqrt(counts.sum(axis=0) / totals.sum())
    probabilities = counts / totals[:, None]
    centred = probabilities - counts.sum(axis=0) / totals.sum()
    scatter = (centred * totals[:, None]).T @ centred
    direction = np.linalg.eigh(scatter)[1][:, -1]
    direction *= np.sign(direction[np.argmax(np.abs(direction))])
    scores = np.round(probabilities @ direction, 12)
    return sorted(codes, key=lambda code: (scores[codes.index(code)], code))


def place_missing(
    problem: Problem, splits: list[Split], feature: int, by_value: dict[Any, list[Part]], missing: list[Part]
) -> list[Split]:
    """The candidates with the samples whose value is missing put where the recipe wants them."""
    if problem.recipe.missing == "error":
        return splits
    if problem.recipe.missing == "fractional":
        return [replace(split, missing="shares", left_out=missing) for split in splits]
    if problem.recipe.missing == "surrogate":
        return [replace(split, left_out=missing) for split in splits]
    if problem.recipe.missing in ("majority", "branch"):
        limits = problem.limits
        enough = len(missing) >= limits.min_samples_leaf and reaches(weight(missing), limits.min_weight_leaf)
        if problem.recipe.missing == "majority" or not missing or not enough:
            return [replace(split, missing=heaviest_branch(split), left_out=missing) for split in splits]
        return splits_with_own_branch(splits, feature, by_value, missing)
    if any(len(split.branches) != 2 or split.kind == "category" for split in splits):
        raise ValueError("missing='direction' needs binary splits")
    if not missing:
        return [replace(split, missing=branch_with_more_samples(split)) for split in splits]
    right = [
        replace(split, branches=[split.branches[0], split.branches[1] + missing], missing=1, order=(*split.order, 0))
        for split in splits
    ]
    left = [
        replace(split, branches=[split.branches[0] + missing, split.branches[1]], missing=0, order=(*split.order, 1))
        for split in splits
    ]
    if not by_value:
        return []
    known = [part for here in by_value.values() for part in here]
    last = (math.inf,) if problem.form(feature) == "threshold" else ((math.inf,),)
    return [*right, *left, Split(feature, "known", [known, missing], order=last, missing=1)]


def heaviest_branch(split: Split) -> int:
    """The last one on a tie."""
    return max(range(len(split.branches)), key=lambda b: (weight(split.branches[b]), b))


def splits_with_own_branch(
    splits: list[Split], feature: int, by_value: dict[Any, list[Part]], missing: list[Part]
) -> list[Split]:
    """The missing values get one more branch; or they are all that is told apart, which wins a tie."""
    own = [
        replace(split, branches=[*split.branches, missing], missing=len(split.branches), order=(1, *split.order))
        for split in splits
    ]
    known = [part for here in by_value.values() for part in here]
    return [*own, Split(feature, "known", [known, missing], order=(0,), missing=1)] if known else []


def branch_with_more_samples(split: Split) -> int:
    return 0 if len(split.branches[0]) > len(split.branches[1]) else 1


# C4.5 Release 8


def release8_best(problem: Problem, splits: list[Split], parts: list[Part]) -> Split | None:
    """The split with which a feature competes, or None if the feature is not usable."""
    reasonable = problem.limits.min_branch_weight
    if splits and splits[0].kind == "threshold":
        return release8_threshold(problem, splits, parts)
    usable = [
        split
        for split in splits
        if sum(reaches(weight(branch), reasonable) for branch in split.branches) >= 2 and leaves_are_large_enough(problem, split)
    ]
    return single_branches(problem, usable[0], parts) if usable else None


def release8_threshold(problem: Problem, splits: list[Split], parts: list[Part]) -> Split | None:
    """The best cut after the penalty for the number of cuts tried (Quinlan 1996)."""
    feature = splits[0].feature
    column = problem.columns[feature]
    least = problem.limits.min_branch_weight
    known = math.fsum(map(weight, splits[0].branches))
    if not reaches(known, 2 * least):
        return None
    side = 0.1 * known / problem.n_classes
    side = least if side <= least else min(side, 25.0)

    def is_try(split: Split) -> bool:
        left, right = split.branches
        low, high = max(column[row] for row, _ in left), min(column[row] for row, _ in right)
        close = high - low <= 1.5 * RELEASE8_GAP
        return (
            leaves_are_large_enough(problem, split)
            and reaches(weight(left), side)
            and reaches(weight(right), side)
            and not (close and not float(np.float32(low)) < float(np.float32(high)) - RELEASE8_GAP)
        )

    tries = [single_threshold(problem, split, parts) for split in splits if is_try(split)]
    # a side may be lighter than the least weight of a branch where that is above 25: tried, but not chosen
    allowed = [split for split in tries if all(reaches(weight(branch), least) for branch in split.branches)]
    if not allowed:
        return None
    best = max(allowed, key=lambda split: split.single_gain)  # the first of equal ones
    cost = math.log2(len(tries))
    cases = weight(parts)
    best = replace(
        best,
        gain=best.gain - cost / cases,
        single_gain=np.float32(best.single_gain - np.float32(cost / np.float32(cases))),
        threshold=release8_stored(problem, feature, best),
    )
    return best if best.single_gain > 0 else None


def release8_stored(problem: Problem, feature: int, split: Split) -> float:
    """Release 8 stores a value of the data: the largest of the whole training set up to the midpoint in single precision."""
    column = problem.columns[feature]
    left, right = split.branches
    low, high = max(column[row] for row, _ in left), min(column[row] for row, _ in right)
    middle = np.float32((np.float32(low) + np.float32(high)) / np.float32(2))
    if not np.float32(low) <= middle < np.float32(high):
        return float(low)  # one value in single precision
    values = [float(column[row]) for row, _ in problem.root if problem.known(row, feature)]
    return max(value for value in values if np.float32(value) <= middle)


def release8_winner(problem: Problem, usable: list[Split], node_impurity: float) -> Split | None:
    """The feature of most worth among those whose gain is not below the average; the first of equal ones."""
    if problem.recipe.rank == "gain":
        eligible = [split for split in usable if split.single_info > 0 and split.single_gain > -RELEASE8_EPSILON]
        return max(eligible, key=lambda split: split.single_gain, default=None)
    n_cases = weight(problem.root)
    few_values = [f for f, kind in enumerate(problem.kinds) if kind == CONTINUOUS or problem.n_categories[f] < 0.3 * n_cases]
    counted = [split.single_gain for split in usable if split.feature in few_values or not few_values]
    average = np.float32(1e6)
    if counted:
        total = np.float32(0)
        for gain in counted:
            total = np.float32(total + gain)
        average = np.float32(total / np.float32(len(counted)))
    eligible = [
        split
        for split in usable
        if float(split.single_gain) >= float(average) - RELEASE8_EPSILON and float(split.single_info) > RELEASE8_EPSILON
    ]
    return max(eligible, key=lambda split: np.float32(split.single_gain / split.single_info), default=None)


# Release 8's arithmetic: single precision, logarithms in double


def xlgx(x: np.float32) -> float:
    return float(x) * (math.log(x) / math.log(2)) if x > 0 else 0.0


def single_information(weights: Iterable[float]) -> np.float32:
    """Bits x cases."""
    part = total = np.float32(0)
    for w in map(np.float32, weights):
        part = np.float32(float(part) + xlgx(w))
        total = np.float32(total + w)
    return np.float32(xlgx(total) - float(part))


def single_gain(base: np.float32, info: np.float32, known: np.float32, unknown: np.float32) -> np.float32:
    return np.float32((np.float32(1) - unknown) * np.float32(base - np.float32(info / known)))


def single_threshold(problem: Problem, split: Split, parts: list[Part]) -> Split:
    """The split with its gain, and the information of the split, as Release 8 rounds them."""
    left, right = split.branches
    cases, known = np.float32(weight(parts)), np.float32(weight(left + right))
    base = np.float32(single_information(class_weights(problem, left + right)) / known)
    info = np.float32(single_information(class_weights(problem, left)) + single_information(class_weights(problem, right)))
    unknown = np.float32(1.0 - float(known) / float(cases))
    sizes = [weight(split.left_out), weight(left), weight(right)]
    return replace(
        split,
        single_gain=single_gain(base, info, known, unknown),
        single_info=np.float32(single_information(sizes) / cases),
    )


def single_branches(problem: Problem, split: Split, parts: list[Part]) -> Split:
    """The same for a branch per category."""
    branches = [branch for branch in split.branches if branch]
    placed = [part for branch in branches for part in branch]
    cases, known = np.float32(weight(parts)), np.float32(weight(placed))
    total = sum(xlgx(np.float32(w)) for w in class_weights(problem, placed))
    base = np.float32((xlgx(known) - total) / float(known))
    info = np.float32(0)
    for branch in branches:
        info = np.float32(info + single_information(class_weights(problem, branch)))
    lost = weight(split.left_out)
    return replace(
        split,
        single_gain=single_gain(base, info, known, np.float32(np.float32(lost) / cases)),
        single_info=np.float32(single_information([lost, *map(weight, branches)]) / cases),
    )


# Prediction


@dataclass(frozen=True)
class Arrival:
    """A node at which a row, or a share of it, ends: the branches taken from the root, and the share."""

    path: tuple[int, ...]
    node: Node
    share: float


def branch_of(node: Node, row: Sequence[Any]) -> int | None:
    """The branch that the tested value asks for, or None if it is missing or has no branch here."""
    value = row[node.feature]
    if isinstance(value, float | np.floating) and math.isnan(value):
        return None
    if node.kind == "threshold":
        # codes are at least 1, so 0 in an ordinal column is a missing value; continuous columns hold floats
        if isinstance(value, int | np.integer) and value == 0:
            return None
        return 0 if value <= node.threshold else 1
    if node.kind == "intervals":
        if isinstance(value, int | np.integer) and value == 0:
            return None
        return sum(cut < value for cut in node.cuts)
    if node.kind == "known":
        return None if isinstance(value, int | np.integer) and value == 0 else 0
    if node.kind == "category":
        return int(value) - 1 if 1 <= value <= len(node.children) else None
    return node.table.get(int(value))


def arrivals(node: Node, row: Sequence[Any], path: tuple[int, ...] = (), share: float = 1.0) -> list[Arrival]:
    """Where a row ends.  Continuous values are floats (NaN = missing), codes are integers (0 = missing)."""
    if not node.children:
        return [Arrival(path, node, share)]
    branch = branch_of(node, row)
    if branch is None:
        told = (one.branch(row[one.feature]) for one in node.surrogates)
        branch = next((b for b in told if b is not None), None)
    if branch is None:
        if node.missing == "stop":
            return [Arrival(path, node, share)]
        if node.missing == "shares":
            total = math.fsum(child.weight for child in node.children)
            return [
                arrival
                for b, child in enumerate(node.children)
                if child.weight > 0
                for arrival in arrivals(child, row, (*path, b), share * child.weight / total)
            ]
        branch = node.missing
    return arrivals(node.children[branch], row, (*path, branch), share)


def predict_proba(node: Node, row: Sequence[Any]) -> list[float]:
    """Class probabilities; an empty leaf gives all to its first heaviest class (as C4.5 does)."""
    probabilities = [0.0] * len(node.value)
    for arrival in arrivals(node, row):
        value = arrival.node.value
        if arrival.node.weight == 0:
            value = [float(k == value.index(max(value))) for k in range(len(value))]
        total = math.fsum(value)
        probabilities = [p + arrival.share * v / total for p, v in zip(probabilities, value, strict=True)]
    return probabilities


def predict_class(node: Node, row: Sequence[Any]) -> int:
    """The first most probable class."""
    probabilities = predict_proba(node, row)
    return probabilities.index(max(probabilities))


def predict_value(node: Node, row: Sequence[Any]) -> float:
    """Regression: the mean of the leaf, or the means of the leaves by share."""
    return math.fsum(arrival.share * arrival.node.value[0] for arrival in arrivals(node, row))


def leaf_path(node: Node, row: Sequence[Any]) -> tuple[int, ...]:
    """The branches to the leaf that gets most of the row; the first such leaf on ties."""
    return max(arrivals(node, row), key=lambda arrival: arrival.share).path


def breadth_first(root: Node) -> list[Node]:
    """All nodes, level by level, branches in order: the numbering of a fitted tree."""
    nodes = [root]
    for node in nodes:
        nodes.extend(node.children)
    return nodes
