"""The parameters of estimators: each one's name, type, default and rule, in groups that estimators are put together from.

A group is a dataclass, and an estimator takes the groups among its bases: the dataclass machinery writes the constructor whose
signature scikit-learn reads, the groups from the last base to the first, the estimator's own parameters at the end.  What the
parameters mean is said in the docstring of each estimator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike

Rule = tuple[Callable[[Any], bool], str]  # whether a parameter's value is allowed, and what is
T = TypeVar("T")


@dataclass_transform(kw_only_default=True, eq_default=False)
def parameters(of: type[T]) -> type[T]:
    """Make a group, or an estimator, of a class whose annotations are parameters."""
    return dataclass(kw_only=True, eq=False, repr=False, match_args=False)(of)


def parameter(default: Any, rule: Rule | None = None) -> Any:
    """A parameter's default, and what it may be; None: whatever the table says to it."""
    return field(default=default, metadata={} if rule is None else {"rule": rule})


@lru_cache(maxsize=64)
def rules_of(estimator: type) -> Mapping[str, Rule]:
    """The rules of an estimator's parameters; every default meets its own."""
    return {found.name: found.metadata["rule"] for found in fields(estimator) if "rule" in found.metadata}


@lru_cache(maxsize=64)
def defaults_of(estimator: type) -> Sequence[tuple[str, Any]]:
    """The names and defaults of an estimator's parameters."""
    return [(found.name, found.default) for found in fields(estimator)]


def is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def is_fraction(value: Any) -> bool:
    """Whether `value` is a share in (0, 1], told from a count by its type, as scikit-learn does: 1.0 is a share, 1 a count."""
    return is_number(value) and not is_integer(value) and 0 < value <= 1


def is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def on_a_line(value: Any) -> str:
    """What was given, for a message: tables and long lists write many lines."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else f"{text[:200]}..."


def is_amount(value: Any) -> bool:
    return is_number(value) and 0 <= value < math.inf


def one_of(*words: str | None) -> Rule:
    listed = ", ".join(map(repr, words[:-1])) + f" or {words[-1]!r}"
    return lambda value: (value is None or isinstance(value, str)) and value in words, listed


AMOUNT: Rule = is_amount, "a finite number >= 0"
AMOUNT_OR_NONE: Rule = lambda value: value is None or is_amount(value), "a finite number >= 0, or None"
POSITIVE: Rule = lambda value: is_amount(value) and value > 0, "a finite number > 0"
ANYTHING: Rule = lambda value: True, "anything"
COUNT: Rule = lambda value: is_integer(value) and value >= 1, "an integer >= 1"
COUNT_OR_NONE: Rule = lambda value: value is None or (is_integer(value) and value >= 1), "an integer >= 1, or None"
FLAG: Rule = lambda value: isinstance(value, bool | np.bool_), "True or False"


def share_such_as(example: float) -> Rule:
    return lambda value: is_number(value) and 0 < value < 1, f"a number in (0, 1), such as {example}"


def probability_such_as(example: float) -> Rule:
    return lambda value: is_number(value) and 0 < value <= 1, f"a number in (0, 1], such as {example}"


# What each method of pruning is told; a method without an entry for regression is for classes alone.
PRUNINGS: dict[str, tuple[str, ...]] = {
    "cost_complexity": ("ccp_alpha", "pruning_risk", "rule"),
    "c_alpha": ("alpha", "alpha_unit"),
    "reduced_error": ("tolerance",),
    "pessimistic": (),
    "error_based": ("confidence",),
    "minimum_error": ("m",),
    "critical_value": ("critical_value", "rule"),
    "chi_square": ("max_p_value",),
}
COUNTS_ERRORS = ("pessimistic", "error_based", "minimum_error")  # and take them for those of a binomial
REGRESSION_PRUNINGS: dict[str, tuple[str, ...]] = {
    "cost_complexity": ("ccp_alpha", "rule"),
    "c_alpha": ("alpha",),
    "reduced_error": ("tolerance",),
}


@parameters
class Reading:
    """How columns are read; and the seed."""

    categorical_features: Sequence[str] | Sequence[int] | None = parameter(None)
    ordinal_features: Mapping[Any, Sequence[Any]] | None = parameter(None)
    unseen: str = parameter("as_missing", one_of("as_missing", "error"))
    random_state: int | np.random.RandomState | None = parameter(
        None,
        (
            lambda value: value is None or isinstance(value, np.random.RandomState) or (is_integer(value) and 0 <= value < 2**32),
            "an integer in [0, 2**32 - 1], a numpy.random.RandomState, or None",
        ),
    )
    n_jobs: int | None = parameter(
        None,
        (
            lambda value: value is None or (is_integer(value) and value != 0),
            "a number of threads, or -1 for all cores, -2 for all but one, ..., or None for one",
        ),
    )


@parameters
class GrowthLimits:
    """Where growth stops, how many features compete, and at how many places each."""

    max_depth: int | None = parameter(
        None, (lambda value: value is None or (is_integer(value) and value >= 1), "an integer >= 1, or None for no limit")
    )
    min_samples_split: float = parameter(
        2,
        (
            lambda value: (is_integer(value) and value >= 2) or is_fraction(value),
            "an integer >= 2, or a float in (0, 1] as a share of the samples",
        ),
    )
    min_samples_leaf: float = parameter(
        1,
        (
            lambda value: (is_integer(value) and value >= 1) or (is_fraction(value) and value < 1),
            "an integer >= 1, or a float in (0, 1) as a share of the samples",
        ),
    )
    min_weight_fraction_leaf: float = parameter(0.0, (lambda value: is_amount(value) and value <= 0.5, "a number in [0, 0.5]"))
    min_impurity_decrease: float = parameter(0.0, AMOUNT)
    min_impurity: float = parameter(0.0, AMOUNT)
    max_bins: int | None = parameter(
        None,
        (
            lambda value: value is None or (is_integer(value) and 2 <= value <= 65_535),
            "an integer from 2 to 65,535, or None for every value",
        ),
    )
    max_features: float | str | None = parameter(
        None,
        (
            lambda value: (
                value is None
                or (isinstance(value, str) and value in ("sqrt", "log2"))
                or (is_integer(value) and value >= 1)
                or is_fraction(value)
            ),
            "an integer >= 1, a float in (0, 1] as a share of the features, 'sqrt', 'log2', or None for all",
        ),
    )


@parameters
class TreeLimits(GrowthLimits):
    """What trees say besides, and rules do not."""

    max_leaf_nodes: int | None = parameter(
        None, (lambda value: value is None or (is_integer(value) and value >= 2), "an integer >= 2, or None for no limit")
    )


@parameters
class LeastGain:
    """What a split must gain at least."""

    min_gain: float | None = parameter(None, AMOUNT_OR_NONE)


@parameters
class ClassChoices:
    """What growth is told about classes."""

    max_split_p_value: float | None = parameter(
        None,
        (
            lambda value: value is None or (is_number(value) and 0 < value <= 1),
            "a number in (0, 1], such as 0.05, or None for no such test",
        ),
    )
    class_weight: Mapping[Any, float] | Sequence[Mapping[Any, float]] | str | None = parameter(
        None,
        (
            lambda value: (
                value is None
                or isinstance(value, Mapping)
                or (isinstance(value, str) and value == "balanced")
                or (isinstance(value, list | tuple) and all(isinstance(entry, Mapping) for entry in value))
            ),
            "a dict {class: weight} (several targets: a list of such dicts), 'balanced' or None",
        ),
    )


@parameters
class RegressionPruning:
    """The prunings that go by a risk, which numeric targets have too, and how samples judge."""

    pruning: str | None = parameter(None, one_of(*REGRESSION_PRUNINGS, None))
    ccp_alpha: float | str = parameter(
        0.0,
        (
            lambda value: is_amount(value) or (isinstance(value, str) and value in ("cv", "validation")),
            "a finite number >= 0, 'cv' or 'validation'",
        ),
    )
    cv: Any = parameter(
        10,
        (
            lambda value: (is_integer(value) and value >= 2) or hasattr(value, "split") or isinstance(value, list | tuple),
            "an integer >= 2, a splitter of scikit-learn, or a list of pairs of rows (train, test)",
        ),
    )
    rule: str = parameter("best", one_of("best", "1se"))
    validation_fraction: float = parameter(0.3, share_such_as(0.3))
    tolerance: float = parameter(0.0, AMOUNT)
    alpha: float = parameter(0.0, AMOUNT)


@parameters
class Pruning(RegressionPruning):
    """All prunings: those, and the ones for classes alone."""

    pruning: str | None = parameter(None, one_of(*PRUNINGS, None))
    pruning_risk: str = parameter("impurity", one_of("impurity", "error"))
    alpha_unit: str = parameter("bits", one_of("bits", "nats"))
    confidence: float = parameter(0.25, share_such_as(0.25))
    m: float | str = parameter(
        2.0,
        (
            lambda value: is_amount(value) or (isinstance(value, str) and value == "laplace"),
            "a finite number >= 0, or 'laplace'",
        ),
    )
    critical_value: float | None = parameter(
        None,
        (lambda value: value is None or is_amount(value), "a finite number >= 0, or None to choose it on samples held out"),
    )
    max_p_value: float = parameter(0.05, probability_such_as(0.05))


@parameters
class SurrogateChoices:
    """What speaks of surrogates alone."""

    max_surrogates: int = parameter(5, (lambda value: is_integer(value) and value >= 0, "an integer >= 0"))
    surrogate_agreement: str = parameter("all", one_of("all", "known"))
    no_surrogate: str = parameter("majority", one_of("majority", "stop"))


@parameters
class ConstraintChoices:
    """Which splits the features' order and company allow."""

    monotonic_cst: ArrayLike | Mapping[Any, int] | None = parameter(
        None,
        (
            lambda value: value is None or isinstance(value, Mapping) or is_list(value),
            "a list of -1, 0 or 1 per feature, a dict {feature: -1, 0 or 1}, or None",
        ),
    )
    interaction_cst: Sequence[Any] | str | None = parameter(
        None,
        (
            lambda value: (
                value is None or is_list(value) or (isinstance(value, str) and value in ("pairwise", "no_interactions"))
            ),
            "a list of groups of column names or indices, such as [[0, 1], [2]], 'pairwise', 'no_interactions', or None",
        ),
    )


@parameters
class CostChoices:
    """How often classes occur where the tree is used, and what wrong answers cost there."""

    priors: Mapping[Any, float] | ArrayLike | None = parameter(
        None,
        (
            lambda value: value is None or isinstance(value, Mapping | list | tuple | np.ndarray),
            "a dict {class: share} (of a Series: to_dict()), an array with a share per class in their order, or None",
        ),
    )
    loss_matrix: Mapping[Any, Mapping[Any, float]] | ArrayLike | None = parameter(
        None,
        (
            lambda value: value is None or isinstance(value, Mapping | list | tuple | np.ndarray),
            "a dict {true class: {predicted class: cost}} (of a DataFrame with a row per true class: to_dict('index')), an "
            "array with a row per true class, or None",
        ),
    )


@parameters
class CARTChoices:
    """The choices of CART for classes and for numbers; what its criteria are is for each of the two to say."""

    criterion: str = parameter(None)
    nominal: str = parameter("subset", one_of("subset", "one_vs_rest"))
    missing: str = parameter("direction", one_of("direction", "surrogate", "fractional", "majority", "branch", "error"))


@parameters
class WeightLimits:
    """Least weights: of a branch in Release 8, and of the parts of samples."""

    min_samples_branch: float = parameter(2, POSITIVE)
    min_part_weight: float = parameter(0.0, AMOUNT)


@parameters
class C45Choices:
    """The choices of C4.5, for its trees and for the trees that its rules are made of."""

    criterion: str = parameter("gain_ratio", one_of("gain_ratio", "gain"))
    variant: str = parameter("release8", one_of("release8", "textbook"))
    epsilon: float = parameter(0.0, AMOUNT)
    subset: bool = parameter(False, FLAG)
    windowing: bool = parameter(False, FLAG)
    n_trials: int = parameter(10, COUNT)
    window_size: int | None = parameter(None, COUNT_OR_NONE)
    window_increment: int | None = parameter(None, COUNT_OR_NONE)


def count(number: int | float, n_samples: int) -> int:
    """Return a number of samples given as such, or as a share of `n_samples`, rounded up as scikit-learn does."""
    return int(number) if isinstance(number, Integral) else math.ceil(number * n_samples)
