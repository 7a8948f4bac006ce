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
