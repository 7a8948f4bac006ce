"""Importances of features computed from the arrays of a tree alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._model.arrays import STOP
from fasttree._model.tree import Tree


def impurity_importances(tree: Tree) -> npt.NDArray[np.float64]:
    """Return the share of each feature in the decrease of weighted impurity, float64 (n_features,); zeros without a test."""
    risk = tree.risk
    children = np.bincount(tree.parent[1:], weights=risk[1:], minlength=tree.node_count)
    inner = tree.feature >= 0
    n_in_children = np.bincount(tree.parent[1:], weights=tree.n_samples[1:], minlength=tree.node_count)
    stopped = (tree.missing == STOP) | (n_in_children < tree.n_samples)  # leaves have no part
    at_node = np.where(stopped, tree.weight * tree.gain, risk - children)
    decrease: npt.NDArray[Any] = np.bincount(tree.feature[inner], weights=at_node[inner], minlength=tree.n_features)
    total = decrease.sum()
    return decrease / total if total > 0 else np.zeros(tree.n_features)


def surrogate_importances(tree: Tree) -> npt.NDArray[np.float64]:
    """Return the importance of each feature, float64 (n_features,), not normalised.

    It is the gain of its tests, in units of risk, plus for each of its surrogates the gain of the node's test times the adjusted
    agreement (Breiman et al. 1984, section 5.3, as reported by rpart).
    """
    gain = tree.weight * tree.gain
    inner = tree.feature >= 0
    found = np.zeros(tree.n_features)
    found += np.bincount(tree.feature[inner], weights=gain[inner], minlength=tree.n_features)
    surrogates = tree.surrogates
    if surrogates is not None:
        parts = surrogates.adjusted * gain[surrogates.node]
        found += np.bincount(surrogates.feature, weights=parts, minlength=tree.n_features)
    return found
