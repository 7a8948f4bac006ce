"""The twin of Cubist against the rule sets and predictions that the original gave."""

from __future__ import annotations

import numpy as np
import pytest
from cubist.problem import Problem
from cubist.recorded import as_written, problem_of, recorded, written
from cubist.rules import committee, predicted

SMALL = ["li_reg10", "auto-mpg", "car_test_frame", "cu_summary", "boston"]
LAST_DIGIT = 4e-7  # of an intercept of eight digits


def differences(shared, name, members):
    """Return the rule sets that differ, of runs with at most so many members; check the predictions of the others."""
    found = recorded(shared, name)
    features = [column for column in found.train if column != found.target]
    different = []
    for run in found.runs:
        size = run["options"].get("n_committees", 1)
        if "neighbors" in run["options"] or size > members:
            continue
        problem, tests, names = problem_of(found, run["options"])
        sets = committee(problem, size)
        for ours, theirs in zip(sets, run["committees"], strict=False):
            pairs = zip(written(problem, features, names, ours), as_written(theirs), strict=True)
            different += [(run["run"], a, b) for a, b in pairs if not same(a, b)]
        mean = np.mean([predicted(problem, rules, tests) for rules in sets], axis=0)[:200]
        assert np.abs(mean - run["pred_test"]).max() <= 1e-5 * problem.deviation_of_all
    return different


def same(a, b):
    return {**a, "intercept": 0} == {**b, "intercept": 0} and abs(a["intercept"] - b["intercept"]) <= LAST_DIGIT * abs(
        a["intercept"]
    )


@pytest.mark.parametrize("name", SMALL)
def test_rules_are_those_of_cubist(name, shared):
    assert differences(shared, name, 10) == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["concrete", "abalone", "bike-sharing", "diamonds", "california-housing"])
def test_rules_of_larger_tables_are_those_of_cubist(name, shared):
    assert differences(shared, name, 1) == []


def test_bounds_do_not_pass_zero():
    problem = Problem([np.arange(10, dtype=np.float32)], [0], np.arange(1, 11, dtype=float))
    assert (float(problem.floor), float(problem.ceiling)) == (pytest.approx(0.55), pytest.approx(10.45))
    assert float(Problem([np.arange(10, dtype=np.float32)], [0], np.arange(10, dtype=float)).floor) == 0
