"""What a command imports: the command line answers at once where a command needs no large library."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import EXAMPLES, IRIS, run

from fasttree._cli import commands
from fasttree._cli.models import ALGORITHMS
from fasttree._cli.options import (
    DIALECTS,
    FLAGS,
    OTHER_PARAMETERS,
    PARAMETERS,
    PRUNINGS,
    PRUNINGS_FOR_NUMBERS,
    SORT_KEYS,
)
from fasttree._explain import rule_list
from fasttree._export import sql_dialect
from fasttree.pruning import METHODS

HEAVY = ["joblib", "matplotlib", "narwhals", "numpy", "onnx", "pandas", "polars", "pyarrow", "rich", "scipy", "sklearn"]
PROGRAM = """
import atexit, json, sys
loaded = lambda: json.dumps(sorted(set(HEAVY) & sys.modules.keys()))
atexit.register(lambda: print(loaded(), file=sys.stderr))
from fasttree._cli.main import main
sys.argv = ["fasttree", *ARGUMENTS]
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("start")
    run("train", IRIS, "--target", "class", "-o", path / "tree.json")
    run("train", EXAMPLES / "auto-mpg.csv", "--target", "mpg", "--max-depth", 3, "-o", path / "mpg.json")
    run("train", IRIS, "--target", "class", "--algorithm", "c45rules", "-o", path / "rules.json")
    return path


def loaded_by(folder, *arguments, **environment):
    """Return the large libraries that a command imports in a Python of its own."""
    program = f"HEAVY, ARGUMENTS = {HEAVY!r}, {list(map(str, arguments))!r}{PROGRAM}"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return json.loads(done.stderr.splitlines()[-1])


def completing(*words):
    return {"_FASTTREE_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(("fasttree", *words)), "COMP_CWORD": str(len(words))}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"], ["completion", "bash"]], ids=" ".join)
def test_nothing_large_is_imported_where_none_is_needed(arguments, folder):
    assert loaded_by(folder, *arguments) == []


@pytest.mark.parametrize(
    ("words", "libraries"),
    [
        (["tr"], []),
        (["train", "t.csv", "--ma"], ["numpy"]),
        (["train", "t.csv", "--pruning", "c"], ["numpy"]),
        (["show", "tree.json", "--format", "s"], ["numpy"]),
        (["prune", "tree.json", "--pru"], ["numpy"]),
        (["compare", "t.csv", "c4"], ["numpy", "rich"]),
        (["train", str(IRIS), "--target", "c"], ["numpy"]),
        (["train", str(EXAMPLES / "adult.csv.gz"), "--ignore", "f"], ["numpy"]),
        (["train", str(EXAMPLES / "golf.names"), "--ignore", "o"], ["numpy", "polars"]),
    ],
    ids=" ".join,
)
def test_a_completion_imports_what_its_command_needs(words, libraries, folder):
    assert loaded_by(folder, **completing(*words)) == libraries


@pytest.mark.parametrize("options", [[], ["--max-depth", 1], ["--format", "svg"], ["--format", "dot"], ["--json"]], ids=str)
@pytest.mark.parametrize("model", ["tree.json", "mpg.json"])
def test_a_saved_tree_is_shown_with_numpy_alone(model, options, folder):
    assert loaded_by(folder, "show", model, *options) == ["numpy"]


@pytest.mark.parametrize("form", ["rules", "markdown"])
def test_rules_of_classes_are_listed_with_numpy_alone(form, folder):
    assert loaded_by(folder, "show", "tree.json", "--format", form) == ["numpy"]


@pytest.mark.parametrize(
    "options", [[], ["--format", "markdown"], ["--format", "html"], ["--format", "sql"], ["--json"]], ids=str
)
def test_saved_rules_are_shown_with_numpy_alone(options, folder):
    assert loaded_by(folder, "show", "rules.json", *options) == ["numpy"]


def test_a_prediction_of_saved_rules_is_explained_with_numpy_alone(folder):
    assert loaded_by(folder, "explain", "rules.json", IRIS) == ["numpy"]


def test_importances_by_the_tree_need_numpy_and_a_width_of_letters(folder):
    assert loaded_by(folder, "importances", "tree.json") == ["numpy", "rich"]


@pytest.mark.parametrize(("model", "table"), [("tree.json", IRIS), ("mpg.json", EXAMPLES / "auto-mpg.csv")])
def test_a_prediction_for_a_row_of_a_plain_file_is_explained_with_numpy_alone(model, table, folder):
    assert loaded_by(folder, "explain", model, table) == ["numpy"]


def test_a_table_with_quotes_is_read_by_polars(folder):
    (folder / "quotes.csv").write_text(Path(IRIS).read_text().replace("petal_width", '"petal_width"'))
    assert loaded_by(folder, "explain", "tree.json", "quotes.csv") == ["numpy", "polars"]


def test_training_from_the_disk_imports_no_library_that_draws(folder):
    allowed = {"joblib", "narwhals", "numpy", "pandas", "polars", "pyarrow", "scipy", "sklearn"}
    assert {"polars", "pyarrow"} <= set(loaded_by(folder, "train", IRIS, "--target", "class", "--memory", "64MiB")) <= allowed


@pytest.mark.parametrize("command", list(commands.COMMANDS))
def test_a_help_page_imports_no_estimator(command, folder):
    assert set(loaded_by(folder, command, "--help")) <= {"numpy", "rich"}


def test_the_methods_of_help_pages_and_completions_are_those_of_pruning():
    def usage(method):
        names = [name for name in method._get_param_names() if name not in ("cv", "validation_fraction")]
        return ", ".join(f"{name} {str(getattr(method(), name)).lower()}" for name in names)

    assert list(PRUNINGS.items()) == [(word, usage(method)) for word, method in METHODS.items()]
    assert tuple(word for word, method in METHODS.items() if method.for_numbers) == PRUNINGS_FOR_NUMBERS


def test_the_choices_of_show_are_those_of_the_library():
    assert tuple(rule_list.SORT_KEYS) == SORT_KEYS
    assert tuple(sql_dialect.DIALECTS) == DIALECTS


def test_the_parameters_of_the_help_page_are_those_of_the_estimators():
    own = {*PARAMETERS, *FLAGS, "categorical_features", "ordinal_features", "random_state", "verbose"}  # bars are always shown
    names = {algorithm: [] for algorithm, _ in ALGORITHMS}
    for (algorithm, _), entry in ALGORITHMS.items():
        names[algorithm] += [name for name in entry.load()._get_param_names() if name not in {*own, *names[algorithm]}]
    assert {algorithm: ", ".join(listed) for algorithm, listed in names.items()} == OTHER_PARAMETERS
