"""Pruning: a grown tree, and the samples it was grown on, make a smaller tree.

Here the numbers of a method are prepared and the pruned tree is put together; what is done per sample is the engine's.
Knows neither data frames nor estimators.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._grow import fixed_point_parts
from ._table import Table
from ._tree import LEAF, NOMINAL, STOP, Tree

__all__ = ["c_alpha", "error_based", "normal_quantile", "without_impossible_categories"]

Floats = npt.NDArray[np.float64]

EQUAL_COSTS = 1e-12  # of the root's: the smaller tree wins

# Quinlan 1993, chapter 4: the errors of a leaf are the upper limit of a binomial at the confidence level.  Release 8 takes the
# normal quantile of that level from this table, in between by straight lines, all in single precision.
LEVELS = np.array([0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.00], np.float32)
QUANTILES = np.array([4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.00], np.float32)


def normal_quantile(confidence: float) -> np.float32:
    """Release 8's normal quantile of a confidence level in (0, 1]: 0.6925 at 0.25, where the exact one is 0.6745."""
    level = np.float32(confidence)
    i = max(1, int(np.searchsorted(LEVELS, level)))
    width, height = LEVELS[i] - LEVELS[i - 1], QUANTILES[i] - QUANTILES[i - 1]
    return np.float32(QUANTILES[i - 1] + height * (level - LEVELS[i - 1]) / width)


def error_based(
    tree: Tree,
    table: Table,
    classes: npt.NDArray[Any],
    sample_weight: Floats | None,
    confidence: float,
    *,
    min_part_weight: float = 0.0,
    impurity: str = "entropy",
) -> Tree:
    """C4.5's pruning by predicted errors, with raising of branches (Quinlan 1993, chapter 4, as in Release 8).

    From the bottom up, each subtree becomes a leaf, or its heaviest branch takes its place, if this is not predicted to make
    more than 0.1 errors more.

    Parameters
    ----------
    tree : Tree
        A classification tree whose missing values go to a branch or are shared out.
    table : Table
        Samples, in general those of the growth.
    classes : int array, shape (n_samples,)
        Class codes.
    sample_weight : float64 array, shape (n_samples,), or None
    confidence : float
        In (0, 1): the smaller, the more is pruned.
    min_part_weight : float, default 0
        As in the growth: a lighter part of a sample follows the heaviest branch.
    impurity : {"entropy", "gini", "misclassification"}
        Of the nodes whose samples have changed.

    Returns
    -------
    Tree
        With `estimated_errors`; what the nodes know of their samples is what `table` says.
    """
    rows = np.arange(table.n_samples, dtype=np.uint32) if sample_weight is None else np.flatnonzero(sample_weight)
    weight, unit = fixed_point_parts(sample_weight, table.n_samples)
    coefficient = normal_quantile(confidence) ** 2
    found = _core.error_based(
        tree,
        tested_columns(tree, table),
        rows.astype(np.uint32),
        np.ascontiguousarray(classes, dtype=np.uint16),
        weight,
        round(1 / unit) if weight is None else 0,
        unit,
        float(np.float32(confidence)),
        float(coefficient),
        min_part_weight,
    )
    leaf, source = found["leaf"].astype(bool), found["source"]

    def of_test(name: str, at_leaf: float) -> npt.NDArray[Any]:
        return np.where(leaf, at_leaf, getattr(tree, name)[source]).astype(getattr(tree, name).dtype)

    value = found["value"]
    unchanged = (found["weight"] == 0) | (value == tree.value).all(axis=1)
    return Tree.from_growth(
        task=tree.task,
        n_features=tree.n_features,
        first_child=of_test("first_child", -1),
        n_branches=of_test("n_branches", 0),
        table_start=tree.table_start[source],
        table_size=np.where(leaf, 0, np.diff(tree.table_start)[source]),
        table_code=tree.table_code,
        table_branch=tree.table_branch,
        feature=of_test("feature", -1),
        kind=of_test("kind", LEAF),
        threshold=of_test("threshold", np.nan),
        missing=of_test("missing", STOP),
        gain=of_test("gain", 0.0),
        n_samples=found["n_samples"],
        weight=found["weight"],
        value=value,
        impurity=np.where(unchanged, tree.impurity, class_impurity(value, impurity)),
        estimated_errors=found["errors"].astype(np.float64),
    )


def without_impossible_categories(tree: Tree) -> Tree:
    """Take from the last group of each test the categories that cannot arrive there, and the branch if none is left.

    A test further up may have sent a category another way.  Release 8 does so after pruning, where splits group categories.
    """
    possible: dict[int, dict[int, npt.NDArray[Any]]] = {}  # of inner nodes: feature to the categories that can arrive
    n_branches, kept = tree.n_branches.copy(), np.ones(tree.table_code.size, dtype=bool)
    for node in np.flatnonzero(tree.n_branches).tolist():
        arriving = possible.pop(node, {})
        feature, last = int(tree.feature[node]), int(tree.n_branches[node]) - 1
        entries = slice(int(tree.table_start[node]), int(tree.table_start[node + 1]))
        codes, branches = tree.table_code[entries], tree.table_branch[entries]
        if tree.kind[node] == NOMINAL and feature in arriving:
            impossible = (branches == last) & ~np.isin(codes, arriving[feature])
            kept[entries] = ~impossible
            if np.count_nonzero(impossible) == np.count_nonzero(branches == last):
                n_branches[node] -= 1
            codes, branches = codes[~impossible], branches[~impossible]
        for branch in range(int(n_branches[node])):
            child = int(tree.first_child[node]) + branch
            if tree.n_branches[child]:
                here = {feature: codes[branches == branch]} if tree.kind[node] == NOMINAL else {}
                possible[child] = {**arriving, **here} if here else arriving
    if kept.all():
        return tree
    owner = np.repeat(np.arange(tree.node_count), np.diff(tree.table_start))
    sizes = np.bincount(owner[kept], minlength=tree.node_count)
    names = ("feature", "kind", "threshold", "missing", "gain", "n_samples", "weight", "value", "impurity")
    return Tree.from_growth(
        task=tree.task,
        n_features=tree.n_features,
        first_child=tree.first_child,
        n_branches=n_branches,
        table_start=np.cumsum(sizes) - sizes,
        table_size=sizes,
        table_code=tree.table_code[kept],
        table_branch=tree.table_branch[kept],
        estimated_errors=tree.estimated_errors,
        **{name: getattr(tree, name) for name in names},
    )


def c_alpha(tree: Tree, alpha: float) -> Tree:
    """Return the pruned subtree of least cost, the smallest one on ties (Li Hang 2012, section 5.4).

    The cost of a tree is the sum over its leaves of weight times impurity, plus `alpha` for each leaf.  The minimum is found from
    the bottom up; the book's loop, which only looks at nodes all of whose children are leaves, may miss it.

    Parameters
    ----------
    tree : Tree
    alpha : float
        Not negative, in units of weight times impurity (bits for entropy).
    """
    cost = tree.risk + alpha
    useless = np.empty(tree.node_count, dtype=np.uint8)
    _core.useless_splits(tree.parent, tree.first_child, cost, EQUAL_COSTS * float(cost[0]), useless)
    return tree.prune_at(useless.astype(bool))


def tested_columns(tree: Tree, table: Table) -> _core.Columns:
    """The columns that the tree's tests look at, for the engine to read cell by cell."""
    columns = _core.Columns(table.n_features)
    for feature in np.unique(tree.feature[tree.feature >= 0]).tolist():
        columns.add(feature, table.column(feature))
    return columns


def class_impurity(value: Floats, impurity: str) -> Floats:
    """Impurity of rows of class weights, each of positive sum; bits for entropy."""
    shares = value / value.sum(axis=1, keepdims=True)
    if impurity == "gini":
        result = 1 - (shares**2).sum(axis=1)
    elif impurity == "misclassification":
        result = 1 - shares.max(axis=1)
    else:
        result = -(shares * np.log2(shares, out=np.zeros_like(shares), where=shares > 0)).sum(axis=1)
    return np.asarray(np.maximum(result, 0.0))
