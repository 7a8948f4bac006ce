"""Locks and threads, of which CPython reports by RuntimeError that there is no room for one."""

from __future__ import annotations

import threading
from collections.abc import Callable


def new_lock() -> threading.Lock:
    """Return a lock, or raise MemoryError."""
    try:
        return threading.Lock()
    except RuntimeError:
        raise MemoryError("there is no memory for a lock") from None


def started_threads(work: Callable[[int], None], n: int) -> list[threading.Thread]:
    """Start threads that call work(1), ..., work(n): as many as the system has room for."""
    threads = list[threading.Thread]()
    for i in range(n):
        try:  # a thread has locks, too
            thread = threading.Thread(target=work, args=(i + 1,))
            thread.start()
        except RuntimeError:
            break
        threads.append(thread)
    return threads
