"""From trees to rules (Quinlan 1993, chapter 5; the choices among equals are those of Release 8).

Samples and conditions are laid out for the compiled core, which does the counting; rules are rows of arrays here, and a condition
is the number of the node that it leads to.  This file knows neither estimators nor files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._prune import normal_quantile
from ._table import Category, Kind, Table
from ._tree import CATEGORY, NOMINAL, THRESHOLD, Tree

__all__ = ["Conditions", "Drafts", "Induction", "PlacedSamples", "RuleSet"]

NEVER_FIRES = np.float32(0.7)  # a rule of a larger error estimate is as good as absent
ROUNDING = 1e-9  # of Fisher's probability, a sum of exponentials: one that equals the level must not exceed it
BY_CATEGORY, BY_THRESHOLD, BY_GROUP = 1, 2, 3


def _lg(x: float | np.floating[Any]) -> float:
    return math.log(x) / math.log(2) if x > 0 else 0.0


class PlacedSamples:
    """Training samples class by class, each class on whole words of 64 bits: the place of a sample is its bit.

    A sample of weight w stands w times.
    """

    def __init__(self, y: NDArray[np.intp], n_classes: int, weight: NDArray[np.int64] | None) -> None:
        order = np.argsort(y, kind="stable")
        self.rows = order if weight is None else np.repeat(order, weight[order])
        self.n_samples = len(self.rows)
        self.class_count = np.bincount(y[self.rows], minlength=n_classes).astype(np.int64)
        self.class_start = np.zeros(n_classes + 1, dtype=np.int64)  # in words
        np.cumsum(-(-self.class_count // 64), out=self.class_start[1:])
        first = np.cumsum(self.class_count) - self.class_count
        self.places = np.arange(self.n_samples) + np.repeat(64 * self.class_start[:-1] - first, self.class_count)
        self.truth = np.full(64 * self.class_start[-1], -1, dtype=np.int32)
        self.truth[self.places] = y[self.rows]
        self.padding = np.packbits(self.truth < 0, bitorder="little").view("<u8").astype(np.uint64)

    def default_error(self) -> NDArray[np.float32]:
        """Error rate, per class, of a rule that always says it."""
        return (1 - (self.class_count + 1) / (self.n_samples + 2)).astype(np.float32)


class Conditions:
    """The edges of trees over one table as the core wants them; a condition bears the number of the node that it leads to.

    The nodes of several trees are numbered one tree after the other.  `grouped`: tests on categories are on groups of them, also
    where each group has one.
    """

    def __init__(self, trees: Sequence[Tree], table: Table, grouped: bool) -> None:
        self.trees, self.table = trees, table
        self.first = np.cumsum([0] + [tree.node_count for tree in trees])
        shift = np.repeat(self.first[:-1], np.diff(self.first))
        parent = np.concatenate([tree.parent for tree in trees])
        self.parent = np.where(parent < 0, -1, parent + shift).astype(np.int32)
        edge = self.parent >= 0
        self.branch = np.where(edge, np.arange(len(parent)) - self._of_parent("first_child") - shift, 0)
        self.feature = np.where(edge, self._of_parent("feature"), -1).astype(np.int32)
        self.tested = np.unique(self.feature[edge])
        self.groups = self._groups()
        tested_by = self._of_parent("kind")
        # a table with a category for each branch says the same as a branch for each category
        sizes = np.concatenate([np.diff(tree.table_start) for tree in trees])[self.parent]
        single = (tested_by == NOMINAL) & (sizes == self._of_parent("n_branches")) & (not grouped)
        self.kind = np.where(
            tested_by == THRESHOLD, BY_THRESHOLD, np.where(single | (tested_by == CATEGORY), BY_CATEGORY, BY_GROUP)
        ).astype(np.uint8)
        self.threshold = np.where(edge & (self.kind == BY_THRESHOLD), self._of_parent("threshold"), 0.0)
        self.code = self.branch + 1  # by category
        self.code[edge & single] = self.groups[1][self.groups[0][:-1][edge & single]]

    def _of_parent(self, name: str) -> NDArray[Any]:
        array: NDArray[Any] = np.concatenate([getattr(tree, name) for tree in self.trees])
        return array[self.parent]  # of a root: what the last node has, which nobody reads

    def _groups(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Codes that follow each edge by group: where they start, and the codes."""
        owner, codes = [], []
        for tree, first in zip(self.trees, self.first.tolist(), strict=False):
            nodes = np.repeat(np.arange(tree.node_count), np.diff(tree.table_start))
            owner.append(tree.first_child[nodes] + tree.table_branch + first)
            codes.append(tree.table_code)
        edges = np.concatenate(owner)
        order = np.argsort(edges, kind="stable")  # the codes of a node ascend
        start = np.zeros(len(self.parent) + 1, dtype=np.int64)
        np.cumsum(np.bincount(edges, minlength=len(self.parent)), out=start[1:])
        return start, np.concatenate(codes)[order].astype(np.uint32)

    def leaves(self, i: int) -> NDArray[np.int32]:
        """Leaves of tree `i` that stand for a sample at least, from the first branch to the last."""
        tree = self.trees[i]
        first_child, n_branches = tree.first_child.tolist(), tree.n_branches.tolist()
        leaves, waiting = [], [0]
        while waiting:
            node = waiting.pop()
            if n_branches[node]:
                waiting.extend(range(first_child[node] + n_branches[node] - 1, first_child[node] - 1, -1))
            else:
                leaves.append(node)
        found = np.array(leaves, dtype=np.int32)
        return found[tree.weight[found].astype(np.float32) >= 1]

    def encode(self, samples: PlacedSamples) -> tuple[dict[str, NDArray[Any]], NDArray[np.uint32]]:
        """The arrays of the core's edges, and the codes that they look at; code 0 satisfies nothing.

        A continuous value has the number of the interval between thresholds of the trees where it lies.
        """
        low, high = self.code.astype(np.uint32), self.code.astype(np.uint32)
        codes = np.zeros((len(self.tested), len(samples.truth)), dtype=np.uint32)
        for slot, feature in enumerate(self.tested.tolist()):
            column = self.table.column(feature)
            edges = np.flatnonzero((self.feature == feature) & (self.kind == BY_THRESHOLD))
            if self.table.schema.features[feature].kind == Kind.CONTINUOUS:
                thresholds, cut = np.unique(self.threshold[edges], return_inverse=True)
                last = len(thresholds) + 1
                column = np.where(np.isnan(column), 0, 1 + np.searchsorted(thresholds, column))
            else:
                cut = np.floor(self.threshold[edges]).astype(np.int64) - 1
                last = len(self.table.schema.features[feature].categories or ())
            codes[slot, samples.places] = column[samples.rows]
            above = self.branch[edges] == 1
            low[edges] = np.where(above, cut + 2, 1)
            high[edges] = np.where(above, last, cut + 1)
        start, group_codes = self.groups
        return {
            "parent": self.parent,
            "slot": np.searchsorted(self.tested, self.feature).astype(np.int32),
            "low": low,
            "high": high,
            "group_start": start,
            "group_code": group_codes,
            "feature": self.feature,
            "kind": self.kind,
            "threshold": self.threshold,
        }, codes

    def bits(self, samples: PlacedSamples, redundancy: float) -> NDArray[np.float64]:
        """Bits that each condition takes: which feature, and which value, threshold or group of it."""
        value_bits = [self._value_bits(feature, samples) for feature in range(self.table.n_features)]
        total = np.float32(0)
        for bits in value_bits:
            total = total + bits
        which = np.float32(0)
        for bits in value_bits:
            if bits > 0:
                share = np.float32(bits / total)
                which = np.float32(which - float(share) * _lg(share))
        of_value = np.array(value_bits, dtype=np.float64)[self.feature]
        n_categories = np.array([len(feature.categories or ()) for feature in self.table.schema.features])
        of_value = np.where(self.kind == BY_GROUP, n_categories[self.feature], of_value)
        return np.asarray(float(which) / redundancy + of_value)

    def _value_bits(self, feature: int, samples: PlacedSamples) -> np.float32:
        column = self.table.column(feature)[samples.rows]
        categories = self.table.schema.features[feature].categories
        if categories is None:
            with np.errstate(over="ignore"):
                distinct = len(np.unique(column.astype(np.float32)))  # a missing value is one of them
            return np.float32(1 + _lg(distinct) / 2 if distinct > 1 else 0)
        n, bits = samples.n_samples, np.float32(0)
        for count in np.bincount(column, minlength=len(categories) + 1)[1:].tolist():
            if count:
                bits = np.float32(bits + count / n * (_lg(n) - _lg(count)))
        return bits

    def looks(self) -> NDArray[np.int64]:
        """Number of what Release 8 looks at when it compares two conditions.

        It is blind for the direction of a threshold, and for the branch of a test on groups.
        """
        detail = np.where(self.kind == BY_GROUP, self.parent, np.where(self.kind == BY_THRESHOLD, self.threshold, self.code))
        numbers: dict[tuple[Any, ...], int] = {}
        seen = zip(self.feature.tolist(), self.kind.tolist(), detail.tolist(), strict=True)
        return np.array([numbers.setdefault(look, len(numbers)) for look in seen], dtype=np.int64)

    def describe(self, edge: int) -> tuple[int, str, float | None, tuple[Category, ...]]:
        """Feature, operator ("<=", ">", "=" or "in"), threshold (None for "=" and "in") and the categories that satisfy it."""
        index = int(self.feature[edge])
        feature = self.table.schema.features[index]
        categories = feature.categories or ()
        above = self.branch[edge] == 1
        if self.kind[edge] == BY_THRESHOLD and feature.kind == Kind.CONTINUOUS:
            return index, ">" if above else "<=", float(self.threshold[edge]), ()
        if self.kind[edge] == BY_THRESHOLD:
            cut = math.floor(self.threshold[edge])
            chosen = categories[cut:] if above else categories[:cut]
        elif self.kind[edge] == BY_CATEGORY:
            chosen = (categories[self.code[edge] - 1],)
        else:
            start, codes = self.groups
            chosen = tuple(categories[code - 1] for code in codes[start[edge] : start[edge + 1]].tolist())
        return index, "=" if len(chosen) == 1 else "in", None, chosen


@dataclass
class Drafts:
    """Rules at work: parallel arrays.

    Rule r has the conditions ``node[start[r]:stop[r]]`` and fires on the places ``cover[cover_start[r]:cover_stop[r]]``.
    """

    label: NDArray[np.int32]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    node: NDArray[np.int32]
    errors: NDArray[np.int64]
    estimate: NDArray[np.float32]
    cover_start: NDArray[np.int64]
    cover_stop: NDArray[np.int64]
    cover: NDArray[np.uint32]

    @classmethod
    def join(cls, parts: Sequence[Drafts]) -> Drafts:
        """One after the other."""
        nodes = np.cumsum([0] + [len(part.node) for part in parts])
        places = np.cumsum([0] + [len(part.cover) for part in parts])
        return cls(
            label=np.concatenate([part.label for part in parts]),
            start=np.concatenate([part.start + shift for part, shift in zip(parts, nodes, strict=False)]),
            stop=np.concatenate([part.stop + shift for part, shift in zip(parts, nodes, strict=False)]),
            node=np.concatenate([part.node for part in parts]),
            errors=np.concatenate([part.errors for part in parts]),
            estimate=np.concatenate([part.estimate for part in parts]),
            cover_start=np.concatenate([part.cover_start + shift for part, shift in zip(parts, places, strict=False)]),
            cover_stop=np.concatenate([part.cover_stop + shift for part, shift in zip(parts, places, strict=False)]),
            cover=np.concatenate([part.cover for part in parts]),
        )

    def take(self, rules: NDArray[Any]) -> Drafts:
        """Some of the rules, in this order."""
        names = ("label", "start", "stop", "errors", "estimate", "cover_start", "cover_stop")
        return Drafts(node=self.node, cover=self.cover, **{name: getattr(self, name)[rules] for name in names})

    def without_repeats(self, looks: NDArray[np.int64]) -> Drafts:
        """Rules that look different; of those that look the same the first, with the largest estimate."""
        first: dict[tuple[int, bytes], int] = {}
        estimate = self.estimate.copy()
        seen = looks[self.node]
        bounds = zip(self.label.tolist(), self.start.tolist(), self.stop.tolist(), strict=True)
        for rule, (label, start, stop) in enumerate(bounds):
            earlier = first.setdefault((label, seen[start:stop].tobytes()), rule)
            estimate[earlier] = max(estimate[earlier], estimate[rule])
        return replace(self, estimate=estimate).take(np.array(list(first.values()), dtype=np.intp))

    def fires(self) -> NDArray[np.bool_]:
        """Rules that are trusted to fire at all."""
        return self.estimate <= NEVER_FIRES

    def bits(self, of_conditions: NDArray[np.float64]) -> NDArray[np.float32]:
        """Bits that each rule takes; the order of its conditions means nothing."""
        length = self.stop - self.start
        total = np.zeros(len(length), dtype=np.float32)
        for i in range(int(length.max(initial=0))):
            longer = length > i
            total[longer] += of_conditions[self.node[self.start[longer] + i]]
        orders = [np.float32(0), np.float32(0)]
        for k in range(2, int(length.max(initial=0)) + 1):
            orders.append(np.float32(orders[-1] + _lg(k)))
        order = np.array([_lg(k) - float(orders[k]) for k in range(len(orders))])
        return np.asarray(total + order[length], dtype=np.float32)

    def covers(self, rule: int) -> NDArray[np.uint32]:
        """Places of the samples on which a rule fires."""
        return self.cover[self.cover_start[rule] : self.cover_stop[rule]]


@dataclass
class RuleSet:
    """Rules in order of use, what happens where none fires, and how many the last look at them dropped."""

    rules: Drafts
    default: int
    default_count: NDArray[np.int64]
    n_dropped: int


class Induction:
    """The steps from trees to rules, on one set of samples."""

    def __init__(
        self, trees: Sequence[Tree], table: Table, samples: PlacedSamples, redundancy: float, annealing: bool, grouped: bool
    ) -> None:
        self.conditions = Conditions(trees, table, grouped)
        self.samples = samples
        self.looks = self.conditions.looks()
        self.condition_bits = self.conditions.bits(samples, redundancy)
        self.annealing = annealing
        self.random = _core.seed_random()

    def run(self, confidence: float, significance: float | None) -> RuleSet:
        """Simplify the rules of every tree and choose among them; then, of several trees, choose once more among what is left."""
        edges, codes = self.conditions.encode(self.samples)
        pools = []
        for i in range(len(self.conditions.trees)):
            rules = self._simplify(i, edges, codes, confidence, significance)
            pools.append(rules.without_repeats(self.looks))
        if len(pools) > 1:
            pools = [self._arrange(self._select(pool))[0] for pool in pools]
        pool = Drafts.join(pools).without_repeats(self.looks) if len(pools) > 1 else pools[0]
        rules, default, counts = self._arrange(self._select(pool))
        kept = _core.drop_rules(
            rules.cover_start, rules.cover_stop, rules.cover, rules.label, self.samples.truth, default
        ).astype(bool)
        n_dropped = int(np.count_nonzero(~kept))
        return RuleSet(rules.take(np.flatnonzero(kept & rules.fires())), default, counts, n_dropped)

    def _simplify(
        self, i: int, edges: dict[str, NDArray[Any]], codes: NDArray[np.uint32], confidence: float, significance: float | None
    ) -> Drafts:
        leaves = self.conditions.leaves(i)
        found = _core.simplify_rules(
            edges,
            codes,
            self.samples.padding,
            self.samples.class_start,
            self.samples.n_samples,
            self.samples.default_error(),
            (leaves + self.conditions.first[i]).astype(np.int32),
            self.conditions.trees[i].label[leaves].astype(np.int32),
            float(np.float32(confidence)),
            float(normal_quantile(confidence) ** 2),
            -1.0 if significance is None else significance * (1 + ROUNDING),
        )
        start, cover_start = found["start"], found["cover_start"]
        return Drafts(
            found["label"],
            start[:-1],
            start[1:],
            found["node"],
            found["errors"],
            found["estimate"],
            cover_start[:-1],
            cover_start[1:],
            found["cover"],
        )

    def _select(self, rules: Drafts) -> Drafts:
        """Keep, of each class, the rules that make the shortest message."""
        marks = _core.select_rules(
            rules.cover_start,
            np.where(rules.fires(), rules.cover_stop, rules.cover_start),
            rules.cover,
            rules.label,
            rules.bits(self.condition_bits),
            self.samples.truth,
            self.samples.class_count,
            self.random,
            self.annealing,
        )
        return rules.take(np.flatnonzero(marks))

    def _arrange(self, rules: Drafts) -> tuple[Drafts, int, NDArray[np.int64]]:
        """Put rules in order of use; also the default class, and the samples of each class that no rule covers.

        The next class is that with the fewest false positives on samples that those before do not cover; the rules of a class
        stand by their estimates.
        """
        truth, n_classes = self.samples.truth, len(self.samples.class_count)
        classes, places = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.uint32)]
        trusted = rules.fires()
        for label in range(n_classes):
            of_class = np.flatnonzero((rules.label == label) & trusted).tolist()
            if of_class:
                places.append(np.unique(np.concatenate([rules.covers(rule) for rule in of_class])))
                classes.append(np.full(len(places[-1]), label))
        label_of, place = np.concatenate(classes), np.concatenate(places)
        waiting = np.ones(n_classes, dtype=bool)
        covered = np.zeros(len(truth), dtype=bool)
        order: list[NDArray[np.intp]] = []
        for _ in range(n_classes):
            wrong = np.bincount(label_of[truth[place] != label_of], minlength=n_classes)
            label = int(np.where(waiting, wrong, np.iinfo(np.int64).max).argmin())
            waiting[label] = False
            covered[place[label_of == label]] = True
            here = np.flatnonzero(rules.label == label)
            order.append(here[np.argsort(rules.estimate[here], kind="stable")])
            uncovered = ~covered[place]
            label_of, place = label_of[uncovered], place[uncovered]
        counts = np.bincount(truth[~covered & (truth >= 0)], minlength=n_classes).astype(np.int64)
        total = self.samples.class_count
        default = max(range(n_classes), key=lambda label: (counts[label], total[label], -label))
        return rules.take(np.concatenate(order)), default, counts
