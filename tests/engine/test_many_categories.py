"""Nominal features of very many categories: exact divisions, and nothing that grows with the square of their number."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fasttree
from fasttree import C45Classifier, CARTClassifier, CARTRegressor

MANY = 50_000
TARGETS = ["numbers", "two classes", "five classes"]


def make_table(n_categories: int, target: str, *, samples_each: int = 2) -> tuple[pd.DataFrame, np.ndarray]:
    """Every category occurs; what its samples have in common is hidden under noise of the same size."""
    rng = np.random.default_rng(n_categories)
    n_more = (samples_each - 1) * n_categories
    codes = np.concatenate([np.arange(n_categories), rng.integers(0, n_categories, n_more)])
    effect = rng.normal(size=n_categories)[codes] + rng.normal(size=codes.size)
    y = effect if target == "numbers" else np.digitize(effect, [0.0] if target == "two classes" else [-1.5, -0.5, 0.5, 1.5])
    dictionary = [f"category {i:05}" for i in range(n_categories)]
    return pd.DataFrame({"nominal": pd.Categorical.from_codes(codes, dictionary)}), y


def make_tree(target: str, **parameters: Any) -> CARTClassifier | CARTRegressor:
    return (CARTRegressor if target == "numbers" else CARTClassifier)(**parameters)


def best_cut_of_order(codes: np.ndarray, y: np.ndarray, n_categories: int) -> float:
    """Largest decrease of the sum of squares among the cuts of the categories ordered by their means."""
    count = np.bincount(codes, minlength=n_categories)
    total = np.bincount(codes, weights=y, minlength=n_categories)
    order = np.argsort(total / count, kind="stable")
    n_left, left = np.cumsum(count[order])[:-1], np.cumsum(total[order])[:-1]
    right = total.sum() - left
    return float((left**2 / n_left + right**2 / (len(y) - n_left)).max() - y.sum() ** 2 / len(y))


@pytest.mark.parametrize("target", ["numbers", "two classes"])
def test_the_division_of_many_categories_is_the_best_cut_of_their_order(target):
    X, y = make_table(MANY, target)
    tree = make_tree(target, max_depth=1).fit(X, y).tree_
    tree.check()
    best = best_cut_of_order(X["nominal"].cat.codes.to_numpy(), y.astype(float), MANY)
    # the Gini index of two classes is twice the variance of the class code
    assert tree.gain[0] * tree.weight[0] == pytest.approx(best if target == "numbers" else 2 * best, rel=1e-9)
    assert tree.categories_code.size == MANY


@pytest.mark.parametrize("nominal", ["subset", "one_vs_rest"])
@pytest.mark.parametrize("target", TARGETS)
def test_a_tree_of_many_categories_is_saved_and_answers_as_before(target, nominal, tmp_path: Path):
    X, y = make_table(MANY, target)
    model = make_tree(target, nominal=nominal, max_depth=5).fit(X, y)
    model.tree_.check()
    assert model.tree_.categories_code.size <= MANY * model.get_depth()  # a node lists the categories that it saw, and no others
    model.save(tmp_path / "model.json")
    loaded = fasttree.load(tmp_path / "model.json")
    assert np.array_equal(loaded.predict(X), model.predict(X))


def seconds(n_categories: int, target: str, **parameters: Any) -> float:
    """The least time of some runs to grow and to predict."""
    X, y = make_table(n_categories, target)
    model = make_tree(target, **parameters)
    taken = []
    for _ in range(3):
        start = time.process_time()
        model.fit(X, y).predict(X)
        taken.append(time.process_time() - start)
    return min(taken)


@pytest.mark.parametrize(
    "parameters", [{}, {"max_depth": 4, "nominal": "one_vs_rest"}, {"max_depth": 4}], ids=["whole", "one_vs_rest", "top"]
)
@pytest.mark.parametrize("target", TARGETS)
def test_the_time_does_not_grow_with_the_square_of_the_categories(target, parameters):
    few, many = seconds(MANY // 5, target, **parameters), seconds(MANY, target, **parameters)
    assert many < 12 * few + 0.05  # 5 in proportion, 25 by the square


def test_categories_that_all_do_alike_are_told_apart_without_looking_at_every_pair():
    """Half of the categories tie with each other as the one against the rest."""
    X, _ = make_table(MANY, "numbers", samples_each=1)
    y = np.random.default_rng(0).integers(0, 2, MANY)
    model = CARTClassifier(nominal="one_vs_rest", max_depth=2)
    start = time.process_time()
    model.fit(X, y)
    assert time.process_time() - start < 2.0  # with a look at every pair it took 8
    split = model.tree_.categories_branch[: model.tree_.categories_start[1]]
    assert np.count_nonzero(split == 0) in (1, MANY - 1)


def x_log_x(x: Any) -> np.ndarray:
    return np.where(x > 0, x * np.log2(np.where(x > 0, x, 1)), 0)


def groups_of_merging(weights: np.ndarray, criterion: str) -> set[frozenset[int]]:
    """C4.5's groups in double precision: categories that are merged two by two, each time the best pair, while that pays.

    Merging pays while the gain ratio rises; by gain alone, down to two groups.
    """
    table, total = weights.astype(float), weights.sum()
    groups = [frozenset([category]) for category in range(len(table))]
    base = (x_log_x(total) - x_log_x(table.sum(axis=0)).sum()) / total

    def information(tables: np.ndarray) -> np.ndarray:
        return x_log_x(tables.sum(axis=-1)) - x_log_x(tables).sum(axis=-1)

    worth = 0.0
    while len(groups) > 2:
        of_each, size = information(table), table.sum(axis=1)
        of_pair, of_both = information(table[:, None] + table), size[:, None] + size
        gain = base - (of_each.sum() - of_each[:, None] - of_each + of_pair) / total
        split = (x_log_x(total) - x_log_x(size).sum() + x_log_x(size)[:, None] + x_log_x(size) - x_log_x(of_both)) / total
        figures = gain if criterion == "gain" else gain / split
        i, j = max(zip(*np.triu_indices(len(groups), 1), strict=True), key=lambda pair: figures[pair])
        if criterion == "gain_ratio" and figures[i, j] < worth + 1e-5:
            break
        worth = figures[i, j]
        groups[i], table[i] = groups[i] | groups[j], table[i] + table[j]
        groups[j], table[j] = groups[-1], table[-1]
        groups, table = groups[:-1], table[:-1]
    return set(groups)


@pytest.mark.parametrize("criterion", ["gain", "gain_ratio"])
@pytest.mark.parametrize(("n_categories", "n_classes"), [(129, 3), (140, 5), (150, 2)])
def test_more_than_128_categories_are_merged_into_the_groups_of_slow_merging(n_categories, n_classes, criterion):
    draw = np.random.default_rng(n_categories)
    weights = draw.integers(1, 60, (n_categories, n_classes))
    weights[np.arange(n_categories), draw.integers(0, n_classes, n_categories)] += draw.integers(100, 1000, n_categories)
    code, label = np.nonzero(weights)
    X = pd.DataFrame({"nominal": pd.Categorical.from_codes(code, [f"category {i:03}" for i in range(n_categories)])})
    model = C45Classifier(criterion=criterion, subset=True, max_depth=1, pruning=None)
    tree = model.fit(X, label, sample_weight=weights[code, label]).tree_
    found: dict[int, set[int]] = {}
    for category, branch in zip(tree.categories_code, tree.categories_branch, strict=True):
        found.setdefault(int(branch), set()).add(int(category) - 1)
    assert set(map(frozenset, found.values())) == groups_of_merging(weights, criterion)


def test_a_category_with_traces_of_six_classes_is_merged_as_one_of_no_class():
    """None of its classes has a tenth of a case; the categories of the two classes that weigh stay apart."""
    X, y = pd.DataFrame({"x": list("aaaaaabcde")}), list("pqrstuppqq")
    model = C45Classifier(subset=True, pruning=None, min_samples_branch=0.1).fit(X, y, sample_weight=[0.09] * 6 + [5.0] * 4)
    assert model.predict(X[6:]).tolist() == y[6:]
