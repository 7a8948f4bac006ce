"""What `compare` compares: algorithms and saved models, their figures on the same folds, and the differences between them."""

from __future__ import annotations

import itertools
import math
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from rich.console import Console
from rich.progress import Progress
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from .._base import BaseRegressor
from ..rules import C45Rules
from .console import listed, one_line
from .models import ALGORITHMS, Estimator, answers_of, load_of_one_target, read_table
from .options import add_parameter, check_parameters
from .scores import Floats, Interval, paired_interval, resampled_interval, row_scores
from .tables import File, without

__all__ = [
    "FIGURES",
    "SIZES",
    "Entry",
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

SIZES = ("leaves", "depth", "rules")
FIGURES = {"classification": ("accuracy", "balanced_accuracy", "log_loss"), "regression": ("r2", "mae")}

Fold = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]  # rows to learn from, rows to measure on


class Pair(NamedTuple):
    """Two entries, and by how much each figure of the first is above that of the second."""

    first: str
    second: str
    by_rows: bool  # else over folds
    intervals: dict[str, Interval]


@dataclass
class Entry:
    """What is compared: an algorithm with parameters, or a saved model.

    Parameters
    ----------
    name : str
        As the user wrote it.
    algorithm : str or None
        None for a saved model.
    parameters : dict
        Of the algorithm.
    estimator : class or None
        The algorithm's, once the task is known.
    model : estimator or None
        The saved model.
    by_fold : dict of str to list of float
        The figures found so far.
    by_row : dict of str to array, shape (n_rows,)
        The scores of a saved model.
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


def read_entry(text: str) -> Entry:
    """Read an algorithm with its parameters, or load a model; a file of an algorithm's name is written ./cart."""
    algorithm, colon, rest = text.partition(":")
    known = list(dict.fromkeys(name for name, _ in ALGORITHMS))
    if algorithm in known:
        parameters: dict[str, Any] = {}
        for part in _parts(rest) if colon else ():
            add_parameter(parameters, part, algorithm)
        return Entry(text, algorithm, parameters)
    if not os.path.exists(text):
        raise ValueError(
            f"{text!r} is neither an algorithm ({', '.join(known)}; parameters after a colon, such as cart:max_depth=4) nor the "
            "file of a saved model"
        )
    return Entry(text, model=load_of_one_target(text)[0])


def _parts(text: str) -> Iterator[str]:
    """Cut at the commas that stand in no bracket and no quotes: a value may be {'yes': 2, 'no': 1}."""
    start = depth = 0
    quote = ""
    for i, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth <= 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def prepare(entry: Entry, task: str, seed: int, kinds: dict[str, Any]) -> None:
    """Find what is wrong with an algorithm's parameters before anything is learned."""
    entry.estimator = ALGORITHMS[str(entry.algorithm), task]
    check_parameters(entry.estimator, entry.parameters)
    entry.parameters = {"random_state": seed} | kinds | entry.parameters
    entry.estimator(**entry.parameters)._check_parameters()


def _sizes(model: Estimator) -> dict[str, float]:
    if isinstance(model, C45Rules):
        return {"rules": len(model.rules_)}
    return {"leaves": model.get_n_leaves(), "depth": model.get_depth()}


def measure_saved(entry: Entry, target: str, file: File) -> None:
    """Find the scores of a saved model on every row, or why it has none; its columns are read as it knows them."""
    model = entry.model
    assert model is not None
    try:
        table = read_table(file, model, target)
        truth = table[target].to_list()
        known = [] if isinstance(model, BaseRegressor) else model.classes_.tolist()
        if known and not set(truth) & set(known):
            raise ValueError(f"column {target!r} holds {listed(sorted(set(truth)))}; {entry.name} knows only {listed(known)}")
        entry.by_row = row_scores(model, truth, answers_of(model, table))
    except (ValueError, TypeError) as error:
        entry.error = one_line(str(error))


def spread(entry: Entry, folds: Sequence[Fold]) -> None:
    """Divide a saved model's rows into the folds that the algorithms are measured on."""
    if entry.model is None or entry.error is not None:
        return
    parts: Sequence[Any] = [test for _, test in folds] or [slice(None)]
    for name, scores in entry.by_row.items():
        entry.by_fold[name] = [float(scores[part].mean()) for part in parts]
    for name, size in _sizes(entry.model).items():
        entry.by_fold[name] = [size] * len(parts)


def divide(target: pl.Series, task: str, cv: int, repeats: int, seed: int) -> list[Fold]:
    """Divide the rows at random, classes alike in all folds."""
    if n_missing := target.null_count():
        raise ValueError(f"column {target.name!r} is missing in {n_missing:,} of {target.len():,} rows: leave these rows out")
    truth = target.to_list()
    index: dict[Any, int] = {}
    codes = np.fromiter((index.setdefault(label, len(index)) for label in truth), dtype=np.intp, count=len(truth))
    largest = int(np.bincount(codes).max()) if task == "classification" else len(codes)
    if cv > largest:
        least = "rows" if task == "regression" else "rows of the largest class"
        raise ValueError(f"--cv {cv}: the table has {largest} {least}, and each fold needs one")
    splitter = RepeatedStratifiedKFold if task == "classification" else RepeatedKFold
    with warnings.catch_warnings():
        # that a class has fewer rows than there are folds: some folds are without it, for all entries alike
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(splitter(n_splits=cv, n_repeats=repeats, random_state=seed).split(codes, codes))


def learn(learned: Sequence[Entry], table: pl.DataFrame, target: str, folds: Sequence[Fold]) -> None:
    """Learn and measure each algorithm on each fold; one that refuses the table keeps what it said as its error."""
    features = without(table, [target])
    with Progress(transient=True, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        for entry in learned:
            bar = progress.add_task(entry.name, total=len(folds))
            for train, test in folds:
                try:
                    figures = _learn_and_measure(entry, features, table[target], train, test)
                except (ValueError, TypeError) as error:
                    entry.error, entry.by_fold = one_line(str(error)), {}  # of part of the folds they would mislead
                    break
                for name, figure in figures.items():
                    entry.by_fold.setdefault(name, []).append(figure)
                progress.advance(bar)


def _learn_and_measure(
    entry: Entry, features: pl.DataFrame, truth: pl.Series, train: npt.NDArray[np.intp], test: npt.NDArray[np.intp]
) -> dict[str, float]:
    assert entry.estimator is not None
    model = entry.estimator(**entry.parameters)
    start = time.perf_counter()
    model.fit(features[train], truth[train])
    seconds = time.perf_counter() - start
    scores = row_scores(model, truth[test].to_list(), answers_of(model, features[test]))
    return {name: float(score.mean()) for name, score in scores.items()} | _sizes(model) | {"fit_seconds": seconds}


def differences(compared: Sequence[Entry], folds: Sequence[Fold], task: str) -> Iterator[Pair]:
    """Compare each two entries that have figures."""
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
