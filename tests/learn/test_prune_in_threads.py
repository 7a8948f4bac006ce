"""Error-based pruning in threads: subtrees pruned by themselves, in whatever order, give the same tree and the same ends."""

from __future__ import annotations

import _thread
import signal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttree import C45Classifier
from fasttree._data.learn import learn_table
from fasttree._data.table import Table
from fasttree._engine import passes
from fasttree._learn.grow import growth
from fasttree._learn.limits import Limits
from fasttree._learn.prune import error_based
from fasttree._learn.recipe import C45, C45_TEXTBOOK, C50, Recipe
from fasttree._model.tree import Tree

RECIPES = {
    "C4.5": C45,
    "groups": C45.variant(nominal="groups", ordinal="groups"),
    "textbook": C45_TEXTBOOK,
    "C5.0": C50,
}


def table_of(n_samples: int, missing: float, seed: int) -> tuple[Table, np.ndarray]:
    """Numbers, ties and categories, some of which are rare, and classes that they say a little about."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 5))
    X[:, 1] = np.round(X[:, 1] * 2)
    codes = rng.geometric(0.3, size=n_samples) % 9
    y = np.digitize(X[:, 0] + X[:, 1] * (codes > 2) + rng.normal(size=n_samples), [-1.0, 0.5])
    X[rng.random(X.shape) < missing] = np.nan
    frame = pd.DataFrame(X).add_prefix("x")
    words = pd.Series([f"c{code}" for code in codes])
    frame["word"] = words.mask(rng.random(n_samples) < missing).astype("category")
    return learn_table(frame), y


def grown_on_some(recipe: Recipe, table: Table, y: np.ndarray, weight: np.ndarray | None, n: int) -> Tree:
    """A tree that has not seen all categories, so that samples which lack no value are divided when it is pruned."""
    limits = Limits(min_branch_weight=2.0 if recipe is C50 else 0.0)
    return growth.grow(table, y, weight, recipe, limits, n_classes=3, rows=np.arange(n))


@given(
    name=st.sampled_from(sorted(RECIPES)),
    n_samples=st.integers(40, 900),
    missing=st.sampled_from([0.0, 0.02, 0.3]),
    weighted=st.booleans(),
    least_part=st.sampled_from([0.0, 0.0, 0.2]),
    confidence=st.sampled_from([0.1, 0.25, 0.9]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_order_in_which_subtrees_are_pruned_says_nothing(name, n_samples, missing, weighted, least_part, confidence, seed):
    table, y = table_of(n_samples, missing, seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 4, n_samples) / 2 if weighted else None
    if weight is not None:
        weight[0] = 1.0
    grown = grown_on_some(RECIPES[name], table, y, None, n_samples // 2)
    given = (grown, table, y, weight, confidence)
    rules: dict[str, Any] = {"min_part_weight": least_part, "minimum": 2.0 if name == "C5.0" else 0.0}
    one, ends = error_based.error_based_with_ends(*given, **rules)

    def in_some_order(n_jobs: int, pruning: int, n_lists: int) -> None:
        for i in rng.permutation(n_lists).tolist():
            passes.prune_some(pruning, i)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(error_based, "LEAST_SHARED", 1)
        for n_jobs in (2, 3):
            again, ends_again = error_based.error_based_with_ends(*given, **rules, n_jobs=n_jobs)
            assert again == one
            assert np.array_equal(ends_again, ends)
        patch.setattr(error_based, "_in_threads", in_some_order)
        again, ends_again = error_based.error_based_with_ends(*given, **rules, n_jobs=2)
    assert again == one
    assert np.array_equal(ends_again, ends)


@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_threads_prune_a_deep_tree_as_one_does(missing):
    # a chain, in which each node waits for the next, beside subtrees of the usual form
    rng = np.random.default_rng(3)
    X = np.column_stack([np.arange(20_000.0), rng.normal(size=(20_000, 3))])
    y = (X[:, 1] + rng.normal(size=len(X)) > 0).astype(int)
    y[:3000] = np.arange(3000) % 2
    X[rng.random(X.shape) < missing] = np.nan
    one, two, three = (C45Classifier(confidence=0.8, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3))
    assert one.tree_.node_count < one.tree_unpruned_.node_count
    assert two.tree_ == one.tree_
    assert three.tree_ == one.tree_


@pytest.mark.parametrize("missing", [0.0, 0.02])
def test_threads_that_try_branches_at_the_same_time_do_not_disturb_each_other(missing):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 26, 16_000)
    X = np.round(1.5 * rng.normal(size=(26, 8))[y] + rng.normal(size=(len(y), 8)), 1)
    X[rng.random(X.shape) < missing] = np.nan
    one = C45Classifier(confidence=0.5).fit(X, y)
    assert one.tree_.node_count < one.tree_unpruned_.node_count
    for n_jobs in (2, 3, 4, 2, 3, 4):
        assert C45Classifier(confidence=0.5, n_jobs=n_jobs).fit(X, y).tree_ == one.tree_


def test_threads_share_the_pruning_of_a_fit_on_many_samples(monkeypatch):
    started = list[object]()
    start = _thread.start_new_thread
    monkeypatch.setattr(_thread, "start_new_thread", lambda *given: started.append(given) or start(*given))
    shared = list[int]()
    in_threads = error_based._in_threads
    monkeypatch.setattr(error_based, "_in_threads", lambda *given: shared.append(given[0]) or in_threads(*given))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(error_based.LEAST_SHARED, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=len(X)) > 0).astype(int)
    C45Classifier(n_jobs=2).fit(X[1:], y[1:])
    assert shared == []
    started.clear()
    C45Classifier(n_jobs=3).fit(X, y)
    assert shared == [3]
    assert len(started) >= 2


@pytest.mark.parametrize("of_whole", [False, True])
def test_an_interrupt_ends_the_pruning_in_all_threads(of_whole, monkeypatch):
    table, y = table_of(3000, 0.1, 1)
    tree = grown_on_some(C45, table, y, None, 3000)
    monkeypatch.setattr(error_based, "LEAST_SHARED", 1)
    pruned = list[int]()

    def interrupted(pruning: int, i: int) -> None:
        pruned.append(i)
        if len(pruned) == 3:
            if of_whole:
                signal.raise_signal(signal.SIGINT)
            raise MemoryError
        prune_some(pruning, i)

    prune_some = passes.prune_some
    monkeypatch.setattr(passes, "prune_some", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises((KeyboardInterrupt, MemoryError)):
            error_based.error_based(tree, table, y, None, 0.25, n_jobs=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(pruned) < 6
