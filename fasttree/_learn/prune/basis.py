"""Basis of a pruning method besides the tree: samples held out, folds, and samples by which C4.5 raises branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fasttree._learn.progress import each
from fasttree._learn.prune.error_based import error_based, error_based_without_samples, without_impossible_categories
from fasttree._learn.prune.sequence import Choice, SubtreeSequence, by_folds, by_samples, weakest_links
from fasttree._learn.recipe import Recipe
from fasttree._learn.samples import Samples, divide, total_weight
from fasttree._learn.splits import Split
from fasttree._model.tree import Tree


class Folds(NamedTuple):
    """Cross-validation: samples, their splits, and a function that grows a tree on a part of them."""

    samples: Samples
    splits: list[Split]
    grow: Callable[[Samples], Tree]

    def choose(self, sequence: SubtreeSequence, *, risk: str, selection: str) -> Choice:
        """Choose a subtree of a sequence by folds, each with the sequence of its own tree."""
        parts = (divide(self.samples, split) for split in each("cross-validation", self.splits))
        folds = (
            (weakest_links(self.grow(rest), risk=risk, weight=total_weight(rest)), held_out)
            for rest, held_out in parts
            if np.any(held_out.weight)  # samples of weight 0 cannot judge
        )
        return by_folds(sequence, self.samples, folds, selection)


class Raising(NamedTuple):
    """Samples with which error-based pruning puts a branch in the place of its node.

    Parameters
    ----------
    samples : Samples
        Samples to send down the tree; those of the node then go down the branch.
    recipe : Recipe
    min_part_weight : float, default=0.0
        Parts of samples below this weight are not divided.
    min_part_share : float, default=0.0
        The same as a share of the average weight of a sample.  It takes precedence unless it is 0.
    n_jobs : int, default=1
        Threads; the result does not depend on it.
    """

    samples: Samples
    recipe: Recipe
    min_part_weight: float = 0.0
    min_part_share: float = 0.0
    n_jobs: int = 1

    def prune(self, tree: Tree, confidence: float) -> Tree:
        """Prune a tree by its predicted errors, and raise branches."""
        table, target, counts = self.samples.table, self.samples.target, self.samples.counts
        least_part = self.min_part_weight
        if self.min_part_share:
            least_part = self.min_part_share * (1.0 if counts is None else float(counts[counts > 0].mean()))
        impurity, n_jobs = self.recipe.impurity, self.n_jobs
        pruned = error_based(
            tree, table, target, counts, confidence, min_part_weight=least_part, impurity=impurity, n_jobs=n_jobs
        )
        return without_impossible_categories(pruned) if self.recipe.nominal == "groups" else pruned


class Basis(NamedTuple):
    """Data for a method, which states its needs.

    Parameters
    ----------
    held_out : Samples or None, default=None
        Samples that judge the subtrees, and on which the tree was not grown.
    folds : Folds or None, default=None
    raising : Raising or None, default=None
        None: error-based pruning only turns nodes into leaves.
    """

    held_out: Samples | None = None
    folds: Folds | None = None
    raising: Raising | None = None

    def choose(self, sequence: SubtreeSequence, selection: str) -> Choice:
        """Choose a subtree of a sequence by the samples held out."""
        assert self.held_out is not None
        return by_samples(sequence, self.held_out, selection)

    def prune_by_errors(self, tree: Tree, confidence: float) -> Tree:
        """Prune a tree by its predicted errors, and raise branches if there are samples to judge them by."""
        return error_based_without_samples(tree, confidence) if self.raising is None else self.raising.prune(tree, confidence)
