"""M5 with several targets: one tree, and a model for each target in each node."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import naive_models
import numpy as np
import pandas as pd
import pytest
from test_models import VARIANTS, coloured, with_indicators

from fasttree import CARTRegressor, M5Regressor, from_json


@pytest.fixture(scope="module")
def table():
    """Numbers, a tenth of them missing, and two targets in units that have nothing to do with each other."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 4))
    y = np.where(X[:, 0] > 0, 3 * X[:, 1] - X[:, 2], 2 + X[:, 3]) + rng.normal(scale=0.3, size=120)
    z = 1000 * (np.where(X[:, 0] > 0.4, X[:, 1] + X[:, 0], -X[:, 2]) + rng.normal(scale=0.3, size=120))
    return X, np.column_stack([y, z])


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(6).choice([0.0, 0.5, 1.0, 2.0], 120)


def expected_of(model, X, Y, weights, path, rows, features=None):
    choices = {
        "factor": model.pruning_factor,
        "smoothing": model.smoothing,
        "extrapolation": np.inf if model.extrapolation is None else model.extrapolation,
        "path_features": model.path_features,
        "features": features,
    }
    n = len(Y)
    return [
        naive_models.predict(model.tree_unpruned_, X, Y, weights, path[[*range(n), n + i]], row, **choices)
        for i, row in enumerate(rows)
    ]


def path_of(model, X, Y):
    """The samples that pass each node of the tree before its pruning."""
    grown = CARTRegressor().fit(X, Y)
    grown.tree_ = model.tree_unpruned_
    return grown.decision_path(X).toarray().astype(bool)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", VARIANTS)
def test_predictions_are_those_of_the_plain_program(name, weighted, table, weight):
    X, Y = table
    model = M5Regressor(**VARIANTS[name]).fit(X, Y, weight if weighted else None)
    used = weight > 0 if weighted else np.ones(len(X), bool)
    rows = np.random.default_rng(7).normal(size=(6, 4))
    path = path_of(model, np.vstack([X[used], rows]), np.vstack([Y[used], Y[:6]]))
    expected = expected_of(model, X[used], Y[used], (weight if weighted else np.ones(len(X)))[used], path, rows)
    assert model.predict(rows) == pytest.approx(np.array(expected), rel=1e-8, abs=1e-9)
    model.tree_.check()


def test_models_with_indicators_are_those_of_least_squares_on_their_columns():
    X, y = coloured(100)
    Y = np.column_stack([y, np.where(X["colour"] == "red", 5.0, -X["height"].fillna(0))])
    model = M5Regressor(indicators=True).fit(X, Y)
    assert all((models.column >= 4).any() for models in model.tree_.models_by_target)
    columns, features, columns_of = with_indicators(X, np.ones(100))
    rows = coloured(8, missing=0.2, seed=10)[0]
    path = path_of(model, pd.concat([X, rows], ignore_index=True), np.vstack([Y, Y[:8]]))
    expected = expected_of(model, columns, Y, np.ones(100), path, columns_of(rows), features)
    assert model.predict(rows) == pytest.approx(np.array(expected), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("parameters", [{}, {"criterion": "squared_error"}, {"elimination": "m5"}, {"linear": False}])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_target_twice_gives_the_tree_of_that_target(parameters, weighted, table, weight):
    X, Y = table
    weights = weight if weighted else None
    one = M5Regressor(**parameters).fit(X, Y[:, 0], weights)
    two = M5Regressor(**parameters).fit(X, Y[:, [0, 0]], weights)
    assert one.tree_unpruned_.node_count > 10
    for name in ("feature", "threshold", "missing", "n_samples"):
        for tree, other in ((one.tree_unpruned_, two.tree_unpruned_), (one.tree_, two.tree_)):
            assert np.array_equal(getattr(other, name), getattr(tree, name), equal_nan=True)
    assert two.predict(X) == pytest.approx(one.predict(X)[:, None] * [1, 1], rel=1e-9, abs=1e-9)
    assert two.tree_.value == pytest.approx(one.tree_.value * [1, 1])


@pytest.mark.parametrize("criterion", ["fifth_root", "squared_error"])
def test_targets_in_other_units_give_the_same_tree(criterion, table, weight):
    X, Y = table
    model = M5Regressor(criterion=criterion).fit(X, Y, weight)
    other = M5Regressor(criterion=criterion).fit(X, Y * [1e-6, 37.5] + [0, 1e4], weight)
    assert np.array_equal(other.tree_.threshold, model.tree_.threshold, equal_nan=True)
    assert other.predict(X) == pytest.approx(model.predict(X) * [1e-6, 37.5] + [0, 1e4])


def test_a_constant_target_changes_no_split(table):
    X, Y = table
    one = M5Regressor().fit(X, Y[:, 0])
    model = M5Regressor().fit(X, np.column_stack([np.full(len(X), 0.1), Y[:, 0]]))
    assert np.array_equal(model.tree_.threshold, one.tree_.threshold, equal_nan=True)
    assert (model.predict(X)[:, 0] == 0.1).all()


def test_trees_depend_neither_on_the_order_of_rows_nor_on_threads(table, weight):
    X, Y = table
    X = X.copy()
    X[::7, 1] = np.nan
    model = M5Regressor().fit(X, Y, weight)

    def refit(seed):
        order = np.random.default_rng(seed).permutation(len(X))
        return M5Regressor().fit(X[order], Y[order], weight[order]).tree_

    with ThreadPoolExecutor(4) as pool:
        assert all(tree == model.tree_ for tree in pool.map(refit, range(6)))


def test_a_sample_of_weight_0_counts_as_absent(table, weight):
    X, Y = table
    used = weight > 0
    assert M5Regressor().fit(X, Y, used.astype(float)).tree_ == M5Regressor().fit(X[used], Y[used]).tree_


def test_models_of_one_target_are_those_of_a_tree_of_one_target(table):
    X, Y = table
    model = M5Regressor().fit(X, Y)
    assert model.n_outputs_ == 2
    assert model.predict(X).shape == (120, 2)
    assert 0.8 < model.score(X, Y) < 1
    for target in range(2):
        tree = model.tree_.of_target(target)
        tree.check()
        assert tree.predict(model._encode_table(X)).tobytes() == model.predict(X)[:, target].copy().tobytes()
    with pytest.raises(ValueError, match="models of 2 targets, and one is needed: use models_by_target, or of_target"):
        _ = model.tree_.models


def test_a_node_that_collapses_predicts_by_its_smoothed_models(table):
    model = M5Regressor(pruning_factor=None).fit(*table)
    smaller = model.collapse(1)
    smaller.tree_.check()
    n = model.tree_.n_samples[1]
    for raw, found in zip(model.tree_.models_by_target, smaller.tree_.models_by_target, strict=True):
        assert found.intercept[1] == pytest.approx((n * raw.intercept[1] + 15 * raw.intercept[0]) / (n + 15))


@pytest.mark.parametrize("extrapolation", [0.05, None])
def test_a_saved_model_predicts_the_same_bits(extrapolation):
    X, y = coloured(200)
    Y = pd.DataFrame({"price": y, "rent": y**2})
    model = M5Regressor(indicators=True, extrapolation=extrapolation).fit(X, Y)
    loaded = from_json(model.to_json())
    assert loaded.tree_ == model.tree_
    assert loaded.target_names_ == ["price", "rent"]
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()
    assert pickle.loads(pickle.dumps(model)).predict(X).tobytes() == model.predict(X).tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda nodes: nodes[0].pop(), r"models\.nodes\[0\]: must have an entry for each of 2 targets; got 1"),
        (lambda nodes: nodes.__setitem__(0, nodes[0][0]), r"models\.nodes\[0\]"),
        (lambda nodes: nodes[1][1].update(intercept="1"), r"models\.nodes\[1\]\[1\]\.intercept"),
        (lambda nodes: nodes[1][0].update(terms=[[9, 1.0]]), r"models\.nodes\[1\]\[0\]\.terms"),
    ],
)
def test_a_broken_document_raises_a_named_error(change, message, table):
    document = json.loads(M5Regressor().fit(*table).to_json())
    change(document["models"]["nodes"])
    with pytest.raises(ValueError, match=message):
        from_json(json.dumps(document))


def test_terms_that_overflow_raise_an_error(table):
    model = M5Regressor().fit(*table)
    with pytest.raises(ValueError, match="row 1 of X holds numbers so large that the terms of a formula overflow"):
        model.predict(np.array([[0.0] * 4, [1e308, 1e308, 1e308, 1e308]]) * 1.7)


def test_m5p_has_one_target(table):
    with pytest.raises(ValueError, match="y has 2 columns: variant='weka' takes 1 target, as M5P does; fit it to each, or use"):
        M5Regressor(variant="weka").fit(*table)
    assert not M5Regressor(variant="weka").__sklearn_tags__().target_tags.multi_output
    assert M5Regressor().__sklearn_tags__().target_tags.multi_output
