"""C4.5's error-based pruning: pessimistic errors, with subtree raising."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.table import Table
from fasttree._engine import passes
from fasttree._engine.records import ErrorRules
from fasttree._learn.grow.encode import is_missing
from fasttree._learn.grow.fixed_point import fixed_point_parts
from fasttree._learn.prune.losses import class_impurity
from fasttree._learn.prune.methods import sums_over_leaves, useless_splits
from fasttree._learn.prune.regrowth import Regrowth
from fasttree._model.arrays import LEAF, NOMINAL, STOP
from fasttree._model.threads import in_threads
from fasttree._model.tree import Tree

LEAST_SHARED = 8192  # samples from which threads share the pruning
RELEASE8_MORE_ERRORS = 0.1  # C4.5 accepts so many more errors for a simpler tree

# Quinlan 1993, chapter 4: the errors of a leaf are the upper limit of a binomial at the confidence level.  Release 8 interpolates
# the normal quantile of that level linearly in this table.
LEVELS = np.array([0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.00])
QUANTILES = np.array([4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.00])


def normal_quantile(confidence: float) -> np.float32:
    """Return Release 8's normal quantile of a level in (0, 1], in single precision: 0.6925 at 0.25; the exact one is 0.6745."""
    level, levels, quantiles = np.float32(confidence), LEVELS.astype(np.float32), QUANTILES.astype(np.float32)
    i = max(1, int(np.searchsorted(levels, level)))
    width, height = levels[i] - levels[i - 1], quantiles[i] - quantiles[i - 1]
    return np.float32(quantiles[i - 1] + height * (level - levels[i - 1]) / width)


def error_based(
    tree: Tree,
    table: Table,
    classes: npt.NDArray[Any],
    sample_weight: Floats | None,
    confidence: float,
    *,
    min_part_weight: float = 0.0,
    impurity: str = "entropy",
    minimum: float = 0.0,
    grow_anew: Regrowth | None = None,
    class_weight: tuple[float, float] = (1.0, 1.0),
    n_jobs: int = 1,
) -> Tree:
    """Prune by predicted errors, and raise branches (Quinlan 1993, chapter 4, as in Release 8).

    From the bottom up, each subtree becomes a leaf, or its heaviest branch takes its place, if the predicted errors do not rise
    by more than 0.1.

    Parameters
    ----------
    tree : Tree
        A classification tree in which missing values go to a branch or are divided.
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
        Impurity to compute for nodes whose samples have changed.
    minimum : float, default 0
        If not 0, the rules of C5.0: errors of branches lighter than this are predicted together.
    grow_anew : Regrowth or None, default None
        With the rules of C5.0, grows the branch that takes a node's place.
    class_weight : tuple of two floats
        With the rules of C5.0, by costs of two classes: what the samples of each class weigh in `sample_weight`.  Errors are
        predicted from their numbers.
    n_jobs : int, default 1
        Threads; the result does not depend on it.

    Returns
    -------
    Tree
        With `estimated_errors`; the counts and values of its nodes are those of the samples in `table`.
    """
    return error_based_with_ends(
        tree,
        table,
        classes,
        sample_weight,
        confidence,
        min_part_weight=min_part_weight,
        impurity=impurity,
        minimum=minimum,
        grow_anew=grow_anew,
        class_weight=class_weight,
        n_jobs=n_jobs,
    )[0]


def error_based_with_ends(
    tree: Tree,
    table: Table,
    classes: npt.NDArray[Any],
    sample_weight: Floats | None,
    confidence: float,
    *,
    min_part_weight: float = 0.0,
    impurity: str = "entropy",
    minimum: float = 0.0,
    grow_anew: Regrowth | None = None,
    class_weight: tuple[float, float] = (1.0, 1.0),
    n_jobs: int = 1,
) -> tuple[Tree, npt.NDArray[np.int32]]:
    """Return the same tree, and the leaf of each sample: -1 if it may be divided, any node if it has no weight."""
    lacking = lacks_values(table, tested_features(tree) if grow_anew is None else range(table.n_features))
    weight, unit = fixed_point_parts(sample_weight, table.n_samples)
    found = passes.error_based(
        tree,
        tested_columns(tree, table) if grow_anew is None else all_columns(table),
        parts_of(lacking, sample_weight),
        np.ascontiguousarray(classes, dtype=np.uint16),
        weight,
        round(1 / unit) if weight is None else 0,
        unit,
        ErrorRules(
            float(np.float32(confidence)), float(normal_quantile(confidence) ** 2), min_part_weight, minimum, class_weight
        ),
        grow_anew,
        partial(_in_threads, n_jobs) if n_jobs > 1 and grow_anew is None and table.n_samples >= LEAST_SHARED else None,
    )
    return _tree_of(tree if grow_anew is None else grow_anew.tree(), found, impurity)


def _in_threads(n_jobs: int, pruning: int, n_lists: int) -> None:
    """Prune the lists of an engine's pruning in threads, those furthest from the root first."""
    in_threads(lambda i: passes.prune_some(pruning, n_lists - 1 - i), n_lists, n_jobs)


def _tree_of(tree: Tree, found: dict[str, Any], impurity: str) -> tuple[Tree, npt.NDArray[np.int32]]:
    """Return the tree and the ends of what `passes.error_based` found."""
    leaf, source = found["leaf"].astype(bool), found["source"]

    def of_test(name: str, at_leaf: float) -> npt.NDArray[Any]:
        array = getattr(tree, name)
        return np.where(leaf, at_leaf, array.take(source)).astype(array.dtype, copy=False)

    first_child, n_branches = of_test("first_child", -1), of_test("n_branches", 0)
    value = found["value"]
    changed = np.flatnonzero((found["weight"] != 0) & (value != tree.value).any(axis=1))
    risk = tree.impurity.copy()
    risk[changed] = class_impurity(value[changed], impurity)
    pruned = Tree.from_growth(
        task=tree.task,
        n_features=tree.n_features,
        first_child=first_child,
        n_branches=n_branches,
        categories_start=tree.categories_start[source],
        categories_size=np.where(leaf, 0, np.diff(tree.categories_start)[source]),
        categories_code=tree.categories_code,
        categories_branch=tree.categories_branch,
        cut_start=None if tree.cut_start is None else tree.cut_start[source],
        cut_size=None if tree.cut_start is None else np.where(leaf, 0, np.diff(tree.cut_start)[source]),
        cut=tree.cut,
        feature=of_test("feature", -1),
        kind=of_test("kind", LEAF),
        threshold=of_test("threshold", np.nan),
        missing=of_test("missing", STOP),
        gain=of_test("gain", 0.0),
        n_samples=found["n_samples"],
        weight=found["weight"],
        value=value,
        impurity=risk,
        estimated_errors=found["errors"].astype(np.float64),
        surrogates=None if tree.surrogates is None else tree.surrogates.of_nodes(source, leaf),
        by_hand=None if tree.by_hand is None else of_test("by_hand", False),
    )
    return pruned, renumbered(first_child, n_branches)[found["ends"]]


def renumbered(first_child: npt.NDArray[np.int32], n_branches: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the number that `Tree.from_growth` gives each node, and at the end -1 for a node that is not known, -1."""
    order = passes.breadth_first(first_child, n_branches)
    number = np.full(len(first_child) + 1, -1, np.int32)
    number[order] = np.arange(order.size)
    return number


def without_impossible_categories(tree: Tree) -> Tree:
    """Remove from the last group of each test the categories that cannot arrive, and the branch if none is left.

    A test above may have sent a category another way.  Release 8 does this after pruning if splits group categories.
    """
    possible: dict[int, dict[int, npt.NDArray[Any]]] = {}  # inner node to feature to the categories that can arrive
    n_branches, kept = tree.n_branches.copy(), np.ones(tree.categories_code.size, dtype=bool)
    for node in np.flatnonzero(tree.n_branches).tolist():
        arriving = possible.pop(node, {})
        feature, last = int(tree.feature[node]), int(tree.n_branches[node]) - 1
        entries = slice(int(tree.categories_start[node]), int(tree.categories_start[node + 1]))
        codes, branches = tree.categories_code[entries], tree.categories_branch[entries]
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
    owner = np.repeat(np.arange(tree.node_count), np.diff(tree.categories_start))
    sizes = np.bincount(owner[kept], minlength=tree.node_count)
    names = ("feature", "kind", "threshold", "missing", "gain", "n_samples", "weight", "value", "impurity")
    return Tree.from_growth(
        task=tree.task,
        n_features=tree.n_features,
        first_child=tree.first_child,
        n_branches=n_branches,
        categories_start=np.cumsum(sizes) - sizes,
        categories_size=sizes,
        categories_code=tree.categories_code[kept],
        categories_branch=tree.categories_branch[kept],
        estimated_errors=tree.estimated_errors,
        loss=tree.loss,
        **{name: getattr(tree, name) for name in names},
    )


def error_based_without_samples(tree: Tree, confidence: float) -> Tree:
    """Prune by predicted errors, without raising branches (Quinlan 1993, chapter 4), in double precision.

    A subtree becomes a leaf if the predicted errors do not rise by more than 0.1.

    Parameters
    ----------
    tree : Tree
        A classification tree.
    confidence : float
        In (0, 1): the smaller, the more is pruned.
    """
    pruned = tree.prune_at(useless_splits(tree, predicted_errors(tree, confidence), slack=RELEASE8_MORE_ERRORS)[0])
    return pruned.replace(estimated_errors=sums_over_leaves(pruned, predicted_errors(pruned, confidence)))


def predicted_errors(tree: Tree, confidence: float) -> Floats:
    """Return the predicted errors of each node as a leaf: Release 8's approximate upper limit of a binomial; 0 if empty."""
    n, wrong = np.maximum(tree.weight, np.finfo(float).tiny), tree.errors
    q = float(np.interp(confidence, LEVELS, QUANTILES)) ** 2

    def many(e: Floats | float) -> Floats:
        above = e + 0.5
        inside = np.maximum(above * (1 - np.minimum(above / n, 1)), 0)
        limit = n * (above + q / 2 + np.sqrt(q * (inside + q / 4))) / (n + q) - e
        return np.asarray(np.where(above >= n, 0.67 * (n - e), limit))

    none = n * (1 - confidence ** (1 / n))
    few = none + wrong * (many(1.0) - none)
    extra = np.where(wrong < 1e-6, none, np.where(wrong < 0.9999, few, many(wrong)))
    return np.where(tree.weight > 0, wrong + extra, 0.0)


def all_columns(table: Table) -> passes.Columns:
    """Return all columns, for trees whose tests are not known yet."""
    return _columns_of(table, range(table.n_features))


def tested_columns(tree: Tree, table: Table) -> passes.Columns:
    """Return the columns of the tree's tests and surrogates, for the engine to read cell by cell."""
    return _columns_of(table, tested_features(tree))


def _columns_of(table: Table, features: Iterable[int]) -> passes.Columns:
    """Return some columns; where growth has found codes of few values, these, which take an eighth of the memory."""
    columns = passes.Columns(table.n_features)
    for feature in features:
        if (few := table.found_few(feature)) is None:
            columns.add(feature, table.column(feature))
        else:
            columns.add_coded(feature, few[1], few[0])
    return columns


def tested_features(tree: Tree) -> list[int]:
    """Return the features of the tree's tests and surrogates."""
    features = tree.feature if tree.surrogates is None else np.append(tree.feature, tree.surrogates.feature)
    found: list[int] = np.flatnonzero(np.bincount(features + 1, minlength=1)[1:]).tolist()
    return found


def parts_of(lacking: npt.NDArray[np.bool_], sample_weight: Floats | None) -> npt.NDArray[np.uint8]:
    """Return the part that each sample takes, as the engine wants it: 0 without weight, 2 if it may lack a value, else 1."""
    part = lacking + np.uint8(1)
    if sample_weight is not None:
        part[sample_weight == 0] = 0
    return part


def lacks_values(table: Table, features: Iterable[int]) -> npt.NDArray[np.bool_]:
    """Return which samples have a missing value in one of some features."""
    lacking = np.zeros(table.n_samples, dtype=bool)
    for feature in features:
        lacking |= lacks_value(table, feature)
    return lacking


def lacks_value(table: Table, feature: int) -> npt.NDArray[np.bool_]:
    """Return which samples have a missing value of a feature."""
    few = table.found_few(feature)
    return is_missing(table.column(feature) if few is None else few[1])
