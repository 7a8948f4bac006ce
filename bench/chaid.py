"""CHAID beside CART on nominal columns, and columns of many categories."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from fasttree import CARTClassifier, CHAIDClassifier, CHAIDRegressor

from . import tables
from .cases import OURS, Answers, Case, Contest, Figures

CART = "CARTClassifier"
MILLION = 1_000_000
MANY = 200_000  # rows of the columns of many categories
AS_GOOD = 0.02  # of the training score of CART, by which CHAID may be worse
LEAST_LEAF = 100  # samples
NAMES = [f"c{i}" for i in range(30)]


def beside_cart(n: int, **parameters: Any) -> Callable[[int], Contest]:
    """Return a case of 20 nominal columns; both trees have the same limits."""

    def make(most_rows: int) -> Contest:
        codes, y = tables.nominal(min(n, most_rows))
        X = pd.DataFrame(
            {f"x{j}": pd.Categorical.from_codes(column, NAMES[: column.max() + 1]) for j, column in enumerate(codes.T)}
        )

        def check(answers: Answers) -> Figures:
            ours, cart = answers[OURS], answers[CART]
            ours.tree_.check()
            scores = ours.score(X, y), cart.score(X, y)
            assert scores[0] >= scores[1] - AS_GOOD, f"training scores: {scores[0]}, CART {scores[1]}"
            return {"nodes": ours.tree_.node_count, "nodes of CART": cart.tree_.node_count, "score": scores[0]}

        calls = {OURS: lambda: CHAIDClassifier(**parameters).fit(X, y), CART: lambda: CARTClassifier(**parameters).fit(X, y)}
        return Contest(calls=calls, check=check, table=X.shape)

    return make


def of_many_categories(estimator: Any, n_categories: int) -> Callable[[int], Contest]:
    """Return a case of one column, whose categories have one of five effects; it is fitted alone."""

    def make(most_rows: int) -> Contest:
        rng = np.random.default_rng(0)
        n = min(MANY, most_rows)
        codes = rng.integers(0, n_categories, n)
        effect = rng.integers(-2, 3, n_categories)[codes]
        X = pd.DataFrame({"category": pd.Categorical.from_codes(codes, [f"c{i}" for i in range(n_categories)])})
        noisy = effect + rng.normal(size=n)
        y = (noisy > 0).astype(int) if isinstance(estimator, CHAIDClassifier) else noisy

        def check(answers: Answers) -> Figures:
            test = answers[OURS].node_test(0)
            assert test.reason == "split", test.reason
            assert test.split.n_groups + len(test.merges) == test.split.n_categories
            return {"groups": test.split.n_groups, "merges": len(test.merges)}

        return Contest(calls={OURS: lambda: estimator.fit(X, y)}, check=check, table=X.shape)

    return make


CASES = [
    Case("chaid", "CHAID, 20 nominal columns", beside_cart(MILLION, min_samples_leaf=LEAST_LEAF), 1 / 3, 1),
    Case("chaid-depth3", "CHAID, 20 nominal columns, depth 3", beside_cart(MILLION, max_depth=3), 1 / 3, 1),
    Case("chaid-1000", "CHAID, 1,000 categories", of_many_categories(CHAIDClassifier(max_depth=1), 1000)),
    Case(
        "chaid-1000-exhaustive",
        "exhaustive CHAID, 1,000 categories",
        of_many_categories(CHAIDClassifier(method="exhaustive", max_depth=1), 1000),
    ),
    Case("chaid-1000-numbers", "CHAID, 1,000 categories, numbers", of_many_categories(CHAIDRegressor(max_depth=1), 1000)),
]
