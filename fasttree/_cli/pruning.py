"""The command prune: a saved tree, pruned by any method, with the figures before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from fasttree._cli.console import aligned, examples, print_json, status
from fasttree._cli.evaluating import measure
from fasttree._cli.models import (
    check_output,
    describe,
    holds_any_rules,
    holds_committee,
    holds_forest,
    holds_shapes,
    is_boosted,
    load_model,
    load_of_one_target,
    read_table,
    summarize,
)
from fasttree._cli.options import (
    FILE,
    PRUNINGS,
    PRUNINGS_FOR_NUMBERS,
    complete_methods,
    json_option,
    read_pruning,
    table_options,
    truth_option,
)
from fasttree._cli.tables import find_target, open_file, without

if TYPE_CHECKING:
    import polars as pl

    from fasttree._cli.models import Estimator
    from fasttree.estimators.persistence import TreeEstimator
    from fasttree.pruning import PruningMethod

__all__ = ["prune"]


def _pruning_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add --pruning, whose help lists the methods with their parameters and default values."""
    methods = ", ".join(f"{word} ({given})" if given else word for word, given in PRUNINGS.items())
    return click.option(
        "--pruning",
        metavar="METHOD[:NAME=VALUE,...]",
        required=True,
        shell_complete=complete_methods,
        help=f"The method, and parameters that differ from its defaults: {methods}. Trees for numbers have "
        f"{', '.join(PRUNINGS_FOR_NUMBERS)}.",
    )(command)


@click.command(
    epilog=examples(
        "fasttree train examples/adult.csv.gz --target income --output model.json",
        "fasttree prune model.json --pruning minimum_error:m=10 --test examples/adult.test.csv.gz",
        "fasttree prune model.json --pruning cost_complexity:alpha=0.0005 --output small.json",
        "fasttree prune model.json examples/adult.test.csv.gz --pruning reduced_error --output small.json",
    ),
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE, required=False)
@_pruning_option
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
    pruning: str,
    output: str | None,
    test: str | None,
    target: str | None,
    as_json: bool,
    markers: Sequence[str],
    separator: str,
) -> None:
    """Prune a saved tree; nothing is grown anew, and MODEL stays as it is.

    DATA is a file as for `train`.  Some methods judge by its rows, which should not be those of the training: reduced_error,
    cost_complexity with alpha=validation, and critical_value without a value.  For error_based they should be those of the
    training: with them it also puts branches in the place of their subtrees, as C4.5 does.  For all others they only measure
    the trees.
    """
    tree, saved = (load_model if data is None and test is None else load_of_one_target)(model)
    _check_tree(tree, model)
    given = read_pruning(pruning)
    method = _method(tree, given)
    if method.needs_samples and data is None:
        raise click.UsageError(
            f"{method.word} judges by rows that did not grow the tree: give a table after the model, as in "
            f"fasttree prune {model} DATA --pruning {pruning}"
        )
    if output is not None:
        check_output(output, [model, data, test])
    tables = {name: _read(path, tree, target, saved, markers, separator) for name, path in (("data", data), ("test", test))}
    judges = tables["data"] if method.needs_samples or method.word == "error_based" else None
    with status("Pruning"):
        if judges is None:
            pruned = tree.prune(given)
        else:
            table, truth = judges
            pruned = tree.prune(given, without(table, [truth]), table[truth])
    before, after = ({**describe(each, saved), **_measured(each, tables)} for each in (tree, pruned))
    if output is not None:
        pruned.save(output)
    judged_by = None if judges is None else judges[0].height
    if (earlier := tree._pruning_method()) is not None:
        click.echo(
            f"Note: {model} holds the tree as its training pruned it ({earlier.word}), and pruning starts from there: no file "
            "keeps the tree as it was grown; train --pruning none saves one",
            err=True,
        )
    if as_json:
        found = {"method": method.word, "parameters": method.get_params(), "judged_by": judged_by, "chosen": _chosen(pruned)}
        print_json({**found, "before": before, "after": after})
        return
    by = "" if judged_by is None else f" on {judged_by:,} rows of {data}"
    click.echo(f"Pruned by {pruning}{by}{_chosen_in_words(_chosen(pruned))}\n")
    click.echo(aligned(_rows(before, after, {"data": data, "test": test})))
    if judged_by is not None and method.word != "error_based" and test is None:
        click.echo("The rows that judged flatter the tree that they pruned: --test FILE measures both on others")
    click.echo(summarize(pruned))
    click.echo(f"Saved as {output}" if output is not None else "Not saved: --output FILE saves the pruned tree")


def _check_tree(model: Estimator, path: str) -> None:
    """Refuse what is no single tree, with what its training has instead."""
    if holds_any_rules(model):
        how = "--param max_rules of train limits them" if holds_committee(model) else "--confidence of train says how much"
        raise ValueError(f"{path} holds rules, not a tree; they are pruned as they are made: {how}")
    if holds_forest(model):
        how = "c50 with --confidence" if is_boosted(model) else "a forest with --ccp-alpha"
        raise ValueError(f"{path} holds several trees, which are pruned as they grow: train {how}")
    if holds_shapes(model):
        how = "--param interactions and max_iter of train limit it"
        raise ValueError(f"{path} holds an additive model, not a tree, and has no branches to prune: {how}")


def _method(tree: TreeEstimator, given: Any) -> PruningMethod:
    """Return the method, checked; one that would prune next to nothing is a mistake."""
    from fasttree.pruning import CAlpha, CostComplexity, method_of

    value = method_of(given)
    if isinstance(value, CAlpha | CostComplexity) and value.alpha in (0, "cv"):
        also = ", or validation to choose it on DATA" if isinstance(value, CostComplexity) else ", such as 1"
        raise click.UsageError(f"--pruning {value.word}:alpha=... needs an alpha above 0, the cost of a leaf{also}")
    method: PruningMethod = tree._method_to_prune_by(given)
    return method


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
