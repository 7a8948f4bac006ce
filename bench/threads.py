"""Two threads beside one: every recipe, real tables, and predictions.  Wall time, so only a machine without other work can say.

The recipes and their table are those of `recipes`.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from fasttree import C45Classifier, CARTClassifier, CARTRegressor

from . import recipes, tables
from .cases import ONE, OURS, Answers, Case, Contest, Figures
from .checks import same_tree
from .datasets import matrix, read_shared

LEAST, AIM = 1.7, 1.9

Make = Callable[[int], Contest]


def beside_one(fit: Callable[[int], Any], table: tuple[int, int]) -> Contest:
    """Return a contest of two threads with one; `fit` takes the number of threads."""

    def check(answers: Answers) -> Figures:
        same_tree(answers[OURS], answers[ONE])
        return {"nodes": answers[OURS].tree_.node_count}

    return Contest(calls={OURS: lambda: fit(2), ONE: lambda: fit(1)}, check=check, table=table, wall=True)


def of_recipe(name: str) -> Make:
    _, line = recipes.LINES[name]

    def make(most_rows: int) -> Contest:
        of = recipes.data(min(recipes.ROWS, most_rows))
        return beside_one(lambda n_jobs: recipes.fit(line, of, slice(None), recipes.model(line, n_jobs=n_jobs)), of.X.shape)

    return make


def of_table(name: str, kind: Any) -> Make:
    """Return a case of a whole tree of a real table, with categories where it has them."""

    def make(most_rows: int) -> Contest:
        frame, target = read_shared(name, most_rows)
        words = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
        X = frame.astype(dict.fromkeys(words, "category")) if words else matrix(frame)
        y = target.to_numpy() if kind is CARTRegressor else pd.factorize(target)[0]
        return beside_one(lambda n_jobs: kind(n_jobs=n_jobs).fit(X, y), X.shape)

    return make


@lru_cache(maxsize=1)
def grown(n_samples: int, max_depth: int | None, form: str) -> tuple[Any, Any]:
    X, y, _ = tables.signal(n_samples)
    if form == "matrix":
        return CARTClassifier(max_depth=max_depth).fit(X, y), X
    columns = {f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])}
    frame = pl.DataFrame(columns) if form == "polars" else pd.DataFrame(columns)
    return CARTClassifier(max_depth=max_depth).fit(frame, y), frame


@lru_cache(maxsize=1)
def grown_on_categories(n_samples: int) -> tuple[Any, Any]:
    frame, target = read_shared("adult", n_samples)
    words = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    X = frame.astype(dict.fromkeys(words, "category"))
    model = CARTClassifier().fit(X, pd.factorize(target)[0])
    return model, pd.concat([X] * max(n_samples // len(X), 1), ignore_index=True)


def of_predictions(max_depth: int | None = None, *, form: str = "matrix", method: str = "predict", serves: bool = False) -> Make:
    """Return a case of predictions by a model, or by its predictor."""

    def make(most_rows: int) -> Contest:
        n = min(100_000, most_rows)
        model, X = grown_on_categories(n) if form == "categories" else grown(n, max_depth, form)
        predictor = model.to_predictor()

        def predict(n_jobs: int) -> Any:
            return predictor.predict(X, n_jobs=n_jobs) if serves else getattr(model.set_params(n_jobs=n_jobs), method)(X)

        def check(answers: Answers) -> Figures:
            assert np.array_equal(answers[OURS], answers[ONE]), "predictions differ"
            return {"nodes": model.tree_.node_count}

        return Contest(calls={OURS: lambda: predict(2), ONE: lambda: predict(1)}, check=check, table=X.shape, wall=True)

    return make


TABLES = {
    "adult": (CARTClassifier, C45Classifier),
    "covtype": (CARTClassifier, C45Classifier),
    "shuttle": (CARTClassifier, C45Classifier),
    "california-housing": (CARTRegressor,),
}
CASES = [
    *(Case(name, what, of_recipe(name), LEAST, AIM) for name, (what, _) in recipes.LINES.items()),
    *(
        Case(f"{name}-{kind.__name__}", f"{name}, {kind.__name__}", of_table(name, kind), LEAST, AIM)
        for name, kinds in TABLES.items()
        for kind in kinds
    ),
    Case("predict", "predictions of a whole tree", of_predictions(), LEAST, AIM),
    Case("predictor", "the same by its predictor", of_predictions(serves=True), LEAST, AIM),
    Case("predict-proba", "probabilities of a whole tree", of_predictions(method="predict_proba"), LEAST, AIM),
    Case("predict-depth8", "predictions of a tree of depth 8", of_predictions(8), LEAST, AIM),
    Case("predict-pandas", "predictions of a frame of pandas", of_predictions(form="pandas"), LEAST, AIM),
    Case("predict-polars", "predictions of a frame of polars", of_predictions(form="polars"), LEAST, AIM),
    Case("predictor-polars", "the same by its predictor", of_predictions(form="polars", serves=True), LEAST, AIM),
    Case("predict-categories", "predictions of adult, 98,000 rows", of_predictions(form="categories"), LEAST, AIM),
]
