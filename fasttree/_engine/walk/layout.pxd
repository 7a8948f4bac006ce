"""How a finished tree becomes the memory of `walk/compact`.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from fasttree._engine.types cimport NODE_CATEGORY, NODE_INTERVALS, NODE_KNOWN, NODE_THRESHOLD, TO_SHARES, TO_STOP
from fasttree._engine.walk.compact cimport (
    BY_CATEGORY, BY_INTERVALS, BY_KNOWN, BY_LIST, BY_TABLE, BY_THRESHOLD, IN_EXTRA, LAST_IN_NODE, MOST_IN_TABLE, NO_END,
    SHARED_OUT, WITH_EXTRA, Extra, Node, Operand,
)
from fasttree._engine.walk.tree cimport Flat


cdef struct CompactParts:             # what is written, and how much of each there is; where `node` is NULL it is counted alone
    Node* node
    Extra* extra
    Node* surrogate
    uint8_t* table
    uint32_t* list_code
    int32_t* list_branch
    double* cut
    int64_t n_ends
    int64_t n_extras
    int64_t n_surrogates
    int64_t n_cells
    int64_t n_entries
    int64_t n_cuts


cdef inline uint32_t lay_out_table(
    CompactParts* parts, const uint32_t* code, const int32_t* branch, int64_t n, int32_t n_branches, Operand* operand,
) noexcept nogil:
    """Write a table as bytes by code, or as a list if that is smaller or no byte can hold a branch; return its kind."""
    cdef int64_t span = code[n - 1]
    cdef int64_t i
    if n_branches > MOST_IN_TABLE or span > 8 * n:
        operand.place.start, operand.place.n = <uint32_t> parts.n_entries, <uint32_t> n
        for i in range(n):
            if parts.node != NULL:
                parts.list_code[parts.n_entries + i] = code[i]
                parts.list_branch[parts.n_entries + i] = branch[i]
        parts.n_entries += n
        return BY_LIST
    operand.place.start, operand.place.n = <uint32_t> parts.n_cells, <uint32_t> span
    if parts.node != NULL:
        for i in range(span):
            parts.table[parts.n_cells + i] = MOST_IN_TABLE
        for i in range(n):
            parts.table[parts.n_cells + code[i] - 1] = <uint8_t> branch[i]
    parts.n_cells += span
    return BY_TABLE


cdef inline uint32_t lay_out_test(const Flat* t, int32_t i, CompactParts* parts, Operand* operand) noexcept nogil:
    """Write the operand of the test of an inner node; return its kind."""
    cdef int64_t start, j
    operand.bits = 0
    if t.kind[i] == NODE_THRESHOLD:
        operand.threshold = t.threshold[i]
        return BY_THRESHOLD
    if t.kind[i] == NODE_KNOWN:
        return BY_KNOWN
    if t.kind[i] == NODE_CATEGORY:
        operand.place.n = t.n_branches[i]
        return BY_CATEGORY
    if t.kind[i] == NODE_INTERVALS:
        start = t.cut_start[i]
        operand.place.start, operand.place.n = <uint32_t> parts.n_cuts, <uint32_t> (t.cut_start[i + 1] - start)
        if parts.node != NULL:
            for j in range(operand.place.n):
                parts.cut[parts.n_cuts + j] = t.cut[start + j]
        parts.n_cuts += operand.place.n
        return BY_INTERVALS
    start = t.table_start[i]
    return lay_out_table(
        parts, t.table_code + start, t.table_branch + start, t.table_start[i + 1] - start, t.n_branches[i], operand
    )


cdef inline void lay_out_surrogates(const Flat* t, int32_t i, CompactParts* parts) noexcept nogil:
    cdef int64_t s, start
    cdef uint32_t kind
    cdef Node stand_in
    for s in range(t.surrogate_start[i], t.surrogate_start[i + 1]):
        stand_in.first_child = 0
        stand_in.test = <uint32_t> t.surrogate_feature[s]
        if t.surrogate_kind[s] == NODE_THRESHOLD:
            kind = BY_THRESHOLD
            stand_in.operand.threshold = t.surrogate_threshold[s]
            stand_in.test |= <uint32_t> t.low_branch[s] << 28
        else:
            start = t.surrogate_table_start[s]
            kind = lay_out_table(
                parts, t.surrogate_code + start, t.surrogate_branch + start, t.surrogate_table_start[s + 1] - start, 2,
                &stand_in.operand,
            )
        stand_in.test |= kind << 24
        if parts.node != NULL:
            parts.surrogate[parts.n_surrogates] = stand_in
        parts.n_surrogates += 1


cdef inline void lay_out_inner(const Flat* t, int32_t i, uint32_t end, CompactParts* parts) noexcept nogil:
    """Write an inner node, and its extra record if it needs one; `end` is the prediction of what stops there."""
    cdef Node node
    cdef Extra extra
    cdef uint32_t kind = lay_out_test(t, i, parts, &node.operand)
    cdef bint is_table = kind == BY_TABLE or kind == BY_LIST
    cdef uint32_t usual = 3 if t.missing[i] == 2 else 2
    extra.operand = node.operand
    extra.lower = extra.upper = 0
    if kind == BY_THRESHOLD:
        extra.lower = t.threshold[i] if t.lower == NULL else t.lower[i]
        extra.upper = t.threshold[i] if t.upper == NULL else t.upper[i]
    extra.n_branches, extra.missing, extra.end = t.n_branches[i], t.missing[i], end
    extra.n_surrogates = extra.first_surrogate = extra.spare = 0
    if t.surrogate_start != NULL:
        extra.n_surrogates = <uint32_t> (t.surrogate_start[i + 1] - t.surrogate_start[i])
    if extra.n_surrogates:
        extra.first_surrogate = <uint32_t> parts.n_surrogates
        lay_out_surrogates(t, i, parts)
    node.first_child = t.first_child[i]
    if (
        extra.n_surrogates or extra.lower < extra.upper or extra.missing == TO_STOP or extra.missing > LAST_IN_NODE
        or (is_table and extra.n_branches != usual)
    ):
        if parts.node != NULL:
            parts.extra[parts.n_extras] = extra
        node.operand.bits = 0
        node.operand.place.start = <uint32_t> parts.n_extras
        node.test = (kind | WITH_EXTRA) << 24 | <uint32_t> IN_EXTRA << 28
        parts.n_extras += 1
    else:
        node.test = kind << 24 | <uint32_t> (SHARED_OUT if extra.missing == TO_SHARES else extra.missing) << 28
    node.test |= <uint32_t> t.feature[i]
    if parts.node != NULL:
        parts.node[i] = node


cdef inline void lay_out(const Flat* t, int64_t n_nodes, const uint32_t* end, CompactParts* parts) noexcept nogil:
    """Write a tree into parts that are large enough; `end` has the prediction of each node where samples end, in their order."""
    cdef int32_t i
    cdef uint32_t this_end
    for i in range(<int32_t> n_nodes):
        this_end = 0
        if t.missing[i] == TO_STOP:            # leaves, too
            this_end = end[parts.n_ends]
            parts.n_ends += 1
        if t.first_child[i] >= 0:
            lay_out_inner(t, i, this_end, parts)
        elif parts.node != NULL:
            parts.node[i].operand.bits = <uint64_t> NO_END << 32 | this_end
            parts.node[i].first_child, parts.node[i].test = i, 0
