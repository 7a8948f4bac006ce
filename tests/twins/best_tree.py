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
    tests = tests_of(columns)
    costs = [[Fraction(cost) for cost in row] for row in costs]

    def numbers(rows):
        return [i for i in range(len(costs)) if rows >> i & 1]

    @cache
    def best(rows, depth):
        inside = [costs[i] for i in numbers(rows)]
        least = min(map(sum, zip(*inside, strict=True))) + Fraction(penalty)
        if depth:
            for test in tests:
                first, second = rows & test, rows & ~test
                if first and second and is_large(numbers(first)) and is_large(numbers(second)):
                    least = min(least, best(first, depth - 1) + best(second, depth - 1))
        return least

    return best((1 << len(costs)) - 1, depth)
