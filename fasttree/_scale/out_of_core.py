"""Shards on disk.

They stay mapped between rounds if the free memory of the machine holds them all, which spares the system the work of mapping
their pages again; these pages are its file cache, and it drops them where memory is short.  Else each thread has one shard at a
time in hand, and nothing of it stays in memory afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Schema
from fasttree._engine.records import Scale
from fasttree._engine.rounds import Setting, Shard
from fasttree._model.threads import in_threads
from fasttree._scale.cluster import Local, joined, some_rows
from fasttree._scale.frontier import Features
from fasttree._scale.memory import free_memory
from fasttree._scale.messages import Reply, Requests, Route, combine
from fasttree._scale.preparation import Array, Portion, Portions, Weighing, arrays_of
from fasttree._scale.shards import Arrays, Order, serve
from fasttree._scale.store import ArrayFile, ScratchFolder

Floats = npt.NDArray[np.float64]

NO_ROWS = np.empty(0, dtype=np.uint32)


class OutOfCore(Local):
    """Shards on disk, for one fit.

    Parameters
    ----------
    setting : Setting
    portions : Portions
        With the targets of the fit.
    columns : Portions
        The same with the target column as it is, which takes no time.
    scratch : ScratchFolder
        For what the fit adds to each part: targets and weights in fixed point, and the order of the rows.
    scale : Scale
    weigh : callable or None
        Returns the weights of a part; None where all samples of numbers count 1.
    weighted : bool
    n_bytes : int
        Size of the files of the columns.

    Attributes
    ----------
    n_jobs : int
        Threads that answer requests; each adds up a reply of its own.
    """

    n_jobs = 1

    def __init__(
        self,
        setting: Setting,
        portions: Portions,
        columns: Portions,
        scratch: ScratchFolder,
        scale: Scale,
        *,
        weigh: Callable[[Portion], Floats | None] | None,
        weighted: bool,
        n_bytes: int,
    ) -> None:
        self._setting, self._scratch = setting, scratch
        self._columns = columns
        self._of_fit: list[ArrayFile] = []
        self._rows: list[ArrayFile] = []
        self._orders: list[Order] = []
        self._weighted = weighted
        self._of_classes = False
        self._mapped: dict[int, tuple[Arrays, Shard]] = {}
        for portion in portions:
            arrays = arrays_of(portion, scale, weigh, weighted)
            self._of_classes = arrays.label is not None
            added = [array for array in (arrays.label, arrays.weight, arrays.sums) if array is not None]
            self._of_fit.append(scratch.write(added))
            self._rows.append(scratch.write([arrays.first_rows()]))
            n_rows = len(self._rows[-1].read()[0])
            self._orders.append(Order(NO_ROWS, n_rows))
        self._stay_mapped = n_bytes + sum(file.size for file in [*self._of_fit, *self._rows]) <= free_memory()

    def remember(self, n_bytes: int) -> None:
        """Let the shards remember no more rows between two rounds than so many bytes hold."""
        for order in self._orders:
            order.room = min(order.room, n_bytes // (order.rows.itemsize * len(self._orders)))

    def _open(self, i: int) -> Shard:
        """Map a shard and the order of its rows."""
        return self._opened(i)[1]

    def _opened(self, i: int) -> tuple[Arrays, Shard]:
        """Map the arrays of a shard, the shard, and the order of its rows."""
        order = self._orders[i]
        if i in self._mapped:
            return self._mapped[i]
        portion = self._columns[i]
        added = self._of_fit[i].read()
        order.rows = self._rows[i].read(writable=True)[0]
        weight = added[-1 if self._of_classes else 0] if self._weighted else None
        if self._of_classes:
            arrays = Arrays(portion.columns, portion.tiles, added[0], weight, None, None, None)
        else:
            arrays = Arrays(portion.columns, portion.tiles, None, weight, portion.target, added[-1], None)
        engine = arrays.engine(self._setting)
        if self._stay_mapped:
            self._mapped[i] = arrays, engine
        return arrays, engine

    def _leave(self, i: int) -> None:
        """Unmap the order of a shard that does not stay mapped."""
        if not self._stay_mapped:
            self._orders[i].rows = NO_ROWS

    def ask(self, log: Sequence[Route], requests: Requests) -> Reply:
        """Let all shards answer the requests of one round, and combine their replies."""
        n_threads = min(self.n_jobs, len(self._columns))

        def ask_some(first: int) -> Reply | None:
            reply: Reply | None = None
            for i in range(first, len(self._columns), n_threads):
                reply = serve(self._open(i), self._setting, self._orders[i], log, requests, reply)
                self._leave(i)
            return reply

        total, *others = [reply for reply in in_threads(ask_some, n_threads, n_threads) if reply is not None]
        return reduce(combine, others, total)

    def collect(self, log: Sequence[Route], nodes: Sequence[int]) -> list[Arrays]:
        """Bring the rows of each node from all shards together, in memory."""
        parts: list[list[Arrays]] = [[] for _ in nodes]
        for i in range(len(self._columns)):
            (arrays, shard), order = self._opened(i), self._orders[i]
            order.follow(shard, log)
            for part, node in zip(parts, nodes, strict=True):
                part.append(some_rows(arrays, order.rows_of(node)))
            self._leave(i)
        return [joined(part) for part in parts]

    def close(self) -> None:
        """Remove what the fit added."""
        self._mapped.clear()
        for order in self._orders:
            order.rows = NO_ROWS
        self._scratch.drop([*self._of_fit, *self._rows])
        self._of_fit, self._rows = [], []


class TableOnDisk:
    """A table on disk.

    Parameters
    ----------
    scratch : ScratchFolder
    schema : Schema
    features : Features
        Bins and codes.
    shards : list of (ArrayFile, ArrayFile)
        Values and codes.
    n_samples : int
    n_weights : int
        1 if there are sample weights, else 0.
    """

    def __init__(
        self,
        scratch: ScratchFolder,
        schema: Schema,
        features: Features,
        shards: list[tuple[ArrayFile, ArrayFile]],
        n_samples: int,
        *,
        weighted: bool,
    ) -> None:
        self.scratch, self.schema, self.features, self.n_samples = scratch, schema, features, n_samples
        self.weighted = weighted
        self._shards = shards

    def portions(self, target: Callable[[Floats], Array]) -> Portions:
        """Return the parts of the table; `target` makes targets of what the column holds."""
        return Portions([partial(self._open, values, codes, target) for values, codes in self._shards])

    def cluster(self, terms: tuple[Any, ...], columns: Portions, portions: Portions, weigh: Weighing | None) -> OutOfCore:
        """Return the shards for a fit; `terms` are the parameters of its `Setting`, and `portions` have its targets."""
        scale, weighted = terms[2], terms[6]
        n_bytes = sum(file.size for shard in self._shards for file in shard)
        setting = Setting(*terms)
        return OutOfCore(setting, portions, columns, self.scratch, scale, weigh=weigh, weighted=weighted, n_bytes=n_bytes)

    def largest_subtree(self, rows: int) -> int:
        """Return the rows of the largest node that is grown in memory, where `rows` fit."""
        return rows

    def close(self) -> None:
        """Close all files, and remove those that are temporary."""
        self.scratch.close()
        for file in (file for shard in self._shards for file in shard):
            file.close()

    def _open(self, values: ArrayFile, codes: ArrayFile, target: Callable[[Floats], Array]) -> Portion:
        arrays = values.read()
        weight = arrays.pop() if self.weighted else None
        column = arrays.pop()
        return Portion(arrays, codes.read()[0], target(column), weight)
