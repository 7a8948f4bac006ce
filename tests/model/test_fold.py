"""Which part of a tree is shown, and how much is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import chain, flat, house_tree, leaf, play_tree, random_trees, split

from fasttree._model.arrays import CATEGORY, THRESHOLD
from fasttree._model.fold import below, opened


def shown(tree, is_open):
    """Nodes in sight, one by one from the root."""
    in_sight = [0]
    for node in in_sight:
        if is_open[node]:
            in_sight += range(tree.first_child[node], tree.first_child[node] + tree.n_branches[node])
    return in_sight


def counted(tree, node):
    """Nodes below a node and the longest path, the slow way."""
    children = range(tree.first_child[node], tree.first_child[node] + tree.n_branches[node])
    each = [counted(tree, child) for child in children]
    return sum(n + 1 for n, _ in each), max((depth + 1 for _, depth in each), default=0)


@given(random_trees())
def test_what_hangs_below_a_node_is_what_one_finds_going_down(tree):
    n_nodes, depth = below(tree)
    assert list(zip(n_nodes.tolist(), depth.tolist(), strict=True)) == [counted(tree, node) for node in range(tree.node_count)]


@given(random_trees(), st.integers(0, 4), st.integers(1, 12))
def test_no_more_is_shown_than_asked_for(tree, max_depth, max_nodes):
    is_open = opened(tree, max_depth=max_depth, max_nodes=max_nodes)
    in_sight = shown(tree, is_open)
    assert len(in_sight) <= max_nodes
    assert tree.depth()[in_sight].max() <= max_depth
    assert set(np.flatnonzero(is_open)) <= set(in_sight)
    assert not (is_open & (tree.n_branches == 0)).any()


@given(random_trees())
def test_a_tree_that_fits_is_shown_whole(tree):
    for is_open in (opened(tree), opened(tree, max_nodes=tree.node_count, max_depth=tree.max_depth)):
        assert (is_open == (tree.n_branches > 0)).all()


@given(random_trees(), st.integers(1, 12))
def test_a_closed_node_in_sight_is_lighter_than_the_open_ones_beside_it_or_would_not_fit(tree, max_nodes):
    is_open = opened(tree, max_nodes=max_nodes)
    in_sight = shown(tree, is_open)
    closed = [node for node in in_sight if tree.n_branches[node] and not is_open[node]]
    assert all(len(in_sight) + tree.n_branches[node] > max_nodes for node in closed)


def test_the_heaviest_node_is_opened_first():
    tree = play_tree()  # the branch of weight 7 and that of weight 6 can both be opened
    heaviest = tree.first_child[0] + int(np.argmax(tree.weight[1:4]))
    assert np.flatnonzero(opened(tree, max_nodes=6)).tolist() == [0, heaviest]


def test_a_chain_is_cut_where_the_nodes_end():
    assert opened(chain(10_000), max_nodes=101).sum() == 50
    assert opened(house_tree(), max_depth=0).sum() == 0


def test_a_node_of_more_branches_than_there_is_room_for_stays_closed():
    small = split([leaf([1.0]), leaf([2.0])], feature=0, kind=THRESHOLD, threshold=1.0, value=[1.5])
    wide = split([leaf([1.0]) for _ in range(30)], feature=2, kind=CATEGORY, value=[1.0])
    tree = flat(split([wide, small], feature=0, kind=THRESHOLD, threshold=9.0, value=[1.0]), "regression")
    assert np.flatnonzero(opened(tree, max_nodes=20)).tolist() == [0, 2]


@pytest.mark.parametrize("limit", [{"max_depth": -1}, {"max_depth": 1.5}, {"max_nodes": 0}, {"max_nodes": True}])
def test_other_limits_are_refused(limit):
    with pytest.raises(ValueError, match="must be an integer >= "):
        opened(house_tree(), **limit)
