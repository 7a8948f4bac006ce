"""The data structures of the twin: options, tables, tests and nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1
"""Branch of a case whose tested value is missing."""
STAYS = -2
"""Branch of a case whose value is in none of the sets: the node is a leaf for it."""

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Options:
    """The options -s, -m, -c and -g (which switches global pruning off).

    With `drifts`, weights of cases with missing values are multiplied and divided in single precision on the way down and up, as
    in the original, and do not quite come back.
    """

    subset: bool = False
    minimum: float = 2
    confidence: float = 0.25
    global_pruning: bool = True
    drifts: bool = False


@dataclass(frozen=True)
class Table:
    """Cases as columns.

    A continuous attribute has `n_values` 0 and a float32 column, with NaN for a missing value and minus infinity for "not
    applicable".  A discrete one has codes from 1, and 0 for a missing value.  Code 1 is "not applicable", so `n_values` is one
    more than the number of declared values.  Classes are numbered from 0.
    """

    columns: tuple[NDArray[Any], ...]
    n_values: tuple[int, ...]
    classes: NDArray[np.intp]
    n_classes: int

    def __len__(self) -> int:
        return len(self.classes)

    @cached_property
    def sorted_values(self) -> tuple[NDArray[Any], ...]:
        """The known values of each continuous attribute, ascending."""
        return tuple(np.sort(c[np.isfinite(c)]) if not n else c[:0] for c, n in zip(self.columns, self.n_values, strict=True))

    def is_missing(self, attribute: int) -> NDArray[np.bool_]:
        column = self.columns[attribute]
        return column == 0 if self.n_values[attribute] else np.isnan(column)

    @cached_property
    def has_missing(self) -> tuple[bool, ...]:
        return tuple(bool(self.is_missing(attribute).any()) for attribute in range(len(self.columns)))

    def take(self, rows: Rows) -> Table:
        return Table(tuple(c[rows] for c in self.columns), self.n_values, self.classes[rows], self.n_classes)

    def of(self, attributes: list[int]) -> Table:
        """Return the table of some attributes."""
        columns, n_values = (tuple(each[a] for a in attributes) for each in (self.columns, self.n_values))
        return Table(columns, n_values, self.classes, self.n_classes)


@dataclass(eq=False)
class Test:
    """The test of a node: "values" has a branch per value, "subset" one per set of values, "threshold" three branches.

    The branches of a threshold are "not applicable", at most the cut, and above it.
    """

    __test__ = False  # not one of pytest's

    kind: str
    attribute: int
    cut: float = math.nan
    sets: list[frozenset[int]] = field(default_factory=list)
    lower: float = math.nan
    middle: float = math.nan
    upper: float = math.nan

    def n_branches(self, table: Table) -> int:
        return {"threshold": 3, "subset": len(self.sets), "values": table.n_values[self.attribute]}[self.kind]

    def branches(self, table: Table) -> Rows:
        """Return the branch of each case of the table, UNKNOWN or STAYS."""
        column = table.columns[self.attribute]
        if self.kind == "threshold":
            return np.where(np.isnan(column), UNKNOWN, np.where(column == -np.inf, 0, 1 + (column > self.cut)))
        if self.kind == "values":
            return column - 1
        branch_of = np.full(table.n_values[self.attribute] + 1, STAYS)
        branch_of[0] = UNKNOWN
        for branch, values in enumerate(self.sets):
            branch_of[list(values)] = branch
        return branch_of[column]


@dataclass(frozen=True)
class Costs:
    """Costs of predicting the class of the column if that of the row is true.

    `class_weight` is what cases of each class weigh, if there are two.
    """

    loss: NDArray[np.float64]
    class_weight: NDArray[np.float64] | None

    @classmethod
    def of(cls, loss: Any, table: Table) -> Costs:
        matrix = np.asarray(loss, dtype=np.float64)
        missed = matrix.sum(axis=1)
        return cls(matrix, missed / missed[table.classes].mean() if len(matrix) == 2 else None)

    def label(self, weights: NDArray[Any]) -> int:
        """Return the class of least expected cost, the first one on ties."""
        expected = weights @ self.loss
        return int((expected <= expected.min() * (1 + 1e-9)).argmax())


@dataclass
class Node:
    """A node; a leaf has no test.

    `cases` and `weights` (one per class) are sums of case weights.  `errors` are training errors in a grown tree, predicted
    errors after local pruning.
    """

    label: int
    cases: float
    weights: NDArray[Any]
    errors: float
    test: Test | None = None
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """Yield every node, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def copy(self) -> Node:
        test = None if self.test is None else replace(self.test, sets=self.test.sets.copy())
        return Node(self.label, self.cases, self.weights, self.errors, test, [child.copy() for child in self.children])

    def become(self, other: Node) -> None:
        vars(self).update(vars(other))

    @property
    def size(self) -> int:
        """Number of leaves that are not null, as the original prints it."""
        return sum(1 for node in self.walk() if node.test is None and node.cases >= NULL)


NULL = 0.05
"""Case weight below which a leaf is a null leaf."""
