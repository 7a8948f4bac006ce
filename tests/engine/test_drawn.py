"""Growth of a forest's trees against every cut in exact fractions, with the same draws."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from test_near_ties import STEP, targets_of_gains

from fasttree import RandomForestClassifier, TreeClassifier
from fasttree._engine.encoding import code_values
from fasttree._engine.forest import DrawnColumns, DrawnGrower, DrawnRoom, grow_packed
from fasttree._learn.grow import drawn_parts
from tests.twins.drawn import RandomTwin, Twin


class Limits(NamedTuple):
    max_features: int
    random: bool = False
    max_depth: int = 2**31
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 1.0
    min_gain: float = -1.0
    most_ranked: int = 32
    most_cells: int = 1024
    block_rows: int | None = None


def columns_of(X, nominal=(), most_narrow=65_536, random=False):
    columns = DrawnColumns(*X.shape, most_narrow, random)
    for j in range(X.shape[1]):
        if j in nominal:
            codes = np.nan_to_num(X[:, j]).astype(np.uint8)
            columns.add_codes(j, codes, int(codes.max()), False)
        elif columns.add_continuous(j, X[:, j], code_values(X[:, j])):
            columns.keep_values(j, X[:, j])
    columns.finish()
    return columns


def grower_of(X, y, n_classes, limits, nominal=(), most_narrow=65_536):
    columns = columns_of(X, nominal, most_narrow, limits.random)
    if n_classes:
        return DrawnGrower(columns, limits, labels=y.astype(np.uint16), n_classes=n_classes)
    return DrawnGrower(columns, limits, target=y.astype(float), y=y.astype(float))


def check(node, at, nodes, bits, nominal, path="root"):
    """Compare a twin's node with node `at`, and those below it."""
    packed = nodes[at]
    if "children" not in node:
        assert packed["kind"] == 0, path
        assert packed["child"] == at
        assert packed["operand"].view(np.uint32)[1] == node["weight"] if packed["operand"].shape else True
        assert int(np.frombuffer(packed["operand"].tobytes(), np.uint32)[1]) == node["weight"]
        return
    what, with_missing, has_missing = node["cut"]
    assert packed["feature"] == node["feature"], path
    if what == "known":
        assert packed["kind"] == 3
    elif isinstance(what, frozenset):
        place, words = np.frombuffer(packed["operand"].tobytes(), np.uint32)
        assert packed["kind"] == 2
        left = {32 * w + b for w in range(words) for b in range(32) if bits[place + words + w] >> b & 1}
        assert left == {int(code) for code in what}, path
    else:
        assert packed["kind"] == 1
        assert packed["operand"] == pytest.approx((what[0] + what[1]) / 2), path
    if has_missing:
        assert packed["missing"] == (0 if with_missing else 1), path
    for b, child in enumerate(node["children"]):
        check(child, int(packed["child"]) + b, nodes, bits, nominal, f"{path}{b}")


def compare(X, y, n_classes, counts, seed, nominal=(), **limits):
    max_features, most_narrow = limits.pop("max_features"), limits.pop("most_narrow", 65_536)
    blocks = limits.pop("block_rows", 40)
    chance = limits.get("random", False)
    knobs = {name: limits.pop(name) for name in ("most_ranked", "most_cells") if name in limits}
    twin = (RandomTwin if limits.pop("random", False) else Twin)(
        X, y, n_classes, counts, seed, max_features=max_features, nominal=nominal, **limits
    )
    found = []
    for block_rows in (None, blocks):
        chosen = Limits(max_features, chance, block_rows=block_rows, **limits, **knobs)
        grower = grower_of(X, y, n_classes, chosen, nominal, most_narrow)
        found.append(grow_packed(grower, counts, seed))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(drawn_parts, "LEAST_SHARED", 0)
            found.append(drawn_parts.grow_in_parts(grower, counts, seed, n_classes, 3))
    check(twin.root, 0, found[0][0], found[0][2], nominal)
    for whole, *others in zip(*found, strict=True):
        for other in others:
            np.testing.assert_array_equal(other, whole)


@pytest.mark.parametrize(("most_ranked", "most_cells"), [(32, 1024), (1, 4), (1, 32), (6, 2)])
@pytest.mark.parametrize("n_classes", [0, 2, 3, 5])
@pytest.mark.parametrize("turn", range(6))
def test_every_node_has_the_best_cut_of_its_draws(n_classes, most_ranked, most_cells, turn):
    rng = np.random.default_rng(turn)
    n, d = int(rng.integers(8, 90)), int(rng.integers(1, 7))
    X = rng.integers(0, [3, 10, 1000][turn % 3], (n, d)).astype(float)
    y = rng.integers(0, n_classes or 9, n)
    if turn >= 3:
        X[rng.random(X.shape) < 0.1] = np.nan
    counts = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.uint16)
    for seed in range(3):
        compare(
            X, y, n_classes, counts, seed, max_features=max(1, d // 2), most_ranked=most_ranked, most_cells=most_cells,
            min_samples_leaf=1 + 2 * (seed == 2), most_narrow=[65_536, 8, 300][seed],
        )  # fmt: skip


@pytest.mark.parametrize("n_classes", [0, 2])
@pytest.mark.parametrize("turn", range(6))
def test_categories_fall_into_the_two_best_groups(n_classes, turn):
    rng = np.random.default_rng(turn)
    n, d = 60, 4
    X = rng.integers(1, 12, (n, d)).astype(float)
    y = rng.integers(0, n_classes or 9, n)
    if turn >= 3:
        X[rng.random(X.shape) < 0.15] = np.nan
    counts = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.uint16)
    for seed in range(3):
        compare(X, y, n_classes, counts, seed, nominal=(0, 2), max_features=2, min_samples_leaf=1 + (seed == 2))


@pytest.mark.parametrize("n", [300, 12_000])
def test_a_room_serves_one_tree_after_the_other(n):
    """The trees of many samples lie behind one another in larger pieces of memory."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 5)), rng.integers(0, 3, n)
    grower, room = grower_of(X, y, 3, Limits(2)), DrawnRoom()
    for seed in range(5):
        counts = np.bincount(rng.integers(0, n, n - n // 6 * seed), minlength=n).astype(np.uint16)
        for own, shared in zip(grow_packed(grower, counts, seed), grow_packed(grower, counts, seed, room), strict=True):
            np.testing.assert_array_equal(own, shared)


@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize("turn", range(6))
def test_random_cuts_are_those_of_the_draws(n_classes, turn):
    rng = np.random.default_rng(turn)
    n, d = int(rng.integers(10, 120)), 4
    X = rng.integers(1, [4, 12, 1000][turn % 3], (n, d)).astype(float)
    y = rng.integers(0, n_classes or 9, n)
    if turn >= 3:
        X[rng.random(X.shape) < 0.15] = np.nan
    counts = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.uint16)
    nominal = (0, 2) if turn % 3 < 2 else ()
    for seed in range(4):
        compare(
            X, y, n_classes, counts, seed, nominal, max_features=2, random=True, min_samples_leaf=1 + (seed == 2),
            most_narrow=[65_536, 8][seed == 1],
        )  # fmt: skip


def indicators(rng, n):
    """Columns of two values that exclude each other, one of them with its rare value below, between two other columns."""
    level = rng.integers(0, 6, n)
    X = (level[:, None] == np.arange(1, 6)).astype(float)
    X[:, 2] = 7 - 3 * X[:, 2]
    return np.column_stack([rng.integers(0, 50, n), X, rng.normal(size=n)])


@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_members_of_a_bundle_are_searched_as_columns(n_classes, random):
    rng = np.random.default_rng(n_classes)
    X = indicators(rng, 150)
    assert columns_of(X).n_bundles == 1
    y = rng.integers(0, n_classes or 9, 150) if n_classes else rng.integers(0, 9, 150) + 5 * X[:, 1]
    counts = np.bincount(rng.integers(0, 150, 150), minlength=150).astype(np.uint16)
    for seed in range(3):
        compare(X, y, n_classes, counts, seed, max_features=3, random=random, min_samples_leaf=1 + 2 * (seed == 2))


@pytest.mark.parametrize("n_classes", [0, 2])
def test_a_node_of_the_most_bins_has_the_best_cut_inside_any_of_them(n_classes):
    """1,024 bins of two values each; with larger leaves, rows are counted, too."""
    x = (np.arange(16_384) % 2048).astype(float)  # 8 rows of each value
    for n_left in (1, 2, 3, 2045, 2046, 2047):
        for min_samples_leaf in (1, 8, 16):
            limits = Limits(1, max_depth=1, min_samples_leaf=min_samples_leaf)
            root = grow_packed(grower_of(x[:, None], x < n_left, n_classes, limits), np.ones(len(x), np.uint16), 0)[0][0]
            assert root["operand"] == np.clip(n_left, min_samples_leaf / 8, 2048 - min_samples_leaf / 8) - 0.5


@pytest.mark.parametrize("seed", [0, 1])
def test_rows_of_a_large_node_go_to_the_sides_of_its_random_cut(seed):
    """The codes of so many rows are not kept until the best feature is known."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 1000, (131_100, 4)).astype(float)
    y = (X[:, 1] > 300).astype(int) + (X[:, 2] > 900)
    limits = Limits(4, random=True, max_depth=1)
    root, left, _ = grow_packed(grower_of(X, y, 3, limits), np.ones(len(X), np.uint16), seed)[0]
    n_left = int(np.frombuffer(left["operand"].tobytes(), np.uint32)[1])
    assert n_left == np.count_nonzero(X[:, root["feature"]] <= root["operand"])


def first_gain_and_tie(y):
    """Return the gain of the cut after the first row, and the smallest gain that is equal to the largest one, in doubles."""
    n, mean = len(y), sum(y) // len(y)
    total, left, gains = sum(y) - mean * n, 0.0, []
    for n_left in range(1, n):
        left += y[n_left - 1] - mean
        gains.append((n * left - total * n_left) ** 2 / (n_left * (n - n_left)))
    risk = sum((value - mean) ** 2 for value in y) - total * total / n
    return gains[0] * (1 / n), max(gains) * (1 / n) - (1e-10 * max(gains) * (1 / n) + 1e-13 * risk)


def test_the_first_cut_wins_if_it_gains_less_by_the_tolerance_and_no_more():
    largest, middle = 2.0**48 + 4, 150_841_985_385_301.0
    for step, threshold in [(-1, 1.5), (0, 0.5), (1, 0.5)]:
        y = [0.0, middle + step, largest, largest]
        gain, least = first_gain_and_tie(y)
        assert np.sign(gain - least) == step
        limits = Limits(1, max_depth=1, most_ranked=1)
        grower = grower_of(np.arange(4.0)[:, None], np.array(y), 0, limits)
        assert grow_packed(grower, np.ones(4, np.uint16), 0)[0][0]["operand"] == threshold


def test_the_first_cut_near_the_best_wins_also_if_a_cut_before_it_is_near_it():
    """The first of three cuts is near the second one, and not near the third, which is the best and near the second."""
    y = targets_of_gains({16: 1.0, 32: 1.0 + STEP, 48: 1.0 + 2 * STEP})
    grower = grower_of(np.arange(64.0)[:, None], y, 0, Limits(1, max_depth=1))
    assert grow_packed(grower, np.ones(64, np.uint16), 0)[0][0]["operand"] == 31.5


def test_what_lay_in_memory_makes_no_column_constant_in_a_node():
    """Nodes that wait have a bit for each column, of a hundred columns in two words; memory that was used before has ones."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (40, 100)).astype(float), rng.integers(0, 2, 40)
    used = [np.full(120_000, 255, np.uint8) for _ in range(24)]
    del used[::2]  # pieces that are free between others stay with the process
    compare(X, y, 2, np.ones(40, np.uint16), 0, max_features=1)


def test_columns_that_share_a_rare_value_make_no_bundle():
    rng = np.random.default_rng(0)
    assert columns_of((rng.random((100, 5)) < 0.4).astype(float)).n_bundles == 0


def test_indicators_make_a_bundle_beside_columns_that_do_not_fit():
    X = np.random.default_rng(0).integers(0, 2, (40, 400)).astype(float)
    indicators = np.eye(40)
    assert columns_of(X).n_bundles == 0
    assert columns_of(np.column_stack([X[:, :3], indicators])).n_bundles > 0


COLUMNS = {
    "few": [0.0, 1.0, 2.0],
    "fractions": [-2.5, -0.0, 0.0, 0.1, 1 / 3, 0.5, 7.0, 1e6],
    "many": [k / 8 for k in range(-100, 100)],
    "missing": [np.nan, 0.1, 3.0, 4.0],
    "nominal": [np.nan, 1.0, 2.0, 3.0, 4.0, 9.0],
}


@st.composite
def growths(draw, random):
    """A small table with a target, a bag, limits and the knobs that choose a path through the engine."""
    n = draw(st.integers(2, 24))
    n_classes = draw(st.sampled_from([0, 2, 3, 5]))
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)[: 5 if random or n_classes < 3 else 4]), min_size=1, max_size=4))
    nominal = tuple(j for j, kind in enumerate(kinds) if kind == "nominal")
    X = np.column_stack([draw(arrays(float, n, elements=st.sampled_from(COLUMNS[kind]))) for kind in kinds])
    X[0, list(nominal)] = 1.0
    if draw(st.booleans()):  # indicators, which make a bundle
        X = np.column_stack([X, draw(arrays(int, n, elements=st.integers(0, 3)))[:, None] == np.arange(3)])
    y = draw(arrays(int, n, elements=st.integers(0, (n_classes or 9) - 1)))
    counts = draw(arrays(np.uint16, n, elements=st.sampled_from([0, 1, 1, 2, 300])))
    counts[0] = max(counts[0], 1)
    limits = {
        "max_features": draw(st.integers(1, X.shape[1])),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 1, 2, 3])),
        "most_ranked": draw(st.sampled_from([1, 4, 32])),
        "most_cells": draw(st.sampled_from([2, 4, 1024])),
        "most_narrow": draw(st.sampled_from([4, 65_536])),
        "block_rows": draw(st.integers(3, 24)),
        "random": random,
    }
    return X, y, n_classes, counts, draw(st.integers(0, 2**64 - 1)), nominal, limits


@given(growths(random=False))
def test_every_small_table_has_the_best_cuts_of_its_draws(growth):
    *growth, limits = growth
    compare(*growth, **limits)


@given(growths(random=True))
def test_every_small_table_has_the_random_cuts_of_its_draws(growth):
    *growth, limits = growth
    compare(*growth, **limits)


def assert_as_alone(X, y, max_depth):
    """A forest's tree of all rows and features is the tree that grows without a forest."""
    choices = {"bootstrap": False, "max_features": None, "random_state": 0}
    tree = RandomForestClassifier(n_estimators=1, max_depth=max_depth, **choices).fit(X, y).estimators_[0].tree_
    alone = TreeClassifier(max_depth=max_depth).fit(X, y).tree_
    assert tree.feature.tolist() == alone.feature.tolist()
    assert np.array_equal(tree.threshold, alone.threshold, equal_nan=True)


def test_large_nodes_of_hundreds_of_classes_are_divided_as_without_a_forest():
    rng = np.random.default_rng(0)
    X, y = rng.random((4_000, 3)), np.concatenate([np.arange(400), rng.integers(0, 400, 3_600)])
    assert_as_alone(X, np.where(X[:, 1] > 0.4, y // 2, y), 3)


def test_more_features_than_a_large_node_has_room_for_are_searched():
    rng = np.random.default_rng(0)
    X = rng.random((40_000, 150), dtype=np.float32)
    assert_as_alone(X, (X[:, 147] > 0.5) ^ (rng.random(40_000) < 0.2), 1)
