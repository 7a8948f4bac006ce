"""Slow twin of the rounds of additive models: gradients row by row, every cut tried, one score, NumPy alone."""

import numpy as np


def gradients(loss, target, score, weight):
    if loss == "squared":
        return weight * (target - score), weight.copy()
    p = 1 / (1 + np.exp(-score))
    return weight * (target - p), weight * p * (1 - p)


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


def boosted(codes, kinds, n_bins, target, weight, start, rules):
    """Return the table of each term after some rounds; codes have shape (n_terms, n_rows)."""
    score = np.full(len(target), start)
    tables = [np.zeros(n) for n in n_bins]
    for _ in range(rules["rounds"]):
        for j, column in enumerate(codes):
            gradient, curvature = gradients(rules["loss"], target, score, weight)
            order = np.arange(n_bins[j])
            if kinds[j] == "nominal":
                sums = [np.array([part[column == b].sum() for b in order]) for part in (gradient, curvature)]
                order = np.argsort(sums[0] / (sums[1] + 10.0), kind="stable")
            found = best_stump(column, order, gradient, curvature, rules, rules["monotone"][j])
            update = np.zeros(n_bins[j])
            if found is None:
                update[:] = leaf_step(range(len(target)), gradient, curvature, rules["penalty"])
            else:
                for side, value in zip(found[:2], found[2], strict=True):
                    update[side] = value
            update *= rules["rate"]
            tables[j] += update
            score += update[column]
    return tables
