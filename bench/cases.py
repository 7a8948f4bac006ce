"""What a case of the benchmark is.  Knows nothing of tables, libraries or clocks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

OURS = "fasttree"
YARDSTICK = "yardstick"

Figures = dict[str, float]
Answers = Mapping[str, Any]


class Skipped(Exception):
    """The case needs something that is not here; the message says what."""


@dataclass(frozen=True)
class Contest:
    """Calls that should give the same answer, ours by the name `OURS`, on one table.

    `check` gets the answers by the names of the calls; it raises AssertionError if they are wrong, and returns figures of them.
    """

    calls: Mapping[str, Callable[[], Any]]
    check: Callable[[Answers], Figures]
    table: tuple[int, int]  # rows, columns
    wall: bool = False  # time on the wall instead of processor time
    absent: tuple[str, ...] = ()  # peers that are not installed
    recorded: Mapping[str, float] | None = None  # seconds of programs that are not run here: beside the call `YARDSTICK`
    yardstick_seconds: float | None = None  # what that call took on the machine of the record


@dataclass(frozen=True)
class Case:
    """A line of the benchmark; `make(most_rows)` builds a table of at most so many rows, and nothing of that is timed.

    `at_least` and `aim` say how many times faster than the best of the others the full table shall be done.
    """

    id: str
    what: str
    make: Callable[[int], Contest]
    at_least: float | None = None
    aim: float | None = None
