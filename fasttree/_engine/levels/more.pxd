"""The best tree of any number of levels of a node: branch and bound above two levels.  Header only."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from fasttree._engine.levels.kept cimport keep, recall
from fasttree._engine.levels.nodes cimport (
    count_cuts, gain_of, least_cost, mark_sides, sides_are_large, stump, take_rows, take_views,
)
from fasttree._engine.levels.records cimport (
    GROUPS, MARGIN, MOST_TESTS, WIDE, CutRange, FoundTree, LevelNode, LevelTest, SearchedRoot, TreeSearch,
)
from fasttree._engine.levels.similar cimport add_similar, bound_by_similar, lows_of, mark_rows
from fasttree._engine.levels.two cimport bound_side, describe_root, look, search_two


cdef inline void join(FoundTree* out, LevelTest root, const FoundTree* left, const FoundTree* right, int depth) noexcept nogil:
    """Put two trees of less than `depth` levels below a root; tests are numbered level by level."""
    cdef int level, i, first, width
    out.tests[0] = root
    for level in range(depth - 1):
        width = 1 << level
        first = width - 1
        for i in range(width):
            out.tests[2 * width - 1 + i] = left.tests[first + i]
            out.tests[3 * width - 1 + i] = right.tests[first + i]


cdef inline double bound_cut(
    const TreeSearch* s, const SearchedRoot* root, const CutRange* c, int32_t cut, double* low,
) noexcept nogil:
    """Bound the costs on both sides of a cut by those of the neighbours of its interval; return the sum."""
    low[0] = bound_side(s, c.near_left, c.far_left, c.worth_high - root.worth_before[cut])
    low[1] = bound_side(s, c.near_right, c.far_right, root.worth_before[cut] - c.worth_low)
    return low[0] + low[1]


cdef inline void try_cut(
    TreeSearch* s, LevelNode* node, const SearchedRoot* root, int32_t cut, double* low, FoundTree* out, double* budget,
) noexcept nogil:
    """Search both sides of a cut, the smaller one first; `low` has a bound of each side, and becomes what is known then.

    If the first side alone costs too much, so do the cuts of the interval `root.cuts` where it has more rows; if the other one
    costs too much, too, so do all others.
    """
    cdef const CutRange* c = root.cuts
    cdef LevelNode* child = &s.nodes[root.depth - 2]
    cdef FoundTree found[2]
    cdef double least
    cdef LevelTest test
    cdef int32_t sizes[2]
    cdef int side, turn, first
    cdef bint large
    mark_sides(s, node, root.view, cut)
    large = sides_are_large(s, node, sizes)
    found[0].value = found[1].value = INFINITY
    first = sizes[1] < sizes[0]
    for turn in range(2):
        side = first ^ turn
        least = low[1 - side]
        if turn and c != NULL and low[side] + least >= budget[0] - s.tolerance:
            least = c.near_right if side == 0 else c.near_left
            if (c.high - cut if side == 0 else cut - c.low) < WIDE:
                return
        if s.over or low[side] + least >= budget[0] - s.tolerance:
            return
        if turn:
            mark_sides(s, node, root.view, cut)
        take_rows(s, node, child, side)
        solve(s, child, node, root.depth - 1, budget[0] - least, &found[side])
        low[side] = max(low[side], found[side].low)
    if found[0].value + found[1].value < budget[0] - s.tolerance and large:
        test.view = root.view
        test.code = node.code[<int64_t> root.view * node.n + cut]
        out.value = budget[0] = found[0].value + found[1].value
        join(out, test, &found[0], &found[1], root.depth)


cdef inline double try_cuts(
    TreeSearch* s, LevelNode* node, SearchedRoot* root, double whole, int32_t start, FoundTree* out, double* budget,
) noexcept nogil:
    """Search the cuts of an ordered root, first `start`, and return a bound of all.

    `whole` bounds the cost of all rows with a level less than `depth`.
    """
    cdef int32_t n_open = 1
    cdef int32_t cut, end
    cdef double bound
    cdef double least = INFINITY
    cdef CutRange c
    cdef double low[2]
    c.low, c.high = 0, root.n_cuts - 1
    c.near_left = c.near_right = 0
    c.far_left = c.far_right = whole
    c.worth_low, c.worth_high = 0, node.worth
    root.stack[0] = c
    while n_open:
        n_open -= 1
        c = root.stack[n_open]
        for end in range(2):
            while c.low <= c.high:
                bound = bound_cut(s, root, &c, c.high if end else c.low, low)
                if bound < budget[0] - s.tolerance:
                    break
                least = min(least, bound)
                if end:
                    c.high -= 1
                else:
                    c.low += 1
        if c.low > c.high or s.over:
            continue
        cut = min(max(start, c.low), c.high) if start >= 0 else (c.low + c.high) // 2
        start = -1
        bound_cut(s, root, &c, cut, low)
        root.cuts = &c
        try_cut(s, node, root, cut, low, out, budget)
        least = min(least, low[0] + low[1])
        root.stack[n_open] = c
        root.stack[n_open].high = cut - 1
        root.stack[n_open].far_left, root.stack[n_open].near_right = low[0], low[1]
        root.stack[n_open].worth_high = root.worth_before[cut]
        root.stack[n_open + 1] = c
        root.stack[n_open + 1].low = cut + 1
        root.stack[n_open + 1].near_left, root.stack[n_open + 1].far_right = low[0], low[1]
        root.stack[n_open + 1].worth_low = root.worth_before[cut]
        n_open += 2
    root.cuts = NULL                   # a view of codes may be searched next, which has no intervals
    return least


cdef inline double try_codes(
    TreeSearch* s, LevelNode* node, const SearchedRoot* root, double whole, FoundTree* out, double* budget,
) noexcept nogil:
    """Search the tests of one code against the rest, and return a bound of all."""
    cdef double low[2]
    cdef double least = INFINITY
    cdef int32_t cut
    for cut in range(root.n_cuts):
        low[0] = bound_side(s, 0, whole, node.worth - root.worth_before[cut])
        low[1] = bound_side(s, 0, whole, root.worth_before[cut])
        try_cut(s, node, root, cut, low, out, budget)
        least = min(least, low[0] + low[1])
    return least


cdef inline void search_more(
    TreeSearch* s, LevelNode* node, int depth, double budget, double* low, FoundTree* out,
) noexcept nogil:
    """Search a node for the best tree of three or more levels.

    `low` has bounds of the roots, which become those that are known then; the last one is of trees of one level.
    """
    cdef FoundTree two
    cdef double* profile = s.saved_profile + <int64_t> depth * s.n_views
    cdef int32_t* start = s.saved_cut + <int64_t> depth * s.n_views
    cdef int32_t view, i, _turn
    cdef double whole, bound
    cdef SearchedRoot root
    two.value = INFINITY
    two.tests[0].view = -1
    search_two(s, node, budget, NULL, &two)
    whole = min(two.low, low[s.n_views]) if depth == 3 else 0
    if two.value < budget:
        clear(&out.tests[0], MOST_TESTS)
        memcpy(out.tests, two.tests, 3 * sizeof(LevelTest))
        out.value = budget = two.value
    memcpy(profile, s.profile, s.n_views * sizeof(double))
    memcpy(start, s.profile_cut, s.n_views * sizeof(int32_t))
    out.low = INFINITY
    root.depth = depth
    root.cuts = NULL
    root.worth_before = s.saved_worth + <int64_t> depth * (s.n_rows + 1)
    root.stack = s.stack + <int64_t> depth * (s.n_rows + 2)
    for _turn in range(s.n_views):
        view = -1
        for i in range(s.n_views):
            if profile[i] >= 0 and node.active[i] and (view < 0 or profile[i] < profile[view]):
                view = i
        if view < 0 or s.over:
            break
        profile[view] = -1
        if low[view] >= budget:
            out.low = min(out.low, low[view])
            continue
        describe_root(s, node, view)
        root.view = view
        root.n_cuts = count_cuts(s, node, view)
        memcpy(root.worth_before, s.worth_before, node.n_ranks[view] * sizeof(double))
        if s.nominal[view]:
            bound = try_codes(s, node, &root, whole, out, &budget)
        else:
            bound = try_cuts(s, node, &root, whole, start[view], out, &budget)
        low[view] = max(low[view], bound)
        out.low = min(out.low, low[view])


cdef inline void clear(LevelTest* tests, int n) noexcept nogil:
    cdef int i
    for i in range(n):
        tests[i].view = -1
        tests[i].code = 0


cdef inline double try_groups(TreeSearch* s, const LevelNode* node, FoundTree* out, double* budget) noexcept nogil:
    """Take the best tree of one level if it costs less than the budget; return its cost with leaves of any size.

    Trees of more levels are built of tests of one category, so that tests of groups are missing at their root.
    """
    cdef double value
    cdef double low = INFINITY
    cdef LevelTest test
    if s.has_groups:
        value = stump(s, node, -1, &test, &low)
        if value < budget[0] - s.tolerance and test.view >= 0:
            clear(out.tests, MOST_TESTS)
            out.tests[0] = test
            out.value = budget[0] = value
    return low


cdef inline void solve(
    TreeSearch* s, LevelNode* node, const LevelNode* parent, int depth, double budget, FoundTree* out,
) noexcept nogil:
    """Find the best tree of a node whose rows are taken, if it costs less than the budget, and a bound.

    Unless the search is over, `out.value` is the optimum or infinity; with leaves of any size, a finite value equals `out.low`.
    """
    cdef double least = least_cost(s, node, depth)
    cdef double leaf = node.worth - gain_of(s, node.sums) + s.penalty
    cdef double* low = NULL
    cdef FoundTree two
    clear(out.tests, MOST_TESTS)
    out.value = leaf if leaf < budget - s.tolerance else INFINITY
    out.low = min(least, leaf)
    if least >= min(leaf, budget) - s.tolerance or node.n < 2:
        out.low = leaf if node.n < 2 else out.low
        return
    if depth > 1 and recall(s, node, depth, budget, out):
        return
    if depth > 1:
        low = lows_of(s, depth)
        mark_rows(s, node, depth)
        least = bound_by_similar(s, node, depth, least)
        out.low = min(least, leaf)
        if least >= min(leaf, budget) - s.tolerance:
            out.value = leaf if leaf < budget - s.tolerance else INFINITY
            return
    if parent != NULL:
        take_views(s, parent, node)
    look(s)
    if s.over:
        return
    if depth == 2:
        budget += node.n * s.unit / MARGIN
    out.value = leaf if leaf < budget else INFINITY
    budget = min(budget, leaf)
    if depth == 1:
        out.value = stump(s, node, -1, &out.tests[0], &out.low)
    else:
        low[s.n_views] = try_groups(s, node, out, &budget)
        if depth == 2:
            two.value = INFINITY
            clear(two.tests, MOST_TESTS)
            search_two(s, node, budget, low, &two)
            if two.value < INFINITY:
                out[0] = two
            out.low = two.low
        else:
            search_more(s, node, depth, budget, low, out)
        out.low = min(out.low, min(low[s.n_views], leaf))
    out.low = least if s.over else max(out.low, least)
    keep(s, node, depth, out)
    if depth > 1 and not s.over:
        add_similar(s, node, depth, out.low)


cdef inline void look_ahead_at(
    TreeSearch* s, LevelNode* node, int32_t view, int32_t cut, int depth, FoundTree* out,
) noexcept nogil:
    """Find a tree by a cut of which both sides look ahead; its value is infinity if a leaf would be too small."""
    cdef LevelNode* child = &s.nodes[depth - 2]
    cdef FoundTree found[2]
    cdef LevelTest test
    cdef int32_t sizes[2]
    cdef int side
    out.value = INFINITY
    mark_sides(s, node, view, cut)
    if not sides_are_large(s, node, sizes):
        return
    for side in range(2):
        mark_sides(s, node, view, cut)
        take_rows(s, node, child, side)
        look_ahead(s, child, node, depth - 1, &found[side])
    test.view = view
    test.code = node.code[<int64_t> view * node.n + cut]
    out.value = found[0].value + found[1].value
    join(out, test, &found[0], &found[1], depth)


cdef inline void look_ahead(TreeSearch* s, LevelNode* node, const LevelNode* parent, int depth, FoundTree* out) noexcept nogil:
    """Find a tree of which every root is that of the best tree of two levels; `out.low` is not set."""
    cdef FoundTree more
    cdef int32_t cut = 0
    if depth == 2 or node.n < 2:
        solve(s, node, parent, 2, INFINITY, out)
        return
    take_views(s, parent, node)
    solve(s, node, NULL, 2, INFINITY, out)
    if s.over or out.tests[0].view < 0 or out.tests[0].code == GROUPS:
        return
    while node.code[<int64_t> out.tests[0].view * node.n + cut] != out.tests[0].code:
        cut += 1
    look_ahead_at(s, node, out.tests[0].view, cut, depth, &more)
    if more.value < out.value - s.tolerance:
        out[0] = more
