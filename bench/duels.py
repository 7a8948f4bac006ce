"""A case as two benchmarks of one group, ours and the peer's, after its answer was checked."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from .cases import CASES, Case, Duel, Skipped


def of_subject(*subjects: str) -> Callable[[Any], Any]:
    """Parametrize a test by `case` and `side`."""
    chosen = []
    for case in CASES:
        if case.subject in subjects:
            mark = pytest.mark.benchmark(
                group=f"{case.subject}: {case.name}", timer=time.process_time, max_time=0.3, min_rounds=3
            )
            sides = ("ours",) if case.subject in ("c45", "scale") else ("ours", "peer")
            chosen += [pytest.param(case, side, id=f"{case.name}-{side}", marks=mark) for side in sides]
    return pytest.mark.parametrize(("case", "side"), chosen)


def make(case: Case, large: bool) -> Duel:
    try:
        return case.make(large)
    except Skipped as reason:
        pytest.skip(str(reason))


def check_and_time(benchmark: Any, case: Case, side: str, large: bool) -> None:
    duel = make(case, large)
    if side == "ours":  # one check a case is enough
        benchmark.extra_info.update(duel.check(duel.ours(), duel.peer() if duel.peer else None))
    benchmark(getattr(duel, side))
