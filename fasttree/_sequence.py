"""Nested sequences of pruned subtrees, and which of them predicts best.

Cost-complexity and critical-value pruning give every inner node a level, and no node a higher one than its parent: the nodes
whose level is above a number are a pruned subtree, and a larger number leaves a smaller one.  Any sum over the leaves of all
these subtrees is found in one pass.  This file knows neither data frames nor how trees are grown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _prune
from ._prune import EQUAL_COSTS, Losses, Samples
from ._tree import Tree

__all__ = ["Choice", "Sequence", "by_critical_value", "by_folds", "by_samples", "choose", "shuffle", "weakest_links"]

Floats = npt.NDArray[np.float64]


class Sequence:
    """The nested subtrees of a tree, from itself down to its root.

    Parameters
    ----------
    tree : Tree
    level : float64 array, shape (n,)
        Of inner nodes: the number from which on they are pruned, themselves or above; not larger than the parent's.
    lowest : float
        Where the sequence begins.  A level below counts as this.
    tolerance : float
        Levels closer than this are one.

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
        """How many inner nodes each subtree lacks."""
        return np.searchsorted(self._level[self._order], np.asarray(at) + self.tolerance, side="right")

    def subtree(self, at: float) -> Tree:
        """The smallest subtree for a number."""
        pruned = np.zeros(self.tree.node_count, dtype=np.bool_)
        pruned[self._inner] = self._level <= at + self.tolerance
        return self.tree.prune_at(pruned)

    def sums(self, of_leaf: Floats, at: npt.ArrayLike, besides: Floats | float = 0.0) -> Floats:
        """Sum over the leaves of each subtree, and what its inner nodes cost besides; shape of `at`.

        Minus infinity stands for the tree itself.
        """
        parent = self.tree.parent[1:]
        by_split = np.bincount(parent, weights=of_leaf[1:], minlength=self.tree.node_count) - of_leaf + besides
        by_split = by_split[self._inner][self._order]
        kept = np.concatenate([np.cumsum(by_split[::-1])[::-1], [0.0]])
        return np.asarray(of_leaf[0] + kept[self.n_pruned(at)])

    def n_leaves(self, at: npt.ArrayLike) -> npt.NDArray[np.intp]:
        """Number of leaves of each subtree."""
        return np.rint(self.sums(np.ones(self.tree.node_count), at)).astype(np.intp)

    def collapsed(self) -> list[npt.NDArray[np.intp]]:
        """The nodes that become leaves on the way to each subtree, from the one before; of the first, from the tree itself."""
        step = np.full(self.tree.node_count, -1)
        step[self._inner] = np.searchsorted(self.steps + self.tolerance, self._level, side="left")
        parent = np.maximum(self.tree.parent, 0)
        tops = self._inner[(step[self._inner] < step[parent[self._inner]]) | (self._inner == 0)]
        tops = tops[np.argsort(step[tops], kind="stable")]
        return np.split(tops, np.searchsorted(step[tops], np.arange(1, self.steps.size)))


def weakest_links(tree: Tree, *, risk: str = "impurity", weight: float | None = None) -> Sequence:
    """The subtrees of minimal cost-complexity (Breiman et al. 1984, chapter 3); risk as in `_prune.cost_complexity`.

    It is per unit of `weight`, by default that of the root.
    """
    cost = _prune.risk_per_weight(tree, risk, weight)
    return Sequence(tree, _prune.complexity(tree, cost), lowest=0.0, tolerance=EQUAL_COSTS * float(cost.max()))


def by_critical_value(tree: Tree) -> Sequence:
    """The subtrees of critical-value pruning (Mingers 1987), for critical values just above each step."""
    level = _prune.largest_below(tree, tree.gain)
    # below any gain there is, so that the first subtree is the tree itself
    return Sequence(tree, level, lowest=float(tree.gain.min()) - 1.0, tolerance=0.0)


def shuffle(
    class_codes: npt.NDArray[np.integer[Any]] | None, n_samples: int, random: np.random.RandomState
) -> npt.NDArray[np.intp]:
    """A random order of samples in which every class follows the one before, so that every k-th sample is a fair part of all."""
    order = random.permutation(n_samples)
    return order if class_codes is None else order[np.argsort(class_codes[order], kind="stable")]


class Choice(NamedTuple):
    """How the subtrees of a sequence do on other samples, and which is chosen.

    `errors` and `deviations` are in units of the root's errors; all arrays have shape (m,), from the largest subtree to the root.
    """

    chosen: int
    steps: Floats
    n_leaves: npt.NDArray[np.intp]
    errors: Floats
    deviations: Floats


def choose(sequence: Sequence, errors: Floats, squares: Floats, weight: float, root_errors: float, rule: str) -> Choice:
    """Choose the smallest subtree of least errors, or ("1se") the smallest within a standard error of the least.

    Parameters
    ----------
    sequence : Sequence
    errors, squares : float64 array, shape (m,)
        Sums of the losses on other samples, and of their squares, for each of its subtrees.
    weight : float
        Of those samples.
    root_errors : float
        The unit of the answer.
    rule : {"best", "1se"}
    """
    unit = root_errors if root_errors > 0 else 1.0
    deviations = np.sqrt(np.maximum(squares - errors**2 / weight, 0))
    tolerance = EQUAL_COSTS * float(errors.max())
    index = int(np.flatnonzero(errors <= errors.min() + tolerance)[-1])
    if rule == "1se":
        index = int(np.flatnonzero(errors <= errors[index] + deviations[index] + tolerance)[-1])
    return Choice(index, sequence.steps, sequence.n_leaves(sequence.steps), errors / unit, deviations / unit)


def by_samples(sequence: Sequence, samples: Samples, rule: str) -> Choice:
    """Choose by samples held out from the growth; errors in units of the root's on them."""
    found = _prune.losses(sequence.tree, samples)
    errors, squares = _along(sequence, found, sequence.steps)
    return choose(sequence, errors, squares, float(found.weight[0]), float(found.loss[0]), rule)


def by_folds(sequence: Sequence, samples: Samples, folds: Iterable[tuple[Sequence, Samples]], rule: str) -> Choice:
    """Choose by cross-validation (Breiman et al. 1984, section 3.4; as rpart).

    Parameters
    ----------
    sequence : Sequence
        Of a tree grown on all samples.
    samples : Samples
        All of them.
    folds : iterable of (Sequence, Samples)
        For each fold the sequence of a tree that was grown without it, and the fold.
    rule : {"best", "1se"}

    Returns
    -------
    Choice
        Errors in units of those of the whole sequence's root on all samples.
    """
    # a subtree stands for an interval of alpha, and the geometric mean of its ends for it
    steps = sequence.steps
    typical = np.append(np.sqrt(steps[:-1] * steps[1:]), np.inf)
    errors, squares = np.zeros(steps.size), np.zeros(steps.size)
    for fold, held_out in folds:
        more = _along(fold, _prune.losses(fold.tree, held_out), typical)
        errors, squares = errors + more[0], squares + more[1]
    root = _prune.losses(sequence.tree.prune_at(np.ones(sequence.tree.node_count, np.bool_)), samples)
    return choose(sequence, errors, squares, float(root.weight[0]), float(root.loss[0]), rule)


def _along(sequence: Sequence, found: Losses, at: Floats) -> tuple[Floats, Floats]:
    """Sums of the losses and of their squares for the subtrees of some numbers."""
    return sequence.sums(found.loss, at, found.stopped_loss), sequence.sums(found.square, at, found.stopped_square)
