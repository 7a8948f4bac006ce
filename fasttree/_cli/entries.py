"""Entries of `compare`: algorithms and saved models, their figures on the same folds, and the differences between them."""

from __future__ import annotations

import itertools
import math
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from fasttree._cli.console import bars, listed, one_line
from fasttree._cli.models import (
    ALGORITHMS,
    answers_of,
    holds_committee,
    holds_forest,
    holds_rules,
    holds_shapes,
    load_of_one_target,
    predicts_numbers,
    read_table,
    row_scores,
)
from fasttree._cli.options import add_parameter, check_parameters, parts_of, with_pruning
from fasttree._cli.tables import without

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from fasttree._cli.models import Estimator, Floats
    from fasttree._cli.tables import File
    from fasttree.estimators.forests.base import BaseForest
    from fasttree.evaluation import Interval

    Fold: TypeAlias = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]  # rows to learn from, rows to measure on

__all__ = [
    "FIGURES",
    "SIZES",
    "ComparedModel",
    "Fold",
    "Pair",
    "differences",
    "divide",
    "learn",
    "measure_saved",
    "prepare",
    "read_entry",
    "spread",
]

SIZES = ("leaves", "depth", "rules", "trees", "nodes", "terms")
FIGURES = {"classification": ("accuracy", "balanced_accuracy", "log_loss"), "regression": ("r2", "mae")}


class Pair(NamedTuple):
    """Two entries, and the differences of their figures, first less second."""

    first: str
    second: str
    by_rows: bool  # else over folds
    intervals: dict[str, Interval]


@dataclass
class ComparedModel:
    """An algorithm with parameters, or a saved model, to compare.

    Parameters
    ----------
    name : str
        As the user wrote it.
    algorithm : str or None
        None for a saved model.
    parameters : dict
        Parameters of the algorithm.
    estimator : class or None
        Class of the algorithm, once the task is known.
    model : estimator or None
        The saved model.
    by_fold : dict of str to list of float
        Figures of the folds so far.
    by_row : dict of str to array, shape (n_rows,)
        Scores of a saved model.
    error : str or None
        Why there are no figures.
    """

    name: str
    algorithm: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    estimator: type[Estimator] | None = None
    model: Estimator | None = None
    by_fold: dict[str, list[float]] = field(default_factory=dict)
    by_row: dict[str, Floats] = field(default_factory=dict)
    error: str | None = None


def read_entry(text: str) -> ComparedModel:
    """Read an algorithm with its parameters, or load a model; a file with the name of an algorithm is written as ./cart."""
    algorithm, colon, rest = text.partition(":")
    known = list(dict.fromkeys(name for name, _ in ALGORITHMS))
    if algorithm in known:
        parameters: dict[str, Any] = {}
        for part in parts_of(rest) if colon else ():
            add_parameter(parameters, part, algorithm)
        return ComparedModel(text, algorithm, with_pruning(parameters))
    if not os.path.exists(text):
        raise ValueError(
            f"{text!r} is neither an algorithm ({', '.join(known)}; parameters after a colon, such as cart:max_depth=4) nor the "
            "file of a saved model"
        )
    return ComparedModel(text, model=load_of_one_target(text)[0])


def prepare(entry: ComparedModel, task: str, seed: int, kinds: dict[str, Any]) -> None:
    """Check an algorithm's parameters before anything is learned."""
    entry.estimator = ALGORITHMS[str(entry.algorithm), task].load()
    check_parameters(entry.estimator, entry.parameters)
    entry.parameters = {"random_state": seed} | kinds | entry.parameters
    entry.estimator(**entry.parameters)._check_parameters()


def _sizes(model: Estimator) -> dict[str, float]:
    if holds_rules(model):
        return {"rules": len(model.rules_)}
    if holds_committee(model):
        return {"rules": sum(map(len, cast("Any", model).rules_))}
    if holds_forest(model):
        ensemble = cast("BaseForest", model).ensemble_
        return {"trees": ensemble.n_trees, "nodes": ensemble.node_count}
    if holds_shapes(model):
        return {"terms": len(cast("Any", model).additive_.terms)}
    return {"leaves": model.get_n_leaves(), "depth": model.get_depth()}


def measure_saved(entry: ComparedModel, target: str, file: File) -> None:
    """Find the scores of a saved model on every row, or the error; its columns are read with their types in the training."""
    model = entry.model
    assert model is not None
    try:
        table = read_table(file, model, target)
        truth = table[target].to_list()
        known = [] if predicts_numbers(model) else model.classes_.tolist()
        if known and not set(truth) & set(known):
            raise ValueError(f"column {target!r} holds {listed(sorted(set(truth)))}; {entry.name} knows only {listed(known)}")
        entry.by_row = row_scores(model, truth, answers_of(model, table))
    except (ValueError, TypeError) as error:
        entry.error = one_line(str(error))


def spread(entry: ComparedModel, folds: Sequence[Fold]) -> None:
    """Divide the scores of a saved model into the folds of the algorithms."""
    if entry.model is None or entry.error is not None:
        return
    parts: Sequence[Any] = [test for _, test in folds] or [slice(None)]
    for name, scores in entry.by_row.items():
        entry.by_fold[name] = [float(scores[part].mean()) for part in parts]
    for name, size in _sizes(entry.model).items():
        entry.by_fold[name] = [size] * len(parts)


def divide(target: pl.Series, task: str, cv: int, repeats: int, seed: int) -> list[Fold]:
    """Divide the rows at random into folds, which are stratified for classification."""
    if n_missing := target.null_count():
        raise ValueError(f"column {target.name!r} is missing in {n_missing:,} of {target.len():,} rows: leave these rows out")
    truth = target.to_list()
    index: dict[Any, int] = {}
    codes = np.fromiter((index.setdefault(label, len(index)) for label in truth), dtype=np.intp, count=len(truth))
    largest = int(np.bincount(codes).max()) if task == "classification" else len(codes)
    if cv > largest:
        least = "rows" if task == "regression" else "rows of the largest class"
        raise ValueError(f"--cv {cv}: the table has {largest} {least}, and each fold needs one")
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

    splitter = RepeatedStratifiedKFold if task == "classification" else RepeatedKFold
    with warnings.catch_warnings():
        # a class may have fewer rows than there are folds: some folds are then without it, for all entries
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(splitter(n_splits=cv, n_repeats=repeats, random_state=seed).split(codes, codes))


def learn(learned: Sequence[ComparedModel], table: pl.DataFrame, target: str, folds: Sequence[Fold]) -> None:
    """Learn and measure each algorithm on each fold; one that raises an error keeps its message."""
    features = without(table, [target])
    with bars() as add:
        for entry in learned:
            advance = add(entry.name, len(folds))
            for train, test in folds:
                try:
                    figures = _learn_and_measure(entry, features, table[target], train, test)
                except (ValueError, TypeError) as error:
                    entry.error, entry.by_fold = one_line(str(error)), {}  # figures of some folds would mislead
                    break
                for name, figure in figures.items():
                    entry.by_fold.setdefault(name, []).append(figure)
                advance()


def _learn_and_measure(
    entry: ComparedModel, features: pl.DataFrame, truth: pl.Series, train: npt.NDArray[np.intp], test: npt.NDArray[np.intp]
) -> dict[str, float]:
    assert entry.estimator is not None
    model = entry.estimator(**entry.parameters)
    start = time.perf_counter()
    model.fit(features[train], truth[train])
    seconds = time.perf_counter() - start
    scores = row_scores(model, truth[test].to_list(), answers_of(model, features[test]))
    return {name: float(score.mean()) for name, score in scores.items()} | _sizes(model) | {"fit_seconds": seconds}


def differences(compared: Sequence[ComparedModel], folds: Sequence[Fold], task: str) -> Iterator[Pair]:
    """Yield the differences between each two entries that have figures."""
    from fasttree.evaluation import paired_interval, resampled_interval

    test_share = float(np.mean([len(test) / len(train) for train, test in folds])) if folds else math.nan
    measured = [entry for entry in compared if entry.error is None]
    for first, second in itertools.combinations(measured, 2):
        by_rows = bool(first.by_row and second.by_row)
        intervals = {}
        for name in FIGURES[task]:
            if by_rows:
                intervals[name] = paired_interval(first.by_row[name] - second.by_row[name])
            else:
                difference = np.subtract(first.by_fold[name], second.by_fold[name])
                intervals[name] = resampled_interval(difference, test_share)
        yield Pair(first.name, second.name, by_rows, intervals)
