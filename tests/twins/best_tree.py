"""The best tree by trying all: every test at every node, in fractions."""

from fractions import Fraction
from functools import cache


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


def least_objective(columns, costs, depth, penalty, is_large):
    """Return the smallest cost of a tree: `costs[i][k]` is that of predicting k for row i.

    `is_large` says of the numbers of some rows whether they may be a leaf.
    """
    costs = [[Fraction(cost) for cost in row] for row in costs]

    def of_leaf(rows):
        return min(map(sum, zip(*(costs[i] for i in rows), strict=True))) + Fraction(penalty)

    return least_cost(columns, of_leaf, depth, is_large)


def least_squares(columns, target, weight, depth, penalty, is_large):
    """Return the smallest weighted sum of squared errors of a tree."""
    target, weight = list(map(Fraction, target)), list(map(Fraction, weight))

    def of_leaf(rows):
        mean = sum(weight[i] * target[i] for i in rows) / sum(weight[i] for i in rows)
        return sum(weight[i] * (target[i] - mean) ** 2 for i in rows) + Fraction(penalty)

    return least_cost(columns, of_leaf, depth, is_large)


def least_cost(columns, of_leaf, depth, is_large):
    """Return the smallest sum over the leaves of a tree of what `of_leaf` says of their rows."""
    tests = tests_of(columns)
    n = len(columns[0][0])

    def numbers(rows):
        return [i for i in range(n) if rows >> i & 1]

    @cache
    def best(rows, depth):
        least = of_leaf(numbers(rows))
        if depth:
            for test in tests:
                first, second = rows & test, rows & ~test
                if first and second and is_large(numbers(first)) and is_large(numbers(second)):
                    least = min(least, best(first, depth - 1) + best(second, depth - 1))
        return least

    return best((1 << n) - 1, depth)
