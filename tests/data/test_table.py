"""Tables of every library become the same columns and codes; every bad table gets one clear error."""

from __future__ import annotations

import copy
import datetime
import decimal
import fractions
import math
import re
from itertools import pairwise

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from fasttree import CARTClassifier, CARTRegressor
from fasttree._data import errors
from fasttree._data.cells import Numbers
from fasttree._data.encode import encode_table
from fasttree._data.frames import _TO_VALUES, lazy_table
from fasttree._data.learn import learn_table
from fasttree._data.schema import Feature, Kind, Schema
from fasttree._data.targets import encode_classes, encode_values
from fasttree._model import walks

NAN = math.nan


def feature_of(values, **options):
    """The feature learned from a table of one column."""
    (feature,) = learn_table(pd.DataFrame({"a": values}), **options).schema.features
    return feature


def assert_same_table(table, expected):
    assert table.schema.features == expected.schema.features
    assert [type(c) for f in table.schema.features for c in f.categories or ()] == [
        type(c) for f in expected.schema.features for c in f.categories or ()
    ]
    for j in range(expected.n_features):
        column, expected_column = table.column(j), expected.column(j)
        assert column.dtype == expected_column.dtype
        np.testing.assert_array_equal(column, expected_column)
    np.testing.assert_array_equal(table.block(0, table.n_samples), expected.block(0, expected.n_samples))


# The same rows in every form

FLOATS = st.floats(allow_infinity=False, width=64)
CELLS = {
    "float": st.one_of(st.none(), FLOATS),
    "int": st.one_of(st.none(), st.integers(-(2**53), 2**53), st.integers(-3, 3)),
    "bool": st.one_of(st.none(), st.booleans()),
    "text": st.one_of(st.none(), st.text("abcé\x01 ", max_size=3)),
}
PRESENT = {"float": st.just(0.5), "int": st.integers(-9, 9), "bool": st.booleans(), "text": st.just("b")}


@st.composite
def typed_columns(draw):
    """Columns of Python values by type, None = missing; a first row without missing cells says what the type is."""
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4))
    n_samples = draw(st.integers(0, 8))
    return [(kind, [draw(PRESENT[kind]), *draw(st.lists(CELLS[kind], min_size=n_samples, max_size=n_samples))]) for kind in kinds]


PANDAS = {"float": "float64", "int": "Int64", "bool": "boolean", "text": "str"}
PANDAS_OLD = {"float": "Float64", "int": object, "bool": object, "text": object}
PANDAS_ARROW = {
    "float": pd.ArrowDtype(pa.float64()),
    "int": pd.ArrowDtype(pa.int64()),
    "bool": pd.ArrowDtype(pa.bool_()),
    "text": pd.ArrowDtype(pa.string()),
}
POLARS = {"float": pl.Float64, "int": pl.Int64, "bool": pl.Boolean, "text": pl.String}
ARROW = {"float": pa.float64(), "int": pa.int64(), "bool": pa.bool_(), "text": pa.string()}


def in_every_form(columns):
    """The same rows as pandas, polars, Arrow, NumPy and lists."""
    named = {f"x{j}": column for j, column in enumerate(columns)}
    for dtypes in (PANDAS, PANDAS_OLD, PANDAS_ARROW):
        yield pd.DataFrame({name: pd.Series(values, dtype=dtypes[kind]) for name, (kind, values) in named.items()})
    yield pl.DataFrame({name: pl.Series(values, dtype=POLARS[kind]) for name, (kind, values) in named.items()})
    arrow = pa.table({name: pa.array(values, ARROW[kind]) for name, (kind, values) in named.items()})
    yield arrow
    yield pa.concat_tables([arrow.slice(0, 1), arrow.slice(1)])  # two chunks
    rows = [list(row) for row in zip(*(values for _, values in columns), strict=True)]
    yield rows
    yield [tuple(row) for row in rows]
    yield np.array(rows, dtype=object)
    yield np.array(rows, dtype=object, order="F")
    yield np.array([[NAN if cell is None else cell for cell in row] for row in rows], dtype=object)
    yield np.array([[pd.NA if cell is None else cell for cell in row] for row in rows], dtype=object)


@given(typed_columns(), st.sampled_from(["continuous", "nominal"]))
@settings(max_examples=60, deadline=None)
def test_the_same_rows_give_the_same_table_in_every_form(columns, integers):
    expected, *others = [learn_table(form, integers=integers) for form in in_every_form(columns)]
    for table in others:
        assert_same_table(table, expected)


@given(typed_columns())
@settings(max_examples=40, deadline=None)
def test_every_form_is_encoded_the_same_way_at_prediction(columns):
    forms = list(in_every_form(columns))
    learned = learn_table(forms[0])
    schema = Schema(learned.schema.features, has_names=False)
    for form in forms:
        has_names = not isinstance(form, (list, np.ndarray))
        assert_same_table(encode_table(form, Schema(schema.features, has_names)), learned)


@given(typed_columns(), st.data())
@settings(max_examples=30, deadline=None)
def test_blocks_are_the_rows_of_the_whole_block(columns, data):
    n_samples = len(columns[0][1])
    start = data.draw(st.integers(0, n_samples - 1))
    stop = data.draw(st.integers(start + 1, n_samples))
    for form in in_every_form(columns):
        table = learn_table(form)
        whole = encode_table(form, table.schema).block(0, n_samples)
        np.testing.assert_array_equal(encode_table(form, table.schema).block(start, stop), whole[start:stop])
        np.testing.assert_array_equal(table.block(start, stop), whole[start:stop])


@given(typed_columns())
@settings(max_examples=30, deadline=None)
def test_the_input_is_never_modified(columns):
    for form in in_every_form(columns):
        before = copy.deepcopy(form)
        table = learn_table(form)
        encode_table(form, table.schema).block(0, table.n_samples)
        for j in range(table.n_features):
            table.column(j)
        if isinstance(form, pd.DataFrame):
            pd.testing.assert_frame_equal(form, before)
        elif isinstance(form, np.ndarray):
            assert all(new is old or new == old or new != new for new, old in zip(form.flat, before.flat, strict=True))
        elif isinstance(form, pa.Table):
            assert pl.from_arrow(form).equals(pl.from_arrow(before))
        else:
            assert form == before if isinstance(form, list) else form.equals(before)


DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">f4", ">f8", ">i4", "g"]


@pytest.mark.parametrize("order", ["C", "F", "strided", "read-only"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_numeric_type_and_memory_order_keep_their_values(dtype, order):
    values = np.array([[0, 1, 3], [1, 1, 2], [1, 0, 0], [0, 0, 100]])
    X = values.astype(dtype, order="F" if order == "F" else "C")
    expected = X.astype(np.float64)
    if order == "strided":
        X = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    if order == "read-only":
        X.flags.writeable = False
    table = learn_table(X)
    np.testing.assert_array_equal(table.block(0, 4), expected + 1 if dtype == "?" else expected)
    for j in range(3):
        column = table.column(j)
        if dtype == "?":
            assert column.dtype == np.uint8
        else:
            assert column.dtype == (np.float64 if dtype in ("f8", ">f8", "g") else np.float32)
            np.testing.assert_array_equal(column, expected[:, j])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_plain_float_array_is_used_without_a_copy(dtype, order):
    X = np.asarray(np.arange(12).reshape(4, 3), dtype=dtype, order=order)
    X[1, 1] = np.nan
    learned = learn_table(X)
    for table in (learned, encode_table(X, learned.schema)):
        assert table.matrix is X
        assert np.shares_memory(table.column(1), X)
        assert np.shares_memory(table.block(1, 3), X)
        np.testing.assert_array_equal(table.block(1, 3), X[1:3])


def test_sums_that_overflow_are_not_taken_for_infinite_values():
    X = np.full((3, 2), np.finfo(np.float64).max)
    assert learn_table(X).matrix is X
    assert learn_table(pd.DataFrame(X)).column(1)[0] == X[0, 0]


def test_only_a_plain_table_has_a_matrix():
    X = np.zeros((3, 2))
    assert learn_table(X, categorical_features=[0]).matrix is None
    assert learn_table(X.astype(int)).matrix is None
    assert learn_table(pd.DataFrame({"a": X[:, 0], "b": [1, 2, 3]})).matrix is None
    assert learn_table(pl.DataFrame(X)).matrix is None
    assert learn_table(np.ma.array(X, mask=False)).matrix is None
    nominal = learn_table(X, categorical_features=[0]).schema
    assert encode_table(X, nominal).matrix is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_frame_of_one_type_of_floats_is_used_as_the_matrix_that_it_is(dtype, order):
    X = np.asarray(np.arange(12).reshape(4, 3), dtype=dtype, order=order)
    X[1, 1] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    learned = learn_table(frame)
    for table in (learned, encode_table(frame, learned.schema)):
        assert table.matrix is not None
        assert np.shares_memory(table.matrix, frame["b"].to_numpy())
        np.testing.assert_array_equal(table.block(0, 4), X)
    assert learned.schema == learn_table(pl.DataFrame(X, schema=["a", "b", "c"])).schema


def test_a_frame_that_keeps_its_columns_apart_is_read_by_columns():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    frame["c"] = [5.0, np.nan]
    table = learn_table(frame)
    assert table.matrix is None
    np.testing.assert_array_equal(table.block(0, 2), frame.to_numpy())
    mixed = learn_table(frame.astype({"a": np.float32}))
    assert (mixed.matrix, mixed.column(0).dtype, mixed.column(1).dtype) == (None, np.float32, np.float64)
    with pytest.raises(ValueError, match=r"'c' has infinite values in 1 row.*first: row 1"):
        learn_table(frame.fillna(np.inf))


@pytest.mark.parametrize("library", [pd, pl])
def test_infinity_in_a_frame_of_floats_is_named_by_its_column(library):
    X = np.zeros((4, 3))
    X[2, 1] = -np.inf
    names = {"columns": list("abc")} if library is pd else {"schema": list("abc")}
    with pytest.raises(ValueError, match=r"'b' has infinite values in 1 row.*first: row 2"):
        learn_table(library.DataFrame(X, **names))
    schema = learn_table(library.DataFrame(np.zeros((4, 3)), **names)).schema
    with pytest.raises(ValueError, match=r"'b' has infinite values in 1 row.*first: row 2"):
        encode_table(library.DataFrame(X, **names), schema).block(0, 4)


@pytest.mark.parametrize(
    "make", [lambda text: pd.DataFrame({"a": pd.arrays.ArrowStringArray(text)}), lambda text: pa.table({"a": text})]
)
def test_text_that_is_no_text_is_named_by_its_column(make):
    text = pa.LargeStringArray.from_buffers(3, pa.py_buffer(np.arange(4).tobytes()), pa.py_buffer(b"a\xffb"))
    with pytest.raises(ValueError, match=r"column 'a' has damaged values .*can't decode byte 0xff.*: write the table"):
        learn_table(make(text))


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_strings_of_pandas_have_the_same_codes_however_they_are_kept(missing, parts):
    rng = np.random.default_rng(0)
    words = np.where(rng.random(300) < missing, None, rng.choice(["", "b", "a", "çé", "b "], 300).astype(object))
    expected = learn_table(pd.DataFrame({"x0": words.astype(object)}))
    for dtype in ("string[python]", "string[pyarrow]", "str", pd.ArrowDtype(pa.string())):
        series = pd.concat([pd.Series(part, dtype=dtype) for part in np.array_split(words, parts)])
        assert_same_table(learn_table(series.to_frame("x0")), expected)
        assert_same_table(learn_table(series[::-1].to_frame("x0")[::-1]), expected)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("is_leaf", [False, True])
@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame])
def test_infinity_that_a_walk_meets_is_named_as_where_a_block_is_read(make, is_leaf, n_jobs, monkeypatch):
    rng = np.random.default_rng(0)
    columns = {"word": rng.choice(["u", "v"], 500), "a": rng.normal(size=500), "b": rng.normal(size=500).astype(np.float32)}
    y = np.full(500, True) if is_leaf else columns["a"] > 0
    model = CARTClassifier(n_jobs=n_jobs).fit(make(columns), y)
    monkeypatch.setattr(walks, "ROWS_AT_ONCE", 20)
    monkeypatch.setattr(walks, "CELLS_AT_ONCE", 300)  # 100 rows
    assert (model.predict(make(columns)) == y).all()
    columns["a"][330], columns["b"][[310, 390, 450]] = -np.inf, np.inf
    for cells, message in ({}, "'a'.* in 1 row .first: row 330"), ({"a": np.zeros(500)}, "'b'.* in 2 rows .first: row 310"):
        table = make(columns | cells)
        for predict in (model.predict, model.predict_proba, model.apply, encode_table(table, model.schema_).block):
            with pytest.raises(ValueError, match=message):
                predict(*((table,) if predict.__name__ != "block" else (300, 400)))


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, lambda columns: pd.DataFrame(columns).copy()])
def test_columns_of_singles_make_blocks_of_singles(make):
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=500).astype(np.float32) for name in "abc"}
    columns["b"][::7] = NAN
    X, y = np.column_stack(list(columns.values())), rng.integers(0, 2, 500)
    model = CARTClassifier().fit(make(columns), y)
    table = learn_table(make(columns))
    assert table.block(3, 9).dtype == np.float32
    np.testing.assert_array_equal(table.block(3, 9), X[3:9])
    assert (model.predict(make(columns)) == CARTClassifier().fit(X, y).predict(X)).all()
    assert (model.decision_path(make(columns)) != CARTClassifier().fit(X, y).decision_path(X)).nnz == 0
    with_doubles = learn_table(make(columns | {"d": rng.normal(size=500)}))
    assert with_doubles.block(3, 9).dtype == np.float64


def test_a_float_column_of_a_frame_is_read_without_a_copy():
    values = np.arange(4.0)
    for frame in (pd.DataFrame({"a": values}, copy=False), pl.DataFrame({"a": values}), pa.table({"a": values})):
        column = learn_table(frame).column(0)
        assert not column.flags.owndata


@pytest.mark.parametrize(
    ("largest", "dtype"), [(2**24, np.float32), (-(2**24), np.float32), (2**24 + 1, np.float64), (-(2**24) - 1, np.float64)]
)
def test_integers_are_float32_as_long_as_that_is_exact(largest, dtype):
    column = learn_table(np.array([[largest], [0]])).column(0)
    assert column.dtype == dtype
    assert column[0] == largest


def test_masked_cells_are_missing():
    table = learn_table(np.ma.array([[1.5, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]]))
    np.testing.assert_array_equal(table.block(0, 2), [[1.5, NAN], [3.0, 4.0]])


def test_objects_that_export_an_array_or_an_arrow_stream_are_tables():
    class Array:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1.0], [2.0]])

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"a": ["x", None]}).__arrow_c_stream__()

    assert learn_table(Array()).column(0).tolist() == [1.0, 2.0]
    assert learn_table(Stream()).schema == Schema((Feature("a", Kind.NOMINAL, ("x",)),), has_names=True)
    assert learn_table(pa.record_batch({"a": ["x", None]})).column(0).tolist() == [1, 0]


# Kinds and categories


@pytest.mark.parametrize(
    ("values", "kind", "categories"),
    [
        ([1.5, 2.0], Kind.CONTINUOUS, None),
        ([3, 1], Kind.CONTINUOUS, None),
        ([True, False], Kind.NOMINAL, (False, True)),
        (["b", "a"], Kind.NOMINAL, ("a", "b")),
        (pd.Categorical(["b", "a"], categories=["z", "b", "a"]), Kind.NOMINAL, ("z", "b", "a")),
        (pd.Categorical(["b", "a"], categories=["z", "b", "a"], ordered=True), Kind.ORDINAL, ("z", "b", "a")),
        (pd.Categorical([3, 1], categories=[3, 1]), Kind.NOMINAL, (3, 1)),
        (pd.Series([1, 2.5], dtype=object), Kind.CONTINUOUS, None),
        (pd.Series([1, decimal.Decimal("2.5")], dtype=object), Kind.CONTINUOUS, None),
        (pd.Series([1, fractions.Fraction(1, 2)], dtype=object), Kind.CONTINUOUS, None),
        (pd.Series([True, None], dtype=object), Kind.NOMINAL, (True,)),
        (pd.Series([True, 2], dtype=object), Kind.CONTINUOUS, None),
        (pd.Series(["a", NAN, None, pd.NaT], dtype=object), Kind.NOMINAL, ("a",)),
        (pd.Series([None] * 200 + [1.5], dtype=object), Kind.CONTINUOUS, None),
        (pd.Series([None, None], dtype=object), Kind.CONTINUOUS, None),
        (pd.array([1.0, 0.0], dtype="Sparse[float64]"), Kind.CONTINUOUS, None),
    ],
)
def test_pandas_columns_have_the_kind_of_their_type(values, kind, categories):
    assert feature_of(values) == Feature("a", kind, categories)


@pytest.mark.parametrize(
    ("series", "kind", "categories"),
    [
        (pl.Series(["b", "a"], dtype=pl.Enum(["z", "b", "a"])), Kind.NOMINAL, ("z", "b", "a")),
        (pl.Series(["b", "a", None], dtype=pl.Categorical), Kind.NOMINAL, ("a", "b")),
        (pl.Series([decimal.Decimal("1.5")]), Kind.CONTINUOUS, None),
        (pl.Series([1], dtype=pl.Int128), Kind.CONTINUOUS, None),
        (pl.Series([None, None]), Kind.CONTINUOUS, None),
        (pl.Series([True, None]), Kind.NOMINAL, (True,)),
    ],
)
def test_polars_columns_have_the_kind_of_their_type(series, kind, categories):
    assert learn_table(pl.DataFrame({"a": series})).schema.features == (Feature("a", kind, categories),)


def dictionary(indices, labels, ordered=False):
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(labels), ordered=ordered)


@pytest.mark.parametrize(
    ("array", "kind", "categories", "codes"),
    [
        (dictionary([1, 2, None], ["z", "b", "a"]), Kind.NOMINAL, ("a", "b"), [2, 1, 0]),
        (dictionary([1, 2, None], ["z", "b", "a"], ordered=True), Kind.ORDINAL, ("z", "b", "a"), [2, 3, 0]),
        (dictionary([0, 1, 2], ["b", None, "b"]), Kind.NOMINAL, ("b",), [1, 0, 1]),
        (pa.array(["b", None, "a"], pa.string_view()), Kind.NOMINAL, ("a", "b"), [2, 0, 1]),
        (pa.array(["b", None, "a"], pa.large_string()), Kind.NOMINAL, ("a", "b"), [2, 0, 1]),
        (pa.nulls(2), Kind.CONTINUOUS, None, [NAN, NAN]),
    ],
)
def test_arrow_columns_have_the_kind_of_their_type(array, kind, categories, codes):
    table = learn_table(pa.table({"a": array}))
    assert table.schema.features == (Feature("a", kind, categories),)
    np.testing.assert_array_equal(table.column(0), codes)


def test_chunks_with_different_dictionaries_are_one_column():
    chunks = pa.chunked_array([pa.array(["b", "c"]).dictionary_encode(), pa.array(["a", None, "b"]).dictionary_encode()])
    table = learn_table(pa.table({"a": chunks}))
    assert table.schema.features[0].categories == ("a", "b", "c")
    assert table.column(0).tolist() == [2, 3, 1, 0, 2]
    frame = pd.DataFrame({"a": pd.Series(chunks, dtype=pd.ArrowDtype(chunks.type))})
    assert learn_table(frame).column(0).tolist() == [2, 3, 1, 0, 2]


MANY_TEXTS = [f"city {i}" for i in range(1000)]
ALIKE = [f"2024-01-{i:02d}T00:00:00" for i in range(1, 31)]  # their first and last bytes are the same


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
@pytest.mark.parametrize(
    "texts", [["b", None, "", "ä", "b"], ["x" * 30, None, "x" * 29, "x" * 30], [None, ""], ALIKE, MANY_TEXTS]
)
@pytest.mark.parametrize("starts", [[0], [0, 0, 1, 3]], ids=["whole", "chunks"])
def test_texts_of_arrow_are_those_of_a_list(kind, texts, starts):
    texts = texts + texts[::-1]
    whole = pa.array(["not this", *texts, "nor this"], kind)[1:-1]
    column = pa.chunked_array([whole[start:stop] for start, stop in pairwise([*starts, len(texts)])], kind)
    table, expected = learn_table(pa.table({"a": column})), learn_table([[text] for text in texts])
    assert table.schema.features[0].categories == expected.schema.features[0].categories
    np.testing.assert_array_equal(table.column(0), expected.column(0))


def test_polars_texts_are_the_same_without_arrow(monkeypatch):
    frame = pl.DataFrame({"a": ["b", None, "", "ä", "b"]})
    tables = [learn_table(frame)]
    monkeypatch.setattr("narwhals.dependencies.get_pyarrow", lambda: None)
    tables.append(learn_table(frame))
    for table in tables:
        assert table.schema.features[0].categories == ("", "b", "ä")
        assert table.column(0).tolist() == [2, 0, 1, 3, 2]


@pytest.mark.parametrize("ends", [[0, 9, 2], [0, -1, 2], [0, 2, 1]])
def test_texts_outside_of_their_buffer_are_refused(ends):
    buffers = [None, pa.py_buffer(np.array(ends, dtype=np.int32)), pa.py_buffer(b"ab")]
    with pytest.raises(ValueError, match=r"column 'a' has damaged values \(.*\): write the table again"):
        learn_table(pa.table({"a": pa.Array.from_buffers(pa.string(), 2, buffers)}))


def test_polars_categories_of_other_columns_do_not_leak():
    other = pl.Series([f"other{i}" for i in range(300)], dtype=pl.Categorical)
    table = learn_table(pl.DataFrame({"a": pl.Series(["b", "a"], dtype=pl.Categorical)}))
    assert len(other) == 300
    assert table.schema.features[0].categories == ("a", "b")
    assert table.column(0).tolist() == [2, 1]


def test_string_arrays_are_nominal():
    X = np.array([["b", "1"], ["a", "2"]])
    for form in (X, X.astype(np.dtypes.StringDType()), X.tolist()):
        table = learn_table(form)
        assert [feature.categories for feature in table.schema.features] == [("a", "b"), ("1", "2")]


def test_a_list_row_may_mix_strings_and_numbers():
    table = learn_table([["red", 1.5, 2], ["blue", None, 3]])
    assert [feature.kind for feature in table.schema.features] == [Kind.NOMINAL, Kind.CONTINUOUS, Kind.CONTINUOUS]
    np.testing.assert_array_equal(table.block(0, 2), [[2, 1.5, 2], [1, NAN, 3]])


def test_integers_can_be_nominal_and_floats_stay_continuous():
    table = learn_table([[3, 1.5], [1, 2.5], [None, NAN]], integers="nominal")
    assert table.schema.features == (Feature("x0", Kind.NOMINAL, (1, 3)), Feature("x1", Kind.CONTINUOUS))
    assert table.column(0).tolist() == [2, 1, 0]


def test_integers_beyond_64_bits_are_rounded():
    assert learn_table([[2**70], [None]]).column(0)[0] == 2.0**70
    assert learn_table([[2**63], [0]]).schema.features[0].kind is Kind.CONTINUOUS
    wide = learn_table([[2**63 + 1], [2**63]], categorical_features=[0])
    assert wide.schema.features[0].categories == (2**63, 2**63 + 1)
    assert wide.column(0).tolist() == [2, 1]


def test_large_integers_stay_apart_as_categories():
    table = learn_table(np.array([[2**53 + 1], [2**53], [-(2**62)]]), categorical_features=[0])
    assert table.schema.features[0].categories == (-(2**62), 2**53, 2**53 + 1)
    assert table.column(0).tolist() == [3, 2, 1]


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_nominal_integers_are_coded_in_sorted_order(values):
    table = learn_table(np.array(values)[:, np.newaxis], integers="nominal")
    categories = sorted(set(values))
    assert table.schema.features[0].categories == tuple(categories)
    assert table.column(0).tolist() == [categories.index(value) + 1 for value in values]


def test_both_zeros_are_one_category():
    table = learn_table(np.array([[0.0], [-0.0], [1.0]]), categorical_features=[0])
    assert table.schema.features[0].categories == (0.0, 1.0)
    assert math.copysign(1, table.schema.features[0].categories[0]) == 1


@pytest.mark.parametrize(("n_categories", "dtype"), [(255, "u1"), (256, "u2"), (65535, "u2"), (65536, "u4")])
def test_codes_have_the_smallest_type_that_holds_the_categories(n_categories, dtype):
    labels = [f"{i:05}" for i in range(n_categories)]
    frames = [pd.DataFrame({"a": labels}), pl.DataFrame({"a": labels}), pa.table({"a": labels})]
    for form in (*frames, np.array(labels)[:, np.newaxis], np.arange(n_categories)[:, np.newaxis]):
        codes = learn_table(form, integers="nominal").column(0)
        assert codes.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(codes, np.arange(n_categories) + 1)


# What the user says about columns

COLOURS = {"colour": ["red", "blue", "red"], "size": [2, 1, 2], "weight": [1.5, NAN, 2.0]}


@pytest.mark.parametrize("named", [["size", "weight"], [1, 2], np.array([1, 2]), [False, True, True], ("size", 2)])
def test_columns_named_categorical_are_nominal_and_keep_their_type(named):
    table = learn_table(pd.DataFrame(COLOURS), categorical_features=named)
    assert table.schema.features[1:] == (
        Feature("size", Kind.NOMINAL, (1, 2)),
        Feature("weight", Kind.NOMINAL, (1.5, 2.0)),
    )
    assert table.column(2).tolist() == [1, 0, 2]


def test_a_column_named_ordinal_follows_the_given_order():
    order = {"colour": ["red", "green", "blue"], 1: [2, 1]}
    table = learn_table(pd.DataFrame(COLOURS), ordinal_features=order)
    assert table.schema.features[:2] == (
        Feature("colour", Kind.ORDINAL, ("red", "green", "blue")),
        Feature("size", Kind.ORDINAL, (2, 1)),
    )
    assert table.column(0).tolist() == [1, 3, 1]
    assert table.column(1).tolist() == [1, 2, 1]


@pytest.mark.parametrize("cells", [[10**400, 1], [-(10**400), 0.5]])
def test_an_integer_beyond_all_floats_is_infinite(cells):
    X = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    with pytest.raises(ValueError, match="column 'a' has infinite values in 1 row"):
        learn_table(X)


def test_declared_categories_that_are_numbers_are_of_one_type():
    table = learn_table(pd.DataFrame({"a": [0.5, 10.0]}), ordinal_features={"a": [10, 0.5, True]})
    assert list(map(repr, table.schema.features[0].categories)) == ["10.0", "0.5", "1.0"]
    table = learn_table(pd.DataFrame({"a": pd.Categorical([True, 3], categories=[3, True], ordered=True)}))
    assert list(map(repr, table.schema.features[0].categories)) == ["3", "1"]


def test_an_ordered_column_named_categorical_is_nominal():
    values = pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True)
    assert feature_of(values, categorical_features=["a"]) == Feature("a", Kind.NOMINAL, ("b", "a"))


def test_integer_column_labels_are_no_names_but_name_columns():
    frame = pd.DataFrame({10: [1, 2], 1: [3, 4], 0: [5, 6]})
    table = learn_table(frame, categorical_features=[10, 0])
    assert not table.schema.has_names
    assert [feature.name for feature in table.schema.features] == ["x0", "x1", "x2"]
    assert [feature.kind for feature in table.schema.features] == [Kind.NOMINAL, Kind.CONTINUOUS, Kind.NOMINAL]
    assert learn_table(frame, categorical_features=[2]).schema.features[2].kind is Kind.NOMINAL


def test_string_column_labels_are_names():
    assert learn_table(pd.DataFrame(COLOURS)).schema.has_names
    assert not learn_table([[1.0]]).schema.has_names


# Prediction


def test_unseen_categories_are_missing_or_an_error():
    schema = learn_table(pd.DataFrame(COLOURS)).schema
    new = pd.DataFrame({"colour": ["red", "green", None, "grey"], "size": [1, 1, 1, 1], "weight": [1.0, 2.0, 3.0, 4.0]})
    assert encode_table(new, schema).column(0).tolist() == [2, 0, 0, 0]
    np.testing.assert_array_equal(encode_table(new, schema).block(1, 3)[:, 0], [NAN, NAN])
    strict = encode_table(new, schema, unseen="error")
    np.testing.assert_array_equal(strict.block(2, 3)[:, 0], [NAN])
    message = errors.unseen_categories("colour", ["green", "grey"], 1, ["blue", "red"])
    with pytest.raises(ValueError, match=re.escape(str(message))):
        strict.column(0)
    with pytest.raises(ValueError, match=re.escape(str(errors.unseen_categories("colour", ["grey"], 3, ["blue", "red"])))):
        strict.block(2, 4)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 7],
        [1.0, 2.0, NAN],
        np.array([1, 2, 3], dtype=np.uint8),
        pd.Series([1, 2.0, "1"], dtype=object).where([True, True, False]),
        pd.Categorical([1, 2, None], categories=[2, 1]),
        pd.Categorical([1.0, 2.0, 9.0]),
        pd.array([1, 2, None], dtype="Int8"),
    ],
)
def test_integer_categories_match_equal_numbers_of_any_type(values):
    schema = learn_table(pd.DataFrame({"a": [1, 2]}), categorical_features=["a"]).schema
    assert encode_table(pd.DataFrame({"a": values}), schema).column(0).tolist() == [1, 2, 0]


def test_integer_categories_do_not_match_strings():
    schema = learn_table(pd.DataFrame({"a": [1, 2]}), categorical_features=["a"]).schema
    mixed = pd.DataFrame({"a": pd.Series([1, "1", "2"], dtype=object)})
    with pytest.raises((TypeError, ValueError), match="'a'"):
        encode_table(mixed, schema).column(0)
    with pytest.raises(ValueError, match="which is text"):
        encode_table(pd.DataFrame({"a": ["1", "2"]}), schema).column(0)


def test_categories_arriving_in_another_order_or_type_are_encoded_by_value():
    learned = learn_table(pd.DataFrame({"a": pd.Categorical(["b", "a"], categories=["z", "b", "a"])}))
    for frame in (
        pd.DataFrame({"a": pd.Categorical(["a", "z", "b"], categories=["a", "b", "q", "z"])}),
        pd.DataFrame({"a": ["a", "z", "b"]}, dtype=object),
        pl.DataFrame({"a": pl.Series(["a", "z", "b"], dtype=pl.Enum(["b", "a", "z"]))}),
        pl.DataFrame({"a": pl.Series(["a", "z", "b"], dtype=pl.Categorical)}),
        pa.table({"a": pa.array(["a", "z", "b"]).dictionary_encode()}),
    ):
        assert encode_table(frame, learned.schema, unseen="error").column(0).tolist() == [3, 1, 2]


def test_a_continuous_column_may_arrive_as_integers_booleans_or_numeric_categories():
    schema = learn_table(pd.DataFrame({"a": [0.5, 1.5]})).schema
    for values in ([0, 1], [False, True], pd.Categorical([0, 1]), pd.Series([0, 1.0], dtype=object)):
        np.testing.assert_array_equal(encode_table(pd.DataFrame({"a": values}), schema).block(0, 2), [[0], [1]])


def test_a_column_without_values_can_be_predicted_on():
    schema = learn_table(pd.DataFrame(COLOURS)).schema
    for form in (
        pl.DataFrame({name: [None] for name in COLOURS}),
        pa.table({name: pa.nulls(1) for name in COLOURS}),
        pd.DataFrame({name: [None] for name in COLOURS}),
        pd.DataFrame({name: [NAN] for name in COLOURS}),
    ):
        assert np.isnan(encode_table(form, schema).block(0, 1)).all()


LAZY = {"polars": ["collect"], "duckdb": ["df", "pl", "arrow"]}


@pytest.mark.parametrize("of_narwhals", [False, True])
@pytest.mark.parametrize("library", LAZY)
def test_the_methods_that_are_named_for_a_lazy_table_give_one_with_values(library, of_narwhals):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    lazy = pytest.importorskip("duckdb").from_df(frame) if library == "duckdb" else pl.LazyFrame(frame)
    lazy, methods = (nw.from_native(lazy), ["collect"]) if of_narwhals else (lazy, LAZY[library])
    for name, X, y in (("X", lazy, [0, 1, 0]), ("y", frame, lazy)):
        calls = " or ".join(f"{name}.{method}()" for method in methods)
        message = f"{name} is a lazy data frame ({type(lazy).__name__}), which has no values yet; pass {calls}"
        for estimator in (CARTClassifier, CARTRegressor):
            with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
                estimator().fit(X, y)
    with pytest.raises(TypeError, match=r"^X is a lazy data frame"):
        CARTClassifier().fit(frame, [0, 1, 0]).predict(lazy)
    for method in methods:
        assert CARTClassifier().fit(getattr(lazy, method)(), [0, 1, 0]).get_n_leaves() == 3


@pytest.mark.parametrize("library", [i for i in _TO_VALUES if i.value not in LAZY])
def test_of_a_library_that_is_not_installed_only_what_its_type_has_is_named(library):
    # stand-ins: the types themselves are not here to ask
    class Frame:
        implementation = library

    names = _TO_VALUES[library]
    given = type("Table", (), {names[-1]: None, "collect": None})()
    assert str(lazy_table("X", given, Frame())).endswith(f"(Table), which has no values yet; pass X.{names[-1]}()")
    assert str(lazy_table("X", object(), Frame())).endswith("pass a data frame of pandas, polars or Arrow")


def test_names_on_one_side_only_give_a_warning():
    X = pd.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.warns(UserWarning, match=re.escape(errors.names_lost("CARTClassifier"))):
        encode_table(X.to_numpy(), learn_table(X).schema, estimator_name="CARTClassifier")
    with pytest.warns(UserWarning, match=re.escape(errors.names_gained("CARTClassifier"))):
        encode_table(X, learn_table(X.to_numpy()).schema, estimator_name="CARTClassifier")


# Errors


def one_column(values):
    return lambda: learn_table(pd.DataFrame({"a": values}))


LABELS = ["a", "b"]
FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
FRAME_SCHEMA = learn_table(FRAME).schema
BAD_TABLES = {
    "lazy": (lambda: learn_table(pl.LazyFrame({"a": [1]})), errors.lazy_table("X", "LazyFrame", ["collect"])),
    "scalar": (lambda: learn_table(3.0), errors.not_two_dimensional(())),
    "text": (lambda: learn_table("file.csv"), errors.not_a_table("file.csv")),
    "1-D array": (lambda: learn_table(np.zeros(3)), errors.not_two_dimensional((3,))),
    "1-D list": (lambda: learn_table([1.0, 2.0]), errors.not_two_dimensional((2,))),
    "empty list": (lambda: learn_table([]), errors.not_two_dimensional((0,))),
    "series": (lambda: learn_table(pl.Series([1, 2])), errors.not_two_dimensional((2,))),
    "3-D": (lambda: learn_table(np.zeros((2, 2, 2))), errors.not_two_dimensional((2, 2, 2))),
    "ragged": (lambda: learn_table([[1, 2], [3]]), errors.ragged_rows()),
    "no rows": (lambda: learn_table(np.zeros((0, 3))), errors.no_samples((0, 3))),
    "no columns": (lambda: learn_table(np.zeros((12, 0))), errors.no_features((12, 0))),
    "frame without rows": (lambda: learn_table(pl.DataFrame({"a": []})), errors.no_samples((0, 1))),
    "frame without columns": (lambda: learn_table(pd.DataFrame(index=range(4))), errors.no_features((4, 0))),
    "names twice": (
        lambda: learn_table(pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"])),
        errors.duplicate_names(["a", "b", "a"]),
    ),
    "Arrow names twice": (
        lambda: learn_table(pa.table([[1], [2]], names=["a", "a"])),
        errors.duplicate_names(["a", "a"]),
    ),
    "names of two types": (lambda: learn_table(pd.DataFrame({"a": [1], 2: [3]})), errors.mixed_names(["a", 2])),
    "infinite array": (
        lambda: learn_table(np.array([[1.0, NAN], [2.0, np.inf], [3.0, -np.inf]])),
        errors.infinite_values("x1", 2, 1),
    ),
    "infinite at prediction": (
        lambda: encode_table(np.array([[1.0, 2.0], [np.inf, 2.0]]), learn_table(np.zeros((1, 2))).schema),
        errors.infinite_values("x0", 1, 1),
    ),
    "infinite in a Fortran-ordered array": (
        lambda: learn_table(np.asfortranarray([[1.0, NAN], [2.0, -np.inf]])),
        errors.infinite_values("x1", 1, 1),
    ),
    "infinite far down": (
        lambda: learn_table(np.array([[NAN]] * 70_000 + [[np.inf]], dtype=np.float32)),
        errors.infinite_values("x0", 1, 70_000),
    ),
    "infinite in a block of halves": (
        lambda: encode_table(np.array([[1.0], [np.inf]], dtype=np.float16), learn_table([[0.5]]).schema).block(1, 2),
        errors.infinite_values("x0", 1, 1),
    ),
    "infinite in a block": (
        lambda: encode_table(FRAME.replace(4.0, np.inf), FRAME_SCHEMA).block(1, 2),
        errors.infinite_values("b", 1, 1),
    ),
    "infinite column": (one_column([1.0, np.inf]), errors.infinite_values("a", 1, 1)),
    "infinite object": (one_column(pd.Series([1, np.inf], dtype=object)), errors.infinite_values("a", 1, 1)),
    "infinite half": (lambda: learn_table(np.array([[np.inf]], dtype=np.float16)), errors.infinite_values("x0", 1, 0)),
    "infinite category": (
        lambda: learn_table(np.array([[1.0], [np.inf]]), categorical_features=[0]),
        errors.infinite_values("x0", 1, 1),
    ),
    "complex array": (lambda: learn_table(np.array([[1j]])), errors.complex_values("x0")),
    "complex column": (one_column([1j]), errors.complex_values("a")),
    "complex object": (one_column(pd.Series([1, 1j], dtype=object)), errors.complex_values("a")),
    "date objects": (lambda: learn_table([[datetime.date(2020, 1, 1)]]), errors.dates("x0", "date")),
    "date array": (lambda: learn_table(np.array([["2020-01-01"]], dtype="M8[D]")), errors.dates("x0", "datetime64[D]")),
    "polars dates": (
        lambda: learn_table(pl.DataFrame({"a": [datetime.date(2020, 1, 1)]})),
        errors.dates("a", "Date"),
    ),
    "lists": (lambda: learn_table(pl.DataFrame({"a": [[1, 2]]})), errors.nested_cells("a", "List(Int64)")),
    "list objects": (one_column([1, [2]]), errors.unsupported_cell("a", [2], 1)),
    "dict objects": (lambda: learn_table([[0.5], [{"foo": "bar"}]]), errors.unsupported_cell("x0", {}, 1)),
    "bytes": (lambda: learn_table(np.array([[b"a"]])), errors.unsupported_column("x0", "|S1")),
    "binary": (lambda: learn_table(pa.table({"a": [b"a"]})), errors.unsupported_column("a", "Binary")),
    "intervals": (
        one_column(pd.Categorical.from_codes([0], pd.IntervalIndex.from_tuples([(0, 1)]))),
        errors.unsupported_category("a", pd.Interval(0, 1)),
    ),
    "mixed cells": (one_column(["a", 1, 2.5]), errors.mixed_cells("a", ["str", "int", "float"])),
    "mixed cells far down": (one_column(["a"] * 300 + [1]), errors.mixed_cells("a", ["str", "int"])),
    "mixed categories": (one_column(pd.Categorical(["a", 1])), errors.mixed_cells("a", ["str", "int"])),
    "integers": (
        lambda: learn_table(FRAME.astype(int), integers="ordinal"),
        errors.wrong_choice("integers", "ordinal", ("continuous", "nominal")),
    ),
    "unseen": (
        lambda: encode_table(FRAME, FRAME_SCHEMA, unseen="ignore"),
        errors.wrong_choice("unseen", "ignore", ("as_missing", "error")),
    ),
    "one name": (
        lambda: learn_table(FRAME, categorical_features="a"),
        errors.wrong_type_of_features("categorical_features", "a", "a list of column names or indices, or a boolean mask"),
    ),
    "a float index": (
        lambda: learn_table(FRAME, categorical_features=[0.0]),
        errors.wrong_type_of_features("categorical_features", 0.0, "column names or indices"),
    ),
    "unknown name": (
        lambda: learn_table(FRAME, categorical_features=["c"]),
        errors.unknown_feature("categorical_features", "c", LABELS),
    ),
    "unknown index": (
        lambda: learn_table(FRAME, categorical_features=[2]),
        errors.unknown_feature("categorical_features", 2, LABELS),
    ),
    "negative index": (
        lambda: learn_table(FRAME, ordinal_features={-1: [1]}),
        errors.unknown_feature("ordinal_features", -1, LABELS),
    ),
    "short mask": (
        lambda: learn_table(FRAME, categorical_features=[True]),
        errors.wrong_mask("categorical_features", 1, 2),
    ),
    "two kinds": (
        lambda: learn_table(FRAME, categorical_features=["a"], ordinal_features={"a": [1, 2]}),
        errors.two_kinds("a"),
    ),
    "orders as a list": (
        lambda: learn_table(FRAME, ordinal_features=["a"]),
        errors.wrong_type_of_features(
            "ordinal_features", ["a"], "a dict of column names or indices to lists of values from low to high"
        ),
    ),
    "order as a string": (lambda: learn_table(FRAME, ordinal_features={"a": "12"}), errors.wrong_order("a", "12")),
    "order as a set": (lambda: learn_table(FRAME, ordinal_features={"a": {2}}), errors.wrong_order("a", {2})),
    "two orders": (lambda: learn_table(FRAME, ordinal_features={"a": [1, 2], 0: [2, 1]}), errors.two_orders("a")),
    "order with repeats": (lambda: learn_table(FRAME, ordinal_features={0: [1, 1]}), errors.wrong_order("a", [1, 1])),
    "order of two types": (lambda: learn_table(FRAME, ordinal_features={0: [1, "b"]}), errors.wrong_order("a", [1, "b"])),
    "empty order": (lambda: learn_table(FRAME, ordinal_features={0: []}), errors.wrong_order("a", [])),
    "order with NaN": (lambda: learn_table(FRAME, ordinal_features={0: [NAN]}), errors.wrong_order("a", [NAN])),
    "value not in the order": (
        lambda: learn_table(FRAME, ordinal_features={"b": [4.0]}),
        errors.not_in_order("b", [3.0], 0, [4.0]),
    ),
    "another number of columns": (
        lambda: encode_table(np.zeros((1, 3)), learn_table(np.zeros((1, 4))).schema, estimator_name="CARTClassifier"),
        errors.wrong_n_features(3, 4, "CARTClassifier"),
    ),
    "strings in a continuous column": (
        lambda: encode_table(pd.DataFrame({"a": [1, 2], "b": [None, "x"]}), FRAME_SCHEMA).block(0, 2),
        errors.not_numbers("b", "x", 1),
    ),
    "rows missing at prediction": (lambda: encode_table(FRAME[:0], FRAME_SCHEMA), errors.no_samples((0, 2))),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_bad_table_or_parameter_gets_one_clear_error(case):
    call, expected = BAD_TABLES[case]
    with pytest.raises(type(expected), match="^" + re.escape(str(expected)) + "$"):
        call()


def test_messages_name_column_place_and_remedy():
    assert str(errors.infinite_values("age", 2, 7)) == (
        "column 'age' has infinite values in 2 rows (first: row 7); replace them by finite numbers, or by NaN if they are unknown"
    )
    assert "'c0', 'c1', 'c2', 'c3', 'c4', … (9 in all)" in str(
        errors.unknown_feature("categorical_features", "z", [f"c{j}" for j in range(9)])
    )
    assert re.search("argument must be .* string.* number", str(errors.unsupported_cell("a", {}, 0)))
    assert "Complex data not supported" in str(errors.complex_values("a"))
    assert "Reshape your data" in str(errors.not_two_dimensional((3,)))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["b", "a"], "Feature names must be in the same order as they were in fit."),
        (["c", "d"], "Feature names unseen at fit time:\n- c\n- d\nFeature names seen at fit time, yet now missing:\n- a\n- b\n"),
        (["a"], "Feature names seen at fit time, yet now missing:\n- b\n"),
    ],
)
def test_other_names_at_prediction_get_the_error_of_scikit_learn(names, message):
    X = pd.DataFrame({name: [1.0] for name in names})
    expected = "The feature names should match those that were passed during fit.\n" + message
    with pytest.raises(ValueError, match=re.escape(expected)):
        encode_table(X, FRAME_SCHEMA)


def test_a_text_column_with_a_mask_of_missing_cells_at_prediction_still_names_the_row():
    schema = learn_table(pd.DataFrame({"a": ["x", "y"]})).schema
    new = pl.DataFrame({"a": [None, "x", "z"]})
    with pytest.raises(ValueError, match=r"'z' \(first: row 2\)"):
        encode_table(new, schema, unseen="error").block(0, 3)


# The target

CLASS_FORMS = [
    ["b", "a", "b"],
    ("b", "a", "b"),
    np.array(["b", "a", "b"]),
    np.array(["b", "a", "b"], dtype=object),
    pd.Series(["b", "a", "b"]),
    pd.Series(["b", "a", "b"], dtype=object, index=[5, 5, 5]),
    pl.Series(["b", "a", "b"]),
    pl.Series(["b", "a", "b"], dtype=pl.Categorical),
    pa.array(["b", "a", "b"]),
    pa.chunked_array([["b"], ["a", "b"]]),
    pa.chunked_array([pa.array(["b", "a", "b"]).dictionary_encode()]),
]


@pytest.mark.parametrize("y", CLASS_FORMS, ids=lambda y: type(y).__name__)
def test_classes_are_sorted_in_every_form(y):
    classes, codes = encode_classes(y)
    assert classes.tolist() == ["a", "b"]
    assert codes.dtype == np.intp
    assert codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(pd.Categorical(["b", "a", "b"], categories=["z", "b", "a"])),
        pd.Categorical(["b", "a", "b"], categories=["z", "b", "a"]),
        pd.CategoricalIndex(["b", "a", "b"], categories=["z", "b", "a"]),
        pl.Series(["b", "a", "b"], dtype=pl.Enum(["z", "b", "a"])),
        dictionary([1, 2, 1], ["z", "b", "a"], ordered=True),
    ],
    ids=["series", "categorical", "index", "enum", "dictionary"],
)
def test_declared_classes_keep_their_order_and_empty_ones_stay(y):
    classes, codes = encode_classes(y)
    assert classes.tolist() == ["z", "b", "a"]
    assert codes.tolist() == [1, 2, 1]


@pytest.mark.parametrize("dtype", ["i1", "i8", "u8", "f4", "f8", "?", "O", ">i4"])
def test_numeric_classes_keep_their_type(dtype):
    y = np.array([1, 0, 1], dtype=dtype)
    classes, codes = encode_classes(y)
    assert classes.dtype == (np.int64 if dtype == "O" else np.dtype(dtype))
    assert classes.tolist() == [0, 1]
    assert codes.tolist() == [1, 0, 1]


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_classes_and_codes_are_those_of_unique(values):
    classes, codes = encode_classes(np.array(values))
    expected_classes, expected_codes = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(classes, expected_classes)
    np.testing.assert_array_equal(codes, expected_codes)


VALUE_FORMS = [
    [1, 2.5],
    np.array([1, 2.5], dtype=np.float32),
    np.array([1, 2.5], dtype=object),
    pd.Series([1, 2.5], dtype="Float64"),
    pl.Series([1.0, 2.5]),
    pa.array([1, 2.5]),
    pd.Series(pd.Categorical([1, 2.5])),
]


@pytest.mark.parametrize("y", VALUE_FORMS, ids=lambda y: type(y).__name__)
def test_regression_targets_are_float64_in_every_form(y):
    values = encode_values(y)
    assert values.dtype == np.float64
    assert values.flags.c_contiguous
    assert values.tolist() == [1.0, 2.5]


def test_a_float64_target_is_not_copied():
    y = np.array([1.0, 2.0])
    assert np.shares_memory(encode_values(y), y)
    assert encode_values(np.arange(6.0)[::2]).flags.c_contiguous


@pytest.mark.parametrize("encode", [encode_classes, encode_values])
@pytest.mark.parametrize("y", [np.array([[1], [0]]), pd.DataFrame({"y": [1, 0]}), [[1], [0]]], ids=["array", "frame", "list"])
def test_a_column_vector_is_taken_with_a_warning(encode, y):
    with pytest.warns(DataConversionWarning, match=re.escape(errors.COLUMN_VECTOR)):
        result = encode(y)
    assert (result[1] if isinstance(result, tuple) else result).tolist() == [1, 0]


MISSING = [
    (["a", None, NAN], 2, 1),
    (np.array([1.0, NAN]), 1, 1),
    (pd.Series([1, None], dtype="Int64"), 1, 1),
    (pd.Series([None, "a"]), 1, 0),
    (pd.Categorical(["a", None]), 1, 1),
    (pl.Series([1, None]), 1, 1),
    (pl.Series(["a", None], dtype=pl.Enum(["a"])), 1, 1),
    (pa.array([None, True]), 1, 0),
]


@pytest.mark.parametrize("encode", [encode_classes, encode_values])
@pytest.mark.parametrize(("y", "count", "row"), MISSING)
def test_a_missing_target_is_an_error_that_names_its_row(encode, y, count, row):
    with pytest.raises(ValueError, match=re.escape(str(errors.missing_target(count, row)))):
        encode(y)


BAD_TARGETS = {
    "none": (lambda: encode_classes(None), errors.no_target()),
    "no values": (lambda: encode_values(None), errors.no_target()),
    "sparse": (lambda: encode_classes(scipy.sparse.csr_array(np.eye(2))), errors.sparse_target()),
    "two columns": (lambda: encode_classes(np.zeros((3, 2))), errors.not_one_target((3, 2))),
    "frame of two columns": (lambda: encode_values(FRAME), errors.not_one_target((2, 2))),
    "scalar": (lambda: encode_values(1.0), errors.not_one_target(())),
    "fractions as classes": (lambda: encode_classes([1.0, 2.5]), errors.continuous_target(2.5)),
    "infinite classes": (lambda: encode_classes([1.0, np.inf]), errors.infinite_target(1, 1)),
    "infinite values": (lambda: encode_values([1.0, -np.inf]), errors.infinite_target(1, 1)),
    "strings as values": (lambda: encode_values(["a", "b"]), errors.target_not_numeric("a")),
    "complex": (lambda: encode_classes(np.array([1j])), errors.complex_values("y")),
    "mixed": (lambda: encode_classes(["a", 1]), errors.mixed_cells("y", ["str", "int"])),
}


@pytest.mark.parametrize("case", BAD_TARGETS)
def test_a_bad_target_gets_one_clear_error(case):
    call, expected = BAD_TARGETS[case]
    with pytest.raises(type(expected), match="^" + re.escape(str(expected)) + "$"):
        call()


@pytest.mark.parametrize(("fitted", "given_now"), [(["1", "2", "3"], [1, 2, 3]), ([1, 2, 3], ["1", "2", "3"])])
def test_a_column_of_another_type_at_prediction_is_an_error_and_not_all_missing(fitted, given_now):
    table = learn_table(pd.DataFrame({"size": fitted}), categorical_features=["size"])
    with pytest.raises(ValueError, match=r"column 'size' holds .* Convert the column"):
        encode_table(pd.DataFrame({"size": given_now}), table.schema).block(0, 3)


# Sparse matrices


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array])
def test_a_sparse_matrix_is_the_dense_one(kind):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(300, 7)) * (rng.random((300, 7)) < 0.2)
    dense[5, 3] = np.nan
    table = learn_table(kind(dense))
    assert table.matrix is None
    for j in range(7):
        np.testing.assert_array_equal(table.column(j), dense[:, j])
    np.testing.assert_array_equal(table.block(100, 250), dense[100:250])
    y = np.nan_to_num(dense[:, 0]) > 0
    ours, expected = CARTClassifier().fit(kind(dense), y), CARTClassifier().fit(dense, y)
    assert ours.tree_ == expected.tree_
    np.testing.assert_array_equal(ours.predict_proba(kind(dense)), expected.predict_proba(dense))


def test_a_sparse_vector_is_no_table():
    with pytest.raises(ValueError, match="2"):
        learn_table(scipy.sparse.coo_array(np.arange(3.0)))


@pytest.mark.parametrize("X", ["table.csv", {"a": [1.0, 2.0]}, b"table.csv"])
def test_what_is_no_table_is_named(X):
    with pytest.raises(ValueError, match="not a table: pass a data frame of pandas, polars or Arrow"):
        learn_table(X)


def test_rows_with_names_are_told_what_becomes_a_table():
    with pytest.raises(ValueError, match="X is a list of dicts, not a table: convert it to a data frame"):
        learn_table([{"age": 1.0}, {"age": 2.0}])


def test_the_name_of_a_target_is_no_target():
    for encode in (encode_classes, encode_values):
        with pytest.raises(ValueError, match=r"pass the values themselves, such as table\['survived'\]"):
            encode("survived")


# Columns of numbers that are categories


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_few_floats_are_coded_as_the_same_objects_are(dtype, order):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.integers(-3, 4, (300, 3)) / 8, dtype=dtype, order=order)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.1] = -0.0
    X[:, 2] = np.arange(300) // 2  # 150 values
    few, objects = (learn_table(table, categorical_features=[0, 1, 2]) for table in (X, X.astype(object)))
    assert few.schema == objects.schema
    assert not any(math.copysign(1, value) < 0 for value in few.schema.features[0].categories if value == 0)
    for j in range(3):
        np.testing.assert_array_equal(few.column(j), objects.column(j))
        assert few.column(j).dtype == objects.column(j).dtype == np.uint8


@pytest.mark.parametrize("n_values", [255, 256, 300])
def test_the_border_of_few_categories(n_values):
    X = np.arange(n_values, dtype=float).repeat(2)[::-1, None]
    table = learn_table(X, categorical_features=[0])
    assert table.schema.features[0].categories == tuple(range(n_values))
    np.testing.assert_array_equal(table.column(0), X[:, 0] + 1)


def test_infinity_among_categories_is_refused():
    for value in (math.inf, -math.inf):
        with pytest.raises(ValueError, match="infinite"):
            learn_table([[0.0], [value], [1.0]], categorical_features=[0])
        with pytest.raises(ValueError, match="infinite"):
            learn_table(np.array([[0.0], [value], [1.0]]), categorical_features=[0])


def test_a_column_is_sorted_into_categories_once(monkeypatch):
    calls = []
    read = Numbers.labels
    monkeypatch.setattr(Numbers, "labels", lambda cells: calls.append(len(cells.values)) or read(cells))
    learn_table(np.array([[0.0, 1.0], [1.0, 2.0]]), categorical_features=[0, 1])
    assert calls == []
    learn_table(np.arange(400.0)[:, None], categorical_features=[0])
    learn_table(np.arange(5)[:, None], categorical_features=[0])
    assert calls == [400, 5]
