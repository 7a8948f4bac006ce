"""Threads that work at the same time: they fit models, share a model or a predictor, and use names for the first time.

The tests are for CPython without the global lock, and find less with it.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pytest

import fasttree
from fasttree.estimators.common.registry import ESTIMATORS
from fasttree.pruning import CostComplexity

T = TypeVar("T")

N_THREADS = 3
HAS_NO_LOCK = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # or can do without


@pytest.fixture(autouse=True)
def _short_turns() -> Iterator[None]:
    """Let threads with a lock change often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], T]) -> list[T]:
    """Return ``[work(0), ..., work(N_THREADS - 1)]`` from threads that begin together."""
    start = threading.Barrier(N_THREADS)

    def begin(number: int) -> T:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(N_THREADS) as threads:
        return list(threads.map(begin, range(N_THREADS)))


def in_turn(items: list[T], number: int) -> list[T]:
    """Return all items, from another one on for each thread."""
    first = number * len(items) // N_THREADS
    return items[first:] + items[:first]


def table(n_rows: int = 120) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Numbers, ties and categories, some missing, with a class and a number that depend on them."""
    rng = np.random.default_rng(11)
    X = pd.DataFrame(
        {
            "length": rng.normal(size=n_rows),
            "steps": rng.integers(0, 6, n_rows).astype(float),
            "colour": rng.choice(["red", "green", "blue"], n_rows),
            "place": rng.choice(list("abcdefg"), n_rows),
        }
    ).astype({"colour": object, "place": object})
    z = X["length"] + X["steps"] * (X["colour"] == "red") + X["place"].isin(["a", "d"]) + rng.normal(0, 0.3, n_rows)
    return X.mask(rng.random(X.shape) < 0.05), np.digitize(z, [0.3, 2.0]), z.to_numpy(float)


X, CLASSES, NUMBERS = table()
KNOWN = table()[0].fillna({"length": 0.0, "steps": 0.0, "colour": "red", "place": "a"})


def choices() -> Iterator[tuple[str, dict[str, Any]]]:
    """Name every estimator with choices that make it quick, and some with choices that take other ways."""
    for entry in ESTIMATORS:
        base: dict[str, Any] = {"n_estimators": 5, "random_state": 0, "n_jobs": 2} if entry.makes_forest else {}
        if entry.is_additive:
            base = {"n_bags": 2, "max_iter": 100, "random_state": 0, "n_jobs": 2}
        if "Optimal" in entry.name:
            base = {"max_depth": 2, "n_jobs": 2}
        yield entry.name, base
    yield "CARTClassifier", {"missing": "surrogate"}
    yield "CARTClassifier", {"missing": "fractional", "n_jobs": 2}
    yield "CARTClassifier", {"pruning": CostComplexity(alpha="cv", cv=3), "random_state": 0}
    yield "CARTClassifier", {"max_bins": 8, "max_leaf_nodes": 9}
    yield "CARTClassifier", {"lookahead": 2, "max_depth": 3}
    yield "CARTRegressor", {"criterion": "absolute_error"}
    yield "C45Classifier", {"subset": True, "soft_thresholds": True}
    yield "C50Classifier", {"trials": 3}
    yield "C50Classifier", {"rules": True, "trials": 2}
    yield "RandomForestClassifier", {"recipe": "c45", "n_estimators": 3, "random_state": 0, "n_jobs": 2}


CHOICES = list(choices())


def rows_of(name: str) -> pd.DataFrame:
    """Return the rows that an estimator takes: those for optimal trees have no missing values, and those for ID3 no numbers."""
    if name == "ID3Classifier":
        return KNOWN[["colour", "place"]]
    return KNOWN if "Optimal" in name else X


def fitted(choice: tuple[str, dict[str, Any]]) -> Any:
    name, parameters = choice
    return getattr(fasttree, name)(**parameters).fit(rows_of(name), NUMBERS if name.endswith("Regressor") else CLASSES)


def words(choice: tuple[str, dict[str, Any]]) -> str:
    return "-".join([choice[0], *choice[1]])


@pytest.fixture(scope="module")
def documents() -> list[str]:
    """Return the files of all models, each fitted alone."""
    return [fitted(choice).to_json() for choice in CHOICES]


def test_fits_of_different_models_at_once_give_the_models_of_fits_alone(documents):
    def work(number: int) -> dict[int, str]:
        return {i: fitted(CHOICES[i]).to_json() for i in in_turn([*range(len(CHOICES))], number)}

    for found in at_once(work):
        assert [found[i] for i in range(len(CHOICES))] == documents


def test_fits_of_the_same_model_at_once_give_the_model_of_a_fit_alone(documents):
    for found in at_once(lambda _: [fitted(choice).to_json() for choice in CHOICES]):
        assert found == documents


def plain(value: Any) -> Any:
    """Return a value in a form that can be compared bit by bit."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if hasattr(value, "values") and hasattr(value, "base_values"):
        return plain([value.values, value.base_values])
    if hasattr(value, "toarray"):
        return plain(value.toarray())
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tolist() if value.dtype.hasobject else value.tobytes())
    return value if isinstance(value, bytes) else str(value)


USES: dict[str, Callable[[Any, pd.DataFrame], Any]] = {
    "predict": lambda model, rows: model.predict(rows),
    "predict_proba": lambda model, rows: model.predict_proba(rows),
    "apply": lambda model, rows: model.apply(rows),
    "decision_path": lambda model, rows: model.decision_path(rows),
    "explain": lambda model, rows: [model.explain(rows.iloc[[i]]) for i in range(3)],
    "shap_values": lambda model, rows: model.shap_values(rows[:6], rows[6:10]),
    "feature_importances_": lambda model, _: model.feature_importances_,
    "summary": lambda model, _: model.summary(),
    "to_rules": lambda model, _: model.to_rules(),
    "prune": lambda model, _: model.prune("pessimistic").to_json(),
    "collapse": lambda model, _: model.collapse(0).to_json(),
    "diff": lambda model, _: model.diff(model.collapse(0)),
    "to_predictor": lambda model, _: model.to_predictor().to_bytes(),
    "to_json": lambda model, _: model.to_json(),
    "export_text": lambda model, _: model.export_text(),
    "export_svg": lambda model, _: model.export_svg(),
    "export_dot": lambda model, _: model.export_dot(),
    "export_mermaid": lambda model, _: model.export_mermaid(),
    "export_html": lambda model, _: model.export_html(),
    "export_python": lambda model, _: model.export_python(),
    "export_c": lambda model, _: model.export_c(),
    "export_sql": lambda model, _: model.export_sql(),
}


def used(model: Any, rows: pd.DataFrame, uses: list[str]) -> dict[str, Any]:
    """Use a model in several ways; what it refuses is the text of the error."""
    found = {}
    for name in uses:
        try:
            found[name] = plain(USES[name](model, rows))
        except (ValueError, TypeError, AttributeError) as error:
            found[name] = f"refused: {error}"
    return found


@pytest.mark.parametrize("which", range(len(CHOICES)), ids=map(words, CHOICES))
def test_threads_that_share_a_model_find_what_one_alone_finds(which, documents):
    rows = rows_of(CHOICES[which][0])
    alone, shared = (fasttree.from_json(documents[which]) for _ in range(2))  # neither has kept anything so far
    uses = [name for name in USES if hasattr(alone, name)]
    expected = used(alone, rows, uses)
    assert not [name for name in ("predict", "explain") if str(expected[name]).startswith("refused")]
    for number, found in enumerate(at_once(lambda number: used(shared, rows, in_turn(uses, number)))):
        assert [name for name in uses if found[name] != expected[name]] == [], number
    assert shared.to_json() == documents[which]


@pytest.mark.parametrize("name", ["CARTClassifier", "CARTRegressor", "C45Classifier", "RandomForestClassifier"])
def test_threads_share_a_predictor(name):
    model = fitted((name, {"n_estimators": 5, "random_state": 0} if "Forest" in name else {}))
    rows = X.to_dict("records")
    alone, shared = (fasttree.Predictor(model.to_predictor().to_bytes()) for _ in range(2))

    def work(predictor: fasttree.Predictor, number: int) -> list[Any]:
        ones = {i: predictor.predict_one(rows[i]) for i in in_turn([*range(len(rows))], number)}
        shares = predictor.predict_proba(X).tobytes() if "Regressor" not in name else b""
        return [[ones[i] for i in range(len(rows))], predictor.predict(X).tolist(), shares, predictor.to_bytes()]

    expected = work(alone, 0)
    assert expected[0] == expected[1] == model.predict(X).tolist()
    for found in at_once(lambda number: work(shared, number)):
        assert found == expected


FIRST_USE = """
import sys, threading, warnings
warnings.simplefilter("error")
shift, n_threads = int(sys.argv[1]), 4
start, found, failures = threading.Barrier(n_threads), {}, []

def work(number):
    start.wait()
    try:
        import fasttree
        names = fasttree.__all__
        first = (number * shift) % len(names)
        objects = {name: getattr(fasttree, name) for name in names[first:] + names[:first]}
        rows, classes = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", None]] * 9, ["ripe", "raw", "raw", "raw"] * 9
        models = [fasttree.CARTClassifier(ccp_alpha="cv", random_state=0), fasttree.C45Classifier(), fasttree.C50Classifier(),
                  fasttree.CHAIDClassifier(), fasttree.RandomForestClassifier(n_estimators=3, random_state=0)]
        texts = {type(model).__name__: (model.fit(rows, classes).to_json(), model.export_html(), str(model.explain(rows[0])))
                 for model in (models[number:] + models[:number])}
        found[number] = objects, texts
    except BaseException as failure:
        failures.append(failure)

threads = [threading.Thread(target=work, args=(number,)) for number in range(n_threads)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if failures:
    raise failures[0]
for objects, texts in found.values():
    assert texts == found[0][1]
    assert [name for name, each in objects.items() if each is not found[0][0][name]] == []
print("the same")
"""


@pytest.mark.parametrize("shift", [0, 17])
def test_threads_that_import_and_fit_first_at_once_find_the_same(shift):
    """Modules are loaded on first use, and caches are empty."""
    done = subprocess.run([sys.executable, "-c", FIRST_USE, str(shift)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("the same\n", "")


def test_one_thread_at_a_time_loads_names(monkeypatch):
    names, inside, most = ["CARTClassifier", "C45Classifier", "evaluation", "measures"], [], []
    load = fasttree._import_module

    def slow(name: str, package: str) -> object:
        inside.append(name)
        most.append(len(inside))
        time.sleep(0.05)
        inside.remove(name)
        return load(name, package)

    monkeypatch.setattr(fasttree, "_import_module", slow)
    for name in names:
        getattr(fasttree, name)
        monkeypatch.delitem(vars(fasttree), name)
    most.clear()
    with ThreadPoolExecutor(len(names)) as threads:
        found = list(threads.map(lambda name: getattr(fasttree, name), names))
    assert most == [1] * len(names)
    assert [each.__name__.removeprefix("fasttree.") for each in found] == names


EVERY_MODULE = """
import importlib, pkgutil, sys
import fasttree
assert not sys._is_gil_enabled()
for module in pkgutil.walk_packages(fasttree.__path__, "fasttree."):
    if module.name != "fasttree.__main__":
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # a library of an extra
            assert not error.name.startswith("fasttree")
    assert not sys._is_gil_enabled(), module.name
print(sorted(name for name, module in sys.modules.items()
             if name.startswith("fasttree.") and str(module.__spec__.origin).endswith((".so", ".pyd")))[0])
"""


@pytest.mark.skipif(not HAS_NO_LOCK, reason="this CPython cannot do without its lock")
def test_no_module_needs_the_global_lock():
    done = subprocess.run([sys.executable, "-W", "error", "-c", EVERY_MODULE], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("fasttree._core\n", "")
