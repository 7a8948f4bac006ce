"""Bins against their definitions, written with NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from fasttree import _core

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
    edges = _core.bin_edges(column, max_bins)
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
    assert _core.bin_codes(column, edges).tolist() == codes.tolist()
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
        edges = _core.bin_edges(column, max_bins)
        counts = np.bincount(_core.bin_codes(column, edges))[1:]
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
        codes = _core.bin_codes(column, _core.bin_edges(column, max_bins))
        for value in heavy:
            (code,) = set(codes[column == value])
            assert (column[codes == code] == value).all()
        check_edges(column, max_bins)


def test_values_with_most_samples_come_first_where_bins_are_too_few():
    column = np.repeat(np.arange(20.0), [1, 40] * 10)
    column[-5:] = np.arange(5) + 0.5
    codes = _core.bin_codes(column, _core.bin_edges(column, 4))
    assert codes.max() <= 4
    assert np.bincount(codes)[1:].max() < 0.5 * len(column)


@given(column=COLUMNS, max_bins=st.integers(2, 40), seed=st.integers(0, 2**32 - 1))
def test_neither_the_order_of_samples_nor_their_layout_shows_in_edges(column, max_bins, seed):
    edges = _core.bin_edges(column, max_bins)
    rng = np.random.default_rng(seed)
    strided = np.empty((len(column), 3), dtype=column.dtype)
    strided[:, 1] = rng.permutation(column)
    for other in (strided[:, 1], column[::-1], np.where(column == 0, -column, column)):
        again = _core.bin_edges(other, max_bins)
        assert again.dtype == edges.dtype
        assert again.tolist() == edges.tolist()


def test_neither_order_nor_layout_shows_in_edges_of_a_large_column():
    rng = np.random.default_rng(2)
    column = np.where(rng.random(70_000) < 0.3, 0.5, rng.normal(size=70_000))
    table = np.zeros((70_000, 5))
    table[:, 2] = rng.permutation(column)
    for max_bins in (30, 255, 9000):
        assert _core.bin_edges(table[:, 2], max_bins).tolist() == _core.bin_edges(column, max_bins).tolist()


@given(column=SINGLES, max_bins=st.integers(2, 40))
def test_doubles_that_are_exact_in_single_precision_have_the_edges_of_single_precision(column, max_bins):
    edges, of_doubles = (_core.bin_edges(values, max_bins) for values in (column, column.astype(np.float64)))
    assert edges.dtype == of_doubles.dtype == np.uint32
    assert edges.tolist() == of_doubles.tolist()
    assert _core.bin_codes(column, edges).tolist() == _core.bin_codes(column.astype(np.float64), edges).tolist()


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_column_without_values_has_no_bin(n):
    column = np.full(n, np.nan)
    edges = _core.bin_edges(column, 4)
    assert len(edges) == 1
    assert _core.bin_codes(column, edges).tolist() == [0] * n


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 0.1, 5e-324, -BITS.max])
def test_a_constant_has_one_bin(value):
    edges = _core.bin_edges(np.full(100, value), 2)
    assert len(edges) == 2
    assert edges[1] - edges[0] == 1


# Edges from a sample


@given(column=COLUMNS, max_bins=st.integers(2, 40))
def test_bins_from_a_sample_cover_every_number_and_atomic_ones_hold_a_single_key(column, max_bins):
    edges = _core.bin_edges(column, max_bins, True)
    keys = keys_of(column)
    if not keys.any():
        assert len(edges) == 1
        return
    assert 1 <= len(edges) - 1 <= max_bins
    assert edges[0] == 0
    assert edges[-1] == np.iinfo(edges.dtype).max
    assert (edges[1:] > edges[:-1]).all()
    assert _core.bin_codes(column, edges).tolist() == codes_of(column, edges).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_heavy_values_of_a_sample_are_known_from_the_edges_alone(dtype):
    rng = np.random.default_rng(3)
    sample = rng.normal(size=8_192).astype(dtype)
    heavy = np.array([-2.0, -0.5, 0.0, 0.1, 3.0], dtype=dtype)
    sample[:2_000] = rng.choice(heavy, 2_000)
    edges = _core.bin_edges(sample, 255, True)
    atomic = edges[1:][edges[1:] - edges[:-1] == 1]
    assert set(keys_of(heavy, edges.dtype.type)) <= set(atomic)
    other = np.nextafter(heavy, dtype(9))
    codes = _core.bin_codes(np.concatenate([heavy, other]), edges)
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
    assert _core.bin_codes(column, edges).tolist() == codes_of(column, edges).tolist()


@pytest.mark.parametrize("n_bins", [1, 2, 255, 256, 40_000])
@pytest.mark.parametrize("spacing", [1, 1000, 2**36])
def test_codes_are_right_where_all_edges_stand_close_together(n_bins, spacing):
    rng = np.random.default_rng(4)
    first = int(keys_of(np.ones(1), np.uint64)[0])
    inner = [first + spacing * i for i in range(n_bins - 1)]
    edges = np.array([0, *inner, np.iinfo(np.uint64).max], dtype=np.uint64)
    values = (1 + BITS.eps * rng.integers(-10, spacing * n_bins + 10, 100_000)).astype(np.float64)
    values[:4] = [-1e300, 1e300, 0, np.nan]
    codes = _core.bin_codes(values, edges)
    assert codes.dtype == (np.uint8 if n_bins <= 255 else np.uint16)
    assert (codes == codes_of(values, edges)).all()


def test_codes_rise_with_values_over_the_whole_range_of_doubles():
    values = np.concatenate([-np.logspace(308, -320, 5_000), [0.0], np.logspace(-320, 308, 5_000)])
    edges = _core.bin_edges(values, 255)
    codes = _core.bin_codes(values, edges)
    assert (np.diff(codes.astype(int)) >= 0).all()
    assert math.isclose(np.bincount(codes)[1:].mean(), len(values) / 255, rel_tol=0.01)
