"""Numbers of threads, and pieces of work that several threads take in turn."""

from __future__ import annotations

import _thread
from collections.abc import Callable
from itertools import count
from threading import Lock
from typing import Any, TypeVar

from fasttree._data.checks import is_integer

T = TypeVar("T")

# what `is_n_jobs` accepts
ALLOWED_N_JOBS = "a number of threads, or -1 for all cores, -2 for all but one, ..., or None for one"
MOST_THREADS = 1024  # more are not started, whatever is asked for


def is_n_jobs(value: Any) -> bool:
    return value is None or (is_integer(value) and value != 0)


def number_of_threads(n_jobs: int | None) -> int:
    """Return how many threads a parameter `n_jobs` asks for."""
    if n_jobs is None:
        return 1
    from joblib import effective_n_jobs  # slow, and only for those who ask for threads

    return int(min(effective_n_jobs(int(n_jobs)), MOST_THREADS))


def slices(start: int, stop: int, least: int, n_jobs: int) -> list[slice]:
    """Return at least so many parts of some rows, as many for each thread."""
    n, size = -(-least // n_jobs) * n_jobs, stop - start
    return [slice(start + size * i // n, start + size * (i + 1) // n) for i in range(n)]


def in_threads(
    work: Callable[[int], T],
    n_items: int,
    n_jobs: int,
    *,
    found: list[T | None] | None = None,
    after: Callable[[int], None] | None = None,
    failures: list[BaseException] | None = None,
) -> list[T | None]:
    """Return ``[work(0), ..., work(n_items - 1)]``; threads, among them this one, take the items in this order.

    An exception in any thread, or an interrupt, ends the work: no thread takes another item, and when all have stopped the
    exception is raised.

    Parameters
    ----------
    work : callable
        Function of the number of an item.
    n_items, n_jobs : int
        Numbers of items and of threads.
    found : list or None, default None
        Takes the results, None for items that are not done; after an exception, it has those of the finished items.
    after : callable or None, default None
        Called in this thread with the number of items done, whenever there are more.
    failures : list or None, default None
        Takes the exceptions at once, so that long items can look whether they still have to go on.
    """
    if n_items == 1 and found is None and after is None:  # as with the columns of a small table
        return [work(0)]
    results: list[T | None] = [] if found is None else found
    results.extend([None] * n_items)
    failures = [] if failures is None else failures
    waiting, done = count(), [0] * max(min(n_jobs, n_items), 1)

    def take(thread: int) -> None:
        try:
            while not failures and (item := next(waiting)) < n_items:
                results[item] = work(item)
                done[thread] += 1
                if thread == 0 and after is not None:
                    after(sum(done))
        except BaseException as failure:  # including an interrupt: the other threads must stop
            failures.append(failure)

    def run(running: Lock, thread: int) -> None:
        try:
            take(thread)
        finally:
            running.release()

    threads = list[Lock]()
    try:
        for thread in range(1, len(done)):
            running = Lock()
            running.acquire()
            _thread.start_new_thread(run, (running, thread))  # `threading` waits until it runs: longer than some work takes
            threads.append(running)
    except RuntimeError:
        pass  # the system has no room for more, or for their locks
    except BaseException as failure:
        failures.append(failure)
    take(0)
    for running in threads:
        while running.locked():
            try:
                with running:
                    pass
            except BaseException as failure:
                failures.append(failure)
    if failures:
        try:
            raise failures[0]
        finally:
            failures.clear()  # the traceback refers to the list: this cycle would keep the arrays of the work
    if after is not None:
        after(sum(done))
    return results
