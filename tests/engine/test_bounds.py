"""Bounds of bins at the door of the engine: no cut inside a bin gains more, in any order of its samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_bounded import CLASS_IMPURITIES, gain, risk

from fasttree._engine.records import Scale
from fasttree._engine.rounds import Judge, Setting
from fasttree._learn.grow.growth import Size, engine_limits, policy_of
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe

Array = Any
UNIT = 2.0**-20  # of weights
Y_UNIT = 2.0**-10  # of targets


def judge_of(
    groups: Array, scale: Scale, impurity: str, n_classes: int, limits: Limits, *, weighted: bool, whole: float
) -> Judge:
    recipe, n = Recipe(impurity=impurity), scale.n_samples
    numbers = engine_limits(Size(n, 1, 1.0, scale.total_weight), recipe, limits, n_classes)
    codes = np.array([len(groups) + 1], dtype=np.uint32)
    judge = Judge(Setting(policy_of(recipe, limits), numbers, scale, np.zeros(1, np.uint8), codes, n_classes, weighted))
    judge.open(groups.sum(axis=0), whole)
    return judge


def check(judge: Judge, groups: Array, gains: Array, ends: Array, least: int) -> None:
    """`gains` of the cuts behind each sample but the last; `ends`: samples of the groups and those before them."""
    best, bounds = judge.bounds(groups, np.zeros(len(groups), np.uint8), np.zeros_like(groups[0]), -np.inf)
    n = len(gains) + 1
    inner = np.isin(np.arange(1, n), ends, invert=True) & (np.minimum(np.arange(1, n), n - np.arange(1, n)) >= least)
    slack = 1e-9 * (1 + gains.max())
    for g, (start, stop) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        inside = gains[start : stop - 1][inner[start : stop - 1]]
        assert inside.max(initial=-np.inf) <= max(best, bounds[g]) + slack


def sizes_of(rng: np.random.Generator) -> Array:
    """Samples of each group."""
    return rng.integers(2, 9, rng.integers(1, 12))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("impurity", CLASS_IMPURITIES)
def test_no_allowed_cut_inside_a_group_gains_more_than_its_bound(impurity, weighted):
    """Where the end of a group is no cut, those before it may gain nearly as much as it would."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        sizes, n_classes = sizes_of(rng), int(rng.integers(2, 9))
        n = int(sizes.sum())
        least = int(rng.integers(1, 2 + n // 4)) if seed % 2 else 1
        y = rng.choice(n_classes, n, p=rng.dirichlet(np.full(n_classes, 0.5)))
        if seed % 3 == 0:
            y.sort()  # the cuts are the best that there may be
        elif seed % 3 == 1:
            y = (np.arange(n) > n - least).astype(int)  # the best cut leaves too few
        units = rng.integers(1, 2**22, n) if weighted else np.ones(n, dtype=int)
        unit = UNIT if weighted else 1.0
        of_group = np.repeat(np.arange(len(sizes)), sizes)
        statistics = np.zeros((len(sizes), n_classes), dtype=np.int64)
        np.add.at(statistics, (of_group, y), units)
        groups = np.column_stack([sizes, statistics.sum(axis=1), statistics])
        total = statistics.sum(axis=0) * unit
        below = np.cumsum(np.eye(n_classes)[y] * units[:, None] * unit, axis=0)[:-1]
        gains = np.array([gain(left, total, impurity) for left in below])
        scale = Scale(n, float(total.sum()), unit)
        limits = Limits(min_samples_leaf=least)
        judge = judge_of(groups, scale, impurity, n_classes, limits, weighted=weighted, whole=risk(total, impurity))
        check(judge, groups, gains, np.cumsum(sizes), least)


@pytest.mark.parametrize("kind", ["counted", "in coarse squares", "weighted", "light"])
def test_no_cut_of_numbers_inside_a_group_gains_more_than_its_bound(kind):
    """Coarse squares leave out nearly all of the targets' spread, and light samples weigh less than one together."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        sizes, weighted = sizes_of(rng), kind in ("weighted", "light")
        n, shift = int(sizes.sum()), 12 if kind == "in coarse squares" else 0
        of_group = np.repeat(np.arange(len(sizes)), sizes)
        sums = np.rint((rng.normal(size=n) + rng.choice([0, 3]) * rng.normal(size=len(sizes))[of_group]) / Y_UNIT).astype(int)
        sums = sums[np.lexsort((sums, of_group))]  # of each group, the lower ones first
        unit = {"weighted": 1.0, "light": UNIT}.get(kind, 1.0)
        units = rng.integers(1, 2**12, n) if weighted else np.ones(n, dtype=int)
        w, y = units * unit, sums * Y_UNIT
        columns = [np.ones(n, dtype=int), units]
        if weighted:
            square_unit = Y_UNIT * 2.0**-10
            columns += [np.rint(w * y / Y_UNIT).astype(int)]
            y = columns[2] * Y_UNIT / w
            columns += [np.ceil(w * y * y / square_unit).astype(int)]
        else:
            square_unit = 1.0
            columns += [sums, (sums >> shift) ** 2, sums >> shift]
        groups = np.ascontiguousarray(np.array([np.bincount(of_group, each) for each in columns]).T.astype(np.int64))
        off = np.cumsum(w * (y - np.average(y, weights=w)))[:-1]
        left = np.cumsum(w)[:-1]
        gains = off**2 * w.sum() / (left * (w.sum() - left))
        scale = Scale(n, float(w.sum()), unit, Y_UNIT, 0.0, 1e3, 1e6, shift, square_unit)
        whole = float((w * (y - np.average(y, weights=w)) ** 2).sum())
        judge = judge_of(groups, scale, "squared_error", 0, Limits(), weighted=weighted, whole=whole)
        check(judge, groups, gains, np.cumsum(sizes), 1)
