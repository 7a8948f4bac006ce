"""Measurement of times: calls take turns, and first results are checked before times count.  Knows no trees."""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .cases import Contest, Figures

BATCH = 0.02  # minimum seconds of a measurement: far above the resolution of the clocks
TURN = 0.3  # seconds of measurements per turn of a call
ENOUGH = 10.0  # seconds after which a call has no more turns

Clock = Callable[[], float]


@dataclass
class Runner:
    """A call and its least time so far."""

    call: Callable[[], Any]
    clock: Clock
    best: float = float("inf")
    spent: float = 0.0
    batch: int = 1  # calls per measurement

    def first(self) -> Any:
        """Return the result of a first call, whose time counts if it is long enough."""
        start = self.clock()
        answer = self.call()
        seconds = self.clock() - start
        self.spent = seconds
        if seconds >= BATCH:
            self.best = seconds
        return answer

    def turn(self) -> None:
        until = self.spent + TURN
        while self.spent < until:
            seconds = self._measure()
            self.spent += seconds
            if seconds >= BATCH:
                self.best = min(self.best, seconds / self.batch)
            else:
                self.batch = max(2 * self.batch, int(self.batch * BATCH / max(seconds, BATCH / 100)))

    def _measure(self) -> float:
        start = self.clock()
        for _ in range(self.batch):
            self.call()
        return self.clock() - start


def race(contest: Contest, repeat: int) -> tuple[dict[str, float], Figures]:
    """Return the least seconds of each call, and the figures of the check.

    The calls take `repeat` turns one after another, so that a changing clock rate affects all of them.  Long calls have fewer
    turns: a call that took `ENOUGH` seconds is not repeated.
    """
    clock = time.perf_counter if contest.wall else time.process_time
    runners = {name: Runner(call, clock) for name, call in contest.calls.items()}
    figures = contest.check({name: runner.first() for name, runner in runners.items()})
    for turn in range(repeat):
        for runner in runners.values():
            counted = runner.best < float("inf")
            if not counted or (turn > 0 and runner.spent < ENOUGH):
                runner.turn()
    return {name: runner.best for name, runner in runners.items()}, figures


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


def recorded_seconds(recorded: Mapping[str, float], yardstick: float, yardstick_there: float) -> dict[str, float]:
    """Scale seconds recorded on another machine by the time of the yardstick here and there."""
    return {name: seconds * yardstick / yardstick_there for name, seconds in recorded.items()}
