"""The command explain: why a saved tree predicts what it predicts for rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from .._base import BaseRegressor
from ..estimators import TreeEstimator
from ..rules import C45Rules
from .console import counted, examples, print_json, word
from .models import load_model, read_blocks
from .options import FILE, json_option, table_options, truth_option
from .tables import File, find_target, open_file

__all__ = ["explain"]


@click.command(
    short_help="Tell why a saved tree predicts what it predicts.",
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
    help="Which row of DATA, counted from 0; repeatable.  [default: 0]",
)
@click.option(
    "--max-categories", type=click.IntRange(1), default=12, show_default=True, metavar="N", help="To name in one condition."
)
@click.option(
    "--decimals",
    type=click.IntRange(0),
    default=2,
    show_default=True,
    metavar="N",
    help="Digits after the point of weights and means.",
)
@truth_option
@json_option(
    "target, rows (row, truth or null, prediction, values, probabilities, sample, steps: each test on the way, ends: where the "
    "row ends, change: the nearest other answer, or null)."
)
@table_options
def explain(
    model: str,
    data: str,
    rows: Sequence[int],
    max_categories: int,
    decimals: int,
    target: str | None,
    as_json: bool,
    markers: Sequence[str],
    separator: str,
) -> None:
    """Tell why a saved tree predicts what it predicts for rows of DATA.

    Each test on the way, what decided there, and what the branches not taken would have answered; the leaf; and the smallest
    change of few features that leads to another class.  DATA is a file as for `train`; where it has the target, the truth is
    told too.
    """
    tree, saved = load_model(model)
    if isinstance(tree, C45Rules):
        raise ValueError(f"{model} holds rules, not a tree: show lists them in the order in which they are asked")
    file = open_file(data, markers, separator)
    truth = _truth(file, tree, target, saved)
    labels = {} if isinstance(tree, BaseRegressor) or truth is None else {label: label for label in tree.classes_.tolist()}
    explained: list[dict[str, Any]] = []
    for row, sample in _pick(file, tree, truth, rows):
        true = None if truth is None else sample.pop(truth)
        true = labels.get(true, true)  # 3.0 is the class 3
        explanation = tree.explain(sample, max_categories=max_categories, decimals=decimals)
        if not as_json:
            shown = f"{true:.6g}" if isinstance(true, float) else word(true)
            told = "" if true is None else f", {word(truth)} is {shown}"
            click.echo(("\n" if explained else "") + f"row {row:,}{told}\n{explanation}")
        explained.append({"row": row, "truth": true} | explanation.to_dict())
    if as_json:
        print_json({"target": saved if truth is None else truth, "rows": explained})


def _truth(file: File, tree: TreeEstimator, asked: str | None, saved: str) -> str | None:
    """The column with the truth, where the table has one."""
    if tree.n_outputs_ > 1 or (asked is None and saved not in file.names and file.target is None):
        return None
    return find_target(file, asked, saved)


def _pick(file: File, tree: TreeEstimator, truth: str | None, rows: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the rows that are asked for, each once, in the order of the table; it is read as far as the last of them."""
    waiting = sorted(set(rows), reverse=True)
    start = 0
    for block in read_blocks(file, tree, truth):
        while waiting and waiting[-1] < start + block.height:
            row = waiting.pop()
            yield row, block.row(row - start, named=True)
        start += block.height
        if not waiting:
            return
    raise ValueError(f"--row {waiting[-1]}: {file.path} has {counted(start, 'row')}, counted from 0")
