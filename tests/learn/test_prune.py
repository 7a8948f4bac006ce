"""Pruning: by predicted errors with raising of branches, and by C_alpha; numbers from the books, and slow twins."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_pruning import extra_errors, prune
from trees import Node, flat, leaf, nested, split

from fasttree import C45Classifier, CARTClassifier, ID3Classifier, TreeClassifier
from fasttree._learn.prune.error_based import (
    LEVELS,
    QUANTILES,
    normal_quantile,
    predicted_errors,
    without_impossible_categories,
)
from fasttree._learn.prune.methods import c_alpha
from fasttree._model.arrays import CATEGORY, NOMINAL, SHARES
from fasttree._model.tree import Tree
from fasttree.pruning import CAlpha, ErrorBased

DATA = Path(__file__).parents[1] / "tables"


def categories_of(name: str) -> tuple[pd.DataFrame, pd.Series]:
    table = pd.read_csv(DATA / name, dtype=str)
    return table.iloc[:, :-1], table.iloc[:, -1]


def one_leaf(n: int, wrong: int, **parameters) -> float:
    """Predicted errors of a tree that is one leaf of n samples."""
    y = [0] * (n - wrong) + [1] * wrong
    return float(C45Classifier(**parameters).fit(pd.DataFrame({"x": [1.0] * n}), y).tree_.estimated_errors[0])


# Error-based pruning


@pytest.mark.parametrize(("level", "quantile"), [(0.25, 0.6925), (0.10, 1.28), (0.001, 3.09), (0.4, 0.25), (0.7, 0.125)])
def test_quantiles_are_those_of_the_table_and_straight_lines_between(level, quantile):
    assert normal_quantile(level) == pytest.approx(quantile, rel=1e-6)


@pytest.mark.parametrize(
    ("n", "wrong", "extra"),
    [(1, 0, 0.75), (2, 0, 1.0), (6, 0, 1.237797), (9, 0, 1.284804), (16, 1, 1.506894), (168, 1, 1.610055), (14, 5, 1.794993)],
)
def test_a_leaf_is_predicted_the_errors_of_the_book(n, wrong, extra):
    # Quinlan 1993, chapter 4: U(0, 6), U(0, 9), U(1, 16), U(1, 168) at 25 %
    assert one_leaf(n, wrong) == pytest.approx(wrong + extra, abs=2e-6)


def test_errors_of_a_part_of_a_sample_lie_between():
    # 3 samples of class 0, and one of weight 0.5 of class 1: 3.5 cases with 0.5 errors
    model = C45Classifier().fit(pd.DataFrame({"x": [1.0] * 4}), [0, 0, 0, 1], sample_weight=[1, 1, 1, 0.5])
    none = 3.5 * (1 - 0.25 ** (1 / 3.5))
    q = 0.6925**2
    one = 3.5 * (1.5 + q / 2 + math.sqrt(q * (1.5 * (1 - 1.5 / 3.5) + q / 4))) / (3.5 + q) - 1
    assert model.tree_.estimated_errors[0] == pytest.approx(0.5 + none + 0.5 * (one - none), abs=1e-5)


@given(
    counts=st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, 3.0, 40.0]), min_size=3, max_size=3), min_size=2, max_size=4
    ),
    confidence=st.sampled_from([0.001, 0.03, 0.25, 0.5, 0.9]),
)
def test_errors_are_predicted_by_the_formula_in_double_precision(counts, confidence):
    leaves = [leaf(each, n_samples=1) for each in counts]
    root = split(leaves, feature=2, kind=CATEGORY, value=np.sum(counts, axis=0).tolist(), n_samples=len(counts))
    q = float(np.interp(confidence, LEVELS, QUANTILES)) ** 2
    expected = []
    for held in (root.fields["value"], *counts):
        n, wrong = sum(held), sum(held) - max(held)
        expected.append(wrong + extra_errors(n, wrong, confidence, q) if n else 0.0)
    assert predicted_errors(flat(root, "classification"), confidence) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("wrong", [1e-6, 0.9999])
def test_where_one_formula_of_errors_ends_the_next_one_begins(wrong):
    q = float(np.interp(0.25, LEVELS, QUANTILES)) ** 2
    found = predicted_errors(flat(leaf([wrong, wrong], n_samples=2), "classification"), 0.25)
    assert found == pytest.approx([wrong + extra_errors(2 * wrong, wrong, 0.25, q)], rel=1e-12)


def test_impossible_categories_leave_the_last_group_alone():
    def cities(table: list[tuple[int, int]], children: list[Node], value: list[float]) -> Node:
        return split(children, feature=2, kind=NOMINAL, table=table, value=value)

    leaves = [leaf([2.0, 0.0]), leaf([0.0, 3.0]), leaf([1.0, 0.0])]
    below = cities([(1, 0), (4, 0), (2, 1), (3, 2), (4, 2)], leaves, [3.0, 3.0])
    tree = flat(cities([(1, 0), (2, 0), (3, 0), (4, 1)], [below, leaf([0.0, 4.0])], [3.0, 7.0]), "classification")
    without = without_impossible_categories(tree)
    assert without.n_branches.tolist() == tree.n_branches.tolist()
    assert nested(without, 1).table == [(1, 0), (4, 0), (2, 1), (3, 2)]


@pytest.mark.parametrize(("smaller", "larger"), [(0.001, 0.05), (0.05, 0.25), (0.25, 0.6), (0.6, 0.95)])
def test_less_confidence_predicts_more_errors_and_prunes_more(smaller, larger):
    assert one_leaf(30, 4, confidence=smaller) > one_leaf(30, 4, confidence=larger)
    X, y = categories_of("prune48_train.csv")
    sizes = [C45Classifier(min_samples_branch=1, confidence=level).fit(X, y).tree_.node_count for level in (smaller, larger)]
    assert sizes[0] <= sizes[1]


def raised(grown: Tree, pruned: Tree) -> list[tuple[int, int]]:
    """Nodes of both trees at the same place, where another test stands after pruning."""
    found, pairs = [], [(0, 0)]
    for old, new in pairs:
        if pruned.n_branches[new] == 0:
            continue
        if (grown.feature[old], grown.threshold[old]) == pytest.approx((pruned.feature[new], pruned.threshold[new]), nan_ok=True):
            pairs += [(grown.first_child[old] + b, pruned.first_child[new] + b) for b in range(grown.n_branches[old])]
        else:
            found.append((old, new))
    return found


@pytest.mark.parametrize("name", ["german.csv.gz", "credit-a.csv.gz"])
def test_where_the_heaviest_branch_takes_its_parents_place_it_knows_all_samples_of_the_parent(name):
    table = pd.read_csv(DATA / name)
    model = C45Classifier(min_samples_branch=1).fit(table.iloc[:, :-1], table.iloc[:, -1])
    grown, pruned = model.tree_unpruned_, model.tree_
    pruned.check()
    places = raised(grown, pruned)
    assert places
    for old, new in places:
        assert pruned.value[new] == pytest.approx(grown.value[old])
        below = [old]
        while below and pruned.feature[new] not in grown.feature[below]:
            children = [grown.first_child[i] + np.arange(grown.n_branches[i]) for i in below if grown.n_branches[i]]
            below = [int(c[np.argmax(grown.weight[c])]) for c in children]
        assert below


def test_estimated_errors_of_a_node_are_those_of_its_leaves():
    X, y = categories_of("prune48_train.csv")
    tree = C45Classifier(min_samples_branch=1, confidence=0.6).fit(X, y).tree_
    sums = np.bincount(tree.parent[1:], weights=tree.estimated_errors[1:], minlength=tree.node_count)
    inner = tree.n_branches > 0
    assert inner.sum() > 3
    assert sums[inner] == pytest.approx(tree.estimated_errors[inner], rel=1e-5)


def test_a_loaded_model_predicts_as_the_pruned_tree(tmp_path):
    X, y = categories_of("prune48_train.csv")
    model = C45Classifier(min_samples_branch=1, confidence=0.6).fit(X, y)
    model.save(tmp_path / "model.json")
    again = C45Classifier.load(tmp_path / "model.json")
    assert again.tree_ == model.tree_
    assert not hasattr(again, "tree_unpruned_")


def test_rows_of_weight_zero_take_no_part_in_pruning():
    X, y = categories_of("prune48_train.csv")
    weight = np.array([1.0, 1.0, 0.0] * 16)
    kept = weight > 0
    model = C45Classifier(min_samples_branch=1, confidence=0.6)
    assert model.fit(X, y, sample_weight=weight).tree_ == model.fit(X[kept], y[kept]).tree_


@st.composite
def tables(draw):
    n = draw(st.integers(4, 60))
    column = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=n, max_size=n)
    numbers = st.lists(st.one_of(st.integers(0, 9).map(float), st.just(math.nan)), min_size=n, max_size=n)
    X = pd.DataFrame({"u": draw(column), "v": draw(column), "w": draw(numbers)}, dtype=object)
    X["w"] = X["w"].astype(float)
    for name in "uv":
        X[name] = pd.Categorical(X[name], ["a", "b", "c"])
    return X, draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), draw(st.sampled_from([0.05, 0.25, 0.9]))


@given(tables(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_the_rows_changes_no_bit_of_a_pruned_tree(example, random):
    X, y, confidence = example
    order = list(range(len(y)))
    random.shuffle(order)
    model = C45Classifier(min_samples_branch=1, confidence=confidence)
    classes = pd.Categorical(y, [0, 1, 2])
    tree = model.fit(X, classes).tree_
    tree.check()
    assert tree == model.fit(X.iloc[order], classes[order]).tree_


@given(tables())
@settings(deadline=None)
def test_pruning_never_predicts_much_more_errors_than_before(example):
    # a simplification may cost 0.1 errors at each node where it is made
    X, y, confidence = example
    model = C45Classifier(min_samples_branch=1, confidence=confidence).fit(X, y)
    before = sum(one_leaf_errors(model.tree_unpruned_, leaf, confidence) for leaf in model.tree_unpruned_.leaves())
    assert model.tree_.estimated_errors[0] <= before + 0.1 * model.tree_unpruned_.node_count + 1e-3


def one_leaf_errors(tree: Tree, leaf: int, confidence: float) -> float:
    """Errors that Quinlan's formula predicts for a leaf, in double precision."""
    n, wrong, q = tree.weight[leaf], tree.weight[leaf] - tree.value[leaf].max(), float(normal_quantile(confidence)) ** 2
    return 0.0 if n == 0 else wrong + extra_errors(n, max(wrong, 0.0), confidence, q)


def test_light_parts_are_not_divided_but_keep_their_weight():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1000, 6)).round(1)
    y = (X.sum(axis=1) > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    whole = C45Classifier(min_samples_branch=1).fit(X, y)
    coarse = C45Classifier(min_samples_branch=1, min_part_weight=0.3).fit(X, y)
    for tree in (coarse.tree_, coarse.tree_unpruned_):
        tree.check()
        assert tree.weight[tree.leaves()].sum() == pytest.approx(1000)
        assert (tree.missing[tree.feature >= 0] == SHARES).all()
    n_parts = [model.tree_unpruned_.n_samples[model.tree_unpruned_.leaves()].sum() for model in (coarse, whole)]
    assert n_parts[0] < 0.95 * n_parts[1]


@pytest.mark.parametrize("min_part_weight", [0.0, 0.3, 1.0])
def test_samples_go_in_pruning_where_they_went_in_growth(min_part_weight):
    """Parts of samples, and whole ones, that are too light to be divided follow the heaviest branch in both."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(600, 5)).round(1)
    y = (X[:, 0] > 0) * 2 + (X[:, 1:3].sum(axis=1) > 0)
    X[rng.random(X.shape) < 0.15] = np.nan
    weight = rng.choice([0.1, 0.25, 0.5, 1.0, 2.0], len(X))
    model = C45Classifier(min_samples_branch=1, confidence=0.9, min_part_weight=min_part_weight).fit(X, y, sample_weight=weight)
    pruned, grown = model.tree_, model.tree_unpruned_
    assert 20 < pruned.node_count < grown.node_count
    assert_same_samples(pruned, grown)


@pytest.mark.parametrize("each", [1.0, 0.25, 3.0])
def test_parts_of_less_than_three_quarters_of_a_sample_are_not_divided_in_pruning_either(each):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(600, 5)).round(1)
    y = (X[:, 0] > 0) * 2 + (X[:, 1:3].sum(axis=1) > 0)
    X[rng.random(X.shape) < 0.15] = np.nan
    weight = np.full(len(X), each)
    weight[:100] = 0
    grown = CARTClassifier(missing="fractional").fit(X, y, sample_weight=weight)
    pruned = grown.prune(ErrorBased(confidence=0.9), X, y, sample_weight=weight)
    assert 20 < pruned.tree_.node_count < grown.tree_.node_count
    assert_same_samples(pruned.tree_, grown.tree_)


def assert_same_samples(pruned: Tree, grown: Tree) -> None:
    """The nodes of a pruned tree hold what they held before, down to where branches were raised."""
    pairs, n_pairs = [(0, 0)], 0
    while pairs:
        i, j = pairs.pop()
        assert pruned.n_samples[i] == grown.n_samples[j]
        assert pruned.value[i] == pytest.approx(grown.value[j], abs=1e-9)
        if (pruned.value[i] == grown.value[j]).all():
            assert pruned.impurity[i] == grown.impurity[j]
        n_pairs += 1
        if pruned.feature[i] == grown.feature[j] >= 0 and pruned.threshold[i] == grown.threshold[j]:
            pairs += [(pruned.first_child[i] + b, grown.first_child[j] + b) for b in range(pruned.n_branches[i])]
    assert n_pairs > 20


@pytest.mark.parametrize("missing", ["direction", "majority", "branch"])
@pytest.mark.parametrize("n_categories", [10, 300, 66_000])  # codes of one byte, of two and of four
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_samples_that_prune_go_where_a_prediction_goes(dtype, n_categories, missing):
    rng = np.random.default_rng(n_categories)
    n = max(n_categories, 2000)
    codes = rng.permutation(n) % n_categories
    kind = codes % 3
    X = pd.DataFrame({"c": pd.Categorical.from_codes(codes, [f"c{i}" for i in range(n_categories)])})
    X["a"], X["b"] = ((kind + scale * rng.normal(size=n)).astype(dtype) for scale in (0.3, 0.5))
    X = X.mask(rng.random(X.shape) < [0.2, 0.2, 0.1])
    y = np.where(rng.random(n) < 0.15, rng.integers(0, 3, n), kind)
    grown = CARTClassifier(missing=missing, max_depth=6, min_samples_leaf=5).fit(X, y)
    pruned = grown.prune("error_based", X, y)
    assert 3 < pruned.tree_.node_count < grown.tree_.node_count
    predicted = np.bincount(pruned.apply(X), minlength=pruned.tree_.node_count)
    leaves = pruned.tree_.leaves()
    assert pruned.tree_.n_samples[leaves].tolist() == predicted[leaves].tolist()


@pytest.mark.parametrize("seed", [2, 3, 17, 22, 23, 44])
def test_trees_that_divide_samples_are_pruned_as_by_the_twin(seed):
    """Also by samples that did not grow them, which have categories that a node does not know, or are too light to be divided."""
    rng = np.random.default_rng(seed)
    n, n_classes, lost = int(rng.integers(30, 100)), 2 + seed % 2, (0, 0.1, 0.3)[seed % 3]
    codes, numbers = rng.integers(1, 5, (n, 3)), rng.integers(0, 6, (n, 2)).astype(float)
    signal = ((codes[:, 0] == 1) | (numbers[:, 0] > 3)) & (codes[:, 1] > 1)
    y = np.where(rng.random(n) < 0.3, rng.integers(0, n_classes, n), signal)
    y[:n_classes] = np.arange(n_classes)
    codes[rng.random(codes.shape) < lost] = 0
    numbers[rng.random(numbers.shape) < lost] = np.nan
    X = pd.DataFrame({f"c{j}": pd.Categorical.from_codes(codes[:, j] - 1, list("pqrs")) for j in range(3)})
    X = X.assign(**{f"n{j}": numbers[:, j] for j in range(2)})
    weight = rng.choice([0.25, 0.5, 1.0], n) if seed % 4 else np.ones(n)
    least, confidence = (0.0, 0.3, 0.6)[seed % 5 % 3], (0.1, 0.25, 0.6)[seed % 7 % 3]
    model = C45Classifier(variant="textbook", pruning=None, min_samples_branch=0.5, min_part_weight=least, confidence=confidence)
    first = slice(n // 2)
    grown = model.fit(X[first], y[first], sample_weight=weight[first])
    for rows in (first, slice(n)):
        pruned = grown.prune("error_based", X[rows], y[rows], sample_weight=weight[rows]).tree_
        columns = [column[rows] for column in (*codes.T, *numbers.T)]
        twin = prune(grown.tree_, columns, y[rows], weight[rows], confidence, least)
        tests = [int(grown.tree_.feature[node.test]) if node.children else -1 for node in twin]
        assert pruned.feature.tolist() == tests
        assert pruned.weight == pytest.approx([node.counts.sum() for node in twin], abs=1e-6)
        came = pruned.weight > 0
        assert pruned.value[came] == pytest.approx(np.array([node.counts for node in twin])[came], abs=1e-6)
        assert pruned.estimated_errors == pytest.approx([node.errors for node in twin], abs=1e-3)


@pytest.mark.parametrize(("seed", "lost", "confidence"), [(850, 0.1, 0.5), (947, 0.2, 0.75), (487, 0.3, 0.5), (987, 0.3, 0.75)])
def test_a_branch_in_its_nodes_place_divides_anew_what_it_has_divided(seed, lost, confidence):
    """The shares of its branches change with the samples that come to it, and that decides here."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 160))
    codes = rng.integers(1, 4, (n, 5))
    y = (codes[:, 0] == 1) ^ ((codes[:, 1] == 2) & (codes[:, 2] == 1))
    y = np.where(rng.random(n) < 0.2, ~y, y).astype(int)
    codes[rng.random(codes.shape) < lost] = 0
    X = pd.DataFrame({f"c{j}": pd.Categorical.from_codes(codes[:, j] - 1, list("pqr")) for j in range(5)})
    model = C45Classifier(min_samples_branch=1, confidence=confidence).fit(X, y)
    twin = prune(model.tree_unpruned_, list(codes.T), y, np.ones(n), confidence, 0.0)
    tests = [int(model.tree_unpruned_.feature[node.test]) if node.children else -1 for node in twin]
    assert model.tree_.feature.tolist() == tests
    assert model.tree_.estimated_errors == pytest.approx([node.errors for node in twin], abs=1e-3)


def test_codes_in_an_order_are_pruned_as_numbers_are():
    rng = np.random.default_rng(2)
    levels = ["low", "middle", "high", "highest"]
    codes = rng.integers(0, 4, (300, 4))
    y = (codes[:, 0] + codes[:, 1] > 3) ^ (rng.random(300) < 0.2)
    words, numbers = pd.DataFrame(np.array(levels)[codes], columns=list("abcd")), codes.astype(float)
    recipe = {"impurity": "entropy", "rank": "gain_ratio", "missing": "fractional"}
    model = TreeClassifier(recipe=recipe, pruning="error_based", ordinal_features=dict.fromkeys("abcd", levels)).fit(words, y)
    expected = TreeClassifier(recipe=recipe, pruning="error_based").fit(numbers, y)
    assert 3 < model.get_n_leaves() < model.tree_unpruned_.n_leaves
    assert (model.predict_proba(words) == expected.predict_proba(numbers)).all()
    assert (model.tree_.estimated_errors == expected.tree_.estimated_errors).all()


# C_alpha


@pytest.mark.parametrize(
    ("alpha", "n_leaves"),
    [(0, 12), (1.14, 12), (1.15, 11), (1.96, 9), (2.11, 8), (3.0, 8), (3.11, 6), (3.32, 4), (5.58, 4), (5.60, 1), (6, 1)],
)
def test_c_alpha_finds_the_subtree_of_least_cost(alpha, n_leaves):
    X, y = categories_of("prune48_train.csv")
    tree = ID3Classifier(min_samples_split=4).fit(X, y).tree_
    assert tree.n_leaves == 12
    assert c_alpha(tree, alpha).n_leaves == n_leaves


@pytest.mark.parametrize(("alpha", "n_leaves"), [(7.28, 3), (7.29, 1)])
def test_c_alpha_looks_above_parents_whose_children_are_not_all_leaves(alpha, n_leaves):
    # Li Hang's loan table: the loop of the book keeps 3 leaves up to alpha = 8.26
    table = pd.read_csv(DATA / "loan15.csv", dtype=str)
    X, y = table[["age", "has_job", "owns_house", "credit"]], table["approved"]
    model = C45Classifier(variant="textbook", pruning=CAlpha(alpha=alpha)).fit(X, y)
    assert model.tree_.n_leaves == n_leaves
    assert model.tree_unpruned_.n_leaves == 3
