"""Gains by the fifth root of the variance, of a chunk of candidates (Wang and Witten 1997).  Header only.

Every candidate has a bound from one step of Halley's method.  Only those that may win need powers.
"""

from libc.math cimport INFINITY, pow, sqrt
from libc.stdint cimport int64_t

from fasttree._engine.risk.impurity cimport fifth_root, outputs_gain, tie_limit
from fasttree._engine.risk.vectors cimport fifth_root_bounds
from fasttree._engine.types cimport Problem, Scratch, Totals


cdef inline double fifth_root_gains(
    const Problem* p, Scratch* s, const Totals* total, int64_t m, int64_t offset, double at_least,
) noexcept nogil:
    """Gains of the candidates that may reach `at_least`, or the largest found here; minus infinity for the others."""
    cdef const int64_t* a = <const int64_t*> s.a
    cdef const int64_t* b = <const int64_t*> s.b
    cdef double risk = fifth_root(p, total.n, total.counts, NULL)
    cdef double variance = pow(risk / (<double> total.n * p.unit), 5)
    cdef double largest = -INFINITY
    cdef double scales[5]
    cdef int64_t left[2]
    cdef int64_t j
    cdef bint bounded = variance > 0
    if bounded:
        scales[0], scales[1] = p.y_unit[0] / p.unit / sqrt(variance), p.y_unit[1] / p.unit / variance
        scales[2] = 1e6 * p.y_unit[1] / p.total_weight / variance
        scales[3], scales[4] = risk * (1 + 1e-9), risk / <double> total.n
        fifth_root_bounds(a, b, s.positions, s.gains, m, <double> offset, <double> total.n, <double> total.counts[0],
                          <double> total.counts[1], scales)
    for j in range(m):
        if bounded and s.gains[j] < at_least:
            s.gains[j] = -INFINITY
            continue
        left[0], left[1] = a[j], b[j]
        s.gains[j] = outputs_gain(p, total.n, total.counts, s.positions[j] + offset, left)
        if s.gains[j] > largest:
            largest = s.gains[j]
            at_least = max(at_least, tie_limit(largest, total.risk))
    return largest
