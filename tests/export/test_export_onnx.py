"""ONNX models in onnxruntime: labels equal, numbers equal bit for bit or rounded to float32, and what is refused."""

import sys

import numpy as np
import pandas as pd
import pytest
from exports import N_ROWS, inputs, model_of, models
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import chain, random_trees

from fasttree import CARTClassifier, CARTRegressor, __version__
from fasttree._data.schema import Feature, Kind, Schema
from fasttree._export.onnx import ONNX
from fasttree._export.substitutes import adapt

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

DTYPES = ("float32", "float64")
NEEDS_A_SUBSTITUTE = [
    "surrogates",
    "surrogates that stop",
    "surrogates in regression",
    "fractional",
    "fractional regression",
    "C4.5",
    "soft thresholds",
    "intervals",
]
PLAIN = [name for name in models() if name not in NEEDS_A_SUBSTITUTE]
refused_by_runtime = pytest.raises(Exception, match="a missing value or an unseen category is refused")


def session(exported: bytes) -> "onnxruntime.InferenceSession":
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    quiet.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(exported, quiet, providers=["CPUExecutionProvider"])


def fed(model, X, dtype):
    """A table as the arrays that an ONNX model takes."""
    if model.schema_.is_continuous:
        return {"X": np.asarray(X, dtype)}
    arrays = {}
    for feature in model.schema_.features:
        column = X[feature.name]
        if feature.categories and isinstance(feature.categories[0], str):
            missing = "" if "" not in feature.categories else "no such"
            cells = column.where(column.notna(), missing).to_numpy(object)
        else:
            cells = column.astype(float).to_numpy(dtype)
        arrays[feature.name] = cells[:, None]
    return arrays


def answers(exported, model, X, dtype="float32"):
    """Labels and numbers by name of the output."""
    runtime = session(exported)
    return dict(zip([output.name for output in runtime.get_outputs()], runtime.run(None, fed(model, X, dtype)), strict=True))


def assert_equal(found, model, X, dtype):
    predicted = model.predict(X)
    if not hasattr(model, "predict_proba"):
        assert np.array_equal(found["variable"], predicted.astype(dtype).reshape(len(X), -1))
        return
    probabilities = model.predict_proba(X)
    if not isinstance(probabilities, list):
        probabilities, predicted = [probabilities], predicted[:, None]
        found = {f"{name}_0": values for name, values in found.items()}
    for k, expected in enumerate(probabilities):
        assert np.array_equal(found[f"label_{k}"], predicted[:, k])
        assert found[f"probabilities_{k}"].dtype == dtype
        assert np.array_equal(found[f"probabilities_{k}"], expected.astype(dtype))


def ends(tree, model, X):
    """Where the rows end in a tree over the features of a model."""
    return tree.walker.ends(model._encode_table(X).block(0, len(X)), False)


def rounded(X):
    """Rows whose numbers are those of float32."""
    if isinstance(X, np.ndarray):
        return X.astype(np.float32).astype(float)
    return X.assign(**{name: column.astype(np.float32).astype(float) for name, column in X.select_dtypes("float").items()})


@pytest.mark.parametrize("name", PLAIN)
def test_labels_and_numbers_are_those_of_predict(name):
    model = models()[name]
    # with "" as a category, and the unseen refused, there is no text left to say that one is missing
    X = inputs(model, N_ROWS, missing=name != "refuses unseen")
    assert_equal(answers(model.export_onnx(dtype="float64"), model, X, "float64"), model, X, "float64")
    single = rounded(X)
    assert_equal(answers(model.export_onnx(), model, single), model, single, "float32")


@pytest.mark.parametrize("name", ["two classes", "all kinds", "refuses missing", "refuses unseen", "losses", "two numbers"])
def test_the_standards_own_implementation_agrees(name):
    reference = pytest.importorskip("onnx.reference")
    model = models()[name]
    X = inputs(model, 100, single=True, missing=name != "refuses unseen")
    evaluator = reference.ReferenceEvaluator(model.export_onnx())
    found = evaluator.run(None, fed(model, X, "float32"))
    assert_equal(dict(zip(evaluator.output_names, found, strict=True)), model, X, "float32")


@pytest.mark.parametrize("name", NEEDS_A_SUBSTITUTE)
def test_substitutes_are_asked_for_followed_and_recorded(name):
    model = models()[name]
    with pytest.raises(ValueError, match=r"no ONNX model can: choose (missing|soft)="):
        model.export_onnx()
    soft = "hard" if name == "soft thresholds" else None
    instead = adapt(model._subject(), ONNX, missing="majority", soft=soft)
    exported = model.export_onnx(dtype="float64", missing="majority", soft=soft)
    X = inputs(model, 20_000)
    found = answers(exported, model, X, "float64")
    reached = ends(instead.subject.tree, model, X)
    expected = model.tree_.predict_nodes(reached)
    if "variable" in found:
        assert np.array_equal(found["variable"], expected)
    else:
        assert np.array_equal(found["probabilities"], expected)
        assert (found["label"] == model.classes_[model.tree_.predicted_class[reached]]).all()
    document = onnx.load_from_string(exported)
    notes = {prop.key: prop.value for prop in document.metadata_props}["notes"]
    assert "; ".join(instead.notes) == notes
    assert "heaviest branch" in notes
    assert "heaviest branch" in document.doc_string


@pytest.mark.parametrize("name", ["surrogates", "fractional regression", "C4.5"])
def test_with_missing_refused_what_one_leaf_answers_is_answered_and_the_rest_fails(name):
    model = models()[name]
    exported = model.export_onnx(missing="error")
    X = rounded(inputs(model, 2000))
    instead = adapt(model._subject(), ONNX, missing="error")
    is_refused = instead.refused[ends(instead.subject.tree, model, X)]
    assert 100 < is_refused.sum() < 1900
    assert_equal(answers(exported, model, X[~is_refused]), model, X[~is_refused], "float32")
    for row in np.flatnonzero(is_refused)[:5]:
        with refused_by_runtime:
            answers(exported, model, X.iloc[[row]])


def test_a_run_fails_where_predict_raises_for_a_missing_value():
    model = models()["refuses missing"]
    exported = model.export_onnx()
    whole = rounded(inputs(model, 50))
    for name, column in whole.items():
        if name == "city":  # whose categories have the empty text, so that none is missing
            continue
        X = whole.copy()
        X[name] = column.where(np.arange(50) != 17)
        with pytest.raises(ValueError, match="missing"):
            model.predict(X)
        with refused_by_runtime:
            answers(exported, model, X)
    X = whole.copy()
    X.loc[17, "city"] = "never seen"  # not refused: it goes where a missing value would
    assert_equal(answers(exported, model, X), model, X, "float32")
    followed = model.export_onnx(missing="majority")
    X["income"] = np.nan
    assert len(answers(followed, model, X)["label"]) == 50


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_run_fails_where_predict_raises_for_an_unseen_category(dtype):
    model = models()["refuses unseen"]
    exported = model.export_onnx(dtype=dtype)
    X = rounded(inputs(model, 50, missing=False))
    for name, strange in {"grade": "higher", "rooms": 1000}.items():
        with pytest.raises(ValueError, match="not seen in fit"):
            model.predict(X.assign(**{name: [*X[name][1:], strange]}))
        with refused_by_runtime:
            answers(exported, model, X.assign(**{name: [*X[name][1:], strange]}), dtype)
    X = X.assign(grade=[None, *X["grade"][1:]], rooms=[None, *X["rooms"][1:]])  # missing values are welcome
    assert_equal(answers(exported, model, X, dtype), model, X, dtype)


@settings(max_examples=40)
@given(tree=random_trees(), seed=st.integers(0, 2**32 - 1), dtype=st.sampled_from(DTYPES))
def test_random_trees_of_all_tests_give_their_predictions(tree, seed, dtype):
    model = model_of(tree)
    X = inputs(model, 300, seed=seed, single=dtype == "float32")
    found = answers(model.export_onnx(dtype=dtype, missing="majority", soft="hard"), model, X, dtype)
    reached = ends(adapt(model._subject(), ONNX, missing="majority", soft="hard").subject.tree, model, X)
    assert np.array_equal(found.popitem()[1], tree.predict_nodes(reached).astype(dtype))
    if found:
        assert (found["label"] == model.classes_[tree.predicted_class[reached]]).all()


@given(
    threshold=st.floats(allow_nan=False, allow_infinity=False),
    values=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1),
)
def test_float32_values_fall_on_the_same_side_of_any_threshold(threshold, values):
    tree = chain(1)
    model = model_of(tree.replace(threshold=[threshold, np.nan, np.nan]), Schema((Feature("x0", Kind.CONTINUOUS),)))
    near = np.float32(np.clip(threshold, -3.4e38, 3.4e38))
    values = [*values, near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    X = np.array(values, np.float32)
    X = X[np.isfinite(X)][:, None]
    assert_equal(answers(model.export_onnx(), model, X), model, X, "float32")


def test_two_classes_that_tie_are_answered_as_predict_does():
    X, y = [[0.0], [0.0], [1.0], [1.0], [2.0], [2.0]], ["b", "a", "b", "b", "a", "a"]
    model = CARTClassifier().fit(X, y)
    assert [0.5, 0.5] in model.predict_proba(X).tolist()
    assert_equal(answers(model.export_onnx(), model, np.array(X)), model, np.array(X), "float32")


def test_a_tree_of_thousands_of_levels_and_one_of_many_nodes_are_written():
    deep = model_of(chain(4000), Schema((Feature("x0", Kind.CONTINUOUS),)))
    random = np.random.default_rng(0)
    X = random.normal(size=(50_000, 3)).astype(np.float32)
    large = CARTRegressor().fit(X, random.normal(size=50_000))
    assert large.tree_.node_count > 90_000
    for model, rows in ((deep, inputs(deep, 1000, single=True)), (large, X)):
        assert_equal(answers(model.export_onnx(), model, rows), model, rows, "float32")


def test_inputs_and_outputs_have_the_names_that_programs_expect():
    def names(model):
        graph = onnx.load_from_string(model.export_onnx()).graph
        return [entry.name for entry in graph.input], [entry.name for entry in graph.output]

    columns = [feature.name for feature in models()["all kinds"].schema_.features]
    assert names(models()["numbers"]) == (["X"], ["label", "probabilities"])
    assert names(models()["all kinds"]) == (columns, ["label", "probabilities"])
    assert names(models()["two numbers"]) == (columns, ["variable"])
    assert names(models()["two targets"])[1] == ["label_0", "probabilities_0", "label_1", "probabilities_1"]


def test_features_that_are_called_as_an_output_or_as_nothing_keep_apart():
    X = pd.DataFrame({"label": ["a", "b", "b"] * 4, "": [1.0, 2.0, 3.0] * 4, "fasttree.axis": ["u", "v", "u"] * 4})
    model = CARTClassifier().fit(X, [1, 2, 3] * 4)
    runtime = session(model.export_onnx())
    assert [entry.name for entry in runtime.get_inputs()] == ["label", "x1", "fasttree.axis"]
    arrays = {
        name: X.iloc[:, [j]].to_numpy(np.float32 if j == 1 else object) for j, name in enumerate(("label", "x1", "fasttree.axis"))
    }
    assert runtime.run(["label_"], arrays)[0].tolist() == [1, 2, 3] * 4


def test_the_document_tells_where_it_comes_from():
    document = onnx.load_from_string(models()["numbers"].export_onnx())
    properties = {prop.key: prop.value for prop in document.metadata_props}
    assert (document.producer_name, document.producer_version, properties["algorithm"]) == ("fasttree", __version__, "cart")
    assert "notes" not in properties  # nothing was substituted
    assert properties["features"] == '["x0", "x1"]'
    assert "111 nodes" in document.doc_string
    assert session(models()["numbers"].export_onnx()).get_modelmeta().version == 1


def test_the_same_model_gives_the_same_bytes():
    model = models()["all kinds"]
    assert model.export_onnx() == model.export_onnx()


def test_categories_that_a_float_cannot_hold_are_refused():
    X = pd.DataFrame({"size": [0.1, 0.1, 0.25, 0.25] * 3})
    model = CARTClassifier(categorical_features=["size"]).fit(X, [0, 0, 1, 1] * 3)
    with pytest.raises(ValueError, match=r"category 0\.1, which float32 does not hold: choose dtype='float64'"):
        model.export_onnx()
    assert_equal(answers(model.export_onnx(dtype="float64"), model, X, "float64"), model, X, "float64")
    large = CARTClassifier(categorical_features=["size"]).fit(pd.DataFrame({"size": [2**60 + 1, 2**60] * 6}), [0, 1] * 6)
    with pytest.raises(ValueError, match="make its categories text before the fit"):
        large.export_onnx(dtype="float64")


def test_categories_zero_and_minus_zero_are_one():
    X = pd.DataFrame({"size": [0.0, 0.0, 1.0, 1.0] * 3})
    model = CARTClassifier(categorical_features=["size"]).fit(X, ["z", "z", "o", "o"] * 3)
    for dtype in DTYPES:
        assert answers(model.export_onnx(dtype=dtype), model, -X, dtype)["label"][0] == "z"


@pytest.mark.parametrize("label", ["a\0", "\ud800"])
def test_labels_that_a_runtime_would_change_are_refused(label):
    model = CARTClassifier().fit([[1.0], [2.0]], np.array([label, "a"], object))
    with pytest.raises(ValueError, match=r"ONNX: .*; rename it"):
        model.export_onnx()


def test_names_and_categories_that_are_no_unicode_are_refused():
    for name, category in (("\ud800", "a"), ("a", "\ud800")):
        X = pd.DataFrame({"x": pd.Series([category, "b"], dtype=object)})
        X.columns = pd.Index([name], dtype=object)
        model = CARTClassifier().fit(X, ["a", "b"])
        with pytest.raises(ValueError, match=r"'\\ud800' cannot be written in ONNX: it is not valid Unicode; rename it"):
            model.export_onnx()


def test_trees_beyond_what_onnx_holds_are_refused(monkeypatch):
    model = models()["numbers"]
    monkeypatch.setattr("fasttree._export.onnx.MOST_BYTES", 1000)
    with pytest.raises(ValueError, match=r"the model has \d+ bytes; an ONNX file holds at most 1000: prune the tree"):
        model.export_onnx()
    monkeypatch.setattr("fasttree._export.onnx.MOST_ROWS", 10)
    with pytest.raises(ValueError, match=r"has \d+ different predictions; an ONNX model must have fewer than 10"):
        model.export_onnx()


def test_bad_words_and_a_missing_package_are_told(monkeypatch):
    model = models()["numbers"]
    with pytest.raises(ValueError, match="dtype='float16': must be 'float32' or 'float64'"):
        model.export_onnx(dtype="float16")
    with pytest.raises(ValueError, match="missing='drop'"):
        model.export_onnx(missing="drop")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'fasttree\[onnx\]'"):
        model.export_onnx()
