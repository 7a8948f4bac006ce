"""Models that are fitted and predict on two threads, for `.ci/thread_sanitizer`, without the imports of tests.

python .ci/in_threads.py
"""

import threading

import numpy as np

import fasttree

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 6))
X[:, 3:] = np.round(2 * X[:, 3:])
y = (X[:, 0] + X[:, 4] > 0).astype(int)
z = X[:, 0] * 3 + X[:, 4]

# beyond 32,768 rows, threads take large nodes from a queue and count their histograms together
many = rng.normal(size=(40_000, 6)).astype(np.float32)
classes = (many[:, 0] * many[:, 1] + many[:, 2] + rng.normal(size=len(many)) > 0).astype(int)
LARGE = [
    (fasttree.CARTClassifier(max_depth=7), classes),
    (fasttree.CARTClassifier(max_leaf_nodes=60), classes),
    (fasttree.CARTClassifier(max_depth=7, max_bins=255), classes),
    (fasttree.CARTClassifier(criterion="entropy", max_depth=7), classes + 2 * (many[:, 3] > 0)),
    (fasttree.CARTRegressor(max_depth=7), many[:, 0] * many[:, 1] + many[:, 2]),
]

MODELS = [
    (fasttree.CARTClassifier(max_depth=8, n_jobs=2), y),
    (fasttree.CARTRegressor(max_depth=8, n_jobs=2), z),
    (fasttree.RandomForestClassifier(n_estimators=6, n_jobs=2, random_state=0), y),
    (fasttree.RandomForestRegressor(n_estimators=6, n_jobs=2, random_state=0), z),
    (fasttree.ExtraTreesClassifier(n_estimators=6, n_jobs=2, random_state=0), y),
    (fasttree.ExtraTreesRegressor(n_estimators=6, n_jobs=2, random_state=0), z),
]

for model, target in LARGE:
    one = model.set_params(n_jobs=1).fit(many, target).tree_
    if model.set_params(n_jobs=3).fit(many, target).tree_ != one:
        raise SystemExit(f"{model}: another tree on three threads")
    print(type(model).__name__, "n_jobs=3: the tree of one thread from a large table")

for model, target in MODELS:
    found = model.fit(X, target).predict(X)
    predictions: list[np.ndarray] = []

    def predict(model: fasttree.CARTClassifier = model, into: list[np.ndarray] = predictions) -> None:
        """Predict by a model that other threads use."""
        into.append(model.predict(X))

    threads = [threading.Thread(target=predict) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not all(np.array_equal(found, each) for each in predictions):
        raise SystemExit(f"{type(model).__name__} predicts differently in threads")
    print(type(model).__name__, "n_jobs=2: fitted, and shared by three threads")
