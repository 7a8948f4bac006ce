"""Growth that looks ahead, against a twin that tries all pairs of levels."""

import numpy as np
import pandas as pd
import pytest

from fasttree import CARTClassifier, CARTRegressor, TreeClassifier, from_json
from tests.twins import lookahead as twin

KINDS = {
    "two classes": {},
    "classes": {"n_classes": 4},
    "errors": {"criterion": "misclassification", "n_classes": 3},
    "errors of two classes": {"criterion": "misclassification", "missing": True},
    "entropy": {"criterion": "entropy", "n_classes": 3},
    "entropy and weights": {"criterion": "entropy", "weighted": True},
    "numbers": {"criterion": "squared_error"},
    "numbers and weights": {"criterion": "squared_error", "weighted": True, "missing": True, "nominal": True},
    "missing": {"missing": True, "n_classes": 3},
    "nominal": {"nominal": True, "missing": True},
    "nominal and classes": {"nominal": True, "missing": True, "n_classes": 3},
    "weights": {"weighted": True, "n_classes": 3},
    "small leaves": {"min_leaf": 3, "nominal": True, "missing": True},
    "small leaves and weights": {"min_leaf": 2, "weighted": True, "n_classes": 3, "missing": True},
    "small nodes": {"min_split": 6, "n_classes": 3},
    "light leaves": {"share": 0.2, "weighted": True, "missing": True, "criterion": "squared_error"},
}
PLAIN = {
    "criterion": "gini",
    "n_classes": 2,
    "missing": False,
    "nominal": False,
    "weighted": False,
    "min_leaf": 1,
    "min_split": 2,
    "share": 0.0,
}


def table_of(random, *, missing, nominal, most=14):
    """Return a small table with ties and constants, and its columns as the twin takes them."""
    n = int(random.integers(2, most))
    frame, columns = {}, []
    for j in range(int(random.integers(1, 4))):
        codes = random.integers(1, 2 + int(random.integers(0, 9)), n)
        if missing and random.random() < 0.6:
            codes[random.random(n) < 0.3] = 0
        if not codes.any():
            codes[0] = 1
        is_nominal = nominal and random.random() < 0.6
        words = [None if code == 0 else f"c{code}" for code in codes]
        frame[f"x{j}"] = words if is_nominal else np.where(codes == 0, np.nan, codes**2 / 7)
        columns.append((codes.tolist(), is_nominal))
    return pd.DataFrame(frame), columns


def as_nested(model, X):
    """Return a fitted tree as the twin has it."""
    path = model.decision_path(X).toarray().astype(bool)
    tree = model.tree_

    def nested(node):
        rows = frozenset(np.flatnonzero(path[:, node]).tolist())
        if tree.n_branches[node] == 0:
            return rows
        below = [int(tree.first_child[node]) + branch for branch in range(2)]
        return int(tree.feature[node]), frozenset((frozenset(np.flatnonzero(path[:, i]).tolist()), nested(i)) for i in below)

    return nested(0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_tables", [40, pytest.param(1000, marks=pytest.mark.nightly)])
def test_twin(kind, n_tables):
    choices = PLAIN | KINDS[kind]
    random = np.random.default_rng(len(kind))
    numeric = choices["criterion"] == "squared_error"
    for turn in range(n_tables):
        X, columns = table_of(random, missing=choices["missing"], nominal=choices["nominal"])
        n = len(X)
        y = random.integers(0, 6 if numeric else choices["n_classes"], n)
        weight = random.integers(1, 6, n) / 4 if choices["weighted"] else np.ones(n)
        depth = (2, 3, None)[turn % 3]
        model = (CARTRegressor if numeric else CARTClassifier)(
            criterion=choices["criterion"],
            lookahead=2,
            max_depth=depth,
            min_samples_leaf=choices["min_leaf"],
            min_samples_split=choices["min_split"],
            min_weight_fraction_leaf=choices["share"],
        ).fit(X, y.astype(float) if numeric else y, sample_weight=weight)
        limits = {"min_leaf": choices["min_leaf"], "min_split": choices["min_split"]}
        problem = twin.Problem(
            columns, y.tolist(), weight, choices["criterion"], min_weight=choices["share"] * float(weight.sum()), **limits
        )
        model.tree_.check()
        assert as_nested(model, X) == twin.grow(problem, range(n), -1 if depth is None else depth), turn


def least_risk(X, y, criterion):
    """Return the smallest risk of a tree of two levels, by greedy stumps on both sides of every cut."""
    numeric = criterion == "squared_error"
    estimator = CARTRegressor if numeric else CARTClassifier

    def stump(rows):
        tree = estimator(max_depth=1, criterion=criterion).fit(X[rows], y[rows]).tree_
        leaves = tree.leaves()
        return float((tree.weight * tree.impurity)[leaves].sum())

    found = []
    for column in X.T:
        for cut in np.unique(column)[:-1]:
            found.append(stump(column <= cut) + stump(column > cut))
    return min(found)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification", "squared_error"])
@pytest.mark.parametrize("turn", range(3))
def test_two_levels_are_the_best_of_a_larger_table(criterion, turn):
    """More cuts than are searched at first, so that bounds decide which are left out."""
    random = np.random.default_rng(turn)
    X = random.normal(size=(130, 3)).round(2)
    y = (X[:, 0] > 0.3) ^ (X[:, 1] > -0.2) ^ (random.random(130) < 0.15)
    y = (y + 2.5 * (X[:, 2] > 0.8) * turn).astype(int) if criterion != "squared_error" else y + 0.3 * random.normal(size=130)
    model = (CARTRegressor if criterion == "squared_error" else CARTClassifier)(max_depth=2, criterion=criterion, lookahead=2)
    tree = model.fit(X, y).tree_
    assert (tree.weight * tree.impurity)[tree.leaves()].sum() == pytest.approx(least_risk(X, y, criterion), rel=1e-9)
