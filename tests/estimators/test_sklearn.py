"""scikit-learn's own checks, and our estimators inside its machinery."""

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn_checks import every_check

from fasttree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    CubistRegressor,
    GAMClassifier,
    GAMRegressor,
    ID3Classifier,
    M5Regressor,
    Recipe,
    TreeClassifier,
    TreeRegressor,
)
from fasttree._learn.parameters import anything, parameter, parameters
from fasttree.estimators.common.registry import ESTIMATORS
from fasttree.pruning import CostComplexity

REFUSED_BY_ID3 = dict.fromkeys(
    [
        "check_class_weight_classifiers",
        "check_classifiers_one_label_sample_weights",
        "check_estimators_dtypes",
        "check_estimators_nan_inf",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
        "check_sample_weights_not_overwritten",
    ],
    "fits a table of floats, which ID3 by definition refuses, although the tags call for categories",
)


# Random folds differ if rows are repeated or left out, so these checks give folds to a parameter `cv`: see `FoldsByCv`.
NEED_CV = dict.fromkeys(
    [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")], "the folds are in the value of pruning"
)


FEW_TREES = {"n_estimators": 8, "random_state": 0}
FEW_ROUNDS = {"n_bags": 2, "max_iter": 200, "random_state": 0}
BY_POSITION = dict.fromkeys(
    [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
    "a bag draws rows by position, so that other rows are drawn where rows are repeated",
)


HELD_OUT_BY_ROWS = dict.fromkeys(BY_POSITION, "a bag holds rows out: a row of weight 2 as one, and a repeated row as two")
COUNTS_SAMPLES = dict.fromkeys(BY_POSITION, "M5 counts samples, not weights, in branches and estimated errors")


def what_cannot_pass(estimator):
    if isinstance(estimator, (CubistRegressor, M5Regressor)):
        return COUNTS_SAMPLES
    if getattr(estimator, "bootstrap", False):
        return BY_POSITION
    if isinstance(estimator, GAMClassifier | GAMRegressor):
        return HELD_OUT_BY_ROWS
    folds = getattr(estimator, "ccp_alpha", 0) == "cv" or isinstance(getattr(estimator, "pruning", None), CostComplexity)
    if folds and "cv" not in estimator.get_params():
        return NEED_CV
    return REFUSED_BY_ID3 if isinstance(estimator, ID3Classifier) else {}


class FoldsByCv:
    """An estimator with a parameter `cv`, the folds of its pruning, as scikit-learn's checks of weights and folds set it."""

    def _method_of(self, pruning):
        return super()._method_of(CostComplexity(alpha="cv", cv=self.cv))


@parameters
class ClassifierByCv(FoldsByCv, CARTClassifier):
    cv: Any = parameter(10, anything("folds"))


@parameters
class RegressorByCv(FoldsByCv, CARTRegressor):
    cv: Any = parameter(10, anything("folds"))


@every_check(
    [
        *(
            entry.load()(**FEW_TREES if entry.makes_forest else FEW_ROUNDS if entry.is_additive else {})
            for entry in ESTIMATORS
            if not entry.makes_rules
        ),
        C45Classifier(criterion="gain"),
        CARTClassifier(missing="error"),
        CARTClassifier(ccp_alpha=0.02),
        CARTClassifier(pruning="pessimistic"),
        CARTRegressor(ccp_alpha=0.02),
        CARTClassifier(ccp_alpha="cv"),
        CARTRegressor(ccp_alpha="cv"),
        CARTClassifier(pruning=CostComplexity(alpha="cv", cv=3)),
        CARTRegressor(pruning=CostComplexity(alpha="cv", cv=3)),
        ClassifierByCv(),
        RegressorByCv(),
        TreeClassifier(recipe="c45"),
        TreeClassifier(recipe="c45_textbook"),
        TreeClassifier(recipe=Recipe(impurity="entropy", nominal="present", missing="fractional")),
        TreeRegressor(recipe={"nominal": "one_vs_rest"}),
    ],
    expected_failed_checks=what_cannot_pass,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 3))
    return X, (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)


@pytest.fixture(scope="module")
def values():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 3))
    return X, np.where(X[:, 0] > 0, 3.0, X[:, 1])


def test_tags_say_what_the_estimators_take():
    for estimator in (C45Classifier(), CARTClassifier(), CARTRegressor()):
        tags = get_tags(estimator).input_tags
        assert tags.allow_nan
        assert tags.categorical
        assert tags.sparse
    assert not get_tags(CARTClassifier(missing="error")).input_tags.allow_nan
    assert not get_tags(ID3Classifier()).input_tags.allow_nan
    assert is_classifier(C45Classifier())
    assert is_regressor(CARTRegressor())


@pytest.mark.parametrize("model", [C45Classifier(), CARTClassifier()])
def test_cross_validation_finds_the_signal(model, classes):
    assert cross_val_score(model, *classes, cv=3).mean() > 0.8


def test_a_regressor_is_scored_by_r_squared(values):
    assert cross_val_score(CARTRegressor(min_samples_leaf=3), *values, cv=3).mean() > 0.8


def test_grid_search_chooses_a_depth_that_works(classes):
    search = GridSearchCV(CARTClassifier(), {"max_depth": [1, 5], "criterion": ["gini", "entropy"]}, cv=3).fit(*classes)
    assert search.best_params_["max_depth"] == 5
    assert search.best_estimator_.get_depth() <= 5


def test_a_pipeline_gives_the_tree_of_its_last_step(classes):
    X, y = classes
    piped = make_pipeline(StandardScaler(), CARTClassifier()).fit(X, y)
    assert (piped.predict(X) == CARTClassifier().fit(X, y).predict(X)).all()


@pytest.mark.parametrize(("bagging", "model"), [(BaggingClassifier, CARTClassifier()), (BaggingRegressor, CARTRegressor())])
def test_bagging_takes_the_trees(bagging, model, classes):
    X, y = classes
    bag = bagging(model, n_estimators=5, random_state=0).fit(X, y)
    assert bag.score(X, y) > 0.7
    assert len({tree.tree_.node_count for tree in bag.estimators_}) > 1


def test_permutation_importance_reads_the_predictions(values):
    X, y = values
    model = CARTRegressor(max_depth=3).fit(X, y)
    found = permutation_importance(model, X, y, n_repeats=3, random_state=0).importances_mean
    assert found[0] > 0.5
    assert abs(found[2]) < 0.2


def test_sample_weight_is_routed_to_fit(classes):
    X, y = classes
    weight = np.where(y == 1, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        scoring = get_scorer("accuracy").set_score_request(sample_weight=False)
        model = make_pipeline(CARTClassifier().set_fit_request(sample_weight=True))
        found = cross_validate(model, X, y, params={"sample_weight": weight}, scoring=scoring, cv=2, return_estimator=True)
    assert all(set(tree.predict(X)) == {1} for tree in found["estimator"])
    assert set(CARTClassifier().fit(X, y).predict(X)) == {0, 1}


@pytest.mark.parametrize("estimator", [ID3Classifier, C45Classifier, CARTClassifier, CARTRegressor])
def test_a_clone_has_the_parameters_and_no_tree(estimator):
    model = estimator(max_depth=3, categorical_features=[0]).fit([[0], [1], [1]], [0, 1, 1])
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "tree_")
