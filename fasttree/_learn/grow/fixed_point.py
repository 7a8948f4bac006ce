"""Weights and targets in 64-bit fixed point: sums do not depend on the order of additions."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.sums import sum_of_sizes
from fasttree._engine.records import Sums

EXACT_INTEGERS = 2.0**53
FIXED_POINT_BITS = 61  # sums of weights stay below 2**62


def power_of_two_quantum(total: float) -> float:
    """Return the smallest power of two q with total / q < 2**FIXED_POINT_BITS."""
    return math.ldexp(1.0, math.frexp(total)[1] - FIXED_POINT_BITS)


def fixed_point_weights(sample_weight: Floats | None) -> tuple[npt.NDArray[np.int64] | None, float]:
    """Return weights as multiples of a unit: 1 for whole numbers, else a power of two with which no sum overflows."""
    if sample_weight is None:
        return None, 1.0
    if (sample_weight == 1).all():
        return None, 1.0
    total = sum_of_sizes(sample_weight)
    if total < EXACT_INTEGERS and (sample_weight == np.rint(sample_weight)).all():
        return sample_weight.astype(np.int64), 1.0
    unit = power_of_two_quantum(total)
    units = sample_weight / unit
    np.rint(units, out=units)
    np.maximum(units, 1, out=units)
    return units.astype(np.int64), unit


def fractional_weights(weight: npt.NDArray[np.int64] | None, n_samples: int) -> tuple[npt.NDArray[np.int64], float]:
    total = n_samples if weight is None else int(weight.sum())
    unit = power_of_two_quantum(float(total))
    if weight is None:
        weight = np.ones(n_samples, dtype=np.int64)
    return weight * int(1 / unit), unit


def least_of_parts(sample_weight: Floats | None, case: float) -> float:
    """Return the smallest weight of a node to split if samples are divided; else a few samples could grow any number of nodes.

    It is the weight of one sample, or the average weight if weights are not whole numbers, which may count samples.
    """
    whole = sample_weight is None or np.array_equal(sample_weight / case, np.rint(sample_weight / case))
    return case if whole or sample_weight is None else sum_of_sizes(sample_weight) / len(sample_weight)


def fixed_point_parts(sample_weight: Floats | None, n_samples: int) -> tuple[npt.NDArray[np.int64] | None, float]:
    """Return the growth's weights of samples that may be divided, and their unit; None: each weight is 1 / unit."""
    if sample_weight is None:
        return None, power_of_two_quantum(float(n_samples))
    kept = sample_weight != 0
    n_kept = int(np.count_nonzero(kept))
    of_kept, unit = fixed_point_weights(sample_weight if n_kept == n_samples else sample_weight[kept])
    if unit == 1.0:
        of_kept, unit = fractional_weights(of_kept, n_kept)
    assert of_kept is not None
    if n_kept == n_samples:
        return of_kept, unit
    weight = np.zeros(n_samples, dtype=np.int64)
    weight[kept] = of_kept
    return weight, unit


def fixed_point_targets(values: Floats, weight: npt.NDArray[np.int64] | None, unit: float, impurity: str, divides: bool) -> Sums:
    """Return weight x target as multiples of a power of two, for each target.

    Targets are relative to the middle of their range, except for Poisson, which compares the sums themselves, and the squares of
    `with_squares`.  With `divides`, parts of samples may be as light as one unit of weight.
    """
    n_outputs = values.shape[1]
    centre = np.zeros(n_outputs)
    sums = np.empty(values.shape, dtype=np.int64)
    y_unit, y_bound, deviation_bound = np.empty(n_outputs), np.empty(n_outputs), np.empty(n_outputs)
    weights = None if weight is None else weight * unit
    largest = 1.0 if weights is None else float(weights.max())
    for output in range(n_outputs):
        column = values[:, output]
        low, high = float(column.min()), float(column.max())
        if impurity != "poisson" and not (impurity == "fifth_root" and output == n_outputs - 1):
            centre[output] = 0.5 * low + 0.5 * high
        products = column - centre[output]
        if weights is not None:
            products *= weights
        total = sum_of_sizes(products)
        y_unit[output] = power_of_two_quantum(total) if total > 0 else 1.0
        sums[:, output] = np.rint(products / y_unit[output])
        y_bound[output] = largest * max(abs(low), abs(high))
        if impurity == "poisson":
            # no positive target becomes 0, and no mean is smaller than the lightest sample's share of the largest target
            sums[:, output] = np.maximum(sums[:, output], column > 0)
            lightest = 1 / len(column) if weight is None else (1 if divides else int(weight.min())) / int(weight.sum())
            deviation_bound[output] = y_bound[output] * (1 - np.log(lightest))
        else:
            deviation_bound[output] = largest * (high - low) ** (1 if impurity == "absolute_error" else 2)
    return Sums(sums, y_unit, centre, y_bound, deviation_bound)


def with_squares(targets: Floats) -> Floats:
    """Return targets and, as a last column, their mean squared distance from the middles of their ranges."""
    middles = 0.5 * targets.min(axis=0) + 0.5 * targets.max(axis=0)
    return np.column_stack([targets, ((targets - middles) ** 2).mean(axis=1)])


def ranks_of(values: Floats) -> npt.NDArray[np.uint32]:
    """Return the rank of every target in its column; equal targets have equal ranks."""
    ranks = np.empty(values.shape, dtype=np.uint32)
    for output in range(values.shape[1]):
        ranks[:, output] = np.unique(values[:, output], return_inverse=True)[1]
    return ranks
