"""Forests: bags, trees, predictions, and what the samples out of the bags say."""

import itertools
import pickle
import time
import warnings

import numpy as np
import polars as pl
import pytest
from interrupts import n_threads
from scipy.stats import chi2_contingency
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.model_selection import cross_val_score

import fasttree
from fasttree import (
    CARTRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    Recipe,
    TreeClassifier,
    TreeRegressor,
)
from fasttree._model.bags import Bags
from tests.helpers.parts import PartsTogether

IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)


def classifier(**choices):
    return RandomForestClassifier(**{"n_estimators": 12, "random_state": 0, **choices})


def regressor(**choices):
    return RandomForestRegressor(**{"n_estimators": 12, "random_state": 0, **choices})


def mixed(n_samples=400, seed=0):
    """Numbers, strings, missing values, and a class that depends on them."""
    rng = np.random.default_rng(seed)
    width, colour = rng.normal(size=n_samples), rng.choice(["red", "green", "blue", "grey"], n_samples)
    label = np.where((colour == "red") | (width > 0.8), "ripe", "unripe")
    table = pl.DataFrame({"width": width, "colour": colour, "noise": rng.integers(0, 5, n_samples)})
    holes = rng.random((2, n_samples)) < 0.1
    table = table.with_columns(
        width=pl.when(pl.Series(holes[0])).then(None).otherwise(pl.col("width")),
        colour=pl.when(pl.Series(holes[1])).then(None).otherwise(pl.col("colour")),
    )
    return table, label


def test_the_example_of_six_samples_is_judged_by_hand(monkeypatch):
    # three bags (numbers of samples from 1): cuts at 4.5, 2.5, 4.5; out of them: 1 right, 3 wrong, 4 wrong, 6 right
    bags = [[1, 1, 2, 4, 5, 6], [2, 3, 3, 5, 6, 6], [1, 3, 4, 4, 5, 2]]
    monkeypatch.setattr(Bags, "counts", lambda self, tree: np.bincount(np.array(bags[tree]) - 1, minlength=6))
    X, y = [[1], [2], [3], [4], [5], [6]], list("aababb")
    with pytest.warns(UserWarning, match="in every bag"):
        forest = classifier(n_estimators=3, max_depth=1, oob_score=True).fit(X, y)
    assert [tree.tree_.threshold[0] for tree in forest.estimators_] == [4.5, 2.5, 4.5]
    found = forest.oob_decision_function_
    assert np.isnan(found[[1, 4]]).all()
    assert forest.classes_[found[[0, 2, 3, 5]].argmax(axis=1)].tolist() == ["a", "a", "b", "b"]
    assert forest.oob_score_ == 0.5
    assert forest.oob_curve()[-1] == 0.5


@pytest.mark.parametrize(
    "make",
    [
        classifier,
        lambda **choices: classifier(recipe="c45", **choices),
        lambda **choices: classifier(missing="surrogate", **choices),
        lambda **choices: classifier(bootstrap=False, max_samples=0.5, **choices),
        lambda **choices: classifier(bootstrap="balanced", **choices),
    ],
)
def test_a_forest_does_not_depend_on_threads_and_begins_with_a_smaller_one(make):
    X, y = mixed()
    forest = make(n_estimators=9).fit(X, y)
    assert make(n_estimators=9, n_jobs=3).fit(X, y).ensemble_ == forest.ensemble_
    assert make(n_estimators=4).fit(X, y).ensemble_ == forest.ensemble_.prefix(4)
    assert make(n_estimators=9, random_state=1).fit(X, y).ensemble_ != forest.ensemble_
    probabilities = forest.predict_proba(X)
    assert (forest.set_params(n_jobs=2).predict_proba(X) == probabilities).all()


@pytest.mark.parametrize("n_jobs", [2, 5, 8])
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor])
def test_trees_that_come_last_share_the_other_threads(kind, n_jobs, monkeypatch):
    rng = np.random.default_rng(n_jobs)
    columns = {name: rng.normal(size=30_000) for name in "abc"}
    columns["b"][::7] = np.nan
    word = rng.choice(list("uvwxyz"), 30_000)
    table = pl.DataFrame(columns | {"word": word})
    target = columns["a"] * (word < "w") + columns["c"] + rng.normal(size=30_000)
    target = target if "Regressor" in kind.__name__ else target > 0
    one = kind(n_estimators=3, max_depth=9, random_state=0, n_jobs=1).fit(table, target)
    parts = PartsTogether(monkeypatch)
    forest = kind(n_estimators=3, max_depth=9, random_state=0, n_jobs=n_jobs).fit(table, target)
    assert parts.all_shared()
    assert forest.set_params(n_jobs=1).to_json() == one.to_json()


def test_predictions_are_means_over_the_trees():
    X, y = mixed()
    forest = classifier().fit(X, y)
    each = [tree.predict_proba(X) for tree in forest.estimators_]
    assert np.allclose(forest.predict_proba(X), np.mean(each, axis=0), rtol=1e-15)
    votes = np.array([tree.predict(X) for tree in forest.estimators_])
    assert (forest.agreement(X) == (votes == forest.predict(X)).mean(axis=0)).all()
    assert (forest.apply(X) == np.column_stack([tree.apply(X) for tree in forest.estimators_])).all()
    numbers = regressor().fit(*DIABETES)
    assert np.allclose(numbers.predict(DIABETES[0]), np.mean([t.predict(DIABETES[0]) for t in numbers.estimators_], axis=0))


def test_tree_estimators_are_made_when_asked_for():
    forest = classifier(n_estimators=3).fit(*IRIS)
    trees = forest.estimators_
    assert len(trees) == 3
    assert isinstance(trees[-1], TreeClassifier)
    assert [tree.tree_ for tree in trees[1:]] == [forest.ensemble_.tree(1), forest.ensemble_.tree(2)]
    assert isinstance(regressor().fit(*DIABETES).estimators_[0], TreeRegressor)
    with pytest.raises(IndexError):
        trees[3]
    assert len(list(trees)) == 3


def test_a_tree_of_a_forest_is_the_tree_of_its_bag():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=300)
    forest = regressor(min_samples_leaf=20).fit(X, y)
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        alone = CARTRegressor(min_samples_leaf=20).fit(X, y, np.bincount(rows, minlength=300))
        assert (tree.tree_.feature == alone.tree_.feature).all()
        assert np.array_equal(tree.tree_.threshold, alone.tree_.threshold, equal_nan=True)
        np.testing.assert_allclose(tree.predict(X), alone.predict(X), rtol=1e-12)


def test_ties_do_not_prefer_the_first_columns():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    X = np.column_stack([x, x, x, rng.normal(size=200)])  # three columns that always tie
    importances = classifier(n_estimators=300, max_features=None).fit(X, (x + rng.normal(size=200) > 0)).feature_importances_
    assert importances[:3].min() > 0.7 * importances[:3].max()


@pytest.mark.parametrize("constraint", [{"interaction_cst": [["c"], ["a", "b"]]}, {"monotonic_cst": {"c": -1}}], ids=str)
def test_constraints_are_of_the_columns_that_they_name(constraint):
    rng = np.random.default_rng(0)
    X = pl.DataFrame(dict(zip("abc", rng.uniform(size=(3, 300)), strict=True)))
    y = X["a"] * X["c"] + 0.1 * rng.normal(size=300)
    forest = regressor(n_estimators=30, **constraint).fit(X, y)
    if "monotonic_cst" in constraint:
        at = pl.DataFrame({"a": [0.5] * 30, "b": [0.5] * 30, "c": np.linspace(0, 1, 30)})
        assert (np.diff(forest.predict(at)) <= 1e-12).all()
        return
    for tree in forest.ensemble_.trees():
        tests_c = {tree.feature[i] == 2 for i in np.flatnonzero(tree.feature >= 0)}
        assert len(tests_c) == 1


def test_nodes_draw_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = (X[:, 0] > 0).astype(int)
    roots = [tree.feature[0] for tree in classifier(n_estimators=60, max_features=1, max_depth=1).fit(X, y).ensemble_.trees()]
    assert set(roots) == set(range(6))
    assert {tree.feature[0] for tree in classifier(max_features=None, max_depth=1).fit(X, y).ensemble_.trees()} == {0}


# Out of the bags


def brute_force(forest, X, k):
    """Out-of-bag predictions and their error after each number of trees, tree by tree."""
    total, n_seen = np.zeros((len(X), k)), np.zeros(len(X))
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(X)), rows)
        found = tree.predict_proba(X) if k > 1 else tree.predict(X).reshape(-1, 1)
        total[out] += found[out]
        n_seen[out] += 1
        yield np.where(n_seen[:, None] > 0, total / np.maximum(n_seen, 1)[:, None], np.nan)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_out_of_bag_predictions_are_those_of_the_trees_that_lack_a_sample(n_jobs):
    X, y = mixed()
    forest = classifier(n_estimators=30, oob_score=True, n_jobs=n_jobs).fit(X, y)
    *_, last = steps = list(brute_force(forest, X, 2))
    assert np.allclose(forest.oob_decision_function_, last, rtol=1e-15)
    errors = []
    for found in steps:
        seen = ~np.isnan(found[:, 0])
        errors.append((forest.classes_[found[seen].argmax(axis=1)] != y[seen]).mean())
    assert np.allclose(forest.oob_curve(), errors)
    assert forest.oob_score_ == pytest.approx(1 - errors[-1])

    X, y = DIABETES
    forest = regressor(n_estimators=40, oob_score=True, n_jobs=n_jobs).fit(X, y)
    *_, last = brute_force(forest, X, 1)
    assert np.allclose(forest.oob_prediction_, last[:, 0], rtol=1e-14)
    assert forest.oob_score_ == pytest.approx(r2_score(y, last[:, 0]))
    assert forest.oob_curve()[-1] == pytest.approx(((y - last[:, 0]) ** 2).mean())


def test_a_function_scores_the_samples_out_of_the_bags():
    X, y = mixed()
    given = []

    def score(truth, predicted):
        given.append((truth, predicted))
        return balanced_accuracy_score(truth, predicted)

    forest = classifier(n_estimators=40, oob_score=score).fit(X, y)
    assert 0.5 < forest.oob_score_ < 1
    assert set(given[0][1]) == {"ripe", "unripe"}
    with pytest.raises(ValueError, match="was not judged out of its bags"):
        classifier().fit(X, y).oob_curve()


@pytest.mark.parametrize("class_weight", [{"unripe": 20, "ripe": 1}, {"unripe": 0}, "balanced", "balanced_subsample"], ids=str)
def test_class_weights_do_not_count_in_the_error_out_of_the_bags(class_weight):
    X, y = mixed()
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    for given in (None, weight):
        forest = classifier(class_weight=class_weight, n_estimators=60, max_depth=2, oob_score=True).fit(X, y, given)
        right = forest.classes_[forest.oob_decision_function_.argmax(axis=1)] == y
        assert forest.oob_score_ == pytest.approx(np.average(right, weights=given))
        assert forest.oob_curve()[-1] == pytest.approx(1 - forest.oob_score_)
        several = classifier(n_estimators=60, max_depth=2, oob_score=True, class_weight="balanced")
        several.fit(X, np.column_stack([y, y]), given)
        right = several.classes_[0][several.oob_decision_function_[0].argmax(axis=1)] == y
        assert several.oob_score_ == pytest.approx(np.average(right, weights=given))


def test_samples_without_weight_are_in_no_bag_and_do_not_count():
    X, y = DIABETES
    weight = np.ones(len(y))
    weight[::3] = 0
    y = np.where(weight == 0, 1e6, y)
    forest = regressor(n_estimators=30, oob_score=True).fit(X, y, weight)
    assert forest.predict(X).max() < 1000
    assert not any((np.asarray(rows) % 3 == 0).any() for rows in forest.estimators_samples_)
    assert forest.oob_score_ > 0.2
    doubled = regressor(n_estimators=30, oob_score=True).fit(X, y, 2 * weight)
    assert np.allclose(doubled.predict(X), forest.predict(X))


def test_permutation_importances_are_those_of_trees_by_brute_force():
    X, y = mixed()
    forest = classifier(n_estimators=25).fit(X, y)
    found = forest.permutation_importances(X, y)
    assert found.importances.shape == (3, 25)
    assert np.allclose(found.importances_mean, found.importances.mean(axis=1))
    assert np.allclose(found.importances_std, found.importances.std(axis=1))
    assert found.importances_mean[0] > 0.05
    assert found.importances_mean[1] > 0.2
    assert abs(found.importances_mean[2]) < 0.03
    together = forest.permutation_importances(X, y, groups=[["width", 1], ["noise"]])
    assert together.importances_mean[0] > found.importances_mean[:2].max()
    assert (forest.permutation_importances(X, y).importances == found.importances).all()
    with pytest.raises(ValueError, match="groups names 'length'"):
        forest.permutation_importances(X, y, groups=["length"])
    for alone in (["width", "noise"], [1, 2]):  # a column is a group
        found = forest.permutation_importances(X, y, groups=alone)
        assert found.importances.shape == (2, forest.n_estimators)
    with pytest.raises(ValueError, match="groups names None"):
        forest.permutation_importances(X, y, groups=[None])
    for groups in (5, "width"):
        with pytest.raises(ValueError, match=f"groups={groups!r}: must be a list of lists of columns"):
            forest.permutation_importances(X, y, groups=groups)
    with pytest.raises(ValueError, match="X has 399 samples, and the forest was fitted to 400"):
        forest.permutation_importances(X[1:], y[1:])
    everything = classifier(bootstrap=False).fit(X, y)
    with pytest.raises(ValueError, match="needs samples that a tree has not drawn"):
        everything.permutation_importances(X, y)


def test_impurity_importances_are_means_over_trees():
    forest = classifier(n_estimators=20).fit(*IRIS)
    assert np.allclose(forest.feature_importances_, np.mean([tree.feature_importances_ for tree in forest.estimators_], axis=0))
    assert forest.feature_importances_.sum() == pytest.approx(1)
    assert (classifier(n_estimators=2).fit([[1.0], [1.0]], [0, 1]).feature_importances_ == 0).all()


def test_proximities_are_shares_of_common_leaves():
    X, _ = IRIS
    forest = classifier(n_estimators=20, max_depth=3).fit(*IRIS)
    leaves = forest.apply(X)
    expected = (leaves[:, None, :] == leaves[None, :, :]).mean(axis=2)
    assert np.allclose(forest.proximity(X).toarray(), expected)


def test_indicators_of_leaves_are_the_ends_of_the_paths():
    X, y = mixed()
    forest = classifier(n_estimators=8).fit(X, y)
    indicator, leaves = forest.leaf_indicator(X), forest.apply(X)
    paths, starts = forest.decision_path(X)
    assert indicator.shape == paths.shape
    assert (indicator.toarray().sum(axis=1) == 8).all()
    for i, row in enumerate(leaves):
        assert indicator[i].indices.tolist() == (row + starts[:-1]).tolist()
    assert (indicator.multiply(paths) != indicator).nnz == 0


def test_decision_paths_lie_side_by_side():
    X, y = mixed()
    forest = classifier(n_estimators=5).fit(X, y)
    paths, starts = forest.decision_path(X)
    assert paths.shape == (len(y), forest.ensemble_.node_count)
    for i, tree in enumerate(forest.estimators_):
        assert (paths[:, starts[i] : starts[i + 1]] != tree.decision_path(X)).nnz == 0


def test_quantiles_are_those_of_the_weighted_targets():
    X, y = DIABETES
    forest = regressor(n_estimators=15, min_samples_leaf=5).fit(X, y)
    leaves = forest.apply(X)
    q = [0.1, 0.5, 0.9]
    found = forest.predict_quantiles(X[:20], q, X, y)
    order = np.argsort(y, kind="stable")
    for i in range(20):
        weight = np.zeros(len(y))
        for tree, rows in enumerate(forest.estimators_samples_):
            counts = np.bincount(rows, minlength=len(y)) * (leaves[:, tree] == leaves[i, tree])
            weight += counts / counts.sum() / 15
        assert weight @ y == pytest.approx(forest.predict(X[i : i + 1])[0])
        cumulated = np.cumsum(weight[order])
        assert found[i].tolist() == [y[order][np.searchsorted(cumulated, level - 1e-9)] for level in q]
    assert (forest.predict_quantiles(X, 0.5, X, y) == forest.predict_quantiles(X, [0.5], X, y)[:, 0]).all()
    with pytest.raises(ValueError, match=r"q=1.5: must be a number in \[0, 1\]"):
        forest.predict_quantiles(X, 1.5, X, y)


@pytest.mark.parametrize("n_estimators", [1, 5])
@pytest.mark.parametrize("missing", [{"missing": "surrogate", "no_surrogate": "stop"}, {"missing": "fractional"}])
def test_quantiles_where_no_sample_of_the_fit_ends(missing, n_estimators):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 2)) < 0.3, np.nan, rng.normal(size=(80, 2)).round(1))
    y = np.nan_to_num(X[:, 0]) + rng.normal(size=80)
    forest = regressor(n_estimators=n_estimators, max_samples=0.4, min_samples_leaf=2, **missing).fit(X, y)
    ends, q = forest.apply(X), [0.1, 0.5, 0.9]
    found = forest.predict_quantiles(X, q, X, y)
    order = np.argsort(y, kind="stable")
    for i in range(80):
        weight = np.zeros(80)
        for end, tree, rows in zip(ends.T, forest.estimators_, forest.estimators_samples_, strict=True):
            parent, counts = tree.tree_.parent, np.bincount(rows, minlength=80)
            ways = [{int(node)} for node in end]
            for way in ways:
                while (above := int(parent[min(way)])) >= 0:
                    way.add(above)
            node = end[i]
            while not (below := counts * np.array([node in way for way in ways])).any():
                node = parent[node]
            weight += below / below.sum() / n_estimators
        if missing["missing"] == "surrogate":
            assert weight @ y == pytest.approx(forest.predict(X[i : i + 1])[0])
        cumulated = np.cumsum(weight[order])
        assert found[i].tolist() == [y[order][np.searchsorted(cumulated, level - 1e-9)] for level in q]


def test_quantiles_need_weight_in_every_bag():
    X, y = DIABETES
    with pytest.raises(ValueError, match="a tree has drawn no sample of positive weight"):
        regressor().fit(X, y).predict_quantiles(X[:2], 0.5, X, y, np.zeros(len(y)))


def test_intervals_by_quantiles_hold_their_share_of_new_targets():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1500, 2))
    y = X[:, 0] * 4 + rng.normal(size=1500) * (0.2 + X[:, 1])
    forest = regressor(n_estimators=60, min_samples_leaf=5).fit(X[:1000], y[:1000])
    low, high = forest.predict_quantiles(X[1000:], [0.05, 0.95], X[:1000], y[:1000]).T
    assert 0.85 < ((low <= y[1000:]) & (y[1000:] <= high)).mean() < 0.97


def test_the_standard_error_is_the_jackknife_after_bootstrap():
    X, y = DIABETES
    forest = regressor(n_estimators=50, max_features=3).fit(X, y)
    by_tree = np.array([tree.predict(X[:7]) for tree in forest.estimators_])
    lacking = np.array([np.bincount(rows, minlength=len(y)) == 0 for rows in forest.estimators_samples_])
    n, mean = len(y), by_tree.mean(axis=0)
    variance = (n - 1) / n * sum((by_tree[lacking[:, i]].mean(axis=0) - mean) ** 2 for i in range(n))
    noise = ((1 - 1 / n) ** -n - 1) * n / 50**2 * ((by_tree - mean) ** 2).sum(axis=0)
    assert np.allclose(forest.predict_std(X[:7]), np.sqrt(np.maximum(variance - noise, 0)))
    assert classifier().fit(*IRIS).predict_std(IRIS[0]).shape == (150, 3)
    with pytest.raises(ValueError, match="drawn with replacement"):
        regressor(bootstrap=False, max_samples=0.5).fit(X, y).predict_std(X)


def test_the_standard_error_is_near_that_of_many_samples():
    rng = np.random.default_rng(1)
    at = np.array([[0.3], [0.7]])
    found, estimated = [], []
    for seed in range(20):
        X = rng.uniform(size=(100, 1))
        forest = regressor(n_estimators=200, min_samples_leaf=5, random_state=seed).fit(
            X, np.sin(6 * X[:, 0]) + rng.normal(size=100)
        )
        found.append(forest.predict(at))
        estimated.append(forest.predict_std(at))
    ratio = np.sqrt(np.mean(np.square(estimated), axis=0)) / np.std(found, axis=0)
    assert ((ratio > 0.6) & (ratio < 1.7)).all()


def test_the_most_representative_tree_is_nearest_to_the_others():
    X, y = DIABETES
    forest = regressor().fit(X, y)
    by_tree = np.array([tree.predict(X) for tree in forest.estimators_])
    distance = [((tree - by_tree) ** 2).sum() for tree in by_tree]
    assert forest.most_representative_tree(X).tree_ == forest.ensemble_.tree(int(np.argmin(distance)))


# Going on


def test_a_warm_start_adds_trees():
    X, y = mixed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest = classifier(n_estimators=4, warm_start=True, oob_score=True).fit(X, y)
        first = forest.ensemble_
        forest.set_params(n_estimators=11).fit(X, y)
        alone = classifier(n_estimators=11, oob_score=True).fit(X, y)
    assert forest.ensemble_.prefix(4) == first
    assert forest.ensemble_ == alone.ensemble_
    assert (forest.oob_curve() == alone.oob_curve()).all()
    with pytest.warns(UserWarning, match="does not fit new trees"):
        forest.set_params(oob_score=False).fit(X, y)
    assert not hasattr(forest, "oob_score_")
    with pytest.raises(ValueError, match="n_estimators=3 must be at least the 11 trees"):
        forest.set_params(n_estimators=3).fit(X, y)
    forest.set_params(n_estimators=12)
    for other in ((X[1:], y[1:]), (X.rename({"width": "w"}), y), (X, np.where(y == "ripe", "a", "b"))):
        with pytest.raises(ValueError, match="warm_start=True"):
            forest.fit(*other)
    assert forest.ensemble_.n_trees == 11


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"max_samples": 50}, "bootstrap, max_samples, or which samples have weight 0 differ"),
        ({"bootstrap": False}, "bootstrap, max_samples, or which samples have weight 0 differ"),
        ({"bootstrap": "balanced"}, "bootstrap, max_samples, or which samples have weight 0 differ"),
        ({"loss_matrix": {"ripe": {"unripe": 5}}}, "loss_matrix differs"),
        ({"criterion": "entropy"}, "the columns or the recipe differ"),
    ],
    ids=str,
)
def test_a_warm_start_does_not_mix_trees_of_other_bags_or_costs(changed, message):
    X, y = mixed()
    forest = classifier(n_estimators=4, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=f"warm_start=True: {message}"):
        forest.set_params(n_estimators=6, **changed).fit(X, y)
    assert forest.ensemble_.n_trees == 4


def test_a_warm_start_needs_the_same_samples_of_weight_0():
    X, y = mixed()
    some = np.arange(len(y)) % 3 > 0
    forest = classifier(n_estimators=4, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="which samples have weight 0 differ"):
        forest.set_params(n_estimators=6).fit(X, y, some)
    again = classifier(n_estimators=4, warm_start=True).fit(X, y, some)
    loaded = fasttree.from_json(again.to_json())
    for one in (again, loaded):
        assert one.set_params(n_estimators=6).fit(X, y, 2 * some).ensemble_.n_trees == 6


def test_zeros_have_one_sign():
    """Which of the targets 0.0 and -0.0 comes first in a leaf must not show."""
    X, y = np.arange(12.0)[:, None], np.array([1, -0.0, 0.0] * 4)
    value = RandomForestRegressor(n_estimators=2, random_state=0).fit(X, y).ensemble_.packed.value
    assert not np.signbit(value).any()


def test_targets_may_be_as_small_as_floats_are():
    X, y = DIABETES
    forest = regressor(n_estimators=3).fit(X, y * 1e-300)
    assert (forest.ensemble_.node_counts == regressor(n_estimators=3).fit(X, y).ensemble_.node_counts).all()
    assert np.allclose(forest.predict(X) * 1e300, regressor(n_estimators=3).fit(X, y).predict(X))


def test_a_warm_start_from_no_seed_goes_on_with_the_seed_of_the_first_fit():
    X, y = IRIS
    forest = classifier(n_estimators=5, random_state=None, warm_start=True).fit(X, y)
    first = forest.ensemble_
    assert forest.set_params(n_estimators=8).fit(X, y).ensemble_.prefix(5) == first
    assert len({rows.tobytes() for rows in forest.estimators_samples_}) == 8


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_interrupted_fit_keeps_its_trees_if_it_may_go_on(n_jobs):
    X, y = IRIS

    def stop(step, done, total):
        assert (step, total) == ("trees", 20_000)
        if done >= 60:
            raise KeyboardInterrupt

    before = n_threads()
    forest = classifier(n_estimators=20_000, warm_start=True, n_jobs=n_jobs)
    with fasttree.progress(stop), pytest.raises(KeyboardInterrupt):
        forest.fit(X, y)
    end = time.monotonic() + 10
    while n_threads() > before and time.monotonic() < end:
        time.sleep(0.001)  # a thread whose work is over has its last lines before it
    assert n_threads() == before
    kept = forest.ensemble_.n_trees
    assert 58 <= kept < 20_000  # other threads may be ahead of the count
    assert forest.predict(X[:1]) == [0]
    assert "_so_far" not in vars(forest)
    assert forest.set_params(n_estimators=kept + 9).fit(X, y).ensemble_ == classifier(n_estimators=kept + 9).fit(X, y).ensemble_
    cold = classifier(n_estimators=20_000, n_jobs=n_jobs)
    with fasttree.progress(stop), pytest.raises(KeyboardInterrupt):
        cold.fit(X, y)
    assert not hasattr(cold, "ensemble_")


def test_progress_counts_every_tree():
    seen = []
    with fasttree.progress(lambda *part: seen.append(part)):
        classifier(n_estimators=7, n_jobs=2).fit(*IRIS)
    assert seen == [("trees", done, 7) for done in range(8)]


# Bags


def test_bags_are_drawn_as_the_parameters_say():
    X, y = mixed()
    n = len(y)

    def sizes(**choices):
        forest = classifier(n_estimators=6, **choices).fit(X, y)
        return [(len(rows), len(set(rows.tolist()))) for rows in forest.estimators_samples_]

    assert all(total == n and 0.55 * n < distinct < 0.72 * n for total, distinct in sizes())
    assert sizes(bootstrap=False) == [(n, n)] * 6
    assert sizes(bootstrap=False, max_samples=0.632) == [(252, 252)] * 6
    assert [total for total, _ in sizes(max_samples=50)] == [50] * 6
    with pytest.raises(ValueError, match="max_samples=401: must not exceed the 400 samples"):
        classifier(max_samples=401).fit(X, y)


def test_balanced_bags_draw_every_class_equally_often():
    y = np.array([0] * 180 + [1] * 20)
    X = np.random.default_rng(0).normal(size=(200, 2))
    forest = classifier(bootstrap="balanced").fit(X, y)
    assert all(np.bincount(y[rows]).tolist() == [20, 20] for rows in forest.estimators_samples_)
    half = classifier(bootstrap="balanced", max_samples=60).fit(X, y)
    assert all(np.bincount(y[rows]).tolist() == [30, 30] for rows in half.estimators_samples_)
    with pytest.raises(ValueError, match="needs classes, of one target"):
        regressor(bootstrap="balanced").fit(X, y)


def test_weights_of_bags_balance_the_classes():
    y = np.array([0] * 180 + [1] * 20)
    X = np.random.default_rng(0).normal(size=(200, 2))
    forest = classifier(class_weight="balanced_subsample").fit(X, y)
    for tree in forest.ensemble_.trees():
        assert tree.value[0, 0] == pytest.approx(tree.value[0, 1])
    Y = np.column_stack([y, y[::-1]])
    assert classifier(class_weight="balanced_subsample").fit(X, Y).predict(X).shape == (200, 2)


def test_limits_count_samples_and_not_draws():
    X, y = IRIS
    forest = classifier(min_samples_leaf=10).fit(X, y)
    leaves = forest.apply(X)
    for tree, rows in enumerate(forest.estimators_samples_):
        assert np.unique(leaves[np.unique(rows), tree], return_counts=True)[1].min() >= 10


# What forests of others lack


def test_strings_and_missing_values_need_no_encoding():
    X, y = mixed(1200)
    forest = classifier(n_estimators=40).fit(X[:800], y[:800])
    assert forest.score(X[800:], y[800:]) > 0.85
    assert forest.feature_names_in_.tolist() == ["width", "colour", "noise"]
    assert forest.predict_proba(pl.DataFrame({"width": [None], "colour": ["violet"], "noise": [1]})).sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="violet"):
        forest.set_params(unseen="error").predict(pl.DataFrame({"width": [1.0], "colour": ["violet"], "noise": [1]}))
    with pytest.raises(ValueError, match="missing values"):
        classifier(missing="error").fit(X, y)


@pytest.mark.parametrize(
    "choices",
    [
        {"missing": "fractional"},
        {"missing": "surrogate", "no_surrogate": "more_samples"},
        {"missing": "majority"},
        {"missing": "branch"},
        {"nominal": "one_vs_rest"},
        {"criterion": "entropy", "midpoint": "high"},
        {"criterion": "misclassification"},
        {"recipe": "c45"},
        {"recipe": "c45_textbook"},
        {"recipe": Recipe(impurity="entropy", rank="plain_gain_ratio", nominal="present", missing="fractional")},
        {"priors": {"ripe": 0.5, "unripe": 0.5}},
        {"loss_matrix": {"ripe": {"unripe": 5}}},
        {"class_weight": "balanced"},
        {"max_bins": 8},
        {"max_leaf_nodes": 5},
        {"ccp_alpha": 0.01},
        {"interaction_cst": "pairwise"},
        {"split_p_value": 0.05},
        {"min_weight_fraction_leaf": 0.05},
        {"min_impurity_decrease": 0.01},
    ],
    ids=str,
)
def test_trees_grow_by_every_choice_and_survive_a_file(choices):
    X, y = mixed()
    forest = classifier(n_estimators=6, oob_score=True, **choices)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest.fit(X, y)
    assert forest.score(X, y) > 0.75
    for tree in forest.ensemble_.trees():
        tree.check()
    for copy in (fasttree.from_json(forest.to_json()), pickle.loads(pickle.dumps(forest))):
        assert type(copy) is RandomForestClassifier
        assert copy.ensemble_ == forest.ensemble_
        assert (copy.predict_proba(X) == forest.predict_proba(X)).all()
        assert (copy.estimators_samples_[3] == forest.estimators_samples_[3]).all()
    assert clone(forest).get_params().keys() == forest.get_params().keys()


@pytest.mark.parametrize(
    "choices", [{}, {"criterion": "poisson"}, {"criterion": "absolute_error"}, {"missing": "surrogate"}], ids=str
)
@pytest.mark.parametrize("several", [False, True])
def test_numbers_of_one_or_several_targets(choices, several):
    X, y = DIABETES
    target = np.column_stack([y, y[::-1]]) if several else y
    forest = regressor(n_estimators=6, oob_score=True, **choices)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest.fit(X, target)
    assert forest.score(X, target) > 0.5
    assert forest.oob_prediction_.shape == target.shape
    assert fasttree.from_json(forest.to_json()).ensemble_ == forest.ensemble_
    forest.permutation_importances(X, target)


def test_several_targets_of_classes():
    X, y = IRIS
    Y = np.column_stack([y, y > 0])
    forest = classifier(n_estimators=30, oob_score=True).fit(X, Y)
    assert [part.shape for part in forest.predict_proba(X)] == [(150, 3), (150, 2)]
    assert [part.shape for part in forest.oob_decision_function_] == [(150, 3), (150, 2)]
    assert forest.score(X, Y) > 0.95
    assert forest.oob_score_ > 0.9
    assert forest.agreement(X).shape == (150, 2)
    assert fasttree.from_json(forest.to_json()).ensemble_ == forest.ensemble_
    with pytest.raises(ValueError, match="split_p_value"):
        classifier(split_p_value=0.05).fit(X, Y)


def test_monotone_constraints_hold_for_the_mean():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = X[:, 0] + rng.normal(size=300)
    forest = regressor(n_estimators=30, monotonic_cst=[1, 0]).fit(X, y)
    at = np.column_stack([np.linspace(0, 1, 50), np.full(50, 0.5)])
    assert (np.diff(forest.predict(at)) >= -1e-12).all()


def test_costs_decide_by_the_mean_probabilities():
    X, y = mixed()
    loss = {"ripe": {"unripe": 20}}
    forest = classifier(n_estimators=30, loss_matrix=loss, max_depth=3).fit(X, y)
    expected = forest.predict_proba(X) @ np.array([[0.0, 20.0], [1.0, 0.0]])
    assert (forest.predict(X) == forest.classes_[expected.argmin(axis=1)]).all()


# Errors


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0: must be an integer >= 1"),
        ({"bootstrap": "yes"}, "bootstrap='yes': must be True, False or 'balanced'"),
        ({"max_samples": 1.5}, "max_samples=1.5: must be"),
        ({"oob_score": "r2"}, "oob_score='r2': must be True, False or a function"),
        ({"warm_start": 1}, "warm_start=1: must be True or False"),
        ({"ccp_alpha": -1}, "ccp_alpha=-1: must be"),
        ({"class_weight": "even"}, "class_weight='even': must be"),
        ({"recipe": "id4"}, "recipe='id4': must be"),
        ({"recipe": "c45", "criterion": "entropy"}, "criterion='entropy' and recipe='c45' exclude each other"),
        ({"bootstrap": False, "oob_score": True}, "oob_score=True is for bags"),
        ({"bootstrap": False, "class_weight": "balanced_subsample"}, "class_weight='balanced_subsample' is for bags"),
        ({"max_features": 5}, "max_features=5: must not exceed the number of features, 4"),
        ({"max_surrogates": 2}, "max_surrogates=2 is for surrogates"),
    ],
)
def test_wrong_parameters_raise_an_error(choices, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        classifier(**choices).fit(*IRIS)


# Figures of scikit-learn


@pytest.mark.parametrize(
    ("forest", "data", "expected", "sd", "n_seeds"),
    [
        (RandomForestClassifier(), load_iris, 1 - 0.0423, 0.0033, 4),
        (RandomForestClassifier(), load_breast_cancer, 1 - 0.0357, 0.0029, 1),
        (RandomForestRegressor(max_features=1 / 3), load_diabetes, 0.4523, 0.0034, 1),
        (RandomForestRegressor(), load_diabetes, 0.4316, 0.0037, 1),
        (RandomForestRegressor(max_features=1 / 3, min_samples_split=6), load_diabetes, 0.4572, 0.0035, 1),
    ],
    ids=["iris", "breast cancer", "diabetes p/3", "diabetes p", "diabetes p/3, 6"],
)
def test_out_of_bag_scores_are_those_of_scikit_learn(forest, data, expected, sd, n_seeds):
    scores = [
        clone(forest).set_params(n_estimators=500, oob_score=True, random_state=seed).fit(*data(return_X_y=True)).oob_score_
        for seed in range(n_seeds)  # of iris a sample more or less is two standard deviations
    ]
    assert abs(np.mean(scores) - expected) < 3 * sd


def test_importances_on_iris_are_those_of_scikit_learn_and_of_r():
    found = [classifier(n_estimators=500, random_state=seed).fit(*IRIS) for seed in range(2)]
    shares = np.mean([forest.feature_importances_ for forest in found], axis=0)
    assert (np.abs(shares - [0.0994, 0.0241, 0.4307, 0.4458]) < 3 * np.array([0.008, 0.002, 0.012, 0.013])).all()
    rises = found[0].permutation_importances(*IRIS).importances_mean
    assert (np.abs(rises - [0.0322, 0.0058, 0.3059, 0.3021]) < [0.01, 0.01, 0.05, 0.05]).all()


def test_a_forest_is_an_estimator_of_scikit_learn():
    assert cross_val_score(classifier(), *IRIS, cv=3).mean() > 0.9
    assert cross_val_score(regressor(n_estimators=30), *DIABETES, cv=3).mean() > 0.3


def test_bags_of_two_trees_do_not_depend_on_each_other():
    bags = Bags(0, 100, 100)
    drawn = np.array([bags.counts(tree) > 0 for tree in range(400)])
    for one, other in itertools.combinations(range(3), 2):
        table = np.histogram2d(drawn[:, one], drawn[:, other], 2)[0]
        assert chi2_contingency(table).pvalue > 1e-3


def test_large_trees_that_share_memory_while_they_grow_do_not_overwrite_each_other() -> None:
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(5000, 3)), draw.normal(size=5000)
    forest = RandomForestRegressor(n_estimators=4, bootstrap=False, max_features=1, random_state=0).fit(X, y)
    assert min(16 * forest.ensemble_.tree(number).node_count for number in range(4)) > 1 << 16  # bytes: smaller ones lie alone
    assert forest.predict(X) == pytest.approx(y, abs=1e-6)
