"""The best tree by trying all: every test at every node, in fractions; or every division of the rectangles of two columns."""

from fractions import Fraction
from functools import cache

import numpy as np


def tests_of(columns):
    """Return the rows of the first branch of every test, as bits.

    A column is (codes, whether it is nominal); the code 0 is a missing value.
    """
    found = set()
    for codes, nominal in columns:
        missing = sum(1 << i for i, code in enumerate(codes) if code == 0)
        for tested in sorted({*codes} - {0}):
            first = sum(1 << i for i, code in enumerate(codes) if code and (code == tested if nominal else code <= tested))
            found |= {first, first | missing}
        found.add(missing)
    return sorted(found)


def groups_of(columns, rows, orders):
    """Return the rows of the first branch of tests of groups of categories, as bits.

    Without orders these are all groups.  Else a category has a key by each order, and groups are the cuts of their orders.
    """
    found = set()
    for codes in (codes for codes, nominal in columns if nominal):
        of_code = {code: sum(1 << i for i in rows if codes[i] == code) for code in sorted({codes[i] for i in rows})}
        if not orders:
            parts = list(of_code.values())
            found |= {sum(part for i, part in enumerate(parts) if chosen >> i & 1) for chosen in range(1, 1 << len(parts) - 1)}
            continue
        for key in orders:
            first = 0
            for code in sorted(of_code, key=lambda code: (key([i for i in rows if codes[i] == code]), code)):
                first |= of_code[code]
                found.add(first)
    return found


def least_objective(columns, costs, depth, penalty, is_large, weight=None):
    """Return the smallest cost of a tree: `costs[i][k]` is that of predicting k for row i.

    `is_large` says of the numbers of some rows whether they may be a leaf; if there are weights, categories are grouped by the
    order of their costs per weight, as is done if leaves may be too small.
    """
    costs = [[Fraction(cost) for cost in row] for row in costs]

    def of_leaf(rows):
        return min(map(sum, zip(*(costs[i] for i in rows), strict=True))) + Fraction(penalty)

    def order(one, other):
        return lambda rows: sum(costs[i][other] - costs[i][one] for i in rows) / sum(Fraction(weight[i]) for i in rows)

    # categories of equal shares follow their codes, so that it matters from which end the order of two classes begins
    n = len(costs[0])
    pairs = [(1, 0)] if n == 2 else [(one, other) for one in range(n) for other in range(one + 1, n)]
    orders = [] if weight is None else [order(one, other) for one, other in pairs]
    return least_cost(columns, of_leaf, depth, is_large, orders)


def least_squares(columns, target, weight, depth, penalty, is_large, by_order=False):
    """Return the smallest weighted sum of squared errors of a tree; `by_order`: categories are grouped by the order of means."""
    target, weight = list(map(Fraction, target)), list(map(Fraction, weight))

    def of_leaf(rows):
        mean = sum(weight[i] * target[i] for i in rows) / sum(weight[i] for i in rows)
        return sum(weight[i] * (target[i] - mean) ** 2 for i in rows) + Fraction(penalty)

    def mean(rows):
        return sum(weight[i] * target[i] for i in rows) / sum(weight[i] for i in rows)

    return least_cost(columns, of_leaf, depth, is_large, [mean] * by_order)


def least_cost(columns, of_leaf, depth, is_large, orders):
    """Return the smallest sum over the leaves of a tree of what `of_leaf` says of their rows."""
    tests = tests_of(columns)
    n = len(columns[0][0])

    def numbers(rows):
        return [i for i in range(n) if rows >> i & 1]

    @cache
    def best(rows, depth):
        least = of_leaf(numbers(rows))
        if depth:
            for test in groups_of(columns, numbers(rows), orders):
                first, second = numbers(rows & test), numbers(rows & ~test)
                if first and second and is_large(first) and is_large(second):
                    least = min(least, of_leaf(first) + of_leaf(second))
            for test in tests:
                first, second = rows & test, rows & ~test
                if first and second and is_large(numbers(first)) and is_large(numbers(second)):
                    least = min(least, best(first, depth - 1) + best(second, depth - 1))
        return least

    return best((1 << n) - 1, depth)


def least_of_rectangles(columns, summands, of_leaf, depth):
    """Return the smallest cost of a tree that tests two columns of numbers: every node is a rectangle, a range of each column.

    `columns` are codes from 0, and `of_leaf` takes sums of the rows' summands, in the last axis, and returns the costs of leaves.
    """
    sizes = [int(column.max()) + 2 for column in columns]
    sums = np.zeros((*sizes, summands.shape[1]))
    np.add.at(sums, (columns[0] + 1, columns[1] + 1), summands)
    sums = sums.cumsum(axis=0).cumsum(axis=1)
    strips = sums[None] - sums[:, None]  # by start and end in the first column
    leaf = of_leaf(strips[:, :, None] - strips[:, :, :, None])  # and in the second one
    best = leaf
    for _ in range(depth):
        smaller, best = best, leaf.copy()
        for cut in range(1, sizes[0] - 1):
            part = best[:cut, cut + 1 :]
            np.minimum(part, smaller[:cut, cut][:, None] + smaller[cut, cut + 1 :][None], out=part)
        for cut in range(1, sizes[1] - 1):
            part = best[:, :, :cut, cut + 1 :]
            np.minimum(part, smaller[:, :, :cut, cut][..., None] + smaller[:, :, cut, cut + 1 :][:, :, None], out=part)
    return float(best[0, -1, 0, -1])
