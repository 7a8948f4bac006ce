"""Nodes of grown trees as the 16-byte nodes of walks, and trees behind one another.  Header only."""

from libc.stdint cimport int64_t, uint32_t

from fasttree._engine.drawn.walk cimport PACKED_LEAF, PACKED_SUBSET, PackedNode
from fasttree._engine.memory cimport ARENA_LIMIT, map_memory, unmap_memory


cdef inline int write_nodes(const PackedNode* grown, int64_t n_grown, uint32_t root, PackedNode* out) noexcept nogil:
    """Number the nodes below a root breadth first; -1 if there is no memory."""
    cdef size_t size = (n_grown + 2) * sizeof(uint32_t)
    cdef uint32_t* order = <uint32_t*> map_memory(size, ARENA_LIMIT)
    cdef uint32_t child, has_children
    cdef int64_t n = 1
    cdef int64_t i
    if order == NULL:
        return -1
    order[0] = root
    for i in range(n_grown):           # without a jump that depends on a node
        out[i] = grown[order[i]]
        child = out[i].child
        has_children = out[i].kind != PACKED_LEAF
        order[n], order[n + 1] = child, child + 1
        out[i].child = <uint32_t> i + (<uint32_t> (n - i) & -has_children)
        n += 2 * has_children
    unmap_memory(order, size, ARENA_LIMIT)
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
