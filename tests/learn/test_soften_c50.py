"""C5.0's soft thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from fasttree import C50Classifier, from_json
from fasttree._learn.prune.soften_c50 import bound


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


def test_weights_count_samples_and_the_order_changes_nothing(iris):
    X, y = iris
    model = C50Classifier(soft_thresholds=True)
    times = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = model.fit(X, y, sample_weight=times).tree_
    repeated = model.fit(X.repeat(times, axis=0), y.repeat(times)).tree_
    assert weighted.lower == pytest.approx(repeated.lower, nan_ok=True)
    assert weighted.upper == pytest.approx(repeated.upper, nan_ok=True)
    order = np.random.default_rng(1).permutation(len(y))
    assert model.fit(X[order], y[order]).tree_ == model.fit(X, y).tree_


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
