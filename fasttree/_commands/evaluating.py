"""The command evaluate, and the figures that say how well a model answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click
import numpy as np
import polars as pl
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    mean_absolute_error,
    precision_recall_fscore_support,
    r2_score,
    root_mean_squared_error,
)

from .._base import BaseRegressor
from .console import aligned, examples, listed, print_json, word
from .models import Estimator, answers, best_answers, load_of_one_target, read_blocks
from .options import FILE, json_option, table_options, truth_option
from .tables import find_target, open_file

__all__ = ["evaluate", "headline", "measure"]

SHOWN_CLASSES = 30  # of a confusion matrix for people


@click.command(
    short_help="Measure a saved tree on a table with the truth.",
    epilog=examples("fasttree evaluate model.json examples/adult.test.csv.gz"),
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@truth_option
@json_option(
    "n_rows, and accuracy, largest_class, largest_share (of rows), classes (class, precision, recall, f1, rows), confusion "
    "(counts by true and predicted class); or r2, rmse, mae. What cannot be computed is null."
)
@table_options
def evaluate(model: str, data: str, target: str | None, as_json: bool, markers: Sequence[str], separator: str) -> None:
    """Measure a saved tree on DATA that has the target too.

    DATA is a file as for `train`.  Classification: accuracy, precision, recall and F1 of each class, confusion matrix.
    Regression: R², RMSE, MAE.
    """
    tree, saved = load_of_one_target(model)
    file = open_file(data, markers, separator)
    target = find_target(file, target, saved)
    figures = measure(tree, read_blocks(file, tree, target), target)
    if as_json:
        print_json(figures)
        return
    click.echo(f"{headline(figures)} on {figures['n_rows']:,} rows of {data}")
    if "classes" not in figures:
        return
    rows = [["", "precision", "recall", "F1", "rows"]]
    for entry in figures["classes"]:
        scores = ["-" if math.isnan(entry[name]) else f"{entry[name]:.4f}" for name in ("precision", "recall", "f1")]
        rows.append([word(entry["class"]), *scores, f"{entry['rows']:,}"])
    click.echo("\n" + aligned(rows))
    names = [word(entry["class"]) for entry in figures["classes"]]
    if len(names) > SHOWN_CLASSES:
        click.echo(f"The confusion matrix of {len(names)} classes is in --json")
        return
    counts = [[name, *map("{:,}".format, row)] for name, row in zip(names, figures["confusion"], strict=True)]
    click.echo("Rows by true class (down) and predicted class (across)\n\n" + aligned([["", *names], *counts]).rstrip("\n"))


def measure(model: Estimator, blocks: Iterable[pl.DataFrame], target: str) -> dict[str, Any]:
    """Compare a model's predictions with the truth in the column `target`."""
    truths: list[pl.Series] = []

    def with_truth() -> Iterator[pl.DataFrame]:
        for block in blocks:
            truths.append(block[target])
            yield block

    if isinstance(model, BaseRegressor):
        found = list(answers(model, with_truth(), model.predict))
    else:
        found = [best_answers(model, shares) for shares in answers(model, with_truth(), model.predict_proba)]
    if not found:
        raise ValueError("the table to measure on has no rows")
    truth, predicted = pl.concat(truths), np.concatenate(found)
    if n_missing := truth.null_count():
        raise ValueError(f"column {target!r} is missing in {n_missing:,} of {truth.len():,} rows: leave these rows out")
    if isinstance(model, BaseRegressor):
        return compare_values(truth.cast(pl.Float64).to_numpy(), predicted)
    return compare_classes(truth.to_list(), predicted, model.classes_.tolist(), target)


def compare_values(truth: Any, predicted: Any) -> dict[str, Any]:
    return {
        "n_rows": len(truth),
        "r2": float(r2_score(truth, predicted)) if len(truth) > 1 else math.nan,
        "rmse": float(root_mean_squared_error(truth, predicted)),
        "mae": float(mean_absolute_error(truth, predicted)),
    }


def compare_classes(truth: list[Any], predicted: Any, classes: list[Any], target: str) -> dict[str, Any]:
    index = {label: k for k, label in enumerate(classes)}
    true_codes = np.fromiter((index.setdefault(label, len(index)) for label in truth), dtype=np.intp, count=len(truth))
    if (true_codes >= len(classes)).all():
        raise ValueError(f"column {target!r} holds {listed(sorted(set(truth)))}; the tree knows only {listed(classes)}")
    codes = np.arange(len(index))
    scores = precision_recall_fscore_support(true_codes, predicted, labels=codes, zero_division=np.nan)
    return {
        "n_rows": len(truth),
        "accuracy": float(accuracy_score(true_codes, predicted)),
        "largest_class": max(index, key=lambda label: int(scores[3][index[label]])),
        "largest_share": float(scores[3].max() / len(truth)),
        "classes": [
            {
                "class": label,
                "precision": float(scores[0][k]),
                "recall": float(scores[1][k]),
                "f1": float(scores[2][k]),
                "rows": int(scores[3][k]),
            }
            for label, k in index.items()
        ],
        "confusion": confusion_matrix(true_codes, predicted, labels=codes).tolist(),
    }


def headline(figures: Mapping[str, Any]) -> str:
    if "accuracy" not in figures:
        return f"R² {figures['r2']:.4f}, RMSE {figures['rmse']:.6g}, MAE {figures['mae']:.6g}"
    guess = f"always {word(figures['largest_class'])}: {figures['largest_share']:.4f}"
    return f"Accuracy {figures['accuracy']:.4f} ({guess})"
