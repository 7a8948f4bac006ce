"""`C50Classifier` against the twin of C5.0: the same leaves and the same predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from c50.classifying import class_sums, stand_alone
from c50.growing import Growth, grow
from c50.problem import Node, Options, Test
from c50.pruning import cut_at_one_error, in_single_precision, prune
from c50.recorded import as_table
from c50.softening import soften
from c50.winnowing import winnow
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import light_branches, raised_categories
from test_release8_engine import frames

from fasttree import C50Classifier, from_json
from fasttree._engine import passes
from fasttree._learn.prune.c50 import C50Pruning, PrunedTree
from fasttree._model import walks
from fasttree._model.tree import Tree

OPTIONS = st.builds(
    Options,
    minimum=st.sampled_from([1, 2, 3]),
    confidence=st.sampled_from([0.05, 0.25, 0.6]),
    global_pruning=st.booleans(),
    subset=st.booleans(),
)


def leaves(tree: Tree) -> list[tuple[float, ...]]:
    """Class weights of the leaves that are not null."""
    found = (tree.n_branches == 0) & (tree.weight >= 0.05)
    return sorted(tuple(row) for row in tree.value[found].round(6).tolist())


def leaves_of_twin(tree: Node) -> list[tuple[float, ...]]:
    found = [node.weights for node in tree.walk() if node.test is None and node.cases >= 0.05]
    return sorted(tuple(np.round(row, 6).tolist()) for row in found)


@settings(max_examples=60)
@given(frame=frames(), options=OPTIONS)
def test_the_tree_of_a_small_mixed_table_is_the_twins(frame: pd.DataFrame, options: Options) -> None:
    assert_the_twins(frame, options)


@settings(max_examples=60)
@given(frame=frames(), options=OPTIONS)
def test_winnowing_removes_the_features_that_the_twin_removes(frame: pd.DataFrame, options: Options) -> None:
    model = C50Classifier(
        winnow=True, min_samples_branch=options.minimum, confidence=options.confidence, subset=options.subset
    ).fit(frame.iloc[:, :-1], frame.iloc[:, -1])
    removed = [frame.columns[attribute] for attribute in sorted(winnow(as_table(frame), options))]
    assert list(model.winnowed_) == removed


def assert_the_twins(frame: pd.DataFrame, options: Options) -> None:
    table = as_table(frame)
    growth, rows = Growth.of(table, options), np.arange(len(table))
    expected = prune(grow(growth, rows), growth, rows)
    model = C50Classifier(
        min_samples_branch=options.minimum,
        confidence=options.confidence,
        global_pruning=options.global_pruning,
        subset=options.subset,
    ).fit(frame.iloc[:, :-1], frame.iloc[:, -1])
    model.tree_.check()
    ours, twins = np.array(leaves(model.tree_)), np.array(leaves_of_twin(expected))
    assert ours.shape == twins.shape
    assert ours == pytest.approx(twins, abs=1e-4)
    assert model.predict_proba(frame.iloc[:, :-1]) == pytest.approx(class_sums(expected, table), abs=1e-4)
    assert model.smoothed_proba(frame.iloc[:, :-1]) == pytest.approx(stand_alone(expected, table), abs=1e-4)


@settings(max_examples=60)
@given(frame=frames(), trials=st.sampled_from([1, 4]), rules=st.booleans(), subset=st.booleans())
def test_samples_end_where_pruning_says(frame: pd.DataFrame, trials: int, rules: bool, subset: bool) -> None:
    seen: list[tuple[C50Pruning, PrunedTree]] = []
    with pytest.MonkeyPatch.context() as patch:
        with_ends = C50Pruning.with_ends
        patch.setattr(C50Pruning, "with_ends", lambda self, tree: seen.append((self, with_ends(self, tree))) or seen[-1][1])
        C50Classifier(trials=trials, rules=rules, subset=subset, min_samples_branch=1).fit(frame.iloc[:, :-1], frame.iloc[:, -1])
    assert seen
    lacks = frame.iloc[:, :-1].isna().any(axis=1).to_numpy()
    for pruning, pruned in seen:
        samples = pruning.grower.samples
        weighs = np.ones(len(frame), bool) if samples.counts is None else samples.counts > 0
        assert (
            walks.predict_class(pruned.before, samples.table).tolist() == walks.predict_class(pruned.tree, samples.table).tolist()
        )
        if pruned.ends is not None:
            known = weighs & (pruned.ends >= 0)
            assert (pruned.ends[weighs & ~lacks] >= 0).all()
            assert pruned.ends[known].tolist() == walks.walk(pruned.before, samples.table)[known].tolist()
            assert walks.walk(pruned.before, samples.table, pruned.ends)[weighs].tolist() == (
                walks.walk(pruned.before, samples.table)[weighs].tolist()
            )


@pytest.mark.parametrize("each", [1, 5])  # as many values as samples, or few enough to be counted
def test_only_thresholds_that_leave_enough_on_both_sides_are_paid_for(each: int) -> None:
    n, minimum = 1000, 30
    rng = np.random.default_rng(0)
    x = np.arange(n) // each * 1.0
    y = (x > 400 / each) ^ (rng.random(n) < 0.3)
    tree = C50Classifier(min_samples_branch=minimum, max_depth=1, pruning=None).fit(x[:, None], y).tree_
    low, high = (np.bincount(y[part], minlength=2) for part in (x <= tree.threshold[0], x > tree.threshold[0]))
    bits = [-(counts * np.log2(counts / counts.sum())).sum() for counts in (low + high, low, high)]
    n_tried = (n - 2 * minimum) / each + 1
    assert tree.gain[0] == pytest.approx((bits[0] - bits[1] - bits[2] - np.log2(n_tried)) / n, rel=1e-6)


@pytest.mark.parametrize("seed", [*range(10, 60), 385])  # the last has a null leaf of some weight
def test_trees_of_light_branches_are_the_twins(seed: int) -> None:
    """Branches of fewer than the minimum, also below one that is tried in its node's place, and samples divided on the way."""
    options = Options(
        minimum=1 + seed % 3, confidence=(0.25, 0.5, 0.8)[seed % 5 % 3], global_pruning=bool(seed % 7), subset=False
    )
    assert_the_twins(light_branches(seed), options)


def test_light_branches_below_one_that_is_tried_in_its_nodes_place_count_with_what_they_hold() -> None:
    assert_the_twins(light_branches(51), Options(minimum=5, confidence=0.25, global_pruning=False, subset=False))


@pytest.mark.parametrize("subset", [False, True])
@pytest.mark.parametrize("seed", [123, 135, 183, 210, 249, 332])
def test_branches_that_test_categories_are_raised_and_grown_anew_as_the_twins(seed: int, subset: bool) -> None:
    options = Options(minimum=1 + seed % 3, confidence=(0.5, 0.8, 0.95)[seed % 3], global_pruning=False, subset=subset)
    assert_the_twins(raised_categories(seed), options)


def mixed_table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    draw = np.random.default_rng(seed)
    X = pd.DataFrame(draw.normal(size=(n, 4)).round(1), columns=list("abcd"))
    X["e"] = pd.Categorical(draw.choice(list("uvwxyz"), n))
    y = np.where((X["a"] > 0) ^ X["e"].isin(["u", "w"]), "yes", "no")
    noise = draw.random(n) < 0.15
    return X.mask(draw.random(X.shape) < 0.05), np.where(noise, "other", y)


@pytest.mark.parametrize("missing", [0, 0.08])
@pytest.mark.parametrize("seed", range(10))
def test_soft_thresholds_are_the_twins(seed: int, missing: float) -> None:
    draw = np.random.default_rng(seed)
    X = pd.DataFrame(draw.normal(size=(200, 3)).round(1), columns=list("abc"))
    y = np.where((X["a"] + X["b"] > 0) ^ (draw.random(200) < 0.15), "p", "q")
    X = X.mask(draw.random(X.shape) < missing)
    table = as_table(X.assign(y=pd.Categorical(y)))
    growth, rows = Growth.of(table, Options(confidence=0.8, global_pruning=False)), np.arange(len(table))
    softened = soften(prune(grow(growth, rows), growth, rows), growth)
    tests = [node.test for node in softened.walk() if node.test is not None]
    model = C50Classifier(confidence=0.8, global_pruning=False, soft_thresholds=True)
    tree = model.fit(X, y).tree_
    inner = tree.n_branches > 0
    assert tree.lower is not None
    assert tree.upper is not None
    ours = zip(tree.feature[inner], tree.lower[inner], tree.threshold[inner], tree.upper[inner], strict=True)
    expected = [(test.attribute, test.lower, test.middle, test.upper) for test in tests]
    assert len(tests) > 3
    assert np.array(sorted(ours)) == pytest.approx(np.array(sorted(expected)), abs=1e-6)
    order = draw.permutation(len(X))
    np.testing.assert_array_equal(model.fit(X.iloc[order], y[order]).tree_.lower, tree.lower)


@pytest.mark.parametrize("minimum", [26, 40])
def test_branches_of_at_least_more_than_25_samples_are_the_twins(minimum: int) -> None:
    X, y = mixed_table(400, minimum)
    frame = X.assign(y=pd.Categorical(y))
    assert_the_twins(frame, Options(minimum=minimum, confidence=0.9, global_pruning=False, subset=False))


def test_weights_count_samples() -> None:
    X, y = mixed_table(120, 0)
    times = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = C50Classifier().fit(X, y, sample_weight=times)
    repeated = C50Classifier().fit(X.loc[X.index.repeat(times)], np.repeat(y, times))
    assert weighted.tree_.node_count > 3
    assert weighted.predict_proba(X) == pytest.approx(repeated.predict_proba(X))
    assert leaves(weighted.tree_) == leaves(repeated.tree_)


@pytest.mark.parametrize("seed", [0, 4, 6, 9])
def test_branches_that_are_grown_anew_have_no_thresholds_at_samples_without_weight(seed: int) -> None:
    frame, draw = light_branches(seed), np.random.default_rng(seed)
    frame[["n0", "n1"]] += draw.uniform(-0.4, 0.4, (len(frame), 2))
    X, y = frame.iloc[:, :-1], frame.iloc[:, -1]
    times = np.random.default_rng(seed).integers(0, 3, len(X))
    model = C50Classifier(min_samples_branch=1 + seed % 3, confidence=(0.25, 0.5, 0.8)[seed % 3], global_pruning=False)
    weighted = model.fit(X, y, sample_weight=times).tree_
    repeated = model.fit(X.loc[X.index.repeat(times)], y.loc[y.index.repeat(times)]).tree_
    assert np.sort(weighted.threshold).tolist() == pytest.approx(np.sort(repeated.threshold).tolist(), nan_ok=True, rel=0, abs=0)


def test_the_order_of_the_rows_changes_nothing() -> None:
    X, y = mixed_table(300, 2)
    order = np.random.default_rng(3).permutation(len(X))
    tree, other = C50Classifier().fit(X, y).tree_, C50Classifier().fit(X.iloc[order], y[order]).tree_
    assert tree.node_count > 3
    assert tree == other


@pytest.mark.parametrize("seed", [1, 10])
def test_each_node_counts_the_samples_that_reach_it_with_any_part(seed: int) -> None:
    draw = np.random.default_rng(seed)
    X = pd.DataFrame(draw.normal(size=(150, 3)).round(1), columns=list("abc"))
    X["e"] = pd.Categorical(draw.choice(list("uvwxyz"), 150))
    X["g"] = pd.Categorical(draw.choice(list("pqrs"), 150))
    y = np.where((X["a"] > 0) ^ X["e"].isin(["u", "w"]) ^ X["g"].isin(["p"]), "yes", "no")
    y = np.where(draw.random(150) < 0.1, "other", y)
    X = X.mask(draw.random(X.shape) < 0.2)
    model = C50Classifier(min_samples_branch=1, confidence=0.95, global_pruning=False).fit(X, y)
    tree, reached = model.tree_, np.asarray(model.decision_path(X).astype(bool).sum(axis=0)).ravel()
    too_light_to_divide = (tree.n_branches == 0) & (tree.weight < 0.05) & (tree.n_samples > 0)
    assert too_light_to_divide.any()
    assert tree.n_samples.tolist() == reached.tolist()


def test_a_threshold_in_a_wide_gap_takes_few_bits_to_name() -> None:
    """The gain is 4.75 bits: fewer than name one of some 36 cuts, and more than name one of two intervals as wide as the gap."""
    first = np.isin(np.arange(20), [1, 4, 7, 10, 13, 16])
    y = np.r_[first, ~first[::-1]]
    even, gap = np.arange(40.0), np.r_[np.arange(20.0), np.arange(220.0, 240.0)]
    tree = C50Classifier(pruning=None).fit(gap[:, None], y).tree_
    assert tree.threshold[0] == 19
    assert C50Classifier(pruning=None).fit(even[:, None], y).tree_.node_count == 1


@pytest.mark.parametrize("limit", [{"max_depth": 2}, {"max_leaf_nodes": 3}])
def test_limits_hold_after_pruning(limit: dict[str, int]) -> None:
    X, y = mixed_table(300, 4)
    model = C50Classifier(confidence=0.9, global_pruning=False, **limit).fit(X, y)
    assert model.get_depth() <= limit.get("max_depth", 99)
    assert model.get_n_leaves() <= limit.get("max_leaf_nodes", 99)


def test_words_of_pruning() -> None:
    X, y = mixed_table(300, 5)
    grown = C50Classifier(pruning=None).fit(X, y)
    pruned = C50Classifier(pruning="error_based", confidence=0.1).fit(X, y)
    assert grown.tree_ == grown.tree_unpruned_
    assert pruned.get_n_leaves() < grown.get_n_leaves()
    assert "Pruned by C5.0 from" in C50Classifier().fit(X, y).summary()
    with pytest.raises(ValueError, match="use it in the fit"):
        grown.prune("c50")
    with pytest.raises(ValueError, match="must be 'c50', "):
        C50Classifier(pruning="never").fit(X, y)


def test_a_saved_model_is_the_same() -> None:
    X, y = mixed_table(300, 6)
    model = C50Classifier(confidence=0.1, global_pruning=False).fit(X, y)
    read = from_json(model.to_json())
    assert isinstance(read, C50Classifier)
    assert read.get_params() == model.get_params()
    assert read.tree_ == model.tree_
    assert (model.to_predictor().predict_proba(X) == model.predict_proba(X)).all()


def test_too_many_categories_to_group() -> None:
    X = pd.DataFrame({"who": pd.Categorical([f"c{i}" for i in range(1001)])})
    with pytest.raises(ValueError, match="'who' has 1001 categories: subset=True groups at most 1000; use subset=False"):
        C50Classifier(subset=True).fit(X, np.arange(1001) % 2)


@pytest.mark.parametrize("seed", range(30))
def test_global_pruning_of_any_tree_removes_the_subtrees_that_the_twin_removes(seed: int) -> None:
    draw = np.random.default_rng(seed)
    steps = np.float32([0.7, 0.1, 1.3, 2.0584111])[: 1 + seed % 4]  # few weights: costs tie, or differ by rounding alone

    def random_node(depth: int) -> Node:
        is_inner = depth == 5 or (depth > 0 and draw.random() < 0.8)
        children = [random_node(depth - 1) for _ in range(draw.integers(2, 4))] if is_inner else []
        weights = draw.choice(steps, 3) * draw.integers(0, 5, 3) * (draw.random() > 0.1)
        if children:
            weights = np.sum([child.weights for child in children], axis=0)
        weights = weights.astype(np.float32).astype(float)
        test = Test("values", 0) if children else None
        return Node(int(weights.argmax()), in_single_precision(weights), weights, 0.0, test, children)

    root = random_node(5)
    nodes = [root]
    for node in nodes:
        nodes += node.children
    number = {id(node): i for i, node in enumerate(nodes)}
    parent = np.full(len(nodes), -1, np.int32)
    for node in nodes:
        parent[[number[id(child)] for child in node.children]] = number[id(node)]
    weight = np.array([in_single_precision(node.weights) for node in nodes], np.float32)
    is_leaf = np.array([not node.children for node in nodes], np.uint8)
    leaves = (is_leaf & (weight > 0.05)).astype(np.int32)
    total = float(root.weights.sum())
    found = is_leaf.copy()
    hidden = (weight <= 0.1).astype(np.uint8)
    hidden[0] = 0
    passes.subtrees_within_one_error(parent, np.array([node.weights for node in nodes]), leaves, hidden, found, -1.0, total)

    cut_at_one_error(root, None, total)
    reached = [root]
    for node in reached:
        reached += node.children
    assert {number[id(node)] for node in reached if not node.children} == outermost(found.astype(bool), parent)


def outermost(marked: Any, parent: Any) -> set[int]:
    """The marked nodes without one above them."""
    above = np.zeros(len(marked), bool)
    for i in range(1, len(marked)):
        above[i] = above[parent[i]] or marked[parent[i]]
    return set(np.flatnonzero(marked & ~above).tolist())
