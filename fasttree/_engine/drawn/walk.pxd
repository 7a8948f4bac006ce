"""Walks over the 16-byte nodes of a forest.  Header only.

A leaf leads to itself, so that sixteen rows walk side by side without a jump until none of them moves.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from fasttree._engine.types cimport real_t


cdef enum:
    SIDE_BY_SIDE = 16

cdef enum PackedKind:
    PACKED_LEAF
    PACKED_THRESHOLD           # x <= threshold to the first child
    PACKED_SUBSET              # a set of categories to the first child
    PACKED_KNOWN               # known to the first child

cdef union PackedOperand:
    double threshold
    uint32_t pair[2]           # leaf: row of values, drawn samples; subset: place of its bits, words

cdef struct PackedNode:
    PackedOperand operand
    uint32_t child
    uint16_t feature
    uint8_t kind
    uint8_t missing            # branch of missing values


cdef struct PackedTrees:
    const PackedNode* nodes
    const int64_t* start       # first node of each tree
    const uint32_t* bits       # NULL: there are no sets of categories


cdef inline bint second_of_set(const PackedNode* node, const uint32_t* bits, double x) noexcept nogil:
    """The branch of a category, or of a value that may be missing."""
    cdef const uint32_t* known = bits + node.operand.pair[0]
    cdef uint32_t n_words = node.operand.pair[1]
    cdef uint32_t code
    if node.kind == PACKED_KNOWN:
        return x != x
    if not (x >= 0 and x < 32.0 * n_words):
        return node.missing
    code = <uint32_t> x
    if not known[code >> 5] >> (code & 31) & 1:
        return node.missing
    return not known[n_words + (code >> 5)] >> (code & 31) & 1


cdef inline void walk_several(
    const PackedNode* nodes, const uint32_t* bits, const char** row, Py_ssize_t column_stride, uint32_t* at, real_t like,
) noexcept nogil:
    """The leaves of SIDE_BY_SIDE rows with cells like `like`.  No `bits`: thresholds alone."""
    cdef const PackedNode* node
    cdef uint32_t moved = 1
    cdef uint32_t to
    cdef real_t x
    cdef int32_t i
    for i in range(SIDE_BY_SIDE):
        at[i] = 0
    while moved:
        moved = 0
        for i in range(SIDE_BY_SIDE):
            node = nodes + at[i]
            x = (<const real_t*> (row[i] + node.feature * column_stride))[0]
            if bits != NULL and node.kind > PACKED_THRESHOLD:
                to = node.child + second_of_set(node, bits, x)
            else:
                to = node.child + (node.kind & ((x > node.operand.threshold) | ((x != x) & node.missing)))
            moved |= to ^ at[i]
            at[i] = to
