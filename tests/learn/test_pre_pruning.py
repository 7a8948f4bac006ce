"""What stops growth besides sizes: too little gain, and classes that may well be independent of a split's branches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from sklearn.datasets import load_breast_cancer, load_diabetes
from strategies import FEW_EACH, limits, tables
from test_engine_twin import CLASSIFIERS, COMPLETE, REGRESSORS, RELEASE8, assert_same_tree, kinds_for

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import C45_TEXTBOOK

P_VALUES = [0.0123457, 0.0765433, 0.2345679, 0.7654321]  # that no small table hits
MIN_GAINS = [0.0123457, 0.0765433, 0.2345679]


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("name", [*CLASSIFIERS, *RELEASE8, *COMPLETE])
@FEW_EACH
@given(data=st.data(), max_p_value=st.sampled_from(P_VALUES), bounds=limits(min_gain=1e-12, min_branch_weight=True))
def test_growth_stops_where_the_classes_may_be_independent(name, data, max_p_value, bounds):
    recipe = {**CLASSIFIERS, **RELEASE8, **COMPLETE}[name]
    table = data.draw(tables(missing=name not in COMPLETE, kinds=kinds_for(recipe)))
    bounds = bounds._replace(split_p_value=max_p_value)
    assert_same_tree(table, recipe, bounds)


@pytest.mark.parametrize("name", [*CLASSIFIERS, *RELEASE8, *REGRESSORS])
@FEW_EACH
@given(data=st.data(), min_gain=st.sampled_from(MIN_GAINS))
def test_growth_stops_where_the_gain_is_small(name, data, min_gain):
    recipe = {**CLASSIFIERS, **RELEASE8, **REGRESSORS}[name]
    table = data.draw(tables(task="regression" if name in REGRESSORS else "classification", kinds=kinds_for(recipe)))
    assert_same_tree(table, recipe, Limits(min_gain=min_gain))


@given(table=tables(), min_gain=st.sampled_from(MIN_GAINS), min_ratio=st.sampled_from([-np.inf, 0.1, 0.4]))
def test_gain_and_plain_gain_ratio_have_a_limit_each(table, min_gain, min_ratio):
    assert_same_tree(table, C45_TEXTBOOK, Limits(min_gain=min_gain, min_ratio=min_ratio))


@pytest.mark.parametrize("model", [CARTClassifier(), C45Classifier(pruning=None), ID3Classifier(epsilon=0)])
def test_every_split_that_stays_is_significant_and_its_parents_are(model):
    rng = np.random.default_rng(5)
    X = pd.DataFrame({name: rng.choice(list("abc"), 300) for name in "uvwxyz"})
    y = ((X["u"] == "a") | ((X["u"] == "b") & (X["v"] == "b"))) ^ (rng.random(300) < 0.1)
    whole = model.fit(X, y).tree_
    tree = model.set_params(split_p_value=0.01).fit(X, y).tree_
    tree.check()
    assert 1 < tree.n_leaves < whole.n_leaves
    assert tree == model.tree_unpruned_
    for node in np.flatnonzero(tree.n_branches):
        children = tree.first_child[node] + np.arange(tree.n_branches[node])
        counts = tree.value[children[tree.weight[children] > 0]]
        assert chi2_contingency(counts[:, counts.any(axis=0)], correction=False).pvalue <= 0.01


def test_a_limit_of_one_stops_nothing(cancer):
    assert CARTClassifier(split_p_value=1).fit(*cancer).tree_ == CARTClassifier().fit(*cancer).tree_


@pytest.mark.parametrize(
    ("model", "data"), [(CARTClassifier(), load_breast_cancer), (C45Classifier(pruning=None), load_breast_cancer)]
)
def test_the_least_gain_is_per_unit_weight_of_the_node(model, data):
    X, y = data(return_X_y=True)
    model.set_params(min_gain=0.02).fit(X, y)
    gains = model.tree_.gain[model.tree_.n_branches > 0]
    assert gains.size > 1
    assert gains.min() > 0.02


@pytest.mark.parametrize("column", [list("u" * 10 + "v" * 10), [0.0] * 10 + [1.0] * 10])
def test_the_least_decrease_of_impurity_holds_for_every_form_of_c45s_splits(column):
    """The second half is of one class, so 0.881 bits become 0.485."""
    X, y = pd.DataFrame({"x": column}), [0] * 6 + [1] * 14
    model = C45Classifier(pruning=None)
    assert model.set_params(min_impurity_decrease=0.39).fit(X, y).get_n_leaves() == 2
    assert model.set_params(min_impurity_decrease=0.4).fit(X, y).get_n_leaves() == 1


@pytest.mark.parametrize("limit", [{"min_samples_leaf": 3}, {"min_weight_fraction_leaf": 0.1}])
def test_every_group_of_categories_that_c45_merges_holds_what_a_leaf_must(limit):
    """Each category has a class of its own; there are six samples of the last one, and then two."""
    X, y = pd.DataFrame({"x": list("u" * 12 + "v" * 12 + "w" * 6)}), pd.Series(["p"] * 12 + ["q"] * 12 + ["r"] * 6)
    model = C45Classifier(subset=True, pruning=None, **limit)
    assert model.fit(X, y).get_n_leaves() == 3
    assert model.fit(X[:26], y[:26]).get_n_leaves() == 1


def test_the_least_gain_in_regression_is_a_squared_error():
    X, y = load_diabetes(return_X_y=True)
    tree = CARTRegressor(min_gain=500.0).fit(X, y).tree_
    assert tree.n_leaves > 2
    assert tree.gain[tree.n_branches > 0].min() > 500.0


@pytest.mark.parametrize("model", [CARTClassifier(), CARTRegressor(), C45Classifier(pruning=None, min_samples_branch=1)])
def test_a_least_gain_of_zero_is_more_than_rounding(model):
    # neither column alone says anything of the exclusive or
    X = [[a, b] for a in "01" for b in "01" for _ in range(7)]
    y = [float(a != b) + 0.1 if isinstance(model, CARTRegressor) else int(a != b) for a, b in X]
    assert model.set_params(min_gain=0.0).fit(X, y).get_n_leaves() == 1


def test_stopped_nodes_do_not_compete_for_leaves(cancer):
    stopped = CARTClassifier(split_p_value=1e-6).fit(*cancer).get_n_leaves()
    assert CARTClassifier(split_p_value=1e-6, max_leaf_nodes=stopped).fit(*cancer).get_n_leaves() == stopped
    assert CARTClassifier(max_leaf_nodes=stopped).fit(*cancer).get_n_leaves() == stopped


def test_textbook_c45_wants_a_gain_and_a_gain_ratio(cancer):
    model = C45Classifier(variant="textbook", pruning=None, min_gain=0.1)
    by_gain, by_both = model.fit(*cancer).tree_, model.set_params(epsilon=0.6).fit(*cancer).tree_
    assert by_gain.gain[by_gain.n_branches > 0].min() > 0.1
    assert 1 < by_both.n_leaves < by_gain.n_leaves


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_gain": -0.1}, r"min_gain=-0.1: must be a finite number >= 0, or None"),
        ({"min_gain": "small"}, r"min_gain='small': must be"),
        ({"split_p_value": 0.0}, r"split_p_value=0.0: must be a number in \(0, 1\], such as 0.05, or None"),
        ({"split_p_value": 5}, r"split_p_value=5: must be"),
    ],
)
def test_a_limit_that_is_none_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        CARTClassifier(**parameters).fit([[1.0], [2.0]], [0, 1])


def test_regression_has_no_test_of_independence():
    assert "split_p_value" not in CARTRegressor().get_params()
