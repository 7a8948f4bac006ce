"""Linear models of all nodes of a tree, by least squares with elimination of terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._engine.lines import equations
from fasttree._learn.models.order import in_order
from fasttree._model.tree import Tree

__all__ = ["Elimination", "Fits", "fit"]

Elimination: TypeAlias = Literal["exact", "m5"]

LEAST_PIVOT = 1e-7  # 1 - R^2 of a feature on those taken: below, it is left out
LEAST_VARIANCE = 1e-20  # of a feature in a node, as a share of that of all samples: below, it is constant
LEAST_ERROR = 1e-10  # squared error, as a share of that around the mean: below, it is rounding
RIDGE = 1e-8  # of M5P, on the diagonal of columns with variance 1
TOO_STEEP = 1.5  # standard deviations of the target for one of a feature: above, M5P takes the feature for collinear
ROUNDING = 1e-13  # what is left of an intercept that cancels, as a share of its parts
BLOCK = 4096  # samples


class Fits(NamedTuple):
    """Models of n nodes."""

    coefficient: Floats  # (n, d); 0 for a feature that has no term
    intercept: Floats  # (n,)
    error: Floats  # (n,): weighted sum of squared residuals
    n_parameters: Floats  # (n,): terms, and the intercept
    least: Floats  # (n,): of the target
    largest: Floats


def fit(
    tree: Tree,
    leaf: npt.NDArray[np.int32],
    columns: Sequence[Floats],
    targets: Sequence[Floats],
    weight: Floats | None,
    allowed: npt.NDArray[np.bool_],
    elimination: Elimination = "exact",
) -> list[Fits]:
    """Fit a model for each target in each node.

    Elimination passes models from that of all features to the mean.  The one of least ``sqrt(S) (n + v) / (n - v)`` is kept,
    where S is its squared error and v the number of its parameters (Quinlan 1992); of equal ones the smallest.  The models do not
    depend on the order of the samples.

    Parameters
    ----------
    tree : Tree
        With two branches at each inner node.
    leaf : int32 array, shape (n_samples,)
        Leaf of each sample; every leaf has one.
    columns : sequence of float64 array, shape (n_samples,)
        Features without missing values.
    targets : sequence of float64 array, shape (n_samples,)
    weight : float64 array, shape (n_samples,), or None
        Positive; None: every sample counts 1.
    allowed : bool array, shape (n_nodes, d)
        Features that may have a term.
    elimination : {"exact", "m5"}, default "exact"
        "m5": as in M5P, by the size of the coefficients, until Akaike's criterion rises.

    Returns
    -------
    list of Fits
        One for each target.
    """
    d, both = allowed.shape[1], [*columns, *targets]
    order = in_order(leaf, both if weight is None else [*both, weight])
    place = np.searchsorted(leaf[order], np.arange(tree.node_count + 1, dtype=leaf.dtype))
    variance = np.array([np.var(column[order]) for column in columns])
    numbers = np.array([LEAST_PIVOT, LEAST_ERROR, RIDGE, TOO_STEEP, ROUNDING])
    found = np.empty((len(targets), tree.node_count, d + 5))
    equations.fit_tree(
        (_in_rows(both), weight, order.astype(np.int64, copy=False), place.astype(np.int64, copy=False)),
        (tree.first_child, allowed.view(np.uint8), tree.max_depth),
        elimination == "m5",
        numbers,
        LEAST_VARIANCE * variance,
        found,
    )
    return [Fits(of_target[:, :d], *of_target[:, d:].T) for of_target in found]


def _in_rows(columns: Sequence[Floats]) -> Floats:
    """Return a matrix with the values of a sample beside each other, written in blocks that stay near the processor."""
    found = np.empty((columns[0].size, len(columns)))
    for start in range(0, len(found), BLOCK):
        np.stack([column[start : start + BLOCK] for column in columns], axis=1, out=found[start : start + BLOCK])
    return found
