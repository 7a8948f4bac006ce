"""Rounds of additive models against their twin, and the examples of the text to ten digits."""

import numpy as np
import pytest
from naive_additive import boosted

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
    expected = boosted(codes, kinds, n_bins, target, weight, start, rules)
    np.testing.assert_allclose(booster.found()[0][0], np.concatenate(expected), atol=1e-9)
