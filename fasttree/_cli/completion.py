"""The command completion: scripts by which shells complete commands, options, files and columns of `fasttree`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from fasttree._cli.console import examples

__all__ = ["completion"]

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_FASTTREE_COMPLETE"  # set by a shell that asks click for completions


@click.command(
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

    For this session only: source <(fasttree completion bash), the same with zsh, or fasttree completion fish | source.  Columns
    are completed for --target, --ignore and --categorical if the table is already on the command line.
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, "fasttree", VARIABLE).source())
