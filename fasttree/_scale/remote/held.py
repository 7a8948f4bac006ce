"""Shards in the memory of workers, as any engine of tasks can hold them.

Every function here may run anywhere, twice or late: what it returns follows from its arguments.  What a shard keeps between
rounds is made again where it is lost.
"""

from __future__ import annotations

import copy
import pickle
import platform
import uuid
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from fasttree._engine.rounds import Setting, Shard
from fasttree._scale.cluster import Fields, joined, some_rows
from fasttree._scale.messages import Reply, Requests, Route, combine
from fasttree._scale.nodes import TreeNode
from fasttree._scale.preparation import Array, Floats, Portion, Weighing, arrays_of
from fasttree._scale.shards import Arrays, Order, serve
from fasttree._scale.subtree import Task, grow_below
from fasttree._version import __version__

MOST_FITS = 4  # of which a shard keeps the order of its rows
CHUNK = 4096  # splits that are sent once

_here: weakref.WeakSet[HeldShard] = weakref.WeakSet()


@dataclass(frozen=True)
class Job:
    """A fit, as the shards need it.

    Parameters
    ----------
    terms : tuple
        The parameters of its `Setting`.
    encode : callable
        Returns the targets of the fit from what the column holds.
    weigh : Weighing or None
        None where all samples of numbers count 1.
    key : str
    version : str
        The version of fasttree where the fit is.
    """

    terms: tuple[Any, ...]
    encode: Callable[[Floats], Array]
    weigh: Weighing | None
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    version: str = __version__


def check_version(version: str) -> None:
    """Raise an error unless this process has the version of fasttree that the fit has."""
    if version != __version__:
        raise RuntimeError(f"fasttree {__version__} on {platform.node()}, {version} where the fit is: install one version")


class Message(NamedTuple):
    """What the shards are sent in a round.

    Parameters
    ----------
    tail : list of Route
        The last splits; earlier ones are sent once for all rounds.
    requests : Requests
    """

    tail: Sequence[Route]
    requests: Requests


class _Fit(NamedTuple):
    arrays: Arrays
    shard: Shard
    order: Order


class HeldShard:
    """A shard in the memory of a worker.

    Parameters
    ----------
    portion : Portion
        With what the target column holds.
    """

    def __init__(self, portion: Portion) -> None:
        self.portion = portion
        self._fits: dict[str, Any] = {}
        _here.add(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return HeldShard, (self.portion,)

    def __sizeof__(self) -> int:
        portion = self.portion
        weight = 0 if portion.weight is None else portion.weight.nbytes
        return int(sum(column.nbytes for column in portion.columns) + portion.tiles.nbytes + portion.target.nbytes + weight)

    def with_target(self, encode: Callable[[Floats], Array]) -> Portion:
        """Return the rows with the targets of a fit."""
        return replace(self.portion, target=encode(self.portion.target))

    def take(self, job: Job) -> _Fit:
        """Return what the shard keeps for a fit, which no other task has meanwhile."""
        check_version(job.version)
        fit: _Fit | None = self.borrow(job.key)
        if fit is None:
            scale, weighted = job.terms[2], job.terms[6]
            arrays = arrays_of(self.with_target(job.encode), scale, job.weigh, weighted)
            fit = _Fit(arrays, arrays.engine(Setting(*job.terms)), Order(arrays.first_rows()))
        return fit

    def borrow(self, key: str) -> Any:
        """Return what the shard keeps for a fit, which no other task has meanwhile; None if there is nothing."""
        return self._fits.pop(key, None)

    def keep(self, key: str, fit: Any) -> None:
        """Keep what was taken, for the next round."""
        self._fits[key] = fit
        for other in list(self._fits)[:-MOST_FITS]:
            self._fits.pop(other, None)

    def forget(self, key: str) -> None:
        """Drop what is kept under a key, and under those that begin with it."""
        for own in [own for own in list(self._fits) if own.startswith(key)]:
            self._fits.pop(own, None)


def outcome(function: Callable[[Portion], Any], encode: Callable[[Floats], Array], shard: HeldShard) -> Any:
    """Return the result of a function of the rows of a shard."""
    return function(shard.with_target(encode))


def read(message: bytes) -> Any:
    """Return what is sent to all shards in a round.  As bytes, it costs the scheduler hardly anything."""
    return pickle.loads(message)


def ask(shard: HeldShard, job: Job, sent: bytes, *earlier: Sequence[Route]) -> Reply:
    """Return the reply of a shard to a `Message` in one round."""
    message: Message = read(sent)
    fit, log = shard.take(job), whole(earlier, message.tail)
    reply = serve(fit.shard, Setting(*job.terms), fit.order, log, message.requests)
    shard.keep(job.key, fit)
    return reply


def rows_of(shard: HeldShard, job: Job, nodes: Sequence[int], *log: Sequence[Route]) -> list[Arrays]:
    """Return the rows of some nodes."""
    fit = shard.take(job)
    fit.order.follow(fit.shard, whole(log, ()))
    found = [some_rows(fit.arrays, fit.order.rows_of(node)) for node in nodes]
    shard.keep(job.key, fit)
    return found


def whole(earlier: Sequence[Sequence[Route]], tail: Sequence[Route]) -> list[Route]:
    """Return all splits so far."""
    return [route for routes in (*earlier, tail) for route in routes]


def sent_log(send: Callable[[Any], Any], chunks: list[Any], log: Sequence[Route]) -> Sequence[Route]:
    """Send splits that are enough for a chunk, and add them to those that were sent; return the others."""
    while len(log) - CHUNK * len(chunks) >= CHUNK:
        first = CHUNK * len(chunks)
        chunks.append(send(log[first : first + CHUNK]))
    return log[CHUNK * len(chunks) :]


def combined(replies: Sequence[Reply]) -> Reply:
    """Return some replies as one; they are not changed, because another task may need them again."""
    total = copy.deepcopy(replies[0])
    for reply in replies[1:]:
        combine(total, reply)
    return total


def grow_bucket(growth: Task, nodes: Sequence[TreeNode], *parts: Sequence[Arrays]) -> list[Fields]:
    """Return the trees below some nodes, whose rows come from all shards."""
    rows = [joined(of_node) for of_node in zip(*parts, strict=True)]
    return [grow_below(growth, node, arrays) for node, arrays in zip(nodes, rows, strict=True)]


def identity(given: Any) -> Any:
    """Return what is given, as a task whose result is made again where it is lost."""
    return given


def forget(key: str) -> None:
    """Drop what the shards of this process keep for a fit."""
    for shard in list(_here):
        shard.forget(key)


def kept() -> tuple[int, int]:
    """Return the number of shards in this process, and of fits for which they keep something."""
    shards = list(_here)
    return len(shards), sum(len(shard._fits) for shard in shards)
