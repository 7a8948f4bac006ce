"""Peak memory of training, on Linux only (/proc)."""

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CLEAR_REFS = Path("/proc/self/clear_refs")


def can_measure_memory() -> bool:
    return os.access(CLEAR_REFS, os.W_OK)


def training_bytes(estimator: str, X: NDArray[Any], y: NDArray[Any]) -> int:
    """Return the peak of resident memory while `estimator` ("module:class") is fitted, without table and model.

    A separate process reads the arrays from files, because memory freed after making the table would hide a part.
    """
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "X.npy"), X)
        np.save(Path(folder, "y.npy"), y)
        command = [sys.executable, "-m", "bench.memory", estimator, folder]
        root = Path(__file__).parent.parent
        done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return int(done.stdout)


def forget_peak() -> None:
    """Reset the peak of resident memory to its current value."""
    CLEAR_REFS.write_text("5")


def resident_bytes(*, peak: bool = False) -> int:
    """Return the resident memory of this process: now, or its peak since the last `forget_peak`."""
    field = "VmHWM:" if peak else "VmRSS:"
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024


def _fit_and_report(estimator: str, folder: str) -> None:
    module, _, name = estimator.partition(":")
    make = getattr(__import__(module, fromlist=[name]), name)
    X, y = np.load(Path(folder, "X.npy")), np.load(Path(folder, "y.npy"))
    make().fit(X[:100], y[:100])  # loads modules, which do not count
    forget_peak()
    before = resident_bytes()
    model = make().fit(X, y)
    print(resident_bytes(peak=True) - before - len(pickle.dumps(model)))  # a pickled model is hardly more than its arrays


if __name__ == "__main__":
    _fit_and_report(*sys.argv[1:])
