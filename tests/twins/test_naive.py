"""The slow twin is right: textbook numbers, known trees of the original programs, and properties it must have by definition."""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from strategies import CONTINUOUS, NOMINAL, ORDINAL, SmallTable, limits, planted_tables, tables

from fasttree._learn.limits import Limits
from fasttree._learn.recipe import C45, CART_CLASSIFICATION, CART_REGRESSION, ID3, Recipe

ANY_GAIN = -math.inf
FREE = Limits(min_gain=ANY_GAIN)
"""No limits; a split without gain is allowed, as in CART and C4.5."""
POSITIVE = Limits(min_gain=1e-12)
"""ID3 with epsilon = 0."""


def grow(table: SmallTable, recipe: Recipe, limits: Limits = FREE) -> naive.Node:
    return naive.grow(
        table.columns, table.kinds, table.n_categories, table.y, table.n_classes, table.sample_weight, recipe, limits
    )


def codes(values: Sequence[str], categories: Sequence[str]) -> np.ndarray[Any, Any]:
    return np.array([categories.index(value) + 1 if value else 0 for value in values], dtype=np.uint8)


def nominal_table(text: str, categories: Sequence[Sequence[str]], classes: Sequence[str]) -> SmallTable:
    """A table from rows of words, the class last; "?" is missing."""
    rows = [line.replace("?", "").split(",") for line in text.split()]
    *columns, y = zip(*rows, strict=True)
    return SmallTable(
        tuple(codes(column, names) for column, names in zip(columns, categories, strict=True)),
        (NOMINAL,) * len(columns),
        tuple(map(len, categories)),
        np.array([classes.index(label) for label in y]),
        len(classes),
    )


def counted_table(class_counts: Sequence[Sequence[int]]) -> SmallTable:
    """One nominal feature whose category i has the class counts of row i."""
    pairs = [(i + 1, k) for i, row in enumerate(class_counts) for k, n in enumerate(row) for _ in range(n)]
    column, y = map(np.array, zip(*pairs, strict=True))
    return SmallTable((column,), (NOMINAL,), (len(class_counts),), y, len(class_counts[0]))


def continuous_table(x: Sequence[float], y: Iterable[float], n_classes: int) -> SmallTable:
    return SmallTable((np.array(x, dtype=float),), (CONTINUOUS,), (0,), np.array(list(y)), n_classes)


LOAN = nominal_table(
    """young,no,no,fair,no young,no,no,good,no young,yes,no,good,yes young,yes,yes,fair,yes young,no,no,fair,no
    middle,no,no,fair,no middle,no,no,good,no middle,yes,yes,good,yes middle,no,yes,excellent,yes middle,no,yes,excellent,yes
    old,no,yes,excellent,yes old,no,yes,good,yes old,yes,no,good,yes old,yes,no,excellent,yes old,no,no,fair,no""",
    [["young", "middle", "old"], ["no", "yes"], ["no", "yes"], ["fair", "good", "excellent"]],
    ["no", "yes"],
)
TENNIS_TEXT = """sunny,hot,high,weak,no sunny,hot,high,strong,no overcast,hot,high,weak,yes rain,mild,high,weak,yes
    rain,cool,normal,weak,yes rain,cool,normal,strong,no overcast,cool,normal,strong,yes sunny,mild,high,weak,no
    sunny,cool,normal,weak,yes rain,mild,normal,weak,yes sunny,mild,normal,strong,yes overcast,mild,high,strong,yes
    overcast,hot,normal,weak,yes rain,mild,high,strong,no"""
TENNIS = nominal_table(
    TENNIS_TEXT,
    [["sunny", "overcast", "rain"], ["hot", "mild", "cool"], ["high", "normal"], ["weak", "strong"]],
    ["no", "yes"],
)
GOLF = SmallTable(
    (
        TENNIS.columns[0],
        np.array([85, 80, 83, 70, 68, 65, 64, 72, 69, 75, 75, 72, 81, 71], dtype=float),
        np.array([85, 90, 78, 96, 80, 70, 65, 95, 70, 80, 70, 90, 75, 80], dtype=float),
        TENNIS.columns[3],
    ),
    (NOMINAL, CONTINUOUS, CONTINUOUS, NOMINAL),
    (3, 0, 0, 2),
    TENNIS.y,
    2,
)
MISSING10 = nominal_table(
    "1,x,p,no 1,x,q,no 1,y,p,no 1,y,q,no 1,x,p,no 2,x,p,yes 2,y,p,yes 2,y,q,yes 2,x,p,no ?,y,q,yes",
    [["1", "2"], ["x", "y"], ["p", "q"]],
    ["no", "yes"],
)
LI_REG10 = continuous_table(range(1, 11), [4.50, 4.75, 4.91, 5.34, 5.80, 7.05, 7.90, 8.23, 8.70, 9.00], 1)


def printed(numbers: Any) -> Any:
    """Equal to numbers printed with ten digits after the point."""
    return pytest.approx(numbers, abs=1e-9, rel=0)


def known(column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(~np.isnan(column) if column.dtype.kind == "f" else column != 0)


def gains(table: SmallTable, recipe: Recipe, parts: Iterable[int] | None = None) -> list[list[float]]:
    """For every feature the gains of its candidates at the root, or among these rows, in the order of preference."""
    root = tuple((row, 1.0) for row in (range(table.n_samples) if parts is None else parts))
    problem = naive.Problem(table.columns, table.kinds, table.n_categories, table.y, table.n_classes, recipe, FREE, root)
    found = [naive.candidates(problem, list(root), f, frozenset()) for f in range(len(table.columns))]
    return [[split.gain for split in sorted(splits, key=lambda split: split.order)] for splits in found]


def size(root: naive.Node) -> int:
    return len(naive.breadth_first(root))


def training_errors(root: naive.Node, table: SmallTable) -> int:
    return sum(naive.predict_class(root, table.row(i)) != table.y[i] for i in range(table.n_samples))


def shape(node: naive.Node) -> Any:
    """The partition that a tree makes, without numbers that depend on the unit of weight."""
    return (node.kind, node.feature, node.threshold if node.kind == "threshold" else None, node.table, node.missing,
            [shape(child) for child in node.children])  # fmt: skip


# Textbook numbers


def test_loan_table_has_the_textbook_gains_under_information_gain() -> None:
    assert [gain for [gain] in gains(LOAN, ID3)] == printed([0.0830074999, 0.3236501982, 0.4199730940, 0.3629895625])
    without_house = [i for i in range(15) if LOAN.columns[2][i] == 1]
    first, second, _, fourth = gains(LOAN, ID3, without_house)
    assert first + second + fourth == printed([0.2516291674, 0.9182958341, 0.4738513896])


@pytest.mark.parametrize("recipe", [ID3, C45, CART_CLASSIFICATION], ids=lambda recipe: recipe.name)
def test_loan_tree_asks_for_house_then_job(recipe: Recipe) -> None:
    root = grow(LOAN, recipe, POSITIVE if recipe is ID3 else FREE)
    no_house, house = root.children
    no_job, job = no_house.children
    assert (root.feature, no_house.feature, size(root)) == (2, 1, 5)
    assert (house.value, no_job.value, job.value) == ([0, 6], [6, 0], [0, 3])
    assert training_errors(root, LOAN) == 0


def test_loan_tree_is_one_leaf_when_epsilon_is_above_the_best_gain() -> None:
    assert size(grow(LOAN, ID3, Limits(min_gain=0.42))) == 1
    assert size(grow(LOAN, ID3, Limits(min_gain=0.4199))) > 1


def test_one_against_the_rest_has_the_textbook_gini_on_the_loan_table() -> None:
    age, job, house, credit = gains(LOAN, replace(CART_CLASSIFICATION, nominal="one_vs_rest"))
    # branch 0 holds the lowest code, so {1} | {2, 3} comes first, then {1, 2} | {3}, then {1, 3} | {2}
    assert [0.48 - g for g in age] == printed([0.44, 0.44, 0.48])
    assert [0.48 - g for g in job + house] == printed([0.32, 0.2666666667])
    assert [0.48 - g for g in credit] == printed([0.32, 0.3636363636, 0.4740740741])


@pytest.mark.parametrize(
    ("impurity", "expected"),
    [("gini", [0, 0.2777777778, 0.5]), ("entropy", [0, 0.6500224216, 1]), ("misclassification", [0, 1 / 6, 0.5])],
)
def test_impurities_of_three_small_nodes(impurity: str, expected: list[float]) -> None:
    recipe = replace(CART_CLASSIFICATION, impurity=impurity)
    nodes = [grow(counted_table([counts]), recipe) for counts in ([0, 6], [1, 5], [3, 3])]
    assert [node.impurity for node in nodes] == printed(expected)


def test_tennis_tree_of_id3() -> None:
    root = grow(TENNIS, ID3, POSITIVE)
    sunny, overcast, rain = root.children
    assert root.impurity == printed(0.9402859587)
    assert [g for [g] in gains(TENNIS, ID3)] == printed([0.2467498198, 0.0292225657, 0.1518355014, 0.0481270304])
    assert (root.feature, sunny.feature, rain.feature) == (0, 2, 3)
    assert overcast.value == [0, 4]
    assert [child.value for child in sunny.children + rain.children] == [[3, 0], [0, 2], [0, 3], [2, 0]]
    assert root.missing == "stop"


def test_id3_answers_an_unseen_category_with_the_distribution_of_the_node() -> None:
    root = grow(TENNIS, ID3, POSITIVE)
    assert naive.predict_proba(root, [0, 1, 1, 1]) == pytest.approx([5 / 14, 9 / 14])
    assert naive.leaf_path(root, [0, 1, 1, 1]) == ()
    assert naive.leaf_path(root, [1, 1, 2, 1]) == (0, 1)


def test_regression_tree_has_the_cuts_and_errors_of_the_exercise() -> None:
    root = grow(LI_REG10, CART_REGRESSION)
    errors = [27.63236 - 10 * gain for gain in gains(LI_REG10, CART_REGRESSION)[0]]
    expected = [22.648, 17.7022375, 12.1934857143, 7.3787, 3.35872, 5.0739583333, 10.0524666667, 15.1778, 21.328]
    assert errors == printed(expected)
    assert root.weight * root.impurity == printed(27.63236)
    inner = [node for node in naive.breadth_first(root) if node.children]
    assert [node.threshold for node in inner] == [5.5, 3.5, 7.5, 1.5, 4.5, 6.5, 8.5, 2.5, 9.5]
    means = [6.618, 5.06, 8.176, 4.72, 5.57, 7.475, 8.6433333333, 4.83, 8.85]
    assert [node.value[0] for node in inner] == printed(means)
    assert naive.predict_value(root, [3.2]) == 4.91


@pytest.mark.parametrize(("decrease", "n_leaves"), [(0.1638003333333, 3), (0.163801, 2)])
def test_min_impurity_decrease_is_in_units_of_the_whole_table(decrease: float, n_leaves: int) -> None:
    root = grow(LI_REG10, CART_REGRESSION, FREE._replace(min_impurity_decrease=decrease))
    assert sum(not node.children for node in naive.breadth_first(root)) == n_leaves


# Missing values by fractions

FRACTIONAL = Recipe("id3", "entropy", nominal="present", ordinal="present", missing="fractional")


def test_gain_counts_the_known_samples_and_their_share() -> None:
    assert [g for [g] in gains(MISSING10, FRACTIONAL)] == printed([0.5019550009, 0.1245112498, 0.0199730940])


def test_split_information_counts_missing_values_as_one_more_outcome() -> None:
    root = tuple((row, 1.0) for row in range(10))
    problem = naive.Problem(MISSING10.columns, MISSING10.kinds, MISSING10.n_categories, MISSING10.y, 2, FRACTIONAL, FREE, root)
    [split] = naive.candidates(problem, list(root), 0, frozenset())
    assert split.split_info == printed(1.3609640474)
    assert split.gain / split.split_info == printed(0.3688231161)


def test_a_sample_with_a_missing_value_goes_down_every_branch_in_shares() -> None:
    root = grow(MISSING10, FRACTIONAL, FREE._replace(max_depth=2))
    one, two = root.children
    assert (root.feature, one.feature, two.feature) == (0, 1, 1)
    assert (one.gain, two.gain) == printed((0.1215229038, 0.3191928290))
    leaves = [child.value for child in one.children + two.children]
    expected = [[3, 0], [2, 0.5555555556], [1, 1], [0, 2.4444444444]]
    assert np.array(leaves) == pytest.approx(np.array(expected), abs=1e-9)
    assert [child.n_samples for child in root.children] == [6, 5]


@pytest.mark.parametrize(
    ("b", "expected"), [(1, [0.7777777778, 0.2222222222]), (2, [0.4347826087, 0.5652173913])], ids=["x", "y"]
)
def test_prediction_adds_the_leaves_by_share(b: int, expected: list[float]) -> None:
    root = grow(MISSING10, FRACTIONAL, FREE._replace(max_depth=2))
    assert naive.predict_proba(root, [0, b, 1]) == printed(expected)


# Subsets of categories


def test_best_subset_of_five_categories_and_three_classes() -> None:
    table = counted_table([(8, 1, 1), (6, 3, 1), (1, 7, 2), (2, 2, 6), (1, 1, 8)])
    root = grow(table, CART_CLASSIFICATION, FREE._replace(max_depth=1))
    assert root.table == {1: 0, 2: 0, 3: 1, 4: 1, 5: 1}
    assert 50 * root.gain == printed(6.32)
    # the groups with A in dictionary order: A, AB, ABC, ABCD, ABCE, ABD, ..., AE
    found = {round(50 * gain, 6) for gain in gains(table, CART_CLASSIFICATION)[0]}
    assert {3.67, 1.57, 3.37, 1.12, 6.32, 2.22, 1.22, 3.086667, 0.086667, 2.486667} <= found
    entropy = grow(table, replace(CART_CLASSIFICATION, impurity="entropy"), FREE._replace(max_depth=1))
    assert entropy.table == root.table
    assert 50 * (entropy.impurity - entropy.gain) == printed(65.1230299083)


def test_exhaustive_search_finds_what_the_principal_component_misses() -> None:
    table = counted_table([(8, 8, 6), (3, 3, 7), (4, 0, 5), (1, 3, 5), (2, 6, 8)])
    root = grow(table, CART_CLASSIFICATION, FREE._replace(max_depth=1))
    assert root.table == {1: 0, 2: 1, 3: 1, 4: 1, 5: 1}
    assert root.weight * root.gain == pytest.approx(1.523617, abs=1e-6)


def test_principal_component_orders_the_categories() -> None:
    table = counted_table([(8, 1, 1), (6, 3, 1), (1, 7, 2), (2, 2, 6), (1, 1, 8)])
    root = tuple((row, 1.0) for row in range(50))
    problem = naive.Problem(table.columns, table.kinds, table.n_categories, table.y, 3, CART_CLASSIFICATION, FREE, root)
    by_value = {code: [part for part in root if table.columns[0][part[0]] == code] for code in range(1, 6)}
    assert naive.principal_order(problem, by_value) in ([1, 2, 3, 4, 5], [5, 4, 3, 2, 1])


def test_best_subset_for_two_classes_need_not_be_an_interval_of_codes() -> None:
    root = grow(counted_table([(2, 8), (7, 3), (5, 5), (1, 9), (6, 4)]), CART_CLASSIFICATION, FREE._replace(max_depth=1))
    assert root.table == {1: 0, 2: 1, 3: 1, 4: 0, 5: 1}
    assert 50 * root.impurity == printed(24.36)
    assert 50 * (root.impurity - root.gain) == printed(19.5)


def test_best_subset_for_regression_follows_the_means() -> None:
    values = {1: [3, 5], 2: [10, 12, 11], 3: [4, 6], 4: [9], 5: [20, 22]}
    column = np.array([code for code, ys in values.items() for _ in ys])
    y = np.array([float(v) for ys in values.values() for v in ys])
    root = grow(SmallTable((column,), (NOMINAL,), (5,), y, 1), CART_REGRESSION, FREE._replace(max_depth=1))
    assert root.table == {1: 0, 2: 0, 3: 0, 4: 0, 5: 1}
    assert root.weight * root.impurity == printed(375.6)
    assert root.weight * (root.impurity - root.gain) == printed(84)


@given(table=tables(kinds=[NOMINAL], missing=False, max_classes=2, max_features=1))
def test_the_ordering_theorem_loses_nothing_against_all_subsets(table: SmallTable) -> None:
    by_order = gains(table, CART_CLASSIFICATION)[0]
    # a third class without samples makes the search exhaustive
    exhaustive = gains(replace(table, n_classes=3), CART_CLASSIFICATION)[0]
    assert max(by_order, default=0) == pytest.approx(max(exhaustive, default=0), abs=1e-12)


def test_more_than_ten_categories_and_three_classes_are_split_well() -> None:
    generator = np.random.default_rng(5)
    column = np.repeat(np.arange(1, 13), 6)
    y = np.where(column % 3 == 0, 2, generator.integers(0, 2, len(column)))
    root = grow(SmallTable((column,), (NOMINAL,), (12,), y, 3), CART_CLASSIFICATION, FREE._replace(max_depth=1))
    assert root.table == {code: int(code % 3 == 0) for code in range(1, 13)}


# Missing values by a learned direction

NAN = math.nan


@pytest.mark.parametrize(
    ("x", "y", "kind", "threshold", "missing"),
    [
        ([1, 2, 3, 4, NAN, NAN], [0, 0, 1, 1, 0, 0], "threshold", 2.5, 0),
        ([1, 2, 3, 4, NAN, NAN], [0, 0, 1, 1, 1, 0], "threshold", 2.5, 1),
        ([1, 2, 3, NAN, NAN], [0, 0, 0, 1, 1], "known", NAN, 1),
        ([1, 2, 3, 4, 5], [0, 0, 1, 1, 1], "threshold", 2.5, 1),
        ([1, 2, 3, 4], [0, 0, 1, 1], "threshold", 2.5, 1),
        ([1, 2, 3, 4, 5], [0, 0, 0, 1, 1], "threshold", 3.5, 0),
    ],
    ids=["left is better", "a tie goes right", "known against missing", "more samples right", "as many", "more left"],
)
def test_a_missing_value_learns_its_direction(x: list[float], y: list[int], kind: str, threshold: float, missing: int) -> None:
    root = grow(continuous_table(x, y, 2), CART_CLASSIFICATION, FREE._replace(max_depth=1))
    assert (root.kind, root.missing) == (kind, missing)
    assert root.threshold == pytest.approx(threshold, nan_ok=True)
    assert naive.leaf_path(root, [NAN]) == (missing,)


def test_a_category_that_the_node_has_not_seen_is_treated_as_missing() -> None:
    column = np.array([1, 1, 2, 2, 0, 0])
    root = grow(SmallTable((column,), (NOMINAL,), (3,), np.array([0, 0, 1, 1, 0, 0]), 2), CART_CLASSIFICATION)
    assert root.missing == 0
    assert naive.leaf_path(root, [3]) == naive.leaf_path(root, [0]) == (0,)


def test_a_missing_ordinal_value_is_no_low_value() -> None:
    column = np.array([1, 2, 3, 0, 0])
    root = grow(SmallTable((column,), (ORDINAL,), (3,), np.array([0, 0, 1, 1, 1]), 2), CART_CLASSIFICATION)
    assert (root.kind, root.threshold, root.missing) == ("threshold", 2.5, 1)
    assert naive.leaf_path(root, [0]) == (1,)


# Thresholds, ties and limits


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [(1.0, 2.0, 1.5), (1.0, np.nextafter(1.0, 2), 1.0), (-1.7e308, 1.7e308, 0.0), (0.0, 5e-324, 0.0)],
)
def test_a_threshold_separates_any_two_values(a: float, b: float, expected: float) -> None:
    assert naive.midpoint(a, b) == expected
    assert a <= naive.midpoint(a, b) < b


def test_the_lowest_feature_then_the_lowest_threshold_wins_a_tie() -> None:
    table = continuous_table([1, 2, 3, 4], [0, 1, 1, 0], 2)
    twice = replace(table, columns=table.columns * 2, kinds=(0, 0), n_categories=(0, 0))
    root = grow(twice, CART_CLASSIFICATION, FREE._replace(max_depth=1))
    assert (root.feature, root.threshold) == (0, 1.5)


def test_cart_splits_without_gain_where_that_is_allowed() -> None:
    x, z, y = [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]
    table = SmallTable((np.array(x, float), np.array(z, float)), (0, 0), (0, 0), np.array(y), 2)
    assert training_errors(grow(table, CART_CLASSIFICATION), table) == 0
    assert size(grow(table, CART_CLASSIFICATION, Limits())) == 1


@given(table=tables(), bounds=limits(min_gain=ANY_GAIN))
def test_every_leaf_keeps_the_limits(table: SmallTable, bounds: Limits) -> None:
    root = grow(table, CART_CLASSIFICATION, bounds)
    for node in naive.breadth_first(root)[1:]:
        assert node.n_samples >= bounds.min_samples_leaf
        assert node.weight >= bounds.min_weight_leaf
    for node in naive.breadth_first(root):
        if node.children:
            assert node.n_samples >= bounds.min_samples_split
            assert node.impurity > bounds.min_impurity
            assert node.gain * node.weight / root.weight >= bounds.min_impurity_decrease - 1e-15


# C4.5 Release 8: figures of the original program


@pytest.mark.parametrize(
    ("table", "least", "n_nodes", "errors"),
    [(LOAN, 2, 5, 0), (LOAN, 5, 3, 3), (GOLF, 2, 8, 0), (GOLF, 5, 4, 4), (TENNIS, 2, 8, 0), (TENNIS, 5, 4, 4)],
    ids=["loan", "loan -m 5", "golf", "golf -m 5", "tennis", "tennis -m 5"],
)
def test_release8_grows_small_tables_like_the_original(table: SmallTable, least: float, n_nodes: int, errors: int) -> None:
    root = grow(table, C45, FREE._replace(min_branch_weight=least))
    assert (size(root), training_errors(root, table)) == (n_nodes, errors)


def test_release8_cuts_golf_humidity_at_a_value_of_the_data() -> None:
    root = grow(GOLF, C45)
    sunny, overcast, rain = root.children
    assert (sunny.feature, sunny.threshold, rain.feature) == (2, 75.0, 3)
    assert overcast.value == [0, 4]


@pytest.mark.parametrize(("least", "n_nodes", "errors"), [(1, 19, 0), (2, 9, 3), (5, 7, 4)])
def test_release8_grows_iris_like_the_original(least: float, n_nodes: int, errors: int) -> None:
    X, y = load_iris(return_X_y=True)
    # the original's figures are for the UCI copy, which differs from Fisher's table in two rows
    X[34, 3] = X[37, 3] = 0.1
    X[37, 1:3] = 3.1, 1.5
    table = SmallTable(tuple(X.T), (CONTINUOUS,) * 4, (0,) * 4, y, 3)
    root = grow(table, C45, FREE._replace(min_branch_weight=least))
    assert (size(root), training_errors(root, table)) == (n_nodes, errors)


@pytest.mark.parametrize(("least", "n_nodes", "errors"), [(1, 21, 0), (2, 17, 1), (5, 11, 6)])
def test_release8_grows_zoo_like_the_original(data: Path, least: float, n_nodes: int, errors: int) -> None:
    with gzip.open(data / "zoo.csv.gz", "rt", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    *features, y = zip(*rows, strict=True)
    table = SmallTable(
        tuple(
            np.array(column, dtype=float) if name == "legs" else codes(column, ["0", "1"])
            for name, column in zip(header, features, strict=False)
        ),
        tuple(CONTINUOUS if name == "legs" else NOMINAL for name in header[:-1]),
        tuple(0 if name == "legs" else 2 for name in header[:-1]),
        np.array(y, dtype=int) - 1,
        7,
    )
    root = grow(table, C45, FREE._replace(min_branch_weight=least))
    assert (size(root), training_errors(root, table)) == (n_nodes, errors)


def test_release8_gives_a_declared_category_without_samples_an_empty_leaf() -> None:
    table = counted_table([(5, 0), (0, 4), (0, 0)])
    root = grow(table, C45)
    assert (root.kind, len(root.children)) == ("category", 3)
    assert (root.children[2].n_samples, root.children[2].weight, root.children[2].value) == (0, 0, [5, 4])
    assert naive.predict_proba(root, [3]) == [1, 0]


@given(table=tables(missing=False, weighted=False))
def test_release8_undoes_every_split_that_does_not_reduce_the_training_errors(table: SmallTable) -> None:
    for node in naive.breadth_first(grow(table, C45)):
        if node.children:
            assert naive.training_errors(node) < node.weight - max(node.value)


# Against scikit-learn


@pytest.mark.parametrize("impurity", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("weighted", [False, True], ids=["weights 1", "weights"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_cart_is_the_tree_of_scikit_learn_where_the_optimum_is_unique(impurity: str, weighted: bool, missing: bool) -> None:
    # random values without repeats; no two candidates tie with this seed (a missing value can make them: moving the cut to the
    # left and the missing values too may give the same two groups of class counts)
    generator = np.random.default_rng(6)
    X = generator.normal(size=(60, 3)).astype(np.float32).astype(float)
    noise = generator.normal(size=60)
    weight = generator.uniform(0.5, 2, 60) if weighted else None
    bounds = FREE._replace(min_samples_leaf=5, max_depth=4)
    parameters = {"min_samples_leaf": 5, "max_depth": 4, "criterion": impurity, "random_state": 0}
    if impurity == "squared_error":
        y, n_classes = X[:, 0] - 2 * (X[:, 1] > 0) + 0.3 * noise, 1
        other = DecisionTreeRegressor(**parameters)
    else:
        y, n_classes = np.digitize(X[:, 0] + X[:, 1] + 0.3 * noise, [-0.5, 0.7]), 3
        other = DecisionTreeClassifier(**parameters)
    if missing:
        X[generator.random(X.shape) < 0.15] = np.nan
    table = SmallTable(tuple(X.T), (CONTINUOUS,) * 3, (0,) * 3, y, n_classes, weight)
    root = grow(table, replace(CART_CLASSIFICATION, impurity=impurity), bounds)
    theirs = other.fit(X, y, sample_weight=weight).tree_

    def compare(node: naive.Node, i: int) -> None:
        assert node.n_samples == theirs.n_node_samples[i]
        assert node.impurity == pytest.approx(theirs.impurity[i], abs=1e-9)
        if node.impurity == 0:
            return  # scikit-learn's running sums may leave a pure node just above 0, and split it
        assert node.feature == max(theirs.feature[i], -1)
        if node.children:
            assert node.missing == (0 if theirs.missing_go_to_left[i] else 1)
            assert (node.threshold if node.kind == "threshold" else math.inf) == pytest.approx(theirs.threshold[i], abs=1e-12)
            compare(node.children[0], theirs.children_left[i])
            compare(node.children[1], theirs.children_right[i])

    compare(root, 0)
    assert theirs.node_count > 10


# Properties


@pytest.mark.parametrize("name", ["cart", "one against the rest", "entropy", "id3"])
@given(table=planted_tables())
def test_a_planted_labelling_comes_back(name: str, table: SmallTable) -> None:
    recipe = {
        "cart": CART_CLASSIFICATION,
        "one against the rest": replace(CART_CLASSIFICATION, nominal="one_vs_rest"),
        "entropy": replace(CART_CLASSIFICATION, impurity="entropy"),
        "id3": replace(ID3, ordinal="threshold", continuous="threshold"),
    }[name]
    assert training_errors(grow(table, recipe, FREE), table) == 0


CLASSIFIERS = {
    "present": FRACTIONAL,
    "release 8": C45,
    "cart": CART_CLASSIFICATION,
    "cart, fractional": replace(CART_CLASSIFICATION, missing="fractional"),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@given(table=tables(), seed=st.integers(0, 99))
def test_the_order_of_the_samples_does_not_matter(name: str, table: SmallTable, seed: int) -> None:
    shuffled = table.take(np.random.default_rng(seed).permutation(table.n_samples))
    assert shape(grow(shuffled, CLASSIFIERS[name])) == shape(grow(table, CLASSIFIERS[name]))


@pytest.mark.parametrize("name", CLASSIFIERS)
@given(table=tables(weighted=False, max_samples=15), data=st.data())
def test_a_whole_weight_is_a_sample_repeated(name: str, table: SmallTable, data: st.DataObject) -> None:
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=table.n_samples, max_size=table.n_samples)))
    recipe = CLASSIFIERS[name]
    if recipe.missing == "direction" or recipe.release8:
        # both count samples beside weights: where a missing value goes by default, and which attributes have many values
        table = replace(table, columns=tuple(np.where(known(column), column, 1) for column in table.columns))
        recipe = replace(recipe, missing="error", release8=False)
    repeated = grow(table.take(np.repeat(np.arange(table.n_samples), times)), recipe)
    weighted = grow(replace(table, sample_weight=times.astype(float)), recipe)
    assert shape(repeated) == shape(weighted)


@given(table=tables())
def test_shares_add_up(table: SmallTable) -> None:
    root = grow(table, FRACTIONAL)
    for node in naive.breadth_first(root):
        if node.children:
            assert sum(child.weight for child in node.children) == pytest.approx(node.weight)
    assert sum(naive.predict_proba(root, [0 if kind else NAN for kind in table.kinds])) == pytest.approx(1)


@given(table=tables(task="regression", missing=False, weighted=False))
def test_a_free_regression_tree_gives_the_mean_of_equal_rows(table: SmallTable) -> None:
    root = grow(table, CART_REGRESSION)
    for i in range(table.n_samples):
        alike = [table.y[j] for j in range(table.n_samples) if table.row(j) == table.row(i)]
        assert naive.predict_value(root, table.row(i)) == pytest.approx(np.mean(alike))
