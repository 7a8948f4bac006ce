"""Tasks of a Dask cluster: results, and what is combined of several."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from fasttree._scale.remote import held

FAN_IN = 4  # replies that a task combines

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


def combined_on_workers(client: Any, replies: Sequence[Any], function: Callable[[Any], Any]) -> Any:
    """Start to combine delayed replies by a function of some of them, and return the future of one."""
    from dask.delayed import delayed

    combined, replies = delayed(function, pure=False), list(replies)
    while len(replies) > 1:
        replies = [combined(replies[i : i + FAN_IN]) for i in range(0, len(replies), FAN_IN)]
    return client.compute(replies[0], optimize_graph=False)


def forget(client: Any, key: str) -> None:
    """Drop what the shards keep for a fit; where that fails, it goes with the shards."""
    with contextlib.suppress(Exception):
        client.run(held.forget, key, on_error="ignore")
