"""`plot_partial_dependence`: scikit-learn's figures, for columns of integers and categories with missing values too."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fasttree import CARTClassifier, CARTRegressor, plot_partial_dependence

pytest.importorskip("matplotlib").use("Agg")


def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"rooms": rng.integers(1, 6, 200), "city": rng.choice(["Bern", "Rome", "Oslo"], 200), "size": rng.random(200)}
    )
    X.loc[rng.random(200) < 0.1, "city"] = None
    return X, X.rooms * 10.0 + (X.city == "Oslo") * 5 + rng.random(200)


def test_figures_are_means_of_predictions():
    X, y = table()
    model = CARTRegressor(max_depth=5).fit(X, y)
    before = X.copy()
    displays = plot_partial_dependence(model, X, ["rooms", "city", ("rooms", "size")])
    pd.testing.assert_frame_equal(X, before)
    rooms, city, both = (display.pd_results[0] for display in displays)
    assert both["average"].shape[0] == 1
    for column, found in (("rooms", rooms), ("city", city)):
        for value, mean in zip(found["grid_values"][0], found["average"][0], strict=True):
            assert mean == pytest.approx(model.predict(X.assign(**{column: value})).mean())
    assert list(city["grid_values"][0]) == ["Bern", "Oslo", "Rome"]


@pytest.mark.parametrize("kind", ["polars", "numpy", "pyarrow"])
def test_tables_of_other_libraries(kind):
    X, y = table()
    X["city"] = X.city.fillna("Rome")
    given = {"polars": pl.from_pandas, "numpy": lambda X: X.to_numpy(), "pyarrow": lambda X: pl.from_pandas(X).to_arrow()}[kind](
        X
    )
    model = CARTClassifier(max_depth=3).fit(given, np.where(y > 30, "high", "low"))
    expected = plot_partial_dependence(CARTClassifier(max_depth=3).fit(X, np.where(y > 30, "high", "low")), X, ["rooms"])
    found = plot_partial_dependence(model, given, [0])
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.pd_results[0]["average"], theirs.pd_results[0]["average"])


def test_what_cannot_be_plotted_raises_clear_errors():
    X, y = table()
    model = CARTRegressor(max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match="'price': must be the name or the index of a column"):
        plot_partial_dependence(model, X, ["price"])
    with pytest.raises(ValueError, match="'city' has no known value"):
        plot_partial_dependence(model, X.assign(city=None), ["city"])
