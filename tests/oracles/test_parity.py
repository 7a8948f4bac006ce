"""The command that prints C4.5's figures beside those of Quinlan's own program, and what they must be."""

from __future__ import annotations

import pytest
from parity import main, report
from release8 import Engine, Original, Twin
from release8.parting import part_of_growth
from release8.recorded import OPTIONS, sets_in, shipped_sets
from test_release8 import SETS_UP_TO_LARGEST

LEAST_SHARE = 0.96
SHIPPED = shipped_sets()


def share(count, *, has_missing):
    equal, wrong = (sum(count[missing, same] for missing in has_missing) for same in (True, False))
    return equal / (equal + wrong)


def partings(dataset):
    """Where the twins' unpruned trees part, over all ways to grow them."""
    for split in dict.fromkeys(run.split for run in dataset.runs):
        train, _ = dataset.split(split).tables
        original, engine = Twin(train, Original), Twin(train, Engine)
        for name in ("default", "gain", "subset", "m1", "m5", "gain_subset"):
            parting = part_of_growth(original, engine, OPTIONS[name])
            if parting is not None:
                yield parting


def test_nearly_all_figures_are_those_of_release_8_and_all_of_complete_tables():
    count = report((dataset for dataset in SHIPPED.values() if dataset.n_rows <= 1000), twin_rows=0)
    assert share(count, has_missing=[False]) == 1
    assert share(count, has_missing=[False, True]) >= LEAST_SHARE


@pytest.mark.nightly
def test_nearly_all_figures_of_all_tables_of_up_to_50000_rows_are_those_of_release_8(shared):
    count = report((dataset for dataset in sets_in(shared).values() if dataset.n_rows <= 50_000), twin_rows=0)
    assert share(count, has_missing=[False]) == 1
    assert share(count, has_missing=[False, True]) >= LEAST_SHARE


@pytest.mark.parametrize("name", ["labor", "breast-cancer-wisconsin", "vote"])
def test_trees_part_where_two_splits_tie(name):
    found = list(partings(SHIPPED[name]))
    assert bool(found) == (name != "vote")
    assert all(parting.is_tie for parting in found)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SETS_UP_TO_LARGEST)
def test_trees_part_where_two_splits_tie_or_the_original_forgets_its_limit(shared, name):
    dataset = sets_in(shared)[name]
    found = list(partings(dataset)) if dataset.has_missing else []
    assert all(parting.is_tie or parting.single.least != parting.exact.least for parting in found)


def test_the_command_shows_where_trees_part_and_what_both_tests_are_worth(capsys):
    assert main(["--sets", "labor"]) == 0
    printed = capsys.readouterr().out
    assert "size 17|22*  leaves 10|13*" in printed
    assert "the unpruned trees part at wage increase first year <= 2.5 / education allowance = yes (7.63392857 cases)" in printed
    assert "original: pension, a branch for each value: worth 0.1033" in printed
    assert "ours:     wage increase first year <= 2.1: worth not admissible in single precision, 0.1481438" in printed
    assert "whose lighter side weighs 2 of at least 2" in printed
    assert "tables with missing values: " in printed


def test_the_command_knows_which_sets_there_are(capsys):
    with pytest.raises(SystemExit):
        main(["--sets", "labour"])
    assert "no data set labour; there are loan, iris" in capsys.readouterr().err
