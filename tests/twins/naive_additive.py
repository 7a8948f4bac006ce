"""Slow twin of the rounds of additive models: gradients row by row, every cut tried, NumPy alone."""

import numpy as np

from tests.twins.drawn import mix


def gradients(loss, target, score, weight):
    """Return gradients and curvatures for each score; `score` has shape (n_scores, n_rows)."""
    if loss == "squared":
        return [(weight * (target - score[0]), weight.copy())]
    if loss == "logistic":
        p = 1 / (1 + np.exp(-score[0]))
        return [(weight * (target - p), weight * p * (1 - p))]
    p = np.exp(score) / np.exp(score).sum(axis=0)
    return [(weight * ((target == k) - p[k]), weight * p[k] * (1 - p[k])) for k in range(len(score))]


def leaf_step(rows, gradient, curvature, penalty):
    below = sum(curvature[i] for i in rows) + penalty
    return sum(gradient[i] for i in rows) / below if below > 0 else 0.0


def best_stump(codes, order, gradient, curvature, rules, direction):
    """Return the steps of all bins by the best cut of the ordered bins; none if no cut leaves enough rows on each side."""
    best, steps = -np.inf, None
    for cut in range(1, len(order)):
        sides = [
            [i for i, code in enumerate(codes) if code in set(side)] for side in (order[:cut].tolist(), order[cut:].tolist())
        ]
        if min(map(len, sides)) < rules["min_samples_leaf"] or min(curvature[side].sum() for side in sides) < 1e-4:
            continue
        values = [leaf_step(side, gradient, curvature, rules["penalty"]) for side in sides]
        if direction and cut > 1 and direction * (values[1] - values[0]) < 0:
            continue
        gain = sum(value * gradient[side].sum() for value, side in zip(values, sides, strict=True))
        if gain > best + 1e-9 * abs(gain):
            best, steps = gain, (order[:cut], order[cut:], values)
    return steps


def stump(column, kind, n_bins, gradient, curvature, rules, direction):
    """Return the steps of the bins of a feature by a tree of two leaves."""
    order = np.arange(n_bins)
    if kind == "nominal":
        sums = [np.array([part[column == b].sum() for b in order]) for part in (gradient, curvature)]
        order = np.argsort(sums[0] / (sums[1] + 10.0), kind="stable")
    found = best_stump(column, order, gradient, curvature, rules, direction)
    if found is None:
        return np.full(n_bins, leaf_step(range(len(column)), gradient, curvature, rules["penalty"]))
    update = np.zeros(n_bins)
    for side, value in zip(found[:2], found[2], strict=True):
        update[side] = value
    return update


def cuts_of(n, key):
    """Every cut between n bins, or with a key the one that it draws."""
    return [1 + key % (n - 1)] if key and n > 1 else range(1, n)


def best_quarters(column, n_columns, n_bins, gradient, curvature, rules, key=0):
    """Return the gain of the best cut of a grid with a cut across on each side, and the steps of its cells.

    A side with too few rows is worth nothing, and its cells stay.  With a key, each of the three cuts is drawn.
    """
    cells = np.arange(n_bins).reshape(-1, n_columns)

    def large(rows):
        return len(rows) >= rules["min_samples_leaf"] and curvature[rows].sum() >= 1e-4

    def worth(part):
        rows = np.flatnonzero(np.isin(column, part))
        return gradient[rows].sum() * leaf_step(rows, gradient, curvature, rules["penalty"]) if large(rows) else 0.0

    def halved(band, key):
        best, parts = worth(band), [band]
        for cut in cuts_of(band.shape[1], key):
            sides = [band[:, :cut], band[:, cut:]]
            if all(large(np.flatnonzero(np.isin(column, side))) for side in sides) and sum(map(worth, sides)) > best + 1e-9:
                best, parts = sum(map(worth, sides)), sides
        return best, parts

    best, quarters = -np.inf, []
    for direction, grid in enumerate((cells, cells.T)):
        for cut in cuts_of(len(grid), mix(key)) if key else range(1, len(grid)):
            if key and mix(key) >> 63 != direction:
                continue
            across = [mix(key + 1), mix(key + 2)] if key else [0, 0]
            (one, first), (two, second) = halved(grid[:cut], across[0]), halved(grid[cut:], across[1])
            if one + two - worth(grid) > best + 1e-9:
                best, quarters = one + two - worth(grid), [*first, *second]
    steps = np.zeros(n_bins)
    for part in quarters:
        rows = np.flatnonzero(np.isin(column, part))
        if large(rows):
            steps[part.ravel()] = leaf_step(rows, gradient, curvature, rules["penalty"])
    return best, steps


def boosted(codes, kinds, n_bins, target, weight, start, rules):
    """Return the tables of each term after some rounds, for each score.

    Codes have shape (n_terms, n_rows), and `start` has a number for each score.  The kind of a term is "ordered", "nominal", or
    the number of columns of a grid.  In the first `random` rounds, cuts of grids are drawn by keys of the seed 7.
    """
    score = np.repeat(np.array(start)[:, None], len(target), axis=1)
    tables = [np.zeros((len(start), n)) for n in n_bins]
    for turn in range(rules["rounds"]):
        for j, column in enumerate(codes):
            for k, (gradient, curvature) in enumerate(gradients(rules["loss"], target, score.copy(), weight)):
                if isinstance(kinds[j], int):
                    key = mix(mix(7 + turn) + j * len(start) + k) | 1 if turn < rules.get("random", 0) else 0
                    update = best_quarters(column, kinds[j], n_bins[j], gradient, curvature, rules, key)[1]
                else:
                    update = stump(column, kinds[j], n_bins[j], gradient, curvature, rules, rules["monotone"][j])
                tables[j][k] += rules["rate"] * update
                score[k] += rules["rate"] * update[column]
    return tables
