"""The commands of `fasttree`: files and options in, an estimator's answers out.

A file per command or two; each command is added to the group here.  Trees and tables are left to the estimators, files to
`_files`.  Whatever is wrong with what the user gave ends in one line.
"""

from __future__ import annotations

from typing import Any

import click

from .. import __version__
from .comparing import compare
from .completion import completion
from .console import examples, one_line
from .evaluating import evaluate
from .explaining import explain
from .importances import importances
from .predicting import predict
from .pruning import prune
from .showing import show
from .training import train

__all__ = ["fasttree"]


class _Commands(click.Group):
    """Turns what the library and the system say is wrong into one line and exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order in which they are used."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
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


for _command in (train, show, explain, importances, evaluate, predict, prune, compare, completion):
    fasttree.add_command(_command)
