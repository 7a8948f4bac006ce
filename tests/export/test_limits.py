"""Files of strangers under limits of the system: they are refused for what is wrong with them, not because memory ran out."""

import os
import subprocess
import sys

import pytest

LIMITED = """
import mmap, resource, sys, tempfile
from pathlib import Path
import fasttree
from test_bad_files import BOMBS, HOSTILE
from test_bad_files import DOCUMENTS, MODELS
import bad_files
from fuzz import NO_PREDICTOR

more, seconds = map(int, sys.argv[1:])
trees = [model for name, model in bad_files.models().items() if hasattr(model, "to_predictor") and name not in NO_PREDICTOR]
images = [model.to_predictor().to_bytes() for model in trees]
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + more, now + more))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
refused = 0
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "file")
    for name, data in {**HOSTILE, **BOMBS}.items():
        path.write_bytes(data)
        try:
            fasttree.load(path)
        except ValueError:
            refused += 1
        else:
            raise AssertionError(name)
    for number, image in enumerate(images):
        for length in range(0, len(image), max(1, len(image) // 50)):
            path.write_bytes(image[:length] + bytes(100) + b"\\xff" * (len(image) - length))
            try:
                fasttree.Predictor.open(path)
            except ValueError:
                refused += 1
            else:
                raise AssertionError((number, length))
try:
    mmap.mmap(-1, 2 * more)  # free-threaded CPython has address space in reserve for its own objects
except OSError:
    print(refused)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_hostile_files_are_refused_within_limits_of_memory_and_time():
    """100 MB beyond what Python and its libraries hold, and half a minute for all of them."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    program = [sys.executable, "-P", "-c", LIMITED, str(100 * 2**20), "30"]
    ended = subprocess.run(program, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert int(ended.stdout) > 300
