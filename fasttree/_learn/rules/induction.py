"""Induction of rules from trees (Quinlan 1993, chapter 5; ties are decided as in Release 8).

Samples and conditions are laid out for the engine, which counts.  Rules are rows of arrays, and a condition is the number of the
node to which it leads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Category, Kind
from fasttree._data.table import Table
from fasttree._engine import rulesets
from fasttree._learn.progress import each
from fasttree._learn.prune.error_based import normal_quantile
from fasttree._model.arrays import CATEGORY, NOMINAL, THRESHOLD
from fasttree._model.tree import Tree

__all__ = ["Conditions", "Drafts", "Induction", "PlacedSamples", "RuleSet"]

NEVER_FIRES = np.float32(0.7)  # a rule with a larger error estimate counts as absent
ROUNDING = 1e-9  # relative, of Fisher's probability, a sum of exponentials: one that equals the level must not exceed it
BY_CATEGORY, BY_THRESHOLD, BY_GROUP = 1, 2, 3
FEW_CUTS = 32  # up to which a comparison with each is faster than a search, as measured


def _lg(x: float | np.floating[Any]) -> float:
    return math.log(x) / math.log(2) if x > 0 else 0.0


def _log_number(n: int) -> np.float32:
    """Return the logarithm to base 2 as Release 8 tabulates it."""
    return np.float32(_lg(n))


class PlacedSamples:
    """Training samples class by class, each class on whole words of 64 bits, all on eight: the place of a sample is its bit.

    A sample of weight w has w places.  Samples of one class are in the order of `ranks`, if given, else in that of the table.
    """

    def __init__(
        self, y: NDArray[np.intp], n_classes: int, weight: NDArray[np.int64] | None, ranks: NDArray[np.integer] | None = None
    ) -> None:
        key = y if ranks is None else y * (int(ranks.max(initial=0)) + 1) + ranks
        order = np.argsort(key.astype(np.min_scalar_type(int(key.max(initial=0)))), kind="stable")  # 16 bits are sorted fastest
        self.rows = order if weight is None else np.repeat(order, weight[order])
        self.n_samples = len(self.rows)
        self.class_count = np.bincount(y[self.rows], minlength=n_classes).astype(np.int64)
        self.class_start = np.zeros(n_classes + 1, dtype=np.int64)  # in words
        np.cumsum(-(-self.class_count // 64), out=self.class_start[1:])
        first = np.cumsum(self.class_count) - self.class_count
        self.places = np.arange(self.n_samples) + np.repeat(64 * self.class_start[:-1] - first, self.class_count)
        self.truth = np.full(64 * 8 * -(-self.class_start[-1] // 8), -1, dtype=np.int32)
        self.truth[self.places] = y[self.rows]
        self.padding = np.packbits(self.truth < 0, bitorder="little").view("<u8").astype(np.uint64)

    def default_error(self) -> NDArray[np.float32]:
        """Return, per class, the error rate of a rule that always predicts it."""
        return (1 - (self.class_count + 1) / (self.n_samples + 2)).astype(np.float32)


class Conditions:
    """Edges of trees over one table, as arrays for the engine; a condition has the number of the node to which it leads.

    The nodes of several trees are numbered one tree after the other.  With `grouped`, all tests on categories count as tests on
    groups, even if each group has one category.
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
        # a category list with one entry per branch is the same as a branch for each category
        sizes = np.concatenate([np.diff(tree.categories_start) for tree in trees])[self.parent]
        single = (tested_by == NOMINAL) & (sizes == self._of_parent("n_branches")) & (not grouped)
        self.kind = np.where(
            tested_by == THRESHOLD, BY_THRESHOLD, np.where(single | (tested_by == CATEGORY), BY_CATEGORY, BY_GROUP)
        ).astype(np.uint8)
        self.threshold = np.where(edge & (self.kind == BY_THRESHOLD), self._of_parent("threshold"), 0.0)
        self.code = self.branch + 1  # by category
        self.code[edge & single] = self.groups[1][self.groups[0][:-1][edge & single]]

    def _of_parent(self, name: str) -> NDArray[Any]:
        array: NDArray[Any] = np.concatenate([getattr(tree, name) for tree in self.trees])
        return array[self.parent]  # a root gets the entry of the last node, which is not read

    def _groups(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return the codes that follow each edge: where they start, and the codes."""
        owner, codes = [], []
        for tree, first in zip(self.trees, self.first.tolist(), strict=False):
            nodes = np.repeat(np.arange(tree.node_count), np.diff(tree.categories_start))
            owner.append(tree.first_child[nodes] + tree.categories_branch + first)
            codes.append(tree.categories_code)
        edges = np.concatenate(owner)
        order = np.argsort(edges, kind="stable")  # the codes of a node ascend
        start = np.zeros(len(self.parent) + 1, dtype=np.int64)
        np.cumsum(np.bincount(edges, minlength=len(self.parent)), out=start[1:])
        return start, np.concatenate(codes)[order].astype(np.uint32)

    def leaves(self, i: int) -> NDArray[np.int32]:
        """Return the leaves of tree `i` with a weight of at least 1, from the first branch to the last."""
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

    def encode(self, samples: PlacedSamples) -> tuple[dict[str, NDArray[Any]], NDArray[np.unsignedinteger[Any]]]:
        """Return the arrays of the engine's edges, and the codes that they test, of the smallest type; code 0 satisfies nothing.

        The code of a continuous value is the number of its interval between the thresholds of the trees.
        """
        low, high = self.code.astype(np.uint32), self.code.astype(np.uint32)
        features, tested = self.table.schema.features, self.tested.tolist()
        edges = [np.flatnonzero((self.feature == feature) & (self.kind == BY_THRESHOLD)) for feature in tested]
        cuts = [np.unique(self.threshold[each]) for each in edges]
        sizes = [len(features[feature].categories or cut) + 1 for feature, cut in zip(tested, cuts, strict=True)]
        codes = np.empty((len(tested), len(samples.truth)), dtype=np.min_scalar_type(max(sizes, default=1)))
        rows = np.zeros(len(samples.truth), dtype=np.intp)
        rows[samples.places] = samples.rows
        for slot, (feature, here) in enumerate(zip(tested, edges, strict=True)):
            column, last = self.table.column(feature), sizes[slot]
            if features[feature].kind == Kind.CONTINUOUS:
                cut = np.searchsorted(cuts[slot], self.threshold[here])
                few = self.table.few(feature, column) if isinstance(self.table, Table) else None
                if few is None:
                    codes[slot] = interval_numbers(column, cuts[slot], codes.dtype)[rows]
                else:
                    codes[slot] = np.append(0, 1 + np.searchsorted(cuts[slot], few[0]))[few[1]].astype(codes.dtype)[rows]
            else:
                codes[slot] = column[rows]
                cut, last = np.floor(self.threshold[here]).astype(np.int64) - 1, last - 1
            above = self.branch[here] == 1
            low[here] = np.where(above, cut + 2, 1)
            high[here] = np.where(above, last, cut + 1)
        codes[:, samples.truth < 0] = 0
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

    def bits(self, samples: PlacedSamples, redundancy: float) -> NDArray[np.float32]:
        """Return the bits of each condition: of its feature, and of its value, threshold or group."""
        value_bits = [self._value_bits(feature, samples) for feature in range(self.table.n_features)]
        total = np.float32(0)
        for bits in value_bits:
            total = total + bits
        which = np.float32(0)
        for bits in value_bits:
            if bits > 0:
                share = float(bits / total)
                which = np.float32(float(which) - share * math.log(share) / math.log(2))
        of_value = np.array(value_bits, dtype=np.float32)[self.feature]
        n_categories = np.array([len(feature.categories or ()) for feature in self.table.schema.features], dtype=np.float32)
        of_value = np.where(self.kind == BY_GROUP, n_categories[self.feature], of_value)
        return np.asarray(which / np.float32(redundancy) + of_value)

    def _value_bits(self, feature: int, samples: PlacedSamples) -> np.float32:
        column = self.table.column(feature)[samples.rows]
        categories = self.table.schema.features[feature].categories
        if categories is None:
            with np.errstate(over="ignore"):
                distinct = len(np.unique(column.astype(np.float32)))  # a missing value is one of them
            return np.float32(1 + float(_log_number(distinct)) / 2 if distinct > 1 else 0)
        n, bits = samples.n_samples, np.float32(0)
        for count in np.bincount(column, minlength=len(categories) + 1)[1:].tolist():
            if count:
                bits = np.float32(float(bits) + count / n * float(_log_number(n) - _log_number(count)))
        return bits

    def looks(self) -> NDArray[np.int64]:
        """Return numbers that are equal for conditions that Release 8 takes for the same.

        It ignores the direction of a threshold, and the branch of a test on groups.
        """
        detail = np.where(self.kind == BY_GROUP, self.parent, np.where(self.kind == BY_THRESHOLD, self.threshold, self.code))
        numbers: dict[tuple[Any, ...], int] = {}
        seen = zip(self.feature.tolist(), self.kind.tolist(), detail.tolist(), strict=True)
        return np.array([numbers.setdefault(look, len(numbers)) for look in seen], dtype=np.int64)

    def describe(self, edges: list[int]) -> Iterator[tuple[int, str, float | None, tuple[Category, ...]]]:
        """Yield feature, operator ("<=", ">", "=" or "in"), threshold (None for "=" and "in") and satisfying categories."""
        start, codes = self.groups
        of_edges = (array[edges].tolist() for array in (self.feature, self.kind, self.threshold, self.branch, self.code))
        for edge, index, kind, threshold, branch, code in zip(edges, *of_edges, strict=True):
            feature = self.table.schema.features[index]
            categories = feature.categories or ()
            if kind == BY_THRESHOLD and feature.kind == Kind.CONTINUOUS:
                yield index, ">" if branch == 1 else "<=", threshold, ()
                continue
            if kind == BY_THRESHOLD:
                cut = math.floor(threshold)
                chosen = categories[cut:] if branch == 1 else categories[:cut]
            elif kind == BY_CATEGORY:
                chosen = (categories[code - 1],)
            else:
                chosen = tuple(categories[each - 1] for each in codes[start[edge] : start[edge + 1]].tolist())
            yield index, "=" if len(chosen) == 1 else "in", None, chosen


def interval_numbers(column: NDArray[np.floating[Any]], cuts: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return for each value one more than how many of the cuts, which ascend, are below it; 0 if it is missing."""
    if len(cuts) > FEW_CUTS:
        found = (1 + np.searchsorted(cuts, column)).astype(dtype)
    else:
        found = np.ones(len(column), dtype=dtype)
        for cut in cuts:
            found += column > cut
    found[np.isnan(column)] = 0
    return found


@dataclass
class Drafts:
    """Rules during the induction, as parallel arrays.

    Rule r has the conditions ``node[start[r]:stop[r]]`` and fires on the places ``cover[cover_start[r]:cover_stop[r]]``.
    """

    label: NDArray[np.int32]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    node: NDArray[np.int32]
    errors: NDArray[np.int64]
    estimate: NDArray[np.floating[Any]]
    cover_start: NDArray[np.int64]
    cover_stop: NDArray[np.int64]
    cover: NDArray[np.uint32]

    @classmethod
    def join(cls, parts: Sequence[Drafts]) -> Drafts:
        """Return the rules of all parts, one part after the other."""
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
        """Return some of the rules, in this order."""
        names = ("label", "start", "stop", "errors", "estimate", "cover_start", "cover_stop")
        return Drafts(node=self.node, cover=self.cover, **{name: getattr(self, name)[rules] for name in names})

    def without_repeats(self, looks: NDArray[np.int64]) -> Drafts:
        """Return one of each set of rules that look the same: the first, with the largest estimate of the set."""
        first: dict[tuple[int, bytes], int] = {}
        estimate = self.estimate.copy()
        seen = looks[self.node]
        bounds = zip(self.label.tolist(), self.start.tolist(), self.stop.tolist(), strict=True)
        for rule, (label, start, stop) in enumerate(bounds):
            earlier = first.setdefault((label, seen[start:stop].tobytes()), rule)
            estimate[earlier] = max(estimate[earlier], estimate[rule])
        return replace(self, estimate=estimate).take(np.array(list(first.values()), dtype=np.intp))

    def fires(self) -> NDArray[np.bool_]:
        """Return which rules may fire, by their estimates."""
        return self.estimate <= NEVER_FIRES

    def bits(self, of_conditions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the bits of each rule, whose conditions have no order."""
        length = self.stop - self.start
        longest = int(length.max(initial=0))
        total = np.zeros(len(length), dtype=np.float32)
        for i in range(longest):
            longer = length > i
            total[longer] += of_conditions[self.node[self.start[longer] + i]]
        numbers = np.array([_log_number(k) for k in range(longest + 1)], dtype=np.float32)
        orders = np.cumsum(numbers, dtype=np.float64)
        return np.asarray(total + numbers[length] - orders[length], dtype=np.float32)

    def covers(self, rule: int) -> NDArray[np.uint32]:
        """Return the places of the samples on which a rule fires."""
        return self.cover[self.cover_start[rule] : self.cover_stop[rule]]


@dataclass
class RuleSet:
    """Rules in the order of use, the default class and its counts, and the number of rules that the last step dropped."""

    rules: Drafts
    default: int
    default_count: NDArray[np.int64]
    n_dropped: int


class Induction:
    """Steps from trees to rules, on one set of samples."""

    def __init__(
        self, trees: Sequence[Tree], table: Table, samples: PlacedSamples, redundancy: float, annealing: bool, grouped: bool
    ) -> None:
        self.conditions = Conditions(trees, table, grouped)
        self.samples = samples
        self.looks = self.conditions.looks()
        self.condition_bits = self.conditions.bits(samples, redundancy)
        self.annealing = annealing
        self.random = rulesets.seed_random()

    def run(self, confidence: float, significance: float | None) -> RuleSet:
        """Simplify and select the rules of every tree; if there are several trees, select once more from all of theirs."""
        edges, codes = self.conditions.encode(self.samples)
        pools = []
        for i in each("rules", range(len(self.conditions.trees))):
            rules = self._simplify(i, edges, codes, confidence, significance)
            pools.append(rules.without_repeats(self.looks))
        if len(pools) > 1:
            pools = [self._arrange(self._select(pool))[0] for pool in pools]
        pool = Drafts.join(pools).without_repeats(self.looks) if len(pools) > 1 else pools[0]
        rules, default, counts = self._arrange(self._select(pool))
        stop = np.where(rules.fires(), rules.cover_stop, rules.cover_start)
        kept = rulesets.drop_rules(rules.cover_start, stop, rules.cover, rules.label, self.samples.truth, default).astype(bool)
        n_dropped = int(np.count_nonzero(~kept))
        return RuleSet(rules.take(np.flatnonzero(kept & rules.fires())), default, counts, n_dropped)

    def _simplify(
        self, i: int, edges: dict[str, NDArray[Any]], codes: NDArray[np.uint32], confidence: float, significance: float | None
    ) -> Drafts:
        leaves = self.conditions.leaves(i)
        found = rulesets.simplify_rules(
            edges,
            codes,
            (self.samples.padding, np.empty(0, np.int64)),
            self.samples.class_start,
            self.samples.n_samples,
            self.samples.default_error(),
            (leaves + self.conditions.first[i]).astype(np.int32),
            self.conditions.trees[i].predicted_class[leaves].astype(np.int32),
            self.samples.class_count,
            (
                float(np.float32(confidence)),
                float(normal_quantile(confidence) ** 2),
                -1.0 if significance is None else significance * (1 + ROUNDING),
                None,
                1.0,
            ),
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
        """Keep the rules of each class that have the shortest encoding together with their exceptions."""
        marks = rulesets.select_rules(
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
        """Return the rules in the order of use, the default class, and the number of uncovered samples of each class.

        The next class is the one with the fewest false positives on samples that the classes before do not cover.  The rules of a
        class are sorted by their estimates.
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
            wrong = np.bincount(label_of[truth[place] != label_of], minlength=n_classes).astype(np.int64)
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
