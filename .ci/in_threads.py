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

MODELS = [
    (fasttree.CARTClassifier(max_depth=8, n_jobs=2), y),
    (fasttree.CARTRegressor(max_depth=8, n_jobs=2), z),
    (fasttree.RandomForestClassifier(n_estimators=6, n_jobs=2, random_state=0), y),
    (fasttree.RandomForestRegressor(n_estimators=6, n_jobs=2, random_state=0), z),
    (fasttree.ExtraTreesClassifier(n_estimators=6, n_jobs=2, random_state=0), y),
    (fasttree.ExtraTreesRegressor(n_estimators=6, n_jobs=2, random_state=0), z),
]

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
