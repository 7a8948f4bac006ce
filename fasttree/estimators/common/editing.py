"""`EditableTree`: fitted trees that a person changes, split by split."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from fasttree._data.checks import is_integer
from fasttree._data.weights import check_same_length, check_sample_weight
from fasttree._learn.grow import competing
from fasttree._learn.grow.afterwards import with_values_in_bounds
from fasttree._learn.grow.by_hand import feature_index, hand_test, stump_by_hand
from fasttree._learn.grow.grower import Grower
from fasttree._learn.limits import Limits
from fasttree._learn.samples import Samples, costs_of, total_weight
from fasttree._model.graft import graft
from fasttree._model.tree import Tree
from fasttree.estimators.common.pruning import PrunableTree

SAME_WEIGHT = 1e-6  # relative difference of a node's weight in the fit and now that rounding of parts may make


class EditableTree(PrunableTree):
    """Base of trees in which a person can set, replace and regrow splits."""

    # scikit-learn takes methods of this name for those of its splitters, which may request metadata
    __metadata_request__split: ClassVar[dict[str, str]] = dict.fromkeys(("node", "feature", "at", "sample_weight"), UNUSED)

    def split(self, node: int, feature: Any, at: Any = None, *, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Return a model in whose tree a node has a test of your choice, with a leaf per branch.  This model does not change.

        What was below the node is removed; `regrow` grows the tree further from a leaf.  The test need not be one that growth
        would choose, and no limit of the parameters applies.  `tree_.by_hand` marks it, and all views of the tree say so.

        Parameters
        ----------
        node : int
            Id of a node of `tree_`.
        feature : str, int or CompetingSplit
            Name or index of a feature, or one of `competing_splits`, which includes the place.
        at : number, category, or list
            Where to split.  For a continuous feature the threshold: values up to it go to the first branch; several ascending
            numbers are the limits of as many branches and one more.  For a nominal feature the list of the categories of the
            first branch, all others going to the second; or a list of such lists, one per branch.  For an ordinal feature the
            last category of the first branch.
        X : table of shape (n_samples, n_features)
            The samples of the fit.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        estimator
            A fitted model of the same class with the same parameters.

        Raises
        ------
        ValueError
            If there is no such node, feature or category, a branch gets no sample, the samples are not those of the fit, or the
            tree has several targets.

        See Also
        --------
        competing_splits : The best split of every feature at a node.
        regrow : Growth below a node.
        collapse : A node becomes a leaf.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> X, y = [[1, 5], [2, 9], [3, 6], [4, 8]], ["a", "a", "b", "b"]
        >>> model = CARTClassifier(max_depth=1).fit(X, y)
        >>> print(model.split(0, "x1", 7, X=X, y=y).export_text(), end="")
        ├── x1 <= 7 [set by hand]: a (1 of 2)
        └── x1 > 7: a (1 of 2)
        """
        tree, samples = self._to_edit(node, X, y, sample_weight)
        if isinstance(feature, competing.CompetingSplit):
            if at is not None:
                raise ValueError(f"at={at!r}: a competing split includes its place; leave it out")
            feature, at = feature.feature, _place(feature)
        index = feature_index(self.schema_, feature)
        arriving = self._arriving(tree, node, samples)
        stump = stump_by_hand(self._grower(samples), hand_test(self.schema_, index, at), arriving)
        if not np.isclose(stump.weight[0], tree.weight[node], rtol=SAME_WEIGHT):
            raise ValueError(
                f"the samples of node {node} weigh {stump.weight[0]:g}, and {tree.weight[node]:g} in the fit: give the samples "
                "and weights of the fit"
            )
        return self._edited(graft(tree, node, stump), samples)

    def regrow(self, node: int, X: Any, y: Any, sample_weight: ArrayLike | None = None, **parameters: Any) -> Self:
        """Return a model whose tree is grown anew below a node.  This model does not change.

        With the parameters of the model and without pruning, the same nodes as in the fit come out.

        Parameters
        ----------
        node : int
            Id of a node of `tree_`: a leaf, to grow the tree further, or an inner node, to replace what is below it.
        X : table of shape (n_samples, n_features)
            The samples of the fit.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        **parameters
            Limits of growth to use instead of the model's, such as ``min_samples_leaf=20``.  `max_depth` counts from the root of
            the whole tree, and `max_leaf_nodes` counts all its leaves.

        Returns
        -------
        estimator
            A fitted model of the same class with the same parameters as this one.  The new nodes are not pruned: see `prune`.

        Raises
        ------
        ValueError
            If there is no such node, a parameter changes the algorithm or the pruning, the samples are not those of the fit, or
            the tree has several targets or interaction constraints.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> X, y = [[1, 5], [2, 9], [3, 6], [4, 8]], ["a", "b", "b", "a"]
        >>> model = CARTClassifier(max_depth=1).fit(X, y)
        >>> model.regrow(2, X, y, max_depth=2).get_n_leaves()
        3
        """
        tree, samples = self._to_edit(node, X, y, sample_weight)
        grower = self._other_limits(parameters)._grower(samples)
        if grower.constraints.sets is not None or grower.constraints.pairwise:
            raise ValueError("regrow and interaction_cst exclude each other: the features of the nodes above are not considered")
        arriving = self._arriving(tree, node, samples)
        assert arriving.weight is not None
        assert arriving.part is not None
        rows = np.flatnonzero(arriving.weight)
        if (arriving.part[rows] < 1).any():
            weight = np.ones(len(arriving.part)) if samples.weight is None else samples.weight.copy()
            weight[rows] *= arriving.part[rows]
            grower = replace(grower, samples=samples._replace(weight=weight, part=arriving.part))
        limits, depth = grower.limits, int(tree.depth()[node])
        if limits.max_depth is not None:
            limits = limits._replace(max_depth=max(limits.max_depth - depth, 0))
        if limits.max_leaf_nodes is not None:
            elsewhere = tree.prune_at(np.arange(tree.node_count) == node).n_leaves - 1
            limits = limits._replace(max_leaf_nodes=max(limits.max_leaf_nodes - elsewhere, 1))
        branch = replace(grower, limits=limits).below(tree, node)(rows=rows)
        return self._edited(graft(tree, node, branch), samples)

    def _to_edit(self, node: int, X: Any, y: Any, sample_weight: ArrayLike | None) -> tuple[Tree, Samples]:
        """Return the tree and the samples, checked."""
        check_is_fitted(self)
        tree = self.tree_
        if not is_integer(node) or not 0 <= node < tree.node_count:
            raise ValueError(f"node={node!r}: must be an integer in [0, {tree.node_count - 1}], the id of a node of tree_")
        if tree.outputs is not None:
            raise ValueError("a tree of several targets cannot be changed by hand: fit a tree for each target")
        if tree.lower is not None:
            tree = tree.replace(lower=None, upper=None)  # as in growth: thresholds become soft in the finished tree
        table, target = self._encode_table(X), self._encode_target(y)
        check_same_length(table.n_samples, len(target))
        weight = None if sample_weight is None else check_sample_weight(sample_weight, table.n_samples)
        weight = self._weigh(target, weight)
        factor = self._class_factor(target, weight)
        return tree, self._checked_samples(Samples(table, target, weight, factor, self.recipe_.impurity))

    def _arriving(self, tree: Tree, node: int, samples: Samples) -> Samples:
        """Return the samples with the weights, times the factors of classes, and the parts that arrive at a node."""
        of_parts = Limits(min_part_weight=self._min_part_weight(), min_part_share=self._min_part_share())
        part = competing.parts_at(tree, samples, int(node), of_parts if self.recipe_.missing == "fractional" else None)
        weight = part if samples.counts is None else part * samples.counts
        if not weight.any():
            raise ValueError(f"node={node}: none of the samples in X reaches it")
        return samples._replace(weight=weight, class_factor=None, part=part)

    def _grower(self, samples: Samples) -> Grower:
        """Return the growth by the parameters of this model."""
        table, loss = samples.table, self.tree_.loss
        return self._by_its_growth(
            Grower(
                samples,
                self.recipe_,
                self._limits(table.n_samples, table.n_features, total_weight(samples)),
                len(getattr(self, "classes_", ())),
                None,
                None if loss is None else costs_of(samples, loss),
                self._constraints(table.schema),
                self._threads(),
            )
        )

    def _other_limits(self, parameters: dict[str, Any]) -> Self:
        """Return this model with other limits of growth."""
        if not parameters:
            return self
        other: Self = clone(self).set_params(**parameters)
        if wrong := sorted({"pruning", "ccp_alpha", "confidence"} & parameters.keys()):
            raise ValueError(f"{wrong[0]}={parameters[wrong[0]]!r}: regrow does not prune; use prune on the new model")
        if other._checked_recipe() != self.recipe_:
            raise ValueError(f"{', '.join(parameters)}: regrow takes limits of growth, and keeps the algorithm of the fit")
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name.endswith("_")})
        return other

    def _edited(self, tree: Tree, samples: Samples) -> Self:
        """Return a model with a tree that was put together, after the steps that need the finished tree."""
        monotone = self._constraints(self.schema_).monotone
        if monotone is not None:
            tree = with_values_in_bounds(tree, monotone)
        if self.tree_.lower is not None:
            tree = self._softened(tree, samples)
        tree.check()
        return self._with_tree(tree)


def _place(split: competing.CompetingSplit) -> Any:
    """Return the place of a competing split as `split` takes it: growth adds the branch of missing values, if there is one."""
    if split.cuts is not None:
        return list(split.cuts)
    groups = [group for group in split.categories or () if group]
    if len(groups) > 1:
        return groups
    if split.threshold is None or not np.isfinite(split.threshold):
        what = "a threshold" if split.categories is None else "groups of categories"
        raise ValueError(f"the competing split of {split.name!r} separates missing values alone: give {what}")
    return split.threshold
