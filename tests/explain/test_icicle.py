"""Trees as icicles: every node as wide as its weight, below its parent."""

import re

import numpy as np
import pytest
from test_svg import extent, inside, nothing_overlaps, random_tree

from fasttree import C45Classifier, CARTClassifier, CARTRegressor
from fasttree._explain.pictures.icicle import draw_icicle
from fasttree._explain.pictures.scene import Box, Text
from fasttree._explain.pictures.style import style_of


def icicle_of(model, **how):
    classes = getattr(model, "classes_", None)
    return draw_icicle(model.tree_, model.schema_, classes, targets=model.target_names_, **how)


@pytest.mark.parametrize("n_leaves", [1, 2, 12, 200])
def test_nodes_are_as_wide_as_their_weights_and_below_their_parents(n_leaves):
    model = random_tree(n_leaves) if n_leaves > 1 else CARTClassifier().fit([[1.0], [2.0]], [0, 0])
    tree = model.tree_
    scene = icicle_of(model)
    boxes = {group.node: group.box for group in scene.groups}
    assert boxes[0].width == 960
    for node, box in boxes.items():
        assert box.width == pytest.approx(960 * tree.weight[node] / tree.weight[0])
        if node:
            above = boxes[int(tree.parent[node])]
            assert box.y == pytest.approx(above.y + above.height)
            assert above.x - 1e-9 <= box.x <= box.x + box.width <= above.x + above.width + 1e-9
    nothing_overlaps(scene)
    for group in scene.groups:
        assert all(inside(extent(mark), extent(group.box)) for mark in group.marks if isinstance(mark, Text | Box))


def test_narrow_nodes_are_counted():
    model = CARTClassifier().fit(np.arange(5000.0)[:, None], [0] * 4998 + [1, 0])
    scene = icicle_of(model)
    assert len(scene.groups) < model.tree_.node_count
    assert f"{len(scene.groups)} of {model.tree_.node_count} nodes are drawn" in {
        mark.text for mark in scene.around if isinstance(mark, Text)
    }


def test_all_nodes_are_drawn_unless_fewer_are_asked_for():
    model = random_tree(60)
    assert model.export_svg(kind="icicle").count("data-node") == 119
    assert model.export_svg().count("data-node") <= 31
    assert model.export_svg(kind="icicle", max_nodes=9).count("data-node") == 9
    assert "…" in model.export_svg(kind="icicle", max_depth=2)


def test_parts_of_samples_that_end_at_a_node_leave_a_gap():
    X = [["a"], ["a"], ["b"], ["b"], [None], [None]]
    model = C45Classifier(pruning=None, min_samples_branch=1).fit(X, [0, 0, 1, 1, 0, 1])
    widths = {group.node: group.box.width for group in icicle_of(model).groups}
    assert sum(widths[node] for node in widths if node) <= widths[0] + 1e-9


def test_it_takes_colours_figures_themes_labels_and_a_sample():
    X, y = [["a", 1.0], ["a", 2.0], ["b", 3.0], ["b", 4.0]] * 9, [0, 0, 1, 1] * 9
    model = CARTClassifier().fit(X, y).set_labels({"y": {0: "zero"}})
    text = model.export_svg(
        kind="icicle", theme="dark", palette={1: "#aa0011"}, show="count", title="Above", caption="Below", x=["a", 1.0]
    )
    shown = set(re.findall(r"<text[^>]*>([^<]*)</text>", text))
    assert {"Above", "Below", "zero", "18 of 18"} <= shown
    assert "#aa0011" in text
    assert 'opacity="0.35"' in text  # the other path
    assert "prefers-color-scheme" not in text
    regressor = CARTRegressor(max_depth=2).fit(X, np.arange(36.0))
    assert "n = " in regressor.export_svg(kind="icicle")
    several = CARTClassifier(max_depth=1).fit(X, np.c_[y, y])
    assert several.export_svg(kind="icicle").count("data-node") == 3


def test_matplotlib_fills_the_axes():
    from matplotlib import pyplot

    model = random_tree(40)
    ax = model.plot(kind="icicle")
    assert ax.figure.get_size_inches()[0] == pytest.approx((960 + 24) / 96)
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3))
    for ax in axes:
        assert model.plot(ax, kind="icicle") is ax
        drawn = np.vstack([path.vertices for collection in ax.collections for path in collection.get_paths()])
        assert np.ptp(drawn[:, 0]) > 0.9 * abs(np.subtract(*ax.get_xlim()))
        assert np.ptp(drawn[:, 1]) <= abs(np.subtract(*ax.get_ylim()))
    figure.canvas.draw()
    pyplot.close("all")


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"kind": "treemap"}, "kind='treemap': must be 'tree' or 'icicle'"),
        ({"kind": "icicle", "X": [[1.0]], "y": [0]}, "X: an icicle has no charts and grows down; omit X, or use kind='tree'"),
        ({"kind": "icicle", "orientation": "right"}, "omit orientation"),
    ],
)
def test_bad_requests(choices, message):
    model = random_tree(4)
    for picture in (model.export_svg, model.plot):
        with pytest.raises(ValueError, match=message):
            picture(**choices)


def test_style_is_shared_with_trees():
    model = random_tree(5)
    style = style_of(model.classes_, color_by="error")
    assert {mark.fill for group in icicle_of(model, style=style).groups for mark in group.marks[1:2]} == {"#d55e00"}
