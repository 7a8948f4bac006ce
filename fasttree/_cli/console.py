"""Output of the commands, for people and for programs: words, tables and figures; and values that people write."""

from __future__ import annotations

import ast
import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import click

__all__ = [
    "aligned",
    "bars",
    "deviation",
    "draws",
    "examples",
    "finite",
    "learning",
    "listed",
    "mean_and_deviation",
    "one_line",
    "plus",
    "print_json",
    "read_value",
    "status",
    "word",
]


def one_line(text: str) -> str:
    line = " ".join(text.split())
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in line)


def examples(*lines: str) -> str:
    """Return commands for the end of a help page, each on its own line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def draws() -> bool:
    """Whether standard output can show the lines of a drawing."""
    try:
        "├└│─…".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def deviation(values: Sequence[float]) -> float | None:
    """Return the standard deviation of a sample; None for a single value."""
    import numpy as np

    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def mean_and_deviation(values: Sequence[float], digits: int) -> str:
    import numpy as np

    mean, spread = float(np.mean(values)), deviation(values)
    return f"{mean:,.{digits}f}" + ("" if spread is None else f" {plus()} {spread:,.{digits}f}")


def plus() -> str:
    """Return the sign between a mean and its standard deviation."""
    return "±" if draws() else "+-"


def print_json(figures: Mapping[str, Any]) -> None:
    """Print one object on one line; numbers that are not finite are null."""
    click.echo(json.dumps(finite(figures), ensure_ascii=False, allow_nan=False, default=repr))


def finite(figures: Any) -> Any:
    """Replace numbers that are not finite by None, as JSON has none."""
    if isinstance(figures, dict):
        return {name: finite(value) for name, value in figures.items()}
    if isinstance(figures, list):
        return [finite(value) for value in figures]
    return None if isinstance(figures, float) and not math.isfinite(figures) else figures


def word(label: Any) -> str:
    text = str(label)
    return text if text and text.isprintable() else ascii(text)


def listed(names: Sequence[Any], shown: int = 8) -> str:
    text = ", ".join(repr(name) for name in names[:shown])
    return f"{text}, … ({len(names)} in all)" if len(names) > shown else text


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return cells in columns, the first flush left, the others flush right; a terminal shows a row of titles bold."""
    from rich.cells import cell_len

    from fasttree._cli.terminal import has_styles

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first + " " * (widths[0] - cell_len(first))]
        cells += [" " * (width - cell_len(cell)) + cell for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip() + "\n")
    if not rows[0][0] and has_styles():  # titles, of which the first column has none
        lines[0] = click.style(lines[0].rstrip("\n"), bold=True) + "\n"
    return "".join(lines)


@contextlib.contextmanager
def status(text: str) -> Iterator[None]:
    """Show on a terminal what is being done; nothing in a pipe."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(text):
            yield
    else:
        yield


@contextlib.contextmanager
def learning(text: str) -> Iterator[None]:
    """Show on a terminal the steps of a fit or a long list, with the parts done, the time since the start and the time left."""
    from fasttree._learn.progress import PERCENT, progress

    updates: dict[str, Callable[..., None]] = {}
    with bars() as add:

        def show(step: str, done: int, total: int) -> None:
            if step not in updates:  # a step of one part has no share, only a time
                updates[step] = add(f"{text}: {step}", total if total > 1 else None)
            note = f"{done:,} of {total:,}" if 1 < total != PERCENT else ""  # the bar has the percentage
            updates[step](completed=done, total=total if total > 1 or done else None, note=note)

        with progress(show):
            yield


@contextlib.contextmanager
def bars(*, quiet: bool = False) -> Iterator[Callable[[str, float | None], Callable[..., None]]]:
    """Show bars of progress on a terminal; nothing in a pipe, where rich is not imported.

    Parameters
    ----------
    quiet : bool, default=False
        Whether to show nothing on a terminal either.

    Yields
    ------
    function of a description and a total, or None if that is not known
        It adds a bar, and returns the function that moves it: by a step, or to ``completed``, with an optional ``note``.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda description, total: lambda **news: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[note]}"))
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, *times, transient=True, console=Console(stderr=True)) as progress:

        def add(description: str, total: float | None) -> Callable[..., None]:
            bar = progress.add_task(description, total=total, note="")

            def update(**news: Any) -> None:
                progress.update(bar, **(news if "completed" in news else news | {"advance": 1}))

            return update

        yield add


def read_value(text: str) -> Any:
    """Read a number, None or another literal of Python; anything else is text."""
    if text.strip().lower() in ("none", "null", ""):
        return None
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text
