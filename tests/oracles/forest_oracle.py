"""What scikit-learn's forests say of ten tables; ``python tests/oracles/forest_oracle.py`` writes its figures anew.

The draws differ, so figures are compared by their mean and standard deviation over seeds.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn import ensemble
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

RECORDED = Path(__file__).with_name("forests_sklearn.json")
TABLES = Path(__file__).parents[1] / "tables"
EXAMPLES = Path(__file__).parents[2] / "examples"
N_SEEDS = 20
N_TREES = 60
FIGURES = ("score", "oob", "nodes", "importances")


class Setting(NamedTuple):
    """A table with its forest."""

    read: Any
    task: str
    given: dict[str, Any]


def from_csv(path: Path, target: str, *, numbers: bool = False) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows without missing values; text columns as codes in the order of their values."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if all(row.values())]
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0] if name != "name"}
    y = columns.pop(target)
    cells = [as_numbers(column) for column in columns.values()]
    codes = [np.unique(column, return_inverse=True)[1] if column.dtype.kind == "U" else column for column in cells]
    return np.column_stack(codes).astype(float), y.astype(float) if numbers else y


def as_numbers(column: NDArray[np.str_]) -> NDArray[Any]:
    """Return the numbers that a column of a file holds, or its text if it holds any other."""
    try:
        return column.astype(float)
    except ValueError:
        return column


def of_sklearn(load: Any) -> Any:
    return lambda: load(return_X_y=True)


SETTINGS = {
    "iris": Setting(of_sklearn(load_iris), "classification", {}),
    "wine": Setting(of_sklearn(load_wine), "classification", {}),
    "breast cancer": Setting(of_sklearn(load_breast_cancer), "classification", {}),
    "digits": Setting(of_sklearn(load_digits), "classification", {}),
    "glass": Setting(lambda: from_csv(TABLES / "glass.csv.gz", "Type"), "classification", {"max_features": 0.5}),
    "car": Setting(lambda: from_csv(TABLES / "car.csv.gz", "class"), "classification", {"min_samples_leaf": 3}),
    "german": Setting(lambda: from_csv(TABLES / "german.csv.gz", "class"), "classification", {"max_depth": 6}),
    "diabetes": Setting(of_sklearn(load_diabetes), "regression", {"max_features": 1 / 3}),
    "diabetes, all features": Setting(of_sklearn(load_diabetes), "regression", {"min_samples_leaf": 5}),
    "auto-mpg": Setting(lambda: from_csv(EXAMPLES / "auto-mpg.csv", "mpg", numbers=True), "regression", {"max_features": 0.5}),
}


def figures(forests: Any, setting: Setting, seeds: range) -> dict[str, NDArray[Any]]:
    """Return the figures of forests of some seeds, a row each; `forests` has a class for each task."""
    X, y = setting.read()
    order = np.random.default_rng(0).permutation(len(y))
    unseen, learn = order[: len(y) // 4], order[len(y) // 4 :]
    kind = forests.RandomForestClassifier if setting.task == "classification" else forests.RandomForestRegressor

    def of_seeds() -> Iterator[tuple[float, float, float, Any]]:
        for seed in seeds:
            forest = kind(n_estimators=N_TREES, oob_score=True, random_state=seed, **setting.given).fit(X[learn], y[learn])
            nodes = getattr(forest, "ensemble_", None)
            count = nodes.node_count if nodes else sum(tree.tree_.node_count for tree in forest.estimators_)
            yield forest.score(X[unseen], y[unseen]), forest.oob_score_, count / N_TREES, forest.feature_importances_

    return dict(zip(FIGURES, map(np.array, zip(*of_seeds(), strict=True)), strict=True))


def main() -> None:
    found: dict[str, Any] = {
        "about": f"scikit-learn {sklearn.__version__}: mean and standard deviation of {N_SEEDS} seeds, {N_TREES} trees"
    }
    for name, setting in SETTINGS.items():
        rows = figures(ensemble, setting, range(N_SEEDS))
        found[name] = {
            figure: [np.round(values.mean(axis=0), 6).tolist(), np.round(values.std(axis=0, ddof=1), 6).tolist()]
            for figure, values in rows.items()
        }
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(entry)}" for name, entry in found.items())
    RECORDED.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
