"""C5.0's soft thresholds: bounds within which the other branch of a threshold makes hardly more errors."""

from __future__ import annotations

import numpy as np

from fasttree._data.cells import Floats
from fasttree._learn.grow.soften import tests_of
from fasttree._learn.prune.c50 import n_divided
from fasttree._learn.samples import Samples
from fasttree._model.tree import Tree


def soften_c50(tree: Tree, samples: Samples) -> Tree:
    """Return the tree with an interval around each threshold in which a value goes to both branches.

    Samples whose value is known, and parts of those that missing values above have divided, are classified from both branches at
    each threshold that they pass.  From the threshold on, in the order of the values, the errors g that they make in the other
    branch and those l that they make in their own are added up.  A bound moves from value to value until g exceeds 2 l + 1, or
    g - l exceeds the standard error of the errors below the node.  The threshold itself becomes the middle between the values on
    its two sides.

    Parameters
    ----------
    tree : Tree
        A pruned classification tree with hard thresholds.
    samples : Samples
        Those of the growth.
    """
    table, counts = samples.table, samples.counts
    tests = tests_of(tree, table, samples.target, divided=True)
    if counts is not None:
        tests = tests.where(counts[tests.row] > 0)
    errors = errors_below(tree)
    middle = tree.threshold.copy()
    lower, upper = middle.copy(), middle.copy()
    feature_of = tree.feature[tests.node]
    for feature in np.unique(feature_of).tolist():
        here = tests.where(feature_of == feature)
        values = table.column(feature)[here.row].astype(np.float64) + 0.0
        weight = here.part if counts is None else counts[here.row] * here.part
        # among equal values by what is added up, so that sums of parts do not depend on the order of the samples
        order = np.lexsort((weight, here.own_wrong, here.other_wrong, values, here.node))
        node, values, weight = here.node[order], values[order], weight[order]
        own, other = weight * here.own_wrong[order], weight * here.other_wrong[order]
        starts = np.flatnonzero(np.diff(node, prepend=-1)).tolist()
        for start, stop in zip(starts, [*starts[1:], node.size], strict=True):
            i = int(node[start])
            split = start + int(np.searchsorted(values[start:stop], tree.threshold[i], "right"))
            if not start < split < stop:
                continue
            total = float(weight[start:stop].sum())
            deviation = float(np.sqrt(max(errors[i] * (total - errors[i]), 0.0) / (total + 0.001)))
            middle[i] = values[split - 1] / 2 + values[split] / 2
            down, up = slice(start, split), slice(split, stop)
            lower[i] = bound(values[down][::-1], own[down][::-1], other[down][::-1], deviation, float(middle[i]))
            upper[i] = bound(values[up], own[up], other[up], deviation, float(middle[i]))
    return tree.replace(threshold=middle, lower=lower, upper=upper)


def bound(values: Floats, own: Floats, other: Floats, deviation: float, middle: float) -> float:
    """Return the last value that a bound reaches, the first of them being nearest to the threshold; else the middle."""
    ends = np.flatnonzero(values[1:] != values[:-1])  # places after which the value changes
    in_other, in_own = np.cumsum(other)[ends], np.cumsum(own)[ends]
    stops = np.flatnonzero((in_other > 2 * in_own + 1) | (in_other - in_own > deviation))
    n = int(stops[0]) if stops.size else ends.size
    return float(values[ends[n - 1] + 1]) if n else middle


def errors_below(tree: Tree) -> Floats:
    """Return the training errors of each subtree; those of a node with missing values count as 0, as in the original."""
    errors = np.where(tree.n_branches == 0, tree.errors, 0.0)
    for node in range(tree.node_count - 1, -1, -1):
        if tree.n_branches[node] and n_divided(tree, node):
            errors[node] = 0.0
        if node:
            errors[tree.parent[node]] += errors[node]
    return errors
