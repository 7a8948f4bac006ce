"""The page of an additive model: what it holds, and in a browser, what it shows and that it predicts as the library does."""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fasttree
from fasttree import GAMClassifier, GAMRegressor
from fasttree._explain.page.common import document as assembling
from fasttree._explain.page.lean import lean_script

QUICK = {"n_bags": 2, "max_iter": 40, "random_state": 0}


@pytest.fixture(scope="module", autouse=True)
def lean_parts_are_kept() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembling, "lean_script", functools.cache(lean_script))
        yield


def homes() -> tuple[pd.DataFrame, pd.Series]:
    random = np.random.default_rng(2)
    X = pd.DataFrame({"size": random.uniform(20, 200, 300).round(1), "town": random.choice(["Bonn", "Köln", "Ulm"], 300)})
    X["rooms"] = random.integers(1, 7, 300).astype(np.float32)
    y = 2 * X["size"] + 50 * (X["town"] == "Ulm") + X["size"] * (X["rooms"] > 3) + random.normal(size=300)
    X.loc[::11, "size"] = np.nan
    return X, y.rename("price")


@functools.cache
def model_of(kind: str) -> Any:
    X, y = homes()
    if kind == "numbers":
        return GAMRegressor(**QUICK, interactions=[("size", "rooms"), ("town", "rooms")]).fit(X, y)
    classes = (
        np.where(y > 400, "dear", "cheap")
        if kind == "two classes"
        else np.array(["a", "b", "c"])[(y.rank().to_numpy() // 101).astype(int)]
    )
    return GAMClassifier(**QUICK).fit(X, classes)


KINDS = ["numbers", "two classes", "three classes"]


def data_of(document: str) -> Any:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', document, re.DOTALL)[1])


# --- the data


@pytest.mark.parametrize("kind", KINDS)
def test_holds_the_tables_with_all_digits(kind):
    model = model_of(kind)
    data, fitted = data_of(model.export_html()), model.additive_
    assert (data["link"], data["intercept"]) == (fitted.link, fitted.intercept.tolist())
    assert [term["name"] for term in data["terms"]] == model.term_names_
    for term, own in zip(data["terms"], fitted.terms, strict=True):
        assert term["scores"] == own.scores.reshape(len(own.scores), -1).tolist()
        np.testing.assert_allclose(term["deviations"], own.deviations.reshape(len(own.scores), -1), rtol=1e-5)
        assert term["importance"] == pytest.approx(own.importance, rel=1e-5)
        for axis, cut in zip(term["axes"], own.axes, strict=True):
            assert axis["cuts"] == (None if cut.cuts is None else cut.cuts.tolist())
            assert axis["bins"] == cut.n_bins


def test_the_density_counts_every_training_sample():
    model = model_of("numbers")
    for term, own in zip(data_of(model.export_html())["terms"], model.additive_.terms, strict=True):
        if len(own.axes) == 1:
            counted = sum(term["weight"]) if "weight" in term else sum(term["density"]) + term["lost"]
            assert counted == pytest.approx(300)


def test_values_begin_with_the_median_and_the_most_frequent_category():
    X, y = homes()
    X["town"] = np.where(np.arange(300) % 3, "Köln", X["town"])
    model = GAMRegressor(**QUICK).fit(X, y)
    start = data_of(model.export_html())["start"]
    size = model.additive_.terms[0].axes[0]
    assert start["0"] == size.codes(np.array([X["size"].median()]))[0]
    assert start["1"] == 1 + ["Bonn", "Köln", "Ulm"].index("Köln")


def test_rows_are_those_of_the_samples_and_can_be_left_out():
    X, y = homes()
    model = model_of("numbers")
    rows = data_of(model.export_html(X=X, y=y, max_rows=7))["rows"]
    assert len(rows["row"]) == 7
    assert rows["of"] == 300
    assert rows["truth"] == y.iloc[rows["row"]].tolist()
    assert rows["single"] == [False, False, True]
    assert data_of(model.export_html(X=X, max_rows=2))["rows"]["truth"] is None
    assert data_of(model.export_html(X=X, y=y, max_rows=0))["rows"] is None
    assert data_of(model.export_html())["rows"] is None


def test_bad_input_is_refused():
    X, y = homes()
    model = model_of("two classes")
    with pytest.raises(ValueError, match="y is given without X"):
        model.export_html(y=y)
    with pytest.raises(ValueError, match="max_rows=-1"):
        model.export_html(X=X, max_rows=-1)
    with pytest.raises(ValueError, match="not in the fit"):
        model.export_html(X=X, y=["free"] * 300)
    with pytest.raises(ValueError, match="X has 300 samples, but y has 2"):
        model.export_html(X=X, y=["dear", "cheap"])


def test_labels_and_changes_by_hand_are_shown():
    model = model_of("two classes").make_monotone("size", 1)
    data = data_of(model.export_html(title="Homes", labels={"size": "Area"}))
    assert data["title"] == "Homes"
    assert data["terms"][0]["name"] == "Area"
    assert data["terms"][0]["byHand"] == ["all values: does not fall"]


def test_what_is_put_in_is_neither_markup_nor_a_mark():
    nasty = "</script>{{script}}<!--&"
    X = pd.DataFrame({nasty: [f"{nasty}{i % 2}" for i in range(40)]})
    document = GAMClassifier(**QUICK).fit(X, [f"{nasty}{i % 2}" for i in range(40)]).export_html(title=nasty)
    assert document.count("</script>") == 2
    assert "<title>&lt;/script&gt;{{script}}&lt;!--&amp;</title>" in document
    assert data_of(document)["title"] == nasty


def test_the_page_itself_is_small():
    assert len(GAMRegressor(**QUICK).fit([[0.0], [1.0]] * 20, [1.0, 2.0] * 20).export_html().encode()) < 60_000


# --- in a browser


def strange_samples() -> pd.DataFrame:
    """Samples with values at cuts, beyond them, missing and unseen."""
    X, _ = homes()
    cuts = model_of("numbers").additive_.terms[0].axes[0].cuts[:40]
    beyond = pd.DataFrame({"size": [-1e9, 1e9, None, 50.0], "town": ["Ulm", None, "Rom", "Bonn"], "rooms": [None, 99, -5, 3.5]})
    at = pd.DataFrame({"size": cuts, "town": "Köln", "rooms": 3.0})
    return pd.concat([X, at, beyond], ignore_index=True).astype({"rooms": np.float32})


@pytest.mark.parametrize("kind", KINDS)
def test_predicts_the_bits_of_the_library(show, kind):
    model, X = model_of(kind), strange_samples()
    page = show(model.export_html(X=X, max_rows=len(X)))
    scores = page.evaluate("model.rows.row.map((_, i) => { chooseRow(i); return scoresOf(model, chosen.sample); })")
    assert scores == model.additive_.score(model._encode_table(X)).tolist()
    if kind != "numbers":
        found = page.evaluate("(scores) => scores.map((each) => probabilitiesOf(model, each))", scores)
        np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-13)
        answers = page.evaluate("(scores) => scores.map((each) => model.classes[classOf(model, each)])", scores)
        assert answers == model.predict(X).tolist()


def test_a_followed_row_is_predicted_and_compared(show):
    X, y = homes()
    model = model_of("numbers")
    page = show(model.export_html(X=X, y=y, decimals=2))
    page.get_by_label("Row of the data").select_option("0")
    predicted = model.predict(X.iloc[[0]])[0]
    assert float(page.locator("#result strong").text_content()) == pytest.approx(predicted, abs=0.006)
    assert f"off by {abs(predicted - y[0]):.2f}".rstrip("0").rstrip(".") in page.locator("#result").text_content()
    page.get_by_role("button", name="Next row").click()
    assert page.get_by_label("Row of the data").input_value() == "1"


@pytest.mark.parametrize("kind", KINDS)
def test_the_waterfall_leads_from_the_intercept_to_the_score_as_explain_does(show, kind):
    X, _ = homes()
    model = model_of(kind)
    page = show(model.export_html(X=X, max_rows=3))
    page.evaluate("chooseRow(1)")
    explanation = model.explain(X.iloc[int(page.evaluate("model.rows.row[1]"))])
    texts = page.locator(".fall text").all_text_contents()
    assert texts[1] == f"{explanation.intercept:+.3f}"
    assert texts[-1] == f"{explanation.score:+.3f}"
    steps = list(zip(texts[2:-2:2], texts[3:-2:2], strict=True))
    assert steps == [(f"{one.term} = {one.value}", f"{one.score:+.3f}") for one in explanation.contributions]
    bars = [bar.bounding_box() for bar in page.locator(".fall rect").all()]
    assert len(bars) == len(steps)
    assert [bar.get_attribute("class") for bar in page.locator(".fall rect").all()] == [
        "down" if one.score < 0 else "up" for one in explanation.contributions
    ]
    for before, after in itertools.pairwise(bars):  # each begins where the one before ends
        ends = [before["x"], before["x"] + before["width"]]
        starts = [after["x"], after["x"] + after["width"]]
        assert min(abs(a - b) for a in ends for b in starts) < 2.5


def test_terms_are_listed_by_importance_and_a_click_shows_their_shape(show):
    model = model_of("numbers")
    page = show(model.export_html())
    names = page.locator("#terms .what").all_text_contents()
    order = np.argsort(-model.term_importances_, kind="stable")
    assert names == [model.term_names_[i] for i in order]
    for name in names:
        page.locator("#terms button").get_by_text(name, exact=True).click()
        assert page.locator("#shape h2").text_content() == name
        assert page.get_by_role("img", name=f"Shape of {name}", exact=True).count() == 1
        assert page.locator('#terms [aria-current="true"] .what').all_text_contents() == [name]


def test_the_steps_of_a_shape_are_its_scores(show):
    model = model_of("two classes")
    page = show(model.export_html())
    page.evaluate("showTerm(0)")
    term = model.additive_.terms[0]
    numbers = [[float(x) for x in point.split()] for point in page.locator(".step").get_attribute("d")[1:].split("L")]
    points = np.array(numbers)
    frame = page.evaluate("FRAME")
    low, high = page.evaluate("scaleOf(model.terms[0])")
    scores = low + (frame["y"] + frame["height"] - points[:, 1]) / frame["height"] * (high - low)
    np.testing.assert_allclose(scores[::2], term.scores[0, 1:], atol=0.002 * (high - low))
    np.testing.assert_array_equal(scores[::2], scores[1::2])
    axis = page.evaluate("model.terms[0].axes[0]")
    stops = axis["low"] + (points[1::2, 0] - frame["x"]) / frame["width"] * (axis["high"] - axis["low"])
    np.testing.assert_allclose(stops[:-1], term.axes[0].cuts, atol=0.001 * (axis["high"] - axis["low"]))
    area = page.locator(".area").get_attribute("d")
    assert len(re.findall("[ML]", area)) == 4 * (term.axes[0].n_bins - 1)


def test_a_click_in_a_shape_chooses_the_value(show):
    model = model_of("numbers")
    page = show(model.export_html())
    page.evaluate("showTerm(0)")
    box = page.locator(".hit").bounding_box()
    share = page.evaluate("FRAME.width / (FRAME.width + 50)")
    page.mouse.move(box["x"] + box["width"] * share / 2, box["y"] + 50)
    low, high = page.evaluate("[model.terms[0].axes[0].low, model.terms[0].axes[0].high]")
    text = page.locator(".readout").text_content()
    page.mouse.click(box["x"] + box["width"] * share / 2, box["y"] + 50)
    value = float(page.get_by_label("size", exact=True).input_value())
    assert value == pytest.approx((low + high) / 2, abs=(high - low) / 100)
    term = model.additive_.terms[0]
    score = term.scores[0, term.axes[0].codes(np.array([value]))[0]]
    assert f": {score:+.3f} ± " in text
    page.mouse.click(box["x"] + box["width"] - 4, box["y"] + 50)  # missing values
    assert page.get_by_label("size", exact=True).input_value() == ""
    page.evaluate("showTerm(1)")
    page.locator(".row").nth(2).click()
    assert page.get_by_label("town", exact=True).locator("option:checked").text_content() == "Ulm"
    page.evaluate("showTerm(model.terms.findIndex(isPair))")
    cells = page.locator("#shape svg .up, #shape svg .down")
    first, second = (axis.n_bins - 1 for axis in model.additive_.terms[3].axes)
    assert cells.count() == first * second
    cells.nth(first * second - 1).click()  # the last bin of both
    assert page.evaluate("model.terms[3].axes.map((axis) => binOf(axis, chosen.sample[axis.feature]))") == [first, second]


def test_entered_values_are_predicted(show):
    model = model_of("three classes")
    page = show(model.export_html())
    page.get_by_label("size", exact=True).fill("150")
    page.get_by_label("town", exact=True).select_option("Ulm")
    page.get_by_label("rooms", exact=True).fill("")
    sample = pd.DataFrame({"size": [150.0], "town": ["Ulm"], "rooms": [None]}).astype({"rooms": float})
    assert page.locator("#result strong").text_content() == model.predict(sample)[0]
    shares = page.locator("#result .shares td.right").all_text_contents()
    assert float(shares[0].removesuffix(" %").lstrip("<>")) == pytest.approx(100 * model.predict_proba(sample).max(), abs=0.6)
    choice = page.get_by_label("Class of the score")
    assert choice.locator("option:checked").text_content() == f"Score of {model.predict(sample)[0]}"
    choice.select_option("0")
    assert page.locator(".fall text").all_text_contents()[-2] == "score of a"
    page.get_by_label("size", exact=True).fill("30")
    assert page.locator(".fall text").all_text_contents()[-2] == "score of a"  # what the reader chose stays


def test_the_table_of_a_shape_is_its_text(show):
    model = model_of("numbers")
    page = show(model.export_html())
    text = model.export_text(max_lines=None)
    for i, name in enumerate(["size", "town", "rooms"]):
        page.evaluate("showTerm", i)
        page.get_by_text("As a table").click()
        rows = page.locator("#shape tbody tr")
        rows.first.wait_for()
        own = text.split(f"\n{name}, importance")[1].split("\n")[1:]
        lines = [line.strip().replace("<=", "≤") for line in own[: rows.count()]]
        found = [": ".join(row.locator("td").all_text_contents()) for row in rows.all()]
        assert [row.split(" ± ")[0] for row in found] == [line.split(" ± ")[0] for line in lines]
        bands = [[float(line.split(" ± ")[1]) for line in each] for each in (found, lines)]
        np.testing.assert_allclose(*bands, atol=0.0011)  # means of rounded deviations
        assert own[rows.count()][:4] != "    "  # no line is left


def test_shapes_have_one_scale_if_it_is_wanted(show):
    page = show(model_of("numbers").export_html())
    page.get_by_label("One scale for all shapes").check()
    ranges = page.evaluate("model.terms.filter((term) => !isPair(term)).map(scaleOf)")
    assert all(each == ranges[0] for each in ranges)
    assert page.evaluate("document.activeElement.type") == "checkbox"
    page.get_by_label("One scale for all shapes").uncheck()
    assert len({tuple(each) for each in page.evaluate("model.terms.filter((term) => !isPair(term)).map(scaleOf)")}) > 1


def test_many_categories_and_terms_are_drawn(show):
    random = np.random.default_rng(0)
    X = pd.DataFrame({f"x{i}": random.integers(0, 3, 400) for i in range(20)})
    X["long"] = random.choice([f"a category with a long name, number {i}" for i in range(60)], 400)
    model = GAMRegressor(**QUICK).fit(X, random.normal(size=400))
    page = show(model.export_html())
    page.evaluate("showTerm(20)")
    assert page.locator(".row").count() == 40
    assert "other terms" in page.locator(".fall").text_content()
    names = page.locator(".row .named").all_text_contents()
    assert len(set(names)) == 40


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fits_a_narrow_screen_and_the_colours_change(show, scheme):
    page = show(model_of("numbers").export_html(), viewport={"width": 360, "height": 700}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    before = page.evaluate("getComputedStyle(document.body).color")
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate("getComputedStyle(document.body).color") != before
    assert page.get_by_role("button", name="Dark colours").get_attribute("aria-pressed") == str(scheme == "light").lower()


def test_a_loaded_model_has_the_same_page(tmp_path):
    model = model_of("two classes")
    model.save(tmp_path / "model.json")
    assert fasttree.load(tmp_path / "model.json").export_html() == model.export_html()
