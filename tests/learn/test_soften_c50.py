"""C5.0's soft thresholds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from trees import Node, flat, leaf, split

from fasttree import C50Classifier, from_json
from fasttree._data.learn import learn_table
from fasttree._learn.prune.soften_c50 import bound, soften_c50
from fasttree._learn.samples import Samples
from fasttree._model.arrays import THRESHOLD


def found(values, own, other, deviation):
    return bound(*(np.array(each, float) for each in (values, own, other)), deviation, -1.0)


def test_a_bound_moves_on_while_the_other_branch_makes_few_errors():
    assert found([5, 4, 3, 2], [0, 0, 0, 0], [0, 0, 0, 0], 0.0) == 2
    assert found([5, 4, 3, 2], [0, 0, 0, 0], [0, 1, 1, 1], 0.5) == 4
    assert found([5, 4, 4, 3], [0, 0, 0, 0], [0, 1, 0, 0], 0.5) == 4
    assert found([5, 4, 3, 2], [1, 1, 1, 1], [1, 1, 1, 1], 0.0) == 2
    assert found([5, 4, 3, 2], [0, 0, 0, 0], [1, 1, 1, 1], 9.0) == 4  # 2 > 2 x 0 + 1
    assert found([5, 4], [0, 0], [1, 0], 0.0) == -1
    assert found([5, 5], [0, 0], [0, 0], 0.0) == -1


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_soft_thresholds_are_part_of_the_tree_and_of_its_exports(iris):
    X, y = iris
    soft, hard = C50Classifier(soft_thresholds=True).fit(X, y), C50Classifier().fit(X, y)
    tree = soft.tree_
    tree.check()
    by_threshold = tree.n_branches > 0
    assert (tree.lower[by_threshold] <= tree.threshold[by_threshold]).all()
    assert (tree.threshold[by_threshold] <= tree.upper[by_threshold]).all()
    assert (tree.lower[by_threshold] < tree.upper[by_threshold]).any()
    assert (tree.n_samples == hard.tree_.n_samples).all()
    assert not np.allclose(soft.predict_proba(X), hard.predict_proba(X))
    assert (from_json(soft.to_json()).predict_proba(X) == soft.predict_proba(X)).all()
    assert (soft.to_predictor().predict_proba(X) == soft.predict_proba(X)).all()


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_weights_count_samples_and_the_order_changes_nothing(iris, missing):
    X, y = iris
    X = np.where(np.random.default_rng(2).random(X.shape) < missing, np.nan, X)
    model = C50Classifier(soft_thresholds=True)
    times = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = model.fit(X, y, sample_weight=times).tree_
    repeated = model.fit(X.repeat(times, axis=0), y.repeat(times)).tree_
    assert weighted.lower == pytest.approx(repeated.lower, nan_ok=True)
    assert weighted.upper == pytest.approx(repeated.upper, nan_ok=True)
    assert np.unique(weighted.upper[weighted.n_branches > 0]).size > 1
    order = np.random.default_rng(1).permutation(len(y))
    assert model.fit(X[order], y[order]).tree_ == model.fit(X, y).tree_


@pytest.mark.parametrize("seed", range(4))
def test_weights_count_parts_of_samples(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3)).round(1)
    y = (X[:, 0] + X[:, 1] > 0) ^ (rng.random(200) < 0.15)
    X[rng.random(X.shape) < 0.1] = np.nan
    model, times = C50Classifier(confidence=0.8, global_pruning=False, soft_thresholds=True), rng.integers(1, 4, 200)
    weighted = model.fit(X, y, sample_weight=times).tree_
    repeated = model.fit(X.repeat(times, axis=0), y.repeat(times)).tree_
    assert weighted.lower == pytest.approx(repeated.lower, nan_ok=True)
    assert weighted.upper == pytest.approx(repeated.upper, nan_ok=True)


def by_age(threshold: float, children: list[Node], value: list[float]) -> Node:
    return split(children, feature=0, kind=THRESHOLD, threshold=threshold, value=value)


def ages(values: list[float], target: list[int], weight: list[float] | None = None) -> Samples:
    table = learn_table(pd.DataFrame({"age": values, "size": 1.0, "city": 1.0, "member": 1.0}))
    return Samples(table, np.array(target), weight=None if weight is None else np.array(weight))


@pytest.mark.parametrize("threshold", [0.5, 9.0])
def test_a_threshold_with_no_value_on_one_side_stays_as_it_is(threshold):
    below = by_age(threshold, [leaf([1.0, 1.0]), leaf([0.0, 2.0])], [1.0, 1.0])
    tree = flat(by_age(2.5, [below, leaf([0.0, 2.0])], [1.0, 3.0]), "classification")
    soft = soften_c50(tree, ages([1.0, 2.0, 3.0, 4.0], [0, 1, 1, 1]))
    assert soft.lower[1] == soft.threshold[1] == soft.upper[1] == threshold
    assert soft.threshold[0] == 2.5


def test_errors_of_a_standard_error_do_not_quite_fit_into_it():
    # 1.5 of 4.5 samples are errors: sqrt(1.5 * 3 / 4.5) is 1, and a thousandth of a sample more makes it less
    tree = flat(by_age(2.5, [leaf([1.0, 0.5]), leaf([1.0, 2.0])], [2.0, 2.5]), "classification")
    soft = soften_c50(tree, ages([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0], [0.5, 1.0, 2.0, 1.0]))
    assert soft.lower[0] == 2.5


def test_a_bound_at_zero_has_no_sign():
    X = np.array([-2.0, -2.0, -2.0, -1.0, -1.0, -0.0, 2.0])[:, None]
    tree = C50Classifier(soft_thresholds=True).fit(X, [0, 0, 0, 0, 1, 1, 1]).tree_
    assert tree.upper[0] == 0
    assert not np.signbit(tree.upper[0])


def test_soft_thresholds_and_trials_exclude_each_other(iris):
    with pytest.raises(ValueError, match="trials=3 and soft_thresholds=True exclude each other"):
        C50Classifier(trials=3, soft_thresholds=True).fit(*iris)


def test_an_edited_tree_gets_soft_thresholds_of_the_same_kind(iris):
    X, y = iris
    model = C50Classifier(soft_thresholds=True, pruning=None).fit(X, y)
    pruned = model.prune("reduced_error", X, y)
    assert pruned.tree_.lower is not None
    kept = pruned.tree_.n_branches > 0
    assert set(pruned.tree_.lower[kept]) <= set(np.unique(X)) | set(pruned.tree_.threshold[kept])
