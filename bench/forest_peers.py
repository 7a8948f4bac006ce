"""Forests beside those of other libraries that are installed: oneDAL, Yggdrasil and LightGBM, on one thread.

oneDAL and LightGBM put values into 256 bins.  LightGBM's forest mode grows leaf by leaf, here to 1,023 leaves (with 131,072 it
takes 15 GB and minutes), and averages Newton steps, so its score is only shown.  All draw bags of their own.
"""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree import RandomForestClassifier, RandomForestRegressor

from .cases import OURS, Answers, Case, Contest, Figures
from .forests import Table, apart, of_adult, of_noise, of_shared, of_signal, scores_apart

N_TREES = 20
BINS = 256

Predict = Callable[[NDArray[Any]], NDArray[Any]]
Fit = Callable[[Table, float, bool], Predict]  # table, share of the features that a node draws, regression


def fit_ours(learn: Table, share: float, regression: bool) -> Predict:
    kind = RandomForestRegressor if regression else RandomForestClassifier
    return kind(n_estimators=N_TREES, max_features=share, random_state=0, n_jobs=1).fit(*learn).predict


def fit_onedal(learn: Table, share: float, regression: bool) -> Predict:
    from sklearnex import ensemble

    kind = ensemble.RandomForestRegressor if regression else ensemble.RandomForestClassifier
    forest = kind(n_estimators=N_TREES, max_features=share, random_state=0, n_jobs=1, max_bins=BINS).fit(*learn)
    assert hasattr(forest, "_onedal_estimator"), "scikit-learn has grown this forest"
    predict: Predict = forest.predict
    return predict


def fit_lightgbm(learn: Table, share: float, regression: bool) -> Predict:
    import lightgbm

    X, y = learn
    n_classes = 1 if regression else int(y.max()) + 1
    parameters = {
        "boosting": "rf",
        "objective": "regression" if regression else "binary" if n_classes == 2 else "multiclass",
        "num_class": n_classes if n_classes > 2 else 1,
        "bagging_freq": 1,
        "bagging_fraction": 0.632,
        "feature_fraction_bynode": share,
        "num_leaves": 1_023,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0.0,
        "max_bin": BINS - 1,
        "num_threads": 1,
        "force_col_wise": True,
        "verbosity": -1,
    }
    model = lightgbm.train(parameters, lightgbm.Dataset(X, y, params=parameters), num_boost_round=N_TREES)

    def predict(X: NDArray[Any]) -> NDArray[Any]:
        found = np.asarray(model.predict(X, num_threads=1))
        if regression:
            return found
        return found.argmax(axis=1) if n_classes > 2 else (found > 0.5).astype(int)

    return predict


def fit_yggdrasil(learn: Table, share: float, regression: bool) -> Predict:
    import ydf

    X, y = learn
    learner = ydf.RandomForestLearner(
        label="y",
        task=ydf.Task.REGRESSION if regression else ydf.Task.CLASSIFICATION,
        num_trees=N_TREES,
        num_candidate_attributes_ratio=share,
        max_depth=-1,
        min_examples=1,
        winner_take_all=False,
        compute_oob_performances=False,
        num_threads=1,
        random_seed=0,
    )
    model = learner.train({"x": X, "y": y}, verbose=0)

    def predict(X: NDArray[Any]) -> NDArray[Any]:
        found = np.asarray(model.predict({"x": X}, use_slow_engine=True))  # the fast one has no room for large trees
        if regression:
            return found
        return found.argmax(axis=1) if found.ndim > 1 else (found > 0.5).astype(int)

    return predict


PEERS: dict[str, tuple[str, Fit]] = {
    "oneDAL": ("sklearnex", fit_onedal),
    "Yggdrasil": ("ydf", fit_yggdrasil),
    "LightGBM": ("lightgbm", fit_lightgbm),
}
ONLY_SHOWN = ("LightGBM",)


def score(predicted: NDArray[Any], y: NDArray[Any], regression: bool) -> float:
    return 1 - float(np.var(y - predicted) / np.var(y)) if regression else float((predicted == y).mean())


def case(id: str, what: str, read: Callable[[int], Table], regression: bool = False) -> Case:
    def make(most_rows: int) -> Contest:
        X, y = read(most_rows)
        y = y if regression else np.unique(y, return_inverse=True)[1]
        learn, unseen = apart(len(X))
        share = 1 / 3 if regression else int(X.shape[1] ** 0.5) / X.shape[1] + 1e-9
        there = {name: fit for name, (module, fit) in PEERS.items() if importlib.util.find_spec(module) is not None}
        table = X[learn], y[learn]

        def check(answers: Answers) -> Figures:
            scores = {who: score(predict(X[unseen]), y[unseen], regression) for who, predict in answers.items()}
            most = scores_apart(len(unseen))
            for who, found in scores.items():
                assert who in ONLY_SHOWN or abs(found - scores[OURS]) <= most, f"scores on unseen rows: {scores}"
            return {f"score of {who}": found for who, found in scores.items()}

        calls = {who: lambda fit=fit: fit(table, share, regression) for who, fit in {OURS: fit_ours, **there}.items()}
        return Contest(calls=calls, check=check, table=X[learn].shape, absent=tuple(set(PEERS) - set(there)))

    return Case(id, f"{what}, random forest", make)


CASES = [
    case("signal", "signal, 100,000 rows", of_signal(100_000)),
    case("noise", "noise, 100,000 rows", of_noise),
    case("covtype", "covtype, 74,000 rows", of_shared("covtype", 74_000)),
    case("adult", "adult, codes", of_adult),
    case("letter", "letter", of_shared("letter")),
    case("california", "california, regression", of_shared("california-housing"), True),
    case("regression", "signal, regression, 100,000 rows", of_signal(100_000, regression=True), True),
]
