"""Random cuts on lists, against a twin that draws the same ones."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from fasttree import Recipe
from fasttree._data.learn import learn_table
from fasttree._learn.grow import growth
from fasttree._learn.limits import Limits
from tests.twins.random_cuts import RandomCutsTwin


def grow(X, Y, weight, recipe, limits, nominal=(), **choices):
    of_classes = recipe.impurity in ("gini", "entropy", "misclassification")
    several = Y.shape[1] > 1
    sizes = tuple(int(column.max()) + 1 for column in Y.T) if of_classes else (1,) * Y.shape[1]
    table = learn_table(X, categorical_features=list(nominal))
    return growth.grow(
        table, Y if several else Y[:, 0], weight, recipe, limits,
        n_classes=sum(sizes) if of_classes else 0, outputs=sizes if several else None, **choices,
    )  # fmt: skip


def check(node, at, tree, X, rows, path="root"):
    """Compare a twin's node with node `at`, and those below it."""
    assert sorted(rows) == sorted(node["rows"]), path
    if "sides" not in node:
        assert tree.n_branches[at] == 0, path
        return
    assert tree.feature[at] == node["feature"], path
    for b, (side, child) in enumerate(zip(node["sides"], node["children"], strict=True)):
        below = int(tree.first_child[at]) + b
        assert tree.n_samples[below] == len(side), path
        check(child, below, tree, X, side, f"{path}{b}")


def sample(turn, n=80, d=4):
    rng = np.random.default_rng(turn)
    X = rng.normal(size=(n, d)) if turn % 2 else rng.integers(0, 7, (n, d)).astype(float)
    X[:, 1] = rng.integers(1, 6, n)
    if turn >= 2:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, rng


@pytest.mark.parametrize("path", [{}, {"block_rows": 30}], ids=["one block", "private blocks"])
@pytest.mark.parametrize("impurity", ["gini", "entropy", "misclassification", "squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("turn", range(4))
def test_every_node_has_the_best_of_its_random_cuts(impurity, several, turn, path):
    X, rng = sample(turn)
    of_classes = impurity in ("gini", "entropy", "misclassification")
    Y = rng.integers(0, 3, (80, 1 + several)) if of_classes else rng.integers(1, 9, (80, 1 + several)).astype(float)
    weight = rng.integers(1, 5, 80) / 4
    for seed, max_features in enumerate([None, 2]):
        limits = Limits(max_features=max_features, random_cuts=True, seed=seed, min_samples_leaf=1 + 2 * seed)
        tree = grow(X, Y, weight, Recipe(impurity=impurity), limits, (1,), **path)
        tree.check()
        twin = RandomCutsTwin(
            X, Y, weight, impurity, seed,
            of_classes=of_classes, max_features=max_features, nominal=(1,), min_samples_leaf=1 + 2 * seed,
        )  # fmt: skip
        check(twin.root, 0, tree, X, twin.root["rows"])


@pytest.mark.parametrize("n_values", [5, 2000])
def test_thresholds_are_uniform_between_the_least_and_the_largest_value(n_values):
    rng = np.random.default_rng(0)
    X = np.append(rng.choice(np.linspace(0, 1, n_values) ** 3, 2000), [0.0, 1.0])[:, None]
    Y = (X > 0.3).astype(int)
    found = [grow(X, Y, None, Recipe(), Limits(max_depth=1, random_cuts=True, seed=seed)).threshold[0] for seed in range(400)]
    assert kstest(found, "uniform").pvalue > 1e-3
    assert len(set(found)) == 400


def test_thresholds_of_an_ordinal_feature_lie_between_its_codes():
    codes = np.arange(200) % 5
    table = learn_table(pd.DataFrame({"level": pd.Categorical.from_codes(codes, categories=list("abcde"), ordered=True)}))
    found = []
    for seed in range(40):
        tree = growth.grow(table, (codes >= 3).astype(int), None, Recipe(), Limits(random_cuts=True, seed=seed), n_classes=2)
        assert (tree.impurity[tree.n_branches == 0] == 0).all()
        found.append(float(tree.threshold[0]))
    assert {int(threshold) for threshold in found} == {1, 2, 3, 4}
