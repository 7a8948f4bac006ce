"""The command importances: the model's own figures, and what shuffled columns cost."""

import json

import numpy as np
import polars as pl
import pytest
from commands import EXAMPLES, GOLF, IRIS, MPG, mistake, run

import fasttree


@pytest.fixture
def model(tmp_path):
    data = EXAMPLES / "adult.test.csv.gz"
    run("train", data, "--target", "income", "--max-depth", 4, "--missing", "surrogate", "-o", tmp_path / "m.json")
    return tmp_path / "m.json"


def listed(*arguments):
    found = json.loads(run("importances", *arguments, "--json"))
    return found, {feature["name"]: feature for feature in found["features"]}


def test_importances_are_those_of_the_model(model):
    found, features = listed(model)
    tree = fasttree.load(model)
    names = [feature.name for feature in tree.schema_.features]
    assert [features[name]["impurity"] for name in names] == tree.feature_importances_.tolist()
    gains = tree.surrogate_importances()
    assert [features[name]["surrogates"] for name in names] == pytest.approx(gains / gains.sum())
    assert (found["target"], found["figure"], found["baseline"]) == ("income", None, None)
    told = run("importances", model)
    assert told.splitlines()[0].split() == ["impurity", "with", "surrogates"]
    assert told.splitlines()[1].split()[:2] == [
        names[tree.feature_importances_.argmax()],
        f"{tree.feature_importances_.max():.4f}",
    ]


def test_shuffling_a_column_costs_what_the_model_then_does_worse(model, tmp_path):
    table = pl.read_csv(EXAMPLES / "adult.test.csv.gz").tail(400)
    table.write_csv(tmp_path / "t.csv")
    found, features = listed(model, tmp_path / "t.csv", "--repeats", 3, "--seed", 4)
    tree = fasttree.load(model)
    X, y = table.drop("income"), table["income"].to_numpy()
    assert found["baseline"] == pytest.approx(tree.score(X, y))
    orders = [np.random.default_rng([4, k]).permutation(400) for k in range(3)]
    for name in ("relationship", "capital-gain"):
        scores = [tree.score(X.with_columns(X[name][order]), y) for order in orders]
        shuffled = features[name]["permutation"]
        assert shuffled["by_repeat"] == pytest.approx([found["baseline"] - score for score in scores])
        assert shuffled["mean"] == pytest.approx(found["baseline"] - np.mean(scores))
        assert shuffled["deviation"] == pytest.approx(np.std(scores, ddof=1))
    untested = [features[name]["permutation"]["mean"] for name in features if features[name]["impurity"] == 0]
    assert set(untested) == {0}
    means = [feature["permutation"]["mean"] for feature in found["features"]]
    assert means == sorted(means, reverse=True)
    assert f"accuracy of {found['baseline']:.4f} on 400 rows of" in run("importances", model, tmp_path / "t.csv")


def test_numbers_lose_r2_and_rules_have_permutations_alone(tmp_path):
    run("train", MPG, "--target", "mpg", "-o", tmp_path / "mpg.json")
    found, features = listed(tmp_path / "mpg.json", MPG, "--repeats", 1)
    assert (found["figure"], found["baseline"]) == ("r2", pytest.approx(1))
    assert features["displacement"]["permutation"]["deviation"] is None
    assert features["displacement"]["permutation"]["mean"] > 0.1
    assert "R² of 1.0000" in run("importances", tmp_path / "mpg.json", MPG)
    run("train", GOLF, "--algorithm", "c45rules", "-o", tmp_path / "rules.json")
    _, features = listed(tmp_path / "rules.json", GOLF)
    assert {feature["impurity"] for feature in features.values()} == {None}
    assert features["outlook"]["permutation"]["mean"] > 0
    assert "holds rules, which have no impurity" in mistake("importances", tmp_path / "rules.json")


def test_what_is_wrong_is_one_line(model, tmp_path):
    assert "no column" in mistake("importances", model, IRIS)
    assert "nowhere.csv" in mistake("importances", model, tmp_path / "nowhere.csv")
    assert "nowhere.json" in mistake("importances", tmp_path / "nowhere.json")
    assert "no column 'wage'" in mistake("importances", model, EXAMPLES / "adult.test.csv.gz", "--target", "wage")
