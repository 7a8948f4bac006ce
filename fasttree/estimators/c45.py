"""`C45Classifier`: Quinlan's C4.5 Release 8."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sklearn.utils import check_random_state

from fasttree._data.schema import Feature
from fasttree._learn.grow import windowing
from fasttree._learn.grow.grower import Grower
from fasttree._learn.grow.soften import soften
from fasttree._learn.parameters import FLAG, parameter, parameters, share_such_as
from fasttree._learn.recipe import C45, C45_TEXTBOOK, Recipe
from fasttree._model.tree import Tree
from fasttree.estimators.common.growing import MOST_GROUPED
from fasttree.estimators.common.growth_parameters import C45Choices, LeastGain, WeightLimits
from fasttree.estimators.common.pruning_parameters import ANY_PRUNING, check_one_confidence
from fasttree.estimators.common.tasks import BaseClassifier
from fasttree.pruning import CostComplexity, CriticalValue, ErrorBased, PruningMethod


@parameters
class C45Classifier(BaseClassifier, LeastGain, WeightLimits, C45Choices):
    """Classification tree by C4.5: gain ratio, thresholds, missing values shared out, pruned by predicted errors.

    The tree is that of Quinlan's C4.5 Release 8.  Among the splits whose gain is at least average, the one with the largest gain
    ratio wins.  Nominal and ordinal features get a branch per declared category, continuous ones a threshold that occurs in the
    data.  A sample whose value is missing goes down every branch with a share of its weight, in training and in prediction.
    Pruning works from the bottom up: a subtree becomes a leaf, or its heaviest branch takes its place, if this is not predicted
    to make more errors.

    Notes
    -----
    Declared classes without samples count as classes.  A declared category that does not occur has a branch: an empty leaf of
    weight 0, which predicts as its parent does and is one of the `tree_.node_count` nodes, as in the original's size.  A sample
    without any known value reaches every leaf in proportion to its weight; a feature without any known value is never tested.

    References
    ----------
    Quinlan, J. R. (1993). C4.5: Programs for Machine Learning. Morgan Kaufmann.

    Quinlan, J. R. (1996). Improved Use of Continuous Attributes in C4.5. Journal of Artificial Intelligence Research, 4, 77-90.

    Li, H. (2012). Statistical Learning Methods. Tsinghua University Press.

    Examples
    --------
    >>> from fasttree import C45Classifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = C45Classifier().fit(X, y)
    >>> model.predict(X[[0, 60, 149]])
    array([0, 1, 2])
    >>> model.tree_.node_count, round(float(model.tree_.estimated_errors[0]), 4)
    (9, 9.6976)
    """

    _attributes = {
        "tree_": (
            "Tree",
            "The tree that predicts, as flat arrays.  If it is pruned by predicted errors, it has `estimated_errors`.",
        ),
        "trees_unpruned_": (
            "list of Tree",
            "With `windowing`: the best tree of each trial, as grown; `C45Rules` makes its rules from all of them.",
        ),
    }

    pruning: Any = parameter("error_based", ANY_PRUNING)
    confidence: float = parameter(
        0.25,
        share_such_as(0.25),
        """Short for ``pruning=ErrorBased(confidence=confidence)``: level, in (0, 1), of the upper confidence limit that is the
        predicted error of a leaf.  Smaller values prune more.  The original takes it in percent (option `-c`).""",
    )
    soft_thresholds: bool = parameter(
        False,
        FLAG,
        """Whether a value near a threshold goes to both branches in part, in prediction.  The intervals are found on the
        finished tree (option `-p`).  The original ignores them in its own evaluation.""",
    )

    _descriptions = {
        "random_state": "Seed of all random draws: the features of `max_features`, folds, samples held out, and windows.",
    }

    def _recipe(self) -> Recipe:
        if self.variant == "textbook":
            if self.subset:
                raise ValueError("subset=True and variant='textbook' exclude each other: grouping is a detail of Release 8")
            return C45_TEXTBOOK if self.criterion == "gain_ratio" else C45_TEXTBOOK.variant(rank="gain")
        method = self._pruning_method() if self.windowing else None
        if isinstance(method, CostComplexity | CriticalValue) and (method.needs_folds or method.needs_samples):
            raise ValueError(
                f"windowing=True and pruning={method!r}, which needs other samples to choose, exclude each other: set the number"
            )
        if self.epsilon > 0:
            raise ValueError(f"epsilon={self.epsilon!r} and variant='release8' exclude each other: use variant='textbook'")
        form = "groups" if self.subset else "declared"
        return C45.variant(rank=self.criterion, nominal=form, ordinal=form)

    def _pruning_method(self) -> PruningMethod | None:
        check_one_confidence(self.confidence, self.pruning)
        return super()._pruning_method()

    def _method_of(self, pruning: Any) -> PruningMethod | None:
        return super()._method_of(ErrorBased(confidence=self.confidence) if pruning == ErrorBased.word else pruning)

    def _raises_branches(self) -> bool:
        return True

    def _refuses_many_categories(self, feature: Feature, n_categories: int) -> ValueError:
        return ValueError(
            f"column {feature.name!r} has {n_categories} categories: subset=True groups at most {MOST_GROUPED}; use subset=False"
        )

    def _min_gain(self) -> float:
        # Rounding alone can leave a gain of about 1e-16 instead of 0.
        if self.variant == "release8":
            return super()._min_gain()
        of_gain = self.epsilon if self.criterion == "gain" else 0.0
        return max(float(of_gain), super()._min_gain(), 1e-12)

    def _min_ratio(self) -> float:
        return float(self.epsilon) if self.variant == "textbook" and self.criterion == "gain_ratio" else -math.inf

    def _min_branch_weight(self) -> float:
        return float(self.min_samples_branch)

    def _make_tree(self, grower: Grower, prune: Callable[[Tree], Tree]) -> Tree:
        table, target, weight = grower.samples.table, grower.samples.target, grower.samples.weight
        self.__dict__.pop("trees_unpruned_", None)  # of an earlier fit with windows
        if self.windowing:
            trials, best = windowing.grow_in_windows(
                table,
                target,
                weight,
                lambda rows: grower(rows=rows),
                prune,
                n_trials=self.n_trials,
                size=self.window_size,
                increment=self.window_increment,
                random=check_random_state(self.random_state),
            )
            self.trees_unpruned_ = [trial.grown for trial in trials]
            self.tree_unpruned_, tree = trials[best]
        else:
            tree = super()._make_tree(grower, prune)
        return soften(tree, table, target, weight) if self.soft_thresholds else tree
