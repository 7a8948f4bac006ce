"""The twin of C5.0 against the figures that the original printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from c50.boosting import boost
from c50.classifying import n_errors
from c50.growing import Growth, grow
from c50.problem import Options, Table
from c50.pruning import prune
from c50.recorded import OPTIONS, DataSet, Run, sets_in, shipped_sets
from c50.rules import learn
from c50.softening import n_soft_errors, soften
from c50.subsets import stirling
from c50.winnowing import halves, winnow

SHIPPED = shipped_sets()
LARGEST = 1000  # rows


def figures_of(tables: tuple[Table, Table | None], options: Options) -> dict[str, int]:
    train, test = tables
    growth, rows = Growth.of(train, options), np.arange(len(train))
    tree = prune(grow(growth, rows), growth, rows)
    figures = {"size": tree.size, "train_errors": n_errors(tree, train)}
    return figures if test is None else figures | {"test_errors": n_errors(tree, test)}


def boosted_figures_of(tables: tuple[Table, Table | None], *, rules: bool = False) -> dict[str, int]:
    train, test = tables
    boosted = boost(train, Options(drifts=True), 10, rules=rules)
    figures = {"size": boosted.sizes[0]}
    if len(boosted.sizes) > 1:
        figures = {f"size {i}": size for i, size in enumerate(boosted.sizes)}
        figures |= {
            f"errors {i}": int((predicted != train.classes).sum()) for i, (predicted, _) in enumerate(boosted.trials(train))
        }
    figures["train_errors"] = int((boosted.predict(train) != train.classes).sum())
    return figures if test is None else figures | {"test_errors": int((boosted.predict(test) != test.classes).sum())}


def rule_figures_of(tables: tuple[Table, Table | None]) -> dict[str, int]:
    train, test = tables
    found = learn(train, Options(drifts=True))
    figures = {"size": len(found.rules), "train_errors": int((found.predict(train) != train.classes).sum())}
    return figures if test is None else figures | {"test_errors": int((found.predict(test) != test.classes).sum())}


def winnowed_figures_of(tables: tuple[Table, Table | None]) -> dict[str, int]:
    train, test = tables
    removed = winnow(train, Options())
    kept = [attribute for attribute in range(len(train.columns)) if attribute not in removed]
    return {"winnowed": len(removed)} | figures_of((train.of(kept), test and test.of(kept)), Options())


def differing(dataset: DataSet, runs: list[Run]) -> list[Any]:
    tables = {run.split: dataset.tables(run.split) for run in runs}
    ours = [figures_of(tables[run.split], OPTIONS[run.name]) for run in runs]
    return [
        (run.split, run.name, name, run.figures[name], value)
        for run, figures in zip(runs, ours, strict=True)
        for name, value in figures.items()
        if run.figures[name] != value
    ]


@pytest.mark.parametrize("name", [name for name in SHIPPED if SHIPPED[name].declared.n_rows <= LARGEST])
def test_repeats_every_figure_of_single_trees(name):
    runs = [run for run in SHIPPED[name].runs if run.name in OPTIONS and run.split in ("third", "file")]
    assert runs
    assert not differing(SHIPPED[name], runs)


@pytest.mark.parametrize("name", ["loan", "iris", "vote", "labor", "zoo", "breast-cancer-wisconsin", "glass"])
def test_repeats_every_figure_of_rules(name):
    runs = [run for run in SHIPPED[name].runs if run.name == "rules" and run.split == "third"]
    assert runs
    for run in runs:
        assert rule_figures_of(SHIPPED[name].tables(run.split)) == run.printed


@pytest.mark.parametrize("name", [name for name in SHIPPED if SHIPPED[name].declared.n_rows <= LARGEST])
def test_repeats_every_figure_of_winnowing(name):
    runs = [run for run in SHIPPED[name].runs if run.name == "winnow"]
    assert runs
    for run in runs:
        assert winnowed_figures_of(SHIPPED[name].tables(run.split)) == run.printed


def test_the_halves_of_winnowing_have_every_second_case_of_each_class():
    columns = (np.zeros(5, np.float32),)
    first, second = halves(Table(columns, (0,), np.array([0, 0, 1, 0, 1]), 2))
    assert (first.tolist(), second.tolist()) == ([0, 2], [3, 4, 1])


@pytest.mark.nightly
def test_repeats_every_figure_of_winnowing_on_all_tables_of_up_to_3000_rows(shared):
    for dataset in sets_in(shared).values():
        for run in dataset.runs:
            if run.name == "winnow" and dataset.declared.n_rows <= 3_000:
                assert winnowed_figures_of(dataset.tables(run.split)) == run.printed, (dataset.name, run.split)


@pytest.mark.nightly
def test_repeats_every_figure_of_single_trees_on_all_tables_of_up_to_3000_rows(shared):
    for dataset in sets_in(shared).values():
        if dataset.declared.n_rows <= 3_000:
            assert not differing(dataset, [run for run in dataset.runs if run.name in OPTIONS]), dataset.name


def soft_figures_of(tables: tuple[Table, Table | None]) -> dict[str, int]:
    train, test = tables
    growth, rows = Growth.of(train, Options()), np.arange(len(train))
    tree = soften(prune(grow(growth, rows), growth, rows), growth)
    figures = {"size": tree.size, "train_errors": n_soft_errors(tree, train)}
    return figures if test is None else figures | {"test_errors": n_soft_errors(tree, test)}


@pytest.mark.parametrize("name", ["iris", "credit-a", "glass", "german"])
def test_repeats_soft_thresholds(name):
    runs = [run for run in SHIPPED[name].runs if run.name == "soft"]
    assert [soft_figures_of(SHIPPED[name].tables(run.split)) for run in runs] == [run.printed for run in runs]


@pytest.mark.parametrize("name", ["iris", "vote", "labor", "zoo"])
def test_repeats_every_trial_of_boosting(name):
    runs = [run for run in SHIPPED[name].runs if run.name == "boost"]
    assert [boosted_figures_of(SHIPPED[name].tables(run.split)) for run in runs] == [run.printed for run in runs]


@pytest.mark.parametrize(
    "name",
    ["iris", "vote", "labor", "zoo", "breast-cancer-wisconsin", "glass", pytest.param("german", marks=pytest.mark.nightly)],
)
def test_repeats_every_trial_of_boosted_rules(name):
    runs = [run for run in SHIPPED[name].runs if run.name == "boost_rules"]
    assert [boosted_figures_of(SHIPPED[name].tables(run.split), rules=True) for run in runs] == [run.printed for run in runs]


@pytest.mark.parametrize(("n", "k", "ways"), [(3, 2, 3), (4, 2, 7), (5, 3, 25), (6, 6, 1)])
def test_counts_the_ways_to_make_sets(n, k, ways):
    assert stirling(n, k) == ways
