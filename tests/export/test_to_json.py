"""Models as JSON: files of every version load and answer as then, documents are as the schema says, text and files agree."""

import copy
import doctest
import gzip
import io
import json
from importlib.resources import files
from pathlib import Path
from random import Random

import exports
import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
from bad_files import models, mutated, places, rows_for
from hypothesis import given, settings
from test_document import document_of
from trees import random_trees

import fasttree
from fasttree._export.document.values import DocumentError
from fasttree.estimators.common.documents import from_document

MODELS = Path(__file__).parents[1] / "tables" / "models"
KEPT = sorted(path for path in MODELS.glob("*/*.json*") if path.name != "answers.json")


# Files of earlier versions


def rows_of(table):
    given = json.loads((MODELS / "rows.json").read_text(encoding="utf-8"))[table]
    if table == "bare":
        return np.array(given)
    columns = {name: np.array(cells, float if name in ("age", "pay") else object) for name, cells in given.items()}
    return pd.DataFrame(columns)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_file_of_an_earlier_version_answers_as_then(path):
    answers = json.loads((path.parent / "answers.json").read_text(encoding="utf-8"))[path.name]
    model = fasttree.load(path)
    X = rows_of(answers["table"])
    assert model.predict(X).tolist() == answers["predict"]
    if "predict_proba" in answers:
        last_digit = 4e-16 if path.parent.name == "1.0" else 0.0  # parts of samples were added in another order then
        for now, then in zip(model.predict_proba(X), answers["predict_proba"], strict=True):
            np.testing.assert_allclose(now, then, rtol=last_digit, atol=0.0)


# Text and files


FITTED = models()
DOCUMENTS = {name: json.loads(model.to_json()) for name, model in FITTED.items()}


@pytest.mark.parametrize("kind", exports.models())
def test_what_is_read_answers_as_what_was_written(kind):
    model = exports.models()[kind]
    X = exports.inputs(model, exports.N_ROWS)
    again = fasttree.from_json(model.to_json())
    assert (again.predict(X) == model.predict(X)).all()
    if again.tree_.task == "classification":
        assert np.array_equal(np.hstack(again.predict_proba(X)), np.hstack(model.predict_proba(X)))


@pytest.mark.parametrize("name", FITTED)
def test_text_and_file_say_the_same_and_give_the_model_back(name, tmp_path):
    model, path = FITTED[name], tmp_path / "model.json"
    model.save(path)
    text = model.to_json()
    assert path.read_text(encoding="utf-8") == text
    with open(path, "rb") as file:
        again = [
            fasttree.from_json(text),
            fasttree.from_json(text.encode()),
            fasttree.from_json(gzip.compress(text.encode())),
            fasttree.load(file),
        ]
    X = rows_for(model, Random(0), 20)
    for each in [*again, type(model).load(io.BytesIO(text.encode()))]:
        assert type(each) is type(model)
        assert each.to_json() == text
        assert each.predict(X).tolist() == model.predict(X).tolist()


def test_targets_keep_the_names_of_their_columns(tmp_path):
    X, y = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]}), pd.DataFrame({"loan": ["no", "no", "yes", "yes"], "risk": [1, 2, 1, 2]})
    for model, target, names in [
        (fasttree.CARTClassifier(), y["loan"], ["loan"]),
        (fasttree.C45Rules(), pl.Series("loan", y["loan"].to_list()), ["loan"]),
        (fasttree.CARTRegressor(), y["risk"].rename(None), ["y"]),
        (fasttree.CARTRegressor(), y["risk"].rename(3), ["y"]),
        (fasttree.CARTClassifier(), y, ["loan", "risk"]),
        (fasttree.CARTRegressor(), y["risk"].to_list(), ["y"]),
        (fasttree.CARTRegressor(), y[["risk", "risk"]].to_numpy(), ["y0", "y1"]),
    ]:
        assert model.fit(X, target).target_names_ == names
        assert [entry["name"] for entry in json.loads(model.to_json())["targets"]] == names
        assert fasttree.from_json(model.to_json()).target_names_ == names


def test_what_is_no_file_in_binary_mode_is_refused(tmp_path):
    with pytest.raises(TypeError, match="binary mode"):
        fasttree.load(io.StringIO("{}"))
    with pytest.raises(TypeError, match="a path or an open binary file; got int"):
        fasttree.load(3)
    with pytest.raises(TypeError, match="text or bytes; got dict"):
        fasttree.from_json({})


class Dripping(io.RawIOBase):
    """A stream that gives a byte at a time, as pipes may."""

    def __init__(self, data: bytes) -> None:
        self.rest = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self.rest.read(1)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_streams_may_give_little_at_a_time(pack):
    text = " \n" + FITTED["id3"].to_json()
    assert fasttree.load(Dripping(pack(text.encode()))).tree_ == FITTED["id3"].tree_


# The schema


SCHEMA = json.loads((files("fasttree") / "model.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_files_of_every_version_are_as_the_schema_says(path):
    data = path.read_bytes()
    VALIDATOR.validate(json.loads(gzip.decompress(data) if path.suffix == ".gz" else data))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_as_the_schema_says(name):
    VALIDATOR.validate(DOCUMENTS[name])


@settings(max_examples=25)
@given(random_trees())
def test_documents_of_any_tree_are_as_the_schema_says(tree):
    VALIDATOR.validate(json.loads(json.dumps(document_of(tree))))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_the_schema_refuses_is_not_read(name):
    random = Random(name)
    n_refused = 0
    for _ in range(25):
        document = mutated(DOCUMENTS[name], random)
        if not VALIDATOR.is_valid(document):
            n_refused += 1
            with pytest.raises(DocumentError):
                from_document(document)
    assert n_refused


@pytest.mark.parametrize("name", DOCUMENTS)
def test_entries_that_are_not_known_are_ignored(name):
    document = copy.deepcopy(DOCUMENTS[name])
    kept = document.pop("settings")  # a parameter's value is its own, but parameters that the estimator does not have are ignored
    holders = [document, *{id(holder): holder for holder, _ in places(document) if isinstance(holder, dict)}.values()]
    document["settings"] = kept
    for holder in [*holders, kept]:
        holder["comment"] = {"of": ["someone", None, 1.5]}
    document["version"] = "1.99"
    VALIDATOR.validate(document)
    assert from_document(document).to_json() == FITTED[name].to_json()


# The reader of the documentation, which knows the document alone


PAGE = Path(__file__).parents[2] / "docs" / "shipping" / "json.md"


def reader():
    names = {}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8")):
        if example.source.startswith("def "):
            exec(example.source, names)
    return names["probabilities"], names["encoded"]


@pytest.mark.parametrize("name", [name for name in FITTED if "rules" not in name and "soft" not in name and "two" not in name])
def test_the_reader_of_the_documentation_answers_as_the_model(name):
    model, document = FITTED[name], DOCUMENTS[name]
    probabilities, encoded = reader()
    X = rows_for(model, Random(1), 300)
    rows = [[None if pd.isna(cell) else cell for cell in row] for row in X.itertuples(index=False)]
    found = np.array([probabilities(document, encoded(document, row)) for row in rows])
    expected = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)[:, None]
    if model.tree_.divides:
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)
    else:
        assert found.tolist() == expected.tolist()


def test_text_that_nobody_could_read_is_not_written():
    model = fasttree.CARTClassifier().fit([[1.0], [2.0]], ["no", "half \ud800"])
    with pytest.raises(DocumentError, match="not valid Unicode"):
        model.to_json()


def test_files_of_the_other_kind_are_told_apart(tmp_path):
    model = fasttree.CARTClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    model.save(tmp_path / "model.json")
    model.to_predictor().save(tmp_path / "model.tree")
    with pytest.raises(DocumentError, match=r"model\.tree: is the file of a predictor"):
        fasttree.load(tmp_path / "model.tree")
    with pytest.raises(ValueError, match=r"model\.json: .* seems to be the JSON of a model"):
        fasttree.Predictor.open(tmp_path / "model.json")


def test_a_document_that_breaks_off_says_so():
    text = fasttree.CARTClassifier().fit([[1.0], [2.0]], ["no", "yes"]).to_json()
    with pytest.raises(DocumentError, match="the document breaks off"):
        fasttree.from_json(text.rstrip()[:-1])
