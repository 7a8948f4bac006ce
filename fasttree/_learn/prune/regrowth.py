"""C5.0's growth of branches that take their nodes' places."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind
from fasttree._data.sums import sum_of_sizes
from fasttree._learn.grow.decode import raised
from fasttree._learn.grow.encode import SomeRows, is_missing, values_of
from fasttree._learn.grow.grower import Grower
from fasttree._learn.grow.parts import PartGrowth
from fasttree._model.arrays import LEAF, NOMINAL, STOP, THRESHOLD
from fasttree._model.tree import Tree

OF_TESTS = ("first_child", "n_branches", "feature", "kind", "threshold", "missing")
OF_NODES = ("value", "impurity", "gain", "n_samples", "weight")
OF_CATEGORIES = ("categories_code", "categories_branch")
MORE_ROOM = 2  # times what is needed, so that nodes are copied a few times at most

Grown = dict[str, npt.NDArray[Any]]


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
        self._growth: PartGrowth | None = None

    def _part_growth(self) -> PartGrowth:
        if self._growth is None:
            grower, counts = self._grower, self._whole.samples.counts
            limits = grower.limits
            if limits.n_cases is None:
                n_cases = grower.samples.table.n_samples if counts is None else sum_of_sizes(counts)
                limits = replace(limits, n_cases=float(n_cases))
            self._growth = PartGrowth(grower.samples.table, grower.samples.target, grower.recipe, limits, grower.n_classes)
        return self._growth

    def __call__(self, node: int, rows: npt.NDArray[np.intp], weight: Floats) -> NodesBehind:
        """Add a subtree that has the test of a node, and is grown on some samples below it; return the tests of all nodes."""
        growth, nodes = self._part_growth(), self._nodes
        order = np.argsort(rows, kind="stable")
        rows, weight = rows[order], weight[order]
        column = self._grower.samples.table.column(int(nodes.feature[node])).take(rows)
        branch = branches_of(nodes, node, column)
        unknown = branch < 0
        divides = bool(unknown.any())
        known = float(weight[~unknown].sum()) if divides else float(weight.sum())
        branches: list[Grown | None] = []
        for b in range(int(nodes.n_branches[node])):
            here = branch == b
            part = weight[here]
            share = float(part.sum()) / known
            if divides and share > 0:
                here |= unknown
                part = np.where(unknown[here], weight[here] * share, weight[here])
            branches.append(growth(rows[here], part))
        nodes.add(node, branches)
        return nodes

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
        for feature in np.unique(nodes.feature[new]).tolist():
            if samples.table.schema.features[feature].kind is Kind.CONTINUOUS:
                at = new[nodes.feature[new] == feature]
                threshold[at] = raised(values_of(table, feature), threshold[at])
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

    def add(self, node: int, branches: list[Grown | None]) -> None:
        """Add a node with the test of another one, and below it the branches (None: an empty leaf)."""
        grown = [branch for branch in branches if branch is not None]
        # the first nodes of all branches are siblings, so they come first, and their other nodes follow branch by branch
        start, starts = self.node_count + 1 + len(branches), []
        for branch in branches:
            starts.append(start)
            start += 0 if branch is None else len(branch["kind"]) - 1
        for branch, at in zip(branches, starts, strict=True):
            if branch is not None:
                first = branch["first_child"]
                branch["first_child"] = np.where(first < 0, np.int32(-1), first + np.int32(at - 1))
        self._add_categories(node, branches, grown)
        at_leaf = {"first_child": -1, "n_branches": 0, "feature": -1, "kind": LEAF, "threshold": np.nan, "missing": STOP}
        for name in OF_TESTS:
            own = getattr(self, name)
            test = self.node_count + 1 if name == "first_child" else own[node]
            self._extend(name, _in_order(branches, grown, name, test, at_leaf[name], own.dtype))
        value, gain = self._of_node("value", node), self._of_node("gain", node)
        known = {"value": (value, value), "gain": (gain, 0.0)}  # what the node above the branches holds, and an empty leaf
        for name, pieces in self._pieces.items():
            pieces.append(_in_order(branches, grown, name, *known.get(name, (0, 0)), pieces[0].dtype))
        self.node_count = start

    def _of_node(self, name: str, node: int) -> Any:
        for piece in self._pieces[name]:
            if node < len(piece):
                break
            node -= len(piece)
        return piece[node]

    def _add_categories(self, node: int, branches: list[Grown | None], grown: list[Grown]) -> None:
        own = entries_of(self, node)
        sizes = [np.array([own.stop - own.start, *(0 if b is None else b["categories_start"][1] for b in branches)])]
        sizes += [np.diff(branch["categories_start"][1:]) for branch in grown]
        self._extend("categories_start", self.categories_start[-1] + np.cumsum(np.concatenate(sizes)))
        for name in OF_CATEGORIES:
            firsts = [branch[name][: branch["categories_start"][1]] for branch in grown]
            rest = [branch[name][branch["categories_start"][1] :] for branch in grown]
            self._extend(name, np.concatenate([getattr(self, name)[own], *firsts, *rest]))

    def _extend(self, name: str, more: npt.NDArray[Any]) -> None:
        array, n = getattr(self, name), len(getattr(self, name))
        need = n + len(more)
        if name not in self._room or need > len(self._room[name]):
            self._room[name] = np.empty(MORE_ROOM * need, array.dtype)
            self._room[name][:n] = array
        self._room[name][n:need] = more
        setattr(self, name, self._room[name][:need])


def _in_order(
    branches: list[Grown | None], grown: list[Grown], name: str, test: Any, at_leaf: Any, dtype: np.dtype[Any]
) -> npt.NDArray[Any]:
    """Return what new nodes hold: the one above the branches, the first node of each branch, and the others."""
    firsts = [at_leaf if branch is None else branch[name][0] for branch in branches]
    return np.concatenate([np.array([test, *firsts], dtype), *(branch[name][1:] for branch in grown)])


def branches_of(tree: Tree | NodesBehind, node: int, column: npt.NDArray[np.generic]) -> npt.NDArray[np.intp]:
    """Return the branch of each value of a node's feature, -1 if it is missing."""
    if tree.kind[node] == THRESHOLD:
        branch = (column > tree.threshold[node]).astype(np.intp)
    elif tree.kind[node] == NOMINAL:
        entries = entries_of(tree, node)
        branch_of = np.full(int(tree.categories_code[entries].max()) + 1, -1, np.intp)
        branch_of[tree.categories_code[entries]] = tree.categories_branch[entries]
        branch = branch_of[column]
    else:
        branch = column.astype(np.intp) - 1
    return np.where(is_missing(column), -1, branch)


def entries_of(tree: Tree | NodesBehind, node: int) -> slice:
    """Return where the categories of a node's test are."""
    return slice(int(tree.categories_start[node]), int(tree.categories_start[node + 1]))
