"""Slow twin of SHAP values: the game by its definition, over all coalitions, from the arrays of a tree.

A row is a list of floats: numbers, codes from 1, NaN where the value is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, LEAF, SHARES, STOP, THRESHOLD
from fasttree._model.tree import Tree

Row = Sequence[float]
Answers = NDArray[np.float64]  # (n_nodes, k)
Parts = dict[int, float]  # by branch; STOP: the part that stays in the node


def branch_of(tree: Tree, node: int, x: float) -> int | None:
    """Branch of a value; None if the test says nothing on it."""
    if tree.kind[node] == KNOWN:
        return int(math.isnan(x))
    if math.isnan(x):
        return None
    if tree.kind[node] == THRESHOLD:
        return int(x > tree.threshold[node])
    if tree.kind[node] == INTERVALS:
        assert tree.cut is not None
        assert tree.cut_start is not None
        return int((tree.cut[tree.cut_start[node] : tree.cut_start[node + 1]] < x).sum())
    if tree.kind[node] == CATEGORY:
        return int(x) - 1 if x <= tree.n_branches[node] else None
    own = slice(tree.categories_start[node], tree.categories_start[node + 1])
    return dict(zip(tree.categories_code[own].tolist(), tree.categories_branch[own].tolist(), strict=True)).get(int(x))


def surrogate_branch(tree: Tree, node: int, row: Row) -> int | None:
    """What the first surrogate that decides says."""
    s = tree.surrogates
    for i in range(s.start[node], s.start[node + 1]) if s is not None else ():
        assert s is not None
        x = row[s.feature[i]]
        if math.isnan(x):
            continue
        if s.kind[i] == THRESHOLD:
            return int(s.low_branch[i]) if x <= s.threshold[i] else 1 - int(s.low_branch[i])
        own = slice(s.categories_start[i], s.categories_start[i + 1])
        table = dict(zip(s.categories_code[own].tolist(), s.categories_branch[own].tolist(), strict=True))
        if int(x) in table:
            return int(table[int(x)])
    return None


def parts_of_row(tree: Tree, node: int, row: Row) -> Parts:
    """What becomes of a row at an inner node."""
    x = row[tree.feature[node]]
    if tree.lower is not None and tree.upper is not None and tree.kind[node] == THRESHOLD and not math.isnan(x):
        lower, cut, upper = tree.lower[node], tree.threshold[node], tree.upper[node]
        if x <= lower or (x > cut and x >= upper):
            return {int(x > lower): 1.0}
        left = 1 - 0.5 * (x - lower) / (cut - lower + 0.001) if x <= cut else 0.5 - 0.5 * (x - cut) / (upper - cut + 0.001)
        return {0: left, 1: 1 - left}
    branch = branch_of(tree, node, x)
    if branch is None:
        branch = surrogate_branch(tree, node, row)
    if branch is None and tree.missing[node] == SHARES:
        return parts_of_weight(tree, node)
    return {int(tree.missing[node]) if branch is None else branch: 1.0}


def parts_of_weight(tree: Tree, node: int) -> Parts:
    """What became of the node's weight in training."""
    children = {b: float(tree.weight[tree.first_child[node] + b]) for b in range(tree.n_branches[node])}
    if tree.missing[node] == STOP:
        children[STOP] = max(float(tree.weight[node]) - sum(children.values()), 0.0)
    total = sum(children.values())
    return {branch: weight / total for branch, weight in children.items()}


def game(
    tree: Tree, answers: Answers, coalition: frozenset[int], row: Row, background: Row | None, node: int = 0
) -> NDArray[np.float64]:
    """What is predicted where the features of a coalition have the row's values; `answers` are the predictions of all nodes."""
    if tree.kind[node] == LEAF:
        return answers[node]
    if tree.feature[node] in coalition:
        parts = parts_of_row(tree, node, row)
    else:
        parts = parts_of_weight(tree, node) if background is None else parts_of_row(tree, node, background)
    total = np.zeros(answers.shape[1])
    for branch, part in parts.items():
        if branch == STOP:
            total += part * answers[node]
        elif part > 0:
            total += part * game(tree, answers, coalition, row, background, int(tree.first_child[node]) + branch)
    return total


def shapley(n_players: int, value: Callable[[frozenset[int]], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Shapley (1953): what a player adds to a coalition, on average over all orders in which the players may come."""
    worth = {frozenset(s): value(frozenset(s)) for size in range(n_players + 1) for s in combinations(range(n_players), size)}
    found = np.zeros((n_players, *worth[frozenset()].shape))
    for coalition in worth:
        orders = math.factorial(len(coalition)) * math.factorial(max(n_players - len(coalition) - 1, 0))
        for player in set(range(n_players)) - coalition:
            found[player] += orders / math.factorial(n_players) * (worth[coalition | {player}] - worth[coalition])
    return found


def shap_values(tree: Tree, row: Row, background: Sequence[Row] | None) -> NDArray[np.float64]:
    """Shapley values of one row, shape (n_features, k)."""
    others: Sequence[Row | None] = [None] if background is None else background
    answers = tree.predict_nodes()
    values = [shapley(tree.n_features, lambda known, other=other: game(tree, answers, known, row, other)) for other in others]
    return np.mean(values, axis=0)
