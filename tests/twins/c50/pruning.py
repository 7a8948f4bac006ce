"""Pruning: local, by predicted errors; global, by training errors within one standard error; and compressing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from release8.pruning import CONFIDENCES, DEVIATIONS

from .classifying import classify
from .growing import Growth, divide, grow, single
from .problem import NULL, Costs, Node, Rows, Table, Test

FAVOUR = 0.1  # errors by which a simpler tree may be worse
RAISED_SHARE = 0.1  # of the cases: a lighter branch is never raised
REGROWN_SHARE = 0.95  # of the cases: a heavier branch is not regrown when it is raised


@dataclass(frozen=True)
class Limit:
    """The upper limit of a number of errors, with a confidence; `extra` is its distance from the observed errors."""

    confidence: float

    @property
    def square(self) -> float:
        i = next(i for i in range(1, len(CONFIDENCES)) if self.confidence <= CONFIDENCES[i])
        (low, high), (z, z_high) = CONFIDENCES[i - 1 : i + 1].astype(float), DEVIATIONS[i - 1 : i + 1].astype(float)
        return float((z + (z_high - z) * (self.confidence - low) / (high - low)) ** 2)

    def extra(self, n: float, e: float) -> float:
        if n <= 0:
            return 0.0
        if e < 1e-6:
            return n * (1 - math.exp(math.log(self.confidence) / n))
        if e < 0.9999 and n > 1:
            none = self.extra(n, 0.0)
            return none + e * (self.extra(n, 1.0) - none)
        if e + 0.5 >= n:
            return 0.67 * (n - e)
        q, more = self.square, e + 0.5
        rate = (more + q / 2 + math.sqrt(q * (more * (1 - more / n) + q / 4))) / (n + q)
        return n * rate - e


def prune(tree: Node, growth: Growth, rows: Rows, regrows: bool = True, prunes_globally: bool = True) -> Node:
    """Return a pruned copy of the tree."""
    pruned = tree.copy()
    limit = Limit(growth.options.confidence)
    estimate(pruned, growth, limit, rows, regrows)
    if growth.costs is not None:
        for node in pruned.walk():
            judge(node, growth.costs)
    elif prunes_globally and growth.options.global_pruning:
        prune_globally(pruned, growth, rows)
    if growth.options.subset:
        drop_impossible(pruned, {})
        for node in pruned.walk():
            merge_leaf_sets(node)
    else:
        for node in pruned.walk():
            compress(node, growth)
    move_thresholds(pruned, growth.table)
    return pruned


# Local pruning


def estimate(node: Node, growth: Growth, limit: Limit, rows: Rows, regrows: bool, update: bool = True) -> float:
    """Return the predicted errors of the node for the cases `rows`.

    With `update`, the node's counts become those of the cases, and the node is replaced by a leaf or by its heaviest branch where
    no more errors are predicted.
    """
    cases, weights = growth.cases(rows), growth.by_class(rows)
    label = int(weights.argmax())
    as_leaf = float(single(predicted_errors(growth, limit, weights)))
    if update:
        node.label, node.cases, node.weights = label, cases, weights
    if node.test is None:
        if update:
            node.errors = as_leaf
        return as_leaf
    as_tree, pool, heaviest, most = 0.0, np.zeros_like(weights), None, 0.0
    for child, here in zip(node.children, divide(growth, node.test, rows), strict=True):
        if here is None:
            if update:
                child.label, child.cases, child.weights, child.errors = label, 0.0, np.zeros_like(weights), 0.0
                child.test, child.children = None, []
            continue
        weight = growth.cases(here)
        errors = estimate(child, growth, limit, here, regrows, update)
        if weight < growth.minimum:
            pool += growth.by_class(here)
        else:
            as_tree += errors
        if weight > most:
            heaviest, most = child, weight
    if pool.sum() > 0:
        as_tree += predicted_errors(growth, limit, pool)
    as_tree = float(single(as_tree))
    if not update:
        return as_tree
    heaviest, most = raisable(node, cases)
    raised = math.inf if heaviest is None else estimate(heaviest, growth, limit, rows, regrows, update=False)
    node.errors = as_tree
    if as_leaf <= raised + FAVOUR and as_leaf <= as_tree + FAVOUR:
        node.test, node.children, node.errors = None, [], as_leaf
    elif heaviest is not None and raised <= as_tree + FAVOUR:
        if regrows and most < REGROWN_SHARE * cases:
            assert heaviest.test is not None
            heaviest = grow(growth, rows, keep=heaviest.test)
        estimate(heaviest, growth, limit, rows, regrows=False)
        node.become(heaviest)
    return node.errors


def predicted_errors(growth: Growth, limit: Limit, weights: NDArray[Any]) -> float:
    label = int(weights.argmax())
    wrong = float(weights.sum() - weights[label])
    if growth.costs is None or growth.costs.class_weight is None:
        return wrong + limit.extra(float(weights.sum()), wrong)
    other = 1 - label
    of_label, of_other = growth.costs.class_weight[[label, other]].tolist()
    n_wrong = wrong / of_other
    return wrong + of_other * limit.extra(float(weights[label]) / of_label + n_wrong, n_wrong)


def judge(node: Node, costs: Costs) -> None:
    """Give a node the weights of cases without costs, and the class of least cost."""
    if costs.class_weight is not None:
        node.weights = node.weights / costs.class_weight
        node.cases = float(node.weights.sum())
    if node.cases > 0:
        node.label = costs.label(node.weights)


def raisable(node: Node, cases: float) -> tuple[Node | None, float]:
    """Return the heaviest branch that may take the node's place, the first one on ties, and its weight."""
    assert node.test is not None
    best, most = None, 0.0
    for child in node.children:
        if child.test is None or child.cases < RAISED_SHARE * cases or child.cases <= most:
            continue
        if node.test.kind == "threshold" and child.test.kind == "threshold" and child.test.attribute == node.test.attribute:
            continue
        best, most = child, child.cases
    return best, most


# Global pruning


def prune_globally(tree: Node, growth: Growth, rows: Rows) -> None:
    """Turn subtrees into leaves, those of least cost per leaf first; errors are in single precision, as in the original."""
    for node in tree.walk():
        node.cases, node.weights = in_single_precision(node.weights), node.weights.astype(single).astype(float)
    errors = None
    if any(node.test is not None and growth.table.has_missing[node.test.attribute] for node in tree.walk()):
        predicted, _ = classify(tree, growth.table)
        errors = growth.cases(rows[predicted[rows] != growth.table.classes[rows]])
    cut_at_one_error(tree, errors, len(growth.table))


def cut_at_one_error(tree: Node, errors: float | None, total: float) -> None:
    """Remove subtrees; `errors` is what the tree misclassifies of a weight of `total`, None: the errors of its leaves."""
    above = set_training_errors(tree)
    errors = tree.errors if errors is None else errors
    budget = math.sqrt(max(errors * (1 - errors / total), 0.0))
    while budget > 0:
        search = CheapestSubtrees(budget)
        search.visit(tree)
        if not search.found or search.total > budget:
            return
        for node in search.found:
            node.test, node.children = None, []
            more = leaf_errors(node) - node.errors
            budget -= more
            changed: Node | None = node
            while changed is not None:
                changed.errors = float(single(changed.errors + more))
                changed = above[id(changed)]


def in_single_precision(weights: NDArray[Any]) -> float:
    """Return the sum of weights that is rounded after each of them."""
    total = single(0)
    for weight in weights.tolist():
        total = single(float(total) + weight)
    return float(total)


def leaf_errors(node: Node) -> float:
    return float(single(node.cases) - single(node.weights[node.label]))


def set_training_errors(tree: Node) -> dict[int, Node | None]:
    """Set the errors of each node, and return the node above it, by its identity."""
    above: dict[int, Node | None] = {id(tree): None}

    def visit(node: Node) -> None:
        errors = single(leaf_errors(node) if node.test is None and node.cases > 0.001 else 0)
        for child in node.children:
            above[id(child)] = node
            visit(child)
            errors = errors + single(child.errors)
        node.errors = float(errors)

    visit(tree)
    return above


class CheapestSubtrees:
    """The outermost subtrees of least cost per leaf, of those within a budget, and their additional errors.

    The least cost is in single precision, and compared with costs in double precision.  So costs that single precision
    cannot hold never tie: the last of equal costs wins where they are rounded up, else the first.
    """

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.least: Any = single(1e38)
        self.total = 0.0
        self.found: list[Node] = []

    def visit(self, node: Node) -> None:
        if node.test is None:
            return
        least, total, n_found = float(self.least), self.total, len(self.found)
        for child in node.children:
            if child.cases > 0.1:
                self.visit(child)
        extra = float(single(leaf_errors(node)) - single(node.errors))
        others = sum(1 for leaf in node.walk() if leaf.test is None and leaf.cases > 0.001) - 1
        cost = extra / others if others else (math.inf if extra > 0 else math.nan)
        if extra > self.budget:
            return
        if cost < self.least or (cost <= self.least and cost < least):
            self.least, self.found, self.total = single(cost), [node], extra
        elif cost <= self.least:
            if len(self.found) > n_found:
                self.total, self.found = total, self.found[:n_found]
            self.found.append(node)
            self.total += extra


# What follows


def compress(node: Node, growth: Growth) -> None:
    """Merge leaf branches that are both empty, or of the same class."""
    if node.test is None or node.test.kind != "values" or len(node.children) < 4:
        return
    sets = [frozenset([value]) for value in range(1, len(node.children) + 1)]
    node.test = Test("subset", node.test.attribute, sets=sets)
    merge_branches(node, empty_only=not growth.compresses_leaves)
    if len(node.children) == len(sets):
        node.test = Test("values", node.test.attribute)


def merge_branches(node: Node, empty_only: bool = False) -> None:
    """Join leaf branches, but never the one of "not applicable"."""
    assert node.test is not None
    children, sets = node.children[:1], node.test.sets[:1]
    if 1 not in sets[0]:
        children, sets = [], []
    start = len(children)
    for child, values in zip(node.children[start:], node.test.sets[start:], strict=True):
        for b in range(start, len(children)):
            other = children[b]
            if child.test is not None or other.test is not None:
                continue
            null, other_null = child.cases < NULL, other.cases < NULL
            if null == other_null and (null or (child.label == other.label and not empty_only)):
                other.cases += child.cases
                other.weights = other.weights + child.weights
                other.errors += child.errors
                sets[b] |= values
                break
        else:
            children.append(child)
            sets.append(values)
    node.children, node.test.sets = children, sets


def drop_impossible(node: Node, possible: dict[int, frozenset[int]]) -> None:
    """Remove values that a test above has sent elsewhere from the last sets, which hold what was left over."""
    if node.test is None:
        return
    attribute, sets = node.test.attribute, node.test.sets
    if node.test.kind != "subset":
        for child in node.children:
            drop_impossible(child, possible)
        return
    if attribute in possible:
        sets[-1] &= possible[attribute]
        if not sets[-1]:
            sets.pop()
            node.children.pop()
    for values, child in zip(sets, node.children, strict=True):
        drop_impossible(child, possible | {attribute: values})


def merge_leaf_sets(node: Node) -> None:
    if node.test is not None and node.test.kind == "subset":
        merge_branches(node)


def move_thresholds(tree: Node, table: Table) -> None:
    """Move each cut to the largest training value that is not above it."""
    for node in tree.walk():
        if node.test is not None and node.test.kind == "threshold":
            values = table.sorted_values[node.test.attribute]
            node.test.cut = float(values[np.searchsorted(values, node.test.cut, "right") - 1])
