"""Soft thresholds: their intervals against a slow twin and against Quinlan's own program, and what they do to predictions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from strategies import SmallTable, limits, tables
from test_engine_twin import EncodedTable, as_nodes, grow_compiled
from test_oracle_c45 import read_table, training_rows

from fasttree import C45Classifier, _grow
from fasttree._grow import decision_path, predict_value, walk
from fasttree._recipe import C45, CART_CLASSIFICATION, Limits
from fasttree._soften import soften
from fasttree._table import Table, encode_classes, learn_table
from fasttree._tree import THRESHOLD, Tree

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
        patch.setattr(_grow, "ROWS_AT_ONCE", 3)
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
    oracles, trees = (
        json.loads((shared / "reference" / f"{name}.json").read_text(encoding="utf-8"))["datasets"]
        for name in ("c45_results", "c45_trees")
    )
    n_thresholds = 0
    for name, recorded in trees.items():
        X, y = read_table(shared / "data" / f"{name}.csv.gz", None, oracles[name])
        for key in sorted(key for key in recorded if key.endswith("/soft")):
            rows = training_rows(len(X), key.partition("/")[0])
            model = C45Classifier().fit(X.iloc[rows], y.iloc[rows])
            _, codes = encode_classes(y.iloc[rows])
            tree = soften(model.tree_, learn_table(X.iloc[rows]), codes)
            pairs = list(same_tests(tree, model.feature_names_in_.tolist(), recorded[key]["pruned"]))
            # sums of fractional weights in single precision may decide otherwise
            assert len(pairs) == tree.node_count or oracles[name]["missing_values"]
            if len(pairs) < tree.node_count:
                continue
            for node, theirs in pairs:
                if tree.kind[node] == THRESHOLD:
                    lower, upper = bounds_of(tree)[node]
                    # theirs are differences in single precision
                    assert (lower, upper) == pytest.approx(
                        (theirs["lower"], theirs["upper"]), abs=1e-6 * (upper - lower + abs(lower))
                    )
                    n_thresholds += 1
    assert n_thresholds >= 30


def same_tests(tree: Tree, names: list[str], root: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Pairs of our nodes and theirs, as far as the two trees ask the same."""
    pairs = [(0, root)]
    for node, theirs in pairs:
        ours = None if tree.feature[node] < 0 else names[tree.feature[node]]
        if ours != theirs.get("attribute"):
            return
        if "cut" in theirs and tree.threshold[node] != pytest.approx(theirs["cut"], rel=1e-6):
            return
        branches = theirs.get("branches", [])
        pairs.extend((int(tree.first_child[node]) + b, branch["node"]) for b, branch in enumerate(branches))
        yield node, theirs


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
