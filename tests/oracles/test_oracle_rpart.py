"""rpart's trees, cp tables, cross-validation, importances and predictions, as version 4.1.19 recorded them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from rpart_oracle import Oracle, load

from fasttree._data.encode import encode_table
from fasttree._learn.prune.losses import losses
from fasttree._learn.prune.sequence import weakest_links
from fasttree._learn.samples import Samples
from fasttree.pruning import CostComplexity

EXACT = 1e-9
RELIABILITY = [f"cu_summary_reliability_us{use}_ss{style}" for use in range(3) for style in range(2)]
ALL = [
    "kyphosis_default",
    "kyphosis_full",
    "kyphosis_loss",
    "kyphosis_prior_information",
    "kyphosis_weights",
    "car_test_frame_mileage",
    "cu_summary_mileage",
    *RELIABILITY,
    "stagec_pgtime",
    "stagec_us0",
    "stagec_us1",
    "stagec_us2",
    "surrogate12_ss0",
    "surrogate12_ss1",
]
CROSS_VALIDATED = [name for name in ALL if not name.startswith(("cu_summary_reliability", "surrogate12"))]
# Rows of cp tables that can be compared where not all can: rpart's last interval of complexity ends at `cp`, ours goes on to the
# next link or to 0; and in folds of stagec rpart forgets nominal surrogates, from the fifth row on.
COMPARABLE = {"cu_summary_mileage": 4, "stagec_pgtime": 4}


def fit(oracle: Oracle):
    """The tree as grown, and as rpart keeps it: without splits of a complexity of at most `cp`."""
    model = oracle.estimator().fit(oracle.X, oracle.y, sample_weight=oracle.weight)
    return model, model.prune(CostComplexity(alpha=oracle.alpha, risk=oracle.risk))


def matching_nodes(model, oracle: Oracle) -> dict[int, int]:
    """Node of ours for each of rpart's, by the samples they hold, which must be the same."""
    passed = model.decision_path(oracle.X).tocsc()
    ours = [frozenset(passed[:, node].indices.tolist()) for node in range(passed.shape[1])]
    assert set(ours) == set(oracle.rows.values())
    return {theirs: ours.index(rows) for theirs, rows in oracle.rows.items()}


@pytest.mark.parametrize("name", ALL)
def test_nodes_hold_rparts_samples_values_and_risks(shared: Path, name: str):
    oracle = load(shared, name)
    _, model = fit(oracle)
    tree = model.tree_
    assert tree.node_count == len(oracle.nodes)
    risk = tree.risk if oracle.is_regression else tree.errors
    for theirs, ours in matching_nodes(model, oracle).items():
        node = oracle.nodes[theirs]
        assert tree.n_samples[ours] == node["n"]
        assert_allclose(risk[ours], node["risk"], rtol=EXACT, atol=EXACT)
        if oracle.is_regression:
            assert_allclose(tree.value[ours, 0], node["yval"], rtol=EXACT)
        else:
            assert tree.predicted_class[ours] == node["yval"] - 1
            assert_allclose(tree.value[ours] / tree.weight[ours], node["prob"], rtol=EXACT, atol=EXACT)
            assert_allclose(tree.weight[ours] / tree.weight[0], node["node_prob"], rtol=EXACT)


@pytest.mark.parametrize("name", ALL)
def test_splits_gain_what_rparts_improve(shared: Path, name: str):
    oracle = load(shared, name)
    _, model = fit(oracle)
    tree = model.tree_
    for theirs, ours in matching_nodes(model, oracle).items():
        primary = oracle.nodes[theirs].get("primary")
        assert (primary is None) == (tree.n_branches[ours] == 0)
        if primary is None:
            continue
        assert oracle.X.columns[tree.feature[ours]] == primary["var"]
        if "threshold" in primary:
            assert_allclose(tree.threshold[ours], primary["threshold"], rtol=EXACT)
        assert_allclose(oracle.improvement(tree, ours, tree.gain[ours]), primary["improve"], rtol=EXACT)


@pytest.mark.parametrize("name", ALL)
def test_the_pruning_path_is_rparts_cp_table(shared: Path, name: str):
    oracle = load(shared, name)
    pruned = oracle.estimator(pruning=CostComplexity(risk=oracle.risk))
    path = pruned.cost_complexity_pruning_path(oracle.X, oracle.y, sample_weight=oracle.weight)
    table = np.array(oracle.record["cptable"])
    complexity = path.ccp_alphas * oracle.total / oracle.root_risk
    kept = complexity > oracle.record["control"]["cp"] * (1 + EXACT)
    assert_allclose(complexity[kept][::-1], table[:-1, 0], rtol=EXACT)
    last = np.flatnonzero(~kept)[-1]  # rpart's table ends with what `cp` leaves
    rows = np.append(np.flatnonzero(kept)[::-1], last)
    assert_allclose(path.n_leaves[rows] - 1, table[:, 1])
    assert_allclose(path.risks[rows] * oracle.total / oracle.root_risk, table[:, 2], rtol=EXACT, atol=EXACT)


@pytest.mark.parametrize("name", CROSS_VALIDATED)
def test_cross_validation_finds_rparts_errors(shared: Path, name: str):
    oracle = load(shared, name)
    model = oracle.estimator(pruning=CostComplexity(alpha="cv", risk=oracle.risk, cv=oracle.folds))
    table = model.fit(oracle.X, oracle.y, sample_weight=oracle.weight).pruning_table_
    ours = np.column_stack([table.xerror, table.xstd])[::-1]
    # `xerror_xstd_corrected`: what the stated losses are, and what samples lose that stop at an inner node
    recorded = np.array(oracle.record.get("xerror_xstd_corrected") or [row[3:] for row in oracle.record["cptable"]])
    n_rows = COMPARABLE.get(name, len(recorded))
    assert_allclose(ours[:n_rows], recorded[:n_rows], rtol=EXACT)


def test_the_last_error_of_rparts_table_is_of_an_interval_that_ends_at_cp(shared: Path):
    oracle = load(shared, "cu_summary_mileage")
    least = np.array(oracle.record["cptable"])[-2:, 0]  # the last complexity, and `cp`
    typical = np.sqrt(least.prod()) * oracle.root_risk / oracle.total
    error = 0.0
    for train, held_out in oracle.folds:
        model = oracle.estimator().fit(oracle.X.iloc[train], oracle.y.iloc[train])
        samples = Samples(encode_table(oracle.X.iloc[held_out], model.schema_), oracle.y.to_numpy(float)[held_out])
        found = losses(model.tree_unpruned_, samples)
        error += float(weakest_links(model.tree_unpruned_).sums(found.loss, typical, found.stopped_loss))
    assert_allclose(error / oracle.root_risk, oracle.record["cptable"][-1][3], rtol=EXACT)


@pytest.mark.parametrize(
    "name", [name for name in ALL if "_us0" not in name]
)  # there rpart counts surrogates that it does not use
def test_importances_are_rparts(shared: Path, name: str):
    oracle = load(shared, name)
    _, model = fit(oracle)
    recorded = np.array([oracle.record["variable_importance"].get(column, 0.0) for column in oracle.X.columns])
    ours = model.surrogate_importances() * oracle.nats
    compared = np.ones(len(recorded), bool)
    if name.startswith(("stagec_pgtime", "surrogate12")):  # rpart forgets nominal surrogates that always agree
        compared = np.array([dtype != "category" for dtype in oracle.X.dtypes])
    assert_allclose(ours[compared], recorded[compared], rtol=EXACT, atol=EXACT)


@pytest.mark.parametrize("name", ["cu_summary_mileage", *RELIABILITY, "stagec_pgtime", "stagec_us0", "stagec_us1", "stagec_us2"])
def test_predictions_are_rparts_also_where_values_are_missing(shared: Path, name: str):
    oracle = load(shared, name)
    _, model = fit(oracle)
    X: pd.DataFrame = oracle.whole if "_117_" in " ".join(oracle.record) else oracle.X
    recorded = next(values for key, values in oracle.record.items() if key.startswith("predict"))
    predicted = model.predict(X) if oracle.is_regression else model.predict_proba(X)
    assert X.isna().any().any()
    assert_allclose(predicted, recorded, rtol=EXACT, atol=EXACT)


@pytest.mark.parametrize("name", ALL)
def test_competing_splits_are_rparts(shared: Path, name: str):
    oracle = load(shared, name)
    _, model = fit(oracle)
    for theirs, ours in matching_nodes(model, oracle).items():
        node = oracle.nodes[theirs]
        if "primary" not in node:
            continue
        splits = model.competing_splits(ours, oracle.X, oracle.y, oracle.weight)
        assert (splits[0].feature, splits[0].gain) == (model.tree_.feature[ours], pytest.approx(model.tree_.gain[ours]))
        recorded = [node["primary"], *node["competitors"]]
        assert len(recorded) == min(len(splits), 1 + oracle.record["control"]["maxcompete"])
        for split, competitor in zip(splits, recorded, strict=False):
            assert split.name == competitor["var"]
            assert_allclose(oracle.improvement(model.tree_, ours, split.gain), competitor["improve"], rtol=EXACT)
            if "threshold" in competitor:
                assert_allclose(split.threshold, competitor["threshold"], rtol=EXACT)
            else:
                assert set(map(frozenset, split.categories)) == {frozenset(competitor[side]) for side in ("left", "right")}
