"""Pictures of what rules with models predict: the line has the predictions, on both sides of each cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fasttree import CubistRegressor

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=250), "b": rng.normal(size=250), "c": rng.choice(["red", "$blue$"], 250)})
    table.loc[::9, "a"] = np.nan
    return table


@pytest.fixture(scope="module")
def target(table: pd.DataFrame) -> Any:
    a = table["a"].fillna(0)
    y = np.where(a > 0.3, 3 * a, -2 * a) + np.where(table["c"] == "red", table["b"], 4)
    return y + np.random.default_rng(1).normal(0, 0.2, len(y))


def pieces(axes: Any) -> np.ndarray:
    """The parts of the line: (n, start or end, x or y)."""
    (line,) = [each for each in axes.collections if each.get_label() == "prediction"]
    return np.array(line.get_segments())


MODELS = [CubistRegressor(), CubistRegressor(committees=3), CubistRegressor(committees=2, neighbors=4)]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_line_has_the_predictions(model, table, target):
    model.fit(table, target)
    at = table.iloc[3].to_dict()
    line = pieces(model.plot_regions(table, target, "a", at=at))
    middle = line.mean(axis=1)
    rows = pd.DataFrame([at] * len(line)).assign(a=line[:, 1, 0])  # a piece has its upper end
    assert model.predict(rows) == pytest.approx(line[:, 1, 1], abs=1e-9)
    cuts = {each.threshold for member in model.rules_ for rule in member for each in rule.conditions if each.feature == "a"}
    shown = {cut for cut in cuts if line[0, 0, 0] < cut < line[-1, 1, 0]}
    assert shown
    assert shown <= set(line[:, 1, 0].tolist())
    if model.neighbors == 0:
        # between two cuts no rule begins or ends, so that a piece lacks at most a bound that it passes
        inside = model.predict(rows.assign(a=middle[:, 0]))
        assert np.mean(np.abs(inside - middle[:, 1]) < 1e-9) > 0.9


def test_the_line_jumps_where_another_rule_begins_to_hold():
    x = np.arange(40.0)
    X, y = x[:, None], np.where(x < 20, 3 * x, 200 - 2 * x)
    axes = CubistRegressor().fit(X, y).plot_regions(X, y)
    line = pieces(axes)
    at = np.flatnonzero(line[:, 1, 0] == 19).item()
    assert line[at, 1, 1] == pytest.approx(57)
    assert line[at + 1, 0, 1] == pytest.approx(161.9)  # 162, and its bound
    dashed = [each.get_xdata()[0] for each in axes.lines]
    assert dashed == [19]
    assert len(axes.collections[0].get_offsets()) == 40


def test_categories_and_two_features_are_drawn(table, target):
    model = CubistRegressor(committees=2).fit(table, target)
    across = model.plot_regions(table, target, "c", at=table.iloc[3], labels={"c": ("Colour", {"red": "Red"})}, palette="#112233")
    assert across.get_xlabel() == "Colour"
    assert [text.get_text() for text in across.get_xticklabels()] == ["$blue$", "Red"]
    plane = model.plot_regions(table, target, ["a", "b"], at=table.iloc[3], max_samples=50)
    assert "50 of " in plane.get_title("left")
    assert "missing values" in plane.get_title("left")
    assert model.plot_regions(table, target, [0, 2], at=table.iloc[3], ax=plane) is plane


def test_features_without_values_and_unknown_ones_raise(table, target):
    model = CubistRegressor().fit(table, target)
    for given, message in [
        ({}, "features=None: the model uses 3 features"),
        ({"features": "a"}, "the model also uses b, c: give at="),
        ({"features": "z"}, "'z' is not the name"),
        ({"features": "a", "at": table.iloc[0], "max_samples": -1}, "max_samples=-1"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.plot_regions(table, target, **given)
    near = CubistRegressor(neighbors=2).fit(table[["a", "b"]].assign(unused=1.0), table["b"])
    with pytest.raises(ValueError, match="the model also uses a, unused"):  # for distances
        near.plot_regions(table[["a", "b"]].assign(unused=1.0), table["b"], "b")
