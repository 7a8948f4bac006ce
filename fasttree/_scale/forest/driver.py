"""The driver of a tree of a forest over shards: a node searches the features that it draws.

Draws, ties and limits are those of the drawn layout in memory (`_engine/drawn`), so the tree is the same.  The rows of a
shard have a sample as often as the bag.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cmp_to_key
from typing import NamedTuple

import numpy as np

from fasttree._data.schema import Kind, Schema
from fasttree._engine.rounds import Judge, Setting
from fasttree._learn.grow.drawn import DrawnLimits
from fasttree._scale.forest.drawing import Drawing, Draws
from fasttree._scale.frontier import Budget, Counting, Features
from fasttree._scale.groups import Decision, Groups, Sides
from fasttree._scale.messages import Counts, Requests
from fasttree._scale.nodes import TreeNode

RELATIVE_TIE = 1e-10  # as in `_engine/types.pxd`
NO_DEPTH = 2**31 - 1


class RoundsPlan(NamedTuple):
    """What the trees of a forest share that grow in rounds.

    Parameters
    ----------
    setting : Setting
    limits : DrawnLimits
    schema : Schema
    columns : Features
    n_classes : int
        0 for numbers.
    """

    setting: Setting
    limits: DrawnLimits
    schema: Schema
    columns: Features
    n_classes: int

    @property
    def finds_first(self) -> bool:
        """Whether the class of a node's first row matters: the order of two groups of categories follows from it."""
        return self.n_classes > 0 and any(feature.kind == Kind.NOMINAL for feature in self.schema.features)


class DrawnDriver(Drawing):
    """Grow the nodes of a tree that are too large for memory.

    Parameters
    ----------
    plan : RoundsPlan
    seed : int
        Seed of the tree.
    budget : Budget
    """

    def __init__(self, plan: RoundsPlan, seed: int, budget: Budget) -> None:
        depth, n_features = plan.limits.max_depth, len(plan.schema.features)
        draws = Draws(seed, np.arange(n_features), plan.limits.max_features)
        deepest = -1 if depth == NO_DEPTH else depth
        super().__init__(draws, plan.setting, 1.0, plan.n_classes, plan.columns, budget, max_depth=deepest)
        self.counted = [0] if plan.finds_first else []  # nodes of which the next round finds the class of the first row
        self.first_class: dict[int, int] = {}  # of these nodes
        self._plan = plan

    def ends(self) -> list[TreeNode]:
        """Return the leaves that no growth in memory takes."""
        handed = {node.id for node in self.handed}
        return [node for node in self.nodes if node.first_child < 0 and node.id not in handed]

    def _may_be_split(self, node: TreeNode) -> bool:
        limits = self._plan.limits
        n, weight = node.statistics[:2].tolist()
        if node.depth >= limits.max_depth or n < max(limits.min_samples_split, 2 * limits.min_samples_leaf):
            return False
        if weight < 2 * limits.min_weight_leaf:
            return False
        if self._n_classes:
            return bool(np.count_nonzero(node.statistics[2:]) > 1)
        return not node.is_measured or node.risk > 0

    def _requests(self, started: Sequence[Counting]) -> tuple[Requests, list[Groups]]:
        nodes = [node for wait in started for node in (wait.counted, wait.rest) if node is not None]
        self.counted = [node.id for node in nodes] if self._plan.finds_first else []
        return super()._requests(started)

    def _groups_of(self, node: TreeNode, feature: int, cells: Counts) -> Groups:
        classes = np.flatnonzero(node.statistics[2:]) if self._n_classes else np.zeros(0, dtype=np.intp)
        if self._plan.schema.features[feature].kind == Kind.NOMINAL and len(classes) <= 2:
            second = int(classes.sum()) - self.first_class[node.id] if self._n_classes else 0
            return Categories(feature, cells, node.statistics, second, self._plan)
        return Groups(feature, cells, self._columns.edges[feature], True)

    def _accepts(self, cut: Decision) -> bool:
        return cut.gain >= self._plan.limits.min_gain * (1 - RELATIVE_TIE)

    def _split(self, node: TreeNode, cut: Decision, whole: Counts | None) -> None:
        super()._split(node, cut, whole)
        if cut.missing < 0:  # a missing value that training did not have goes where more samples went
            node.missing = int(2 * cut.left[1] <= node.statistics[1])


class Categories(Groups):
    """Categories of a nominal feature in a node, of which two groups are neighbours in the order of the means.

    Parameters
    ----------
    feature : int
    histogram : int64 array of shape (n_codes, width)
    node : int64 array of shape (width,)
        Statistics of the node.
    second : int
        The class that occurs besides that of the first row; ignored for numbers.
    plan : RoundsPlan
    """

    def __init__(self, feature: int, histogram: Counts, node: Counts, second: int, plan: RoundsPlan) -> None:
        super().__init__(feature, histogram, None, False)
        self._node, self._limits, self._column = node, plan.limits, 2 + second
        weight = float(node[1])
        self._mean = 0 if plan.n_classes else int(np.floor(float(node[2]) / weight))
        self._scale = (2.0 if plan.n_classes else 1.0) / weight
        self._total = float(self._sum(node))
        self._order = sorted(range(len(self.statistics)), key=cmp_to_key(self._compare))

    def _compare(self, one: int, other: int) -> int:
        """Compare the means of two categories without a division, so exactly; equal ones are in the order of their codes."""
        a, b = self.statistics[one], self.statistics[other]
        left, right = float(self._sum(a)) * float(b[1]), float(self._sum(b)) * float(a[1])
        return one - other if left == right else -1 if left < right else 1

    def _sum(self, row: Counts) -> int:
        return int(row[self._column]) - self._mean * int(row[1])

    def judge(self, judge: Judge, limit: float) -> None:
        """Find the largest gain; there is nothing inside a category."""
        self.best = max((gain for gain, _, _ in self._cuts()), default=-np.inf)

    def cut(self, judge: Judge, limit: float) -> Decision | None:
        """Return the first cut of a gain of at least `limit`, or None."""
        for gain, n_left, missing_left in self._cuts():
            if gain < limit:
                continue
            if n_left == len(self._order):
                return self._known(gain)
            branches = np.ones(len(self._order), dtype=np.uint8)
            branches[self._order[:n_left]] = 0
            left = self.statistics[branches == 0].sum(axis=0) + (self.missing if missing_left else 0)
            sides: Sides = np.zeros(self._n_codes, dtype=np.uint8)
            sides[self.codes] = branches
            sides[0] = not missing_left
            return Decision(self.feature, gain, left, int(not missing_left) if self.missing[0] else -1, sides, branches, -1)
        return None

    def _cuts(self) -> Iterator[tuple[float, int, bool]]:
        """Yield gain, categories on the left, and whether missing values are there, of the cuts that are allowed."""
        has_missing = bool(self.missing[0])
        left = np.zeros_like(self._node)
        for i, group in enumerate(self._order):
            left = left + self.statistics[group]
            for missing_left in (False, True) if has_missing else (False,):
                if i + 1 == len(self._order) and (missing_left or not has_missing):
                    continue
                side = left + self.missing if missing_left else left
                if self._is_allowed(side):
                    yield self._gain(side), i + 1, missing_left

    def _is_allowed(self, left: Counts) -> bool:
        n_min, w_min = max(self._limits.min_samples_leaf, 1), max(self._limits.min_weight_leaf, 1.0)
        return bool(n_min <= left[0] <= self._node[0] - n_min and w_min <= left[1] <= self._node[1] - w_min)

    def _gain(self, left: Counts) -> float:
        weight, all_weight = float(left[1]), float(self._node[1])
        d = all_weight * float(self._sum(left)) - self._total * weight
        return d * d / (weight * (all_weight - weight)) * self._scale
