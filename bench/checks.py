"""Checks of results, which raise AssertionError or return figures.

Exact trees of two libraries are equal up to ties, which scikit-learn breaks by a random order of features and fasttree by a rule.
The checks walk down both trees together: in every shared node, the two splits must have the same gain.  The accuracy of whole
trees on the training table must be equal, because ties do not change it, and node counts must agree within 1 %.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .cases import OURS, Answers, Figures

SKLEARN = "scikit-learn"
SAME = 1e-9  # tolerated relative difference of impurities, gains and scores, for rounding
ROUNDING = 1e-12  # per sample, relative to the root's impurity: scikit-learn's variances are differences of large numbers
NODES_APART = 0.01  # tolerated relative difference of node counts, for ties
FEW_NODES = 2  # and absolute difference: with fractional weights, scikit-learn may split a pure node of impurity 1e-16

Check = Callable[[Answers], Figures]


def risks(tree: Any) -> NDArray[np.float64]:
    """Return weight times impurity of each node of a tree of either library."""
    weight = tree.weight if hasattr(tree, "weight") else tree.weighted_n_node_samples
    return np.asarray(weight * tree.impurity)


def compare_trees(ours: Any, peer: Any) -> Figures:
    """Assert that node counts are close and splits of shared nodes have the same gain; count shared nodes and ties.

    A tie is a node where the two libraries chose different splits of the same gain.  Nodes below it are not compared: the
    impurity of the leaves of a tree of limited depth may differ there, as it does between seeds of scikit-learn.
    """
    tree, other = ours.tree_, peer.tree_
    tree.check()
    nodes, peer_nodes = tree.node_count, other.node_count
    assert abs(nodes - peer_nodes) <= NODES_APART * peer_nodes + FEW_NODES, f"nodes: {nodes}, scikit-learn {peer_nodes}"

    risk, other_risk, weight, root_impurity = risks(tree).tolist(), risks(other).tolist(), tree.weight.tolist(), tree.impurity[0]
    left, other_left, other_right = tree.first_child.tolist(), other.children_left.tolist(), other.children_right.tolist()
    feature, other_feature = tree.feature.tolist(), other.feature.tolist()
    n_samples, other_n_samples = tree.n_samples.tolist(), other.n_node_samples.tolist()
    shared, ties = [(0, 0)], 0
    for a, b in shared:  # the list grows during the loop
        gain = 0.0 if left[a] < 0 else risk[a] - risk[left[a]] - risk[left[a] + 1]
        other_gain = 0.0 if other_left[b] < 0 else other_risk[b] - other_risk[other_left[b]] - other_risk[other_right[b]]
        rounding = SAME * risk[a] + ROUNDING * weight[a] * root_impurity
        assert abs(gain - other_gain) <= rounding, f"gain at our node {a}: {gain!r}; scikit-learn at its node {b}: {other_gain!r}"
        if left[a] < 0 and other_left[b] < 0:
            continue
        # in one node, two thresholds on one feature that send equally many samples to the left send the same ones
        if feature[a] == other_feature[b] and n_samples[left[a]] == other_n_samples[other_left[b]]:
            shared += [(left[a], other_left[b]), (left[a] + 1, other_right[b])]
        else:
            ties += 1
    leaf_risk, peer_leaf_risk = (float(risks(one)[np.array(to) < 0].sum()) for one, to in ((tree, left), (other, other_left)))
    if not ties:
        assert abs(leaf_risk - peer_leaf_risk) <= SAME * risk[0], f"leaf impurity: {leaf_risk!r}, scikit-learn {peer_leaf_risk!r}"
    return {
        "nodes": nodes,
        "peer_nodes": peer_nodes,
        "shared_nodes": len(shared),
        "ties": ties,
        "leaf_risk": leaf_risk,
        "peer_leaf_risk": peer_leaf_risk,
    }


def compare_scores(ours: Any, peer: Any, X: Any, y: Any) -> Figures:
    """Assert that accuracies or R² on the training table are equal: whole trees separate all samples that differ."""
    ours.tree_.check()
    score, peer_score = float(ours.score(X, y)), float(peer.score(X, y))
    assert abs(score - peer_score) <= SAME, f"score on the training table: {score!r}, scikit-learn {peer_score!r}"
    return {"nodes": ours.tree_.node_count, "score": score, "peer_score": peer_score}


def same_trees(X: Any, y: Any, *, whole: bool) -> Check:
    """Return a check of our model and scikit-learn's on (X, y); `whole` if growth had no limit."""

    def check(answers: Answers) -> Figures:
        ours, peer = answers[OURS], answers[SKLEARN]
        return compare_trees(ours, peer) | (compare_scores(ours, peer, X, y) if whole else {})

    return check


def same_scores(X: Any, y: Any) -> Check:
    """Return a check of scores alone, for whole trees with different splits, such as groups and single categories."""
    return lambda answers: compare_scores(answers[OURS], answers[SKLEARN], X, y)


def same_predictions(y: Any, apart: float = 0.01) -> Check:
    """Return a check of accuracies on test samples: ties may change predictions, but hardly the accuracy."""

    def check(answers: Answers) -> Figures:
        predicted, peer_predicted = answers[OURS], answers[SKLEARN]
        score, peer_score = float(np.mean(predicted == y)), float(np.mean(peer_predicted == y))
        assert abs(score - peer_score) <= apart, f"accuracy {score:.4f}, scikit-learn {peer_score:.4f}"
        return {"score": score, "peer_score": peer_score, "differ": float(np.mean(predicted != peer_predicted))}

    return check


def same_tree(ours: Any, other: Any) -> None:
    """Assert that two of our trees are equal bit for bit."""
    for name in ("feature", "threshold", "first_child", "n_samples", "weight", "value", "impurity", "gain"):
        equal = np.array_equal(getattr(ours.tree_, name), getattr(other.tree_, name), equal_nan=True)
        assert equal, f"{name} differs"


def recount(model: Any, X: Any, targets: Sequence[NDArray[Any]], weight: NDArray[np.float64] | None, *, medians: bool) -> Figures:
    """Assert that weight and value of each leaf are those of the samples that `apply` sends there.

    `targets` are class codes or numbers, one array per target; without targets, values are not checked.
    """
    tree = model.tree_
    tree.check()
    leaf = model.apply(X)
    assert (tree.first_child[leaf] < 0).all(), "a sample stops at an inner node"
    leaves = np.unique(leaf)
    weight = np.ones(len(leaf)) if weight is None else weight

    def sums(of_samples: NDArray[Any]) -> NDArray[np.float64]:
        return np.bincount(leaf, of_samples, tree.node_count)[leaves]

    weights, columns = sums(weight), []
    for target in targets:
        if tree.task == "classification":
            columns += [sums(weight * (target == code)) for code in range(int(target.max()) + 1)]
        elif medians:
            columns.append(pd.Series(target).groupby(leaf).median().to_numpy())
        else:
            columns.append(sums(weight * target) / weights)
    assert np.allclose(tree.weight[leaves], weights, rtol=SAME), "the weight of a leaf is not that of its samples"
    if columns:
        rounding = SAME * max(1.0, float(np.abs(tree.value).max()))
        assert np.allclose(tree.value[leaves], np.column_stack(columns), rtol=SAME, atol=rounding), "a leaf's answer is wrong"
    assert risks(tree)[leaves].sum() < risks(tree)[0], "nothing was learnt"
    return {"nodes": tree.node_count, "leaves": len(leaves), "leaf_risk": float(risks(tree)[leaves].sum())}
