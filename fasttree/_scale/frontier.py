"""The driver of a growth over shards.

Every open node is counted, divided into finer groups where its best cut may lie, and split as soon as no cut elsewhere can
reach the best one known.  Nodes do not wait for one another: a round asks what all of them need next.  A node whose rows fit into
memory is left to the growth in memory.
"""

from __future__ import annotations

import contextlib
import heapq
import math
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

import numpy as np

from fasttree._engine.rounds import Judge, Setting, value_of_key
from fasttree._model.arrays import KNOWN, NOMINAL, STOP, THRESHOLD
from fasttree._scale.cluster import Cluster
from fasttree._scale.groups import Decision, Groups, Sides
from fasttree._scale.messages import LAST_KEY, Counts, Keys, Question, Reply, Requests, Route
from fasttree._scale.nodes import TreeNode

ROUNDING = 1e-9  # a gain is at most the node's risk, but for rounding
MOST_LEVELS = 20  # of them no table has too many rows
FEWEST_PARTS = 16  # of a cell, unless the budget allows fewer
MOST_PARTS = 2**8  # of a cell, unless the feature has few of them
PARTS_OF_FEATURE = 2**12  # that few cells share: the finer they are, the fewer rounds follow
ROWS_OF_NODE = 2**11  # to search a node in rounds takes as long as to bring so many rows into memory and sort their columns
KEY_BYTES = 16  # of a part: its smallest and its largest key


class Budget(NamedTuple):
    """What divides the work into rounds and subtrees; the tree does not depend on it.

    Parameters
    ----------
    rows : int
        Largest node that is grown in memory.
    reply_bytes : int
        Most bytes of the histograms, and of the parts, in one round.
    most_parts : int
        Most parts of a cell in one round; at least 2.
    most_nodes : int
        Most nodes of a tree; more raise an error.
    """

    rows: int
    reply_bytes: int = 2**28
    most_parts: int = PARTS_OF_FEATURE
    most_nodes: int = 2**31 - 1


class Features(NamedTuple):
    """What the driver knows of the features.

    Parameters
    ----------
    edges : list of uint64 array or None
        Edges of the bins of a continuous feature; None: its codes are categories.
    n_codes : list of int
        Bins or categories, and one more.
    single : list of bool
        Whether keys are those of single-precision numbers.
    """

    edges: list[Keys | None]
    n_codes: list[int]
    single: list[bool]


class Counting(NamedTuple):
    """A node to count, and perhaps its sibling, whose histogram is what the node leaves of their parent's."""

    counted: TreeNode
    rest: TreeNode | None
    whole: Counts | None


class Driver:
    """Grow the nodes of a tree that are too large for memory.

    Parameters
    ----------
    setting : Setting
    unit : float
        Weight of one quantum of the fixed-point weights.
    n_classes : int
        0 for numbers.
    columns : Features
    budget : Budget
    max_depth : int, default=-1
        Largest depth; -1: there is none.
    most_splits : int, default=0
        Number of splits of best-first growth; 0: all.
    report : callable or None, default=None
        Is called after every round with the share that is done: of the rows, times the levels of the tree below each.
    """

    def __init__(
        self,
        setting: Setting,
        unit: float,
        n_classes: int,
        columns: Features,
        budget: Budget,
        *,
        max_depth: int = -1,
        most_splits: int = 0,
        refuses_missing: bool = False,
        report: Callable[[float], object] | None = None,
    ) -> None:
        self.log: list[Route] = []
        self.nodes: list[TreeNode] = []
        self.handed: list[TreeNode] = []
        self.n_rounds = 0
        self._setting, self._judge = setting, Judge(setting)
        self._unit, self._n_classes = unit, n_classes
        self._columns, self._budget = columns, budget
        self._first_cell = np.cumsum([0, *columns.n_codes])
        self._single = np.ones(self._first_cell[-1], dtype=np.uint8)  # bins of one value, and categories
        for first, edges in zip(self._first_cell[:-1], columns.edges, strict=True):
            if edges is not None:
                self._single[first + 1 : first + len(edges)] = np.diff(edges) == 1
        self._most_splits, self._reaches = most_splits, list[float]()
        self._max_depth = max_depth
        self._refuses_missing = refuses_missing
        self._report = report
        self._reported = 0  # splits whose neighbours are known
        self._waiting: list[Counting] = []
        self._searching: list[TreeNode] = []
        self._measuring: list[TreeNode] = []

    def grow(self, cluster: Cluster) -> None:
        """Grow all nodes but those below `handed`, from the rows of a cluster."""
        rounds = self.rounds()
        with contextlib.suppress(StopIteration):
            requests = next(rounds)
            while True:
                requests = rounds.send(cluster.ask(self.log, requests))

    def rounds(self) -> Generator[Requests, Reply, None]:
        """Yield the requests of each round, and grow by the replies that are sent: all nodes but those below `handed`."""
        self.n_rounds += 1
        self._open_root((yield Requests(count=[0])).counts[0])
        while self._waiting or self._searching or self._measuring or self._reported < len(self.log):
            started = self._start()
            requests, divided = self._requests(started)
            self.n_rounds += 1
            reply = yield requests
            self._read_neighbours(reply)
            self._read_targets(requests, reply)
            self._read_parts(requests.divide, divided, reply)
            for wait, histogram in zip(started, reply.counts, strict=True):
                self._read_histogram(wait, histogram)
            self._settle()
            if self._report is not None:
                self._report(self._share_done())

    def _share_done(self) -> float:
        unfinished = [*self._searching, *(node for wait in self._waiting for node in (wait.counted, wait.rest) if node)]
        left = sum(node.n_samples * self._levels_left(node) for node in unfinished if node.is_open)
        return 1 - left / (self.nodes[0].n_samples * self._levels_left(self.nodes[0]))

    def _levels_left(self, node: TreeNode) -> float:
        """Return about how many levels grow below a node until its rows fit into memory, or the tree is deep enough."""
        levels = 1 + math.log2(max(node.n_samples / max(self._budget.rows, 1), 1))
        return levels if self._max_depth < 0 else min(levels, self._max_depth - node.depth + 1)

    # Nodes

    def _open_root(self, histogram: Counts) -> None:
        """Open the root, of which the histogram shows what it contains."""
        root = self._new_node(histogram[: self._first_cell[1]].sum(axis=0), None)
        if root.is_open and not self._fits(root):
            self._search(root, histogram)
        else:
            self._open([root], None)

    def _new_node(self, statistics: Counts, parent: TreeNode | None) -> TreeNode:
        """Add a node, of which the statistics are known, to the tree."""
        depth, reach = (0, np.inf) if parent is None else (parent.depth + 1, parent.reach)
        if self._n_classes:
            weight, impurity, risk = self._judge.class_node(statistics)
            value = statistics[2:].astype(np.float64) * self._unit
        else:
            weight, impurity, risk = float(statistics[1]) * self._unit, np.inf, np.inf if parent is None else parent.risk
            value = np.zeros(1)
        node = TreeNode(
            len(self.nodes), depth, statistics, value, weight, impurity, risk, self._n_classes > 0,
            parent=-1 if parent is None else parent.id, reach=reach,
        )  # fmt: skip
        self.nodes.append(node)
        node.is_open = self._may_be_split(node)
        if not node.is_measured and not (node.is_open and self._fits(node)):
            self._measuring.append(node)
        return node

    def _may_be_split(self, node: TreeNode) -> bool:
        return not self._judge.is_leaf(node.statistics, node.impurity, node.depth) and not self._is_beyond(node)

    def _fits(self, node: TreeNode) -> bool:
        """Whether the growth in memory takes an open node."""
        rows = self._budget.rows
        if self._max_depth >= 0:  # there are at most 2**levels nodes below, and near the largest depth few
            rows = min(rows, ROWS_OF_NODE << min(self._max_depth - node.depth, MOST_LEVELS))
        return node.n_samples <= rows

    def _is_beyond(self, node: TreeNode) -> bool:
        """Whether best-first growth never splits a node: as `grow/frontier` of the engine."""
        if not self._most_splits or len(self._reaches) < self._most_splits:
            return False
        return min(node.reach, node.risk) * (1 + ROUNDING) < self._reaches[0]

    def _note_reach(self, reach: float) -> None:
        if self._most_splits:
            heapq.heappush(self._reaches, reach)
            if len(self._reaches) > self._most_splits:
                heapq.heappop(self._reaches)

    def _open(self, nodes: Sequence[TreeNode], whole: Counts | None) -> None:
        """Hand over the new nodes that fit into memory, and let the others wait; `whole` is the histogram of both."""
        searched = []
        for node in nodes:
            if node.is_open and self._fits(node):
                self.handed.append(node)
            elif node.is_open:
                searched.append(node)
        small = min(nodes, key=lambda node: node.n_samples)
        large = [node for node in searched if node is not small]
        held = sum(wait.whole is not None for wait in self._waiting) * self._histogram_bytes()
        if large and whole is not None and held < self._budget.reply_bytes:
            self._waiting.append(Counting(small, large[0], whole))
        else:
            self._waiting += [Counting(node, None, None) for node in searched]

    # Requests

    def _histogram_bytes(self) -> int:
        return int(self._first_cell[-1]) * self._setting.width * 8

    def _start(self) -> list[Counting]:
        """Take nodes to count in this round, within the budget; at least one if nothing else is searched."""
        room = self._budget.reply_bytes // self._histogram_bytes() - len(self._searching)
        started: list[Counting] = []
        while self._waiting and (room > 0 or not (self._searching or started)):
            started.append(self._waiting.pop())
            room -= 2
        return started

    def _limit(self, best: float, risk: float) -> float:
        """The gain from which on a cut of a node may be chosen, where cuts of the gain `best` are known."""
        return self._judge.tie_limit(best, risk) if best > -np.inf else -np.inf

    def _requests(self, started: Sequence[Counting]) -> tuple[Requests, list[Groups]]:
        """The requests of a round, and the groups that each question divides."""
        requests = Requests(since=self._reported, count=[wait.counted.id for wait in started])
        open_groups = [(node, groups) for node in self._searching for groups in node.groups or () if groups.is_open(node.limit)]
        n_cells = [groups.n_open(node.limit) for node, groups in open_groups]
        size = max(sum(n_cells), 1) * (self._setting.width * 8 + KEY_BYTES)
        most = self._budget.most_parts
        most_parts = int(np.clip(self._budget.reply_bytes // size, min(FEWEST_PARTS, most), most))
        for (node, groups), n in zip(open_groups, n_cells, strict=True):
            cells = groups.cells(node.limit, min(most_parts, max(MOST_PARTS, PARTS_OF_FEATURE // n)))
            requests.divide.append(Question(node.id, groups.feature, cells))
        requests.sums = [node.id for node in self._measuring if node.mean is None]
        requests.deviate = [(node.id, node.mean) for node in self._measuring if node.mean is not None]
        return requests, [groups for _, groups in open_groups]

    # Replies

    def _read_neighbours(self, reply: Reply) -> None:
        """Note the values next to the cuts that were routed for the first time."""
        for split, below, above in zip(self.log[self._reported :], reply.below, reply.above, strict=True):
            if split.sides is None:
                single = self._columns.single[split.feature]
                node = self.nodes[split.node]
                node.low, node.high = value_of_key(int(below), single), value_of_key(int(above), single)
        self._reported = len(self.log)

    def _read_targets(self, requests: Requests, reply: Reply) -> None:
        """Complete nodes of numbers: first their mean, then the deviations from it."""
        for i, number in enumerate(requests.sums):
            node = self.nodes[number]
            high, low = map(int, reply.sums[i])
            node.mean = self._judge.mean(int(node.statistics[1]), high, low)
            if reply.y_least[i] == reply.y_most[i]:  # the target itself, and not what rounding makes of it
                node.mean = float(reply.y_least[i])
                self._measured(node, 0.0)
        for (number, _), (high, low) in zip(requests.deviate, reply.deviations.tolist(), strict=True):
            self._measured(self.nodes[number], self._judge.risk(high, low))
        self._measuring = [node for node in self._measuring if not node.is_measured]

    def _measured(self, node: TreeNode, risk: float) -> None:
        node.value, node.risk, node.impurity = np.array([node.mean]), risk, risk / node.weight
        node.is_measured = True
        node.is_open = node.is_open and self._may_be_split(node)

    def _read_parts(self, questions: Sequence[Question], divided: Sequence[Groups], reply: Reply) -> None:
        first = 0
        for question, groups in zip(questions, divided, strict=True):
            parts = slice(first, first + question.cells.n_parts)
            groups.divide(question.cells, reply.parts[parts], reply.least[parts], reply.most[parts])
            first = parts.stop

    def _read_histogram(self, wait: Counting, histogram: Counts) -> None:
        if wait.rest is not None:
            assert wait.whole is not None
            if wait.rest.is_open:
                self._search(wait.rest, wait.whole - histogram)
        if wait.counted.is_open and not self._fits(wait.counted):
            self._search(wait.counted, histogram)

    def _search(self, node: TreeNode, histogram: Counts) -> None:
        """Search a node from its histogram on."""
        node.histogram = histogram.copy()
        self._judge.open(node.statistics, node.risk)
        best, top = self._judge.screen(node.histogram, self._first_cell, self._single, np.inf)
        limit = self._limit(max(best[best < np.inf], default=-np.inf), node.risk)
        node.groups = []
        for feature in np.flatnonzero(np.maximum(best, top) >= limit).tolist():
            cells = node.histogram[self._first_cell[feature] : self._first_cell[feature + 1]]
            node.groups.append(Groups(feature, cells, self._columns.edges[feature], self._judge.is_ordered(feature)))
        self._searching.append(node)

    # Cuts

    def _settle(self) -> None:
        """Route the nodes whose best cut is known, and end the search of those that have none."""
        going_on = []
        for node in self._searching:
            if node.is_open and self._is_unsettled(node):
                going_on.append(node)
                continue
            cut = self._choose(node) if node.is_open else None
            whole, node.histogram, node.groups = node.histogram, None, (node.groups if cut is not None else None)
            node.is_open = False
            if cut is not None:
                self._split(node, cut, whole)
                node.groups = None
        self._searching = going_on

    def _is_unsettled(self, node: TreeNode) -> bool:
        """Judge the groups that are new; whether a cut inside a group, or the risk, may still change the choice."""
        assert node.groups is not None
        self._judge.open(node.statistics, node.risk)
        fresh = [groups for groups in node.groups if groups.fresh]
        for groups in fresh:
            groups.judge(self._judge, np.inf)
            groups.fresh = False
        node.limit = limit = self._limit(max((groups.best for groups in node.groups), default=-np.inf), node.risk)
        if self._n_classes > 2:  # bounds of several classes were rough
            for groups in fresh:
                if groups.has_values and groups.is_open(limit):
                    groups.judge(self._judge, limit)
        return not node.is_measured or any(groups.is_open(limit) for groups in node.groups)

    def _choose(self, node: TreeNode) -> Decision | None:
        """The cut of a node by the rule for ties, if it is accepted."""
        assert node.groups is not None
        self._judge.open(node.statistics, node.risk)
        for groups in node.groups:
            if groups.best > -np.inf and groups.best >= node.limit:
                cut = groups.cut(self._judge, node.limit)
                if cut is not None:
                    return cut if self._accepts(cut) else None
        return None

    def _accepts(self, cut: Decision) -> bool:
        return self._judge.accepts(cut.gain)

    def _split(self, node: TreeNode, cut: Decision, whole: Counts | None) -> None:
        """Route a node, and open its children."""
        assert node.groups is not None
        groups = next(groups for groups in node.groups if groups.feature == cut.feature)
        children = np.stack([cut.left, node.statistics - cut.left])
        node.reach = min(node.reach, cut.gain)
        self._note_reach(node.reach)
        node.first_child, node.feature = len(self.nodes), cut.feature
        node.gain = max(self._judge.gain(children), 0.0) / node.weight
        node.missing = cut.missing if cut.missing >= 0 else int(children[0, 0] <= children[1, 0])
        if self._refuses_missing:
            node.missing = STOP
        key = LAST_KEY
        sides: Sides | None = cut.sides
        if cut.last >= 0:
            node.kind = THRESHOLD
            if groups.has_values:
                key, sides = int(groups.high[cut.last]), None
            else:
                node.low, node.high = float(groups.codes[cut.last]), float(groups.codes[cut.last + 1])
        elif cut.groups is None:
            node.kind = KNOWN
        else:
            node.kind, node.categories = NOMINAL, (groups.codes, cut.groups)
        self.log.append(Route(node.id, node.first_child, cut.feature, key, max(cut.missing, 0), sides))
        self._open([self._new_node(statistics, node) for statistics in children], whole)
