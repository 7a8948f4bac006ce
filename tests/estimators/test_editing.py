"""Trees by hand and machine together: `split`, `regrow` and `collapse`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier, Recipe, TreeClassifier, from_json
from fasttree._model.arrays import THRESHOLD
from fasttree.pruning import CostComplexity


def table(n_samples: int = 400, seed: int = 0, missing: float = 0.1) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_samples).astype(float),
            "income": rng.normal(size=n_samples),
            "city": rng.choice(["Bern", "Lyon", "Oslo", "Rome"], n_samples),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n_samples), categories=["S", "M", "L"], ordered=True),
        }
    )
    score = (X.age > 50) + X.income + (X.city == "Oslo") + rng.normal(size=n_samples)
    X = X.mask(rng.random(X.shape) < missing)
    return X, np.where(score > 1, "yes", "no")


MODELS = {
    "direction": CARTClassifier(max_depth=4),
    "majority": TreeClassifier(recipe=Recipe(missing="majority"), max_depth=4),
    "branch": TreeClassifier(recipe=Recipe(missing="branch"), max_depth=4),
    "surrogate": CARTClassifier(max_depth=4, missing="surrogate"),
    "surrogate, stop": CARTClassifier(max_depth=4, missing="surrogate", no_surrogate="stop"),
    "fractional": C45Classifier(pruning=None),
    "soft": C45Classifier(soft_thresholds=True),
    "entropy": CARTClassifier(criterion="entropy", max_leaf_nodes=9),
    "loss": CARTClassifier(max_depth=4, loss_matrix=[[0, 1], [5, 0]]),
    "priors": CARTClassifier(max_depth=4, priors={"no": 0.5, "yes": 0.5}),
}
TESTS = [("age", 47.5), ("income", -1.0), ("city", ["Oslo", "Rome"]), ("size", "M"), (0, 30)]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("feature", "at"), TESTS)
@pytest.mark.parametrize("node", [0, 1])
def test_samples_go_where_the_test_sends_them(name, feature, at, node):
    X, y = table()
    model = MODELS[name].fit(X, y)
    edited = model.split(node, feature, at, X=X, y=y)
    tree = edited.tree_
    tree.check()
    assert tree.by_hand.tolist() == [i == node for i in range(tree.node_count)]
    column = X.iloc[:, feature] if isinstance(feature, int) else X[feature]
    known = column.notna().to_numpy()
    low = (column.isin(at) if isinstance(at, list) else column <= at).to_numpy()
    passed = edited.decision_path(X).toarray() > 0
    first = int(tree.first_child[node])
    whole = known & passed[:, node] & (passed[:, first] ^ passed[:, first + 1])
    assert whole.sum() > 5
    assert (passed[whole, first] == low[whole]).all()
    if name == "fractional" and node == 0:  # every part of a sample without the value goes its way
        assert_allclose(tree.weight[first], low.sum() + low[known].mean() * (~known).sum())
    assert model.tree_.by_hand is None


@pytest.mark.parametrize("name", [name for name in MODELS if name != "soft"])
def test_the_split_that_growth_chose_is_that_split_by_hand(name):
    X, y = table(missing=0.1)
    model = MODELS[name].fit(X, y)
    best = TreeClassifier(recipe=model.recipe_, max_depth=1).set_params(**stump_parameters(model)).fit(X, y)
    root = best.tree_
    feature = X.columns[root.feature[0]]
    at = root.threshold[0]
    assert root.kind[0] == THRESHOLD
    edited = best.split(0, feature, at, X=X, y=y).tree_
    for array in ("first_child", "feature", "kind", "threshold", "missing", "n_samples"):
        if name.startswith("surrogate") and array in ("missing", "n_samples"):
            continue  # a test by hand has no surrogates
        np.testing.assert_array_equal(getattr(edited, array), getattr(root, array), err_msg=array)
    if not name.startswith("surrogate"):
        assert_allclose(edited.value, root.value, rtol=1e-9)
        assert_allclose(edited.impurity, root.impurity, rtol=1e-9)
        if name != "fractional":  # Release 8 subtracts a penalty from the gain of a threshold that it searched
            assert_allclose(edited.gain, root.gain, rtol=1e-9)


def stump_parameters(model):
    return {
        name: getattr(model, name)
        for name in ("loss_matrix", "priors", "max_surrogates", "no_surrogate")
        if name in TreeClassifier().get_params() and hasattr(model, name)
    }


@pytest.mark.parametrize("name", MODELS)
def test_growth_below_a_node_is_that_of_the_fit(name):
    X, y = table()
    model = MODELS[name].fit(X, y)
    if model.pruning is not None:
        model = model.set_params(pruning=None).fit(X, y)
    weight = model.tree_.weight
    for node in range(min(9, model.tree_.node_count)):
        again = model.regrow(node, X, y).tree_
        np.testing.assert_array_equal(again.feature, model.tree_.feature)
        assert_allclose(again.weight, weight, rtol=1e-9)
        if name not in ("fractional", "soft", "priors"):  # whose weights are rounded anew
            assert again == model.tree_


def test_a_leaf_grows_on_and_limits_count_from_the_root():
    X, y = table(missing=0.0)
    model = CARTClassifier(max_depth=2).fit(X, y)
    leaf = int(model.tree_.leaves()[0])
    deeper = model.regrow(leaf, X, y, max_depth=4)
    full = CARTClassifier(max_depth=4).fit(X, y)
    assert deeper.tree_.max_depth == 4
    grown = deeper.decision_path(X).toarray()[:, leaf] > 0
    assert (deeper.predict(X)[grown] == full.predict(X)[grown]).all()
    assert (deeper.predict(X)[~grown] == model.predict(X)[~grown]).all()
    assert model.regrow(0, X, y, max_depth=1).tree_.max_depth == 1
    assert model.regrow(1, X, y, max_leaf_nodes=5, max_depth=None).get_n_leaves() <= 5
    assert deeper.get_params() == model.get_params()


def test_competing_splits_can_be_chosen():
    X, y = table(missing=0.05)
    model = CARTClassifier(max_depth=2).fit(X, y)
    for split in model.competing_splits(0, X, y):
        chosen = model.split(0, split, X=X, y=y).tree_
        assert chosen.feature[0] == split.feature
        assert_allclose(chosen.gain[0], split.gain, rtol=1e-9)
    with pytest.raises(ValueError, match="includes its place"):
        model.split(0, split, 3, X=X, y=y)


def test_competing_splits_of_categories_have_no_branch_for_missing_values():
    X, y = pd.DataFrame({"c": ["a", "b", "c", None] * 10}), np.array([1.0, 2.0, 5.0, 9.0] * 10)
    model = CARTRegressor(missing="branch", max_depth=1).fit(X, y)
    (split,) = model.competing_splits(0, X, y)
    assert split.categories == (("a", "b"), ("c",), ())
    chosen = model.split(0, split, X=X, y=y).tree_
    assert chosen.value.tolist() == model.tree_.value.tolist()
    y = np.array([1.0, 1.0, 1.0, 9.0] * 10)
    model = CARTRegressor().fit(X, y)
    (split,) = model.competing_splits(0, X, y)
    with pytest.raises(ValueError, match="'c' separates missing values alone: give groups of categories"):
        model.split(0, split, X=X, y=y)


DIVIDING = {
    "light parts": CARTRegressor(missing="fractional", max_depth=4),
    "all parts": CARTRegressor(missing="fractional", max_depth=4, min_part_weight=0),
    "parts below 1.5": CARTRegressor(missing="fractional", max_depth=4, min_part_weight=1.5),
    "classes": CARTClassifier(missing="fractional", max_depth=4),
    "class weights": CARTClassifier(missing="fractional", max_depth=4, class_weight="balanced"),
    "costs": CARTClassifier(missing="fractional", max_depth=3, loss_matrix=[[0, 1, 4], [2, 0, 1], [3, 1, 0]]),
    "C4.5": C45Classifier(pruning=None),
    "C4.5, light parts": C45Classifier(pruning=None, min_part_weight=0.75),
}


@pytest.mark.parametrize("weighting", ["none", "counts", "any"])
@pytest.mark.parametrize("model", DIVIDING.values(), ids=DIVIDING)
def test_parts_of_samples_arrive_at_a_node_as_in_the_fit(model, weighting):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 3)).round(1)
    X[rng.random(X.shape) < 0.3] = np.nan
    y = np.nan_to_num(X[:, 0]) + rng.normal(size=120)
    if is_classifier(model):
        y = np.digitize(y, [0, 1])
    weight = {"none": None, "counts": rng.integers(0, 4, 120).astype(float), "any": rng.uniform(0.2, 3, 120)}[weighting]
    model = clone(model).fit(X, y, sample_weight=weight)
    tree, text = model.tree_, model.export_text()
    for node in np.flatnonzero(tree.weight > 0)[1:].tolist():
        assert model.regrow(node, X, y, sample_weight=weight).export_text() == text
        if tree.n_branches[node] and not isinstance(model, C45Classifier):
            splits = model.competing_splits(node, X, y, sample_weight=weight)
            gains = [split.gain for split in splits if split.feature == tree.feature[node]]
            assert_allclose(gains, tree.gain[node], rtol=1e-7)
            chosen = model.split(node, splits[0], X=X, y=y, sample_weight=weight).tree_
            assert_allclose(chosen.gain[node], splits[0].gain, rtol=1e-7)


def test_several_branches():
    X, y = table(missing=0.0)
    model = C45Classifier().fit(X, y)
    tree = model.split(0, "city", [["Bern"], ["Rome", "Oslo"], ["Lyon"]], X=X, y=y).tree_
    assert tree.n_samples[1:].tolist() == [sum(X.city == "Bern"), sum(X.city.isin(["Rome", "Oslo"])), sum(X.city == "Lyon")]
    tree = model.split(0, "age", [30, 40, 60], X=X, y=y).tree_
    assert tree.n_samples[1:].tolist() == np.histogram(X.age, [0, 30.5, 40.5, 60.5, 100])[0].tolist()
    with pytest.raises(ValueError, match="missing='direction' and 3 branches exclude each other"):
        CARTClassifier().fit(X, y).split(0, "age", [30, 40], X=X, y=y)


def test_numbers():
    X, _ = table()
    y = X.income.fillna(0) + (X.age > 40) * 2.0
    model = CARTRegressor(max_depth=2).fit(X, y)
    tree = model.split(0, "age", 40, X=X, y=y).tree_
    sides = [X.age <= 40, X.age > 40]
    sides[tree.missing[0]] |= X.age.isna()
    assert_allclose(tree.value[1:, 0], [y[side].mean() for side in sides])


def test_edited_models_are_shown_saved_pruned_and_edited_again():
    X, y = table()
    model = CARTClassifier(max_depth=2).fit(X, y).split(1, "age", 33, X=X, y=y)
    assert "age <= 33 [set by hand]" in model.export_text()
    copy = from_json(model.to_json())
    assert copy.tree_ == model.tree_
    assert (copy.predict(X) == model.predict(X)).all()
    onward = model.regrow(int(model.tree_.first_child[1]), X, y, max_depth=4)
    assert onward.tree_.by_hand[1]
    assert onward.tree_.by_hand.sum() == 1
    assert onward.collapse(1).tree_.by_hand is None
    assert model.prune(CostComplexity(alpha=10.0)).tree_.by_hand is None
    assert onward.prune(CostComplexity(alpha=0.0)).tree_.node_count <= onward.tree_.node_count
    assert len(model.export_sql()) > 20
    assert len(model.to_rules()) == model.get_n_leaves()


@given(st.integers(0, 1000), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.integers(-2, 2)), max_size=6))
@settings(max_examples=40, deadline=None)
def test_any_sequence_of_changes_keeps_the_tree_whole(seed, steps):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, (60, 4)).astype(float), rng.integers(0, 3, 60)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = CARTClassifier(max_depth=3, missing=("direction", "surrogate", "majority")[seed % 3]).fit(X, y)
    for node, feature, threshold in steps:
        node %= model.tree_.node_count
        here = model.decision_path(X)[:, [node]].toarray().ravel() > 0
        known = X[here, feature][~np.isnan(X[here, feature])]
        if threshold == -2:
            model = model.regrow(node, X, y, max_depth=5)
        elif known.size and known.min() <= threshold + 0.5 < known.max() and np.unique(y[here]).size > 1:
            model = model.split(node, feature, threshold + 0.5, X=X, y=y)
        else:
            with pytest.raises(ValueError, match=r"gets none|same target"):
                model.split(node, feature, threshold + 0.5, X=X, y=y)
        model.tree_.check()
        assert_allclose(model.tree_.weight[0], 60)
        leaves = np.bincount(model.apply(X), minlength=model.tree_.node_count)
        np.testing.assert_array_equal(leaves[model.tree_.leaves()], model.tree_.n_samples[model.tree_.leaves()])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((99, "age", 3), r"node=99: must be an integer in \[0, "),
        ((0, "weight", 3), r"feature='weight': must be the name or the index of a column of the fit: 'age', 'income'"),
        ((0, "age", "old"), r"at='old': must be a finite number"),
        ((0, "age", None), r"at=None: must be a finite number"),
        ((0, "age", [30, 20]), r"cuts must be ascending"),
        ((0, "age", 300), r"branch 1 of the test gets none of the 400 samples"),
        ((0, "city", ["Paris"]), r"'Paris' is no category of 'city'; it has 'Bern', 'Lyon'"),
        ((0, "city", "Bern"), r"at='Bern': must be a list of categories of 'city'"),
        ((0, "city", ["Bern", "Lyon", "Oslo", "Rome"]), r"every branch needs a category"),
        ((0, "city", [["Bern"], ["Bern", "Rome"]]), r"each category has one branch"),
        ((0, "size", "L"), r"at='L': is the last category of 'size'"),
        ((0, "size", [["S", "L"], ["M"]]), r"'size' is ordinal"),
    ],
)
def test_wrong_tests_raise_clear_errors(arguments, message):
    X, y = table(missing=0.0)
    model = CARTClassifier(max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.split(*arguments, X=X, y=y)


def test_wrong_samples_and_parameters_raise_clear_errors():
    X, y = table()
    model = CARTClassifier(max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match="give the samples and weights of the fit"):
        model.split(1, "age", 40, X=X[:200], y=y[:200])
    with pytest.raises(ValueError, match="regrow does not prune"):
        model.regrow(0, X, y, ccp_alpha=0.1)
    with pytest.raises(ValueError, match="keeps the algorithm of the fit"):
        model.regrow(0, X, y, criterion="entropy")
    with pytest.raises(ValueError, match="interaction_cst exclude each other"):
        CARTClassifier(interaction_cst="pairwise", max_depth=2).fit(X, y).regrow(0, X, y)
    with pytest.raises(ValueError, match="several targets cannot be changed by hand"):
        CARTClassifier(max_depth=2).fit(X, np.column_stack([y, y])).split(0, "age", 40, X=X, y=np.column_stack([y, y]))
    with pytest.raises(ValueError, match="all its samples have the same target"):
        CARTClassifier().fit(X, ["a"] * len(X)).split(0, "age", 40, X=X, y=["a"] * len(X))


def test_monotone_predictions_stay_monotone():
    X, y = table(missing=0.0)
    numbers, target = X[["age", "income"]], (y == "yes").astype(float)
    model = CARTRegressor(max_depth=3, monotonic_cst=[-1, 1]).fit(numbers, target)
    edited = model.split(1, "age", 30, X=numbers, y=target)
    grid = pd.DataFrame({"age": np.linspace(18, 90, 200), "income": 0.0})
    assert (np.diff(edited.predict(grid)) <= 0).all()


def test_id3():
    X, y = table(missing=0.0)
    X = X[["city", "size"]]
    model = ID3Classifier().fit(X, y)
    assert model.split(0, "city", [["Bern"], ["Lyon"], ["Oslo"], ["Rome"]], X=X, y=y).tree_.n_branches[0] == 4
