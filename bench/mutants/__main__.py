"""Change the engine's headers, or Python files, one operator at a time, and see whether the tests notice.

    python -m bench.mutants --most 300 --seed 0
    python -m bench.mutants --files 'fasttree/_learn/prune/*.py' --tests tests/learn tests/estimators
    python -m bench.mutants --places fasttree/_engine/prune/vote.pxd:70 --tests tests/learn/test_voting.py

draws mutants at random, the same share of each folder, and builds a copy of the sources that holds all of them, each behind a
switch that is set when the code runs.  So there is one build for all, and tests are imported once.  A mutant is killed if a test
fails or crashes, or takes ten times as long as without the change; the others survive and are printed as they are: each is a test
that is missing, or a change that changes nothing.  Only tests that pass the changed place run.  `--rounds 3x1x3 1x6x20` lets a
mutant meet one instance of each of a third of the tests, as many as take 3 seconds without the change; those that are left meet
six instances of all, for 20 seconds.  Each instance is looked at by itself: others of the same test may pass other places.  Tests
that take longer than `--longest` seconds are left out.  A mutant that no test passes survives, and one that does not compile is
not counted.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from math import sqrt
from pathlib import Path
from random import Random

from .building import ROOT, build, environment, mutants_of
from .places import Mutant

TESTS = ("engine", "learn", "twins", "model", "estimators", "oracles", "scale", "whole/test_planted.py", "whole/test_textbook.py")
TESTS += ("whole/test_metamorphic.py", "explain/test_shap.py", "explain/test_shap_models.py", "explain/test_significance.py")
TESTS += ("export/test_predictor.py", "export/test_forest_predictor.py", "export/test_document.py")
# Those wait, or fail on purpose, and are slow in this build.
WITHOUT = ("engine/test_out_of_memory.py", "engine/test_interrupts.py", "learn/test_progress.py", "estimators/test_docstrings.py")
WITHOUT += ("scale/test_dask.py", "scale/test_dask_failures.py", "scale/test_ray.py", "engine/test_plain_arrays.py")


def parsed() -> argparse.Namespace:
    """Read the command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", nargs="+", default=["fasttree/_engine/**/*.pxd"], help="patterns of paths")
    options.add_argument("--tests", nargs="+", default=[f"tests/{name}" for name in TESTS])
    options.add_argument("--places", nargs="+", help="of mutants, as path:line; without it, they are drawn")
    options.add_argument("--most", type=int, default=300, help="how many mutants are drawn")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--rounds", nargs="+", default=["3x1x3", "1x6x20"], help="share of tests, instances, seconds")
    options.add_argument("--longest", type=float, default=1, help="seconds of a test that is tried")
    options.add_argument("--profile", default="few", help="of Hypothesis")
    options.add_argument("--jobs", type=int, default=1, help="compilers that run side by side")
    options.add_argument("--report", help="file to which the results are added, a line of JSON for each mutant")
    return options.parse_args()


def drawn(every: list[Mutant], most: int, seed: int) -> list[Mutant]:
    """Draw the same share of each folder."""
    draw, taken = Random(seed), []
    for folder in sorted({mutant.folder for mutant in every}):
        inside = [mutant for mutant in every if mutant.folder == folder]
        taken += draw.sample(inside, min(len(inside), round(most * len(inside) / len(every))))
    return draw.sample(taken, len(taken))


def interval(killed: int, tried: int) -> str:
    """Wilson's interval of 95 % for the share of mutants that are killed."""
    share, z = killed / tried, 1.96
    middle = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    reach = z / (1 + z * z / tried) * sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried))
    return f"{100 * share:.1f} % ({100 * (middle - reach):.1f} to {100 * (middle + reach):.1f})"


def described(mutant: Mutant, result: dict[str, int]) -> str:
    """Say what survived, and what it met."""
    line = (ROOT / mutant.path).read_text(encoding="utf-8").splitlines()[mutant.line - 1]
    met = f"{result['ran']} of {result['passing']} tests"
    return f"survived {met}: {mutant.place}:{mutant.column}  {mutant.change}\n    {line.strip()}"


def tried(folder: Path, mutants: list[Mutant], broken: list[Mutant], given: argparse.Namespace) -> list[dict[str, object]]:
    """Run the trials, and return a record for each mutant that compiles."""
    numbers = [number for number, mutant in enumerate(mutants, start=1) if mutant not in broken]
    plan = {"mutants": numbers, "memory": 16 << 30, "profile": given.profile}
    plan |= {"longest": given.longest, "tests": given.tests, "sources": ["", *(mutant.path for mutant in mutants)]}
    plan["rounds"] = [[int(part) for part in each.split("x")] for each in given.rounds]
    plan |= {"results": str(folder / "results"), "options": [f"--ignore=tests/{name}" for name in WITHOUT]}
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "results").touch()
    command = [sys.executable, "-m", "bench.mutants.trials", "plan.json"]
    with (folder / "output").open("w") as output, (folder / "results").open() as results:
        process = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=output, stderr=output)
        records, part, running = [], "", True
        while running:
            try:
                process.wait(1)
                running = False
            except subprocess.TimeoutExpired:
                pass
            *lines, part = (part + results.read()).split("\n")
            for line in lines:
                found = json.loads(line)
                if found["kind"] != "mutant":
                    print(found, flush=True)
                    continue
                mutant = mutants[found["number"] - 1]
                records.append(vars(mutant) | found | {"folder": mutant.folder})
                if given.report:
                    with Path(given.report).open("a", encoding="utf-8") as report:
                        report.write(json.dumps(records[-1]) + "\n")
                if not found["killed"]:
                    print(described(mutant, found), flush=True)
    if len(records) < len(numbers):
        print((folder / "output").read_text()[-3000:])
    return records


def main() -> int:
    """Try a sample of mutants, and print those that survive and the figures."""
    given = parsed()
    if given.places:
        given.files = sorted({place.partition(":")[0] for place in given.places})
    every = mutants_of(given.files)
    if given.places:
        mutants = [mutant for mutant in every if mutant.place in given.places]
    else:
        mutants = drawn(every, given.most, given.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        broken = build(folder, mutants, given.jobs)
        records = tried(folder, mutants, broken, given)
    count, killed = Counter(r["folder"] for r in records), Counter(r["folder"] for r in records if r["killed"])
    for part in sorted(count):
        print(f"{part:24} {killed[part]:4} of {count[part]:4}  {interval(killed[part], count[part])}")
    print(f"{len(every):,} mutants; tried {len(records)}: {killed.total()} killed; {len(broken)} did not compile")
    if records:
        print(f"killed: {interval(killed.total(), len(records))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
