"""M5 by NumPy's least squares on the samples of each node, one after the other: slow, and short."""

from __future__ import annotations

import math

import numpy as np

COLLINEAR = 1e-7


def error_of(columns, y, weight):
    """Return the coefficients, the intercept last, and the weighted sum of squared residuals."""
    root = np.sqrt(weight)
    A = np.column_stack([*columns, np.ones(len(y))])
    found = np.linalg.lstsq(A * root[:, None], y * root, rcond=None)[0]
    return found, float(weight @ (y - A @ found) ** 2)


def judged(error, n, size):
    return math.sqrt(error) * (n + size) / (n - size) if n > size else math.inf


def independent(X, weight, allowed):
    """Return the features that are no combination of others, the least explained first, at most n - 2."""
    taken: list[int] = []
    while len(taken) < len(weight) - 2:
        left = {}
        for j in allowed:
            spread = error_of([], X[:, j], weight)[1]
            if j not in taken and spread > 1e-20:
                left[j] = error_of([X[:, i] for i in taken], X[:, j], weight)[1] / spread
        if not left or max(left.values()) < COLLINEAR:
            break
        largest = max(left.values())
        taken.append(min(j for j, share in left.items() if share >= largest * (1 - 1e-9)))
    return sorted(taken)


def model(X, y, weight, allowed):
    """Return the terms {feature: coefficient}, the intercept, the error and the number of parameters of a node."""
    n, inside = len(y), independent(X, weight, allowed)
    best, best_score = None, math.inf
    while True:
        found, error = error_of([X[:, j] for j in inside], y, weight)
        score = judged(error, n, len(inside) + 1)
        if best is None or score <= best_score:
            best, best_score = (dict(zip(inside, found[:-1], strict=True)), found[-1], error, len(inside) + 1), score
        if not inside:
            return best
        without = {j: error_of([X[:, i] for i in inside if i != j], y, weight)[1] for j in inside}
        inside.remove(min(without, key=lambda j: (without[j], j)))


def predict(tree, X, y, weight, path, row, *, factor=1.0, smoothing=15.0, extrapolation=0.05, path_features=True, features=None):
    """Return what M5 predicts for `row`, from the samples that reach the nodes of a grown tree.

    `path` (n_samples, n_nodes) says which samples pass which nodes, the last one for `row`.  `features` are those of the columns
    of `X`, if they are others than its columns.  Of several targets, the columns of `y`, an array: a subtree is pruned by the sum
    of their estimated errors, each over the target's standard deviation.
    """
    targets = y.reshape(len(y), -1).T
    means = [weight @ target / weight.sum() for target in targets]
    units = [math.sqrt(weight @ (target - mean) ** 2 / weight.sum()) or 1 for target, mean in zip(targets, means, strict=True)]
    features = range(X.shape[1]) if features is None else features
    tested = [set() if tree.n_branches[i] == 0 else {int(tree.feature[i])} for i in range(tree.node_count)]
    below, above = [set(names) for names in tested], [set() for _ in tested]
    for i in range(tree.node_count - 1, 0, -1):
        below[tree.parent[i]] |= below[i]
    for i in range(1, tree.node_count):
        above[i] = above[tree.parent[i]] | tested[tree.parent[i]]
    models, leaf = [], [True] * tree.node_count
    for i in range(tree.node_count):
        here = path[:-1, i]
        known = below[i] | above[i] if path_features else below[i]
        allowed = [j for j, feature in enumerate(features) if feature in known]
        models.append([model(X[here], target[here], weight[here], allowed) for target in targets])
    errors, sizes = ([[each[k] for each in of_node] for of_node in models] for k in (2, 3))

    def estimated(of_targets, parameters, n):
        counted = [(n + factor * size) / (n - size) if n > size else 10 for size in parameters]
        return sum(math.sqrt(error) * share / unit for error, share, unit in zip(of_targets, counted, units, strict=True))

    for i in range(tree.node_count - 1, -1, -1):
        if tree.n_branches[i]:
            children = [int(tree.first_child[i]), int(tree.first_child[i]) + 1]
            error = [sum(parts) for parts in zip(*(errors[c] for c in children), strict=True)]
            size, n = [sum(parts) + 1 for parts in zip(*(sizes[c] for c in children), strict=True)], int(path[:-1, i].sum())
            leaf[i] = estimated(errors[i], sizes[i], n) <= estimated(error, size, n)
            if not leaf[i]:
                errors[i], sizes[i] = error, size
    node = 0
    while not leaf[node]:
        node = next(c for c in range(tree.first_child[node], tree.first_child[node] + 2) if path[-1, c])
    predicted = []
    for k, target in enumerate(targets):
        low, high = target[path[:-1, node]].min(), target[path[:-1, node]].max()
        found, at = value(models[node][k], row), node
        while at:
            n = int(path[:-1, at].sum())
            at = int(tree.parent[at])
            found = (n * found + smoothing * value(models[at][k], row)) / (n + smoothing)
        predicted.append(min(max(found, low - extrapolation * (high - low)), high + extrapolation * (high - low)))
    return predicted if y.ndim > 1 else predicted[0]


def value(of, row):
    return of[1] + sum(coefficient * row[j] for j, coefficient in of[0].items())
