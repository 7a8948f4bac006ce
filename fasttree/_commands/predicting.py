"""The command predict."""

from __future__ import annotations

import gzip
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence

import click
import numpy as np
import polars as pl

from .._base import BaseRegressor
from .._files import write_csv, write_parquet
from .._output import whole_file
from .console import examples
from .models import Estimator, answers, best_answers, check_output, load_of_one_target, read_blocks
from .options import FILE, table_options
from .tables import open_file


@click.command(
    short_help="Predict the rows of a table by a saved tree.",
    epilog=examples(
        "fasttree predict model.json examples/adult.test.csv.gz --proba --output predictions.csv",
        "fasttree predict model.json examples/adult.test.csv.gz --output predictions.parquet",
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
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@table_options
def predict(model: str, data: str, output: str | None, proba: bool, markers: Sequence[str], separator: str) -> None:
    """Predict the rows of DATA, in their order, by a saved tree.

    DATA is a file as for `train`, or - for CSV from the standard input.  Columns go by their names; others than those that the
    tree was grown on are ignored.  CSV and Parquet are read, predicted and written in blocks of rows, so they may be larger than
    the memory.
    """
    tree, _ = load_of_one_target(model)
    if proba and isinstance(tree, BaseRegressor):
        raise ValueError(f"{model} is a regression tree, which has no classes for --proba")
    file = open_file(data, markers, separator)
    file.require(feature.name for feature in tree.schema_.features)  # before the header is written
    if output is None or output == "-":
        # a bar on the terminal that shows the rows would only be in their way
        blocks = read_blocks(file, tree, quiet=sys.stdout.isatty())
        write_csv(_predictions(tree, blocks, proba), sys.stdout.buffer)
        return
    check_output(output, [model, data])
    with whole_file(output) as stream:
        predictions = _predictions(tree, read_blocks(file, tree), proba)
        if output.endswith((".parquet", ".pq")):
            write_parquet(predictions, stream)
        elif output.endswith(".gz"):
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0) as packed:
                write_csv(predictions, packed)
        else:
            write_csv(predictions, stream)


def _predictions(model: Estimator, blocks: Iterable[pl.DataFrame], proba: bool) -> Iterator[pl.DataFrame]:
    """Predictions by block; the first is empty, so that a table without rows has a header too."""
    if isinstance(model, BaseRegressor):
        yield pl.DataFrame({"prediction": np.empty(0)})
        for values in answers(model, blocks, model.predict):
            yield pl.DataFrame({"prediction": values})
        return
    labels = pl.Series("prediction", model.classes_.tolist())
    columns = [f"probability of {label}" for label in model.classes_.tolist()]
    shares = np.empty((0, len(labels)))
    for probability in itertools.chain([shares], answers(model, blocks, model.predict_proba)):
        block = pl.DataFrame([labels.gather(best_answers(model, probability).astype(np.uint32))])
        if proba:
            block = block.with_columns(pl.Series(name, probability[:, k]) for k, name in enumerate(columns))
        yield block
