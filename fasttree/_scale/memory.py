"""Memory of a fit in bytes, and the rows that fit into it."""

from __future__ import annotations

import re

from fasttree._engine.rounds import tile_bytes

UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
LEAST_MEMORY = 2**26


def memory_of(given: int | str) -> int:
    """Return a number of bytes, given so, as "6GiB", or as "auto": half of what is free."""
    if given == "auto":
        return max(free_memory() // 2, LEAST_MEMORY)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(given).lower()) if not isinstance(given, bool) else None
    if found is None or found[2] not in UNITS:
        raise ValueError(f"memory={given!r}: must be a number of bytes, a text such as '6GiB', or 'auto'")
    n_bytes = int(float(found[1]) * UNITS[found[2]])
    if n_bytes < LEAST_MEMORY:
        raise ValueError(f"memory={given!r}: must be at least {LEAST_MEMORY // 2**20} MiB")
    return n_bytes


def free_memory() -> int:
    """Return the bytes that are free for this process."""
    found = 4 * 2**30
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable"):
                    found = int(line.split()[1]) * 1024
    except OSError:
        return found
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(name, encoding="ascii") as file:
                limit = file.read().strip()
        except OSError:
            continue
        if limit.isdecimal():
            found = min(found, int(limit))
    return found


def rows_in_memory(memory: int, n_features: int, n_threads: int) -> int:
    """Return the rows of the largest node that is grown in memory."""
    return max(memory // 2 // n_threads // (8 * n_features + tile_bytes(n_features) + 95), 2**15)
