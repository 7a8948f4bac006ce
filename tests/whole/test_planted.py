"""Tables labelled by a random tree: a tree without limits must find every label, and the plain ones the planted tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

from fasttree import C45Classifier, C50Classifier, CARTClassifier, CARTRegressor, ID3Classifier
from fasttree._model.arrays import KNOWN, THRESHOLD

COLORS = ["blue", "green", "grey", "red", "white"]
SIZES = ["small", "medium", "large", "huge"]


@dataclass
class Planted:
    """A table of complete rows, and the leaf of each row in a random binary tree."""

    table: pd.DataFrame
    leaf: NDArray[np.intp]
    tests: list[tuple[str, Any]] = field(default_factory=list)  # feature and what goes left, in the order of planting

    @property
    def n_leaves(self) -> int:
        return len(self.tests) + 1


def plant(seed: int, n_samples: int = 600, n_leaves: int = 8, *, categories_only: bool = False) -> Planted:
    """Split the largest leaf again and again, by a random test with at least a quarter of the rows on either side."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "color": pd.Categorical(rng.choice(COLORS, n_samples), COLORS),
            "size": pd.Categorical(rng.choice(SIZES, n_samples), SIZES, ordered=True),
            "shape": pd.Categorical(rng.choice(list("abcdefgh"), n_samples), list("abcdefgh")),
        }
    )
    if not categories_only:
        table["length"] = rng.normal(size=n_samples)
        table["width"] = rng.integers(0, 30, n_samples)
    planted = Planted(table, np.zeros(n_samples, dtype=np.intp))
    while planted.n_leaves < n_leaves:
        largest = np.bincount(planted.leaf).argmax()
        rows = np.flatnonzero(planted.leaf == largest)
        feature = str(rng.choice(table.columns))
        column = table[feature].iloc[rows]
        if table[feature].dtype == "category" and not table[feature].cat.ordered:
            asked: Any = set(rng.permutation(table[feature].cat.categories)[: rng.integers(1, 4)])
            left = column.isin(asked).to_numpy()
        else:
            asked = column.iloc[int(rng.integers(len(rows)))]
            left = (column <= asked).to_numpy()
        if min(left.sum(), (~left).sum()) >= len(rows) / 4:
            planted.leaf[rows[~left]] = planted.n_leaves
            planted.tests.append((feature, asked))
    return planted


def values_of(leaf: NDArray[np.intp], seed: int) -> NDArray[np.float64]:
    """A distinct number per leaf."""
    return np.random.default_rng(seed).permutation(leaf.max() + 1)[leaf] ** 1.5


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("nominal", ["subset", "one_vs_rest"])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
def test_cart_classifies_every_planted_sample(criterion, nominal, seed):
    planted = plant(seed)
    model = CARTClassifier(criterion=criterion, nominal=nominal).fit(planted.table, planted.leaf)
    model.tree_.check()
    assert model.score(planted.table, planted.leaf) == 1
    assert (model.tree_.impurity[model.tree_.leaves()] == 0).all()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("nominal", ["subset", "one_vs_rest"])
def test_cart_predicts_every_planted_value(nominal, seed):
    planted = plant(seed)
    y = values_of(planted.leaf, seed)
    model = CARTRegressor(nominal=nominal).fit(planted.table, y)
    model.tree_.check()
    assert model.predict(planted.table) == pytest.approx(y)


@pytest.mark.parametrize("seed", range(10))
def test_c45_classifies_nearly_every_planted_sample(seed):
    # C4.5 gives up where no test pays its price
    planted = plant(seed)
    model = C45Classifier(min_samples_branch=1, pruning=None).fit(planted.table, planted.leaf)
    model.tree_.check()
    assert model.score(planted.table, planted.leaf) > 0.99


@pytest.mark.parametrize("seed", range(10))
def test_id3_classifies_every_planted_sample(seed):
    planted = plant(seed, categories_only=True)
    model = ID3Classifier().fit(planted.table, planted.leaf)
    model.tree_.check()
    assert model.score(planted.table, planted.leaf) == 1


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("model", [CARTClassifier(), CARTRegressor()], ids=["classes", "values"])
def test_a_single_planted_test_is_recovered(model, seed):
    planted = plant(seed, n_leaves=2)
    fitted = clone(model).fit(planted.table, planted.leaf.astype(float))
    tree = fitted.tree_
    tree.check()
    (feature, asked), *_ = planted.tests
    assert tree.node_count == 3
    assert fitted.schema_.features[tree.feature[0]].name == feature
    if isinstance(asked, set):
        in_first_branch = {
            fitted.schema_.features[tree.feature[0]].categories[c - 1] for c in tree.categories_code[tree.categories_branch == 0]
        }
        occurring = set(planted.table[feature].unique())
        assert in_first_branch in (asked, occurring - asked)
    else:
        column = planted.table[feature]
        if column.dtype == "category":
            assert tree.threshold[0] == SIZES.index(asked) + 1.5
        else:
            assert tree.threshold[0] == (asked + column[column > asked].min()) / 2


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("depth", [2, 3, 4])
def test_a_planted_grid_of_thresholds_is_recovered(depth, seed):
    # a level halves a feature of its own and moves the target less than the level above: greedy choices are the planted ones
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(2000, depth))
    order = rng.permutation(depth)
    y = sum((X[:, j] > 0.5) * 10.0**-level for level, j in enumerate(order))
    tree = CARTRegressor().fit(X, y).tree_
    tree.check()
    assert (tree.n_leaves, tree.max_depth) == (2**depth, depth)
    for level, j in enumerate(order):
        here = tree.depth() == level
        assert (tree.feature[here] == j).all()
        assert tree.threshold[here] == pytest.approx(0.5, abs=0.03)


# Missing values


@pytest.mark.parametrize("side", ["low", "high"])
@pytest.mark.parametrize("kind", ["continuous", "ordinal", "nominal"])
@pytest.mark.parametrize("model", [CARTClassifier(), CARTClassifier(criterion="entropy"), CARTRegressor()], ids=str)
def test_missing_values_planted_on_one_side_are_learned(model, kind, side):
    rng = np.random.default_rng(0)
    n_samples = 300
    codes = rng.integers(0, 4, n_samples)
    lost = rng.random(n_samples) < 0.2
    column = {
        "continuous": codes.astype(float),
        "ordinal": pd.Categorical.from_codes(codes, SIZES, ordered=True),
        "nominal": pd.Categorical.from_codes(codes, ["a", "b", "c", "d"]),
    }[kind]
    table = pd.DataFrame({"noise": rng.normal(size=n_samples), "asked": column})
    table.loc[lost, "asked"] = np.nan
    y = np.where(lost, side == "high", codes >= 2).astype(float)
    fitted = clone(model).fit(table, y)
    fitted.tree_.check()
    assert fitted.tree_.node_count == 3
    assert fitted.tree_.missing[0] == (1 if side == "high" else 0)
    assert (fitted.predict(table) == y).all()


@pytest.mark.parametrize("model", [CARTClassifier(), CARTRegressor()], ids=["classes", "values"])
def test_that_a_value_is_missing_may_be_the_whole_test(model):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    X[rng.random(200) < 0.3, 1] = np.nan
    y = np.isnan(X[:, 1]).astype(float)
    fitted = model.fit(X, y)
    fitted.tree_.check()
    tree = fitted.tree_
    assert (tree.node_count, tree.feature[0], tree.kind[0]) == (3, 1, KNOWN)
    assert (fitted.predict(X) == y).all()


@pytest.mark.parametrize("seed", range(5))
def test_missing_values_planted_below_the_root_are_learned_in_their_node(seed):
    # left of the root they follow the low values, right of it the high ones
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(1000, 2))
    X[rng.random(1000) < 0.2, 1] = np.nan
    right = X[:, 0] > 0.5
    high = np.where(np.isnan(X[:, 1]), right, X[:, 1] > 0.5)
    y = 10.0 * right + high
    model = CARTRegressor().fit(X, y)
    tree = model.tree_
    tree.check()
    assert (tree.node_count, tree.feature[:3].tolist()) == (7, [0, 1, 1])
    assert (tree.kind[:3] == THRESHOLD).all()
    assert tree.missing[1:3].tolist() == [0, 1]
    assert (model.predict(X) == y).all()


def test_c45_shares_of_planted_missing_values_follow_the_known_ones():
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(1000, 2))
    y = (X[:, 0] > 0.25).astype(int)
    X[rng.random(1000) < 0.1, 0] = np.nan
    known = ~np.isnan(X[:, 0])
    model = C45Classifier(max_depth=1).fit(X, y)
    model.tree_.check()
    assert model.tree_.feature[0] == 0
    right = (X[known, 0] > model.tree_.threshold[0]).mean()
    assert model.tree_.weight[1:] == pytest.approx([1000 * (1 - right), 1000 * right])
    assert (model.predict(X[known]) == y[known]).all()


@pytest.mark.parametrize("model", [C45Classifier, C50Classifier])
@pytest.mark.parametrize("n_categories", [40, 300])
def test_categories_of_one_kind_are_grouped(n_categories, model):
    # in half of the categories 9 of 10 samples are of class 1, in the others 1 of 10
    codes = np.repeat(np.arange(n_categories), 20)
    y = np.tile(np.arange(20) % 10 == 0, n_categories) ^ (codes % 2 == 0)
    X = pd.DataFrame({"c": pd.Categorical.from_codes(codes, [str(code) for code in range(n_categories)])})
    tree = model(subset=True, max_depth=1).fit(X, y).tree_
    tree.check()
    branches = dict(zip(tree.categories_code.tolist(), tree.categories_branch.tolist(), strict=True))
    assert tree.n_branches[0] == 2
    assert all(branches[code] == branches[code % 2 or 2] for code in branches)
    assert branches[1] != branches[2]


@pytest.mark.parametrize("n_categories", [300, 900])  # the ways to divide the latter into three are more than a double holds
def test_c50_groups_categories_of_three_classes(n_categories):
    codes = np.repeat(np.arange(n_categories), 8)
    X = pd.DataFrame({"c": pd.Categorical.from_codes(codes, [str(code) for code in range(n_categories)])})
    tree = C50Classifier(subset=True, max_depth=1).fit(X, codes % 3).tree_
    tree.check()
    branches = dict(zip(tree.categories_code.tolist(), tree.categories_branch.tolist(), strict=True))
    assert tree.n_branches[0] == 3
    assert len({(code % 3, branch) for code, branch in branches.items()}) == 3


def test_c45_groups_no_more_categories_than_it_can():
    X = pd.DataFrame({"c": [str(i) for i in range(1001)]})
    with pytest.raises(ValueError, match="column 'c' has 1001 categories: subset=True groups at most 1000; use subset=False"):
        C45Classifier(subset=True).fit(X, np.arange(1001) % 2)
