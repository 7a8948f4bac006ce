"""Models of nodes by least squares, where some features are made up of others."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fasttree._engine.lines import equations


def model_of(columns, y):
    n, d = len(y), len(columns)
    samples = (np.ascontiguousarray(columns), np.ascontiguousarray(columns.T), y, np.ones(n), np.full(d, 1e-6), -np.inf, np.inf)
    all_rows, whole, model = np.arange(n, dtype=np.int32), (np.zeros(1, np.int64), np.full(1, n, np.int64)), np.zeros((1, d + 1))
    equations.fit_nodes(samples, all_rows, *whole, np.ones((1, d), np.uint8), model)
    return model[0]


@pytest.mark.parametrize("seed", range(20))
def test_features_that_those_before_make_up_have_no_terms(seed):
    """Elimination finds no pivot for them and begins again without them; those after them are judged as if they were there."""
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(16, 60)).round(3)
    y = columns[:9].sum(axis=0) + rng.normal(size=60)
    made_up = [3, 4, 9, 15]
    columns[3], columns[4], columns[9], columns[15] = columns[0], 2 * columns[1], columns[0] - columns[2], columns[8]
    model = model_of(columns, y)
    own = np.setdiff1d(np.arange(16), made_up)
    assert np.array_equal(model[1:][made_up], np.zeros(4))
    assert np.array_equal(model[[0, *(own + 1)]], model_of(columns[own], y))
    assert np.count_nonzero(model[1:]) >= 5
    for scale in (2.0**60, 2.0**-60):
        assert np.array_equal(model_of(columns, scale * y), scale * model)


def test_the_first_of_terms_that_move_predictions_equally_leaves():
    """Columns of a full design are orthogonal, so that equal coefficients have no rounding; one term is the best model."""
    columns = np.array(list(itertools.product([-1.0, 1.0], repeat=3)) * 2).T.copy()
    kept = 0
    for seed in range(300):
        y = np.random.default_rng(seed).integers(-6, 7, 16).astype(float)
        first, second, _ = columns @ y
        if first and first == second:
            model = model_of(columns, y)
            assert model[2] or not model[1]
            kept += not model[1] and model[2] != 0
    assert kept


@pytest.mark.parametrize("large", [0, 1, 2])
def test_a_pivot_is_compared_with_its_own_column(large):
    """Not with one whose numbers are a million times as large."""
    rng = np.random.default_rng(large)
    columns = rng.normal(size=(4, 60)).round(3)
    y = columns.sum(axis=0) + 0.1 * rng.normal(size=60)
    factor = np.where(np.arange(4) == large, 2.0**20, 1.0)
    plain, scaled = model_of(columns, y), model_of(columns * factor[:, None], y)
    assert np.count_nonzero(plain) == 5
    np.testing.assert_allclose(scaled[1:] * factor, plain[1:], rtol=1e-9)
