"""The bounded search finds what a search of all cuts finds: no tree depends on bins, on blocks or on what was left out."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from strategies import CONTINUOUS, NOMINAL, ORDINAL, SmallTable
from test_engine_twin import EncodedTable

from fasttree._data.learn import learn_table
from fasttree._data.table import Table
from fasttree._learn.grow import growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe
from fasttree._model import walks
from fasttree._model.tree import Tree

Floats = NDArray[np.float64]
CLASS_IMPURITIES = ("gini", "entropy", "misclassification")
IMPURITIES = (*CLASS_IMPURITIES, "squared_error")
LISTS = {"most_codes": 0}
# From private blocks of a few samples, so that the wide block is searched by bounds down to small nodes, to those in which the
# bounded search goes on; bins from very wide to narrow.
PATHS = tuple(
    {"block_rows": rows, "most_codes": codes, "bounded_from": least}
    for rows, codes, least in ((2, 2, 2), (7, 3, 3), (40, 8, 10), (100, 5, 30), (150, 20, 3), (2, 255, 2))
)


def grown(table: Any, y: NDArray[Any], recipe: Recipe, limits: Limits | None = None, **choices: Any) -> Tree:
    """A tree of `y`: classes 0, ..., K - 1 unless the recipe is of numbers."""
    n_classes = 0 if recipe.impurity == "squared_error" else max(int(y.max()) + 1, 2)
    weight = choices.pop("sample_weight", None)
    tree = growth.grow(cast(Table, table), y, weight, recipe, limits or Limits(), n_classes=n_classes, **choices)
    tree.check()
    return tree


# --- every way to search grows the same tree

Maker = Callable[[np.random.Generator, int], NDArray[Any]]
COLUMNS: dict[str, tuple[int, Maker]] = {
    "all different": (CONTINUOUS, lambda rng, n: rng.normal(size=n)),
    "single precision": (CONTINUOUS, lambda rng, n: rng.normal(size=n).astype(np.float32)),
    "ties": (CONTINUOUS, lambda rng, n: np.round(rng.normal(size=n) * 20) / 7),
    "few values": (CONTINUOUS, lambda rng, n: np.round(rng.normal(size=n))),
    "one value that is most": (CONTINUOUS, lambda rng, n: np.where(rng.random(n) < 0.8, 2.0, rng.normal(size=n))),
    "constant": (CONTINUOUS, lambda rng, n: np.full(n, 1.5)),
    "constant or missing": (CONTINUOUS, lambda rng, n: np.where(rng.random(n) < 0.5, 1.5, np.nan)),
    "closer than single precision": (CONTINUOUS, lambda rng, n: 1 + rng.integers(0, n, n) * 2.0**-45),
    "clusters": (CONTINUOUS, lambda rng, n: rng.choice([-1e308, 0.1, 7.0], n) * (1 + rng.integers(0, 9, n) * 2.0**-52)),
    "zeros of two signs": (CONTINUOUS, lambda rng, n: rng.choice([-0.0, 0.0, 1.0, -1.0], n)),
    "denormal": (CONTINUOUS, lambda rng, n: rng.integers(-n, n, n) * 5e-324),
    "huge": (CONTINUOUS, lambda rng, n: rng.uniform(-1, 1, n) * 1.79e308),
    "of all sizes": (CONTINUOUS, lambda rng, n: np.exp(rng.uniform(-740, 700, n)) * rng.choice([-1, 1], n)),
    "ordinal": (ORDINAL, lambda rng, n: rng.integers(1, 8, n).astype(np.uint8)),
    "nominal": (NOMINAL, lambda rng, n: rng.integers(1, 9, n).astype(np.uint8)),
}
N_CATEGORIES = 8


def with_gaps(column: NDArray[Any], kind: int, rng: np.random.Generator) -> NDArray[Any]:
    """Some of the values are missing."""
    column = column.copy()
    column[rng.random(len(column)) < rng.choice([0.05, 0.4])] = np.nan if kind == CONTINUOUS else 0
    return column


def some_weights(kind: str, n: int, rng: np.random.Generator) -> Floats | None:
    if kind == "whole":
        return rng.integers(1, 4, n).astype(float)
    return rng.random(n) + 0.1 if kind == "fractional" else None


@st.composite
def medium_tables(draw: st.DrawFn, impurity: str) -> SmallTable:
    """Up to 300 samples, whose cells follow from a seed: as many as bins need to hold several values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    n = draw(st.integers(2, 300), label="samples")
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=10), label="columns")
    gaps = draw(st.booleans(), label="missing values")
    columns, kinds = [], tuple(COLUMNS[name][0] for name in names)
    for name, kind in zip(names, kinds, strict=True):
        column = COLUMNS[name][1](rng, n)
        columns.append(with_gaps(column, kind, rng) if gaps and rng.random() < 0.6 else column)
    told = np.argsort(np.argsort(np.nan_to_num(columns[0].astype(float)))) / n
    signal = told + rng.normal(size=n) * draw(st.sampled_from([0.01, 0.3, 3.0]), label="noise")
    n_categories = tuple(0 if kind == CONTINUOUS else N_CATEGORIES for kind in kinds)
    if impurity == "squared_error":
        target = draw(st.sampled_from(["smooth", "whole", "off zero", "outlier"]), label="target")
        y = {
            "smooth": signal,
            "whole": np.round(signal * 3),
            "off zero": 1e9 + signal,
            "outlier": np.where(np.arange(n) == n // 2, 1e12, signal),
        }[target]
        return SmallTable(tuple(columns), kinds, n_categories, y, 0)
    n_classes = draw(st.integers(2, 9), label="classes")
    y = (np.argsort(np.argsort(signal)) * n_classes // n).astype(np.intp)
    kind = draw(st.sampled_from(["none", "none", "whole", "fractional"]), label="weights")
    return SmallTable(tuple(columns), kinds, n_categories, y, n_classes, some_weights(kind, n, rng))


@pytest.mark.parametrize("impurity", IMPURITIES)
@given(data=st.data())
def test_tree_does_not_depend_on_how_it_is_searched(impurity, data):
    small = data.draw(medium_tables(impurity))
    limits = data.draw(
        st.builds(
            lambda **given: Limits(**given),  # of a named tuple, hypothesis would choose all fields
            max_depth=st.sampled_from([None, None, 1, 3, 6]),
            min_samples_split=st.sampled_from([2, 2, 9]),
            min_samples_leaf=st.sampled_from([1, 1, 2, 5, 20]),
            min_weight_leaf=st.sampled_from([0.0, 0.0, 2.5]),
            min_impurity_decrease=st.sampled_from([0.0, 0.0, 0.01]),
            max_leaf_nodes=st.sampled_from([None, None, 5]),
        )
    )
    recipe = Recipe(impurity=impurity, nominal=data.draw(st.sampled_from(["subset", "one_vs_rest"]), label="nominal"))
    table = EncodedTable(small)
    expected = grown(table, small.y, recipe, limits, sample_weight=small.sample_weight, **LISTS)
    for path in PATHS:
        assert grown(table, small.y, recipe, limits, sample_weight=small.sample_weight, **path) == expected, path


@pytest.mark.parametrize("impurity", ["gini", "squared_error"])
@pytest.mark.parametrize("n_features", [1, 16, 17, 40])
def test_values_that_lie_side_by_side_grow_the_same_tree(n_features, impurity):
    """Those of up to 16 features in a row are read at once, whether all of them are searched or not."""
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(400, n_features)).astype(np.float32)
    X[:, 3::7] = np.round(X[:, 3::7])
    X[:, 5::11] = 1.5
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X).sum(axis=1) + rng.normal(size=400) > 0).astype(np.intp if impurity == "gini" else float)
    recipe = Recipe("", impurity=impurity)
    expected = grown(learn_table(X.astype(np.float64)), y, recipe, **LISTS)
    wider = np.repeat(X, 2, axis=1)
    for layout in (X, np.asfortranarray(X), wider[:, ::2], np.repeat(X, 2, axis=0)[::2], X[:, ::-1].copy()[:, ::-1]):
        for path in PATHS:
            assert grown(learn_table(layout), y, recipe, **path) == expected


@pytest.mark.parametrize("seed", range(8))
def test_features_that_are_constant_in_a_node_do_not_show_in_counts_of_those_beside_them(seed):
    """They have few bins: codes that other features had at their place in a larger block would count as bins of the next one."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(500, 800))
    X = rng.normal(size=(n, 16))
    high = X[:, 0] > np.quantile(X[:, 0], 0.7)
    X[:, 1:8] = np.where(high[:, None], np.arange(n)[:, None] % rng.integers(5, 40, 7), 0.0)
    y = (high ^ (X[:, 9] + X[:, 10] / 2 + rng.normal(size=n) / 2 > 0)).astype(np.intp)
    table = learn_table(X)
    expected = grown(table, y, Recipe(), **LISTS)
    for codes in (4, 10, 30):
        assert grown(table, y, Recipe(), block_rows=n - 5, most_codes=codes, bounded_from=10) == expected


def test_bins_of_the_search_are_not_those_of_max_bins():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 3))
    y = (X[:, 0] + rng.normal(size=2000) > 0).astype(np.intp)
    table, limits = learn_table(X), Limits(max_bins=400)
    expected = grown(table, y, Recipe(), limits, **LISTS)
    for path in PATHS:
        assert grown(table, y, Recipe(), limits, **path) == expected, path


# --- the mathematics of the bounds, and its obvious twin: all divisions of a bin


def risk(weights: Floats, impurity: str) -> float:
    """Weight times impurity of a node with these class weights."""
    total, present = weights.sum(), weights[weights > 0]
    if impurity == "gini":
        return float(total - (present**2).sum() / total) if total else 0.0
    if impurity == "entropy":
        return float(total * np.log2(total) - (present * np.log2(present)).sum()) if total else 0.0
    return float(total - weights.max())


def gain(left: Floats, total: Floats, impurity: str) -> float:
    return risk(total, impurity) - risk(left, impurity) - risk(total - left, impurity)


def corner_bound(before: Floats, held: Floats, total: Floats, impurity: str) -> tuple[float, float]:
    """The largest gain over the corners of a bin's box: at its two ends, and at the others (-inf if there are none).

    Each class puts either none or all of its weight on the left.
    """
    corners = set(itertools.product(*({0.0, float(b)} for b in held)))
    ends = [gain(before + end, total, impurity) for end in (np.zeros(len(held)), held)]
    others = corners - {tuple(np.zeros(len(held))), tuple(held)}
    return max(ends), max((gain(before + corner, total, impurity) for corner in others), default=-np.inf)


def cheap_bound(before: Floats, held: Floats, total: Floats, impurity: str) -> float:
    """A bound that costs a multiple of K, not of 2^K.

    Entropy: no side has less risk than without the bin.  Gini: minus the risk of a side is a convex function of each class
    weight, so it lies below its chord: one that takes a part of weight t out of a bin on top of class weights c has at most
    (S + a t) / (W + t) - (W + t), where S and W are sums over c^2 and c, and a is the steepest chord.
    """
    if impurity == "entropy":
        return risk(total, impurity) - risk(before, impurity) - risk(total - before - held, impurity)

    def of_side(side: Floats) -> float:
        taken = np.linspace(0, held.sum(), 2001)[1:]
        chord = max(2 * c + b for c, b in zip(side, held, strict=True) if b)
        return float((((side**2).sum() + chord * taken) / (side.sum() + taken)).max())

    return of_side(before) + of_side(total - before - held) + risk(total, impurity) - float(total.sum())


@st.composite
def class_bins(draw: st.DrawFn) -> tuple[Floats, Floats, Floats]:
    """Class weights before a bin, in it (at least two samples) and of the whole node."""
    k = draw(st.integers(2, 4))
    counts = st.lists(st.integers(0, 5), min_size=k, max_size=k)
    before, held, after = (np.array(draw(counts), dtype=float) for _ in range(3))
    held[0] += max(0, 2 - held.sum())
    return before, held, before + held + after


@pytest.mark.parametrize("impurity", CLASS_IMPURITIES)
@given(bin_=class_bins())
def test_no_division_of_a_bin_gains_more_than_the_corners_of_its_box(impurity, bin_):
    before, held, total = bin_
    at_ends, elsewhere = corner_bound(before, held, total, impurity)
    size, slack = held.sum(), 1e-9 * total.sum()
    for division in itertools.product(*(range(int(b) + 1) for b in held)):
        if 0 < sum(division) < size:
            found = gain(before + np.array(division), total, impurity)
            assert found <= max(at_ends, elsewhere) + slack
            # a bin that is left out because its other corners fall short holds no tie with its ends either
            if at_ends > elsewhere > -np.inf:
                assert found <= at_ends - (at_ends - elsewhere) / size + slack


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
@given(bin_=class_bins())
def test_no_division_of_a_bin_gains_more_than_its_cheap_bound(impurity, bin_):
    before, held, total = bin_
    most = max(
        gain(before + np.array(division), total, impurity) for division in itertools.product(*(range(int(b) + 1) for b in held))
    )
    # chords are tried at 2001 parts of the bin, the engine takes the best of all
    assert most <= cheap_bound(before, held, total, impurity) + 1e-3


def moment_bound(before: Floats, held: Floats, after: Floats) -> float:
    """Squared error: (sqrt(the larger gain of the bin's two ends) + what targets may stray from the line between them)^2."""
    n_before, n, b = len(before), len(before) + len(held) + len(after), len(held)
    last = n_before + b
    ends = max(variance_gain(before, np.r_[held, after]), variance_gain(np.r_[before, held], after))
    spread = float(((held - held.mean()) ** 2).sum())
    room = b * b / (last * (n - n_before))
    narrow = min(n_before * (n - n_before), last * (n - last))
    if narrow > 0:
        room = min(room, b * b / 4 / narrow)
    return float((np.sqrt(ends) + np.sqrt(spread / b * n * room)) ** 2)


def variance_gain(left: Floats, right: Floats) -> float:
    """Reduction of the sum of squares around the mean."""
    if not len(left) or not len(right):
        return 0.0
    return float((left.mean() - right.mean()) ** 2 * len(left) * len(right) / (len(left) + len(right)))


TARGETS = st.integers(-6, 6).map(float)


@given(before=st.lists(TARGETS, max_size=6), held=st.lists(TARGETS, min_size=2, max_size=7), after=st.lists(TARGETS, max_size=6))
def test_no_part_of_a_bin_gains_more_than_its_moments_allow(before, held, after):
    known = np.array(before), np.array(held), np.array(after)
    bound = moment_bound(*known)
    for part in itertools.product([False, True], repeat=len(held)):
        mask = np.array(part)
        found = variance_gain(np.r_[known[0], known[1][mask]], np.r_[known[1][~mask], known[2]])
        assert found <= bound * (1 + 1e-12) + 1e-9


# --- cuts that lie deep inside a bin of the engine

N_PLANTED = 3000
FEW_BINS = {"block_rows": 64, "most_codes": 3, "bounded_from": 16}


def best_threshold(x: Floats, y: NDArray[Any], impurity: str) -> float:
    """By the gains of all cuts of a column without ties."""
    order = np.argsort(x)
    x, y = x[order], y[order]
    n_left = np.arange(1, len(x))
    if impurity == "squared_error":
        deviation = np.cumsum(y - y.mean())[:-1]
        gains = deviation**2 / (n_left * (len(x) - n_left))
    else:
        below = np.cumsum(np.eye(int(y.max()) + 1)[y], axis=0)
        gains = np.array([gain(left, below[-1], impurity) for left in below[:-1]])
    best = int(np.argmax(gains))
    return float((x[best] + x[best + 1]) / 2)


@pytest.mark.parametrize("impurity", IMPURITIES)
@pytest.mark.parametrize("share", [0.02, 0.15, 0.3, 0.34, 0.5, 0.6, 0.7, 0.9, 0.99])
def test_a_cut_is_found_wherever_it_lies_in_a_bin(impurity, share):
    rng = np.random.default_rng(int(100 * share))
    x = rng.permutation(N_PLANTED).astype(float)
    y = (x > share * N_PLANTED) ^ (rng.random(N_PLANTED) < 0.05)
    target = y * 1.7 if impurity == "squared_error" else y.astype(np.intp)
    tree = grown(learn_table(x[:, None]), target, Recipe(impurity=impurity), Limits(max_depth=1), **FEW_BINS)
    assert tree.threshold[0] == best_threshold(x, target, impurity)


@pytest.mark.parametrize("impurity", IMPURITIES)
@pytest.mark.parametrize("n_classes", [2, 5, 9])
def test_a_cut_is_found_in_a_bin_whose_ends_gain_nothing(impurity, n_classes):
    # outside the middle bin the classes alternate; in it the upper ones follow the lower ones, so that at its ends all is even
    rng = np.random.default_rng(n_classes)
    order = np.arange(N_PLANTED)
    y = order % n_classes
    y[1050:1950] = np.sort(y[1050:1950])
    shuffled = rng.permutation(N_PLANTED)
    x, y = order[shuffled].astype(float), y[shuffled]
    decoy = np.where(rng.random(N_PLANTED) < 0.05, y, rng.integers(0, n_classes, N_PLANTED)).astype(float)
    decoy += rng.random(N_PLANTED) / 2
    target = y.astype(float) if impurity == "squared_error" else y
    table = learn_table(np.column_stack([decoy, x]))
    tree = grown(table, target, Recipe(impurity=impurity), Limits(max_depth=1), **FEW_BINS)
    assert tree == grown(table, target, Recipe(impurity=impurity), Limits(max_depth=1), **LISTS)
    alone = grown(learn_table(x[:, None]), target, Recipe(impurity=impurity), Limits(max_depth=1), **FEW_BINS)
    assert alone.threshold[0] == pytest.approx(best_threshold(x, target, impurity), abs=0)
    assert 1000 < alone.threshold[0] < 2000


def test_of_equal_cuts_in_different_bins_the_first_is_taken():
    # the target is its own mirror image, so a cut and its mirror image gain the same
    half = np.random.default_rng(0).normal(size=N_PLANTED // 2)
    half[400:] += 3
    target = np.concatenate([half, half[::-1]])
    x = np.arange(N_PLANTED, dtype=float)
    backwards = learn_table(np.column_stack([x[::-1], x]))
    for path in (LISTS, FEW_BINS):
        tree = grown(backwards, target, Recipe(impurity="squared_error"), Limits(max_depth=1), **path)
        assert (tree.feature[0], tree.threshold[0]) == (0, 399.5)


@pytest.mark.parametrize("impurity", CLASS_IMPURITIES)
@pytest.mark.parametrize("least", [1e-12, 1.0])
def test_the_first_of_equal_cuts_is_taken_though_a_light_sample_lies_between(impurity, least):
    # without the sample of little weight on its left the cut gains as good as nothing less: they are equal within the tolerance
    x = np.arange(40.0)
    y = (x >= 20).astype(np.intp)
    weight = np.full(40, 1e12 * least)
    weight[19] = least
    for path in (LISTS, *PATHS):
        tree = grown(learn_table(x[:, None]), y, Recipe(impurity=impurity), Limits(max_depth=1), sample_weight=weight, **path)
        assert tree.threshold[0] == 18.5, path


# --- tables that are searched by bounds without being told to


def stratified_nodes(tree: Tree, n_nodes: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Inner nodes of all sizes: as many from each power of two as there are, up to a share of `n_nodes`."""
    inner = np.flatnonzero(tree.n_branches)
    size = np.log2(tree.n_samples[inner]).astype(int)
    share = n_nodes // len(np.unique(size))
    return np.concatenate([rng.permutation(inner[size == s])[:share] for s in np.unique(size)])


@pytest.mark.parametrize(("impurity", "n_classes"), [("gini", 2), ("gini", 7), ("entropy", 3), ("squared_error", 0)])
def test_nodes_of_a_large_tree_are_split_as_well_as_scikit_learn_splits_them(impurity, n_classes):
    rng = np.random.default_rng(8)
    n = 60_000
    # far enough apart that scikit-learn separates them, which takes values for equal that are at most 1e-7 apart
    X = (np.round(rng.normal(size=(n, 5)) * 2**12) / 2**12).astype(np.float32)
    signal = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + rng.normal(size=n)
    y = np.argsort(np.argsort(signal)) * n_classes // n if n_classes else signal.astype(float)
    table = learn_table(X)
    tree = grown(table, y, Recipe(impurity=impurity))
    samples_of = walks.decision_path(tree, table).tocsc()
    chosen = stratified_nodes(tree, 320, rng)
    assert len(chosen) > 200
    for node in chosen:
        rows = samples_of.indices[samples_of.indptr[node] : samples_of.indptr[node + 1]]
        stump = DecisionTreeClassifier(criterion=impurity, max_depth=1) if n_classes else DecisionTreeRegressor(max_depth=1)
        theirs = stump.fit(X[rows], y[rows]).tree_
        children = tree.first_child[node] + np.arange(2)
        ours = tree.weight[children] @ tree.impurity[children] / len(rows)
        expected = theirs.weighted_n_node_samples[1:] @ theirs.impurity[1:] / len(rows)
        assert ours == pytest.approx(expected, rel=1e-7, abs=1e-9), f"node {node} of {len(rows)} samples"


def test_values_that_differ_beyond_single_precision_are_separated_in_a_large_table():
    rng = np.random.default_rng(1)
    n = 40_000
    place = rng.permutation(n)
    X = np.column_stack([rng.normal(size=n), 1 + place * 2.0**-45])
    assert len(np.unique(X[:, 1].astype(np.float32))) == 1
    y = (place >= 23_457).astype(np.intp)
    tree = grown(learn_table(X), y, Recipe())
    assert tree.node_count == 3
    assert tree.feature[0] == 1
    assert 1 + 23_456 * 2.0**-45 <= tree.threshold[0] < 1 + 23_457 * 2.0**-45


@pytest.mark.parametrize("impurity", ["gini", "entropy", "squared_error"])
def test_noise_grows_the_same_tree_with_and_without_bounds(impurity):
    rng = np.random.default_rng(3)
    n = 40_000
    X = rng.normal(size=(n, 4))
    X[:, 1] = np.round(X[:, 1], 2)
    y = rng.normal(size=n) if impurity == "squared_error" else rng.integers(0, 2 if impurity == "gini" else 4, n)
    table, recipe = learn_table(X), replace(Recipe(), impurity=impurity)
    assert grown(table, y, recipe) == grown(table, y, recipe, **LISTS)


@pytest.mark.parametrize("limits", [Limits(max_depth=4), Limits(max_leaf_nodes=12)], ids=["depth", "leaves"])
@pytest.mark.parametrize("impurity", ["gini", "entropy", "squared_error"])
def test_nodes_that_stay_in_the_wide_block_are_split_the_same(impurity, limits):
    rng = np.random.default_rng(4)
    n = 50_000
    X = rng.normal(size=(n, 4))
    X[rng.random(n) < 0.1, 2] = np.nan
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * np.isnan(X[:, 2]) + rng.normal(size=n) * 0.3
    y = signal if impurity == "squared_error" else np.digitize(signal, [-0.5, 0.5] if impurity == "gini" else [0.2])
    table, recipe = learn_table(X), Recipe(impurity=impurity)
    assert grown(table, y, recipe, limits) == grown(table, y, recipe, limits, **LISTS)


# --- chains, where bounds leave nothing out


def chain(n: int, n_features: int = 1) -> tuple[Table, NDArray[np.intp]]:
    """Labels alternate along every feature: each split takes one sample off."""
    return learn_table(np.column_stack([np.arange(n) * sign for sign in (1.0, -1.0, 0.5)][:n_features])), np.arange(n) % 2


@pytest.mark.parametrize("impurity", IMPURITIES)
@pytest.mark.parametrize("n_features", [1, 3])
def test_chains_are_the_same_by_bounds_and_by_lists(impurity, n_features):
    table, y = chain(600, n_features)
    recipe, target = Recipe("", impurity=impurity), y if impurity in CLASS_IMPURITIES else y.astype(float)
    whole = grown(table, target, recipe, **LISTS)
    assert whole.max_depth > 100 or impurity == "misclassification"
    for path in ({"block_rows": 50, "bounded_from": 10}, {"block_rows": 500, "bounded_from": 20}):
        assert grown(table, target, recipe, **path) == whole
        assert grown(table, target, recipe, **path, n_jobs=2) == whole
        weight = np.full(len(y), 0.1) if impurity in CLASS_IMPURITIES else None
        assert grown(table, target, recipe, **path, sample_weight=weight) == grown(
            table, target, recipe, **LISTS, sample_weight=weight
        )


@pytest.mark.parametrize("impurity", ["gini", "entropy", "squared_error"])
def test_chains_beside_features_of_few_values_are_the_same(impurity):
    """Where a chain goes on by lists, such features are counted in a block of its own."""
    place = np.arange(600)
    table = learn_table(np.column_stack([place // 100, place // 40 % 3, place]).astype(float))
    recipe, target = Recipe("", impurity=impurity), place % 2 if impurity in CLASS_IMPURITIES else place % 2.0
    assert grown(table, target, recipe, block_rows=50, bounded_from=10) == grown(table, target, recipe, **LISTS)


@pytest.mark.parametrize("n", [32_769, 40_000])
@pytest.mark.parametrize("impurity", ["gini", "squared_error"])
def test_a_level_of_a_chain_costs_the_same_above_the_size_of_private_blocks(n, impurity):
    table, y = chain(n)
    recipe, target = Recipe("", impurity=impurity), y if impurity in CLASS_IMPURITIES else y.astype(float)
    limits = Limits(max_depth=1000)

    def seconds(**choices: Any) -> float:
        taken = []
        for _ in range(2):
            start = time.process_time()
            grown(table, target, recipe, limits, **choices)
            taken.append(time.process_time() - start)
        return min(taken)

    assert seconds() < 2 * seconds(**LISTS)  # each node that sorted its bins: 3 to 5 times
