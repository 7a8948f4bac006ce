"""Optimal trees beside the solvers that are installed, on one thread: `pycontree` and `pytrees-rs`; and two threads beside one.

All search every threshold of columns of numbers, so that the number of training errors must be the same.  The tables are coded as
their proven optima are: four fifths of the rows, and nominal values by their place in the declaration.
"""

import importlib.util
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fasttree import OptimalTreeClassifier

from .cases import ONE, OURS, Answers, Case, Contest, Figures
from .clock import speed_up_of_hashing
from .datasets import read_shared, shared_folder

LIMIT = 120  # seconds

Predict = Callable[[NDArray[Any]], NDArray[Any]]
Fit = Callable[[NDArray[Any], NDArray[Any], int], Predict]


def fit_ours(X: NDArray[Any], y: NDArray[Any], depth: int) -> Predict:
    return OptimalTreeClassifier(max_depth=depth, n_jobs=1).fit(X, y).predict


def fit_pycontree(X: NDArray[Any], y: NDArray[Any], depth: int) -> Predict:
    from pycontree import ConTree

    model = ConTree(max_depth=depth, time_limit=LIMIT)
    model.fit(X, y)
    predict: Predict = model.predict
    return predict


def fit_pytrees(X: NDArray[Any], y: NDArray[Any], depth: int) -> Predict:
    from pytrees import ConTreeClassifier

    model = ConTreeClassifier(max_depth=depth, max_time=LIMIT, sort_by_heuristic=True)
    model.fit(X, y)
    predict: Predict = model.predict
    return predict


PEERS: dict[str, tuple[str, Fit]] = {"pycontree": ("pycontree", fit_pycontree), "pytrees-rs": ("pytrees", fit_pytrees)}


def coded(name: str) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the columns as numbers, missing values below all others, and the classes as codes."""
    described = json.loads((shared_folder() / "data" / "datasets.json").read_text())
    declared = {
        each["name"]: each.get("values") for table in described if table["file"] == f"{name}.csv.gz" for each in table["columns"]
    }
    frame, target = read_shared(name)
    columns = []
    for column in frame:
        if declared[column]:
            places = {str(value): place for place, value in enumerate(declared[column])}
            columns.append(frame[column].astype(str).map(places).fillna(-1))
        else:
            values = pd.to_numeric(frame[column])
            columns.append(values.fillna(values.min() - 1))
    rows = np.arange(len(frame)) % 5 != 4
    return np.column_stack(columns).astype(np.float64)[rows], np.unique(target.astype(str), return_inverse=True)[1][rows]


def case(name: str, depth: int, optimum: int, n_rows: int | None = None) -> Case:
    def make(most_rows: int) -> Contest:
        X, y = (part[:n_rows] for part in coded(name))
        whole = len(X) <= most_rows
        X, y = X[:most_rows], y[:most_rows]
        there = {who: fit for who, (module, fit) in PEERS.items() if importlib.util.find_spec(module) is not None}

        def check(answers: Answers) -> Figures:
            errors = {who: int((predict(X) != y).sum()) for who, predict in answers.items()}
            assert len(set(errors.values())) == 1, f"training errors: {errors}"
            assert not whole or errors[OURS] == optimum, f"training errors: {errors[OURS]}, proven {optimum}"
            return {"errors": errors[OURS]}

        calls = {who: lambda fit=fit: fit(X, y, depth) for who, fit in {OURS: fit_ours, **there}.items()}
        return Contest(calls=calls, check=check, table=X.shape, absent=tuple(set(PEERS) - set(there)))

    return Case(f"{name}-{depth}", f"{name}, depth {depth}", make, at_least=1.0, aim=3.0)


def threads_case(name: str, depth: int) -> Case:
    """Return a case of wall time."""

    def make(most_rows: int) -> Contest:
        X, y = (part[:most_rows] for part in coded(name))

        def fit(n_jobs: int) -> OptimalTreeClassifier:
            return OptimalTreeClassifier(max_depth=depth, n_jobs=n_jobs).fit(X, y)

        def check(answers: Answers) -> Figures:
            assert answers[OURS].tree_ == answers[ONE].tree_
            return {"errors": answers[OURS].objective_, "speed-up of hashing": speed_up_of_hashing()}

        return Contest(calls={OURS: lambda: fit(2), ONE: lambda: fit(1)}, check=check, table=X.shape, wall=True)

    return Case(f"{name}-{depth}-threads", f"{name}, depth {depth}, two threads", make, at_least=1.7, aim=1.8)


CASES = [
    case("breast-cancer-wisconsin", 2, 19),
    case("breast-cancer-wisconsin", 3, 12),
    case("diabetes", 3, 114),
    case("german", 3, 177),
    case("ionosphere", 3, 10),
    case("segment", 3, 223),
    threads_case("segment", 3),
    threads_case("adult", 3),
]
