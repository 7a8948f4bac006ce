"""The command show: what the model's exports give, with the options that each takes, on a screen or in a file."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from commands import EXAMPLES, GOLF, IRIS, LOAN, MPG, mistake, run

import fasttree
from fasttree import CARTClassifier, Predictor
from fasttree._cli import commands


@pytest.fixture
def model(tmp_path):
    run("train", EXAMPLES / "adult.test.csv.gz", "--target", "income", "--max-depth", 5, "-o", tmp_path / "m.json")
    return tmp_path / "m.json"


@pytest.fixture
def rules(tmp_path):
    run("train", GOLF, "--algorithm", "c45rules", "-o", tmp_path / "rules.json")
    return tmp_path / "rules.json"


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (["--max-depth", 2], {"max_depth": 2}),
        (["--max-nodes", 7, "--decimals", 0], {"max_nodes": 7, "decimals": 0}),
        (["--max-categories", 2, "--shares", "--align"], {"max_categories": 2, "show_shares": True, "align": True}),
        (["--weights", "--missing", "--ascii"], {"show_weights": True, "show_missing": True, "ascii": True}),
        (["--surrogates", "--no-missing"], {"show_surrogates": True, "show_missing": False}),
    ],
)
def test_options_of_text_are_those_of_export_text(options, parameters, model):
    drawn = fasttree.load(model).export_text(**parameters)
    assert run("show", model, *options).startswith(f"{drawn}\nCARTClassifier: ")


def test_a_picture_goes_to_a_file_or_a_pipe_in_utf_8(model, tmp_path):
    expected = fasttree.load(model).export_svg(max_nodes=9, orientation="right")
    options = ["--max-nodes", 9, "--orientation", "right"]
    assert run("show", model, *options, "-o", tmp_path / "tree.svg") == f"Saved as {tmp_path / 'tree.svg'}\n"
    assert (tmp_path / "tree.svg").read_bytes() == expected.encode()
    result = CliRunner(charset="ascii").invoke(commands.fasttree, ["show", str(model), "--format", "svg", *map(str, options)])
    assert result.stdout_bytes == expected.encode()


def test_rules_are_those_of_to_rules(model, tmp_path):
    rules = fasttree.load(model).to_rules()
    assert run("show", model, "--format", "rules") == rules.to_text()
    chosen = rules.filter(min_support=0.02, min_precision=0.8, max_conditions=4).sort("lift")
    assert 0 < len(chosen) < len(rules)
    bounds = ["--min-support", 0.02, "--min-precision", 0.8, "--max-conditions", 4, "--sort", "lift"]
    assert run("show", model, "--format", "rules", *bounds, "--decimals", 3, "--missing") == chosen.to_text(
        decimals=3, show_missing=True
    )
    run("show", model, "-o", tmp_path / "rules.md", *bounds, "--max-categories", 2)
    assert (tmp_path / "rules.md").read_text(encoding="utf-8") == chosen.to_markdown(max_categories=2)
    result = CliRunner().invoke(commands.fasttree, ["show", str(model), "--format", "rules", "--max-conditions", "0"])
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "Note: no rule meets all that is asked\n")
    run("train", MPG, "--target", "mpg", "-o", tmp_path / "mpg.json")
    assert "predicts numbers" in mistake("show", tmp_path / "mpg.json", "--format", "rules", "--min-precision", 0.5)


@pytest.mark.parametrize(
    ("name", "options", "parameters"),
    [
        ("m.c", ["--name", "income"], {"name": "income"}),
        ("m.py", ["--name", "income"], {"name": "income"}),
        ("m.pmml", ["--name", "income", "--missing-as", "error"], {"name": "income", "missing": "error"}),
        ("m.xml", ["--soft-as", "hard"], {"soft": "hard"}),
        ("m.sql", ["--name", "income", "--table", "people"], {"name": "income", "table": "people"}),
        ("m.sql", ["--missing-as", "majority"], {"missing": "majority"}),
        ("m.sql", ["--dialect", "spark", "--cast"], {"dialect": "spark", "cast": True}),
        ("m.sql", ["--nan-as-missing"], {"nan_as_missing": True}),
        ("m.onnx", ["--dtype", "float64", "--missing-as", "majority"], {"dtype": "float64", "missing": "majority"}),
    ],
)
def test_what_other_programs_read_is_what_the_exports_give(name, options, parameters, model, tmp_path):
    form = {".py": "python", ".xml": "pmml"}.get(Path(name).suffix, Path(name).suffix[1:])
    written = getattr(fasttree.load(model), "to_json" if form == "json" else f"export_{form}")(**parameters)
    expected = written if isinstance(written, bytes) else written.encode()
    expected += b"\n" * (form == "sql")
    run("show", model, *options, "-o", tmp_path / name)
    assert (tmp_path / name).read_bytes() == expected
    words = ["show", str(model), "--format", form, *options]
    assert CliRunner(charset="ascii").invoke(commands.fasttree, words).stdout_bytes == expected


@pytest.mark.parametrize("kind", ["model", "rules"])
def test_json_is_the_model_again(kind, request, tmp_path):
    path = request.getfixturevalue(kind)
    run("show", path, "-o", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    assert run("show", path, "--format", "json") == path.read_text(encoding="utf-8")
    run("show", path, "-o", tmp_path / "again.json.gz")
    assert gzip.decompress((tmp_path / "again.json.gz").read_bytes()) == path.read_bytes()


def test_a_predictor_is_that_of_the_model(model, tmp_path):
    run("show", model, "-o", tmp_path / "m.tree")
    table = pl.read_csv(EXAMPLES / "adult.test.csv.gz").drop("income")
    answers = Predictor.open(tmp_path / "m.tree").predict(table)
    assert answers.tolist() == fasttree.load(model).predict(table).tolist()


@pytest.mark.parametrize("form", ["onnx", "pmml", "sql"])
def test_what_a_format_cannot_express_is_refused_unless_an_option_says_what_to_do(form, tmp_path):
    run("train", GOLF, "--algorithm", "c45", "--soft-thresholds", "-o", tmp_path / "c45.json")
    arguments = ["show", tmp_path / "c45.json", "-o", tmp_path / f"tree.{form}"]
    assert "choose --soft-as hard, which replaces them by plain thresholds" in mistake(*arguments)
    message = mistake(*arguments, "--soft-as", "hard")
    assert "choose --missing-as majority, by which" in message
    assert "or --missing-as error, by" in message
    assert not (tmp_path / f"tree.{form}").exists()
    run(*arguments, "--soft-as", "hard", "--missing-as", "error")
    expected = getattr(fasttree.load(tmp_path / "c45.json"), f"export_{form}")(missing="error", soft="hard")
    content = (tmp_path / f"tree.{form}").read_bytes()
    assert content.strip() == (expected if isinstance(expected, bytes) else expected.encode()).strip()


def test_what_a_format_is_told_wrongly_is_said_with_the_option(model, tmp_path):
    assert "--name 'my tree': must be a name in C" in mistake("show", model, "-o", tmp_path / "m.c", "--name", "my tree")
    assert "--name '': must be" in mistake("show", model, "-o", tmp_path / "m.pmml", "--name", "")


def test_a_format_of_one_target_refuses_several(tmp_path):
    loan = pl.read_csv(LOAN)
    CARTClassifier().fit(loan.select("age", "credit"), loan.select("has_job", "class")).save(tmp_path / "two.json")
    for form in ("pmml", "sql"):
        assert f"has 2 targets, and {form} is of one" in mistake("show", tmp_path / "two.json", "--format", form)
    for form in ("c", "python", "json", "onnx"):
        run("show", tmp_path / "two.json", "--format", form)


def test_without_the_library_of_a_format_it_is_said_what_to_install(model, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "pip install 'fasttree[onnx]'" in mistake("show", model, "-o", tmp_path / "m.onnx")


def test_dot_is_that_of_export_dot(model, tmp_path):
    expected = fasttree.load(model).export_dot(max_depth=3, orientation="right", max_categories=2, show_missing=False)
    options = ["--max-depth", 3, "--orientation", "right", "--max-categories", 2, "--no-missing"]
    assert run("show", model, "--format", "dot", *options) == expected
    run("show", model, "-o", tmp_path / "tree.gv", *options)
    assert (tmp_path / "tree.gv").read_text(encoding="utf-8") == expected


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
@pytest.mark.parametrize("form", ["svg", "onnx"])
def test_what_people_cannot_read_is_not_for_a_terminal(form, model):
    import pty

    ours, theirs = pty.openpty()
    program = [sys.executable, "-P", "-m", "fasttree", "show", model, "--format", form]
    result = subprocess.run(program, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
    os.close(theirs)
    os.close(ours)
    assert result.returncode == 2
    assert f"--format {form} is not for a terminal: name a file by --output, or redirect it" in result.stderr


def test_a_page_is_that_of_export_html(model, tmp_path):
    data = EXAMPLES / "adult.test.csv.gz"
    table = pl.read_csv(data).with_columns(pl.col(pl.Int64).cast(pl.Float64))  # as numbers are read for a model
    run("show", model, data, "-o", tmp_path / "tree.html", "--title", "Income", "--max-depth", 4)
    expected = fasttree.load(model).export_html(X=table.drop("income"), y=table["income"], title="Income", max_depth=4)
    assert (tmp_path / "tree.html").read_text(encoding="utf-8") == expected
    assert "--title is not for --format svg" in run("show", model, "-o", tmp_path / "tree.svg", "--title", "Income", code=2)


def test_rows_of_a_table_become_charts(model, tmp_path):
    data = EXAMPLES / "adult.test.csv.gz"
    run("show", model, data, "--max-depth", 2, "-o", tmp_path / "tree.svg")
    table = pl.read_csv(data)
    expected = fasttree.load(model).export_svg(X=table.drop("income"), y=table["income"], max_depth=2)
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8") == expected
    assert "no column" in mistake("show", model, IRIS, "-o", tmp_path / "tree.svg")
    assert "no column 'wage'" in mistake("show", model, data, "--target", "wage", "-o", tmp_path / "tree.svg")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--orientation", "down"], "--orientation is not for --format text, which takes --max-depth, "),
        ([IRIS], "DATA is not for --format text"),
        (["--format", "svg", "--weights", "--align"], "--weights, --align is not for --format svg"),
        (["-o", "tree.svg", "--ascii"], "--ascii is not for --format svg, which takes "),
        (["-o", "tree.c", "--missing-as", "error"], "--missing-as is not for --format c, which takes --name"),
        (["-o", "tree.json", "--name", "a"], "--name is not for --format json, which takes no options"),
    ],
)
def test_options_that_do_not_apply_are_refused(options, words, model):
    assert words in run("show", model, *options, code=2)


def test_a_file_holds_what_the_export_gives_and_nothing_more(model, tmp_path):
    assert run("show", model, "-o", tmp_path / "tree.txt") == f"Saved as {tmp_path / 'tree.txt'}\n"
    assert (tmp_path / "tree.txt").read_text(encoding="utf-8") == fasttree.load(model).export_text()
    assert "replace the input" in mistake("show", model, "-o", model)
    assert "does not exist" in mistake("show", model, "-o", tmp_path / "nowhere" / "tree.txt")


def test_the_structure_is_printed_for_programs(model, rules, tmp_path):
    found = json.loads(run("show", model, "--json"))
    tree = fasttree.load(model)
    assert found["classes"] == ["<=50K", ">50K"]
    assert [found[name] for name in ("nodes", "leaves", "depth")] == [tree.tree_.node_count, tree.get_n_leaves(), 5]
    features = {feature["name"]: (feature["kind"], feature["importance"]) for feature in found["features"]}
    assert features["age"] == ("continuous", tree.feature_importances_[0])
    assert features["sex"][0] == "nominal"
    assert sum(importance for _, importance in features.values()) == pytest.approx(1)
    found = json.loads(run("show", rules, "--json"))
    assert (found["algorithm"], found["rules"]) == ("c45rules", len(fasttree.load(rules).rules_))
    assert {feature["importance"] for feature in found["features"]} == {None}
    run("train", MPG, "--target", "mpg", "-o", tmp_path / "mpg.json")
    assert json.loads(run("show", tmp_path / "mpg.json", "--json"))["classes"] is None
    loan = pl.read_csv(LOAN)
    CARTClassifier().fit(loan.select("age", "credit"), loan.select("has_job", "class")).save(tmp_path / "two.json")
    assert json.loads(run("show", tmp_path / "two.json", "--json"))["classes"] == [["no", "yes"], ["no", "yes"]]


@pytest.mark.parametrize("options", [["--max-depth", "1"], ["--format", "text"], ["-o", "t.txt"]])
def test_json_takes_no_other_option(options, model):
    assert "takes no other option" in run("show", model, "--json", *options, code=2)


def test_saved_rules_are_listed_as_they_are(rules, tmp_path):
    listed = fasttree.load(rules).export_text()
    assert run("show", rules).startswith(listed)
    assert run("show", rules, "--format", "rules") == listed
    run("show", rules, "-o", tmp_path / "rules.txt")
    assert (tmp_path / "rules.txt").read_text(encoding="utf-8") == listed
    loaded = fasttree.load(rules)
    assert run("show", rules, "--format", "markdown") == loaded.to_markdown()
    assert run("show", rules, "--format", "sql", "--table", "golf") == loaded.export_sql(table="golf") + "\n"
    assert run("show", rules, "--format", "html", "--title", "Golf") == loaded.export_html(title="Golf")
    assert "leave out --soft-as" in run("show", rules, "--format", "sql", "--soft-as", "hard", code=2)
    assert "leave out --max-depth, --weights" in run("show", rules, "--max-depth", 1, "--weights", code=2)
    assert "holds rules, not a tree: their formats are 'text', 'rules', 'markdown', 'html', 'json', 'sql', not 'onnx'" in mistake(
        "show", rules, "--format", "onnx"
    )


def test_what_is_no_format_and_what_is_no_model_is_refused(model):
    assert "'--format'" in run("show", model, "--format", "png", code=2)
    assert IRIS in mistake("show", IRIS)


def test_a_file_of_an_unknown_kind_is_refused(model, tmp_path):
    said = run("show", model, "--output", tmp_path / "tree.png", code=2)
    assert "no format ends in '.png'" in " ".join(said.split())
    assert not (tmp_path / "tree.png").exists()


@pytest.mark.parametrize("trials", [1, 3])
def test_rules_that_vote_are_source_code_of_a_file_too(trials, tmp_path):
    path = tmp_path / "rules.json"
    run("train", IRIS, "--target", "class", "--algorithm", "c50", "--rules", "--trials", trials, "-o", path)
    model = fasttree.load(path)
    assert run("show", path, "--format", "c", "--name", "vote") == model.export_c(name="vote")
    assert run("show", path, "--format", "python") == model.export_python()


def test_rules_of_which_the_first_decides_are_no_source_code(rules):
    assert "not 'c'" in run("show", rules, "--format", "c", code=1)
