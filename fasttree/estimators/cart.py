"""`CARTClassifier` and `CARTRegressor`: CART (Breiman, Friedman, Olshen and Stone 1984)."""

from __future__ import annotations

from fasttree._learn.parameters import AMOUNT_OR_NONE, anything, one_of, parameter, parameters
from fasttree._learn.recipe import CART_CLASSIFICATION, CART_REGRESSION, IMPURITIES, IMPURITIES_OF_NUMBERS, Recipe
from fasttree.estimators.common.growth_parameters import (
    ConstraintChoices,
    CostChoices,
    LeastGain,
    LookaheadChoice,
    SurrogateChoices,
)
from fasttree.estimators.common.tasks import ATTRIBUTES_BY_TARGET, BaseClassifier, BaseRegressor


@parameters
class CARTChoices:
    """Choices of CART for classes and for numbers; each of the two has its own criteria."""

    criterion: str = parameter(None, anything("str"))
    nominal: str = parameter(
        "subset",
        one_of("subset", "one_vs_rest"),
        "A nominal feature splits the categories into two groups, or one category from the rest.",
    )
    midpoint: str = parameter(
        "low",
        one_of("low", "high"),
        """Side of a value that equals a midpoint.  The threshold of a continuous feature is midway between two values of the
        training samples.  A value that equals the midpoint goes with the lower values, as in scikit-learn, or with the higher
        ones, as in rpart: the threshold is then the largest number below the midpoint.  Growth is the same with both.""",
    )
    missing: str = parameter(
        "direction",
        one_of("direction", "surrogate", "fractional", "majority", "branch", "error"),
        """Where a sample goes if its tested value is missing, in training and in prediction:

        - "direction": to the side that gained most in training.
        - "surrogate": to the side chosen by tests of other features that best imitate this one (Breiman et al. 1984, section
          5.3).
        - "fractional": to both sides, with shares in proportion to their known weight (Quinlan 1993, chapter 3).  The prediction
          combines those of the leaves by their shares.  A node that weighs less than one sample (of average weight, if weights
          are not whole numbers) is not split.  Training does not divide light parts any further: see `min_part_weight`.
        - "majority": to the side of more known weight, or to the second one on a tie.
        - "branch": to a third branch of its own, which counts in the gain and must be as large as any leaf.  A node may also test
          only whether the value is missing.  If too few values are missing for a branch they go to the heavier side.
        - "error": missing values raise an error.

        With "surrogate", "fractional" and "majority", samples whose value is missing do not count in the gain of a test.  If
        no value was missing in training, a missing value goes to the side of more samples ("direction") or of more weight.""",
    )
    min_part_weight: float | None = parameter(
        None,
        AMOUNT_OR_NONE,
        """With `missing="fractional"`: a sample is divided only while its part weighs at least this, in training, in the unit
        of the sample weights.  A lighter part follows the heaviest branch.  None: three quarters of the sample's own weight.
        0, as in C4.5, always divides, which takes much time if many values are missing.""",
    )


@parameters
class CARTClassifier(BaseClassifier, CostChoices, ConstraintChoices, LeastGain, LookaheadChoice, SurrogateChoices, CARTChoices):
    """Classification tree by CART: binary splits, Gini impurity.

    Continuous and ordinal features are split at a threshold (midway between neighbouring values of the node), nominal ones
    into two groups of categories.

    References
    ----------
    Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). Classification and Regression Trees. Wadsworth.

    Examples
    --------
    >>> from fasttree import CARTClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CARTClassifier(max_depth=2).fit(X, y)
    >>> model.predict(X[[0, 60, 149]])
    array([0, 1, 2])
    """

    criterion: str = parameter("gini", one_of(*IMPURITIES), "Impurity of a node.  Entropy is in bits.")

    _attributes = ATTRIBUTES_BY_TARGET
    _takes_several = True

    def _recipe(self) -> Recipe:
        return CART_CLASSIFICATION.variant(
            impurity=self.criterion, nominal=self.nominal, missing=self.missing, midpoint=self.midpoint
        )


@parameters
class CARTRegressor(BaseRegressor, ConstraintChoices, LeastGain, LookaheadChoice, SurrogateChoices, CARTChoices):
    """Regression tree by CART: binary splits, squared error.

    Continuous and ordinal features are split at a threshold (midway between neighbouring values of the node), nominal ones
    into two groups of categories.  A leaf predicts the weighted mean of its samples.

    References
    ----------
    Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). Classification and Regression Trees. Wadsworth.

    Examples
    --------
    >>> from fasttree import CARTRegressor
    >>> model = CARTRegressor().fit([[1.0], [2.0], [3.0], [4.0]], [10.0, 10.0, 20.0, 20.0])
    >>> model.predict([[0.0], [2.4], [2.6]])
    array([10., 10., 20.])
    """

    criterion: str = parameter(
        "squared_error",
        one_of(*IMPURITIES_OF_NUMBERS),
        """Impurity of a node: the variance of its targets; their mean absolute deviation from the median, which a leaf then
        predicts; or half their mean Poisson deviance.  The latter is for targets such as counts, which are not negative and
        not all 0; no leaf then predicts 0.  With absolute error, the two groups of categories are the best ones in the order of
        the categories' medians, which need not be the best ones of all.""",
    )

    _takes_several = True

    def _recipe(self) -> Recipe:
        return CART_REGRESSION.variant(
            impurity=self.criterion, nominal=self.nominal, missing=self.missing, midpoint=self.midpoint
        )
