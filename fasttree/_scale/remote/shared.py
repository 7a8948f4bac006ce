"""Trees of a forest that share rounds, because a bag is larger than the memory of a thread of a worker.

A shard has the order of the rows of a few bags.  A round asks what all of these trees need next.  A thread grows the nodes that
fit into its memory.  The trees are those of the forest in memory.
"""

from __future__ import annotations

import itertools
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Feature, Kind, Schema
from fasttree._engine.records import Scale
from fasttree._engine.rounds import Setting, Shard
from fasttree._learn.forest.drawn import Below, DrawnForest, whole_numbers
from fasttree._learn.forest.growing import Forest, pruned
from fasttree._learn.grow.drawn import MOST_DRAWN, drawn_limits
from fasttree._learn.grow.growth import Size, engine_limits, policy_of
from fasttree._model.bags import seed_of_growth
from fasttree._scale.forest.driver import DrawnDriver, RoundsPlan
from fasttree._scale.forest.packing import PackedBelow, joined, leaf_of
from fasttree._scale.frontier import Budget, Features
from fasttree._scale.growing import buckets
from fasttree._scale.messages import LAST_KEY, Keys, Question, Reply, Requests, Route, reply_bytes
from fasttree._scale.nodes import TreeNode
from fasttree._scale.preparation import MOST_SQUARES, Array, Floats, Portion, Weighing, arrays_of
from fasttree._scale.remote import held
from fasttree._scale.remote.held import HeldShard
from fasttree._scale.remote.tasks import combined_on_workers, forget, gathered, message_of
from fasttree._scale.shards import Arrays, Order, Rows, serve
from fasttree._scale.subtree import RowsOfNode
from fasttree._version import __version__

MOST_SHARED = 4  # trees
Counts = npt.NDArray[np.integer]


@dataclass(frozen=True)
class RoundsJob:
    """A forest whose trees share rounds, as the workers need it.

    Parameters
    ----------
    forest : Forest
        Its samples have no rows.
    encode : callable
        Returns the targets of the fit from what the column holds.
    terms : tuple
        The parameters of its `Setting`.
    weight : int
        Weight of a bag.
    counts_rows : bool
        Whether limits are on different samples, and not on the draws alone.
    key : str
    version : str
        The version of fasttree where the fit is.
    """

    forest: Forest
    encode: Callable[[Floats], Array]
    terms: tuple[Any, ...]
    weight: int
    counts_rows: bool
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    version: str = __version__

    def target(self, column: Floats) -> Array:
        """Return the targets as growth adds them up: classes, or whole numbers."""
        grower, target = self.forest.grower, self.encode(column)
        assert grower.whole is not None
        return target if grower.n_classes else whole_numbers(target + 0.0, self.weight, grower.whole)[0]


class AskedOfTree(NamedTuple):
    """What the shards are asked of a tree in a round.

    Parameters
    ----------
    place : int
        Place of the tree among those that share rounds.
    tail : list of Route
        The last splits; earlier ones are sent once for all rounds.
    requests : Requests
    first : list of int
        NodesOfTree of which the class of the first row is asked.
    """

    place: int
    tail: Sequence[Route]
    requests: Requests
    first: Sequence[int]


class AnswerOfTree(NamedTuple):
    """The reply of some shards; `first` has the number of the first row of a node, and in the low 16 bits its class."""

    reply: Reply
    first: Keys


class NodesOfTree(NamedTuple):
    """Some nodes of a tree.

    Parameters
    ----------
    place : int
        Place of the tree among those that share rounds.
    numbers : list of int
    leaves : bool
        Whether they are leaves, which need no columns.
    """

    place: int
    numbers: Sequence[int]
    leaves: bool


class RowsOfShard(NamedTuple):
    """Rows of a shard, and how often each is drawn; a leaf needs no columns."""

    columns: list[Array]
    target: Array
    times: Counts


class _Fit(NamedTuple):
    arrays: Arrays
    shard: Shard
    orders: dict[int, Order]


# On a worker


def split_bags(start: int, stop: int, *bags: Counts) -> list[Counts]:
    """Return how often each bag has the rows of a shard."""
    return [counts[start:stop].copy() for counts in bags]


def weighed_bag(shard: HeldShard, encode: Callable[[Floats], Array], weigh: Weighing, start: int, counts: Counts) -> list[Counts]:
    """Return how often a bag has the rows of a shard if it has a row as often as the row's whole weight says, for each draw."""
    portion = shard.with_target(encode)
    weight = weigh(portion)
    of_shard = counts[start : start + len(portion.target)].astype(np.int64)
    return [of_shard if weight is None else of_shard * weight.astype(np.int64)]


def size_of(bags: Sequence[Counts]) -> tuple[int, int]:
    """Return how often a bag has all rows of a shard, and that of them which it has most often."""
    return int(bags[0].sum()), int(bags[0].max(initial=0))


def _taken(shard: HeldShard, job: RoundsJob) -> _Fit:
    """Return what the shard keeps for some trees, which no other task has meanwhile."""
    held.check_version(job.version)
    fit: _Fit | None = shard.borrow(job.key)
    if fit is None:
        n_classes, scale = job.terms[5], job.terms[2]
        weigh = _unweighted if n_classes else None
        arrays = arrays_of(shard.with_target(job.target), scale, weigh, False)
        fit = _Fit(arrays, arrays.engine(Setting(*job.terms)), {})
    return fit


def _unweighted(_portion: Portion) -> None:
    return None


def _order(fit: _Fit, bags: Sequence[Counts], place: int, log: Sequence[Route]) -> Order:
    if place not in fit.orders:
        counts = bags[place]
        fit.orders[place] = Order(np.repeat(np.arange(len(counts), dtype=np.uint32), counts))
    order = fit.orders[place]
    order.follow(fit.shard, log)
    return order


def ask(shard: HeldShard, job: RoundsJob, start: int, bags: Sequence[Counts], sent: bytes, chunks: Any) -> list[AnswerOfTree]:
    """Answer what is asked of each tree by a list of `AskedOfTree`; `start` is the number of the first row of the shard."""
    asked: list[AskedOfTree] = held.read(sent)
    fit, setting = _taken(shard, job), Setting(*job.terms)
    answers = []
    for given, earlier in zip(asked, chunks, strict=True):
        log = held.whole(earlier, given.tail)
        order = _order(fit, bags, given.place, log)
        reply = serve(fit.shard, setting, order, log, given.requests)
        if job.counts_rows:
            _count_rows(fit.shard, order, given.requests, reply)
        first = [_first(fit.arrays, order.rows_of(node), start) for node in given.first]
        answers.append(AnswerOfTree(reply, np.array(first, dtype=np.uint64)))
    shard.keep(job.key, fit)
    return answers


def _first(arrays: Arrays, rows: Rows, start: int) -> int:
    if not len(rows):
        return LAST_KEY
    assert arrays.label is not None
    row = int(rows.min())
    return (start + row) << 16 | int(arrays.label[row])


def _count_rows(shard: Shard, order: Order, requests: Requests, reply: Reply) -> None:
    """Let the first column of all statistics count different rows."""
    nodes = {*requests.count, *(question.node for question in requests.divide)}  # several columns of a node are divided
    rows = {node: _different(order.rows_of(node))[0] for node in nodes}
    for node, counts in zip(requests.count, reply.counts, strict=True):
        once = np.zeros_like(counts)
        shard.count(rows[node], once)
        counts[:, 0] = once[:, 0]
    first = 0
    for question in requests.divide:
        parts = reply.parts[first : first + question.cells.n_parts]
        parts[:, 0] = _rows_of_parts(shard, rows[question.node], question, parts.shape)
        first += question.cells.n_parts


def _rows_of_parts(shard: Shard, rows: Rows, question: Question, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    once = np.zeros(shape, dtype=np.int64)
    ends = np.zeros((2, shape[0]), dtype=np.uint64)
    shard.divide(question.feature, rows, question.cells, once, ends[0], ends[1], 0)
    return once[:, 0]


def _different(rows: Rows) -> tuple[Rows, npt.NDArray[np.int64]]:
    """Return the different rows of a node, and how often it has each; equal ones are neighbours."""
    first = np.flatnonzero(np.diff(rows, prepend=rows[:1] + np.uint32(1)))
    return rows[first], np.diff(first, append=len(rows))


def combined(answers: Sequence[Sequence[AnswerOfTree]]) -> list[AnswerOfTree]:
    """Return the answers of some shards as one."""
    return [
        AnswerOfTree(held.combined([one.reply for one in of_tree]), np.minimum.reduce([one.first for one in of_tree]))
        for of_tree in zip(*answers, strict=True)
    ]


def rows_of(shard: HeldShard, job: RoundsJob, bags: Sequence[Counts], nodes: NodesOfTree, log: Any) -> list[RowsOfShard]:
    """Return the rows of some nodes of a tree."""
    fit = _taken(shard, job)
    order = _order(fit, bags, nodes.place, held.whole(log, ()))
    portion = shard.with_target(job.encode)
    found = []
    for node in nodes.numbers:
        rows, times = _different(order.rows_of(node))
        columns = [np.zeros(len(rows), dtype=np.float32)] if nodes.leaves else [column[rows] for column in portion.columns]
        found.append(RowsOfShard(columns, portion.target[rows], times))
    shard.keep(job.key, fit)
    return found


def n_rows_of(shard: HeldShard, job: RoundsJob, bags: Sequence[Counts], nodes: NodesOfTree, log: Any) -> Counts:
    """Return the number of different rows of some nodes of a tree."""
    fit = _taken(shard, job)
    order = _order(fit, bags, nodes.place, held.whole(log, ()))
    counts = np.array([len(_different(order.rows_of(node))[0]) for node in nodes.numbers], dtype=np.int64)
    shard.keep(job.key, fit)
    return counts


def total(counts: Sequence[Counts]) -> Counts:
    """Return the sum of the counts of all shards."""
    found: Counts = np.sum(counts, axis=0)
    return found


def grow_nodes(job: RoundsJob, nodes: Sequence[Below], leaves: bool, *parts: Sequence[RowsOfShard]) -> list[PackedBelow]:
    """Return the trees below some nodes, whose rows come from all shards."""
    return [_grown(job, node, leaves, of_node) for node, of_node in zip(nodes, zip(*parts, strict=True), strict=True)]


def _grown(job: RoundsJob, node: Below, leaf: bool, parts: Sequence[RowsOfShard]) -> PackedBelow:
    grower = job.forest.grower
    columns = [np.concatenate(several) for several in zip(*(part.columns for part in parts), strict=True)]
    target = np.concatenate([part.target for part in parts])
    times = np.concatenate([part.times for part in parts])
    schema = Schema((Feature("x", Kind.CONTINUOUS),)) if leaf else grower.samples.table.schema
    table: Any = RowsOfNode(schema, columns, len(target), len(columns))
    samples = grower.samples._replace(table=table, target=target if grower.n_classes else target + 0.0)  # -0.0 becomes 0.0
    limits = grower.limits._replace(max_depth=0) if leaf else grower.limits
    grow = DrawnForest(replace(grower, samples=samples, limits=limits))
    packed = grow(times, 0, node._replace(depth=0) if leaf else node)
    assert packed is not None
    return PackedBelow(packed, len(times))


# Where the fit is


class _Growing:
    """A tree in rounds: its driver, what it asks next, and the splits that were sent."""

    def __init__(self, place: int, driver: DrawnDriver) -> None:
        self.place, self.driver = place, driver
        self.chunks: list[Any] = []
        self._rounds = driver.rounds()
        self.requests: Requests | None = next(self._rounds)

    def read(self, answer: AnswerOfTree) -> None:
        """Grow by the answer to what was asked."""
        driver = self.driver
        driver.first_class.update(zip(driver.counted, (answer.first & np.uint64(0xFFFF)).tolist(), strict=True))
        self.requests = next(iter(self._sent(answer.reply)), None)

    def _sent(self, reply: Reply) -> Iterator[Requests]:
        try:
            yield self._rounds.send(reply)
        except StopIteration:
            return


class _Group(NamedTuple):
    """Trees that share rounds: the future of their job, the job, and the future of their bags for each shard."""

    job: Any
    plain: RoundsJob
    bags: list[Any]


class TreesInRounds:
    """Grows trees of a forest on the shards of a Dask cluster, several in the same rounds.

    Parameters
    ----------
    client : distributed.Client
    shards : list of Future
    sizes : list of int
        Rows of each shard.
    n_threads : int
        Threads of all workers.
    columns : Features
    budget : Budget
        For each tree.
    """

    def __init__(
        self, client: Any, shards: Sequence[Any], sizes: Sequence[int], n_threads: int, columns: Features, budget: Budget
    ) -> None:
        self._client, self._shards, self._n_threads = client, list(shards), n_threads
        self._ends = np.cumsum([0, *sizes]).tolist()
        self._columns, self._budget = columns, budget
        self.n_rounds = 0

    def grow(self, forest: Forest, draw: Callable[[int], Any], encode: Any, trees: Sequence[int]) -> Iterator[list[Any]]:
        """Yield trees in their order; `draw` returns the future of a bag."""
        ends = list(itertools.pairwise(self._ends))
        for first in range(0, len(trees), MOST_SHARED):
            some = trees[first : first + MOST_SHARED]
            bags = [draw(tree) for tree in some]
            parts = [self._client.submit(split_bags, start, stop, *bags, pure=False) for start, stop in ends]
            yield self._grown_group(forest, encode, some, parts, forest.bags.weight)

    def grow_weighed(self, forest: Forest, counts: Any, encode: Any, weigh: Weighing, tree: int) -> Any:
        """Grow a tree whose samples have whole weights, from the future of its bag; None if it has a row too often."""
        shards = zip(self._shards, self._ends, strict=False)
        parts = [self._client.submit(weighed_bag, shard, encode, weigh, start, counts, pure=False) for shard, start in shards]
        sizes = gathered(self._client, self._client.map(size_of, parts, pure=False))
        if max(most for _, most in sizes) > MOST_DRAWN:
            return None
        return self._grown_group(forest, encode, [tree], parts, sum(size for size, _ in sizes))[0]

    def _grown_group(self, forest: Forest, encode: Any, trees: Sequence[int], parts: list[Any], weight: int) -> list[Any]:
        job, plan = _job_of(forest, encode, self._columns, weight)
        try:
            found = self._grow_group(_Group(self._sent(job), job, parts), plan, trees)
            return [pruned(forest, joined(*of_tree, plan)) for of_tree in found]
        finally:
            forget(self._client, job.key)

    def _sent(self, given: Any) -> Any:
        return self._client.submit(held.identity, given, pure=False)

    def _grow_group(
        self, group: _Group, plan: RoundsPlan, trees: Sequence[int]
    ) -> list[tuple[list[TreeNode], dict[int, PackedBelow]]]:
        """Return the large nodes of each tree, and what grows below them."""
        seeds = [seed_of_growth(group.plain.forest.bags.seed, tree) for tree in trees]
        growing = [_Growing(place, DrawnDriver(plan, seed, self._budget)) for place, seed in enumerate(seeds)]
        while active := [tree for tree in growing if tree.requests is not None]:
            for tree, answer in zip(active, self._ask(group, active), strict=True):
                tree.read(answer)
            self.n_rounds += 1
        return [(tree.driver.nodes, self._below(group, tree)) for tree in growing]

    def _ask(self, group: _Group, active: Sequence[_Growing]) -> list[AnswerOfTree]:
        from dask.delayed import delayed

        asked = []
        for tree in active:
            tail = held.sent_log(self._sent, tree.chunks, tree.driver.log)
            assert tree.requests is not None
            asked.append(AskedOfTree(tree.place, tail, tree.requests, tree.driver.counted))
        message = message_of(asked, len(self._shards))
        chunks = [tree.chunks for tree in active]
        task = delayed(ask, pure=False)
        shards = zip(self._shards, self._ends, group.bags, strict=False)
        answers = [task(shard, group.job, start, bags, message, chunks) for shard, start, bags in shards]
        setting = Setting(*group.plain.terms)
        n_bytes = sum(reply_bytes(given.requests, setting.n_cells, setting.width) for given in asked)
        found: list[AnswerOfTree] = self._combined(answers, combined, n_bytes)
        return found

    def _combined(self, replies: Sequence[Any], combine: Callable[..., Any], n_bytes: int) -> Any:
        return gathered(self._client, combined_on_workers(self._client, replies, combine, n_bytes))

    def _below(self, group: _Group, tree: _Growing) -> dict[int, PackedBelow]:
        """Return what grows below the nodes that have no children."""
        driver = tree.driver
        log = [*tree.chunks, self._sent(held.sent_log(self._sent, tree.chunks, driver.log))]
        below: dict[int, PackedBelow] = {}
        ends = driver.ends()
        if group.plain.forest.grower.n_classes and ends:
            counted = self._of_shards(n_rows_of, group, NodesOfTree(tree.place, [node.id for node in ends], True), log)
            n_rows = self._combined(counted, total, 8 * len(ends)).tolist()
            below = {node.id: PackedBelow(leaf_of(node.statistics), n) for node, n in zip(ends, n_rows, strict=True)}
            ends = []
        waiting = deque[tuple[Sequence[TreeNode], Any]]()
        for nodes, leaves in ((driver.handed, False), (ends, True)):
            for bucket in buckets(nodes, self._budget.rows):
                waiting.append((bucket, self._grow_bucket(group, tree, bucket, leaves, log)))
                if len(waiting) > 2 * self._n_threads:
                    below |= self._grown(*waiting.popleft())
        while waiting:
            below |= self._grown(*waiting.popleft())
        return below

    def _of_shards(self, function: Callable[..., Any], group: _Group, nodes: NodesOfTree, log: Any) -> list[Any]:
        from dask.delayed import delayed

        task = delayed(function, pure=False)
        shards = zip(self._shards, group.bags, strict=True)
        return [task(shard, group.job, bags, nodes, log) for shard, bags in shards]

    def _grow_bucket(self, group: _Group, tree: _Growing, bucket: Sequence[TreeNode], leaves: bool, log: Any) -> Any:
        """Bring the rows of some nodes to one worker, and grow the trees below them there."""
        from dask.delayed import delayed

        rows = self._of_shards(rows_of, group, NodesOfTree(tree.place, [node.id for node in bucket], leaves), log)
        places = [Below(node.key, node.depth, group.plain.weight) for node in bucket]
        grown = delayed(grow_nodes, pure=False)(group.job, places, leaves, *rows)
        return self._client.compute(grown, optimize_graph=False)

    def _grown(self, bucket: Sequence[TreeNode], future: Any) -> dict[int, PackedBelow]:
        return {node.id: grown for node, grown in zip(bucket, gathered(self._client, future), strict=True)}


def _job_of(forest: Forest, encode: Callable[[Floats], Array], columns: Features, weight: int) -> tuple[RoundsJob, RoundsPlan]:
    """Return what the workers need of a forest, and what its trees share, whose bags have the same weight."""
    grower = forest.grower
    schema, limits, whole = grower.samples.table.schema, grower.limits, grower.whole
    assert whole is not None
    scale, unit = Scale(weight, float(weight)), 1.0
    if not grower.n_classes:
        ends, unit = whole_numbers(np.array([whole.least, whole.most]), weight, whole)
        scale = _scale_of(weight, ends)
    drawn = drawn_limits(limits, len(schema.features), weight, whole.weight, unit * unit)
    numbers = engine_limits(Size(weight, len(schema.features), 1.0, float(weight)), grower.recipe, limits, grower.n_classes)
    numbers = numbers._replace(
        min_samples_leaf=max(limits.min_samples_leaf, 1), min_weight_leaf=float(np.ceil(drawn.min_weight_leaf))
    )
    kinds = np.array([int(feature.kind) for feature in schema.features], dtype=np.uint8)
    shared = (policy_of(grower.recipe, limits), numbers, scale, kinds, np.array(columns.n_codes, dtype=np.uint32))
    counts_rows = limits.min_samples_split > 2 or limits.min_samples_leaf > 1
    terms = (*shared, grower.n_classes, False)
    setting = Setting(*shared, grower.n_classes, counts_rows and grower.n_classes > 0)
    job = RoundsJob(forest, encode, terms, weight, counts_rows)
    return job, RoundsPlan(setting, drawn, schema, columns, grower.n_classes)


def _scale_of(weight: int, ends: Floats) -> Scale:
    """Return the constants of targets that are whole numbers between two ends."""
    largest = int(np.abs(ends).max())
    shift = 0
    while float(largest >> shift) * float(largest >> shift) * weight > MOST_SQUARES:
        shift += 1
    return Scale(weight, float(weight), 1.0, 1.0, 0.0, float(largest), float(ends[1] - ends[0]) ** 2, shift)
