"""M5: trees with linear models in their leaves."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import naive_models
import numpy as np
import pandas as pd
import pytest

from fasttree import CARTRegressor, M5Regressor, from_json
from fasttree._model.linear.model_tree import ModelTree

VARIANTS = {
    "default": {},
    "no features of the path": {"path_features": False},
    "M5's splits are CART's": {"criterion": "squared_error", "balanced": False, "least_deviation": 0.0},
    "factor 2, no bounds": {"pruning_factor": 2.0, "extrapolation": None},
    "little smoothing": {"smoothing": 1.5},
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 4))
    y = np.where(X[:, 0] > 0, 3 * X[:, 1] - X[:, 2], 2 + X[:, 3]) + rng.normal(scale=0.3, size=90)
    return X, y


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(6).choice([0.5, 1.0, 2.0], 90)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", VARIANTS)
def test_predictions_are_those_of_the_plain_program(name, weighted, table, weight):
    X, y = table
    model = M5Regressor(**VARIANTS[name]).fit(X, y, weight if weighted else None)
    grown = CARTRegressor().fit(X, y)
    grown.tree_ = model.tree_unpruned_
    choices = {
        "factor": model.pruning_factor,
        "smoothing": model.smoothing,
        "extrapolation": np.inf if model.extrapolation is None else model.extrapolation,
        "path_features": model.path_features,
    }
    weights = weight if weighted else np.ones(90)
    rows = np.random.default_rng(7).normal(size=(6, 4))
    expected = [
        naive_models.predict(
            grown.tree_, X, y, weights, grown.decision_path(np.vstack([X, row])).toarray().astype(bool), row, **choices
        )
        for row in rows
    ]
    assert model.predict(rows) == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_two_lines_are_found_exactly():
    x = np.arange(40.0)
    y = np.where(x < 20, 3 * x, 200 - 2 * x)
    model = M5Regressor(smoothing=0).fit(x[:, None], y)
    assert model.get_n_leaves() == 2
    assert model.tree_.threshold[0] == 19.5
    assert model.predict(x[:, None]) == pytest.approx(y)


def test_a_plane_needs_no_test():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = M5Regressor().fit(X, 1 + 2 * X[:, 0] - 4 * X[:, 1])
    assert model.get_n_leaves() == 1
    ((first, a), (second, b)) = model.tree_.models.terms(0)
    assert (first, second) == (0, 1)
    assert [model.tree_.models.intercept[0], a, b] == pytest.approx([1, 2, -4])


@pytest.mark.parametrize("criterion", ["fifth_root", "squared_error"])
def test_the_order_of_the_rows_does_not_matter(criterion, table, weight):
    X, y = table
    X = X.copy()
    X[::7, 1] = np.nan
    order = np.random.default_rng(1).permutation(90)
    model = M5Regressor(criterion=criterion).fit(X, y, weight)
    assert M5Regressor(criterion=criterion).fit(X[order], y[order], weight[order]).tree_ == model.tree_


def test_targets_in_another_unit_give_the_same_tree(table):
    X, y = table
    model, other = M5Regressor().fit(X, y), M5Regressor().fit(X, 1024 * y)
    assert (other.tree_.feature == model.tree_.feature).all()
    assert other.predict(X) == pytest.approx(1024 * model.predict(X))


def test_each_branch_has_more_than_a_fifth_of_the_samples(table):
    tree = M5Regressor().fit(*table).tree_unpruned_
    inner = np.flatnonzero(tree.n_branches)
    assert inner.size > 5
    smaller = np.minimum(tree.n_samples[tree.first_child[inner]], tree.n_samples[tree.first_child[inner] + 1])
    assert (smaller > tree.n_samples[inner] // 5).all()


def test_a_copy_of_a_feature_gets_no_term(table):
    X, y = table
    model = M5Regressor().fit(np.column_stack([X, X[:, :2]]), y)
    assert np.isfinite(model.predict(np.column_stack([X, X[:, :2]]))).all()
    assert model.tree_.models.column.max() < 4


def test_predictions_stay_near_the_targets_of_their_leaf():
    x = np.arange(40.0)[:, None]
    y = 5 * x[:, 0]
    far = [[-1000.0], [1000.0]]
    assert M5Regressor().fit(x, y).predict(far) == pytest.approx([-9.75, 204.75])
    assert M5Regressor(extrapolation=None).fit(x, y).predict(far) == pytest.approx([-5000, 5000])


@pytest.mark.parametrize("variant", ["m5", "weka"])
def test_a_column_without_a_value_changes_nothing(variant, table):
    X, y = table
    model = M5Regressor(variant=variant).fit(np.column_stack([X, np.full(90, np.nan)]), y)
    expected = M5Regressor(variant=variant).fit(X, y)
    assert np.array_equal(model.predict(np.column_stack([X, np.full(90, np.nan)])), expected.predict(X))


def test_a_missing_value_counts_as_the_mean(table):
    X, y = table
    model = M5Regressor(min_samples_split=1.0).fit(X, y)
    with_mean = model.tree_.models.filling
    leaf_row = np.array([[0.5, np.nan, 0.1, 0.2]])
    filled = np.where(np.isnan(leaf_row), with_mean, leaf_row)
    node = model.apply(leaf_row)[0]
    models = model.tree_.models
    value = models.intercept[node] + sum(b * filled[0, j] for j, b in models.terms(node))
    assert model.predict(leaf_row)[0] == np.clip(value, models.lower[node], models.upper[node])
    assert with_mean[models.columns] == pytest.approx(X.mean(axis=0)[models.columns])


def test_nominal_columns_are_split_and_have_no_term():
    rng = np.random.default_rng(2)
    x, colour = rng.normal(size=120), rng.choice(["red", "green", "blue"], 120)
    y = np.where(colour == "red", 40 + 4 * x, -3 * x)
    X = [[number, name] for number, name in zip(x.tolist(), colour.tolist(), strict=True)]
    model = M5Regressor(smoothing=0).fit(X, y)
    assert set(model.tree_.models.column.tolist()) == {0}
    assert model.predict(X) == pytest.approx(y, abs=0.3)


def coloured(n, *, missing=0.05, seed=8):
    """A table of two numbers, four colours and three rooms, and a target that depends on all of them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"width": rng.normal(size=n), "colour": rng.choice(["blue", "green", "red", "teal"], n, p=[0.1, 0.2, 0.4, 0.3])}
    )
    X["height"], X["room"] = rng.normal(size=n), rng.choice(["attic", "hall", "yard"], n)
    y = X["colour"].map({"blue": 4.0, "green": -1.0, "red": 0.0, "teal": 2.0}) + 2 * X["width"]
    y += np.where(X["room"] == "hall", 3 * X["height"], X["height"]) + 0.2 * rng.normal(size=n)
    return X.mask(rng.random(X.shape) < missing), y.to_numpy()


def with_indicators(X, weight):
    """The table as numbers with means for missing values, the features of the columns, and a row's columns from a row."""
    names = [(0, "width", None), (2, "height", None)]
    for j, name in ((1, "colour"), (3, "room")):
        total = {category: weight[(X[name] == category).to_numpy()].sum() for category in sorted(X[name].dropna().unique())}
        names += [(j, name, category) for category in total if category != max(total, key=total.get)]
    means = {}

    def columns_of(rows):
        found = []
        for _, name, category in names:
            known = rows[name].notna().to_numpy()
            column = (rows[name] if category is None else rows[name] == category).to_numpy(float)
            means.setdefault((name, category), np.average(column[known], weights=weight[known] if len(rows) == len(X) else None))
            found.append(np.where(known, column, means[name, category]))
        return np.column_stack(found)

    return columns_of(X), [j for j, _, _ in names], columns_of


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", VARIANTS)
def test_models_with_indicators_are_those_of_least_squares_on_their_columns(name, weighted):
    X, y = coloured(100)
    weights = np.random.default_rng(9).choice([0.5, 1.0, 2.0], 100) if weighted else np.ones(100)
    model = M5Regressor(indicators=True, **VARIANTS[name]).fit(X, y, weights if weighted else None)
    assert (model.tree_.models.column >= 4).any()
    columns, features, columns_of = with_indicators(X, weights)
    grown = CARTRegressor().fit(X, y)
    grown.tree_ = model.tree_unpruned_
    choices = {
        "factor": model.pruning_factor,
        "smoothing": model.smoothing,
        "extrapolation": np.inf if model.extrapolation is None else model.extrapolation,
        "path_features": model.path_features,
        "features": features,
    }
    rows = coloured(8, missing=0.2, seed=10)[0]
    assert rows["colour"].isna().any()
    path = grown.decision_path(pd.concat([X, rows])).toarray().astype(bool)
    expected = [
        naive_models.predict(grown.tree_, columns, y, weights, path[[*range(100), 100 + i]], row, **choices)
        for i, row in enumerate(columns_of(rows))
    ]
    assert model.predict(rows) == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_effects_of_categories_are_found_exactly():
    X, _ = coloured(200, missing=0)
    effect = {"blue": 4.0, "green": -1.0, "red": 0.5, "teal": 2.0}
    y = X["colour"].map(effect).to_numpy() - 3 * X["width"].to_numpy()
    model = M5Regressor(indicators=True).fit(X, y)
    assert model.get_n_leaves() == 1
    models = model.tree_.models
    assert models.intercept[0] == pytest.approx(0.5)  # of red, the most frequent colour
    found = {models.source(column): b for column, b in models.terms(0)}
    assert found == pytest.approx({(0, 0): -3, (1, 1): 3.5, (1, 2): -1.5, (1, 4): 1.5})
    assert M5Regressor().fit(X, y).get_n_leaves() > 1


def test_a_category_that_is_missing_or_unseen_counts_as_the_share_of_each():
    X, y = coloured(200)
    model = M5Regressor(indicators=True, extrapolation=None).fit(X, y)
    rows = pd.DataFrame({"width": [0.3] * 3, "colour": [None, "violet", "blue"], "height": [0.1] * 3, "room": ["hall"] * 3})
    missing, unseen, _ = model.predict(rows)
    models, node = model.tree_.models, model.apply(rows)[0]
    shares = X["colour"].value_counts(normalize=True).sort_index().to_numpy()
    values = {(0, 0): 0.3, (2, 0): 0.1, (3, 1): 0.0, (3, 2): 1.0, (3, 3): 0.0} | {
        (1, code + 1): shares[code] for code in range(4)
    }
    terms = [(models.source(column), b) for column, b in models.terms(node)]
    assert any(feature == 1 for (feature, _), _ in terms)
    assert missing == pytest.approx(models.intercept[node] + sum(b * values[source] for source, b in terms))
    assert unseen == missing


def test_indicators_do_not_depend_on_the_order_of_rows_or_on_threads():
    X, y = coloured(300)
    weight = np.random.default_rng(1).choice([0.1, 1.0, 3.0], 300)
    model = M5Regressor(indicators=True).fit(X, y, weight)

    def refit(seed):
        order = np.random.default_rng(seed).permutation(300)
        return M5Regressor(indicators=True).fit(X.iloc[order], y[order], weight[order]).tree_

    with ThreadPoolExecutor(4) as pool:
        assert all(tree == model.tree_ for tree in pool.map(refit, range(8)))


def test_collinear_indicators_get_no_term():
    X, y = coloured(200)
    twice = X.assign(copy=X["colour"].map({"blue": "a", "green": "b", "red": "c", "teal": "d"}))
    once, model = (M5Regressor(indicators=True, least_deviation=0.5).fit(table, y) for table in (X, twice))
    assert {model.tree_.models.source(column)[0] for column in model.tree_.models.column.tolist()} <= {0, 1, 2, 3}
    assert np.array_equal(model.predict(twice), once.predict(X))


def test_of_many_categories_the_heaviest_have_indicators():
    rng = np.random.default_rng(3)
    code = np.append(np.arange(40), rng.integers(0, 40, 960))
    y = rng.normal(size=40)[code] + 0.01 * rng.normal(size=1000)
    model = M5Regressor(indicators=True).fit([[f"town {i:02}"] for i in code], y)
    count = np.bincount(code)
    expected = np.sort(np.argsort(-count, kind="stable")[1:33]) + 1
    assert model.tree_.models.indicators.tolist() == [[0, each] for each in expected.tolist()]


def test_indicators_change_nothing_in_a_table_of_numbers(table):
    X, y = table
    assert M5Regressor(indicators=True).fit(X, y).tree_ == M5Regressor().fit(X, y).tree_
    assert M5Regressor(indicators=True, linear=False).fit(*coloured(100)).tree_.models.column.size == 0


@pytest.mark.parametrize("extrapolation", [0.05, None])
def test_a_saved_model_with_indicators_predicts_the_same_bits(extrapolation):
    X, y = coloured(200)
    model = M5Regressor(indicators=True, extrapolation=extrapolation).fit(X, y)
    loaded = from_json(model.to_json())
    assert loaded.tree_ == model.tree_
    assert loaded.get_params() == model.get_params()
    rows = coloured(50, missing=0.3, seed=4)[0].replace("blue", "violet")
    assert loaded.predict(rows).tobytes() == model.predict(rows).tobytes()
    assert loaded.export_text() == model.export_text()
    assert pickle.loads(pickle.dumps(model)).predict(rows).tobytes() == model.predict(rows).tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda models: models["indicators"].pop(), r"models\.filling: must have \d+ entries"),
        (lambda models: models["indicators"].append([1]), r"models\.indicators\[\d+\]: must be a pair"),
        (lambda models: models["indicators"].__setitem__(0, [7, 0]), r"models\.indicators\[0\]: must be an integer from 0 to 3"),
        (lambda models: models["indicators"].__setitem__(0, [1, 4]), r"models\.indicators\[0\]: must be an integer from 0 to 3"),
        (lambda models: models["indicators"].__setitem__(0, [0, 0]), r"models\.indicators\[0\]: the feature has no categories"),
        (lambda models: models.update(indicators=3), r"models\.indicators"),
        (lambda models: models["filling"].__setitem__(-1, None), r"models\.filling must be finite"),
    ],
)
def test_broken_indicators_raise_a_named_error(change, message):
    document = json.loads(M5Regressor(indicators=True).fit(*coloured(200)).to_json())
    change(document["models"])
    with pytest.raises(ValueError, match=message):
        from_json(json.dumps(document))


def test_a_node_that_collapses_keeps_its_indicators():
    X, y = coloured(200)
    model = M5Regressor(indicators=True, pruning_factor=None).fit(X, y)
    smaller = model.collapse(1)
    smaller.tree_.check()
    assert (smaller.tree_.models.indicators == model.tree_.models.indicators).all()
    assert any(smaller.tree_.models.source(column)[1] for column, _ in smaller.tree_.models.terms(1))


def test_a_sample_of_weight_0_counts_as_absent(table):
    X, y = table
    weight = np.ones(90)
    weight[60:] = 0
    assert M5Regressor().fit(X, y, weight).tree_ == M5Regressor().fit(X[:60], y[:60]).tree_


def test_a_node_that_collapses_predicts_by_its_smoothed_model(table):
    X, y = table
    model = M5Regressor(pruning_factor=None).fit(X, y)
    assert model.get_n_leaves() > 3
    smaller = model.collapse(1)
    smaller.tree_.check()
    raw, k, n = model.tree_.models, 15.0, model.tree_.n_samples[1]
    expected = (n * raw.intercept[1] + k * raw.intercept[0]) / (n + k)
    assert smaller.tree_.models.intercept[1] == pytest.approx(expected)


@pytest.mark.parametrize("extrapolation", [0.05, None])
def test_a_saved_model_predicts_the_same_bits(extrapolation, table):
    X, y = table
    model = M5Regressor(extrapolation=extrapolation).fit(X, y)
    loaded = from_json(model.to_json())
    assert isinstance(loaded.tree_, ModelTree)
    assert loaded.tree_ == model.tree_
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()
    assert loaded.export_text() == model.export_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda models: models["nodes"].pop(), r"models\.nodes: must have \d+ entries"),
        (lambda models: models["nodes"][0].update(intercept="1"), r"models\.nodes\[0\]\.intercept"),
        (lambda models: models["nodes"][0].update(terms=[[9, 1.0]]), r"models\.nodes\[0\]\.terms"),
        (lambda models: models["nodes"][0].update(terms=[[0]]), "pairs of a column"),
        (lambda models: models["nodes"][0].update(lower=2.0, upper=1.0), "lower must not be above"),
        (lambda models: models.update(smoothing=-1.0), "smoothing"),
    ],
)
def test_a_broken_document_raises_a_named_error(change, message, table):
    document = json.loads(M5Regressor().fit(*table).to_json())
    change(document["models"])
    with pytest.raises(ValueError, match=message):
        from_json(json.dumps(document))


def test_a_document_of_a_tree_with_models_has_them_and_no_other_does(table):
    document = json.loads(M5Regressor().fit(*table).to_json())
    other = json.loads(CARTRegressor(min_samples_split=1000).fit(*table).to_json())
    other["models"] = {
        "smoothing": 0.0,
        "filling": [None] * 4,
        "nodes": [{"intercept": 1.0, "terms": [], "lower": 0.0, "upper": 2.0}],
    }
    del document["models"]
    for given, message in ((document, "a tree by m5 needs the linear models"), (other, "a tree by cart has no linear models")):
        with pytest.raises(ValueError, match=message):
            from_json(json.dumps(given))


def test_terms_that_overflow_raise_an_error():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = M5Regressor().fit(X, 1 + 20 * X[:, 0] - 40 * X[:, 1])
    largest = float(model.tree_.models.upper[0])
    assert model.predict([[1e308, 0.0]]) == [largest]  # infinite, and within a bound
    with pytest.raises(ValueError, match="row 1 of X holds numbers so large that the terms of a formula overflow"):
        model.predict([[0.0, 0.0], [1e308, 1e308]])


CONSTANTS_ONLY = {
    "to_sklearn": lambda model, X, y: model.to_sklearn(),
    "to_predictor": lambda model, X, y: model.to_predictor(),
    "prune": lambda model, X, y: model.prune("reduced_error", X, y),
    "cost_complexity_pruning_path": lambda model, X, y: model.cost_complexity_pruning_path(X, y),
    "split": lambda model, X, y: model.split(0, 0, 0.0, X=X, y=y),
    "regrow": lambda model, X, y: model.regrow(0, X, y),
}


@pytest.mark.parametrize("name", CONSTANTS_ONLY)
def test_what_knows_constants_alone_raises_an_error(name, table):
    model = M5Regressor().fit(*table)
    with pytest.raises(ValueError, match=r"linear models in leaves|have models"):
        CONSTANTS_ONLY[name](model, *table)


def test_the_text_of_a_notebook_has_formulas(table):
    model = M5Regressor().fit(*table)
    assert "tree.svg" in model._repr_html_() or "<svg" in model._repr_html_()


def test_m5p_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 6, (200, 3)).astype(float), rng.integers(0, 4, 200) / 10
    X[rng.random(X.shape) < 0.05] = np.nan
    model, order = M5Regressor(variant="weka").fit(X, y), rng.permutation(200)
    assert M5Regressor(variant="weka").fit(X[order], y[order]).tree_ == model.tree_
    model.tree_.check()
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    assert np.array_equal(model.apply(filled), model.apply(X))


def test_m5p_keeps_the_limits_of_growth():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    model = M5Regressor(variant="weka", max_depth=3, min_samples_leaf=20, min_samples_split=60, pruning_factor=None).fit(X, y)
    tree = model.tree_
    assert tree.max_depth == 3
    assert tree.n_samples.min() >= 20
    assert tree.n_samples[tree.n_branches > 0].min() >= 60
    assert M5Regressor(variant="weka", max_depth=1, pruning_factor=None).fit(X, y).tree_.max_depth == 1


@pytest.mark.parametrize(
    ("parameters", "table", "weight", "words"),
    [
        ({"extrapolation": 0.1}, [[1.0], [2.0]], None, "variant='weka' has M5P's own"),
        ({"pruning_factor": 3.0}, [[1.0], [2.0]], None, "that of variant='weka' is 2"),
        ({}, [["a"], ["b"]], None, "variant='weka' needs numbers"),
        ({}, [[1.0], [2.0]], [1.0, 2.0], "no weights other than 0 and 1"),
    ],
)
def test_what_m5p_does_not_have(parameters, table, weight, words):
    with pytest.raises(ValueError, match=words):
        M5Regressor(variant="weka", **parameters).fit(table, [1.0, 2.0], sample_weight=weight)
