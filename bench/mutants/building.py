"""One build that holds many mutants, each behind a switch."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from . import cython_sources, python_sources
from .places import Chosen, Mutant

ROOT = Path(__file__).parents[2]
# With the modules as they are built, those that hold no mutant are not built again.
NEEDED = ("build/cython-release", "fasttree", "tests", "examples", "docs", "setup.py", "pyproject.toml", "README.md")
SWITCH = """
#include <stdlib.h>
int fasttree_mutant = 0;
unsigned char fasttree_reached[1 << 16];
__attribute__((constructor)) static void choose(void) {
    const char *number = getenv("FASTTREE_MUTANT");
    if (number) fasttree_mutant = atoi(number);
}
"""
# Translates and compiles what has changed.  -O1, because -O3 would take longer than the tests.
BUILD = """
import json, subprocess, sysconfig, sys
import setuptools
from concurrent.futures import ThreadPoolExecutor
from distutils.core import run_setup
from pathlib import Path
from bench.mutants.cython_sources import install
from bench.mutants.places import Chosen, Mutant

install(Chosen([Mutant(*each) for each in json.loads(Path("mutants.json").read_text())]), Path.cwd())
include = sysconfig.get_paths()["include"]
suffix = ".abi3.so" if sysconfig.get_config_var("SOABI") and not sysconfig.get_config_var("Py_GIL_DISABLED") else ".so"
flags = ["-shared", "-fPIC", "-w", "-O1", "-fno-strict-aliasing", "-ffp-contract=off", "-fopenmp-simd", f"-I{include}"]

def compiled(module):
    source, target = Path(module.sources[0]), Path(module.name.replace(".", "/") + suffix)
    if target.exists() and target.stat().st_mtime_ns > source.stat().st_mtime_ns:
        return
    macros = [f"-D{name}={value}" for name, value in module.define_macros]
    subprocess.run(["cc", *flags, *macros, str(source), "-lm", "-o", str(target)], check=True)

modules = run_setup("setup.py", ["-q", "build_ext"], stop_after="commandline").ext_modules
with ThreadPoolExecutor(int(sys.argv[1])) as pool:
    list(pool.map(compiled, modules))
"""


def mutants_of(patterns: list[str]) -> list[Mutant]:
    """All mutants of the files that match some patterns."""
    found: list[Mutant] = []
    for path in sorted({path for pattern in patterns for path in ROOT.glob(pattern)}):
        found += (python_sources if path.suffix == ".py" else cython_sources).mutants_of(path, ROOT)
    return found


def environment(folder: Path) -> dict[str, str]:
    """Variables for processes that use the copy of the package in a folder."""
    here = {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1", "LD_PRELOAD": str(folder / "switch.so")}
    return os.environ | here | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def build(folder: Path, mutants: list[Mutant], jobs: int) -> list[Mutant]:
    """Copy the sources, build them with the mutants, and return the mutants that do not compile."""
    for name in (name for name in NEEDED if (ROOT / name).exists()):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, folder / name)
    for path in {mutant.path for mutant in mutants}:
        if path.endswith(".py"):
            python_sources.rewrite(folder / path, folder, Chosen(mutants))
        else:
            cython_sources.declare(folder / path)
    (folder / "switch.c").write_text(SWITCH)
    subprocess.run(["cc", "-shared", "-fPIC", "switch.c", "-o", "switch.so"], cwd=folder, check=True)
    broken: set[Mutant] = set()
    while True:
        kept = [("", 0, 0, "") if each in broken else (each.path, each.line, each.column, each.change) for each in mutants]
        (folder / "mutants.json").write_text(json.dumps(kept))
        command = [sys.executable, "-c", BUILD, str(jobs)]
        done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return sorted(broken)
        places = {f"{path}:{line}" for path, line in re.findall(r"(fasttree/[\w/]+\.p\w+):(\d+):", done.stderr)}
        found = {mutant for mutant in mutants if mutant.place in places} - broken
        if not found:
            sys.exit(done.stdout + done.stderr)
        broken |= found
