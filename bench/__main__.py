"""``python -m bench``: every case, ours and scikit-learn's in turn; prints tables of ratios and stores JSON lines."""

import argparse
import datetime
import json
import math
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn

import fasttree

from .cases import CASES, LARGE, MEMORY_CASES, YARDSTICK_SECONDS, Case, MemoryCase, Skipped
from .clock import can_measure_memory, cpu_model, cpu_seconds, training_bytes

RESULTS = Path(__file__).parent / "results"
SUBJECTS = {
    "grow": "growing, CPU time of fit",
    "predict": "predicting, CPU time of predict",
    "c45": "C4.5, CPU time of fit; its own program, without reading, its record scaled by a fit of scikit-learn",
    "scale": "C4.5 on tables of different sizes, CPU time of fit",
    "memory": "peak memory of fit above the input, bytes a value",
}


def machine() -> dict[str, Any]:
    """What figures depend on besides the code: versions, processor, cores."""
    versions = {"python": platform.python_version()}
    versions |= {module.__name__: module.__version__ for module in (fasttree, np, pd, sklearn)}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"date": today, "versions": versions, "cpu": cpu_model(), "cores": os.cpu_count()}


def measure(case: Case, large: bool, turns: int) -> dict[str, Any]:
    """Check the answers, then take the times."""
    duel = case.make(large)
    answer = duel.check(duel.ours(), duel.peer() if duel.peer else None)
    line: dict[str, Any] = {"subject": case.subject, "case": case.name, "shape": duel.shape}
    if duel.recorded_seconds is not None and duel.yardstick is not None:
        ours, yardstick = cpu_seconds(duel.ours, duel.yardstick, turns=turns)
        scaled = duel.recorded_seconds * yardstick / YARDSTICK_SECONDS
        line |= {"ours": ours, "recorded": duel.recorded_seconds, "peer": scaled, "ratio": scaled / ours}
        line |= {"target": case.target if large else None}
    elif duel.peer is None:
        [ours] = cpu_seconds(duel.ours, turns=turns)
        rows, columns = duel.shape
        line |= {
            "ours": ours,
            "by_size": ours / (rows * columns * math.log2(rows)),
            "by_visit": ours / (answer["visits"] * columns),
        }
    else:
        ours, peer = cpu_seconds(duel.ours, duel.peer, turns=turns)
        line |= {"ours": ours, "peer": peer, "ratio": peer / ours, "target": case.target if large else None}
    return line | {"answer": answer}


def measure_memory(case: MemoryCase, large: bool) -> dict[str, Any]:
    X, y = case.make(case.n_samples if large else case.n_samples // 10)
    line: dict[str, Any] = {"subject": "memory", "case": case.name, "shape": X.shape}
    ours, peer = (training_bytes(estimator, X, y) / X.size for estimator in (case.ours, case.peer))
    return line | {"ours": ours, "peer": peer, "ratio": peer / ours, "target": case.target if large else None}


def run(wanted: str, large: bool, turns: int) -> Iterator[dict[str, Any]]:
    """Lines of the cases whose "subject: name" contains `wanted`; targets are of full tables."""
    for case in (*CASES, *MEMORY_CASES):
        subject = case.subject if isinstance(case, Case) else "memory"
        if wanted not in f"{subject}: {case.name}":
            continue
        try:
            if isinstance(case, Case):
                yield measure(case, large, turns)
            elif can_measure_memory():
                yield measure_memory(case, large)
            else:
                raise Skipped("needs Linux: /proc/self/clear_refs")
        except Skipped as reason:
            yield {"subject": subject, "case": case.name, "skipped": str(reason)}
        except AssertionError as reason:
            yield {"subject": subject, "case": case.name, "wrong": str(reason)}


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale or unit == "µs":
            return f"{seconds / scale:.3g} {unit}"
    raise AssertionError


def meets_target(line: dict[str, Any]) -> bool:
    if line.get("target") is None:
        return True
    return bool(line["ours"] <= line["target"] if line["subject"] == "memory" else line["ratio"] >= line["target"])


def row(line: dict[str, Any]) -> str:
    """A line as a row of a Markdown table: case, rows x columns, ours, the other's, ratio, target."""
    name = line["case"]
    if reason := line.get("skipped"):
        return f"| {name} | skipped: {reason} | | | | |"
    if reason := line.get("wrong"):
        return f"| {name} | **wrong answer**: {reason} | | | | |"
    rows, columns = line["shape"]
    if line["subject"] == "scale":
        figures = f"{duration(line['ours'])} | {line['by_size'] * 1e9:.2f} ns | {line['by_visit'] * 1e9:.2f} ns"
        return f"| {name} | {rows:,} × {columns} | {figures} | {line['answer']['visits'] / rows:.1f} |"
    is_memory = line["subject"] == "memory"
    ours, peer, ratio, target = line["ours"], line["peer"], line.get("ratio"), line.get("target")
    shown = [f"{figure:.1f}" if is_memory else duration(figure) for figure in (ours, peer)]
    aim = "" if target is None else f"≤ {target}" if is_memory else f"≥ {target}"
    if not meets_target(line):
        aim += " **missed**"
    return f"| {name} | {rows:,} × {columns} | {shown[0]} | {shown[1]} | {'' if ratio is None else f'{ratio:.3g}'} | {aim} |"


def headings(subject: str) -> str:
    if subject == "scale":
        by = "by rows × columns × log2 rows | by visits × columns | visits a row"
        return f"\n**{SUBJECTS[subject]}**\n\n| case | table | fasttree | {by} |\n|---|---|--:|--:|--:|--:|"
    other = "recorded, scaled" if subject == "c45" else "scikit-learn"
    return f"\n**{SUBJECTS[subject]}**\n\n| case | table | fasttree | {other} | ratio | target |\n|---|---|--:|--:|--:|---|"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("wanted", nargs="?", default="", help="only cases whose 'subject: name' contains this")
    parser.add_argument("--small", action="store_true", help=f"small tables instead of {LARGE:,} rows: quick, says little")
    parser.add_argument("--turns", type=int, default=5, help="turns of each side, of which the fastest counts (default 5)")
    parser.add_argument(
        "--output", type=Path, help="file for the JSON lines (default: bench/results/<date>.jsonl if all run large)"
    )
    options = parser.parse_args()
    if options.turns < 1:
        parser.error(f"--turns {options.turns}: must be at least 1")

    about = machine()
    output = options.output
    if output is None and not options.small and not options.wanted:
        output = RESULTS / f"{about['date']}.jsonl"
    print(f"{about['date']}, {about['cpu']}, {about['cores']} cores; " + ", ".join(map(" ".join, about["versions"].items())))
    lines, subject = [], None
    for line in run(options.wanted, not options.small, options.turns):
        if line["subject"] != subject:
            subject = line["subject"]
            print(headings(subject))
        print(row(line), flush=True)
        lines.append(line)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text("".join(json.dumps(line | about) + "\n" for line in lines))
    if not lines:
        print(f"no case contains {options.wanted!r}", file=sys.stderr)
    return int(not lines or any("wrong" in line for line in lines))


if __name__ == "__main__":
    sys.exit(main())
