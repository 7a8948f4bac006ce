"""SHAP values of trees with models: exact Shapley values of the games of pairs of samples, leaf by leaf.

**Game.** A sample x is explained against a sample z of the background: a set S of features has the values of x, the others have
those of z, and the worth of S is the prediction.  The values are the mean over all z (interventional).

**Leaf.** S leads to a leaf if it has all of A, the features of the path whose tests x passes and z does not, and none of B,
those whose tests z passes and x does not; if both fail the tests of a feature, no set does.  There the worth is ``h(S) = c +
sum of d_j over the features j of S``, moved into the bounds: c has the terms of z, changed for A, and d_j is what the terms of
j change.  The worth of S is the sum over the leaves, and Shapley values add up.

**Without bounds** the game of a leaf is a sum of games "all of A and none of B", worth c, and "all of A and j, none of B",
worth d_j.  With a = |A| and b = |B|, a game of the first kind gives ``(a - 1)! b! / (a + b)!`` to each feature of A, and minus
``a! (b - 1)! / (a + b)!`` to each of B (as in Lundberg et al. 2020 for constant leaves).  So the time is linear in leaves,
pairs and terms.  This also holds for a pair in whose leaf no set reaches a bound, or all sets pass the same one.

**With bounds** that some sets pass, the game of a leaf may be any weighted voting game: with bounds 0 and 1 and whole numbers
d_j, a set is worth 1 if its sum reaches a quota.  To compute Shapley values of these is #P-complete (Deng and Papadimitriou
1994), so that there is no polynomial method unless P = NP.  Every set of the features of the leaf's terms is then evaluated, at
most 2^20 sets.

Deng, X. and Papadimitriou, C. H. (1994). On the Complexity of Cooperative Solution Concepts. Mathematics of Operations Research
19(2), 257-266.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.table import Table
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, STOP, THRESHOLD
from fasttree._model.linear.model_tree import LinearModels, ModelTree
from fasttree._model.tree import Tree

__all__ = ["Floats", "Marks", "PairPath", "blocks_of", "shares_of_end", "values_of_models"]

MOST_TERMS = 20  # features of the terms of a leaf whose sets are evaluated
SIDE = 2**8  # samples at once, and samples of the background
REMEDY = "fit with extrapolation=None, for no bounds, or with a larger pruning_factor or a smaller max_depth"
CELLS = 2**21  # of the sets of pairs that are evaluated at once

Places = npt.NDArray[np.intp]
Marks = npt.NDArray[np.bool_]


def values_of_models(tree: ModelTree, table: Table, background: Table | None) -> tuple[Floats, Floats]:
    """Return the Shapley values, shape (n_samples, n_features, k), and the mean predictions for the background, shape (k,).

    k is the number of targets.

    Raises
    ------
    ValueError
        Without a background, because nodes do not have the means of features; or if sets of the terms of a leaf pass a bound, and
        these terms have more than 20 features.
    """
    if background is None:
        raise ValueError(
            "shap_values of a tree with linear models needs background, samples whose values replace unknown ones; give, for "
            "example, a hundred rows of the training table"
        )
    X = table.block(0, table.n_samples).astype(np.float64)
    others = background.block(0, background.n_samples).astype(np.float64)
    base = tree.predict(background).reshape(len(others), -1).mean(axis=0)
    values = np.zeros((*X.shape, base.size))
    for rows, part in blocks_of(X):
        for _, against in blocks_of(others):
            for end in _ends(tree, part, against):
                for target, models in enumerate(tree.models_by_target):
                    for feature, found in shares_of_end(models, end, part, against, float(base[target]), REMEDY):
                        values[rows, feature, target] += np.bincount(end.row, found, len(part))
    return values / len(others), base


def blocks_of(samples: Floats) -> Iterator[tuple[slice, Floats]]:
    """Yield samples, as many as are paired at once."""
    for start in range(0, len(samples), SIDE):
        yield slice(start, start + SIDE), samples[start : start + SIDE]


class PairPath(NamedTuple):
    """A node, or the number of a model, and the pairs of which some set leads there.

    `passes` has, for each feature that is tested on the way, which samples and which samples of the background pass its tests.
    """

    node: int
    row: Places
    other: Places
    passes: dict[int, tuple[Marks, Marks]]


def _ends(tree: Tree, X: Floats, others: Floats) -> Iterator[PairPath]:
    """Yield the nodes where samples end."""
    row, other = (place.ravel() for place in np.indices((len(X), len(others))))
    waiting = [PairPath(0, row, other, {})]
    while waiting:
        path = waiting.pop()
        if not path.row.size:
            continue
        node, feature = path.node, int(tree.feature[path.node])
        if not tree.n_branches[node]:
            yield path
            continue
        to, other_to = (_branches(tree, node, given[:, feature]) for given in (X, others))
        before = path.passes.get(feature)
        for branch in [*range(int(tree.n_branches[node])), *([STOP] if tree.missing[node] == STOP else [])]:
            one, two = to == branch, other_to == branch
            if before is not None:
                one, two = one & before[0], two & before[1]
            kept = one[path.row] | two[path.other]
            below = PairPath(
                node if branch == STOP else int(tree.first_child[node]) + branch,
                path.row[kept],
                path.other[kept],
                {**path.passes, feature: (one, two)},
            )
            if branch != STOP:
                waiting.append(below)
            elif below.row.size:
                yield below


def _branches(tree: Tree, node: int, x: Floats) -> npt.NDArray[np.int64]:
    """Return the branch of each value at a node, STOP where the sample ends."""
    missing, kind = np.isnan(x), tree.kind[node]
    if kind == KNOWN:
        return missing.astype(np.int64)
    filled = np.where(missing, 0.0, x)
    if kind == THRESHOLD:
        found = (filled > tree.threshold[node]).astype(np.int64)
    elif kind == INTERVALS:
        found = np.searchsorted(tree.cuts_of(node), filled)
    elif kind == CATEGORY:
        found = filled.astype(np.int64) - 1
    else:
        codes, branches = tree.categories_of(node)
        place = np.searchsorted(codes, filled).clip(0, codes.size - 1)
        found, missing = branches[place].astype(np.int64), missing | (codes[place] != filled)
    to: npt.NDArray[np.int64] = np.where(missing, tree.missing[node], found)
    return to


@dataclass
class _Games:
    """The games of pairs at a leaf: what each set with all of A and none of B is worth."""

    n_with: npt.NDArray[np.int64]  # a
    n_without: npt.NDArray[np.int64]  # b
    constant: Floats  # c
    change: dict[int, Floats]  # d_j; 0 for features of A and B

    def __getitem__(self, chosen: npt.NDArray[np.bool_] | Places) -> _Games:
        change = {feature: each[chosen] for feature, each in self.change.items()}
        return _Games(self.n_with[chosen], self.n_without[chosen], self.constant[chosen], change)


class _Values(NamedTuple):
    """Shapley values of games: of each feature of A, of each of B, and of the others that have a value."""

    of_with: Floats
    of_without: Floats
    of_others: dict[int, Floats]


def shares_of_end(
    models: LinearModels, end: PairPath, X: Floats, others: Floats, base: float, remedy: str
) -> Iterator[tuple[int, Floats]]:
    """Yield features, and what they add in the games of an end, for each of its pairs.

    Worth is relative to `base`: a constant changes no Shapley value, and numbers near zero keep their digits.  `remedy` is the
    advice of an error about too many terms.
    """
    games, with_, without = _games_of(models, end, X, others, base)
    lower, upper = float(models.lower[end.node]) - base, float(models.upper[end.node]) - base
    found = _values_of(games, lower, upper, remedy)
    for feature in with_:
        yield feature, np.where(with_[feature], found.of_with, np.where(without[feature], found.of_without, 0.0))
    yield from found.of_others.items()


def _games_of(
    models: LinearModels, end: PairPath, X: Floats, others: Floats, base: float
) -> tuple[_Games, dict[int, Marks], dict[int, Marks]]:
    """Return the games, and for each feature of the path the pairs where it is in A, and where it is in B."""
    terms: dict[int, tuple[Floats, Floats]] = {}
    for column, coefficient in models.terms(end.node):
        feature, _ = models.source(column)
        of_x, of_other = (coefficient * models.values(column, given[:, feature]) for given in (X, others))
        if feature in terms:
            of_x, of_other = of_x + terms[feature][0], of_other + terms[feature][1]
        terms[feature] = of_x, of_other
    constant = np.full(end.row.size, models.intercept[end.node] - base)
    n_with, n_without = np.zeros(end.row.size, np.int64), np.zeros(end.row.size, np.int64)
    with_, without = dict[int, Marks](), dict[int, Marks]()
    for feature, (passes, other_passes) in end.passes.items():
        one, two = passes[end.row], other_passes[end.other]
        with_[feature], without[feature] = one & ~two, two & ~one
        n_with += with_[feature]
        n_without += without[feature]
    change = {}
    for feature, (of_x, of_other) in terms.items():
        here = of_other[end.other]
        constant += here
        change[feature] = of_x[end.row] - here
        if feature in with_:
            constant += np.where(with_[feature], change[feature], 0.0)
            change[feature] = np.where(with_[feature] | without[feature], 0.0, change[feature])
    return _Games(n_with, n_without, constant, change), with_, without


def _values_of(games: _Games, lower: float, upper: float, remedy: str) -> _Values:
    least, largest = games.constant.copy(), games.constant.copy()
    for each in games.change.values():
        least += np.minimum(each, 0.0)
        largest += np.maximum(each, 0.0)
    passed = ((least < lower) & (largest > lower)) | ((least < upper) & (largest > upper))
    outside = (largest <= lower) | (least >= upper) | (lower == upper)
    passed &= ~outside
    constant = np.where(outside, games.constant.clip(lower, upper), games.constant)
    change = {feature: np.where(outside, 0.0, each) for feature, each in games.change.items()}
    found = _without_bounds(_Games(games.n_with, games.n_without, constant, change))
    for chosen, features in _patterns(games, np.flatnonzero(passed), remedy):
        step = max(CELLS >> len(features), 1)
        for start in range(0, chosen.size, step):
            part = chosen[start : start + step]
            own = _by_sets(games[part], features, lower, upper)
            found.of_with[part], found.of_without[part] = own.of_with, own.of_without
            for feature in games.change:
                found.of_others[feature][part] = own.of_others.get(feature, 0.0)
    return found


def _without_bounds(games: _Games) -> _Values:
    a, b = games.n_with, games.n_without
    total = np.zeros(a.size)
    for each in games.change.values():
        total += each
    weight = _weights(int(a.max()) + 2, int(b.max()) + 2)
    each_more = weight[a, b]
    less_a, less_b = np.maximum(a - 1, 0), np.maximum(b - 1, 0)  # where there is no feature to have the value, it is not read
    return _Values(
        games.constant * weight[less_a, b] + total * each_more,
        -games.constant * weight[a, less_b] - total * weight[a + 1, less_b],
        {feature: change * each_more for feature, change in games.change.items()},
    )


@lru_cache(64)
def _weights(n: int, m: int) -> Floats:
    """Return ``s! t! / (s + t + 1)!``: the share of the orders of s + t + 1 features in which one is between s and t others."""
    return np.array([[1 / ((s + t + 1) * math.comb(s + t, s)) for t in range(m)] for s in range(n)])


def _patterns(games: _Games, chosen: Places, remedy: str) -> Iterator[tuple[Places, list[int]]]:
    """Yield some of the games by the features that change their worth, with these features."""
    if not chosen.size:
        return
    features = list(games.change)
    changing = np.column_stack([games.change[feature][chosen] != 0 for feature in features])
    patterns, place = np.unique(changing, axis=0, return_inverse=True)
    for i, pattern in enumerate(patterns):
        own = [features[j] for j in np.flatnonzero(pattern).tolist()]
        if len(own) > MOST_TERMS:
            raise ValueError(
                f"the terms of a model have {len(own)} features, and some sets of them pass a bound of its predictions: SHAP "
                f"values are then computed for at most {MOST_TERMS} features, because every set is evaluated; {remedy}"
            )
        yield chosen[place.ravel() == i], own


def _by_sets(games: _Games, features: list[int], lower: float, upper: float) -> _Values:
    """Return the values of games from the worth of every set of features."""
    worth = games.constant[None, :]
    for feature in features:  # sets without it, then those with it
        worth = np.concatenate([worth, worth + games.change[feature]])
    by_size, with_each = _added_by_size(worth.clip(lower, upper), len(features))
    a, b, r, k = games.n_with, games.n_without, len(features), np.arange(len(features) + 1)[:, None]
    weight = _weights(int(a.max()) + r + 2, int(b.max()) + r + 2)
    joined = weight[np.maximum(a - 1 + k, 0), b + r - k]  # of sets of k with the feature, which joins a - 1 + k others
    left = weight[a + k, np.maximum(b - 1 + r - k, 0)]  # of sets of k without it
    of_others = {
        feature: (joined * with_it - left * (by_size - with_it)).sum(axis=0)
        for feature, with_it in zip(features, with_each, strict=True)
    }
    return _Values((joined * by_size).sum(axis=0), -(left * by_size).sum(axis=0), of_others)


def _added_by_size(worth: Floats, n_features: int) -> tuple[Floats, list[Floats]]:
    """Return the sums of the worth of the sets of each size, and of those that have each feature, shape (n_features + 1, n).

    `worth` has a row for each set, whose bits are the features.  Features are joined one by one: the number of sums halves each
    time, so that all takes a few additions for each set.
    """
    total, with_each = worth[:, None, :], list[Floats]()
    for _ in range(n_features):
        having = np.zeros((len(total) // 2, total.shape[1] + 1, total.shape[2]))
        having[:, 1:] = total[1::2]
        total, with_each = _joined(total), [*map(_joined, with_each), having]
    return total[0], [each[0] for each in with_each]


def _joined(sums: Floats) -> Floats:
    """Return sums of sets by size, shape (n_sets, n_sizes, n), added up over the feature of the lowest bit."""
    found = np.zeros((len(sums) // 2, sums.shape[1] + 1, sums.shape[2]))
    found[:, :-1] = sums[::2]
    found[:, 1:] += sums[1::2]
    return found
