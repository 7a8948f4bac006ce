"""C5.0's growth of branches that take their nodes' places."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind
from fasttree._learn.grow.decode import raised
from fasttree._learn.grow.encode import SomeRows
from fasttree._learn.grow.grower import Grower
from fasttree._learn.grow.parts import Branches, BranchGrowth
from fasttree._learn.samples import total_count
from fasttree._model.arrays import THRESHOLD
from fasttree._model.tree import Tree

OF_TESTS = ("first_child", "n_branches", "feature", "kind", "threshold", "missing")
OF_NODES = ("value", "impurity", "gain", "n_samples", "weight")
OF_CATEGORIES = ("categories_code", "categories_branch")
MORE_ROOM = 2  # times what is needed, so that nodes are copied a few times at most


class Regrowth:
    """Growth of branches that take their nodes' places, on all samples of these nodes.

    The new nodes stay behind those of the tree.  Their thresholds are midpoints until `tree` makes them values of the table.

    Parameters
    ----------
    tree : Tree
        The tree that is pruned.
    grower : Grower
    whole : Grower
        Growth with the samples whose values are thresholds.
    """

    def __init__(self, tree: Tree, grower: Grower, whole: Grower) -> None:
        self._tree, self._grower, self._whole = tree, grower, whole
        self._nodes = NodesBehind(tree)
        self._growth: BranchGrowth | None = None

    def _branch_growth(self) -> BranchGrowth:
        if self._growth is None:
            grower = self._grower
            limits = grower.limits
            if limits.n_cases is None:
                limits = limits._replace(n_cases=total_count(self._whole.samples))
            table = grower.with_sorted_table().sorted_table
            assert table is not None
            self._growth = BranchGrowth(table, grower.recipe, limits, grower.n_classes)
        return self._growth

    def __call__(self, node: int, *samples: Any) -> NodesBehind:
        """Add a subtree that has the test of a node and is grown on the fields of `Branches`; return the tests of all nodes."""
        self._nodes.add(node, self._branch_growth()(Branches(*samples)))
        return self._nodes

    @property
    def value(self) -> Floats:
        """What the nodes held when they were grown."""
        return np.asarray(self._nodes.joined("value"), np.float64)

    def tree(self) -> Tree:
        """Return the tree with all nodes; the thresholds of the new ones are the largest values of the table up to the midpoints.

        The parents of its nodes are not known.
        """
        nodes, n_before = self._nodes, self._tree.node_count
        if nodes.node_count == n_before:
            return self._tree
        arrays = {name: getattr(nodes, name) for name in (*OF_TESTS, *OF_CATEGORIES, "categories_start")}
        arrays |= {name: nodes.joined(name) for name in OF_NODES}
        arrays["threshold"] = self._with_values(nodes, n_before)
        parent = np.zeros(nodes.node_count, np.int32)
        return Tree(task=self._tree.task, n_features=self._tree.n_features, parent=parent, **arrays)

    def _with_values(self, nodes: NodesBehind, n_before: int) -> Floats:
        new = n_before + np.flatnonzero(nodes.kind[n_before:] == THRESHOLD)
        samples, threshold = self._whole.samples, nodes.threshold.copy()
        counts = samples.counts
        table = samples.table if counts is None or counts.all() else SomeRows(samples.table, np.flatnonzero(counts > 0))
        features = samples.table.schema.features
        numbers = [feature for feature in np.unique(nodes.feature[new]).tolist() if features[feature].kind is Kind.CONTINUOUS]
        at = {feature: new[nodes.feature[new] == feature] for feature in numbers}
        for feature, found in raised(table, {feature: threshold[of] for feature, of in at.items()}).items():
            threshold[at[feature]] = found
        return threshold


class NodesBehind:
    """The nodes of a tree, and more behind them.

    The arrays of tests are in one piece, with room for more nodes; those that only the end needs are joined there.

    Parameters
    ----------
    tree : Tree
        It has neither intervals nor surrogates.
    """

    first_child: npt.NDArray[np.int32]
    n_branches: npt.NDArray[np.int32]
    feature: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    threshold: npt.NDArray[np.float64]
    missing: npt.NDArray[np.int32]
    categories_start: npt.NDArray[np.int64]
    categories_code: npt.NDArray[np.uint32]
    categories_branch: npt.NDArray[np.int32]

    def __init__(self, tree: Tree) -> None:
        self.node_count = tree.node_count
        self._room: dict[str, npt.NDArray[Any]] = {}
        self._pieces: dict[str, list[npt.NDArray[Any]]] = {name: [getattr(tree, name)] for name in OF_NODES}
        for name in (*OF_TESTS, *OF_CATEGORIES, "categories_start"):
            setattr(self, name, getattr(tree, name))

    def joined(self, name: str) -> npt.NDArray[Any]:
        """Return an array of all nodes."""
        return np.concatenate(self._pieces[name])

    def add(self, node: int, grown: dict[str, npt.NDArray[Any]]) -> None:
        """Add a node with the test of another one, and what grew below it, as from `BranchGrowth`."""
        first = grown["first_child"]
        grown["first_child"] = np.where(first < 0, np.int32(-1), first + np.int32(self.node_count))
        for name in ("feature", "kind", "threshold", "missing"):
            grown[name][0] = getattr(self, name)[node]
        grown["gain"][0] = self._gain_of(node)
        own, start = entries_of(self, node), grown["categories_start"]
        start[1:] += own.stop - own.start
        self._extend("categories_start", self.categories_start[-1] + start[1:])
        for name in OF_CATEGORIES if start[-1] else ():
            self._extend(name, np.concatenate([getattr(self, name)[own], grown[name]]))
        for name in OF_TESTS:
            self._extend(name, grown[name])
        for name, pieces in self._pieces.items():
            pieces.append(grown[name])
        self.node_count += len(first)

    def _gain_of(self, node: int) -> Any:
        for piece in self._pieces["gain"]:
            if node < len(piece):
                break
            node -= len(piece)
        return piece[node]

    def _extend(self, name: str, more: npt.NDArray[Any]) -> None:
        array, n = getattr(self, name), len(getattr(self, name))
        need = n + len(more)
        if name not in self._room or need > len(self._room[name]):
            self._room[name] = np.empty(MORE_ROOM * need, array.dtype)
            self._room[name][:n] = array
        self._room[name][n:need] = more
        setattr(self, name, self._room[name][:need])


def entries_of(tree: Tree | NodesBehind, node: int) -> slice:
    """Return where the categories of a node's test are."""
    return slice(int(tree.categories_start[node]), int(tree.categories_start[node + 1]))
