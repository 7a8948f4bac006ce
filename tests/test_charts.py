"""The small charts in the nodes of a drawn tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttree import CARTClassifier, CARTRegressor, TreeClassifier
from fasttree._pictures.charts import Charts
from fasttree._pictures.colours import class_colour
from fasttree._words import Words


def charts_of(model, X, y):
    words = Words(model.tree_, model.schema_, getattr(model, "classes_", None))
    return Charts(model.tree_, words, model._samples(X, y), small=False)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 2)), min_size=2, max_size=40))
def test_histograms_count_every_sample_on_its_side_of_the_threshold(samples):
    X = [[float(x)] for x, _ in samples]
    y = [label for _, label in samples]
    model = CARTClassifier(max_depth=1).fit(X, y)
    if model.tree_.node_count == 1:
        return
    chart = charts_of(model, X, y)(0)
    (cut,) = chart.cuts
    assert not any(bar.start < cut - 1e-9 and bar.stop > cut + 1e-9 for bar in chart.bars)
    share = {side: np.zeros(3) for side in ("left", "right")}
    for bar in chart.bars:
        for height, colour in bar.parts:
            label = [class_colour(k) for k in range(len(model.classes_))].index(colour)
            share["left" if bar.stop <= cut + 1e-9 else "right"][label] += height * (bar.stop - bar.start)
    areas = np.concatenate([share["left"], share["right"]])
    counts = np.zeros(6)
    for (x,), label in zip(X, y, strict=True):
        counts[3 * (x > model.tree_.threshold[0]) + list(model.classes_).index(label)] += 1
    assert areas / areas.sum() == pytest.approx(counts / counts.sum())
    assert max(sum(height for height, _ in bar.parts) for bar in chart.bars) == pytest.approx(1)


def test_categories_stand_by_branch_with_what_is_missing_at_the_end():
    X = np.array([["a"], ["b"], ["c"], ["a"], ["b"], ["c"], [None], ["c"]], dtype=object)
    y = [0, 1, 0, 0, 1, 0, 1, 0]
    model = CARTClassifier(max_depth=1).fit(X, y)
    chart = charts_of(model, X, y)(0)
    assert [bar.name for bar in chart.bars] == ["a", "c", "b", "?"]
    a, c, b, lost = chart.bars
    assert [sum(height for height, _ in bar.parts) for bar in chart.bars] == pytest.approx([2 / 3, 1, 2 / 3, 1 / 3])
    assert c.start - a.stop < b.start - c.stop == pytest.approx(lost.start - b.stop)


def test_light_categories_of_a_branch_share_a_bar():
    X = [[f"c{i:02}"] for i in range(30) for _ in range(30 - i)]
    y = [int(row[0][1:]) % 2 for row in X]
    model = CARTClassifier(max_depth=1).fit(X, y)
    chart = charts_of(model, X, y)(0)
    assert len(chart.bars) == 12 + 2
    assert sum(height for bar in chart.bars for height, _ in bar.parts) == pytest.approx(
        len(X) / sum(30 - i for i in range(12, 30, 2))
    )


def test_intervals_have_a_line_at_each_cut():
    X = np.arange(60.0)[:, None]
    y = np.repeat([0, 1, 2, 0], 15)
    model = TreeClassifier(recipe={"continuous": "intervals", "missing": "error"}).fit(X, y)
    chart = charts_of(model, X, y)(0)
    assert len(chart.cuts) == model.tree_.n_branches[0] - 1 > 1


def test_regression_shows_samples_and_the_mean_of_each_branch():
    X = np.arange(40.0)[:, None]
    y = np.where(X[:, 0] < 10, 0.0, 1.0)
    model = CARTRegressor().fit(X, y)
    charts = charts_of(model, X, y)
    root = charts(0)
    assert len(root.dots) == 40
    assert [up for *_, up in root.levels] == [0.0, 1.0]
    leaf = charts(1)
    assert sum(height for bar in leaf.bars for height, _ in bar.parts) == 1.0
    assert leaf.cuts == [0.0]


def test_of_many_samples_some_are_drawn_whatever_the_order_of_the_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(5000, 1))
    y = X[:, 0] + random.normal(size=5000)
    model = CARTRegressor(max_depth=2).fit(X, y)
    order = random.permutation(5000)
    a, b = charts_of(model, X, y)(0), charts_of(model, X[order], y[order])(0)
    assert len(a.dots) == 150
    assert a.dots == b.dots


def test_a_node_that_no_sample_reaches_has_no_chart():
    model = CARTClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    charts = charts_of(model, [[0.0]], [0])
    assert charts(0) is not None
    assert charts(2) is None
