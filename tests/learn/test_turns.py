"""Threads take turns on the bags of an additive model: which bag is next, and how many are begun."""

from dataclasses import dataclass

import numpy as np
import pytest

from fasttree import GAMRegressor
from fasttree._learn.additive import boosting
from fasttree._learn.additive.turns import Turns


@dataclass
class Bag:
    """A bag of a known number of rounds, which always expects two more."""

    number: int
    n_rounds: int
    done: int = 0
    patience: int = 2

    @property
    def is_over(self):
        return self.done >= self.n_rounds

    def fitted(self):
        return 10 * self.number


def one_thread(turns, patience=lambda bag: bag.patience):
    """Return the numbers of the bags in the order of their turns."""
    order = []
    while (bag := turns.take()) is not None:
        order.append(bag.number)
        bag.done += 1
        bag.patience = patience(bag)
        turns.give_back(bag)
    return order


def test_all_bags_begin_and_then_that_of_the_most_patience_goes_on():
    turns = Turns(lambda number: Bag(number, [2, 1, 4][number]), 3, 3)
    left = {0: 1, 2: 5}
    assert one_thread(turns, lambda bag: left.get(bag.number, 0)) == [0, 1, 2, 2, 2, 2, 0]
    assert turns.found == {0: 0, 1: 10, 2: 20}


def test_bags_of_equal_patience_have_turns_one_after_another():
    assert one_thread(Turns(lambda number: Bag(number, 2), 3, 3)) == [0, 1, 2, 0, 1, 2]


def test_no_more_bags_are_open_than_allowed():
    assert one_thread(Turns(lambda number: Bag(number, 2), 3, 1)) == [0, 0, 1, 1, 2, 2]
    assert one_thread(Turns(lambda number: Bag(number, 2), 3, 2)) == [0, 1, 0, 2, 1, 2]


def test_a_thread_that_finds_no_bag_is_done():
    turns = Turns(lambda number: Bag(number, 2), 1, 2)
    bag = turns.take()
    assert turns.take() is None
    turns.give_back(bag)
    assert turns.take() is bag


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_turns_change_no_bit(monkeypatch, n_jobs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(1)
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + rng.normal(0, 0.3, 200)
    model = GAMRegressor(n_bags=4, interactions=1, random_state=0)
    expected = model.fit(X, y)
    expected = expected.n_iter_.copy(), expected.predict(X)
    for rounds, cells in ((1, 0), (7, 10**9)):
        monkeypatch.setattr(boosting, "ROUNDS_AT_ONCE", rounds)
        monkeypatch.setattr(boosting, "OPEN_CELLS", cells)
        model = GAMRegressor(n_bags=4, interactions=1, random_state=0, n_jobs=n_jobs).fit(X, y)
        np.testing.assert_array_equal(model.n_iter_, expected[0])
        np.testing.assert_array_equal(model.predict(X), expected[1])
