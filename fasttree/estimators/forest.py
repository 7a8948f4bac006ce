"""`RandomForestClassifier` and `RandomForestRegressor` (Breiman 2001)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fasttree._learn.parameters import one_of, parameter, parameters
from fasttree._learn.recipe import IMPURITIES, IMPURITIES_OF_NUMBERS, Recipe
from fasttree.estimators.cart import CARTChoices
from fasttree.estimators.common.growth_parameters import (
    ConstraintChoices,
    CostChoices,
    LeastGain,
    SurrogateChoices,
    TreeLimits,
)
from fasttree.estimators.common.tasks import ATTRIBUTES_BY_TARGET
from fasttree.estimators.forests.parameters import RECIPE_OF_CLASSES, ForestClassChoices
from fasttree.estimators.forests.tasks import ForestOfClassifiers, ForestOfRegressors

MAX_FEATURES = TreeLimits.__dataclass_fields__["max_features"].metadata["rule"]
OF_FORESTS = {
    "random_state": """Seed of the bags and of the features that nodes draw.  The draws of a tree follow from the seed and the
        number of the tree alone.""",
    "n_jobs": "Number of threads, each of which grows a tree at a time; -1 means one per core.  They do not change the forest.",
}


@parameters
class RandomForestClassifier(
    ForestOfClassifiers, ForestClassChoices, CostChoices, ConstraintChoices, LeastGain, SurrogateChoices, CARTChoices
):
    """Random forest for classes: the mean of trees that are grown on bags of samples, each node on some features.

    Limits such as `min_samples_leaf` count the samples of a bag, not how often they were drawn.

    Notes
    -----
    The bags are drawn by position, so that another order of the rows gives another forest.

    References
    ----------
    Breiman, L. (2001). Random Forests. Machine Learning, 45, 5-32.

    Examples
    --------
    >>> from fasttree import RandomForestClassifier
    >>> rows = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", None]] * 5
    >>> forest = RandomForestClassifier(n_estimators=50, random_state=0).fit(rows, ["ripe", "unripe", "unripe", "unripe"] * 5)
    >>> forest.predict([["red", 2.8], ["blue", 2.0]])
    array(['ripe', 'unripe'], dtype='<U6')
    """

    criterion: str = parameter("gini", one_of(*IMPURITIES), "Impurity of a node.  Entropy is in bits.")
    max_features: float | str | None = parameter("sqrt", MAX_FEATURES)
    recipe: str | Recipe | Mapping[str, Any] | None = parameter(None, RECIPE_OF_CLASSES)

    _attributes = ATTRIBUTES_BY_TARGET
    _descriptions = OF_FORESTS


@parameters
class RandomForestRegressor(ForestOfRegressors, ConstraintChoices, LeastGain, SurrogateChoices, CARTChoices):
    """Random forest for numbers: the mean of trees that are grown on bags of samples.

    Each node may choose from all features by default, as in scikit-learn; a third of them, ``max_features=1/3``, often predicts
    better (Breiman 2001).  Limits such as `min_samples_leaf` count the samples of a bag, not how often they were drawn.

    Notes
    -----
    The bags are drawn by position, so that another order of the rows gives another forest.

    References
    ----------
    Breiman, L. (2001). Random Forests. Machine Learning, 45, 5-32.

    Examples
    --------
    >>> from fasttree import RandomForestRegressor
    >>> X, y = [[k] for k in range(40)], [k // 10 for k in range(40)]
    >>> RandomForestRegressor(n_estimators=50, random_state=0).fit(X, y).predict([[5], [33]])
    array([0., 3.])
    """

    criterion: str = parameter(
        "squared_error",
        one_of(*IMPURITIES_OF_NUMBERS),
        """Impurity of a node: the variance of its targets, their mean absolute deviation from the median, or half their mean
        Poisson deviance.  With absolute error, a leaf predicts its median, and the forest the mean of medians.""",
    )
    max_features: float | str | None = parameter(1.0, MAX_FEATURES)

    _descriptions = OF_FORESTS
