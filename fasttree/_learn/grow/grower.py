"""`Grower`: growth of several trees by one recipe and the same limits, on all samples, folds or windows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fasttree._learn.constraints import FREE, Constraints
from fasttree._learn.grow import growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe
from fasttree._learn.samples import Costs, Samples, total_weight
from fasttree._model.tree import Tree


@dataclass(frozen=True)
class Grower:
    """A recipe, limits and samples; a call grows a tree.

    Parameters
    ----------
    samples : Samples
        All samples.
    recipe : Recipe
    limits : Limits
    n_classes : int
        0 for numeric targets.
    outputs : tuple of int or None, default=None
        Classes of each of several targets.
    costs : Costs or None, default=None
    constraints : Constraints, default=FREE
    n_jobs : int, default=1
        Number of threads.
    whole : Samples or None, default=None
        All samples if `samples` are some of them; `limits` are for them.  None: `samples`.
    """

    samples: Samples
    recipe: Recipe
    limits: Limits
    n_classes: int
    outputs: tuple[int, ...] | None = None
    costs: Costs | None = None
    constraints: Constraints = FREE
    n_jobs: int = 1
    whole: Samples | None = None

    @property
    def all_samples(self) -> Samples:
        """All samples, whose columns may be elsewhere."""
        return self.samples if self.whole is None else self.whole

    def __call__(self, part: Samples | None = None, rows: NDArray[np.intp] | None = None) -> Tree:
        """Grow a tree on all samples, on a part of them by other weights, or on some rows."""
        chosen, limits = self.samples, self.limits
        if part is not None:
            chosen, scale = part, total_weight(part) / total_weight(self.all_samples)
            limits = replace(limits, min_weight_leaf=limits.min_weight_leaf * scale)
        return growth.grow(
            chosen.table,
            chosen.target,
            chosen.weight,
            self.recipe,
            limits,
            n_classes=self.n_classes,
            class_factor=chosen.class_factor,
            outputs=self.outputs,
            costs=self.costs,
            rows=rows,
            constraints=self.constraints,
            n_jobs=self.n_jobs,
        )
