"""Tests of a run: checks before times, turns, selection of cases, interrupted runs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import clock, report, scale_out
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


def test_calls_take_turns_after_the_first_answers_were_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "BATCH", 0.0)  # every call is long enough to be measured
    monkeypatch.setattr(clock, "TURN", 1e-9)
    called = []

    def check(answers: Answers) -> Figures:
        called.append("check")
        return {}

    calls = {name: lambda name=name: called.append(name) or sum(range(1000)) for name in (OURS, "other")}
    clock.race(Contest(calls=calls, check=check, table=(8, 2), wall=True), repeat=2)
    without_repeats = [name for i, name in enumerate(called) if i == 0 or called[i - 1] != name]
    assert without_repeats == [OURS, "other", "check", OURS, "other"]


def test_what_takes_long_is_called_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "BATCH", 0.0)
    monkeypatch.setattr(clock, "ENOUGH", 0.0)
    called = []
    clock.race(Contest(calls={OURS: lambda: called.append(1)}, check=lambda answers: {}, table=(8, 2)), repeat=5)
    assert called == [1]


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
