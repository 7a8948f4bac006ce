"""What is known of a feature in a node: statistics of groups of its samples, in the order of their values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._engine.rounds import Judge
from fasttree._scale.messages import N_CODES, Counts, Keys, Ranges

Bounds = npt.NDArray[np.float64]
Sides = npt.NDArray[np.uint8]


class Decision(NamedTuple):
    """A cut of a node, and where its samples go."""

    feature: int
    gain: float
    left: Counts  # statistics of branch 0
    missing: int  # branch of missing values; -1: there are none
    sides: Sides  # (n_codes,): branch of each code
    groups: Sides | None  # branch of each group of categories; None: a threshold, or known against missing
    last: int  # group at the end of branch 0; -1: not a threshold


class Groups:
    """Groups of a node's samples by one feature.

    A continuous feature starts with its bins.  Groups inside which the best cut may lie are divided until none is left.

    Parameters
    ----------
    feature : int
    histogram : int64 array of shape (n_codes, width)
    edges : uint64 array of shape (n_bins + 1,) or None
        Bin b = 1, 2, ... holds the keys of (edges[b - 1], edges[b]]; None: each code is a category.
    ordered : bool
        Cuts are places in the order of the values.
    """

    def __init__(self, feature: int, histogram: Counts, edges: Keys | None, ordered: bool) -> None:
        codes = np.flatnonzero(histogram[1:, 0])
        self.feature = feature
        self.has_values = edges is not None
        self.fresh = True  # not judged since it was divided
        self.best = -np.inf  # largest gain of a cut between groups
        self.missing = histogram[0].copy()
        self.statistics = histogram[1:][codes]
        self.codes = (codes + 1).astype(np.uint32)
        self.bounds: Bounds = np.full(len(codes), -np.inf)
        self._top = -np.inf  # the largest of them
        self.closed = np.ones(len(codes), dtype=np.uint8)
        self._ordered = ordered
        self._n_codes = max(N_CODES, len(histogram))
        if edges is not None:
            self.low, self.high = edges[codes], edges[codes + 1]
            self.closed = self._single()

    def _single(self) -> Sides:
        """Return which groups hold one value, or one sample."""
        single: Sides = ((self.high - self.low == 1) | (self.statistics[:, 0] == 1)).astype(np.uint8)
        return single

    def judge(self, judge: Judge, limit: float) -> None:
        """Find the largest gain between groups, and bound the gains of cuts inside them; below `limit` bounds may be rough."""
        if self._ordered:
            best, self.bounds = judge.bounds(self.statistics, self.closed, self.missing, limit)
            self.best = max(self.best, best)
            self._top = float(self.bounds.max(initial=-np.inf))
        else:
            found = judge.two_groups(self.feature, self.statistics, self.codes, self.missing, -np.inf)
            self.best = -np.inf if found is None else found[0]

    def cut(self, judge: Judge, limit: float) -> Decision | None:
        """Return the first cut of a gain of at least `limit`, or None."""
        if not self._ordered:
            return self._two_groups(judge, limit)
        found = judge.first_threshold(self.statistics, self.missing, limit)
        if found is None:
            return None
        gain, last, missing = found
        if last < 0:
            return self._known(gain)
        left = self.statistics[: last + 1].sum(axis=0) + (self.missing if missing == 0 else 0)
        sides = (np.arange(self._n_codes) > self.codes[last]).astype(np.uint8)
        sides[0] = max(missing, 0)
        return Decision(self.feature, gain, left, missing, sides, None, last)

    def _known(self, gain: float) -> Decision:
        """Return the cut between known and missing values."""
        sides = np.zeros(self._n_codes, dtype=np.uint8)
        sides[0] = 1
        return Decision(self.feature, gain, self.statistics.sum(axis=0), 1, sides, None, -1)

    def _two_groups(self, judge: Judge, limit: float) -> Decision | None:
        found = judge.two_groups(self.feature, self.statistics, self.codes, self.missing, -np.inf)
        if found is not None and found[1] < limit:
            found = judge.two_groups(self.feature, self.statistics, self.codes, self.missing, limit) or found
        if found is None:
            return None
        _, gain, branches, missing = found
        if branches is None:
            return self._known(gain)
        left = self.statistics[branches == 0].sum(axis=0) + (self.missing if missing == 0 else 0)
        sides = np.zeros(self._n_codes, dtype=np.uint8)
        sides[self.codes] = branches
        sides[0] = max(missing, 0)
        return Decision(self.feature, gain, left, missing, sides, branches, -1)

    def is_open(self, limit: float) -> bool:
        """Whether a cut inside a group may gain `limit`."""
        return self._top >= limit and self._top > -np.inf

    def n_open(self, limit: float) -> int:
        """Return the number of groups inside which a cut may gain `limit`."""
        return int(np.count_nonzero(self._is_open(limit)))

    def _is_open(self, limit: float) -> npt.NDArray[np.bool_]:
        return (self.bounds >= limit) & (self.bounds > -np.inf)

    def cells(self, limit: float, most_parts: int) -> Ranges:
        """Return the groups inside which a cut may gain `limit`, as cells to divide into at most so many parts each."""
        chosen = np.flatnonzero(self._is_open(limit))
        low, high = self.low[chosen], self.high[chosen]
        n = np.minimum(self.statistics[chosen, 0], most_parts)
        wanted = np.clip(n * n, 2, most_parts).astype(np.uint64)  # so that few samples are in parts of their own
        last = high - low - np.uint64(1)
        shift = np.zeros(len(chosen), dtype=np.uint64)
        while (too_many := last >> shift >= wanted).any():
            shift += too_many.astype(np.uint64)
        ends = np.cumsum((last >> shift).astype(np.int64) + 1)
        start = np.searchsorted(self.codes[chosen], np.arange(N_CODES + 1)).astype(np.int32)
        return Ranges(low, high, shift.astype(np.int32), np.append(0, ends)[:-1].astype(np.int64), start, int(ends[-1]))

    def divide(self, cells: Ranges, parts: Counts, least: Keys, most: Keys) -> None:
        """Put the parts of cells in their place."""
        filled = np.flatnonzero(parts[:, 0])
        divided = np.searchsorted(self.low, cells.low)
        of_cell = divided[np.searchsorted(cells.first, filled, side="right") - 1]
        kept = np.ones(len(self.low), dtype=bool)
        kept[divided] = False
        order = np.argsort(np.concatenate([np.flatnonzero(kept), of_cell]), kind="stable")  # parts are in order already
        self.statistics = np.concatenate([self.statistics[kept], parts[filled]])[order]
        self.codes = np.concatenate([self.codes[kept], self.codes[of_cell]])[order]
        self.low = np.concatenate([self.low[kept], least[filled] - np.uint64(1)])[order]
        self.high = np.concatenate([self.high[kept], most[filled]])[order]
        self.closed = self._single()
        self.bounds, self._top = np.full(len(self.low), -np.inf), -np.inf
        self.fresh = True
