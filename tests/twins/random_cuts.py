"""The slow, obvious twin of random cuts on lists: one drawn cut for each feature, and the best of these."""

import numpy as np

from tests.twins.drawn import MASK, Stream, mix

TIE = 1e-9  # relative: sums of weights have other roundings here


def risk_of_classes(weight, y, impurity):
    """Weight times impurity."""
    shares = np.bincount(y, weights=weight) / weight.sum()
    shares = shares[shares > 0]
    spread = {
        "gini": 1 - (shares**2).sum(),
        "entropy": -(shares * np.log2(shares)).sum(),
        "misclassification": 1 - shares.max(),
    }[impurity]
    return weight.sum() * spread


def risk_of_numbers(weight, y, impurity):
    total, mean = weight.sum(), (weight * y).sum() / weight.sum()
    if impurity == "squared_error":
        return (weight * (y - mean) ** 2).sum()
    if impurity == "absolute_error":
        return min((weight * np.abs(y - value)).sum() for value in y)
    if mean == 0:
        return 0.0
    ratio = np.where(y > 0, y, 1) / mean
    return (weight * (y * np.log(ratio) * (y > 0) - y + mean)).sum() if total else 0.0


class RandomCutsTwin:
    """A tree as nested dicts: `feature` and `sides`, two lists of rows, where a node is split.

    `X` is a float matrix, NaN = missing; the columns in `nominal` hold codes from 1 on.  `Y` has a column for each target.
    """

    def __init__(self, X, Y, weight, impurity, seed, *, of_classes, max_features=None, nominal=(), min_samples_leaf=1):
        self.X, self.Y, self.weight, self.impurity, self.nominal = X, Y, weight, impurity, nominal
        self.risk_of = risk_of_classes if of_classes else risk_of_numbers
        self.max_features = X.shape[1] if max_features is None else max_features
        self.min_samples_leaf = min_samples_leaf
        self.root = self.grow(np.flatnonzero(weight), mix(seed))

    def risk(self, rows):
        if not rows.size:
            return 0.0
        return np.mean([self.risk_of(self.weight[rows], column[rows], self.impurity) for column in self.Y.T])

    def grow(self, rows, key):
        node = {"rows": rows}
        whole = self.risk(rows)
        if all(len(set(column[rows])) == 1 for column in self.Y.T):
            return node
        found = []
        for feature in self.drawn(rows, key):
            found += self.cuts(feature, rows, key)
        if not found:
            return node
        gains = [whole - self.risk(left) - self.risk(right) for _, left, right in found]
        reached = max(gains) - TIE * (whole + 1)
        if max(gains) < TIE:  # of numbers, a cut that gains nothing is rounding
            return node
        feature, *sides = found[min(i for i, gain in enumerate(gains) if gain >= reached)]
        children = [self.grow(side, mix((key + 1 + b) & MASK)) for b, side in enumerate(sides)]
        return node | {"feature": feature, "sides": sides, "children": children}

    def drawn(self, rows, key):
        """Features in the order in which equal cuts win: that of their draws until one of enough features varies, or all."""
        stream, places = Stream(key), list(range(self.X.shape[1]))
        if self.max_features == len(places):
            yield from places
            return
        varies = False
        for turn in range(len(places)):
            if turn >= self.max_features and varies:
                return
            place = turn + stream.below(len(places) - turn)
            places[turn], places[place] = places[place], places[turn]
            varies |= len(np.unique(self.X[rows, places[turn]])) > 1  # NaN is a value, once
            yield places[turn]

    def cuts(self, feature, rows, key):
        """The random cut of a feature, with missing values on the right, or else on the left."""
        cells = self.X[rows, feature]
        known, lost = rows[~np.isnan(cells)], rows[np.isnan(cells)]
        values = np.unique(self.X[known, feature])
        if values.size < 2:
            sides = [(known, lost)] if known.size and lost.size else []
        else:
            left = self.left_of(feature, known, values, mix(mix((key + 1) & MASK) ^ mix(feature + 1)))
            right = np.setdiff1d(known, left)
            sides = [(left, np.append(right, lost))]
            if lost.size:
                sides.append((np.append(left, lost), right))
        return [(feature, *both) for both in sides if min(map(len, both)) >= self.min_samples_leaf]

    def left_of(self, feature, known, values, chance):
        if feature not in self.nominal:
            threshold = values[0] + (mix(chance) >> 11) * 2.0**-53 * (values[-1] - values[0])
            return known[self.X[known, feature] <= (threshold if values[0] <= threshold < values[-1] else values[0])]
        side = [mix(chance ^ (g + 1)) & 1 for g in range(len(values))]
        if len(set(side)) == 1:
            odd = mix(chance) % len(values)
            side[odd] = 1 - side[odd]
        chosen = [value for value, its in zip(values, side, strict=True) if its == side[0]]
        return known[np.isin(self.X[known, feature], chosen)]
