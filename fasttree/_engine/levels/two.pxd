"""The best tree of two levels of a node.  Header only."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int16_t, int32_t, int64_t
from libc.string cimport memcpy, memset

from fasttree._engine.levels.nodes cimport add_row, both_stumps, count_cuts, may_group
from fasttree._engine.levels.records cimport (
    CELLS_AT_ONCE, FIRST_CUTS, SCORES, SIGNS, SQUARES, FoundTree, LevelNode, TreeSearch, LevelTest, cell_t,
)
from fasttree._engine.levels.scans cimport add_up, fasttree_raise_by_sums, scan, scan_groups


cdef inline void first_branches(
    const TreeSearch* s, const LevelNode* node, int32_t view, const cell_t* counts, cell_t* out,
) noexcept nogil:
    """Sums (lanes, tests) of the first branch of each test of a view, from the sums (lanes, ranks) of each rank."""
    cdef int32_t r, _k
    cdef int32_t n = count_cuts(s, node, view)
    cdef int32_t n_ranks = node.n_ranks[view]
    for _k in range(s.lanes):
        if s.nominal[view]:
            memcpy(out, counts, n * sizeof(cell_t))
            if s.missing[view] >= 0:
                for r in range(1, n):
                    out[r] += counts[0]
        else:
            add_up(counts, n, out)
        counts += n_ranks
        out += n


cdef inline void count_rows(
    const TreeSearch* s, const int32_t* along, const int32_t* rank, int32_t start, int32_t stop, int32_t n_ranks, cell_t* counts,
) noexcept nogil:
    """Add some rows of the root's order to the counts (lanes, ranks) of the second view."""
    cdef int32_t i, k, r
    cdef const cell_t* amount = <const cell_t*> s.amount_along
    if s.score != NULL:
        for i in range(start, stop):
            r = rank[along[i]]
            for k in range(s.lanes):
                counts[<int64_t> k * n_ranks + r] += <cell_t> (amount[i] * s.score[s.label_along[i] * s.lanes + k])
    elif s.kind == SIGNS:
        for i in range(start, stop):
            counts[rank[along[i]]] += amount[i]
    else:
        for i in range(start, stop):
            r = rank[along[i]]
            counts[<int64_t> s.label_along[i] * n_ranks + r] += amount[i]
            if s.kind == SQUARES:
                counts[<int64_t> (s.lanes - 1) * n_ranks + r] += <cell_t> s.weight_along[i]


cdef inline void sweep(
    TreeSearch* s, const LevelNode* node, int32_t root, int32_t view, int32_t n_cuts, cell_t* hint,
) noexcept nogil:
    """Scan a second view at the cuts in `s.cuts`, and raise the gains of their best pairs."""
    cdef int32_t lanes = s.lanes
    cdef int32_t i, cut
    cdef int32_t done = 0
    cdef int32_t m = count_cuts(s, node, view)
    cdef int32_t n_ranks = node.n_ranks[view]
    cdef const int32_t* rank = node.rank + <int64_t> view * node.n
    cdef const int32_t* along = node.order + <int64_t> root * node.n
    cdef cell_t* counts = <cell_t*> s.counts
    cdef cell_t* x = <cell_t*> s.prefix
    cdef const cell_t* whole = <cell_t*> s.totals + s.offset[view] * lanes
    cdef const cell_t* before = <cell_t*> s.before
    cdef double gains[2]
    memset(counts, 0, <int64_t> n_ranks * lanes * sizeof(cell_t))
    for i in range(n_cuts):
        cut = s.cuts[i]
        if s.nominal[root]:
            memset(counts, 0, <int64_t> n_ranks * lanes * sizeof(cell_t))
            done = s.ends[cut - 1] if cut else 0
            if cut and s.missing[root] >= 0:
                count_rows(s, along, rank, 0, s.ends[0], n_ranks, counts)
        count_rows(s, along, rank, done, s.ends[cut], n_ranks, counts)
        done = s.ends[cut]
        gains[0] = s.gain_left[i]
        gains[1] = s.gain_right[i]
        if cell_t is int16_t and s.kind == SIGNS and not s.nominal[view]:
            fasttree_raise_by_sums(counts, whole, m, before[0], before[1], x, gains)
        else:
            first_branches(s, node, view, counts, x)
            scan(s, m, x, whole, before, before + lanes, gains)
            if may_group(s, node, view):
                scan_groups(s, m, x, whole, before, before + lanes, gains)
        s.gain_left[i] = gains[0]
        s.gain_right[i] = gains[1]
        before += 2 * lanes
    s.cells += node.n + <int64_t> n_cuts * m * lanes


cdef inline void find_totals(TreeSearch* s, const LevelNode* node, cell_t* totals) noexcept nogil:
    """For every view find the sums of all rows in the first branch of each test."""
    cdef int32_t view, n_ranks
    cdef cell_t* counts = <cell_t*> s.counts
    for view in range(s.n_views):
        if node.active[view]:
            n_ranks = node.n_ranks[view]
            memset(counts, 0, <int64_t> n_ranks * s.lanes * sizeof(cell_t))
            gather_along(s, node, view, <cell_t*> s.amount_along)
            count_rows(
                s, node.order + <int64_t> view * node.n, node.rank + <int64_t> view * node.n, 0, node.n, n_ranks, counts,
            )
            first_branches(s, node, view, counts, totals + s.offset[view] * s.lanes)
    s.cells += <int64_t> s.n_views * node.n


cdef inline void gather_along(TreeSearch* s, const LevelNode* node, int32_t view, cell_t* amount) noexcept nogil:
    """Copy what the rows are, in the order of a view."""
    cdef const int32_t* order = node.order + <int64_t> view * node.n
    cdef int32_t i, row
    for i in range(node.n):
        row = node.row[order[i]]
        s.label_along[i] = s.label[row]
        amount[i] = <cell_t> s.amount[row]
        if s.kind == SQUARES:
            s.weight_along[i] = s.weight[row]


cdef inline void describe_root(TreeSearch* s, const LevelNode* node, int32_t root) noexcept nogil:
    """Find where the ranks of a root end in its order, and the worth of the rows in the first branch of each cut."""
    cdef const int32_t* order = node.order + <int64_t> root * node.n
    cdef const int32_t* rank = node.rank + <int64_t> root * node.n
    cdef int32_t i, cut
    cdef double worth = 0
    for i in range(node.n):
        worth += s.worth[node.row[order[i]]]
        s.ends[rank[order[i]]] = i + 1
        s.worth_before[rank[order[i]]] = worth
    if s.nominal[root]:
        for cut in range(node.n_ranks[root] - 1, 0, -1):
            s.worth_before[cut] -= s.worth_before[cut - 1]
            if s.missing[root] >= 0:
                s.worth_before[cut] += s.worth_before[0]
    for cut in range(node.n_ranks[root]):
        s.left[cut] = -1


cdef inline void find_before(TreeSearch* s, const LevelNode* node, int32_t root, int32_t n_cuts, cell_t* before) noexcept nogil:
    """For each cut in `s.cuts` find the sums of the rows before it, and of those behind it."""
    cdef const int32_t* order = node.order + <int64_t> root * node.n
    cdef int32_t i, j, k
    cdef int32_t done = 0
    cdef int32_t lanes = s.lanes
    cdef double sums[1024]
    memset(sums, 0, lanes * sizeof(double))
    for i in range(n_cuts):
        if s.nominal[root]:
            memset(sums, 0, lanes * sizeof(double))
            done = s.ends[s.cuts[i] - 1] if s.cuts[i] else 0
            if s.missing[root] >= 0 and s.cuts[i]:
                for j in range(s.ends[0]):
                    add_row(s, node.row[order[j]], sums)
        for j in range(done, s.ends[s.cuts[i]]):
            add_row(s, node.row[order[j]], sums)
        done = s.ends[s.cuts[i]]
        for k in range(lanes):
            before[(2 * <int64_t> i) * lanes + k] = <cell_t> sums[k]
            before[(2 * <int64_t> i + 1) * lanes + k] = <cell_t> (node.sums[k] - sums[k])
        s.gain_left[i] = s.gain_right[i] = 0


cdef inline double bound_side(
    const TreeSearch* s, double near, double far, double rows_between,
) noexcept nogil:
    """Least cost of one side: at least that of a cut with fewer rows on it, and of one with more, less those between."""
    return max(near, far - s.slack * rows_between) if s.slack > 0 else max(near, 0.0)


cdef inline int32_t choose_cuts(
    TreeSearch* s, const LevelNode* node, int32_t root, int32_t step, double best, double* excluded,
) noexcept nogil:
    """Choose the unknown cuts, each `step`-th, that known neighbours do not exclude; return their number.

    `excluded` becomes the least bound of the other unknown ones.
    """
    cdef int32_t n = count_cuts(s, node, root)
    cdef int32_t chosen = 0
    cdef int32_t low = -1
    cdef int32_t high = -1
    cdef int32_t cut
    cdef double left, right, far_left, far_right, near_left, near_right
    excluded[0] = INFINITY
    if s.nominal[root]:
        for cut in range(n):
            s.cuts[cut] = cut
        return n if step == 1 else 0
    cut = step // 2 - step
    while cut + step < n:
        cut += step
        if s.left[cut] >= 0:
            continue
        if high < cut:
            high = cut + 1
            low = cut - 1
            while high < n and s.left[high] < 0:
                high += 1
            while low >= 0 and s.left[low] < 0:
                low -= 1
        near_left, far_right = (s.left[low], s.right[low]) if low >= 0 else (0.0, 0.0)
        far_left, near_right = (s.left[high], s.right[high]) if high < n else (0.0, 0.0)
        left = bound_side(s, near_left, far_left, s.worth_before[high] - s.worth_before[cut] if high < n else 0)
        right = bound_side(s, near_right, far_right, s.worth_before[cut] - s.worth_before[low] if low >= 0 else 0)
        if left + right < best:
            s.cuts[chosen] = cut
            chosen += 1
        else:
            excluded[0] = min(excluded[0], left + right)
    return chosen


cdef inline double pair_cost(const TreeSearch* s, double worth, double gain, const cell_t* sums) noexcept nogil:
    """Cost of the best tree of one level: a leaf, or two."""
    cdef double own = 0
    cdef int32_t k
    if s.kind == SIGNS:
        own = fabs(<double> sums[0]) / 2
    elif s.kind == SCORES:
        for k in range(s.lanes):
            own = max(own, <double> sums[k])
    elif sums[s.lanes - 1] > 0:
        for k in range(s.lanes - 1):
            own += (<double> sums[k]) * sums[k]
        own /= sums[s.lanes - 1]
    return max(min(worth - own + s.penalty, worth - gain + 2 * s.penalty), 0.0)


cdef inline void look(TreeSearch* s) noexcept nogil:
    """Ask now and then whether the search is to end."""
    if s.cells > CELLS_AT_ONCE:
        s.cells = 0
        s.over = s.over or s.ask(s.watcher)


cdef inline double search_root(
    TreeSearch* s, const LevelNode* node, int32_t root, FoundTree* out, double* budget, cell_t* hint,
) noexcept nogil:
    """Find the best tree of two levels with this root if it costs less than `budget`, which then is its cost; return a bound."""
    cdef int32_t lanes = s.lanes
    cdef int32_t step = 1
    cdef int32_t n_cuts, view, i
    cdef cell_t* before = <cell_t*> s.before
    cdef double value, worth
    cdef double excluded = 0
    cdef double low = INFINITY
    cdef LevelTest tests[3]
    describe_root(s, node, root)
    gather_along(s, node, root, <cell_t*> s.amount_along)
    while not s.nominal[root] and count_cuts(s, node, root) > FIRST_CUTS * step * 2:
        step *= 4
    while step and not s.over:
        n_cuts = choose_cuts(s, node, root, step, budget[0], &excluded)
        if n_cuts:
            find_before(s, node, root, n_cuts, before)
            for view in range(s.n_views):
                if node.active[view]:
                    sweep(s, node, root, view, n_cuts, hint)
        for i in range(n_cuts):
            worth = s.worth_before[s.cuts[i]]
            s.left[s.cuts[i]] = pair_cost(s, worth, s.gain_left[i], before + 2 * <int64_t> i * lanes)
            s.right[s.cuts[i]] = pair_cost(s, node.worth - worth, s.gain_right[i], before + (2 * <int64_t> i + 1) * lanes)
            value = s.left[s.cuts[i]] + s.right[s.cuts[i]]
            low = min(low, value)
            if value < s.profile[root]:
                s.profile[root] = value
                s.profile_cut[root] = s.cuts[i]
            if value < budget[0] - s.tolerance:
                if s.has_least:
                    value = both_stumps(s, node, root, s.cuts[i], tests)
                    if value >= budget[0] - s.tolerance:
                        continue
                budget[0] = out.value = value
                out.tests[0].view = root
                out.tests[0].code = s.cuts[i]
        step //= 4
        look(s)
    return min(low, excluded)          # the last step looks at all cuts


cdef inline void two_levels(
    TreeSearch* s, const LevelNode* node, double budget, double* low, FoundTree* out, cell_t* hint,
) noexcept nogil:
    """Search a node for the best tree of two levels; `out.low` becomes a bound, `out.value` changes if it is below the budget.

    `low` has bounds of the roots, which become those that are known then; if it is NULL, all roots are searched.
    """
    cdef int32_t root
    cdef int32_t cut
    cdef double bound
    out.low = INFINITY
    find_totals(s, node, <cell_t*> s.totals)
    for root in range(s.n_views):
        s.profile[root] = INFINITY
        s.profile_cut[root] = 0
        if not node.active[root] or s.over:
            continue
        if low == NULL or low[root] < budget:
            bound = search_root(s, node, root, out, &budget, hint)
            if low != NULL:
                low[root] = max(low[root], bound)
        else:
            bound = low[root]
        out.low = min(out.low, bound)
    out.low = max(out.low, 0.0)
    if out.tests[0].view >= 0:         # a rank until here
        root, cut = out.tests[0].view, out.tests[0].code
        both_stumps(s, node, root, cut, out.tests)


cdef inline void search_two(TreeSearch* s, const LevelNode* node, double budget, double* low, FoundTree* out) noexcept nogil:
    """Call `two_levels` with the narrowest cells in which no sum overflows."""
    if s.kind == SQUARES or s.score != NULL or node.worth >= 2.0 ** 29:
        two_levels[double](s, node, budget, low, out, NULL)
    elif node.worth >= 16383:
        two_levels[int32_t](s, node, budget, low, out, NULL)
    else:
        two_levels[int16_t](s, node, budget, low, out, NULL)
