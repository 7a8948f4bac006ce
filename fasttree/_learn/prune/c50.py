"""C5.0's pruning: predicted errors with branches grown anew, then training errors within one standard error."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind
from fasttree._data.sums import sum_of_sizes
from fasttree._learn.grow import growth
from fasttree._learn.grow.decode import raised
from fasttree._learn.grow.encode import SomeRows
from fasttree._learn.grow.grower import Grower
from fasttree._learn.prune.costs_c50 import cost_rules
from fasttree._learn.prune.error_based import error_based, without_impossible_categories
from fasttree._model import walks
from fasttree._model.arrays import CATEGORY, LEAF, NOMINAL, STOP, THRESHOLD
from fasttree._model.graft import OF_SAMPLES, OF_TESTS
from fasttree._model.tree import Tree

NULL_CASES = 0.05  # a lighter leaf is a null leaf, which predicts as its parent does
FEWEST_MERGED = 3  # categories of a feature whose leaf branches are merged


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
        grower, samples, costs = self.grower, self.grower.samples, cost_rules(self.grower)
        pruned = error_based(
            tree,
            samples.table,
            samples.target,
            samples.counts,
            self.confidence,
            minimum=grower.limits.min_branch_weight,
            grow_anew=Regrowth(grower, self.whole or grower) if self.grows_anew else None,
            class_weight=(1.0, 1.0) if costs is None else costs.of_two_classes,
        )
        pruned = with_null_leaves(pruned)
        if costs is not None:
            pruned = costs.judged(pruned)
        elif self.global_pruning:
            pruned = globally_pruned(pruned, self.training_errors(pruned))
        if grower.recipe.nominal == "groups":
            return with_merged_leaves(without_impossible_categories(pruned), empty_only=False)
        return with_merged_leaves(pruned, empty_only=not self.merges_leaves)

    def training_errors(self, tree: Tree) -> float:
        """Return the weight of the training samples that the tree misclassifies; samples with missing values are classified."""
        samples, costs = self.grower.samples, cost_rules(self.grower)
        tested = np.unique(tree.feature[tree.n_branches > 0]).tolist()
        if not any(is_missing(samples.table.column(feature)).any() for feature in tested):
            by_node = tree.errors if costs is None else costs.wrong_weight(tree)
            return float(by_node[tree.n_branches == 0].sum())
        wrong = walks.predict_class(tree, samples.table) != samples.target
        return float(np.count_nonzero(wrong) if samples.counts is None else samples.counts[wrong].sum())


class Regrowth:
    """Growth of branches that take their nodes' places, on all samples of these nodes.

    The thresholds of new nodes are midpoints until `with_values` makes them values of the table.

    Parameters
    ----------
    grower : Grower
    whole : Grower
        Growth with the samples whose values are thresholds.
    """

    def __init__(self, grower: Grower, whole: Grower) -> None:
        self._grower, self._whole = grower, whole
        limits = grower.limits
        counts = whole.samples.counts
        n_cases = grower.samples.table.n_samples if counts is None else sum_of_sizes(counts)
        self._limits = replace(limits, n_cases=float(n_cases) if limits.n_cases is None else limits.n_cases)

    def __call__(self, tree: Tree, node: int, rows: npt.NDArray[np.intp], weight: Floats) -> Tree:
        """Return the tree with a subtree behind its nodes that has the test of a node, and is grown on some samples below it."""
        order = np.argsort(rows, kind="stable")
        rows, weight = rows[order], weight[order]
        branch = branches_of(tree, node, self._grower.samples.table.column(int(tree.feature[node]))[rows])
        unknown = branch < 0
        divides = bool(unknown.any())
        known = float(weight[~unknown].sum())
        branches: list[Tree | None] = []
        for b in range(int(tree.n_branches[node])):
            here = branch == b
            part = weight[here]
            share = float(part.sum()) / known
            if divides and share > 0:
                here |= unknown
                part = np.where(unknown[here], weight[here] * share, weight[here])
            branches.append(self._grow_branch(rows[here], part))
        return behind(tree, node, branches)

    def _grow_branch(self, rows: npt.NDArray[np.intp], weight: Floats) -> Tree | None:
        """Return the subtree of a branch, None if it is a leaf."""
        grower = self._grower
        target = grower.samples.target[rows]
        total = float(weight.sum())
        if total < 2 * grower.limits.min_branch_weight * (1 - 1e-9) or (target[1:] == target[:1]).all():
            return None
        return growth.grow(
            SomeRows(grower.samples.table, rows),
            target,
            weight,
            grower.recipe,
            self._limits,
            n_classes=grower.n_classes,
            keeps_midpoints=True,
            n_jobs=grower.n_jobs,
        )

    def with_values(self, tree: Tree, n_before: int) -> Tree:
        """Return the tree with the largest values up to the midpoints as thresholds of its nodes from number `n_before` on."""
        new = n_before + np.flatnonzero(tree.kind[n_before:] == THRESHOLD)
        if not new.size:
            return tree
        samples = self._whole.samples
        kept = None if samples.counts is None or samples.counts.all() else samples.counts > 0
        threshold = tree.threshold.copy()
        for feature in np.unique(tree.feature[new]).tolist():
            if samples.table.schema.features[feature].kind is Kind.CONTINUOUS:
                at = new[tree.feature[new] == feature]
                column = samples.table.column(feature)
                threshold[at] = raised(column if kept is None else column[kept], threshold[at])
        return tree.replace(threshold=threshold)


def is_missing(column: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    """Return which cells of an encoded column are missing."""
    missing: npt.NDArray[np.bool_] = np.isnan(column) if column.dtype.kind == "f" else column == 0
    return missing


def branches_of(tree: Tree, node: int, column: npt.NDArray[np.generic]) -> npt.NDArray[np.intp]:
    """Return the branch of each value of a node's feature, -1 if it is missing."""
    if tree.kind[node] == THRESHOLD:
        branch = (column > tree.threshold[node]).astype(np.intp)
    elif tree.kind[node] == NOMINAL:
        entries = entries_of(tree, node)
        branch_of = np.full(int(tree.categories_code[entries].max()) + 1, -1, np.intp)
        branch_of[tree.categories_code[entries]] = tree.categories_branch[entries]
        branch = branch_of[column]
    else:
        branch = column.astype(np.intp) - 1
    return np.where(is_missing(column), -1, branch)


def entries_of(tree: Tree, node: int) -> slice:
    """Return where the categories of a node's test are."""
    return slice(int(tree.categories_start[node]), int(tree.categories_start[node + 1]))


def behind(tree: Tree, node: int, branches: list[Tree | None]) -> Tree:
    """Return the tree with nodes behind its own: one with the test of `node`, and below it the branches (None: an empty leaf).

    Nothing leads to the new nodes yet.
    """
    n_before, n_branches = tree.node_count, len(branches)
    grown = [branch for branch in branches if branch is not None]
    sizes = [1 if branch is None else branch.node_count for branch in branches]
    # the first nodes of all branches are siblings, so they come first, and their other nodes follow branch by branch
    starts = n_before + 1 + n_branches + np.cumsum([0, *(size - 1 for size in sizes[:-1])])

    def rows(name: str, of_node: npt.ArrayLike, empty: npt.ArrayLike) -> npt.NDArray[np.generic]:
        own = getattr(tree, name)
        parts = [np.asarray(empty, own.dtype)[None] if b is None else getattr(b, name)[:1] for b in branches]
        rest = [getattr(b, name)[1:] for b in grown]
        return np.concatenate([own, np.asarray(of_node, own.dtype)[None], *parts, *rest])

    shifted = [
        np.array([-1], np.int32) if b is None else np.where(b.first_child < 0, -1, b.first_child - 1 + start).astype(np.int32)
        for b, start in zip(branches, starts.tolist(), strict=True)
    ]
    codes, of_codes, ends = categories_behind(tree, node, branches)
    own = np.array([n_before + 1], np.int32)
    first_child = [tree.first_child, own, *(s[:1] for s in shifted), *(s[1:] for s in shifted)]
    n_nodes = n_before + 1 + sum(sizes)
    return Tree(
        task=tree.task,
        n_features=tree.n_features,
        parent=np.zeros(n_nodes, np.int32),
        first_child=np.concatenate(first_child),
        n_branches=rows("n_branches", n_branches, 0),
        feature=rows("feature", tree.feature[node], -1),
        kind=rows("kind", tree.kind[node], LEAF),
        threshold=rows("threshold", tree.threshold[node], np.nan),
        missing=rows("missing", tree.missing[node], STOP),
        categories_start=np.append(tree.categories_start, ends),
        categories_code=codes,
        categories_branch=of_codes,
        n_samples=rows("n_samples", 0, 0),
        weight=rows("weight", 0.0, 0.0),
        value=rows("value", tree.value[node], tree.value[node]),
        impurity=rows("impurity", 0.0, 0.0),
        gain=rows("gain", tree.gain[node], 0.0),
    )


def categories_behind(
    tree: Tree, node: int, branches: list[Tree | None]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return the categories of a tree with nodes as in `behind`, their branches, and where those of each new node end."""
    grown = [branch for branch in branches if branch is not None]
    parts = [(tree, 0, tree.node_count), (tree, node, node + 1)]
    sizes = [np.diff(tree.categories_start)[node : node + 1]]
    for branch in branches:
        sizes.append(np.zeros(1, np.int64) if branch is None else np.diff(branch.categories_start[:2]))
    parts += [(branch, 0, 1) for branch in grown] + [(branch, 1, branch.node_count) for branch in grown]
    sizes += [np.diff(branch.categories_start[1:]) for branch in grown]
    entries = [slice(int(t.categories_start[first]), int(t.categories_start[last])) for t, first, last in parts]
    codes = np.concatenate([t.categories_code[here] for (t, _, _), here in zip(parts, entries, strict=True)])
    of_codes = np.concatenate([t.categories_branch[here] for (t, _, _), here in zip(parts, entries, strict=True)])
    return codes, of_codes, tree.categories_start[-1] + np.cumsum(np.concatenate(sizes))


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
    parent, first_child, n_branches = tree.parent.tolist(), tree.first_child.tolist(), tree.n_branches.tolist()
    size, place = [1] * tree.node_count, [0] * tree.node_count  # numbers of lists are read faster than those of arrays
    for node in range(tree.node_count - 1, 0, -1):
        size[parent[node]] += size[node]
    for node, first in enumerate(first_child):
        following = place[node] + 1
        for child in range(first, first + n_branches[node]):
            place[child] = following
            following += size[child]
    return np.array(place, dtype=np.intp), np.array(size, dtype=np.intp)


def globally_pruned(tree: Tree, errors: float) -> Tree:
    """Return the tree without subtrees whose removal adds training errors within one standard error.

    Those of least additional errors per leaf are removed first.  The original keeps weights and that least cost in single
    precision, and compares the cost with others in double precision: costs that single precision cannot hold never tie, and the
    last of equal costs in preorder wins where they are rounded up, else the first.
    """
    place, size = preorder(tree)
    node_at = np.argsort(place)
    end = place + size
    as_leaf = single_errors(tree)
    below = np.where(tree.n_branches == 0, as_leaf, 0.0)
    leaves = ((tree.n_branches == 0) & (tree.weight >= NULL_CASES)).astype(np.intp)
    for node in range(tree.node_count - 1, 0, -1):
        below[tree.parent[node]] += below[node]
        leaves[tree.parent[node]] += leaves[node]
    inner = tree.n_branches > 0
    extra = np.where(inner, as_leaf - below, np.inf)[node_at]
    cost = np.divide(extra, leaves[node_at] - 1, out=np.zeros(tree.node_count), where=leaves[node_at] > 1)
    cut = np.zeros(tree.node_count, bool)
    budget = math.sqrt(max(errors * (1 - errors / float(tree.weight[0])), 0.0))
    while (found := cheapest(np.where(extra <= budget, cost, np.inf), end[node_at])).size:
        budget -= float(extra[found].sum())
        if budget < 0:
            break
        for at in found.tolist():
            node = int(node_at[at])
            cut[node] = True
            more, fewer = float(as_leaf[node] - below[node]), int(leaves[node]) - 1
            extra[at : end[node]] = np.inf
            while node:
                node = int(tree.parent[node])
                below[node] += more
                leaves[node] -= fewer
                above = int(place[node])
                extra[above] = as_leaf[node] - below[node]
                cost[above] = extra[above] / (leaves[node] - 1) if leaves[node] > 1 else 0.0
    return tree.prune_at(cut) if cut.any() else tree


def single_errors(tree: Tree) -> Floats:
    """Return the errors of each node as a leaf, from weights in single precision, as the original keeps them."""
    hits = tree.weight - tree.errors
    return tree.weight.astype(np.float32).astype(np.float64) - hits.astype(np.float32)


def cheapest(cost: Floats, end: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the places, in preorder, of the outermost subtrees of least cost; `end` is where each subtree ends."""
    least = float(cost.min())
    if least == np.inf:
        return np.empty(0, np.intp)
    rounded = float(np.float32(least))
    if rounded > least:
        return np.flatnonzero(cost < rounded)[-1:]
    if rounded < least:
        return np.flatnonzero(cost.astype(np.float32) == np.float32(least))[:1]
    outermost: list[int] = []
    for at in np.flatnonzero(cost == least).tolist():
        if not outermost or at >= end[outermost[-1]]:
            outermost.append(at)
    return np.array(outermost)


def with_merged_leaves(tree: Tree, *, empty_only: bool) -> Tree:
    """Return the tree in which leaf branches of one test are one if all are empty, or are of the same class."""
    wide = np.flatnonzero(np.isin(tree.kind, (CATEGORY, NOMINAL)) & (tree.n_branches >= FEWEST_MERGED))
    groups = {int(node): groups_of(tree, int(node), empty_only) for node in wide}
    merged = {node: found for node, found in groups.items() if 1 < len(found) < tree.n_branches[node]}
    if not merged:
        return tree
    # the branches of a merged node are copied behind the others, one for each group
    n_nodes, n_entries = tree.node_count, tree.categories_code.size
    arrays = {name: getattr(tree, name).copy() for name in (*OF_TESTS, *OF_SAMPLES)}
    first_child, start = tree.first_child.copy(), tree.categories_start[:-1].copy()
    size, codes, branches = np.diff(tree.categories_start), [tree.categories_code], [tree.categories_branch]
    copied: list[int] = []
    for node, found in merged.items():
        of_branch = np.empty(int(tree.n_branches[node]), np.int32)
        for number, group in enumerate(found):
            of_branch[group] = number
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
        first_child[node] = n_nodes + len(copied)
        for first, *others in ([int(tree.first_child[node]) + branch for branch in group] for group in found):
            copied.append(first)
            for name in ("n_samples", "weight", "value"):
                arrays[name][first] += getattr(tree, name)[others].sum(axis=0)
            n_filled = int(np.count_nonzero(tree.n_samples[[first, *others]]))
            arrays["n_samples"][first] -= max(n_filled - 1, 0) * n_divided(tree, node)
            if arrays["weight"][first] == 0:
                arrays["value"][first] = tree.value[node]
    order = np.append(np.arange(n_nodes), copied).astype(np.intp)
    return Tree.from_growth(
        task=tree.task,
        n_features=tree.n_features,
        first_child=first_child[order],
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


def groups_of(tree: Tree, node: int, empty_only: bool) -> list[list[int]]:
    """Return the branches of a node, those that are merged together."""
    groups: list[list[int]] = []
    of_class: dict[int, list[int]] = {}
    for branch in range(int(tree.n_branches[node])):
        child = int(tree.first_child[node]) + branch
        weight = float(tree.weight[child])
        key = int(tree.predicted_class[child]) if weight else -1
        # a null leaf with parts of samples stays alone: its weight may not reach that of a leaf with others'
        if tree.n_branches[child] or 0 < weight < NULL_CASES or (empty_only and weight):
            groups.append([branch])
        elif key in of_class:
            of_class[key].append(branch)
        else:
            of_class[key] = [branch]
            groups.append(of_class[key])
    return groups
