"""`OptimalTreeClassifier` and `OptimalTreeRegressor`: trees that no other tree of their depth beats."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from fasttree._data.checks import is_integer, is_number
from fasttree._data.schema import Schema
from fasttree._learn.grow.competing import CompetingSplit
from fasttree._learn.grow.grower import Grower
from fasttree._learn.grow.optimal import MOST_LANES, OptimalGrower, SearchLimits
from fasttree._learn.parameters import AMOUNT, POSITIVE, ParameterRule, parameter, parameters
from fasttree._learn.recipe import Recipe
from fasttree._model.tested import ProvenTree
from fasttree._model.tree import Tree
from fasttree.estimators.common.base import BaseTree
from fasttree.estimators.common.growth_parameters import CostChoices
from fasttree.estimators.common.tasks import BaseClassifier, BaseRegressor

_OF_SEARCH = ("objective_", "lower_bound_", "gap_", "status_")
_ENDS = {"time_limit": "its time limit", "interrupted": "an interrupt"}


@parameters
class SearchChoices:
    """What a leaf costs, and what a search may cost."""

    leaf_penalty: float = parameter(
        0.0,
        AMOUNT,
        """Cost of a leaf, in the unit of the objective: a split must avoid wrong predictions of more than this weight, or squared
        errors of more than this sum, for each leaf that it adds.""",
    )
    max_gap: float = parameter(
        0.0,
        AMOUNT,
        """A search of three or four levels ends as soon as `objective_` is at most this much above `lower_bound_`.  0: it ends
        with a proof.""",
    )
    time_limit: float | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or (is_number(value) and value > 0), "a number > 0, or None for no limit", "float or None"
        ),
        "Seconds of a search, after which the best tree so far is kept.  None: no limit.",
    )
    memory_limit: float = parameter(
        256, POSITIVE, "Megabytes for results of parts of the search that may be needed again.  Less memory may take more time."
    )


class _Proven(BaseTree):
    """A search in the place of growth by a recipe, and what it leaves besides the tree."""

    max_depth: int
    leaf_penalty: float
    max_gap: float
    time_limit: float | None
    memory_limit: float

    _grows_by_recipe: ClassVar[bool] = False

    objective_: float
    lower_bound_: float
    gap_: float
    status_: str

    _attributes = {
        "objective_": (
            "float",
            """Weight, or cost, of the wrong predictions on the training samples, or weighted sum of their squared errors; plus
            the penalties of the leaves.  It is that of the tree before its pruning.""",
        ),
        "lower_bound_": ("float", "No tree of `max_depth` has a smaller objective."),
        "gap_": ("float", "`objective_` less `lower_bound_`: 0 if the tree is proven to be optimal."),
        "status_": ("str", '"optimal", "max_gap", "time_limit" or "interrupted": how the search ended.'),
        "recipe_": (
            "Recipe",
            """The impurity of the nodes, and the form of their tests.  At the last level, nominal features have tests of any two
            groups of categories, too.""",
        ),
    }
    _descriptions = {
        "max_depth": """Largest number of tests on a path: 1 to 4 for classes, and 1 to 3 for numbers.  Each level multiplies the
        time by the number of possible tests.""",
        "min_samples_leaf": """Smallest number of samples in a leaf.  A float is a share of all samples.  More than 1 makes the
        bounds of the search weaker, and the search longer.""",
        "min_weight_fraction_leaf": """Smallest weight of a leaf, as a share of the weight of all samples.  More than 0 makes the
        bounds weaker, too.""",
        "n_jobs": """Number of threads, of which at most 4 are used; -1 means one per core.  They share a search of three or four
        levels.  The tree and the bound of a finished search do not depend on their number.""",
        "random_state": "Seed of the draws of pruning: folds, and samples held out.  The search draws nothing.",
    }

    def _set_fitted(self, tree: Tree, recipe: Recipe, schema: Schema) -> None:
        super()._set_fitted(tree, recipe, schema)
        for name in _OF_SEARCH:  # files of earlier versions have no proof
            self.__dict__.pop(name, None)
        if isinstance(tree, ProvenTree):
            proof = tree.proof
            self.objective_, self.lower_bound_, self.gap_, self.status_ = (
                proof.objective,
                proof.lower_bound,
                proof.gap,
                proof.status,
            )

    def _min_gain(self) -> float:
        return 0.0

    def _fits_several(self) -> bool:
        return False

    def _by_its_growth(self, grower: Grower) -> Grower:
        if grower.n_classes > MOST_LANES:
            raise ValueError(
                f"y has {grower.n_classes} classes: OptimalTreeClassifier takes at most {MOST_LANES}; use CARTClassifier"
            )
        time_limit = None if self.time_limit is None else float(self.time_limit)
        search = SearchLimits(float(self.leaf_penalty), float(self.max_gap), time_limit, float(self.memory_limit))
        limits = grower.limits._replace(max_depth=int(self.max_depth))
        return OptimalGrower(**vars(grower) | {"limits": limits}, search=search)

    def _make_tree(self, grower: Grower, prune: Callable[[Tree], Tree]) -> Tree:
        def warn_and_prune(tree: Tree) -> Tree:
            assert isinstance(tree, ProvenTree)
            proof = tree.proof
            if proof.status in _ENDS:
                warnings.warn(
                    f"the search ended by {_ENDS[proof.status]}: the tree has an objective of {proof.objective:g}, and no tree "
                    f"has one below {proof.lower_bound:g}",
                    stacklevel=2,
                )
            return prune(tree)

        return super()._make_tree(grower, warn_and_prune)

    def competing_splits(self, node: int, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> list[CompetingSplit]:
        """Raise a ValueError, because splits do not compete one by one in a search for the best tree.

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
            f"competing_splits compares splits by gain, and {self._name()} searches for the best tree as a whole: use a tree by "
            "CART to compare splits"
        )


@parameters
class OptimalTreeClassifier(_Proven, BaseClassifier, SearchChoices, CostChoices):
    """Classification tree that no other tree of its depth beats, with a proof.

    No tree of at most `max_depth` tests on a path has a smaller weight of wrong predictions on the training samples, or a smaller
    cost with a loss matrix, plus `leaf_penalty` for each leaf.  The search is branch and bound: if it
    ends by its time limit or by Ctrl-C, the best tree so far is kept, with a bound of what the best one costs.

    Notes
    -----
    The search compares all of these tests.  A continuous or ordinal feature is cut between any two values.  A nominal one is
    split into one category and the rest or, where both branches are leaves, into any two groups of categories; with leaves of a
    smallest size, into groups that are cuts of the categories by their share of one class less that of another.  Missing values
    go to either side, or are on one side alone.

    Many trees may be optimal.  A node is split only if this lowers the objective.  Among equal trees the search keeps the one
    that it finds first.  It begins with trees of two levels, in the order of the columns, and of the cuts from coarse to fine.
    From three levels on, it then searches the cuts of all roots: the best cut of each column in these trees, then those whose
    bounds are least, sixteen at a time, equal ones in the order in which they were found.  Before this, a search of four levels
    takes the best cut of each column as the root of a tree that is grown by lookahead, keeps the best of these trees, and puts
    the columns in the order of what they cost.  Neither the order of the rows nor the
    number of threads has an effect.  If `memory_limit` is too small to keep all results, another tree of the same objective may
    be found.

    References
    ----------
    Brita, C. E., van der Linden, J. G. M. and Demirovic, E. (2025). Optimal Classification Trees for Continuous Feature Data
    Using Dynamic Programming with Branch-and-Bound. AAAI-25.

    Examples
    --------
    >>> from fasttree import OptimalTreeClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = OptimalTreeClassifier(max_depth=2).fit(X, ["same", "other", "other", "same"])
    >>> model.objective_, model.status_
    (0.0, 'optimal')
    """

    max_depth: int = parameter(
        3,
        ParameterRule(lambda value: is_integer(value) and 1 <= value <= 4, "an integer from 1 to 4", "int"),
    )

    min_samples_split: ClassVar[int] = 2  # type: ignore[misc]
    max_leaf_nodes: ClassVar[None] = None  # type: ignore[misc]
    min_impurity_decrease: ClassVar[float] = 0.0  # type: ignore[misc]
    min_impurity: ClassVar[float] = 0.0  # type: ignore[misc]
    max_bins: ClassVar[None] = None  # type: ignore[misc]
    max_features: ClassVar[None] = None  # type: ignore[misc]
    split_p_value: ClassVar[None] = None  # type: ignore[misc]

    def _recipe(self) -> Recipe:
        return Recipe("optimal", "misclassification")


@parameters
class OptimalTreeRegressor(_Proven, BaseRegressor, SearchChoices):
    """Regression tree that no other tree of its depth beats, with a proof.

    No tree of at most `max_depth` tests on a path has a smaller weighted sum of squared errors on the training samples, plus
    `leaf_penalty` for each leaf.  A leaf predicts the weighted mean of its samples.  If the search ends by its time limit or by
    Ctrl-C, the best tree so far is kept, with a bound of what the best one costs.

    Notes
    -----
    The tests, and the choice among equal trees, are those of `OptimalTreeClassifier`.  Two trees
    are equal if their sums differ by at most 1e-12 of the sum of the root.  A sample may have an error of any size, so that only
    the order of the cuts gives bounds: three levels take much longer than for classes.

    References
    ----------
    Mazumder, R., Meng, X. and Wang, H. (2022). Quant-BnB: A Scalable Branch-and-Bound Method for Optimal Decision Trees with
    Continuous Features. ICML.

    Examples
    --------
    >>> from fasttree import OptimalTreeRegressor
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = OptimalTreeRegressor(max_depth=2).fit(X, [5.0, 9.0, 9.0, 5.0])
    >>> model.objective_, model.status_
    (0.0, 'optimal')
    """

    max_depth: int = parameter(
        2,
        ParameterRule(lambda value: is_integer(value) and 1 <= value <= 3, "an integer from 1 to 3", "int"),
    )

    min_samples_split: ClassVar[int] = 2  # type: ignore[misc]
    max_leaf_nodes: ClassVar[None] = None  # type: ignore[misc]
    min_impurity_decrease: ClassVar[float] = 0.0  # type: ignore[misc]
    min_impurity: ClassVar[float] = 0.0  # type: ignore[misc]
    max_bins: ClassVar[None] = None  # type: ignore[misc]
    max_features: ClassVar[None] = None  # type: ignore[misc]

    def _recipe(self) -> Recipe:
        return Recipe("optimal", "squared_error")
