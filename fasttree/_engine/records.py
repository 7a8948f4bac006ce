"""What growth needs to know besides the columns, as records of the engine's door: `Spec` and `Targets` take them.

The door copies the numbers and keeps the arrays.  It checks nothing: the callers of the engine do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Policy(NamedTuple):
    """How splits are searched and how missing values are treated; enums are values of the dicts of `_core`.

    Parameters
    ----------
    impurity, nominal, ordinal, continuous, missing, rank : int
        From `IMPURITY`, `FORM` (three times), `MISSING` and `RANK`.
    release8 : bool
        The rules of C4.5 Release 8.
    known_agreement : bool
        A surrogate agrees among the samples that know both values, not among all that know the node's own.
    to_heavier : bool
        Samples on which no surrogate decides follow the heavier branch; else they stay.
    random_cuts : bool
        Each feature has one random cut in a node; see `scan/feature`.
    """

    impurity: int
    nominal: int
    ordinal: int
    continuous: int
    missing: int
    rank: int
    release8: bool
    known_agreement: bool
    to_heavier: bool
    random_cuts: bool


class EngineLimits(NamedTuple):
    """The numbers that stop growth.  Weights are in units of the samples' weights, gains and impurities per unit weight.

    Parameters
    ----------
    max_depth : int
        Negative: no limit.
    min_samples_split, min_samples_leaf : int
        Samples.
    side_share : int
        Each of two branches has more samples than those of the node divided by this, rounded down.  0: no such limit.
    min_weight_leaf, min_branch_weight, min_node_weight : float
        Weight of a leaf, of a branch under C4.5's rule, and of a node that is split where samples are divided.
    leaves_per_weight : float
        C5.0's bound of the leaves below a node, per weight of the node.  0: no bound.
    bound_share : float
        C5.0: share of its bound that the gain of a split must reach.
    min_part_weight, min_part_share : float
        Parts of samples that are lighter, or a smaller share of their sample, are not divided.
    min_impurity_decrease, min_impurity, min_gain, min_ratio : float
        A split needs more than the last two, by more than rounding.
    n_cases : float
        Weight of the whole training set, of which the samples may be some.
    max_surrogates, max_features : int
        Per node.
    critical_value : float
        Chi-square that neighbouring intervals must exceed to stay apart.
    max_intervals : int
        Per node.
    most_splits : int
        Splits of best-first growth, all into two; what cannot be among them may be left out.  0: all are made.
    bounded_from : int
        Samples from which on nodes of private blocks are searched by bounds, where large ones are.
    """

    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    side_share: int
    min_weight_leaf: float
    min_branch_weight: float
    min_node_weight: float
    leaves_per_weight: float
    bound_share: float
    min_part_weight: float
    min_part_share: float
    min_impurity_decrease: float
    min_impurity: float
    min_gain: float
    min_ratio: float
    n_cases: float
    max_surrogates: int
    max_features: int
    critical_value: float
    max_intervals: int
    most_splits: int
    bounded_from: int


class PathLimits(NamedTuple):
    """Constraints on predictions and on the features of a path.

    Parameters
    ----------
    monotone : int8 array of shape (n_features,) or None
        Whether values rise (1) or fall (-1) with a feature.
    sets_start, sets_of : int64 array of shape (n_features + 1,) and int32 array, or None
        The sets of each feature, as starts and entries.
    members_start, members : int64 array of shape (n_sets + 1,) and int32 array, or None
        The features of each set, which may be on one path.
    pairwise : bool
        Any two features may be on one path, and no more; instead of sets.
    """

    monotone: npt.NDArray[np.int8] | None = None
    sets_start: npt.NDArray[np.int64] | None = None
    sets_of: npt.NDArray[np.int32] | None = None
    members_start: npt.NDArray[np.int64] | None = None
    members: npt.NDArray[np.int32] | None = None
    pairwise: bool = False


class Sums(NamedTuple):
    """weight x target in fixed point.

    Parameters
    ----------
    sums : int64 array of shape (n_samples, n_outputs)
        weight x (target - centre), in multiples of `unit`.
    unit, centre : float64 arrays of shape (n_outputs,)
        In units of weight x target, and of the target.
    bound, deviation_bound : float64 arrays of shape (n_outputs,)
        No weight x |target|, and no weight x deviation from what a node answers, is larger.
    """

    sums: npt.NDArray[np.int64]
    unit: npt.NDArray[np.float64]
    centre: npt.NDArray[np.float64]
    bound: npt.NDArray[np.float64]
    deviation_bound: npt.NDArray[np.float64]


class Root(NamedTuple):
    """A node of a tree of a larger table, below which growth goes on with the samples of this node alone.

    Growth must have the constants of the larger table: these, those in `EngineLimits`, and the units of weights and targets.
    `max_depth` counts from the node.

    Parameters
    ----------
    n_samples : int
        Number of samples in the larger table.
    total_weight : float
        Their weight.
    reach : float
        The smallest weight x gain of the splits above the node, for best-first growth; infinity if there is none.
    """

    n_samples: int
    total_weight: float
    reach: float = float("inf")


class Scale(NamedTuple):
    """What all parts of a table must agree on before they are counted.

    Parameters
    ----------
    n_samples : int
    total_weight : float
    unit : float
        Weight of one quantum of the fixed-point weights.
    y_unit, y_centre, y_bound, deviation_bound : float
        As the fields of `Sums`; of one target.
    coarse_shift : int
        Bits that are left out of fixed-point targets, so that the squares of all of them add up.
    square_unit : float
        A quantum of weight x square in which those of weighted targets add up.
    """

    n_samples: int
    total_weight: float
    unit: float = 1.0
    y_unit: float = 1.0
    y_centre: float = 0.0
    y_bound: float = 0.0
    deviation_bound: float = 0.0
    coarse_shift: int = 0
    square_unit: float = 1.0


class ErrorRules(NamedTuple):
    """Rules of error-based pruning.

    Parameters
    ----------
    confidence, coefficient : float
        Level of the upper limit of errors, and the square of its normal quantile.
    min_part_weight : float
        A lighter part of a sample follows the heaviest branch.
    minimum : float
        The rules of C5.0: errors of branches lighter than this are predicted together.  0: the rules of Release 8.
    class_weight : tuple of two floats
        The rules of C5.0, for costs of two classes: weight of the samples of each class.
    """

    confidence: float
    coefficient: float
    min_part_weight: float
    minimum: float
    class_weight: tuple[float, float] = (1.0, 1.0)
