"""Surrogate splits: found as their slow twin finds them, followed by every walk, kept by every change of a tree."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any, cast

import naive
import naive_surrogates
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import SmallTable, limits, tables
from test_engine_twin import EncodedTable, grow_naive, rows_like

import fasttree
from fasttree import CARTClassifier, CARTRegressor
from fasttree._data.table import Table
from fasttree._export.document import read, values
from fasttree._learn import conflicts
from fasttree._learn.grow import growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import CART_CLASSIFICATION, CART_REGRESSION, Recipe
from fasttree._model import walks
from fasttree._model.arrays import NOMINAL, SHARES, STOP, THRESHOLD
from fasttree._model.surrogates import Surrogates
from fasttree._model.tree import Tree
from fasttree.pruning import CostComplexity

RECIPES = {
    "gini": replace(CART_CLASSIFICATION, missing="surrogate"),
    "entropy, one against the rest": replace(CART_CLASSIFICATION, impurity="entropy", nominal="one_vs_rest", missing="surrogate"),
    "gain ratio": replace(CART_CLASSIFICATION, impurity="entropy", rank="gain_ratio", missing="surrogate"),
    "squared error": replace(CART_REGRESSION, missing="surrogate"),
}


def grow(table: SmallTable, recipe: Recipe, bounds: Limits, block_rows: int = growth.BLOCK_ROWS) -> Tree:
    if table.sample_weight is not None:
        table = table.take(np.flatnonzero(table.sample_weight))
    n_classes = 0 if recipe.impurity == "squared_error" else table.n_classes
    small = cast(Table, EncodedTable(table))
    tree = growth.grow(small, table.y, table.sample_weight, recipe, bounds, n_classes=n_classes, block_rows=block_rows)
    tree.check()
    return tree


def surrogates_of(tree: Tree, node: int) -> list[naive_surrogates.Surrogate]:
    s = tree.surrogates
    assert s is not None
    found = []
    for i in range(s.start[node], s.start[node + 1]):
        cells = slice(s.categories_start[i], s.categories_start[i + 1])
        table = dict(zip(s.categories_code[cells].tolist(), s.categories_branch[cells].tolist(), strict=True))
        figures = float(s.agreement[i]), float(s.adjusted[i])
        found.append(naive_surrogates.Surrogate(int(s.feature[i]), *figures, float(s.threshold[i]), int(s.low_branch[i]), table))
    return found


def tests_of(surrogates: list[naive_surrogates.Surrogate]) -> list[tuple[Any, ...]]:
    return [(s.feature, None if s.table else s.threshold, s.low_branch, s.table) for s in surrogates]


tests_of.__test__ = False  # type: ignore[attr-defined]


@st.composite
def bounds_of_surrogates(draw: st.DrawFn) -> Limits:
    return draw(limits(min_gain=-math.inf))._replace(
        max_surrogates=draw(st.sampled_from([5, 5, 5, 1, 2, 0])),
        surrogate_agreement=draw(st.sampled_from(["all", "known"])),
        no_surrogate=draw(st.sampled_from(["majority", "stop"])),
    )


def tables_for(name: str) -> st.SearchStrategy[SmallTable]:
    return tables(task="regression" if name == "squared error" else "classification", min_samples=4, max_samples=40)


@pytest.mark.parametrize("name", RECIPES)
@given(data=st.data(), bounds=bounds_of_surrogates())
def test_trees_and_surrogates_are_those_of_the_twin(name: str, data: st.DataObject, bounds: Limits) -> None:
    table = data.draw(tables_for(name))
    tree = grow(table, RECIPES[name], bounds)
    expected = naive.breadth_first(grow_naive(table, RECIPES[name], bounds))
    assert tree.node_count == len(expected)
    for i, node in enumerate(expected):
        assert (tree.feature[i], tree.n_samples[i]) == (node.feature, node.n_samples)
        assert tree.missing[i] == (STOP if node.missing == "stop" else node.missing)
        assert [tree.weight[i], *tree.value[i], tree.gain[i]] == pytest.approx([node.weight, *node.value, node.gain], abs=1e-9)
        found = surrogates_of(tree, i)
        assert tests_of(found) == tests_of(node.surrogates)
        assert [s.agreement for s in found] == pytest.approx([s.agreement for s in node.surrogates], rel=1e-12)
        assert [s.adjusted for s in found] == pytest.approx([s.adjusted for s in node.surrogates], rel=1e-9)


@pytest.mark.parametrize("name", RECIPES)
@given(data=st.data(), bounds=bounds_of_surrogates(), seed=st.integers(0, 999))
def test_block_size_order_of_samples_and_unit_of_weight_do_not_matter(
    name: str, data: st.DataObject, bounds: Limits, seed: int
) -> None:
    table = data.draw(tables_for(name))
    tree = grow(table, RECIPES[name], bounds)
    assert grow(table, RECIPES[name], bounds, block_rows=3) == tree
    shuffled = table.take(np.random.default_rng(seed).permutation(table.n_samples))
    assert grow(shuffled, RECIPES[name], bounds).surrogates == tree.surrogates
    weight = np.ones(table.n_samples) if table.sample_weight is None else table.sample_weight
    doubled = grow(replace(table, sample_weight=2 * weight), RECIPES[name], bounds._replace(min_weight_leaf=0.0))
    assert doubled.surrogates == grow(table, RECIPES[name], bounds._replace(min_weight_leaf=0.0)).surrogates


@pytest.mark.parametrize("name", RECIPES)
@given(data=st.data(), bounds=bounds_of_surrogates())
def test_rows_that_growth_has_not_seen_follow_the_surrogates(name: str, data: st.DataObject, bounds: Limits) -> None:
    table = data.draw(tables_for(name))
    rows = data.draw(rows_like(table))
    tree, root = grow(table, RECIPES[name], bounds), grow_naive(table, RECIPES[name], bounds)
    answer = naive.predict_proba if tree.task == "classification" else lambda root, row: [naive.predict_value(root, row)]
    expected = [answer(root, rows.row(i)) for i in range(rows.n_samples)]
    encoded = cast(Table, EncodedTable(rows))
    assert walks.predict_value(tree, encoded) == pytest.approx(np.array(expected), abs=1e-9)
    ends = walks.walk(tree, encoded)
    passed = walks.decision_path(tree, encoded)
    # a row ends in the last node of its path: nodes are numbered level by level
    assert [passed[i].indices.max() for i in range(rows.n_samples)] == ends.tolist()


@pytest.mark.parametrize("name", RECIPES)
@given(data=st.data(), bounds=bounds_of_surrogates())
def test_training_samples_end_where_growth_has_put_them(name: str, data: st.DataObject, bounds: Limits) -> None:
    table = data.draw(tables_for(name))
    kept = table if table.sample_weight is None else table.take(np.flatnonzero(table.sample_weight))
    tree = grow(kept, RECIPES[name], bounds)
    arrived = np.asarray(walks.decision_path(tree, cast(Table, EncodedTable(kept))).sum(axis=0)).ravel()
    assert arrived.tolist() == tree.n_samples.tolist()


# Through the estimators


def copies(n_samples: int = 200, missing: float = 0.2) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """A feature that tells the class but is often missing, a noisy copy of it upside down, and noise."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=n_samples)
    X = np.column_stack([x, -x + 0.7 * rng.normal(size=n_samples), rng.normal(size=n_samples)])
    X[rng.random(n_samples) < missing, 0] = np.nan
    return X, (x > 0).astype(np.intp)


@pytest.fixture
def model() -> CARTClassifier:
    X, y = copies()
    X = np.column_stack([X, np.where(np.isnan(X[:, 1]), np.nan, np.digitize(X[:, 1], [-1, 0, 1]))])
    return CARTClassifier(missing="surrogate", max_depth=4, categorical_features=[3]).fit(X, y)


def test_a_copy_of_the_tested_feature_stands_in_for_it():
    X, y = copies()
    model = CARTClassifier(missing="surrogate", max_depth=1).fit(X, y)
    lost = np.array([[np.nan, -2.0, 0.0], [np.nan, 2.0, 0.0]])
    assert model.tree_.feature[0] == 0
    assert model.predict(lost).tolist() == [1, 0]
    majority = CARTClassifier(missing="surrogate", max_depth=1, max_surrogates=0).fit(X, y)
    assert len(set(majority.predict(lost))) == 1


def test_without_surrogates_and_majority_a_sample_stays_and_gets_the_nodes_answer():
    X, y = copies()
    model = CARTClassifier(missing="surrogate", max_surrogates=0, no_surrogate="stop", max_depth=1).fit(X, y)
    tree = model.tree_
    n_lost = int(np.isnan(X[:, 0]).sum())
    assert tree.n_samples[1:].sum() == len(X) - n_lost
    assert model.apply([[np.nan, 0.0, 0.0]]).tolist() == [0]
    assert model.predict_proba([[np.nan, 0.0, 0.0]])[0] == pytest.approx(tree.value[0] / tree.weight[0])


def test_a_perfect_nominal_surrogate_is_kept():
    x = np.arange(12.0)
    letter = np.repeat([1.0, 2.0, 3.0, 4.0], 3)
    model = CARTClassifier(missing="surrogate", categorical_features=[1]).fit(np.column_stack([x, letter]), x > 5)
    surrogates = model.tree_.surrogates
    assert surrogates is not None
    assert surrogates.kind.tolist() == [NOMINAL]
    assert surrogates.agreement.tolist() == surrogates.adjusted.tolist() == [1.0]


def test_regression_follows_surrogates_too():
    X, _ = copies()
    y = X[:, 1] * 2
    X[:, 1] = np.where(np.arange(len(X)) % 3 == 0, np.nan, X[:, 1])
    model = CARTRegressor(missing="surrogate", surrogate_agreement="known", max_depth=1).fit(X, y)
    assert model.tree_.feature[0] == 1
    low, high = sorted(model.tree_.value[1:, 0].tolist())
    assert model.predict([[-2.0, np.nan, 0.0], [2.0, np.nan, 0.0]]).tolist() == [high, low]


@pytest.mark.parametrize(("name", "value"), [("max_surrogates", 3), ("surrogate_agreement", "known"), ("no_surrogate", "stop")])
def test_parameters_of_surrogates_are_refused_where_there_are_none(name: str, value: Any):
    with pytest.raises(ValueError, match=f"{name}={value!r} is for surrogates, and missing='direction' has none"):
        CARTClassifier(**{name: value}).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("form", ["declared", "present"])
def test_a_branch_per_category_and_surrogates_exclude_each_other(form: str):
    with pytest.raises(ValueError, match=r"missing='surrogate' and nominal='\w+' exclude each other"):
        conflicts.check_recipe(replace(CART_CLASSIFICATION, nominal=form, missing="surrogate"), 2)


def test_features_that_must_not_meet_do_not_stand_in_for_each_other():
    X, y = copies()
    model = CARTClassifier(missing="surrogate", max_depth=1, interaction_cst="no_interactions").fit(X, y)
    assert model.tree_.surrogates is not None
    assert len(model.tree_.surrogates) == 0


# Kept by what makes trees of trees


def test_pruning_keeps_the_surrogates_of_the_nodes_that_stay(model: CARTClassifier):
    tree = model.tree_
    assert tree.surrogates is not None
    mark = np.zeros(tree.node_count, dtype=bool)
    mark[1] = True
    pruned = tree.prune_at(mark)
    pruned.check()
    assert tests_of(surrogates_of(pruned, 0)) == tests_of(surrogates_of(tree, 0))
    assert surrogates_of(pruned, 1) == []
    assert tests_of(surrogates_of(pruned, 2)) == tests_of(surrogates_of(tree, 2))


def test_every_pruning_leaves_a_tree_that_answers_for_missing_values():
    X, y = copies(missing=0.4)
    y = np.where(np.random.default_rng(1).random(len(y)) < 0.1, 1 - y, y)
    model = CARTClassifier(missing="surrogate", random_state=0).fit(X, y)
    for pruned in (
        model.prune(CostComplexity(alpha=0.01)),
        model.prune("error_based"),
        model.prune("pessimistic"),
        model.prune("reduced_error", X[::2], y[::2]),
    ):
        pruned.tree_.check()
        assert pruned.tree_.n_leaves < model.tree_.n_leaves
        assert pruned.predict([[np.nan, -2.0, 0.0], [np.nan, 2.0, 0.0]]).tolist() == [1, 0]


def test_error_based_pruning_sends_samples_by_surrogates():
    X, y = copies(missing=0.4)
    X = X[:, :2]
    y = np.where(np.random.default_rng(1).random(len(y)) < 0.1, 1 - y, y)
    model = CARTClassifier(missing="surrogate").fit(X, y)
    if (model.tree_.missing[model.tree_.n_branches > 0] == STOP).any():
        model = CARTClassifier(missing="surrogate", max_depth=3).fit(X, y)
    tree = model.prune("error_based", X=X, y=y).tree_
    tree.check()
    ends = np.bincount(walks.walk(tree, model._encode_table(X)), minlength=tree.node_count)
    leaves = tree.n_branches == 0
    assert ends[leaves].tolist() == tree.n_samples[leaves].tolist()


def test_files_and_pickles_hold_the_surrogates(model: CARTClassifier, tmp_path):
    model.save(tmp_path / "model.json")
    loaded = fasttree.load(tmp_path / "model.json")
    assert loaded.tree_ == model.tree_
    assert loaded.get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model)).tree_ == model.tree_
    assert model.tree_.replace(surrogates=None) != model.tree_
    nothing = [[np.nan, 1.0, np.nan, np.nan], [np.nan, np.nan, np.nan, 2.0]]
    assert loaded.predict_proba(nothing).tolist() == model.predict_proba(nothing).tolist()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("feature", 9, "feature: must be an integer from 0 to 3"),
        ("kind", "category", "kind: must be threshold or nominal"),
        ("low_child", 2, "low_child: must be an integer from 0 to 1"),
        ("agreement", 0.0, "surrogates.agreement must be above 0"),
        ("adjusted", 1.5, "surrogates.adjusted must be above 0 and at most 1"),
        ("threshold", None, "threshold: must be a finite number"),
    ],
)
def test_a_broken_surrogate_in_a_file_is_named(model: CARTClassifier, key: str, value: Any, message: str):
    document = model._to_document()
    first = next(one for test in document["tests"] for one in test["surrogates"] if one["kind"] == "threshold")
    first[key] = value
    with pytest.raises(values.DocumentError, match=message):
        read.from_document(document)


def test_a_surrogate_on_categories_that_the_feature_has_not_is_refused(model: CARTClassifier):
    document = model._to_document()
    first = next(one for test in document["tests"] for one in test["surrogates"] if one["kind"] == "nominal")
    first["branches"][0].append(77)
    with pytest.raises(values.DocumentError, match="the test has a category that its feature does not have"):
        read.from_document(document)


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        (
            "feature",
            lambda s, tree: np.full_like(s.feature, tree.feature[0]),
            "must be a column of the table that the node's own test does",
        ),
        ("kind", lambda s, _: np.full_like(s.kind, 3), f"kind must be {THRESHOLD} or {NOMINAL}"),
        ("threshold", lambda s, _: np.full_like(s.threshold, np.inf), "threshold must be finite at a threshold test"),
        ("low_branch", lambda s, _: np.full_like(s.low_branch, 2), "low_branch must be 0 or 1"),
        ("agreement", lambda s, _: np.linspace(0.5, 0.6, s.agreement.size), "must be in the order of their agreement"),
        ("categories_branch", lambda s, _: np.full_like(s.categories_branch, 2), "categories_branch must be 0 or 1"),
        ("categories_code", lambda s, _: np.full_like(s.categories_code, 0), "categories_code must hold codes from 1 on"),
        ("start", lambda s, _: s.start[:-1], "start: has"),
        ("categories_start", lambda s, _: s.categories_start + 1, "categories_start: must begin with 0"),
    ],
)
def test_check_names_what_is_wrong_with_surrogates(model: CARTClassifier, field: str, change: Any, message: str):
    tree = model.tree_
    assert tree.surrogates is not None
    with pytest.raises(ValueError, match=message):
        tree.replace(surrogates=replace(tree.surrogates, **{field: change(tree.surrogates, tree)})).check()


def test_samples_that_are_shared_out_have_no_surrogates(model: CARTClassifier):
    tree = model.tree_
    with pytest.raises(ValueError, match="two branches that divides no samples"):
        tree.replace(missing=np.where(tree.n_branches > 0, SHARES, STOP)).check()


def test_arrays_of_surrogates_are_read_only(model: CARTClassifier):
    surrogates = model.tree_.surrogates
    assert isinstance(surrogates, Surrogates)
    with pytest.raises(ValueError, match="read-only"):
        pickle.loads(pickle.dumps(surrogates)).agreement[0] = 0.5


# What prediction does apart from growth


@pytest.mark.parametrize("max_surrogates", [0, 2])
@pytest.mark.parametrize("kind", [CARTClassifier, CARTRegressor])
def test_more_samples_changes_only_where_rows_go_on_which_no_surrogate_decides(kind, max_surrogates: int):
    X, y = copies()
    X[::4] = np.nan
    weight = np.linspace(1.0, 3.0, len(X))
    asked = {"missing": "surrogate", "max_surrogates": max_surrogates, "max_depth": 4}
    model = kind(**asked, no_surrogate="more_samples").fit(X, y, weight)
    grown = kind(**asked, no_surrogate="majority" if max_surrogates else "stop").fit(X, y, weight)
    tree = model.tree_
    tree.check()
    assert tree.replace(missing=grown.tree_.missing) == grown.tree_
    inner = np.flatnonzero(tree.n_branches)
    low, high = (tree.n_samples[tree.first_child[inner] + branch] for branch in (0, 1))
    assert tree.missing[inner].tolist() == np.where(low == high, STOP, high > low).tolist()
    again = fasttree.from_json(model.to_json())
    assert again.tree_ == tree
    assert again.get_params() == model.get_params()


def test_samples_may_be_lost_only_where_missing_values_go_to_more_samples():
    X, y = copies()
    model = CARTClassifier(missing="surrogate", max_surrogates=0, no_surrogate="more_samples", max_depth=1).fit(X, y)
    wrong = model.tree_.missing.copy()
    wrong[0] = 1 - wrong[0]
    for tree in (model.tree_.replace(missing=wrong), model.tree_.replace(surrogates=None)):
        with pytest.raises(ValueError, match="the children's weights must sum to the node's"):
            tree.check()
