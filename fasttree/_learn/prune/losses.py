"""Losses of leaves and subtrees, by the errors or by the impurity of their samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fasttree import _core
from fasttree._data.cells import Floats
from fasttree._engine import passes
from fasttree._learn.samples import Samples
from fasttree._model.tree import Tree
from fasttree._model.walks import blocks

# Share of the largest target: with Poisson deviance, a prediction of 0 would have an infinite loss on a count above 0.
LEAST_ANSWER = 1e-10


class Losses(NamedTuple):
    """Sums over the samples that arrive at each node, with its prediction: errors or their cost, or deviations.

    All arrays are float64 of shape (n,).  A sample that stops at an inner node, because its value has no branch there, has its
    loss whether the node is a leaf or not.
    """

    weight: Floats
    loss: Floats
    square: Floats  # of the losses
    stopped_loss: Floats
    stopped_square: Floats


def losses(tree: Tree, samples: Samples) -> Losses:
    """Send samples down a tree, and add up their losses at every node."""
    n_samples = samples.table.n_samples
    weight = np.ones(n_samples) if samples.weight is None else samples.weight
    numeric = tree.task == "regression"
    answer = np.ascontiguousarray(tree.value[:, 0] if numeric else tree.predicted_class, dtype=np.float64)
    target = samples.target.astype(np.float64)
    if numeric and samples.impurity == "poisson":
        answer = np.maximum(answer, LEAST_ANSWER * target.max())
    impurity = _core.IMPURITY[samples.impurity] if numeric else -1
    matrix = _loss_matrix(tree, samples.class_factor)
    # sums in fixed point, whose bounds do not depend on the order of the samples, do not depend on it either
    judging = target[weight > 0]
    worst = _largest_loss(judging, answer, samples.impurity if numeric else None, matrix) if judging.size else 0.0
    bound = float(weight.max()) * np.array([1.0, worst, worst**2, worst, worst**2])
    sums = np.zeros((tree.node_count, bound.size, 2), dtype=np.int64)
    for rows, block in blocks(samples.table):
        passes.arrivals(tree, block, target[rows], weight[rows], answer, impurity, matrix, bound, n_samples, sums)
    found = np.empty((tree.node_count, bound.size))
    passes.sums_as_doubles(sums, bound, n_samples, found)
    return Losses(*np.ascontiguousarray(found.T))


def _largest_loss(target: Floats, answer: Floats, impurity: str | None, matrix: Floats | None) -> float:
    """Return an upper bound of the loss of a sample of unit weight; `impurity` is that of numeric targets."""
    if impurity is None:
        return 1.0 if matrix is None else float(matrix.max())
    if impurity == "poisson":  # y log(y / answer) - y + answer
        return float(target.max() * (1 - np.log(LEAST_ANSWER)) + answer.max())
    farthest = max(float(target.max() - answer.min()), float(answer.max() - target.min()))
    return farthest if impurity == "absolute_error" else farthest**2


def _loss_matrix(tree: Tree, class_factor: Floats | None) -> Floats | None:
    """Return the loss of a sample of unit weight by true and predicted class; None if it is 1 for every error.

    Priors are part of the loss, not of the weight, as in rpart: the spread of the losses then reflects the number of samples.
    """
    if tree.task == "regression" or (tree.loss is None and class_factor is None):
        return None
    loss = 1.0 - np.eye(tree.n_values) if tree.loss is None else tree.loss
    return np.ascontiguousarray(loss if class_factor is None else class_factor[:, None] * loss)


def class_impurity(value: Floats, impurity: str) -> Floats:
    """Return the impurity of rows of class weights, each of positive sum; entropy is in bits."""
    shares = value / value.sum(axis=1, keepdims=True)
    if impurity == "gini":
        result = 1 - (shares**2).sum(axis=1)
    elif impurity == "misclassification":
        result = 1 - shares.max(axis=1)
    else:
        result = -(shares * np.log2(shares, out=np.zeros_like(shares), where=shares > 0)).sum(axis=1)
    return np.asarray(np.maximum(result, 0.0))
