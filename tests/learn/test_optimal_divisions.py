"""Optimal trees of columns of many values, of groups of heavy leaves and of equal columns, and the work of a search."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from fasttree import OptimalTreeClassifier, OptimalTreeRegressor
from fasttree._learn.grow import optimal
from tests.twins.best_tree import least_objective, least_of_rectangles


def planted(random, n, n_columns, n_values, n_classes):
    """Return codes of two columns, the first of which may be constant, and classes that change along both."""
    columns = [random.integers(0, n_values, n) if j < n_columns else np.zeros(n, int) for j in (1, 0)]
    pattern = (columns[1] * 7 // n_values + columns[0] * 5 // n_values) % n_classes
    return columns, np.where(random.random(n) < 0.9, pattern, random.integers(0, n_classes, n))


def cost_of_classes(min_leaf, penalty, sums):
    """Return the costs of leaves by the weights of the classes and, in the last place, the numbers of rows."""
    costs = sums[..., :-1].sum(-1) - sums[..., :-1].max(-1) + penalty
    return np.where(sums[..., -1] < min_leaf, np.inf, costs)


@pytest.mark.parametrize(("n_columns", "n_values", "seeds"), [(1, 200, (5, 9)), (2, 20, range(4))])
def test_no_division_of_columns_of_many_values_is_better(n_columns, n_values, seeds):
    """Most cuts are left out by bounds.  The first two tables lose their best tree if bounds are a little too large."""
    for turn in seeds:
        random = np.random.default_rng(turn)
        columns, y = planted(random, 250, n_columns, n_values, 3)
        weight = random.integers(1, 6, 250)
        min_leaf, penalty = (1, 1, 4)[turn % 3], (0, 2)[turn % 2]
        model = OptimalTreeClassifier(max_depth=3, min_samples_leaf=min_leaf, leaf_penalty=penalty)
        model.fit(np.column_stack(columns), y, weight)
        summands = np.column_stack([weight[:, None] * np.eye(3)[y], np.ones(250)])
        assert model.objective_ == least_of_rectangles(columns, summands, partial(cost_of_classes, min_leaf, penalty), 3), turn


def cost_of_numbers(sums):
    """Return the squared errors of leaves by numbers of rows, sums and sums of squares."""
    return sums[..., 2] - sums[..., 1] ** 2 / np.maximum(sums[..., 0], 1)


def test_no_division_of_columns_of_many_values_has_smaller_squared_errors():
    for turn in range(4):
        random = np.random.default_rng(turn)
        columns, level = planted(random, 80, 1 + turn % 2, 20, 4)
        y = level + random.integers(0, 5, 80) / 2
        model = OptimalTreeRegressor(max_depth=3).fit(np.column_stack(columns), y)
        summands = np.column_stack([np.ones(80), y, y * y])
        assert model.objective_ == pytest.approx(least_of_rectangles(columns, summands, cost_of_numbers, 3), abs=1e-9), turn


def is_heavy(weight, rows):
    return weight[rows].sum() >= 0.45 * weight.sum()


def test_groups_are_cuts_in_the_order_of_shares_where_leaves_must_be_heavy():
    """Other groups may cost less, and are not tried."""
    for turn in range(30):
        random = np.random.default_rng(turn)
        codes, y, weight = random.integers(1, 7, 16), random.integers(0, 3, 16), random.integers(1, 9, 16).astype(float)
        frame = pd.DataFrame({"category": [f"c{code}" for code in codes]})
        model = OptimalTreeClassifier(max_depth=1, min_weight_fraction_leaf=0.45).fit(frame, y, weight)
        costs = weight[:, None] * (1 - np.eye(3))[y]
        large = partial(is_heavy, weight)
        assert model.objective_ == float(least_objective([(codes.tolist(), True)], costs.tolist(), 1, 0, large, weight)), turn


@pytest.mark.parametrize(
    "model",
    [
        OptimalTreeRegressor(max_depth=2),
        OptimalTreeClassifier(max_depth=2, leaf_penalty=1 / 3),
        OptimalTreeClassifier(max_depth=4, leaf_penalty=1 / 3),
    ],
)
def test_copies_of_columns_behind_the_others_change_nothing(model):
    """Of trees that cost the same, that of the first columns is taken, where costs are not whole, too."""
    for seed in range(7):
        random = np.random.default_rng(seed)
        X = pd.DataFrame({f"x{j}": random.integers(0, 4, 40) for j in range(3)})
        X["x0"], X["x1"] = [[f"c{code}" for code in X[name]] for name in ("x0", "x1")]
        y = random.integers(0, 3, 40)
        alone = model.fit(X, y).tree_
        beside = model.fit(pd.concat([X, X.add_suffix("again")], axis=1), y).tree_
        assert beside.feature.tolist() == alone.feature.tolist(), seed
        assert np.array_equal(beside.value, alone.value), seed


def test_bounds_leave_few_cuts_to_search(monkeypatch):
    """The clock is looked at after each million of sums, and after each batch of cuts of the root."""
    random = np.random.default_rng(3)
    X, y = random.normal(size=(400, 3)), random.integers(0, 2, 400)
    seen = []
    monkeypatch.setattr(optimal, "_watch", lambda *_: lambda best, low: seen.append((best, low)))
    assert OptimalTreeClassifier().fit(X, y).status_ == "optimal"
    assert len(seen) <= 20
