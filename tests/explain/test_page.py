"""The data of the interactive page, and what holds it; `test_page_browser.py` looks at it in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import SCHEMA, flat, house_tree, leaf, play_tree, random_trees

from fasttree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    GAMRegressor,
    M5Regressor,
    RandomForestRegressor,
    TreeClassifier,
)
from fasttree._explain.page.common import document as assembling
from fasttree._explain.page.lean import lean_markup, lean_script, lean_style, together
from fasttree._explain.page.page import export_html
from fasttree._explain.pictures.colours import DARK, LIGHT, contrast, mix
from fasttree.pruning import CostComplexity

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
    assert (codes, branches) == (tree.categories_code.tolist(), tree.categories_branch.tolist())
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
        pruned = model.prune(CostComplexity(alpha=float(alpha)))
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
    with pytest.raises(ValueError, match="y has 1 columns: the tree has 2 targets, a column each"):
        model.export_html(X=X, y=["a", "a", "b", "c"])
    with pytest.raises(ValueError, match="competing splits need one"):
        model.export_html(X=X, y=Y, n_competing=2)


def test_several_targets_have_charts_each():
    X, Y = [[1.0], [2.0], [3.0], [4.0]], [["a", "x"], ["a", "y"], ["b", "y"], ["c", "y"]]
    data = data_of(CARTClassifier(max_depth=1).fit(X, Y).export_html(X=X, y=Y))
    assert data["subtrees"]["given"] is None  # errors of several targets have no common measure
    assert data["rows"]["truth"] is None
    one, two = data["charts"]
    for target, chart in enumerate((one, two)):
        alone = CARTClassifier(max_depth=1).fit(X, [row[target] for row in Y])
        counts = [pair for column in chart["nodes"][0]["count"] for pair in pairs(column)]
        totals = [sum(n for key, n in counts if key == k) for k in range(len(alone.classes_))]
        assert totals == np.unique([row[target] for row in Y], return_counts=True)[1].tolist()
    numbers = np.column_stack([[1.0, 2.0, 3.0, 4.0], [40.0, 30.0, 20.0, 10.0]])
    one, two = data_of(CARTRegressor(max_depth=1).fit(X, numbers).export_html(X=X, y=numbers))["charts"]
    assert (one["range"], two["range"]) == ([1, 4], [10, 40])
    assert (one["nodes"][0]["mean"], two["nodes"][0]["mean"]) == ([1.5, 3.5], [35, 15])


def test_bad_input_is_refused():
    X, y = [[1.0], [2.0]], ["a", "b"]
    model = CARTClassifier().fit(X, y)
    with pytest.raises(ValueError, match="y is given without X"):
        model.export_html(y=y)
    with pytest.raises(ValueError, match=r"max_rows=-1: must be an integer >= 0"):
        model.export_html(X=X, max_rows=-1)
    with pytest.raises(ValueError, match="max_nodes=0"):
        model.export_html(max_nodes=0)
    with pytest.raises(ValueError, match="X has 2 samples, but y has 1"):
        model.export_html(X=X, y=["a"])
    with pytest.raises(ValueError, match="not in the fit"):
        model.export_html(X=X, y=["a", "c"])
    with pytest.raises(ValueError, match="n_competing=-1"):
        model.export_html(X=X, y=y, n_competing=-1)
    with pytest.raises(ValueError, match="n_competing=2: competing splits need X and y"):
        model.export_html(X=X, n_competing=2)


# --- the scripts


SCRIPTS = sorted(Path(assembling.__file__).parents[1].rglob("*.js"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_lose_comments_and_white_space_alone(path):
    source = path.read_text(encoding="utf-8")
    served = lean_script(source)
    kept = re.sub(r"^ *(//[^\n]*|/\*.*?\*/)$|(?<=\S) // [^\n]*$", "", source, flags=re.MULTILINE | re.DOTALL)
    assert "".join(served.split()) == "".join(kept.split())
    assert re.findall(r"\w+", served) == re.findall(r"\w+", kept)  # no two words became one
    assert lean_script(served) == served


def test_a_page_from_a_wheel_is_the_same(tmp_path, monkeypatch):
    # whose files are one, and have lost their comments when it was built
    folder, parts = Path(assembling.__file__).parents[1], {}
    for suffix, lean in {".js": lean_script, ".css": lean_style, ".html": lean_markup}.items():
        for path in folder.rglob(f"*{suffix}"):
            parts[path.relative_to(folder).as_posix()] = lean(path.read_text(encoding="utf-8"))
    expected = [page_of(play_tree()), GAMRegressor(n_bags=1, max_iter=2).fit([[0.0], [1.0]] * 9, [0.0, 1.0] * 9).export_html()]
    (tmp_path / "parts.txt").write_text(together(parts), encoding="utf-8")
    monkeypatch.setattr(assembling, "resources", SimpleNamespace(files=lambda package: tmp_path))
    found = [page_of(play_tree()), GAMRegressor(n_bags=1, max_iter=2).fit([[0.0], [1.0]] * 9, [0.0, 1.0] * 9).export_html()]
    assert found == expected


def test_texts_templates_and_patterns_of_a_script_stay_as_they_are():
    source = """
    const a = "x  //  y" + 'it\\'s  /* no */';  // a comment
    const b = `${c ? `if  ${ d }` : "}  `"}  // ${1 + +e}`; /* two
      lines */ const r = text.replace(/[/"]  \\/ {2}/g, " ") / 2 / f;
    if (a)
      return - -b
    else i++
    """
    assert lean_script(source) == (
        """const a="x  //  y"+'it\\'s  /* no */';const b=`${c ? `if  ${ d }` : "}  `"}  // ${1 + +e}`;"""
        """const r=text.replace(/[/"]  \\/ {2}/g," ")/2/f;if(a)\nreturn- -b\nelse i++\n"""
    )


def test_a_style_loses_comments_and_white_space():
    assert lean_style("/* a */\na b,\nc > d { e: calc(1px + 2px); f: g h;\n}\n") == "a b,c > d{e:calc(1px + 2px);f:g h}\n"


def test_scripts_and_styles_are_only_where_they_are_needed():
    X, y = [[1.0], [2.0], [3.0], [4.0]], ["a", "a", "b", "b"]
    model = CARTClassifier().fit(X, y)
    only_leaf = page_of(flat(leaf([1.0, 0.0]), "classification"))
    pages = [only_leaf, model.export_html(), model.export_html(X=X, y=y), model.export_html(X=X, y=y, n_competing=1)]
    with_models = M5Regressor().fit(*lines_and_gaps())
    pages.append(with_models.export_html(X=lines_and_gaps()[0], y=lines_and_gaps()[1], n_competing=1))
    for words, first in [
        (("drawIcicle(){", "presentStep(", "#icicle{"), 1),
        (("chartBlock(", ".mini ", ".split "), 2),
        (("splitsBlock(",), 3),
        (("MOST_FORMULA",), 4),
    ]:
        for word in words:
            assert [word in document for document in pages] == [i >= first for i in range(5)], word


def test_a_page_with_everything_is_not_much_larger():
    X, y = [[1.0], [2.0], [3.0], [4.0]], ["a", "a", "b", "b"]
    assert len(CARTClassifier().fit(X, y).export_html(X=X, y=y, n_competing=1).encode()) < 126_500


# --- the values of the nodes on other samples


def values_on(model: Any, X: Any, y: Any) -> npt.NDArray[Any]:
    """Return the samples in each node, and in the columns after them the weights of the classes or the means."""
    data, tree = data_of(model.export_html(X=X, y=y))["given"], model.tree_
    values = np.zeros((tree.node_count, tree.n_values))
    for node in reversed(range(tree.node_count)):
        entry = data["value"][node]
        if tree.task == "regression":
            values[node] = entry
        elif entry != 0:
            values[node, entry[::2]] = entry[1::2]
        else:
            values[node] = values[tree.first_child[node] :][: tree.n_branches[node]].sum(axis=0)
    return np.column_stack([data["samples"], values])


def some_samples(n: int, seed: int) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 3))
    return X, (X[:, 0] + generator.normal(size=n) > 0).astype(int) + (X[:, 1] > 1)


@pytest.mark.parametrize("priors", [None, {0: 0.5, 1: 0.3, 2: 0.2}])
def test_other_samples_are_counted_by_class_in_each_node(priors):
    model = CARTClassifier(max_leaf_nodes=12, priors=priors).fit(*some_samples(200, 0))
    X, y = some_samples(60, 1)
    found = values_on(model, X, y)
    path = model.decision_path(X).toarray()
    assert found[:, 0].tolist() == path.sum(axis=0).tolist()
    of_all = found[0, 1:].sum()
    for c in range(3):
        factor = 1 if priors is None else priors[c] * of_all / (y == c).sum()
        np.testing.assert_allclose(found[:, 1 + c], factor * path[y == c].sum(axis=0), rtol=1e-5)


@pytest.mark.parametrize(("criterion", "middle"), [("squared_error", np.mean), ("absolute_error", np.median)])
def test_other_samples_have_a_mean_in_each_node(criterion, middle):
    X, y = some_samples(200, 0)
    model = CARTRegressor(max_leaf_nodes=40, criterion=criterion).fit(X, y + X[:, 2])
    X, y = some_samples(50, 1)
    found = values_on(model, X, y + X[:, 2])
    for node, reached in enumerate(model.decision_path(X).toarray().T):
        assert found[node, 0] == reached.sum()
        expected = middle((y + X[:, 2])[reached]) if reached.any() else 0
        np.testing.assert_allclose(found[node, 1], expected, rtol=1e-5)
    assert 0 in found[:, 0]


def test_other_samples_of_several_targets_are_side_by_side():
    X, y = some_samples(200, 0)
    model = CARTClassifier(max_leaf_nodes=6).fit(X, np.column_stack([y, y > 0]))
    X, y = some_samples(50, 1)
    found = values_on(model, X, np.column_stack([y, y > 0]))
    assert found[0].tolist() == [50, *np.bincount(y, minlength=3), (y == 0).sum(), (y > 0).sum()]


def test_the_samples_of_the_fit_are_not_counted_again():
    X, y = some_samples(200, 0)
    model = CARTClassifier(max_leaf_nodes=6).fit(X, y)
    assert data_of(model.export_html(X=X, y=y))["given"] is None
    assert data_of(model.export_html(X=X))["given"] is None
    assert data_of(model.export_html())["given"] is None
    weighted = CARTClassifier(max_leaf_nodes=6, class_weight="balanced").fit(X, y)
    assert data_of(weighted.export_html(X=X[::2], y=y[::2]))["given"] is None


# --- the charts of samples


def charts_of(model: Any, X: Any, y: Any) -> dict[int, Any]:
    charts = data_of(model.export_html(X=X, y=y))["charts"][0]
    return {chart["node"]: chart for chart in charts["nodes"]} | {"all": charts}


def pairs(flat_list: list[int]) -> list[tuple[int, int]]:
    return list(zip(flat_list[::2], flat_list[1::2], strict=True))


@given(
    samples=st.lists(
        st.tuples(st.one_of(st.none(), st.integers(-5, 40), st.floats(-3, 3)), st.integers(0, 2)), min_size=2, max_size=50
    )
)
def test_the_bars_of_a_number_meet_at_the_threshold_and_count_every_sample(samples):
    X = [[np.nan if x is None else float(x)] for x, _ in samples]
    y = [label for _, label in samples]
    model = CARTClassifier(max_depth=1, missing="surrogate").fit(X, y)
    if model.tree_.node_count == 1 or not np.isfinite(model.tree_.threshold[0]):
        return
    chart = charts_of(model, X, y)[0]
    threshold = model.tree_.threshold[0]
    edges = threshold + (np.arange(chart["below"] + chart["above"] + 1) - chart["below"]) * chart["step"]
    assert len(chart["count"]) == len(edges) - 1 + ("lost" in chart)
    known = [(x, label) for (x,), label in zip(X, y, strict=True) if not np.isnan(x)]
    labels = model.classes_.tolist()
    for i in range(len(edges) - 1):
        at_ends = (i == 0, i == len(edges) - 2)
        here = [label for x, label in known if (edges[i] < x or at_ends[0]) and (x <= edges[i + 1] or at_ends[1])]
        if not any(abs(x - edge) < 1e-9 and edge != threshold for x, _ in known for edge in edges):  # rounding decides those
            assert dict(pairs(chart["count"][i])) == {labels.index(label): here.count(label) for label in set(here)}
    sides = np.zeros((2, len(labels)))
    for i, flat_list in enumerate(chart["count"][: len(edges) - 1]):
        for label, n in pairs(flat_list):
            sides[int(i >= chart["below"]), label] += n
    for x, label in known:
        sides[int(x > threshold), labels.index(label)] -= 1
    assert not sides.any()
    assert chart.get("lost", 0) == len(X) - len(known)


def test_outliers_are_in_the_outer_bars():
    X = np.append(np.arange(998.0), [-1e6, 1e6])[:, None]
    y = (X[:, 0] > 500.5).astype(int)
    chart = charts_of(CARTClassifier().fit(X, y), X, y)[0]
    assert chart["step"] == 41
    assert chart["isCut"] == [1, 1]
    assert sum(n for flat_list in chart["count"] for _, n in pairs(flat_list)) == 1000
    assert "isCut" not in charts_of(CARTClassifier().fit(X[:998], y[:998]), X[:998], y[:998])[0]


def test_categories_have_a_column_each_by_branch_and_rare_ones_share():
    X = [[f"c{i:02}"] for i in range(40) for _ in range(40 - i)] + [[None]] * 3
    y = [i % 2 for i in range(40) for _ in range(40 - i)] + [0] * 3
    model = CARTClassifier(max_depth=1, missing="surrogate").fit(X, y)
    chart = charts_of(model, X, y)[0]
    single = [codes for codes in chart["codes"] if isinstance(codes, int)]
    assert len(single) == 24 + 1
    assert chart["codes"][-1] == 0
    assert sorted(code for codes in chart["codes"] for code in (codes if isinstance(codes, list) else [codes])) == list(range(41))
    assert chart["branch"] == [*sorted(chart["branch"][:-1]), -2]
    for codes, flat_list in zip(chart["codes"], chart["count"], strict=True):
        together = codes if isinstance(codes, list) else [codes]
        assert sum(n for _, n in pairs(flat_list)) == sum(41 - code if code else 3 for code in together)


def test_regression_has_counts_on_a_grid_and_means():
    X, y = np.arange(400.0)[:, None], np.repeat([1.0, 5.0], 200)
    model = CARTRegressor().fit(X, y)
    charts = charts_of(model, X, y)
    assert charts["all"]["range"] == [1, 5]
    root, rows = charts[0], charts["all"]["rows"]
    assert root["mean"] == [1, 5]
    assert {cell % rows for cell, _ in pairs(root["cell"])} == {0, rows - 1}
    assert sum(n for _, n in pairs(root["cell"])) == 400
    assert pairs(charts[1]["cell"]) == [(0, 200)]  # a leaf has its targets


def test_intervals_missing_values_and_a_branch_per_category_have_charts():
    X = np.arange(60.0)[:, None]
    y = np.repeat([0, 1, 2, 0], 15)
    model = TreeClassifier(recipe={"continuous": "intervals", "missing": "error"}).fit(X, y)
    chart = charts_of(model, X, y)[0]
    assert set(model.tree_.cuts_of(0)) <= set(chart["edges"])
    rows = [["a"], ["b"], ["c"], ["a"], [None]]
    model = TreeClassifier(recipe={"nominal": "declared", "missing": "fractional"}).fit(rows, [0, 1, 0, 0, 1])
    chart = charts_of(model, rows, [0, 1, 0, 0, 1])[0]
    assert (chart["codes"], chart["branch"]) == ([1, 2, 3, 0], [0, 1, 2, -2])
    gaps = [[None], [None], [1.0], [2.0]]
    model = CARTClassifier(missing="branch").fit(gaps, ["a", "a", "b", "b"])
    assert charts_of(model, gaps, ["a", "a", "b", "b"])[0] == {"node": 0, "isKnown": 1, "count": [[1, 2], [0, 2]]}


def test_the_charts_do_not_grow_with_the_samples_and_depend_on_no_order():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = (X.sum(axis=1) + rng.normal(size=20_000) > 0).astype(int)
    model = CARTClassifier().fit(X[:4000], y[:4000])
    few, many = (json.dumps(data_of(model.export_html(X=X[:n], y=y[:n], max_rows=0))["charts"]) for n in (2000, 20_000))
    assert len(many) < 1.5 * len(few) < 400_000
    order = rng.permutation(20_000)
    assert data_of(model.export_html(X=X[order], y=y[order], max_rows=0))["charts"] == json.loads(many)
    assert data_of(model.export_html(X=X))["charts"] is None


@pytest.mark.parametrize("extreme", [1e308, 5e-324, 1e17])
def test_extreme_numbers_have_a_page(extreme):
    for X in ([[-extreme], [1.0], [2.0], [extreme]], [[extreme], [extreme], [-extreme], [-extreme]]):
        for model in (CARTClassifier(), CARTRegressor()):
            fitted = model.fit(X, [0, 0, 1, 1])
            charts = data_of(fitted.export_html(X=X, y=[0, 0, 1, 1]))["charts"]
            for chart in charts[0]["nodes"] if charts else []:
                counted = [n for each in chart.get("count", [chart.get("cell")]) for _, n in pairs(each)]
                assert sum(counted) == fitted.tree_.n_samples[chart["node"]]
    y = [-min(extreme, 1e60), 0.0, 1.0, min(extreme, 1e60)]
    assert data_of(CARTRegressor().fit([[1.0], [2.0], [3.0], [4.0]], y).export_html(X=[[1.0]] * 4, y=y))


# --- competing splits


def test_competing_splits_are_those_of_the_library():
    import pandas as pd

    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.choice(["x", "y", "z"], 200), "c": rng.integers(0, 5, 200)})
    X.loc[:9, "a"] = None
    y = np.where((X["a"] > 0) ^ (X["b"] == "x"), "yes", "no")
    model = CARTClassifier(missing="surrogate", max_depth=2).fit(X, y)
    found = data_of(model.export_html(X=X, y=y, n_competing=2))["splits"]
    assert [entry["node"] for entry in found] == np.flatnonzero(model.tree_.n_branches).tolist()
    for entry in found:
        expected = model.competing_splits(entry["node"], X, y)[:2]
        assert [split["gain"] for split in entry["splits"]] == pytest.approx([split.gain for split in expected], rel=1e-5)
        assert [split["feature"] for split in entry["splits"]] == [split.feature for split in expected]
        assert entry["splits"][0]["isOwn"]
        for split in entry["splits"]:
            n = int(model.decision_path(X)[:, [entry["node"]]].sum())
            counted = [n for side in [*split["sides"], split["lost"]] for _, n in pairs(side)]
            assert sum(counted) == n
            edited = eval(f"model.split({entry['node']}, {split['python']}, X=X, y=y)", {"model": model, "X": X, "y": y})
            assert edited.tree_.feature[entry["node"]] == split["feature"]
            assert edited.tree_.gain[entry["node"]] == pytest.approx(split["gain"], rel=1e-5)
    with pytest.raises(ValueError, match="do not compete by gain"):
        C45Classifier().fit(X, y).export_html(X=X, y=y, n_competing=1)


def test_competing_splits_of_numbers_have_means_by_side():
    X, y = [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]], [1.0, 1.0, 4.0, 6.0]
    (entry,) = data_of(CARTRegressor(max_depth=1).fit(X, y).export_html(X=X, y=y, n_competing=5))["splits"]
    assert [split["sides"] for split in entry["splits"]] == [[[2, 1], [2, 5]], [[2, 2.5], [2, 3.5]]]
    assert [split["python"] for split in entry["splits"]] == ["'x0', 2.5", "'x1', 0.5"]


def test_a_palette_gives_the_colours_and_how_full_they_may_be_below_text():
    X, y = [[1.0], [2.0], [3.0]], ["a", "b", "c"]
    model = CARTClassifier().fit(X, y)
    (plain,), (target,) = data_of(model.export_html())["targets"], data_of(model.export_html(palette={"b": "#000000"}))["targets"]
    assert target["colours"] == [plain["colours"][0], "#000000", plain["colours"][2]]
    assert "fullest" not in plain
    for colour, fullest in zip(target["colours"], target["fullest"], strict=True):
        for theme in (LIGHT, DARK):
            assert contrast(mix(colour, theme.paper, fullest), theme.ink) >= 4.4
    assert data_of(CARTRegressor().fit(X, [1, 2, 3]).export_html(palette="#aa0011"))["targets"][0]["colours"] == ["#aa0011"]
    with pytest.raises(ValueError, match="palette: 'd' is not a class"):
        model.export_html(palette={"d": "#000000"})


def test_the_page_of_a_forest_holds_the_trees_that_are_asked_for():
    X = np.arange(24.0)[:, None]
    forest = RandomForestRegressor(n_estimators=12, max_depth=2, random_state=0).fit(X, X[:, 0])

    def numbers(page):
        data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
        return [tree["number"] for tree in data["trees"]] if "trees" in data else data["title"]

    assert numbers(forest.export_html()) == list(range(10))
    nearest = numbers(forest.export_html(X=X))
    best = forest.most_representative_tree(X).tree_
    assert forest.ensemble_.tree(nearest[0]) == best
    assert len(set(nearest)) == 10
    assert numbers(forest.export_html((11, 0), title="Grove")) == [11, 0]
    assert numbers(forest.export_html(3, title="Grove")) == "Grove: tree 3"
    assert forest.export_html(3, title="Grove: tree 3") != forest.export_html(4)
    for wrong in (12, -1, [], [0, "a"], 1.5, "ab", True):
        with pytest.raises(ValueError, match="must be numbers from 0 to 11, as the forest has 12 trees"):
            forest.export_html(wrong)
    with pytest.raises(ValueError, match="names a tree twice"):
        forest.export_html([1, 1])
    with pytest.raises(ValueError, match="y is given without X"):
        forest.export_html(0, y=X[:, 0])


# --- linear models in leaves


def lines_and_gaps() -> tuple[Any, Any]:
    import pandas as pd

    rng = np.random.default_rng(4)
    X = pd.DataFrame({"width": rng.normal(size=300), "height": rng.normal(size=300), "town": rng.choice(["Ulm", "Bonn"], 300)})
    y = np.where(X["width"] > 0, 8 * X["height"] - 40, 5 + 3 * X["width"]) + 20 * (X["town"] == "Ulm") + rng.normal(size=300)
    X.loc[::13, "height"] = np.nan
    return X, pd.Series(y, name="price")


def test_leaves_have_their_formulas_and_all_digits():
    X, y = lines_and_gaps()
    model = M5Regressor().fit(X, y)
    found, models = data_of(model.export_html(decimals=3))["models"], model.tree_.models
    text = model.export_text(decimals=3)
    for node in model.tree_.leaves().tolist():
        assert found["text"][node] in text
        own = slice(found["start"][node], found["start"][node + 1])
        assert list(zip(found["column"][own], found["coefficient"][own], strict=True)) == models.terms(node)
        assert [found[name][node] for name in ("intercept", "lower", "upper")] == [
            getattr(models, name)[node] for name in ("intercept", "lower", "upper")
        ]
    assert found["columns"]["1"] == [1, 0, "height", models.filling[1]]


def test_indicators_have_the_category_of_their_one():
    X, y = lines_and_gaps()
    model = M5Regressor(indicators=True).fit(X, y)
    columns = data_of(model.export_html())["models"]["columns"]
    of_towns = {name: code for feature, code, name, _ in columns.values() if feature == 2}
    assert of_towns
    assert all(name == f"[town = {['Bonn', 'Ulm'][code - 1]}]" for name, code in of_towns.items())
    assert {2} <= set(data_of(model.export_html(X=X))["rows"]["feature"])


def test_an_inner_node_has_the_model_that_folding_gives_it():
    X, y = lines_and_gaps()
    model = M5Regressor(extrapolation=None).fit(X, y)
    found = data_of(model.export_html())["models"]
    assert set(found["lower"]) == {None}
    inner = np.flatnonzero(model.tree_.n_branches).tolist()
    assert len(inner) > 1
    for node in inner:
        folded = model.collapse(node).tree_
        number = data_of(model.collapse(node).export_html())["models"]["text"].index(found["text"][node])
        assert folded.n_samples[number] == model.tree_.n_samples[node]
        own = slice(found["start"][node], found["start"][node + 1])
        assert list(zip(found["column"][own], found["coefficient"][own], strict=True)) == folded.models.terms(number)
        assert found["intercept"][node] == folded.models.intercept[number]


def test_a_tree_with_models_has_no_sequence_of_subtrees_but_the_error_of_its_predictions():
    X, y = lines_and_gaps()
    model = M5Regressor().fit(X[:200], y[:200])
    subtrees = data_of(model.export_html(X=X[200:], y=y[200:]))["subtrees"]
    assert subtrees["leaves"] == [model.tree_.n_leaves]
    assert (subtrees["collapsed"], subtrees["error"]) == ([[]], [])
    assert subtrees["given"] == [pytest.approx(np.mean((model.predict(X[200:]) - y[200:]) ** 2))]
    assert data_of(model.export_html(X=X))["subtrees"]["given"] is None


def test_rows_have_the_features_of_models_too():
    x = np.linspace(0, 1, 60)
    X = np.column_stack([x, x[::-1] ** 2, np.zeros(60)])
    model = M5Regressor().fit(X, 3 * x)
    assert model.tree_.n_leaves == 1
    assert data_of(model.export_html(X=X))["rows"]["feature"] == model.tree_.used == [0]


def test_the_chart_of_a_leaf_lies_along_the_term_that_varies_most():
    X, y = lines_and_gaps()
    model = M5Regressor().fit(X, y)
    found, ends = charts_of(model, X, y), model.apply(X)
    columns = X[["width", "height"]].to_numpy()
    for node in model.tree_.leaves().tolist():
        here, chart = columns[ends == node], found[node]
        filled = np.where(np.isnan(here), model.tree_.models.filling[:2], here)
        spread = {j: abs(b) * filled[:, j].std() for j, b in model.tree_.models.terms(node)}
        assert chart["along"] == max(spread, key=spread.__getitem__)
        others = [j for j in spread if j != chart["along"]]
        assert chart["at"][::2] == others
        np.testing.assert_allclose(chart["at"][1::2], filled[:, others].mean(axis=0))
        assert sum(n for _, n in pairs(chart["cell"])) == len(here)
        assert chart.get("lost", 0) == np.isnan(here[:, chart["along"]]).sum()


def test_a_leaf_whose_model_is_a_constant_has_the_chart_of_its_targets():
    X, y = np.arange(40.0)[:, None], np.repeat([3.0, 9.0], 20)
    model = M5Regressor(smoothing=0).fit(X, y)
    assert [model.tree_.models.terms(node) for node in model.tree_.leaves()] == [[], []]
    assert all("along" not in charts_of(model, X, y)[node] for node in model.tree_.leaves().tolist())


def test_splits_that_a_tree_with_models_cannot_take_are_listed_without_code():
    X, y = lines_and_gaps()
    model = M5Regressor().fit(X, y)
    splits = data_of(model.export_html(X=X, y=y, n_competing=3))["splits"]
    assert splits
    assert {split["python"] for entry in splits for split in entry["splits"]} == {None}


@pytest.mark.parametrize("extreme", [1e308, 5e-324, 1e17])
def test_extreme_samples_have_a_page_of_models(extreme):
    X, y = lines_and_gaps()
    model = M5Regressor(extrapolation=None).fit(X, y)
    X.loc[::7, "height"] = extreme
    X.loc[1::7, "width"] = -extreme
    data = data_of(model.export_html(X=X, y=y))
    assert len(data["rows"]["row"]) == 200
    assert (data["subtrees"]["given"] is None) == (extreme == 1e308)  # the squares of its errors overflow
