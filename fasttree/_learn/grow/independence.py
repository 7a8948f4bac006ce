"""Chi-square tests of the classes and the branches of a tree's splits, to stop growth or to prune."""

from __future__ import annotations

import numpy as np

from fasttree._data.cells import Floats
from fasttree._model.tree import Tree

P_VALUE_TOLERANCE = 1e-12  # relative; probabilities that differ by less are equal


def independence_probability(tree: Tree) -> Floats:
    """Return the p-value of each node's chi-square test of branches x classes; 1 without a degree of freedom."""
    from scipy.special import gammaincc

    n_nodes, parent = tree.node_count, tree.parent[1:]
    full = tree.weight[1:] > 0
    child, parent = np.flatnonzero(full) + 1, parent[full]
    observed = tree.value[child]
    totals = np.zeros_like(tree.value)
    np.add.at(totals, parent, observed)
    expected = totals[parent] * (tree.weight[child] / totals.sum(axis=1)[parent])[:, None]
    terms = np.divide((observed - expected) ** 2, expected, out=np.zeros_like(expected), where=expected > 0).sum(axis=1)
    statistic = np.bincount(parent, weights=terms, minlength=n_nodes)
    branches = np.bincount(parent, minlength=n_nodes)
    freedom = (branches - 1) * ((totals > 0).sum(axis=1) - 1)
    tested = freedom > 0
    probability = np.ones(n_nodes)
    probability[tested] = gammaincc(freedom[tested] / 2, statistic[tested] / 2)
    return probability


def without_independent_splits(tree: Tree, max_p_value: float) -> Tree:
    """Return the tree of a growth that stops where the classes may be independent of the branches (Quinlan 1986).

    A node's split does not depend on the nodes below, so the whole tree is grown and then cut back from the top.
    """
    stopped = (tree.n_branches > 0) & (independence_probability(tree) > max_p_value * (1 + P_VALUE_TOLERANCE))
    return tree.prune_at(stopped) if stopped.any() else tree
