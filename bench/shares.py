"""Where the time of a fit of ours goes: seconds and shares by phase of growth, read from clocks of a profiling build."""

import time
from collections.abc import Callable
from typing import Any

from fasttree import _core
from fasttree._learn.grow import growth

from .cases import ONE, OURS, Case

TURNS = 3
BUILD = "FASTTREE_PROFILE=1 python setup.py build_ext --inplace"


def has_clocks() -> bool:
    return _core.spent() is not None


def shares_of(case: Case, most_rows: int) -> str:
    """Return the phases of the fastest of some fits on one thread as a table in Markdown."""
    calls = case.make(most_rows).calls
    call = calls.get(ONE, calls[OURS])  # the clocks are those of a thread
    seconds, amounts = min((profiled(call) for _ in range(TURNS)), key=lambda turn: sum(turn[0].values()))
    whole = sum(seconds.values())
    lines = [f"{case.id}: {whole * 1e3:.1f} ms", "", "| phase | ms | share | read, millions |", "|---|--:|--:|--:|"]
    for phase, spent in seconds.items():
        amount = f"{amounts[phase] / 1e6:.2f}" if amounts.get(phase) else ""
        lines.append(f"| {phase} | {spent * 1e3:.1f} | {spent / whole:.1%} | {amount} |")
    return "\n".join(lines)


def profiled(call: Callable[[], Any]) -> tuple[dict[str, float], dict[str, int]]:
    """Call once; return processor seconds and amounts by phase, of which "other" is checks, decoding and the model."""
    encode, encoding = growth.encode_columns, 0.0

    def timed(*arguments: Any, **more: Any) -> Any:
        nonlocal encoding
        start = time.thread_time()
        found = encode(*arguments, **more)
        encoding += time.thread_time() - start
        return found

    growth.encode_columns = timed
    try:
        _core.spent()
        call()
        found = _core.spent()
    finally:
        growth.encode_columns = encode
    assert found is not None
    seconds = {"encode": encoding} | {phase: spent for phase, (spent, _) in found.items()}
    seconds["other"] -= encoding
    return seconds, {phase: amount for phase, (_, amount) in found.items()}
