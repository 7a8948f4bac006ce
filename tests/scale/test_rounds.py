"""A tree that grows in rounds over shards is the tree that grows in memory, array by array."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import CONTINUOUS, NOMINAL, SmallTable
from test_bounded import IMPURITIES, grown, medium_tables
from test_engine_twin import EncodedTable

from fasttree._engine.records import Scale
from fasttree._engine.rounds import Judge, Setting
from fasttree._learn.grow.growth import Size, engine_limits, policy_of
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe
from fasttree._model.tree import Tree
from fasttree._scale.cluster import InProcess
from fasttree._scale.frontier import Budget, Features
from fasttree._scale.growing import grow
from fasttree._scale.messages import Ranges, Reply, Requests, Route, combine
from fasttree._scale.preparation import (
    Portion,
    Weighing,
    arrays_of,
    edges_of,
    scale_of_extent,
    scale_of_targets,
    scale_of_weights,
    tiles_of,
)
from fasttree._scale.shards import Arrays, Inside, Order, serve
from fasttree._scale.subtree import RowsOfNode, Task

Array = Any
BUDGETS = (
    Budget(50),
    Budget(0),
    Budget(0, reply_bytes=1000),
    Budget(0, most_parts=2),
    Budget(7, reply_bytes=1, most_parts=3),
    Budget(10**6),
)


def parts_of(small: SmallTable, ends: list[int], order: Array, sample: int) -> tuple[list[Portion], Features]:
    """The rows of a table in some order, divided at `ends`; edges come from the first `sample` rows."""
    columns = [column[order] for column in small.columns]
    edges = [edges_of(column[:sample]) if kind == CONTINUOUS else None for column, kind in zip(columns, small.kinds, strict=True)]
    n_codes = [count + 1 if bins is None else len(bins) for bins, count in zip(edges, small.n_categories, strict=True)]
    parts = []
    for start, stop in zip([0, *ends], [*ends, len(order)], strict=True):
        own = [column[start:stop] for column in columns]
        weight = None if small.sample_weight is None else small.sample_weight[order][start:stop]
        parts.append(Portion(own, tiles_of(own, edges), small.y[order][start:stop], weight))
    return parts, Features(edges, n_codes, [column.dtype == np.float32 for column in columns])


def grown_over_shards(
    small: SmallTable,
    parts: list[Portion],
    columns: Features,
    recipe: Recipe,
    limits: Limits,
    budget: Budget,
    cluster: Any = InProcess,
) -> Tree:
    numbers_of = recipe.impurity == "squared_error"
    n_classes = 0 if numbers_of else max(int(small.y.max()) + 1, 2)
    table = EncodedTable(small)
    weigh = Weighing([])
    scale, weighted, cases = (scale_of_targets if numbers_of else scale_of_weights)(parts, weigh)
    numbers = engine_limits(Size(scale.n_samples, len(small.columns), 1.0, cases), recipe, limits, n_classes)
    policy = policy_of(recipe, limits)
    kinds = np.array([int(feature.kind) for feature in table.schema.features], dtype=np.uint8)
    setting = Setting(policy, numbers, scale, kinds, np.array(columns.n_codes, dtype=np.uint32), n_classes, weighted)
    shards = [arrays_of(part, scale, weigh, weighted) for part in parts]
    growth = Task(table.schema, recipe, limits, policy, numbers, scale, n_classes)
    return grow(growth, setting, columns, cluster(setting, shards), budget)


class Unreliable(InProcess):
    """Shards that forget the order of their rows, are asked twice, have seen later splits, and answer in any order."""

    def __init__(self, setting: Setting, shards: list[Arrays]) -> None:
        super().__init__(setting, shards)
        self._rng = np.random.default_rng(len(shards))

    def _forget(self) -> None:
        order = self._rng.permutation(len(self._shards))
        kept = [self._orders[i] if self._rng.random() < 0.5 else Order(self._shards[i].first_rows()) for i in order]
        self._shards, self._orders = [self._shards[i] for i in order], kept

    def ask(self, log: list[Route], requests: Requests) -> Reply:
        self._forget()
        first = super().ask(log, requests)
        self._forget()
        setting = self._setting
        replies = [
            serve(arrays.engine(setting), setting, order, log, requests)
            for arrays, order in zip(self._shards, self._orders, strict=True)
        ]
        while len(replies) > 1:  # in any order, two by two
            replies.append(combine(*(replies.pop(int(self._rng.integers(len(replies)))) for _ in range(2))))
        second = replies[0]
        assert all(np.array_equal(getattr(first, name), getattr(second, name)) for name in vars(first))
        return second

    def collect(self, log: list[Route], nodes: list[int]) -> list[Arrays]:
        self._forget()
        return super().collect(log, nodes)


def test_rows_that_a_round_found_are_read_again_only_if_they_hold_the_cells(monkeypatch):
    """Remembered rows change nothing, but serve most questions after the first one."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 10**6, (2, 3000)).astype(float)
    y = (x[0] > 510_321).astype(np.uint16) ^ (rng.random(3000) < 0.2)
    small = SmallTable(tuple(x), (CONTINUOUS, CONTINUOUS), (0, 0), y, 2, None)
    parts, columns = parts_of(small, [1000], np.arange(3000), 40)
    n_rows: list[int] = []
    among = Order.among

    def counting(self: Order, question: Any) -> Array:
        rows = among(self, question)
        assert np.isin(rows, self.rows_of(question.node)).all()
        n_rows.append(len(rows))
        return rows

    monkeypatch.setattr(Order, "among", counting)
    grown_twice = []
    for rows_per_found in (1, 10**9):
        monkeypatch.setattr("fasttree._scale.shards.ROWS_PER_FOUND", rows_per_found)
        budget = Budget(0, most_parts=3)
        grown_twice.append((grown_over_shards(small, parts, columns, Recipe(), Limits(max_depth=3), budget), sum(n_rows)))
        n_rows.clear()
    (some, n_read), (expected, n_all) = grown_twice
    assert some == expected == grown(EncodedTable(small), y, Recipe(), Limits(max_depth=3))
    assert n_read < n_all / 2

    low, high = np.array([10, 50], dtype=np.uint64), np.array([20, 60], dtype=np.uint64)
    known = Inside(Ranges(low, high, *[np.zeros(2, dtype=np.int32)] * 3, 2), np.arange(3, dtype=np.uint32))
    for first, last, is_held in (
        (10, 20, True),
        (12, 19, True),
        (50, 60, True),
        (5, 20, False),
        (12, 21, False),
        (30, 40, False),
    ):
        cell = [np.array([end], dtype=np.uint64) for end in (first, last)]
        assert known.holds(Ranges(*cell, *[np.zeros(1, dtype=np.int32)] * 3, 1)) == is_held


@pytest.mark.parametrize("n_classes", [0, 2, 5])
def test_shards_that_forget_and_repeat_grow_the_same_tree(n_classes):
    rng = np.random.default_rng(n_classes)
    columns = [rng.normal(size=700), np.round(rng.normal(size=700) * 5), rng.integers(0, 6, 700).astype(np.uint8)]
    signal = columns[0] * (columns[2] > 2) + columns[1] / 5 + rng.normal(size=700)
    y = np.digitize(signal, np.linspace(-1, 1, n_classes - 1)) if n_classes else signal
    small = SmallTable(tuple(columns), (CONTINUOUS, CONTINUOUS, NOMINAL), (0, 0, 5), y, n_classes, None)
    recipe, limits = Recipe(impurity="gini" if n_classes else "squared_error"), Limits(min_samples_leaf=2)
    parts, columns_of = parts_of(small, [0, 100, 101, 460], rng.permutation(700), 200)
    expected = grown(EncodedTable(small), small.y, recipe, limits)
    assert grown_over_shards(small, parts, columns_of, recipe, limits, Budget(60), Unreliable) == expected


@pytest.mark.parametrize("n_classes", [0, 3])
def test_rows_of_a_node_in_a_matrix_grow_the_same_tree(monkeypatch, n_classes):
    """Columns of float32 alone become a matrix, and private blocks read several of its values at once."""
    rng = np.random.default_rng(n_classes)
    columns = [rng.normal(size=900).astype(np.float32) for _ in range(18)]
    columns[4] = np.round(columns[4])
    columns[7][rng.random(900) < 0.2] = np.nan
    signal = columns[0] * columns[1] + columns[4] + rng.normal(size=900)
    y = np.digitize(signal, [-1, 1]) if n_classes else signal.astype(float)
    recipe, n_in_rows = Recipe(impurity="gini" if n_classes else "squared_error"), 0
    monkeypatch.setattr("fasttree._scale.subtree.BLOCK_ROWS", 60)
    put_in_rows = RowsOfNode.put_in_rows

    def counting(self: RowsOfNode) -> None:
        nonlocal n_in_rows
        put_in_rows(self)
        n_in_rows += self.matrix is not None

    monkeypatch.setattr(RowsOfNode, "put_in_rows", counting)
    for last, least, are_matrices in (
        (columns[-1], 1, True),
        (columns[-1].astype(float) / 3, 1, False),
        (columns[-1], 901, False),
    ):
        monkeypatch.setattr("fasttree._scale.subtree.LEAST_IN_ROWS", least)
        monkeypatch.setattr("fasttree._scale.subtree.ROWS_AT_ONCE", 32)
        n_in_rows = 0
        small = SmallTable((*columns[:-1], last), (CONTINUOUS,) * 18, (0,) * 18, y, n_classes, None)
        parts, columns_of = parts_of(small, [0, 300, 301], rng.permutation(900), 200)
        found = grown_over_shards(small, parts, columns_of, recipe, Limits(), Budget(600))
        assert found == grown(EncodedTable(small), y, recipe, Limits())
        assert (n_in_rows > 1) == are_matrices


def weights_of_numbers(kind: str, n: int) -> Array:
    rng = np.random.default_rng(n)
    heavy = rng.integers(1, 6, n).astype(float)
    weights = {"whole": heavy, "fractional": heavy * rng.random(n), "light": heavy ** rng.integers(-5, 5, n)}
    weights["far"] = 10.0 ** -rng.uniform(0, 12, n)
    return weights.get(kind) if kind != "some 0" else np.where(rng.random(n) < 0.3, 0, heavy / 7)


@pytest.mark.parametrize("impurity", IMPURITIES)
@settings(max_examples=20)
@given(data=st.data())
def test_any_shards_grow_the_tree_of_all_rows(impurity, data):
    small = data.draw(medium_tables(impurity))
    if impurity == "squared_error":
        weights = data.draw(
            st.sampled_from(["none", "whole", "fractional", "light", "far", "some 0"]), label="weights of numbers"
        )
        small = replace(small, sample_weight=weights_of_numbers(weights, len(small.y)))
    limits = data.draw(
        st.builds(
            lambda **given: Limits(**given),  # of a named tuple, hypothesis would choose all fields
            max_depth=st.sampled_from([None, None, 1, 3, 6]),
            min_samples_split=st.sampled_from([2, 2, 9]),
            min_samples_leaf=st.sampled_from([1, 1, 2, 5, 20]),
            min_weight_leaf=st.sampled_from([0.0, 0.0, 2.5]),
            min_impurity_decrease=st.sampled_from([0.0, 0.0, 0.01]),
            max_leaf_nodes=st.sampled_from([None, None, 5]),
        )
    )
    choices = {"nominal": st.sampled_from(["subset", "one_vs_rest"]), "midpoint": st.sampled_from(["low", "high"])}
    recipe = Recipe(impurity=impurity, **{name: data.draw(choice, label=name) for name, choice in choices.items()})
    expected = grown(EncodedTable(small), small.y, recipe, limits, sample_weight=small.sample_weight)
    n = len(small.y)
    ends = sorted(data.draw(st.lists(st.integers(0, n), max_size=6), label="shards"))
    order = np.random.default_rng(data.draw(st.integers(0, 99), label="order")).permutation(n)
    parts, columns = parts_of(small, ends, order, data.draw(st.sampled_from([1, 5, n]), label="sample"))
    for budget in data.draw(st.lists(st.sampled_from(BUDGETS), min_size=1, max_size=2, unique=True), label="budgets"):
        found = grown_over_shards(small, parts, columns, recipe, limits, budget)
        found.check()
        assert found == expected, budget


@pytest.mark.parametrize(("impurity", "n_classes"), [("gini", 2), ("gini", 4), ("entropy", 3), ("misclassification", 3)])
def test_counts_may_need_more_than_32_bits(impurity, n_classes):
    """Gains of a thousand samples, each of which is there 2^24 times."""
    rng = np.random.default_rng(0)
    recipe, limits = Recipe(impurity=impurity), Limits()
    statistics = rng.integers(0, 9, (40, n_classes))
    groups = np.column_stack([statistics.sum(axis=1), statistics.sum(axis=1), statistics])
    none = np.zeros(n_classes + 2, dtype=np.int64)
    found = []
    for times in (1, 2**24):
        many = groups * times
        n = int(many[:, 0].sum())
        assert times == 1 or n > 2**32 + 5
        scale = Scale(n, float(n))
        numbers = engine_limits(Size(n, 1, 1.0, float(n)), recipe, limits, n_classes)
        codes = np.array([41], dtype=np.uint32)
        setting = Setting(policy_of(recipe, limits), numbers, scale, np.zeros(1, np.uint8), codes, n_classes, False)
        judge = Judge(setting)
        node = many.sum(axis=0)
        judge.open(node, judge.class_node(node)[2])
        best, bounds = judge.bounds(many, np.ones(40, np.uint8), none, np.inf)
        first = judge.first_threshold(many, none, best * (1 - 1e-9))
        assert first is not None
        found.append((best / times, first[1], judge.class_node(node)[1]))
        assert (bounds == -np.inf).all()
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


def test_sums_of_squares_may_need_more_than_64_bits():
    """Gains and bounds of a thousand numbers, each of which is there 2^24 times, are those of the definition."""
    rng = np.random.default_rng(1)
    y = np.round(np.sort(rng.normal(size=(40, 25)), axis=0) * 1e4 + 1e4 * np.sin(np.arange(40) / 6)[:, None])
    times, none = 2**24, np.zeros(5, dtype=np.int64)
    centre = 0.5 * y.min() + 0.5 * y.max()
    scale = scale_of_extent(y.size * times, y.min(), y.max(), float(np.abs(y - centre).sum()) * times)
    units = np.rint((y - centre) / scale.y_unit).astype(np.int64)
    coarse = units >> scale.coarse_shift
    n = np.full(40, 25)
    groups = np.column_stack([n, n, units.sum(axis=1), (coarse**2).sum(axis=1), coarse.sum(axis=1)]) * times
    assert y.size * times > 2**32 + 5
    assert sum(int(unit) ** 2 for unit in units.flat) * times > 2**64  # without the bits that are left out
    recipe, limits = Recipe(impurity="squared_error"), Limits()
    numbers = engine_limits(Size(scale.n_samples, 1, 1.0, float(scale.n_samples)), recipe, limits, 0)
    setting = Setting(policy_of(recipe, limits), numbers, scale, np.zeros(1, np.uint8), np.array([41], dtype=np.uint32), 0, False)
    judge = Judge(setting)
    judge.open(groups.sum(axis=0), float(((y - y.mean()) ** 2).sum()) * times)
    best, bounds = judge.bounds(groups, np.zeros(40, np.uint8), none, -np.inf)

    cuts = np.arange(1, y.size)
    below = y.ravel().cumsum()[:-1] - cuts * y.mean()
    gains = times * below**2 * (1 / cuts + 1 / (y.size - cuts))
    np.testing.assert_allclose(best, gains[24::25].max(), rtol=1e-6)
    found = judge.first_threshold(groups, none, best * (1 - 1e-9))
    assert found is not None
    assert found[1] == gains[24::25].argmax()
    inside = np.append(gains, 0.0).reshape(40, 25)[:, :-1].max(axis=1)
    assert (bounds >= inside * (1 - 1e-9)).all()


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_best_cut_of_ten_thousand_million_rows_is_found(n_classes):
    """Counts are drawn, and gains follow from whole numbers of any size."""
    rng = np.random.default_rng(n_classes)
    shares = 1 + 0.2 * np.sin(np.arange(255)[:, None] / 40 + np.arange(n_classes))
    statistics = rng.poisson(10**10 * shares / shares.sum())
    n = int(statistics.sum())
    assert n > 9 * 10**9
    groups = np.column_stack([statistics.sum(axis=1), statistics.sum(axis=1), statistics])
    recipe = Recipe()
    numbers = engine_limits(Size(n, 1, 1.0, float(n)), recipe, Limits(), n_classes)
    kinds, codes = np.zeros(1, np.uint8), np.array([256], dtype=np.uint32)
    judge = Judge(Setting(policy_of(recipe, Limits()), numbers, Scale(n, float(n)), kinds, codes, n_classes, False))
    node, none = groups.sum(axis=0), np.zeros(n_classes + 2, dtype=np.int64)
    judge.open(node, judge.class_node(node)[2])
    best, _ = judge.bounds(groups, np.ones(255, np.uint8), none, np.inf)

    def purity(counts: list[int]) -> Fraction:
        return Fraction(sum(count**2 for count in counts), sum(counts))

    whole, low, gains = statistics.sum(axis=0).tolist(), [0] * n_classes, []
    for counts in statistics[:-1].tolist():
        low = [a + b for a, b in zip(low, counts, strict=True)]
        gains.append(purity(low) + purity([a - b for a, b in zip(whole, low, strict=True)]) - purity(whole))
    assert best == pytest.approx(float(max(gains)), rel=1e-6)
    found = judge.first_threshold(groups, none, best * (1 - 1e-10))
    assert found is not None
    assert found[1] == gains.index(max(gains))
