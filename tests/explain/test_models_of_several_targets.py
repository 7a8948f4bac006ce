"""Trees with linear models for several targets: every reader has the formulas of all, or says that it takes one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fasttree import M5Regressor, from_json

RNG = np.random.default_rng(0)
X = pd.DataFrame({name: RNG.normal(size=200) for name in ("width", "height", "depth")})
X.loc[::17, "height"] = np.nan
WIDE = (X["width"] > 0).to_numpy()
Y = pd.DataFrame({"price": np.where(WIDE, 3 * X["height"].fillna(0) - 40, 5 + X["depth"]), "rent": np.where(WIDE, 700.0, 300.0)})


@pytest.fixture(scope="module")
def model():
    return M5Regressor(extrapolation=None, smoothing=0).fit(X, Y)


def test_the_text_has_the_formula_of_each_target(model):
    lines = model.export_text(decimals=6).splitlines()
    assert len(lines) == model.tree_.node_count - 1
    assert any(" height | 700 (" in line for line in lines)
    assert any(" | 300 (" in line for line in lines)
    assert from_json(model.to_json()).export_text() == model.export_text()


def test_a_rule_names_the_targets(model):
    rules = model.to_rules()
    assert " then price = " in str(rules[0])
    assert " | rent = 300  (support" in str(rules[0])
    price, rent = rules[0].model
    models = model.tree_.models_by_target
    assert price.intercept == models[0].intercept[rules[0].node]
    assert list(price.terms.items()) == [(list(X)[j], b) for j, b in models[0].terms(rules[0].node)]
    assert rent.terms == {}
    frame = rules.to_frame()
    assert frame["formula"].str.contains("price = .* | rent = ").all()
    assert {"prediction_0", "prediction_1"} <= set(frame)


def test_an_explanation_predicts_as_the_model_and_shows_the_sums(model):
    n_sums = 0
    for i in range(20):
        explanation = model.explain(X.iloc[[i]])
        predicted = model.predict(X.iloc[[i]])[0]
        assert explanation.prediction == tuple(predicted.tolist())
        end = explanation.ends[0]
        assert bool(end.calculation) == any(models.terms(end.node) for models in model.tree_.models_by_target)
        for text, value in zip(filter(None, end.calculation.split(" | ")), predicted.tolist(), strict=bool(end.calculation)):
            assert float(text.split(" = ")[-1].split(";")[0]) == pytest.approx(value, rel=2e-3)
            n_sums += " = " in text
    assert n_sums > 5


def test_a_summary_counts_the_terms_of_all_targets(model):
    leaves = model.tree_.leaves()
    n_terms = sum(int(np.diff(models.start)[leaves].sum()) for models in model.tree_.models_by_target)
    assert f"Models: {n_terms} term" in model.summary()


@pytest.mark.parametrize("form", ["export_svg", "export_dot", "export_mermaid", "_repr_html_"])
def test_pictures_have_the_formulas_of_all_targets(model, form):
    text = getattr(model, form)()
    assert "price" in text
    assert "rent" in text
    assert "700" in text


ONE_TARGET = {
    "export_html": lambda model: model.export_html(),
    "export_html with samples": lambda model: model.export_html(X=X, y=Y),
    "plot_regions": lambda model: model.plot_regions(X, Y),
    "competing_splits": lambda model: model.competing_splits(0, X, Y),
    "export_svg with samples": lambda model: model.export_svg(X=X, y=Y),
}


@pytest.mark.parametrize("name", ONE_TARGET)
def test_what_takes_one_target_raises_an_error(model, name):
    with pytest.raises(ValueError, match=r"2 targets|several targets"):
        ONE_TARGET[name](model)
