"""Trees of a forest on workers, each grown as a whole by one thread.

Where the table fits into the memory of a thread, a task has all rows and grows some trees, for which it encodes the columns once.
Else the task of a tree has the rows of its bag alone.  If not even a bag fits, trees grow in rounds: those of the drawn layout
share them (see `shared`), others grow one by one (see `weighed`).  All ways grow the trees of the forest in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Schema
from fasttree._learn.forest.growing import Forest, Trees, grows_on_lists, layout_of, may_share_rounds
from fasttree._learn.grow.grower import Whole
from fasttree._learn.progress import steps
from fasttree._model.bags import Bags, seed_of_growth
from fasttree._model.packed.nodes import Packed
from fasttree._model.tree import Tree
from fasttree._scale.frontier import Budget, Features
from fasttree._scale.preparation import Array, Floats, Portion, Weighing
from fasttree._scale.remote import held
from fasttree._scale.remote.held import HeldShard
from fasttree._scale.remote.on_dask import DaskPortions
from fasttree._scale.remote.shared import MOST_SHARED, TreesInRounds
from fasttree._scale.remote.tasks import gathered
from fasttree._scale.remote.weighed import TreesOneByOne
from fasttree._scale.subtree import RowsOfNode
from fasttree._version import __version__

MOST_TREES = 8  # that share encoded columns
SPREAD = 6  # standard deviations of the size of a bag at most
MOST_REPEATED = 16  # times that a bag has a row on average if whole weights repeat it, each of 4 bytes

Counts: TypeAlias = npt.NDArray[np.integer]


class RowsElsewhere:
    """A table whose columns are not in this process.

    Parameters
    ----------
    schema : Schema
    n_samples : int
    """

    matrix = None

    def __init__(self, schema: Schema, n_samples: int) -> None:
        self.schema, self.n_samples, self.n_features = schema, n_samples, len(schema.features)

    def column(self, j: int) -> Array:
        """Raise an error: the column is elsewhere."""
        raise TypeError(f"column {self.schema.features[j].name!r} of a Dataset is not in memory")


@dataclass(frozen=True)
class ForestJob:
    """A forest, as the workers need it.

    Parameters
    ----------
    forest : Forest
        Its samples have no rows, and its bags draw from all.
    encode : callable
        Returns the targets of the fit from what the column holds.
    weigh : Weighing
    drawn_from : uint8 array or None
        A bit for each row that bags draw from; None: they draw from all.
    version : str
        The version of fasttree where the fit is.
    """

    forest: Forest
    encode: Callable[[Floats], Array]
    weigh: Weighing
    drawn_from: npt.NDArray[np.uint8] | None
    version: str = __version__

    @property
    def bags(self) -> Bags:
        """The bags of the fit."""
        bags = self.forest.bags
        if self.drawn_from is None:
            return bags
        return replace(bags, rows=np.flatnonzero(np.unpackbits(self.drawn_from, count=bags.n_samples)))


class RowsOfBag(NamedTuple):
    """Some rows of a shard."""

    columns: list[Array]
    target: Array
    weight: Floats | None


def job_of(forest: Forest, encode: Callable[[Floats], Array], weigh: Weighing) -> ForestJob:
    """Return a forest without the rows that its samples have."""
    grower, bags, drawn_from = forest.grower, forest.bags, None
    if bags.rows is not None:
        kept = np.zeros(bags.n_samples, dtype=bool)
        kept[bags.rows] = True
        drawn_from, bags = np.packbits(kept), replace(bags, rows=None)
    whole = Whole.of(grower.samples, grower.n_classes)
    samples = grower.samples._replace(target=grower.samples.target[:0], weight=None)
    slim = replace(forest, grower=replace(grower, samples=samples, whole=whole), bags=bags)
    return ForestJob(slim, encode, weigh, drawn_from)


# On a worker


def draw(job: ForestJob, tree: int, room: int) -> Counts:
    """Return how often a tree has drawn each row."""
    held.check_version(job.version)
    counts = job.bags.counts(tree)
    n_rows = np.count_nonzero(counts)
    if n_rows > room:
        raise ValueError(
            f"the bag of tree {tree} has {n_rows:,} rows, and a thread of a worker has room for {room:,} rows of a "
            f"forest that does not grow in rounds: give max_samples={room} or fewer, more memory for the workers, or fewer "
            f"threads"
        )
    return counts


def draw_all(job: ForestJob, tree: int) -> Counts:
    """Return how often a tree has drawn each row, of which there may be any number."""
    held.check_version(job.version)
    return job.bags.counts(tree)


def rows_of(shard: HeldShard, job: ForestJob, first: int, counts: Counts | None) -> RowsOfBag:
    """Return the rows of a shard that are drawn, or all; `first` is the number of its first row."""
    portion = shard.with_target(job.encode)
    weight = job.weigh(portion)
    if counts is None:
        return RowsOfBag(portion.columns, portion.target, weight)
    rows = np.flatnonzero(counts[first : first + len(portion.target)])
    return RowsOfBag([column[rows] for column in portion.columns], portion.target[rows], None if weight is None else weight[rows])


def grow_some(job: ForestJob, trees: Sequence[int], *shards: HeldShard) -> list[Tree | Packed]:
    """Grow some trees from all rows."""
    held.check_version(job.version)
    bags = job.bags
    grow = _growth_of(job, [rows_of(shard, job, 0, None) for shard in shards])
    return [grow(bags.counts(tree), seed_of_growth(bags.seed, tree)) for tree in trees]


def grow_one(job: ForestJob, tree: int, counts: Counts, *parts: RowsOfBag) -> list[Tree | Packed]:
    """Grow a tree from the rows of its bag."""
    return [_growth_of(job, parts)(counts[counts > 0], seed_of_growth(job.forest.bags.seed, tree))]


def _growth_of(job: ForestJob, parts: Sequence[RowsOfBag]) -> Callable[[Counts, int], Tree | Packed]:
    """Return the function that grows a tree from rows of all shards, for how often each is drawn."""
    grower = job.forest.grower
    columns = [np.concatenate(several) for several in zip(*(part.columns for part in parts), strict=True)]
    target = np.concatenate([part.target for part in parts])
    weights = [part.weight for part in parts if part.weight is not None]
    table: Any = RowsOfNode(grower.samples.table.schema, columns, len(target), len(columns))
    samples = grower.samples._replace(
        table=table,
        target=target if grower.n_classes else target + 0.0,  # -0.0 becomes 0.0
        weight=np.concatenate(weights) if weights else None,
    )
    return layout_of(replace(job.forest, grower=replace(grower, samples=samples)))


# Where the fit is


class BagsOnWorkers:
    """Rows on workers, and room for bags.

    Parameters
    ----------
    portions : DaskPortions
        With the targets of the fit.
    weigh : Weighing
    n_threads : int
        Threads of all workers.
    room, memory : int
        Rows for which a thread has memory, and its bytes.
    columns : Features
    """

    def __init__(
        self, portions: DaskPortions, weigh: Weighing, n_threads: int, room: int, memory: int, columns: Features
    ) -> None:
        self._client, self._shards, self._encode = portions.client, portions.shards, portions.encode
        self._portions, self._weigh, self._n_threads, self._room = portions, weigh, n_threads, room
        self._memory, self._columns = memory, columns

    def grow(self, forest: Forest, first: int, last: int, _n_jobs: int, found: Trees) -> Trees:
        """Grow the trees first, ..., last - 1 as `grow_forest` does, but in the threads of all workers."""
        report = steps("trees", last - first)
        report(0)
        own = job_of(forest, self._encode, self._weigh)
        job = self._client.submit(held.identity, own, pure=False)
        fits = forest.bags.n_samples <= self._room
        grow = None if fits or self._bag_fits(forest) else self._in_rounds(forest)
        if grow is not None:
            for trees in grow(own.forest, job, range(first, last)):
                found.extend(trees)
                report(len(found))
            return found
        waiting = deque[Any]()
        for task in (self._from_all_rows if fits else self._from_bags)(job, range(first, last)):
            waiting.append(task)
            if len(waiting) > 2 * self._n_threads:
                found.extend(gathered(self._client, waiting.popleft()))
                report(len(found))
        while waiting:
            found.extend(gathered(self._client, waiting.popleft()))
            report(len(found))
        return found

    def _bag_fits(self, forest: Forest) -> bool:
        """Whether no bag is too large for the memory of a thread."""
        n_different = forest.bags.n_different
        return bool(n_different + SPREAD * n_different**0.5 <= self._room)

    def _in_rounds(self, forest: Forest) -> Callable[[Forest, Any, Sequence[int]], Iterator[Trees]] | None:
        """Return the function that grows trees in rounds; None if they cannot."""
        if may_share_rounds(forest):
            return self._together
        if forest.random_cuts:
            return None
        if grows_on_lists(forest):
            return self._one_by_one
        weight = forest.grower.samples.weight
        return self._by_whole_weights if weight is not None and weight.mean() <= MOST_REPEATED else None

    def _sharing(self, n_trees: int) -> TreesInRounds:
        sizes = list(self._portions.outcomes(_n_rows))
        budget = Budget(self._room, reply_bytes=min(2**28, self._memory // 8) // n_trees)
        return TreesInRounds(self._client, self._shards, sizes, self._n_threads, self._columns, budget)

    def _alone(self) -> TreesOneByOne:
        sizes = list(self._portions.outcomes(_n_rows))
        budget = Budget(self._room, reply_bytes=min(2**28, self._memory // 8))
        return TreesOneByOne(self._portions, self._weigh, sizes, self._n_threads, self._columns, budget)

    def _drawn(self, job: Any, tree: int) -> Any:
        return self._client.submit(draw_all, job, tree, pure=False)

    def _together(self, forest: Forest, job: Any, trees: Sequence[int]) -> Iterator[Trees]:
        return self._sharing(MOST_SHARED).grow(forest, partial(self._drawn, job), self._encode, trees)

    def _one_by_one(self, forest: Forest, job: Any, trees: Sequence[int]) -> Iterator[Trees]:
        growth = self._alone()
        for tree in trees:
            yield [growth.grow(forest, self._drawn(job, tree), tree)]

    def _by_whole_weights(self, forest: Forest, job: Any, trees: Sequence[int]) -> Iterator[Trees]:
        """Grow trees of the drawn layout, whose bags differ in weight; a tree that has a row too often grows on lists."""
        growth, alone = self._sharing(1), self._alone()
        for tree in trees:
            counts = self._drawn(job, tree)
            found = growth.grow_weighed(forest, counts, self._encode, self._weigh, tree)
            yield [alone.grow(forest, counts, tree) if found is None else found]

    def _from_all_rows(self, job: Any, trees: Sequence[int]) -> Iterator[Any]:
        step = min(max(len(trees) // (2 * self._n_threads), 1), MOST_TREES)
        for start in range(0, len(trees), step):
            yield self._client.submit(grow_some, job, trees[start : start + step], *self._shards, pure=False)

    def _from_bags(self, job: Any, trees: Sequence[int]) -> Iterator[Any]:
        n = len(self._shards)
        sizes = list(self._portions.outcomes(_n_rows))
        starts = np.cumsum([0, *sizes[:-1]]).tolist()
        for tree in trees:
            counts = self._client.submit(draw, job, tree, self._room, pure=False)
            rows = self._client.map(rows_of, self._shards, [job] * n, starts, [counts] * n, pure=False)
            yield self._client.submit(grow_one, job, tree, counts, *rows, pure=False)


def _n_rows(portion: Portion) -> int:
    return len(portion.target)
