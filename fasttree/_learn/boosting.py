"""C5.0's boosting: trials on weights that move by additions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.sums import sum_of_sizes
from fasttree._learn.grow.grower import Grower
from fasttree._learn.progress import steps
from fasttree._learn.prune.c50 import NULL_CASES
from fasttree._model import walks
from fasttree._model.tree import Tree

MORE_LEAVES = 1.1  # per sample in later trials, relative to the first tree
TOO_WRONG = 0.49  # share of the weight
NO_ERRORS = 0.1  # weight
FEWEST_TRIALS = 3
LEAST_WEIGHT = 0.001  # of a sample; also the margin by which others are heavier
MANY = 4001  # samples, above which light ones may be left out of the growth
LIGHT = 0.2


@dataclass
class Standing:
    """Weights and votes between two trials."""

    factor: npt.NDArray[np.float32]  # of the weight of each sample
    kept: npt.NDArray[np.bool_]  # samples that are not dropped
    votes: Floats  # (n_samples, n_classes): sums of confidences
    lightest: float = 1.0  # factor of a sample that every trial predicts right


@dataclass(frozen=True)
class Boosting:
    """Growth of a tree in each trial, on weights that the trial before has moved.

    After a trial, the weight of the samples that it predicts wrong grows by an equal addition for each sample, and that of the
    others falls by an equal factor; the wrong weight then is halfway between what it was and half of all weight.

    Parameters
    ----------
    grower : Grower
        Its samples have the weights that samples count by.
    n_trials : int
    prune : callable
        Function of a grower, a grown tree and the number of its trial that returns the pruned tree.
    """

    grower: Grower
    n_trials: int
    prune: Callable[[Grower, Tree, int], Tree]

    def __call__(self) -> list[Tree]:
        """Return the pruned trees of the trials: at least three, or the first one alone."""
        samples = self.grower.samples
        n = samples.table.n_samples
        counts = np.ones(n) if samples.counts is None else samples.counts
        state = Standing(np.ones(n, np.float32), counts > 0, np.zeros((n, self.grower.n_classes)))
        total, ratio = sum_of_sizes(counts), 0.0
        trees: list[Tree] = []
        report = steps("trials", self.n_trials)
        report(0)
        for trial in range(self.n_trials):
            grower = self._weighted(counts, state, total, ratio)
            tree = self.prune(grower, grower(rows=self._grown_on(state, total, trial)), trial)
            report(trial + 1)
            ratio = ratio or MORE_LEAVES * n_leaves(tree, by_category=self.grower.recipe.nominal != "groups") / total
            wrong = self._judge(tree, state, trial)
            weight = counts * state.factor
            errors = sum_of_sizes(weight[wrong])
            is_last = trial == self.n_trials - 1
            is_bad = errors / sum_of_sizes(counts[state.kept]) >= TOO_WRONG
            if trial and not is_last and (tree.node_count == 1 or is_bad):
                break
            trees.append(tree)
            if is_last or is_bad or errors < NO_ERRORS:
                break
            move_weights(state, counts, wrong)
        return trees if len(trees) >= FEWEST_TRIALS else trees[:1]

    def _weighted(self, counts: Floats, state: Standing, total: float, ratio: float) -> Grower:
        """Return the growth of a trial; without weights in the first one if no sample has any."""
        samples = self.grower.samples
        if not ratio:
            return self.grower
        weighted = replace(samples, weight=counts * state.factor * state.kept, class_factor=None)
        limits = replace(self.grower.limits, leaves_per_weight=ratio, n_cases=total)
        return replace(self.grower, samples=weighted, limits=limits)

    def _grown_on(self, state: Standing, total: float, trial: int) -> npt.NDArray[np.intp] | None:
        """Return the samples that are heavy enough to grow on; None: all."""
        if not trial or total <= MANY or state.lightest > LIGHT:
            return None
        heavy = np.flatnonzero(state.kept & (state.factor > state.lightest + LEAST_WEIGHT))
        return heavy if heavy.size else None

    def _judge(self, tree: Tree, state: Standing, trial: int) -> npt.NDArray[np.bool_]:
        """Add the votes of a tree; drop the samples that later trials cannot win; return the kept ones that it predicts wrong."""
        samples = self.grower.samples
        shares = walks.predict_value(tree, samples.table)
        predicted, every = shares.argmax(axis=1), np.arange(len(shares))
        state.votes[every, predicted] += shares[every, predicted]
        if trial + 1 > self.n_trials / 2:
            ahead = state.votes.max(axis=1) - state.votes[every, samples.target]
            state.kept &= ahead <= self.n_trials - 1 - trial
        wrong: npt.NDArray[np.bool_] = state.kept & (predicted != samples.target)
        return wrong


def move_weights(state: Standing, counts: Floats, wrong: npt.NDArray[np.bool_]) -> None:
    """Move the wrong weight halfway towards half of all weight; the sum of the weights stays that of the kept samples."""
    right = state.kept & ~wrong
    weight = counts * state.factor
    errors, hits = sum_of_sizes(weight[wrong]), sum_of_sizes(weight[right])
    moved = (hits - errors) / 4
    scale = sum_of_sizes(counts[state.kept]) / (errors + hits)
    shrink = scale * (hits - moved) / hits
    state.factor[wrong] = scale * (state.factor[wrong].astype(np.float64) + moved / sum_of_sizes(counts[wrong]))
    state.factor[right] = np.maximum(shrink * state.factor[right].astype(np.float64), LEAST_WEIGHT)
    state.lightest = max(shrink * state.lightest, LEAST_WEIGHT)


def n_leaves(tree: Tree, *, by_category: bool) -> int:
    """Return the number of leaves that are not null; by category, a leaf of several counts for each."""
    n_values = np.zeros(tree.node_count, np.intp)
    owner = np.repeat(np.arange(tree.node_count), np.diff(tree.categories_start))
    np.add.at(n_values, tree.first_child[owner] + tree.categories_branch, 1)
    full = (tree.n_branches == 0) & (tree.weight >= NULL_CASES)
    return int(np.maximum(n_values[full], 1).sum()) if by_category else int(np.count_nonzero(full))
