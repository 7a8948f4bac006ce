"""Every method of pruning: worked numbers on one small tree, slow twins on random ones, and the estimators that offer them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from trees import Node, chain, flat, leaf, nested, random_nodes, split

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier
from fasttree._data.encode import encode_table
from fasttree._data.learn import learn_table
from fasttree._learn.grow.independence import P_VALUE_TOLERANCE, independence_probability, without_independent_splits
from fasttree._learn.prune import methods
from fasttree._learn.prune.error_based import error_based_without_samples, predicted_errors
from fasttree._learn.prune.losses import LEAST_ANSWER, class_impurity, losses
from fasttree._learn.prune.sequence import SubtreeSequence, by_critical_value, choose, weakest_links
from fasttree._learn.samples import Samples
from fasttree._model import walks
from fasttree._model.arrays import CATEGORY, THRESHOLD
from fasttree._model.tree import Tree
from fasttree.pruning import METHODS as VALUES
from fasttree.pruning import CAlpha, ChiSquare, CostComplexity, ErrorBased, MinimumError, ReducedError

DATA = Path(__file__).parents[1] / "tables"
METHODS = ["cost_complexity", "c_alpha", "pessimistic", "error_based", "minimum_error", "critical_value", "chi_square"]


def categories_of(name: str) -> tuple[pd.DataFrame, pd.Series]:
    table = pd.read_csv(DATA / name, dtype=str)
    return table.iloc[:, :-1], table.iloc[:, -1]


VALIDATION = categories_of("prune24_valid.csv")


@pytest.fixture(scope="module")
def example() -> ID3Classifier:
    """The tree of the worked numbers: 12 leaves, 3 errors."""
    model = ID3Classifier(min_samples_split=4).fit(*categories_of("prune48_train.csv"))
    assert model.tree_.n_leaves == 12
    assert errors_of(model) == (3, 6)
    return model


def errors_of(model: Any) -> tuple[int, int]:
    return tuple(int((model.predict(X) != y).sum()) for X, y in (categories_of("prune48_train.csv"), VALIDATION))  # type: ignore[return-value]


def depth_first(tree: Tree, node: int = 0) -> Iterator[int]:
    yield node
    for branch in range(tree.n_branches[node]):
        yield from depth_first(tree, tree.first_child[node] + branch)


def inner_nodes(pruned: Tree, whole: Tree) -> list[int]:
    """Inner nodes that are kept, by their numbers in the whole tree, depth first; the rest of the tree must be as it was."""
    number = {node: i for i, node in enumerate(depth_first(whole))}
    kept, pairs = [], [(0, 0)]
    for old, new in pairs:
        assert pruned.value[new].tolist() == whole.value[old].tolist()
        assert pruned.n_branches[new] in (0, whole.n_branches[old])
        if pruned.n_branches[new]:
            assert pruned.feature[new] == whole.feature[old]
            kept.append(number[old])
            pairs += [(whole.first_child[old] + b, pruned.first_child[new] + b) for b in range(whole.n_branches[old])]
    return sorted(kept)


# The worked numbers


ALL = [0, 1, 2, 5, 9, 10, 15, 16]
KEPT: list[tuple[str, dict[str, Any], list[int], int, tuple[int, int]]] = [
    ("pessimistic", {}, [0, 1, 9], 6, (6, 7)),
    ("minimum_error", {"m": 2}, [0, 1, 2, 9, 10], 9, (4, 8)),
    ("minimum_error", {"m": "laplace"}, [0, 1, 2, 9, 10], 9, (4, 8)),
    ("minimum_error", {"m": 0.5}, [0, 1, 2, 9, 10, 15, 16], 11, (3, 6)),
    ("minimum_error", {"m": 1}, [0, 1, 2, 9, 10, 15, 16], 11, (3, 6)),
    ("minimum_error", {"m": 8}, [0, 1, 9], 6, (6, 7)),
    ("minimum_error", {"m": 12}, [0, 1, 5, 9], 7, (6, 7)),
    ("minimum_error", {"m": 50}, [0, 1, 5, 9], 7, (6, 7)),
    ("error_based", {"confidence": 0.25}, [0, 1, 2, 9], 7, (5, 7)),
    ("critical_value", {"value": 0.1705}, ALL, 12, (3, 6)),
    ("critical_value", {"value": 0.1909}, [0, 1, 2, 9, 10, 15, 16], 11, (3, 6)),
    ("critical_value", {"value": 0.4200}, [0, 9, 10, 15, 16], 8, (8, 9)),
    ("critical_value", {"value": 0.4670}, [0, 9, 10], 6, (9, 11)),
    ("critical_value", {"value": 0.6501}, [0, 9], 4, (10, 10)),
    ("critical_value", {"value": 0.6613}, [], 1, (17, 11)),
    ("chi_square", {"p_value": 0.01}, [0, 9], 4, (10, 10)),
    ("chi_square", {"p_value": 0.05}, [0, 1, 9, 10, 15, 16], 10, (4, 6)),
    ("chi_square", {"p_value": 0.2}, [0, 1, 2, 9, 10, 15, 16], 11, (3, 6)),
    ("chi_square", {"p_value": 0.3}, ALL, 12, (3, 6)),
    ("c_alpha", {"alpha": 3}, [0, 1, 9, 15, 16], 8, (5, 5)),
    ("c_alpha", {"alpha": 3 * np.log(2), "unit": "nats"}, [0, 1, 9, 15, 16], 8, (5, 5)),
    ("cost_complexity", {"risk": "error"}, [0, 1, 2, 9, 10, 15, 16], 11, (3, 6)),
    ("cost_complexity", {"alpha": 1 / 96, "risk": "error"}, [0, 1, 2, 9], 7, (5, 7)),
    ("cost_complexity", {"alpha": 1 / 48, "risk": "error"}, [0, 1, 9], 6, (6, 7)),
    ("cost_complexity", {"alpha": 0.041, "risk": "error"}, [0, 1, 9], 6, (6, 7)),
    ("cost_complexity", {"alpha": 0.042, "risk": "error"}, [0, 9], 4, (10, 10)),
    ("cost_complexity", {"alpha": 0.0487, "risk": "error"}, [], 1, (17, 11)),
]


@pytest.mark.parametrize(("method", "parameters", "inner", "n_leaves", "errors"), KEPT)
def test_each_method_keeps_the_nodes_of_the_worked_example(example, method, parameters, inner, n_leaves, errors):
    pruned = example.prune(VALUES[method](**parameters))
    pruned.tree_.check()
    assert inner_nodes(pruned.tree_, example.tree_) == inner
    assert pruned.tree_.n_leaves == n_leaves
    assert errors_of(pruned) == errors


@pytest.mark.parametrize(("tolerance", "inner"), [(0, [0, 1, 15, 16]), (0.1, [0, 1, 15, 16]), (0.2, [])])
def test_reduced_error_keeps_the_nodes_of_the_worked_example(example, tolerance, inner):
    pruned = example.prune(ReducedError(max_error_increase=tolerance), *VALIDATION)
    assert inner_nodes(pruned.tree_, example.tree_) == inner
    assert errors_of(pruned) == ((9, 5) if inner else (17, 11))


@pytest.mark.parametrize(
    ("level", "inner"), [(0.01, [0, 9]), (0.05, [0, 1, 9, 10]), (0.1, [0, 1, 9, 10, 15, 16]), (0.2, [0, 1, 2, 9, 10, 15, 16])]
)
def test_a_chi_square_test_that_stops_growth_does_not_see_what_is_below(example, level, inner):
    assert inner_nodes(without_independent_splits(example.tree_, level), example.tree_) == inner


def test_a_test_whose_p_value_is_exactly_the_largest_one_stays(example):
    probability = by_number(example.tree_, independence_probability(example.tree_))
    for number in ALL:
        pruned = example.prune(ChiSquare(p_value=probability[number]))
        assert number in inner_nodes(pruned.tree_, example.tree_)


def test_a_test_whose_gain_is_exactly_the_critical_value_stays(example):
    gain = by_number(example.tree_, example.tree_.gain)
    for number in ALL:
        assert number in inner_nodes(methods.critical_value(example.tree_, gain[number]), example.tree_)


@pytest.mark.parametrize("prune", [methods.cost_complexity, methods.c_alpha])
def test_a_link_as_weak_as_the_largest_difference_that_does_not_count_falls(example, prune):
    tree = example.tree_
    cost = tree.risk / tree.weight[0] if prune is methods.cost_complexity else tree.weight * class_impurity(tree.value, "entropy")
    level, tolerance, tried = methods.complexity(tree, cost), methods.EQUAL_COSTS * cost.max(), 0
    for at in np.unique(level[level > 0]):
        if at - tolerance + tolerance == at:
            tried += 1
            assert prune(tree, at - tolerance).n_leaves == tree.prune_at(level <= at).n_leaves
    assert tried


def test_a_p_value_as_large_as_the_largest_that_does_not_count_as_larger_stays(example):
    tried = 0
    for p in np.unique(independence_probability(example.tree_)[example.tree_.n_branches > 0]):
        largest = p / (1 + P_VALUE_TOLERANCE)
        for at in (np.nextafter(largest, 0), largest, np.nextafter(largest, 1)):
            if at * (1 + P_VALUE_TOLERANCE) == p:
                tried += 1
                kept = methods.largest_below(example.tree_, -independence_probability(example.tree_)) >= -p
                assert methods.chi_square(example.tree_, at).n_leaves == example.tree_.prune_at(~kept).n_leaves
    assert tried


def two_leaves(value: list[float], *leaves: list[float]) -> Tree:
    return flat(
        split([leaf(each, n_samples=9) for each in leaves], feature=2, kind=CATEGORY, value=value, n_samples=18), "classification"
    )


@pytest.mark.parametrize(
    ("errors", "below", "n_leaves"),
    [
        (1.4, [0.0, 0.0], 1),  # 1.9 <= 0.5 + 0.5 + sqrt(1 * (10 - 1) / 10), which is 1.949
        (1.5, [0.0, 0.0], 2),
        (0.5, [0.0, 0.5], 1),
        (3.6, [1.0, 0.5], 2),
    ],
)
def test_pessimistic_pruning_goes_as_far_as_the_standard_error(errors, below, n_leaves):
    tree = two_leaves([10 - errors, errors], [6 - below[0], below[0]], [4 - below[1], below[1]])
    expected = below[0] + below[1] + 1
    assert (errors + 0.5 <= expected + np.sqrt(expected * (10 - expected) / 10)) == (n_leaves == 1)
    assert methods.pessimistic(tree).n_leaves == n_leaves


@pytest.mark.parametrize("more", [0.0, 3 * methods.EQUAL_COSTS])
def test_a_node_exactly_a_standard_error_above_its_leaves_becomes_a_leaf(more):
    # leaves of 1/2 errors have 1 + 1 corrected ones, whose standard error is 1 among 4 samples
    halves = [leaf([1.5, 0.5, 0.0], n_samples=2) for _ in range(2)]
    root = split(halves, feature=2, kind=CATEGORY, value=[4 - (3 + more - 0.5), 1.25, 1.25], n_samples=4, weight=4.0)
    tree = flat(root, "classification")
    corrected = tree.errors[0] + 0.5
    assert corrected == 3 + more
    assert more == 0 or corrected == 3 + methods.EQUAL_COSTS * corrected
    assert methods.pessimistic(tree).n_leaves == 1


def test_a_branch_without_samples_costs_nothing_without_a_prior():
    empty = leaf([1.0, 0.0], n_samples=0, weight=0.0)
    tree = flat(split([leaf([3.0, 0.0]), leaf([0.0, 3.0]), empty], feature=2, kind=CATEGORY, value=[3.0, 3.0]), "classification")
    with np.errstate(all="raise"):
        assert methods.minimum_error(tree, m=0).n_leaves == 3


def test_only_tests_count_among_the_largest_numbers_below():
    tree = two_leaves([3.0, 3.0], [3.0, 0.0], [0.0, 3.0])
    assert methods.largest_below(tree, np.array([-0.5, 1.0, 2.0])).tolist() == [-0.5, -np.inf, -np.inf]


def test_the_first_critical_value_prunes_nothing():
    inner = split([leaf([3.0, 1.0]), leaf([3.0, 1.0])], feature=2, kind=CATEGORY, value=[6.0, 2.0])
    inner.fields["gain"] = 0.0
    tree = flat(split([inner, leaf([0.0, 8.0])], feature=0, kind=THRESHOLD, threshold=1.0, value=[6.0, 10.0]), "classification")
    sequence = by_critical_value(tree)
    assert sequence.n_leaves(sequence.steps).tolist() == [3, 2, 1]
    assert sequence.steps[0] < 0


def test_a_sequence_without_any_risk_has_one_step(example):
    sequence = SubtreeSequence(example.tree_, np.zeros(example.tree_.node_count), lowest=0.0, tolerance=0.0)
    assert sequence.steps.tolist() == [0.0]
    assert sequence.subtree(0.0).node_count == 1


def by_number(tree: Tree, of_nodes: np.ndarray) -> dict[int, float]:
    return {i: float(of_nodes[node]) for i, node in enumerate(depth_first(tree))}


def test_the_numbers_of_the_worked_example(example):
    tree = example.tree_
    predicted = by_number(tree, predicted_errors(tree, 0.25))
    expected = {0: 19.8629820242, 1: 8.8200846704, 3: 1.0, 4: 2.0568639530, 8: 1.1715728753, 16: 3.4707319709, 19: 1.3092153823}
    assert {i: predicted[i] for i in expected} == pytest.approx(expected, abs=1e-9)
    probability = by_number(tree, independence_probability(tree))
    expected = {0: 0.005637, 1: 0.032871, 2: 0.136037, 5: 0.273322, 9: 0.002078, 10: 0.049787, 15: 0.067889, 16: 0.035015, 3: 1}
    assert {i: probability[i] for i in expected} == pytest.approx(expected, abs=1e-6)
    assert example.prune("error_based").tree_.estimated_errors[0] == pytest.approx(13.8419646792)


SEQUENCES: dict[str, tuple[list[float], list[int]]] = {
    "error": ([0, 0.0104166667, 0.0208333333, 0.0416666667, 0.0486111111], [11, 7, 6, 4, 1]),
    "gini": ([0.0069444444, 0.0173611111, 0.0222222222, 0.0236111111, 0.0354166667, 0.0640625], [11, 9, 8, 6, 4, 1]),
    "entropy": ([1.1452470277, 1.9500672649, 2.0998654701, 3.0984934888, 3.3125121848, 5.5931084100], [11, 9, 8, 6, 4, 1]),
}


@pytest.mark.parametrize("unit", SEQUENCES)
def test_the_whole_sequence_of_the_worked_example(example, unit):
    tree = example.tree_
    if unit == "gini":
        tree = tree.replace(impurity=1 - ((tree.value / tree.weight[:, None]) ** 2).sum(axis=1))
    sequence = weakest_links(tree, risk="error" if unit == "error" else "impurity")
    alphas, n_leaves = SEQUENCES[unit]
    steps = sequence.steps if unit == "error" else sequence.steps[1:]
    assert steps * (48 if unit == "entropy" else 1) == pytest.approx(alphas, abs=1e-9)
    assert sequence.n_leaves(steps).tolist() == n_leaves
    assert [sequence.subtree(alpha).n_leaves for alpha in steps] == n_leaves


def test_links_that_are_equally_weak_fall_together(example):
    number = {node: i for i, node in enumerate(depth_first(example.tree_))}
    X, y = categories_of("prune48_train.csv")
    path = ID3Classifier(min_samples_split=4, pruning=CostComplexity(risk="error")).cost_complexity_pruning_path(X, y)
    assert [sorted(number[node] for node in nodes) for nodes in path.collapsed] == [[], [5], [10, 15], [2], [1], [0]]
    assert path.ccp_alphas[:3] == pytest.approx([0, 0, 1 / 96])
    assert path.n_leaves.tolist() == [12, 11, 7, 6, 4, 1]
    assert path.risks * 48 == pytest.approx([3, 3, 5, 6, 10, 17])
    assert path.impurities[-1] == pytest.approx(45.0112461114 / 48)


@pytest.mark.parametrize(("errors", "chosen"), [([4.0, 2.0, 3.0, 6.0], 2), ([4.0, 2.0, 3.1, 6.0], 1), ([2.0, 2.0, 4.0, 6.0], 1)])
def test_a_subtree_exactly_a_standard_error_above_the_best_is_chosen(errors, chosen):
    path = weakest_links(CARTClassifier().fit([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [0, 1, 0, 1, 1, 0, 0]).tree_)
    squares = np.array(errors) ** 2 / 8 + 1.0  # the standard error of each sum is 1
    assert choose(path, np.array(errors), squares, 8.0, 1.0, "1se").chosen == chosen


@pytest.mark.parametrize(("rule", "n_leaves"), [("best", 11), ("1se", 6)])
def test_a_subtree_of_the_worked_example_is_chosen_on_other_samples(example, rule, n_leaves):
    chosen = example.prune(CostComplexity(alpha="validation", risk="error", selection=rule), *VALIDATION)
    assert chosen.tree_.n_leaves == n_leaves
    table = chosen.pruning_table_
    assert table.n_leaves[table.chosen] == n_leaves
    assert table.xerror * 11 == pytest.approx([6, 7, 7, 10, 11])
    assert table.xstd[0] * 11 == pytest.approx(np.sqrt(6 * 18 / 24))


def test_a_critical_value_is_chosen_on_other_samples(example):
    chosen = example.prune("critical_value", *VALIDATION)
    assert inner_nodes(chosen.tree_, example.tree_) == [0, 1, 2, 9, 10, 15, 16]
    assert chosen.pruning_table_.n_leaves.tolist() == [12, 11, 8, 6, 4, 1]
    assert chosen.pruning_table_.xerror * 11 == pytest.approx([6, 6, 9, 11, 10, 11])


def test_the_regression_tree_of_the_book():
    # Li Hang, exercise 5.2: R(t) = squared error / 10
    table = pd.read_csv(DATA / "li_reg10.csv")
    path = CARTRegressor().cost_complexity_pruning_path(table[["x"]], table["y"])
    alphas = [0, 0.00128, 0.0045, 0.00726, 0.01058, 0.0256266667, 0.036125, 0.0867, 0.1638003333, 2.427364]
    assert path.ccp_alphas == pytest.approx(alphas, abs=1e-9)
    assert path.n_leaves.tolist() == list(range(10, 0, -1))
    risks = [0, 0.00128, 0.00578, 0.01304, 0.02362, 0.0492466667, 0.0853716667, 0.1720716667, 0.335872, 2.763236]
    assert path.risks == pytest.approx(risks, abs=1e-9)
    assert CARTRegressor(pruning=CAlpha(alpha=0.8671)).fit(table[["x"]], table["y"]).get_n_leaves() == 3


# scikit-learn


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("load", "ours", "theirs"),
    [
        (load_breast_cancer, CARTClassifier, DecisionTreeClassifier),
        (load_wine, CARTClassifier, DecisionTreeClassifier),
        (load_diabetes, CARTRegressor, DecisionTreeRegressor),
    ],
)
def test_path_and_pruned_trees_are_those_of_scikit_learn(load, ours, theirs, weighted):
    X, y = load(return_X_y=True)
    weight = np.random.default_rng(5).integers(1, 4, len(y)).astype(float) if weighted else None
    limits = {"min_samples_leaf": 6, "max_depth": 6}
    found = ours(**limits).cost_complexity_pruning_path(X, y, sample_weight=weight)
    other = theirs(**limits, random_state=0).cost_complexity_pruning_path(X, y, sample_weight=weight)
    scale = other.impurities[-1]
    # where two links are equally weak, scikit-learn cuts one after the other, at alphas that differ by rounding
    distinct = np.append(np.diff(other.ccp_alphas) > 1e-11 * scale, True)
    assert found.ccp_alphas / scale == pytest.approx(np.maximum(other.ccp_alphas[distinct], 0) / scale, abs=1e-11)
    assert found.impurities / scale == pytest.approx(other.impurities[distinct] / scale, abs=1e-11)
    for alpha in found.ccp_alphas[1::3] * (1 + 1e-6):
        mine = ours(**limits, ccp_alpha=alpha).fit(X, y, sample_weight=weight)
        same = theirs(**limits, ccp_alpha=alpha, random_state=0).fit(X, y, sample_weight=weight)
        assert mine.get_n_leaves() == same.get_n_leaves()
        # where two splits are equally good scikit-learn draws one: the risk is the same
        assert mine.tree_.risk[mine.tree_.leaves()].sum() == pytest.approx(
            float((same.tree_.weighted_n_node_samples * same.tree_.impurity)[same.tree_.children_left < 0].sum())
        )


# rpart


@pytest.mark.parametrize(
    ("name", "weighted"), [("kyphosis_default", False), ("kyphosis_full", False), ("kyphosis_weights", True)]
)
def test_the_table_of_cross_validation_is_that_of_rpart(name, weighted, shared):
    table = pd.read_csv(shared / "data" / "rpart_kyphosis.csv")
    recorded = json.loads((shared / "reference" / f"rpart_{name}.json").read_text())
    X, y = table[["Age", "Number", "Start"]], table["Kyphosis"]
    weight = np.resize([1.0, 2.0, 3.0], len(y)) if weighted else np.ones(len(y))
    fold = np.arange(len(y)) % 10
    model = CARTClassifier(
        pruning=CostComplexity(
            risk="error", alpha="cv", cv=[(np.flatnonzero(fold != v), np.flatnonzero(fold == v)) for v in range(10)]
        ),
        min_samples_split=recorded["control"]["minsplit"],
        min_samples_leaf=recorded["control"]["minbucket"],
    ).fit(X, y, sample_weight=weight)
    found, share = model.pruning_table_, weight[y == "present"].sum() / weight.sum()
    cp, n_splits, _, error, deviation = np.array(recorded["cptable"])[::-1].T
    assert found.n_leaves.tolist() == (n_splits + 1).tolist()
    assert found.ccp_alphas[1:] / share == pytest.approx(cp[1:])  # rpart's smallest is the limit of its growth
    assert found.xerror == pytest.approx(error)
    assert found.xstd == pytest.approx(deviation)


# Slow twins


def classification_trees() -> st.SearchStrategy[Tree]:
    return random_nodes("classification").map(lambda root: flat(root, "classification"))


def subtrees(tree: Tree, node: int = 0) -> list[frozenset[int]]:
    """The sets of inner nodes of all pruned subtrees."""
    choices = [frozenset[int]()]
    if tree.n_branches[node]:
        below = [subtrees(tree, tree.first_child[node] + branch) for branch in range(tree.n_branches[node])]
        choices += [frozenset({node}).union(*parts) for parts in product(*below)]
    return choices


def leaves_of(tree: Tree, inner: frozenset[int]) -> list[int]:
    return [i for i in range(tree.node_count) if i not in inner and (i == 0 or tree.parent[i] in inner)]


def few_subtrees(tree: Tree) -> bool:
    n = np.ones(tree.node_count)
    for i in range(tree.node_count - 1, -1, -1):
        if tree.n_branches[i]:
            children = tree.first_child[i] + np.arange(tree.n_branches[i])
            n[i] = 1 + n[children].prod()
    return bool(n[0] < 2000)


def kept_nodes(tree: Tree, pruned: Tree) -> frozenset[int]:
    kept, pairs = [], [(0, 0)]
    for old, new in pairs:
        if pruned.n_branches[new]:
            kept.append(old)
            pairs += [(tree.first_child[old] + b, pruned.first_child[new] + b) for b in range(tree.n_branches[old])]
    return frozenset(kept)


@given(tree=classification_trees().filter(few_subtrees), alpha=st.sampled_from([0.0, 0.01, 0.05, 0.1, 0.3, 1.0]))
def test_cost_complexity_finds_the_smallest_subtree_of_least_cost(tree, alpha):
    tree = tree.replace(impurity=tree.impurity.round(3))  # costs that differ do so by more than the tolerance
    for risk in ("impurity", "error"):
        of_nodes = methods.risk_per_weight(tree, risk)
        found = kept_nodes(tree, methods.cost_complexity(tree, alpha, risk=risk))
        costs = {inner: sum(of_nodes[i] + alpha for i in leaves_of(tree, inner)) for inner in subtrees(tree)}
        least = min(costs.values())
        assert costs[found] == pytest.approx(least, rel=1e-9, abs=1e-9)
        assert len(found) == min(len(inner) for inner, cost in costs.items() if cost <= least + 1e-12 * of_nodes.max())


def weakest_links_by_hand(tree: Tree, risk: np.ndarray) -> list[float]:
    """Collapse the weakest link again and again (Breiman et al. 1984, section 3.3)."""
    inner = set(np.flatnonzero(tree.n_branches).tolist())
    level = np.full(tree.node_count, -np.inf)
    reached = -np.inf

    def below(node: int) -> list[int]:
        if node not in inner:
            return [node]
        return [leaf for branch in range(tree.n_branches[node]) for leaf in below(tree.first_child[node] + branch)]

    while inner:
        links = {node: (risk[node] - risk[below(node)].sum()) / (len(below(node)) - 1) for node in inner}
        weakest = min(links, key=lambda node: (links[node], node))
        reached = max(reached, links[weakest])
        gone = [node for node in inner if weakest in path_to(tree, node)]
        level[gone] = reached
        inner -= set(gone)
    return level.tolist()


def path_to(tree: Tree, node: int) -> list[int]:
    path = [node]
    while tree.parent[path[-1]] >= 0:
        path.append(int(tree.parent[path[-1]]))
    return path


@given(tree=classification_trees(), data=st.data())
def test_levels_are_those_of_collapsing_the_weakest_link_again_and_again(tree, data):
    risk = np.array(data.draw(st.lists(st.floats(0, 8, width=16), min_size=tree.node_count, max_size=tree.node_count)))
    assert methods.complexity(tree, risk) == pytest.approx(weakest_links_by_hand(tree, risk), abs=1e-9)


@st.composite
def judged_trees(draw: st.DrawFn) -> tuple[Tree, Samples]:
    """A tree with whole samples over its features, and others to judge it by."""
    n = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    table = pd.DataFrame({name: rng.integers(0, 3, 2 * n).astype(str) for name in "uvw"})
    y = rng.integers(0, 2, 2 * n)
    model = ID3Classifier(max_depth=draw(st.integers(1, 2))).fit(table[:n], y[:n])
    encoded = model._encode_table(table[n:])
    return model.tree_, Samples(encoded, y[n:], draw(st.sampled_from([None, rng.choice([0, 0.5, 1, 2.0], n)])))


@given(judged=judged_trees().filter(lambda judged: few_subtrees(judged[0])))
def test_reduced_error_finds_the_smallest_subtree_of_least_error_on_its_samples(judged):
    tree, samples = judged
    weight = np.ones(samples.table.n_samples) if samples.weight is None else samples.weight

    def loss(inner: frozenset[int]) -> float:
        mask = ~np.isin(np.arange(tree.node_count), list(inner))
        pruned = tree.prune_at(mask)
        ends = [end_of(pruned, samples, row) for row in range(samples.table.n_samples)]
        return float(weight[pruned.predicted_class[ends] != samples.target].sum())

    found = kept_nodes(tree, methods.reduced_error(tree, samples))
    losses = {inner: loss(inner) for inner in subtrees(tree)}
    assert losses[found] == min(losses.values())
    assert len(found) == min(len(inner) for inner, wrong in losses.items() if wrong == losses[found])


def end_of(tree: Tree, samples: Samples, row: int) -> int:
    """Where a sample ends: a category without a branch stops it."""
    node = 0
    while tree.n_branches[node]:
        entries = slice(tree.categories_start[node], tree.categories_start[node + 1])
        codes = tree.categories_code[entries].tolist()
        code = int(samples.table.column(int(tree.feature[node]))[row])
        if code not in codes:
            break
        node = int(tree.first_child[node] + tree.categories_branch[entries][codes.index(code)])
    return node


# Properties


def mirrored(node: Node) -> Node:
    children = [mirrored(child) for child in reversed(node.children)]
    n = len(children)
    return Node(dict(node.fields), [(code, n - 1 - branch) for code, branch in node.table], children)


def results(tree: Tree) -> dict[str, Tree]:
    return {
        "cost_complexity": methods.cost_complexity(tree, 0.03),
        "errors": methods.cost_complexity(tree, 0.03, risk="error"),
        "c_alpha": methods.c_alpha(tree, 1.0),
        "pessimistic": methods.pessimistic(tree),
        "error_based": error_based_without_samples(tree, 0.25),
        "minimum_error": methods.minimum_error(tree, m=2),
        "critical_value": methods.critical_value(tree, 0.5),
        "chi_square": methods.chi_square(tree, 0.3),
    }


@given(root=random_nodes("classification"))
def test_the_order_of_the_children_does_not_matter(root):
    def shape(node: Node) -> Any:
        return tuple(sorted(repr(shape(child)) for child in node.children)), tuple(node.fields["value"])

    tree, other = flat(root, "classification"), flat(mirrored(root), "classification")
    for name, pruned in results(tree).items():
        assert shape(nested(pruned)) == shape(nested(results(other)[name])), name


@given(tree=classification_trees())
def test_a_pruned_tree_is_a_part_of_the_grown_one(tree):
    for pruned in results(tree).values():
        pruned.check()
        assert pruned.n_leaves <= tree.n_leaves
        assert len(inner_nodes(pruned, tree)) == pruned.node_count - pruned.n_leaves


NESTED: dict[str, tuple[Callable[[Tree, float], Tree], list[float]]] = {
    "cost_complexity": (lambda tree, x: methods.cost_complexity(tree, x), [0, 0.01, 0.05, 0.1, 0.5]),
    "c_alpha": (lambda tree, x: methods.c_alpha(tree, x), [0, 0.5, 1, 2, 5]),
    "critical_value": (lambda tree, x: methods.critical_value(tree, x), [0, 0.2, 0.4, 0.6, 0.9]),
    "chi_square": (lambda tree, x: methods.chi_square(tree, 1 - x), [0, 0.5, 0.8, 0.95, 0.999]),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
def test_branches_that_error_based_pruning_raises_have_the_impurity_of_their_new_samples(criterion, n_classes):
    draw = np.random.default_rng(7)
    X = draw.normal(size=(300, 4)).round(1)
    y = ((X[:, 0] + X[:, 1] > 0).astype(int) + (draw.random(300) < 0.25)) % n_classes
    model = CARTClassifier(criterion=criterion).fit(X, y)
    pruned = model.prune(ErrorBased(confidence=0.5), X, y).tree_
    share = pruned.value / pruned.value.sum(axis=1, keepdims=True)
    expected = {
        "gini": 1 - (share**2).sum(axis=1),
        "entropy": -xlogy(share, share).sum(axis=1) / np.log(2),
        "misclassification": 1 - share.max(axis=1),
    }[criterion]
    of_samples = {tuple(row) for row in model.tree_.value.tolist()}
    assert any(tuple(row) not in of_samples for row in pruned.value.tolist())
    assert pruned.impurity == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("method", NESTED)
@given(tree=classification_trees())
def test_more_pruning_gives_a_part_of_what_less_pruning_gives(method, tree):
    prune, series = NESTED[method]
    kept = [kept_nodes(tree, prune(tree, x)) for x in series]
    assert all(smaller <= larger for larger, smaller in pairwise(kept))


@given(tree=classification_trees())
def test_sums_along_a_sequence_are_those_of_its_subtrees(tree):
    sequence = weakest_links(tree)
    assert sequence.sums(tree.risk, sequence.steps) == pytest.approx(
        [(pruned := sequence.subtree(alpha)).risk[pruned.leaves()].sum() for alpha in sequence.steps]
    )
    assert sequence.n_leaves(-np.inf) == tree.n_leaves
    gone = [set[int]()]
    for nodes in sequence.collapsed():
        gone.append(gone[-1] | {i for i in range(tree.node_count) if set(path_to(tree, i)) & set(nodes.tolist())})
    inner = set(np.flatnonzero(tree.n_branches).tolist())
    assert [kept_nodes(tree, sequence.subtree(alpha)) for alpha in sequence.steps] == [inner - lost for lost in gone[1:]]


def test_a_chain_of_100_000_levels_is_pruned_by_every_method():
    n_levels = 100_000
    shape = chain(n_levels)
    # every left leaf holds one sample of class 0 or 1 in turn, so no level is useless and all are weak
    of_leaf = np.zeros((shape.node_count, 2))
    of_leaf[1::2] = np.eye(2)[np.arange(n_levels) % 2]
    of_leaf[-1] = [1, 0]
    value = of_leaf.copy()
    value[0::2] = np.cumsum((of_leaf[0::2] + np.vstack([of_leaf[1::2], [0, 0]]))[::-1], axis=0)[::-1]
    weight = value.sum(axis=1)
    inner = shape.n_branches > 0
    impurity = 1 - ((value / weight[:, None]) ** 2).sum(axis=1)
    tree = shape.replace(task="classification", value=value, weight=weight, n_samples=weight, impurity=impurity, gain=0.1 * inner)
    tree.check()
    for pruned in results(tree).values():
        assert 1 <= pruned.n_leaves <= tree.n_leaves
    sequence = weakest_links(tree, risk="error")
    assert sequence.n_leaves(sequence.steps)[-1] == 1
    table = learn_table(np.array([[0.0], [50_000.0]]))
    assert methods.reduced_error(tree, Samples(table, np.array([1, 1]))).n_leaves < tree.n_leaves


# Estimators


def data_of(estimator: type) -> tuple[Any, Any]:
    rng = np.random.default_rng(8)
    X = pd.DataFrame(rng.integers(0, 4, (300, 4)).astype(str), columns=list("abcd"))
    y = ((X["a"] < X["b"]) ^ (rng.random(300) < 0.2)).astype(int)
    return X, y if estimator is not CARTRegressor else y + 0.1 * rng.normal(size=300)


ESTIMATORS = [ID3Classifier, C45Classifier, CARTClassifier, CARTRegressor]


def methods_for(estimator: type) -> list[str]:
    return [word for word, value in VALUES.items() if value.for_numbers or estimator is not CARTRegressor]


EVERY = [(estimator, method) for estimator in ESTIMATORS for method in methods_for(estimator)]


# Values where a method prunes nothing by default
SOME = {"c_alpha": CAlpha(alpha=3.0), "cost_complexity": CostComplexity(alpha=0.01)}


@pytest.mark.parametrize(("estimator", "method"), EVERY)
def test_every_method_prunes_in_the_fit(estimator, method):
    X, y = data_of(estimator)
    pruning = SOME.get(method, method)
    model = estimator(pruning=pruning, random_state=0).fit(X, y)
    model.tree_.check()
    assert model.tree_.n_leaves < model.tree_unpruned_.n_leaves or (estimator, method) == (C45Classifier, "critical_value")
    assert (model.tree_unpruned_.weight[0] < 300) == (method in ("reduced_error", "critical_value"))
    assert estimator(pruning=pruning, random_state=0).fit(X, y).tree_ == model.tree_


@pytest.mark.parametrize(("estimator", "method"), [pair for pair in EVERY if pair[1] not in ("reduced_error", "critical_value")])
def test_a_grown_model_prunes_as_a_fit_does_and_stays_as_it_is(estimator, method):
    X, y = data_of(estimator)
    model = estimator(pruning=None).fit(X, y)
    before = model.tree_
    pruning = SOME.get(method, method)
    rows = (X, y) if (estimator, method) == (C45Classifier, "error_based") else ()
    pruned = model.prune(pruning, *rows)
    assert type(pruned) is estimator
    assert model.tree_ is before
    assert pruned.tree_ == estimator(pruning=pruning).fit(X, y).tree_
    assert pruned.tree_unpruned_ is before
    assert (pruned.predict(X) == estimator(pruning=pruning).fit(X, y).predict(X)).all()


def test_held_out_samples_decide_and_do_not_grow():
    X, y = data_of(CARTClassifier)
    model = CARTClassifier(pruning=ReducedError(validation_fraction=0.25), random_state=1).fit(X, y)
    grown = model.tree_unpruned_
    assert grown.weight[0] == 225
    assert grown.value[0] == pytest.approx(0.75 * np.bincount(y), abs=1)  # of every class alike
    other = CARTClassifier(pruning=ReducedError(validation_fraction=0.25), random_state=2).fit(X, y)
    assert other.tree_unpruned_ != grown


@pytest.mark.parametrize("estimator", [ID3Classifier, CARTClassifier, CARTRegressor])
def test_cross_validation_is_that_of_a_loop_over_folds(estimator):
    X, y = data_of(estimator)
    folds = list(KFold(5, shuffle=True, random_state=0).split(X))
    model = estimator(pruning=CostComplexity(alpha="cv", cv=folds)).fit(X, y)
    table = model.pruning_table_
    alphas = np.append(np.sqrt(table.ccp_alphas[:-1] * table.ccp_alphas[1:]), 1e6)
    losses = np.zeros((alphas.size, len(y)))
    for train, test in folds:
        for k in range(0, alphas.size, 7):
            fold = estimator(pruning="cost_complexity", ccp_alpha=alphas[k]).fit(X.iloc[train], y.iloc[train])
            found = fold.predict(X.iloc[test])
            losses[k, test] = (found - y.iloc[test]) ** 2 if estimator is CARTRegressor else found != y.iloc[test]
    root = ((y - y.mean()) ** 2).sum() if estimator is CARTRegressor else min(np.bincount(y))
    assert table.xerror[::7] == pytest.approx(losses[::7].sum(axis=1) / root)
    assert table.xstd[::7] == pytest.approx(losses[::7].std(axis=1) * np.sqrt(len(y)) / root)
    assert model.get_n_leaves() == table.n_leaves[table.chosen]
    assert table.xerror[table.chosen] == table.xerror.min()
    simpler = estimator(pruning=CostComplexity(alpha="cv", cv=folds, selection="1se")).fit(X, y).pruning_table_
    assert simpler.chosen >= table.chosen
    assert simpler.xerror[simpler.chosen] <= table.xerror.min() + table.xstd[table.chosen]


DEVIATIONS = {  # of targets from the answer of a node, and that answer
    "squared_error": (lambda y, answer: (y - answer) ** 2, np.mean),
    "absolute_error": (lambda y, answer: abs(y - answer), np.median),
    "poisson": (lambda y, answer: xlogy(y, y / answer) - y + answer, np.mean),
}


def counts_by(table: pd.DataFrame, seed: int) -> pd.Series:
    return pd.Series(np.random.default_rng(seed).poisson(1 + 2 * (table["a"] < table["b"]) + (table["c"] == "3"))).astype(float)


@pytest.mark.parametrize("criterion", DEVIATIONS)
def test_folds_judge_a_regression_tree_by_its_own_criterion(criterion):
    X = data_of(CARTRegressor)[0]
    y = counts_by(X, 3)
    deviation, middle = DEVIATIONS[criterion]
    folds = list(KFold(5, shuffle=True, random_state=0).split(X))
    table = (
        CARTRegressor(criterion=criterion, min_samples_leaf=3, pruning=CostComplexity(alpha="cv", cv=folds))
        .fit(X, y)
        .pruning_table_
    )
    alphas = np.append(np.sqrt(table.ccp_alphas[:-1] * table.ccp_alphas[1:]), 1e6)
    losses = np.zeros((alphas.size, len(y)))
    for train, test in folds:
        grown = CARTRegressor(criterion=criterion, min_samples_leaf=3).fit(X.iloc[train], y[train])
        for k, alpha in enumerate(alphas):
            losses[k, test] = deviation(y[test], grown.prune(CostComplexity(alpha=alpha)).predict(X.iloc[test]))
    root = deviation(y, middle(y)).sum()
    assert table.xerror == pytest.approx(losses.sum(axis=1) / root)
    assert table.xstd == pytest.approx(losses.std(axis=1) * np.sqrt(len(y)) / root)
    assert table.xerror[table.chosen] == table.xerror.min() < 1


@pytest.mark.parametrize("criterion", DEVIATIONS)
@given(seed=st.integers(0, 2**32 - 1))
def test_samples_held_out_judge_a_regression_tree_by_its_own_criterion(criterion, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 4, (60, 3)).astype(str), columns=list("abc"))
    y, weight = counts_by(X, seed), rng.choice([1.0, 2.0], 60)
    model = CARTRegressor(criterion=criterion, max_depth=3).fit(X[:30], y[:30])
    tree = model.tree_
    held_out = encode_table(X[30:], model.schema_)

    def loss(inner: frozenset[int]) -> float:
        pruned = tree.prune_at(~np.isin(np.arange(tree.node_count), list(inner)))
        return float(weight[30:] @ DEVIATIONS[criterion][0](y[30:], walks.predict_value(pruned, held_out)[:, 0]))

    found = kept_nodes(tree, model.prune("reduced_error", X[30:], y[30:], weight[30:]).tree_)
    costs = {inner: loss(inner) for inner in subtrees(tree)}
    assert costs[found] == pytest.approx(min(costs.values()))
    assert len(found) == min(len(inner) for inner, cost in costs.items() if cost <= min(costs.values()) * (1 + 1e-12))


@pytest.mark.parametrize(
    ("criterion", "grown", "held_out", "loss"),
    [
        ("squared_error", [-5.0, -5.0, -6.0, -6.0], 5.0, [110.25, 100.0, 121.0]),
        ("absolute_error", [-5.0, -5.0, -6.0, -6.0], 5.0, [10.5, 10.0, 11.0]),
        ("squared_error", [5.0, 5.0, 6.0, 6.0], -5.0, [110.25, 100.0, 121.0]),
        ("poisson", [4.0, 4.0, 6.0, 6.0], 0.0, [5.0, 4.0, 6.0]),
    ],
)
def test_samples_that_are_far_from_all_answers_judge_by_their_losses(criterion, grown, held_out, loss):
    X = [[1.0], [1.0], [2.0], [2.0]]
    model = CARTRegressor(criterion=criterion).fit(X, grown)
    table = encode_table([[1.0], [2.0]], model.schema_)
    found = losses(model.tree_, Samples(table, np.full(2, held_out), impurity=criterion))
    n = np.array([2, 1, 1])
    assert found.weight.tolist() == n.tolist()
    assert found.loss == pytest.approx(n * loss)
    assert found.square == pytest.approx(n * np.square(loss))


@pytest.mark.parametrize(("grown", "held_out"), [([0.0, 0.0, 1e4, 1e4], 1e4), ([9e3, 9e3, 1e4, 1e4], 1e-3)])
def test_counts_that_are_as_unlikely_as_can_be_judge_by_their_losses(grown, held_out):
    model = CARTRegressor().fit([[1.0], [1.0], [2.0], [2.0]], grown)  # by Poisson deviance no leaf would have only zeros
    n = 4000
    found = losses(model.tree_, Samples(encode_table(np.ones((n, 1)), model.schema_), np.full(n, held_out), impurity="poisson"))
    answer = max(float(model.predict([[1.0]])[0]), LEAST_ANSWER * held_out)
    one = held_out * np.log(held_out / answer) - held_out + answer
    assert found.loss[1] == pytest.approx(n * one)
    assert found.square[1] == pytest.approx(n * one**2)


def test_heavy_samples_judge_by_their_losses_and_those_without_weight_not_at_all():
    X = [[1.0], [1.0], [2.0], [2.0]]
    model = CARTRegressor().fit(X, [1e3, 1e3, 3e3, 3e3])
    table = encode_table([[1.0], [2.0], [1.0]], model.schema_)
    found = losses(model.tree_, Samples(table, np.array([0.0, 5e3, 1e200]), weight=np.array([1e6, 3e6, 0.0])))
    assert found.loss == pytest.approx([1e6 * 2e3**2 + 3e6 * 3e3**2, 1e6 * 1e6, 3e6 * 4e6])
    assert found.square == pytest.approx([1e6 * 2e3**4 + 3e6 * 3e3**4, 1e6 * 1e12, 3e6 * 16e12])


def test_where_no_subtree_errs_the_smallest_is_chosen():
    model = CARTClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["a", "a", "a", "b"])
    assert model.get_n_leaves() == 2
    for selection in ("best", "1se"):
        chosen = model.prune(CostComplexity(alpha="validation", selection=selection), [[1.0], [2.0]], ["a", "a"])
        assert chosen.get_n_leaves() == 1
        assert chosen.pruning_table_.xerror.tolist() == [0.0, 0.0]


def test_a_loaded_regression_tree_still_knows_its_criterion(tmp_path):
    X = data_of(CARTRegressor)[0]
    y = counts_by(X, 3)
    for criterion in DEVIATIONS:
        model = CARTRegressor(criterion=criterion).fit(X[:150], y[:150])
        model.save(tmp_path / "model.json")
        ours, theirs = (m.prune("reduced_error", X[150:], y[150:]) for m in (model, CARTRegressor.load(tmp_path / "model.json")))
        assert ours.tree_ == theirs.tree_


def test_counts_above_an_answer_of_0_cost_much_but_not_infinitely_much():
    X = np.arange(6.0)[:, None]
    y = [0.0, 0.0, 0.0, 0.0, 4.0, 4.0]
    folds = [([0, 1, 2, 3], [4, 5]), ([2, 3, 4, 5], [0, 1])]  # the first tree has seen no event
    table = CARTRegressor(criterion="poisson", pruning=CostComplexity(alpha="cv", cv=folds)).fit(X, y).pruning_table_
    assert np.isfinite(table.xerror).all()
    assert table.xerror.max() > 5


def test_negative_targets_cannot_judge_a_poisson_tree():
    model = CARTRegressor(criterion="poisson").fit([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"y\[1\] is -1: criterion='poisson' needs targets >= 0"):
        model.prune("reduced_error", [[1.0], [2.0]], [0.0, -1.0])


def test_a_number_of_folds_means_random_ones():
    X, y = data_of(CARTClassifier)
    tables = [
        CARTClassifier(pruning=CostComplexity(alpha="cv", cv=5), random_state=seed).fit(X, y).pruning_table_ for seed in (0, 0, 1)
    ]
    assert tables[0].xerror.tolist() == tables[1].xerror.tolist()
    assert tables[0].xerror.tolist() != tables[2].xerror.tolist()


def test_a_fit_that_chooses_nothing_leaves_no_table_behind():
    X, y = data_of(CARTClassifier)
    model = CARTClassifier(ccp_alpha="validation", random_state=0).fit(X, y)
    assert model.tree_unpruned_.weight[0] == 210
    assert hasattr(model, "pruning_table_")
    assert not hasattr(model.prune("pessimistic"), "pruning_table_")
    assert not hasattr(model.set_params(ccp_alpha=0.01).fit(X, y), "pruning_table_")


def test_a_node_collapses_by_hand(example):
    node = int(example.tree_.first_child[0])
    collapsed = example.collapse(node)
    assert inner_nodes(collapsed.tree_, example.tree_) == [0, 9, 10, 15, 16]
    assert collapsed.tree_unpruned_ is example.tree_
    assert example.tree_.n_leaves == 12
    again = collapsed.collapse(0)
    assert again.get_n_leaves() == 1
    assert again.tree_unpruned_ is example.tree_
    with pytest.raises(ValueError, match=r"node=20: must be an integer in \[0, 19\]"):
        example.collapse(20)
    with pytest.raises(ValueError, match="node=19 is a leaf already"):
        example.collapse(19)


def test_a_loaded_model_can_be_pruned(tmp_path):
    X, y = data_of(CARTClassifier)
    model = CARTClassifier(pruning=CostComplexity(cv=KFold(3))).fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = CARTClassifier.load(tmp_path / "model.json")
    assert loaded.pruning == CostComplexity(cv=10)  # a splitter is for the samples of the fit
    assert loaded.prune("pessimistic").tree_ == model.prune("pessimistic").tree_


def test_pruning_with_samples_keeps_soft_thresholds():
    X, y = load_breast_cancer(return_X_y=True)
    model = C45Classifier(pruning=None, soft_thresholds=True).fit(X, y)
    again = model.prune("error_based", X, y).tree_
    assert again == C45Classifier(soft_thresholds=True).fit(X, y).tree_
    assert model.prune("pessimistic").tree_.lower is not None


def test_class_weights_count_in_samples_given_to_prune_by(example):
    X, y = categories_of("prune48_train.csv")
    weights = {"n": 1.0, "p": 3.0}
    model = ID3Classifier(min_samples_split=4, class_weight=weights).fit(X, y)
    expected = ID3Classifier(min_samples_split=4).fit(X, y, sample_weight=y.map(weights))
    by_sample = VALIDATION[1].map(weights)
    assert model.prune("reduced_error", *VALIDATION).tree_ == expected.prune("reduced_error", *VALIDATION, by_sample).tree_
    assert model.prune("reduced_error", *VALIDATION).tree_ != expected.prune("reduced_error", *VALIDATION).tree_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pruning": "post"}, "pruning='post': must be 'cost_complexity', .* or None"),
        ({"ccp_alpha": -1.0}, "ccp_alpha=-1.0: must be a finite number >= 0, 'cv' or 'validation'"),
        ({"ccp_alpha": 0.1, "pruning": "pessimistic"}, "ccp_alpha=0.1 and pruning='pessimistic' exclude each other"),
        ({"pruning": CostComplexity(cv=1)}, "cv=1: must be an integer >= 2"),
        ({"pruning": CostComplexity(alpha="cv", cv=301)}, "cv=301: must not exceed the number of samples, 300"),
        ({"pruning": CostComplexity(risk="gini")}, "risk='gini': must be 'impurity' or 'error'"),
        ({"pruning": MinimumError(m=-1)}, "m=-1: must be a finite number >= 0, or 'laplace'"),
        ({"pruning": ChiSquare(p_value=0)}, r"p_value=0: must be a number in \(0, 1\]"),
        ({"pruning": ReducedError(validation_fraction=1.0)}, r"validation_fraction=1.0: must be a number in \(0, 1\)"),
    ],
)
def test_a_fit_says_what_a_parameter_of_pruning_may_be(parameters, message):
    with pytest.raises(ValueError, match=message):
        CARTClassifier(**parameters).fit(*data_of(CARTClassifier))


def test_what_excludes_what_in_c45():
    X, y = data_of(C45Classifier)
    with pytest.raises(ValueError, match=r"ccp_alpha=0\.1 and pruning='error_based' exclude each other"):
        C45Classifier(ccp_alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"windowing=True and pruning=CostComplexity\(alpha='cv'\), which needs other samples"):
        C45Classifier(pruning=None, ccp_alpha="cv", windowing=True).fit(X, y)


@pytest.mark.parametrize(
    ("pruning", "samples", "message"),
    [
        ("best", None, "pruning='best': must be 'cost_complexity', "),
        (None, None, "pruning=None: must be 'cost_complexity', "),
        (CostComplexity, None, "must be 'cost_complexity', .* such as CostComplexity"),
        (CAlpha(alpha=-1), None, r"alpha=-1: must be a finite number >= 0, in pruning=CAlpha\(\.\.\.\)"),
        ("reduced_error", None, r"pruning=ReducedError\(\) by samples needs both X and y"),
        ("critical_value", None, r"pruning=CriticalValue\(\) by samples needs both X and y"),
        ("pessimistic", VALIDATION, r"pruning=Pessimistic\(\) uses no samples: leave out X and y"),
        ("error_based", VALIDATION, "raises branches, which cannot be where samples stop"),
        (CostComplexity(alpha="cv"), None, "alpha='cv' grows trees, which prune does not"),
        ("reduced_error", (VALIDATION[0], ["q"] * 24), r"classes that were not in the fit: \['q'\]; it had \['n', 'p'\]"),
    ],
)
def test_prune_says_what_does_not_fit(example, pruning, samples, message):
    with pytest.raises(ValueError, match=message):
        example.prune(pruning, *(samples or ()))


def test_a_single_sample_cannot_be_held_out():
    with pytest.raises(ValueError, match="there is only 1 sample"):
        CARTRegressor(pruning="reduced_error").fit([[1.0]], [2.0])


def test_pruning_from_the_tree_as_grown_is_that_of_a_fit(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    model = C45Classifier(confidence=0.01).fit(X, y)
    again = model.prune(ErrorBased(confidence=0.5), X, y, from_grown=True)
    assert again.tree_ == C45Classifier(confidence=0.5).fit(X, y).tree_
    assert again.tree_.node_count > model.tree_.node_count
    model.save(tmp_path / "model.json")
    with pytest.raises(ValueError, match="this model has no tree_unpruned_"):
        C45Classifier.load(tmp_path / "model.json").prune("pessimistic", from_grown=True)


def test_pruning_from_the_tree_as_grown_looks_whether_its_samples_stop():
    rows = [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0], [np.nan, np.nan], [np.nan, np.nan]]
    y = ["a", "a", "b", "b", "a", "b"]
    model = CARTClassifier(missing="surrogate", no_surrogate="stop", ccp_alpha=1.0).fit(rows, y)
    with pytest.raises(ValueError, match="raises branches, which cannot be where samples stop"):
        model.prune("error_based", rows, y, from_grown=True)


@pytest.mark.parametrize("pruning", [CostComplexity(alpha="validation"), CostComplexity(alpha="cv", cv=3)])
def test_very_large_targets_are_judged_as_others_are(pruning):
    random = np.random.RandomState(0)
    X = random.randint(0, 9, (60, 1)).astype(float)
    y = 2.0**100 * (X[:, 0] + random.randint(-2, 3, 60))
    chosen = [CARTRegressor(pruning=pruning, random_state=0).fit(X, target) for target in (y, y * 2.0**90)]
    assert chosen[0].tree_.node_count == chosen[1].tree_.node_count
    assert chosen[0].pruning_table_.xstd == pytest.approx(chosen[1].pruning_table_.xstd)
    with pytest.raises(ValueError, match=r"y holds values of size 1e\+61: scale them to 1e\+60 at most"):
        CARTRegressor().fit(X, np.full(60, 1e61))


def test_cost_complexity_wants_to_be_told_its_alpha():
    model = CARTClassifier().fit([[1.0], [2.0], [3.0]], [0, 1, 0])
    with pytest.raises(
        ValueError, match="pruning='cost_complexity' leaves the tree as it is: use CostComplexity with an alpha above 0"
    ):
        model.prune("cost_complexity")
    assert model.prune(CostComplexity(alpha=0.0)).get_n_leaves() == model.get_n_leaves()
