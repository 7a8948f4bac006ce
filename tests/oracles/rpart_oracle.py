"""What rpart 4.1.19 recorded of its trees, beside the same data and parameters for ours."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fasttree import CARTClassifier, CARTRegressor
from fasttree._model.tree import Tree

PREDICTORS = {
    "car_test_frame_mileage": ("Mileage", "Price Country Reliability Type Weight Disp. HP"),
    "cu_summary_mileage": ("Mileage", "Price Country Reliability Type"),
    "cu_summary_reliability": ("Reliability", "Price Country Mileage Type"),
    "kyphosis": ("Kyphosis", "Age Number Start"),
    "stagec_pgtime": ("pgtime", "age eet g2 grade gleason ploidy"),
    "stagec": ("progstat", "age eet g2 grade gleason ploidy"),
    "surrogate12": ("y", "a b c"),
}
ORDERED = {"cu_summary_mileage": ["Reliability"]}
N_FOLDS = 10


@dataclass(frozen=True)
class Oracle:
    """One recorded tree.

    `nodes` are by rpart's ids: the children of node i are 2i and 2i + 1, and which of them is left says nothing about order.
    `whole` are the features of all samples, `X` those of the samples with a target.
    """

    name: str
    record: dict[str, Any]
    X: pd.DataFrame
    y: pd.Series
    weight: np.ndarray | None
    whole: pd.DataFrame

    @property
    def is_regression(self) -> bool:
        return self.record["method"] == "anova"

    @cached_property
    def nodes(self) -> dict[int, dict[str, Any]]:
        return {node["id"]: node for node in self.record["nodes"]}

    @property
    def root_risk(self) -> float:
        return float(self.nodes[1]["risk"])

    @property
    def total(self) -> float:
        return float(self.nodes[1]["wt"])

    @property
    def alpha(self) -> float:
        """What rpart's `cp`, its least complexity, is as our `ccp_alpha`."""
        return float(self.record["control"]["cp"]) * self.root_risk / self.total

    @cached_property
    def rows(self) -> dict[int, frozenset[int]]:
        """The samples below each node."""
        below: dict[int, set[int]] = {node: set() for node in self.nodes}
        for row, end in enumerate(self.record["where_node_id"]):
            while end:
                below[end].add(row)
                end //= 2
        return {node: frozenset(rows) for node, rows in below.items()}

    @property
    def folds(self) -> list[tuple[np.ndarray, np.ndarray]]:
        turn = np.arange(len(self.X)) % N_FOLDS
        return [(np.flatnonzero(turn != fold), np.flatnonzero(turn == fold)) for fold in range(N_FOLDS)]

    @property
    def nats(self) -> float:
        """rpart's unit of gain in ours: it measures entropy in nats."""
        return float(np.log(2)) if self.record.get("split_rule") == "information" else 1.0

    def improvement(self, tree: Tree, node: int, gain: float) -> float:
        """rpart's figure of a split: the decrease of risk, in regression as a share of the node's."""
        decrease = float(tree.weight[node] * gain)
        return decrease / float(tree.risk[node]) if self.is_regression else decrease * self.nats

    def parameters(self) -> dict[str, Any]:
        """Parameters of our estimator that ask for the same tree as grown."""
        control = self.record["control"]
        asked: dict[str, Any] = {
            "min_samples_split": control["minsplit"],
            "min_samples_leaf": control["minbucket"],
            "max_depth": control["maxdepth"],
            "min_gain": 1e-12,
            "missing": "surrogate",
            "max_surrogates": control["maxsurrogate"] if control["usesurrogate"] else 0,
            "surrogate_agreement": "known" if control["surrogatestyle"] else "all",
            "no_surrogate": "more_samples" if control["usesurrogate"] == 2 else "stop",
            "midpoint": "high",
        }
        name = next((name for name in ORDERED if self.name.startswith(name)), None)
        if name is not None:
            asked["ordinal_features"] = {column: self.record["x_levels"][column] for column in ORDERED[name]}
        if self.is_regression:
            return asked
        if self.record["split_rule"] == "information":
            asked["criterion"] = "entropy"
        if "prior" in self.record["rpart_call"]:
            asked["priors"] = self.record["prior"]
        if "loss" in self.record["rpart_call"]:
            asked["loss_matrix"] = self.record["loss"]
        return asked

    @property
    def risk(self) -> str:
        return "impurity" if self.is_regression else "error"

    def estimator(self, **more: Any) -> CARTClassifier | CARTRegressor:
        kind = CARTRegressor if self.is_regression else CARTClassifier
        return kind(**{**self.parameters(), **more})


def load(shared: Path, name: str) -> Oracle:
    """Read a recorded tree and its data, rows without a target left out as rpart does."""
    record = json.loads((shared / "reference" / f"rpart_{name}.json").read_text())
    table = pd.read_csv(shared / "data" / record["data"], keep_default_na=False, na_values=["", "NA"])
    if "pgstat" in table:
        table["progstat"] = table.pgstat.map({0: "No", 1: "Prog"})
    prefix = next(prefix for prefix in PREDICTORS if name.startswith(prefix))
    target, predictors = PREDICTORS[prefix]
    whole = table[predictors.split()].copy()
    for column, levels in record.get("x_levels", {}).items():
        if column in whole:
            whole[column] = pd.Categorical(whole[column], categories=levels)
    for column in whole.select_dtypes("integer"):
        whole[column] = whole[column].astype(float)
    known = table[target].notna()
    table, X = table[known].reset_index(drop=True), whole[known].reset_index(drop=True)
    y = table[target]
    if record["method"] == "class":
        y = pd.Series(pd.Categorical(y.astype(str), categories=list(map(str, record["class_levels"]))))
    assert len(X) == record["n_rows"]
    weight = np.resize([1.0, 2.0, 3.0], len(X)) if name == "kyphosis_weights" else None
    return Oracle(name, record, X, y, weight, whole)
