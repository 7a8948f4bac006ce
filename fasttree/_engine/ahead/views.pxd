"""What the rows of a node are, and the sums and gains of the cuts of its views.  Header only."""

from libc.math cimport INFINITY, fabs, rint, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from fasttree._engine.ahead.records cimport ABSOLUTE, ENTROPY, ERRORS, GINI, SIGNED, AheadSearch
from fasttree._engine.ahead.scans cimport nlogn


cdef inline bint is_paired(const AheadSearch* s) noexcept nogil:
    """Whether one lane serves all rows, and its sums are kept beside those of the weights."""
    return s.kind == SIGNED or s.kind == ABSOLUTE


cdef inline double gain_of(const AheadSearch* s, const double* sums) noexcept nogil:
    """Return the gain of a leaf from its sums."""
    cdef double weight = sums[s.lanes]
    cdef double gain = 0
    cdef int32_t k
    if weight <= 0:
        return 0
    if s.kind == ABSOLUTE:
        return fabs(sums[0])
    for k in range(s.lanes):
        if s.kind == ENTROPY:
            gain += nlogn(s.logs, s.n_logs, sums[k])
        elif s.kind == ERRORS:
            gain = max(gain, sums[k])
        else:
            gain += sums[k] * sums[k]
    return gain - nlogn(s.logs, s.n_logs, weight) if s.kind == ENTROPY else gain if s.kind == ERRORS else gain / weight


cdef inline bint is_large(const AheadSearch* s, const double* sums) noexcept nogil:
    return sums[s.width - 1] >= s.least and sums[s.lanes] >= s.lightest


cdef inline bint has_missing(const AheadSearch* s, int32_t view) noexcept nogil:
    """Whether a value of a view that is not constant is missing in the node."""
    cdef int64_t at = <int64_t> s.slot[view] * s.n
    cdef int32_t local = s.order[at if s.is_second[view] else at + s.n - 1]
    return s.code[<int64_t> view * s.n_rows + s.row[local]] == s.missing[view]


cdef inline void choose_lanes(AheadSearch* s) noexcept nogil:
    """Give each class of the node a lane; for Gini and errors, one lane serves two classes, the larger of which is 1."""
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
    if s.kind == ERRORS or s.kind == ABSOLUTE:
        s.kind = ABSOLUTE if s.lanes == 2 else ERRORS
    elif s.kind != ENTROPY:
        s.kind = SIGNED if s.lanes == 2 else GINI
    s.slack = 0 if s.kind == ENTROPY else 1 if s.kind == ERRORS else 4 if s.kind == SIGNED else 2
    for i in range(s.n):
        k = s.label[s.row[i]]
        s.node_weight[i] = s.node_amount[i] = s.weight[s.row[i]]
        s.node_label[i] = s.lane_of[k]
        if is_paired(s):
            s.node_label[i] = 0
            s.node_amount[i] *= 1 if k == first else -1
    if is_paired(s):
        s.lanes = 1


cdef inline void describe_rows(AheadSearch* s) noexcept nogil:
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
    s.tie = 1e-10 * s.worth
    s.grain = sqrt(s.worth / s.totals[s.lanes]) / 2.0 ** 32
    if s.kind == ENTROPY:
        s.worth = 0
    s.own_gain = gain_of(s, s.totals)


cdef inline void count(
    const AheadSearch* s, const int32_t* along, const int32_t* rank, int32_t n, int32_t start, int32_t stop,
) noexcept nogil:
    """Add rows, in the order of a root, to the sums (width, n) of each rank of a view."""
    cdef int32_t i, r
    cdef double* sums
    cdef double* weights = s.counts + <int64_t> s.lanes * n
    cdef double* sizes = weights + n
    if is_paired(s):
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


cdef inline void add_up(const AheadSearch* s, int32_t n, int32_t m, double* out) noexcept nogil:
    """Sums up to each of the first m ranks, of n."""
    cdef int32_t k, r
    cdef int32_t first = 0
    cdef double one = 0
    cdef double other = 0
    cdef const double* x = s.counts
    cdef const double* y
    if is_paired(s):
        first = 2
        for r in range(m):
            one += x[2 * <int64_t> r]
            other += x[2 * <int64_t> r + 1]
            out[r] = one
            out[<int64_t> m + r] = other
    for k in range(first, s.width, 2):         # two lanes at once, because each addition waits for the one before
        x = s.counts + <int64_t> k * n
        y = x + n if k + 1 < s.width else x
        one = other = 0
        for r in range(m):
            one += x[r]
            other += y[r]
            out[<int64_t> (k + 1 if k + 1 < s.width else k) * m + r] = other
            out[<int64_t> k * m + r] = one


cdef inline void gather_along(AheadSearch* s, const int32_t* order) noexcept nogil:
    cdef int32_t i
    for i in range(s.n):
        s.label_along[i] = s.node_label[order[i]]
        s.pair_along[2 * <int64_t> i] = s.node_amount[order[i]]
        s.pair_along[2 * <int64_t> i + 1] = s.node_weight[order[i]]


cdef inline void order_categories(AheadSearch* s, int32_t view) noexcept nogil:
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
        if is_paired(s):
            share = s.counts[2 * <int64_t> r] / s.counts[2 * <int64_t> r + 1]
        else:
            share = s.counts[<int64_t> lane * n + r] / s.counts[<int64_t> s.lanes * n + r]
        if s.grain > 0:
            share = rint(share / s.grain)
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


cdef inline void count_view(AheadSearch* s, int32_t view) noexcept nogil:
    cdef const int32_t* order = s.order + <int64_t> s.slot[view] * s.n
    gather_along(s, order)
    memset(s.counts, 0, <int64_t> s.width * s.n_ranks[view] * sizeof(double))
    count(s, order, s.rank + <int64_t> s.slot[view] * s.n, s.n_ranks[view], 0, s.n)


cdef inline void describe_view(AheadSearch* s, int32_t view) noexcept nogil:
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
