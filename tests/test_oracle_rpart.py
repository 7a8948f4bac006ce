"""rpart's trees, its cp tables and its cross-validation, as version 4.1.19 recorded them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rpart_oracle import Oracle, load

KYPHOSIS = ["kyphosis_default", "kyphosis_full", "kyphosis_loss", "kyphosis_prior_information", "kyphosis_weights"]
# No sample meets a missing value on its path, so that what becomes of one does not matter.
WITHOUT_MISSING = [*KYPHOSIS, "car_test_frame_mileage"]
EXACT = 1e-9


def fit(oracle: Oracle, **more):
    """The tree as grown, and as rpart keeps it: without splits of a complexity of at most `cp`."""
    model = oracle.estimator(min_gain=1e-12, **more).fit(oracle.X, oracle.y, sample_weight=oracle.weight)
    return model, model.prune("cost_complexity", ccp_alpha=oracle.alpha)


def rows_of_nodes(model, X) -> list[frozenset[int]]:
    passed = model.decision_path(X).tocsc()
    return [frozenset(passed[:, node].indices.tolist()) for node in range(passed.shape[1])]


def matching_nodes(model, oracle: Oracle) -> dict[int, int]:
    """Node of ours for each of rpart's, by the samples they hold, which must be the same."""
    ours = rows_of_nodes(model, oracle.X)
    assert set(ours) == set(oracle.rows.values())
    return {theirs: ours.index(rows) for theirs, rows in oracle.rows.items()}


@pytest.mark.parametrize("name", WITHOUT_MISSING)
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
            assert tree.label[ours] == node["yval"] - 1
            assert_allclose(tree.value[ours] / tree.weight[ours], node["prob"], rtol=EXACT, atol=EXACT)
            assert_allclose(tree.weight[ours] / tree.weight[0], node["node_prob"], rtol=EXACT)


@pytest.mark.parametrize("name", WITHOUT_MISSING)
def test_splits_gain_what_rparts_improve(shared: Path, name: str):
    oracle = load(shared, name)
    _, model = fit(oracle)
    tree = model.tree_
    nats = np.log(2) if oracle.record.get("split_rule") == "information" else 1.0
    for theirs, ours in matching_nodes(model, oracle).items():
        primary = oracle.nodes[theirs].get("primary")
        assert (primary is None) == (tree.n_branches[ours] == 0)
        if primary is None:
            continue
        assert oracle.X.columns[tree.feature[ours]] == primary["var"]
        if "threshold" in primary:
            assert tree.threshold[ours] == pytest.approx(primary["threshold"], rel=EXACT)
        unit = tree.risk[ours] if oracle.is_regression else 1 / nats
        assert tree.weight[ours] * tree.gain[ours] / unit == pytest.approx(primary["improve"], rel=EXACT)


@pytest.mark.parametrize("name", WITHOUT_MISSING)
def test_the_pruning_path_is_rparts_cp_table(shared: Path, name: str):
    oracle = load(shared, name)
    model, _ = fit(oracle)
    path = model.cost_complexity_pruning_path(oracle.X, oracle.y, sample_weight=oracle.weight)
    table = np.array(oracle.record["cptable"])
    alphas = path.ccp_alphas * oracle.total / oracle.root_risk
    kept = alphas > oracle.record["control"]["cp"] * (1 + EXACT)
    assert_allclose(alphas[kept][::-1], table[:-1, 0], rtol=EXACT)
    subtree = np.flatnonzero(~kept)[-1]  # what `cp` leaves
    rows = np.append(np.flatnonzero(kept)[::-1], subtree)
    assert_allclose(path.n_leaves[rows] - 1, table[:, 1])
    assert_allclose(path.risks[rows] * oracle.total / oracle.root_risk, table[:, 2], rtol=EXACT, atol=EXACT)


@pytest.mark.parametrize("name", WITHOUT_MISSING)
def test_cross_validation_finds_rparts_errors(shared: Path, name: str):
    oracle = load(shared, name)
    folds = oracle.estimator(min_gain=1e-12, ccp_alpha="cv", cv=oracle.folds)
    table = folds.fit(oracle.X, oracle.y, sample_weight=oracle.weight).pruning_table_
    recorded = oracle.record.get("xerror_xstd_corrected") or [row[3:] for row in oracle.record["cptable"]]
    assert_allclose(np.column_stack([table.xerror, table.xstd])[::-1], recorded, rtol=EXACT)
