"""Rules with linear models beside Cubist, and additive models beside interpret's, where these are installed.

Tables have 13,760 rows, as many as the training part of California housing.
"""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from fasttree import CubistRegressor, GAMClassifier, GAMRegressor

from . import tables
from .cases import OURS, Answers, Case, Contest, Figures

ROWS = 13_760
CUBIST, EBM = "Cubist", "EBM"
BAGS = 2  # each fits alone, so that more say the same
LIMIT = 1.05  # times the error of the other on unseen samples


def split(most_rows: int) -> tuple[pd.DataFrame, Any, Any, pd.DataFrame, Any, Any]:
    """Return a table of 12 columns, its classes and values, and as much that the fit does not see."""
    n = min(ROWS, most_rows)
    X, y, values = tables.signal(2 * n, 12)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)])
    return frame[:n], y[:n], values[:n], frame[n:].reset_index(drop=True), y[n:], values[n:]


def rmse(model: Any, X: pd.DataFrame, values: Any) -> float:
    return float(np.sqrt(np.mean((model.predict(X) - values) ** 2)))


def rules(members: int) -> Callable[[int], Contest]:
    """Return a case of rule sets with as many members."""

    def make(most_rows: int) -> Contest:
        X, _, values, unseen, _, truth = split(most_rows)
        calls: dict[str, Callable[[], Any]] = {OURS: lambda: CubistRegressor(committees=members).fit(X, values)}
        absent = () if importlib.util.find_spec("cubist.cubist") else (CUBIST,)
        if not absent:
            from cubist.cubist import Cubist

            calls[CUBIST] = lambda: Cubist(n_committees=members).fit(X, values)

        def check(answers: Answers) -> Figures:
            errors = {f"rmse of {name}": rmse(model, unseen, truth) for name, model in answers.items()}
            mean = float(np.sqrt(np.mean((truth - values.mean()) ** 2)))
            assert errors[f"rmse of {OURS}"] < mean, f"{errors} against {mean} of the mean"
            assert errors[f"rmse of {OURS}"] <= LIMIT * errors.get(f"rmse of {CUBIST}", np.inf), f"less accurate: {errors}"
            return {"rules": sum(map(len, answers[OURS].rules_)), **errors}

        return Contest(calls=calls, check=check, table=X.shape, absent=absent)

    return make


def additive(estimator: Any) -> Callable[[int], Contest]:
    """Return a case of an additive model of main effects."""
    classifies = isinstance(estimator, GAMClassifier)

    def make(most_rows: int) -> Contest:
        X, y, values, unseen, classes, truth = split(most_rows)
        target = y if classifies else values
        calls: dict[str, Callable[[], Any]] = {OURS: lambda: estimator.fit(X, target)}
        absent = () if importlib.util.find_spec("interpret") else (EBM,)
        if not absent:
            from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

            kind = ExplainableBoostingClassifier if classifies else ExplainableBoostingRegressor
            calls[EBM] = lambda: kind(interactions=0, n_jobs=1, outer_bags=BAGS, random_state=0).fit(X, target)

        def error(model: Any) -> float:
            return float((model.predict(unseen) != classes).mean()) if classifies else rmse(model, unseen, truth)

        def check(answers: Answers) -> Figures:
            errors = {f"error of {name}": error(model) for name, model in answers.items()}
            assert errors[f"error of {OURS}"] <= LIMIT * errors.get(f"error of {EBM}", np.inf), f"less accurate: {errors}"
            return {"rounds": float(estimator.n_iter_.mean()), **errors}

        return Contest(calls=calls, check=check, table=X.shape, absent=absent)

    return make


CASES = [
    Case("cubist", "Cubist, one rule set", rules(1), 3, 5),
    Case("cubist-10", "Cubist, ten committees", rules(10), 3, 5),
    Case("gam", "additive model, numbers", additive(GAMRegressor(n_bags=BAGS, random_state=0)), 3, 6),
    Case("gam-classes", "additive model, two classes", additive(GAMClassifier(n_bags=BAGS, random_state=0)), 3, 6),
]
