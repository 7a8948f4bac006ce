"""The command importances: importances of a model's features, by its trees and by a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fasttree._cli.console import aligned, bars, examples, mean_and_deviation, print_json, word
from fasttree._cli.models import (
    answers_of,
    holds_any_rules,
    holds_forest,
    holds_shapes,
    load_of_one_target,
    load_to_show,
    predicts_numbers,
    read_table,
    row_scores,
    summarize,
)
from fasttree._cli.options import FILE, json_option, seed_option, table_options, truth_option
from fasttree._cli.tables import column, find_target, open_file, without
from fasttree._model.words import counted

if TYPE_CHECKING:
    import polars as pl

    from fasttree._cli.models import Estimator

__all__ = ["importances"]


@click.command(
    epilog=examples(
        "fasttree train examples/adult.csv.gz --target income --max-depth 6 --missing surrogate --output small.json",
        "fasttree importances small.json",
        "fasttree importances small.json examples/adult.test.csv.gz --repeats 3",
    ),
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE, required=False)
@click.option("--repeats", type=click.IntRange(1), default=5, show_default=True, metavar="N", help="Shuffles of each column.")
@seed_option("Seed of the shuffles.")
@truth_option
@json_option(
    "target, n_rows (of DATA, or null), figure (accuracy or r2, or null), baseline (of the table as it is), features (name, "
    "impurity, surrogates, permutation: mean, deviation, by_repeat; null where there is none)."
)
@table_options
def importances(
    model: str,
    data: str | None,
    repeats: int,
    seed: int,
    target: str | None,
    as_json: bool,
    markers: Sequence[str],
    separator: str,
) -> None:
    """List the features of a saved model, the most important first.

    The importance by impurity is the feature's share in the gain of all tests on the training rows, for a forest averaged over
    its trees; for an additive model, it is the share in the mean absolute scores.  A tree with surrogates also has it with the
    part of each gain that surrogates could replace (Breiman, Friedman, Olshen and Stone 1984, section 5.3).

    With DATA, which should not be the table of the training, there is also the importance by permutation: how much the accuracy
    (for numbers: R²) falls when the column is shuffled (Breiman, "Random forests", Machine Learning 45, 2001).
    """
    loaded: Any
    loaded, saved = load_to_show(model) if data is None else load_of_one_target(model)
    if holds_any_rules(loaded) and data is None:
        raise ValueError(f"{model} holds rules, which have no impurity: give a table after it, whose columns are then shuffled")
    features: list[dict[str, Any]] = [
        {"name": feature.name, "impurity": None, "surrogates": None, "permutation": None} for feature in loaded.schema_.features
    ]
    if not holds_any_rules(loaded):
        _add(features, "impurity", loaded.feature_importances_)
        if not holds_forest(loaded) and not holds_shapes(loaded) and loaded.tree_.surrogates is not None:
            gains = loaded.surrogate_importances()
            _add(features, "surrogates", gains / (gains.sum() or 1))
    found: dict[str, Any] = {"target": saved, "n_rows": None, "figure": None, "baseline": None, "features": features}
    if data is not None:
        file = open_file(data, markers, separator)
        truth = find_target(file, target, saved)
        found |= {"target": truth} | _permuted(loaded, read_table(file, loaded, truth), truth, repeats, seed, features)
    features.sort(key=lambda feature: -(feature["impurity"] if data is None else feature["permutation"]["mean"]))
    if as_json:
        print_json(found)
        return
    rows = [["", "scores" if holds_shapes(loaded) else "impurity", "with surrogates", "permutation"]]
    for feature in features:
        shuffled = feature["permutation"]
        row = [word(feature["name"]), _share(feature["impurity"]), _share(feature["surrogates"])]
        rows.append([*row, "" if shuffled is None else mean_and_deviation(shuffled["by_repeat"], 4)])
    given = [k for k in range(len(rows[0])) if k == 0 or any(row[k] for row in rows[1:])]
    click.echo(aligned([[row[k] for k in given] for row in rows]))
    if data is not None:
        figure = "R²" if found["figure"] == "r2" else "accuracy"
        click.echo(
            f"Permutation: how much shuffling the column lowers the {figure} of {found['baseline']:.4f} on "
            f"{counted(found['n_rows'], 'row')} of {data}; {counted(repeats, 'shuffle')} (seed {seed})"
        )
    click.echo(summarize(loaded))


def _add(features: Sequence[dict[str, Any]], name: str, figures: Any) -> None:
    for feature, figure in zip(features, figures.tolist(), strict=True):
        feature[name] = figure


def _share(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.4f}"


def _permuted(
    model: Estimator, table: pl.DataFrame, target: str, repeats: int, seed: int, features: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Find the fall of the figure for each shuffled column, with the same shuffles for all columns."""
    figure = "r2" if predicts_numbers(model) else "accuracy"
    truth = table[target].to_list()
    X = without(table, [target])

    def score(rows: pl.DataFrame) -> float:
        return float(row_scores(model, truth, answers_of(model, rows))[figure].mean())

    baseline = score(X)
    orders = [np.random.default_rng([seed, k]).permutation(table.height) for k in range(repeats)]
    with bars() as add:
        advance = add("Shuffling", len(features))
        for feature in features:
            name = feature["name"]
            shuffled = [X.with_columns(column(X, name)[order].alias(name)) for order in orders]
            falls = [baseline - score(rows) for rows in shuffled]
            deviation = float(np.std(falls, ddof=1)) if repeats > 1 else None
            feature["permutation"] = {"mean": float(np.mean(falls)), "deviation": deviation, "by_repeat": falls}
            advance()
    return {"n_rows": table.height, "figure": figure, "baseline": baseline}
