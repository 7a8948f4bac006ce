"""Tests of a run: checks before times, turns, selection of cases, interrupted runs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import clock, report, scale_out, witness
from .__main__ import SUITE, chosen, measure, run
from .cases import OURS, YARDSTICK, Answers, Case, Contest, Figures, Skipped

FEW = 100


def always(answer: float) -> Callable[[], float]:
    return lambda: answer


def case(name: str = "one", check: Callable[[Answers], Figures] = lambda answers: {}, **calls: Callable[[], Any]) -> Case:
    contest = Contest(calls={OURS: always(1.0)} | calls, check=check, table=(8, 2))
    return Case(name, name, lambda most_rows: contest)


def test_a_wrong_answer_is_reported_instead_of_a_time() -> None:
    def check(answers: Answers) -> Figures:
        assert answers[OURS] == answers["other"], "they differ"
        return {}

    wrong = measure(case(check=check, other=always(2.0)), FEW, 1)
    assert list(wrong) == ["wrong"]
    assert wrong["wrong"].startswith("they differ")
    assert "seconds" in measure(case(check=check, other=always(1.0)), FEW, 1)


def test_what_is_not_here_is_said() -> None:
    def make(most_rows: int) -> Contest:
        raise Skipped("needs a table")

    assert measure(Case("one", "one", make), FEW, 1) == {"skipped": "needs a table"}


def test_an_error_in_a_case_is_a_wrong_answer_and_its_message_stays_out_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ValueError("in /a/folder")

    assert measure(case(other=fail), FEW, 1) == {"wrong": "ValueError"}
    assert "in /a/folder" in capsys.readouterr().err


@pytest.fixture
def every_call_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "BATCH", 0.0)
    monkeypatch.setattr(clock, "TURN", 1e-9)


@pytest.mark.usefixtures("every_call_counts")
def test_calls_take_turns_after_the_first_answers_were_checked() -> None:
    called = []

    def check(answers: Answers) -> Figures:
        called.append("check")
        return {}

    calls = {name: lambda name=name: called.append(name) or sum(range(1000)) for name in (OURS, "other")}
    turns, _ = clock.race(Contest(calls=calls, check=check, table=(8, 2), wall=True), repeat=1)
    without_repeats = [name for i, name in enumerate(called) if i == 0 or called[i - 1] != name]
    assert without_repeats == [OURS, "other", "check", *[OURS, "other"] * 3]
    assert [len(seconds) for seconds in turns.values()] == [3, 3]


@pytest.mark.usefixtures("every_call_counts")
def test_what_takes_ten_seconds_has_three_turns_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "ENOUGH", 0.0)
    called = []
    turns, _ = clock.race(Contest(calls={OURS: lambda: called.append(1)}, check=lambda answers: {}, table=(8, 2)), repeat=5)
    assert len(called) == len(turns[OURS]) == 3


@pytest.mark.usefixtures("every_call_counts")
def test_what_takes_a_minute_is_called_once_and_has_its_turns_on_a_quarter_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "ENOUGH", 0.0)
    monkeypatch.setattr(clock, "LONG", 1e-3)
    called = []

    def make(rows: int) -> Contest:
        calls = {OURS: lambda: called.append(rows), "slow": lambda: called.append(rows) or sum(range(10 * rows))}
        return Contest(calls=calls, check=lambda answers: {}, table=(rows, 2))

    line = measure(Case("one", "one", make), 100_000, 1)
    assert called.count(100_000) == 4  # three turns of ours, in the first of them the first call of both
    assert called.count(25_000) >= 4
    assert line["rows_of_turns"] == 25_000
    assert line["table"] == [100_000, 2]


def test_the_spread_is_that_of_ratios_turn_by_turn() -> None:
    turns = {OURS: [1.0, 2.0, 1.0, 9.0], "other": [10.0, 10.0, 30.0]}
    assert clock.spread(turns, OURS, "other") == (5.0, 10.0, 30.0)


def test_events_of_callgrind_are_read_by_their_names() -> None:
    text = "version: 1\nevents: Ir D1mr DLmr\nfn=(1) main\n3 4 5 6\ntotals: 70 20 3\n"
    assert witness.events(text) == {"Ir": 70, "D1mr": 20, "DLmr": 3}


def test_the_witness_adds_up_events_and_divides_them_by_the_calls() -> None:
    found = dict.fromkeys(witness.EVENTS, 40) | {"Dr": 1}
    assert witness.per_call(found, 8, 20) == {
        "rows": 8,
        "instructions": 2,
        "first_level_misses": 4,
        "memory_reads": 2,
        "memory_writes": 2,
    }


def test_recorded_times_are_scaled_by_the_yardstick() -> None:
    contest = Contest(
        calls={OURS: always(1.0), YARDSTICK: always(1.0)},
        check=lambda answers: {},
        table=(8, 2),
        recorded={"recorded": 3.0},
        yardstick_seconds=1.0,
    )
    seconds = measure(Case("one", "one", lambda most_rows: contest), FEW, 1)["seconds"]
    assert seconds.keys() == {OURS, "recorded"}
    assert seconds["recorded"] < 3e-3  # the yardstick takes hardly any time here


def test_an_interrupted_run_keeps_what_it_has(tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    cases = [("more", case("first")), ("more", case("second", other=interrupt)), ("more", case("third"))]
    with pytest.raises(KeyboardInterrupt):
        run(cases, True, 1, tmp_path / "folder" / "run.jsonl")
    lines = [json.loads(text) for text in (tmp_path / "folder" / "run.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["first"]


def test_a_pattern_chooses_by_group_and_by_name() -> None:
    assert {group for group, _ in chosen(["recipes"], False)} == {"recipes"}
    assert [case.id for _, case in chosen(["targets/iris", "targets/letter"], False)] == ["letter", "iris"]
    assert not list(chosen(["no such case"], False))


def test_without_a_pattern_all_run_but_more() -> None:
    assert {group for group, _ in chosen([], False)} == SUITE.keys() - {"more"}
    assert {group for group, _ in chosen([], True)} == SUITE.keys()


def test_every_group_has_a_table_in_the_report() -> None:
    assert report.GROUPS.keys() == SUITE.keys() == report.HEADINGS.keys()


def test_every_case_has_a_name_of_its_own() -> None:
    names = [(group, case.id) for group, cases in SUITE.items() for case in cases]
    assert len(set(names)) == len(names)


def test_trees_from_the_disk_are_those_in_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--rows", "2000", "--memory", "64MiB", "--folder", str(tmp_path), "--repeat", "1", "--output", str(tmp_path / "f")]
    assert scale_out.main(given) == 0
    assert capsys.readouterr().out.count("the trees are equal") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert len(json.loads((tmp_path / "f").read_text())["lines"]) == 7


def test_a_table_that_is_kept_is_used_again_unless_it_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--rows", "2000", "--memory", "64MiB", "--folder", str(tmp_path), "--keep-table", "--steps"]
    assert scale_out.main([*given, "prepare,depth-8"]) == 0
    (table,) = tmp_path.glob("signal-2000/*.parquet")
    (prepared,) = tmp_path.glob("prepared/*/manifest.json")
    before = table.stat().st_mtime_ns, prepared.stat().st_mtime_ns
    assert scale_out.main([*given, "depth-8,no-limits"]) == 0
    assert (table.stat().st_mtime_ns, prepared.stat().st_mtime_ns) == before
    assert capsys.readouterr().out.count("the table of an earlier run") == 1
    scale_out.write(table.parent, 1000)  # another table of the same name
    assert scale_out.main([*given, "depth-8"]) == 0
    assert "the table of an earlier run" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        scale_out.main([*given, "no-such-step"])
