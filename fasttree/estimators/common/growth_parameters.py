"""Groups of parameters for the reading of columns and the growth of trees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fasttree._data.checks import is_amount, is_fraction, is_integer, is_list, is_number
from fasttree._learn.parameters import (
    AMOUNT,
    AMOUNT_OR_NONE,
    COUNT,
    COUNT_OR_NONE,
    FLAG,
    POSITIVE,
    ParameterRule,
    anything,
    one_of,
    parameter,
    parameters,
)
from fasttree._learn.progress import ALLOWED_VERBOSE, is_verbose
from fasttree._model.threads import ALLOWED_N_JOBS, is_n_jobs

BALANCED = """
        "balanced": n / (k m) for a class with m of the n samples, of k classes, where samples of weight 0 do not count."""


@parameters
class Reading:
    """Kinds of columns, seed, threads and progress."""

    categorical_features: Sequence[str] | Sequence[int] | None = parameter(
        None,
        anything("list of str or of int, or None"),
        """Columns to take as nominal, by name or index.  Integer columns are nominal too if the algorithm does not take
        continuous features.""",
    )
    ordinal_features: Mapping[Any, Sequence[Any]] | None = parameter(
        None,
        anything("dict or None"),
        "Columns to take as ordinal, with their categories: `{name or index: [lowest, ..., highest]}`.",
    )
    unseen: str = parameter(
        "as_missing",
        one_of("as_missing", "error"),
        "How prediction treats a category that did not occur in the fit: as a missing value, or as an error.",
    )
    random_state: int | np.random.RandomState | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or isinstance(value, np.random.RandomState) or (is_integer(value) and 0 <= value < 2**32),
            "an integer in [0, 2**32 - 1], a numpy.random.RandomState, or None",
            "int, RandomState instance or None",
        ),
        "Seed of all random draws: the features of `max_features`, folds, and samples held out.",
    )
    n_jobs: int | None = parameter(
        None,
        ParameterRule(is_n_jobs, ALLOWED_N_JOBS, "int or None"),
        """Number of threads; -1 means one per core.  Threads share the growth of a tree if there are at least 16,384 samples
        where bounds can search the recipe, or more than 8,192 where they cannot, and the prediction of 50,000 rows and more of
        a matrix, or 32,768 of any other table.  Results do not depend on their number.""",
    )
    verbose: int = parameter(
        0,
        ParameterRule(is_verbose, ALLOWED_VERBOSE, "int"),
        """Whether `fit` shows its progress: bars on a terminal or in a notebook, and nothing in a pipe, as `fasttree.progress`
        draws them.  All integers above 0 have the same effect.  Files of trees and rules do not contain it.""",
    )


@parameters
class GrowthLimits:
    """Limits of growth, and numbers of features and of bins that compete."""

    max_depth: int | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or (is_integer(value) and value >= 1),
            "an integer >= 1, or None for no limit",
            "int or None",
        ),
        "Largest number of tests on a path.",
    )
    min_samples_split: float = parameter(
        2,
        ParameterRule(
            lambda value: (is_integer(value) and value >= 2) or is_fraction(value),
            "an integer >= 2, or a float in (0, 1] as a share of the samples",
            "int or float",
        ),
        "A node with fewer samples is a leaf.  A float is a share of all samples.",
    )
    min_samples_leaf: float = parameter(
        1,
        ParameterRule(
            lambda value: (is_integer(value) and value >= 1) or (is_fraction(value) and value < 1),
            "an integer >= 1, or a float in (0, 1) as a share of the samples",
            "int or float",
        ),
        "Smallest number of samples in every non-empty branch.  A float is a share of all samples.",
    )
    min_weight_fraction_leaf: float = parameter(
        0.0,
        ParameterRule(lambda value: is_amount(value) and value <= 0.5, "a number in [0, 0.5]", "float"),
        "Smallest weight of every non-empty branch, as a share of the weight of all samples.",
    )
    min_impurity_decrease: float = parameter(
        0.0, AMOUNT, "Smallest gain of a split, multiplied by the node's share of the weight of all samples."
    )
    min_impurity: float = parameter(0.0, AMOUNT, "A node of smaller impurity is a leaf.")
    max_bins: int | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or (is_integer(value) and 2 <= value <= 65_535),
            "an integer from 2 to 65,535, or None for every value",
            "int or None",
        ),
        """Largest number of bins of a continuous feature, 2 to 65,535.  A feature with more values is cut only between bins,
        which have nearly equal numbers of samples; a value that many samples share is a bin of its own.  None: a cut may be
        between any two values.""",
    )
    max_features: float | str | None = parameter(
        None,
        ParameterRule(
            lambda value: (
                value is None
                or (isinstance(value, str) and value in ("sqrt", "log2"))
                or (is_integer(value) and value >= 1)
                or is_fraction(value)
            ),
            "an integer >= 1, a float in (0, 1] as a share of the features, 'sqrt', 'log2', or None for all",
            'int, float, "sqrt", "log2" or None',
        ),
        """Number of features that each node draws to choose from.  A float is a share of all features.  If splits are
        equal, that of the feature drawn first is used.""",
    )


@parameters
class TreeLimits(GrowthLimits):
    """Limits of trees that rules do not have."""

    max_leaf_nodes: int | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or (is_integer(value) and value >= 2),
            "an integer >= 2, or None for no limit",
            "int or None",
        ),
        "Largest number of leaves.  The nodes with the largest gain times weight are split first.",
    )


@parameters
class LookaheadChoice:
    """How far growth looks ahead."""

    lookahead: int = parameter(
        1,
        ParameterRule(lambda value: is_integer(value) and value in (1, 2), "1 or 2", "int"),
        """Number of levels that a split looks ahead.  1: a split has the largest gain.  2: a split is the root of the tree of two
        levels with the largest gain.  Such a tree keeps `max_depth`, `min_samples_split` and the smallest sizes of leaves;
        `min_gain` and `min_impurity_decrease` limit its gain.  Among equal roots, that with the largest gain of its own is used,
        then the first feature, then its lowest threshold.  This takes longer.  It needs a recipe that splits by gain, at
        thresholds and into two groups of categories, with `missing="direction"` or "error", and one target, and it has no
        constraints, bins or drawn features.""",
    )


@parameters
class LeastGain:
    """The smallest gain of a split."""

    min_gain: float | None = parameter(
        None,
        AMOUNT_OR_NONE,
        """A node is split only if the gain per unit weight, in the unit of the impurity (entropy is in bits), is larger than
        this.  None: every split is allowed, or, if categories have a branch each (but not in Release 8), every split with a
        gain.""",
    )


@parameters
class ClassChoices:
    """Choices of growth for classes."""

    split_p_value: float | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or (is_number(value) and 0 < value <= 1),
            "a number in (0, 1], such as 0.05, or None for no such test",
            "float or None",
        ),
        """A node is split only if Pearson's chi-square test finds a p-value of at most this: the probability, under
        independence, that the classes depend on the branches as much as they do (Quinlan 1986).  None: no test.""",
    )
    class_weight: Mapping[Any, float] | Sequence[Mapping[Any, float]] | str | None = parameter(
        None,
        ParameterRule(
            lambda value: (
                value is None
                or isinstance(value, Mapping)
                or (isinstance(value, str) and value == "balanced")
                or (isinstance(value, list | tuple) and all(isinstance(entry, Mapping) for entry in value))
            ),
            "a dict {class: weight} (several targets: a list of such dicts), 'balanced' or None",
            'dict, list of dict, "balanced" or None',
        ),
        """Weight of each class, by which the sample weights are multiplied.  Several targets, where they are supported, take a
        list with a dict for each."""
        + BALANCED,
    )


@parameters
class SurrogateChoices:
    """Choices of surrogates."""

    max_surrogates: int = parameter(
        5,
        ParameterRule(lambda value: is_integer(value) and value >= 0, "an integer >= 0", "int"),
        'With `missing="surrogate"`: largest number of surrogates of a node, which keeps the most agreeing first.  0: none.',
    )
    surrogate_agreement: str = parameter(
        "all",
        one_of("all", "known"),
        """The agreement of a surrogate is the share of the weight that it sends the same way as the test.  "all" counts the
        samples whose value of the test is known, "known" only those whose value of the surrogate is known too.""",
    )
    no_surrogate: str = parameter(
        "majority",
        one_of("majority", "stop", "more_samples"),
        """Where a sample goes if no surrogate decides:

        - "majority": to the side of more known weight.  It stays in the node if both sides weigh the same.
        - "stop": it stays in the node.  It counts in neither branch, and its prediction is that of the node.
        - "more_samples": in growth, and in the folds of ``ccp_alpha="cv"``, the same as "majority", or as "stop" if
          `max_surrogates` is 0.  In prediction, to the branch that more samples reached in training, whatever their weight; it
          stays in the node if the branches have equally many.  This is what rpart does.""",
    )


@parameters
class ConstraintChoices:
    """Constraints on the order of predictions and on the features of a path."""

    monotonic_cst: ArrayLike | Mapping[Any, int] | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or isinstance(value, Mapping) or is_list(value),
            "a list of -1, 0 or 1 per feature, a dict {feature: -1, 0 or 1}, or None",
            "array-like of shape (n_features,), dict or None",
        ),
        """Direction of each feature, or of some as `{name or index: direction}`.  1: the prediction does not fall if the
        feature rises and all others stay equal; -1: it does not rise; 0: no constraint.  The prediction is the mean of a leaf;
        for two classes, the probability of the second; for more, the mean class index in the order of `classes_`.  Constraints
        need continuous or ordinal features, one target, and means, not medians.  Missing values have no place in the order, so
        that constraints need `missing="direction"` or "error".""",
    )
    interaction_cst: Sequence[Any] | str | None = parameter(
        None,
        ParameterRule(
            lambda value: (
                value is None or is_list(value) or (isinstance(value, str) and value in ("pairwise", "no_interactions"))
            ),
            "a list of groups of column names or indices, such as [[0, 1], [2]], 'pairwise', 'no_interactions', or None",
            'list of lists of str or of int, "pairwise", "no_interactions" or None',
        ),
        """Groups of features, by name or index.  A node tests only features that share a group with all features tested above
        it.  Features in no group form one more group.  "pairwise" allows at most two features on a path, "no_interactions"
        one.""",
    )


LOSS_MATRIX = ParameterRule(
    lambda value: value is None or isinstance(value, Mapping | list | tuple | np.ndarray),
    "a dict {true class: {predicted class: cost}} (of a DataFrame with a row per true class: to_dict('index')), an array with a "
    "row per true class, or None",
    "dict, array-like of shape (n_classes, n_classes) or None",
)


@parameters
class CostChoices:
    """Shares of the classes where the tree is used, and costs of wrong predictions there."""

    priors: Mapping[Any, float] | ArrayLike | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or isinstance(value, Mapping | list | tuple | np.ndarray),
            "a dict {class: share} (of a Series: to_dict()), an array with a share per class in their order, or None",
            "dict, array-like of shape (n_classes,) or None",
        ),
        """Share of each class where the tree will be used, as `{class: share}` or in the order of `classes_` (Breiman et al.
        1984, section 4.4).  Shares are positive and sum to 1.  Growth, probabilities, pruning and its folds weigh the samples
        of each class so that they make up its share.  None: the shares of the training samples.""",
    )
    loss_matrix: Mapping[Any, Mapping[Any, float]] | ArrayLike | None = parameter(
        None,
        LOSS_MATRIX,
        """Cost of each wrong prediction: `{true class: {predicted class: cost}}`, in which a cost that is not named is 1, or
        an array with a row per true class.  Costs are finite and not negative, 0 on the diagonal, and not 0 in all of a row.
        A node predicts the class of the smallest expected cost.  Cost-complexity pruning with
        ``risk="error"``, reduced-error pruning, "cv" and "validation" count costs.  Splits are chosen as if the share of a
        class were its prior times the sum of its row ("altered priors", Breiman et al. 1984, section 4.4).  None: every cost
        is 1.""",
    )


@parameters
class WeightLimits:
    """Smallest weights of a branch in Release 8, and of the parts of samples."""

    min_samples_branch: float = parameter(
        2,
        POSITIVE,
        """A split needs at least two branches of this weight.  This is a limit of Release 8 only (option `-m`).  Weights count
        samples: with sample weights that sum to 1 nothing would be split.""",
    )
    min_part_weight: float = parameter(
        0.0,
        AMOUNT,
        """A sample with a missing value is divided among the branches, if the algorithm does so, only while its part weighs at
        least this, in training, in the unit of the sample weights.  A lighter part follows the heaviest branch.  0, as in
        C4.5, always divides.  If a fifth of the cells are missing and rows are many, 0.1 halves the time or better.""",
    )


@parameters
class C45Choices:
    """Choices of C4.5, for its trees and for the trees from which its rules are made."""

    criterion: str = parameter(
        "gain_ratio",
        one_of("gain_ratio", "gain"),
        'Criterion by which the splits of different features compete.  Option `-g` of the original is "gain".',
    )
    variant: str = parameter(
        "release8",
        one_of("release8", "textbook"),
        """The program, or the algorithm as textbooks describe it: the largest gain ratio of all features without a filter by
        average gain, thresholds midway between two values of the node, no smallest weight of a branch, no penalty for many
        thresholds, a branch per category that occurs, and no split taken back.""",
    )
    epsilon: float = parameter(
        0.0, AMOUNT, 'With `variant="textbook"`: a split needs a gain ratio (or gain, in bits) larger than this.'
    )
    subset: bool = parameter(
        False,
        FLAG,
        """Whether a split of a feature with more than two categories groups them, by greedy merging (option `-s`).  Only
        Release 8 does so.  A feature may have at most 1,000 categories, as the time grows with their third power.""",
    )
    windowing: bool = parameter(
        False,
        FLAG,
        """Whether trees are grown on a random window of the samples.  Samples that the tree predicts wrongly are added to the
        window until there are none.  The tree of the trial with the fewest estimated errors predicts (options `-t`, `-w`,
        `-i`).""",
    )
    n_trials: int = parameter(10, COUNT, "With `windowing`: number of trials.")
    window_size: int | None = parameter(
        None,
        COUNT_OR_NONE,
        """With `windowing`: number of samples in the first window.  None: a fifth of all samples, and at least twice their
        square root.""",
    )
    window_increment: int | None = parameter(
        None,
        COUNT_OR_NONE,
        """With `windowing`: largest number of samples added to a window at a time, unless half of the exceptions are more.
        None: a fifth of the first window.""",
    )


def count(number: int | float, n_samples: int) -> int:
    """Return a number of samples given as such, or as a share of `n_samples`, rounded up as scikit-learn does."""
    return int(number) if type(number) is int or isinstance(number, Integral) else math.ceil(number * n_samples)
