"""Forests on the command line: trained as in Python, measured, predicted with, and shown by their trees."""

import json
import re

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from commands import EXAMPLES, IRIS, MPG, mistake
from commands import run as output_of

import fasttree
from fasttree import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from fasttree._cli.commands import fasttree as command_line
from fasttree._cli.models import FOREST_FORMATS
from fasttree._cli.showing import FORMATS


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table with two targets, and a forest for each."""
    folder = tmp_path_factory.mktemp("forests")
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"colour": rng.choice(["red", "green"], 200), "width": rng.normal(size=200)})
    label = np.where((table["colour"] == "red").to_numpy() & (table["width"].to_numpy() > 0), "ripe", "unripe")
    table.with_columns(label=pl.Series(label), price=table["width"] * 2).write_csv(folder / "table.csv")
    loss = {"ripe": {"unripe": 9}}
    for name, forest, target in (
        ("classes", RandomForestClassifier(n_estimators=9, random_state=0), pl.Series("label", label)),
        ("costs", RandomForestClassifier(n_estimators=9, random_state=0, loss_matrix=loss), pl.Series("label", label)),
        ("numbers", RandomForestRegressor(n_estimators=9, random_state=0), (table["width"] * 2).alias("price")),
    ):
        forest.fit(table, target).save(folder / f"{name}.json")
    return folder


def run(*arguments):
    return CliRunner().invoke(command_line, list(map(str, arguments)))


@pytest.mark.parametrize(("name", "figure"), [("classes", "accuracy"), ("costs", "accuracy"), ("numbers", "r2")])
def test_a_forest_is_measured(files, name, figure):
    done = run("evaluate", files / f"{name}.json", files / "table.csv", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)[figure] > 0.95


@pytest.mark.parametrize("name", ["classes", "costs", "numbers"])
def test_a_forest_predicts(files, name):
    done = run("predict", files / f"{name}.json", files / "table.csv")
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == 201


def test_features_of_a_forest_are_listed_by_permutation(files):
    done = run("importances", files / "classes.json", files / "table.csv", "--json")
    assert done.exit_code == 0, done.output
    assert {feature["name"] for feature in json.loads(done.stdout)["features"]} == {"colour", "width"}


TRAINED = [
    (["--algorithm", "forest"], IRIS, "class", RandomForestClassifier, {}),
    (["--algorithm", "forest"], MPG, "mpg", RandomForestRegressor, {}),
    (["--algorithm", "extra-trees"], IRIS, "class", ExtraTreesClassifier, {}),
    (["--algorithm", "extra-trees", "--param", "bootstrap=True"], MPG, "mpg", ExtraTreesRegressor, {"bootstrap": True}),
]
SIZE = {"n_estimators": 30, "max_features": 2, "min_samples_leaf": 2, "max_depth": 6, "random_state": 7, "n_jobs": 1}
OPTIONS = ["--trees", 30, "--max-features", 2, "--min-samples-leaf", 2, "--max-depth", 6, "--seed", 7, "--n-jobs", 1]


@pytest.mark.parametrize(("words", "table", "target", "estimator", "choices"), TRAINED, ids=lambda value: str(value)[:40])
def test_a_trained_forest_is_that_of_the_estimator(words, table, target, estimator, choices, tmp_path):
    shown = output_of("train", table, "--target", target, *words, *OPTIONS, "-o", tmp_path / "m.json")
    rows = pl.read_csv(table)
    expected = estimator(**SIZE, **choices).fit(rows.drop(target), rows[target])
    found = fasttree.load(tmp_path / "m.json")
    assert type(found) is estimator
    assert found.ensemble_ == expected.ensemble_
    sizes = f"30 trees, {expected.ensemble_.node_count:,} nodes, grown on {len(rows)} rows"
    assert f"{estimator.__name__}: {sizes}" in shown
    first = expected.feature_importances_.argmax()
    line = shown.partition("importance\n")[2].splitlines()[0]
    assert line.split() == [expected.schema_.features[first].name, f"{expected.feature_importances_[first]:.4f}"]
    has_bags = expected.bootstrap
    assert ("Out-of-bag" in shown) == has_bags
    assert hasattr(found, "oob_score_") == has_bags
    if has_bags:
        judged = expected.set_params(oob_score=True).fit(rows.drop(target), rows[target]).oob_score_
        assert found.oob_score_ == judged
        figure = "R²" if target == "mpg" else "accuracy"
        assert f"Out-of-bag {figure} {judged:.4f} (error {1 - judged:.4f}" in shown


def test_training_prints_columns_importances_and_figures(tmp_path):
    shown = output_of("train", IRIS, "--target", "class", "--algorithm", "forest", "--trees", 20, "--holdout", "0.3")
    assert shown.startswith("class: classification, 3 classes\nContinuous (4): sepal_length,")
    assert re.search(r"\nOut-of-bag accuracy 0\.\d{4} \(error 0\.\d{4}\) in training\nAccuracy 0\.\d{4} \(always ", shown)
    assert "on 45 held-out rows (seed 0)" in shown
    assert "measures the forest" in output_of("train", IRIS, "--target", "class", "--algorithm", "extra-trees", "--trees", 2)


def test_the_main_importances_are_printed_and_the_others_counted():
    options = ["--target", "income", "--algorithm", "forest", "--trees", 2, "--max-depth", 5]
    shown = output_of("train", EXAMPLES / "adult.test.csv.gz", *options)
    listed = shown.partition("importance\n")[2].partition("\n\n")[0].splitlines()
    assert len(listed) == 11
    shares = [float(line.split()[1]) for line in listed[:10]]
    assert shares == sorted(shares, reverse=True)
    assert "4 more features; fasttree importances lists" in listed[10]


def test_json_of_a_trained_forest(tmp_path):
    options = ["--algorithm", "forest", "--trees", 20, "--holdout", "0.3", "-o", tmp_path / "m.json"]
    found = json.loads(output_of("train", IRIS, "--target", "class", *options, "--json"))
    model = fasttree.load(tmp_path / "m.json")
    assert (found["algorithm"], found["task"], found["n_rows"], found["trees"]) == ("forest", "classification", 105, 20)
    assert (found["nodes"], found["oob_score"]) == (model.ensemble_.node_count, model.oob_score_)
    assert [entry["impurity"] for entry in found["importances"]] == model.feature_importances_.tolist()
    assert found["evaluation"]["n_rows"] == 45
    page = " ".join(output_of("train", "--help").split()).partition("--json")[2]
    assert not [key for key in found if not re.search(rf"\b{key}\b", page)]
    options = ["--algorithm", "extra-trees", "--trees", 2]
    assert json.loads(output_of("train", IRIS, "--target", "class", *options, "--json"))["oob_score"] is None


def test_rows_in_every_bag_are_noted():
    shown = output_of("train", IRIS, "--target", "class", "--algorithm", "forest", "--trees", 2)
    rows = pl.read_csv(IRIS)
    with pytest.warns(UserWarning, match="in every bag"):
        forest = RandomForestClassifier(n_estimators=2, oob_score=True, random_state=0).fit(rows.drop("class"), rows["class"])
    n_rows = np.isnan(forest.oob_decision_function_[:, 0]).sum()
    assert f"Note: {n_rows} rows of 150 are in every bag, and not in the out-of-bag error; more --trees help" in shown
    whole = ["--param", "bootstrap=False", "--param", "max_samples=150"]  # a bag of all rows judges none
    shown = output_of("train", IRIS, "--target", "class", "--algorithm", "extra-trees", "--trees", 2, *whole)
    assert "Out-of-bag" not in shown
    assert "Note: 150 rows of 150 are in every bag" in shown
    assert "every bag" not in output_of("train", IRIS, "--target", "class", "--algorithm", "forest")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--algorithm", "forest", "--pruning", "pessimistic", "--confidence", "0.2"], "does not take --pruning, --confidence"),
        (["--algorithm", "forest", "--pruning", "pessimistic"], "--ccp-alpha VALUE prunes each tree"),
        (
            ["--algorithm", "extra-trees", "--windowing"],
            "ExtraTreesClassifier does not take --windowing: leave this out.",
        ),
        (["--algorithm", "extra-trees", "--subset"], "It takes --trees, --max-features, --max-depth"),
        (["--algorithm", "forest", "--print-depth", "2"], "`fasttree show MODEL --tree 0` prints a tree"),
        (["--algorithm", "extra-trees", "--print-depth", "all"], "a forest is not printed"),
        (["--trees", "20"], "--trees is for forests: add --algorithm forest"),
        (
            ["--algorithm", "c45", "--task", "regression"],
            "with --task regression, use one of: cart, cubist, chaid, gam, m5, optimal, forest, extra-trees",
        ),
    ],
)
def test_options_of_trees_and_forests_are_not_mixed(options, message):
    shown = output_of("train", IRIS, "--target", "class", *options, code=2)
    assert shown.count("Error: ") == 1
    assert message in shown


def test_wrong_values_of_a_forest_are_one_line():
    given = ["train", IRIS, "--target", "class", "--algorithm", "forest"]
    assert "n_estimators=0" in mistake(*given, "--trees", 0)
    assert "max_features" in mistake(*given, "--max-features", "some")
    assert "ccp_alpha='cv'" in mistake(*given, "--ccp-alpha", "cv")


def test_trees_are_counted_while_they_grow(monkeypatch):
    from fasttree._cli import training
    from fasttree._learn.progress import progress

    seen = []
    monkeypatch.setattr(training, "learning", lambda text: progress(lambda *step: seen.append((text, *step))))
    output_of("train", IRIS, "--target", "class", "--algorithm", "forest", "--trees", 5)
    assert ("150 rows", "trees", 0, 5) in seen
    assert seen[-1] == ("150 rows", "trees", 5, 5)


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Forests that know their out-of-bag error."""
    folder = tmp_path_factory.mktemp("judged")
    for name, table, target in (("iris", IRIS, "class"), ("mpg", MPG, "mpg")):
        output_of("train", table, "--target", target, "--algorithm", "forest", "--trees", 20, "-o", folder / f"{name}.json")
    return folder


@pytest.mark.parametrize(("name", "table", "figure"), [("iris", IRIS, "accuracy"), ("mpg", MPG, "R²")])
def test_evaluate_shows_the_out_of_bag_error_of_the_training(name, table, figure, judged):
    score = fasttree.load(judged / f"{name}.json").oob_score_
    assert f"\nOut-of-bag {figure} {score:.4f} (error {1 - score:.4f}" in output_of("evaluate", judged / f"{name}.json", table)
    assert json.loads(output_of("evaluate", judged / f"{name}.json", table, "--json"))["oob_score"] == score


def test_evaluate_shows_no_out_of_bag_error_that_the_forest_does_not_know(files):
    assert "Out-of-bag" not in output_of("evaluate", files / "classes.json", files / "table.csv")
    assert json.loads(output_of("evaluate", files / "classes.json", files / "table.csv", "--json"))["oob_score"] is None


def test_importances_of_a_forest_need_no_table(files):
    model = fasttree.load(files / "classes.json")
    found = json.loads(output_of("importances", files / "classes.json", "--json"))
    assert (found["target"], found["n_rows"], found["figure"]) == ("label", None, None)
    shares = {feature["name"]: feature["impurity"] for feature in found["features"]}
    assert shares == dict(zip(["colour", "width"], model.feature_importances_.tolist(), strict=True))
    shown = output_of("importances", files / "classes.json")
    assert shown.splitlines()[0].split() == ["impurity"]
    nodes = f"{model.ensemble_.node_count:,} nodes"
    assert shown.endswith(f"RandomForestClassifier: 9 trees, {nodes}, grown on 200 rows\n")
    assert "permutation" in output_of("importances", files / "classes.json", files / "table.csv")


@pytest.mark.parametrize("name", ["classes", "costs", "numbers"])
def test_a_tree_of_a_forest_is_that_of_python(name, files):
    model = fasttree.load(files / f"{name}.json")
    for i in (0, 3, 8):
        tree = model.estimators_[i]
        assert output_of("show", files / f"{name}.json", "--tree", i).startswith(tree.export_text())
        assert output_of("show", files / f"{name}.json", "--tree", i, "--format", "sql") == tree.export_sql() + "\n"
    drawn = json.loads(output_of("show", files / f"{name}.json", "--tree", 3, "--json"))
    assert (drawn["nodes"], drawn["depth"]) == (model.ensemble_.node_counts[3], model.estimators_[3].get_depth())


@pytest.mark.parametrize("form", list(FORMATS))
@pytest.mark.parametrize("name", ["classes", "numbers"])
def test_a_tree_of_a_forest_is_written_in_every_format(name, form, files, tmp_path):
    if form == "onnx":
        pytest.importorskip("onnx")
    options = ["--missing-as", "majority"] if form in ("onnx", "pmml", "sql") else []
    path = tmp_path / "written"
    output_of("show", files / f"{name}.json", "--tree", 2, "--format", form, *options, "-o", path)
    tree = fasttree.load(files / f"{name}.json").estimators_[2]
    if form == "json":
        assert fasttree.load(path).tree_ == tree.tree_
    if form == "predictor":
        assert path.read_bytes() == tree.to_predictor().to_bytes()
    assert path.stat().st_size > 0


def test_a_tree_of_a_forest_is_drawn_with_a_table_and_labels(files, tmp_path):
    (tmp_path / "labels.json").write_text('{"width": "Width in cm"}')
    options = ["--tree", 1, "--labels", tmp_path / "labels.json"]
    output_of("show", files / "classes.json", files / "table.csv", *options, "--target", "label", "-o", tmp_path / "tree.svg")
    assert "Width in cm" in (tmp_path / "tree.svg").read_text(encoding="utf-8")


def test_a_saved_tree_of_a_forest_is_explained(files, tmp_path):
    output_of("show", files / "classes.json", "--tree", 4, "-o", tmp_path / "tree.json")
    assert "prediction: " in output_of("explain", tmp_path / "tree.json", files / "table.csv", "--row", 3)


def test_the_number_of_a_tree_is_checked(files, tmp_path):
    assert "--tree 9: must be from 0 to 8, as the forest has 9 trees" in mistake("show", files / "classes.json", "--tree", 9)
    assert "--tree" in output_of("show", files / "classes.json", "--tree", -1, code=2)
    output_of("train", IRIS, "--target", "class", "-o", tmp_path / "tree.json")
    assert "--tree 0 is for forests" in mistake("show", tmp_path / "tree.json", "--tree", 0)


def test_forests_are_compared_by_algorithm_and_as_files(judged):
    entries = ["cart", "forest:n_estimators=5", judged / "iris.json"]
    found = json.loads(output_of("compare", IRIS, *entries, "--target", "class", "--cv", 3, "--json"))
    _, grown, saved = found["entries"]
    assert grown["algorithm"] == "forest"
    assert grown["figures"]["trees"]["by_fold"] == [5, 5, 5]
    assert saved["figures"]["nodes"]["mean"] == fasttree.load(judged / "iris.json").ensemble_.node_count


@pytest.mark.parametrize("form", FOREST_FORMATS)
@pytest.mark.parametrize("name", ["classes", "numbers"])
def test_a_whole_forest_is_written_for_programs_and_as_a_page(name, form, files, tmp_path):
    if form == "onnx":
        pytest.importorskip("onnx")
    forest, path = fasttree.load(files / f"{name}.json"), tmp_path / "written"
    assert "Saved as" in output_of("show", files / f"{name}.json", "--format", form, "-o", path)
    if form == "predictor":
        assert path.read_bytes() == forest.to_predictor().to_bytes()
    elif form == "json":
        assert fasttree.load(path).ensemble_ == forest.ensemble_
    else:
        written = getattr(forest, f"export_{form}")()
        assert path.read_bytes() == (written if isinstance(written, bytes) else (written + "\n" * (form == "sql")).encode())


def test_a_forest_is_written_by_the_end_of_a_name_and_with_a_table(files, tmp_path):
    forest = fasttree.load(files / "classes.json")
    output_of("show", files / "classes.json", "-o", tmp_path / "forest.c", "--name", "fruit")
    assert (tmp_path / "forest.c").read_text(encoding="utf-8") == forest.export_c(name="fruit")
    options = ["--target", "label", "--max-nodes", 9, "-o", tmp_path / "forest.html"]
    output_of("show", files / "classes.json", files / "table.csv", *options)
    rows = pl.read_csv(files / "table.csv")
    expected = forest.export_html(X=rows.drop("label", "price"), y=rows["label"], max_nodes=9)
    assert (tmp_path / "forest.html").read_text(encoding="utf-8") == expected
    for form in ("text", "rules", "markdown", "dot", "svg"):
        shown = " ".join(mistake("show", files / "classes.json", "--format", form).split())
        assert "holds a forest of 9 trees, and this shows a single one" in shown
        assert "--format html, c, python, sql, pmml, onnx, predictor and json take the whole forest" in shown


def test_commands_for_one_tree_refuse_a_forest(files):
    done = run("show", files / "classes.json")
    assert done.exit_code != 0
    assert f"{files / 'classes.json'}: holds a forest of 9 trees" in " ".join(done.output.split()), done.output
    assert "`fasttree show MODEL --tree 0` shows the first" in " ".join(done.output.split())
    done = run("prune", files / "classes.json", "--pruning", "pessimistic", "-o", files / "pruned.json")
    assert done.exit_code != 0
    assert "pruned as they grow" in " ".join(done.output.split()), done.output


def test_rows_are_explained_by_the_forest_or_by_one_tree(files):
    table = pl.read_csv(files / "table.csv")
    sample = {name: table[name][4] for name in ("colour", "width")}
    forest = fasttree.load(files / "classes.json")
    given = table.drop("price")
    given.write_csv(files / "given.csv")
    done = run("explain", files / "classes.json", files / "given.csv", "--row", 4)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"row 4, label is {table['label'][4]}\n{forest.explain(sample)}\n"
    done = run("explain", files / "classes.json", files / "given.csv", "--row", 4, "--tree", 2)
    assert done.stdout == f"row 4, label is {table['label'][4]}\n{forest.estimators_[2].explain(sample)}\n"
    done = run("explain", files / "numbers.json", files / "table.csv", "--json", "--decimals", 1)
    (row,) = json.loads(done.stdout)["rows"]
    assert row["prediction"] == fasttree.load(files / "numbers.json").predict(table.drop("label", "price"))[0]
    assert {each["feature"] for each in row["contributions"]} == {"colour", "width"}
    done = run("explain", files / "classes.json", files / "given.csv", "--max-categories", 2)
    assert (done.exit_code, "--max-categories is for trees: add --tree N" in done.output) == (2, True)
    assert "must be from 0 to 8" in mistake("explain", files / "classes.json", files / "given.csv", "--tree", 9)
