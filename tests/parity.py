"""C4.5's figures from the original and from fasttree side by side: `python tests/parity.py --data FOLDER`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from release8 import Node
from release8.problem import Test
from release8.recorded import DataSet, Run, agree, tree_figures

from fasttree import C45Classifier
from fasttree._tree import CATEGORY, NOMINAL, THRESHOLD, Tree

PARAMETERS: dict[str, dict[str, Any]] = {
    "default": {},
    "rules": {},
    "gain": {"criterion": "gain"},
    "subset": {"subset": True},
    "cf10": {"confidence": 0.10},
    "m1": {"min_samples_branch": 1},
    "m5": {"min_samples_branch": 5},
    "gain_subset": {"criterion": "gain", "subset": True},
    "soft": {"soft_thresholds": True},
}
KINDS = {THRESHOLD: "threshold", CATEGORY: "values", NOMINAL: "subset"}


def as_node(tree: Tree) -> Node:
    """The engine's tree as the twin's nodes."""
    wrong = np.where(tree.weight > 0, tree.weight - tree.value.max(axis=1), 0.0)
    errors = tree.estimated_errors
    if errors is None:
        errors = wrong.copy()
        for node in range(tree.node_count - 1, -1, -1):
            if tree.n_branches[node]:
                first = tree.first_child[node]
                errors[node] = errors[first : first + tree.n_branches[node]].sum()
    nodes = [
        Node(int(tree.label[node]), tree.weight[node], tree.value[node], errors[node], as_test(tree, node))
        for node in range(tree.node_count)
    ]
    for node in range(1, tree.node_count):
        nodes[tree.parent[node]].children.append(nodes[node])
    return nodes[0]


def as_test(tree: Tree, node: int) -> Test | None:
    if not tree.n_branches[node]:
        return None
    test = Test(KINDS[int(tree.kind[node])], int(tree.feature[node]), float(tree.threshold[node]))
    if test.kind == "subset":
        entries = slice(tree.table_start[node], tree.table_start[node + 1])
        codes, branches = tree.table_code[entries], tree.table_branch[entries]
        test.blocks = [frozenset(codes[branches == b].tolist()) for b in range(tree.n_branches[node])]
    if tree.lower is not None and tree.upper is not None:
        test.lower, test.upper = float(tree.lower[node]), float(tree.upper[node])
    return test


class Ours:
    """fasttree's models of one split, each fitted once."""

    def __init__(self, dataset: DataSet, split: str) -> None:
        self.dataset, self.split = dataset, dataset.split(split)
        self._models: dict[str, C45Classifier] = {}

    def offers(self, run: str) -> bool:
        return run != "rules"

    def model(self, run: str) -> C45Classifier:
        key = str(PARAMETERS[run])
        if key not in self._models:
            train = self.split.train
            self._models[key] = C45Classifier(**PARAMETERS[run]).fit(train.iloc[:, :-1], train.iloc[:, -1])
        return self._models[key]

    def unpruned(self, run: str) -> Node:
        return as_node(self.model(run).tree_unpruned_)

    def pruned(self, run: str) -> Node:
        return as_node(self.model(run).tree_)

    def figures(self, run: Run) -> dict[str, Any]:
        """What the original printed for this run, by us."""
        pruned = self.model(run.name)
        unpruned = copy.copy(pruned)
        unpruned.tree_ = pruned.tree_unpruned_
        return {
            f"{name} {figure}": value
            for name, model in (("unpruned", unpruned), ("pruned", pruned))
            for figure, value in tree_figures(as_node(model.tree_), self._errors(model), name == "pruned")
        }

    def _errors(self, model: Any) -> dict[str, int]:
        parts = {"train": self.split.train} | ({} if self.split.test is None else {"test": self.split.test})
        return {
            part: int((model.predict(frame.iloc[:, :-1]) != frame.iloc[:, -1].to_numpy()).sum()) for part, frame in parts.items()
        }


def differing(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in theirs.items() if not agree(name, value, ours[name])}
