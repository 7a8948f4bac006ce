"""The commands train, predict, evaluate and show: files and options in, an estimator's answers out.

Trees and tables are left to the estimators, files to `_files`.  Whatever is wrong with what the user gave ends in one line.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import itertools
import json
import math
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TypeAlias

import click
import numpy as np
import numpy.typing as npt
import polars as pl
from rich.cells import cell_len
from rich.console import Console
from rich.progress import Progress
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    mean_absolute_error,
    precision_recall_fscore_support,
    r2_score,
    root_mean_squared_error,
)

from . import __version__, _document
from ._base import BaseRegressor, BaseTree
from ._files import DeclaredFile, TableFile, open_table
from ._output import whole_file
from ._tree import best_classes
from .estimators import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier, TreeEstimator, from_document
from .rules import C45Rules

__all__ = ["fasttree"]

File: TypeAlias = TableFile | DeclaredFile
Estimator: TypeAlias = TreeEstimator | C45Rules

FEW = 20  # numbers with so many distinct whole values are classes, unless the user says otherwise
NEARLY = 0.9  # share of the cells of a column that makes a note worth while
MANY = 50  # rows; in fewer, each may well have a value of its own
NOTES = 8  # on columns, at most
WIDTH = 100  # of a line of column names
LINES = 60  # of a tree or of rules that `train` prints unasked
SHOWN_CLASSES = 30  # of a confusion matrix for people
ALGORITHMS: dict[tuple[str, str], type[Estimator]] = {
    ("id3", "classification"): ID3Classifier,
    ("c45", "classification"): C45Classifier,
    ("c45rules", "classification"): C45Rules,
    ("cart", "classification"): CARTClassifier,
    ("cart", "regression"): CARTRegressor,
}
PARAMETERS = {
    "max_depth": "Largest number of tests on a path; a c45 tree may stay shallower, as splits that do not reduce the training "
    "errors are taken back, and by pruning.",
    "min_samples_split": "A node with fewer samples is a leaf; 0.05 is a share of all samples.",
    "min_samples_leaf": "Least number of samples in a branch; 0.01 is a share of all samples.",
    "min_impurity_decrease": "Least gain of a split, weighted by the node's share of the samples.",
    "max_bins": "Columns of more values are cut only between so many bins of nearly equal numbers of rows; by default anywhere.",
    "n_jobs": "Threads for large tables; -1 for all cores.",
    "criterion": "cart: gini, entropy, misclassification, or to regress squared_error, absolute_error, poisson; c45: gain_ratio, "
    "gain.",
    "missing": "cart: where a missing value goes: direction (gains most), surrogate, fractional, majority, branch, or error.",
    "class_weight": "balanced, or {'class': weight, ...}.",
    "priors": "cart: share of each class where the tree will be used, {'class': share, ...}.",
    "loss_matrix": "cart: what a mistake costs, {'true': {'predicted': cost, ...}, ...}; 1 where not named.",
    "min_samples_branch": "c45: a split needs two branches with so many samples.",
    "pruning": "error_based (what c45 does unasked), cost_complexity, c_alpha, reduced_error, pessimistic, minimum_error, "
    "critical_value, chi_square, or none; a cart that regresses: cost_complexity, c_alpha, reduced_error.",
    "ccp_alpha": "cost_complexity: what a leaf costs, or cv or validation to choose it; asks for that pruning.",
    "confidence": "error_based: level of the limit that is the predicted error, such as 0.25; smaller prunes more.",
}
FLAGS = {
    "subset": "c45: group the categories of nominal columns.",
    "windowing": "c45: grow trees on a part of the rows and on what they get wrong, and keep the best; see --param n_trials.",
    "soft_thresholds": "c45: values near a threshold go to both branches in part, in prediction.",
}


class _Commands(click.Group):
    """Turns what the library and the system say is wrong into one line and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise click.ClickException(_one_line(f"{error.filename}: {reason}" if error.filename else reason)) from None
        except (ValueError, TypeError) as error:
            raise click.ClickException(_one_line(str(error))) from None
        except MemoryError:
            raise click.ClickException("the table does not fit into memory") from None


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in line)


def _examples(*lines: str) -> str:
    """Write commands at the end of a help page, each on a line of its own."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


@click.group(
    cls=_Commands,
    epilog=_examples(
        "fasttree train examples/adult.csv.gz --target income --holdout 0.3 --output model.json",
        "fasttree evaluate model.json examples/adult.test.csv.gz",
        "fasttree predict model.json examples/adult.test.csv.gz --output predictions.csv",
        "fasttree show model.json --max-depth 3",
    ),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def fasttree() -> None:
    """Decision trees: grown exactly, fast, and made to be read."""


def _table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how a CSV file is written."""
    command = click.option(
        "--separator", default=",", show_default=True, help="Between the cells of a CSV file: one character, or 'tab'."
    )(command)
    return click.option(
        "--missing-marker",
        "markers",
        multiple=True,
        metavar="TEXT",
        help="A cell of a CSV file that means missing, such as '?'; repeatable. An empty cell always does.",
    )(command)


def _parameter_options(command: Callable[..., None]) -> Callable[..., None]:
    for name, text in reversed(FLAGS.items()):
        command = click.option(f"--{name.replace('_', '-')}", is_flag=True, default=None, help=text)(command)
    for name, text in reversed(PARAMETERS.items()):
        command = click.option(f"--{name.replace('_', '-')}", metavar="VALUE", help=text)(command)
    return command


def _other_parameters() -> str:
    """List, by algorithm, the names for --param that have no option of their own."""
    own = {*PARAMETERS, *FLAGS, "categorical_features", "ordinal_features", "random_state"}
    names: dict[str, list[str]] = {algorithm: [] for algorithm, _ in ALGORITHMS}
    for (algorithm, _), estimator in ALGORITHMS.items():
        names[algorithm] += [name for name in estimator._get_param_names() if name not in {*own, *names[algorithm]}]
    return " ".join(f"{algorithm}: {', '.join(listed)}." for algorithm, listed in names.items())


def _open(path: str, markers: Sequence[str], separator: str) -> File:
    separator = "\t" if separator in ("tab", "\\t") else separator
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n':
        raise click.UsageError(f"--separator {separator!r}: must be one character of ASCII, or 'tab'")
    return open_table(path, tuple(markers), separator)


# train


@fasttree.command(
    epilog=_examples(
        "fasttree train examples/iris.csv --target class --holdout 0.3",
        "fasttree train examples/golf.names --algorithm c45",
        "fasttree train examples/mushroom.csv.gz --target class --algorithm id3 --ignore stalk-root",
        "fasttree train examples/auto-mpg.csv --target mpg --ordinal cylinders=3,4,5,6,8 --max-depth 3 -o cars.json",
    )
)
@click.argument("data")
@click.option(
    "--target", metavar="NAME", help="Column to predict; by default the class of C4.5's files, the last attribute of ARFF."
)
@click.option("--algorithm", type=click.Choice(["cart", "c45", "c45rules", "id3"]), default="cart", show_default=True)
@click.option(
    "--task",
    type=click.Choice(["auto", "classification", "regression"]),
    default="auto",
    show_default=True,
    help=f"auto: regression for cart and a target with fractions or more than {FEW} distinct numbers.",
)
@click.option("--test", metavar="FILE", help="Table with the same columns to measure the tree on; by default C4.5's .test file.")
@click.option("--holdout", type=float, metavar="SHARE", help="Share of the rows to keep back for measuring, such as 0.3.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of the hold-out and max_features.")
@click.option("--output", "-o", metavar="FILE", help="Save the tree as JSON; a name that ends in .gz is compressed.")
@click.option("--categorical", multiple=True, metavar="A,B", help="Columns to be taken as nominal; repeatable.")
@click.option("--ordinal", multiple=True, metavar="NAME=LOW,...,HIGH", help="Column with an order; repeatable.")
@click.option("--ignore", multiple=True, metavar="A,B", help="Columns to leave out; repeatable.")
@_parameter_options
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help=f"Any parameter of the estimator; repeatable. {_other_parameters()}",
)
@click.option("--print-depth", metavar="N|all", help="Levels of the tree to print; by default as many as fit on a page.")
@click.option("--json", "as_json", is_flag=True, help="Print a summary for programs instead of the tree.")
@_table_options
def train(
    data: str,
    target: str | None,
    algorithm: str,
    task: str,
    test: str | None,
    holdout: float | None,
    seed: int,
    output: str | None,
    categorical: Sequence[str],
    ordinal: Sequence[str],
    ignore: Sequence[str],
    params: Sequence[str],
    print_depth: str | None,
    as_json: bool,
    markers: Sequence[str],
    separator: str,
    **common: str | bool | None,
) -> None:
    """Grow a tree on DATA (or, by c45rules, learn rules), print it and measure it.

    DATA is a CSV file with a header (also .csv.gz), a Parquet file, an ARFF file (.arff) or one of C4.5's files (.names, .data).
    Columns of text are nominal, columns of numbers continuous; for id3, columns of integers are nominal too, and continuous ones
    are refused.
    """
    if test is not None and holdout is not None:
        raise click.UsageError("give --test or --holdout, not both")
    if holdout is not None and not 0 < holdout < 1:
        raise click.UsageError(f"--holdout {holdout:g}: must be a share between 0 and 1")
    depth = _print_depth(print_depth)
    if algorithm == "c45rules" and depth not in (None, math.inf):
        raise click.UsageError("rules have no depth: --print-depth must be all")
    if output is not None:
        _check_output(output, [data, test])
    file = _open(data, markers, separator)
    target = file.target if target is None else target
    if target is None:
        raise click.UsageError("Missing option '--target': which column is to be predicted?")
    if holdout is None and test is None:
        test = file.test_path
    ignored = _columns("--ignore", ignore, file)
    nominal = _columns("--categorical", categorical, file)
    orders = dict(_order(text, file) for text in ordinal)
    if target not in file.names:
        raise ValueError(f"{data} has no column {target!r} to be the --target; it has {_names(file.names)}{file.hint}")
    for option, names in (("--ignore", ignored), ("--categorical", nominal), ("--ordinal", list(orders))):
        if target in names:
            raise click.UsageError(f"{option} names the target, {target!r}")
    test_file = None if test is None else _open(test, markers, separator)
    if test_file is not None:
        test_file.require(name for name in file.names if name not in ignored)
    # Categories are text as it stands in the file: the code 007 is not the number 7.
    with _status(f"Reading {data}"):
        table = _without(_plain(file.read({name: pl.String() for name in [*nominal, *orders]})), ignored)
    _print_notes(file)
    if table.height == 0:
        raise ValueError(f"{data} has no rows")
    guesses = _marker_notes(_without(table, [*nominal, *orders])) if file.is_csv else {}
    chosen, reason = _choose_task(_column(table, target), task, algorithm, is_declared=isinstance(file, DeclaredFile))
    parameters = _parameters(ALGORITHMS[algorithm, chosen], seed, nominal, _typed_orders(orders, table), common, params)
    model = ALGORITHMS[algorithm, chosen](**parameters)
    blocks, where = None, ""
    if holdout is not None:
        table, held_out = _split(table, holdout, seed)
        blocks, where = [held_out], f"held-out rows (seed {seed})"
    with _status(f"Learning from {table.height:,} rows"):
        model.fit(_without(table, [target]), table[target])

    if test_file is not None:
        blocks, where = [block for block in _read_blocks(test_file, model, target) if block.height], f"rows of {test}"
    figures = None if blocks is None else _evaluate(model, blocks, target)
    pruning = _compare_pruning(model, [table], blocks, target)
    if output is not None:
        _save(model, target, output)
    if as_json:
        described = _described(model, target) | ({"pruning": pruning} if pruning else {})
        click.echo(json.dumps(described | {"evaluation": _finite(figures)}, ensure_ascii=False))
        return
    classes = f", {_counted(model.n_classes_, 'class', 'classes')}" if not isinstance(model, BaseRegressor) else ""
    click.echo(f"{_word(target)}: {chosen}{classes}{reason}")
    click.echo(_kinds(model))
    notes = _identifier_notes(model, table) | guesses
    for note in list(notes.values())[:NOTES]:
        click.echo(f"Note: {note}")
    if len(notes) > NOTES:
        click.echo(f"Notes on {_counted(len(notes) - NOTES, 'more column')} are left out")
    click.echo()
    _print_rules(model, depth) if isinstance(model, C45Rules) else _print_tree(model, depth)
    if pruning:
        click.echo("\n" + _aligned(_pruning_rows(pruning)), nl=False)
    click.echo(f"\n{_summary(model)}{_pruned_from(model)}")
    if figures is None:
        click.echo("Not measured: --test FILE or --holdout 0.3 measures the tree on other rows")
    else:
        click.echo(f"{_headline(figures)} on {figures['n_rows']:,} {where}")
    if output is not None:
        click.echo(f"Saved as {output}")


def _compare_pruning(
    model: Estimator, training: list[pl.DataFrame], test: list[pl.DataFrame] | None, target: str
) -> dict[str, dict[str, Any]] | None:
    """Nodes and errors of a C4.5 tree as grown and as pruned, as Quinlan's program lists them; None where nothing is pruned."""
    if not isinstance(model, C45Classifier) or model.pruning is None:
        return None
    grown = copy.copy(model)
    grown.tree_ = model.tree_unpruned_
    compared = {}
    for name, estimator in (("grown", grown), ("pruned", model)):
        estimated = estimator.tree_.estimated_errors
        compared[name] = {
            "nodes": estimator.tree_.node_count,
            "training_rows": sum(block.height for block in training),
            "training_errors": _count_errors(estimator, training, target),
            "predicted_errors": None if estimated is None else float(estimated[0]),
            "test_rows": None if test is None else sum(block.height for block in test),
            "test_errors": None if test is None else _count_errors(estimator, test, target),
        }
    return compared


def _count_errors(model: C45Classifier, blocks: list[pl.DataFrame], target: str) -> int:
    labels = pl.Series(model.classes_.tolist())
    errors = 0
    for block, shares in zip(blocks, _answers(model, blocks, model.predict_proba), strict=True):
        truth = block[target]
        truth = truth.cast(pl.String) if isinstance(truth.dtype, pl.Enum | pl.Categorical) else truth
        errors += int((labels.gather(shares.argmax(axis=1).astype(np.uint32)) != truth).sum())
    return errors


def _pruning_rows(compared: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Lay the comparison out: a row per tree, a column per figure that there is."""
    rows = [["", "nodes", "training errors", "predicted", "test errors"]]
    for name, figures in compared.items():
        row = [name, f"{figures['nodes']:,}"]
        for errors, n_rows in (
            ("training_errors", "training_rows"),
            ("predicted_errors", "training_rows"),
            ("test_errors", "test_rows"),
        ):
            count = figures[errors]
            number = "" if count is None else f"{count:,.1f}" if errors == "predicted_errors" else f"{count:,}"
            row.append("" if count is None else f"{number} ({count / figures[n_rows]:.1%})")
        rows.append(row)
    given = [k for k in range(len(rows[0])) if k == 0 or any(row[k] for row in rows[1:])]
    return [[row[k] for k in given] for row in rows]


def _columns(option: str, given: Sequence[str], file: File) -> list[str]:
    """Names of columns, each option a name or a list of names parted by commas."""
    names = [name for text in given for name in ([text] if text in file.names else text.split(","))]
    for name in names:
        if name not in file.names:
            raise ValueError(f"{option} {name!r}: {file.path} has no such column; it has {_names(file.names)}{file.hint}")
    return list(dict.fromkeys(names))


def _order(text: str, file: File) -> tuple[str, list[str]]:
    name, equals, values = text.rpartition("=")
    if not equals:
        raise click.UsageError(f"--ordinal {text!r}: must be NAME=LOW,...,HIGH")
    return _columns("--ordinal", [name], file)[0], values.split(",")


def _typed_orders(orders: Mapping[str, list[str]], table: pl.DataFrame) -> dict[str, list[Any]]:
    """Orders in the type of their columns: those of a Parquet file may be numbers."""
    return {
        name: [_value(value) for value in order] if table.schema[name].is_numeric() else order for name, order in orders.items()
    }


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    """Make integers of 128 bits floats, as no estimator takes them."""
    return table.with_columns(pl.col(name).cast(pl.Float64) for name, dtype in table.schema.items() if str(dtype) == "Int128")


def _without(table: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Leave columns out; unlike polars' `drop` and `select` this takes a name such as * for a name."""
    left_out = set(names)
    return table[[name for name in table.columns if name not in left_out]]


def _column(table: pl.DataFrame, name: str) -> pl.Series:
    """Return a column without its name, which methods of a polars column may take for a pattern, too."""
    return table[name].alias("")


def _choose_task(column: pl.Series, task: str, algorithm: str, *, is_declared: bool) -> tuple[str, str]:
    """Return the task, and in words why and what to do if it is wrong; a column declared as numbers is not classes."""
    if task != "auto" or algorithm != "cart":
        if task == "regression" and algorithm != "cart":
            raise click.UsageError(f"{algorithm} grows classification trees: use --algorithm cart for --task regression")
        return ("classification" if task == "auto" else task), ""
    if not column.dtype.is_numeric():
        return "classification", ""
    if is_declared:
        return "regression", ""
    present = column.drop_nulls()
    n_distinct = present.n_unique()
    if present.dtype.is_float() and bool((present != present.floor()).any()):
        return "regression", " (chosen because it has fractions)"
    if n_distinct > FEW:
        return "regression", f" (chosen because it has {n_distinct:,} distinct numbers; --task classification makes them classes)"
    return "classification", f" (chosen because it has {n_distinct} distinct numbers; --task regression predicts a number)"


def _parameters(
    estimator: type[Estimator],
    seed: int,
    nominal: list[str],
    orders: Mapping[str, list[Any]],
    common: Mapping[str, str | bool | None],
    params: Sequence[str],
) -> dict[str, Any]:
    given: dict[str, Any] = {
        name: _parameter(name, asked) if isinstance(asked, str) else asked for name, asked in common.items() if asked is not None
    }
    if nominal:
        given["categorical_features"] = nominal
    if orders:
        given["ordinal_features"] = dict(orders)
    for text in params:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise click.UsageError(f"--param {text!r}: must be NAME=VALUE")
        if name in given:
            raise click.UsageError(f"{name} is given twice")
        given[name] = _parameter(name, value)
    known = estimator._get_param_names()
    for name in given:
        if name not in known:
            raise ValueError(f"{estimator.__name__} has no parameter {name!r}; it has {', '.join(known)}")
    return {"random_state": seed} | given


def _parameter(name: str, text: str) -> Any:
    """Read the value of a parameter, none of which is text that looks like a dict or a list."""
    value = _value(text)
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        raise click.UsageError(
            f"{name}: {text!r} cannot be read: write text in quotes, such as {{'yes': 2, 'no': 1}} or ['a', 'b']"
        )
    return value


def _value(text: str) -> Any:
    """Read a number, None, or what else Python writes; anything else is text."""
    if text.strip().lower() in ("none", "null", ""):
        return None
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text


def _split(table: pl.DataFrame, share: float, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Keep back a share of the rows at random, in their order."""
    n_held_out = round(share * table.height)
    if not 0 < n_held_out < table.height:
        raise ValueError(f"--holdout {share:g} of {table.height:,} rows leaves none to learn or to measure on")
    held_out = np.zeros(table.height, dtype=bool)
    held_out[np.random.default_rng(seed).permutation(table.height)[:n_held_out]] = True
    return table.filter(~held_out), table.filter(held_out)


def _save(model: Estimator, target: str, path: str) -> None:
    """Save a model as its `save` does, and the target's name with it."""
    document = model._to_document()
    document["targets"][0]["name"] = target
    _document.save(path, document)


def _load(path: str) -> tuple[Estimator, str]:
    """Read a tree or rules, and the name of the target (y where it has none)."""
    with _document.errors_in(path):
        document = _document.load(path)
    return from_document(document, path), document["targets"][0].get("name", "y")


def _load_of_one_target(path: str) -> tuple[Estimator, str]:
    """Read as `_load`, and refuse a tree of several targets, which only Python grows."""
    model, target = _load(path)
    if not isinstance(model, C45Rules) and model.n_outputs_ > 1:
        raise ValueError(
            f"{path} holds a tree of {model.n_outputs_} targets: the command line shows it, but answers for one target alone; "
            f"use fasttree.load in Python"
        )
    return model, target


def _check_output(path: str, inputs: Sequence[str | None]) -> None:
    """Find out before the work what would spoil it at the end."""
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


# predict


@fasttree.command(
    epilog=_examples(
        "fasttree predict model.json examples/adult.test.csv.gz --proba --output predictions.csv",
        "fasttree predict model.json examples/adult.test.csv.gz | head",
    )
)
@click.argument("model")
@click.argument("data")
@click.option("--output", "-o", metavar="FILE", help="CSV, or Parquet if the name ends in .parquet; default: CSV to stdout.")
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@_table_options
def predict(model: str, data: str, output: str | None, proba: bool, markers: Sequence[str], separator: str) -> None:
    """Predict the rows of DATA, in their order, by a saved tree.

    DATA is a file as for `train`.  Columns go by their names; others than those that the tree was grown on are ignored.
    """
    tree, _ = _load_of_one_target(model)
    if proba and isinstance(tree, BaseRegressor):
        raise ValueError(f"{model} is a regression tree, which has no classes for --proba")
    file = _open(data, markers, separator)
    file.require(feature.name for feature in tree.schema_.features)  # before the header is written
    if output is None or output == "-":
        # a bar on the terminal that shows the rows would only be in their way
        blocks = _read_blocks(file, tree, quiet=sys.stdout.isatty())
        _write_csv(_predictions(tree, blocks, proba), sys.stdout.buffer)
        return
    _check_output(output, [model, data])
    with whole_file(output) as stream:
        predictions = _predictions(tree, _read_blocks(file, tree), proba)
        if output.endswith((".parquet", ".pq")):
            pl.concat(predictions).write_parquet(stream)
        else:
            _write_csv(predictions, stream)


def _predictions(model: Estimator, blocks: Iterable[pl.DataFrame], proba: bool) -> Iterator[pl.DataFrame]:
    """Predictions by block; the first is empty, so that a table without rows has a header too."""
    if isinstance(model, BaseRegressor):
        yield pl.DataFrame({"prediction": np.empty(0)})
        for values in _answers(model, blocks, model.predict):
            yield pl.DataFrame({"prediction": values})
        return
    labels = pl.Series("prediction", model.classes_.tolist())
    columns = [f"probability of {label}" for label in model.classes_.tolist()]
    shares = np.empty((0, len(labels)))
    for probability in itertools.chain([shares], _answers(model, blocks, model.predict_proba)):
        block = pl.DataFrame([labels.gather(_predicted(model, probability).astype(np.uint32))])
        if proba:
            block = block.with_columns(pl.Series(name, probability[:, k]) for k, name in enumerate(columns))
        yield block


def _predicted(model: Estimator, probability: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """Index of the class that a classifier answers for each row of probabilities."""
    return best_classes(probability, model.tree_.loss if isinstance(model, BaseTree) else None)


def _answers(model: Estimator, blocks: Iterable[pl.DataFrame], ask: Callable[[Any], Any]) -> Iterator[Any]:
    """Ask a model about each block of rows."""
    start = 0
    for block in blocks:
        if block.height == 0:
            continue
        features = block[[feature.name for feature in model.schema_.features]]
        try:
            with warnings.catch_warnings():
                # A model of nameless columns calls them x0, x1, ...; going by these names is right here.
                warnings.filterwarnings("ignore", message="X has feature names", category=UserWarning)
                yield ask(features)
        except (ValueError, TypeError) as error:
            counted = f" (rows counted from row {start})" if start and "row" in str(error) else ""
            raise ValueError(f"{error}{counted}") from None
        start += block.height


def _write_csv(blocks: Iterable[pl.DataFrame], stream: BinaryIO) -> None:
    for number, block in enumerate(blocks):
        stream.write(block.write_csv(include_header=number == 0).encode())
    stream.flush()  # here a reader that went away is no surprise


def _read_blocks(file: File, model: Estimator, target: str | None = None, quiet: bool = False) -> Iterator[pl.DataFrame]:
    """Read the model's columns, and its target if named, in blocks; a bar shows the progress on a terminal."""
    types: dict[str, pl.DataType] = {feature.name: _dtype(feature.categories) for feature in model.schema_.features}
    if target is not None:
        types[target] = _dtype(model.classes_.tolist() if hasattr(model, "classes_") else None)
    with Progress(transient=True, console=Console(stderr=True), disable=quiet or not sys.stderr.isatty()) as progress:
        bar = progress.add_task(os.path.basename(file.path), total=1.0)
        for number, block in enumerate(file.blocks(types)):
            if number == 0:
                _print_notes(file)
            yield block
            progress.update(bar, completed=file.share_read)


def _print_notes(file: File) -> None:
    for note in file.notes:
        click.echo(f"Note: {_one_line(note)}", err=True)


def _dtype(labels: Sequence[Any] | None) -> pl.DataType:
    """Return the type in which cells of CSV are to be read to equal these categories or classes, or numbers if None."""
    if labels is None or not labels:
        return pl.Float64() if labels is None else pl.String()
    if isinstance(labels[0], str):
        return pl.String()
    if isinstance(labels[0], bool):
        return pl.Boolean()
    is_exact = isinstance(labels[0], float) or max(map(abs, labels)) <= 2**53
    return pl.Float64() if is_exact else pl.Int64()  # 3.0 is the category 3


# evaluate


@fasttree.command(epilog=_examples("fasttree evaluate model.json examples/adult.test.csv.gz"))
@click.argument("model")
@click.argument("data")
@click.option("--target", metavar="NAME", help="Column with the truth; by default the one that the tree was grown for.")
@click.option("--json", "as_json", is_flag=True, help="Print figures for programs.")
@_table_options
def evaluate(model: str, data: str, target: str | None, as_json: bool, markers: Sequence[str], separator: str) -> None:
    """Measure a saved tree on DATA that has the target too.

    DATA is a file as for `train`.  Classification: accuracy, precision, recall and F1 of each class, confusion matrix.
    Regression: R², RMSE, MAE.
    """
    tree, saved = _load_of_one_target(model)
    file = _open(data, markers, separator)
    if target is None:
        target = saved if saved in file.names or file.target is None else file.target
    if target not in file.names:
        raise ValueError(f"{data} has no column {target!r}: name the truth by --target; it has {_names(file.names)}{file.hint}")
    figures = _evaluate(tree, _read_blocks(file, tree, target), target)
    if as_json:
        click.echo(json.dumps(_finite(figures), ensure_ascii=False))
        return
    click.echo(f"{_headline(figures)} on {figures['n_rows']:,} rows of {data}")
    if "classes" not in figures:
        return
    rows = [["", "precision", "recall", "F1", "rows"]]
    for entry in figures["classes"]:
        scores = ["-" if math.isnan(entry[name]) else f"{entry[name]:.4f}" for name in ("precision", "recall", "f1")]
        rows.append([_word(entry["class"]), *scores, f"{entry['rows']:,}"])
    click.echo("\n" + _aligned(rows))
    names = [_word(entry["class"]) for entry in figures["classes"]]
    if len(names) > SHOWN_CLASSES:
        click.echo(f"The confusion matrix of {len(names)} classes is in --json")
        return
    counts = [[name, *map("{:,}".format, row)] for name, row in zip(names, figures["confusion"], strict=True)]
    click.echo("Rows by true class (down) and predicted class (across)\n\n" + _aligned([["", *names], *counts]).rstrip("\n"))


def _evaluate(model: Estimator, blocks: Iterable[pl.DataFrame], target: str) -> dict[str, Any]:
    """Compare a model's predictions with the truth in the column `target`."""
    truths: list[pl.Series] = []

    def with_truth() -> Iterator[pl.DataFrame]:
        for block in blocks:
            truths.append(block[target])
            yield block

    if isinstance(model, BaseRegressor):
        answers = list(_answers(model, with_truth(), model.predict))
    else:
        answers = [_predicted(model, shares) for shares in _answers(model, with_truth(), model.predict_proba)]
    if not answers:
        raise ValueError("the table to measure on has no rows")
    truth, predicted = pl.concat(truths), np.concatenate(answers)
    if n_missing := truth.null_count():
        raise ValueError(f"column {target!r} is missing in {n_missing:,} of {truth.len():,} rows: leave these rows out")
    if isinstance(model, BaseRegressor):
        return _compare_values(truth.cast(pl.Float64).to_numpy(), predicted)
    return _compare_classes(truth.to_list(), predicted, model.classes_.tolist(), target)


def _compare_values(truth: Any, predicted: Any) -> dict[str, Any]:
    return {
        "n_rows": len(truth),
        "r2": float(r2_score(truth, predicted)) if len(truth) > 1 else math.nan,
        "rmse": float(root_mean_squared_error(truth, predicted)),
        "mae": float(mean_absolute_error(truth, predicted)),
    }


def _compare_classes(truth: list[Any], predicted: Any, classes: list[Any], target: str) -> dict[str, Any]:
    index = {label: k for k, label in enumerate(classes)}
    true_codes = np.fromiter((index.setdefault(label, len(index)) for label in truth), dtype=np.intp, count=len(truth))
    if (true_codes >= len(classes)).all():
        raise ValueError(f"column {target!r} holds {_names(sorted(set(truth)))}; the tree knows only {_names(classes)}")
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


# show


@fasttree.command(
    epilog=_examples("fasttree show model.json --max-depth 3", "fasttree show model.json --weights --missing | less")
)
@click.argument("model")
@click.option("--max-depth", type=click.IntRange(0), metavar="N", help="Levels of branches to draw; default: all.")
@click.option("--weights", is_flag=True, help="Say the weight of each class at every branch.")
@click.option("--missing/--no-missing", default=None, help="Say where missing values go; default: where it is a surprise.")
@click.option("--surrogates", is_flag=True, help="Say above the branches of a test what stands in where its value is missing.")
@click.option("--ascii", "as_ascii", is_flag=True, help="Draw with ASCII characters alone.")
def show(model: str, max_depth: int | None, weights: bool, missing: bool | None, surrogates: bool, as_ascii: bool) -> None:
    """Draw a saved tree as text, or list saved rules."""
    tree, _ = _load(model)
    if isinstance(tree, C45Rules):
        if max_depth is not None or weights or missing is not None or surrogates or as_ascii:
            raise click.UsageError(f"{model} holds rules, which are listed as they are: leave out the options")
        click.echo(f"{tree.export_text()}\n{_summary(tree)}")
        return
    as_ascii = as_ascii or not _draws()
    click.echo(
        tree.export_text(
            max_depth=max_depth, show_weights=weights, show_missing=missing, show_surrogates=surrogates, ascii=as_ascii
        )
    )
    click.echo(_summary(tree))


# Words and figures


def _print_depth(text: str | None) -> float | None:
    """Levels to print: infinity for all, None for as many as fit on a page."""
    if text is None:
        return None
    if text == "all":
        return math.inf
    if not text.isdecimal():
        raise click.UsageError(f"--print-depth {text!r}: must be a number of levels, or all")
    return int(text)


def _print_rules(model: C45Rules, depth: float | None) -> None:
    lines = model.export_text().splitlines(keepends=True)
    left_out = 0 if depth is not None else max(0, len(lines) - 1 - LINES)  # the last line is the default class
    click.echo("".join(lines[: len(lines) - 1 - left_out]), nl=False)
    if left_out:
        click.echo(f"{'…' if _draws() else '...'} {_counted(left_out, 'more rule')}; --print-depth all prints everything")
    click.echo(lines[-1], nl=False)


def _print_tree(model: TreeEstimator, depth: float | None) -> None:
    deepest = model.get_depth()
    if depth is None:
        lines = np.cumsum(np.bincount(model.tree_.depth())) - 1  # a line per node but the root
        depth = max(1, int(np.searchsorted(lines, LINES, side="right")) - 1)
    drawn = min(depth, deepest)
    click.echo(model.export_text(max_depth=int(drawn), ascii=not _draws()), nl=False)
    if drawn < deepest:
        click.echo(f"\nPrinted to depth {drawn} of {deepest}; --print-depth all prints everything")


def _draws() -> bool:
    """Whether standard output can show the lines of a drawing."""
    try:
        "├└│─…".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _task(model: Estimator) -> str:
    return "regression" if isinstance(model, BaseRegressor) else "classification"


def _described(model: Estimator, target: str) -> dict[str, Any]:
    if isinstance(model, C45Rules):
        return {
            "algorithm": "c45rules",
            "task": _task(model),
            "target": target,
            "n_rows": int(model.class_count_.sum()),
            "rules": len(model.rules_),
            "conditions": sum(len(rule.conditions) for rule in model.rules_),
        }
    tree = model.tree_
    return {
        "algorithm": model.recipe_.name,
        "task": _task(model),
        "target": target,
        "n_rows": int(tree.n_samples[0]),
        "nodes": tree.node_count,
        "leaves": model.get_n_leaves(),
        "depth": model.get_depth(),
    }


def _summary(model: Estimator) -> str:
    if isinstance(model, C45Rules):
        n_conditions = sum(len(rule.conditions) for rule in model.rules_)
        sizes = f"{_counted(len(model.rules_), 'rule')}, {_counted(n_conditions, 'condition')}"
        return f"{type(model).__name__}: {sizes}, learned from {_counted(int(model.class_count_.sum()), 'row')}"
    tree = model.tree_
    sizes = f"{_counted(tree.node_count, 'node')}, {_counted(model.get_n_leaves(), 'leaf', 'leaves')}, depth {model.get_depth()}"
    return f"{type(model).__name__}: {sizes}, grown on {_counted(int(tree.n_samples[0]), 'row')}"


def _pruned_from(model: Estimator) -> str:
    """Say what a pruning took off, and how the rest did on samples that it was chosen by."""
    # C4.5's comparison is a table of its own
    if isinstance(model, C45Rules | C45Classifier) or model.tree_unpruned_.node_count == model.tree_.node_count:
        return ""
    line = f"\nPruned from {_counted(model.tree_unpruned_.n_leaves, 'leaf', 'leaves')}"
    if (table := getattr(model, "pruning_table_", None)) is None:
        return line
    plus = "±" if _draws() else "+-"
    error, deviation = float(table.xerror[table.chosen]), float(table.xstd[table.chosen])
    return f"{line}: relative error {error:.3f} {plus} {deviation:.3f} (a single leaf: 1) on samples that did not grow it"


def _kinds(model: Estimator) -> str:
    """List the columns by kind, at most three lines a kind."""
    columns: dict[str, list[str]] = {}
    for feature in model.schema_.features:
        columns.setdefault(feature.kind.name.capitalize(), []).append(_word(feature.name))
    return "\n".join(
        textwrap.fill(
            f"{kind} ({len(names)}): {', '.join(names)}",
            WIDTH,
            max_lines=3,
            placeholder=" …",
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
        for kind, names in columns.items()
    )


def _marker_notes(table: pl.DataFrame) -> dict[str, str]:
    """Say, by column, which text keeps a column of numbers from being one."""
    notes = {}
    for name in [name for name, dtype in table.schema.items() if dtype == pl.String]:
        present = _column(table, name).drop_nulls()
        others = present.filter(present.cast(pl.Float64, strict=False).is_null())
        if 0 < others.len() <= (1 - NEARLY) * present.len():
            text, count = others.value_counts(sort=True).row(0)
            cells = _counted(count, "cell") + (f" (and others in {others.len() - count:,})" if count < others.len() else "")
            notes[name] = (
                f"{_word(name)} is nominal because of {text!r} in {cells}; if that means missing, add --missing-marker {text!r}"
            )
    return notes


def _identifier_notes(model: Estimator, table: pl.DataFrame) -> dict[str, str]:
    """Say, by column, which nominal columns seem to number the rows."""
    nominal = [feature.name for feature in model.schema_.features if feature.kind.name == "NOMINAL"]
    return {
        name: f"{_word(name)} has a value of its own in nearly every row; --ignore {_word(name)} if it is an identifier"
        for name in nominal
        if table.height >= MANY and _column(table, name).n_unique() > NEARLY * table.height
    }


def _counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _headline(figures: Mapping[str, Any]) -> str:
    if "accuracy" not in figures:
        return f"R² {figures['r2']:.4f}, RMSE {figures['rmse']:.6g}, MAE {figures['mae']:.6g}"
    guess = f"always {_word(figures['largest_class'])}: {figures['largest_share']:.4f}"
    return f"Accuracy {figures['accuracy']:.4f} ({guess})"


def _finite(figures: Any) -> Any:
    """Turn what is not a number into null, which JSON knows."""
    if isinstance(figures, dict):
        return {name: _finite(value) for name, value in figures.items()}
    if isinstance(figures, list):
        return [_finite(value) for value in figures]
    return None if isinstance(figures, float) and not math.isfinite(figures) else figures


def _word(label: Any) -> str:
    text = str(label)
    return text if text and text.isprintable() else ascii(text)


def _names(names: Sequence[Any], shown: int = 8) -> str:
    text = ", ".join(repr(name) for name in names[:shown])
    return f"{text}, … ({len(names)} in all)" if len(names) > shown else text


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Lay cells out in columns, the first flush left, the others flush right."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first + " " * (widths[0] - cell_len(first))]
        cells += [" " * (width - cell_len(cell)) + cell for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


@contextlib.contextmanager
def _status(text: str) -> Iterator[None]:
    """Say on a terminal what is being done; nothing in a pipe."""
    if sys.stderr.isatty():
        with Console(stderr=True).status(text):
            yield
    else:
        yield
