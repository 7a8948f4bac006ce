"""`train` of folders, patterns and files that are read in pieces grows the tree of the table in memory."""

from pathlib import Path

import polars as pl
import pytest
from commands import EXAMPLES, GOLF, IRIS, MPG, mistake, run

import fasttree

ADULT = EXAMPLES / "adult.test.csv.gz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The table of cars, in files of which the first has integers where others have fractions and missing cells."""
    path = tmp_path_factory.mktemp("large")
    cars = pl.read_csv(MPG).sort("horsepower", nulls_last=True)
    for form in ("csv", "parquet"):
        (path / form).mkdir()
        for number, (start, stop) in enumerate([(0, 100), (100, 101), (101, cars.height)]):
            getattr(cars[start:stop], f"write_{form}")(path / form / f"cars-{number}.{form}")
    cars.write_csv(path / "whole.csv")
    cars.write_parquet(path / "whole.parquet")
    return path


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_folder_and_a_pattern_give_the_tree_of_one_file(folder, tmp_path, form, monkeypatch):
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_BYTES", 5000)
    options = ["--target", "mpg", "--ignore", "acceleration", "--min-samples-leaf", 9, "--print-depth", 2, "--test", MPG]
    options += ["--ordinal", "cylinders=3,4,5,6,8"]
    expected = run("train", folder / f"whole.{form}", *options, "-o", tmp_path / "m.json")
    for data, more in ((folder / form, []), (folder / form / "*", ["--memory", "64MiB", "--scratch", tmp_path])):
        assert run("train", data, *options, *more, "-o", tmp_path / "large.json") == expected.replace("m.json", "large.json")
        found, model = fasttree.load(tmp_path / "large.json"), fasttree.load(tmp_path / "m.json")
        assert (found.tree_, found.schema_) == (model.tree_, model.schema_)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["large.json", "m.json"]


@pytest.mark.parametrize(("table", "target"), [(IRIS, "class"), (ADULT, "income")])
def test_a_file_of_text_and_numbers_is_read_in_pieces(table, target, tmp_path):
    options = ["--target", target, "--max-depth", 4, "--missing-marker", "?", "--json"]
    assert run("train", table, *options, "--memory", "64MiB") == run("train", table, *options)


def test_a_kept_table_is_not_read_again(folder, tmp_path, monkeypatch):
    options = ["--target", "mpg", "--max-depth", 2, "--scratch", tmp_path, "--keep"]
    expected = run("train", folder / "parquet", *options)
    (kept,) = tmp_path.iterdir()
    assert kept.name.startswith("fasttree-kept-")
    monkeypatch.delattr("fasttree._scale.source.ParquetFiles.batches")
    assert run("train", folder / "parquet", *options) == expected
    for data, given, message in (
        ("parquet", options[:4], "--keep needs --scratch DIR"),
        ("csv", options[:6], "--keep keeps the table of Parquet files"),
    ):
        assert message in run("train", folder / data, *given, "--keep", code=2)


def test_the_task_follows_from_the_target(folder):
    for target, task in (("cylinders", "classification"), ("weight", "regression"), ("mpg", "regression")):
        options = ["--target", target, "--max-depth", 1]
        expected = run("train", folder / "whole.csv", *options).splitlines()
        found = run("train", folder / "parquet", *options).splitlines()
        assert found[:-1] == expected[:-1]
        assert found[0].startswith(f"{target}: {task}")
        assert found[-1] == "Not measured: --test FILE measures the tree on other rows"


MISTAKES = [
    (["--memory", "much"], "memory='much': must be a number of bytes, a text such as '6GiB', or 'auto'"),
    (["--missing", "surrogate"], "missing='surrogate' is not grown from a Dataset: use missing='direction'"),
    (["--criterion", "poisson"], "criterion='poisson' is not grown from a Dataset: use 'squared_error'"),
    (["--ccp-alpha", "cv"], "needs samples, which a Dataset does not give"),
    (["--target", "colour"], "has no column 'colour' to be the --target; it has 'cylinders'"),
]


@pytest.mark.parametrize(("options", "message"), MISTAKES, ids=lambda value: str(value)[:30])
def test_what_is_not_grown_in_pieces_says_what_to_do(folder, options, message):
    assert message in mistake("train", folder / "parquet", *(["--target", "mpg"] if "--target" not in options else []), *options)


def test_files_that_cannot_be_read_in_pieces(folder, tmp_path):
    for words in (["--algorithm", "c45"], ["--holdout", "0.3"]):
        message = run("train", folder / "csv", "--target", "mpg", *words, code=2)
        assert "the table in memory: " in message
    assert "golf.data cannot be read in pieces, as Parquet and CSV files can" in mistake("train", GOLF, "--memory", "1GiB")
    assert "no file that ends in .parquet, .csv" in mistake("train", tmp_path, "--target", "mpg")
    assert "no file has such a name" in mistake("train", tmp_path / "*.csv", "--target", "mpg")
    for form, name in (("parquet", "a.parquet"), ("csv", "b.csv")):
        (tmp_path / name).write_bytes(next(Path(folder / form).iterdir()).read_bytes())
    assert "has Parquet files and others" in mistake("train", tmp_path, "--target", "mpg")
