"""Cases with a target for the speed relative to the fastest of the others.

The most important cases are first, because an interrupted run keeps its lines.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fasttree import C45Classifier, CARTClassifier, CARTRegressor

from . import peers, tables
from .cases import ONE, OURS, YARDSTICK, Answers, Case, Contest, Figures, Skipped
from .checks import NODES_APART, SKLEARN, compare_trees, same_predictions, same_scores, same_tree, same_trees
from .clock import speed_up_of_hashing
from .datasets import as_codes, c45_results, declare, matrix, one_hot, read_example, read_shared

Make = Callable[[int], Contest]

MILLION = 1_000_000
COVTYPE_LEARN = 74_000
YARDSTICK_SECONDS = 0.357  # time of `one_hot_adult` on the machine of Quinlan's program
AS_GOOD = 0.02  # tolerated relative difference of losses between trees of equally many leaves, for greedy growth and bins
SMALL = 20_000  # rows below which leaves have few samples, so that bins lose more


@lru_cache(maxsize=1)
def signal(n_samples: int, dtype: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    return tables.signal(n_samples, dtype=dtype)


# --- growing


def against_sklearn(X: Any, y: Any, *, max_depth: int | None = None, regression: bool = False) -> Contest:
    ours, peer = (CARTRegressor, DecisionTreeRegressor) if regression else (CARTClassifier, DecisionTreeClassifier)
    return Contest(
        calls={
            OURS: lambda: ours(max_depth=max_depth).fit(X, y),
            SKLEARN: lambda: peer(max_depth=max_depth, random_state=0).fit(X, y),
        },
        check=same_trees(X, y, whole=max_depth is None),
        table=X.shape,
    )


def of_signal(n: int, *, max_depth: int | None = None, regression: bool = False, dtype: str = "float32") -> Make:
    def make(most_rows: int) -> Contest:
        X, y, values = signal(min(n, most_rows), dtype)
        return against_sklearn(X, values if regression else y, max_depth=max_depth, regression=regression)

    return make


def of_noise(most_rows: int) -> Contest:
    return against_sklearn(*tables.noise(min(100_000, most_rows)))


def of_covtype_like(most_rows: int) -> Contest:
    return against_sklearn(*tables.covtype_like(min(500_000, most_rows)))


def of_covtype(most_rows: int) -> Contest:
    frame, target = read_shared("covtype", min(COVTYPE_LEARN, most_rows))
    return against_sklearn(matrix(frame), as_codes(target))


def of_california(most_rows: int) -> Contest:
    frame, target = read_shared("california-housing", most_rows)
    return against_sklearn(matrix(frame, np.float64), target.to_numpy(np.float64), regression=True)


def of_letter(most_rows: int) -> Contest:
    frame, target = read_shared("letter", most_rows)
    return against_sklearn(matrix(frame), as_codes(target))


def of_iris(most_rows: int) -> Contest:
    return against_sklearn(*load_iris(return_X_y=True))


def against_one_hot(frame: pd.DataFrame, target: pd.Series, ours: Any, peer: Any) -> Contest:
    return Contest(
        calls={OURS: lambda: ours.fit(frame, target), SKLEARN: lambda: one_hot(frame, peer).fit(frame, target)},
        check=same_scores(frame, target),
        table=frame.shape,
    )


def of_adult(most_rows: int) -> Contest:
    return against_one_hot(*read_example("adult", most_rows), CARTClassifier(), DecisionTreeClassifier(random_state=0))


def of_hflights(most_rows: int) -> Contest:
    return against_one_hot(*read_shared("hflights", most_rows), CARTRegressor(), DecisionTreeRegressor(random_state=0))


# --- growing 255 leaves


def as_good_as_boosting(X: NDArray[Any], y: NDArray[Any], most_leaves: int = peers.LEAVES) -> Callable[[Answers], Figures]:
    """Return a check that the squared errors of probabilities on the training table are close."""

    def check(answers: Answers) -> Figures:
        answers[OURS].tree_.check()
        leaves = answers[OURS].get_n_leaves()
        assert leaves <= most_leaves, f"{leaves} leaves"
        losses = {OURS: float(np.mean((answers[OURS].predict_proba(X)[:, 1] - y) ** 2))}
        losses |= {name: float(np.mean((predict(X) - y) ** 2)) for name, predict in answers.items() if name != OURS}
        theirs = min(loss for name, loss in losses.items() if name != OURS)
        apart = AS_GOOD if len(X) >= SMALL else 10 * AS_GOOD
        assert abs(losses[OURS] - theirs) <= apart * theirs, f"squared errors: {losses}"
        return {"leaves": leaves} | {f"loss of {name}": loss for name, loss in losses.items()}

    return check


def of_255_leaves(**parameters: Any) -> Make:
    def make(most_rows: int) -> Contest:
        unknown = parameters.keys() - CARTClassifier().get_params().keys()
        if unknown:
            raise Skipped(f"CARTClassifier has no {', '.join(sorted(unknown))}")
        X, y, _ = signal(min(MILLION, most_rows), "float32")

        def fit(fit_peer: peers.Fit) -> Callable[[], peers.Predict]:
            return lambda: fit_peer(X, y)

        ours = CARTClassifier(max_leaf_nodes=peers.LEAVES, **parameters)
        return Contest(
            calls={OURS: lambda: ours.fit(X, y)} | {name: fit(fit_peer) for name, fit_peer in peers.installed().items()},
            check=as_good_as_boosting(X, y),
            table=X.shape,
            absent=peers.absent(),
        )

    return make


# --- two threads


def of_two_threads(most_rows: int) -> Contest:
    if "n_jobs" not in CARTClassifier().get_params():
        raise Skipped("CARTClassifier has no n_jobs")
    X, y, _ = signal(min(MILLION, most_rows), "float32")

    def check(answers: Answers) -> Figures:
        one, two = answers.values()
        two.tree_.check()
        same_tree(one, two)
        return {"nodes": two.tree_.node_count, "speed-up of hashing": speed_up_of_hashing()}

    return Contest(
        calls={
            OURS: lambda: CARTClassifier(n_jobs=2).fit(X, y),
            ONE: lambda: CARTClassifier(n_jobs=1).fit(X, y),
        },
        check=check,
        table=X.shape,
        wall=True,
    )


def of_two_threads_beside_boosting(max_depth: int | None) -> Make:
    """Return a case of trees with at most 255 leaves, or without that limit down to a depth."""

    def make(most_rows: int) -> Contest:
        X, y, _ = signal(min(MILLION, most_rows), "float32")
        ours = CARTClassifier(max_depth=max_depth, max_leaf_nodes=peers.LEAVES if max_depth is None else None, n_jobs=2)
        leaves = peers.LEAVES if max_depth is None else 2**max_depth
        return Contest(
            calls={
                OURS: lambda: ours.fit(X, y),
                "HistGradientBoosting": lambda: peers.fit_hist_gradient_boosting(X, y, max_depth, n_threads=2),
            },
            check=as_good_as_boosting(X, y, leaves),
            table=X.shape,
            wall=True,
        )

    return make


# --- predicting


@lru_cache(maxsize=2)
def covtype_like_models(n_samples: int, max_depth: int | None) -> tuple[Any, Any]:
    X, y = tables.covtype_like(n_samples)
    ours = CARTClassifier(max_depth=max_depth).fit(X, y)
    peer = DecisionTreeClassifier(max_depth=max_depth, random_state=0).fit(X, y)
    compare_trees(ours, peer)
    return ours, peer


@lru_cache(maxsize=1)
def other_covtype_like(n_samples: int) -> tuple[NDArray[Any], NDArray[Any]]:
    return tables.covtype_like(n_samples, seed=8)


def predicting(max_depth: int | None, rows: int | None = None) -> Make:
    """Return a case of test rows and a tree of half a million rows, which has 30,000 leaves without a limit."""

    def make(most_rows: int) -> Contest:
        ours, peer = covtype_like_models(min(500_000, most_rows), max_depth)
        X, y = other_covtype_like(min(MILLION, most_rows))
        X, y = X[:rows], y[:rows]
        return Contest(
            calls={OURS: lambda: ours.predict(X), SKLEARN: lambda: peer.predict(X)},
            check=same_predictions(y, apart=0.01 if rows is None else 1.0),
            table=X.shape,
        )

    return make


# --- C4.5, beside recorded times of Quinlan's program


@lru_cache(maxsize=1)
def one_hot_adult() -> Callable[[], Any]:
    frame, target = read_example("adult")
    return lambda: one_hot(frame, DecisionTreeClassifier(random_state=0)).fit(frame, target)


def of_c45(name: str) -> Make:
    """Return a case of the whole table, as the figures of the program are."""

    def make(most_rows: int) -> Contest:
        document = c45_results()
        reference, timing = document["datasets"][name], document["about"]["timing_default_run"]["sets"][name]
        frame, target = read_shared(name)
        X = declare(frame, reference["attributes"])
        y = pd.Categorical(target.astype(str), categories=reference["classes"])
        recorded = next(run for run in reference["runs"] if run["run"] == "default" and run["n_train"] == len(X))

        def check(answers: Answers) -> Figures:
            ours = answers[OURS]
            ours.tree_.check()
            figures = {
                "unpruned nodes": (ours.tree_unpruned_.node_count, recorded["unpruned"]["size"]),
                "nodes": (ours.tree_.node_count, recorded["pruned"]["size"]),
                "errors": (int((ours.predict(X) != np.asarray(y)).sum()), recorded["pruned"]["train_errors"]),
            }
            for what, (figure, its_figure) in figures.items():
                assert abs(figure - its_figure) <= NODES_APART * its_figure, f"{what}: {figure}, C4.5 {its_figure}"
            return {what: figure for what, (figure, _) in figures.items()}

        return Contest(
            calls={OURS: lambda: C45Classifier().fit(X, y), YARDSTICK: one_hot_adult()},
            check=check,
            table=X.shape,
            recorded={"C4.5, recorded": timing["seconds"] - timing["of_which_reading"]},
            yardstick_seconds=YARDSTICK_SECONDS,
        )

    return make


CASES = [
    Case("signal", "signal, classes, float32", of_signal(MILLION), 45, 60),
    Case("signal-depth8", "signal, classes, float32, depth 8", of_signal(MILLION, max_depth=8), 85, 120),
    Case("leaves255-exact", "signal, 255 leaves, exact", of_255_leaves(), 6, 9),
    Case("leaves255-bins", "signal, 255 leaves, max_bins=255", of_255_leaves(max_bins=255), 7, 10),
    Case("signal-regression", "signal, regression, float32", of_signal(MILLION, regression=True), 22, 30),
    Case("two-threads", "signal, two threads, wall", of_two_threads, 1.85, 1.95),
    Case("two-threads-255", "signal, 255 leaves, two threads, wall", of_two_threads_beside_boosting(None), 4, 6),
    Case("two-threads-depth8", "signal, depth 8, two threads, wall", of_two_threads_beside_boosting(8), 6, 8),
    Case("signal-float64", "signal, classes, float64", of_signal(MILLION, dtype="float64"), 25, 40),
    Case("covtype", "covtype", of_covtype, 11, 15),
    Case("covtype-like", "covtype_like", of_covtype_like, 18, 25),
    Case("adult", "adult from strings; one-hot there", of_adult, 15, 20),
    Case("hflights", "hflights from strings; one-hot there", of_hflights, 7, 12),
    Case("california", "california, regression", of_california, 10, 15),
    Case("letter", "letter", of_letter, 9, 13),
    Case("noise", "noise", of_noise, 40, 50),
    Case("iris", "iris", of_iris, 3, 8),
    Case("c45-adult", "C4.5, adult", of_c45("adult"), 9, 12),
    Case("c45-letter", "C4.5, letter", of_c45("letter"), 9, 12),
    Case("c45-shuttle", "C4.5, shuttle", of_c45("shuttle"), 10, 14),
    Case("c45-covtype", "C4.5, covtype", of_c45("covtype"), 30, 40),
    Case("predict-whole", "predict, covtype_like, whole tree", predicting(None), 3, 4),
    Case("predict-depth8", "predict, covtype_like, depth 8", predicting(8), 3.5, 5),
    Case("predict-row", "predict, covtype_like, whole tree, one row", predicting(None, rows=1), 8, 20),
]
