"""Criteria of numeric targets: Poisson deviance, absolute error."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor
from strategies import CONTINUOUS, FEWER_EACH, NOMINAL, SmallTable, limits, tables
from test_engine_twin import EncodedTable, as_nodes, assert_same_tree
from test_oracle_sklearn import assert_same_tree as assert_same_as_scikit_learn

from fasttree import CARTRegressor, TreeRegressor
from fasttree._data.table import Table
from fasttree._learn import conflicts
from fasttree._learn.grow import growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import CART_REGRESSION, Recipe

ANY_GAIN = -math.inf
POISSON = replace(CART_REGRESSION, impurity="poisson")
ABSOLUTE = replace(CART_REGRESSION, impurity="absolute_error")
RECIPES = {
    "poisson": POISSON,
    "poisson, one against the rest": replace(POISSON, nominal="one_vs_rest"),
    "poisson, no missing values": replace(POISSON, missing="error"),
    "absolute error": ABSOLUTE,
    "absolute error, one against the rest": replace(ABSOLUTE, nominal="one_vs_rest"),
    "absolute error, no missing values": replace(ABSOLUTE, missing="error"),
    "absolute error, a branch per category": replace(ABSOLUTE, nominal="present", ordinal="declared", missing="error"),
}


def with_counts(table: SmallTable) -> SmallTable:
    """Targets that are not negative, and not all 0 among the samples with weight."""
    y = np.abs(table.y)
    first = 0 if table.sample_weight is None else int(np.argmax(table.sample_weight > 0))
    y[first] = max(y[first], 0.25)
    return replace(table, y=y)


def table_for(data: st.DataObject, recipe: Recipe, **parameters: Any) -> SmallTable:
    table = data.draw(tables(task="regression", missing=recipe.missing != "error", **parameters))
    return with_counts(table) if recipe.impurity == "poisson" else table


@pytest.mark.parametrize("name", RECIPES)
@FEWER_EACH
@given(data=st.data(), bounds=limits(min_gain=ANY_GAIN))
def test_trees_agree_with_the_twin(name: str, data: st.DataObject, bounds: Limits) -> None:
    assert_same_tree(table_for(data, RECIPES[name]), RECIPES[name], bounds)


@pytest.mark.parametrize("name", RECIPES)
@settings(max_examples=10)  # the twin looks at every division of many categories
@given(data=st.data())
def test_many_categories_agree_with_the_twin(name: str, data: st.DataObject) -> None:
    table = table_for(data, RECIPES[name], kinds=[NOMINAL], max_samples=60, max_categories=20, max_features=2)
    assert_same_tree(table, RECIPES[name], Limits(min_gain=ANY_GAIN, max_depth=2))


@pytest.mark.parametrize("side", [1, -1])
def test_targets_that_lie_far_on_one_side_of_the_median_agree_with_the_twin(side: int) -> None:
    """The others lie as far on the other side of 0."""
    rng = np.random.default_rng(0)
    n_samples = 20
    y = 100 + rng.integers(-2, 3, n_samples) / 4
    y[:2] = -100
    column = rng.integers(0, 5, n_samples) / 2.0
    column[rng.random(n_samples) < 0.2] = np.nan
    codes = rng.integers(0, 4, n_samples).astype(np.uint8)
    weight = rng.integers(1, 4, n_samples).astype(float)
    table = SmallTable((column, codes), (CONTINUOUS, NOMINAL), (0, 3), side * y, 1, weight)
    assert_same_tree(table, ABSOLUTE, Limits(min_gain=ANY_GAIN))


@pytest.mark.parametrize("seed", [0, 10])
def test_a_median_that_is_the_largest_target_agrees_with_the_twin(seed: int) -> None:
    """Below the root, which takes off the targets that lie far away."""
    rng = np.random.default_rng(seed)
    n_samples = 30
    y = np.where(rng.random(n_samples) < 0.7, 5.0, rng.integers(0, 5, n_samples))
    far = rng.random(n_samples) < 0.3
    y[far] = 50 + np.arange(far.sum())
    column = rng.integers(0, 5, n_samples) / 2.0
    column[rng.random(n_samples) < 0.15] = np.nan
    codes = rng.integers(0, 4, n_samples).astype(np.uint8)
    weight = rng.integers(1, 4, n_samples).astype(float)
    table = SmallTable((np.where(far, 1.0, 0.0), column, codes), (CONTINUOUS, CONTINUOUS, NOMINAL), (0, 0, 3), y, 1, weight)
    assert_same_tree(table, ABSOLUTE, Limits(min_gain=ANY_GAIN))


@pytest.mark.parametrize("block_rows", [1, 7, 40])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", RECIPES)
def test_trees_depend_neither_on_the_order_of_samples_nor_on_blocks(name: str, weighted: bool, block_rows: int) -> None:
    rng = np.random.default_rng(5)
    n_samples = 400
    columns = [rng.normal(size=n_samples), rng.integers(0, 40, n_samples) / 4.0]
    columns += [rng.integers(1, 300, n_samples).astype(np.uint16), rng.integers(1, 6, n_samples).astype(np.uint8)]
    if RECIPES[name].missing != "error":
        columns[0][rng.random(n_samples) < 0.1] = np.nan
        columns[3][rng.random(n_samples) < 0.1] = 0
    y = rng.poisson(np.exp(np.nan_to_num(columns[0]) + (columns[3] == 2))) / 3.0
    weight = rng.uniform(0.1, 2, n_samples) if weighted else None
    table = SmallTable(tuple(columns), (0, 0, 2, 2), (0, 0, 299, 5), y, 1, weight)

    def grown(rows: Any, block_rows: int) -> Any:
        part = table.take(rows)
        small = cast(Table, EncodedTable(part))
        bounds = Limits(min_gain=ANY_GAIN)
        return growth.grow(small, part.y, part.sample_weight, RECIPES[name], bounds, n_classes=0, block_rows=block_rows)

    expected = grown(np.arange(n_samples), 32_768)
    expected.check()
    assert expected.node_count > 100
    assert grown(np.arange(n_samples), block_rows) == expected
    assert grown(rng.permutation(n_samples), block_rows) == expected


def signal(criterion: str, n_samples: int = 500, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 4)).astype(np.float32).astype(np.float64)
    rate = X[:, 0] + np.sin(3 * X[:, 1]) * X[:, 2] / 2
    return X, rng.poisson(np.exp(rate)) * rng.uniform(0.5, 1.5, n_samples) if criterion == "poisson" else rate


@pytest.mark.parametrize(
    "parameters",
    [{"max_depth": 4}, {"min_samples_leaf": 12}, {"max_leaf_nodes": 9}, {"min_impurity_decrease": 0.02}, {"ccp_alpha": 0.03}],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["poisson", "absolute_error"])
def test_trees_are_scikit_learns_where_the_best_split_is_unique(
    criterion: str, weighted: bool, parameters: dict[str, Any]
) -> None:
    X, y = signal(criterion)
    weight = np.random.default_rng(1).uniform(0.1, 2, len(y)) if weighted else None
    theirs = DecisionTreeRegressor(criterion=criterion, **parameters, random_state=0).fit(X, y, sample_weight=weight)
    ours = CARTRegressor(criterion=criterion, **parameters).fit(X, y, sample_weight=weight)
    assert ours.tree_.node_count > 5
    assert_same_as_scikit_learn(ours, theirs)


@pytest.mark.skipif(
    sklearn.__version__.startswith(("1.6", "1.7", "1.8")), reason="before 1.9, scikit-learn grows other trees from missing values"
)
def test_missing_values_go_where_scikit_learn_sends_them() -> None:
    X, y = signal("poisson")
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    theirs = DecisionTreeRegressor(criterion="poisson", max_depth=3, random_state=0).fit(X, y)
    ours = CARTRegressor(criterion="poisson", max_depth=3).fit(X, y)
    assert_same_as_scikit_learn(ours, theirs)
    assert ours.predict(X) == pytest.approx(theirs.predict(X))


def test_no_leaf_of_a_poisson_tree_predicts_zero() -> None:
    X = np.arange(8.0)[:, None]
    model = CARTRegressor(criterion="poisson").fit(X, [0, 0, 0, 0, 1, 0, 0, 3])
    assert model.predict(X).min() > 0
    assert model.get_n_leaves() == 2


def test_a_tiny_share_of_the_events_is_a_share() -> None:
    # 1e-17 is nothing beside the largest target in floating point, and yet no zero
    model = CARTRegressor(criterion="poisson").fit([[0.0], [1.0], [2.0]], [0.0, 1e-17, 1.0])
    assert model.get_n_leaves() == 2
    assert model.predict([[1.0]])[0] == pytest.approx(5e-18)


@pytest.mark.parametrize("y", [[1.0, -2.0], [0.0, 0.0]])
def test_targets_without_a_poisson_deviance_are_refused(y: list[float]) -> None:
    with pytest.raises(ValueError, match="criterion='poisson' needs targets"):
        CARTRegressor(criterion="poisson").fit([[1.0], [2.0]], y)


def test_samples_without_weight_may_not_make_up_the_events() -> None:
    with pytest.raises(ValueError, match="positive sum"):
        CARTRegressor(criterion="poisson").fit([[1.0], [2.0]], [0.0, 3.0], sample_weight=[1.0, 0.0])


@pytest.mark.parametrize("value", [0.7, 1 / 3, 1e-9, 123456.789])
@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "absolute_error"])
def test_equal_targets_are_a_leaf_that_says_them_exactly(criterion: str, value: float) -> None:
    X = np.arange(8.0)[:, None]
    tree = CARTRegressor(criterion=criterion).fit(X, [value] * 7 + [2 * value]).tree_
    assert tree.node_count == 3
    assert sorted(tree.value[1:, 0]) == [value, 2 * value]
    assert CARTRegressor(criterion=criterion).fit(X, [value] * 8).tree_.impurity.tolist() == [0.0]


def test_the_gain_of_targets_that_hardly_differ_is_exact() -> None:
    # half the squared deviations over the mean, which cancels in S log S
    y = 1e8 + np.array([0.0, 0.0, 1.0, 1.0, 1.0, 0.0])
    tree = CARTRegressor(criterion="poisson", max_depth=1).fit(np.arange(6.0)[:, None], y).tree_
    assert tree.impurity[0] == pytest.approx(0.125e-8, rel=1e-6)
    assert tree.gain[0] == pytest.approx(0.0625e-8, rel=1e-6)
    assert as_nodes(tree).threshold == 1.5


@pytest.mark.parametrize("small_side", ["left", "right"])
@pytest.mark.parametrize("n", [40, 3_000])
def test_the_mean_and_the_variance_of_small_targets_beside_large_ones_are_exact(n: int, small_side: str) -> None:
    draw = np.random.default_rng(n)
    small = np.arange(n) < n // 2
    y = np.where(small, 1e-6 * draw.uniform(1, 2, n), draw.uniform(10, 20, n))
    X = draw.random(n)[:, None] + 2 * (small != (small_side == "left"))[:, None]
    tree = CARTRegressor(max_depth=1).fit(X, y).tree_
    leaf = 1 if small_side == "left" else 2
    mean = math.fsum(y[small]) / small.sum()
    assert tree.weight[leaf] == small.sum()
    assert tree.value[leaf, 0] == pytest.approx(mean, rel=4e-16, abs=0)
    assert tree.impurity[leaf] == pytest.approx(math.fsum((y[small] - mean) ** 2) / small.sum(), rel=1e-12, abs=0)


def test_a_leaf_of_absolute_error_predicts_the_weighted_median() -> None:
    def answer(y: list[float], weight: list[float]) -> float:
        model = CARTRegressor(criterion="absolute_error").fit(np.zeros((len(y), 1)), y, sample_weight=weight)
        theirs = DecisionTreeRegressor(criterion="absolute_error").fit(np.zeros((len(y), 1)), y, sample_weight=weight)
        assert model.tree_.value[0, 0] == theirs.tree_.value[0, 0, 0]
        assert model.tree_.impurity[0] == pytest.approx(theirs.tree_.impurity[0])
        return float(model.predict([[0.0]])[0])

    assert answer([1.0, 5.0, 2.0], [1, 1, 1]) == 2
    assert answer([1.0, 5.0, 2.0, 3.0], [1, 1, 1, 1]) == 2.5  # half the weight on either side: halfway
    assert answer([1.0, 5.0, 2.0, 3.0], [3, 1, 1, 1]) == 1.5
    assert answer([1.0, 5.0, 2.0], [0.25, 0.5, 0.25]) == 3.5
    assert answer([1.0, 5.0, 2.0], [1, 9, 1]) == 5


def test_an_outlier_does_not_move_a_split_of_absolute_error() -> None:
    X, y = np.arange(10.0)[:, None], np.r_[np.zeros(5), np.ones(5)]
    y[9] = 1e12
    tree = CARTRegressor(criterion="absolute_error", min_samples_leaf=4, max_depth=1).fit(X, y).tree_
    assert tree.threshold[0] == 4.5
    assert CARTRegressor(criterion="absolute_error").fit(X, y).predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("shift", [0.0, 1e6, -1e9])
def test_where_targets_lie_does_not_change_a_tree_of_absolute_error(shift: float) -> None:
    X, y = signal("absolute_error", 300)
    y = np.round(y * 64) / 64
    expected = CARTRegressor(criterion="absolute_error", min_samples_leaf=3).fit(X, y).tree_
    found = CARTRegressor(criterion="absolute_error", min_samples_leaf=3).fit(X, y + shift).tree_
    assert found.threshold.tolist() == pytest.approx(expected.threshold.tolist(), nan_ok=True)
    assert (found.value - shift == expected.value).all()


def test_growth_by_absolute_error_takes_about_as_long_per_sample_on_many_samples() -> None:
    def seconds(n_samples: int) -> float:
        X, y = signal("absolute_error", n_samples)
        model = CARTRegressor(criterion="absolute_error", max_depth=3)
        times = []
        for _ in range(3):
            start = time.process_time()
            model.fit(X, y)
            times.append(time.process_time() - start)
        return min(times)

    # n log n: 18 times; n squared would be 256 times
    assert seconds(32_000) < 60 * seconds(2_000)


def test_real_targets_give_stumps_as_good_as_scikit_learns() -> None:
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32)
    for criterion in ("absolute_error", "poisson"):
        theirs = DecisionTreeRegressor(criterion=criterion, max_depth=3, random_state=0).fit(X, y)
        assert_same_as_scikit_learn(CARTRegressor(criterion=criterion, max_depth=3).fit(X, y), theirs)


def test_absolute_error_and_parts_of_samples_exclude_each_other() -> None:
    with pytest.raises(ValueError, match=r"impurity='absolute_error' and missing='fractional'"):
        conflicts.check_recipe(replace(ABSOLUTE, missing="fractional"), n_classes=0)


def test_absolute_error_and_monotone_predictions_exclude_each_other() -> None:
    with pytest.raises(ValueError, match=r"impurity='absolute_error' and monotonic_cst"):
        CARTRegressor(criterion="absolute_error", monotonic_cst=[1]).fit([[1.0], [2.0]], [1.0, 2.0])


@pytest.mark.parametrize("nominal", ["declared", "present", "subset"])
def test_no_branch_of_a_poisson_tree_is_without_events(nominal: str) -> None:
    table = pd.DataFrame({"kind": pd.Categorical(["a"] * 16 + ["b"] * 4 + ["c"] * 2)})
    y = [0.0] * 16 + [0.25, 1.0, 2.0, 0.0, 3.0, 1.0]
    model = TreeRegressor(recipe={"impurity": "poisson", "nominal": nominal, "missing": "error"}).fit(table, y)
    assert (model.tree_.value > 0).all()
    assert (model.get_n_leaves() > 1) == (nominal == "subset")  # a branch for "a" alone is what the others would need
