"""The command line as tests call it: in this process, with its answers or its one line of complaint."""

from pathlib import Path

from click.testing import CliRunner

from fasttree import _commands

EXAMPLES = Path(__file__).parents[1] / "examples"
LOAN, IRIS, MPG, GOLF = (str(EXAMPLES / name) for name in ("loan.csv", "iris.csv", "auto-mpg.csv", "golf.names"))


def run(*arguments, code=0, **settings):
    result = CliRunner().invoke(_commands.fasttree, [str(argument) for argument in arguments], **settings)
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def mistake(*arguments):
    """Run a command that must fail by exactly one line, and return it."""
    message = run(*arguments, code=1)
    assert message.startswith("Error: ")
    assert message.count("\n") == 1
    assert message.endswith("\n")
    assert "Traceback" not in message
    assert ".tmp" not in message
    return message
