"""Cuts inside the bins that may still hold the best one.  Header only."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from fasttree._engine.columns.keys cimport sort_records
from fasttree._engine.drawn.gains cimport LeftSide, may_be_better, sweep
from fasttree._engine.drawn.gather cimport code_at
from fasttree._engine.drawn.records cimport (
    MANY_CLASSES, MOST_CELLS, NARROW_BASE, DrawnColumn, BinEdges, Here, drawn_t,
)


cdef inline int64_t pick(
    const Here* h, const BinEdges* e, const drawn_t* codes, int32_t base, const uint8_t* marked, uint64_t* items,
) noexcept nogil:
    """The rows of marked bins: code << 32 | place."""
    cdef int32_t low = e.drawn.low + base
    cdef int32_t shift = e.shift
    cdef int64_t n_rows = h.n
    cdef int64_t n = 0
    cdef int64_t i
    for i in range(n_rows):
        items[n] = <uint64_t> (<int32_t> codes[i] - base) << 32 | <uint64_t> i
        n += marked[(<int32_t> codes[i] - low) >> shift]
    return n


cdef inline void pass_bin(const Here* h, const BinEdges* e, int32_t bin, int64_t* n_left) noexcept nogil:
    """Add a bin to what is on the left of the next one."""
    cdef const uint32_t* cell = e.cells + <size_t> bin * h.n_classes
    cdef int32_t k
    if h.rows_count:
        n_left[0] += e.rows[bin]
    for k in range(h.n_classes if h.kind == MANY_CLASSES else 0):
        h.room.before[k] += cell[k]


cdef inline LeftSide side_before(const Here* h, const BinEdges* e, int32_t bin, int64_t n_left) noexcept nogil:
    """What is on the left of a bin; bins before it have been passed."""
    cdef LeftSide side
    cdef int64_t left, right
    cdef int32_t k
    side.n = n_left
    side.weight = 0
    side.sum = 0
    side.right = 0
    if h.kind != MANY_CLASSES:
        side.weight = e.weight[bin]
        side.sum = e.sum[bin]
        return side
    for k in range(h.n_classes):
        left = h.room.before[k]
        right = h.room.right[k] - left
        h.room.left[k] = left
        side.weight += <double> left
        side.sum += <double> (left * left)
        side.right += <double> (right * right)
    return side


cdef inline void refine(Here* h, const BinEdges* e) noexcept nogil:
    """Try the cuts inside those bins of a feature that may beat the best cut so far."""
    cdef const DrawnColumn* column = &h.plan.column[e.drawn.feature]
    cdef uint8_t marked[MOST_CELLS]
    cdef uint64_t* items = h.room.items
    cdef int32_t b
    cdef int32_t bin = -1
    cdef int64_t n_left = 0
    cdef int64_t m, i, start
    cdef bint any_marked = False
    if not may_be_better(h, e.inside, e.drawn.order):
        return
    for b in range(e.n_bins):
        marked[b] = may_be_better(h, e.bound[b + 1], e.drawn.order)
        any_marked = any_marked or marked[b]
    if not any_marked:
        return
    if column.wide:
        m = pick(h, e, <const int32_t*> e.drawn.codes, 0, marked, items)
    else:
        m = pick(h, e, <const int16_t*> e.drawn.codes, NARROW_BASE, marked, items)
    items = sort_records(items, items + h.n + 1, m)
    for b in range(h.n_classes if h.kind == MANY_CLASSES else 0):
        h.room.before[b] = 0
    start = 0
    b = 0
    while start < m:
        bin = (<int32_t> (items[start] >> 32) - e.drawn.low) >> e.shift
        i = start
        while i < m and (<int32_t> (items[i] >> 32) - e.drawn.low) >> e.shift == bin:
            i += 1
        while b < bin:
            pass_bin(h, e, b, &n_left)
            b += 1
        if may_be_better(h, e.bound[bin + 1], e.drawn.order):
            sweep(h, &e.drawn, items + start, i - start, side_before(h, e, bin, n_left), False, False)
        start = i
