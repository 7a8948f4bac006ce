"""Costs of leaves, rows of nodes, and trees of one level.  Header only."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from fasttree._engine.levels.records cimport GROUPS, SCORES, SIGNS, SQUARES, LevelNode, LevelTest, SideSums, TreeSearch


cdef inline double gain_of(const TreeSearch* s, const double* sums) noexcept nogil:
    """What the rows with these sums cost less than their worth if they are a leaf."""
    cdef int32_t k
    cdef double gain = 0
    if s.kind == SIGNS:
        return fabs(sums[0]) / 2
    if s.kind == SCORES:
        for k in range(s.lanes):
            gain = max(gain, sums[k])
        return gain
    if sums[s.lanes - 1] <= 0:
        return 0
    for k in range(s.lanes - 1):
        gain += sums[k] * sums[k]
    return gain / sums[s.lanes - 1]


cdef inline void add_row(const TreeSearch* s, int32_t row, double* sums) noexcept nogil:
    cdef int32_t k
    if s.score != NULL:
        for k in range(s.lanes):
            sums[k] += s.amount[row] * s.score[s.label[row] * s.lanes + k]
        return
    sums[s.label[row]] += s.amount[row]
    if s.kind == SQUARES:
        sums[s.lanes - 1] += s.weight[row]


cdef inline double least_cost(const TreeSearch* s, const LevelNode* node, int depth) noexcept nogil:
    """No tree costs less: each leaf predicts one class."""
    cdef double low = INFINITY
    cdef double rest = node.worth
    cdef double largest, before
    cdef int32_t k, _j, taken
    if s.kind != SCORES:
        return s.penalty
    before = INFINITY
    taken = 0
    for _j in range(1 << depth):
        largest = 0                    # the next largest sum; equal ones are taken together
        for k in range(s.lanes):
            if node.sums[k] < before:
                largest = max(largest, node.sums[k])
        for k in range(s.lanes):
            if node.sums[k] == largest and taken < 1 << depth and largest > 0:
                rest -= largest
                taken += 1
                low = min(low, max(rest, 0) + taken * s.penalty)
        before = largest
        if largest <= 0 or taken == 1 << depth:
            break
    return min(low, max(rest, 0) + max(taken, 1) * s.penalty)


cdef inline int32_t count_cuts(const TreeSearch* s, const LevelNode* node, int32_t view) noexcept nogil:
    cdef int32_t n_ranks = node.n_ranks[view]
    return n_ranks if s.nominal[view] and n_ranks > 2 else n_ranks - 1


cdef inline bint comes_first(const TreeSearch* s, const LevelNode* node, int32_t view, int32_t cut, int32_t row) noexcept nogil:
    """Whether a row of a node is in the first branch."""
    cdef int32_t rank = node.rank[<int64_t> view * node.n + row]
    if s.nominal[view]:
        return rank == cut or (rank == 0 and s.missing[view] >= 0)
    return rank <= cut


cdef inline void mark_sides(TreeSearch* s, const LevelNode* node, int32_t view, int32_t cut) noexcept nogil:
    cdef int32_t i
    for i in range(node.n):
        s.side[i] = not comes_first(s, node, view, cut, i)


cdef inline void take_rows(TreeSearch* s, const LevelNode* node, LevelNode* child, int side) noexcept nogil:
    """Take the rows of one side into a child, and their sums."""
    cdef int32_t i, row
    cdef int32_t n = 0
    child.worth = 0
    child.key[0] = child.key[1] = 0
    memset(child.sums, 0, s.lanes * sizeof(double))
    for i in range(node.n):
        s.local[i] = -1
        if s.side[i] == side:
            row = node.row[i]
            s.local[i] = n
            child.row[n] = row
            child.worth += s.worth[row]
            child.key[0] += s.number[2 * row]
            child.key[1] += s.number[2 * row + 1]
            add_row(s, row, child.sums)
            n += 1
    child.n = n
    s.cells += node.n


cdef inline void take_views(TreeSearch* s, const LevelNode* node, LevelNode* child) noexcept nogil:
    """Take orders and ranks of the rows that `take_rows` has taken."""
    cdef int32_t view, i, row, rank, before, m, n_ranks
    cdef int64_t at, to
    for view in range(s.n_views):
        at = <int64_t> view * node.n
        to = <int64_t> view * child.n
        before = -1
        m = n_ranks = 0
        for i in range(node.n):
            row = node.order[at + i]
            if s.local[row] < 0:
                continue
            rank = node.rank[at + row]
            if rank != before:
                child.code[to + n_ranks] = node.code[at + rank]
                n_ranks += 1
                before = rank
            child.order[to + m] = s.local[row]
            child.rank[to + s.local[row]] = n_ranks - 1
            m += 1
        settle_view(s, child, view, n_ranks)
    s.cells += <int64_t> s.n_views * node.n


cdef inline void settle_view(const TreeSearch* s, LevelNode* node, int32_t view, int32_t n_ranks) noexcept nogil:
    cdef const int32_t* code = node.code + <int64_t> view * node.n
    node.n_ranks[view] = n_ranks
    node.active[view] = n_ranks > 1
    if s.missing[view] >= 0 and n_ranks > 0:
        node.active[view] &= code[0 if s.nominal[view] else n_ranks - 1] == s.missing[view]


cdef inline void sort_codes(
    const TreeSearch* s, LevelNode* node, int32_t view, const int32_t* code, int32_t n_codes, int32_t* numbers,
) noexcept nogil:
    """Find order and ranks of the codes (n) of all rows; `numbers` is scratch (2, codes)."""
    cdef int32_t* start = numbers
    cdef int32_t* rank_of = numbers + n_codes
    cdef int64_t at = <int64_t> view * node.n
    cdef int32_t n_ranks = 0
    cdef int32_t total = 0
    cdef int32_t c, i, size
    memset(start, 0, n_codes * sizeof(int32_t))
    for i in range(node.n):
        start[code[i]] += 1
    for c in range(n_codes):
        size = start[c]
        start[c] = total
        total += size
        rank_of[c] = n_ranks
        if size:
            node.code[at + n_ranks] = c
            n_ranks += 1
    for i in range(node.n):
        c = code[i]
        node.order[at + start[c]] = i
        node.rank[at + i] = rank_of[c]
        start[c] += 1
    settle_view(s, node, view, n_ranks)


cdef inline bint may_group(const TreeSearch* s, const LevelNode* node, int32_t view) noexcept nogil:
    """Whether a view has tests of groups of categories that differ from those of one category."""
    return s.nominal[view] and s.missing[view] < 0 and node.n_ranks[view] > 3


cdef inline double sum_side(const TreeSearch* s, const LevelNode* node, int side, SideSums* sums) noexcept nogil:
    """Find sums, worth, weight and number of the rows of a side; return the cost of a leaf."""
    cdef int32_t i
    memset(sums.total, 0, s.lanes * sizeof(double))
    sums.worth = sums.mass = 0
    sums.n = 0
    for i in range(node.n):
        if side < 0 or s.side[i] == side:
            add_row(s, node.row[i], sums.total)
            sums.worth += s.worth[node.row[i]]
            sums.mass += s.weight[node.row[i]]
            sums.n += 1
    return sums.worth - gain_of(s, sums.total) + s.penalty


cdef inline void sum_ranks(TreeSearch* s, const LevelNode* node, int side, int32_t view) noexcept nogil:
    """Find sums, numbers and weights of the rows of a side for each rank of a view."""
    cdef const int32_t* ranks = node.rank + <int64_t> view * node.n
    cdef int32_t i, rank
    memset(s.sums, 0, (<int64_t> node.n_ranks[view]) * s.lanes * sizeof(double))
    memset(s.sizes, 0, node.n_ranks[view] * sizeof(int32_t))
    memset(s.masses, 0, node.n_ranks[view] * sizeof(double))
    for i in range(node.n):
        if side < 0 or s.side[i] == side:
            rank = ranks[i]
            if s.kind == SIGNS:        # in place: small nodes spend a tenth of their time here
                s.sums[rank] += s.amount[node.row[i]]
            else:
                add_row(s, node.row[i], s.sums + <int64_t> rank * s.lanes)
            s.sizes[rank] += 1
            s.masses[rank] += s.weight[node.row[i]]
    s.cells += node.n


cdef inline int32_t sort_ranks(TreeSearch* s, int32_t n_ranks, int32_t one, int32_t other) noexcept nogil:
    """Sort the ranks that occur by their mean, or by their share of a lane less that of another; return their number."""
    cdef int32_t r, at
    cdef int32_t n = 0
    cdef double share
    for r in range(n_ranks):
        if s.sizes[r] == 0:
            continue
        share = s.sums[<int64_t> r * s.lanes + one]
        if s.kind == SCORES:
            share -= s.sums[<int64_t> r * s.lanes + other]
        share /= s.masses[r]
        at = n
        while at > 0 and s.share[at - 1] > share:
            s.share[at] = s.share[at - 1]
            s.sorted[at] = s.sorted[at - 1]
            at -= 1
        s.share[at] = share
        s.sorted[at] = r
        n += 1
    return n


cdef inline double group_ranks(
    TreeSearch* s, int32_t n_ranks, const SideSums* side, double budget, double* low, int32_t* chosen,
) noexcept nogil:
    """Cost of the best two groups of the ranks whose sums are found, if it is below the budget, else the budget.

    The groups are cuts of the ranks in the order of a share, for any two lanes.  `low` falls to the least cost with leaves of any
    size; `chosen` has the two lanes, and the number of ranks of the first group, or 0.
    """
    cdef int32_t one, other, at, n, k, n_first
    cdef int32_t lanes = s.lanes
    cdef double first[1024]
    cdef double rest[1024]
    cdef double mass, value
    cdef const double* sums
    chosen[2] = 0
    for one in range(lanes if s.kind == SCORES else 1):
        for other in range(one + 1, lanes if s.kind == SCORES else 2):
            if s.kind == SCORES and not s.has_least:
                value = side.worth - side.total[one] - side.total[other] + 2 * s.penalty
                if value >= max(budget, low[0]):
                    continue
            n = sort_ranks(s, n_ranks, one, other)
            memset(first, 0, lanes * sizeof(double))
            n_first = 0
            mass = 0
            for at in range(n - 1):
                sums = s.sums + <int64_t> s.sorted[at] * lanes
                n_first += s.sizes[s.sorted[at]]
                mass += s.masses[s.sorted[at]]
                for k in range(lanes):
                    first[k] += sums[k]
                    rest[k] = side.total[k] - first[k]
                value = max(side.worth - gain_of(s, first) - gain_of(s, rest) + 2 * s.penalty, 0)
                low[0] = min(low[0], value)
                if min(n_first, side.n - n_first) < s.min_leaf or min(mass, side.mass - mass) < s.min_weight:
                    continue
                if value < budget - s.tolerance:
                    budget = value
                    chosen[0], chosen[1], chosen[2] = one, other, at + 1
            s.cells += <int64_t> n * lanes
    return budget


cdef inline double stump(TreeSearch* s, const LevelNode* node, int side, LevelTest* test, double* low) noexcept nogil:
    """Cost of the best tree of one level on the rows of a side (`mark_sides`; -1: all); `low` is that with leaves of any size."""
    cdef int32_t view, cut, n_first, n_missing, k
    cdef int32_t chosen[3]
    cdef int32_t lanes = s.lanes
    cdef double mass_first, mass_missing
    cdef double first[1024]
    cdef double rest[1024]
    cdef double value, best
    cdef SideSums sums
    low[0] = best = sum_side(s, node, side, &sums)
    test.view = -1
    test.code = 0
    for view in range(s.n_views):
        if not node.active[view]:
            continue
        sum_ranks(s, node, side, view)
        memset(first, 0, lanes * sizeof(double))
        n_first = 0
        mass_first = 0
        mass_missing = s.masses[0] if s.nominal[view] and s.missing[view] >= 0 else 0
        n_missing = s.sizes[0] if s.nominal[view] and s.missing[view] >= 0 else 0
        for cut in range(count_cuts(s, node, view)):
            n_first = s.sizes[cut] + (n_first if not s.nominal[view] else n_missing if cut else 0)
            mass_first = s.masses[cut] + (mass_first if not s.nominal[view] else mass_missing if cut else 0)
            for k in range(lanes):
                value = s.sums[<int64_t> cut * lanes + k]
                if not s.nominal[view]:
                    value += first[k]
                elif n_missing and cut:
                    value += s.sums[k]
                first[k] = value
                rest[k] = sums.total[k] - value
            value = sums.worth - gain_of(s, first) - gain_of(s, rest) + 2 * s.penalty
            low[0] = min(low[0], value)
            if min(n_first, sums.n - n_first) < s.min_leaf or min(mass_first, sums.mass - mass_first) < s.min_weight:
                continue
            if value < best - s.tolerance:
                best = value
                test.view = view
                test.code = node.code[<int64_t> view * node.n + cut]
        if may_group(s, node, view):
            best = group_ranks(s, node.n_ranks[view], &sums, best, low, chosen)
            if chosen[2]:
                test.view = view
                test.code = GROUPS
    low[0] = max(low[0], 0)
    return max(best, 0)


cdef inline bint sides_are_large(const TreeSearch* s, const LevelNode* node, int32_t* sizes) noexcept nogil:
    """Count the rows of both sides (`mark_sides`); return whether each is large enough for a leaf."""
    cdef int32_t i
    cdef double masses[2]
    sizes[0] = sizes[1] = 0
    masses[0] = masses[1] = 0
    for i in range(node.n):
        sizes[s.side[i]] += 1
        masses[s.side[i]] += s.weight[node.row[i]]
    return min(sizes[0], sizes[1]) >= s.min_leaf and min(masses[0], masses[1]) >= s.min_weight


cdef inline double both_stumps(TreeSearch* s, const LevelNode* node, int32_t root, int32_t cut, LevelTest* tests) noexcept nogil:
    """Cost of the best tree of two levels with this root; infinity if a side is too small."""
    cdef double left, _low
    cdef int32_t sizes[2]
    mark_sides(s, node, root, cut)
    if not sides_are_large(s, node, sizes):
        return INFINITY
    left = stump(s, node, 0, &tests[1], &_low)
    tests[0].view = root
    tests[0].code = node.code[<int64_t> root * node.n + cut]
    return left + stump(s, node, 1, &tests[2], &_low)
