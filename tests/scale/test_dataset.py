"""Trees from a table on disk are those from the table in memory."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fasttree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    CHAIDClassifier,
    Dataset,
    ID3Classifier,
    OptimalTreeClassifier,
    RandomForestClassifier,
    TreeClassifier,
    progress,
)
from fasttree._scale import dataset as dataset_module
from fasttree._scale import fitting, out_of_core, store
from fasttree.estimators.common.registry import ESTIMATORS
from fasttree.pruning import Pessimistic

N = 3000


def table_of(seed: int, n: int = N) -> pa.Table:
    """Floats of both precisions, integers, categories, missing values."""
    rng = np.random.default_rng(seed)
    wide = rng.normal(size=n)
    narrow = rng.normal(size=n).astype(np.float32)
    region = rng.integers(0, 7, n)
    sizes = ["small", "middle", "large"]
    size = rng.integers(0, 3, n)
    signal = wide + narrow * (region > 3) + 0.5 * size + rng.normal(size=n)
    return pa.table(
        {
            "wide": pa.array(np.where(rng.random(n) < 0.05, np.nan, wide), from_pandas=True),
            "narrow": narrow,
            "count": rng.integers(0, 50, n),
            "region": pa.array([None if code == 6 else f"r{code}" for code in region]),
            "size": pa.DictionaryArray.from_arrays(pa.array(size, pa.int8()), sizes, ordered=True),
            "flag": region > 2,
            "weight": np.round(rng.random(n) * 4, 1),
            "label": np.array(["no", "perhaps", "yes"])[np.digitize(signal, [-0.5, 1.0])],
            "two": (signal > 0).astype(np.int64),
            "number": signal,
        }
    )


FEATURES = ["wide", "narrow", "count", "region", "size", "flag"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[pa.Table, Path]:
    folder = tmp_path_factory.mktemp("parquet")
    whole = table_of(0)
    for i, (start, stop) in enumerate([(0, 700), (700, 701), (701, N)]):
        pq.write_table(whole.slice(start, stop - start), folder / f"part{i}.parquet")
    return whole, folder


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of a few hundred rows, and subtrees of a hundred."""
    monkeypatch.setattr(dataset_module, "LEAST_SHARD_ROWS", 100)
    monkeypatch.setattr(dataset_module, "MOST_SHARD_ROWS", 900)
    monkeypatch.setattr("fasttree._scale.source.ROWS_AT_ONCE", 500)
    monkeypatch.setattr(fitting, "rows_in_memory", lambda *given: 100)


MODELS: list[tuple[Any, str, str | None]] = [
    (CARTClassifier(), "label", None),
    (CARTClassifier(criterion="entropy", min_samples_leaf=5, midpoint="high"), "two", None),
    (CARTClassifier(criterion="misclassification", max_leaf_nodes=20), "label", "weight"),
    (CARTClassifier(class_weight="balanced", max_depth=6), "label", "weight"),
    (CARTClassifier(class_weight={"no": 0.3}, nominal="one_vs_rest", min_weight_fraction_leaf=0.01), "label", None),
    (CARTClassifier(priors=[0.2, 0.5, 0.3], ccp_alpha=0.001), "label", None),
    (CARTClassifier(loss_matrix=[[0, 1, 5], [1, 0, 1], [2, 2, 0]], max_depth=7), "label", "weight"),
    (TreeClassifier(max_depth=5, split_p_value=0.01), "two", None),
    (CARTClassifier(min_impurity=0.2, min_gain=0.01, min_samples_split=40, pruning=Pessimistic()), "label", None),
    (CARTClassifier(criterion="entropy", max_bins=30, max_leaf_nodes=12, priors=[0.1, 0.1, 0.8]), "label", "weight"),
    (CARTRegressor(max_leaf_nodes=25, min_impurity_decrease=0.001, min_samples_split=0.01), "number", None),
    (CARTClassifier(n_jobs=3, min_samples_leaf=2), "two", None),
    (CARTRegressor(min_samples_leaf=3, n_jobs=2), "number", None),
    (CARTRegressor(max_depth=5, ccp_alpha=0.01), "two", None),
    (CARTClassifier(max_bins=20, min_samples_leaf=2), "label", "weight"),
    (CARTClassifier(max_bins=255, max_depth=6, class_weight="balanced", midpoint="high"), "two", None),
    (CARTRegressor(max_bins=7), "number", None),
    (CARTRegressor(min_samples_leaf=4, min_weight_fraction_leaf=0.01), "number", "weight"),
    (CARTRegressor(max_bins=30, max_leaf_nodes=20, ccp_alpha=0.001), "two", "weight"),
]


@pytest.mark.parametrize(("model", "target", "weight"), MODELS, ids=lambda value: str(value)[:60])
def test_fit_grows_the_tree_of_the_table_in_memory(files, tmp_path, model, target, weight):
    whole, folder = files
    sample_weight = None if weight is None else whole[weight].to_numpy()
    expected = model.fit(whole.select(FEATURES), whole[target], sample_weight)
    expected.target_names_ = [target]  # a column of Arrow has no name
    tree, document = expected.tree_, expected.to_json()
    with Dataset.from_parquet(f"{folder}/*.parquet", target, weight=weight, features=FEATURES, scratch=tmp_path) as data:
        found = model.fit(data)
        assert data.n_samples == N
    assert found.tree_ == tree
    assert found.to_json() == document
    assert not list(tmp_path.iterdir())


def pieces(*tables: pa.Table) -> Any:
    return lambda: iter(tables)


def test_batches_and_files_give_the_same_table(files):
    whole, folder = files
    with Dataset.from_batches(pieces(whole[:1100], whole[1100:]), "label", features=FEATURES) as data:
        found = CARTClassifier(max_depth=4).fit(data)
        with pytest.raises(ValueError, match="'label' holds labels, which are not numeric: use CARTClassifier"):
            CARTRegressor(max_depth=3).fit(data)
    with Dataset.from_parquet(folder, "label", features=FEATURES) as data:
        assert CARTClassifier(max_depth=4).fit(data).tree_ == found.tree_
        assert CARTClassifier(max_depth=2).fit(data).get_depth() == 2  # prepared once, fitted twice


REFUSED = [
    (CARTClassifier(missing="surrogate"), "missing='surrogate' is not grown from a Dataset: use missing='direction'"),
    (CARTRegressor(criterion="poisson"), "criterion='poisson' is not grown from a Dataset: use 'squared_error'"),
    (CARTClassifier(max_features=2), "max_features=2 is not used with a Dataset"),
    (CARTClassifier(max_bins=256), "max_bins=256: with a Dataset at most 255"),
    (CARTClassifier(monotonic_cst={"wide": 1}), "monotonic_cst=.* is not used with a Dataset"),
    (CARTClassifier(ccp_alpha="cv"), "needs samples, which a Dataset does not give"),
    (CARTClassifier(categorical_features=["count"]), "give it where the Dataset is made"),
    (C45Classifier(), "use CARTClassifier"),
    (ID3Classifier(), "use CARTClassifier"),
    (RandomForestClassifier(oob_score=True), "oob_score=True is not found with a Dataset: leave it out, and score rows"),
    (RandomForestClassifier(recipe="c45"), "by gain ratio are not grown from a Dataset: use recipe='cart', or fit the table"),
    (OptimalTreeClassifier(max_depth=2), "OptimalTreeClassifier is not fitted to a Dataset"),
    (CHAIDClassifier(), "CHAIDClassifier is not fitted to a Dataset"),
]


@pytest.mark.parametrize(("model", "message"), REFUSED, ids=lambda value: str(value)[:50])
def test_what_is_not_grown_is_refused_before_the_table_is_read(files, model, message):
    data = Dataset.from_parquet(files[1], "label", features=FEATURES)
    with pytest.raises(ValueError, match=message):
        model.fit(data)
    assert "not prepared" in repr(data)


@pytest.mark.parametrize("entry", ESTIMATORS, ids=lambda entry: entry.name)
def test_every_estimator_takes_a_dataset_or_says_what_does(files, entry):
    data = Dataset.from_parquet(files[1], "two", features=FEATURES[:2])
    if entry.makes_forest or entry.name in ("CARTClassifier", "CARTRegressor", "TreeClassifier", "TreeRegressor"):
        model = entry.load()(max_depth=2, random_state=0, **({"n_estimators": 2} if entry.makes_forest else {}))
        with data:
            found = model.fit(data).feature_importances_.tolist()
        table = files[0]
        assert found == model.fit(table.select(FEATURES[:2]), table["two"]).feature_importances_.tolist()
        return
    with pytest.raises(ValueError, match=r"a Dataset: use CARTClassifier.*, or fit the table in memory"):
        entry.load()().fit(data)
    assert "not prepared" in repr(data)


@pytest.mark.parametrize(
    ("model", "target", "ordered"),
    [
        (CARTClassifier(), "two", False),
        (CARTClassifier(max_depth=8), "label", False),
        (CARTClassifier(nominal="one_vs_rest", max_bins=9, min_samples_leaf=2), "two", False),
        (CARTRegressor(), "number", True),
        (CARTRegressor(min_samples_leaf=3), "number", False),
    ],
    ids=str,
)
def test_columns_may_have_many_categories(model, target, ordered):
    """Some of them are missing, and another column has the most that are counted with numbers."""
    rng = np.random.default_rng(1)
    zones = rng.integers(0, 400, N)
    names = [f"z{(i * 7) % 400:03}" for i in range(400)]
    whole = table_of(5).select(["wide", "region", target])
    zone = pa.array([None if zone % 11 == 3 else names[zone] for zone in zones])
    if ordered:
        zone = pa.DictionaryArray.from_arrays(pa.array(zones, pa.int16()), names, ordered=True)
    whole = whole.append_column("zone", zone).append_column("few", pa.array([f"f{i % 255}" for i in rng.permutation(N)]))
    expected = model.fit(whole.drop_columns(target), whole[target])
    tree, schema = expected.tree_, expected.schema_
    with Dataset.from_batches(pieces(whole[:1300], whole[1300:]), target) as data:
        found = model.fit(data)
    assert schema == found.schema_
    assert tree == found.tree_
    assert max(len(feature.categories or ()) for feature in schema.features) >= 360


def test_counts_of_categories_must_fit_into_the_memory():
    rng = np.random.default_rng(0)
    n = 40_000
    columns = {f"c{j}": pa.array([f"v{i}" for i in rng.permutation(n)]) for j in range(3)}
    table = pa.table(columns | {"y": rng.integers(0, 15, n)})
    with (
        Dataset.from_batches(pieces(table), "y", memory="64MiB") as data,
        pytest.raises(ValueError, match=r"column 'c0' has 40,000 categories; leave it out by features="),
    ):
        CARTClassifier().fit(data)


def test_nodes_must_fit_into_the_memory(files, monkeypatch):
    with Dataset.from_parquet(files[1], "label", features=FEATURES, memory="64MiB") as data:
        monkeypatch.setattr(data, "memory", 4 * (69 + 3 * 8) * 40)
        with pytest.raises(ValueError, match="the tree has more than 40 nodes, and memory= has no room for them: give min_"):
            CARTClassifier().fit(data)
        assert CARTClassifier(max_depth=4).fit(data).tree_.node_count == 31


def test_bins_need_memory_for_one_feature(files, monkeypatch):
    with Dataset.from_parquet(files[1], "label", features=FEATURES, memory="64MiB") as data:
        monkeypatch.setattr(data, "memory", 24 * N - 1)
        with pytest.raises(ValueError, match=r"max_bins=9: finding bins takes 24 bytes of memory a row, here .* larger memory="):
            CARTClassifier(max_bins=9).fit(data)


def test_a_dataset_is_no_array(files):
    data = Dataset.from_parquet(files[1], "label", features=FEATURES)
    model = CARTClassifier(max_depth=1).fit(files[0].select(FEATURES), files[0]["label"])
    with pytest.raises(TypeError, match="a Dataset is not loaded into memory: fit CARTClassifier or CARTRegressor"):
        model.predict(data)


def test_targets_and_weights_are_columns(files):
    data = Dataset.from_parquet(files[1], "label", features=FEATURES)
    with pytest.raises(ValueError, match=r"call fit\(data\) alone"):
        CARTClassifier().fit(data, files[0]["label"])


@pytest.mark.parametrize("model", [CARTClassifier(min_samples_leaf=5), CARTRegressor(max_depth=4)])
def test_shards_stay_mapped_only_where_the_machine_has_room(files, monkeypatch, model):
    target = "label" if isinstance(model, CARTClassifier) else "number"
    kept, trees = [], []
    close = out_of_core.OutOfCore.close
    monkeypatch.setattr(out_of_core.OutOfCore, "close", lambda self: (kept.append(len(self._mapped)), close(self)))
    for free in (2**40, 0):
        monkeypatch.setattr(out_of_core, "free_memory", lambda free=free: free)
        with Dataset.from_parquet(files[1], target, features=FEATURES) as data:
            trees.append(model.fit(data).tree_)
    assert trees[0] == trees[1]
    assert kept[0] > kept[1] == 0


def test_weights_of_numbers_span_a_stated_range():
    columns = {"x": np.arange(9.0), "y": np.arange(9.0) ** 2}
    for lightest in (1e-14, 1e-28):
        table = pa.table(columns | {"w": np.append(np.ones(8), lightest)})
        data = Dataset.from_batches(lambda table=table: iter([table]), "y", weight="w")
        if lightest < 1e-15:
            with pytest.raises(
                ValueError, match=r"smallest positive weight is 1e-28, and all together are 8: .* at least 1.78e-15"
            ):
                CARTRegressor().fit(data)
        else:
            expected = CARTRegressor().fit(table.select(["x"]), table["y"], sample_weight=table["w"].to_numpy())
            assert CARTRegressor().fit(data).tree_ == expected.tree_
        data.close()


BAD_TABLES = [
    ({"x": [1.0, np.inf], "y": [0, 1]}, "infinite"),
    ({"x": [1.0, 2.0], "y": [0, None]}, "missing"),
    ({"x": [1.0, 2.0], "y": [0.5, 1.0]}, "0.5"),
    ({"x": [f"c{i}" for i in range(2**16)], "y": [0] * 2**16}, "more than 65,535 categories"),
    ({"x": pa.array([], pa.float64()), "y": pa.array([], pa.int64())}, "no rows"),
]


@pytest.mark.parametrize(("columns", "message"), BAD_TABLES, ids=[message for _, message in BAD_TABLES])
def test_a_bad_table_raises_and_leaves_nothing(tmp_path, columns, message):
    data = Dataset.from_batches(pieces(pa.table(columns)), "y", scratch=tmp_path)
    with pytest.raises(ValueError, match=message):
        CARTClassifier().fit(data)
    data.close()
    assert not list(tmp_path.iterdir())


def test_bad_arguments_name_what_is_there(files, tmp_path):
    with pytest.raises(ValueError, match=r"target='colour': there is no such column; the columns are 'wide', 'narrow'"):
        Dataset.from_parquet(files[1], "colour")
    with pytest.raises(ValueError, match="features names 'colour'"):
        Dataset.from_parquet(files[1], "label", features=["colour"])
    with pytest.raises(ValueError, match="features names 'wide' more than once"):
        Dataset.from_parquet(files[1], "label", features=["wide", "narrow", "wide"])
    with pytest.raises(TypeError, match="features='wide': must be a list of column names"):
        Dataset.from_parquet(files[1], "label", features="wide")
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        Dataset.from_parquet(tmp_path / "none.parquet", "label")
    with pytest.raises(ValueError, match="memory='much': must be a number of bytes"):
        Dataset.from_parquet(files[1], "label", memory="much")
    with pytest.raises(ValueError, match="at least 64 MiB"):
        Dataset.from_parquet(files[1], "label", memory=5)
    with pytest.raises(FileNotFoundError, match=r"scratch='.*none': no folder can be made there"):
        Dataset.from_parquet(files[1], "label", scratch=tmp_path / "none").prepare()
    weighed = pa.table({"x": [1.0, 2.0], "y": [0, 1], "w": [1.0, -2.0]})
    with pytest.raises(ValueError, match=r"sample_weight\[3\] is -2.0"):
        Dataset.from_batches(pieces(weighed.set_column(2, "w", pa.array([1.0, 1.0])), weighed), "y", weight="w").prepare()
    pq.write_table(pa.table({"x": [1.0], "y": [0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"y": [0]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b.parquet has no column 'x'"):
        Dataset.from_parquet(f"{tmp_path}/*.parquet", "y")


def cells(kind: str, i: int) -> pa.Array:
    """Some cells of a column, of the type that one file gives it."""
    numbers = np.random.default_rng(i).integers(0, 50, 300)
    if kind == "null":
        return pa.nulls(300)
    if kind == "text":
        return pa.array([f"v{number % 9}" for number in numbers])
    if kind.startswith("dictionary"):
        values = [f"v{number}" for number in range(9)][:: -1 if kind == "dictionary, reversed" else 1]
        return pa.DictionaryArray.from_arrays(pa.array(numbers % 9, pa.int8()), values, ordered=kind == "dictionary, ordered")
    return pa.array((numbers + 0.25 * kind.startswith("float")).astype(kind))


def in_parts(*kinds: str) -> list[pa.Table]:
    rng = np.random.default_rng(len(kinds))
    return [
        pa.table({"x": cells(kind, i), "other": rng.random(300), "y": rng.integers(0, 3, 300)}) for i, kind in enumerate(kinds)
    ]


@pytest.mark.parametrize(
    "kinds",
    [
        ("int32", "int64", "float64"),
        ("int16", "null", "float32", "int64"),
        ("null", "float64", "float32"),
        ("null", "text", "null"),
        ("dictionary", "dictionary, reversed"),
    ],
    ids=str,
)
def test_types_may_become_wider_from_file_to_file(tmp_path, kinds):
    """The tree is that of the column in its widest type."""
    tables = in_parts(*kinds)
    for i, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"{i}.parquet")
    whole = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    model = CARTClassifier(min_samples_leaf=5)
    expected = model.fit(whole.select(["x", "other"]), whole["y"])
    tree, schema = expected.tree_, expected.schema_
    with Dataset.from_parquet(tmp_path, "y") as data:
        found = model.fit(data)
    assert (found.tree_, found.schema_) == (tree, schema)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (("int64", "text"), "batch 1 has categories, and rows before it have numbers: give the column one type in all files"),
        (("text", "int64"), "batch 1 has numbers, and rows before it have categories"),
        (("text", "dictionary, ordered"), "batch 1 has declared categories, and rows before it have plain values"),
        (("int64", "bool"), "batch 1 has categories, and rows before it have numbers"),
    ],
    ids=str,
)
def test_kinds_that_differ_raise(kinds, message):
    with pytest.raises(TypeError, match=f"column 'x' of {message}"):
        Dataset.from_batches(pieces(*in_parts(*kinds)), "y").prepare()


@pytest.mark.parametrize("empty", [pa.string(), pa.bool_(), pa.dictionary(pa.int8(), pa.string())], ids=str)
@pytest.mark.parametrize("kind", ["int16", "float32", "int64"])
def test_text_without_a_value_after_numbers_is_missing_numbers(empty, kind):
    tables = in_parts(kind, "null", kind)
    other = [tables[0], tables[1].set_column(0, "x", pa.nulls(300, empty)), tables[2]]
    model = CARTClassifier(min_samples_leaf=5)
    with Dataset.from_batches(pieces(*tables), "y") as data:
        tree = model.fit(data).tree_
    with Dataset.from_batches(pieces(*other), "y") as data:
        assert model.fit(data).tree_ == tree


@pytest.mark.parametrize("empty", [pa.string(), pa.bool_(), pa.null(), pa.float64()], ids=str)
def test_a_column_without_a_value_has_the_kind_of_its_type(empty):
    table = in_parts("null")[0].set_column(0, "x", pa.nulls(300, empty))
    expected = CARTClassifier(max_depth=2).fit(table.select(["x", "other"]), table["y"]).schema_
    with Dataset.from_batches(pieces(table[:100], table[100:]), "y") as data:
        assert CARTClassifier(max_depth=2).fit(data).schema_ == expected


def test_orders_and_labels_that_differ_raise():
    small, large = ({"x": pa.DictionaryArray.from_arrays([0, 1], values, ordered=True), "y": [0, 1]} for values in ("ab", "ba"))
    with pytest.raises(ValueError, match="column 'x' of batch 1 declares the order 'b', 'a', and rows before it 'a', 'b'"):
        Dataset.from_batches(pieces(pa.table(small), pa.table(large)), "y").prepare()
    with pytest.raises(TypeError, match="the target 'y' of batch 1 has labels, and rows before it have numbers"):
        Dataset.from_batches(pieces(pa.table({"x": [1.0], "y": [0]}), pa.table({"x": [1.0], "y": ["a"]})), "y").prepare()


def test_missing_values_are_refused_where_the_recipe_does(files):
    with (
        Dataset.from_parquet(files[1], "label", features=FEATURES) as data,
        pytest.raises(ValueError, match="'wide' has missing"),
    ):
        CARTClassifier(missing="error").fit(data)
    known, model = ["narrow", "count", "size", "flag"], CARTClassifier(missing="error", max_leaf_nodes=9)
    with Dataset.from_parquet(files[1], "label", features=known) as data:
        assert model.fit(data).tree_ == CARTClassifier(**model.get_params()).fit(files[0].select(known), files[0]["label"]).tree_


@pytest.mark.parametrize("when", ["before", "between", "during", "removed"])
def test_a_file_that_changes_ends_the_fit(tmp_path, when):
    """Files are read in order; a listener changes one while the others are read."""
    for i in range(2):
        pq.write_table(table_of(i, 900), tmp_path / f"{i}.parquet")
    data = Dataset.from_parquet(tmp_path, "label", features=FEATURES)

    def change(step: str, done: int, _total: int) -> None:
        if done == (0 if when == "before" else 30 if when == "during" else 50):
            path = tmp_path / ("0.parquet" if when in ("before", "during") else "1.parquet")
            path.unlink() if when == "removed" else os.utime(path, (1, 1))

    with pytest.raises(OSError, match=r"[01]\.parquet has changed since the Dataset was made: make a new one"), progress(change):
        CARTClassifier().fit(data)


def test_damaged_and_foreign_files_are_named(tmp_path):
    path = tmp_path / "table.parquet"
    pq.write_table(table_of(0, 2000).select(["wide", "two"]), path, row_group_size=500, write_page_checksum=True)
    whole = path.read_bytes()
    for content in (whole[:-100], b"x,y\n1,2\n", b""):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"table\.parquet cannot be read as Parquet, because it is another kind of file, or"):
            Dataset.from_parquet(path, "two")
    damaged = bytearray(whole)
    damaged[len(whole) // 2 : len(whole) // 2 + 3000] = bytes(3000)
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"table\.parquet cannot be read as Parquet after row (1,000|500|0)"):
        Dataset.from_parquet(path, "two", scratch=tmp_path).prepare()
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


@pytest.mark.parametrize("target", ["two", "text"])
def test_text_that_is_not_utf8_is_an_error_with_its_column(target, tmp_path):
    """PyArrow reads such text; only a look at it fails."""
    path = tmp_path / "table.parquet"
    table = pa.table({"text": ["Bonn", "Köln", "Ulm"] * 10, "two": [0, 1, 1] * 10})
    pq.write_table(table, path, compression="none", write_statistics=False)
    path.write_bytes(path.read_bytes().replace("Köln".encode(), b"K\xff\xfeln"))
    with pytest.raises(ValueError, match=r"column 'text' has damaged values \(.*utf-8"):
        Dataset.from_parquet(path, target, scratch=tmp_path).prepare()


@pytest.mark.parametrize("target", ["two", "text"])
def test_a_position_past_the_end_of_a_dictionary_is_an_error_with_its_column(target):
    """A damaged Parquet file has such positions, and PyArrow reads them."""
    positions = pa.array([0, 1, 0, 7], pa.int32())
    text = pa.DictionaryArray.from_arrays(positions, pa.array(["a", "b"]), safe=False)
    table = pa.table({"text": text, "two": [0, 1, 0, 1]})
    with pytest.raises(ValueError, match=r"column 'text' has damaged values \(.*7"):
        Dataset.from_batches(lambda: iter([table]), target).prepare()
    with pytest.raises(ValueError, match=r"column 'text' has damaged values \(.*7"):
        CARTClassifier().fit(table.select(["text"]), table["two"])


def test_a_name_of_a_column_that_is_not_utf8_is_an_error_of_the_file(tmp_path):
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"Köln": [0.5, 1.5], "two": [0, 1]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace("Köln".encode(), b"K\xff\xfeln"))
    with pytest.raises(ValueError, match=r"table\.parquet cannot be read as Parquet"):
        Dataset.from_parquet(path, "two")


def test_the_disk_must_have_room_before_a_row_is_read(files, tmp_path, monkeypatch):
    data = Dataset.from_parquet(files[1], "label", weight="weight", features=FEATURES, scratch=tmp_path)
    n_bytes = N * (8 + 4 + 8 + 4 + 4 + 4 + 8 + 20 + 16)  # values, codes in tiles of eight, what a fit adds, target and weight

    class Usage:
        free = n_bytes - 1

    monkeypatch.setattr(store.shutil, "disk_usage", lambda path: Usage)
    monkeypatch.setattr(data._source, "batches", lambda names: pytest.fail("rows are read"))
    with pytest.raises(OSError, match=f"{n_bytes / 1e9:.3g} GB are needed: name a folder with more room by scratch="):
        data.prepare()
    assert not list(tmp_path.iterdir())


OVER_BUDGET = """
import sys, threading
from fasttree import CARTClassifier, Dataset
def anonymous():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024
peak, over = 0, threading.Event()
def watch():
    global peak
    while not over.wait(0.005):
        peak = max(peak, anonymous())
thread = threading.Thread(target=watch)
thread.start()
with Dataset.from_parquet(f"{sys.argv[2]}/one*.parquet", "y", memory=sys.argv[1], scratch=sys.argv[2]) as data:
    model = CARTClassifier(max_depth=4, min_samples_leaf=50).fit(data)
over.set()
thread.join()
print(peak, model.tree_.n_samples[0])
"""


@pytest.mark.skipif("FASTTREE_SHARED" not in os.environ or not Path("/proc/self/status").exists(), reason="takes seconds; Linux")
def test_a_fit_keeps_to_its_memory(tmp_path):
    """The row group of the file is larger than what is allowed: the memory that is named and 256 MB for the libraries."""
    n_rows, n_columns, allowed = 1_050_000, 40, 64 * 2**20 + 256 * 10**6
    x = np.random.default_rng(0).normal(size=(n_columns, 50_000))
    columns = {f"x{j}": np.tile(x[j], 21) for j in range(n_columns)} | {"y": np.tile(x[0] + x[1] > 0, 21).astype(np.int8)}
    pq.write_table(pa.table(columns), tmp_path / "one row group.parquet", use_dictionary=False, compression="none")
    ended = subprocess.run([sys.executable, "-c", OVER_BUDGET, "64MiB", tmp_path], capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    peak, n_samples = map(int, ended.stdout.split())
    assert n_samples == n_rows
    assert 8 * n_samples * n_columns > allowed
    assert peak <= allowed


@pytest.mark.skipif(os.name != "posix", reason="no such limits")
def test_a_file_beyond_the_limit_of_the_process_says_so_and_leaves_nothing(files, tmp_path):
    """The system refuses to write, though the disk seemed to have room."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    data = Dataset.from_batches(pieces(files[0]), "label", features=FEATURES, scratch=tmp_path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OSError, match="larger than the limit for files of this process: name a folder with more room"):
            data.prepare()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("stage", ["reading", "large nodes", "subtrees"])
def test_an_interrupt_leaves_nothing(files, tmp_path, stage):
    def interrupt(step: str, done: int, _total: int) -> None:
        if step == stage and done > 0:
            raise KeyboardInterrupt

    table = Dataset.from_batches(pieces(files[0][:1500], files[0][1500:]), "label", features=FEATURES, scratch=tmp_path, n_rows=N)
    with pytest.raises(KeyboardInterrupt), table as data, progress(interrupt):
        CARTClassifier().fit(data)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("first", ["text", "numbers"])
def test_types_may_change_within_a_shard(tmp_path, first):
    """Text without a value is missing numbers, numbers that are all missing are no categories, and integers may become wide."""
    empty = {"text": pa.array([None] * 50, pa.string()), "numbers": pa.array([np.nan] * 50)}[first]
    rest = {"text": pa.array([0.5, None, *range(98)]), "numbers": pa.array(["a", None] + ["b"] * 98)}[first]
    counts = [pa.array(range(50)), pa.array(range(2**24, 2**24 + 100))]
    pieces_of = [pa.table({"x": part, "count": count, "y": np.arange(len(part)) % 3}) for part, count in
                 zip((empty, rest), counts, strict=True)]  # fmt: skip
    with Dataset.from_batches(lambda: iter(pieces_of), "y", scratch=tmp_path) as data:
        (portion,) = data.prepare().prepared.portions(lambda target: target)
        values, count = portion.columns
        if first == "text":
            np.testing.assert_array_equal(values, np.r_[np.full(50, np.nan), 0.5, np.nan, range(98)])
        else:
            np.testing.assert_array_equal(values, [0] * 50 + [1, 0] + [2] * 98)
        np.testing.assert_array_equal(count, np.r_[0:50, 2**24 : 2**24 + 100])
        assert data.missing_cell()[1] == 0


@pytest.mark.parametrize("byte", [0, 100_000, 250_000])
def test_a_full_disk_says_so_and_leaves_nothing(files, tmp_path, monkeypatch, byte):
    """The disk has room for so many bytes, whatever was promised before."""
    written = 0

    def disk_usage(path: Any) -> Any:
        class Usage:
            free = byte - written

        return Usage

    def counting(real: Any) -> Any:
        def called(*given: Any) -> None:
            nonlocal written
            real(*given)
            written += sum(array.nbytes for array in given[-1])

        return called

    for owner, name in ((store.ArrayFile, "__init__"), (store.GrowingFile, "add")):
        monkeypatch.setattr(owner, name, counting(getattr(owner, name)))
    monkeypatch.setattr(store.shutil, "disk_usage", disk_usage)
    full = pytest.raises(OSError, match="are needed: name a folder with more room by scratch=")
    with full, Dataset.from_batches(pieces(files[0]), "label", features=FEATURES, scratch=tmp_path) as data:
        CARTClassifier().fit(data)
    assert not list(tmp_path.iterdir())


def test_a_kept_table_is_not_read_again(files, tmp_path, monkeypatch):
    """It is read again if a file has changed, or if what was kept is damaged."""
    source, scratch = tmp_path / "files", tmp_path / "scratch"
    source.mkdir()
    scratch.mkdir()
    for i in range(2):
        pq.write_table(files[0][i * 900 : i * 900 + 900], source / f"{i}.parquet")
    n_read = 0
    real = type(Dataset.from_parquet(source, "label")._source).batches

    def counting(self: Any, names: Any) -> Any:
        nonlocal n_read
        n_read += 1
        return real(self, names)

    monkeypatch.setattr("fasttree._scale.source.ParquetFiles.batches", counting)

    def fit(target: str) -> Any:
        made = {"weight": "weight", "features": FEATURES, "scratch": scratch, "keep": True}
        with Dataset.from_parquet(source, target, **made) as data:
            model = CARTClassifier(max_depth=5).fit(data)
            assert (data.n_samples, data.missing_cell()[0].name) == (1800, "wide")
        return model.to_json()

    first, other = fit("label"), fit("two")
    kept = sorted(scratch.iterdir())
    assert (n_read, len(kept)) == (2, 2)
    assert all(path.name.startswith("fasttree-kept-") for path in kept)
    assert (fit("label"), fit("two"), n_read) == (first, other, 2)
    os.utime(source / "0.parquet", (1, 1))
    assert (fit("label"), n_read) == (first, 3)
    for path in kept:
        names = [name for name, _, _ in json.loads((path / "manifest.json").read_text())["files"]]
        assert sorted(file.name for file in path.iterdir()) == sorted([*names, "manifest.json"])
        damaged = path / names[0]
        damaged.write_bytes(damaged.read_bytes()[:-1])
    assert (fit("label"), fit("label"), n_read) == (first, first, 4)
    assert sorted(scratch.iterdir()) == kept
    with pytest.raises(ValueError, match="keep=True keeps the table in the folder scratch: name one"):
        Dataset.from_parquet(source, "label", keep=True)
    with pytest.raises(ValueError, match="keep='fits': must be False, True or 'table'"):
        Dataset.from_parquet(source, "label", scratch=scratch, keep="fits")


@pytest.mark.parametrize("stage", ["large nodes", "subtrees"])
@pytest.mark.parametrize("target", ["label", "number"])
def test_an_interrupted_fit_continues_where_it_stopped(files, tmp_path, monkeypatch, target, stage):
    """Both fits together ask the shards as often as one that is not interrupted."""
    calls = {"ask": 0, "collect": 0}

    def counting(name: str) -> Any:
        real = getattr(out_of_core.OutOfCore, name)

        def called(*given: Any) -> Any:
            calls[name] += 1
            return real(*given)

        return called

    for name in calls:
        monkeypatch.setattr(out_of_core.OutOfCore, name, counting(name))

    def interrupt(step: str, done: int, _total: int) -> None:
        if step == stage and done > 0:
            raise KeyboardInterrupt

    model = CARTClassifier() if target == "label" else CARTRegressor()
    asked = {"features": FEATURES, "scratch": tmp_path, "keep": True}
    with Dataset.from_parquet(files[1], target, **asked) as data:
        model.fit(data)
    once, calls["ask"], calls["collect"] = dict(calls), 0, 0
    with pytest.raises(KeyboardInterrupt), Dataset.from_parquet(files[1], target, **asked) as data, progress(interrupt):
        model.fit(data)
    assert calls["ask"] > 0
    monkeypatch.delattr("fasttree._scale.source.ParquetFiles.batches")
    (kept,) = tmp_path.iterdir()
    assert len(list(kept.glob("fit-*"))) == 1
    with Dataset.from_parquet(files[1], target, **asked) as data:
        tree = model.fit(data).tree_
        assert calls == once
        assert tree == model.fit(files[0].select(FEATURES), files[0][target]).tree_
        assert not list(kept.glob("fit-*"))
    assert list(tmp_path.iterdir()) == [kept]


def test_a_fit_with_other_parameters_does_not_continue_an_interrupted_one(files, tmp_path):
    def interrupt(step: str, done: int, _total: int) -> None:
        if step == "subtrees" and done > 0:
            raise KeyboardInterrupt

    asked = {"features": FEATURES, "scratch": tmp_path, "keep": True}
    with Dataset.from_parquet(files[1], "two", **asked) as data:
        for model in (CARTClassifier(class_weight={0: 1, 1: 3}), CARTClassifier(max_bins=20)):
            with pytest.raises(KeyboardInterrupt), progress(interrupt):
                model.fit(data)
        tree = CARTClassifier().fit(data).tree_
    assert tree == CARTClassifier().fit(files[0].select(FEATURES), files[0]["two"]).tree_


KILLED = """
import os, signal, sys
from fasttree import CARTClassifier, Dataset
from fasttree._scale import cluster, dataset, fitting, out_of_core
def killing(function):
    calls = []
    def called(*given, **named):
        calls.append(function)
        if len(calls) == 1 + (sys.argv[3] in ("reading", "a round")):
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*given, **named)
    return called
dataset.LEAST_SHARD_ROWS = dataset.MOST_SHARD_ROWS = 500
fitting.rows_in_memory = lambda *given: 100
owner, name = {
    "reading": (dataset._Preparation, "_write"), "encoding": (dataset._Preparation, "_encoded"),
    "a round": (out_of_core.OutOfCore, "ask"), "an exchange": (out_of_core.OutOfCore, "collect"),
    "a subtree": (cluster, "grow_below"),
}[sys.argv[3]]
setattr(owner, name, killing(getattr(owner, name)))
with Dataset.from_parquet(sys.argv[1], "y", scratch=sys.argv[2], keep=sys.argv[4] == "kept") as data:
    CARTClassifier().fit(data)
"""


@pytest.mark.skipif(os.name != "posix", reason="no such signal")
@pytest.mark.parametrize(
    ("stage", "keep"),
    [
        ("reading", ""),
        ("encoding", ""),
        ("a round", ""),
        ("an exchange", ""),
        ("a subtree", ""),
        ("reading", "kept"),
        ("a subtree", "kept"),
    ],
)
def test_a_killed_process_leaves_no_file(tmp_path, stage, keep):
    """A folder is left, which the next process removes; what is kept is whole, and the next fit has its rounds."""
    path, scratch = tmp_path / "table.parquet", tmp_path / "scratch"
    scratch.mkdir()
    x = np.arange(2000) * 7 % 1009
    table = pa.table({"x": x / 3, "y": x // 20 % 2})
    pq.write_table(table, path, row_group_size=500)
    ended = subprocess.run([sys.executable, "-c", KILLED, path, scratch, stage, keep], capture_output=True, check=False)
    assert ended.returncode == -9, ended.stderr.decode()
    rounds = list(scratch.glob("fasttree-kept-*/fit-*/*.npz"))
    assert bool(rounds) == (keep == "kept" and stage == "a subtree")
    if not keep:
        assert len(list(scratch.iterdir())) == 1
        assert not [path for path in scratch.rglob("*") if path.is_file()]
    with Dataset.from_parquet(path, "y", scratch=scratch, keep=bool(keep)) as data:
        assert CARTClassifier().fit(data).tree_ == CARTClassifier().fit(table.select(["x"]), table["y"]).tree_
    assert [path.name[:14] for path in scratch.iterdir()] == ["fasttree-kept-"] * bool(keep)


@pytest.mark.skipif(os.name != "posix", reason="no such locks")
def test_folders_of_the_dead_are_removed_unless_they_are_locked(tmp_path):
    """Another container may use a folder, whose processes are not seen here."""
    for name in ("free", "locked"):
        (tmp_path / f"fasttree-4194999-{name}").mkdir()
    lock = store._locked(tmp_path / "fasttree-4194999-locked")
    store.remove_left_over(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["fasttree-4194999-locked"]
    assert lock is not None
    os.close(lock)


def test_what_is_forgotten_is_removed(tmp_path):
    data = Dataset.from_batches(pieces(table_of(3, 20)), "label", features=FEATURES, scratch=tmp_path).prepare()
    assert len(list(tmp_path.iterdir())) == 1
    del data
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_progress_reports_every_step(files):
    seen: dict[str, list[int]] = {}
    reported = progress(lambda step, done, total: seen.setdefault(step, []).append(done))
    with Dataset.from_parquet(files[1], "label", features=FEATURES) as data, reported:
        CARTClassifier().fit(data)
    assert list(seen) == ["reading", "large nodes", "subtrees"]
    assert all(parts == sorted(parts) and parts[0] == 0 for parts in seen.values())
    assert seen["reading"][-1] == seen["large nodes"][-1] == seen["subtrees"][-1] == 100
