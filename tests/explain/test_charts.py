"""The small charts in the nodes of a drawn tree."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttree import CARTClassifier, CARTRegressor, TreeClassifier
from fasttree._explain.pictures import charts
from fasttree._explain.pictures.charts import Charts
from fasttree._explain.pictures.colours import class_colour
from fasttree._explain.pictures.lettering import text_width
from fasttree._explain.pictures.scene import Text
from fasttree._model.words import Words


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
    assert [at for at, _ in leaf.dots] == [0.0] * 10
    assert len({up for _, up in leaf.dots}) == 10  # none hides another
    assert leaf.cuts == [0.0]


def test_of_many_samples_some_are_drawn_whatever_the_order_of_the_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(5000, 1))
    y = X[:, 0] + random.normal(size=5000)
    model = CARTRegressor(max_depth=2).fit(X, y)
    order = random.permutation(5000)
    for node in (0, 1, int(np.flatnonzero(model.tree_.n_branches == 0)[0])):
        a, b = charts_of(model, X, y)(node), charts_of(model, X[order], y[order])(node)
        assert len(a.dots) == 150
        assert a.dots == b.dots


def test_a_node_that_no_sample_reaches_has_no_chart():
    model = CARTClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    charts = charts_of(model, [[0.0]], [0])
    assert charts(0) is not None
    assert charts(2) is None


def drawn_texts(picture):
    return re.findall("<text[^>]*>([^<]*)</text>", picture)


def test_charts_of_regression_have_an_axis_with_ticks_and_the_name_of_the_target():
    X = pd.DataFrame({"size": np.arange(100.0)})
    y = pd.Series(np.where(X["size"] > 29.5, 4000.0, 1000.0) + X["size"], name="price")
    found = drawn_texts(CARTRegressor(max_depth=1).fit(X, y).export_svg(X=X, y=y))
    assert found.count("price") == 1
    assert {"2,000", "4,000", "29.5", "0", "99"} <= set(found)


def test_outliers_do_not_squeeze_the_axes_of_regression():
    size = np.arange(1000.0)
    size[-1] = 1e6
    y = np.where(size > 499.5, 2.0, 1.0)
    y[-1] = 500.0
    found = drawn_texts(
        CARTRegressor(max_leaf_nodes=2, min_samples_leaf=100).fit(size[:, None], y).export_svg(X=size[:, None], y=y)
    )
    assert "1e+06" not in found
    assert "500" not in found
    assert "≥ 989" in found or "0" in found


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (9.0, 46.6), (-3.0, 3.0), (1e-9, 3e-9), (62.5, 11222.0), (0.99, 1.01)])
def test_ticks_are_round_and_within_the_axis(low, high):
    ticks = charts._ticks(low, high)
    assert 2 <= len(ticks) <= 6
    assert all(low <= tick <= high for tick in ticks)
    assert len({charts._short(tick) for tick in ticks}) == len(ticks)
    assert not charts._ticks(1.0, 1.0)


def test_long_names_of_categories_read_upwards_and_remain_different():
    regions = [f"Administrative region number {i:02}" for i in range(8)]
    X = pd.DataFrame({"region": regions * 30})
    y = [i % 2 for i in range(8)] * 30
    model = CARTClassifier(max_depth=1).fit(X, y)
    chart = charts_of(model, X, y)(0)
    assert chart.turned
    assert len({bar.name for bar in chart.bars}) == 8
    texts = [mark for mark in chart.marks(0.0, 0.0, chart.width) if isinstance(mark, Text)]
    assert [mark.text for mark in texts] == [bar.name for bar in chart.bars]
    assert all(mark.turned for mark in texts)
    assert max(mark.y + text_width(mark.text, mark.size) for mark in texts) <= chart.height
    short = charts_of(CARTClassifier(max_depth=1).fit([["a"], ["b"]], [0, 1]), [["a"], ["b"]], [0, 1])(0)
    assert not short.turned
    svg = model.export_svg(X=X, y=y)
    assert svg.count('transform="rotate(-90') == 8


def test_few_whole_numbers_have_a_bar_each():
    X = [[float(x)] for x in (1, 1, 2, 3, 3, 3, 5)]
    y = [0, 0, 0, 1, 1, 1, 1]
    chart = charts_of(CARTClassifier(max_depth=1).fit(X, y), X, y)(0)
    assert [sum(height for height, _ in bar.parts) for bar in chart.bars] == pytest.approx([2 / 3, 1 / 3, 1, 0, 1 / 3])
    assert chart.ends == ("1", "5")
    assert list(chart.cuts) == pytest.approx([2 / 5])  # the edge between the bars of 2 and 3
    fractions = [[x + 0.25] for (x,) in X]
    assert len(charts_of(CARTClassifier(max_depth=1).fit(fractions, y), fractions, y)(0).bars) == charts.BARS


def test_a_cut_far_from_the_samples_needs_no_memory():
    model = CARTClassifier(max_depth=1).fit([[0.0], [2e9 + 1]], [0, 1])
    X = [[1.0], [2.0], [3.0]]
    assert len(charts_of(model, X, [0, 1, 0])(0).bars) <= charts.BARS + 1


def test_outliers_of_a_histogram_are_in_its_last_bar():
    size = np.r_[np.linspace(0, 10, 999), 1e6][:, None]
    y = (size[:, 0] > 5).astype(int)
    chart = charts_of(CARTClassifier(max_depth=1).fit(size, y), size, y)(0)
    assert chart.ends == ("0", "≥ 9.91")
    assert 0.4 < chart.cuts[0] < 0.6
    heights = np.array([sum(height for height, _ in bar.parts) * (bar.stop - bar.start) for bar in chart.bars])
    assert heights[-1] / heights.sum() == pytest.approx(1 / charts.BARS, abs=0.02)


def test_a_cut_beyond_the_outliers_keeps_every_sample_on_its_side():
    size = np.r_[np.linspace(0, 10, 999), 1e6][:, None]
    y = [0] * 999 + [1]
    chart = charts_of(CARTClassifier(max_depth=1).fit(size, y), size, y)(0)
    (cut,) = chart.cuts
    right = sum(height * (bar.stop - bar.start) for bar in chart.bars if bar.start >= cut - 1e-9 for height, _ in bar.parts)
    assert right > 0
    assert chart.ends[1] == "1,000,000"
