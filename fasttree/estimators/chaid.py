"""`CHAIDClassifier` and `CHAIDRegressor`: CHAID and exhaustive CHAID (Kass 1980; Biggs, de Ville and Suen 1991)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from fasttree._data.checks import is_integer
from fasttree._data.schema import Feature
from fasttree._learn.chaid.growth import ChaidGrower
from fasttree._learn.chaid.merging import Choices
from fasttree._learn.grow.competing import CompetingSplit
from fasttree._learn.grow.grower import Grower
from fasttree._learn.limits import Limits
from fasttree._learn.parameters import (
    FLAG,
    ParameterRule,
    one_of,
    parameter,
    parameters,
    probability_such_as,
)
from fasttree._learn.recipe import Recipe
from fasttree._model.tested import NodeTest, TestedTree
from fasttree.estimators.common.base import BaseTree
from fasttree.estimators.common.growing import MOST_GROUPED
from fasttree.estimators.common.tasks import BaseClassifier, BaseRegressor

__all__ = ["CHAIDClassifier", "CHAIDRegressor"]

SPSS_LIMITS: dict[str, Any] = {"max_depth": 3, "min_samples_split": 100, "min_samples_leaf": 50}
_DEFAULT_LIMITS = {"max_depth": None, "min_samples_split": 2, "min_samples_leaf": 1}
_IMPURITIES = {"pearson": "gini", "likelihood_ratio": "entropy", "f": "squared_error"}


@parameters
class CHAIDChoices:
    """Choices of CHAID for classes and for numbers."""

    method: str = parameter(
        "chaid",
        one_of("chaid", "exhaustive"),
        """"chaid" merges the two most similar groups of categories while their p-value is above `alpha_merge` (Kass 1980).
        "exhaustive" merges until two groups are left, and keeps the groups of the smallest p-value on the way (Biggs et al.
        1991).""",
    )
    alpha_merge: float = parameter(
        0.05,
        probability_such_as(0.05),
        'With `method="chaid"`: two groups merge if the p-value of their difference is larger than this.',
    )
    alpha_split: float = parameter(
        0.05, probability_such_as(0.05), "A node is split if the smallest adjusted p-value is at most this."
    )
    resplit: bool = parameter(
        False,
        FLAG,
        """With `method="chaid"`: whether a merged group of three or more categories is divided again if the p-value of its best
        division is at most `alpha_resplit` (step 3 of Kass).  A nominal group of more than 12 categories stays merged.""",
    )
    alpha_resplit: float = parameter(
        0.049,
        probability_such_as(0.049),
        "With `resplit`: largest p-value of a division, below `alpha_merge`, as else the same group could merge again.",
    )
    bonferroni: bool = parameter(
        True,
        FLAG,
        "Whether the p-value of a feature is multiplied by the number of ways to merge its categories into as many groups.",
    )
    exhaustive_multiplier: str = parameter(
        "spss",
        one_of("spss", "biggs"),
        """With `method="exhaustive"`: multiplier of a nominal feature of I categories, I (I² - 1) / 2 as in SPSS, or I (I² - 1)
        / 6, the number of pairs that are tested.""",
    )
    n_intervals: int = parameter(
        10,
        ParameterRule(
            lambda value: is_integer(value) and 2 <= value <= MOST_GROUPED, f"an integer from 2 to {MOST_GROUPED}", "int"
        ),
        """Number of intervals into which a continuous feature is divided before the growth, of nearly equal numbers of samples.
        They are the ordered categories of the feature.""",
    )
    spss_limits: bool = parameter(
        False,
        FLAG,
        """Whether the limits are those that SPSS sets by default: ``max_depth=3``, ``min_samples_split=100`` and
        ``min_samples_leaf=50``.  The other defaults are those of SPSS already.""",
    )


class _Chaid(BaseTree):
    """What CHAID does for classes and for numbers."""

    method: str
    alpha_merge: float
    alpha_split: float
    resplit: bool
    alpha_resplit: float
    bonferroni: bool
    exhaustive_multiplier: str
    n_intervals: int
    spss_limits: bool
    tree_: TestedTree

    _attributes = {
        "tree_": ("TestedTree", "The tree that predicts, as flat arrays; its `tests` are those of `node_test`."),
        "recipe_": ("Recipe", "The impurity of the nodes, and where missing values go in a split that is set by hand."),
    }
    _descriptions = {
        "min_samples_split": "A node with fewer samples is a leaf.  A float is a share of all samples.",
        "min_samples_leaf": """Smallest number of samples in a branch: a smaller one joins the most similar one.  A float is a
        share of all samples.""",
        "min_weight_fraction_leaf": """Smallest weight of a branch, as a share of the weight of all samples: a lighter one joins
        the most similar one.""",
        "random_state": "Seed of the draws of pruning: folds, and samples held out.  CHAID itself draws nothing.",
    }

    _grows_by_recipe: ClassVar[bool] = False

    def _statistic(self) -> str:
        raise NotImplementedError

    def _recipe(self) -> Recipe:
        impurity = _IMPURITIES[self._statistic()]
        return Recipe("chaid", impurity, nominal="groups", ordinal="intervals", continuous="intervals", missing="majority")

    def _checked_recipe(self) -> Recipe:
        self._check_parameters()
        self._pruning_method()
        if self.resplit and self.method == "exhaustive":
            raise ValueError("resplit=True and method='exhaustive' exclude each other: exhaustive CHAID tries all merges anyway")
        if self.resplit and not self.alpha_resplit < self.alpha_merge:
            raise ValueError(
                f"alpha_resplit={self.alpha_resplit!r}: must be below alpha_merge={self.alpha_merge!r}, as else a group that is "
                "divided could merge again"
            )
        for name, default in _DEFAULT_LIMITS.items() if self.spss_limits else ():
            if getattr(self, name) != default:
                raise ValueError(
                    f"spss_limits=True and {name}={getattr(self, name)!r} exclude each other: give all three limits, or none"
                )
        return self._recipe()

    def _fits_several(self) -> bool:
        return False

    def _min_gain(self) -> float:
        return -math.inf

    def _limits(self, n_samples: int, n_features: int, total: float) -> Limits:
        limits = super()._limits(n_samples, n_features, total)
        return limits._replace(**SPSS_LIMITS) if self.spss_limits else limits

    def _by_its_growth(self, grower: Grower) -> Grower:
        choices = Choices(
            statistic=self._statistic(),
            method=self.method,
            alpha_merge=float(self.alpha_merge),
            alpha_split=float(self.alpha_split),
            resplit=float(self.alpha_resplit) if self.resplit else None,
            bonferroni=bool(self.bonferroni),
            exhaustive_multiplier=self.exhaustive_multiplier,
            n_intervals=int(self.n_intervals),
        )
        return ChaidGrower(**vars(grower), choices=choices)

    def _refuses_many_categories(self, feature: Feature, n_categories: int) -> ValueError:
        return ValueError(
            f"column {feature.name!r} has {n_categories} categories: CHAID merges at most {MOST_GROUPED}; join rare ones first, "
            f"or use CARTClassifier or CARTRegressor"
        )

    def node_test(self, node: int) -> NodeTest:
        """Return the significance tests of a node: of its split, of every feature, and of the merges of categories.

        Parameters
        ----------
        node : int
            Id of a node of `tree_`; a leaf has the tests by which it was not split.

        Returns
        -------
        NodeTest
            With `reason` ("split", or why the node is a leaf), `split`, `predictors` and `merges`.  A test has `statistic`, `df`,
            `p_value`, `multiplier`, `adjusted_p_value` and their logarithms, which are finite where p-values underflow.

        Raises
        ------
        ValueError
            If there is no such node.

        Examples
        --------
        >>> from fasttree import CHAIDClassifier
        >>> X = [["a"]] * 50 + [["b"]] * 50 + [["c"]] * 50 + [["d"]] * 50 + [["e"]] * 50
        >>> y = [1] * 30 + [0] * 20 + [1] * 28 + [0] * 22 + [1] * 10 + [0] * 40 + [1] * 12 + [0] * 38 + [1] * 20 + [0] * 30
        >>> test = CHAIDClassifier().fit(X, y).node_test(0).split
        >>> test.n_groups, round(test.statistic, 6), test.df, test.multiplier, round(test.adjusted_p_value, 9)
        (3, 27.0, (2.0,), 25.0, 3.4274e-05)
        """
        check_is_fitted(self)
        if not is_integer(node) or not 0 <= node < self.tree_.node_count:
            raise ValueError(f"node={node!r}: must be an integer in [0, {self.tree_.node_count - 1}], the id of a node of tree_")
        return self.tree_.tests[node]

    def competing_splits(self, node: int, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> list[CompetingSplit]:
        """Raise a ValueError, because splits do not compete by gain in CHAID; see `node_test`.

        Parameters
        ----------
        node : int
            Id of a node of `tree_`.
        X : table of shape (n_samples, n_features)
            The samples of the fit.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        """
        raise ValueError(
            f"competing_splits compares splits by gain, and in {type(self).__name__} they do not compete by gain: "
            f"node_test({node!r}).predictors has the p-values of all features"
        )


@parameters
class CHAIDClassifier(_Chaid, BaseClassifier, CHAIDChoices):
    """Classification tree by CHAID: categories merge, and features compete, by significance tests.

    In each node, the categories of every feature that hardly differ in their classes merge into groups.  The feature whose groups
    have the smallest p-value, adjusted for the number of possible groupings, splits the node into one branch per group.  Nominal
    features form any groups, ordinal ones groups of neighbours.  Continuous features are divided into intervals first.  Missing
    values are a category, which in an ordered feature may join any group.

    Notes
    -----
    The tests use the whole chi-square distribution without Yates's correction.  Sample weights count as frequencies: the weight 2
    is the same as two samples, except for `min_samples_split` and `min_samples_leaf`.

    A sample whose category did not occur in a node stops there, and the node predicts; so does a missing value where none
    occurred.  In a split with missing values, such categories have an empty branch, which predicts as the node does.  Categories
    that did not occur in the fit at all are treated as missing.  A value of a continuous feature follows the order, even if its
    interval did not occur in the node.

    References
    ----------
    Kass, G. V. (1980). An Exploratory Technique for Investigating Large Quantities of Categorical Data. Applied Statistics, 29,
    119-127.

    Biggs, D., de Ville, B. and Suen, E. (1991). A Method of Choosing Multiway Partitions for Classification and Decision Trees.
    Journal of Applied Statistics, 18, 49-62.

    Examples
    --------
    >>> from fasttree import CHAIDClassifier
    >>> X = [["north"]] * 20 + [["south"]] * 20 + [["west"]] * 20
    >>> y = ["yes"] * 18 + ["no"] * 2 + ["yes"] * 17 + ["no"] * 3 + ["no"] * 20
    >>> model = CHAIDClassifier().fit(X, y)
    >>> model.predict([["south"], ["west"]])
    array(['yes', 'no'], dtype='<U3')
    """

    criterion: str = parameter(
        "pearson", one_of("pearson", "likelihood_ratio"), "The chi-square statistic: Pearson's, or that of the likelihood ratio."
    )

    max_leaf_nodes: ClassVar[None] = None  # type: ignore[misc]
    min_impurity_decrease: ClassVar[float] = 0.0  # type: ignore[misc]
    min_impurity: ClassVar[float] = 0.0  # type: ignore[misc]
    max_bins: ClassVar[None] = None  # type: ignore[misc]
    max_features: ClassVar[None] = None  # type: ignore[misc]
    split_p_value: ClassVar[None] = None  # type: ignore[misc]
    n_jobs: ClassVar[None] = None  # type: ignore[misc]

    def _statistic(self) -> str:
        return self.criterion


@parameters
class CHAIDRegressor(_Chaid, BaseRegressor, CHAIDChoices):
    """Regression tree by CHAID: categories merge, and features compete, by F tests.

    The tree grows as that of `CHAIDClassifier`, with the F test of the analysis of variance in the place of chi-square.  A leaf
    predicts the weighted mean of its samples.

    Notes
    -----
    Sample weights count as frequencies.  The notes of `CHAIDClassifier` on categories that did not occur hold here, too.

    References
    ----------
    Kass, G. V. (1980). An Exploratory Technique for Investigating Large Quantities of Categorical Data. Applied Statistics, 29,
    119-127.

    Biggs, D., de Ville, B. and Suen, E. (1991). A Method of Choosing Multiway Partitions for Classification and Decision Trees.
    Journal of Applied Statistics, 18, 49-62.

    Examples
    --------
    >>> from fasttree import CHAIDRegressor
    >>> X = [["p"]] * 4 + [["q"]] * 4 + [["r"]] * 4 + [["s"]] * 4
    >>> model = CHAIDRegressor().fit(X, [4, 5, 6, 5, 5, 6, 5, 6, 9, 8, 10, 9, 12, 14, 13, 13])
    >>> model.predict([["p"], ["q"], ["s"]])
    array([ 5.25,  5.25, 13.  ])
    """

    max_leaf_nodes: ClassVar[None] = None  # type: ignore[misc]
    min_impurity_decrease: ClassVar[float] = 0.0  # type: ignore[misc]
    min_impurity: ClassVar[float] = 0.0  # type: ignore[misc]
    max_bins: ClassVar[None] = None  # type: ignore[misc]
    max_features: ClassVar[None] = None  # type: ignore[misc]
    n_jobs: ClassVar[None] = None  # type: ignore[misc]

    def _statistic(self) -> str:
        return "f"
