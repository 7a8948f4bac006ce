"""CART against scikit-learn: the same trees where the best split is unique, equally good splits everywhere.

scikit-learn casts features to float32, so the tables hold values that survive the cast.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fasttree import CARTClassifier, CARTRegressor

PAIRS = {
    "gini": (CARTClassifier, DecisionTreeClassifier, {"criterion": "gini"}),
    "entropy": (CARTClassifier, DecisionTreeClassifier, {"criterion": "entropy"}),
    "squared error": (CARTRegressor, DecisionTreeRegressor, {}),
}
LIMITS: list[dict[str, Any]] = [
    {"max_depth": 1},
    {"max_depth": 4},
    {"max_depth": 7, "min_samples_leaf": 3},
    {"min_samples_leaf": 15},
    {"min_samples_leaf": 0.04},
    {"min_samples_split": 40, "min_samples_leaf": 5},
    {"min_samples_split": 0.2, "min_samples_leaf": 5},
    {"min_impurity_decrease": 0.01, "min_samples_leaf": 5},
    {"min_weight_fraction_leaf": 0.03},
]


def make_table(name: str, n_samples: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Smooth signal in continuous columns; deep down gains tie, so limits keep the leaves large."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 4)).astype(np.float32).astype(np.float64)
    signal = 2 * X[:, 0] + np.sin(3 * X[:, 1]) * X[:, 2] + 0.2 * rng.normal(size=n_samples)
    return X, signal if name == "squared error" else np.digitize(signal, [-1, 0.5])


def assert_same_tree(ours: Any, theirs: Any) -> int:
    """Compare node by node from the root; scikit-learn numbers its nodes depth first.  Returns the number of ties.

    Where two tests differ they must tie to the last bits, and their branches are left alone: scikit-learn draws among ties.
    """
    mine, other = ours.tree_, theirs.tree_
    mine.check()
    n_ties = 0
    pairs = [(0, 0)]
    for a, b in pairs:
        assert mine.n_samples[a] == other.n_node_samples[b]
        assert mine.weight[a] == pytest.approx(other.weighted_n_node_samples[b])
        assert mine.impurity[a] == pytest.approx(other.impurity[b], rel=1e-6, abs=1e-9)
        shares = mine.value[a] if mine.task == "regression" else mine.value[a] / mine.weight[a]
        assert shares == pytest.approx(other.value[b, 0], rel=1e-9, abs=1e-12)
        if mine.n_branches[a] == 0:
            # scikit-learn goes on splitting a pure node if rounding of the weights makes it look impure
            assert other.children_left[b] < 0 or mine.impurity[a] == 0
            continue
        assert other.children_left[b] >= 0
        first = int(mine.first_child[a])
        children = [other.children_left[b], other.children_right[b]]
        close = mine.threshold[a] == pytest.approx(other.threshold[b], rel=1e-6, abs=1e-7)
        if mine.feature[a] == other.feature[b] and close:
            pairs += [(first, children[0]), (first + 1, children[1])]
        else:
            risk = (mine.weight * mine.impurity)[first : first + 2].sum()
            same = (other.weighted_n_node_samples * other.impurity)[children].sum()
            assert risk == pytest.approx(same, rel=1e-9)
            n_ties += 1
    assert n_ties <= 0.2 * len(pairs)
    return n_ties


def fit_both(name: str, X: Any, y: Any, weight: Any = None, **parameters: Any) -> tuple[Any, Any]:
    ours, theirs, criterion = PAIRS[name]
    return (
        ours(**criterion, **parameters).fit(X, y, sample_weight=weight),
        theirs(**criterion, **parameters, random_state=0).fit(X, y, sample_weight=weight),
    )


@pytest.mark.parametrize("weighted", ["none", "whole", "real"])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("name", PAIRS)
def test_trees_are_identical_where_the_best_split_is_unique(name, limits, weighted):
    X, y = make_table(name)
    rng = np.random.default_rng(1)
    weight = {"none": None, "whole": rng.integers(0, 4, len(y)).astype(float), "real": rng.uniform(0.1, 2, len(y))}[weighted]
    if weighted == "whole":
        # scikit-learn counts samples of weight 0 for the limits, fasttree leaves them out
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    ours, theirs = fit_both(name, X, y, weight, **limits)
    assert ours.tree_.node_count > 1
    assert_same_tree(ours, theirs)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 5.0, 2: 0.3}], ids=str)
@pytest.mark.parametrize("name", ["gini", "entropy"])
def test_class_weights_give_identical_trees(name, class_weight):
    X, y = make_table(name)
    assert_same_tree(*fit_both(name, X, y, class_weight=class_weight, max_depth=6, min_samples_leaf=5))


@pytest.mark.parametrize("name", PAIRS)
def test_importances_are_the_same(name):
    ours, theirs = fit_both(name, *make_table(name), max_depth=3)
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", PAIRS)
def test_missing_values_go_the_same_way(name, seed):
    X, y = make_table(name, seed=seed)
    rng = np.random.default_rng(seed)
    lost = rng.random(X.shape) < 0.1
    lost[:, 0] |= (X[:, 0] > 1) & (rng.random(len(y)) < 0.7)  # informative: mostly large values are missing
    X[lost] = np.nan
    ours, theirs = fit_both(name, X, y, max_depth=2, min_samples_leaf=20)
    assert_same_tree(ours, theirs)
    # at every node that some training sample enters with a missing value the learned directions agree
    on_path, values = ours.decision_path(X).toarray(), X[:, np.maximum(ours.tree_.feature, 0)]
    assert (np.isnan(values) & on_path)[:, ours.tree_.feature >= 0].any()
    assert (
        (ours.predict(X) == pytest.approx(theirs.predict(X)))
        if name == "squared error"
        else (ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X)))
    )


def weighted_impurity_of_leaves(impurity: np.ndarray, weight: np.ndarray, leaves: np.ndarray) -> float:
    return float((impurity * weight)[leaves].sum())


@pytest.mark.parametrize("data", ["iris", "wine", "cancer", "diabetes"])
def test_stumps_of_real_tables_are_equally_good(data):
    loader = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "diabetes": load_diabetes}[data]
    X, y = loader(return_X_y=True)
    X = X.astype(np.float32)
    for name in ["squared error"] if data == "diabetes" else ["gini", "entropy"]:
        assert_equally_good_stumps(name, X, y)


def risk_of_stump(model: Any) -> float:
    tree = model.tree_
    if hasattr(tree, "children_left"):
        return weighted_impurity_of_leaves(tree.impurity, tree.weighted_n_node_samples, tree.children_left < 0)
    return weighted_impurity_of_leaves(tree.impurity, tree.weight, tree.n_branches == 0)


def assert_equally_good_stumps(name: str, X: np.ndarray, y: np.ndarray) -> None:
    ours, theirs = fit_both(name, X, y, max_depth=1)
    assert risk_of_stump(ours) == pytest.approx(risk_of_stump(theirs), rel=1e-9, abs=1e-9 * len(y))


def inner_nodes(model: Any, X: np.ndarray, n_nodes: int) -> Iterator[tuple[int, np.ndarray]]:
    """A sample of the inner nodes, the largest among them, with their rows."""
    tree = model.tree_
    inner = np.flatnonzero(tree.n_branches)
    rng = np.random.default_rng(0)
    chosen = np.union1d(inner[:20], rng.choice(inner, min(n_nodes, len(inner)), replace=False))
    members = model.decision_path(X).tocsc()
    for node in chosen:
        yield int(node), members.indices[members.indptr[node] : members.indptr[node + 1]]


def assert_every_split_is_as_good(name: str, X: np.ndarray, y: np.ndarray, n_nodes: int) -> None:
    """Each sampled node of an unlimited tree is split as well as scikit-learn splits the same rows."""
    ours_class, theirs_class, criterion = PAIRS[name]
    model = ours_class(**criterion).fit(X, y)
    tree = model.tree_
    tree.check()
    checked = 0
    for node, rows in inner_nodes(model, X, n_nodes):
        assert len(rows) == tree.n_samples[node]
        first = int(tree.first_child[node])
        ours = float((tree.weight * tree.impurity)[first : first + 2].sum())
        stump = theirs_class(**criterion, max_depth=1, random_state=0).fit(X[rows], y[rows])
        if stump.tree_.node_count == 1:
            assert tree.impurity[node] < 2.3e-16  # scikit-learn takes such a node for pure
            continue
        # scikit-learn takes the mean from the sum of squares: what cancels there leaves its trace
        cancelled = 1e-14 * float((y[rows].astype(float) ** 2).sum())
        assert ours == pytest.approx(
            risk_of_stump(stump), rel=1e-9, abs=1e-9 * tree.weight[node] * tree.impurity[node] + cancelled
        )
        checked += 1
    assert checked > 0


@pytest.mark.parametrize("name", PAIRS)
def test_every_split_of_a_large_tree_is_as_good(name):
    rng = np.random.default_rng(7)
    n_samples = 20_000
    X = rng.normal(size=(n_samples, 5)).astype(np.float32)
    X[:, 1] = rng.integers(0, 50, n_samples)
    signal = X[:, 0] + (X[:, 1] % 7) * X[:, 2] + rng.normal(0, 2, n_samples)
    y = np.round(signal, 6) if name == "squared error" else np.digitize(signal, [-2, 0, 3])
    assert_every_split_is_as_good(name, X, y, 1000)


def read_numbers(path: Any) -> tuple[np.ndarray, np.ndarray]:
    """Numeric columns as ranks: scikit-learn takes values closer than 1e-7 for equal."""
    table = pd.read_csv(path).dropna()
    return table.iloc[:, :-1].select_dtypes("number").rank(method="dense").to_numpy(np.float32), table.iloc[:, -1].to_numpy()


@pytest.mark.parametrize("data", ["letter", "satimage", "shuttle", "segment"])
@pytest.mark.parametrize("name", ["gini", "entropy"])
def test_splits_of_real_classes_are_as_good(name, data, shared):
    X, y = read_numbers(shared / "data" / f"{data}.csv.gz")
    assert_every_split_is_as_good(name, X, np.unique(y, return_inverse=True)[1], 150)


@pytest.mark.parametrize("data", ["california-housing", "bike-sharing", "concrete", "abalone"])
def test_splits_of_real_numbers_are_as_good(data, shared):
    X, y = read_numbers(shared / "data" / f"{data}.csv.gz")
    assert_every_split_is_as_good("squared error", X, y.astype(float), 300)
