"""The best cut of a feature in a node of few rows: ranks by counting.  Header only.

The rank of a row is how many codes are lower, so equal codes share a rank, and no sort is needed.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.drawn.gains cimport (
    LeftSide, add_to_side, gain_of, is_allowed, is_better, keep_cut, linear_gain, no_side, side_up_to,
)
from fasttree._engine.drawn.gather cimport code_at
from fasttree._engine.drawn.lanes cimport ranks_narrow, ranks_wide
from fasttree._engine.drawn.records cimport MOST_RANKED, PAIR_OF_CLASSES, Drawn, DrawnColumn, Here


cdef inline void rank_rows(const DrawnColumn* column, const char* codes, int64_t n, int32_t* ranks) noexcept nogil:
    cdef int16_t narrow[MOST_RANKED + 8]
    cdef int64_t i
    if column.wide:
        ranks_wide(<const int32_t*> codes, <int> n, ranks)
        return
    ranks_narrow(<const int16_t*> codes, <int> n, narrow)
    for i in range(n):
        ranks[i] = narrow[i]


cdef inline void search_pairs(Here* h, const Drawn* drawn, const int32_t* ranks) noexcept nogil:
    """Two classes: a slot for each rank."""
    cdef const DrawnColumn* column = &h.plan.column[drawn.feature]
    cdef uint64_t slots[MOST_RANKED]
    cdef int32_t row_of[MOST_RANKED]
    cdef int64_t in_slot[MOST_RANKED]
    cdef uint64_t sum = 0
    cdef int64_t n_left = 0
    cdef int64_t i
    cdef int32_t code
    cdef double gain
    memset(slots, 0, h.n * sizeof(uint64_t))
    if h.rows_count:
        memset(in_slot, 0, h.n * sizeof(int64_t))
        for i in range(h.n):
            in_slot[ranks[i]] += 1
    for i in range(h.n):
        slots[ranks[i]] += h.room.pairs[i]
        row_of[ranks[i]] = <int32_t> i
    for i in range(h.n):
        if slots[i] == 0:
            continue
        sum += slots[i]
        if <int64_t> <uint32_t> sum == h.weight:
            break
        if h.rows_count:
            n_left += in_slot[i]
            if not is_allowed(h, n_left, <double> <uint32_t> sum):
                continue
        gain = linear_gain(h, <double> <uint32_t> sum, <double> (sum >> 32))
        if h.best.order >= 0 and gain < h.best.gain:
            continue
        code = code_at(column, drawn.codes, row_of[i])
        if is_better(h, gain, drawn.order, 2 * <int64_t> code):
            keep_cut(h, drawn, gain, code, False, <double> <uint32_t> sum, <double> (sum >> 32))


cdef inline void search_sorted(Here* h, const Drawn* drawn, const int32_t* ranks) noexcept nogil:
    """Many classes, or numbers: rows in the order of their ranks."""
    cdef const DrawnColumn* column = &h.plan.column[drawn.feature]
    cdef int32_t filled[MOST_RANKED]
    cdef int32_t sorted[MOST_RANKED]
    cdef LeftSide side = no_side(h)
    cdef int64_t i
    cdef int32_t code
    cdef double gain
    memset(filled, 0, h.n * sizeof(int32_t))
    for i in range(h.n):
        sorted[ranks[i] + filled[ranks[i]]] = <int32_t> i
        filled[ranks[i]] += 1
    for i in range(h.n - 1):
        add_to_side(h, &side, sorted[i])
        if ranks[sorted[i]] == ranks[sorted[i + 1]]:
            continue
        if h.rows_count and not is_allowed(h, side.n, side.weight):
            continue
        gain = gain_of(h, &side)
        if h.best.order >= 0 and gain < h.best.gain:
            continue
        code = code_at(column, drawn.codes, sorted[i])
        if is_better(h, gain, drawn.order, 2 * <int64_t> code):
            keep_cut(h, drawn, gain, code, False, side.weight, side.sum)


cdef inline void search_binary(Here* h, const Drawn* drawn) noexcept nogil:
    """Two codes: one cut."""
    cdef LeftSide side = side_up_to(h, drawn, drawn.low)
    cdef double gain
    if h.rows_count and not is_allowed(h, side.n, side.weight):
        return
    gain = gain_of(h, &side)
    if is_better(h, gain, drawn.order, 2 * <int64_t> drawn.low):
        keep_cut(h, drawn, gain, drawn.low, False, side.weight, side.sum)


cdef inline void search_small(Here* h, const Drawn* drawn) noexcept nogil:
    """The best threshold of a feature in a node of at most MOST_RANKED rows that know it."""
    cdef int32_t ranks[MOST_RANKED + 8]
    if drawn.high == drawn.low + 1:
        search_binary(h, drawn)
        return
    rank_rows(&h.plan.column[drawn.feature], drawn.codes, h.n, ranks)
    if h.kind == PAIR_OF_CLASSES:
        search_pairs(h, drawn, ranks)
    else:
        search_sorted(h, drawn, ranks)
