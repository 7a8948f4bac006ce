"""The best split of every feature at a node: against trees of one test, worked numbers, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier


def mixed(n: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.RandomState(0)
    table = pd.DataFrame(
        {
            "number": random.randint(0, 12, n).astype(float),
            "missing": np.where(random.rand(n) < 0.3, np.nan, random.rand(n).round(1)),
            "colour": pd.Categorical(random.choice(["red", "green", "blue", "grey"], n)),
            "size": pd.Categorical(random.choice(["S", "M", "L"], n), categories=["S", "M", "L"], ordered=True),
            "same": 1.0,
        }
    )
    noise = random.normal(0, 3, n)
    return table, (table.number + 9 * (table.colour == "red") + table["size"].cat.codes + noise > 8).to_numpy().astype(int)


def test_each_feature_has_its_own_best_split():
    X, y = mixed()
    model = CARTClassifier(min_samples_leaf=10).fit(X, y)
    splits = {split.name: split for split in model.competing_splits(0, X, y)}
    assert "same" not in splits
    for name, split in splits.items():
        alone = CARTClassifier(min_samples_leaf=10, max_depth=1).fit(X[[name]], y).tree_
        assert split.gain == pytest.approx(alone.gain[0])
    number, colour, size = (splits[name] for name in ("number", "colour", "size"))
    assert number.threshold is not None
    assert number.categories is None
    assert {frozenset(names) for names in colour.categories} == {frozenset(["red"]), frozenset(["green", "blue", "grey"])}
    assert colour.threshold is None
    assert size.categories in [(("S",), ("M", "L")), (("S", "M"), ("L",))]


def test_a_regression_split_has_the_least_weight_that_leaves_have():
    X, y = [[1.0], [2.0], [3.0], [4.0]], [0.0, 0.0, 1.0, 5.0]
    model = CARTRegressor(min_weight_fraction_leaf=0.3).fit(X, y)
    (split,) = model.competing_splits(0, X, y)
    assert (split.threshold, split.gain) == (model.tree_.threshold[0], pytest.approx(model.tree_.gain[0]))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_first_is_the_test_of_the_node(criterion: str):
    X, y = mixed()
    weight = np.random.RandomState(1).uniform(0.1, 3, len(y))
    model = CARTClassifier(criterion=criterion, max_depth=4, loss_matrix=[[0, 3], [1, 0]], priors=[0.7, 0.3])
    tree = model.fit(X, y, sample_weight=weight).tree_
    for node in np.flatnonzero(tree.n_branches):
        splits = model.competing_splits(node, X, y, weight)
        assert splits[0].feature == tree.feature[node]
        assert splits[0].gain == pytest.approx(tree.gain[node])
        assert [split.gain for split in splits] == sorted((split.gain for split in splits), reverse=True)


def test_regression_and_id3_have_them_too():
    X, y = mixed()
    model = CARTRegressor(max_depth=3).fit(X, X.number * y)
    assert model.competing_splits(1, X, X.number * y)[0].gain == pytest.approx(model.tree_.gain[1])
    words = X[["colour", "size"]].astype(str)
    model = ID3Classifier().fit(words, y)
    first, second = model.competing_splits(0, words, y)
    assert first.gain == pytest.approx(model.tree_.gain[0])
    assert second.gain < first.gain
    assert sorted(first.categories) == sorted((name,) for name in words[first.name].unique())


def test_a_split_into_known_and_missing_has_an_infinite_threshold():
    X, y = [[1.0], [1.0], [np.nan], [np.nan]], ["a", "a", "b", "b"]
    [split] = CARTClassifier().fit(X, y).competing_splits(0, X, y)
    assert (split.threshold, split.gain) == (math.inf, 0.5)


def test_equal_splits_stand_in_the_order_of_the_columns():
    X, y = np.repeat(np.arange(6.0)[:, None], 4, axis=1), [0, 0, 0, 1, 1, 1]
    splits = CARTClassifier().fit(X, y).competing_splits(0, X, y)
    assert [split.feature for split in splits] == [0, 1, 2, 3]


@given(node=st.integers(0, 30))
def test_samples_elsewhere_do_not_matter(node: int):
    X, y = mixed()
    model = CARTClassifier(max_depth=4).fit(X, y)
    node %= model.tree_.node_count
    inside = np.asarray(model.decision_path(X)[:, [node]].todense()).ravel()
    splits = model.competing_splits(node, X, y)
    assert splits == model.competing_splits(node, X[inside], y[inside])


def test_draws_and_generators_are_left_alone():
    X, y = mixed()
    random = np.random.RandomState(3)
    model = CARTClassifier(max_features=1, random_state=random, max_depth=2).fit(X, y)
    before = random.get_state()[2]
    assert len(model.competing_splits(0, X, y)) == 4
    assert random.get_state()[2] == before


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X, y: CARTClassifier().fit(X, y).competing_splits(-1, X, y), r"node=-1: must be an integer in \[0, "),
        (lambda X, y: CARTClassifier().fit(X, y).competing_splits("0", X, y), "node='0': must be an integer"),
        (lambda X, y: CARTClassifier().fit(X, y).competing_splits(0, X, y[1:]), "samples"),
        (
            lambda X, y: C45Classifier().fit(X, y).competing_splits(0, X, y),
            "by gain, and in C45Classifier they do not compete by gain",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(make: Any, message: str):
    with pytest.raises(ValueError, match=message):
        make(*mixed())


def test_a_node_that_no_sample_reaches_is_refused():
    X, y = mixed()
    model = CARTClassifier(max_depth=2).fit(X, y)
    left = model.apply(X) == model.apply(X)[0]
    other = next(leaf for leaf in model.tree_.leaves() if leaf != model.apply(X)[0])
    with pytest.raises(ValueError, match=f"node={other}: none of the samples in X reaches it"):
        model.competing_splits(int(other), X[left], y[left])
