"""Selection of the part of a tree to show: some levels, or a number of nodes, the heaviest opened first.

Text, pictures and pages all use it and therefore show the same part.
"""

from __future__ import annotations

import heapq
import itertools
import math

import numpy as np
import numpy.typing as npt

from fasttree._model.tree import Tree
from fasttree._model.words import check_count

__all__ = ["below", "opened"]


def opened(tree: Tree, *, max_depth: int | None = None, max_nodes: int | None = None) -> npt.NDArray[np.bool_]:
    """Return which nodes show their children.

    Starting from the root, the heaviest visible node is opened (of equal weights, that with the lowest id) while at most
    `max_nodes` nodes are visible.  A node with too many children stays closed, and lighter nodes are tried.

    Parameters
    ----------
    tree : Tree
    max_depth : int or None, default None
        Levels of branches to show; None for all.
    max_nodes : int or None, default None
        Largest number of nodes to show, the root included; None for all.

    Returns
    -------
    array of bool, shape (n,)
        False at leaves, at closed nodes, and below them.

    Raises
    ------
    ValueError
        If `max_depth` is negative or `max_nodes` is below 1.
    """
    for name, number, least in (("max_depth", max_depth, 0), ("max_nodes", max_nodes, 1)):
        if number is not None:
            check_count(name, number, least)
    inner = tree.n_branches > 0
    if max_depth is not None:
        inner &= tree.depth() < max_depth
    if max_nodes is None or tree.node_count <= max_nodes:
        return inner
    is_open = np.zeros(tree.node_count, dtype=np.bool_)
    room = int(max_nodes) - 1
    waiting = [(-math.inf, 0)] if inner[0] else []
    while waiting and room > 1:
        node = heapq.heappop(waiting)[1]
        n_branches = int(tree.n_branches[node])
        if n_branches > room:
            continue
        room -= n_branches
        is_open[node] = True
        first = int(tree.first_child[node])
        for child in range(first, first + n_branches):
            if inner[child]:
                heapq.heappush(waiting, (-float(tree.weight[child]), child))
    return is_open


def below(tree: Tree) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return the size of the subtree below each node.

    Returns
    -------
    n_nodes : array of int64, shape (n,)
        Number of nodes below each node, without the node itself.
    depth : array of int32, shape (n,)
        Number of tests on the longest path below it; 0 at a leaf.
    """
    n_nodes = np.zeros(tree.node_count, dtype=np.int64)
    depth = np.zeros(tree.node_count, dtype=np.int32)
    levels = [*np.flatnonzero(np.diff(tree.depth(), prepend=-1)).tolist(), tree.node_count]
    for start, stop in reversed(list(itertools.pairwise(levels[1:]))):
        parents = tree.parent[start:stop]
        np.add.at(n_nodes, parents, n_nodes[start:stop] + 1)
        np.maximum.at(depth, parents, depth[start:stop] + 1)
    return n_nodes, depth
