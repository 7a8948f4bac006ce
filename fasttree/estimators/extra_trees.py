"""`ExtraTreesClassifier` and `ExtraTreesRegressor` (Geurts, Ernst and Wehenkel 2006)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fasttree._learn.parameters import one_of, parameter, parameters
from fasttree._learn.recipe import IMPURITIES, IMPURITIES_OF_NUMBERS, Recipe
from fasttree.estimators.cart import CARTChoices
from fasttree.estimators.common.growth_parameters import ConstraintChoices, CostChoices, LeastGain
from fasttree.estimators.common.tasks import ATTRIBUTES_BY_TARGET
from fasttree.estimators.forest import MAX_FEATURES, OF_FORESTS
from fasttree.estimators.forests.parameters import BOOTSTRAP, RECIPE_OF_CLASSES, ForestClassChoices
from fasttree.estimators.forests.tasks import ForestOfClassifiers, ForestOfRegressors

_OF_EXTRA_TREES = OF_FORESTS | {
    "nominal": "Has no effect: each category that occurs in a node goes to a random side.",
    "midpoint": "Has no effect: thresholds are random.",
}


@parameters
class RandomCuts(CARTChoices):
    """Choices of trees with random thresholds."""

    missing: str = parameter(
        "direction",
        one_of("direction", "fractional", "majority", "branch", "error"),
        """A missing value goes to the side that gains most, to every child with a share of its weight, to the heaviest child, to
        a branch of its own, or raises an error.""",
    )


@parameters
class ExtraTreesClassifier(ForestOfClassifiers, ForestClassChoices, CostChoices, ConstraintChoices, LeastGain, RandomCuts):
    """Extremely randomized trees for classes: a node draws features and a random threshold for each, and takes the best.

    The threshold is uniform between the least and the largest value in the node.  Trees are grown on all samples by default.

    Notes
    -----
    Gini, one target and whole sample weights are fastest: other choices sort every column.  Recipes that choose thresholds by
    rules of their own, such as "c45" and those with intervals, raise an error.

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

    criterion: str = parameter(
        "gini",
        one_of(*IMPURITIES),
        "Impurity of a node, by which the random cuts of the drawn features compete.  Entropy is in bits.",
    )
    max_features: float | str | None = parameter("sqrt", MAX_FEATURES)
    recipe: str | Recipe | Mapping[str, Any] | None = parameter(None, RECIPE_OF_CLASSES)
    bootstrap: bool | str = parameter(False, BOOTSTRAP)

    _attributes = ATTRIBUTES_BY_TARGET
    _descriptions = _OF_EXTRA_TREES
    _random_cuts = True


@parameters
class ExtraTreesRegressor(ForestOfRegressors, ConstraintChoices, LeastGain, RandomCuts):
    """Extremely randomized trees for numbers: a node draws features and a random threshold for each, and takes the best.

    The threshold is uniform between the least and the largest value in the node.  Trees are grown on all samples by default.

    Notes
    -----
    Squared error, one target and whole sample weights are fastest: other choices sort every column.

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

    criterion: str = parameter(
        "squared_error",
        one_of(*IMPURITIES_OF_NUMBERS),
        """Impurity of a node, by which the random cuts of the drawn features compete: the variance of its targets, their mean
        absolute deviation from the median, or half their mean Poisson deviance.""",
    )
    max_features: float | str | None = parameter(1.0, MAX_FEATURES)
    bootstrap: bool | str = parameter(False, BOOTSTRAP)

    _descriptions = _OF_EXTRA_TREES
    _random_cuts = True
