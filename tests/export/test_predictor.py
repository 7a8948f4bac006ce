"""Prediction for servers: the model's answers bit for bit, in few bytes, and no file that can do harm.

The slow twin is the model itself: its table layer reads the cells, its walk goes down the tree.
"""

import copy
import datetime
import decimal
import fractions
import json
import mmap
import os
import pickle
import random
import re
import sqlite3
import struct
import subprocess
import sys
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import exports
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import effective_n_jobs
from trees import flat, leaf, random_trees, split

import fasttree
from fasttree import CARTClassifier, CARTRegressor, Predictor, TreeClassifier
from fasttree._export.predictor import predictor as module
from fasttree._export.predictor.image import image_of, parts_of
from fasttree._model.arrays import NOMINAL

N_ROWS, N_SINGLE = exports.N_ROWS, 600
NAMES = list(exports.models())


def same_bits(a, b) -> bool:
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if a.dtype.kind in "OU":
        return a.shape == b.shape and bool((a == b).all())
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def by_row(probabilities, n: int) -> list:
    """What `predict_proba_one` gives for the first rows."""
    if isinstance(probabilities, list):
        return [[part[row].tolist() for part in probabilities] for row in range(n)]
    return probabilities[:n].tolist()


@pytest.fixture(scope="module")
def cases():
    """The predictor of each model, rows, and what the model predicts for them."""
    found = {}
    for name, model in exports.models().items():
        X = exports.inputs(model, N_ROWS)
        probabilities = model.predict_proba(X) if hasattr(model, "classes_") else None
        found[name] = model, model.to_predictor(), X, model.predict(X), probabilities
    return found


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_predicted_as_by_the_model(cases, name):
    _, predictor, X, answers, probabilities = cases[name]
    assert same_bits(predictor.predict(X), answers)
    if probabilities is not None:
        assert same_bits(predictor.predict_proba(X), probabilities)


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
@pytest.mark.parametrize("name", NAMES)
def test_threads_predict_parts_of_a_table(cases, name, n_jobs, monkeypatch):
    _, served, X, answers, probabilities = cases[name]
    asked, in_threads = [], module.in_threads
    for name_of, value in {
        "LEAST_SHARED": 10,
        "ROWS_OF_MATRIX": 50,
        "in_threads": lambda work, n_items, threads: asked.append((n_items, threads)) or in_threads(work, n_items, threads),
    }.items():
        monkeypatch.setattr(module, name_of, value)
    assert same_bits(served.predict(X, n_jobs=n_jobs), answers)
    assert all(n_items >= threads == effective_n_jobs(n_jobs) for n_items, threads in asked)
    assert asked
    if probabilities is not None:
        assert same_bits(served.predict_proba(X, n_jobs=n_jobs), probabilities)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_a_number_of_threads_is_checked(fruit, n_jobs):
    with pytest.raises(ValueError, match=re.escape(f"n_jobs={n_jobs!r}: must be a number of threads, or -1 for all cores")):
        fruit.predict(FRUIT, n_jobs=n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("form", ["matrix", "frame", "columns"])
def test_infinity_is_named_by_its_column_and_row(form, n_jobs, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 3)), rng.integers(0, 2, 900)
    monkeypatch.setattr(module, "LEAST_SHARED", 10)
    monkeypatch.setattr(module, "ROWS_OF_MATRIX", 100)
    make = {
        "matrix": np.asarray,
        "frame": lambda X: pd.DataFrame(X, columns=["x0", "x1", "x2"]),
        "columns": lambda X: pd.DataFrame({f"x{j}": X[:, j].copy() for j in range(3)}),
    }[form]
    served = CARTClassifier().fit(make(X), y).to_predictor()
    X[[400, 700], 1], X[800, 0] = np.inf, -np.inf
    with pytest.raises(ValueError, match=r"column 'x0' has infinite values in 1 row .first: row 800"):
        served.predict(make(X), n_jobs=n_jobs)
    X[800, 0] = 0
    with pytest.raises(ValueError, match=r"column 'x1' has infinite values in 2 rows .first: row 400"):
        served.predict_proba(make(X), n_jobs=n_jobs)


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_every_form_are_predicted_as_by_the_model(cases, name):
    model, predictor, X, answers, probabilities = cases[name]
    rows, wanted = exports.cells(X[:N_SINGLE]), answers[:N_SINGLE].tolist()
    names = [feature.name for feature in model.schema_.features]
    forms = {
        "list": rows,
        "tuple": [tuple(row) for row in rows],
        "dict": [dict(zip(names, row, strict=True)) for row in rows],
        "array of objects": [np.array(row, dtype=object) for row in rows],
    }
    if isinstance(X, np.ndarray):
        forms |= {"array": list(X[:N_SINGLE]), "strided array": list(np.asfortranarray(X[:N_SINGLE]))}
    for form in forms.values():
        assert [predictor.predict_one(row) for row in form] == wanted
        if probabilities is not None:
            assert [predictor.predict_proba_one(row) for row in form] == by_row(probabilities, N_SINGLE)


@pytest.mark.parametrize("name", ["numbers", "plain regression"])
def test_float32_rows_are_predicted_as_by_the_model(cases, name):
    model, predictor, X, _, _ = cases[name]
    X = X.astype(np.float32)
    assert same_bits(predictor.predict(X), model.predict(X))
    assert same_bits(predictor.predict(X[::-3]), model.predict(X[::-3]))
    assert [predictor.predict_one(row) for row in X[:N_SINGLE]] == model.predict(X[:N_SINGLE]).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_and_columns_may_lie_anywhere_in_memory(dtype):
    """Cells between those that are read, infinite or missing ones among them, do not count, and those that are read do."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(600, 10)).astype(dtype)
    y = np.where(wide[:, 0] + wide[:, 8] > 0, "p", "n")
    model = CARTClassifier().fit(np.ascontiguousarray(wide[:, ::2]), y)
    predictor = model.to_predictor()
    holed = wide.copy()
    holed[5:40, 8] = np.nan
    beside = holed.copy()
    beside[:, 1::2] = np.inf
    for cells in (wide, holed, beside):
        for X in (
            cells[:, ::2],
            cells[::3, ::2],
            cells[:, -2::-2],
            np.asfortranarray(cells)[:, ::2],
            np.asfortranarray(cells[::3, ::2]),
        ):
            plain = np.ascontiguousarray(X)
            assert same_bits(predictor.predict(X), model.predict(plain))
            assert same_bits(model.predict(X), model.predict(plain))
    wide[7, 8] = -np.inf
    for either in (predictor, model):
        with pytest.raises(ValueError, match="infinite"):
            either.predict(wide[:, ::2])


@given(tree=random_trees(), seed=st.integers(0, 2**31))
def test_random_trees_predict_as_the_model(tree, seed):
    model = exports.model_of(tree)
    predictor = model.to_predictor()
    X = exports.inputs(model, 120, seed=seed)
    assert same_bits(predictor.predict(X), model.predict(X))
    assert [predictor.predict_one(row) for row in exports.cells(X)] == model.predict(X).tolist()
    if tree.task == "classification":
        assert same_bits(predictor.predict_proba(X), model.predict_proba(X))
        assert [predictor.predict_proba_one(row) for row in exports.cells(X)] == model.predict_proba(X).tolist()


def test_known_categories_take_their_own_of_three_branches_and_not_that_of_missing_values():
    branches = [leaf([4.0, 0.0]), leaf([0.0, 3.0]), leaf([2.0, 0.0])]
    root = split(branches, feature=2, kind=NOMINAL, table=[(1, 0), (2, 1), (3, 2)], value=[6.0, 3.0], missing=0)
    predictor = exports.model_of(flat(root, "classification")).to_predictor()
    X = pd.DataFrame({"age": 1.0, "size": "small", "city": ["Aachen", "Bonn", "Köln", None], "member": True})
    assert predictor.predict(X).tolist() == ["yes", "no", "yes", "yes"]
    assert [predictor.predict_one(row) for row in exports.cells(X)] == ["yes", "no", "yes", "yes"]


def test_a_table_of_many_categories_becomes_a_list():
    shops = [f"s{i % 7 * 700}" for i in range(70)]
    X = pd.DataFrame({"shop": pd.Categorical(shops, categories=[f"s{i}" for i in range(5000)])})
    y = [i % 7 in (1, 4) for i in range(70)]
    model = CARTClassifier().fit(X, y)
    predictor = model.to_predictor()
    assert 0 < parts_of(predictor._image)["list_codes"][1] + parts_of(predictor._image)["tables"][1] < 200
    for same in (predictor, pickle.loads(pickle.dumps(predictor))):
        assert [same.predict_one([shop]) for shop in X["shop"]] == y
        assert same_bits(same.predict_proba(X), model.predict_proba(X))


# Cells

MODELS_OF_A_COLUMN = {
    "numbers": CARTClassifier().fit([[1.5], [2.0], [None], [-0.0]], list("abca")),
    "texts": CARTClassifier().fit([["a"], ["b"], [None], ["1"]], list("abca")),
    "integers": CARTClassifier(categorical_features=[0]).fit([[1], [2], [None], [0]], list("abca")),
    "floats": CARTClassifier(categorical_features=[0]).fit([[1.5], [0.1], [None], [0.0]], list("abca")),
    "truth values": CARTClassifier(missing="branch").fit([[True], [False], [None], [True]], list("abca")),
    "order": CARTClassifier(ordinal_features={0: [1, 2.5, 3]}).fit([[1], [2.5], [None], [3]], list("abca")),
    "refuses unseen": CARTClassifier(unseen="error").fit([["a"], ["b"], [None], ["1"]], list("abca")),
    "refuses missing": CARTClassifier(missing="error").fit([[1.5], [2.0], [3.0]], list("abc")),
    "refuses missing categories": CARTClassifier(missing="error").fit([["a"], ["b"], ["1"]], list("abc")),
}

CELLS = [
    None, float("nan"), np.nan, np.float32("nan"), pd.NA, pd.NaT, decimal.Decimal("nan"), 0, 0.0, -0.0, 1, 1.0, True, False, 2,
    2.5, 3, 0.1, np.float32(0.1), np.float32(1.5), np.float16(2.5), np.int8(1), np.uint64(2**63), np.bool_(True), 2**70,
    2**53 + 1, 10**400, -(10**400), np.longdouble(1.5), decimal.Decimal("0.1"), decimal.Decimal("1.5"), fractions.Fraction(3, 2),
    float("inf"), -np.inf, np.float32("inf"), "a", "b", "1", "", "z", np.str_("a"), "1.5", 1j, np.complex64(1), b"a",
    datetime.date(2020, 1, 1), np.datetime64("2020-01-01"), np.datetime64("NaT"), object(), (),
]  # fmt: skip


def outcome(call):
    try:
        return call()
    except (ValueError, TypeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", MODELS_OF_A_COLUMN)
def test_a_cell_of_any_type_means_what_it_means_in_a_table(name):
    model = MODELS_OF_A_COLUMN[name]
    predictor = model.to_predictor()
    for cell in CELLS:
        table = np.empty((1, 1), dtype=object)
        table[0, 0] = cell
        wanted, got = outcome(lambda: model.predict(table)[0]), outcome(lambda: predictor.predict_one([cell]))  # noqa: B023
        if isinstance(wanted, tuple) and "refuses" in wanted[1]:  # the model names its parameter
            wanted = ValueError, "column 'x0' has missing values (NaN or None; first: row 0), which this model refuses"
        if isinstance(wanted, tuple):
            assert (got[0], got[1][: len(wanted[1])]) == wanted, cell
        else:
            assert got == wanted, cell


def test_text_that_is_a_subclass_is_its_text():
    class Colour(str):
        def __hash__(self):
            return 7

    assert MODELS_OF_A_COLUMN["texts"].to_predictor().predict_one([Colour("b")]) == "b"


def test_only_tested_cells_are_looked_at():
    X = [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]
    predictor = CARTClassifier().fit(X, list("aabb")).to_predictor()
    assert predictor.predict_one([2.5, object()]) == "b"
    assert predictor.predict_one({"x0": 0.5}) == "a"


# Rows

FRUIT = pd.DataFrame({"colour": ["red", "red", "blue", None], "weight": [3.0, 1.0, 2.0, np.nan]})
RIPE = ["ripe", "unripe", "unripe", "unripe"]


@pytest.fixture(scope="module")
def fruit():
    return CARTClassifier(min_samples_leaf=1).fit(FRUIT, RIPE).to_predictor()


def test_anything_with_names_is_a_row(fruit):
    assert fruit.predict_one({"weight": 2.8, "colour": "red", "price": 1}) == "ripe"
    assert fruit.predict_one(pd.Series({"colour": "red", "weight": 2.8})) == "ripe"
    with sqlite3.connect(":memory:") as connection:
        connection.row_factory = sqlite3.Row
        row = connection.execute("select 2.8 as weight, 'red' as colour").fetchone()
    connection.close()
    assert fruit.predict_one(row) == "ripe"


def test_masked_and_other_arrays_are_rows():
    model = CARTClassifier(missing="branch").fit([[1.0], [2.0], [np.nan]], list("abc"))
    predictor = model.to_predictor()
    assert predictor.predict_one(np.ma.array([1.0], mask=[True])) == "c"
    assert predictor.predict_one(np.array([2], dtype=np.int16)) == "b"
    assert predictor.predict_one(np.array([2.0], dtype=">f8")) == "b"
    assert predictor.predict_one(np.array([2.0], dtype=np.float16)) == "b"


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        ([2.0], ValueError, "has 1 values; this model has 2 features"),
        (np.array([1.0, 2.0, 3.0]), ValueError, "has 3 values"),
        ({"colour": "red"}, ValueError, "no value for 'weight'"),
        ({}, ValueError, "no value for 'weight'"),
        ("ab", TypeError, "of type str"),
        (b"ab", TypeError, "of type bytes"),
        (3.5, TypeError, "of type float"),
        (None, TypeError, "of type NoneType"),
        ({"a", "b"}, TypeError, "of type set"),
        (np.zeros((1, 2)), ValueError, "use predict for tables"),
        (np.float64(2.0), ValueError, "use predict for tables"),
        (FRUIT, ValueError, "use predict for tables"),
        (["red", "heavy"], TypeError, "'weight' was numeric in fit and now holds 'heavy'"),
        (["red", np.inf], ValueError, "'weight' has infinite values"),
    ],
)
def test_what_is_no_row_is_refused(fruit, row, error, words):
    with pytest.raises(error, match=words):
        fruit.predict_one(row)
    with pytest.raises(error, match=words):
        fruit.predict_proba_one(row)


def test_an_error_of_the_row_itself_comes_through(fruit):
    class Row(dict):
        def __missing__(self, name):
            raise RuntimeError("no connection")

    with pytest.raises(RuntimeError, match="no connection"):
        fruit.predict_one(Row())


def test_a_mapping_may_say_what_absent_names_are():
    class Row(dict):
        def __missing__(self, name):
            return None

    model = CARTClassifier(missing="branch").fit([[1.0], [2.0], [np.nan]], list("abc"))
    assert model.to_predictor().predict_one(Row()) == "c"


def test_regression_has_no_probabilities():
    model = CARTRegressor().fit([[1.0], [2.0]], [0.5, -0.0])
    assert str(model.to_predictor().predict_one([2])) == "0.0"
    model.tree_ = model.tree_.replace(value=np.array([[0.25], [0.5], [-0.0]]))  # as files of earlier versions may hold it
    predictor = model.to_predictor()
    assert str(predictor.predict_one([2])) == "-0.0"
    for call in (predictor.predict_proba, predictor.predict_proba_one):
        with pytest.raises(AttributeError, match="no probabilities"):
            call([[1.0]])
    with pytest.raises(AttributeError, match="no classes"):
        predictor.classes_  # noqa: B018


# Tables


@pytest.mark.parametrize("to_table", [pd.DataFrame.copy, lambda X: __import__("polars").from_pandas(X), lambda X: X.to_numpy()])
def test_tables_of_every_library_are_read_as_by_the_model(to_table):
    model = exports.models()["C4.5"]
    with np.errstate(invalid="ignore"):  # pandas before 3.1 casts infinite numbers to integers
        X = to_table(exports.inputs(model, 500).astype({"rooms": float, "member": "boolean"}).convert_dtypes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an array has no names, and both say so
        assert same_bits(model.to_predictor().predict(X), model.predict(X))


def test_an_array_for_a_model_with_names_is_warned_of_as_by_the_model():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 1.0]})
    model = CARTClassifier().fit(X, ["p", "q"])
    for predict in (model.predict, model.to_predictor().predict):
        with pytest.warns(UserWarning, match="fitted with feature names"):
            assert predict(X.to_numpy()).tolist() == ["p", "q"]


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([[np.inf]], "infinite"),
        (np.array([[np.inf]]), "infinite"),
        (np.zeros((0, 1)), "0 sample"),
        (np.zeros((2, 3)), "3 features"),
        ([[np.nan]], "missing values"),
        (np.array([[1.0], [np.nan]]), "first: row 1"),
    ],
)
def test_bad_tables_are_refused(X, words):
    predictor = CARTClassifier(missing="error").fit([[1.0], [2.0]], [0, 1]).to_predictor()
    with pytest.raises(ValueError, match=words):
        predictor.predict(X)


# The predictor as a thing


def test_it_knows_what_the_model_knows(fruit):
    model = CARTClassifier().fit(FRUIT, RIPE)
    assert fruit.classes_.tolist() == model.classes_.tolist()
    assert fruit.feature_names_in_.tolist() == ["colour", "weight"]
    assert (fruit.n_features_in_, fruit.node_count, fruit.task, fruit.algorithm) == (2, 3, "classification", "cart")
    assert repr(fruit) == f"<Predictor: classification, 2 features, 3 nodes, {fruit.nbytes:,} bytes>"
    with pytest.raises(AttributeError, match="without feature names"):
        CARTClassifier().fit([[1.0], [2.0]], [0, 1]).to_predictor().feature_names_in_  # noqa: B018


@pytest.mark.parametrize("name", NAMES)
def test_classes_are_those_of_the_model(cases, name):
    model, predictor, *_ = cases[name]
    if hasattr(model, "classes_"):
        several = isinstance(model.classes_, list)
        ours, theirs = (each.classes_ if several else [each.classes_] for each in (predictor, model))
        assert [(a.dtype.kind, a.tolist()) for a in ours] == [(a.dtype.kind, a.tolist()) for a in theirs]


@pytest.mark.parametrize("parameters", [{}, {"missing": "error"}])
def test_a_node_takes_16_bytes_and_a_leaf_its_prediction(parameters):
    random = np.random.default_rng(0)
    model = CARTRegressor(**parameters).fit(random.random((5000, 3)), random.random(5000))
    predictor = model.to_predictor()
    assert predictor.nbytes <= 16 * model.tree_.node_count + 8 * model.tree_.n_leaves + 1000


def test_it_never_changes(fruit):
    with pytest.raises(AttributeError):
        fruit.classes_ = []
    with pytest.raises(AttributeError):
        fruit.note = 1
    with pytest.raises(ValueError, match="read-only"):
        fruit._image[0] = 1


def test_what_it_was_made_from_may_change():
    data = bytearray(CARTClassifier().fit([[1.0], [2.0]], list("ab")).to_predictor().to_bytes())
    predictor = Predictor(data)
    data[:] = bytes(len(data))
    assert predictor.predict_one([1.0]) == "a"


def test_a_view_that_cannot_be_written_may_still_change():
    model = exports.models()["regression"]
    X = exports.inputs(model, 20)
    image = np.frombuffer(model.to_predictor().to_bytes(), np.uint8).copy()
    view = image[:]
    view.flags.writeable = False
    predictor = Predictor(view)
    image[:] = 255
    assert same_bits(predictor.predict(X), model.predict(X))
    with mmap.mmap(-1, image.size) as shared:
        shared[:] = model.to_predictor().to_bytes()
        predictor = Predictor(shared)
        shared[:] = image.tobytes()
        assert same_bits(predictor.predict(X), model.predict(X))


@pytest.mark.parametrize("name", ["all kinds", "soft thresholds", "surrogates that stop", "two targets", "a number"])
def test_copies_are_the_same(cases, name, tmp_path):
    _, predictor, X, answers, _ = cases[name]
    predictor.save(tmp_path / "model.bin")
    copies = [pickle.loads(pickle.dumps(predictor, protocol)) for protocol in (2, 5)]
    copies += [
        copy.copy(predictor),
        copy.deepcopy(predictor),
        Predictor(predictor.to_bytes()),
        Predictor.open(tmp_path / "model.bin"),
    ]
    for each in copies:
        assert each.to_bytes() == predictor.to_bytes()
        assert same_bits(each.predict(X[:500]), answers[:500])
        assert each.predict_one(exports.cells(X[:1])[0]) == answers[:1].tolist()[0]


def test_threads_get_the_same_answers(cases):
    _, predictor, X, answers, _ = cases["C4.5"]
    rows, wanted = exports.cells(X[:2000]), answers[:2000].tolist()
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: [predictor.predict_one(row) for row in rows], range(8)):
            assert found == wanted


# Files


def test_a_file_is_mapped_and_may_be_replaced(tmp_path):
    path = tmp_path / "model.bin"
    first, second = (CARTClassifier().fit([[1.0], [2.0]], labels).to_predictor() for labels in (list("ab"), list("ba")))
    first.save(path)
    served = Predictor.open(path)
    assert type(served._image.base).__name__ in ("mmap", "memoryview")
    if os.name != "nt":  # Windows does not let a mapped file be replaced
        second.save(path)
        assert served.predict_one([1.0]) == "a"
        assert Predictor.open(path).predict_one([1.0]) == "b"


def test_a_file_that_is_none_is_named(tmp_path):
    path = tmp_path / "model.json"
    for content in (b"", b"{}", b"{" * 500):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"model\.json: not a "):
            Predictor.open(path)
    with pytest.raises(FileNotFoundError):
        Predictor.open(tmp_path / "absent")


SMALL = exports.models()["surrogates that stop"].to_predictor().to_bytes()


def test_every_truncation_is_refused():
    for length in [*range(400), *range(400, len(SMALL), 61)]:
        with pytest.raises(ValueError, match="not a sound predictor"):
            Predictor(SMALL[:length])
    with pytest.raises(ValueError, match="truncated or was altered"):
        Predictor(SMALL + bytes(64))


def test_every_altered_byte_is_noticed():
    for place in random.Random(1).sample(range(len(SMALL)), 1500):
        data = bytearray(SMALL)
        data[place] ^= 1 << place % 8
        with pytest.raises(ValueError, match="not a sound predictor"):
            Predictor(data)


def test_another_version_asks_for_a_new_file():
    data = bytearray(SMALL)
    struct.pack_into("<I", data, 8, 99)
    with pytest.raises(ValueError, match="version 99"):
        Predictor(data)


def sealed(data: bytearray) -> bytes:
    """With a checksum that is right: a file of somebody who knows the format."""
    struct.pack_into("<I", data, 12, zlib.crc32(data[16:]))
    return bytes(data)


HOSTILE = [
    exports.models()[name].to_predictor() for name in ("all kinds", "surrogates that stop", "soft thresholds", "two targets")
]
HOSTILE.append(TreeClassifier(recipe=exports.INTERVALS, max_depth=2, **exports.KINDS).fit(*exports.table()[:2]).to_predictor())
ROWS = exports.cells(exports.inputs(exports.models()["all kinds"], 40))
EXTREME = [0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63, 2**64 - 1]


@settings(max_examples=500)
@given(
    which=st.integers(0, len(HOSTILE) - 1),
    changes=st.lists(
        st.tuples(
            st.floats(0, 1, exclude_max=True),
            st.sampled_from(["<B", "<H", "<I", "<Q"]),
            st.one_of(st.integers(0, 40), st.sampled_from(EXTREME), st.integers(0, 2**64 - 1)),
        ),
        min_size=1,
        max_size=3,
    ),
    in_parts=st.booleans(),
)  # fmt: skip
def test_hostile_files_are_refused_or_harmless(which, changes, in_parts):
    data = bytearray(HOSTILE[which].to_bytes())
    parts = parts_of(np.frombuffer(data, np.uint8))
    start = parts["nodes"][0] if in_parts else 16
    for where, form, number in changes:
        size = struct.calcsize(form)
        place = start + int(where * (len(data) - start - size))
        if form in ("<I", "<Q"):
            place = place // size * size
        struct.pack_into(form, data, max(place, 16), number % 2 ** (8 * size))
    predictor = outcome(lambda: Predictor(sealed(data)))
    if isinstance(predictor, tuple):
        assert predictor[0] is ValueError
        assert "not a sound predictor" in predictor[1]
        return
    for row in ROWS:  # names, categories and what is refused may be others now, so an error is no fault
        assert outcome(lambda: predictor.predict_proba_one(row)) is not None  # noqa: B023


def test_a_branch_that_a_node_does_not_have_is_refused():
    X = pd.DataFrame({"colour": list("abcdef") * 4})
    data = bytearray(CARTClassifier().fit(X, [0, 1, 1, 0, 1, 0] * 4).to_predictor().to_bytes())
    start, size = parts_of(np.frombuffer(data, np.uint8))["tables"]
    assert set(data[start : start + size]) == {0, 1}
    data[start] = 2
    with pytest.raises(ValueError, match="not a sound predictor"):
        Predictor(sealed(data))


def with_lists() -> bytes:
    """An image with lists of categories, which are few of many."""
    shops = [f"s{i % 7 * 700}" for i in range(70)]
    X = pd.DataFrame({"shop": pd.Categorical(shops, categories=[f"s{i}" for i in range(5000)]), "again": np.arange(70.0)})
    return CARTClassifier().fit(X, [i % 7 in (1, 4) and i > 30 for i in range(70)]).to_predictor().to_bytes()


def words_of(image: bytes) -> list[int]:
    """Places of the first words of each part whose structure is verified, and of its last one."""
    parts = parts_of(np.frombuffer(image, np.uint8))
    most = {"nodes": 160, "extras": 192, "surrogates": 96, "weights": 8, "cuts": 16, "list_codes": 64, "list_branches": 64}
    spans = [(*parts[name], n) for name, n in most.items() if parts[name][1]]
    return sorted({at for start, size, n in spans for at in [*range(start, start + min(size, n), 4), start + size - 4]})


@pytest.mark.parametrize("which", range(len(HOSTILE) + 1))
def test_each_word_that_is_another_is_refused_or_harmless(which):
    image = HOSTILE[which].to_bytes() if which < len(HOSTILE) else with_lists()
    refused = tried = 0
    for at in words_of(image):
        word = struct.unpack_from("<I", image, at)[0]
        others = {0, 1, 2, word + 1, word - 1, 2**32 - 1, 0x7FF80000, *(word ^ (1 << bit) for bit in (24, 25, 28, 31))}
        for other in others - {word}:
            data = bytearray(image)
            struct.pack_into("<I", data, at, other % 2**32)
            predictor = outcome(lambda: Predictor(sealed(data)))  # noqa: B023
            tried += 1
            if isinstance(predictor, tuple):
                assert predictor[0] is ValueError
                assert "not a sound predictor" in predictor[1]
                refused += 1
            else:
                assert outcome(lambda: predictor.predict_proba_one(ROWS[0])) is not None  # noqa: B023
    assert refused > 0.5 * tried


def test_lists_of_categories_that_do_not_ascend_are_refused():
    data = bytearray(with_lists())
    assert Predictor(sealed(data)).to_bytes() == data
    start, _ = parts_of(np.frombuffer(data, np.uint8))["list_codes"]
    first, second = struct.unpack_from("<II", data, start)
    assert first < second
    for codes in ((second, first), (first, first)):
        struct.pack_into("<II", data, start, *codes)
        with pytest.raises(ValueError, match="not a sound predictor"):
            Predictor(sealed(data))


@pytest.mark.parametrize("bound", [8, 16])
def test_bounds_of_a_threshold_at_another_test_are_refused(bound):
    data = bytearray(SMALL)
    start, size = parts_of(np.frombuffer(data, np.uint8))["extras"]
    record = next(at for at in range(start, start + size, 48) if struct.unpack_from("<dd", data, at + 8) == (0, 0))
    struct.pack_into("<d", data, record + bound, 0.5)
    with pytest.raises(ValueError, match="not a sound predictor"):
        Predictor(sealed(data))


def with_text(change) -> bytes:
    """A file whose text is another; the parts behind it move."""
    image = np.frombuffer(SMALL, np.uint8)
    arrays = {name: image[start : start + size] for name, (start, size) in parts_of(image).items()}
    about = json.loads(bytes(arrays["about"]))
    text = change(about)
    text = json.dumps(about) if text is None else text
    return image_of(arrays | {"about": np.frombuffer(text.encode(), np.uint8)}).tobytes()


@pytest.mark.parametrize(
    "change",
    [
        lambda about: "{",
        lambda about: "[]",
        lambda about: "[" * 200_000,
        lambda about: "9" * 5000,
        lambda about: '{"a": 1, "a": 1}',
        lambda about: json.dumps(about).replace('"loss": null', '"loss": NaN'),
        lambda about: about.update(features=[]),
        lambda about: about.update(features=about["features"] * 2),
        lambda about: about.update(n_outputs=2**31),
        lambda about: about.update(n_outputs=True),
        lambda about: about.update(classes=[]),
        lambda about: about.update(classes=None),
        lambda about: about.update(loss=[[1.0]]),
        lambda about: about.update(loss=[[float(10**308), 1, 2]] * 2),
        lambda about: about.update(refuses_missing=1),
        lambda about: about.update(algorithm=None),
        lambda about: about.update(note=1),
        lambda about: about.pop("loss"),
        lambda about: about["features"][0].update(kind="nominal"),
        lambda about: about["features"][0].update(name=3),
        lambda about: about["features"][0].update(kind=[]),
        lambda about: about["features"][0].update(categories=["a"]),
        lambda about: about["features"][3].update(categories=["a", 1]),
        lambda about: about["features"][3].update(categories=["a", "a"]),
        lambda about: about["features"][3].update(categories=[[]]),
        lambda about: json.dumps(about).replace('"it\'s"', "1e999", 1),
        lambda about: about["features"][3].update(kind="continuous", categories=None),
        lambda about: about["classes"][0].update(labels=["a"]),
        lambda about: about["classes"][0].update(labels=["a", "b", 3]),
        lambda about: about["classes"][0].update(dtype="U1000000000"),
        lambda about: about["classes"][0].update(dtype="int8", labels=[1, 2, 300]),
        lambda about: about["classes"][0].update(dtype={}),
        lambda about: about["classes"][0].update(labels=["a" * 10**6, *map(str, range(5000))]),
        lambda about: about["features"][3].update(categories=[i * (2**61 - 1) for i in range(1, 100)]),
    ],
)
def test_text_that_does_not_fit_is_refused(change):
    with pytest.raises(ValueError, match="not a sound predictor"):
        Predictor(with_text(change))


def test_the_same_text_is_read_again():
    assert Predictor(with_text(lambda about: None)).to_bytes() == SMALL


def test_categories_that_no_text_holds_are_refused():
    X = pd.DataFrame({"x": pd.Categorical([1.0, 2.0], categories=[1.0, 2.0, np.inf])})
    with pytest.raises(ValueError, match="the categories of 'x' must be texts, finite numbers or booleans"):
        CARTClassifier().fit(X, [0, 1]).to_predictor()


# What is loaded when


def test_a_server_needs_neither_scikit_learn_nor_a_library_of_tables(tmp_path):
    path = tmp_path / "model.bin"
    CARTClassifier().fit(FRUIT, RIPE).to_predictor().save(path)
    numbers = tmp_path / "numbers.bin"
    CARTClassifier().fit([[1.0], [2.0]], ["a", "b"]).to_predictor().save(numbers)
    program = (
        "import sys; from fasttree import Predictor; import decimal, numpy\n"
        f"served = Predictor.open({str(path)!r})\n"
        "print(served.predict_one({'colour': 'red', 'weight': decimal.Decimal('2.8')}), end=' ')\n"
        "print(served.predict_one(['red', numpy.int64(1)]))\n"
        f"print(Predictor.open({str(numbers)!r}).predict(numpy.array([[1.0], [2.0]])))\n"
        "print([name for name in ('sklearn', 'scipy', 'joblib', 'narwhals', 'pandas', 'polars') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout.split("\n")[:3], done.stderr) == (["ripe unripe", "['a' 'b']", "[]"], "")


def test_all_names_of_the_package_are_there():
    everything: dict = {}
    exec("from fasttree import *", everything)
    assert set(fasttree.__all__) <= everything.keys()
    public = {name for name in dir(fasttree) if not name.startswith("__")}
    assert public == {name for name in fasttree.__all__ if not name.startswith("__")} | {"plot_tree"}
    assert "plot_tree" not in everything  # it would hide scikit-learn's
    assert callable(fasttree.plot_tree)
    assert fasttree.estimators.persistence.load is fasttree.load
    with pytest.raises(AttributeError, match="has no attribute 'CARTClasifier'"):
        fasttree.CARTClasifier  # noqa: B018
