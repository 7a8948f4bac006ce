"""C5.0's costs: weights of two classes in growth and pruning, and leaves that predict the class of least expected cost."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from fasttree._data.cells import Floats
from fasttree._learn.grow.grower import Grower
from fasttree._model.tree import Tree


@dataclass(frozen=True)
class CostRules:
    """What costs change.

    Parameters
    ----------
    loss : float64 array, shape (n_classes, n_classes)
        Cost of predicting the class of the column if that of the row is true.
    class_weight : float64 array, shape (2,), or None
        Weight of the samples of each of two classes, 1 in the mean.  The costs of more classes weigh no samples.
    """

    loss: Floats
    class_weight: Floats | None = None

    @property
    def of_two_classes(self) -> tuple[float, float]:
        """The weights of two classes, 1 if they are more."""
        first, second = (1.0, 1.0) if self.class_weight is None else self.class_weight.tolist()
        return first, second

    def judged(self, tree: Tree) -> Tree:
        """Return the tree with the weights of the samples as given, and with costs; risks do not change."""
        if self.class_weight is None:
            return tree.replace(loss=self.loss, estimated_errors=None)
        value = tree.value / self.class_weight
        weight = np.where(tree.weight > 0, value.sum(axis=1), 0.0)
        per_weight = np.divide(tree.weight, weight, out=np.ones_like(weight), where=weight > 0)
        impurity, gain = tree.impurity * per_weight, tree.gain * per_weight
        return tree.replace(value=value, weight=weight, impurity=impurity, gain=gain, loss=self.loss, estimated_errors=None)


@dataclass
class CostGrower(Grower):
    """Growth with C5.0's costs; the trees have the weights of growth, until `rules` judge them."""

    rules: CostRules | None = None

    @classmethod
    def of(cls, grower: Grower) -> Grower:
        """Return the growth with the costs of another one, which has them in the way of CART; that one if all costs are 1."""
        costs = grower.costs
        if costs is None:
            return grower
        n_classes = len(costs.loss)
        if (costs.loss == 1 - np.eye(n_classes)).all():
            return replace(grower, costs=None)
        samples, limits, weight = grower.samples, grower.limits, None
        if n_classes == 2:
            weight = costs.loss.sum(axis=1) / costs.mean
            samples = samples._replace(class_factor=weight)
            limits = limits._replace(min_branch_weight=limits.min_branch_weight * float(weight.min()))
        shared = {field.name: getattr(grower, field.name) for field in fields(Grower)}
        changed = {"costs": None, "samples": samples, "limits": limits, "rules": CostRules(costs.loss, weight)}
        return cls(**shared | changed)


def cost_rules(grower: Grower) -> CostRules | None:
    """Return the costs of a growth, None if there are none."""
    return grower.rules if isinstance(grower, CostGrower) else None
