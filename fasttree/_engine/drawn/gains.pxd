"""Gains in the drawn layout, and which of two cuts is the better one.  Header only.

Weights, sums and squares of counts are whole numbers in doubles: they do not depend on the order of rows, bins or features.  A
cut whose sides change places has the same gain, bit for bit.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t

from fasttree._engine.drawn.lanes cimport (
    count_narrow, count_wide, sum_long_narrow, sum_long_wide, sum_narrow, sum_wide,
)
from fasttree._engine.drawn.records cimport BY_CODE, MANY_CLASSES, NARROW_BASE, NUMBERS, PAIR_OF_CLASSES, Drawn, Here, drawn_t
from fasttree._engine.types cimport RELATIVE_TIE, RISK_TIE


cdef inline double linear_gain(const Here* h, double weight, double sum) noexcept nogil:
    """Two classes and Gini, or squared error: (n sum - total weight)^2 / (weight (n - weight)), times `scale`."""
    cdef double n = <double> h.weight
    cdef double d = n * sum - h.total * weight
    return d * d / (weight * (n - weight)) * h.scale


cdef inline double squares_gain(const Here* h, double left, double right, double weight) noexcept nogil:
    """Gini of many classes, from the sums of squared counts on both sides."""
    return left / weight + right / (<double> h.weight - weight) - h.total / <double> h.weight


cdef inline double tolerance(const Here* h) noexcept nogil:
    return RELATIVE_TIE * h.best.gain + RISK_TIE * h.risk


cdef inline bint is_perfect(const Here* h) noexcept nogil:
    """Is the best cut as good as any could be?"""
    return h.best.order >= 0 and h.risk <= h.best.gain + tolerance(h)


cdef inline bint is_better(const Here* h, double gain, int32_t order, int64_t place) noexcept nogil:
    """Does a cut beat the best one so far?  If cuts are equal, the feature drawn first wins, then the first cut."""
    if h.best.order < 0 or gain > h.best.gain + tolerance(h):
        return True
    if gain < h.best.gain - tolerance(h):
        return False
    return order < h.best.order or (order == h.best.order and place < h.best.place)


cdef inline bint may_be_better(const Here* h, double bound, int32_t order) noexcept nogil:
    """May a cut of a feature beat the best one, if it gains at most `bound`?"""
    if h.best.order < 0:
        return True
    return bound > h.best.gain + tolerance(h) if order > h.best.order else bound >= h.best.gain - tolerance(h)


cdef inline bint is_allowed(const Here* h, int64_t n_left, double left) noexcept nogil:
    """Are both sides of a cut large enough?"""
    return h.n_min <= n_left <= h.n - h.n_min and h.w_min <= left <= <double> h.weight - h.w_min


cdef inline void keep_cut(
    Here* h, const Drawn* drawn, double gain, int32_t code, bint with_missing, double weight, double sum,
) noexcept nogil:
    """Codes up to `code` go left, with this weight and sum."""
    h.best.gain = gain
    h.best.weight = weight
    h.best.sum = sum
    h.best.order = drawn.order
    h.best.feature = drawn.feature
    h.best.form = BY_CODE
    h.best.code = code
    h.best.with_missing = with_missing
    h.best.has_missing = drawn.low == 0
    h.best.place = 2 * <int64_t> code + with_missing


cdef struct LeftSide:          # what is on the left of a cut
    int64_t n
    double weight
    double sum                 # MANY_CLASSES: of the squared counts
    double right               # MANY_CLASSES: that of the other side


cdef inline LeftSide no_side(const Here* h) noexcept nogil:
    """An empty left side; the counts of classes are those of an empty one, too."""
    cdef LeftSide side
    cdef int32_t k
    side.n = 0
    side.weight = 0
    side.sum = 0
    side.right = h.total
    for k in range(h.n_classes if h.kind == MANY_CLASSES else 0):
        h.room.left[k] = 0
    return side


cdef inline void add_to_side(const Here* h, LeftSide* side, int64_t i) noexcept nogil:
    """Move a row from the right to the left."""
    cdef int64_t count, left
    cdef int32_t k
    side.n += 1
    if h.kind == MANY_CLASSES:
        count = h.room.counts[i]
        k = h.room.labels[i]
        left = h.room.left[k]
        side.weight += <double> count
        side.sum += <double> (count * (2 * left + count))
        side.right -= <double> (count * (2 * (h.room.right[k] - left) - count))
        h.room.left[k] = left + count
    elif h.kind == PAIR_OF_CLASSES:
        side.weight += <double> <uint32_t> h.room.pairs[i]
        side.sum += <double> (h.room.pairs[i] >> 32)
    else:
        side.weight += <double> h.room.counts[i]
        side.sum += h.room.numbers[i]


cdef inline void take_from_side(const Here* h, LeftSide* side, int64_t i) noexcept nogil:
    """Move a row from the left to the right."""
    cdef int64_t count, left
    cdef int32_t k
    side.n -= 1
    if h.kind == MANY_CLASSES:
        count = h.room.counts[i]
        k = h.room.labels[i]
        left = h.room.left[k]
        side.weight -= <double> count
        side.sum -= <double> (count * (2 * left - count))
        side.right += <double> (count * (2 * (h.room.right[k] - left) + count))
        h.room.left[k] = left - count
    elif h.kind == PAIR_OF_CLASSES:
        side.weight -= <double> <uint32_t> h.room.pairs[i]
        side.sum -= <double> (h.room.pairs[i] >> 32)
    else:
        side.weight -= <double> h.room.counts[i]
        side.sum -= h.room.numbers[i]


cdef inline void add_classes_up_to(const Here* h, LeftSide* side, const drawn_t* codes, int32_t cut) noexcept nogil:
    """Count the classes of the rows of codes up to `cut` (with the base); all counts are zero."""
    cdef int64_t* left = h.room.left
    cdef const int64_t* all_counts = h.room.right
    cdef const uint16_t* labels = h.room.labels
    cdef const uint32_t* counts = h.room.counts
    cdef int64_t n = h.n
    cdef int32_t n_classes = h.n_classes
    cdef int64_t weight = 0
    cdef int64_t sum = 0
    cdef int64_t right = 0
    cdef int64_t i, count
    cdef int32_t k
    for i in range(n):
        left[labels[i]] += <int64_t> counts[i] & -<int64_t> (codes[i] <= cut)
    for k in range(n_classes):
        count = left[k]
        weight += count
        sum += count * count
        count = all_counts[k] - count
        right += count * count
    side.weight = <double> weight
    side.sum = <double> sum
    side.right = <double> right


cdef inline void add_up_to(const Here* h, LeftSide* side, const drawn_t* codes, int32_t cut) noexcept nogil:
    """Move all rows of codes up to `cut` (with the base) to the left, which is empty.  Rows are counted where they matter."""
    cdef int64_t n = (h.n + 7) // 8 * 8
    cdef int64_t i
    cdef double one
    cdef uint32_t pair
    cdef uint64_t pairs
    if h.kind == MANY_CLASSES:
        add_classes_up_to(h, side, codes, cut)
    elif h.kind == NUMBERS and h.plan.random:
        if drawn_t is int16_t:
            side.weight = <double> sum_narrow(codes, h.room.counts, n, <int16_t> cut)
            side.sum = <double> <int64_t> sum_long_narrow(codes, h.room.pairs, n, <int16_t> cut)
        else:
            side.weight = <double> sum_wide(codes, h.room.counts, n, cut)
            side.sum = <double> <int64_t> sum_long_wide(codes, h.room.pairs, n, cut)
    elif h.kind == NUMBERS:
        for i in range(h.n):
            one = <double> (codes[i] <= cut)
            side.weight += one * <double> <int32_t> h.room.counts[i]
            side.sum += one * h.room.numbers[i]
    elif h.compact:
        if drawn_t is int16_t:
            pair = sum_narrow(codes, h.room.counts, n, <int16_t> cut)
        else:
            pair = sum_wide(codes, h.room.counts, n, cut)
        side.weight = <double> (pair & 0xFFFF)
        side.sum = <double> (pair >> 16)
    else:
        if drawn_t is int16_t:
            pairs = sum_long_narrow(codes, h.room.pairs, n, <int16_t> cut)
        else:
            pairs = sum_long_wide(codes, h.room.pairs, n, cut)
        side.weight = <double> <uint32_t> pairs
        side.sum = <double> (pairs >> 32)
    if h.rows_count or not h.plan.plain:
        if drawn_t is int16_t:
            side.n = count_narrow(codes, h.n, <int16_t> cut)
        else:
            side.n = count_wide(codes, h.n, cut)


cdef inline LeftSide side_up_to(const Here* h, const Drawn* drawn, int32_t cut) noexcept nogil:
    """The left side of a cut, missing values with it."""
    cdef LeftSide side = no_side(h)
    if h.plan.column[drawn.feature].wide:
        add_up_to(h, &side, <const int32_t*> drawn.codes, cut)
    else:
        add_up_to(h, &side, <const int16_t*> drawn.codes, cut + NARROW_BASE)
    return side


cdef inline double gain_of(const Here* h, const LeftSide* side) noexcept nogil:
    if h.kind == MANY_CLASSES:
        return squares_gain(h, side.sum, side.right, side.weight)
    return linear_gain(h, side.weight, side.sum)


cdef inline void sweep(
    Here* h, const Drawn* drawn, const uint64_t* items, int64_t m, LeftSide side, bint with_missing, bint to_end,
) noexcept nogil:
    """Try the cuts among rows in the order of their codes, `to_end`: and that after the last, on top of a left side."""
    cdef int64_t j
    cdef int32_t code
    cdef double gain
    for j in range(m):
        add_to_side(h, &side, <uint32_t> items[j])
        code = <int32_t> (items[j] >> 32)
        if <int32_t> (items[j + 1] >> 32) == code if j + 1 < m else not to_end:
            continue
        if h.rows_count and not is_allowed(h, side.n, side.weight):
            continue
        gain = gain_of(h, &side)
        if is_better(h, gain, drawn.order, 2 * <int64_t> code + with_missing):
            keep_cut(h, drawn, gain, code, with_missing, side.weight, side.sum)
