"""Forests from a `Dataset`: one pass reads the rows of as many bags as fit into memory, and their trees grow from these rows.

Targets and weights of all rows are in memory, besides the numbers of the rows in these bags.  Rows on workers stay there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Schema
from fasttree._learn.forest.growing import Forest, Growth, Trees, layout_of
from fasttree._learn.grow.grower import Whole
from fasttree._learn.progress import steps
from fasttree._model.bags import Bags, seed_of_growth
from fasttree._model.packed.nodes import Packed
from fasttree._model.threads import in_threads
from fasttree._model.tree import Tree
from fasttree._scale.dataset import Dataset
from fasttree._scale.fitting import as_it_is
from fasttree._scale.memory import rows_in_memory
from fasttree._scale.preparation import Array, Floats, Portion, Portions, Weighing, outcomes
from fasttree._scale.remote.dask_table import DaskShards
from fasttree._scale.subtree import RowsOfNode

BYTES_OF_DRAWS = 8  # of a row, while a bag is drawn
BYTES_OF_ORDER = 20  # more, without replacement


class Bag(NamedTuple):
    """The rows that a tree has drawn."""

    tree: int
    rows: npt.NDArray[np.intp]
    counts: npt.NDArray[np.integer]


def targets_of(portions: Portions) -> tuple[Array, Floats | None]:
    """Return the target of each row, and its weight if there are weights."""
    found = list(outcomes(_target_and_weight, portions))
    weights = [weight for _, weight in found if weight is not None]
    return np.concatenate([target for target, _ in found]), np.concatenate(weights) if weights else None


def _target_and_weight(portion: Portion) -> tuple[Array, Floats | None]:
    return portion.target, portion.weight


def check_memory(data: Dataset, of_classes: bool, replaces: bool) -> None:
    """Raise a ValueError if targets, weights and draws of all rows need more than half of the memory."""
    n_bytes = _bytes_of_rows(data, of_classes, replaces)
    if n_bytes > data.memory // 2:
        room, remedy = "memory=", "the Dataset a larger memory="
        if data.is_remote:
            room, remedy = "the memory of a thread of a worker", "the workers more memory or fewer threads"
        raise ValueError(
            f"a forest keeps targets and draws of all rows in memory, here {n_bytes / 2**30:.3g} GiB, in half of {room}: give "
            f"{remedy}, or grow one tree"
        )


def _bytes_of_rows(data: Dataset, of_classes: bool, replaces: bool) -> int:
    n_bytes = (2 if of_classes else 8) + 16 * data.has_weights + BYTES_OF_DRAWS + (0 if replaces else BYTES_OF_ORDER)
    return n_bytes * data.n_samples


def growth_of(data: Dataset, portions: Portions, weigh: Weighing) -> Growth:
    """Return the function that grows the trees of a forest; `portions` have the targets of the fit."""
    prepared = data.prepared
    return prepared.bags(portions, weigh).grow if isinstance(prepared, DaskShards) else partial(grow_in_passes, data)


def grow_in_passes(data: Dataset, forest: Forest, first: int, last: int, n_jobs: int, found: Trees) -> Trees:
    """Grow the trees first, ..., last - 1 as `grow_forest` does, each from the rows of its bag alone.

    Parameters
    ----------
    data : Dataset
    forest : Forest
        Its samples have a table whose columns are on disk.
    first, last, n_jobs : int
    found : list
        Takes the trees; after an exception it has those that are grown.
    """
    report = steps("trees", last - first)
    report(0)
    columns = data.prepared.portions(as_it_is)
    whole = Whole.of(forest.grower.samples, forest.grower.n_classes)
    for bags in _groups(forest.bags, range(first, last), _most_rows(data, forest)):
        tables = _tables(columns, data.schema, bags)
        group = list[Tree | Packed | None]()
        try:
            in_threads(
                partial(_grown, forest, whole, bags, tables),
                len(bags),
                n_jobs,
                found=group,
                after=partial(_add, report, len(found)),
            )
        finally:
            found.extend(group)
    return found


def _add(report: Callable[[int], None], n_before: int, n_done: int) -> None:
    report(n_before + n_done)


def _most_rows(data: Dataset, forest: Forest) -> int:
    """Return the rows of the bags of one pass."""
    used = _bytes_of_rows(data, forest.grower.n_classes > 0, forest.bags.replaces)
    return rows_in_memory(data.memory - used, data.n_features, 1)


def _groups(bags: Bags, trees: Sequence[int], room: int) -> Iterator[list[Bag]]:
    """Yield the bags of as many trees as fit into the room for rows."""
    group: list[Bag] = []
    left = room
    for tree in trees:
        counts = bags.counts(tree)
        rows = np.flatnonzero(counts)
        if len(rows) > room:
            raise ValueError(
                f"the bag of tree {tree} has {len(rows):,} rows, and the memory of the Dataset has room for {room:,}: give "
                f"max_samples={room} or fewer, or a larger memory="
            )
        if group and len(rows) > left:
            yield group
            group, left = [], room
        group.append(Bag(tree, rows, counts[rows]))
        left -= len(rows)
    if group:
        yield group


def _tables(columns: Portions, schema: Schema, bags: Sequence[Bag]) -> list[RowsOfNode | None]:
    """Read the rows of each bag, in one pass."""
    tables: list[list[Array]] = []
    start = 0
    for portion in columns:
        if not tables:
            tables = [[np.empty(len(bag.rows), column.dtype) for column in portion.columns] for bag in bags]
        stop = start + len(portion.target)
        for bag, table in zip(bags, tables, strict=True):
            i, j = np.searchsorted(bag.rows, [start, stop])
            rows = bag.rows[i:j] - start
            for column, values in zip(table, portion.columns, strict=True):
                np.take(values, rows, out=column[i:j])
        start = stop
    return [RowsOfNode(schema, table, len(bag.rows), len(schema.features)) for bag, table in zip(bags, tables, strict=True)]


def _grown(forest: Forest, whole: Whole, bags: Sequence[Bag], tables: list[RowsOfNode | None], i: int) -> Tree | Packed:
    """Grow the tree of a bag, whose rows are not needed afterwards."""
    bag, grower = bags[i], forest.grower
    table: Any = tables[i]
    tables[i] = None
    known = grower.samples
    weight = None if known.weight is None else known.weight[bag.rows]
    samples = known._replace(table=table, target=known.target[bag.rows], weight=weight)
    of_bag = replace(forest, grower=replace(grower, samples=samples, whole=whole))
    return layout_of(of_bag)(bag.counts, seed_of_growth(forest.bags.seed, bag.tree))
