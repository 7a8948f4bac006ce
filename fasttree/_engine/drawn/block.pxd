"""A private block: a copy of all that a node and those below it read, small enough for the processor's cache.  Header only.

In a large table, the rows of a small node are far apart, and each code comes from memory.  Every node below reads some columns,
so a copy of all of them pays after a few levels.  Rows are counted from 0 in a block.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fasttree._engine.drawn.gather cimport gather_all
from fasttree._engine.drawn.records cimport DrawnColumn, DrawnPlan, Here, Room, Waiting


cdef enum:
    BLOCK_BYTES = 1 << 20
    LEAST_BYTES = 1 << 23          # of a table with blocks: a smaller one fits into caches, or nearly
    LEVELS = 8                     # below the block, which pay for the copy
    LEAST_SHARE = 16               # nodes of fewer rows than this part of the largest have too few levels


cdef inline int64_t cells_of_row(const DrawnPlan* plan) noexcept nogil:
    """Bytes of a row in a block."""
    cdef int64_t size = 2 * plan.n_bundles + (0 if plan.n_classes else 2 * sizeof(double))
    cdef int32_t f
    for f in range(plan.n_features):
        if not plan.column[f].bundle:
            size += 4 if plan.column[f].wide else 2
    return size


cdef inline int64_t block_rows(const DrawnPlan* plan, int64_t n) noexcept nogil:
    """Rows of the largest node that gets a block, in a table of n rows; 0: blocks do not pay."""
    cdef int64_t size = cells_of_row(plan)
    if n * size < LEAST_BYTES or plan.n_features > <int64_t> LEVELS * plan.max_features:
        return 0
    return BLOCK_BYTES // max(size, 1)


cdef inline bint begins_block(const Here* h, const Waiting* waiting) noexcept nogil:
    """Whether a node is small enough for a block, and enough levels may follow."""
    cdef const DrawnPlan* plan = h.plan
    if waiting.n > plan.block_rows or <int64_t> waiting.n * LEAST_SHARE < plan.block_rows:
        return False
    return (plan.max_depth - waiting.depth) * plan.max_features > plan.n_features


cdef inline char* copy_codes(const DrawnColumn* column, const uint32_t* rows, int64_t n, char* out) noexcept nogil:
    """Gather the codes of some rows; returns the place behind them."""
    gather_all(column, rows, n, out)
    return out + (n * (4 if column.wide else 2) + 15) // 16 * 16


cdef inline char* copy_numbers(const double* numbers, const uint32_t* rows, int64_t n, char* out) noexcept nogil:
    cdef double* copy = <double*> out
    cdef int64_t i
    for i in range(n):
        copy[i] = numbers[rows[i]]
    return out + (n * sizeof(double) + 15) // 16 * 16


cdef inline void enter_block(Here* h, const Waiting* waiting, const uint64_t* constants) noexcept nogil:
    """Copy what the node reads; features that are constant in it are not read."""
    cdef Room* room = h.room
    cdef const DrawnPlan* shared = h.plan
    cdef DrawnPlan* own = &room.block
    cdef uint32_t* rows = room.rows + waiting.start
    cdef char* at = room.block_cells
    cdef int64_t n = waiting.n
    cdef DrawnColumn bundle
    cdef int64_t i
    cdef int32_t f
    own[0] = shared[0]
    own.column = room.block_column
    own.bundle = room.block_bundle
    own.row_of = room.block_row
    bundle.wide = False
    for f in range(shared.n_features):
        room.block_column[f] = shared.column[f]
        if not shared.column[f].bundle and not constants[f >> 6] >> (f & 63) & 1:
            room.block_column[f].codes = at
            at = copy_codes(&shared.column[f], rows, n, at)
    for f in range(shared.n_bundles):
        room.block_bundle[f] = shared.bundle[f]
        room.block_bundle[f].codes = <const int16_t*> at
        bundle.codes = <const char*> shared.bundle[f].codes
        at = copy_codes(&bundle, rows, n, at)
    if not shared.n_classes:
        own.target = <const double*> at
        at = copy_numbers(shared.target, rows, n, at)
        own.y = <const double*> at
        copy_numbers(shared.y, rows, n, at)
    memcpy(room.block_row, rows, n * sizeof(uint32_t))
    for i in range(n):
        rows[i] = <uint32_t> i
    h.plan = own


cdef inline uint32_t row_of_table(const Here* h, uint32_t row) noexcept nogil:
    return row if h.plan.row_of == NULL else h.plan.row_of[row]
