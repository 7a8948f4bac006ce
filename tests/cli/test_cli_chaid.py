"""CHAID on the command line: trained as in Python, with its own parameters, and shown with its tests."""

import pandas as pd
from click.testing import CliRunner
from commands import IRIS, MPG

import fasttree
from fasttree import CHAIDClassifier
from fasttree._cli.commands import fasttree as command_line


def run(*arguments):
    done = CliRunner().invoke(command_line, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.output


def test_a_tree_is_that_of_python_and_is_shown_with_its_tests(tmp_path):
    path = tmp_path / "model.json"
    options = ["--algorithm", "chaid", "--max-depth", 2, "--param", "method=exhaustive", "--param", "alpha_split=0.01"]
    assert "CHAIDClassifier: " in run("train", IRIS, "--target", "class", *options, "--output", path)
    table = pd.read_csv(IRIS)
    model = CHAIDClassifier(max_depth=2, method="exhaustive", alpha_split=0.01).fit(table.drop(columns="class"), table["class"])
    assert fasttree.load(path).tree_ == model.tree_
    shown = run("show", path, "--tests")
    assert shown.startswith(model.export_text(show_tests=True))
    assert "competing sepal_length: " in shown
    assert "merged: " in shown
    assert "competing" not in run("show", path)


def test_numbers_need_no_other_word(tmp_path):
    output = run(
        "train", MPG, "--target", "mpg", "--algorithm", "chaid", "--param", "spss_limits=True", "--output", tmp_path / "m.json"
    )
    assert "CHAIDRegressor: " in output
