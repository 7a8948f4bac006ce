"""Linear models of a node: normal equations, terms that leave one by one, outliers."""

from __future__ import annotations

import numpy as np

from cubist.problem import F, Problem, estimated

OUTLIER = 5  # mean absolute residuals


def raw(problem: Problem, model: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the values of a model (intercept first) in single precision, summed in the order of the features."""
    total = np.full(len(rows), model[0])
    for j in problem.continuous:
        if model[j + 1]:
            total = total + model[j + 1] * problem.columns[j][rows].astype(float)
    return total.astype(F)


def clamped(problem: Problem, model: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.minimum(np.maximum(raw(problem, model, rows), problem.floor), problem.ceiling)


def regress(problem: Problem, rows: np.ndarray, target: np.ndarray, allowed: set[int]) -> np.ndarray:
    """Return the model of some samples, with terms of some of the allowed features."""
    y, n = target[rows], len(rows)
    model = np.zeros(problem.d + 1)
    active, spread = [], np.zeros(problem.d + 1)
    mean_of_y = y.astype(float).sum() / n
    spread[0] = np.abs(y - mean_of_y).sum() / n
    for j in sorted(allowed):
        x = problem.columns[j][rows].astype(float)
        mean = x.sum() / n
        if n > 1 and ((x * x).sum() - n * mean * mean) / (n - 1) >= 1e-6:
            active.append(j)
            spread[j + 1] = np.abs(x - mean).sum() / n
    if not active or n < 2 * len(active):
        model[0] = mean_of_y
        return model
    model, active = simplified(problem, rows, y, active, spread)
    if not model[1:].any():
        return model
    residual = (y - clamped(problem, model, rows)).astype(float)
    model[0] += residual.sum() / n
    kept = np.abs(residual) <= OUTLIER * (np.abs(residual).sum() / n)
    if not kept.all():
        model, _ = simplified(problem, rows[kept], y[kept], active, spread)
    return model


def simplified(
    problem: Problem, rows: np.ndarray, y: np.ndarray, active: list[int], spread: np.ndarray
) -> tuple[np.ndarray, list[int]]:
    """Return the model of least estimated error while terms leave, and the features that were not singular."""
    X = np.column_stack([np.ones(len(rows)), *(problem.columns[j][rows].astype(float) for j in range(problem.d))])
    product, right = X.T @ X, X.T @ y.astype(float)
    model, active = solved(product, right, active)
    first, least, best = list(active), np.inf, model
    while True:
        parts = np.abs(model * spread)
        if (parts[1:] <= 1000 * spread[0]).all() and len(rows) >= 2 * len(active):
            error = np.abs(y - clamped(problem, model, rows)).astype(float).sum() / len(rows)
            if (judged := estimated(error, len(rows), len(active))) <= least:
                least, best = judged, model
        if not active:
            return best.copy(), first
        leaving = min(active, key=lambda j: (parts[j + 1], j))
        model, active = solved(product, right, [j for j in active if j != leaving])


def solved(product: np.ndarray, right: np.ndarray, active: list[int]) -> tuple[np.ndarray, list[int]]:
    """Solve the normal equations by Gaussian elimination; features without a pivot leave, and it begins again."""
    chosen = [0, *(j + 1 for j in active)]
    A, b = product[np.ix_(chosen, chosen)].copy(), right[chosen].copy()
    size = len(chosen)
    singular = set()
    for j in range(size):
        least = size * np.abs(product[np.ix_(chosen[: j + 1], [chosen[j]])]).max() * 1e-12
        pivot = j + int(np.abs(A[j:, j]).argmax())
        if abs(A[pivot, j]) < least:
            singular.add(chosen[j] - 1)
            continue
        A[[j, pivot]], b[[j, pivot]] = A[[pivot, j]], b[[pivot, j]]
        b[j] /= A[j, j]
        A[j, j:] /= A[j, j]
        for k in range(j + 1, size):
            factor = A[k, j]
            A[k] -= factor * A[j]
            b[k] -= factor * b[j]
    if singular:
        return solved(product, right, [j for j in active if j not in singular])
    for j in range(size - 2, -1, -1):
        b[j] -= A[j, j + 1 :] @ b[j + 1 :]
    model = np.zeros(len(right))
    model[chosen] = b
    return model, active
