"""The commands of `fasttree`: from files and options to an estimator's results.

Each command has its own file and is added to the group here.  The estimators do the work on trees and tables, and `_data.files`
that on files.  Every mistake of the user is printed as one line.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import click

from fasttree._cli.console import examples, one_line
from fasttree._version import __version__

__all__ = ["fasttree"]

COMMANDS = {  # the file of each, and its line in the list of commands
    "train": ("training", "Grow a tree or a forest on a table, print it and measure it."),
    "show": ("showing", "Show a saved tree: text, rules, pictures, a page; or write it for other programs."),
    "explain": ("explaining", "Explain the predictions of a saved tree."),
    "importances": ("importances", "List how much each feature of a saved model matters."),
    "evaluate": ("evaluating", "Measure a saved model on a table with the truth."),
    "predict": ("predicting", "Predict the rows of a table by a saved model."),
    "prune": ("pruning", "Prune a saved tree by any method."),
    "compare": ("comparing", "Compare algorithms or saved models on one table."),
    "completion": ("completion", "Print a script by which a shell completes commands."),
}


class _Commands(click.Group):
    """Group that prints errors of the library and of the system in one line, with exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of their use."""
        return list(self.commands)

    def loaded(self, name: str) -> click.Command:
        """Import a command of the group, which holds the names and the lines of their list alone."""
        command: click.Command = getattr(import_module(f"fasttree._cli.{COMMANDS[name][0]}"), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Import the command that is asked for."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            command = self.loaded(name)
        return name, command, rest

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        """Print the help page and the version, too, without a traceback."""
        with _as_mistakes():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        with _as_mistakes():
            return super().invoke(ctx)


@contextlib.contextmanager
def _as_mistakes() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise click.ClickException(one_line(f"{error.filename}: {reason}" if error.filename else reason)) from None
    except (ValueError, TypeError) as error:
        raise click.ClickException(one_line(str(error))) from None
    except MemoryError:
        raise click.ClickException("the table does not fit into memory") from None


@click.group(
    cls=_Commands,
    epilog=examples(
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


for _name, (_, _line) in COMMANDS.items():
    fasttree.add_command(click.Command(_name, short_help=_line))
