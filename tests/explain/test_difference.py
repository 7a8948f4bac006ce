"""`diff`: the lines of two trees, node by node."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier, TreeDifference
from fasttree._explain.pictures.scene import Box, Text
from fasttree._explain.side_by_side import MARKED
from fasttree.pruning import CostComplexity


def table(seed: int = 0, n_samples: int = 200):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_samples).astype(float),
            "city": rng.choice(["Bern", "Oslo", "Rome"], n_samples),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n_samples), categories=["S", "M", "L"], ordered=True),
        }
    )
    X.loc[rng.random(n_samples) < 0.1, "age"] = None
    return X, np.where((X.age > 50) ^ (X.city == "Rome") ^ (rng.random(n_samples) < 0.2), "yes", "no")


@settings(max_examples=20)
@given(st.sampled_from(["cart", "c45", "id3"]), st.integers(0, 50), st.integers(0, 50))
def test_each_leaf_of_both_trees_is_on_one_line(kind, seed, other):
    models = []
    for each in (seed, other):
        X, y = table(each)
        if kind == "id3":
            X = X[["city", "size"]]
        model = {"cart": CARTClassifier(max_depth=4), "c45": C45Classifier(), "id3": ID3Classifier()}[kind]
        models.append(type(model)(**model.get_params()).fit(X, y))
    found = models[0].diff(models[1])
    for side, model in zip(("first", "second"), models, strict=True):
        tree = model.tree_
        nodes = [getattr(line, side) for line in found.lines if getattr(line, side) is not None]
        closed = {getattr(line, side) for line in found.lines if "the same" in line.text}
        for leaf in tree.leaves().tolist():
            on_the_way = leaf
            while on_the_way not in nodes and on_the_way > 0:
                on_the_way = int(tree.parent[on_the_way])
            assert on_the_way == leaf or on_the_way in closed or len(nodes) < 2
    assert found.is_same or seed != other


def test_a_tree_differs_from_itself_in_nothing():
    X, y = table()
    model = CARTClassifier(max_depth=3).fit(X, y)
    found = model.diff(model, X)
    assert found.is_same
    assert found.changed == 0
    assert str(found) == f"  the same {model.get_n_leaves()} leaves\n0 % of the samples have another prediction\n"


def test_a_pruned_branch_and_a_moved_threshold_are_marked():
    X, y = table()
    model = CARTClassifier(max_depth=3).fit(X, y)
    smaller = model.collapse(1)
    marks = {line.mark for line in model.diff(smaller).lines}
    assert marks == {" ", "-", "+"}
    assert sum(line.mark == "+" for line in model.diff(smaller).lines) == 1
    first = CARTRegressor(max_depth=1).fit([[1.0], [2.0], [8.0], [9.0]], [0.0, 0.0, 4.0, 4.0])
    second = CARTRegressor(max_depth=1).fit([[1.0], [4.0], [8.0], [9.0]], [0.0, 0.0, 4.0, 6.0])
    found = first.diff(second, [[5.5], [9.0]])
    assert str(found) == "~ x0 <= 5 -> 6: 0 (2)\n~ x0 > 5 -> 6: 4 (2) -> 5 (2)\nPredictions differ by 2.5 on average\n"
    assert "~ x0 &lt;= 5 -&gt; 6" in found._repr_html_()
    assert list(found.to_frame()["mark"]) == ["~", "~"]


def test_features_are_matched_by_name_and_labels_are_shown():
    X, y = table()
    first = CARTClassifier(max_depth=2).fit(X, y)
    second = CARTClassifier(max_depth=2).fit(X[["size", "age", "city"]], y)
    assert first.diff(second).is_same
    text = str(first.set_labels({"city": "Town"}).diff(second.prune(CostComplexity(alpha=1.0))))
    assert "city" not in text


def test_what_cannot_be_compared_raises_clear_errors():
    X, y = table()
    model = CARTClassifier(max_depth=2).fit(X, y)
    with pytest.raises(TypeError, match="other=dict: must be a tree of fasttree"):
        model.diff({})
    with pytest.raises(ValueError, match="different kinds of targets"):
        model.diff(CARTRegressor(max_depth=2).fit(X, X.age.fillna(0)))


def pair():
    X = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "z": list("aabbcc")})
    first = CARTClassifier().fit(X, ["no", "no", "yes", "yes", "yes", "yes"])
    second = CARTClassifier().fit(X.assign(x=[1, 3, 4, 4, 5, 6]), ["no", "yes", "yes", "yes", "yes", "maybe"])
    return first, second


def test_the_picture_has_both_trees_and_outlines_what_differs():
    first, second = pair()
    found = first.diff(second)
    scene = found._drawn(None, 31, "down", ("May", "June"), None)
    trees = [model.tree_ for model in (first, second)]
    assert [group.node for group in scene.groups] == [*range(trees[0].node_count), *range(trees[1].node_count)]
    halves = scene.groups[: trees[0].node_count], scene.groups[trees[0].node_count :]
    assert max(g.box.x + g.box.width for g in halves[0]) < min(g.box.x for g in halves[1])
    marks = {colour: mark for mark, (colour, _) in MARKED.items()}
    for side, groups in zip(("first", "second"), halves, strict=True):
        lines = {getattr(line, side): line.mark for line in found.lines if line.mark != " " and getattr(line, side)}
        outlined = {group.node: marks[group.box.line] for group in groups if group.box.line in marks}
        assert lines.items() <= outlined.items()
        model = first if side == "first" else second
        assert {model.tree_.parent[node] for node in lines} >= outlined.keys() - lines.keys()
    texts = [mark.text for mark in scene.marks() if isinstance(mark, Text)]
    assert {"May", "June", "changed"} <= set(texts)
    fills = [{g.node: g.marks[1].fill for g in half if isinstance(g.marks[1], Box)} for half in halves]
    of_yes = [
        {fill for node, fill in side.items() if model.classes_[model.tree_.value[node].argmax()] == "yes"}
        for side, model in zip(fills, (first, second), strict=True)
    ]
    assert of_yes[0] == of_yes[1] != set()  # one colour, though "yes" is the second of two classes, and the third of three


def test_a_picture_of_equal_trees_has_no_outlines_and_bad_requests_are_errors():
    first, second = pair()
    svg = first.diff(first).export_svg(theme="print")
    assert "changed" not in svg
    assert not any(colour in svg for colour, _ in MARKED.values())
    assert "only in the second" in first.diff(second).export_svg() or "changed" in first.diff(second).export_svg()
    with pytest.raises(ValueError, match="titles='May': must be two texts"):
        first.diff(second).export_svg(titles="May")
    with pytest.raises(ValueError, match=r"the two trees are unknown: make the differences by first.diff\(second\)"):
        TreeDifference(first.diff(second).lines).export_svg()
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axes = first.diff(second, pd.DataFrame({"x": [1, 6], "z": ["a", "c"]})).plot()
    assert {"first", "second"} <= {text.get_text() for text in axes.texts}
    _, given_axes = pyplot.subplots()
    assert first.diff(second).plot(given_axes) is given_axes
    pyplot.close("all")
