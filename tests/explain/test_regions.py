"""Plots of the regions of one or two features: they are those of the predictions, and what is not drawn is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fasttree import C45Classifier, CARTClassifier, CARTRegressor
from fasttree._explain.pictures.space import regions

pyplot = pytest.importorskip("matplotlib.pyplot")
RNG = np.random.default_rng(0)
N = 300


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "a": RNG.normal(size=N),
            "b": RNG.integers(0, 9, N).astype(float),
            "c": RNG.choice(["red", "green", "$blue$"], N),
            "d": pd.Categorical(RNG.choice(["S", "M", "L"], N), categories=["S", "M", "L"], ordered=True),
        }
    )


@pytest.fixture(scope="module")
def target(table: pd.DataFrame) -> Any:
    score = table["a"] + (table["b"] > 4) + 2.0 * (table["c"] == "red") + (table["d"] == "L") + RNG.normal(0, 0.3, N)
    return np.where(score > 2, "high", np.where(score > 1, "middle", "low"))


def found(model: Any, features: list[int], at: Any, table: pd.DataFrame) -> regions.Regions:
    tree, schema = model.tree_, model.schema_
    encoded = model._encode_table(table)
    lines = regions.lines_of(tree, schema, schema, features, [encoded.column(j) for j in features])
    rest = model._encode_table(at).block(0, 1)[0]
    return regions.regions_of(tree, schema, lines, rest)


@pytest.mark.parametrize("features", [["a"], ["a", "b"], ["c", "a"], ["d", "c"]], ids=",".join)
@pytest.mark.parametrize(
    "model",
    [
        CARTClassifier(),
        C45Classifier(soft_thresholds=True),
        CARTClassifier(missing="surrogate"),
        CARTRegressor(max_depth=5),
    ],
    ids=str,
)
def test_a_sample_gets_the_prediction_of_its_cell(model: Any, features: list[str], table: pd.DataFrame, target: Any) -> None:
    holes = table.mask(np.random.default_rng(1).random(table.shape) < 0.1)
    y = pd.factorize(target)[0].astype(float) if isinstance(model, CARTRegressor) else target
    fitted = model.fit(holes, y)
    names = list(table.columns)
    for row in (0, 7):
        at = holes.iloc[[row]].assign(**({"b": np.nan} if "b" not in features else {}))
        drawn = found(fitted, [names.index(name) for name in features], at, holes)
        rows = pd.concat([at] * N, ignore_index=True).astype(table.dtypes)
        rows[features] = table[features]
        encoded = fitted._encode_table(rows)
        cells = []
        for line in drawn.lines:
            column = encoded.column(line.index)
            cells.append(
                np.searchsorted(line.values, column) if line.categories else np.searchsorted(line.edges, column, side="left") - 1
            )
        cell = (cells[1] if len(cells) > 1 else np.zeros(N, int), cells[0])
        if isinstance(model, CARTRegressor):
            assert np.array_equal(drawn.value[cell][:, 0], fitted.predict(rows))
        elif isinstance(model, C45Classifier):  # shares change within a cell beside a soft threshold
            assert np.abs(drawn.value[cell] - fitted.predict_proba(rows)).max() < 0.5 / regions.SOFT_STEPS + 1e-12
        else:
            assert np.array_equal(fitted.classes_[drawn.answers[cell]], fitted.predict(rows))
            assert np.array_equal(drawn.leaf[cell], fitted.apply(rows))


def test_a_threshold_is_in_the_cell_below_it() -> None:
    tie = np.nextafter(1.0, 2.0)
    model = CARTClassifier(midpoint="high").fit([[1.0], [tie], [2.0]], ["a", "b", "a"])
    (line,) = regions.lines_of(model.tree_, model.schema_, model.schema_, [0], [np.array([1.0, tie, 2.0])])
    assert (line.values > line.edges[:-1]).all()
    assert (line.values <= line.edges[1:]).all()


def test_what_is_drawn(table: pd.DataFrame, target: Any) -> None:
    two = table[["a", "c"]].mask(np.arange(N)[:, None] == [[0, 1]])
    model = CARTClassifier(max_leaf_nodes=6).fit(two, target)
    ax = model.plot_regions(two, target, max_samples=100, labels={"a": "$x$", "y": "level"})
    assert ax.get_title(loc="left") == "100 of 298 samples; 2 samples with missing values are not drawn"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x$", "c")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["$blue$", "green", "red"]
    assert sum(len(dots.get_offsets()) for dots in ax.collections if dots.get_label() in model.classes_) == 100
    assert ax.get_legend().get_title().get_text() == "level"

    ax = model.plot_regions(two, target, "a", at=two.iloc[5], palette={"low": "#123456"})
    assert sum(bar.get_height() for bar in ax.patches if bar.get_zorder() == 2) == N - 1  # all, however many
    assert ax.get_ylabel() == "samples"

    numbers = CARTRegressor(max_depth=2).fit(two[["a"]], two["a"].fillna(0))
    own = pyplot.figure().add_subplot()
    assert numbers.plot_regions(two[["a"]], two["a"].fillna(0), ax=own) is own
    assert [text.get_text() for text in own.get_legend().get_texts()] == ["samples", "prediction"]
    plane = CARTRegressor(max_depth=3).fit(table[["a", "b"]], table["a"] * table["b"])
    plane.plot_regions(table[["a", "b"]], table["a"] * table["b"]).figure.canvas.draw()


def test_the_order_of_the_rows_changes_no_dot(table: pd.DataFrame, target: Any) -> None:
    model = CARTClassifier(max_leaf_nodes=6).fit(table[["a", "c"]], target)

    def dots(order: Any) -> list[Any]:
        ax = model.plot_regions(table[["a", "c"]].iloc[order], target[order], max_samples=50)
        return [sorted(each.get_offsets().tolist()) for each in ax.collections if each.get_label() in model.classes_]

    assert dots(np.arange(N)) == dots(np.random.default_rng(2).permutation(N))


def test_errors_say_what_to_give(table: pd.DataFrame, target: Any) -> None:
    model = CARTClassifier().fit(table, target)
    with pytest.raises(ValueError, match=r"the model uses 4 features; name one or two, such as \['a', 'b'\]"):
        model.plot_regions(table, target)
    with pytest.raises(ValueError, match="the model also uses b, c, d: give at=, a sample"):
        model.plot_regions(table, target, "a")
    with pytest.raises(ValueError, match="'e' is not the name or the index of a column"):
        model.plot_regions(table, target, ["a", "e"])
    with pytest.raises(ValueError, match="must be one feature, or two different ones"):
        model.plot_regions(table, target, ["a", "a"])
    with pytest.raises(ValueError, match="feature 'a' has no known value in X"):
        model.plot_regions(table.assign(a=np.nan), target, "a", at=table.iloc[0])
    with pytest.raises(ValueError, match="the tree has 2 targets, and plot_regions draws one"):
        CARTClassifier().fit(table[["a"]], np.column_stack([target, target])).plot_regions(table[["a"]], target)
