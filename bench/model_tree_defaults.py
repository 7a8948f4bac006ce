"""The defaults of `M5Regressor` beside other values of one parameter at a time, by repeated cross-validation.

    python -m bench.model_tree_defaults [--repeats 5] [--rows 4000]

Each line is a change; a figure is the mean over folds of the root mean squared error of the changed model, divided by that of the
defaults on the same fold, and in parentheses the number of standard errors from 1.  Standard errors are those of a corrected
repeated cross-validation (Nadeau and Bengio 2003), whose folds share samples.
"""

import argparse
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import RepeatedKFold

from fasttree import M5Regressor

from .datasets import read_shared

TABLES = ("abalone", "auto-mpg", "bike-sharing", "boston", "california-housing", "concrete", "diamonds", "hflights")
FOLDS = 5
CHANGES: list[dict[str, Any]] = [
    {"criterion": "squared_error"},
    {"balanced": False},
    {"least_deviation": 0.0},
    {"least_deviation": 0.1},
    {"path_features": False},
    {"elimination": "m5"},
    {"indicators": True},
    {"pruning_factor": 0.5},
    {"pruning_factor": 2.0},
    {"smoothing": 0.0},
    {"smoothing": 5.0},
    {"smoothing": 30.0},
    {"extrapolation": 0.0},
    {"extrapolation": 0.2},
    {"extrapolation": None},
    {"min_samples_split": 10},
    {"variant": "m5p", "path_features": False, "elimination": "m5", "extrapolation": None, "pruning_factor": 2.0},
]


def name_of(change: dict[str, Any]) -> str:
    """Return a change as it is written in a call, or the name of one of several parameters."""
    if "variant" in change:
        return "all choices of M5P"
    ((name, value),) = change.items()
    return f"{name}={value!r}"


def errors(X: pd.DataFrame, y: np.ndarray, n_repeats: int) -> tuple[np.ndarray, float]:
    """Return the error of the defaults and of each change on each fold, and the share of a fold in the other samples."""
    found = []
    for train, test in RepeatedKFold(n_splits=FOLDS, n_repeats=n_repeats, random_state=0).split(X):
        row = []
        for change in [{}, *CHANGES]:
            model = M5Regressor(**{name: value for name, value in change.items() if name != "variant"})
            predicted = model.fit(X.iloc[train], y[train]).predict(X.iloc[test])
            row.append(float(np.sqrt(np.mean((predicted - y[test]) ** 2))))
        found.append(row)
    return np.array(found), 1 / (FOLDS - 1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=4000, help="rows of a table at most, drawn at random")
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    given = parser.parse_args()
    columns: dict[str, list[str]] = {}
    ratios = []
    for table in given.tables:
        X, y = read_shared(table)
        rows = np.random.default_rng(0).permutation(len(X))[: given.rows]
        error, share = errors(X.iloc[rows].reset_index(drop=True), y.to_numpy(float)[rows], given.repeats)
        ratio = error[:, 1:] / error[:, :1]
        deviation = ratio.std(axis=0, ddof=1) * np.sqrt(1 / len(ratio) + share)
        away = (ratio.mean(axis=0) - 1) / np.maximum(deviation, 1e-12)
        columns[f"{table} ({len(rows):,})"] = [
            f"{mean:.3f} ({turns:+.1f})" for mean, turns in zip(ratio.mean(axis=0), away, strict=True)
        ]
        ratios.append(ratio.mean(axis=0))
        print(table, flush=True)
    columns["geometric mean"] = [f"{mean:.3f}" for mean in np.exp(np.log(ratios).mean(axis=0))]
    print("| change | " + " | ".join(columns) + " |")
    print("|---|" + "--:|" * len(columns))
    for i, change in enumerate(CHANGES):
        print(f"| `{name_of(change)}` | " + " | ".join(column[i] for column in columns.values()) + " |")


if __name__ == "__main__":
    main()
