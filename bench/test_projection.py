"""Tests of the projection from figures of a cluster on one machine."""

import json
from pathlib import Path

import pytest

from . import projection

LINES = json.loads((Path(__file__).parent / "results/dask-2026-11-24.jsonl").read_text())["lines"]


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line['shards']} shards")
def test_tasks_of_a_round_are_those_measured(line: projection.Row) -> None:
    tasks = projection.tasks_of_round(line["shards"]) * line["rounds"]
    assert tasks <= line["in rounds"]["tasks"] <= 1.05 * tasks  # large messages and replies need more


def test_costs_add_up_to_the_fit_that_was_measured() -> None:
    costs = projection.costs_of(LINES)
    few = LINES[0]
    workers = costs.level * few["row levels"] + costs.turn * few["shards"] * few["rounds"]
    assert workers == pytest.approx(few["in rounds"]["workers"])
    driver = costs.driver * few["rounds"] + costs.split * few["splits"]
    assert driver == pytest.approx(few["in rounds"]["driver"])
    assert min(costs) > 0


def test_more_rows_take_longer_and_more_workers_less(capsys: pytest.CaptureFixture[str]) -> None:
    costs = projection.costs_of(LINES)
    by_rows = [projection.project(costs, rows, 10, 8) for rows in projection.SIZES]
    assert [each.seconds for each in by_rows] == sorted(each.seconds for each in by_rows)
    assert [each.rounds for each in by_rows] == sorted(each.rounds for each in by_rows)
    assert projection.project(costs, 10**10, 100, None).workers < projection.project(costs, 10**10, 10, None).workers
    assert projection.memory(10**8) == 15e9
    projection.report(LINES)
    assert "Projected, not measured" in capsys.readouterr().out
