"""The command line: the same answers as from Python, one line for every mistake, and files whole or not at all."""

import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from sklearn.metrics import accuracy_score, mean_absolute_error, precision_recall_fscore_support, r2_score

import fasttree
from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier, _commands, _files, cli
from fasttree._files import TableFile
from fasttree._output import whole_file

EXAMPLES = Path(__file__).parents[1] / "examples"
LOAN, IRIS, MPG = (str(EXAMPLES / name) for name in ("loan.csv", "iris.csv", "auto-mpg.csv"))
PYTHON = [sys.executable, "-P"]  # the installed package, not the sources that may lie in this folder


def run(*arguments, code=0):
    result = CliRunner().invoke(_commands.fasttree, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def mistake(*arguments):
    """Run a command that must fail by exactly one line, and return it."""
    message = run(*arguments, code=1)
    assert message.startswith("Error: ")
    assert message.count("\n") == 1
    assert message.endswith("\n")
    assert "Traceback" not in message
    assert ".tmp" not in message
    return message


def command(*arguments, **options):
    """Run the real command in a process of its own, its streams in pipes."""
    program = [*PYTHON, "-m", "fasttree.cli", *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, encoding="utf-8", check=False, **options)


@pytest.fixture
def loan_model(tmp_path):
    run("train", LOAN, "--target", "class", "--algorithm", "id3", "-o", tmp_path / "loan.json")
    return tmp_path / "loan.json"


@pytest.fixture
def adult(tmp_path):
    """A part of the adult table, with its missing values, in two files."""
    table = pl.read_csv(EXAMPLES / "adult.csv.gz").head(3000)
    table.head(2000).write_csv(tmp_path / "learn.csv")
    table.tail(1000).write_csv(tmp_path / "test.csv")
    return tmp_path / "learn.csv", tmp_path / "test.csv"


# The answers


def test_the_commands_of_the_readme_work(tmp_path, monkeypatch):
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    block = readme.partition("## Command line")[2].partition("```sh\n")[2].partition("```")[0]
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    commands = [shlex.split(line) for line in block.splitlines() if line]
    assert {arguments[1] for arguments in commands} == {"train", "show", "evaluate", "predict"}
    for program, *arguments in commands:
        assert program == "fasttree"
        run(*arguments)


@pytest.mark.parametrize(("algorithm", "estimator"), [("cart", CARTClassifier), ("c45", C45Classifier)])
def test_a_saved_tree_predicts_and_measures_as_the_estimator_does(algorithm, estimator, adult, tmp_path):
    learn, test = adult
    options = ["--max-depth", 6, "--min-samples-leaf", "0.005", "--missing-marker", "?"]
    trained = run(
        "train", learn, "--target", "income", "--algorithm", algorithm, *options, "--test", test, "-o", tmp_path / "m.json"
    )
    run("predict", tmp_path / "m.json", test, "--proba", "-o", tmp_path / "p.csv")
    figures = json.loads(run("evaluate", tmp_path / "m.json", test, "--json"))

    table, other = pl.read_csv(learn), pl.read_csv(test)
    model = estimator(max_depth=6, min_samples_leaf=0.005).fit(table.drop("income"), table["income"])
    expected = model.predict(other.drop("income"))
    predictions = pl.read_csv(tmp_path / "p.csv")
    assert predictions["prediction"].to_list() == expected.tolist()
    assert np.array_equal(predictions.drop("prediction").to_numpy(), model.predict_proba(other.drop("income")))
    assert figures["accuracy"] == accuracy_score(other["income"], expected)
    precision, recall, f1, rows = precision_recall_fscore_support(other["income"], expected)
    for k, entry in enumerate(figures["classes"]):
        assert [entry["precision"], entry["recall"], entry["f1"], entry["rows"]] == [precision[k], recall[k], f1[k], rows[k]]
    assert np.diag(figures["confusion"]).sum() == round(figures["accuracy"] * 1000)
    assert f"Accuracy {figures['accuracy']:.4f}" in trained
    assert "1,000 rows of" in trained
    assert fasttree.load(tmp_path / "m.json").export_text() == model.export_text()


def test_a_regression_tree_predicts_and_measures_as_the_estimator_does(tmp_path):
    order = "cylinders=3,4,5,6,8"
    run("train", MPG, "--target", "mpg", "--ordinal", order, "--param", "max_depth=3", "-o", tmp_path / "m.json")
    run("predict", tmp_path / "m.json", MPG, "--output", tmp_path / "p.parquet")
    figures = json.loads(run("evaluate", tmp_path / "m.json", MPG, "--json"))

    cars = pl.read_csv(MPG)  # its types can be told from the first rows
    model = CARTRegressor(max_depth=3, ordinal_features={"cylinders": [3, 4, 5, 6, 8]}).fit(cars.drop("mpg"), cars["mpg"])
    expected = model.predict(cars.drop("mpg"))
    assert np.array_equal(pl.read_parquet(tmp_path / "p.parquet")["prediction"], expected)
    assert figures["r2"] == r2_score(cars["mpg"], expected)
    assert figures["mae"] == mean_absolute_error(cars["mpg"], expected)


def test_the_loan_tree_is_printed_as_the_estimator_draws_it(loan_model):
    loan = pl.read_csv(LOAN)
    drawing = ID3Classifier().fit(loan.drop("class"), loan["class"]).export_text()
    assert drawing in run("train", LOAN, "--target", "class", "--algorithm", "id3")
    assert run("show", loan_model) == f"{drawing}\nID3Classifier: 5 nodes, 3 leaves, depth 2, grown on 15 rows\n"


def test_show_draws_less_more_and_in_ascii(loan_model):
    assert "… 2 nodes, depth 1" in run("show", loan_model, "--max-depth", 1)
    assert "{no: 6, yes: 3}" in run("show", loan_model, "--weights")
    assert "is missing" in run("show", loan_model, "--missing")
    assert run("show", loan_model, "--ascii").isascii()


def test_held_out_rows_are_the_same_for_the_same_seed_and_are_not_learned_from():
    first = run("train", IRIS, "--target", "class", "--holdout", "0.3", "--seed", 5)
    assert first == run("train", IRIS, "--target", "class", "--holdout", "0.3", "--seed", 5)
    assert "grown on 105 rows" in first
    assert "on 45 held-out rows" in first
    summary = json.loads(run("train", IRIS, "--target", "class", "--holdout", "0.3", "--seed", 5, "--json"))
    assert (summary["n_rows"], summary["evaluation"]["n_rows"]) == (105, 45)
    assert f"Accuracy {summary['evaluation']['accuracy']:.4f}" in first


@pytest.mark.parametrize("cells", [["a", "b"], [True, False], [1, 3], [1.0, 2.0], [1.5, 2.0], list(range(30))])
def test_the_task_follows_from_the_target(cells, tmp_path):
    task = "regression" if 1.5 in cells or len(cells) > 20 else "classification"
    n_rows = 60
    pl.DataFrame({"x": range(n_rows), "y": cells * (n_rows // len(cells))}).write_csv(tmp_path / "t.csv")
    assert f"y: {task}" in run(
        "train", tmp_path / "t.csv", "--target", "y", "-o", tmp_path / "m.json", "--test", tmp_path / "t.csv"
    )
    assert json.loads(run("evaluate", tmp_path / "m.json", tmp_path / "t.csv", "--json"))["n_rows"] == n_rows


def test_the_task_that_was_asked_for_is_the_task(tmp_path):
    pl.DataFrame({"x": range(50), "y": [1, 2] * 25}).write_csv(tmp_path / "t.csv")
    assert "y: regression" in run("train", tmp_path / "t.csv", "--target", "y", "--task", "regression")
    pl.DataFrame({"x": range(50), "y": range(50)}).write_csv(tmp_path / "t.csv")
    assert "y: classification, 50 classes" in run("train", tmp_path / "t.csv", "--target", "y", "--task", "classification")


def test_markers_of_missing_values_make_a_column_of_numbers(tmp_path):
    table = pl.read_csv(MPG, infer_schema_length=None)
    table.write_csv(tmp_path / "marked.csv", null_value="?")
    plain = run("train", MPG, "--target", "mpg", "--print-depth", "all")
    assert run("train", tmp_path / "marked.csv", "--target", "mpg", "--print-depth", "all", "--missing-marker", "?") == plain
    assert "horsepower in" in run("train", tmp_path / "marked.csv", "--target", "mpg", "--print-depth", "all")
    run("train", MPG, "--target", "mpg", "-o", tmp_path / "m.json")
    assert "--missing-marker '?'" in mistake("predict", tmp_path / "m.json", tmp_path / "marked.csv")
    expected = run("predict", tmp_path / "m.json", MPG)
    assert run("predict", tmp_path / "m.json", tmp_path / "marked.csv", "--missing-marker", "?") == expected


def test_parquet_gzip_and_other_separators_give_the_same_as_csv(tmp_path):
    table = pl.read_csv(MPG, infer_schema_length=None)
    table.write_parquet(tmp_path / "t.parquet")
    table.write_csv(tmp_path / "t.tsv", separator="\t")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(Path(MPG).read_bytes()))
    expected = run("train", MPG, "--target", "mpg", "-o", tmp_path / "m.json").rpartition("Saved")[0]
    predictions = run("predict", tmp_path / "m.json", MPG)
    for name, options in (("t.parquet", []), ("t.csv.gz", []), ("t.tsv", ["--separator", "tab"])):
        assert run("train", tmp_path / name, "--target", "mpg", *options) == expected
        assert run("predict", tmp_path / "m.json", tmp_path / name, *options) == predictions


def test_columns_go_by_name_and_others_are_ignored(loan_model, tmp_path):
    loan = pl.read_csv(LOAN)
    loan.select(pl.lit(1).alias("more"), *reversed(loan.columns)).write_csv(tmp_path / "t.csv")
    assert run("predict", loan_model, tmp_path / "t.csv") == run("predict", loan_model, LOAN)
    loan.drop("has_job").write_csv(tmp_path / "t.csv")
    assert "no column 'has_job'" in mistake("predict", loan_model, tmp_path / "t.csv")
    result = CliRunner().invoke(_commands.fasttree, ["predict", str(loan_model), str(tmp_path / "t.csv")])
    assert result.stdout == ""


def test_codes_named_categorical_stay_as_they_are_written(tmp_path):
    (tmp_path / "t.csv").write_text("zip,y\n007,a\n7,b\n007,a\n7,b\n")
    run("train", tmp_path / "t.csv", "--target", "y", "--categorical", "zip", "-o", tmp_path / "m.json")
    assert run("predict", tmp_path / "m.json", tmp_path / "t.csv").split() == ["prediction", "a", "b", "a", "b"]


def test_types_come_from_the_whole_file(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "1,a\n" * 20000 + "2.5,b\n")
    assert "x <= 1.75" in run("train", tmp_path / "t.csv", "--target", "y")
    (tmp_path / "t.csv").write_text("x,y\n" + "1,a\n" * 20000 + "late,b\n")
    assert "x = late: b" in run("train", tmp_path / "t.csv", "--target", "y")


def test_columns_that_are_ignored_are_not_asked_for_later(tmp_path):
    run("train", LOAN, "--target", "class", "--ignore", "has_job,age", "-o", tmp_path / "m.json")
    assert [feature.name for feature in fasttree.load(tmp_path / "m.json").schema_.features] == ["owns_house", "credit"]
    pl.read_csv(LOAN).select("owns_house", "credit").write_csv(tmp_path / "t.csv")
    assert run("predict", tmp_path / "m.json", tmp_path / "t.csv").count("\n") == 16


def test_a_tree_saved_from_python_is_as_good(tmp_path):
    loan = pl.read_csv(LOAN)
    C45Classifier().fit(loan.drop("class"), loan["class"]).save(tmp_path / "m.json.gz")
    assert "--target" in mistake("evaluate", tmp_path / "m.json.gz", LOAN)
    assert "Accuracy 1.0000" in run("evaluate", tmp_path / "m.json.gz", LOAN, "--target", "class")
    CARTClassifier().fit(np.arange(10.0).reshape(-1, 1), [0] * 5 + [1] * 5).save(tmp_path / "nameless.json")
    (tmp_path / "t.csv").write_text("x0\n1\n8\n")
    assert run("predict", tmp_path / "nameless.json", tmp_path / "t.csv").split() == ["prediction", "0", "1"]


def test_every_parameter_can_be_reached(tmp_path):
    params = ["--param", "nominal=one_vs_rest", "--param", "class_weight={'no': 2}", "--param", "max_features=None"]
    run("train", LOAN, "--target", "class", *params, "--criterion", "entropy", "--seed", 3, "-o", tmp_path / "m.json")
    model = fasttree.load(tmp_path / "m.json")
    assert (model.nominal, model.class_weight, model.criterion, model.random_state) == ("one_vs_rest", {"no": 2}, "entropy", 3)


def test_a_large_tree_is_folded_to_a_page_unless_all_is_asked_for(adult):
    learn, _ = adult
    folded = run("train", learn, "--target", "income")
    assert folded.count("\n") < 80
    assert "--print-depth all" in folded
    assert "…" in folded
    assert run("train", learn, "--target", "income", "--print-depth", "all").count("\n") > 300


def test_classes_that_the_tree_does_not_know_count_as_errors(loan_model, tmp_path):
    loan = pl.read_csv(LOAN, schema_overrides={"class": pl.String})
    loan.with_columns(pl.Series("class", ["maybe", *loan["class"][1:]])).write_csv(tmp_path / "t.csv")
    figures = json.loads(run("evaluate", loan_model, tmp_path / "t.csv", "--json"))
    assert figures["accuracy"] == pytest.approx(14 / 15)
    assert figures["classes"][-1] == {"class": "maybe", "precision": None, "recall": 0.0, "f1": 0.0, "rows": 1}
    assert "maybe" in run("evaluate", loan_model, tmp_path / "t.csv")


def test_a_table_without_rows_has_no_predictions(loan_model, tmp_path):
    (tmp_path / "t.csv").write_text("age,has_job,owns_house,credit\n")
    assert run("predict", loan_model, tmp_path / "t.csv", "--proba") == "prediction,probability of no,probability of yes\n"
    assert "no rows" in mistake("evaluate", loan_model, tmp_path / "t.csv", "--target", "age")


def test_train_lists_the_columns_by_kind(tmp_path):
    printed = run("train", MPG, "--target", "mpg")
    assert (
        "Continuous (6): cylinders, displacement, horsepower, weight, acceleration, model_year\nNominal (1): origin\n" in printed
    )
    assert "Note: " not in printed
    pl.DataFrame({f"column {k}": [1, 2] for k in range(500)} | {"y": ["a", "b"]}).write_csv(tmp_path / "t.csv")
    assert run("train", tmp_path / "t.csv", "--target", "y").partition("\n\n")[0].count("\n") == 3


def test_train_says_which_text_keeps_a_column_of_numbers_nominal(tmp_path):
    def note(*cells, options=()):
        pl.DataFrame({"age": cells, "y": ["a", "b"] * (len(cells) // 2)}).write_csv(tmp_path / "t.csv")
        return [line for line in run("train", tmp_path / "t.csv", "--target", "y", *options).split("\n") if "Note" in line]

    numbers = ["1", "2.5", "-3"] * 10
    assert note(*numbers) == []
    assert note(*numbers, "?", "?") == [
        "Note: age is nominal because of '?' in 2 cells; if that means missing, add --missing-marker '?'"
    ]
    assert "'?' in 2 cells (and others in 1)" in note(*numbers, "4", "?", "old", "?")[0]
    assert note(*numbers, *"????") == []
    assert note(*numbers, "?", "?", options=["--missing-marker", "?"]) == []
    assert note(*numbers, "?", "?", options=["--categorical", "age"]) == []


@pytest.mark.parametrize(("n_rows", "repeated", "expected"), [(50, 4, 1), (50, 5, 0), (49, 0, 0)])
def test_train_asks_whether_a_column_of_its_own_values_is_an_identifier(n_rows, repeated, expected, tmp_path):
    keys = ["k0"] * repeated + [f"k{k}" for k in range(n_rows - repeated)]
    pl.DataFrame({"id": keys, "x": range(n_rows), "y": ["a"] + ["b"] * (n_rows - 1)}).write_csv(tmp_path / "t.csv")
    printed = run("train", tmp_path / "t.csv", "--target", "y")
    assert printed.count("Note: id has a value of its own in nearly every row; --ignore id") == expected
    assert "Note: " not in run("train", tmp_path / "t.csv", "--target", "y", "--ignore", "id")


# Blocks


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blocks_are_the_table_however_they_fall(size, end, tmp_path, monkeypatch):
    cells = ["plain", "with, comma", "two\nlines", 'a "quote"', "", "é"] * 5
    table = pl.DataFrame({"name, first": cells, "n": range(len(cells)), "more": cells})
    table.write_csv(tmp_path / "t.csv", line_terminator=end)
    monkeypatch.setattr(_files, "BLOCK_BYTES", size)
    blocks = list(TableFile(str(tmp_path / "t.csv")).blocks({"n": pl.Float64(), "name, first": pl.String()}))
    assert len(blocks) > 1 or size > 500
    whole = pl.concat(blocks)
    assert whole["n"].to_list() == list(range(len(cells)))
    assert whole["name, first"].to_list() == [cell or None for cell in cells]


def test_predictions_do_not_depend_on_the_blocks(adult, tmp_path, monkeypatch):
    learn, test = adult
    run("train", learn, "--target", "income", "-o", tmp_path / "m.json")
    pl.read_csv(test).write_parquet(tmp_path / "t.parquet")
    expected = run("predict", tmp_path / "m.json", test, "--proba")
    monkeypatch.setattr(_files, "BLOCK_BYTES", 5000)
    monkeypatch.setattr(_files, "BLOCK_ROWS", 77)
    assert run("predict", tmp_path / "m.json", test, "--proba") == expected
    assert run("predict", tmp_path / "m.json", tmp_path / "t.parquet", "--proba") == expected


def test_an_error_in_a_later_block_counts_rows_from_there(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("x,y\n" + "1,a\n2,b\n" * 10)
    run("train", tmp_path / "t.csv", "--target", "y", "-o", tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("x\n" + "1\n" * 20 + "inf\n")
    monkeypatch.setattr(_files, "BLOCK_BYTES", 10)
    assert "counted from row" in mistake("predict", tmp_path / "m.json", tmp_path / "t.csv")


# Mistakes


def test_files_that_are_not_there_or_not_tables(loan_model, tmp_path):
    files = {
        "empty.csv": b"",
        "image.csv": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "latin.csv": "name,class\nMüller,a\nMaier,b\n".encode("latin-1"),
        "utf16.csv": "name,class\na,b\n".encode("utf-16"),
        "broken.parquet": b"PAR1 nothing PAR1",
        "cut.csv.gz": gzip.compress(Path(IRIS).read_bytes())[:500],
        "ragged.csv": b"a,class\n1,2,3\n",
        "twice.csv": b"a,a,class\n1,2,x\n",
        "quote.csv": b'a,class\n"1,x\n2,y\n',
        "header.csv": b"a,class\n",
        "target.csv": b"class\nx\ny\n",
    }
    assert "nowhere.csv" in mistake("train", tmp_path / "nowhere.csv", "--target", "class")
    mistake("train", tmp_path, "--target", "class")
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        mistake("train", tmp_path / name, "--target", "class", "-o", tmp_path / "out.json")
        mistake("predict", loan_model, tmp_path / name, "-o", tmp_path / "out.csv")
        mistake("evaluate", loan_model, tmp_path / name)
        mistake("show", tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"loan.json", *files}


def test_what_is_wrong_with_a_table_is_said(loan_model, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,class\n")
    assert mistake("train", path, "--target", "class") == f"Error: {path} has no rows\n"
    for separator, name in ((";", "';'"), ("\t", "tab"), ("|", "'|'")):
        pl.read_csv(LOAN).write_csv(path, separator=separator)
        arguments = ["train", path, "--target", "class"], ["predict", loan_model, path], ["evaluate", loan_model, path]
        for words in (*arguments, ["train", path, "--target", "class", "--ignore", "age"]):
            assert f"add --separator {name}" in mistake(*words)
    assert "add --separator ','" in mistake("predict", loan_model, LOAN, "--separator", ";")
    path.write_bytes("name,class\nMüller,a\nMaier,b\n".encode("latin-1"))
    assert "not in UTF-8" in mistake("train", path, "--target", "class")


def test_a_cell_that_is_no_number_deep_in_a_file(tmp_path):
    run("train", IRIS, "--target", "class", "-o", tmp_path / "m.json")
    (tmp_path / "t.csv").write_text(Path(IRIS).read_text() + "wide,1,1,1,Iris-setosa\n")
    message = mistake("predict", tmp_path / "m.json", tmp_path / "t.csv", "-o", tmp_path / "p.csv")
    assert "'sepal_length'" in message
    assert "'wide'" in message
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "klass"], ["no column 'klass'", "'owns_house'"]),
        (["--target", "class", "--ignore", "agge"], ["--ignore 'agge'"]),
        (["--target", "class", "--categorical", "agge"], ["--categorical 'agge'"]),
        (["--target", "class", "--ordinal", "agge=a,b"], ["--ordinal 'agge'"]),
        (["--target", "class", "--ordinal", "age=youth,old"], ["'middle'", "'age'"]),
        (["--target", "class", "--max-depth", "0"], ["max_depth=0", "integer >= 1"]),
        (["--target", "class", "--max-depth", "deep"], ["max_depth='deep'"]),
        (["--target", "class", "--criterion", "ginni"], ["'ginni'", "'gini'"]),
        (["--target", "class", "--param", "depth=3"], ["no parameter 'depth'", "max_depth"]),
        (["--target", "class", "--algorithm", "id3", "--criterion", "gini"], ["ID3Classifier has no parameter 'criterion'"]),
        (["--target", "class", "--task", "regression"], ["'no'"]),
        (["--target", "class", "--param", "class_weight={'yes': -1}"], ["class_weight"]),
        (["--target", "class", "--holdout", "0.01"], ["15 rows"]),
        (["--target", "class", "--test", "nowhere.csv"], ["nowhere.csv"]),
        (["--target", "class", "--test", IRIS], ["no column"]),
        (["--target", "class", "--output", "nowhere/m.json"], ["nowhere", "does not exist"]),
        (["--target", "class", "--output", "."], ["is a folder"]),
        (["--target", "class", "--output", LOAN], ["replace the input"]),
    ],
)
def test_wrong_words_in_train(arguments, words):
    message = mistake("train", LOAN, *arguments)
    assert all(word in message for word in words), message


def test_tables_that_an_algorithm_refuses(tmp_path):
    assert "CARTClassifier" in mistake("train", IRIS, "--target", "class", "--algorithm", "id3")
    assert "stalk-root" in mistake("train", EXAMPLES / "mushroom.csv.gz", "--target", "class", "--algorithm", "id3")
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,\n")
    assert "missing" in mistake("train", tmp_path / "t.csv", "--target", "y")
    pl.DataFrame({"x": ["2020-01-01", "2020-01-02"], "y": ["a", "b"]}).with_columns(pl.col("x").str.to_date()).write_parquet(
        tmp_path / "t.parquet"
    )
    assert "'x'" in mistake("train", tmp_path / "t.parquet", "--target", "y")


def test_models_that_cannot_be_read(loan_model, tmp_path):
    document = json.loads(loan_model.read_text())
    wrong = {"newer.json": document | {"version": "2.0"}, "other.json": {"format": "other"}, "cut.json": document | {"nodes": {}}}
    for name, content in wrong.items():
        (tmp_path / name).write_text(json.dumps(content))
        for arguments in (["show"], ["predict", LOAN], ["evaluate", LOAN]):
            assert name in mistake(arguments[0], tmp_path / name, *arguments[1:])
    assert "2.0" in mistake("show", tmp_path / "newer.json")
    mistake("show", tmp_path / "nowhere.json")
    mistake("show", LOAN)


def test_wrong_words_in_predict_and_evaluate(loan_model, tmp_path):
    mistake("predict", loan_model, LOAN, "-o", loan_model)
    mistake("predict", loan_model, LOAN, "-o", tmp_path / "nowhere" / "p.csv")
    assert "no column 'agge'" in mistake("evaluate", loan_model, LOAN, "--target", "agge")
    assert "knows only 'no', 'yes'" in mistake("evaluate", loan_model, LOAN, "--target", "age")
    run("train", MPG, "--target", "mpg", "-o", tmp_path / "mpg.json")
    assert "--proba" in mistake("predict", tmp_path / "mpg.json", MPG, "--proba")


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", LOAN],
        ["train", LOAN, "--target", "class", "--algorithm", "c50"],
        ["train", LOAN, "--target", "class", "--holdout", "1.5"],
        ["train", LOAN, "--target", "class", "--holdout", "0.5", "--test", LOAN],
        ["train", LOAN, "--target", "class", "--param", "max_depth"],
        ["train", LOAN, "--target", "class", "--param", "max_depth=2", "--max-depth", "3"],
        ["train", LOAN, "--target", "class", "--ignore", "class"],
        ["train", LOAN, "--target", "class", "--separator", "||"],
        ["train", LOAN, "--target", "class", "--print-depth", "-1"],
        ["train", LOAN, "--target", "class", "--algorithm", "c45", "--task", "regression"],
        ["predict"],
        ["prune"],
    ],
)
def test_what_is_not_a_command_is_a_usage_error(arguments):
    message = run(*arguments, code=2)
    assert message.startswith("Usage: ")
    assert "Error: " in message


@pytest.mark.parametrize("name", ["train", "predict", "evaluate", "show"])
def test_help_has_examples(name):
    examples = run(name, "--help").partition("Examples:\n")[2].split("\n")
    assert examples[0].strip().startswith(f"fasttree {name} ")
    assert not any("\b" in line for line in examples)


def test_the_help_of_train_names_every_parameter():
    text = " ".join(run("train", "--help").split())
    for algorithm, estimator in (("id3", ID3Classifier), ("c45", C45Classifier), ("cart", CARTClassifier)):
        listed = text.partition(f"repeatable. {algorithm}: " if algorithm == "id3" else f". {algorithm}: ")[2].partition(".")[0]
        for name in estimator().get_params():
            options = {"categorical_features": "--categorical", "ordinal_features": "--ordinal", "random_state": "--seed"}
            assert name in listed.split(", ") or f"{options.get(name, '--' + name.replace('_', '-'))} " in text, name


def test_the_package_can_be_run_as_a_module():
    result = subprocess.run([*PYTHON, "-m", "fasttree", "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"fasttree {fasttree.__version__}\n"


# Files and streams


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    (tmp_path / "there").write_text("old")

    def interrupted():
        with whole_file(str(tmp_path / "there")) as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there").read_text() == "old"
    with whole_file(str(tmp_path / "there")) as stream:
        stream.write(b"new")
    assert (tmp_path / "there").read_text() == "new"


def test_a_failure_in_the_middle_leaves_no_file(tmp_path, monkeypatch):
    run("train", IRIS, "--target", "class", "-o", tmp_path / "m.json")
    (tmp_path / "t.csv").write_text(Path(IRIS).read_text() + "wide,1,1,1,Iris-setosa\n")
    monkeypatch.setattr(_files, "BLOCK_BYTES", 300)
    for name in ("p.csv", "p.parquet"):
        mistake("predict", tmp_path / "m.json", tmp_path / "t.csv", "-o", tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"m.json", "t.csv"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_may_not_be_written_to(tmp_path):
    tmp_path.chmod(0o500)
    mistake("train", LOAN, "--target", "class", "-o", tmp_path / "m.json")
    tmp_path.chmod(0o700)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_line(loan_model):
    assert "/dev/full" in mistake("predict", loan_model, LOAN, "-o", "/dev/full")


def test_a_pipe_carries_no_control_characters(tmp_path):
    result = command("train", IRIS, "--target", "class", "--holdout", "0.3", "-o", tmp_path / "m.json")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.replace("\n", "").isprintable()
    assert "Accuracy" in result.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
def test_a_terminal_is_told_what_is_being_done_apart_from_the_output(tmp_path):
    import pty

    ours, theirs = pty.openpty()
    program = [*PYTHON, "-m", "fasttree.cli", "train", IRIS, "--target", "class"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=theirs, env=os.environ | {"TERM": "xterm"}) as process:
        output = process.stdout.read()
    os.close(theirs)
    told = os.read(ours, 2**16)
    os.close(ours)
    assert b"iris.csv" in told
    assert b"\x1b" not in output
    assert output.decode().startswith("class: classification")


def test_a_mistake_in_a_process_is_one_line_and_code_1(tmp_path):
    result = command("predict", tmp_path / "nowhere.json", IRIS)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"Error: {tmp_path / 'nowhere.json'}: No such file or directory\n"


def test_a_terminal_of_ascii_gets_a_drawing_of_ascii(loan_model):
    result = CliRunner(charset="ascii").invoke(_commands.fasttree, ["show", str(loan_model)])
    assert result.exit_code == 0
    assert "|-- owns_house = no" in result.stdout


def test_a_reader_that_goes_away_is_no_error_to_talk_about(tmp_path):
    run("train", IRIS, "--target", "class", "-o", tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("sepal_length,sepal_width,petal_length,petal_width\n" + "1,1,1,1\n" * 100_000)
    program = [*PYTHON, "-m", "fasttree.cli", "predict", tmp_path / "m.json", tmp_path / "t.csv"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_a_process_told_to_stop_takes_its_half_written_file_away(loan_model, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    program = [
        *PYTHON,
        "-c",
        "import sys, time; from fasttree import _commands, cli\n"
        "_commands._predictions = lambda *_: iter(lambda: (print('here', flush=True), time.sleep(60)), None)\n"
        "cli.main()",
        *("predict", loan_model, LOAN, "-o", folder / "p.csv"),
    ]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"here\n"
        assert len(list(folder.iterdir())) == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("library", ["click", "rich", "polars"])
def test_without_the_extra_it_says_what_to_install(library, monkeypatch):
    for name in ("_commands", "_files"):
        monkeypatch.delitem(sys.modules, f"fasttree.{name}")
        monkeypatch.delattr(fasttree, name)
    for name in {library, *(name for name in sys.modules if name.startswith(f"{library}."))}:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    message = str(stopped.value.code)  # Python prints a text on stderr and exits with code 1
    assert message.startswith(f"Error: the command line needs {library}, ")
    assert "pip install" in message
    assert "\n" not in message


def test_importing_the_command_line_loads_none_of_its_libraries():
    code = "import sys, fasttree.cli; assert not {'click', 'rich', 'polars'} & sys.modules.keys()"
    subprocess.run([*PYTHON, "-c", code], check=True)
