"""Shards on the workers of a Dask cluster.

Only `submit`, `map`, `compute`, `gather` and `run` of a client are used.  Where a worker is lost, Dask makes its shards again
from the collection, and a shard follows the splits so far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fasttree._engine.rounds import Setting
from fasttree._scale.cluster import Fields
from fasttree._scale.messages import Reply, Requests, Route, reply_bytes
from fasttree._scale.nodes import TreeNode
from fasttree._scale.preparation import Array, Floats, Portion, Portions
from fasttree._scale.remote import held
from fasttree._scale.remote.tasks import combined_on_workers, forget, gathered, message_of
from fasttree._scale.subtree import Task


class DaskPortions(Portions):
    """The parts of a table on workers.

    Parameters
    ----------
    client : distributed.Client
    shards : list of Future
    encode : callable
        Returns the targets of a fit from what the column holds.
    """

    def __init__(self, client: Any, shards: Sequence[Any], encode: Callable[[Floats], Array]) -> None:
        super().__init__([])  # none of them is opened here
        self.client, self.shards, self.encode = client, list(shards), encode

    def outcomes(self, function: Callable[[Portion], Any]) -> Iterable[Any]:
        """Return the results of a function of each part."""
        futures = self.client.map(partial(held.outcome, function, self.encode), self.shards, pure=False)
        results: list[Any] = gathered(self.client, futures)
        return results


class OnDask:
    """Shards on the workers of a Dask cluster, for one fit.

    Parameters
    ----------
    portions : DaskPortions
        With the targets of the fit.
    terms : tuple
        The parameters of its `Setting`.
    weigh : callable or None
        None for numbers.
    n_threads : int
        Threads of all workers.
    """

    def __init__(self, portions: DaskPortions, terms: tuple[Any, ...], weigh: Any, n_threads: int) -> None:
        self._client, self._shards, self._n_threads = portions.client, portions.shards, n_threads
        job = held.Job(terms, portions.encode, weigh)
        self._key, self._job, self._setting = job.key, self._sent(job), Setting(*terms)
        self._chunks: list[Any] = []

    def _sent(self, given: Any) -> Any:
        """Send something once for all tasks; unlike what is scattered, it is sent again if it is lost."""
        return self._client.submit(held.identity, given, pure=False)

    def _map(self, function: Callable[..., Any], *same: Any) -> list[Any]:
        """Call a function of each shard, and of what is the same for all."""
        n = len(self._shards)
        futures: list[Any] = self._client.map(function, self._shards, *([given] * n for given in same), pure=False)
        return futures

    def _send_chunks(self, log: Sequence[Route]) -> Sequence[Route]:
        """Send splits that are enough for a chunk; return the others."""
        return held.sent_log(self._sent, self._chunks, log)

    def ask(self, log: Sequence[Route], requests: Requests) -> Reply:
        """Let all shards answer the requests of one round, and combine their replies."""
        reply: Reply = gathered(self._client, self._reply(held.Message(self._send_chunks(log), requests)))
        return held.combined([reply])  # of which the arrays can be written to

    def _reply(self, message: held.Message) -> Any:
        """Submit all tasks of a round at once, of which the client keeps the last alone: this takes the scheduler least time."""
        from dask.delayed import delayed

        ask = delayed(held.ask, pure=False)
        sent = message_of(message, len(self._shards))
        replies = [ask(shard, self._job, sent, *self._chunks) for shard in self._shards]
        n_bytes = reply_bytes(message.requests, self._setting.n_cells, self._setting.width)
        return combined_on_workers(self._client, replies, held.combined, n_bytes)

    def exchange(
        self, growth: Task, log: Sequence[Route], buckets: Sequence[Sequence[TreeNode]]
    ) -> Iterator[tuple[TreeNode, Fields]]:
        """Bring the rows of each bucket of nodes to one worker, and grow the trees below its nodes there."""
        tail, growth = self._sent(self._send_chunks(log)), self._sent(replace(growth, n_jobs=1))
        waiting: deque[tuple[Sequence[TreeNode], Any]] = deque()
        for bucket in buckets:
            rows = self._map(held.rows_of, self._job, [node.id for node in bucket], *self._chunks, tail)
            plain = [replace(node, histogram=None, groups=None) for node in bucket]
            waiting.append((bucket, self._client.submit(held.grow_bucket, growth, plain, *rows, pure=False)))
            if len(waiting) > 2 * self._n_threads:
                yield from self._grown(*waiting.popleft())
        while waiting:
            yield from self._grown(*waiting.popleft())

    def _grown(self, bucket: Sequence[TreeNode], future: Any) -> Iterator[tuple[TreeNode, Fields]]:
        return zip(bucket, gathered(self._client, future), strict=True)

    def close(self) -> None:
        """Drop what the shards keep for the fit."""
        forget(self._client, self._key)
