"""Rules from trees: Quinlan's C4.5 rule sets.

Every leaf of an unpruned tree is a rule.  A rule loses the conditions that it can be missed, each class keeps the rules that make
the shortest message together with their exceptions, the classes are put in order, and what does more harm than good goes.  This
file lays out samples and conditions for the compiled core, which does the counting, and gives the result a face.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from . import __version__, _core, _document, _grow, _text
from ._prune import normal_quantile
from ._table import Category, Kind, Schema, Table, encode_classes, encode_table
from ._tree import CATEGORY, KNOWN, NOMINAL, THRESHOLD, Tree
from .estimators import (
    _COMMON_RULES,
    _FLAG,
    C45Classifier,
    _check_same_length,
    _check_sample_weight,
    _is_number,
    _TreeClassifier,
)

__all__ = ["C45Rules", "Condition", "Rule"]

NEVER_FIRES = np.float32(0.7)  # a rule of a larger error estimate is as good as absent
_Compiled = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]

FORMAT = "fasttree.rules"
VERSION = "1.0"

ROUNDING = 1e-9  # of Fisher's probability, a sum of exponentials: one that equals the level must not exceed it
MOST_SAMPLES = 2**31 - 1  # places are 32 bits
BY_CATEGORY, BY_THRESHOLD, BY_GROUP = 1, 2, 3
OPERATORS = {"<=": 0, ">": 1, "=": 2, "in": 2}


@dataclass(frozen=True)
class Condition:
    """A test that a sample passes or fails; a missing or unseen value fails every one.

    Attributes
    ----------
    feature : str
        Name of the tested feature.
    index : int
        Its column.
    kind : Kind
        Its kind.
    operator : {"<=", ">", "=", "in"}
        ``x <= threshold``, ``x > threshold``, ``x = categories[0]``, or x is one of several `categories`.
    threshold : float or None
        None for "=" and "in".
    categories : tuple
        Empty for "<=" and ">".
    """

    feature: str
    index: int
    kind: Kind
    operator: str
    threshold: float | None = None
    categories: tuple[Category, ...] = ()

    def __str__(self) -> str:
        return self._write({} if self.threshold is None else _text.threshold_texts({(self.index, self.threshold)}))

    def _write(self, thresholds: Mapping[tuple[int, float], str]) -> str:
        name = _text.word(self.feature)
        if self.threshold is not None:
            return f"{name} {self.operator} {thresholds[self.index, self.threshold]}"
        words = [_text.word(category) for category in self.categories]
        return f"{name} = {words[0]}" if self.operator == "=" else f"{name} in {{{', '.join(words)}}}"


@dataclass(frozen=True)
class Rule:
    """If all conditions hold, then this class.

    Attributes
    ----------
    conditions : tuple of Condition
        At least one.
    label : object
        The class.
    cover : int
        Training samples that satisfy the conditions.
    errors : int
        Those of them that are of another class.
    estimate : float
        Pessimistic estimate of the rule's error rate (Quinlan 1993, section 5.2).
    """

    conditions: tuple[Condition, ...]
    label: Any
    cover: int
    errors: int
    estimate: float

    @property
    def confidence(self) -> float:
        """1 - `estimate`."""
        return 1 - self.estimate

    def __str__(self) -> str:
        return self._write(_text.threshold_texts(_thresholds([self])))

    def _write(self, thresholds: Mapping[tuple[int, float], str]) -> str:
        conditions = " and ".join(condition._write(thresholds) for condition in self.conditions)
        figures = f"cover {self.cover}, errors {self.errors}, estimate {100 * self.estimate:.1f} %"
        return f"if {conditions} then {_text.word(self.label)}  ({figures})"


def _thresholds(rules: Sequence[Rule]) -> set[tuple[int, float]]:
    return {
        (condition.index, condition.threshold)
        for rule in rules
        for condition in rule.conditions
        if condition.threshold is not None
    }


# --- what the core works on


class _Samples:
    """Training samples class by class, each class on whole words of 64 bits: the place of a sample is its bit.

    A sample of weight w stands w times.
    """

    def __init__(self, y: NDArray[np.intp], n_classes: int, weight: NDArray[np.int64] | None) -> None:
        rows = np.arange(len(y)) if weight is None else np.repeat(np.arange(len(y)), weight)
        self.rows = rows[np.argsort(y[rows], kind="stable")]
        self.n_samples = len(rows)
        self.class_count = np.bincount(y[rows], minlength=n_classes).astype(np.int64)
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


class _Conditions:
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

    def encode(self, samples: _Samples) -> tuple[dict[str, NDArray[Any]], NDArray[np.uint32]]:
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

    def bits(self, samples: _Samples, redundancy: float) -> NDArray[np.float64]:
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

    def _value_bits(self, feature: int, samples: _Samples) -> np.float32:
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

    def describe(self, edge: int) -> Condition:
        """The condition in words of the table."""
        index = int(self.feature[edge])
        feature = self.table.schema.features[index]
        categories = feature.categories or ()
        above = self.branch[edge] == 1
        if self.kind[edge] == BY_THRESHOLD and feature.kind == Kind.CONTINUOUS:
            return Condition(feature.name, index, feature.kind, ">" if above else "<=", float(self.threshold[edge]))
        if self.kind[edge] == BY_THRESHOLD:
            cut = math.floor(self.threshold[edge])
            chosen = categories[cut:] if above else categories[:cut]
        elif self.kind[edge] == BY_CATEGORY:
            chosen = (categories[self.code[edge] - 1],)
        else:
            start, codes = self.groups
            chosen = tuple(categories[code - 1] for code in codes[start[edge] : start[edge + 1]].tolist())
        return Condition(feature.name, index, feature.kind, "=" if len(chosen) == 1 else "in", None, chosen)


@dataclass
class _Drafts:
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
    def join(cls, parts: Sequence[_Drafts]) -> _Drafts:
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

    def take(self, rules: NDArray[Any]) -> _Drafts:
        """Some of the rules, in this order."""
        names = ("label", "start", "stop", "errors", "estimate", "cover_start", "cover_stop")
        return _Drafts(node=self.node, cover=self.cover, **{name: getattr(self, name)[rules] for name in names})

    def without_repeats(self, looks: NDArray[np.int64]) -> _Drafts:
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


# --- the steps from leaves to rules


def _lg(x: float | np.floating[Any]) -> float:
    return math.log(x) / math.log(2) if x > 0 else 0.0


@dataclass
class _RuleSet:
    """Rules in order of use, what happens where none fires, and how many the last look at them dropped."""

    rules: _Drafts
    default: int
    default_count: NDArray[np.int64]
    n_dropped: int


class _Induction:
    """From trees to rules (Quinlan 1993, chapter 5; the choices among equals are those of Release 8)."""

    def __init__(
        self, trees: Sequence[Tree], table: Table, samples: _Samples, redundancy: float, annealing: bool, grouped: bool
    ) -> None:
        self.conditions = _Conditions(trees, table, grouped)
        self.samples = samples
        self.looks = self.conditions.looks()
        self.condition_bits = self.conditions.bits(samples, redundancy)
        self.annealing = annealing
        self.random = _core.seed_random()

    def run(self, confidence: float, significance: float | None) -> _RuleSet:
        """Simplify the rules of every tree and choose among them; then, of several trees, choose once more among what is left."""
        edges, codes = self.conditions.encode(self.samples)
        pools = []
        for i in range(len(self.conditions.trees)):
            rules = self._simplify(i, edges, codes, confidence, significance)
            pools.append(rules.without_repeats(self.looks))
        if len(pools) > 1:
            pools = [self._arrange(self._select(pool))[0] for pool in pools]
        pool = _Drafts.join(pools).without_repeats(self.looks) if len(pools) > 1 else pools[0]
        rules, default, counts = self._arrange(self._select(pool))
        kept = _core.drop_rules(
            rules.cover_start, rules.cover_stop, rules.cover, rules.label, self.samples.truth, default
        ).astype(bool)
        n_dropped = int(np.count_nonzero(~kept))
        return _RuleSet(rules.take(np.flatnonzero(kept & rules.fires())), default, counts, n_dropped)

    def _simplify(
        self, i: int, edges: dict[str, NDArray[Any]], codes: NDArray[np.uint32], confidence: float, significance: float | None
    ) -> _Drafts:
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
        return _Drafts(
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

    def _select(self, rules: _Drafts) -> _Drafts:
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

    def _arrange(self, rules: _Drafts) -> tuple[_Drafts, int, NDArray[np.int64]]:
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


# --- the estimator


class C45Rules(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Classification rules by C4.5: a tree is grown, and its leaves become a short list of rules.

    The list is that of Quinlan's program c4.5rules (Release 8).  Every leaf of the unpruned tree is a rule.  A rule loses the
    conditions without which it is not predicted to err more; each class keeps the rules that, with their exceptions, make the
    shortest message; classes come in the order of their false positives; last, rules go that do more harm than good on the
    training samples.  A sample gets the class of the first rule whose conditions it satisfies all, else the default class.  A
    condition on a value that is missing or unseen is not satisfied.

    Parameters
    ----------
    confidence : float, default=0.25
        Level, in (0, 1), of the upper limit that is the estimated error of a rule; smaller values drop more conditions (option
        `-c` of the original, there in percent).
    redundancy : float, default=1.0
        How redundant the features are thought to be: the bits that name the feature of a condition are divided by it, so that
        larger values keep more rules (option `-r`).
    significance : float or None, default=None
        Level, in [0, 1], of Fisher's exact test: a condition whose effect has a larger probability by chance may go too (option
        `-F`, there in percent).  None: no such test.
    annealing : bool, default=False
        Search the rules of a class by simulated annealing instead of climbing from eleven selections (option `-a`); either only
        where a class has more than 10 rules, else all selections are tried.
    criterion : {"gain_ratio", "gain"}, default="gain_ratio"
        Growth, this and all that follow: as for `C45Classifier`.
    variant : {"release8", "textbook"}, default="release8"
        The program, or the algorithm as textbooks give it.
    epsilon : float, default=0.0
        Textbook: a split needs a gain ratio (or gain, in bits) larger than this.
    subset : bool, default=False
        Whether a split of a feature of more than two categories groups them.
    min_samples_branch : float, default=2
        A split needs at least two branches of this many samples.
    windowing : bool, default=False
        Whether trees are grown on windows of the samples; the rules of all trials' trees are pooled, and chosen among once more.
    n_trials : int, default=10
        Windowing: number of trials.
    window_size : int or None, default=None
        Windowing: samples in the first window.
    window_increment : int or None, default=None
        Windowing: samples that a window grows by at most.
    min_part_weight : float, default=0.0
        Part of a sample with a missing value below which it is not divided any more.
    max_depth : int or None, default=None
        Largest number of tests on a path.
    min_samples_split : int or float, default=2
        A node with fewer samples is a leaf; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Least number of samples in every non-empty branch; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of every non-empty branch, as a share of the weight of all samples.
    min_impurity_decrease : float, default=0.0
        Least gain of a split times the node's share of the weight of all samples.
    min_impurity : float, default=0.0
        A node of smaller impurity is a leaf.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that each node draws to choose from; a float is a share of all features.
    categorical_features : list of str or of int, or None, default=None
        Columns to be taken as nominal, by name or index.
    ordinal_features : dict or None, default=None
        Columns to be taken as ordinal: `{name or index: [lowest, ..., highest]}`.
    unseen : {"as_missing", "error"}, default="as_missing"
        A category at prediction that the fit did not know: treated as a missing value, or an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of the growth.  The search for rules draws the same numbers every time, those that the original draws.

    Attributes
    ----------
    rules_ : tuple of Rule
        The rules in order of use.
    default_class_ : object
        Class of a sample on which no rule fires: that of most training samples which no rule covered when it was chosen.
    default_count_ : ndarray of int64, shape (n_classes,)
        Those training samples by class.
    n_dropped_ : int
        Rules that were chosen, but went in the last look at the training samples.
    class_count_ : ndarray of int64, shape (n_classes,)
        Training samples of each class.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        Number of classes.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the table had names.

    Notes
    -----
    Rules count whole samples.  A sample of weight 2 counts as two, one of weight 0 is as good as absent, and other weights are
    refused; there is no `class_weight`.

    The search takes two looks that are questionable, as the original does, so that the rules are its rules: rules that differ in
    the direction of a threshold alone (``x <= 3``, ``x > 3``), or in the group of one test on groups of categories, pass for the
    same, and the first stays.  Rules with an estimate above 0.7 never fire and are left out.  Not repeated is a defect of its
    storage: a condition on a category numbered above 127 never holds there.

    References
    ----------
    Quinlan, J. R. (1993). C4.5: Programs for Machine Learning. Morgan Kaufmann.  Chapter 5.

    Quinlan, J. R. and Rivest, R. L. (1989). Inferring Decision Trees Using the Minimum Description Length Principle. Information
    and Computation, 80, 227-248.

    Examples
    --------
    >>> from fasttree import C45Rules
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = C45Rules().fit(X, y)
    >>> print(model.rules_[0])
    if x3 <= 0.6 then 0  (cover 50, errors 0, estimate 2.7 %)
    >>> model.predict(X[[0, 60, 149]])
    array([0, 1, 2])
    """

    rules_: tuple[Rule, ...]
    default_class_: Any
    default_count_: NDArray[np.int64]
    n_dropped_: int
    class_count_: NDArray[np.int64]
    classes_: NDArray[Any]
    n_classes_: int
    schema_: Schema
    n_features_in_: int

    _allowed: ClassVar[dict[str, tuple[Callable[[Any], bool], str]]] = {
        "confidence": (lambda value: _is_number(value) and 0 < value < 1, "a number in (0, 1), such as 0.25"),
        "redundancy": (lambda value: _is_number(value) and 0 < value < math.inf, "a finite number > 0"),
        "significance": (lambda value: value is None or (_is_number(value) and 0 <= value <= 1), "a number in [0, 1], or None"),
        "annealing": _FLAG,
        "unseen": _COMMON_RULES["unseen"],
    }

    def __init__(
        self,
        *,
        confidence: float = 0.25,
        redundancy: float = 1.0,
        significance: float | None = None,
        annealing: bool = False,
        criterion: str = "gain_ratio",
        variant: str = "release8",
        epsilon: float = 0.0,
        subset: bool = False,
        min_samples_branch: float = 2,
        windowing: bool = False,
        n_trials: int = 10,
        window_size: int | None = None,
        window_increment: int | None = None,
        min_part_weight: float = 0.0,
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        min_impurity: float = 0.0,
        max_features: float | str | None = None,
        categorical_features: Sequence[str] | Sequence[int] | None = None,
        ordinal_features: Mapping[Any, Sequence[Any]] | None = None,
        unseen: str = "as_missing",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.confidence = confidence
        self.redundancy = redundancy
        self.significance = significance
        self.annealing = annealing
        self.criterion = criterion
        self.variant = variant
        self.epsilon = epsilon
        self.subset = subset
        self.min_samples_branch = min_samples_branch
        self.windowing = windowing
        self.n_trials = n_trials
        self.window_size = window_size
        self.window_increment = window_increment
        self.min_part_weight = min_part_weight
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_impurity = min_impurity
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.ordinal_features = ordinal_features
        self.unseen = unseen
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow a tree and make rules of it.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            pandas or polars DataFrame, Arrow table, NumPy array or list of rows.  Never modified.
        y : array-like of shape (n_samples,)
            Class of each sample: strings, integers, booleans, or a categorical column, whose declared categories are then
            the classes, in their order.
        sample_weight : array-like of shape (n_samples,), default=None
            Whole numbers, how often each sample counts; None stands for ones.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, the table, the target or a weight is not as stated.
        """
        self._check_parameters()
        mine = self.get_params(deep=False)
        grower = C45Classifier(pruning=None).set_params(
            **{name: value for name, value in mine.items() if name in C45Classifier._get_param_names()}
        )
        grower.fit(X, y, sample_weight)
        return self._learn(grower, X, y, sample_weight)

    @classmethod
    def from_tree(cls, model: _TreeClassifier, X: Any, y: Any, sample_weight: ArrayLike | None = None, **parameters: Any) -> Self:
        """Make rules of a fitted tree.

        Parameters
        ----------
        model : C45Classifier, ID3Classifier or CARTClassifier
            Fitted.  Rules are made of its `trees_unpruned_` or `tree_unpruned_`, where it has them, else of `tree_` (also of a
            model that was saved and loaded).
        X : table of shape (n_samples, n_features)
            Training samples, in general those of the tree.
        y : array-like of shape (n_samples,)
            Their classes, each one of the tree's.
        sample_weight : array-like of shape (n_samples,), default=None
            Whole numbers, how often each sample counts; None stands for ones.
        **parameters
            Of `C45Rules`; by default those of `model`, as far as they have the same names.

        Returns
        -------
        C45Rules
            Fitted.

        Raises
        ------
        ValueError
            If a class is not among the tree's, or the tree tests whether a value is missing.
        """
        check_is_fitted(model)
        names = cls._get_param_names()
        rules = cls(**{name: value for name, value in model.get_params(deep=False).items() if name in names} | parameters)
        rules._check_parameters()
        return rules._learn(model, X, y, sample_weight)

    def _check_parameters(self) -> None:
        for name, (is_allowed, allowed) in self._allowed.items():
            value = getattr(self, name)
            if not is_allowed(value):
                raise ValueError(f"{name}={value!r}: must be {allowed}")

    def _learn(self, model: _TreeClassifier, X: Any, y: Any, sample_weight: ArrayLike | None) -> Self:
        trees = getattr(model, "trees_unpruned_", None) or [getattr(model, "tree_unpruned_", model.tree_)]
        if any((tree.kind == KNOWN).any() for tree in trees):
            raise ValueError(
                "the tree tests whether a value is missing, which no condition of a rule can say: fill in missing values"
            )
        table = encode_table(X, model.schema_, estimator_name=type(self).__name__)
        classes, codes = encode_classes(y)
        _check_same_length(table.n_samples, len(codes))
        codes = _as_codes_of(model.classes_, classes, codes)
        weight = None if sample_weight is None else _whole_weights(sample_weight, table.n_samples)
        samples = _Samples(codes, len(model.classes_), weight)
        grouped = model.recipe_.nominal == "groups"
        induction = _Induction(trees, table, samples, float(self.redundancy), bool(self.annealing), grouped)
        significance = None if self.significance is None else float(self.significance)
        found = induction.run(float(self.confidence), significance)
        self._keep(
            tuple(_described(found.rules, induction.conditions, model.classes_)),
            model.schema_,
            model.classes_,
            samples.class_count,
            found.default,
            found.default_count,
            found.n_dropped,
        )
        return self

    def _keep(
        self,
        rules: tuple[Rule, ...],
        schema: Schema,
        classes: NDArray[Any],
        class_count: NDArray[np.int64],
        default: int,
        default_count: NDArray[np.int64],
        n_dropped: int,
    ) -> None:
        self.rules_ = rules
        self.schema_ = schema
        self.classes_ = classes
        self.n_classes_ = len(classes)
        self.class_count_ = class_count
        self.default_class_ = classes[default]
        self.default_count_ = default_count
        self.n_dropped_ = n_dropped
        self.n_features_in_ = len(schema.features)
        if schema.has_names:
            self.feature_names_in_ = np.array([feature.name for feature in schema.features], dtype=object)
        else:  # a fit to a table with names may have gone before
            self.__dict__.pop("feature_names_in_", None)
        self._compiled = _compile(rules, schema)
        label_of = {label: code for code, label in enumerate(classes.tolist())}
        self._labels = np.array([*(label_of[rule.label] for rule in rules), default], dtype=np.intp)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the rule that decides on each sample.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of int32, shape (n_samples,)
            Index in `rules_` of the first rule that fires; -1 where none does.
        """
        check_is_fitted(self)
        table = encode_table(X, self.schema_, unseen=self.unseen, estimator_name=type(self).__name__)
        first = np.empty(table.n_samples, dtype=np.int32)
        for rows, block in _grow.blocks(table):
            _core.first_rules(block, *self._compiled, first[rows])
        return first

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the first rule that fires, the default class where none does.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples,), of the dtype of `classes_`
        """
        first = self.apply(X)
        predicted: NDArray[Any] = self.classes_[self._labels[first]]
        return predicted

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class.

        The class of the rule that fires has 1 - its error estimate, Quinlan's confidence; the other classes share the rest in
        proportion to their training samples.  That can leave another class ahead, where the estimate is large; `predict` follows
        the rule.  Where no rule fires, the classes have the shares that they had among the training samples which no rule
        covered, or among all if there were none.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            In the order of `classes_`; rows sum to 1.
        """
        first = self.apply(X)
        rows = np.empty((len(self.rules_) + 1, self.n_classes_))
        left = self.default_count_ if self.default_count_.any() else self.class_count_
        rows[-1] = left / left.sum()
        for i, rule in enumerate(self.rules_):
            others = self.class_count_.astype(np.float64)
            others[self._labels[i]] = 0
            rows[i] = rule.estimate * others / others.sum() if others.any() else 0.0
            rows[i, self._labels[i]] = 1 - rows[i].sum()
        return rows[first]

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the natural logarithm of `predict_proba`; minus infinity for a class that does not occur.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
        """
        probability = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(probability)

    def export_text(self) -> str:
        """Write the rules in text, a line per rule in order of use, then the default class.

        Returns
        -------
        str
            Lines, each ended by a newline.
        """
        check_is_fitted(self)
        thresholds = _text.threshold_texts(_thresholds(self.rules_))
        lines = [rule._write(thresholds) for rule in self.rules_]
        return "".join(f"{line}\n" for line in [*lines, f"else {_text.word(self.default_class_)}"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rules to a JSON file, which appears whole or not at all; `load` reads it.

        Parameters
        ----------
        path : path
            A name that ends in ``.gz`` is compressed.  An existing file is replaced.

        Raises
        ------
        ValueError
            If a category or class cannot be written, such as an infinite number.
        OSError
            If the file cannot be written.
        """
        check_is_fitted(self)
        settings = self.get_params(deep=False)
        if isinstance(settings["random_state"], np.random.RandomState):
            settings["random_state"] = None  # a generator has moved on since the fit
        _document.save(path, self._to_document(settings))

    def _to_document(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        rules = []
        for rule, label in zip(self.rules_, self._labels.tolist(), strict=False):
            conditions = [_written_condition(condition, self.schema_) for condition in rule.conditions]
            figures = {"cover": rule.cover, "errors": rule.errors, "estimate": rule.estimate}
            rules.append({"if": conditions, "then": label, **figures})
        _document._check_names(self.schema_)
        classes = _document._written_classes(self.classes_, self.n_classes_)
        return {
            "format": FORMAT,
            "version": VERSION,
            "library": __version__,
            **_document._written_table(self.schema_, {"name": "y", **classes}, settings),
            "class_count": self.class_count_.tolist(),
            "default": int(self._labels[-1]),
            "default_count": self.default_count_.tolist(),
            "n_dropped": self.n_dropped_,
            "rules": rules,
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read fitted rules from a file that `save` wrote.

        Parameters
        ----------
        path : path
            JSON file, or compressed JSON file.

        Returns
        -------
        C45Rules
            With parameters and rules as saved; its predictions are those of the saved one.

        Raises
        ------
        ValueError
            If the file is not such a document.
        OSError
            If the file cannot be read.
        """
        try:
            return cls._from_document(_document.load(path))
        except _document.DocumentError as error:
            raise _document.DocumentError(f"{os.fspath(path)}: {error}") from None

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        _document._check_format(document, FORMAT, VERSION)
        schema, target, settings = _document._read_table(document)
        classes = _document._read_classes(target)
        n_classes = len(classes)
        labels = classes.tolist()
        rules = []
        for i, entry in enumerate(_document._entry(document, "rules", list)):
            where = f"rules[{i}]"
            entry = _document._typed(entry, dict, where)
            conditions = _document._entry(entry, "if", list, where)
            if not conditions:
                raise _document.DocumentError(f"{where}.if: must not be empty")
            rules.append(
                Rule(
                    tuple(_read_condition(condition, schema, f"{where}.if[{j}]") for j, condition in enumerate(conditions)),
                    labels[_document._index(entry.get("then"), n_classes, f"{where}.then")],
                    _document._index(entry.get("cover"), MOST_SAMPLES + 1, f"{where}.cover"),
                    _document._index(entry.get("errors"), MOST_SAMPLES + 1, f"{where}.errors"),
                    _read_estimate(entry.get("estimate"), f"{where}.estimate"),
                )
            )
        counts = [_read_counts(document, name, n_classes) for name in ("class_count", "default_count")]
        if not counts[0].any():
            raise _document.DocumentError("class_count: must count a sample at least")
        default = _document._index(document.get("default"), n_classes, "default")
        n_dropped = _document._index(document.get("n_dropped"), MOST_SAMPLES + 1, "n_dropped")
        names = cls._get_param_names()
        model = cls(**{name: value for name, value in settings.items() if name in names})
        model._check_parameters()
        model._keep(tuple(rules), schema, classes, counts[0], default, counts[1], n_dropped)
        return model


def _written_condition(condition: Condition, schema: Schema) -> dict[str, Any]:
    written: dict[str, Any] = {"feature": condition.index, "operator": condition.operator}
    if condition.threshold is not None:
        return {**written, "threshold": condition.threshold}
    categories = schema.features[condition.index].categories or ()
    return {**written, "categories": [categories.index(category) for category in condition.categories]}


def _read_condition(given: Any, schema: Schema, where: str) -> Condition:
    given = _document._typed(given, dict, where)
    index = _document._index(given.get("feature"), len(schema.features), f"{where}.feature")
    feature = schema.features[index]
    operator = _document._entry(given, "operator", str, where)
    allowed = ("<=", ">") if feature.categories is None else ("=", "in")
    if operator not in allowed:
        raise _document.DocumentError(f"{where}.operator: must be one of {', '.join(allowed)} for {feature.name!r}")
    if feature.categories is None:
        threshold = _document._number(given.get("threshold"), f"{where}.threshold")
        return Condition(feature.name, index, feature.kind, operator, threshold)
    chosen = [
        _document._index(j, len(feature.categories), f"{where}.categories")
        for j in _document._entry(given, "categories", list, where)
    ]
    if not chosen or len(set(chosen)) < len(chosen) or (operator == "=" and len(chosen) > 1):
        raise _document.DocumentError(f"{where}.categories: must be one category for '=', different ones for 'in'")
    return Condition(feature.name, index, feature.kind, operator, None, tuple(feature.categories[j] for j in chosen))


def _read_estimate(given: Any, where: str) -> float:
    estimate = _document._number(given, where)
    if not 0 <= estimate <= 1:
        raise _document.DocumentError(f"{where}: must be from 0 to 1; got {estimate!r}")
    return estimate


def _read_counts(document: dict[str, Any], name: str, n_classes: int) -> NDArray[np.int64]:
    counts = _document._entry(document, name, list)
    if len(counts) != n_classes:
        raise _document.DocumentError(f"{name}: has {len(counts)} numbers; must have {n_classes}, one per class")
    return np.array([_document._index(count, MOST_SAMPLES + 1, f"{name}[{k}]") for k, count in enumerate(counts)], dtype=np.int64)


def _whole_weights(sample_weight: ArrayLike, n_samples: int) -> NDArray[np.int64]:
    """How often each sample counts."""
    weight = _check_sample_weight(sample_weight, n_samples)
    if not (weight == np.rint(weight)).all():
        first = int(np.argmax(weight != np.rint(weight)))
        raise ValueError(
            f"sample_weight[{first}] is {weight[first]}: rules count whole samples, so weights must be whole numbers"
        )
    if weight.sum() > MOST_SAMPLES:
        raise ValueError(f"the weights sum to {weight.sum():g}: rules count samples, at most {MOST_SAMPLES}")
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number: all weights are zero")
    return weight.astype(np.int64)


def _as_codes_of(known: NDArray[Any], classes: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Codes of the tree's classes in place of codes of the classes of a target."""
    code_of = {label: code for code, label in enumerate(known.tolist())}
    labels = classes.tolist()
    for code in np.unique(codes).tolist():
        if labels[code] not in code_of:
            raise ValueError(f"y has the class {labels[code]!r}, which the tree does not know: it knows {known.tolist()}")
    new = np.array([code_of.get(label, -1) for label in labels], dtype=np.intp)
    return new[codes]


def _described(rules: _Drafts, conditions: _Conditions, classes: NDArray[Any]) -> Iterator[Rule]:
    labels = classes.tolist()
    known: dict[int, Condition] = {}
    for i in range(len(rules.label)):
        edges = rules.node[rules.start[i] : rules.stop[i]].tolist()
        for edge in edges:
            if edge not in known:
                known[edge] = conditions.describe(edge)
        yield Rule(
            tuple(known[edge] for edge in edges),
            labels[rules.label[i]],
            int(rules.cover_stop[i] - rules.cover_start[i]),
            int(rules.errors[i]),
            float(rules.estimate[i]),
        )


def _compile(rules: Sequence[Rule], schema: Schema) -> _Compiled:
    """Rules as the core applies them."""
    conditions = [condition for rule in rules for condition in rule.conditions]
    lookups: dict[int, dict[Any, int]] = {}
    codes: list[list[int]] = []
    for condition in conditions:
        if condition.index not in lookups:
            categories = schema.features[condition.index].categories or ()
            lookups[condition.index] = {category: code for code, category in enumerate(categories, start=1)}
        codes.append(sorted(lookups[condition.index][category] for category in condition.categories))
    return (
        np.cumsum([0] + [len(rule.conditions) for rule in rules], dtype=np.int64),
        np.array([condition.index for condition in conditions], dtype=np.int32),
        np.array([OPERATORS[condition.operator] for condition in conditions], dtype=np.uint8),
        np.array([0.0 if c.threshold is None else c.threshold for c in conditions], dtype=np.float64),
        np.cumsum([0] + [len(of_condition) for of_condition in codes], dtype=np.int64),
        np.array([code for of_condition in codes for code in of_condition], dtype=np.uint32),
    )
