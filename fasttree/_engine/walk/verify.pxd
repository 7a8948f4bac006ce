"""Whether memory from outside is a tree as `walk/compact` reads it.  Header only.

All of it is checked before the first walk, so that every walk stays inside and ends.
"""

from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint32_t

from fasttree._engine.types cimport TO_SHARES, TO_STOP
from fasttree._engine.walk.compact cimport (
    BY_CATEGORY, BY_INTERVALS, BY_KNOWN, BY_LIST, BY_TABLE, BY_THRESHOLD, IN_EXTRA, IS_LEAF, MOST_IN_TABLE, NO_END, SHARED_OUT,
    WITH_EXTRA, Compact, Extra, Node, Operand, branches_of, end_of, feature_of, kind_of, told_of,
)
from fasttree._engine.walk.layout cimport CompactParts

cdef enum Fault:
    SOUND
    WRONG_KIND
    WRONG_FEATURE
    WRONG_LEAF
    WRONG_CHILDREN
    WRONG_THRESHOLD
    WRONG_MISSING
    WRONG_EXTRA
    WRONG_TABLE
    WRONG_CUTS
    WRONG_SURROGATE
    WRONG_WEIGHT
    WRONG_LENGTH


cdef inline Fault fault_of_test(
    const Compact* t, uint32_t kind, const Operand* operand, const uint32_t* n_categories, int32_t feature, int64_t n_branches,
    CompactParts* seen,
) noexcept nogil:
    """What is wrong with the operand of a test, which must follow those of earlier tests; a test on codes needs categories."""
    cdef uint32_t n = operand.place.n
    cdef uint32_t start = operand.place.start
    cdef int64_t i
    if kind == BY_THRESHOLD:
        return SOUND if isfinite(operand.threshold) else WRONG_THRESHOLD
    if kind == BY_KNOWN:
        return SOUND if operand.bits == 0 and n_branches == 2 else WRONG_KIND
    if kind == BY_INTERVALS:
        if start != seen.n_cuts or n < 1 or n + <int64_t> 1 != n_branches or n > t.n_cuts - seen.n_cuts:
            return WRONG_CUTS
        for i in range(n):
            if not isfinite(t.cut[start + i]) or (i and not t.cut[start + i] > t.cut[start + i - 1]):
                return WRONG_CUTS
        seen.n_cuts += n
        return SOUND
    if n_categories[feature] == 0:
        return WRONG_FEATURE
    if kind == BY_CATEGORY:
        return SOUND if start == 0 and n == n_branches else WRONG_KIND
    if kind == BY_TABLE:
        if start != seen.n_cells or not 1 <= n <= n_categories[feature] or n > t.n_cells - seen.n_cells:
            return WRONG_TABLE
        for i in range(n):
            if t.table[start + i] >= n_branches and t.table[start + i] != MOST_IN_TABLE:
                return WRONG_TABLE
        seen.n_cells += n
        return SOUND
    if kind != BY_LIST:
        return WRONG_KIND
    if start != seen.n_entries or n < 1 or n > t.n_entries - seen.n_entries:
        return WRONG_TABLE
    for i in range(start, <int64_t> start + n):
        if not 1 <= t.list_code[i] <= n_categories[feature] or (i > start and t.list_code[i] <= t.list_code[i - 1]):
            return WRONG_TABLE
        if not 0 <= t.list_branch[i] < n_branches:
            return WRONG_TABLE
    seen.n_entries += n
    return SOUND


cdef inline Fault fault_of_surrogates(
    const Compact* t, const Extra* extra, const uint32_t* n_categories, CompactParts* seen,
) noexcept nogil:
    cdef const Node* stand_in
    cdef uint32_t i, low
    if extra.n_surrogates == 0:
        return SOUND if extra.first_surrogate == 0 else WRONG_SURROGATE
    if extra.first_surrogate != seen.n_surrogates or extra.n_surrogates > t.n_surrogates - seen.n_surrogates:
        return WRONG_SURROGATE
    if extra.n_branches != 2:
        return WRONG_SURROGATE
    for i in range(extra.n_surrogates):
        stand_in = t.surrogate + extra.first_surrogate + i
        low = stand_in.test >> 28
        if feature_of(stand_in) >= t.n_features or stand_in.first_child:
            return WRONG_SURROGATE
        if kind_of(stand_in) != BY_THRESHOLD and kind_of(stand_in) != BY_TABLE and kind_of(stand_in) != BY_LIST:
            return WRONG_SURROGATE
        if low > <uint32_t> (kind_of(stand_in) == BY_THRESHOLD):
            return WRONG_SURROGATE
        if fault_of_test(t, kind_of(stand_in), &stand_in.operand, n_categories, feature_of(stand_in), 2, seen) != SOUND:
            return WRONG_SURROGATE
    seen.n_surrogates += extra.n_surrogates
    return SOUND


cdef inline Fault fault_of_inner(
    const Compact* t, int64_t i, const uint32_t* n_categories, CompactParts* seen, int64_t* n_branches, bint* shared_out,
) noexcept nogil:
    """What is wrong with an inner node but its children; writes their number and whether samples are shared out to them."""
    cdef const Node* node = &t.node[i]
    cdef const Extra* extra = NULL
    cdef uint32_t kind = kind_of(node) & ~<uint32_t> WITH_EXTRA
    cdef int64_t missing = node.test >> 28
    cdef Fault fault
    if feature_of(node) >= t.n_features:
        return WRONG_FEATURE
    if kind_of(node) & WITH_EXTRA:
        if (node.operand.place.start != seen.n_extras or node.operand.place.n or seen.n_extras == t.n_extras
                or missing != IN_EXTRA):
            return WRONG_EXTRA
        extra = &t.extra[seen.n_extras]
        seen.n_extras += 1
        missing = extra.missing
        if extra.spare or extra.end >= t.n_ends or (extra.end and missing != TO_STOP):
            return WRONG_EXTRA
    elif missing == IN_EXTRA:
        return WRONG_MISSING
    elif missing == SHARED_OUT:
        missing = TO_SHARES
    shared_out[0] = missing == TO_SHARES
    n_branches[0] = branches_of(t, node)
    if not TO_STOP <= missing < n_branches[0] or n_branches[0] < 2:
        return WRONG_MISSING
    if kind == BY_KNOWN and missing != 1:
        return WRONG_MISSING
    if kind == BY_THRESHOLD and n_branches[0] != (3 if missing == 2 else 2):
        return WRONG_KIND
    if missing == TO_SHARES and t.weight == NULL:
        return WRONG_WEIGHT
    fault = fault_of_test(t, kind, told_of(t, node), n_categories, feature_of(node), n_branches[0], seen)
    if fault != SOUND or extra == NULL:
        return fault
    if kind != BY_THRESHOLD:
        if extra.lower != 0 or extra.upper != 0:
            return WRONG_EXTRA
    elif not (
        isfinite(extra.lower) and isfinite(extra.upper) and extra.lower <= extra.operand.threshold
        and extra.operand.threshold <= extra.upper
    ):
        return WRONG_THRESHOLD
    if extra.lower < extra.upper and t.weight == NULL:
        return WRONG_WEIGHT
    return fault_of_surrogates(t, extra, n_categories, seen)


cdef inline Fault fault_of_weights(const Compact* t, int64_t first, int64_t n, bint shared_out) noexcept nogil:
    """Weights of children; if samples are shared out among them, they must weigh something together."""
    cdef double whole = 0
    cdef int64_t i
    for i in range(first, first + n):
        if not (isfinite(t.weight[i]) and t.weight[i] >= 0):
            return WRONG_WEIGHT
        whole += t.weight[i]
    return SOUND if not shared_out or (whole > 0 and isfinite(whole)) else WRONG_WEIGHT


cdef inline Fault fault_of(Compact* t, const uint32_t* n_categories, int64_t* where) noexcept nogil:
    """The first thing that is wrong with a tree, and its node; one pass, in which every part must be used up in order.

    Nodes are numbered breadth first, so each inner node's children begin where those before end: nothing leads back.
    Fills what walks need to know of the whole tree.
    """
    cdef CompactParts seen
    cdef const Node* node
    cdef int64_t i, n_branches
    cdef int64_t next_child = 1
    cdef int64_t level_stop = 1        # the first node below this level
    cdef int64_t depth = 0
    cdef int64_t most_branches = 1
    cdef bint shared_out
    cdef Fault fault
    seen.n_extras = seen.n_surrogates = seen.n_cells = seen.n_entries = seen.n_cuts = 0
    t.by_thresholds = True
    t.least = -1
    if t.weight != NULL and not (isfinite(t.weight[0]) and t.weight[0] >= 0):
        where[0] = 0
        return WRONG_WEIGHT
    for i in range(t.n_nodes):
        where[0] = i
        node = &t.node[i]
        if i == level_stop:
            level_stop = next_child
            depth += 1
        if i >= next_child:
            return WRONG_CHILDREN
        if kind_of(node) == IS_LEAF:
            if node.test or node.first_child != i or node.operand.bits >> 32 != NO_END or end_of(t, node) >= t.n_ends:
                return WRONG_LEAF
            if t.least < 0:
                t.least = <int32_t> depth
            continue
        fault = fault_of_inner(t, i, n_categories, &seen, &n_branches, &shared_out)
        if fault != SOUND:
            return fault
        if node.first_child != next_child or n_branches > t.n_nodes - next_child:
            return WRONG_CHILDREN
        if t.weight != NULL and fault_of_weights(t, next_child, n_branches, shared_out) != SOUND:
            return WRONG_WEIGHT
        next_child += n_branches
        most_branches = max(most_branches, n_branches)
        t.by_thresholds &= kind_of(node) == BY_THRESHOLD and node.test >> 28 < SHARED_OUT
    t.most_waiting = min(t.n_nodes, 1 + (depth + 1) * (most_branches - 1))
    if (
        next_child != t.n_nodes or seen.n_extras != t.n_extras or seen.n_surrogates != t.n_surrogates
        or seen.n_cells != t.n_cells or seen.n_entries != t.n_entries or seen.n_cuts != t.n_cuts
    ):
        return WRONG_LENGTH
    return SOUND
