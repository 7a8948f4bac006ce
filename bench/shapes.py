"""Tables of unusual shapes: wide and short, long and narrow, many classes, constant columns, many missing values.

None should be less than `LEAST` times as fast as scikit-learn's tree on the same work.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fasttree import CARTClassifier, CARTRegressor

from . import tables
from .cases import OURS, Answers, Case, Contest, Figures
from .checks import SKLEARN, same_trees

LEAST, AIM = 1.5, 4
MISSING = 0.3

Table = tuple[NDArray[Any], NDArray[Any]]


def wide(most_rows: int) -> Table:
    """200 x 20,000, where five columns say the class."""
    X = np.random.default_rng(0).normal(size=(min(200, most_rows), 20_000)).astype(np.float32)
    return X, (X[:, :5].sum(axis=1) > 0).astype(np.int64)


def wide_values(most_rows: int) -> Table:
    X, _ = wide(most_rows)
    return X, X[:, :5].sum(axis=1, dtype=np.float64)


def narrow(most_rows: int) -> Table:
    """1,000,000 x 1, with classes that follow a wave and noise.

    No values are so close (1e-7) that scikit-learn takes them for equal.
    """
    X = tables.signal(min(1_000_000, most_rows), 11)[0][:, :1].copy()
    return X, (np.sin(5 * X[:, 0]) + np.random.default_rng(0).normal(size=len(X)) > 0).astype(np.int64)


def many_classes(most_rows: int) -> Table:
    X, _, values = tables.signal(min(50_000, most_rows), 20)
    return X, np.searchsorted(np.quantile(values, np.arange(1, 100) / 100), values)


def constant(most_rows: int) -> Table:
    """1,000 columns, of which 990 are constant."""
    X, y, _ = tables.signal(min(20_000, most_rows), 11)
    padded = np.zeros((len(X), 1_000), np.float32)
    padded[:, ::100] = X[:, :10]
    return padded, y


def with_missing(most_rows: int) -> Table:
    X, y, _ = tables.signal(min(50_000, most_rows), 20)
    return np.where(np.random.default_rng(1).random(X.shape) < MISSING, np.float32(np.nan), X), y


def against_sklearn(make: Callable[[int], Table], regression: bool = False, **limits: Any) -> Callable[[int], Contest]:
    ours, peer = (CARTRegressor, DecisionTreeRegressor) if regression else (CARTClassifier, DecisionTreeClassifier)

    def contest(most_rows: int) -> Contest:
        X, y = make(most_rows)
        return Contest(
            calls={
                OURS: lambda: ours(**limits).fit(X, y),
                SKLEARN: lambda: peer(**limits, random_state=0).fit(X, y),
            },
            check=same_trees(X, y, whole=not limits),
            table=X.shape,
        )

    return contest


def of_policy(policy: str) -> Callable[[int], Contest]:
    """Return a case of missing values that scikit-learn treats by direction: trees differ, and learn about as much."""

    def contest(most_rows: int) -> Contest:
        X, y = with_missing(most_rows)

        def check(answers: Answers) -> Figures:
            answers[OURS].tree_.check()
            score, peer_score = (float(answers[name].score(X, y)) for name in (OURS, SKLEARN))
            base = float(np.bincount(y).max()) / len(y)  # of the larger class
            figures = f"accuracy on the training table {score:.3f}, scikit-learn {peer_score:.3f}, the larger class {base:.3f}"
            assert score - base >= 0.75 * (peer_score - base), figures
            return {"nodes": answers[OURS].tree_.node_count, "score": score, "peer_score": peer_score}

        return Contest(
            calls={
                OURS: lambda: CARTClassifier(missing=policy, max_depth=8).fit(X, y),
                SKLEARN: lambda: DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, y),
            },
            check=check,
            table=X.shape,
        )

    return contest


POLICIES = {
    "direction": "by direction",
    "majority": "to the majority",
    "branch": "in a branch",
    "fractional": "divided",
    "surrogate": "by surrogates",
}
CASES = [
    Case("wide", "wide and short, classes", against_sklearn(wide), LEAST, AIM),
    Case("wide-regression", "wide and short, regression", against_sklearn(wide_values, regression=True), LEAST, AIM),
    Case("narrow", "one column, depth 8", against_sklearn(narrow, max_depth=8), LEAST, AIM),
    Case("narrow-leaves", "one column, leaves of 200", against_sklearn(narrow, min_samples_leaf=200), LEAST, AIM),
    Case("classes-100", "100 classes, depth 10", against_sklearn(many_classes, max_depth=10), LEAST, AIM),
    Case("constant", "1,000 columns, of which 990 are constant", against_sklearn(constant), LEAST, AIM),
    *(
        Case(f"missing-{name}", f"30 % missing, {words}, depth 8", of_policy(name), LEAST, AIM)
        for name, words in POLICIES.items()
    ),
]
