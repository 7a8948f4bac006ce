"""The command compare: algorithms and saved models on the same folds of a table, and intervals of their differences."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click.shell_completion import CompletionItem
from rich.cells import cell_len

from fasttree._cli.console import aligned, deviation, examples, listed, mean_and_deviation, plus, print_json, word
from fasttree._cli.entries import (
    FIGURES,
    SIZES,
    ComparedModel,
    Pair,
    differences,
    divide,
    learn,
    measure_saved,
    prepare,
    read_entry,
    spread,
)
from fasttree._cli.models import ALGORITHMS, holds_committee, load_of_one_target, n_grown_on, task_of
from fasttree._cli.options import FILE, json_option, learning_options, seed_option, table_options
from fasttree._cli.tables import Asked, find_target, open_file
from fasttree._model.words import counted

if TYPE_CHECKING:
    from fasttree._cli.entries import Fold

__all__ = ["compare"]

WIDEST_NAME = 26  # of an entry; longer names are listed under letters
TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss",
    "r2": "R²",
    "mae": "MAE",
    "leaves": "leaves",
    "depth": "depth",
    "rules": "rules",
    "trees": "trees",
    "nodes": "nodes",
    "terms": "terms",
    "fit_seconds": "fit, seconds",
}


def _complete_entries(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the algorithms, and let the shell complete files."""
    algorithms = dict.fromkeys(algorithm for algorithm, _ in ALGORITHMS)
    found = [CompletionItem(algorithm) for algorithm in algorithms if algorithm.startswith(incomplete)]
    return [*found, CompletionItem(incomplete, type="file")]


@click.command(
    epilog=examples(
        "fasttree compare examples/iris.csv cart c45 --target class",
        "fasttree compare examples/mushroom.csv.gz cart:max_depth=3 id3 c45 --target class --ignore stalk-root",
        "fasttree compare examples/auto-mpg.csv cart cart:min_samples_leaf=5,ccp_alpha=cv --target mpg --repeats 3",
        "fasttree train examples/adult.csv.gz --target income --output full.json",
        "fasttree train examples/adult.csv.gz --target income --max-depth 6 --output small.json",
        "fasttree compare examples/adult.test.csv.gz full.json small.json",
    ),
)
@click.argument("data", type=FILE)
@click.argument("entries", nargs=-1, required=True, shell_complete=_complete_entries, metavar="ENTRY...")
@learning_options
@click.option("--cv", type=click.IntRange(2), default=10, show_default=True, metavar="K", help="Folds of the cross-validation.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Cross-validations to make.")
@seed_option("Seed of the folds, of forests and of max_features.")
@click.option(
    "--by",
    type=click.Choice([name for names in FIGURES.values() for name in names]),
    help="Figure whose differences are printed; default: accuracy, or r2.",
)
@json_option(
    "target, task, n_rows, folds (n_splits, n_repeats, seed, stratified; null if all are saved models), level, entries (name, "
    "algorithm, parameters, saved, error, figures: each mean, deviation, by_fold), differences (first, second, method, figures: "
    "each difference, low, high)."
)
@table_options
def compare(
    data: str,
    entries: Sequence[str],
    target: str | None,
    task: str,
    categorical: Sequence[str],
    ordinal: Sequence[str],
    ignore: Sequence[str],
    cv: int,
    repeats: int,
    seed: int,
    by: str | None,
    as_json: bool,
    markers: Sequence[str],
    separator: str,
) -> None:
    """Compare algorithms, or saved models, on the table DATA.

    An ENTRY is an algorithm (as for --algorithm of `train`), an algorithm with parameters, such as
    cart:max_depth=4,criterion=entropy (names and values as for --param of `train`), or the file of a saved model.

    Algorithms are measured by cross-validation, all on the same folds, which are stratified for classification.  Saved models are
    measured on all rows, which should not be those of their training.

    Each pair's difference has a 95 % interval.  For two saved models it is by rows; otherwise it is by the corrected resampled
    t-test of Nadeau and Bengio ("Inference for the generalization error", Machine Learning 52, 2003), because folds that share
    training rows are more alike than independent ones.

    An algorithm that cannot learn from the table has no figures, and its error is printed; the others are still compared.
    """
    compared = [read_entry(text) for text in _distinct(entries)]
    saved = [entry for entry in compared if entry.model is not None]
    learned = [entry for entry in compared if entry.model is None]
    task = _common_task(saved, task)
    if target is None and saved:
        target = _saved_target(saved, data, markers, separator)
    file = open_file(data, markers, separator)
    asked = Asked.of(file, target, ignore, categorical, ordinal)
    for entry in saved:
        measure_saved(entry, asked.target, open_file(data, markers, separator))
    folds: list[Fold] = []
    if learned:
        table = asked.read()
        task, _ = asked.choose_task(table, task, [str(entry.algorithm) for entry in learned])
        for entry in learned:
            prepare(entry, task, seed, asked.kinds(table))
        folds = divide(table[asked.target], task, cv, repeats, seed)
        learn(learned, table, asked.target, folds)
    for entry in saved:
        spread(entry, folds)
    if by is not None and by not in FIGURES[task]:
        raise click.UsageError(f"--by {by}: {asked.target!r} is for {task}, whose figures are {', '.join(FIGURES[task])}")
    if all(entry.error is not None for entry in compared):
        raise ValueError(compared[0].error)
    n_rows = sum(map(len, folds[0])) if folds else max(len(scores) for entry in saved for scores in entry.by_row.values())
    pairs = list(differences(compared, folds, task))
    _print_warnings(saved, n_rows)
    if as_json:
        described = {"n_splits": cv, "n_repeats": repeats, "seed": seed, "stratified": task == "classification"}
        found = {"target": asked.target, "task": task, "n_rows": n_rows, "folds": described if folds else None, "level": 0.95}
        print_json(found | {"entries": list(map(_as_object, compared)), "differences": list(map(_as_difference, pairs))})
        return
    how = f", {cv} folds{f', {repeats} times' if repeats > 1 else ''} (seed {seed})" if folds else ", as they are"
    spread_in_words = f"; mean {plus()} standard deviation over the folds" if folds else ""
    click.echo(f"{word(asked.target)}: {task} on {counted(n_rows, 'row')} of {data}{how}{spread_in_words}\n")
    called = _called(compared)
    _print_figures(compared, called)
    _print_differences(pairs, called, FIGURES[task][0] if by is None else by)


def _distinct(entries: Sequence[str]) -> Sequence[str]:
    for entry in entries:
        if entries.count(entry) > 1:
            raise click.UsageError(f"{entry} is given twice: parameters make it another entry, such as cart:max_depth=4")
    return entries


def _saved_target(saved: Sequence[ComparedModel], data: str, markers: Sequence[str], separator: str) -> str:
    """Return the name of the column for which the saved models were grown."""
    names = {entry.name: load_of_one_target(entry.name)[1] for entry in saved}
    if len(set(names.values())) > 1:
        given = ", ".join(f"{path}: {target!r}" for path, target in names.items())
        raise click.UsageError(f"the models were grown for different columns ({given}): name the truth by --target")
    return find_target(open_file(data, markers, separator), None, next(iter(names.values())))


def _common_task(saved: Sequence[ComparedModel], task: str) -> str:
    tasks = {task_of(entry.model): entry.name for entry in saved if entry.model is not None}
    if len(tasks) > 1:
        raise ValueError(f"{tasks['classification']} predicts classes and {tasks['regression']} numbers: no figure measures both")
    own = next(iter(tasks), task)
    if task not in ("auto", own):
        raise click.UsageError(f"--task {task}: {tasks[own]} is for {own}")
    return own


def _as_object(entry: ComparedModel) -> dict[str, Any]:
    figures = {
        name: {"mean": float(np.mean(values)), "deviation": deviation(values), "by_fold": values}
        for name, values in entry.by_fold.items()
    }
    parameters = {name: value for name, value in entry.parameters.items() if name != "random_state"}
    return {
        "name": entry.name,
        "algorithm": entry.algorithm,
        "parameters": parameters,
        "saved": entry.model is not None,
        "error": entry.error,
        "figures": figures,
    }


def _as_difference(pair: Pair) -> dict[str, Any]:
    return {
        "first": pair.first,
        "second": pair.second,
        "method": "paired rows" if pair.by_rows else "corrected resampled t",
        "figures": {name: dict(zip(("difference", "low", "high"), each, strict=True)) for name, each in pair.intervals.items()},
    }


def _called(compared: Sequence[ComparedModel]) -> dict[str, str]:
    """Return the names of the entries in tables; if a name is long, all names are letters."""
    if all(cell_len(entry.name) <= WIDEST_NAME for entry in compared):
        return {entry.name: word(entry.name) for entry in compared}
    return {entry.name: _letters(k) for k, entry in enumerate(compared)}


def _letters(k: int) -> str:
    return (_letters(k // 26 - 1) if k >= 26 else "") + chr(ord("A") + k % 26)


def _print_figures(compared: Sequence[ComparedModel], called: Mapping[str, str]) -> None:
    """Print a row per figure and a column per entry, in as many tables as the width of the terminal needs."""
    if any(called[entry.name] != word(entry.name) for entry in compared):
        click.echo("".join(f"{called[entry.name]}  {word(entry.name)}\n" for entry in compared))
    names = [name for name in TITLES if any(name in entry.by_fold for entry in compared)]
    titles = ["", *(TITLES[name] for name in names)]
    columns = [[called[entry.name], *(_mean_in_words(name, entry.by_fold.get(name)) for name in names)] for entry in compared]
    widest = shutil.get_terminal_size((100, 24)).columns
    while columns:
        n_columns = 1
        while n_columns < len(columns) and _width(titles, columns[: n_columns + 1]) <= widest:
            n_columns += 1
        rows = [row for row in zip(titles, *columns[:n_columns], strict=True) if set(row[1:]) != {"-"}]
        click.echo(aligned(rows))
        columns = columns[n_columns:]
    for entry in compared:
        if entry.error is not None:
            click.echo(f"{called[entry.name]} has no figures: {entry.error}\n")


def _width(titles: Sequence[str], columns: Sequence[Sequence[str]]) -> int:
    return sum(max(map(cell_len, column)) + 2 for column in [titles, *columns]) - 2


def _mean_in_words(name: str, values: Sequence[float] | None) -> str:
    if not values:
        return "-"
    if name in SIZES and not deviation(values):
        return f"{values[0]:,.0f}"
    return mean_and_deviation(values, _digits(name, float(np.mean(values))))


def _digits(name: str, size: float) -> int:
    """Return the digits after the point: four significant ones for figures with a unit, but at most six."""
    if name in SIZES:
        return 1
    if name != "mae" or not math.isfinite(size) or size == 0:
        return 4
    return min(6, max(0, 3 - math.floor(math.log10(abs(size)))))


def _print_differences(pairs: Sequence[Pair], called: Mapping[str, str], by: str) -> None:
    if not pairs:
        return
    direction = " (less is better)" if by in ("log_loss", "mae") else ""
    click.echo(f"Difference in {TITLES[by]}{direction}, with its 95% interval\n")
    rows = []
    for pair in pairs:
        difference, low, high = pair.intervals[by]
        digits = _digits(by, max(abs(low), abs(high)))
        number = f"{{:+,.{digits}f}}".format
        verdict = "always equal" if low == high == 0 else "" if low > 0 or high < 0 else "may be 0"
        names = f"{called[pair.first]} less {called[pair.second]}"
        rows.append([names, number(difference), f"{number(low)} to {number(high)}", verdict])
    click.echo(aligned(rows))
    if not all(pair.by_rows for pair in pairs):
        click.echo("Intervals over folds are corrected for the rows that the folds share (Nadeau and Bengio 2003).")
    if any(pair.by_rows for pair in pairs):
        click.echo("Intervals of two saved models are for their difference on other such rows.")
    if len(pairs) > 1:
        click.echo(f"Each interval is for its pair alone: of {len(pairs)} pairs, one may exclude 0 by chance.")


def _print_warnings(saved: Sequence[ComparedModel], n_rows: int) -> None:
    """Print which saved models may have been grown on this table."""
    counted_rows = [(entry.name, entry.model) for entry in saved if entry.model is not None and not holds_committee(entry.model)]
    same = [name for name, model in counted_rows if n_grown_on(model) == n_rows]
    if same:
        be = "was" if len(same) == 1 else "were"
        click.echo(
            f"Note: {listed(same)} {be} grown on {n_rows:,} rows, as many as this table has: if it is the same table, the "
            "figures show what the model remembers, not how well it predicts other rows",
            err=True,
        )
    elif saved:
        click.echo("Note: a saved model does not name the rows of its training; on those its figures are too good", err=True)
