"""The side of a value that equals the midpoint of a threshold: `midpoint="low"` or "high"."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fasttree
from fasttree import CARTClassifier, CARTRegressor, Recipe, TreeClassifier
from fasttree._learn.grow.decode import midpoints, single_midpoints
from fasttree._model.arrays import THRESHOLD

TINY = np.finfo(np.float64).tiny


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, np.float32, pd.DataFrame])
@pytest.mark.parametrize("missing", ["direction", "surrogate", "branch"])
@pytest.mark.parametrize("max_bins", [None, 5])
@settings(max_examples=10)
@given(seed=st.integers(0, 999))
def test_only_values_that_equal_midpoints_go_elsewhere(form, missing, max_bins, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (40, 3)) / 4
    y = rng.integers(0, 3, 40)
    if missing != "direction":
        X[rng.random(X.shape) < 0.2] = np.nan
    asked = {"missing": missing, "max_bins": max_bins, "min_samples_leaf": 2}
    low, high = (CARTClassifier(**asked, midpoint=side).fit(form(X), y) for side in ("low", "high"))
    threshold, below = low.tree_.threshold, high.tree_.threshold
    assert high.tree_.replace(threshold=threshold, surrogates=None) == low.tree_.replace(surrogates=None)
    tests = low.tree_.kind == THRESHOLD
    np.testing.assert_array_equal(below[tests], np.nextafter(threshold[tests], -np.inf))
    assert (low.apply(form(X)) == high.apply(form(X))).all()
    for node in np.flatnonzero(tests)[:1]:
        row = np.zeros((1, 3))
        row[0, low.tree_.feature[node]] = threshold[node]
        passed = [model.decision_path(form(row)).indices for model in (low, high)]
        assert low.tree_.first_child[node] in passed[0]
        assert high.tree_.first_child[node] + 1 in passed[1]


def thresholds(values, **more):
    X = np.array(values, float)[:, None]
    tree = CARTRegressor(midpoint="high", **more).fit(X, np.arange(len(values), dtype=float)).tree_
    return sorted(tree.threshold[tree.kind == THRESHOLD].tolist())


def test_thresholds_separate_neighbouring_doubles_too():
    values = [1.0, np.nextafter(1.0, 2.0), 3.0, np.nextafter(3.0, 2.0)]
    ordered = np.sort(values)
    found = np.array(thresholds(values))
    assert (ordered[:-1] <= found).all()
    assert (found < ordered[1:]).all()
    middle = midpoints(ordered[:-1], ordered[1:])
    assert ((found < middle) | (middle == ordered[:-1])).all()


def test_below_0_stands_a_number_in_full_precision():
    assert thresholds([-1.0, 1.0]) == [-TINY]
    assert thresholds([-TINY / 2, TINY / 2]) == [-TINY / 2]


def test_a_category_between_two_others_stays_with_the_lower_ones():
    X = pd.DataFrame({"size": ["small", "small", "large", "large"]})
    asked = {"ordinal_features": {"size": ["small", "medium", "large"]}}
    low, high = (CARTClassifier(**asked, midpoint=side).fit(X, [0, 0, 1, 1]) for side in ("low", "high"))
    assert low.tree_ == high.tree_


def test_recipes_choose_it_and_files_keep_it():
    X, y = [[1.0], [3.0]], [0, 1]
    for recipe in ({"midpoint": "high"}, Recipe("mine", midpoint="high")):
        model = TreeClassifier(recipe=recipe).fit(X, y)
        assert model.predict([[2.0]]).tolist() == [1]
        again = fasttree.from_json(model.to_json())
        assert again.tree_ == model.tree_
        assert again.recipe == recipe
        assert again.recipe_ == model.recipe_


def test_recipes_of_files_of_earlier_versions_are_recipes():
    mine = Recipe("mine", "entropy")
    model = TreeClassifier(recipe=mine).fit([[1.0], [3.0]], [0, 1])
    saved = asdict(mine)
    del saved["midpoint"]
    settings = model.get_params() | {"recipe": saved}
    assert TreeClassifier._from_settings(settings).recipe == mine


@given(
    low=st.floats(-1e30, 1e30) | st.integers(-5, 5).map(float),
    step=st.floats(1e-12, 1e3) | st.integers(1, 3).map(float),
    values=st.lists(st.floats(-1.0, 2.0), min_size=1, max_size=8),
)
def test_midpoints_of_single_precision_divide_doubles_as_single_precision_does(low, step, values):
    high = low + step
    assume(high > low)
    bound = single_midpoints(np.array([low]), np.array([high]))[0]
    below, above = np.float32(low), np.float32(high)
    middle = (below + above) / np.float32(2)
    if not below <= middle < above:  # single precision has no number between them
        assert bound == low
        return
    near = [low, high, float(middle), bound, np.nextafter(bound, np.inf), *(low + share * step for share in values)]
    for value in near:
        assert (value <= bound) == (np.float32(value) <= middle)
