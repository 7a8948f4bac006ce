"""Constraints on growth: from the parameters of an estimator and the schema of its table to the engine's arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Kind, Schema
from fasttree._engine.records import PathLimits


class Constraints(NamedTuple):
    """Constraints on predictions and on the features of a path.

    Parameters
    ----------
    monotone : tuple of {-1, 0, 1} or None
        Per feature: predictions must not fall (1) or not rise (-1) if it rises and all other features stay equal.
    sets : tuple of tuples of int, or None
        A node tests only features that share a set with all features tested above.  Every feature is in a set.
    pairwise : bool
        Whether at most two features are tested on a path, instead of sets.
    """

    monotone: tuple[int, ...] | None = None
    sets: tuple[tuple[int, ...], ...] | None = None
    pairwise: bool = False

    def in_order(self, order: npt.NDArray[np.intp]) -> Constraints:
        """Return the constraints for the features in another order."""
        place = np.argsort(order)
        return Constraints(
            None if self.monotone is None else tuple(self.monotone[feature] for feature in order),
            None if self.sets is None else tuple(tuple(sorted(int(place[j]) for j in members)) for members in self.sets),
            self.pairwise,
        )

    def for_engine(self, n_features: int) -> PathLimits:
        """Return the constraints as the engine's arrays."""
        paths = PathLimits(pairwise=self.pairwise)
        if self.monotone is not None:
            paths = paths._replace(monotone=np.array(self.monotone, dtype=np.int8))
        if self.sets is not None:
            sizes = np.array([len(members) for members in self.sets])
            members = np.array([feature for members in self.sets for feature in members], dtype=np.int32)
            of = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
            paths = paths._replace(
                sets_start=_starts(np.bincount(members, minlength=n_features)),
                sets_of=of[np.argsort(members, kind="stable")],
                members_start=_starts(sizes),
                members=members,
            )
        return paths


FREE = Constraints()


def _starts(sizes: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def constraints(monotonic_cst: Any, interaction_cst: Any, schema: Schema) -> Constraints:
    """Read the parameters `monotonic_cst` and `interaction_cst` for a table.

    Raises
    ------
    ValueError
        If their form is wrong, they name an unknown feature, or they ask for an order along a nominal feature.
    """
    monotone = None if monotonic_cst is None else _directions(monotonic_cst, schema)
    if interaction_cst is None:
        return FREE if monotone is None else Constraints(monotone)
    if isinstance(interaction_cst, str) and interaction_cst == "pairwise":
        return Constraints(monotone, pairwise=True)
    return Constraints(monotone, _sets(interaction_cst, schema))


def _directions(given: Any, schema: Schema) -> tuple[int, ...] | None:
    n_features = len(schema.features)
    if isinstance(given, Mapping):
        named = {feature_at("monotonic_cst", key, schema): value for key, value in given.items()}
        entries = [named.get(j, 0) for j in range(n_features)]
    else:
        entries = list(given)
        if len(entries) != n_features:
            raise ValueError(
                f"monotonic_cst has {len(entries)} entries, but X has {n_features} features: give one of -1, 0 and 1 for each, "
                f"or a dict {{feature: -1, 0 or 1}}"
            )
    for feature, entry in zip(schema.features, entries, strict=True):
        if entry not in (-1, 0, 1):
            raise ValueError(f"monotonic_cst of column {feature.name!r} is {entry!r}: must be -1 (falls), 0 (free) or 1 (rises)")
        if entry and feature.kind == Kind.NOMINAL:
            raise ValueError(
                f"monotonic_cst of column {feature.name!r} is {int(entry)}, but the column is nominal, so its categories have no "
                f"order: use 0, or give the order in ordinal_features"
            )
    return tuple(int(entry) for entry in entries) if any(entries) else None


def _sets(given: Any, schema: Schema) -> tuple[tuple[int, ...], ...]:
    n_features = len(schema.features)
    if isinstance(given, str) and given == "no_interactions":
        return tuple((j,) for j in range(n_features))
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise _wrong_sets(given)
    sets = []
    for group in given:
        if isinstance(group, str | Mapping) or not isinstance(group, Iterable):
            raise _wrong_sets(given)
        members = tuple(sorted({feature_at("interaction_cst", entry, schema) for entry in group}))
        if members:
            sets.append(members)
    rest = tuple(sorted(set(range(n_features)).difference(*sets)))
    return (*sets, rest) if rest else tuple(sets)


def _wrong_sets(given: Any) -> ValueError:
    return ValueError(
        f"interaction_cst={given!r}: must be a list of groups of column names or indices, such as [[0, 1], [2]], 'pairwise' or "
        f"'no_interactions'"
    )


def feature_at(parameter: str, given: Any, schema: Schema) -> int:
    """Return the index of a feature given by name or index."""
    names = [feature.name for feature in schema.features]
    if isinstance(given, str) and schema.has_names and given in names:
        return names.index(given)
    if isinstance(given, Integral) and not isinstance(given, bool) and 0 <= int(given) < len(names):
        return int(given)
    known = f"the columns are {', '.join(map(repr, names[:10]))}{', ...' if len(names) > 10 else ''}"
    if not schema.has_names:
        known = "X has no column names"
    raise ValueError(f"{parameter} names {given!r}: must be a column name, or an index from 0 to {len(names) - 1}; {known}")
