"""Cubist's rules of leaves, and its nodes in preorder, are those of plain loops, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cubist.making import Leaf, Made, arranged, predicted, rules_of

from fasttree._engine.lines import equations

COLUMNS, NOMINAL = 3, 2
CATEGORIES = 3


def table(rng: np.random.Generator, n: int) -> tuple[tuple[Any, ...], np.ndarray]:
    columns = np.round(rng.normal(size=(COLUMNS, n)), rng.integers(1, 4))
    codes = rng.integers(0, CATEGORIES, size=(NOMINAL, n)).astype(np.int32)
    y = np.round(columns[0] + np.where(codes[0] > 0, columns[1], -2) + rng.normal(size=n), 2) + rng.choice([-9, 0, 9])
    w = np.ones(n) if rng.random() < 0.5 else rng.choice([0.5, 1, 2.5], n)
    return (columns, np.ascontiguousarray(columns.T), y, w, np.zeros(COLUMNS), float(y.min()) - 0.1, float(y.max()) + 0.1), codes


def model_of(rng: np.random.Generator) -> np.ndarray:
    return np.round(rng.normal(size=COLUMNS + 1) * (rng.random(COLUMNS + 1) < 0.7), 3)


def grown(
    rng: np.random.Generator, columns: np.ndarray, codes: np.ndarray, most: int
) -> tuple[list[dict[str, Any]], np.ndarray, list[Leaf]]:
    """A tree of random tests: the tests, which rows fail each, and the leaves with the tests on the way to them."""
    tests: list[dict[str, Any]] = []
    fails, leaves = [], []
    waiting = [(np.arange(columns.shape[1]), list[int]())]
    while waiting:
        rows, path = waiting.pop()
        feature = int(rng.integers(COLUMNS + NOMINAL))
        if feature < COLUMNS:
            cut = float(np.median(columns[feature][rows]))
            right = columns[feature] > cut
            sides = [{"feature": feature, "cut": cut}, {"feature": feature, "cut": cut, "above": 1}]
        else:
            among = rng.random(CATEGORIES) < 0.5
            right = ~among[codes[feature - COLUMNS]]
            sides = [{"feature": feature, "passes": marks.astype(np.uint8)} for marks in (among, ~among)]
        parts = [rows[~right[rows]], rows[right[rows]]]
        if len(leaves) + len(waiting) > most or min(map(len, parts)) < 3:
            leaves.append(Leaf(rows, path, model_of(rng), int(rng.integers(1, 6))))
            continue
        for part, side, failing in zip(parts, sides, (right, ~right), strict=True):
            waiting.append((part, [*path, len(tests)]))
            tests.append(side)
            fails.append(failing)
    return tests, np.array(fails, dtype=bool).reshape(len(tests), columns.shape[1]), leaves


def by_engine(
    samples: tuple[Any, ...],
    codes: np.ndarray,
    tests: list[dict[str, Any]],
    leaves: list[Leaf],
    choices: tuple[float, float, bool],
) -> tuple[list[Made], np.ndarray]:
    """The rules, and what they predict."""
    n = samples[0].shape[1]
    marks = [test.get("passes", np.empty(0, np.uint8)) for test in tests]
    written = (
        np.array([test["feature"] for test in tests], dtype=np.int32),
        np.array([test.get("above", 0) for test in tests], dtype=np.uint8),
        np.array([test.get("cut", 0.0) for test in tests], dtype=float),
        np.cumsum([0, *map(len, marks)]),
        np.concatenate([*marks, np.empty(0, np.uint8)]),
        codes,
    )
    stop, start = np.cumsum([len(leaf.rows) for leaf in leaves]), np.cumsum([0, *(len(leaf.path) for leaf in leaves)])
    given = (
        np.concatenate([leaf.rows for leaf in leaves]).astype(np.int32),
        np.concatenate([[0], stop[:-1]]).astype(np.int64),
        stop,
        np.array([leaf.size for leaf in leaves]),
        start,
    )
    path = np.array([part for leaf in leaves for part in leaf.path], dtype=np.int32)
    kept, models = np.zeros(len(leaves), np.int64), np.array([leaf.model for leaf in leaves])
    covered, figures = np.empty((len(leaves), -(-n // 64)), np.uint64), np.empty((len(leaves), 7))
    equations.make_rules(samples, written, given, (path, kept, models, covered, figures), np.array(choices, dtype=float))
    rows = [[i for i in range(n) if int(bits[i // 64]) >> i % 64 & 1] for bits in covered]
    made = [
        Made(tuple(path[start[i] : start[i] + kept[i]].tolist()), np.array(rows[i]), models[i], tuple(figures[i].tolist()))
        for i in np.flatnonzero(figures[:, 0] > 0).tolist()
    ]
    some, values = figures[:, 0] > 0, np.empty(n)
    equations.predict_rules(samples, models[some], covered[some], np.ascontiguousarray(figures[some, 4:6]), 7.5, values)
    return made, values


@pytest.mark.parametrize("seed", range(60))
def test_rules_of_leaves_are_those_of_whole_columns(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([9, 64, 65, 130, 700]))
    samples, codes = table(rng, n)
    tests, fails, leaves = grown(rng, samples[0], codes, most=int(rng.integers(0, 20)))
    choices = (float(rng.choice([0.0, 0.05, 0.5])), 0.001, bool(rng.random() < 0.5))
    expected = rules_of(samples, fails, leaves, choices)
    found, values = by_engine(samples, codes, tests, leaves, choices)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.tests == theirs.tests
        assert ours.figures == theirs.figures
        assert np.array_equal(ours.model, theirs.model)
        assert np.array_equal(ours.covered, theirs.covered)
    assert np.array_equal(values, predicted(samples[0], expected, 7.5))


@pytest.mark.parametrize("seed", range(30))
def test_nodes_in_preorder_are_those_of_recursion(seed):
    rng = np.random.default_rng(seed)
    d, n_tests, most = int(rng.integers(0, 4)), int(rng.integers(0, 30)), 100
    parent, feature, first, stop = [-1], [-1], [0], [most]
    for node in sorted(rng.choice(2 * n_tests + 1, n_tests, replace=False).tolist()):
        if node >= len(parent) or stop[node] - first[node] < 2:
            continue  # numbers go up, so nodes are divided breadth first
        feature[node] = int(rng.integers(d + 2))
        middle = int(rng.integers(first[node] + 1, stop[node]))
        parent += [node, node]
        feature += [-1, -1]
        first += [first[node], middle]
        stop += [middle, stop[node]]
    least, size = int(rng.integers(1, 8)), len(parent)
    place, children = np.empty(size, np.int64), np.empty((size, 2), np.int64)
    above, allowed = np.empty(size, np.int32), np.empty((size, d), np.uint8)
    nodes = (np.array(parent, np.int32), np.array(feature, np.int32), np.array(first), np.array(stop))
    kept = equations.arrange(nodes, d, least, (place, children, above, allowed))
    expected = arranged(parent, feature, [b - a for a, b in zip(first, stop, strict=True)], d, least)
    assert kept == len(expected)
    for node, each in enumerate(expected):
        found = (place[node], above[node], children[node].tolist(), set(np.flatnonzero(allowed[node]).tolist()))
        assert found == (each.place, each.parent, each.children, each.allowed)
