"""Steps of growth that need the finished tree: best-first selection, monotone bounds, C4.5's collapse."""

from __future__ import annotations

import heapq

import numpy as np

from fasttree._data.cells import Floats
from fasttree._engine import passes
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe
from fasttree._model.arrays import STOP
from fasttree._model.tree import Tree

RELEASE8_TOLERANCE = 1e-3
C50_SHARE = 0.999  # of a node's errors, which its branches must fall below in C5.0


def with_missing_to_more_samples(tree: Tree) -> Tree:
    """Return a tree that sends missing values, if no surrogate decides, to the child of more samples; if equal, they stop."""
    inner = np.flatnonzero(tree.n_branches)
    low, high = (tree.n_samples[tree.first_child[inner] + branch] for branch in (0, 1))
    missing = tree.missing.copy()
    missing[inner] = np.where(low == high, STOP, low < high)
    return tree.replace(missing=missing)


def deepest(limits: Limits, n_samples: int) -> int:
    """Return the largest depth that a node can have within the limits; -1 if there is none."""
    by_leaves = None if limits.max_leaf_nodes is None else limits.max_leaf_nodes - 1
    given = [limit for limit in (limits.max_depth, by_leaves) if limit is not None]
    return min(*given, n_samples) if given else -1


def most_splits(limits: Limits, recipe: Recipe, n_samples: int) -> int:
    """Return the number of splits of best-first growth if all are binary and none is taken back before the choice; else 0."""
    into_two = recipe.nominal in ("subset", "one_vs_rest") and recipe.ordinal == "threshold" and recipe.continuous != "intervals"
    if limits.max_leaf_nodes is None or not into_two or recipe.missing == "branch":
        return 0
    taken_back = recipe.release8 or limits.split_p_value is not None
    return 0 if taken_back else min(limits.max_leaf_nodes - 1, n_samples)


def best_first(tree: Tree, max_leaf_nodes: int) -> Tree:
    """Return the tree of best-first growth: the leaf of largest weight x gain is always split next.

    A node's split does not depend on when it is made, so the tree is grown in any order and cut back.  A split with more branches
    than leaves are left is not made.  Ties go to the node that comes first, level by level.
    """
    if tree.n_leaves <= max_leaf_nodes:
        return tree
    priority = tree.weight * tree.gain
    kept = np.zeros(tree.node_count, dtype=bool)
    waiting, n_leaves = [(-float(priority[0]), 0)], 1
    while waiting and n_leaves < max_leaf_nodes:
        _, node = heapq.heappop(waiting)
        n_branches, first = int(tree.n_branches[node]), int(tree.first_child[node])
        if n_leaves + n_branches - 1 > max_leaf_nodes:
            continue
        kept[node] = True
        n_leaves += n_branches - 1
        for child in range(first, first + n_branches):
            if tree.n_branches[child]:
                heapq.heappush(waiting, (-float(priority[child]), child))
    return tree.prune_at(~kept)


def with_values_in_bounds(tree: Tree, monotone: tuple[int, ...]) -> Tree:
    """Return the tree with all predictions in order: as in scikit-learn, values beyond a node's bounds become the bounds."""
    value = tree.value.copy()
    directions = np.array(monotone, dtype=np.int8)
    passes.clip_values(
        tree.first_child, tree.n_branches, tree.feature, tree.kind, directions, tree.task == "classification", value
    )
    return tree.replace(value=value)


def tolerated_errors(errors: Floats, rank: str) -> Floats:
    """Return by how many errors the branches of each node must be better than a leaf for C4.5's collapse to leave its split."""
    return (1 - C50_SHARE) * errors if rank == "mdl_gain_ratio" else np.full(len(errors), RELEASE8_TOLERANCE)


def without_useless_splits(tree: Tree, rank: str) -> Tree:
    """Return the tree after C4.5's collapse: a split that does not reduce the training errors becomes a leaf (Quinlan 1993)."""
    useless = np.empty(tree.node_count, dtype=np.uint8)
    errors = tree.errors
    none = np.zeros(tree.node_count)
    passes.useless_splits(tree.parent, tree.first_child, errors, tolerated_errors(errors, rank), none, useless)
    return tree.prune_at(useless.astype(bool)) if useless.any() else tree
