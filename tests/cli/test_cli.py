"""The command line: the same answers as from Python, one line for every mistake, and files whole or not at all."""

import csv
import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from commands import EXAMPLES, GOLF, IRIS, LOAN, MPG, mistake, run
from sklearn.metrics import accuracy_score, mean_absolute_error, precision_recall_fscore_support, r2_score

import fasttree
from fasttree import C45Classifier, C45Rules, CARTClassifier, CARTRegressor, ID3Classifier, formats
from fasttree._cli import commands as command_line
from fasttree._cli.main import main
from fasttree._cli.options import OPTIONS
from fasttree._data.files.blocks import TableFile
from fasttree._data.files.whole import whole_file
from fasttree._learn.recipe import IMPURITIES, IMPURITIES_OF_NUMBERS
from fasttree.estimators.common.registry import ESTIMATORS

COMMANDED = [entry for entry in ESTIMATORS if entry.on_command_line]
PYTHON = [sys.executable, "-P"]  # the installed package, not the sources that may lie in this folder


def command(*arguments, **options):
    """Run the real command in a process of its own, its streams in pipes."""
    program = [*PYTHON, "-m", "fasttree", *map(str, arguments)]
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


def test_surrogates_are_drawn_when_asked_for(tmp_path):
    run("train", IRIS, "--target", "class", "--missing", "surrogate", "--max-depth", 1, "-o", tmp_path / "m.json")
    drawn = run("show", tmp_path / "m.json", "--surrogates")
    assert drawn.startswith("│   petal_length is missing: petal_length <= 2.45 if petal_width <= 0.8 (agreement 1, adjusted 1)\n")
    assert "adjusted" not in run("show", tmp_path / "m.json")


def test_what_a_pruning_took_off_is_told(adult):
    learn, _ = adult
    told = run("train", learn, "--target", "income", "--ccp-alpha", "cv", "--loss-matrix", "{'>50K': {'<=50K': 5}}")
    assert re.search(r"\nPruned from \d+ leaves: relative error 0\.\d{3} ± 0\.\d{3} ", told)
    assert re.search(r"\nPruned from \d+ leaves\n", run("train", learn, "--target", "income", "--ccp-alpha", "0.01"))
    assert "Pruned" not in run("train", learn, "--target", "income", "--max-depth", 2)


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
    result = CliRunner().invoke(command_line.fasttree, ["predict", str(loan_model), str(tmp_path / "t.csv")])
    assert result.stdout == ""


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_names_of_columns_are_no_patterns(suffix, tmp_path):
    table = pl.DataFrame({"*": [1, 2, 3, 4], "^a.*$": ["p", "q"] * 2, "ab": [0.5] * 4, "y": ["n", "n", "m", "m"]})
    path = tmp_path / f"t.{suffix}"
    table.write_csv(path) if suffix == "csv" else table.write_parquet(path)
    trained = run("train", path, "--target", "y", "--ignore", "^a.*$", "-o", tmp_path / "m.json")
    assert "Continuous (2): *, ab" in trained
    assert run("predict", tmp_path / "m.json", path).split() == ["prediction", "n", "n", "m", "m"]
    run("train", path, "--target", "*", "-o", tmp_path / "m.json")
    assert "on 4 rows" in run("evaluate", tmp_path / "m.json", path)


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
    assert "Accuracy 1.0000" in run("evaluate", tmp_path / "m.json.gz", LOAN)
    C45Classifier().fit(loan.drop("class"), loan["class"].to_list()).save(tmp_path / "m.json.gz")
    assert "--target" in mistake("evaluate", tmp_path / "m.json.gz", LOAN)
    assert "Accuracy 1.0000" in run("evaluate", tmp_path / "m.json.gz", LOAN, "--target", "class")
    CARTClassifier().fit(np.arange(10.0).reshape(-1, 1), [0] * 5 + [1] * 5).save(tmp_path / "nameless.json")
    (tmp_path / "t.csv").write_text("x0\n1\n8\n")
    assert run("predict", tmp_path / "nameless.json", tmp_path / "t.csv").split() == ["prediction", "0", "1"]


def test_a_tree_of_several_targets_is_shown_and_else_refused_in_a_line(tmp_path):
    loan = pl.read_csv(LOAN)
    CARTClassifier().fit(loan.select("age", "credit"), loan.select("has_job", "class")).save(tmp_path / "two.json")
    assert " | " in run("show", tmp_path / "two.json")
    for command in ("predict", "evaluate"):
        assert "holds a tree of 2 targets" in mistake(command, tmp_path / "two.json", LOAN)


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


# Files that declare their columns


@pytest.fixture
def golf(tmp_path):
    """The golf table as C4.5's files with test cases, as ARFF and as CSV; gives the stem."""
    X, y = formats.read_c45(GOLF)
    stem = tmp_path / "golf"
    for part in (".names", ".data"):
        stem.with_suffix(part).write_bytes(Path(GOLF).with_suffix(part).read_bytes())
    stem.with_suffix(".test").write_text("rain, 70, 80, false, Play\nsunny, ?, 90, true, Play\novercast, 1, 1, ?, Play.\n")
    table = X.with_columns(y)
    table.write_csv(stem.with_suffix(".csv"))
    values = {name: dtype.categories if dtype == pl.Enum else None for name, dtype in table.schema.items()}
    header = "".join(f"@attribute {n} " + ("real\n" if v is None else f"{{{', '.join(v)}}}\n") for n, v in values.items())
    stem.with_suffix(".arff").write_text(f"@relation golf\n{header}@data\n{table.write_csv(include_header=False)}")
    return stem


@pytest.mark.parametrize("name", ["golf", "golf.names", "golf.data", "golf.arff"])
def test_what_a_file_declares_is_what_the_tree_knows(name, golf, tmp_path):
    trained = run("train", golf.with_name(name), "--algorithm", "c45", "-o", tmp_path / "m.json")
    X, y = formats.read_c45(golf)
    model = C45Classifier().fit(X, y)
    saved = fasttree.load(tmp_path / "m.json")
    assert saved.tree_ == model.tree_
    assert saved.schema_ == model.schema_
    assert saved.classes_.tolist() == ["Play", "Don't Play"]
    assert model.export_text() in trained
    assert trained.startswith("class: classification, 2 classes\nNominal (2): outlook, windy\nContinuous (2)")
    run("predict", tmp_path / "m.json", golf.with_suffix(".test"), "--proba", "-o", tmp_path / "p.csv")
    X, _ = formats.read_c45(golf.with_suffix(".test"))
    assert np.array_equal(pl.read_csv(tmp_path / "p.csv").drop("prediction").to_numpy(), model.predict_proba(X))


def test_test_cases_beside_the_training_cases_measure_the_tree(golf):
    assert "on 3 rows of" in run("train", golf, "--algorithm", "c45")
    assert "on 14 rows of" in run("train", golf, "--algorithm", "c45", "--test", golf.with_suffix(".arff"))
    assert "on 4 held-out rows" in run("train", golf.with_suffix(".data"), "--holdout", "0.3")
    assert "Not measured" in run("train", golf.with_suffix(".test"))


@pytest.mark.parametrize("learned", [".data", ".arff", ".csv"])
def test_a_tree_reads_the_table_in_any_form(learned, golf, tmp_path):
    run("train", golf.with_suffix(learned), "--target", "class", "--algorithm", "c45", "-o", tmp_path / "m.json")
    found = [run("predict", tmp_path / "m.json", golf.with_suffix(suffix), "--proba") for suffix in (".data", ".arff", ".csv")]
    assert found[0] == found[1] == found[2]
    for suffix in (".data", ".arff", ".csv"):
        assert "Accuracy 1.0000" in run("evaluate", tmp_path / "m.json", golf.with_suffix(suffix))


def test_numbers_and_truth_values_of_a_tree_are_read_from_declared_text(tmp_path):
    pl.DataFrame({"flag": [True, False] * 9, "code": [1, 2] * 9, "y": [3, 4] * 9}).write_csv(tmp_path / "t.csv")
    run("train", tmp_path / "t.csv", "--target", "y", "-o", tmp_path / "m.json")
    header = "@attribute flag {false, true, maybe}\n@attribute code {2, 1, x}\n@attribute y {4, 3, z}\n@data\n"
    (tmp_path / "t.arff").write_text(header + "true,1,3\nfalse,2,4\n?,1,3\n")
    assert run("predict", tmp_path / "m.json", tmp_path / "t.arff").split() == ["prediction", "3", "4", "3"]
    assert "Accuracy 1.0000" in run("evaluate", tmp_path / "m.json", tmp_path / "t.arff")
    (tmp_path / "t.arff").write_text(header + "maybe,1,3\n")
    assert "'flag' has the cell 'maybe', which is not true or false" in mistake(
        "predict", tmp_path / "m.json", tmp_path / "t.arff"
    )
    (tmp_path / "t.arff").write_text(header + "true,x,3\n")
    assert "'code' has the cell 'x', which is not a number" in mistake("predict", tmp_path / "m.json", tmp_path / "t.arff")


def test_the_truth_is_the_target_that_the_file_declares_if_the_tree_knows_no_name(golf, tmp_path):
    X, y = formats.read_c45(golf)
    C45Classifier().fit(X, y).save(tmp_path / "m.json")
    assert "Accuracy 1.0000" in run("evaluate", tmp_path / "m.json", golf)


def test_a_target_declared_numeric_is_a_number(tmp_path):
    (tmp_path / "t.arff").write_text("@attribute x real\n@attribute y integer\n@data\n" + "1,1\n2,5\n" * 9)
    assert run("train", tmp_path / "t.arff").startswith("y: regression\n")
    assert run("train", tmp_path / "t.arff", "--target", "x", "--task", "classification").startswith("x: classification")
    assert run("train", tmp_path / "t.arff", "--algorithm", "c45").startswith("y: classification, 2 classes\n")


def test_what_is_read_otherwise_than_written_is_noted_apart_from_the_output(golf):
    golf.with_suffix(".data").write_text("foggy, -999, 85, false, Play\n" + golf.with_suffix(".data").read_text())
    golf.with_suffix(".test").write_text("rain, 70, 80, false, Perhaps\n")
    result = CliRunner().invoke(command_line.fasttree, ["train", str(golf), "--algorithm", "c45", "--json"])
    assert json.loads(result.stdout)["n_rows"] == 15
    notes = result.stderr.replace(str(golf), "golf").splitlines()
    assert notes == [
        "Note: golf.data has 1 value ('outlook' 'foggy' (line 1)) that golf.names does not declare, read as missing",
        "Note: golf.data: -999 in continuous attributes is read as missing, as C4.5 does: 'temperature' (1)",
        "Note: golf.test has 1 class ('Perhaps' (line 1)) that golf.names does not declare, read as the first class, 'Play'",
    ]


def test_mistakes_in_declared_files_are_one_line_with_file_and_line(golf, tmp_path):
    run("train", golf, "--algorithm", "c45", "-o", tmp_path / "m.json")
    golf.with_suffix(".test").write_text("sunny, 85, 85, false, Play\nsunny, 85, 85, Play\n")
    for arguments in (["train", golf], ["predict", tmp_path / "m.json", golf.with_suffix(".test")]):
        assert f"{golf}.test:2: a row of 4 comma-separated cells" in mistake(*arguments)
    golf.with_suffix(".arff").write_text(golf.with_suffix(".arff").read_text() + "foggy,1,1,true,Play\n")
    assert f"{golf}.arff:22: 'outlook' has 'foggy'" in mistake("train", golf.with_suffix(".arff"))
    golf.with_suffix(".names").write_text("a, b.\nx: y.\n")
    assert f"{golf}.names:2: 'x' has one value, 'y'" in mistake("train", golf)
    golf.with_suffix(".data").unlink()
    mistake("train", golf)
    golf.with_suffix(".names").unlink()
    assert "golf.names: No such file" in mistake("train", golf.with_suffix(".names"))
    assert "golf: No such file" in mistake("train", golf, "--target", "class")


def test_data_without_names_is_csv(tmp_path):
    (tmp_path / "t.data").write_text("x,y\n1,a\n2,b\n")
    assert "y: classification" in run("train", tmp_path / "t.data", "--target", "y")


# C4.5


def test_the_parameters_of_c45_can_be_reached(golf, tmp_path):
    options = [
        "--confidence",
        "0.1",
        "--subset",
        "--soft-thresholds",
        "--min-samples-branch",
        "1",
        "--criterion",
        "gain",
        "--pruning",
        "none",
    ]
    run("train", golf, "--algorithm", "c45", *options, "-o", tmp_path / "m.json")
    model = fasttree.load(tmp_path / "m.json")
    assert (model.confidence, model.subset, model.soft_thresholds, model.min_samples_branch) == (0.1, True, True, 1)
    assert (model.criterion, model.pruning) == ("gain", None)
    run("train", golf, "--algorithm", "c45", "--windowing", "--param", "n_trials=3", "-o", tmp_path / "m.json")
    model = fasttree.load(tmp_path / "m.json")
    assert (model.windowing, model.n_trials, model.soft_thresholds) == (True, 3, False)
    assert "confidence=2" in mistake("train", golf, "--algorithm", "c45", "--confidence", "2")
    assert "CARTClassifier has no parameter 'subset'" in mistake("train", golf, "--subset")


def test_train_compares_the_grown_and_the_pruned_tree(adult):
    learn, test = adult
    arguments = ["train", learn, "--target", "income", "--algorithm", "c45", "--missing-marker", "?", "--test", test]
    printed, figures = run(*arguments), json.loads(run(*arguments, "--json"))["pruning"]
    table, other = pl.read_csv(learn), pl.read_csv(test)
    for name, pruning in (("grown", None), ("pruned", "error_based")):
        model = C45Classifier(pruning=pruning).fit(table.drop("income"), table["income"])
        errors = [int((model.predict(part.drop("income")) != part["income"].to_numpy()).sum()) for part in (table, other)]
        assert figures[name]["nodes"] == model.tree_.node_count
        assert [figures[name]["training_errors"], figures[name]["test_errors"]] == errors
        row = next(line for line in printed.splitlines() if line.startswith(name)).split()
        assert [row[1].replace(",", ""), row[2], row[-2]] == [str(model.tree_.node_count), *map(str, errors)]
    assert figures["grown"]["predicted_errors"] is None
    assert figures["pruned"]["predicted_errors"] == model.tree_.estimated_errors[0]
    unpruned = run(*arguments, "--pruning", "none")
    assert "training errors" not in unpruned
    assert "predicted" not in run(*arguments, "--pruning", "c_alpha")


def test_train_prints_the_figures_of_the_original(shared, tmp_path):
    """Vote: 25 nodes and 8 errors before pruning, 7 nodes and 13 errors after (Quinlan 1993, chapter 4)."""
    runs = json.loads((shared / "reference" / "c45_results.json").read_text())["datasets"]["vote-c45"]["runs"]
    expected = next(entry for entry in runs if entry["run"] == "default")
    entries = json.loads((shared / "data" / "datasets.json").read_text())
    *columns, target = next(entry for entry in entries if entry["name"] == "vote-c45")["columns"]
    lines = [f"{column['name']}: {', '.join(column['values'])}." for column in columns]
    (tmp_path / "vote.names").write_text("\n".join([", ".join(target["values"]), *lines]))
    for part, name in ((".data", "vote-c45.csv.gz"), (".test", "vote-c45.test.csv.gz")):
        with gzip.open(shared / "data" / name, "rt") as file:
            (tmp_path / f"vote{part}").write_text("".join(file.readlines()[1:]))
    found = json.loads(run("train", tmp_path / "vote.names", "--algorithm", "c45", "--json"))["pruning"]
    for name, figures in (("grown", expected["unpruned"]), ("pruned", expected["pruned"])):
        assert found[name]["nodes"] == figures["size"]
        assert found[name]["training_errors"] == figures["train_errors"]
        assert found[name]["test_errors"] == figures["test_errors"]
    assert found["pruned"]["predicted_errors"] == pytest.approx(expected["pruned"]["estimated_errors"], abs=1e-4)


def test_rules_are_saved_listed_and_used(golf, tmp_path):
    trained = run("train", golf, "--algorithm", "c45rules", "-o", tmp_path / "m.json")
    X, y = formats.read_c45(golf.with_suffix(".test"))
    model = C45Rules.load(tmp_path / "m.json")
    listed = run("show", tmp_path / "m.json")
    assert listed.startswith(model.export_text())
    assert listed in trained
    run("predict", tmp_path / "m.json", golf.with_suffix(".test"), "--proba", "-o", tmp_path / "p.csv")
    predictions = pl.read_csv(tmp_path / "p.csv")
    assert predictions["prediction"].to_list() == model.predict(X).tolist()
    assert np.array_equal(predictions.drop("prediction").to_numpy(), model.predict_proba(X))
    figures = json.loads(run("evaluate", tmp_path / "m.json", golf.with_suffix(".test"), "--json"))
    assert figures["accuracy"] == accuracy_score(y.to_list(), model.predict(X))
    assert "leave out --weights" in run("show", tmp_path / "m.json", "--weights", code=2)
    (tmp_path / "m.json").write_text((tmp_path / "m.json").read_text().replace('"rules"', '"laws"', 1))
    assert "m.json: " in mistake("show", tmp_path / "m.json")


def test_rules_are_learned_printed_and_measured(golf, monkeypatch):
    X, y = formats.read_c45(golf)
    model = C45Rules(confidence=0.4).fit(X, y)
    arguments = ["train", golf, "--algorithm", "c45rules", "--confidence", "0.4"]
    printed = run(*arguments)
    assert f"\n\n{model.export_text()}\nC45Rules: " in printed
    n_conditions = sum(len(rule.conditions) for rule in model.rules_)
    assert f"C45Rules: {len(model.rules_)} rules, {n_conditions} conditions, learned from 14 rows\nAccuracy" in printed
    X, y = formats.read_c45(golf.with_suffix(".test"))
    summary = json.loads(run(*arguments, "--json"))
    assert (summary["rules"], summary["conditions"], summary["n_rows"]) == (len(model.rules_), n_conditions, 14)
    assert summary["evaluation"]["accuracy"] == accuracy_score(y.to_list(), model.predict(X))
    monkeypatch.setattr("fasttree._cli.training.LINES", 1)
    assert f"… {len(model.rules_) - 1} more rules; --print-depth all" in run(*arguments)
    assert model.export_text() in run(*arguments, "--print-depth", "all")


# Blocks


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blocks_are_the_table_however_they_fall(size, end, tmp_path, monkeypatch):
    cells = ["plain", "with, comma", "two\nlines", 'a "quote"', "", "é"] * 5
    table = pl.DataFrame({"name, first": cells, "n": range(len(cells)), "more": cells})
    table.write_csv(tmp_path / "t.csv", line_terminator=end)
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_BYTES", size)
    blocks = list(TableFile(str(tmp_path / "t.csv")).blocks({"n": pl.Float64(), "name, first": pl.String()}, ["more", "n"]))
    assert len(blocks) > 1 or size > 500
    whole = pl.concat(block.asked for block in blocks)
    assert whole["n"].to_list() == list(range(len(cells)))
    assert whole["name, first"].to_list() == [cell or None for cell in cells]
    kept = pl.concat(block.kept for block in blocks)
    assert kept.rows() == [(cell, str(n)) for n, cell in enumerate(cells)]


QUOTED = ['a "q"', '"', 'b""', "two\nlines", "c, d", 'e "f", g']


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_names_with_quotes_are_those_that_were_written(start, end, tmp_path):
    with open(tmp_path / "t.csv", "w", encoding="utf-8", newline="") as stream:
        stream.write(start)
        csv.writer(stream, lineterminator=end).writerows([QUOTED, [1, 2.5, "x", 'y "z"', 5, 6]])
    file = TableFile(str(tmp_path / "t.csv"))
    assert file.names == QUOTED
    assert file.read({'e "f", g': pl.String()}).rows(named=True) == [
        dict(zip(QUOTED, (1, 2.5, "x", 'y "z"', 5, "6"), strict=True))
    ]
    (block,) = file.blocks({"c, d": pl.Float64(), 'a "q"': pl.String()}, ['"', "two\nlines"])
    assert block.asked.rows(named=True) == [{"c, d": 5.0, 'a "q"': "1"}]
    assert block.kept.rows(named=True) == [{'"': "2.5", "two\nlines": 'y "z"'}]
    seen, _ = file.find_types({'"': pl.String()})
    assert seen == dict(zip(QUOTED, ({t} for t in (pl.Int64, pl.String, pl.String, pl.String, pl.Int64, pl.Int64)), strict=True))


def test_names_with_quotes_pass_through_every_command(tmp_path):
    table = pl.DataFrame({'a "q"': range(40), "b": [k % 3 for k in range(40)], '"y"': ["no", "yes"] * 20, 'c""': range(40)})
    table.write_csv(tmp_path / "t.csv")
    run("train", tmp_path / "t.csv", "--target", '"y"', "--ignore", 'c"",b', "-o", tmp_path / "m.json")
    assert fasttree.load(tmp_path / "m.json").feature_names_in_.tolist() == ['a "q"']
    kept = ["--keep", 'c"","y"', "--keep", 'a "q"']
    run("predict", tmp_path / "m.json", tmp_path / "t.csv", *kept, "-o", tmp_path / "p.csv")
    with open(tmp_path / "p.csv", encoding="utf-8", newline="") as stream:
        assert next(csv.reader(stream)) == ['c""', '"y"', 'a "q"', "prediction"]
    assert run("evaluate", tmp_path / "m.json", tmp_path / "p.csv") == run(
        "evaluate", tmp_path / "m.json", tmp_path / "t.csv"
    ).replace("t.csv", "p.csv")
    (tmp_path / "w.csv").write_text((tmp_path / "t.csv").read_text().replace("\n7,", "\nseven,"))
    assert "column 'a \"q\"' has the cell 'seven'" in mistake("predict", tmp_path / "m.json", tmp_path / "w.csv")


def test_a_header_with_stray_quotes_or_repeated_names_is_refused_in_words(tmp_path):
    for header in ('""a","', 'a"\nb",c', "a\rb,c"):
        (tmp_path / "t.csv").write_bytes(f"{header}\n1,2\n".encode())
        assert "in quotes, and its quotes twice" in mistake("train", tmp_path / "t.csv", "--target", "c")
    (tmp_path / "t.csv").write_text('"a""","a"""\n1,2\n')
    assert "more than one column called 'a\"'" in mistake("train", tmp_path / "t.csv", "--target", "b")


def test_predictions_do_not_depend_on_the_blocks(adult, tmp_path, monkeypatch):
    learn, test = adult
    run("train", learn, "--target", "income", "-o", tmp_path / "m.json")
    pl.read_csv(test).write_parquet(tmp_path / "t.parquet")
    expected = run("predict", tmp_path / "m.json", test, "--proba")
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_BYTES", 5000)
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_ROWS", 77)
    assert run("predict", tmp_path / "m.json", test, "--proba") == expected
    assert run("predict", tmp_path / "m.json", tmp_path / "t.parquet", "--proba") == expected


def test_an_error_in_a_later_block_counts_rows_from_there(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("x,y\n" + "1,a\n2,b\n" * 10)
    run("train", tmp_path / "t.csv", "--target", "y", "-o", tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("x\n" + "1\n" * 20 + "inf\n")
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_BYTES", 10)
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


@pytest.mark.parametrize("command", [["train"], ["train", "--memory", "1G"], ["compare", "cart", "--cv", 2]])
def test_a_table_without_features_is_refused(command, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,class\n" + "1,2,x\n3,4,y\n" * 4)
    name, *options = command
    message = mistake(name, tmp_path / "t.csv", *options, "--target", "class", "--ignore", "a,b")
    assert "t.csv has no column left to learn from" in message
    assert message.endswith("it has 'a', 'b', 'class'\n")


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
    path.write_text("0,0,no\n1,0,yes\n")
    assert "more than one column called '0'; the first line must be a header" in mistake("predict", loan_model, path)
    path.write_text("0,1,no\n1,0,yes\n")
    assert mistake("predict", loan_model, path).endswith("it has '0', '1', 'no'. Is its first line a header?\n")


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
        (["--target", "class", "--missing", "surogate"], ["missing='surogate'", "'surrogate'"]),
        (["--target", "class", "--priors", "{'yes': 0.5, 'no': 0.6}"], ["must sum to 1"]),
        (["--target", "class", "--holdout", "0.01"], ["15 rows"]),
        (["--target", "class", "--test", "nowhere.csv"], ["nowhere.csv"]),
        (["--target", "class", "--test", IRIS], ["no column"]),
        (["--target", "class", "--output", "nowhere/m.json"], ["nowhere", "does not exist"]),
        (["--target", "class", "--output", "."], ["is a folder"]),
        (["--target", "class", "--output", "-"], ["--output -: names no file"]),
        (["--target", "class", "--output", ""], ["--output '': names no file"]),
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
    assert f"{LOAN}: not a saved model, as train --output writes them" in mistake("show", LOAN)


def test_wrong_words_in_predict_and_evaluate(loan_model, tmp_path):
    (tmp_path / "t.csv").write_bytes(Path(LOAN).read_bytes())
    assert "replace the input" in mistake("predict", loan_model, tmp_path / "t.csv", "-o", tmp_path / "t.csv")
    mistake("predict", loan_model, LOAN, "-o", tmp_path / "nowhere" / "p.csv")
    assert "no column 'agge'" in mistake("evaluate", loan_model, LOAN, "--target", "agge")
    assert "knows only 'no', 'yes'" in mistake("evaluate", loan_model, LOAN, "--target", "age")
    run("train", MPG, "--target", "mpg", "-o", tmp_path / "mpg.json")
    assert "--proba" in mistake("predict", tmp_path / "mpg.json", MPG, "--proba")


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", LOAN],
        ["train", LOAN, "--target", "class", "--algorithm", "c60"],
        ["train", LOAN, "--target", "class", "--holdout", "1.5"],
        ["train", LOAN, "--target", "class", "--holdout", "0.5", "--test", LOAN],
        ["train", LOAN, "--target", "class", "--param", "max_depth"],
        ["train", LOAN, "--target", "class", "--param", "max_depth=2", "--max-depth", "3"],
        ["train", LOAN, "--target", "class", "--priors", "{yes: 0.5, no: 0.5}"],
        ["train", LOAN, "--target", "class", "--ignore", "class"],
        ["train", LOAN, "--target", "class", "--separator", "||"],
        ["train", LOAN, "--target", "class", "--print-depth", "-1"],
        ["train", LOAN, "--target", "class", "--algorithm", "c45", "--task", "regression"],
        ["train", LOAN, "--target", "class", "--algorithm", "c45rules", "--print-depth", "2"],
        ["predict"],
        ["prune"],
        ["grow"],
    ],
)
def test_what_is_not_a_command_is_a_usage_error(arguments):
    message = run(*arguments, code=2)
    assert message.startswith("Usage: ")
    assert "Error: " in message


def test_train_takes_every_algorithm_of_the_registry():
    words = ", ".join(dict.fromkeys(entry.word for entry in COMMANDED))
    assert f"--algorithm NAME One of {words}." in " ".join(run("train", "--help").split())


def test_the_help_of_train_names_every_impurity():
    text = " ".join(run("train", "--help").split())
    assert f"cart: {', '.join(IMPURITIES)}, or to regress {', '.join(IMPURITIES_OF_NUMBERS)};" in text


def test_the_help_of_train_names_every_parameter():
    text = " ".join(run("train", "--help").split())
    others = text.partition(" Any parameter of the estimator; repeatable.")[2]
    options = {"categorical_features": "--categorical", "ordinal_features": "--ordinal", "random_state": "--seed"} | OPTIONS
    for entry in COMMANDED:
        listed = others.partition(f" {entry.word}: ")[2].partition(".")[0]
        for name in {*entry.load()().get_params()} - {"verbose"}:  # bars are always shown
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
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_BYTES", 300)
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
    program = [*PYTHON, "-m", "fasttree", "train", IRIS, "--target", "class"]
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
    result = CliRunner(charset="ascii").invoke(command_line.fasttree, ["show", str(loan_model)])
    assert result.exit_code == 0
    assert "|-- owns_house = no" in result.stdout


def test_a_reader_that_goes_away_is_no_error_to_talk_about(tmp_path):
    run("train", IRIS, "--target", "class", "-o", tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("sepal_length,sepal_width,petal_length,petal_width\n" + "1,1,1,1\n" * 100_000)
    program = [*PYTHON, "-m", "fasttree", "predict", tmp_path / "m.json", tmp_path / "t.csv"]
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
        "import sys, time; from fasttree._cli import main, predicting\n"
        "predicting._predictions = lambda *_: iter(lambda: (print('here', flush=True), time.sleep(60)), None)\n"
        "main.main()",
        *("predict", loan_model, LOAN, "-o", folder / "p.csv"),
    ]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"here\n"
        assert len(list(folder.iterdir())) == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("library", "arguments"),
    [("click", []), ("rich", ["compare", LOAN, "cart"]), ("polars", ["train", LOAN, "--target", "class"])],
)
def test_without_the_extra_it_says_what_to_install(library, arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fasttree", *map(str, arguments)])
    for name in [name for name in sys.modules if name.startswith(("fasttree._cli.", "fasttree._data.files."))]:
        if name != "fasttree._cli.main":
            package, _, module = name.rpartition(".")
            monkeypatch.delattr(sys.modules[package], module)
            monkeypatch.delitem(sys.modules, name)
    for name in {library, *(name for name in sys.modules if name.startswith(f"{library}."))}:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SystemExit) as stopped:
        main()
    message = str(stopped.value.code)  # Python prints a text on stderr and exits with code 1
    assert message.startswith(f"Error: the command line needs {library}, ")
    assert message.endswith("pip install 'fasttree[cli]'")
    assert "\n" not in message


def test_importing_the_command_line_loads_none_of_its_libraries():
    code = "import sys, fasttree._cli.main; assert not {'click', 'rich', 'polars'} & sys.modules.keys()"
    subprocess.run([*PYTHON, "-c", code], check=True)


@pytest.mark.parametrize("row", ["1,x", '"a, b\nc",2', "1,2,3,4"])
def test_a_row_of_another_width_than_the_header_is_refused(tmp_path, loan_model, row):
    table = tmp_path / "rows.csv"
    table.write_text(f'a,b,class\n1,"x, y",no\n\n{row}\n2,z,yes\n')
    width = 4 if row.endswith("4") else 2
    message = f"{table}:4: a row of {width} cells; the header has 3"
    assert message in mistake("train", table, "--target", "class")
    lines = Path(LOAN).read_text().splitlines()
    table.write_text("\n".join([*lines[:3], lines[3].rpartition(",")[0], *lines[4:]]))
    assert f"{table}:4: a row of" in mistake("predict", loan_model, table)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_empty_lines_of_csv_are_no_rows(tmp_path, end):
    header, rows = "x,y", [f"{i},{'no' if i < 4 else 'yes'}" for i in range(8)]
    table, spaced, model = tmp_path / "t.csv", tmp_path / "spaced.csv", tmp_path / "t.json"
    table.write_text(end.join([header, *rows, ""]), newline="")
    spaced.write_text(end.join([header, "", *rows[:4], "", "  ", *rows[4:], "", ""]), newline="")
    assert run("train", spaced, "--target", "y", "--output", model) == run("train", table, "--target", "y", "--output", model)
    large = run("train", tmp_path / "s*.csv", "--target", "y", "--memory", "512MiB")
    assert large == run("train", tmp_path / "t*.csv", "--target", "y", "--memory", "512MiB")
    for arguments in (["predict", "--keep", "x"], ["explain", "--row", "4"]):
        assert run(arguments[0], model, spaced, *arguments[1:]) == run(arguments[0], model, table, *arguments[1:])
    spaced.write_text(end.join(["", header, *rows]), newline="")
    assert f"{spaced}: the first line is empty; it must be a header" in mistake("train", spaced, "--target", "y")


@pytest.mark.parametrize("written", ["{:+d}", " {}", " {:+d}.0"])
def test_numbers_with_a_sign_or_after_a_blank_are_numbers(tmp_path, written):
    table, plain, model = tmp_path / "t.csv", tmp_path / "p.csv", tmp_path / "t.json"
    for path, form in ((table, written), (plain, "{}")):
        path.write_text("x,y\n" + "".join(f"{form.format(i - 4)},{'no' if i < 4 else 'yes'}\n" for i in range(40)))
    trained = run("train", table, "--target", "y", "--output", model)
    assert trained == run("train", plain, "--target", "y", "--output", model)
    assert run("train", tmp_path / "t*.csv", "--target", "y", "--memory", "512MiB").startswith(trained[: trained.index("\n\n")])
    assert run("predict", model, table) == run("predict", model, plain)
    assert "Nominal (1): x" in run("train", table, "--target", "y", "--categorical", "x")
    table.write_text(table.read_text() + " ?,yes\n")
    assert "x is nominal because of ' ?' in 1 cell" in run("train", table, "--target", "y")


def test_columns_of_dates_are_noted(tmp_path):
    dates = [f"2024-0{month}-1{day}" for month in (1, 2, 3) for day in range(3)] * 4
    table = pl.DataFrame({"day": dates, "y": ["a", "b", "c"] * 12})
    table.write_csv(tmp_path / "days.csv")
    assert "day looks like dates, and is taken for 9 categories; --ignore day" in run(
        "train", tmp_path / "days.csv", "--target", "y"
    )


def test_train_looks_ahead(tmp_path):
    model = tmp_path / "tree.json"
    run("train", IRIS, "--target", "class", "--lookahead", 2, "--max-depth", 3, "--output", model)
    assert fasttree.load(model).get_params()["lookahead"] == 2
