"""Which part of a tree is shown: some levels, or as many nodes as a page holds, the heaviest opened first.

This file knows arrays; every way of drawing a tree folds by it, so that text, picture and page show the same part.
"""

from __future__ import annotations

import heapq
import itertools
import math

import numpy as np
import numpy.typing as npt

from ._tree import Tree
from ._words import check_count

__all__ = ["below", "opened"]


def opened(tree: Tree, *, max_depth: int | None = None, max_nodes: int | None = None) -> npt.NDArray[np.bool_]:
    """Tell which nodes show their children.

    Nodes are opened from the root on, always the heaviest of those in sight, while the nodes in sight stay within `max_nodes`; of
    equal weights that with the lowest id.  A node whose children would be too many is left closed, lighter ones are still asked.

    Parameters
    ----------
    tree : Tree
    max_depth : int or None, default None
        Levels of branches to show; None: all.
    max_nodes : int or None, default None
        Nodes to show, the root included; None: all.

    Returns
    -------
    array of bool, shape (n,)
        False at leaves, at what is folded, and below it.

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
    """Count what hangs below each node.

    Returns
    -------
    n_nodes : array of int64, shape (n,)
        Nodes below each node, itself not counted.
    depth : array of int32, shape (n,)
        Tests on the longest path below it; 0 at a leaf.
    """
    n_nodes = np.zeros(tree.node_count, dtype=np.int64)
    depth = np.zeros(tree.node_count, dtype=np.int32)
    levels = [*np.flatnonzero(np.diff(tree.depth(), prepend=-1)).tolist(), tree.node_count]
    for start, stop in reversed(list(itertools.pairwise(levels[1:]))):
        parents = tree.parent[start:stop]
        np.add.at(n_nodes, parents, n_nodes[start:stop] + 1)
        np.maximum.at(depth, parents, depth[start:stop] + 1)
    return n_nodes, depth
