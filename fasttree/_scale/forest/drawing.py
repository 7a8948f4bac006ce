"""Drivers of trees of a forest: a node searches the features that it draws.

A node has a key that follows from the seed of the tree and the node's path, so that it draws what it draws in memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._engine.forest import drawn_features, key_of
from fasttree._scale.frontier import Driver
from fasttree._scale.groups import Groups
from fasttree._scale.messages import Counts
from fasttree._scale.nodes import TreeNode


class Draws(NamedTuple):
    """How the nodes of a tree draw features.

    Parameters
    ----------
    seed : int
        Seed of the tree.
    order : intp array of shape (n_features,)
        The features in the order of the tree, in which the first one wins ties if a node searches all.
    most : int
        Features that a node draws, if one of them varies.
    """

    seed: int
    order: npt.NDArray[np.intp]
    most: int


class Drawing(Driver):
    """Grow the nodes of a tree that are too large for memory, each from the features that it draws.

    Parameters
    ----------
    draws : Draws
    *given, **limits
        See `Driver`.
    """

    def __init__(self, draws: Draws, *given: Any, **limits: Any) -> None:
        super().__init__(*given, **limits)
        self._draws = draws
        self._n_drawn: dict[int, int] = {}  # features, by node

    def _new_node(self, statistics: Counts, parent: TreeNode | None) -> TreeNode:
        node = super()._new_node(statistics, parent)
        node.key = key_of(self._draws.seed, -1) if parent is None else key_of(parent.key, node.id - parent.first_child)
        return node

    def _search(self, node: TreeNode, histogram: Counts) -> None:
        """Draw the features of a node, and search it from its histogram on."""
        node.histogram, node.groups = histogram.copy(), []
        self._draw(node)
        self._searching.append(node)

    def _draw(self, node: TreeNode) -> bool:
        """Draw features until enough are, one of which may vary; whether one of them may."""
        assert node.histogram is not None
        assert node.groups is not None
        order = self._draws.order[drawn_features(node.key, len(self._draws.order))].tolist()
        n_drawn = self._n_drawn.get(node.id, 0)
        added = False
        while n_drawn < len(order) and (n_drawn < self._draws.most or not added):
            feature = order[n_drawn]
            n_drawn += 1
            first, last = self._first_cell[feature : feature + 2].tolist()
            cells = node.histogram[first:last]
            occupied = np.flatnonzero(cells[:, 0])
            if len(occupied) > 1 or not self._single[first + occupied[0]]:
                node.groups.append(self._groups_of(node, feature, cells))
                added = True
        self._n_drawn[node.id] = n_drawn
        return added

    def _groups_of(self, node: TreeNode, feature: int, cells: Counts) -> Groups:
        return Groups(feature, cells, self._columns.edges[feature], self._judge.is_ordered(feature))

    def _is_unsettled(self, node: TreeNode) -> bool:
        """Draw further features if all are constant, which bins may show late."""
        while True:
            if super()._is_unsettled(node):
                return True
            assert node.groups is not None
            if any(_varies(groups) for groups in node.groups) or not self._draw(node):
                return False


class OnLists(Drawing):
    """The driver of a tree that grows on lists in memory: all features of a node compete in the order of the tree, or some do."""

    def _search(self, node: TreeNode, histogram: Counts) -> None:
        if self._draws.most < len(self._draws.order):
            super()._search(node, histogram)
            return
        Driver._search(self, node, histogram)
        self._n_drawn[node.id] = len(self._draws.order)
        place = np.argsort(self._draws.order)
        assert node.groups is not None
        node.groups.sort(key=lambda groups: int(place[groups.feature]))


def _varies(groups: Groups) -> bool:
    return len(groups.statistics) > 1 or bool(groups.missing[0]) or not groups.closed.all()
