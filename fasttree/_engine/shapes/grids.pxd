"""Trees on the grid of a pair of features: a cut along one, and on each side a cut across the other.  Header only.

A later cut wins by more than 1e-10 of the gain.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from fasttree._engine.random cimport mix


cdef struct Corners:              # sums of all cells above and left of a corner: (n_rows + 1) x (n_columns + 1) x 3
    double* sums
    int64_t n_rows
    int64_t n_columns
    double min_count
    double min_curvature
    double penalty


cdef inline bint side(const Corners* g, const int64_t* a, double* gradient, double* curvature) noexcept nogil:
    """Sums of the rectangle of rows a[0] to a[1] and columns a[2] to a[3].  Returns whether it is large enough."""
    cdef int64_t w = g.n_columns + 1
    cdef const double* one = g.sums + 3 * (a[1] * w + a[3])
    cdef const double* two = g.sums + 3 * (a[0] * w + a[3])
    cdef const double* three = g.sums + 3 * (a[1] * w + a[2])
    cdef const double* four = g.sums + 3 * (a[0] * w + a[2])
    gradient[0] = one[0] - two[0] - three[0] + four[0]
    curvature[0] = one[1] - two[1] - three[1] + four[1] + g.penalty
    return (
        one[2] - two[2] - three[2] + four[2] >= g.min_count and curvature[0] - g.penalty >= g.min_curvature and curvature[0] > 0
    )


cdef inline double halves(const Corners* g, bint by_rows, int64_t from_, int64_t to, uint64_t key, int64_t* cut) noexcept nogil:
    """The best cut across a band of rows (or of columns), and its worth; without one, the worth of the band."""
    cdef int64_t a[4]
    cdef int64_t n = g.n_columns if by_rows else g.n_rows
    cdef int64_t c, first, last
    cdef double gradient, curvature, more, larger
    cdef double best = 0.0
    cdef bint is_large
    cdef int at = 0 if by_rows else 2
    cdef int across = 2 - at
    a[at] = from_
    a[at + 1] = to
    a[across] = 0
    a[across + 1] = n
    if side(g, a, &gradient, &curvature):
        best = gradient * gradient / curvature
    cut[0] = n
    first = 1
    last = n
    if key:
        first = 1 + <int64_t> (key % <uint64_t> (n - 1)) if n > 1 else n
        last = first + 1 if n > 1 else n
    for c in range(first, last):
        a[across] = 0
        a[across + 1] = c
        is_large = side(g, a, &gradient, &curvature)
        larger = gradient * gradient / curvature if is_large else 0.0
        a[across] = c
        a[across + 1] = n
        if not side(g, a, &gradient, &curvature) or not is_large:
            continue
        more = larger + gradient * gradient / curvature
        if more > best + 1e-10 * more:
            best = more
            cut[0] = c
    return best


cdef inline double best_quarters(const Corners* g, uint64_t key, int64_t* found) noexcept nogil:
    """The cut along one feature and, on each side, across the other one that gain most (Lou et al. 2013: FAST).

    found: whether the first cut is between rows, that cut, and the cuts of both sides.  Returns the gain.
    """
    cdef int64_t c, n, first, last, one, two
    cdef bint by_rows
    cdef int direction
    cdef double total, gradient, curvature, gain
    cdef double best = -INFINITY
    cdef int64_t a[4]
    a[0] = 0
    a[1] = g.n_rows
    a[2] = 0
    a[3] = g.n_columns
    total = gradient * gradient / curvature if side(g, a, &gradient, &curvature) else 0.0
    found[0] = found[1] = found[2] = found[3] = 0
    for direction in range(2):
        by_rows = direction == 0
        if key and mix(key) >> 63 != <uint64_t> direction:  # keys are odd: their last bit says nothing
            continue
        n = g.n_rows if by_rows else g.n_columns
        first = 1
        last = n
        if key:
            if n < 2:
                continue
            first = 1 + <int64_t> (mix(key) % <uint64_t> (n - 1))
            last = first + 1
        for c in range(first, last):
            gain = halves(g, by_rows, 0, c, mix(key + 1) if key else 0, &one)
            gain += halves(g, by_rows, c, n, mix(key + 2) if key else 0, &two)
            gain -= total
            if gain > best + 1e-10 * (gain if gain > 0 else 0.0):
                best = gain
                found[0] = by_rows
                found[1] = c
                found[2] = one
                found[3] = two
    return best


cdef inline void add_up(Corners* g, const double* sums, const double* count) noexcept nogil:
    """Sums above and left of each corner, from those of the cells (gradient and curvature in turn) and their rows."""
    cdef int64_t w = g.n_columns + 1
    cdef int64_t i, j, k
    cdef double row[3]
    cdef double* at
    memset(g.sums, 0, 3 * w * sizeof(double))
    for i in range(g.n_rows):
        memset(row, 0, sizeof(row))
        memset(g.sums + 3 * (i + 1) * w, 0, 3 * sizeof(double))
        for j in range(g.n_columns):
            k = i * g.n_columns + j
            row[0] += sums[2 * k]
            row[1] += sums[2 * k + 1]
            row[2] += count[k]
            at = g.sums + 3 * ((i + 1) * w + j + 1)
            for k in range(3):
                at[k] = at[k - 3 * w] + row[k]
