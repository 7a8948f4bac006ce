"""Where the boxes of a tree stand."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttree._explain.pictures.layout import spread

SIZES = st.one_of(st.integers(1, 9).map(float), st.floats(0.01, 50))


@st.composite
def trees(draw, branches=(0, 0, 2, 2, 3, 5)):
    """Children counts breadth first, sizes, and depths: in levels, or each box right below its parent."""
    n_branches, waiting = [], 1
    while waiting:
        n_branches.append(draw(st.sampled_from(branches)) if len(n_branches) < 30 else 0)
        waiting += n_branches[-1] - 1
    n = len(n_branches)
    breadth = draw(st.lists(SIZES, min_size=n, max_size=n))
    height = draw(st.lists(SIZES, min_size=n, max_size=n))
    return with_depths(n_branches, breadth, height, draw(st.booleans()))


def with_depths(n_branches, breadth, height, in_levels):
    n = len(n_branches)
    first_child = 1 + np.cumsum([0, *n_branches[:-1]])
    parent = np.repeat(np.arange(n), n_branches)
    level, start = np.zeros(n, int), np.zeros(n)
    for child, above in enumerate(parent, 1):
        level[child] = level[above] + 1
        start[child] = start[above] + height[above]
    if in_levels:
        tallest = [max(h for h, at in zip(height, level, strict=True) if at == depth) for depth in range(level.max() + 1)]
        ends = np.cumsum([0.0, *tallest])
        start, stop = ends[level], ends[level + 1]
    else:
        stop = start + np.array(height)
    return first_child.tolist(), n_branches, breadth, start.tolist(), stop.tolist()


def children_of(tree, node):
    return range(tree[0][node], tree[0][node] + tree[1][node])


@given(trees())
def test_no_two_boxes_overlap(tree):
    *_, breadth, start, stop = tree
    place = spread(*tree)
    for a, b in itertools.combinations(range(len(place)), 2):
        beside = place[a] + breadth[a] <= place[b] + 1e-6 or place[b] + breadth[b] <= place[a] + 1e-6
        below = stop[a] <= start[b] + 1e-6 or stop[b] <= start[a] + 1e-6
        assert beside or below, (a, b)


@given(trees())
def test_a_parent_stands_over_the_middle_of_its_children_which_are_in_order(tree):
    breadth, place = tree[2], spread(*tree)
    assert min(place) == 0
    for node in range(len(place)):
        children = children_of(tree, node)
        if children:
            ends = place[children[0]], place[children[-1]] + breadth[children[-1]]
            assert place[node] + breadth[node] / 2 == pytest.approx(sum(ends) / 2, abs=1e-6)
            for a, b in itertools.pairwise(children):
                assert place[a] + breadth[a] <= place[b] + 1e-6


@given(trees(branches=(0, 0, 2)))
def test_the_mirrored_binary_tree_is_the_mirror_image(tree):
    _, n_branches, breadth, start, stop = tree
    order = [0]  # breadth first, but the children from right to left
    for node in order:
        order.extend(reversed(children_of(tree, node)))
    swapped = [[values[node] for node in order] for values in (n_branches, breadth, start, stop)]
    place, mirrored = spread(*tree), spread((1 + np.cumsum([0, *swapped[0][:-1]])).tolist(), *swapped)
    width = max(a + b for a, b in zip(place, breadth, strict=True))
    assert [width - place[node] - breadth[node] for node in order] == pytest.approx(mirrored, abs=1e-6)


@pytest.mark.parametrize("in_levels", [True, False])
def test_leaves_side_by_side_touch(in_levels):
    tree = with_depths([4, 0, 0, 0, 0], [3.0, 1.0, 2.0, 3.0, 4.0], [1.0] * 5, in_levels)
    assert spread(*tree) == [3.5, 0.0, 1.0, 3.0, 6.0]


def test_small_subtrees_between_two_large_ones_are_spread_evenly():
    # children: a wide fan, a leaf, a leaf, a wide fan
    tree = with_depths([4, 6, 0, 0, 6, *[0] * 12], [1.0] * 17, [1.0] * 17, True)
    place = spread(*tree)
    gaps = np.diff(place[1:5])
    assert gaps == pytest.approx([2.0, 2.0, 2.0])
    assert max(place) == 11


def test_a_shallow_subtree_stands_above_the_deep_one_beside_it():
    # left: a chain of two tests with wide leaves at the end; right: a leaf, which need not be beside those
    tree = with_depths([2, 2, 0, 0, 2, 0, 0], [1.0, 1.0, 1.0, 1.0, 1.0, 9.0, 9.0], [1.0] * 7, True)
    place = spread(*tree)
    assert place[6] <= place[2] < place[6] + 9


def test_a_chain_of_ten_thousand_tests_is_placed_without_recursion():
    n_branches = [2, *[0, 2] * 9_999, 0, 0]
    tree = with_depths(n_branches, [1.0] * len(n_branches), [1.0] * len(n_branches), False)
    place = spread(*tree)
    assert np.isfinite(place).all()
    assert len(place) == 20_001


def test_time_grows_with_the_number_of_nodes_alone():
    def seconds(n_leaves):
        n_branches = [2] * (n_leaves - 1) + [0] * n_leaves
        tree = with_depths(n_branches, [1.0] * len(n_branches), [1.0] * len(n_branches), False)
        begin = time.process_time()
        spread(*tree)
        return time.process_time() - begin

    assert min(seconds(1 << 15) for _ in range(2)) < 24 * min(seconds(1 << 12) for _ in range(3))  # 8 times as many
