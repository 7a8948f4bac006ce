"""Where a value equals a threshold, and where no surrogate decides: what rpart 4.1.19 recorded of small tables.

`oracles/rpart_rules.R` made the tables and the records.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from fasttree import CARTClassifier, CARTRegressor
from fasttree.pruning import CostComplexity

EXACT = 1e-9
RECORDS: dict[str, dict[str, Any]] = {
    case["name"]: case for case in json.loads((Path(__file__).parents[1] / "oracles" / "rpart_rules.json").read_text())["cases"]
}
CROSS_VALIDATED = [name for name, case in RECORDS.items() if case["folds"]]


def parameters(case: dict[str, Any]) -> dict[str, Any]:
    """Ours for rpart's."""
    control = case["control"]
    asked = {
        "min_samples_split": control["minsplit"],
        "min_samples_leaf": control["minbucket"],
        "max_depth": control["maxdepth"],
        "min_gain": 1e-12,
        "midpoint": "high",
        "missing": "surrogate",
        "max_surrogates": control["maxsurrogate"] if control["usesurrogate"] else 0,
        "surrogate_agreement": ["all", "known"][control["surrogatestyle"]],
        "no_surrogate": "more_samples" if control["usesurrogate"] == 2 else "stop",
    }
    if "o" in case["train"]:
        asked["ordinal_features"] = {"o": [1, 2, 3, 4, 5]}
    return asked


def risk(case: dict[str, Any]) -> str:
    return "error" if case["method"] == "class" else "impurity"


def estimator(case: dict[str, Any], **more: Any) -> CARTClassifier | CARTRegressor:
    return (CARTClassifier if case["method"] == "class" else CARTRegressor)(**{**parameters(case), **more})


def table(columns: dict[str, list[float | None]]) -> pd.DataFrame:
    return pd.DataFrame({name: np.array(values, float) for name, values in columns.items()})


def fit(case: dict[str, Any], **more: Any):
    """The tree that rpart keeps: without splits of a complexity of at most `cp`."""
    root = case["nodes"][0]
    model = estimator(case, **more).fit(table(case["train"]), case["y"], sample_weight=case["weight"])
    alpha = case["control"]["cp"] * root["dev"] / root["wt"]
    return model.prune(CostComplexity(alpha=alpha, risk=risk(case))) if alpha else model


def predictions(model, X: pd.DataFrame) -> np.ndarray:
    return model.predict(X)[:, None] if isinstance(model, CARTRegressor) else model.predict_proba(X)


@pytest.mark.parametrize("name", RECORDS)
def test_nodes_are_rparts(name: str):
    case = RECORDS[name]
    tree = fit(case).tree_
    tree.check()
    risk = tree.risk if case["method"] == "anova" else tree.errors
    ours = sorted(zip(tree.n_samples.tolist(), tree.weight.tolist(), risk.tolist(), strict=True))
    assert_allclose(ours, sorted((node["n"], node["wt"], node["dev"]) for node in case["nodes"]), rtol=EXACT, atol=EXACT)


@pytest.mark.parametrize("name", RECORDS)
def test_new_rows_are_predicted_as_by_rpart(name: str):
    case = RECORDS[name]
    assert_allclose(predictions(fit(case), table(case["new"])), case["predict"], rtol=EXACT, atol=EXACT)


@pytest.mark.parametrize("name", CROSS_VALIDATED)
def test_cross_validation_errs_as_rparts(name: str):
    case = RECORDS[name]
    turn = np.array(case["folds"])
    folds = [(np.flatnonzero(turn != fold), np.flatnonzero(turn == fold)) for fold in np.unique(turn)]
    pruning = CostComplexity(alpha="cv", risk=risk(case), cv=folds)
    model = estimator(case, pruning=pruning).fit(table(case["train"]), case["y"], sample_weight=case["weight"])
    found = model.pruning_table_
    ours, recorded = np.column_stack([found.xerror, found.xstd])[::-1], np.array(case["cptable"])
    # rpart's last interval of complexity ends at `cp`, ours goes on
    assert_allclose(ours[: len(recorded) - 1], recorded[:-1, 3:], rtol=EXACT)


@pytest.mark.parametrize(
    ("choice", "other", "differ"),
    [
        ("midpoint", "low", {"midpoint", "midpoint at 0", "midpoint of a fraction", "midpoint of surrogates"}),
        (
            "no_surrogate",
            "majority",
            {"no surrogates, usesurrogate=2", "more samples, less weight", "equal weights, more samples"},
        ),
        ("no_surrogate", "stop", {"no surrogates, usesurrogate=2", "more samples, less weight, no surrogates"}),
    ],
)
def test_the_tables_tell_the_choices_apart(choice: str, other: str, differ: set[str]):
    for name in differ:
        case = RECORDS[name]
        ours = predictions(fit(case, **{choice: other}), table(case["new"]))
        assert not np.allclose(ours, case["predict"]), name
