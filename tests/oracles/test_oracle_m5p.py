"""M5Regressor with the choices of Weka's M5P grows its trees and fits its models.

Figures of Weka 3.9.7 on one thread: its M5P without options, with -U (unsmoothed), -N (unpruned), -R (regression tree).  Small
tables are here; the others are read from FASTTREE_SHARED.
"""

from __future__ import annotations

from pathlib import Path

import m5p
import numpy as np
import pandas as pd
import pytest

from fasttree import M5Regressor

TABLES = Path(__file__).parent.parent / "tables"
# intercept and slope of each node, in the order of the tree, of the line in tests/tables/li_reg10.csv; None: a mean
LINES = {
    "pruned": [(3.4953333368, 0.567757575127), (3.6472500032, 0.505568181146), (3.72550000495, 0.543318181051)],
    "unsmoothed": [(3.4953333368, 0.567757575127), (4.10300000239, 0.318999999203), (4.4160000094, 0.469999998825)],
    "unpruned": [
        (3.4953333368, 0.567757575127),
        (4.10300000239, 0.318999999203),
        (4.4160000094, 0.469999998825),
        (3.67295833643, 0.492276514512),
        (3.69039706195, 0.496185828228),
        (3.863444449, 0.523734847767),
        (3.85591176938, 0.529494651674),
    ],
    "regression_tree": [(6.618, None), (6.2285, None), (7.0075, None)],
}
SMALL = ["car_test_frame", "cu_summary", "auto-mpg", "boston", "concrete", "abalone"]
COLLINEAR = ("bike-sharing",)  # temp and atemp


@pytest.mark.parametrize("run", LINES)
def test_the_lines_of_a_small_table(run):
    table = pd.read_csv(TABLES / "li_reg10.csv")
    model = M5Regressor(**m5p.WEKA | m5p.RUNS[run]).fit(table[["x"]], table["y"])
    models = model.tree_.models
    for node, (intercept, slope) in enumerate(LINES[run]):
        assert models.intercept[node] == pytest.approx(intercept, rel=1e-9)
        assert dict(models.terms(node)) == ({} if slope is None else {0: pytest.approx(slope, rel=1e-9)})
    assert model.tree_.node_count == len(LINES[run])


def test_a_feature_that_follows_from_another_leaves_by_the_size_of_its_coefficient():
    """Both coefficients are far above 1.5 standard deviations, so that M5P keeps one of the two features."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    X = np.column_stack([x, x + 0.01 * rng.normal(size=200)])
    y = 100 * (X[:, 0] - X[:, 1]) + X[:, 0] + 0.01 * rng.normal(size=200)
    exact = M5Regressor(smoothing=0).fit(X, y)
    by_size = M5Regressor(smoothing=0, elimination="m5").fit(X, y)
    assert max(np.diff(exact.tree_.models.start)) == 2
    assert max(np.diff(by_size.tree_.models.start)) == 1


def assert_same(shared, name):
    oracle = m5p.oracle_of(shared / "reference" / f"m5p_{name}.json")
    X, y = m5p.prepared(m5p.table_of(shared, name), oracle)
    for run in oracle["runs"]:
        if run["run"] not in m5p.RUNS:
            continue
        difference, largest = m5p.differences(oracle, run, X, y)
        assert not difference, (name, run["run"], difference)
        assert largest < 1e-8 or name in COLLINEAR, (name, run["run"], largest)


@pytest.mark.parametrize("name", SMALL)
def test_trees_and_models_are_those_of_m5p(name, shared):
    assert_same(shared, name)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["diamonds", "california-housing", "bike-sharing"])
def test_larger_trees_and_models_are_those_of_m5p(name, shared):
    assert_same(shared, name)
