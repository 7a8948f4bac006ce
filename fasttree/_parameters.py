"""What the parameters of estimators may be, and checks of what `fit` is given besides the table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Rule = tuple[Callable[[Any], bool], str]  # whether a parameter's value is allowed, and what is


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
COUNT_OR_NONE: Rule = lambda value: value is None or (is_integer(value) and value >= 1), "an integer >= 1, or None"
FLAG: Rule = lambda value: isinstance(value, bool | np.bool_), "True or False"

COMMON_RULES: dict[str, Rule] = {
    "max_depth": (lambda value: value is None or (is_integer(value) and value >= 1), "an integer >= 1, or None for no limit"),
    "max_leaf_nodes": (
        lambda value: value is None or (is_integer(value) and value >= 2),
        "an integer >= 2, or None for no limit",
    ),
    "min_samples_split": (
        lambda value: (is_integer(value) and value >= 2) or is_fraction(value),
        "an integer >= 2, or a float in (0, 1] as a share of the samples",
    ),
    "min_samples_leaf": (
        lambda value: (is_integer(value) and value >= 1) or (is_fraction(value) and value < 1),
        "an integer >= 1, or a float in (0, 1) as a share of the samples",
    ),
    "min_weight_fraction_leaf": (lambda value: is_amount(value) and value <= 0.5, "a number in [0, 0.5]"),
    "min_impurity_decrease": AMOUNT,
    "min_impurity": AMOUNT,
    "max_features": (
        lambda value: (
            value is None
            or (isinstance(value, str) and value in ("sqrt", "log2"))
            or (is_integer(value) and value >= 1)
            or is_fraction(value)
        ),
        "an integer >= 1, a float in (0, 1] as a share of the features, 'sqrt', 'log2', or None for all",
    ),
    "unseen": one_of("as_missing", "error"),
    "random_state": (
        lambda value: value is None or isinstance(value, np.random.RandomState) or (is_integer(value) and 0 <= value < 2**32),
        "an integer in [0, 2**32 - 1], a numpy.random.RandomState, or None",
    ),
}
MIN_GAIN: dict[str, Rule] = {"min_gain": (lambda value: value is None or is_amount(value), "a finite number >= 0, or None")}
CLASSIFIER_RULES: dict[str, Rule] = {
    **COMMON_RULES,
    "max_split_p_value": (
        lambda value: value is None or (is_number(value) and 0 < value <= 1),
        "a number in (0, 1], such as 0.05, or None for no such test",
    ),
    "class_weight": (
        lambda value: (
            value is None
            or isinstance(value, Mapping)
            or (isinstance(value, str) and value == "balanced")
            or (isinstance(value, list | tuple) and all(isinstance(entry, Mapping) for entry in value))
        ),
        "a dict {class: weight} (several targets: a list of such dicts), 'balanced' or None",
    ),
}
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
REGRESSION_PRUNING_RULES: dict[str, Rule] = {
    "pruning": one_of(*REGRESSION_PRUNINGS, None),
    "ccp_alpha": (
        lambda value: is_amount(value) or (isinstance(value, str) and value in ("cv", "validation")),
        "a finite number >= 0, 'cv' or 'validation'",
    ),
    "alpha": AMOUNT,
    "tolerance": AMOUNT,
    "validation_fraction": (lambda value: is_number(value) and 0 < value < 1, "a number in (0, 1), such as 0.3"),
    "cv": (
        lambda value: (is_integer(value) and value >= 2) or hasattr(value, "split") or isinstance(value, list | tuple),
        "an integer >= 2, a splitter of scikit-learn, or a list of pairs of rows (train, test)",
    ),
    "rule": one_of("best", "1se"),
}
PRUNING_RULES: dict[str, Rule] = {
    **REGRESSION_PRUNING_RULES,
    "pruning": one_of(*PRUNINGS, None),
    "pruning_risk": one_of("impurity", "error"),
    "alpha_unit": one_of("bits", "nats"),
    "confidence": (lambda value: is_number(value) and 0 < value < 1, "a number in (0, 1), such as 0.25"),
    "m": (
        lambda value: is_amount(value) or (isinstance(value, str) and value == "laplace"),
        "a finite number >= 0, or 'laplace'",
    ),
    "critical_value": (
        lambda value: value is None or is_amount(value),
        "a finite number >= 0, or None to choose it on samples held out",
    ),
    "max_p_value": (lambda value: is_number(value) and 0 < value <= 1, "a number in (0, 1], such as 0.05"),
}
# Parameters that speak of surrogates alone, and what they are where nobody has.
SURROGATE_DEFAULTS: dict[str, Any] = {"max_surrogates": 5, "surrogate_agreement": "all", "no_surrogate": "majority"}
CART_RULES: dict[str, Rule] = {
    **MIN_GAIN,
    "nominal": one_of("subset", "one_vs_rest"),
    "missing": one_of("direction", "surrogate", "fractional", "majority", "branch", "error"),
    "max_surrogates": (lambda value: is_integer(value) and value >= 0, "an integer >= 0"),
    "surrogate_agreement": one_of("all", "known"),
    "no_surrogate": one_of("majority", "stop"),
    "monotonic_cst": (
        lambda value: value is None or isinstance(value, Mapping) or is_list(value),
        "a list of -1, 0 or 1 per feature, a dict {feature: -1, 0 or 1}, or None",
    ),
    "interaction_cst": (
        lambda value: value is None or is_list(value) or (isinstance(value, str) and value in ("pairwise", "no_interactions")),
        "a list of groups of column names or indices, such as [[0, 1], [2]], 'pairwise', 'no_interactions', or None",
    ),
}


COST_RULES: dict[str, Rule] = {
    "priors": (
        lambda value: value is None or isinstance(value, Mapping | list | tuple | np.ndarray),
        "a dict {class: share} (of a Series: to_dict()), an array with a share per class in their order, or None",
    ),
    "loss_matrix": (
        lambda value: value is None or isinstance(value, Mapping | list | tuple | np.ndarray),
        "a dict {true class: {predicted class: cost}} (of a DataFrame with a row per true class: to_dict('index')), an "
        "array with a row per true class, or None",
    ),
}


def check_sample_weight(sample_weight: ArrayLike, n_samples: int) -> NDArray[np.float64]:
    """Weights as a float64 array of shape (n_samples,), finite and not negative."""
    given = np.asarray(sample_weight)
    try:
        weight = given.astype(np.float64, casting="same_kind" if given.dtype.kind == "c" else "unsafe")
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold numbers: {error}") from None
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weight.shape}: must be ({n_samples},), one weight per sample")
    if not (weight >= 0).all() or np.isinf(weight).any():
        first = int(np.argmin((weight >= 0) & np.isfinite(weight)))
        raise ValueError(f"sample_weight[{first}] is {weight[first]}: weights must be finite and not negative")
    return weight


def check_not_negative(target: NDArray[np.float64]) -> None:
    """Targets that have a Poisson deviance."""
    if (target < 0).any():
        first = np.argwhere(target < 0)[0]
        raise ValueError(
            f"y[{', '.join(map(str, first))}] is {target[tuple(first)]:g}: criterion='poisson' needs targets >= 0; use "
            f"criterion='squared_error'"
        )


def check_some_positive(target: NDArray[np.float64], weight: NDArray[np.float64] | None) -> None:
    """Targets whose mean, of the samples with weight, is one from which there is a Poisson deviance."""
    counted = target if weight is None else target[weight > 0]
    if len(counted) and not counted.any(axis=0).all():
        raise ValueError(
            "y holds nothing but zeros: criterion='poisson' needs targets with a positive sum; use criterion='squared_error'"
        )


def check_same_length(n_samples: int, n_targets: int) -> None:
    if n_samples != n_targets:
        raise ValueError(f"X has {n_samples} samples, but y has {n_targets}: give one target per sample")


def weigh_samples(class_weight: Any, classes: Any, codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Weight of each sample by its class; of several targets, whose classes are a list, the product of theirs.

    `class_weight` is what `weigh_classes` takes, or for several targets a list of dicts, one for each, or "balanced".
    """
    if codes.ndim == 1:
        if isinstance(class_weight, list | tuple):
            raise ValueError("class_weight is a list, which is for several targets: y has one, give a dict")
        return weigh_classes(class_weight, classes, codes)[codes]
    each = [class_weight] * len(classes) if isinstance(class_weight, str) else class_weight
    if isinstance(each, Mapping) or len(each) != len(classes):
        raise ValueError(
            f"class_weight={class_weight!r}: y has {len(classes)} targets, give a list of a dict for each, or 'balanced'"
        )
    product = np.ones(len(codes))
    for weights, labels, column in zip(each, classes, codes.T, strict=True):
        product *= weigh_classes(weights, labels, column)[column]
    return product


def weigh_classes(class_weight: Mapping[Any, float] | str, classes: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Weight of each class: as named, 1 where not named; or, "balanced", such that all classes weigh the same in all."""
    if isinstance(class_weight, str):
        counts = np.bincount(codes, minlength=len(classes))
        balance = len(codes) / (np.count_nonzero(counts) * np.maximum(counts, 1))
        return np.asarray(balance, dtype=np.float64)
    labels = classes.tolist()
    # A name without its class is no error as such: a fold of the samples may lack a rare class.
    strangers = [label for label in class_weight if label not in labels]
    if strangers and any(label not in class_weight for label in labels):
        raise ValueError(f"class_weight names {strangers}, but the classes are {labels}")
    for label, weight in class_weight.items():
        if not is_amount(weight):
            raise ValueError(f"class_weight[{label!r}]={weight!r}: must be {AMOUNT[1]}")
    return np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)


def check_priors(priors: Mapping[Any, float] | ArrayLike, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Share of each class, in their order: all positive, and 1 in all."""
    labels = classes.tolist()
    if isinstance(priors, Mapping):
        _check_classes("priors", priors, labels)
        if lacking := [label for label in labels if label not in priors]:
            raise ValueError(f"priors names no share of {lacking}: give one for each of the classes {labels}")
        priors = [priors[label] for label in labels]
    shares = _numbers("priors", priors, (len(labels),), f"a share for each of the classes {labels}")
    if not (shares > 0).all():
        raise ValueError(f"priors={shares.tolist()}: must be positive; leave out the samples of a class that should not count")
    if abs(shares.sum() - 1) > 1e-6:
        raise ValueError(f"priors={shares.tolist()}: must sum to 1, and sum to {shares.sum():.10g}")
    return shares


def factors_by_priors(
    priors: NDArray[np.float64], totals: NDArray[np.float64], classes: NDArray[Any], *, all_occur: bool
) -> NDArray[np.float64]:
    """What a sample of each class counts, so that classes of these weights have these shares of the sum of all weights."""
    if all_occur and not totals.all():
        raise ValueError(
            f"priors gives a share to {classes[totals == 0].tolist()}, of which there are no samples: give them samples"
        )
    factors: NDArray[np.float64] = np.divide(priors * totals.sum(), totals, out=np.ones(len(totals)), where=totals > 0)
    return factors


def check_loss_matrix(loss_matrix: Mapping[Any, Mapping[Any, float]] | ArrayLike, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Costs of each true class (row) and predicted class (column), in the order of the classes."""
    labels = classes.tolist()
    if isinstance(loss_matrix, Mapping):
        _check_classes("loss_matrix", loss_matrix, labels)
        rows = (1.0 - np.eye(len(labels))).tolist()
        for true, costs in loss_matrix.items():
            if not isinstance(costs, Mapping):
                raise ValueError(f"loss_matrix[{true!r}]={costs!r}: must be a dict {{predicted class: cost}}")
            _check_classes(f"loss_matrix[{true!r}]", costs, labels)
            for predicted, cost in costs.items():
                rows[labels.index(true)][labels.index(predicted)] = cost
        loss_matrix = rows
    shape = (len(labels), len(labels))
    loss = _numbers("loss_matrix", loss_matrix, shape, f"a row and a column for each of the classes {labels}")
    if not (np.isfinite(loss) & (loss >= 0)).all():
        i, j = np.argwhere(~(np.isfinite(loss) & (loss >= 0)))[0]
        raise ValueError(f"loss_matrix: answering {labels[j]!r} for {labels[i]!r} costs {loss[i, j]}; must be {AMOUNT[1]}")
    if loss.diagonal().any():
        i = int(np.flatnonzero(loss.diagonal())[0])
        raise ValueError(f"loss_matrix: the right answer {labels[i]!r} costs {loss[i, i]}; must be 0")
    if not loss.any(axis=1).all():
        i = int(np.flatnonzero(~loss.any(axis=1))[0])
        raise ValueError(f"loss_matrix: no answer for {labels[i]!r} costs anything; one must, or leave out its samples")
    return loss


def _check_classes(name: str, given: Mapping[Any, Any], labels: list[Any]) -> None:
    if strangers := [label for label in given if label not in labels]:
        raise ValueError(f"{name} names {strangers}, but the classes are {labels}")


def _numbers(name: str, given: Any, shape: tuple[int, ...], meaning: str) -> NDArray[np.float64]:
    try:
        numbers = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, {meaning}: {error}") from None
    if numbers.shape != shape:
        raise ValueError(f"{name} has shape {numbers.shape}: must be {shape}, {meaning}")
    return numbers


def count(number: int | float, n_samples: int) -> int:
    """Return a number of samples given as such, or as a share of `n_samples`, rounded up as scikit-learn does."""
    return int(number) if isinstance(number, Integral) else math.ceil(number * n_samples)
