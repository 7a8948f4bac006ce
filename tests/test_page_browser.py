"""The interactive page in a real browser: what it shows, how it is moved, and that it predicts as the library does."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import SCHEMA, chain, flat, leaf, random_trees, split

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, Recipe, TreeClassifier, TreeRegressor
from fasttree._grow import predict_class, predict_value
from fasttree._pictures.colours import contrast
from fasttree._pictures.page import export_html
from fasttree._table import Schema, encode_table
from fasttree._tree import CATEGORY, Tree

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
CLASSES = np.array(["no", "perhaps", "yes"])
NOT_THE_ENGINE = "a sanitizer that is loaded into the engine would be loaded into the browser too"

if BROWSER is None:
    pytest.skip("the page needs a browser: install chromium", allow_module_level=True)
if "asan" in os.environ.get("LD_PRELOAD", ""):
    pytest.skip(NOT_THE_ENGINE, allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="the page's tests need playwright: pip install 'fasttree[test]'")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        # as root, which containers of tests are, Chromium only starts without its sandbox
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a page; at the end nothing may have been asked of a network, and nothing may have been complained of."""
    complaints: list[str] = []
    contexts = []

    def open_page(document: str, **options: Any) -> Any:
        context = browser.new_context(**{"reduced_motion": "reduce", "viewport": {"width": 1280, "height": 800}} | options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith(("file:", "data:", "blob:")) or complaints.append(request.url))
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(document, encoding="utf-8")
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


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
    "categories": {"missing": "fractional", "nominal": "category"},
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
    pruned = model.prune("cost_complexity", ccp_alpha=model.cost_complexity_pruning_path(X, y).ccp_alphas[-2])
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


@pytest.mark.parametrize("risk", ["impurity", "error"])
def test_the_slider_goes_along_the_sequence_of_cost_complexity_pruning(show, risk):
    X, y, _ = table_with_gaps()
    model = CARTClassifier(min_samples_leaf=4, pruning_risk=risk).fit(X[:200], y[:200])
    path = model.cost_complexity_pruning_path(X[:200], y[:200])
    page = show(model.export_html(X=X[200:], y=y[200:]))
    page.get_by_role("tab", name="Pruning").click()
    slider = page.get_by_role("slider")
    assert slider.get_attribute("max") == str(len(path.ccp_alphas) - 1)
    assert page.evaluate("subtrees.leaves") == path.n_leaves.tolist()
    slider.focus()
    for step in range(1, len(path.ccp_alphas)):
        slider.press("ArrowRight")
        pruned = model.prune("cost_complexity", ccp_alpha=float(path.ccp_alphas[step]))
        assert page.evaluate("[remains.nodes[0], remains.leaves[0]]") == [pruned.tree_.node_count - 1, pruned.tree_.n_leaves]
        given, training = page.evaluate("[subtrees.given[state.step], subtrees.error[state.step]]")
        assert given == pytest.approx(1 - pruned.score(X[200:], y[200:]), rel=1e-5)
        assert training == pytest.approx(1 - pruned.score(X[:200], y[:200]), rel=1e-5)
        assert f"{pruned.tree_.n_leaves} lea" in page.locator("#pruned").inner_text()
    assert page.get_by_role("treeitem").count() == 1
    page.get_by_role("button", name="Whole tree", exact=True).click()
    assert page.evaluate("remains.leaves[0]") == model.tree_.n_leaves


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
    assert labels(page)[0] == "all samples; tests petal length (cm); answer here setosa, 50 of 150; node 0"
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
    page.wait_for_function("(start) => view.zoom > start", arg=start)
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
    model = TreeClassifier(recipe=Recipe(nominal="category", missing="branch")).fit(X, y)
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
    # what stands on the tints of classes is in the ink that is readable on all of them
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


def test_fits_a_narrow_screen(show):
    page = show(iris()[0].export_html(), viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    boxes = [item.bounding_box() for item in page.get_by_role("treeitem").all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)


def test_fits_anew_when_the_window_changes(show):
    page = show(iris()[0].export_html())
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function("view.isFitted && fittingZoom(sheet.bounds) >= READABLE")
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
    frame.wait_for_function("view.isFitted && view.zoom >= READABLE")
    assert frame.get_by_role("treeitem").count() == 17


def test_prints_the_whole_drawing_without_the_controls(show):
    page = show(iris()[0].export_html())
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
    page.wait_for_function("drawn.far.length === 4")  # all branches, and the boxes of three colours


def test_a_very_deep_tree_opens_without_recursion(show):
    page = show(export_html(chain(10_000), one_feature()))
    page.get_by_role("button", name="Unfold all", exact=True).click()
    assert page.evaluate("sheet.order.length") == 20_001
    page.get_by_role("treeitem").first.focus()
    page.keyboard.press("End")
    assert page.evaluate("tree.depth[state.selected]") > 0
    assert page.get_by_role("treeitem").count() < 2000
