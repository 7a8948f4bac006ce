"""Data of linear models in the page: the formula and the exact numbers of each node, as it predicts if it is a leaf."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.table import Table
from fasttree._model.arrays import STOP
from fasttree._model.linear.model_tree import LinearModels, ModelTree, smoothed
from fasttree._model.tree import Tree
from fasttree._model.words import Words

__all__ = ["chart_term", "error_of_models", "model_data"]


def model_data(tree: Tree, words: Words) -> dict[str, Any] | None:
    """Return the models of the nodes, or None for a tree without models.

    An inner node has the model that `collapse` would give it; one where samples stop has that by which they are predicted.

    Returns
    -------
    dict or None
        `text`, the formula of each node; `start`, `feature`, `coefficient`, `intercept`, `lower`, `upper` and `filling` as in
        `LinearModels`, with None for a number that is not finite.
    """
    if not isinstance(tree, ModelTree):
        return None
    folded = (tree.n_branches > 0) & (tree.missing != STOP)
    models = smoothed(tree, tree.models, folded, tree.smoothing)
    as_leaves = ModelTree.of(tree, models, tree.smoothing)
    numbers = ("coefficient", "intercept", "lower", "upper", "filling")
    return {
        "text": [words.formula(as_leaves, node) for node in range(tree.node_count)],
        "start": models.start.tolist(),
        "feature": models.feature.tolist(),
        **{name: [x if math.isfinite(x) else None for x in getattr(models, name).tolist()] for name in numbers},
    }


def error_of_models(tree: ModelTree, table: Table, target: npt.NDArray[Any]) -> float | None:
    """Return the mean squared error of the predictions; None without samples."""
    if not table.n_samples:
        return None
    return float(np.mean((tree.predict(table) - target) ** 2))


def chart_term(models: LinearModels, table: Table, node: int, rows: npt.NDArray[np.intp]) -> tuple[int, dict[int, float]] | None:
    """Return the feature whose term varies most over some samples, and the means of the other features of a model.

    The first feature is chosen among equal ones.  None for a model without terms.
    """
    chosen, widest, means = -1, -1.0, {}
    for feature, coefficient in models.terms(node):
        column = table.column(feature)[rows].astype(np.float64)
        column[np.isnan(column)] = models.filling[feature]
        means[feature] = float(column.mean())
        spread = abs(coefficient) * float(column.std())
        if spread > widest:
            chosen, widest = feature, spread
    if chosen < 0:
        return None
    del means[chosen]
    return chosen, means
