"""The command line as tests call it: in this process, with its answers or its one line of complaint."""

from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

from click.testing import CliRunner

from fasttree._cli import commands

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
LOAN, IRIS, MPG, GOLF = (str(EXAMPLES / name) for name in ("loan.csv", "iris.csv", "auto-mpg.csv", "golf.names"))


def run(*arguments, code=0, **settings):
    result = CliRunner().invoke(commands.fasttree, [str(argument) for argument in arguments], **settings)
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


def not_ignored(names: Iterable[str]) -> set[str]:
    """Return the files of a clone that git would list as new: what examples write must not be among them."""
    if not (ROOT / ".gitignore").exists():  # sources from a package
        return set()
    patterns = [line.removeprefix("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()]
    return {name for name in names if not any(fnmatch(name, pattern) for pattern in patterns)}
