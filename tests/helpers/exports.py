"""Models of every kind to be exported, and rows that try what an export must get right.

The rows lie on thresholds, one step of a double or of a float32 beside them, far away, and are missing or of categories that no
fit saw.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import settings
from trees import SCHEMA

from fasttree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    ID3Classifier,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
    Recipe,
    TreeClassifier,
)
from fasttree._data.schema import Kind, Schema
from fasttree._export.document.write import to_document
from fasttree._export.substitutes import adapt
from fasttree._model.tree import Tree
from fasttree.estimators.common.documents import from_document

# Half of the values lie at a cut or next to it: each place is tried dozens of times.  The night tries more.
N_ROWS = 100_000 if settings.default.max_examples >= 200 else 20_000
CLASSES = np.array(["yes", "no", "it's"])
CITIES = ("Aachen", 'the "Hague"', "Köln", "", "it's", "a, b\\c")
INTERVALS = Recipe(continuous="intervals", ordinal="intervals", missing="fractional")
MISSING_SHARE, UNSEEN_SHARE = 0.08, 0.04


@cache
def table(n_rows: int = 900, *, with_missing: bool = True) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """A table with columns of all kinds, three classes, and a number to predict."""
    random = np.random.default_rng(7)
    X = pd.DataFrame(
        {
            "age in years": random.normal(40, 12, n_rows),
            "income": random.lognormal(3, 1, n_rows).astype(np.float32).astype(float),
            "grade": random.choice(["low", "mid", "high", "top"], n_rows),
            "city": random.choice(CITIES, n_rows),
            "rooms": random.integers(1, 6, n_rows),
            "member": random.random(n_rows) < 0.5,
        }
    ).astype({"grade": object, "city": object, "member": object})
    score = (
        0.05 * X["age in years"] + (X["city"].isin(CITIES[:3])) * 1.5 + X["grade"].isin(["high", "top"]) + 0.3 * X["rooms"] +
        X["member"].astype(float) * (X["income"] > 20) + random.normal(0, 0.7, n_rows)
    ).to_numpy(float)  # fmt: skip
    y = CLASSES[np.digitize(score, np.quantile(score, [0.4, 0.7]))]
    if with_missing:
        X = X.mask(random.random(X.shape) < 0.08)
    return X, y, score


KINDS = {"categorical_features": ["city", "rooms", "member"], "ordinal_features": {"grade": ["low", "mid", "high", "top"]}}


@cache
def models() -> dict[str, Any]:
    """Fitted models by name: every kind of test, of target and of policy for missing values."""
    X, y, score = table()
    whole = table(with_missing=False)[0]
    numbers = X[["age in years", "income"]].to_numpy(float)
    known = np.nan_to_num(numbers, nan=30.0)
    size = {"max_depth": 7, "min_samples_leaf": 3}
    cart = {**KINDS, **size}
    two = np.where(y == "yes", "yes", "no")
    return {
        "two classes": CARTClassifier(**size).fit(known, two),
        "numbers": CARTClassifier(**size).fit(numbers, y),
        "integer labels": CARTClassifier(**size).fit(known, np.digitize(score, [2.0, 4.0]) * 10 - 5),
        "boolean labels": CARTClassifier(**size).fit(known, score > 3),
        "all kinds": CARTClassifier(**cart).fit(X, y),
        "own branch": CARTClassifier(**cart, missing="branch").fit(X, y),
        "majority": CARTClassifier(**cart, missing="majority").fit(X, y),
        "surrogates": CARTClassifier(**cart, missing="surrogate").fit(X, y),
        "surrogates that stop": CARTClassifier(**cart, missing="surrogate", no_surrogate="stop").fit(X, y),
        "rpart without surrogates": CARTClassifier(
            **cart, missing="surrogate", max_surrogates=0, no_surrogate="more_samples", midpoint="high"
        ).fit(X, y),
        "surrogates in regression": CARTRegressor(**cart, missing="surrogate").fit(X, score),
        "fractional": CARTClassifier(**cart, missing="fractional").fit(X, y),
        "fractional regression": CARTRegressor(**cart, missing="fractional").fit(X, score),
        "refuses missing": CARTClassifier(**cart, missing="error").fit(whole, y),
        "refuses unseen": CARTClassifier(**cart, unseen="error").fit(X, y),
        "C4.5": C45Classifier(**KINDS).fit(X, y),
        "soft thresholds": C45Classifier(**KINDS, soft_thresholds=True, subset=True).fit(X, y),
        "ID3": ID3Classifier(max_depth=3).fit(whole[["grade", "city", "rooms", "member"]], y),
        "intervals": TreeClassifier(recipe=INTERVALS, **cart).fit(X, y),
        "losses": CARTClassifier(**cart, loss_matrix=[[0, 1, 5], [1, 0, 1], [8, 2, 0]]).fit(X, y),
        "regression": CARTRegressor(**cart).fit(X, score),
        "plain regression": CARTRegressor(**size).fit(known, score),
        "two targets": CARTClassifier(**cart).fit(X, np.column_stack([y, two])),
        "two numbers": CARTRegressor(**cart).fit(X, np.column_stack([score, -score * 0.5])),
        "a leaf": CARTClassifier(min_samples_leaf=900).fit(known, y),
        "a number": CARTRegressor(min_samples_leaf=900).fit(known, score),
        "optimal": OptimalTreeClassifier(**KINDS, max_depth=2).fit(X, y),
        "optimal regression": OptimalTreeRegressor(**KINDS, max_depth=2).fit(X, score),
        "looks ahead": CARTClassifier(**cart, lookahead=2).fit(X, two),
    }


def model_of(tree: Tree, schema: Schema = SCHEMA) -> Any:
    """An estimator around a tree, say one of `trees.random_trees`."""
    classes = CLASSES[: tree.n_values] if tree.task == "classification" else None
    return from_document(to_document(tree, schema, classes, {}, "cart", library_version="0"))


def places(tree: Tree, feature: int) -> np.ndarray:
    """Where a feature is cut, by the tests of nodes or of surrogates; of an ordinal feature by code."""
    found = [tree.threshold[tree.feature == feature]]
    if tree.lower is not None and tree.upper is not None:
        found += [tree.lower[tree.feature == feature], tree.upper[tree.feature == feature]]
    if tree.cut_start is not None and tree.cut is not None:
        found += [tree.cuts_of(node) for node in np.flatnonzero(tree.feature == feature) if tree.kind[node] == 5]
    if tree.surrogates is not None:
        found.append(tree.surrogates.threshold[tree.surrogates.feature == feature])
    every = np.unique(np.concatenate(found))
    return every[np.isfinite(every)]


def inputs(
    model: Any, n_rows: int = N_ROWS, *, seed: int = 0, single: bool = False, missing: bool = True, unseen: bool = True
) -> Any:
    """Rows that try a model, as the table that it takes: a data frame, or an array if it was grown on one.

    Parameters
    ----------
    single : bool
        Whether all continuous values are those of float32 (held as float64).
    missing, unseen : bool
        Whether there are missing values, and categories that no fit saw; never where the model refuses them.
    """
    random = np.random.default_rng(seed)
    missing &= model.recipe_.missing != "error"
    unseen &= model.unseen != "error"
    columns: dict[str, Any] = {}
    for j, feature in enumerate(model.schema_.features):
        if feature.kind == Kind.CONTINUOUS:
            values: Any = _numbers(random, places(model.tree_, j), n_rows, single=single)
            absent: Any = np.nan
        else:
            values, absent = _categories(random, feature.categories, n_rows, unseen=unseen), None
        if missing:
            values[random.random(n_rows) < MISSING_SHARE] = absent
        columns[feature.name] = values
    if model.schema_.has_names:
        return pd.DataFrame(columns)
    return np.column_stack(list(columns.values()))


def _numbers(random: np.random.Generator, cuts: np.ndarray, n_rows: int, *, single: bool) -> np.ndarray:
    near = cuts.astype(np.float32)
    exact = [cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)]
    rounded = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    pool = np.concatenate([*exact, *rounded, [0.0, -0.0, 1e-30, 1e30, -1e30]]).astype(float)
    middle, spread = (np.median(cuts), max(np.ptp(cuts), 1.0)) if cuts.size else (0.0, 1.0)
    values = np.where(random.random(n_rows) < 0.5, random.choice(pool, n_rows), random.normal(middle, spread, n_rows))
    return values.astype(np.float32).astype(float) if single else values


def _categories(random: np.random.Generator, categories: Any, n_rows: int, *, unseen: bool) -> np.ndarray:
    pool = list(categories)
    values = np.empty(len(pool), object)
    values[:] = pool
    drawn = values[random.integers(0, len(pool), n_rows)]
    if unseen and not isinstance(pool[0], bool):
        strange = f"{max(pool)} and more" if isinstance(pool[0], str) else max(pool) + 1
        drawn[random.random(n_rows) < UNSEEN_SHARE] = strange
    return drawn


def cells(X: Any) -> list[list[Any]]:
    """Rows as lists of Python's values; missing ones are None or NaN as they are in the table."""
    columns = [X[name].tolist() for name in X] if isinstance(X, pd.DataFrame) else [column.tolist() for column in X.T]
    return [list(row) for row in zip(*columns, strict=True)]


def ends(model: Any, X: Any, medium: Any, **substitutes: Any) -> tuple[np.ndarray, np.ndarray]:
    """The node where each row ends in the tree that a medium can follow, and whether it must get no answer."""
    adapted = adapt(model._subject(), medium, **substitutes)
    nodes = np.asarray(model._with_tree(adapted.subject.tree).apply(X))
    return nodes, adapted.refused[nodes] & (model.recipe_.missing != "error")


def told(model: Any, nodes: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """What nodes answer about the first target: labels and probabilities, or numbers and none."""
    tree = model.tree_
    predictions = tree.by_output(tree.predict_nodes())[0]
    if tree.task == "regression":
        return predictions[nodes, 0].tolist(), np.zeros((len(nodes), 0))
    labels = model.classes_ if tree.outputs is None else model.classes_[0]
    answers = tree.predicted_class if tree.outputs is None else predictions.argmax(axis=1)
    return labels[answers[nodes]].tolist(), predictions[nodes]


def of_first_target(model: Any, X: Any) -> tuple[list[Any], np.ndarray]:
    """What a model predicts about the first target: labels and probabilities, or numbers and none."""
    several = model.tree_.outputs is not None
    predicted = model.predict(X)
    labels = (predicted[:, 0] if several else predicted).tolist()
    if model.tree_.task == "regression":
        return labels, np.zeros((len(labels), 0))
    shares = model.predict_proba(X)
    return labels, shares[0] if several else shares
