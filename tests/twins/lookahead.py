"""Growth that looks ahead, by trying all pairs of levels: every split as two sets of rows, figures as fractions (not entropy).

`least_of_two_levels` does so at once for all cuts of two columns, of more rows.
"""

import math
from fractions import Fraction

import numpy as np
from scipy.special import xlogy


class Problem:
    """A table and its targets.

    A column is (codes, whether it is nominal); the code 0 is a missing value.  `criterion` is "gini", "misclassification",
    "entropy" or "squared_error".
    """

    def __init__(self, columns, target, weight, criterion, *, min_leaf=1, min_split=2, min_weight=0):
        self.columns, self.target, self.criterion = columns, target, criterion
        self.weight = [Fraction(w) for w in weight]
        self.min_leaf, self.min_split, self.min_weight = min_leaf, min_split, min_weight

    def weigh(self, rows):
        return sum(self.weight[i] for i in rows)

    def mean(self, rows):
        return sum(self.weight[i] * Fraction(self.target[i]) for i in rows) / self.weigh(rows)

    def by_class(self, rows):
        found = {}
        for i in sorted(rows, key=lambda i: self.target[i]):
            found[self.target[i]] = found.get(self.target[i], 0) + self.weight[i]
        return found

    def risk(self, rows):
        """Weight times impurity."""
        if self.criterion == "squared_error":
            mean = self.mean(rows)
            return sum(self.weight[i] * (Fraction(self.target[i]) - mean) ** 2 for i in rows)
        total, classes = self.weigh(rows), self.by_class(rows).values()
        if self.criterion == "gini":
            return total - sum(w * w for w in classes) / total
        if self.criterion == "misclassification":
            return total - max(classes)
        return -sum(float(w) * math.log2(w / total) for w in classes)

    def is_large(self, rows):
        return len(rows) >= self.min_leaf and self.weigh(rows) >= self.min_weight


def groups_in_order(problem, rows, codes, nominal):
    """Return the rows of each code, in the order of the codes, or of the shares of the largest class, or of the means."""
    present = sorted({codes[i] for i in rows} - {0})
    groups = [[i for i in rows if codes[i] == code] for code in present]
    if not nominal:
        return groups
    if problem.criterion == "squared_error":
        return sorted(groups, key=problem.mean)
    classes = problem.by_class(rows)
    largest = max(classes, key=classes.get)
    return sorted(groups, key=lambda group: problem.by_class(group).get(largest, 0) / problem.weigh(group))


def splits_of(problem, rows):
    """Return the splits of a node in the order of ties: the feature, and the rows of the first branch."""
    found = []
    for feature, (codes, nominal) in enumerate(problem.columns):
        groups = groups_in_order(problem, rows, codes, nominal)
        missing = [i for i in rows if codes[i] == 0]
        for n in range(1, len(groups)):
            first = frozenset(i for group in groups[:n] for i in group)
            found += [(feature, first), (feature, first | set(missing))] if missing else [(feature, first)]
        if missing and groups:
            found.append((feature, frozenset(rows) - set(missing)))
    return found


def best_below(problem, rows, splits):
    """Return the smallest risk of a tree of one level, by the splits of the node above."""
    least = problem.risk(rows)
    for _, first in splits if len(rows) >= problem.min_split else []:
        left, right = rows & first, rows - first
        if left and right and problem.is_large(left) and problem.is_large(right):
            least = min(least, problem.risk(left) + problem.risk(right))
    return least


def grow(problem, rows, max_depth):
    """Return the tree: the set of rows at a leaf, else the feature, the rows of both branches in any order, and their trees."""
    rows = frozenset(rows)
    if max_depth == 0 or len(rows) < max(problem.min_split, 2 * problem.min_leaf) or len({problem.target[i] for i in rows}) == 1:
        return rows
    splits = splits_of(problem, rows)
    best, found = None, None
    for feature, first in splits:
        branches = first, rows - first
        if not all(map(problem.is_large, branches)):
            continue
        own = sum(map(problem.risk, branches))
        two = own if max_depth == 1 else sum(best_below(problem, branch, splits) for branch in branches)
        figures = (round(two, 9), round(own, 9)) if problem.criterion == "entropy" else (two, own)
        if best is None or figures < best:
            best, found = figures, (feature, branches)
    if found is None:
        return rows
    feature, branches = found
    return feature, frozenset((branch, grow(problem, branch, max_depth - 1)) for branch in branches)


RISKS = {
    "gini": lambda counts, weight: weight - (counts**2).sum(-1) / np.maximum(weight, 1),
    "misclassification": lambda counts, weight: weight - counts.max(-1),
    "entropy": lambda counts, weight: (xlogy(weight, weight) - xlogy(counts, counts).sum(-1)) / np.log(2),
}


def least_of_two_levels(X, labels, criterion):
    """Return the smallest risk of a tree of two levels; columns have no equal values."""

    def risk(counts):
        return RISKS[criterion](counts, counts.sum(-1))

    def best_of_one_level(chosen):
        """Return the smallest risk of a tree of one level on each of several sets of rows."""
        least = np.full(len(chosen), np.inf)
        for order in np.argsort(X, axis=0).T:
            first = np.cumsum(chosen[:, order, None] * classes[order], axis=1)  # the last one has all rows
            least = np.minimum(least, (risk(first) + risk(first[:, -1:] - first)).min(axis=1))
        return least

    classes = np.eye(int(labels.max()) + 1)[labels]
    found = []
    for column in X.T:
        first = column <= np.sort(column)[:-1, None]
        found.append((best_of_one_level(first) + best_of_one_level(~first)).min())
    return min(found)
