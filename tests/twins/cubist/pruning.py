"""Models of the nodes, smoothed and rounded, and the global pruning of the tree."""

from __future__ import annotations

import numpy as np

from cubist.growing import Node
from cubist.problem import F, Problem, estimated
from cubist.regressing import clamped, raw, regress

MORE = 1.005  # share of the estimated error that the second stage may reach


def fit_models(problem: Problem, target: np.ndarray, node: Node) -> None:
    for each in node.nodes():
        allowed = (each.tested() | each.tested_above()).intersection(problem.continuous)
        each.model = regress(problem, each.rows, target, allowed)


def cut_small(problem: Problem, node: Node) -> None:
    if any(len(child.rows) < problem.least_cover for child in node.children):
        node.children = []
    node.coefficients = 1 + np.count_nonzero(node.model[1:])
    node.raw_model = node.model.copy()
    node.parameters = node.coefficients
    if node.children:
        for child in node.children:
            cut_small(problem, child)
        of_test = 3 if problem.sizes[node.feature] == 2 else 4
        node.parameters = of_test + sum(child.parameters for child in node.children)


def smooth(problem: Problem, target: np.ndarray, node: Node) -> None:
    for child in node.children:
        smooth(problem, target, child)
    rows, y = node.rows, target[node.rows]
    own, variance = errors(problem, y, node.model, rows)
    above = node.parent
    while len(rows) > 2 and variance > 1e-10 and above is not None:
        theirs, their_variance = errors(problem, y, above.raw_model, rows)
        n = len(rows)
        covariance = ((own * theirs).sum() - own.sum() * theirs.sum() / n) / (n - 1)
        spread = variance + their_variance - 2 * covariance
        share = 1.0 if spread <= 1e-12 else (their_variance - covariance) / spread
        if 0 < share < 1:
            node.model = node.model * share + above.raw_model * (1 - share)
            own, new = errors(problem, y, node.model, rows)
            variance = new
        above = above.parent
    for j in problem.continuous:
        b = node.model[j + 1]
        if b:
            node.model[j + 1] = 0 if abs(b) < problem.least[j] else np.rint(b / problem.units[j]) * problem.units[j]
    residual = np.sort(raw(problem, node.model, rows) - y)
    node.model[0] -= float(residual[(len(rows) + 1) // 2 - 1])
    node.model[0] = np.rint(node.model[0] / problem.unit) * problem.unit


def errors(problem: Problem, y: np.ndarray, model: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, float]:
    error = (y - clamped(problem, model, rows)).astype(float)
    n = len(error)
    if n < 2:
        return error, 1e-38
    return error, max(((error * error).sum() - error.sum() ** 2 / n) / (n - 1), 1e-38)


def prune(problem: Problem, target: np.ndarray, root: Node) -> None:
    find_errors(problem, target, root)
    stage, limit = 1, 0.0
    while True:
        total, parameters = float(root.error_below), float(root.parameters)
        judged = problem.n * estimated(total / problem.n, problem.n, parameters)
        if stage == 1:
            limit = judged
        weakest, least = None, np.inf
        for node in root.nodes():
            if node.children:
                more = F(node.error) - F(node.error_below)
                size = float(F(node.coefficients - node.parameters))
                new = problem.n * estimated((float(more) + total) / problem.n, problem.n, size + parameters)
                if new <= limit and more < least:
                    weakest, least = node, more
        if weakest is not None:
            change = weakest.coefficients - weakest.parameters
            above: Node | None = weakest
            while above is not None:
                above.error_below = F(float(above.error_below) + float(least))
                above.parameters += change
                above = above.parent
            weakest.children = []
        elif stage == 1:
            stage, limit = 2, judged * MORE
        else:
            stage, limit = 3, np.inf
        if stage == 3 and sum(not node.children for node in root.nodes()) <= problem.max_rules:
            return


def find_errors(problem: Problem, target: np.ndarray, node: Node) -> None:
    residual = np.abs(target[node.rows] - raw(problem, node.model, node.rows)).astype(float)
    node.error = node.error_below = F(residual.sum())
    if node.children:
        below = F(0)
        for child in node.children:
            find_errors(problem, target, child)
            below = F(below + child.error_below)
        node.error_below = below


def cuts_to_values(problem: Problem, root: Node) -> None:
    for node in root.nodes():
        if node.children and not problem.sizes[node.feature]:
            x = problem.columns[node.feature]
            node.cut = x[x <= F(node.cut)].max()
