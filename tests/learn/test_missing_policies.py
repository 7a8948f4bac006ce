"""Missing values that are divided, follow the majority, or have a branch of their own: in growth, in answers, in files."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import naive
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import FEWER_EACH, SmallTable, limits, tables
from test_engine_twin import ANY_GAIN, EncodedTable, grow_naive, rows_like

import fasttree
from fasttree import CARTClassifier, CARTRegressor
from fasttree._data.table import Table
from fasttree._export.document import read
from fasttree._learn.grow import growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import CART_CLASSIFICATION, CART_REGRESSION, Recipe
from fasttree._model import walks
from fasttree._model.arrays import CATEGORY, KNOWN, NOMINAL, SHARES, THRESHOLD
from fasttree._model.tree import Tree
from fasttree.pruning import METHODS, CostComplexity

POLICIES = ("fractional", "majority", "branch")
RECIPES = {
    f"{name}, {policy}": replace(recipe, missing=policy)
    for name, recipe in {
        "gini": CART_CLASSIFICATION,
        "entropy, one against the rest": replace(CART_CLASSIFICATION, impurity="entropy", nominal="one_vs_rest"),
        "gain ratio": replace(CART_CLASSIFICATION, impurity="entropy", rank="gain_ratio"),
        "a branch per category": replace(CART_CLASSIFICATION, nominal="declared", ordinal="present"),
        "squared error": CART_REGRESSION,
        "Poisson": replace(CART_REGRESSION, impurity="poisson"),
    }.items()
    for policy in POLICIES
}
ABSOLUTE = {
    f"absolute error, {policy}": replace(CART_REGRESSION, impurity="absolute_error", missing=policy) for policy in POLICIES[1:]
}


def is_regression(recipe: Recipe) -> bool:
    return recipe.impurity in ("squared_error", "absolute_error", "poisson")


def grow(table: SmallTable, recipe: Recipe, bounds: Limits, block_rows: int = growth.BLOCK_ROWS) -> Tree:
    if table.sample_weight is not None:
        table = table.take(np.flatnonzero(table.sample_weight))
    n_classes = 0 if is_regression(recipe) else table.n_classes
    small = cast(Table, EncodedTable(table))
    tree = growth.grow(small, table.y, table.sample_weight, recipe, bounds, n_classes=n_classes, block_rows=block_rows)
    tree.check()
    return tree


def draw_table(data: st.DataObject, recipe: Recipe, **options: Any) -> SmallTable:
    table = data.draw(tables(task="regression" if is_regression(recipe) else "classification", **options))
    return replace(table, y=np.abs(table.y) + 0.25) if recipe.impurity == "poisson" else table


def structure(tree: Tree) -> list[NDArray[Any]]:
    return [tree.parent, tree.kind, tree.feature, tree.threshold, tree.categories_code, tree.categories_branch]


# The growth (its twin is compared in test_engine_twin.py)


@pytest.mark.parametrize("name", RECIPES | ABSOLUTE)
@FEWER_EACH
@given(data=st.data(), bounds=limits(min_gain=ANY_GAIN), seed=st.integers(0, 999))
def test_block_size_and_order_of_samples_do_not_matter(name: str, data: st.DataObject, bounds: Limits, seed: int) -> None:
    recipe = (RECIPES | ABSOLUTE)[name]
    table = draw_table(data, recipe)
    tree = grow(table, recipe, bounds)
    assert grow(table, recipe, bounds, block_rows=3) == tree
    assert grow(table.take(np.random.default_rng(seed).permutation(table.n_samples)), recipe, bounds) == tree


@pytest.mark.parametrize("name", RECIPES | ABSOLUTE)
@FEWER_EACH
@given(data=st.data(), bounds=limits(min_gain=1e-9))
def test_samples_that_stand_twice_count_as_samples_of_weight_2(name: str, data: st.DataObject, bounds: Limits) -> None:
    recipe = (RECIPES | ABSOLUTE)[name]
    table = draw_table(data, recipe, weighted=False)
    bounds = bounds._replace(min_samples_leaf=1, min_samples_split=2)
    twice = grow(table.take(np.repeat(np.arange(table.n_samples), 2)), recipe, bounds)
    heavy = grow(replace(table, sample_weight=np.full(table.n_samples, 2.0)), recipe, bounds)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(structure(twice), structure(heavy), strict=True))
    assert twice.value == pytest.approx(heavy.value, abs=1e-9)
    assert twice.weight == pytest.approx(heavy.weight)
    assert twice.impurity == pytest.approx(heavy.impurity, abs=1e-9)


@pytest.mark.parametrize("base", [CART_CLASSIFICATION, CART_REGRESSION], ids=["classes", "numbers"])
@FEWER_EACH
@given(data=st.data(), bounds=limits(min_gain=ANY_GAIN))
def test_where_nothing_is_missing_all_policies_grow_one_tree(base: Recipe, data: st.DataObject, bounds: Limits) -> None:
    table = draw_table(data, base, missing=False)
    plain = grow(table, replace(base, missing="error"), bounds)
    for policy in POLICIES:
        tree = grow(table, replace(base, missing=policy), bounds)
        assert tree.replace(missing=plain.missing) == plain


@pytest.mark.parametrize("name", [name for name, recipe in RECIPES.items() if recipe.impurity == "squared_error"])
@FEWER_EACH
@given(data=st.data(), table=tables(task="regression", min_samples=4))
def test_rows_that_growth_has_not_seen_get_the_same_means(name: str, data: st.DataObject, table: SmallTable) -> None:
    rows = data.draw(rows_like(table))
    answers = walks.predict_value(grow(table, RECIPES[name], Limits(min_gain=ANY_GAIN)), cast(Table, EncodedTable(rows)))
    root = grow_naive(table, RECIPES[name], Limits(min_gain=ANY_GAIN))
    expected = [naive.predict_value(root, rows.row(i)) for i in range(rows.n_samples)]
    assert answers[:, 0] == pytest.approx(np.array(expected), abs=1e-9)


@given(table=tables(task="regression"), bounds=limits(min_gain=ANY_GAIN))
def test_parts_of_a_sample_sum_to_it(table: SmallTable, bounds: Limits) -> None:
    tree = grow(table, RECIPES["squared error, fractional"], bounds)
    inner = np.flatnonzero(tree.n_branches)
    total = tree.weight * tree.value[:, 0]
    of_children = np.add.reduceat(total, tree.first_child[inner]) if inner.size else total[inner]
    assert of_children == pytest.approx(total[inner], abs=1e-9)


def test_division_does_not_grow_without_bound() -> None:
    # every pair of samples knows one feature alone: without a least weight the tree would have 2^16 leaves
    n_features = 16
    X = np.full((2 * n_features, n_features), np.nan)
    X[np.arange(2 * n_features), np.arange(2 * n_features) // 2] = np.arange(2 * n_features) % 2
    y = np.arange(2 * n_features) % 2
    assert CARTClassifier(missing="fractional").fit(X, y).tree_.node_count < 200
    light = CARTClassifier(missing="fractional").fit(X, y, sample_weight=np.full(2 * n_features, 0.01))
    assert light.tree_.node_count == CARTClassifier(missing="fractional").fit(X, y).tree_.node_count


# Light parts


def noisy_table(n: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 12))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(np.intp)
    X[rng.random(X.shape) < 0.3] = np.nan
    return X, y


def test_many_missing_values_do_not_make_trees_of_parts() -> None:
    X, y = noisy_table(8_000)

    def fit(**parameters: Any) -> tuple[float, Tree]:
        start = time.process_time()
        tree = CARTClassifier(**parameters).fit(X, y).tree_
        return time.process_time() - start, tree

    seconds, plain = min((fit() for _ in range(3)), key=lambda fitted: fitted[0])
    divided_seconds, divided = min((fit(missing="fractional") for _ in range(3)), key=lambda fitted: fitted[0])
    assert divided.node_count < 5 * plain.node_count
    assert divided_seconds < 10 * seconds
    always = CARTClassifier(missing="fractional", min_part_weight=0).fit(X, y).tree_
    assert always.node_count > 10 * plain.node_count


@pytest.mark.parametrize("least", [None, 0, 0.1, 0.7, 2])
@pytest.mark.parametrize("estimator", [CARTClassifier, CARTRegressor])
def test_light_parts_keep_the_weight_of_their_samples(estimator: Any, least: float | None) -> None:
    X, y = noisy_table(800)
    tree = estimator(missing="fractional", min_part_weight=least).fit(X, y).tree_
    tree.check()
    inner = np.flatnonzero(tree.n_branches)
    assert tree.weight[0] == len(y)
    for node in inner:
        children = slice(tree.first_child[node], tree.first_child[node] + tree.n_branches[node])
        assert tree.weight[children].sum() == pytest.approx(tree.weight[node], rel=1e-9)


def test_the_least_part_is_a_share_of_the_sample_itself() -> None:
    X, y = noisy_table(400)
    model = CARTClassifier(missing="fractional")
    tree = model.fit(X, y).tree_
    assert tree == CARTClassifier(missing="fractional", min_part_weight=0.75).fit(X, y).tree_
    times = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = model.fit(X, y, sample_weight=times).tree_
    repeated = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).tree_
    assert weighted.node_count == repeated.node_count
    np.testing.assert_allclose(weighted.value, repeated.value, rtol=1e-9)
    small = model.fit(X, y, sample_weight=np.full(len(y), 2.0**-10)).tree_
    assert small.node_count == tree.node_count
    np.testing.assert_array_equal(small.threshold, tree.threshold)


def test_a_light_part_follows_the_heaviest_branch() -> None:
    # the first test divides the last sample into halves, which are light: at the second tests each goes one way
    X = np.array([[0, 0], [0, 1], [0, 0], [0, 1], [1, 0], [1, 1], [np.nan, np.nan]])
    y = np.array([0, 1, 0, 1, 2, 3, 0])
    light, always = (CARTClassifier(missing="fractional", min_part_weight=least).fit(X, y).tree_ for least in (None, 0))
    assert light.weight[0] == always.weight[0] == 7
    assert light.n_samples[light.n_branches == 0].sum() == 8
    assert always.n_samples[always.n_branches == 0].sum() == 10


# Worked numbers


@pytest.fixture
def ten_rows() -> tuple[pl.DataFrame, pl.Series]:
    table = pl.read_csv(Path(__file__).parents[1] / "tables" / "missing10.csv", schema_overrides={"a": pl.String})
    return table.select("a", "b", "c"), table["y"]


def rows_without_a() -> pl.DataFrame:
    return pl.DataFrame({"a": [None, None], "b": ["x", "y"], "c": ["p", "p"]}, schema_overrides={"a": pl.String})


def test_divided_samples_of_a_worked_example(ten_rows: tuple[pl.DataFrame, pl.Series]) -> None:
    model = CARTClassifier(criterion="entropy", missing="fractional", max_depth=2).fit(*ten_rows)
    tree = model.tree_
    assert tree.gain[:3] == pytest.approx([0.5019550009, 0.1215229038, 0.3191928290])
    assert tree.impurity[1:3] == pytest.approx([0.4689955936, 0.7691928290])
    assert tree.value[3:] == pytest.approx(np.array([[3, 0], [2, 5 / 9], [1, 1], [0, 2 + 4 / 9]]))
    expected = [[0.7777777778, 0.2222222222], [0.4347826087, 0.5652173913]]
    assert model.predict_proba(rows_without_a()) == pytest.approx(np.array(expected))


def test_the_majority_of_a_worked_example(ten_rows: tuple[pl.DataFrame, pl.Series]) -> None:
    model = CARTClassifier(criterion="entropy", missing="majority", max_depth=2).fit(*ten_rows)
    # 5 known samples against 4; the gain is still that of the 9 known ones
    assert (model.tree_.missing[0], model.tree_.gain[0]) == (0, pytest.approx(0.5019550009))
    assert model.tree_.value[1:3].tolist() == [[5, 1], [1, 3]]
    assert model.predict_proba(rows_without_a()) == pytest.approx(np.array([[1, 0], [2 / 3, 1 / 3]]))


def test_the_own_branch_of_a_worked_example(ten_rows: tuple[pl.DataFrame, pl.Series]) -> None:
    model = CARTClassifier(criterion="entropy", missing="branch", max_depth=1).fit(*ten_rows)
    tree = model.tree_
    # 0.9709505945 - 4 / 10 x 0.8112781245
    assert (tree.kind[0], tree.n_branches[0], tree.missing[0], tree.gain[0]) == (NOMINAL, 3, 2, pytest.approx(0.6464393447))
    assert tree.value[1:].tolist() == [[5, 0], [1, 3], [0, 1]]
    assert model.predict(rows_without_a()).tolist() == ["yes", "yes"]
    assert "a is missing: yes (1)" in model.export_text()


def test_parts_of_a_number_have_their_share_of_its_mean() -> None:
    model = CARTRegressor(missing="fractional", max_depth=1).fit([[1.0], [2.0], [np.nan]], [0.0, 6.0, 3.0])
    assert model.tree_.weight.tolist() == [3, 1.5, 1.5]
    assert model.tree_.value[:, 0] == pytest.approx([3, 1, 5])
    assert model.tree_.impurity[1:] == pytest.approx([2, 2])
    assert model.predict([[np.nan], [1.0]]) == pytest.approx([3, 1])


def test_majority_goes_by_weight_and_to_the_second_branch_on_a_tie() -> None:
    X = [[1.0], [2.0], [np.nan]]
    even = CARTClassifier(missing="majority").fit(X, [0, 1, 1])
    heavy = CARTClassifier(missing="majority").fit(X, [0, 1, 1], sample_weight=[3, 2, 1])
    assert (even.tree_.missing[0], heavy.tree_.missing[0]) == (1, 0)
    assert even.predict([[np.nan]]).tolist() == [1]
    assert heavy.tree_.value[1].tolist() == [3, 1]


@pytest.mark.parametrize("policy", ["majority", "branch"])
def test_where_growth_saw_none_missing_values_go_to_the_heavier_child(policy: str) -> None:
    X, y = [[1.0], [2.0], [3.0]], [0, 1, 1]
    assert CARTClassifier(missing=policy).fit(X, y).tree_.missing[0] == 1
    assert CARTClassifier(missing=policy).fit(X, y, sample_weight=[3, 1, 1]).tree_.missing[0] == 0


def test_known_against_missing_is_a_test_of_its_own() -> None:
    X = [[1.0], [2.0], [3.0], [np.nan], [np.nan]]
    model = CARTClassifier(missing="branch").fit(X, [0, 0, 0, 1, 1])
    assert (model.tree_.kind[0], model.tree_.node_count) == (KNOWN, 3)
    third = CARTClassifier(missing="branch").fit(X, [0, 0, 1, 1, 2])
    assert (third.tree_.kind[0], third.tree_.n_branches[0], third.tree_.missing[0]) == (THRESHOLD, 3, 2)


def test_too_few_missing_values_for_a_leaf_go_to_the_heavier_side() -> None:
    X = [[1.0], [2.0], [3.0], [4.0], [5.0], [np.nan]]
    y = [0, 0, 1, 1, 1, 0]
    model = CARTClassifier(missing="branch", min_samples_leaf=2, max_depth=1).fit(X, y)
    assert (model.tree_.n_branches[0], model.tree_.missing[0]) == (2, 1)
    assert model.tree_.n_samples.tolist() == [6, 2, 4]
    by_weight = CARTClassifier(missing="branch", min_weight_fraction_leaf=0.2, max_depth=1).fit(X, y)
    assert by_weight.tree_.n_branches[0] == 2
    assert CARTClassifier(missing="branch", max_depth=1).fit(X, y).tree_.n_branches[0] == 3


def test_a_branch_per_category_can_have_one_more_for_missing_values() -> None:
    recipe = Recipe(impurity="entropy", nominal="declared", missing="branch")
    X = pl.DataFrame({"x": pl.Series(["a", "b", None, "a", None, "b"], dtype=pl.Enum(["a", "unused", "b"]))})
    model = fasttree.TreeClassifier(recipe=recipe).fit(X, [0, 1, 2, 0, 2, 1])
    tree = model.tree_
    assert (tree.kind[0], tree.n_branches[0], tree.missing[0]) == (CATEGORY, 4, 3)
    assert model.predict(X).tolist() == [0, 1, 2, 0, 2, 1]
    assert read.from_document(model._to_document()).tree == tree


def test_a_category_that_the_node_has_not_seen_is_missing_there() -> None:
    X = pl.DataFrame({"x": ["a", "b", None, "a", "b"]})
    model = CARTClassifier(missing="branch").fit(X, [0, 1, 2, 0, 1])
    assert model.predict(pl.DataFrame({"x": ["new", "a"]})).tolist() == [2, 0]


# Through the estimators


def mixed_table(n_samples: int = 300) -> tuple[pl.DataFrame, NDArray[np.intp], NDArray[np.float64]]:
    """Two continuous and two nominal features with a tenth of the cells missing, classes and numbers that follow them."""
    generator = np.random.default_rng(5)
    x, z = generator.normal(size=(2, n_samples))
    letters = generator.integers(0, 5, (2, n_samples))
    signal = x + (letters[0] > 2) - z * (letters[1] == 1) + 0.5 * generator.normal(size=n_samples)
    lost = generator.random((4, n_samples)) < 0.1
    named = [
        [None if hole else "vwxyz"[i] for i, hole in zip(*pair, strict=True)] for pair in zip(letters, lost[2:], strict=True)
    ]
    columns: dict[str, Any] = {"x": np.where(lost[0], np.nan, x), "z": np.where(lost[1], np.nan, z)}
    return pl.DataFrame({**columns, "first": named[0], "second": named[1]}), np.digitize(signal, [-0.5, 0.5]), signal


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_files_and_pickles_answer_bit_for_bit(policy: str, task: str, tmp_path: Path) -> None:
    X, classes, numbers = mixed_table()
    model = CARTClassifier(missing=policy) if task == "classes" else CARTRegressor(missing=policy)
    model.fit(X, classes if task == "classes" else numbers)
    model.save(tmp_path / "model.json")
    for again in (fasttree.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        assert again.tree_ == model.tree_
        assert np.array_equal(again.predict(X), model.predict(X))
        assert np.array_equal(again.apply(X), model.apply(X))


@pytest.mark.parametrize("policy", POLICIES)
def test_paths_hold_the_samples_of_the_growth(policy: str) -> None:
    X, classes, _ = mixed_table()
    # prediction divides every part, so growth must too
    model = CARTClassifier(missing=policy, max_depth=4, min_part_weight=0).fit(X, classes)
    arrived = np.asarray(model.decision_path(X).sum(axis=0)).ravel()
    assert arrived.tolist() == model.tree_.n_samples.tolist()
    assert (model.tree_.missing[0] == SHARES) == (policy == "fractional")


PRUNINGS: dict[str, dict[str, Any]] = {
    "cost_complexity": {"alpha": 0.01},
    "c_alpha": {"alpha": 5.0},
    "reduced_error": {},
    "pessimistic": {},
    "error_based": {},
    "minimum_error": {},
    "critical_value": {"value": 0.3},
    "chi_square": {},
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("pruning", PRUNINGS)
def test_every_pruning_makes_a_smaller_tree_that_answers(pruning: str, policy: str) -> None:
    X, classes, _ = mixed_table()
    pruned = CARTClassifier(missing=policy, pruning=METHODS[pruning](**PRUNINGS[pruning])).fit(X, classes)
    pruned.tree_.check()
    assert pruned.tree_.node_count < CARTClassifier(missing=policy).fit(X, classes).tree_.node_count
    assert pruned.predict_proba(X).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("pruning", [CostComplexity(alpha=0.01), "reduced_error"], ids=str)
def test_prunings_of_numbers_too(pruning: Any, policy: str) -> None:
    X, _, numbers = mixed_table()
    pruned = CARTRegressor(missing=policy, pruning=pruning).fit(X, numbers)
    pruned.tree_.check()
    assert pruned.tree_.node_count < CARTRegressor(missing=policy).fit(X, numbers).tree_.node_count
    assert np.isfinite(pruned.predict(X)).all()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_known_missing_value_is_worth_more_than_a_guess(policy: str) -> None:
    # a fifth is missing completely at random: the tree of the known values must survive
    generator = np.random.default_rng(0)
    X = generator.normal(size=(2000, 3))
    y = (X[:, 0] > 0).astype(int)
    X[generator.random(X.shape) < 0.2] = np.nan
    model = CARTClassifier(missing=policy, max_depth=1).fit(X, y)
    assert model.tree_.feature[0] == 0
    assert abs(model.tree_.threshold[0]) < 0.01


def test_a_threshold_with_three_branches_needs_the_third_for_missing_values() -> None:
    tree = CARTClassifier(missing="branch").fit([[1.0], [2.0], [np.nan]], [0, 1, 2]).tree_
    tree.check()
    with pytest.raises(ValueError, match="a threshold test must have 2 branches, or a third one for missing values"):
        tree.replace(missing=np.where(tree.n_branches > 0, 1, tree.missing)).check()


def test_absolute_error_refuses_divided_samples() -> None:
    with pytest.raises(ValueError, match="impurity='absolute_error' and missing='fractional' exclude each other"):
        CARTRegressor(criterion="absolute_error", missing="fractional").fit([[1.0], [2.0]], [0.0, 1.0])


def test_missing_values_without_events_are_no_split_and_do_not_lower_the_average_gain() -> None:
    X = np.zeros((9, 3))
    X[[0, 1], 0] = np.nan
    X[6, 1] = np.nan
    X[[1, 3, 6], 2] = 0.5
    y = [0.0, 0.0, 0.0, 0.75, 0.0, 0.25, 0.75, 0.25, 0.0]
    recipe = Recipe(impurity="poisson", rank="gain_ratio", missing="branch")
    trees = [
        fasttree.TreeRegressor(recipe=recipe, max_depth=1).fit(X[:, columns], y).tree_ for columns in ([0], [1], [2], [0, 1, 2])
    ]
    alone = [tree.gain[0] for tree in trees[:3]]
    assert alone[0] == 0
    assert 0 < alone[1] < (alone[1] + alone[2]) / 2
    assert trees[3].feature[0] == 2  # although the gain ratio of feature 1 is the larger one


@pytest.mark.parametrize("estimator", [CARTClassifier, CARTRegressor])
def test_a_bound_of_parts_needs_parts(estimator):
    with pytest.raises(ValueError, match=r"min_part_weight=0\.5 is for parts of samples, and missing='direction' divides no"):
        estimator(min_part_weight=0.5).fit([[1.0], [2.0]], [0, 1])
    estimator(min_part_weight=0).fit([[1.0], [2.0]], [0, 1])
