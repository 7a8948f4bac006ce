"""Nested sequences of pruned subtrees, and the choice of the subtree that predicts best.

Cost-complexity and critical-value pruning give every inner node a level that is not higher than its parent's.  The nodes whose
level is above a number form a pruned subtree; the larger the number, the smaller the subtree.  One pass gives a sum over the
leaves of each of these subtrees.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.sums import sum_of_sizes
from fasttree._learn.prune import methods
from fasttree._learn.prune.losses import Losses, losses
from fasttree._learn.prune.methods import EQUAL_COSTS
from fasttree._learn.samples import Samples
from fasttree._model.tree import Tree


class SubtreeSequence:
    """The nested subtrees of a tree, from itself down to its root.

    Parameters
    ----------
    tree : Tree
    level : float64 array, shape (n,)
        The number from which on each inner node is pruned, itself or above; not larger than the parent's.
    lowest : float
        Begin of the sequence.  A level below counts as this.
    tolerance : float
        Levels closer than this count as equal.

    Attributes
    ----------
    steps : float64 array, shape (m,)
        Ascending from `lowest`: subtree k is the smallest for ``steps[k] <= x < steps[k + 1]``.
    """

    def __init__(self, tree: Tree, level: Floats, *, lowest: float, tolerance: float) -> None:
        self.tree = tree
        self.tolerance = tolerance
        self._inner = np.flatnonzero(tree.n_branches)
        self._level = np.maximum(level[self._inner], lowest)
        self._order = np.argsort(self._level, kind="stable")
        steps = [lowest]
        for found in np.unique(self._level).tolist():
            if found > steps[-1] + tolerance:
                steps.append(found)
        self.steps = np.array(steps)

    def n_pruned(self, at: npt.ArrayLike) -> npt.NDArray[np.intp]:
        """Return the number of inner nodes that each subtree lacks."""
        return np.searchsorted(self._level[self._order], np.asarray(at) + self.tolerance, side="right")

    def subtree(self, at: float) -> Tree:
        """Return the smallest subtree for a number."""
        pruned = np.zeros(self.tree.node_count, dtype=np.bool_)
        pruned[self._inner] = self._level <= at + self.tolerance
        return self.tree.prune_at(pruned)

    def sums(self, of_leaf: Floats, at: npt.ArrayLike, besides: Floats | float = 0.0) -> Floats:
        """Return the sum over the leaves of each subtree, plus `besides` for its inner nodes; shape of `at`.

        At minus infinity, the subtree is the tree itself.
        """
        parent = self.tree.parent[1:]
        by_split = np.bincount(parent, weights=of_leaf[1:], minlength=self.tree.node_count) - of_leaf + besides
        by_split = by_split[self._inner][self._order]
        kept = np.concatenate([np.cumsum(by_split[::-1])[::-1], [0.0]])
        return np.asarray(of_leaf[0] + kept[self.n_pruned(at)])

    def n_leaves(self, at: npt.ArrayLike) -> npt.NDArray[np.intp]:
        """Return the number of leaves of each subtree."""
        return np.rint(self.sums(np.ones(self.tree.node_count), at)).astype(np.intp)

    def collapsed(self) -> list[npt.NDArray[np.intp]]:
        """Return the nodes that become leaves from each subtree to the next, beginning with the tree itself."""
        step = np.full(self.tree.node_count, -1)
        step[self._inner] = np.searchsorted(self.steps + self.tolerance, self._level, side="left")
        parent = np.maximum(self.tree.parent, 0)
        tops = self._inner[(step[self._inner] < step[parent[self._inner]]) | (self._inner == 0)]
        tops = tops[np.argsort(step[tops], kind="stable")]
        return np.split(tops, np.searchsorted(step[tops], np.arange(1, self.steps.size)))


def weakest_links(tree: Tree, *, risk: str = "impurity", weight: float | None = None) -> SubtreeSequence:
    """Return the subtrees of minimal cost-complexity (Breiman et al. 1984, chapter 3).

    The risk is that of `methods.cost_complexity`, per unit of `weight`, by default that of the root.
    """
    cost = methods.risk_per_weight(tree, risk, weight)
    return SubtreeSequence(tree, methods.complexity(tree, cost), lowest=0.0, tolerance=EQUAL_COSTS * float(cost.max()))


def by_critical_value(tree: Tree) -> SubtreeSequence:
    """Return the subtrees of critical-value pruning (Mingers 1987), for critical values just above each step."""
    level = methods.largest_below(tree, tree.gain)
    # `lowest` is below every gain: the first subtree is the tree itself
    return SubtreeSequence(tree, level, lowest=float(tree.gain.min()) - 1.0, tolerance=0.0)


class Choice(NamedTuple):
    """The errors of a sequence's subtrees on other samples, and the index of the chosen subtree.

    `errors` and `deviations` are in units of the root's errors; all arrays have shape (m,), from the largest subtree to the root.
    """

    chosen: int
    steps: Floats
    n_leaves: npt.NDArray[np.intp]
    errors: Floats
    deviations: Floats


def choose(
    sequence: SubtreeSequence,
    errors: Floats,
    squares: Floats,
    weight: float,
    root_errors: float,
    selection: str,
    *,
    times: float = 1.0,
) -> Choice:
    """Choose the smallest subtree of least error, or ("1se") the smallest within a standard error of the least error.

    Parameters
    ----------
    sequence : SubtreeSequence
    errors, squares : float64 array, shape (m,)
        Sums of the losses on other samples, and of their squares, for each subtree.
    weight : float
        Weight of those samples.
    root_errors : float
        Unit of the result.
    selection : {"best", "1se"}
    times : float
        How often a unit of the samples' own weight judges, on average over `weight`.
    """
    unit = root_errors if root_errors > 0 else 1.0
    # judgements by one sample count as equal: repeating them must not make errors look more certain
    deviations = np.sqrt(np.maximum(squares - errors**2 / weight, 0) * times)
    tolerance = EQUAL_COSTS * float(errors.max())
    index = int(np.flatnonzero(errors <= errors.min() + tolerance)[-1])
    if selection == "1se":
        index = int(np.flatnonzero(errors <= errors[index] + deviations[index] + tolerance)[-1])
    return Choice(index, sequence.steps, sequence.n_leaves(sequence.steps), errors / unit, deviations / unit)


def by_samples(sequence: SubtreeSequence, samples: Samples, selection: str) -> Choice:
    """Choose by samples held out from the growth; errors are in units of the root's errors on them."""
    found = losses(sequence.tree, samples)
    errors, squares = _along(sequence, found, sequence.steps)
    return choose(sequence, errors, squares, float(found.weight[0]), float(found.loss[0]), selection)


def by_folds(
    sequence: SubtreeSequence, samples: Samples, folds: Iterable[tuple[SubtreeSequence, Samples]], selection: str
) -> Choice:
    """Choose by cross-validation (Breiman et al. 1984, section 3.4; as in rpart).

    Parameters
    ----------
    sequence : SubtreeSequence
        Subtrees of a tree grown on all samples.
    samples : Samples
        All samples.
    folds : iterable of (SubtreeSequence, Samples)
        For each fold, the sequence of a tree grown without the samples that judge it, and these samples.  A sample may judge in
        several folds, or in none.
    selection : {"best", "1se"}

    Returns
    -------
    Choice
        Errors are weighted means over all judgements, in units of the mean error of the whole sequence's root on all samples;
        deviations are the standard errors of these means.
    """
    # each subtree is the best for an interval of alpha, which is represented by the geometric mean of its ends
    steps = sequence.steps
    typical = np.append(np.sqrt(steps[:-1] * steps[1:]), np.inf)
    errors, squares = np.zeros(steps.size), np.zeros(steps.size)
    weight = np.ones(samples.table.n_samples) if samples.weight is None else samples.weight
    judged = np.zeros(weight.size)
    for fold, held_out in folds:
        more = _along(fold, losses(fold.tree, held_out), typical)
        errors, squares = errors + more[0], squares + more[1]
        judged += 1.0 if held_out.weight is None else held_out.weight
    root = losses(sequence.tree.prune_at(np.ones(sequence.tree.node_count, np.bool_)), samples)
    total = sum_of_sizes(judged)
    root_errors = float(root.loss[0]) * (total / sum_of_sizes(weight))
    times = np.divide(judged, weight, out=np.zeros(weight.size), where=weight > 0)
    return choose(sequence, errors, squares, total, root_errors, selection, times=sum_of_sizes(judged * times) / total)


def _along(sequence: SubtreeSequence, found: Losses, at: Floats) -> tuple[Floats, Floats]:
    """Return the sums of the losses and of their squares for the subtrees of some numbers."""
    return sequence.sums(found.loss, at, found.stopped_loss), sequence.sums(found.square, at, found.stopped_square)
