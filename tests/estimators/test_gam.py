"""Additive models: what a fit depends on, shapes that are found, files, exports and changes by hand."""

import ctypes
import json
import math
import shutil
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from importlib.resources import files

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, cross_validate

import fasttree
from fasttree import GAMClassifier, GAMRegressor
from fasttree._learn.additive import boosting

QUICK = {"n_bags": 2, "max_iter": 150, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame({"a": rng.normal(size=n).round(2), "b": rng.choice(["x", "y", "z"], n), "c": rng.integers(0, 5, n) * 1.0})
    X.loc[::7, "a"], X.loc[::11, "b"] = np.nan, None
    truth = np.sin(X.a.fillna(1)) + (X.b == "x") + X.c * 0.2 * (X.a.fillna(0) > 0) + rng.normal(0, 0.2, n)
    return X, truth.to_numpy()


def classes_of(truth, n_classes):
    labels = np.array(["low", "middle", "high"][:n_classes])
    return labels[np.digitize(truth, [0.7, 1.3][: n_classes - 1])]


@pytest.mark.parametrize("interactions", [0, 1])
def test_row_order_and_threads_change_nothing(table, interactions):
    X, truth = table
    weight = np.random.default_rng(1).uniform(0, 2, len(truth)).round(1)
    order = np.random.default_rng(2).permutation(len(truth))
    for model, y in ((GAMRegressor, truth), (GAMClassifier, classes_of(truth, 3))):
        one = model(interactions=interactions, **QUICK).fit(X, y, weight)
        other = model(interactions=interactions, n_jobs=2, **QUICK).fit(X.iloc[order], y[order], weight[order])
        assert json.loads(one.to_json())["terms"] == json.loads(other.to_json())["terms"]
        scaled = model(interactions=interactions, **QUICK).fit(X, y, weight * 4)
        np.testing.assert_array_equal(scaled.intercept_, one.intercept_)


def test_shapes_are_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (4000, 4))
    parts = [np.sin(2 * X[:, 0]), X[:, 1] ** 2 - 4 / 3, np.where(X[:, 2] <= 0.5, -0.6, 1.0), 0 * X[:, 3]]
    model = GAMRegressor(random_state=0, n_bags=4).fit(X, sum(parts) + rng.normal(0, 0.5, 4000))
    found = model.contributions(X)
    for part, column in zip(parts, found.T, strict=True):
        assert np.sqrt(np.mean((column - (part - part.mean())) ** 2)) < 0.09
    assert model.term_importances_[3] < 0.05
    assert np.sqrt(np.mean((model.predict(X) - sum(parts)) ** 2)) < 0.12


def test_diabetes_is_as_good_as_the_text_asks():
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(5, shuffle=True, random_state=0)
    error = -cross_val_score(GAMRegressor(random_state=0), X, y, scoring="neg_root_mean_squared_error", cv=folds).mean()
    assert error <= 55.5


def test_breast_cancer_is_as_good_as_the_text_asks():
    X, y = load_breast_cancer(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = GAMClassifier(random_state=0, n_bags=2, max_iter=300)  # the defaults take ten times as long, and do better
    found = cross_validate(model, X, y, scoring=["roc_auc", "neg_log_loss"], cv=folds)
    assert found["test_roc_auc"].mean() >= 0.994
    assert -found["test_neg_log_loss"].mean() <= 0.10


@pytest.mark.parametrize(("n_rows", "rates"), [(10_000, (0.3, 0.3)), (9_999, (0.1, 0.015))])
def test_steps_of_many_samples_are_larger(n_rows, rates):
    X = np.arange(n_rows * 1.0)[:, None]
    for model, rate in zip((GAMRegressor, GAMClassifier), rates, strict=True):
        default, given = (model(n_bags=1, max_iter=1, random_state=0, **each) for each in ({}, {"learning_rate": rate}))
        np.testing.assert_array_equal(*(one.fit(X, X[:, 0] > 5_000).contributions(X) for one in (default, given)))


def test_tables_are_centred_and_contributions_add_up(table):
    X, truth = table
    model = GAMRegressor(interactions=1, **QUICK).fit(X, truth)
    np.testing.assert_allclose(model.intercept_ + model.contributions(X).sum(axis=1), model.predict(X), atol=1e-12)
    for term in model.additive_.terms:
        assert abs((term.scores[0] * term.weight).sum()) < 1e-9 * term.weight.sum()
    assert model.intercept_ == pytest.approx(model.predict(X).mean())
    assert model.term_names_[3] in ("a × c", "a × b", "b × c")


def test_the_pair_that_interacts_is_found():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (800, 4))
    model = GAMRegressor(interactions=1, **QUICK).fit(X, 3 * np.sign(X[:, 1] * X[:, 3]) + X[:, 0] + rng.normal(0, 0.3, 800))
    assert model.additive_.terms[-1].features == (1, 3)
    listed = GAMRegressor(interactions=[(3, 1)], **QUICK).fit(X, X[:, 0])
    assert listed.additive_.terms[-1].features == (1, 3)


@pytest.mark.parametrize("smoothing_rounds", [0, 50])
def test_a_pair_learns_nothing_from_fewer_samples_than_a_leaf_needs(smoothing_rounds):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (400, 2)) * 1.0, rng.normal(size=400)
    X[0], y[0] = 9, 1000
    given = {"validation_fraction": 0, "smoothing_rounds": smoothing_rounds, "interactions": [(0, 1)]}
    of_many, of_one = (GAMRegressor(**QUICK | given, min_samples_leaf=n).fit(X, y).predict(X[:1])[0] for n in (20, 1))
    assert of_many < 300  # leaves of 20 samples have means of about 50 each
    assert of_one > 900


@pytest.mark.parametrize("max_leaf_nodes", [2, 4])
def test_monotone_shapes(max_leaf_nodes):
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (500, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 0] - X[:, 1] + rng.normal(0, 0.3, 500)
    model = GAMRegressor(monotonic_cst=[1, -1], max_leaf_nodes=max_leaf_nodes, **QUICK).fit(X, y)
    rising, falling = (np.diff(term.scores[0, 1:]) for term in model.additive_.terms)
    assert (rising >= -1e-12).all()
    assert (falling <= 1e-12).all()
    free = GAMRegressor(max_leaf_nodes=max_leaf_nodes, **QUICK).fit(X, y)
    assert (np.diff(free.additive_.terms[0].scores[0, 1:]) < -1e-3).any()


def test_missing_and_unseen_values(table):
    X, truth = table
    model = GAMRegressor(**QUICK).fit(X, truth)
    row = pd.DataFrame({"a": [0.5, 0.5], "b": ["x", "x"], "c": [np.nan, 2.0]})
    assert model.contributions(row)[0, 2] == 0.0  # c was never missing
    other = row.assign(b=["new", None])
    np.testing.assert_array_equal(*model.contributions(other)[:, 1])
    with pytest.raises(ValueError, match="new"):
        model.set_params(unseen="error").predict(other)


def test_tables_of_every_kind_give_the_same_model(table):
    X, truth = table[0].drop(columns="b"), table[1]
    expected = GAMRegressor(**QUICK).fit(X, truth)
    rows = X.to_numpy()
    for given in (pl.from_pandas(X), pa.Table.from_pandas(X), rows, np.asfortranarray(rows), rows.tolist()):
        model = GAMRegressor(**QUICK).fit(given, truth)
        assert json.loads(model.to_json())["terms"] == json.loads(expected.to_json())["terms"]
        np.testing.assert_array_equal(model.predict(given), expected.predict(X))


def test_text_in_tables_of_every_kind(table):
    X, truth = table
    expected = GAMRegressor(**QUICK).fit(X, truth)
    for given in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        np.testing.assert_array_equal(GAMRegressor(**QUICK).fit(given, truth).predict(given), expected.predict(X))


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_documents_are_as_the_schema_says(table, n_classes):
    schema = jsonschema.Draft202012Validator(json.loads((files("fasttree") / "model.schema.json").read_text(encoding="utf-8")))
    X, truth = table
    y = truth if n_classes == 0 else classes_of(truth, n_classes)
    model = (GAMClassifier if n_classes else GAMRegressor)(interactions=1, **QUICK).fit(X, y)
    changed = model.set_scores("b", ["y"], 0.5, output="low" if n_classes == 3 else None)
    document = json.loads(changed.to_json())
    schema.validate(document)
    for wrong in ({"link": "log"}, {"intercept": []}, {"terms": [{"features": [0]}]}, {"n_bags": -1}):
        assert not schema.is_valid(document | wrong)
        with pytest.raises(ValueError, match=next(iter(wrong)).rstrip("s")):
            fasttree.from_json(json.dumps(document | wrong))


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_files_and_exports_have_the_same_scores(table, n_classes, tmp_path):
    X, truth = table
    y = truth if n_classes == 0 else classes_of(truth, n_classes)
    model = (GAMClassifier if n_classes else GAMRegressor)(interactions=1, **QUICK).fit(X, y)
    scores = model.decision_function(X) if n_classes else model.predict(X)
    read = fasttree.from_json(model.to_json())
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    assert read.to_json() == model.to_json()
    with closing(sqlite3.connect(":memory:")) as connection:
        X.to_sql("t", connection, index=False)
        found = pd.read_sql(model.export_sql(table="t", dialect="sqlite"), connection)
    columns = [name for name in found if name.startswith("score")] or ["prediction"]
    np.testing.assert_array_equal(found[columns].to_numpy().squeeze(), scores)
    np.testing.assert_array_equal(found["prediction"], model.predict(X))
    module = {}
    exec(model.export_python(), module)
    rows = X.astype(object).where(X.notna(), None).to_numpy().tolist()
    np.testing.assert_array_equal([module["decision_function" if n_classes else "predict"](row) for row in rows], scores)
    if n_classes:
        shares = [module["predict_proba"](row) for row in rows]
        np.testing.assert_allclose(shares, model.predict_proba(X), rtol=1e-14)
        np.testing.assert_allclose(found.iloc[:, -n_classes:], model.predict_proba(X), rtol=1e-13)
    if shutil.which("gcc"):
        np.testing.assert_array_equal(scores_in_c(model, rows, tmp_path), scores)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("names", ["abc", "ac"])
def test_onnx_models_have_the_same_bins(table, n_classes, dtype, names):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    X, truth = table[0][list(names)], table[1]
    X = X.assign(a=X["a"].astype(dtype).astype(float))
    y = truth if n_classes == 0 else classes_of(truth, n_classes)
    model = (GAMClassifier if n_classes else GAMRegressor)(interactions=1, **QUICK).fit(X, y)
    X = X.copy()
    if "b" not in names:
        given = {"X": X.to_numpy(dtype)}
    else:
        X.loc[X.index[::5], "b"] = "new"
        given = {name: X[[name]].to_numpy(dtype) for name in "ac"} | {"b": X[["b"]].fillna("").to_numpy(object)}
    session = onnxruntime.InferenceSession(model.export_onnx(dtype=dtype), providers=["CPUExecutionProvider"])
    found = dict(zip([output.name for output in session.get_outputs()], session.run(None, given), strict=True))
    if n_classes == 0:
        np.testing.assert_array_equal(found["variable"][:, 0], model.predict(X).astype(dtype))
        return
    np.testing.assert_array_equal(found["label"], model.predict(X))
    tolerance = {"float32": 1e-7, "float64": 1e-14}[dtype]
    assert found["probabilities"].dtype == dtype
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=tolerance, atol=tolerance)


def scores_in_c(model, rows, folder):
    (folder / "gam.c").write_text(model.export_c())
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", folder / "gam.so", folder / "gam.c", "-lm"], check=True)
    library, codes = ctypes.CDLL(folder / "gam.so"), {"x": 1, "y": 2, "z": 3, None: math.nan}
    out, found = (ctypes.c_double * model.additive_.n_scores)(), []
    for a, b, c in rows:
        library.gam_scores((ctypes.c_double * 3)(math.nan if a is None else a, codes[b], c), out)
        found.append(list(out))
    return np.squeeze(found)


def test_shapes_are_changed_by_hand_and_files_say_so(table):
    X, truth = table
    model = GAMRegressor(**QUICK).fit(X, truth)
    changed = model.set_scores("b", ["y"], 0.5).make_monotone("a", 1)
    names = dict(zip(changed.term_names_, changed.additive_.terms, strict=True))
    assert names["b"].scores[0, 2] == 0.5
    assert (np.diff(names["a"].scores[0, 1:]) >= 0).all()
    assert names["a"].by_hand == ("all values: does not fall",)
    assert model.additive_.terms[1].by_hand == ()
    assert json.loads(changed.to_json())["terms"][1]["by_hand"] == ["y: score 0.5"]
    assert fasttree.from_json(changed.to_json()).additive_.terms[1].by_hand == ("y: score 0.5",)
    assert "    changed by hand: y: score 0.5\n" in changed.export_text()
    assert "    changed by hand: all values: does not fall\n" in changed.export_text()
    with pytest.raises(ValueError, match="categories of 'b'"):
        model.set_scores("b", ["w"], 0.5)


@pytest.mark.parametrize(
    ("where", "changed"),
    [((1.5, 2.5), [2]), ((1.5, 3.5), [2, 3]), ((1.5, 9), [2, 3, 4]), ((3.5, 9), [4]), ((0, 1.5), [1]), ((0, 9), [1, 2, 3, 4])],
)
def test_a_range_changes_the_bins_inside_it(where, changed):
    X = np.repeat([[1.0], [2.0], [3.0], [4.0]], 20, axis=0)
    model = GAMRegressor(**QUICK).fit(X, X[:, 0])
    scores = model.set_scores(0, where, 7.0).additive_.terms[0].scores[0]
    assert np.flatnonzero(scores == 7.0).tolist() == changed


@pytest.mark.parametrize(
    ("where", "words"), [((1.5, 3.5), "1.5 to 3.5"), ((1.5, 9), "> 1.5"), ((1.2, 3), "<= 2.5"), ((-9, 9), "any value")]
)
def test_words_of_a_change_are_the_values_that_change(where, words):
    X = np.repeat([[1.0], [2.0], [3.0], [4.0]], 20, axis=0)
    model = GAMRegressor(**QUICK).fit(X, X[:, 0])
    assert model.set_scores(0, where, 7.0).additive_.terms[0].by_hand == (f"{words}: score 7.0",)


def test_texts_say_whose_scores_they_have(table):
    X, truth = table
    two, three = (GAMClassifier(**QUICK).fit(X, classes_of(truth, n)) for n in (2, 3))
    assert two.export_text().splitlines()[0].endswith(", log odds of middle")
    assert two.export_text(labels={"y": {"middle": "Mitte"}}).splitlines()[0].endswith(", log odds of Mitte")
    assert three.export_text().splitlines()[0].endswith(", scores of high, low, middle")
    changed = three.set_scores("b", ["y"], 0.5, output="low").make_monotone("a", 1, output="middle")
    assert changed.additive_.terms[1].by_hand == ("y: score 0.5, class low",)
    assert changed.additive_.terms[0].by_hand == ("all values: does not fall, class middle",)


def test_an_explanation_has_what_each_term_adds(table):
    X, truth = table
    model = GAMClassifier(**QUICK).fit(X, classes_of(truth, 2))
    found = model.explain(X.iloc[3])
    total = found.intercept + sum(one.score for one in found.contributions)
    assert found.score == pytest.approx(model.decision_function(X.iloc[[3]])[0]) == pytest.approx(total)
    assert found.prediction == model.predict(X.iloc[[3]])[0]
    assert [abs(one.score) for one in found.contributions] == sorted(
        (abs(one.score) for one in found.contributions), reverse=True
    )


def test_missing_cells_of_nullable_columns_are_explained():
    X = pd.DataFrame({"b": pd.array([True, False, None] * 20, dtype="boolean"), "n": pd.array(range(60), dtype="Int64")})
    model = GAMRegressor(n_bags=2, max_iter=10, random_state=0).fit(X, np.arange(60.0))
    for row in (X.iloc[[2]], X.iloc[2], {"b": pd.NA, "n": 2.0}, {"b": pd.NaT, "n": 2.0}):
        explained = model.explain(row)
        assert {one.term: one.value for one in explained.contributions} == {"b": "missing", "n": "2"}
        assert explained.prediction == model.predict(X.iloc[[2]])[0]


def test_pictures_are_drawn(table):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    X, truth = table
    model = GAMRegressor(interactions=1, **QUICK).fit(X, truth)
    figure = model.plot()
    assert [ax.get_xlabel() for ax in figure.axes[:3]] != ["", "", ""]
    steps = model.plot_shape("c").patches[0].get_data()
    np.testing.assert_array_equal(steps.values, model.additive_.terms[2].scores[0, 1:])
    assert len(model.plot_importances().patches) == 4
    assert model.explain(X.iloc[1]).plot().get_title(loc="left").startswith("prediction")
    several = GAMClassifier(**QUICK).fit(*load_iris(return_X_y=True))
    assert len(several.plot_shape(0).patches) == 3
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_leaf_nodes": 1}, "max_leaf_nodes"),
        ({"interactions": [(0, 0)]}, "must differ"),
        ({"interactions": [(0, 9)]}, "interactions names 9"),
        ({"monotonic_cst": {"b": 1}}, "nominal"),
        ({"monotonic_cst": {"a": 1}, "interactions": [("a", "c")]}, "leave out one"),
        ({"validation_fraction": 0.5}, "validation_fraction"),
    ],
)
def test_wrong_parameters(table, parameters, message):
    X, truth = table
    with pytest.raises(ValueError, match=message):
        GAMRegressor(**QUICK | parameters).fit(X, truth)


@pytest.mark.parametrize(
    "change",
    [
        {"link": "logit"},
        {"intercept": [1.0, 2.0]},
        {"terms": [{"features": [9], "cuts": [[]]}]},
        {"terms": [{"features": [0], "cuts": [[2.0, 1.0]], "importance": 0.0, "scores": [[0.0] * 4], "deviations": [[0.0] * 4],
                    "weight": [0.0] * 4}]},
        {"n_bags": -1},
    ],
)  # fmt: skip
def test_forged_files_raise_one_error(table, change):
    X, truth = table
    document = json.loads(GAMRegressor(**QUICK).fit(X, truth).to_json())
    with pytest.raises(ValueError, match=next(iter(change)).rstrip("s")):
        fasttree.from_json(json.dumps(document | change))


def test_one_class_is_certain(table):
    X, truth = table
    model = GAMClassifier(n_bags=2, max_iter=3).fit(X, ["only"] * len(truth))
    assert np.array_equal(model.predict_proba(X), np.ones((len(X), 1)))
    assert (model.predict(X) == "only").all()
    assert np.array_equal(fasttree.from_json(model.to_json()).decision_function(X), model.decision_function(X))
    with closing(sqlite3.connect(":memory:")) as database:
        X.to_sql("t", database)
        for asked, expected in [({}, "only"), ({"probability_of": "only"}, 1.0)]:
            query = f"SELECT DISTINCT {model.export_sql(dialect='sqlite', **asked)} FROM t"
            assert database.execute(query).fetchall() == [(expected,)]
        queried = pd.read_sql(model.export_sql(dialect="sqlite", table="t"), database)
    assert set(queried["prediction"]) == {"only"}
    assert set(queried["probability_only"]) == {1.0}


def test_targets_too_small_for_their_squares(table):
    X, truth = table
    with pytest.raises(ValueError, match="scale them"):
        GAMRegressor(**QUICK).fit(X, truth * 1e-100)
    assert (GAMRegressor(**QUICK).fit(X, truth * 0).predict(X) == 0).all()


def test_a_shape_is_drawn_after_the_fit():
    with pytest.raises(NotFittedError, match="not fitted"):
        GAMRegressor().plot_shape("a")


def test_an_interrupt_ends_the_bags_of_all_threads(table, monkeypatch):
    turns = []

    class Slow(boosting.Booster):
        def run(self, n_rounds):
            if threading.current_thread() is threading.main_thread():
                while not turns:
                    time.sleep(0.001)
                raise KeyboardInterrupt
            turns.append(n_rounds)
            time.sleep(0.001)
            return 100

    monkeypatch.setattr(boosting, "Booster", Slow)
    monkeypatch.setattr(boosting, "CELLS_AT_ONCE", 1)
    X, truth = table
    model = GAMRegressor(n_bags=2, n_jobs=2, max_iter=20_000)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, truth)
    assert len(turns) < 10_000
    assert not hasattr(model, "additive_")
