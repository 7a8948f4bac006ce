"""`ID3Classifier`: Quinlan's ID3 (1986)."""

from __future__ import annotations

from fasttree._learn.parameters import AMOUNT, parameter, parameters
from fasttree._learn.recipe import ID3, Recipe
from fasttree.estimators.common.tasks import BaseClassifier


@parameters
class ID3Classifier(BaseClassifier):
    """Classification tree by ID3: nominal and ordinal features, information gain, one branch per category.

    A node is split by the feature with the largest information gain in bits, into one branch per category that occurs in the
    node.  A feature is used at most once on a path.  Columns of integers are nominal.  Continuous features and missing
    values are not part of the algorithm and raise an error: see `C45Classifier` and `CARTClassifier`.

    References
    ----------
    Quinlan, J. R. (1986). Induction of Decision Trees. Machine Learning, 1, 81-106.

    Examples
    --------
    >>> from fasttree import ID3Classifier
    >>> outlook_windy = [["sunny", "no"], ["sunny", "yes"], ["rain", "no"], ["rain", "yes"], ["overcast", "yes"]]
    >>> play = ["no", "no", "yes", "no", "yes"]
    >>> model = ID3Classifier().fit(outlook_windy, play)
    >>> model.predict([["rain", "no"], ["overcast", "no"]])
    array(['yes', 'yes'], dtype='<U3')
    """

    epsilon: float = parameter(0.0, AMOUNT, "A split needs an information gain larger than this, in bits.")

    _descriptions = {
        "unseen": """How prediction treats a category that did not occur in the fit: the sample stops at the node that tests
        it, or an error is raised.""",
    }

    def _recipe(self) -> Recipe:
        return ID3

    def _min_gain(self) -> float:
        # Rounding alone can leave a gain of about 1e-16 instead of 0.
        return max(float(self.epsilon), 1e-12)
