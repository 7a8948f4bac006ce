"""Sums that do not depend on the order of their terms, and the parts of a sample.  Header only.

A sum of doubles is kept in fixed point, in two halves of 64 bits.  Integers add up exactly, so neither the order of the samples
nor the number of threads shows in a result.
"""

from libc.math cimport llrint
from libc.stdint cimport int32_t, int64_t, uint32_t

from fasttree._engine.risk.impurity cimport POISSON
from fasttree._engine.types cimport Block, Exact, Problem


cdef inline Exact exact_zero(double bound, int64_t n) noexcept nogil:
    """An empty sum that n numbers of at most `bound` in size cannot overflow."""
    cdef Exact s
    cdef double scale = 1.0
    cdef double limit = 1.1529215046068470e18          # 2^60
    cdef double largest = bound * <double> n
    s.high = 0
    s.low = 0
    if not (largest > 0):
        largest = 1.0
    while largest * scale > limit and scale > 1e-300:
        scale *= 0.5
    while largest * scale * 2.0 <= limit and scale < 1e300:
        scale *= 2.0
    s.scale_high = scale
    # a rest is at most half a quantum of the upper half; n of them must fit
    s.scale_low = 1.0
    while s.scale_low * <double> n < 5.764607523034235e17:
        s.scale_low *= 2.0
    return s


cdef inline void exact_add(Exact* s, double x) noexcept nogil:
    cdef double scaled = x * s.scale_high
    cdef int64_t whole = llrint(scaled)
    s.high += whole
    s.low += llrint((scaled - <double> whole) * s.scale_low)


cdef inline double exact_value(const Exact* s) noexcept nogil:
    return (<double> s.high + <double> s.low / s.scale_low) / s.scale_high


cdef inline int64_t spread_weight(int64_t weight, double share) noexcept nogil:
    """A child's part of a sample that goes to every child; never nothing, so that no sample is lost."""
    return max(llrint(<double> weight * share), 1)


cdef inline void set_part(const Problem* p, const Block* block, uint32_t row, int64_t weight) noexcept nogil:
    """Replace a sample by a part of it.  The sums of its targets follow from the weight, also those of the whole sample."""
    cdef int32_t o
    cdef size_t at
    block.weight[row] = weight
    if p.n_classes:
        return
    for o in range(p.n_outputs):
        at = <size_t> row * p.n_outputs + o
        block.ysum[at] = llrint((block.y[at] - p.y_centre[o]) * (<double> weight * p.unit) / p.y_unit[o])
        if p.impurity == POISSON and block.y[at] > 0:
            block.ysum[at] = max(block.ysum[at], 1)            # what is not 0 stays so
