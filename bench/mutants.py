"""Change the engine's headers, or Python files, one operator at a time, and see whether the tests notice.

    python bench/mutants.py --headers 'fasttree/_engine/prune/*.pxd' --tests tests/learn/test_prune.py --seconds 600 --seed 0

works in a copy of the sources, on a sample of all mutants that the time allows.  A mutant that does not compile is not counted;
one is killed if a test fails or crashes, or if the tests take three times the processor time that they take without the change;
the others survive and are printed as they are: each is a test that is missing, or a change that changes nothing.  Name the tests
first that notice most, and are quick: the first that fails ends the run.

`--places fasttree/_engine/prune/vote.pxd:70` tries the mutants of some lines alone, to see whether a new test kills them.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
# Compiles what a change concerns, without optimisation: -O3 would take longer than the tests.
BUILD = """
import os, subprocess, sysconfig
import setuptools
from distutils.core import run_setup
from pathlib import Path

include = sysconfig.get_paths()["include"]
suffix = ".abi3.so" if sysconfig.get_config_var("SOABI") and not sysconfig.get_config_var("Py_GIL_DISABLED") else ".so"
for module in run_setup("setup.py", ["-q", "build_ext"], stop_after="commandline").ext_modules:
    source, target = Path(module.sources[0]), Path(module.name.replace(".", "/") + suffix)
    if target.exists() and target.stat().st_mtime_ns > source.stat().st_mtime_ns:
        continue
    command = ["cc", "-shared", "-fPIC", "-w", "-O0", "-fno-strict-aliasing", "-ffp-contract=off", f"-I{include}", str(source)]
    macros = [f"-D{name}={value}" for name, value in module.define_macros]
    subprocess.run([*command, *macros, "-lm", "-o", str(target)], check=True)
"""
CHANGES = [
    (r" <= ", [" < ", " > "]),
    (r" >= ", [" > ", " < "]),
    (r" < ", [" <= ", " >= "]),
    (r" > ", [" >= ", " <= "]),
    (r" == ", [" != "]),
    (r" != ", [" == "]),
    (r" and ", [" or "]),
    (r" or ", [" and "]),
    (r" \+ 1\b", ["", " - 1", " + 2"]),
    (r" - 1\b", ["", " + 1", " - 2"]),
    (r" \+ ", [" - "]),
    (r" - ", [" + "]),
    (r" \* ", [" + "]),
    (r" \+= ", [" -= "]),
    (r" -= ", [" += "]),
    (r"\bmax\(", ["min("]),
    (r"\bmin\(", ["max("]),
    (r"\bif (?!not )", ["if not "]),
    (r"\bcontinue$", ["pass"]),
    (r"\bbreak$", ["pass"]),
]


@dataclass(frozen=True)
class Mutant:
    """A line of a source, and what stands there instead."""

    path: Path
    line: int
    before: str
    after: str

    @property
    def place(self) -> str:
        """The header and the number of the line, from 1."""
        return f"{self.path.relative_to(ROOT)}:{self.line + 1}"


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All mutants of a header or a Python file: of statements, not of declarations, texts and comments."""
    inside, in_text = False, False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        code = line.partition("#")[0].rstrip()
        quotes = line.count('"""')
        if quotes % 2:
            in_text = not in_text
        if quotes or in_text or not code.strip():
            continue
        if not line.startswith(" "):
            inside = bool(re.match(r"cdef (inline|\w).*\(", code)) or (inside and code.startswith(")"))
            continue
        if (path.suffix == ".pxd" and not inside) or re.match(r"\s+(cdef|const|@|\w[\w ]*\*? \w+,$)", code):
            continue
        for pattern, others in CHANGES:
            for found in re.finditer(pattern, code):
                for other in others:
                    yield Mutant(path, number, line, code[: found.start()] + other + code[found.end() :])


class Copy:
    """A copy of the sources in which mutants are built and tested."""

    def __init__(self, folder: Path, tests: list[str]) -> None:
        self.folder, self.tests = folder, tests
        self.environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        names = ["fasttree", "tests", "examples", "docs", "setup.py", "pyproject.toml", "README.md"]
        for name in names:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copy(ROOT / name, folder / name)
        for module in (folder / "fasttree").rglob("*.so"):
            module.unlink()

    def builds(self) -> bool:
        """Compile what depends on a change."""
        command = [sys.executable, "-c", BUILD]
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, check=False).returncode == 0

    def passes(self, seconds: int) -> bool:
        """Whether the tests pass within some seconds of a processor."""

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--hypothesis-profile=few", *self.tests]
        settings = {"cwd": self.folder, "env": self.environment, "capture_output": True, "check": False, "preexec_fn": limit}
        return subprocess.run(command, **settings).returncode == 0

    def write(self, mutant: Mutant, text: str) -> None:
        """Put a line in the place of a mutant's."""
        path = self.folder / mutant.path.relative_to(ROOT)
        lines = path.read_text(encoding="utf-8").splitlines()
        lines[mutant.line] = text
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Try a sample of mutants, and print those that survive and the figures."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--headers", default="fasttree/_engine/**/*.pxd", help="pattern of paths")
    options.add_argument("--tests", nargs="+", default=["tests/engine", "tests/learn"])
    options.add_argument("--places", nargs="+", help="of mutants, as header:line; all without it")
    options.add_argument("--seconds", type=float, default=600)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    every = [mutant for path in sorted(ROOT.glob(given.headers)) for mutant in mutants_of(path)]
    if given.places:
        every = [mutant for mutant in every if mutant.place in given.places]
    order = Random(given.seed).sample(every, len(every))
    killed, survived, broken, start = 0, 0, 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder), given.tests)
        if not copy.builds():
            sys.exit("the sources cannot be built without a change")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        if not copy.passes(3600):
            sys.exit("the tests fail without a change")
        seconds = int(3 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)) + 10
        for mutant in order:
            if time.monotonic() - start > given.seconds:
                break
            copy.write(mutant, mutant.after)
            if not copy.builds():
                broken += 1
            elif copy.passes(seconds):
                survived += 1
                print(f"survived: {mutant.place}\n  - {mutant.before.strip()}\n  + {mutant.after.strip()}", flush=True)
            else:
                killed += 1
            copy.write(mutant, mutant.before)
    print(f"{len(every):,} mutants; tried {killed + survived}: {killed} killed, {survived} survived; {broken} did not compile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
