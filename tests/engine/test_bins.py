"""Bins against their definitions, written with NumPy, and trees on bins against trees of tables of codes."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from strategies import CONTINUOUS, FEW_EACH, SmallTable, limits, tables
from test_engine_twin import (
    ANY_GAIN,
    CLASSIFIERS,
    COMPLETE,
    REGRESSORS,
    RELEASE8,
    as_nodes,
    grow_compiled,
    grow_naive,
    numbers_of,
    outline,
    test_of,
)

from fasttree import C45Classifier, C45Rules, CARTClassifier, CARTRegressor, ID3Classifier, TreeClassifier
from fasttree._data.learn import learn_table
from fasttree._engine import encoding
from fasttree._learn.grow import growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import CART_CLASSIFICATION, Recipe
from fasttree._model import walks
from fasttree._model.tree import Tree

BITS = np.finfo(np.float64)
SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 2.0, 5e-324, -5e-324, 2.5e-310, BITS.tiny, -BITS.tiny, 1e300, -1e300, BITS.max, -BITS.max,
    1 + BITS.eps, 1 - BITS.epsneg, 2.0**24, 2.0**24 + 1, 1e-45, 3.4e38, 3.5e38, np.nan,
]  # fmt: skip
FEW = st.sampled_from([0.0, -0.0, 1.0, 2.0, -3.0, 1e-3, np.nan])
ANY = st.one_of(st.sampled_from(SPECIAL), st.floats(allow_infinity=False))
DOUBLES = st.one_of(*(arrays(np.float64, st.integers(0, 80), elements=values) for values in (FEW, ANY)))
SINGLES = arrays(np.float32, st.integers(0, 80), elements=st.floats(width=32, allow_infinity=False))
COLUMNS = st.one_of(DOUBLES, SINGLES)


def keys_of(column: NDArray, dtype: type | None = None) -> NDArray:
    """Unsigned integers that compare like the values; 0 for NaN."""
    if dtype is None:
        with np.errstate(over="ignore"):
            single = column.astype(np.float32).astype(np.float64) == column
        dtype = np.uint32 if (single | np.isnan(column)).all() else np.uint64
    with np.errstate(over="ignore"):
        values = column.astype(np.float32 if dtype == np.uint32 else np.float64) + 0
    bits = values.view(dtype)
    top = dtype(1) << dtype(8 * bits.itemsize - 1)
    return np.where(np.isnan(values), dtype(0), np.where(bits & top, ~bits, bits | top))


def codes_of(column: NDArray, edges: NDArray) -> NDArray:
    keys = keys_of(column, edges.dtype.type)
    return np.where(keys == 0, 0, 1 + np.searchsorted(edges[1:-1], keys))


def check_edges(column: NDArray, max_bins: int) -> None:
    """What `bin_edges` promises of any column."""
    edges = encoding.bin_edges(column, max_bins)
    keys = keys_of(column)
    keys = keys[keys > 0]
    assert edges.dtype == keys.dtype
    if not keys.size:
        assert len(edges) == 1
        return
    n_bins = len(edges) - 1
    assert 1 <= n_bins <= max_bins
    assert (edges[1:] > edges[:-1]).all()
    assert edges[0] == keys.min() - 1
    assert edges[-1] == keys.max()
    codes = codes_of(column, edges)
    assert encoding.bin_codes(column, edges).tolist() == codes.tolist()
    counts = np.bincount(codes[codes > 0], minlength=n_bins + 1)[1:]
    assert (counts > 0).all()
    values, value_counts = np.unique(keys, return_counts=True)
    if len(values) <= max_bins:
        assert (1 + np.searchsorted(edges[1:-1], values)).tolist() == list(range(1, len(values) + 1))
        return
    share = max(len(keys) / max_bins, 1)
    several = np.diff(np.searchsorted(values, edges, side="right")) > 1
    light = value_counts[value_counts < 2 * share]
    assert counts[several].max(initial=0) <= 3 * share + light.max(initial=0)


# Edges


@given(column=COLUMNS, max_bins=st.integers(2, 40))
def test_bins_cover_the_column_without_an_empty_one_and_of_few_values_each_has_its_own(column, max_bins):
    check_edges(column, max_bins)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_bins", [2, 3, 17, 255, 1000])
def test_bins_of_columns_without_ties_hold_nearly_equal_counts(dtype, max_bins):
    rng = np.random.default_rng(0)
    n = 60_000
    with_outliers = rng.random(n)
    with_outliers[:3] = [-1e30, 1e30, 1e-30]
    for column in (rng.normal(size=n), rng.random(n), rng.exponential(size=n) * 1e-30, rng.standard_cauchy(n), with_outliers):
        column = column.astype(dtype)
        edges = encoding.bin_edges(column, max_bins)
        counts = np.bincount(encoding.bin_codes(column, edges))[1:]
        assert len(counts) == max_bins
        assert counts.min() > 0.7 * n / max_bins
        assert counts.max() < 1.35 * n / max_bins
        check_edges(column, max_bins)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_value_with_a_share_of_the_samples_has_a_bin_of_its_own(dtype):
    rng = np.random.default_rng(1)
    column = rng.normal(size=50_000).astype(dtype)
    heavy = np.array([-1.0, 0.0, 0.25, 1.5], dtype=dtype)
    column[:20_000] = rng.choice(heavy, 20_000)
    for max_bins in (16, 255, 4000):
        codes = encoding.bin_codes(column, encoding.bin_edges(column, max_bins))
        for value in heavy:
            (code,) = set(codes[column == value])
            assert (column[codes == code] == value).all()
        check_edges(column, max_bins)


def test_values_with_most_samples_come_first_where_bins_are_too_few():
    column = np.repeat(np.arange(20.0), [1, 40] * 10)
    column[-5:] = np.arange(5) + 0.5
    codes = encoding.bin_codes(column, encoding.bin_edges(column, 4))
    assert codes.max() <= 4
    assert np.bincount(codes)[1:].max() < 0.5 * len(column)


@given(column=COLUMNS, max_bins=st.integers(2, 40), seed=st.integers(0, 2**32 - 1))
def test_neither_the_order_of_samples_nor_their_layout_shows_in_edges(column, max_bins, seed):
    edges = encoding.bin_edges(column, max_bins)
    rng = np.random.default_rng(seed)
    strided = np.empty((len(column), 3), dtype=column.dtype)
    strided[:, 1] = rng.permutation(column)
    for other in (strided[:, 1], column[::-1], np.where(column == 0, -column, column)):
        again = encoding.bin_edges(other, max_bins)
        assert again.dtype == edges.dtype
        assert again.tolist() == edges.tolist()


def test_neither_order_nor_layout_shows_in_edges_of_a_large_column():
    rng = np.random.default_rng(2)
    column = np.where(rng.random(70_000) < 0.3, 0.5, rng.normal(size=70_000))
    table = np.zeros((70_000, 5))
    table[:, 2] = rng.permutation(column)
    for max_bins in (30, 255, 9000):
        assert encoding.bin_edges(table[:, 2], max_bins).tolist() == encoding.bin_edges(column, max_bins).tolist()


@given(column=SINGLES, max_bins=st.integers(2, 40))
def test_doubles_that_are_exact_in_single_precision_have_the_edges_of_single_precision(column, max_bins):
    edges, of_doubles = (encoding.bin_edges(values, max_bins) for values in (column, column.astype(np.float64)))
    assert edges.dtype == of_doubles.dtype == np.uint32
    assert edges.tolist() == of_doubles.tolist()
    assert encoding.bin_codes(column, edges).tolist() == encoding.bin_codes(column.astype(np.float64), edges).tolist()


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_column_without_values_has_no_bin(n):
    column = np.full(n, np.nan)
    edges = encoding.bin_edges(column, 4)
    assert len(edges) == 1
    assert encoding.bin_codes(column, edges).tolist() == [0] * n


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 0.1, 5e-324, -BITS.max])
def test_a_constant_has_one_bin(value):
    edges = encoding.bin_edges(np.full(100, value), 2)
    assert len(edges) == 2
    assert edges[1] - edges[0] == 1


def pieces_of(column: NDArray, max_bins: int) -> list[tuple[int, int, bool]]:
    """The last key, the samples, and whether these have one value: small neighbours are joined if there are too many."""
    values = zip(*(part.tolist() for part in np.unique(keys_of(column), return_counts=True)), strict=True)
    pieces = [(key, count, True) for key, count in values]
    if len(pieces) <= max_bins:
        return pieces
    joined, quantum = pieces[:1], max(len(column) // (4 * max_bins), 1)
    for key, count, _ in pieces[1:]:
        if joined[-1][1] + count <= quantum:
            joined[-1] = key, joined[-1][1] + count, False
        else:
            joined.append((key, count, True))
    return joined


def edges_by_definition(column: NDArray, max_bins: int, open_ends: bool) -> list[int]:
    """The edges of a column without missing values, of which no bucket holds two values.

    A value with `threshold` samples has its own bin; what lies between two of these shares the bins that are left.
    """
    pieces, n, largest = pieces_of(column, max_bins), len(column), int(np.iinfo(keys_of(column).dtype).max)
    first = 0 if open_ends else int(keys_of(column).min()) - 1
    if len(pieces) <= max_bins and all(single for _, _, single in pieces) and not open_ends:
        return [first, *(key for key, _, _ in pieces)]
    threshold = max(n // max_bins, 1)
    while True:
        gaps, gap, before, n_heavy = [], [], 0, 0
        for key, count, single in [*pieces, (largest + 1, math.inf, True)]:
            if count < threshold or not single:
                gap.append((key, count))
                continue
            if gap or (open_ends and key - before > 1):
                gaps.append((gap, min(key - 1, largest if open_ends else pieces[-1][0])))
            gap, before = [], key
            n_heavy += key <= largest
        light = sum(count for gap, _ in gaps for _, count in gap)
        left = max_bins - n_heavy - len(gaps)
        if left >= 0 and light * max_bins <= 2 * n * (left + 1):
            break
        threshold += threshold // 4 + 1
    edges = {first, *(key for key, count, single in pieces if single and count >= threshold)}
    for gap, end in gaps:
        own, held = sum(count for _, count in gap), 0
        bins = 1 + (own * left + light // 2) // max(light, 1)
        light -= own
        made = {end}
        for (key, count), (_, following) in itertools.pairwise(gap):
            held += count
            if bins - len(made) > 0 and 2 * own <= (bins - len(made) + 1) * (2 * held + following):
                made.add(key)
                own, held = own - held, 0
        left -= len(made) - 1
        edges |= made
    return sorted(edges)


@pytest.mark.parametrize("open_ends", [False, True])
def test_edges_are_those_of_the_definition(open_ends):
    """Columns are numbers next to each other, some with many samples, and there may be none between them.

    Missing values, one or more than there are others, change nothing.
    """
    for seed in range(120):
        rng = np.random.default_rng(seed)
        places = rng.choice(40, int(rng.integers(1, 30)), replace=False)
        counts = rng.choice([1, 2, 9, 30], len(places), p=rng.dirichlet(np.ones(4)))
        column = rng.permutation(np.repeat(1 + BITS.eps * places, counts))
        max_bins = int(rng.integers(2, 20))
        if open_ends and max_bins < 3:
            continue
        with_missing = rng.permutation(np.append(column, np.full(rng.integers(1, 100), np.nan)))
        for one in (column, with_missing):
            found = encoding.bin_edges(one, max_bins, open_ends)
            assert found.tolist() == edges_by_definition(column, max_bins, open_ends), seed
        if not open_ends:
            check_bins(column, max_bins)


@pytest.mark.parametrize("max_bins", [2, 3, 4])
def test_two_dozen_samples_that_outliers_put_into_one_bucket_are_binned_by_the_definition(max_bins):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        places = rng.choice(60, int(rng.integers(16, 25)), replace=False)
        column = rng.permutation(np.append(1 + BITS.eps * places, [1e-300, 1e300]))
        codes = codes_of(column, np.array(edges_by_definition(column, max_bins, False), dtype=np.uint64))
        assert encoding.bin_codes(column, encoding.bin_edges(column, max_bins)).tolist() == codes.tolist(), seed


def test_what_memory_held_before_does_not_show_in_edges():
    """Behind the room for keys that are sorted, there is perhaps one more that is like the last of them."""
    rng = np.random.default_rng(6)
    for n in [*range(4, 25)] * 4:
        column = rng.choice([0.1, 0.3, 0.7, 1.1], n)
        edges = []
        for last in (0, keys_of(column).max()):
            for _ in range(2):  # NumPy gives small arrays the memory of those that went before
                held = [np.full(n + 1, last, dtype=np.uint64) for _ in range(6)]
                del held
            edges.append(encoding.bin_edges(column, 3).tolist())
        assert edges[0] == edges[1]


# Edges from a sample


@given(column=COLUMNS, max_bins=st.integers(2, 40))
def test_bins_from_a_sample_cover_every_number_and_atomic_ones_hold_a_single_key(column, max_bins):
    edges = encoding.bin_edges(column, max_bins, True)
    keys = keys_of(column)
    if not keys.any():
        assert len(edges) == 1
        return
    assert 1 <= len(edges) - 1 <= max_bins
    assert edges[0] == 0
    assert edges[-1] == np.iinfo(edges.dtype).max
    assert (edges[1:] > edges[:-1]).all()
    assert encoding.bin_codes(column, edges).tolist() == codes_of(column, edges).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_heavy_values_of_a_sample_are_known_from_the_edges_alone(dtype):
    rng = np.random.default_rng(3)
    sample = rng.normal(size=8_192).astype(dtype)
    heavy = np.array([-2.0, -0.5, 0.0, 0.1, 3.0], dtype=dtype)
    sample[:2_000] = rng.choice(heavy, 2_000)
    edges = encoding.bin_edges(sample, 255, True)
    atomic = edges[1:][edges[1:] - edges[:-1] == 1]
    assert set(keys_of(heavy, edges.dtype.type)) <= set(atomic)
    other = np.nextafter(heavy, dtype(9))
    codes = encoding.bin_codes(np.concatenate([heavy, other]), edges)
    assert not set(codes[:5]) & set(codes[5:])


# Codes


@given(
    column=COLUMNS,
    other=COLUMNS,
    dtype=st.sampled_from([np.uint32, np.uint64]),
    offsets=st.lists(st.integers(-2, 2), max_size=8),
)
def test_codes_are_those_of_a_search_among_the_edges(column, other, dtype, offsets):
    """Edges stand anywhere: on values of the column, next to them, around zero, far from all."""
    keys = keys_of(other, dtype)
    near_zero = keys_of(np.zeros(1), dtype)[0]
    wanted = [int(key) + offset for key in keys for offset in offsets[:2]] + [int(near_zero) + offset for offset in offsets]
    least, most = int(keys_of(np.array([-BITS.max]), np.uint64)[0]), np.iinfo(dtype).max
    least = least if dtype == np.uint64 else 1 << 23
    inner = sorted({edge for edge in wanted if least < edge < most - 1})
    edges = np.array([0, *inner, most], dtype=dtype)
    assert encoding.bin_codes(column, edges).tolist() == codes_of(column, edges).tolist()


@pytest.mark.parametrize("n_bins", [1, 2, 255, 256, 40_000])
@pytest.mark.parametrize("spacing", [1, 1000, 2**36])
def test_codes_are_right_where_all_edges_stand_close_together(n_bins, spacing):
    rng = np.random.default_rng(4)
    first = int(keys_of(np.ones(1), np.uint64)[0])
    inner = [first + spacing * i for i in range(n_bins - 1)]
    edges = np.array([0, *inner, np.iinfo(np.uint64).max], dtype=np.uint64)
    values = (1 + BITS.eps * rng.integers(-10, spacing * n_bins + 10, 100_000)).astype(np.float64)
    values[:4] = [-1e300, 1e300, 0, np.nan]
    codes = encoding.bin_codes(values, edges)
    assert codes.dtype == (np.uint8 if n_bins <= 255 else np.uint16)
    assert (codes == codes_of(values, edges)).all()


def check_bins(column: NDArray, max_bins: int) -> None:
    """Codes, and the first and last value of each bin, against the edges alone."""
    found, edges, least, most = encoding.Binning(len(column), max_bins).bin(column)
    codes = codes_of(column, edges)
    assert found.tolist() == codes.tolist()
    with np.errstate(over="ignore"):
        values = column.astype(np.float32 if edges.dtype == np.uint32 else np.float64) + 0
    for b in range(1, len(edges)):
        assert (least[b - 1], most[b - 1]) == (values[codes == b].min(), values[codes == b].max())


@given(column=COLUMNS, max_bins=st.integers(2, 40))
def test_bins_have_the_codes_of_their_edges_and_the_bounds_of_their_samples(column, max_bins):
    check_bins(column, max_bins)


@pytest.mark.parametrize("max_bins", [2, 255, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", ["spread", "crowded", "integers"])
def test_bins_of_many_samples_have_the_codes_of_their_edges(shape, dtype, max_bins):
    """Crowded: most samples share a bucket of the grid that is spread over all values, and are divided further."""
    rng = np.random.default_rng(5)
    column = rng.normal(size=20_000)
    if shape == "crowded":
        column[2_000:] = 1 + column[2_000:] * 1e-5
    if shape == "integers":
        column = np.round(column * 1_000)
    column[rng.random(len(column)) < 0.05] = np.nan
    check_bins(column.astype(dtype), max_bins)


def test_codes_rise_with_values_over_the_whole_range_of_doubles():
    values = np.concatenate([-np.logspace(308, -320, 5_000), [0.0], np.logspace(-320, 308, 5_000)])
    edges = encoding.bin_edges(values, 255)
    codes = encoding.bin_codes(values, edges)
    assert (np.diff(codes.astype(int)) >= 0).all()
    assert math.isclose(np.bincount(codes)[1:].mean(), len(values) / 255, rel_tol=0.01)


# Trees on bins

INTERVALS = {
    "intervals": replace(CART_CLASSIFICATION, continuous="intervals", missing="majority"),
    "intervals, fractional": replace(CART_CLASSIFICATION, continuous="intervals", missing="fractional"),
}
SURROGATES = {"surrogates": replace(CART_CLASSIFICATION, missing="surrogate")}
RECIPES = CLASSIFIERS | COMPLETE | RELEASE8 | INTERVALS | SURROGATES | REGRESSORS
MAY_REFUSE = [name for name, recipe in RECIPES.items() if recipe.continuous == "error"]


def table_for(data: st.DataObject, recipe: Recipe, **sizes: Any) -> SmallTable:
    task = "regression" if recipe.impurity in naive.OF_NUMBERS else "classification"
    return data.draw(tables(task=task, missing=recipe.missing != "error", **sizes))


def as_codes(table: SmallTable, max_bins: int) -> SmallTable:
    """The table with the numbers of bins in the place of continuous values; samples of weight 0 are left out."""
    if table.sample_weight is not None:
        table = table.take(np.flatnonzero(table.sample_weight))
    columns = [
        column if kind != CONTINUOUS else code_values(column, max_bins)
        for column, kind in zip(table.columns, table.kinds, strict=True)
    ]
    return replace(table, columns=tuple(columns))


def code_values(column: NDArray[Any], max_bins: int) -> NDArray[np.float64]:
    codes = codes_of(column, encoding.bin_edges(column, max_bins)).astype(float)
    return np.where(codes == 0, np.nan, codes)


def structure(tree: Tree) -> list[Any]:
    """All of a tree but where exactly its thresholds are."""
    arrays_of = [tree.parent, tree.n_branches, tree.feature, tree.kind, tree.missing, tree.n_samples, tree.value, tree.gain]
    return [array.tolist() for array in arrays_of]


@pytest.mark.parametrize("name", [name for name in RECIPES if name not in MAY_REFUSE])
@FEW_EACH
@given(data=st.data())
def test_with_a_bin_for_every_value_the_tree_is_that_without_bins(name, data):
    recipe = RECIPES[name]
    table = table_for(data, recipe)
    bounds = data.draw(limits(min_gain=ANY_GAIN, min_branch_weight=recipe.release8))
    exact = grow_compiled(table, recipe, bounds)
    assert grow_compiled(table, recipe, bounds._replace(max_bins=255)) == exact
    assert grow_compiled(table, recipe, bounds._replace(max_bins=max(2, table.n_samples)), block_rows=3) == exact


@pytest.mark.parametrize("name", [name for name in {**CLASSIFIERS, **COMPLETE, **REGRESSORS} if name not in MAY_REFUSE])
@FEW_EACH
@given(data=st.data(), max_bins=st.integers(2, 6))
def test_the_tree_on_bins_is_the_slow_tree_of_the_codes(name, data, max_bins):
    recipe = RECIPES[name]
    table = table_for(data, recipe)
    bounds = data.draw(limits(min_gain=ANY_GAIN))
    compiled = as_nodes(grow_compiled(table, recipe, bounds._replace(max_bins=max_bins)))
    expected = grow_naive(as_codes(table, max_bins), recipe, bounds)
    report = "\n".join([f"{recipe}\n{bounds}\n{table!r}", "compiled", *outline(compiled), "expected", *outline(expected)])
    ours, theirs = naive.breadth_first(compiled), naive.breadth_first(expected)
    for one, other in zip(ours, theirs, strict=True):
        assert test_of(replace(one, threshold=0.0)) == test_of(replace(other, threshold=0.0)), report
        assert numbers_of(one) == pytest.approx(numbers_of(other), rel=1e-9, abs=1e-9), report


def continuous_table(n: int, seed: int, *, missing: float = 0.0) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Three columns without ties, one with a heavy value, one of few values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[rng.random(n) < 0.4, 3] = 0.25
    X[:, 4] = rng.integers(0, 9, n)
    y = (X[:, 0] * X[:, 1] + X[:, 3] + 0.3 * X[:, 4] + rng.normal(size=n) > 1).astype(np.intp)
    X[rng.random((n, 5)) < missing] = np.nan
    return X, y


def grow(X: NDArray, y: NDArray, max_bins: int | None, recipe: Recipe = CART_CLASSIFICATION, **choices: Any) -> Tree:
    bounds = Limits(min_gain=ANY_GAIN, max_bins=max_bins, min_samples_leaf=2)
    tree = growth.grow(learn_table(X), y, None, recipe, bounds, n_classes=2, **choices)
    tree.check()
    return tree


@pytest.mark.parametrize("max_bins", [2, 20, 255, 256, 1000])
@pytest.mark.parametrize("block_rows", [100, 32_768])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_large_tables_have_the_tree_of_their_codes_and_every_sample_is_where_its_codes_lead(max_bins, block_rows, missing):
    X, y = continuous_table(6_000, 5, missing=missing)
    codes = np.column_stack([code_values(column, max_bins) for column in X.T])
    tree, of_codes = grow(X, y, max_bins, block_rows=block_rows), grow(codes, y, None)
    assert structure(tree) == structure(of_codes)
    assert tree.n_leaves > 10
    assert walks.walk(tree, learn_table(X)).tolist() == walks.walk(of_codes, learn_table(codes)).tolist()


@pytest.mark.parametrize("max_bins", [2, 30, 400])
@pytest.mark.parametrize("feature", range(5))
def test_a_threshold_of_the_root_lies_halfway_between_the_values_next_to_an_edge(max_bins, feature):
    X, y = continuous_table(3_000, 6)
    column = X[:, feature]
    threshold = grow(column[:, None], y, max_bins).threshold[0]
    values = np.unique(column)
    low, high = values[values <= threshold].max(), values[values > threshold].min()
    assert threshold == (low + high) / 2
    codes = codes_of(np.array([low, high]), encoding.bin_edges(column, max_bins))
    assert codes[1] == codes[0] + 1


@pytest.mark.parametrize("max_bins", [20, 255, 700])
def test_neither_the_order_of_rows_nor_the_layout_changes_a_tree_on_bins(max_bins):
    X, y = continuous_table(4_000, 7, missing=0.05)
    reference = grow(X, y, max_bins)
    order = np.random.default_rng(0).permutation(len(y))
    assert grow(X[order], y[order], max_bins) == reference
    assert grow(np.asfortranarray(X), y, max_bins) == reference
    single = X.astype(np.float32)
    assert grow(single, y, max_bins) == grow(single.astype(np.float64), y, max_bins)


@pytest.mark.parametrize("max_bins", [20, 700])
@pytest.mark.parametrize("factor", [4.0, 2.0**-40])
def test_scaling_by_a_power_of_two_scales_the_thresholds(max_bins, factor):
    X, y = continuous_table(4_000, 8)
    reference, scaled = grow(X, y, max_bins), grow(X * factor, y, max_bins)
    assert structure(scaled) == structure(reference)
    assert scaled.threshold.tolist() == pytest.approx((reference.threshold * factor).tolist(), rel=1e-12, nan_ok=True)


def test_samples_that_a_window_leaves_out_count_for_the_bins():
    X, y = continuous_table(2_000, 9)
    rows = np.arange(0, 2_000, 3)
    codes = np.column_stack([code_values(column, 12) for column in X.T])
    assert structure(grow(X, y, 12, rows=rows)) == structure(grow(codes, y, None, rows=rows))


def test_samples_without_weight_do_not_count_for_the_bins():
    X, y = continuous_table(2_000, 10)
    weight = (np.random.default_rng(0).random(2_000) < 0.5).astype(float)
    kept = weight > 0
    models = [CARTClassifier(max_bins=15).fit(X, y, sample_weight=weight), CARTClassifier(max_bins=15).fit(X[kept], y[kept])]
    assert models[0].tree_ == models[1].tree_


@pytest.mark.parametrize("recipe", [RELEASE8["c4.5"], *INTERVALS.values(), *SURROGATES.values()], ids=str)
def test_other_splits_on_bins_are_those_of_codes_too(recipe):
    X, y = continuous_table(1_500, 11, missing=0.05)
    codes = np.column_stack([code_values(column, 25) for column in X.T])
    tree, of_codes = grow(X, y, 25, recipe), grow(codes, y, None, recipe)
    assert structure(tree)[:-1] == structure(of_codes)[:-1]
    shares, of_code_shares = (walks.predict_value(one, learn_table(of)) for one, of in ((tree, X), (of_codes, codes)))
    assert shares.tolist() == of_code_shares.tolist()


@pytest.mark.parametrize("estimator", [CARTClassifier, CARTRegressor, C45Classifier])
@pytest.mark.parametrize("n_samples", [1, 3, 300])
@pytest.mark.parametrize("max_bins", [2, 255, 65_535])
def test_columns_that_say_nothing_and_extreme_values_are_grown_on_bins(estimator, n_samples, max_bins):
    rng = np.random.default_rng(14)
    X = np.full((n_samples, 4), np.nan)
    X[:, 1] = -0.0
    X[:, 2] = np.where(rng.random(n_samples) < 0.5, np.nan, 7)
    X[:, 3] = rng.choice([BITS.max, -BITS.max, 5e-324], n_samples)
    model = estimator(max_bins=max_bins).fit(X, rng.integers(0, 2, n_samples))
    model.tree_.check()
    assert model.predict(X).shape == (n_samples,)
    assert not (model.tree_.feature < 2)[model.tree_.feature >= 0].any()


@pytest.mark.parametrize("estimator", [C45Classifier, CARTClassifier, CARTRegressor, TreeClassifier, C45Rules, ID3Classifier])
def test_every_estimator_takes_max_bins(estimator):
    X, y = continuous_table(400, 12)
    if estimator is ID3Classifier:
        X = X[:, 4:].astype(int)
    model = estimator(max_bins=5).fit(X, y)
    assert model.score(X, y) > 0.2
    if isinstance(model, C45Rules):
        return
    between_bins = 4 * 5 / 2  # pairs of the five bins, of which those between are empty
    for feature in range(X.shape[1]):
        thresholds = np.unique(model.tree_.threshold[model.tree_.feature == feature])
        assert len(thresholds) <= between_bins


def test_the_best_competing_split_is_the_split_of_the_tree_on_its_bins():
    X, y = continuous_table(1_000, 13)
    model = CARTClassifier(max_bins=9, max_depth=3).fit(X, y)
    for node in (0, 1, 2):
        best = model.competing_splits(node, X, y)[0]
        assert (best.feature, best.threshold) == (model.tree_.feature[node], model.tree_.threshold[node])
        assert best.gain == pytest.approx(model.tree_.gain[node])


@pytest.mark.parametrize("max_bins", [1, 65_536, 2.0, "many"])
def test_numbers_of_bins_that_cannot_be_are_refused(max_bins):
    with pytest.raises(ValueError, match=r"max_bins=.*must be an integer from 2 to 65,535, or None for every value"):
        CARTClassifier(max_bins=max_bins).fit([[1.0], [2.0]], [0, 1])
