"""The estimators as people meet them: tables in, trees and predictions out."""

import math
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import fasttree
from fasttree import (
    C45Classifier,
    C45Rules,
    CARTClassifier,
    CARTRegressor,
    GAMClassifier,
    ID3Classifier,
    RandomForestClassifier,
    TreeClassifier,
    TreeRegressor,
)
from fasttree._learn.parameters import defaults_of, rules_of

ALL = [ID3Classifier, C45Classifier, CARTClassifier, CARTRegressor]
CLASSIFIERS = ALL[:3]
TAKES_FLOATS = ALL[1:]

# Quinlan (1986), table 1: outlook, temperature, humidity, windy; class
TENNIS = [
    row.split()
    for row in """
    sunny hot high false N
    sunny hot high true N
    overcast hot high false P
    rain mild high false P
    rain cool normal false P
    rain cool normal true N
    overcast cool normal true P
    sunny mild high false N
    sunny cool normal false P
    rain mild normal false P
    sunny mild normal true P
    overcast mild high true P
    overcast hot normal false P
    rain mild high true N
    """.strip().splitlines()
]
NAMES = ["outlook", "temperature", "humidity", "windy"]
ROWS = [row[:4] for row in TENNIS]
PLAY = [row[4] for row in TENNIS]


def same_tree(a, b):
    return a.tree_ == b.tree_ and (np.asarray(a.tree_.feature) == np.asarray(b.tree_.feature)).all()


@pytest.fixture(scope="module")
def numbers():
    """Continuous columns whose best splits are unique, with a noisy binary target and a noisy value."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    value = 2 * X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * rng.normal(size=200)
    return X, (value > 0).astype(np.int64), value


@pytest.fixture(scope="module")
def mixed():
    """A pandas table of every kind with missing values, and its classes."""
    rng = np.random.default_rng(1)
    n = 120
    size = rng.choice(["small", "medium", "large"], n)
    color = rng.choice(["red", "green", "blue", "grey"], n)
    length = rng.normal(size=n).round(2)
    y = np.where((size == "large") ^ (length > 0.3), "yes", np.where(color == "red", "maybe", "no"))
    table = pd.DataFrame(
        {
            "size": pd.Categorical(size, ["small", "medium", "large"], ordered=True),
            "color": color,
            "length": length,
            "flag": rng.integers(0, 2, n).astype(bool),
        }
    )
    table.loc[::7, "length"] = np.nan
    table.loc[3::11, "color"] = None
    return table, y


# ID3


def test_id3_grows_quinlans_tennis_tree():
    model = ID3Classifier().fit(pd.DataFrame(ROWS, columns=NAMES), PLAY)
    model.tree_.check()
    assert model.tree_.feature[0] == NAMES.index("outlook")
    assert {NAMES[j] for j in model.tree_.feature if j >= 0} == {"outlook", "humidity", "windy"}
    assert (model.get_depth(), model.get_n_leaves(), model.score(pd.DataFrame(ROWS, columns=NAMES), PLAY)) == (2, 5, 1.0)
    assert model.tree_.gain[0] == pytest.approx(0.2467498198)


def test_id3_takes_integers_as_categories():
    X = [[3], [1], [2], [3]]
    model = ID3Classifier().fit(X, ["a", "b", "a", "a"])
    assert model.get_n_leaves() == 3
    assert model.predict(X).tolist() == ["a", "b", "a", "a"]


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (pd.DataFrame({"kind": ["a", "b"], "height": [1.5, 2.5]}), "height"),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), "x0"),
        (pd.DataFrame({"kind": ["a", None], "age": [1, 2]}), "kind"),
    ],
    ids=["float column", "plain floats", "missing value"],
)
def test_id3_names_the_feature_that_it_refuses_and_what_to_use(table, column):
    with pytest.raises(ValueError, match=rf"'{column}'.*(C45Classifier|CARTClassifier)"):
        ID3Classifier().fit(table, [0, 1])


def test_id3_refuses_a_missing_value_at_prediction():
    model = ID3Classifier().fit(pd.DataFrame({"kind": ["a", "b"]}), [0, 1])
    with pytest.raises(ValueError, match="'kind'"):
        model.predict(pd.DataFrame({"kind": ["a", None]}))


def test_id3_takes_floats_that_are_named_categories():
    X = np.array([[0.5], [1.5], [0.5]])
    model = ID3Classifier(categorical_features=[0]).fit(X, [0, 1, 0])
    assert model.predict(X).tolist() == [0, 1, 0]


def test_id3_wants_a_gain_above_epsilon():
    root = 0.2467498198
    assert ID3Classifier(epsilon=root + 1e-6).fit(ROWS, PLAY).get_n_leaves() == 1
    assert ID3Classifier(epsilon=root - 1e-6).fit(ROWS, PLAY).get_depth() >= 1


def test_id3_answers_an_unseen_category_by_the_node_that_asks():
    model = ID3Classifier().fit(ROWS, PLAY)
    assert model.predict_proba([["fog", "hot", "high", "true"]])[0] == pytest.approx([5 / 14, 9 / 14])
    with pytest.raises(ValueError, match="fog"):
        model.set_params(unseen="error").predict([["fog", "hot", "high", "true"]])


# C4.5


def test_three_categories_are_many_for_ten_cases_and_compete_where_all_features_have_many():
    X = pd.DataFrame({"c": pd.Categorical(list("aaaabbbccc"))})  # as many as three tenths of the cases
    tree = C45Classifier(min_samples_branch=1, pruning=None).fit(X, list("pppqqqqppp")).tree_
    assert tree.node_count == 4


def test_c45_prefers_the_gain_ratio_where_id3_prefers_many_categories():
    # "id" has the largest gain and tells nothing; "good" has the better ratio
    rows = [[str(i), "yes" if i < 5 else "no"] for i in range(10)]
    y = [0] * 5 + [1] * 4 + [0]
    by_ratio = C45Classifier(min_samples_branch=1, pruning=None).fit(rows, y)
    by_gain = C45Classifier(criterion="gain", min_samples_branch=1, pruning=None).fit(rows, y)
    assert (by_ratio.tree_.feature[0], by_gain.tree_.feature[0]) == (1, 0)


def test_c45_has_a_branch_for_every_declared_category():
    color = pd.Categorical(["a", "a", "b", "b"], ["a", "b", "c"])
    model = C45Classifier().fit(pd.DataFrame({"color": color}), [0, 0, 1, 1])
    assert model.tree_.n_branches[0] == 3


def test_c45_needs_two_branches_of_the_least_weight():
    X, y = [["a"], ["b"], ["b"], ["b"]], [0, 1, 1, 1]
    assert C45Classifier(min_samples_branch=2, pruning=None).fit(X, y).get_n_leaves() == 1
    assert C45Classifier(min_samples_branch=1, pruning=None).fit(X, y).get_n_leaves() == 2


def test_c45_shares_a_sample_with_a_missing_value_out():
    X = pd.DataFrame({"color": ["a"] * 6 + ["b"] * 2})
    model = C45Classifier().fit(X, [0] * 6 + [1] * 2)
    assert model.predict_proba(pd.DataFrame({"color": [None]}))[0] == pytest.approx([0.75, 0.25])
    assert model.tree_.n_samples[model.apply(pd.DataFrame({"color": [None]}))[0]] == 6  # the heaviest leaf


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"pruning": "reduced"},
            r"pruning='reduced': must be 'cost_complexity', 'c_alpha', .*'chi_square', a value of .* or None",
        ),
        ({"confidence": 0.0}, r"confidence=0.0: must be a number in \(0, 1\)"),
        ({"confidence": 1}, r"confidence=1: must be a number in \(0, 1\)"),
        ({"confidence": 25}, r"confidence=25: must be a number in \(0, 1\), such as 0.25"),
        ({"confidence": math.nan}, "confidence=nan"),
        ({"min_samples_branch": 0}, "min_samples_branch=0: must be a finite number > 0"),
        ({"min_samples_branch": -1.5}, "min_samples_branch=-1.5"),
        ({"subset": 1}, "subset=1: must be True or False"),
        ({"soft_thresholds": "yes"}, "soft_thresholds='yes': must be True or False"),
        ({"windowing": True, "n_trials": 0}, "n_trials=0: must be an integer >= 1"),
        ({"window_size": 2.5}, "window_size=2.5: must be an integer >= 1, or None"),
        ({"min_part_weight": -0.1}, "min_part_weight=-0.1: must be a finite number >= 0"),
        ({"epsilon": 0.1}, "epsilon=0.1 and variant='release8' exclude each other"),
        ({"subset": True, "variant": "textbook"}, "subset=True and variant='textbook' exclude each other"),
    ],
)
def test_c45_says_what_a_parameter_may_be(parameters, message):
    with pytest.raises(ValueError, match=message):
        C45Classifier(**parameters).fit(ROWS, PLAY)


def test_c45_grades_predictions_near_a_soft_threshold():
    X, y = load_iris(return_X_y=True)
    hard, soft = C45Classifier().fit(X, y), C45Classifier(soft_thresholds=True).fit(X, y)
    assert soft.tree_.replace(lower=None, upper=None) == hard.tree_
    petal_widths = np.linspace(0.45, 0.7, 6)
    rows = np.column_stack([np.tile(X[:1, :3], (6, 1)), petal_widths])
    setosa = soft.predict_proba(rows)[:, 0]
    assert (np.diff(setosa) < 0).all()
    assert set(hard.predict_proba(rows)[:, 0]) == {0, 1}


def test_c45_keeps_a_tree_of_every_trial_of_windowing():
    X, y = load_iris(return_X_y=True)
    model = C45Classifier(windowing=True, n_trials=3, window_size=40, random_state=1)
    trees = model.fit(X, y).trees_unpruned_
    assert len(trees) == 3
    assert any(model.tree_unpruned_ is tree for tree in trees)
    assert model.tree_.weight[0] == 150  # pruned with all samples
    assert model.fit(X, y).trees_unpruned_ == trees  # a seed repeats its draws
    model.set_params(windowing=False).fit(X, y)
    assert not hasattr(model, "trees_unpruned_")
    assert model.tree_ == C45Classifier().fit(X, y).tree_


def test_c45_takes_columns_and_rows_without_a_known_value():
    X = pd.DataFrame({"nothing": [math.nan] * 12, "color": ["a"] * 6 + ["b"] * 5 + [None]})
    y = ["no"] * 6 + ["yes"] * 6
    model = C45Classifier().fit(X, y)
    model.tree_.check()
    assert set(model.tree_.feature) == {1, -1}
    assert model.predict_proba(X.iloc[[-1]])[0] == pytest.approx(model.tree_.value[0] / 12)
    assert model.predict(pd.DataFrame({"nothing": [1.0], "color": ["b"]})) == ["yes"]


def test_c45_takes_a_whole_weight_as_repeated_samples_also_where_values_are_many():
    rng = np.random.default_rng(0)
    for _ in range(50):
        codes, x, y = rng.integers(0, 4, 12), rng.normal(size=12), rng.integers(0, 3, 12)
        X = pd.DataFrame({"c": pd.Categorical.from_codes(codes, list("abcd")), "x": x})
        model = C45Classifier(pruning=None)
        weighted = model.fit(X, y, sample_weight=np.full(12, 3.0)).tree_
        repeated = model.fit(pd.concat([X] * 3, ignore_index=True), np.tile(y, 3)).tree_
        assert weighted.node_count == repeated.node_count
        assert weighted.feature.tolist() == repeated.feature.tolist()
        assert weighted.weight == pytest.approx(repeated.weight)


def test_c45_trees_of_weights_over_many_decades_can_be_saved(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[rng.random((400, 3)) < 0.3] = np.nan
    y, weight = rng.integers(0, 2, 400), 10.0 ** rng.integers(0, 20, 400)
    model = C45Classifier(pruning=None).fit(X, y, weight)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    model.save(tmp_path / "model.json")
    assert C45Classifier.load(tmp_path / "model.json").tree_ == model.tree_


@pytest.mark.parametrize("total", [1e-32, 1e32])
def test_c45_refuses_weights_that_single_precision_cannot_add(total):
    with pytest.raises(ValueError, match=r"the weights sum to .*: scale them"):
        C45Classifier().fit([[1.0], [2.0]], [0, 1], sample_weight=[total, total])


def test_c45_scores_a_class_that_the_fit_did_not_know_as_wrong():
    X = pd.DataFrame({"color": ["a"] * 6 + ["b"] * 5})
    model = C45Classifier().fit(X, ["no"] * 6 + ["yes"] * 5)
    assert model.score(pd.DataFrame({"color": ["a", "b"]}), ["no", "perhaps"]) == 0.5


def test_c45_takes_an_unknown_category_as_missing_or_refuses_it():
    X = pd.DataFrame({"color": ["a"] * 6 + ["b"] * 6})
    model = C45Classifier().fit(X, [0] * 6 + [1] * 6)
    assert model.predict_proba(pd.DataFrame({"color": ["c"]}))[0] == pytest.approx([0.5, 0.5])
    with pytest.raises(ValueError, match="'c'"):
        model.set_params(unseen="error").predict(pd.DataFrame({"color": ["c"]}))


@pytest.mark.parametrize("weight", [[1.0, -1.0, 1.0, 1.0], [0.0] * 4, [math.nan, 1, 1, 1], [1.0] * 3])
def test_c45_refuses_weights_that_are_none(weight):
    with pytest.raises(ValueError, match="weight"):
        C45Classifier().fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 0, 1], sample_weight=weight)


# CART


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("depth", [1, 3, None])
def test_cart_classifies_as_scikit_learn_where_the_best_split_is_unique(criterion, depth, numbers):
    X, y, _ = numbers
    X = X.astype(np.float32)
    ours = CARTClassifier(criterion=criterion, max_depth=depth).fit(X[:, :1], y)
    theirs = DecisionTreeClassifier(criterion=criterion, max_depth=depth).fit(X[:, :1], y)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert ours.predict_proba(X[:, :1]) == pytest.approx(theirs.predict_proba(X[:, :1]))


@pytest.mark.parametrize("depth", [1, 4])
def test_cart_regresses_as_scikit_learn(depth, numbers):
    X, _, value = numbers
    X = X.astype(np.float32)
    ours = CARTRegressor(max_depth=depth).fit(X, value)
    theirs = DecisionTreeRegressor(max_depth=depth).fit(X, value)
    assert ours.predict(X) == pytest.approx(theirs.predict(X))
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_)


def test_cart_splits_an_impure_node_that_gains_nothing_yet():
    X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    assert CARTClassifier().fit(X, [0, 1, 1, 0]).score(X, [0, 1, 1, 0]) == 1.0


def test_cart_groups_categories_or_sets_one_against_the_rest():
    X = [["a"], ["b"], ["c"], ["d"]] * 3
    y = [0, 1, 0, 1] * 3
    assert CARTClassifier(max_depth=1).fit(X, y).score(X, y) == 1.0
    assert CARTClassifier(max_depth=1, nominal="one_vs_rest").fit(X, y).score(X, y) == 0.75


def test_cart_learns_where_missing_values_go():
    X = np.array([[0.0], [0.1], [1.0], [1.1], [np.nan], [np.nan]])
    for last in (0, 1):
        y = [0, 0, 1, 1, last, last]
        assert CARTClassifier().fit(X, y).predict(X).tolist() == y
        assert CARTRegressor().fit(X, y).predict(X).tolist() == y


@pytest.mark.parametrize("estimator", [CARTClassifier, CARTRegressor])
def test_cart_refuses_missing_values_on_request(estimator):
    known, unknown = np.array([[0.0], [1.0]]), np.array([[0.0], [np.nan]])
    with pytest.raises(ValueError, match=r"'x0'.*NaN|NaN.*'x0'"):
        estimator(missing="error").fit(unknown, [0, 1])
    model = estimator(missing="error").fit(known, [0, 1])
    with pytest.raises(ValueError, match=r"'x0'.*NaN|NaN.*'x0'"):
        model.predict(unknown)


def test_an_unseen_category_follows_the_missing_values():
    X = [["a"], ["b"], ["b"], [None], [None]]
    model = CARTClassifier().fit(X, [0, 1, 1, 1, 1])
    assert model.predict([["z"], [None]]).tolist() == [1, 1]


# Tables


def containers(table):
    yield "polars", pl.from_pandas(table)
    yield "polars enum", pl.from_pandas(table).with_columns(pl.col("size").cast(pl.Enum(["small", "medium", "large"])))
    yield "arrow", pa.Table.from_pandas(table, preserve_index=False)
    yield "nullable pandas", table.astype({"length": "Float64", "flag": "boolean", "color": "string"})


@pytest.mark.parametrize("estimator", [C45Classifier, CARTClassifier])
def test_the_same_rows_give_the_same_tree_in_every_data_frame(estimator, mixed):
    table, y = mixed
    order = {"size": ["small", "medium", "large"]}
    reference = estimator(ordinal_features=order).fit(table, y)
    for name, container in containers(table):
        model = estimator(ordinal_features=order).fit(container, y)
        assert model.tree_ == reference.tree_, name
        assert (model.predict_proba(container) == reference.predict_proba(table)).all(), name
        assert model.feature_names_in_.tolist() == list(table.columns), name


@pytest.mark.parametrize("estimator", [C45Classifier, CARTClassifier])
def test_object_arrays_and_lists_give_the_tree_of_the_data_frame(estimator, mixed):
    table, y = mixed
    order = ["small", "medium", "large"]
    reference = estimator(ordinal_features={"size": order}).fit(table, y)
    cells = table.astype(object).to_numpy()
    for container in (cells, cells.tolist()):
        model = estimator(ordinal_features={0: order}).fit(container, y)
        assert model.tree_ == reference.tree_
        assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("estimator", TAKES_FLOATS)
def test_memory_order_and_lists_change_nothing(estimator, numbers):
    X, y, _ = numbers
    reference = estimator().fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcd"))
    for other in (np.asfortranarray(X), X.tolist(), X[::1], np.repeat(X, 2, axis=1)[:, ::2], frame, pl.from_pandas(frame)):
        model = estimator().fit(other, y)
        assert model.tree_ == reference.tree_
        assert (model.predict(other) == reference.predict(X)).all()


@pytest.mark.parametrize("estimator", TAKES_FLOATS)
def test_the_input_is_never_modified(estimator, numbers):
    X, y, _ = (array.copy() for array in numbers)
    weight = np.ones(len(y))
    weight[::5] = 0
    before = X.copy(), y.copy(), weight.copy()
    for array in (X, y, weight):
        array.flags.writeable = False
    model = estimator().fit(X, y, sample_weight=weight)
    model.predict(X)
    model.apply(X)
    assert all((a == b).all() for a, b in zip(before, (X, y, weight), strict=True))


@pytest.mark.parametrize("estimator", TAKES_FLOATS)
def test_column_names_must_be_those_of_fit(estimator, numbers):
    X, y, _ = numbers
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = estimator().fit(frame, y)
    with pytest.raises(ValueError, match="The feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[list("dcba")])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    refitted = model.fit(X, y)
    assert not hasattr(refitted, "feature_names_in_")


@pytest.mark.parametrize("estimator", TAKES_FLOATS)
def test_a_wrong_number_of_features_is_an_error(estimator, numbers):
    X, y, _ = numbers
    model = estimator().fit(X, y)
    with pytest.raises(ValueError, match=f"X has 3 features, but {estimator.__name__} is expecting 4 features as input"):
        model.predict(X[:, :3])


@pytest.mark.parametrize("method", ["predict", "apply", "decision_path", "get_depth", "get_n_leaves", "export_text"])
def test_an_unfitted_estimator_says_so(method, numbers):
    arguments = [numbers[0]] if method in ("predict", "apply", "decision_path") else []
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(CARTClassifier(), method)(*arguments)


# Targets


def test_declared_categories_are_the_classes_in_their_order():
    y = pd.Series(["high", "low", "high", "low"]).astype(pd.CategoricalDtype(["low", "medium", "high"]))
    model = CARTClassifier().fit([[0.0], [1.0], [0.0], [1.0]], y)
    assert model.classes_.tolist() == ["low", "medium", "high"]
    assert model.n_classes_ == 3
    assert model.predict_proba([[0.0]]).tolist() == [[0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    "y", [np.array([1, -1], np.int8), np.array(["no", "yes"]), np.array([False, True]), np.array(["no", "yes"], dtype=object)]
)
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_predictions_have_the_type_of_the_classes(estimator, y):
    model = estimator().fit([[1], [2]] * 4, np.tile(y, 4))
    predicted = model.predict([[1], [2]])
    assert predicted.tolist() == y.tolist()
    assert predicted.dtype == model.classes_.dtype


def test_of_equally_probable_classes_the_first_is_predicted():
    assert CARTClassifier().fit([[0], [0]], ["b", "a"]).predict([[0]]).tolist() == ["a"]
    y = pd.Series(["b", "a"]).astype(pd.CategoricalDtype(["b", "a"]))
    assert CARTClassifier().fit([[0], [0]], y).predict([[0]]).tolist() == ["b"]


class Shifted(CARTClassifier):
    """A model of somebody else, whose constructor takes what the library does not know."""

    def __init__(self, shift):
        super().__init__()
        self.shift = shift


def test_a_subclass_may_have_a_constructor_of_its_own(numbers):
    X, y, _ = numbers
    assert Shifted(1).fit(X, y).tree_ == CARTClassifier().fit(X, y).tree_


def test_parameters_are_checked_in_each_fit_whatever_the_fits_before_had(numbers):
    X, y, _ = numbers
    model = CARTClassifier().fit(X, y)
    with pytest.raises(ValueError, match="max_surrogates=3 is for surrogates"):
        model.set_params(max_surrogates=3).fit(X, y)
    with pytest.raises(ValueError, match="max_depth=0"):
        model.set_params(max_surrogates=5, max_depth=0).fit(X, y)
    assert model.set_params(max_depth=None).fit(X, y).tree_ == CARTClassifier().fit(X, y).tree_


@pytest.mark.parametrize("estimator", ALL)
def test_a_single_class_or_value_gives_a_single_leaf(estimator):
    model = estimator().fit([[1], [2], [3]], [5, 5, 5])
    assert model.predict([[7]]).tolist() == [5]
    assert (model.get_depth(), model.get_n_leaves()) == (0, 1)
    assert model.feature_importances_.tolist() == [0.0]


def test_log_probabilities_are_logarithms_of_the_probabilities(numbers):
    X, y, _ = numbers
    model = CARTClassifier(max_depth=2, min_samples_leaf=5).fit(X, y)
    assert np.exp(model.predict_log_proba(X)) == pytest.approx(model.predict_proba(X))
    assert (CARTClassifier().fit(X, y).predict_log_proba(X[:1]) == -np.inf).sum() == 1


@pytest.mark.parametrize("y", [[0, 1, np.nan], [0.5, 1.5, 2.5], [0, 1], None])
def test_a_target_that_is_no_list_of_classes_is_an_error(y):
    with pytest.raises(ValueError, match=r"\by\b|target|label"):
        CARTClassifier().fit([[0.0], [1.0], [2.0]], y)


@pytest.mark.parametrize("y", [[0, 1, np.inf], ["a", "b", "c"], [0, 1], None])
def test_a_target_that_is_no_list_of_numbers_is_an_error(y):
    with pytest.raises(ValueError, match=r"\by\b|target"):
        CARTRegressor().fit([[0.0], [1.0], [2.0]], y)


def test_targets_beyond_what_can_be_squared_are_an_error():
    with pytest.raises(ValueError, match=r"y holds values of size 1e\+200"):
        CARTRegressor().fit([[0.0], [1.0]], [-1e200, 0.0])


def test_more_classes_than_the_engine_counts_are_an_error():
    classes = np.arange(2**16 + 1)
    with pytest.raises(ValueError, match=r"65537 classes.*CARTRegressor"):
        CARTClassifier().fit(classes[:, None].astype(float), classes)


# Weights


@pytest.mark.parametrize("estimator", TAKES_FLOATS)
def test_weights_count_rows(estimator, numbers):
    X, y, _ = numbers
    weight = np.arange(len(y)) % 3
    weighted = estimator().fit(X, y, sample_weight=weight)
    repeated = estimator().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    weighted.tree_.check()
    for name in ("feature", "threshold", "first_child", "weight", "value"):
        assert np.array_equal(getattr(weighted.tree_, name), getattr(repeated.tree_, name), equal_nan=True)


def test_class_weight_is_sample_weight_by_class(numbers):
    X, y, _ = numbers
    by_class = CARTClassifier(class_weight={0: 3.0}).fit(X, y)
    by_sample = CARTClassifier().fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    assert by_class.tree_ == by_sample.tree_
    both = CARTClassifier(class_weight={0: 3.0}).fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert both.tree_.weight == pytest.approx(2 * by_sample.tree_.weight)


def test_balanced_classes_weigh_the_same(numbers):
    X, y, _ = numbers
    keep = (y == 0) | (np.arange(len(y)) % 4 == 0)
    model = CARTClassifier(class_weight="balanced").fit(X[keep], y[keep])
    assert model.tree_.value[0] == pytest.approx([keep.sum() / 2] * 2)


@pytest.mark.parametrize(
    "model",
    [
        CARTClassifier(class_weight="balanced"),
        RandomForestClassifier(n_estimators=3, class_weight="balanced", random_state=0),
        RandomForestClassifier(n_estimators=3, class_weight="balanced_subsample", random_state=0),
        GAMClassifier(class_weight="balanced", n_bags=2, random_state=0),
    ],
    ids=lambda model: f"{type(model).__name__} {model.class_weight}",
)
def test_samples_without_weight_do_not_count_in_the_balance(numbers, model):
    X, y, _ = numbers
    weight = np.where(y == 0, np.arange(len(y)) % 5 == 0, np.arange(len(y)) % 3 + 1.0)
    kept = weight > 0
    shares = clone(model).fit(X[kept], y[kept], weight[kept]).predict_proba(X)
    assert model.fit(X, y, weight).predict_proba(X) == pytest.approx(shares, abs=1e-12)


def test_the_balance_counts_samples_whatever_they_weigh():
    X, y, weight = np.arange(6.0)[:, None], list("aaaabb"), [1, 0, 0, 2, 1, 1]
    assert CARTClassifier(class_weight="balanced").fit(X, y, weight).tree_.value[0].tolist() == [3, 2]
    several = CARTClassifier(class_weight="balanced").fit(X, [[label, 0] for label in y], weight)
    assert several.tree_.value[0].tolist() == [3, 2, 5]


def test_a_fold_may_lack_a_weighted_class_but_a_wrong_name_is_an_error():
    X, y = [[0], [1]], ["a", "b"]
    CARTClassifier(class_weight={"a": 1, "b": 2, "rare": 9}).fit(X, y)
    with pytest.raises(ValueError, match=r"\['B'\].*\['a', 'b'\]"):
        CARTClassifier(class_weight={"a": 1, "B": 2}).fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight\['a'\]=-1"):
        CARTClassifier(class_weight={"a": -1}).fit(X, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], r"shape \(1,\).*\(2,\)"),
        ([1.0, -2.0], r"sample_weight\[1\] is -2.0"),
        ([np.nan, 1.0], r"sample_weight\[0\] is nan"),
        ([1.0, np.inf], r"sample_weight\[1\] is inf"),
        ([0.0, 0.0], "all weights are zero"),
        (["a", "b"], "sample_weight must hold numbers.*'a'"),
        ([1 + 1j, 1.0], "sample_weight must hold numbers"),
        (1.0, r"shape \(\).*\(2,\)"),
        ([1e300, 1e300], r"sum to 2e\+300.*1e\+30"),
        ([1e-300, 1e-300], r"sum to 2e-300.*1e-30"),
    ],
)
@pytest.mark.parametrize("estimator", ALL)
def test_bad_weights_are_named(estimator, weight, message):
    with pytest.raises(ValueError, match=message):
        estimator().fit([[0], [1]], [0, 1], sample_weight=weight)


# Parameters


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_depth", 0),
        ("max_depth", 2.0),
        ("max_depth", True),
        ("min_samples_split", 1),
        ("min_samples_split", 1.5),
        ("min_samples_leaf", 0),
        ("min_samples_leaf", 1.0),
        ("min_weight_fraction_leaf", 0.6),
        ("min_impurity_decrease", -1.0),
        ("min_impurity", np.nan),
        ("max_features", "log10"),
        ("max_features", 0),
        ("unseen", "ignore"),
        ("random_state", -1),
        ("criterion", "mse"),
        ("nominal", "declared"),
        ("missing", "mean"),
        ("max_surrogates", -1),
        ("surrogate_agreement", "most"),
        ("no_surrogate", "shares"),
        ("midpoint", "above"),
        ("class_weight", "equal"),
        ("epsilon", -0.1),
        ("min_samples_branch", 0),
    ],
)
def test_a_parameter_out_of_range_is_named_with_its_value(name, value):
    takers = [estimator for estimator in ALL if name in estimator().get_params()]
    assert takers
    for estimator in takers:
        with pytest.raises(ValueError, match=re.escape(f"{name}={value!r}: must be ")):
            estimator(**{name: value}).fit(ROWS, np.arange(14) % 2)


def test_max_features_cannot_exceed_the_features(numbers):
    X, y, _ = numbers
    with pytest.raises(ValueError, match=r"max_features=5.*4"):
        CARTClassifier(max_features=5).fit(X, y)


@pytest.mark.parametrize("estimator", TAKES_FLOATS)
def test_growth_stops_where_it_is_told(estimator, numbers):
    X, y, _ = numbers
    n = len(y)
    full = estimator().fit(X, y)

    def fit(**parameters):
        tree = estimator(**parameters).fit(X, y).tree_
        tree.check()
        assert tree.n_leaves < full.tree_.n_leaves
        return tree

    assert 1 <= fit(max_depth=2).max_depth <= 2
    tree = fit(min_samples_split=40)
    assert tree.n_samples[tree.n_branches > 0].min() >= 40
    tree = fit(min_samples_leaf=15)
    assert tree.n_samples[tree.n_branches == 0].min() >= 15
    tree = fit(min_weight_fraction_leaf=0.1)
    assert tree.weight[tree.n_branches == 0].min() >= 0.1 * n
    limit = float(np.median(full.tree_.impurity[full.tree_.n_branches > 0]))
    tree = fit(min_impurity=limit)
    assert tree.impurity[tree.n_branches > 0].min() >= limit
    assert fit(min_impurity_decrease=0.03).n_leaves > 1
    assert fit(min_samples_leaf=15 / n) == fit(min_samples_leaf=15)
    assert fit(min_samples_split=40 / n) == fit(min_samples_split=40)


@pytest.mark.parametrize(("asked", "drawn"), [(None, 4), (2, 2), (0.5, 2), ("sqrt", 2), ("log2", 2), (0.01, 1), (1.0, 4)])
def test_max_features_counts_or_shares_the_features(asked, drawn, numbers):
    X, y, _ = numbers
    assert CARTClassifier(max_features=asked, random_state=0).fit(X, y).max_features_ == drawn


def test_draws_of_features_follow_the_random_state(numbers):
    X, y, _ = numbers
    trees = [CARTClassifier(max_features=1, random_state=seed).fit(X, y).tree_ for seed in (0, 0, 1, 2)]
    assert trees[0] == trees[1]
    assert len({tree.node_count for tree in trees}) > 1
    generator = np.random.RandomState(0)
    successive = [CARTClassifier(max_features=1, random_state=generator).fit(X, y).tree_ for _ in range(2)]
    assert successive[0] != successive[1]
    assert CARTClassifier(random_state=0).fit(X, y).tree_ == CARTClassifier(random_state=1).fit(X, y).tree_


# Reading the tree


@pytest.mark.parametrize("estimator", TAKES_FLOATS)
def test_apply_and_decision_path_end_in_the_same_leaf(estimator, numbers):
    X, y, _ = numbers
    model = estimator().fit(X, y)
    leaf, path = model.apply(X), model.decision_path(X)
    assert (model.tree_.n_branches[leaf] == 0).all()
    assert path.shape == (len(X), model.tree_.node_count)
    assert (path.toarray()[:, 0] != 0).all()
    assert (path.toarray()[np.arange(len(X)), leaf] != 0).all()
    assert (np.diff(path.indptr) == model.tree_.depth()[leaf] + 1).all()


def test_predictions_are_the_leaf_values(numbers):
    X, y, value = numbers
    model = CARTClassifier(max_depth=3).fit(X, y)
    weight = model.tree_.value[model.apply(X)]
    assert model.predict_proba(X) == pytest.approx(weight / weight.sum(axis=1, keepdims=True))
    assert (model.predict(X) == model.classes_[model.predict_proba(X).argmax(axis=1)]).all()
    regressor = CARTRegressor(max_depth=3).fit(X, value)
    assert (regressor.predict(X) == regressor.tree_.value[regressor.apply(X), 0]).all()


@pytest.mark.parametrize("estimator", ALL)
def test_importances_are_shares_and_a_constant_column_has_none(estimator):
    X = [[1, 7, 1], [2, 7, 1], [1, 7, 2], [2, 7, 2], [3, 7, 1], [3, 7, 3]] * 3
    importances = estimator().fit(X, [0, 1, 0, 1, 1, 0] * 3).feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances[1] == 0
    assert (importances >= 0).all()


@pytest.mark.parametrize("no_surrogate", ["stop", "more_samples"])
def test_samples_that_stop_at_a_node_are_no_decrease_of_impurity(no_surrogate):
    known = [[1.0, 1.0], [1.0, 5.0], [3.0, 1.0], [3.0, 5.0]] * 5
    lost = [[np.nan, np.nan]] * 30
    y = [0, 1, 2, 2] * 5 + [0, 1] * 15
    model = CARTClassifier(missing="surrogate", no_surrogate=no_surrogate, max_surrogates=0).fit(known + lost, y)
    gains = model.surrogate_importances()  # of the samples whose value is known
    assert (gains > 0).all()
    assert model.feature_importances_ == pytest.approx(gains / gains.sum())


def test_the_text_names_columns_and_classes():
    text = ID3Classifier().fit(pd.DataFrame(ROWS, columns=NAMES), PLAY).export_text()
    for word in ("outlook", "overcast", "humidity", "windy", "P", "N"):
        assert word in text


# Keeping the tree


@pytest.mark.parametrize("estimator", ALL)
def test_a_pickle_predicts_the_same(estimator):
    X, y = [[1], [2], [3]] * 3, [0, 1, 1] * 3
    model = estimator(max_depth=2).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.tree_ == model.tree_
    assert (copy.predict(X) == model.predict(X)).all()
    assert copy.get_params() == model.get_params()


@pytest.mark.parametrize("estimator", [C45Classifier, CARTClassifier])
def test_a_saved_classifier_predicts_bit_for_bit_the_same(estimator, mixed, tmp_path):
    table, y = mixed
    model = estimator(max_depth=6, class_weight={"yes": 1.5, "no": 1.0, "maybe": 2.0}, unseen="error").fit(table, y)
    model.save(tmp_path / "model.json")
    loaded = fasttree.load(tmp_path / "model.json")
    assert type(loaded) is estimator
    assert loaded.get_params() == model.get_params()
    assert loaded.tree_ == model.tree_
    assert loaded.schema_ == model.schema_
    assert loaded.predict_proba(table).tobytes() == model.predict_proba(table).tobytes()
    assert loaded.predict(table).tolist() == model.predict(table).tolist()
    assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert (loaded.n_features_in_, loaded.n_classes_, loaded.max_features_) == (4, 3, 4)
    assert loaded.export_text() == model.export_text()


def test_a_saved_regressor_predicts_bit_for_bit_the_same(numbers, tmp_path):
    X, _, value = numbers
    model = CARTRegressor(min_samples_leaf=0.02, max_features=2, random_state=5).fit(X, value)
    path = str(tmp_path / "model.json")
    model.save(path)
    loaded = CARTRegressor.load(path)
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()
    assert loaded.get_params() == model.get_params()
    assert loaded.max_features_ == 2
    assert not hasattr(loaded, "feature_names_in_")
    assert loaded.fit(X, value).tree_ == model.tree_


def test_a_saved_id3_tree_keeps_its_order_of_categories(tmp_path):
    X = [[1, 0], [2, 1], [3, 0]] * 2
    model = ID3Classifier(ordinal_features={0: [3, 1, 2]}, categorical_features=np.array([1])).fit(X, [True, False, True] * 2)
    model.save(tmp_path / "model.json")
    loaded = fasttree.load(tmp_path / "model.json")
    assert loaded.ordinal_features == {0: [3, 1, 2]}
    assert loaded.schema_ == model.schema_
    assert loaded.predict(X).tolist() == [True, False, True] * 2
    assert loaded.fit(X, [True, False, True] * 2).tree_ == model.tree_


def test_load_of_another_algorithm_names_both(tmp_path):
    CARTRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).save(tmp_path / "model.json")
    with pytest.raises(ValueError, match=r"CARTRegressor.*C45Classifier|C45Classifier.*CARTRegressor"):
        C45Classifier.load(tmp_path / "model.json")


def test_a_file_that_holds_no_tree_is_named(tmp_path):
    path = tmp_path / "notes.json"
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"notes\.json"):
        fasttree.load(path)


@pytest.mark.parametrize(("values", "dtype"), [([1e300, 2e300, 3e300, 4e300], float), ([1.0, 3e38, 3.1e38, 3.2e38], np.float32)])
def test_c45_splits_values_beyond_single_precision(values, dtype):
    X, y = np.repeat(np.array(values, dtype=dtype), 3)[:, None], np.repeat([0, 0, 1, 1], 3)
    for model in (C45Classifier(), fasttree.C45Rules()):
        assert model.fit(X, y).predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("n_samples", [4, 40_000])
@pytest.mark.parametrize("estimator", [CARTClassifier, CARTRegressor])
def test_a_sample_too_light_for_double_precision_does_not_hide_the_other_splits(estimator, n_samples):
    X = np.arange(n_samples, dtype=float)[:, None]
    y = np.where(X[:, 0] < n_samples // 2, 0, 1)
    weight = np.ones(n_samples)
    weight[-1] = 1e-17 * n_samples
    assert estimator().fit(X, y, sample_weight=weight).tree_.threshold[0] == n_samples // 2 - 0.5


@pytest.mark.parametrize("estimator", [CARTClassifier, CARTRegressor])
def test_splits_that_tie_do_so_on_whichever_side_a_light_sample_is(estimator):
    random = np.random.RandomState(0)
    for _ in range(50):
        X = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
        weight = random.uniform(1, 2, 3) * [1, 1, 10.0 ** random.uniform(-12, -6)]
        y = [0, 1, 1] if estimator is CARTClassifier else random.normal(size=3)
        for table in (X, X[:, ::-1]):
            assert estimator(max_depth=1).fit(table, y, sample_weight=weight).tree_.feature[0] == 0


@pytest.mark.parametrize("estimator", [*ALL, TreeClassifier, TreeRegressor, C45Rules])
def test_every_default_is_allowed_by_the_rule_of_its_parameter(estimator):
    defaults = defaults_of(estimator)
    assert [name for name, rule in rules_of(estimator).items() if not rule.is_allowed(defaults[name])] == []


def test_c45_splits_between_values_beyond_single_precision():
    model = C45Classifier(min_samples_branch=1, pruning=None).fit([[-1e300], [-1e300], [1e300], [1e300]], [0, 0, 1, 1])
    assert model.tree_.threshold[0] == -1e300
    assert model.predict([[-1e300], [1e300]]).tolist() == [0, 1]
