"""The command that prints C5.0's figures beside those of the original, and what they must be."""

from __future__ import annotations

import pytest
from c50.recorded import sets_in, shipped_sets
from parity_c50 import main, report

SINGLE = ("default", "noglobal", "subset", "m5", "cf10")
TIED_OF_RULES = 2  # size and training errors of adult
TIED_OF_TRIALS = 1  # test errors of german


def small():
    return (dataset for dataset in shipped_sets().values() if dataset.declared.n_rows <= 1000)


def test_all_figures_of_small_tables_are_those_of_the_original():
    count = report(small(), runs=SINGLE)
    assert count[True] == 225
    assert count[False] == 0


def test_nearly_all_figures_of_every_trial_of_boosting_on_small_tables_are_those_of_the_original():
    count = report(small(), runs=["boost"])
    assert count[True] >= 322
    assert count[False] <= TIED_OF_TRIALS


def test_all_figures_of_soft_thresholds_on_small_tables_but_one_are_those_of_the_original():
    count = report(small(), runs=["soft"])
    assert count[True] >= 44
    assert count[False] <= 1  # a test error of german, which the twin does not repeat either


def test_nearly_all_figures_of_winnowing_on_small_tables_are_those_of_the_original():
    count = report(small(), runs=["winnow"])
    assert count[True] >= 62
    assert count[False] <= 1  # a split of iris, which ties but for rounding; the twin repeats it


def test_all_figures_of_rules_on_small_tables_are_those_of_the_original():
    count = report(small(), runs=["rules"])
    assert count[True] == 45
    assert count[False] == 0


def test_all_figures_of_every_trial_of_rules_on_small_tables_are_those_of_the_original():
    count = report(small(), runs=["boost_rules"])
    assert count[False] == 0
    assert count[True] > 300


@pytest.mark.nightly
def test_nearly_all_figures_of_all_tables_of_up_to_50000_rows_are_those_of_the_original(shared):
    sets = [dataset for dataset in sets_in(shared).values() if dataset.declared.n_rows <= 50_000]
    assert report(sets, runs=SINGLE)[False] == 0
    for run in ("boost", "boost_rules"):
        boosted = report((dataset for dataset in sets if dataset.declared.n_rows <= 10_000), runs=[run])
        assert boosted[True] >= 0.98 * boosted.total()
    assert report(sets, runs=["rules"])[False] <= TIED_OF_RULES


def test_the_command_prints_original_and_ours(capsys):
    assert main(["--sets", "loan"]) == 0
    assert "full   default     size 3|3  train_errors 0|0" in capsys.readouterr().out
