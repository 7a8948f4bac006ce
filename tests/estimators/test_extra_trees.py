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


def fruit(n_samples=400):
    rng = np.random.default_rng(0)
    colour, width = rng.choice(["red", "green", "blue", "grey"], n_samples), rng.normal(size=n_samples)
    label = np.where((colour == "red") | (width > 0.8), "ripe", "unripe")
    holes = rng.random((2, n_samples)) < 0.1
    table = pl.DataFrame({"colour": np.where(holes[0], None, colour).tolist(), "width": np.where(holes[1], None, width).tolist()})
    return table.with_columns(pl.col("width").cast(pl.Float64)), label


@pytest.mark.parametrize(
    "choices",
    [
        {"max_leaf_nodes": 9},
        {"max_bins": 8},
        {"class_weight": "balanced"},
        {"class_weight": "balanced_subsample", "bootstrap": True},
        {"criterion": "entropy"},
        {"criterion": "misclassification"},
        {"recipe": {"impurity": "entropy", "rank": "gain_ratio"}},
        {"recipe": "c45_textbook"},
        {"recipe": {"missing": "surrogate"}},
        {"recipe": {"nominal": "declared", "missing": "fractional"}},
        {"midpoint": "high"},
        {"missing": "fractional"},
        {"missing": "majority"},
        {"missing": "branch"},
        {"priors": {"ripe": 0.5, "unripe": 0.5}},
        {"loss_matrix": {"ripe": {"unripe": 2}}},
        {"interaction_cst": "no_interactions"},
        {"min_impurity": 0.1},
        {"split_p_value": 0.05},
    ],
    ids=str,
)
def test_trees_of_random_cuts_have_every_choice(choices):
    X, y = fruit()
    grown = [ExtraTreesClassifier(n_estimators=8, random_state=0, n_jobs=n_jobs, **choices).fit(X, y) for n_jobs in (1, 2)]
    assert grown[0].score(X, y) > 0.75
    assert grown[0].ensemble_ == grown[1].ensemble_
    assert ExtraTreesClassifier(n_estimators=3, random_state=0, **choices).fit(X, y).ensemble_ == grown[0].ensemble_.prefix(3)
    for tree in grown[0].ensemble_.trees():
        tree.check()
    found = {float(t) for tree in grown[0].ensemble_.trees() for t in tree.threshold[~np.isnan(tree.threshold)]}
    assert len(found) > (0 if "min_impurity" in choices else 8)  # hardly two thresholds are equal
    copy = fasttree.from_json(grown[0].to_json())
    assert (copy.predict_proba(X) == grown[0].predict_proba(X)).all()


def test_recipes_with_thresholds_of_their_own_are_refused():
    X, y = load_iris(return_X_y=True)
    for recipe in ("c45", {"impurity": "entropy", "continuous": "intervals", "missing": "fractional"}):
        with pytest.raises(ValueError, match="random cuts cannot follow"):
            ExtraTreesClassifier(n_estimators=2, recipe=recipe).fit(X, y)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_several_targets_and_every_criterion_of_numbers(criterion):
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, y[::-1]])
    for target in (y, Y):
        forest = ExtraTreesRegressor(n_estimators=20, criterion=criterion, min_samples_leaf=3, random_state=0).fit(X, target)
        assert forest.predict(X).shape == target.shape
        assert forest.score(X, target) > 0.5
    weight = np.random.default_rng(0).random(len(y))
    weighted = ExtraTreesRegressor(n_estimators=20, criterion=criterion, random_state=0).fit(X, y, weight)
    assert weighted.score(X, y, weight) > 0.9


def test_several_targets_of_classes():
    X, y = load_iris(return_X_y=True)
    forest = ExtraTreesClassifier(n_estimators=20, random_state=0).fit(X, np.column_stack([y, y > 0]))
    assert [part.shape for part in forest.predict_proba(X)] == [(150, 3), (150, 2)]
    assert forest.score(X, np.column_stack([y, y > 0])) > 0.95


def test_monotone_constraints_hold_for_random_cuts():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    forest = ExtraTreesRegressor(n_estimators=30, monotonic_cst=[1, 0], random_state=0).fit(X, X[:, 0] + rng.normal(size=300))
    at = np.column_stack([np.linspace(0, 1, 50), np.full(50, 0.5)])
    assert (np.diff(forest.predict(at)) >= -1e-12).all()
    assert len(set(forest.predict(at))) > 1


@pytest.mark.parametrize(
    ("name", "data", "choices", "weighted"),
    [
        ("ExtraTreesClassifier", load_iris, {"criterion": "entropy"}, False),
        ("ExtraTreesClassifier", load_breast_cancer, {"class_weight": {0: 3.5, 1: 1.25}}, False),
        ("ExtraTreesRegressor", load_diabetes, {"criterion": "poisson", "max_features": 0.5}, False),
        ("ExtraTreesRegressor", load_diabetes, {"min_samples_leaf": 3}, True),
    ],
)
def test_figures_of_other_choices_are_those_of_scikit_learn(name, data, choices, weighted):
    X, y = data(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    learn, unseen = order[len(y) // 3 :], order[: len(y) // 3]
    weight = rng.random(len(learn)) + 0.5 if weighted else None
    figures = []
    for module in (fasttree, sklearn.ensemble):
        forests = [
            getattr(module, name)(n_estimators=60, random_state=seed, **choices).fit(X[learn], y[learn], weight)
            for seed in range(5)
        ]
        nodes = [np.mean([tree.tree_.node_count for tree in forest.estimators_]) for forest in forests]
        scores = [forest.score(X[unseen], y[unseen]) for forest in forests]
        figures.append(np.column_stack([scores, nodes, [forest.feature_importances_ for forest in forests]]))
    spread = np.sqrt((figures[0].var(axis=0, ddof=1) + figures[1].var(axis=0, ddof=1)) / 5)
    apart = np.abs(figures[0].mean(axis=0) - figures[1].mean(axis=0))
    assert (apart <= 4 * spread + 5e-3 * np.abs(figures[1].mean(axis=0))).all()


def test_trees_are_pruned():
    X, y = load_diabetes(return_X_y=True)
    grown = ExtraTreesRegressor(n_estimators=5, random_state=0).fit(X, y)
    assert (
        ExtraTreesRegressor(n_estimators=5, random_state=0, ccp_alpha=20.0).fit(X, y).ensemble_.node_count
        < grown.ensemble_.node_count / 2
    )
