"""Labels of `C45Rules`: every view writes them, predictions and SQL do not."""

import json

import pandas as pd
import pytest

import fasttree
from fasttree import C45Rules

LABELS = {
    "bought": ("Bought?", {0: "no", 1: "yes"}),
    "sex": ("Gender", {"f": "women", "m": "men", "x": "others"}),
    "age": "Years of age",
}
SAMPLE = {"sex": "m", "age": 50.0}


@pytest.fixture
def model():
    X = pd.DataFrame({"sex": list("fffmmmxx") * 4, "age": [3.0, 40.0, 60.0, 4.0, 50.0, 60.0, 7.0, 8.0] * 4})
    y = pd.Series([1, 1, 1, 1, 0, 0, 1, 1] * 4, name="bought")
    return C45Rules(subset=True).fit(X, y)


def views(model, **labels):
    rules = model.to_rules(**labels)
    return {
        "text": model.export_text(**labels),
        "markdown": model.to_markdown(**labels),
        "frame": " ".join(model.to_frame(**labels)["rule"]) + "no yes",
        "page": model.export_html(**labels),
        "explanation": str(model.explain(SAMPLE, **labels)),
        "repr": repr(rules),
        "html": rules._repr_html_(),
    }


def test_every_view_writes_labels(model):
    assert "sex = m" in model.export_text()
    for name, text in views(model, labels=LABELS).items():
        assert "Gender = men" in text, name
        assert "Years of age &gt; " in text or "Years of age > " in text, name
        assert "no" in text, name
        assert "sex" not in text, name
        assert " age" not in text.replace("Years of age", ""), name
    lines = views(model, labels=LABELS)["text"].splitlines()
    assert lines[0].startswith("if Years of age > 8 and Gender = men then no")
    assert lines[-1] == "else yes"
    explanation = model.explain(SAMPLE, labels=LABELS)
    assert str(explanation).splitlines()[0].startswith("prediction: no  (no: ")
    assert "Years of age > 8, as it is 50" in str(explanation)
    assert "Gender = men, as" not in str(explanation)  # the value is that of the condition
    assert (explanation.prediction, explanation.sample) == (0, SAMPLE)


def test_kept_labels_are_written_by_every_view_and_saved(model, tmp_path):
    plain, given, sql = views(model), views(model, labels=LABELS), model.export_sql(table="people")
    predictions = model.predict(pd.DataFrame([SAMPLE])).tolist()
    assert model.set_labels(LABELS) is model
    assert views(model) == given
    assert "Gender = men" in model._repr_mimebundle_()["text/plain"]
    assert "Gender = men" in model._repr_mimebundle_()["text/html"]
    assert model.export_sql(table="people") == sql  # a program reads the values of the fit
    assert model.predict(pd.DataFrame([SAMPLE])).tolist() == predictions == [0]
    assert model.rules_[0].label == 0
    model.save(tmp_path / "model.json")
    loaded = fasttree.load(tmp_path / "model.json")
    assert views(loaded) == given
    assert loaded.to_json() == model.to_json()
    assert views(model.set_labels(None)) == plain
    assert "labels" not in json.loads(model.to_json())


def test_the_next_fit_removes_labels(model):
    model.set_labels(LABELS).fit(pd.DataFrame({"a": [1.0, 2.0] * 4}), [0, 1] * 4)
    assert model.export_text().startswith("if a ")


def test_labels_of_a_view_precede_kept_ones(model):
    text = model.set_labels(LABELS).export_text(labels={"sex": {"m": "boys"}})
    assert "Years of age > 8 and sex = boys" in text
    assert "Gender = men" in model.export_text()


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (["a"], TypeError, "labels is a list"),
        ({"height": "h"}, ValueError, "'height' is not a feature or target of the model; these are sex, age, bought"),
        ({"bought": {2: "z"}}, ValueError, "there is no value 2; the column has the values 0, 1"),
        ({"sex": {"f": "m"}}, ValueError, "would both read 'm'"),
    ],
)
def test_bad_labels(model, labels, error, message):
    for views_of in (model.set_labels, lambda labels: model.to_rules(labels=labels)):
        with pytest.raises(error, match=message):
            views_of(labels)
    assert "labels_" not in model.__dict__


def test_bad_labels_of_a_file(model):
    document = json.loads(model.to_json()) | {"labels": {"height": {}}}
    with pytest.raises(ValueError, match="labels"):
        fasttree.from_json(json.dumps(document))
