"""Growth with the size of the table: time by rows x columns x log2 rows, and peak memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree import CARTClassifier

from . import tables
from .cases import OURS, Answers, Case, Contest, Figures, Skipped
from .memory import can_measure_memory, forget_peak, resident_bytes

SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000, 3_162_278, 10_000_000)
WITHIN = 2.0  # maximum ratio of the times per row, column and log2 of rows, between smallest and largest table
LOOKED_AT = 100_000


def of_size(n: int) -> Callable[[int], Contest]:
    def make(most_rows: int) -> Contest:
        if n > max(most_rows, SIZES[0]):
            raise Skipped("more rows than this run is to have")
        X, y, _ = tables.signal(min(n, most_rows))

        if can_measure_memory():
            forget_peak()

        def check(answers: Answers) -> Figures:
            peak = {"peak_gib": resident_bytes(peak=True) / 2**30} if can_measure_memory() else {}
            tree = answers[OURS].tree_
            tree.check()
            leaves = tree.first_child < 0
            assert (tree.impurity[leaves] == 0).all(), "a leaf of a whole tree is impure, and all rows differ"
            assert tree.n_samples[leaves].sum() == len(X)
            looked_at = slice(LOOKED_AT)
            assert np.array_equal(answers[OURS].predict(X[looked_at]), y[looked_at]), "a row learnt is predicted wrongly"
            return {"nodes": tree.node_count} | peak

        return Contest(calls={OURS: lambda: CARTClassifier().fit(X, y)}, check=check, table=X.shape)

    return make


CASES = [Case(f"rows-{n}", f"signal, {n:,} rows", of_size(n)) for n in SIZES]


@dataclass(frozen=True)
class MemoryCase:
    """Peak memory of training beyond table and model; `estimator` is "module:class", for a separate process."""

    id: str
    what: str
    make: Callable[[int], tuple[NDArray[Any], NDArray[Any]]]
    at_most: float  # megabytes
    estimator: str = "fasttree:CARTClassifier"


def classes(most_rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    X, y, _ = tables.signal(min(1_000_000, most_rows))
    return X, y


def values(most_rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    X, _, of_rows = tables.signal(min(1_000_000, most_rows))
    return X, of_rows


MEMORY_CASES = [
    MemoryCase("classes", "signal, classes, float32", classes, 100),
    MemoryCase("regression", "signal, regression, float32", values, 150, "fasttree:CARTRegressor"),
    MemoryCase("forest", "signal, a forest of two trees, float32", classes, 193, "bench.forests:two_trees"),
]
