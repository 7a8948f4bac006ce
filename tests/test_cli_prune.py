"""The command prune: the tree that the model's own `prune` makes, and how it does."""

import json

import polars as pl
import pytest
from click.testing import CliRunner
from commands import EXAMPLES, GOLF, MPG, mistake, run

import fasttree
from fasttree import _commands
from fasttree._commands.pruning import MEANINGS
from fasttree._parameters import PRUNINGS


@pytest.fixture
def adult(tmp_path):
    """A tree of a part of the adult table, and two other parts."""
    table = pl.read_csv(EXAMPLES / "adult.csv.gz").head(3000)
    for name, part in (("learn", table[:1500]), ("judge", table[1500:2200]), ("test", table[2200:])):
        part.write_csv(tmp_path / f"{name}.csv")
    run("train", tmp_path / "learn.csv", "--target", "income", "-o", tmp_path / "m.json")
    return tmp_path / "m.json", tmp_path / "judge.csv", tmp_path / "test.csv"


@pytest.mark.parametrize(
    ("method", "options", "parameters", "judged"),
    [
        (
            "cost_complexity",
            ["--ccp-alpha", "0.002", "--pruning-risk", "error"],
            {"ccp_alpha": 0.002, "pruning_risk": "error"},
            False,
        ),
        ("cost_complexity", ["--ccp-alpha", "validation", "--rule", "1se"], {"ccp_alpha": "validation", "rule": "1se"}, True),
        ("c_alpha", ["--alpha", "2", "--alpha-unit", "nats"], {"alpha": 2, "alpha_unit": "nats"}, False),
        ("reduced_error", ["--tolerance", "0.01"], {"tolerance": 0.01}, True),
        ("pessimistic", [], {}, False),
        ("error_based", ["--confidence", "0.1"], {"confidence": 0.1}, False),
        ("error_based", ["--confidence", "0.1"], {"confidence": 0.1}, True),
        ("minimum_error", ["--m", "laplace"], {"m": "laplace"}, False),
        ("critical_value", ["--critical-value", "0.4"], {"critical_value": 0.4}, False),
        ("critical_value", [], {}, True),
        ("chi_square", ["--max-p-value", "0.01"], {"max_p_value": 0.01}, False),
    ],
)
def test_the_tree_is_the_one_that_the_model_prunes(method, options, parameters, judged, adult, tmp_path):
    model, judge, test = adult
    data = [judge] if judged else []
    found = json.loads(
        run("prune", model, *data, "--method", method, *options, "-o", tmp_path / "p.json", "--test", test, "--json")
    )
    tree = fasttree.load(model)
    table = pl.read_csv(judge)
    samples = (table.drop("income"), table["income"]) if judged else ()
    expected = tree.prune(method, *samples, **parameters)
    assert fasttree.load(tmp_path / "p.json").tree_ == expected.tree_
    assert expected.get_n_leaves() < tree.get_n_leaves()
    for figures, each in ((found["before"], model), (found["after"], tmp_path / "p.json")):
        loaded = fasttree.load(each)
        assert [figures[name] for name in ("leaves", "depth")] == [loaded.get_n_leaves(), loaded.get_depth()]
        assert figures["test"] == json.loads(run("evaluate", each, test, "--json"))
        assert (figures["data"] is None) == (not judged)
    assert found["judged_by"] == (700 if judged else None)
    assert found["parameters"].items() >= parameters.items()


def test_what_samples_chose_is_told(adult):
    model, judge, _ = adult
    arguments = ["prune", model, judge, "--method", "cost_complexity", "--ccp-alpha", "validation"]
    chosen = json.loads(run(*arguments, "--json"))["chosen"]
    table = pl.read_csv(judge)
    pruned = fasttree.load(model).prune("cost_complexity", table.drop("income"), table["income"], ccp_alpha="validation")
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
    told = run("prune", model, "--method", "minimum_error", "--m", 20, "--test", test)
    tree = fasttree.load(model)
    pruned = tree.prune("minimum_error", m=20)
    table = pl.read_csv(test)
    errors = [int((each.predict(table.drop("income")) != table["income"].to_numpy()).sum()) for each in (tree, pruned)]
    rows = {line.partition("  ")[0]: line.split() for line in told.splitlines()}
    assert rows["leaves"][1:] == [f"{tree.get_n_leaves():,}", f"{pruned.get_n_leaves():,}"]
    assert rows[f"errors, {test}"][-4::2] == [str(count) for count in errors]
    assert "Not saved" in told


def test_rows_that_a_method_does_not_look_at_only_measure(adult, tmp_path):
    model, judge, _ = adult
    told = run("prune", model, judge, "--method", "chi_square", "-o", tmp_path / "p.json")
    assert f"errors, {judge}" in told
    assert "flatter" not in told
    assert fasttree.load(tmp_path / "p.json").tree_ == fasttree.load(model).prune("chi_square").tree_


def test_trees_for_numbers_are_pruned(tmp_path):
    run("train", MPG, "--target", "mpg", "-o", tmp_path / "m.json")
    told = run("prune", tmp_path / "m.json", MPG, "--method", "cost_complexity", "--ccp-alpha", "0.5", "-o", tmp_path / "p.json")
    expected = fasttree.load(tmp_path / "m.json").prune("cost_complexity", ccp_alpha=0.5)
    assert fasttree.load(tmp_path / "p.json").tree_ == expected.tree_
    assert f"R², {MPG}" in told
    message = mistake("prune", tmp_path / "m.json", "--method", "pessimistic")
    assert "predicts numbers; such a tree is pruned by cost_complexity, c_alpha, reduced_error" in message
    found = json.loads(run("evaluate", tmp_path / "p.json", MPG, "--json"))  # the name of the target was kept
    assert found["n_rows"] == 398


def test_a_tree_of_several_targets_is_pruned_without_data(tmp_path):
    table = pl.read_csv(EXAMPLES / "iris.csv").with_columns(wide=pl.col("sepal_width") > 3)
    X, y = table.drop("class", "wide"), table.select("class", "wide")
    fasttree.CARTClassifier().fit(X, y).save(tmp_path / "m.json")
    run("prune", tmp_path / "m.json", "--method", "cost_complexity", "--ccp-alpha", "0.05", "-o", tmp_path / "p.json")
    expected = fasttree.load(tmp_path / "m.json").prune("cost_complexity", ccp_alpha=0.05)
    assert fasttree.load(tmp_path / "p.json").tree_ == expected.tree_
    assert "2 targets" in mistake("prune", tmp_path / "m.json", EXAMPLES / "iris.csv", "--method", "pessimistic")


def test_that_no_file_keeps_the_tree_as_grown_is_said_where_it_matters(tmp_path):
    run("train", GOLF, "--algorithm", "c45", "-o", tmp_path / "pruned.json")
    run("train", GOLF, "--algorithm", "c45", "--pruning", "none", "-o", tmp_path / "grown.json")
    for name, expected in (("pruned", True), ("grown", False)):
        result = CliRunner().invoke(_commands.fasttree, ["prune", str(tmp_path / f"{name}.json"), "--method", "pessimistic"])
        assert result.exit_code == 0
        assert ("as its training pruned it (error_based)" in result.stderr) == expected
        assert "as its training" not in result.stdout


def test_every_parameter_of_every_method_has_an_option():
    assert set(MEANINGS) == {name for names in PRUNINGS.values() for name in names}
    text = run("prune", "--help")
    assert all(f"--{name.replace('_', '-')} " in text for name in MEANINGS)


def test_what_is_wrong_is_one_line(adult, tmp_path):
    model, judge, _ = adult
    prune = ["prune", model, "--method"]
    assert "confidence=3" in mistake(*prune, "error_based", "--confidence", 3)
    assert "alpha=1: 'pessimistic' pruning takes no parameters" in mistake(*prune, "pessimistic", "--alpha", 1)
    assert "replace the input" in mistake(*prune, "pessimistic", "-o", model)
    assert "nowhere.csv" in mistake("prune", model, tmp_path / "nowhere.csv", "--method", "reduced_error")
    assert "no column 'wage'" in mistake("prune", model, judge, "--method", "reduced_error", "--target", "wage")
    assert "knows only" in mistake("prune", model, "--method", "pessimistic", "--test", judge, "--target", "sex")
    assert "nowhere.json" in mistake("prune", tmp_path / "nowhere.json", "--method", "pessimistic")
    run("train", GOLF, "--algorithm", "c45rules", "-o", tmp_path / "rules.json")
    assert "holds rules, not a tree" in mistake("prune", tmp_path / "rules.json", "--method", "pessimistic")


def test_what_a_method_cannot_do_without_is_asked_for(adult):
    model, *_ = adult
    for method, words in (
        ("reduced_error", "give a table after the model"),
        ("critical_value", "give a table after the model"),
        ("cost_complexity", "needs --ccp-alpha"),
        ("c_alpha", "needs --alpha"),
        ("by_hand", "'--method'"),
    ):
        message = run("prune", model, "--method", method, code=2)
        assert message.startswith("Usage: ")
        assert words in message
