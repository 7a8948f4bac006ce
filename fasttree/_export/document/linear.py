"""Linear models of the nodes of a tree in a document: an object per node, or one per target of it; null for an infinite bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._export.document.values import DocumentError, as_index, as_number, as_type, entry_of
from fasttree._model.linear.model_tree import LinearModels, ModelTree
from fasttree._model.tree import Tree


def written(tree: ModelTree) -> dict[str, Any]:
    """Return the models of all nodes for JSON."""
    models, nodes = tree.models_by_target[0], list(map(_written_nodes, tree.models_by_target))
    return {
        "smoothing": tree.smoothing,
        **({"indicators": (models.indicators - [0, 1]).tolist()} if len(models.indicators) else {}),
        "filling": [None if math.isnan(value) else value for value in models.filling.tolist()],
        "nodes": nodes[0] if tree.outputs is None else list(map(list, zip(*nodes, strict=True))),
    }


def _written_nodes(models: LinearModels) -> list[dict[str, Any]]:
    columns = zip(models.intercept.tolist(), models.lower.tolist(), models.upper.tolist(), strict=True)
    return [
        {
            "intercept": intercept,
            "terms": [list(term) for term in models.terms(node)],
            "lower": lower if math.isfinite(lower) else None,
            "upper": upper if math.isfinite(upper) else None,
        }
        for node, (intercept, lower, upper) in enumerate(columns)
    ]


def with_models(tree: Tree, document: dict[str, Any], order: list[int], n_categories: Sequence[int]) -> Tree:
    """Return a tree with the models of a document, or the tree if it has none.

    Parameters
    ----------
    tree : Tree
    document : dict
    order : list of int
        The nodes of the document breadth first.
    n_categories : sequence of int
        Number of categories of each feature; 0 for numbers.

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
    indicators = _indicators(as_type(given.get("indicators", []), list, "models.indicators"), n_categories)
    n_columns = tree.n_features + len(indicators)
    for name, entries, size in (("nodes", nodes, tree.node_count), ("filling", filling, n_columns)):
        if len(entries) != size:
            raise DocumentError(f"models.{name}: must have {size} entries; got {len(entries)}")
    means = [math.nan if value is None else as_number(value, f"models.filling[{j}]") for j, value in enumerate(filling)]
    columns = np.array(means, np.float64), np.array(indicators, np.int64).reshape(-1, 2)
    by_target = [_models(list(entries), *columns) for entries in zip(*_entries(nodes, order, tree.outputs), strict=True)]
    found = ModelTree.of(tree, by_target, as_number(given.get("smoothing"), "models.smoothing"))
    found.check()
    return found


def _entries(nodes: list[Any], order: list[int], outputs: tuple[int, ...] | None) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """Yield for each node the places and the entries of its models, one for each target."""
    for node in order:
        where = f"models.nodes[{node}]"
        if outputs is None:
            yield [(where, as_type(nodes[node], dict, where))]
            continue
        entries = as_type(nodes[node], list, where)
        if len(entries) != len(outputs):
            raise DocumentError(f"{where}: must have an entry for each of {len(outputs)} targets; got {len(entries)}")
        places = [f"{where}[{target}]" for target in range(len(outputs))]
        yield [(place, as_type(entry, dict, place)) for place, entry in zip(places, entries, strict=True)]


def _models(
    entries: list[tuple[str, dict[str, Any]]], filling: npt.NDArray[np.float64], indicators: npt.NDArray[np.int64]
) -> LinearModels:
    """Read the models of one target."""
    start, column, coefficient = [0], list[int](), list[float]()
    figures = np.empty((3, len(entries)))
    for place, (where, entry) in enumerate(entries):
        for term in entry_of(entry, "terms", list, where):
            if type(term) is not list or len(term) != 2:
                raise DocumentError(f"{where}.terms: must be pairs of a column and its coefficient")
            column.append(as_index(term[0], filling.size, f"{where}.terms"))
            coefficient.append(as_number(term[1], f"{where}.terms"))
        start.append(len(column))
        figures[:, place] = (
            as_number(entry.get("intercept"), f"{where}.intercept"),
            _bound(entry, "lower", where, -math.inf),
            _bound(entry, "upper", where, math.inf),
        )
    intercept, lower, upper = figures
    return LinearModels(
        start=np.array(start),
        column=np.array(column, np.int32),
        coefficient=np.array(coefficient, np.float64),
        intercept=intercept,
        lower=lower,
        upper=upper,
        filling=filling,
        indicators=indicators,
    )


def _indicators(given: list[Any], n_categories: Sequence[int]) -> list[tuple[int, int]]:
    """Return the feature and the code of each indicator."""
    found = []
    for k, pair in enumerate(given):
        where = f"models.indicators[{k}]"
        if type(pair) is not list or len(pair) != 2:
            raise DocumentError(f"{where}: must be a pair of a feature and the index of its category")
        feature = as_index(pair[0], len(n_categories), where)
        if not n_categories[feature]:
            raise DocumentError(f"{where}: the feature has no categories")
        found.append((feature, 1 + as_index(pair[1], n_categories[feature], where)))
    return found


def _bound(entry: dict[str, Any], key: str, where: str, infinite: float) -> float:
    value = entry.get(key, "")
    return infinite if value is None else as_number(value, f"{where}.{key}")
