"""C5.0's pruning: predicted errors with branches grown anew, then training errors within one standard error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._engine import passes
from fasttree._learn.grow.grower import Grower
from fasttree._learn.prune.costs_c50 import cost_rules
from fasttree._learn.prune.error_based import (
    error_based_with_ends,
    lacks_value,
    tested_features,
    without_impossible_categories,
)
from fasttree._learn.prune.methods import useless_splits
from fasttree._learn.prune.regrowth import Regrowth, entries_of
from fasttree._learn.samples import total_count
from fasttree._model import walks
from fasttree._model.arrays import CATEGORY, NOMINAL, counts_below
from fasttree._model.graft import OF_SAMPLES, OF_TESTS
from fasttree._model.tree import Tree

NULL_CASES = 0.05  # a lighter leaf is a null leaf, which predicts as its parent does
SMALL_CASES = 0.1  # subtrees of at most this weight are not removed by themselves
FEWEST_MERGED = 3  # categories of a feature whose leaf branches are merged


class PrunedTree(NamedTuple):
    """A pruned tree, and where the samples end in it.

    Parameters
    ----------
    tree : Tree
    before : Tree
        The tree before some branches were merged, which predicts the same for all samples.
    ends : int32 array, shape (n_samples,), or None
        Leaf of each sample in `before`: -1 if it may be divided, any node if it has no weight.  None: not known.
    """

    tree: Tree
    before: Tree
    ends: walks.Ends | None


@dataclass(frozen=True)
class C50Pruning:
    """C5.0's pruning of trees from one `Grower`.

    Parameters
    ----------
    grower : Grower
        The samples, recipe and limits of the growth.
    confidence : float
        In (0, 1): the smaller, the more is pruned.
    global_pruning : bool
        Whether subtrees are removed whose training errors are within one standard error.
    grows_anew : bool
        Whether a branch that takes its node's place is grown anew, as in the first trial of boosting.
    merges_leaves : bool
        Whether the leaf branches of one class are merged, and not only empty ones.
    whole : Grower or None, default=None
        Growth with the samples whose values are thresholds of branches grown anew; None: `grower`.
    """

    grower: Grower
    confidence: float
    global_pruning: bool = True
    grows_anew: bool = True
    merges_leaves: bool = True
    whole: Grower | None = None

    def __call__(self, tree: Tree) -> Tree:
        """Return the pruned tree."""
        return self.with_ends(tree).tree

    def with_ends(self, tree: Tree) -> PrunedTree:
        """Return the pruned tree, and where the samples end in it."""
        grower, samples, costs = self.grower, self.grower.samples, cost_rules(self.grower)
        pruned, ends = error_based_with_ends(
            tree,
            samples.table,
            samples.target,
            samples.counts,
            self.confidence,
            minimum=grower.limits.min_branch_weight,
            grow_anew=Regrowth(tree, grower, self.whole or grower) if self.grows_anew else None,
            class_weight=(1.0, 1.0) if costs is None else costs.of_two_classes,
            n_jobs=grower.n_jobs,
        )
        pruned = with_null_leaves(pruned)
        if costs is not None:
            pruned = costs.judged(pruned)
        elif self.global_pruning:
            cut = useless_subtrees(pruned, self.training_errors(pruned, ends), self.total_weight())
            if cut.any():
                pruned, ends = pruned.prune_at(cut), ends_after(pruned, cut, ends)
        if grower.recipe.nominal == "groups":
            merged, same = with_merged_leaves(without_impossible_categories(pruned), empty_only=False), False
        else:
            merged, same = with_merged_leaves(pruned, empty_only=not self.merges_leaves), not self.merges_leaves
        return PrunedTree(merged, pruned, ends) if same or merged is pruned else PrunedTree(merged, merged, None)

    def training_errors(self, tree: Tree, ends: walks.Ends | None) -> float | None:
        """Return the weight of the training samples that the tree misclassifies, if it tests missing values; else None."""
        samples = self.grower.samples
        if not any(lacks_value(samples.table, feature).any() for feature in tested_features(tree)):
            return None
        wrong = walks.predict_class(tree, samples.table, ends) != samples.target
        return float(np.count_nonzero(wrong) if samples.counts is None else samples.counts[wrong].sum())

    def total_weight(self) -> float:
        """Return the weight of all samples of the fit; boosting may have dropped some."""
        total = self.grower.limits.n_cases
        return total_count(self.grower.samples) if total is None else total


def expected_errors(tree: Tree) -> float:
    """Return the errors by which rules of a tree are judged: those of its leaves; with costs, those of its root as a leaf."""
    if tree.loss is None:
        return float(tree.errors[tree.n_branches == 0].sum())
    return float(tree.weight[0] - tree.value[0, tree.predicted_class[0]])


def with_null_leaves(tree: Tree) -> Tree:
    """Return the tree with the values of null leaves: those of their parents."""
    null = (tree.n_branches == 0) & (tree.weight < NULL_CASES)
    null[0] = False
    above, value = tree.parent[null], tree.value.copy()
    weight = np.where(tree.weight > 0, tree.weight, tree.weight[tree.parent])[null]
    value[null] = value[above] * (weight / tree.weight[above])[:, None]
    return tree.replace(value=value, estimated_errors=None)


def preorder(tree: Tree) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the place of each node in preorder, and the number of nodes of its subtree."""
    one = np.ones(tree.node_count)
    size = useless_splits(tree, one, slack=-np.inf, besides=one)[1].astype(np.intp)
    before, above = np.cumsum(size) - size, tree.parent.astype(np.intp)
    above[0] = 0
    place = 1 + before - before[tree.first_child[above]]  # behind the node in `above`, which moves up twice as far each time
    place[0] = 0
    while above.any():
        place += place[above]
        above = above[above]
    return place, size


def ends_after(tree: Tree, cut: npt.NDArray[np.bool_], ends: walks.Ends) -> walks.Ends:
    """Return where samples end if the tree is pruned at some nodes."""
    below = counts_below(cut, tree.parent)
    home = np.arange(tree.node_count)
    while (lost := below[home]).any():
        home[lost] = tree.parent[home[lost]]
    new_id = np.append(np.cumsum(~below)[home] - 1, -1)
    return np.asarray(new_id[ends], np.int32)


def useless_subtrees(tree: Tree, errors: float | None, total: float) -> npt.NDArray[np.bool_]:
    """Mark the subtrees whose removal adds training errors within one standard error.

    Those of least additional errors per leaf are removed first.  Weights and errors are in single precision, as in the original:
    that decides ties.

    Parameters
    ----------
    tree : Tree
    errors : float or None
        Weight of the samples that the tree misclassifies; None: that of its leaves.
    total : float
        Weight of all samples, those that boosting dropped included.
    """
    is_leaf = tree.n_branches == 0
    leaves = (is_leaf & (tree.weight >= NULL_CASES)).astype(np.int32)
    hidden, cut = (tree.weight <= SMALL_CASES).view(np.uint8), is_leaf.view(np.uint8).copy()
    hidden[0] = 0
    passes.subtrees_within_one_error(tree.parent, tree.value, leaves, hidden, cut, -1.0 if errors is None else errors, total)
    useless: npt.NDArray[np.bool_] = cut.view(np.bool_) & ~is_leaf
    return useless


def with_merged_leaves(tree: Tree, *, empty_only: bool) -> Tree:
    """Return the tree in which leaf branches of one test are one if all are empty, or are of the same class."""
    by_category = (tree.kind == CATEGORY) | (tree.kind == NOMINAL)
    wide = np.flatnonzero(by_category & (tree.n_branches >= FEWEST_MERGED))
    alike = (tree.n_branches == 0) & ((tree.weight == 0) if empty_only else True)
    wide = wide[np.bincount(tree.parent[1:][alike[1:]], minlength=tree.node_count)[wide] > 1]
    if not wide.size:
        return tree
    held = list(zip(*(getattr(tree, name).tolist() for name in ("weight", "predicted_class", "n_branches")), strict=True))
    first_child, n_branches = tree.first_child.tolist(), tree.n_branches.tolist()
    merged: dict[int, list[list[int]]] = {}
    for node in wide.tolist():
        found = groups_of(held[first_child[node] : first_child[node] + n_branches[node]], empty_only)
        if 1 < len(found) < n_branches[node]:
            merged[node] = found
    if not merged:
        return tree
    # the branches of a merged node are copied behind the others, one for each group
    n_nodes, n_entries = tree.node_count, tree.categories_code.size
    arrays = {name: getattr(tree, name).copy() for name in (*OF_TESTS, *OF_SAMPLES)}
    new_first_child, start = tree.first_child.copy(), tree.categories_start[:-1].copy()
    size, codes, branches = np.diff(tree.categories_start), [tree.categories_code], [tree.categories_branch]
    copied: list[int] = []
    for node, found in merged.items():
        number_of = {branch: number for number, group in enumerate(found) for branch in group}
        of_branch = np.array([number_of[branch] for branch in range(n_branches[node])], np.int32)
        entries, of_code = entries_of(tree, node), of_branch
        if tree.kind[node] == NOMINAL:
            codes.append(tree.categories_code[entries])
            of_code = of_branch[tree.categories_branch[entries]]
        else:
            codes.append(np.arange(1, of_branch.size + 1, dtype=np.uint32))
        branches.append(of_code)
        start[node], size[node] = n_entries, of_code.size
        n_entries += of_code.size
        arrays["n_branches"][node], arrays["kind"][node] = len(found), NOMINAL
        new_first_child[node] = n_nodes + len(copied)
        for first, *others in ([first_child[node] + branch for branch in group] for group in found):
            copied.append(first)
            if others and held[first][0]:
                for name in ("n_samples", "weight", "value"):
                    arrays[name][first] += getattr(tree, name)[others].sum(axis=0)
                n_filled = int(np.count_nonzero(tree.n_samples[[first, *others]]))
                arrays["n_samples"][first] -= max(n_filled - 1, 0) * n_divided(tree, node)
            if held[first][0] == 0:
                arrays["value"][first] = tree.value[node]
    order = np.append(np.arange(n_nodes), copied).astype(np.intp)
    return Tree.from_growth(
        task=tree.task,
        n_features=tree.n_features,
        first_child=new_first_child[order],
        categories_start=start[order],
        categories_size=size[order],
        categories_code=np.concatenate(codes),
        categories_branch=np.concatenate(branches),
        loss=tree.loss,
        **{name: array[order] for name, array in arrays.items()},
    )


def n_divided(tree: Tree, node: int) -> int:
    """Return the number of samples that are in every branch of a node with samples."""
    first = int(tree.first_child[node])
    children = tree.n_samples[first : first + int(tree.n_branches[node])]
    n_filled = int(np.count_nonzero(children))
    return max(int(children.sum() - tree.n_samples[node]), 0) // (n_filled - 1) if n_filled > 1 else 0


def groups_of(children: list[tuple[float, int, int]], empty_only: bool) -> list[list[int]]:
    """Return the branches of a node, those that are merged together; a child has a weight, a class and a number of branches."""
    groups: list[list[int]] = []
    of_class: dict[int, list[int]] = {}
    for branch, (weight, predicted, n_branches) in enumerate(children):
        key = predicted if weight else -1
        # a null leaf with parts of samples stays alone: its weight may not reach that of a leaf with others'
        if n_branches or 0 < weight < NULL_CASES or (empty_only and weight):
            groups.append([branch])
        elif key in of_class:
            of_class[key].append(branch)
        else:
            of_class[key] = [branch]
            groups.append(of_class[key])
    return groups
