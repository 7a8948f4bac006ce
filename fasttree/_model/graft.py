"""`graft`: a tree in the place of a node of another."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._engine.passes import breadth_first
from fasttree._model.arrays import THRESHOLD
from fasttree._model.surrogates import OF_ENTRIES, Surrogates
from fasttree._model.tested import NodeTest, TestedTree
from fasttree._model.tree import Tree

OF_TESTS = ("n_branches", "feature", "kind", "threshold", "missing", "gain")
OF_SAMPLES = ("n_samples", "weight", "value", "impurity")


def graft(tree: Tree, node: int, branch: Tree) -> Tree:
    """Return a tree in which a node has the test of the root of another tree, and the nodes below that.

    Parameters
    ----------
    tree : Tree
        The tree; what was below the node is removed.
    node : int
        The node, which keeps its samples and values.
    branch : Tree
        A tree of the same features and targets, grown on the samples of the node.

    Returns
    -------
    Tree
        The tree, not checked.  It has no `estimated_errors`.  Thresholds of a tree without soft thresholds get some without
        width if the other tree has them.
    """
    above = tree.prune_at(np.arange(tree.node_count) == node)
    if branch.n_branches[0] == 0:
        return above
    n_above, moved = above.node_count, np.arange(1, branch.node_count)
    order = np.concatenate([np.arange(n_above), n_above + moved])  # of the nodes of both trees, one after the other
    order_of_tests = order.copy()
    order_of_tests[node] = n_above

    def joined(name: str, index: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        return np.concatenate([_array(above, name), _array(branch, name)])[index]

    first_child = np.concatenate([above.first_child, branch.first_child + (n_above - 1)])[order_of_tests]
    n_branches = joined("n_branches", order_of_tests)
    soft = ("lower", "upper") if above.lower is not None or branch.lower is not None else ()
    by_hand = ("by_hand",) if above.by_hand is not None or branch.by_hand is not None else ()
    grafted = Tree.from_growth(
        task=tree.task,
        n_features=tree.n_features,
        first_child=np.where(n_branches > 0, first_child, -1).astype(np.int32),
        categories_start=np.concatenate([above.categories_start[:-1], above.categories_code.size + branch.categories_start[:-1]])[
            order_of_tests
        ],
        categories_size=np.concatenate([np.diff(above.categories_start), np.diff(branch.categories_start)])[order_of_tests],
        categories_code=np.concatenate([above.categories_code, branch.categories_code]),
        categories_branch=np.concatenate([above.categories_branch, branch.categories_branch]),
        **_joined_cuts(above, branch, order_of_tests),
        surrogates=_joined_surrogates(above, branch, order_of_tests),
        outputs=tree.outputs,
        loss=tree.loss,
        **{name: joined(name, order_of_tests) for name in (*OF_TESTS, *soft, *by_hand)},
        **{name: joined(name, order) for name in OF_SAMPLES},
    )
    return _with_tests(grafted, above, branch, order_of_tests, first_child)


def _with_tests(grafted: Tree, above: Tree, branch: Tree, order: npt.NDArray[np.intp], first_child: npt.NDArray[Any]) -> Tree:
    """Return the tree with the significance tests of both, if the first has any; nodes without tests get empty ones."""
    if not isinstance(above, TestedTree):
        return grafted
    others = branch.tests if isinstance(branch, TestedTree) else (NodeTest(),) * branch.node_count
    tests = [(*above.tests, *others)[i] for i in order.tolist()]
    n_branches = np.array([*above.n_branches, *branch.n_branches], np.int32)[order]
    children = np.where(n_branches > 0, first_child, -1).astype(np.int32)
    return TestedTree.of(grafted, [tests[i] for i in breadth_first(children, n_branches).tolist()])


def _array(tree: Tree, name: str) -> npt.NDArray[Any]:
    """Return an array of a tree, or what an optional one would be."""
    array: npt.NDArray[Any] | None = getattr(tree, name)
    if array is not None:
        return array
    return np.zeros(tree.node_count, np.bool_) if name == "by_hand" else np.where(tree.kind == THRESHOLD, tree.threshold, np.nan)


def _joined_cuts(above: Tree, branch: Tree, order: npt.NDArray[np.intp]) -> dict[str, Any]:
    if above.cut is None and branch.cut is None:
        return {}
    starts, sizes, cuts, n_cuts = [], [], [], 0
    for tree in (above, branch):
        start = np.zeros(tree.node_count + 1, np.int64) if tree.cut_start is None else tree.cut_start
        starts.append(start[:-1] + n_cuts)
        sizes.append(np.diff(start))
        if tree.cut is not None:
            cuts.append(tree.cut)
            n_cuts += tree.cut.size
    return {"cut_start": np.concatenate(starts)[order], "cut_size": np.concatenate(sizes)[order], "cut": np.concatenate(cuts)}


def _joined_surrogates(above: Tree, branch: Tree, order: npt.NDArray[np.intp]) -> Surrogates | None:
    """Return the surrogates of both trees in the order of the nodes of the new one."""
    if above.surrogates is None and branch.surrogates is None:
        return None
    both = [_none_of(tree.node_count) if tree.surrogates is None else tree.surrogates for tree in (above, branch)]
    arrays = {name: np.concatenate([getattr(each, name) for each in both]) for name in OF_ENTRIES}
    for name in ("categories_code", "categories_branch"):
        arrays[name] = np.concatenate([getattr(each, name) for each in both])
    for name in ("start", "categories_start"):
        first, second = (getattr(each, name) for each in both)
        arrays[name] = np.concatenate([first, first[-1] + second[1:]])
    return Surrogates(**arrays).of_nodes(order)


def _none_of(n_nodes: int) -> Surrogates:
    """Return the surrogates of a tree that has none."""
    empty: dict[str, Any] = {field.name: [] for field in fields(Surrogates)}
    return Surrogates(**empty | {"start": np.zeros(n_nodes + 1, np.int64), "categories_start": [0]})
