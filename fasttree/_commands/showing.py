"""The command show."""

from __future__ import annotations

import click

from ..rules import C45Rules
from .console import draws, examples
from .models import load_model, summarize
from .options import FILE


@click.command(epilog=examples("fasttree show model.json --max-depth 3", "fasttree show model.json --weights --missing | less"))
@click.argument("model", type=FILE)
@click.option("--max-depth", type=click.IntRange(0), metavar="N", help="Levels of branches to draw; default: all.")
@click.option("--weights", is_flag=True, help="Say the weight of each class at every branch.")
@click.option("--missing/--no-missing", default=None, help="Say where missing values go; default: where it is a surprise.")
@click.option("--surrogates", is_flag=True, help="Say above the branches of a test what stands in where its value is missing.")
@click.option("--ascii", "as_ascii", is_flag=True, help="Draw with ASCII characters alone.")
def show(model: str, max_depth: int | None, weights: bool, missing: bool | None, surrogates: bool, as_ascii: bool) -> None:
    """Draw a saved tree as text, or list saved rules."""
    tree, _ = load_model(model)
    if isinstance(tree, C45Rules):
        if max_depth is not None or weights or missing is not None or surrogates or as_ascii:
            raise click.UsageError(f"{model} holds rules, which are listed as they are: leave out the options")
        click.echo(f"{tree.export_text()}\n{summarize(tree)}")
        return
    as_ascii = as_ascii or not draws()
    click.echo(
        tree.export_text(
            max_depth=max_depth, show_weights=weights, show_missing=missing, show_surrogates=surrogates, ascii=as_ascii
        )
    )
    click.echo(summarize(tree))
