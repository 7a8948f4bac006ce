"""The command explain: explanations of the predictions of a saved tree or saved rules for rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from fasttree._cli.console import examples, print_json, word
from fasttree._cli.models import (
    cell_kinds,
    holds_any_rules,
    holds_forest,
    holds_several_targets,
    holds_shapes,
    load_to_show,
    predicts_numbers,
    read_blocks,
)
from fasttree._cli.options import FILE, json_option, labels_option, table_options, truth_option
from fasttree._cli.tables import find_target, open_file, read_separator
from fasttree._data.files.plain import open_plain
from fasttree._model.words import counted

if TYPE_CHECKING:
    from fasttree._cli.models import Shown
    from fasttree._cli.tables import File
    from fasttree._data.files.plain import PlainFile

__all__ = ["explain"]


@click.command(
    epilog=examples(
        "fasttree train examples/adult.csv.gz --target income --max-depth 4 --output small.json",
        "fasttree explain small.json examples/adult.test.csv.gz",
        "fasttree explain small.json examples/adult.test.csv.gz --row 7 --row 20 --json",
    ),
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@click.option(
    "--row",
    "rows",
    type=click.IntRange(0),
    multiple=True,
    default=(0,),
    metavar="N",
    help="Row of DATA to explain, counted from 0; repeatable.  [default: 0]",
)
@click.option("--tree", type=click.IntRange(0), metavar="N", help="The tree of a forest to explain; default: the forest.")
@click.option("--max-categories", type=click.IntRange(1), metavar="N", help="Categories in one condition of a tree; default: 12.")
@click.option("--decimals", type=click.IntRange(0), metavar="N", help="Digits of weights and means of a tree; default: 2.")
@labels_option
@truth_option
@json_option(
    "target, rows (row, truth or null, prediction, values, probabilities, sample, steps: each test on the way, ends: where the "
    "row ends, change: the smallest change to another class, or null; for rules instead of steps: rule, others, text; for "
    "forests: n_trees, n_agreeing, base_value, contributions; for additive models: intercept, score, contributions; for "
    "cubist: rules (those that hold), text)."
)
@table_options
def explain(
    model: str,
    data: str,
    rows: Sequence[int],
    target: str | None,
    as_json: bool,
    markers: Sequence[str],
    separator: str,
    **options: int | None,
) -> None:
    """Explain the predictions of a saved tree or forest for rows of DATA.

    An explanation has each test on the way, with the value that decided and the predictions of the branches not taken; the leaf;
    and the smallest change of few features that leads to another class.  For saved rules, it has the rule that fires, and later
    rules that would fire too.  For a forest, it has the number of trees that agree, and the contribution (SHAP value) of each
    feature; --tree explains a single tree of it.  For an additive model, it has what each feature adds.  DATA is a file as for
    `train`; if it has the target, the truth is printed too.
    """
    which = options.pop("tree")
    tree, saved = load_to_show(model, tree=which)
    style: dict[str, Any] = {name: number for name, number in options.items() if number is not None}
    _check_style(style, tree, model)
    truth, samples = _read(data, markers, separator, tree, target, saved, sorted(set(rows)))
    labels = {} if predicts_numbers(tree) or truth is None else {label: label for label in tree.classes_.tolist()}
    explained: list[dict[str, Any]] = []
    for row, sample in samples:
        true = None if truth is None else sample.pop(truth)
        true = labels.get(true, true)  # 3.0 is the class 3
        explanation = tree.explain(sample, **style)
        if not as_json:
            shown = f"{true:.6g}" if isinstance(true, float) else word(true)
            answer = "" if true is None else f", {word(truth)} is {shown}"
            click.echo(("\n" if explained else "") + f"row {row:,}{answer}\n{explanation}")
        explained.append({"row": row, "truth": true} | explanation.to_dict())
    if as_json:
        print_json({"target": saved if truth is None else truth, "rows": explained})


def _check_style(style: dict[str, Any], tree: Shown, path: str) -> None:
    """Refuse options that the explanations of a model do not take."""
    if (holds_forest(tree) or holds_shapes(tree)) and "max_categories" in style:
        raise click.UsageError("--max-categories is for trees: add --tree N, or leave it out")
    if holds_any_rules(tree) and style:
        given = ", ".join(f"--{name.replace('_', '-')}" for name in style)
        raise click.UsageError(f"{path} holds rules, which are explained as they are: leave out {given}")


def _read(
    data: str, markers: Sequence[str], separator: str, tree: Shown, asked: str | None, saved: str, rows: list[int]
) -> tuple[str | None, Iterable[tuple[int, dict[str, Any]]]]:
    """Return the column with the truth, if the table has one, and the rows that are asked for; polars reads only what it must."""
    plain = open_plain(data, read_separator(separator))
    if plain is not None:
        truth = _truth(plain, tree, asked, saved)
        samples = plain.rows(cell_kinds(tree, truth), markers, rows)
        if samples is not None:
            return truth, zip(rows, samples, strict=True)
    file = open_file(data, markers, separator)
    truth = _truth(file, tree, asked, saved)
    return truth, _pick(file, tree, truth, rows)


def _truth(file: File | PlainFile, tree: Shown, asked: str | None, saved: str) -> str | None:
    """Return the column with the truth, if the table has one."""
    if holds_several_targets(tree) or (asked is None and saved not in file.names and file.target is None):
        return None
    return find_target(file, asked, saved)


def _pick(file: File, tree: Shown, truth: str | None, rows: list[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows that are asked for, in ascending order, from a table that is read up to the last of them."""
    waiting = rows[::-1]
    start = 0
    for block in read_blocks(file, tree, truth):
        while waiting and waiting[-1] < start + block.height:
            row = waiting.pop()
            yield row, block.row(row - start, named=True)
        start += block.height
        if not waiting:
            return
    raise ValueError(f"--row {waiting[-1]}: {file.path} has {counted(start, 'row')}, counted from 0")
