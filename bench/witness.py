"""A second witness of speed: instructions and cache misses of a call of ours, counted by Valgrind's Callgrind.

Other work on the machine does not change them.  The process counts its own calls alone: it lets Valgrind begin before them and
end after them.  Tables are small, because a simulated processor is some 50 times slower.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .cases import OURS, Case

ROWS = 10_000
SHORT = 0.5  # seconds under Valgrind below which calls are repeated, because beginning and end cost some 100,000 instructions
MANY = 20  # calls then
EVENTS = {
    "Ir": "instructions",
    "D1mr": "first_level_misses",
    "D1mw": "first_level_misses",
    "DLmr": "memory_reads",
    "DLmw": "memory_writes",
}
ROOT = Path(__file__).parent.parent


def can_count() -> bool:
    return shutil.which("valgrind") is not None and shutil.which("vgdb") is not None


def count_instructions(group: str, case_id: str, rows: int = ROWS) -> dict[str, int]:
    """Return instructions, misses of the first cache, and reads and writes of memory of one call of ours."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "callgrind.out")
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--cache-sim=yes", f"--callgrind-out-file={out}"]
        done = subprocess.run(
            [*command, sys.executable, "-m", "bench.witness", group, case_id, str(rows)],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            check=True,
            capture_output=True,
            text=True,
        )
        return per_call(events(out.read_text()), rows, int(done.stdout.split()[-1]))


def per_call(found: dict[str, int], rows: int, calls: int) -> dict[str, int]:
    """Add up the events of each kind, and divide them by the calls."""
    sums = dict.fromkeys(EVENTS.values(), 0)
    for event, name in EVENTS.items():
        sums[name] += found[event]
    return {"rows": rows} | {name: round(total / calls) for name, total in sums.items()}


def events(text: str) -> dict[str, int]:
    """Read names and totals of the events from a file of Callgrind."""
    found = dict(line.split(": ", 1) for line in text.splitlines() if line.startswith(("events: ", "totals: ")))
    return dict(zip(found["events"].split(), map(int, found["totals"].split()), strict=True))


def let_it_count(counts: bool) -> None:
    """Tell Valgrind, which runs this process, to begin or to end."""
    command = ["vgdb", f"--pid={os.getpid()}", "instrumentation", "on" if counts else "off"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:  # Valgrind reads commands only while the process runs
            time.sleep(0.001)


def main(group: str, case_id: str, rows: str) -> None:
    from .__main__ import SUITE

    case = next(case for case in SUITE[group] if case.id == case_id)
    if not isinstance(case, Case):
        raise SystemExit(f"{group}/{case_id} measures no time")
    call = case.make(int(rows)).calls[OURS]
    call()
    start = time.perf_counter()
    call()
    calls = MANY if time.perf_counter() - start < SHORT else 1
    let_it_count(True)
    for _ in range(calls):
        call()
    let_it_count(False)
    print(calls)


if __name__ == "__main__":
    main(*sys.argv[1:])
