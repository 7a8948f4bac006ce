"""The largest values of a column up to thresholds.  Header only."""

from libc.math cimport INFINITY, nextafterf
from libc.stdint cimport int64_t

from fasttree._engine.columns.spread cimport Spread, cell_of

cdef enum:
    CHUNK_ROWS = 256
    SIDE_BY_SIDE = 8               # values, so that vectors hold them
    FEW_THRESHOLDS = 8             # with each of which all floats are compared


cdef inline void raise_few(const float* values, const double* thresholds, Py_ssize_t m, double* out) noexcept nogil:
    """Raise out[i] to the largest of CHUNK_ROWS values <= thresholds[i]."""
    cdef float best[SIDE_BY_SIDE]
    cdef float highest, x
    cdef Py_ssize_t i, j, k
    for i in range(m):
        highest = <float> thresholds[i]
        if highest > thresholds[i]:
            highest = nextafterf(highest, -INFINITY)
        for k in range(SIDE_BY_SIDE):
            best[k] = <float> -INFINITY
        for j in range(CHUNK_ROWS // SIDE_BY_SIDE):
            for k in range(SIDE_BY_SIDE):
                x = values[j * SIDE_BY_SIDE + k]
                x = x if x <= highest else <float> -INFINITY
                best[k] = x if x > best[k] else best[k]
        for k in range(SIDE_BY_SIDE):
            out[i] = max(out[i], <double> best[k])


cdef inline void raise_many(
    const double* values, int64_t n, const Spread* spread, const double* thresholds, Py_ssize_t m, double* out,
) noexcept nogil:
    """Raise, for each of n values, the out[i] of the least threshold that it does not exceed."""
    cdef Py_ssize_t low, span, half
    cdef int64_t i
    cdef double x
    for i in range(n):
        x = values[i]
        half = cell_of(spread, x)
        low = spread.starts[half]
        if low < m and x <= out[low]:
            continue
        span = spread.starts[half + 1] - low   # the threshold wanted is one of low, ..., low + span; found without a jump
        while span > 0:
            half = (span + 1) // 2
            low += half & -<Py_ssize_t> (thresholds[low + half - 1] < x)
            span -= half
        if low < m and x > out[low]:
            out[low] = x
