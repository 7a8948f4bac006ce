"""The option --labels of show and explain."""

import json

import pandas as pd
import pytest
from commands import mistake, run

import fasttree
from fasttree import C45Rules, CARTClassifier


@pytest.fixture
def model(tmp_path):
    X = pd.DataFrame({"sex": ["f", "f", "f", "m", "m", "m"], "age": [3.0, 40.0, 60.0, 4.0, 50.0, 60.0]})
    y = pd.Series([1, 1, 1, 1, 0, 0], name="survived")
    CARTClassifier().fit(X, y).save(tmp_path / "model.json")
    X.assign(survived=y).to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "model.json"


@pytest.fixture
def labels(tmp_path):
    texts = {"sex": ["Gender", {"f": "women"}], "age": "Age", "survived": {"0": "died", "1": "lived"}}
    (tmp_path / "labels.json").write_text(json.dumps(texts))
    return str(tmp_path / "labels.json")


def test_show_and_explain_write_labels(model, labels):
    assert "Gender = women: lived (3)" in run("show", model, "--labels", labels)
    assert "Gender = women then lived" in run("show", model, "--labels", labels, "--format", "rules")
    assert "prediction: lived" in run("explain", model, model.parent / "rows.csv", "--labels", labels)
    assert "sex = f: 1 (3)" in run("show", model)


def test_a_model_can_be_saved_with_labels(model, labels, tmp_path):
    run("show", model, "--labels", labels, "--output", tmp_path / "with.json")
    assert "Gender = women: lived" in fasttree.load(tmp_path / "with.json").export_text()


@pytest.mark.parametrize(
    ("text", "message"), [("[1]", "labels is a list"), ("{", "Expecting"), ('{"height": "h"}', "'height' is not a feature")]
)
def test_bad_labels(model, tmp_path, text, message):
    (tmp_path / "bad.json").write_text(text)
    assert message in mistake("show", model, "--labels", tmp_path / "bad.json")


def test_a_missing_file(model, tmp_path):
    assert "no.json" in mistake("show", model, "--labels", tmp_path / "no.json")


def test_rules_are_shown_with_labels(model, labels, tmp_path):
    X = pd.DataFrame({"sex": ["f", "f", "m", "m"] * 5, "age": [3.0, 40.0, 4.0, 50.0] * 5})
    C45Rules().fit(X, pd.Series([1, 1, 1, 0] * 5, name="survived")).save(tmp_path / "rules.json")
    rules = tmp_path / "rules.json"
    assert "if Age > 40 then died" in run("show", rules, "--labels", labels)
    assert "prediction: lived" in run("explain", rules, model.parent / "rows.csv", "--labels", labels)
    run("show", rules, "--labels", labels, "--output", tmp_path / "with.json")
    assert "if Age > 40 then died" in fasttree.load(tmp_path / "with.json").export_text()
