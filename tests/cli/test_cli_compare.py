"""The command compare: figures of the same folds for all, and intervals that say no more than is known."""

import json
import math

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from commands import EXAMPLES, GOLF, IRIS, LOAN, MPG, mistake, run
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, mean_absolute_error, r2_score
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, cross_validate

import fasttree
from fasttree import C45Classifier, CARTClassifier, CARTRegressor
from fasttree._cli import commands
from fasttree._cli.models import row_scores
from fasttree.evaluation import paired_interval, resampled_interval

MUSHROOM = EXAMPLES / "mushroom.csv.gz"


def compared(*arguments):
    return json.loads(run("compare", *arguments, "--json"))


def figures(found, name):
    return next(entry["figures"] for entry in found["entries"] if entry["name"] == name)


@pytest.fixture
def models(tmp_path):
    """The table iris in two halves, and two trees grown on the first."""
    table = pl.read_csv(IRIS).sample(fraction=1, shuffle=True, seed=1)
    table.head(75).write_csv(tmp_path / "learn.csv")
    table.tail(75).write_csv(tmp_path / "test.csv")
    for name, depth in (("deep", 9), ("flat", 1)):
        run("train", tmp_path / "learn.csv", "--target", "class", "--max-depth", depth, "-o", tmp_path / f"{name}.json")
    return [str(tmp_path / name) for name in ("test.csv", "deep.json", "flat.json")]


# Figures


def test_classes_are_measured_as_scikit_learn_does_on_the_same_folds():
    found = compared(IRIS, "cart:max_depth=2", "c45", "--target", "class", "--cv", 4, "--repeats", 2, "--seed", 7)
    table = pl.read_csv(IRIS)
    X, y = table.drop("class"), table["class"].to_numpy()
    splitter = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=7)
    for name, model in (("cart:max_depth=2", CARTClassifier(max_depth=2)), ("c45", C45Classifier())):
        scoring = {"accuracy": "accuracy", "balanced_accuracy": "balanced_accuracy", "log_loss": "neg_log_loss"}
        expected = cross_validate(model, X.to_pandas(), y, cv=splitter, scoring=scoring)
        for figure in scoring:
            values = expected[f"test_{figure}"] * (-1 if figure == "log_loss" else 1)
            given = figures(found, name)[figure]
            assert given["by_fold"] == pytest.approx(values.tolist(), abs=1e-12)
            assert given["mean"] == pytest.approx(values.mean())
            assert given["deviation"] == pytest.approx(values.std(ddof=1))
    assert found["folds"] == {"n_splits": 4, "n_repeats": 2, "seed": 7, "stratified": True}


def test_numbers_are_measured_as_scikit_learn_does_on_the_same_folds():
    found = compared(MPG, "cart:max_depth=3", "cart", "--target", "mpg", "--cv", 5)
    table = pl.read_csv(MPG, infer_schema_length=None)
    X, y = table.drop("mpg").to_pandas(), table["mpg"].to_numpy()
    splitter = RepeatedKFold(n_splits=5, n_repeats=1, random_state=0)
    expected = cross_validate(CARTRegressor(max_depth=3), X, y, cv=splitter, scoring=["r2", "neg_mean_absolute_error"])
    given = figures(found, "cart:max_depth=3")
    assert given["r2"]["by_fold"] == pytest.approx(expected["test_r2"].tolist())
    assert given["mae"]["by_fold"] == pytest.approx((-expected["test_neg_mean_absolute_error"]).tolist())
    assert given["depth"]["by_fold"] == [3] * 5
    assert given["fit_seconds"]["mean"] > 0
    assert (found["task"], found["folds"]["stratified"]) == ("regression", False)


@given(data=st.data(), n_classes=st.integers(2, 4))
def test_means_of_row_scores_are_the_figures_of_scikit_learn(data, n_classes):
    model = CARTClassifier().fit(np.arange(n_classes).reshape(-1, 1), np.arange(n_classes))
    truth = data.draw(st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=12))
    weights = data.draw(st.lists(st.lists(st.integers(1, 9), min_size=n_classes, max_size=n_classes), min_size=12, max_size=12))
    shares = np.array(weights[: len(truth)], dtype=float)
    shares /= shares.sum(axis=1, keepdims=True)
    means = {name: score.mean() for name, score in row_scores(model, truth, shares).items()}
    answer = shares.argmax(axis=1)
    recalls = [np.mean(answer[np.array(truth) == label] == label) for label in set(truth)]
    assert means["accuracy"] == pytest.approx(accuracy_score(truth, answer))
    assert means["balanced_accuracy"] == pytest.approx(np.mean(recalls))
    if len(set(truth)) > 1 and set(answer) <= set(truth):  # scikit-learn warns of anything else
        assert means["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(truth, answer))
    assert means["log_loss"] == pytest.approx(log_loss(truth, shares, labels=range(n_classes)))


def test_a_class_that_the_model_does_not_know_is_an_error_of_the_least_probability():
    model = CARTClassifier().fit([[0.0], [1.0]], ["a", "b"])
    scores = row_scores(model, ["a", "c"], np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert scores["accuracy"].tolist() == [1, 0]
    assert scores["balanced_accuracy"].mean() == 0.5
    assert scores["log_loss"][1] == pytest.approx(-math.log(np.finfo(float).eps))


def test_means_of_row_scores_are_r2_and_mae():
    model = CARTRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    truth, answer = [1.0, 2.0, 4.0], np.array([1.5, 1.0, 4.0])
    means = {name: score.mean() for name, score in row_scores(model, truth, answer).items()}
    assert means == pytest.approx({"r2": r2_score(truth, answer), "mae": mean_absolute_error(truth, answer)})
    assert np.isnan(row_scores(model, [2.0, 2.0], np.array([1.0, 2.0]))["r2"]).all()


# Differences


def test_the_interval_over_rows_is_that_of_the_paired_t_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 30))
    expected = ttest_rel(a, b).confidence_interval(0.95)
    assert paired_interval(a - b) == pytest.approx(((a - b).mean(), *expected))


def test_the_interval_over_folds_is_wider_by_the_rows_that_folds_share():
    """Ten folds: the variance counts 1/10 + 1/9 and not 1/10 (Nadeau and Bengio 2003)."""
    differences = np.random.default_rng(1).normal(size=10)
    plain, corrected = paired_interval(differences), resampled_interval(differences, 1 / 9)
    assert corrected.value == pytest.approx(plain.value)
    assert (corrected.high - corrected.low) / (plain.high - plain.low) == pytest.approx(math.sqrt((1 / 10 + 1 / 9) * 10))


def test_algorithms_are_compared_over_folds():
    found = compared(IRIS, "cart", "c45", "--target", "class", "--cv", 5)
    (pair,) = found["differences"]
    assert (pair["first"], pair["second"], pair["method"]) == ("cart", "c45", "corrected resampled t")
    for name in ("accuracy", "balanced_accuracy", "log_loss"):
        by_fold = np.subtract(figures(found, "cart")[name]["by_fold"], figures(found, "c45")[name]["by_fold"])
        interval = resampled_interval(by_fold, 1 / 4)
        assert pair["figures"][name] == pytest.approx({"difference": interval.value, "low": interval.low, "high": interval.high})


def test_an_interval_that_holds_0_leaves_the_question_open():
    told = run("compare", IRIS, "cart", "c45", "cart:max_depth=1", "--target", "class")
    rows = {line.partition("  ")[0]: line for line in told.splitlines() if " less " in line}
    assert rows["cart less c45"].endswith("may be 0")
    assert rows["cart less cart:max_depth=1"].split()[-2] == "to"
    assert "of 3 pairs, one may exclude 0 by chance" in told
    assert "Nadeau and Bengio" in told
    assert "significant" not in told


def test_any_figure_can_be_compared():
    told = run("compare", IRIS, "cart", "cart:max_depth=1", "--target", "class", "--cv", 3, "--by", "log_loss")
    found = compared(IRIS, "cart", "cart:max_depth=1", "--target", "class", "--cv", 3)
    difference = found["differences"][0]["figures"]["log_loss"]["difference"]
    assert "Difference in log loss (less is better), with its 95% interval\n" in told
    assert f"cart less cart:max_depth=1  {difference:+.4f}  " in told


def test_entries_that_never_differ_are_equal():
    told = run("compare", IRIS, "cart", "cart:max_depth=40", "--target", "class")
    assert "+0.0000  +0.0000 to +0.0000  always equal" in told


# Saved models


def test_saved_models_are_measured_on_all_rows_as_evaluate_does(models):
    data, deep, flat = models
    found = compared(data, deep, flat)
    truth = pl.read_csv(data)["class"].to_numpy()
    right = []
    for path in (deep, flat):
        expected = json.loads(run("evaluate", path, data, "--json"))
        assert figures(found, path)["accuracy"] == {
            "mean": pytest.approx(expected["accuracy"]),
            "deviation": None,
            "by_fold": [pytest.approx(expected["accuracy"])],
        }
        right.append(fasttree.load(path).predict(pl.read_csv(data).drop("class")) == truth)
    assert found["folds"] is None
    (pair,) = found["differences"]
    assert pair["method"] == "paired rows"
    low, high = ttest_rel(*np.array(right, dtype=float)).confidence_interval(0.95)
    assert [pair["figures"]["accuracy"][name] for name in ("low", "high")] == pytest.approx([low, high])
    assert "as they are" in run("compare", data, deep, flat)


def test_a_saved_model_beside_an_algorithm_is_measured_on_the_same_folds(models):
    data, deep, flat = models
    found = compared(data, deep, "cart", flat, "--cv", 3)
    y = pl.read_csv(data)["class"]
    right = fasttree.load(deep).predict(pl.read_csv(data).drop("class")) == y.to_numpy()
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=0).split(np.zeros(75), y.to_list())
    assert figures(found, deep)["accuracy"]["by_fold"] == pytest.approx([right[test].mean() for _, test in folds])
    assert "fit_seconds" not in figures(found, deep)
    assert [pair["method"] for pair in found["differences"]] == ["corrected resampled t", "paired rows", "corrected resampled t"]


def test_a_table_that_a_model_may_have_been_grown_on_is_named(models, tmp_path):
    data, deep, flat = models

    def notes(*arguments):
        told = CliRunner().invoke(commands.fasttree, ["compare", *arguments]).stderr
        assert told == CliRunner().invoke(commands.fasttree, ["compare", *arguments, "--json"]).stderr
        return told

    assert "grown on 75 rows, as many as this table has" in notes(str(tmp_path / "learn.csv"), deep, flat)
    pl.read_csv(data).head(60).write_csv(tmp_path / "part.csv")
    assert "does not name the rows of its training" in notes(str(tmp_path / "part.csv"), deep, flat)
    assert notes(data, "cart", "--target", "class") == ""


def test_a_saved_model_that_cannot_answer_says_why_and_the_others_are_compared(models, tmp_path):
    data, deep, flat = models
    run("train", GOLF, "--algorithm", "c45", "-o", tmp_path / "golf.json")
    golf = str(tmp_path / "golf.json")
    found = compared(data, golf, deep, flat)
    assert "no column 'outlook'" in found["entries"][0]["error"]
    assert found["entries"][0]["figures"] == {}
    assert [(pair["first"], pair["second"]) for pair in found["differences"]] == [(deep, flat)]
    assert found["n_rows"] == 75


# Entries


def test_an_algorithm_that_refuses_the_table_says_why_and_the_others_are_compared():
    alone = compared(MUSHROOM, "cart:max_depth=2", "--target", "class", "--cv", 3)
    found = compared(MUSHROOM, "id3", "cart:max_depth=2", "--target", "class", "--cv", 3)
    refused, kept = found["entries"]
    assert "'stalk-root' has missing values" in refused["error"]
    assert (refused["figures"], kept["error"], found["differences"]) == ({}, None, [])
    for name in ("accuracy", "balanced_accuracy", "log_loss", "leaves"):
        assert kept["figures"][name] == alone["entries"][0]["figures"][name]
    told = run("compare", MUSHROOM, "id3", "cart:max_depth=2", "--target", "class", "--cv", 3)
    assert "id3 has no figures: column 'stalk-root' has missing values" in told
    assert "'sepal_length' is continuous" in mistake("compare", IRIS, "id3", "--target", "class")


def test_parameters_are_those_of_the_estimator(tmp_path):
    entry = "cart:class_weight={'yes': 2, 'no': 1},max_depth=2,criterion=entropy"
    found = compared(LOAN, entry, "id3", "--target", "class", "--cv", 2)
    given = found["entries"][0]
    assert given["parameters"] == {"class_weight": {"yes": 2, "no": 1}, "max_depth": 2, "criterion": "entropy"}
    assert given["figures"]["depth"]["mean"] <= 2


def test_rules_are_counted():
    found = compared(GOLF, "c45rules", "c45", "--cv", 3)
    assert figures(found, "c45rules")["rules"]["mean"] >= 1
    assert "leaves" not in figures(found, "c45rules")
    assert found["target"] == "class"


def test_a_file_of_the_name_of_an_algorithm_is_reached_by_its_folder(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep.json").rename(tmp_path / "cart")
    assert [entry["saved"] for entry in compared("test.csv", "./cart", "cart", "--cv", 2)["entries"]] == [True, False]


@pytest.mark.parametrize("width", [50, 80, 160])
def test_tables_fit_the_terminal_and_long_names_stand_under_letters(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    names = [f"cart:max_depth={depth},min_samples_leaf={depth}" for depth in range(1, 6)]
    told = run("compare", IRIS, *names, "--target", "class", "--cv", 3)
    assert f"A  {names[0]}\n" in told
    tables = [line for line in told.splitlines() if line.startswith(("accuracy", "fit"))]
    assert sum(line.count("±") for line in tables) == 10
    assert max(map(len, tables)) <= width
    short = run("compare", IRIS, "cart", "c45", "--target", "class", "--cv", 3)
    assert "A  " not in short


# Mistakes


def test_what_is_wrong_is_one_line(models, tmp_path):
    data, deep, _ = models
    run("train", MPG, "--target", "mpg", "-o", tmp_path / "mpg.json")
    assert "'cartt' is neither an algorithm (id3" in mistake("compare", IRIS, "cartt", "--target", "class")
    assert "no parameter 'max_dept'" in mistake("compare", IRIS, "cart:max_dept=3", "--target", "class")
    assert "max_depth='x'" in mistake("compare", IRIS, "cart:max_depth=x", "--target", "class")
    assert "no column 'klass'" in mistake("compare", IRIS, "cart", "--target", "klass")
    assert "nowhere.csv" in mistake("compare", "nowhere.csv", "cart", "--target", "class")
    assert IRIS in mistake("compare", IRIS, IRIS, "--target", "class")
    assert "has no column 'mpg'" in mistake("compare", data, tmp_path / "mpg.json")
    assert "predicts classes" in mistake("compare", data, deep, tmp_path / "mpg.json", "--target", "class")
    assert "knows only" in mistake("compare", data, deep, "--target", "sepal_width")
    assert "--cv 10: the table has 9 rows of the largest class" in mistake("compare", GOLF, "cart")
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,\n3,a\n")
    assert "missing in 1 of 3 rows" in mistake("compare", tmp_path / "t.csv", "cart", "--target", "y", "--cv", 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([IRIS, "--target", "class"], "ENTRY"),
        ([IRIS, "cart"], "--target"),
        ([IRIS, "cart", "cart", "--target", "class"], "given twice"),
        ([IRIS, "cart:max_depth", "--target", "class"], "NAME=VALUE"),
        ([IRIS, "cart:max_depth=1,max_depth=2", "--target", "class"], "max_depth is given twice"),
        ([MPG, "c45", "--target", "mpg", "--task", "regression"], "c45 grows classification trees"),
        ([MPG, "cart", "--target", "mpg", "--by", "accuracy"], "whose figures are r2, mae"),
        ([IRIS, "cart", "--target", "class", "--cv", "1"], "--cv"),
    ],
)
def test_what_is_no_comparison_is_a_usage_error(arguments, words):
    message = run("compare", *arguments, code=2)
    assert message.startswith("Usage: ")
    assert words in message
