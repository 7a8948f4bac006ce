"""Forests for other programs: what they predict is what the forest predicts, and what they cannot express is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from boosters import boosters
from sklearn import ensemble
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

import fasttree
from fasttree import C50Classifier, RandomForestClassifier, RandomForestRegressor

IRIS, DIABETES = (
    (X.astype(np.float32).astype(float), y) for X, y in (load_iris(return_X_y=True), load_diabetes(return_X_y=True))
)
FORESTS = ["RandomForestClassifier", "ExtraTreesClassifier", "RandomForestRegressor", "ExtraTreesRegressor"]


def with_holes(X):
    return np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)


def grown(name, holes=False, **choices):
    """A forest by the name of its class, and its table."""
    X, y = IRIS if name.endswith("Classifier") else DIABETES
    X = with_holes(X) if holes else X
    forest = getattr(fasttree, name)(**{"n_estimators": 15, "random_state": 0, **choices})
    return forest.fit(X, y), X


def mixed():
    """Numbers, strings, integers and missing values."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "width": rng.normal(size=300).astype(np.float32).astype(float),
            "colour": rng.choice(["red", "green", "blue", "grey"], 300),
            "rooms": rng.integers(1, 6, 300),
        }
    )
    y = np.where((X.colour == "red") | (X.width > 0.8), "ripe", np.where(X.rooms > 3, "half", "unripe"))
    X.loc[rng.random(300) < 0.1, "colour"] = None
    X.loc[rng.random(300) < 0.1, "width"] = np.nan
    return X, y


def assert_equal(theirs, ours, X):
    assert np.array_equal(theirs.predict(X), ours.predict(X))
    if hasattr(ours, "predict_proba"):
        found, expected = theirs.predict_proba(X), ours.predict_proba(X)
        for a, b in zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]:
            assert np.array_equal(a, b)


@pytest.mark.parametrize("holes", [False, True], ids=["numbers", "missing"])
@pytest.mark.parametrize("name", FORESTS)
def test_forests_of_scikit_learn_predict_the_same(name, holes):
    forest, X = grown(name, holes)
    theirs = forest.to_sklearn()
    assert type(theirs) is getattr(ensemble, name)
    assert (len(theirs.estimators_), theirs.n_estimators) == (15, 15)
    assert type(theirs.estimators_[0]) is type(getattr(ensemble, name)(1).fit([[0.0], [1.0]], [0, 1]).estimators_[0])
    assert_equal(theirs, forest, X)
    assert_equal(theirs, forest, X[:1])
    assert_equal(pickle.loads(pickle.dumps(theirs)), forest, X)
    assert np.allclose(theirs.feature_importances_, forest.feature_importances_)
    assert np.array_equal(theirs.estimators_[3].tree_.threshold, forest.estimators_[3].to_sklearn().tree_.threshold)


@pytest.mark.parametrize("name", FORESTS)
def test_treelite_reads_the_forest(name):
    treelite = pytest.importorskip("treelite")
    forest, X = grown(name)
    found = treelite.gtil.predict(treelite.sklearn.import_model(forest.to_sklearn()), X.astype(np.float32))
    assert np.array_equal(np.squeeze(found), forest.predict_proba(X) if name.endswith("Classifier") else forest.predict(X))


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("RandomForestClassifier", {"criterion": "entropy", "class_weight": "balanced"}),
        ("RandomForestClassifier", {"missing": "surrogate", "max_depth": 4}),
        ("RandomForestClassifier", {"recipe": "cart"}),
        ("RandomForestRegressor", {"criterion": "absolute_error", "max_depth": 3}),
        ("RandomForestRegressor", {"monotonic_cst": [1, *[0] * 9], "max_depth": 4}),
        ("RandomForestRegressor", {"missing": "error"}),
    ],
)
def test_forests_of_other_choices_become_forests_of_scikit_learn(name, choices):
    forest, X = grown(name, **choices)
    theirs = forest.to_sklearn(missing="majority")
    assert theirs.criterion == choices.get("criterion", theirs.criterion)
    assert_equal(theirs, forest, X)


def test_names_labels_and_several_targets_are_those_of_the_fit():
    X, y = IRIS
    named = pd.DataFrame(X, columns=list("abcd"))
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(named, labels)
    theirs = forest.to_sklearn()
    assert (list(theirs.feature_names_in_), list(theirs.classes_)) == (list("abcd"), list(forest.classes_))
    assert_equal(theirs, forest, named)
    several = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, np.column_stack([y, y == 1]))
    assert_equal(several.to_sklearn(), several, X)
    numbers = RandomForestRegressor(n_estimators=5, random_state=0).fit(X, np.column_stack([X[:, 0], -y]))
    assert_equal(numbers.to_sklearn(), numbers, X)


def test_what_scikit_learn_cannot_express_is_named():
    X, y = mixed()
    with pytest.raises(ValueError, match=r"feature 'colour' has categories.*shap_values and export_onnx support categories"):
        RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y).to_sklearn()
    holes, _ = grown("RandomForestClassifier", holes=True, recipe="c45")
    with pytest.raises(ValueError, match=r"tree \d+: node \d+ divides it where a value is missing.*missing='majority'"):
        holes.to_sklearn()
    assert holes.to_sklearn(missing="majority").n_estimators == 15
    with pytest.raises(ValueError, match="missing='error': must be 'majority' or None"):
        holes.to_sklearn(missing="error")
    costs, _ = grown("RandomForestClassifier", loss_matrix=[[0, 1, 5], [1, 0, 1], [1, 1, 0]])
    with pytest.raises(ValueError, match="by its loss matrix, the forest does not always predict"):
        costs.to_sklearn()


def test_other_attributes_keep_their_errors():
    forest, _ = grown("RandomForestRegressor", n_estimators=2)
    with pytest.raises(
        AttributeError, match=r"has no plot, which is for single trees: use estimators_\[i\].plot, or that of most"
    ):
        forest.plot()
    with pytest.raises(AttributeError, match="has no attribute 'exports'"):
        _ = forest.exports
    for name in ("estimators_", "feature_importances_"):
        with pytest.raises(NotFittedError):
            getattr(RandomForestRegressor(), name)
    with pytest.raises(NotFittedError):
        RandomForestRegressor().to_sklearn()


def run_onnx(exported, feed):
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = runtime.InferenceSession(exported, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


def assert_onnx_equal(forest, X, feed, dtype, **substitutes):
    """Labels are equal; numbers too in float64, and in float32 but for their own rounding."""
    found = run_onnx(forest.export_onnx(dtype=dtype, **substitutes), feed)
    if not hasattr(forest, "predict_proba"):
        assert np.array_equal(found["variable"], forest.predict(X).astype(dtype).reshape(len(X), -1))
        return
    predicted, shares = forest.predict(X), forest.predict_proba(X)
    if not isinstance(shares, list):
        shares, predicted, found = [shares], predicted[:, None], {f"{name}_0": values for name, values in found.items()}
    for k, expected in enumerate(shares):
        assert found[f"probabilities_{k}"].dtype == dtype
        assert np.array_equal(found[f"label_{k}"], predicted[:, k])
        assert np.array_equal(found[f"probabilities_{k}"], expected.astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FORESTS)
def test_onnx_models_of_numbers_predict_the_same(name, dtype):
    pytest.importorskip("onnx")
    forest, X = grown(name, holes=True, n_estimators=40)
    assert_onnx_equal(forest, X, {"X": X.astype(dtype)}, dtype)
    assert_onnx_equal(forest, X[:1], {"X": X[:1].astype(dtype)}, dtype)


def fed(X, dtype):
    return {
        "width": X.width.to_numpy(dtype)[:, None],
        "colour": X.colour.fillna("").to_numpy(object)[:, None],
        "rooms": X.rooms.to_numpy(dtype)[:, None],
    }


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("choices", [{}, {"class_weight": "balanced"}, {"max_depth": 1, "n_estimators": 1}], ids=str)
def test_onnx_models_of_strings_and_missing_values_predict_the_same(choices, dtype):
    pytest.importorskip("onnx")
    X, y = mixed()
    forest = RandomForestClassifier(**{"n_estimators": 30, "random_state": 0, **choices}).fit(X, y)
    assert_onnx_equal(forest, X, fed(X, dtype), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["holes", "complete", "many classes"])
def test_onnx_models_of_boosted_trees_predict_the_same(name, dtype):
    pytest.importorskip("onnx")
    model, X = boosters()[name]
    X = X.dropna().astype({column: dtype for column in X if column != "d"})
    feed = {column: X[column].to_numpy(object if column == "d" else dtype)[:, None] for column in X}
    feed = feed if "d" in X else {"X": X.to_numpy(dtype)}
    assert_onnx_equal(model, X, feed, dtype, missing="majority")


def test_ties_of_votes_go_to_the_class_of_the_first_root():
    onnx = pytest.importorskip("onnx.helper")
    from fasttree._export.onnx import _add_votes, _imported_onnx  # votes that tie are rare in models
    from fasttree._export.onnx_parts.graph import Graph

    model = C50Classifier(trials=3, early_stopping=False).fit([[0.0], [1.0], [2.0], [3.0]] * 5, [1, 1, 2, 0] * 5)
    subject = model.estimators_[0]._subject()
    graph = Graph(_imported_onnx(), "float64")
    row = graph.add_input("row", onnx.TensorProto.INT64, 3)
    _add_votes(graph, subject, np.eye(3), row, "look up", 3)
    named = onnx.make_graph(graph.nodes, "votes", graph.inputs, graph.outputs, graph.constants)
    written = onnx.make_model(named, ir_version=8, opset_imports=[onnx.make_opsetid("", 15)]).SerializeToString()
    found = run_onnx(written, {"row": np.array([[0, 1, 2], [2, 0, 0], [2, 0, 2]])})
    assert found["label"].tolist() == [1, 0, 2]
    assert found["probabilities"].tolist() == [[1 / 3] * 3, [2 / 3, 0, 1 / 3], [1 / 3, 0, 2 / 3]]


def test_the_standards_own_implementation_agrees_on_forests():
    pytest.importorskip("onnx")
    reference = pytest.importorskip("onnx.reference")
    X, y = mixed()
    forest = RandomForestClassifier(n_estimators=7, max_depth=4, random_state=0).fit(X, y)
    label, shares = reference.ReferenceEvaluator(forest.export_onnx()).run(None, fed(X[:60], "float32"))
    assert np.array_equal(label, forest.predict(X[:60]))
    assert np.array_equal(shares, forest.predict_proba(X[:60]).astype("float32"))


def test_onnx_models_have_several_targets_and_trees_without_tests():
    pytest.importorskip("onnx")
    X, y = IRIS
    several = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, np.column_stack([y, y == 1]))
    assert_onnx_equal(several, X, {"X": X}, "float64")
    numbers = RandomForestRegressor(n_estimators=5, random_state=0).fit(X, X[:, :2])
    assert_onnx_equal(numbers, X, {"X": X}, "float64")
    leaves = RandomForestClassifier(n_estimators=3, min_samples_leaf=150, random_state=0).fit(X, y)
    assert_onnx_equal(leaves, X, {"X": X}, "float64")


def test_what_onnx_cannot_express_is_named_and_what_is_refused_fails():
    onnx = pytest.importorskip("onnx")
    surrogates, X = grown("RandomForestClassifier", holes=True, missing="surrogate")
    with pytest.raises(ValueError, match=r"tree \d+: where a value is missing, the tree asks surrogates.*missing='majority'"):
        surrogates.export_onnx()
    full = X[~np.isnan(X).any(axis=1)]
    assert_onnx_equal(surrogates, full, {"X": full}, "float64", missing="majority")
    notes = {entry.key: entry.value for entry in onnx.load_from_string(surrogates.export_onnx(missing="error")).metadata_props}
    assert notes["notes"].count("asks surrogates") == 1
    with pytest.raises(Exception, match="a missing value or an unseen category is refused"):
        run_onnx(surrogates.export_onnx(dtype="float64", missing="error"), {"X": X})
    strict, _ = grown("RandomForestRegressor", missing="error")
    with pytest.raises(Exception, match="a missing value or an unseen category is refused"):
        run_onnx(strict.export_onnx(dtype="float64"), {"X": np.full((2, 10), np.nan)})
    assert_onnx_equal(strict, DIABETES[0], {"X": DIABETES[0]}, "float64")
    with pytest.raises(ValueError, match="dtype='int8'"):
        strict.export_onnx(dtype="int8")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_onnx_models_predict_the_class_of_least_expected_loss(dtype):
    pytest.importorskip("onnx")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (600, 3)).astype(dtype)
    y = np.digitize(X[:, 0] + rng.normal(scale=3, size=600), [3, 6])
    loss = [[0, 1, 7], [1, 0, 2], [3, 1, 0]]
    forest = RandomForestClassifier(n_estimators=8, loss_matrix=loss, max_depth=3, random_state=0).fit(X, y)
    assert (forest.predict(X) != forest.predict_proba(X).argmax(axis=1)).any()
    assert_onnx_equal(forest, X, {"X": X}, dtype)
    even = RandomForestClassifier(n_estimators=1, bootstrap=False, max_depth=1, loss_matrix=[[0, 1], [3, 0]], random_state=0)
    even.fit(X[:4] * 0, [0, 0, 0, 1])  # both losses are 3 / 4
    assert_onnx_equal(even, X, {"X": X}, dtype)


def test_onnx_models_refuse_unseen_categories_where_predict_does():
    pytest.importorskip("onnx")
    X, y = mixed()
    forest = RandomForestClassifier(n_estimators=5, unseen="error", random_state=0).fit(X, y)
    assert_onnx_equal(forest, X, fed(X, "float64"), "float64")
    strange = X[:2].assign(colour=["red", "pink"])
    with pytest.raises(ValueError, match="pink"):
        forest.predict(strange)
    with pytest.raises(Exception, match="a missing value or an unseen category is refused"):
        run_onnx(forest.export_onnx(dtype="float64"), fed(strange, "float64"))


def test_forests_beyond_what_onnx_holds_are_refused(monkeypatch):
    pytest.importorskip("onnx")
    forest, _ = grown("RandomForestRegressor", n_estimators=3)
    monkeypatch.setattr("fasttree._export.onnx.MOST_BYTES", 1000)
    with pytest.raises(ValueError, match=r"an ONNX file holds at most 1000: grow fewer or smaller trees"):
        forest.export_onnx()
    monkeypatch.setattr("fasttree._export.onnx.MOST_ROWS", 10)
    with pytest.raises(ValueError, match=r"the forest has \d+ different predictions; an ONNX model must have fewer than 10"):
        forest.export_onnx()
