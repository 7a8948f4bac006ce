"""The README tells the truth: its Python and its commands run as they stand there."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from commands import not_ignored, run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^fasttree (.*)$", README, re.MULTILINE)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of its own that has the examples, so that what the README saves goes nowhere else."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)


def test_programs_run_one_after_the_other():
    names = {}
    for program in PYTHON:
        if ">>>" not in program:
            exec(program, names)
    assert names["again"].export_text() == names["model"].export_text()


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_programs_of_a_page_run(page, capsys):
    programs = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert programs
    names = {}
    for program in programs:
        exec(program, names)
    assert capsys.readouterr().out


def test_shown_results_are_the_results():
    session = "\n".join(program for program in PYTHON if ">>>" in program)
    assert ">>>" in session
    test = doctest.DocTestParser().get_doctest(session, {}, "README.md", "README.md", 0)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_commands_run_one_after_the_other():
    shown = {command.split()[0] for command in COMMANDS}
    assert shown == {"train", "show", "explain", "evaluate", "predict", "prune", "compare"}
    for command in COMMANDS:
        run(*shlex.split(command))
    assert Path("predictions.csv").stat().st_size
    assert not_ignored({path.name for path in Path().iterdir()} - {"examples"}) == set()
