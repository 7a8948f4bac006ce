"""C4.5's rules: the kernels against their slow twin, Quinlan's own figures, and what must hold of any rules."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, cast

import naive_rules
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from release8.comparing import same_rules
from release8.recorded import DataSet, sets_in, shipped_sets
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import CONTINUOUS, SmallTable, tables
from test_engine_twin import EncodedTable, grow_compiled

from fasttree import C45Rules
from fasttree._recipe import C45, Limits, Recipe
from fasttree._table import Kind, Table
from fasttree._tree import Tree
from fasttree.rules import Condition, Rule, _Induction, _Samples

SHIPPED = shipped_sets()
SUBSETS = replace(C45, nominal="groups", ordinal="groups")
CLASS_COUNT = 300  # more samples than fit into a few words


@pytest.fixture(scope="module")
def golf():
    rows = [
        ("sunny", 85, 85, "false"), ("sunny", 80, 90, "true"), ("overcast", 83, 78, "false"), ("rain", 70, 96, "false"),
        ("rain", 68, 80, "false"), ("rain", 65, 70, "true"), ("overcast", 64, 65, "true"), ("sunny", 72, 95, "false"),
        ("sunny", 69, 70, "false"), ("rain", 75, 80, "false"), ("sunny", 75, 70, "true"), ("overcast", 72, 90, "true"),
        ("overcast", 81, 75, "false"), ("rain", 71, 80, "true"),
    ]  # fmt: skip
    X = pd.DataFrame(rows, columns=["outlook", "temperature", "humidity", "windy"])
    X["outlook"] = X["outlook"].astype(pd.CategoricalDtype(["sunny", "overcast", "rain"]))
    X["windy"] = X["windy"].astype(pd.CategoricalDtype(["true", "false"]))
    play = ["Don't Play", "Don't Play", "Play", "Play", "Play", "Don't Play", "Play", "Don't Play"]
    play += ["Play", "Play", "Play", "Play", "Play", "Don't Play"]
    return X, pd.Series(play).astype(pd.CategoricalDtype(["Play", "Don't Play"]))


@pytest.fixture(scope="module")
def noisy():
    """Enough rules of a class to need a search, with missing values and a column of text."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.integers(0, 12, (500, 4)).astype(float), columns=list("abcd"))
    X["e"] = rng.choice(["u", "v", "w"], 500)
    y = np.where((X["a"] > 5) ^ (X["b"] > 7) ^ (X["e"] == "u"), "yes", "no")
    y[rng.random(500) < 0.1] = "no"
    X = X.mask(rng.random(X.shape) < 0.05)
    return X, y


# The textbook


def test_golf_has_the_rules_and_estimates_of_the_book(golf):
    model = C45Rules().fit(*golf)
    # Quinlan 1993 prints confidences: 70.7 %, 63.0 %, 63.0 %, 50.0 %
    assert model.export_text() == (
        "if outlook = overcast then Play  (cover 4, errors 0, estimate 29.3 %)\n"
        "if outlook = rain and windy = false then Play  (cover 3, errors 0, estimate 37.0 %)\n"
        "if outlook = sunny and humidity > 75 then Don't Play  (cover 3, errors 0, estimate 37.0 %)\n"
        "if outlook = rain and windy = true then Don't Play  (cover 2, errors 0, estimate 50.0 %)\n"
        "else Play\n"
    )
    assert [round(100 * rule.confidence, 1) for rule in model.rules_] == [70.7, 63.0, 63.0, 50.0]
    assert model.n_dropped_ == 0


def test_rules_are_objects_that_read_as_sentences(golf):
    rule = C45Rules().fit(*golf).rules_[2]
    assert rule.conditions == (
        Condition("outlook", 0, Kind.NOMINAL, "=", None, ("sunny",)),
        Condition("humidity", 2, Kind.CONTINUOUS, ">", 75.0),
    )
    assert (rule.label, rule.cover, rule.errors) == ("Don't Play", 3, 0)
    assert str(rule) == "if outlook = sunny and humidity > 75 then Don't Play  (cover 3, errors 0, estimate 37.0 %)"
    assert str(rule.conditions[1]) == "humidity > 75"
    assert str(Condition("a, b", 0, Kind.NOMINAL, "in", None, ("x", "{"))) == "'a, b' in {x, '{'}"


# The twin


def problem_of(table: SmallTable, **options: Any) -> naive_rules.Problem:
    weight = np.ones(table.n_samples, int) if table.sample_weight is None else table.sample_weight.astype(int)
    rows = np.repeat(np.arange(table.n_samples), weight)
    return naive_rules.Problem(
        [column[rows] for column in table.columns],
        [n if kind != CONTINUOUS else 0 for n, kind in zip(table.n_categories, table.kinds, strict=True)],
        table.y[rows],
        table.n_classes,
        **options,
    )


def induce(table: SmallTable, tree: Tree, grouped: bool, *, confidence=0.25, redundancy=1.0, significance=None, annealing=False):
    weight = None if table.sample_weight is None else table.sample_weight.astype(np.int64)
    samples = _Samples(table.y, table.n_classes, weight)
    induction = _Induction([tree], cast(Table, EncodedTable(table)), samples, redundancy, annealing, grouped)
    found = induction.run(confidence, significance)
    rules = found.rules
    described = [
        (
            tuple(rules.node[rules.start[i] : rules.stop[i]].tolist()),
            int(rules.label[i]),
            len(rules.covers(i)),
            int(rules.errors[i]),
            rules.estimate[i],
        )
        for i in range(len(rules.label))
    ]
    return described, found.default, found.n_dropped


def assert_as_twin(table: SmallTable, recipe: Recipe, **options: Any) -> int:
    tree = grow_compiled(table, recipe, Limits(min_branch_weight=options.pop("min_branch_weight", 2.0)))
    problem = problem_of(table, **options)
    rules, default, n_dropped = naive_rules.induce(problem, tree)
    expected = [(rule.nodes, rule.label, len(rule.fires), len(rule.wrong(problem)), rule.estimate) for rule in rules]
    assert induce(table, tree, recipe is SUBSETS, **options) == (expected, default, n_dropped)
    return len(rules)


@pytest.mark.parametrize("recipe", [C45, SUBSETS], ids=["values", "groups of values"])
@given(
    table=tables(max_samples=40).filter(lambda t: t.sample_weight is None or (t.sample_weight % 1 == 0).all()),
    confidence=st.sampled_from([0.25, 0.25, 0.05, 0.8]),
    redundancy=st.sampled_from([1.0, 1.0, 0.5, 4.0]),
    significance=st.sampled_from([None, None, 0.05, 0.3]),
)
def test_small_tables_have_the_rules_of_the_twin(recipe, table, confidence, redundancy, significance):
    options = {"confidence": confidence, "redundancy": redundancy, "significance": significance}
    assert_as_twin(table, recipe, min_branch_weight=1.0, **options)


@pytest.mark.parametrize("seed", range(6))
def test_larger_tables_have_the_rules_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    continuous = [np.where(rng.random(CLASS_COUNT) < 0.05, np.nan, rng.integers(0, 9, CLASS_COUNT) / 2) for _ in range(3)]
    codes = [rng.integers(0 if seed % 2 else 1, 5, CLASS_COUNT).astype(np.uint8) for _ in range(2)]
    y = (np.nan_to_num(continuous[0]) > 2).astype(np.intp) ^ (codes[0] == 2)
    y[rng.random(CLASS_COUNT) < 0.15] = seed % 3
    table = SmallTable((*continuous, *codes), (0, 0, 0, 2, 2), (0, 0, 0, 4, 4), y, 3)
    assert_as_twin(table, C45, min_branch_weight=1.0)


def test_draws_the_numbers_of_the_c_library():
    first = [round(x * 2**31) for x in itertools.islice(naive_rules.draws(), 3)]
    assert first == [1804289383, 846930886, 1681692777]


# Quinlan's program


def figures_of(dataset: DataSet) -> tuple[int, list[str]]:
    """How many figures of the original were compared, and those that differ."""
    n_compared, wrong = 0, []
    for run in (run for run in dataset.runs if run.of_rules):
        train, test = dataset.split(run.split).train, dataset.split(run.split).test
        model = C45Rules().fit(train.iloc[:, :-1], train.iloc[:, -1])
        ours = {
            "n_rules": len(model.rules_),
            "n_conditions": sum(len(rule.conditions) for rule in model.rules_),
            "default_class": model.default_class_,
            "rules_dropped_in_evaluation": model.n_dropped_,
        }
        for part, frame in (("train", train), ("test", test)):
            if frame is not None:
                ours[f"{part}_errors"] = int((model.predict(frame.iloc[:, :-1]) != frame.iloc[:, -1].to_numpy()).sum())
        if run.figures:
            assert ours.keys() == run.figures.keys()
            n_compared += len(ours)
            wrong += [
                f"{run.split} {name}: {run.figures[name]}, not {ours[name]}" for name in ours if ours[name] != run.figures[name]
            ]
        if "rules" in run.kept and not wrong:
            assert model.default_class_ == run.kept["default"]
            assert same_rules([as_printed(rule) for rule in model.rules_], run.kept["rules"])
    return n_compared, wrong


def as_printed(rule: Rule) -> dict[str, Any]:
    conditions = [
        [c.feature, c.operator, c.categories[0] if c.threshold is None else c.threshold]  # no groups in these runs
        for c in rule.conditions
    ]
    return {"if": conditions, "then": rule.label, "estimated_error": rule.estimate}


# In labor and adult a split ties over fractional weights, whose sums the original rounds: the trees are not the same
OTHER_TREES = {"labor": 3, "adult": 5}


@pytest.mark.parametrize("name", SHIPPED)
def test_rules_are_those_of_release_8(name):
    n_compared, wrong = figures_of(SHIPPED[name])
    assert n_compared > 0
    assert len(wrong) <= OTHER_TREES.get(name, 0), wrong


def test_rules_of_all_tables_are_those_of_release_8(shared):
    total = 0
    for name, dataset in sets_in(shared).items():
        if name != "covtype":  # the original did not finish
            n_compared, wrong = figures_of(dataset)
            total += n_compared
            assert len(wrong) <= OTHER_TREES.get(name, 0), (name, wrong)
    assert total > 250


# Inside scikit-learn


@parametrize_with_checks([C45Rules(), C45Rules(subset=True, annealing=True)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
