"""The command prune: a saved tree, pruned by any method, with the figures before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
import polars as pl

from .._base import _needs_samples
from .._parameters import PRUNINGS, REGRESSION_PRUNINGS, rules_of
from ..estimators import CARTClassifier, TreeEstimator
from ..rules import C45Rules
from .console import aligned, examples, print_json, status
from .evaluating import measure
from .models import check_output, describe, load_model, load_of_one_target, read_table, summarize
from .options import FILE, json_option, read_parameter, table_options, truth_option
from .tables import find_target, open_file, without

__all__ = ["prune"]

MEANINGS = {
    "ccp_alpha": "what a leaf costs, a number >= 0, or validation to choose it on DATA",
    "pruning_risk": "what a leaf costs besides: its impurity, or its errors",
    "rule": "what is chosen on DATA: the best, or the smallest within one standard error of it",
    "alpha": "what a leaf costs, in --alpha-unit",
    "alpha_unit": "of --alpha",
    "tolerance": "by how much the share of errors on DATA may rise at a node that is pruned",
    "confidence": "level of the limit that is the predicted error; smaller prunes more",
    "m": "weight of the prior",
    "critical_value": "least gain, a number >= 0, or none to choose it on DATA",
    "max_p_value": "largest p-value of a test that stays; smaller prunes more",
}
CHOSEN_ON_DATA = ("ccp_alpha", "critical_value")
STRENGTHS = {"cost_complexity": "ccp_alpha", "c_alpha": "alpha"}  # without which they prune next to nothing


def _method_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option per parameter of a method, with the rule that the estimators check it by."""
    rules = rules_of(CARTClassifier)
    for name, meaning in reversed(MEANINGS.items()):
        methods = ", ".join(method for method, told in PRUNINGS.items() if name in told)
        allowed = "" if name in CHOSEN_ON_DATA else f"; {rules[name][1]}"
        text = f"{methods}: {meaning}{allowed}."
        command = click.option(f"--{name.replace('_', '-')}", name, metavar="VALUE", help=text)(command)
    return command


@click.command(
    short_help="Prune a saved tree by any method.",
    epilog=examples(
        "fasttree train examples/adult.csv.gz --target income --output model.json",
        "fasttree prune model.json --method minimum_error --m 10 --test examples/adult.test.csv.gz",
        "fasttree prune model.json --method cost_complexity --ccp-alpha 0.0005 --output small.json",
        "fasttree prune model.json examples/adult.test.csv.gz --method reduced_error --output small.json",
    ),
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE, required=False)
@click.option(
    "--method",
    type=click.Choice(list(PRUNINGS)),
    metavar="METHOD",
    required=True,
    help=f"{', '.join(PRUNINGS)}; of trees for numbers: {', '.join(REGRESSION_PRUNINGS)}.",
)
@_method_options
@click.option("--output", "-o", metavar="FILE", type=FILE, help="Save the pruned tree as JSON; .gz at the end compresses it.")
@click.option("--test", metavar="FILE", type=FILE, help="Table that takes no part in the pruning, to measure both trees on.")
@truth_option
@json_option(
    "method, parameters, judged_by (rows of DATA, or null), chosen (the parameter that DATA chose, or null), before and after: "
    "what `train` says of a tree, and data and test as `evaluate` prints them, or null."
)
@table_options
def prune(
    model: str,
    data: str | None,
    method: str,
    output: str | None,
    test: str | None,
    target: str | None,
    as_json: bool,
    markers: Sequence[str],
    separator: str,
    **given: str | None,
) -> None:
    """Prune a saved tree; nothing is grown anew, and MODEL stays as it is.

    DATA is a file as for `train`.  Some methods judge by its rows, which should not be those of the training: reduced_error,
    cost_complexity with --ccp-alpha validation, and critical_value without --critical-value.  For error_based they should be
    those of the training: with them it also puts branches in the place of their subtrees, as C4.5 does.  For all others they
    only measure the trees.

    What a parameter is not told here it was told in training.
    """
    tree, saved = (load_model if data is None and test is None else load_of_one_target)(model)
    if isinstance(tree, C45Rules):
        raise ValueError(
            f"{model} holds rules, not a tree; they are pruned as they are made: --confidence of train says how much"
        )
    parameters = {name: read_parameter(name, text) for name, text in given.items() if text is not None}
    _check_strength(tree, method, parameters)
    if method not in tree._prunings:
        raise ValueError(f"--method {method}: {model} predicts numbers; such a tree is pruned by {', '.join(tree._prunings)}")
    settings = tree._checked_settings(method, parameters)
    if _needs_samples(method, settings) and data is None:
        raise click.UsageError(
            f"{method} judges by rows that did not grow the tree: give a table after the model, as in "
            f"fasttree prune {model} DATA --method {method}"
        )
    if output is not None:
        check_output(output, [model, data, test])
    tables = {name: _read(path, tree, target, saved, markers, separator) for name, path in (("data", data), ("test", test))}
    judges = tables["data"] if _needs_samples(method, settings) or method == "error_based" else None
    with status("Pruning"):
        if judges is None:
            pruned = tree.prune(method, **parameters)
        else:
            table, truth = judges
            pruned = tree.prune(method, without(table, [truth]), table[truth], **parameters)
    before, after = ({**describe(each, saved), **_measured(each, tables)} for each in (tree, pruned))
    if output is not None:
        pruned.save(output)
    judged_by = None if judges is None else judges[0].height
    chosen = _chosen(pruned)
    if (earlier := tree._pruning_method()) is not None:
        click.echo(
            f"Note: {model} holds the tree as its training pruned it ({earlier}), and pruning starts from there: no file keeps "
            "the tree as it was grown; train --pruning none saves one",
            err=True,
        )
    if as_json:
        print_json(
            {"method": method, "parameters": settings, "judged_by": judged_by, "chosen": chosen, "before": before, "after": after}
        )
        return
    by = "" if judged_by is None else f" on {judged_by:,} rows of {data}"
    told = "".join(f", {name} {value}" for name, value in settings.items() if name in parameters)
    click.echo(f"Pruned by {method}{told}{by}{_chosen_in_words(chosen)}\n")
    click.echo(aligned(_rows(before, after, {"data": data, "test": test})))
    if judged_by is not None and method != "error_based" and test is None:
        click.echo("The rows that judged flatter the tree that they pruned: --test FILE measures both on others")
    click.echo(summarize(pruned))
    click.echo(f"Saved as {output}" if output is not None else "Not saved: --output FILE saves the pruned tree")


def _check_strength(tree: TreeEstimator, method: str, parameters: Mapping[str, Any]) -> None:
    """Refuse a method that nothing tells how much to prune."""
    name = STRENGTHS.get(method)
    if name is not None and name not in parameters and getattr(tree, name) in (0, "cv"):
        also = ", or validation to choose it on DATA" if name == "ccp_alpha" else ", such as 1"
        raise click.UsageError(f"{method} needs --{name.replace('_', '-')}: how much a leaf costs{also}")


def _read(
    path: str | None, tree: TreeEstimator, target: str | None, saved: str, markers: Sequence[str], separator: str
) -> tuple[pl.DataFrame, str] | None:
    """A whole table with the tree's columns, and the name of the column with the truth."""
    if path is None:
        return None
    file = open_file(path, markers, separator)
    truth = find_target(file, target, saved)
    return read_table(file, tree, truth), truth


def _measured(model: TreeEstimator, tables: Mapping[str, tuple[pl.DataFrame, str] | None]) -> dict[str, Any]:
    return {name: None if found is None else measure(model, [found[0]], found[1]) for name, found in tables.items()}


def _chosen(pruned: TreeEstimator) -> dict[str, Any] | None:
    """What samples chose: the parameter, its value, and among how many."""
    table = pruned.__dict__.get("pruning_table_")
    if table is None:
        return None
    name = "ccp_alpha" if "ccp_alphas" in table else "critical_value"
    return {"parameter": name, "value": float(table[f"{name}s"][table.chosen]), "of": len(table.n_leaves)}


def _chosen_in_words(chosen: Mapping[str, Any] | None) -> str:
    return "" if chosen is None else f", which chose {chosen['parameter']} {chosen['value']:.6g} of {chosen['of']:,}"


def _rows(before: Mapping[str, Any], after: Mapping[str, Any], paths: Mapping[str, str | None]) -> list[list[str]]:
    """Lay the figures out: a row per figure, a column per tree."""
    rows = [["", "before", "after"]]
    rows += [[name, *(f"{figures[name]:,}" for figures in (before, after))] for name in ("nodes", "leaves", "depth")]
    for table, path in paths.items():
        if path is None:
            continue
        measured = [before[table], after[table]]
        if "accuracy" in measured[0]:
            counts = [round((1 - figures["accuracy"]) * figures["n_rows"]) for figures in measured]
            shares = [count / figures["n_rows"] for count, figures in zip(counts, measured, strict=True)]
            rows.append([f"errors, {path}", *(f"{count:,} ({share:.2%})" for count, share in zip(counts, shares, strict=True))])
        else:
            rows.append([f"R², {path}", *(f"{figures['r2']:.4f}" for figures in measured)])
            rows.append([f"MAE, {path}", *(f"{figures['mae']:.6g}" for figures in measured)])
    return rows
