"""Boosted trees on the command line: trained as in Python, measured, explained, and shown by their trials."""

import json

import pytest
from click.testing import CliRunner
from commands import IRIS, LOAN
from sklearn.datasets import load_iris

import fasttree
from fasttree._cli.commands import fasttree as command_line


def run(*arguments):
    return CliRunner().invoke(command_line, list(map(str, arguments)))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("boosted") / "model.json"
    done = run("train", IRIS, "--target", "class", "--algorithm", "c50", "--trials", 10, "--output", path)
    assert done.exit_code == 0, done.output
    assert "C50Classifier: 10 trees, " in done.output
    return path


def test_the_model_is_that_of_python(model):
    trials = fasttree.load(model)
    assert [tree.get_n_leaves() for tree in trials.estimators_] == [4, 5, 3, 6, 4, 7, 3, 8, 4, 5]
    done = run("evaluate", model, IRIS, "--json")
    assert json.loads(done.stdout)["accuracy"] == 1
    assert len(run("predict", model, IRIS).stdout.splitlines()) == 151


def test_explains_the_vote_and_shows_a_trial(model):
    assert "as 10 of 10 trials" in run("explain", model, IRIS, "--row", 0).output
    found = json.loads(run("explain", model, IRIS, "--row", 0, "--json").stdout)["rows"][0]
    assert [vote["prediction"] for vote in found["votes"]] == ["Iris-setosa"] * 10
    assert "3 leaves" in run("show", model, "--tree", 2).output
    assert "fasttree show MODEL --tree 0" in run("show", model).output
    assert "c50 with --confidence" in " ".join(run("prune", model, IRIS, "--pruning", "reduced_error").output.split())


def test_a_single_tree_that_boosting_leaves_is_described_as_a_single_tree(tmp_path):
    asked = ("train", LOAN, "--target", "class", "--algorithm", "c50", "--output", tmp_path / "model.json")
    boosted = run(*asked, "--trials", 10)
    assert boosted.exit_code == 0, boosted.output
    assert boosted.output == run(*asked).output
    X, y = load_iris(return_X_y=True)
    model = fasttree.C50Classifier().fit(X, y)
    for loss_matrix in (None, {0: {1: 2}}):
        alone = fasttree.C50Classifier(loss_matrix=loss_matrix).fit(X, y)
        refitted = model.set_params(trials=2, loss_matrix=loss_matrix).fit(X[:100], y[:100]).fit(X, y)  # 2 trials become 1
        assert refitted.n_trials_ == 1
        tree, expected = refitted.tree_unpruned_, alone.tree_unpruned_
        assert tree.value.tolist() == expected.value.tolist()
        assert (tree.loss is None) == (expected.loss is None) == (loss_matrix is None)
