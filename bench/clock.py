"""The clock: calls take turns, the first answers are checked before any time counts.  Knows nothing of trees."""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .cases import Contest, Figures

BATCH = 0.02  # seconds that one measurement lasts at least: far above the resolution of the clocks
TURN = 0.3  # seconds of measurements a call takes before the next has its turn
ENOUGH = 10.0  # seconds after which a call gets no more turns

Clock = Callable[[], float]


@dataclass
class Runner:
    """A call and its least time so far."""

    call: Callable[[], Any]
    clock: Clock
    best: float = float("inf")
    spent: float = 0.0
    batch: int = 1  # calls a measurement

    def first(self) -> Any:
        """Call once, which counts if it is long enough to be measured; the answer."""
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
    """Least seconds of one call each, and the figures of the check.

    The calls take `repeat` turns one after the other, so that a clock rate that changes hits all of them.  Long ones get fewer:
    what took `ENOUGH` once is not called again.
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
    """How many times faster two threads hash than one: what two threads can gain on this machine at this moment."""
    block = bytes(megabytes << 20)

    def hash_it(_: Any = None) -> None:
        hashlib.sha256(block)  # without the interpreter's lock

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
    """Seconds recorded on another machine, scaled by what one call takes here and took there."""
    return {name: seconds * yardstick / yardstick_there for name, seconds in recorded.items()}
