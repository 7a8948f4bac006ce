"""Validation of sample weights, class weights, priors, costs and targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fasttree._data.checks import ALLOWED_AMOUNT, is_amount
from fasttree._data.sums import sums_of_sizes

_HEAVIEST = 1e30  # largest total weight: C4.5 sums in single precision


def check_sample_weight(sample_weight: ArrayLike, n_samples: int, first_row: int = 0) -> NDArray[np.float64]:
    """Return weights as a float64 array of shape (n_samples,), finite and not negative; errors count from `first_row`."""
    given = np.asarray(sample_weight)
    try:
        weight = given.astype(np.float64, casting="same_kind" if given.dtype.kind == "c" else "unsafe")
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold numbers: {error}") from None
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weight.shape}: must be ({n_samples},), one weight per sample")
    if not (weight >= 0).all() or np.isinf(weight).any():
        first = int(np.argmin((weight >= 0) & np.isfinite(weight)))
        raise ValueError(f"sample_weight[{first_row + first}] is {weight[first]}: weights must be finite and not negative")
    return weight


def check_total(total: float) -> float:
    """Return the sum of the weights; raise a ValueError if it is 0 or out of the range in which trees grow."""
    if total == 0:
        raise ValueError("Sample weights must contain at least one non-zero number: all weights are zero")
    if not 1 / _HEAVIEST <= total <= _HEAVIEST:
        raise ValueError(f"the weights sum to {total:g}: scale them so that the sum is from {1 / _HEAVIEST:g} to {_HEAVIEST:g}")
    return total


def check_not_negative(target: NDArray[np.float64]) -> None:
    """Raise a ValueError if a target is negative: it has no Poisson deviance."""
    if (target < 0).any():
        first = np.argwhere(target < 0)[0]
        raise ValueError(
            f"y[{', '.join(map(str, first))}] is {target[tuple(first)]:g}: criterion='poisson' needs targets >= 0; use "
            f"criterion='squared_error'"
        )


def check_some_positive(target: NDArray[np.float64], weight: NDArray[np.float64] | None) -> None:
    """Raise a ValueError unless the mean of each target over the samples with weight is positive, as Poisson deviance needs."""
    counted = target if weight is None else target[weight > 0]
    if len(counted) and not counted.any(axis=0).all():
        raise ValueError(
            "y holds only zeros: criterion='poisson' needs targets with a positive sum; use criterion='squared_error'"
        )


def check_same_length(n_samples: int, n_targets: int) -> None:
    if n_samples != n_targets:
        raise ValueError(f"X has {n_samples} samples, but y has {n_targets}: give one target per sample")


def total_by_class(codes: NDArray[np.integer[Any]], weight: NDArray[np.float64] | None, n_classes: int) -> NDArray[np.float64]:
    """Return the weight of each class; it does not depend on the order of the samples."""
    if weight is None:
        return np.bincount(codes, minlength=n_classes).astype(np.float64)
    return sums_of_sizes(weight, codes.astype(np.intp, copy=False), n_classes)


def weigh_samples(
    class_weight: Any, classes: Any, codes: NDArray[np.intp], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the weights of samples times those of their classes; with several targets, times the product of those by each.

    For several targets, `classes` is a list of arrays, and `class_weight` a list of one dict for each, or "balanced".
    """
    counted = codes if weight is None else codes[weight > 0]
    if codes.ndim == 1:
        if isinstance(class_weight, list | tuple):
            raise ValueError("class_weight is a list, but y has one target: give a dict")
        by_class = weigh_classes(class_weight, classes, np.bincount(counted, minlength=len(classes)))[codes]
        return by_class if weight is None else weight * by_class
    each = [class_weight] * len(classes) if isinstance(class_weight, str) else class_weight
    if isinstance(each, Mapping) or len(each) != len(classes):
        raise ValueError(
            f"class_weight={class_weight!r}: y has {len(classes)} targets; give a list of dicts, one for each, or 'balanced'"
        )
    product = np.ones(len(codes))
    for weights, labels, column, rows in zip(each, classes, codes.T, counted.T, strict=True):
        product *= weigh_classes(weights, labels, np.bincount(rows, minlength=len(labels)))[column]
    return product if weight is None else weight * product


def weigh_classes(class_weight: Mapping[Any, float] | str, classes: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weight of each class: as given, else 1; with "balanced", the larger the fewer samples it has.

    `counts` are the samples of positive weight of each class, whatever they weigh.
    """
    if isinstance(class_weight, str):
        balance = counts.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1))
        return np.asarray(balance, dtype=np.float64)
    labels = classes.tolist()
    # A name without a class alone is no error: a fold of the samples may lack a rare class.
    strangers = [label for label in class_weight if label not in labels]
    if strangers and any(label not in class_weight for label in labels):
        raise ValueError(f"class_weight names {strangers}, but the classes are {labels}")
    for label, weight in class_weight.items():
        if not is_amount(weight):
            raise ValueError(f"class_weight[{label!r}]={weight!r}: must be {ALLOWED_AMOUNT}")
    return np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)


def check_priors(priors: Mapping[Any, float] | ArrayLike, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of each class in the order of the classes; all are positive and sum to 1."""
    labels = classes.tolist()
    if isinstance(priors, Mapping):
        _check_classes("priors", priors, labels)
        if lacking := [label for label in labels if label not in priors]:
            raise ValueError(f"priors lacks a share for {lacking}: give one for each of the classes {labels}")
        priors = [priors[label] for label in labels]
    shares = _numbers("priors", priors, (len(labels),), f"a share for each of the classes {labels}")
    if not (shares > 0).all():
        raise ValueError(f"priors={shares.tolist()}: must be positive; to ignore a class, leave out its samples")
    if abs(shares.sum() - 1) > 1e-6:
        raise ValueError(f"priors={shares.tolist()}: must sum to 1, but sum to {shares.sum():.10g}")
    return shares


def factors_by_priors(
    priors: NDArray[np.float64], totals: NDArray[np.float64], classes: NDArray[Any], *, all_occur: bool
) -> NDArray[np.float64]:
    """Return the factor of each class by which its samples are weighted to give classes of weights `totals` these shares."""
    if all_occur and not totals.all():
        raise ValueError(f"priors gives a share to {classes[totals == 0].tolist()}, but there are no samples of them: add some")
    factors: NDArray[np.float64] = np.divide(priors * totals.sum(), totals, out=np.ones(len(totals)), where=totals > 0)
    return factors


def check_loss_matrix(loss_matrix: Mapping[Any, Mapping[Any, float]] | ArrayLike, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the costs by true class (row) and predicted class (column), in the order of the classes."""
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
        raise ValueError(f"loss_matrix: predicting {labels[j]!r} for {labels[i]!r} costs {loss[i, j]}; must be {ALLOWED_AMOUNT}")
    if loss.diagonal().any():
        i = int(np.flatnonzero(loss.diagonal())[0])
        raise ValueError(f"loss_matrix: predicting {labels[i]!r} correctly costs {loss[i, i]}; must be 0")
    if not loss.any(axis=1).all():
        i = int(np.flatnonzero(~loss.any(axis=1))[0])
        raise ValueError(f"loss_matrix: no error on {labels[i]!r} costs anything; make one positive, or leave out its samples")
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
