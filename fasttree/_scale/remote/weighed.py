"""Trees of a forest whose bags are large and which grow on lists in memory: one after the other, each in rounds as a single tree.

A sample weighs what it weighs in the fit, times how often the bag has it.  The shards of a bag are those of the table with other
weights, whose columns they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._engine.rounds import Setting
from fasttree._learn.forest.growing import Forest, factors_of_balance, finished, order_of_features
from fasttree._learn.grow.growth import Size, engine_limits, policy_of
from fasttree._model.bags import seed_of_growth
from fasttree._model.packed.nodes import Packed
from fasttree._model.tree import Tree
from fasttree._scale.forest.drawing import Draws
from fasttree._scale.frontier import Budget, Features
from fasttree._scale.growing import grow
from fasttree._scale.preparation import Floats, Weighing, scale_of_targets, scale_of_weights
from fasttree._scale.remote.held import HeldShard
from fasttree._scale.remote.on_dask import DaskPortions, OnDask
from fasttree._scale.remote.tasks import gathered
from fasttree._scale.subtree import Task

Counts = npt.NDArray[np.integer[Any]]


class ShardOfBag(HeldShard):
    """A shard whose rows weigh what they weigh in a bag; its other arrays are those of the table's shard."""

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardOfBag, (self.portion,)

    def __sizeof__(self) -> int:
        return 0 if self.portion.weight is None else int(self.portion.weight.nbytes)


# On a worker


def class_totals(shard: HeldShard, encode: Any, counts: Counts, start: int, n_classes: int) -> Floats:
    """Return how many draws each class has in a shard; `start` is the number of its first row."""
    target = encode(shard.portion.target)
    totals = np.bincount(target, weights=counts[start : start + len(target)], minlength=n_classes)
    return totals.astype(np.float64, copy=False)


def weighed(shard: HeldShard, encode: Any, weigh: Weighing, counts: Counts, start: int, factors: Floats | None) -> ShardOfBag:
    """Return a shard whose rows weigh what they weigh in a bag, in which classes have factors of their own."""
    portion = shard.with_target(encode)
    weight = counts[start : start + len(portion.target)].astype(np.float64)
    given = weigh(portion)
    if given is not None:
        weight *= given
    if factors is not None:
        weight *= factors[portion.target]
    return ShardOfBag(replace(shard.portion, weight=weight))


# Where the fit is


class TreesOneByOne:
    """Grows trees of a forest on the shards of a Dask cluster, each in rounds of its own.

    Parameters
    ----------
    portions : DaskPortions
        With the targets of the fit.
    weigh : Weighing
        The weights of samples, before they are drawn.
    sizes : list of int
        Rows of each shard.
    n_threads : int
        Threads of all workers.
    columns : Features
    budget : Budget
        For each tree.
    """

    def __init__(
        self,
        portions: DaskPortions,
        weigh: Weighing,
        sizes: Sequence[int],
        n_threads: int,
        columns: Features,
        budget: Budget,
    ) -> None:
        self._portions, self._weigh, self._n_threads = portions, weigh, n_threads
        self._starts = np.cumsum([0, *sizes[:-1]]).tolist()
        self._columns, self._budget = columns, budget

    def grow(self, forest: Forest, counts: Any, tree: int) -> Tree | Packed:
        """Grow a tree of a forest, whose samples have no rows, from the future of how often its bag has each row."""
        grower, given = forest.grower, self._portions
        shards = self._map(weighed, given.encode, self._weigh, counts, self._starts, self._factors(forest, counts))
        portions = DaskPortions(given.client, shards, given.encode)
        costs, by_class = grower.costs, grower.samples.class_factor
        factors = [each for each in (by_class, None if costs is None else costs.loss.sum(axis=1)) if each is not None]
        weigh, weight = Weighing(factors), scale_of_weights(portions, Weighing([]))[2]
        scale, weighted, cases = (scale_of_weights if grower.n_classes else scale_of_targets)(portions, weigh)
        schema, seed = grower.samples.table.schema, seed_of_growth(forest.bags.seed, tree)
        n_features = len(schema.features)
        least = grower.limits.min_weight_leaf * (weight / grower.total_weight)
        limits = grower.limits._replace(min_weight_leaf=least, seed=seed)
        size = Size(scale.n_samples, n_features, 1.0 if costs is None else costs.mean, cases)
        numbers, policy = engine_limits(size, grower.recipe, limits, grower.n_classes), policy_of(grower.recipe, limits)
        kinds = np.array([int(feature.kind) for feature in schema.features], dtype=np.uint8)
        n_codes = np.array(self._columns.n_codes, dtype=np.uint32)
        terms = (policy, numbers, scale, kinds, n_codes, grower.n_classes, weighted)
        order = order_of_features(seed, n_features)
        task = Task(schema, grower.recipe, limits, policy, numbers, scale, grower.n_classes, order=order)
        cluster = OnDask(portions, terms, weigh, self._n_threads)
        draws = Draws(seed, order, numbers.max_features)
        try:
            grown = grow(task, Setting(*terms), self._columns, cluster, self._budget, costs=costs, draws=draws)
        finally:
            cluster.close()
        return finished(forest, grown)

    def _factors(self, forest: Forest, counts: Any) -> Floats | None:
        """Return the factors of classes that give those of a bag the same weight, if the forest wants that."""
        if not forest.balances_bags:
            return None
        encode, n_classes = self._portions.encode, forest.grower.n_classes
        totals = gathered(self._portions.client, self._map(class_totals, encode, counts, self._starts, n_classes))
        return factors_of_balance(np.sum(totals, axis=0))

    def _map(self, function: Any, *given: Any) -> list[Any]:
        """Call a function of each shard, with the number of its first row in the place of those of all."""
        n, shards = len(self._portions.shards), self._portions.shards
        of_each = [each if each is self._starts else [each] * n for each in given]
        futures: list[Any] = self._portions.client.map(function, shards, *of_each, pure=False)
        return futures
