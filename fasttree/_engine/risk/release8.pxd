"""Gains in single precision, as C4.5's Release 8 computes them.  Header only."""

from libc.math cimport fabs, floor, log, log2
from libc.stdint cimport int32_t, int64_t

from fasttree._engine.risk.impurity cimport xlogx
from fasttree._engine.types cimport MDL_RATIO, Problem, Scratch, Totals


# Release 8 keeps gains in single precision, and many of its choices are ties that this rounding decides.  What follows repeats
# its steps, so that such choices fall as they did.  Counts are sums in fixed point, hence the result does not depend on order.

cdef inline bint in_single(const Problem* p) noexcept nogil:
    """Do gains compete in single precision?  C5.0 computes them in double."""
    return p.release8 and p.rank != MDL_RATIO


cdef inline double most_leaves(const Problem* p, int64_t weight) noexcept nogil:
    """C5.0's bound of the leaves below a node in the later trials of boosting."""
    return floor(p.leaves_per_weight * (<double> weight * p.unit) + 0.5)


cdef inline double xlgx(float x) noexcept nogil:
    return x * (log(<double> x) / 0.6931471805599453) if x > 0 else 0.0


cdef enum:
    TERMS = 4096               # most nodes have fewer samples; a table of all would take longer to make


cdef inline int64_t terms_of(const Problem* p, int64_t n) noexcept nogil:
    """How many terms, x lg x of x = 0, 1, ... samples that count 1, a growth of n samples keeps; 0: it keeps none."""
    return min(n + 1, TERMS) if in_single(p) and not p.weighted and p.unit == 1 else 0


cdef inline void fill_terms(double* terms, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        terms[i] = xlgx(<float> i)


cdef inline float single_information(
    const Problem* p, const int64_t* counts, const int64_t* rest_of, int32_t n_classes,
) noexcept nogil:
    """I(counts), or of rest_of - counts if that is given: bits x cases.  Small whole numbers are exact in single precision."""
    cdef float s = 0
    cdef float t = 0
    cdef float v
    cdef int64_t total = 0
    cdef int32_t k
    for k in range(n_classes if p.terms != NULL else 0):
        total += counts[k] if rest_of == NULL else rest_of[k] - counts[k]
    if p.terms != NULL and total < TERMS:
        for k in range(n_classes):
            s = <float> (s + p.terms[counts[k] if rest_of == NULL else rest_of[k] - counts[k]])
        return <float> (p.terms[total] - s)
    for k in range(n_classes):
        v = <float> (<double> (counts[k] if rest_of == NULL else rest_of[k] - counts[k]) * p.unit)
        s = <float> (s + xlgx(v))
        t = t + v
    return <float> (xlgx(t) - s)


cdef inline float single_gain_of(
    const Problem* p, float base, float info, int64_t known, int64_t weight, bint continuous,
) noexcept nogil:
    """Gain per case; `weight` counts the missing values, `known` does not."""
    cdef float cases = <float> (<double> weight * p.unit)
    cdef float items = <float> (<double> known * p.unit)
    cdef float unknown
    cdef float rest
    if continuous:
        unknown = <float> (1.0 - <double> items / cases)
    else:
        unknown = <float> (<double> <float> (<double> (weight - known) * p.unit) / cases)
    rest = base - <float> (info / items)
    return <float> (1.0 - unknown) * rest


cdef inline float threshold_base(const Problem* p, const Totals* known) noexcept nogil:
    return single_information(p, known.counts, NULL, p.n_classes) / <float> (<double> known.weight * p.unit)


cdef inline float threshold_gain(
    const Problem* p, const Totals* known, float base, const int64_t* left, int64_t weight,
) noexcept nogil:
    """Gain per case of a threshold that puts `left` on the left; `weight` counts the missing values too."""
    cdef float info = single_information(p, left, NULL, p.n_classes)
    info = info + single_information(p, left, known.counts, p.n_classes)
    return single_gain_of(p, base, info, known.weight, weight, True)


cdef inline double single_slack(const Problem* p, const Totals* known) noexcept nogil:
    """More than the rounding above can change the difference of two gains, in bits x weight.

    Sums of x lg x of both sides round K times, and numbers up to W lg K five times, by a part of 2^-24.  Weights that are no
    small whole numbers round, too, K + 1 times.
    """
    cdef double weight = <double> known.weight * p.unit
    cdef double logs = fabs(xlogx(weight)) + 1.5 * weight + 2 * p.n_classes
    cdef int32_t times = p.n_classes if p.terms != NULL and weight < 16777216 else 2 * p.n_classes + 1
    return 1.2e-7 * (times * logs + 5 * weight * log2(<double> p.n_classes))


cdef inline float class_base(const Problem* p, const Totals* known) noexcept nogil:
    """Information per case before a split into branches by category."""
    cdef float items = <float> (<double> known.weight * p.unit)
    cdef double total = 0
    cdef int32_t k
    for k in range(p.n_classes):
        total += xlgx(<float> (<double> known.counts[k] * p.unit))
    return <float> ((xlgx(items) - total) / items)


cdef inline float single_branches(
    const Problem* p, const Scratch* s, int64_t q, const Totals* known, int64_t weight, float* split,
) noexcept nogil:
    """Gain per case of a branch per group, and its split information with the missing values as one more branch."""
    cdef float info = 0
    cdef float missing = <float> (<double> (weight - known.weight) * p.unit)
    cdef float part_s, part_t, v
    cdef int64_t g
    part_s = <float> xlgx(missing)
    part_t = missing
    for g in range(q):
        info = info + single_information(p, &s.group_stat[g * p.width], NULL, p.n_classes)
        v = <float> (<double> s.group_w[g] * p.unit)
        part_s = <float> (part_s + xlgx(v))
        part_t = part_t + v
    split[0] = <float> (xlgx(part_t) - part_s) / <float> (<double> weight * p.unit)
    return single_gain_of(p, class_base(p, known), info, known.weight, weight, False)
