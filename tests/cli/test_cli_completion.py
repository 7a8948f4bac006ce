"""Shell completion: the scripts of click, and what they are answered."""

import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete
from commands import EXAMPLES, IRIS, run

from fasttree._cli import commands

SHELLS = ["bash", "zsh", "fish"]


def completed(*words):
    """What a shell is told of the last word, as pairs of kind and text."""
    *before, incomplete = words
    shell = ShellComplete(commands.fasttree, {}, "fasttree", "_FASTTREE_COMPLETE")
    return [(item.type, item.value) for item in shell.get_completions(before, incomplete)]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_names_the_program_and_how_it_asks(shell, tmp_path):
    script = run("completion", shell)
    assert f"_FASTTREE_COMPLETE={shell}_complete" in script
    if program := shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([program, "-n", tmp_path / "script"], check=True)  # reads it and runs nothing


def test_another_shell_is_refused():
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in run("completion", "tcsh", code=2)


def test_commands_and_options_are_completed():
    assert [value for _, value in completed("pr")] == ["predict", "prune"]
    assert ("plain", "--pruning") in completed("prune", "m.json", "--pr")
    assert {value for _, value in completed("")} == set(commands.fasttree.commands)


def test_choices_are_completed():
    assert completed("train", "t.csv", "--algorithm", "c4") == [("plain", "c45"), ("plain", "c45rules")]
    assert completed("prune", "m.json", "--pruning", "c") == [
        ("plain", value) for value in ("cost_complexity", "c_alpha", "critical_value", "chi_square")
    ]


@pytest.mark.parametrize("words", [["train", "t"], ["predict", "m.json", "t"], ["prune", "m.json", "t"], ["train", "-o", "t"]])
def test_files_are_left_to_the_shell(words):
    assert completed(*words) == [("file", "t")]


def test_entries_are_algorithms_or_files():
    assert completed("compare", "t.csv", "c4") == [("plain", "c45"), ("plain", "c45rules"), ("file", "c4")]


@pytest.mark.parametrize("before", [["train", IRIS], ["compare", IRIS, "cart"], ["evaluate", "m.json", IRIS]])
def test_columns_of_the_table_are_completed(before):
    assert completed(*before, "--target", "petal") == [("plain", "petal_length"), ("plain", "petal_width")]


@pytest.mark.parametrize("before", [["train"], ["train", "nowhere.csv"], ["train", str(EXAMPLES)], ["prune", "m.json"]])
def test_without_a_table_no_column_is_completed(before):
    assert completed(*before, "--target", "") == []


def test_the_program_answers_a_shell():
    asked = {"COMP_WORDS": "fasttree comp", "COMP_CWORD": "1", "_FASTTREE_COMPLETE": "bash_complete"}
    program = [sys.executable, "-P", "-m", "fasttree"]
    result = subprocess.run(program, env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["plain,compare", "plain,completion"]
