"""The search of a node: roots, their cuts, and the second views at them.  Header only."""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from fasttree._engine.ahead.records cimport (
    ABSOLUTE, CELLS_AT_ONCE, ENTROPY, FIRST_CUTS, MOST_RECORDS, RANKS_AT_ONCE, SIGNED, AheadSearch, AheadSums,
)
from fasttree._engine.ahead.scans cimport AheadSide, add_lane, best_pairs, bound_blocks, nlogn, scan_absolute, scan_signed
from fasttree._engine.ahead.views cimport add_up, count, describe_view, gain_of, gather_along, has_missing, is_paired


cdef inline int32_t place_of(const AheadSearch* s, int32_t view, int32_t cut) noexcept nogil:
    """Place of a cut among equal ones of its feature: the order of cuts, missing right before left; known or missing is last."""
    if s.is_second[view]:
        return 2 * cut - 1
    return 2 * cut + (s.n_rows if cut == s.n_ranks[view] - 2 and has_missing(s, view) else 0)


cdef inline bint beats(const AheadSearch* s, double two, double own, int32_t view, int32_t cut) noexcept nogil:
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


cdef inline void consider(AheadSearch* s, double two, double own, int32_t view, int32_t cut) noexcept nogil:
    if beats(s, two, own, view, cut):
        s.best.two, s.best.own = two, own
        s.best.view, s.best.cut = view, cut
        s.best.feature, s.best.place = s.feature[view], place_of(s, view, cut)


cdef inline double most_added(const AheadSearch* s, int32_t view, int32_t low, int32_t high, double weight) noexcept nogil:
    """Bound what the rows between two cuts add to the risk of a side of this weight.

    Entropy: they cost no more than a part of their own in each leaf, and naming the part; the latter is concave in its weights.
    """
    cdef int32_t n = s.n_ranks[view]
    cdef const double* sums = s.whole + s.first[view] * s.width
    cdef double added = sums[<int64_t> s.lanes * n + high] - sums[<int64_t> s.lanes * n + low]
    cdef int32_t k
    if s.kind != ENTROPY:
        return s.slack * added if s.slack > 0 else INFINITY
    added = nlogn(s.logs, s.n_logs, weight + added) - nlogn(s.logs, s.n_logs, weight)
    for k in range(s.lanes):
        added -= nlogn(s.logs, s.n_logs, sums[<int64_t> k * n + high] - sums[<int64_t> k * n + low])
    return added


cdef inline int32_t choose_cuts(AheadSearch* s, int32_t view, int32_t step, int32_t star) noexcept nogil:
    """Choose the unknown cuts, each `step`-th and `star`, that may win by what their known neighbours show."""
    cdef const double* own = s.own + s.first[view]
    cdef const double* weight = s.whole + s.first[view] * s.width + <int64_t> s.lanes * s.n_ranks[view]
    cdef int32_t n = s.n_ranks[view] - 1
    cdef int32_t chosen = 0
    cdef int32_t low = -1
    cdef int32_t high = -1
    cdef int32_t cut
    cdef double left, right
    cdef double* added
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
        added = &s.added[2 * <int64_t> chosen]
        left = right = 0
        if low >= 0:
            added[0] = most_added(s, view, low, cut, s.totals[s.lanes] - weight[cut])
            left = s.left[low]
            right = s.right[low] - added[0]
        if high < n:
            added[1] = most_added(s, view, cut, high, weight[cut])
            right = max(right, s.right[high])
            left = max(left, s.left[high] - added[1])
        if beats(s, s.worth - left - right - s.own_gain, own[cut], view, cut):
            s.cuts[chosen] = cut
            s.near[2 * <int64_t> chosen] = low
            s.near[2 * <int64_t> chosen + 1] = high if high < n else -1
            chosen += 1
    return chosen


cdef inline int32_t skip_cuts(AheadSearch* s, int32_t root, int32_t view, int32_t n_cuts) noexcept nogil:
    """Mark the cuts where a second view cannot be the best one by what it is at known neighbours; return where the others end."""
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
                behind = max(behind, near[1] - s.added[2 * <int64_t> i])
            else:
                before = max(before, near[0] - s.added[2 * <int64_t> i + 1])
                behind = max(behind, near[1])
        worth = s.worth_before[cut]
        s.skipped[i] = before >= worth - s.gains[4 * <int64_t> i + 2] and behind >= s.worth - worth - s.gains[4 * <int64_t> i + 3]
        if s.skipped[i] and s.record[cut] >= 0:
            records[2 * s.record[cut]], records[2 * s.record[cut] + 1] = before, behind
        if not s.skipped[i]:
            end = i + 1
    return end


cdef inline void sides_of(const AheadSearch* s, int32_t view, int32_t cut, double* before, double* behind) noexcept nogil:
    cdef int32_t n = s.n_ranks[view]
    cdef int32_t k
    for k in range(s.width):
        before[k] = s.whole[s.first[view] * s.width + <int64_t> k * n + cut]
        behind[k] = s.totals[k] - before[k]


cdef inline void take_ends(const double* sums, int32_t width, int32_t n, int32_t m, double* out) noexcept nogil:
    """Take the last of each block of m sums, and leave out the others; each lane has n of them."""
    cdef int32_t j, _k
    cdef int32_t n_blocks = (m + RANKS_AT_ONCE - 1) // RANKS_AT_ONCE
    for _k in range(width):
        for j in range(n_blocks):
            out[j] = sums[min((j + 1) * RANKS_AT_ONCE, m) - 1]
        sums += n
        out += n_blocks


cdef inline void scan_lanes(
    AheadSearch* s, const AheadSums* x, int32_t start, int32_t stop, const AheadSide* sides, double* gains,
) noexcept nogil:
    """Raise the gains of the best pairs to those of the tests from `start` to `stop`."""
    cdef int32_t k
    cdef int32_t size = stop - start
    cdef const double* sums = x.sums + start
    cdef const double* whole = x.whole + start
    memset(s.pairs, 0, 4 * <int64_t> size * sizeof(double))
    for k in range(s.lanes):
        add_lane(
            s.kind, s.logs, s.n_logs, sums, whole, sides[0].sums[k], sides[1].sums[k], size,
            s.pairs, s.pairs + size, s.pairs + 2 * size, s.pairs + 3 * size,
        )
        sums += x.stride
        whole += x.whole_stride
    k = s.width - 1 - s.lanes
    best_pairs(
        s.kind, s.logs, s.n_logs, s.pairs, s.pairs + size, sums, sums + k * x.stride, NULL, NULL, &sides[0], size,
        &gains[0], &gains[2],
    )
    best_pairs(
        s.kind, s.logs, s.n_logs, s.pairs + 2 * size, s.pairs + 3 * size, sums, sums + k * x.stride, whole,
        whole + k * x.whole_stride, &sides[1], size, &gains[1], &gains[3],
    )


cdef inline void scan_blocks(
    AheadSearch* s, const AheadSums* x, const double* coarse_whole, const AheadSide* sides, const double* best, double* gains,
) noexcept nogil:
    """Raise the gains of the best pairs to those of the tests whose sums are found, or to bounds that are not above `best`.

    Tests are scanned at the ends of blocks, and the others only where a block may have a better one: the risk of the first leaf
    grows along the tests, and that of the second falls, so that those at the ends bound a block.
    """
    cdef int32_t m = x.stride
    cdef int32_t n_blocks = (m + RANKS_AT_ONCE - 1) // RANKS_AT_ONCE
    cdef double* bounds = s.coarse + <int64_t> s.width * n_blocks
    cdef AheadSums ends
    cdef int32_t j, k
    if m < 4 * RANKS_AT_ONCE:
        scan_lanes(s, x, 0, m, sides, gains)
        return
    take_ends(x.sums, s.width, m, m, s.coarse)
    ends.sums, ends.whole, ends.stride, ends.whole_stride = s.coarse, coarse_whole, n_blocks, n_blocks
    scan_lanes(s, &ends, 0, n_blocks, sides, gains)
    for k in range(2):
        bound_blocks(
            s.kind, s.logs, s.n_logs, s.pairs + 2 * k * n_blocks, s.pairs + (2 * k + 1) * n_blocks,
            ends.sums + <int64_t> s.lanes * n_blocks, coarse_whole + <int64_t> s.lanes * n_blocks if k else NULL, sides[k].weight,
            n_blocks, bounds + k * n_blocks,
        )
    for j in range(n_blocks):
        if bounds[j] > max(gains[2], best[0]) or bounds[n_blocks + j] > max(gains[3], best[1]):
            scan_lanes(s, x, j * RANKS_AT_ONCE, min((j + 1) * RANKS_AT_ONCE, m), sides, gains)
        else:
            gains[0] = max(gains[0], bounds[j])
            gains[1] = max(gains[1], bounds[n_blocks + j])


cdef inline void sweep(AheadSearch* s, int32_t root, int32_t view, int32_t n_cuts) noexcept nogil:
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
    cdef double gains[4]           # before and behind the cut, and those of tests with large leaves
    cdef double gain
    cdef AheadSide sides[2]
    cdef AheadSums x
    cdef double* coarse_whole = s.coarse + <int64_t> (s.width + 2) * (m // RANKS_AT_ONCE + 1)
    x.sums, x.whole, x.stride, x.whole_stride = s.sums, whole, m, n
    memset(s.counts, 0, <int64_t> s.width * n * sizeof(double))
    if not is_paired(s):
        take_ends(whole, s.width, n, m, coarse_whole)
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
            gains[k] = gains[2 + k] = -INFINITY
        if s.kind == SIGNED:
            scan_signed(
                s.sums, s.sums + weight_at, s.sums + size_at, whole, all_weights, all_sizes, &sides[0], &sides[1], m, gains,
            )
            for k in range(2):
                gain = gain_of(s, sides[k].sums)
                gains[k] = gain + gains[k] / sides[k].weight
                gains[2 + k] = gain + gains[2 + k] / sides[k].weight
        elif s.kind == ABSOLUTE:
            scan_absolute(
                s.sums, s.sums + weight_at, s.sums + size_at, whole, all_weights, all_sizes, &sides[0], &sides[1], m, gains,
            )
        else:
            scan_blocks(s, &x, coarse_whole, sides, &s.gains[4 * <int64_t> i + 2], gains)
        for k in range(4):
            s.gains[4 * <int64_t> i + k] = max(s.gains[4 * <int64_t> i + k], gains[k])
        if s.record[s.cuts[i]] >= 0:
            records = s.records + 2 * (<int64_t> view * MOST_RECORDS + s.record[s.cuts[i]])
            records[0] = s.worth_before[s.cuts[i]] - gains[0]
            records[1] = s.worth - s.worth_before[s.cuts[i]] - gains[1]
        s.cells += <int64_t> m * s.width
    s.cells += done


cdef inline void search_root(AheadSearch* s, int32_t root) noexcept nogil:
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
        s.worth_before[cut] = 0 if s.kind == ENTROPY else worth
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


cdef inline int look(AheadSearch* s) except -1 nogil:
    if s.cells > CELLS_AT_ONCE:
        s.cells = 0
        with gil:
            PyErr_CheckSignals()
    return 0


cdef inline int find_test(AheadSearch* s, int levels) except -1 nogil:
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
