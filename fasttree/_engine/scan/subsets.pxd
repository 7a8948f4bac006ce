"""The best division of categories into two groups.  Header only.

Few categories are divided in every possible way; more of them by a threshold along an order of `scan/orders`.  One category
against the rest is a search of its own.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._engine.random cimport mix
from fasttree._engine.risk.impurity cimport FIFTH_ROOT, tie_limit
from fasttree._engine.scan.cut cimport Division, bounds_of, no_cut, within
from fasttree._engine.scan.divisions cimport add_group, group_gain, start_left
from fasttree._engine.scan.orders cimport order_groups
from fasttree._engine.types cimport (
    BY_CHANCE, BY_CODE, BY_MEAN, BY_PARTITION, BY_PRINCIPAL, BY_SINGLE, DIRECTION, EXHAUSTIVE, GROUP_CUT, MEDIANS, NO_CUT,
    ONE_VS_REST, RISK_TIE, Bounds, Cut, Problem, Ranked, Scratch,
)
from fasttree._engine.watch cimport interrupted


cdef inline bint earlier_set(const uint8_t* a, const uint8_t* b, int64_t q) noexcept nogil:
    """Is the ascending list of groups on side 0 in `a` lexicographically before that in `b`?"""
    cdef int64_t g
    cdef int64_t first = -1
    for g in range(q):
        if a[g] != b[g]:
            first = g
            break
    if first < 0:
        return False
    # the list that goes on without this group is first only if it ends here
    for g in range(first + 1, q):
        if a[first] == 0 and b[g] == 0:
            return True
        if b[first] == 0 and a[g] == 0:
            return False
    return a[first] != 0


cdef inline bint earlier_single(const Cut* a, const Cut* b, int64_t q) noexcept nogil:
    """`earlier_set` for one group against the rest, without a look at the sets; of equal sets the one with `missing` right.

    {0} comes first.  All but g come before all but h if g > h: they go on with h where the others lack it.
    """
    cdef int64_t rank_a = q - a.position if a.position > 0 and q > 2 else 0
    cdef int64_t rank_b = q - b.position if b.position > 0 and q > 2 else 0
    return rank_a < rank_b or (rank_a == rank_b and a.missing > b.missing)


cdef inline void canonical_side(uint8_t* side, int64_t q) noexcept nogil:
    """Side 0 is the one that contains the lowest code."""
    cdef int64_t g
    if side[0] == 0:
        return
    for g in range(q):
        side[g] = 1 - side[g]


cdef inline void sides_by_chance(uint64_t key, int64_t q, uint8_t* side) noexcept nogil:
    """A random side for each of two or more groups; both sides get one."""
    cdef int64_t n_right = 0
    cdef int64_t g
    for g in range(q):
        side[g] = <uint8_t> (mix(key ^ <uint64_t> (g + 1)) & 1)
        n_right += side[g]
    if n_right == 0 or n_right == q:
        g = <int64_t> (mix(key) % <uint64_t> q)
        side[g] = 1 - side[g]


cdef inline void cut_side(const Problem* p, Scratch* s, int64_t q, const Cut* cut, uint8_t* side) noexcept nogil:
    """Write the side of every group under a GROUP_CUT: `at` ranks of an order, one group, or a mask."""
    cdef Ranked* ranked = s.ranked
    cdef int64_t g
    if cut.order == BY_PARTITION:
        for g in range(q):
            side[g] = 0 if (cut.mask >> g) & 1 else 1
    elif cut.order == BY_SINGLE:
        for g in range(q):
            side[g] = 0 if g == cut.position else 1
    elif cut.order == BY_CODE:
        for g in range(q):
            side[g] = 0 if g <= cut.position else 1
    elif cut.order == BY_CHANCE:
        sides_by_chance(cut.key, q, side)
    else:
        for g in range(q):
            side[ranked[g].group] = 0 if g <= cut.position else 1
    canonical_side(side, q)


cdef inline void offer_set(const Problem* p, Scratch* s, int64_t q, const Cut* candidate, Cut* best) noexcept nogil:
    """Let a partition compete: the lexicographically first set wins."""
    cut_side(p, s, q, candidate, s.group_side)
    if best.form == NO_CUT or earlier_set(s.group_side, s.best_side, q):
        best[0] = candidate[0]
        memcpy(s.best_side, s.group_side, q * sizeof(uint8_t))


cdef inline Cut halve(const Problem* p, Scratch* s, const Division* division, const Bounds* limits) noexcept nogil:
    """The first half of the categories against the others, if it is admissible; missing values go right."""
    cdef Cut cut = no_cut(division.feature)
    cdef int64_t q = division.n_groups
    cdef int64_t n_left = 0
    cdef int64_t w_left = 0
    cdef int64_t s_left = 0
    cdef int64_t g
    memset(s.left, 0, p.n_counts * sizeof(int64_t))
    for g in range((q + 1) // 2):
        add_group(p, s, g, 1, &n_left, &w_left, &s_left)
    if within(limits, n_left, w_left):
        cut.gain = group_gain(p, division.total, w_left, s_left, s.left, s.right)
        cut.first_gain = cut.gain
        cut.position = (q + 1) // 2 - 1
        cut.form = GROUP_CUT
        cut.order = BY_CODE
        cut.missing = 1
    return cut


cdef struct GroupSearch:           # for two groups: candidates compete by gain, then those near the largest gain by their set
    const Division* division
    Bounds limits
    bint choosing                  # the second turn
    bint ordered                   # groups are in the order that comes next
    double limit                   # gain that a candidate reaches in the second turn
    double largest                 # gain in the first turn, along the order in hand
    Cut candidate
    Cut best
    int64_t n_left                 # of the candidate: samples, weight, sum of the targets
    int64_t w_left
    int64_t s_left


cdef inline void move_to_left(const Problem* p, Scratch* s, GroupSearch* x, int64_t g, int64_t sign) noexcept nogil:
    add_group(p, s, g, sign, &x.n_left, &x.w_left, &x.s_left)


cdef inline void empty_left(const Problem* p, Scratch* s, GroupSearch* x, bint missing_left) noexcept nogil:
    start_left(p, s, x.division.missing, missing_left, &x.n_left, &x.w_left, &x.s_left)


cdef inline bint consider(const Problem* p, Scratch* s, GroupSearch* x) noexcept nogil:
    """Judge what is on the left: in the first turn note its gain; in the second, may it be chosen?"""
    if not within(&x.limits, x.n_left, x.w_left):
        return False
    x.candidate.gain = group_gain(p, x.division.total, x.w_left, x.s_left, s.left, s.right)
    if not x.choosing:
        x.largest = max(x.largest, x.candidate.gain)
        return False
    return x.candidate.gain >= x.limit


cdef inline void try_partitions(const Problem* p, Scratch* s, GroupSearch* x, bint missing_left) noexcept nogil:
    """Every partition; from one to the next a single group changes sides (Gray code)."""
    cdef int64_t q = x.division.n_groups
    cdef uint64_t n_codes = <uint64_t> 1 << (q - 1)
    cdef uint64_t previous = 0
    cdef uint64_t code, gray, changed
    cdef int64_t g
    empty_left(p, s, x, missing_left)
    move_to_left(p, s, x, 0, 1)
    x.candidate.missing = 1 - missing_left
    for code in range(n_codes):
        gray = code ^ (code >> 1)
        changed = gray ^ previous
        if changed:
            g = 0
            while not (changed >> g) & 1:
                g += 1
            move_to_left(p, s, x, g + 1, 1 if (gray >> g) & 1 else -1)
        previous = gray
        if gray != n_codes - 1 and consider(p, s, x):
            x.candidate.mask = (gray << 1) | 1
            offer_set(p, s, q, &x.candidate, &x.best)


cdef inline void try_singles(const Problem* p, Scratch* s, GroupSearch* x, bint missing_left) noexcept nogil:
    """Every group against the rest."""
    cdef int64_t g
    for g in range(x.division.n_groups):
        empty_left(p, s, x, missing_left)
        move_to_left(p, s, x, g, 1)
        if not consider(p, s, x):
            continue
        x.candidate.position = g
        # the side of group 0 is branch 0
        x.candidate.missing = missing_left if g > 0 else 1 - missing_left
        if x.best.form == NO_CUT or earlier_single(&x.candidate, &x.best, x.division.n_groups):
            x.best = x.candidate


cdef inline void try_thresholds(const Problem* p, Scratch* s, GroupSearch* x, bint missing_left) noexcept nogil:
    """Every cut of the order in hand."""
    cdef int64_t q = x.division.n_groups
    cdef int64_t rank
    empty_left(p, s, x, missing_left)
    for rank in range(q - 1):
        move_to_left(p, s, x, s.ranked[rank].group, 1)
        if not consider(p, s, x):
            continue
        x.candidate.position = rank
        cut_side(p, s, q, &x.candidate, s.group_side)
        # the side that the missing values joined may have become branch 1
        x.candidate.missing = missing_left if s.group_side[s.ranked[rank].group] == 1 else 1 - missing_left
        if x.best.form == NO_CUT or earlier_set(s.group_side, s.best_side, q) or (
            x.candidate.missing > x.best.missing and not earlier_set(s.best_side, s.group_side, q)
        ):
            x.best = x.candidate
            memcpy(s.best_side, s.group_side, q * sizeof(uint8_t))


cdef inline void try_order(const Problem* p, Scratch* s, GroupSearch* x, int32_t order) noexcept nogil:
    """All candidates of a `GroupOrder`, with the missing values on the right, and if they have a direction also on the left."""
    cdef const Division* division = x.division
    cdef bint with_missing = p.sweep != MEDIANS or p.parts.with_missing
    cdef int32_t missing_left
    x.candidate.order = order
    if order > BY_PARTITION and not x.ordered:
        order_groups(p, s, division.n_groups, order, division.total.n if with_missing else division.total.n + division.missing.n)
    for missing_left in range(2 if division.missing.n > 0 and p.missing == DIRECTION else 1):
        if order == BY_PARTITION:
            try_partitions(p, s, x, missing_left)
        elif order == BY_SINGLE:
            try_singles(p, s, x, missing_left)
        else:
            try_thresholds(p, s, x, missing_left)


cdef inline int32_t orders_of(const Problem* p, int64_t q, int32_t* orders) noexcept nogil:
    """How many `GroupOrder`s are tried, and the first; the others count up from it, and the principal one is the last."""
    cdef bint many = p.n_counts > 2 or (p.n_outputs > 1 and p.impurity != FIFTH_ROOT)  # one target has 2
    if p.nominal == ONE_VS_REST:
        orders[0] = BY_SINGLE
    elif not many:
        orders[0] = 1 if p.n_classes else BY_MEAN
    elif q <= EXHAUSTIVE and p.sweep != MEDIANS:
        orders[0] = BY_PARTITION
    else:
        orders[0] = 0
        return p.n_counts + (p.sweep != MEDIANS) - (p.impurity == FIFTH_ROOT)  # the squares are no target
    return 1


cdef inline Cut random_groups(const Problem* p, Scratch* s, const Division* division) noexcept nogil:
    """One random division of the categories that occur; missing values go to the side that gains more, on a tie right."""
    cdef Cut cut = no_cut(division.feature)
    cdef Bounds limits = bounds_of(p, division.total.n, division.total.weight, False)
    cdef int64_t q = division.n_groups
    cdef int64_t n_left = 0
    cdef int64_t w_left = 0
    cdef int64_t s_left = 0
    cdef int64_t g
    cdef int32_t missing_left
    cdef double gain
    if q < 2:
        return cut
    cut.order = BY_CHANCE
    cut.key = division.chance
    cut_side(p, s, q, &cut, s.best_side)
    for missing_left in range(2 if division.missing.n > 0 and p.missing == DIRECTION else 1):
        start_left(p, s, division.missing, missing_left, &n_left, &w_left, &s_left)
        for g in range(q):
            if s.best_side[g] == 0:
                add_group(p, s, g, 1, &n_left, &w_left, &s_left)
        if not within(&limits, n_left, w_left):
            continue
        gain = group_gain(p, division.total, w_left, s_left, s.left, s.right)
        if cut.form == NO_CUT or cut.gain < tie_limit(gain, division.total.risk):
            cut.form = GROUP_CUT
            cut.gain = gain
            cut.missing = -1 if division.missing.n == 0 else 1 - missing_left
    cut.first_gain = cut.gain
    return cut


cdef inline Cut best_groups(const Problem* p, Scratch* s, const Division* division) noexcept nogil:
    """Best division of the categories into two groups.

    Two classes or a numeric target: one of the q - 1 cuts of the order by class share or mean (Breiman et al. 1984, theorem 4.5);
    for the fifth root of the variance this is a good one, and need not be the best.
    More classes, several targets: every partition up to ten categories, above the principal order and those by class or target.
    Absolute error: the cuts of the order by median of each target, which are good ones and need not hold the best.
    Where no division of more than ten categories gains anything: the first half of them.
    """
    cdef GroupSearch x
    cdef int64_t q = division.n_groups
    cdef double risk = division.total.risk
    cdef double largest = -INFINITY
    cdef bint every = division.at_least == -INFINITY
    cdef int32_t first, n_orders, o
    cdef bint by_axis
    x.best = no_cut(division.feature)
    if q < 2:
        return x.best
    x.division = division
    x.limits = bounds_of(p, division.total.n, division.total.weight, False)
    x.candidate = no_cut(division.feature)
    x.candidate.form = GROUP_CUT
    x.choosing = False
    x.ordered = False
    x.limit = division.at_least
    n_orders = orders_of(p, q, &first)
    by_axis = n_orders > 1 and p.sweep != MEDIANS
    for o in range(n_orders if every else 0):
        if interrupted(s.watch, q * p.width):
            return no_cut(division.feature)
        x.largest = -INFINITY
        try_order(p, s, &x, BY_PRINCIPAL if by_axis and o == n_orders - 1 else first + o)
        s.order_gain[o] = x.largest
        largest = max(largest, x.largest)
    if every:
        if largest < division.known or largest == -INFINITY:
            return x.best
        x.limit = tie_limit(largest, risk)
        if largest <= RISK_TIE * risk and q > EXHAUSTIVE and p.nominal != ONE_VS_REST and p.sweep != MEDIANS:
            # the categories are all alike: to take off one after the other would make a chain of nodes
            x.best = halve(p, s, division, &x.limits)
    x.choosing = True
    x.ordered = every and n_orders == 1
    for o in range(n_orders if x.best.form == NO_CUT else 0):
        if interrupted(s.watch, q * p.width):
            return no_cut(division.feature)
        if not every or s.order_gain[o] >= x.limit:
            try_order(p, s, &x, BY_PRINCIPAL if by_axis and o == n_orders - 1 else first + o)
    if x.best.form != NO_CUT:
        x.best.first_gain = x.best.gain
        if every:
            x.best.gain = largest
        if division.missing.n == 0:
            x.best.missing = -1
    return x.best
