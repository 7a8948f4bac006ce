"""What the package shap says of some of our trees; ``python tests/oracles/shap_oracle.py`` writes its figures anew.

shap gets the arrays of our tree, so nothing hangs on how other programs grow trees.  It rounds thresholds to single precision,
and what it finds with a background to about that.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, load_iris, load_wine

from fasttree import CARTClassifier, CARTRegressor
from fasttree._model.tree import Tree

RECORDED = Path(__file__).parents[1] / "oracles" / "shap.json"
TABLES = {
    "iris": (load_iris, CARTClassifier()),
    "wine": (load_wine, CARTClassifier(criterion="entropy", max_depth=4)),
    "diabetes": (load_diabetes, CARTRegressor(max_depth=7)),
}
CASES = [f"{table}, {mode}" for table in TABLES for mode in ("path-dependent", "interventional")]


def case(name: str) -> tuple[Any, NDArray[Any], NDArray[Any] | None]:
    """A model with weights, some rows of its table, and a background or None."""
    table, mode = name.split(", ")
    load, model = TABLES[table]
    X, y = load(return_X_y=True)
    X = np.round(X * 4096) / 4096  # so that values and thresholds are exact in single precision
    weight = 1.0 + np.arange(len(y)) % 3
    return model.fit(X, y, sample_weight=weight), X[::29], None if mode == "path-dependent" else X[7::31]


def for_shap(tree: Tree) -> dict[str, Any]:
    """A tree of thresholds in the form that `shap.TreeExplainer` takes."""
    inner = tree.first_child >= 0
    return {
        "trees": [
            {
                "children_left": np.where(inner, tree.first_child, -1),
                "children_right": np.where(inner, tree.first_child + 1, -1),
                "children_default": np.where(inner, tree.first_child + 1, -1),
                "features": np.where(inner, tree.feature, -2),
                "thresholds": np.where(inner, tree.threshold, -2.0),
                "values": tree.predict_nodes(),
                "node_sample_weight": np.array(tree.weight),
            }
        ]
    }


def ask(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Values (n_samples, n_features, k) and expected values (k,) as shap finds them."""
    import shap

    model, X, background = case(name)
    mode = "tree_path_dependent" if background is None else "interventional"
    explainer = shap.TreeExplainer(for_shap(model.tree_), background, feature_perturbation=mode)
    values = np.asarray(explainer.shap_values(X, check_additivity=False))
    return values.reshape(*X.shape, -1), np.atleast_1d(explainer.expected_value)


def record() -> None:
    figures = {}
    for name in CASES:
        values, expected = ask(name)
        figures[name] = {"expected": expected.tolist(), "values": values.tolist()}
    document = {"program": f"shap {version('shap')}, numpy {version('numpy')}", "cases": figures}
    RECORDED.write_text(json.dumps(document) + "\n")


if __name__ == "__main__":
    record()
