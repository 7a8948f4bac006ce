"""Pruning: a grown tree, and sometimes samples, make a smaller tree.

One function per method of the literature.  Here the numbers of a method are prepared and the pruned tree is put together; what is
done per sample, and what goes bottom-up, is the engine's.  A subtree that is no better than the leaf in its place goes: costs
are equal where they differ by less than `EQUAL_COSTS` of the largest.  Knows neither data frames nor estimators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core
from ._grow import blocks, fixed_point_parts
from ._independence import P_VALUE_TOLERANCE, independence_probability
from ._table import Table
from ._tree import LEAF, NOMINAL, STOP, Tree

__all__ = [
    "EQUAL_COSTS",
    "Samples",
    "c_alpha",
    "chi_square",
    "complexity",
    "cost_complexity",
    "critical_value",
    "error_based",
    "error_based_without_samples",
    "minimum_error",
    "normal_quantile",
    "pessimistic",
    "reduced_error",
    "without_impossible_categories",
]

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# Of the largest target, where samples judge by Poisson deviance: an answer of 0 would lose infinitely much on a count above 0.
LEAST_ANSWER = 1e-10
EQUAL_COSTS = 1e-12  # of the largest cost in the tree: the smaller tree wins
RELEASE8_MORE_ERRORS = 0.1  # that C4.5 accepts for a simpler tree

# Quinlan 1993, chapter 4: the errors of a leaf are the upper limit of a binomial at the confidence level.  Release 8 takes the
# normal quantile of that level from this table, in between by straight lines.
LEVELS = np.array([0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.00])
QUANTILES = np.array([4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.00])


@dataclass(frozen=True)
class Samples:
    """Samples to judge a tree by.

    Parameters
    ----------
    table : Table
    target : array, shape (n_samples,)
        Class codes, or float64 targets.
    weight : float64 array, shape (n_samples,), or None
        Not negative; a sample of weight 0 is left out.
    class_factor : float64 array, shape (n_classes,), or None
        What a sample of each class counts, besides its weight, so that the classes have their priors.
    impurity : {"squared_error", "absolute_error", "poisson"}, default "squared_error"
        What a regression tree loses on them: each sample's part in this impurity, around the answer of a node.
    """

    table: Table
    target: npt.NDArray[Any]
    weight: Floats | None = None
    class_factor: Floats | None = None
    impurity: str = "squared_error"

    @property
    def counts(self) -> Floats | None:
        """What each sample counts: its weight times the factor of its class; None: each counts 1."""
        if self.class_factor is None:
            return self.weight
        by_class: Floats = self.class_factor[self.target]
        return by_class if self.weight is None else self.weight * by_class


class Losses(NamedTuple):
    """What samples lose at each node of a tree if it answers: wrong classes or their cost, or deviations from its answer.

    All float64, shape (n,).  What stops at an inner node, because its value has no branch there, is lost whether the node is a
    leaf or not.
    """

    weight: Floats  # that arrives
    loss: Floats
    square: Floats  # of the losses
    stopped_loss: Floats
    stopped_square: Floats


def normal_quantile(confidence: float) -> np.float32:
    """Release 8's normal quantile, in single precision, of a level in (0, 1]: 0.6925 at 0.25, where the exact one is 0.6745."""
    level, levels, quantiles = np.float32(confidence), LEVELS.astype(np.float32), QUANTILES.astype(np.float32)
    i = max(1, int(np.searchsorted(levels, level)))
    width, height = levels[i] - levels[i - 1], quantiles[i] - quantiles[i - 1]
    return np.float32(quantiles[i - 1] + height * (level - levels[i - 1]) / width)


def error_based(
    tree: Tree,
    table: Table,
    classes: npt.NDArray[Any],
    sample_weight: Floats | None,
    confidence: float,
    *,
    min_part_weight: float = 0.0,
    impurity: str = "entropy",
) -> Tree:
    """C4.5's pruning by predicted errors, with raising of branches (Quinlan 1993, chapter 4, as in Release 8).

    From the bottom up, each subtree becomes a leaf, or its heaviest branch takes its place, if this is not predicted to make
    more than 0.1 errors more.

    Parameters
    ----------
    tree : Tree
        A classification tree whose missing values go to a branch or are shared out.
    table : Table
        Samples, in general those of the growth.
    classes : int array, shape (n_samples,)
        Class codes.
    sample_weight : float64 array, shape (n_samples,), or None
    confidence : float
        In (0, 1): the smaller, the more is pruned.
    min_part_weight : float, default 0
        As in the growth: a lighter part of a sample follows the heaviest branch.
    impurity : {"entropy", "gini", "misclassification"}
        Of the nodes whose samples have changed.

    Returns
    -------
    Tree
        With `estimated_errors`; what the nodes know of their samples is what `table` says.
    """
    rows = np.arange(table.n_samples, dtype=np.uint32) if sample_weight is None else np.flatnonzero(sample_weight)
    weight, unit = fixed_point_parts(sample_weight, table.n_samples)
    coefficient = normal_quantile(confidence) ** 2
    found = _core.error_based(
        tree,
        tested_columns(tree, table),
        rows.astype(np.uint32),
        np.ascontiguousarray(classes, dtype=np.uint16),
        weight,
        round(1 / unit) if weight is None else 0,
        unit,
        float(np.float32(confidence)),
        float(coefficient),
        min_part_weight,
    )
    leaf, source = found["leaf"].astype(bool), found["source"]

    def of_test(name: str, at_leaf: float) -> npt.NDArray[Any]:
        return np.where(leaf, at_leaf, getattr(tree, name)[source]).astype(getattr(tree, name).dtype)

    value = found["value"]
    unchanged = (found["weight"] == 0) | (value == tree.value).all(axis=1)
    return Tree.from_growth(
        task=tree.task,
        n_features=tree.n_features,
        first_child=of_test("first_child", -1),
        n_branches=of_test("n_branches", 0),
        table_start=tree.table_start[source],
        table_size=np.where(leaf, 0, np.diff(tree.table_start)[source]),
        table_code=tree.table_code,
        table_branch=tree.table_branch,
        cut_start=None if tree.cut_start is None else tree.cut_start[source],
        cut_size=None if tree.cut_start is None else np.where(leaf, 0, np.diff(tree.cut_start)[source]),
        cut=tree.cut,
        feature=of_test("feature", -1),
        kind=of_test("kind", LEAF),
        threshold=of_test("threshold", np.nan),
        missing=of_test("missing", STOP),
        gain=of_test("gain", 0.0),
        n_samples=found["n_samples"],
        weight=found["weight"],
        value=value,
        impurity=np.where(unchanged, tree.impurity, class_impurity(value, impurity)),
        estimated_errors=found["errors"].astype(np.float64),
        surrogates=None if tree.surrogates is None else tree.surrogates.of_nodes(source, leaf),
    )


def without_impossible_categories(tree: Tree) -> Tree:
    """Take from the last group of each test the categories that cannot arrive there, and the branch if none is left.

    A test further up may have sent a category another way.  Release 8 does so after pruning, where splits group categories.
    """
    possible: dict[int, dict[int, npt.NDArray[Any]]] = {}  # of inner nodes: feature to the categories that can arrive
    n_branches, kept = tree.n_branches.copy(), np.ones(tree.table_code.size, dtype=bool)
    for node in np.flatnonzero(tree.n_branches).tolist():
        arriving = possible.pop(node, {})
        feature, last = int(tree.feature[node]), int(tree.n_branches[node]) - 1
        entries = slice(int(tree.table_start[node]), int(tree.table_start[node + 1]))
        codes, branches = tree.table_code[entries], tree.table_branch[entries]
        if tree.kind[node] == NOMINAL and feature in arriving:
            impossible = (branches == last) & ~np.isin(codes, arriving[feature])
            kept[entries] = ~impossible
            if np.count_nonzero(impossible) == np.count_nonzero(branches == last):
                n_branches[node] -= 1
            codes, branches = codes[~impossible], branches[~impossible]
        for branch in range(int(n_branches[node])):
            child = int(tree.first_child[node]) + branch
            if tree.n_branches[child]:
                here = {feature: codes[branches == branch]} if tree.kind[node] == NOMINAL else {}
                possible[child] = {**arriving, **here} if here else arriving
    if kept.all():
        return tree
    owner = np.repeat(np.arange(tree.node_count), np.diff(tree.table_start))
    sizes = np.bincount(owner[kept], minlength=tree.node_count)
    names = ("feature", "kind", "threshold", "missing", "gain", "n_samples", "weight", "value", "impurity")
    return Tree.from_growth(
        task=tree.task,
        n_features=tree.n_features,
        first_child=tree.first_child,
        n_branches=n_branches,
        table_start=np.cumsum(sizes) - sizes,
        table_size=sizes,
        table_code=tree.table_code[kept],
        table_branch=tree.table_branch[kept],
        estimated_errors=tree.estimated_errors,
        **{name: getattr(tree, name) for name in names},
    )


def error_based_without_samples(tree: Tree, confidence: float) -> Tree:
    """C4.5's pruning by predicted errors, without raising of branches (Quinlan 1993, chapter 4).

    A subtree becomes a leaf if that is not predicted to make more than 0.1 errors more.  Double precision.

    Parameters
    ----------
    tree : Tree
        A classification tree.
    confidence : float
        In (0, 1): the smaller, the more is pruned.
    """
    pruned = tree.prune_at(_useless(tree, predicted_errors(tree, confidence), slack=RELEASE8_MORE_ERRORS)[0])
    return pruned.replace(estimated_errors=_sums_over_leaves(pruned, predicted_errors(pruned, confidence)))


def predicted_errors(tree: Tree, confidence: float) -> Floats:
    """Errors predicted of each node as a leaf: the upper limit of a binomial, as Release 8 approximates it; 0 if it is empty."""
    n, wrong = np.maximum(tree.weight, np.finfo(float).tiny), tree.errors
    q = float(np.interp(confidence, LEVELS, QUANTILES)) ** 2

    def many(e: Floats | float) -> Floats:
        above = e + 0.5
        inside = np.maximum(above * (1 - np.minimum(above / n, 1)), 0)
        limit = n * (above + q / 2 + np.sqrt(q * (inside + q / 4))) / (n + q) - e
        return np.asarray(np.where(above >= n, 0.67 * (n - e), limit))

    none = n * (1 - confidence ** (1 / n))
    few = none + wrong * (many(1.0) - none)
    extra = np.where(wrong < 1e-6, none, np.where(wrong < 0.9999, few, many(wrong)))
    return np.where(tree.weight > 0, wrong + extra, 0.0)


def cost_complexity(tree: Tree, alpha: float, *, risk: str = "impurity") -> Tree:
    """Return the smallest pruned subtree of least cost: risk per unit weight plus `alpha` for each leaf.

    Minimal cost-complexity pruning (Breiman et al. 1984, chapter 3).

    Parameters
    ----------
    tree : Tree
    alpha : float
        Not negative, in units of the risk.
    risk : {"impurity", "error"}, default "impurity"
        Impurity of the leaves, as in scikit-learn's `ccp_alpha`; or, for classes, the share of wrong ones, or what they cost, as
        in Breiman et al.
    """
    cost = risk_per_weight(tree, risk)
    return tree.prune_at(complexity(tree, cost) <= alpha + EQUAL_COSTS * cost.max())


def risk_per_weight(tree: Tree, risk: str = "impurity", weight: float | None = None) -> Floats:
    """Risk of each node, impurity or wrong classes, per unit of a weight, by default the root's."""
    of_nodes = tree.errors if risk == "error" else tree.risk
    return np.asarray(of_nodes / (tree.weight[0] if weight is None else weight))


def c_alpha(tree: Tree, alpha: float, *, unit: str = "bits") -> Tree:
    """Return the pruned subtree of least cost, the smallest one on ties (Li Hang 2012, section 5.4).

    The cost of a tree is the sum over its leaves of weight times entropy (regression: times impurity), plus `alpha` for each
    leaf.  The book's loop, which only looks at nodes all of whose children are leaves, may miss the minimum.

    Parameters
    ----------
    tree : Tree
    alpha : float
        Not negative.
    unit : {"bits", "nats"}, default "bits"
        Of the entropy and of `alpha`; without meaning in regression.
    """
    if tree.task == "regression":
        cost = tree.risk
    else:
        cost = tree.weight * class_impurity(tree.value, "entropy")
        alpha = alpha / np.log(2) if unit == "nats" else alpha
    return tree.prune_at(complexity(tree, cost) <= alpha + EQUAL_COSTS * cost.max())


def reduced_error(tree: Tree, samples: Samples, *, tolerance: float = 0.0) -> Tree:
    """Return the smallest of the subtrees that lose least on samples held out from the growth (Quinlan 1987).

    One pass from the bottom up (Elomaa and Kääriäinen 2001).  A node that no sample reaches becomes a leaf.

    Parameters
    ----------
    tree : Tree
    samples : Samples
    tolerance : float, default 0
        By how much the loss per unit weight may rise at a node that is pruned: wrong classes, or the samples' impurity.  Rises
        of several levels add up.
    """
    found = losses(tree, samples)
    return tree.prune_at(_useless(tree, found.loss, slack=tolerance * found.weight, besides=found.stopped_loss)[0])


def pessimistic(tree: Tree) -> Tree:
    """Pessimistic error pruning (Quinlan 1987): half an error more per leaf, and one standard error.

    From the root down, a node becomes a leaf if its errors so corrected are at most those of its whole subtree plus their
    standard error.
    """
    as_leaf = tree.errors + 0.5
    below = _sums_over_leaves(tree, as_leaf)
    n = np.maximum(tree.weight, np.finfo(float).tiny)
    standard_error = np.sqrt(np.maximum(below * (n - below), 0) / n)
    return tree.prune_at(as_leaf <= below + standard_error + EQUAL_COSTS * as_leaf.max())


def minimum_error(tree: Tree, *, m: float | str = 2.0) -> Tree:
    """Minimum-error pruning: the subtree of least expected error, its class shares estimated with a prior.

    The m-estimate (Cestnik and Bratko 1991) adds m samples with the classes of the root to every leaf.  A leaf keeps its largest
    class as its answer, although with a large m another one may be expected to be wrong less often.

    Parameters
    ----------
    tree : Tree
        A classification tree.
    m : float or "laplace", default 2
        Not negative.  "laplace": one sample of each class (Niblett and Bratko 1986).
    """
    n_classes = tree.n_outputs_or_classes
    prior = np.ones(n_classes) if isinstance(m, str) else float(m) * tree.value[0] / tree.weight[0]
    n, n_added = tree.weight, float(n_classes if isinstance(m, str) else m)
    expected = 1 - (tree.value + prior).max(axis=1) / np.where(n + n_added > 0, n + n_added, 1)
    return tree.prune_at(_useless(tree, n * expected)[0])


def critical_value(tree: Tree, value: float) -> Tree:
    """Critical-value pruning (Mingers 1987): keep the nodes whose gain reaches a value, and those above them.

    Parameters
    ----------
    tree : Tree
    value : float
        In the unit of the gain that the tree was grown with, per unit weight of the node.
    """
    return tree.prune_at(largest_below(tree, tree.gain) < value)


def chi_square(tree: Tree, max_p_value: float) -> Tree:
    """Keep the tests on which the classes depend significantly by Pearson's chi-square test (Quinlan 1986), and those above them.

    Parameters
    ----------
    tree : Tree
        A classification tree.
    max_p_value : float
        In (0, 1]: a test is significant if the probability of so large a statistic under independence is at most this.
    """
    probability = independence_probability(tree)
    return tree.prune_at(largest_below(tree, -probability) < -max_p_value * (1 + P_VALUE_TOLERANCE))


def complexity(tree: Tree, risk: Floats) -> Floats:
    """What a leaf must cost for each inner node to be pruned, itself or above, by the least sum of risk and cost of leaves.

    Minus infinity at leaves.  It does not grow from a node to its children, so the subtrees of all costs are nested.
    """
    level = np.empty(tree.node_count)
    _core.weakest_links(tree.parent, tree.first_child, tree.n_branches, np.ascontiguousarray(risk), level)
    return level


def losses(tree: Tree, samples: Samples) -> Losses:
    """Send samples down a tree, and add up at every node what they would lose there."""
    n_samples = samples.table.n_samples
    weight = np.ones(n_samples) if samples.weight is None else samples.weight
    numeric = tree.task == "regression"
    answer = np.ascontiguousarray(tree.value[:, 0] if numeric else tree.label, dtype=np.float64)
    target = samples.target.astype(np.float64)
    if numeric and samples.impurity == "poisson":
        answer = np.maximum(answer, LEAST_ANSWER * target.max())
    impurity = _core.IMPURITY[samples.impurity] if numeric else -1
    matrix = _loss_matrix(tree, samples.class_factor)
    found = np.zeros((tree.node_count, 5))
    for rows, block in blocks(samples.table):
        _core.arrivals(tree, block, target[rows], weight[rows], answer, impurity, matrix, found)
    return Losses(*np.ascontiguousarray(found.T))


def _loss_matrix(tree: Tree, class_factor: Floats | None) -> Floats | None:
    """What a sample of unit weight loses, by its class and the answer; None: 1 where they differ.

    Priors are part of the loss, not of the weight, as in rpart: so the spread of the losses knows how many samples there are.
    """
    if tree.task == "regression" or (tree.loss is None and class_factor is None):
        return None
    loss = 1.0 - np.eye(tree.n_outputs_or_classes) if tree.loss is None else tree.loss
    return np.ascontiguousarray(loss if class_factor is None else class_factor[:, None] * loss)


def largest_below(tree: Tree, of_nodes: Floats) -> Floats:
    """The largest number of an inner node in each node's subtree; minus infinity at leaves."""
    largest = np.where(tree.n_branches > 0, of_nodes, -np.inf)
    ancestor = np.maximum(tree.parent, 0)
    # each round doubles the number of levels that a node has heard of
    while ancestor.any():
        np.maximum.at(largest, ancestor, largest.copy())
        ancestor = ancestor[ancestor]
    np.maximum.at(largest, ancestor, largest.copy())
    return largest


def _useless(tree: Tree, cost: Floats, *, slack: Floats | float = 0.0, besides: Floats | None = None) -> tuple[Mask, Floats]:
    """The nodes that should be leaves for the least sum over leaves of `cost`, and the cost of each node's best subtree.

    A leaf may cost `slack` more than the subtree in its place; `besides` is what an inner node costs besides its children.
    """
    tolerance = np.full(tree.node_count, EQUAL_COSTS * cost.max()) + slack
    best = np.zeros(tree.node_count) if besides is None else besides.copy()
    useless = np.empty(tree.node_count, dtype=np.uint8)
    _core.useless_splits(tree.parent, tree.first_child, cost, tolerance, best, useless)
    return useless.astype(np.bool_), best


def _sums_over_leaves(tree: Tree, of_leaves: Floats) -> Floats:
    return _useless(tree, of_leaves, slack=-np.inf)[1]


def tested_columns(tree: Tree, table: Table) -> _core.Columns:
    """The columns that the tree's tests and their surrogates look at, for the engine to read cell by cell."""
    columns = _core.Columns(table.n_features)
    features = tree.feature if tree.surrogates is None else np.append(tree.feature, tree.surrogates.feature)
    for feature in np.unique(features[features >= 0]).tolist():
        columns.add(feature, table.column(feature))
    return columns


def class_impurity(value: Floats, impurity: str) -> Floats:
    """Impurity of rows of class weights, each of positive sum; bits for entropy."""
    shares = value / value.sum(axis=1, keepdims=True)
    if impurity == "gini":
        result = 1 - (shares**2).sum(axis=1)
    elif impurity == "misclassification":
        result = 1 - shares.max(axis=1)
    else:
        result = -(shares * np.log2(shares, out=np.zeros_like(shares), where=shares > 0)).sum(axis=1)
    return np.asarray(np.maximum(result, 0.0))
