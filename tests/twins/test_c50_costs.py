"""Costs of C5.0: trees and boosted trees against the twin, and what costs must and must not change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from c50.boosting import boost
from c50.classifying import class_sums, classify
from c50.growing import Growth, grow
from c50.problem import Costs, Options
from c50.pruning import prune
from c50.recorded import as_table
from test_c50_engine import leaves, leaves_of_twin

from fasttree import C50Classifier, from_json
from fasttree._learn.prune.costs_c50 import CostGrower

LOSSES: dict[int, list[list[list[float]]]] = {
    2: [[[0, 4], [1, 0]], [[0, 1], [7, 0]], [[0, 0.5], [2.5, 0]]],
    3: [[[0, 1, 5], [1, 0, 1], [1, 1, 0]], [[0, 3, 1], [1, 0, 8], [2, 1, 0]]],
}


def table_of(n_classes: int, seed: int, missing: float = 0.03) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    X = pd.DataFrame(draw.normal(size=(220, 3)).round(2), columns=list("abc"))
    X["d"] = pd.Categorical(draw.choice(list("uvwxyz"), len(X)))
    score = X["a"] + 0.7 * X["d"].isin(["u", "w"]) + 0.8 * draw.normal(size=len(X))
    codes = np.digitize(score, np.linspace(-0.8, 1.2, n_classes + 1)[1:-1])
    return X.mask(draw.random(X.shape) < missing).assign(y=pd.Categorical(np.array(list("pqr"))[codes]))


def cases(seeds: range) -> Any:
    every = [(k, loss, seed) for k, losses in LOSSES.items() for loss in losses for seed in seeds]
    return pytest.mark.parametrize(("n_classes", "loss", "seed"), every)


@cases(range(2, 4))
@pytest.mark.parametrize("subset", [False, True])
def test_trees_are_the_twins(n_classes: int, loss: list[list[float]], seed: int, subset: bool) -> None:
    frame = table_of(n_classes, seed)
    table = as_table(frame)
    costs = Costs.of(loss, table)
    options = Options(subset=subset)
    if costs.class_weight is None:
        growth = Growth.of(table, options, costs=costs)
    else:
        options = replace(options, minimum=2 * costs.class_weight.min())
        growth = Growth.of(table, options, costs.class_weight[table.classes], costs=costs)
    rows = np.arange(len(table))
    expected = prune(grow(growth, rows), growth, rows)
    X = frame.iloc[:, :-1]
    model = C50Classifier(loss_matrix=loss, subset=subset).fit(X, frame["y"])
    model.tree_.check()
    ours, twins = np.array(leaves(model.tree_)), np.array(leaves_of_twin(expected))
    assert ours.shape == twins.shape
    assert ours == pytest.approx(twins, abs=1e-3)
    assert model.predict_proba(X) == pytest.approx(class_sums(expected, table), abs=1e-4)
    assert (model.predict(X) == model.classes_[classify(expected, table, costs)[0]]).all()


@cases(range(1))
def test_boosted_trees_are_the_twins(n_classes: int, loss: list[list[float]], seed: int) -> None:
    frame = table_of(n_classes, seed, missing=0)
    table = as_table(frame)
    costs = Costs.of(loss, table)
    least = 1.0 if costs.class_weight is None else costs.class_weight.min()
    expected = boost(table, Options(minimum=2 * least), 4, costs)
    X = frame.iloc[:, :-1]
    model = C50Classifier(loss_matrix=loss, trials=4).fit(X, frame["y"])
    assert [np.count_nonzero((m.tree_.n_branches == 0) & (m.tree_.weight >= 0.05)) for m in model.estimators_] == expected.sizes
    assert (model.predict(X) == model.classes_[expected.predict(table)]).all()


def cost_of(model: C50Classifier, X: pd.DataFrame, y: Any, loss: Any) -> float:
    place = {label: code for code, label in enumerate(model.classes_)}
    return float(sum(np.asarray(loss)[place[t], place[p]] for t, p in zip(y, model.predict(X), strict=True)))


@pytest.mark.parametrize(
    "options", [{}, {"trials": 5}, {"rules": True}, {"rules": True, "trials": 5}, {"pruning": None}, {"winnow": True}]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_cost_less_than_without_costs(options: dict[str, Any], n_classes: int) -> None:
    if n_classes == 3 and ("rules" in options or "winnow" in options):
        pytest.skip("costs of more than two classes decide only the classes of leaves, of rules and of the default")
    frame = table_of(n_classes, 7, missing=0)
    X, y = frame.iloc[:, :-1], frame["y"]
    loss = np.ones((n_classes, n_classes)) - np.eye(n_classes)
    loss[0, 1:] = 20
    with_costs = C50Classifier(loss_matrix=loss, **options).fit(X, y)
    without = C50Classifier(**options).fit(X, y)
    assert cost_of(with_costs, X, y, loss) < cost_of(without, X, y, loss)


@pytest.mark.parametrize("options", [{}, {"trials": 4}, {"rules": True}])
def test_costs_of_one_change_nothing(options: dict[str, Any]) -> None:
    frame = table_of(2, 8)
    X, y = frame.iloc[:, :-1], frame["y"]
    equal = C50Classifier(loss_matrix={"p": {"q": 1}}, **options).fit(X, y)
    assert (equal.predict_proba(X) == C50Classifier(**options).fit(X, y).predict_proba(X)).all()


@pytest.mark.parametrize("options", [{}, {"trials": 4}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_unit_of_costs_changes_nothing(options: dict[str, Any], n_classes: int) -> None:
    frame = table_of(n_classes, 9)
    X, y, loss = frame.iloc[:, :-1], frame["y"], np.array(LOSSES[n_classes][0])
    once, eightfold = (C50Classifier(loss_matrix=factor * loss, **options).fit(X, y) for factor in (1, 8))
    assert (once.predict(X) == eightfold.predict(X)).all()
    assert once.predict_proba(X) == pytest.approx(eightfold.predict_proba(X))


def test_weights_count_samples_of_costs() -> None:
    frame = table_of(2, 10)
    X, y = frame.iloc[:, :-1], frame["y"]
    times = np.random.default_rng(1).integers(0, 4, len(X))
    loss = LOSSES[2][0]
    weighted = C50Classifier(loss_matrix=loss).fit(X, y, sample_weight=times)
    repeated = C50Classifier(loss_matrix=loss).fit(X.loc[X.index.repeat(times)], np.repeat(y, times))
    assert weighted.tree_.node_count > 3
    assert weighted.predict_proba(X) == pytest.approx(repeated.predict_proba(X))


@pytest.mark.parametrize("options", [{}, {"trials": 4}, {"rules": True}, {"rules": True, "trials": 4}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_saved_models_with_costs_are_the_same(options: dict[str, Any], n_classes: int) -> None:
    frame = table_of(n_classes, 11)
    X, y = frame.iloc[:, :-1], frame["y"]
    model = C50Classifier(loss_matrix=LOSSES[n_classes][0], **options).fit(X, y)
    read = from_json(model.to_json())
    assert (read.predict(X) == model.predict(X)).all()
    assert (read.predict_proba(X) == model.predict_proba(X)).all()


def test_nodes_hold_the_samples_as_given_and_the_text_says_their_costs() -> None:
    frame = table_of(2, 12)
    X, y = frame.iloc[:, :-1], frame["y"]
    model = C50Classifier(loss_matrix={"p": {"q": 4}}).fit(X, y)
    assert model.tree_.value[0] == pytest.approx([(y == "p").sum(), (y == "q").sum()])
    assert model.tree_.weight[0] == pytest.approx(len(X))
    assert model.tree_unpruned_.weight[0] == pytest.approx(len(X))
    assert "cost" in model.export_text()


def test_what_excludes_costs() -> None:
    frame = table_of(2, 13)
    X, y = frame.iloc[:, :-1], frame["y"]
    with pytest.raises(ValueError, match="soft_thresholds=True exclude each other"):
        C50Classifier(loss_matrix=LOSSES[2][0], soft_thresholds=True).fit(X, y)
    with pytest.raises(ValueError, match="exclude each other"):
        C50Classifier(loss_matrix=LOSSES[2][0], pruning="error_based").fit(X, y)
    with pytest.raises(ValueError, match="use pruning='c50' or None"):
        C50Classifier(loss_matrix=LOSSES[2][0], pruning="cost_complexity").fit(X, y)


def test_growth_by_equal_costs_is_that_without() -> None:
    frame = table_of(2, 14)
    grown: list[Any] = []

    class Watched(C50Classifier):
        def _by_its_growth(self, grower: Any) -> Any:
            grown.append(super()._by_its_growth(grower))
            return grown[-1]

    X, y = frame.iloc[:, :-1], frame["y"]
    Watched(loss_matrix=[[0, 1], [1, 0]]).fit(X, y)
    Watched(loss_matrix=[[0, 2], [1, 0]]).fit(X, y)
    assert [isinstance(each, CostGrower) for each in grown] == [False, True]
