"""The weights of C5.0's boosting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fasttree import C50Classifier
from fasttree._learn.boosting import Standing, move_weights, n_leaves, weight_of


def standing_of(factor, kept=None):
    factor = np.array(factor, np.float32)
    return Standing(factor, np.ones(len(factor), bool) if kept is None else np.array(kept), np.zeros((len(factor), 2)))


def moved(state, counts, wrong):
    errors, kept = weight_of(wrong, counts * state.factor), weight_of(state.kept, counts)
    move_weights(state, counts, wrong, errors, kept)


def test_the_wrong_weight_moves_halfway_towards_half_of_all_weight():
    state = standing_of(np.ones(10))
    wrong = np.arange(10) < 2
    moved(state, np.ones(10), wrong)
    assert state.factor[wrong] == pytest.approx((2 + (5 - 2) / 2) / 2)
    assert state.factor[~wrong] == pytest.approx((8 - 1.5) / 8)
    assert state.lightest == pytest.approx((8 - 1.5) / 8)


def test_each_wrong_sample_gets_the_same_addition_whatever_its_weight():
    state = standing_of([0.5, 1.5, 1, 1])
    moved(state, np.ones(4), np.array([True, True, False, False]))
    assert np.diff(state.factor[:2]) == pytest.approx(1.0)


def test_dropped_samples_keep_out_and_weights_stay_above_the_least():
    state = standing_of([1, 3, 0.0012, 2], kept=[True, True, True, False])
    moved(state, np.ones(4), np.array([True, False, False, False]))
    assert state.factor[3] == 2
    assert state.factor[2] == np.float32(0.001)


def test_a_weight_counts_as_often_as_its_sample():
    weighted, repeated = standing_of([1, 1, 1]), standing_of([1, 1, 1, 1, 1, 1])
    moved(weighted, np.array([2.0, 1.0, 3.0]), np.array([True, False, False]))
    moved(repeated, np.ones(6), np.array([True, True, False, False, False, False]))
    assert weighted.factor == pytest.approx(repeated.factor[[0, 2, 3]])


def test_a_leaf_of_several_categories_counts_for_each():
    X = pd.DataFrame({"a": pd.Categorical(list("uvwxyz") * 10), "b": np.arange(60) % 7})
    y = np.where(X["a"].isin(["u", "v", "w"]), "yes", "no")
    tree = C50Classifier().fit(X, y).tree_
    assert tree.n_leaves == 2
    assert n_leaves(tree, by_category=True) == 6
    assert n_leaves(tree, by_category=False) == 2
