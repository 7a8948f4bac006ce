"""A line for every recipe beside plain Gini, to find recipes that are far too slow.

All trees have depth 10 at most and are grown on `signal` (100,000 x 28), if needed with other targets, with a quarter of the
columns as categories, or with one cell in twenty missing.  Trees still differ in size and shape, so only large ratios matter.
In each line, plain Gini on the plain table takes turns with the recipe.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fasttree import CARTClassifier, TreeClassifier, TreeRegressor

from . import tables
from .cases import OURS, Answers, Case, Contest, Figures
from .checks import compare_trees, recount

ROWS = 100_000
DEPTH = 10
FEW, FEW_LEVELS = 2_000, 5  # rows and depth of trees to compare with scikit-learn's, if it has the recipe
CATEGORICAL = 7  # columns
CATEGORIES = 32
MISSING = 0.05
PLAIN = "plain Gini"
LIMIT = 4.0  # maximum ratio to the plain line

Targets = tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class Data:
    """The table in its three forms, and the targets."""

    X: NDArray[np.float32]
    with_missing: NDArray[np.float32]
    with_categories: pd.DataFrame
    two: NDArray[np.int64]
    others: NDArray[np.int64]  # two other classes
    seven: NDArray[np.int64]
    values: NDArray[np.float64]
    other_values: NDArray[np.float64]
    counts: NDArray[np.float64]
    integers: NDArray[np.float64]  # weights
    fractions: NDArray[np.float64]


@lru_cache(maxsize=1)
def data(n_samples: int) -> Data:
    X, two, values = tables.signal(n_samples)
    rng = np.random.default_rng(11)
    edges = np.quantile(X[:, 0], np.arange(1, CATEGORIES) / CATEGORIES)  # all columns hold the same values
    names = np.array([f"c{code:02}" for code in rng.permutation(CATEGORIES)])
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    for name in frame.columns[:CATEGORICAL]:
        frame[name] = pd.Categorical(names[np.searchsorted(edges, frame[name])], categories=sorted(names))
    return Data(
        X=X,
        with_missing=np.where(rng.random(X.shape) < MISSING, np.float32(np.nan), X),
        with_categories=frame,
        two=two,
        others=(values + X[:, 0] > 0).astype(np.int64),
        seven=np.searchsorted(np.quantile(values, np.arange(1, 7) / 7), values),
        values=values,
        other_values=values * X[:, 1],
        counts=rng.poisson(np.exp(np.clip(values, -3, 3) / 2)).astype(np.float64),
        integers=rng.integers(1, 4, n_samples).astype(np.float64),
        fractions=rng.random(n_samples) + 0.5,
    )


@dataclass(frozen=True)
class Line:
    """A recipe and its data, by names of the fields of `Data`."""

    recipe: dict[str, Any] | str = field(default_factory=dict)
    targets: Sequence[str] = ("two",)
    table: str = "X"
    weight: str | None = None
    limits: dict[str, Any] = field(default_factory=dict)
    peer: dict[str, Any] | None = None  # parameters of the same tree in scikit-learn
    divides: bool = False  # whether samples are divided, so that leaves cannot be recounted

    def is_regression(self) -> bool:
        return self.targets[0] in ("values", "counts")

    def medians(self) -> bool:
        return isinstance(self.recipe, dict) and self.recipe.get("impurity") == "absolute_error"


def fit(line: Line, of: Data, rows: slice, of_kind: Any) -> Any:
    X, targets = getattr(of, line.table)[rows], [getattr(of, name)[rows] for name in line.targets]
    weight = None if line.weight is None else getattr(of, line.weight)[rows]
    return of_kind.fit(X, targets[0] if len(targets) == 1 else np.column_stack(targets), sample_weight=weight)


def model(line: Line, max_depth: int = DEPTH, n_jobs: int | None = None) -> Any:
    kind = TreeRegressor if line.is_regression() else TreeClassifier
    return kind(recipe=line.recipe, max_depth=max_depth, n_jobs=n_jobs, **line.limits)


def contest(line: Line) -> Callable[[int], Contest]:
    def peer() -> Any:
        kind = DecisionTreeRegressor if line.is_regression() else DecisionTreeClassifier
        return kind(max_depth=FEW_LEVELS, random_state=0, **line.limits, **line.peer or {})

    def make(most_rows: int) -> Contest:
        of = data(min(ROWS, most_rows))
        everything, few = slice(None), slice(FEW)

        def check(answers: Answers) -> Figures:
            grown = answers[OURS]
            if line.peer is not None:
                compare_trees(fit(line, of, few, model(line, FEW_LEVELS)), fit(line, of, few, peer()))
            if line.divides:
                grown.tree_.check()
                score, guess = grown.score(of.with_missing, of.two), max(of.two.mean(), 1 - of.two.mean())
                assert score > guess, f"accuracy {score}, of a constant {guess}"
                return {"nodes": grown.tree_.node_count, "score": float(score)}
            # values of a monotone tree are moved into bounds
            targets = [] if "monotonic_cst" in line.limits else [getattr(of, name) for name in line.targets]
            weight = None if line.weight is None else getattr(of, line.weight)
            return recount(grown, getattr(of, line.table), targets, weight, medians=line.medians())

        return Contest(
            calls={
                OURS: lambda: fit(line, of, everything, model(line)),
                PLAIN: lambda: CARTClassifier(max_depth=DEPTH).fit(of.X, of.two),
            },
            check=check,
            table=of.X.shape,
        )

    return make


def missing(policy: str) -> Line:
    return Line({"missing": policy}, table="with_missing", divides=policy == "fractional")


LINES = {
    "gini": ("Gini, two classes", Line(peer={})),
    "gini-7": ("Gini, seven classes", Line(targets=["seven"], peer={})),
    "entropy": ("entropy", Line({"impurity": "entropy"}, peer={"criterion": "entropy"})),
    "misclassification": ("misclassification", Line({"impurity": "misclassification"})),
    "gain-ratio": ("gain ratio", Line({"impurity": "entropy", "rank": "gain_ratio"})),
    "squared-error": ("squared error", Line(targets=["values"], peer={})),
    "absolute-error": (
        "absolute error",
        Line({"impurity": "absolute_error"}, targets=["values"], peer={"criterion": "absolute_error"}),
    ),
    "poisson": ("Poisson", Line({"impurity": "poisson"}, targets=["counts"], peer={"criterion": "poisson"})),
    "c45": ("C4.5, growth", Line("c45")),
    "c45-missing": ("C4.5, growth, missing values divided", Line("c45", table="with_missing", divides=True)),
    "fractional": ("Gini, missing values divided", missing("fractional")),
    "direction": ("Gini, missing values by direction", missing("direction")),
    "surrogate": ("Gini, missing values by surrogates", missing("surrogate")),
    "majority": ("Gini, missing values to the majority", missing("majority")),
    "branch": ("Gini, missing values in a branch", missing("branch")),
    "categories-2": ("Gini, subsets of categories, two classes", Line(table="with_categories")),
    "categories-7": ("Gini, subsets of categories, seven classes", Line(targets=["seven"], table="with_categories")),
    "outputs-classes": ("Gini, two targets", Line(targets=["two", "others"], peer={})),
    "outputs-values": ("squared error, two targets", Line(targets=["values", "other_values"], peer={})),
    "weights-integers": ("Gini, weights 1 to 3", Line(weight="integers", peer={})),
    "weights-fractions": ("Gini, fractional weights", Line(weight="fractions", peer={})),
    "max-features": ("Gini, max_features='sqrt'", Line(limits={"max_features": "sqrt", "random_state": 0})),
    "monotone": ("Gini, one monotone feature", Line(limits={"monotonic_cst": [0] * 7 + [1] + [0] * 20}, peer={})),
    "max-leaf-nodes": ("Gini, 255 leaves", Line(limits={"max_leaf_nodes": 255}, peer={})),
}
CASES = [Case(name, what, contest(line)) for name, (what, line) in LINES.items()]
