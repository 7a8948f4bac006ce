"""Models that are fitted and predict on two threads, and side by side, for `.ci/thread_sanitizer`, without the imports of tests.

python .ci/in_threads.py
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.base import clone

import fasttree

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 6))
X[:, 3:] = np.round(2 * X[:, 3:])
y = (X[:, 0] + X[:, 4] > 0).astype(int)
z = X[:, 0] * 3 + X[:, 4]

# beyond 32,768 rows, threads take large nodes from a queue and count their histograms together, or share the features of lists
many = rng.normal(size=(40_000, 6)).astype(np.float32)
lacking = np.where(rng.random(many.shape) < 0.1, np.nan, many)
classes = (many[:, 0] * many[:, 1] + many[:, 2] + rng.normal(size=len(many)) > 0).astype(int)
values = many[:, 0] * many[:, 1] + many[:, 2]
LARGE = [
    (fasttree.CARTClassifier(max_depth=7), many, classes),
    (fasttree.CARTClassifier(max_leaf_nodes=60), many, classes),
    (fasttree.CARTClassifier(max_depth=7, max_bins=255), many, classes),
    (fasttree.CARTClassifier(criterion="entropy", max_depth=7), many, classes + 2 * (many[:, 3] > 0)),
    (fasttree.CARTRegressor(max_depth=7), many, values),
    (fasttree.C45Classifier(), many, classes),
    (fasttree.TreeClassifier(recipe="c45", max_depth=7), lacking, classes),
    (fasttree.TreeRegressor(recipe={"missing": "fractional"}, max_depth=6), lacking, values),
    (fasttree.TreeClassifier(recipe={"missing": "surrogate"}, max_depth=6), lacking, classes),
    (fasttree.TreeRegressor(recipe={"impurity": "absolute_error"}, max_depth=6), many, values),
    (fasttree.TreeRegressor(recipe={"impurity": "poisson"}, max_depth=7), many, np.abs(values)),
    (fasttree.CARTClassifier(max_depth=7, monotonic_cst=[1, 0, 0, 0, 0, 0]), many, classes),
    (fasttree.CARTClassifier(max_features=3, random_state=0), many, classes),
]

MODELS = [
    (fasttree.CARTClassifier(max_depth=8, n_jobs=2), y),
    (fasttree.CARTRegressor(max_depth=8, n_jobs=2), z),
    (fasttree.RandomForestClassifier(n_estimators=6, n_jobs=2, random_state=0), y),
    (fasttree.RandomForestRegressor(n_estimators=6, n_jobs=2, random_state=0), z),
    (fasttree.ExtraTreesClassifier(n_estimators=6, n_jobs=2, random_state=0), y),
    (fasttree.ExtraTreesRegressor(n_estimators=6, n_jobs=2, random_state=0), z),
]

for model, table, target in LARGE:
    one = model.set_params(n_jobs=1).fit(table, target).tree_
    if model.set_params(n_jobs=3).fit(table, target).tree_ != one:
        raise SystemExit(f"{model}: another tree on three threads")
    print(type(model).__name__, "n_jobs=3: the tree of one thread from a large table")


def in_three(work: Callable[[int], Any]) -> list[Any]:
    """Return what a function returns in three threads that begin together."""
    start = threading.Barrier(3)
    with ThreadPoolExecutor(3) as threads:
        return list(threads.map(lambda number: (start.wait(), work(number))[1], range(3)))


documents = []
for model, target in MODELS:
    found = model.fit(X, target).predict(X)
    documents.append(model.to_json())
    if not all(np.array_equal(found, each) for each in in_three(lambda _, model=model: model.predict(X))):
        raise SystemExit(f"{type(model).__name__} predicts differently in threads")
    predictor = model.to_predictor()
    if not all(np.array_equal(found, each) for each in in_three(lambda _, predictor=predictor: predictor.predict(X))):
        raise SystemExit(f"the predictor of {type(model).__name__} predicts differently in threads")
    print(type(model).__name__, "n_jobs=2: fitted, and shared by three threads, as its predictor")


def fit_all(number: int) -> dict[int, str]:
    """Fit all models, from another one on in each thread."""
    order = [(number * 2 + i) % len(MODELS) for i in range(len(MODELS))]
    return {i: clone(MODELS[i][0]).fit(X, MODELS[i][1]).to_json() for i in order}


for texts in in_three(fit_all):
    if [texts[i] for i in range(len(MODELS))] != documents:
        raise SystemExit("models that are fitted at the same time are others")
print("all of them fitted by three threads at the same time: the same")
