"""Measurement of times: calls take turns, and first results are checked before times count.  Knows no trees."""

import hashlib
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .cases import Contest, Figures

BATCH = 0.02  # minimum seconds of a measurement: far above the resolution of the clocks
TURN = 0.3  # seconds of measurements per turn of a call
TURNS = 3  # that each call has at least
ENOUGH = 10.0  # seconds after which a call has no more turns than these; a first call that takes so long counts as one
LONG = 60.0  # seconds of a call that is not repeated: its other turns take place on a smaller table

Clock = Callable[[], float]
Turns = dict[str, list[float]]  # least seconds of each call, turn by turn


@dataclass
class Runner:
    """A call and its least seconds in each turn."""

    call: Callable[[], Any]
    clock: Clock
    turns: list[float] = field(default_factory=list)
    spent: float = 0.0
    batch: int = 1  # calls per measurement

    def first(self) -> Any:
        """Return the result of a first call, whose time counts if it is so long that a cold start hardly matters."""
        start = self.clock()
        answer = self.call()
        self.spent = self.clock() - start
        if self.spent >= ENOUGH:
            self.turns.append(self.spent)
        return answer

    def is_long(self) -> bool:
        return bool(self.turns) and self.turns[0] >= LONG

    def turn(self) -> None:
        until = self.spent + TURN
        least = float("inf")
        while self.spent < until or least == float("inf"):
            seconds = self._measure()
            self.spent += seconds
            if seconds >= BATCH:
                least = min(least, seconds / self.batch)
            else:
                self.batch = max(2 * self.batch, int(self.batch * BATCH / max(seconds, BATCH / 100)))
        self.turns.append(least)

    def _measure(self) -> float:
        start = self.clock()
        for _ in range(self.batch):
            self.call()
        return self.clock() - start


def race(contest: Contest, repeat: int) -> tuple[Turns, Figures]:
    """Return the least seconds of each call in each turn, and the figures of the check.

    The calls take turns one after another, so that a changing clock rate affects all of them: `repeat` turns, but at least
    `TURNS`.  A call that took `ENOUGH` seconds has no more than `TURNS`, and one that takes `LONG` is called once.
    """
    clock = time.perf_counter if contest.wall else time.process_time
    runners = {name: Runner(call, clock) for name, call in contest.calls.items()}
    figures = contest.check({name: runner.first() for name, runner in runners.items()})
    for turn in range(max(repeat, TURNS)):
        for runner in runners.values():
            if len(runner.turns) <= turn and not runner.is_long() and (turn < TURNS or runner.spent < ENOUGH):
                runner.turn()
    return {name: runner.turns for name, runner in runners.items()}, figures


def race_on_smaller(make: Callable[[int], Contest], turns: Turns, rows: int, repeat: int) -> Turns | None:
    """Return the turns on a quarter of the rows if a call was so long that it has one turn, else None."""
    if all(len(seconds) >= TURNS for seconds in turns.values()):
        return None
    return race(make(rows // 4), repeat)[0]


def spread(turns: Turns, ours: str, other: str) -> tuple[float, float, float]:
    """Return the least, the median and the largest ratio of the seconds of `other` to `ours`, turn by turn."""
    ratios = sorted(theirs / own for own, theirs in zip(turns[ours], turns[other], strict=False))
    return ratios[0], statistics.median(ratios), ratios[-1]


def speed_up_of_hashing(megabytes: int = 100) -> float:
    """Return how many times faster two threads hash than one: the possible gain on this machine at this moment."""
    block = bytes(megabytes << 20)

    def hash_it(_: Any = None) -> None:
        hashlib.sha256(block)  # releases the GIL

    def two() -> None:
        threads = [threading.Thread(target=hash_it) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return 2 * least_wall_seconds(hash_it) / least_wall_seconds(two)


def least_wall_seconds(call: Callable[[], Any], times: int = 3) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def recorded_seconds(recorded: Mapping[str, float], yardstick: Sequence[float], yardstick_there: float) -> Turns:
    """Scale seconds recorded on another machine by the time of the yardstick here, turn by turn, and there."""
    return {name: [seconds * here / yardstick_there for here in yardstick] for name, seconds in recorded.items()}
