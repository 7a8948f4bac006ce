"""The scikit-learn face: one class per algorithm, its parameters and the recipe that they describe; and `load`.

What the classes share is in `_base`, parameters that several have and what they may be in `_parameters`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from sklearn.utils import check_random_state

from . import _document, _soften, _windowing
from ._base import MOST_GROUPED, BaseClassifier, BaseRegressor, Grow
from ._parameters import (
    AMOUNT,
    FLAG,
    PRUNINGS,
    C45Choices,
    CARTChoices,
    ConstraintChoices,
    CostChoices,
    LeastGain,
    SurrogateChoices,
    WeightLimits,
    one_of,
    parameter,
    parameters,
)
from ._prune import Samples
from ._recipe import C45, C45_TEXTBOOK, CART_CLASSIFICATION, CART_REGRESSION, ID3, Recipe
from ._table import Feature
from ._tree import Tree
from .composed import BY_RECIPE, TreeClassifier, TreeRegressor

if TYPE_CHECKING:
    from .rules import C45Rules

__all__ = ["C45Classifier", "CARTClassifier", "CARTRegressor", "ID3Classifier", "load"]


@parameters
class ID3Classifier(BaseClassifier):
    """Classification tree by ID3: nominal and ordinal features, information gain, one branch per category.

    A node is split by the feature with the largest information gain in bits, into one branch per category that occurs in the
    node; a feature is used at most once on a path.  Columns of integers are categories.  Continuous features and missing
    values are outside the algorithm and refused: see `C45Classifier` and `CARTClassifier`.

    Parameters
    ----------
    epsilon : float, default=0.0
        A split needs an information gain larger than this, in bits.
    pruning : str or None, default=None
        "cost_complexity": the subtree of least `risk + ccp_alpha x leaves` (Breiman et al. 1984, chapter 3).  "c_alpha": of least
        `weight x entropy, summed over leaves, + alpha x leaves` (Li Hang 2012, section 5.4).  "reduced_error": of least error on
        samples held out from the growth (Quinlan 1987).  "pessimistic": of few errors, with half an error more per leaf and one
        standard error (Quinlan 1987).  "error_based": of few errors as C4.5 predicts them (Quinlan 1993); here without raising of
        branches.
        "minimum_error": of least expected error with a prior (Niblett and Bratko 1986, Cestnik and Bratko 1991).
        "critical_value" and "chi_square": tests of too little gain (Mingers 1987), or on which the classes do not depend
        significantly (Quinlan 1986), go unless one below them stays.  None: as grown.
    ccp_alpha : float, "cv" or "validation", default=0.0
        What a leaf costs in cost-complexity pruning, in impurity per unit weight, as in scikit-learn; above 0 it asks for that
        pruning.  "cv" chooses it by cross-validation, "validation" on samples held out.
    pruning_risk : {"impurity", "error"}, default="impurity"
        Cost-complexity: what a leaf costs besides: its impurity, or its share of wrong classes (Breiman et al. 1984, rpart).
    cv : int, splitter or list of (train, test), default=10
        Folds of ``ccp_alpha="cv"``; a number makes random ones, of all classes alike.
    rule : {"best", "1se"}, default="best"
        What is chosen on other samples: the subtree of least error, or the smallest within one standard error of it.
    validation_fraction : float, default=0.3
        Share of the samples that is held out from the growth, where a pruning needs it.
    tolerance : float, default=0.0
        Reduced-error: by how much the share of errors may rise at a node that is pruned.
    alpha : float, default=0.0
        C_alpha: what a leaf costs, in `alpha_unit`.
    alpha_unit : {"bits", "nats"}, default="bits"
        Of the entropy in C_alpha, and of `alpha`.
    confidence : float, default=0.25
        Error-based: level, in (0, 1), of the upper limit that is the predicted error of a leaf; smaller values prune more.
    m : float or "laplace", default=2.0
        Minimum-error: weight of the prior, the classes of all samples; or one sample of each class.
    critical_value : float or None, default=None
        Critical-value: least gain; None: chosen on samples held out.
    max_p_value : float, default=0.05
        Chi-square: largest probability, under independence, of a statistic as large as a test's.
    max_depth : int or None, default=None
        Largest number of tests on a path.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves: the nodes of largest gain times weight are split first.
    min_samples_split : int or float, default=2
        A node with fewer samples is a leaf; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Least number of samples in every non-empty branch; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of every non-empty branch, as a share of the weight of all samples.
    min_impurity_decrease : float, default=0.0
        Least gain of a split times the node's share of the weight of all samples.
    min_impurity : float, default=0.0
        A node of smaller impurity is a leaf.
    max_split_p_value : float or None, default=None
        A node is split only if the probability, under independence, of classes that depend so much on its branches is at most
        this, by Pearson's chi-square test (Quinlan 1986).  None: no test.
    max_bins : int or None, default=None
        A continuous feature of more values than this, 2 to 65,535, is cut only between so many bins of nearly equal numbers of
        samples; a value that many samples have is a bin of its own.  None: between any two values.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that each node draws to choose from; a float is a share of all features.
    class_weight : dict, "balanced" or None, default=None
        Weight by class, times the sample weights.
    categorical_features : list of str or of int, or None, default=None
        Columns to be taken as nominal, by name or index.
    ordinal_features : dict or None, default=None
        Columns to be taken as ordinal: `{name or index: [lowest, ..., highest]}`.
    unseen : {"as_missing", "error"}, default="as_missing"
        A category at prediction that the fit did not know: the sample stops at the node that asks for it, or an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of `max_features`.
    n_jobs : int or None, default=None
        Threads for a table of more than 32,768 samples, as far as its recipe can be searched by bounds; -1: as many as cores.
        The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    tree_unpruned_ : Tree
        The tree as grown.  It is not saved: a loaded model has `tree_` alone.
    pruning_table_ : Bunch
        Where a subtree was chosen: `ccp_alphas` or `critical_values`, `n_leaves`, `xerror` and `xstd` (in units of the root's
        error), an entry per subtree, and the index of the `chosen` one.
    recipe_ : Recipe
        The choices that make the algorithm, as the parameters described them.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        Number of classes.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the table had names.
    max_features_ : int
        Number of features that each node drew.
    n_outputs_ : int
        Number of targets, 1.
    target_names_ : list of str
        Names of the targets: of the columns of y; y, or y0, y1, ... where they have none.

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

    epsilon: float = parameter(0.0, AMOUNT)

    def _recipe(self) -> Recipe:
        return ID3

    def _min_gain(self) -> float:
        # Rounding alone can leave a gain of some 1e-16 where there is none.
        return max(float(self.epsilon), 1e-12)


@parameters
class C45Classifier(BaseClassifier, LeastGain, WeightLimits, C45Choices):
    """Classification tree by C4.5: gain ratio, thresholds, missing values shared out, pruned by predicted errors.

    The tree is that of Quinlan's C4.5 Release 8.  Of the splits whose gain is at least average the one with the largest gain
    ratio wins.  Nominal and ordinal features get a branch per declared category, continuous ones a threshold that occurs in the
    data.  A sample whose value is missing goes down every branch with a share of its weight, in training and in prediction.
    Then, from the bottom up, a subtree becomes a leaf, or its heaviest branch takes its place, where that is not predicted to
    make more errors.

    Parameters
    ----------
    criterion : {"gain_ratio", "gain"}, default="gain_ratio"
        How the splits of different features compete (option `-g` of the original is "gain").
    variant : {"release8", "textbook"}, default="release8"
        The program, or the algorithm as textbooks give it: the largest gain ratio of all features without a filter by average
        gain, thresholds midway between two values of the node, no least weight of a branch, no penalty for many thresholds, a
        branch per category that occurs, and no split taken back.
    epsilon : float, default=0.0
        Textbook: a split needs a gain ratio (or gain, in bits) larger than this.
    subset : bool, default=False
        Whether a split of a feature of more than two categories groups them, by greedy merging (option `-s`); Release 8.  At
        most 1,000 categories, as the time grows with their third power.
    min_samples_branch : float, default=2
        A split needs at least two branches of this weight (option `-m`); Release 8.  Weights are cases: with sample weights that
        sum to 1 nothing would be split.
    pruning : str or None, default="error_based"
        "cost_complexity": the subtree of least `risk + ccp_alpha x leaves` (Breiman et al. 1984, chapter 3).  "c_alpha": of least
        `weight x entropy, summed over leaves, + alpha x leaves` (Li Hang 2012, section 5.4).  "reduced_error": of least error on
        samples held out from the growth (Quinlan 1987).  "pessimistic": of few errors, with half an error more per leaf and one
        standard error (Quinlan 1987).  "error_based": of few errors as C4.5 predicts them (Quinlan 1993); here
        with raising of branches.
        "minimum_error": of least expected error with a prior (Niblett and Bratko 1986, Cestnik and Bratko 1991).
        "critical_value" and "chi_square": tests of too little gain (Mingers 1987), or on which the classes do not depend
        significantly (Quinlan 1986), go unless one below them stays.  None: as grown.
    ccp_alpha : float, "cv" or "validation", default=0.0
        What a leaf costs in cost-complexity pruning, in impurity per unit weight, as in scikit-learn; with
        ``pruning="cost_complexity"`` or None.  "cv" chooses it by cross-validation, "validation" on samples held out.
    pruning_risk : {"impurity", "error"}, default="impurity"
        Cost-complexity: what a leaf costs besides: its impurity, or its share of wrong classes (Breiman et al. 1984, rpart).
    cv : int, splitter or list of (train, test), default=10
        Folds of ``ccp_alpha="cv"``; a number makes random ones, of all classes alike.
    rule : {"best", "1se"}, default="best"
        What is chosen on other samples: the subtree of least error, or the smallest within one standard error of it.
    validation_fraction : float, default=0.3
        Share of the samples that is held out from the growth, where a pruning needs it.
    tolerance : float, default=0.0
        Reduced-error: by how much the share of errors may rise at a node that is pruned.
    alpha : float, default=0.0
        C_alpha: what a leaf costs, in `alpha_unit`.
    alpha_unit : {"bits", "nats"}, default="bits"
        Of the entropy in C_alpha, and of `alpha`.
    confidence : float, default=0.25
        Error-based: level, in (0, 1), of the upper limit that is the predicted error of a leaf; smaller values prune more
        (option `-c`, there in percent).
    m : float or "laplace", default=2.0
        Minimum-error: weight of the prior, the classes of all samples; or one sample of each class.
    critical_value : float or None, default=None
        Critical-value: least gain; None: chosen on samples held out.
    max_p_value : float, default=0.05
        Chi-square: largest probability, under independence, of a statistic as large as a test's.
    soft_thresholds : bool, default=False
        Whether a value near a threshold goes to both branches in part, in prediction; the intervals are found on the finished
        tree (option `-p`; the original's own evaluation ignores them).
    windowing : bool, default=False
        Whether trees are grown on a random window of the samples, to which those that the tree gets wrong are added until there
        are none; of several trials the tree with the fewest estimated errors predicts (options `-t`, `-w`, `-i`).
    n_trials : int, default=10
        Windowing: number of trials.
    window_size : int or None, default=None
        Windowing: samples in the first window; None: a fifth of all, and at least twice their square root.
    window_increment : int or None, default=None
        Windowing: samples that a window grows by at most, unless half of the exceptions are more; None: a fifth of the first
        window.
    min_part_weight : float, default=0.0
        Part of a sample with a missing value below which it is not divided any more but follows the heaviest branch, in
        training, in the unit of the sample weights.  0, as in the original, divides always.  Where a fifth of the cells are
        missing and rows are many, 0.1 halves the time, or better.
    max_depth : int or None, default=None
        Largest number of tests on a path.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves: the nodes of largest gain times weight are split first.
    min_samples_split : int or float, default=2
        A node with fewer samples is a leaf; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Least number of samples in every non-empty branch; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of every non-empty branch, as a share of the weight of all samples.
    min_impurity_decrease : float, default=0.0
        Least gain of a split times the node's share of the weight of all samples.
    min_impurity : float, default=0.0
        A node of smaller impurity is a leaf.
    min_gain : float or None, default=None
        A node is split only by a gain per unit weight larger than this, in bits; None: as the variant has it.
    max_split_p_value : float or None, default=None
        A node is split only if the probability, under independence, of classes that depend so much on its branches is at most
        this, by Pearson's chi-square test (Quinlan 1986).  None: no test.
    max_bins : int or None, default=None
        A continuous feature of more values than this, 2 to 65,535, is cut only between so many bins of nearly equal numbers of
        samples; a value that many samples have is a bin of its own.  None: between any two values.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that each node draws to choose from; a float is a share of all features.
    class_weight : dict, "balanced" or None, default=None
        Weight by class, times the sample weights.
    categorical_features : list of str or of int, or None, default=None
        Columns to be taken as nominal, by name or index.
    ordinal_features : dict or None, default=None
        Columns to be taken as ordinal: `{name or index: [lowest, ..., highest]}`.
    unseen : {"as_missing", "error"}, default="as_missing"
        A category at prediction that the fit did not know: treated as a missing value, or an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of `max_features` and of windowing.
    n_jobs : int or None, default=None
        Threads for a table of more than 32,768 samples, as far as its recipe can be searched by bounds; -1: as many as cores.
        The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        The tree that predicts, as flat arrays; pruned by error it has `estimated_errors`.
    tree_unpruned_ : Tree
        The tree as grown.  It is not saved: a loaded model has `tree_` alone.
    pruning_table_ : Bunch
        Where a subtree was chosen: `ccp_alphas` or `critical_values`, `n_leaves`, `xerror` and `xstd` (in units of the root's
        error), an entry per subtree, and the index of the `chosen` one.
    trees_unpruned_ : list of Tree
        Windowing: the best tree of each trial, as grown; `C45Rules` makes its rules of all of them.
    recipe_ : Recipe
        The choices that make the algorithm, as the parameters described them.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        Number of classes.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the table had names.
    max_features_ : int
        Number of features that each node drew.
    n_outputs_ : int
        Number of targets, 1.
    target_names_ : list of str
        Names of the targets: of the columns of y; y, or y0, y1, ... where they have none.

    Notes
    -----
    A class that the fit declares without samples counts, as does a category that does not occur: its branch is an empty leaf of
    weight 0, which answers as its parent and is a node of `tree_.node_count`, as in the original's size.  A sample all of whose
    values are missing reaches every leaf in proportion; a feature all of whose values are missing is never tested.

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

    pruning: str | None = parameter("error_based", one_of(*PRUNINGS, None))
    soft_thresholds: bool = parameter(False, FLAG)

    def _recipe(self) -> Recipe:
        if self.variant == "textbook":
            if self.subset:
                raise ValueError("subset=True and variant='textbook' exclude each other: grouping is a detail of Release 8")
            return C45_TEXTBOOK if self.criterion == "gain_ratio" else C45_TEXTBOOK.variant(rank="gain")
        if self.windowing and (
            isinstance(self.ccp_alpha, str) or (self.pruning == "critical_value" and self.critical_value is None)
        ):
            raise ValueError(
                "windowing=True and a pruning that is chosen (ccp_alpha='cv' or 'validation', critical_value=None) exclude each "
                "other: set the number"
            )
        if self.epsilon > 0:
            raise ValueError(f"epsilon={self.epsilon!r} and variant='release8' exclude each other: use variant='textbook'")
        form = "groups" if self.subset else "category"
        return C45.variant(rank=self.criterion, nominal=form, ordinal=form)

    def _raises_branches(self) -> bool:
        return True

    def _refuses_many_categories(self, feature: Feature, n_categories: int) -> ValueError:
        return ValueError(
            f"column {feature.name!r} has {n_categories} categories: subset=True groups at most {MOST_GROUPED}; use subset=False"
        )

    def _min_gain(self) -> float:
        # Rounding alone can leave a gain of some 1e-16 where there is none.
        if self.variant == "release8":
            return super()._min_gain()
        of_gain = self.epsilon if self.criterion == "gain" else 0.0
        return max(float(of_gain), super()._min_gain(), 1e-12)

    def _min_ratio(self) -> float:
        return float(self.epsilon) if self.variant == "textbook" and self.criterion == "gain_ratio" else -math.inf

    def _min_branch_weight(self) -> float:
        return float(self.min_samples_branch)

    def _min_part_weight(self) -> float:
        return float(self.min_part_weight)

    def _make_tree(self, samples: Samples, grow: Grow, prune: Callable[[Tree], Tree]) -> Tree:
        table, target, weight = samples.table, samples.target, samples.weight
        self.__dict__.pop("trees_unpruned_", None)  # a fit with windows may have gone before
        if self.windowing:
            trials, best = _windowing.grow_in_windows(
                table,
                target,
                weight,
                lambda rows: grow(rows=rows),
                prune,
                n_trials=self.n_trials,
                size=self.window_size,
                increment=self.window_increment,
                random=check_random_state(self.random_state),
            )
            self.trees_unpruned_ = [trial.grown for trial in trials]
            self.tree_unpruned_, tree = trials[best]
        else:
            tree = super()._make_tree(samples, grow, prune)
        return _soften.soften(tree, table, target, weight) if self.soft_thresholds else tree


@parameters
class CARTClassifier(BaseClassifier, CostChoices, ConstraintChoices, LeastGain, SurrogateChoices, CARTChoices):
    """Classification tree by CART: binary splits, Gini impurity.

    Continuous and ordinal features are split at a threshold (midway between neighbouring values of the node), nominal ones
    into two groups of categories.

    Parameters
    ----------
    criterion : {"gini", "entropy", "misclassification"}, default="gini"
        Impurity of a node; entropy in bits.
    nominal : {"subset", "one_vs_rest"}, default="subset"
        A nominal feature splits the categories into two groups, or one category from the rest.
    missing : {"direction", "surrogate", "fractional", "majority", "branch", "error"}, default="direction"
        What becomes of a sample whose tested value is missing, in training and in prediction:

        - "direction": it goes to the side that gained most in training.
        - "surrogate": as tests of other features say that imitate this one best (Breiman et al. 1984, section 5.3).
        - "fractional": to both sides, with shares in proportion to their known weight (Quinlan 1993, chapter 3); the answer is
          that of the leaves by their shares.  A node that weighs less than one sample is not split (where weights are not whole
          numbers: one of average weight).
        - "majority": to the side of more known weight, the second on a tie.
        - "branch": to a third branch of its own, which counts in the gain and must be as large as any leaf; or known against
          missing is all that a node tests.  Where too few values are missing for a branch they go to the heavier side.
        - "error": it is refused.

        Samples whose value is missing have no part in the gain of a test by "surrogate", "fractional" and "majority".  Where
        training saw none a missing value goes to the side of more samples ("direction") or of more weight.
    max_surrogates : int, default=5
        With `missing="surrogate"`: how many of them a node keeps, the most agreeing first; 0: none.
    surrogate_agreement : {"all", "known"}, default="all"
        What part of the weight a surrogate sends the test's way: of all samples that know the test's value, or of those that know
        the surrogate's too.
    no_surrogate : {"majority", "stop"}, default="majority"
        A sample on which no surrogate decides goes to the side of more known weight (and stays in the node where both weigh the
        same), or stays in the node: it counts in neither branch, and at prediction gets the node's own answer.
    pruning : str or None, default=None
        "cost_complexity": the subtree of least `risk + ccp_alpha x leaves` (Breiman et al. 1984, chapter 3).  "c_alpha": of least
        `weight x entropy, summed over leaves, + alpha x leaves` (Li Hang 2012, section 5.4).  "reduced_error": of least error on
        samples held out from the growth (Quinlan 1987).  "pessimistic": of few errors, with half an error more per leaf and one
        standard error (Quinlan 1987).  "error_based": of few errors as C4.5 predicts them (Quinlan 1993); here without raising of
        branches.
        "minimum_error": of least expected error with a prior (Niblett and Bratko 1986, Cestnik and Bratko 1991).
        "critical_value" and "chi_square": tests of too little gain (Mingers 1987), or on which the classes do not depend
        significantly (Quinlan 1986), go unless one below them stays.  None: as grown.
    ccp_alpha : float, "cv" or "validation", default=0.0
        What a leaf costs in cost-complexity pruning, in impurity per unit weight, as in scikit-learn; above 0 it asks for that
        pruning.  "cv" chooses it by cross-validation, "validation" on samples held out.
    pruning_risk : {"impurity", "error"}, default="impurity"
        Cost-complexity: what a leaf costs besides: its impurity, or its share of wrong classes (Breiman et al. 1984, rpart).
    cv : int, splitter or list of (train, test), default=10
        Folds of ``ccp_alpha="cv"``; a number makes random ones, of all classes alike.
    rule : {"best", "1se"}, default="best"
        What is chosen on other samples: the subtree of least error, or the smallest within one standard error of it.
    validation_fraction : float, default=0.3
        Share of the samples that is held out from the growth, where a pruning needs it.
    tolerance : float, default=0.0
        Reduced-error: by how much the share of errors may rise at a node that is pruned.
    alpha : float, default=0.0
        C_alpha: what a leaf costs, in `alpha_unit`.
    alpha_unit : {"bits", "nats"}, default="bits"
        Of the entropy in C_alpha, and of `alpha`.
    confidence : float, default=0.25
        Error-based: level, in (0, 1), of the upper limit that is the predicted error of a leaf; smaller values prune more.
    m : float or "laplace", default=2.0
        Minimum-error: weight of the prior, the classes of all samples; or one sample of each class.
    critical_value : float or None, default=None
        Critical-value: least gain; None: chosen on samples held out.
    max_p_value : float, default=0.05
        Chi-square: largest probability, under independence, of a statistic as large as a test's.
    max_depth : int or None, default=None
        Largest number of tests on a path.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves: the nodes of largest gain times weight are split first.
    min_samples_split : int or float, default=2
        A node with fewer samples is a leaf; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Least number of samples in either branch; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of either branch, as a share of the weight of all samples.
    min_impurity_decrease : float, default=0.0
        Least gain of a split times the node's share of the weight of all samples.
    min_impurity : float, default=0.0
        A node of smaller impurity is a leaf.
    min_gain : float or None, default=None
        A node is split only by a gain per unit weight larger than this, in the unit of `criterion`; None: every split will do.
    max_split_p_value : float or None, default=None
        A node is split only if the probability, under independence, of classes that depend so much on its branches is at most
        this, by Pearson's chi-square test (Quinlan 1986).  None: no test.
    max_bins : int or None, default=None
        A continuous feature of more values than this, 2 to 65,535, is cut only between so many bins of nearly equal numbers of
        samples; a value that many samples have is a bin of its own.  None: between any two values.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that each node draws to choose from; a float is a share of all features.
    class_weight : dict, "balanced" or None, default=None
        Weight by class, times the sample weights.
    monotonic_cst : array-like of shape (n_features,), dict or None, default=None
        Per feature, or `{name or index: ...}` for some: 1, the prediction does not fall as the feature rises, all others being
        equal; -1, it does not rise; 0, free.  The prediction is the
        probability of the second of two classes; of more, the mean class index in the order of `classes_`.  For continuous and
        ordinal features and one target; missing values have no place in the order, and go with `missing="direction"` or "error"
        alone.
    interaction_cst : list of lists of str or of int, "pairwise", "no_interactions" or None, default=None
        Groups of features, by name or index: a node tests only features that share a group with all features tested above it.
        Features in no group make up one more group.  "pairwise": at most two features on a path; "no_interactions": one.
    priors : dict, array-like of shape (n_classes,) or None, default=None
        Share of each class where the tree will be used, `{class: share}` or in the order of `classes_`: positive, and 1 in all
        (Breiman et al. 1984, section 4.4).  Growth, probabilities, pruning and its folds count the samples of a class such that
        they make up its share.  None: as the classes occur.
    loss_matrix : dict, array-like of shape (n_classes, n_classes) or None, default=None
        What a wrong answer costs: `{true class: {predicted class: cost}}`, costs that are not named being 1; or an array with a
        row per true class.  Finite, not negative, 0 on the diagonal, not 0 in all of a row.  A node answers the class of least
        expected cost; ``pruning_risk="error"``, reduced-error pruning, "cv" and "validation" go by costs; and splits are chosen
        as if the share of a class were its prior times the sum of its row ("altered priors", Breiman et al. 1984, section 4.4).
        None: 1 each.
    categorical_features : list of str or of int, or None, default=None
        Columns to be taken as nominal, by name or index.
    ordinal_features : dict or None, default=None
        Columns to be taken as ordinal: `{name or index: [lowest, ..., highest]}`.
    unseen : {"as_missing", "error"}, default="as_missing"
        A category at prediction that the fit did not know: treated as a missing value, or an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of `max_features`.
    n_jobs : int or None, default=None
        Threads for a table of more than 32,768 samples, as far as its recipe can be searched by bounds; -1: as many as cores.
        The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    tree_unpruned_ : Tree
        The tree as grown.  It is not saved: a loaded model has `tree_` alone.
    pruning_table_ : Bunch
        Where a subtree was chosen: `ccp_alphas` or `critical_values`, `n_leaves`, `xerror` and `xstd` (in units of the root's
        error), an entry per subtree, and the index of the `chosen` one.
    recipe_ : Recipe
        The choices that make the algorithm, as the parameters described them.
    classes_ : ndarray of shape (n_classes,)
        The classes; of several targets a list of such.
    n_classes_ : int or list of int
        Number of classes; of several targets one for each.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the table had names.
    max_features_ : int
        Number of features that each node drew.
    n_outputs_ : int
        Number of targets.
    target_names_ : list of str
        Names of the targets: of the columns of y; y, or y0, y1, ... where they have none.

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

    criterion: str = parameter("gini", one_of("gini", "entropy", "misclassification"))

    _takes_several = True

    def _recipe(self) -> Recipe:
        return CART_CLASSIFICATION.variant(impurity=self.criterion, nominal=self.nominal, missing=self.missing)


@parameters
class CARTRegressor(BaseRegressor, ConstraintChoices, LeastGain, SurrogateChoices, CARTChoices):
    """Regression tree by CART: binary splits, squared error.

    Continuous and ordinal features are split at a threshold (midway between neighbouring values of the node), nominal ones
    into two groups of categories.  A leaf predicts the weighted mean of its samples.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        Impurity of a node: the variance of its targets; their mean absolute deviation from the median, which a leaf then
        predicts; or half their mean Poisson deviance, for targets such as counts, which are not negative and not all 0 (then no
        leaf predicts 0).  With absolute error the two groups of categories are the best ones along the order of the categories'
        medians, which need not be the best of all.
    nominal : {"subset", "one_vs_rest"}, default="subset"
        A nominal feature splits the categories into two groups, or one category from the rest.
    missing : {"direction", "surrogate", "fractional", "majority", "branch", "error"}, default="direction"
        What becomes of a sample whose tested value is missing, in training and in prediction:

        - "direction": it goes to the side that gained most in training.
        - "surrogate": as tests of other features say that imitate this one best (Breiman et al. 1984, section 5.3).
        - "fractional": to both sides, with shares in proportion to their known weight (Quinlan 1993, chapter 3); the answer is
          that of the leaves by their shares.  A node that weighs less than one sample is not split (where weights are not whole
          numbers: one of average weight).
        - "majority": to the side of more known weight, the second on a tie.
        - "branch": to a third branch of its own, which counts in the gain and must be as large as any leaf; or known against
          missing is all that a node tests.  Where too few values are missing for a branch they go to the heavier side.
        - "error": it is refused.

        Samples whose value is missing have no part in the gain of a test by "surrogate", "fractional" and "majority".  Where
        training saw none a missing value goes to the side of more samples ("direction") or of more weight.
    max_surrogates : int, default=5
        With `missing="surrogate"`: how many of them a node keeps, the most agreeing first; 0: none.
    surrogate_agreement : {"all", "known"}, default="all"
        What part of the weight a surrogate sends the test's way: of all samples that know the test's value, or of those that know
        the surrogate's too.
    no_surrogate : {"majority", "stop"}, default="majority"
        A sample on which no surrogate decides goes to the side of more known weight (and stays in the node where both weigh the
        same), or stays in the node: it counts in neither branch, and at prediction gets the node's own answer.
    pruning : {"cost_complexity", "c_alpha", "reduced_error"} or None, default=None
        "cost_complexity": the subtree of least `risk plus ccp_alpha times its leaves` (Breiman et al. 1984, chapter 3).
        "c_alpha": of least `weight x impurity, summed over leaves, plus alpha times their number` (Li Hang 2012, section 5.4).
        "reduced_error": of least error on samples held out from the growth (Quinlan 1987).  None: as grown.  Samples that judge,
        here and below, do so by the criterion, around the answers of the tree: squared errors, absolute errors, or half the
        Poisson deviance (where an answer of 0 counts as 1e-10 of the largest target).
    ccp_alpha : float, "cv" or "validation", default=0.0
        What a leaf costs in cost-complexity pruning, in impurity per unit weight, as in scikit-learn; above 0 it asks for that
        pruning.  "cv" chooses it by cross-validation, "validation" on samples held out.
    cv : int, splitter or list of (train, test), default=10
        Folds of ``ccp_alpha="cv"``; a number makes random ones.
    rule : {"best", "1se"}, default="best"
        What is chosen on other samples: the subtree of least error, or the smallest within one standard error of it.
    validation_fraction : float, default=0.3
        Share of the samples that is held out from the growth, where a pruning needs it.
    tolerance : float, default=0.0
        Reduced-error: by how much the error per unit weight may rise at a node that is pruned.
    alpha : float, default=0.0
        C_alpha: what a leaf costs, in weight times impurity.
    max_depth : int or None, default=None
        Largest number of tests on a path.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves: the nodes of largest gain times weight are split first.
    min_samples_split : int or float, default=2
        A node with fewer samples is a leaf; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Least number of samples in either branch; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of either branch, as a share of the weight of all samples.
    min_impurity_decrease : float, default=0.0
        Least gain of a split times the node's share of the weight of all samples.
    min_impurity : float, default=0.0
        A node of smaller impurity is a leaf.
    min_gain : float or None, default=None
        A node is split only by a gain per unit weight larger than this, in the unit of the impurity; None: every split will do.
    max_bins : int or None, default=None
        A continuous feature of more values than this, 2 to 65,535, is cut only between so many bins of nearly equal numbers of
        samples; a value that many samples have is a bin of its own.  None: between any two values.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that each node draws to choose from; a float is a share of all features.
    monotonic_cst : array-like of shape (n_features,), dict or None, default=None
        Per feature, or `{name or index: ...}` for some: 1, the prediction does not fall as the feature rises, all others being
        equal; -1, it does not rise; 0, free.  The prediction is the mean of the leaf.  For continuous and
        ordinal features, one target and means, not medians; missing values have no place in the order, and go with
        `missing="direction"` or "error" alone.
    interaction_cst : list of lists of str or of int, "pairwise", "no_interactions" or None, default=None
        Groups of features, by name or index: a node tests only features that share a group with all features tested above it.
        Features in no group make up one more group.  "pairwise": at most two features on a path; "no_interactions": one.
    categorical_features : list of str or of int, or None, default=None
        Columns to be taken as nominal, by name or index.
    ordinal_features : dict or None, default=None
        Columns to be taken as ordinal: `{name or index: [lowest, ..., highest]}`.
    unseen : {"as_missing", "error"}, default="as_missing"
        A category at prediction that the fit did not know: treated as a missing value, or an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of `max_features`.
    n_jobs : int or None, default=None
        Threads for a table of more than 32,768 samples, as far as its recipe can be searched by bounds; -1: as many as cores.
        The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    tree_unpruned_ : Tree
        The tree as grown.  It is not saved: a loaded model has `tree_` alone.
    pruning_table_ : Bunch
        Where a subtree was chosen: `ccp_alphas` or `critical_values`, `n_leaves`, `xerror` and `xstd` (in units of the root's
        error), an entry per subtree, and the index of the `chosen` one.
    recipe_ : Recipe
        The choices that make the algorithm, as the parameters described them.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the table had names.
    max_features_ : int
        Number of features that each node drew.
    n_outputs_ : int
        Number of targets.
    target_names_ : list of str
        Names of the targets: of the columns of y; y, or y0, y1, ... where they have none.

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

    criterion: str = parameter("squared_error", one_of("squared_error", "absolute_error", "poisson"))

    _takes_several = True

    def _recipe(self) -> Recipe:
        return CART_REGRESSION.variant(impurity=self.criterion, nominal=self.nominal, missing=self.missing)


TreeEstimator: TypeAlias = ID3Classifier | C45Classifier | CARTClassifier | CARTRegressor | TreeClassifier | TreeRegressor

_ESTIMATORS: dict[tuple[str, str], type[TreeEstimator]] = {
    (ID3.name, "classification"): ID3Classifier,
    (C45.name, "classification"): C45Classifier,
    (CART_CLASSIFICATION.name, "classification"): CARTClassifier,
    (CART_REGRESSION.name, "regression"): CARTRegressor,
    (BY_RECIPE, "classification"): TreeClassifier,
    (BY_RECIPE, "regression"): TreeRegressor,
}


def load(source: str | os.PathLike[str] | BinaryIO, *, max_bytes: int | None = None) -> TreeEstimator | C45Rules:
    """Read a fitted estimator from a file that its `save` wrote.

    Nothing in a file is run, and nothing in it is believed: a file that is damaged or forged is refused with one error, which
    says where it is wrong.  The memory that reading takes is in proportion to the size of the text.

    Parameters
    ----------
    source : path or binary file
        JSON file, or compressed JSON file.
    max_bytes : int or None, default=None
        Most text to read, after decompression.  None: 2 GiB, and of a compressed file 200 times its size, or 64 KiB if that is
        more.  Set it lower for files from strangers.

    Returns
    -------
    estimator
        Of the class, with the parameters and the tree or rules that were saved; its predictions are those of the saved one, bit
        for bit.

    Raises
    ------
    ValueError
        If the file is not such a document, or its algorithm is unknown.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import fasttree
    >>> model = fasttree.CARTClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.json"))
    ...     fasttree.load(os.path.join(folder, "model.json")).predict([[3.0]])
    array(['yes'], dtype='<U3')
    """
    with _document.errors_in(source):
        return from_document(_document.load(source, max_bytes=max_bytes))


def loads(text: str | bytes, *, max_bytes: int | None = None) -> TreeEstimator | C45Rules:
    """Read a fitted estimator from what its `export_json` returned, or from the bytes of its file.

    Parameters
    ----------
    text : str or bytes
        JSON; bytes in UTF-8, or compressed by gzip.
    max_bytes : int or None, default=None
        As for `load`, of compressed bytes.

    Returns
    -------
    estimator
        As from `load`.

    Raises
    ------
    ValueError
        If the text is not such a document, or its algorithm is unknown.

    Examples
    --------
    >>> import fasttree
    >>> model = fasttree.CARTClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    >>> fasttree.loads(model.export_json()).predict([[3.0]])
    array(['yes'], dtype='<U3')
    """
    return from_document(_document.loads(text, max_bytes=max_bytes))


def from_document(document: dict[str, Any]) -> TreeEstimator | C45Rules:
    """Make the estimator that a document describes; raises `DocumentError` if it does not describe one."""
    from . import rules  # which imports this file: rules are made of the trees that are grown here

    if _document.check_format(document, {_document.FORMAT: _document.VERSION, rules.FORMAT: rules.VERSION}) == rules.FORMAT:
        return rules.C45Rules._from_document(document)
    saved = _document.from_document(document)
    estimator = _ESTIMATORS.get((saved.algorithm, saved.tree.task))
    if estimator is None:
        known = ", ".join(f"{algorithm} ({task})" for algorithm, task in _ESTIMATORS)
        given = f"{_document.short(saved.algorithm)} ({saved.tree.task})"
        raise _document.DocumentError(f"algorithm: this version knows trees by {known}; got {given}")
    with _document.errors_of_settings():
        model = estimator._from_settings(saved.settings)
        model._keep(saved.tree, model._checked_recipe(), saved.schema)
    if saved.classes is not None:
        model._keep_classes(saved.classes)
    model.target_names_ = saved.target_names
    return model
