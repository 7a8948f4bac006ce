"""C5.0's winnowing: removal of features that do not help to predict one half of the samples from the other."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind
from fasttree._data.sums import sum_of_sizes
from fasttree._data.table import Few, Table
from fasttree._learn.grow.competing import branches_of
from fasttree._learn.grow.grower import Grower
from fasttree._learn.prune.costs_c50 import cost_rules
from fasttree._learn.samples import total_weight, weighted_rows
from fasttree._model import walks
from fasttree._model.tree import Tree

LEAST_BRANCH = 2.0  # weight of a branch in the trial trees, which otherwise is half of the given one
MANY_CATEGORIES = 0.3  # of the samples
NEAR = 1e-6  # difference of votes that rounding in single precision may turn over


class Hidden(Table):
    """A table in which some features are constant for growth and missing for prediction.

    Parameters
    ----------
    table : Table
    features : collection of int
        Those that are hidden.
    """

    is_in_rows = True  # `block` knows what is hidden

    def __init__(self, table: Table, features: Collection[int]) -> None:
        self.schema, self.n_samples, self.n_features = table.schema, table.n_samples, table.n_features
        self.matrix = None
        self._table, self._features = table, sorted(features)

    def hides(self, j: int) -> bool:
        """Return whether a feature is hidden."""
        return j in self._features

    def column(self, j: int) -> npt.NDArray[Any]:
        if j not in self._features:
            return self._table.column(j)
        is_continuous = self.schema.features[j].kind == Kind.CONTINUOUS
        return np.zeros(self.n_samples) if is_continuous else np.ones(self.n_samples, np.uint8)

    def few(self, j: int, column: npt.NDArray[Any] | None = None) -> Few | None:
        return None if j in self._features else self._table.few(j, column)

    def found_few(self, j: int) -> Few | None:
        return None if j in self._features else self._table.found_few(j)

    def block(self, start: int, stop: int) -> npt.NDArray[Any]:
        block = np.array(self._table.block(start, stop), order="C")
        block[:, self._features] = np.nan
        return block

    def some(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        block = np.array(self._table.some(rows))
        block[:, self._features] = np.nan
        return block


def without_features(grower: Grower, features: Collection[int]) -> Grower:
    """Return the growth without some features."""
    samples = grower.samples
    return replace(grower, samples=samples._replace(table=Hidden(samples.table, features))) if features else grower


def winnow(grower: Grower, prune: Callable[[Grower, Tree], Tree]) -> list[int]:
    """Return the features that winnowing removes.

    A tree is grown on one half of the samples and judged on the other.  A feature of the pruned tree is removed if the tree makes
    fewer errors where the feature is taken for missing, unless a tree without all of these makes more errors.  Features that the
    tree does not test, before it is pruned, are removed too.  With costs, errors count as much as they cost.

    Features with very many categories, compared with the half, are not tested, unless all features have very many compared with
    all samples: the original finds out about the latter before it divides the samples.

    Parameters
    ----------
    grower : Grower
    prune : callable
        Function of a grower and a grown tree that returns the pruned tree.
    """
    samples = grower.samples
    counts = np.ones(samples.table.n_samples) if samples.counts is None else samples.counts
    first, second = halves(samples.target, weighted_rows(samples))
    if not first.size:
        return []
    weight = np.zeros(samples.table.n_samples)
    weight[first] = counts[first]
    limits = grower.limits._replace(
        min_branch_weight=max(grower.limits.min_branch_weight / 2, LEAST_BRANCH),
        bound_share=0.0,
        n_cases=total_weight(samples),
    )
    many = _of_many_categories(grower, sum_of_sizes(weight))
    whole = without_features(replace(grower, limits=limits), many)  # thresholds are values of all samples
    half = replace(whole, samples=whole.samples._replace(weight=weight, class_factor=None))

    costs = cost_rules(grower)

    def errors(tree: Tree, features: Collection[int] = ()) -> float:
        predicted, truth = _predicted(tree, Hidden(samples.table, features), second), samples.target[second]
        if costs is not None:
            loss: Floats = costs.loss[truth, predicted]
            return sum_of_sizes(loss if samples.weight is None else loss * samples.weight[second])
        wrong: Floats = counts[second][predicted != truth]
        return sum_of_sizes(wrong)

    rows = np.sort(first)
    grown = whole(rows=rows)
    tree = prune(half, grown)
    base = errors(tree)
    harmful = [feature for feature in tested(tree) if errors(tree, [feature]) < base]
    if harmful:
        without = without_features(whole, harmful)(rows=rows)
        if errors(prune(without_features(half, harmful), without)) > base:
            harmful = []
    return sorted({*range(samples.table.n_features)}.difference(tested(grown)).union(harmful))


def _of_many_categories(grower: Grower, n_half: float) -> list[int]:
    """Return the features of very many categories for a half of this weight; none if the growth tests them all the same."""
    if grower.recipe.nominal == "groups":
        return []
    features = grower.samples.table.schema.features
    n_values = [0 if each.categories is None else len(each.categories) + 1 for each in features]  # with "not applicable"
    if all(n >= MANY_CATEGORIES * total_weight(grower.samples) for n in n_values):
        return []
    return [j for j, n in enumerate(n_values) if n >= MANY_CATEGORIES * n_half]


def _predicted(tree: Tree, table: Hidden, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the classes of some samples, where votes of divided samples that nearly tie have the original's precision."""
    predicted = walks.predict_class(tree, table)[rows]
    if tree.loss is not None or tree.value.shape[1] < 2:
        return predicted
    largest = np.partition(walks.predict_value(tree, table)[rows], -2, axis=1)[:, -2:]
    near = np.flatnonzero(largest[:, 1] - largest[:, 0] < NEAR)
    if near.size:
        predicted[near] = _votes_in_single(tree, table, rows[near]).argmax(axis=1)
    return predicted


def _votes_in_single(tree: Tree, table: Hidden, rows: npt.NDArray[np.intp]) -> Floats:
    """Return the votes of samples by class: parts of samples and weights in single precision, and sums in double."""
    single, votes = np.float32, np.zeros((rows.size, tree.value.shape[1]))
    weight = tree.weight.astype(single)
    arrived = {0: (np.arange(rows.size), np.ones(rows.size, single))}
    for node in range(tree.node_count):  # parents first
        places, parts = arrived.pop(node, (rows[:0], np.ones(0, single)))
        if not tree.n_branches[node]:
            at = node if tree.weight[node] > 0 else int(tree.parent[node])
            votes[places] += parts[:, None] * tree.value[at].astype(single) / weight[at]
            continue
        children = range(tree.first_child[node], tree.first_child[node] + tree.n_branches[node])
        branch = np.full(places.size, -1)
        if not table.hides(int(tree.feature[node])):
            branch = branches_of(tree, node, table.column(int(tree.feature[node]))[rows[places]])
        for b, child in enumerate(children):
            here = (branch == b) | ((branch < 0) & (tree.weight[child] > 0))
            if here.any():
                below = np.where(branch < 0, parts * (weight[child] / weight[node]), parts)
                arrived[child] = (places[here], below[here])
    return votes


def tested(tree: Tree) -> list[int]:
    """Return the features that a tree tests."""
    found: list[int] = np.unique(tree.feature[tree.n_branches > 0]).tolist()
    return found


def halves(target: npt.NDArray[Any], rows: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return rows to grow on and rows to judge by: every second one of each class, and as many in both."""
    by_class = np.argsort(target[rows], kind="stable")
    starts = np.flatnonzero(np.diff(target[rows][by_class], prepend=-1))
    turn = np.empty(rows.size, np.intp)
    turn[by_class] = np.arange(rows.size) - np.repeat(starts, np.diff(np.append(starts, rows.size)))
    is_first = turn % 2 == 0
    order = np.concatenate([rows[is_first], rows[~is_first][::-1]])
    return order[: rows.size // 2], order[rows.size // 2 :]
