"""Pictures of a run from its JSON lines: ratios beside their targets, and growth with size.  Needs matplotlib."""

from collections.abc import Sequence
from pathlib import Path

from .growth import WITHIN
from .report import Line, best_other, per_step, ratio

BAR, LEAST, AIM = "#4c72b0", "black", "#c44e52"


def draw(lines: Sequence[Line], folder: Path) -> list[Path]:
    """Write ratios.svg and growth.svg, if there are lines for them."""
    import matplotlib

    matplotlib.use("svg")
    with matplotlib.rc_context({"svg.hashsalt": "fasttree", "font.size": 9}):  # the same file each time
        drawn = [draw_ratios(lines, folder / "ratios.svg"), draw_growth(lines, folder / "growth.svg")]
    return [path for path in drawn if path is not None]


def draw_ratios(lines: Sequence[Line], path: Path) -> Path | None:
    from matplotlib.figure import Figure

    of_targets = [line for line in lines if line["group"] == "targets" and "seconds" in line]
    measured = [(line, times) for line in of_targets if (times := ratio(line)) is not None]
    if not measured:
        return None
    figure = Figure(figsize=(8, 0.6 + 0.27 * len(measured)), layout="constrained")
    axes = figure.subplots()
    places = range(len(measured))
    axes.barh(places, [times for _, times in measured], color=BAR, height=0.6)
    for of, marker, colour, label in (("at_least", "|", LEAST, "at least"), ("aim", "D", AIM, "aim")):
        size = 140 if marker == "|" else 14
        axes.scatter([line[of] for line, _ in measured], places, marker=marker, s=size, color=colour, label=label, zorder=3)
    for place, (line, times) in enumerate(measured):
        colour = LEAST if times >= line["at_least"] else AIM
        axes.annotate(f"{times:.3g}", (1.01, place), xycoords=("axes fraction", "data"), va="center", color=colour)
    axes.set_yticks(places, [f"{line['what']}  ({best_other(line)})" for line, _ in measured])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(left=1)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("times faster than the best of the others")
    axes.legend(loc="lower right", frameon=False, bbox_to_anchor=(1.0, 1.0), ncols=2)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    return path


def draw_growth(lines: Sequence[Line], path: Path) -> Path | None:
    from matplotlib.figure import Figure

    measured = sorted(
        (line["table"][0], per_step(line) * 1e9) for line in lines if line["group"] == "scale" and "seconds" in line
    )
    if len(measured) < 2:
        return None
    rows, nanoseconds = zip(*measured, strict=True)
    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(rows, nanoseconds, marker="o", color=BAR)
    for times, label in ((1.0, "as for the smallest"), (WITHIN, f"{WITHIN:g} times that")):
        axes.axhline(times * nanoseconds[0], color="0.6", linewidth=0.8, linestyle="--")
        axes.annotate(
            label, (rows[-1], times * nanoseconds[0]), xytext=(0, 3), textcoords="offset points", ha="right", color="0.4"
        )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0, top=max(*nanoseconds, WITHIN * nanoseconds[0]) * 1.15)
    axes.set_xlabel("rows (28 columns, whole exact tree)")
    axes.set_ylabel("ns per row, column and log2 of rows")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    return path
