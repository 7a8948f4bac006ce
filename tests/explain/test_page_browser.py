"""The interactive page in a real browser: what it shows, how it is moved, and that it predicts as the library does."""

from __future__ import annotations

import itertools
import json
import time
import xml.etree.ElementTree as ElementTree
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import SCHEMA, chain, flat, leaf, random_trees, split

import fasttree
from fasttree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    CHAIDClassifier,
    M5Regressor,
    RandomForestClassifier,
    RandomForestRegressor,
    Recipe,
    TreeClassifier,
    TreeRegressor,
)
from fasttree._data.encode import encode_table
from fasttree._data.schema import Schema
from fasttree._explain.page.page import export_html
from fasttree._explain.pictures.colours import contrast
from fasttree._model.arrays import CATEGORY
from fasttree._model.tree import Tree
from fasttree._model.walks import predict_class, predict_value
from fasttree.pruning import CostComplexity

CLASSES = np.array(["no", "perhaps", "yes"])
sync_api = pytest.importorskip("playwright.sync_api", reason="the page's tests need playwright: pip install 'fasttree[test]'")


def wait_until(page: Any, expression: str, argument: Any = None) -> None:
    """Wait until an expression is true; the page may load itself anew.

    The content policy of the page forbids the polling of ``wait_for_function``.
    """
    deadline = time.monotonic() + 30
    while True:
        with suppress(sync_api.Error):  # it is being loaded
            if page.evaluate(expression, argument):
                return
        assert time.monotonic() < deadline, f"still not true: {expression}"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def script(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A page whose functions walk the trees of other pages' data."""
    path = tmp_path_factory.mktemp("script") / "page.html"
    path.write_text(export_html(chain(1), one_feature()), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    return page


def one_feature() -> Schema:
    return Schema(SCHEMA.features[:1])


def data_of(document: str) -> Any:
    return json.loads(document.split('id="data">')[1].split("</script>")[0])


def iris(**parameters: Any) -> tuple[CARTClassifier, Any, Any]:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True, as_frame=True)
    y = y.map(dict(enumerate(["setosa", "versicolor", "virginica"])))
    return CARTClassifier(**parameters).fit(X, y), X, y


def labels(page: Any) -> list[str]:
    return [item.get_attribute("aria-label") for item in page.get_by_role("treeitem").all()]


def focused(page: Any) -> int:
    return int(page.evaluate("document.activeElement.id.slice(5)"))


# --- it predicts as the library does

WALKS = """([data, samples]) => {
  const tree = readTree(data);
  return samples.map((cells) => {
    const found = predict(tree, walk(tree, cells.map((cell) => (cell === null ? NaN : cell))));
    return { found: Array.from(found), answer: tree.isRegression ? [] : answersTo(tree, found) };
  });
}"""


def assert_walks_alike(script: Any, document: str, tree: Tree, table: Any) -> None:
    block = table.block(0, table.n_samples).astype(float)
    samples = [[None if np.isnan(cell) else cell for cell in row] for row in block.tolist()]
    answers = script.evaluate(WALKS, [data_of(document), samples])
    np.testing.assert_allclose([answer["found"] for answer in answers], predict_value(tree, table), rtol=1e-12, atol=1e-12)
    if tree.task == "classification" and tree.outputs is None:
        assert [answer["answer"][0] for answer in answers] == predict_class(tree, table).tolist()


CELLS = [
    [None, -150.5, -40.5, -1.0, 0.0, 0.05, 3.0, 60.0, 1e9],
    [None, "small", "medium", "large", "huge"],
    [None, "Aachen", "Bonn", "Köln", "Ulm", "Rom"],
    [None, False, True],
]


@settings(max_examples=60)
@given(tree=random_trees(), random=st.randoms(use_true_random=False))
def test_walks_every_kind_of_test_as_the_library_does(script, tree, random):
    columns = [[random.choice(cells) for _ in range(12)] for cells in CELLS]
    rows = [*map(list, zip(*columns, strict=True)), *([cells[1] for cells in CELLS] for _ in range(1))]
    # values at thresholds, and within soft ones
    rows += [[threshold + step, *rows[0][1:]] for threshold in tree.threshold[tree.feature == 0][:4] for step in (0, 0.1, -0.2)]
    rows = [[None if isinstance(cell, float) and np.isnan(cell) else cell for cell in row] for row in rows]
    table = encode_table(rows, Schema(SCHEMA.features))
    document = export_html(tree, SCHEMA, CLASSES if tree.task == "classification" else None)
    assert_walks_alike(script, document, tree, table)


def table_with_gaps() -> tuple[Any, Any, Any]:
    import pandas as pd

    random = np.random.default_rng(3)
    n = 300
    a, b = random.normal(size=n), random.normal(size=n).astype(np.float32)
    colour = random.choice(["red", "green", "blue"], n)
    y = np.where((a + 0.3 * b > 0) ^ (colour == "red"), "yes", "no").astype(object)
    X = pd.DataFrame({"a": a, "b": b, "near a": a + random.normal(size=n) / 3, "colour": colour})
    for name in X:
        X.loc[random.random(n) < 0.15, name] = None
    return X, y, a + b


RECIPES = {
    "own branch": {"missing": "branch"},
    "surrogates": {"missing": "surrogate"},
    "shares": {"missing": "fractional"},
    "categories": {"missing": "fractional", "nominal": "declared"},
    "intervals": {"missing": "fractional", "continuous": "intervals"},
}


@pytest.mark.parametrize("recipe", RECIPES)
def test_walks_grown_trees_as_the_library_does(script, recipe):
    X, y, target = table_with_gaps()
    models = [TreeClassifier(recipe=Recipe(**RECIPES[recipe])).fit(X, y)]
    if recipe != "intervals":  # which are of classes
        models.append(TreeRegressor(recipe=Recipe(impurity="squared_error", **RECIPES[recipe])).fit(X, target))
    for model in models:
        for table in (X, X.assign(colour=X["colour"].where(X["a"] > 0, "violet"))):  # which no training sample was
            assert_walks_alike(script, model.export_html(), model.tree_, model._encode_table(table))


def test_walks_soft_thresholds_losses_and_several_targets_as_the_library_does(script):
    X, y, target = table_with_gaps()
    models = [
        C45Classifier(soft_thresholds=True).fit(X, y),
        CARTClassifier(missing="fractional", loss_matrix=[[0, 1], [4, 0]]).fit(X, y),
        CARTClassifier().fit(X, np.column_stack([y, np.where(target > 0, "up", "down")])),
        CARTRegressor().fit(X, np.column_stack([target, -target])),
    ]
    for model in models:
        assert_walks_alike(script, model.export_html(), model.tree_, model._encode_table(X))


def test_rows_are_followed_to_the_predictions_of_the_library(show):
    X, y, _ = table_with_gaps()
    model = CARTClassifier(missing="surrogate", min_samples_leaf=5).fit(X, y)
    page = show(model.export_html(X=X, y=y, max_rows=40))
    rows = data_of(model.export_html(X=X, y=y, max_rows=40))["rows"]["row"]
    assert len(rows) == 40
    passed = page.evaluate(
        """tree.rows.row.map((_, i) => {
          followRow(i);
          return [[...state.visits.keys()], Array.from(predict(tree, [...state.visits.values()]))];
        })"""
    )
    indicator = model.decision_path(X.iloc[rows])
    for i, (nodes, shares) in enumerate(passed):
        assert sorted(nodes) == indicator[i].indices.tolist()
        assert shares == pytest.approx(model.predict_proba(X.iloc[rows[i : i + 1]])[0], abs=1e-12)


# --- what it shows


def test_says_the_path_the_prediction_and_its_probabilities(show):
    model, X, y = iris(max_depth=3)
    page = show(model.export_html(X=X, y=y))
    page.get_by_role("tab", name="Sample").click()
    page.get_by_label("Row of the data").select_option(index=120)
    panel = page.get_by_role("tabpanel", name="Sample")
    assert "Predicts virginica, " in panel.inner_text()
    assert "The data say" in panel.inner_text()
    assert panel.get_by_role("listitem").count() == 4
    page.get_by_role("spinbutton", name="petal length (cm)").fill("1.5")
    assert "Predicts setosa, 100 %" in panel.inner_text()
    assert "petal length (cm) is 1.5: ≤ 2.45" in panel.inner_text()
    assert page.locator(".node.passed").count() == 2
    page.get_by_role("spinbutton", name="petal length (cm)").fill("")
    assert "petal length (cm) is missing: as petal length (cm) > 2.45" in panel.inner_text()
    page.get_by_role("button", name="Stop following").click()
    assert page.locator(".node.passed").count() == 0


def test_a_missing_value_divides_the_path_and_the_shares_are_told(show):
    rows = [["sunny", 85], ["sunny", 70], ["overcast", 80], ["rain", 70], ["rain", 90], ["sunny", 95]]
    model = C45Classifier(pruning=None).fit(rows, ["no", "yes", "yes", "yes", "yes", "no"])
    page = show(model.export_html())
    page.get_by_role("tab", name="Sample").click()
    for field in page.get_by_role("combobox").all()[1:]:
        field.select_option("")
    for field in page.get_by_role("spinbutton").all():
        field.fill("")
    parts = page.locator(".part text").all_inner_texts() or page.locator(".part text").all_text_contents()
    assert parts
    assert page.evaluate("[...state.visits.values()].filter(ends).reduce((sum, visit) => sum + visit.part, 0)") == pytest.approx(
        1
    )
    assert "The sample goes several ways" in page.locator("#result").inner_text()


def test_a_followed_sample_ends_where_the_pruned_tree_does(show):
    model, X, y = iris()
    page = show(model.export_html(X=X, y=y))
    page.evaluate("followRow(77)")
    assert page.locator(".node.passed").count() > 3
    page.evaluate("prune(LAST - 1)")
    assert page.locator(".node.passed").count() == 2
    pruned = model.prune(CostComplexity(alpha=model.cost_complexity_pruning_path(X, y).ccp_alphas[-2]))
    shares = page.evaluate("Array.from(predict(tree, [...state.visits.values()]))")
    assert shares == pytest.approx(pruned.predict_proba(X.iloc[[77]])[0], abs=1e-12)


def test_values_of_a_node_lead_there(show):
    X, y, _ = table_with_gaps()
    model = CARTClassifier(min_samples_leaf=3).fit(X, y)
    page = show(model.export_html())
    for node in model.tree_.leaves()[:30].tolist():
        ends = page.evaluate("(v) => walk(tree, sampleFor(tree, v)).map((visit) => visit.node)", node)
        assert ends[-1] == node


def test_the_rule_of_a_node_merges_its_conditions(show):
    model, _, _ = iris()
    page = show(model.export_html(max_depth=6))
    page.locator("#node-13").click()
    text = page.locator("#rule").inner_text()
    assert text.startswith("if ")
    assert text.count("petal length (cm)") == 1
    assert "2.45 < petal length (cm) <= 4.85" in text
    assert text.endswith("then versicolor (1)")


def test_the_rule_is_copied(show):
    page = show(iris()[0].export_html(), permissions=["clipboard-read", "clipboard-write"])
    page.locator("#node-1").click()
    page.get_by_role("button", name="Copy the rule").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "if petal length (cm) <= 2.45\nthen setosa (50)"


def test_the_details_tell_classes_missing_values_and_surrogates(show):
    X, y, _ = table_with_gaps()
    model = CARTClassifier(missing="surrogate", min_samples_leaf=5).fit(X, y)
    page = show(model.export_html())
    text = page.locator("#panel-node").inner_text()
    first = model.export_text(show_surrogates=True).split("agreement ")[1].split(",")[0]
    assert "is missing, the first of these that knows decides" in text
    assert f"agreement {first}"[:14] in text
    for label, weight in zip(model.classes_, model.tree_.value[0], strict=True):
        assert page.locator("#panel-node tr", has_text=label).locator("td").last.inner_text() == f"{weight:g}"


def test_a_test_that_was_set_by_hand_is_marked(show):
    model, X, y = iris(max_depth=3)
    node = 2
    page = show(model.split(node, "sepal width (cm)", 3.0, X=X, y=y).export_html())
    panel = page.locator("#panel-node")
    assert "set by hand" not in panel.inner_text()
    page.evaluate("goTo", node)
    assert "This test was set by hand." in panel.inner_text()
    assert [page.locator(f"#node-{v} title").text_content().count("[set by hand]") for v in range(3)] == [0, 0, 1]
    page.evaluate("prune(LAST); prune(0); goTo(1)")
    assert "set by hand" not in panel.inner_text()


@pytest.mark.parametrize("risk", ["impurity", "error"])
def test_the_slider_goes_along_the_sequence_of_cost_complexity_pruning(show, risk):
    X, y, _ = table_with_gaps()
    model = CARTClassifier(min_samples_leaf=4, pruning=CostComplexity(risk=risk)).fit(X[:200], y[:200])
    path = model.cost_complexity_pruning_path(X[:200], y[:200])
    first = path.n_leaves.tolist().index(model.tree_.n_leaves)  # alpha 0 may have pruned what does not lower the risk
    alphas, n_leaves = path.ccp_alphas.tolist()[first:], path.n_leaves.tolist()[first:]
    page = show(model.export_html(X=X[200:], y=y[200:]))
    page.get_by_role("tab", name="Pruning").click()
    slider = page.get_by_role("slider")
    assert slider.get_attribute("max") == str(len(alphas) - 1)
    assert page.evaluate("subtrees.leaves") == n_leaves
    slider.focus()
    for alpha in alphas[1:]:
        slider.press("ArrowRight")
        pruned = model.prune(CostComplexity(alpha=alpha, risk=risk))
        assert page.evaluate("[remains.nodes[0], remains.leaves[0]]") == [pruned.tree_.node_count - 1, pruned.tree_.n_leaves]
        given, training = page.evaluate("[subtrees.given[state.step], subtrees.error[state.step]]")
        assert given == pytest.approx(1 - pruned.score(X[200:], y[200:]), rel=1e-5)
        assert training == pytest.approx(1 - pruned.score(X[:200], y[:200]), rel=1e-5)
        assert f"{pruned.tree_.n_leaves} lea" in page.locator("#pruned").inner_text()
    assert page.get_by_role("treeitem").count() == 1
    page.get_by_role("button", name="Whole tree", exact=True).click()
    assert page.evaluate("remains.leaves[0]") == model.tree_.n_leaves


def taken_home(page: Any, model: Any) -> Any:
    """Run the code that the page offers."""
    names = {"model": model}
    exec(page.locator("#python").text_content(), names)
    return names["model"].tree_


@pytest.mark.parametrize("estimator", [CARTClassifier(min_samples_leaf=4, pruning=CostComplexity(risk="error")), C45Classifier()])
def test_what_is_chosen_is_copied_as_python(show, estimator):
    X, y, _ = table_with_gaps()
    model = estimator.fit(X, y)
    page = show(model.export_html(max_depth=30), permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("tab", name="Pruning").click()
    copy = page.get_by_role("button", name="Copy as Python")
    assert copy.is_disabled()
    for step in range(1, page.evaluate("LAST") + 1):
        page.evaluate("prune", step)
        ids = page.evaluate("[...prunedIds().keys()].filter((v) => prunedIds()[v] >= 0)")
        tree = taken_home(page, model)
        assert [tree.node_count, tree.n_leaves] == [len(ids), page.evaluate("remains.leaves[0]")]
        assert tree.n_samples.tolist() == model.tree_.n_samples[ids].tolist()
    page.evaluate("prune(1); unfoldAll()")
    folded = page.evaluate("remaining().filter((v) => v && !isLeaf(v) && tree.depth[v] > 1).slice(0, 3)")
    page.evaluate("(nodes) => nodes.forEach(toggle)", folded)
    assert folded
    shown = page.evaluate("sheet.order.flatMap((v) => tree.groups.get(v) ?? [v]).sort((a, b) => a - b)")
    assert taken_home(page, model).n_samples.tolist() == model.tree_.n_samples[shown].tolist()
    copy.click()
    page.get_by_role("button", name="Copied").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text == page.locator("#python").text_content()
    assert text.count("model.collapse(") == len(page.evaluate("foldedByHand()"))
    page.get_by_role("button", name="Whole tree", exact=True).click()
    assert copy.is_disabled()
    page.evaluate("toggle(0)")
    assert page.locator("#python").text_content() == "model = model.collapse(0)"


@pytest.mark.parametrize("estimator", [CARTClassifier(min_samples_leaf=4, pruning=CostComplexity(risk="error")), C45Classifier()])
def test_what_is_chosen_is_copied_as_json_which_a_loaded_model_applies(show, estimator, tmp_path):
    X, y, _ = table_with_gaps()
    estimator.fit(X, y).save(tmp_path / "model.json")
    model = fasttree.load(tmp_path / "model.json")
    page = show(model.export_html(max_depth=30), permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("tab", name="Pruning").click()
    copy = page.get_by_role("button", name="Copy as JSON")
    assert copy.is_disabled()
    page.evaluate("prune(1); unfoldAll()")
    page.evaluate("remaining().filter((v) => v && !isLeaf(v) && tree.depth[v] > 1).slice(0, 3).forEach(toggle)")
    copy.click()
    page.get_by_role("button", name="Copied").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    assert [edit["edit"] for edit in json.loads(text)["edits"]] == [
        "prune",
        *["collapse"] * page.evaluate("foldedByHand().length"),
    ]
    taken = model.apply_edits(text)
    shown = page.evaluate("sheet.order.flatMap((v) => tree.groups.get(v) ?? [v]).sort((a, b) => a - b)")
    assert taken.tree_.n_samples.tolist() == model.tree_.n_samples[shown].tolist()
    assert taken.to_json() == model.apply_edits(json.loads(text)).to_json()
    cells = [[None if np.isnan(cell) else cell for cell in row] for row in model._encode_table(X).block(0, 40).tolist()]
    found = page.evaluate(
        """(rows) => {
          const folded = new Set(foldedByHand()), ends = (v) => isLeaf(v) || folded.has(v);
          return rows.map((row) => Array.from(predict(tree, walk(tree, row.map((cell) => (cell === null ? NaN : cell)), ends))));
        }""",
        cells,
    )
    np.testing.assert_allclose(found, taken.predict_proba(X.iloc[:40]), atol=1e-6)
    page.get_by_role("button", name="Whole tree", exact=True).click()
    assert copy.is_disabled()


def test_the_address_holds_the_selected_node_and_the_subtree(show):
    X, y, _ = table_with_gaps()
    model = CARTClassifier(min_samples_leaf=4).fit(X, y)
    page = show(model.export_html(max_depth=2))
    address, n_visited = page.url, page.evaluate("history.length")
    leaves = page.evaluate("prune(2); goTo(remaining().at(-1)); subtrees.leaves[2]")
    node = page.evaluate("state.selected")
    page.wait_for_url(f"{address}#node={node}&leaves={leaves}")
    assert page.evaluate("history.length") == n_visited
    page.reload()
    assert page.evaluate("[state.selected, state.step]") == [node, 2]
    assert page.locator(f"#node-{node}").get_attribute("aria-selected") == "true"
    assert page.get_by_role("heading", name=f"Node {node}:").is_visible()
    page.evaluate("prune(0); goTo(0)")
    page.wait_for_url(address)
    deep = model.tree_.node_count - 1
    last = page.evaluate("LAST")
    for link, state in [(f"node={deep}", [deep, 0]), ("leaves=1", [0, last]), (f"node={deep}&leaves=1", [0, last])]:
        page.evaluate("(link) => { location.hash = link; }", link)
        wait_until(page, "([node]) => state.selected === node && location.hash", state)
        assert page.evaluate("state.step") == state[1]
    for link in (f"node={deep + 1}&leaves=0", "node=x&leaves=-3", "somewhere"):
        page.goto("about:blank")
        page.goto(f"{address}#{link}")
        assert page.evaluate("[state.selected, state.step]") == [0, 0]


def test_empty_categories_are_shown_as_one(show):
    empty = [leaf([3.0, 2.0], n_samples=0, weight=0.0) for _ in range(2)]
    root = split([leaf([3.0, 0.0]), empty[0], leaf([0.0, 2.0]), empty[1]], feature=2, kind=CATEGORY, value=[3.0, 2.0])
    page = show(export_html(flat(root, "classification"), SCHEMA, np.array(["no", "yes"])))
    assert page.get_by_role("treeitem").count() == 4
    assert labels(page)[-1].startswith("city in {Bonn, Ulm}; leaf, no, 0")
    page.evaluate("follow([NaN, NaN, 4, NaN])")
    assert "passed" in page.locator("#node-2").get_attribute("class")


# --- how it is moved


def test_the_tree_is_a_tree_to_a_screen_reader_and_obeys_the_keyboard(show):
    model, _, _ = iris()
    page = show(model.export_html(max_depth=1))
    items = page.get_by_role("tree").get_by_role("treeitem")
    assert items.count() == 3
    root = items.first
    assert labels(page)[0] == "all samples; tests petal length (cm); prediction here setosa, 50 of 150; node 0"
    assert labels(page)[1] == "petal length (cm) at most 2.45; leaf, setosa, 50; node 1"
    assert [root.get_attribute(f"aria-{name}") for name in ("level", "expanded", "setsize")] == ["1", "true", "1"]
    assert [items.nth(2).get_attribute(f"aria-{name}") for name in ("level", "expanded", "posinset", "setsize")] == [
        "2",
        "false",
        "2",
        "2",
    ]
    assert items.nth(1).get_attribute("aria-expanded") is None
    root.focus()
    for key, expected in [
        ("ArrowRight", 1),
        ("ArrowDown", 2),
        ("ArrowRight", 2),
        ("ArrowRight", 3),
        ("ArrowLeft", 2),
        ("Home", 0),
        ("End", 4),
        ("ArrowUp", 3),
        ("p", 4),
    ]:
        page.keyboard.press(key)
        assert focused(page) == expected, key
    page.locator("#node-2").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    assert items.count() == 1
    page.keyboard.press("Shift+Enter")
    assert items.count() == 17
    page.keyboard.press("Enter")
    assert items.count() == 1
    assert page.get_by_role("treeitem", selected=True).count() == 1


def test_a_click_unfolds_and_folds(show):
    model, _, _ = iris()
    page = show(model.export_html(max_depth=1))
    page.locator("#node-2").click()
    assert page.get_by_role("treeitem").count() == 5
    page.locator("#node-2 .knob").click()
    assert page.get_by_role("treeitem").count() == 3
    page.get_by_role("button", name="Unfold all below").click()
    assert page.get_by_role("treeitem").count() == 17
    page.get_by_role("button", name="Fold to the first view").click()
    assert page.get_by_role("treeitem").count() == 3


def test_zooms_by_wheel_buttons_keys_and_pinch_and_moves_by_dragging(show):
    model, _, _ = iris()
    page = show(model.export_html(), has_touch=True)

    def zoom() -> float:
        return page.evaluate("view.zoom")

    start = zoom()
    page.mouse.move(400, 500)
    before = page.evaluate("[(400 - view.x) / view.zoom]")
    page.mouse.wheel(0, -300)
    wait_until(page, "(start) => view.zoom > start", start)
    assert page.evaluate("[(400 - view.x) / view.zoom]") == pytest.approx(before)  # what is below the pointer stays there
    page.get_by_role("button", name="Zoom out").click()
    page.get_by_role("button", name="Fit the whole tree").click()
    assert zoom() == pytest.approx(start)
    page.get_by_role("treeitem").first.focus()
    page.keyboard.press("+")
    assert zoom() == pytest.approx(1.25 * start)
    page.keyboard.press("0")
    x = page.evaluate("view.x")
    page.mouse.move(700, 120)
    page.mouse.down()
    page.mouse.move(760, 150, steps=4)
    page.mouse.up()
    assert page.evaluate("view.x") == pytest.approx(x + 60)
    touch = page.context.new_cdp_session(page)
    for kind, points in [("touchStart", (300, 400)), ("touchMove", (290, 430)), ("touchMove", (250, 500)), ("touchEnd", ())]:
        touch.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": 300, "id": i} for i, x in enumerate(points)]}
        )
    assert zoom() > 1.5 * start


@pytest.mark.parametrize("is_upright", [True, False])
def test_nothing_covers_the_bar_of_the_classes(show, is_upright):
    page = show(iris()[0].export_html(max_depth=1))
    if page.evaluate("state.upright") != is_upright:
        page.get_by_role("button", name="Turn the tree").click()
    knob, bar = (page.locator(f"#node-2 {part}").bounding_box() for part in (".knob-shape", ".track"))
    assert knob["y"] > bar["y"] + bar["height"] or knob["y"] + knob["height"] < bar["y"]


def test_the_end_of_a_followed_sample_is_selected(show):
    model, X, y = iris()
    page = show(model.export_html(X=X, y=y))
    page.locator("#node-1").click()
    page.evaluate("followRow(77)")
    assert page.locator('[aria-selected="true"].node').count() == 1
    assert page.evaluate("state.selected") == model.apply(X.iloc[[77]])[0]
    assert page.locator('[aria-selected="true"].node.passed').count() == 1


@pytest.mark.parametrize("is_upright", [True, False])
def test_long_conditions_are_wrapped_and_not_cut(show, is_upright):
    regions = [f"Administrative region {side} of the river" for side in ("north", "south", "east", "west")]
    rows = [[region, size] for region in regions for size in range(6)]
    target = [f"{region[22:24]}{size > 2}" for region, size in rows]
    page = show(C45Classifier(pruning=None, criterion="gain").fit(rows, target).export_html(max_categories=2))
    page.evaluate("unfoldAll()")
    if page.evaluate("state.upright") != is_upright:
        page.get_by_role("button", name="Turn the tree").click()
    texts = page.evaluate("sheet.order.slice(1).map((v) => faceOf(v).condition)")
    assert set(regions) <= set(texts)
    assert page.evaluate("Math.max(...sheet.order.map((v) => faceOf(v).lines.length))") > 1
    boxes = [box.bounding_box() for box in page.locator(".box").all()]
    for text in page.locator(".condition").all():
        at = text.bounding_box()
        for box in boxes:
            apart = [
                at[x] + at[size] <= box[x] + 1 or box[x] + box[size] <= at[x] + 1 for x, size in (("x", "width"), ("y", "height"))
            ]
            assert any(apart)


def test_search_opens_folded_parents_marks_and_goes_on(show):
    model, _, _ = iris()
    page = show(model.export_html(max_depth=1))
    page.keyboard.press("/")
    page.keyboard.type("sepal length")
    expected = [v for v in range(17) if model.tree_.feature[v] == 0]
    assert page.evaluate("state.matches.slice().sort((a, b) => a - b)") == expected
    assert page.locator(".node.match").count() == len(expected)
    assert page.locator("#found").inner_text() == f"1 of {len(expected)}"
    assert page.locator("#live").text_content().startswith(f"1 of {len(expected)}: ")
    first = page.evaluate("state.selected")
    page.keyboard.press("Enter")
    assert page.evaluate("state.selected") != first
    page.keyboard.press("Shift+Enter")
    assert page.evaluate("state.selected") == first
    for where, query, found in [
        ("node", "12", [12]),
        ("threshold", "4.9", [3]),
        ("feature", "WIDTH", [2, 5, 6]),
        ("answer", "setosa", [1]),
    ]:
        page.get_by_label("Search in").select_option(where)
        page.get_by_label("Search the tree").fill(query)
        assert page.evaluate("state.matches") == found
    page.get_by_label("Search the tree").fill("nothing like it")
    assert page.locator("#found").inner_text() == "none"


def test_categories_are_found(show):
    X, y, _ = table_with_gaps()
    model = TreeClassifier(recipe=Recipe(nominal="declared", missing="branch")).fit(X, y)
    page = show(model.export_html())
    page.get_by_label("Search in").select_option("category")
    page.get_by_label("Search the tree").fill("gree")
    found = page.evaluate("state.matches.map((v) => conditionText(tree, v))")
    assert found
    assert set(found) == {"colour = green"}


# --- looks


@settings(max_examples=25)
@given(tree=random_trees())
def test_boxes_and_conditions_never_overlap(script, tree):
    document = export_html(tree, SCHEMA, CLASSES if tree.task == "classification" else None)
    places = script.evaluate(
        """(data) => {
          const tree = readTree(data);
          const order = Array.from({ length: tree.n }, (_, v) => v);
          const half = (v) => 20 + (v * 37) % 60;
          const x = tidy(order, (v) => childrenOf(tree, v), half, 5);
          return order.map((v) => [tree.depth[v], x[v] - half(v), x[v] + half(v)]);
        }""",
        data_of(document),
    )
    for _, level in itertools.groupby(sorted(places), key=lambda place: place[0]):
        spans = sorted((left, right) for _, left, right in level)
        assert all(right + 5 <= left + 1e-6 for (_, right), (left, _) in itertools.pairwise(spans))


def test_names_that_look_like_markup_do_nothing(show):
    nasty = "</script><img src=x onerror='window.caught = 1'>"
    import pandas as pd

    X = pd.DataFrame({nasty: [f"{nasty}{i % 3}" for i in range(12)], "{{data}}": range(12)})
    y = [f"<b>{nasty}" if i % 3 else "&amp;" for i in range(12)]
    page = show(CARTClassifier().fit(X, y).export_html(title=nasty, X=X, y=y))
    page.evaluate("followRow(1)")
    page.get_by_label("Search the tree").fill("<img")
    assert page.evaluate("window.caught") is None
    assert page.locator("img, b").count() == 0
    assert page.locator("h1").inner_text() == nasty
    assert page.evaluate("tree.targets[0].classes")[0] == "&amp;"


def test_no_connection_is_allowed(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(iris()[0].export_html(), encoding="utf-8")
    page = browser.new_page()
    requests: list[str] = []
    page.route("http://**", lambda route: (requests.append(route.request.url), route.abort()))
    page.goto(path.as_uri())
    assert page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')") == "refused"
    image = """new Promise((done) => {
      const image = new Image();
      image.onerror = () => done("refused");
      image.src = "http://127.0.0.1:9/";
    })"""
    assert page.evaluate(image) == "refused"
    assert requests == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_ground(show, scheme):
    page = show(iris()[0].export_html(), color_scheme=scheme)
    seen = page.evaluate(
        """() => Object.fromEntries(["paper", "ground", "ink", "muted", "accent", "on-accent", "found"].map((name) => {
          const probe = document.createElement("i");
          document.body.append(probe);
          probe.style.color = `var(--${name})`;
          const colour = getComputedStyle(probe).color.match(/[0-9]+/g).slice(0, 3).map(Number);
          probe.remove();
          return [name, "#" + colour.map((part) => part.toString(16).padStart(2, "0")).join("")];
        }))"""
    )
    assert (seen["paper"] == "#ffffff") == (scheme == "light")
    for front, back in [
        ("ink", "paper"),
        ("ink", "ground"),
        ("muted", "paper"),
        ("muted", "ground"),
        ("accent", "paper"),
        ("accent", "ground"),
        ("on-accent", "accent"),
    ]:
        assert contrast(seen[front], seen[back]) >= 4.5, (front, back)
    assert contrast(seen["found"], seen["ground"]) >= 3
    # text on the tints of classes has the colour that is readable on all of them
    fills = page.evaluate(
        "[...new Set([...document.querySelectorAll('.node > text')].map((text) => getComputedStyle(text).fill))]"
    )
    assert fills == [page.evaluate("getComputedStyle(document.documentElement).color")]
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate("isDark()") == (scheme == "light")


def test_the_drawing_is_saved_as_svg(show):
    page = show(iris()[0].export_html(max_depth=2))
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as SVG").click()
    assert waiting.value.suggested_filename == "tree.svg"
    picture = ElementTree.parse(waiting.value.path()).getroot()
    texts = {element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"petal length (cm)", "setosa", "≤ 2.45"} <= texts
    assert not any(element.get("class") or element.get("style") for element in picture.iter())
    width, height = (float(picture.get(name)) for name in ("width", "height"))
    left, top = map(float, picture.get("viewBox").split()[:2])
    for group in picture.findall("{http://www.w3.org/2000/svg}g"):
        x, y = map(float, group.get("transform")[10:-1].split())
        assert 0 <= x - left <= width
        assert 0 <= y - top <= height


def test_the_drawing_is_saved_as_png_of_twice_its_size(show):
    page = show(iris()[0].export_html(max_depth=2))
    for is_icicle in (False, True):
        page.evaluate("showIcicle", is_icicle)
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Download as PNG").click()
        assert waiting.value.suggested_filename == "tree.png"
        bytes_ = Path(waiting.value.path()).read_bytes()
        assert bytes_[:8] == b"\x89PNG\r\n\x1a\n"
        size = page.evaluate("['width', 'height'].map((name) => Number(picture().getAttribute(name)))")
        assert [int.from_bytes(bytes_[at : at + 4]) for at in (16, 20)] == [round(2 * length) for length in size]


# --- other samples than those of the fit

WIDTHS = """(v) => {
  const rects = [...document.querySelectorAll(`#node-${v} rect`)].filter((rect) => rect.getAttribute("height") === "5");
  const rows = new Map();
  for (const rect of rects) {
    if (!rows.has(rect.getAttribute("y"))) rows.set(rect.getAttribute("y"), []);
    rows.get(rect.getAttribute("y")).push(Number(rect.getAttribute("width")));
  }
  return [...rows.values()];
}"""


def test_bars_of_training_and_of_other_samples_are_side_by_side(show):
    model, X, y = iris()
    model.fit(X[::2], y[::2])
    page = show(model.export_html(X=X[1::2], y=y[1::2]))
    path = model.decision_path(X[1::2]).toarray()
    for node in range(model.tree_.node_count):
        reached = y[1::2][path[:, node]]
        shares = model.tree_.value[node] / model.tree_.weight[node]
        others = [(reached == label).mean() for label in model.classes_] if len(reached) else []
        found = page.evaluate(WIDTHS, node)
        for (track, *widths), expected in zip(found, [shares, others], strict=True):
            np.testing.assert_allclose(np.divide(widths, track), [share for share in expected if share], atol=0.001)
    assert "upper bars: training, lower bars: samples given" in page.locator("#legend").inner_text()
    n_right = int((y[1::2] == "setosa").sum())
    assert f"75, {100 * n_right / 75:.0f} % setosa" in page.locator("#panel-node .figures").inner_text()
    titles = page.locator("#node-0 > title").all_text_contents()
    assert titles[0].endswith(f"samples given: 75, {100 * n_right / 75:.0f} % setosa")


def test_means_of_other_samples_stay_within_their_bars(show):
    model = CARTRegressor().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    page = show(model.export_html(X=[[0.0], [0.5], [1.0]], y=[-9.0, 1.5, 99.0]))
    for node in range(model.tree_.node_count):
        (track, training), (other_track, *other) = page.evaluate(WIDTHS, node)
        assert 0 < training <= track == other_track
        assert all(0 < width <= track for width in other)
    assert [len(page.evaluate(WIDTHS, node)[1]) for node in (0, 2)] == [2, 1]  # no sample is above 1.5


def test_samples_of_the_fit_have_no_bars_of_their_own(show):
    model, X, y = iris(max_depth=2)
    page = show(model.export_html(X=X, y=y))
    assert len(page.evaluate(WIDTHS, 0)) == 1
    assert "Samples given" not in page.locator("#panel-node .figures").inner_text()
    assert "upper bars" not in page.locator("#legend").inner_text()


# --- charts of the samples


def houses() -> tuple[CARTRegressor, Any, Any]:
    import pandas as pd

    random = np.random.default_rng(5)
    X = pd.DataFrame({"size": random.uniform(20, 200, 500), "town": random.choice(["Aachen", "Bonn", "Ulm"], 500)})
    y = pd.Series(1000 * X["size"] + 50_000 * (X["town"] == "Ulm") + random.normal(size=500), name="price")
    X.loc[::9, "size"] = None
    return CARTRegressor(max_leaf_nodes=8, missing="surrogate").fit(X, y), X, y


def test_the_details_show_the_samples_along_the_test(show):
    model, X, y = iris(max_depth=2)
    page = show(model.export_html(X=X, y=y))
    chart = page.get_by_role("img", name="Samples of node 0 by petal length (cm): 150 of the 150 samples given")
    texts = chart.locator("text").all_text_contents()
    assert {"2.45", "petal length (cm)", "samples", "0", "2", "4", "6"} <= set(texts)
    titles = chart.locator("title").all_text_contents()
    assert sum(int(title.split(": ")[1].split()[0]) for title in titles) == 150
    line = chart.locator(".cut").bounding_box()
    colours = [swatch.evaluate("(bar) => bar.getAttribute('fill')") for swatch in chart.locator("g rect:not(.sense)").all()]
    assert set(colours) == set(page.evaluate("tree.targets[0].colours"))
    for bar, colour in zip(chart.locator("g rect:not(.sense)").all(), colours, strict=True):
        box = bar.bounding_box()
        assert (box["x"] + box["width"] <= line["x"] + 1) == (colour == colours[0])  # setosa alone is below 2.45
    page.evaluate("goTo(1)")
    assert chart.count() == 0
    assert page.locator(".chart.data").count() == 0  # a leaf tests nothing
    page.evaluate("followRow(3); showTab('node'); goTo(0)")
    assert page.locator(".chart .followed").count() == 1


def test_charts_of_regression_name_the_target_and_say_what_is_missing(show):
    model, X, y = houses()
    page = show(model.export_html(X=X, y=y))
    assert model.tree_.feature[0] == 0
    texts = page.locator(".chart.data text").all_text_contents()
    assert {"price", "size", "∅", "100,000"} <= set(texts)
    assert page.locator(".chart.data .mean").count() == 2
    town = int(np.flatnonzero(model.tree_.feature == 1)[0])
    page.evaluate("goTo", town)
    texts = page.locator(".chart.data text").all_text_contents()
    assert {"Aachen", "Bonn", "Ulm", "price"} <= set(texts)
    assert sum(text.startswith("to node ") for text in texts) == 2
    page.evaluate("goTo", int(model.tree_.leaves()[0]))
    assert any(text.startswith("mean ") for text in page.locator(".chart.data text").all_text_contents())


def test_a_soft_threshold_is_shaded_in_its_chart(show):
    X, y, _ = table_with_gaps()
    model = C45Classifier(soft_thresholds=True).fit(X, y)
    page = show(model.export_html(X=X, y=y))
    soft = [v for v in np.flatnonzero(model.tree_.kind == 1).tolist() if model.tree_.lower[v] < model.tree_.upper[v]]
    page.evaluate("goTo", soft[0])
    band, cut = (page.locator(f".chart .{kind}").bounding_box() for kind in ("band", "cut"))
    assert band["x"] <= cut["x"] + cut["width"] / 2 <= band["x"] + band["width"]
    assert "Shaded: values near the threshold" in page.locator("#panel-node").inner_text()


@pytest.mark.parametrize("is_upright", [True, False])
def test_boxes_hold_charts_if_they_are_wanted(show, is_upright):
    model, X, y = houses()
    page = show(model.export_html(X=X, y=y))
    if page.evaluate("state.upright") != is_upright:
        page.get_by_role("button", name="Turn the tree").click()
    assert page.locator(".mini").count() == 0
    button = page.get_by_role("button", name="Charts in the boxes")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    shown = page.evaluate("sheet.order.length")
    assert page.locator(".mini").count() == shown
    boxes = {}
    for v in page.evaluate("sheet.order"):
        mini, box = (page.locator(f"#node-{v} {part}").bounding_box() for part in (".mini", ".box"))
        assert mini["y"] >= box["y"]
        assert mini["y"] + mini["height"] <= box["y"] + box["height"]
        boxes[v] = box
    for a, b in itertools.combinations(boxes.values(), 2):
        assert any(a[x] + a[size] <= b[x] or b[x] + b[size] <= a[x] for x, size in (("x", "width"), ("y", "height")))
    page.evaluate("prune(LAST)")
    assert page.locator(".mini").count() == 0  # what was pruned to a leaf tests nothing
    page.evaluate("prune(0)")
    button.click()
    assert page.locator(".mini").count() == 0


@pytest.mark.parametrize("is_upright", [True, False])
def test_leaves_list_their_classes(show, is_upright):
    random = np.random.default_rng(0)
    X, y = random.random((400, 3)), random.choice([f"class {i:02}" for i in range(12)], 400)
    model = CARTClassifier(max_leaf_nodes=6).fit(X, y)
    page = show(model.export_html())
    if page.evaluate("state.upright") != is_upright:
        page.get_by_role("button", name="Turn the tree").click()
    assert page.locator(".leaf-rows").count() == 0
    button = page.get_by_role("button", name="Classes of the leaves in the boxes")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    leaves = [v for v in page.evaluate("sheet.order") if not model.tree_.n_branches[v]]
    assert page.locator(".leaf-rows").count() == len(leaves)
    counts = model.tree_.value
    for v in leaves:
        texts = page.locator(f"#node-{v} .leaf-rows text").all_text_contents()
        rows = dict(zip(texts[::2], map(int, texts[1::2]), strict=True))
        named = {name: n for name, n in rows.items() if not name.startswith("…")}
        assert named.items() <= dict(zip(model.classes_, counts[v], strict=True)).items()
        assert sum(rows.values()) == counts[v].sum()  # what has no row is counted
        assert len(rows) == min(np.count_nonzero(counts[v]), 8)
        marks, box = (page.locator(f"#node-{v} {part}").bounding_box() for part in (".leaf-rows", ".box"))
        assert marks["y"] + marks["height"] <= box["y"] + box["height"]
        assert marks["x"] + marks["width"] <= box["x"] + box["width"]
    page.evaluate("prune(LAST)")
    assert page.locator(".leaf-rows").count() == 1  # the root is a leaf now
    page.evaluate("prune(0)")
    button.click()
    assert page.locator(".leaf-rows").count() == 0


def test_charts_of_several_targets_are_chosen_from_a_list(show):
    X, Y = np.arange(8.0)[:, None], np.column_stack([np.arange(8.0), 100.0 - np.arange(8.0)])
    page = show(CARTRegressor(max_depth=1).fit(X, Y).export_html(X=X, y=Y))
    page.get_by_role("button", name="Charts in the boxes").click()
    choice = page.get_by_label("Target of the charts")
    assert choice.locator("option").all_text_contents() == ["y0", "y1"]
    before = [page.locator("#node-0 .mini").inner_html(), page.locator(".chart.data").inner_html()]
    choice.select_option("y1")
    assert (
        page.get_by_label("Target of the charts").evaluate("choice => choice === document.activeElement && choice.value") == "1"
    )
    after = [page.locator("#node-0 .mini").inner_html(), page.locator(".chart.data").inner_html()]
    assert before[0] != after[0]
    assert "y0" in before[1]
    assert "y1" in after[1]


def test_many_charts_do_not_hold_up_the_page(show):
    random = np.random.default_rng(0)
    X, y = random.random((20000, 6)).round(3), random.integers(0, 3, 20000)
    model = CARTClassifier(max_leaf_nodes=6000).fit(X, y)
    document = model.export_html(X=X, y=y)
    assert len(data_of(document)["charts"][0]["nodes"]) > 100
    page = show(document)
    load = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    assert load < 6000
    page.evaluate("goTo(tree.parent[tree.n - 1])")
    assert "Charts are in this page for the " in page.locator("#panel-node").inner_text()


# --- competing splits


def test_competing_splits_are_listed_and_copied_as_python(show):
    X, y, _ = table_with_gaps()
    model = CARTClassifier(missing="surrogate", min_samples_leaf=5).fit(X, y)
    page = show(model.export_html(X=X, y=y, n_competing=4), permissions=["clipboard-read", "clipboard-write"])
    page.evaluate("prune(1); goTo(0)")
    items = page.locator("details.split")
    splits = model.competing_splits(0, X, y)[:4]
    assert items.count() == len(splits)
    assert "(in the tree)" in items.first.inner_text()
    assert items.first.locator("code, .rule").count() == 0
    folded = page.evaluate("remaining().filter((v) => v && !isLeaf(v)).slice(-1)[0]")
    page.evaluate("goTo", folded)
    page.evaluate("toggle", folded)
    page.evaluate("goTo(0)")
    node = page.evaluate("sheet.children.get(0).find((v) => splits.has(v) && !isLeaf(v))")
    for v in (0, node):
        page.evaluate("goTo", v)
        expected = model.competing_splits(v, X, y)
        for i in range(1, items.count()):
            items.nth(i).locator("summary").click()
            code = items.nth(i).locator(".rule").text_content()
            names = {"model": model, "X": X, "y": y}
            exec(code, names)
            ids = page.evaluate("prunedIds()[state.selected]")
            assert names["model"].tree_.feature[ids] == expected[i].feature
            assert names["model"].tree_.gain[ids] == pytest.approx(expected[i].gain)
            assert ("collapse" in code) == (v != 0 and not is_below(model, folded, v))
        rows = items.nth(1).locator("tbody tr")
        counted = sum(int(row.locator("td").last.inner_text().replace(",", "")) for row in rows.all())
        assert counted == int(model.decision_path(X)[:, [v]].sum())
    items.nth(1).get_by_role("button", name="Copy as Python").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == items.nth(1).locator(".rule").text_content()


def is_below(model: Any, node: int, above: int) -> bool:
    while node > above:
        node = int(model.tree_.parent[node])
    return node == above


# --- the icicle and the presentation


def test_the_icicle_shows_nodes_as_wide_as_their_weight(show):
    model, _, _ = iris()
    page = show(model.export_html(max_depth=1))
    button = page.get_by_role("button", name="Nodes by weight")
    button.click()
    assert not page.locator("#tree").is_visible()
    cells = {
        int(v): dict(zip(("x", "y", "width", "height"), map(float, place), strict=True))
        for v, *place in page.evaluate(
            """[...document.querySelectorAll("#icicle .tint")].map((tint) =>
              [tint.parentNode.id.slice(5), ...["x", "y", "width", "height"].map((name) => tint.getAttribute(name))])"""
        )
    }
    assert len(cells) > 10
    depths = page.evaluate("Array.from(tree.depth)")
    for v, cell in cells.items():
        assert cell["width"] == pytest.approx(cells[0]["width"] * model.tree_.weight[v] / 150, abs=0.1)
        assert cell["y"] == pytest.approx(cells[0]["y"] + depths[v] * cells[0]["height"], abs=0.1)
    page.locator("#cell-2").click()
    assert page.evaluate("[icicle.root, state.selected]") == [2, 2]
    assert page.locator("#cell-2 .tint").bounding_box()["width"] == pytest.approx(cells[0]["width"], abs=3)
    page.locator("#cell-0").click()
    page.locator("#icicle").focus()
    for key, expected in [("ArrowDown", 2), ("ArrowLeft", 1), ("ArrowRight", 2), ("ArrowDown", 3), ("ArrowUp", 2), ("Home", 0)]:
        page.keyboard.press(key)
        assert page.evaluate("state.selected") == expected, key
        chosen = page.locator('#icicle [aria-selected="true"]')
        assert chosen.get_attribute("id") == page.locator("#icicle").get_attribute("aria-activedescendant") == f"cell-{expected}"
    page.evaluate("prune(LAST)")
    assert page.get_by_role("treeitem").count() == 1
    page.evaluate("prune(0)")
    page.evaluate("follow([NaN, NaN, 1, NaN])")
    assert page.locator(".cell.passed").count() == 2
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as SVG").click()
    texts = ElementTree.parse(waiting.value.path()).getroot().iter("{http://www.w3.org/2000/svg}text")
    assert "petal length (cm)" in {element.text for element in texts}
    button.click()
    assert page.locator("#tree").is_visible()
    assert page.locator("#node-1").get_attribute("aria-selected") == "true"


def test_light_nodes_of_the_icicle_share_a_rectangle(show):
    page = show(export_html(chain(300), one_feature()))
    page.get_by_role("button", name="Nodes by weight").click()
    drawn = page.locator(".cell").count()
    assert drawn < 300
    counted = page.evaluate(
        "[...document.querySelectorAll('.cell.thin title')].map((title) => parseInt(title.textContent.replace(',', '')))"
    )
    assert all(n >= 1 for n in counted)
    for _ in range(4):
        page.locator("#icicle").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
    assert page.evaluate("icicle.root") == page.evaluate("state.selected")
    page.get_by_label("Search in").select_option("node")
    page.get_by_label("Search the tree").fill("599")
    assert page.locator("#cell-599.chosen.match").is_visible()


def test_a_presentation_unfolds_level_by_level(show):
    model, _, _ = iris()
    page = show(model.export_html(max_depth=3))
    shown = page.get_by_role("treeitem").count()
    page.get_by_role("button", name="Present").click()
    counts = [page.get_by_role("treeitem").count()]
    assert not page.locator(".panel").is_visible()
    assert page.evaluate("view.zoom") > 1.5
    for key in ("ArrowRight", " ", "PageDown", "Enter"):
        page.keyboard.press(key)
        counts.append(page.get_by_role("treeitem").count())
    assert counts == [1, 3, 5, 9, 9]
    for covering in (".legend", ".caption"):
        cover = page.locator(covering).bounding_box()
        for box in (item.bounding_box() for item in page.locator(".node .box").all()):
            assert any(
                cover[x] + cover[size] <= box[x] or box[x] + box[size] <= cover[x]
                for x, size in (("x", "width"), ("y", "height"))
            )
    assert page.locator("#caption").inner_text() == "Level 3 of 3"
    page.keyboard.press("ArrowLeft")
    assert page.get_by_role("treeitem").count() == 5
    page.keyboard.press("Escape")
    assert page.locator(".panel").is_visible()
    assert page.get_by_role("treeitem").count() == shown == 9
    assert page.get_by_role("button", name="Present").evaluate("(button) => button === document.activeElement")
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("treeitem").count() == shown


def test_a_presentation_of_a_followed_sample_goes_along_its_path(show):
    model, X, y = iris(max_depth=3)
    page = show(model.export_html(X=X, y=y), viewport={"width": 390, "height": 844})
    page.evaluate("followRow(120)")
    path = model.decision_path(X.iloc[[120]]).indices.tolist()
    page.get_by_role("button", name="Present").click()
    captions = []
    for i, v in enumerate(path):
        assert page.locator(f"#node-{v}").is_visible()
        assert page.locator(f"#node-{path[-1]}").count() == (i == len(path) - 1)
        captions.append(page.locator("#caption").inner_text())
        page.get_by_role("button", name="Next step").click(force=True)
    assert captions[0] == "petal length (cm) is 5.7: > 2.45"
    assert captions[-1].startswith("virginica (")
    assert page.get_by_role("button", name="Next step").is_disabled()
    page.get_by_role("button", name="End the presentation").click()
    assert page.locator(".node.passed").count() == len(path)


def test_fits_a_narrow_screen(show):
    page = show(iris()[0].export_html(), viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    boxes = [item.bounding_box() for item in page.get_by_role("treeitem").all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)


def test_fits_anew_when_the_window_changes(show):
    page = show(iris()[0].export_html())
    page.set_viewport_size({"width": 700, "height": 900})
    wait_until(page, "view.isFitted && fittingZoom(sheet.bounds) >= READABLE")
    boxes = [item.bounding_box() for item in page.get_by_role("treeitem").all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 700 for box in boxes)
    page.keyboard.press("Tab")
    page.locator("#node-0").press("Shift+ArrowRight")
    moved = page.evaluate("view.x")
    page.set_viewport_size({"width": 690, "height": 900})
    assert page.evaluate("view.x") == moved


def test_fits_a_frame_that_is_hidden_at_first(show, tmp_path):
    (tmp_path / "inner.html").write_text(iris()[0].export_html(), encoding="utf-8")
    page = show('<!doctype html><iframe src="inner.html" width="1200" height="700" style="display: none"></iframe>')
    page.evaluate("document.querySelector('iframe').style.display = 'block'")
    frame = page.frames[1]
    wait_until(frame, "view.isFitted && view.zoom >= READABLE")
    assert frame.get_by_role("treeitem").count() == 17


@pytest.mark.parametrize("is_icicle", [False, True])
def test_prints_the_whole_drawing_without_the_controls(show, is_icicle):
    page = show(iris()[0].export_html())
    page.evaluate("showIcicle", is_icicle)
    page.emulate_media(media="print")
    page.evaluate("beforePrint()")
    assert not page.locator(".panel").is_visible()
    assert not page.locator(".tools").is_visible()
    assert page.evaluate("document.getElementById('tree').getAttribute('viewBox')")
    assert page.pdf()[:4] == b"%PDF"


# --- large trees


def big_tree() -> Tree:
    random = np.random.default_rng(0)
    X = random.random((30000, 6)).round(3)
    return CARTClassifier(max_leaf_nodes=10000).fit(X, random.integers(0, 3, 30000)).tree_


def test_twenty_thousand_nodes_open_soon_and_fold_at_once(show):
    tree = big_tree()
    schema = Schema(tuple(SCHEMA.features[0].__class__(f"x{j}", SCHEMA.features[0].kind) for j in range(6)))
    page = show(export_html(tree, schema, CLASSES))
    load = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    assert load < 6000  # 0.5 s where nothing else runs
    times = page.evaluate(
        "[0, 0, 0, 0].map(() => { const start = performance.now(); toggle(0); svg.getBBox(); return performance.now() - start; })"
    )
    assert min(times) < 300
    page.get_by_role("button", name="Unfold all", exact=True).click()
    assert page.get_by_role("treeitem").count() < 2000  # what is off the screen is not there
    page.get_by_role("button", name="Fit the whole tree").click()
    wait_until(page, "drawn.far.length === 4")  # all branches, and the boxes of three colours


def test_a_very_deep_tree_opens_without_recursion(show):
    page = show(export_html(chain(10_000), one_feature()))
    page.get_by_role("button", name="Unfold all", exact=True).click()
    assert page.evaluate("sheet.order.length") == 20_001
    page.get_by_role("treeitem").first.focus()
    page.keyboard.press("End")
    assert page.evaluate("tree.depth[state.selected]") > 0
    assert page.get_by_role("treeitem").count() < 2000


def test_the_colours_of_a_palette_are_drawn_no_fuller_than_text_allows(show):
    model = CARTClassifier().fit([[1.0], [2.0]], ["a", "b"])
    page = show(model.export_html(palette={"b": "#000000"}))
    assert page.evaluate("[colourOf(2), tree.targets[0].fullest[1]]") == ["#000000", float(page.evaluate("opacityOf(2)"))]
    assert page.locator('rect.tint[fill="#000000"]').get_attribute("fill-opacity") == page.evaluate("opacityOf(2)")


# Forests


def test_a_reader_chooses_among_the_trees_of_a_forest(show):
    X = np.column_stack([np.arange(40.0), np.arange(40.0) % 7])
    y = np.where((X[:, 0] > 20) & (X[:, 1] > 2), "yes", "no")
    forest = RandomForestClassifier(n_estimators=6, max_depth=3, random_state=0).fit(X, y)
    page = show(forest.export_html([4, 1, 2], title="A grove", X=X, y=y))
    assert page.title() == "A grove"
    assert page.locator("#which option").all_inner_texts() == ["Tree 4", "Tree 1", "Tree 2"]
    for number, link in ((1, "#tree=1"), (2, "#tree=2"), (4, "")):
        page.locator("#which").select_option(str(number))
        wait_until(page, f"tree.number === {number}")
        tree = forest.ensemble_.tree(number)
        assert page.evaluate("() => [tree.n, tree.title]") == [tree.node_count, f"A grove: tree {number}"]
        assert page.locator("#which").input_value() == str(number)
        wait_until(page, f"linkText() === {json.dumps(link)}")
    page.evaluate("() => { location.hash = '#tree=2&node=1'; }")
    wait_until(page, "typeof state !== 'undefined' && tree.number === 2 && state.selected === 1")
    page.evaluate("() => { location.hash = '#tree=99'; }")  # which the page does not have
    wait_until(page, "tree.number === 2 && state.selected === 0")


def test_an_address_is_followed_also_if_another_is_to_be_written(show):
    page = show(CARTClassifier().fit([[1.0], [2.0], [3.0]], ["a", "b", "a"]).export_html())
    # the time to write the address of node 1 ends before the browser reports the new address
    page.evaluate("""() => {
        let write;
        setTimeout = (act) => { write = act; };
        goTo(1);
        location.hash = "#node=2";
        write();
    }""")
    wait_until(page, "state.selected === 2 && location.hash === '#node=2'")


def test_a_page_of_one_tree_of_a_forest_has_no_list(show):
    forest = RandomForestRegressor(n_estimators=3, random_state=0).fit([[0.0], [1.0]] * 9, [0.0, 1.0] * 9)
    page = show(forest.export_html(1))
    assert page.locator("#which").count() == 0
    assert page.title() == "RandomForestRegressor: tree 1"


def test_trees_with_and_without_tests_are_in_one_page(show):
    forest = RandomForestRegressor(n_estimators=12, max_samples=2, random_state=0).fit([[0.0], [1.0]] * 9, [0.0, 1.0] * 9)
    leaves = [i for i, tree in enumerate(forest.ensemble_.trees()) if tree.node_count == 1]
    others = [i for i, tree in enumerate(forest.ensemble_.trees()) if tree.node_count > 1]
    page = show(forest.export_html([others[0], leaves[0]], X=[[0.0], [1.0]], y=[0.0, 1.0]))
    page.locator("#which").select_option(str(leaves[0]))
    wait_until(page, f"tree.number === {leaves[0]} && tree.n === 1")


def test_significance_tests_are_in_boxes_and_panel(show):
    X = [[name] for name in "ABCDE" for _ in range(50)]
    y = ["yes" if i < n else "no" for n in (30, 28, 10, 12, 20) for i in range(50)]
    X = [[*row, i % 3] for i, row in enumerate(X)]
    model = CHAIDClassifier(max_depth=1).fit(X, y)
    page = show(model.export_html(X=X, y=y))
    parts = ["chi-square = 27, df = 2", "p = 1.37e-06", "adjusted 3.43e-05"]
    box = page.locator("#node-0").text_content()
    assert all(part in box for part in parts)
    height = page.evaluate("heightOf(0)")
    assert height >= page.evaluate("heightOf(1)") + 2 * page.evaluate("LINE")
    panel = page.locator("#panel-node")
    assert ", ".join(parts) in panel.inner_text()
    assert panel.locator(".tests tbody tr td").first.inner_text() == "x1"
    assert panel.get_by_text("A with B, p = 0.685").count() == 1
    page.get_by_label("Charts in the boxes").click()
    assert page.evaluate("heightOf(0)") > height
    page.evaluate("goTo(1)")
    assert "not split: max_depth is reached" in panel.inner_text()
    page.evaluate("prune(LAST)")  # a leaf has no test in its box
    assert page.evaluate("heightOf(0)") < height


# --- linear models in leaves


def lines_and_gaps() -> tuple[Any, Any]:
    import pandas as pd

    random = np.random.default_rng(4)
    X = pd.DataFrame({"width": random.normal(size=300), "the height of it": random.normal(size=300)})
    X["town"] = random.choice(["Ulm", "Bonn"], 300)
    steep = np.where(X["width"] > 0, 8 * X["the height of it"] - 40, 5 + 3 * X["width"])
    X.loc[::13, "the height of it"] = np.nan
    return X, pd.Series(steep + 20 * (X["town"] == "Ulm") + random.normal(size=300), name="price")


def followed_values(page: Any) -> list[float]:
    """Return the prediction of every row of the page."""
    found = "tree.rows.row.map((_, i) => { followRow(i); return predict(tree, walk(tree, state.sample), state.sample)[0]; })"
    return page.evaluate(found)


@pytest.mark.parametrize(
    "options", [{}, {"indicators": True}, {"extrapolation": None}, {"smoothing": 0.0, "extrapolation": 0.0}, {"linear": False}]
)
def test_models_predict_the_bits_of_the_library(show, options):
    X, y = lines_and_gaps()
    model = M5Regressor(**options).fit(X[:150], y[:150])
    X.loc[200:, ["width", "the height of it"]] *= 9  # beyond the range of the fit, where bounds hold
    X.loc[290:, "width"] = np.nan
    X.loc[280:285, "town"] = "Rom"  # not seen in the fit
    page = show(model.export_html(X=X, y=y, max_rows=300))
    assert followed_values(page) == model.predict(X).tolist()
    narrow = X.astype({"width": np.float32})
    page = show(model.export_html(X=narrow, max_rows=300))
    assert followed_values(page) == model.predict(narrow).tolist()


def test_the_details_of_a_leaf_have_its_formula_and_its_line(show):
    X, y = lines_and_gaps()
    model = M5Regressor(smoothing=0).fit(X, y)
    page = show(model.export_html(X=X, y=y))
    text = model.export_text()
    for node in model.tree_.leaves().tolist():
        page.evaluate("goTo", node)
        formula = page.locator("#panel-node .answer strong").text_content()
        assert f": {formula} (" in text
        assert formula in page.locator("#rule").text_content()
        assert formula.replace(" ", "") in "".join(page.locator(f"#node-{node} .name").all_text_contents()).replace(" ", "")
        assert page.locator(".chart.data .line").count() == 1
    page.evaluate("goTo(0)")
    assert "Would predict" in page.locator("#panel-node .answer").inner_text()
    assert "cut off" in page.locator("#panel-node").inner_text()
    assert "mean squared error" in page.locator("#panel-pruning").text_content()


def test_the_line_of_a_leaf_goes_through_its_predictions_and_bends_at_its_bounds(show):
    x = np.linspace(0, 1, 200)
    y = np.where(x < 0.5, 30 * x, 4 - 3 * x)
    model = M5Regressor(smoothing=0, extrapolation=0.0, least_deviation=0.0).fit(x[:, None], y)
    wide = np.linspace(-1, 2, 400)
    page = show(model.export_html(X=wide[:, None], y=np.linspace(-2, 20, 400)))
    for node in model.tree_.leaves().tolist():
        page.evaluate("goTo", node)
        points = page.locator(".chart.data .line").get_attribute("d")[1:].split("L")
        ends = page.evaluate("(v) => [axisOf(v).edges[0], axisOf(v).edges.at(-1), leastTarget, mostTarget]", node)
        drawn = np.array([[float(number) for number in point.split()] for point in points])
        frame = page.evaluate("PLOT")
        xs = ends[0] + (drawn[:, 0] - frame["x"]) / frame["width"] * (ends[1] - ends[0])
        ys = ends[3] - (drawn[:, 1] - frame["y"]) / frame["height"] * (ends[3] - ends[2])
        ends_of = model.apply(wide[:, None]) == node
        inside = wide[ends_of & (wide >= xs[0]) & (wide <= xs[-1])]
        assert inside.size > 20
        np.testing.assert_allclose(np.interp(inside, xs, ys), model.predict(inside[:, None]), atol=0.15)
        assert len(points) > 2


def test_the_sum_of_a_followed_sample_is_shown_with_means_and_bounds(show):
    X, y = lines_and_gaps()
    model = M5Regressor().fit(X, y)
    page = show(model.export_html(X=X, y=y))
    page.get_by_role("tab", name="Sample").click()
    page.get_by_label("width", exact=True).fill("50")
    page.get_by_label("the height of it", exact=True).fill("")
    page.get_by_label("town", exact=True).select_option("Ulm")
    sample = {"width": 50.0, "the height of it": None, "town": "Ulm"}
    cells = page.locator("#sum td").all_text_contents()
    rows = {cells[i]: cells[i + 1 : i + 4] for i in range(0, len(cells), 4)}
    predicted = float(model.predict(X.iloc[:1].assign(**sample))[0])
    assert float(rows["Bounded at"][2]) == pytest.approx(predicted, rel=1e-3)
    assert page.locator("#result .answer strong").text_content() == f"{predicted:.2f}".rstrip("0").rstrip(".")
    (end,) = model.explain(sample).ends
    assert end.calculation.split(" = ")[1].split(",")[0] == rows["Sum"][2]
    assert rows["the height of it (missing: mean)"][0] in end.calculation
    adds = [float(row[2].replace(",", "")) for name, row in rows.items() if name not in ("Sum", "Bounded at")]
    assert sum(adds) == pytest.approx(float(rows["Sum"][2].replace(",", "")), rel=5e-3)


@pytest.mark.parametrize("is_upright", [True, False])
def test_boxes_hold_all_lines_of_formulas(show, is_upright):
    X, y = lines_and_gaps()
    page = show(M5Regressor().fit(X, y).export_html(X=X, y=y))
    if page.evaluate("state.upright") != is_upright:
        page.get_by_role("button", name="Turn the tree").click()
    for _ in range(2):
        boxes = []
        for v in page.evaluate("sheet.order"):
            box = page.locator(f"#node-{v} .box").bounding_box()
            for part in page.locator(f"#node-{v}").locator(".name, .lesser, .track, .mini").all():
                inner = part.bounding_box()
                assert inner["y"] >= box["y"]
                assert inner["y"] + inner["height"] <= box["y"] + box["height"]
                assert inner["x"] + inner["width"] <= box["x"] + box["width"]
            boxes.append(box)
        for a, b in itertools.combinations(boxes, 2):
            assert any(a[x] + a[size] <= b[x] or b[x] + b[size] <= a[x] for x, size in (("x", "width"), ("y", "height")))
        page.get_by_role("button", name="Charts in the boxes").click()


def test_a_tree_with_models_that_was_folded_is_copied(show):
    X, y = lines_and_gaps()
    model = M5Regressor().fit(X, y)
    page = show(model.export_html())
    page.get_by_role("tab", name="Pruning").click()
    assert page.locator("#slider").count() == 0
    node = int(np.flatnonzero(model.tree_.n_branches)[-1])
    page.evaluate("(v) => { openTo([v]); state.open.add(v); redraw(); toggle(v); }", node)
    assert taken_home(page, model) == model.collapse(node).tree_
    assert model.apply_edits(page.locator("#edits").text_content()).tree_ == model.collapse(node).tree_


def test_a_model_without_tests_is_followed_too(show):
    x = np.linspace(0, 1, 60)
    model = M5Regressor().fit(x[:, None], 3 * x + 1)
    assert model.tree_.n_leaves == 1
    page = show(model.export_html())
    page.get_by_role("tab", name="Sample").click()
    page.get_by_role("spinbutton", name="x0").fill("0.25")
    assert page.locator("#result .answer strong").text_content() == "1.75"
