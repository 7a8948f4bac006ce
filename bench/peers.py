"""One tree of 255 leaves and 255 bins by boosting libraries, as one round of boosting.

All minimise the squared error of the classes 0 and 1 with learning rate 1: a leaf then predicts the share of class 1, and gains
are those of the Gini impurity.  So they search the same tree as we do, on coarser values, and a constant hessian is the fastest
case of their kernels.  They use one thread (see `__init__`) where a case does not say two, and the time includes binning.
"""

import importlib.util
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

LEAVES = 255
BINS = 255

Predict = Callable[[NDArray[Any]], NDArray[Any]]
Fit = Callable[[NDArray[Any], NDArray[Any]], Predict]


def fit_hist_gradient_boosting(X: NDArray[Any], y: NDArray[Any], max_depth: int | None = None, n_threads: int = 1) -> Predict:
    """With `max_depth`, that alone limits the tree."""
    model = HistGradientBoostingRegressor(
        max_iter=1,
        learning_rate=1.0,
        max_leaf_nodes=LEAVES if max_depth is None else None,
        max_depth=max_depth,
        max_bins=BINS,
        min_samples_leaf=1,
        early_stopping=False,
    )
    with threadpool_limits(n_threads, user_api="openmp"):
        model.fit(X, y)
    return lambda X: model.predict(X)


def fit_lightgbm(X: NDArray[Any], y: NDArray[Any]) -> Predict:
    import lightgbm

    parameters = {
        "objective": "regression",
        "learning_rate": 1.0,
        "num_leaves": LEAVES,
        "max_bin": BINS,
        "min_data_in_leaf": 1,
        "num_threads": 1,
        "force_col_wise": True,  # otherwise it tries both layouts first
        "verbosity": -1,
    }
    model = lightgbm.train(parameters, lightgbm.Dataset(X, y, params=parameters), num_boost_round=1)
    return lambda X: model.predict(X, num_threads=1)


def fit_xgboost(X: NDArray[Any], y: NDArray[Any]) -> Predict:
    import xgboost

    parameters = {
        "objective": "reg:squarederror",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "learning_rate": 1.0,
        "max_leaves": LEAVES,
        "max_depth": 0,
        "max_bin": BINS,
        "reg_lambda": 0.0,
        "nthread": 1,
    }
    table = xgboost.QuantileDMatrix(X, y, max_bin=BINS, nthread=1)
    model = xgboost.train(parameters, table, num_boost_round=1)
    return lambda X: model.predict(xgboost.DMatrix(X, nthread=1))


PEERS: dict[str, tuple[str, Fit]] = {
    "LightGBM": ("lightgbm", fit_lightgbm),
    "XGBoost": ("xgboost", fit_xgboost),
    "HistGradientBoosting": ("sklearn", fit_hist_gradient_boosting),
}


def installed() -> dict[str, Fit]:
    return {name: fit for name, (module, fit) in PEERS.items() if importlib.util.find_spec(module) is not None}


def absent() -> tuple[str, ...]:
    return tuple(name for name in PEERS if name not in installed())
