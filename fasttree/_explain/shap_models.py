"""SHAP values of trees with models, by their definition: a bounded formula has no shorter exact way.

The value of a set of features is the mean prediction of samples that have the values of the sample for the features of the set,
and those of a background sample for the others.  Every set of the features that the tree uses is evaluated.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.table import Table
from fasttree._model.linear.model_tree import ModelTree

__all__ = ["values_of_models"]

MOST_FEATURES = 12  # 4096 sets
CELLS = 2**22  # of the mixed samples that are predicted at once


class _Mixed:
    """Samples that have the values of others, as a table of floats."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix
        self.n_samples, self.n_features = matrix.shape

    def column(self, j: int) -> Floats:
        return self.matrix[:, j]

    def block(self, start: int, stop: int) -> Floats:
        return self.matrix[start:stop]


def values_of_models(tree: ModelTree, table: Table, background: Table | None) -> tuple[Floats, Floats]:
    """Return the Shapley values, shape (n_samples, n_features, 1), and the mean prediction for the background, shape (1,).

    Raises
    ------
    ValueError
        Without a background, because nodes do not have the means of features; or if the tree uses more than 12 features.
    """
    if background is None:
        raise ValueError(
            "shap_values of a tree with linear models needs background, samples whose values replace unknown ones; give, for "
            "example, a hundred rows of the training table"
        )
    used = np.array(tree.used, dtype=np.intp)
    if used.size > MOST_FEATURES:
        raise ValueError(
            f"the tree uses {used.size} features: SHAP values of linear models are computed for at most {MOST_FEATURES}, because "
            "every set of them is evaluated; fit with a larger pruning_factor, or a smaller max_depth"
        )
    X = table.block(0, table.n_samples).astype(np.float64)
    others = background.block(0, background.n_samples).astype(np.float64)
    values = np.zeros((*X.shape, 1))
    step = max(CELLS // others.size, 1)
    for start in range(0, len(X), step):
        values[start : start + step, used, 0] = _from_sets(_worth_of_sets(tree, X[start : start + step], others, used))
    return values, np.array([tree.predict(background).mean()])


def _worth_of_sets(tree: ModelTree, X: Floats, others: Floats, used: npt.NDArray[np.intp]) -> Floats:
    """Return the mean predictions, shape (2^m, n_samples); bit i of a set is the feature ``used[i]``."""
    mixed = np.tile(others, (len(X), 1))
    by_sample = mixed.reshape(len(X), *others.shape)
    worth = np.empty((2**used.size, len(X)))
    previous = 0
    for count in range(2**used.size):
        chosen = count ^ (count >> 1)  # in the order of Gray's code, so that one column changes
        if (changed := chosen ^ previous) != 0:
            j = used[changed.bit_length() - 1]
            by_sample[:, :, j] = X[:, None, j] if chosen & changed else others[:, j]
        worth[chosen] = tree.predict(cast(Table, _Mixed(mixed))).reshape(len(X), -1).mean(axis=1)
        previous = chosen
    return worth


def _from_sets(worth: Floats) -> Floats:
    """Return the Shapley values of the players of a game, shape (n_samples, m)."""
    m = len(worth).bit_length() - 1
    sets = np.arange(len(worth))
    size = np.array([chosen.bit_count() for chosen in sets.tolist()])
    weight = np.array([1 / (m * math.comb(m - 1, k)) for k in range(m)])
    found = np.zeros((worth.shape[1], m))
    for i in range(m):
        without = sets[sets >> i & 1 == 0]
        found[:, i] = weight[size[without]] @ (worth[without | 1 << i] - worth[without])
    return found
