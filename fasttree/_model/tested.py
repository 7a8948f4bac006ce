"""Trees that keep what their growth has shown, and texts for that.

`TestedTree` has the significance tests of its nodes, as those of CHAID; `ProvenTree` the proof of a search for the best tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._model.arrays import counts_below
from fasttree._model.tree import Tree
from fasttree._model.words import Words, counted

SPLIT, UNKNOWN = "split", ""
REASONS = (SPLIT, "pure", "max_depth", "min_samples_split", "min_samples_leaf", "not_significant", "no_predictor", UNKNOWN)
OPTIMAL = "optimal"
STATUSES = (OPTIMAL, "max_gap", "time_limit", "interrupted")
_LARGEST_LOG = math.log(np.finfo(np.float64).max)


@dataclass(frozen=True)
class PredictorTest:
    """Test of the target in the merged groups of one feature.

    Attributes
    ----------
    feature : int
        Column of the table.
    n_categories, n_groups : int
        Categories that occur in the node, and groups that are left after merging; missing values count as a category.
    statistic : float
        Chi-square, or F; infinite if there is no variance within the groups.
    df : tuple of float
        Degrees of freedom; for F those between and within the groups.
    log_p_value : float
        Natural logarithm of the p-value, which also serves where the p-value itself underflows to 0.
    log_multiplier : float
        Natural logarithm of the Bonferroni multiplier.

    Examples
    --------
    >>> from fasttree import CHAIDClassifier
    >>> X, y = [["a"]] * 10 + [["b"]] * 10 + [["c"]] * 10, [0] * 9 + [1] + [0] * 8 + [1] * 12
    >>> test = CHAIDClassifier().fit(X, y).node_test(0)
    >>> best = test.predictors[0]
    >>> best.n_categories, best.n_groups, round(best.statistic, 3), best.df, best.multiplier
    (3, 2, 19.615, (1.0,), 3.0)
    """

    feature: int
    n_categories: int
    n_groups: int
    statistic: float
    df: tuple[float, ...]
    log_p_value: float
    log_multiplier: float

    @property
    def p_value(self) -> float:
        """Probability of a statistic at least as large if the target does not depend on the groups."""
        return math.exp(self.log_p_value)

    @property
    def multiplier(self) -> float:
        """Bonferroni multiplier: the number of ways to merge the categories, at most the largest float."""
        number = math.exp(min(self.log_multiplier, _LARGEST_LOG))
        return float(round(number)) if number < 1e6 else number

    @property
    def log_adjusted_p_value(self) -> float:
        """Natural logarithm of the adjusted p-value."""
        return min(self.log_p_value + self.log_multiplier, 0.0)

    @property
    def adjusted_p_value(self) -> float:
        """The p-value times the multiplier, at most 1."""
        return math.exp(self.log_adjusted_p_value)


@dataclass(frozen=True)
class MergeStep:
    """A merge of two groups of categories, in the order of the growth.

    Attributes
    ----------
    one, other : tuple of int
        Codes of the categories of both groups, from 1; 0 for missing values.  An interval of a continuous feature counts as a
        category.
    statistic, log_p_value : float
        Test of the target in these two groups.
    divides : bool
        Whether the merged group was divided into these two again.

    Examples
    --------
    >>> from fasttree import CHAIDClassifier
    >>> X, y = [["a"]] * 10 + [["b"]] * 10 + [["c"]] * 10, [0] * 9 + [1] + [0] * 8 + [1] * 12
    >>> test = CHAIDClassifier().fit(X, y).node_test(0)
    >>> [(step.one, step.other, round(step.p_value, 3)) for step in test.merges]
    [((1,), (2,), 0.531)]
    """

    one: tuple[int, ...]
    other: tuple[int, ...]
    statistic: float
    log_p_value: float
    divides: bool = False

    @property
    def p_value(self) -> float:
        """The p-value of the two groups."""
        return math.exp(self.log_p_value)


@dataclass(frozen=True)
class NodeTest:
    """Significance tests of one node.

    Attributes
    ----------
    reason : str
        "split", or why the node is a leaf: "pure", "max_depth", "min_samples_split", "min_samples_leaf" (all branches of the best
        split joined, because they were too small), "not_significant", "no_predictor" (no feature has two categories), or "" for a
        node that was changed after the growth.
    split : PredictorTest or None
        Test of the final branches; None at a leaf.  Branches that join because they are too small do so after the best feature
        is found, so that this p-value may be larger than that of the feature in `predictors`.
    predictors : tuple of PredictorTest
        Test of each feature, the best first.
    merges : tuple of MergeStep
        How the categories of the best feature came into their groups.
    bounds : tuple of float
        Largest value of each interval of the best feature, in the order of the codes of `merges`; empty if it is not continuous.

    Examples
    --------
    >>> from fasttree import CHAIDClassifier
    >>> X, y = [["a"]] * 10 + [["b"]] * 10 + [["c"]] * 10, [0] * 9 + [1] + [0] * 8 + [1] * 12
    >>> test = CHAIDClassifier().fit(X, y).node_test(0)
    >>> test.reason, test.split.n_groups, len(test.predictors), len(test.merges)
    ('split', 2, 1, 1)
    """

    reason: str = UNKNOWN
    split: PredictorTest | None = None
    predictors: tuple[PredictorTest, ...] = ()
    merges: tuple[MergeStep, ...] = ()
    bounds: tuple[float, ...] = ()

    @property
    def best(self) -> PredictorTest | None:
        """Test of the feature that `merges` are about: that of the branches, at a leaf the first of `predictors`."""
        return self.split or next(iter(self.predictors), None)

    def without_split(self) -> NodeTest:
        """Return the tests of the node after its branches are removed."""
        return self if self.split is None else NodeTest(predictors=self.predictors)


class TestedTree(Tree):
    """A tree with the significance tests of its nodes.

    Parameters
    ----------
    tests : sequence of NodeTest, one per node
    **arrays
        As for `Tree`.
    """

    __test__ = False  # no test of pytest

    def __init__(self, *, tests: Sequence[NodeTest], **arrays: Any) -> None:
        super().__init__(**arrays)
        self._tests = tests
        if len(tests) != self.node_count:
            raise ValueError(f"tests: must be {self.node_count}, one per node; got {len(tests)}")

    @property
    def tests(self) -> tuple[NodeTest, ...]:
        """The tests of the nodes; a sequence that makes its entries is made a tuple when it is first asked for."""
        if not isinstance(self._tests, tuple):
            self._tests = tuple(self._tests)
        return self._tests

    @classmethod
    def of(cls, tree: Tree, tests: Sequence[NodeTest]) -> TestedTree:
        """Return a tree with tests."""
        return cls(tests=tests, **Tree.__getstate__(tree))

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"tests": self.tests}

    def replace(self, **changes: Any) -> Tree:
        """Return the tree with some arrays replaced, not checked."""
        return TestedTree(**super().__getstate__() | {"tests": self._tests} | changes)

    def prune_at(self, nodes: npt.NDArray[np.bool_]) -> Tree:
        """Return the tree in which the marked nodes are leaves, without their descendants."""
        tree = super().prune_at(nodes)
        kept = np.flatnonzero(~counts_below(np.asarray(nodes), self.parent)).tolist()
        leaf = (tree.n_branches == 0).tolist()
        tests = [self.tests[old].without_split() if leaf[new] else self.tests[old] for new, old in enumerate(kept)]
        return TestedTree.of(tree, tests)

    def __eq__(self, other: object) -> bool:
        """Return whether trees and tests are equal."""
        return isinstance(other, TestedTree) and bool(super().__eq__(other)) and self.tests == other.tests

    __hash__ = None

    def _shares(self, value: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return class weights over their sum; an empty leaf has the row of its parent, and predicts as that does."""
        shares: npt.NDArray[np.float64] = value / value.sum(axis=1, keepdims=True)
        return shares


class Proof(NamedTuple):
    """What a search has shown.

    Parameters
    ----------
    objective : float
        Cost of the tree as grown.
    lower_bound : float
        No tree of the search costs less.
    status : str
        How the search ended, one of `STATUSES`.
    n_leaves : int
        Leaves of the tree as grown: a pruned tree has fewer, and the proof is not of it.
    """

    objective: float
    lower_bound: float
    status: str
    n_leaves: int

    @property
    def gap(self) -> float:
        """By how much a better tree may cost less."""
        return self.objective - self.lower_bound

    def check(self) -> None:
        """Raise a ValueError that names the first wrong entry."""
        if not 0 <= self.lower_bound <= self.objective < math.inf:
            raise ValueError(f"lower_bound={self.lower_bound!r}: must be in [0, {self.objective!r}], the objective")
        if self.status not in STATUSES:
            raise ValueError(f"status={self.status!r}: must be one of {', '.join(map(repr, STATUSES))}")
        if self.status == OPTIMAL and self.gap:
            raise ValueError(f"status={self.status!r}: must not be {OPTIMAL!r} with a gap of {self.gap!r}")


class ProvenTree(Tree):
    """A tree with the proof of the search that found it, which a pruned tree keeps; `replace` gives a plain tree.

    Parameters
    ----------
    proof : Proof
    **arrays
        As for `Tree`.
    """

    proof: Proof

    def __init__(self, *, proof: Proof, **arrays: Any) -> None:
        super().__init__(**arrays)
        self.proof = Proof(*proof)

    @classmethod
    def of(cls, tree: Tree, proof: Proof) -> ProvenTree:
        """Return a tree with a proof."""
        return cls(proof=proof, **Tree.__getstate__(tree))

    @property
    def is_proven(self) -> bool:
        """Whether the proof is of this tree, not of the tree before its pruning."""
        return self.n_leaves == self.proof.n_leaves

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"proof": self.proof}

    def replace(self, **changes: Any) -> Tree:
        """Return a plain tree with some arrays replaced, not checked."""
        return Tree(**Tree.__getstate__(self) | changes)

    def prune_at(self, nodes: npt.NDArray[np.bool_]) -> Tree:
        """Return the tree in which the marked nodes are leaves, without their descendants."""
        return ProvenTree.of(super().prune_at(nodes), self.proof)

    def __eq__(self, other: object) -> bool:
        """Return whether trees and proofs are equal."""
        return isinstance(other, ProvenTree) and bool(super().__eq__(other)) and self.proof == other.proof

    __hash__ = None


# Texts

BOUND_DIGITS = 6
REASON_TEXTS = {
    "pure": "all samples have the same target",
    "max_depth": "max_depth is reached",
    "min_samples_split": "fewer samples than min_samples_split",
    "min_samples_leaf": "the branches are too small",
    "not_significant": "no feature is significant",
    "no_predictor": "no feature has two categories",
}


def tests_of(words: Words, node: int) -> NodeTest | None:
    """Return the tests of a node, or None if the tree has none."""
    return words.tree.tests[node] if isinstance(words.tree, TestedTree) else None


def split_text(words: Words, node: int) -> str:
    """Write the test of the branches of a node: ``chi-square = 27, df = 2, p = 1.37e-06, adjusted 3.43e-05``, or ``""``."""
    return ", ".join(branch_tests(words, node))


def branch_tests(words: Words, node: int) -> list[str]:
    """Write statistic and p-values of the branches of a node as two texts; none if the branches have no test."""
    test = tests_of(words, node)
    return [] if test is None or test.split is None else list(_test_texts(words, test.split))


def competing_tests(words: Words, node: int) -> list[str]:
    """Write the tests of the features that lose against that of the split, the best first; at a leaf, of all features."""
    return [
        f"{words.names[each.feature]}: {', '.join((*_test_texts(words, each), _groups(each)))}" for each in _rivals(words, node)
    ]


def rival_cells(words: Words, node: int) -> list[list[str]]:
    """Write the same tests as cells of a table: feature, groups, statistic with degrees of freedom, p-value, adjusted p-value."""
    return [
        [
            words.names[each.feature],
            _groups(each),
            f"{each.statistic:.4g} ({_df(words, each)})",
            p_text(each.log_p_value),
            p_text(each.log_adjusted_p_value),
        ]
        for each in _rivals(words, node)
    ]


def _rivals(words: Words, node: int) -> list[PredictorTest]:
    test = tests_of(words, node)
    if test is None:
        return []
    return [each for each in test.predictors if test.split is None or each.feature != test.split.feature]


def merge_texts(words: Words, node: int) -> list[str]:
    """Write the merges of the best feature in their order: ``A with B, p = 0.685``, or ``divided again: A from B, p = 0.03``."""
    test = tests_of(words, node)
    if test is None or test.best is None:
        return []
    return [_step_text(words, test, step) for step in test.merges]


def reason_text(words: Words, node: int) -> str:
    """Write why a node was not split: ``not split: no feature is significant``, or ``""``."""
    test = tests_of(words, node)
    reason = "" if test is None or test.reason == SPLIT else REASON_TEXTS.get(test.reason, "")
    return f"not split: {reason}" if reason else ""


def _test_texts(words: Words, test: PredictorTest) -> tuple[str, str]:
    name = "chi-square" if len(test.df) == 1 else "F"
    adjusted = f", adjusted {p_text(test.log_adjusted_p_value)}" if test.log_multiplier else ""
    return f"{name} = {test.statistic:.4g}, df = {_df(words, test)}", f"p = {p_text(test.log_p_value)}{adjusted}"


def _df(words: Words, test: PredictorTest) -> str:
    return ", ".join(map(words.number, test.df))


def _groups(test: PredictorTest) -> str:
    return f"{counted(test.n_groups, 'group')} of {counted(test.n_categories, 'category', 'categories')}"


def _step_text(words: Words, test: NodeTest, step: MergeStep) -> str:
    one, other = (group_text(words, test, group) for group in (step.one, step.other))
    sides = f"divided again: {one} from {other}" if step.divides else f"{one} with {other}"
    return f"{sides}, p = {p_text(step.log_p_value)}"


def group_text(words: Words, test: NodeTest, codes: tuple[int, ...]) -> str:
    """Write a group of categories of the best feature, or the interval that they form; code 0 is that of missing values."""
    assert test.best is not None
    known = sorted(code for code in codes if code)
    names = words.categories[test.best.feature]
    if names:
        texts = [names[code - 1] if code <= len(names) else f"category {code}" for code in known]
    elif known:
        texts = [_interval(test.bounds, known[0], known[-1])]
    else:
        texts = []
    if len(known) < len(codes):
        texts.append("missing")
    return texts[0] if len(texts) == 1 else words.set_of(texts)


def _interval(bounds: tuple[float, ...], first: int, last: int) -> str:
    """Write the values from one interval to another one."""
    if last > len(bounds):  # files of earlier versions have no bounds
        return f"interval {first}" if first == last else f"intervals {first} to {last}"
    low, high = (f"{bounds[code - 1]:.{BOUND_DIGITS}g}" if code else "" for code in (first - 1, last))
    if last == len(bounds):
        return f"> {low}" if low else "known"
    return f"{low} < x <= {high}" if low else f"<= {high}"


def p_text(log: float) -> str:
    """Write a p-value, given as its logarithm, with three digits; it may be too small for a float."""
    if log == -math.inf:
        return "0"
    if log > -600:
        return f"{math.exp(log):.3g}"
    exponent = math.floor(log / math.log(10))
    return f"{math.exp(log - exponent * math.log(10)):.2f}e{exponent}"


def proof_text(words: Words) -> str:
    """Write what is proven of the tree: ``optimal: objective 22`` or ``gap 3: objective 22, lower bound 19``, or ``""``."""
    if not isinstance(words.tree, ProvenTree) or not words.tree.is_proven:
        return ""
    proof = words.tree.proof
    gap, low, cost = (f"{x:.3g}" if 0 < x < 1 else words.number(x) for x in (proof.gap, proof.lower_bound, proof.objective))
    return f"gap {gap}: objective {cost}, lower bound {low}" if proof.gap else f"optimal: objective {cost}"
