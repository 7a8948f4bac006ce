"""Every case on small tables: results are checked, then each call is a benchmark of its group."""

import re
import time
from functools import lru_cache
from typing import Any

import pytest

from .__main__ import SUITE
from .cases import OURS, Case, Contest, Skipped
from .growth import MEMORY_CASES, MemoryCase
from .memory import can_measure_memory, training_bytes

SAME_WHEN_SMALL = re.compile(r"rows-(?!10000$)|c45-hflights-10{5,}")  # only the smallest size is tested
CASES = [
    pytest.param(case, side, id=f"{case.id}-{side}", marks=pytest.mark.benchmark(group=group))
    for group, cases in SUITE.items()
    for case in cases
    if isinstance(case, Case) and not SAME_WHEN_SMALL.match(case.id)
    for side in (["ours", "other"] if group == "targets" and not case.id.startswith("c45") else ["ours"])
]


@lru_cache(maxsize=1)
def make(case: Case, most_rows: int) -> Contest:
    try:
        return case.make(most_rows)
    except Skipped as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize(("case", "side"), CASES)
def test_answers_then_times(benchmark: Any, case: Case, side: str, most_rows: int) -> None:
    contest = make(case, most_rows)
    if side == "ours":  # one check per case is enough
        benchmark.extra_info.update(contest.check({name: call() for name, call in contest.calls.items()}))
    [other, *_] = [name for name in contest.calls if name != OURS] or [OURS]
    benchmark._timer = time.perf_counter if contest.wall else time.process_time
    benchmark.pedantic(contest.calls[OURS if side == "ours" else other], rounds=3)


@pytest.mark.skipif(not can_measure_memory(), reason="needs Linux: /proc/self/clear_refs")
@pytest.mark.parametrize("case", MEMORY_CASES, ids=lambda case: case.id)
def test_training_stays_within_its_memory(case: MemoryCase, most_rows: int) -> None:
    X, y = case.make(most_rows)
    assert training_bytes(case.estimator, X, y) <= case.at_most * 1e6
