"""Checks of what `fit` is given besides the table: what samples and classes weigh, what wrong answers cost, which targets do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._parameters import AMOUNT, is_amount


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


def total_by_class(codes: NDArray[np.integer[Any]], weight: NDArray[np.float64] | None, n_classes: int) -> NDArray[np.float64]:
    """Weight of each class, to the last bit the same whatever the order of the samples."""
    if weight is None:
        return np.bincount(codes, minlength=n_classes).astype(np.float64)
    ascending = np.argsort(weight)
    return np.bincount(codes[ascending], weights=weight[ascending], minlength=n_classes).astype(np.float64)


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
