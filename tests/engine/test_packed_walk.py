"""Walks through packed trees, by short steps and by nodes, predict as their slow twin."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttree._engine.forest import NODE, PackedWalk
from fasttree._model.packed.nodes import Packed
from tests.twins import packed as twin

N_FEATURES = 5
MOST_SHORT = 16  # nodes for each row: trees with more are walked by their nodes
VALUES_OF_SHORT = 1 << 22
CELLS = [-np.inf, -7.5, -1.0, -0.0, 0.1, 1.0, np.float32(0.1), 1 + 2**-30, 33.0, 63.0, 64.0, 1e30, np.inf, np.nan]


def random_tree(rng: np.random.Generator, n_inner: int, kinds: list[int], n_values: int, bits: list[int]) -> Any:
    """A tree whose nodes split in random order; the children of a node are the next free pair."""
    n = 2 * n_inner + 1
    nodes = np.zeros(n, dtype=NODE)
    nodes["child"] = np.arange(n)
    operands = nodes.view("<u4").reshape(n, 4)
    waiting, free = [0], 1
    for _ in range(n_inner):
        i = waiting.pop(0 if rng.random() < 0.6 or len(waiting) < 2 else 1)
        waiting += [free, free + 1]
        nodes[i]["child"], free = free, free + 2
        kind = int(rng.choice(kinds))
        nodes[i]["kind"], nodes[i]["feature"], nodes[i]["missing"] = kind, rng.integers(N_FEATURES), rng.integers(2)
        if kind == 1:
            nodes[i]["operand"] = rng.choice([0.0, 0.1, -1.0, -1e-300, 1e300, -1e300, 1 + 2**-31, rng.normal()])
        elif kind == 3:
            nodes[i]["operand"], nodes[i]["missing"] = np.inf, 1
        else:
            words = int(rng.integers(1, 4))
            known = rng.integers(1, 2**32, words, dtype=np.uint64) & 0xFFFFFFFE
            operands[i, :2] = len(bits), words
            bits.extend(int(word) for word in [*known, *(known & rng.integers(2**32, size=words, dtype=np.uint64))])
    leaf = nodes["kind"] == 0
    operands[leaf, 0] = rng.integers(0, n_values, leaf.sum())
    operands[leaf, 1] = 1
    return nodes


def random_forest(seed: int, sizes: list[int], kinds: list[int], n_columns: int = 3) -> tuple[Packed, Any]:
    rng = np.random.default_rng(seed)
    values = rng.random((6, n_columns))
    if n_columns > 1 and rng.random() < 0.5:  # as in forests: pure leaves first
        values[:n_columns] = np.eye(n_columns)
    values /= values.sum(axis=1, keepdims=True)
    bits: list[int] = []
    trees = [random_tree(rng, size, kinds, len(values), bits) for size in sizes]
    start = np.append(0, np.cumsum([len(tree) for tree in trees]))
    return Packed(np.concatenate(trees), start, np.array(bits, np.uint32), values), values


def random_rows(seed: int, n: int, with_missing: bool, dtype: Any, order: Any) -> Any:
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, N_FEATURES)) < 0.5, rng.choice(CELLS, (n, N_FEATURES)), rng.integers(0, 99, (n, N_FEATURES)))
    if not with_missing:
        X[np.isnan(X)] = 5
    return np.asarray(X.astype(dtype), order=order)


def expected_sums(packed: Packed, values: Any, X: Any, first: int, last: int) -> Any:
    out = np.zeros((len(X), values.shape[1]))
    twin.add_sums(packed, values, X, out, first, last)
    return out


KINDS = {"thresholds": [1], "thresholds and known": [1, 3], "sets": [1, 2, 3], "sets alone": [2]}


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=4),
    kinds=st.sampled_from(list(KINDS)),
    n=st.integers(0, 70),
    with_missing=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    order=st.sampled_from(["C", "F"]),
    n_columns=st.integers(1, 3),
    few_values=st.booleans(),
)
def test_walks_are_those_of_the_twin(seed, sizes, kinds, n, with_missing, dtype, order, n_columns, few_values):
    packed, values = random_forest(seed, sizes, KINDS[kinds], n_columns)
    X = random_rows(seed, n, with_missing, dtype, order)
    first = seed % len(sizes)
    walk = PackedWalk(packed.nodes, packed.start, packed.bits, len(values) if few_values else VALUES_OF_SHORT, X)
    out = np.zeros((n, n_columns))
    walk.add_sums(values, out, first, len(sizes))
    np.testing.assert_array_equal(out, expected_sums(packed, values, X, first, len(sizes)))
    leaves = np.full((n, len(sizes) - first), -1, dtype=np.int32)
    expected = leaves.copy()
    walk.find_leaves(leaves, first, len(sizes))
    twin.find_leaves(packed, X, expected, first, len(sizes))
    np.testing.assert_array_equal(leaves, expected)


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_and_few_rows_go_the_same_way(kinds, dtype):
    packed, values = random_forest(3, [400, 300], KINDS[kinds])
    X = random_rows(4, 800, True, dtype, "C")
    whole = np.zeros((len(X), 3))
    PackedWalk(packed.nodes, packed.start, packed.bits, len(values), X).add_sums(values, whole, 0, 2)
    few = len(packed.nodes) // 2 // MOST_SHORT - 8
    parts = np.zeros_like(whole)
    for row in range(0, len(X), few):
        rows = slice(row, row + few)
        PackedWalk(packed.nodes, packed.start, packed.bits, len(values), X[rows]).add_sums(values, parts[rows], 0, 2)
    np.testing.assert_array_equal(whole, parts)
    np.testing.assert_array_equal(whole, expected_sums(packed, values, X, 0, 2))


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=5),
    n=st.integers(0, 60),
    share=st.sampled_from([0.0, 0.1, 0.4, 1.0]),
    by_class=st.booleans(),
    kinds=st.sampled_from(list(KINDS)),
)
def test_trees_judge_the_rows_that_their_bags_lack(seed, sizes, n, share, by_class, kinds):
    packed, values = random_forest(seed, sizes, KINDS[kinds], 3 if by_class else 1)
    X = random_rows(seed, n, True, np.float32, "C")
    rng = np.random.default_rng(seed)
    lacking = np.packbits(rng.random((len(sizes), n)) < share, axis=1)
    target = rng.integers(0, 3, n).astype(float) if by_class else rng.normal(size=n)
    weight = rng.integers(0, 4, n).astype(float)
    walk = PackedWalk(packed.nodes, packed.start, packed.bits, len(values), X)
    sums, n_seen, errors = walk.judge(values, lacking, target, weight, by_class)
    expected = twin.judge(packed, values, X, lacking, target, weight, by_class)
    np.testing.assert_array_equal(sums, expected[0])
    np.testing.assert_array_equal(n_seen, expected[1])
    np.testing.assert_allclose(errors, expected[2], rtol=1e-12)


def test_rows_need_floats():
    packed, values = random_forest(0, [3], [1])
    with pytest.raises(TypeError, match="X must be a matrix of float32 or float64"):
        PackedWalk(packed.nodes, packed.start, packed.bits, len(values), np.zeros((3, N_FEATURES), np.int64))
