"""Locks, of which CPython reports by RuntimeError that there is no memory for one."""

from __future__ import annotations

import threading


def new_lock() -> threading.Lock:
    """Return a lock, or raise MemoryError."""
    try:
        return threading.Lock()
    except RuntimeError:
        raise MemoryError("there is no memory for a lock") from None
