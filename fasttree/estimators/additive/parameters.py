"""Parameters of additive models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from fasttree._data.checks import is_integer, is_list, is_number
from fasttree._learn.parameters import AMOUNT, COUNT, ParameterRule, parameter, parameters


def _is_interactions(value: Any) -> bool:
    return (is_integer(value) and value >= 0) or (isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping))


RATE = ParameterRule(
    lambda value: value is None or (is_number(value) and 0 < value <= 1), "a number in (0, 1], or None", "float or None"
)
NONE_OR_MORE = ParameterRule(lambda value: is_integer(value) and value >= 0, "an integer >= 0", "int")


@parameters
class AdditiveChoices:
    """Rates, rounds, bags, bins, pairs and constraints of additive models."""

    learning_rate: float | None = parameter(
        None,
        RATE,
        """Factor of the steps of all trees.  None: 0.3 if there are at least 10,000 samples, which allow more steps than
        `max_iter` small ones, else 0.1.""",
    )
    l2_regularization: float = parameter(0.0, AMOUNT, "Amount added to the weight of each leaf, which makes its step smaller.")
    max_iter: int = parameter(5000, COUNT, "Largest number of rounds of a bag.  In a round, each feature gets one tree.")
    max_leaf_nodes: int = parameter(
        2,
        ParameterRule(lambda value: is_integer(value) and 2 <= value <= 32, "an integer from 2 to 32", "int"),
        "Leaves of a tree, 2 to 32.  A tree of a pair has 4.",
    )
    min_samples_leaf: int = parameter(4, COUNT, "Smallest number of samples of a leaf.")
    smoothing_rounds: int = parameter(
        200,
        NONE_OR_MORE,
        """Number of rounds, the first ones, whose trees have random cuts.  They make shapes smoother, and predictions of small
        tables better.""",
    )
    max_bins: int = parameter(
        256,
        ParameterRule(lambda value: is_integer(value) and 2 <= value <= 65_000, "an integer from 2 to 65,000", "int"),
        """Largest number of bins of a continuous feature, 2 to 65,000.  With at most as many values, each has a bin; else bins
        have nearly equal numbers of samples.""",
    )
    n_bags: int = parameter(
        8,
        ParameterRule(lambda value: is_integer(value) and 1 <= value <= 1_000, "an integer from 1 to 1,000", "int"),
        """Number of fits, 1 to 1,000, each with another part of the samples for validation.  The model is their mean, and their
        standard deviation is the band around a shape.""",
    )
    validation_fraction: float = parameter(
        0.15,
        ParameterRule(lambda value: is_number(value) and 0 <= value < 0.5, "a number in [0, 0.5)", "float"),
        """Share of the samples, of each class, that a bag does not fit.  Their loss chooses the round whose tables are kept.
        0: all samples are fitted, for `max_iter` rounds.""",
    )
    n_iter_no_change: int = parameter(
        100,
        COUNT,
        """A bag stops after as many rounds, not counting those with random cuts, in which the loss of its validation part did
        not fall by a share of 1e-5 of the loss without features.""",
    )
    interactions: int | Sequence[Sequence[Any]] = parameter(
        0,
        ParameterRule(
            _is_interactions,
            "an integer >= 0, or a list of pairs of column names or indices, such as [(0, 1)]",
            "int or list of pairs of str or of int",
        ),
        """Pairs of features that get a table of their own, after the tables of the features: pairs that are listed, or a
        number of pairs to find.  Those whose best two cuts gain most are found (FAST, Lou et al. 2013).""",
    )
    monotonic_cst: ArrayLike | Mapping[Any, int] | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or isinstance(value, Mapping) or is_list(value),
            "a list of -1, 0 or 1 per feature, a dict {feature: -1, 0 or 1}, or None",
            "array-like of shape (n_features,), dict or None",
        ),
        """Direction of the shape of each feature, or of some features as `{name or index: direction}`.  1: the score does not
        fall if the feature rises; -1: it does not rise; 0: no constraint.  Constraints need continuous or ordinal features, at
        most two classes, and features that are in no pair.  Missing values have no place in the order.""",
    )
