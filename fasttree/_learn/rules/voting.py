"""Induction of rules that vote, from a tree (C5.0).

A rule of every node drops the conditions that do not pay for their bits.  Of the rules that are left, a set is chosen whose
message, together with the samples that it predicts wrong, is shortest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.table import Table
from fasttree._engine import rulesets
from fasttree._learn.grow.encode import SomeRows, few_values
from fasttree._learn.grow.fixed_point import fixed_point_weights
from fasttree._learn.prune.c50 import preorder
from fasttree._learn.rules.induction import BY_THRESHOLD, Conditions, Drafts, PlacedSamples
from fasttree._model.ruleset import NO_RULE_FIRES, ranks, voted_classes, votes_of
from fasttree._model.tree import Tree, best_classes

__all__ = ["ConditionBits", "VotingInduction", "VotingSet", "WeighedSamples"]

SHARE_OF_BITS = 0.23  # of the bits of a rule set, in its message
MOST_EXPECTED = 0.5, 0.45  # a larger expected share of errors is replaced by the second
NEW = 1e-4  # weight by which the new samples of a rule exceed the least number of a branch
CLASS, UTILITY = "class", "utility"  # orders of the rules


class WeighedSamples(PlacedSamples):
    """Samples of positive weight, one place for each.

    Parameters
    ----------
    y : array, shape (n,)
        Classes.
    n_classes : int
    weight : float64 array, shape (n,), or None
        None: all weights are 1.
    ranks : int array, shape (n,), or None
        Order of the samples of a class.  If neighbours fail the same conditions, rules are simplified faster.
    total : float or None
        Weight of all samples, those that boosting dropped included, which are of no class here; None: of these.
    """

    def __init__(
        self,
        y: npt.NDArray[np.intp],
        n_classes: int,
        weight: Floats | None,
        ranks: npt.NDArray[np.integer] | None = None,
        total: float | None = None,
    ) -> None:
        kept = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
        super().__init__(y[kept], n_classes, None, None if ranks is None else ranks[kept])
        self.rows = kept[self.rows]
        units, self.unit = fixed_point_weights(None if weight is None else weight[self.rows])
        self.weighs = units is not None  # else each sample counts 1
        self.weight = np.zeros(len(self.truth), dtype=np.int64)
        self.weight[self.places] = 1 if units is None else units
        self.class_units = self._by_class(self.weight)
        self.class_weight = self.class_units * self.unit
        here = int(self.class_units.sum())
        self.total_units = here if total is None else max(round(total / self.unit), here)
        self.total_weight = self.total_units * self.unit

    def simplified(
        self,
        edges: dict[str, npt.NDArray[Any]],
        codes: npt.NDArray[np.unsignedinteger[Any]],
        nodes: npt.NDArray[np.int32],
        label: npt.NDArray[np.int32],
        of_condition: Floats,
    ) -> dict[str, npt.NDArray[Any]]:
        """Return the rules of the paths to some nodes, without conditions that do not pay for their bits."""
        return rulesets.simplify_rules(
            edges,
            codes,
            (self.padding, self.weight if self.weighs else np.empty(0, np.int64)),
            self.class_start,
            self.total_units,
            self.default_error(),
            nodes,
            label,
            self.class_units,
            (0.0, 0.0, -1.0, of_condition, self.unit),
        )

    def weight_by_class(self, places: npt.NDArray[np.bool_]) -> Floats:
        """Return the weight of each class in some places."""
        return np.asarray(self._by_class(np.where(places, self.weight, 0)) * self.unit, dtype=np.float64)

    def _by_class(self, units: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        bounds = (64 * self.class_start).tolist()
        return np.array([int(units[start:stop].sum()) for start, stop in pairwise(bounds)], dtype=np.int64)


@dataclass(frozen=True)
class VotingSet:
    """Rules in their order, and what the samples say of them.

    Parameters
    ----------
    rules : Drafts
    cover, errors : arrays, shape (n_rules,)
        Weight of the samples on which a rule fires, and of those of other classes; whole numbers if all weights are.
    default : int
    default_count, class_count : arrays, shape (n_classes,)
        Weight of the samples of each class that no rule covers, and of all.
    """

    rules: Drafts
    cover: npt.NDArray[np.number]
    errors: npt.NDArray[np.number]
    default: int
    default_count: npt.NDArray[np.number]
    class_count: npt.NDArray[np.number]

    def predict(self, samples: WeighedSamples, n_rows: int) -> tuple[npt.NDArray[np.intp], Floats]:
        """Return the class of each row of a table, and the confidence; rows without weight get the default class."""
        vote = votes_of(self.cover, self.errors)
        votes = np.zeros((len(self.class_count), len(samples.truth)), dtype=np.int32)
        confidence = np.zeros(votes.shape, dtype=np.int32)
        for rule in np.argsort(-ranks(self.cover, vote)).tolist():  # the rule of the least rank comes last, and its vote stays
            places, label = self.rules.covers(rule), int(self.rules.label[rule])
            votes[label][places] += vote[rule]
            confidence[label][places] = vote[rule]
        chosen = voted_classes(np.ascontiguousarray(votes.T), self.default)
        votes_of_chosen = confidence[chosen, np.arange(len(chosen))]
        predicted, share = np.full(n_rows, self.default), np.zeros(n_rows)
        predicted[samples.rows] = chosen[samples.places]
        share[samples.rows] = np.where(votes_of_chosen > 0, votes_of_chosen, NO_RULE_FIRES)[samples.places] / 1000
        return predicted, share


@dataclass(frozen=True)
class ConditionBits:
    """Bits of the conditions of a table, of its features, and of their values, thresholds and groups.

    Parameters
    ----------
    table : Table
    counts : float64 array, shape (n_samples,), or None
        How many samples each counts for.
    n_usable : int
        Number of features that growth could test.
    free : frozenset of int
        Features whose thresholds need no bits: those that the first of several trees does not test.
    """

    table: Table
    counts: Floats | None
    n_usable: int
    free: frozenset[int] = frozenset()

    def __call__(self, conditions: Conditions) -> Floats:
        """Return the bits of each condition."""
        total = np.zeros(len(conditions.parent))
        everything = self.counts is None or bool(self.counts.all())
        kept = np.arange(self.table.n_samples) if self.counts is None else np.flatnonzero(self.counts)
        some = self.table if everything else SomeRows(self.table, kept)
        for feature in conditions.tested.tolist():
            categories = self.table.schema.features[feature].categories
            here = np.flatnonzero(conditions.feature == feature)
            if categories is None:
                if feature not in self.free:
                    values = few_values(some, feature)
                    total[here] = threshold_bits(some.column(feature) if values is None else values)
                continue
            column = some.column(feature)
            weight = None if self.counts is None else self.counts[kept]
            count = np.bincount(column, weights=weight, minlength=len(categories) + 1)[1:]
            every = float(len(column) if weight is None else weight.sum())
            of_value = value_bits(count, every)
            start, _ = conditions.groups
            for edge in here.tolist():
                size = max(int(start[edge + 1] - start[edge]), 1)
                total[edge] = of_value if size == 1 else group_bits(int(np.count_nonzero(count)), size)
        return total + math.log2(max(self.n_usable, 1))


@dataclass(frozen=True)
class VotingInduction:
    """Induction on one tree and one set of samples.

    Parameters
    ----------
    tree : Tree
        The pruned tree; only its empty branches may have been merged.
    samples : WeighedSamples
    bits : ConditionBits
    tree_errors : float
        Weight of the samples that the leaves of the tree predict wrong; with costs, of those that its root would.
    min_branch_weight : float
        Least weight of a branch, which a rule must predict right.
    order : {"class", "utility"}
    loss : float64 array, shape (n_classes, n_classes), or None
        Costs by which the default class is chosen.
    """

    tree: Tree
    samples: WeighedSamples
    bits: ConditionBits
    tree_errors: float
    min_branch_weight: float
    order: str = CLASS
    loss: Floats | None = None

    def conditions(self) -> Conditions:
        return Conditions([self.tree], self.bits.table, grouped=False)

    def run(self, conditions: Conditions) -> VotingSet:
        """Find the rules whose conditions are those of the tree."""
        samples = self.samples
        of_condition = self.bits(conditions)
        rules, total = self._shortened(conditions, of_condition)
        own = without_repeats(rules, looks(conditions))
        rules, total = rules.take(own), total[own]
        chosen = self._selected(rules, total, rule_bits(rules, of_condition))
        covered = np.zeros(len(samples.truth), bool)
        covered[np.concatenate([np.empty(0, dtype=np.uint32), *map(rules.covers, chosen.tolist())])] = True
        left = samples.weight_by_class(~covered)
        worth = (left + 1) / (left.sum() + 2.001) + samples.class_weight / samples.total_weight
        default = int(best_classes(worth[None], self.loss)[0])
        found = rules.take(chosen)
        figures = (total[chosen] * samples.unit, found.errors * samples.unit, left, samples.class_weight)
        cover, errors, default_count, class_count = (
            np.asarray(part).astype(np.int64) if samples.unit == 1 else part for part in figures
        )
        return VotingSet(found, cover, errors, default, default_count, class_count)

    def _selected(self, rules: Drafts, total: npt.NDArray[np.int64], bits: Floats) -> npt.NDArray[np.intp]:
        """Return the rules of a set whose message is short, in their order."""
        samples, n_classes = self.samples, len(self.samples.class_count)
        if not len(total):
            return np.empty(0, dtype=np.intp)
        expected = (self.tree_errors + n_classes - 1) / (samples.total_weight + n_classes)
        most, instead = MOST_EXPECTED
        expected = instead if expected > most else expected
        of_error = -math.log2(expected) + math.log2(max(n_classes - 1, 1))
        of_hit = -math.log2(1 - expected)
        vote = votes_of(total * samples.unit, rules.errors * samples.unit)
        order = np.lexsort((-vote, rules.label)).astype(np.int32)
        least, unit = self.min_branch_weight, samples.unit
        found = rulesets.select_voting(
            (rules.cover_start, rules.cover_stop, rules.cover),
            np.column_stack([rules.label, vote]),
            order,
            np.maximum(samples.truth, 0),
            samples.weight,
            (bits, log_factorials(len(vote) + 1), SHARE_OF_BITS, of_error * unit, of_hit * unit, samples.total_units),
            (n_classes, math.ceil(least / unit), math.floor((least + NEW) / unit)),
            self.order == UTILITY,
        )
        return found.astype(np.intp)

    def _shortened(self, conditions: Conditions, of_condition: Floats) -> tuple[Drafts, npt.NDArray[np.int64]]:
        """Return the rules without conditions that do not pay, and the units of weight that they cover."""
        samples = self.samples
        edges, codes = conditions.encode(samples)
        nodes = candidates(self.tree)
        found = samples.simplified(edges, codes, nodes, self.tree.predicted_class[nodes].astype(np.int32), of_condition)
        start, cover_start = found["start"], found["cover_start"]
        total = found["total"]
        estimate = (found["errors"] * samples.unit + 1) / (total * samples.unit + 2)
        rules = Drafts(
            found["label"],
            start[:-1],
            start[1:],
            found["node"],
            found["errors"],
            estimate,
            cover_start[:-1],
            cover_start[1:],
            found["cover"],
        )
        return rules, total


def threshold_bits(column: npt.NDArray[np.generic]) -> float:
    """Return the bits of a threshold of a column: half those of one of its cuts, and one for the direction."""
    ordered = np.sort(column.astype(np.float32))  # missing values come last, and differ from all
    known = ordered[~np.isnan(ordered)]
    n_cuts = int(np.count_nonzero(known[1:] != known[:-1]))
    return 1 + math.log2(n_cuts) / 2 if n_cuts > 1 else 0.0


def value_bits(count: npt.NDArray[np.number], n_samples: float) -> float:
    """Return the mean bits of a category; `count` has the samples of each."""
    found = count[count > 0]
    return float((found / n_samples * np.log2(n_samples / found)).sum())


def group_bits(n_values: int, size: int) -> float:
    """Return the bits of a group of categories of a feature of which `n_values` occur."""
    chosen = min(size, n_values - 1)
    return math.log2(math.comb(n_values, chosen)) if chosen > 0 else 0.0


def candidates(tree: Tree) -> npt.NDArray[np.int32]:
    """Return the nodes with a weight of at least 1, without the root, children before their node."""
    before, size = preorder(tree)
    nodes = np.empty(tree.node_count, dtype=np.int32)
    nodes[before + size - 1 - tree.depth()] = np.arange(tree.node_count)  # of those before, the nodes above come after
    nodes = nodes[:-1]
    return nodes[tree.weight[nodes].astype(np.float32) >= 1]


def looks(conditions: Conditions) -> npt.NDArray[np.int64]:
    """Return numbers that are equal for equal conditions."""
    start, codes = conditions.groups
    found = np.empty(len(conditions.feature), dtype=np.int64)
    by_threshold = conditions.kind == BY_THRESHOLD
    parts = (conditions.branch[by_threshold], conditions.threshold[by_threshold], conditions.feature[by_threshold])
    order = np.lexsort(parts)
    differs = np.any([np.diff(part[order]) != 0 for part in parts], axis=0)
    found[np.flatnonzero(by_threshold)[order]] = np.cumsum(np.append(0, differs))[: len(order)]
    numbers: dict[tuple[int, ...], int] = {}
    for edge in np.flatnonzero(~by_threshold).tolist():
        detail = codes[start[edge] : start[edge + 1]].tolist() or [int(conditions.code[edge])]
        found[edge] = numbers.setdefault((int(conditions.feature[edge]), *detail), len(found) + len(numbers))
    return found


def edges_of(rules: Drafts) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the conditions of the rules one after the other, the rule of each, and where those of a rule begin, and all end."""
    length = rules.stop - rules.start
    begin = np.concatenate([[0], np.cumsum(length)])
    owner = np.repeat(np.arange(len(length)), length)
    return rules.node[np.arange(begin[-1]) + (rules.start - begin[:-1])[owner]], owner, begin


def without_repeats(rules: Drafts, look: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """Return the numbers of the first of each set of rules with the same conditions and class."""
    edges, owner, begin = edges_of(rules)
    most = int(look.max(initial=0)) + 1
    seen = (np.sort(owner * most + look[edges]) - owner * most).tobytes()  # ascending within each rule
    first: dict[tuple[int, bytes], int] = {}
    for rule, (label, (start, stop)) in enumerate(zip(rules.label.tolist(), pairwise((8 * begin).tolist()), strict=True)):
        first.setdefault((label, seen[start:stop]), rule)
    return np.array(list(first.values()), dtype=np.intp)


def rule_bits(rules: Drafts, of_condition: Floats) -> Floats:
    """Return the bits of each rule: of the number of its conditions, and of the conditions, which have no order."""
    length = rules.stop - rules.start
    orders = log_factorials(int(length.max(initial=0)))
    edges, owner, _ = edges_of(rules)
    bits: Floats = np.bincount(owner, of_condition[edges], minlength=len(length)) + np.log2(length) - orders[length]
    return bits


def log_factorials(most: int) -> Floats:
    """Return the logarithm to base 2 of 0!, 1!, ..., `most`!."""
    return np.concatenate([[0.0], np.cumsum(np.log2(np.arange(1, most + 1)))])
