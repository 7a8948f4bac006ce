"""Rules of Cubist on the command line: learned as in Python, saved, shown, explained and measured."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from commands import IRIS, MPG

import fasttree
from fasttree import CubistRegressor
from fasttree._cli.commands import fasttree as command_line


def run(*arguments, code=0):
    done = CliRunner().invoke(command_line, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return done.output


CUBIST = ["--target", "mpg", "--algorithm", "cubist"]


@pytest.fixture(scope="module")
def model():
    table = pd.read_csv(MPG)
    return CubistRegressor(committees=2).fit(table.drop(columns="mpg"), table["mpg"])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("committee") / "model.json"
    run("train", MPG, *CUBIST, "--param", "committees=2", "--output", path)
    return path


def test_the_model_is_that_of_python(path, model):
    X = pd.read_csv(MPG).drop(columns="mpg")
    mpg = pd.read_csv(MPG)["mpg"]
    np.testing.assert_array_equal(fasttree.load(path).predict(X), model.predict(X))
    predicted = run("predict", path, MPG).splitlines()[1:]
    assert [float(line) for line in predicted] == model.predict(X).tolist()
    found = json.loads(run("evaluate", path, MPG, "--json"))
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((model.predict(X) - mpg) ** 2)))


def test_every_rule_is_printed(path, model):
    n_conditions = sum(len(rule.conditions) for member in model.rules_ for rule in member)
    size = f"CubistRegressor: {len(model.to_rules())} rules, {n_conditions} conditions in 2 rule sets\n"
    trained = run("train", MPG, *CUBIST, "--param", "committees=2")
    assert f"\n\n{model.export_text()}\n{size}Not measured: " in trained
    assert "measures the rules on other rows" in trained
    assert run("show", path) == f"{model.export_text()}\n{size}"


def test_lines_that_do_not_fit_are_counted():
    given = ["train", MPG, *CUBIST, "--param", "committees=30"]
    whole, shown = (run(*given, *more).splitlines() for more in (["--print-depth", "all"], []))
    left_out = next(line for line in shown if "--print-depth all prints everything" in line)
    n_left_out = int(left_out.split()[1])
    place = shown.index(left_out)
    assert n_left_out > 0
    assert shown == [*whole[:place], left_out, *whole[place + n_left_out :]]


@pytest.mark.parametrize(
    ("form", "method"),
    [
        ("rules", "export_text"),
        ("markdown", "to_markdown"),
        ("json", "to_json"),
        ("sql", "export_sql"),
        ("pmml", "export_pmml"),
        ("c", "export_c"),
        ("python", "export_python"),
    ],
)
def test_a_format_is_a_method(form, method, path):
    assert run("show", path, "--format", form).rstrip("\n") == getattr(fasttree.load(path), method)().rstrip("\n")


def test_onnx_is_written_to_a_file(path, tmp_path):
    pytest.importorskip("onnx")
    run("show", path, "--output", tmp_path / "rules.onnx", "--dtype", "float64")
    assert (tmp_path / "rules.onnx").read_bytes() == fasttree.load(path).export_onnx(dtype="float64")


def test_a_page_has_rows_of_a_table(path, tmp_path, model):
    run("show", path, MPG, "--output", tmp_path / "rules.html", "--title", "Fuel")
    table = pd.read_csv(MPG)
    written = (
        (tmp_path / "rules.html").read_text(encoding="utf-8"),
        model.export_html(title="Fuel", X=table.drop(columns="mpg"), y=table["mpg"]),
    )
    found, expected = (json.loads(re.search('id="data">(.*?)</script>', page, re.DOTALL)[1]) for page in written)
    for data in (found, expected):
        del data["rows"]["single"]  # a file is read in the smallest type of its numbers
    assert found == expected
    assert found["title"] == "Fuel"
    assert found["rows"]["of"] == len(table)


def test_figures_for_programs(path, model):
    shown = json.loads(run("show", path, "--json"))
    assert (shown["algorithm"], shown["task"], shown["n_rows"]) == ("cubist", "regression", None)
    assert (shown["rule_sets"], shown["rules"]) == (2, len(model.to_rules()))
    assert {feature["importance"] for feature in shown["features"]} == {None}


def test_a_row_is_explained_by_the_rules_that_hold(path, model):
    row = pd.read_csv(MPG).drop(columns="mpg").iloc[3]
    explained = json.loads(run("explain", path, MPG, "--row", 3, "--json"))["rows"][0]
    assert explained["prediction"] == model.explain(row).prediction
    assert tuple(explained["rules"]) == model.explain(row).rules
    assert run("explain", path, MPG, "--row", 3) == f"row 3, mpg is 16\n{model.explain(row)}\n"


def test_rules_are_compared_with_trees_and_with_saved_rules(path):
    found = run("compare", MPG, "cubist", "m5", "--target", "mpg", "--cv", 2)
    assert "cubist less m5" in found
    assert [line for line in found.splitlines() if line.startswith("rules ")]
    assert "a saved model does not name the rows of its training" in run(
        "compare", MPG, "cubist", path, "--target", "mpg", "--cv", 2
    )


def test_importances_are_those_of_shuffled_columns(path):
    found = json.loads(run("importances", path, MPG, "--repeats", 1, "--json"))
    first = found["features"][0]
    assert (first["name"], first["impurity"]) == ("weight", None)
    assert first["permutation"]["mean"] > 0.1


def test_what_rules_do_not_have_is_one_clear_error(path, tmp_path):
    assert "rules, which have no impurity: give a table" in run("importances", path, code=1)
    assert "their formats are 'text', 'rules', 'markdown'" in run("show", path, "--format", "svg", code=1)
    assert "leave out --decimals" in run("show", path, "--decimals", 2, code=2)
    assert "explained as they are: leave out --decimals" in run("explain", path, MPG, "--decimals", 2, code=2)
    assert "rules, not a tree" in run("prune", path, "--pruning", "pessimistic", code=1)
    assert "--print-depth must be all" in run("train", MPG, *CUBIST, "--print-depth", 3, code=2)
    run("train", MPG, *CUBIST, "--param", "neighbors=3", "--output", tmp_path / "near.json")
    assert "neighbours" in run("show", tmp_path / "near.json", "--format", "sql", code=1)


@pytest.mark.parametrize("algorithm", ["cubist", "m5"])
def test_classes_are_for_other_algorithms(algorithm):
    assert f"{algorithm} predicts numbers; for classes use one of: id3, " in run(
        "train", IRIS, "--target", "class", "--algorithm", algorithm, code=2
    )


def test_few_numbers_are_numbers():
    assert run("train", MPG, "--target", "cylinders", "--algorithm", "cubist").startswith("cylinders: regression\n")
