"""``python -m bench``: run every case, ours and the others' in turn, and write tables of ratios and JSON lines."""

import argparse
import fnmatch
import importlib.util
import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import (
    c50,
    chaid,
    forest_peers,
    forests,
    growth,
    more,
    optimal,
    peers,
    plots,
    readable,
    recipes,
    report,
    serving,
    shapes,
    shares,
    targets,
    threads,
)
from .cases import YARDSTICK, Case, Skipped
from .clock import Turns, race, race_on_smaller, recorded_seconds
from .growth import MemoryCase
from .machine import about
from .memory import can_measure_memory, training_bytes
from .witness import can_count, count_instructions

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
README = FOLDER / "README.md"
BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"
QUICK_ROWS = 50_000
FULL_ROWS = 2**31

Suite = dict[str, Sequence[Case | MemoryCase]]
SUITE: Suite = {
    "targets": targets.CASES,
    "c50": c50.CASES,
    "chaid": chaid.CASES,
    "recipes": recipes.CASES,
    "shapes": shapes.CASES,
    "threads": threads.CASES,
    "scale": growth.CASES,
    "memory": growth.MEMORY_CASES,
    "forests": forests.CASES,
    "forest-peers": forest_peers.CASES,
    "optimal": optimal.CASES,
    "readable": readable.CASES,
    "serving": serving.CASES,
    "more": more.CASES,
}


def chosen(patterns: Sequence[str], with_more: bool) -> Iterator[tuple[str, Case | MemoryCase]]:
    """Yield groups and cases whose "group/id" contains one of the patterns; without patterns, all but `more`."""
    for group, cases in SUITE.items():
        for case in cases:
            if patterns:
                wanted = any(fnmatch.fnmatchcase(f"{group}/{case.id}", f"*{pattern}*") for pattern in patterns)
            else:
                wanted = with_more or group != "more"
            if wanted:
                yield group, case


def measure(case: Case | MemoryCase, most_rows: int, repeat: int) -> dict[str, Any]:
    """Return checked figures and least times of a case, or the reason why there are none."""
    try:
        return measure_memory(case, most_rows) if isinstance(case, MemoryCase) else measure_time(case, most_rows, repeat)
    except Skipped as reason:
        return {"skipped": str(reason)}
    except AssertionError as reason:
        return {"wrong": str(reason)}
    except Exception as error:  # the other cases still run; the message stays out of the file, as it may name paths
        traceback.print_exc()
        return {"wrong": type(error).__name__}


def measure_time(case: Case, most_rows: int, repeat: int) -> dict[str, Any]:
    contest = case.make(most_rows)
    turns, answer = race(contest, repeat)
    rows = contest.table[0]
    smaller = race_on_smaller(case.make, turns, rows, repeat)
    if contest.recorded is not None and contest.yardstick_seconds is not None:
        turns |= recorded_seconds(contest.recorded, turns.pop(YARDSTICK), contest.yardstick_seconds)
    wanted = {} if case.at_least is None else {"at_least": case.at_least, "aim": case.aim}
    return {
        "table": list(contest.table),
        "clock": "wall" if contest.wall else "cpu",
        "seconds": {name: report.rounded(min(seconds)) for name, seconds in turns.items()},
        "turns": rounded_turns(turns if smaller is None else smaller),
        **({} if smaller is None else {"rows_of_turns": rows // 4}),
        "absent": list(contest.absent),
        **wanted,
        "answer": answer,
    }


def rounded_turns(turns: Turns) -> Turns:
    return {name: [report.rounded(each) for each in seconds] for name, seconds in turns.items()}


def measure_memory(case: MemoryCase, most_rows: int) -> dict[str, Any]:
    if not can_measure_memory():
        raise Skipped("needs Linux: /proc/self/clear_refs")
    X, y = case.make(most_rows)
    megabytes = training_bytes(case.estimator, X, y) / 1e6
    return {"table": list(X.shape), "megabytes": report.rounded(megabytes), "at_most": case.at_most}


def run(
    cases: Sequence[tuple[str, Case | MemoryCase]], quick: bool, repeat: int, output: Path | None, witness: bool = False
) -> list[report.Line]:
    """Measure, print and append to the file, case by case, so that an interrupted run keeps its lines."""
    facts, lines, group = about(), [], None
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
    for in_group, case in cases:
        if in_group != group:
            group = in_group
            print(f"\n{report.GROUPS[group]}\n\n{report.heading(group)}", flush=True)
        line = {"group": group, "id": case.id, "what": case.what, "size": "quick" if quick else "full"}
        line |= measure(case, QUICK_ROWS if quick else FULL_ROWS, repeat)
        line |= report.derived(line) | facts
        if witness and "seconds" in line:
            line["witness"] = count_instructions(in_group, case.id)
        print(report.row(line), *([f"  {line['witness']}"] if "witness" in line else []), sep="\n", flush=True)
        lines.append(line)
        if output is not None:
            with output.open("a") as file:
                file.write(json.dumps(line) + "\n")
    return lines


def draw(lines: Sequence[report.Line], folder: Path) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        print("matplotlib is not installed: no pictures", file=sys.stderr)
        return
    for path in plots.draw(lines, folder):
        print(f"drawn: {path.name}")


def publish(path: Path) -> None:
    """Write the tables of a file into the README, and draw its pictures."""
    lines = report.read(path)
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}{section(path)}{END}{after}")
    draw(lines, RESULTS)


def section(path: Path) -> str:
    return f"\nFrom [{path.name}](results/{path.name}): {report.markdown(report.read(path))}\n"


def profile(pattern: str, most_rows: int) -> int:
    """Print the phases of the cases that a pattern names."""
    if not shares.has_clocks():
        print(f"--profile: this build has no clocks; make one with: {shares.BUILD}", file=sys.stderr)
        return 2
    for _, case in chosen([pattern], with_more=True):
        if isinstance(case, Case):
            print(f"{shares.shares_of(case, most_rows)}\n", flush=True)
    return 0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--only", metavar="PATTERN", action="append", default=[], help="only cases whose 'group/id' contains this"
    )
    parser.add_argument("--more", action="store_true", help="also the group 'more'")
    parser.add_argument("--quick", action="store_true", help=f"at most {QUICK_ROWS:,} rows: takes minutes, no basis for claims")
    parser.add_argument(
        "--repeat",
        type=int,
        default=5,
        help="turns of each call: the fastest counts, and all give the spread (default 5, at least 3)",
    )
    parser.add_argument("--witness", action="store_true", help="also count instructions of ours on small tables (needs Valgrind)")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="append to this file; full runs: results/<date>-<commit>.jsonl"
    )
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--list", action="store_true", help="print the cases, run none")
    other.add_argument("--report", type=Path, metavar="FILE", help="print the tables of a file as Markdown")
    other.add_argument("--publish", type=Path, metavar="FILE", help="put them into bench/README.md, and draw the pictures")
    other.add_argument(
        "--profile", metavar="CASE", help=f"print where the time of our call goes, in a profiling build ({shares.BUILD})"
    )
    other.add_argument(
        "--compare", type=Path, nargs=2, metavar=("OLD", "NEW"), help="compare two runs; exit status 1 if a case became slower"
    )
    given = parser.parse_args()
    if given.repeat < 1:
        parser.error(f"--repeat {given.repeat}: must be at least 1")
    if given.witness and not can_count():
        parser.error("--witness: needs Valgrind, which is not installed")
    return given


def main() -> int:
    if sys.argv[1:2] == ["scale-out"]:
        from . import scale_out  # which needs pyarrow

        return scale_out.main(sys.argv[2:])
    if sys.argv[1:2] == ["dask"]:
        from . import dask_rounds  # which needs Dask and pyarrow

        return dask_rounds.main(sys.argv[2:])
    given = options()
    if given.report:
        print(report.markdown(report.read(given.report)), end="")
        return 0
    if given.publish:
        publish(given.publish)
        return 0
    if given.compare:
        table, slower = report.compare(*map(report.read, given.compare))
        print(table, end="")
        return int(slower)

    if given.profile:
        return profile(given.profile, QUICK_ROWS if given.quick else FULL_ROWS)
    cases = list(chosen(given.only, given.more))
    if not cases:
        print(f"no case's 'group/id' contains {' or '.join(map(repr, given.only))}: see --list", file=sys.stderr)
        return 2
    if given.list:
        print("\n".join(f"{group}/{case.id}: {case.what}" for group, case in cases))
        return 0
    facts = about()
    output = given.output
    if output is None and not given.quick:
        output = RESULTS / f"{facts['date']}-{facts['commit']}.jsonl"
    print(report.machine(facts))
    if peers.absent():
        print(f"not installed: {', '.join(peers.absent())}")
    lines = run(cases, given.quick, given.repeat, output, given.witness)
    if verdict := report.ends(lines):
        print(f"\n{verdict}")
    if output is not None:
        print(f"\nwritten: {output.name}")
        if not given.only:
            draw(report.read(output), output.parent)
    return int(any("wrong" in line for line in lines))


if __name__ == "__main__":
    sys.exit(main())
