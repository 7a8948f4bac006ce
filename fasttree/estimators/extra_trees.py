"""`ExtraTreesClassifier` and `ExtraTreesRegressor` (Geurts, Ernst and Wehenkel 2006)."""

from __future__ import annotations

from fasttree._learn.parameters import one_of, parameter, parameters
from fasttree.estimators.cart import CARTChoices
from fasttree.estimators.common.growth_parameters import LeastGain
from fasttree.estimators.forest import MAX_FEATURES, OF_FORESTS
from fasttree.estimators.forests.parameters import BOOTSTRAP, ForestClassChoices
from fasttree.estimators.forests.tasks import ForestOfClassifiers, ForestOfRegressors

_OF_EXTRA_TREES = OF_FORESTS | {
    "nominal": "Has no effect: each category that occurs in a node goes to a random side.",
    "criterion": "Impurity of a node, by which the random cuts of the drawn features compete.",
}


@parameters
class RandomCuts(CARTChoices):
    """Choices of trees with random thresholds."""

    missing: str = parameter(
        "direction",
        one_of("direction", "error"),
        "A missing value goes to the side that gains most, or raises an error.",
    )


@parameters
class ExtraTreesClassifier(ForestOfClassifiers, ForestClassChoices, LeastGain, RandomCuts):
    """Extremely randomized trees for classes: a node draws features and a random threshold for each, and takes the best.

    The threshold is uniform between the least and the largest value in the node.  Trees are grown on all samples by default.

    Notes
    -----
    Splits are searched at random, so that recipes, several targets, real weights, `max_leaf_nodes` and `max_bins` are for
    `RandomForestClassifier`.

    References
    ----------
    Geurts, P., Ernst, D. and Wehenkel, L. (2006). Extremely randomized trees. Machine Learning, 63, 3-42.

    Examples
    --------
    >>> from fasttree import ExtraTreesClassifier
    >>> rows = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", None]] * 5
    >>> forest = ExtraTreesClassifier(n_estimators=50, random_state=0).fit(rows, ["ripe", "unripe", "unripe", "unripe"] * 5)
    >>> forest.predict([["red", 3.0], ["blue", 2.0]])
    array(['ripe', 'unripe'], dtype='<U6')
    """

    criterion: str = parameter("gini", one_of("gini"))
    max_features: float | str | None = parameter("sqrt", MAX_FEATURES)
    bootstrap: bool | str = parameter(False, BOOTSTRAP)

    _attributes = {
        "classes_": ("ndarray of shape (n_classes,)", "Labels of the classes, in the order of the probabilities."),
        "n_classes_": ("int", "Number of labels."),
    }
    _descriptions = _OF_EXTRA_TREES
    _random_cuts = True


@parameters
class ExtraTreesRegressor(ForestOfRegressors, LeastGain, RandomCuts):
    """Extremely randomized trees for numbers: a node draws features and a random threshold for each, and takes the best.

    The threshold is uniform between the least and the largest value in the node.  Trees are grown on all samples by default.

    Notes
    -----
    Splits are searched at random, so that other criteria, several targets, real weights, `max_leaf_nodes` and `max_bins` are for
    `RandomForestRegressor`.

    References
    ----------
    Geurts, P., Ernst, D. and Wehenkel, L. (2006). Extremely randomized trees. Machine Learning, 63, 3-42.

    Examples
    --------
    >>> from fasttree import ExtraTreesRegressor
    >>> X, y = [[k] for k in range(40)], [k // 10 for k in range(40)]
    >>> ExtraTreesRegressor(n_estimators=50, random_state=0).fit(X, y).predict([[5], [33]])
    array([0., 3.])
    """

    criterion: str = parameter("squared_error", one_of("squared_error"))
    max_features: float | str | None = parameter(1.0, MAX_FEATURES)
    bootstrap: bool | str = parameter(False, BOOTSTRAP)

    _descriptions = _OF_EXTRA_TREES
    _random_cuts = True
