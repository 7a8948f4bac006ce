"""Additive models on the command line: trained as in Python, saved, shown, explained and measured."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from commands import IRIS, MPG

import fasttree
from fasttree import GAMRegressor
from fasttree._cli.commands import fasttree as command_line


def run(*arguments):
    done = CliRunner().invoke(command_line, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.output


QUICK = ["--algorithm", "gam", "--param", "n_bags=2", "--param", "max_iter=40", "--param", "random_state=0"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("additive") / "model.json"
    assert "GAMRegressor: " in run("train", MPG, "--target", "mpg", *QUICK, "--output", path)
    return path


def test_the_model_is_that_of_python(path):
    table = pd.read_csv(MPG)
    X = table.drop(columns="mpg")
    model = GAMRegressor(n_bags=2, max_iter=40, random_state=0).fit(X, table["mpg"])
    saved = fasttree.load(path)
    np.testing.assert_array_equal(saved.predict(X), model.predict(X))
    assert run("show", path).startswith(model.export_text(max_lines=4).splitlines()[0])
    found = json.loads(run("evaluate", path, MPG, "--json"))
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((model.predict(X) - table["mpg"]) ** 2)))
    predicted = run("predict", path, MPG).splitlines()[1:]
    assert [float(line.rpartition(",")[2]) for line in predicted] == model.predict(X).tolist()


def test_a_row_is_explained_by_its_terms(path):
    explained = run("explain", path, MPG, "--row", 0)
    assert "intercept" in explained
    assert all(name in explained for name in fasttree.load(path).term_names_)


def test_importances_are_of_scores(path):
    head, first = run("importances", path).splitlines()[:2]
    model = fasttree.load(path)
    best = model.feature_importances_.argmax()
    assert head.split() == ["scores"]
    assert first.split() == [model.feature_names_in_[best], f"{model.feature_importances_[best]:.4f}"]


def test_classes_need_no_other_word(tmp_path):
    assert "GAMClassifier: " in run("train", IRIS, "--target", "class", *QUICK, "--output", tmp_path / "model.json")


def test_the_page_is_that_of_python(path, tmp_path):
    table = pd.read_csv(MPG)
    run("show", path, MPG, "--title", "Cars", "--output", tmp_path / "cars.html")
    expected = fasttree.load(path).export_html(title="Cars", X=table.drop(columns="mpg"), y=table["mpg"])
    width = re.compile(r'"single":\[[a-z,]*\]')  # of the floats that a reader makes of small integers
    assert width.sub("", (tmp_path / "cars.html").read_text(encoding="utf-8")) == width.sub("", expected)
    assert run("show", path, "--format", "html", "--decimals", 1) == fasttree.load(path).export_html(decimals=1)
