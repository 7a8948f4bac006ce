"""Single trees that draw features: the drawn layout and lists grow the same ones, and no column is preferred."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interrupts import n_threads

from fasttree import CARTClassifier, CARTRegressor
from fasttree._data.learn import learn_table
from fasttree._learn.grow import drawn, growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import CART_CLASSIFICATION
from fasttree._model.tree import Tree
from tests.helpers.parts import PartsTogether
from tests.helpers.strategies import CONTINUOUS, SmallTable, tables

LIMITS = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "min_samples_leaf": st.sampled_from([1, 1, 3]),
        "min_weight_leaf": st.sampled_from([0.0, 2.5]),
        "min_impurity_decrease": st.sampled_from([0.0, 0.01]),
        "max_depth": st.sampled_from([None, 3]),
    }
)


def in_both(X, y, weight, limits: Limits, n_classes: int) -> list[Tree]:
    table = learn_table(X)
    return [growth.grow(table, y, weight, CART_CLASSIFICATION, limits, n_classes=n_classes, drawn=may) for may in (True, False)]


@given(
    table=tables(kinds=[CONTINUOUS], max_samples=60),
    share=st.sampled_from([0.1, 0.5, 0.8]),
    choices=LIMITS,
)
def test_both_layouts_grow_the_same_tree(table: SmallTable, share, choices):
    X = np.column_stack(table.columns)
    limits = Limits(min_gain=-math.inf, max_features=max(1, int(share * X.shape[1])), **choices)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawn, "LEAST_ALONE", 0)
        one, other = in_both(X, table.y, table.sample_weight, limits, table.n_classes)
    one.check()
    assert one == other


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_large_tables_do_not_depend_on_the_layout(n_classes, weighted, monkeypatch):
    rng = np.random.default_rng(n_classes)
    X = np.column_stack([rng.normal(size=9000), rng.integers(0, 4, 9000), rng.integers(0, 2, (9000, 2)), rng.normal(size=9000)])
    y = (X[:, 0] > 0) + (X[:, 1] > rng.integers(0, 3, 9000)) * (n_classes - 2) + (rng.random(9000) < 0.2) * (X[:, 0] < 0)
    weight = rng.integers(0, 3, 9000).astype(float) if weighted else None
    called = []
    alone = growth.grow_alone
    monkeypatch.setattr(growth, "grow_alone", lambda *given: called.append(1) or alone(*given))
    one, other = in_both(X, y.astype(np.intp), weight, Limits(min_gain=-math.inf, max_features=2, seed=1), n_classes)
    assert called == [1]
    assert one == other


@pytest.mark.parametrize("max_depth", [None, 6])
@pytest.mark.parametrize("n_jobs", [2, 3, 8])
def test_threads_that_take_parts_of_a_tree_grow_that_of_one(n_jobs, max_depth, monkeypatch):
    rng = np.random.default_rng(n_jobs)
    X = np.column_stack([rng.normal(size=(20_000, 4)), rng.integers(0, 2, (20_000, 5)) * (rng.random((20_000, 1)) < 0.1)])
    y = (X[:, 0] * X[:, 1] + X[:, 4] > rng.normal(size=20_000)).astype(int)
    one = CARTClassifier(max_features=3, max_depth=max_depth, random_state=0, n_jobs=1).fit(X, y)
    parts = PartsTogether(monkeypatch)
    model = CARTClassifier(max_features=3, max_depth=max_depth, random_state=0, n_jobs=n_jobs)
    for _ in range(4):
        assert model.fit(X, y).tree_ == one.tree_
    assert parts.all_shared()


@pytest.mark.parametrize("thread", [0, 1])
def test_an_error_in_one_thread_ends_the_others(thread, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40_000, 4)), rng.integers(0, 2, 40_000)
    parts = PartsTogether(monkeypatch)

    def failing(first: bool) -> None:
        if first == (thread == 0):
            raise OSError("a failure of this thread")

    monkeypatch.setattr(parts, "check", failing)
    before = n_threads()
    with pytest.raises(OSError, match="a failure of this thread"):
        CARTClassifier(max_features=2, random_state=0, n_jobs=2).fit(X, y)
    end = time.monotonic() + 20
    while n_threads() > before and time.monotonic() < end:
        time.sleep(0.01)  # a thread that has left the growth may have its last lines before it
    assert n_threads() <= before


@pytest.mark.parametrize("model", [CARTClassifier(criterion="entropy"), CARTClassifier(), CARTRegressor()], ids=str)
def test_of_equal_cuts_the_feature_drawn_first_wins(model):
    # six copies of a column: the lowest index would always take the first of those that are drawn
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 1)), 6, axis=1)
    y = (X[:, 0] > 0).astype(int)
    model.set_params(max_features=3, max_depth=1)
    roots = [int(model.set_params(random_state=seed).fit(X, y).tree_.feature[0]) for seed in range(600)]
    counts = np.bincount(roots, minlength=6)
    assert (counts > 60).all()  # 100 expected, standard deviation 9; by the lowest index the last three are never used
    assert (counts < 140).all()


def test_a_node_draws_on_until_a_feature_varies():
    X = np.zeros((20, 5))
    X[:, 3] = np.arange(20)
    y = (X[:, 3] > 7).astype(int)
    for seed in range(20):
        assert CARTClassifier(max_features=1, random_state=seed).fit(X, y).get_n_leaves() == 2
