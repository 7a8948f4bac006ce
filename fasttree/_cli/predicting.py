"""The command predict."""

from __future__ import annotations

import gzip
import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fasttree._cli.console import examples
from fasttree._cli.models import answers, best_answers, check_output, load_of_one_target, predicts_numbers, read_with_kept
from fasttree._cli.options import FILE, complete_columns, table_options
from fasttree._cli.tables import open_file, read_columns
from fasttree._data.files.whole import whole_file

if TYPE_CHECKING:
    import polars as pl

    from fasttree._cli.models import Estimator
    from fasttree._data.files.blocks import Block

__all__ = ["predict"]

CSV, PARQUET = ("", ".csv", ".txt"), (".parquet", ".pq")  # suffixes of file names


@click.command(
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

    DATA is a file as for `train`, or - for CSV from the standard input.  Columns are found by name, and columns that the tree
    does not know are ignored.  CSV and Parquet are read, predicted and written in blocks of rows, so they may be larger than the
    memory.  --keep copies cells of CSV as they are written.
    """
    output = None if output == "-" else output
    form = _form(output)
    tree, _ = load_of_one_target(model)
    if proba and predicts_numbers(tree):
        raise ValueError(f"{model} predicts numbers, and has no classes for --proba")
    file = open_file(data, markers, separator)
    file.require(feature.name for feature in tree.schema_.features)  # before the header is written
    kept = read_columns("--keep", keep, file)
    _check_kept(kept, tree, proba)
    # no progress bar on a terminal that shows the rows
    blocks = read_with_kept(file, tree, kept=kept, quiet=output is None and sys.stdout.isatty())
    answered = _answered(tree, blocks, proba, as_csv=form != "parquet")
    if output is not None:
        check_output(output, [model, data])
    _write(answered, output, form)


def _write(answered: Iterator[pl.DataFrame], output: str | None, form: str) -> None:
    """Write the blocks to a file, or as CSV to standard output."""
    from fasttree._data.files.write import write_csv, write_parquet

    if output is None:
        write_csv(answered, sys.stdout.buffer)
        return
    with whole_file(output) as stream:
        if form == "parquet":
            write_parquet(answered, stream)
        elif form == "csv.gz":
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0) as packed:
                write_csv(answered, packed)
        else:
            write_csv(answered, stream)


def _form(output: str | None) -> str:
    """Return the format for the suffix of a file: csv, csv.gz or parquet."""
    if output is None or (os.path.exists(output) and not os.path.isfile(output)):
        return "csv"  # a pipe or a device, with any name
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
    """Check that no kept column has the name of a column of the predictions."""
    taken = {"prediction"} if not proba or predicts_numbers(model) else {"prediction", *_columns_of_classes(model)}
    for name in names:
        if name in taken:
            raise ValueError(f"--keep {name!r}: the predictions have a column of this name; rename the one of the table")


def _answered(model: Estimator, blocks: Iterable[Block], proba: bool, as_csv: bool) -> Iterator[pl.DataFrame]:
    """Yield the blocks to write: the kept columns and the predictions; the first block is empty."""
    import polars as pl

    blocks = iter(blocks)
    first = next(blocks)
    to_copy = [first.kept.clear()]  # one table at a time

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
    """Yield predictions by block; the first is empty, so that a table without rows also has a header."""
    import polars as pl

    if predicts_numbers(model):
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
