"""Nodes of grown trees as the 16-byte nodes of walks, and trees behind one another.  Header only."""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc

from fasttree._engine.drawn.records cimport BY_GROUP, BY_KNOWN, Grown, Room
from fasttree._engine.drawn.walk cimport PACKED_KNOWN, PACKED_LEAF, PACKED_SUBSET, PACKED_THRESHOLD, PackedNode


cdef inline int write_nodes(const Room* room, PackedNode* out) noexcept nogil:
    """Number the nodes breadth first; -1 if there is no memory."""
    cdef const Grown* grown
    cdef uint32_t* order = <uint32_t*> malloc(room.n_grown * sizeof(uint32_t))
    cdef int64_t n = 1
    cdef int64_t i
    if order == NULL:
        return -1
    order[0] = 0
    for i in range(room.n_grown):
        grown = &room.grown[order[i]]
        out[i].feature = grown.feature
        out[i].missing = grown.missing
        if grown.child == 0:
            out[i].child = <uint32_t> i
            out[i].kind = 0
            out[i].missing = 0
            out[i].operand.pair[0] = grown.operand.low
            out[i].operand.pair[1] = grown.weight
            continue
        out[i].child = <uint32_t> n
        order[n], order[n + 1] = grown.child, grown.child + 1
        n += 2
        if grown.form == BY_GROUP:
            out[i].kind = PACKED_SUBSET
            out[i].operand.pair[0] = grown.operand.low
            out[i].operand.pair[1] = grown.words
        elif grown.form == BY_KNOWN:
            out[i].kind = PACKED_KNOWN
            out[i].missing = 1
            out[i].operand.threshold = INFINITY
        else:
            out[i].kind = PACKED_THRESHOLD
            out[i].operand.threshold = grown.operand.threshold
    free(order)
    return 0


cdef inline void move_nodes(
    const PackedNode* nodes, int64_t n, uint32_t n_pure, uint32_t n_values, uint32_t n_bits, PackedNode* out,
) noexcept nogil:
    """Copy nodes whose values and bits come after those of other trees; `n_pure` rows of values are common to all."""
    cdef uint32_t low
    cdef int64_t i
    for i in range(n):                 # without a jump that depends on a node
        out[i] = nodes[i]
        low = nodes[i].operand.pair[0]
        out[i].operand.pair[0] = (
            low
            + (n_values & -<uint32_t> ((nodes[i].kind == PACKED_LEAF) & (low >= n_pure)))
            + (n_bits & -<uint32_t> (nodes[i].kind == PACKED_SUBSET))
        )
