"""The nodes of a tree that grows over shards, and the arrays that they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Schema
from fasttree._learn.grow.decode import thresholds_between
from fasttree._learn.grow.encode import Bins
from fasttree._learn.recipe import Recipe
from fasttree._model.arrays import LEAF, STOP, THRESHOLD
from fasttree._scale.groups import Groups
from fasttree._scale.messages import Counts

Floats = npt.NDArray[np.float64]

BYTES_OF_NODE = 69  # of a tree, and those of its value

FIELDS = {  # of a node: dtype
    "parent": np.int32,
    "first_child": np.int32,
    "n_branches": np.int32,
    "feature": np.int32,
    "missing": np.int32,
    "kind": np.uint8,
    "n_samples": np.int64,
    "weight": np.float64,
    "impurity": np.float64,
    "gain": np.float64,
    "value": np.float64,
}


@dataclass
class TreeNode:
    """A node of the growing tree.

    The impurity, the risk and the value of numbers are known later than the statistics: until `is_measured`, `risk` is an upper
    bound.
    """

    id: int
    depth: int
    statistics: Counts
    value: Floats
    weight: float
    impurity: float
    risk: float
    is_measured: bool
    parent: int = -1
    key: int = 0  # of the draws of features
    reach: float = np.inf
    is_open: bool = False  # may be split in a round to come
    mean: float | None = None
    histogram: Counts | None = None
    groups: list[Groups] | None = None  # of the features that may have the best cut
    limit: float = -np.inf  # the gain from which on a cut may be chosen, as far as it is known
    first_child: int = -1
    feature: int = -1
    missing: int = STOP
    kind: int = LEAF
    gain: float = 0.0
    low: float = np.nan  # values next to a threshold
    high: float = np.nan
    categories: tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]] | None = None  # codes and their branches

    @property
    def n_samples(self) -> int:
        """Samples."""
        return int(self.statistics[0])

    @property
    def n_branches(self) -> int:
        """Number of branches: 2, or 0 of a leaf."""
        return 0 if self.first_child < 0 else 2


def arrays_of(nodes: Sequence[TreeNode], schema: Schema, recipe: Recipe, bins: Mapping[int, Bins]) -> dict[str, npt.NDArray[Any]]:
    """Return nodes as the fields of a tree, in their own order; of features in bins they have codes next to a threshold."""
    for node in nodes:
        if node.kind == THRESHOLD and node.feature in bins:
            of_feature = bins[node.feature]
            node.low, node.high = of_feature.most[int(node.low) - 1], of_feature.least[int(node.high) - 1]
    found = {name: np.array([getattr(node, name) for node in nodes], dtype=dtype) for name, dtype in FIELDS.items()}
    found["threshold"] = np.full(len(nodes), np.nan)
    cut = np.flatnonzero(found["kind"] == THRESHOLD)
    low, high = np.array([[nodes[i].low, nodes[i].high] for i in cut.tolist()]).reshape(-1, 2).T.copy()
    found["threshold"][cut] = thresholds_between(low, high, found["feature"][cut], schema, recipe)
    tables = [(node.id, *node.categories) for node in nodes if node.categories is not None]
    found["categories_node"] = np.repeat([node for node, _, _ in tables], [len(codes) for _, codes, _ in tables]).astype(np.int64)
    found["categories_code"] = np.concatenate([np.empty(0, np.uint32), *(codes for _, codes, _ in tables)])
    found["categories_branch"] = np.concatenate([np.empty(0, np.int32), *(branch for _, _, branch in tables)]).astype(np.int32)
    return found


def joined(top: Mapping[str, npt.NDArray[Any]], below: dict[int, dict[str, npt.NDArray[Any]]]) -> dict[str, npt.NDArray[Any]]:
    """Return the fields of a tree in which nodes of `top` are replaced by trees of their own, numbered breadth first.

    The trees `below` are emptied meanwhile, so that the nodes are hardly in memory twice.
    """
    parts = [dict(top)]
    n_nodes = len(top["kind"])
    while below:
        node, tree = below.popitem()
        shifted = dict(tree)
        for name in ("parent", "first_child", "categories_node"):
            shifted[name] = _moved(tree[name], node, n_nodes)
        for name in (*FIELDS, "threshold"):
            if name != "parent":
                parts[0][name][node] = shifted[name][0]
            shifted[name] = shifted[name][1:]
        parts.append(shifted)
        n_nodes += len(tree["kind"]) - 1
    return _breadth_first({name: np.concatenate([part.pop(name) for part in parts]) for name in tuple(parts[0])})


def _moved(ids: npt.NDArray[Any], root: int, n_before: int) -> npt.NDArray[Any]:
    """Return ids of a tree whose root is `root` and whose other nodes follow `n_before` nodes."""
    return np.where(ids == 0, root, np.where(ids > 0, ids + (n_before - 1), ids))


def _breadth_first(whole: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Number nodes level by level, siblings in order."""
    levels = [np.zeros(1, dtype=np.int64)]
    while levels[-1].size:
        inner = levels[-1][whole["n_branches"][levels[-1]] > 0]
        levels.append((whole["first_child"][inner][:, None] + np.arange(2)).ravel())
    order = np.concatenate(levels)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    numbered = {}
    for name in tuple(whole):
        array = whole.pop(name)
        numbered[name] = array if name.startswith("categories") else array[order]
    for name in ("parent", "first_child"):
        numbered[name] = np.where(numbered[name] >= 0, place[numbered[name]], -1).astype(np.int32)
    numbered["categories_node"] = place[numbered["categories_node"]]
    return numbered
