"""Induction of rules that vote, from a tree (C5.0).

A rule of every node drops the conditions that do not pay for their bits.  Of the rules that are left, a set is chosen whose
message, together with the samples that it predicts wrong, is shortest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.table import Table
from fasttree._engine import rulesets
from fasttree._learn.rules.induction import BY_THRESHOLD, Conditions, Drafts, PlacedSamples
from fasttree._model.ruleset import votes_of
from fasttree._model.tree import Tree

__all__ = ["VotingInduction", "VotingSet"]

SHARE_OF_BITS = 0.23  # of the bits of a rule set, in its message
MOST_EXPECTED = 0.5, 0.45  # a larger expected share of errors is replaced by the second
NEW = 1e-4  # weight by which the new samples of a rule exceed the least number of a branch
AT_ONCE = 2**16  # places that are judged together
CLASS, UTILITY = "class", "utility"  # orders of the rules


@dataclass(frozen=True)
class VotingSet:
    """Rules in their order, the default class, and the number of uncovered samples of each class."""

    rules: Drafts
    default: int
    default_count: npt.NDArray[np.int64]


@dataclass(frozen=True)
class VotingInduction:
    """Induction on one tree and one set of samples.

    Parameters
    ----------
    tree : Tree
        The pruned tree; only its empty branches may have been merged.
    table : Table
    samples : PlacedSamples
    n_usable : int
        Number of features that growth could test.
    tree_errors : float
        Weight of the samples that the tree predicts wrong.
    min_branch_weight : float
        Least weight of a branch, which a rule must predict right.
    order : {"class", "utility"}
    """

    tree: Tree
    table: Table
    samples: PlacedSamples
    n_usable: int
    tree_errors: float
    min_branch_weight: float
    order: str = CLASS

    def conditions(self) -> Conditions:
        return Conditions([self.tree], self.table, grouped=False)

    def run(self, conditions: Conditions) -> VotingSet:
        """Find the rules whose conditions are those of the tree."""
        samples, n_classes = self.samples, len(self.samples.class_count)
        of_condition = self._bits(conditions)
        rules = without_repeats(self._shortened(conditions, of_condition), looks(conditions))
        expected = (self.tree_errors + n_classes - 1) / (samples.n_samples + n_classes)
        most, instead = MOST_EXPECTED
        message = MessageLength(
            rule_bits(rules, of_condition), samples.n_samples, n_classes, instead if expected > most else expected
        )
        selection = Selection(rules, votes_of_drafts(rules), samples.truth, n_classes)
        selection.select(first_choice(rules, selection.vote, samples, self.min_branch_weight))
        climb(selection, message)
        chosen = np.flatnonzero(selection.selected)
        covered = np.zeros(len(samples.truth), bool)
        for rule in chosen.tolist():
            covered[rules.covers(rule)] = True
        left = np.bincount(samples.truth[~covered & (samples.truth >= 0)], minlength=n_classes).astype(np.int64)
        default = int(((left + 1) / (left.sum() + 2.001) + samples.class_count / samples.n_samples).argmax())
        by_class = chosen[np.lexsort((-selection.vote[chosen], rules.label[chosen]))]
        order = by_class if self.order == CLASS else by_utility(selection, by_class)
        return VotingSet(rules.take(order), default, left)

    def _shortened(self, conditions: Conditions, of_condition: Floats) -> Drafts:
        samples = self.samples
        edges, codes = conditions.encode(samples)
        nodes = candidates(self.tree)
        found = rulesets.simplify_rules(
            edges,
            codes,
            samples.padding,
            samples.class_start,
            samples.n_samples,
            samples.default_error(),
            nodes,
            self.tree.predicted_class[nodes].astype(np.int32),
            samples.class_count,
            (0.0, 0.0, -1.0, of_condition),
        )
        start, cover_start = found["start"], found["cover_start"]
        estimate = (found["errors"] + 1) / (np.diff(cover_start) + 2)
        return Drafts(
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

    def _bits(self, conditions: Conditions) -> Floats:
        """Return the bits of each condition: of its feature, and of its value, threshold or group."""
        total = np.zeros(len(conditions.parent))
        for feature in conditions.tested.tolist():
            column = self.table.column(feature)[self.samples.rows]
            categories = self.table.schema.features[feature].categories
            here = np.flatnonzero(conditions.feature == feature)
            if categories is None:
                total[here] = threshold_bits(column)
                continue
            count = np.bincount(column, minlength=len(categories) + 1)[1:]
            of_value = value_bits(count, self.samples.n_samples)
            start, _ = conditions.groups
            for edge in here.tolist():
                size = max(int(start[edge + 1] - start[edge]), 1)
                total[edge] = of_value if size == 1 else group_bits(int(np.count_nonzero(count)), size)
        return total + math.log2(max(self.n_usable, 1))


def threshold_bits(column: npt.NDArray[np.generic]) -> float:
    """Return the bits of a threshold of a column: half those of one of its cuts, and one for the direction."""
    known = np.unique(column.astype(np.float32))
    n_cuts = int(np.count_nonzero(~np.isnan(known))) - 1
    return 1 + math.log2(n_cuts) / 2 if n_cuts > 1 else 0.0


def value_bits(count: npt.NDArray[np.integer], n_samples: int) -> float:
    """Return the mean bits of a category; `count` has the samples of each."""
    found = count[count > 0]
    return float((found / n_samples * np.log2(n_samples / found)).sum())


def group_bits(n_values: int, size: int) -> float:
    """Return the bits of a group of categories of a feature of which `n_values` occur."""
    chosen = min(size, n_values - 1)
    return math.log2(math.comb(n_values, chosen)) if chosen > 0 else 0.0


def candidates(tree: Tree) -> npt.NDArray[np.int32]:
    """Return the nodes with a weight of at least 1, without the root, children before their node."""
    found: list[int] = []
    waiting = [0]
    while waiting:
        node = waiting.pop()
        found.append(node)
        first = int(tree.first_child[node])
        waiting += range(first, first + int(tree.n_branches[node]))
    nodes = np.array(found[:0:-1], dtype=np.int32)
    return nodes[tree.weight[nodes].astype(np.float32) >= 1]


def looks(conditions: Conditions) -> npt.NDArray[np.int64]:
    """Return numbers that are equal for equal conditions."""
    start, codes = conditions.groups
    numbers: dict[tuple[object, ...], int] = {}
    found = []
    for edge, (feature, kind) in enumerate(zip(conditions.feature.tolist(), conditions.kind.tolist(), strict=True)):
        detail: tuple[object, ...]
        if kind == BY_THRESHOLD:
            detail = (float(conditions.threshold[edge]), int(conditions.branch[edge]))
        else:
            detail = tuple(codes[start[edge] : start[edge + 1]].tolist()) or (int(conditions.code[edge]),)
        found.append(numbers.setdefault((feature, kind == BY_THRESHOLD, *detail), len(numbers)))
    return np.array(found, dtype=np.int64)


def without_repeats(rules: Drafts, look: npt.NDArray[np.int64]) -> Drafts:
    """Return the first of each set of rules with the same conditions and class."""
    first: dict[tuple[int, ...], int] = {}
    for rule, label in enumerate(rules.label.tolist()):
        conditions = sorted(look[rules.node[rules.start[rule] : rules.stop[rule]]].tolist())
        first.setdefault((label, *conditions), rule)
    return rules.take(np.array(list(first.values()), dtype=np.intp))


def rule_bits(rules: Drafts, of_condition: Floats) -> Floats:
    """Return the bits of each rule: of the number of its conditions, and of the conditions, which have no order."""
    length = rules.stop - rules.start
    orders = log_factorials(int(length.max(initial=0)))
    found = [float(of_condition[rules.node[start:stop]].sum()) for start, stop in zip(rules.start, rules.stop, strict=True)]
    bits: Floats = np.array(found, dtype=np.float64) + np.log2(length) - orders[length]
    return bits


def log_factorials(most: int) -> Floats:
    """Return the logarithm to base 2 of 0!, 1!, ..., `most`!."""
    return np.concatenate([[0.0], np.cumsum(np.log2(np.arange(1, most + 1)))])


def votes_of_drafts(rules: Drafts) -> npt.NDArray[np.int32]:
    return votes_of(rules.cover_stop - rules.cover_start, rules.errors)


def first_choice(rules: Drafts, vote: npt.NDArray[np.int32], samples: PlacedSamples, least: float) -> npt.NDArray[np.bool_]:
    """Return the rules to start from: by class, those of largest votes that cover more new samples right than wrong.

    A class takes rules until as many of its samples are uncovered as samples of others are covered.
    """
    chosen = np.zeros(len(vote), bool)
    right = rules.cover_stop - rules.cover_start - rules.errors
    for label, n_class in enumerate(samples.class_count.tolist()):
        covered = np.zeros(len(samples.truth), bool)
        uncovered, wrong = n_class, 0
        of_class = np.flatnonzero((rules.label == label) & (right >= least))
        for rule in of_class[np.argsort(-vote[of_class], kind="stable")].tolist():
            if uncovered <= wrong:
                break
            new = rules.covers(rule)
            new = new[~covered[new]]
            n_right = int(np.count_nonzero(samples.truth[new] == label))
            if 2 * n_right - len(new) > least + NEW:
                chosen[rule] = covered[new] = True
                uncovered -= n_right
                wrong += len(new) - n_right
    return chosen


@dataclass(frozen=True)
class MessageLength:
    """Bits of a set of rules and of the samples that it predicts wrong.

    Parameters
    ----------
    bits : float64 array, shape (n_rules,)
        Bits of each rule.
    n_samples, n_classes : int
    expected : float
        Share of errors by which the samples are coded.
    """

    bits: Floats
    n_samples: int
    n_classes: int
    expected: float
    orders: Floats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "orders", log_factorials(len(self.bits) + 1))

    def length(self, bits: Floats, size: npt.NDArray[np.intp], errors: npt.NDArray[np.int64]) -> Floats:
        """Return the bits, to two decimals, of sets of some size and errors whose rules have these bits together."""
        of_error = -math.log2(self.expected) + math.log2(max(self.n_classes - 1, 1))
        of_hit = -math.log2(1 - self.expected)
        rules = SHARE_OF_BITS * np.maximum(bits - self.orders[size], 0.0)
        return np.asarray(np.rint(100 * (rules + errors * of_error + (self.n_samples - errors) * of_hit)) / 100)


class Selection:
    """A set of rules, and the samples that their votes predict wrong with and without each rule.

    The class with the most votes is predicted, on ties the first one; a sample that no rule covers counts as wrong.

    Attributes
    ----------
    selected : bool array, shape (n_rules,)
    change : int64 array, shape (n_rules,)
        Additional errors if the rule enters the set, or leaves it.
    errors : int
    """

    def __init__(self, rules: Drafts, vote: npt.NDArray[np.int32], truth: npt.NDArray[np.int32], n_classes: int) -> None:
        n_rules = len(vote)
        self.rules, self.vote, self.label = rules, vote, rules.label
        self.truth = np.maximum(truth, 0)  # padding is covered by no rule
        self.n_samples = int(np.count_nonzero(truth >= 0))
        covers = [rules.covers(rule) for rule in range(n_rules)]
        places = np.concatenate([np.empty(0, np.uint32), *covers])
        owner = np.repeat(np.arange(n_rules, dtype=np.int32), np.array([len(cover) for cover in covers], dtype=np.intp))
        # the rules that cover a place follow one another
        self.rule = owner[np.argsort(places, kind="stable")]
        self.start = np.zeros(len(truth) + 1, dtype=np.int64)
        np.cumsum(np.bincount(places, minlength=len(truth)), out=self.start[1:])
        self.selected = np.zeros(n_rules, bool)
        self.votes = np.zeros((len(truth), n_classes), dtype=np.int32)
        self.is_right = np.zeros(len(truth), bool)
        self.turns = np.zeros(len(self.rule), dtype=np.int8)  # additional errors on a place if a rule that covers it changes
        self.change = np.zeros(n_rules, dtype=np.int64)

    @property
    def errors(self) -> int:
        return self.n_samples - int(np.count_nonzero(self.is_right))

    def select(self, chosen: npt.NDArray[np.bool_]) -> None:
        """Begin with some rules."""
        self.selected[:] = chosen
        for rule in np.flatnonzero(chosen).tolist():
            self.votes[self.rules.covers(rule), self.label[rule]] += self.vote[rule]
        covered = np.flatnonzero(np.diff(self.start))
        for first in range(0, len(covered), AT_ONCE):
            self._judge(covered[first : first + AT_ONCE])

    def toggle(self, rule: int) -> None:
        """Take a rule into the set, or out of it."""
        places = self.rules.covers(rule)
        self.votes[places, self.label[rule]] += -self.vote[rule] if self.selected[rule] else self.vote[rule]
        self.selected[rule] ^= True
        self._judge(places)

    def _judge(self, places: npt.NDArray[np.integer]) -> None:
        """Find out anew what rules change on some places."""
        votes, truth = self.votes[places], self.truth[places]
        n_classes = votes.shape[1]
        own = votes[np.arange(len(truth)), truth]
        earlier = np.arange(n_classes) < truth[:, None]
        others = np.where(np.arange(n_classes) == truth[:, None], -1, votes)
        before = np.where(earlier, others, -1).max(axis=1, initial=-1)
        behind = np.where(earlier, -1, others).max(axis=1, initial=-1)
        n_ahead = (np.where(earlier, others >= own[:, None], others > own[:, None])).sum(axis=1)
        self.is_right[places] = (own > 0) & (n_ahead == 0)
        size = self.start[places + 1] - self.start[places]
        of_place = np.repeat(np.arange(len(truth)), size)
        pairs = np.arange(len(of_place)) + np.repeat(self.start[places] - (np.cumsum(size) - size), size)
        rule = self.rule[pairs]
        label, mine, is_of_class = self.label[rule], own[of_place], self.label[rule] == truth[of_place]
        now = votes[of_place, label]
        then = now + np.where(self.selected[rule], -self.vote[rule], self.vote[rule])
        is_earlier = label < truth[of_place]
        # a rule of the true class must lead all others; one of another class must not be ahead, nor must the others
        ahead_now, ahead_then = leads(now, mine, is_earlier), leads(then, mine, is_earlier)
        right = np.where(
            is_of_class,
            (then > 0) & (then > before[of_place]) & (then >= behind[of_place]),
            (mine > 0) & (n_ahead[of_place] == ahead_now) & ~ahead_then,
        )
        turns = self.is_right[places][of_place].astype(np.int8) - right
        difference = turns - self.turns[pairs]
        self.turns[pairs] = turns
        self.change += np.bincount(rule, weights=difference, minlength=len(self.change)).astype(np.int64)


def leads(votes: npt.NDArray[np.int32], own: npt.NDArray[np.int32], is_earlier: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Whether another class with these votes is predicted instead of the true one."""
    is_ahead: npt.NDArray[np.bool_] = (votes > own) | (is_earlier & (votes == own))
    return is_ahead


def climb(selection: Selection, message: MessageLength) -> None:
    """Toggle the rule that makes the message shortest, until none does.

    A rule that was toggled last stays, and rules are only added while there are errors.  A removal that leaves the message as
    long as it was is made.  Of equal changes, the last removal is made, or else the first addition.
    """
    last, now = -1, np.inf
    while len(selection.vote):
        selected = selection.selected
        size, errors, bits = int(np.count_nonzero(selected)), selection.errors, float(message.bits[selected].sum())
        if now == np.inf:  # else that of the last step: another order of additions must not lead in circles
            now = float(message.length(np.array([bits]), np.array([size]), np.array([errors]))[0])
        step = np.where(selected, -1, 1)
        then = message.length(bits + step * message.bits, size + step, errors + selection.change)
        may = selected | (errors > 0)
        if last >= 0:
            may[last] = False
        least = float(then[may].min(initial=np.inf))
        found = np.flatnonzero(may & (then == least))
        removals = found[selected[found]]
        if least > now or (least == now and not removals.size) or not found.size:
            return
        last, now = int(removals[-1] if removals.size else found[0]), least
        selection.toggle(last)


def by_utility(selection: Selection, order: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the rules, last the one whose removal adds the fewest errors, and so on; of equal ones the last in `order`."""
    left, found = order.tolist(), []
    while left:
        change = selection.change[left]
        place = int(np.flatnonzero(change == change.min())[-1])
        rule = left.pop(place)
        selection.toggle(rule)
        found.append(rule)
    return np.array(found[::-1], dtype=np.intp)
