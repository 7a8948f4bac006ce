"""Markdown tables from JSON lines: of one run, or of the changes between two."""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .cases import OURS
from .clock import spread
from .forest_peers import PEERS
from .growth import WITHIN
from .recipes import LIMIT, PLAIN

Line = dict[str, Any]

GROUPS = {
    "targets": "Times faster",
    "c50": "C5.0 beside its recorded seconds, one thread",
    "chaid": "CHAID beside CART, one thread",
    "recipes": "Recipes beside plain Gini, depth 10",
    "shapes": "Tables of unusual shapes, one thread",
    "threads": "Two threads beside one, time on the wall",
    "scale": "Growth with size",
    "memory": "Peak memory of fit beyond table and model",
    "forests": "Forests beside scikit-learn's, one thread",
    "forest-peers": "Random forests beside other libraries, one thread",
    "optimal": "Optimal trees, one thread unless said",
    "readable": "Rules with linear models, and additive models, one thread",
    "serving": "Prediction for servers: `to_predictor()`, rows one by one and whole tables",
    "more": "More",
}
SLOWER = 1.15  # ratio of times above the noise of a quiet machine


# --- figures of a line


def best_other(line: Line) -> str | None:
    """Return the name of the fastest of the others."""
    others = [name for name in line["seconds"] if name not in (OURS, PLAIN)]
    return min(others, key=line["seconds"].__getitem__, default=None)


def ratio(line: Line) -> float | None:
    """Return how many times faster we are than the fastest of the others."""
    other = best_other(line)
    return None if other is None else float(line["seconds"][other] / line["seconds"][OURS])


def spread_of(line: Line, other: str) -> list[float] | None:
    """Return the least, the median and the largest ratio of the turns; None in files of earlier versions.

    Turns on a smaller table say how far the ratio of the full one may be off, in proportion.
    """
    if "turns" not in line or other not in line["turns"]:
        return None
    least, middle, largest = spread(line["turns"], OURS, other)
    if "rows_of_turns" not in line:
        return [rounded(least), rounded(middle), rounded(largest)]
    found = line["seconds"][other] / line["seconds"][OURS]
    return [rounded(found * least / middle), rounded(found), rounded(found * largest / middle)]


def per_value(line: Line) -> float:
    """Return seconds per row and column."""
    rows, columns = line["table"]
    return float(line["seconds"][OURS] / (rows * columns))


def times_plain(line: Line) -> float:
    return float(line["seconds"][OURS] / line["seconds"][PLAIN])


def per_step(line: Line) -> float:
    """Return seconds per row, column and log2 of rows."""
    return per_value(line) / math.log2(line["table"][0])


def derived(line: Line) -> Line:
    """Return derived figures for the file."""
    if "seconds" not in line:
        return {}
    if line["group"] == "recipes":
        apart = spread_of(line, PLAIN)
        known = {} if apart is None else {"spread": [rounded(1 / each) for each in reversed(apart)]}
        return {"ns": rounded(per_value(line) * 1e9), "times_plain": rounded(times_plain(line))} | known
    if line["group"] == "scale":
        return {"ns": rounded(per_step(line) * 1e9)}
    found, other = ratio(line), best_other(line)
    if found is None or other is None:
        return {}
    apart = spread_of(line, other)
    return {"ratio": rounded(found), "against": other} | ({} if apart is None else {"spread": apart})


def rounded(figure: float) -> float:
    return float(f"{figure:.4g}")


# --- lines as rows of tables

BESIDE_OTHERS = ("case", "table", "fasttree", "the best of the others", "times faster", "at least", "aim")
HEADINGS = {
    "targets": BESIDE_OTHERS,
    "c50": BESIDE_OTHERS,
    "chaid": BESIDE_OTHERS,
    "forests": ("case", "table", "fasttree", "scikit-learn", "times faster", "at least", "aim"),
    "forest-peers": ("case", "table", "fasttree", "oneDAL", "Yggdrasil", "LightGBM, 1,023 leaves"),
    "recipes": ("recipe", "fasttree", "ns per row and column", "times plain Gini"),
    "optimal": BESIDE_OTHERS,
    "shapes": BESIDE_OTHERS,
    "threads": BESIDE_OTHERS,
    "scale": ("table", "fasttree", "ns per row, column and log2 of rows", "peak GiB, table included"),
    "memory": ("case", "table", "MB", "at most"),
    "readable": BESIDE_OTHERS,
    "serving": ("case", "table", "predictor", "a row", "the best of the others", "times faster", "bytes", "a node"),
    "more": ("case", "table", "fasttree", "the best of the others", "times faster"),
}


def heading(group: str) -> str:
    names = HEADINGS[group]
    return f"| {' | '.join(names)} |\n|---|{'--:|' * (len(names) - 1)}"


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def shape(line: Line) -> str:
    rows, columns = line["table"]
    return f"{rows:,} × {columns}"


def row(line: Line) -> str:
    """Write a line as a row of its group's table; mark a full-size figure that misses its target."""
    if reason := line.get("skipped"):
        return f"| {line['what']} | skipped: {reason} |"
    if reason := line.get("wrong"):
        return f"| {line['what']} | **wrong answer**: {reason} |"
    cells = {
        "recipes": recipe_cells,
        "scale": scale_cells,
        "memory": memory_cells,
        "serving": serving_cells,
        "forest-peers": peer_cells,
    }.get(line["group"], ratio_cells)(line)
    return f"| {' | '.join(cells)} |"


def ratio_cells(line: Line) -> list[str]:
    cells = [line["what"], shape(line), duration(line["seconds"][OURS])]
    other, found = best_other(line), ratio(line)
    if other is None or found is None:
        return [*cells, "", ""]
    absent = f" ({', '.join(line['absent'])} not installed)" if line["absent"] else ""
    cells.append(f"{other}{absent} {duration(line['seconds'][other])}")
    times = f"{found:.3g}{between(line)}"
    if "at_least" not in line:
        return [*cells, times]
    missed = line["size"] == "full" and line.get("spread", [found])[0] < line["at_least"]
    return [*cells, f"**{times}, missed**" if missed else times, f"{line['at_least']:g}", f"{line['aim']:g}"]


def between(line: Line) -> str:
    """Write the spread of a ratio."""
    return f" ({line['spread'][0]:.3g}–{line['spread'][2]:.3g})" if "spread" in line else ""


def peer_cells(line: Line) -> list[str]:
    """Seconds of all, and of the others how many times ours they are."""
    seconds = line["seconds"]
    others = [
        f"{duration(seconds[name])}, {seconds[name] / seconds[OURS]:.3g} times" if name in seconds else "not installed"
        for name in PEERS
    ]
    return [line["what"], shape(line), duration(seconds[OURS]), *others]


def recipe_cells(line: Line) -> list[str]:
    times = times_plain(line)
    shown = f"{times:.2f}{between(line)}"
    marked = f"**{shown}, above {LIMIT:g}**" if line.get("spread", [times])[-1] > LIMIT else shown
    return [line["what"], duration(line["seconds"][OURS]), f"{per_value(line) * 1e9:.1f}", marked]


def scale_cells(line: Line) -> list[str]:
    peak = line["answer"].get("peak_gib")
    figures = [f"{per_step(line) * 1e9:.2f}", "" if peak is None else f"{peak:.2f}"]
    return [shape(line), duration(line["seconds"][OURS]), *figures]


def memory_cells(line: Line) -> list[str]:
    missed = line["size"] == "full" and line["megabytes"] > line["at_most"]
    figure = f"**{line['megabytes']:.0f}, missed**" if missed else f"{line['megabytes']:.0f}"
    return [line["what"], shape(line), figure, f"{line['at_most']:g}"]


def serving_cells(line: Line) -> list[str]:
    what, table, seconds, other, found = ratio_cells(line)
    figures = [f"{line['answer']['bytes']:,.0f}", f"{line['answer']['bytes_per_node']:.1f}"]
    return [what, table, seconds, duration(line["seconds"][OURS] / line["table"][0]), other, found, *figures]


def ends(lines: Iterable[Line]) -> str | None:
    """Compare the largest table with the smallest."""
    measured = sorted((line for line in lines if line["group"] == "scale" and "seconds" in line), key=lambda line: line["table"])
    if len(measured) < 2:
        return None
    first, last = measured[0], measured[-1]
    factor = per_step(last) / per_step(first)
    verdict = f"within a factor {WITHIN:g}" if 1 / WITHIN <= factor <= WITHIN else f"**not within a factor {WITHIN:g}**"
    return f"From {first['table'][0]:,} to {last['table'][0]:,} rows: {factor:.2f} times as much, {verdict}."


# --- whole runs


def read(path: Path) -> list[Line]:
    """Return the lines of a file; of several lines of a case, the last replaces the first."""
    latest: dict[tuple[str, str], Line] = {}
    for text in path.read_text().splitlines():
        line = json.loads(text)
        latest[line["group"], line["id"]] = line
    return list(latest.values())


def machine(line: Line) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in line["versions"].items())
    return f"{line['date']}, commit {line['commit']}; {line['cpu']}, {line['cores']} cores; {versions}."


def markdown(lines: Sequence[Line]) -> str:
    """Write all groups of a run as Markdown tables."""
    parts = list(dict.fromkeys(machine(line) for line in lines))
    if any(line["size"] != "full" for line in lines):
        parts.append("Small tables: no basis for claims.")
    for group, title in GROUPS.items():
        of_group = [line for line in lines if line["group"] == group]
        if of_group:
            rows = "\n".join(map(row, of_group))
            parts.append(f"### {title}\n\n{heading(group)}\n{rows}")
        if group == "scale" and (verdict := ends(of_group)):
            parts.append(verdict)
    return "\n\n".join(parts) + "\n"


def amounts(old: Line, new: Line) -> tuple[float, float, str]:
    """Return the figures to compare two lines of one case, less is better, and their unit.

    Times are relative to a peer that both runs have, so that a faster machine changes nothing.
    """
    if "megabytes" in old:
        return old["megabytes"], new["megabytes"], "MB"
    peers = sorted((old["seconds"].keys() & new["seconds"].keys()) - {OURS, PLAIN}, key=new["seconds"].__getitem__)
    if peers:
        was, now = (line["seconds"][OURS] / line["seconds"][peers[0]] for line in (old, new))
        return was, now, f"of {peers[0]}"
    return old["seconds"][OURS], new["seconds"][OURS], "s"


def compare(old: Sequence[Line], new: Sequence[Line]) -> tuple[str, bool]:
    """Write a Markdown table of the cases on equal tables in both runs; return it, and whether any became slower or wrong."""
    before = {(line["group"], line["id"]): line for line in old}
    rows, worse = [], False
    for line in new:
        name, earlier = f"{line['group']}/{line['id']}", before.get((line["group"], line["id"]), {})
        if "wrong" in line:
            rows.append(f"| {name} | | | | **wrong answer** |")
            worse = True
        if "table" not in line or line["table"] != earlier.get("table"):
            continue
        was, now, unit = amounts(earlier, line)
        slower = now > SLOWER * was
        worse |= slower
        rows.append(f"| {name} | {was:.3g} | {now:.3g} | {unit} | {f'**{now / was:.2f}**' if slower else f'{now / was:.2f}'} |")
    table = "\n".join(["| case | old | new | | new / old |\n|---|--:|--:|---|--:|", *rows])
    return f"{table}\n", worse
