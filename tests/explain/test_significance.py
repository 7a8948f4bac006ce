"""Significance tests of CHAID in the views: text, pictures, and the data of the page."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

import fasttree
from fasttree import CARTClassifier, CHAIDClassifier, CHAIDRegressor
from fasttree._model.tested import NodeTest, merge_texts, p_text
from fasttree._model.words import Words

SPLIT = "chi-square = 27, df = 2, p = 1.37e-06, adjusted 3.43e-05"
MERGES = ["A with B, p = 0.685", "C with D, p = 0.629"]


@pytest.fixture(scope="module")
def kass():
    """The worked example of nominal categories, and two features that lose."""
    yes = {"A": 30, "B": 28, "C": 10, "D": 12, "E": 20}
    name = [each for each in yes for _ in range(50)]
    y = ["yes" if i < n else "no" for n in yes.values() for i in range(50)]
    noise = np.random.default_rng(0).integers(0, 2, 250)
    X = pd.DataFrame({"name": name, "noise": noise, "worse": [f"w{label}" if i % 3 else "w" for i, label in enumerate(noise)]})
    return X, y, CHAIDClassifier(max_depth=1).fit(X, y)


@pytest.fixture(scope="module")
def steps():
    """A number in three steps, and missing values like those of the first."""
    x = np.repeat([1.0, 2, 3, 4, 5, 6, np.nan], 30)
    y = np.repeat([0.0, 0, 5, 5, 9, 9, 0], 30) + np.tile([-1.0, 0, 1], 70)
    return CHAIDRegressor().fit(pd.DataFrame({"x": x, "y": np.tile([1.0, 2], 105)}), y)


def texts_of(svg):
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def tips_of(svg):
    return [html.unescape(text) for text in re.findall(r"<title>([^<]*)</title>", svg)]


def test_text_lists_the_features_that_compete_and_the_merges(kass):
    X, y, model = kass
    assert [line for line in model.export_text().splitlines() if "p = " in line] == [f"│   {SPLIT}"]
    lines = model.export_text(show_tests=True).splitlines()
    rivals = model.node_test(0).predictors[1:]
    assert [line.split(":")[0] for line in lines[1:3]] == [f"│   competing {X.columns[test.feature]}" for test in rivals]
    assert f"p = {rivals[0].p_value:.3g}" in lines[1]
    assert lines[3:5] == [f"│   merged: {text}" for text in MERGES]
    assert model.export_text(show_tests=True, ascii=True).isascii()
    plain = CARTClassifier(max_depth=1).fit(X, y)
    assert plain.export_text(show_tests=True) == plain.export_text()


def test_pictures_have_the_test_in_the_box_and_all_in_the_tooltip(kass):
    model = kass[2]
    statistic, p_values = "chi-square = 27, df = 2", "p = 1.37e-06, adjusted 3.43e-05"
    drawn = model.export_svg()
    assert {statistic, p_values} <= set(texts_of(drawn))
    tip = tips_of(drawn)[0].splitlines()
    assert SPLIT in tip
    assert [line for line in tip if line.startswith("merged: ")] == [f"merged: {text}" for text in MERGES]
    assert sum(line.startswith("competing ") for line in tip) == 2
    assert "not split: max_depth is reached" in tips_of(drawn)[1].splitlines()
    assert SPLIT in drawn.split("<desc")[1].split("</desc>")[0]
    assert p_values in texts_of(model.export_svg(kind="icicle"))
    assert statistic in model.export_dot()
    assert f"<br/>{statistic}<br/>{p_values}" in model.export_mermaid()
    assert "p = " not in CARTClassifier(max_depth=1).fit(*kass[:2]).export_svg()


def test_a_picture_shows_the_tests_with_matplotlib(kass):
    pytest.importorskip("matplotlib")
    ax = kass[2].plot()
    assert "chi-square = 27, df = 2" in {text.get_text() for text in ax.texts}
    ax.figure.clear()


def test_a_tooltip_counts_what_it_does_not_list():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({f"f{j}": rng.integers(0, 9, 400).astype(str) for j in range(7)})
    tip = tips_of(CHAIDClassifier().fit(X, rng.integers(0, 2, 400)).export_svg())[0].splitlines()
    assert tip[-1].startswith("merged: … ")
    assert "competing … 3 more" in tip
    assert "not split: no feature is significant" in tip


def test_merges_name_intervals_and_missing_values(steps):
    test = steps.node_test(0)
    assert test.bounds == (1.0, 2, 3, 4, 5, 6)
    words = Words(steps.tree_, steps.schema_)
    expected = ["<= 1 with 1 < x <= 2", "2 < x <= 3 with 3 < x <= 4", "4 < x <= 5 with > 5", "<= 2 with missing"]
    assert merge_texts(words, 0) == [f"{text}, p = 1" for text in expected]
    again = fasttree.from_json(steps.to_json())
    assert again.tree_ == steps.tree_
    document = json.loads(steps.to_json())
    for entry in document["significance"]:
        entry.pop("bounds", None)
    earlier = fasttree.from_json(json.dumps(document))
    assert merge_texts(Words(earlier.tree_, earlier.schema_), 0)[2] == "interval 5 with interval 6, p = 1"
    document["significance"][0]["bounds"] = [1, 3, 2]
    with pytest.raises(ValueError, match=r"significance\[0\]\.bounds: must increase"):
        fasttree.from_json(json.dumps(document))


def test_every_merge_of_a_tree_has_a_text():
    rng = np.random.default_rng(2)
    n = 3000
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 12, n).astype(str), "c": rng.integers(1, 7, n)})
    X = X.mask(rng.random(X.shape) < 0.1)
    y = (X["a"].fillna(1) + X["c"].fillna(0) + rng.normal(size=n)).round()
    for model in (
        CHAIDClassifier(ordinal_features={"c": range(1, 7)}, resplit=True, min_samples_leaf=20),
        CHAIDRegressor(method="exhaustive", ordinal_features={"c": range(1, 7)}),
    ):
        model.fit(X, y)
        words = Words(model.tree_, model.schema_, getattr(model, "classes_", None))
        for node, test in enumerate(model.tree_.tests):
            texts = merge_texts(words, node)
            assert len(texts) == len(test.merges)
            assert [text.startswith("divided again: ") for text in texts] == [step.divides for step in test.merges]


def test_the_page_has_the_tests_of_each_node(kass):
    X, y, model = kass
    document = model.export_html()
    data = json.loads(document.split('id="data">')[1].split("</script>")[0])["significance"]
    assert (len(data), ", ".join(data[0]["test"]), data[0]["merges"]) == (4, SPLIT, MERGES)
    rivals = model.node_test(0).predictors[1:]
    assert [row[0] for row in data[0]["rivals"]] == [X.columns[test.feature] for test in rivals]
    assert [row[-1] for row in data[0]["rivals"]] == [p_text(test.log_adjusted_p_value) for test in rivals]
    assert data[1]["reason"] == "not split: max_depth is reached"
    assert "significanceBlock(" in document
    assert "significanceBlock(" not in CARTClassifier(max_depth=1).fit(X, y).export_html()


def test_removed_branches_leave_no_test(kass):
    shorter = kass[2].collapse(0)
    assert shorter.node_test(0) == NodeTest(predictors=kass[2].node_test(0).predictors)
    assert not [text for text in texts_of(shorter.export_svg()) if text.startswith("chi-square")]


@pytest.mark.parametrize(("log", "text"), [(0.0, "1"), (-1000.0, "5.08e-435"), (-np.inf, "0")])
def test_p_values_have_three_digits_even_if_they_underflow(log, text):
    assert p_text(log) == text


def test_explanations_and_rules_have_the_p_values_and_merges_of_their_tests(kass, steps):
    X, _, model = kass
    explanation = model.explain(X.iloc[0])
    assert explanation.steps[0].test == SPLIT
    assert f"    {SPLIT}" in str(explanation).splitlines()
    assert SPLIT in explanation._repr_html_()
    assert explanation.steps[0].merges == tuple(MERGES)
    assert [line.strip() for line in str(explanation).splitlines() if "merged" in line] == [f"merged: {text}" for text in MERGES]
    assert f"merged: {MERGES[1]}" in explanation._repr_html_()
    assert model.to_rules()[0].merges == (tuple(MERGES),)
    below = [f"    {X.columns[0]}: {SPLIT}", *(f"        merged: {text}" for text in MERGES)]
    assert model.to_rules().to_text(show_tests=True).splitlines() == [
        line for rule in model.to_rules() for line in [str(rule), *(below if rule.node else [])]
    ]
    assert model.to_rules().to_frame()["merges"][0] == "; ".join(MERGES)
    for tested in (model, steps):
        for rule, end in zip(tested.to_rules(), tested.to_rules().to_frame().to_dict("records"), strict=True):
            above, node = [], rule.node
            while node:
                node = tested.tree_.parent[node]
                above.insert(0, tested.node_test(node).split.adjusted_p_value)
            assert rule.p_values == pytest.approx(above)
            assert len(rule.merges) == len(above)
            if above:  # else missing values stop at the root
                assert end["largest_p_value"] == pytest.approx(max(above))
                assert f"largest p {max(above):.3g}" in str(rule)
    assert "largest p" in model.to_rules().to_markdown().splitlines()[0]
    plain = CARTClassifier(max_depth=1).fit(*kass[:2])
    assert plain.to_rules()[0].p_values == plain.to_rules()[0].merges == ()
    assert plain.explain(X.iloc[0]).steps[0].test == ""
    assert "largest" not in plain.to_rules().to_text() + plain.to_rules().to_markdown()
