"""Gains of a division of a node's groups into two sides.  Header only.

The statistics of the left side are kept up to date while groups move to it; the right side is the rest.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from fasttree._engine.risk.impurity cimport (
    FIFTH_ROOT, POISSON, deviance_gain, deviance_of_part, fifth_root, linear_gain, outputs_gain, risk_of,
)
from fasttree._engine.risk.medians cimport gain_of_sides, move_group, start_sides
from fasttree._engine.types cimport DEVIANCE, LINEAR, MEDIANS, SQUARES, TABLE, Problem, Scratch, Totals


cdef extern from *:
    """
    /* The largest number whose square is below 2^63. */
    #define FASTTREE_MOST_SQUARED INT64_C(3037000499)
    """
    const int64_t MOST_SQUARED "FASTTREE_MOST_SQUARED"


cdef inline double rounded_squares_gain(
    const Problem* p, const Totals* total, int64_t n_left, const int64_t* left,
) noexcept nogil:
    """`squares_gain` of more samples than have an integer for their squares."""
    cdef double n = <double> total.weight
    cdef double squares = 0
    cdef double squares_right = 0
    cdef int32_t k
    for k in range(p.n_classes):
        squares += <double> left[k] * <double> left[k]
        squares_right += <double> (total.counts[k] - left[k]) * <double> (total.counts[k] - left[k])
    return max(squares / <double> n_left + squares_right / (n - <double> n_left) - (n - total.risk), 0.0)


cdef inline double squares_gain(const Problem* p, const Totals* total, int64_t n_left, const int64_t* left) noexcept nogil:
    """Gini gain of a cut of samples that count 1, from integer sums of squares where these fit."""
    cdef double n = <double> total.weight
    cdef int64_t squares = 0
    cdef int64_t squares_right = 0
    cdef int64_t right
    cdef int32_t k
    if total.weight > MOST_SQUARED:
        return rounded_squares_gain(p, total, n_left, left)
    for k in range(p.n_classes):
        right = total.counts[k] - left[k]
        squares += left[k] * left[k]
        squares_right += right * right
    return max(
        <double> squares / <double> n_left + <double> squares_right / (n - <double> n_left) - (n - total.risk), 0.0)


cdef inline double group_gain(
    const Problem* p, const Totals* total, int64_t w_left, int64_t s_left, const int64_t* left, int64_t* right,
) noexcept nogil:
    """Gain of dividing `total` into `left` (class weights or sums of several targets, or weight and sum) and the rest."""
    cdef int32_t k
    cdef int64_t mean = 0
    cdef int64_t of_left = 0
    cdef int64_t of_right = 0
    cdef double n_all = <double> total.weight
    if w_left <= 0 or w_left >= total.weight:
        return 0
    if p.sweep == LINEAR:
        if p.n_classes:
            return linear_gain(total.weight, total.counts[1], w_left, left[1], 2.0 / n_all * p.unit)
        if not p.weighted:
            mean = total.sum // total.weight
        return linear_gain(total.weight, total.sum - mean * total.weight, w_left, s_left - mean * w_left,
                           p.y_unit[0] * p.y_unit[0] / n_all / p.unit)
    if p.sweep == MEDIANS:
        return gain_of_sides(p)
    if p.sweep == DEVIANCE:
        return deviance_gain(total.weight, total.sum, w_left, s_left) * p.y_unit[0]
    if p.n_classes == 0:
        return outputs_gain(p, total.weight, total.counts, w_left, left)
    if p.sweep == SQUARES:
        return squares_gain(p, total, w_left, left)
    if p.sweep == TABLE and p.xlogx != NULL:
        for k in range(p.n_classes):
            of_left += p.xlogx[left[k]]
            of_right += p.xlogx[total.counts[k] - left[k]]
        of_left = p.xlogx[w_left] - of_left
        of_right = p.xlogx[total.weight - w_left] - of_right
        return max(total.risk - <double> of_left * p.xlogx_unit - <double> of_right * p.xlogx_unit, 0.0)
    for k in range(p.n_classes):
        right[k] = total.counts[k] - left[k]
    return max(total.risk - risk_of(p, left) - risk_of(p, right), 0.0)


cdef inline double gain_of_part(const Problem* p, const Totals* total, const int64_t* part, int64_t weight) noexcept nogil:
    """Numeric targets: what one of any number of branches adds to the gain."""
    cdef double gain = 0
    cdef double above
    cdef int64_t all, base
    cdef int32_t o
    if p.impurity == FIFTH_ROOT:
        gain = fifth_root(p, total.weight, total.counts, NULL)
        gain *= <double> weight / <double> total.weight
        return gain - fifth_root(p, weight, part, NULL)
    for o in range(p.n_outputs):
        all = total.counts[o] if p.n_counts else total.sum
        if p.impurity == POISSON:
            gain += deviance_of_part(total.weight, all, weight, part[o]) * p.y_unit[o]
        else:
            base = 0 if p.weighted else all // total.weight
            above = <double> (part[o] - base * weight) - <double> (all - base * total.weight) * (
                <double> weight / <double> total.weight)
            gain += above * above / <double> weight * p.y_unit[o] * p.y_unit[o] / p.unit
    return gain / p.n_outputs


cdef inline void add_group(
    const Problem* p, const Scratch* s, int64_t g, int64_t sign, int64_t* n_left, int64_t* w_left, int64_t* s_left,
) noexcept nogil:
    cdef const int64_t* group = s.group_stat + g * p.width
    cdef int64_t* left = s.left
    cdef int32_t n_counts = p.n_counts
    cdef int32_t k
    n_left[0] += sign * s.group_n[g]
    w_left[0] += sign * s.group_w[g]
    if p.sweep == MEDIANS:
        move_group(p, g, sign)
        return
    if not p.n_counts:
        s_left[0] += sign * group[0]
    elif sign > 0:
        for k in range(n_counts):
            left[k] += group[k]
    else:
        for k in range(n_counts):
            left[k] -= group[k]


cdef inline void start_left(
    const Problem* p, const Scratch* s, const Totals* missing, bint missing_left, int64_t* n_left, int64_t* w_left,
    int64_t* s_left,
) noexcept nogil:
    n_left[0] = missing.n if missing_left else 0
    w_left[0] = missing.weight if missing_left else 0
    s_left[0] = missing.sum if missing_left else 0
    if p.sweep == MEDIANS:
        start_sides(p, missing_left)
        return
    if p.n_counts:
        if missing_left:
            memcpy(s.left, missing.counts, p.n_counts * sizeof(int64_t))
        else:
            memset(s.left, 0, p.n_counts * sizeof(int64_t))
