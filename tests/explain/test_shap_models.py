"""SHAP values of trees with models: the mean over all orders of the features of what each adds, by `predict` alone."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from naive_shap_models import by_sets

from fasttree import M5Regressor
from fasttree._model.arrays import STOP


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


def test_each_of_several_targets_has_values():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 4))
    X[rng.random(X.shape) < 0.05] = np.nan
    filled = np.nan_to_num(X)
    Y = np.column_stack([np.abs(filled).sum(axis=1), 100 * np.where(filled[:, 0] > 0, filled[:, 1], 1.0)])
    model = M5Regressor(extrapolation=0.0).fit(X, Y)
    assert model.get_n_leaves() > 2
    rows, others = X[:3] * 2, X[150:160]
    found = model.shap_values(rows, others)
    assert found.values.shape == (3, 4, 2)
    for target in range(2):
        expected = by_sets(lambda given, k=target: model.predict(given)[:, k], rows, others, model.tree_.used)
        assert found.values[:, :, target] == pytest.approx(expected, abs=1e-10)
    assert found.base_values + found.values.sum(axis=1) == pytest.approx(model.predict(rows), abs=1e-10)
    assert "2 outputs" in str(found)


def test_a_background_is_needed():
    X = np.arange(40.0)[:, None]
    with pytest.raises(ValueError, match="needs background"):
        M5Regressor().fit(X, X[:, 0] ** 2).shap_values(X)


@pytest.mark.parametrize("extrapolation", [0.0, None])
@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_every_set(seed, extrapolation):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(300, 7)), 1)
    X[:, 5] = rng.integers(0, 4, 300)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.abs(np.nan_to_num(X[:, :4])).sum(axis=1) + 2 * (X[:, 5] == 1) + 0.1 * rng.normal(size=300)
    choices = {"extrapolation": extrapolation, "indicators": seed % 2 == 1, "categorical_features": [5]}
    model = M5Regressor(**choices, max_depth=4, pruning_factor=None, smoothing=float(5 * seed)).fit(X, y)
    assert model.get_n_leaves() > 5
    rows, others = X[:3] * 1, X[150:160] * 1
    rows[0, :4] *= 30
    rows[1, 5] = 9  # not seen in fit
    found = model.shap_values(rows, others)
    assert found.values == pytest.approx(by_sets(model.predict, rows, others, model.tree_.used), abs=1e-11)


def test_every_set_is_evaluated_where_bounds_matter():
    """A leaf with terms of many features, whose bounds some sets pass and others do not."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 9))
    model = M5Regressor(extrapolation=0.0).fit(X, X @ np.arange(1.0, 10.0))
    assert model.get_n_leaves() == 1
    rows, others = 2.5 * X[:3], X[10:14]
    found = model.shap_values(rows, others)
    assert found.values == pytest.approx(by_sets(model.predict, rows, others, range(9)), abs=1e-10)
    free = M5Regressor(extrapolation=None).fit(X, X @ np.arange(1.0, 10.0)).shap_values(rows, others)
    assert free.values == pytest.approx(np.arange(1.0, 10.0) * (rows - others.mean(axis=0)), abs=1e-10)
    assert np.abs(free.values - found.values).max() > 1


def test_a_tree_may_use_any_number_of_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 14))
    model = M5Regressor(pruning_factor=None).fit(X, np.abs(X).sum(axis=1))
    assert len(model.tree_.used) == 14
    found = model.shap_values(X[:20], X[:300])  # more than one block of the background
    assert found.base_values + found.values.sum(axis=1) == pytest.approx(model.predict(X[:20]), abs=1e-11)
    halves = [model.shap_values(X[:20], part).values for part in (X[:150], X[150:300])]
    assert found.values == pytest.approx((halves[0] + halves[1]) / 2, abs=1e-11)


def test_a_twin_and_thirteen_features():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(900, 13))
    model = M5Regressor(pruning_factor=None, extrapolation=0.0).fit(X, np.abs(X).sum(axis=1))
    used = model.tree_.used
    assert len(used) == 13
    found = model.shap_values(2 * X[:1], X[10:13])
    assert found.values == pytest.approx(by_sets(model.predict, 2 * X[:1], X[10:13], used), abs=1e-11)


def test_many_terms_whose_bounds_matter_raise_an_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 24))
    y = X.sum(axis=1)
    with pytest.raises(
        ValueError, match=r"have 24 features, and some sets of them pass a bound .* at most 20 .* extrapolation=None"
    ):
        M5Regressor().fit(X, y).shap_values(4 * X[:2], X[:2])
    free = M5Regressor(extrapolation=None).fit(X, y)
    assert free.shap_values(4 * X[:2], X[:2]).values == pytest.approx(4 * X[:2] - X[:2].mean(axis=0), abs=1e-9)
    near = M5Regressor(extrapolation=9.0).fit(X, y)  # no set reaches a bound
    assert near.shap_values(4 * X[:2], X[:2]).values == pytest.approx(4 * X[:2] - X[:2].mean(axis=0), abs=1e-9)


def test_missing_values_may_end_samples_at_an_inner_node():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 4))
    model = M5Regressor(extrapolation=0.0).fit(X, np.abs(X).sum(axis=1))
    stops = np.where(model.tree_.n_branches > 0, STOP, model.tree_.missing).astype(np.int32)
    model.tree_ = model.tree_.replace(missing=stops)
    rows, others = X[:3] * 1, X[50:58] * 1
    rows[0, 0] = rows[1, 2] = others[2, 1] = others[3, 0] = np.nan
    found = model.shap_values(rows, others)
    assert found.values == pytest.approx(by_sets(model.predict, rows, others, range(4)), abs=1e-11)
