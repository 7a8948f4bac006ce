"""The flat tree: its invariants, its numbering, and what is computed from it without recursion."""

import copy
import pickle
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import NODE_FIELDS, Node, chain, flat, grown, house_tree, leaf, nested, play_tree, random_nodes, random_trees

from fasttree._model.arrays import ARRAYS, CATEGORY, KNOWN, LEAF, NOMINAL, OPTIONAL_ARRAYS, SHARES, STOP, THRESHOLD
from fasttree._model.tree import Tree

TASKS = st.sampled_from(["classification", "regression"])


def columns(tree):
    given = {name: getattr(tree, name) for name in (*ARRAYS, *OPTIONAL_ARRAYS)}
    return {name: None if array is None else array.copy() for name, array in given.items()}


def changed(tree, **new):
    return Tree(task=tree.task, n_features=tree.n_features, **(columns(tree) | new))


def with_entry(tree, name, index, entry):
    array = getattr(tree, name).copy()
    array[index] = entry
    return changed(tree, **{name: array})


# What is computed


def test_a_hand_made_tree_is_what_it_was_made_to_be():
    tree = play_tree()
    tree.check()
    assert tree.parent.tolist() == [-1, 0, 0, 0, 1, 1, 3, 3, 7, 7]
    assert tree.first_child.tolist() == [1, 4, -1, 6, -1, -1, -1, 8, -1, -1]
    assert (tree.node_count, tree.n_leaves, tree.max_depth, tree.n_values) == (10, 6, 3, 2)
    assert tree.depth().tolist() == [0, 1, 1, 1, 2, 2, 2, 2, 3, 3]
    assert tree.leaves().tolist() == [2, 4, 5, 6, 8, 9]
    assert tree.child_start().tolist() == [1, 4, 6, 6, 8, 8, 8, 8, 10, 10, 10]
    assert repr(tree) == "<Tree: classification, 4 features, 10 nodes, 6 leaves, depth 3>"


def test_the_label_is_the_heaviest_class_and_the_first_on_ties():
    tree = play_tree()
    assert tree.predicted_class.tolist() == [0, 0, 0, 0, 0, 1, 0, 1, 1, 0]
    assert tree.value[3].tolist() == [3.0, 3.0]


def test_a_regression_tree_has_no_label():
    assert not hasattr(house_tree(), "label")


def test_risk_is_weight_times_impurity():
    assert house_tree().risk.tolist() == [4.5, 2.0, 0.0, 0.0, 0.0]


def test_a_root_alone_is_a_tree():
    tree = flat(leaf([1.0, 2.0]), "classification")
    tree.check()
    assert (tree.node_count, tree.n_leaves, tree.max_depth) == (1, 1, 0)
    assert tree.depth().tolist() == [0]
    assert tree.prune_at(np.array([True])) == tree


@given(random_trees())
def test_random_trees_keep_the_invariants(tree):
    tree.check()
    depths = tree.depth()
    assert depths[0] == 0
    assert (depths[1:] == depths[tree.parent[1:]] + 1).all()
    assert tree.max_depth == depths.max()


def test_a_chain_of_100_000_levels_overflows_nothing():
    tree = chain(100_000)
    tree.check()
    assert tree.max_depth == 100_000
    assert tree.depth()[-1] == 100_000
    assert pickle.loads(pickle.dumps(tree)) == tree
    marked = np.zeros(tree.node_count, bool)
    marked[2 * 60_000] = True
    assert tree.prune_at(marked).max_depth == 60_000


# Numbering


@given(TASKS, st.data())
def test_nodes_grown_in_any_order_are_numbered_breadth_first(task, data):
    root = data.draw(random_nodes(task))
    random = data.draw(st.randoms(use_true_random=False))
    tree = grown(root, random, task)
    tree.check()
    assert tree == flat(root, task)


def test_a_deep_growth_is_numbered_without_recursion():
    tree = chain(100_000)
    again = Tree.from_growth(
        task=tree.task,
        n_features=1,
        first_child=tree.first_child,
        n_branches=tree.n_branches,
        categories_start=tree.categories_start[:-1],
        categories_size=np.zeros(tree.node_count, np.int64),
        categories_code=tree.categories_code,
        categories_branch=tree.categories_branch,
        **{name: getattr(tree, name) for name in NODE_FIELDS},
    )
    assert again == tree


# Pruning


def naive_prune(tree, nodes):
    """Cut nested nodes."""
    root = nested(tree)
    numbers: dict[int, int] = {}
    queue = [root]
    for number, node in enumerate(queue):
        numbers[id(node)] = number
        queue.extend(node.children)

    def cut(node):
        fields = {name: entry for name, entry in node.fields.items() if name != "estimated_errors"}
        if nodes[numbers[id(node)]]:
            kept = {name: fields[name] for name in ("n_samples", "weight", "value", "impurity")}
            return Node(leaf([1.0]).fields | dict.fromkeys(fields.keys() & {"lower", "upper"}, np.nan) | kept)
        return replace(node, fields=fields, children=[cut(child) for child in node.children])

    return flat(cut(root), tree.task)


@given(random_trees(), st.data())
def test_pruning_gives_what_cutting_nested_nodes_gives(tree, data):
    nodes = np.array(data.draw(st.lists(st.booleans(), min_size=tree.node_count, max_size=tree.node_count)))
    nodes &= tree.n_branches > 0
    before = pickle.dumps(tree)
    pruned = tree.prune_at(nodes)
    pruned.check()
    assert pruned == naive_prune(tree, nodes)
    assert pickle.dumps(tree) == before


def test_pruning_at_the_root_leaves_the_root():
    tree = play_tree()
    pruned = tree.prune_at(np.arange(tree.node_count) == 0)
    assert pruned == flat(Node(leaf([7.5, 5.5], n_samples=14).fields | {"impurity": 0.5}), "classification")


def test_pruning_keeps_soft_thresholds_and_drops_estimated_errors():
    tree = soft_tree()
    tree.check()
    assert tree.prune_at(np.arange(tree.node_count) == 3).lower.tolist()[:2] == [pytest.approx(np.nan, nan_ok=True), 40.0]
    pruned = tree.prune_at(np.arange(tree.node_count) == 1)
    pruned.check()
    assert pruned.estimated_errors is None
    assert np.isnan(pruned.lower).all()
    assert pruned.upper.shape == (pruned.node_count,)


def test_pruning_nowhere_or_at_leaves_changes_nothing():
    tree = play_tree()
    assert tree.prune_at(np.zeros(tree.node_count, bool)) == tree
    assert tree.prune_at(tree.n_branches == 0) == tree


@pytest.mark.parametrize("nodes", [[0, 1], np.zeros(3, bool), np.zeros(10, int)], ids=["ids", "short", "integers"])
def test_pruning_refuses_what_is_no_mask_over_the_nodes(nodes):
    with pytest.raises(ValueError, match="must be 10 booleans"):
        play_tree().prune_at(nodes)


# The value


def soft_tree():
    """The play tree with estimated errors and a soft threshold."""
    at_threshold = np.arange(10) == 1
    return play_tree().replace(
        estimated_errors=np.arange(10.0), lower=np.where(at_threshold, 40.0, np.nan), upper=np.where(at_threshold, 41.5, np.nan)
    )


def test_optional_arrays_are_none_or_read_only_columns_of_doubles():
    assert [getattr(play_tree(), name) for name in OPTIONAL_ARRAYS] == [None, None, None]
    tree = changed(play_tree(), estimated_errors=[1] * 10)
    assert tree.estimated_errors.dtype == np.float64
    assert not tree.estimated_errors.flags.writeable
    assert tree.lower is None
    assert soft_tree().replace(estimated_errors=None, lower=None, upper=None) == play_tree()
    with pytest.raises(ValueError, match="lower: must have 1 dimension"):
        changed(play_tree(), lower=[[1.0]])


def test_soft_thresholds_divide_samples_where_they_leave_room():
    tree = play_tree()
    hard = tree.replace(missing=np.where(tree.missing == SHARES, STOP, tree.missing))
    assert not hard.divides
    assert not hard.replace(lower=hard.threshold, upper=hard.threshold).divides
    assert hard.replace(lower=hard.threshold - 0.5, upper=hard.threshold).divides


def test_a_pickle_of_a_tree_that_knew_no_optional_arrays_is_read():
    tree = play_tree()
    state = {name: entry for name, entry in tree.__getstate__().items() if name not in OPTIONAL_ARRAYS}
    again = Tree.__new__(Tree)
    again.__setstate__(state)
    assert again == tree


def test_arrays_are_read_only_and_have_the_stated_dtypes():
    tree = play_tree()
    for name, (dtype, n_dimensions) in ARRAYS.items():
        array = getattr(tree, name)
        assert array.dtype == dtype
        assert array.ndim == n_dimensions
        assert not array.flags.writeable


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
@given(tree=random_trees())
def test_a_copy_is_equal_checked_and_read_only(copier, tree):
    again = copier(tree)
    assert again == tree
    again.check()
    assert not again.value.flags.writeable


def test_equality_is_bit_for_bit():
    tree = play_tree()
    assert tree == play_tree()
    assert tree != house_tree()
    assert tree != with_entry(tree, "weight", 4, np.nextafter(4.0, 5.0))
    assert tree != with_entry(tree, "gain", 4, -0.0)
    assert tree != "a tree"
    assert soft_tree() == soft_tree()
    for name in OPTIONAL_ARRAYS:
        assert soft_tree() != soft_tree().replace(**{name: None})
    assert soft_tree() != with_entry(soft_tree(), "upper", 1, np.nextafter(41.5, 42.0))


def test_trees_are_not_hashable():
    with pytest.raises(TypeError, match="unhashable"):
        hash(play_tree())


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("feature", [2**31] + [-1] * 9, "feature: must hold integers that fit int32"),
        ("feature", [0.5] + [-1.0] * 9, "feature: must hold integers that fit int32"),
        ("kind", [-1] * 10, "kind: must hold integers that fit uint8"),
        ("value", [1.0] * 10, "value: must have 2 dimension"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, array, message):
    with pytest.raises(ValueError, match=message):
        changed(play_tree(), **{name: array})


def test_unknown_tasks_and_arrays_are_refused():
    tree = play_tree()
    with pytest.raises(ValueError, match="task='ranking': must be one of 'classification', 'regression'"):
        Tree(task="ranking", n_features=4, **columns(tree))
    with pytest.raises(ValueError, match="missing or unknown: depth"):
        changed(tree, depth=tree.depth())


# The invariants, each broken once: array, index, entry, message

BREAKS = [
    ("n_branches", 2, 1, "node 2: n_branches must be 0 at a leaf, at least 2"),
    ("n_branches", 2, 2, "the nodes have 11 children in all; must be 9"),
    ("first_child", 3, 5, "node 3: first_child must be"),
    ("first_child", 2, 0, "node 2: first_child must be"),
    ("parent", 4, 2, "node 4: parent must be the node whose child"),
    ("parent", 0, 0, "node 0: parent must be the node whose child"),
    ("kind", 4, THRESHOLD, "node 4: kind must be 0 at a leaf"),
    ("kind", 1, LEAF, "node 1: kind must be 0 at a leaf"),
    ("kind", 1, 6, "node 1: kind must be 0 at a leaf"),
    ("kind", 0, KNOWN, "node 0: a known test must have 2 branches"),
    ("feature", 4, 0, "node 4: feature must be a column"),
    ("feature", 1, 4, "node 1: feature must be a column"),
    ("feature", 1, -1, "node 1: feature must be a column"),
    ("threshold", 1, np.nan, "node 1: threshold must be finite"),
    ("threshold", 1, np.inf, "node 1: threshold must be finite"),
    ("threshold", 3, 0.0, "node 3: threshold must be finite at a threshold test and NaN elsewhere"),
    ("missing", 0, 3, "node 0: missing must be a branch"),
    ("missing", 0, -3, "node 0: missing must be a branch"),
    ("missing", 4, SHARES, "node 4: missing must be a branch"),
    ("missing", 7, 0, "node 7: missing must be branch 1 at a known test"),
    ("gain", 4, 1.0, "node 4: gain must be finite, 0 at a leaf"),
    ("gain", 0, np.nan, "node 0: gain must be finite"),
    ("categories_start", slice(0, 1), 1, "categories_start: must begin with 0"),
    ("categories_start", slice(4, None), 2, "categories_start: must begin with 0 and end with the number of entries, 3"),
    ("categories_start", 4, 4, "node 4: categories_start must not decrease"),
    ("categories_start", slice(1, 4), 1, "node 0: a nominal test must own categories"),
    ("kind", 3, CATEGORY, "node 3: a nominal test must own categories"),
    ("categories_code", 1, 1, "node 3: categories_code must hold codes from 1 on, ascending"),
    ("categories_code", 0, 0, "node 3: categories_code must hold codes from 1 on, ascending"),
    ("categories_branch", 0, 2, "node 3: categories_branch must be a branch of the node"),
    ("categories_branch", 0, -1, "node 3: categories_branch must be a branch of the node"),
    ("n_samples", 4, -4, "node 4: n_samples must not be negative"),
    ("n_samples", 4, 0, "node 4: weight must be 0 in a node without samples"),
    ("n_samples", 1, 7, "node 0: n_samples: the children's must sum"),
    ("n_samples", 4, 9, "node 1: n_samples: the children's must sum"),
    ("n_samples", 6, 9, "node 3: n_samples: the children's must sum"),
    ("weight", 4, -4.0, "node 4: weight must be finite and not negative"),
    ("weight", 4, np.inf, "node 4: weight must be finite and not negative"),
    ("weight", 7, 0.0, "node 7: an inner node must have weight"),
    ("weight", 4, 4.1, "node 4: value: the class weights must sum to the node's weight"),
    ("value", (4, 0), np.nan, "node 4: value must be finite"),
    ("value", 4, [5.0, -1.0], "node 4: value must not be negative"),
    ("value", 2, [0.0, 0.0], "node 2: value: a node without weight must have the class weights of a node above it"),
    ("impurity", 3, -0.1, "node 3: impurity must be finite and not negative"),
    ("impurity", 3, np.nan, "node 3: impurity must be finite and not negative"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "index", "entry", "message"), BREAKS)
def test_check_names_the_first_broken_invariant_and_its_node(name, index, entry, message):
    tree = play_tree()
    with pytest.raises(ValueError, match=message):
        with_entry(tree, name, index, entry).check()


SOFT_BREAKS = [
    ("estimated_errors", 3, -0.1, "node 3: estimated_errors must be finite and not negative"),
    ("estimated_errors", 3, np.nan, "node 3: estimated_errors must be finite and not negative"),
    ("lower", 1, 41.75, "node 1: lower and upper must be finite, on their sides of the threshold"),
    ("upper", 1, 41.25, "node 1: lower and upper must be finite, on their sides of the threshold"),
    ("upper", 1, np.inf, "node 1: lower and upper must be finite"),
    ("lower", 1, np.nan, "node 1: lower and upper must be finite"),
    ("lower", 3, 1.0, "node 3: lower and upper must be finite, .* NaN elsewhere"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "index", "entry", "message"), SOFT_BREAKS)
def test_check_knows_the_invariants_of_optional_arrays(name, index, entry, message):
    with pytest.raises(ValueError, match=message):
        with_entry(soft_tree(), name, index, entry).check()


def test_check_finds_optional_arrays_that_do_not_belong_together():
    with pytest.raises(ValueError, match="lower, upper: a tree must have both or neither"):
        soft_tree().replace(upper=None).check()
    with pytest.raises(ValueError, match="estimated_errors: has 3 entries; must have 10"):
        soft_tree().replace(estimated_errors=np.zeros(3)).check()
    with pytest.raises(ValueError, match="estimated_errors: a regression tree must not have them"):
        house_tree().replace(estimated_errors=np.zeros(5)).check()


def test_an_empty_node_of_a_regression_tree_repeats_the_mean_above():
    tree = house_tree().replace(weight=[9.0, 4.0, 5.0, 4.0, 0.0], n_samples=[9, 4, 5, 4, 0])
    with pytest.raises(ValueError, match="node 4: value: a node without weight must repeat its parent's row"):
        tree.check()
    tree.replace(value=[[15.0], [9.1875], [20.0], [12.25], [9.1875]]).check()


def test_an_empty_leaf_may_keep_the_class_weights_it_was_grown_with():
    tree = with_entry(play_tree(), "value", 2, [5.5, 8.5])
    tree.check()


@pytest.mark.parametrize("name", ["first_child", "categories_start", "categories_code", "value"])
def test_check_finds_arrays_of_a_wrong_length(name):
    tree = play_tree()
    with pytest.raises(ValueError, match=f"{name}: has {len(getattr(tree, name)) - 1} entries"):
        changed(tree, **{name: getattr(tree, name)[:-1]}).check()


def test_check_finds_a_weight_that_is_lost_unless_missing_values_stop():
    tree = play_tree()
    lighter = {"weight": tree.weight.copy(), "value": tree.value.copy()}
    lighter["weight"][6] -= 0.5
    lighter["value"][6, 0] -= 0.5
    assert tree.missing[3] == STOP
    changed(tree, **lighter).check()
    with pytest.raises(ValueError, match="node 3: weight: the children's weights must sum to the node's"):
        changed(with_entry(tree, "missing", 3, SHARES), **lighter).check()
    heavier = {"weight": tree.weight.copy(), "value": tree.value.copy()}
    heavier["weight"][6] += 1.5
    heavier["value"][6, 0] += 1.5
    with pytest.raises(ValueError, match="node 3: weight: the children's weights must sum to the node's"):
        changed(tree, **heavier).check()


def test_check_finds_weights_whose_sum_overflows():
    root = house_tree()
    with pytest.raises(ValueError, match="node 0: weight: the children's weights must sum"):
        changed(root, weight=[1.0, 1.5e308, 1.5e308, 1.0, 1.0]).check()


def test_check_finds_nodes_that_are_not_numbered_breadth_first():
    # two inner children of the root, their children's blocks the wrong way round
    inner = [True, True, True, False, False, False, False]
    tree = Tree(
        task="regression",
        n_features=1,
        parent=[-1, 0, 0, 2, 2, 1, 1],
        first_child=[1, 5, 3, -1, -1, -1, -1],
        n_branches=np.where(inner, 2, 0),
        feature=np.where(inner, 0, -1),
        kind=np.where(inner, THRESHOLD, LEAF),
        threshold=np.where(inner, 0.0, np.nan),
        missing=np.where(inner, 0, STOP),
        categories_start=np.zeros(8, int),
        categories_code=np.zeros(0, int),
        categories_branch=np.zeros(0, int),
        n_samples=[4, 2, 2, 1, 1, 1, 1],
        weight=[4, 2, 2, 1, 1, 1, 1],
        value=np.zeros((7, 1)),
        impurity=np.zeros(7),
        gain=np.zeros(7),
    )
    with pytest.raises(ValueError, match=r"node 1: first_child must be .*breadth first"):
        tree.check()


def test_check_finds_a_node_that_is_its_own_ancestor():
    tree = house_tree()
    parent, first_child, n_branches = tree.parent.copy(), tree.first_child.copy(), tree.n_branches.copy()
    parent[1:] = [3, 3, 4, 4]  # nothing hangs below the root: nodes 1 to 4 hold one another
    first_child[:] = [-1, -1, -1, 1, 3]
    n_branches[:] = [0, 0, 0, 2, 2]
    with pytest.raises(ValueError, match="node 1: parent must have a smaller number"):
        changed(tree, parent=parent, first_child=first_child, n_branches=n_branches).check()


@given(random_nodes("classification"), st.integers(0, 2**32))
def test_growth_order_leaves_no_trace(root, seed):
    assert grown(root, Random(seed), "classification") == grown(root, Random(seed + 1), "classification")


def test_nominal_tables_move_with_their_nodes():
    tree = play_tree()
    pruned = tree.prune_at(np.arange(tree.node_count) == 1)
    node = int(np.flatnonzero(pruned.kind == NOMINAL)[0])
    table = slice(pruned.categories_start[node], pruned.categories_start[node + 1])
    assert pruned.categories_code[table].tolist() == [1, 2, 4]
    assert pruned.categories_branch[table].tolist() == [0, 1, 0]


@pytest.mark.parametrize("n_columns", range(2, 20))
@pytest.mark.parametrize("order", ["C", "F"])
def test_shares_have_the_bits_of_sums_of_rows(n_columns, order):
    tree = play_tree()
    tree.__dict__["divides"] = False  # else shares are of weights
    value = np.random.default_rng(n_columns).lognormal(sigma=9, size=(tree.node_count, n_columns))
    shares = tree._shares(np.asarray(value, order=order), np.ones(tree.node_count))
    assert np.array_equal(shares, value / np.asarray(value, order=order).sum(axis=1)[:, None])
