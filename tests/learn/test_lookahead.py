"""Growth that looks ahead, against a twin that tries all pairs of levels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from small_tables import table_of

from fasttree import CARTClassifier, CARTRegressor, OptimalTreeRegressor, Recipe, TreeClassifier, TreeRegressor, load
from fasttree.pruning import CostComplexity
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
@pytest.mark.parametrize("n_tables", [18, pytest.param(400, marks=pytest.mark.nightly)])
def test_twin(kind, n_tables):
    choices = PLAIN | KINDS[kind]
    random = np.random.default_rng(len(kind))
    numeric = choices["criterion"] == "squared_error"
    for turn in range(n_tables):
        X, columns = table_of(random, 12, 4, 9, missing=choices["missing"], nominal=choices["nominal"])
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


def least_risk(X, y, weight, **choices):
    """Return the smallest risk of a tree of two levels, by greedy stumps on both sides of every cut."""
    estimator = CARTRegressor if choices["criterion"] == "squared_error" else CARTClassifier

    def stump(rows):
        tree = estimator(max_depth=1, **choices).fit(X[rows], y[rows], weight[rows]).tree_
        leaves = tree.leaves()
        return float((tree.weight * tree.impurity)[leaves].sum())

    found = []
    for column in X.T:
        for first in (column <= cut for cut in np.unique(column)[:-1]):
            if choices["min_samples_leaf"] <= np.count_nonzero(first) <= len(y) - choices["min_samples_leaf"]:
                found.append(stump(first) + stump(~first))
    return min(found)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification", "squared_error"])
@pytest.mark.parametrize(("several", "min_leaf", "weighted"), [(0, 1, False), (1, 1, False), (1, 9, False), (1, 5, True)])
def test_two_levels_are_the_best_of_a_larger_table(criterion, several, min_leaf, weighted):
    """More cuts than are searched at first, so that bounds decide which are left out."""
    random = np.random.default_rng(several)
    X = random.normal(size=(80, 3)).round(2)
    y = (X[:, 0] > 0.3) ^ (X[:, 1] > -0.2) ^ (random.random(80) < 0.15)
    y = (y + 2.5 * (X[:, 2] > 0.8) * several).astype(int) if criterion != "squared_error" else y + 0.3 * random.normal(size=80)
    weight = random.integers(1, 6, 80) / 4 if weighted else np.ones(80)
    choices = {"criterion": criterion, "min_samples_leaf": min_leaf}
    model = (CARTRegressor if criterion == "squared_error" else CARTClassifier)(max_depth=2, lookahead=2, **choices)
    tree = model.fit(X, y, weight).tree_
    found = (tree.weight * tree.impurity)[tree.leaves()].sum()
    assert found == pytest.approx(least_risk(X, y, weight, **choices), rel=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
def test_two_levels_are_the_best_of_columns_that_say_nearly_the_same(criterion):
    """Second columns are left out at cuts near to those where they were searched, from cut to cut, in three rounds."""
    for seed in (2, 4):
        random = np.random.default_rng(seed)
        X, threshold = random.normal(size=(200, 3)), random.normal(size=3) * 0.7
        X[:, 1:] = X[:, :1] + random.normal(size=(200, 2)) * 0.3
        y = np.where(X[:, 0] > threshold[0], X[:, 1] > threshold[1], X[:, 2] > threshold[2])
        y = np.where(random.random(200) < 0.05, random.random(200) < 0.5, y).astype(int)
        tree = CARTClassifier(criterion=criterion, max_depth=2, lookahead=2).fit(X, y).tree_
        found = (tree.weight * tree.impurity)[tree.leaves()].sum()
        assert found == pytest.approx(twin.least_of_two_levels(X, y, criterion), rel=1e-9), seed


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification", "squared_error"])
def test_two_levels_find_the_ends_of_four_long_runs(criterion):
    """The cuts that are searched first are far from the best, and say little about it."""
    for seed in range(10):
        random = np.random.default_rng(seed)
        x = random.permutation(300)
        y = np.searchsorted(np.sort(random.choice(np.arange(9, 290), 3, replace=False)), x) % 2
        model = (CARTRegressor if criterion == "squared_error" else CARTClassifier)(criterion=criterion, max_depth=2, lookahead=2)
        tree = model.fit(x[:, None], y).tree_
        assert tree.impurity[tree.leaves()].max() == pytest.approx(0, abs=1e-12)


@st.composite
def tables(draw):
    """Draw a table of few different values, and classes."""
    n = draw(st.integers(2, 40))
    width = draw(st.integers(1, 4))
    cells = st.lists(st.sampled_from([0.0, 1.0, 2.5, 7.0, np.nan]), min_size=n * width, max_size=n * width)
    y = draw(st.lists(st.integers(0, draw(st.integers(1, 3))), min_size=n, max_size=n))
    return np.array(draw(cells)).reshape(n, width), np.array(y)


CRITERIA = st.sampled_from(["gini", "entropy", "misclassification"])


@given(table=tables(), criterion=CRITERIA, seed=st.integers(0, 2**31))
def test_order_of_rows_and_threads_have_no_effect(table, criterion, seed):
    X, y = table
    order = np.random.default_rng(seed).permutation(len(y))
    weight = np.random.default_rng(seed).integers(1, 4, len(y)) / 3
    first = CARTClassifier(criterion=criterion, lookahead=2).fit(X, y, weight)
    second = CARTClassifier(criterion=criterion, lookahead=2, n_jobs=2).fit(X[order], y[order], weight[order])
    assert first.tree_ == second.tree_


@given(table=tables(), criterion=CRITERIA, seed=st.integers(0, 2**31))
def test_a_weight_counts_copies(table, criterion, seed):
    X, y = table
    times = np.random.default_rng(seed).integers(0, 3, len(y))
    times[0] = 1
    weighted = CARTClassifier(criterion=criterion, lookahead=2, max_depth=3).fit(X, y, times)
    copied = CARTClassifier(criterion=criterion, lookahead=2, max_depth=3).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    for name in ("feature", "threshold", "weight"):
        assert np.array_equal(getattr(weighted.tree_, name), getattr(copied.tree_, name), equal_nan=True)


@given(table=tables(), criterion=CRITERIA)
def test_one_level_is_greedy(table, criterion):
    X, y = table
    greedy, ahead = (CARTClassifier(criterion=criterion, max_depth=1, lookahead=levels).fit(X, y).tree_ for levels in (1, 2))
    for name in ("feature", "kind", "missing", "threshold", "value", "n_samples"):
        assert np.array_equal(getattr(greedy, name), getattr(ahead, name), equal_nan=True), name
    assert np.allclose(greedy.gain, ahead.gain, atol=1e-12)
    assert np.allclose(greedy.impurity, ahead.impurity, atol=1e-12)


@given(table=tables(), criterion=CRITERIA)
def test_two_levels_are_no_worse_than_greedy_ones(table, criterion):
    X, y = table
    found = [CARTClassifier(criterion=criterion, max_depth=2, lookahead=levels).fit(X, y).tree_ for levels in (1, 2)]
    greedy, ahead = ((tree.weight * tree.impurity)[tree.leaves()].sum() for tree in found)
    assert ahead <= greedy + 1e-9


@given(table=tables(), shift=st.sampled_from([0.0, 1e6]))
def test_numbers(table, shift):
    """Figures of a regression tree are those of its samples, in any order of the rows and far from 0."""
    X, y = table
    target = y * 0.1 + shift
    model = CARTRegressor(lookahead=2, max_depth=3).fit(X, target)
    assert model.tree_ == CARTRegressor(lookahead=2, max_depth=3).fit(X[::-1], target[::-1]).tree_
    leaf = model.apply(X)
    for node in np.unique(leaf):
        assert model.tree_.value[node, 0] == pytest.approx(target[leaf == node].mean(), abs=1e-9)
        assert model.tree_.impurity[node] == pytest.approx(target[leaf == node].var(), abs=1e-9)


def test_a_split_without_a_gain_of_its_own():
    X = np.array([[i, a, b] for a in range(2) for b in range(2) for i in range(10)], float)
    y = X[:, 1] != X[:, 2]
    greedy, ahead = (CARTClassifier(max_depth=2, lookahead=levels).fit(X, y) for levels in (1, 2))
    assert greedy.score(X, y) < 1
    assert ahead.score(X, y) == 1
    assert ahead.get_n_leaves() == 4
    assert CARTClassifier(lookahead=2, min_gain=0.1).fit(X, y).score(X, y) == 1  # of two levels
    assert CARTClassifier(lookahead=2, min_gain=0.6).fit(X, y).get_n_leaves() == 1
    assert CARTClassifier(lookahead=2, min_impurity_decrease=0.6).fit(X, y).get_n_leaves() == 1
    assert CARTClassifier(lookahead=2, min_impurity=0.51).fit(X, y).get_n_leaves() == 1


def test_equal_roots():
    """The split that needs no second level comes before those that do, then the first feature."""
    X = np.array([[0, 5, 0, 0], [1, 6, 0, 0], [0, 7, 1, 1], [1, 8, 1, 1]], float)
    tree = CARTClassifier(lookahead=2).fit(X, [0, 0, 1, 1]).tree_
    assert (tree.feature[0], tree.threshold[0], tree.node_count) == (1, 6.5, 3)


def test_recipes_and_pruning():
    X, y = load_breast_cancer(return_X_y=True)
    cart = CARTClassifier(lookahead=2, max_depth=4, pruning=CostComplexity(alpha=0.01)).fit(X, y)
    recipe = TreeClassifier(recipe=Recipe(), lookahead=2, max_depth=4, pruning=CostComplexity(alpha=0.01)).fit(X, y)
    assert cart.tree_ == recipe.tree_
    assert cart.tree_unpruned_.n_leaves > cart.get_n_leaves() > 1
    assert cart.prune(CostComplexity(alpha=0.05)).get_n_leaves() < cart.get_n_leaves()
    assert cart.competing_splits(0, X, y)[0].gain >= cart.tree_.gain[0]
    costs = CARTClassifier(lookahead=2, max_depth=2, loss_matrix=[[0, 5], [1, 0]], min_samples_leaf=5).fit(X, y)
    costs.tree_.check()
    assert (costs.predict(X) == 1).sum() < (cart.predict(X) == 1).sum()
    few = CARTClassifier(lookahead=2, max_leaf_nodes=3).fit(X, y)
    assert few.get_n_leaves() == 3


def test_saved_models_keep_the_parameter(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    model = CARTClassifier(lookahead=2, max_depth=3).fit(X, y)
    model.save(tmp_path / "tree.json")
    loaded = load(tmp_path / "tree.json")
    assert loaded.get_params()["lookahead"] == 2
    assert loaded.tree_ == model.tree_
    assert loaded.fit(X, y).tree_ == model.tree_


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (CARTClassifier(missing="surrogate"), "missing='surrogate'"),
        (CARTClassifier(nominal="one_vs_rest"), "nominal='one_vs_rest'"),
        (CARTClassifier(monotonic_cst=[1, 0]), "monotonic_cst"),
        (CARTClassifier(max_bins=9), "max_bins=9"),
        (CARTClassifier(max_features=1), "max_features"),
        (TreeClassifier(recipe="c45"), "do not compete by gain"),
        (TreeClassifier(recipe={"continuous": "intervals", "missing": "error"}), "continuous='intervals'"),
        (CARTRegressor(criterion="poisson"), "criterion='poisson'"),
        (TreeRegressor(recipe={"impurity": "absolute_error"}), "criterion='absolute_error'"),
    ],
)
def test_what_cannot_look_ahead(estimator, message):
    with pytest.raises(ValueError, match=f"^lookahead=2 and .*{message}.* exclude each other: .*, or use lookahead=1$"):
        estimator.set_params(lookahead=2).fit([[1, 2], [2, 1], [3, 5]], [0, 1, 1])


def test_several_targets_and_wrong_values():
    with pytest.raises(ValueError, match="lookahead=2 and several targets exclude each other"):
        CARTRegressor(lookahead=2).fit([[1], [2]], [[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="lookahead=3: must be 1 or 2"):
        CARTClassifier(lookahead=3).fit([[1], [2]], [0, 1])


def test_constant_tables():
    assert CARTClassifier(lookahead=2).fit([[1], [1]], [0, 1]).get_n_leaves() == 1
    assert CARTRegressor(lookahead=2).fit([[np.nan], [np.nan], [np.nan]], [0, 1, 1]).get_n_leaves() == 1
    assert CARTClassifier(lookahead=2).fit([[1], [2]], [1, 1]).get_n_leaves() == 1
    assert CARTRegressor(lookahead=2).fit([[np.nan], [1], [np.nan]], [0, 1, 0]).predict([[np.nan], [5]]).tolist() == [0, 1]


@pytest.mark.parametrize("size", [1e-150, 1e-160, 1e-300])
def test_tiny_targets_whose_squares_vanish_are_a_leaf(size):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = size * X[:, 0]
    for model in (CARTRegressor(max_depth=2), CARTRegressor(max_depth=2, lookahead=2), OptimalTreeRegressor(max_depth=2)):
        model.fit(X, y)
        assert model.tree_.node_count == 1 or size > 1e-200
        assert np.abs(model.predict(X)).max() <= np.abs(y).max()
