"""Run tests against the mutants of a build: a process that has imported everything forks one for each mutant.

    python -m bench.mutants.trials PLAN

reads a plan as JSON: the tests, the numbers of the mutants, and the seconds of tests for each.  Each test runs once without a
change; which switches it passed and how long it took is noted.  A mutant then meets the tests that pass its switch, those first
that have noticed most mutants for their time.
"""

import ctypes
import gc
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SWITCHES = 1 << 16


def some_of_each(items: list[Any], most: int) -> list[Any]:
    """At most some instances of each test that has parameters, spread over all of them."""
    functions: dict[str, list[Any]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [each for found in functions.values() for each in found[:: -(-len(found) // most)]]


def too_slow(*_: Any) -> None:
    """End a test that takes too long without a change."""
    raise TimeoutError("this test is slow, and is left out")


@dataclass
class Trials:
    """A plugin of pytest that takes the place of its loop over tests."""

    plan: dict[str, Any]
    results: Path
    failed: bool = False
    items: list[Any] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    reach: dict[int, list[int]] = field(default_factory=dict)
    tried: dict[int, int] = field(default_factory=dict)
    noticed: dict[int, int] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note that a test failed."""
        self.failed |= report.failed

    def pytest_runtestloop(self, session: Any) -> bool:
        """Try all mutants."""
        self.items = some_of_each(session.items, self.plan.get("instances", 3))
        gc.collect()
        gc.freeze()
        self.note(kind="tests", tests=self.without_changes())
        for number in self.plan["mutants"]:
            self.note(kind="mutant", number=number, **self.tested(number))
        return True

    def note(self, **what: Any) -> None:
        """Add a line to the results."""
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")

    def without_changes(self) -> int:
        """Run each test once, keep those that pass, and return how many there are."""
        self.seconds = [0.0] * len(self.items)
        order = list(range(len(self.items)))
        while order:
            reached = [*self.forked(0, order, measured=True)]
            for at, passed, seconds, switches in reached:
                self.seconds[at] = seconds
                if not passed:
                    self.note(kind="fails", test=self.items[at].nodeid)
                for number in switches if passed else ():
                    self.reach.setdefault(number, []).append(at)
            order = order[len(reached) + 1 :]  # a test that ended the process is left out
        return sum(seconds > 0 for seconds in self.seconds)

    def tested(self, number: int) -> dict[str, Any]:
        """Let tests meet a mutant until one notices it."""

        def worth(at: int) -> float:
            return (self.noticed.get(at, 0) + 0.5) / (self.tried.get(at, 0) + 1) / (self.seconds[at] + 0.005)

        passing = sorted(self.reach.get(number, ()), key=worth, reverse=True)
        order, total = [], 0.0
        for at in passing:
            total += self.seconds[at]
            if total > self.plan["seconds"] and order:
                break
            order.append(at)
        start = time.monotonic()
        done = 0
        for at, passed, _, _ in self.forked(number, order, measured=False):
            done += passed
            self.tried[at] = self.tried.get(at, 0) + 1
        spent = round(time.monotonic() - start, 2)
        if done == len(order):
            return {"killed": False, "ran": done, "passing": len(passing), "seconds": spent}
        at = order[done]
        self.noticed[at] = self.noticed.get(at, 0) + 1
        return {"killed": True, "by": self.items[at].nodeid, "ran": done + 1, "passing": len(passing), "seconds": spent}

    def forked(self, number: int, order: list[int], measured: bool) -> Iterator[tuple[int, bool, float, list[int]]]:
        """Run tests in a process of their own; yield what became of each, up to the first that fails or ends the process."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            try:
                self.run(number, order, measured, writing)
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as lines:
            for line in lines:
                yield tuple(json.loads(line))
        os.waitpid(child, 0)

    def run(self, number: int, order: list[int], measured: bool, writing: int) -> None:
        """Run tests, and write a line for each that ends."""
        os.setpgid(0, 0)
        switches = (ctypes.c_ubyte * SWITCHES).in_dll(ctypes.CDLL(None), "fasttree_reached")
        ctypes.c_int.in_dll(ctypes.CDLL(None), "fasttree_mutant").value = number
        os.environ["FASTTREE_MUTANT"] = str(number)
        resource.setrlimit(resource.RLIMIT_AS, (self.plan["memory"], self.plan["memory"]))
        for place, at in enumerate(order):
            if measured:
                signal.signal(signal.SIGVTALRM, too_slow)
                signal.setitimer(signal.ITIMER_VIRTUAL, self.plan.get("longest", 3))
            else:
                limit = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime + 10 * self.seconds[at] + 5)
                resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(int(60 + 20 * self.seconds[at]))
            ctypes.memset(switches, 0, SWITCHES)
            self.failed, start = False, time.process_time()
            item = self.items[at]
            following = self.items[order[place + 1]] if place + 1 < len(order) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds = time.process_time() - start + 1e-6
            reached = [k for k, passed in enumerate(bytes(switches)) if passed] if measured else []
            os.write(writing, (json.dumps([at, not self.failed, seconds, reached]) + "\n").encode())
            if self.failed and not measured:
                return


class Python:
    """The switch of Python files, and which of theirs were passed."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self.mutant = ctypes.c_int.in_dll(library, "fasttree_mutant")
        self.reached = (ctypes.c_ubyte * SWITCHES).in_dll(library, "fasttree_reached")

    def __call__(self, number: int) -> bool:
        """Whether a mutant is chosen."""
        self.reached[number] = 1
        return self.mutant.value == number


def main() -> int:
    """Try the mutants of a plan."""
    import builtins

    builtins.fasttree_is = Python()  # type: ignore[attr-defined]
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:benchmark", "-p", "no:randomly"]
    options += [f"--hypothesis-profile={plan['profile']}", *plan["options"], *plan["tests"]]
    return int(pytest.main(options, plugins=[Trials(plan, Path(plan["results"]))]))


if __name__ == "__main__":
    sys.exit(main())
