"""The command train."""

from __future__ import annotations

import copy
import math
import re
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fasttree._cli.console import aligned, draws, examples, learning, print_json, word
from fasttree._cli.evaluating import headline, measure
from fasttree._cli.large import OnDisk, Trained, Wish, disk_options, is_large
from fasttree._cli.models import (
    ALGORITHMS,
    WORDS,
    answers,
    check_output,
    describe,
    holds_any_rules,
    holds_committee,
    holds_forest,
    holds_rules,
    holds_shapes,
    judged_out_of_bag,
    predicts_numbers,
    read_blocks,
    summarize,
)
from fasttree._cli.options import (
    FILE,
    any_parameter_option,
    json_option,
    learning_options,
    parameter_options,
    read_parameters,
    seed_option,
    table_options,
)
from fasttree._cli.tables import Asked, column, hold_out, open_file, without
from fasttree._cli.terminal import columns, fitted
from fasttree._model.words import counted

if TYPE_CHECKING:
    import polars as pl

    from fasttree._cli.models import Estimator
    from fasttree.estimators.c45 import C45Classifier
    from fasttree.estimators.persistence import TreeEstimator

__all__ = ["train"]

NEARLY = 0.9  # smallest share of the cells of a column for a note
MANY = 50  # fewest rows for a note on identifiers; in fewer rows, all values may well be different
NOTES = 8  # most notes on columns
DATE = re.compile(r"\d{4}-\d\d-\d\d($|[T ])")
WIDTH = 100  # of a line of column names
FEATURES = 10  # most importances that `train` prints
LINES = 60  # most lines of a tree or of rules that `train` prints by default
algorithm_option = click.option(
    "--algorithm", type=click.Choice(WORDS), metavar="NAME", default="cart", show_default=True, help=f"One of {', '.join(WORDS)}."
)


@click.command(
    epilog=examples(
        "fasttree train examples/iris.csv --target class --holdout 0.3",
        "fasttree train examples/golf.names --algorithm c45",
        "fasttree train examples/mushroom.csv.gz --target class --algorithm id3 --ignore stalk-root",
        "fasttree train examples/auto-mpg.csv --target mpg --ordinal cylinders=3,4,5,6,8 --max-depth 3 -o cars.json",
        "fasttree train examples/iris.csv --target class --algorithm forest --trees 500 -o forest.json",
        "fasttree train 'examples/iris*.csv' --target class --memory 1GiB",
    ),
)
@click.argument("data", type=FILE)
@learning_options
@algorithm_option
@click.option(
    "--test", metavar="FILE", type=FILE, help="Table with the same columns to measure the tree on; by default C4.5's .test file."
)
@click.option("--holdout", type=float, metavar="SHARE", help="Share of the rows to hold out for measuring, such as 0.3.")
@seed_option("Seed of the hold-out, of forests and of max_features.")
@click.option("--output", "-o", metavar="FILE", type=FILE, help="Save the model as JSON; a name that ends in .gz is compressed.")
@parameter_options
@any_parameter_option
@click.option("--print-depth", metavar="N|all", help="Levels of the tree to print; by default those that fit on a page.")
@json_option(
    "algorithm, task, target, n_rows (grown on, null for cubist), nodes, leaves, depth (of rules: rules, conditions), evaluation "
    "(as `evaluate` prints it, or null); of a c45 tree that is pruned: pruning (grown, pruned: nodes and errors); of a forest: "
    "trees, nodes, oob_score (accuracy or r2 out of the bags, or null), importances (name, impurity)."
)
@disk_options
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
    """Grow a tree or a forest on DATA (or, by c45rules or cubist, learn rules), print it and measure it.

    A forest prints the importances of its features instead of its trees, and its out-of-bag error: each row is predicted by the
    trees that have not drawn it (Breiman, "Random forests", Machine Learning 45, 2001).

    DATA is a CSV file with a header (also .csv.gz), a Parquet file, an ARFF file (.arff) or one of C4.5's files (.names, .data).
    A folder of Parquet or CSV files, or a pattern of their names in quotes, is not loaded: it may be larger than memory, and cart
    and forests grow the same trees as in memory (--memory, --scratch).
    Columns of text are nominal, columns of numbers continuous.  For id3, columns of integers are nominal too, and continuous ones
    are an error.
    """
    if test is not None and holdout is not None:
        raise click.UsageError("give --test or --holdout, not both")
    if holdout is not None and not 0 < holdout < 1:
        raise click.UsageError(f"--holdout {holdout:g}: must be a share between 0 and 1")
    depth = _print_depth(print_depth, algorithm)
    if output is not None:
        check_output(output, [data, test])
    large = OnDisk(data, markers, separator) if is_large(data) else None
    if large is not None and holdout is not None:
        raise click.UsageError("--holdout needs the table in memory: keep some files apart, and measure on one of them by --test")
    file = open_file(data, markers, separator) if large is None else large.first
    asked = Asked.of(file, target, ignore, categorical, ordinal)
    if holdout is None and test is None:
        test = file.test_path
    test_file = None if test is None else open_file(test, markers, separator)
    if test_file is not None:
        test_file.require(name for name in file.names if name not in asked.ignored)
    wish = Wish(asked, algorithm, task, seed, common, params)
    grown = _grow_in_memory(wish, holdout) if large is None else large.grow(wish)
    model, where = grown.model, ""
    blocks: Any = None  # rows to measure on
    if grown.held_out is not None:
        blocks, where = [grown.held_out], f"held-out rows (seed {seed})"
    if test_file is not None:
        read = (block for block in read_blocks(test_file, model, asked.target) if block.height)
        blocks, where = (list(read) if large is None else read), f"rows of {test_file.path}"
    figures = None if blocks is None else measure(model, blocks, asked.target)
    pruning = None if grown.table is None else _compare_pruning(model, [grown.table], blocks, asked.target)
    if output is not None:
        model.save(output)
    if as_json:
        described = describe(model, asked.target) | ({"pruning": pruning} if pruning else {})
        print_json(described | {"evaluation": figures})
        return
    _print_columns(grown, asked)
    click.echo()
    _print_model(model, depth)
    if pruning:
        click.echo("\n" + aligned(_pruning_rows(pruning)), nl=False)
    click.echo(f"\n{summarize(model)}{_about_growth(model)}")
    if figures is None:
        ways = "--test FILE or --holdout 0.3" if large is None else "--test FILE"
        what = _word_of(model)
        click.echo(f"Not measured: {ways} measures the {what} on other rows")
    else:
        click.echo(f"{headline(figures)} on {figures['n_rows']:,} {where}")
    if output is not None:
        click.echo(f"Saved as {output}")


def _word_of(model: Estimator) -> str:
    """Return what a model is, in a word."""
    if holds_committee(model):
        return "rules"
    return "forest" if holds_forest(model) else "model" if holds_shapes(model) else "tree"


def _grow_in_memory(wish: Wish, holdout: float | None) -> Trained:
    """Read the whole table, hold rows out if asked, and fit."""
    asked = wish.asked
    table = asked.read()
    notes = _marker_notes(without(table, [*asked.nominal, *asked.orders])) if asked.file.is_csv else {}
    task, reason = asked.choose_task(table, wish.task, [wish.algorithm])
    estimator: type[Estimator] = ALGORITHMS[wish.algorithm, task].load()
    model = _with_oob_score(estimator(**read_parameters(estimator, wish.seed, asked.kinds(table), wish.common, wish.params)))
    held_out = None
    if holdout is not None:
        table, held_out = hold_out(table, holdout, wish.seed)
    _fit(model, table, asked.target)
    return Trained(model, task, reason, table, held_out, _identifier_notes(model, table) | _date_notes(model, table) | notes)


def _print_columns(grown: Trained, asked: Asked) -> None:
    """Print the task, the kinds of the columns, and notes on some of them."""
    model, notes = grown.model, list(grown.notes.values())
    classes = f", {counted(model.n_classes_, 'class', 'classes')}" if not predicts_numbers(model) else ""
    click.echo(f"{word(asked.target)}: {grown.task}{classes}{grown.reason}")
    click.echo(_kinds(model))
    for note in notes[:NOTES]:
        click.echo(f"Note: {note}")
    if len(notes) > NOTES:
        click.echo(f"Notes on {counted(len(notes) - NOTES, 'more column')} are left out")


def _compare_pruning(
    model: Estimator, training: list[pl.DataFrame], test: list[pl.DataFrame] | None, target: str
) -> dict[str, dict[str, Any]] | None:
    """Return nodes and errors of a C4.5 tree as grown and as pruned, as Quinlan's program lists them; None without pruning."""
    from fasttree.estimators.c45 import C45Classifier

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
    import polars as pl

    labels = pl.Series(model.classes_.tolist())
    errors = 0
    for block, shares in zip(blocks, answers(model, blocks, model.predict_proba), strict=True):
        truth = block[target]
        truth = truth.cast(pl.String) if isinstance(truth.dtype, pl.Enum | pl.Categorical) else truth
        errors += int((labels.gather(shares.argmax(axis=1).astype(np.uint32)) != truth).sum())
    return errors


def _pruning_rows(compared: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Return the comparison as a row per tree and a column per figure."""
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


def _with_oob_score(model: Estimator) -> Estimator:
    """Let a forest judge itself out of its bags, if its trees have bags."""
    forest: Any = model
    if getattr(forest, "oob_score", None) is False and (forest.bootstrap is not False or forest.max_samples is not None):
        forest.set_params(oob_score=True)
    return model


def _fit(model: Estimator, table: pl.DataFrame, target: str) -> None:
    with learning(f"{table.height:,} rows"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="some samples are in every bag", category=UserWarning)  # a note says so
        model.fit(without(table, [target]), table[target])


def _print_depth(text: str | None, algorithm: str) -> float | None:
    """Return the levels to print: infinity for all, None for those that fit on a page."""
    if text is None:
        return None
    if algorithm == "gam":
        raise click.UsageError(f"--print-depth {text}: an additive model has no depth, so leave it out")
    if any(entry.makes_forest and entry.word == algorithm for entry in ALGORITHMS.values()):
        raise click.UsageError(
            f"--print-depth {text}: a forest is not printed, so leave it out; `fasttree show MODEL --tree 0` prints a tree of a "
            f"forest that --output saved"
        )
    if algorithm in ("c45rules", "cubist") and text != "all":
        raise click.UsageError("rules have no depth: --print-depth must be all")
    if text == "all":
        return math.inf
    if not text.isdecimal():
        raise click.UsageError(f"--print-depth {text!r}: must be a number of levels, or all")
    return int(text)


def _print_model(model: Estimator, depth: float | None) -> None:
    if holds_forest(model) or holds_shapes(model):
        _print_importances(model)
    elif holds_any_rules(model):
        _print_rules(model, depth)
    else:
        _print_tree(model, depth)


def _print_importances(forest: Any) -> None:
    """Print the features of a forest that reduce the impurity most, or those of an additive model with the largest scores."""
    shares = forest.feature_importances_
    order = np.argsort(-shares, kind="stable")[:FEATURES]
    rows = [[word(forest.schema_.features[feature].name), f"{shares[feature]:.4f}"] for feature in order]
    click.echo(aligned([["", "importance"], *rows]), nl=False)
    if left_out := len(shares) - len(order):
        more = counted(left_out, "more feature")
        click.echo(f"{'…' if draws() else '...'} {more}; fasttree importances lists those of a model that --output saved")


def _print_rules(model: Any, depth: float | None) -> None:
    """Print the rules of C4.5 or C5.0, whose last line is the default class, or those of Cubist, of which some are headings."""
    lines = model.export_text().splitlines(keepends=True)
    last = "" if holds_committee(model) else lines.pop()
    left_out = 0 if depth is not None else max(0, len(lines) - LINES)
    click.echo("".join(lines[: len(lines) - left_out]), nl=False)
    if left_out:
        more = counted(left_out, "more line" if holds_committee(model) else "more rule")
        click.echo(f"{'…' if draws() else '...'} {more}; --print-depth all prints everything")
    click.echo(last, nl=False)


def _print_tree(model: TreeEstimator, depth: float | None) -> None:
    deepest = model.get_depth()
    if depth is None:
        lines = np.cumsum(np.bincount(model.tree_.depth())) - 1  # a line per node but the root
        depth = max(1, int(np.searchsorted(lines, LINES, side="right")) - 1)
    drawn = min(depth, deepest)
    click.echo(fitted(model.export_text(max_depth=int(drawn), width=columns(), ascii=not draws())), nl=False)
    if drawn < deepest:
        click.echo(f"\nPrinted to depth {drawn} of {deepest}; --print-depth all prints everything")


def _about_growth(model: Estimator) -> str:
    """Describe the pruning of a tree, or the out-of-bag error of a forest, in lines of their own."""
    if holds_shapes(model) or holds_committee(model):
        return ""
    return _out_of_bag(model) if holds_forest(model) else _pruned_from(model)


def _out_of_bag(forest: Any) -> str:
    line = judged_out_of_bag(forest)
    text = "" if line is None else f"\n{line}"
    found = getattr(forest, "oob_decision_function_", getattr(forest, "oob_prediction_", None))
    if found is None or not (n_unjudged := int(np.isnan(found.reshape(len(found), -1)[:, 0]).sum())):
        return text
    rows = f"{counted(n_unjudged, 'row')} of {len(found):,} {'is' if n_unjudged == 1 else 'are'}"
    return f"{text}\nNote: {rows} in every bag, and not in the out-of-bag error; more --trees help"


def _pruned_from(model: Estimator) -> str:
    """Describe the pruning: the leaves before, and the error on the samples that chose the subtree."""
    from fasttree.estimators.c45 import C45Classifier

    # C4.5's comparison is its own table
    if holds_rules(model) or isinstance(model, C45Classifier) or model.tree_unpruned_.node_count == model.tree_.node_count:
        return ""
    line = f"\nPruned from {counted(model.tree_unpruned_.n_leaves, 'leaf', 'leaves')}"
    if (table := getattr(model, "pruning_table_", None)) is None:
        return line
    plus = "±" if draws() else "+-"
    error, deviation = float(table.xerror[table.chosen]), float(table.xstd[table.chosen])
    return f"{line}: relative error {error:.3f} {plus} {deviation:.3f} (a single leaf: 1) on samples that did not grow it"


def _kinds(model: Estimator) -> str:
    """List the columns by kind, in at most three lines per kind."""
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
    """Return notes on columns of numbers that are nominal because of some text."""
    import polars as pl

    notes = {}
    for name in [name for name, dtype in table.schema.items() if dtype == pl.String]:
        present = column(table, name).drop_nulls()
        others = present.filter(present.str.strip_chars_start(" ").cast(pl.Float64, strict=False).is_null())
        if 0 < others.len() <= (1 - NEARLY) * present.len():
            text, count = others.value_counts(sort=True).row(0)
            cells = counted(count, "cell") + (f" (and others in {others.len() - count:,})" if count < others.len() else "")
            notes[name] = (
                f"{word(name)} is nominal because of {text!r} in {cells}; if that means missing, add --missing-marker {text!r}"
            )
    return notes


def _date_notes(model: Estimator, table: pl.DataFrame) -> dict[str, str]:
    """Return notes on nominal columns that hold dates."""
    nominal = [feature.name for feature in model.schema_.features if feature.kind.name == "NOMINAL"]
    values = {name: column(table, name).drop_nulls().unique().cast(str).to_list() for name in nominal}
    return {
        name: f"{word(name)} looks like dates, and is taken for {len(found):,} categories; --ignore {word(name)} leaves it out"
        for name, found in values.items()
        if found and all(map(DATE.match, found))
    }


def _identifier_notes(model: Estimator, table: pl.DataFrame) -> dict[str, str]:
    """Return notes on nominal columns that may be identifiers of the rows."""
    nominal = [feature.name for feature in model.schema_.features if feature.kind.name == "NOMINAL"]
    return {
        name: f"{word(name)} has a value of its own in nearly every row; --ignore {word(name)} if it is an identifier"
        for name in nominal
        if table.height >= MANY and column(table, name).n_unique() > NEARLY * table.height
    }
