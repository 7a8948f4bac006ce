"""Predictions that rise or fall with a feature, and paths that keep to groups of features."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from strategies import FEWER_EACH, NOMINAL, SmallTable, limits, tables
from test_engine_twin import EncodedTable, as_nodes, grow_compiled, numbers_of, outline, test_of

from fasttree import CARTClassifier, CARTRegressor, load
from fasttree._data.table import Table
from fasttree._learn import conflicts
from fasttree._learn.constraints import Constraints
from fasttree._learn.grow import growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import CART_CLASSIFICATION, CART_REGRESSION, ID3, Recipe
from fasttree._model import walks
from fasttree._model.tree import Tree

RECIPES = {
    "gini": CART_CLASSIFICATION,
    "entropy": replace(CART_CLASSIFICATION, impurity="entropy"),
    "misclassification, one against the rest": replace(CART_CLASSIFICATION, impurity="misclassification", nominal="one_vs_rest"),
    "squared error": CART_REGRESSION,
    "poisson": replace(CART_REGRESSION, impurity="poisson"),
}
GROUPED = {
    **RECIPES,
    "gini, fractional": replace(CART_CLASSIFICATION, nominal="declared", missing="fractional"),
    "branch per occurring category": replace(ID3, continuous="threshold", missing="fractional"),
}
X10, Y10 = np.arange(1.0, 11.0)[:, None], np.array([1, 2, 6, 3, 4, 5, 8, 7, 6, 9.0])


@st.composite
def constrained(draw: st.DrawFn, recipe: Recipe, *, monotone: bool, grouped: bool) -> tuple[SmallTable, Constraints]:
    numeric = recipe.impurity in ("squared_error", "poisson")
    table = draw(tables(task="regression" if numeric else "classification"))
    if recipe.impurity == "poisson":
        table = replace(table, y=table.y + 2.25)
    n_features = len(table.columns)
    directions = tuple(0 if kind == NOMINAL else draw(st.integers(-1, 1)) for kind in table.kinds) if monotone else None
    if not grouped:
        return table, Constraints(directions)
    if draw(st.booleans()):
        return table, Constraints(directions, pairwise=True)
    groups = draw(st.lists(st.sets(st.integers(0, n_features - 1), min_size=1), max_size=4))
    rest = set(range(n_features)).difference(*groups)
    sets = tuple(tuple(sorted(group)) for group in [*groups, rest] if group)
    return table, Constraints(directions, sets)


def assert_same_tree(table: SmallTable, recipe: Recipe, bounds: Limits, constraints: Constraints) -> None:
    expected = naive.grow(
        table.columns, table.kinds, table.n_categories, table.y, table.n_classes, table.sample_weight, recipe, bounds, constraints
    )
    for block_rows in (4, growth.BLOCK_ROWS):
        compiled = as_nodes(grow_compiled(table, recipe, bounds, constraints=constraints, block_rows=block_rows))
        report = "\n".join([f"{recipe}\n{constraints}\n{table!r}", *outline(compiled), "expected", *outline(expected)])
        ours, theirs = naive.breadth_first(compiled), naive.breadth_first(expected)
        assert [test_of(node) for node in ours] == [test_of(node) for node in theirs], report
        for one, other in zip(ours, theirs, strict=True):
            assert numbers_of(one) == pytest.approx(numbers_of(other), rel=1e-9, abs=1e-9), report


@pytest.mark.parametrize("name", RECIPES)
@FEWER_EACH
@given(data=st.data(), bounds=limits(min_gain=-math.inf))
def test_trees_with_directions_agree_with_the_twin(name: str, data: st.DataObject, bounds: Limits) -> None:
    table, constraints = data.draw(constrained(RECIPES[name], monotone=True, grouped=False))
    assert_same_tree(table, RECIPES[name], bounds, constraints)


@pytest.mark.parametrize("name", GROUPED)
@FEWER_EACH
@given(data=st.data(), bounds=limits(min_gain=-math.inf))
def test_trees_with_groups_of_features_agree_with_the_twin(name: str, data: st.DataObject, bounds: Limits) -> None:
    table, constraints = data.draw(constrained(GROUPED[name], monotone=False, grouped=True))
    assert_same_tree(table, GROUPED[name], bounds, constraints)


@given(data=st.data())
def test_both_constraints_at_once_agree_with_the_twin(data: st.DataObject) -> None:
    table, constraints = data.draw(constrained(CART_REGRESSION, monotone=True, grouped=True))
    assert_same_tree(table, CART_REGRESSION, Limits(min_gain=-math.inf), constraints)


def predictions_along(tree: Tree, table: SmallTable, feature: int) -> NDArray[np.float64]:
    """Means, or mean class indices, of all samples with one feature set to each of its values, ascending; (values, samples)."""
    column = table.columns[feature]
    known = column[~np.isnan(column)] if column.dtype.kind == "f" else column[column > 0]
    rows = []
    for value in np.unique(known):
        columns = list(table.columns)
        columns[feature] = np.full_like(column, value)
        predicted = walks.predict_value(tree, cast(Table, EncodedTable(replace(table, columns=tuple(columns)))))
        rows.append(predicted @ np.arange(predicted.shape[1]) if predicted.shape[1] > 1 else predicted[:, 0])
    return np.array(rows)


@pytest.mark.parametrize("max_leaf_nodes", [None, 5])
@pytest.mark.parametrize("name", RECIPES)
@FEWER_EACH
@given(data=st.data())
def test_predictions_follow_the_direction_of_every_feature(name: str, max_leaf_nodes: int | None, data: st.DataObject) -> None:
    table, constraints = data.draw(constrained(RECIPES[name], monotone=True, grouped=False))
    tree = grow_compiled(table, RECIPES[name], Limits(min_gain=-math.inf, max_leaf_nodes=max_leaf_nodes), constraints=constraints)
    # a mean class index is a sum of products here: it may round, the share of one of two classes does not
    slack = 1e-12 if table.n_classes > 2 else 0.0
    assert constraints.monotone is not None
    for feature, direction in enumerate(constraints.monotone):
        for below, above in pairwise(predictions_along(tree, table, feature)) if direction else ():
            assert ((above - below) * direction >= -slack).all()


@pytest.mark.parametrize("seed", range(10))
def test_predictions_of_weights_that_are_no_round_numbers_are_in_order_to_the_last_bit(seed: int) -> None:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(300, 3)).round(1)
    X[generator.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X) @ [1, -0.5, 2] + generator.normal(size=300)
    weight = generator.uniform(0.1, 3, 300)
    grid = np.linspace(-4, 4, 50)
    rest = generator.normal(size=(40, 3))
    rest[generator.random(rest.shape) < 0.2] = np.nan
    regressor = CARTRegressor(monotonic_cst=[1, -1, 0]).fit(X, y, weight)
    classifier = CARTClassifier(monotonic_cst=[1, -1, 0]).fit(X, y > 0, weight)
    predictions: list[Callable[[Any], NDArray[np.float64]]]
    predictions = [regressor.predict, lambda rows: classifier.predict_proba(rows)[:, 1]]
    for predict in predictions:
        for feature, direction in ((0, 1), (1, -1)):
            for row in rest:
                line = np.tile(row, (len(grid), 1))
                line[:, feature] = grid
                assert (np.diff(predict(line)) * direction >= 0).all()


def test_worked_numbers_of_a_rising_and_of_a_falling_regression() -> None:
    rising = CARTRegressor(monotonic_cst=[1]).fit(X10, Y10)
    assert rising.predict(X10) == pytest.approx([1, 2, *[13 / 3] * 3, 5, 7, 7, 7, 9])
    tested = rising.tree_.n_branches > 0
    assert rising.tree_.threshold[tested].tolist() == [6.5, 2.5, 9.5, 1.5, 5.5]
    falling = CARTRegressor(monotonic_cst=[-1]).fit(X10, Y10)
    assert falling.tree_.node_count == 1
    assert falling.predict(X10[:1]) == pytest.approx([5.1])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_value_that_is_exactly_a_bound_is_in_order(sign: int) -> None:
    """The root has 0 below and 2 above, so 1 is the bound of both, and half of the samples above have 1."""
    X = np.array([[0, 0], [0, 1]] * 4 + [[1, 0]] * 2 + [[1, 1]] * 2)
    y = sign * np.array([0] * 8 + [1, 1, 3, 3])
    model = CARTRegressor(monotonic_cst=[sign, sign]).fit(X, y)
    assert (sign * model.predict([[0, 0], [0, 1], [1, 0], [1, 1]])).tolist() == [0, 0, 1, 3]


def test_worked_numbers_of_a_rising_probability() -> None:
    y = np.array([0, 0, 1, 0, 0, 1, 1, 0, 1, 1])
    model = CARTClassifier(monotonic_cst=[1]).fit(X10, y)
    assert model.predict_proba(X10)[:, 1] == pytest.approx([0, 0, *[1 / 3] * 3, *[2 / 3] * 3, 1, 1])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("max_leaf_nodes", [None, 8])
def test_trees_are_those_of_scikit_learn_where_the_best_split_is_unique(seed: int, max_leaf_nodes: int | None) -> None:
    # real targets, or real weights, and leaves of three samples: no two splits are equally good
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(150, 3)).astype(np.float32)
    y = X @ [1, -0.5, 0.3] + generator.normal(size=150)
    weight = generator.uniform(0.5, 2, 150)
    choices = {
        "monotonic_cst": generator.integers(-1, 2, 3),
        "min_samples_leaf": 3,
        "max_leaf_nodes": max_leaf_nodes,
        "random_state": 0,
    }
    regressor = CARTRegressor(**choices).fit(X, y, weight)
    assert regressor.predict(X) == pytest.approx(DecisionTreeRegressor(**choices).fit(X, y, weight).predict(X))
    counts = np.exp(y)
    regressor = CARTRegressor(criterion="poisson", **choices).fit(X, counts, weight)
    expected = DecisionTreeRegressor(criterion="poisson", **choices).fit(X, counts, weight)
    assert regressor.predict(X) == pytest.approx(expected.predict(X))
    classifier = CARTClassifier(**choices).fit(X, y > 0, weight)
    expected = DecisionTreeClassifier(**choices).fit(X, y > 0, weight).predict_proba(X)
    assert classifier.predict_proba(X) == pytest.approx(expected)


def paths_of(tree: Tree) -> list[set[int]]:
    """The features tested on the way to each node."""
    paths: list[set[int]] = [set()]
    for node in range(1, tree.node_count):
        above = int(tree.parent[node])
        paths.append(paths[above] | {int(tree.feature[above])})
    return paths


@given(data=st.data())
def test_the_features_of_a_path_share_a_group(data: st.DataObject) -> None:
    table, constraints = data.draw(constrained(CART_CLASSIFICATION, monotone=False, grouped=True))
    n_features = len(table.columns)
    drawn = data.draw(st.integers(1, n_features))
    tree = grow_compiled(
        table, CART_CLASSIFICATION, Limits(min_gain=-math.inf, max_features=drawn, max_leaf_nodes=6), constraints=constraints
    )
    for path in paths_of(tree):
        if constraints.pairwise:
            assert len(path) <= 2
        else:
            assert any(path <= set(group) for group in constraints.sets or ())


def table_of_products() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 4))
    return X, X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + X.sum(axis=1)


@pytest.mark.parametrize(
    ("given_groups", "allowed"),
    [
        ("no_interactions", [{0}, {1}, {2}, {3}]),
        ("pairwise", [{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}]),
        ([[0, 1]], [{0, 1}, {2, 3}]),
        ([(0, 1), {1, 2}], [{0, 1}, {1, 2}, {3}]),
        (np.array([[0, 1], [2, 3]]), [{0, 1}, {2, 3}]),
    ],
    ids=["none", "pairs", "the rest is a group", "overlapping", "array"],
)
def test_groups_mean_what_they_mean_to_histogram_gradient_boosting(given_groups: Any, allowed: list[set[int]]) -> None:
    X, y = table_of_products()
    model = CARTRegressor(interaction_cst=given_groups, min_samples_leaf=5).fit(X, y)
    paths = paths_of(model.tree_)
    assert all(any(path <= group for group in allowed) for path in paths)
    # the tree goes as far as it may: some path meets a whole group
    assert any(path == group for path in paths for group in allowed)


@pytest.mark.parametrize("seed", range(5))
def test_draws_of_features_are_among_those_that_a_path_allows(seed: int) -> None:
    # below the root two features are left and two are drawn: both are looked at, as without a draw
    X, y = table_of_products()
    groups = [[0, 1], [2, 3]]
    model = CARTRegressor(interaction_cst=groups, max_features=2, random_state=seed).fit(X, y)
    root = model.tree_.feature[0]
    allowed = next(group for group in groups if root in group)
    below = X[:, root] <= model.tree_.threshold[0]
    alone = CARTRegressor().fit(X[below][:, allowed], y[below])
    assert (model.predict(X[below]) == alone.predict(X[below][:, allowed])).all()
    assert len(np.unique(model.apply(X[below]))) == alone.get_n_leaves()


def test_constraints_name_features_of_a_table_with_names(tmp_path: Any) -> None:
    import pandas as pd

    X, y = table_of_products()
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = CARTRegressor(monotonic_cst={"c": 1}, interaction_cst=[{"a", "b"}], min_samples_leaf=9).fit(frame, y)
    by_index = CARTRegressor(monotonic_cst=[0, 0, 1, 0], interaction_cst=[[0, 1], [2, 3]], min_samples_leaf=9).fit(frame, y)
    assert named.tree_ == by_index.tree_
    named.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert isinstance(again, CARTRegressor)
    assert again.fit(frame, y).tree_ == named.tree_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"monotonic_cst": [1]}, "monotonic_cst has 1 entries, but X has 2 features"),
        ({"monotonic_cst": [2, 0]}, "'a' is 2: must be -1"),
        ({"monotonic_cst": {"z": 1}}, "monotonic_cst names 'z': must be a column name, or an index from 0 to 1; the columns are"),
        ({"monotonic_cst": {"b": 1}}, "column 'b' is 1, but the column is nominal"),
        ({"monotonic_cst": 1}, "monotonic_cst=1: must be a list"),
        ({"interaction_cst": "all"}, "interaction_cst='all': must be a list of groups"),
        ({"interaction_cst": [0, 1]}, "must be a list of groups of column names or indices"),
        ({"interaction_cst": [[0, 2]]}, "interaction_cst names 2"),
    ],
)
def test_a_constraint_that_is_none_is_refused(parameters: dict[str, Any], message: str) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        CARTRegressor(**parameters).fit(frame, [1.0, 2.0, 3.0])


def test_a_direction_and_samples_that_are_divided_exclude_each_other() -> None:
    recipe = replace(CART_CLASSIFICATION, nominal="declared", missing="fractional")
    with pytest.raises(ValueError, match="missing='fractional' and monotonic_cst"):
        conflicts.check_recipe(recipe, 2, Constraints((1,)))
