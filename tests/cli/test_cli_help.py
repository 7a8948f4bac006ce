"""Help pages: their examples run as they stand there, in their order, and what they say of --json is so."""

import json
import re
import shlex
from pathlib import Path

import pytest
from commands import EXAMPLES, not_ignored, run

from fasttree._cli import commands as command_line

PAGES = [None, *command_line.fasttree.commands]


def examples(name):
    """The commands at the end of a page, without what a shell does with their output, and the file that it gives them."""
    page = run(*([] if name is None else [name]), "--help")
    for line in page.partition("Examples:\n")[2].splitlines():
        program, *words = shlex.split(line, comments=True)
        given = words[words.index("<") + 1] if "<" in words else None
        stop = next((k for k, text in enumerate(words) if text in ("|", "<", ">")), len(words))
        yield program, words[:stop], given


def json_runs():
    """A run of every command that takes --json, with all that it can print."""
    adult = EXAMPLES / "adult.test.csv.gz"
    yield ["train", adult, "--target", "income", "--algorithm", "c45", "--max-depth", 5, "--holdout", "0.3"]
    yield ["evaluate", "model.json", adult]
    yield ["evaluate", "mpg.json", EXAMPLES / "auto-mpg.csv"]
    yield ["show", "model.json"]
    yield ["show", "rules.json"]
    yield ["prune", "model.json", adult, "--pruning", "reduced_error"]
    yield ["importances", "model.json", adult, "--repeats", 1]
    yield ["explain", "model.json", adult, "--row", 3, "--row", 4]
    yield ["compare", EXAMPLES / "iris.csv", "cart", "c45", "--target", "class", "--cv", 3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the examples and the model of the first page, in which each page is followed by itself."""
    path = tmp_path_factory.mktemp("help")
    (path / "examples").symlink_to(EXAMPLES)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        run("train", EXAMPLES / "adult.test.csv.gz", "--target", "income", "--max-depth", 6, "-o", "model.json")
        yield path


@pytest.mark.parametrize("name", PAGES)
def test_every_example_runs(name, folder):
    found = list(examples(name))
    assert found
    for program, words, given in found:
        assert program == "fasttree"
        before = set(folder.iterdir())
        run(*words, input=None if given is None else Path(given).read_bytes())
        assert not_ignored(path.name for path in set(folder.iterdir()) - before) == set()


@pytest.mark.parametrize("name", PAGES[1:])
def test_a_page_has_an_example_of_its_own_command(name, folder):
    assert name in {words[0] for _, words, _ in examples(name)}
    assert "\b" not in run(name, "--help")


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_a_terminal_of_80_columns(name):
    text, _, commands = run(*([] if name is None else [name]), "--help", terminal_width=80).partition("Examples:")
    assert max(map(len, text.splitlines())) <= 80
    assert max(map(len, commands.splitlines())) <= 120  # to be copied, so in one line


def keys(found):
    if isinstance(found, dict):
        return set(found).union(*map(keys, found.values()))
    return set().union(*map(keys, found)) if isinstance(found, list) else set()


@pytest.mark.parametrize("arguments", list(json_runs()), ids=lambda arguments: arguments[0])
def test_json_is_one_object_of_finite_numbers_with_the_keys_that_the_page_names(arguments, folder):
    run("train", EXAMPLES / "auto-mpg.csv", "--target", "mpg", "-o", "mpg.json")
    run("train", EXAMPLES / "golf.names", "--algorithm", "c45rules", "-o", "rules.json")
    printed = run(*arguments, "--json")
    assert printed.count("\n") == 1
    assert not re.search(r"\b(NaN|Infinity)\b", printed)
    found = json.loads(printed)
    page = " ".join(run(arguments[0], "--help").split()).partition("--json")[2]
    assert not [key for key in found if not re.search(rf"\b{key}\b", page)]


def test_every_command_that_prints_figures_has_json():
    commands = {name: command_line.fasttree.loaded(name) for name in command_line.COMMANDS}
    with_json = {name for name, command in commands.items() if "as_json" in {given.name for given in command.params}}
    assert with_json == set(commands) - {"predict", "completion"}
