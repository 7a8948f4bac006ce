"""Several targets at once: the trees, what predicts, what is refused."""

from __future__ import annotations

import math
import pickle
import warnings
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import breadth_first
from naive import grow as grow_slowly
from sklearn.exceptions import DataConversionWarning
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from strategies import NOMINAL, SmallTable, limits, tables
from test_engine_twin import EncodedTable, as_nodes, numbers_of, test_of

from fasttree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    CHAIDRegressor,
    ID3Classifier,
    OptimalTreeRegressor,
    load,
)
from fasttree._data.table import Table
from fasttree._learn.grow import growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import CART_CLASSIFICATION, CART_REGRESSION, ID3, M5, Recipe
from fasttree.pruning import CAlpha, CostComplexity

ANY_GAIN = -math.inf
CLASSES = {
    "gini": CART_CLASSIFICATION,
    "entropy": replace(CART_CLASSIFICATION, impurity="entropy"),
    "misclassification": replace(CART_CLASSIFICATION, impurity="misclassification"),
    "one against the rest": replace(CART_CLASSIFICATION, nominal="one_vs_rest"),
    "a branch per category": replace(ID3, continuous="threshold"),
}
NUMBERS = {
    "squared error": CART_REGRESSION,
    "poisson": replace(CART_REGRESSION, impurity="poisson"),
    "absolute error": replace(CART_REGRESSION, impurity="absolute_error"),
    "squared error, one against the rest": replace(CART_REGRESSION, nominal="one_vs_rest"),
    "fifth root": M5,
}


@st.composite
def several(draw: st.DrawFn, recipe: Recipe) -> SmallTable:
    """A table with two or three targets; `n_classes` is a tuple for classes, else 1."""
    task = "classification" if recipe.impurity in ("gini", "entropy", "misclassification") else "regression"
    table = draw(tables(task=task, missing=recipe.missing != "error", max_samples=12, max_features=2, max_categories=5))
    columns, widths = [table.y], [table.n_classes]
    for _ in range(draw(st.integers(1, 2))):
        width = draw(st.integers(1, 3))
        values = st.integers(0, width - 1) if task == "classification" else st.integers(-8, 8).map(lambda k: k / 4)
        columns.append(np.array(draw(st.lists(values, min_size=table.n_samples, max_size=table.n_samples))))
        widths.append(width)
    y = np.column_stack(columns)
    if recipe.impurity == "poisson":
        y = np.abs(y)
        y[0 if table.sample_weight is None else int(np.argmax(table.sample_weight > 0))] += 0.25
    return replace(table, y=y, n_classes=cast(Any, tuple(widths) if task == "classification" else 1))


def grow_compiled(table: SmallTable, recipe: Recipe, bounds: Limits, **choices: Any) -> Any:
    if table.sample_weight is not None:
        table = table.take(np.flatnonzero(table.sample_weight))
    classes: Any = table.n_classes
    outputs = (1,) * table.y.shape[1] if classes == 1 else classes
    n_classes = 0 if classes == 1 else sum(classes)
    small = cast(Table, EncodedTable(table))
    tree = growth.grow(small, table.y, table.sample_weight, recipe, bounds, n_classes=n_classes, outputs=outputs, **choices)
    tree.check()
    return tree


def assert_same_tree(table: SmallTable, recipe: Recipe, bounds: Limits) -> None:
    ours = breadth_first(as_nodes(grow_compiled(table, recipe, bounds)))
    weight = table.sample_weight
    root = grow_slowly(table.columns, table.kinds, table.n_categories, table.y, table.n_classes, weight, recipe, bounds)
    theirs = breadth_first(root)
    assert [test_of(node) for node in ours] == [test_of(node) for node in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert numbers_of(one) == pytest.approx(numbers_of(other), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", [*CLASSES, *NUMBERS])
@given(data=st.data(), bounds=limits(min_gain=ANY_GAIN))
def test_trees_agree_with_the_twin(name: str, data: st.DataObject, bounds: Limits) -> None:
    recipe = {**CLASSES, **NUMBERS}[name]
    assert_same_tree(data.draw(several(recipe)), recipe, bounds)


@pytest.mark.parametrize("name", ["gini", "entropy", "squared error", "poisson", "absolute error", "fifth root"])
@pytest.mark.parametrize("seed", range(3))
def test_subsets_of_many_categories_agree_with_the_twin(name: str, seed: int) -> None:
    # random weights: the leading eigenvalue is simple and no two categories lie on one point of its axis
    recipe = {**CLASSES, **NUMBERS}[name]
    rng = np.random.default_rng(seed)
    n_samples, q = 80, 12
    column = rng.integers(0, q + 1, n_samples).astype(np.uint8)
    if name in CLASSES:
        y = np.column_stack([rng.integers(0, 3, n_samples) * (rng.random(n_samples) < 0.7), rng.integers(0, 2, n_samples)])
    else:
        y = np.column_stack([rng.gamma(2.0, size=n_samples), 5 * rng.gamma(1.0, size=n_samples)])
    classes: Any = (3, 2) if name in CLASSES else 1
    table = SmallTable((column,), (NOMINAL,), (q,), y, classes, rng.uniform(0.5, 2, n_samples))
    assert_same_tree(table, recipe, Limits(min_gain=ANY_GAIN, max_depth=2, min_samples_leaf=5))


@pytest.mark.parametrize("seed", [11, 17])  # no order by a single target has a division as good
def test_the_principal_order_of_categories_goes_past_a_target_that_is_constant(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_samples, q = 60, 14
    column = rng.integers(1, q + 1, n_samples).astype(np.uint8)
    effect = rng.normal(size=(q + 1, 1)) * [1, 1.2] + 0.5 * rng.normal(size=(q + 1, 2))
    y = np.zeros((n_samples, 3))
    y[:, ::2] = effect[column] + 0.1 * rng.normal(size=(n_samples, 2))
    table = SmallTable((column,), (NOMINAL,), (q,), y, 1, rng.uniform(0.5, 2, n_samples))
    assert_same_tree(table, CART_REGRESSION, Limits(min_gain=ANY_GAIN, max_depth=1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [*CLASSES, *NUMBERS])
def test_trees_depend_neither_on_the_order_of_samples_nor_on_blocks(name: str, weighted: bool) -> None:
    recipe = {**CLASSES, **NUMBERS}[name]
    rng = np.random.default_rng(5)
    n_samples = 300
    columns = [rng.normal(size=n_samples), rng.integers(0, 40, n_samples) / 4.0]
    columns += [rng.integers(1, 300, n_samples).astype(np.uint16), rng.integers(1, 6, n_samples).astype(np.uint8)]
    if recipe.missing != "error":
        columns[0][rng.random(n_samples) < 0.1] = np.nan
        columns[3][rng.random(n_samples) < 0.1] = 0
    signal = np.nan_to_num(columns[0])[:, None] + rng.normal(size=(n_samples, 3))
    y, classes = np.abs(signal), cast(Any, 1)
    if name in CLASSES:
        y, classes = np.column_stack([np.digitize(signal[:, k], [-1, 0.5][: k + 1]) for k in range(2)]), (2, 3)
    weight = rng.uniform(0.1, 2, n_samples) if weighted else None
    table = SmallTable(tuple(columns), (0, 0, 2, 2), (0, 0, 299, 5), y, classes, weight)
    expected = grow_compiled(table, recipe, Limits(min_gain=ANY_GAIN))
    assert expected.node_count > 30
    assert grow_compiled(table, recipe, Limits(min_gain=ANY_GAIN), block_rows=9) == expected
    assert grow_compiled(table.take(rng.permutation(n_samples)), recipe, Limits(min_gain=ANY_GAIN), block_rows=50) == expected


def classes_of(signal: np.ndarray) -> np.ndarray:
    return np.column_stack([np.digitize(signal[:, 0], [-1, 0.5]), signal[:, 1] > 0])


def make(criterion: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 4)).astype(np.float32).astype(np.float64)
    signal = np.column_stack([X[:, 0] + np.sin(3 * X[:, 1]), X[:, 2] * X[:, 1] - X[:, 0]]) + 0.2 * rng.normal(size=(500, 2))
    if criterion in ("gini", "entropy"):
        return X, classes_of(signal)
    return X, np.exp(signal) if criterion == "poisson" else signal


def assert_same_as_scikit_learn(ours: Any, theirs: Any) -> int:
    """Node by node from the root; tests that differ must tie, and their branches are left alone.  Returns how many do."""
    mine, other = ours.tree_, theirs.tree_
    n_ties = 0
    pairs = [(0, 0)]
    for a, b in pairs:
        assert mine.n_samples[a] == other.n_node_samples[b]
        assert mine.impurity[a] == pytest.approx(other.impurity[b], rel=1e-6, abs=1e-9)
        for output, values in enumerate(mine.by_output(mine.value[a])):
            found = values / mine.weight[a] if mine.task == "classification" else values
            assert found == pytest.approx(other.value[b, output, : len(found)], rel=1e-9, abs=1e-12)
        if mine.n_branches[a] == 0:
            # scikit-learn goes on splitting a pure node if rounding of the weights makes it look impure
            assert other.children_left[b] < 0 or mine.impurity[a] == 0
            continue
        first, children = int(mine.first_child[a]), [other.children_left[b], other.children_right[b]]
        if mine.feature[a] == other.feature[b] and mine.threshold[a] == pytest.approx(other.threshold[b], rel=1e-6, abs=1e-7):
            pairs += [(first, children[0]), (first + 1, children[1])]
            continue
        same = (other.weighted_n_node_samples * other.impurity)[children].sum()
        assert mine.risk[first : first + 2].sum() == pytest.approx(same, rel=1e-9)
        n_ties += 1
    assert n_ties <= 0.2 * len(pairs)
    return n_ties


@pytest.mark.parametrize(
    "parameters", [{"max_depth": 4}, {"min_samples_leaf": 15}, {"max_leaf_nodes": 9}, {"ccp_alpha": 0.02}], ids=str
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson", "absolute_error"])
def test_trees_are_scikit_learns_where_the_best_split_is_unique(
    criterion: str, weighted: bool, parameters: dict[str, Any]
) -> None:
    X, y = make(criterion)
    weight = np.random.default_rng(1).uniform(0.1, 2, len(y)) if weighted else None
    classification = criterion in ("gini", "entropy")
    ours = (CARTClassifier if classification else CARTRegressor)(criterion=criterion, **parameters)
    theirs = (DecisionTreeClassifier if classification else DecisionTreeRegressor)(
        criterion=criterion, **parameters, random_state=0
    )
    ours.fit(X, y, sample_weight=weight)
    theirs.fit(X, y, sample_weight=weight)
    assert ours.tree_.node_count > 3
    if assert_same_as_scikit_learn(ours, theirs) == 0:
        assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_, abs=1e-9)
        assert ours.predict(X) == pytest.approx(theirs.predict(X))
    assert ours.predict(X).shape == (500, 2)


@pytest.mark.parametrize("class_weight", ["balanced", [{0: 1.0, 1: 4.0, 2: 0.5}, {0: 2.0}]], ids=str)
def test_class_weights_multiply_over_the_targets(class_weight: Any) -> None:
    X, y = make("gini")
    ours = CARTClassifier(class_weight=class_weight, max_depth=4).fit(X, y)
    theirs = DecisionTreeClassifier(class_weight=class_weight, max_depth=4, random_state=0).fit(X, y)
    assert_same_as_scikit_learn(ours, theirs)


@pytest.mark.parametrize("class_weight", [{0: 2.0}, [{0: 2.0}]], ids=str)
def test_class_weights_must_fit_the_targets(class_weight: Any) -> None:
    with pytest.raises(ValueError, match="y has 2 targets; give a list"):
        CARTClassifier(class_weight=class_weight).fit(*make("gini"))
    if isinstance(class_weight, list):
        with pytest.raises(ValueError, match="class_weight is a list, but y has one target"):
            CARTClassifier(class_weight=class_weight).fit([[1.0], [2.0]], [0, 1])


def test_missing_values_go_where_scikit_learn_sends_them() -> None:
    for criterion, ours, theirs in (
        ("gini", CARTClassifier, DecisionTreeClassifier),
        ("squared_error", CARTRegressor, DecisionTreeRegressor),
    ):
        X, y = make(criterion)
        X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
        mine = ours(criterion=criterion, max_depth=3).fit(X, y)
        other = theirs(criterion=criterion, max_depth=3, random_state=0).fit(X, y)
        assert mine.predict(X) == pytest.approx(other.predict(X))


COLOURS = [["red", 1], ["red", 2], ["blue", 1], ["blue", 3]]


@pytest.mark.parametrize(
    "y",
    [
        pd.DataFrame(COLOURS, columns=["colour", "size"]),
        pl.DataFrame(COLOURS, schema=["colour", "size"], orient="row"),
        pa.table({"colour": ["red", "red", "blue", "blue"], "size": [1, 2, 1, 3]}),
        COLOURS,
        np.array(COLOURS, dtype=object),
    ],
    ids=["pandas", "polars", "Arrow", "lists", "objects"],
)
def test_targets_come_in_any_table(y: Any) -> None:
    X = np.arange(4.0)[:, None]
    model = CARTClassifier().fit(X, y)
    assert [classes.tolist() for classes in model.classes_] == [["blue", "red"], [1, 2, 3]]
    assert model.n_classes_ == [2, 3]
    assert model.n_outputs_ == 2
    assert model.predict(X).tolist() == COLOURS
    assert [part.shape for part in model.predict_proba(X)] == [(4, 2), (4, 3)]
    assert [part[0].tolist() for part in model.predict_log_proba(X)] == [[-math.inf, 0], [0, -math.inf, -math.inf]]
    assert model.score(X, y) == 1
    assert CARTClassifier(max_depth=1).fit(X, y).score(X, y, sample_weight=[1, 3, 1, 3]) == 0.25


def test_string_classes_stay_strings() -> None:
    y = np.array([["a", "long"], ["b", "short"]])
    predicted = CARTClassifier().fit([[1.0], [2.0]], y).predict([[1.0], [2.0]])
    assert predicted.dtype.kind == "U"
    assert predicted.tolist() == y.tolist()


@pytest.mark.parametrize("model", [CARTClassifier(), CARTRegressor()])
def test_one_column_is_one_target_with_a_warning(model: Any) -> None:
    with pytest.warns(DataConversionWarning):
        model.fit([[1.0], [2.0]], np.array([[0], [1]]))
    assert model.n_outputs_ == 1
    assert model.predict([[1.0], [2.0]]).tolist() == [0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit([[1.0], [2.0]], np.array([[0, 1], [1, 0]]))


@pytest.mark.parametrize("model", [ID3Classifier(), C45Classifier()])
def test_algorithms_of_one_target_say_so(model: Any) -> None:
    with pytest.raises(ValueError, match=r"y has 2 columns: \w+ takes 1 target; fit it to each, or use CARTClassifier"):
        model.fit([["a"], ["b"]], [[0, 1], [1, 0]])


@pytest.mark.parametrize("model", [CHAIDRegressor(), OptimalTreeRegressor()])
def test_regressors_of_one_target_name_one_of_several(model: Any) -> None:
    with pytest.raises(ValueError, match="takes 1 target; fit it to each, or use CARTRegressor"):
        model.fit([["a"], ["b"]], [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    "parameters",
    [
        {"pruning": "reduced_error"},
        {"pruning": "pessimistic"},
        {"pruning": "error_based"},
        {"pruning": CAlpha(alpha=1.0)},
        {"ccp_alpha": "cv"},
        {"pruning": CostComplexity(alpha=0.1, risk="error")},
        {"priors": {0: 0.5, 1: 0.5}},
        {"loss_matrix": {0: {1: 2}, 1: {0: 1}}},
        {"monotonic_cst": [1]},
        {"split_p_value": 0.5},
        {"missing": "fractional"},
    ],
    ids=str,
)
def test_what_has_no_meaning_for_several_targets_is_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="several targets"):
        CARTClassifier(**parameters).fit(np.arange(4.0)[:, None], [[0, 1], [1, 0], [1, 1], [0, 0]])


def test_a_fitted_tree_of_several_targets_refuses_prunings_by_errors() -> None:
    model = CARTClassifier().fit(*make("gini"))
    with pytest.raises(ValueError, match="several targets"):
        model.prune("pessimistic")
    assert model.prune(CostComplexity(alpha=0.02)).get_n_leaves() < model.get_n_leaves()
    with pytest.raises(ValueError, match="competing_splits and several targets"):
        model.competing_splits(0, *make("gini"))
    assert model.collapse(0).tree_.outputs == model.tree_.outputs
    assert len(model.cost_complexity_pruning_path(*make("gini")).ccp_alphas) > 2


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_files_and_pickles_keep_the_targets(criterion: str, tmp_path: Any) -> None:
    X, y = make(criterion)
    model = (CARTClassifier if criterion == "gini" else CARTRegressor)(max_depth=4).fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert other.tree_ == model.tree_
        assert other.n_outputs_ == 2
        assert (other.predict(X) == model.predict(X)).all()
        assert other.export_text() == model.export_text()
    if criterion == "gini":
        assert [classes.dtype for classes in loaded.classes_] == [classes.dtype for classes in model.classes_]


def test_the_text_shows_every_target() -> None:
    X = [[1.0], [2.0], [3.0], [4.0]]
    model = CARTClassifier(max_depth=1).fit(X, COLOURS)
    assert model.export_text(ascii=True) == "|-- x0 <= 2.5: red (2) | 1 (1 of 2)\n`-- x0 > 2.5: blue (2) | 1 (1 of 2)\n"
    shown = model.export_text(ascii=True, show_weights=True).splitlines()
    assert shown[0] == "{blue: 2, red: 2} | {1: 2, 2: 1, 3: 1}"
    assert shown[1] == "|-- x0 <= 2.5: red {red: 2} | 1 {1: 1, 2: 1}"
    numbers = CARTRegressor(max_depth=1).fit(X, [[1.0, 5.0], [1.0, 7.0], [3.0, 9.0], [3.0, 9.0]])
    assert numbers.export_text(ascii=True) == "|-- x0 <= 2.5: 1 | 6 (2)\n`-- x0 > 2.5: 3 | 9 (2)\n"


def test_samples_and_targets_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="X has 3 samples, but y has 2"):
        CARTRegressor().fit([[1.0], [2.0], [3.0]], [[1.0, 2.0], [2.0, 1.0]])


def test_a_tree_whose_outputs_do_not_fit_its_values_fails_its_check() -> None:
    tree = CARTClassifier().fit(*make("gini")).tree_
    for outputs in ((3, 3), (5,), (5, 0)):
        with pytest.raises(ValueError, match="outputs"):
            tree.replace(outputs=outputs).check()
    with pytest.raises(ValueError, match="class weights must sum"):
        tree.replace(outputs=(2, 3)).check()


@pytest.mark.parametrize("weighted", [False, True])
def test_targets_that_are_all_equal_are_predicted_without_rounding(weighted):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = np.arange(int(rng.integers(6, 40)))
        Y = np.where((x < len(x) // 3)[:, None], rng.random(3), rng.random(3))
        model = CARTRegressor().fit(x[:, None], Y, sample_weight=rng.random(len(x)) + 0.1 if weighted else None)
        assert (model.predict(x[:, None]) == Y).all()
        assert (model.tree_.impurity[1:] == 0).all()
