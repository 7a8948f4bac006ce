"""SHAP values of rules with models: those of the definition, by `predict` alone, with overlaps, bounds and samples of no rule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from naive_shap_models import by_sets

from fasttree import CubistRegressor


def pieces(seed=0, n=600):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 5)), 1)
    X[:, 4] = rng.integers(0, 4, n)
    y = np.abs(X[:, :3]).sum(axis=1) + X[:, 0] * (X[:, 1] > 0.3) + 2 * (X[:, 4] == 2) + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.03] = np.nan
    return X, y


@pytest.mark.parametrize("parameters", [{}, {"extrapolation": 0.0}, {"committees": 3}, {"committees": 22, "max_rules": 3}])
def test_values_are_those_of_every_set(parameters):
    X, y = pieces()
    model = CubistRegressor(**parameters, categorical_features=[4]).fit(X, y)
    rows, others = X[:4] * 1, X[100:107] * 1
    rows[0, :3] *= 20  # past the bounds
    rows[1, 4] = 9  # not seen in the fit
    found = model.shap_values(rows, others)
    assert found.values == pytest.approx(by_sets(model.predict, rows, others, range(5)), abs=1e-12)
    assert found.base_values == pytest.approx(model.predict(others).mean(), abs=1e-12)
    assert found.base_values + found.values.sum(axis=1) == pytest.approx(model.predict(rows), abs=1e-12)


def test_values_hold_where_rules_overlap_and_where_none_holds():
    X, y = pieces(1)
    model = CubistRegressor(committees=2, extrapolation=0.0, categorical_features=[4]).fit(X, y)
    shorter = tuple(replace(rule, conditions=rule.conditions[:3]) for rule in model.rules_[0][::2])
    model.committee_ = replace(model.committee_, members=(shorter, model.rules_[1], ()))
    alone = replace(model.committee_, members=(shorter,))
    n_holding = np.bincount(np.concatenate(alone.firing(model._encode_table(X))), None, len(X))
    rows = X[[np.flatnonzero(n_holding == n)[0] for n in (0, 1, 2, 3)]]
    others = X[100:110]
    found = model.shap_values(rows, others)
    assert found.values == pytest.approx(by_sets(model.predict, rows, others, range(5)), abs=1e-12)


def test_a_feature_without_a_part_has_no_value():
    x = np.arange(40.0)
    X = np.column_stack([x, x % 2])
    model = CubistRegressor().fit(X, np.where(x < 20, 3 * x, 200 - 2 * x))
    found = model.shap_values(X[30:31], X)
    assert found.values[0] == pytest.approx([140 - model.predict(X).mean(), 0])


def test_parts_of_samples_and_of_the_background_add_up():
    X, y = pieces(2, 700)
    model = CubistRegressor(max_rules=4, categorical_features=[4]).fit(X, y)
    found = model.shap_values(X[:300], X[:300])  # more than one block of each
    assert found.base_values + found.values.sum(axis=1) == pytest.approx(model.predict(X[:300]), abs=1e-11)
    halves = [model.shap_values(X[:300], part).values for part in (X[:150], X[150:300])]
    assert found.values == pytest.approx((halves[0] + halves[1]) / 2, abs=1e-12)


def test_labels_and_categories_are_shown():
    X, y = pieces(3)
    table = pd.DataFrame(X, columns=list("abcde")).assign(e=np.where(X[:, 4] == 2, "two", "other"))
    found = CubistRegressor().fit(table, y).shap_values(table[:2], table[:9], labels={"a": "Area"})
    assert found.feature_names == ["Area", "b", "c", "d", "e"]
    assert found.data[:, 4].tolist() == table["e"][:2].tolist()


def test_neighbours_and_many_terms_that_pass_bounds_are_refused():
    X, y = pieces(4)
    with pytest.raises(ValueError, match=r"neighbours correct .* neighbors=0"):
        CubistRegressor(neighbors=3).fit(X, y).shap_values(X[:2], X)
    wide = np.random.default_rng(0).normal(size=(40, 24))
    model = CubistRegressor().fit(wide, wide.sum(axis=1))
    (rule,) = model.rules_[0][:1]
    all_terms = replace(rule, conditions=(), intercept=0.0, terms=tuple((j, 1.0) for j in range(24)), lower=-9.0, upper=9.0)
    model.committee_ = replace(model.committee_, members=((all_terms,),), filling=np.zeros(24))
    with pytest.raises(ValueError, match=r"have 24 features, .* pass a bound .* at most 20 .* larger extrapolation"):
        model.shap_values(4 * wide[:2], wide[:2])
    near = replace(all_terms, lower=-1e9, upper=1e9)
    model.committee_ = replace(model.committee_, members=((near,),))
    assert model.shap_values(4 * wide[:2], wide[:2]).values == pytest.approx(4 * wide[:2] - wide[:2].mean(axis=0), abs=1e-9)
