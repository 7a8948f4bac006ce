"""A node of two rows: the first drawn feature in which they differ divides them, and no cut is better.  Header only.

A third of the inner nodes of a full tree are such, and the totals that other nodes need would cost more than the search.
"""

from libc.stdint cimport int16_t, int32_t, uint16_t, uint32_t, uint64_t

from fasttree._engine.columns.cells cimport midpoint
from fasttree._engine.drawn.block cimport row_of_table
from fasttree._engine.drawn.chance cimport threshold_between, value_in
from fasttree._engine.drawn.gather cimport draw, undo_draws
from fasttree._engine.drawn.records cimport NARROW_BASE, DrawnColumn, DrawnPlan, Here, Room, Waiting
from fasttree._engine.drawn.totals cimport end_single, more
from fasttree._engine.drawn.walk cimport PACKED_THRESHOLD, PackedNode
from fasttree._engine.random cimport mix
from fasttree._engine.types cimport RELATIVE_TIE


cdef inline int32_t code_in(const DrawnPlan* plan, const DrawnColumn* column, uint32_t row) noexcept nogil:
    """The code of a row, less the base."""
    cdef bint is_rare
    if column.bundle:
        is_rare = plan.bundle[column.bundle - 1].codes[row] == column.member
        return 1 + (is_rare == column.rare_is_high)
    if column.wide:
        return (<const int32_t*> column.codes)[row]
    return <int32_t> (<const int16_t*> column.codes)[row] - NARROW_BASE


cdef inline bint is_couple(const Here* h, const Waiting* waiting) noexcept nogil:
    """Whether a node has two rows of different targets, and its limits let any cut divide them."""
    cdef const DrawnPlan* plan = h.plan
    if h.n != 2 or not plan.plain or h.rows_count or waiting.depth >= plan.max_depth or plan.min_samples_split > 2:
        return False
    if plan.n_classes:
        return h.bags[0] >> 16 != h.bags[1] >> 16
    return plan.target[h.rows[0]] != plan.target[h.rows[1]]


cdef inline double gain_of_couple(const Here* h, double left, double right) noexcept nogil:
    """The risk of two rows, drawn so many times."""
    cdef double difference
    if h.plan.n_classes:
        return 2 * left * right / (left + right)
    difference = h.plan.target[h.rows[0]] - h.plan.target[h.rows[1]]
    return left * right / (left + right) * difference * difference


cdef inline int split_couple(Here* h, const Waiting* waiting, const uint64_t* constants) noexcept nogil:
    """Divide the rows into two leaves; 0 if nothing divides them, or the gain is too small, and -1 if there is no memory."""
    cdef Room* room = h.room
    cdef const DrawnPlan* plan = h.plan
    cdef const DrawnColumn* column
    cdef uint64_t state = waiting.key
    cdef uint64_t chance = mix(waiting.key)
    cdef uint32_t child = <uint32_t> room.n_grown
    cdef int32_t n_drawn = 0
    cdef int32_t feature = 0
    cdef int32_t first = 0
    cdef int32_t second = 0
    cdef int32_t lower
    cdef double left, right, gain, low, high
    cdef PackedNode* node
    while n_drawn < plan.n_features and first == second:
        feature = draw(room, n_drawn, plan.n_features, &state)
        n_drawn += 1
        if not constants[feature >> 6] >> (feature & 63) & 1:
            first = code_in(plan, &plan.column[feature], h.rows[0])
            second = code_in(plan, &plan.column[feature], h.rows[1])
    undo_draws(room, n_drawn)
    lower = second < first
    left = <double> (h.bags[lower] & 0xFFFF)
    right = <double> (h.bags[1 - lower] & 0xFFFF)
    gain = gain_of_couple(h, left, right)
    if first == second or gain < plan.min_gain * (1 - RELATIVE_TIE):
        return 0
    if more(<void**> &room.grown, &room.grown_room, room.n_grown + 2, sizeof(PackedNode)):
        return -1
    column = &plan.column[feature]
    low = value_in(column, min(first, second), row_of_table(h, h.rows[lower]))
    high = value_in(column, max(first, second), row_of_table(h, h.rows[1 - lower]))
    node = &room.grown[waiting.node]
    node.operand.threshold = threshold_between(low, high, &chance) if plan.random else midpoint(low, high)
    node.child = child
    node.feature = <uint16_t> feature
    node.kind = PACKED_THRESHOLD
    node.missing = left <= right
    room.n_grown += 2
    if end_single(h, waiting.start + lower, child) or end_single(h, waiting.start + 1 - lower, child + 1):
        return -1
    return 1
