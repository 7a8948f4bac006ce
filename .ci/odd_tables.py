"""Models of odd tables, fitted, pruned, applied and written, for `.ci/memcheck`.

python .ci/odd_tables.py
"""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import fasttree as ft

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
N = 90
AGAIN = np.repeat(np.arange(N // 3), 3)


def tables() -> Iterator[tuple[str, np.ndarray, dict[str, Any]]]:
    """Yield tables of numbers with the parameters that name their nominal columns."""
    plain = rng.normal(size=(N, 5))
    yield "plain", plain, {}
    yield (
        "made up of other columns",
        np.column_stack([plain, plain[:, 0], 2 * plain[:, 1], plain[:, 0] - plain[:, 2], plain[:, 4]]),
        {},
    )
    yield "rows again", plain[AGAIN], {}
    yield "constant columns", np.column_stack([plain, np.ones((N, 3))]), {}
    yield "one column", np.round(plain[:, :1]), {}
    holes = plain.copy()
    holes[rng.random(holes.shape) < 0.3] = np.nan
    holes[:, 4] = np.nan
    yield "missing values", holes, {}
    codes = rng.integers(0, [2, 3, 9, 40, 5], (N, 5)).astype(float)
    yield "categories", codes, {"categorical_features": [0, 1, 2, 3, 4]}
    codes[rng.random(codes.shape) < 0.2] = np.nan
    yield "missing categories", codes, {"categorical_features": [0, 1, 2, 3]}
    yield "huge and tiny", plain * [1e300, 1e-300, 1e150, 1e-150, 1], {}
    yield "single precision", plain.astype(np.float32), {}
    yield "three rows", plain[:3], {}


MODELS: dict[str, list[tuple[Any, dict[str, Any]]]] = {
    "classes": [
        (ft.ID3Classifier, {}),
        (ft.C45Classifier, {}),
        (ft.C45Classifier, {"subset": True, "soft_thresholds": True}),
        (ft.C45Classifier, {"windowing": True, "random_state": 0, "n_trials": 2}),
        (ft.C50Classifier, {"global_pruning": True}),
        (ft.C50Classifier, {"winnow": True, "subset": True, "soft_thresholds": True}),
        (ft.C50Classifier, {"trials": 3}),
        (ft.C50Classifier, {"trials": 3, "rules": True}),
        (ft.C45Rules, {}),
        (ft.CHAIDClassifier, {}),
        (ft.CHAIDClassifier, {"method": "exhaustive", "alpha_merge": 0.5, "alpha_split": 0.5, "min_samples_split": 2}),
        (ft.CARTClassifier, {}),
        (ft.CARTClassifier, {"criterion": "entropy", "missing": "surrogate"}),
        (ft.CARTClassifier, {"max_leaf_nodes": 5, "max_bins": 4}),
        (ft.CARTClassifier, {"lookahead": 2, "max_depth": 3}),
        (ft.CARTClassifier, {"ccp_alpha": 0.02, "max_features": 2, "random_state": 0}),
        (ft.CARTClassifier, {"loss_matrix": [[0, 1, 5], [1, 0, 1], [2, 1, 0]]}),
        (ft.RandomForestClassifier, {"n_estimators": 3, "random_state": 0, "oob_score": True}),
        (ft.ExtraTreesClassifier, {"n_estimators": 3, "random_state": 0}),
        (ft.OptimalTreeClassifier, {"max_depth": 3, "time_limit": 20}),
        (ft.GAMClassifier, {"max_iter": 20, "n_bags": 2, "random_state": 0, "interactions": 1}),
    ],
    "numbers": [
        (ft.CARTRegressor, {}),
        (ft.CARTRegressor, {"max_leaf_nodes": 5, "max_bins": 4}),
        (ft.CARTRegressor, {"criterion": "absolute_error"}),
        (ft.CARTRegressor, {"criterion": "poisson"}),
        (ft.CARTRegressor, {"lookahead": 2, "max_depth": 3, "missing": "direction"}),
        (ft.RandomForestRegressor, {"n_estimators": 3, "random_state": 0, "oob_score": True}),
        (ft.ExtraTreesRegressor, {"n_estimators": 3, "random_state": 0}),
        (ft.OptimalTreeRegressor, {"max_depth": 2, "time_limit": 20}),
        (ft.CHAIDRegressor, {}),
        (ft.M5Regressor, {}),
        (ft.M5Regressor, {"variant": "weka"}),
        (ft.CubistRegressor, {}),
        (ft.CubistRegressor, {"committees": 3, "neighbors": 2, "unbiased": True}),
        (ft.GAMRegressor, {"max_iter": 20, "n_bags": 2, "random_state": 0, "interactions": 1}),
    ],
}


def use(model: Any, X: np.ndarray) -> None:
    """Apply a model in every way that it has."""
    for method in ("predict", "predict_proba", "apply", "decision_path", "shap_values"):
        if hasattr(model, method):
            with suppress(ValueError, TypeError, AttributeError):  # not every model has every method for every table
                getattr(model, method)(X)
    for method in ("to_predictor", "to_text"):
        if hasattr(model, method):
            with suppress(ValueError, AttributeError):
                made = getattr(model, method)()
                if method == "to_predictor":
                    made.predict(X)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "model.json"))
        ft.load(Path(folder, "model.json")).predict(X)


def fitted(kind: str, what: str, X: np.ndarray, columns: dict[str, Any], weighted: bool) -> int:
    """Fit and use the models of one table, and return how many there are."""
    score = np.nan_to_num(X[:, 0].astype(float)) + rng.normal(size=len(X))
    ranks = np.argsort(np.argsort(score))
    y = ranks * 3 // len(X) if kind == "classes" else ranks % 17 + ranks / len(X)
    weight = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    n = 0
    for model_type, given in MODELS[kind]:
        model = model_type(**given, **columns)
        try:
            model.fit(X, y, weight)
        except ValueError:  # not every model takes every table
            continue
        use(model, X)
        n += 1
    print(what, kind, "weighted" if weighted else "", n, "models", flush=True)
    return n


def large() -> None:
    """Fit models of a table that is searched by bounds and in private blocks, and of one in files."""
    X = rng.normal(size=(33_000, 18)).astype(np.float32)
    X[:, 3] = np.round(X[:, 3])
    y = (X[:, 0] * X[:, 1] + rng.normal(size=len(X)) > 0).astype(int)
    for given in (X, np.asfortranarray(X), X[:, :3].astype(float)):
        ft.CARTClassifier(min_samples_leaf=20).fit(given, y)
        ft.CARTRegressor(max_depth=6).fit(given, X[:, 0] + y)
    steps = np.column_stack([X[:600, 0], X[:600, 1], X[:600, 0] + X[:600, 1], X[:600, 2], X[:600, 4]]).astype(float)
    jumps = (steps > 0) @ [2.0, 3.0, 5.0, 4.0, 1.0] + steps[:, 3] * (steps[:, 2] > 0.5)
    ft.CubistRegressor().fit(steps, jumps)  # models of nodes have terms of features that make up others
    ft.CARTClassifier(max_leaf_nodes=30, max_features=4, random_state=0).fit(X, y)
    ft.RandomForestClassifier(n_estimators=2, max_samples=20_000, max_depth=6, random_state=0).fit(X, y)
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(6)} | {"y": y}), Path(folder, "table.parquet"))
        with ft.Dataset.from_parquet(Path(folder, "table.parquet"), "y", scratch=folder, memory="64MiB") as data:
            ft.CARTClassifier(max_depth=6).fit(data)
    print("large tables", flush=True)


if __name__ == "__main__":
    n_models = sum(
        fitted(kind, what, X, columns, weighted) for what, X, columns in tables() for kind in MODELS for weighted in (False, True)
    )
    large()
    if n_models < 400:
        raise SystemExit(f"{n_models} models were fitted: most of {22 * sum(map(len, MODELS.values()))} should be")
