"""One random cut for a feature: extremely randomized trees (Geurts, Ernst and Wehenkel 2006).  Header only.

The threshold is uniform between the smallest and the largest value of the node.  A nominal feature sends each category that
occurs to a random side, such that both sides get one.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fasttree._engine.drawn.gains cimport (
    LeftSide, add_to_side, gain_of, is_allowed, is_better, keep_cut, no_side, side_up_to, take_from_side,
)
from fasttree._engine.drawn.gather cimport code_at
from fasttree._engine.drawn.records cimport BY_GROUP, BY_KNOWN, Drawn, DrawnColumn, Here
from fasttree._engine.random cimport below, mix
from fasttree._engine.types cimport Column


cdef inline int32_t float_code(float x) noexcept nogil:
    """A whole number that compares like the float (finite, and not -0.0), and is never 0."""
    cdef int32_t bits
    memcpy(&bits, &x, 4)
    return bits ^ 0x7FFFFFFF if bits < 0 else bits + 1


cdef inline float float_of_code(int32_t code) noexcept nogil:
    """Inverse of `float_code`."""
    cdef int32_t bits = code ^ 0x7FFFFFFF if code < 0 else code - 1
    cdef float x
    memcpy(&x, &bits, 4)
    return x


cdef inline double value_in(const DrawnColumn* column, int32_t code, uint32_t row) noexcept nogil:
    """The value of a code, which the row has."""
    cdef const char* at
    if column.value != NULL:
        return column.value[code]
    if column.floats:
        return <double> float_of_code(code)
    at = column.column.data + <int64_t> row * column.column.stride
    return (<const double*> at)[0] if column.column.is_double else <double> (<const float*> at)[0]


cdef inline int32_t last_up_to(const DrawnColumn* column, int32_t low, int32_t high, double threshold) noexcept nogil:
    """The largest of the codes low, ..., high - 1 whose value is at most the threshold; that of `low` is."""
    cdef int32_t n = high - low
    cdef int32_t code, half
    if column.floats:
        code = float_code(<float> threshold)
        return code - (<double> float_of_code(code) > threshold)
    while n > 1:                       # without a jump that depends on values
        half = n // 2
        low += half * (column.value[low + half] <= threshold)
        n -= half
    return low


cdef inline int32_t lowest_known(const Here* h, const Drawn* drawn) noexcept nogil:
    """The smallest code of a known value."""
    cdef const DrawnColumn* column = &h.plan.column[drawn.feature]
    cdef int32_t low = drawn.high
    cdef int32_t code
    cdef int64_t i
    if drawn.low:
        return drawn.low
    for i in range(h.n):
        code = code_at(column, drawn.codes, i)
        if code:
            low = min(low, code)
    return low


cdef inline double threshold_between(double least, double most, uint64_t* state) noexcept nogil:
    """The next random threshold t with least <= t < most."""
    cdef double threshold
    state[0] += 1
    threshold = least + <double> (mix(state[0]) >> 11) * 2.0 ** -53 * (most - least)
    return (threshold if least <= threshold < most else least) + 0.0


cdef inline bint keep_threshold(
    Here* h, const Drawn* drawn, const LeftSide* side, int32_t code, bint with_missing, double threshold,
) noexcept nogil:
    """Keep a random cut if both sides are large enough, and it beats the best one; returns whether it does."""
    cdef double gain
    if h.rows_count and not is_allowed(h, side.n, side.weight):
        return False
    gain = gain_of(h, side)
    if not is_better(h, gain, drawn.order, with_missing):
        return False
    keep_cut(h, drawn, gain, code, with_missing, side.weight, side.sum)
    h.best.place = with_missing
    h.best.threshold = threshold
    return True


cdef inline void draw_threshold(Here* h, const Drawn* drawn, uint64_t* state) noexcept nogil:
    """Try one threshold; missing values go right, or else left."""
    cdef const DrawnColumn* column = &h.plan.column[drawn.feature]
    cdef int32_t low = lowest_known(h, drawn)
    cdef int32_t code = low
    cdef double least = value_in(column, low, 0)
    cdef double most = value_in(column, drawn.high, 0)
    cdef double threshold = least
    cdef LeftSide side
    cdef int64_t i
    cdef int32_t turn
    if low == drawn.high:
        state[0] += 1
    else:
        threshold = threshold_between(least, most, state)
        code = last_up_to(column, low, drawn.high, threshold)
    if drawn.low:
        side = side_up_to(h, drawn, code)
        keep_threshold(h, drawn, &side, code, False, threshold)
        return
    for turn in range(2):
        side = side_up_to(h, drawn, code)
        if turn == 0:
            for i in range(h.n):
                if code_at(column, drawn.codes, i) == 0:
                    take_from_side(h, &side, i)
        if side.n < h.n and keep_threshold(h, drawn, &side, code, turn, threshold) and low == drawn.high:
            h.best.form = BY_KNOWN     # all known values are equal


cdef inline void order_by_code(uint32_t* codes, int32_t n) noexcept nogil:
    cdef int32_t gap = n // 2
    cdef int32_t i, j
    cdef uint32_t code
    while gap:
        for i in range(gap, n):
            code = codes[i]
            j = i
            while j >= gap and codes[j - gap] > code:
                codes[j] = codes[j - gap]
                j -= gap
            codes[j] = code
        gap //= 2


cdef inline void keep_groups(Here* h, const uint32_t* codes, int32_t n, const int64_t* side_of) noexcept nogil:
    """Known categories of the left side first; where the missing value is alone, it goes right."""
    cdef int32_t i, turn
    h.best.n_categories = 0
    for turn in range(1, 3):
        for i in range(n):
            if codes[i] and side_of[codes[i]] == turn:
                h.room.group[h.best.n_categories] = codes[i]
                h.best.n_categories += 1
        if turn == 1:
            h.best.n_group = h.best.n_categories
    h.best.form = BY_GROUP
    if h.best.n_group == h.best.n_categories or h.best.n_group == 0:
        h.best.form = BY_KNOWN
        h.best.with_missing = False
    if h.best.n_group == 0:
        h.best.weight = <double> h.weight - h.best.weight
        h.best.sum = h.total - h.best.sum


cdef inline void draw_groups(Here* h, const Drawn* drawn, uint64_t* state) noexcept nogil:
    """Try one division of the categories that occur; a missing value is one more of them."""
    cdef const DrawnColumn* column = &h.plan.column[drawn.feature]
    cdef uint32_t* codes = h.room.touched
    cdef int64_t* side_of = h.room.category_rows
    cdef LeftSide side = no_side(h)
    cdef int32_t n = 0
    cdef int32_t n_left = 0
    cdef int32_t code, odd
    cdef int64_t i
    cdef double gain
    for i in range(h.n):
        code = code_at(column, drawn.codes, i)
        if side_of[code] == 0:
            side_of[code] = 1
            codes[n] = <uint32_t> code
            n += 1
    order_by_code(codes, n)
    for i in range(n):
        side_of[codes[i]] = 1 + <int64_t> below(state, 2)
        n_left += side_of[codes[i]] == 1
    if n_left == 0 or n_left == n:
        odd = <int32_t> below(state, <uint32_t> n)
        side_of[codes[odd]] = 2 if n_left else 1
    for i in range(h.n):
        if side_of[code_at(column, drawn.codes, i)] == 1:
            add_to_side(h, &side, i)
    if not h.rows_count or is_allowed(h, side.n, side.weight):
        gain = gain_of(h, &side)
        if is_better(h, gain, drawn.order, 0):
            keep_cut(h, drawn, gain, drawn.high, side_of[0] == 1, side.weight, side.sum)
            h.best.place = 0
            keep_groups(h, codes, n, side_of)
    for i in range(n):
        side_of[codes[i]] = 0
