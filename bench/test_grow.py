"""Growth: answers checked, then both sides timed; peak memory of training."""

from typing import Any

import pytest

from .cases import MEMORY_CASES, Case, MemoryCase
from .clock import can_measure_memory, training_bytes
from .duels import check_and_time, of_subject


@of_subject("grow", "c45", "scale")
def test_grows_the_tree_of_the_other_program(benchmark: Any, case: Case, side: str, large: bool) -> None:
    check_and_time(benchmark, case, side, large)


@pytest.mark.skipif(not can_measure_memory(), reason="needs Linux: /proc/self/clear_refs")
@pytest.mark.parametrize("case", MEMORY_CASES, ids=lambda case: f"{case.name}-{case.n_samples}")
def test_training_stays_within_its_memory(case: MemoryCase, large: bool) -> None:
    if case.n_samples > 100_000 and not large:
        pytest.skip("a large table: give --large")
    X, y = case.make(case.n_samples)
    bytes_a_value = training_bytes(case.ours, X, y) / X.size
    assert bytes_a_value <= case.target
