"""Labels: every view writes them, predictions and exports for programs do not."""

import json

import pandas as pd
import pytest

import fasttree
from fasttree import C45Classifier, CARTClassifier, CARTRegressor
from fasttree.pruning import CostComplexity

LABELS = {"survived": {0: "died", 1: "lived"}, "sex": ("Gender", {"f": "women", "m": "men"}), "age": "Years of age"}


@pytest.fixture
def model():
    X = pd.DataFrame({"sex": ["f", "f", "f", "m", "m", "m"], "age": [3.0, 40.0, 60.0, 4.0, 50.0, 60.0]})
    return CARTClassifier().fit(X, pd.Series([1, 1, 1, 1, 0, 0], name="survived"))


def views(model, **labels):
    return {
        "text": model.export_text(**labels),
        "svg": model.export_svg(**labels),
        "dot": model.export_dot(**labels),
        "page": model.export_html(**labels),
        "rules": model.to_rules(**labels).to_text(),
        "explanation": str(model.explain({"sex": "m", "age": 50.0}, **labels)),
        "shap": repr(model.shap_values(pd.DataFrame({"sex": ["m"], "age": [50.0]}), **labels)) + "lived",
    }


def test_every_view_writes_labels(model):
    for name, text in views(model, labels=LABELS).items():
        assert "Gender" in text, name
        assert "Years of age" in text, name
        assert "lived" in text, name
        assert "age <= 27" not in text.replace("of age <= 27", ""), name
        assert "sex" not in text, name
    assert views(model, labels=LABELS)["rules"].startswith("if Gender = women then lived")


def test_kept_labels_are_written_by_every_view_and_saved(model, tmp_path):
    plain = views(model)
    given = views(model, labels=LABELS)
    assert model.set_labels(LABELS) is model
    assert views(model) == given
    assert model.prune(CostComplexity(alpha=0.0)).export_text() == given["text"]
    model.save(tmp_path / "model.json")
    loaded = fasttree.load(tmp_path / "model.json")
    assert views(loaded) == given
    assert loaded.to_json() == model.to_json()
    assert views(model.set_labels(None)) == plain
    assert "labels" not in json.loads(model.to_json())


def test_labels_of_a_view_precede_kept_ones(model):
    model.set_labels(LABELS)
    text = model.export_text(labels={"sex": {"f": "ladies"}})
    assert "sex = ladies: lived" in text
    assert "Years of age" in text
    assert "Gender = women" in model.export_text()


def test_predictions_and_exports_for_programs_keep_their_values(model):
    X = pd.DataFrame({"sex": ["f", "m"], "age": [30.0, 50.0]})
    before = [model.to_json(), model.to_rules().to_sql(), model.export_pmml(), model.predict(X).tolist()]
    rules, explanation = model.to_rules(), model.explain(X.iloc[0])
    model.set_labels(LABELS)
    document = json.loads(model.to_json())
    del document["labels"]
    assert document == json.loads(before[0])
    after = [model.to_rules().to_sql(), model.export_pmml(), model.predict(X).tolist()]
    assert after == before[1:]
    assert [rule.prediction for rule in model.to_rules()] == [rule.prediction for rule in rules]
    assert model.to_rules()[0].conditions == rules[0].conditions
    assert model.explain(X.iloc[0]).to_dict()["prediction"] == explanation.prediction == 1
    assert model.explain(X.iloc[0]).steps[0].feature == "sex"


def test_comments_of_sources_have_labels(model):
    module = {}
    exec(model.set_labels(LABELS).export_python(), module)
    assert module["predict"](["m", 50.0]) == 0
    for source in (model.export_python(), model.export_c()):
        assert "Years of age <= 27" in source
        assert "died (2)" in source
        assert "sex" in source  # the input keeps its name


def test_names_of_classes_and_features_in_shap_values(model):
    found = model.shap_values(pd.DataFrame({"sex": ["m"], "age": [50.0]}), labels=LABELS)
    assert (found.feature_names, found.output_names) == (["Gender", "Years of age"], ["died", "lived"])


def test_targets_have_headings():
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]})
    Y = pd.DataFrame({"churn": list("nnyy"), "grade": list("abab")})
    model = CARTClassifier().fit(X, Y).set_labels({"churn": ("Leaves us?", {"y": "yes"})})
    for picture in (model.export_svg(), model.export_html()):
        assert "Leaves us?" in picture
        assert "grade" in picture
        assert "yes" in picture


def test_the_next_fit_removes_labels(model):
    model.set_labels(LABELS).fit(pd.DataFrame({"a": [1.0, 2.0]}), [0, 1])
    assert model.export_text() == "├── a <= 1.5: 0 (1)\n└── a > 1.5: 1 (1)\n"


def test_all_forms_of_conditions():
    X = pd.DataFrame({"c": list("aabbccdd") * 4, "x": range(32)})
    y = pd.Series(list("nnyynnyy") * 4, name="bought")
    labels = {"c": {"a": "Alpha", "d": "Delta"}, "bought": ("Bought", {"n": "no", "y": "yes"})}
    for estimator in (CARTClassifier(), C45Classifier()):
        model = estimator.fit(X, y)
        assert "Alpha" in model.export_text(labels=labels)
        assert "Alpha" in model.to_rules(simplify=False, labels=labels).to_text()
        assert "c = a" not in model.explain(X.iloc[0], labels=labels)._repr_html_()
    frame = CARTRegressor(max_depth=1).fit(X, range(32)).to_rules(labels={"x": "Row"}).to_frame()
    assert frame["rule"].tolist() == ["Row <= 15.5", "Row > 15.5"]


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (["a"], TypeError, "labels is a list"),
        ({"height": "h"}, ValueError, "'height' is not a feature or target of the model; these are sex, age, survived"),
        ({"sex": {"x": "y"}}, ValueError, "there is no value 'x'; the column has the values 'f', 'm'"),
        ({"age": {1: "y"}}, ValueError, "is numeric"),
        ({"age": 3}, TypeError, "must be a text, a mapping of values to texts, or a pair"),
        ({"sex": {"f": 1}}, TypeError, "is a int"),
        ({"sex": {"f": "m"}}, ValueError, "'f' and 'm' of the categories of 'sex' would both read 'm'"),
        ({"sex": "age"}, ValueError, "of the features would both read 'age'"),
        ({"survived": {0: "1"}}, ValueError, "of the classes of 'survived' would both read"),
    ],
)
def test_bad_labels(model, labels, error, message):
    with pytest.raises(error, match=message):
        model.set_labels(labels)
    with pytest.raises(error, match=message):
        model.export_text(labels=labels)
    assert "labels_" not in model.__dict__


@pytest.mark.parametrize(
    "labels", [3, {"height": {}}, {"sex": 3}, {"sex": {"values": ["a"]}}, {"sex": {"label": 3}}, {"sex": {"values": ["a", "a"]}}]
)
def test_bad_labels_of_a_file(model, labels):
    document = json.loads(model.to_json()) | {"labels": labels}
    with pytest.raises(ValueError, match="labels"):
        fasttree.from_json(json.dumps(document))
