"""The command train."""

from __future__ import annotations

import copy
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np
import polars as pl

from .._base import BaseRegressor
from ..estimators import C45Classifier, TreeEstimator
from ..rules import C45Rules
from .console import aligned, counted, draws, examples, print_json, status, word
from .evaluating import headline, measure
from .models import ALGORITHMS, Estimator, answers, check_output, describe, read_blocks, summarize
from .options import (
    FILE,
    json_option,
    learning_options,
    other_parameters,
    parameter_options,
    read_parameters,
    seed_option,
    table_options,
)
from .tables import Asked, column, hold_out, open_file, without

__all__ = ["train"]

NEARLY = 0.9  # share of the cells of a column that makes a note worth while
MANY = 50  # rows; in fewer, each may well have a value of its own
NOTES = 8  # on columns, at most
DATE = re.compile(r"\d{4}-\d\d-\d\d($|[T ])")
WIDTH = 100  # of a line of column names
LINES = 60  # of a tree or of rules that `train` prints unasked


@click.command(
    short_help="Grow a tree on a table, print it and measure it.",
    epilog=examples(
        "fasttree train examples/iris.csv --target class --holdout 0.3",
        "fasttree train examples/golf.names --algorithm c45",
        "fasttree train examples/mushroom.csv.gz --target class --algorithm id3 --ignore stalk-root",
        "fasttree train examples/auto-mpg.csv --target mpg --ordinal cylinders=3,4,5,6,8 --max-depth 3 -o cars.json",
    ),
)
@click.argument("data", type=FILE)
@learning_options
@click.option("--algorithm", type=click.Choice(["cart", "c45", "c45rules", "id3"]), default="cart", show_default=True)
@click.option(
    "--test", metavar="FILE", type=FILE, help="Table with the same columns to measure the tree on; by default C4.5's .test file."
)
@click.option("--holdout", type=float, metavar="SHARE", help="Share of the rows to keep back for measuring, such as 0.3.")
@seed_option("Of the hold-out and max_features.")
@click.option("--output", "-o", metavar="FILE", type=FILE, help="Save the tree as JSON; a name that ends in .gz is compressed.")
@parameter_options
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help=f"Any parameter of the estimator; repeatable. {other_parameters()}",
)
@click.option("--print-depth", metavar="N|all", help="Levels of the tree to print; by default as many as fit on a page.")
@json_option(
    "algorithm, task, target, n_rows (grown on), nodes, leaves, depth (of rules: rules, conditions), evaluation (as `evaluate` "
    "prints it, or null); of a c45 tree that is pruned: pruning (grown, pruned: nodes and errors)."
)
@table_options
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
        check_output(output, [data, test])
    file = open_file(data, markers, separator)
    asked = Asked.of(file, target, ignore, categorical, ordinal)
    target = asked.target
    if holdout is None and test is None:
        test = file.test_path
    test_file = None if test is None else open_file(test, markers, separator)
    if test_file is not None:
        test_file.require(name for name in file.names if name not in asked.ignored)
    table = asked.read()
    guesses = _marker_notes(without(table, [*asked.nominal, *asked.orders])) if file.is_csv else {}
    chosen, reason = asked.choose_task(table, task, [algorithm])
    estimator = ALGORITHMS[algorithm, chosen]
    model = estimator(**read_parameters(estimator, seed, asked.kinds(table), common, params))
    blocks, where = None, ""
    if holdout is not None:
        table, held_out = hold_out(table, holdout, seed)
        blocks, where = [held_out], f"held-out rows (seed {seed})"
    with status(f"Learning from {table.height:,} rows"):
        model.fit(without(table, [target]), table[target])

    if test_file is not None:
        blocks, where = [block for block in read_blocks(test_file, model, target) if block.height], f"rows of {test_file.path}"
    figures = None if blocks is None else measure(model, blocks, target)
    pruning = _compare_pruning(model, [table], blocks, target)
    if output is not None:
        model.save(output)
    if as_json:
        described = describe(model, target) | ({"pruning": pruning} if pruning else {})
        print_json(described | {"evaluation": figures})
        return
    classes = f", {counted(model.n_classes_, 'class', 'classes')}" if not isinstance(model, BaseRegressor) else ""
    click.echo(f"{word(target)}: {chosen}{classes}{reason}")
    click.echo(_kinds(model))
    notes = _identifier_notes(model, table) | _date_notes(model, table) | guesses
    for note in list(notes.values())[:NOTES]:
        click.echo(f"Note: {note}")
    if len(notes) > NOTES:
        click.echo(f"Notes on {counted(len(notes) - NOTES, 'more column')} are left out")
    click.echo()
    _print_rules(model, depth) if isinstance(model, C45Rules) else _print_tree(model, depth)
    if pruning:
        click.echo("\n" + aligned(_pruning_rows(pruning)), nl=False)
    click.echo(f"\n{summarize(model)}{_pruned_from(model)}")
    if figures is None:
        click.echo("Not measured: --test FILE or --holdout 0.3 measures the tree on other rows")
    else:
        click.echo(f"{headline(figures)} on {figures['n_rows']:,} {where}")
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
    for block, shares in zip(blocks, answers(model, blocks, model.predict_proba), strict=True):
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
        click.echo(f"{'…' if draws() else '...'} {counted(left_out, 'more rule')}; --print-depth all prints everything")
    click.echo(lines[-1], nl=False)


def _print_tree(model: TreeEstimator, depth: float | None) -> None:
    deepest = model.get_depth()
    if depth is None:
        lines = np.cumsum(np.bincount(model.tree_.depth())) - 1  # a line per node but the root
        depth = max(1, int(np.searchsorted(lines, LINES, side="right")) - 1)
    drawn = min(depth, deepest)
    click.echo(model.export_text(max_depth=int(drawn), ascii=not draws()), nl=False)
    if drawn < deepest:
        click.echo(f"\nPrinted to depth {drawn} of {deepest}; --print-depth all prints everything")


def _pruned_from(model: Estimator) -> str:
    """Say what a pruning took off, and how the rest did on samples that it was chosen by."""
    # C4.5's comparison is a table of its own
    if isinstance(model, C45Rules | C45Classifier) or model.tree_unpruned_.node_count == model.tree_.node_count:
        return ""
    line = f"\nPruned from {counted(model.tree_unpruned_.n_leaves, 'leaf', 'leaves')}"
    if (table := getattr(model, "pruning_table_", None)) is None:
        return line
    plus = "±" if draws() else "+-"
    error, deviation = float(table.xerror[table.chosen]), float(table.xstd[table.chosen])
    return f"{line}: relative error {error:.3f} {plus} {deviation:.3f} (a single leaf: 1) on samples that did not grow it"


def _kinds(model: Estimator) -> str:
    """List the columns by kind, at most three lines a kind."""
    columns: dict[str, list[str]] = {}
    for feature in model.schema_.features:
        columns.setdefault(feature.kind.name.capitalize(), []).append(word(feature.name))
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
        present = column(table, name).drop_nulls()
        others = present.filter(present.cast(pl.Float64, strict=False).is_null())
        if 0 < others.len() <= (1 - NEARLY) * present.len():
            text, count = others.value_counts(sort=True).row(0)
            cells = counted(count, "cell") + (f" (and others in {others.len() - count:,})" if count < others.len() else "")
            notes[name] = (
                f"{word(name)} is nominal because of {text!r} in {cells}; if that means missing, add --missing-marker {text!r}"
            )
    return notes


def _date_notes(model: Estimator, table: pl.DataFrame) -> dict[str, str]:
    """Say, by column, which nominal columns hold dates."""
    nominal = [feature.name for feature in model.schema_.features if feature.kind.name == "NOMINAL"]
    values = {name: column(table, name).drop_nulls().unique().cast(str).to_list() for name in nominal}
    return {
        name: f"{word(name)} looks like dates, and is taken for {len(found):,} categories; --ignore {word(name)} leaves it out"
        for name, found in values.items()
        if found and all(map(DATE.match, found))
    }


def _identifier_notes(model: Estimator, table: pl.DataFrame) -> dict[str, str]:
    """Say, by column, which nominal columns seem to number the rows."""
    nominal = [feature.name for feature in model.schema_.features if feature.kind.name == "NOMINAL"]
    return {
        name: f"{word(name)} has a value of its own in nearly every row; --ignore {word(name)} if it is an identifier"
        for name in nominal
        if table.height >= MANY and column(table, name).n_unique() > NEARLY * table.height
    }
