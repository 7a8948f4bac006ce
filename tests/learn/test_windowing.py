"""Windowing: which samples a window holds, how it grows, and which tree is kept."""

from __future__ import annotations

from typing import Any, cast

import naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from strategies import SmallTable, tables
from test_engine_twin import EncodedTable, as_nodes, numbers_of, outline, test_of

from fasttree._data.learn import learn_table
from fasttree._data.table import Table
from fasttree._data.targets import encode_classes
from fasttree._learn.grow import growth
from fasttree._learn.grow.windowing import _targets, grow_in_windows, window_increment, window_size
from fasttree._learn.limits import Limits
from fasttree._learn.prune.error_based import error_based
from fasttree._learn.recipe import C45
from fasttree._model import walks
from fasttree._model.tree import Tree

LIMITS = Limits(min_gain=-np.inf)


class Windows:
    """Grows trees on windows of a table, and remembers them."""

    def __init__(self, table: Table, codes: NDArray[Any], weight: NDArray[np.float64] | None = None) -> None:
        self.table, self.codes, self.weight = table, codes, weight
        self.n_classes = int(codes.max()) + 1
        self.rows: list[NDArray[np.intp]] = []
        self.trees: list[Tree] = []

    def grow_on(self, rows: NDArray[np.intp]) -> Tree:
        self.rows.append(rows)
        self.trees.append(growth.grow(self.table, self.codes, self.weight, C45, LIMITS, n_classes=self.n_classes, rows=rows))
        return self.trees[-1]

    def prune(self, tree: Tree) -> Tree:
        return error_based(tree, self.table, self.codes, self.weight, 0.25)

    def wrong(self, tree: Tree) -> NDArray[np.bool_]:
        return walks.predict_value(tree, self.table).argmax(axis=1) != self.codes

    def run(self, **changes: Any) -> tuple[list[Any], int]:
        settings: dict[str, Any] = {"n_trials": 1, "size": None, "increment": None, "random": np.random.default_rng(0)}
        return grow_in_windows(self.table, self.codes, self.weight, self.grow_on, self.prune, **(settings | changes))


def iris() -> Windows:
    X, y = load_iris(return_X_y=True)
    return Windows(learn_table(X), y)


def credit(data: Any) -> Windows:
    cells = pd.read_csv(data / "credit-a.csv.gz")
    _, codes = encode_classes(cells.pop(cells.columns[-1]))
    return Windows(learn_table(cells), codes)


# The first window


@pytest.mark.parametrize(
    ("n_samples", "size", "increment"), [(1, 1, 1), (3, 3, 1), (50, 14, 2), (99, 19, 3), (150, 30, 6), (1000, 200, 40)]
)
def test_windows_have_the_size_that_release_8_gives_them(n_samples, size, increment):
    assert window_size(n_samples) == size
    assert window_increment(size) == increment


@pytest.mark.parametrize(
    ("counts", "size", "targets"),
    [
        ([50, 30, 20], 30, [10, 10, 10]),
        ([100, 3], 20, [17, 3]),
        ([5, 0, 5], 5, [3, 0, 2]),
        ([40, 2, 40, 7], 40, [16, 2, 15, 7]),
        ([4, 4], 1, [1, 0]),
        ([4, 5, 6], 15, [4, 5, 6]),
    ],
)
def test_the_classes_of_the_first_window_are_as_equal_as_they_can_be(counts, size, targets):
    assert _targets(np.array(counts), size).tolist() == targets


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(any), st.data())
def test_the_first_window_has_the_size_that_was_asked_for(counts, data):
    size = data.draw(st.integers(1, sum(counts)))
    targets = _targets(np.array(counts), size)
    assert targets.sum() == size
    assert (targets <= counts).all()


# Trials


@pytest.mark.parametrize(("size", "increment"), [(None, None), (10, 3), (40, 50)])
def test_a_window_takes_in_exceptions_until_there_are_none(data, size, increment):
    windows = credit(data)
    windows.run(size=size, increment=increment)
    n_samples = windows.table.n_samples
    assert len(windows.rows[0]) == (size or window_size(n_samples))
    increment = increment or window_increment(len(windows.rows[0]))
    for i, (rows, tree) in enumerate(zip(windows.rows, windows.trees, strict=True)):
        exceptions = np.setdiff1d(np.flatnonzero(windows.wrong(tree)), rows)
        if i == len(windows.rows) - 1:
            assert exceptions.size == 0
            break
        following = windows.rows[i + 1]
        assert np.isin(rows, following).all()
        added = np.setdiff1d(following, rows)
        assert np.isin(added, exceptions).all()
        assert added.size == max(min(exceptions.size, increment), exceptions.size // 2)
    assert len(windows.rows) > 1


def test_a_trial_keeps_its_first_tree_with_the_fewest_errors(data):
    windows = credit(data)
    (trial,), best = windows.run()
    errors = []
    for rows, tree in zip(windows.rows, windows.trees, strict=True):
        leaves = tree.leaves()
        inside = sum(tree.weight[leaf] - tree.value[leaf].max() for leaf in leaves if tree.weight[leaf] > 0)
        errors.append(round(inside) + np.delete(windows.wrong(tree), rows).sum())
    assert best == 0
    assert len(set(errors)) > 1
    assert trial.grown == windows.trees[int(np.argmin(errors))]
    assert trial.pruned == windows.prune(trial.grown)
    assert trial.pruned.weight[0] == windows.table.n_samples


def test_the_best_trial_has_the_fewest_estimated_errors(data):
    windows = credit(data)
    trials, best = windows.run(n_trials=6)
    estimates = [trial.pruned.estimated_errors[0] for trial in trials]
    assert len(set(estimates)) > 1
    assert best == int(np.argmin(estimates))


def test_without_estimated_errors_the_best_trial_has_the_fewest_errors_on_the_samples(data):
    windows = credit(data)
    trials, best = grow_in_windows(
        windows.table, windows.codes, None, windows.grow_on, lambda tree: tree, n_trials=4, size=30, increment=5,
        random=np.random.default_rng(3),
    )  # fmt: skip
    assert best == int(np.argmin([windows.wrong(trial.pruned).sum() for trial in trials]))


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_equal_seeds_give_equal_trees_and_other_seeds_others(make):
    first, second, third = (iris().run(n_trials=3, random=make(seed))[0] for seed in (1, 1, 2))
    assert first == second
    assert [trial.grown for trial in first] != [trial.grown for trial in third]


@pytest.mark.parametrize("size", [150, 1000])
def test_a_window_of_all_samples_gives_the_tree_of_an_ordinary_growth(size):
    windows = iris()
    (trial,), _ = windows.run(size=size)
    assert trial.grown == growth.grow(windows.table, windows.codes, None, C45, LIMITS, n_classes=3)


def test_samples_of_weight_0_take_no_part():
    windows = iris()
    windows.weight = np.where(np.arange(150) % 3 == 0, 0.0, 2.5)
    windows.run(n_trials=2, size=20)
    assert len(windows.rows[0]) == 20
    assert all((windows.weight[rows] > 0).all() for rows in windows.rows)


def test_a_window_may_lack_a_class():
    windows = iris()
    (trial,), _ = windows.run(size=2, increment=1)
    assert windows.trees[0].value.shape == (1, 3)
    assert windows.wrong(trial.grown).sum() < windows.wrong(windows.trees[0]).sum()


# Growth on some rows of a table


@given(table=tables(min_samples=4, weighted=False), data=st.data())
def test_a_tree_of_some_rows_is_that_of_the_slow_twin_which_knows_all(table: SmallTable, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.booleans(), min_size=table.n_samples, max_size=table.n_samples).filter(any))
    rows = np.flatnonzero(chosen)
    tree = growth.grow(cast(Table, EncodedTable(table)), table.y, None, C45, LIMITS, n_classes=table.n_classes, rows=rows)
    tree.check()
    root = tuple((row, 1.0) for row in range(table.n_samples))
    problem = naive.Problem(table.columns, table.kinds, table.n_categories, table.y, table.n_classes, C45, LIMITS, root)
    parts = [root[row] for row in rows]
    expected = naive.grow_node(problem, parts, 0, used=frozenset(), path=frozenset(), bounds=(-np.inf, np.inf))
    compiled = as_nodes(tree)
    report = "\n".join([f"{table!r} {rows}", "compiled", *outline(compiled), "expected", *outline(expected)])
    ours, theirs = naive.breadth_first(compiled), naive.breadth_first(expected)
    assert [test_of(node) for node in ours] == [test_of(node) for node in theirs], report
    for one, other in zip(ours, theirs, strict=True):
        assert numbers_of(one) == pytest.approx(numbers_of(other), rel=1e-9, abs=1e-9), report


def test_a_threshold_is_a_value_of_the_whole_table():
    column = np.array([0.0, 0.0, 10.0, 10.0, 4.0, 6.0, np.nan])
    table = learn_table(column.reshape(-1, 1))
    codes = np.array([0, 0, 1, 1, 0, 1, 0])
    grow = {"recipe": C45, "limits": LIMITS, "n_classes": 2, "rows": np.arange(4)}
    assert growth.grow(table, codes, None, **grow).threshold[0] == 4.0
    without = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    assert growth.grow(table, codes, without, **grow).threshold[0] == 0.0
