"""Growth that looks one level ahead: every test is the root of the best tree of two levels on the rows of its node.

A *view* is an order of a feature's codes, and its tests are the cuts of the order.  A feature with missing values has two views:
missing values come last, or first.  In a nominal view, the codes of a node are put in the order of their shares of a class, or of
their means.

**Gains.**  The risk of a leaf is a sum over rows less its *gain*, a function of the sums of its rows:

    SIGNED     two classes (Gini), numbers     S^2 / W       S: sum of weight x target, the classes are -1 and 1
    GINI       classes                         sum c^2 / W   c: weight of a class
    ENTROPY    classes                         sum c log2 c - W log2 W
    ERRORS     classes                         largest c

Sums of weights and targets are whole numbers below 2^52, which doubles hold exactly.

**The search.**  The cuts of a root f are taken in order.  For each second view g, the sums of the rows before the cut are kept by
the rank of g; a pass over the ranks gives the best test by g of the rows before the cut and, by differences from the totals, of
those behind it.  Few cuts need it: let L(p) and R(p) be the risks of the best tests before and behind a cut p.  L grows and R falls
with p, and for Gini and errors neither by more than a multiple of the weight between two cuts.  Known neighbours therefore bound
a cut, and cuts are searched from coarse to fine.  The same holds for a second view alone, which is skipped where its neighbours
show that it cannot be the best one.

**Ties.**  Of the roots with the largest gain of two levels, the largest gain of the root itself wins, then the first feature, then
its first cut, missing values right before left.  Gains
are equal if they differ by at most 1e-12 times the weight of the node, or its squared deviations.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, rint
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

import numpy as np

from fasttree._engine.arrays cimport doubles_of, int32s_of, memory_of, uint8s_of

cdef enum:
    SIGNED_ = 0
    GINI_ = 1
    ENTROPY_ = 2
    ERRORS_ = 3
    FIRST_CUTS = 12                # of a root that are searched first
    MOST_RECORDS = 1024            # cuts of a root whose risks by each second view are kept
    CELLS_AT_ONCE = 4000000        # of work between two looks for signals

SIGNED, GINI, ENTROPY, ERRORS = SIGNED_, GINI_, ENTROPY_, ERRORS_

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>

    #if defined(FASTTREE_PLAIN_C) || !defined(__GNUC__)
    #define FASTTREE_SIMD(clauses)
    #else
    #define FASTTREE_PRAGMA(text) _Pragma(#text)
    #define FASTTREE_SIMD(clauses) FASTTREE_PRAGMA(omp simd clauses)
    #endif

    /* The sums of a side of the root's cut (lanes), and what a leaf on it needs. */
    typedef struct { const double *sums; double weight, size, least, lightest; } fasttree_side;

    /* Largest q = sum of squared deviations that a test explains, times W: of any test, and of those with large leaves.
       y, w, size: sums up to each cut; with `whole` they are taken from those of all rows. */
    static void fasttree_scan_signed(
        const double *y, const double *w, const double *size, const double *all_y, const double *all_w, const double *all_size,
        const fasttree_side *one, const fasttree_side *two, int32_t n, double *any, double *large)
    {
        double S = one->sums[0], W = one->weight, T = two->sums[0], V = two->weight, a = 0, c = 0;
        int32_t r;
        FASTTREE_SIMD(reduction(max:a, c))
        for (r = 0; r < n; r++) {
            double d = y[r] * W - S * w[r], g = w[r] * (W - w[r]);
            double u = all_w[r] - w[r], e = (all_y[r] - y[r]) * V - T * u, h = u * (V - u);
            double q = g > 0 ? d * d / g : 0, p = h > 0 ? e * e / h : 0;
            a = q > a ? q : a;
            c = p > c ? p : c;
        }
        any[0] = large[0] = a; any[1] = large[1] = c;
        if (one->least <= 1 && one->lightest <= 0) return;
        large[0] = large[1] = 0;
        for (r = 0; r < n; r++) {
            double v = W - w[r], s = size[r], d = y[r] * W - S * w[r], q;
            double u = all_w[r] - w[r], x = V - u, z = all_size[r] - s, e = (all_y[r] - y[r]) * V - T * u;
            if (s >= one->least && one->size - s >= one->least && w[r] >= one->lightest && v >= one->lightest) {
                q = d * d / (w[r] * v);
                large[0] = q > large[0] ? q : large[0];
            }
            if (z >= one->least && two->size - z >= one->least && u >= one->lightest && x >= one->lightest) {
                q = e * e / (u * x);
                large[1] = q > large[1] ? q : large[1];
            }
        }
    }

    /* n log2 n; `logs` has those of small whole numbers. */
    static double fasttree_nlogn(const double *logs, int64_t n_logs, double n)
    {
        return n < (double) n_logs ? logs[(int64_t) n] : n * log2(n);
    }

    /* Add a lane of classes to the gains of both branches of each test, before the root's cut (a) and behind it (b). */
    static void fasttree_add_lane(
        int kind, const double *logs, int64_t n_logs, const double *x, const double *all, double left, double right, int32_t n,
        double *a, double *b, double *c, double *d)
    {
        int32_t r;
        if (kind == 1) {
            FASTTREE_SIMD()
            for (r = 0; r < n; r++) {
                double y = x[r], z = left - y, u = all[r] - y, v = right - u;
                a[r] += y * y; b[r] += z * z; c[r] += u * u; d[r] += v * v;
            }
        } else if (kind == 2) {
            for (r = 0; r < n; r++) {
                double y = x[r], z = left - y, u = all[r] - y, v = right - u;
                a[r] += fasttree_nlogn(logs, n_logs, y); b[r] += fasttree_nlogn(logs, n_logs, z);
                c[r] += fasttree_nlogn(logs, n_logs, u); d[r] += fasttree_nlogn(logs, n_logs, v);
            }
        } else {
            FASTTREE_SIMD()
            for (r = 0; r < n; r++) {
                double y = x[r], z = left - y, u = all[r] - y, v = right - u;
                a[r] = y > a[r] ? y : a[r]; b[r] = z > b[r] ? z : b[r];
                c[r] = u > c[r] ? u : c[r]; d[r] = v > d[r] ? v : d[r];
            }
        }
    }
    static double fasttree_pair(int kind, const double *logs, int64_t n_logs, double a, double b, double w, double v)
    {
        if (kind == 1) return w > 0 && v > 0 ? (a * v + b * w) / (w * v) : 0;
        if (kind == 2) return a + b - fasttree_nlogn(logs, n_logs, w) - fasttree_nlogn(logs, n_logs, v);
        return a + b;
    }
    static void fasttree_best_pairs(
        int kind, const double *logs, int64_t n_logs, const double *a, const double *b, const double *w, const double *size,
        const double *all_w, const double *all_size, const fasttree_side *side, int32_t n, double *any, double *large)
    {
        int32_t r;
        for (r = 0; r < n; r++) {
            double x = all_w ? all_w[r] - w[r] : w[r], s = all_w ? all_size[r] - size[r] : size[r], v = side->weight - x;
            double q = fasttree_pair(kind, logs, n_logs, a[r], b[r], x, v);
            *any = q > *any ? q : *any;
            if (s >= side->least && side->size - s >= side->least && x >= side->lightest && v >= side->lightest)
                *large = q > *large ? q : *large;
        }
    }
    """
    ctypedef struct Side "fasttree_side":
        const double* sums
        double weight, size, least, lightest
    void scan_signed "fasttree_scan_signed"(
        const double*, const double*, const double*, const double*, const double*, const double*, const Side*, const Side*, int32_t,
        double*, double*) noexcept nogil
    void add_lane "fasttree_add_lane"(
        int, const double*, int64_t, const double*, const double*, double, double, int32_t, double*, double*, double*, double*
    ) noexcept nogil
    void best_pairs "fasttree_best_pairs"(
        int, const double*, int64_t, const double*, const double*, const double*, const double*, const double*, const double*,
        const Side*, int32_t, double*, double*) noexcept nogil
    double nlogn "fasttree_nlogn"(const double*, int64_t, double) noexcept nogil


cdef struct Choice:                    # a test, and how it competes
    double two, own                # gains of the best tree of two levels with this root, and of the root
    int32_t view, cut
    int32_t feature, place         # order of equal ones


cdef struct Search:
    int32_t n_rows, n_views, n_classes, kind
    bint weighted
    const int32_t* code            # (views, rows)
    const uint8_t* nominal         # (views)
    const uint8_t* is_second       # (views): whether it is the second view of a feature with missing values, where they come first
    const int32_t* missing         # (views): the code of missing values, -1 if there are none
    const int32_t* feature         # (views)
    const int32_t* label           # (rows): class
    const double* amount           # (rows)
    const double* weight           # (rows)
    const double* logs
    int64_t n_logs
    double least, lightest, min_split
    # of the node
    int32_t lanes, width           # classes that occur, or 1; with weight and, if samples are weighted, size
    double slack
    int32_t n
    const int32_t* row             # (n): all others count from 0 within the node
    int32_t* order                 # (slots, n): rows by rank
    int32_t* rank                  # (slots, n): codes that occur, counted from 0
    int32_t* n_ranks               # (views)
    int32_t* slot                  # (views): where order and rank of a view are; -1: it is constant
    double total_weight, worth, own_gain, tie
    Choice best
    # scratch
    int32_t* lane_of               # (classes)
    int32_t* node_label            # (rows): lane
    double* node_amount
    double* node_weight
    int32_t* label_along           # (rows): in the order of a root
    double* pair_along             # (rows, 2): amounts and weights
    double* totals                 # (width)
    double* rest                   # (width)
    int64_t* first                 # (views): where the cuts of a view are
    int32_t* ends                  # (cuts of all views): rows up to a cut
    double* own                    # gain of each cut, -inf if a branch is too small
    double* whole                  # (width of each): sums up to each rank
    double* best_own               # (views)
    double* counts                 # (width, ranks); if SIGNED, amounts and weights in turn
    double* sums                   # (width, cuts)
    double* pairs                  # (4, cuts)
    int32_t* by_gain               # (views): those that are not constant, by the gains of their best cuts
    int32_t n_by_gain
    double* records                # (views, MOST_RECORDS, 2): bounds of the risks before and behind a cut, by each second view
    int32_t n_records
    int32_t* record                # (rows): number of a cut's record, or -1
    int32_t* cuts                  # (rows): those that are searched next
    int32_t* near                  # (2, rows): their known neighbours, or -1
    uint8_t* skipped               # (rows)
    double* gains                  # (4, rows): of the best pairs before and behind them, of any size and with large leaves
    double* left                   # (rows): risks before a cut; -inf: unknown
    double* right
    double* worth_before
    double* share                  # (rows)
    int32_t* place                 # (rows)
    int64_t cells


cdef double gain_of(const Search* s, const double* sums) noexcept nogil:
    """Return the gain of a leaf from its sums."""
    cdef double weight = sums[s.lanes]
    cdef double gain = 0
    cdef int32_t k
    if weight <= 0:
        return 0
    for k in range(s.lanes):
        if s.kind == ENTROPY_:
            gain += nlogn(s.logs, s.n_logs, sums[k])
        elif s.kind == ERRORS_:
            gain = max(gain, sums[k])
        else:
            gain += sums[k] * sums[k]
    return gain - nlogn(s.logs, s.n_logs, weight) if s.kind == ENTROPY_ else gain if s.kind == ERRORS_ else gain / weight


cdef bint is_large(const Search* s, const double* sums) noexcept nogil:
    return sums[s.width - 1] >= s.least and sums[s.lanes] >= s.lightest


cdef bint has_missing(const Search* s, int32_t view) noexcept nogil:
    """Whether a value of a view that is not constant is missing in the node."""
    cdef int64_t at = <int64_t> s.slot[view] * s.n
    cdef int32_t local = s.order[at if s.is_second[view] else at + s.n - 1]
    return s.code[<int64_t> view * s.n_rows + s.row[local]] == s.missing[view]


cdef void choose_lanes(Search* s) noexcept nogil:
    """Give each class of the node a lane; for Gini, one lane serves two classes, the larger of which counts as 1."""
    cdef int32_t i, k
    cdef double* totals = s.counts
    cdef int32_t first = -1
    s.lanes = 0
    memset(totals, 0, s.n_classes * sizeof(double))
    for i in range(s.n):
        totals[s.label[s.row[i]]] += s.weight[s.row[i]]
    for k in range(s.n_classes):
        if totals[k] > 0:
            s.lane_of[k] = s.lanes
            s.lanes += 1
            first = k if first < 0 or totals[k] > totals[first] else first
    s.slack = 0 if s.kind == ENTROPY_ else 1 if s.kind == ERRORS_ else 2
    if s.kind != ERRORS_ and s.kind != ENTROPY_:
        s.kind = SIGNED_ if s.lanes == 2 else GINI_
    for i in range(s.n):
        k = s.label[s.row[i]]
        s.node_weight[i] = s.node_amount[i] = s.weight[s.row[i]]
        s.node_label[i] = s.lane_of[k]
        if s.kind == SIGNED_:
            s.node_label[i] = 0
            s.node_amount[i] *= 1 if k == first else -1
    if s.kind == SIGNED_:
        s.lanes = 1
        s.slack = 4


cdef void describe_rows(Search* s) noexcept nogil:
    """Find lanes and amounts of the node's rows; targets become deviations from their mean."""
    cdef int32_t i
    cdef double mean = 0
    cdef double weight = 0
    if s.n_classes:
        choose_lanes(s)
    else:
        s.lanes = 1
        for i in range(s.n):
            s.node_label[i] = 0
            s.node_weight[i] = s.weight[s.row[i]]
            mean += s.amount[s.row[i]]
            weight += s.node_weight[i]
        mean /= weight
        for i in range(s.n):
            s.node_amount[i] = s.amount[s.row[i]] - rint(mean * s.node_weight[i])
    s.width = s.lanes + 1 + s.weighted
    memset(s.totals, 0, s.width * sizeof(double))
    s.worth = 0
    for i in range(s.n):
        s.totals[s.node_label[i]] += s.node_amount[i]
        s.totals[s.lanes] += s.node_weight[i]
        s.worth += s.node_amount[i] * s.node_amount[i] / s.node_weight[i]
    s.totals[s.width - 1] = s.n if s.weighted else s.totals[s.lanes]
    s.tie = 1e-12 * s.worth
    if s.kind == ENTROPY_:
        s.worth = 0
    s.own_gain = gain_of(s, s.totals)


cdef void count(const Search* s, const int32_t* along, const int32_t* rank, int32_t n, int32_t start, int32_t stop) noexcept nogil:
    """Add rows, in the order of a root, to the sums (width, n) of each rank of a view."""
    cdef int32_t i, r
    cdef double* sums
    cdef double* weights = s.counts + <int64_t> s.lanes * n
    cdef double* sizes = weights + n
    if s.kind == SIGNED_:
        for i in range(start, stop):           # a pair of sums for each rank: two doubles are added at once
            sums = s.counts + 2 * <int64_t> rank[along[i]]
            sums[0] += s.pair_along[2 * <int64_t> i]
            sums[1] += s.pair_along[2 * <int64_t> i + 1]
    else:
        for i in range(start, stop):
            r = rank[along[i]]
            s.counts[<int64_t> s.label_along[i] * n + r] += s.pair_along[2 * <int64_t> i]
            weights[r] += s.pair_along[2 * <int64_t> i + 1]
    if s.weighted:
        for i in range(start, stop):
            sizes[rank[along[i]]] += 1


cdef void add_up(const Search* s, int32_t n, int32_t m, double* out) noexcept nogil:
    """Sums up to each of the first m ranks, of n."""
    cdef int32_t k, r
    cdef int32_t first = 0
    cdef double sum = 0
    cdef double weight = 0
    if s.kind == SIGNED_:
        first = 2
        for r in range(m):
            sum += s.counts[2 * <int64_t> r]
            weight += s.counts[2 * <int64_t> r + 1]
            out[r] = sum
            out[<int64_t> m + r] = weight
    for k in range(first, s.width):
        sum = 0
        for r in range(m):
            sum += s.counts[<int64_t> k * n + r]
            out[<int64_t> k * m + r] = sum


cdef void gather_along(Search* s, const int32_t* order) noexcept nogil:
    cdef int32_t i
    for i in range(s.n):
        s.label_along[i] = s.node_label[order[i]]
        s.pair_along[2 * <int64_t> i] = s.node_amount[order[i]]
        s.pair_along[2 * <int64_t> i + 1] = s.node_weight[order[i]]


cdef void order_categories(Search* s, int32_t view) noexcept nogil:
    """Put the known ranks of a nominal view in the order of their shares of the largest class, or of their means."""
    cdef int32_t* order = s.order + <int64_t> s.slot[view] * s.n
    cdef int32_t* rank = s.rank + <int64_t> s.slot[view] * s.n
    cdef int32_t n = s.n_ranks[view]
    cdef int32_t low = 0
    cdef int32_t high = n
    cdef int32_t lane = 0
    cdef int32_t i, j, r, k
    cdef double share
    if has_missing(s, view):
        low += s.is_second[view]
        high -= not s.is_second[view]
    for k in range(s.lanes):
        if s.totals[k] > s.totals[lane]:
            lane = k
    for i in range(s.n):
        s.place[rank[i]] = s.code[<int64_t> view * s.n_rows + s.row[i]]
    for r in range(low, high):
        if s.kind == SIGNED_:
            share = s.counts[2 * <int64_t> r] / s.counts[2 * <int64_t> r + 1]
        else:
            share = s.counts[<int64_t> lane * n + r] / s.counts[<int64_t> s.lanes * n + r]
        j = r
        while j > low and (s.share[j - 1] > share or (s.share[j - 1] == share and s.place[s.cuts[j - 1]] > s.place[r])):
            s.share[j] = s.share[j - 1]
            s.cuts[j] = s.cuts[j - 1]
            j -= 1
        s.share[j] = share
        s.cuts[j] = r
    for r in range(n):
        s.place[s.cuts[r] if low <= r < high else r] = r
    memset(s.label_along, 0, n * sizeof(int32_t))
    for i in range(s.n):
        rank[i] = s.place[rank[i]]
        s.label_along[rank[i]] += 1
    j = 0
    for r in range(n):
        j += s.label_along[r]
        s.label_along[r] = j - s.label_along[r]
    for i in range(s.n):
        order[s.label_along[rank[i]]] = i
        s.label_along[rank[i]] += 1


cdef void count_view(Search* s, int32_t view) noexcept nogil:
    cdef const int32_t* order = s.order + <int64_t> s.slot[view] * s.n
    gather_along(s, order)
    memset(s.counts, 0, <int64_t> s.width * s.n_ranks[view] * sizeof(double))
    count(s, order, s.rank + <int64_t> s.slot[view] * s.n, s.n_ranks[view], 0, s.n)


cdef void describe_view(Search* s, int32_t view) noexcept nogil:
    """Find the sums up to each rank of a view, where ranks end in its order, and the gains of its cuts."""
    cdef const int32_t* order = s.order + <int64_t> s.slot[view] * s.n
    cdef const int32_t* rank = s.rank + <int64_t> s.slot[view] * s.n
    cdef int32_t n = s.n_ranks[view]
    cdef int32_t* ends = s.ends + s.first[view]
    cdef double* whole = s.whole + s.first[view] * s.width
    cdef double* own = s.own + s.first[view]
    cdef int32_t i, k, cut
    count_view(s, view)
    if s.nominal[view] and n > 2:
        order_categories(s, view)
        count_view(s, view)
    add_up(s, n, n, whole)
    for i in range(s.n):
        ends[rank[order[i]]] = i + 1
    s.best_own[view] = -INFINITY
    for cut in range(n - 1):
        own[cut] = -INFINITY
        if cut == 0 and s.is_second[view]:     # missing or known, as in the first view
            continue
        for k in range(s.width):
            s.sums[k] = whole[<int64_t> k * n + cut]
            s.rest[k] = s.totals[k] - s.sums[k]
        if is_large(s, s.sums) and is_large(s, s.rest):
            own[cut] = gain_of(s, s.sums) + gain_of(s, s.rest) - s.own_gain
            s.best_own[view] = max(s.best_own[view], own[cut])
    s.cells += 3 * <int64_t> s.n + <int64_t> n * s.width


cdef int32_t place_of(const Search* s, int32_t view, int32_t cut) noexcept nogil:
    """Place of a cut among equal ones of its feature: the order of cuts, missing right before left; known or missing is last."""
    if s.is_second[view]:
        return 2 * cut - 1
    return 2 * cut + (s.n_rows if cut == s.n_ranks[view] - 2 and has_missing(s, view) else 0)


cdef bint beats(const Search* s, double two, double own, int32_t view, int32_t cut) noexcept nogil:
    """Whether a test with these gains would win against the best one so far."""
    cdef int32_t place
    if two > s.best.two + s.tie:
        return True
    if two < s.best.two - s.tie or own < s.best.own - s.tie:
        return False
    if own > s.best.own + s.tie:
        return True
    place = place_of(s, view, cut)
    return s.feature[view] < s.best.feature or (s.feature[view] == s.best.feature and place < s.best.place)


cdef void consider(Search* s, double two, double own, int32_t view, int32_t cut) noexcept nogil:
    if beats(s, two, own, view, cut):
        s.best.two, s.best.own = two, own
        s.best.view, s.best.cut = view, cut
        s.best.feature, s.best.place = s.feature[view], place_of(s, view, cut)


cdef int32_t choose_cuts(Search* s, int32_t view, int32_t step, int32_t star) noexcept nogil:
    """Choose the unknown cuts, each `step`-th and `star`, that may win by what their known neighbours show."""
    cdef const double* own = s.own + s.first[view]
    cdef const double* weight = s.whole + s.first[view] * s.width + <int64_t> s.lanes * s.n_ranks[view]
    cdef int32_t n = s.n_ranks[view] - 1
    cdef int32_t chosen = 0
    cdef int32_t low = -1
    cdef int32_t high = -1
    cdef int32_t cut
    cdef double left, right
    for cut in range(n):
        if s.left[cut] != -INFINITY:
            low = cut
            continue
        if own[cut] == -INFINITY or (cut % step != step // 2 and cut != star):
            continue
        if high < cut:
            high = cut + 1
            while high < n and s.left[high] == -INFINITY:
                high += 1
        left = right = 0
        if low >= 0:
            left = s.left[low]
            if s.slack > 0:
                right = s.right[low] - s.slack * (weight[cut] - weight[low])
        if high < n:
            right = max(right, s.right[high])
            if s.slack > 0:
                left = max(left, s.left[high] - s.slack * (weight[high] - weight[cut]))
        if beats(s, s.worth - left - right - s.own_gain, own[cut], view, cut):
            s.cuts[chosen] = cut
            s.near[2 * <int64_t> chosen] = low
            s.near[2 * <int64_t> chosen + 1] = high if high < n else -1
            chosen += 1
    return chosen


cdef int32_t skip_cuts(Search* s, int32_t root, int32_t view, int32_t n_cuts) noexcept nogil:
    """Mark the cuts where a second view cannot be the best one by what it is at known neighbours; return where the others end."""
    cdef const double* weight = s.whole + s.first[root] * s.width + <int64_t> s.lanes * s.n_ranks[root]
    cdef double* records = s.records + 2 * <int64_t> view * MOST_RECORDS
    cdef const double* near
    cdef int32_t end = 0
    cdef int32_t i, k, cut, other
    cdef double before, behind, worth
    for i in range(n_cuts):
        cut = s.cuts[i]
        before = behind = 0
        for k in range(2):
            other = s.near[2 * <int64_t> i + k]
            if other < 0 or s.record[other] < 0:
                continue
            near = records + 2 * s.record[other]
            if k == 0:
                before = max(before, near[0])
                behind = max(behind, near[1] - s.slack * (weight[cut] - weight[other]) if s.slack > 0 else 0)
            else:
                before = max(before, near[0] - s.slack * (weight[other] - weight[cut]) if s.slack > 0 else 0)
                behind = max(behind, near[1])
        worth = s.worth_before[cut]
        s.skipped[i] = before >= worth - s.gains[4 * <int64_t> i + 2] and behind >= s.worth - worth - s.gains[4 * <int64_t> i + 3]
        if s.skipped[i] and s.record[cut] >= 0:
            records[2 * s.record[cut]], records[2 * s.record[cut] + 1] = before, behind
        if not s.skipped[i]:
            end = i + 1
    return end


cdef void sides_of(const Search* s, int32_t view, int32_t cut, double* before, double* behind) noexcept nogil:
    cdef int32_t n = s.n_ranks[view]
    cdef int32_t k
    for k in range(s.width):
        before[k] = s.whole[s.first[view] * s.width + <int64_t> k * n + cut]
        behind[k] = s.totals[k] - before[k]


cdef void sweep(Search* s, int32_t root, int32_t view, int32_t n_cuts) noexcept nogil:
    """Search a second view at the cuts in `s.cuts`, and raise the gains of their best pairs."""
    cdef double* records
    cdef const int32_t* along = s.order + <int64_t> s.slot[root] * s.n
    cdef const int32_t* rank = s.rank + <int64_t> s.slot[view] * s.n
    cdef const int32_t* ends = s.ends + s.first[root]
    cdef const double* whole = s.whole + s.first[view] * s.width
    cdef int32_t n = s.n_ranks[view]
    cdef int32_t m = n - 1
    cdef int32_t done = 0
    cdef int32_t i, k
    cdef int64_t weight_at = <int64_t> s.lanes * m
    cdef int64_t size_at = <int64_t> (s.width - 1) * m
    cdef const double* all_weights = whole + <int64_t> s.lanes * n
    cdef const double* all_sizes = whole + <int64_t> (s.width - 1) * n
    cdef double any[2]
    cdef double large[2]
    cdef double gain
    cdef Side sides[2]
    memset(s.counts, 0, <int64_t> s.width * n * sizeof(double))
    for i in range(n_cuts):
        if s.skipped[i]:
            continue
        count(s, along, rank, n, done, ends[s.cuts[i]])
        done = ends[s.cuts[i]]
        add_up(s, n, m, s.sums)
        sides_of(s, root, s.cuts[i], s.share, s.rest)
        for k in range(2):
            sides[k].sums = s.rest if k else s.share
            sides[k].weight = sides[k].sums[s.lanes]
            sides[k].size = sides[k].sums[s.width - 1]
            sides[k].least, sides[k].lightest = s.least, s.lightest
            any[k] = large[k] = -INFINITY
        if s.kind == SIGNED_:
            scan_signed(
                s.sums, s.sums + weight_at, s.sums + size_at, whole, all_weights, all_sizes, &sides[0], &sides[1], m, any, large,
            )
            for k in range(2):
                gain = gain_of(s, sides[k].sums)
                any[k] = gain + any[k] / sides[k].weight
                large[k] = gain + large[k] / sides[k].weight
        else:
            memset(s.pairs, 0, 4 * <int64_t> m * sizeof(double))
            for k in range(s.lanes):
                add_lane(
                    s.kind, s.logs, s.n_logs, s.sums + <int64_t> k * m, whole + <int64_t> k * n, s.share[k], s.rest[k], m,
                    s.pairs, s.pairs + m, s.pairs + 2 * m, s.pairs + 3 * m,
                )
            best_pairs(
                s.kind, s.logs, s.n_logs, s.pairs, s.pairs + m, s.sums + weight_at, s.sums + size_at, NULL, NULL, &sides[0], m,
                &any[0], &large[0],
            )
            best_pairs(
                s.kind, s.logs, s.n_logs, s.pairs + 2 * m, s.pairs + 3 * m, s.sums + weight_at, s.sums + size_at, all_weights,
                all_sizes, &sides[1], m, &any[1], &large[1],
            )
        for k in range(2):
            s.gains[4 * <int64_t> i + k] = max(s.gains[4 * <int64_t> i + k], any[k])
            s.gains[4 * <int64_t> i + 2 + k] = max(s.gains[4 * <int64_t> i + 2 + k], large[k])
        if s.record[s.cuts[i]] >= 0:
            records = s.records + 2 * (<int64_t> view * MOST_RECORDS + s.record[s.cuts[i]])
            records[0] = s.worth_before[s.cuts[i]] - any[0]
            records[1] = s.worth - s.worth_before[s.cuts[i]] - any[1]
        s.cells += <int64_t> m * s.width
    s.cells += done


cdef void search_root(Search* s, int32_t root) noexcept nogil:
    """Search the trees of two levels with this root."""
    cdef const int32_t* order = s.order + <int64_t> s.slot[root] * s.n
    cdef const int32_t* ends = s.ends + s.first[root]
    cdef const double* own = s.own + s.first[root]
    cdef int32_t n = s.n_ranks[root] - 1
    cdef int32_t step = 1
    cdef int32_t star = 0
    cdef int32_t i, cut, n_cuts
    cdef int32_t done = 0
    cdef double worth = 0
    cdef double left, right
    gather_along(s, order)
    s.n_records = 0
    for cut in range(n):
        for i in range(done, ends[cut]):
            worth += s.pair_along[2 * <int64_t> i] * s.pair_along[2 * <int64_t> i] / s.pair_along[2 * <int64_t> i + 1]
        done = ends[cut]
        s.worth_before[cut] = 0 if s.kind == ENTROPY_ else worth
        s.left[cut] = -INFINITY
        if own[cut] > own[star]:
            star = cut
    while n > FIRST_CUTS * step * 2:
        step *= 4
    while step:
        n_cuts = choose_cuts(s, root, step, star)
        for i in range(n_cuts):
            sides_of(s, root, s.cuts[i], s.share, s.rest)
            s.gains[4 * <int64_t> i] = s.gains[4 * <int64_t> i + 2] = gain_of(s, s.share)
            s.gains[4 * <int64_t> i + 1] = s.gains[4 * <int64_t> i + 3] = gain_of(s, s.rest)
            s.record[s.cuts[i]] = s.n_records if s.n_records < MOST_RECORDS else -1
            s.n_records += s.n_records < MOST_RECORDS
        for i in range(s.n_by_gain if n_cuts else 0):
            sweep(s, root, s.by_gain[i], skip_cuts(s, root, s.by_gain[i], n_cuts))
        for i in range(n_cuts):
            cut = s.cuts[i]
            s.left[cut] = s.worth_before[cut] - s.gains[4 * <int64_t> i]
            s.right[cut] = s.worth - s.worth_before[cut] - s.gains[4 * <int64_t> i + 1]
            sides_of(s, root, cut, s.share, s.rest)
            left, right = s.gains[4 * <int64_t> i + 2], s.gains[4 * <int64_t> i + 3]
            if ends[cut] < s.min_split:
                left = gain_of(s, s.share)
            if s.n - ends[cut] < s.min_split:
                right = gain_of(s, s.rest)
            consider(s, left + right - s.own_gain, own[cut], root, cut)
        step //= 4


cdef int look(Search* s) except -1 nogil:
    if s.cells > CELLS_AT_ONCE:
        s.cells = 0
        with gil:
            PyErr_CheckSignals()
    return 0


cdef int find_test(Search* s, int levels) except -1 nogil:
    """Find the best test of a node, as the root of a tree of one or two levels."""
    cdef int32_t view, i, cut
    cdef int64_t at = 0
    s.best.view = s.best.feature = -1
    s.best.two = s.best.own = -INFINITY
    s.n_by_gain = 0
    for view in range(s.n_views):
        if s.slot[view] < 0:
            continue
        s.first[view] = at
        at += s.n_ranks[view]
        describe_view(s, view)
        look(s)
        for cut in range(s.n_ranks[view] - 1 if levels == 1 else 0):
            if s.own[s.first[view] + cut] > -INFINITY:
                consider(s, s.own[s.first[view] + cut], s.own[s.first[view] + cut], view, cut)
        i = s.n_by_gain
        while i > 0 and s.best_own[s.by_gain[i - 1]] < s.best_own[view]:
            s.by_gain[i] = s.by_gain[i - 1]
            i -= 1
        s.by_gain[i] = view
        s.n_by_gain += 1
    for i in range(s.n_by_gain if levels == 2 else 0):
        search_root(s, s.by_gain[i])
        look(s)
    return 0


cdef void take_views(
    const Search* s, const int32_t* local, int32_t n, int32_t* order, int32_t* rank, int32_t* slot, int32_t* n_ranks,
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
        `kind` and `n_classes` (0: numbers); `label`, the class (int32), `amount`, `weight` (float64) of each row, as in the head of
        the module; `weighted`, whether weights do not count the samples; `logs`, n log2 n of whole numbers.
    limits : record
        `min_samples_split`, `min_samples_leaf`, `min_weight_leaf`.
    """

    cdef Search s
    cdef list kept

    def __cinit__(self, views, rows, limits):
        cdef Search* s = &self.s
        cdef int64_t n = max(views.codes.shape[1], 1)
        cdef int64_t most = min(int(views.codes.max(initial=0)) + 1, n)
        cdef int64_t ranks = int(np.minimum(views.codes.max(axis=1, initial=0) + 1, n).sum())
        cdef int32_t width = max(rows.n_classes, 1) + 1 + rows.weighted
        memset(s, 0, sizeof(Search))
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
        s.pairs, s.gains = <double*> self.room(4 * most), <double*> self.room(4 * most)
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
        cdef Search* s = &self.s
        s.n = len(node.row)
        s.row = <const int32_t*> memory_of(node.row)
        s.order, s.rank = <int32_t*> memory_of(node.order), <int32_t*> memory_of(node.rank)
        s.slot, s.n_ranks = <int32_t*> memory_of(node.slot), <int32_t*> memory_of(node.n_ranks)

    def search(self, node, int levels, double least_risk):
        """Find the best test of a node as the root of a tree of one or two levels.

        Parameters
        ----------
        node : record
            `row` (n,): ascending; `order` and `rank` (slots, n): rows of the node by rank, and ranks; `slot` and `n_ranks` (views,):
            where the two are, -1 if the view is constant, and the number of ranks.  All are int32.
        levels : int
        least_risk : float
            A node of at most this risk is not searched.

        Returns
        -------
        None or (view, cut, end, missing, gain, tie)
            The view; the rank of the cut, and where its rows end in the order; whether a value of the feature is missing; the gain
            of the tree of so many levels, and the differences that do not count.
        """
        cdef Search* s = &self.s
        cdef double unit
        self.enter(node)
        with nogil:
            describe_rows(s)
            unit = 0.5 if s.kind == SIGNED_ and s.n_classes else 1.0
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
