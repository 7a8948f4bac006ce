"""Plots of importances and SHAP values."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from fasttree import CARTClassifier, CARTRegressor


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.fixture
def table():
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {"size": random.normal(size=60), "colour": random.choice(["red", "blue"], 60), "noise": random.normal(size=60)}
    )
    X.loc[:3, "size"] = np.nan
    return X, pd.Series(np.where((X["size"].fillna(0) > 0) ^ (X["colour"] == "red"), "yes", "no"), name="bought")


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_importances_are_bars_from_the_largest(table):
    X, y = table
    model = CARTClassifier().fit(X, y)
    ax = model.plot_importances()
    order = np.argsort(-model.feature_importances_, kind="stable")
    used = [X.columns[j] for j in order if model.feature_importances_[j] > 0]
    assert names(ax) == used
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], np.sort(model.feature_importances_)[::-1][: len(used)])
    assert names(model.plot_importances(max_features=1, labels={used[0]: "A label"})) == ["A label"]
    assert model.plot_importances(ax) is ax
    with pytest.raises(ValueError, match="max_features=0"):
        model.plot_importances(max_features=0)


def test_dots_are_at_the_values_of_all_samples(table):
    X, y = table
    found = CARTClassifier(max_depth=3).fit(X, y).shap_values(X)
    ax = found.plot()
    assert ax.get_xlabel() == "SHAP value: probability of yes"
    for at, name in enumerate(names(ax)):
        dots = ax.collections[at].get_offsets()
        np.testing.assert_allclose(dots[:, 0], found.values[:, list(X.columns).index(name), 1])
        assert np.abs(dots[:, 1] - at).max() < 0.5
    turned = CARTClassifier(max_depth=3).fit(X, y).shap_values(X[::-1]).plot(output="no")
    assert turned.get_xlabel() == "SHAP value: probability of no"


def test_a_waterfall_leads_from_the_base_value_to_the_prediction(table):
    X, y = table
    model = CARTClassifier(max_depth=3).fit(X, y)
    ax = model.shap_values(X).plot(5, output="yes")
    assert ax.get_title(loc="left").startswith(f"prediction {model.predict_proba(X)[5, 1]:.3f}")
    first, last = ax.patches[0], ax.patches[-1]
    assert first.get_x() + first.get_width() == pytest.approx(model.predict_proba(X)[5, 1])
    assert last.get_x() == pytest.approx(model.shap_values(X).base_values[0, 1])
    assert f"size = {X['size'][5]:.6g}" in names(ax)
    assert "size = missing" in names(model.shap_values(X).plot(0))


def test_small_contributions_are_a_sum():
    X = np.random.default_rng(1).normal(size=(100, 6))
    found = CARTRegressor().fit(X, X.sum(axis=1)).shap_values(X)
    ax = found.plot(3, max_features=2)
    assert names(ax)[2] == "4 other features"
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(X[3].sum() - found.base_values[0])
    assert ax.get_xlabel() == "prediction"


def test_many_outputs_are_stacked_bars():
    X, y = load_iris(return_X_y=True, as_frame=True)
    found = CARTClassifier().fit(X, y).shap_values(X)
    ax = found.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1", "2"]
    assert found.plot(output=1).get_xlabel() == "SHAP value: probability of 1"
    with pytest.raises(ValueError, match="output='x': must be one of 0, 1, 2"):
        found.plot(output="x")
    with pytest.raises(IndexError):
        found.plot(150)
