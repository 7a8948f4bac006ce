"""Trees of Weka's M5P, and tables as it prepares them, for tests of M5Regressor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fasttree import M5Regressor

WEKA = {"variant": "weka"}
RUNS = {
    "pruned": {},
    "unsmoothed": {"smoothing": 0},
    "unpruned": {"pruning_factor": None},
    "unpruned_unsmoothed": {"pruning_factor": None, "smoothing": 0},
    "regression_tree": {"linear": False},
    "regression_tree_unpruned_unsmoothed": {"linear": False, "pruning_factor": None, "smoothing": 0},
}
SUBSETS = {"diamonds": 4}  # every so many rows


def table_of(shared: Path, name: str) -> pd.DataFrame:
    """The rows of a set, missing values and texts as they are."""
    if name in ("cu_summary", "car_test_frame"):
        table = pd.read_csv(shared / "data" / f"rpart_{name}.csv").iloc[:, 1:]
        return table[table["Mileage"].notna()].reset_index(drop=True)
    path = shared / "data" / f"{name}.csv"
    table = pd.read_csv(path if path.exists() else f"{path}.gz")
    return table.iloc[:: SUBSETS.get(name, 1)].reset_index(drop=True)


def prepared(table: pd.DataFrame, oracle: dict[str, Any]) -> tuple[pd.DataFrame, np.ndarray]:
    """The training rows as M5P has them after its filters: means, modes, and 0/1 columns of categories by their mean target."""
    train = table if len(table) < 30 else table[np.arange(len(table)) % 3 != 2]
    target = oracle["target"]
    columns: dict[str, Any] = {}
    for attribute in oracle["runs"][0]["attributes"]:
        name, equals, values = attribute.partition("=")
        if attribute == target:
            continue
        if equals:
            texts = train[name].map(lambda cell: cell if isinstance(cell, str) else None if cell != cell else f"{cell:g}")
            texts = texts.fillna(texts.mode()[0])
            columns[attribute] = texts.isin(values.split(",")).astype(float)
        else:
            column = train[name].astype(float)
            columns[attribute] = column.fillna(column.mean())
    return pd.DataFrame(columns), train[target].to_numpy(float)


def differences(oracle: dict[str, Any], run: dict[str, Any], X: pd.DataFrame, y: np.ndarray) -> tuple[str, float]:
    """Return the first difference of a tree from M5P's ("" for none), and the largest relative one of coefficients."""
    model = M5Regressor(**WEKA | RUNS[run["run"]]).fit(X, y)
    tree = model.tree_
    if tree.node_count != run["nodes_total"]:
        return f"{tree.node_count} nodes, not {run['nodes_total']}", 0.0
    if not np.allclose(model.predict(X[:50]), run["pred_train"], rtol=1e-6):
        return "predictions", 0.0
    names, largest = list(X), 0.0
    if not run["nodes"]:
        return "", 0.0
    at = {run["nodes"][0]["id"]: 0}
    for node in run["nodes"]:
        i = at[node["id"]]
        if tree.n_samples[i] != node["n"] or (tree.n_branches[i] > 0) != ("att" in node):
            return f"node {node['id']}: {tree.n_samples[i]} samples, not {node['n']}", 0.0
        if "att" in node:
            where = (names[tree.feature[i]], float(tree.threshold[i]))
            if where[0] != node["att"] or abs(where[1] - node["value"]) > 1e-9 * max(1, abs(where[1])):
                return f"node {node['id']}: {where}, not {node['att']} <= {node['value']}", 0.0
            at[node["left"]], at[node["right"]] = int(tree.first_child[i]), int(tree.first_child[i]) + 1
        terms = {names[j]: b for j, b in tree.models.terms(i)}
        if set(terms) != set(node["coef"]):
            return f"node {node['id']}: {sorted(terms)}, not {sorted(node['coef'])}", 0.0
        pairs = [(terms[name], b) for name, b in node["coef"].items()]
        largest = max([largest, *(abs(a - b) / abs(b) for a, b in pairs)])
    return "", largest


def oracle_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found
