"""Pruning methods: a function for each method of the literature.

A function takes a grown tree, and samples if the method needs them, and returns a smaller tree.  The engine does the work per
sample and the bottom-up passes.  A subtree that is no better than the leaf in its place is removed: costs are equal if they
differ by less than `EQUAL_COSTS` of the largest.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._engine import passes
from fasttree._learn.grow.independence import P_VALUE_TOLERANCE, independence_probability
from fasttree._learn.prune.losses import class_impurity, losses
from fasttree._learn.samples import Samples
from fasttree._model.tree import Tree

Mask = npt.NDArray[np.bool_]

EQUAL_COSTS = 1e-12  # of the largest cost in the tree: the smaller tree wins


def cost_complexity(tree: Tree, alpha: float, *, risk: str = "impurity") -> Tree:
    """Return the smallest pruned subtree of least cost: risk per unit weight plus `alpha` for each leaf.

    Minimal cost-complexity pruning (Breiman et al. 1984, chapter 3).

    Parameters
    ----------
    tree : Tree
    alpha : float
        Not negative, in units of the risk.
    risk : {"impurity", "error"}, default "impurity"
        Impurity of the leaves, as in scikit-learn's `ccp_alpha`; or, for classes, their share of errors or its cost, as in
        Breiman et al.
    """
    cost = risk_per_weight(tree, risk)
    return tree.prune_at(complexity(tree, cost) <= alpha + EQUAL_COSTS * cost.max())


def risk_per_weight(tree: Tree, risk: str = "impurity", weight: float | None = None) -> Floats:
    """Return the risk of each node, its impurity or its errors, per unit of a weight, by default the root's."""
    of_nodes = tree.errors if risk == "error" else tree.risk
    return np.asarray(of_nodes / (tree.weight[0] if weight is None else weight))


def c_alpha(tree: Tree, alpha: float, *, unit: str = "bits") -> Tree:
    """Return the pruned subtree of least cost, the smallest one on ties (Li Hang 2012, section 5.4).

    The cost of a tree is the sum over its leaves of weight times entropy (regression: times impurity), plus `alpha` for each
    leaf.  The book's loop may miss the minimum, because it only considers nodes whose children are all leaves.

    Parameters
    ----------
    tree : Tree
    alpha : float
        Not negative.
    unit : {"bits", "nats"}, default "bits"
        Unit of the entropy and of `alpha`; no effect in regression.
    """
    if tree.task == "regression":
        cost = tree.risk
    else:
        cost = tree.weight * class_impurity(tree.value, "entropy")
        alpha = alpha / np.log(2) if unit == "nats" else alpha
    return tree.prune_at(complexity(tree, cost) <= alpha + EQUAL_COSTS * cost.max())


def reduced_error(tree: Tree, samples: Samples, *, max_error_increase: float = 0.0) -> Tree:
    """Return the smallest of the subtrees with the least loss on samples held out from the growth (Quinlan 1987).

    One pass from the bottom up (Elomaa and Kääriäinen 2001).  A node that no sample reaches becomes a leaf.

    Parameters
    ----------
    tree : Tree
    samples : Samples
    max_error_increase : float, default 0
        Largest increase of the loss per unit weight (errors, or the samples' impurity) at a pruned node.  Increases at several
        levels add up.
    """
    found = losses(tree, samples)
    return tree.prune_at(useless_splits(tree, found.loss, slack=max_error_increase * found.weight, besides=found.stopped_loss)[0])


def pessimistic(tree: Tree) -> Tree:
    """Return the subtree of pessimistic error pruning (Quinlan 1987).

    A leaf has half an error more.  From the root down, a node becomes a leaf if its corrected errors are at most those of its
    whole subtree plus their standard error.
    """
    as_leaf = tree.errors + 0.5
    below = sums_over_leaves(tree, as_leaf)
    n = np.maximum(tree.weight, np.finfo(float).tiny)
    standard_error = np.sqrt(np.maximum(below * (n - below), 0) / n)
    return tree.prune_at(as_leaf <= below + standard_error + EQUAL_COSTS * as_leaf.max())


def minimum_error(tree: Tree, *, m: float | str = 2.0) -> Tree:
    """Return the subtree of least expected error, whose class shares are estimated with a prior.

    The m-estimate (Cestnik and Bratko 1991) adds m samples with the class shares of the root to every leaf.  A leaf still
    predicts its largest class, although with a large m another one may have the smaller expected error.

    Parameters
    ----------
    tree : Tree
        A classification tree.
    m : float or "laplace", default 2
        Not negative.  "laplace": one sample of each class (Niblett and Bratko 1986).
    """
    n_classes = tree.n_values
    prior = np.ones(n_classes) if isinstance(m, str) else float(m) * tree.value[0] / tree.weight[0]
    n, n_added = tree.weight, float(n_classes if isinstance(m, str) else m)
    expected = 1 - (tree.value + prior).max(axis=1) / np.where(n + n_added > 0, n + n_added, 1)
    return tree.prune_at(useless_splits(tree, n * expected)[0])


def critical_value(tree: Tree, value: float) -> Tree:
    """Keep the nodes whose gain reaches a critical value, and those above them (Mingers 1987).

    Parameters
    ----------
    tree : Tree
    value : float
        In the unit of the tree's gains, per unit weight of the node.
    """
    return tree.prune_at(largest_below(tree, tree.gain) < value)


def chi_square(tree: Tree, max_p_value: float) -> Tree:
    """Keep the tests on which the classes depend significantly by Pearson's chi-square test (Quinlan 1986), and those above them.

    Parameters
    ----------
    tree : Tree
        A classification tree.
    max_p_value : float
        In (0, 1]: a test is significant if its p-value is at most this.
    """
    probability = independence_probability(tree)
    return tree.prune_at(largest_below(tree, -probability) < -max_p_value * (1 + P_VALUE_TOLERANCE))


def complexity(tree: Tree, risk: Floats) -> Floats:
    """Return the cost per leaf from which on each inner node is pruned, itself or above; minus infinity at leaves.

    The pruned subtree minimizes the risk plus the cost of the leaves.  The result does not grow from a node to its children, so
    the subtrees of all costs are nested.
    """
    level = np.empty(tree.node_count)
    passes.weakest_links(tree.parent, tree.first_child, tree.n_branches, np.ascontiguousarray(risk), level)
    return level


def largest_below(tree: Tree, of_nodes: Floats) -> Floats:
    """Return the largest number of an inner node in each node's subtree; minus infinity at leaves."""
    largest = np.where(tree.n_branches > 0, of_nodes, -np.inf)
    ancestor = np.maximum(tree.parent, 0)
    # each round doubles the number of levels below a node that it has seen
    while ancestor.any():
        np.maximum.at(largest, ancestor, largest.copy())
        ancestor = ancestor[ancestor]
    np.maximum.at(largest, ancestor, largest.copy())
    return largest


def useless_splits(
    tree: Tree, cost: Floats, *, slack: Floats | float = 0.0, besides: Floats | None = None
) -> tuple[Mask, Floats]:
    """Return the nodes that are leaves for the least sum over leaves of `cost`, and the cost of each node's best subtree.

    A leaf may cost `slack` more than the subtree in its place; `besides` is the cost of an inner node besides its children.
    """
    tolerance = np.full(tree.node_count, EQUAL_COSTS * cost.max()) + slack
    best = np.zeros(tree.node_count) if besides is None else besides.copy()
    useless = np.empty(tree.node_count, dtype=np.uint8)
    passes.useless_splits(tree.parent, tree.first_child, cost, tolerance, best, useless)
    return useless.astype(np.bool_), best


def sums_over_leaves(tree: Tree, of_leaves: Floats) -> Floats:
    return useless_splits(tree, of_leaves, slack=-np.inf)[1]
