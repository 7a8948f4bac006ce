"""Features with missing values, and nominal ones.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fasttree._engine.columns.keys cimport sort_records
from fasttree._engine.drawn.gains cimport LeftSide, add_to_side, gain_of, is_allowed, is_better, no_side, sweep
from fasttree._engine.drawn.gather cimport code_at
from fasttree._engine.drawn.records cimport BY_GROUP, BY_KNOWN, PAIR_OF_CLASSES, Drawn, DrawnColumn, Here


cdef inline void search_missing(Here* h, const Drawn* drawn) noexcept nogil:
    """Thresholds of a feature that some rows do not know: those go right, or else left."""
    cdef const DrawnColumn* column = &h.plan.column[drawn.feature]
    cdef uint64_t* items = h.room.items
    cdef int64_t n_known = 0
    cdef int64_t i
    cdef int32_t code
    cdef LeftSide side
    for i in range(h.n):
        code = code_at(column, drawn.codes, i)
        items[n_known] = <uint64_t> code << 32 | <uint64_t> i
        n_known += code != 0
    items = sort_records(items, items + h.n + 1, n_known)
    sweep(h, drawn, items, n_known, no_side(h), False, True)
    if h.best.order == drawn.order and h.best.code == drawn.high and not h.best.with_missing:
        h.best.form = BY_KNOWN
    side = no_side(h)
    for i in range(h.n):
        if code_at(column, drawn.codes, i) == 0:
            add_to_side(h, &side, i)
    sweep(h, drawn, items, n_known, side, True, False)


cdef inline void sum_categories(const Here* h, const Drawn* drawn, int32_t* n_present) noexcept nogil:
    """Weight and sum of each category, and those that occur."""
    cdef const DrawnColumn* column = &h.plan.column[drawn.feature]
    cdef int64_t i
    cdef int32_t code
    n_present[0] = 0
    for i in range(h.n):
        code = code_at(column, drawn.codes, i)
        if h.room.category_weight[code] == 0 and code:
            h.room.touched[n_present[0]] = <uint32_t> code
            n_present[0] += 1
        if h.kind == PAIR_OF_CLASSES:
            h.room.category_weight[code] += <double> <uint32_t> h.room.pairs[i]
            h.room.category_sum[code] += <double> (h.room.pairs[i] >> 32)
        else:
            h.room.category_weight[code] += <double> h.room.counts[i]
            h.room.category_sum[code] += h.room.numbers[i]
        h.room.category_rows[code] += 1


cdef inline bint comes_before(const Here* h, uint32_t a, uint32_t b) noexcept nogil:
    """The order of categories by their means, of equal ones by their codes; without a division, so exactly."""
    cdef double left = h.room.category_sum[a] * h.room.category_weight[b]
    cdef double right = h.room.category_sum[b] * h.room.category_weight[a]
    return left < right or (left == right and a < b)


cdef inline void order_categories(const Here* h, int32_t n) noexcept nogil:
    """Sort by insertion below gaps that shrink (Shell 1959); categories are few, or the feature is not drawn often."""
    cdef uint32_t* codes = h.room.touched
    cdef int32_t gap = n // 2
    cdef int32_t i, j
    cdef uint32_t code
    while gap:
        for i in range(gap, n):
            code = codes[i]
            j = i
            while j >= gap and comes_before(h, code, codes[j - gap]):
                codes[j] = codes[j - gap]
                j -= gap
            codes[j] = code
        gap //= 2


cdef inline void search_groups(Here* h, const Drawn* drawn) noexcept nogil:
    """Two groups of categories: the best ones are neighbours in the order of the means (Breiman et al. 1984, theorem 4.5)."""
    cdef uint32_t* codes = h.room.touched
    cdef LeftSide side
    cdef int32_t n, i, turn
    cdef double gain
    cdef bint has_missing = drawn.low == 0
    sum_categories(h, drawn, &n)
    order_categories(h, n)
    for turn in range(1 + has_missing):
        side = no_side(h)
        if turn:
            side.n = h.room.category_rows[0]
            side.weight = h.room.category_weight[0]
            side.sum = h.room.category_sum[0]
        for i in range(n if has_missing and not turn else n - 1):
            side.n += h.room.category_rows[codes[i]]
            side.weight += h.room.category_weight[codes[i]]
            side.sum += h.room.category_sum[codes[i]]
            if h.rows_count and not is_allowed(h, side.n, side.weight):
                continue
            gain = gain_of(h, &side)
            if is_better(h, gain, drawn.order, 2 * <int64_t> i + turn):
                h.best.gain = gain
                h.best.order = drawn.order
                h.best.feature = drawn.feature
                h.best.form = BY_KNOWN if i + 1 == n else BY_GROUP
                h.best.code = drawn.high
                h.best.with_missing = turn
                h.best.has_missing = has_missing
                h.best.place = 2 * <int64_t> i + turn
                h.best.n_group = i + 1
                h.best.n_categories = n
                h.best.weight = side.weight
                h.best.sum = side.sum
                memcpy(h.room.group, codes, n * sizeof(uint32_t))
    for i in range(n):
        h.room.category_weight[codes[i]] = 0
        h.room.category_sum[codes[i]] = 0
        h.room.category_rows[codes[i]] = 0
    h.room.category_weight[0] = 0
    h.room.category_sum[0] = 0
    h.room.category_rows[0] = 0
