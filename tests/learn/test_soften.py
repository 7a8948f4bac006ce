"""Soft thresholds: their intervals against a slow twin and against Quinlan's own program, and what they do to predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parity import as_node
from release8.comparing import PRINTED, first_difference
from release8.recorded import sets_in
from sklearn.datasets import load_iris
from strategies import SmallTable, limits, tables
from test_engine_twin import EncodedTable, as_nodes, grow_compiled

from fasttree import C45Classifier
from fasttree._data.learn import learn_table
from fasttree._data.table import Table
from fasttree._learn.grow.soften import soften
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import C45, CART_CLASSIFICATION
from fasttree._model.arrays import THRESHOLD
from fasttree._model.tree import Tree
from fasttree._model.walks import decision_path, predict_value, walk

# A sample: its cells, its class, how often it counts
Case = tuple[Sequence[Any], int, int]


def naive_bounds(node: naive.Node, cases: list[Case]) -> tuple[float, float]:
    """Interval of one threshold node, from the samples that reach it whole."""
    cut = node.threshold
    known = [case for case in cases if naive.branch_of(node, case[0]) is not None]
    if not known or isinstance(known[0][0][node.feature], int):
        return cut, cut

    def errors(threshold: float) -> int:
        return sum(
            count
            for row, label, count in known
            if naive.predict_class(node.children[0 if row[node.feature] <= threshold else 1], row) != label
        )

    values = sorted({row[node.feature] for row, *_ in known})
    n, base = sum(count for *_, count in known), errors(cut + 1e-6)
    limit = base + math.sqrt((base + 0.5) * (n - base + 0.5) / (n + 1))
    lower, upper, found = min(cut, values[0]), max(cut, values[-1]), False
    for a, b in pairwise(values):
        at_a, at_b = errors(a), errors(b)
        if not found and at_a > limit >= at_b and b <= cut + 1e-6:
            lower, found = min(cut, b - (b - a) * (limit - at_b) / (at_a - at_b)), True
        if at_a <= limit < at_b and b > cut + 1e-6:
            upper = max(cut, a + (b - a) * (limit - at_a) / (at_b - at_a))
    return lower, upper


def naive_soften(root: naive.Node, cases: list[Case]) -> list[tuple[float, float]]:
    """Intervals of all nodes, breadth first; NaN where there is no threshold."""
    bounds = []
    waiting = [(root, cases)]
    for node, here in waiting:
        bounds.append(naive_bounds(node, here) if node.kind == "threshold" else (math.nan, math.nan))
        for b, child in enumerate(node.children):
            waiting.append((child, [case for case in here if naive.branch_of(node, case[0]) == b]))
    return bounds


def bounds_of(tree: Tree) -> list[tuple[float, float]]:
    assert tree.lower is not None
    assert tree.upper is not None
    return list(zip(tree.lower.tolist(), tree.upper.tolist(), strict=True))


def assert_same_bounds(tree: Tree, expected: list[tuple[float, float]]) -> None:
    np.testing.assert_allclose(bounds_of(tree), expected, rtol=1e-12, atol=1e-12)


def soften_small(tree: Tree, table: SmallTable) -> Tree:
    soft = soften(tree, cast(Table, EncodedTable(table)), table.y, table.sample_weight)
    soft.check()
    return soft


@given(table=tables(weighted=False), bounds=limits(min_gain=-math.inf, min_branch_weight=True))
def test_intervals_are_those_of_the_slow_twin(table: SmallTable, bounds: Any) -> None:
    tree = grow_compiled(table, C45, bounds)
    cases = [(table.row(i), int(table.y[i]), 1) for i in range(table.n_samples)]
    assert_same_bounds(soften_small(tree, table), naive_soften(as_nodes(tree), cases))


@given(data=st.data(), table=tables(weighted=False, kinds=[0, 0, 2], min_samples=10))
def test_intervals_for_other_samples_than_the_growth_saw_are_those_of_the_slow_twin(
    data: st.DataObject, table: SmallTable
) -> None:
    n_grown = data.draw(st.integers(4, table.n_samples))
    tree = grow_compiled(table.take(range(n_grown)), C45, data.draw(limits(min_gain=-math.inf, min_branch_weight=True)))
    cases = [(table.row(i), int(table.y[i]), 1) for i in range(table.n_samples)]
    assert_same_bounds(soften_small(tree, table), naive_soften(as_nodes(tree), cases))


@given(table=tables(weighted=False, min_samples=5), data=st.data())
def test_neither_the_order_of_the_samples_nor_the_size_of_blocks_matters(table: SmallTable, data: st.DataObject) -> None:
    tree = grow_compiled(table, C45, data.draw(limits(min_gain=-math.inf)))
    expected = soften_small(tree, table)
    order = data.draw(st.permutations(range(table.n_samples)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fasttree._model.walks.ROWS_AT_ONCE", 3)
        assert soften_small(tree, table.take(order)) == expected


@given(table=tables(weighted=False, min_samples=5), data=st.data())
def test_a_weight_counts_as_so_many_samples(table: SmallTable, data: st.DataObject) -> None:
    tree = grow_compiled(table, C45, data.draw(limits(min_gain=-math.inf)))
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=table.n_samples, max_size=table.n_samples).filter(any)))
    repeated = table.take(np.repeat(np.arange(table.n_samples), counts))
    weighted = replace(table, sample_weight=counts.astype(float))
    assert soften_small(tree, weighted) == soften_small(tree, repeated)


def test_soft_thresholds_are_found_anew() -> None:
    X, y = load_iris(return_X_y=True)
    tree = C45Classifier().fit(X, y).tree_
    wide = tree.replace(lower=tree.threshold - 9, upper=tree.threshold + 9)
    assert soften(wide, learn_table(X), y) == soften(tree, learn_table(X), y)


def test_thresholds_between_ordinal_categories_stay_hard() -> None:
    table = SmallTable((np.array([1, 1, 2, 2, 3, 3, 3], np.uint8),), (1,), (3,), np.array([0, 0, 0, 1, 1, 1, 1]), 2)
    tree = soften_small(grow_compiled(table, replace(C45, ordinal="threshold"), Limits(min_gain=-math.inf)), table)
    assert tree.kind[0] == THRESHOLD
    assert bounds_of(tree)[0] == (tree.threshold[0], tree.threshold[0])


def test_values_of_any_size_are_interpolated() -> None:
    column = np.array([-1.7e308] * 3 + [1.7e308] * 9)
    table = SmallTable((column,), (0,), (0,), np.array([0] * 3 + [1] * 9), 2)
    tree = soften_small(grow_compiled(table, CART_CLASSIFICATION, Limits()), table)
    # the errors leave the limit below the cut, so there is no room above it
    assert bounds_of(tree)[0] == (-1.7e308, tree.threshold[0])


# Release 8

# petal_width, petal_length: the tests of the pruned tree, breadth first, and their intervals
IRIS = [
    ("petal_width", 0.6, 0.415098011, 0.705658317),
    ("petal_width", 1.7, 1.5080936, 1.71838129),
    ("petal_length", 4.9, 4.82276106, 5.05447865),
    ("petal_width", 1.5, 1.445719, 1.70000005),
]


def test_intervals_of_iris_are_those_of_release_8() -> None:
    X, y = load_iris(return_X_y=True)
    tree = soften(C45Classifier().fit(X, y).tree_, learn_table(X), y)
    tree.check()
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    tested = np.flatnonzero(tree.kind == THRESHOLD)
    assert [names[feature] for feature in tree.feature[tested]] == [name for name, *_ in IRIS]
    assert tree.threshold[tested].tolist() == [cut for _, cut, *_ in IRIS]
    assert [bounds_of(tree)[node] for node in tested] == [pytest.approx(row[2:], rel=1e-6) for row in IRIS]


def test_intervals_of_all_tables_are_those_of_release_8(shared: Path) -> None:
    n_equal = 0
    for dataset in sets_in(shared).values():
        for run in dataset.runs:
            if run.name != "soft" or not run.kept:
                continue
            train = dataset.split(run.split).train
            tree = C45Classifier(soft_thresholds=True).fit(train.iloc[:, :-1], train.iloc[:, -1]).tree_
            difference = first_difference(as_node(tree), dataset.tree(run.kept["pruned"]), PRINTED)
            # with fractional weights in single precision the trees themselves may differ
            assert difference is None or (dataset.has_missing and difference.what != "soft threshold")
            n_equal += 0 if difference else np.count_nonzero(tree.kind == THRESHOLD)
    assert n_equal >= 30


# Prediction


def test_predictions_of_soft_trees_agree_with_one_another() -> None:
    X, y = load_iris(return_X_y=True)
    table = learn_table(X)
    tree = soften(C45Classifier().fit(X, y).tree_, table, y)
    assert tree.divides
    shares, leaves, paths = predict_value(tree, table), walk(tree, table), decision_path(tree, table)
    assert shares.sum(axis=1) == pytest.approx(np.ones(len(X)))
    in_part = (shares > 0).sum(axis=1) > 1
    assert 0 < in_part.sum() < len(X)
    assert (tree.n_branches[leaves] == 0).all()
    assert paths[np.arange(len(X)), leaves].all()
    assert (np.diff(paths.indptr) > tree.depth()[leaves] + 1).any()


def test_a_value_at_the_threshold_goes_both_ways() -> None:
    X, y = load_iris(return_X_y=True)
    tree = soften(C45Classifier().fit(X, y).tree_, learn_table(X), y)
    assert tree.lower is not None
    at_cut = np.array([[5.0, 3.0, 1.5, 0.6], [5.0, 3.0, 1.5, tree.lower[0]]])
    shares = predict_value(tree, learn_table(at_cut))
    assert shares[0, 0] == pytest.approx(1 - 0.5 * (0.6 - tree.lower[0]) / (0.6 - tree.lower[0] + 0.001))
    assert shares[1].tolist() == [1, 0, 0]
