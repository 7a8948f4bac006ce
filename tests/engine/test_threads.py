"""Several threads grow the same tree as one."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, Recipe
from fasttree._data.learn import learn_table
from fasttree._learn.constraints import Constraints
from fasttree._learn.grow import afterwards, encode, growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import C45, C45_TEXTBOOK, C50, M5
from fasttree._model import walks
from fasttree._model.threads import in_threads
from fasttree._model.tree import Tree


def signal(n_samples: int, n_features: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of numbers, of ties, with missing values and of categories, and a target that depends on some of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    X[:, ::3] = np.round(X[:, ::3] * 4)
    X[rng.random(n_samples) < 0.1, -1] = np.nan
    known = np.nan_to_num(X)
    target = known[:, 0] + known[:, -1] ** 2 + rng.normal(size=n_samples)
    if n_classes:
        return X, (np.argsort(np.argsort(target)) * n_classes // n_samples).astype(np.intp)
    return X, target


@given(
    n_samples=st.integers(30, 400),
    n_features=st.integers(1, 20),
    n_classes=st.sampled_from([0, 2, 3, 7]),
    seed=st.integers(0, 2**32 - 1),
    n_jobs=st.integers(2, 5),
    block_rows=st.integers(2, 60),
)
def test_the_tree_does_not_depend_on_the_number_of_threads(n_samples, n_features, n_classes, seed, n_jobs, block_rows):
    X, y = signal(n_samples, n_features, n_classes, seed)
    recipe = Recipe(impurity="gini" if n_classes else "squared_error")
    table = learn_table(X)
    one = growth.grow(table, y, None, recipe, Limits(), n_classes=n_classes)
    several = growth.grow(
        table, y, None, recipe, Limits(), n_classes=n_classes, n_jobs=n_jobs, block_rows=block_rows, most_codes=9, bounded_from=12
    )
    assert several == one


@pytest.mark.parametrize(
    ("n_features", "n_jobs", "at_once", "sizes"),
    [
        (28, 1, 8, [7] * 4),
        (28, 2, 8, [7] * 4),
        (28, 2, 4, [3, 4] * 4),
        (54, 2, 8, [6, 7, 7, 7] * 2),
        (3, 4, 8, [1] * 3),
        (0, 2, 8, []),
    ],
)
def test_threads_take_equally_many_features(n_features, n_jobs, at_once, sizes):
    pieces = encode.pieces_of(n_features, n_jobs, at_once)
    assert [len(piece) for piece in pieces] == sizes
    assert [feature for piece in pieces for feature in piece] == list(range(n_features))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_bins", [7, 255, 300])
def test_threads_bin_the_columns_as_one_does(dtype, max_bins):
    X, y = signal(6_000, 19, 3, 1)
    limits = Limits(max_depth=6, max_bins=max_bins)
    one, several = (
        growth.grow(learn_table(X.astype(dtype)), y, None, Recipe(), limits, n_classes=3, n_jobs=n_jobs, block_rows=900)
        for n_jobs in (1, 3)
    )
    assert several == one


@pytest.mark.parametrize(("n_classes", "dtype"), [(2, np.float32), (0, np.float64)])
def test_threads_share_a_table_that_one_takes_as_a_private_block(n_classes, dtype, monkeypatch):
    X, y = signal(20_000, 5, n_classes, 1)
    encoding, rows = encode.Encoding, []
    monkeypatch.setattr(encode, "Encoding", lambda *of: rows.append(of[2]) or encoding(*of))
    recipe = Recipe(impurity="gini" if n_classes else "squared_error")
    one, several = (
        growth.grow(learn_table(X.astype(dtype)), y, None, recipe, Limits(), n_classes=n_classes, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert several == one
    assert rows == [growth.BLOCK_ROWS, 5_000]
    growth.grow(learn_table(X[:15_000].astype(dtype)), y[:15_000], None, recipe, Limits(), n_classes=n_classes, n_jobs=2)
    assert rows[-1] == growth.BLOCK_ROWS  # there it would not pay


@given(
    n_classes=st.sampled_from([0, 2, 3]),
    seed=st.integers(0, 2**32 - 1),
    n_jobs=st.integers(1, 4),
    max_leaf_nodes=st.integers(2, 40),
    max_depth=st.sampled_from([None, 4]),
)
def test_the_best_leaves_are_the_same_for_any_number_of_threads(n_classes, seed, n_jobs, max_leaf_nodes, max_depth):
    X, y = signal(400, 5, n_classes, seed)
    recipe = Recipe(impurity="gini" if n_classes else "squared_error")
    table = learn_table(X)
    by_lists = growth.grow(table, y, None, recipe, Limits(max_depth=max_depth), n_classes=n_classes)
    by_queue = growth.grow(
        table, y, None, recipe, Limits(max_depth=max_depth, max_leaf_nodes=max_leaf_nodes), n_classes=n_classes, n_jobs=n_jobs,
        block_rows=20, most_codes=9, bounded_from=12,
    )  # fmt: skip
    assert by_queue == afterwards.best_first(by_lists, max_leaf_nodes)


BY_LISTS: dict[str, tuple[Recipe, int, dict[str, Any]]] = {  # recipe, number of classes, limits or "outputs" or "monotone"
    "C4.5": (C45, 3, {}),
    "C5.0": (C50, 2, {"min_samples_leaf": 2}),
    "C4.5 of the book": (C45_TEXTBOOK, 3, {}),
    "Gini, divided": (Recipe(missing="fractional"), 2, {}),
    "squared error, divided": (Recipe(impurity="squared_error", missing="fractional"), 0, {}),
    "Gini, divided, best first": (Recipe(missing="fractional"), 3, {"max_leaf_nodes": 13}),
    "surrogates": (Recipe(missing="surrogate"), 3, {"max_surrogates": 3}),
    "a branch of their own": (Recipe(missing="branch"), 3, {}),
    "majority": (Recipe(missing="majority"), 2, {"min_impurity_decrease": 1e-4}),
    "gain ratio": (Recipe(impurity="entropy", rank="gain_ratio"), 3, {}),
    "absolute error": (Recipe(impurity="absolute_error"), 0, {}),
    "Poisson": (Recipe(impurity="poisson"), 0, {}),
    "M5": (M5, 0, {}),
    "intervals": (Recipe(continuous="intervals", missing="fractional"), 3, {"merge_p_value": 0.4}),
    "groups": (C45.variant(nominal="groups"), 3, {}),
    "drawn features": (Recipe(), 2, {"max_features": 2, "seed": 7}),
    "random cuts": (Recipe(), 3, {"random_cuts": True, "seed": 3}),
    "two targets of classes": (Recipe(), 2, {"outputs": (2, 2)}),
    "two targets of numbers": (Recipe(impurity="squared_error"), 0, {"outputs": (1, 1)}),
    "monotone": (Recipe(), 2, {"monotone": (1, 0, 0, 0, 0, 0)}),
}


def grown_by_lists(
    name: str, n_samples: int, seed: int, weighted: bool, max_depth: int | None = None, **choices: Any
) -> list[Tree]:
    """Trees of a recipe for each of some numbers of threads."""
    recipe, n_classes, limits = BY_LISTS[name]
    limits = limits | ({"max_depth": max_depth} if max_depth else {})
    outputs, monotone = limits.pop("outputs", None), limits.pop("monotone", None)
    X, y = signal(n_samples, 6, n_classes, seed)
    rng = np.random.default_rng(seed)
    X[:, 3] = rng.integers(0, 5, n_samples)
    X[:, 4] = rng.integers(0, min(n_samples, 400), n_samples)  # more categories than are counted
    if recipe.impurity == "poisson":
        y = np.floor(np.exp(np.clip(y, -2, 2)))
    X[rng.random(n_samples) < 0.1, :4] = np.nan
    table = learn_table(X, categorical_features=[3] if monotone or n_samples > 10_000 else [3, 4])
    if outputs:
        y = np.column_stack([y, np.roll(y, 1)])
    weight = rng.random(n_samples) + 0.5 if weighted else None
    return [
        growth.grow(
            table, y, weight, recipe, Limits(**limits), outputs=outputs,
            n_classes=sum(outputs) if outputs and n_classes else n_classes, drawn=False, most_codes=0, n_jobs=n_jobs,
            constraints=Constraints(monotone=monotone), **choices,
        )
        for n_jobs in (1, 2, 3)
    ]  # fmt: skip


@pytest.mark.parametrize("name", BY_LISTS)
@settings(max_examples=12)
@given(n_samples=st.integers(60, 400), seed=st.integers(0, 2**32 - 1), block_rows=st.integers(2, 90), weighted=st.booleans())
def test_threads_share_nodes_that_have_lists(name, n_samples, seed, block_rows, weighted):
    one, *several = grown_by_lists(name, n_samples, seed, weighted, block_rows=block_rows)
    for tree in several:
        tree.check()
        assert tree == one


def test_threads_bound_absolute_errors_of_a_large_node():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40_000, 9))
    y = X @ rng.permutation(9) + rng.normal(size=len(X)) ** 3
    recipe, table = Recipe(impurity="absolute_error"), learn_table(X)
    grown = [
        growth.grow(table, y, None, recipe, Limits(max_depth=3), n_classes=0, most_codes=0, n_jobs=n_jobs) for n_jobs in (1, 2, 3)
    ]
    assert grown[0] == grown[1] == grown[2]


@pytest.mark.parametrize("name", sorted(set(BY_LISTS) - {"intervals"}))  # which compares each of 40,000 values with its neighbour
def test_threads_share_the_features_of_a_large_node(name):
    one, *several = grown_by_lists(name, 40_000, 11, name == "majority", max_depth=6)
    assert one.node_count > 9
    for tree in several:
        assert tree == one


@pytest.mark.parametrize("max_bins", [None, 300])
def test_threads_list_columns_of_all_kinds(max_bins):
    X, y = signal(9_000, 12, 3, 4)
    rng = np.random.default_rng(4)
    X[:, 4:10] = rng.integers(0, 2_000, size=(9_000, 6))  # neighbours, with more categories than are counted
    X[rng.random(X.shape) < 0.05] = np.nan
    table = learn_table(X, categorical_features=range(3, 10))
    limits = Limits(max_depth=3, max_bins=max_bins)
    one, *several = (
        growth.grow(table, y, None, C45_TEXTBOOK, limits, n_classes=3, n_jobs=n_jobs, block_rows=900) for n_jobs in (1, 2, 4)
    )
    assert one.node_count > 9
    for tree in several:
        assert tree == one


@given(seed=st.integers(0, 2**32 - 1), n_jobs=st.integers(2, 4))
def test_groups_of_categories_at_the_root_of_a_subtree_stay_with_their_node(seed, n_jobs):
    rng = np.random.default_rng(seed)
    categories = rng.integers(0, 9, size=(300, 4))
    y = (categories.sum(axis=1) + rng.integers(0, 4, 300)) % 2
    table = learn_table(categories.astype(float), categorical_features=[0, 1, 2, 3])
    one = growth.grow(table, y, None, Recipe(), Limits(), n_classes=2)
    several = growth.grow(table, y, None, Recipe(), Limits(), n_classes=2, n_jobs=n_jobs, block_rows=40, bounded_from=10)
    several.check()
    assert several == one


@pytest.mark.parametrize(("model", "n_classes"), [(CARTClassifier, 2), (CARTClassifier, 5), (CARTRegressor, 0)])
def test_an_estimator_takes_n_jobs(model, n_classes):
    X, y = signal(40_000, 10, n_classes, seed=0)
    one = model(max_depth=12).fit(X, y)
    for n_jobs in (2, -1):
        assert model(max_depth=12, n_jobs=n_jobs).fit(X, y).tree_ == one.tree_


def test_threads_that_rest_help_to_count_a_large_node():
    """Each cut leaves one large node, which a thread searches while the others soon have nothing to do."""
    rng = np.random.default_rng(5)
    X = rng.random((45_000, 40), dtype=np.float32)
    y = np.exp(30 * X[:, 35].astype(float))
    one, several = (CARTRegressor(max_depth=9, n_jobs=n_jobs).fit(X, y).tree_ for n_jobs in (1, 4))
    assert one.n_samples[one.feature >= 0].size > 8
    assert several == one


def test_a_thread_that_rests_until_another_has_grown_half_of_the_tree_ends_nothing():
    """The larger side has one more cut, and the other one is noise: the first thread rests longer than it waits for signals."""
    n, n_classes = 24_000, 20
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20)).astype(np.float32)
    X[:, 0] = np.arange(n)
    y = np.where(X[:, 0] < 0.52 * n, X[:, 1] > 0, rng.integers(2, n_classes, n))
    one, two = (
        growth.grow(
            learn_table(X), y, None, Recipe(), Limits(), n_classes=n_classes, n_jobs=n_jobs, block_rows=13_000, bounded_from=n
        )
        for n_jobs in (1, 2)
    )
    assert two == one


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_many_classes_of_a_large_table_grow_the_same_tree_by_lists_and_by_threads(impurity):
    n_classes = growth.MOST_CLASSES + 8  # one thread searches lists, two search by bounds
    X, y = signal(35_000, 4, n_classes, seed=2)
    one, two = (CARTClassifier(criterion=impurity, max_depth=9, n_jobs=n_jobs).fit(X, y).tree_ for n_jobs in (1, 2))
    assert one == two


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two"])
def test_a_wrong_number_of_threads_is_refused(n_jobs):
    with pytest.raises(ValueError, match=r"n_jobs=.*-1 for all cores"):
        CARTClassifier(n_jobs=n_jobs).fit([[0.0], [1.0]], [0, 1])


class HaltedAtStart(threading.Thread):
    """Starts to grow subtrees, but whoever started it is interrupted before that is known."""

    def __init__(self, *args: Any, target: Callable[..., object], **kwargs: Any) -> None:
        super().__init__(*args, target=target, **kwargs)
        self.grows = target.__name__ == "work"

    def start(self) -> None:
        super().start()
        if self.grows:
            raise KeyboardInterrupt


def test_an_interrupt_while_threads_start_ends_the_growth_and_all_threads(monkeypatch):
    X, y = signal(3000, 4, 2, seed=1)
    table = learn_table(X)
    before = set(threading.enumerate())
    with monkeypatch.context() as patch:
        patch.setattr(threading, "Thread", HaltedAtStart)
        with pytest.raises(KeyboardInterrupt):
            growth.grow(table, y, None, Recipe(), Limits(), n_classes=2, n_jobs=3, block_rows=50, bounded_from=12)
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert set(threading.enumerate()) <= before


def no_lock(*_: object) -> None:
    raise RuntimeError("can't allocate lock")  # as CPython's, where there is no memory


def test_a_lock_without_memory_is_a_memory_error(monkeypatch):
    X, y = signal(300, 4, 2, 0)
    model = CARTClassifier(max_depth=2)
    monkeypatch.setattr(threading, "Lock", no_lock)
    with pytest.raises(MemoryError, match="lock"):
        model.fit(X, y)


def test_a_thread_without_memory_for_its_locks_is_left_out(monkeypatch):
    X, y = signal(300, 4, 2, 0)
    table = learn_table(X)
    alone = growth.grow(table, y, None, Recipe(), Limits(), n_classes=2)
    monkeypatch.setattr(threading, "Condition", no_lock)  # which a thread makes
    together = growth.grow(table, y, None, Recipe(), Limits(), n_classes=2, n_jobs=3, block_rows=50, bounded_from=12)
    assert together == alone


@pytest.mark.parametrize("order", ["C", "F"])
def test_threads_share_the_rows_of_a_prediction(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = signal(1_000, 4, 3, 0)
    rows = np.asarray(np.tile(X, (60, 1)), order=order)
    walked = []
    one = CARTClassifier(missing="direction").fit(X, y)
    threads = CARTClassifier(missing="direction", n_jobs=3).fit(X, y)
    monkeypatch.setattr(walks, "in_threads", lambda work, *given: walked.append(given) or in_threads(work, *given))
    apart, shares = one.apply(rows), one.predict_proba(rows)
    walked.clear()
    assert np.array_equal(apart, threads.apply(rows))
    assert np.array_equal(shares, threads.predict_proba(rows))
    assert walked == [(9, 3), (9, 3)]
    assert np.array_equal(one.predict(X), threads.predict(X))  # few rows: this thread alone
    assert len(walked) == 2


@pytest.mark.parametrize("n_rows", [2_000, 40])  # more rows than nodes, and fewer
@pytest.mark.parametrize("y_kind", ["words", "codes", "several", "numbers"])
def test_threads_predict_what_one_does(y_kind: str, n_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, codes = signal(2_000, 4, 3, 0)
    X = np.nan_to_num(X)
    words = np.array(["low", "middle", "high"])[codes]
    targets = {"words": words, "codes": codes, "several": np.column_stack([codes, codes > 1])}
    target = targets.get(y_kind, X[:, 0] * X[:, 1])
    kind = CARTRegressor if y_kind == "numbers" else CARTClassifier
    one, two = (kind(n_jobs=n_jobs).fit(X, target) for n_jobs in (1, 2))
    monkeypatch.setattr(walks, "FROM_IN_THREADS", 30)
    assert one.tree_.node_count > 40
    rows = X[:n_rows]
    assert np.array_equal(one.apply(rows), two.apply(rows))
    for name in ("predict", "predict_proba") if kind is CARTClassifier else ("predict",):
        alone, together = (getattr(model, name)(rows) for model in (one, two))
        for a, b in zip(alone, together, strict=True) if isinstance(alone, list) else [(alone, together)]:
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)


@pytest.mark.parametrize("kind", ["pandas", "pandas in pieces", "polars", "categorical", "rows", "integers", "sparse"])
@pytest.mark.parametrize("model", [CARTClassifier, C45Classifier])
def test_threads_predict_tables_of_all_kinds_as_one_does(
    kind: str, model: type[CARTClassifier | C45Classifier], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers, y = signal(900, 4, 3, 0)
    rng = np.random.default_rng(1)
    words = rng.choice(["low", "middle", "high", None], 900)
    y = np.where(words == "low", 0, y)
    frame = pd.DataFrame(numbers, columns=["a", "b", "c", "d"])
    mixed = frame.assign(word=words, whole=rng.integers(0, 9, 900))
    tables: dict[str, Any] = {
        "pandas": frame,
        "pandas in pieces": mixed,
        "rows": [list(row) for row in np.nan_to_num(numbers)],
        "integers": np.round(np.nan_to_num(numbers) * 9).astype(np.int64),
        "sparse": csr_array(np.nan_to_num(numbers)),
    }
    if kind in ("polars", "categorical"):
        import polars as pl  # not with the others: ThreadSanitizer ends the process that imports it

        tables["polars"] = pl.from_pandas(mixed)
        tables["categorical"] = tables["polars"].with_columns(pl.col("word").cast(pl.Categorical))
    table = tables[kind]
    fitted = model().fit(table, y)
    alone = [getattr(fitted, name)(table) for name in ("predict", "predict_proba", "apply")]
    for name, value in {"FROM_IN_THREADS": 30, "ROWS_AT_ONCE": 40, "CELLS_AT_ONCE": 1_000}.items():
        monkeypatch.setattr(walks, name, value)
    for n_jobs in (1, 2, 3):
        fitted.set_params(n_jobs=n_jobs)
        for name, found in zip(("predict", "predict_proba", "apply"), alone, strict=True):
            assert np.array_equal(getattr(fitted, name)(table), found)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_infinite_value_of_a_frame_is_refused_where_it_is(n_jobs: int) -> None:
    X, y = signal(1_000, 3, 2, 0)
    frame = pd.DataFrame(np.tile(np.nan_to_num(X), (60, 1)), columns=["a", "b", "c"])
    model = CARTClassifier(n_jobs=n_jobs, max_depth=3).fit(frame[:1_000], y)
    frame.loc[59_000, "b"] = np.inf
    for table in (frame, frame.assign(b=frame["b"])):
        with pytest.raises(ValueError, match=r"'b'.*59000"):
            model.predict(table)


@pytest.mark.parametrize("n_threads", range(3))
def test_work_is_done_by_as_many_threads_as_there_is_room_for(n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    start, started, done, together = _thread.start_new_thread, [], [], threading.Barrier(n_threads + 1)

    def start_if_there_is_room(*given: Any) -> int:
        if len(started) == n_threads:
            raise RuntimeError("can't start new thread")
        started.append(start(*given))
        return started[-1]

    def work(item: int) -> int:
        if _thread.get_ident() not in done:
            done.append(_thread.get_ident())
            together.wait(20)
        return item

    monkeypatch.setattr(_thread, "start_new_thread", start_if_there_is_room)
    assert in_threads(work, 40, 4) == list(range(40))
    assert set(done) == {*started, _thread.get_ident()}


def test_an_interrupt_of_the_start_of_threads_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    start, done = _thread.start_new_thread, []

    def start_and_halt(*given: Any) -> int:
        if done:
            raise KeyboardInterrupt
        start(*given)
        while not done:
            time.sleep(0.001)
        return 0

    def work(item: int) -> None:
        done.append(item)
        time.sleep(0.01)

    monkeypatch.setattr(_thread, "start_new_thread", start_and_halt)
    with pytest.raises(KeyboardInterrupt):
        in_threads(work, 10_000, 3)
    n_done = len(done)
    assert n_done < 1_000
    time.sleep(0.05)
    assert len(done) == n_done  # the thread that had started is over


def test_an_error_in_a_part_of_the_rows_is_the_error_of_all() -> None:
    X, y = signal(1_000, 2, 2, 0)
    X = np.nan_to_num(X)
    model = CARTClassifier(missing="error", n_jobs=2).fit(X, y)
    rows = np.tile(X, (60, 1))
    rows[-1, 0] = np.nan
    with pytest.raises(ValueError, match="missing"):
        model.predict(rows)
