"""A shard, and its reply to the requests of a round.

The reply is a function of the shard, the splits so far and the requests.  What a shard remembers between rounds, the order of its
rows, follows from the splits too: where it is lost, it is made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree._engine.rounds import Setting, Shard
from fasttree._scale.messages import Keys, Question, Ranges, Reply, Requests, Route, empty_reply

Array: TypeAlias = npt.NDArray[Any]
Rows: TypeAlias = npt.NDArray[np.uint32]

ROWS_PER_FOUND = 4  # of a shard: it remembers at most one in so many between two rounds


@dataclass(frozen=True)
class Arrays:
    """The arrays of a shard for one fit.

    Parameters
    ----------
    columns : list of arrays of shape (n,)
        float32 or float64 (NaN = missing) for continuous features, codes for others.
    tiles : uint8 array
        Codes of all features, as the engine reads them.
    label : uint16 array of shape (n,) or None
    weight : int64 array of shape (n,) or None
        In fixed point.
    y : float64 array of shape (n,) or None
    sums : int64 array of shape (n,) or None
        Targets less their centre, in fixed point.
    kept : bool array of shape (n,) or None
        Rows of positive weight; None: all.
    """

    columns: list[Array]
    tiles: npt.NDArray[np.uint8]
    label: npt.NDArray[np.uint16] | None
    weight: npt.NDArray[np.int64] | None
    y: npt.NDArray[np.float64] | None
    sums: npt.NDArray[np.int64] | None
    kept: npt.NDArray[np.bool_] | None

    @property
    def n_rows(self) -> int:
        """Rows, with those of weight 0."""
        target = self.label if self.y is None else self.y
        assert target is not None
        return len(target)

    def first_rows(self) -> Rows:
        """Return the rows of the root."""
        rows = np.arange(self.n_rows) if self.kept is None else np.flatnonzero(self.kept)
        return rows.astype(np.uint32)

    def engine(self, setting: Setting) -> Shard:
        """Return the shard as the engine reads it."""
        floats = [column if column.dtype.kind == "f" or column.dtype == np.uint16 else None for column in self.columns]
        return Shard(setting, floats, self.tiles, self.label, self.weight, self.y, self.sums)


class Inside(NamedTuple):
    """The rows of a node inside some cells of a feature."""

    cells: Ranges
    rows: Rows

    def holds(self, cells: Ranges) -> bool:
        """Return whether these cells are parts of the known ones."""
        within = np.searchsorted(self.cells.low, cells.low, side="right") - 1
        return bool((within >= 0).all() and (cells.high <= self.cells.high[within]).all())


class Order:
    """The rows of a shard, of which each node has a slice, after some splits.

    Parameters
    ----------
    rows : uint32 array
        Rows of the root; they are put in order in their place.
    n_rows : int or None, default=None
        Their number, if they come later.
    """

    def __init__(self, rows: Rows, n_rows: int | None = None) -> None:
        self.rows = rows
        self.slices = {0: (0, len(rows) if n_rows is None else n_rows)}
        self.neighbours: list[tuple[int, int]] = []
        self.inside: dict[tuple[int, int], Inside] = {}  # by node and feature: rows that the last round found
        self.room = self.slices[0][1] // ROWS_PER_FOUND  # for such rows

    def among(self, question: Question) -> Rows:
        """Return rows of a node that contain all those of some cells: few, where the last round divided what holds the cells."""
        known = self.inside.get((question.node, question.feature))
        if known is None or not known.holds(question.cells):
            return self.rows_of(question.node)
        return known.rows

    def follow(self, shard: Shard, log: Sequence[Route]) -> None:
        """Route the rows by the splits that are new."""
        for split in log[len(self.neighbours) :]:
            start, stop = self.slices[split.node]
            n_low, below, above = shard.route(split, self.rows[start:stop])
            self.slices[split.first_child] = start, start + n_low
            self.slices[split.first_child + 1] = start + n_low, stop
            self.neighbours.append((below, above))

    def rows_of(self, node: int) -> Rows:
        """Return the rows of a node."""
        start, stop = self.slices[node]
        return self.rows[start:stop]

    def between(self, since: int, n_splits: int) -> tuple[Keys, Keys]:
        """Return the keys below and above the cuts of some splits."""
        found = np.array(self.neighbours[since:n_splits], dtype=np.uint64).reshape(-1, 2)
        return found[:, 0], found[:, 1]


def serve(
    shard: Shard, setting: Setting, order: Order, log: Sequence[Route], requests: Requests, total: Reply | None = None
) -> Reply:
    """Answer the requests of a round about the rows of one shard; `total`, where it is given, is added to."""
    order.follow(shard, log)
    reply = empty_reply(requests, len(log), setting.n_cells, setting.width) if total is None else total
    below, above = order.between(requests.since, len(log))
    np.maximum(reply.below, below, out=reply.below)
    np.minimum(reply.above, above, out=reply.above)
    for i, node in enumerate(requests.count):
        shard.count(order.rows_of(node), reply.counts[i])
    _divide(shard, order, requests.divide, reply)
    for i, node in enumerate(requests.sums):
        high, low, least, most = shard.sums(order.rows_of(node))
        reply.sums[i] += high, low
        reply.y_least[i], reply.y_most[i] = min(reply.y_least[i], least), max(reply.y_most[i], most)
    for i, (node, centre) in enumerate(requests.deviate):
        reply.deviations[i] += shard.deviations(order.rows_of(node), centre)
    return reply


def _divide(shard: Shard, order: Order, questions: Sequence[Question], reply: Reply) -> None:
    """Divide cells, and remember the rows inside them for the next round, which divides some of the parts."""
    inside: dict[tuple[int, int], Inside] = {}
    room, first = order.room, 0
    for question in questions:
        parts = slice(first, first + question.cells.n_parts)
        counts, least, most = reply.parts[parts], reply.least[parts], reply.most[parts]
        rows = shard.divide(question.feature, order.among(question), question.cells, counts, least, most, room)
        if rows is not None:
            room -= len(rows)
            inside[question.node, question.feature] = Inside(question.cells, rows)
        first = parts.stop
    order.inside = inside
