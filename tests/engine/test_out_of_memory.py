"""Where memory runs out, an operation raises MemoryError, keeps nothing, and leaves what there was as it was.

An allocator that fails at the n-th request of the compiled modules is put before the C library's; see `helpers/out_of_memory.py`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import out_of_memory
import pytest

HELPERS = Path(out_of_memory.__file__).parent
COMPILER = shutil.which("gcc") or shutil.which("clang")


@pytest.mark.skipif(sys.platform != "linux" or COMPILER is None, reason="an allocator for Linux is compiled")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="another allocator is there")
@pytest.mark.parametrize("most", ["4", pytest.param("100000", marks=pytest.mark.nightly)])
def test_an_operation_that_finds_no_memory_says_so_and_keeps_nothing(most, tmp_path):
    allocator = tmp_path / "failing_memory.so"
    subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-o", allocator, HELPERS / "failing_memory.c", "-ldl"], check=True)
    program = [sys.executable, "-P", HELPERS / "out_of_memory.py", most]
    environment = os.environ | {"LD_PRELOAD": str(allocator)}
    ended = subprocess.run(program, env=environment, capture_output=True, text=True, check=False, timeout=3000)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    lines = ended.stdout.splitlines()
    assert sum(" 0 requests" not in line for line in lines) > 30
    assert int(lines[-1].split()[0]) > 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each operation runs in a process of its own")
@pytest.mark.parametrize("only", ["fit ID3", pytest.param("", marks=pytest.mark.nightly)])
def test_a_model_is_as_before_where_python_finds_no_memory(only):
    pytest.importorskip("_testcapi")
    program = [sys.executable, "-P", HELPERS / "out_of_objects.py", "--most", "8", "--only", only]
    paths = os.pathsep.join([str(HELPERS), *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(
        program, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False, timeout=3000
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    assert " 0 MemoryErrors" not in ended.stdout.splitlines()[-1]
