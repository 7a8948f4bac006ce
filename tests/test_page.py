"""The data of the interactive page, and what holds it; `test_page_browser.py` looks at it in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from trees import SCHEMA, flat, house_tree, leaf, play_tree, random_trees

from fasttree import CARTClassifier, CARTRegressor
from fasttree._pictures.page import export_html

CLASSES = np.array(["no", "perhaps", "yes"])


def page_of(tree: Any, **options: Any) -> str:
    classes = CLASSES[: tree.value.shape[1]] if tree.task == "classification" else None
    return export_html(tree, SCHEMA, classes, **options)


def data_of(document: str) -> Any:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', document, re.DOTALL)[1])


@given(tree=random_trees())
def test_holds_all_of_a_tree_that_a_walk_needs(tree):
    data = data_of(page_of(tree))
    inner = tree.n_branches > 0
    for name in ("feature", "kind", "missing"):
        assert data[name] == getattr(tree, name)[inner].tolist()
    assert data["branches"] == tree.n_branches.tolist()
    assert data["threshold"] == tree.threshold[tree.kind == 1].tolist()
    assert data["cuts"] == (
        [] if tree.cut is None else [part.tolist() for part in np.split(tree.cut, tree.cut_start[1:-1]) if part.size]
    )
    codes = [code for table in data["table"] for code in table[0]]
    branches = [branch for table in data["table"] for branch in table[1]]
    assert (codes, branches) == (tree.table_code.tolist(), tree.table_branch.tolist())
    assert (data["weight"] or data["samples"]) == tree.weight.tolist()
    if tree.lower is not None:
        assert data["soft"] == [limit[tree.kind == 1].tolist() for limit in (tree.lower, tree.upper)]


@given(tree=random_trees())
def test_values_can_be_put_together_again(tree):
    data = data_of(page_of(tree))
    k = tree.value.shape[1]
    values = np.zeros((tree.node_count, k))
    for node in reversed(range(tree.node_count)):
        entry = data["value"][node]
        if tree.task == "regression":
            values[node] = entry
        elif entry != 0:
            values[node, entry[::2]] = entry[1::2]
        else:
            first = tree.first_child[node]
            children = range(first, first + tree.n_branches[node])
            values[node] = sum(values[child] for child in children if tree.weight[child] > 0)
    np.testing.assert_array_equal(values, tree.value)


def test_sums_of_whole_numbers_are_left_out_and_a_large_tree_stays_small():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 16, (4000, 8)), rng.integers(0, 26, 4000)
    model = CARTClassifier().fit(X, y)
    data = data_of(model.export_html())
    assert all(entry == 0 for entry, n in zip(data["value"], model.tree_.n_branches, strict=True) if n)
    assert data["weight"] is None
    assert len(json.dumps(data, separators=(",", ":"))) < 50 * model.tree_.node_count


def test_the_page_itself_is_small():
    assert len(page_of(flat(leaf([1.0, 0.0]), "classification")).encode()) < 100_000


def test_only_the_scripts_and_styles_of_the_page_may_run_and_nothing_may_connect():
    document = page_of(play_tree())
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', document)[1]
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["default-src"] == "'none'"
    assert parts.keys() == {"default-src", "img-src", "script-src", "style-src", "base-uri", "form-action"}
    assert parts["img-src"] == "data:"
    for tag, kind in (("script", "script-src"), ("style", "style-src")):
        text = re.search(rf"<{tag}>(.*?)</{tag}>", document, re.DOTALL)[1]
        assert parts[kind] == f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    assert not re.search(r"(src|href)=\"(?!data:,)", document)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", document)
    assert "style=" not in document


def test_what_is_put_in_is_neither_markup_nor_a_mark():
    nasty = "</script>{{script}}<!--&"
    X = [[f"{nasty}{i % 2}"] for i in range(6)]
    document = CARTClassifier().fit(X, [f"{nasty}{i % 2}" for i in range(6)]).export_html(title=nasty)
    assert document.count("</script>") == 2
    assert "<title>&lt;/script&gt;{{script}}&lt;!--&amp;</title>" in document
    data = data_of(document)
    assert data["title"] == nasty
    assert nasty in data["targets"][0]["classes"][0]


def test_half_a_character_in_a_title_does_not_spoil_the_page():
    document = CARTClassifier().fit([[1.0], [2.0]], ["a", "b"]).export_html(title="a\udcffb")
    assert "<title>a?b</title>" in document
    assert document.encode()


def test_the_subtrees_are_those_of_the_pruning_path():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    model = CARTClassifier().fit(X[::2], y[::2])
    path = model.cost_complexity_pruning_path(X[::2], y[::2])
    subtrees = data_of(model.export_html(X=X[1::2], y=y[1::2]))["subtrees"]
    assert subtrees["alpha"] == pytest.approx(path.ccp_alphas.tolist(), rel=1e-5)
    assert subtrees["leaves"] == path.n_leaves.tolist()
    assert subtrees["collapsed"] == [nodes.tolist() for nodes in path.collapsed]
    for alpha, error, given_error in zip(path.ccp_alphas, subtrees["error"], subtrees["given"], strict=True):
        pruned = model.prune("cost_complexity", ccp_alpha=float(alpha))
        assert error == pytest.approx(1 - pruned.score(X[::2], y[::2]), rel=1e-5)
        assert given_error == pytest.approx(1 - pruned.score(X[1::2], y[1::2]), rel=1e-5)


def test_a_tree_without_an_error_has_none_of_rounding_either():
    X = [[float(i)] for i in range(14)]
    y = [i * i % 11 % 3 for i in range(14)]
    subtrees = data_of(CARTClassifier().fit(X, y).export_html(X=X, y=y))["subtrees"]
    assert subtrees["error"][0] == subtrees["given"][0] == 0


def test_errors_are_in_the_unit_of_the_tree():
    X, y = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [0.0, 1.0, 1.0, 3.0, 4.0, 5.0]
    model = CARTRegressor(max_depth=2, min_samples_leaf=2).fit(X, y)
    subtrees = data_of(model.export_html(X=X, y=y))["subtrees"]
    assert subtrees["errorName"] == "mean squared error"
    assert subtrees["error"] == pytest.approx(subtrees["given"], rel=1e-5)
    assert subtrees["error"][-1] == pytest.approx(np.var(y), rel=1e-5)
    labels = ["a", "a", "a", "b", "a", "b"]
    costly = CARTClassifier(loss_matrix=[[0, 1], [5, 0]]).fit(X, labels)
    subtrees = data_of(costly.export_html())["subtrees"]
    assert subtrees["errorName"] == "cost per sample"
    assert subtrees["error"][-1] == pytest.approx(4 / 6, rel=1e-5)  # all are called b
    priors = CARTClassifier(priors={"a": 0.5, "b": 0.5}, max_depth=1).fit(X, labels)
    subtrees = data_of(priors.export_html(X=X, y=labels))["subtrees"]
    assert subtrees["error"] == pytest.approx(subtrees["given"], rel=1e-5)


def test_rows_are_taken_at_equal_distances_and_only_where_the_tree_looks():
    import pandas as pd

    X = pd.DataFrame({"used": np.arange(100, dtype=np.float32) + np.float32(0.1), "idle": 0.0, "colour": ["red", "blue"] * 50})
    X.loc[99, "colour"] = None
    y = np.where(X["used"] < 30, "low", np.where(X["colour"] == "red", "red", "blue"))
    model = CARTClassifier(max_depth=2).fit(X, y)
    rows = data_of(model.export_html(X=X, y=y, max_rows=12))["rows"]
    assert (rows["row"][0], rows["row"][-1], len(rows["row"]), rows["of"]) == (0, 99, 12, 100)
    assert rows["feature"] == [0, 2]
    assert rows["single"] == [True, False]
    assert rows["cell"][0][0] == 0.1  # the shortest number that is the same in single precision
    assert rows["cell"][1][-1] == 0  # missing
    assert rows["truth"] == [str(y[row]) for row in rows["row"]]
    assert data_of(model.export_html(X=X, max_rows=0))["rows"] is None


def test_missing_numbers_are_rows_with_gaps():
    X = [[1.0], [float("nan")], [3.0], [4.0]]
    rows = data_of(CARTClassifier().fit(X, ["a", "a", "b", "b"]).export_html(X=X))["rows"]
    assert rows["cell"] == [[1, None, 3, 4]]
    assert rows["truth"] is None


def test_opens_what_is_asked_for():
    tree = house_tree()
    assert data_of(page_of(tree))["open"] == [0, 1]
    assert not data_of(page_of(tree))["openIsAsked"]
    assert data_of(page_of(tree, max_depth=1))["open"] == [0]
    assert data_of(page_of(tree, max_nodes=3))["open"] == [0]
    assert data_of(page_of(tree, max_depth=0))["open"] == []


def test_thresholds_read_as_they_do_in_text():
    X = [[0.1 + 0.2], [0.7], [1e-7], [3e-7]]
    model = CARTClassifier().fit(X, ["a", "b", "c", "a"])
    data, text = data_of(model.export_html()), model.export_text()
    shown = [words or repr(number) for words, number in zip(data["thresholdText"], data["threshold"], strict=True)]
    assert shown
    assert all(f"<= {words}" in text for words in shown)


def test_several_targets_have_a_part_each():
    X, Y = [[1.0], [2.0], [3.0], [4.0]], [["a", "x"], ["a", "y"], ["b", "y"], ["c", "y"]]
    model = CARTClassifier().fit(X, Y)
    data = data_of(model.export_html(X=X))
    assert [target["classes"] for target in data["targets"]] == [["a", "b", "c"], ["x", "y"]]
    assert data["subtrees"]["errorName"] == "mean impurity"
    with pytest.raises(ValueError, match="several targets"):
        model.export_html(X=X, y=Y)


def test_bad_input_is_refused():
    X, y = [[1.0], [2.0]], ["a", "b"]
    model = CARTClassifier().fit(X, y)
    with pytest.raises(ValueError, match="y without X"):
        model.export_html(y=y)
    with pytest.raises(ValueError, match=r"max_rows=-1: must be an integer >= 0"):
        model.export_html(X=X, max_rows=-1)
    with pytest.raises(ValueError, match="max_nodes=0"):
        model.export_html(max_nodes=0)
    with pytest.raises(ValueError, match="X has 2 samples, but y has 1"):
        model.export_html(X=X, y=["a"])
    with pytest.raises(ValueError, match="did not know"):
        model.export_html(X=X, y=["a", "c"])
