"""Processor time and peak memory.  Knows nothing of trees."""

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BATCH = 0.02  # seconds that one measurement lasts at least: far above the resolution of the clock
TURN = 0.5  # seconds of measurements a function takes before the next has its turn
ENOUGH = 10.0  # seconds of measurements after which two turns do
CLEAR_REFS = Path("/proc/self/clear_refs")  # Linux: "5" makes the peak of resident memory the present one


def cpu_seconds(*functions: Callable[[], Any], turns: int) -> list[float]:
    """Least processor time of one call of each function.

    The functions take turns, so that a clock rate that changes hits all of them.  A call that is short is measured in batches;
    long ones get fewer turns, at least two.
    """
    sizes = [_batch_size(function) for function in functions]
    best = [float("inf")] * len(functions)
    start = time.process_time()
    for turn in range(turns):
        if turn >= 2 and time.process_time() - start > ENOUGH:
            break
        for i, (function, size) in enumerate(zip(functions, sizes, strict=True)):
            best[i] = min(best[i], _take_turn(function, size))
    return best


def _take_turn(function: Callable[[], Any], size: int) -> float:
    best, spent = float("inf"), 0.0
    while spent < TURN:
        seconds = _batch(function, size)
        best = min(best, seconds / size)
        spent += seconds
    return best


def _batch(function: Callable[[], Any], size: int) -> float:
    start = time.process_time()
    for _ in range(size):
        function()
    return time.process_time() - start


def _batch_size(function: Callable[[], Any]) -> int:
    size = 1
    while (seconds := _batch(function, size)) < BATCH:
        size = max(2 * size, int(size * BATCH / max(seconds, BATCH / 100)))
    return size


def cpu_model() -> str:
    """Name of the processor as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def can_measure_memory() -> bool:
    return os.access(CLEAR_REFS, os.W_OK)


def training_bytes(estimator: str, X: NDArray[Any], y: NDArray[Any]) -> int:
    """Peak of resident memory while `estimator` ("module:class") is fitted, above that with X and y loaded.

    A process of its own, which reads the arrays from files: memory freed by whatever made the table would hide some.
    """
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "X.npy"), X)
        np.save(Path(folder, "y.npy"), y)
        command = [sys.executable, "-m", "bench.clock", estimator, folder]
        root = Path(__file__).parent.parent
        done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return int(done.stdout)


def _resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) * 1024


def _fit_and_report(estimator: str, folder: str) -> None:
    module, _, name = estimator.partition(":")
    make = getattr(__import__(module, fromlist=[name]), name)
    X, y = np.load(Path(folder, "X.npy")), np.load(Path(folder, "y.npy"))
    make().fit(X[:100], y[:100])  # modules loaded on first use are no memory of training
    CLEAR_REFS.write_text("5")
    before = _resident("VmRSS")
    make().fit(X, y)
    print(_resident("VmHWM") - before)


if __name__ == "__main__":
    _fit_and_report(*sys.argv[1:])
