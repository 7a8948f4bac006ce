"""Bins of a feature in a larger node: the cuts at their ends, and the most that a cut inside one can gain.  Header only.

As the bounded search of single trees (see bounds/bounds.pxd), with bins that are made for the node: codes less the smallest one,
shifted.  Where the range of the codes is small enough, bins are codes, and nothing is left to look into.
"""

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.bounds.bounds cimport end_gains, moment_bounds, pair_bounds
from fasttree._engine.drawn.gains cimport is_allowed, is_better, keep_cut, squares_gain
from fasttree._engine.drawn.records cimport (
    MANY_CLASSES, MOST_CELLS, NARROW_BASE, NUMBERS, PAIR_OF_CLASSES, BinEdges, Here, drawn_t,
)
from fasttree._engine.types cimport RELATIVE_TIE, RISK_TIE


cdef extern from *:
    """
    #include <math.h>

    /* Bounds in units of risk, with a margin for rounding and for mixtures of corners (see with_margin in bounds/bounds.pxd); a
       bin of one sample has no cut inside.  Returns the largest.  A loop that the compiler makes vectors of. */
    static double fasttree_widen(
        const double *weight, double *bounds, int m, double scale, double relative, double absolute)
    {
        double largest = -INFINITY;
        int b;
        #pragma omp simd reduction(max:largest)
        for (b = 1; b < m; b++) {
            double size = weight[b] - weight[b - 1];
            double bound = bounds[b] * scale;
            double wide = bound + (size + 2) * (relative * bound + absolute);
            bounds[b] = size < 2 ? -INFINITY : wide;
            largest = bounds[b] > largest ? bounds[b] : largest;
        }
        return largest;
    }
    """
    double widen "fasttree_widen"(
        const double* weight, double* bounds, int m, double scale, double relative, double absolute
    ) noexcept nogil


cdef enum:
    MOST_COUNTED = 65536       # cells of many classes


cdef inline int32_t most_bins(const Here* h) noexcept nogil:
    """Bins of a feature in this node: half as many as rows, within limits."""
    cdef int32_t most = 256
    cdef int32_t wanted = 32
    if h.kind == MANY_CLASSES:
        while most > 32 and <int64_t> most * h.n_classes > MOST_COUNTED:
            most //= 2
    elif h.n >= 16384:
        most = 1024
    elif h.n >= 4096:
        most = 512
    while wanted < most and wanted < h.n // 2:
        wanted *= 2
    return min(wanted, h.plan.most_cells)


cdef inline void count_bins(const Here* h, BinEdges* e, const drawn_t* codes, int32_t base) noexcept nogil:
    """Weights, sums and squares of each bin, at the place after its own."""
    cdef int32_t low = e.drawn.low + base
    cdef int32_t shift = e.shift
    cdef int32_t m = e.n_bins
    cdef int64_t n = h.n
    cdef uint64_t* pairs = <uint64_t*> h.room.cells
    cdef const uint64_t* pair = h.room.pairs
    cdef const uint32_t* count = h.room.counts
    cdef const uint16_t* label = h.room.labels
    cdef const double* number = h.room.numbers
    cdef const double* square = h.room.squares
    cdef uint32_t* rows = e.rows
    cdef double* cells
    cdef uint32_t* counts
    cdef int64_t i
    cdef int32_t b, k
    if h.rows_count:
        memset(rows, 0, m * sizeof(uint32_t))
        for i in range(n):
            rows[(<int32_t> codes[i] - low) >> shift] += 1
    if h.kind == PAIR_OF_CLASSES:
        memset(pairs, 0, m * sizeof(uint64_t))
        for i in range(n):
            pairs[(<int32_t> codes[i] - low) >> shift] += pair[i]
        for b in range(m):
            e.weight[b + 1] = <double> <uint32_t> pairs[b]
            e.sum[b + 1] = <double> (pairs[b] >> 32)
    elif h.kind == NUMBERS:
        cells = <double*> h.room.cells
        memset(cells, 0, m * 3 * sizeof(double))
        for i in range(n):
            b = 3 * ((<int32_t> codes[i] - low) >> shift)
            cells[b] += <double> <int32_t> count[i]
            cells[b + 1] += number[i]
            cells[b + 2] += square[i]
        for b in range(m):
            e.weight[b + 1] = cells[3 * b]
            e.sum[b + 1] = cells[3 * b + 1]
            e.bound[b + 1] = cells[3 * b + 2]
    else:
        k = h.n_classes
        counts = e.cells
        memset(counts, 0, <size_t> m * k * sizeof(uint32_t))
        for i in range(n):
            counts[((<int32_t> codes[i] - low) >> shift) * k + label[i]] += count[i]


cdef inline void try_end(Here* h, BinEdges* e, int32_t b, double gain, double weight, double sum) noexcept nogil:
    """Compare the cut at the end of a bin that has rows, unless it leaves too few."""
    cdef int32_t code = e.drawn.low + ((b + 1) << e.shift) - 1     # the node may have none of the last codes of the bin
    e.at_ends = max(e.at_ends, gain)
    if is_better(h, gain, e.drawn.order, 2 * <int64_t> code):
        keep_cut(h, &e.drawn, gain, code, False, weight, sum)


cdef inline void linear_edges(Here* h, BinEdges* e) noexcept nogil:
    """Two classes, or numbers."""
    cdef double gains[MOST_CELLS + 1]
    cdef double spread[MOST_CELLS + 1]
    cdef double n = <double> h.weight
    cdef double size, limit, largest, scale
    cdef int32_t m = e.n_bins
    cdef int64_t n_left = 0
    cdef int32_t b
    e.weight[0] = 0
    e.sum[0] = 0
    for b in range(1, m + 1):
        if h.kind == NUMBERS and e.shift:
            size = max(e.weight[b], 1.0)
            # sums of squares are rounded, which may have taken something off the difference
            spread[b] = sqrt(max(e.bound[b] * (1 + 1e-9) - e.sum[b] * (e.sum[b] / size), 0.0))
        e.weight[b] += e.weight[b - 1]
        e.sum[b] += e.sum[b - 1]
    largest = end_gains(e.weight, e.sum, gains, m + 1, n, h.total, 1, n - 1)
    gains[0] = 0
    if h.rows_count:
        for b in range(1, m):
            n_left += e.rows[b - 1]
            if e.weight[b] > e.weight[b - 1] and is_allowed(h, n_left, e.weight[b]):
                try_end(h, e, b - 1, gains[b] * h.scale, e.weight[b], e.sum[b])
    elif largest >= 0 and is_better(h, largest * h.scale, e.drawn.order, -1):
        limit = largest * h.scale - (RELATIVE_TIE * largest * h.scale + RISK_TIE * h.risk)
        for b in range(1, m):
            if e.weight[b] > e.weight[b - 1] and e.weight[b] < n and gains[b] * h.scale >= limit:
                try_end(h, e, b - 1, gains[b] * h.scale, e.weight[b], e.sum[b])
    e.at_ends = max(e.at_ends, largest * h.scale)
    e.inside = -INFINITY
    if e.shift == 0:
        return
    if h.kind == PAIR_OF_CLASSES:
        pair_bounds(e.weight, e.sum, gains, e.bound, m + 1, n, h.total, h.rows_count)
    else:
        moment_bounds(e.weight, gains, spread, e.bound, m + 1, n, 1 / n)
    scale = h.scale if h.kind == PAIR_OF_CLASSES else 1.0
    e.inside = widen(e.weight, e.bound, m + 1, scale, 2 * RELATIVE_TIE, RISK_TIE * h.risk)


cdef inline double most_of_side(
    const Here* h, const int64_t* side, const int64_t* other, const uint32_t* bin, double weight, double size,
) noexcept nogil:
    """The largest sum of squared counts over the weight, if a side takes any part of a bin; `other` is the other side with it.

    See `most_of_a_side` in bounds/bounds.pxd.  A side is the classes' totals less the other one where `side` is NULL.
    """
    cdef double sum = 0
    cdef double steepest = 0
    cdef double c, b
    cdef int32_t k
    for k in range(h.n_classes):
        c = <double> side[k] if side != NULL else <double> (h.room.right[k] - other[k])
        b = <double> bin[k]
        sum += c * c
        if b > 0:
            steepest = max(steepest, 2 * c + b)
    c = (sum + steepest * size) / (weight + size)
    return max(c, sum / weight) if weight > 0 else c


cdef inline void squares_edges(Here* h, BinEdges* e) noexcept nogil:
    """Many classes; Room.left has what is on the left of a bin."""
    cdef int64_t* left = h.room.left
    cdef const uint32_t* bin
    cdef double n = <double> h.weight
    cdef double sum = 0
    cdef double right = h.total
    cdef double weight = 0
    cdef double size, most, gain
    cdef int64_t n_left = 0
    cdef int64_t count, before
    cdef int32_t b, k
    for k in range(h.n_classes):
        left[k] = 0
    e.inside = -INFINITY
    for b in range(e.n_bins):
        e.bound[b + 1] = -INFINITY
    for b in range(e.n_bins):
        bin = e.cells + <size_t> b * h.n_classes
        size = 0
        most = 0
        for k in range(h.n_classes):
            size += <double> bin[k]
        if size == 0:
            continue
        if e.shift and size > 1:
            # the left side before the bin; the other side is what the left does not have after it
            most = most_of_side(h, left, NULL, bin, weight, size)
            for k in range(h.n_classes):
                left[k] += bin[k]
            most += most_of_side(h, NULL, left, bin, n - weight - size, size) - h.total / n
            for k in range(h.n_classes):
                left[k] -= bin[k]
            e.bound[b + 1] = most + (size + 2) * (2 * RELATIVE_TIE * most + RISK_TIE * h.risk)
            e.inside = max(e.inside, e.bound[b + 1])
        for k in range(h.n_classes):
            count = bin[k]
            if count:
                before = left[k]
                sum += <double> (count * (2 * before + count))
                right -= <double> (count * (2 * (h.room.right[k] - before) - count))
                left[k] = before + count
        weight += size
        if weight == n:
            break
        if h.rows_count:
            n_left += e.rows[b]
            if not is_allowed(h, n_left, weight):
                continue
        gain = squares_gain(h, sum, right, weight)
        try_end(h, e, b, gain, weight, sum)


cdef inline void find_edges_of(Here* h, BinEdges* e) noexcept nogil:
    """Count the bins of a feature, try their ends, and bound what is inside them."""
    cdef int32_t span = e.drawn.high - e.drawn.low
    cdef int32_t most = most_bins(h)
    e.shift = 0
    while (span >> e.shift) >= most:
        e.shift += 1
    e.n_bins = (span >> e.shift) + 1
    e.at_ends = -INFINITY
    if h.plan.column[e.drawn.feature].wide:
        count_bins(h, e, <const int32_t*> e.drawn.codes, 0)
    else:
        count_bins(h, e, <const int16_t*> e.drawn.codes, NARROW_BASE)
    if h.kind == MANY_CLASSES:
        squares_edges(h, e)
    else:
        linear_edges(h, e)
