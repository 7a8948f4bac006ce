"""Forests beside those of scikit-learn: growth of trees on one thread, and prediction.

Both grow the same number of trees on bags of their own random draws, so the forests are not equal.  They must be as large, and
predict rows that they have not seen equally well.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble

from fasttree import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor

from . import tables
from .cases import OURS, Answers, Case, Contest, Figures
from .checks import SKLEARN
from .datasets import as_codes, matrix, read_example, read_shared

Make = Callable[[int], Contest]
Table = tuple[NDArray[Any], NDArray[Any]]

NODES_APART = 0.08  # tolerated relative difference of the mean node count, which varies with the draws
SCORES_APART = 0.04  # and at least of the scores on rows out of the sample, for a few trees
UNSEEN = 0.2  # share of the rows that are kept to judge the forests
MANY_ROWS = 400_000  # with more, a forest has only a few trees: scikit-learn takes 8 s for each


def apart(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to learn from and those that judge the forests."""
    rows = np.random.default_rng(0).permutation(n)
    cut = int(UNSEEN * n)
    return np.sort(rows[cut:]), np.sort(rows[:cut])


def scores_apart(n_unseen: int) -> float:
    """Return the tolerated difference of two scores; those of few rows spread by more."""
    return max(SCORES_APART, 2 / n_unseen**0.5)


def on_unseen(learn: Table, unseen: Table, n_trees: int, max_features: float | str, regression: bool, extra: bool) -> Contest:
    X, y = learn
    name = ("ExtraTrees" if extra else "RandomForest") + ("Regressor" if regression else "Classifier")
    ours = {
        "ExtraTreesClassifier": ExtraTreesClassifier,
        "ExtraTreesRegressor": ExtraTreesRegressor,
        "RandomForestClassifier": RandomForestClassifier,
        "RandomForestRegressor": RandomForestRegressor,
    }[name]
    peer = getattr(ensemble, name)
    given: dict[str, Any] = {"n_estimators": n_trees, "max_features": max_features, "random_state": 0, "n_jobs": 1}

    def check(answers: Answers) -> Figures:
        score, other = (float(answers[who].score(*unseen)) for who in (OURS, SKLEARN))
        assert abs(score - other) <= scores_apart(len(unseen[1])), f"score on unseen rows: {score}, scikit-learn {other}"
        nodes = answers[OURS].ensemble_.node_count / n_trees
        its_nodes = np.mean([tree.tree_.node_count for tree in answers[SKLEARN].estimators_])
        assert abs(nodes - its_nodes) <= NODES_APART * its_nodes, f"nodes a tree: {nodes}, scikit-learn {its_nodes}"
        return {"score": score, "its score": other, "nodes": nodes, "its nodes": float(its_nodes), "trees": n_trees}

    calls = {OURS: lambda: ours(**given).fit(X, y), SKLEARN: lambda: peer(**given).fit(X, y)}
    return Contest(calls=calls, check=check, table=X.shape)


def case(
    id: str,
    what: str,
    read: Callable[[int], Table],
    at_least: float,
    aim: float,
    *,
    regression: bool = False,
    extra: bool = False,
    some: bool = True,
) -> Case:
    """Return a case; with `some`, each node draws some features, by the rules of Breiman (2001), else all compete."""

    def make(most_rows: int) -> Contest:
        X, y = read(most_rows)
        learn, unseen = apart(len(X))
        few = len(X) > MANY_ROWS
        max_features: float | str = 1.0 if not some else 1 / 3 if regression else "sqrt"
        return on_unseen((X[learn], y[learn]), (X[unseen], y[unseen]), 4 if few else 20, max_features, regression, extra)

    words = f"{what}, {'extra-trees' if extra else 'random forest'}{'' if some else ', all features'}"
    return Case(("extra-" if extra else "") + id + ("" if some else "-all"), words, make, at_least, aim)


@lru_cache(maxsize=1)
def signal(n: int, most_rows: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    return tables.signal(min(n, most_rows))


def of_signal(n: int, *, regression: bool = False) -> Callable[[int], Table]:
    def read(most_rows: int) -> Table:
        X, y, values = signal(n, most_rows)
        return X, values if regression else y

    return read


def of_noise(most_rows: int) -> Table:
    return tables.noise(min(100_000, most_rows))


def of_adult(most_rows: int) -> Table:
    frame, target = read_example("adult", most_rows)
    return matrix(frame), as_codes(target)


def of_shared(name: str, rows: int | None = None) -> Callable[[int], Table]:
    def read(most_rows: int) -> Table:
        frame, target = read_shared(name, min(rows or most_rows, most_rows))
        return matrix(frame), as_codes(target)

    return read


CASES = [
    case("signal", "signal, 100,000 rows", of_signal(100_000), 8, 15),
    case("noise", "noise, 100,000 rows", of_noise, 8, 15),
    case("covtype", "covtype, 74,000 rows", of_shared("covtype", 74_000), 3, 6.5),
    case("adult", "adult, codes", of_adult, 3, 5.4),
    case("letter", "letter", of_shared("letter"), 3, 4.8),
    case("california", "california, regression", of_shared("california-housing"), 3, 4.7, regression=True),
    case("regression", "signal, regression, 100,000 rows", of_signal(100_000, regression=True), 3, 8, regression=True),
    case("california", "california, regression", of_shared("california-housing"), 3, 6, regression=True, some=False),
    case("million", "signal, 1,000,000 rows", of_signal(1_000_000), 10, 20),
    case("signal", "signal, 100,000 rows", of_signal(100_000), 2.5, 3, extra=True),
    case("noise", "noise, 100,000 rows", of_noise, 2.5, 3, extra=True),
    case("covtype", "covtype, 74,000 rows", of_shared("covtype", 74_000), 2.5, 3, extra=True),
    case("adult", "adult, codes", of_adult, 2.5, 3, extra=True),
    case("letter", "letter", of_shared("letter"), 2.5, 3, extra=True),
    case("california", "california, regression", of_shared("california-housing"), 2.5, 3, regression=True, extra=True),
    case(
        "regression", "signal, regression, 100,000 rows", of_signal(100_000, regression=True), 2.5, 3, regression=True, extra=True
    ),
]


def two_trees() -> RandomForestClassifier:
    """Return a forest whose growth takes as much memory as that of a large one, on one thread."""
    return RandomForestClassifier(n_estimators=2, random_state=0, n_jobs=1)


def predicting(most_rows: int) -> Contest:
    """100 trees of 20,000 rows predict all."""
    X, y, _ = signal(100_000, most_rows)
    given: dict[str, Any] = {"n_estimators": 100, "min_samples_leaf": 5, "random_state": 0, "n_jobs": 1}
    few = slice(20_000)
    ours = RandomForestClassifier(**given).fit(X[few], y[few])
    peer = ensemble.RandomForestClassifier(**given).fit(X[few], y[few])
    calls = {OURS: lambda: ours.predict_proba(X), SKLEARN: lambda: peer.predict_proba(X)}

    def check(answers: Answers) -> Figures:
        difference = float(np.abs(answers[OURS] - answers[SKLEARN]).mean())
        assert difference < SCORES_APART, f"mean difference of the probabilities: {difference}"
        return {"difference": difference}

    return Contest(calls=calls, check=check, table=X.shape)


CASES.append(Case("predict", "100 trees predict signal, 100,000 rows", predicting, 2, 3.5))
