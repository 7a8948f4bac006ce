"""Fail every request for memory of the compiled modules, one after the other, in each operation.

    LD_PRELOAD=failing_memory.so python out_of_memory.py [most requests of an operation]

runs each operation with the n-th request failing, for n = 1, 2, 3, ... (or as many as are named, spread over all), and prints a
line for each.  It must raise MemoryError, or give what it gives with memory; nothing stays allocated; and it works afterwards.
`failing_memory.c` counts what the modules ask for.
"""

import ctypes
import functools
import gc
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fasttree
from fasttree._learn.prune.error_based import LEAST_SHARED
from fasttree.estimators.common.registry import ESTIMATORS

if __name__ == "__main__":
    AT, CALLS, HELD = (ctypes.c_long.in_dll(ctypes.CDLL(None), f"failing_memory_{name}") for name in ("at", "calls", "held"))
FEW_TREES = {"n_estimators": 3, "random_state": 0}
PARAMETERS = {
    "OptimalTreeClassifier": {"max_depth": 3},
    "OptimalTreeRegressor": {"max_depth": 2},
    "GAMClassifier": {"n_bags": 2, "max_iter": 100, "random_state": 0},
    "GAMRegressor": {"n_bags": 2, "max_iter": 100, "random_state": 0},
}


def table(n: int, *, missing: float = 0.0, numbers: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Five columns, three of them with few values, and a target that depends on them."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 5))
    X[:, 2:] = np.floor(2 * X[:, 2:])
    target = X[:, 0] + np.abs(X[:, 2]) + rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, target if numbers else np.digitize(target, [0.0, 1.5])


def words(n: int, *, missing: float = 0.0) -> tuple[list[list[str | None]], list[str]]:
    """Columns of categories alone, one of them with many."""
    rng = np.random.default_rng(n)
    codes = np.stack([rng.integers(0, most, n) for most in (3, 5, 40)], axis=1)
    lost = rng.random(codes.shape) < missing
    rows = [[None if gone else str(code) for code, gone in zip(*both, strict=True)] for both in zip(codes, lost, strict=True)]
    return rows, [str(total % 3) for total in codes[:, :2].sum(axis=1)]


def fits() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every estimator on a table that it takes, and the paths of large tables."""

    def of(model: Any, X: Any, y: Any) -> Callable[[], Any]:
        return functools.partial(model.fit, X, y)

    for entry in ESTIMATORS:
        kind = entry.load()
        model = kind(**(FEW_TREES if entry.makes_forest else PARAMETERS.get(entry.name, {})))
        X, y = table(120, numbers=entry.name.endswith("Regressor"), missing=0.0 if "Optimal" in entry.name else 0.05)
        if entry.name == "ID3Classifier":
            X, y = words(120)
        yield f"fit {entry.name}", of(model, X, y)
    for name, parameters in {
        "surrogates": {"missing": "surrogate"},
        "best first": {"max_leaf_nodes": 9},
        "bins": {"max_bins": 20},
        "lookahead": {"lookahead": 2, "max_depth": 4},
        "costs by folds": {"ccp_alpha": "cv", "random_state": 0},
        "threads": {"n_jobs": 2},
    }.items():
        missing = 0.0 if name == "lookahead" else 0.1
        yield f"fit CARTClassifier, {name}", of(fasttree.CARTClassifier(**parameters), *table(200, missing=missing))
    yield "fit CARTClassifier, categories", of(fasttree.CARTClassifier(), *words(300))
    yield "fit CARTClassifier, surrogates by words", of(fasttree.CARTClassifier(missing="surrogate"), *words(900, missing=0.2))
    yield "fit C45Classifier, many parts of samples", of(fasttree.C45Classifier(), *table(900, missing=0.3))
    shared = fasttree.C45Classifier(n_jobs=2, confidence=0.9)
    yield "fit C45Classifier, pruning in threads", of(shared, *table(LEAST_SHARED, missing=0.02))
    yield "fit CHAIDRegressor, numbers", of(fasttree.CHAIDRegressor(), *table(900, numbers=True))
    yield "fit CARTRegressor, absolute errors", of(fasttree.CARTRegressor(criterion="absolute_error"), *table(200, numbers=True))
    yield "fit C50Classifier, boosted rules", of(fasttree.C50Classifier(trials=3, rules=True), *table(150))
    yield "fit CARTClassifier, wide run", of(fasttree.CARTClassifier(max_depth=5), *table(40_000))
    yield "fit CARTRegressor, wide run", of(fasttree.CARTRegressor(max_depth=5), *table(40_000, numbers=True))
    yield "fit CARTClassifier, wide run of threads", of(fasttree.CARTClassifier(max_depth=5, n_jobs=2), *table(40_000))
    for recipe in ("fractional", "surrogate"):
        shared = fasttree.TreeClassifier(recipe={"missing": recipe}, max_depth=4, n_jobs=2)
        yield f"fit TreeClassifier, lists of threads, {recipe}", of(shared, *table(20_000, missing=0.1))
    yield "fit RandomForestClassifier, many nodes", of(fasttree.RandomForestClassifier(**FEW_TREES), *table(3000))
    yield (
        "fit RandomForestClassifier, wide run",
        of(fasttree.RandomForestClassifier(n_estimators=2, max_depth=6, random_state=0), *table(40_000)),
    )


def uses(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is done with fitted models."""
    X, y = table(300, missing=0.1)
    cart, c45 = fasttree.CARTClassifier().fit(X, y), fasttree.C45Classifier(pruning=None).fit(X, y)
    forest = fasttree.RandomForestClassifier(**FEW_TREES).fit(X, y)
    path = folder / "model.json"
    cart.save(path)
    for name, model in {"tree": cart, "shares": c45, "forest": forest}.items():
        yield f"predict, {name}", lambda model=model: model.predict_proba(X).tobytes()
        yield f"apply, {name}", lambda model=model: model.apply(X).tobytes()
        yield f"SHAP values, {name}", lambda model=model: model.shap_values(X[:5]).values.tobytes()
        predictor = model.to_predictor()
        yield f"predictor, {name}", lambda model=model: model.to_predictor().predict(X[:9]).tobytes()
        yield f"server, {name}", lambda predictor=predictor: predictor.predict_proba(X).tobytes()
        yield f"to JSON, {name}", lambda model=model: model.to_json()
    yield "prune by errors", lambda: c45.prune("error_based").to_json()
    yield "prune by costs", lambda: cart.prune(fasttree.pruning.CostComplexity(alpha=0.01)).to_json()
    yield "prune by held out", lambda: cart.prune("reduced_error", X, y).to_json()
    yield "rules", lambda: str(cart.to_rules())
    yield "save", lambda: cart.save(path)
    yield "load", lambda: fasttree.load(path).to_json()
    yield "C", lambda: cart.export_c()
    yield "SQL", lambda: cart.export_sql()
    yield "Python", lambda: cart.export_python()
    yield "pickle", lambda: pickle.dumps(cart)


def result_of(value: Any) -> Any:
    """What can be compared: a model as its document."""
    return value.to_json() if hasattr(value, "to_json") else value


def requests_of(operation: Callable[[], Any]) -> tuple[int, Any]:
    """How many requests an operation makes, and what it gives; caches are filled by a first turn."""
    operation()
    CALLS.value = 0
    value = operation()
    calls = CALLS.value
    return calls, result_of(value)


def fail_each(operation: Callable[[], Any], most: int) -> tuple[int, int, int, list[str]]:
    """Numbers of requests, of those that failed here and of MemoryErrors, and what was wrong."""
    calls, expected = requests_of(operation)
    tried = np.unique(np.linspace(1, max(calls, 1), min(most, calls + 1), dtype=int)).tolist()
    raised, wrong = 0, []
    gc.collect()
    before = HELD.value
    for n in tried if calls else []:
        CALLS.value, AT.value = 0, n
        try:
            found = operation()
        except MemoryError:
            raised += 1
        except BaseException as error:  # whatever it is, it is the wrong one
            wrong.append(f"request {n} of {calls}: {type(error).__name__}: {error}")
        else:
            AT.value = 0
            if result_of(found) != expected:
                wrong.append(f"request {n} of {calls}: another result")
        AT.value = 0
        found = None
    if result_of(operation()) != expected:
        wrong.append("afterwards: another result")
    gc.collect()
    if HELD.value != before:
        wrong.append(f"{HELD.value - before} pieces stay behind")
    return calls, len(tried), raised, wrong


def main(most: int) -> int:
    """Run all operations; 1 if any was wrong."""
    total, failures = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for operations in (fits(), uses(Path(folder))):
            for name, operation in operations:
                calls, tried, raised, wrong = fail_each(operation, most)
                total += tried if calls else 0
                failures += len(wrong)
                line = f"{name}: {calls} requests, {tried if calls else 0} failed, {raised} MemoryErrors"
                print(line, *wrong[:3], sep="\n    ", flush=True)
    print(f"{total} requests failed, {failures} wrong")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10**9))
