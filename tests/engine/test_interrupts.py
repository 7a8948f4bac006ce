"""What a signal handler raises ends compiled work soon, leaves the estimator as it was, and leaves no memory behind."""

from __future__ import annotations

import enum
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import interrupts
import numpy as np
import pytest

from fasttree import (
    C45Classifier,
    C45Rules,
    CARTClassifier,
    CARTRegressor,
    CubistRegressor,
    M5Regressor,
    RandomForestClassifier,
    Recipe,
    TreeClassifier,
    _core,
    from_json,
)
from fasttree._data.schema import Kind
from fasttree._engine import rulesets
from fasttree._engine.lines import equations

SOON = 3.0  # seconds: a part of one, and what a busy machine adds
LINES = "lines."
DOORS = {"select_rules": rulesets} | {f"{LINES}{name}": equations for name in ("fit_tree", "grow", "fit_nodes", "smooth")}


class Stopped(Exception):
    """Raised by a handler of the tests."""


@contextmanager
def handled(number: int, error: type[BaseException]) -> Iterator[None]:
    def handle(*_: object) -> None:
        raise error

    before = signal.signal(number, handle)
    try:
        yield
    finally:
        signal.signal(number, before)


@contextmanager
def alarm(after: float) -> Iterator[None]:
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class Interrupted:
    """A door of the engine: some time after it is entered a signal comes, and what leaves it is noted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, after: float = 0.05, number: int = signal.SIGINT) -> None:
        home = DOORS.get(name, _core)
        name = name.removeprefix(LINES)
        self.door = getattr(home, name)
        self.after, self.number = after, number
        self.sent = self.left = 0.0
        self.entered = False
        self.error: BaseException | None = None
        monkeypatch.setattr(home, name, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.entered, ended = False, threading.Event()
        sender = threading.Thread(target=self.send, args=(ended,))
        sender.start()
        try:
            self.entered = True  # nothing in Python follows before the door, so that a signal ends what is behind it
            return self.door(*args, **kwargs)
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.left = time.perf_counter()
            ended.set()

    def send(self, ended: threading.Event) -> None:
        while not self.entered:  # the system may let the other thread wait for longer than `after`
            time.sleep(0.001)
        if not ended.wait(self.after):
            self.sent = time.perf_counter()
            signal.raise_signal(self.number)


def noise(n_samples: int, n_features: int, n_classes: int, *, n_values: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns that say nothing about a target (`n_classes` 0: a number), so that trees are large."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, n_values, (n_samples, n_features)) if n_values else rng.normal(size=(n_samples, n_features))
    return X.astype(float), rng.integers(0, n_classes, n_samples) if n_classes else rng.normal(size=n_samples)


def several(n_samples: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = noise(n_samples, n_features, 0)
    return X, np.column_stack([y, y[::-1]])


def counts(n_samples: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = noise(n_samples, n_features, 0)
    return X, np.abs(y)


def with_gaps(n_samples: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = noise(n_samples, n_features, 3)
    X[::10, ::2] = np.nan
    return X, y


def rule_table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(60_000, 12)).astype(float)
    return X, ((X[:, 0] > 2) & (X[:, 1] > 1) | (X[:, 2] > 3)) ^ (rng.random(len(X)) < 0.25)


CASES: dict[str, tuple[Callable[[], Any], Callable[[], tuple[np.ndarray, np.ndarray]], str]] = {
    "lists": (CARTClassifier, lambda: noise(32_000, 120, 2), "grow"),
    "lists of many samples": (lambda: CARTRegressor(criterion="poisson"), lambda: counts(60_000, 20), "grow"),
    "bounds": (CARTClassifier, lambda: noise(150_000, 20, 2), "grow"),
    "bounds of numbers": (CARTRegressor, lambda: noise(150_000, 20, 0), "grow"),
    "threads": (lambda: CARTClassifier(n_jobs=2), lambda: noise(150_000, 20, 2), "grow"),
    "medians": (lambda: CARTRegressor(criterion="absolute_error"), lambda: noise(20_000, 20, 0), "grow"),
    "medians of one node": (
        lambda: CARTRegressor(criterion="absolute_error", max_depth=1),
        lambda: noise(1_000_000, 1, 0),
        "grow",
    ),
    "several targets": (CARTRegressor, lambda: several(40_000, 20), "grow"),
    "surrogates": (lambda: CARTClassifier(missing="surrogate"), lambda: with_gaps(30_000, 60), "grow"),
    "C4.5": (C45Classifier, lambda: noise(60_000, 20, 9), "grow"),
    "C4.5 with groups": (
        lambda: C45Classifier(subset=True, categorical_features=[0, 1]),
        lambda: noise(20_000, 2, 5, n_values=1000),
        "grow",
    ),
    "intervals": (
        lambda: TreeClassifier(recipe=Recipe(continuous="intervals", missing="error")),
        lambda: noise(200_000, 4, 3),
        "grow",
    ),
    "rules": (C45Rules, rule_table, "select_rules"),
    "models of nodes": (M5Regressor, lambda: noise(8_000, 300, 0), "lines.fit_tree"),
    "models of nodes by size": (lambda: M5Regressor(elimination="m5"), lambda: noise(8_000, 300, 0), "lines.fit_tree"),
    "growth on residuals": (CubistRegressor, lambda: noise(30_000, 40, 0), "lines.grow"),
    "models of rules": (CubistRegressor, lambda: noise(30_000, 40, 0), "lines.fit_nodes"),
    "smoothing of rules": (CubistRegressor, lambda: noise(60_000, 40, 0), "lines.smooth"),
}


@pytest.mark.parametrize("name", CASES)
def test_an_interrupt_ends_a_fit_and_the_model_stays_as_it_was(name, monkeypatch):
    make, table, door = CASES[name]
    X, y = table()
    model = make().fit(X[:200], y[:200])
    before, answers = dict(model.__dict__), model.predict(X[:200])
    interrupted = Interrupted(monkeypatch, door)
    with handled(signal.SIGINT, KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert isinstance(interrupted.error, KeyboardInterrupt)  # the compiled work itself ended, not what came after it
    assert interrupted.left - interrupted.sent < SOON
    assert model.__dict__.keys() == before.keys()
    assert all(value is before[key] for key, value in model.__dict__.items())
    assert np.array_equal(model.predict(X[:200]), answers)
    monkeypatch.undo()
    assert np.array_equal(model.fit(X[:200], y[:200]).predict(X[:200]), answers)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of Unix")
@pytest.mark.parametrize(
    "given",
    [("--turns", "24", "--only", "fit C45Classifier"), pytest.param(("--turns", "1000"), marks=pytest.mark.nightly)],
)
def test_signals_at_random_moments_leave_nothing_behind(given):
    program = [sys.executable, "-P", Path(interrupts.__file__), *given]
    ended = subprocess.run(program, capture_output=True, text=True, check=False, timeout=3000)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    assert " 0 came in time" not in ended.stdout.splitlines()[-1]


@pytest.mark.parametrize("name", ["bounds", "models of nodes", "growth on residuals"])
def test_a_model_that_was_not_fitted_is_not_after_an_interrupt(name, monkeypatch):
    make, table, door = CASES[name]
    model = make()
    Interrupted(monkeypatch, door)
    with handled(signal.SIGINT, KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        model.fit(*table())
    assert vars(model) == vars(make())


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, y = noise(100, 3, 2)
    model = CARTClassifier().fit(X, y)
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match="at least"):
        model.fit(X[:, :2], y, sample_weight=np.zeros(100))
    assert model.__dict__ == before


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of Unix")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_handler_of_another_signal_raises_comes_out_of_a_fit(n_jobs):
    X, y = noise(150_000, 20, 2)
    with handled(signal.SIGALRM, Stopped), alarm(0.2), pytest.raises(Stopped):
        CARTClassifier(n_jobs=n_jobs).fit(X, y)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of Unix")
def test_a_handler_that_raises_nothing_changes_nothing():
    X, y = noise(60_000, 10, 2)
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(threading.current_thread()))
    signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
    try:
        interrupted = [CARTClassifier(n_jobs=n_jobs).fit(X, y).tree_ for n_jobs in (1, 2)]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert set(calls) == {threading.main_thread()}
    assert interrupted == [CARTClassifier().fit(X, y).tree_] * 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_in_another_thread_goes_on_while_signals_are_handled(n_jobs):
    X, y = noise(60_000, 20, 2)
    trees = []
    thread = threading.Thread(target=lambda: trees.append(CARTClassifier(n_jobs=n_jobs).fit(X, y).tree_))
    with handled(signal.SIGINT, Stopped):
        thread.start()
        with pytest.raises(Stopped):
            signal.raise_signal(signal.SIGINT)
        thread.join()
    assert trees == [CARTClassifier().fit(X, y).tree_]


def fit_one_node(n_samples: int, n_features: int, after: float = 0.0) -> tuple[float, bool]:
    """Fit the model of one node with terms of all features; return the CPU time, and whether a signal ended it `after` some."""
    samples = np.random.default_rng(0).normal(size=(n_samples, n_features + 1))
    tree = (np.array([-1], np.int32), np.ones((1, n_features), np.uint8), 0)
    numbers, found = np.array([1e-7, 1e-10, 1e-8, 1.5, 1e-13]), np.empty((1, 1, n_features + 5))
    place = np.array([0, n_samples])
    start, ended = time.process_time(), True
    try:
        signal.setitimer(signal.ITIMER_PROF, after)
        equations.fit_tree((samples, None, np.arange(n_samples), place), tree, False, numbers, np.zeros(n_features), found)
        signal.setitimer(signal.ITIMER_PROF, 0)
        ended = False
    except Stopped:
        pass
    return time.process_time() - start, ended


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of Unix")
@pytest.mark.parametrize("kind", [CARTClassifier, RandomForestClassifier])
def test_a_model_is_loaded_without_a_question_of_numpy_that_discards_an_interrupt(kind, monkeypatch):
    """NumPy asks the class of what an array is compared with for `__array_ufunc__`, and discards whatever that raises."""
    asked: list[str] = []

    def ask(cls: type, name: str) -> Any:
        if cls is Kind:
            asked.append(name)
        raise AttributeError(name)

    X = [["a", 1.0], ["b", 2.0], ["a", 3.0], ["b", 4.0]] * 5
    text = kind(ordinal_features={0: ["a", "b"]}).fit(X, [0, 1, 1, 0] * 5).to_json()
    monkeypatch.setattr(enum.EnumMeta, "__getattr__", ask, raising=False)  # CPython 3.11 has one
    assert np.array([0.0]) != Kind.ORDINAL
    assert set(asked) == {"__array_ufunc__"}
    asked.clear()
    from_json(text)
    assert asked == []


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of Unix")
def test_the_model_of_one_node_ends_in_each_of_its_phases():
    fit_one_node(1500, 1450)  # the first fit takes longer
    whole = min(fit_one_node(1500, 1450)[0] for _ in range(2))
    for share in (0.1, 0.4, 0.7):
        for _ in range(5):  # a fit that ends before the signal was faster than those before it
            with handled(signal.SIGPROF, Stopped):
                spent, ended = fit_one_node(1500, 1450, share * whole)
            if ended:
                break
            whole = min(whole, spent)
        assert ended
        assert spent < share * whole + 0.15, (share, whole)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of Unix")
def test_the_pruning_of_rules_ends_by_an_interrupt():
    """A chain of 60,001 nodes, of which the lowest test goes, then the next one: each time all nodes are looked at."""
    number = np.arange(60_001, dtype=np.int32)
    parent = number - 2 + number % 2  # each test has a leaf before it goes on
    parent[0] = -1
    alive, cut = (number % 2 == 0).astype(np.uint8), np.zeros(number.size, np.uint8)
    alive[-1] = 0
    own, size = 60_002.0 - number, np.full(number.size, 2.0)
    error, parameters = (alive == 0).astype(float), np.zeros(number.size)  # of leaves
    parameters[-1] = 2
    start = time.process_time()
    with handled(signal.SIGPROF, Stopped):
        signal.setitimer(signal.ITIMER_PROF, 0.1)
        with pytest.raises(Stopped):
            equations.prune(parent, (own, size), (error, parameters), alive, cut, 1e6, 1)
    assert time.process_time() - start < 0.1 + 0.15
    assert 0 < cut.sum() < 30_000


ENDED = {
    "CARTClassifier": ("from fasttree import _core as home", "grow", "(150_000, 20)"),
    "M5Regressor": ("from fasttree._engine.lines import equations as home", "fit_tree", "(8_000, 300)"),
    "CubistRegressor": ("from fasttree._engine.lines import equations as home", "grow", "(30_000, 40)"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("name", ENDED)
def test_a_program_that_fits_ends_by_ctrl_c(name):
    home, door, shape = ENDED[name]
    code = f"""
import signal
import numpy as np
from fasttree import {name}
{home}
signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background is started to ignore it
work, rng = home.{door}, np.random.default_rng(0)
X, y = rng.normal(size={shape}), rng.integers(0, 2, {shape}[0])
def work_for_long(*args, **kwargs):
    print("here", flush=True)
    return work(*args, **kwargs)
home.{door} = work_for_long
while True:
    {name}().fit(X, y)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert process.stdout.readline() == b"here\n"
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
            assert error.rstrip().endswith(b"KeyboardInterrupt")
            assert process.returncode == -signal.SIGINT
        finally:
            process.kill()


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory of a process, as Linux says it")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # from callbacks of Python
@pytest.mark.parametrize("name", ["lists of many samples", "several targets", "bounds", "threads"])
def test_growth_that_is_interrupted_leaves_no_memory_behind(name):
    make, table, _ = CASES[name]
    X, y = table()
    before = threading.active_count()  # another test's library may have left a thread that watches
    grown = []
    while len(grown) < 3 and (not grown or grown[-1] >= X.nbytes / 4):
        sizes, stopped = [], 0
        with handled(signal.SIGALRM, Stopped):
            for turn in range(24):
                try:
                    with alarm(0.03 + turn % 6 * 0.05):
                        make().fit(X, y)
                except Stopped:
                    stopped += 1
                sizes.append(resident())
        assert stopped >= 20
        grown.append(min(sizes[-6:]) - max(sizes[:12]))
    # a list of all samples takes 8 bytes each, a node's histogram 2 KB a feature: what each turn left would add up, again and
    # again; what the allocator keeps for a thread once does not
    assert grown[-1] < X.nbytes / 4, grown
    end = time.perf_counter() + SOON
    while threading.active_count() > before and time.perf_counter() < end:
        time.sleep(0.01)  # a thread that has left the growth may have its last lines before it
    assert threading.active_count() <= before


class NoRoom(threading.Thread):
    """The system has room for so many threads."""

    left = 0

    def start(self) -> None:
        if NoRoom.left == 0:
            raise RuntimeError("can't start new thread")
        NoRoom.left -= 1
        super().start()


@pytest.mark.parametrize("n_threads", range(5))
def test_threads_that_cannot_be_started_are_done_without(n_threads, monkeypatch):
    X, y = noise(40_000, 40, 2)
    one = CARTClassifier(max_depth=8).fit(X, y).tree_
    monkeypatch.setattr(threading, "Thread", NoRoom)
    monkeypatch.setattr(NoRoom, "left", n_threads)
    assert CARTClassifier(max_depth=8, n_jobs=4).fit(X, y).tree_ == one


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize("megabytes", [2, 8, 20, 60])
def test_with_little_room_for_threads_a_fit_gives_the_tree_or_is_out_of_memory(megabytes):
    code = f"""
import resource, numpy as np
from fasttree import CARTClassifier
rng = np.random.default_rng(0)
X, y = rng.normal(size=(40_000, 4)), rng.integers(0, 2, 40_000)
tree = CARTClassifier().fit(X, y).tree_
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + {megabytes} * 2**20
resource.setrlimit(resource.RLIMIT_AS, (size, size))
try:
    assert CARTClassifier(n_jobs=2).fit(X, y).tree_ == tree
except MemoryError:
    pass
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
