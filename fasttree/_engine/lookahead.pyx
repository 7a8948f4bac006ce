"""Growth that looks one level ahead: every test is the root of the best tree of two levels on the rows of its node.

A *view* is an order of a feature's codes, and its tests are the cuts of the order.  A feature with missing values has two views:
missing values come last, or first.  In a nominal view, the codes of a node are put in the order of their shares of a class, or of
their means.

**Gains.**  The risk of a leaf is a sum over rows less its *gain*, a function of the sums of its rows:

    SIGNED     two classes (Gini), numbers     S^2 / W       S: sum of weight x target, the classes are -1 and 1
    GINI       classes                         sum c^2 / W   c: weight of a class
    ENTROPY    classes                         sum c log2 c - W log2 W
    ERRORS     classes                         largest c
    ABSOLUTE   two classes (errors)            |S|

Sums of weights and targets are whole numbers below 2^52, which doubles hold exactly.

**The search.**  The cuts of a root f are taken in order.  For each second view g, the sums of the rows before the cut are kept by
the rank of g; a pass over the ranks gives the best test by g of the rows before the cut and, by differences from the totals, of
those behind it.  Few cuts need it: let L(p) and R(p) be the risks of the best tests before and behind a cut p.  L grows and R
falls with p; for Gini and errors neither by more than a multiple of the weight between two cuts, and for entropy by no more than
the entropy of the rows between them and that of which rows these are.  Known neighbours therefore bound a cut, and cuts are
searched from coarse to fine.  The same holds for a second view alone, which is skipped where its neighbours show that it cannot
be the best one.

**Ties.**  The root with the largest gain of two levels wins.  If several have it, the largest gain of the root itself wins, then
the first feature, then its first cut, missing values right before left.  Gains are equal if they differ by at most 1e-10 times
the weight of the node, or its squared deviations.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

import numpy as np

from fasttree._engine.ahead.records cimport ENTROPY as ENTROPY_
from fasttree._engine.ahead.records cimport ERRORS as ERRORS_
from fasttree._engine.ahead.records cimport GINI as GINI_
from fasttree._engine.ahead.records cimport MOST_RECORDS, RANKS_AT_ONCE, AheadSearch
from fasttree._engine.ahead.records cimport SIGNED as SIGNED_
from fasttree._engine.ahead.search cimport find_test
from fasttree._engine.ahead.views cimport describe_rows, has_missing, is_paired
from fasttree._engine.arrays cimport doubles_of, int32s_of, memory_of, uint8s_of

SIGNED, GINI, ENTROPY, ERRORS = SIGNED_, GINI_, ENTROPY_, ERRORS_


cdef void take_views(
    const AheadSearch* s, const int32_t* local, int32_t n, int32_t* order, int32_t* rank, int32_t* slot, int32_t* n_ranks,
) noexcept nogil:
    """Take the views of a node that are not constant among n of its rows; `local` numbers these, and is -1 for all others."""
    cdef int32_t view, i, row, before, m, n_slots = 0
    cdef const int32_t* old_order
    cdef const int32_t* old_rank
    cdef int32_t* new_order
    for view in range(s.n_views):
        slot[view] = -1
        n_ranks[view] = 0
        if s.slot[view] < 0:
            continue
        old_order = s.order + <int64_t> s.slot[view] * s.n
        old_rank = s.rank + <int64_t> s.slot[view] * s.n
        new_order = order + <int64_t> n_slots * n
        before = -1
        m = 0
        for i in range(s.n):
            row = local[old_order[i]]
            if row < 0:
                continue
            if old_rank[old_order[i]] != before:
                before = old_rank[old_order[i]]
                n_ranks[view] += 1
            new_order[m] = row
            rank[<int64_t> n_slots * n + row] = n_ranks[view] - 1
            m += 1
        row = s.row[old_order[0]]
        for i in range(s.n if s.is_second[view] else 0):
            if local[old_order[i]] >= 0:
                row = s.row[old_order[i]]
                break
        if n_ranks[view] > 1 and not (s.is_second[view] and s.code[<int64_t> view * s.n_rows + row] != s.missing[view]):
            slot[view] = n_slots
            n_slots += 1


cdef class Lookahead:
    """Search for tests that look ahead, node by node.

    Parameters
    ----------
    views : record
        `codes`, int32 of shape (n_views, n_rows), positive, or 0 for missing values in a second view; `nominal` and `is_second`,
        uint8, `missing`, the code of missing values or -1, and `feature`, int32, of shape (n_views,).
    rows : record
        `kind` and `n_classes` (0: numbers); `label` (int32), the class, and `amount` and `weight` (float64) of each row, by the
        head of the module; `weighted`, whether weights do not count the samples; `logs`, n log2 n of whole numbers.
    limits : record
        `min_samples_split`, `min_samples_leaf`, `min_weight_leaf`.
    """

    cdef AheadSearch s
    cdef list kept

    def __cinit__(self, views, rows, limits):
        cdef AheadSearch* s = &self.s
        cdef int64_t n = max(views.codes.shape[1], 1)
        cdef int64_t most = min(int(views.codes.max(initial=0)) + 1, n)
        cdef int64_t ranks = int(np.minimum(views.codes.max(axis=1, initial=0) + 1, n).sum())
        cdef int32_t width = max(rows.n_classes, 1) + 1 + rows.weighted
        memset(s, 0, sizeof(AheadSearch))
        self.kept = [views, rows]
        s.n_views, s.n_rows = views.codes.shape
        s.kind, s.n_classes, s.weighted = rows.kind, rows.n_classes, rows.weighted
        s.code = int32s_of(views.codes.reshape(-1))
        s.nominal, s.is_second = uint8s_of(views.nominal), uint8s_of(views.is_second)
        s.missing, s.feature = int32s_of(views.missing), int32s_of(views.feature)
        s.label, s.amount, s.weight = int32s_of(rows.label), doubles_of(rows.amount), doubles_of(rows.weight)
        s.logs, s.n_logs = doubles_of(rows.logs), len(rows.logs)
        s.least, s.lightest, s.min_split = limits.min_samples_leaf, limits.min_weight_leaf, limits.min_samples_split
        s.lane_of = <int32_t*> self.room(max(s.n_classes, 1), 4)
        s.node_label, s.label_along = <int32_t*> self.room(n, 4), <int32_t*> self.room(n, 4)
        s.node_amount, s.node_weight, s.pair_along = <double*> self.room(n), <double*> self.room(n), <double*> self.room(2 * n)
        s.totals, s.rest, s.share = <double*> self.room(width), <double*> self.room(width), <double*> self.room(max(most, width))
        s.first, s.best_own = <int64_t*> self.room(s.n_views), <double*> self.room(s.n_views)
        s.ends, s.own = <int32_t*> self.room(ranks, 4), <double*> self.room(ranks)
        s.whole, s.counts, s.sums = (
            <double*> self.room(ranks * width), <double*> self.room(most * width), <double*> self.room(most * width)
        )
        s.pairs, s.gains, s.added = <double*> self.room(4 * most), <double*> self.room(4 * most), <double*> self.room(2 * most)
        s.coarse = <double*> self.room((2 * width + 2) * (most // RANKS_AT_ONCE + 1))
        s.cuts, s.place, s.near = <int32_t*> self.room(most, 4), <int32_t*> self.room(n, 4), <int32_t*> self.room(2 * most, 4)
        s.by_gain, s.record = <int32_t*> self.room(s.n_views, 4), <int32_t*> self.room(most, 4)
        s.records, s.skipped = <double*> self.room(2 * s.n_views * MOST_RECORDS), <uint8_t*> self.room(most, 1)
        s.left, s.right, s.worth_before = <double*> self.room(most), <double*> self.room(most), <double*> self.room(most)

    cdef void* room(self, int64_t n, int64_t size=8) except NULL:
        """Return memory that lives as long as this."""
        room = np.empty(max(n, 1) * size, np.uint8)
        self.kept.append(room)
        return memory_of(room)

    cdef void enter(self, node):
        cdef AheadSearch* s = &self.s
        s.n = len(node.row)
        s.row = <const int32_t*> memory_of(node.row)
        s.order, s.rank = <int32_t*> memory_of(node.order), <int32_t*> memory_of(node.rank)
        s.slot, s.n_ranks = <int32_t*> memory_of(node.slot), <int32_t*> memory_of(node.n_ranks)

    def search(self, node, int levels, double least_risk):
        """Find the best test of a node as the root of a tree of one or two levels.

        Parameters
        ----------
        node : record
            `row` (n,): ascending; `order` and `rank` (slots, n): rows of the node by rank, and ranks; `slot` and `n_ranks`
            (views,): where the two are, -1 if the view is constant, and the number of ranks.  All are int32.
        levels : int
        least_risk : float
            A node of at most this risk is not searched.

        Returns
        -------
        None or (view, cut, end, missing, gain, tie)
            The view; the rank of the cut, and where its rows end in the order; whether a value of the feature is missing; the
            gain of the tree of so many levels, and the differences that do not count.
        """
        cdef AheadSearch* s = &self.s
        cdef double unit
        self.enter(node)
        with nogil:
            describe_rows(s)
            unit = 0.5 if is_paired(s) and s.n_classes else 1.0
            if unit * (s.worth - s.own_gain) > least_risk:
                find_test(s, levels)
            else:
                s.best.view = -1
        if s.best.view < 0:
            return None
        end = s.ends[s.first[s.best.view] + s.best.cut]
        return s.best.view, s.best.cut, end, bool(has_missing(s, s.best.view)), unit * s.best.two, unit * s.tie

    def take(self, node, local, child):
        """Take the views of a node's rows that `local` numbers from 0, -1 for all others, into the arrays of a child."""
        cdef const int32_t* numbers = <const int32_t*> memory_of(local)
        cdef int32_t n = len(child.row)
        cdef int32_t* orders = <int32_t*> memory_of(child.order)
        cdef int32_t* ranks = <int32_t*> memory_of(child.rank)
        cdef int32_t* slots = <int32_t*> memory_of(child.slot)
        cdef int32_t* counts = <int32_t*> memory_of(child.n_ranks)
        self.enter(node)
        with nogil:
            take_views(&self.s, numbers, n, orders, ranks, slots, counts)
