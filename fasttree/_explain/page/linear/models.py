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

__all__ = ["chart_term", "check_one_target", "error_of_models", "model_data"]


def check_one_target(tree: Tree) -> None:
    """Raise a ValueError if leaves have models of several targets, of which the page would show one."""
    if isinstance(tree, ModelTree) and tree.outputs is not None:
        raise ValueError(
            f"the page shows linear models of one target, and the tree has {tree.n_outputs} targets: fit a tree to each, or "
            "use export_svg or export_text, which have the formulas of all"
        )


def model_data(tree: Tree, words: Words) -> dict[str, Any] | None:
    """Return the models of the nodes, or None for a tree without models.

    An inner node has the model that `collapse` would give it; one where samples stop has that by which they are predicted.

    Returns
    -------
    dict or None
        `text`, the formula of each node; `start`, `column`, `coefficient`, `intercept`, `lower` and `upper` as in `LinearModels`,
        with None for infinite bounds; and `columns`, which has the feature of each column, the code of the category that an
        indicator is of, or 0, its name, and what takes the place of a missing value.
    """
    if not isinstance(tree, ModelTree):
        return None
    folded = (tree.n_branches > 0) & (tree.missing != STOP)
    models = smoothed(tree, tree.models, folded, tree.smoothing)
    columns = models.columns.tolist()
    return {
        "text": [words.formula(models, node) for node in range(tree.node_count)],
        "start": models.start.tolist(),
        "column": models.column.tolist(),
        "coefficient": models.coefficient.tolist(),
        "intercept": models.intercept.tolist(),
        "lower": [bound if math.isfinite(bound) else None for bound in models.lower.tolist()],
        "upper": [bound if math.isfinite(bound) else None for bound in models.upper.tolist()],
        "columns": {j: [*models.source(j), words.column(models, j), float(models.filling[j])] for j in columns},
    }


def error_of_models(tree: ModelTree, table: Table, target: npt.NDArray[Any]) -> float | None:
    """Return the mean squared error of the predictions; None without samples, or if it overflows."""
    if not table.n_samples:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.mean((tree.predict(table) - target) ** 2))
    return error if math.isfinite(error) else None


def chart_term(models: LinearModels, table: Table, node: int, rows: npt.NDArray[np.intp]) -> tuple[int, dict[int, float]] | None:
    """Return the feature whose term varies most over some samples, and the means of the other columns of a model.

    The first feature is chosen among equal ones.  None for a model without terms, or with indicators alone, and where figures of
    the samples overflow.
    """
    chosen, widest, means = -1, -1.0, {}
    for column, coefficient in models.terms(node):
        feature, code = models.source(column)
        values = models.values(column, table.column(feature)[rows])
        with np.errstate(over="ignore", invalid="ignore"):
            means[column] = float(values.mean())
            spread = abs(coefficient) * float(values.std())
        if not math.isfinite(means[column] + spread):
            return None
        if spread > widest and not code:
            chosen, widest = column, spread
    if chosen < 0:
        return None
    del means[chosen]
    return chosen, means
