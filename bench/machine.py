"""Facts about a run: versions, processor, cores and commit, but no machine name and no path."""

import datetime
import importlib
import importlib.util
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

PACKAGES = ("fasttree", "numpy", "pandas", "sklearn", "lightgbm", "xgboost")


def about() -> dict[str, Any]:
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        if importlib.util.find_spec(name) is not None:
            versions[name] = importlib.import_module(name).__version__
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"date": today, "commit": commit(), "cpu": cpu_model(), "cores": os.cpu_count(), "versions": versions}


def commit() -> str | None:
    """Return the short hash of the commit, with a + if the library has changed since; None outside a clone."""
    root = Path(__file__).parent.parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()

    try:
        return git("rev-parse", "--short=9", "HEAD") + ("+" if git("status", "--porcelain", "--", "fasttree", "setup.py") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def cpu_model() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
