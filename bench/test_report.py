"""Tests of the reports, and of the figures in the README."""

import json
from pathlib import Path
from typing import Any

import pytest

from fasttree import _core

from . import report, shares
from .__main__ import BEGIN, END, README, RESULTS, section
from .cases import OURS, Answers, Case, Contest, Figures
from .checks import SKLEARN
from .machine import about

FACTS: dict[str, Any] = {"date": "2026-01-01", "commit": "0", "cpu": "a processor", "cores": 2, "versions": {"python": "3"}}


def line(ours: float, **changes: Any) -> report.Line:
    """Return a line whose target is to be 10 times faster than a peer that takes 10 seconds."""
    seconds = {OURS: ours, SKLEARN: 10.0, "slow": 99.0}
    shown = {
        "group": "targets",
        "id": "one",
        "what": "one",
        "size": "full",
        "table": [1024, 10],
        "seconds": seconds,
        "absent": [],
    }
    return shown | {"at_least": 10, "aim": 20} | FACTS | changes


@pytest.mark.parametrize(("ours", "missed"), [(0.9, False), (1.0, False), (1.1, True)])
def test_a_ratio_below_its_target_is_marked(ours: float, missed: bool) -> None:
    assert ("missed" in report.row(line(ours))) is missed


@pytest.mark.parametrize(("slowest", "missed"), [(1.0, False), (1.1, True)])
def test_a_target_is_met_by_the_lower_end_of_the_spread(slowest: float, missed: bool) -> None:
    measured = line(0.5, turns={OURS: [0.5, slowest, 0.5], SKLEARN: [10.0, 10.0, 10.0]})
    row = report.row(measured | report.derived(measured))
    assert ("missed" in row) is missed
    assert f"20 ({10 / slowest:.3g}–20)" in row


def test_turns_on_a_smaller_table_spread_the_ratio_of_the_full_one() -> None:
    measured = line(0.5, turns={OURS: [1.0, 1.0, 1.0], SKLEARN: [4.0, 5.0, 10.0]}, rows_of_turns=256)
    assert report.derived(measured)["spread"] == [16.0, 20.0, 40.0]


def test_the_ratio_is_that_to_the_quickest_of_the_others() -> None:
    assert report.derived(line(0.5)) == {"ratio": 20.0, "against": SKLEARN}


def test_small_tables_miss_nothing_and_found_no_claims() -> None:
    small = line(5.0, size="quick")
    assert "missed" not in report.row(small)
    assert "no basis for claims" in report.markdown([small])


def test_a_case_measured_again_counts_in_place_of_its_earlier_line(tmp_path: Path) -> None:
    lines = [line(1.0), line(1.0, id="two"), line(3.0)]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    assert report.read(tmp_path / "run.jsonl") == [lines[2], lines[1]]


def test_a_slow_path_introduced_later_shows_up_as_a_ratio() -> None:
    table, slower = report.compare([line(1.0)], [line(1.5)])
    assert slower
    assert "**1.50**" in table
    assert not report.compare([line(1.0)], [line(1.05)])[1]


def test_a_slower_machine_is_no_slow_path() -> None:
    there = line(2.0, seconds={OURS: 2.0, SKLEARN: 20.0})
    assert not report.compare([line(1.0)], [there])[1]


def test_a_wrong_answer_is_worse_than_a_slow_one() -> None:
    wrong = {key: shown for key, shown in line(1.0).items() if key not in ("table", "seconds")} | {"wrong": "nodes: 3"}
    table, worse = report.compare([line(1.0)], [wrong])
    assert worse
    assert "wrong answer" in table


def test_a_peer_that_one_of_two_runs_lacks_decides_nothing() -> None:
    with_a_quick_one = line(1.0, seconds={OURS: 1.0, "quick": 0.5, SKLEARN: 10.0})
    assert report.compare([with_a_quick_one], [line(1.0)]) == report.compare([line(1.0)], [line(1.0)])


def test_tables_of_different_sizes_are_not_compared() -> None:
    table, slower = report.compare([line(1.0)], [line(9.0, table=[2048, 10])])
    assert not slower
    assert "one" not in table


def test_growth_by_rows_and_their_logarithm_is_growth_by_a_factor_of_one() -> None:
    sizes = [(2**10, 10.0), (2**20, 20.0 * 2**10)]
    lines = [line(0.0, group="scale", id=str(rows), table=[rows, 1], seconds={OURS: seconds}) for rows, seconds in sizes]
    assert "1.00 times as much, within" in (report.ends(lines) or "")


def test_a_recipe_of_more_than_four_times_the_plain_one_is_marked() -> None:
    rows = [report.row(line(0.0, group="recipes", seconds={OURS: ours, "plain Gini": 1.0})) for ours in (4.0, 4.1)]
    assert ["above" in row for row in rows] == [False, True]
    measured = line(0.0, group="recipes", seconds={OURS: 3.0, "plain Gini": 1.0})
    measured["turns"] = {OURS: [3.0, 3.5, 5.0], "plain Gini": [1.0, 1.0, 1.0]}
    assert "3.00 (3–5), above 4" in report.row(measured | report.derived(measured))


def test_the_machine_is_described_without_its_name_or_a_path() -> None:
    facts = about()
    assert facts.keys() == {"date", "commit", "cpu", "cores", "versions"}
    assert "/" not in json.dumps(facts)


def test_the_readme_says_what_its_file_says() -> None:
    shown = README.read_text().partition(BEGIN)[2].partition(END)[0]
    sources = [path for path in RESULTS.glob("*.jsonl") if f"(results/{path.name})" in shown]
    assert [section(path) for path in sources] == [shown]


def test_the_shares_of_a_call_are_those_of_the_clocks(monkeypatch):
    """The clocks of a profiling build are replaced, so that any build can try this."""
    turns = [{"other": (0.5, 0), "count": (1.5, 3_000_000)}, {"other": (0.25, 0), "count": (0.75, 3_000_000)}]
    found = iter([turn for one in (*turns, turns[0]) for turn in (turns[0], one)])  # each turn resets the clocks first
    monkeypatch.setattr(_core, "spent", lambda: next(found))

    def check(answers: Answers) -> Figures:
        return {}

    case = Case("one", "one", lambda most_rows: Contest(calls={OURS: lambda: None}, check=check, table=(1, 1)))
    assert shares.shares_of(case, 10).splitlines() == [
        "one: 1000.0 ms",
        "",
        "| phase | ms | share | read, millions |",
        "|---|--:|--:|--:|",
        "| encode | 0.0 | 0.0% |  |",
        "| other | 250.0 | 25.0% |  |",
        "| count | 750.0 | 75.0% | 3.00 |",
    ]
