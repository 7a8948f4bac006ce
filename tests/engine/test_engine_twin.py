"""The compiled engine grows the tree of its slow twin, node for node, for every recipe."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import (
    CONTINUOUS,
    FEWER_EACH,
    NOMINAL,
    ORDINAL,
    SmallTable,
    code_columns,
    continuous_columns,
    limits,
    planted_tables,
    tables,
)

from fasttree._data.schema import Feature, Kind, Schema
from fasttree._data.table import Table
from fasttree._learn.grow import growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import C45, C45_TEXTBOOK, CART_CLASSIFICATION, CART_REGRESSION, ID3, M5, Recipe
from fasttree._model import walks
from fasttree._model.arrays import SHARES, STOP
from fasttree._model.tree import Tree

ANY_GAIN = -math.inf
ENTROPY = replace(CART_CLASSIFICATION, impurity="entropy")
KIND_NAMES = ("leaf", "threshold", "nominal", "category", "known", "intervals")


@dataclass(frozen=True)
class EncodedTable:
    """What the engine reads of a `Table`."""

    small: SmallTable
    matrix: NDArray[Any] | None = None
    is_in_rows: bool = True

    @property
    def n_samples(self) -> int:
        return self.small.n_samples

    @property
    def n_features(self) -> int:
        return len(self.small.columns)

    @cached_property
    def schema(self) -> Schema:
        return Schema(
            tuple(
                Feature(f"x{j}", Kind(kind), None if kind == CONTINUOUS else tuple(range(q)))
                for j, (kind, q) in enumerate(zip(self.small.kinds, self.small.n_categories, strict=True))
            )
        )

    def column(self, j: int) -> NDArray[Any]:
        return self.small.columns[j]

    def block(self, start: int, stop: int) -> NDArray[np.float64]:
        columns = [
            column.astype(float) if kind == CONTINUOUS else np.where(column == 0, np.nan, column)
            for column, kind in zip(self.small.columns, self.small.kinds, strict=True)
        ]
        return np.array(columns, dtype=float).T[start:stop].copy()


def grow_compiled(table: SmallTable, recipe: Recipe, bounds: Limits, **choices: Any) -> Tree:
    if table.sample_weight is not None:
        # estimators leave samples of weight 0 out before they call the engine
        table = table.take(np.flatnonzero(table.sample_weight))
    n_classes = 0 if recipe.impurity in naive.OF_NUMBERS else table.n_classes
    tree = growth.grow(
        cast(Table, EncodedTable(table)), table.y, table.sample_weight, recipe, bounds, n_classes=n_classes, **choices
    )
    tree.check()
    return tree


def grow_naive(table: SmallTable, recipe: Recipe, bounds: Limits) -> naive.Node:
    return naive.grow(
        table.columns, table.kinds, table.n_categories, table.y, table.n_classes, table.sample_weight, recipe, bounds
    )


def as_nodes(tree: Tree) -> naive.Node:
    """The arrays as linked nodes."""
    names: dict[int, naive.Missing] = {SHARES: "shares", STOP: "stop"}
    nodes = []
    for i in range(tree.node_count):
        entries = slice(tree.categories_start[i], tree.categories_start[i + 1])
        table = dict(zip(tree.categories_code[entries].tolist(), tree.categories_branch[entries].tolist(), strict=True))
        missing = int(tree.missing[i])
        nodes.append(
            naive.Node(
                n_samples=int(tree.n_samples[i]),
                weight=float(tree.weight[i]),
                value=tree.value[i].tolist(),
                impurity=float(tree.impurity[i]),
                kind=KIND_NAMES[tree.kind[i]],
                feature=int(tree.feature[i]),
                threshold=float(tree.threshold[i]),
                table=table,
                cuts=[] if tree.cut is None else tree.cut[tree.cut_start[i] : tree.cut_start[i + 1]].tolist(),
                missing=names.get(missing, missing),
                gain=float(tree.gain[i]),
            )
        )
    for i, node in enumerate(nodes):
        node.children = [nodes[tree.first_child[i] + b] for b in range(tree.n_branches[i])]
    return nodes[0]


def outline(node: naive.Node, depth: int = 0) -> Iterator[str]:
    """One line per node, for reading a failure."""
    test = ""
    if node.children:
        form = {"threshold": node.threshold, "nominal": node.table}.get(node.kind, "")
        test = f" x{node.feature} {node.kind} {form} missing {node.missing} gain {node.gain!r}"
    value = [round(v, 6) for v in node.value]
    yield f"{'    ' * depth}{node.n_samples} of weight {node.weight:.6g} {value} impurity {node.impurity:.6g}{test}"
    for child in node.children:
        yield from outline(child, depth + 1)


def test_of(node: naive.Node) -> tuple[Any, ...]:
    """What must agree exactly."""
    threshold = node.threshold if node.kind == "threshold" else None
    return (node.n_samples, node.kind, node.feature, threshold, node.table, node.cuts, node.missing, len(node.children))


test_of.__test__ = False  # type: ignore[attr-defined]


def numbers_of(node: naive.Node) -> list[float]:
    """What must agree up to rounding."""
    return [node.weight, *node.value, node.impurity, node.gain]


def assert_same_tree(table: SmallTable, recipe: Recipe, bounds: Limits) -> None:
    compiled, expected = as_nodes(grow_compiled(table, recipe, bounds)), grow_naive(table, recipe, bounds)
    report = "\n".join([f"{recipe}\n{bounds}\n{table!r}", "compiled", *outline(compiled), "expected", *outline(expected)])
    ours, theirs = naive.breadth_first(compiled), naive.breadth_first(expected)
    assert [test_of(node) for node in ours] == [test_of(node) for node in theirs], report
    for one, other in zip(ours, theirs, strict=True):
        assert numbers_of(one) == pytest.approx(numbers_of(other), rel=1e-9, abs=1e-9), report


CATEGORIES_ONLY = (NOMINAL, ORDINAL)
CLASSIFIERS = {
    "gini": CART_CLASSIFICATION,
    "entropy": ENTROPY,
    "misclassification": replace(CART_CLASSIFICATION, impurity="misclassification"),
    "gini, one against the rest": replace(CART_CLASSIFICATION, nominal="one_vs_rest"),
    "gini, fractional": replace(CART_CLASSIFICATION, nominal="declared", missing="fractional"),
    "gini, subsets, fractional": replace(CART_CLASSIFICATION, missing="fractional"),
    "entropy, one against the rest, fractional": replace(ENTROPY, nominal="one_vs_rest", missing="fractional"),
    "gini, majority": replace(CART_CLASSIFICATION, missing="majority"),
    "misclassification, majority": replace(CART_CLASSIFICATION, impurity="misclassification", missing="majority"),
    "entropy, one against the rest, majority": replace(ENTROPY, nominal="one_vs_rest", missing="majority"),
    "branch per declared category, majority": replace(ENTROPY, nominal="declared", ordinal="declared", missing="majority"),
    "branch per occurring category, majority": replace(C45_TEXTBOOK, missing="majority"),
    "gini, own branch": replace(CART_CLASSIFICATION, missing="branch"),
    "entropy, own branch": replace(ENTROPY, missing="branch"),
    "misclassification, own branch": replace(CART_CLASSIFICATION, impurity="misclassification", missing="branch"),
    "branch per declared category, own branch": replace(ENTROPY, nominal="declared", missing="branch"),
    "branch per occurring category, own branch": replace(C45_TEXTBOOK, missing="branch"),
    "branch per occurring category, fractional": replace(ID3, continuous="threshold", missing="fractional"),
    "branch per declared category, ordinal thresholds": replace(ENTROPY, nominal="declared", missing="fractional"),
    "c4.5 of the textbooks": C45_TEXTBOOK,
    "gain ratio of at least average gain": replace(C45_TEXTBOOK, rank="gain_ratio"),
    "gain ratio, two groups": replace(ENTROPY, rank="gain_ratio"),
    "plain gain ratio, two groups": replace(ENTROPY, rank="plain_gain_ratio"),
    "plain gain ratio, gini, one against the rest": replace(CART_CLASSIFICATION, rank="plain_gain_ratio", nominal="one_vs_rest"),
}
COMPLETE = {
    "id3": ID3,
    "id3 with thresholds": replace(ID3, ordinal="threshold", continuous="threshold"),
    "gini": replace(CART_CLASSIFICATION, missing="error"),
    "gain ratio, two groups": replace(ENTROPY, rank="gain_ratio", missing="error"),
}
RELEASE8 = {"c4.5": C45, "c4.5 by gain": replace(C45, rank="gain")}
REGRESSORS = {
    "squared error": CART_REGRESSION,
    "one against the rest": replace(CART_REGRESSION, nominal="one_vs_rest"),
    "gain ratio": replace(CART_REGRESSION, rank="gain_ratio"),
    "fifth root": M5,
    "fractional": replace(CART_REGRESSION, missing="fractional"),
    "fractional, branch per occurring category": replace(CART_REGRESSION, nominal="present", missing="fractional"),
    "majority": replace(CART_REGRESSION, missing="majority"),
    "majority, branch per declared category": replace(CART_REGRESSION, nominal="declared", missing="majority"),
    "own branch": replace(CART_REGRESSION, missing="branch"),
    "own branch, branch per declared category": replace(CART_REGRESSION, nominal="declared", missing="branch"),
}


@st.composite
def rows_like(draw: st.DrawFn, table: SmallTable) -> SmallTable:
    """Rows for a tree grown on `table`: any declared category, missing values whether or not growth has seen them."""
    n_samples = 5
    columns = [
        draw(
            continuous_columns(n_samples, missing=True)
            if kind == CONTINUOUS
            else code_columns(n_samples, n_categories, missing=True)
        )
        for kind, n_categories in zip(table.kinds, table.n_categories, strict=True)
    ]
    return replace(table, columns=tuple(columns), y=np.zeros(n_samples, dtype=np.intp), sample_weight=None)


def kinds_for(recipe: Recipe) -> tuple[int, ...]:
    return CATEGORIES_ONLY if recipe.continuous == "error" else (CONTINUOUS, ORDINAL, NOMINAL)


@pytest.mark.parametrize("name", CLASSIFIERS)
@FEWER_EACH
@given(table=tables(), bounds=limits(min_gain=ANY_GAIN))
def test_classification_trees_agree(name: str, table: SmallTable, bounds: Limits) -> None:
    assert_same_tree(table, CLASSIFIERS[name], bounds)


@given(table=tables(), epsilon=st.sampled_from([1e-12, 0.1, 0.4]))
def test_textbook_trees_stop_where_no_gain_ratio_is_large_enough(table: SmallTable, epsilon: float) -> None:
    assert_same_tree(table, C45_TEXTBOOK, Limits(min_gain=ANY_GAIN, min_ratio=epsilon))


@pytest.mark.parametrize("name", COMPLETE)
@FEWER_EACH
@given(data=st.data(), bounds=limits(min_gain=1e-12))
def test_trees_for_complete_tables_agree(name: str, data: st.DataObject, bounds: Limits) -> None:
    table = data.draw(tables(missing=False, kinds=kinds_for(COMPLETE[name])))
    assert_same_tree(table, COMPLETE[name], bounds)


@pytest.mark.parametrize("name", RELEASE8)
@FEWER_EACH
@given(table=tables(), bounds=limits(min_gain=ANY_GAIN, min_branch_weight=True))
def test_release8_trees_agree(name: str, table: SmallTable, bounds: Limits) -> None:
    assert_same_tree(table, RELEASE8[name], bounds)


@pytest.mark.parametrize("name", REGRESSORS)
@FEWER_EACH
@given(table=tables(task="regression"), bounds=limits(min_gain=ANY_GAIN))
def test_regression_trees_agree(name: str, table: SmallTable, bounds: Limits) -> None:
    assert_same_tree(table, REGRESSORS[name], bounds)


@pytest.mark.parametrize("name", [*CLASSIFIERS, *RELEASE8])
@FEWER_EACH
@given(data=st.data(), table=tables(min_samples=4))
def test_rows_that_growth_has_not_seen_get_the_same_probabilities(name: str, data: st.DataObject, table: SmallTable) -> None:
    new_rows = data.draw(rows_like(table))
    recipe, bounds = {**CLASSIFIERS, **RELEASE8}[name], Limits(min_gain=ANY_GAIN)
    compiled = walks.predict_value(grow_compiled(table, recipe, bounds), cast(Table, EncodedTable(new_rows)))
    root = grow_naive(table, recipe, bounds)
    expected = [naive.predict_proba(root, new_rows.row(i)) for i in range(new_rows.n_samples)]
    assert compiled == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.parametrize("name", ["gini", "entropy", "gini, one against the rest", "gini, fractional"])
@FEWER_EACH
@given(table=planted_tables())
def test_trees_of_planted_tables_agree(name: str, table: SmallTable) -> None:
    assert_same_tree(table, CLASSIFIERS[name], Limits(min_gain=ANY_GAIN))


@given(table=tables(kinds=[NOMINAL], max_samples=60, max_categories=10, max_features=2))
def test_subsets_of_up_to_ten_categories_agree(table: SmallTable) -> None:
    assert_same_tree(table, CART_CLASSIFICATION, Limits(min_gain=ANY_GAIN, max_depth=2))


def test_of_equal_sets_of_one_category_the_first_wins_whatever_side_missing_values_join() -> None:
    """1 with the missing values, and 4 without them, gain the same."""
    codes = np.array([4, 4, 4, 2, 0, 4, 1, 4, 3, 0, 4, 4, 4], dtype=np.uint8)
    table = SmallTable((codes,), (NOMINAL,), (4,), np.array([1, 0, 1, 1, 0, 0, 2, 2, 2, 2, 1, 0, 2]), 3)
    assert_same_tree(table, replace(ENTROPY, nominal="one_vs_rest"), Limits(min_gain=ANY_GAIN, max_depth=1))


@pytest.mark.parametrize("recipe", [CART_CLASSIFICATION, ENTROPY], ids=["gini", "entropy"])
@pytest.mark.parametrize(("seed", "n_classes"), [*((seed, 3) for seed in range(5)), (5, 18)])  # to 16, a matrix is squared
def test_subsets_of_many_categories_agree(recipe: Recipe, seed: int, n_classes: int) -> None:
    # random weights: the leading eigenvalue is simple and no two categories lie on one point of its axis
    generator = np.random.default_rng(seed)
    n_samples, q = 300, 14
    column = generator.integers(0, q + 1, n_samples).astype(np.uint8)
    y = generator.integers(0, n_classes, n_samples) * (generator.random(n_samples) < 0.7)
    table = SmallTable((column,), (NOMINAL,), (q,), y, n_classes, generator.uniform(0.5, 2, n_samples))
    assert_same_tree(table, recipe, Limits(min_gain=ANY_GAIN, max_depth=2, min_samples_leaf=10))


@pytest.mark.parametrize(("n_classes", "turns", "seed"), [(4, 4, 4), (4, 4, 7), (5, 3, 0), (5, 3, 6)])  # others agree by any axis
def test_subsets_agree_where_several_axes_of_the_categories_are_nearly_as_long(n_classes: int, turns: int, seed: int) -> None:
    """Classes take turns in as many categories, so that weights alone decide which axis is the longest."""
    generator = np.random.default_rng(seed)
    counts = generator.integers(1, 9, (turns, n_classes))
    counts = np.concatenate([[np.roll(row, k) for k in range(n_classes)] for row in counts])
    column = np.arange(1, len(counts) + 1, dtype=np.uint8).repeat(counts.sum(axis=1))
    y = np.tile(np.arange(n_classes), len(counts)).repeat(counts.ravel())
    weight = 1 + 1e-3 * generator.random(len(y))
    table = SmallTable((column,), (NOMINAL,), (len(counts),), y, n_classes, weight)
    assert_same_tree(table, CART_CLASSIFICATION, Limits(min_gain=ANY_GAIN, max_depth=1))


@pytest.mark.parametrize("recipe", [CART_CLASSIFICATION, C45, CART_REGRESSION], ids=["gini", "c4.5", "squared error"])
@pytest.mark.parametrize("seed", range(3))
def test_larger_tables_of_real_numbers_agree(recipe: Recipe, seed: int) -> None:
    generator = np.random.default_rng(seed)
    n_samples = 150
    x = np.round(generator.normal(size=(4, n_samples)), 2)
    x[0, generator.random(n_samples) < 0.1] = np.nan
    codes = generator.integers(0, 5, (2, n_samples)).astype(np.uint8)
    signal = np.nan_to_num(x[0]) + (codes[0] == 2) - (codes[1] > 2) + 0.3 * generator.normal(size=n_samples)
    regression = recipe.impurity == "squared_error"
    table = SmallTable(
        (*x, *codes),
        (CONTINUOUS,) * 4 + (NOMINAL, ORDINAL),
        (0,) * 4 + (4, 4),
        signal if regression else np.digitize(signal, [-0.5, 0.5]),
        1 if regression else 3,
        generator.uniform(0.5, 2, n_samples),
    )
    assert_same_tree(table, recipe, Limits(min_gain=ANY_GAIN, min_samples_leaf=3))


def test_gain_ratio_without_the_details_of_release8_agrees() -> None:
    # gains 0.592, 0.863 (gain ratio 1), 0.877 (0.476), 0.306
    table = SmallTable(
        (
            np.array([2, 1, 1, 1, 1, 2, 2], dtype=np.uint8),
            np.array([4.0, 1.0, 0.0, 2.0, -1.0, 5.0, 1.0]),
            np.array([5, 2, 5, 1, 5, 2, 4], dtype=np.uint8),
            np.array([-1.0, 0.0, 2.0, 1.0, 1.0, 0.0, 0.0]),
        ),
        (NOMINAL, CONTINUOUS, NOMINAL, CONTINUOUS),
        (2, 0, 5, 0),
        np.array([0, 2, 1, 2, 1, 0, 1]),
        3,
    )
    assert_same_tree(table, replace(C45, release8=False), Limits(min_gain=ANY_GAIN))


@pytest.mark.parametrize("missing", ["direction", "surrogate", "fractional", "majority", "branch"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
@settings(max_examples=15)  # the twin looks at every division of many categories
@given(data=st.data())
def test_many_categories_that_are_all_alike_are_halved(n_classes: int, missing: str, data: st.DataObject) -> None:
    """Taken off one by one they would make a chain of nodes."""
    q, each = data.draw(st.integers(11, 15)), max(n_classes, 2)
    codes = np.repeat(np.arange(1, q + 1), each).astype(np.uint8)
    y = np.tile(np.arange(each), q) * (1.0 if n_classes == 0 else 1)
    lost = data.draw(st.sets(st.integers(0, q * each - 1), max_size=2 * each))
    codes[list(lost)] = 0
    few = np.tile(np.repeat([1, 2], each), q)[: q * each].astype(np.uint8)
    table = SmallTable((codes, few), (NOMINAL, NOMINAL), (q, 2), y, n_classes, None)
    recipe = replace(CART_CLASSIFICATION if n_classes else CART_REGRESSION, missing=missing)
    assert_same_tree(table, recipe, Limits(min_gain=ANY_GAIN))
