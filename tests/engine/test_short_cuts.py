"""Gains that are found without a search of every candidate, or by running sums, against all cuts of small tables."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import xlogy

from fasttree import TreeClassifier, TreeRegressor

Floats = NDArray[np.float64]


def gini(y: NDArray) -> float:
    counts = np.bincount(y)
    return len(y) - float((counts**2).sum()) / len(y)


def squares(y: Floats) -> float:
    return float(((y - y.mean()) ** 2).sum())


def deviations(y: Floats) -> float:
    return float(np.abs(y - np.median(y)).sum())


def deviance(y: Floats) -> float:
    return float((xlogy(y, y / y.mean()) - y + y.mean()).sum()) if y.any() else 0.0


def best_gain(X: Floats, targets: list[NDArray], risk: Callable[[NDArray], float], *, events: bool = False) -> float:
    """The largest gain of a threshold, the mean of the targets' gains; with `events` both sides must have some."""
    best = 0.0
    for column in X.T:
        for value in np.unique(column)[:-1]:
            left = column <= value
            if events and not (targets[0][left].any() and targets[0][~left].any()):
                continue
            best = max(best, float(np.mean([risk(y) - risk(y[left]) - risk(y[~left]) for y in targets])))
    return best


def table(seed: int) -> tuple[Floats, np.random.Generator]:
    """Few rows, and every other column with equal values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(2, 70)), 4))
    X[:, ::2] = np.round(X[:, ::2] * 4)
    return X, rng


SEEDS = range(60)


@pytest.mark.parametrize("ties", [False, True])
def test_medians_of_both_sides_by_links(ties: bool) -> None:
    for seed in SEEDS:
        X, rng = table(seed)
        y = rng.normal(size=len(X)) + X[:, 1] * (seed % 3 == 0)
        y = np.round(2 * y) if ties else y
        tree = TreeRegressor(recipe={"impurity": "absolute_error"}, max_depth=1).fit(X, y).tree_
        assert tree.gain[0] * len(X) == pytest.approx(best_gain(X, [y], deviations), abs=1e-9), seed


def test_medians_of_two_targets() -> None:
    for seed in SEEDS:
        X, rng = table(seed)
        y = rng.normal(size=(len(X), 2))
        tree = TreeRegressor(recipe={"impurity": "absolute_error"}, max_depth=1).fit(X, y).tree_
        assert tree.gain[0] * len(X) == pytest.approx(best_gain(X, list(y.T), deviations), abs=1e-9), seed


def gains_of_medians(x: Floats, y: Floats) -> Floats:
    """The gain of a cut after each sample but the last, minus infinity between equal values."""
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    gains = [deviations(y) - deviations(y[:cut]) - deviations(y[cut:]) for cut in range(1, len(y))]
    return np.where(np.diff(x) > 0, gains, -np.inf)


@pytest.mark.parametrize("min_samples_leaf", [1, 20])
def test_no_feature_with_the_best_median_is_passed_over(min_samples_leaf: int) -> None:
    """Two features tell the target about equally well, two are noise."""
    for seed in range(24):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(64, 500))
        X = rng.normal(size=(n, 4))
        size = (0.2, 1, 30)[seed % 3]
        y = rng.normal(size=n) + size * (X[:, 1] > rng.normal()) + size * (X[:, 2] > rng.normal()) * (seed % 2)
        X[:, :2] = np.round(X[:, :2], 1)
        if seed % 4 == 0:
            y = np.round(y) + rng.standard_cauchy(n) * (seed % 8 == 0)
        gains = [gains_of_medians(x, y)[min_samples_leaf - 1 : n - min_samples_leaf] for x in X.T]
        tree = (
            TreeRegressor(recipe={"impurity": "absolute_error"}, max_depth=1, min_samples_leaf=min_samples_leaf).fit(X, y).tree_
        )
        best = max(map(np.max, gains))
        assert tree.gain[0] * n == pytest.approx(best, rel=1e-9), seed
        feature = next(f for f in range(4) if gains[f].max() >= best * (1 - 1e-11))
        cut = np.flatnonzero(gains[feature] >= best * (1 - 1e-11))[0] + min_samples_leaf
        assert tree.feature[0] == feature, seed
        assert (X[:, feature] <= tree.threshold[0]).sum() == cut, seed


@pytest.mark.parametrize("n", [1000, 40_000])  # also by lists of 64 bits
@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_feature_whose_gain_is_its_bound_is_searched(n: int, at_end: bool, sign: int) -> None:
    """With bounds 3 % lower, it is not: the first feature has the same bound, and a gain that is 1 to 2 % smaller."""
    for size in range(60, 120, 1 if n == 1000 else 20):
        rng = np.random.default_rng(size)
        best = rng.permutation(n)
        outside = best < size
        other = np.where(outside, best, best + 1)
        other[(best >= size - 3) & outside] += 1  # three of the samples outside are behind one that is inside
        other[best == size] = size - 3
        X = np.column_stack([other, best])
        tree = TreeRegressor(recipe={"impurity": "absolute_error"}, max_depth=1).fit(-X if at_end else X, sign * outside).tree_
        assert tree.feature[0] == 1, size
        assert tree.gain[0] * n == pytest.approx(size)


@pytest.mark.parametrize("size", [0.3, 3.0, 3e6])
def test_no_poisson_gain_is_above_its_bound(size: float) -> None:
    """With bounds 3 % lower, the largest gain of several tables is not found."""
    for seed in range(300):
        X, rng = table(seed)
        y = rng.poisson(size * np.exp(X[:, 1] * (seed % 3 == 0)), len(X)).astype(np.float64)
        y[0] += not y.any()
        tree = TreeRegressor(recipe={"impurity": "poisson"}, max_depth=1).fit(X, y).tree_
        found = tree.gain[0] * len(X)
        assert found == pytest.approx(best_gain(X, [y], deviance, events=True), rel=1e-7, abs=1e-7), seed


def entropies(counts: Floats) -> Floats:
    """Bits x weight of rows of class weights, which rounding may leave below 0."""
    counts = np.maximum(counts, 0)
    return xlogy(counts.sum(axis=1), counts.sum(axis=1)) / np.log(2) - xlogy(counts, counts).sum(axis=1) / np.log(2)


def best_weighted_gain(X: Floats, y: NDArray, weight: Floats) -> float:
    """The largest entropy gain of a threshold."""
    best = 0.0
    of_class = weight[:, None] * (y[:, None] == np.arange(y.max() + 1))
    for column in X.T:
        order = np.argsort(column, kind="stable")
        left = np.cumsum(of_class[order], axis=0)[:-1][np.diff(column[order]) > 0]
        if len(left):
            total = of_class.sum(axis=0)
            best = max(best, float((entropies(total[None]) - entropies(left) - entropies(total - left)).max()))
    return best


@pytest.mark.parametrize("n_classes", [2, 7])
def test_the_best_entropy_gain_of_weights_is_found(n_classes: int) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = 30 if seed % 2 else 1300
        X = rng.normal(size=(n, 6))
        X[:, ::2] = np.round(X[:, ::2] * n / 20)
        y = rng.integers(0, n_classes, n)
        y[X[:, 1] > 0.1 * seed] = 0
        weight = (rng.random(n) + 0.5) * (1e-25 if seed % 3 else 1)
        tree = TreeClassifier(recipe={"impurity": "entropy"}, max_depth=1).fit(X, y, sample_weight=weight).tree_
        assert tree.gain[0] == pytest.approx(best_weighted_gain(X, y, weight / weight.sum()), abs=1e-9), seed


@pytest.mark.parametrize("n_cuts", [300, 200])  # along a list, and by code
@pytest.mark.parametrize("missing", ["error", "fractional"])
def test_the_best_of_cuts_that_gain_nearly_the_same_is_found(missing: str, n_cuts: int) -> None:
    """Weights make all gains equal but for a ten-millionth; with a sixth of the error of chords, a wrong cut is found."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        level = rng.uniform(0.1, 0.3)
        one = np.sort(rng.uniform(0.55, 0.95, n_cuts))

        def above(other: float, first: float, gain: float) -> float:
            sides = (other, first, 1 - other, 1 - first, 2 - other - first, other + first)
            terms = [c * math.log2(c) if c > 0 else 0 for c in sides]
            return 2 - terms[4] - terms[5] + sum(terms[:4]) - gain

        noise = rng.uniform(0, 2e-7, len(one))
        noise[noise.argmax()] += 2e-8  # more than the tolerance of ties
        other = np.array([brentq(above, 0, x, (x, level + e), xtol=1e-15) for x, e in zip(one, noise, strict=True)])
        assert (np.diff(other) > 0).all()
        weight = np.stack([np.diff(other, prepend=0, append=1), np.diff(one, prepend=0, append=1)], axis=1).ravel()
        place = np.repeat(np.arange(n_cuts + 1.0), 2)
        tree = TreeClassifier(recipe={"impurity": "entropy", "missing": missing}, max_depth=1)
        tree.fit(place[:, None], np.tile([0, 1], n_cuts + 1), sample_weight=weight)
        assert tree.tree_.threshold[0] == noise.argmax() + 0.5, seed


def test_classes_of_several_targets() -> None:
    for seed in SEEDS:
        X, rng = table(seed)
        y = rng.integers(0, 2 + seed % 4, (len(X), 3))
        tree = TreeClassifier(max_depth=1).fit(X, y).tree_
        assert tree.gain[0] * len(X) == pytest.approx(best_gain(X, list(y.T), gini), abs=1e-9), seed


@pytest.mark.parametrize("centre", [0.0, 1e6])
def test_numbers_of_several_targets(centre: float) -> None:
    for seed in SEEDS:
        X, rng = table(seed)
        y = rng.normal(size=(len(X), 3)) + centre
        tree = TreeRegressor(max_depth=1).fit(X, y).tree_
        assert tree.gain[0] * len(X) == pytest.approx(best_gain(X, list(y.T), squares), rel=1e-6, abs=1e-6), seed


def best_along(targets: list[NDArray], weight: Floats, kind: str) -> Floats:
    """The gain after each sample but the last, in their order: the mean over the targets, for weights whose sum is 1."""
    gains = []
    for y in targets:
        if kind == "squared_error":
            sums, n = np.cumsum(y - y.mean()), len(y)
            left = np.arange(1.0, n)
            gains.append(sums[:-1] ** 2 / left / (n - left))
            continue
        parts = np.cumsum(weight[:, None] * (y[:, None] == [0, 1]), axis=0)
        total = parts[-1]
        if kind == "entropy":
            gains.append((entropies(total[None]) - entropies(parts) - entropies(total - parts))[:-1])
        else:
            left, right = parts[:-1], total - parts[:-1]
            risks = [of.sum(axis=1) - (of**2).sum(axis=1) / of.sum(axis=1) for of in (left, right, total[None])]
            gains.append(risks[2] - risks[0] - risks[1])
    return np.mean(gains, axis=0)


@pytest.mark.parametrize("n_targets", [1, 2, 3])
@pytest.mark.parametrize(
    ("kind", "weighted"), [("gini", False), ("gini", True), ("entropy", False), ("entropy", True), ("squared_error", False)]
)
def test_no_stretch_with_the_best_cut_is_passed_over(kind: str, n_targets: int, weighted: bool) -> None:
    """The best cut is a corner of its stretch, a little better than its ends: with bounds 3 % lower, it is not found."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2_500, 5_000)) if seed % 4 else 40_000  # also by lists of 64 bits
        x = np.arange(n, dtype=np.float64)
        if seed % 3 == 0:
            x = np.floor(x / 5)  # a cut after every fifth sample
        step = x > rng.integers(n // 3, n // 2) / (5 if seed % 3 == 0 else 1)
        targets = [(step ^ (rng.random(n) < 0.05 * o)).astype(int) for o in range(n_targets)]
        weight = rng.random(n) + 0.5 if weighted else np.ones(n)
        order = rng.permutation(n)
        Y = np.column_stack(targets)[order]
        if kind == "squared_error":
            Y = Y * 3.0 + 1e3 + seed
        kinds = TreeRegressor if kind == "squared_error" else TreeClassifier
        model = kinds(recipe={"impurity": kind}, max_depth=1)
        model.fit(x[order, None], Y if n_targets > 1 else Y[:, 0], sample_weight=weight[order] if weighted else None)
        targets = [3.0 * y for y in targets] if kind == "squared_error" else targets
        gains = np.where(np.diff(x) > 0, best_along(targets, weight / weight.sum(), kind), -1)
        assert model.tree_.gain[0] == pytest.approx(gains.max(), rel=1e-9), seed
        assert model.tree_.threshold[0] == (x[gains.argmax()] + x[gains.argmax() + 1]) / 2, seed


@pytest.mark.parametrize("recipe", ["c45", {"impurity": "entropy"}, {"impurity": "entropy", "rank": "gain_ratio"}])
@pytest.mark.parametrize("weighted", [False, True])
def test_entropy_of_the_best_corner_reaches_its_bound(recipe: str | dict[str, str], weighted: bool) -> None:
    """Six of ten samples are of class 1, further on four; where this changes, a stretch has all of class 1 first.

    That cut gains 2 % more than any end: with bounds 3 % lower, it is not found.
    """
    n, length = 20_440, 40  # the longest list of stretches of 40 samples
    for seed in range(4):
        rng = np.random.default_rng(seed)
        place = np.arange(n)
        few = place * 2 % 5 < 2
        middle = length * int(rng.integers(240, 270))
        y = np.where(place < middle, ~few, few).astype(int)
        y[middle : middle + length] = np.arange(length) < length // 2
        weight = rng.uniform(0.99, 1.01, n) if weighted else np.ones(n)
        order = rng.permutation(n)
        x = place.astype(np.float64)
        model = TreeClassifier(recipe=recipe, max_depth=1)
        tree = model.fit(x[order, None], y[order], sample_weight=weight[order] if weighted else None).tree_
        at = int(best_along([y], weight / weight.sum(), "entropy").argmax())
        assert at == middle + length // 2 - 1
        assert at <= tree.threshold[0] < at + 1, seed


def test_a_target_of_one_class_in_a_node_leaves_the_cut_to_the_other_one() -> None:
    n = 6_000
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, side = rng.permutation(n).astype(np.float64), np.arange(n) % 2
        second = (x > 2_500 + 500 * side) ^ (rng.random(n) < 0.1)
        model = TreeClassifier(recipe={"impurity": "entropy"}, max_depth=2)
        tree = model.fit(np.column_stack([side, x]), np.column_stack([side, second]).astype(int)).tree_
        assert tree.feature[:3].tolist() == [0, 1, 1]
        for node in (1, 2):
            held = np.flatnonzero(side == node - 1)
            held = held[np.argsort(x[held])]
            at = int(best_along([second[held].astype(int)], np.full(n // 2, 2 / n), "entropy").argmax())
            assert x[held[at]] <= tree.threshold[node] < x[held[at + 1]], (seed, node)


@pytest.mark.parametrize("recipe", ["c45", {"missing": "fractional"}, {"missing": "fractional", "impurity": "entropy"}])
def test_stretches_of_divided_samples(recipe: str | dict[str, str]) -> None:
    """A third of the samples has no value of the first feature, which is tested first; below it, they count in part.

    The tree equals that of a table with two copies of each of these samples, weighted by its two parts.
    """
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = 3_000
        side = rng.random(n) < 0.4
        lacks = rng.random(n) < 0.33
        x = rng.permutation(n).astype(np.float64) + 10
        y = np.where(side, x > 1_100, x <= 1_900).astype(int) ^ (rng.random(n) < 0.1)
        first = np.where(lacks, np.nan, side)
        y[:] = np.where(~lacks & (rng.random(n) < 0.9), side, y)
        tree = TreeClassifier(recipe=recipe, max_depth=2).fit(np.column_stack([first, x]), y).tree_
        assert tree.feature[0] == 0
        share = 1 - side[~lacks].mean()
        for node, right in ((1, False), (2, True)):
            if tree.feature[node] < 0:
                continue
            weight = np.where(lacks, share if not right else 1 - share, side == right)
            held = np.flatnonzero(weight)[np.argsort(x[weight > 0])]
            kind = "gini" if isinstance(recipe, dict) and "impurity" not in recipe else "entropy"
            gains = best_along([y[held]], weight[held] / weight.sum(), kind)
            at = int(gains.argmax())
            assert x[held[at]] <= tree.threshold[node] < x[held[at + 1]], (seed, node)


@pytest.mark.parametrize("unit", [1.0, 2.0**-30])
def test_the_best_of_counted_cuts_whose_entropies_differ_by_millionths_is_found(unit: float) -> None:
    """The shares of three classes change slowly along 250 codes, whatever the weights count in."""
    codes = np.arange(250.0)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        slope = 6 * (codes - rng.uniform(80, 170)) / rng.uniform(200, 400)
        first, second = 0.2 + 0.2 / (1 + np.exp(-slope)), 0.3 - 0.1 / (1 + np.exp(-slope))
        weight = np.rint(1000 * np.stack([first, second, 1 - first - second]))
        left = weight.cumsum(axis=1)[:, :-1]
        right = weight.sum(axis=1, keepdims=True) - left
        risk = xlogy(left.sum(axis=0), left.sum(axis=0)) - xlogy(left, left).sum(axis=0)
        risk += xlogy(right.sum(axis=0), right.sum(axis=0)) - xlogy(right, right).sum(axis=0)
        model = TreeClassifier(recipe={"impurity": "entropy"}, max_depth=1, max_bins=255)
        model.fit(np.tile(codes, 3)[:, None], np.repeat([0, 1, 2], 250), sample_weight=weight.ravel() * unit)
        assert model.tree_.threshold[0] == risk.argmin() + 0.5, seed
