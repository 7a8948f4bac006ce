"""Best-first growth (`max_leaf_nodes`): against a slow twin that splits one leaf at a time, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from strategies import FEW_EACH, limits, tables
from test_engine_twin import CLASSIFIERS, REGRESSORS, grow_compiled

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier
from fasttree._data.learn import learn_table
from fasttree._learn.grow import afterwards, growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import CART_CLASSIFICATION, CART_REGRESSION
from fasttree._model.tree import Tree


def split_one_leaf_at_a_time(tree: Tree, max_leaf_nodes: int) -> set[int]:
    """The inner nodes that growth would make if it always split the best leaf that still fits."""
    inner: set[int] = set()
    refused: set[int] = set()
    while True:
        children = [int(tree.first_child[i]) + b for i in inner for b in range(tree.n_branches[i])]
        leaves = [child for child in children if child not in inner] if inner else [0]
        able = [leaf for leaf in leaves if tree.n_branches[leaf] and leaf not in refused]
        if not able or len(leaves) >= max_leaf_nodes:
            return inner
        best = max(able, key=lambda leaf: (tree.weight[leaf] * tree.gain[leaf], -leaf))
        fits = len(leaves) + tree.n_branches[best] - 1 <= max_leaf_nodes
        (inner if fits else refused).add(best)


@given(seed=st.integers(0, 10**6), max_leaf_nodes=st.integers(2, 20), kind=st.sampled_from(["cart", "id3", "c45"]))
def test_the_best_leaf_is_always_split_next(seed, max_leaf_nodes, kind):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.choice(list("abcd"), 80) for name in "uvw"})
    y = rng.integers(0, 3, 80)
    model = {"cart": CARTClassifier(), "id3": ID3Classifier(), "c45": C45Classifier(pruning=None, min_samples_branch=1)}[kind]
    whole = model.fit(X, y).tree_
    inner = split_one_leaf_at_a_time(whole, max_leaf_nodes)
    expected = whole.prune_at(~np.isin(np.arange(whole.node_count), list(inner)))
    tree = model.set_params(max_leaf_nodes=max_leaf_nodes).fit(X, y).tree_
    tree.check()
    assert tree == expected
    assert tree.n_leaves <= max_leaf_nodes


INTO_TWO = {
    name: recipe
    for name, recipe in (CLASSIFIERS | REGRESSORS).items()
    if recipe.nominal in ("subset", "one_vs_rest") and recipe.ordinal == "threshold" and recipe.missing != "branch"
}


@pytest.mark.parametrize("name", INTO_TWO)
@FEW_EACH
@given(data=st.data(), max_leaf_nodes=st.integers(2, 8), block_rows=st.sampled_from([3, 65_535]))
def test_what_is_left_ungrown_could_not_be_among_the_best(name, data, max_leaf_nodes, block_rows):
    recipe = INTO_TWO[name]
    task = "regression" if name in REGRESSORS else "classification"
    table = data.draw(tables(task=task, missing=recipe.missing != "error", max_samples=60))
    bounds = data.draw(limits(min_gain=-np.inf))
    whole = grow_compiled(table, recipe, bounds)
    tree = grow_compiled(table, recipe, bounds._replace(max_leaf_nodes=max_leaf_nodes), block_rows=block_rows)
    assert tree == afterwards.best_first(whole, max_leaf_nodes)


@pytest.mark.parametrize("max_leaf_nodes", [2, 10, 60, 300])
@pytest.mark.parametrize("block_rows", [500, 32_768])
@pytest.mark.parametrize("max_bins", [None, 20])
def test_the_best_leaves_of_a_large_table_are_found_without_the_others(max_leaf_nodes, block_rows, max_bins):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 6)).round(2)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, 0] * X[:, 1]) + rng.normal(size=5_000)).round(3)
    for target, recipe, n_classes in ((y, CART_REGRESSION, 0), ((y > 0).astype(np.intp), CART_CLASSIFICATION, 2)):
        bounds = Limits(min_gain=-np.inf, max_bins=max_bins)
        whole = growth.grow(learn_table(X), target, None, recipe, bounds, n_classes=n_classes)
        bounds = bounds._replace(max_leaf_nodes=max_leaf_nodes)
        tree = growth.grow(learn_table(X), target, None, recipe, bounds, n_classes=n_classes, block_rows=block_rows)
        assert tree == afterwards.best_first(whole, max_leaf_nodes)


@pytest.mark.parametrize("max_leaf_nodes", [5, 40, 150, 400])
@pytest.mark.parametrize("max_bins", [None, 60])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_features_of_nearly_equal_gains_are_not_left_out_by_bounds_that_waited_with_their_node(max_leaf_nodes, max_bins, n_jobs):
    """No value is missing, so that a node waits with bounds of its features; columns of bins and of few values compete."""
    rng = np.random.default_rng(max_leaf_nodes)
    X = rng.normal(size=(6_000, 10)).astype(np.float32)
    X[:, ::3] = X[:, ::3].round(1)
    noise = rng.normal(size=6_000) + X[:, 1] / 4
    for target, recipe, n_classes in ((noise, CART_REGRESSION, 0), ((noise > 0).astype(np.intp), CART_CLASSIFICATION, 2)):
        for least in (1, 30):
            bounds = Limits(min_samples_leaf=least, max_bins=max_bins)
            whole = growth.grow(learn_table(X), target, None, recipe, bounds, n_classes=n_classes, most_codes=0)
            bounds = bounds._replace(max_leaf_nodes=max_leaf_nodes)
            tree = growth.grow(
                learn_table(X), target, None, recipe, bounds, n_classes=n_classes, block_rows=20, bounded_from=20, n_jobs=n_jobs
            )
            assert tree == afterwards.best_first(whole, max_leaf_nodes)


@pytest.mark.parametrize("max_leaf_nodes", [2, 3, 7, 12, 20])
def test_classification_trees_are_those_of_scikit_learn(max_leaf_nodes):
    X, y = load_breast_cancer(return_X_y=True)
    ours = CARTClassifier(max_leaf_nodes=max_leaf_nodes).fit(X, y)
    peer = DecisionTreeClassifier(max_leaf_nodes=max_leaf_nodes, random_state=0).fit(X, y)
    assert ours.get_n_leaves() == peer.get_n_leaves()
    risk = peer.tree_.weighted_n_node_samples * peer.tree_.impurity
    assert ours.tree_.risk[ours.tree_.leaves()].sum() == pytest.approx(risk[peer.tree_.children_left < 0].sum(), rel=1e-9)


@pytest.mark.parametrize("max_leaf_nodes", [2, 5, 30, 100])
def test_regression_trees_predict_as_those_of_scikit_learn(max_leaf_nodes):
    X, y = load_diabetes(return_X_y=True)
    ours = CARTRegressor(max_leaf_nodes=max_leaf_nodes).fit(X, y)
    peer = DecisionTreeRegressor(max_leaf_nodes=max_leaf_nodes, random_state=0).fit(X, y)
    assert ours.get_n_leaves() == max_leaf_nodes
    assert ours.score(X, y) == pytest.approx(peer.score(X, y), rel=1e-9)


def test_depth_and_leaves_limit_together():
    X, y = load_breast_cancer(return_X_y=True)
    model = CARTClassifier(max_depth=3, max_leaf_nodes=6).fit(X, y)
    assert model.get_depth() <= 3
    assert model.get_n_leaves() == 6


@pytest.mark.parametrize("value", [1, 0, 2.5, "many", True])
def test_a_number_of_leaves_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match=r"max_leaf_nodes=.*: must be an integer >= 2, or None for no limit"):
        CARTClassifier(max_leaf_nodes=value).fit([[1.0], [2.0]], [0, 1])
