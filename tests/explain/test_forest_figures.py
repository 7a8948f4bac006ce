"""Figures of forests: importances, the out-of-bag error by the number of trees, partial dependence."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

import fasttree
from fasttree import RandomForestClassifier, RandomForestRegressor, plot_partial_dependence

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("Agg")

IRIS = load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_importances_are_bars_with_the_largest_on_top():
    forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(*IRIS)
    ax = forest.plot_importances()
    order = np.argsort(-forest.feature_importances_)
    assert [label.get_text() for label in ax.get_yticklabels()] == [IRIS[0].columns[j] for j in order]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(forest.feature_importances_[order])
    assert len(forest.plot_importances(max_features=1).patches) == 1
    assert forest.plot_importances(ax) is ax
    with pytest.raises(ValueError, match="max_features=0"):
        forest.plot_importances(max_features=0)


@pytest.mark.parametrize(
    ("forest", "data", "what"),
    [
        (RandomForestClassifier, IRIS, "share of wrong classes"),
        (RandomForestRegressor, load_diabetes(return_X_y=True), "mean squared error"),
    ],
)
@pytest.mark.filterwarnings("ignore:some samples are in every bag")
def test_the_curve_is_the_error_by_the_number_of_trees(forest, data, what):
    model = forest(n_estimators=20, oob_score=True, random_state=0).fit(*data)
    ax = model.plot_oob_curve()
    curve = ax.lines[-1]
    assert list(curve.get_xdata()) == list(range(1, 21))
    assert np.array_equal(curve.get_ydata(), model.oob_curve(), equal_nan=True)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("trees", f"out-of-bag error: {what}")
    assert model.plot_oob_curve(ax) is ax
    ax.figure.canvas.draw()


def test_a_forest_without_out_of_bag_errors_has_no_curve():
    forest = RandomForestClassifier(n_estimators=2, random_state=0).fit(*IRIS)
    with pytest.raises(ValueError, match="fit it with oob_score=True"):
        forest.plot_oob_curve()


def test_partial_dependence_is_the_mean_prediction_of_the_forest():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"rooms": rng.integers(1, 6, 100), "city": rng.choice(["Bern", "Rome", "Oslo"], 100)})
    X.loc[rng.random(100) < 0.1, "city"] = None
    forest = RandomForestRegressor(n_estimators=5, random_state=0).fit(X, X.rooms * 10.0 + (X.city == "Oslo") * 5)
    rooms, city = (display.pd_results[0] for display in plot_partial_dependence(forest, X, ["rooms", "city"]))
    for column, found in (("rooms", rooms), ("city", city)):
        for value, mean in zip(found["grid_values"][0], found["average"][0], strict=True):
            assert mean == pytest.approx(forest.predict(X.assign(**{column: value})).mean())


def test_labels_of_a_forest_are_shown_by_its_views_and_kept_in_its_file(tmp_path):
    X = pd.DataFrame({"pclass": [1, 2, 3, 3] * 10, "sex": ["f", "m", "f", "m"] * 10})
    y = pd.Series([1, 0, 1, 0] * 10, name="survived")
    labels = {"survived": {0: "died", 1: "survived"}, "sex": ("gender", {"f": "female", "m": "male"})}
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y).set_labels(labels)
    assert forest.predict(X).tolist() == y.tolist()
    forest.save(tmp_path / "forest.json")
    for each in (forest, fasttree.load(tmp_path / "forest.json")):
        assert each.plot_importances().get_yticklabels()[0].get_text() == "gender"
        text = "".join(tree.export_text() for tree in each.estimators_)
        assert "gender = female: survived" in text
        assert "gender = female then survived" in each.shared_rules(X, y).to_text()
        assert '"gender"' in each.export_html()
    assert '"sex"' in forest.export_html(labels={"sex": "sex"})
    with pytest.raises(ValueError, match="labels"):
        forest.set_labels({"nobody": "x"})
    assert "labels_" not in forest.fit(X, y).__dict__
