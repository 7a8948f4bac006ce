"""Least squares with elimination of terms, for many nodes at once, from their centred sums.

The sums of a node, scaled to a unit diagonal, are swept feature by feature, the largest remaining diagonal first: Cholesky's
method with pivoting, in the form of Beaton's sweep operator.  A swept matrix shows the coefficients, the squared error, and how
much each feature would raise it by leaving, so that one sweep more takes the least useful one out.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats

__all__ = ["Elimination", "Fits", "fit"]

Elimination: TypeAlias = Literal["exact", "m5"]

LEAST_PIVOT = 1e-7  # 1 - R^2 of a feature on those taken: below, it is left out
LEAST_VARIANCE = 1e-20  # of a feature in a node, as a share of that of all samples: below, it is constant
LEAST_ERROR = 1e-10  # squared error, as a share of that around the mean: below, it is rounding
RIDGE = 1e-8  # of M5P, on the diagonal of columns with variance 1
TOO_STEEP = 1.5  # standard deviations of the target for one of a feature: above, M5P takes the feature for collinear
AT_ONCE = 1024  # nodes, whose matrices stay near the processor

Matrices = Floats  # (d, d, n): the last axis are nodes, along which NumPy's loops run


class Fits(NamedTuple):
    """Models of n nodes."""

    coefficient: Floats  # (n, d); 0 for a feature that has no term
    error: Floats  # (n,): weighted sum of squared residuals
    n_parameters: npt.NDArray[np.int64]  # (n,): terms, and the intercept


def fit(product: Floats, n: npt.NDArray[np.int64], allowed: npt.NDArray[np.bool_], elimination: Elimination = "exact") -> Fits:
    """Fit a model in each node.

    Elimination passes models from that of all features to the mean.  The one of least ``sqrt(S) (n + v) / (n - v)`` is kept,
    where S is its squared error and v the number of its parameters (Quinlan 1992); of equal ones the smallest.

    Parameters
    ----------
    product : float64 array, shape (n_nodes, d + 1, d + 1)
        Centred sums of products; the target is last.  Node 0 is that of all samples.
    n : int64 array, shape (n_nodes,)
        Number of samples.
    allowed : bool array, shape (n_nodes, d)
        Features that may have a term.
    elimination : {"exact", "m5"}, default "exact"
        "m5": as in M5P, by the size of the coefficients, see `_fit_by_size`.

    Returns
    -------
    Fits
    """
    n_nodes, d = allowed.shape
    found = Fits(np.zeros((n_nodes, d)), np.empty(n_nodes), np.empty(n_nodes, np.int64))
    diagonal = np.einsum("njj->nj", product)
    least = LEAST_VARIANCE * diagonal[0, :d] / n[0] * n[:, None]
    usable = allowed & (diagonal[:, :d] > least)
    fit_some = _fit_some if elimination == "exact" else _fit_by_size
    by_size = np.argsort(n, kind="stable")  # small nodes have room for few terms, and their turns end early
    if elimination == "exact":  # those of at most two samples have room for none
        bare = by_size[: int(np.searchsorted(n[by_size], 2, side="right"))]
        found.error[bare], found.n_parameters[bare] = np.maximum(product[bare, d, d], 0.0), 1
        by_size = by_size[bare.size :]
    for start in range(0, by_size.size, AT_ONCE):
        nodes = by_size[start : start + AT_ONCE]
        found.coefficient[nodes], found.error[nodes], found.n_parameters[nodes] = fit_some(
            product[nodes], n[nodes], usable[nodes]
        )
    return found


def _fit_some(product: Floats, n: npt.NDArray[np.int64], usable: npt.NDArray[np.bool_]) -> Fits:
    """Fit the models of a few nodes."""
    d = usable.shape[1]
    errors, sizes = np.empty(len(n)), np.empty(len(n), np.int64)
    scale = np.ones((len(n), d + 1))
    scale[:, :d][usable] = np.sqrt(np.einsum("njj->nj", product)[:, :d][usable])
    matrices = np.ascontiguousarray((product / (scale[:, :, None] * scale[:, None, :])).transpose(1, 2, 0))
    taken = _take_in(matrices, n - 2, usable.T.copy(), LEAST_PIVOT)
    size = taken.sum(axis=0) + 1
    most = int(size.max()) - 1
    places = np.broadcast_to(np.arange(d)[:, None], taken.shape)
    if 2 * most <= d:  # small nodes have room for few features: go on with those that are in, ascending
        places = np.argsort(~taken, axis=0, kind="stable")[:most]
        matrices, taken = _parts(matrices, places), np.take_along_axis(taken, places, axis=0)
    most = len(places)
    whole = product[:, d, d]
    best, kept = np.full(len(n), np.inf), np.zeros((most, len(n)))
    nodes = np.arange(len(n))
    while True:
        error = np.maximum(matrices[most, most], 0.0)
        error[error < LEAST_ERROR * whole] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            judged = np.where(n > size, np.sqrt(error) * (n + size) / (n - size), np.inf)
        better = judged <= best
        best[better] = judged[better]
        kept[:, better] = np.where(taken, matrices[:most, most], 0.0)[:, better]
        errors[better], sizes[better] = error[better], size[better]
        left = size > 1
        if not left.any():
            break
        rise = np.full((most, len(n)), np.inf)
        np.divide(matrices[:most, most] ** 2, -np.einsum("jjn->jn", matrices)[:most], out=rise, where=taken)
        leaving = rise.argmin(axis=0)
        _sweep(matrices, leaving, left, -1.0)
        taken[leaving[left], nodes[left]] = False
        size = size - left
    found = np.zeros((d, len(n)))
    np.put_along_axis(found, places, kept, axis=0)
    return Fits(found.T / scale[:, :d], errors, sizes)


def _parts(matrices: Matrices, places: npt.NDArray[np.intp]) -> Matrices:
    """Return the matrices of some features, shape (m, n_nodes), and the target."""
    d, nodes = len(matrices) - 1, np.arange(matrices.shape[2])
    chosen = np.vstack([places, np.full((1, nodes.size), d)])
    return np.ascontiguousarray(matrices[chosen[:, None], chosen[None], nodes])


def _fit_by_size(product: Floats, n: npt.NDArray[np.int64], usable: npt.NDArray[np.bool_]) -> Fits:
    """Fit the models of a few nodes as M5P does.

    Coefficients are compared for features and a target of variance 1.  While one is above 1.5, the feature of the largest
    leaves.  Then that of the smallest leaves, as long as ``S (n - k0) / S0 + 2 k`` falls, where S is the squared error of k
    parameters, and S0 and k0 are those before (Akaike's criterion).
    """
    d = usable.shape[1]
    scale = np.ones((len(n), d + 1))
    scale[:, :d][usable] = np.sqrt(np.einsum("njj->nj", product)[:, :d][usable])
    whole = product[:, d, d]
    scale[:, d][whole > 0] = np.sqrt(whole[whole > 0])
    matrices = np.ascontiguousarray((product / (scale[:, :, None] * scale[:, None, :])).transpose(1, 2, 0))
    matrices[np.arange(d), np.arange(d)] += RIDGE / np.maximum(n - 1, 1)
    taken, nodes = _take_in(matrices, np.full_like(n, d), usable.T.copy(), 0.0), np.arange(len(n))
    while d:
        slope = np.where(taken, np.abs(matrices[:d, d]), -np.inf)
        steepest = slope.argmax(axis=0)
        leaves = slope[steepest, nodes] > TOO_STEEP
        if not leaves.any():
            break
        _sweep(matrices, steepest, leaves, -1.0)
        taken[steepest[leaves], nodes[leaves]] = False
    size = taken.sum(axis=0) + 1
    first_error, first_size = matrices[d, d].copy(), size.copy()
    kept, errors, sizes = np.where(taken, matrices[:d, d], 0.0), first_error.copy(), size.copy()
    judged = (n + size).astype(np.float64)
    going = size > 1
    while going.any():
        leaving = np.where(taken, np.abs(matrices[:d, d]), np.inf).argmin(axis=0)
        _sweep(matrices, leaving, going, -1.0)
        taken[leaving[going], nodes[going]] = False
        size = size - going
        with np.errstate(divide="ignore", invalid="ignore"):
            score = matrices[d, d] / first_error * (n - first_size) + 2 * size
        going &= score < judged
        judged[going], errors[going], sizes[going] = score[going], matrices[d, d][going], size[going]
        kept[:, going] = np.where(taken, matrices[:d, d], 0.0)[:, going]
        going &= size > 1
    scale_of_target = scale[:, d]
    return Fits(kept.T * (scale_of_target[:, None] / scale[:, :d]), np.maximum(errors, 0.0) * scale_of_target**2, sizes)


def _take_in(
    matrices: Matrices, room: npt.NDArray[np.int64], waiting: npt.NDArray[np.bool_], least_pivot: float
) -> npt.NDArray[np.bool_]:
    """Sweep in the features of `waiting`, shape (d, n_nodes), which are used up, at most `room`; return those that are in."""
    d, n_nodes = waiting.shape
    taken, nodes = np.zeros_like(waiting), np.arange(n_nodes)
    for _ in range(d):
        remaining = np.where(waiting, np.einsum("jjn->jn", matrices)[:d], -np.inf)
        entering = remaining.argmax(axis=0)
        goes_in = (remaining[entering, nodes] > least_pivot) & (room > 0)
        if not goes_in.any():
            break
        _sweep(matrices, entering, goes_in, 1.0)
        taken[entering[goes_in], nodes[goes_in]] = True
        waiting[entering[goes_in], nodes[goes_in]] = False
        room = room - goes_in
    return taken


def _sweep(matrices: Matrices, place: npt.NDArray[np.intp], where: npt.NDArray[np.bool_], sign: float) -> None:
    """Sweep the matrices of some nodes at a place each, in (sign 1) or out (sign -1)."""
    d, n = len(matrices), place.size
    nodes, every, flat = np.arange(n), np.arange(d)[:, None], matrices.reshape(-1)  # flat indices are several times as fast
    in_row, in_column = (place * d + every) * n + nodes, (every * d + place) * n + nodes
    own = flat.take(in_row)
    pivot = np.where(where, own[place, nodes], 1.0)
    row = np.where(where, own, 0.0)
    scaled = row / pivot
    for i, factor in enumerate(row):  # a slice at a time: no array of all products
        matrices[i] -= factor * scaled
    swept = np.where(where, sign * scaled, own)
    swept[place[where], nodes[where]] = -1.0 / pivot[where]
    flat[in_row] = swept
    flat[in_column] = swept
