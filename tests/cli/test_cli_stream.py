"""Tables larger than memory: read, predicted and written in blocks, from files and pipes, whole or not at all."""

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from commands import EXAMPLES, GOLF, IRIS, MPG, mistake, run
from polars.testing import assert_frame_equal
from sklearn.metrics import mean_absolute_error, precision_recall_fscore_support, r2_score, root_mean_squared_error

import fasttree
from fasttree import CARTClassifier

ADULT = EXAMPLES / "adult.test.csv.gz"
N_ROWS = 1200


@pytest.fixture(scope="module")
def adult(tmp_path_factory):
    """A tree with missing and unseen categories to meet, and its table as plain CSV."""
    folder = tmp_path_factory.mktemp("adult")
    table = pl.read_csv(ADULT)
    table.head(300).write_csv(folder / "learn.csv")
    table.head(N_ROWS).write_csv(folder / "t.csv")
    run("train", folder / "learn.csv", "--target", "income", "--missing-marker", "?", "-o", folder / "m.json")
    return folder


def short_blocks(monkeypatch):
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_BYTES", 20_000)
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_ROWS", 307)
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_CELLS", 2000)


@pytest.mark.parametrize("options", [[], ["--proba"]])
@pytest.mark.parametrize("given", ["csv", "parquet"])
def test_every_form_of_output_holds_the_same_rows_in_their_order(given, options, adult, tmp_path, monkeypatch):
    pl.read_csv(adult / "t.csv", null_values="?").write_parquet(adult / "t.parquet")
    model, path = fasttree.load(adult / "m.json"), adult / f"t.{given}"
    table = pl.read_parquet(adult / "t.parquet").drop("income")
    short_blocks(monkeypatch)
    for name in ("p.csv", "p.csv.gz", "p.parquet"):
        run("predict", adult / "m.json", path, *options, "--missing-marker", "?", "-o", tmp_path / name)
    found = pl.read_parquet(tmp_path / "p.parquet")
    assert found["prediction"].to_list() == model.predict(table).tolist()
    assert found.width == (3 if options else 1)
    if options:
        assert np.array_equal(found.drop("prediction").to_numpy(), model.predict_proba(table))
    assert gzip.decompress((tmp_path / "p.csv.gz").read_bytes()) == (tmp_path / "p.csv").read_bytes()
    assert_frame_equal(pl.read_csv(tmp_path / "p.csv"), found, check_exact=True)


def test_a_table_without_rows_gives_every_form_its_header(tmp_path):
    run("train", IRIS, "--target", "class", "-o", tmp_path / "m.json")
    table = pl.read_csv(IRIS).head(0)
    table.write_csv(tmp_path / "t.csv")
    table.write_parquet(tmp_path / "t.parquet")
    expected = {"prediction": pl.String, **{f"probability of Iris-{name}": pl.Float64 for name in NAMES}}
    for given in ("t.csv", "t.parquet"):
        for name in ("p.csv", "p.csv.gz", "p.parquet"):
            run("predict", tmp_path / "m.json", tmp_path / given, "--proba", "-o", tmp_path / name)
        assert dict(pl.read_parquet_schema(tmp_path / "p.parquet")) == expected
        assert pl.read_parquet(tmp_path / "p.parquet").height == 0
        assert (tmp_path / "p.csv").read_text() == ",".join(expected) + "\n"


NAMES = ("setosa", "versicolor", "virginica")


@pytest.mark.parametrize("options", [[], ["--proba"]])
@pytest.mark.parametrize("given", ["csv", "parquet"])
def test_columns_that_are_kept_stand_in_front_of_the_predictions_that_there_are_without_them(
    given, options, adult, tmp_path, monkeypatch
):
    short_blocks(monkeypatch)
    typed = pl.read_csv(adult / "t.csv").with_columns(pl.col("sex").cast(pl.Categorical))
    typed.write_parquet(adult / "kept.parquet")
    path = adult / {"csv": "t.csv", "parquet": "kept.parquet"}[given]
    table = pl.read_csv(path, infer_schema=False) if given == "csv" else typed.with_columns(pl.col("sex").cast(pl.String))
    names = ["income", "age", "sex", "workclass"]  # the target, and features in another order than theirs
    arguments = ["predict", adult / "m.json", path, "--missing-marker", "?", *options]
    for name in ("p.csv", "p.csv.gz", "p.parquet"):
        run(*arguments, "-o", tmp_path / name)
        run(*arguments, "--keep", "income,age", "--keep", "sex", "--keep", "workclass,age", "-o", tmp_path / f"kept.{name}")
    found, alone = (pl.read_parquet(tmp_path / name) for name in ("kept.p.parquet", "p.parquet"))
    assert_frame_equal(found, pl.concat([table.select(names), alone], how="horizontal"), check_exact=True)
    found, alone = (pl.read_csv(tmp_path / name, infer_schema=False) for name in ("kept.p.csv", "p.csv"))
    as_text = pl.read_csv(adult / "t.csv", infer_schema=False).select(names)
    assert_frame_equal(found, pl.concat([as_text, alone], how="horizontal"))
    assert gzip.decompress((tmp_path / "kept.p.csv.gz").read_bytes()) == (tmp_path / "kept.p.csv").read_bytes()


@pytest.mark.parametrize("size", [20, 2**22])
def test_cells_that_are_kept_are_copied_as_they_are_written(size, tmp_path, monkeypatch):
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_BYTES", size)
    cells = [
        "007",
        "1.50",
        "",
        "?",
        '""',
        "1e5",
        '"a ""b"", c"',
        '"two\nlines"',
        " x ",
        "true",
        "12345678901234567890",
        "2024-01-01",
    ]
    (tmp_path / "t.csv").write_text("id,x,y\n" + "".join(f"{cell},{k % 2}.0,{k % 2}\n" for k, cell in enumerate(cells)))
    run("train", tmp_path / "t.csv", "--target", "y", "--ignore", "id", "-o", tmp_path / "m.json")
    expected = "id,x,prediction\n" + "".join(f"{cell},{k % 2}.0,{k % 2}\n" for k, cell in enumerate(cells))
    arguments = ["predict", tmp_path / "m.json", tmp_path / "t.csv", "--missing-marker", "?", "--keep", "id,x"]
    assert run(*arguments) == expected
    run(*arguments, "-o", tmp_path / "p.parquet")
    found = pl.read_parquet(tmp_path / "p.parquet")
    assert found.schema == {"id": pl.String, "x": pl.String, "prediction": pl.Int64}
    assert found["id"].to_list()[:5] == ["007", "1.50", None, "?", ""]


@pytest.mark.parametrize("given", ["csv", "parquet"])
def test_a_table_without_rows_keeps_the_names_of_its_columns(given, tmp_path):
    run("train", IRIS, "--target", "class", "-o", tmp_path / "m.json")
    table = pl.read_csv(IRIS).head(0)
    table.write_csv(tmp_path / "t.csv")
    table.write_parquet(tmp_path / "t.parquet")
    arguments = ["predict", tmp_path / "m.json", tmp_path / f"t.{given}", "--keep", "class,sepal_width"]
    assert run(*arguments) == "class,sepal_width,prediction\n"
    run(*arguments, "-o", tmp_path / "p.parquet")
    width = pl.String if given == "csv" else pl.Float64
    assert pl.read_parquet_schema(tmp_path / "p.parquet") == {"class": pl.String, "sepal_width": width, "prediction": pl.String}


def test_declared_columns_are_kept_with_the_types_that_they_declare(tmp_path):
    run("train", GOLF, "-o", tmp_path / "m.json")
    run("predict", tmp_path / "m.json", GOLF, "--keep", "outlook,temperature", "-o", tmp_path / "p.parquet")
    found = pl.read_parquet(tmp_path / "p.parquet")
    assert found.columns == ["outlook", "temperature", "prediction"]
    assert found.row(0)[:2] == ("sunny", 85.0)


def test_columns_that_cannot_be_kept_are_refused_before_anything_is_written(tmp_path):
    table = pl.DataFrame(
        {"x": [1.0, 2.0], "prediction": ["p", "q"], "tags": [["a"], []], "probability of n": [1, 0], "y": ["n", "m"]}
    )
    table.write_parquet(tmp_path / "t.parquet")
    CARTClassifier().fit(table.select("x"), table["y"]).save(tmp_path / "m.json")
    before = sorted(tmp_path.iterdir())
    arguments = ["predict", tmp_path / "m.json", tmp_path / "t.parquet", "--keep"]
    for output in ([], ["-o", tmp_path / "p.csv"], ["-o", tmp_path / "p.parquet"]):
        assert "--keep 'z': " in mistake(*arguments, "y,z", *output)
        assert "no such column; it has 'x', " in mistake(*arguments, "z", *output)
        assert "the predictions have a column of this name" in mistake(*arguments, "prediction", *output)
        assert "--keep 'probability of n': the pred" in mistake(*arguments, "y,probability of n", "--proba", *output)
        assert sorted(tmp_path.iterdir()) == before
    assert run(*arguments, "probability of n") == "probability of n,prediction\n1,n\n0,m\n"
    assert "--keep 'tags': CSV cannot hold List" in mistake(*arguments, "tags", "-o", tmp_path / "p.csv")
    assert sorted(tmp_path.iterdir()) == before
    run(*arguments, "tags", "-o", tmp_path / "p.parquet")
    assert pl.read_parquet(tmp_path / "p.parquet")["tags"].to_list() == [["a"], []]


# The form by the name


@pytest.mark.parametrize("name", ["p.xlsx", "q.json", "x.parquet.gz", "p.tsv", "p.csv.zip", "p.feather"])
def test_an_ending_that_predictions_are_not_written_as_is_refused(name, tmp_path):
    said = " ".join(run("predict", tmp_path / "m.json", IRIS, "-o", tmp_path / name, code=2).split())
    ending = name.partition(".")[2]
    assert f"predictions are not written as '.{ending.removeprefix('csv.')}'" in said
    assert "may end in .csv, .txt, .csv.gz, .txt.gz, .parquet, .pq, or have no ending, for CSV" in said
    assert list(tmp_path.iterdir()) == []


def test_names_of_any_case_and_without_an_ending_and_devices_are_written(tmp_path):
    run("train", IRIS, "--target", "class", "-o", tmp_path / "m.json")
    expected = run("predict", tmp_path / "m.json", IRIS)
    for name in ("plain", "p.txt", "p.CSV", "p.csv", ".csv"):
        run("predict", tmp_path / "m.json", IRIS, "-o", tmp_path / name)
        assert (tmp_path / name).read_text() == expected
    for name in ("plain.gz", "p.txt.gz", "p.Csv.GZ"):
        run("predict", tmp_path / "m.json", IRIS, "-o", tmp_path / name)
        assert gzip.decompress((tmp_path / name).read_bytes()).decode() == expected
    for name in ("p.PARQUET", "p.pq"):
        run("predict", tmp_path / "m.json", IRIS, "-o", tmp_path / name)
        assert pl.read_parquet(tmp_path / name).height == 150
    run("predict", tmp_path / "m.json", IRIS, "-o", os.devnull)
    assert run("predict", tmp_path / "m.json", IRIS, "-o", "-") == expected


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of Unix")
def test_a_pipe_is_written_whatever_it_is_called(tmp_path):
    run("train", IRIS, "--target", "class", "-o", tmp_path / "m.json")
    os.mkfifo(tmp_path / "pipe.xlsx")
    expected = run("predict", tmp_path / "m.json", IRIS)
    program = [sys.executable, "-P", "-m", "fasttree", "predict", tmp_path / "m.json", IRIS, "-o"]
    assert subprocess.run([*program, "/dev/stdout"], stdout=subprocess.PIPE, text=True, check=True).stdout == expected
    with subprocess.Popen([*program, tmp_path / "pipe.xlsx"]) as process:
        assert (tmp_path / "pipe.xlsx").read_text() == expected
        assert process.wait(30) == 0


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_figures_do_not_depend_on_the_blocks(task, adult, tmp_path, monkeypatch):
    if task == "classes":
        arguments = ["evaluate", adult / "m.json", adult / "t.csv", "--missing-marker", "?", "--json"]
    else:
        run("train", MPG, "--target", "mpg", "--max-depth", 3, "-o", tmp_path / "m.json")
        arguments = ["evaluate", tmp_path / "m.json", MPG, "--json"]
    expected = json.loads(run(*arguments))
    short_blocks(monkeypatch)
    found = json.loads(run(*arguments))
    if task == "classes":
        assert found == expected
    else:
        assert found == pytest.approx(expected, rel=1e-12)


def test_figures_are_those_of_scikit_learn_also_where_there_is_nothing_to_divide(tmp_path, monkeypatch):
    X = pl.DataFrame({"x": range(60)})
    CARTClassifier().fit(X, ["a"] * 20 + ["b"] * 20 + ["c"] * 20).save(tmp_path / "m.json")
    truth = ["a"] * 10 + ["new"] * 5 + ["b"] * 7 + ["a"] * 18 + ["other"] * 2  # of 20 rows a, 20 b, 2 c: never c, and two unknown
    X.head(42).with_columns(y=pl.Series(truth)).write_csv(tmp_path / "t.csv")
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_BYTES", 40)
    figures = json.loads(run("evaluate", tmp_path / "m.json", tmp_path / "t.csv", "--target", "y", "--json"))
    labels = ["a", "b", "c", "new", "other"]
    predicted = ["a"] * 20 + ["b"] * 20 + ["c"] * 2
    expected = precision_recall_fscore_support(truth, predicted, labels=labels, zero_division=np.nan)
    found = [[entry[name] for entry in figures["classes"]] for name in ("precision", "recall", "f1", "rows")]
    assert np.array_equal(np.array(found, dtype=float), np.array(expected, dtype=float), equal_nan=True)
    assert [entry["class"] for entry in figures["classes"]] == labels
    run("train", MPG, "--target", "mpg", "--max-depth", 3, "-o", tmp_path / "mpg.json")
    figures = json.loads(run("evaluate", tmp_path / "mpg.json", MPG, "--json"))
    cars = pl.read_csv(MPG, infer_schema_length=None)
    answers = fasttree.load(tmp_path / "mpg.json").predict(cars.drop("mpg"))
    expected = [measure(cars["mpg"], answers) for measure in (r2_score, root_mean_squared_error, mean_absolute_error)]
    assert [figures[name] for name in ("r2", "rmse", "mae")] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("truth", "r2"), [("1\n1\n", 1.0), ("5\n5\n", 0.0), ("1\n", None)])
def test_where_all_the_truth_is_one_number_its_variance_explains_nothing(truth, r2, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "1,1\n" * 30)
    run("train", tmp_path / "t.csv", "--target", "y", "--task", "regression", "-o", tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"1,{cell}\n" for cell in truth.split()))
    assert json.loads(run("evaluate", tmp_path / "m.json", tmp_path / "t.csv", "--json"))["r2"] == r2


# Memory


MEMORY = """
import sys
from pathlib import Path

def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

from click.testing import CliRunner
from fasttree._cli import commands
from fasttree._data.files import blocks

blocks.BLOCK_BYTES, blocks.BLOCK_ROWS, blocks.BLOCK_CELLS = 2**19, 2**12, 2**17
for arguments in sys.argv[1:]:
    peaks = []
    for name in ("few", "many"):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        words = arguments.replace("ROWS", name).split()
        assert CliRunner().invoke(commands.fasttree, words, catch_exceptions=False).exit_code == 0
        peaks.append(peak())
    print(peaks[1] - peaks[0])
"""


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """Rows of 48 bytes, few and many, and a tree of 12 classes that makes 100 bytes of each."""
    folder = tmp_path_factory.mktemp("wide")
    random = np.random.default_rng(0)
    for name, n_rows in (("few", 10_000), ("many", 400_000)):
        table = pl.DataFrame({f"x{k}": random.random(n_rows, dtype=np.float32) for k in range(6)})
        table = table.with_columns(pl.col("x0").mul(12).floor().cast(pl.Int64).alias("y"))
        table.write_csv(folder / f"{name}.csv")
        table.write_parquet(folder / f"{name}.parquet", row_group_size=n_rows, compression="uncompressed")
    CARTClassifier(max_depth=5).fit(table.drop("y").head(5000), table["y"].head(5000)).save(folder / "m.json")
    return folder


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs a system that tells the peak of memory")
def test_memory_does_not_grow_with_the_rows(wide):
    commands = [
        "predict m.json ROWS.csv --proba -o p.parquet",
        "predict m.json ROWS.parquet -o p.csv",
        "predict m.json ROWS.csv --keep x0,y -o p.csv",
        "evaluate m.json ROWS.csv --target y",
    ]
    ended = subprocess.run([sys.executable, "-P", "-c", MEMORY, *commands], cwd=wide, stdout=subprocess.PIPE, check=True)
    grown = dict(zip(commands, map(float, ended.stdout.split()), strict=True))
    assert max(grown.values()) < 15, grown  # MiB, of 19 as numbers and 40 of predictions


def test_a_quote_that_is_never_closed_does_not_ask_for_the_rest_of_the_file(tmp_path, monkeypatch):
    run("train", IRIS, "--target", "class", "-o", tmp_path / "m.json")
    lines = Path(IRIS).read_text().splitlines()
    (tmp_path / "t.csv").write_text("\n".join([*lines[:50], '"' + lines[50], *lines[51:] * 50]))
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_BYTES", 2000)
    monkeypatch.setattr("fasttree._data.files.blocks.RECORD_BYTES", 8000)
    message = mistake("predict", tmp_path / "m.json", tmp_path / "t.csv", "-o", tmp_path / "p.csv")
    assert "begins with '\"" + lines[50][:20] in message
    assert "close its quote" in message


@pytest.mark.parametrize("end", ['"', '"\r', '1,"2', '1,2\n"3,4\n5,6\n'])
def test_a_quote_that_is_not_closed_in_a_short_file_is_an_error(end, tmp_path):
    """polars reads on to the end of such a file, or panics."""
    (tmp_path / "t.csv").write_text("a,b\n1,2\n" + end)
    assert "close its quote" in mistake("train", tmp_path / "t.csv", "--target", "b", "-o", tmp_path / "m.json")


# Pipes


@pytest.mark.parametrize("size", [5000, 2**24])
@pytest.mark.parametrize("packed", [False, True])
def test_a_hyphen_is_the_standard_input(size, packed, adult, tmp_path, monkeypatch):
    options = ["--missing-marker", "?", "--proba"]
    text = (adult / "t.csv").read_bytes()
    given = gzip.compress(text) if packed else text
    expected = run("predict", adult / "m.json", adult / "t.csv", *options)
    monkeypatch.setattr("fasttree._data.files.blocks.BLOCK_BYTES", size)
    assert run("predict", adult / "m.json", "-", *options, input=given) == expected


def test_other_commands_take_a_table_from_the_standard_input(tmp_path):
    text = Path(IRIS).read_bytes()
    trained = run("train", "-", "--target", "class", "--holdout", "0.3", "-o", tmp_path / "m.json", input=text)
    assert trained == run("train", IRIS, "--target", "class", "--holdout", "0.3", "-o", tmp_path / "m.json")
    assert run("evaluate", tmp_path / "m.json", "-", input=text).startswith("Accuracy 0.9")
    assert "on 150 rows of the standard input" in run("evaluate", tmp_path / "m.json", "-", input=text)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the standard input is empty"),
        (b"PAR1" + b"\0" * 20, "the standard input is Parquet, which can only be read from a file"),
        (b"a,b\n1,2\n", "the standard input has no column 'sepal_length'"),
        (gzip.compress(b"sepal_length" * 999, mtime=0)[:50], "the standard input cannot be read as CSV"),
    ],
    ids=["empty", "Parquet", "other columns", "cut"],
)
def test_what_is_wrong_with_the_standard_input_is_said(content, words, tmp_path):
    run("train", IRIS, "--target", "class", "-o", tmp_path / "m.json")
    assert words in run("predict", tmp_path / "m.json", "-", input=content, code=1)


def test_a_pipe_is_not_read_twice(tmp_path):
    arguments = ["train", "-", "--target", "class", "--test", "-", "-o", tmp_path / "m.json"]
    assert run(*arguments, input=Path(IRIS).read_bytes(), code=1) == "Error: the standard input is empty\n"


# Ends before the end


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.parquet"])
def test_a_full_disk_is_one_line_that_names_the_output(name, adult, tmp_path):
    (tmp_path / name).symlink_to("/dev/full")
    message = mistake("predict", adult / "m.json", adult / "t.csv", "--missing-marker", "?", "-o", tmp_path / name)
    assert message == f"Error: {tmp_path / name}: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_on_a_full_disk_is_one_line(option):
    done = subprocess.run(f"{sys.executable} -m fasttree {option} > /dev/full", shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "Error: No space left on device\n")


@pytest.mark.skipif(os.name == "nt", reason="needs a shell of POSIX")
def test_closed_streams_are_empty(adult):
    command = f"{sys.executable} -m fasttree predict {adult}/m.json"
    read = subprocess.run(f"{command} - <&-", shell=True, capture_output=True, text=True)
    assert (read.returncode, read.stderr) == (1, "Error: the standard input is empty\n")
    written = subprocess.run(f"{command} {adult}/t.csv --missing-marker '?' >&-", shell=True, capture_output=True, text=True)
    assert (written.returncode, written.stderr) == (0, "")


SLOW = """
import sys, time
from fasttree._cli import main, predicting

def predictions(*_):
    found = list(real(*_))
    yield from found
    print("here", flush=True)
    while True:
        time.sleep(0.1)
        yield found[-1]

real, predicting._predictions = predicting._predictions, predictions
main.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_a_process_that_is_interrupted_while_it_writes_parquet_leaves_no_file_and_no_traceback(adult, tmp_path):
    words = ["predict", adult / "m.json", adult / "t.csv", "--missing-marker", "?", "-o", tmp_path / "p.parquet"]
    program = [sys.executable, "-P", "-c", SLOW, *words]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"here\n"
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 1
        assert process.stderr.read().strip() == b"Aborted!"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
def test_a_terminal_shows_how_far_it_is(adult, tmp_path):
    import pty

    ours, theirs = pty.openpty()
    words = ["predict", adult / "m.json", "-", "--missing-marker", "?", "-o", tmp_path / "p.csv"]
    program = [sys.executable, "-P", "-m", "fasttree", *map(str, words)]
    with (adult / "t.csv").open("rb") as table:
        subprocess.run(program, stdin=table, stderr=theirs, env=os.environ | {"TERM": "xterm"}, check=True)
    os.close(theirs)
    told = os.read(ours, 2**16).decode()
    os.close(ours)
    assert "the standard input" in told
    assert f"{N_ROWS:,} rows" in told


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
def test_train_shows_its_steps_on_a_terminal_and_nothing_in_a_pipe(tmp_path):
    import pty

    command = [sys.executable, "-m", "fasttree", "train", IRIS, "--target", "class", "--ccp-alpha", "cv"]
    piped = subprocess.run(command, capture_output=True, check=True)
    assert piped.stderr == b""
    terminal, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=os.environ | {"TERM": "xterm"}) as process:
        os.close(theirs)
        shown = bytearray()
        with contextlib.suppress(OSError):  # the end of the terminal
            while part := os.read(terminal, 4096):
                shown += part
        assert process.stdout.read() == piped.stdout
    os.close(terminal)
    assert b"150 rows: growth" in shown
    assert b"150 rows: cross-validation" in shown
    assert b"10 of 10" in shown
