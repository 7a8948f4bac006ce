"""Linear models of the nodes of a tree in a document: an object per node; null for an infinite bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fasttree._export.document.values import DocumentError, as_index, as_number, as_type, entry_of
from fasttree._model.linear.model_tree import LinearModels, ModelTree
from fasttree._model.tree import Tree


def written(tree: ModelTree) -> dict[str, Any]:
    """Return the models of all nodes for JSON."""
    models = tree.models
    columns = zip(models.intercept.tolist(), models.lower.tolist(), models.upper.tolist(), strict=True)
    return {
        "smoothing": tree.smoothing,
        "filling": [None if math.isnan(value) else value for value in models.filling.tolist()],
        "nodes": [
            {
                "intercept": intercept,
                "terms": [list(term) for term in models.terms(node)],
                "lower": lower if math.isfinite(lower) else None,
                "upper": upper if math.isfinite(upper) else None,
            }
            for node, (intercept, lower, upper) in enumerate(columns)
        ],
    }


def with_models(tree: Tree, document: dict[str, Any], order: list[int]) -> Tree:
    """Return a tree with the models of a document, or the tree if it has none; `order` are the document's nodes breadth first.

    Raises
    ------
    DocumentError
        If an entry is malformed.
    ValueError
        If the models do not fit the tree.
    """
    if "models" not in document:
        return tree
    given = entry_of(document, "models", dict)
    nodes, filling = entry_of(given, "nodes", list, "models"), entry_of(given, "filling", list, "models")
    for name, entries, size in (("nodes", nodes, tree.node_count), ("filling", filling, tree.n_features)):
        if len(entries) != size:
            raise DocumentError(f"models.{name}: must have {size} entries; got {len(entries)}")
    start, feature, coefficient = [0], list[int](), list[float]()
    figures = np.empty((3, len(nodes)))
    for place, node in enumerate(order):
        where = f"models.nodes[{node}]"
        entry = as_type(nodes[node], dict, where)
        for term in entry_of(entry, "terms", list, where):
            if type(term) is not list or len(term) != 2:
                raise DocumentError(f"{where}.terms: must be pairs of a feature and its coefficient")
            feature.append(as_index(term[0], tree.n_features, f"{where}.terms"))
            coefficient.append(as_number(term[1], f"{where}.terms"))
        start.append(len(feature))
        figures[:, place] = (
            as_number(entry.get("intercept"), f"{where}.intercept"),
            _bound(entry, "lower", where, -math.inf),
            _bound(entry, "upper", where, math.inf),
        )
    means = [math.nan if value is None else as_number(value, f"models.filling[{j}]") for j, value in enumerate(filling)]
    intercept, lower, upper = figures
    models = LinearModels(
        start=np.array(start),
        feature=np.array(feature, np.int32),
        coefficient=np.array(coefficient, np.float64),
        intercept=intercept,
        lower=lower,
        upper=upper,
        filling=np.array(means, np.float64),
    )
    found = ModelTree.of(tree, models, as_number(given.get("smoothing"), "models.smoothing"))
    found.check()
    return found


def _bound(entry: dict[str, Any], key: str, where: str, infinite: float) -> float:
    value = entry.get(key, "")
    return infinite if value is None else as_number(value, f"{where}.{key}")
