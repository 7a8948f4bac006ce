"""Rules of leaves, and nodes in preorder, made with whole columns and lists: as the engine makes them, bit by bit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Leaf(NamedTuple):
    """A leaf of a tree: its rows, the numbers of the tests on the way to it, its model, and the parameters of that."""

    rows: np.ndarray
    path: list[int]
    model: np.ndarray
    size: int


class Made(NamedTuple):
    """A rule: its tests, the rows that it covers, its model and figures."""

    tests: tuple[int, ...]
    covered: np.ndarray
    model: np.ndarray
    figures: tuple[float, ...]


def values_of(columns: np.ndarray, model: np.ndarray) -> np.ndarray:
    value = np.full(columns.shape[1], model[0])
    for column, coefficient in zip(columns, model[1:], strict=True):
        if coefficient:
            value += coefficient * column
    return value


def estimated(error: float, n: int, size: int) -> float:
    counted = min(size, n - 1)
    return error * (n + counted) / (n - counted)


def bounds_of(least: float, largest: float, extrapolation: float) -> tuple[float, float]:
    lower, upper = least - extrapolation * (largest - least), largest + extrapolation * (largest - least)
    return 0.0 if lower < 0 <= least else lower, 0.0 if upper > 0 >= largest else upper


def kept_conditions(fails: np.ndarray, gain: np.ndarray, w: np.ndarray) -> list[int]:
    """The conditions that stay, those first whose absence would add most."""
    kept = list(range(len(fails)))

    def alone(d: int) -> np.ndarray:
        return np.flatnonzero(fails[d] & (fails[kept].sum(axis=0) == 1))

    # the engine adds the rows that join later to the sums of those before
    gains = {d: sum(gain[alone(d)].tolist()) for d in kept}
    weights = {d: sum(w[alone(d)].tolist()) for d in kept}
    while len(kept) > 1:
        best = max(kept, key=lambda d: (gains[d], -d))
        if gains[best] < 0:
            break
        before = {d: set(alone(d).tolist()) for d in kept}
        kept.remove(best)
        for d in kept:
            for row in sorted(set(alone(d).tolist()) - before[d]):
                gains[d] += gain[row]
                weights[d] += w[row]
    return sorted(kept, key=lambda d: -weights[d])


def without_bias(rule: Made, y: np.ndarray, w: np.ndarray, value: np.ndarray, size: int, unit: float) -> Made:
    lower, upper = rule.figures[4:6]
    model, before = rule.model.copy(), np.inf
    bias = (w * (np.clip(value, lower, upper) - y)).sum() / w.sum()
    while abs(bias) >= 0.5 * unit and abs(bias) < before:
        before = abs(bias)
        model[0] -= bias
        value = value - bias
        bias = (w * (np.clip(value, lower, upper) - y)).sum() / w.sum()
    if before == np.inf:
        return rule
    model[0] = np.rint(model[0] / unit) * unit
    error = (w * np.abs(np.clip(value, lower, upper) - y)).sum() / w.sum()
    return rule._replace(model=model, figures=(*rule.figures[:6], estimated(error, len(y), size)))


def rules_of(samples: tuple[Any, ...], fails: np.ndarray, leaves: list[Leaf], choices: tuple[float, float, bool]) -> list[Made]:
    columns, _, y, w, _, floor, ceiling = samples
    extrapolation, unit, unbiased = choices
    total, count = np.empty(len(y)), np.ones(len(y))
    for leaf in leaves:
        total[leaf.rows] = np.clip(values_of(columns, leaf.model), floor, ceiling)[leaf.rows]
    found: list[Made] = []
    for leaf in leaves:
        value = values_of(columns, leaf.model)
        inside = np.clip(value, floor, ceiling)
        gain = w * (np.abs(y - total / count) - np.abs(y - (total + inside) / (count + 1)))
        failing = fails[leaf.path]
        kept = kept_conditions(failing, gain, w)
        covered = ~failing[kept].any(axis=0) if kept else np.ones(len(y), bool)
        rows = np.flatnonzero(covered)
        least, largest = y[rows].min(), y[rows].max()
        error = (w[rows] * np.abs(y[rows] - inside[rows])).sum() / w[rows].sum()
        figures = (len(rows), (w[rows] * y[rows]).sum() / w[rows].sum(), least, largest)
        figures += (*bounds_of(least, largest, extrapolation), estimated(error, len(rows), leaf.size))
        rule = Made(tuple(leaf.path[d] for d in kept), rows, leaf.model, figures)
        same = next((i for i, other in enumerate(found) if other.tests == rule.tests), None)
        if same is not None:
            if figures[6] < found[same].figures[6]:
                found[same] = found[same]._replace(model=leaf.model, figures=(*found[same].figures[:6], figures[6]))
            continue
        new = np.setdiff1d(rows, leaf.rows)
        total[new] += np.clip(value[new], least, largest)
        count[new] += 1
        found.append(without_bias(rule, y[rows], w[rows], value[rows], leaf.size, unit) if unbiased else rule)
    return found


def predicted(columns: np.ndarray, rules: list[Made], default: float) -> np.ndarray:
    total, count = np.zeros(columns.shape[1]), np.zeros(columns.shape[1])
    for rule in rules:
        total[rule.covered] += np.clip(values_of(columns, rule.model), *rule.figures[4:6])[rule.covered]
        count[rule.covered] += 1
    return np.array([t / c if c else default for t, c in zip(total, count, strict=True)])


class Arranged(NamedTuple):
    place: int
    parent: int
    children: list[int]
    allowed: set[int]


def arranged(parent: list[int], feature: list[int], cover: list[int], d: int, least_cover: int) -> list[Arranged]:
    """The nodes in preorder, without divisions that have a branch of too few samples."""
    below = [[node for node, above in enumerate(parent) if above == each] for each in range(len(parent))]

    def tested_below(node: int) -> set[int]:
        own = {feature[node]} if 0 <= feature[node] < d else set()
        return own.union(*map(tested_below, below[node]))

    found: list[Arranged] = []

    def visit(node: int, above: int, tested: set[int]) -> int:
        own = {feature[node]} if 0 <= feature[node] < d else set()
        number = len(found)
        found.append(Arranged(node, above, [-1, -1], tested | tested_below(node)))
        if below[node] and min(cover[child] for child in below[node]) >= least_cover:
            found[number].children[:] = [visit(child, number, tested | own) for child in below[node]]
        return number

    visit(0, -1, set())
    return found
