"""The slow, obvious twin of the drawn layout: every cut of every drawn feature, in exact fractions."""

from fractions import Fraction

import numpy as np

MASK = 2**64 - 1


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Stream:
    def __init__(self, state):
        self.state = state

    def next(self):
        self.state = (self.state + 1) & MASK
        return mix(self.state)

    def below(self, n):
        return ((self.next() >> 32) * n) >> 32


def risk(rows, counts, y, n_classes):
    """Weight times impurity."""
    n = sum(int(counts[i]) for i in rows)
    if n == 0:
        return Fraction(0)
    if n_classes:
        sizes = [sum(int(counts[i]) for i in rows if y[i] == k) for k in range(n_classes)]
        return n - Fraction(sum(size * size for size in sizes), n)
    first = sum(int(counts[i]) * Fraction(y[i]) for i in rows)
    second = sum(int(counts[i]) * Fraction(y[i]) ** 2 for i in rows)
    return second - first * first / n


class Twin:
    """A tree on a bag.

    `X` is a float matrix, NaN = missing; the columns in `nominal` hold codes from 1 on.  `y` has classes or numbers.
    """

    def __init__(self, X, y, n_classes, counts, seed, *, max_features, nominal=(), min_samples_leaf=1, max_depth=2**31):
        self.X, self.n_classes, self.counts = X, n_classes, counts
        self.y = np.asarray(y).tolist()  # numbers of NumPy would overflow in fractions
        self.max_features, self.nominal, self.min_samples_leaf = max_features, nominal, min_samples_leaf
        self.max_depth = max_depth
        self.root = self.grow([i for i in range(len(X)) if counts[i]], mix(seed), 0)

    def grow(self, rows, key, depth):
        node = {"rows": rows, "weight": sum(int(self.counts[i]) for i in rows)}
        if len({self.y[i] for i in rows}) == 1 or depth >= self.max_depth or len(rows) < 2 * self.min_samples_leaf:
            return node
        cut = self.best(rows, key)
        if cut is None:
            return node
        feature, left, what = cut
        inside = set(left)
        right = [i for i in rows if i not in inside]
        node |= {"feature": feature, "cut": what}
        node["children"] = [self.grow(side, mix((key + 1 + b) & MASK), depth + 1) for b, side in enumerate((left, right))]
        return node

    def drawn(self, rows, key):
        """Features in the order of their draws; those that are constant in the node count."""
        stream, places = Stream(key), list(range(self.X.shape[1]))
        varies, d = False, len(places)
        for turn in range(d):
            if turn >= self.max_features and varies:
                return
            place = turn + stream.below(d - turn)
            places[turn], places[place] = places[place], places[turn]
            cells = self.X[rows, places[turn]]
            if len(np.unique(cells)) > 1:  # NaN is a value, once
                varies = True
                yield places[turn]

    def cuts(self, rows, feature):
        """Left sides in the order in which equal cuts win."""
        cells = self.X[:, feature]
        known = [i for i in rows if not np.isnan(cells[i])]
        lost = [i for i in rows if np.isnan(cells[i])]
        values = sorted({cells[i] for i in known})
        if feature in self.nominal:
            values.sort(key=lambda value: (self.mean([i for i in known if cells[i] == value]), value))
        for j in range(len(values)):
            chosen = set(values[: j + 1])
            for with_missing in (False, True)[: 1 + bool(lost)]:
                left = [i for i in rows if (cells[i] in chosen if not np.isnan(cells[i]) else with_missing)]
                if len(left) < len(rows):
                    what = frozenset(chosen) if feature in self.nominal else values[j : j + 2]
                    what = "known" if j + 1 == len(values) else what
                    yield left, (what, with_missing, bool(lost))

    def mean(self, rows):
        """Mean target; with two classes in the node, the share of the one whose first row is later."""
        n = sum(int(self.counts[i]) for i in rows)
        ys = [self.y[i] if not self.n_classes else int(self.y[i] == self.second) for i in rows]
        return Fraction(sum(int(self.counts[i]) * Fraction(y) for i, y in zip(rows, ys, strict=True))) / n

    def best(self, rows, key):
        best = None
        above = risk(rows, self.counts, self.y, self.n_classes)
        if self.n_classes:
            present = list(dict.fromkeys(self.y[i] for i in rows))
            self.second = present[1]
        for feature in self.drawn(rows, key):
            for left, what in self.cuts(rows, feature):
                inside = set(left)
                right = [i for i in rows if i not in inside]
                if min(len(left), len(right)) < self.min_samples_leaf:
                    continue
                gain = above - sum(risk(side, self.counts, self.y, self.n_classes) for side in (left, right))
                if best is None or gain > best[0]:
                    best = (gain, feature, left, what)
        return None if best is None else best[1:]


class RandomTwin(Twin):
    """One random cut for each drawn feature."""

    def best(self, rows, key):
        self.chance = Stream(mix(key))
        return super().best(rows, key)

    def cuts(self, rows, feature):
        cells = self.X[:, feature]
        known = [i for i in rows if not np.isnan(cells[i])]
        lost = [i for i in rows if np.isnan(cells[i])]
        if feature in self.nominal:
            yield self.groups(rows, cells)
            return
        values = cells[known]
        least, most = values.min(), values.max()
        threshold = least + (self.chance.next() >> 11) * 2.0**-53 * (most - least)
        if not least <= threshold < most:
            threshold = least
        for with_missing in (False, True)[: 1 + bool(lost)]:
            left = [i for i in rows if (cells[i] <= threshold if not np.isnan(cells[i]) else with_missing)]
            if len(left) < len(rows):
                what = "known" if least == most else [threshold, threshold]
                yield left, (what, with_missing, bool(lost))

    def groups(self, rows, cells):
        """Every category that occurs goes to a random side; a missing value is code 0."""
        codes = sorted({0 if np.isnan(cells[i]) else int(cells[i]) for i in rows})
        side = {code: 1 + self.chance.below(2) for code in codes}
        if len(set(side.values())) == 1:
            odd = codes[self.chance.below(len(codes))]
            side[odd] = 3 - side[odd]
        if 0 in side and all(side[code] != side[0] for code in codes if code):
            side = {code: 1 if code else 2 for code in codes}  # the missing value alone goes right
        left = [i for i in rows if side[0 if np.isnan(cells[i]) else int(cells[i])] == 1]
        chosen = frozenset(code for code in codes if code and side[code] == 1)
        what = "known" if len(chosen) == len([code for code in codes if code]) else chosen
        return left, (what, side.get(0) == 1, 0 in side)
