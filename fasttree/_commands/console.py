"""Words, tables and figures as the commands print them, for people and for programs, and values as people write them."""

from __future__ import annotations

import ast
import contextlib
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
import numpy as np
from rich.cells import cell_len
from rich.console import Console

from .._words import counted

__all__ = [
    "aligned",
    "counted",
    "deviation",
    "draws",
    "examples",
    "finite",
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
    """Write commands at the end of a help page, each on a line of its own."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def draws() -> bool:
    """Whether standard output can show the lines of a drawing."""
    try:
        "├└│─…".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def deviation(values: Sequence[float]) -> float | None:
    """Standard deviation of a sample; None of a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def mean_and_deviation(values: Sequence[float], digits: int) -> str:
    mean, spread = float(np.mean(values)), deviation(values)
    return f"{mean:,.{digits}f}" + ("" if spread is None else f" {plus()} {spread:,.{digits}f}")


def plus() -> str:
    """What stands between a mean and its standard deviation."""
    return "±" if draws() else "+-"


def print_json(figures: Mapping[str, Any]) -> None:
    """Print one object on one line; what is not a finite number is null."""
    click.echo(json.dumps(finite(figures), ensure_ascii=False, allow_nan=False, default=repr))


def finite(figures: Any) -> Any:
    """Turn what is not a number into null, which JSON knows."""
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
    """Lay cells out in columns, the first flush left, the others flush right."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first + " " * (widths[0] - cell_len(first))]
        cells += [" " * (width - cell_len(cell)) + cell for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


@contextlib.contextmanager
def status(text: str) -> Iterator[None]:
    """Say on a terminal what is being done; nothing in a pipe."""
    if sys.stderr.isatty():
        with Console(stderr=True).status(text):
            yield
    else:
        yield


def read_value(text: str) -> Any:
    """Read a number, None, or what else Python writes; anything else is text."""
    if text.strip().lower() in ("none", "null", ""):
        return None
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text
