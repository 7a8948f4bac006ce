"""Peak memory of training.  Linux only: /proc."""

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
    """Peak of resident memory while `estimator` ("module:class") is fitted, above that with X and y loaded, without the model.

    A process of its own, which reads the arrays from files: memory freed by whatever made the table would hide some.
    """
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "X.npy"), X)
        np.save(Path(folder, "y.npy"), y)
        command = [sys.executable, "-m", "bench.memory", estimator, folder]
        root = Path(__file__).parent.parent
        done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return int(done.stdout)


def forget_peak() -> None:
    """Make the peak of resident memory the present one."""
    CLEAR_REFS.write_text("5")


def resident_bytes(*, peak: bool = False) -> int:
    """Resident memory of this process: now, or the most since the last `forget_peak`."""
    field = "VmHWM:" if peak else "VmRSS:"
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024


def _fit_and_report(estimator: str, folder: str) -> None:
    module, _, name = estimator.partition(":")
    make = getattr(__import__(module, fromlist=[name]), name)
    X, y = np.load(Path(folder, "X.npy")), np.load(Path(folder, "y.npy"))
    make().fit(X[:100], y[:100])  # modules loaded on first use are no memory of training
    forget_peak()
    before = resident_bytes()
    model = make().fit(X, y)
    print(
        resident_bytes(peak=True) - before - len(pickle.dumps(model))
    )  # a pickled model is its arrays, and next to nothing besides


if __name__ == "__main__":
    _fit_and_report(*sys.argv[1:])
