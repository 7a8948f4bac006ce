"""Send a signal at a random moment of each long operation, again and again, and check what is left.

    python tests/helpers/interrupts.py [--turns 1000] [--seed 0] [--only WORDS] [--calls]

`turns` are spread over the operations.  In each, a signal whose handler raises KeyboardInterrupt comes at a moment that is
drawn from the time that the operation takes, and a little more.  With `--calls`, it is as if the signal came when the first
thread calls a function of fasttree in Python; which of these calls is drawn.  Short steps, such as those that end threads, are
then met as often as long ones.  Exactly one KeyboardInterrupt must come out, soon, or the
signal came too late; the search for an optimal tree may end with a warning and its best tree instead.  Then the model has the
same attributes, and predicts the same, or, where the signal came as `fit` returned, is fitted; a file is the one that was there
or the new one, whole, and nothing lies beside it; no thread is left.  After its turns, each operation gives what it gave
before.
"""

import argparse
import functools
import gc
import hashlib
import inspect
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fasttree
from fasttree.estimators.common.registry import ESTIMATORS

FOLDER = os.path.dirname(fasttree.__file__)
SOON = 3.0  # seconds: parts of one, and what a busy machine adds
FOREST = {"n_estimators": 12, "random_state": 0}
PARAMETERS: dict[str, dict[str, Any]] = {
    "OptimalTreeClassifier": {"max_depth": 3},
    "OptimalTreeRegressor": {"max_depth": 2},
    "GAMClassifier": {"n_bags": 2, "max_iter": 60, "random_state": 0},
    "GAMRegressor": {"n_bags": 2, "max_iter": 60, "random_state": 0},
}
ROWS = {"C45Rules": 3000, "C50Classifier": 8000, "ID3Classifier": 20_000, "CubistRegressor": 3000, "M5Regressor": 4000}
MORE: dict[str, list[dict[str, Any]]] = {
    "CARTClassifier": [
        {"n_jobs": 2},
        {"n_jobs": 2, "max_features": 3, "random_state": 0},
        {"missing": "surrogate"},
        {"max_leaf_nodes": 200},
        {"max_bins": 40},
        {"ccp_alpha": "cv", "random_state": 0},
        {"lookahead": 2, "max_depth": 4},
    ],
    "CARTRegressor": [{"criterion": "absolute_error"}, {"n_jobs": 2}],
    "C45Classifier": [{"n_jobs": 2}, {"subset": True}, {"windowing": True, "random_state": 0, "n_trials": 2}],
    "C50Classifier": [{"trials": 4}, {"rules": True}],
    "CubistRegressor": [{"committees": 3, "neighbors": 3}],
    "GAMClassifier": [{"n_jobs": 2}],
    "OptimalTreeClassifier": [{"n_jobs": 2, "max_depth": 3}],
    "RandomForestClassifier": [{"n_jobs": 2}],
}


class Operation(NamedTuple):
    """What is interrupted, the model that it may not change, and the file that it may replace."""

    name: str
    call: Callable[[], Any]
    model: Any = None
    sample: Any = None
    path: Path | None = None


def table(n: int, *, missing: float = 0.0, numbers: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Columns of many and of few values, and a target that depends on them with noise."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 8))
    X[:, 5:] = np.floor(2 * X[:, 5:])
    target = X[:, 0] * X[:, 1] + np.abs(X[:, 5]) + rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, target if numbers else np.digitize(target, [0.0, 1.5])


def words(n: int) -> tuple[list[list[str]], list[str]]:
    """Columns of categories, one of them with many."""
    codes = np.random.default_rng(n).integers(0, [3, 5, 40, 4, 6], (n, 5))
    return [[str(code) for code in row] for row in codes], [str(total % 3) for total in codes[:, [0, 1, 3]].sum(axis=1)]


def fits() -> Iterator[Operation]:
    """Each estimator, which was fitted to another table before, on one that takes it some tenths of a second."""
    for entry in ESTIMATORS:
        base = FOREST if entry.makes_forest else PARAMETERS.get(entry.name, {})
        for more in [{}, *MORE.get(entry.name, [])]:
            missing = 0.0 if "Optimal" in entry.name or "lookahead" in more else 0.05
            n = ROWS.get(entry.name, 600 if "Optimal" in entry.name else 4000 if entry.is_additive or more else 12_000)
            n = 30_000 if "max_features" in more else n  # of which threads grow parts
            X, y = words(n) if entry.name == "ID3Classifier" else table(n, missing=missing, numbers=entry.task == "regression")
            model = entry.load()(**{**base, **more}).fit(X[:150], y[:150])
            called = ", ".join(f"{name}={value}" for name, value in more.items())

            yield Operation(f"fit {entry.name}({called})", lambda m=model, X=X, y=y: m.fit(X, y), model, X[:150])


def on_disk(folder: Path) -> Iterator[Operation]:
    """A fit of a table on disk, whose files for the meantime go."""
    import pyarrow as pa

    X, y = table(40_000, missing=0.05)
    model = fasttree.CARTClassifier(max_depth=8).fit(X[:150], y[:150])

    def batches() -> Iterator[Any]:
        for start in range(0, len(X), 10_000):
            part = slice(start, start + 10_000)
            yield pa.table({f"x{j}": column for j, column in enumerate(X[part].T)} | {"y": y[part]})

    def fit() -> Any:
        with fasttree.Dataset.from_batches(batches, "y", scratch=folder, memory="64MiB") as data:
            return model.fit(data)

    yield Operation(
        "fit of a Dataset", fit, model, pa.table({f"x{j}": column for j, column in enumerate(X[:150].T)}), folder / "no file"
    )


def uses(folder: Path) -> Iterator[Operation]:
    """What is done with models: pruning, predictions, files and exports."""
    X, y = table(30_000, missing=0.05)
    cart = fasttree.CARTClassifier().fit(X, y)
    c45 = fasttree.C45Classifier(pruning=None).fit(X[:6000], y[:6000])
    forest = fasttree.RandomForestClassifier(n_estimators=20, max_depth=12, random_state=0).fit(X, y)
    many, few = np.tile(X, (10, 1)), X[:150]
    for name, model, samples in (("tree", cart, many), ("shares", c45, many[:60_000]), ("forest", forest, X)):
        yield Operation(f"predict, {name}", lambda m=model, x=samples: m.predict_proba(x).tobytes(), model, few)
        yield Operation(f"apply, {name}", lambda m=model, x=samples: m.apply(x).tobytes(), model, few)
        yield Operation(f"SHAP values, {name}", lambda m=model: m.shap_values(X[:60]).values.tobytes(), model, few)
        path = folder / f"{name}.json"
        yield Operation(f"save, {name}", lambda m=model, p=path: m.save(p), model, few, path)
        model.save(folder / f"whole {name}.json")
        path = folder / f"whole {name}.json"
        yield Operation(f"load, {name}", lambda p=path: fasttree.load(p).to_json(), model, few, path)
        yield Operation(f"predictor, {name}", lambda m=model: m.to_predictor().predict(X).tobytes(), model, few)
        path = folder / f"{name}.predictor"
        yield Operation(f"save predictor, {name}", lambda m=model, p=path: m.to_predictor().save(p), model, few, path)
        for export in ("c", "sql", "python", "pmml"):
            given: dict[str, Any] = {"max_nodes": 10**6} if (name, export) == ("forest", "sql") else {}
            if name == "shares" and export in ("sql", "pmml"):  # which have no samples in parts
                given["missing"] = "majority"
            yield Operation(
                f"export {export}, {name}", functools.partial(getattr(model, f"export_{export}"), **given), model, few
            )
    for name, given in {
        "error_based": (),
        "pessimistic": (),
        "reduced_error": (X, y),
        "minimum_error": (),
        "critical_value": (X, y),
    }.items():
        yield Operation(f"prune, {name}", lambda n=name, g=given: cart.prune(n, *g).to_json(), cart, few)
    costs = fasttree.pruning.CostComplexity(alpha=0.0005)
    yield Operation("prune, cost_complexity", lambda: cart.prune(costs).to_json(), cart, few)
    yield Operation("rules", lambda: str(c45.to_rules()), c45, few)
    yield Operation("page", lambda: c45.export_html(X=X[:300], y=y[:300]), c45, few)


def result_of(value: Any) -> str:
    """A digest of a text, of bytes or of a model's document."""
    text = value.to_json() if hasattr(value, "to_json") else value
    return hashlib.sha256(text if isinstance(text, bytes) else str(text).encode()).hexdigest()


class Alarm:
    """One signal, and what became of it."""

    def __init__(self) -> None:
        self.sent = 0.0
        self.lost: list[str] = []
        signal.signal(signal.SIGALRM, self.come)
        sys.unraisablehook = lambda lost: self.lost.append(f"{lost.exc_type.__name__} lost in {lost.object!r}")

    def come(self, *_: object) -> None:
        """Note the moment, and raise."""
        self.sent = time.perf_counter()
        raise KeyboardInterrupt

    def length_of(self, call: Callable[[], Any]) -> float:
        """What `call` takes, in the unit of moments: seconds."""
        started = time.perf_counter()
        call()
        return time.perf_counter() - started

    def moment(self, length: float, share: float) -> float:
        """The moment at a share of a length."""
        return max(1e-5, share * length * 1.1)

    def begin(self, moment: float) -> None:
        """Let the signal come at a moment from now on."""
        signal.setitimer(signal.ITIMER_REAL, moment)

    def end(self) -> None:
        """Let no signal come any more."""
        signal.setitimer(signal.ITIMER_REAL, 0)

    def turn(self, call: Callable[[], Any], after: float) -> tuple[bool, float, list[str]]:
        """Whether the signal came, how long after the signal, and what was wrong."""
        self.sent, self.lost = 0.0, []
        raised: BaseException | None = None
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    self.begin(after)
                    call()
                finally:
                    self.end()
        except BaseException as error:  # whatever it is, it is looked at
            raised = error
        delay = time.perf_counter() - self.sent if self.sent else 0.0
        wrong = list(self.lost)
        if raised is not None and type(raised) is not KeyboardInterrupt:
            wrong.append(f"{type(raised).__name__}: {raised}")
        if self.sent and raised is None and not wrong and not any("ended by an interrupt" in str(one.message) for one in warned):
            wrong.append("the interrupt was lost")
        if delay > SOON:
            wrong.append(f"{delay:.1f} s after the signal")
        return bool(self.sent), delay, wrong


class CallAlarm(Alarm):
    """An interrupt at the start of one call of a function of fasttree in this thread, and what became of it."""

    def __init__(self) -> None:
        super().__init__()
        self.n_calls = self.at = 0

    def trace(self, frame: Any, event: str, _: object) -> None:
        """Count the calls, and interrupt one of them."""
        is_generator = frame.f_code.co_flags & inspect.CO_GENERATOR  # "called" when it is closed, too, where no signal comes
        if event == "call" and not is_generator and frame.f_code.co_filename.startswith(FOLDER):
            self.n_calls += 1
            if self.n_calls == self.at:
                self.come()

    def length_of(self, call: Callable[[], Any]) -> float:
        """The number of calls."""
        self.begin(0)
        call()
        self.end()
        return self.n_calls

    def moment(self, length: float, share: float) -> float:
        """The number of one of the calls."""
        return 1 + int(share * length)

    def begin(self, moment: float) -> None:
        """Let the call of this number be interrupted, or none."""
        self.n_calls, self.at = 0, int(moment)
        sys.settrace(self.trace)

    def end(self) -> None:
        """Let no call be interrupted any more."""
        sys.settrace(None)


def state_of(operation: Operation) -> tuple[dict[str, Any], bytes]:
    """A model's attributes and its predictions."""
    if operation.model is None:
        return {}, b""
    return dict(vars(operation.model)), np.asarray(operation.model.predict(operation.sample)).tobytes()


def n_threads() -> int:
    """Threads of the process, of Python or not."""
    return len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else threading.active_count()


def left_behind(operation: Operation, before: tuple[dict[str, Any], bytes], whole: set[Any], files: set[str]) -> list[str]:
    """Whatever an interrupted operation changed, but for what it gives or writes if nothing interrupts it."""
    wrong = []
    now = dict(vars(operation.model)) if operation.model is not None else {}
    other = [key for key in now.keys() | before[0].keys() if now.get(key) is not before[0].get(key)]
    fitted = operation.name.startswith("fit") and (now.get("status_") == "interrupted" or result_of(operation.model) in whole)
    if other and not fitted:
        wrong.append(f"the model has other attributes: {sorted(other)}")
    if not other and state_of(operation)[1] != before[1]:
        wrong.append("the model predicts differently")
    if operation.path is not None:
        extra = {each.name for each in operation.path.parent.iterdir()} - files - {operation.path.name}
        if extra:
            wrong.append(f"files are left: {sorted(extra)}")
        if operation.path.exists() and operation.path.read_bytes() not in whole:
            wrong.append("half a file")
    return wrong


def interrupt(operation: Operation, turns: int, draw: random.Random, alarm: Alarm) -> tuple[int, float, list[str]]:
    """Number of turns that were interrupted, the longest delay, and what was wrong."""
    before = state_of(operation)
    files = {each.name for each in operation.path.parent.iterdir()} if operation.path is not None else set()
    whole: set[Any] = set()

    def again() -> str:
        value = result_of(operation.call())
        if operation.path is not None and operation.path.exists():
            whole.add(operation.path.read_bytes())
        restore()
        return value

    def restore() -> None:
        if operation.model is not None:
            vars(operation.model).clear()
            vars(operation.model).update(before[0])

    expected = again()  # libraries are imported
    whole.add(expected)
    length = alarm.length_of(operation.call)
    restore()
    threads, interrupted, longest, wrong = n_threads(), 0, 0.0, []
    for turn in range(turns):
        if operation.path is not None and operation.path.exists() and turn % 2 and operation.name.startswith("save"):
            operation.path.unlink()  # a file that was not there before
        after = alarm.moment(length, draw.random())
        came, delay, problems = alarm.turn(operation.call, after)
        interrupted += came
        longest = max(longest, delay)
        if came:
            problems += left_behind(operation, before, whole, files)
        restore()
        wrong += [f"turn {turn}, at {after:.5g} of {length:.5g}: {problem}" for problem in problems]
    if again() != expected:
        wrong.append("afterwards: another result")
    gc.collect()
    for _ in range(50):  # a thread that ends is counted until the system has put it away
        if n_threads() <= threads:
            break
        time.sleep(0.02)
    else:
        wrong.append(f"{n_threads() - threads} threads are left")
    return interrupted, longest, wrong


def main() -> int:
    """Interrupt all operations; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--calls", action="store_true")
    given = parser.parse_args()
    draw, alarm = random.Random(given.seed), CallAlarm() if given.calls else Alarm()
    warnings.simplefilter("ignore")
    total, interrupted, failures, longest = 0, 0, 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        operations = [
            operation
            for some in (fits(), on_disk(Path(folder)), uses(Path(folder)))
            for operation in some
            if given.only in operation.name
        ]
        for k, operation in enumerate(operations):
            turns = given.turns * (k + 1) // len(operations) - given.turns * k // len(operations)
            came, delay, wrong = interrupt(operation, turns, draw, alarm)
            total, interrupted, failures, longest = total + turns, interrupted + came, failures + len(wrong), max(longest, delay)
            print(f"{operation.name}: {came} of {turns} interrupted, at most {delay:.2f} s", *wrong[:5], sep="\n    ", flush=True)
    print(
        f"{total} signals in {len(operations)} operations: {interrupted} came in time, {longest:.2f} s at most; {failures} wrong"
    )
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
