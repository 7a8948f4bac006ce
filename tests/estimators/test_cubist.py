"""CubistRegressor: what it learns from planted rules, what it promises, and exports with its bits."""

from __future__ import annotations

import ctypes
import json
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fasttree import CubistRegressor, from_json, load
from fasttree._engine.lines.equations import make_rules
from fasttree._model.committees.neighbors import average_distance


def planted(n=300, seed=0):
    """A table with all kinds of columns and missing values, and a target that follows lines."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": 10 * rng.normal(size=n), "c": rng.choice(list("xyz"), n)})
    levels = pd.Categorical(rng.choice(["lo", "mid", "hi"], n), categories=["lo", "mid", "hi"], ordered=True)
    X["o"] = levels
    X.loc[::7, "a"] = np.nan
    X.loc[::11, "c"] = None
    y = np.where(X.c == "x", 3 * X.a.fillna(0), -X.b) + 2.0 * levels.codes + 0.1 * rng.normal(size=n)
    return X, y


def test_planted_lines_are_found():
    x = np.linspace(-1, 1, 400)
    y = np.where(x < 0.25, 5 + 2 * x, 9 - 3 * x)
    (rules,) = CubistRegressor().fit(x[:, None], y).rules_
    found = sorted((round(rule.intercept, 6), [(j, round(b, 6)) for j, b in rule.terms]) for rule in rules)
    assert found == [(5.0, [(0, 2.0)]), (9.0, [(0, -3.0)])]
    assert {each.threshold for rule in rules for each in rule.conditions} == {x[x < 0.25].max()}


def test_rules_and_predictions_do_not_depend_on_the_order_of_rows():
    X, y = planted()
    model = CubistRegressor(committees=3, neighbors=3).fit(X, y, np.arange(300) % 3 + 0.5)
    order = np.random.default_rng(1).permutation(300)
    other = CubistRegressor(committees=3, neighbors=3).fit(X.iloc[order], y[order], (np.arange(300) % 3 + 0.5)[order])
    assert model.rules_ == other.rules_
    assert np.array_equal(model.predict(X), other.predict(X))


def test_a_sample_of_weight_0_is_as_none_at_all():
    X, y = planted()
    weight = (np.arange(300) % 4 > 0).astype(float)
    known = weight > 0
    assert CubistRegressor().fit(X, y, weight).rules_ == CubistRegressor().fit(X[known], y[known]).rules_
    assert CubistRegressor().fit(X, y, 7 * weight).rules_ == CubistRegressor().fit(X, y, weight).rules_


def test_the_mean_of_rules_and_members_within_their_bounds_is_predicted():
    """Committees above 20 and bounds are what translations to other languages forget."""
    X, y = planted()
    model = CubistRegressor(committees=25, extrapolation=0.0).fit(X, y)
    far = X.iloc[:20].assign(b=1e4)
    rows = far.assign(a=far.a.fillna(model.committee_.filling[0]), c=far.c.fillna(X.c.mode()[0]))
    assert len(model.rules_) == 25
    members = []
    for member in model.rules_:
        means = []
        for _, row in rows.iterrows():
            cells = row.tolist()
            held = [r for r in member if all(_holds(cells[each.index], each) for each in r.conditions)]
            values = [r.intercept + sum(b * cells[j] for j, b in r.terms) for r in held]
            bounded = [min(max(value, r.least), r.largest) for value, r in zip(values, held, strict=True)]
            means.append(np.mean(bounded) if held else y.mean())
        members.append(means)
    assert model.predict(far) == pytest.approx(np.mean(members, axis=0), rel=1e-9)


def _holds(value, condition):
    if condition.threshold is None:
        return value in condition.categories
    return value <= condition.threshold if condition.operator == "<=" else value > condition.threshold


def test_exports_have_the_bits_of_predict(tmp_path):
    X, y = planted()
    model = CubistRegressor(committees=22).fit(X, y)
    others = pd.concat([X, planted(100, 1)[0].assign(b=1e5)], ignore_index=True)
    predicted = model.predict(others)

    scope = {}
    exec(model.export_python(), scope)
    rows = others.astype(object).where(others.notna(), None).to_numpy().tolist()
    assert [scope["predict"](row) for row in rows] == predicted.tolist()

    with closing(sqlite3.connect(":memory:")) as connection:
        others.astype({"o": str}).to_sql("t", connection, index=False)
        found = pd.read_sql(model.export_sql(table="t", dialect="sqlite"), connection)
    assert found["prediction"].tolist() == predicted.tolist()

    source, library = tmp_path / "rules.c", tmp_path / "rules.so"
    source.write_text(model.export_c())
    flags = ["-O2", "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-ffp-contract=off"]
    subprocess.run(["cc", *flags, str(source), "-o", str(library)], check=True)
    predict = ctypes.CDLL(str(library)).rules_predict
    predict.restype = ctypes.c_double
    codes = others.c.map({"x": 1.0, "y": 2.0, "z": 3.0})
    cells = np.column_stack([others.a, others.b, codes, others.o.cat.codes + 1.0])
    assert [predict((ctypes.c_double * 4)(*row)) for row in cells] == predicted.tolist()


@pytest.mark.parametrize("unseen", ["as_missing", "error"])
@pytest.mark.parametrize("columns", [["b"], ["c", "o"]])
def test_c_of_rules_without_terms_has_no_warnings(tmp_path, columns, unseen):
    """Numbers that say nothing make a rule of a constant, and categories make rules of constants."""
    X, y = planted()
    y = np.random.default_rng(0).normal(size=300) if columns == ["b"] else y
    model = CubistRegressor(unseen=unseen).fit(X[columns], y)
    assert not any(rule.terms for rule in model.rules_[0])
    source, library = tmp_path / "rules.c", tmp_path / "rules.so"
    source.write_text(model.export_c())
    flags = ["-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Werror", "-shared", "-fPIC", str(source), "-o", str(library)]
    for compiler in (["c++", "-x", "c++"], ["cc", "-std=c99"]):
        subprocess.run([*compiler, *flags], check=True)
    predict = ctypes.CDLL(str(library)).rules_predict
    predict.restype = ctypes.c_double
    cells = [X.b] if columns == ["b"] else [X.c.map({"x": 1.0, "y": 2.0, "z": 3.0}), X.o.cat.codes + 1.0]
    rows = [(ctypes.c_double * len(row))(*row) for row in np.column_stack(cells)]
    assert [predict(row) for row in rows] == model.predict(X[columns]).tolist()
    unknown = predict((ctypes.c_double * 2)(0.0, 1.0))
    assert np.isnan(unknown) == (columns != ["b"] and unseen == "error")


def test_a_bias_of_half_a_unit_is_taken_off():
    """The intercept is rounded to 0 again, but the error is that of predictions without bias, which are 0.05."""
    y = np.zeros(20)
    y[7] = 1.0
    for unbiased, distance in ((False, 1 / 20), (True, (19 * 0.05 + 0.95) / 20)):
        ((rule,),) = CubistRegressor(unbiased=unbiased).fit(np.arange(20.0)[:, None], y).rules_
        assert rule.intercept == 0
        assert rule.error == pytest.approx(distance * (20 + 1) / (20 - 1))


@pytest.mark.parametrize("options", [{}, {"committees": 4, "unbiased": True}, {"neighbors": 4}])
def test_a_saved_model_predicts_the_same(options):
    X, y = planted()
    model = CubistRegressor(**options).fit(X, y)
    read = from_json(model.to_json())
    assert read.rules_ == model.rules_
    assert np.array_equal(read.predict(X), model.predict(X))
    assert read.to_json() == model.to_json()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d["members"][0][0].update(terms=[["a", 1.0]]), "terms"),
        (lambda d: d["members"][0][0].update(terms=[[2, 1.0]]), "continuous"),
        (lambda d: d["members"][0][0].update(lower=1e9), "bounds"),
        (lambda d: d["neighbors"].pop("radius"), "radius"),
        (lambda d: d["neighbors"]["points"].pop(), "lengths"),
        (lambda d: d["filling"].pop(), "filling"),
        (lambda d: d.update(members=[]), "members"),
    ],
)
def test_damaged_documents_raise_one_error(damage, message):
    document = json.loads(CubistRegressor(neighbors=2).fit(*planted()).to_json())
    damage(document)
    with pytest.raises(ValueError, match=message):
        from_json(json.dumps(document))


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(1, 7))
def test_neighbors_are_those_of_a_comparison_with_every_sample(seed, n):
    X, y = planted(60, seed)
    model = CubistRegressor(neighbors=n).fit(X, y)
    neighbors = model.committee_.neighbors
    others = planted(30, seed + 1)[0].assign(a=lambda t: t.a * 3)
    table = model._encode_table(others)
    before = model.committee_.predict_by_rules(table)
    expected = []
    for point, prediction in zip(neighbors.points_of(table), before, strict=True):
        d = neighbors.scale.size
        apart = np.minimum(np.abs(point[:d] - neighbors.points[:, :d]), 1).sum(axis=1)
        apart = np.rint(16 * (apart + ((point[d:] != neighbors.points[:, d:]) * neighbors.steps).sum(axis=1))) / 16
        total = weight = count = 0.0
        for distance in np.unique(apart[apart <= neighbors.radius]):
            same = np.flatnonzero(apart == distance)
            share = min(1.0, (n - count) / len(same)) / (distance + 0.5)
            values = np.clip(neighbors.target[same] + prediction - neighbors.predicted[same], neighbors.floor, neighbors.ceiling)
            total, weight, count = total + share * values.sum(), weight + share * len(same), count + len(same)
            if count >= n:
                break
        enough = np.count_nonzero(apart <= neighbors.radius) >= (n + 1) // 2
        expected.append(np.clip(total / weight, neighbors.floor, neighbors.ceiling) if enough else prediction)
    assert model.predict(others) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_radius_is_the_mean_distance_of_pairs():
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.normal(size=40), rng.integers(0, 3, 40)])
    pairs = [(i, j) for i in range(40) for j in range(i)]
    apart = [min(1, abs(points[i, 0] - points[j, 0])) + 0.5 * (points[i, 1] != points[j, 1]) for i, j in pairs]
    assert average_distance(points, 1, np.array([0.5])) == np.rint(16 * np.mean(apart)) / 16


def test_explanations_and_tables_of_rules_read_the_same():
    X, y = planted()
    model = CubistRegressor(committees=2).fit(X, y)
    rules = model.to_rules()
    assert rules.to_text().count("\n") == len(rules) + 2 == len(rules.to_frame()) + 2
    found = rules.explain(X.iloc[3])
    assert found.prediction == model.predict(X.iloc[[3]])[0]
    assert all(f"rule {i} predicts" in str(found) for i in found.rules)
    assert "neighbours" in str(CubistRegressor(neighbors=2).fit(X, y).explain(X.iloc[3]))


def test_models_with_neighbors_are_not_exported():
    model = CubistRegressor(neighbors=1).fit(*planted())
    for export in (model.export_sql, model.export_c, model.export_python, model.export_onnx, model.export_pmml):
        with pytest.raises(ValueError, match="fit with neighbors=0"):
            export()


@pytest.mark.parametrize("name", ["committees", "neighbors", "extrapolation", "max_rules"])
def test_parameters_out_of_range_raise(name):
    with pytest.raises(ValueError, match=f"{name}=-1: must be"):
        CubistRegressor(**{name: -1}).fit(*planted())


def test_sizes_that_overflow_or_vanish_raise():
    X, y = planted()
    for scaled, target, message in [
        (X.assign(b=1e155 * X.b), y, "'b': numbers must be at most"),
        (X, 1e61 * y, "y: numbers must be at most"),
        (X, 1e-20 * y, "at least 1e-14"),
    ]:
        with pytest.raises(ValueError, match=message):
            CubistRegressor().fit(scaled, target)
    x = np.random.default_rng(0).normal(size=(60, 2))
    model = CubistRegressor().fit(x, 20 * x[:, 0] - 30 * x[:, 1])
    assert np.isfinite(model.predict([[1e308, 0.0], [0.0, -1e308]])).all()
    with pytest.raises(ValueError, match="row 1 of X"):
        model.predict([[0.0, 0.0], [1e308, 1e308]])


def test_conditions_of_deep_rules_are_dropped():
    """Of 700 conditions, one stays: that whose row alone would lose.  Two leaves with equal rules make one."""
    n_conditions, n = 700, 70
    fails = np.zeros((n_conditions, n), dtype=np.uint8)
    fails[:, :2] = 1  # as soon as one condition is left, these fail it alone
    fails[-1, 2] = fails[-2, 69] = 1
    codes = np.ascontiguousarray(fails.astype(np.int32))  # each condition is about a nominal feature of its own
    y = np.full(n, 5.0)
    y[[0, 1, 69]] = 1.0  # those that would lose by the prediction 5
    size = np.arange(n_conditions)
    tests = (
        size.astype(np.int32),
        np.zeros(n_conditions, np.uint8),
        np.zeros(n_conditions),
        2 * size,
        np.tile(np.array([1, 0], dtype=np.uint8), n_conditions),
        codes,
    )
    samples = (np.empty((0, n)), np.empty((n, 0)), y, np.ones(n), np.empty(0), -9.0, 9.0)
    # rows of the first leaf, and others, whose predictions 1 are right for those that would lose
    rows = np.array([i for i in range(n) if y[i] == 5] + [i for i in range(n) if y[i] == 1], dtype=np.int32)
    leaves = (rows, np.array([0, 67]), np.array([67, n]), np.array([1, 1]), np.array([0, n_conditions, n_conditions]))
    conditions, kept, models = np.arange(n_conditions, dtype=np.int32), np.zeros(2, np.int64), np.array([[5.0], [1.0]])
    covered, figures = np.empty((2, 2), np.uint64), np.empty((2, 7))
    make_rules(samples, tests, leaves, (conditions, kept, models, covered, figures), np.array([0.0, 0.1, 0.0]))
    assert kept.tolist() == [1, 0]
    assert conditions[0] == n_conditions - 2
    covers = [[bool(int(covered[rule, i // 64]) >> i % 64 & 1) for i in range(n)] for rule in range(2)]
    assert covers == [[y[i] == 5 for i in range(n)], [True] * n]
    assert figures[:, 0].tolist() == [67, n]


@pytest.mark.parametrize("exponent", [-100, 50, 120])
def test_units_of_columns_do_not_matter(exponent):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] > 0, 3 * X[:, 1], X[:, 2] - X[:, 1])
    X[::7, 1] = np.nan
    usual, other = (CubistRegressor(committees=2, neighbors=3).fit(X * unit, y) for unit in (2.0**40, 2.0**exponent))
    assert sum(len(rule.terms) for member in other.rules_ for rule in member) > 0
    assert np.array_equal(usual.predict(X * 2.0**40), other.predict(X * 2.0**exponent))


def test_file_has_the_number_of_training_samples(tmp_path):
    X, y = np.arange(40.0)[:, None], np.arange(40.0)
    weight = np.ones(40)
    weight[:3] = 0
    model = CubistRegressor().fit(X, y, sample_weight=weight)
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").committee_.n_samples == model.committee_.n_samples == 37
    document = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    del document["n_samples"]
    (tmp_path / "model.json").write_text(json.dumps(document), encoding="utf-8")
    assert load(tmp_path / "model.json").committee_.n_samples == 0


def run_in_onnx(model, X, dtype):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(model.export_onnx(dtype=dtype), providers=["CPUExecutionProvider"])
    if len(session.get_inputs()) == 1:
        given = {"X": X.to_numpy(dtype)}
    else:
        numbers = {name: X[[name]].to_numpy(dtype) for name in ("a", "b")}
        given = numbers | {name: X[[name]].astype(object).fillna("").to_numpy(object) for name in ("c", "o")}
    (found,) = session.run(None, given)
    assert found.dtype == dtype
    return found[:, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("names", ["abco", "ab"])
@pytest.mark.parametrize("committees", [1, 3, 25])
def test_onnx_models_predict_the_same(committees, names, dtype):
    pytest.importorskip("onnx")
    X, y = planted()
    X = X[list(names)].assign(a=X["a"].astype(dtype).astype(float), b=X["b"].astype(dtype).astype(float))
    model = CubistRegressor(committees=committees).fit(X, y)
    assert len(model.rules_) == committees
    X = X.copy()
    X.loc[1::13, "b"] = np.nan
    X.loc[::3, "b"] *= 64  # so far from the samples of the fit that bounds decide
    if "c" in names:
        X.loc[::5, "c"] = "new"
    table = model._encode_table(X)
    columns = model.committee_.columns(table)
    free = [rule.intercept + sum(b * columns[j] for j, b in rule.terms) for rule in model.committee_.rules()]
    pairs = zip(free, model.committee_.rules(), strict=True)
    assert any(np.any((value < rule.lower) | (value > rule.upper)) for value, rule in pairs)
    np.testing.assert_array_equal(run_in_onnx(model, X, dtype), model.predict(X).astype(dtype))


def test_onnx_models_keep_all_digits():
    pytest.importorskip("onnx")
    X, y = planted()
    model = CubistRegressor(committees=2).fit(X, y)
    exact = [
        tuple(replace(rule, terms=tuple((j, b * (1 + 1 / 3e9)) for j, b in rule.terms)) for rule in member)
        for member in model.committee_.members
    ]
    before = model.predict(X)
    model.committee_ = replace(model.committee_, members=tuple(exact))
    assert np.any(model.predict(X) != before)
    np.testing.assert_array_equal(run_in_onnx(model, X, "float64"), model.predict(X))


def test_onnx_models_refuse_unseen_categories():
    pytest.importorskip("onnx")
    X, y = planted()
    model = CubistRegressor(committees=2, unseen="error").fit(X, y)
    np.testing.assert_array_equal(run_in_onnx(model, X, "float64"), model.predict(X))
    with pytest.raises(Exception, match="an unseen category is refused"):
        run_in_onnx(model, X.assign(c="new"), "float64")


def test_onnx_models_without_terms_or_conditions():
    pytest.importorskip("onnx")
    X = pd.DataFrame({"a": np.zeros(20)})
    model = CubistRegressor().fit(X, np.arange(20.0))
    assert model.rules_[0] == () or not model.rules_[0][0].terms
    np.testing.assert_array_equal(run_in_onnx(model, X, "float64"), model.predict(X))
