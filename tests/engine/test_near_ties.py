"""Gains that differ by less than the tie tolerance are equal, also where the largest is reached in steps below it.

The tolerance is 1e-10 of the largest gain: of the candidates within it the lowest feature wins, then the lowest threshold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from strategies import CONTINUOUS, NOMINAL, ORDINAL, SmallTable
from test_bounded import LISTS, PATHS
from test_engine_twin import as_nodes, grow_compiled, grow_naive

from fasttree._learn.limits import Limits
from fasttree._learn.recipe import CART_CLASSIFICATION, CART_REGRESSION

Floats = NDArray[np.float64]
N = 64
STEP = 0.8e-10  # one is within the tolerance, two are not
WAYS: tuple[dict[str, Any], ...] = ({}, LISTS, *PATHS)


def targets_of_gains(gains: dict[int, float], n_missing: int = 0) -> Floats:
    """Targets of N samples, of sum 0, where cutting off the first k gains so much and other cuts gain half of that.

    Missing values are of `n_missing` samples of target 0 behind them, which go to the right.
    """
    n = N + n_missing
    known = {0: 0.0, N: 0.0} | {k: np.sqrt(gain * k * (n - k) / n) for k, gain in gains.items()}
    places = np.arange(N + 1)
    sums = np.interp(places, sorted(known), [known[k] for k in sorted(known)])
    sums = np.where(np.isin(places, list(known)), sums, 0.7 * sums)
    return np.concatenate([np.diff(sums), np.zeros(n_missing)])


def assert_chosen(columns: list[NDArray[Any]], y: Floats, feature: int, threshold: float) -> None:
    """The root's test is this one: in the twin, and in every way to search."""
    kinds = tuple(CONTINUOUS if column.dtype.kind == "f" else ORDINAL for column in columns)
    n_categories = tuple(0 if kind == CONTINUOUS else int(column.max()) for kind, column in zip(kinds, columns, strict=True))
    table = SmallTable(tuple(columns), kinds, n_categories, y, 1)
    twin = grow_naive(table, CART_REGRESSION, Limits(max_depth=1))
    assert (twin.feature, twin.threshold) == (feature, threshold)
    for way in WAYS:
        found = as_nodes(grow_compiled(table, CART_REGRESSION, Limits(max_depth=1), **way))
        assert (found.feature, found.threshold) == (feature, threshold), way


@pytest.mark.parametrize(
    ("steps", "winner"),
    [
        pytest.param((0, 0, 0), 0, id="equal"),
        pytest.param((0, 0.5, 1), 0, id="all are near the best"),
        pytest.param((0, 1, 2), 1, id="the first is near the second, and not the third"),
        pytest.param((0, 1, 1, 2), 1, id="two are near the last"),
        pytest.param((0, 2, 3), 1, id="the first is near none"),
        pytest.param((0, 2, 4), 2, id="none is near another"),
        pytest.param((2, 1, 0), 0, id="descending"),
    ],
)
@pytest.mark.parametrize("kind", ["double", "single", "missing", "codes"])
def test_the_lowest_cut_near_the_best_of_a_feature_wins(kind: str, steps: tuple[float, ...], winner: int) -> None:
    cuts = [7 * (i + 1) for i in range(len(steps))]
    y = targets_of_gains({k: 1 + STEP * step for k, step in zip(cuts, steps, strict=True)}, 4 if kind == "missing" else 0)
    x = np.arange(len(y), dtype=float)
    x[N:] = np.nan
    if kind == "codes":
        x = (np.arange(N) + 1).astype(np.uint8)
    elif kind == "single":
        x = x.astype(np.float32)
    assert_chosen([x], y, 0, cuts[winner] + (0.5 if kind == "codes" else -0.5))


@pytest.mark.parametrize(("above", "winner"), [(1.1, 16), (1.9, 44), (4, 0)])
@pytest.mark.parametrize("dtype", [np.float64, np.uint8])
def test_the_lowest_feature_near_the_best_wins_with_its_lowest_cut_near_it(dtype: type, above: float, winner: int) -> None:
    """Feature 0 has a cut, and one a step better; feature 1 tells even samples from odd ones, which gains most."""
    y = targets_of_gains({16: 1.0, 44: 1 + STEP})
    even = np.arange(N) % 2 == 0
    raised = (np.sqrt((1 + STEP * above) * N / 4) - y[even].sum()) / even.sum()
    y += np.where(even, raised, -raised)  # sums of an even number of the first samples stay
    columns = [(np.arange(N) + 1).astype(dtype), 1 + even.astype(dtype)]
    assert_chosen(columns, y, int(winner == 0), winner + 0.5 if winner else 1.5)


@pytest.mark.parametrize(("below", "winner"), [(1.1, 0), (1.9, 1)])
def test_a_feature_competes_with_its_best_two_groups_of_categories_though_it_takes_the_first_near_them(below, winner):
    """Category 4 gains most, and category 1 a step less, which comes first; feature 0 gains `below` steps less than the best."""
    m, low = 16, STEP - 1.0
    y = np.repeat([low, 0.0, 0.0, 1.0], m)
    y[m] = low + (below - 1) * STEP * m / 2
    y[m + 1] = -y[m]
    category, place = np.repeat(np.arange(1, 5), m).astype(np.uint8), np.arange(4 * m)
    side = np.where((place > 0) & (place <= m), 1, 2).astype(np.uint8)  # category 1 with another sample in the place of its first
    table = SmallTable((side, category), (ORDINAL, NOMINAL), (2, 4), y, 1)
    twin = grow_naive(table, CART_REGRESSION, Limits(max_depth=1))
    found = as_nodes(grow_compiled(table, CART_REGRESSION, Limits(max_depth=1)))
    assert twin.feature == found.feature == winner
    assert twin.table == found.table


@pytest.mark.parametrize(("more", "size"), [(0, 6), (1, 11)])
def test_a_gain_of_exactly_1e_13_of_the_nodes_risk_is_none(more: int, size: int) -> None:
    """Twelve categories are halved then.  The last of them has a little more of class 1, the others are alike."""
    weight, excess = 2061834657081188, 354771604 + more
    last = [weight // 2 - excess, weight // 2 + excess]
    rest = [2**51 - last[0], 2**51 - last[1]]
    each = [whole // 11 for whole in rest]
    counts = np.array([*[each] * 10, [rest[0] - 10 * each[0], rest[1] - 10 * each[1]], last])
    table = SmallTable(
        (np.repeat(np.arange(1, 13), 2).astype(np.uint8),), (NOMINAL,), (12,), np.tile([0, 1], 12), 2, counts.ravel() * 1.0
    )
    tree = grow_compiled(table, CART_CLASSIFICATION, Limits(min_gain=-np.inf, max_depth=1))
    assert np.bincount(tree.categories_branch).tolist() == [size, 12 - size]


@pytest.mark.parametrize(("light", "more"), [(58499204701235, 6204), (69345769698372, 5396)])
def test_a_gain_of_exactly_the_least_that_is_near_the_largest_is_equal_to_it(light: int, more: int) -> None:
    """Where gain ratios compete, cuts are not searched again.  The outer two of three values mirror each other but for `more`."""
    weight = 2**48
    second = np.array([weight - light, weight // 2 + more, light])
    table = SmallTable(
        (np.repeat([1, 2, 3], 2).astype(np.uint8),), (ORDINAL,), (3,), np.tile([0, 1], 3), 2,
        np.column_stack([weight - second, second]).ravel() * 1.0,
    )  # fmt: skip
    recipe = replace(CART_CLASSIFICATION, rank="plain_gain_ratio")
    for way in WAYS:
        assert grow_compiled(table, recipe, Limits(max_depth=1), **way).threshold[0] == 1.5, way
