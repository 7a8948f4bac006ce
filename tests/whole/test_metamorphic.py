"""What a change of the table must do to the tree: nothing, or something that is known beforehand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from strategies import CONTINUOUS, FEWER_EACH, NOMINAL, ORDINAL, SmallTable, tables
from test_engine_twin import EncodedTable

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier, Tree
from fasttree._data.learn import learn_table
from fasttree._data.table import Table
from fasttree._learn.grow import growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import C45, CART_CLASSIFICATION, CART_REGRESSION, ID3, Recipe
from fasttree._model.arrays import ARRAYS, OPTIONAL_ARRAYS

CART = {
    "gini": CARTClassifier(),
    "entropy": CARTClassifier(criterion="entropy"),
    "misclassification": CARTClassifier(criterion="misclassification"),
    "one against the rest": CARTClassifier(nominal="one_vs_rest"),
    "gini, lookahead": CARTClassifier(lookahead=2, max_depth=4),
    "squared error, lookahead": CARTRegressor(lookahead=2, max_depth=4),
    "squared error": CARTRegressor(),
    "squared error, one against the rest": CARTRegressor(nominal="one_vs_rest"),
}
C45_MODELS = {
    "c4.5": C45Classifier(pruning=None),
    "c4.5 by gain": C45Classifier(criterion="gain", pruning=None),
    "c4.5 pruned a little": C45Classifier(confidence=0.95),
    "c4.5 with groups": C45Classifier(subset=True, pruning=None),
}
MODELS = {**CART, **C45_MODELS, "id3": ID3Classifier()}
TAKE_NUMBERS = {**CART, **C45_MODELS}

RECIPES: dict[str, Recipe] = {
    "gini": CART_CLASSIFICATION,
    "entropy": replace(CART_CLASSIFICATION, impurity="entropy"),
    "misclassification": replace(CART_CLASSIFICATION, impurity="misclassification"),
    "one against the rest": replace(CART_CLASSIFICATION, nominal="one_vs_rest"),
    "gini, fractional": replace(CART_CLASSIFICATION, nominal="declared", missing="fractional"),
    "c4.5": C45,
    "c4.5 by gain": replace(C45, rank="gain"),
    "c4.5 with occurring categories": replace(C45, nominal="present", ordinal="present"),
    "id3": ID3,
    "squared error": CART_REGRESSION,
    "squared error, one against the rest": replace(CART_REGRESSION, nominal="one_vs_rest"),
}
MANY = [f"v{i:03}" for i in range(300)]  # categories that do not fit into 8 bits
SIZES = ["small", "medium", "large", "huge"]
STRUCTURE = ("parent", "first_child", "n_branches", "feature", "kind", "categories_start", "categories_code", "categories_branch")


def make_table(
    model: Any, seed: int = 0, n_samples: int = 400, *, missing: bool | None = None
) -> tuple[pd.DataFrame, np.ndarray]:
    """A table of every kind that the model takes, with a noisy target of classes a, b, c or of numbers."""
    rng = np.random.default_rng(seed)
    numbers = {
        "many": rng.normal(size=n_samples),
        "few": rng.integers(-5, 6, n_samples) / 4,
        "rounded": rng.normal(size=n_samples).round(1) + 0.0,  # no -0.0
    }
    categories = {
        "color": pd.Categorical(
            rng.choice(["red", "green", "blue", "grey"], n_samples), ["red", "green", "blue", "black", "grey"]
        ),
        "size": pd.Categorical(rng.choice(SIZES, n_samples), SIZES, ordered=True),
        "code": pd.Categorical(rng.choice(MANY, n_samples), MANY),
    }
    if isinstance(model, ID3Classifier):
        categories["code"] = pd.Categorical(rng.choice(MANY[:40], n_samples), MANY)
    signal = numbers["many"] + (categories["color"] == "red") - numbers["few"] * (categories["size"].codes > 1)
    signal = signal + np.isin(categories["code"].codes % 3, 1) + 0.3 * rng.normal(size=n_samples)
    table = pd.DataFrame(categories if isinstance(model, ID3Classifier) else {**numbers, **categories})
    if missing is None:
        missing = not isinstance(model, ID3Classifier)
    if missing:
        for column in table.columns:
            table.loc[rng.random(n_samples) < 0.06, column] = np.nan
    return table, signal if isinstance(model, CARTRegressor) else np.array(["a", "b", "c"])[np.digitize(signal, [-0.5, 1.0])]


def fit(model: Any, X: Any, y: Any, weight: Any = None, **parameters: Any) -> Any:
    model = clone(model).set_params(**parameters).fit(X, y, sample_weight=weight)
    model.tree_.check()
    assert model.tree_.node_count > 3  # a smaller tree would show nothing
    return model


def assert_same_splits(a: Tree, b: Tree, *, but: tuple[str, ...] = ()) -> None:
    for name in (*STRUCTURE, "threshold", "missing"):
        if name not in but:
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def weights_for(n_samples: int, kind: str) -> np.ndarray | None:
    rng = np.random.default_rng(99)
    if kind == "none":
        return None
    return rng.integers(1, 4, n_samples).astype(float) if kind == "whole" else rng.uniform(0.1, 3, n_samples)


# Weights


@pytest.mark.parametrize("weighted", ["none", "whole", "real"])
@pytest.mark.parametrize("factor", [3.0, 0.1, 1e-6, 1e9])
@pytest.mark.parametrize("model", [*CART.values(), ID3Classifier()], ids=[*CART, "id3"])
def test_weights_times_a_factor_choose_the_same_splits(model, factor, weighted):
    X, y = make_table(model)
    weight = weights_for(len(X), weighted)
    reference = fit(model, X, y, weight)
    scaled = fit(model, X, y, factor * (np.ones(len(X)) if weight is None else weight))
    assert_same_splits(reference.tree_, scaled.tree_)
    np.testing.assert_allclose(scaled.tree_.weight, factor * reference.tree_.weight, rtol=1e-9)
    np.testing.assert_allclose(scaled.tree_.gain, reference.tree_.gain, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("factor", [3.0, 0.5, 16.0])
@pytest.mark.parametrize("name", ["c4.5", "c4.5 by gain"])  # the others know weights in absolute numbers
def test_weights_and_least_branch_weight_times_a_factor_choose_the_same_splits_of_categories(name, factor):
    # thresholds pay a price per unit of weight, so they are left out
    model = C45_MODELS[name]
    X, y = make_table(model)
    X = X[["color", "size", "code"]]
    reference = fit(model, X, y)
    scaled = fit(model, X, y, np.full(len(X), factor), min_samples_branch=2 * factor)
    assert_same_splits(reference.tree_, scaled.tree_)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_row_twice_is_a_row_of_weight_two(model, seed):
    X, y = make_table(model, seed)
    if "code" in X and isinstance(model, C45Classifier):
        X = X.drop(columns="code")  # what counts as many categories depends on the number of rows
    times = np.random.default_rng(seed).integers(1, 4, len(X))
    repeated = np.repeat(np.arange(len(X)), times)
    weighted = fit(model, X, y, times.astype(float)).tree_
    twice = fit(model, X.iloc[repeated], y[repeated]).tree_
    # where no value was missing in training, missing values follow the branch with more samples
    assert_same_splits(weighted, twice, but=("missing",))
    for name in ("weight", "value", "impurity", "gain"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(twice, name), rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("weighted", ["none", "whole", "real"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_rows_of_weight_zero_change_nothing(model, weighted):
    X, y = make_table(model, 1)
    extra, other = make_table(model, 2, 150)
    weight = weights_for(len(X), weighted)
    padded = np.concatenate([np.ones(len(X)) if weight is None else weight, np.zeros(len(extra))])
    order = np.random.default_rng(0).permutation(len(padded))
    both = pd.concat([X, extra]).iloc[order]
    other = 1000 * other if isinstance(model, CARTRegressor) else other
    assert fit(model, both, np.concatenate([y, other])[order], padded[order]).tree_ == fit(model, X, y, weight).tree_


# Order of the rows


@pytest.mark.parametrize("weighted", ["none", "whole", "real"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing values"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_order_of_the_rows_changes_no_bit_of_the_tree(model, missing, weighted):
    if missing and isinstance(model, ID3Classifier):
        pytest.skip("ID3 refuses missing values")
    X, y = make_table(model, 3, missing=missing)
    if isinstance(model, CARTRegressor):
        y = y * np.exp(np.random.default_rng(5).normal(0, 8, len(y)))  # of any magnitude: sums round
    weight = weights_for(len(X), weighted)
    reference = fit(model, X, y, weight).tree_
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(X))
        assert fit(model, X.iloc[order], y[order], None if weight is None else weight[order]).tree_ == reference


def small_table(data: st.DataObject, recipe: Recipe, max_samples: int = 30) -> SmallTable:
    kinds = (ORDINAL, NOMINAL) if recipe.continuous == "error" else (CONTINUOUS, ORDINAL, NOMINAL)
    task = "regression" if recipe.impurity == "squared_error" else "classification"
    table = data.draw(tables(task=task, kinds=kinds, missing=recipe.missing != "error", max_samples=max_samples))
    if recipe.missing == "fractional" and data.draw(st.booleans()):
        table = replace(table, sample_weight=np.linspace(0.3, 2.1, table.n_samples))
    return table


def grow(table: SmallTable, recipe: Recipe, bounds: Limits, block_rows: int = 65_535) -> Tree:
    n_classes = 0 if recipe.impurity == "squared_error" else table.n_classes
    encoded = cast(Table, EncodedTable(table))
    return growth.grow(encoded, table.y, table.sample_weight, recipe, bounds, n_classes=n_classes, block_rows=block_rows)


@pytest.mark.parametrize("name", RECIPES)
@FEWER_EACH
@given(data=st.data())
def test_rows_of_tables_full_of_ties_can_be_permuted(name, data):
    recipe, bounds = RECIPES[name], Limits(min_gain=-math.inf)
    table = small_table(data, recipe)
    order = data.draw(st.permutations(range(table.n_samples)))
    assert grow(table.take(order), recipe, bounds) == grow(table, recipe, bounds)


# Blocks


@pytest.mark.parametrize("name", RECIPES)
@FEWER_EACH
@given(data=st.data(), block_rows=st.sampled_from([1, 2, 3, 5, 10]))
def test_tables_full_of_ties_can_be_handed_over_in_blocks(name, data, block_rows):
    recipe, bounds = RECIPES[name], Limits(min_gain=-math.inf)
    table = small_table(data, recipe)
    assert grow(table, recipe, bounds, block_rows) == grow(table, recipe, bounds)


def encode(name: str, seed: int, n_samples: int = 400, *, missing: bool) -> tuple[Table, np.ndarray, int]:
    recipe = RECIPES[name]
    if recipe.impurity == "squared_error":
        X, y = make_table(CARTRegressor(), seed, n_samples, missing=missing)
        return learn_table(X), y, 0
    model = ID3Classifier() if recipe.continuous == "error" else CARTClassifier()
    X, y = make_table(model, seed, n_samples, missing=missing)
    return learn_table(X), np.unique(y, return_inverse=True)[1], 3


@pytest.mark.parametrize("weighted", ["none", "whole", "real"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing values"])
@pytest.mark.parametrize("name", RECIPES)
def test_the_size_of_blocks_changes_no_bit_of_the_tree(name, missing, weighted):
    if missing and RECIPES[name].missing == "error":
        pytest.skip("this recipe refuses missing values")
    table, y, n_classes = encode(name, 4, missing=missing)
    weight = weights_for(len(y), weighted)
    bounds = Limits(min_gain=1e-12 if name == "id3" else -math.inf)
    reference = growth.grow(table, y, weight, RECIPES[name], bounds, n_classes=n_classes)
    reference.check()
    assert reference.node_count > 20
    for block_rows in (3, 10, 50, 399):
        blocks = growth.grow(table, y, weight, RECIPES[name], bounds, n_classes=n_classes, block_rows=block_rows)
        assert blocks == reference


def test_the_order_of_zeros_of_either_sign_does_not_matter():
    y = [0, 0, 1, 1]
    one, other = ([[zeros[0]], [zeros[1]], [1.0], [2.0]] for zeros in ([-0.0, 0.0], [0.0, -0.0]))
    grown = C45Classifier(pruning=None).fit(one, y).tree_
    assert grown == C45Classifier(pruning=None).fit(other, y).tree_


# Values, classes and categories


MAPS = {
    "affine": lambda x: 3 * x - 7,
    "cubic": lambda x: x**3 + x,
    "exponential": np.exp,
    "huge": lambda x: 1e300 * x,
    "tiny": lambda x: 1e-300 * x,
    "ranks": lambda x: pd.Series(x).rank(method="dense").to_numpy(),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("model", CART.values(), ids=CART)
def test_strictly_monotone_maps_of_continuous_features_keep_the_partition(model, name):
    X, y = make_table(model, 5)
    mapped = X.copy()
    for column in ("many", "few", "rounded"):
        mapped[column] = MAPS[name](X[column].to_numpy())
        assert mapped[column].nunique() == X[column].nunique()
    before, after = fit(model, X, y), fit(model, mapped, y)
    assert_same_splits(before.tree_, after.tree_, but=("threshold",))
    np.testing.assert_array_equal(before.apply(X), after.apply(mapped))


@pytest.mark.parametrize("name", ["affine", "cubic", "ranks"])
@pytest.mark.parametrize("model", C45_MODELS.values(), ids=C45_MODELS)
def test_c45_keeps_the_partition_of_values_that_stay_apart(model, name):
    # rounded to more than the 1e-5 that Release 8 takes for equal
    X, y = make_table(model, 5)
    X["many"] = X["many"].round(2) + 0.0
    mapped = X.copy()
    for column in ("many", "few", "rounded"):
        mapped[column] = MAPS[name](X[column].to_numpy())
    before, after = fit(model, X, y), fit(model, mapped, y)
    assert_same_splits(before.tree_, after.tree_, but=("threshold",))
    np.testing.assert_array_equal(before.apply(X), after.apply(mapped))


CLASSIFIERS = {name: model for name, model in MODELS.items() if not isinstance(model, CARTRegressor)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_classes_in_reversed_order_grow_the_same_tree(model, seed):
    X, y = make_table(model, seed)
    reverse = pd.Series(y).astype(pd.CategoricalDtype(["c", "b", "a"]))
    before, after = fit(model, X, y).tree_, fit(model, X, reverse).tree_
    assert_same_splits(before, after)
    np.testing.assert_allclose(before.value[before.weight > 0], after.value[after.weight > 0][:, ::-1], rtol=1e-12)


@pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_names_of_the_classes_do_not_matter(model):
    X, y = make_table(model, 1)
    reference = fit(model, X, y).tree_
    for names in ([-3, 0, 1], ["x", "y", "z"], [0.0, 1.0, 2.0]):
        assert fit(model, X, np.array(names)[np.searchsorted(["a", "b", "c"], y)]).tree_ == reference


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_categories_renamed_in_their_order_grow_the_identical_tree(model):
    X, y = make_table(model, 6)
    renamed = X.copy()
    for column in ("color", "size", "code"):
        renamed[column] = X[column].cat.rename_categories([f"{column} {i:05}" for i in range(X[column].cat.categories.size)])
    assert fit(model, renamed, y).tree_ == fit(model, X, y).tree_


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_strings_whose_sorted_order_is_the_declared_one_grow_the_identical_tree(model):
    X, y = make_table(model, 6)
    names = sorted(X["code"].dropna().unique())
    declared = X.assign(code=X["code"].astype(pd.CategoricalDtype(names)))
    assert fit(model, X.assign(code=X["code"].astype(object)), y).tree_ == fit(model, declared, y).tree_


@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_constant_column_only_shifts_the_feature_ids(model, place):
    X, y = make_table(model, 7)
    reference = fit(model, X, y).tree_
    constants: list[Any] = [pd.Categorical(["only"] * len(X), ["other", "only"])]
    if not isinstance(model, ID3Classifier):
        constants += [np.full(len(X), 2.5), np.full(len(X), np.nan)]
    for constant in constants:
        wider = X.copy()
        wider.insert(place, "constant", constant)
        tree = fit(model, wider, y).tree_
        expected = {name: getattr(reference, name) for name in (*ARRAYS, *OPTIONAL_ARRAYS)}
        expected["feature"] = reference.feature + (reference.feature >= place)
        assert tree == Tree(task=reference.task, n_features=reference.n_features + 1, **expected)


# Memory


@pytest.mark.parametrize("model", TAKE_NUMBERS.values(), ids=TAKE_NUMBERS)
def test_memory_order_and_type_of_the_same_values_change_nothing(model):
    rng = np.random.default_rng(8)
    X = rng.integers(0, 100, (2000, 9))  # more rows than are read at once column by column, more columns than at once
    signal = X[:, 0] + (X[:, 8] > 30) * 50.0 + rng.normal(0, 20, 2000)
    y = signal if isinstance(model, CARTRegressor) else np.digitize(signal, [40, 80])
    reference = fit(model, X.astype(np.float64), y)
    for dtype in (np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.uint8, object):
        for order in ("C", "F"):
            other = fit(model, X.astype(dtype, order=order), y)
            assert other.tree_ == reference.tree_
            assert (other.predict(X.astype(dtype, order=order)) == reference.predict(X)).all()
    assert fit(model, np.repeat(X.astype(np.float32), 2, axis=0)[::2], y).tree_ == reference.tree_
    assert fit(model, X.astype(np.float64)[::-1], y[::-1]).tree_ == reference.tree_
    if not isinstance(model, CARTRegressor):
        for dtype in (np.int8, np.uint16, np.float32):
            assert fit(model, X, y.astype(dtype)).tree_ == reference.tree_


WIDTHS = [(name, width) for name in MODELS for width in (254, 255, 256, 257)]
WIDTHS += [(name, width) for name in ("gini", "squared error", "c4.5", "id3") for width in (65_535, 65_536)]


@pytest.mark.parametrize(("name", "n_categories"), WIDTHS)
def test_codes_of_every_width_grow_and_predict(name, n_categories):
    model = MODELS[name]
    rng = np.random.default_rng(n_categories)
    codes = np.concatenate([np.arange(n_categories), rng.integers(0, n_categories, 200)])
    target = rng.integers(0, 2, n_categories)
    if "against" in name:
        target = (np.arange(n_categories) % 80 == 1).astype(int)  # each of these categories takes a level
    categories = np.array([f"c{i:05}" for i in range(n_categories)])
    X = pd.DataFrame({"code": pd.Categorical.from_codes(codes, categories)})
    parameters = {"min_samples_branch": 1} if isinstance(model, C45Classifier) else {}
    fitted = clone(model).set_params(**parameters).fit(X, target[codes])
    fitted.tree_.check()
    assert (fitted.predict(X) == target[codes]).all()
    assert fitted.predict(pd.DataFrame({"code": categories[[-1, 0]]})).tolist() == target[[-1, 0]].tolist()


# Draws of features


DRAWS = {name: model for name, model in MODELS.items() if "lookahead" not in name}  # which takes all features


@pytest.mark.parametrize("model", DRAWS.values(), ids=DRAWS)
def test_draws_of_features_follow_the_seed_and_nothing_else(model):
    X, y = make_table(model, 9)
    reference = fit(model, X, y, max_features=2, random_state=5).tree_
    assert fit(model, X, y, max_features=2, random_state=5).tree_ == reference
    order = np.random.default_rng(0).permutation(len(X))
    assert fit(model, X.iloc[order], y[order], max_features=2, random_state=5).tree_ == reference
    others = [clone(model).set_params(max_features=2, random_state=seed).fit(X, y).tree_ for seed in range(6)]
    assert len({int(tree.feature[0]) for tree in others}) > 1
    everything = fit(model, X, y, max_features=1.0, random_state=7).tree_
    assert everything == fit(model, X, y).tree_


@pytest.mark.parametrize("name", RECIPES)
def test_draws_of_features_do_not_depend_on_the_size_of_blocks(name):
    table, y, n_classes = encode(name, 10, missing=False)
    bounds = Limits(min_gain=1e-12 if name == "id3" else -math.inf, max_features=2, seed=11)
    reference = growth.grow(table, y, None, RECIPES[name], bounds, n_classes=n_classes)
    assert reference.node_count > 3
    for block_rows in (3, 10, 50):
        blocks = growth.grow(table, y, None, RECIPES[name], bounds, n_classes=n_classes, block_rows=block_rows)
        assert blocks == reference


def test_nodes_of_one_depth_draw_features_of_their_own():
    rng = np.random.default_rng(1)
    X, y = rng.uniform(size=(4000, 8)), rng.integers(0, 2, 4000)
    tree = CARTClassifier(max_features=1, max_depth=6, random_state=0).fit(X, y).tree_
    drawn = tree.feature[(tree.depth() == 5) & (tree.feature >= 0)]
    assert len(drawn) > 6
    assert len(set(drawn.tolist())) > 3


def test_every_feature_is_drawn_equally_often():
    rng = np.random.default_rng(2)
    X, y = rng.uniform(size=(30, 5)), rng.integers(0, 2, 30)
    roots = [CARTClassifier(max_features=1, max_depth=1, random_state=seed).fit(X, y).tree_.feature[0] for seed in range(1000)]
    counts = np.bincount(roots, minlength=5)
    assert (counts > 150).all()  # 200 expected, standard deviation 12.6
    assert (counts < 250).all()


@pytest.mark.parametrize("factor", [1e-30, 1e-12, 1e12, 1e26])
def test_weights_of_any_size_grow_the_same_regression_tree(factor):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] * (X[:, 1] > 0) + rng.normal(size=300)
    reference = CARTRegressor(max_depth=5).fit(X, y).tree_
    scaled = CARTRegressor(max_depth=5).fit(X, y, np.full(300, factor)).tree_
    assert_same_splits(scaled, reference)
    np.testing.assert_allclose(scaled.impurity, reference.impurity, rtol=1e-9)


@pytest.mark.parametrize("factor", [2.0**-120, 2.0**120])
def test_targets_times_a_power_of_two_grow_the_same_tree(factor):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 5)).astype(float), rng.normal(size=60)
    reference, scaled = CARTRegressor().fit(X, y).tree_, CARTRegressor().fit(X, factor * y).tree_
    assert_same_splits(scaled, reference)
    assert (scaled.value == factor * reference.value).all()
