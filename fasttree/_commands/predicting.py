"""The command predict."""

from __future__ import annotations

import gzip
import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click
import numpy as np
import polars as pl

from .._base import BaseRegressor
from .._files import Block, write_csv, write_parquet
from .._output import whole_file
from .console import examples
from .models import Estimator, answers, best_answers, check_output, load_of_one_target, read_with_kept
from .options import FILE, complete_columns, table_options
from .tables import open_file, read_columns

__all__ = ["predict"]

CSV, PARQUET = ("", ".csv", ".txt"), (".parquet", ".pq")  # ends of file names


@click.command(
    short_help="Predict the rows of a table by a saved tree.",
    epilog=examples(
        "fasttree predict model.json examples/adult.test.csv.gz --proba --output predictions.csv",
        "fasttree predict model.json examples/adult.test.csv.gz --keep age,income --output predictions.parquet",
        "fasttree predict model.json examples/adult.test.csv.gz | head",
        "fasttree predict model.json - < examples/adult.test.csv.gz | sort | uniq -c",
    ),
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=FILE,
    help="CSV (.csv.gz: compressed), or Parquet if the name ends in .parquet; default: CSV to stdout.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="A,B",
    shell_complete=complete_columns,
    help="Columns of DATA to copy in front of the predictions; repeatable.",
)
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@table_options
def predict(
    model: str,
    data: str,
    output: str | None,
    keep: Sequence[str],
    proba: bool,
    markers: Sequence[str],
    separator: str,
) -> None:
    """Predict the rows of DATA, in their order, by a saved tree.

    DATA is a file as for `train`, or - for CSV from the standard input.  Columns go by their names; others than those that the
    tree was grown on are ignored.  CSV and Parquet are read, predicted and written in blocks of rows, so they may be larger than
    the memory.  Cells of CSV that --keep copies stay as they are written.
    """
    output = None if output == "-" else output
    form = _form(output)
    tree, _ = load_of_one_target(model)
    if proba and isinstance(tree, BaseRegressor):
        raise ValueError(f"{model} is a regression tree, which has no classes for --proba")
    file = open_file(data, markers, separator)
    file.require(feature.name for feature in tree.schema_.features)  # before the header is written
    kept = read_columns("--keep", keep, file)
    _check_kept(kept, tree, proba)
    # a bar on the terminal that shows the rows would only be in their way
    blocks = read_with_kept(file, tree, kept=kept, quiet=output is None and sys.stdout.isatty())
    answered = _answered(tree, blocks, proba, as_csv=form != "parquet")
    if output is None:
        write_csv(answered, sys.stdout.buffer)
        return
    check_output(output, [model, data])
    with whole_file(output) as stream:
        if form == "parquet":
            write_parquet(answered, stream)
        elif form == "csv.gz":
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0) as packed:
                write_csv(answered, packed)
        else:
            write_csv(answered, stream)


def _form(output: str | None) -> str:
    """What to write by the end of the file's name: csv, csv.gz or parquet."""
    if output is None or (os.path.exists(output) and not os.path.isfile(output)):
        return "csv"  # a pipe or a device, whatever it is called
    name = output.lower()
    if name.endswith(PARQUET):
        return "parquet"
    packed = name.endswith(".gz")
    suffix = os.path.splitext(name.removesuffix(".gz"))[1]
    if suffix in CSV:
        return "csv.gz" if packed else "csv"
    known = ", ".join([*CSV[1:], *(f"{each}.gz" for each in CSV[1:]), *PARQUET])
    raise click.UsageError(
        f"--output {output}: predictions are not written as {suffix + '.gz' * packed!r}; the name may end in {known}, or have no "
        "ending, for CSV"
    )


def _check_kept(names: Sequence[str], model: Estimator, proba: bool) -> None:
    """Refuse columns to be kept that are called as those of the predictions."""
    taken = {"prediction"} if not proba or isinstance(model, BaseRegressor) else {"prediction", *_columns_of_classes(model)}
    for name in names:
        if name in taken:
            raise ValueError(f"--keep {name!r}: the predictions have a column of this name; rename the one of the table")


def _answered(model: Estimator, blocks: Iterable[Block], proba: bool, as_csv: bool) -> Iterator[pl.DataFrame]:
    """What is to be written: the columns that are kept, and the predictions, by block; the first is empty."""
    blocks = iter(blocks)
    first = next(blocks)
    to_copy = [first.kept.clear()]  # a table at a time

    def to_ask() -> Iterator[pl.DataFrame]:
        for block in itertools.chain([first], blocks):
            if block.asked.height:
                to_copy.append(block.kept)
                yield block.asked

    for column in first.kept if as_csv else ():
        if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Duration):
            raise ValueError(f"--keep {column.name!r}: CSV cannot hold {column.dtype}; Parquet can: --output FILE.parquet")
    for predicted in _predictions(model, to_ask(), proba):
        yield pl.DataFrame([*to_copy.pop(), *predicted])


def _columns_of_classes(model: Any) -> list[str]:
    return [f"probability of {label}" for label in model.classes_.tolist()]


def _predictions(model: Estimator, blocks: Iterable[pl.DataFrame], proba: bool) -> Iterator[pl.DataFrame]:
    """Predictions by block; the first is empty, so that a table without rows has a header too."""
    if isinstance(model, BaseRegressor):
        yield pl.DataFrame({"prediction": np.empty(0)})
        for values in answers(model, blocks, model.predict):
            yield pl.DataFrame({"prediction": values})
        return
    labels = pl.Series("prediction", model.classes_.tolist())
    columns = _columns_of_classes(model)
    shares = np.empty((0, len(labels)))
    for probability in itertools.chain([shares], answers(model, blocks, model.predict_proba)):
        block = pl.DataFrame([labels.gather(best_answers(model, probability).astype(np.uint32))])
        if proba:
            block = block.with_columns(pl.Series(name, probability[:, k]) for k, name in enumerate(columns))
        yield block
