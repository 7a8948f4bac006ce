"""``python -m bench dask --peers``: one tree of depth 8 by the Dask modules of boosting libraries, on two workers.

Each library grows it from the same rows in 2 and in 7 partitions, which the workers hold.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import dask.dataframe as dd
import numpy as np
import pandas as pd

from fasttree import CARTClassifier

from . import tables

DEPTH = 8
PARTITIONS = (2, 7)
HELD_OUT = 5  # a row of so many
COLUMNS = [f"x{j}" for j in range(28)]


class Grown(NamedTuple):
    """A tree as text, and its predictions of rows in memory."""

    tree: str
    predict: Callable[[pd.DataFrame], Any]


def fasttree(X: Any, y: Any) -> Grown:
    model = CARTClassifier(max_depth=DEPTH).fit(X, y)
    return Grown(model.to_json(), model.predict)


def xgboost(X: Any, y: Any) -> Grown:
    from xgboost.dask import DaskXGBClassifier

    model = DaskXGBClassifier(n_estimators=1, max_depth=DEPTH, learning_rate=1.0, tree_method="hist", min_child_weight=0).fit(
        X, y
    )
    booster = model.get_booster()
    tree = booster.trees_to_dataframe()[["Node", "Feature", "Split"]]

    def predict(rows: pd.DataFrame) -> Any:
        return booster.inplace_predict(rows) > 0.5

    return Grown(tree.to_csv(), predict)


def lightgbm(X: Any, y: Any) -> Grown:
    from lightgbm import DaskLGBMClassifier

    limits = {"max_depth": DEPTH, "num_leaves": 2**DEPTH, "min_child_samples": 1, "min_child_weight": 0.0}
    model = DaskLGBMClassifier(n_estimators=1, learning_rate=1.0, verbose=-1, **limits).fit(X, y).to_local()
    tree = model.booster_.trees_to_dataframe()[["node_index", "split_feature", "threshold"]]
    return Grown(tree.to_csv(), model.predict)


LIBRARIES = {"fasttree": fasttree, "xgboost": xgboost, "lightgbm": lightgbm}


def run(n_rows: int, client: Any, repeat: int = 2) -> None:
    """Print processor time, accuracy, and whether the tree is the same in 2 and in 7 partitions."""
    from importlib.metadata import version

    from distributed import wait

    X, y, _ = tables.signal(n_rows)
    frame = pd.DataFrame(X, columns=COLUMNS).assign(y=y.astype(np.int8))
    held_out = np.arange(n_rows) % HELD_OUT == 0
    tested, learnt = frame[held_out], frame[~held_out].reset_index(drop=True)
    print(f"{len(learnt):,} rows, {len(tested):,} held out, 2 workers of one thread, depth {DEPTH}\n")
    print("| | processor s | accuracy | nodes as in 2 and in 7 partitions |\n|---|--:|--:|---|")
    found: dict[str, list[tuple[float, Grown]]] = {name: [] for name in LIBRARIES}
    for n_partitions in PARTITIONS * repeat:
        rows = dd.from_pandas(learnt, npartitions=n_partitions).persist()
        wait(rows)
        for name, grow in LIBRARIES.items():
            before = sum(client.run(time.process_time).values()) + time.process_time()
            grown = grow(rows[COLUMNS], rows["y"])
            found[name].append((sum(client.run(time.process_time).values()) + time.process_time() - before, grown))
        del rows
    for name, runs in found.items():
        same = "same" if len({grown.tree for _, grown in runs}) == 1 else "different"
        accuracies = sorted({f"{np.mean(grown.predict(tested[COLUMNS]) == tested['y']):.4f}" for _, grown in runs})
        print(f"| {name} {version(name)} | {min(seconds for seconds, _ in runs):.1f} | {', '.join(accuracies)} | {same} |")
