"""Exports of trees with linear models: bits of predict where a language adds in order, the bounds, and all digits."""

from __future__ import annotations

import ctypes
import math
import shutil
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ET
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from fasttree import M5Regressor
from fasttree._export.c import export_c
from fasttree._export.python import export_python

RNG = np.random.default_rng(3)
N = 240
STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wconversion", "-O2", "-shared", "-fPIC"]


def drawn(n, spread, *, missing):
    X = pd.DataFrame({name: RNG.normal(0, spread, n) for name in ('the "width"', "height", "depth")})
    X["colour"] = RNG.choice(["red", "it's", "blue"], n)
    return X.mask(RNG.random(X.shape) < missing)


TRAIN = drawn(N, 1.0, missing=0.05)
WIDTH, HEIGHT, DEPTH, COLOUR = (TRAIN[name] for name in TRAIN)
Y = np.where(COLOUR == "red", 40 + 4 * HEIGHT.fillna(0), np.where(WIDTH > 0, 3 * HEIGHT.fillna(0) - 40, 5 + DEPTH.fillna(0) / 3))
Y = Y + 0.1 * RNG.normal(size=N)
# most of these rows are far outside the training table, where a forgotten bound shows
ROWS = pd.concat([drawn(300, 1.0, missing=0.2), drawn(300, 1e3, missing=0.2)], ignore_index=True)
ROWS.loc[::11, "colour"] = "violet"  # no sample of the fit is violet
NUMBERS = [name for name in TRAIN if name != "colour"]
ROOM = RNG.choice([1.5, 2.0, 40.0], N)  # categories that are numbers
ROOMS = TRAIN.assign(room=pd.Series(ROOM).mask(RNG.random(N) < 0.05))
ROWS["room"] = pd.Series(RNG.choice([1.5, 2.0, 40.0, 7.0], len(ROWS))).mask(RNG.random(len(ROWS)) < 0.2)
Y_ROOMS = Y + np.where(ROOM == 40, 30, ROOM)
BOTH = pd.DataFrame({"price": Y, "rent": np.where(COLOUR == "blue", 100 * DEPTH.fillna(0), HEIGHT.fillna(0))})


@pytest.fixture(scope="module")
def models():
    found = {
        "bounded": M5Regressor().fit(TRAIN, Y),
        "without bounds": M5Regressor(extrapolation=None).fit(TRAIN, Y),
        "unpruned": M5Regressor(pruning_factor=None, smoothing=0).fit(TRAIN, Y),
        "numbers": M5Regressor().fit(TRAIN[NUMBERS].to_numpy(), Y),
        "no terms": M5Regressor().fit(TRAIN[["colour"]], Y),
        "a leaf": M5Regressor(min_samples_leaf=N).fit(TRAIN, Y),
        "indicators": M5Regressor(indicators=True).fit(TRAIN, Y),
        "indicators without bounds": M5Regressor(indicators=True, extrapolation=None, pruning_factor=2.5).fit(TRAIN, Y),
        "indicators of rooms": M5Regressor(indicators=True, categorical_features=["room"]).fit(ROOMS, Y_ROOMS),
        "indicators alone": M5Regressor(indicators=True, min_samples_leaf=60).fit(TRAIN[["colour"]], Y),
        "two targets": M5Regressor().fit(TRAIN, BOTH),
        "two targets of numbers": M5Regressor(extrapolation=None).fit(TRAIN[NUMBERS].to_numpy(), BOTH.to_numpy()),
        "two targets without terms": M5Regressor().fit(TRAIN[["colour"]], BOTH),
        "indicators for two targets": M5Regressor(indicators=True).fit(TRAIN, BOTH),
    }
    for name, model in found.items():
        leaves = model.tree_.leaves().tolist()
        by_target = model.tree_.models_by_target
        has = any(models.source(j)[1] for models in by_target for leaf in leaves for j, _ in models.terms(leaf))
        assert has == name.startswith("indicators")
        assert len(by_target) == 1 + ("two" in name)
    assert found["unpruned"].get_n_leaves() > 8
    return found


def rows_of(model):
    return ROWS[list(model.feature_names_in_)] if hasattr(model, "feature_names_in_") else ROWS[NUMBERS].to_numpy()


def listed(X):
    columns = [X[name].tolist() for name in X] if isinstance(X, pd.DataFrame) else X.T.tolist()
    return [[None if cell is None or cell != cell else cell for cell in row] for row in zip(*columns, strict=True)]


def assert_bits(found, model, name, target=None):
    """Compare with all predictions, or with those for one of the targets."""
    wanted = model.predict(rows_of(model))
    if target is not None:
        wanted = wanted.reshape(len(wanted), -1)[:, target].copy()
    assert np.asarray(found, float).tobytes() == wanted.tobytes(), name


def test_rows_lie_beyond_the_bounds(models):
    """Without this the other tests would pass without bounds."""
    bounded, free = models["bounded"], models["without bounds"]
    assert (np.abs(bounded.predict(rows_of(bounded)) - free.predict(rows_of(free))) > 10).mean() > 0.2


@pytest.mark.parametrize("most_nested", [0, 64])
def test_python_gives_the_bits_of_predict(models, most_nested):
    for name, model in models.items():
        module = {}
        exec(export_python(model._subject(), most_nested=most_nested), module)
        assert_bits([module["predict"](row) for row in listed(rows_of(model))], model, name)


def test_c_gives_the_bits_of_predict(models, tmp_path):
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None or sys.platform == "win32":
        pytest.skip("needs a C compiler")
    sources, names = [], {}
    for i, (name, model) in enumerate(models.items()):
        for most_nested in (0, 64):
            names[f"m{i}_{most_nested}"] = name
            sources.append(export_c(model._subject(), f"m{i}_{most_nested}", most_nested=most_nested))
    (tmp_path / "all.c").write_text("\n".join(sources))
    march = ["-march=native"] if "gcc" in compiler else []  # with fused multiply-add, where the processor has it
    subprocess.run([compiler, *STRICT, *march, str(tmp_path / "all.c"), "-o", str(tmp_path / "all.so")], check=True)
    library = ctypes.CDLL(str(tmp_path / "all.so"))
    for prefix, name in names.items():
        predict = getattr(library, f"{prefix}_predict")
        model, found = models[name], []
        out = (ctypes.c_double * model.n_outputs_)()
        predict.restype = ctypes.c_double if model.n_outputs_ == 1 else ctypes.c_int
        for row in listed(rows_of(model)):
            features = zip(model.schema_.features, row, strict=True)
            cells = [math.nan if cell is None else cell if f.categories is None else code_in(f, cell) for f, cell in features]
            cells = (ctypes.c_double * len(cells))(*cells)
            if model.n_outputs_ == 1:
                found.append(predict(cells))
            else:
                assert predict(cells, out) == 0
                found.append(list(out))
        assert_bits(found, model, prefix)


def code_in(feature, cell):
    return feature.categories.index(cell) + 1 if cell in feature.categories else len(feature.categories) + 1


def in_sqlite(model, query):
    names = [feature.name for feature in model.schema_.features]
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE given ({quoted})")
        connection.executemany(f"INSERT INTO given VALUES ({', '.join('?' * len(names))})", listed(rows_of(model)))
        return connection.execute(query).fetchall()


def test_sqlite_gives_the_bits_of_predict(models):
    for name, target in ((name, target) for name, model in models.items() for target in range(model.n_outputs_)):
        model = models[name]
        expression = model.export_sql(dialect="sqlite", target=target)
        assert_bits([row[0] for row in in_sqlite(model, f"SELECT {expression} FROM given")], model, name, target)
        rules = model.to_rules().to_sql(dialect="sqlite", target=target)
        assert_bits([row[0] for row in in_sqlite(model, f"SELECT {rules} FROM given")], model, name, target)
        found = in_sqlite(model, model.export_sql(table="given", dialect="sqlite", target=target))
        assert_bits([row[-1] for row in found], model, name, target)
        assert [row[-2] for row in found] == model.apply(rows_of(model)).tolist()


def test_duckdb_gives_the_bits_of_predict(models):
    duckdb = pytest.importorskip("duckdb")
    for name in ("bounded", "unpruned", "indicators", "indicators of rooms"):
        model = models[name]
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.register("given", rows_of(model))  # missing numbers are NaN
            text = model.export_sql(dialect="duckdb", nan_as_missing=True)
            assert_bits(connection.execute(f"SELECT {text} FROM given").fetchnumpy().popitem()[1], model, name)
            query = model.export_sql(table="given", dialect="duckdb", nan_as_missing=True)
            assert_bits(connection.execute(query).fetchnumpy()["prediction"], model, name)


def test_onnx_gives_predictions_within_rounding(models):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    for name, model in models.items():
        X = rows_of(model)
        for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-6)):
            rounded = X.copy()
            for j in NUMBERS if isinstance(X, pd.DataFrame) else range(X.shape[1]):
                if isinstance(X, pd.DataFrame) and j not in X:
                    continue
                column = rounded[j] if isinstance(X, pd.DataFrame) else rounded[:, j]
                values = np.asarray(column).astype(dtype).astype(float)
                if isinstance(X, pd.DataFrame):
                    rounded[j] = values
                else:
                    rounded[:, j] = values
            run = onnxruntime.InferenceSession(model.export_onnx(dtype=dtype), providers=["CPUExecutionProvider"])
            if isinstance(X, pd.DataFrame):
                feed = {
                    c: rounded[c].fillna("").to_numpy(object) if c == "colour" else rounded[c].to_numpy(dtype) for c in rounded
                }
                feed = {c: column[:, None] for c, column in feed.items()}
            else:
                feed = {"X": rounded.astype(dtype)}
            (found,) = run.run(["variable"], feed)
            assert found.dtype == dtype
            wanted = model.predict(rounded).reshape(len(found), -1)
            assert found == pytest.approx(wanted, rel=tolerance, abs=tolerance), name


def scored(document, X):
    """A plain reader of the PMML of a tree with models."""
    space = {"p": "http://www.dmg.org/PMML-4_4"}
    root = ET.fromstring(document)
    kinds = {field.get("name"): field.get("dataType") for field in root.iterfind(".//p:DataField", space)}
    known = {
        field.get("name"): [value.get("value") for value in field.iterfind("p:Value", space)]
        for field in root.iterfind(".//p:DataField", space)
    }

    def is_same(name, cell, text):
        return cell == float(text) if kinds[name] == "double" else cell == text

    def read_by(model, row):
        """The row as a model reads it: a category that is not listed may be missing to it."""
        fields = {field.get("name"): field for field in model.find("p:MiningSchema", space)}
        found = {}
        for name, cell in row.items():
            as_missing = name in fields and fields[name].get("invalidValueTreatment") == "asMissing"
            unseen = known[name] and not any(is_same(name, cell, text) for text in known[name])
            found[name] = None if as_missing and unseen else cell
        return found

    def is_true(predicate, row):
        tag = predicate.tag.split("}")[1]
        if tag in ("True", "False"):
            return tag == "True"
        if tag == "CompoundPredicate":
            parts = [is_true(part, row) for part in predicate]
            if predicate.get("booleanOperator") == "and":
                return False if False in parts else None if None in parts else True
            return True if True in parts else None if None in parts else False
        cell, operator = row[predicate.get("field")], predicate.get("operator")
        if operator in ("isMissing", "isNotMissing"):
            return (cell is None) == (operator == "isMissing")
        if cell is None:
            return None
        if tag == "SimpleSetPredicate":
            array = predicate.find("p:Array", space)
            items = array.text.strip('"').split('" "') if array.get("type") == "string" else array.text.split()
            is_in = any(is_same(predicate.get("field"), cell, item) for item in items)
            return is_in == (predicate.get("booleanOperator") == "isIn")
        value = predicate.get("value")
        if operator in ("equal", "notEqual"):
            return is_same(predicate.get("field"), cell, value) == (operator == "equal")
        return cell <= float(value) if operator == "lessOrEqual" else cell > float(value)

    for cells in listed(X):
        row = read_by(root.find("p:MiningModel", space), dict(zip(X, cells, strict=True)))
        for segment in root.iterfind(".//p:Segment", space):
            if is_true(segment[0], row):
                break
        model = segment.find("p:RegressionModel", space)
        means = {field.get("name"): field.get("missingValueReplacement") for field in model.iterfind(".//p:MiningField", space)}
        row = read_by(model, row)
        for field in model.iterfind("p:LocalTransformations/p:DerivedField", space):
            norm = field.find("p:NormDiscrete", space)
            cell = row[norm.get("field")]
            is_one = cell is not None and is_same(norm.get("field"), cell, norm.get("value"))
            row[field.get("name")] = float(norm.get("mapMissingTo")) if cell is None else float(is_one)
        table = model.find("p:RegressionTable", space)
        value = float(table.get("intercept"))
        for term in table:
            given = row[term.get("name")]
            value += float(term.get("coefficient")) * (float(means[term.get("name")]) if given is None else given)
        target = model.find(".//p:Target", space)
        if target is not None:
            value = min(max(value, float(target.get("min"))), float(target.get("max")))
        yield value


def test_pmml_has_the_model_of_each_leaf(models):
    for name, model in models.items():
        for target in range(model.n_outputs_ if isinstance(rows_of(model), pd.DataFrame) else 0):
            assert_bits(list(scored(model.export_pmml(target=target), rows_of(model))), model, name, target)


@pytest.mark.parametrize("name", ["export_python", "export_c", "export_sql", "export_pmml"])
def test_coefficients_have_all_digits(models, name):
    model = models["bounded"]
    text = getattr(model, name)()
    for leaf in model.tree_.leaves().tolist():
        for _, coefficient in model.tree_.models.terms(leaf):
            digits = f"{coefficient:.17e}".split("e")[0][:15].replace(".", "").lstrip("-")
            assert digits[:12] in text.replace(".", "")


@pytest.mark.parametrize("name", ["to_sklearn", "to_predictor"])
def test_what_has_no_models_raises_an_error_that_names_what_has(models, name):
    for model in ("numbers", "two targets of numbers"):
        with pytest.raises(ValueError, match=r"linear models in leaves: use to_rules, export_c"):
            getattr(models[model], name)()


@pytest.mark.parametrize("name", ["export_sql", "export_pmml"])
def test_a_target_that_is_not_there_raises_an_error(models, name):
    with pytest.raises(ValueError, match=r"target=2: must be an integer in \[0, 1\]"):
        getattr(models["two targets"], name)(target=2)
    if name == "export_pmml":
        assert 'name="rent"' in models["two targets"].export_pmml(target=1)
