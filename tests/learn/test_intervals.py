"""A branch per interval of values: ChiMerge inside the tree."""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import naive
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SmallTable, limits, tables
from test_constraints import assert_same_tree
from test_engine_twin import EncodedTable, grow_compiled, grow_naive, rows_like

from fasttree import C45Rules, TreeClassifier, TreeRegressor, _core
from fasttree import Recipe as PublicRecipe
from fasttree._data.learn import learn_table
from fasttree._data.table import Table
from fasttree._data.targets import encode_classes
from fasttree._export.document import read, values, write
from fasttree._export.text import export_text
from fasttree._learn import conflicts
from fasttree._learn.constraints import FREE, Constraints
from fasttree._learn.grow import growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import CART_CLASSIFICATION, CART_REGRESSION, ID3, Recipe
from fasttree._model import walks
from fasttree._model.arrays import INTERVALS
from fasttree._model.tree import Tree

GAIN = replace(ID3, ordinal="intervals", continuous="intervals", missing="fractional")
RECIPES = {
    "entropy": GAIN,
    "gain ratio": replace(GAIN, rank="gain_ratio"),
    "plain gain ratio": replace(GAIN, rank="plain_gain_ratio", ordinal="present"),
    "gini": replace(GAIN, impurity="gini", ordinal="threshold"),
    "gain ratio, majority": replace(GAIN, rank="gain_ratio", missing="majority"),
}


@pytest.mark.parametrize("name", RECIPES)
@given(data=st.data(), table=tables(max_categories=9), bounds=limits(min_gain=-math.inf))
def test_trees_with_intervals_agree_with_the_twin(name: str, data: st.DataObject, table: SmallTable, bounds: Limits) -> None:
    bounds = bounds._replace(
        merge_p_value=data.draw(st.sampled_from([0.1, 0.5, 0.01])),
        max_intervals=data.draw(st.sampled_from([None, None, 2, 3])),
        # where all classes are alike in all branches, a node may be split for ever
        min_gain=max(bounds.min_gain, 1e-12),
    )
    assert_same_tree(table, RECIPES[name], bounds, FREE)


@given(table=tables(missing=False))
def test_complete_tables_need_no_shares(table: SmallTable) -> None:
    assert_same_tree(table, replace(GAIN, missing="error"), Limits(min_gain=1e-12), FREE)


@given(data=st.data(), table=tables(min_samples=4))
def test_new_rows_take_the_branch_of_their_interval(data: st.DataObject, table: SmallTable) -> None:
    new_rows = data.draw(rows_like(table))
    bounds = Limits(min_gain=1e-12, merge_p_value=0.5)
    compiled = walks.predict_value(grow_compiled(table, GAIN, bounds), cast(Table, EncodedTable(new_rows)))
    root = grow_naive(table, GAIN, bounds)
    expected = [naive.predict_proba(root, new_rows.row(i)) for i in range(new_rows.n_samples)]
    assert compiled == pytest.approx(np.array(expected), abs=1e-9)


def income(data: Path, recipe: Recipe, **bounds: Any) -> tuple[Tree, Table, np.ndarray[Any, Any]]:
    frame = pl.read_csv(data / "income10.csv")
    table = learn_table(frame[:, :-1], integers="continuous")
    classes, codes = encode_classes(frame[:, -1])
    return growth.grow(table, codes, None, recipe, Limits(**bounds), n_classes=2), table, classes


def test_incomes_are_cut_into_the_three_intervals_of_the_textbook(data: Path) -> None:
    tree, table, classes = income(data, GAIN)
    assert tree.kind[0] == INTERVALS
    assert tree.cut is not None
    assert tree.cut.tolist() == [80.0, 97.5]
    assert tree.n_samples[1:].tolist() == [3, 3, 4]
    assert tree.gain[0] == pytest.approx(0.8812908992, abs=1e-10)
    name = table.schema.features[0].name
    text = export_text(tree, table.schema, classes, ascii=True)
    assert [line[4:].split(":")[0] for line in text.splitlines()] == [f"{name} <= 80", f"80 < {name} <= 97.5", f"{name} > 97.5"]


def test_the_ratio_of_three_intervals_is_over_their_split_information(data: Path) -> None:
    # gain 0.8812908992, split information 1.5709505945: ratio 0.5609921167
    recipe = replace(GAIN, rank="plain_gain_ratio")
    assert income(data, recipe, min_ratio=0.56099)[0].node_count == 4
    assert income(data, recipe, min_ratio=0.56100)[0].node_count == 1


@pytest.mark.parametrize(
    ("bounds", "cuts"),
    [
        # chi-squares of the three intervals: 6 and 7; then 2.857 of two, which merge as well
        ({"merge_p_value": 0.0143}, None),  # critical value 6.0025
        ({"merge_p_value": 0.0144}, [80.0, 97.5]),  # 5.990
        ({"max_intervals": 2}, [97.5]),
        ({"max_intervals": 1}, None),
        ({"min_samples_leaf": 4}, [97.5]),
        ({"min_weight_leaf": 5.0}, None),
    ],
    ids=["critical value above", "critical value below", "two at most", "one at most", "large leaves", "heavy leaves"],
)
def test_intervals_merge_while_they_hardly_differ_or_are_too_many_or_too_small(
    data: Path, bounds: dict[str, Any], cuts: list[float] | None
) -> None:
    tree, _, _ = income(data, GAIN, max_depth=1, **bounds)
    assert (None if tree.cut is None else tree.cut.tolist()) == cuts


def test_trees_with_intervals_survive_files_pickles_and_pruning(data: Path) -> None:
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"a": rng.normal(size=400), "b": rng.integers(0, 9, 400).astype(float)})
    y = (np.abs(X["a"].to_numpy()) > 0.7).astype(int) + (X["b"].to_numpy() % 4 > 1)
    table = learn_table(X, ordinal_features={"b": list(map(float, range(9)))})
    classes, codes = encode_classes(y)
    tree = growth.grow(table, codes, None, GAIN, Limits(min_samples_leaf=5), n_classes=3)
    tree.check()
    assert len(np.unique(tree.feature[tree.kind == INTERVALS])) == 2
    again = read.from_document(write.to_document(tree, table.schema, classes, {}, "custom", library_version="0")).tree
    assert again == tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    deepest = tree.depth() >= 1
    pruned = tree.prune_at(deepest)
    pruned.check()
    assert pruned.cut is not None
    assert tree.cut is not None
    assert pruned.cut.tolist() == tree.cut[: pruned.n_branches[0] - 1].tolist()
    assert tree.prune_at(np.arange(tree.node_count) == 0).cut is None
    path = walks.decision_path(tree, table)
    assert (tree.depth()[walks.walk(tree, table)] + 1 == path.sum(axis=1).A1).all()


def test_estimators_by_recipe_take_intervals_and_their_limits(data: Path) -> None:
    frame = pl.read_csv(data / "income10.csv").cast({"income": pl.Float64})
    X, y = frame[:, :-1], frame["defaulted"].to_numpy()
    recipe = PublicRecipe(
        impurity="entropy", nominal="present", ordinal="intervals", continuous="intervals", missing="fractional"
    )
    model = TreeClassifier(recipe=recipe).fit(X, y)
    assert model.tree_.cut is not None
    assert model.tree_.cut.tolist() == [80.0, 97.5]
    assert (model.predict(X) == y).all()
    assert model.set_params(merge_p_value=0.01).fit(X, y).get_n_leaves() == 1
    assert model.set_params(merge_p_value=0.1, max_intervals=2).fit(X, y).tree_.n_branches[0] == 2
    with pytest.raises(ValueError, match="merge_p_value=0: must be"):
        model.set_params(merge_p_value=0).fit(X, y)
    with pytest.raises(ValueError, match="continuous='intervals' and a numeric target"):
        TreeRegressor(recipe={"continuous": "intervals", "missing": "error"}).fit([[1.0], [2.0]], [1.0, 2.0])


def test_rules_of_a_tree_with_intervals_are_refused() -> None:
    X, y = np.arange(9.0)[:, None], np.repeat([0, 1, 0], 3)
    model = TreeClassifier(recipe={"continuous": "intervals", "missing": "error"}).fit(X, y)
    assert model.tree_.n_branches[0] == 3
    with pytest.raises(ValueError, match="the tree has a branch per interval"):
        C45Rules.from_tree(model, X, y)


def test_competing_splits_tell_their_intervals() -> None:
    rng = np.random.default_rng(3)
    X = pl.DataFrame({"a": rng.normal(size=200), "b": rng.integers(0, 6, 200).astype(float)})
    y = (np.abs(X["a"].to_numpy()) > 0.7) | (X["b"].to_numpy() % 3 > 1)
    recipe = {"continuous": "intervals", "ordinal": "intervals", "missing": "error"}
    model = TreeClassifier(recipe=recipe, max_intervals=4, ordinal_features={"b": list(map(float, range(6)))}).fit(X, y)
    by_feature = {split.name: split for split in model.competing_splits(0, X, y)}
    cuts = by_feature["a"].cuts
    assert cuts is not None
    assert 2 <= len(cuts) <= 3
    assert by_feature["b"].categories == ((0.0, 1.0), (2.0,), (3.0, 4.0), (5.0,))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda test: test.pop("cuts"), r"tests\[0\].cuts: is missing"),
        (lambda test: test.update(cuts=[80.0]), r"tests\[0\].cuts: must be one fewer than the 3 branches of its node; got 1"),
        (lambda test: test.update(cuts=[80.0, "97"]), r"tests\[0\].cuts\[1\]"),
        (lambda test: test.update(cuts=[80.0, 80.0]), "node 0: cut must be finite and ascending"),
    ],
    ids=["missing", "too few", "text", "not ascending"],
)
def test_broken_cuts_in_a_document_are_refused(data: Path, change: Callable[[dict[str, Any]], Any], message: str) -> None:
    tree, table, classes = income(data, GAIN)
    document = write.to_document(tree, table.schema, classes, {}, "custom", library_version="0")
    change(document["tests"][0])
    with pytest.raises(values.DocumentError, match=message):
        read.from_document(document)


def test_order_of_rows_and_scale_of_a_feature_do_not_show() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 3)).round(2)
    y = (np.sin(3 * X[:, 0]) + X[:, 1] > 0).astype(int)
    weight = rng.uniform(0.1, 4, 500)
    order = rng.permutation(500)
    bounds = Limits(min_samples_leaf=3)
    tree = growth.grow(learn_table(X), y, weight, GAIN, bounds, n_classes=2)
    shuffled = growth.grow(learn_table(X[order]), y[order], weight[order], GAIN, bounds, n_classes=2)
    wide = growth.grow(learn_table(X), y, weight, GAIN, bounds, n_classes=2, block_rows=20)
    assert shuffled == tree
    assert wide == tree
    cubed = growth.grow(learn_table(X**3), y, weight, GAIN, bounds, n_classes=2)
    assert cubed.n_samples.tolist() == tree.n_samples.tolist()


def test_time_grows_hardly_faster_than_the_samples() -> None:
    rng = np.random.default_rng(2)
    seconds = []
    for n_samples in (20_000, 160_000):
        X = rng.normal(size=(n_samples, 1))
        y = (np.sin(5 * X[:, 0]) + rng.normal(size=n_samples) > 0).astype(int)
        table = learn_table(X)
        best = math.inf
        for _ in range(3):
            start = time.process_time()
            growth.grow(table, y, None, GAIN, Limits(max_depth=1), n_classes=2)
            best = min(best, time.process_time() - start)
        seconds.append(best)
    # n log n: 9.7 times; a search of the least pair at every merge would take 64 times
    assert seconds[1] < 25 * seconds[0]


@pytest.mark.parametrize(
    ("recipe", "constraints", "message"),
    [
        (replace(CART_REGRESSION, continuous="intervals", missing="error"), FREE, "continuous='intervals' and a numeric target"),
        (replace(CART_CLASSIFICATION, continuous="intervals"), FREE, "missing='direction' and continuous='intervals'"),
        (
            replace(CART_CLASSIFICATION, continuous="intervals", missing="branch"),
            FREE,
            "missing='branch' and continuous='intervals'",
        ),
        (
            replace(CART_CLASSIFICATION, continuous="intervals", missing="surrogate"),
            FREE,
            "missing='surrogate' and continuous='intervals'",
        ),
        (
            replace(CART_CLASSIFICATION, ordinal="intervals", missing="error"),
            Constraints((1,)),
            "ordinal='intervals' and monotonic_cst",
        ),
        (replace(GAIN, nominal="declared", release8=True), FREE, "continuous='intervals' and release8=True"),
    ],
    ids=["regression", "direction", "branch", "surrogate", "monotone", "release8"],
)
def test_choices_that_do_not_go_with_intervals_are_refused(recipe: Recipe, constraints: Constraints, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        conflicts.check_recipe(recipe, 0 if recipe.impurity == "squared_error" else 2, constraints)


def test_a_walk_of_a_value_on_a_cut_goes_to_the_lower_interval(data: Path) -> None:
    tree, _, _ = income(data, GAIN)
    leaves = np.empty(6, np.int32)
    rows = np.array([[80.0], [np.nextafter(80.0, 81)], [97.5], [98.0], [-1e300], [1e300]])
    _core.walk(tree.replace(missing=np.array([0, -2, -2, -2])), rows, leaves)
    assert leaves.tolist() == [1, 2, 2, 3, 1, 3]


def test_error_based_pruning_keeps_the_intervals() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2)).round(1)
    X[::7, 0] = np.nan
    y = (np.abs(X[:, 1]) > 0.5).astype(int)
    recipe = PublicRecipe(rank="gain_ratio", continuous="intervals", missing="fractional")
    tree = TreeClassifier(recipe=recipe, pruning="error_based").fit(X, y).tree_
    tree.check()
    assert (tree.kind == INTERVALS).any()
