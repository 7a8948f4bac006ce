"""The command completion: what a shell needs to complete commands, options, files and columns of `fasttree`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from .console import examples

__all__ = ["completion"]

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_FASTTREE_COMPLETE"  # by which click knows that a shell asks


@click.command(
    short_help="Print what a shell needs to complete commands.",
    epilog=examples(
        "fasttree completion bash > completion.bash  # then, in ~/.bashrc: source .../completion.bash",
        "fasttree completion zsh > completion.zsh  # then, in ~/.zshrc, after compinit: source .../completion.zsh",
        "fasttree completion fish > ~/.config/fish/completions/fasttree.fish",
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script by which a SHELL completes commands, options, choices, files and names of columns.

    For this session alone: source <(fasttree completion bash), the same with zsh, or fasttree completion fish | source.  Columns
    are completed for --target, --ignore and --categorical, once the table stands on the command line.
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, "fasttree", VARIABLE).source())
