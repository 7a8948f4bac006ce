"""The command explain: what `model.explain` says, of the rows that are asked for."""

import json

import polars as pl
import pytest
from commands import EXAMPLES, GOLF, IRIS, LOAN, MPG, mistake, run

import fasttree
from fasttree import CARTClassifier

ADULT = EXAMPLES / "adult.test.csv.gz"


@pytest.fixture
def model(tmp_path):
    run("train", ADULT, "--target", "income", "--max-depth", 4, "-o", tmp_path / "m.json")
    return tmp_path / "m.json"


def sample(table, row):
    """A row as it is read for a model: whole numbers are numbers like others."""
    return {name: float(cell) if isinstance(cell, int) else cell for name, cell in table.row(row, named=True).items()}


def test_rows_are_explained_as_the_model_does_and_the_truth_is_told(model):
    table = pl.read_csv(ADULT)
    told = run("explain", model, ADULT, "--row", 40, "--row", 7, "--max-categories", 2, "--decimals", 1)
    tree = fasttree.load(model)
    blocks = []
    for row in (7, 40):
        explanation = tree.explain(sample(table.drop("income"), row), max_categories=2, decimals=1)
        blocks.append(f"row {row}, income is {table['income'][row]}\n{explanation}\n")
    assert told == "\n".join(blocks)
    assert run("explain", model, ADULT).startswith(f"row 0, income is {table['income'][0]}\nprediction: ")


def test_json_holds_all_that_the_explanation_knows(model):
    table = pl.read_csv(ADULT)
    found = json.loads(run("explain", model, ADULT, "--row", 3, "--json"))
    assert found["target"] == "income"
    (explained,) = found["rows"]
    expected = fasttree.load(model).explain(sample(table.drop("income"), 3)).to_dict()
    assert explained == {"row": 3, "truth": table["income"][3]} | json.loads(json.dumps(expected))


def test_a_table_without_the_truth_is_explained_too(model, tmp_path):
    pl.read_csv(ADULT).head(3).drop("income").write_csv(tmp_path / "t.csv")
    assert run("explain", model, tmp_path / "t.csv", "--row", 2).startswith("row 2\nprediction: ")
    assert json.loads(run("explain", model, tmp_path / "t.csv", "--json"))["rows"][0]["truth"] is None
    assert "no column 'wage'" in mistake("explain", model, tmp_path / "t.csv", "--target", "wage")


def test_numbers_and_several_targets_are_explained(tmp_path):
    run("train", MPG, "--target", "mpg", "--max-depth", 3, "-o", tmp_path / "mpg.json")
    assert run("explain", tmp_path / "mpg.json", MPG, "--row", 32).startswith("row 32, mpg is 25\nprediction: ")
    pl.DataFrame({"x": [1, 2, 3, 4] * 5, "y": [3, 4] * 10}).write_csv(tmp_path / "t.csv")
    run("train", tmp_path / "t.csv", "--target", "y", "-o", tmp_path / "whole.json")
    assert run("explain", tmp_path / "whole.json", tmp_path / "t.csv").startswith("row 0, y is 3\nprediction: 3")
    loan = pl.read_csv(LOAN)
    CARTClassifier().fit(loan.select("age", "credit"), loan.select("has_job", "class")).save(tmp_path / "two.json")
    assert run("explain", tmp_path / "two.json", LOAN).startswith("row 0\nprediction: ")


def test_rows_are_counted_through_all_blocks(model, monkeypatch):
    expected = run("explain", model, ADULT, "--row", 5, "--row", 900)
    monkeypatch.setattr("fasttree._data.files.plain.MOST_BYTES", 0)
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_BYTES", 5000)
    assert run("explain", model, ADULT, "--row", 5, "--row", 900) == expected


def test_what_is_wrong_is_one_line(model, tmp_path):
    message = run("explain", model, ADULT, "--row", 99999, code=1)
    assert message == f"Error: --row 99999: {ADULT} has 16,281 rows, counted from 0\n"
    assert "no column" in mistake("explain", model, IRIS)
    assert "nowhere.csv" in mistake("explain", model, tmp_path / "nowhere.csv")


def test_a_prediction_of_rules_is_explained_too(tmp_path):
    run("train", GOLF, "--algorithm", "c45rules", "-o", tmp_path / "rules.json")
    rules = fasttree.load(tmp_path / "rules.json")
    X, _ = fasttree.formats.read_c45(EXAMPLES / "golf")
    expected = rules.explain(X[3])
    printed = run("explain", tmp_path / "rules.json", GOLF, "--row", 3)
    assert printed.split("\n", 1)[1] == f"{expected}\n"
    found = json.loads(run("explain", tmp_path / "rules.json", GOLF, "--row", 3, "--json"))["rows"][0]
    assert found == {"row": 3, "truth": "Play"} | expected.to_dict()
    assert "--row" in run("explain", model, ADULT, "--row", -1, code=2)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--max-categories", 3], "--max-categories"),
        (["--decimals", 2], "--decimals"),
        (["--max-categories", 12, "--decimals", 0], "--max-categories, --decimals"),
    ],
)
def test_options_of_trees_are_an_error_for_rules(options, named, tmp_path):
    path = tmp_path / "rules.json"
    run("train", GOLF, "--algorithm", "c45rules", "-o", path)
    message = run("explain", path, GOLF, *options, code=2)
    assert f"{path} holds rules, which are explained as they are: leave out {named}\n" in message
