"""The growth of a tree on the residuals of models, with cuts judged by a line on each side."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cubist.problem import LEAST_SIDE, F, Problem, deviation
from cubist.regressing import clamped, regress

EPSILON = 1e-4
ALMOST = 0.999  # a gain that is this share of the largest may win by its preference


@dataclass
class Node:
    """A node with its samples; a continuous test sends what is at most `cut` to the left."""

    rows: np.ndarray
    parent: Node | None
    feature: int = -1
    cut: float = np.nan
    left: set[int] = field(default_factory=set)
    right: set[int] = field(default_factory=set)
    children: list[Node] = field(default_factory=list)
    model: np.ndarray | None = None
    raw_model: np.ndarray | None = None
    coefficients: float = 0
    parameters: float = 0
    error: float = 0  # as a leaf
    error_below: float = 0  # as a tree

    def nodes(self) -> list[Node]:
        return [self, *(node for child in self.children for node in child.nodes())]

    def tested(self) -> set[int]:
        return {node.feature for node in self.nodes() if node.children}

    def tested_above(self) -> set[int]:
        return set() if self.parent is None else {self.parent.feature} | self.parent.tested_above()


def grow(problem: Problem, target: np.ndarray, rows: np.ndarray, parent: Node | None = None) -> Node:
    node = Node(rows, parent)
    above = node.tested_above()
    residual = target[rows]
    if parent is not None:
        model = regress(problem, rows, target, above.intersection(problem.continuous))
        residual = residual - clamped(problem, model, rows)
    wide = residual.astype(float)
    if np.abs(wide).max() < 0.5 * problem.unit:
        return node
    spread = deviation(len(rows), wide.sum(), (wide * wide).sum(), problem.deviation_of_all)
    best, feature, chosen = F(-EPSILON), -1, None
    for j in range(problem.d):
        if not problem.sizes[j]:
            gain, test = cut_of(problem, problem.columns[j][rows], residual, spread)
        elif problem.sizes[j] > 2 or j not in above:
            gain, test = division_of(problem, j, rows, wide, spread)
        else:
            continue
        gain = F(gain)
        preferred = feature >= 0 and gain > ALMOST * float(best) and problem.preference[j] > problem.preference[feature]
        if gain > F(-EPSILON) and (gain > best or preferred):
            best, feature, chosen = gain, j, test
    if feature < 0:
        return node
    node.feature = feature
    x = problem.columns[feature][rows]
    if problem.sizes[feature]:
        node.left, node.right = chosen
        sides = [np.isin(x, sorted(codes)) for codes in chosen]
    else:
        node.cut = chosen
        sides = [x <= chosen, x > chosen]
    node.children = [grow(problem, target, rows[side], node) for side in sides]
    return node


def cut_of(problem: Problem, x: np.ndarray, residual: np.ndarray, spread: float) -> tuple[float, float]:
    n = len(x)
    edge = problem.least_cover if n >= 3 * problem.least_cover else LEAST_SIDE
    if n < 2 * LEAST_SIDE:
        return -1.0, np.nan
    order = np.argsort(x, kind="stable")
    ordered = x[order]
    wide, y = ordered.astype(float), residual[order].astype(float)
    sums = np.cumsum([wide, wide * wide, y, y * y, wide * y], axis=1)
    last = np.arange(edge - 1, n - edge)
    last = last[ordered[last + 1] > ordered[last]]
    if not last.size:
        return -1.0, np.nan
    low = sums[:, last]
    left, right = on_a_side(problem, last + 1.0, low), on_a_side(problem, n - last - 1.0, sums[:, -1:] - low)
    gain = spread - ((last + 1.0) * left + (n - last - 1.0) * right) / n
    gain[np.isnan(gain)] = -1.0  # a variance that rounding made negative
    i = int(gain.argmax())
    if not gain[i] > 0:
        return -1.0, np.nan
    below, above = ordered[last[i]], ordered[last[i] + 1]
    cut = F(0.5 * (float(below) + float(above)))
    return float(gain[i]), cut if cut < above else below


def on_a_side(problem: Problem, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return the deviation from the mean, or from a line where the correlation is significant (Fisher, 95 %)."""
    x, xx, y, yy, xy = sums
    variance_x, variance_y = xx / n - (x / n) ** 2, yy / n - (y / n) ** 2
    with np.errstate(invalid="ignore"):
        r = (xy - x * y / n) / (n * np.sqrt(variance_x * variance_y + 1e-10))
    power = np.exp(2 * 1.96 * np.sqrt(1.0 / np.maximum(n - 3, 1)))
    significant = (n >= 6) & ~(np.abs(r) < (power - 1) / (power + 1))
    square = np.where(significant, 1 - r * r, 1.0) * n * variance_y
    return np.sqrt((square + 1e-3) / (n - 1))  # the sum is 0, as in a fit


def division_of(
    problem: Problem, j: int, rows: np.ndarray, residual: np.ndarray, spread: float
) -> tuple[float, tuple[set[int], set[int]]]:
    """Return the gain of the two categories, or of the best group: the largest means leave the left side one by one."""
    codes, size = problem.columns[j][rows], problem.sizes[j]
    n = np.bincount(codes, minlength=size).astype(float)
    total = np.bincount(codes, residual, size)
    square = np.bincount(codes, residual * residual, size)
    left = {v for v in range(size) if n[v]} if size > 2 else {0, 1}
    order = [1] if size == 2 else sorted(left, key=lambda v: (-total[v] / n[v], v))
    right: set[int] = set()
    best, found = -1.0, (set(), set())
    for leaving in order:
        left, right = left - {leaving}, right | {leaving}
        sides = [[sum(part[v] for v in side) for part in (n, total, square)] for side in (left, right)]
        if min(side[0] for side in sides) < LEAST_SIDE:
            continue
        parts = sum(side[0] * deviation(*side, problem.deviation_of_all) for side in sides)
        gain = spread - parts / len(rows)
        if gain > best:
            best, found = gain, (left, right)
    return best, found
