"""Models behind the command line: which there are, files of them, what they answer, and what they are, in words and figures."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .. import _document, _files
from .._base import BaseRegressor, BaseTree
from .._tree import best_classes
from ..estimators import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier, TreeEstimator, from_document
from ..rules import C45Rules
from .console import counted
from .tables import File, print_notes

Estimator: TypeAlias = TreeEstimator | C45Rules

ALGORITHMS: dict[tuple[str, str], type[Estimator]] = {
    ("id3", "classification"): ID3Classifier,
    ("c45", "classification"): C45Classifier,
    ("c45rules", "classification"): C45Rules,
    ("cart", "classification"): CARTClassifier,
    ("cart", "regression"): CARTRegressor,
}


def load_model(path: str) -> tuple[Estimator, str]:
    """Read a tree or rules, and the name of the target (y where it has none)."""
    with _document.errors_in(path):
        try:
            document = _document.load(path)
        except _document.DocumentError as error:
            reason = re.sub("^(?=(is|has) )", "it ", str(error))  # of a file, said without naming it
            raise _document.DocumentError(f"not a saved model, as train --output writes them: {reason}") from None
        model = from_document(document)
        return model, model.target_names_[0]


def load_of_one_target(path: str) -> tuple[Estimator, str]:
    """Read as `load_model`, and refuse a tree of several targets, which only Python grows."""
    model, target = load_model(path)
    if not isinstance(model, C45Rules) and model.n_outputs_ > 1:
        raise ValueError(
            f"{path} holds a tree of {model.n_outputs_} targets: the command line shows it, but answers for one target alone; "
            f"use fasttree.load in Python"
        )
    return model, target


def check_output(path: str, inputs: Sequence[str | None]) -> None:
    """Find out before the work what would spoil it at the end."""
    if path == "-":
        raise ValueError("--output -: names no file; leave it out to write to the standard output")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise ValueError(f"--output {path}: the folder {folder} does not exist")
    if os.path.isdir(path):
        raise ValueError(f"--output {path}: is a folder")
    if not os.path.exists(path) and not os.access(folder, os.W_OK):
        raise ValueError(f"--output {path}: the folder {folder} is not writable")
    for given in inputs:
        if given is not None and os.path.exists(given) and os.path.exists(path) and os.path.samefile(given, path):
            raise ValueError(f"--output {path}: would replace the input; choose another name")


def best_answers(model: Estimator, probability: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """Index of the class that a classifier answers for each row of probabilities."""
    return best_classes(probability, model.tree_.loss if isinstance(model, BaseTree) else None)


def answers(model: Estimator, blocks: Iterable[pl.DataFrame], ask: Callable[[Any], Any]) -> Iterator[Any]:
    """Ask a model about each block of rows."""
    features_asked = [(feature.name, _enum(feature.categories)) for feature in model.schema_.features]
    start = 0
    for block in blocks:
        if block.height == 0:
            continue
        features = pl.DataFrame([_coded(block[name], categories) for name, categories in features_asked])
        try:
            with warnings.catch_warnings():
                # A model of nameless columns calls them x0, x1, ...; going by these names is right here.
                warnings.filterwarnings("ignore", message="X has feature names", category=UserWarning)
                yield ask(features)
        except (ValueError, TypeError) as error:
            counted = f" (rows counted from row {start})" if start and "row" in str(error) else ""
            raise ValueError(f"{error}{counted}") from None
        start += block.height


def _enum(categories: Sequence[Any] | None) -> pl.Enum | None:
    """The type of a column with these categories, if they are text."""
    return pl.Enum(categories) if categories and isinstance(categories[0], str) else None


def _coded(column: pl.Series, categories: pl.Enum | None) -> pl.Series:
    """Text as known categories and, after them, others: found once for a block, where a model looks for them every few rows."""
    if categories is None or column.dtype != pl.String:
        return column
    codes = column.alias("").cast(categories, strict=False)
    if codes.null_count() > column.null_count():
        others = column.alias("").filter(codes.is_null()).drop_nulls().unique().sort()
        codes = column.alias("").cast(pl.Enum([*categories.categories, *others]))
    return codes.alias(column.name)


def answers_of(model: Estimator, table: pl.DataFrame) -> npt.NDArray[np.float64]:
    """What a model answers to a whole table: a row of probabilities per row, or a number."""
    found = list(answers(model, [table], model.predict if isinstance(model, BaseRegressor) else model.predict_proba))
    return np.concatenate(found)


def read_blocks(file: File, model: Estimator, target: str | None = None) -> Iterator[pl.DataFrame]:
    """Read the model's columns, and its target if named, in blocks; a bar shows the progress on a terminal."""
    return (block.asked for block in read_with_kept(file, model, target))


def read_with_kept(
    file: File, model: Estimator, target: str | None = None, kept: Sequence[str] = (), quiet: bool = False
) -> Iterator[_files.Block]:
    """Read as `read_blocks`, and beside these columns others as they stand in the file."""
    types: dict[str, pl.DataType] = {feature.name: _cell_type(feature.categories) for feature in model.schema_.features}
    if target is not None:
        types[target] = _cell_type(model.classes_.tolist() if hasattr(model, "classes_") else None)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rows]}"),
        TimeElapsedColumn() if file.share_read is None else TimeRemainingColumn(),
    )
    # What is made of a block is to be bounded too: a row of CSV may be two bytes, and its answer a thousand probabilities.
    n_answers = len(model.classes_) if hasattr(model, "classes_") else 1
    step = 1 + _files.BLOCK_CELLS // (len(types) + n_answers + len(kept))
    with Progress(*columns, transient=True, console=Console(stderr=True), disable=quiet or not sys.stderr.isatty()) as progress:
        bar = progress.add_task(os.path.basename(file.path), total=None if file.share_read is None else 1.0, rows="")
        n_rows = 0
        for number, block in enumerate(file.blocks(types, kept)):
            if number == 0:
                print_notes(file)
            for start in range(0, max(1, block.asked.height), step):
                yield _files.Block(*(part[start : start + step] for part in block))
            n_rows += block.asked.height
            progress.update(bar, completed=file.share_read, rows=f"{n_rows:,} rows")


def read_table(file: File, model: Estimator, target: str) -> pl.DataFrame:
    """Read the model's columns and its target whole, and see that there are rows and that each has a target."""
    table = pl.concat(read_blocks(file, model, target))
    if table.height == 0:
        raise ValueError(f"{file.path} has no rows")
    if n_missing := table[target].null_count():
        raise ValueError(
            f"{file.path}: column {target!r} is missing in {n_missing:,} of {table.height:,} rows: leave these rows out"
        )
    return table


def _cell_type(labels: Sequence[Any] | None) -> pl.DataType:
    """Return the type in which cells of CSV are to be read to equal these categories or classes, or numbers if None."""
    if labels is None or not labels:
        return pl.Float64() if labels is None else pl.String()
    if isinstance(labels[0], str):
        return pl.String()
    if isinstance(labels[0], bool):
        return pl.Boolean()
    is_exact = isinstance(labels[0], float) or max(map(abs, labels)) <= 2**53
    return pl.Float64() if is_exact else pl.Int64()  # 3.0 is the category 3


def task_of(model: Estimator) -> str:
    return "regression" if isinstance(model, BaseRegressor) else "classification"


def n_grown_on(model: Estimator) -> int:
    """Rows that a model was learned from."""
    return int(model.class_count_.sum()) if isinstance(model, C45Rules) else int(model.tree_.n_samples[0])


def describe(model: Estimator, target: str) -> dict[str, Any]:
    if isinstance(model, C45Rules):
        return {
            "algorithm": "c45rules",
            "task": task_of(model),
            "target": target,
            "n_rows": n_grown_on(model),
            "rules": len(model.rules_),
            "conditions": sum(len(rule.conditions) for rule in model.rules_),
        }
    tree = model.tree_
    return {
        "algorithm": model.recipe_.name,
        "task": task_of(model),
        "target": target,
        "n_rows": n_grown_on(model),
        "nodes": tree.node_count,
        "leaves": model.get_n_leaves(),
        "depth": model.get_depth(),
    }


def summarize(model: Estimator) -> str:
    if isinstance(model, C45Rules):
        n_conditions = sum(len(rule.conditions) for rule in model.rules_)
        sizes = f"{counted(len(model.rules_), 'rule')}, {counted(n_conditions, 'condition')}"
        return f"{type(model).__name__}: {sizes}, learned from {counted(n_grown_on(model), 'row')}"
    tree = model.tree_
    sizes = f"{counted(tree.node_count, 'node')}, {counted(model.get_n_leaves(), 'leaf', 'leaves')}, depth {model.get_depth()}"
    return f"{type(model).__name__}: {sizes}, grown on {counted(n_grown_on(model), 'row')}"
