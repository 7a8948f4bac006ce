"""Trees with linear models in rules, explanations and pictures: every reader has the formulas by which the tree predicts."""

from __future__ import annotations

import html

import numpy as np
import pandas as pd
import pytest

from fasttree import M5Regressor
from fasttree._explain.pictures.lettering import terms_wrapped

RNG = np.random.default_rng(0)
X = pd.DataFrame({name: RNG.normal(size=200) for name in ("width", "height", "depth")})
X.loc[::17, "height"] = np.nan
Y = pd.Series(np.where(X["width"] > 0, 3 * X["height"].fillna(0) - 40, 5 + X["depth"]) + 0.1 * RNG.normal(size=200), name="price")


@pytest.fixture(scope="module")
def model():
    return M5Regressor().fit(X, Y)


def evaluated(text, row):
    """What a formula without bounds gives, read as arithmetic."""
    for name in X:
        text = text.replace(f" {name}", f" * {row[name]!r}")
    return eval(text.split(",")[0].split("= ")[-1])


def test_a_rule_is_a_condition_and_a_formula(model):
    rules = model.to_rules()
    assert str(rules[0]).startswith("if width <= ")
    assert " then price = " in str(rules[0])
    row = X.iloc[int(np.flatnonzero((model.apply(X) == rules[0].node) & X["height"].notna())[0])]
    text = rules.to_text(decimals=12).splitlines()[0].split(" then ")[1].split("  (")[0]
    assert evaluated(text, row) == pytest.approx(model.predict(row.to_frame().T)[0])


def test_the_model_of_a_rule_has_exact_numbers(model):
    models = model.tree_.models
    for rule in model.to_rules():
        assert rule.model is not None
        assert rule.model.intercept == models.intercept[rule.node]
        assert list(rule.model.terms.items()) == [(list(X)[j], b) for j, b in models.terms(rule.node)]
        assert (rule.model.lower, rule.model.upper) == (models.lower[rule.node], models.upper[rule.node])
        assert rule.spread is None


def test_a_frame_of_rules_has_formulas(model):
    frame = model.to_rules().to_frame()
    assert "spread" not in frame
    assert all(text.startswith("price = ") for text in frame["formula"])


def test_an_explanation_predicts_as_the_model_and_shows_the_sum(model):
    for i in (0, 1, 17):
        explanation = model.explain(X.iloc[[i]])
        predicted = model.predict(X.iloc[[i]])[0]
        assert explanation.prediction == predicted
        (end,) = explanation.ends
        assert end.prediction == predicted
        left, right = end.calculation.split(";")[0].split(" = ")
        assert eval(left) == pytest.approx(predicted, abs=0.02)
        assert float(right.split(",")[0]) == pytest.approx(predicted, abs=0.02)
    missing = int(np.flatnonzero(X["height"].isna() & (X["width"] > 0.1))[0])
    assert "height is missing, and its mean is" in str(model.explain(X.iloc[[missing]]))


def test_an_explanation_names_the_bound(model):
    far = pd.DataFrame({"width": [1.0], "height": [1e3], "depth": [0.0]})
    explanation = model.explain(far)
    assert explanation.prediction == model.predict(far)[0] == model.tree_.models.upper[model.apply(far)[0]]
    assert f"bounded at {explanation.prediction:.4g}" in explanation.ends[0].calculation


@pytest.mark.parametrize("name", ["export_svg", "export_dot", "export_mermaid", "export_text"])
def test_pictures_have_the_formulas(name, model):
    text = getattr(model, name)()
    for leaf in model.tree_.leaves().tolist():
        for j, b in model.tree_.models.terms(leaf):
            assert f"{abs(b):.4g} {list(X)[j]}" in text


def test_the_summary_counts_terms(model):
    n_terms = np.diff(model.tree_.models.start)[model.tree_.leaves()]
    assert f"Models: {n_terms.sum()} terms in the leaves, {n_terms.max()} at most in one" in model.summary()


@pytest.fixture(scope="module")
def with_indicators():
    rng = np.random.default_rng(1)
    table = X.assign(colour=rng.choice(["blue", "it's", "red"], 200, p=[0.2, 0.3, 0.5]))
    table.loc[::13, "colour"] = None
    effect = table["colour"].map({"blue": 5.0, "it's": -2.0, "red": 0.0}).fillna(1.0)
    return M5Regressor(indicators=True).fit(table, Y + effect), table


INDICATORS = {"blue": "[colour = blue]", "it's": "[colour = it's]"}


def test_every_view_has_the_indicators(with_indicators):
    model, _ = with_indicators
    models = model.tree_.models
    texts = [
        model.export_text(),
        model.to_rules().to_text(),
        html.unescape(model.export_svg()),
        html.unescape(model.export_dot()),
    ]
    found = set()
    for leaf in model.tree_.leaves().tolist():
        for column, b in models.terms(leaf):
            if models.source(column)[1]:
                indicator = INDICATORS[("blue", "it's", "red")[models.source(column)[1] - 1]]
                found.add(indicator)
                assert all(f"{abs(b):.4g} {indicator}" in " ".join(text.split()) for text in texts)
    assert found == set(INDICATORS.values())


def test_a_rule_names_feature_and_category_of_an_indicator(with_indicators):
    model, table = with_indicators
    names = list(table)
    for rule in model.to_rules():
        sources = [model.tree_.models.source(column) for column, _ in model.tree_.models.terms(rule.node)]
        expected = [(names[j], ("blue", "it's", "red")[code - 1]) if code else names[j] for j, code in sources]
        assert list(rule.model.terms) == expected
        assert list(rule.model.terms.values()) == [b for _, b in model.tree_.models.terms(rule.node)]


@pytest.mark.parametrize("colour", ["blue", "red", None, "violet"])
def test_an_explanation_has_the_value_of_an_indicator(colour, with_indicators):
    model, table = with_indicators
    row = table.iloc[[4]].assign(colour=colour)
    explanation = model.explain(row)
    assert explanation.prediction == model.predict(row)[0]
    calculation = explanation.ends[0].calculation
    left, right = calculation.split(";")[0].split(" = ")
    assert eval(left) == pytest.approx(float(right.split(",")[0]), abs=0.02)
    share = (table["colour"] == "blue").sum() / table["colour"].notna().sum()
    assert (f"colour is missing, and the mean of [colour = blue] is {share:.4g}" in calculation) == (colour in (None, "violet"))


def test_labels_are_in_indicators(with_indicators):
    model, table = with_indicators
    labelled = M5Regressor(indicators=True).fit(table, model.predict(table))
    labelled.set_labels({"colour": ("hue", {"blue": "azure"})})
    assert "[hue = azure]" in labelled.export_text()
    assert "[colour" not in labelled.export_text()


def test_regions_are_drawn_along_categories(with_indicators):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model, table = with_indicators
    assert model.plot_regions(table, model.predict(table), features=["colour"], at=table.iloc[0]) is not None
    assert model.plot_regions(table, model.predict(table), features=["colour", "height"], at=table.iloc[0]) is not None
    pyplot.close("all")


def test_lines_are_fitted_over_the_samples():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    x = np.linspace(0, 1, 200)
    y = np.where(x < 0.5, x, 4 - 3 * x)
    model = M5Regressor(smoothing=0, extrapolation=None).fit(x[:, None], y)
    axes = model.plot_regions(x[:, None], y)
    (lines,) = [collection for collection in axes.collections if collection.get_label() == "prediction"]
    for (x0, y0), (x1, y1) in lines.get_segments():
        inside = model.predict([[(x0 + x1) / 2]])[0]
        assert (y0 + y1) / 2 == pytest.approx(inside)
    slopes = {round((y1 - y0) / (x1 - x0), 9) for (x0, y0), (x1, y1) in lines.get_segments()}
    assert slopes == {1.0, -3.0}
    pyplot.close("all")


def test_two_features_are_shaded_by_the_predictions():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model = M5Regressor().fit(X[["width", "depth"]].to_numpy(), Y)
    assert model.plot_regions(X[["width", "depth"]].to_numpy(), Y) is not None
    pyplot.close("all")


def test_formulas_are_broken_before_their_signs():
    lines = terms_wrapped("200 - 2.5 a long name + 3 b, from -1 to 2", 60, 12, 7)
    assert " ".join(lines) == "200 - 2.5 a long name + 3 b, from -1 to 2"
    assert all(line[0] in "+-ft2" for line in lines)
    assert terms_wrapped("1 + 2 a + 3 b + 4 c", 20, 12, 2)[-1].endswith("…")
