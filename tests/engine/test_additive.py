"""Rounds of additive models against their twin, and the examples of the text to ten digits."""

import numpy as np
import pytest
from naive_additive import best_quarters, boosted, gradients

from fasttree import GAMClassifier, GAMRegressor
from fasttree._engine.additive import Booster

X = np.array([[1, 0], [2, 1], [3, 0], [4, 1], [5, 0], [6, 1]], float)
PLAIN = {
    "n_bags": 1, "validation_fraction": 0, "learning_rate": 0.5, "l2_regularization": 0, "min_samples_leaf": 1,
    "smoothing_rounds": 0,
}  # fmt: skip


def test_two_rounds_by_hand():
    model = GAMRegressor(max_iter=2, **PLAIN).fit(X, [1, 2, 2, 4, 5, 5])
    first, second = (term.scores[0, 1:] for term in model.additive_.terms)
    assert model.intercept_ == pytest.approx(3.1666666667, abs=1e-10)
    expected = [-1.0208333333] * 3 + [0.4791666667] + [1.2916666667] * 2
    np.testing.assert_allclose(first, expected, atol=1e-10)
    np.testing.assert_allclose(second, [-0.1875, 0.1875], atol=1e-10)
    assert np.mean((model.predict(X) - [1, 2, 2, 4, 5, 5]) ** 2) == pytest.approx(0.2860243056, abs=1e-10)
    one = GAMRegressor(max_iter=1, **PLAIN).fit(X, [1, 2, 2, 4, 5, 5])
    assert np.mean((one.predict(X) - [1, 2, 2, 4, 5, 5]) ** 2) == pytest.approx(0.7378472222, abs=1e-10)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [([0, 1, 10, 14], [0.5, 0.5, 10, 14]), ([0, 4, 10, 11], [0, 4, 10.5, 10.5]), ([0, 2, 9, 11], [0, 2, 10, 10])],
)
def test_the_leaf_of_the_largest_gain_is_divided_first(levels, expected):
    """The first cut is in the middle; of two sides that gain the same, the first one is divided."""
    x = np.arange(4.0)[:, None]
    model = GAMRegressor(max_iter=1, **PLAIN | {"learning_rate": 1, "max_leaf_nodes": 3}).fit(x, levels)
    np.testing.assert_allclose(model.predict(x), expected, atol=1e-10)


def test_many_categories_are_divided_in_the_order_of_their_means():
    rng = np.random.default_rng(0)
    means = rng.permutation(40) + 0.0
    codes = np.repeat(np.arange(40), 3)
    y = np.where(means[codes] < 25, means[codes] / 1000, 100 + means[codes] / 1000)
    model = GAMRegressor(max_iter=1, categorical_features=[0], **PLAIN | {"learning_rate": 1}).fit(codes[:, None], y)
    expected = np.where(means < 25, y[y < 50].mean(), y[y > 50].mean())
    np.testing.assert_allclose(model.predict(np.arange(40)[:, None]), expected, atol=1e-9)


def test_a_round_of_classes_by_hand():
    model = GAMClassifier(max_iter=1, **PLAIN).fit(X, [0, 0, 1, 0, 1, 1])
    expected = [-0.6353691873, -1.3854224138, 0.8646308127, 0.1145775862, 0.8646308127, 0.1145775862]
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-10)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("penalty", [0.0, 1.5])
def test_rounds_are_those_of_the_twin(loss, penalty):
    rng = np.random.default_rng(5)
    n_bins, kinds, monotone = [7, 5, 4], ["ordered", "nominal", "ordered"], [0, 0, 1]
    codes = np.array([rng.integers(0, n, 90) for n in n_bins], dtype=np.uint16)
    truth = np.sin(codes[0]) + (codes[1] == 2) - 0.3 * codes[2] + rng.normal(0, 0.5, 90)
    target = truth if loss == "squared" else (truth > 0.2).astype(float)
    weight, start = rng.uniform(0.5, 2, 90), 0.3
    terms = np.array([[kind == "nominal", n, 0, order] for kind, n, order in zip(kinds, n_bins, monotone, strict=True)])
    score = np.full((1, 90), start)
    plan, amounts = (loss == "logistic", 90, 2, 0, 10, 0), (0.3, 5.0, 1e-4, penalty, 10.0, 0.0)
    booster = Booster(codes, target, weight, score, terms.astype(np.int64), plan, amounts)
    booster.run(6)
    rules = {"loss": loss, "rate": 0.3, "min_samples_leaf": 5, "penalty": penalty, "rounds": 6, "monotone": monotone}
    expected = boosted(codes, kinds, n_bins, target, weight, [start], rules)
    np.testing.assert_allclose(booster.found()[0], np.concatenate(expected, axis=1), atol=1e-9)


LOSSES = {"squared": 0, "logistic": 1, "softmax": 2}
GRID = 2


def grids(loss, seed):
    """Return bins of a feature and of two grids, of 4 by 3 and of 2 by 5 cells, with targets, weights and first scores."""
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, n, 80) for n in (6, 12, 10)], dtype=np.uint16)
    truth = 0.5 * np.sin(codes[0]) + (codes[1] % 3 == 1) * (codes[1] > 5) + rng.normal(0, 0.4, 80)
    target = truth if loss == "squared" else np.digitize(truth, [0.1, 0.9] if loss == "softmax" else [0.3]).astype(float)
    return codes, target, rng.uniform(0.5, 2, 80), [0.2, -0.1, 0.0] if loss == "softmax" else [0.2]


def booster_of(codes, target, weight, start, loss, amounts, n_random=0):
    terms = np.array([[0, 6, 0, 0], [GRID, 12, 3, 0], [GRID, 10, 5, 0]], dtype=np.int64)[-len(codes) :]
    score = np.repeat(np.array(start)[:, None], 80, axis=1)
    return Booster(codes, target, weight, score, terms, (LOSSES[loss], 80, 2, n_random, 10, 7), amounts)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("penalty", "min_samples_leaf"), [(0.0, 2), (1.5, 9)])
def test_rounds_of_grids_and_of_classes_are_those_of_the_twin(loss, penalty, min_samples_leaf):
    codes, target, weight, start = grids(loss, 6)
    booster = booster_of(codes, target, weight, start, loss, (0.3, float(min_samples_leaf), 1e-4, penalty, 10.0, 0.0))
    booster.run(4)
    rules = {
        "loss": loss,
        "rate": 0.3,
        "min_samples_leaf": min_samples_leaf,
        "penalty": penalty,
        "rounds": 4,
        "monotone": [0] * 3,
    }
    expected = boosted(codes, ["ordered", 3, 5], [6, 12, 10], target, weight, start, rules)
    np.testing.assert_allclose(booster.found()[0], np.concatenate(expected, axis=1), atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_random_cuts_of_grids_are_those_that_the_twin_draws(loss):
    codes, target, weight, start = grids(loss, 8)
    booster = booster_of(codes[1:], target, weight, start, loss, (0.3, 2.0, 1e-4, 0.5, 10.0, 0.0), n_random=12)
    booster.run(14)
    rules = {"loss": loss, "rate": 0.3, "min_samples_leaf": 2, "penalty": 0.5, "rounds": 14, "random": 12}
    expected = boosted(codes[1:], [3, 5], [12, 10], target, weight, start, rules)
    np.testing.assert_allclose(booster.found()[0], np.concatenate(expected, axis=1), atol=1e-9)


@pytest.mark.parametrize("n_columns", [1, 4])
def test_random_cuts_of_grids_begin_between_rows_and_between_columns(n_columns):
    codes = np.repeat(np.arange(4, dtype=np.uint16), 20)[None]
    terms, score = np.array([[GRID, 4, n_columns, 0]], dtype=np.int64), np.zeros((1, 80))
    booster = Booster(codes, codes[0] * 1.0, np.ones(80), score, terms, (0, 80, 2, 12, 10, 7), (0.3, 2.0, 1e-4, 0.0, 10.0, 0.0))
    booster.run(12)
    assert (np.diff(booster.found()[0][0]) > 0.1).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_the_screen_of_pairs_finds_the_gains_of_the_twin(loss):
    codes, target, weight, start = grids(loss, 7)
    booster = booster_of(codes[1:], target, weight, start, loss, (1.0, 4.0, 1e-4, 0.0, 10.0, 0.0))
    rules = {"min_samples_leaf": 4, "penalty": 0.0}
    scores = np.repeat(np.array(start)[:, None], 80, axis=1)
    expected = [
        sum(max(best_quarters(column, *shape, *parts, rules)[0], 0) for parts in gradients(loss, target, scores, weight))
        for column, shape in zip(codes[1:], [(3, 12), (5, 10)], strict=True)
    ]
    np.testing.assert_allclose(booster.screen(), expected, rtol=1e-9)
