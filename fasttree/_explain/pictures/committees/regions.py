"""What rules with linear models predict along one feature or two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Schema
from fasttree._explain.pictures.space.regions import CellAxis, Regions, ends_of, table_of
from fasttree._model.committees.committee import Committee, thresholds_in

__all__ = ["cuts_of", "regions_of", "used_by"]

Floats = npt.NDArray[np.float64]


def used_by(committee: Committee) -> list[int]:
    """Return the features that predictions depend on: all of the samples, if neighbours correct them."""
    if committee.neighbors is not None:
        return sorted(committee.neighbors.features.tolist())
    rules = list(committee.rules())
    conditions = {condition.index for rule in rules for condition in rule.conditions}
    return sorted(conditions.union(*({feature for feature, _ in rule.terms} for rule in rules)))


def cuts_of(committee: Committee, feature: int) -> Floats:
    """Return the numbers at which other rules may hold, ascending."""
    return np.array(sorted(threshold for index, threshold in thresholds_in(committee.rules()) if index == feature))


def regions_of(committee: Committee, schema: Schema, lines: Sequence[CellAxis], rest: Floats) -> Regions:
    """Predict in every cell, with values and codes of the other features; regions are where the same rules of one set hold."""
    shape, table = table_of(schema, lines, rest)
    firing, region = committee.firing(table), np.zeros(table.n_samples, dtype=np.int32)
    if len(committee.members) == 1:
        holds = np.zeros((len(firing), table.n_samples), dtype=bool)
        for rule, rows in zip(holds, firing, strict=True):
            rule[rows] = True
        region = np.unique(holds, axis=1, return_inverse=True)[1].astype(np.int32)
    value = committee.predict(table, firing).reshape(*shape, 1)
    ends = ends_of(lines, table, lambda place: committee.predict(place, firing))
    return Regions(list(lines), region.reshape(shape), value, None, ends)
