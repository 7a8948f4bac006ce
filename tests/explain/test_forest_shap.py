"""SHAP values of forests: the mean over the trees, which adds up to the prediction of the forest."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

from fasttree import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor

IRIS, DIABETES = ((X.astype(np.float32).astype(float), y) for X, y in (f(return_X_y=True) for f in (load_iris, load_diabetes)))


def mean_over_trees(forest, X, background=None):
    each = [tree.shap_values(X, background) for tree in forest.estimators_]
    return sum(found.values for found in each) / len(each), sum(found.base_values for found in each) / len(each)


def mixed():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"width": rng.normal(size=200), "colour": rng.choice(["red", "green", "blue"], 200)})
    y = np.where((X.colour == "red") | (X.width > 0.8), "ripe", "unripe")
    X.loc[rng.random(200) < 0.1, "colour"] = None
    X.loc[rng.random(200) < 0.1, "width"] = np.nan
    return X, y


@pytest.mark.parametrize("with_background", [False, True], ids=["path-dependent", "interventional"])
@pytest.mark.parametrize("choices", [{}, {"recipe": "c45"}, {"missing": "surrogate"}], ids=str)
def test_values_of_classes_are_means_over_the_trees_and_add_up(choices, with_background):
    X, y = mixed()
    forest = RandomForestClassifier(n_estimators=7, random_state=0, **choices).fit(X, y)
    background = X[50:90] if with_background else None
    found = forest.shap_values(X[:50], background)
    values, base = mean_over_trees(forest, X[:50], background)
    assert np.array_equal(found.values, values)
    assert np.array_equal(found.base_values, base)
    assert found.output_names == ["ripe", "unripe"]
    assert found.feature_names == ["width", "colour"]
    assert np.abs(found.base_values + found.values.sum(axis=1) - forest.predict_proba(X[:50])).max() < 1e-12


@pytest.mark.parametrize("forest", [RandomForestRegressor, ExtraTreesRegressor])
def test_values_of_numbers_are_means_over_the_trees_and_add_up(forest):
    X, y = DIABETES
    model = forest(n_estimators=9, max_depth=6, random_state=0).fit(X, y)
    found = model.shap_values(X[:60])
    values, base = mean_over_trees(model, X[:60])
    assert np.array_equal(found.values, values)
    assert np.array_equal(found.base_values, base)
    assert np.abs(found.base_values + found.values.sum(axis=1) - model.predict(X[:60])).max() < 1e-10


def test_threads_do_not_change_the_values(monkeypatch):
    X, y = IRIS
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    alone = forest.shap_values(X).values
    monkeypatch.setattr("fasttree._explain.shap.AT_ONCE", 5_000)
    assert np.array_equal(forest.set_params(n_jobs=2).shap_values(X).values, alone)


def test_several_targets_have_values_of_their_own():
    X, y = IRIS
    forest = RandomForestClassifier(n_estimators=4, max_depth=3, random_state=0).fit(X, np.column_stack([y, y == 1]))
    first, second = forest.shap_values(X[:20])
    for found, expected in zip((first, second), forest.predict_proba(X[:20]), strict=True):
        assert np.allclose(found.base_values + found.values.sum(axis=1), expected)
    numbers = RandomForestRegressor(n_estimators=4, max_depth=3, random_state=0).fit(X, X[:, :2])
    found = numbers.shap_values(X[:20])
    assert np.allclose(found.base_values + found.values.sum(axis=1), numbers.predict(X[:20]))


@pytest.mark.parametrize(
    ("forest", "data"), [(RandomForestClassifier, IRIS), (RandomForestRegressor, DIABETES), (ExtraTreesRegressor, DIABETES)]
)
@pytest.mark.filterwarnings("ignore")
def test_shap_finds_the_same_values(forest, data):
    shap = pytest.importorskip("shap", reason="shap is not installed")
    X, y = data
    model = forest(n_estimators=10, max_depth=5, random_state=0).fit(X, y)
    explainer = shap.TreeExplainer(model.to_sklearn(), feature_perturbation="tree_path_dependent")
    theirs, ours = explainer.shap_values(X[:40], check_additivity=False), model.shap_values(X[:40])
    scale = np.abs(theirs).max()
    assert ours.values == pytest.approx(theirs, abs=1e-12 * scale)
    assert np.allclose(ours.base_values[0], explainer.expected_value, rtol=1e-12)


def test_the_table_must_have_the_columns_of_the_fit():
    X, y = IRIS
    forest = RandomForestClassifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        forest.shap_values(X[:, :2])
