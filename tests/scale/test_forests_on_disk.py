"""Forests from a table on disk are those of the table in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from test_dataset import FEATURES, N, pieces, table_of

from fasttree import (
    Dataset,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    progress,
)
from fasttree._scale import dataset as dataset_module
from fasttree.estimators.forests import on_disk

ROOM = 4500  # rows of the bags of one pass


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """The table of `test_dataset`, indicators of which at most one is 1 in a row, and a target of few values."""
    whole, rng = table_of(0), np.random.default_rng(3)
    hot = rng.integers(0, 9, N)
    for k in range(9):
        whole = whole.append_column(f"hot{k}", pa.array((hot == k).astype(np.int8)))
    return whole.append_column("few", pa.array(rng.integers(0, 9, N)))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_module, "LEAST_SHARD_ROWS", 100)
    monkeypatch.setattr(dataset_module, "MOST_SHARD_ROWS", 900)
    monkeypatch.setattr(on_disk, "rows_in_memory", lambda *given: ROOM)


COLUMNS = [*FEATURES, *(f"hot{k}" for k in range(9))]
FEW = {"n_estimators": 4, "random_state": 3}
FORESTS: list[tuple[Any, str, str | None]] = [
    (RandomForestClassifier(**FEW, n_jobs=2), "label", None),
    (RandomForestClassifier(**FEW, max_samples=0.2, class_weight="balanced"), "label", "weight"),
    (RandomForestClassifier(**FEW, class_weight="balanced_subsample"), "two", None),
    (RandomForestClassifier(**FEW, criterion="entropy", max_leaf_nodes=30), "label", None),
    (RandomForestClassifier(**FEW, bootstrap="balanced", min_weight_fraction_leaf=0.01), "label", "weight"),
    (RandomForestClassifier(**FEW, bootstrap=False, max_samples=500, min_samples_leaf=3), "two", None),
    (RandomForestClassifier(**FEW, loss_matrix=[[0, 1, 5], [1, 0, 1], [2, 2, 0]], max_depth=4), "label", None),
    (RandomForestRegressor(**FEW), "number", None),
    (RandomForestRegressor(**FEW, max_samples=300, min_weight_fraction_leaf=0.02), "few", None),
    (RandomForestRegressor(**FEW, max_leaf_nodes=20, ccp_alpha=0.01), "number", None),
    (RandomForestRegressor(**FEW, min_weight_fraction_leaf=0.02), "number", "weight"),
    (ExtraTreesClassifier(**FEW, min_impurity_decrease=0.001), "label", None),
    (ExtraTreesRegressor(**FEW, max_samples=0.3), "number", None),
]


@pytest.mark.parametrize(("forest", "target", "weight"), FORESTS, ids=lambda value: " ".join(str(value).split())[:80])
def test_a_forest_from_the_disk_is_that_of_the_table_in_memory(table, forest, target, weight):
    sample_weight = None if weight is None else table[weight].to_numpy()
    expected = forest.fit(table.select(COLUMNS), table[target], sample_weight)
    expected.target_names_ = [target]  # a column of Arrow has no name
    ensemble, document = expected.ensemble_, expected.to_json()
    batches = pieces(table[:1100], table[1100:])
    with Dataset.from_batches(batches, target, weight=weight, features=COLUMNS) as data:
        found = forest.fit(data)
    assert found.ensemble_ == ensemble
    assert found.to_json() == document


def test_trees_share_passes_and_may_join_later(table, monkeypatch):
    """Two bags of 1,900 rows fit into the room for rows, and five trees take three passes."""
    n_passes, seen = 0, list[int]()
    real = on_disk._tables

    def counting(*given: Any) -> Any:
        nonlocal n_passes
        n_passes += 1
        return real(*given)

    monkeypatch.setattr(on_disk, "_tables", counting)
    reported = progress(lambda step, done, total: seen.append(done) if step == "trees" else None)
    forest = RandomForestClassifier(n_estimators=5, random_state=0, warm_start=True)
    with Dataset.from_batches(pieces(table), "label", features=FEATURES) as data:
        with reported:
            forest.fit(data)
        assert (n_passes, sorted(set(seen))) == (3, [0, 1, 2, 3, 4, 5])
        forest.set_params(n_estimators=6).fit(data)
    whole = RandomForestClassifier(n_estimators=6, random_state=0).fit(table.select(FEATURES), table["label"])
    assert forest.ensemble_ == whole.ensemble_


def test_bags_and_targets_must_fit_into_the_memory(table, monkeypatch):
    with Dataset.from_batches(pieces(table), "label", features=FEATURES, memory="64MiB") as data:
        monkeypatch.setattr(on_disk, "rows_in_memory", lambda *given: 1000)
        message = r"the bag of tree 0 has 1,9\d\d rows, and the memory of the Dataset has room for 1,000: give max_samples=1000"
        with pytest.raises(ValueError, match=message):
            RandomForestClassifier(random_state=0).fit(data)
        assert RandomForestClassifier(n_estimators=2, max_samples=1000).fit(data).ensemble_.n_trees == 2
        with pytest.raises(ValueError, match="'label' holds labels, which are not numeric: use a forest for classes"):
            RandomForestRegressor().fit(data)
        monkeypatch.setattr(data, "memory", 2 * 10 * N - 1)
        with pytest.raises(ValueError, match=r"a forest keeps targets and draws of all rows in memory, here .* larger memory="):
            RandomForestClassifier().fit(data)
