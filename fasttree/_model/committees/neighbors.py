"""Predictions of rules, corrected by the nearest training samples (Quinlan 1993)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.table import Table

__all__ = ["Neighbors"]

STEPS = 16  # distances are multiples of 1 / STEPS
WIDE = 5.0  # deviations for a distance of 1, the largest along a feature
NEAR = 0.5  # is added to a distance, of which the weight is the reciprocal
AT_ONCE = 2**22  # distances between samples that are compared with all others


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Training samples as points.

    The distance of two samples is a sum over the features: the difference in five standard deviations, but at most 1, or for
    other categories 2 / (number of categories).  It is rounded to a 16th.  The `n` nearest samples no further than `radius`
    count; of several that are equally far, all share the last places.

    Attributes
    ----------
    n : int
    features : array of intp
        The continuous features, then the others.
    points : array of float64, shape (n_samples, n_features)
        Values in units of five deviations, then codes from 0.
    scale : array of float64, shape (n_continuous,)
        Five deviations of each continuous feature; 0 for a constant one.
    steps : array of float64, shape (n_others,)
        Distance of two categories of each of the other features.
    filling : array of float64, shape (n_features,)
        What takes the place of a missing value: a number, or a code from 0.
    target, predicted : array of float64, shape (n_samples,)
    floor, ceiling : float
        Bounds of predictions.
    radius : float
    """

    n: int
    features: npt.NDArray[np.intp]
    points: Floats
    scale: Floats
    steps: Floats
    filling: Floats
    target: Floats
    predicted: Floats
    floor: float
    ceiling: float
    radius: float

    @cached_property
    def _index(self) -> Any:
        """Return a k-d tree of the points without the largest distance along a feature."""
        from sklearn.neighbors import KDTree

        return KDTree(self._flat(self.points), metric="manhattan")

    def _flat(self, points: Floats) -> Floats:
        """Return coordinates in which categories are corners, half their distance apart along each of two axes."""
        d = self.scale.size
        parts = [points[:, :d]]
        for place, step in enumerate(self.steps.tolist()):
            size = int(self.points[:, d + place].max()) + 2
            codes = np.minimum(points[:, d + place].astype(np.intp), size - 1)
            parts.append(np.eye(size)[codes] * (step / 2))
        return np.ascontiguousarray(np.hstack(parts))

    def points_of(self, table: Table) -> Floats:
        """Return the samples of a table as points."""
        found = np.empty((table.n_samples, self.features.size))
        for place, feature in enumerate(self.features.tolist()):
            column = table.column(feature).astype(np.float64)
            if place < self.scale.size:
                column[np.isnan(column)] = self.filling[feature]
                found[:, place] = column / self.scale[place] if self.scale[place] else 0.0
            else:
                found[:, place] = np.where(column == 0, self.filling[feature], column - 1)
        return found

    def _distances(self, points: Floats, others: Floats) -> Floats:
        """Return the rounded distances between points, pair by pair."""
        d, total = self.scale.size, np.zeros(np.broadcast_shapes(points.shape[:-1], others.shape[:-1]))
        for place in range(d):
            total += np.minimum(np.abs(points[..., place] - others[..., place]), 1.0)
        for place, step in enumerate(self.steps.tolist()):
            total += step * (points[..., d + place] != others[..., d + place])
        return np.rint(STEPS * total) / STEPS

    def corrected(self, table: Table, predicted: Floats) -> Floats:
        """Return predictions moved by the errors of the nearest training samples."""
        points = self.points_of(table)
        distances, _ = self._index.query(self._flat(points), k=min(self.n, len(self.points)))
        reach = np.minimum(np.rint(STEPS * distances[:, -1]) / STEPS, self.radius)
        # below 1, no feature has its largest distance, so that the index knows the distances
        near = np.flatnonzero(reach < 1 - 1 / STEPS)
        far = np.setdiff1d(np.arange(len(points)), near)
        result = predicted.copy()
        for start in range(0, near.size, 1024):
            rows = near[start : start + 1024]
            found = self._index.query_radius(self._flat(points[rows]), reach[rows] + 0.51 / STEPS)
            sizes = np.array([len(each) for each in found])
            others, owner = np.concatenate(found).astype(np.intp), np.repeat(np.arange(rows.size), sizes)
            apart = self._distances(points[rows][owner], self.points[others])
            result[rows] = self._averaged(predicted[rows], owner, others, apart)
        for start in range(0, far.size, max(1, AT_ONCE // len(self.points))):
            rows = far[start : start + max(1, AT_ONCE // len(self.points))]
            all_apart = self._distances(points[rows][:, None, :], self.points[None])
            owner, others = np.nonzero(all_apart <= self.radius)
            result[rows] = self._averaged(predicted[rows], owner, others, all_apart[owner, others])
        return result

    def _averaged(self, predicted: Floats, owner: npt.NDArray[np.intp], others: npt.NDArray[np.intp], apart: Floats) -> Floats:
        """Return the corrected predictions, from candidates that include all that count; `owner` is ascending."""
        kept = apart <= self.radius
        owner, others, apart = owner[kept], others[kept], apart[kept]
        order = np.lexsort((others, apart, owner))
        owner, others, apart = owner[order], others[order], apart[order]
        result = predicted.copy()
        if not owner.size:
            return result
        new = np.ones(owner.size, dtype=bool)
        new[1:] = (owner[1:] != owner[:-1]) | (apart[1:] != apart[:-1])
        group = np.cumsum(new) - 1
        starts = np.flatnonzero(new)
        sizes = np.diff(np.append(starts, owner.size))
        first = np.searchsorted(owner, owner[starts])  # of the same sample
        room = np.clip(self.n - (starts - first), 0, sizes) / sizes  # the part of each group that counts
        weight = room[group] / (apart + NEAR)
        value = np.clip(self.target[others] + predicted[owner] - self.predicted[others], self.floor, self.ceiling)
        total, weights = np.zeros(predicted.size), np.zeros(predicted.size)
        np.add.at(total, owner, weight * value)
        np.add.at(weights, owner, weight)
        enough = np.bincount(owner, minlength=predicted.size) >= (self.n + 1) // 2
        result[enough] = np.clip(total[enough] / weights[enough], self.floor, self.ceiling)
        return result


def average_distance(points: Floats, n_continuous: int, steps: Floats) -> float:
    """Return the mean distance of all pairs of points, rounded."""
    n, total = len(points), 0.0
    if n < 2:
        return 0.0
    for place in range(n_continuous):
        x = np.sort(points[:, place])
        before = np.searchsorted(x, x - 1.0)  # points that are further than 1 below
        sums = np.append(0.0, np.cumsum(x))
        i = np.arange(n)
        total += float((before + (i - before) * x - (sums[i] - sums[before])).sum())
    for place, step in enumerate(steps.tolist()):
        counts = np.bincount(points[:, n_continuous + place].astype(np.intp)).astype(np.float64)
        total += step * (n * n - float((counts**2).sum())) / 2
    return float(np.rint(STEPS * total / (n * (n - 1) / 2)) / STEPS)
