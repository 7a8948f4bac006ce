"""The command prune: the tree that the model's own `prune` makes, and how it does."""

import json

import polars as pl
import pytest
from click.testing import CliRunner
from commands import EXAMPLES, GOLF, MPG, mistake, run

import fasttree
from fasttree._cli import commands
from fasttree.pruning import (
    CAlpha,
    ChiSquare,
    CostComplexity,
    CriticalValue,
    ErrorBased,
    MinimumError,
    Pessimistic,
    ReducedError,
)


@pytest.fixture
def adult(tmp_path):
    """A tree of a part of the adult table, and two other parts."""
    table = pl.read_csv(EXAMPLES / "adult.csv.gz").head(3000)
    for name, part in (("learn", table[:1500]), ("judge", table[1500:2200]), ("test", table[2200:])):
        part.write_csv(tmp_path / f"{name}.csv")
    run("train", tmp_path / "learn.csv", "--target", "income", "-o", tmp_path / "m.json")
    return tmp_path / "m.json", tmp_path / "judge.csv", tmp_path / "test.csv"


@pytest.mark.parametrize(
    ("text", "pruning", "judged"),
    [
        ("cost_complexity:alpha=0.002,risk=error", CostComplexity(alpha=0.002, risk="error"), False),
        ("cost_complexity:alpha=validation,selection=1se", CostComplexity(alpha="validation", selection="1se"), True),
        ("c_alpha:alpha=2,unit=nats", CAlpha(alpha=2, unit="nats"), False),
        ("reduced_error:max_error_increase=0.01", ReducedError(max_error_increase=0.01), True),
        ("pessimistic", Pessimistic(), False),
        ("error_based:confidence=0.1", ErrorBased(confidence=0.1), False),
        ("error_based:confidence=0.1", ErrorBased(confidence=0.1), True),
        ("minimum_error:m=laplace", MinimumError(m="laplace"), False),
        ("critical_value:value=0.4", CriticalValue(value=0.4), False),
        ("critical_value", CriticalValue(), True),
        ("chi-square: p_value=0.01", ChiSquare(p_value=0.01), False),
    ],
)
def test_the_tree_is_the_one_that_the_model_prunes(text, pruning, judged, adult, tmp_path):
    model, judge, test = adult
    data = [judge] if judged else []
    found = json.loads(run("prune", model, *data, "--pruning", text, "-o", tmp_path / "p.json", "--test", test, "--json"))
    tree = fasttree.load(model)
    table = pl.read_csv(judge)
    samples = (table.drop("income"), table["income"]) if judged else ()
    expected = tree.prune(pruning, *samples)
    assert fasttree.load(tmp_path / "p.json").tree_ == expected.tree_
    assert expected.get_n_leaves() < tree.get_n_leaves()
    for figures, each in ((found["before"], model), (found["after"], tmp_path / "p.json")):
        loaded = fasttree.load(each)
        assert [figures[name] for name in ("leaves", "depth")] == [loaded.get_n_leaves(), loaded.get_depth()]
        assert figures["test"] == json.loads(run("evaluate", each, test, "--json"))
        assert (figures["data"] is None) == (not judged)
    assert found["judged_by"] == (700 if judged else None)
    assert (found["method"], found["parameters"]) == (pruning.word, pruning.get_params())


def test_what_samples_chose_is_told(adult):
    model, judge, _ = adult
    arguments = ["prune", model, judge, "--pruning", "cost_complexity:alpha=validation"]
    chosen = json.loads(run(*arguments, "--json"))["chosen"]
    table = pl.read_csv(judge)
    pruned = fasttree.load(model).prune(CostComplexity(alpha="validation"), table.drop("income"), table["income"])
    expected = pruned.pruning_table_
    assert chosen == {
        "parameter": "ccp_alpha",
        "value": expected.ccp_alphas[expected.chosen],
        "of": len(expected.ccp_alphas),
    }
    told = run(*arguments)
    assert f"on 700 rows of {judge}, which chose ccp_alpha {chosen['value']:.6g} of {chosen['of']}\n" in told
    assert "flatter the tree that they pruned" in told
    assert "flatter" not in run(*arguments, "--test", judge)


def test_figures_before_and_after_stand_side_by_side(adult):
    model, _, test = adult
    told = run("prune", model, "--pruning", "minimum_error:m=20", "--test", test)
    tree = fasttree.load(model)
    pruned = tree.prune(MinimumError(m=20))
    table = pl.read_csv(test)
    errors = [int((each.predict(table.drop("income")) != table["income"].to_numpy()).sum()) for each in (tree, pruned)]
    rows = {line.partition("  ")[0]: line.split() for line in told.splitlines()}
    assert rows["leaves"][1:] == [f"{tree.get_n_leaves():,}", f"{pruned.get_n_leaves():,}"]
    assert rows[f"errors, {test}"][-4::2] == [str(count) for count in errors]
    assert "Not saved" in told


def test_rows_that_a_method_does_not_look_at_only_measure(adult, tmp_path):
    model, judge, _ = adult
    told = run("prune", model, judge, "--pruning", "chi_square", "-o", tmp_path / "p.json")
    assert f"errors, {judge}" in told
    assert "flatter" not in told
    assert fasttree.load(tmp_path / "p.json").tree_ == fasttree.load(model).prune("chi_square").tree_


def test_trees_for_numbers_are_pruned(tmp_path):
    run("train", MPG, "--target", "mpg", "-o", tmp_path / "m.json")
    told = run("prune", tmp_path / "m.json", MPG, "--pruning", "cost_complexity:alpha=0.5", "-o", tmp_path / "p.json")
    expected = fasttree.load(tmp_path / "m.json").prune(CostComplexity(alpha=0.5))
    assert fasttree.load(tmp_path / "p.json").tree_ == expected.tree_
    assert f"R², {MPG}" in told
    message = mistake("prune", tmp_path / "m.json", "--pruning", "pessimistic")
    assert "pruning='pessimistic': must be 'cost_complexity', 'c_alpha', 'reduced_error'" in message
    found = json.loads(run("evaluate", tmp_path / "p.json", MPG, "--json"))  # the name of the target was kept
    assert found["n_rows"] == 398


def test_a_tree_of_several_targets_is_pruned_without_data(tmp_path):
    table = pl.read_csv(EXAMPLES / "iris.csv").with_columns(wide=pl.col("sepal_width") > 3)
    X, y = table.drop("class", "wide"), table.select("class", "wide")
    fasttree.CARTClassifier().fit(X, y).save(tmp_path / "m.json")
    run("prune", tmp_path / "m.json", "--pruning", "cost_complexity:alpha=0.05", "-o", tmp_path / "p.json")
    expected = fasttree.load(tmp_path / "m.json").prune(CostComplexity(alpha=0.05))
    assert fasttree.load(tmp_path / "p.json").tree_ == expected.tree_
    assert "2 targets" in mistake("prune", tmp_path / "m.json", EXAMPLES / "iris.csv", "--pruning", "pessimistic")


def test_that_no_file_keeps_the_tree_as_grown_is_said_where_it_matters(tmp_path):
    run("train", GOLF, "--algorithm", "c45", "-o", tmp_path / "pruned.json")
    run("train", GOLF, "--algorithm", "c45", "--pruning", "none", "-o", tmp_path / "grown.json")
    for name, expected in (("pruned", True), ("grown", False)):
        result = CliRunner().invoke(commands.fasttree, ["prune", str(tmp_path / f"{name}.json"), "--pruning", "pessimistic"])
        assert result.exit_code == 0
        assert ("as its training pruned it (error_based)" in result.stderr) == expected
        assert "as its training" not in result.stdout


def test_help_names_every_method_and_its_parameters():
    told = " ".join(run("prune", "--help").split())
    assert "cost_complexity (alpha 0.0, risk impurity, selection best)" in told
    assert "chi_square (p_value 0.05)" in told


def test_what_is_wrong_is_one_line(adult, tmp_path):
    model, judge, _ = adult
    prune = ["prune", model, "--pruning"]
    assert "confidence=3" in mistake(*prune, "error_based:confidence=3")
    assert "Pessimistic has no parameter 'alpha'; it has none" in mistake(*prune, "pessimistic:alpha=1")
    assert "replace the input" in mistake(*prune, "pessimistic", "-o", model)
    assert "nowhere.csv" in mistake("prune", model, tmp_path / "nowhere.csv", "--pruning", "reduced_error")
    assert "no column 'wage'" in mistake("prune", model, judge, "--pruning", "reduced_error", "--target", "wage")
    assert "knows only" in mistake("prune", model, "--pruning", "pessimistic", "--test", judge, "--target", "sex")
    assert "nowhere.json" in mistake("prune", tmp_path / "nowhere.json", "--pruning", "pessimistic")
    run("train", GOLF, "--algorithm", "c45rules", "-o", tmp_path / "rules.json")
    assert "holds rules, not a tree" in mistake("prune", tmp_path / "rules.json", "--pruning", "pessimistic")


def test_what_a_method_cannot_do_without_is_asked_for(adult):
    model, *_ = adult
    for method, words in (
        ("reduced_error", "give a table after the model"),
        ("critical_value", "give a table after the model"),
        ("cost_complexity", "needs an alpha above 0, the cost of a leaf, or validation"),
        ("c_alpha", "needs an alpha above 0, the cost of a leaf, such as 1"),
        ("by_hand", "must be one of cost_complexity, c_alpha"),
    ):
        message = run("prune", model, "--pruning", method, code=2)
        assert message.startswith("Usage: ")
        assert words in message
