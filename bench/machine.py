"""What figures depend on besides the table: versions, processor, cores, commit.  No name of a machine, no path."""

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
    """Short name of the commit, with a + where the library was changed since; None outside a clone."""
    root = Path(__file__).parent.parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()

    try:
        return git("rev-parse", "--short=9", "HEAD") + ("+" if git("status", "--porcelain", "--", "fasttree", "setup.py") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def cpu_model() -> str:
    """Name of the processor as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
