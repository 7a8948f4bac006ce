"""Trees and tables on a terminal: wrapped at its width, with styles; in a pipe, or with NO_COLOR, without any."""

import contextlib
import os
import re
import subprocess
import sys

import pytest
from commands import EXAMPLES, IRIS, run
from rich.cells import cell_len

import fasttree
from fasttree._cli.terminal import fitted

CODES = re.compile(r"\x1b\[[0-9;]*m")
TREE = """\
├── education in {Preschool, primary school, secondary school}
│   ├── age <= 30: no (6 of 9)
│   └── age > 30: yes, with much longer words (5)
└── education in {university, other}: 'a: b' (7)
"""
WRAPPED = """\
├── education in {Preschool,
│   │   primary school, secondary
│   │   school}
│   ├── age <= 30: no (6 of 9)
│   └── age > 30: yes, with much
│           longer words (5)
└── education in {university,
        other}: 'a: b' (7)
"""
STYLED = """\
├── education
│   └── age > 30: <yes (5)>
├── 'a: b' = {'c: d', don't}: <'a: b' (7)>
└── missing: <no (1)>
"""


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "34")


def to_ascii(drawing):
    for line, plain in (("├── ", "|-- "), ("└── ", "`-- "), ("│", "|")):
        drawing = drawing.replace(line, plain)
    return drawing


@pytest.mark.parametrize("drawn", [str, to_ascii])
def test_lines_break_at_spaces_and_guides_continue(drawn, terminal):
    shown = CODES.sub("", fitted(drawn(TREE)))
    assert shown == drawn(WRAPPED)


def test_wide_letters_count_twice_and_long_words_stay_whole(terminal):
    shown = CODES.sub("", fitted(f"├── {'広い' * 6} {'広い' * 6}: no (1)\n└── {'x' * 40}: no (1)\n")).splitlines()
    assert shown == [f"├── {'広い' * 6}", f"│       {'広い' * 6}:", "│       no (1)", f"└── {'x' * 40}:", "        no (1)"]
    assert max(map(cell_len, shown[:3])) <= 34


def test_a_line_with_no_room_beside_its_guides_is_not_wrapped(terminal):
    line = "│   " * 10 + "└── some words that are many and many: no (1)\n"
    assert CODES.sub("", fitted(line)) == line


def test_aligned_lines_are_wrapped_without_empty_lines(terminal):
    root = f"{' ' * 6}{{{'x' * 40}: 60 %, yes: 40 %}} (5)\n"
    text = f"{root}├── age <= 30    no {{no: 100 %}} (3)\n└── age > 30     yes {{yes: 100 %}} (2)\n"
    shown = fitted(text)
    assert all(line.strip("│ ") for line in CODES.sub("", shown).splitlines())
    assert re.sub(r"[\s│├└─]+", " ", CODES.sub("", shown)) == re.sub(r"[\s│├└─]+", " ", text)
    assert "\x1b[1mno {no: 100 %}" in shown


def test_guides_are_dim_and_predictions_bold(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = re.sub("[<](?! )(.*)>", r"\1", STYLED)
    shown = fitted(text)
    assert CODES.sub("", shown) == text
    marked = re.sub(r"\x1b\[2m(.*?)\x1b\[0m", r"\1", shown)
    assert re.sub(r"\x1b\[1m(.*?)\x1b\[0m", r"<\1>", marked) == STYLED
    assert shown.startswith("\x1b[2m├── \x1b[0meducation\n")


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_styles_are_switched_off(name, value, terminal, monkeypatch):
    monkeypatch.setenv(name, value)
    assert fitted(TREE) == WRAPPED


def test_a_pipe_gets_the_tree_as_it_is(monkeypatch):
    monkeypatch.setenv("COLUMNS", "34")
    assert fitted(TREE) == TREE


def on_terminal(folder, *arguments, **environment):
    """Return what a command writes on a terminal of 60 columns."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 60))
    settings = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "TERM")}
    program = [sys.executable, "-P", "-m", "fasttree", *map(str, arguments)]
    given = settings | {"TERM": "xterm"} | environment
    with subprocess.Popen(program, cwd=folder, env=given, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        shown = bytearray()
        with contextlib.suppress(OSError):  # the end of the terminal
            while part := os.read(ours, 4096):
                shown += part
    os.close(ours)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
def test_show_train_and_tables_on_a_terminal(tmp_path):
    run("train", EXAMPLES / "adult.test.csv.gz", "--target", "income", "--max-depth", 3, "-o", tmp_path / "m.json")
    plain = run("show", tmp_path / "m.json")
    assert max(map(len, plain.splitlines())) > 60
    shown = on_terminal(tmp_path, "show", "m.json")
    assert "\x1b[2m├── \x1b[0m" in shown
    assert "\x1b[" not in on_terminal(tmp_path, "show", "m.json", NO_COLOR="1")
    shown = CODES.sub("", shown)
    assert max(map(len, shown.partition("\n\n")[0].splitlines())) <= 60
    narrow = fasttree.load(tmp_path / "m.json").export_text(width=60) + "\n" + plain.partition("\n\n")[2]
    assert re.search("… [0-9]+ more", narrow)
    assert "more" not in plain
    assert re.sub(r"[\s│]+", " ", shown) == re.sub(r"[\s│]+", " ", narrow)
    shown = CODES.sub("", on_terminal(tmp_path, "show", "m.json", "--max-categories", "12"))
    assert re.sub(r"[\s│]+", " ", shown) == re.sub(r"[\s│]+", " ", plain)
    assert "\x1b[1m" in on_terminal(tmp_path, "train", IRIS, "--target", "class")
    table = on_terminal(tmp_path, "importances", "m.json")
    assert re.search(r"\x1b\[1m +impurity\x1b\[0m\n", table)
    assert CODES.sub("", table) == run("importances", tmp_path / "m.json")
