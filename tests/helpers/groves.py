"""Small forests of every kind to be exported, and rows that try them; see `exports` for single trees."""

from __future__ import annotations

from functools import cache
from typing import Any

import exports
import numpy as np
import pandas as pd
from hypothesis import strategies as st
from trees import SCHEMA, flat, random_nodes

from fasttree import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from fasttree._model.bags import Bags
from fasttree._model.ensemble import Ensemble
from fasttree._model.tree import best_classes

SIZE = {"n_estimators": 7, "random_state": 0, "max_depth": 6}


@cache
def forests() -> dict[str, Any]:
    """Fitted forests by name: every kind of test, of target and of policy for missing values."""
    X, y, score = exports.table(400)
    whole = exports.table(400, with_missing=False)[0]
    numbers = X[["age in years", "income"]].to_numpy(float)
    known = np.nan_to_num(numbers, nan=30.0)
    classes, means = ({**SIZE, **exports.KINDS} for _ in range(2))
    loss = [[0, 1, 5], [1, 0, 1], [8, 2, 0]]
    return {
        "numbers": RandomForestClassifier(**SIZE).fit(known, y),
        "whole numbers": RandomForestRegressor(n_estimators=5, random_state=0).fit(known, np.round(score)),
        "all kinds": RandomForestClassifier(**classes).fit(X, y),
        "random cuts": ExtraTreesClassifier(**classes).fit(X, y),
        "regression": RandomForestRegressor(**means).fit(X, score),
        "surrogates": RandomForestClassifier(**classes, missing="surrogate", no_surrogate="stop").fit(X, y),
        "C4.5": RandomForestClassifier(**classes, recipe="c45").fit(X, y),
        "fractional regression": RandomForestRegressor(**means, missing="fractional").fit(X, score),
        "intervals": RandomForestClassifier(**{**classes, "max_depth": 3}, recipe=exports.INTERVALS).fit(X, y),
        "refuses missing": RandomForestClassifier(**classes, missing="error").fit(whole, y),
        "refuses both": RandomForestRegressor(**means, missing="error", unseen="error").fit(whole, score),
        "losses": RandomForestClassifier(**classes, loss_matrix=loss).fit(X, y),
        "divided losses": RandomForestClassifier(**classes, loss_matrix=loss, missing="fractional").fit(X, y),
        "two targets": RandomForestClassifier(**classes).fit(X, np.column_stack([y, score > 3])),
        "two targets by surrogates": RandomForestClassifier(**classes, missing="surrogate").fit(
            X, np.column_stack([y, score > 3])
        ),
        "two numbers": RandomForestRegressor(**means).fit(X, np.column_stack([score, -score * 0.5])),
        "leaves": RandomForestClassifier(n_estimators=3, min_samples_leaf=400, random_state=0).fit(known, y),
        "one tree": RandomForestRegressor(n_estimators=1, max_depth=3, random_state=0).fit(known, score),
    }


@cache
def rows_of(name: str, n_rows: int = 400) -> Any:
    """Rows on and beside the thresholds of the first trees, with missing values and unseen categories where the fit has them."""
    forest = forests()[name]
    parts = [exports.inputs(tree, n_rows, seed=i) for i, tree in enumerate(forest.estimators_[:3])]
    return pd.concat(parts, ignore_index=True) if isinstance(parts[0], pd.DataFrame) else np.concatenate(parts)


@st.composite
def random_forests(draw: st.DrawFn, most: int = 4) -> Any:
    """A forest of random trees: some of their tests, policies and shares do not occur in grown forests."""
    task = draw(st.sampled_from(["classification", "regression"]))
    trees = [flat(draw(random_nodes(task)), task) for _ in range(draw(st.integers(1, most)))]
    forest: Any = RandomForestClassifier() if task == "classification" else RandomForestRegressor()
    if task == "classification":
        forest._keep_classes(exports.CLASSES)
    ensemble = Ensemble(trees, task=task, n_features=len(SCHEMA.features), impurity="gini")
    forest._set_fitted(ensemble, Bags(0, 1, None, True), forest._recipe(), SCHEMA)
    forest.target_names_ = ["y"]
    return forest


def random_rows(forest: Any, n_rows: int, seed: int = 0) -> Any:
    """Rows that try the first two trees."""
    return pd.concat([exports.inputs(tree, n_rows, seed=seed) for tree in forest.estimators_[:2]], ignore_index=True)


def of_first_target(forest: Any, X: Any) -> tuple[list[Any], np.ndarray]:
    """What a forest predicts about the first target: labels and probabilities, or numbers and none."""
    predicted = forest.predict(X)
    labels = (predicted if predicted.ndim == 1 else predicted[:, 0]).tolist()
    if not hasattr(forest, "classes_"):
        return labels, np.zeros((len(X), 0))
    shares = forest.predict_proba(X)
    return labels, shares[0] if isinstance(shares, list) else shares


def followed(forest: Any, X: Any, medium: Any, **substitutes: Any) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """The same of the trees that a medium can follow, and whether rows get a result."""
    total: Any = 0.0
    answered = np.ones(len(X), bool)
    for tree in forest.estimators_:
        nodes, refused = exports.ends(tree, X, medium, **substitutes)
        total, answered = total + tree.tree_.predict_nodes()[nodes], answered & ~refused
    means = total / forest.ensemble_.n_trees
    if not hasattr(forest, "classes_"):
        return means[:, 0].tolist(), np.zeros((len(X), 0)), answered
    return forest.classes_[best_classes(means, forest.ensemble_.loss)].tolist(), means, answered
