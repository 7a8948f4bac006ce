"""Types of benchmark cases, independent of tables, libraries and clocks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

OURS = "fasttree"
ONE = "fasttree, one thread"  # beside ours in two
YARDSTICK = "yardstick"

Figures = dict[str, float]
Answers = Mapping[str, Any]


class Skipped(Exception):
    """Raised if something that a case needs is absent; the message names it."""


@dataclass(frozen=True)
class Contest:
    """Calls on one table that should give the same result; ours has the name `OURS`.

    `check` gets the results by the names of the calls, raises AssertionError if they are wrong, and returns figures of them.
    """

    calls: Mapping[str, Callable[[], Any]]
    check: Callable[[Answers], Figures]
    table: tuple[int, int]  # rows, columns
    wall: bool = False  # wall time instead of processor time
    absent: tuple[str, ...] = ()  # peers that are not installed
    recorded: Mapping[str, float] | None = None  # seconds of programs on another machine; needs the call `YARDSTICK`
    yardstick_seconds: float | None = None  # seconds of that call on the other machine


@dataclass(frozen=True)
class Case:
    """A line of the benchmark; `make(most_rows)` builds a table of at most that many rows, which is not timed.

    `at_least` and `aim` are targets for the speed on the full table, relative to the fastest of the others.
    """

    id: str
    what: str
    make: Callable[[int], Contest]
    at_least: float | None = None
    aim: float | None = None
