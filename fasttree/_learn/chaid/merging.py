"""Merging of the categories of one feature in one node (Kass 1980; Biggs, de Ville and Suen 1991)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._engine.merging import merge_classes
from fasttree._learn.chaid.statistics import LARGEST, STATISTICS, Statistic, TestResults, log_multiplier
from fasttree._model.tested import PredictorTest

Indices = npt.NDArray[np.intp]

_AT_ONCE = 64  # most categories whose pairs are tested in one step
MOST_RESPLIT = 12  # most categories of a nominal group that is searched for its best division


@dataclass(frozen=True)
class Choices:
    """Choices of CHAID.

    Parameters
    ----------
    statistic : {"pearson", "likelihood_ratio", "f"}
    method : {"chaid", "exhaustive"}
    alpha_merge, alpha_split : float
    resplit : float or None
        Largest p-value by which a merged group is divided again; None: groups stay merged.
    bonferroni : bool
    exhaustive_multiplier : {"spss", "biggs"}
    n_intervals : int
        Intervals of a continuous feature.
    """

    statistic: str = "pearson"
    method: str = "chaid"
    alpha_merge: float = 0.05
    alpha_split: float = 0.05
    resplit: float | None = None
    bonferroni: bool = True
    exhaustive_multiplier: str = "spss"
    n_intervals: int = 10

    @property
    def test(self) -> Statistic:
        """The functions of the statistic."""
        return STATISTICS[self.statistic]


class Joining(NamedTuple):
    """A merge of two groups, or the division of one (`divides`), with the test of the two."""

    one: tuple[int, ...]
    other: tuple[int, ...]
    statistic: float
    log_p: float
    divides: bool = False


@dataclass(frozen=True)
class Merged:
    """Groups of the categories of a feature, and the test of the target in them.

    Categories are numbered from 0; `missing` is that of missing values, or -1 if none is missing.
    """

    groups: tuple[tuple[int, ...], ...]
    kind: str
    n_categories: int
    statistic: float
    df: tuple[float, ...]
    log_p: float
    log_multiplier: float
    steps: tuple[Joining, ...]
    missing: int = -1

    @property
    def log_adjusted(self) -> float:
        """Logarithm of the p-value times the multiplier, at most 0."""
        return min(self.log_multiplier + self.log_p, 0.0)


class _Pairs:
    """Groups of categories, and the test of every pair that may merge.

    A group has the place of its first category.  Of the pairs of places i < j, row i has the results, and `best[i]` is the j of
    the largest p-value, the first of ties.  A merge therefore tests and searches few pairs anew.
    """

    def __init__(self, rows: Floats, test: Statistic, *, ordered: bool) -> None:
        n = len(rows)
        self.rows, self.test, self.ordered = rows.copy(), test, ordered
        self.members: list[tuple[int, ...]] = [(i,) for i in range(n)]
        self.alive = list(range(n))
        self.key = np.full((n, n), -np.inf)  # log p, and -inf for pairs that may not merge
        self.statistic = np.zeros((n, n))
        if ordered:
            self._test(np.arange(n - 1), np.arange(1, n))
        elif n <= _AT_ONCE:
            self._test(*np.triu_indices(n, 1))
        else:
            for i in range(n - 1):
                self._test(np.full(n - 1 - i, i), np.arange(i + 1, n))
        self.best = self.key.argmax(axis=1) if n > _AT_ONCE else np.empty(0, np.intp)

    def _test(self, low: Indices, high: Indices) -> None:
        found = self.test.pairs(self.rows[low], self.rows[high])
        self.key[low, high], self.statistic[low, high] = np.maximum(found.log_p, -LARGEST), found.statistic

    def most_similar(self) -> tuple[int, int, float]:
        """Return the pair of the largest p-value, the first of ties, and its logarithm."""
        if not len(self.best):  # a small table is searched as a whole
            i, j = divmod(int(self.key.argmax()), len(self.key))
            return i, j, float(self.key[i, j])
        best = self.key[np.arange(len(self.best)), self.best]
        i = int(best.argmax())
        return i, int(self.best[i]), float(best[i])

    def step(self, i: int, j: int) -> Joining:
        """Describe the merge of two groups."""
        return Joining(self.members[i], self.members[j], float(self.statistic[i, j]), float(self.key[i, j]))

    def merge(self, i: int, j: int) -> None:
        """Merge group j into group i < j."""
        self.rows[i] = self.test.merged(self.rows[[i, j]])
        self.members[i] += self.members[j]
        self.alive.remove(j)
        self.key[j, :] = self.key[:, j] = self.key[i, :] = self.key[:, i] = -np.inf
        self._test_again(i, np.flatnonzero((self.best == i) | (self.best == j)))

    def _test_again(self, i: int, stale: Indices) -> None:
        """Test the pairs of a new group; `stale` are the rows whose best pair is gone."""
        place = self.alive.index(i)
        others = np.array(
            self.alive[max(place - 1, 0) : place] + self.alive[place + 1 : place + 2]
            if self.ordered
            else self.alive[:place] + self.alive[place + 1 :],
            np.intp,
        )
        low, high = np.minimum(i, others), np.maximum(i, others)
        self._test(low, high)
        if not len(self.best):
            return
        rows = np.concatenate([stale, [i]])
        self.best[rows] = self.key[rows].argmax(axis=1)
        above = low[low < i]
        now, before = self.key[above, i], self.key[above, self.best[above]]
        self.best[above] = np.where((now > before) | ((now == before) & (i < self.best[above])), i, self.best[above])

    def divide(self, i: int, mask: npt.NDArray[np.bool_], of_categories: Floats) -> None:
        """Divide group i into the members in `mask` and the others."""
        parts = [tuple(compress(self.members[i], side)) for side in (mask, ~mask)]
        self.alive.remove(i)
        for part in parts:
            first = min(part)
            self.members[first] = part
            self.rows[first] = self.test.merged(of_categories[list(part)])
            self.alive.append(first)
        self.alive.sort()
        self.key[:] = -np.inf
        alive = np.array(self.alive)
        low, high = (alive[:-1], alive[1:]) if self.ordered else (alive[side] for side in np.triu_indices(len(alive), 1))
        self._test(low, high)
        if len(self.best):
            self.best = self.key.argmax(axis=1)


def merge(table: Floats, kind: str, choices: Choices, missing: int = -1, tested: PredictorTest | None = None) -> Merged:
    """Merge the categories of one feature in one node.

    Parameters
    ----------
    table : array, shape (n_categories, n_columns)
        The categories that occur, in their order, with their classes or moments; the missing one is last.
    kind : {"nominal", "ordinal", "floating"}
        "floating" is ordinal with a missing category, which may join any group.
    choices : Choices
    missing : int, default -1
        The place of the missing category, or -1.
    tested : PredictorTest or None, default None
        The test of the groups, if it is known.
    """
    test = choices.test
    known = table[:-1] if kind == "floating" else table
    steps: list[Joining] = []
    if len(known) > 2 and choices.resplit is None and choices.statistic != "f":
        groups = _merged_classes(known, kind != "nominal", choices, steps)
    elif len(known) > 2:
        pairs = _Pairs(known, test, ordered=kind != "nominal")
        find = _exhaustively if choices.method == "exhaustive" else _by_alpha
        groups = find(pairs, known, choices, steps)
    else:
        groups = [(i,) for i in range(len(known))]
    if kind == "floating":
        groups = _with_missing(groups, table, test, steps)
    if tested is not None and tested.n_groups == len(groups):
        of_groups = (tested.statistic, tested.df, tested.log_p_value, tested.log_multiplier)
        return Merged(tuple(groups), kind, len(table), *of_groups, tuple(steps), missing)
    return with_test(groups, table, kind, choices, steps, missing)


def with_test(
    groups: list[tuple[int, ...]], table: Floats, kind: str, choices: Choices, steps: list[Joining], missing: int = -1
) -> Merged:
    """Return groups with the test of the target in all of them."""
    found = _whole(groups, table, choices.test)
    n = len(table)
    factor = 0.0
    if choices.bonferroni:
        factor = log_multiplier(kind, choices.method, n, len(groups), choices.exhaustive_multiplier)
    df = (float(found.df), float(found.df_within)) if choices.statistic == "f" else (float(found.df),)
    return Merged(tuple(groups), kind, n, float(found.statistic), df, float(found.log_p), factor, tuple(steps), missing)


def _whole(groups: list[tuple[int, ...]], table: Floats, test: Statistic) -> TestResults:
    return test.whole(_rows_of(groups, table, test))


def _rows_of(groups: list[tuple[int, ...]], table: Floats, test: Statistic) -> Floats:
    return np.array([table[group[0]] if len(group) == 1 else test.merged(table[list(group)]) for group in groups])


def _merged_classes(table: Floats, ordered: bool, choices: Choices, steps: list[Joining]) -> list[tuple[int, ...]]:
    """Do the same as `_by_alpha` and `_exhaustively` for classes, compiled."""
    n = len(table)
    by_alpha = choices.method == "chaid"
    tests, best, places = np.empty((2, n, n)), np.empty(n, np.intp), np.empty((n, 2), np.intp)
    least = math.log(choices.alpha_merge) if by_alpha else -math.inf
    n_steps = merge_classes(table.copy(), choices.statistic == "likelihood_ratio", ordered, least, tests, best, places)
    groups: dict[int, tuple[int, ...]] = {i: (i,) for i in range(n)}
    on_the_way = [list(groups.values())]
    for i, j in places[:n_steps].tolist():
        steps.append(Joining(groups[i], groups[j], float(tests[0, i, j]), float(max(tests[1, i, j], -LARGEST))))
        groups[i] += groups.pop(j)
        if not by_alpha:
            on_the_way.append(list(groups.values()))
    if by_alpha:
        return list(groups.values())
    smallest = int(np.argmin([float(_whole(each, table, choices.test).log_p) for each in on_the_way]))
    del steps[smallest:]
    return on_the_way[smallest]


def _by_alpha(pairs: _Pairs, table: Floats, choices: Choices, steps: list[Joining]) -> list[tuple[int, ...]]:
    """Merge the most similar pair while its p-value is above `alpha_merge` and more than two groups are left."""
    least = math.log(choices.alpha_merge)
    most_divisions = 2 * len(table)  # p-values near both levels could merge and divide the same group for ever
    while len(pairs.alive) > 2:
        i, j, log_p = pairs.most_similar()
        if not log_p > least:
            break
        steps.append(pairs.step(i, j))
        pairs.merge(i, j)
        if choices.resplit is not None and most_divisions and len(pairs.members[i]) > 2:
            found = _best_division(pairs.members[i], table, choices.test, ordered=pairs.ordered)
            if found is not None and found[1].log_p <= math.log(choices.resplit):
                pairs.divide(i, found[0], table)
                steps.append(found[1])
                most_divisions -= 1
    return [pairs.members[i] for i in pairs.alive]


def _exhaustively(pairs: _Pairs, table: Floats, choices: Choices, steps: list[Joining]) -> list[tuple[int, ...]]:
    """Merge the most similar pair until two groups are left, and return the groups of the smallest p-value on the way."""
    best, n_steps = [pairs.members[i] for i in pairs.alive], 0
    smallest = float(choices.test.whole(pairs.rows).log_p)
    while len(pairs.alive) > 2:
        i, j, _ = pairs.most_similar()
        steps.append(pairs.step(i, j))
        pairs.merge(i, j)
        log_p = float(choices.test.whole(pairs.rows[pairs.alive]).log_p)
        if log_p < smallest:
            smallest, best, n_steps = log_p, [pairs.members[i] for i in pairs.alive], len(steps)
    del steps[n_steps:]
    return best


def _best_division(
    members: tuple[int, ...], table: Floats, test: Statistic, *, ordered: bool
) -> tuple[npt.NDArray[np.bool_], Joining] | None:
    """Return the division of a group in two with the smallest p-value, the first of ties; None if there are too many."""
    m = len(members)
    if not ordered and m > MOST_RESPLIT:
        return None
    if ordered:
        masks = np.tri(m - 1, m, dtype=np.bool_)
    else:  # the first category is always in the first part
        bits = np.arange(2 ** (m - 1) - 1)[:, None] >> np.arange(m - 1) & 1
        masks = np.concatenate([np.ones((len(bits), 1), np.bool_), bits.astype(np.bool_)], axis=1)
    rows = table[list(members)]
    one = np.array([test.merged(rows[mask]) for mask in masks])
    other = np.array([test.merged(rows[~mask]) for mask in masks])
    found = test.pairs(one, other)
    best = int(found.log_p.argmin())
    parts = [tuple(compress(members, side)) for side in (masks[best], ~masks[best])]
    return masks[best], Joining(parts[0], parts[1], float(found.statistic[best]), float(found.log_p[best]), divides=True)


def _with_missing(groups: list[tuple[int, ...]], table: Floats, test: Statistic, steps: list[Joining]) -> list[tuple[int, ...]]:
    """Add the missing category, the last of the table, to the most similar group if that does not raise the p-value."""
    alone = [*groups, (len(table) - 1,)]
    if len(groups) < 2:
        return alone
    rows = _rows_of(alone, table, test)
    found = test.pairs(np.broadcast_to(rows[-1], rows[:-1].shape), rows[:-1])
    nearest = int(found.log_p.argmax())
    joined = [(*group, len(table) - 1) if i == nearest else group for i, group in enumerate(groups)]
    if float(_whole(joined, table, test).log_p) > float(_whole(alone, table, test).log_p):
        return alone
    steps.append(Joining(groups[nearest], (len(table) - 1,), float(found.statistic[nearest]), float(found.log_p[nearest])))
    return joined


def join_small(
    groups: list[tuple[int, ...]], table: Floats, kind: str, test: Statistic, is_small: Callable[[tuple[int, ...]], float | None]
) -> tuple[list[tuple[int, ...]], list[Joining]]:
    """Join groups that are too small to their most similar allowed neighbours, the smallest first.

    `is_small` returns the size of a group that is too small, else None.
    """
    groups, steps = list(groups), []
    last = len(table) - 1 if kind == "floating" else -1
    while len(groups) > 1:
        sizes = [is_small(group) for group in groups]
        small = [i for i, size in enumerate(sizes) if size is not None]
        if not small:
            break
        i = min(small, key=lambda each: sizes[each] or 0)
        others = [j for j in range(len(groups)) if j != i and (kind == "nominal" or _are_neighbours(groups, i, j, last))]
        rows = _rows_of(groups, table, test)
        found = test.pairs(np.broadcast_to(rows[i], (len(others), rows.shape[1])), rows[others])
        nearest = int(found.log_p.argmax())
        low, high = sorted((i, others[nearest]))
        steps.append(Joining(groups[low], groups[high], float(found.statistic[nearest]), float(found.log_p[nearest])))
        groups[low] = tuple(sorted((*groups[low], *groups[high])))
        del groups[high]
        groups.sort(key=min)
    return groups, steps


def join_both(groups: Sequence[tuple[int, ...]], table: Floats, test: Statistic) -> Joining:
    """Return the merge of two groups, the last ones."""
    one, other = groups
    found = test.pairs(*_rows_of([one, other], table, test)[:, None])
    return Joining(one, other, float(found.statistic[0]), float(found.log_p[0]))


def _are_neighbours(groups: list[tuple[int, ...]], i: int, j: int, missing: int) -> bool:
    """Return whether two groups of ordered categories touch, or one has the missing category alone."""
    if (missing,) in (groups[i], groups[j]):
        return True
    ordered = [k for k in range(len(groups)) if groups[k] != (missing,)]
    return abs(ordered.index(i) - ordered.index(j)) == 1
