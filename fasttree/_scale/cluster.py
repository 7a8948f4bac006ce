"""Where the shards of a table are: the protocol between the driver of a growth and what holds the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fasttree._engine.rounds import Setting
from fasttree._scale.messages import Reply, Requests, Route
from fasttree._scale.nodes import TreeNode
from fasttree._scale.shards import Arrays, Order, Rows, serve
from fasttree._scale.subtree import Task, grow_below

Fields = dict[str, npt.NDArray[Any]]  # of a tree


class Cluster(Protocol):
    """Holds the shards of a table for one fit."""

    def ask(self, log: Sequence[Route], requests: Requests) -> Reply:
        """Let all shards answer the requests of one round, and combine their replies."""
        ...

    def exchange(
        self, growth: Task, log: Sequence[Route], buckets: Sequence[Sequence[TreeNode]]
    ) -> Iterator[tuple[TreeNode, Fields]]:
        """Bring the rows of each bucket of nodes together, and grow the trees below its nodes."""
        ...

    def close(self) -> None:
        """Drop what the fit added to the shards."""
        ...


class Local:
    """Shards whose rows are brought together in this process."""

    def collect(self, log: Sequence[Route], nodes: Sequence[int]) -> list[Arrays]:
        """Bring the rows of each node from all shards together, in memory."""
        raise NotImplementedError

    def exchange(
        self, growth: Task, log: Sequence[Route], buckets: Sequence[Sequence[TreeNode]]
    ) -> Iterator[tuple[TreeNode, Fields]]:
        """Bring the rows of each bucket of nodes together, and grow the trees below its nodes."""
        for bucket in buckets:
            for node, rows in zip(bucket, self.collect(log, [node.id for node in bucket]), strict=True):
                yield node, grow_below(growth, node, rows)

    def close(self) -> None:
        """Drop what the fit added to the shards, which is nothing if they are in memory."""


class InProcess(Local):
    """Shards in memory.

    Parameters
    ----------
    setting : Setting
    shards : list of Arrays
    """

    def __init__(self, setting: Setting, shards: Sequence[Arrays]) -> None:
        self._setting = setting
        self._shards = list(shards)
        self._orders = [Order(shard.first_rows()) for shard in self._shards]

    def ask(self, log: Sequence[Route], requests: Requests) -> Reply:
        """Answer the requests of one round."""
        total: Reply | None = None
        for arrays, order in zip(self._shards, self._orders, strict=True):
            total = serve(arrays.engine(self._setting), self._setting, order, log, requests, total)
        assert total is not None
        return total

    def collect(self, log: Sequence[Route], nodes: Sequence[int]) -> list[Arrays]:
        """Bring the rows of each node from all shards together."""
        parts: list[list[Arrays]] = [[] for _ in nodes]
        for arrays, order in zip(self._shards, self._orders, strict=True):
            order.follow(arrays.engine(self._setting), log)
            for part, node in zip(parts, nodes, strict=True):
                part.append(some_rows(arrays, order.rows_of(node)))
        return [joined(part) for part in parts]


def some_rows(arrays: Arrays, rows: Rows) -> Arrays:
    """Return rows of a shard, without their codes in tiles."""
    return Arrays(
        [column[rows] for column in arrays.columns],
        np.empty(0, dtype=np.uint8),
        None if arrays.label is None else arrays.label[rows],
        None if arrays.weight is None else arrays.weight[rows],
        None if arrays.y is None else arrays.y[rows],
        None if arrays.sums is None else arrays.sums[rows],
        None,
    )


def joined(parts: Sequence[Arrays]) -> Arrays:
    """Return the rows of several shards as one."""
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True)]
    targets = {name: _joined([getattr(part, name) for part in parts]) for name in ("label", "weight", "y", "sums")}
    return Arrays(columns, parts[0].tiles, **targets, kept=None)


def _joined(arrays: Sequence[Any]) -> Any:
    """Return arrays as one, or None if the shards have none."""
    return None if arrays[0] is None else np.concatenate(arrays)
