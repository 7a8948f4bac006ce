"""The best test of a node in Cubist's growth is that of plain loops over all cuts and divisions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from fasttree._engine.lines import equations

LEAST_SIDE = 3
FISHER = 1.96
Array = Any


class Rows(NamedTuple):
    """A column of a node, of numbers or of `size` categories, with residuals and weights."""

    column: Array
    size: int  # 0 for a column of numbers
    y: Array
    w: Array
    softening: float


def deviation(rows: Rows, side: Array) -> float:
    """Deviation of one side times its weight: from the mean, or from a line that is significant."""
    y, w, k = rows.y[side], rows.w[side], int(side.sum())
    off = y - np.average(y, weights=w)
    square = float((w * off**2).sum())
    if not rows.size and k >= 6:
        x = rows.column[side]
        x = x - np.average(x, weights=w)
        spread = float((w * x**2).sum())
        correlation = float((w * x * off).sum()) / np.sqrt(spread * square) if spread * square > 0 else 0.0
        if abs(correlation) >= np.tanh(FISHER / np.sqrt(k - 3)):
            square *= 1 - correlation**2
    return np.sqrt((square + rows.softening) * w.sum() * k / (k - 1))


def divisions(rows: Rows) -> list[Array]:
    """The left sides that are tried, in their order."""
    if not rows.size:
        values = np.unique(rows.column)
        return [rows.column <= low for low in values[:-1]]
    present = np.unique(rows.column).tolist()
    mean = {v: np.average(rows.y[rows.column == v], weights=rows.w[rows.column == v]) for v in present}
    order = [1] if rows.size == 2 else sorted(present, key=lambda v: (-mean[v], v))
    return [np.isin(rows.column, order[: i + 1], invert=True) for i in range(len(order))]


def best_test(rows: Rows) -> tuple[float, Array]:
    """The first of the best tests: how much the deviation falls, and the left side."""
    n, whole = len(rows.y), np.ones(len(rows.y), dtype=bool)
    spread = deviation(rows._replace(size=1), whole) / rows.w.sum()
    best, left = -1.0, whole
    for side in divisions(rows):
        if LEAST_SIDE <= side.sum() <= n - LEAST_SIDE:
            gain = spread - (deviation(rows, side) + deviation(rows, ~side)) / rows.w.sum()
            if gain > best + 1e-9:
                best, left = gain, side
    return best, left


def root_of(rows: Rows) -> Array:
    """The left side of the engine's test of the root; all rows if there is none."""
    n, d = len(rows.y), int(not rows.size)
    x = rows.column.astype(float).reshape(1, n)[:d]
    codes = rows.column.reshape(1, n)[d:]
    order = np.array([np.argsort(rows.column, kind="stable"), np.arange(n)][1 - d :], dtype=np.int32)
    k = np.arange(n + 1.0)
    factor = np.where(k > 1, k / np.maximum(k - 1, 1), 1.0)
    significant = np.where(k < 6, np.inf, np.tanh(FISHER / np.sqrt(np.maximum(k - 3, 1))) ** 2)
    nodes = tuple(np.zeros(2 * n + 3, dtype) for dtype in ("i4", "i4", "i8", "i8", "f8"))
    size = equations.grow(
        (np.ascontiguousarray(x), np.ascontiguousarray(x.T), rows.y, rows.w, np.full(d, 1e-6), -1e9, 1e9),
        (codes.astype(np.int32), np.full(1 - d, rows.size, np.int32)),
        order,
        (np.zeros(1, np.int32), np.zeros(1)),
        (factor, significant, np.full(d, 1e-10)),
        np.array([rows.softening, 1e-9, float(LEAST_SIDE)]),
        nodes,
    )
    child = int(size > 1)
    return np.isin(np.arange(n), order[d][nodes[2][child] : nodes[3][child]])


def random_rows(rng: np.random.Generator, size: int) -> Rows:
    n = int(rng.integers(6, 60))
    column = rng.integers(0, size, n).astype(np.int32) if size else np.round(rng.normal(size=n), 1)
    step = rng.normal(size=size)[column] if size else np.where(column > 0.3, 2 * column, -3.0)
    y = step + rng.choice([0.1, 1.0]) * rng.normal(size=n)
    return Rows(column, size, y, rng.choice([0.5, 1.0, 2.5], n) if rng.random() < 0.5 else np.ones(n), 1e-3)


@pytest.mark.parametrize("size", [0, 2, 3, 8])
def test_the_root_has_the_best_of_all_tests(size):
    found = 0
    for seed in range(60):
        rows = random_rows(np.random.default_rng(seed), size)
        gain, left = best_test(rows)
        if gain > 1e-6:
            assert np.array_equal(root_of(rows), left), seed
            found += 1
    assert found > 30


def test_of_equal_divisions_that_is_taken_in_which_fewest_categories_have_left():
    column = np.repeat(np.arange(3, dtype=np.int32), 4)
    y = np.array([0.0, 1.0, -1.0])[column] + np.tile([0.25, -0.25], 6)  # its own mirror image
    left = root_of(Rows(column, 3, y, np.ones(12), 1e-3))
    assert np.array_equal(left, column != 1)


def test_a_cut_that_leaves_no_deviation_is_found():
    x = np.arange(24.0)  # sides of 8 and 16 rows, whose sums have no rounding
    left = root_of(Rows(x, 0, np.where(x < 8, 1.0, -2.0), np.ones(24), 0.0))
    assert np.array_equal(left, x < 8)


@pytest.mark.parametrize("moved", [0.0, 0.25, -0.25])
def test_a_cut_that_gains_exactly_nothing_is_none(moved):
    x = np.arange(6.0)
    y = np.array([4.0, 1.0, -2.0, 2.0, 1.0, 0.0]) + np.where(x < 3, moved, 0)  # two sides of the same mean
    rows = Rows(x, 0, y, np.ones(6), 0.0)
    assert (best_test(rows)[0] == 0) == (moved == 0)
    assert np.array_equal(root_of(rows), x < 3 if moved else x < 6)


@pytest.mark.parametrize("few", [2, 3])
def test_a_category_of_two_rows_is_too_small_for_a_side(few):
    column = np.repeat(np.arange(2, dtype=np.int32), [12 - few, few])
    rows = Rows(column, 2, 9.0 * column + np.tile([0.1, -0.1], 6), np.ones(12), 1e-3)
    left = root_of(rows)
    assert left.all() if few < LEAST_SIDE else np.array_equal(left, column == 0)
