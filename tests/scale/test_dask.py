"""Trees from Dask collections are those from the table in memory, whatever the partitions and the workers do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_dataset import FEATURES, table_of

from fasttree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    Dataset,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    OptimalTreeClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    progress,
)
from fasttree._scale import fitting
from fasttree._scale.remote import bins, dask_table, tasks

pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")

N = 1500
Frame = Any


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two processes on this machine."""
    import dask.config
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),  # so that they start sooner
        dask.config.set({"distributed.worker.profile.enabled": False}),  # reads frames that run, unsafe without the lock
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=True) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return table_of(0, N).to_pandas()


@pytest.fixture(autouse=True)
def small_subtrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "rows_in_memory", lambda *given: 300)


def parts_of(frame: pd.DataFrame, ends: list[int]) -> Frame:
    """A frame in partitions that end at some rows, whose divisions are not known."""
    parts = [frame.iloc[start:stop] for start, stop in zip([0, *ends], [*ends, len(frame)], strict=True)]
    return dd.from_map(lambda part: part, parts, meta=frame.iloc[:0])


MODELS: list[tuple[Any, str, str | None, list[int]]] = [
    (CARTClassifier(min_samples_leaf=10), "label", None, [0, 0, 700, 701]),
    (CARTClassifier(criterion="entropy", class_weight="balanced", max_depth=5), "label", "weight", [900]),
    (CARTClassifier(criterion="misclassification", priors=[0.4, 0.6], max_leaf_nodes=9), "two", None, []),
    (CARTRegressor(min_samples_leaf=20), "number", None, [100, 200, 300, 400, 1499]),
    (CARTClassifier(max_bins=20, class_weight="balanced"), "label", "weight", [0, 700]),
    (CARTRegressor(min_samples_leaf=20), "number", "weight", [0, 700, 701]),
]


@pytest.mark.parametrize(
    ("model", "target", "weight", "ends"),
    MODELS,
    ids=["gini", "entropy", "misclassification", "numbers", "bins", "weights of numbers"],
)
def test_any_partitions_grow_the_tree_of_the_table_in_memory(client, table, model, target, weight, ends):
    sample_weight = None if weight is None else table[weight]
    expected = model.fit(table[FEATURES], table[target], sample_weight).to_json()
    frame = parts_of(table, ends)
    found = model.fit(frame[FEATURES], frame[target], None if weight is None else frame[weight])
    assert found.to_json() == expected


FEW: Any = {"n_estimators": 3, "random_state": 3}
FORESTS: list[tuple[Any, str, str | None]] = [
    (RandomForestClassifier(**FEW), "label", None),
    (RandomForestClassifier(**FEW, bootstrap="balanced", class_weight="balanced", ccp_alpha=0.001), "label", "weight"),
    (RandomForestClassifier(**FEW), "two", "times"),
    (RandomForestRegressor(**FEW, min_weight_fraction_leaf=0.01), "number", "times"),
    (ExtraTreesRegressor(**FEW, max_samples=500), "number", None),
]


@pytest.mark.parametrize("room", [N, N - 1], ids=["the table fits", "a bag fits"])
def test_forests_are_those_of_the_table_in_memory(client, table, monkeypatch, room):
    monkeypatch.setattr(dask_table, "rows_in_memory", lambda *given: room)
    weights = table.assign(times=np.arange(N) % 4)  # of which 0 is not drawn
    frame = parts_of(weights, [0, 700, 701])
    for forest, target, weight in FORESTS:
        expected = forest.fit(weights[FEATURES], weights[target], None if weight is None else weights[weight]).to_json()
        found = forest.fit(frame[FEATURES], frame[target], None if weight is None else frame[weight])
        assert found.to_json() == expected, forest


LARGE: list[tuple[Any, str, str | None]] = [
    (RandomForestClassifier(**FEW), "two", None),
    (RandomForestRegressor(**FEW, min_samples_leaf=3, ccp_alpha=0.001), "number", None),
    (RandomForestClassifier(**FEW, criterion="entropy", max_leaf_nodes=20), "label", "weight"),
    (RandomForestRegressor(**FEW, min_weight_fraction_leaf=0.01), "number", "times"),
]


def test_trees_grow_in_rounds_if_a_bag_is_too_large(client, table, monkeypatch):
    monkeypatch.setattr(dask_table, "rows_in_memory", lambda *given: 200)
    weights = table.assign(times=np.arange(N) % 4)
    frame = parts_of(weights, [0, 700, 701])
    for forest, target, weight in LARGE:
        expected = forest.fit(table[FEATURES], table[target], None if weight is None else weights[weight]).to_json()
        found = forest.fit(frame[FEATURES], frame[target], None if weight is None else frame[weight])
        assert found.to_json() == expected, forest


def test_a_bag_must_fit_into_the_memory_of_a_worker(client, table, monkeypatch):
    monkeypatch.setattr(dask_table, "rows_in_memory", lambda *given: 900)
    forest = ExtraTreesClassifier(n_estimators=2, bootstrap=True, random_state=0)
    with Dataset.from_dask(parts_of(table, [700]), "label", features=FEATURES) as data:
        message = (
            r"the bag of tree \d has 9\d\d rows, and a thread of a worker has room for 900 rows .*: give max_samples=900 or fewer"
        )
        with pytest.raises(ValueError, match=message):
            forest.fit(data)
        monkeypatch.setattr(data, "memory", 2 * 10 * N - 1)
        with pytest.raises(
            ValueError, match=r"half of the memory of a thread of a worker: give the workers more memory or fewer"
        ):
            forest.fit(data)


def test_trees_join_a_forest_later(client, table):
    seen = list[int]()
    forest = RandomForestClassifier(n_estimators=2, random_state=0, warm_start=True)
    with Dataset.from_dask(parts_of(table, [700]), "label", features=FEATURES) as data:
        with progress(lambda step, done, total: seen.append(done) if step == "trees" else None):
            forest.fit(data)
        assert sorted(set(seen)) == [0, 1, 2]
        forest.set_params(n_estimators=3).fit(data)
    whole = RandomForestClassifier(n_estimators=3, random_state=0).fit(table[FEATURES], table["label"])
    assert forest.ensemble_ == whole.ensemble_


def test_a_dataset_is_read_once_for_several_fits(client, table):
    frame = parts_of(table, [500, 1000])
    with Dataset.from_dask(frame, "label", features=FEATURES, n_shards=3) as data:
        for depth in (2, 4):
            found = CARTClassifier(max_depth=depth).fit(data).to_json()
            assert found == CARTClassifier(max_depth=depth).fit(table[FEATURES], table["label"]).to_json()
        assert data.n_samples == N
        assert data.schema.features[3].name == "region"


@pytest.mark.parametrize("most", [0, 2**40], ids=["large", "small"])
def test_messages_and_replies_of_any_size_grow_the_same_tree(client, table, monkeypatch, most):
    monkeypatch.setattr(tasks, "MOST_COPIED", most)
    monkeypatch.setattr(tasks, "MOST_COMBINED", most)
    frame = parts_of(table, [300, 500, 700, 900, 1100])
    with Dataset.from_dask(frame, "label", features=FEATURES, n_shards=6) as data:  # more than large replies at once
        assert len(data.prepared._held.futures) == 6 > tasks.FAN_IN_OF_LARGE
        found = CARTClassifier(max_depth=4).fit(data).to_json()
    assert found == CARTClassifier(max_depth=4).fit(table[FEATURES], table["label"]).to_json()


def test_columns_of_arrow_and_categories_that_differ_by_partition(client, table):
    halves = [table.iloc[:700].copy(), table.iloc[700:].copy()]
    halves[0]["region"] = pd.Categorical(halves[0]["region"].fillna("r0"))
    halves[1]["region"] = pd.Categorical(halves[1]["region"].fillna("r9"))
    frame = dd.from_map(lambda part: part, halves, meta=halves[0].iloc[:0])
    whole = frame.compute()
    model = CARTClassifier(max_depth=5)
    expected = model.fit(whole[FEATURES], whole["label"]).to_json()
    assert model.fit(frame[FEATURES], frame["label"]).to_json() == expected
    arrow = table.convert_dtypes(dtype_backend="pyarrow")
    frame = parts_of(arrow, [400])
    expected = model.fit(arrow[FEATURES], arrow["label"]).to_json()
    assert model.fit(frame[FEATURES], frame["label"]).to_json() == expected


def test_arrays_with_chunks_of_rows_and_columns_and_of_unknown_sizes(client, table):
    X, y = table[["wide", "narrow", "count"]].to_numpy(), table["two"].to_numpy()
    model = CARTClassifier(max_depth=4)
    expected = model.fit(X, y).to_json()
    chunked = da.from_array(X, chunks=(400, 2))
    assert model.fit(chunked, da.from_array(y, chunks=350)).to_json() == expected
    known = chunked.rechunk((400, 3))
    wanted = da.from_array(np.ones(N, bool), chunks=400)
    assert model.fit(known[wanted], da.from_array(y, chunks=400)[wanted]).to_json() == expected
    with pytest.raises(ValueError, match="X has 1500 rows in 4 blocks, and y has 1499 in 4: both must have the same rows"):
        model.fit(chunked, da.from_array(y[:-1], chunks=400))
    half = da.from_array(np.arange(N) < 700, chunks=400)
    with pytest.raises(ValueError, match=r"partition \d: X has \d+ rows and y has"):
        model.fit(known[wanted], da.from_array(y, chunks=400)[half])


def test_labels_of_a_numpy_array_keep_their_type(client):
    X, y = np.arange(40.0).reshape(-1, 1), np.repeat(["b", "abc"], 20)
    model, expected = CARTClassifier().fit(da.from_array(X, chunks=15), da.from_array(y, chunks=15)), CARTClassifier().fit(X, y)
    assert model.classes_.dtype == expected.classes_.dtype == "<U3"
    assert model.to_json() == expected.to_json()
    assert model.predict(da.from_array(X, chunks=15)).compute(scheduler="sync").dtype == "<U3"


def test_bins_that_take_more_memory_than_a_worker_has():
    with pytest.raises(ValueError, match=r"max_bins=9: finding bins takes 24 bytes a row .* give the workers more memory"):
        bins.check_memory(9, 2**30, 2**30)


def test_rows_that_belong_together_without_what_is_private_in_dask(table, monkeypatch):
    """Dask may rename its function at any time."""
    import dask.dataframe.dask_expr._expr as private

    monkeypatch.delattr(private, "are_co_aligned")
    frame, other = parts_of(table, [700]), parts_of(table[::-1], [800])
    together = dask_table._belong_together
    assert together(frame[FEATURES], frame["label"])
    assert together(frame[FEATURES], frame["two"] + 1)
    assert not together(frame[FEATURES], other["label"])
    assert not together(frame[FEATURES], frame.shuffle("two", npartitions=2)["label"])


def test_all_rows_of_one_parquet_table_are_used(client, table, tmp_path):
    """Dask reads a projection of few columns in fewer partitions, so that pairs of partitions lose rows."""
    narrow = table.drop(columns=["size"])
    for i in range(12):
        narrow.iloc[i * N // 12 : (i + 1) * N // 12].to_parquet(tmp_path / f"{i:02d}.parquet")
    frame = dd.read_parquet(tmp_path)
    features = [name for name in FEATURES if name != "size"]
    X, y = frame[features], frame["label"]
    assert len(X.to_delayed()) != len(y.to_delayed())
    found = CARTClassifier(max_depth=3).fit(X, y)
    assert found.tree_.n_samples[0] == N
    assert found.to_json() == CARTClassifier(max_depth=3).fit(narrow[features], narrow["label"]).to_json()


def test_rows_that_do_not_belong_together_are_an_error(client, table):
    model = CARTClassifier(max_depth=2)
    frame, other = parts_of(table, [700]), parts_of(table[::-1], [800])
    for y in (other["label"], frame["label"].repartition(npartitions=1)):
        with pytest.raises(ValueError, match="X and y come from different collections, and no divisions show which rows"):
            model.fit(frame[FEATURES], y)
    with pytest.raises(ValueError, match=r"partition \d: X has [78]00 rows and y has"):
        model.fit(frame[FEATURES], frame[frame["two"] > 0]["label"])
    X, y = dd.from_pandas(table[FEATURES], npartitions=2), dd.from_pandas(table["label"], npartitions=2)
    assert model.fit(X, y).to_json() == model.fit(table[FEATURES], table["label"]).to_json()
    shifted = dd.from_pandas(table["label"].set_axis([*range(N - 2), N - 2, N - 2]), npartitions=2)
    with pytest.raises(ValueError, match=r"come from different collections|have different labels in the index"):
        model.fit(X, shifted)
    with pytest.raises(TypeError, match="X is a Dask DataFrame and y a ndarray: give a column of the same collection"):
        model.fit(X, table["label"].to_numpy())
    with pytest.raises(TypeError, match="y is a Dask collection and X a DataFrame"):
        model.fit(table[FEATURES], y)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply"])
@pytest.mark.parametrize("model", [CARTClassifier(max_depth=3), RandomForestClassifier(**FEW)], ids=["tree", "forest"])
def test_predictions_are_lazy_and_of_the_same_kind(table, model, method):
    model.fit(table[FEATURES], table["label"])
    frame = parts_of(table, [0, 700])[FEATURES]
    found = getattr(model, method)(frame)
    assert isinstance(found, dd.Series if np.ndim(getattr(model, method)(table[FEATURES])) == 1 else dd.DataFrame)
    rows = found.compute(scheduler="sync")
    assert rows.index.equals(table.index)
    assert np.array_equal(rows.to_numpy(), getattr(model, method)(table[FEATURES]))
    X = table[["narrow", "count"]].to_numpy()
    model.fit(X, table["label"])
    chunked = da.from_array(X, chunks=(400, 1))
    found = getattr(model, method)(chunked)
    assert isinstance(found, da.Array)
    assert np.array_equal(found.compute(scheduler="sync"), getattr(model, method)(X))
    none = getattr(model, method)(chunked[chunked[:, 1] < 0])
    assert none.compute(scheduler="sync").shape == getattr(model, method)(X)[:0].shape


@pytest.mark.parametrize("model", [CARTRegressor(max_depth=3), RandomForestRegressor(**FEW, max_depth=3)], ids=["tree", "forest"])
def test_numbers_are_predicted_lazily(table, model):
    model.fit(table[FEATURES], table["number"])
    found = model.predict(parts_of(table, [700])[FEATURES])
    assert found.name == "number"
    assert np.array_equal(found.compute(scheduler="sync"), model.predict(table[FEATURES]))
    with pytest.raises(ValueError, match="X has 1 dimensions: must have 2"):
        model.predict(parts_of(table, [700])["wide"])


REFUSED = [
    (C45Classifier(), "splits that compete by gain ratio are not grown from a Dask collection: use CARTClassifier"),
    (OptimalTreeClassifier(max_depth=2), "OptimalTreeClassifier is not fitted to a Dask collection"),
    (RandomForestClassifier(oob_score=True), "oob_score=True is not found with a Dask collection"),
    (CARTClassifier(missing="surrogate"), "missing='surrogate' is not grown from a Dask collection: use missing='direction'"),
    (CARTClassifier(ccp_alpha="cv"), "needs samples, which a Dask collection does not give"),
    (CARTClassifier(missing="error"), "column 'wide'"),
    (CARTRegressor(), "the target 'label' holds labels, which are not numeric: use CARTClassifier"),
]


@pytest.mark.parametrize(("model", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_is_not_grown_is_refused(client, table, model, message):
    frame = parts_of(table, [700])
    with pytest.raises(ValueError, match=message):
        model.fit(frame[FEATURES], frame["label"])


def test_an_error_in_a_partition_names_it(client, table):
    wrong = table.copy()
    wrong.loc[1200, "wide"] = np.inf
    frame = parts_of(wrong, [700, 1100])
    with pytest.raises(ValueError, match=r"partition 2: .*'wide'.*infinite.*row 100"):
        CARTClassifier().fit(frame[FEATURES], frame["label"])
    empty = parts_of(table.iloc[:0], [0])
    with pytest.raises(ValueError, match="the table has no rows: give at least one"):
        CARTClassifier().fit(empty[FEATURES], empty["label"])


def test_a_worker_of_another_version_is_an_error(client, table, monkeypatch):
    monkeypatch.setattr("fasttree._scale.remote.partitions.PartForm.__new__.__defaults__", ("0.0.1",))
    frame = parts_of(table, [])
    with pytest.raises(RuntimeError, match=r"fasttree \S+ on .*, 0\.0\.1 where the fit is: install one version"):
        CARTClassifier().fit(frame[FEATURES], frame["label"])


def test_dask_is_not_imported_for_others():
    code = (
        "import sys, numpy as np\n"
        "from fasttree import CARTClassifier, Dataset\n"
        "CARTClassifier().fit(np.eye(3), [0, 1, 1]).predict(np.eye(3))\n"
        "assert not {'dask', 'distributed'} & set(sys.modules)\n"
        "sys.modules['dask'] = sys.modules['distributed'] = None\n"
        "class Array: ndim = 2; shape = 3, 1; chunks = ((3,), (1,))\n"
        "Array.__module__ = 'dask.array'\n"
        "try: CARTClassifier().fit(Array(), Array())\n"
        "except ImportError as error: print(error)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "a fit to a Dask collection needs Dask, which is not installed: pip install 'fasttree[dask]'\n"
