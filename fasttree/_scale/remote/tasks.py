"""Tasks of a Dask cluster: results, and what is combined of several."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fasttree._scale.remote import held

FAN_IN, FAN_IN_OF_LARGE = 16, 4  # replies that a task combines
MOST_COMBINED = 2**26  # bytes of replies that are not large
MOST_COPIED = 2**20  # bytes of a message, in all tasks of a round together

KILLED = (
    "a worker that held rows was killed too often, most likely for its memory: give Dataset.from_dask more shards by n_shards=, "
    "or the workers more memory; `allowed-failures` of Dask is how often a task may lose its worker"
)
CLOSED = "the Dask client or its scheduler is gone, and the fit with it: connect again, and fit again"


def gathered(client: Any, futures: Any) -> Any:
    """Return results.

    Raises
    ------
    RuntimeError
        If a worker was killed too often, or the client is closed.
    """
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    try:
        return client.gather(futures)
    except KilledWorker as error:
        raise RuntimeError(KILLED) from error
    except FutureCancelledError as error:
        raise RuntimeError(CLOSED) from error


def message_of(given: Any, n_tasks: int) -> Any:
    """Return what all tasks of a round need, as they `read` it: a small message is a part of each task, a large one is a task."""
    from dask.delayed import delayed

    sent = pickle.dumps(given, protocol=pickle.HIGHEST_PROTOCOL)
    return sent if len(sent) * n_tasks <= MOST_COPIED else delayed(partial(held.identity, sent), pure=False)()


def fan_in(n_bytes: float) -> int:
    """Return how many replies of `n_bytes` each a task combines."""
    return FAN_IN if n_bytes * FAN_IN <= MOST_COMBINED else FAN_IN_OF_LARGE


def combined_on_workers(client: Any, replies: Sequence[Any], function: Callable[[Any], Any], n_bytes: int) -> Any:
    """Start to combine delayed replies of `n_bytes` each by a function of some of them, and return the future of one."""
    from dask.delayed import delayed

    combined, replies = delayed(function, pure=False), list(replies)
    at_once = fan_in(n_bytes)
    while len(replies) > 1:
        replies = [combined(replies[i : i + at_once]) for i in range(0, len(replies), at_once)]
    return client.compute(replies[0], optimize_graph=False)


def forget(client: Any, key: str) -> None:
    """Drop what the shards keep for a fit; where that fails, it goes with the shards."""
    with contextlib.suppress(Exception):
        client.run(held.forget, key, on_error="ignore")
