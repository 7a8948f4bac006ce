"""The command evaluate, and the figures by which models are measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fasttree._cli.console import aligned, examples, listed, print_json, word
from fasttree._cli.models import (
    answers,
    best_answers,
    holds_forest,
    judged_out_of_bag,
    load_of_one_target,
    oob_score,
    predicts_numbers,
    read_blocks,
)
from fasttree._cli.options import FILE, json_option, table_options, truth_option
from fasttree._cli.tables import find_target, open_file

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from fasttree._cli.models import Estimator

__all__ = ["evaluate", "headline", "measure"]

SHOWN_CLASSES = 30  # most classes of a printed confusion matrix


@click.command(
    epilog=examples(
        "fasttree evaluate model.json examples/adult.test.csv.gz",
        "fasttree evaluate model.json - < examples/adult.test.csv.gz",
    ),
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@truth_option
@json_option(
    "n_rows, and accuracy, largest_class, largest_share (of rows), classes (class, precision, recall, f1, rows), confusion "
    "(counts by true and predicted class); or r2, rmse, mae. What cannot be computed is null. Of a forest: "
    "oob_score (accuracy or r2 of the training rows by the trees that have not drawn them)."
)
@table_options
def evaluate(model: str, data: str, target: str | None, as_json: bool, markers: Sequence[str], separator: str) -> None:
    """Measure a saved model on DATA, which must have the target.

    DATA is a file as for `train`, or - for CSV from the standard input; it is read in blocks of rows.  The figures are, for
    classification, accuracy, precision, recall and F1 of each class, and the confusion matrix; for regression, R², RMSE and MAE.

    For a forest, the out-of-bag error of its training is shown too.
    """
    tree, saved = load_of_one_target(model)
    file = open_file(data, markers, separator)
    target = find_target(file, target, saved)
    figures = measure(tree, read_blocks(file, tree, target), target)
    if as_json:
        print_json(figures | ({"oob_score": oob_score(tree)} if holds_forest(tree) else {}))
        return
    click.echo(f"{headline(figures)} on {figures['n_rows']:,} rows of {file.path}")
    if (line := judged_out_of_bag(tree)) is not None:
        click.echo(line)
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
    """Compare a model's predictions with the truth in the column `target`, block by block."""
    truths: list[pl.Series] = []

    def with_truth() -> Iterator[pl.DataFrame]:
        for block in blocks:
            if block.height:
                truths.append(block[target].alias(""))
                yield block

    figures: _Values | _Classes
    if predicts_numbers(model):
        figures = _Values()
        found = answers(model, with_truth(), model.predict)
    else:
        figures = _Classes(model.classes_.tolist())
        found = (best_answers(model, shares) for shares in answers(model, with_truth(), model.predict_proba))
    n_rows = n_missing = 0
    for predicted in found:
        truth = truths.pop()
        n_rows += truth.len()
        n_missing += truth.null_count()
        if not n_missing:
            figures.add(truth, predicted)
    if n_rows == 0:
        raise ValueError("the table to measure on has no rows")
    if n_missing:
        raise ValueError(f"column {target!r} is missing in {n_missing:,} of {n_rows:,} rows: leave these rows out")
    return {"n_rows": n_rows, **figures.result(target)}


class _Values:
    """Errors of predicted numbers, summed over blocks; squares are around the mean of all rows so far (Chan et al. 1983)."""

    def __init__(self) -> None:
        self._n_rows = 0
        self._mean = self._squares = 0.0
        self._squared_errors = self._absolute_errors = 0.0

    def add(self, truth: pl.Series, predicted: npt.NDArray[np.float64]) -> None:
        import polars as pl

        values = truth.cast(pl.Float64).to_numpy()
        mean = float(values.mean())
        difference, n_rows = mean - self._mean, self._n_rows + len(values)
        share = len(values) / n_rows
        self._squares += float(((values - mean) ** 2).sum()) + difference**2 * share * self._n_rows
        self._mean += difference * share
        self._squared_errors += float(((values - predicted) ** 2).sum())
        self._absolute_errors += float(np.abs(values - predicted).sum())
        self._n_rows = n_rows

    def result(self, target: str) -> dict[str, Any]:
        """Return R², which is 1 or 0 if all true numbers are equal, and the mean errors."""
        is_right = float(not self._squared_errors)
        r2 = 1 - self._squared_errors / self._squares if self._squares else is_right
        return {
            "r2": r2 if self._n_rows > 1 else math.nan,
            "rmse": math.sqrt(self._squared_errors / self._n_rows),
            "mae": self._absolute_errors / self._n_rows,
        }


class _Classes:
    """Counts of predicted classes by true class; the truth may have classes that the model does not know."""

    def __init__(self, classes: Sequence[Any]) -> None:
        self._n_known = len(classes)
        self._index = {label: k for k, label in enumerate(classes)}
        self._counts = np.zeros((len(classes), len(classes)), dtype=np.int64)  # by true and predicted class

    def add(self, truth: pl.Series, predicted: npt.NDArray[np.intp]) -> None:
        import polars as pl

        labels = truth.unique(maintain_order=True)
        codes = [self._index.setdefault(label, len(self._index)) for label in labels.to_list()]
        true_codes = truth.replace_strict(labels, codes, return_dtype=pl.Int64).to_numpy()
        n_new = len(self._index) - len(self._counts)
        self._counts = np.vstack([self._counts, np.zeros((n_new, self._n_known), dtype=np.int64)])
        cells = np.bincount(true_codes * self._n_known + predicted, minlength=self._counts.size)
        self._counts += cells.reshape(self._counts.shape)

    def result(self, target: str) -> dict[str, Any]:
        """Return figures by class; NaN if a class is never predicted, or never true."""
        labels, n_labels = list(self._index), len(self._index)
        if not self._counts[: self._n_known].any():
            given, known = sorted(labels[self._n_known :]), labels[: self._n_known]
            raise ValueError(f"column {target!r} holds {listed(given)}; the tree knows only {listed(known)}")
        counts = np.pad(self._counts, ((0, 0), (0, n_labels - self._n_known)))  # unknown classes are never predicted
        right, n_true, n_predicted = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
        with np.errstate(invalid="ignore"):
            precision, recall, f1 = right / n_predicted, right / n_true, 2 * right / (n_true + n_predicted)
        largest = int(n_true.argmax())
        return {
            "accuracy": float(right.sum() / n_true.sum()),
            "largest_class": labels[largest],
            "largest_share": float(n_true[largest] / n_true.sum()),
            "classes": [
                {
                    "class": label,
                    "precision": float(precision[k]),
                    "recall": float(recall[k]),
                    "f1": float(f1[k]),
                    "rows": int(n_true[k]),
                }
                for k, label in enumerate(labels)
            ],
            "confusion": counts.tolist(),
        }


def headline(figures: Mapping[str, Any]) -> str:
    if "accuracy" not in figures:
        return f"R² {figures['r2']:.4f}, RMSE {figures['rmse']:.6g}, MAE {figures['mae']:.6g}"
    guess = f"always {word(figures['largest_class'])}: {figures['largest_share']:.4f}"
    return f"Accuracy {figures['accuracy']:.4f} ({guess})"
