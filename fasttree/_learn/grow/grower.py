"""`Grower`: growth of several trees by one recipe and the same limits, on all samples, folds or windows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fasttree._learn.constraints import FREE, Constraints
from fasttree._learn.grow import growth
from fasttree._learn.grow.encode import InOrder, KeptColumns
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe
from fasttree._learn.samples import Costs, Samples, total_weight
from fasttree._model.tree import Tree


class Whole(NamedTuple):
    """What growth on some samples must know of all samples.

    Parameters
    ----------
    weight : float
        Sum of the weights.
    has_whole_weights : bool
        Whether all weights are whole numbers.
    mean, least, most : float
        Mean and ends of the targets; 0 for classes.
    """

    weight: float
    has_whole_weights: bool
    mean: float = 0.0
    least: float = 0.0
    most: float = 0.0

    @classmethod
    def of(cls, samples: Samples, n_classes: int) -> Self:
        """Return it for all samples."""
        weight, target = samples.weight, samples.target
        found = cls(total_weight(samples), weight is None or bool((weight == np.rint(weight)).all()))
        if n_classes or target.ndim > 1:
            return found
        return found._replace(mean=float(target.mean(dtype=np.float64)), least=float(target.min()), most=float(target.max()))


@dataclass  # not frozen, which would take three times as long to make; nothing changes it
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
    whole : Whole or None, default=None
        What is known of all samples if `samples` are some of them; `limits` are for them.  None: `samples` are all.
    sorted_table : InOrder or None, default=None
        The table of `samples` with columns that are sorted once for several trees.  None: each tree sorts them.
    memory : dict or None, default=None
        Memory of the engine that trees which grow one after the other use again.  None: each tree has its own.
    """

    samples: Samples
    recipe: Recipe
    limits: Limits
    n_classes: int
    outputs: tuple[int, ...] | None = None
    costs: Costs | None = None
    constraints: Constraints = FREE
    n_jobs: int = 1
    whole: Whole | None = None
    sorted_table: InOrder | None = None
    memory: growth.Memory | None = None

    @property
    def total_weight(self) -> float:
        """Weight of all samples."""
        return total_weight(self.samples) if self.whole is None else self.whole.weight

    def with_sorted_table(self) -> Self:
        """Return the growth whose trees share columns that are sorted once; other weights may take the place of the samples'."""
        if self.sorted_table is not None:
            return self
        table = self.samples.table
        kept = KeptColumns(table, self.recipe, self.limits)
        return replace(self, sorted_table=InOrder(kept, np.arange(table.n_features)))

    def with_memory(self) -> Self:
        """Return the growth whose trees use the same memory, for trees that grow one after the other."""
        return replace(self, memory={})

    def below(self, _tree: Tree, _node: int, /) -> Self:
        """Return the growth of a branch below a node of a tree, whose tests it may have to know."""
        return self

    def __call__(self, part: Samples | None = None, rows: NDArray[np.intp] | None = None) -> Tree:
        """Grow a tree on all samples, on a part of them by other weights, or on some rows."""
        chosen, limits = self.samples, self.limits
        if part is not None:
            chosen, scale = part, total_weight(part) / self.total_weight
            limits = limits._replace(min_weight_leaf=limits.min_weight_leaf * scale)
        return growth.grow(
            chosen.table if part is not None or self.sorted_table is None else self.sorted_table,
            chosen.target,
            chosen.weight,
            self.recipe,
            limits,
            n_classes=self.n_classes,
            class_factor=chosen.class_factor,
            outputs=self.outputs,
            costs=self.costs,
            rows=rows,
            part=chosen.part,
            constraints=self.constraints,
            n_jobs=self.n_jobs,
            memory=self.memory,
        )
