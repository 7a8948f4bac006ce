"""The order of the rows changes no bit of a tree, not even where a sum of floats lies at a power of two."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, Tree
from fasttree._data.learn import learn_table
from fasttree._data.sums import sum_of_sizes, sums_of_sizes
from fasttree._engine import passes
from fasttree._learn.prune.losses import losses
from fasttree._learn.samples import Samples
from fasttree._model.tree import ARRAYS, OPTIONAL_ARRAYS
from fasttree.pruning import CostComplexity

N_ORDERS = 100


def bits(array: np.ndarray) -> tuple[Any, ...]:
    """All of an array, the signs of zeros too."""
    return array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()


def bits_of_tree(tree: Tree) -> dict[str, Any]:
    found = {name: getattr(tree, name) for name in (*ARRAYS, *OPTIONAL_ARRAYS)}
    if tree.surrogates is not None:
        found |= {f"surrogates.{name}": getattr(tree.surrogates, name) for name in vars(tree.surrogates)}
    return {name: bits(array) for name, array in found.items() if isinstance(array, np.ndarray)}


def bits_of_model(model: Any) -> dict[str, Any]:
    found = bits_of_tree(model.tree_)
    found |= {f"unpruned.{name}": array for name, array in bits_of_tree(model.tree_unpruned_).items()}
    for name, values in getattr(model, "pruning_table_", {}).items():
        found[name] = bits(np.asarray(values))
    return found


def orders(n_samples: int) -> Iterator[np.ndarray]:
    """The rows as they are, backwards, and at random."""
    yield np.arange(n_samples)
    yield np.arange(n_samples)[::-1]
    for seed in range(N_ORDERS - 2):
        yield np.random.default_rng(seed).permutation(n_samples)


def assert_same_in_any_order(model: Any, X: Any, y: Any, weight: Any = None, *, n_nodes: int = 3) -> Any:
    """Fit the rows in many orders; the model of the first."""
    X, y = pd.DataFrame(X), np.asarray(y)
    first, expected = None, None
    for order in orders(len(y)):
        fitted = clone(model).fit(X.iloc[order], y[order], sample_weight=None if weight is None else weight[order])
        found = bits_of_model(fitted)
        if first is None or expected is None:
            first, expected = fitted, found
            assert fitted.tree_unpruned_.node_count >= n_nodes
        different = [name for name in expected | found if expected.get(name) != found.get(name)]
        assert not different, f"{different} depend on the order of the rows"
    return first


def shares_of(total: float, n: int, seed: int, spread: float = 8.0) -> np.ndarray:
    """Positive numbers of any magnitude that add up to `total` as exactly as floats can."""
    rng = np.random.default_rng(seed)
    parts = np.exp(rng.normal(0, spread, n))
    parts *= total / math.fsum(parts)
    for _ in range(100):
        error = total - math.fsum(parts)
        if error == 0:
            break
        largest = int(np.argmax(parts))
        parts[largest] += error
    assert math.fsum(parts) == total
    return parts


def features(n: int, seed: int, *, missing: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 4, n), rng.normal(size=n).round(1)])
    X[rng.random(X.shape) < missing] = np.nan
    return X


def balanced(n: int, seed: int) -> np.ndarray:
    """Targets around 0, the middle of their range, whose sizes add up to a power of two."""
    sizes = shares_of(1024.0, n, seed, 2.0)
    top = sizes.max()
    # two of the same size give the range a middle of exactly 0
    values = np.append(sizes / 2, [top, -top]) * np.where(np.arange(n + 2) % 2, 1, -1)
    values[-2:] = top, -top
    rest = 2.0 ** np.ceil(np.log2(math.fsum(np.abs(values)))) - math.fsum(np.abs(values))
    fill = np.full(math.ceil(rest / top) + 1, rest / (math.ceil(rest / top) + 1))
    values = np.concatenate([values, fill])
    for _ in range(100):
        total = math.fsum(np.abs(values))
        error = 2.0 ** round(math.log2(total)) - total
        if error == 0:
            return values
        values[-1] += error
    raise AssertionError("no such targets were found")


def classes(X: np.ndarray, seed: int, n_classes: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 2]) + 0.7 * rng.normal(size=len(X))
    return np.array(list("abcdefgh"))[np.digitize(signal, np.linspace(-1, 1, n_classes - 1))]


# Sums


SIZES = st.floats(allow_nan=False, allow_infinity=False, width=64)


def one_sum(values: np.ndarray) -> float:
    """The sum by the engine, which Python finds for few terms."""
    found = float(sums_of_sizes(values, None, 1)[0])
    assert sum_of_sizes(values) == found
    return found


@pytest.mark.parametrize("times", [1, 500], ids=["few terms", "many terms"])
@given(values=st.lists(SIZES, max_size=40), random=st.randoms(use_true_random=False))
def test_sums_are_the_nearest_doubles_in_any_order(times, values, random):
    values = values * times
    try:
        expected = math.fsum(map(abs, values))
    except OverflowError:
        expected = math.inf
    assert one_sum(np.array(values, dtype=float)) == expected
    random.shuffle(values)
    assert one_sum(np.array(values, dtype=float)) == expected


@given(st.lists(st.tuples(st.integers(0, 3), SIZES), max_size=40))
def test_sums_by_group_are_those_of_each_group(pairs):
    group, values = np.array([k for k, _ in pairs], dtype=np.intp), np.array([x for _, x in pairs], dtype=float)
    expected = [sum_of_sizes(values[group == k]) for k in range(5)]
    np.testing.assert_array_equal(sums_of_sizes(values, group, 5), expected)


@pytest.mark.parametrize(
    "values",
    [
        *([], [0.0, -0.0], [5e-324] * 3, [2.0**53, 1.0, 1.0]),
        *([1.0, 2.0**-53], [1.0, 2.0**-53, 2.0**-105], [1.7e308], [1.7e308, 1.7e308]),
    ],
)
def test_sums_at_the_ends_of_the_doubles(values):
    try:
        expected = math.fsum(values)
    except OverflowError:
        expected = math.inf
    assert one_sum(np.array(values)) == expected


@pytest.mark.parametrize("n", [1000, 10_000])
def test_sums_of_columns_that_are_not_contiguous(n):
    table = np.random.default_rng(0).normal(size=(n, 3))
    assert sum_of_sizes(table[:, 1]) == math.fsum(np.abs(table[:, 1]))


def test_digits_of_parts_add_up_to_those_of_the_whole():
    values = np.random.default_rng(0).normal(size=4000) * 10.0 ** np.random.default_rng(1).integers(-300, 300, 4000)
    whole = np.zeros((1, passes.DIGITS_OF_SUM), np.int64)
    passes.add_sizes(values, None, whole)
    parts = np.zeros_like(whole)
    for part in np.array_split(values, 7)[::-1]:
        passes.add_sizes(part, None, parts)
    numbers = [sum(digit << 32 * i for i, digit in enumerate(digits[0].tolist())) for digits in (whole, parts)]
    assert numbers[0] == numbers[1]


def test_a_sum_of_many_terms_needs_no_carry():
    values = np.full(3_000_000, np.nextafter(1.0, 0.0))
    assert sum_of_sizes(values) == math.fsum(values)


# Sums at powers of two


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("seed", range(3))
def test_targets_whose_sizes_add_up_to_a_power_of_two(criterion, seed):
    y = balanced(40, seed)
    assert_same_in_any_order(CARTRegressor(criterion=criterion, max_depth=3), features(len(y), seed), y)


@pytest.mark.parametrize("seed", range(3))
def test_several_targets_whose_sizes_add_up_to_a_power_of_two(seed):
    y = balanced(40, seed)
    y = np.column_stack([y, np.random.default_rng(seed).permutation(y)])
    assert_same_in_any_order(CARTRegressor(max_depth=3), features(len(y), seed), y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_counts_that_add_up_to_a_power_of_two(seed, weighted):
    y = shares_of(512.0, 60, seed, 3.0)
    y[:5] = 0
    weight = shares_of(64.0, 60, seed + 9, 1.0) if weighted else None
    assert_same_in_any_order(CARTRegressor(criterion="poisson", max_depth=4), features(60, seed), y, weight)


REGRESSORS = {
    "squared error": CARTRegressor(max_depth=4),
    "absolute error": CARTRegressor(criterion="absolute_error", max_depth=3),
    "Poisson": CARTRegressor(criterion="poisson", max_depth=4),
    "least weight of leaves": CARTRegressor(min_weight_fraction_leaf=0.125),
    "surrogates": CARTRegressor(missing="surrogate", max_depth=4),
}


@pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
@pytest.mark.parametrize("seed", range(2))
def test_weights_of_numbers_that_add_up_to_a_power_of_two(model, seed):
    X = features(60, seed, missing=0.2 if model.missing == "surrogate" else 0.0)
    y = np.exp(np.nan_to_num(X[:, 0]) + np.random.default_rng(seed).normal(size=60))
    assert_same_in_any_order(model, X, y, shares_of(256.0, 60, seed, 2.0))


CLASSIFIERS = {
    "gini": CARTClassifier(),
    "entropy": CARTClassifier(criterion="entropy"),
    "priors": CARTClassifier(priors=[0.5, 0.3, 0.2]),
    "loss matrix": CARTClassifier(loss_matrix=[[0, 1, 5], [0.3, 0, 1], [2, 0.7, 0]]),
    "priors and loss matrix": CARTClassifier(priors=[0.5, 0.3, 0.2], loss_matrix=[[0, 1, 5], [0.3, 0, 1], [2, 0.7, 0]]),
    "class weights": CARTClassifier(class_weight="balanced"),
    "least weight of leaves": CARTClassifier(min_weight_fraction_leaf=0.125),
    "surrogates": CARTClassifier(missing="surrogate"),
    "c4.5": C45Classifier(),
    "c4.5, as grown": C45Classifier(pruning=None),
    "c4.5 as in textbooks": C45Classifier(variant="textbook"),
    "c4.5, soft thresholds": C45Classifier(soft_thresholds=True),
}
WITH_MISSING = ("surrogates", "c4.5", "c4.5, as grown", "c4.5 as in textbooks", "c4.5, soft thresholds")


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("seed", range(2))
def test_weights_of_classes_that_add_up_to_a_power_of_two(name, seed):
    X = features(60, seed, missing=0.2 if name in WITH_MISSING else 0.0)
    X[:8, 1] = np.nan if name in WITH_MISSING else X[:8, 1]
    assert_same_in_any_order(CLASSIFIERS[name], X, classes(X, seed), shares_of(256.0, 60, seed, 2.0))


@pytest.mark.parametrize("name", ["priors", "loss matrix", "priors and loss matrix", "class weights", "c4.5"])
def test_classes_without_weights(name):
    X = features(80, 1, missing=0.2 if name in WITH_MISSING else 0.0)
    assert_same_in_any_order(CLASSIFIERS[name], X, classes(X, 1))


def test_a_leaf_as_heavy_as_the_least_that_is_asked_for():
    # every value of the feature has a quarter of the weight, and the sum of all may round up or down
    weight = np.tile([0.1, 0.2, 0.3, 0.7], 8)
    X = np.repeat(np.arange(4.0), 8)[:, None]
    y = np.repeat([0.0, 1.0, 3.0, 2.0], 8)
    assert len({float(weight[order].sum()) for order in orders(32)}) > 1
    for fraction in (0.25, 0.5):
        assert_same_in_any_order(CARTRegressor(min_weight_fraction_leaf=fraction), X, y, weight, n_nodes=1)


# Zeros of either sign


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_targets_of_zeros_of_either_sign(criterion):
    X = np.repeat([0.0, 1.0, 2.0], 4)[:, None]
    y = np.array([0.0, -0.0, -0.0, 0.0, 1.0, 2.0, 1.0, 3.0, -0.0, 0.0, -0.0, 0.0])
    if criterion == "poisson":  # which has no leaf of zeros alone
        y[::4] += 1 + X[::4, 0]
    model = assert_same_in_any_order(CARTRegressor(criterion=criterion), X, y)
    assert not np.signbit(model.tree_.value).any()
    assert not np.signbit(model.predict(X)).any()


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("y", [[0.0, -0.0, -0.0, 0.0], [-0.0] * 4])
def test_no_prediction_is_minus_zero(criterion, y):
    model = CARTRegressor(criterion=criterion).fit([[1.0], [2.0], [3.0], [4.0]], y)
    assert not np.signbit(model.predict([[1.0], [4.0]])).any()


def test_several_targets_of_zeros_of_either_sign():
    X = np.repeat([0.0, 1.0, 2.0], 4)[:, None]
    y = np.array([0.0, -0.0, -0.0, 0.0, 1.0, 2.0, 1.0, 3.0, -0.0, 0.0, -0.0, 0.0])
    model = assert_same_in_any_order(CARTRegressor(), X, np.column_stack([y, -y]))
    assert not (np.signbit(model.tree_.value) & (model.tree_.value == 0)).any()


def test_soft_thresholds_beside_zeros_of_either_sign():
    X = np.array([0.0, -0.0, 0.0, -0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 2.0])[:, None]
    y = np.array(["a", "a", "a", "b", "a", "b", "b", "a", "b", "b"])
    assert_same_in_any_order(C45Classifier(soft_thresholds=True, confidence=0.9), X, y)


def test_classes_that_are_zeros_of_either_sign():
    for y in ([-0.0, 0.0, 1.0], [0.0, -0.0, 1.0]):
        assert not np.signbit(CARTClassifier().fit([[0.0], [1.0], [2.0]], y).classes_).any()


# Samples that judge


def folds_of(rows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds of rows by their numbers in the original order, as places in this order."""
    return [(np.flatnonzero(rows % 4 != fold), np.flatnonzero(rows % 4 == fold)) for fold in range(4)]


PRUNED_BY_FOLDS = {
    "squared error": CARTRegressor(),
    "absolute error": CARTRegressor(criterion="absolute_error"),
    "Poisson": CARTRegressor(criterion="poisson"),
    "gini": CARTClassifier(),
    "loss matrix": CARTClassifier(loss_matrix=[[0, 1, 5], [0.3, 0, 1], [2, 0.7, 0]]),
    "c4.5": C45Classifier(),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PRUNED_BY_FOLDS)
def test_pruning_by_given_folds(name, weighted):
    model, n = PRUNED_BY_FOLDS[name], 60
    X = features(n, 4, missing=0.2)
    numbers = np.exp(np.nan_to_num(X[:, 0]) * np.random.default_rng(4).normal(size=n))
    y = classes(X, 4) if hasattr(model, "predict_proba") else numbers
    weight = shares_of(256.0, n, 4, 2.0) if weighted else None
    expected = None
    for order in orders(n):
        pruned = clone(model).set_params(pruning=CostComplexity(alpha="cv", selection="1se", cv=folds_of(order)))
        pruned.fit(X[order], y[order], sample_weight=None if weight is None else weight[order])
        found = bits_of_model(pruned)
        expected = found if expected is None else expected
        assert [name for name in expected if expected[name] != found[name]] == []


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PRUNED_BY_FOLDS)
def test_pruning_by_given_samples(name, weighted):
    model, n = PRUNED_BY_FOLDS[name], 80
    X = features(n, 5, missing=0.2)
    numbers = np.exp(np.nan_to_num(X[:, 0]) * np.random.default_rng(5).normal(size=n))
    y = classes(X, 5) if hasattr(model, "predict_proba") else numbers
    weight = shares_of(256.0, n, 5, 2.0) if weighted else None
    unpruned = clone(model).set_params(pruning=None).fit(X[:40], y[:40])
    X, y, weight = X[40:], y[40:], None if weight is None else weight[40:]
    expected = None
    for order in orders(40):
        pruned = unpruned.prune("reduced_error", X=X[order], y=y[order], sample_weight=None if weight is None else weight[order])
        found = bits_of_tree(pruned.tree_)
        expected = found if expected is None else expected
        assert found == expected


def test_samples_of_weight_zero_do_not_coarsen_the_losses():
    X, y = features(60, 6), np.random.default_rng(6).normal(size=60)
    grown = CARTRegressor(min_samples_leaf=3).fit(X[:30], y[:30])
    alone = losses(grown.tree_, Samples(learn_table(X[30:]), y[30:]))
    huge = np.where(np.arange(60) < 30, 1e50, y)
    among = losses(grown.tree_, Samples(learn_table(X), huge, (np.arange(60) >= 30).astype(float)))
    np.testing.assert_allclose(among.loss, alone.loss, rtol=1e-14)
    np.testing.assert_allclose(among.square, alone.square, rtol=1e-14)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_losses_are_sums_over_the_samples_of_a_node_whatever_their_size(criterion, size):
    X, y = features(80, 7), size * np.random.default_rng(7).uniform(0.5, 4, size=80)
    tree = CARTRegressor(criterion=criterion, max_depth=2).fit(X[:40], y[:40]).tree_
    found = losses(tree, Samples(learn_table(X), y, impurity=criterion))
    answer = tree.value[0, 0]
    if criterion == "poisson":
        each = y * np.log(y / answer) - y + answer
    else:
        each = np.abs(y - answer) if criterion == "absolute_error" else (y - answer) ** 2
    assert found.loss[0] == pytest.approx(math.fsum(each), rel=1e-12, abs=0)
    assert found.square[0] == pytest.approx(math.fsum(each**2), rel=1e-12, abs=0)
