"""`C45Classifier` and `C45Rules` against the twin of Release 8 in the engine's arithmetic: node for node, without exception."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parity import Ours, as_node, rules_as_lines
from release8 import Engine, Options, RuleSet, Twin
from release8.classifying import class_weights
from release8.comparing import first_difference, rule_lines, same_rules
from release8.recorded import DataSet, as_table, sets_in, shipped_sets
from small_tables import light_branches
from test_release8 import LARGEST, NOT_SHIPPED, sets_of_the_night

from fasttree import C45Classifier
from fasttree.estimators.c45_rules import C45Rules

SHIPPED = shipped_sets()


def assert_engine_equals_twin(dataset: DataSet) -> None:
    ours: dict[str, Ours] = {}
    twins: dict[str, Twin] = {}
    for run in dataset.runs:
        train, _ = dataset.split(run.split).tables
        model = ours.setdefault(run.split, Ours(dataset, run.split))
        twin = twins.setdefault(run.split, Twin(train, Engine))
        if run.of_rules:
            assert_same_rules(model.rules(), twin.rules(run.options), dataset.names, dataset.values, dataset.classes)
            continue
        assert first_difference(model.unpruned(run.name), twin.unpruned(run.options)) is None, (run.split, run.name)
        expected = twin.softened(run.options) if run.name == "soft" else twin.pruned(run.options)
        assert first_difference(model.pruned(run.name), expected) is None, (run.split, run.name)


def assert_same_rules(ours: C45Rules, found: RuleSet, names: list[str], values: list[Any], classes: list[str]) -> None:
    assert same_rules(rules_as_lines(ours), rule_lines(found.rules, names, values, classes))
    assert ours.default_class_ == classes[found.default]
    assert ours.n_dropped_ == found.n_dropped


@pytest.mark.parametrize("name", sets_of_the_night(name for name in SHIPPED if SHIPPED[name].n_rows <= LARGEST))
def test_every_tree_and_rule_is_the_twins(name):
    assert_engine_equals_twin(SHIPPED[name])


@pytest.mark.parametrize("name", sets_of_the_night(NOT_SHIPPED))
def test_every_tree_and_rule_is_the_twins_on_all_other_tables_of_up_to_5000_rows(shared, name):
    assert_engine_equals_twin(sets_in(shared)[name])


@pytest.mark.parametrize("minimum", [26, 40])
def test_a_least_weight_above_25_leaves_lighter_thresholds_tried_but_not_chosen(minimum):
    train = SHIPPED["german"].split("full").train
    model = C45Classifier(min_samples_branch=minimum).fit(train.iloc[:, :-1], train.iloc[:, -1])
    expected = Twin(as_table(train), Engine).unpruned(Options(minimum=minimum))
    assert model.tree_unpruned_.node_count > 10
    assert first_difference(as_node(model.tree_unpruned_), expected) is None


def test_thresholds_are_tried_from_a_tenth_of_the_average_class_weight_on():
    """Here that is 30, as much as a branch must have: thresholds with 27 on a side are not tried, and none is paid for."""
    x = np.repeat([0.0, 1.0, 2.0, 3.0], [27, 273, 273, 27])
    y = np.tile([0, 1, 1, 1], 150) ^ (x > 1)
    tree = C45Classifier(pruning=None, max_depth=1, min_samples_branch=30).fit(x[:, None], y).tree_
    low, high = np.bincount(y[x < 2], minlength=2), np.bincount(y[x > 1], minlength=2)
    bits = [-(counts * np.log2(counts / counts.sum())).sum() for counts in (low + high, low, high)]
    assert tree.gain[0] == pytest.approx((bits[0] - bits[1] - bits[2]) / 600, rel=1e-5)


@pytest.mark.parametrize("seed", [3, 4, 5, 6])
def test_single_precision_chooses_between_thresholds_that_lie_far_apart(seed):
    """The second half mirrors the first, with two classes swapped: mirrored cuts gain the same but for rounding."""
    rng = np.random.default_rng(seed)
    half = rng.integers(0, 4, 700)
    half = np.where(rng.random(700) < np.repeat([0, 0.4, 0.1, 0.7], 175), 1, half)
    y = np.concatenate([half, np.array([3, 1, 2, 0])[half[::-1]]])
    frame = pd.DataFrame({"x": np.arange(1400.0), "class": pd.Categorical.from_codes(y, list("pqrs"))})
    model = C45Classifier(criterion="gain", pruning=None, max_depth=1).fit(frame[["x"]], frame["class"])
    test = Twin(as_table(frame), Engine).unpruned(Options(gain=True)).test
    assert test is not None
    assert model.tree_.threshold[0] == test.cut


@st.composite
def frames(draw: Any) -> pd.DataFrame:
    """Small mixed tables with missing values; the last column is the class.  Few values, so that many splits tie."""
    n = draw(st.integers(2, 40))
    columns: dict[str, Any] = {}
    for j in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            values = st.sampled_from([-1.0, 0.0, 0.1, 0.25, 1 / 3, 2.0, 2.5, 7.0])
            missing: Any = np.nan
        else:
            declared = list("abcdef")[: draw(st.integers(2, 6))]
            values, missing = st.sampled_from(declared), None
        if draw(st.booleans()):
            values = values | st.just(missing)
        cells = draw(st.lists(values, min_size=n, max_size=n))
        columns[f"x{j}"] = np.array(cells, dtype=float) if missing is not None else pd.Categorical(cells, categories=declared)
    classes = list("pqrs")[: draw(st.integers(2, 4))]
    y = draw(st.lists(st.sampled_from(classes), min_size=n, max_size=n))
    return pd.DataFrame({**columns, "class": pd.Categorical(y, categories=classes)})


OPTIONS = st.builds(
    Options,
    gain=st.booleans(),
    subset=st.booleans(),
    minimum=st.sampled_from([0.5, 1, 2, 3, 5]),
    confidence=st.sampled_from([0.01, 0.25, 0.6]),
)


@given(frame=frames(), options=OPTIONS)
def test_every_tree_and_rule_of_a_small_mixed_table_is_the_twins(frame, options):
    assert_the_twins(frame, options)


@pytest.mark.parametrize("seed", range(40))
def test_trees_and_rules_of_light_branches_are_the_twins(seed):
    minimum, confidence = (1, 2, 3, 5)[seed % 4], (0.1, 0.25, 0.6)[seed % 5 % 3]
    options = Options(gain=bool(seed % 3), subset=False, minimum=minimum, confidence=confidence)
    assert_the_twins(light_branches(seed), options, tolerance=1e-9)  # of sums of parts of samples in two orders


def assert_the_twins(frame: pd.DataFrame, options: Options, tolerance: float = 0.0) -> None:
    table = as_table(frame)
    X, y = frame.iloc[:, :-1], frame.iloc[:, -1]
    twin = Twin(table, Engine)
    model = C45Classifier(
        criterion="gain" if options.gain else "gain_ratio",
        subset=options.subset,
        min_samples_branch=options.minimum,
        confidence=options.confidence,
        soft_thresholds=True,
    ).fit(X, y)
    assert first_difference(as_node(model.tree_unpruned_), twin.unpruned(options), tolerance) is None
    assert first_difference(as_node(model.tree_), twin.softened(options), tolerance) is None
    hard = model.set_params(soft_thresholds=False).fit(X, y)
    assert hard.predict_proba(X) == pytest.approx(class_weights(twin.pruned(options), table, Engine(table)), abs=1e-12)
    rules = C45Rules.from_tree(model, X, y, confidence=options.confidence)
    values = [list(X[name].cat.categories) if n else None for name, n in zip(X, table.n_values, strict=True)]
    assert_same_rules(rules, twin.rules(options), list(X), values, list(y.cat.categories))
