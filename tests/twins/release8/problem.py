"""What the twin works on: a table of codes, the options, tests and nodes.  No arithmetic here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1
"""Branch of a case whose tested value is missing, or in no branch."""


@dataclass(frozen=True)
class Options:
    """Quinlan's options -g, -s, -m and -c."""

    gain: bool = False
    subset: bool = False
    minimum: float = 2
    confidence: float = 0.25


@dataclass(frozen=True)
class Table:
    """Cases as columns.

    A continuous attribute has `n_values` 0 and a float64 column, NaN = missing; a discrete one has as many values as are
    declared, and a column of codes from 1, 0 = missing.  Classes are numbered from 0; those without cases count too.
    """

    columns: tuple[NDArray[Any], ...]
    n_values: tuple[int, ...]
    classes: NDArray[np.intp]
    n_classes: int

    def __len__(self) -> int:
        return len(self.classes)

    @cached_property
    def singles(self) -> tuple[NDArray[Any], ...]:
        """Columns as the original stores them: continuous values in single precision."""
        return tuple(c if n else c.astype(np.float32) for c, n in zip(self.columns, self.n_values, strict=True))

    @cached_property
    def sorted_values(self) -> tuple[NDArray[Any], ...]:
        """The known values of every continuous attribute, ascending."""
        return tuple(np.sort(c[~np.isnan(c)]) if not n else c[:0] for c, n in zip(self.columns, self.n_values, strict=True))

    @cached_property
    def has_missing(self) -> bool:
        return any(bool((c == 0).any() if n else np.isnan(c).any()) for c, n in zip(self.columns, self.n_values, strict=True))

    def take(self, rows: NDArray[np.intp]) -> Table:
        return Table(tuple(c[rows] for c in self.columns), self.n_values, self.classes[rows], self.n_classes)


@dataclass(eq=False)
class Test:
    """What an inner node asks: "values" has a branch per declared value, "subset" one per block of values."""

    __test__ = False  # not one of pytest's

    kind: str
    attribute: int
    cut: float = math.nan
    blocks: list[frozenset[int]] = field(default_factory=list)
    lower: float = math.nan
    upper: float = math.nan

    def n_branches(self, table: Table) -> int:
        return {"threshold": 2, "subset": len(self.blocks), "values": table.n_values[self.attribute]}[self.kind]

    def branches(self, table: Table) -> NDArray[np.intp]:
        """The branch of every case of the table, or UNKNOWN."""
        column = table.columns[self.attribute]
        if self.kind == "threshold":
            return np.where(np.isnan(column), UNKNOWN, column > self.cut)
        if self.kind == "values":
            return np.where(column <= self.n_branches(table), column - 1, UNKNOWN)
        branch_of = np.full(max(table.n_values[self.attribute], column.max(initial=0)) + 1, UNKNOWN)
        for branch, block in reversed(list(enumerate(self.blocks))):
            branch_of[list(block)] = branch
        return branch_of[column]


@dataclass
class Node:
    """A node; a leaf has no test.

    `cases` and `weights` (one per class) are sums of case weights; `errors` are training errors in a grown tree, predicted ones
    in a pruned tree.  For whoever wants to see why a tree is as it is, a grown tree also keeps what came to each node (cases in
    their order, their weights, and the least weight of a branch) and the split that was undone at a leaf; a pruned tree keeps the
    errors predicted for the node as a leaf, with its largest branch in its place, and as it was.
    """

    label: int
    cases: Any
    weights: NDArray[Any]
    errors: Any
    test: Test | None = None
    children: list[Node] = field(default_factory=list)
    seen: tuple[NDArray[np.intp], NDArray[Any], float] | None = None
    undone: Node | None = None
    alternatives: tuple[Any, Any, Any] | None = None

    def walk(self, depth: int = 0) -> Iterator[tuple[Node, int]]:
        """Every node with its depth, parents first."""
        yield self, depth
        for child in self.children:
            yield from child.walk(depth + 1)

    def copy(self) -> Node:
        test = None if self.test is None else replace(self.test, blocks=self.test.blocks.copy())
        return Node(self.label, self.cases, self.weights, self.errors, test, [child.copy() for child in self.children])

    def become(self, other: Node) -> None:
        vars(self).update(vars(other))

    def shape(self) -> dict[str, int]:
        """Size, leaves and depth, as the original counts them."""
        leaves = [node for node, _ in self.walk() if node.test is None]
        return {
            "size": sum(1 for _ in self.walk()),
            "leaves": len(leaves),
            "nonempty_leaves": sum(1 for leaf in leaves if leaf.cases > 0),
            "depth": max(depth for _, depth in self.walk()),
        }
