"""C5.0's boosting: trials on weights that move by additions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.sums import sum_of_sizes
from fasttree._learn.grow.grower import Grower
from fasttree._learn.progress import steps
from fasttree._learn.prune.c50 import NULL_CASES, PrunedTree
from fasttree._learn.samples import Samples
from fasttree._model import walks
from fasttree._model.ensemble import confidences
from fasttree._model.tree import Tree, best_classes

MORE_LEAVES = 1.1  # per sample in later trials, relative to the first tree
TOO_WRONG = 0.49  # share of the weight
NO_ERRORS = 0.1  # weight
FEWEST_TRIALS = 3
LEAST_WEIGHT = 0.001  # of a sample; also the margin by which others are heavier
MANY = 4001  # samples, above which light ones may be left out of the growth
LIGHT = 0.2

Model = TypeVar("Model")


class BoostingTrial(NamedTuple, Generic[Model]):
    """What a trial learns, and what it predicts.

    Parameters
    ----------
    model : object
        A tree, or rules.
    n_leaves : int
        Leaves of its tree if it is the first one: they bound those of later trials.
    is_constant : bool
        Whether it predicts one class for all samples, as a tree that is a leaf.
    predicted, confidence : arrays, shape (n_samples,)
        Class of each sample, and the vote for it.  They are not used for samples that are dropped.
    """

    model: Model
    n_leaves: int
    is_constant: bool
    predicted: npt.NDArray[np.intp]
    confidence: Floats

    @classmethod
    def of_tree(cls, pruned: PrunedTree, samples: Samples, n_leaves: int) -> BoostingTrial[Tree]:
        """Return the trial of a tree, which votes with the share of its class in the leaf, or as `confidences` says."""
        tree = pruned.tree
        if tree.loss is None:
            predicted, confidence = walks.predict_votes(pruned.before, samples.table, pruned.ends)
        else:
            shares = walks.predict_value(tree, samples.table)
            predicted = best_classes(shares, tree.loss)
            confidence = confidences(shares, predicted, tree.loss)
        return BoostingTrial(tree, n_leaves, tree.node_count == 1, predicted, confidence)


@dataclass
class Standing:
    """Weights and votes between two trials."""

    factor: npt.NDArray[np.float32]  # of the weight of each sample
    kept: npt.NDArray[np.bool_]  # samples that are not dropped
    votes: Floats  # (n_samples, n_classes): sums of confidences
    lightest: float = 1.0  # factor of a sample that every trial predicts right
    most: Floats = field(init=False)  # largest sum of each sample

    def __post_init__(self) -> None:
        self.most = np.zeros(len(self.factor))


@dataclass(frozen=True)
class Boosting(Generic[Model]):
    """Growth of a tree in each trial, on weights that the trial before has moved.

    After a trial, the weight of the samples that it predicts wrong grows by an equal addition for each sample, and that of the
    others falls by an equal factor; the wrong weight then is halfway between what it was and half of all weight.

    Parameters
    ----------
    grower : Grower
        Its samples have the weights that samples count by.
    n_trials : int
    learn : callable
        Function of a grower, a grown tree and the number of its trial that prunes the tree, and returns the `BoostingTrial`.
    stops_early : bool, default=True
        Whether a trial that is constant or makes too many errors ends boosting.
    """

    grower: Grower
    n_trials: int
    learn: Callable[[Grower, Tree, int], BoostingTrial[Model]]
    stops_early: bool = True

    def __call__(self) -> list[Model]:
        """Return the models of the trials: at least three, or the first one alone."""
        first = self.grower.with_sorted_table().with_memory()
        samples = first.samples
        n = samples.table.n_samples
        counts = np.ones(n) if samples.weight is None else samples.weight
        by_class = np.ones(self.grower.n_classes) if samples.class_factor is None else samples.class_factor
        state = Standing(by_class.astype(np.float32)[samples.target], counts > 0, np.zeros((n, self.grower.n_classes)))
        total, ratio = sum_of_sizes(counts), 0.0
        models: list[Model] = []
        report = steps("trials", self.n_trials)
        report(0)
        for number in range(self.n_trials):
            grower = self._weighted(first, counts, state, total, ratio)
            trial = self.learn(grower, grower(rows=self._grown_on(state, total, number)), number)
            report(number + 1)
            ratio = ratio or MORE_LEAVES * trial.n_leaves / total
            wrong = self._judge(trial, state, number)
            errors, kept = weight_of(wrong, counts * state.factor), weight_of(state.kept, counts)
            is_last = number == self.n_trials - 1
            is_bad = self.stops_early and errors / kept >= TOO_WRONG
            if number and not is_last and (is_bad or (self.stops_early and trial.is_constant)):
                break
            models.append(trial.model)
            if is_last or is_bad or errors < NO_ERRORS or not (state.kept & ~wrong).any():
                break
            move_weights(state, counts, wrong, errors, kept)
        return models if len(models) >= FEWEST_TRIALS else models[:1]

    @staticmethod
    def _weighted(first: Grower, counts: Floats, state: Standing, total: float, ratio: float) -> Grower:
        """Return the growth of a trial; without weights in the first one if no sample has any."""
        samples = first.samples
        if not ratio:
            return first
        weighted = samples._replace(weight=counts * state.factor * state.kept, class_factor=None)
        limits = first.limits._replace(leaves_per_weight=ratio, n_cases=total)
        return replace(first, samples=weighted, limits=limits)

    def _grown_on(self, state: Standing, total: float, trial: int) -> npt.NDArray[np.intp] | None:
        """Return the samples that are heavy enough to grow on; None: all."""
        if not trial or total <= MANY or state.lightest > LIGHT:
            return None
        heavy = np.flatnonzero(state.kept & (state.factor > state.lightest + LEAST_WEIGHT))
        return heavy if heavy.size else None

    def _judge(self, trial: BoostingTrial[Model], state: Standing, number: int) -> npt.NDArray[np.bool_]:
        """Add the votes of a trial; drop samples that later trials cannot win; return the kept ones that it predicts wrong."""
        target, votes = self.grower.samples.target, state.votes.reshape(-1)
        first = np.arange(0, votes.size, state.votes.shape[1])
        of_predicted = first + trial.predicted
        of_each = votes.take(of_predicted) + trial.confidence
        votes[of_predicted] = of_each
        np.maximum(state.most, of_each, out=state.most)
        if number + 1 > self.n_trials / 2:
            state.kept &= state.most - votes[first + target] <= self.n_trials - 1 - number
        wrong: npt.NDArray[np.bool_] = state.kept & (trial.predicted != target)
        return wrong


def weight_of(chosen: npt.NDArray[np.bool_], weight: Floats) -> float:
    """Return the weight of some samples."""
    return sum_of_sizes(weight[chosen])


def move_weights(state: Standing, counts: Floats, wrong: npt.NDArray[np.bool_], errors: float, kept: float) -> None:
    """Move the wrong weight halfway towards half of all weight; the sum of the weights stays that of the kept samples.

    `errors` is the wrong weight, and `kept` what the kept samples count.
    """
    factor = state.factor.astype(np.float64)
    hits = weight_of(state.kept & ~wrong, counts * factor)
    moved = (hits - errors) / 4
    scale = kept / (errors + hits)
    shrink = scale * (hits - moved) / hits
    heavier = scale * (factor[wrong] + moved / weight_of(wrong, counts))
    factor *= shrink
    np.maximum(factor, LEAST_WEIGHT, out=factor)
    factor[wrong] = heavier
    np.copyto(state.factor, factor, where=state.kept, casting="same_kind")
    state.lightest = max(shrink * state.lightest, LEAST_WEIGHT)


def n_leaves(tree: Tree, *, by_category: bool) -> int:
    """Return the number of leaves that are not null; by category, a leaf of several counts for each."""
    n_values = np.zeros(tree.node_count, np.intp)
    owner = np.repeat(np.arange(tree.node_count), np.diff(tree.categories_start))
    np.add.at(n_values, tree.first_child[owner] + tree.categories_branch, 1)
    full = (tree.n_branches == 0) & (tree.weight >= NULL_CASES)
    return int(np.maximum(n_values[full], 1).sum()) if by_category else int(np.count_nonzero(full))
