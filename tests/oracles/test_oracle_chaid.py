"""The trees of CHAID are those of the R package chaidr 0.1.0, recorded for chaid400: nodes, statistics, adjusted p-values."""

import json

import pandas as pd
import pytest

from fasttree import CHAIDClassifier, CHAIDRegressor

REASONS = {"min_parent": "min_samples_split", "min_child": "min_samples_leaf"}


@pytest.mark.parametrize("method", ["chaid", "exhaustive"])
@pytest.mark.parametrize(("target", "estimator"), [("buy", CHAIDClassifier), ("spend", CHAIDRegressor)])
def test_trees_are_those_of_chaidr(shared, target, estimator, method):
    table = pd.read_csv(shared / "data" / "chaid400.csv")
    expected = json.loads((shared / "reference" / f"chaid400_{target}_{method}.json").read_text(encoding="utf-8"))["nodes"]
    limits = {"max_depth": 3, "min_samples_split": 40, "min_samples_leaf": 15}
    model = estimator(method=method, ordinal_features={"grade": [1, 2, 3, 4, 5, 6]}, **limits)
    X = table[["region", "grade", "age", "channel"]]
    tree = model.fit(X, table[target]).tree_
    tree.check()
    assert tree.node_count == len(expected)
    by_id = {node["id"]: node for node in expected}
    waiting = [(0, 1)]
    while waiting:
        i, number = waiting.pop()
        node, test = by_id[number], tree.tests[i]
        assert tree.n_samples[i] == node["n"]
        assert tree.value[i, 0] == pytest.approx(node["prediction"] if target == "spend" else node["dist"][0])
        if "terminal" in node:
            assert test.reason == REASONS.get(node["terminal"], node["terminal"])
            continue
        assert X.columns[tree.feature[i]] == node["var"]
        assert list(test.split.df) == node["df"]
        found = (test.split.statistic, test.split.p_value, test.split.multiplier, test.split.adjusted_p_value)
        names = ("statistic", "p_unadjusted", "multiplier", "p_adjusted")
        assert found == pytest.approx([node[name] for name in names], rel=1e-9)
        waiting += [(tree.first_child[i] + branch, child) for branch, child in enumerate(node["children"])]
