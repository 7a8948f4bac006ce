"""Trees as those of scikit-learn: equal predictions, the names of its `tree_`, and the programs that read them."""

import pickle
from functools import cache

import numpy as np
import pytest
from exports import N_ROWS, inputs, models, table
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text, plot_tree

from fasttree import C45Classifier, CARTClassifier, CARTRegressor
from fasttree._export.sklearn import to_sklearn
from fasttree._model.arrays import THRESHOLD


@cache
def numeric():
    """Models of numbers alone, by name."""
    X, y, score = table()
    numbers = X[["age in years", "income"]]
    holes = numbers.mask(np.random.default_rng(0).random(numbers.shape) < 0.3)
    size = {"max_depth": 6, "min_samples_leaf": 3}
    names = ("two classes", "numbers", "integer labels", "boolean labels", "plain regression", "a leaf", "a number")
    return {name: models()[name] for name in names} | {
        "named columns": CARTClassifier(criterion="entropy", **size).fit(numbers, y),
        "missing as such": CARTClassifier(**size).fit(holes, np.isnan(holes["income"])),
        "majority": CARTRegressor(**size, missing="majority").fit(holes, score),
        "two targets": CARTClassifier(**size).fit(holes, np.column_stack([y, np.digitize(score, [2, 4])])),
        "targets of several types": CARTClassifier(**size).fit(
            holes, [[a, b] for a, b in zip(y, (score > 3).tolist(), strict=True)]
        ),
        "two numbers": CARTRegressor(**size).fit(holes, np.column_stack([score, -score])),
    }


def assert_equal(estimator, model, X):
    given = X if not hasattr(estimator, "feature_names_in_") or hasattr(X, "columns") else np.asarray(X)
    assert np.array_equal(estimator.predict(given), model.predict(X))
    if hasattr(model, "predict_proba"):
        theirs, ours = estimator.predict_proba(given), model.predict_proba(X)
        for a, b in zip(theirs, ours, strict=True) if isinstance(ours, list) else [(theirs, ours)]:
            assert np.array_equal(a, b)


@pytest.mark.parametrize("name", list(numeric()))
def test_predictions_on_numbers_of_float32_are_those_of_the_model(name):
    model = numeric()[name]
    X = inputs(model, N_ROWS, single=True)
    estimator = model.to_sklearn()
    assert type(estimator) is (DecisionTreeClassifier if hasattr(model, "predict_proba") else DecisionTreeRegressor)
    assert_equal(estimator, model, X)
    assert_equal(pickle.loads(pickle.dumps(estimator)), model, X)


@pytest.mark.parametrize("name", list(numeric()))
def test_a_forest_of_the_one_tree_predicts_the_same(name):
    model = numeric()[name]
    X = inputs(model, 500, single=True)
    forest = model.to_sklearn(forest=True)
    assert type(forest) is (RandomForestClassifier if hasattr(model, "predict_proba") else RandomForestRegressor)
    if name == "targets of several types":
        return  # their forests predict several targets as one array of one type
    assert_equal(forest, model, X)


def test_nodes_are_depth_first_and_say_what_ours_say():
    model = numeric()["numbers"]
    theirs, ours = model.to_sklearn().tree_, model.tree_
    left, right = theirs.children_left, theirs.children_right
    inner = np.flatnonzero(left >= 0)
    assert (left[inner] == inner + 1).all()
    assert sorted([0, *left[inner], *right[inner]]) == list(range(theirs.node_count))
    # from the root down, side by side
    pairs = [(0, 0)]
    for a, b in pairs:
        assert (theirs.n_node_samples[a], theirs.weighted_n_node_samples[a]) == (ours.n_samples[b], ours.weight[b])
        assert theirs.impurity[a] == ours.impurity[b]
        assert (theirs.value[a, 0] == ours.predict_nodes()[b]).all()
        if ours.kind[b] == THRESHOLD:
            assert (theirs.feature[a], theirs.threshold[a]) == (ours.feature[b], ours.threshold[b])
            pairs += [(left[a], ours.children_left[b]), (right[a], ours.children_right[b])]
        else:
            assert (theirs.feature[a], theirs.threshold[a]) == (-2, -2)
    assert (len(pairs), theirs.max_depth) == (ours.node_count, ours.max_depth)
    assert np.allclose(theirs.compute_feature_importances(), model.feature_importances_)


@pytest.mark.parametrize("forest", [False, True])
@pytest.mark.parametrize(
    ("name", "impurity", "criterion"),
    [
        ("two classes", "entropy", "entropy"),
        ("two classes", "misclassification", "gini"),
        ("two classes", "new", "gini"),
        ("numbers", "new", "gini"),
        ("plain regression", "poisson", "poisson"),
        ("plain regression", "new", "squared_error"),
    ],
)
def test_an_impurity_that_scikit_learn_lacks_is_shown_as_its_default(name, impurity, criterion, forest):
    assert to_sklearn(numeric()[name]._subject(), impurity=impurity, forest=forest).criterion == criterion


def test_scikit_learn_shows_and_describes_it():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model = numeric()["named columns"]
    estimator = model.to_sklearn()
    X = inputs(model, 50, single=True, missing=False)
    assert estimator.criterion == "entropy"
    assert list(estimator.feature_names_in_) == ["age in years", "income"]
    assert export_text(estimator).count("class:") == model.get_n_leaves() == estimator.get_n_leaves()
    assert estimator.apply(X).max() < model.tree_.node_count
    figure, axes = pyplot.subplots()
    assert len(plot_tree(estimator, ax=axes)) >= model.tree_.node_count
    pyplot.close(figure)


def test_programs_for_tree_find_their_names_on_ours():
    """What scikit-learn's example "Understanding the decision tree structure" does."""
    model = numeric()["two classes"]
    tree = model.tree_
    depth = {0: 0}
    for node in range(tree.node_count):
        left, right = tree.children_left[node], tree.children_right[node]
        if left != right:
            depth[left] = depth[right] = depth[node] + 1
    assert [depth[node] for node in range(tree.node_count)] == tree.depth().tolist()
    assert (tree.n_node_samples == tree.n_samples).all()
    assert (tree.weighted_n_node_samples == tree.weight).all()
    assert (tree.n_classes.tolist(), tree.max_n_classes, tree.n_outputs) == ([2], 2, 1)
    X = inputs(model, 200)
    at = np.zeros(len(X), int)
    while (tree.children_left[at] >= 0).any():
        goes_left = X[np.arange(len(X)), tree.feature[at]] <= tree.threshold[at]
        goes_left |= np.isnan(X[np.arange(len(X)), tree.feature[at]]) & tree.missing_go_to_left[at].astype(bool)
        below = np.where(goes_left, tree.children_left[at], tree.children_right[at])
        at = np.where(tree.children_left[at] >= 0, below, at)
    assert (at == model.apply(X)).all()


def test_trees_with_other_tests_have_no_such_names():
    tree = models()["C4.5"].tree_
    assert not hasattr(tree, "children_left")
    with pytest.raises(AttributeError, match=r"children_right: .* node \d+ of this tree has another test"):
        _ = tree.children_right
    holes = numeric()["majority"]
    divided = CARTRegressor(max_depth=3, missing="fractional").fit(np.array([[1.0], [2.0], [np.nan]]), [1.0, 2.0, 3.0])
    assert hasattr(holes.tree_, "missing_go_to_left")
    assert hasattr(divided.tree_, "children_left")
    assert not hasattr(divided.tree_, "missing_go_to_left")


def test_what_scikit_learn_cannot_say_is_refused():
    X, y, _ = table()
    numbers = X[["age in years", "income"]].to_numpy(float)
    with pytest.raises(ValueError, match=r"features 'grade', 'city', 'rooms', 'member' have categories, .* encode them before"):
        models()["all kinds"].to_sklearn()
    with pytest.raises(ValueError, match=r"feature 'city' has categories, .* encode it .* shap_values, plot and export_svg"):
        CARTClassifier(max_depth=2).fit(X[["age in years", "city"]], y).to_sklearn()
    with pytest.raises(ValueError, match="one for missing values alone"):
        CARTClassifier(max_depth=3, missing="branch").fit(np.where(numbers > 45, np.nan, numbers), y).to_sklearn()
    costly = CARTClassifier(max_depth=3, loss_matrix=[[0, 1, 50], [1, 0, 1], [1, 1, 0]]).fit(numbers, y)
    with pytest.raises(ValueError, match="by its loss matrix"):
        costly.to_sklearn()
    soft = C45Classifier(soft_thresholds=True).fit(np.nan_to_num(numbers), y)
    with pytest.raises(ValueError, match="soft='hard'"):
        soft.to_sklearn(missing="majority")
    assert soft.to_sklearn(missing="majority", soft="hard").tree_.node_count == soft.tree_.node_count
    with pytest.raises(ValueError, match="cannot reject missing values"):
        soft.to_sklearn(missing="error")


@pytest.mark.parametrize(
    ("settings", "does"),
    [
        ({"missing": "fractional"}, "divides it"),
        ({"missing": "surrogate"}, "asks surrogates"),
        ({"missing": "surrogate", "no_surrogate": "stop", "max_surrogates": 0}, "keeps it"),
    ],
)
def test_missing_values_that_go_elsewhere_follow_the_heaviest_branch_if_asked_to(settings, does):
    X, y, _ = table()
    numbers = X[["age in years", "income"]].to_numpy(float)
    model = CARTClassifier(max_depth=4, **settings).fit(numbers, y)
    with pytest.raises(ValueError, match=f"{does} where a value is missing.*missing='majority'"):
        model.to_sklearn()
    estimator = model.to_sklearn(missing="majority")
    assert_equal(estimator, model, inputs(model, 1000, single=True, missing=False))
    tree = estimator.tree_
    inner = np.flatnonzero(tree.children_left >= 0)
    weight = tree.weighted_n_node_samples
    heavier = weight[tree.children_left[inner]] >= weight[tree.children_right[inner]]
    assert (tree.missing_go_to_left[inner] == heavier).all()


def test_shap_explains_it_as_we_do():
    shap = pytest.importorskip("shap")
    for name in ("numbers", "two classes", "plain regression", "majority"):
        model = numeric()[name]
        X = inputs(model, 100, single=True)
        theirs = shap.TreeExplainer(model.to_sklearn()).shap_values(np.asarray(X))
        assert np.allclose(theirs, model.shap_values(X).values, atol=1e-10)


def test_treelite_reads_the_forest():
    treelite = pytest.importorskip("treelite")
    for name in ("numbers", "two classes", "plain regression", "missing as such", "majority"):
        model = numeric()[name]
        X = inputs(model, 2000, single=True)
        read = treelite.sklearn.import_model(model.to_sklearn(forest=True))
        found = treelite.gtil.predict(read, np.asarray(X, np.float32))
        expected = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
        assert np.allclose(found.reshape(expected.shape), expected, rtol=1e-12, atol=0)


def test_dtreeviz_reads_it():
    dtreeviz = pytest.importorskip("dtreeviz")
    X, y, _ = table(with_missing=False)
    numbers = X[["age in years", "income"]].to_numpy(float).astype(np.float32)
    labels = np.unique(y, return_inverse=True)[1]
    model = CARTClassifier(max_depth=3).fit(numbers, labels)
    shown = dtreeviz.model(
        model.to_sklearn(), numbers, labels, feature_names=["age", "income"], target_name="answer", class_names=["a", "b", "c"]
    ).shadow_tree
    assert len(shown.leaves) + len(shown.internal) == model.tree_.node_count
    for row in numbers[:50]:
        assert shown.predict(row) == model.predict(row[None])[0]
