"""Extremely randomized trees: random thresholds, figures of scikit-learn, and what they refuse."""

import numpy as np
import polars as pl
import pytest
import sklearn.ensemble
from scipy.stats import kstest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import fasttree
from fasttree import ExtraTreesClassifier, ExtraTreesRegressor


def test_thresholds_are_uniform_between_least_and_largest():
    X = np.array([[0.0], [0.1], [0.2], [10.0]])
    forest = ExtraTreesRegressor(n_estimators=2000, max_depth=1, random_state=0).fit(X, [0.0, 0.0, 1.0, 1.0])
    thresholds = np.array([tree.threshold[0] for tree in forest.ensemble_.trees()])
    assert kstest(thresholds, "uniform", (0, 10)).pvalue > 0.001
    assert len(np.unique(thresholds)) > 1900


def test_the_best_of_the_drawn_cuts_wins():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 1] > 0).astype(int)
    forest = ExtraTreesClassifier(n_estimators=50, max_features=None, random_state=0).fit(X, y)
    roots = [tree.feature[0] for tree in forest.ensemble_.trees()]
    assert np.mean(np.array(roots) == 1) > 0.6


@pytest.mark.parametrize("make", [ExtraTreesClassifier, ExtraTreesRegressor])
def test_the_forest_does_not_depend_on_threads_and_begins_with_a_smaller_one(make):
    X, y = load_iris(return_X_y=True)
    forest = make(n_estimators=9, random_state=0).fit(X, y)
    assert make(n_estimators=9, random_state=0, n_jobs=3).fit(X, y).ensemble_ == forest.ensemble_
    assert make(n_estimators=4, random_state=0).fit(X, y).ensemble_ == forest.ensemble_.prefix(4)
    assert make(n_estimators=9, random_state=1).fit(X, y).ensemble_ != forest.ensemble_
    assert fasttree.from_json(forest.to_json()).ensemble_ == forest.ensemble_
    for tree in forest.ensemble_.trees():
        tree.check()
    assert all(len(set(rows)) == 150 for rows in forest.estimators_samples_)  # all samples, by default
    more = make(n_estimators=4, random_state=0, warm_start=True).fit(X, y).set_params(n_estimators=9).fit(X, y)
    assert more.ensemble_ == forest.ensemble_


@pytest.mark.parametrize(
    ("ours", "theirs", "data"),
    [
        (ExtraTreesClassifier, sklearn.ensemble.ExtraTreesClassifier, load_iris),
        (ExtraTreesClassifier, sklearn.ensemble.ExtraTreesClassifier, load_breast_cancer),
        (ExtraTreesRegressor, sklearn.ensemble.ExtraTreesRegressor, load_diabetes),
    ],
)
def test_out_of_bag_scores_nodes_and_importances_are_those_of_scikit_learn(ours, theirs, data):
    X, y = data(return_X_y=True)
    scores, nodes, importances = [], [], []
    for estimator in (ours, theirs):
        forests = [estimator(n_estimators=150, bootstrap=True, oob_score=True, random_state=seed).fit(X, y) for seed in range(5)]
        scores.append([forest.oob_score_ for forest in forests])
        nodes.append([np.mean([tree.tree_.node_count for tree in forest.estimators_]) for forest in forests])
        importances.append([forest.feature_importances_ for forest in forests])
    for figures in (scores, nodes, importances):
        found, expected = np.array(figures)
        spread = np.sqrt((found.var(axis=0, ddof=1) + expected.var(axis=0, ddof=1)) / 5)
        assert (np.abs(found.mean(axis=0) - expected.mean(axis=0)) <= 4 * spread + 1e-3 * expected.mean()).all()


def test_strings_and_missing_values_need_no_encoding():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue", None], 600)
    width = np.where(rng.random(600) < 0.1, np.nan, rng.normal(size=600))
    label = np.where(colour == "red", "ripe", np.where(width > 1, "old", "unripe"))
    table = pl.DataFrame({"colour": colour.tolist(), "width": width}).with_columns(pl.col("width").fill_nan(None))
    forest = ExtraTreesClassifier(n_estimators=40, random_state=0).fit(table[:400], label[:400])
    assert forest.score(table[400:], label[400:]) > 0.85


@pytest.mark.parametrize(
    "choices",
    [
        {"max_leaf_nodes": 4},
        {"max_bins": 8},
        {"class_weight": "balanced"},
        {"recipe": {"impurity": "entropy"}},
        {"midpoint": "high"},
    ],
    ids=str,
)
def test_what_random_cuts_cannot_do_is_refused(choices):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="extremely randomized trees need"):
        ExtraTreesClassifier(n_estimators=2, **choices).fit(X, y)


def test_several_targets_are_refused():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="extremely randomized trees need one target"):
        ExtraTreesRegressor(n_estimators=2).fit(X, np.column_stack([y, y]))


def test_trees_are_pruned():
    X, y = load_diabetes(return_X_y=True)
    grown = ExtraTreesRegressor(n_estimators=5, random_state=0).fit(X, y)
    assert (
        ExtraTreesRegressor(n_estimators=5, random_state=0, ccp_alpha=20.0).fit(X, y).ensemble_.node_count
        < grown.ensemble_.node_count / 2
    )
