"""Files that are no models, or damaged ones: every command that loads a model says in one line what is wrong with which file."""

import gzip
import json

import pytest
from commands import GOLF, LOAN, mistake, run

from fasttree._cli import commands

COMMANDS = {
    "show": [],
    "explain": [LOAN, "--row", "1"],
    "importances": [LOAN],
    "evaluate": [LOAN],
    "predict": [LOAN],
    "prune": [LOAN, "--pruning", "reduced_error"],
}


def changed(document, **entries):
    return json.dumps({**document, **entries}).encode()


def without(document, key):
    return json.dumps({name: value for name, value in document.items() if name != key}).encode()


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory):
    """A folder of files that are no models, some of them nearly."""
    folder = tmp_path_factory.mktemp("bad")
    run("train", LOAN, "--target", "class", "-o", folder / "tree")
    run("train", GOLF, "--algorithm", "c45rules", "-o", folder / "rules")
    text, rules = (folder / "tree").read_bytes(), (folder / "rules").read_bytes()
    document = json.loads(text)
    nodes, n_nodes = document["nodes"], len(document["nodes"]["test"])
    for name in ("tree", "rules"):
        (folder / name).unlink()
    contents = {
        "empty.json": b"",
        "bytes.json": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "latin.json": text.replace(b"credit", "crédit".encode("latin-1")),
        "table.json": b"age,class\n1,no\n",
        "list.json": b"[1, 2, 3]",
        "cut.json": text[: len(text) // 2],
        "cut.json.gz": gzip.compress(text)[:-30],
        "altered.json.gz": gzip.compress(text)[:40] + b"\xff\0\xff" + gzip.compress(text)[43:],
        "other.json": b'{"format": "something else", "version": "1.0"}',
        "newer.json": changed(document, version="9.0"),
        "numbers.json": changed(document, nodes=[1, 2, 3]),
        "cycle.json": changed(document, nodes=nodes | {"first_child": [0] * n_nodes}),
        "nameless.json": without(document, "features"),
        "targetless.json": without(document, "targets"),
        "no_targets.json": changed(document, targets=[]),
        "wrong_target.json": changed(document, targets=[{"name": 7, "classes": ["no"]}]),
        "deep.json": b'{"format": ' + b"[" * 100_000,
        "huge.json": changed(document, nodes=nodes | {"n_branches": [2**40] * n_nodes}),
        "not_finite.json": changed(document, nodes=nodes | {"weight": [float("nan")] * n_nodes}),
        "twice.json": text.replace(b'"task"', b'"task": "regression", "task"', 1),
        "rules.json": rules.replace(b'"rules"', b'"laws"', 1),
        "cut_rules.json": rules[: -len(rules) // 3],
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder.json").mkdir()
    return folder


@pytest.mark.parametrize("command", [*COMMANDS, "compare"])
def test_what_is_no_model_is_refused_in_one_line_that_names_it(command, bad_files):
    paths = [*sorted(bad_files.iterdir()), bad_files / "nowhere.json"]
    assert len(paths) > 20
    for path in paths:
        if command == "compare":
            message = mistake("compare", LOAN, path, "--target", "class")
        else:
            message = mistake(command, path, *COMMANDS[command])
        assert path.name in message
        assert len(message) < 500


@pytest.mark.parametrize("command", COMMANDS)
def test_the_file_of_a_predictor_is_told_from_that_of_a_model(command, tmp_path):
    run("train", LOAN, "--target", "class", "-o", tmp_path / "loan.json")
    run("show", tmp_path / "loan.json", "-o", tmp_path / "loan.tree")
    message = mistake(command, tmp_path / "loan.tree", *COMMANDS[command])
    assert message.startswith(
        f"Error: {tmp_path / 'loan.tree'}: not a saved model, as train --output writes them: it is the file"
    )
    assert "of a predictor" in message


def test_every_command_that_loads_a_model_is_tried():
    loaded = map(commands.fasttree.loaded, commands.COMMANDS)
    with_model = {command.name for command in loaded if "model" in {given.name for given in command.params}}
    assert with_model == set(COMMANDS)
