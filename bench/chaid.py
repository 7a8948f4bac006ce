"""CHAID beside CART on nominal columns, and columns of many categories."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency

from fasttree import CARTClassifier, CHAIDClassifier, CHAIDRegressor

from . import tables
from .cases import OURS, Answers, Case, Contest, Figures

CART = "CARTClassifier"
MILLION = 1_000_000
MANY = 200_000  # rows of the columns of many categories
ROWS_OF_CATEGORY = 100  # at least, so that the categories differ in small tables, too
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
            test, branches = ours.node_test(0).split, slice(1, 1 + ours.tree_.n_branches[0])
            statistic, p_value = chi2_contingency(ours.tree_.value[branches], correction=False)[:2]
            assert np.isclose(test.statistic, statistic, rtol=1e-9), f"chi-square: {test.statistic}, SciPy {statistic}"
            assert np.isclose(test.p_value, p_value, rtol=1e-6), f"p-value: {test.p_value}, SciPy {p_value}"
            scores = {"score": ours.score(X, y), "score of CART": cart.score(X, y)}
            return {"nodes": ours.tree_.node_count, "nodes of CART": cart.tree_.node_count} | scores

        calls = {OURS: lambda: CHAIDClassifier(**parameters).fit(X, y), CART: lambda: CARTClassifier(**parameters).fit(X, y)}
        return Contest(calls=calls, check=check, table=X.shape)

    return make


def of_many_categories(estimator: Any, n_categories: int) -> Callable[[int], Contest]:
    """Return a case of one column, whose categories have one of five effects; it is fitted alone."""

    def make(most_rows: int) -> Contest:
        rng = np.random.default_rng(0)
        n = min(MANY, most_rows)
        n_known = min(n_categories, n // ROWS_OF_CATEGORY)
        codes = rng.integers(0, n_known, n)
        effect = rng.integers(-2, 3, n_known)[codes]
        X = pd.DataFrame({"category": pd.Categorical.from_codes(codes, [f"c{i}" for i in range(n_known)])})
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
