"""Kinds of columns and of the Python objects in their cells, without tables; it loads no library but NumPy."""

from __future__ import annotations

import decimal
import enum
import numbers
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "Category",
    "Feature",
    "Group",
    "Kind",
    "Schema",
    "default_target_names",
    "group",
    "is_missing",
    "too_alike",
    "too_wide",
]

Category: TypeAlias = str | int | float | bool


class Kind(enum.IntEnum):
    """Kind of the values of a feature."""

    CONTINUOUS = 0
    ORDINAL = 1
    NOMINAL = 2


@dataclass(frozen=True)
class Feature:
    """A column as learned in fit: name, kind, and categories in the order of their codes (None if continuous)."""

    name: str
    kind: Kind
    categories: tuple[Category, ...] | None = None


@dataclass(frozen=True)
class Schema:
    """The columns of a table; `has_names` is True if all column names are strings."""

    features: tuple[Feature, ...]
    has_names: bool = False

    @cached_property
    def is_continuous(self) -> bool:
        """Whether every feature is continuous."""
        return all(feature.kind is Kind.CONTINUOUS for feature in self.features)

    @cached_property
    def is_bare(self) -> bool:
        """Whether the columns are continuous and without names, as those of a matrix of floats."""
        return self.is_continuous and not self.has_names


class Group(enum.Enum):
    """The kind of a Python object in a cell."""

    MISSING = enum.auto()
    TEXT = enum.auto()
    BOOLEAN = enum.auto()
    INTEGER = enum.auto()
    REAL = enum.auto()
    OTHER = enum.auto()


# Missing values of pandas are known by name, because pandas need not be installed.
MISSING_TYPES = ("NoneType", "NAType", "NaTType")


def group(cell_type: type) -> Group:
    if cell_type.__name__ in MISSING_TYPES:
        return Group.MISSING
    if issubclass(cell_type, str):
        return Group.TEXT
    if issubclass(cell_type, (bool, np.bool_)):
        return Group.BOOLEAN
    if issubclass(cell_type, numbers.Integral):
        return Group.INTEGER
    if issubclass(cell_type, (numbers.Real, decimal.Decimal)):
        return Group.REAL
    return Group.OTHER


def groups_of(values: Iterable[Any]) -> set[Group]:
    """Return the kinds that occur; a type is looked at once, because columns have many cells of few types."""
    return set(map(group, set(map(type, values))))


def is_missing(cell: Any) -> bool:
    return type(cell).__name__ in MISSING_TYPES or bool(cell != cell)


def default_target_names(n_targets: int) -> list[str]:
    """Return names for targets without names."""
    return ["y"] if n_targets == 1 else [f"y{j}" for j in range(n_targets)]


# Checks of categories and labels from an untrusted file

_MOST_ALIKE = 64  # 34 doubles may have the same hash
_MOST_PADDING = 64
_FREE_PADDING = 2**16


def too_alike(values: Sequence[Hashable]) -> bool:
    """Return whether so many values share a hash, as forged integers may, that a set of them takes quadratic time."""
    return max(Counter(map(hash, values)).values(), default=0) > _MOST_ALIKE


def too_wide(labels: Sequence[Category]) -> bool:
    """Return whether an array of these texts, each padded to the longest, would be much larger than the texts."""
    lengths = [len(str(label)) for label in labels]
    return len(labels) * max(lengths, default=0) > _MOST_PADDING * (sum(lengths) + _FREE_PADDING)
