"""The documentation tells the truth: examples of docstrings, sessions and commands of the pages give what stands there."""

import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import matplotlib
import pytest
from click.testing import CliRunner
from matplotlib import pyplot

import fasttree
from fasttree._commands import fasttree as command_line

matplotlib.use("agg")  # no windows

ROOT = Path(__file__).parents[1]
MODULES = sorted(module.name for module in pkgutil.walk_packages(fasttree.__path__, "fasttree.") if "__main__" not in module.name)
FOLDERS = ("guide", "algorithms", "shipping", "reference", "develop")
PAGES = sorted(page for folder in FOLDERS for page in (ROOT / "docs" / folder).glob("*.md"))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


SESSIONS = [page for page in PAGES if blocks(page, "python")]
CONSOLES = [page for page in PAGES if blocks(page, "console")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own that has the examples, so that what a page saves goes nowhere else; its figures are closed."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    yield
    pyplot.close("all")


@pytest.mark.parametrize("name", ["fasttree", *MODULES])
def test_examples_of_docstrings_give_what_stands_there(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_public_classes_show_an_example():
    public = [getattr(fasttree, name) for name in fasttree.__all__]
    assert not [each.__name__ for each in public if isinstance(each, type) and ">>>" not in (each.__doc__ or "")]


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_sessions_of_a_page_give_what_stands_there(page, folder):
    session = "\n".join(blocks(page, "python"))
    test = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    assert test.examples
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


@pytest.mark.parametrize("page", CONSOLES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_commands_of_a_page_print_what_stands_there(page, folder):
    commands = re.findall(r"^\$ fasttree (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks(page, "console")), re.MULTILINE)
    assert commands
    checker = doctest.OutputChecker()
    for command, shown in commands:
        result = CliRunner().invoke(command_line, shlex.split(command))
        assert result.exit_code == 0, f"{command}\n{result.output}"
        assert checker.check_output(shown, result.output, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), (
            f"{command}\n{result.output}"
        )
