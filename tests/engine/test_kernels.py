"""The doors of the compiled core against slow versions written from their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from trees import Node, chain, nested, random_trees

from fasttree import CARTClassifier, CARTRegressor, Tree, _core, load
from fasttree._data.learn import learn_table
from fasttree._engine import encoding, passes
from fasttree._learn.grow import decode, growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import CART_CLASSIFICATION, CART_REGRESSION
from fasttree._model import walks
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, NOMINAL, SHARES, STOP, THRESHOLD

FINITE = st.floats(allow_nan=False, allow_infinity=False)
BITS = np.finfo(np.float64)


# Encoding: seen through the best cut of one continuous column


def stump(column: NDArray, y: NDArray, *, block_rows: int = 65_535) -> Tree:
    table = learn_table(column.reshape(-1, 1))
    bounds = Limits(max_depth=1, min_gain=-math.inf)
    if y.dtype.kind == "f":
        tree = growth.grow(table, y, None, CART_REGRESSION, bounds, n_classes=0, block_rows=block_rows)
    else:
        tree = growth.grow(table, y, None, CART_CLASSIFICATION, bounds, n_classes=2, block_rows=block_rows)
    tree.check()
    return tree


def gini_risk(y: NDArray) -> float:
    counts = np.bincount(y, minlength=2)
    return len(y) - float((counts**2).sum()) / len(y) if len(y) else 0.0


def least_risk(column: NDArray, y: NDArray) -> float:
    """The best of all tests x <= t, with missing values on either side, and of the test whether x is missing."""
    lost = np.isnan(column)
    best = gini_risk(y)
    for value in np.unique(column[~lost]):
        left = np.where(lost, False, column <= value)
        for side in (left, left | lost):
            best = min(best, gini_risk(y[side]) + gini_risk(y[~side]))
    return best


def assert_best_cut(column: NDArray, y: NDArray, block_rows: int = 65_535) -> None:
    tree = stump(column, y, block_rows=block_rows)
    lost = np.isnan(column)
    if tree.node_count == 1:
        assert gini_risk(y) == 0 or (len(np.unique(column[~lost])) + lost.any()) < 2
        return
    if tree.kind[0] == KNOWN:
        left = ~lost
    else:
        known = np.unique(column[~lost]).astype(np.float64)
        low, high = known[known <= tree.threshold[0]], known[known > tree.threshold[0]]
        left = np.where(lost, tree.missing[0] == 0, column <= tree.threshold[0])
        assert low.size, "the threshold lies below every value"
        if high.size:
            middle = low[-1] + (high[0] - low[-1]) / 2 if np.isfinite(high[0] - low[-1]) else low[-1] / 2 + high[0] / 2
            assert tree.threshold[0] == (middle if low[-1] <= middle < high[0] else low[-1])
    assert tree.n_samples[1:].tolist() == [left.sum(), (~left).sum()]
    found = gini_risk(y[left]) + gini_risk(y[~left])
    assert found == pytest.approx(least_risk(column, y), abs=1e-9)
    assert walks.walk(tree, learn_table(column.reshape(-1, 1))).tolist() == np.where(left, 1, 2).tolist()


SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2.5e-310, BITS.tiny, -BITS.tiny, 1e300, -1e300, BITS.max, -BITS.max,
    1 + BITS.eps, 1 - BITS.epsneg, 2.0**24, 2.0**24 + 1, 2.0**53 - 1, 2.0**53, 2.0**53 + 2, 3.4e38, 3.5e38, np.nan,
]  # fmt: skip


@given(data=st.data(), n_samples=st.integers(2, 60), block_rows=st.sampled_from([1, 7, 65_535]))
def test_the_best_cut_of_awkward_doubles_is_found(data, n_samples, block_rows):
    cell = st.one_of(st.sampled_from(SPECIAL), FINITE)
    column = data.draw(arrays(np.float64, n_samples, elements=cell))
    y = data.draw(arrays(np.intp, n_samples, elements=st.integers(0, 1)))
    assert_best_cut(column, y, block_rows)


@given(data=st.data(), n_samples=st.integers(2, 60))
def test_the_best_cut_of_awkward_singles_is_found(data, n_samples):
    cell = st.floats(width=32, allow_infinity=False)
    column = data.draw(arrays(np.float32, n_samples, elements=cell))
    y = data.draw(arrays(np.intp, n_samples, elements=st.integers(0, 1)))
    assert_best_cut(column, y)


COLUMNS = {
    "equal in the upper half of the bits": lambda rng, n: 1 + BITS.eps * rng.permutation(n),
    "negative and equal in the upper half": lambda rng, n: -1 - BITS.eps * rng.permutation(n),
    "runs of equal upper halves": lambda rng, n: rng.integers(-3, 4, n) + rng.integers(0, 99, n) * 2.0**-45,
    "one ulp below and above zero": lambda rng, n: rng.integers(-n, n, n) * 5e-324,
    "either sign of zero": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, -0.0) + (rng.random(n) < 0.3) * rng.normal(size=n),
    "of any magnitude": lambda rng, n: rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-300, 300, n),
    "huge": lambda rng, n: rng.choice([-1e300, 1e300, 1.5e308, -1.5e308], n) * rng.uniform(0.9, 1, n),
    "whole numbers near 2**24": lambda rng, n: 2.0**24 + rng.integers(-n, n, n),
    "whole numbers near 2**53": lambda rng, n: 2.0**53 + 2 * rng.integers(-n, n, n),
    "singles in doubles": lambda rng, n: rng.normal(size=n).astype(np.float32).astype(np.float64),
    "all different but one": lambda rng, n: np.where(rng.random(n) < 0.3, 0.25, rng.normal(size=n)),
}


@pytest.mark.parametrize("missing", ["none", "first", "last", "anywhere"])
@pytest.mark.parametrize("n_samples", [40, 48, 49, 700])
@pytest.mark.parametrize("name", COLUMNS)
def test_the_best_cut_of_long_columns_is_found(name, n_samples, missing):
    rng = np.random.default_rng(n_samples)
    column = COLUMNS[name](rng, n_samples).astype(np.float64)
    y = ((np.argsort(np.argsort(column)) > 0.37 * n_samples) ^ (rng.random(n_samples) < 0.2)).astype(np.intp)
    if missing != "none":
        places = {"first": [0, 1], "last": [n_samples - 1], "anywhere": rng.choice(n_samples, n_samples // 5)}[missing]
        column[places] = np.nan
    assert_best_cut(column, y)
    assert_best_cut(column, y, block_rows=30)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_distinct", [1, 2, 254, 255, 256, 257])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_best_cut_is_found_around_the_largest_number_of_codes(dtype, n_distinct, missing):
    rng = np.random.default_rng(n_distinct)
    values = np.concatenate([[0.0, -1e30, 1e30], rng.normal(size=300)])[:n_distinct].astype(dtype)
    column = rng.permutation(np.concatenate([values, rng.choice(values, 500), [np.nan] * (40 * missing)])).astype(dtype)
    y = (np.nan_to_num(column, nan=-5) > np.quantile(values, 0.6)).astype(np.intp)
    y ^= rng.random(len(y)) < 0.1
    assert_best_cut(column, y)


@pytest.mark.parametrize("n_samples", [65_534, 65_535, 65_536, 70_000])
def test_columns_around_the_largest_private_block_are_sorted(n_samples):
    rng = np.random.default_rng(n_samples)
    column = rng.permutation(n_samples) * 1e-3
    y = (column > column.max() * 0.7).astype(np.intp)
    tree = stump(column, y)
    assert tree.n_samples.tolist() == [n_samples, (y == 0).sum(), (y == 1).sum()]
    assert (tree.impurity[1:] == 0).all()
    assert column[y == 0].max() <= tree.threshold[0] < column[y == 1].min()


# The search of a node: features that cannot win are told by a bound, small nodes stop at a gain that nothing exceeds


def largest_gain(X: NDArray, y: NDArray, n_classes: int) -> float:
    """Weight x gain of all thresholds of all features."""
    weight = np.eye(n_classes)[y] if n_classes else (y - y.mean())[:, None]
    n_left = np.arange(1, len(y))[:, None]
    best = -math.inf
    for column in X.T:
        order = np.argsort(column, kind="stable")
        left = weight[order].cumsum(axis=0)
        square = ((len(y) * left[:-1] - n_left * left[-1]) ** 2).sum(axis=1, keepdims=True)
        gains = (square / (len(y) * n_left * (len(y) - n_left)))[:, 0]
        best = max(best, gains[np.diff(column[order]) > 0].max(initial=-math.inf))
    return best


def assert_all_gains_are_largest(X: NDArray, y: NDArray, n_classes: int, max_depth: int | None) -> None:
    recipe = CART_CLASSIFICATION if n_classes else CART_REGRESSION
    table = learn_table(X)
    tree = growth.grow(table, y, None, recipe, Limits(max_depth=max_depth), n_classes=n_classes)
    tree.check()
    path = walks.decision_path(tree, table).tocsc()
    for node in np.flatnonzero(tree.feature >= 0):
        rows = path.indices[path.indptr[node] : path.indptr[node + 1]]
        best = largest_gain(X[rows], y[rows], n_classes)
        assert tree.gain[node] * tree.weight[node] == pytest.approx(best, rel=1e-9, abs=1e-9 * tree.impurity[node])


@pytest.mark.parametrize("n_values", [2, 9, 200, None])
@pytest.mark.parametrize("n_classes", [0, 2, 3, 4, 5, 11])
def test_no_screen_passes_over_the_best_feature(n_classes, n_values):
    rng = np.random.default_rng(n_classes)
    n_samples = 2_500  # children of more than one chunk of candidates
    X = rng.normal(size=(n_samples, 9)) if n_values is None else rng.integers(0, n_values, (n_samples, 9)).astype(float)
    score = X[:, 3] + X[:, 7] * (X[:, 1] > X[:, 1].mean()) + 2 * X.std() * rng.normal(size=n_samples)
    y = score if n_classes == 0 else np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    assert_all_gains_are_largest(X, y, n_classes, max_depth=5)


def test_counts_of_more_classes_than_a_screen_has_room_for_are_searched():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (6_000, 4)).astype(float)
    y = np.concatenate([np.arange(600), rng.integers(0, 300, 5_400) + 300 * (rng.random(5_400) < X[600:, 2] / 3)])
    assert_all_gains_are_largest(X, y, 600, max_depth=3)


@pytest.mark.parametrize("scale", [2.0**-300, 1.0, 2.0**300])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_no_screen_passes_over_the_best_feature_for_targets_of_any_size(shift, scale):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 6))
    y = X[:, 2] + rng.normal(size=700) + shift
    ours = growth.grow(learn_table(X), y * scale, None, CART_REGRESSION, Limits(max_depth=4), n_classes=0)
    assert_all_gains_are_largest(X, y, 0, max_depth=4)
    plain = growth.grow(learn_table(X), y, None, CART_REGRESSION, Limits(max_depth=4), n_classes=0)
    assert ours.feature.tolist() == plain.feature.tolist()
    assert ours.threshold[ours.feature >= 0].tolist() == plain.threshold[plain.feature >= 0].tolist()


@pytest.mark.parametrize("seed", range(5))
def test_of_equal_features_a_screened_one_wins_before_a_later_one_that_is_searched_first(seed):
    """In both children of the root, the categories tell whether the first feature is above 0.2."""
    rng = np.random.default_rng(seed)
    x, side = rng.normal(size=200), rng.integers(0, 2, 200)
    y = 100.0 * side + (x > 0.2) + 0.3 * rng.normal(size=200)
    table = learn_table(np.column_stack([x, x > 0.2, side]).astype(float), categorical_features=[1])
    tree = growth.grow(table, y, None, CART_REGRESSION, Limits(max_depth=2), n_classes=0)
    assert tree.feature[:3].tolist() == [2, 0, 0]


@pytest.mark.parametrize("n_values", [3, None])
@pytest.mark.parametrize("n_classes", [0, 2])
def test_the_small_nodes_of_whole_trees_have_the_largest_gains(n_classes, n_values):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(300, 5)) if n_values is None else rng.integers(0, n_values, (300, 5)).astype(float)
    y = rng.normal(size=300) if n_classes == 0 else rng.integers(0, n_classes, 300)
    assert_all_gains_are_largest(X, y, n_classes, max_depth=None)


@given(low=FINITE, high=FINITE)
def test_a_midpoint_separates_its_two_values(low, high):
    low, high = sorted([low, high])
    middle = float(decode.midpoints(np.array([low]), np.array([high]))[0])
    assert low <= middle
    assert middle < high or low == high


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_a_midpoint_lies_halfway(low, high):
    low, high = sorted([low, high])
    middle = float(decode.midpoints(np.array([low]), np.array([high]))[0])
    assert middle == pytest.approx(low / 2 + high / 2, abs=max(abs(low), abs(high)) * 1e-15 + 1e-323)


@given(
    low=st.sampled_from([-(2**63), -3, 0, 2**40, 2**63 - 30]),
    offsets=st.lists(st.integers(0, 29), min_size=1),
    widest=st.sampled_from([10, 29]),
    step=st.sampled_from([1, -1, 2]),
)
def test_distinct_integers_of_a_small_range_are_those_of_numpy(low, offsets, widest, step):
    values = np.array([low + offset for offset in offsets], dtype=np.int64)[::step]
    found = encoding.distinct_integers(values, widest)
    if int(values.max()) - int(values.min()) > widest:
        assert found is None
    else:
        assert found is not None
        assert [part.tolist() for part in found] == [part.tolist() for part in np.unique(values, return_inverse=True)]


@given(
    rows=st.lists(st.none() | st.text("ab", max_size=3) | st.text("abcdefgh", min_size=5, max_size=20), max_size=50),
    most=st.sampled_from([1, 5, 50]),
)
def test_places_of_texts_are_those_of_a_dict(rows, most):
    index = {text: place for place, text in enumerate(dict.fromkeys(text for text in rows if text is not None))}
    texts = np.frombuffer("".join(text or "" for text in rows).encode(), dtype=np.uint8)
    ends = np.cumsum([0, *(len(text or "") for text in rows)])
    is_there = np.array([text is not None for text in rows], dtype=bool)
    places, first = np.empty(len(rows), dtype=np.int16), np.empty(most, dtype=np.int64)
    found = encoding.place_texts(texts, ends, is_there, places, first)
    if len(index) > most:
        assert found == -1
    else:
        assert found == len(index)
        assert places.tolist() == [-1 if text is None else index[text] for text in rows]
        assert first[:found].tolist() == [rows.index(text) for text in index]


def test_a_range_of_integers_that_no_64_bits_hold_is_not_small():
    assert encoding.distinct_integers(np.array([-(2**63), 2**63 - 1]), 2**62) is None


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infinity_is_told_from_every_other_number(dtype, order):
    largest = np.finfo(dtype).max
    numbers = np.array([0.0, -0.0, np.nan, -np.nan, largest, -largest, np.finfo(dtype).smallest_subnormal] * 100, dtype=dtype)
    for X in (numbers.reshape(-1, 7), numbers.reshape(-1, 7)[::3, ::-2], numbers[numbers == numbers].reshape(-1, 5)):
        X = np.array(X, order=order)
        assert not encoding.holds_infinity(X)
        for infinite in (np.inf, -np.inf):
            for row, column in ((0, 0), (len(X) // 2, 1), (-1, -1)):
                holding = X.copy(order="K")
                holding[row, column] = infinite
                assert encoding.holds_infinity(holding)


# Walks


def branch_of(node: Node, x: float) -> int:
    """A branch, or SHARES or STOP."""
    fields = node.fields
    if fields["kind"] == KNOWN:
        return int(math.isnan(x))
    if math.isnan(x):
        return fields["missing"]
    if fields["kind"] == THRESHOLD:
        return int(x > fields["threshold"])
    if fields["kind"] == CATEGORY:
        return int(x) - 1 if 1 <= x <= len(node.children) else fields["missing"]
    if fields["kind"] == INTERVALS:
        return sum(cut < x for cut in node.cuts)
    assert fields["kind"] == NOMINAL
    return dict(node.table).get(int(x), fields["missing"])


def part_to_the_left(node: Node, x: float) -> float:
    """A line from 1 at `lower` to a half at the threshold and one from there to 0 at `upper`; steep where they coincide."""
    lower, threshold, upper = (node.fields[name] for name in ("lower", "threshold", "upper"))
    if x <= lower or (x >= upper and x > threshold):
        return float(x <= lower)
    start, stop, before = (lower, threshold, 1.0) if x <= threshold else (threshold, upper, 0.5)
    return before - 0.5 * (x - start) / (stop - start + 0.001)


def visits(node: Node, row: NDArray, path: tuple[int, ...] = (), part: float = 1.0):
    """Every node that the row reaches: its branches from the root, the node, the part of the row, and whether it ends there."""
    x = row[node.fields["feature"]]
    branch = branch_of(node, x) if node.children else STOP
    yield path, node, part, branch == STOP
    if "lower" in node.fields and node.fields["kind"] == THRESHOLD and not math.isnan(x):
        left = part_to_the_left(node, x)
        for b, share in enumerate((left, 1 - left)):
            if share > 0:
                yield from visits(node.children[b], row, (*path, b), part * share)
    elif branch >= 0:
        yield from visits(node.children[branch], row, (*path, branch), part)
    elif branch == SHARES:
        for b, child in enumerate(node.children):
            if child.fields["weight"] > 0:
                yield from visits(child, row, (*path, b), part * child.fields["weight"] / node.fields["weight"])


def node_at(tree: Tree, path: tuple[int, ...]) -> int:
    node = 0
    for branch in path:
        node = int(tree.first_child[node]) + branch
    return node


class EncodedRows:
    """As much of a table as walks look at."""

    is_in_rows = True

    def __init__(self, rows: NDArray) -> None:
        self.matrix = rows
        self.n_samples, self.n_features = rows.shape

    def block(self, start: int, stop: int) -> NDArray:
        return self.matrix[start:stop]


ROWS = st.lists(
    st.tuples(
        st.one_of(st.just(math.nan), st.floats(-150, 150)),
        st.sampled_from([math.nan, 1.0, 2.0, 3.0]),
        st.sampled_from([math.nan, 1.0, 2.0, 3.0, 4.0]),
        st.sampled_from([math.nan, 1.0, 2.0]),
    ),
    min_size=1,
    max_size=8,
).map(lambda rows: np.array(rows, dtype=np.float64))


@given(tree=random_trees(), rows=ROWS, times=st.sampled_from([1, 70]), single=st.booleans(), fortran=st.booleans())
def test_walk_ends_where_a_walk_from_node_to_node_ends(tree, rows, times, single, fortran):
    block = np.array(np.tile(rows, (times, 1)), dtype=np.float32 if single else np.float64, order="F" if fortran else "C")
    leaves = np.empty(len(block), np.int32)
    n_divided = _core.walk(tree, block, leaves)
    assert n_divided == np.count_nonzero(leaves == _core.DIVIDED)
    root = nested(tree)
    for i, leaf in enumerate(leaves):
        ends = [node_at(tree, path) for path, _, _, ends in visits(root, block[i % len(rows)].astype(float)) if ends]
        if leaf == _core.DIVIDED:
            assert tree.divides
        else:
            assert [leaf] == ends


@given(tree=random_trees(), rows=ROWS)
def test_predictions_are_those_of_the_leaf_or_of_all_leaves_that_a_row_reaches(tree, rows):
    table = EncodedRows(rows)
    shares, leaves = np.empty((len(rows), tree.n_values)), np.empty(len(rows), np.int32)
    _core.walk_shares(tree, rows, tree.contribution, shares, leaves)
    assert walks.walk(tree, table).tolist() == leaves.tolist()
    assert walks.predict_value(tree, table) == pytest.approx(shares, rel=1e-12)
    if tree.task == "classification":
        assert walks.predict_class(tree, table).tolist() == walks.predict_value(tree, table).argmax(axis=1).tolist()


@given(tree=random_trees().filter(lambda tree: tree.task == "classification"), rows=ROWS)
def test_walk_shares_adds_the_leaves_that_a_row_reaches(tree, rows):
    shares, leaves = np.empty((len(rows), 3)), np.empty(len(rows), np.int32)
    _core.walk_shares(tree, rows, tree.contribution, shares, leaves)
    root = nested(tree)
    for row, share, leaf in zip(rows, shares, leaves, strict=True):
        ends = [(node_at(tree, path), node, part) for path, node, part, ends in visits(root, row) if ends]
        expected = np.zeros(3)
        for _, node, part in ends:
            value = np.array(node.fields["value"])
            if node.fields["weight"] == 0:
                expected[value.argmax()] += part
            else:
                expected += part * value / node.fields["weight"]
        assert share == pytest.approx(expected)
        parts = {node: part for node, _, part in ends}
        assert parts[leaf] == pytest.approx(max(parts.values()))


def test_a_soft_threshold_leads_from_1_over_a_half_to_0():
    tree = Tree(**chain(1).__getstate__() | {"task": "classification", "threshold": [2.0, np.nan, np.nan]})
    tree = tree.replace(value=np.eye(2)[[0, 0, 1]], weight=[2, 1, 1], lower=[1.0, np.nan, np.nan], upper=[6.0, np.nan, np.nan])
    rows = np.array([-9.0, 1.0, 1.5, 2.0, np.nextafter(2, 3), 4.0, 6.0, 9.0])[:, None]
    shares, leaves = np.empty((len(rows), 2)), np.empty(len(rows), np.int32)
    _core.walk_shares(tree, rows, tree.contribution, shares, leaves)
    a_half = 1 - 0.5 / 1.001  # the intervals count 0.001 longer
    assert shares[:, 0] == pytest.approx([1, 1, 1 - 0.25 / 1.001, a_half, 0.5, 0.5 - 1 / 4.001, 0, 0])
    assert leaves.tolist() == [1, 1, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize("bound", ["lower", "upper"])
def test_a_soft_threshold_with_one_side_of_no_length_is_hard_on_that_side(bound):
    tree = Tree(**chain(1).__getstate__() | {"task": "classification", "threshold": [2.0, np.nan, np.nan]})
    tree = tree.replace(value=np.eye(2)[[0, 0, 1]], weight=[2, 1, 1], lower=tree.threshold, upper=tree.threshold)
    tree = tree.replace(**{bound: tree.threshold + (0.5 if bound == "upper" else -0.5)})
    rows = np.array([1.75, 2.0, 2.25])[:, None]
    shares, leaves = np.empty((len(rows), 2)), np.empty(len(rows), np.int32)
    _core.walk_shares(tree, rows, tree.contribution, shares, leaves)
    expected = {"lower": [1 - 0.125 / 0.501, 1 - 0.25 / 0.501, 0], "upper": [1, 1, 0.5 - 0.125 / 0.501]}
    assert shares[:, 0] == pytest.approx(expected[bound])


@given(tree=random_trees(), rows=ROWS)
def test_paths_are_the_nodes_that_a_row_reaches(tree, rows):
    starts = np.zeros(len(rows) + 1, np.int64)
    _core.paths(tree, rows, starts, None)
    np.cumsum(starts, out=starts)
    nodes = np.empty(starts[-1], np.int32)
    _core.paths(tree, rows, starts, nodes)
    root = nested(tree)
    for i, row in enumerate(rows):
        expected = sorted(node_at(tree, path) for path, *_ in visits(root, row))
        assert sorted(nodes[starts[i] : starts[i + 1]].tolist()) == expected


# Passes


@given(tree=random_trees(), data=st.data())
def test_useless_splits_are_those_that_save_nothing(tree, data):
    error = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0]), min_size=tree.node_count, max_size=tree.node_count))
    )
    useless = np.full(tree.node_count, 7, np.uint8)
    stopped = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5]), min_size=tree.node_count, max_size=tree.node_count)))
    found = stopped.copy()
    tolerance = np.array(data.draw(st.lists(st.sampled_from([0.001, 1.0]), min_size=tree.node_count, max_size=tree.node_count)))
    passes.useless_splits(tree.parent, tree.first_child, error, tolerance, found, useless)
    expected = np.zeros(tree.node_count, np.uint8)

    def best(node: int) -> float:
        if tree.n_branches[node] == 0:
            return error[node]
        first = int(tree.first_child[node])
        below = stopped[node] + sum(best(child) for child in range(first, first + tree.n_branches[node]))
        expected[node] = below >= error[node] - tolerance[node]
        return error[node] if expected[node] else below

    assert best(0) == found[0]
    assert useless.tolist() == expected.tolist()


@given(tree=random_trees(), data=st.data(), share=st.sampled_from([0.5, 0.999, 1.0]))
def test_splits_that_hardly_reduce_errors_collapse_below_the_root(tree, data, share):
    n = tree.node_count
    value = np.array(data.draw(st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), min_size=n, max_size=n)), float)
    weight = np.where(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), value.sum(axis=1), 0.0)
    first_child, n_branches = tree.first_child.copy(), tree.n_branches.copy()
    passes.collapse(tree.parent, first_child, n_branches, weight, value, share)
    expected = tree.n_branches.copy()

    def errors(node: int) -> float:
        own = float(value[node].min()) if weight[node] else 0.0
        if tree.n_branches[node] == 0:
            return own
        first = int(tree.first_child[node])
        below = sum(errors(child) for child in range(first, first + tree.n_branches[node]))
        if node and below >= own - (1 - share) * own:
            expected[node] = 0
            return own
        return below

    errors(0)
    assert n_branches.tolist() == expected.tolist()
    assert first_child.tolist() == np.where(expected > 0, tree.first_child, -1).tolist()


@given(
    columns=st.lists(
        st.lists(st.one_of(st.integers(-5, 5).map(float), FINITE, st.just(math.nan)), min_size=1), min_size=1, max_size=4
    ),
    thresholds=st.lists(
        st.lists(FINITE | st.integers(-20, 20).map(lambda k: k / 2), min_size=1, max_size=20), min_size=4, max_size=4
    ),
    n_rows=st.sampled_from([1, 7, 255, 256, 257, 600]),
    dtype=st.sampled_from([np.float32, np.float64]),
    order=st.sampled_from("CF"),
)
def test_thresholds_are_raised_to_the_largest_value_that_is_not_above(columns, thresholds, n_rows, dtype, order):
    with np.errstate(over="ignore"):
        values = np.array([np.resize(column, n_rows) for column in columns]).T.astype(dtype, order=order)
    values[np.isinf(values)] = 0
    places = np.arange(len(columns))[::-1].copy()
    ordered = [np.unique(np.array(each, dtype=np.float64)) for each in thresholds[: len(columns)]]
    starts = np.cumsum([0, *map(len, ordered)])
    raised = np.full(starts[-1], -np.inf)
    passes.raise_thresholds(values, places, starts, np.concatenate(ordered), raised)
    expected = [
        max(values[values[:, j].astype(np.float64) <= t, j].tolist(), default=-math.inf)
        for j, each in zip(places, ordered, strict=True)
        for t in each.tolist()
    ]
    assert raised.tolist() == expected


# Depth


N_LEVELS = 100_000


@pytest.fixture(scope="module")
def long_chain() -> Tree:
    tree = chain(N_LEVELS)
    tree.check()
    return tree


def test_a_long_chain_is_walked(long_chain):
    X = np.array([[0.0], [1000.5], [2.0 * N_LEVELS], [np.nan]])
    leaves = np.empty(4, np.int32)
    _core.walk(long_chain, X, leaves)
    assert long_chain.max_depth == N_LEVELS
    assert leaves.tolist() == [1, 2 * 1001 + 1, 2 * N_LEVELS, 2 * N_LEVELS]
    starts = np.zeros(5, np.int64)
    _core.paths(long_chain, X, starts, None)
    assert starts.tolist() == [0, 2, 1003, N_LEVELS + 1, N_LEVELS + 1]


def test_the_passes_go_up_a_long_chain(long_chain):
    # every leaf has an error, an inner node as many as the leaves below it: nothing is saved by any split
    error = np.where(long_chain.n_branches == 0, 1.0, long_chain.weight)
    useless = np.empty(long_chain.node_count, np.uint8)
    tolerance = np.full(long_chain.node_count, 0.001)
    passes.useless_splits(long_chain.parent, long_chain.first_child, error, tolerance, np.zeros(long_chain.node_count), useless)
    assert (useless == (long_chain.n_branches > 0)).all()


@pytest.mark.parametrize("model", [CARTClassifier(), CARTRegressor()], ids=["classes", "values"])
def test_alternating_targets_grow_a_chain(model, tmp_path):
    # of the cuts that gain most, those next to either end, the lowest is taken: one sample leaves at every level
    n_samples = 4000
    X, y = np.arange(n_samples, dtype=np.float64).reshape(-1, 1), np.arange(n_samples) % 2
    model.fit(X, y)
    model.tree_.check()
    assert model.tree_.max_depth == n_samples - 1
    assert sorted(model.tree_.threshold[model.tree_.kind == THRESHOLD]) == (np.arange(n_samples - 1) + 0.5).tolist()
    assert (model.predict(X) == y).all()
    model.save(tmp_path / "chain.json")
    again = load(tmp_path / "chain.json")
    again.tree_.check()
    assert again.tree_ == model.tree_
    assert (again.predict(X) == y).all()
