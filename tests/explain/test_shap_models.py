"""SHAP values of trees with models: the mean over all orders of the features of what each adds, by `predict` alone."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from fasttree import M5Regressor


def by_orders(model, row, others):
    """Return the Shapley values of a row by their definition: features become known one after the other, in every order."""
    names, orders = list(others), list(permutations(others))
    found = dict.fromkeys(names, 0.0)
    for order in orders:
        mixed, before = others.copy(), model.predict(others).mean()
        for name in order:
            mixed[name] = pd.Series([row[name]] * len(mixed), index=mixed.index, dtype=others[name].dtype)
            after = model.predict(mixed).mean()
            found[name] += (after - before) / len(orders)
            before = after
    return [found[name] for name in names]


@pytest.mark.parametrize("indicators", [False, True])
@pytest.mark.parametrize("extrapolation", [0.0, None])
def test_values_are_the_mean_over_all_orders(extrapolation, indicators):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({name: rng.normal(size=120) for name in "abc"} | {"kind": rng.choice(["x", "y", "z"], 120)})
    y = np.where(X["kind"] == "x", 2 * X["a"], np.where(X["b"] > 0, X["c"], 3.0)) + 0.01 * rng.normal(size=120)
    X.loc[::9, "a"] = np.nan
    if indicators:
        y = y + (X["kind"] == "y")
        X.loc[1::9, "kind"] = None
    model = M5Regressor(extrapolation=extrapolation, indicators=indicators).fit(X, y)
    models = model.tree_.models
    assert indicators == any(models.source(j)[1] for leaf in model.tree_.leaves().tolist() for j, _ in models.terms(leaf))
    rows, others = X[:4] * 1, X[60:69]
    rows.loc[:1, ["b", "c"]] *= 20  # past the bounds
    found = model.shap_values(rows, others)
    expected = [by_orders(model, row, others) for _, row in rows.iterrows()]
    assert found.values == pytest.approx(np.array(expected), abs=1e-12)
    assert found.base_values + found.values.sum(axis=1) == pytest.approx(model.predict(rows), abs=1e-12)


def test_a_background_is_needed():
    X = np.arange(40.0)[:, None]
    with pytest.raises(ValueError, match="needs background"):
        M5Regressor().fit(X, X[:, 0] ** 2).shap_values(X)


def test_a_tree_of_many_features_raises_an_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 14))
    model = M5Regressor(pruning_factor=None).fit(X, X.sum(axis=1))
    with pytest.raises(ValueError, match="at most 12"):
        model.shap_values(X[:2], X[:2])
