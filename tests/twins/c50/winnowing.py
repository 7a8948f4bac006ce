"""Winnowing: attributes that do not help to predict one half of the cases from the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .classifying import n_errors
from .growing import Growth, grow
from .problem import Node, Options, Rows, Table
from .pruning import prune


def halves(table: Table) -> tuple[Rows, Rows]:
    """Return the cases to grow on and to judge by: those with an even number in their class come first, in order."""
    seen = [0] * table.n_classes
    firsts: list[int] = []
    others: list[int] = []
    for case, label in enumerate(table.classes.tolist()):
        (others if seen[label] % 2 else firsts).append(case)
        seen[label] += 1
    order = np.array([*firsts, *others[::-1]], np.intp)
    return order[: len(table) // 2], order[len(table) // 2 :]


def hide(table: Table, attributes: set[int], *, as_value: bool) -> Table:
    """Return a table where attributes are missing, or have the same value in all cases."""
    columns = list(table.columns)
    for attribute in attributes:
        missing = 0 if table.n_values[attribute] else np.nan
        columns[attribute] = np.full_like(columns[attribute], 1 if as_value else missing)
    return replace(table, columns=tuple(columns))


def tested(tree: Node) -> set[int]:
    return {node.test.attribute for node in tree.walk() if node.test is not None}


def winnow(table: Table, options: Options) -> set[int]:
    """Return the attributes that are removed.

    An attribute has many values compared with the half, but whether all have many, so that none is left out, was found before.
    """
    first, second = halves(table)
    judged = table.take(second)
    whole = Growth.of(table, options)
    unknown: set[int] = set()
    if not options.subset and not all(map(whole.has_many_values, range(len(table.n_values)))):
        half = Growth.of(table.take(first), options)
        unknown = set(filter(half.has_many_values, range(len(table.n_values))))

    def trees(removed: set[int]) -> tuple[Node, Node]:
        growth = Growth.of(hide(table, removed | unknown, as_value=True), options, has_minimum_gain=False)
        growth.minimum = max(options.minimum / 2, 2.0)
        grown = grow(growth, first)
        return grown, prune(grown, growth, first, prunes_globally=False)

    grown, tree = trees(set())
    base = n_errors(tree, judged)
    harmful = {a for a in tested(tree) if n_errors(tree, hide(judged, {a}, as_value=False)) < base}
    if harmful and n_errors(trees(harmful)[1], judged) > base:
        harmful = set()
    return (set(range(len(table.columns))) - tested(grown)) | harmful
