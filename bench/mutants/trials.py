"""Run tests against the mutants of a build: a process that has imported everything forks one for each mutant.

    python -m bench.mutants.trials PLAN

reads a plan as JSON: the tests, the numbers of the mutants, and rounds.  Each test runs once without a change, some of its
instances where it has parameters; which switches they passed and how long they took is noted.  A mutant then meets those that
pass its switch, first those that have noticed most mutants for their time.  Mutants that are left meet more in the next round.

A test that notices a mutant is run alone, with the change and without it: the mutant is killed if the test fails or ends the
process again, and passes without it.  Limits are of processor time.  A test that ran into one has three times as long then.
"""

import ctypes
import gc
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SWITCHES = 1 << 16
OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL)  # how a process ended


def too_slow(*_: Any) -> None:
    """End a test that takes too long without a change."""
    raise TimeoutError("this test is slow, and is left out")


@dataclass(eq=False)
class Trials:
    """A plugin of pytest that takes the place of its loop over tests."""

    plan: dict[str, Any]
    results: Path
    failed: bool = False
    failing: set[int] = field(default_factory=set)
    functions: dict[str, list[int]] = field(default_factory=dict)
    items: list[Any] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    reach: dict[int, list[int]] = field(default_factory=dict)
    tried: dict[int, int] = field(default_factory=dict)
    noticed: dict[int, int] = field(default_factory=dict)
    met: dict[int, set[int]] = field(default_factory=dict)
    status: int = 0

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Let Hypothesis draw as slowly as a busy machine makes it."""
        from hypothesis import HealthCheck, settings  # not before pytest, which rewrites it

        settings.register_profile("trials", settings.get_profile(self.plan["profile"]), suppress_health_check=list(HealthCheck))
        settings.load_profile("trials")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note that a test failed."""
        self.failed |= report.failed

    def pytest_runtestloop(self, session: Any) -> bool:
        """Try all mutants."""
        self.items, self.seconds = session.items, [0.0] * len(session.items)
        for at, item in enumerate(self.items):
            self.functions.setdefault(item.nodeid.partition("[")[0], []).append(at)
        gc.collect()
        gc.freeze()
        left: dict[int, dict[str, Any]] = {number: {} for number in self.plan["mutants"]}
        for share, most, seconds in self.plan["rounds"]:
            fresh = self.unmeasured(share, most, left)
            self.without_changes(fresh)
            self.note(kind="tests", tests=len(fresh), seconds=round(sum(self.seconds), 1))
            for number in left:
                left[number] = result = self.tested(number, seconds)
                if result["killed"]:
                    self.note(kind="mutant", number=number, **result)
            left = {number: result for number, result in left.items() if not result["killed"]}
        for number, result in left.items():
            self.note(kind="mutant", number=number, **result)
        return True

    def unmeasured(self, share: int, most: int, left: Iterable[int]) -> list[int]:
        """Tests to measure: of a share of all at most so many instances, far from one another.

        After the first time, files of tests that pass no mutant of the sources where one is left are left out.
        """
        sources = {self.plan["sources"][number] for number in left}
        of_left = [number for number in self.reach if self.plan["sources"][number] in sources]
        files = {self.items[at].path for number in of_left for at in self.reach[number]}
        chosen = [found for found in self.functions.values() if not self.reach or self.items[found[0]].path in files]
        return [at for found in chosen[::share] for at in found[:: -(-len(found) // most)] if not self.seconds[at]]

    def note(self, **what: Any) -> None:
        """Add a line to the results."""
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")

    def without_changes(self, order: list[int]) -> None:
        """Run tests once, and note which switches those passed that did not fail."""
        while order:
            reached = [*self.forked(0, order)]
            for at, passed, seconds, switches in reached:
                self.seconds[at] = seconds
                if not passed:
                    self.failing.add(at)
                    self.note(kind="fails", test=self.items[at].nodeid)
                for number in switches if passed else ():
                    self.reach.setdefault(number, []).append(at)
            order = order[len(reached) + 1 :]  # a test that ended the process is left out

    def tested(self, number: int, seconds: float) -> dict[str, Any]:
        """Let tests that pass a mutant meet it until one notices it."""
        met, passing = self.met.setdefault(number, set()), self.reach.get(number, [])
        order, total = [], 0.0
        for at in sorted(set(passing) - met - self.failing, key=lambda at: (self.worth(at), at), reverse=True):
            total += self.seconds[at]
            if total > seconds and order:
                break
            order.append(at)
        start = time.monotonic()
        done = 0
        for at, passed, _, _ in self.forked(number, order, 1):
            done += passed
            self.tried[at] = self.tried.get(at, 0) + 1
        spent = round(time.monotonic() - start, 2)
        met.update(order[:done])
        figures = {"ran": len(met), "passing": len(passing), "seconds": spent}
        if done == len(order):
            return {"killed": False, **figures}
        at = order[done]
        met.add(at)
        how = self.again(number, at)
        if not how:
            return self.tested(number, seconds)
        self.noticed[at] = self.noticed.get(at, 0) + 1
        return {"killed": True, "by": self.items[at].nodeid, "how": how, **figures}

    def again(self, number: int, at: int) -> str:
        """Say how a test notices a mutant that it meets alone; nothing where it passes, or fails without the mutant."""
        patience = 3 if self.status in OUT_OF_TIME else 1
        if not self.seconds[at]:
            self.without_changes([at])
        if at in self.failing or not self.seconds[at]:
            return ""
        if self.passes(number, at, patience):
            return ""
        how = "hangs" if self.status in OUT_OF_TIME else "ends the process" if self.status else "fails"
        if self.passes(0, at, 1):
            return how
        self.failing.add(at)
        return ""

    def passes(self, number: int, at: int, patience: int) -> bool:
        """Whether a test passes alone."""
        return [passed for _, passed, _, _ in self.forked(number, [at], patience)] == [True]

    def worth(self, at: int) -> float:
        """How many mutants a test is likely to notice in a second."""
        return (self.noticed.get(at, 0) + 0.5) / (self.tried.get(at, 0) + 1) / (self.seconds[at] + 0.005)

    def forked(self, number: int, order: list[int], patience: int = 0) -> Iterator[tuple[int, bool, float, list[int]]]:
        """Run tests in a process of their own; yield what became of each, up to the first that fails or ends the process.

        Without patience they are measured, and those that fail do not end it.
        """
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            try:
                self.run(number, order, patience, writing)
            except BaseException:  # not of a test
                traceback.print_exc(file=sys.__stderr__)
            finally:
                os._exit(0)
        os.close(writing)
        for line in lines_of(reading, child):
            yield tuple(json.loads(line))
        os.close(reading)
        self.status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def run(self, number: int, order: list[int], patience: int, writing: int) -> None:
        """Run tests, and write a line for each that ends."""
        os.setpgid(0, 0)
        switches = (ctypes.c_ubyte * SWITCHES).in_dll(ctypes.CDLL(None), "fasttree_reached")
        ctypes.c_int.in_dll(ctypes.CDLL(None), "fasttree_mutant").value = number
        os.environ["FASTTREE_MUTANT"] = str(number)
        resource.setrlimit(resource.RLIMIT_AS, (self.plan["memory"], self.plan["memory"]))
        for place, at in enumerate(order):
            if not patience:
                signal.signal(signal.SIGVTALRM, too_slow)
                signal.setitimer(signal.ITIMER_VIRTUAL, self.plan["longest"])
            else:
                limit = int(time.process_time() + patience * (10 * (self.seconds[at] or 1) + 5))
                resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
            ctypes.memset(switches, 0, SWITCHES)
            self.failed, start = False, time.process_time()
            item = self.items[at]
            following = self.items[order[place + 1]] if place + 1 < len(order) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds = time.process_time() - start + 1e-6
            reached = [k for k, passed in enumerate(bytes(switches)) if passed] if not patience else []
            os.write(writing, (json.dumps([at, not self.failed, seconds, reached]) + "\n").encode())
            if self.failed and patience:
                return


def lines_of(reading: int, child: int) -> Iterator[str]:
    """Read what a process writes, line by line, and end it where it waits for itself: where it does not use the processor."""
    text, before = "", -1.0
    while True:
        if not select.select([reading], [], [], 30)[0]:
            spent = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:13]
            seconds = sum(int(ticks) for ticks in spent) / os.sysconf("SC_CLK_TCK")
            if seconds < before + 0.001:
                os.killpg(child, signal.SIGKILL)
            before = seconds
            continue
        some = os.read(reading, 1 << 16)
        if not some:
            return
        *lines, text = (text + some.decode()).split("\n")
        yield from lines


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
    options = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:benchmark", "-p", "no:randomly"]
    options += [f"--hypothesis-profile={plan['profile']}", *plan["options"], *plan["tests"]]
    return int(pytest.main(options, plugins=[Trials(plan, Path(plan["results"]))]))


if __name__ == "__main__":
    sys.exit(main())
