"""Tables that the user names: the kinds of columns, the target, and the task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import click
import numpy as np

from fasttree._cli.console import listed, one_line, read_value, status
from fasttree.estimators.common.registry import ESTIMATORS

__all__ = [
    "FEW",
    "Asked",
    "File",
    "column",
    "find_target",
    "hold_out",
    "open_file",
    "print_notes",
    "read_columns",
    "read_separator",
    "without",
]

if TYPE_CHECKING:
    import polars as pl

    from fasttree._data.files.blocks import DeclaredFile, TableFile
    from fasttree._data.files.plain import PlainFile

    File: TypeAlias = TableFile | DeclaredFile

FEW = 20  # a numeric target with at most so many distinct whole values is classes, unless the user says otherwise


def open_file(path: str, markers: Sequence[str], separator: str) -> File:
    from fasttree._data.files.blocks import open_table

    return open_table(path, tuple(markers), read_separator(separator))


def read_separator(text: str) -> str:
    separator = "\t" if text in ("tab", "\\t") else text
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n':
        raise click.UsageError(f"--separator {separator!r}: must be one character of ASCII, or 'tab'")
    return separator


def read_columns(option: str, given: Sequence[str], file: File) -> list[str]:
    """Return the names of columns; each option is a name, or a list of names separated by commas."""
    names = [name for text in given for name in ([text] if text in file.names else text.split(","))]
    for name in names:
        if name not in file.names:
            raise ValueError(f"{option} {name!r}: {file.path} has no such column; it has {listed(file.names)}{file.hint}")
    return list(dict.fromkeys(names))


def _read_order(text: str, file: File) -> tuple[str, list[str]]:
    name, equals, values = text.rpartition("=")
    if not equals:
        raise click.UsageError(f"--ordinal {text!r}: must be NAME=LOW,...,HIGH")
    return read_columns("--ordinal", [name], file)[0], values.split(",")


def find_target(file: File | PlainFile, asked: str | None, saved: str) -> str:
    """Return the column with the truth: named by the user, or that of the model's training, or declared by the file."""
    target = asked
    if target is None:
        target = saved if saved in file.names or file.target is None else file.target
    if target not in file.names:
        known = f"it has {listed(file.names)}{file.hint}"
        raise ValueError(f"{file.path} has no column {target!r}: name the truth by --target; {known}")
    return target


@dataclass(frozen=True)
class Asked:
    """A table to learn from, as the options describe it; its rows are not read before `read`.

    Parameters
    ----------
    file : TableFile or DeclaredFile
    target : str
        Column to predict.
    ignored, nominal : list of str
        Columns to leave out, and columns to take as nominal.
    orders : dict of str to list of str
        Ordinal columns, with their values as the user wrote them, from low to high.
    """

    file: File
    target: str
    ignored: list[str]
    nominal: list[str]
    orders: dict[str, list[str]]

    @classmethod
    def of(
        cls, file: File, target: str | None, ignore: Sequence[str], categorical: Sequence[str], ordinal: Sequence[str]
    ) -> Asked:
        """Check the options before any row is read."""
        target = file.target if target is None else target
        if target is None:
            raise click.UsageError("Missing option '--target': which column is to be predicted?")
        ignored = read_columns("--ignore", ignore, file)
        nominal = read_columns("--categorical", categorical, file)
        orders = dict(_read_order(text, file) for text in ordinal)
        if target not in file.names:
            raise ValueError(f"{file.path} has no column {target!r} to be the --target; it has {listed(file.names)}{file.hint}")
        for option, names in (("--ignore", ignored), ("--categorical", nominal), ("--ordinal", list(orders))):
            if target in names:
                raise click.UsageError(f"{option} names the target, {target!r}")
        if not set(file.names) - {target, *ignored}:
            raise ValueError(
                f"{file.path} has no column left to learn from: at least one must be neither the target nor in --ignore; it has "
                f"{listed(file.names)}{file.hint}"
            )
        return cls(file, target, ignored, nominal, orders)

    def read(self) -> pl.DataFrame:
        """Read the whole table, without the columns to leave out."""
        import polars as pl

        # Categories are text as written in the file: the code 007 is not the number 7.
        with status(f"Reading {self.file.path}"):
            table = self.file.read({name: pl.String() for name in [*self.nominal, *self.orders]})
        print_notes(self.file)
        if table.height == 0:
            raise ValueError(f"{self.file.path} has no rows")
        return without(_plain(table), self.ignored)

    def kinds(self, table: pl.DataFrame) -> dict[str, Any]:
        """Return the parameters of an estimator for the kinds of columns; orders have the type of their columns."""
        orders: dict[str, list[Any]] = {
            name: [read_value(value) for value in order] if table.schema[name].is_numeric() else order
            for name, order in self.orders.items()
        }
        given = {"categorical_features": self.nominal, "ordinal_features": orders}
        return {name: columns for name, columns in given.items() if columns}

    def choose_task(self, table: pl.DataFrame, task: str, algorithms: Iterable[str]) -> tuple[str, str]:
        """Return the task, and in words the reason and the remedy; a column that is declared as numbers is not classes."""
        from fasttree._data.files.blocks import DeclaredFile

        algorithms = list(algorithms)
        regressing, classifying = words_of("regression"), words_of("classification")
        others = [algorithm for algorithm in algorithms if algorithm not in regressing]
        of_numbers = [algorithm for algorithm in algorithms if algorithm not in classifying]
        if of_numbers and not (task == "regression" and others):
            if task == "classification" or others or not column(table, self.target).dtype.is_numeric():
                raise click.UsageError(f"{of_numbers[0]} predicts numbers; for classes use one of: {', '.join(classifying)}")
            return "regression", ""
        if task != "auto" or others:
            if task == "regression" and others:
                remedy = f"with --task regression, use one of: {', '.join(regressing)}"
                raise click.UsageError(f"{others[0]} grows classification trees; {remedy}")
            return ("classification" if task == "auto" else task), ""
        target = column(table, self.target)
        if not target.dtype.is_numeric():
            return "classification", ""
        if isinstance(self.file, DeclaredFile):
            return "regression", ""
        present = target.drop_nulls()
        n_distinct = present.n_unique()
        if present.dtype.is_float() and bool((present != present.floor()).any()):
            return "regression", " (chosen because it has fractions)"
        if n_distinct > FEW:
            return (
                "regression",
                f" (chosen because it has {n_distinct:,} distinct numbers; --task classification makes them classes)",
            )
        return (
            "classification",
            f" (chosen because it has {n_distinct} distinct numbers; --task regression predicts a number)",
        )


def words_of(task: str) -> list[str]:
    """Return the words of the algorithms for a task."""
    return list(dict.fromkeys(entry.word for entry in ESTIMATORS if entry.task == task and entry.on_command_line))


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    """Convert integers of 128 bits, which no estimator takes, to floats."""
    import polars as pl

    return table.with_columns(pl.col(name).cast(pl.Float64) for name, dtype in table.schema.items() if str(dtype) == "Int128")


def without(table: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return the table without some columns; unlike with polars' `drop`, a name such as * is a name."""
    left_out = set(names)
    return table[[name for name in table.columns if name not in left_out]]


def column(table: pl.DataFrame, name: str) -> pl.Series:
    """Return a column without its name, which methods of polars may take as a pattern."""
    return table[name].alias("")


def hold_out(table: pl.DataFrame, share: float, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rest and a random share of the rows, both in their order."""
    n_held_out = round(share * table.height)
    if not 0 < n_held_out < table.height:
        raise ValueError(f"--holdout {share:g} of {table.height:,} rows leaves none to learn or to measure on")
    held_out = np.zeros(table.height, dtype=bool)
    held_out[np.random.default_rng(seed).permutation(table.height)[:n_held_out]] = True
    return table.filter(~held_out), table.filter(held_out)


def print_notes(file: File) -> None:
    for note in file.notes:
        click.echo(f"Note: {one_line(note)}", err=True)
