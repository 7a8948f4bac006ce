"""Every command with every kind of model: it works, or says in one line why it cannot; what a refusal recommends works."""

import importlib.util
import re
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from commands import mistake, run

from fasttree._cli import commands
from fasttree._cli.models import ALGORITHMS
from fasttree._cli.options import PRUNINGS
from fasttree._cli.showing import FORMATS

QUICK = {"gam": ["--param", "n_bags=2", "--param", "max_iter=10"], "forest": ["--trees", 3], "extra-trees": ["--trees", 3]}
BOOSTED = ["--trials", 3, "--param", "early_stopping=False"]
KINDS = {f"{word} {task}": (word, task, QUICK.get(word, [])) for word, task in ALGORITHMS} | {
    "c50 boosted": ("c50", "classification", BOOSTED),
    "c50 rules": ("c50", "classification", ["--rules"]),
    "c50 boosted rules": ("c50", "classification", ["--rules", *BOOSTED]),
}
SUBSTITUTE = ["--missing-as", "majority"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("kinds") / "table.csv"
    rows = np.random.default_rng(0).integers(0, 4, (60, 2)).tolist()
    lines = [f"{'pqrs'[a]},{'tuvw'[b]},{'yes' if a + b % 2 > 2 else 'no'},{a + b / 8}" for a, b in rows]
    path.write_text("\n".join(["first,second,class,number", *lines, "p,t,yes,9.5"]), encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=KINDS)
def saved(request, table):
    """A model of each kind, and the options that name its target."""
    word, task, options = KINDS[request.param]
    target, other = ("class", "number") if task == "classification" else ("number", "class")
    path = table.with_name(f"{request.param}.json")
    run("train", table, "--target", target, "--ignore", other, "--algorithm", word, *options, "--output", path)
    return path, ["--target", target], [word, "--target", target, "--ignore", other, "--cv", 2]


def ends_well(*arguments):
    """Run a command, and return its error; it must have none, or one in a line."""
    done = CliRunner().invoke(commands.fasttree, list(map(str, arguments)))
    assert done.exception is None or isinstance(done.exception, SystemExit), (arguments, done.exception)
    if done.exit_code == 1:
        assert done.stderr.startswith("Error: "), arguments
        assert done.stderr.count("\n") == 1, arguments
    return done.stderr if done.exit_code else ""


def test_commands_that_take_every_model(saved, table):
    path, target, algorithm = saved
    for options in ([], ["--json"]):
        run("compare", table, path, *target, *options)
        run("compare", table, *algorithm, *options)
        run("evaluate", path, table, *options)
        run("explain", path, table, *options)
        run("importances", path, table, "--repeats", 1, *options)
    run("predict", path, table)


def test_no_command_ends_in_a_traceback(saved, table, tmp_path):
    path, target, algorithm = saved
    ends_well("compare", table, path, *algorithm)
    ends_well("importances", path)
    ends_well("explain", path, table, "--tree", 0)
    ends_well("predict", path, table, "--proba")
    for method in [*PRUNINGS, "cost_complexity:alpha=0.01", "c_alpha:alpha=1"]:
        ends_well("prune", path, table, *target, "--pruning", method)
    for tables in ([], ["--test", table]):
        ends_well("prune", path, *tables, *target, "--pruning", "cost_complexity:alpha=0.01", "-o", tmp_path / "pruned.json")


def test_formats_that_a_refusal_recommends_are_those_that_work(saved, table, tmp_path):
    path, target, _ = saved
    forms = [form for form in FORMATS if form != "onnx" or importlib.util.find_spec("onnx")]
    ends_well("show", path, "--json")
    ends_well("show", path, "--tree", 0)
    errors = {}
    for form in forms:
        shown = ["show", path, "--format", form, "-o", tmp_path / "shown"]
        errors[form] = ends_well(*shown) and ends_well(*shown, *SUBSTITUTE)
    for form in ("text", "html", "svg"):
        ends_well("show", path, table, *target, "--format", form, "-o", tmp_path / "shown")
    work = {form for form in forms if not errors[form]}
    for error in errors.values():
        if named := re.search(r"formats are (.*), not|--format (.*) take ", error):
            assert set(re.findall(r"\w+", named[1] or named[2])) & set(forms) == work


def test_an_additive_model_has_terms_and_no_branches_to_prune(table):
    path = table.with_name("additive.json")
    run("train", table, "--target", "class", "--algorithm", "gam", *QUICK["gam"], "-o", path)
    assert re.search("^terms +3", run("compare", table, path), re.MULTILINE)
    message = mistake("prune", path, "--pruning", "cost_complexity")
    assert message.startswith(f"Error: {path} holds an additive model, not a tree")


def test_a_missing_library_is_named(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    path = table.with_name("of_onnx.json")
    run("train", table, "--target", "class", "--algorithm", "gam", *QUICK["gam"], "-o", path)
    assert "pip install 'fasttree[onnx]'" in mistake("show", path, "--format", "onnx", "-o", table.with_name("model.onnx"))
