"""Trees of a forest that share rounds are those of the forest in memory, whatever the shards and the room for rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_dataset import table_of

from fasttree import Dataset, RandomForestClassifier, RandomForestRegressor
from fasttree._model.bags import Bags
from fasttree._scale.remote import bags, dask_table, held, on_dask, partitions, shared, weighed
from fasttree._scale.remote.dask_table import TARGET, DaskTable

pytest.importorskip("dask")

N = 500
COLUMNS = ["wide", "narrow", "count", "size", "flag"]


class Here:
    """The methods of a Dask client that a forest uses; tasks run at once."""

    def submit(self, function: Callable[..., Any], *given: Any, pure: bool = False) -> Any:
        return function(*given)

    def map(self, function: Callable[..., Any], *given: Any, pure: bool = False) -> list[Any]:
        return [function(*each) for each in zip(*given, strict=False)]

    def compute(self, task: Any, optimize_graph: bool = True) -> Any:
        return task.compute(scheduler="synchronous", optimize_graph=optimize_graph)

    def run(self, function: Callable[..., Any], *given: Any, on_error: str) -> None:
        function(*given)

    def nthreads(self) -> dict[str, int]:
        return {"here": 1}

    def scheduler_info(self, n_workers: int) -> Any:
        return {"workers": {"here": {"memory_limit": 2**30}}}


class FramesHere(DaskTable):
    """Rows of pandas frames."""

    def __init__(self, parts: list[pd.DataFrame], features: list[str], target: str, weight: str | None) -> None:
        self._client, self._n_shards, self._label_dtype = Here(), None, None
        self._rows = [(part[features], part[target], None if weight is None else part[weight]) for part in parts]
        self.has_names, self.weighted, self.target = True, weight is not None, target
        self.names = [*features, TARGET]

    def _read(self, form: Any, threads: Any) -> list[Any]:
        read = [partitions.read_partition(rows, number, form) for number, rows in enumerate(self._rows)]
        return [partitions.join_partitions([rows], form) for rows in read]


def ensemble_in_rounds(
    monkeypatch: pytest.MonkeyPatch,
    forest: Any,
    table: pd.DataFrame,
    target: str,
    features: list[str],
    weight: str | None = None,
) -> Any:
    """The forest from shards of any sizes, with room for few rows."""
    for module in (bags, dask_table, on_dask, shared, weighed):
        monkeypatch.setattr(module, "gathered", lambda client, futures: futures)
    ends = [0, 0, 200, 201, len(table)]
    parts = [table.iloc[start:stop] for start, stop in itertools.pairwise(ends)]
    with Dataset(FramesHere(parts, features, target, weight), TARGET) as data:
        data.target.name = target
        return forest.fit(data).ensemble_


FORESTS: dict[str, tuple[Any, str, list[str]]] = {
    "many classes": (RandomForestClassifier(n_estimators=5), "label", COLUMNS),
    "two classes": (RandomForestClassifier(n_estimators=2, max_features=1), "two", [*COLUMNS, "region"]),
    "numbers": (RandomForestRegressor(n_estimators=2, max_features=None), "number", [*COLUMNS, "region"]),
    "large leaves": (RandomForestRegressor(n_estimators=2, max_depth=2), "number", COLUMNS),
    "limits on classes": (
        RandomForestClassifier(n_estimators=2, min_samples_leaf=5, min_samples_split=11, max_depth=5),
        "two",
        [*COLUMNS, "region"],
    ),
    "limits on numbers": (
        RandomForestRegressor(
            n_estimators=2, min_samples_leaf=3, min_weight_fraction_leaf=0.013, min_impurity_decrease=0.001, max_samples=0.6
        ),
        "number",
        [*COLUMNS, "region"],
    ),
    "all rows": (RandomForestRegressor(n_estimators=2, bootstrap=False, ccp_alpha=0.003, max_features=1), "number", COLUMNS),
}  # fmt: skip


@pytest.mark.parametrize("name", FORESTS)
def test_the_forest_is_the_one_in_memory(monkeypatch, name):
    monkeypatch.setattr(dask_table, "rows_in_memory", lambda *given: 30)
    forest, target, features = FORESTS[name]
    table = table_of(len(name), N).to_pandas()
    table["number"] = table["number"].round(2)
    forest.set_params(random_state=7)
    expected = forest.fit(table[features], table[target]).ensemble_
    assert ensemble_in_rounds(monkeypatch, forest, table, target, features) == expected


ALL = [*COLUMNS, "region"]
ONE_BY_ONE: dict[str, tuple[Any, str, list[str], str | None]] = {
    "entropy": (RandomForestClassifier(n_estimators=2, criterion="entropy"), "two", ALL, None),
    "sample weights": (RandomForestClassifier(n_estimators=2), "label", COLUMNS, "weight"),
    "balanced classes": (RandomForestClassifier(n_estimators=2, class_weight="balanced"), "two", ALL, None),
    "balanced bags": (RandomForestClassifier(n_estimators=2, class_weight="balanced_subsample"), "label", COLUMNS, "weight"),
    "bags of balanced draws": (
        RandomForestClassifier(n_estimators=2, bootstrap="balanced", criterion="misclassification"), "label", COLUMNS, None,
    ),
    "priors": (RandomForestClassifier(n_estimators=2, priors=[0.2, 0.8], max_features=2), "two", ALL, "weight"),
    "losses": (RandomForestClassifier(n_estimators=2, loss_matrix=[[0, 1], [5, 0]]), "two", ALL, "weight"),
    "best first": (RandomForestClassifier(n_estimators=2, max_leaf_nodes=20, max_features=None), "two", ALL, None),
    "groups of categories for many classes": (RandomForestClassifier(n_estimators=2), "label", ALL, None),
    "one category": (RandomForestClassifier(n_estimators=2, nominal="one_vs_rest"), "two", ALL, None),
    "limits": (
        RandomForestClassifier(
            n_estimators=2, criterion="entropy", min_samples_leaf=4, min_weight_fraction_leaf=0.02, max_depth=5, ccp_alpha=0.002,
            min_impurity_decrease=0.001,
        ), "label", ALL, "weight",
    ),
    "weights of numbers": (RandomForestRegressor(n_estimators=2, max_features=2), "number", ALL, "weight"),
    "all features": (RandomForestRegressor(n_estimators=2, max_features=None, max_samples=0.5), "number", ALL, "weight"),
    "leaves of numbers": (RandomForestRegressor(n_estimators=2, max_leaf_nodes=12), "number", ALL, "weight"),
    "all rows": (RandomForestRegressor(n_estimators=2, bootstrap=False, max_features=1), "number", ALL, "weight"),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_trees_that_grow_on_lists_in_memory_grow_one_by_one(monkeypatch, name):
    monkeypatch.setattr(dask_table, "rows_in_memory", lambda *given: 30)
    forest, target, features, weight = ONE_BY_ONE[name]
    table = table_of(len(name), N).to_pandas()
    table["number"] = table["number"].round(2)
    table["weight"] = np.random.default_rng(len(name)).exponential(size=N).round(3)
    table.loc[::7, "weight"] = 0.0
    forest.set_params(random_state=7)
    expected = forest.fit(table[features], table[target], None if weight is None else table[weight]).ensemble_
    assert expected.tree(0).node_count > 10
    grown = list[str]()
    grow = weighed.TreesOneByOne.grow
    monkeypatch.setattr(weighed.TreesOneByOne, "grow", lambda *given: grown.append("tree") or grow(*given))
    assert ensemble_in_rounds(monkeypatch, forest, table, target, features, weight) == expected
    assert len(grown) == 2


def test_large_nodes_in_memory_draw_features(monkeypatch):
    """Above 32,768 rows, the growth in memory searches a node by bounds, but only where all features compete."""
    n, features = 80_000, list("abcdef")
    monkeypatch.setattr(dask_table, "rows_in_memory", lambda *given: n // 2)
    random = np.random.default_rng(5)
    table = pd.DataFrame(random.normal(size=(n, 6)).astype(np.float32), columns=features)
    table["y"] = ((table["a"] > -0.5) & (table["b"] + table["c"] + random.normal(size=n) > -1)).astype(int)
    forest = RandomForestClassifier(n_estimators=2, criterion="entropy", max_features=4, min_samples_leaf=2000, random_state=0)
    expected = forest.fit(table[features], table["y"]).ensemble_
    sizes = list[int]()
    grow = held.grow_below
    monkeypatch.setattr(held, "grow_below", lambda growth, node, rows: (sizes.append(rows.n_rows), grow(growth, node, rows))[1])
    assert ensemble_in_rounds(monkeypatch, forest, table, "y", features) == expected
    assert max(sizes) > 32_768


WHOLE: dict[str, tuple[Any, str, list[str]]] = {
    "classes": (RandomForestClassifier(n_estimators=2), "label", COLUMNS),
    "weights of classes": (RandomForestClassifier(n_estimators=2, class_weight={0: 3, 1: 1}), "two", ALL),
    "numbers": (RandomForestRegressor(n_estimators=2, max_features=None), "number", ALL),
    "limits": (
        RandomForestRegressor(n_estimators=2, min_samples_leaf=3, min_weight_fraction_leaf=0.013, max_depth=5), "number", ALL,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_whole_weights_repeat_a_row(monkeypatch, name):
    monkeypatch.setattr(dask_table, "rows_in_memory", lambda *given: 30)
    forest, target, features = WHOLE[name]
    table = table_of(len(name), N).to_pandas()
    table["number"] = table["number"].round(2)
    table["weight"] = np.arange(N) % 5
    forest.set_params(random_state=7)
    expected = forest.fit(table[features], table[target], table["weight"]).ensemble_
    assert expected.tree(0).node_count > 10
    assert ensemble_in_rounds(monkeypatch, forest, table, target, features, "weight") == expected


def test_a_tree_that_has_a_row_too_often_grows_on_lists(monkeypatch):
    """The drawn layout counts draws in 16 bits, so that the tree of such a bag has the ties of the other layout, as in memory."""
    monkeypatch.setattr(dask_table, "rows_in_memory", lambda *given: 30)
    monkeypatch.setattr(bags, "MOST_REPEATED", 10**6)
    table = table_of(3, N).to_pandas()
    table["weight"] = np.where(np.arange(N) == 17, 40_000, 1)
    forest = RandomForestClassifier(n_estimators=6, random_state=2)
    expected = forest.fit(table[COLUMNS], table["two"], table["weight"]).ensemble_
    counts = [forest._bags.counts(tree)[17] for tree in range(6)]
    assert min(counts) < 2 <= max(counts)
    found = ensemble_in_rounds(monkeypatch, forest, table, "two", COLUMNS, "weight")
    assert found == expected


def test_large_weights_repeat_no_rows(monkeypatch):
    monkeypatch.setattr(dask_table, "rows_in_memory", lambda *given: 30)
    table = table_of(3, N).to_pandas()
    table["weight"] = 17
    with pytest.raises(ValueError, match="a forest that does not grow in rounds: give max_samples=30 or fewer"):
        ensemble_in_rounds(monkeypatch, RandomForestClassifier(n_estimators=1), table, "two", COLUMNS, "weight")


def test_features_are_drawn_until_one_varies(monkeypatch):
    monkeypatch.setattr(dask_table, "rows_in_memory", lambda *given: 40)
    table = pd.DataFrame({f"constant{j}": np.full(N, j) for j in range(6)} | {"x": np.arange(N) / 7})
    table["two"] = (table["x"] * 3).astype(int) % 2
    features = list(table.columns[:-1])
    forest = RandomForestClassifier(n_estimators=1, max_features=1, random_state=0)
    expected = forest.fit(table[features], table["two"]).ensemble_
    assert expected.tree(0).node_count > 30
    assert ensemble_in_rounds(monkeypatch, forest, table, "two", features) == expected


def test_trees_share_the_rounds(monkeypatch):
    """Four trees take hardly more rounds than the one of them that takes most."""
    monkeypatch.setattr(dask_table, "rows_in_memory", lambda *given: 100)
    table, n_rounds = table_of(3, N).to_pandas(), []
    grow = shared.TreesInRounds._grow_group

    def counting(self: Any, *given: Any) -> Any:
        found = grow(self, *given)
        n_rounds.append(self.n_rounds)
        return found

    monkeypatch.setattr(shared.TreesInRounds, "_grow_group", counting)
    for n_trees in (1, 4):
        forest = RandomForestClassifier(n_estimators=n_trees, random_state=1)
        ensemble_in_rounds(monkeypatch, forest, table, "two", COLUMNS)
    assert n_rounds[1] < 2 * n_rounds[0]


@pytest.mark.parametrize("replaces", [True, False])
def test_the_size_of_a_bag_is_known_before_it_is_drawn(replaces):
    for bag in (Bags(3, N, 300, replaces), Bags(3, N), Bags(3, N, 200, replaces, None, np.arange(N) % 3)):
        counts = [bag.counts(tree) for tree in range(20)]
        assert {int(count.sum()) for count in counts} == {bag.weight}
        assert np.mean([np.count_nonzero(count) for count in counts]) == pytest.approx(bag.n_different, rel=0.03)
