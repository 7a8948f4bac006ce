"""Risks and gains: risk = weight x impurity, gain = risk(parent) - sum of risk(child).  Header only.

Also the sums that must not depend on the order of their terms, and the rule for ties.
"""

from libc.math cimport INFINITY, fabs, llrint, log, log1p, log2
from libc.stdint cimport int32_t, int64_t

from fasttree._types cimport (
    ABSOLUTE_ERROR, ENTROPY, GINI, POISSON, RELATIVE_TIE, RISK_TIE, TABLE, Exact, Problem, Scratch, Totals,
)


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


cdef inline double xlogx(double x) noexcept nogil:
    return x * log2(x) if x > 0 else 0.0


cdef inline double class_risk(
    int32_t impurity, const int64_t* counts, int32_t n_classes, double unit
) noexcept nogil:
    """weight x impurity of a node with these class weights; bits x weight for entropy, 0 if empty."""
    cdef double total = 0
    cdef double part = 0
    cdef double largest = 0
    cdef double c
    cdef int32_t k
    for k in range(n_classes):
        c = <double> counts[k] * unit
        total += c
        if impurity == GINI:
            part += c * c
        elif impurity == ENTROPY:
            part += xlogx(c)
        elif c > largest:
            largest = c
    if total <= 0:
        return 0
    if impurity == GINI:
        c = total - part / total
    elif impurity == ENTROPY:
        c = xlogx(total) - part
    else:
        c = total - largest
    return c if c > 0 else 0


cdef inline double table_risk(const Problem* p, const int64_t* counts) noexcept nogil:
    """Entropy risk of integer counts from the fixed-point table: exact sums, so equal whatever the order."""
    cdef int64_t total = 0
    cdef int64_t part = 0
    cdef int32_t k
    for k in range(p.n_classes):
        total += counts[k]
        part += p.xlogx[counts[k]]
    return <double> (p.xlogx[total] - part) * p.xlogx_unit


cdef inline double plain_risk(const Problem* p, const int64_t* counts) noexcept nogil:
    """weight x impurity from the class weights; of several targets the mean."""
    cdef double total = 0
    cdef int32_t o
    if p.n_outputs == 1:
        return class_risk(p.impurity, counts, p.n_classes, p.unit)
    for o in range(p.n_outputs):
        total += class_risk(p.impurity, counts + p.first_class[o], p.first_class[o + 1] - p.first_class[o], p.unit)
    return total / p.n_outputs


cdef inline double risk_of(const Problem* p, const int64_t* counts) noexcept nogil:
    return table_risk(p, counts) if p.sweep == TABLE else plain_risk(p, counts)


cdef inline double linear_gain(int64_t n, int64_t total, int64_t n_left, int64_t left, double scale) noexcept nogil:
    """Gain of a cut from one linear statistic: (n left - total n_left)^2 / (n_left n_right), times the node's scale.

    For squared error the scale is 1 / n; for the Gini index of two classes, where the statistic counts one of them, 2 / n.
    Both sides say the same; of the lighter one double precision knows more.
    """
    cdef double part, d
    if n_left > n - n_left:
        n_left = n - n_left
        left = total - left
    part = <double> n_left
    d = <double> n * <double> left - <double> total * part
    return d * d / (part * (<double> n - part)) * scale


cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>

    /* The gain of every candidate of a chunk, and the largest: a loop that the compiler makes vectors of. */
    static double fasttree_linear_gains(
        const double *left, const double *weights, const int32_t *positions, double *gains, int64_t m,
        double offset, double n, double total, double scale)
    {
        double largest = -HUGE_VAL;
        int64_t j;
        if (weights) {
            #pragma omp simd reduction(max:largest)
            for (j = 0; j < m; j++) {
                double d = n * left[j] - total * weights[j];
                double gain = d * d / (weights[j] * (n - weights[j])) * scale;
                gains[j] = gain;
                largest = gain > largest ? gain : largest;
            }
        } else {
            #pragma omp simd reduction(max:largest)
            for (j = 0; j < m; j++) {
                double n_left = (double) positions[j] + offset;
                double d = n * left[j] - total * n_left;
                double gain = d * d / (n_left * (n - n_left)) * scale;
                gains[j] = gain;
                largest = gain > largest ? gain : largest;
            }
        }
        return largest;
    }
    """
    double linear_gains "fasttree_linear_gains"(
        const double* left, const double* weights, const int32_t* positions, double* gains, int64_t m,
        double offset, double n, double total, double scale) noexcept nogil


cdef inline double surplus(double d) noexcept nogil:
    """(1 + d) log(1 + d) - d for d >= -1, also where that cancels."""
    if d <= -1:
        return 1
    if fabs(d) < 0.02:
        return d * d * (1 / 2.0 - d * (1 / 6.0 - d * (1 / 12.0 - d * (1 / 20.0 - d * (1 / 30.0 - d * (
            1 / 42.0 - d * (1 / 56.0 - d / 72)))))))
    return (1 + d) * log1p(d) - d


cdef inline double deviation(int32_t impurity, double y, double centre) noexcept nogil:
    """What a target adds to the impurity of a node that answers with `centre`, per unit weight."""
    if impurity == POISSON:             # y log(y / centre) - y + centre
        return centre * surplus((y - centre) / centre) if centre > 0 else 0
    if impurity == ABSOLUTE_ERROR:
        return fabs(y - centre)
    return (y - centre) * (y - centre)


cdef inline double deviance_of_part(int64_t n, int64_t total, int64_t n_part, int64_t part) noexcept nogil:
    """Poisson: by how much the mean of a part beats that of the whole on that part, in quanta of the sums.

    part log(mean of part / mean) - part + mean x n_part.  Both means are taken less a whole number, so that little cancels.
    """
    cdef int64_t base = total // n
    cdef double rest = <double> (total - base * n)
    cdef double mean = <double> base + rest / <double> n
    cdef double above = <double> n * <double> (part - base * n_part) - rest * <double> n_part
    return mean * <double> n_part * surplus(above / (<double> n * mean * <double> n_part))


cdef inline double deviance_gain(int64_t n, int64_t total, int64_t n_left, int64_t left) noexcept nogil:
    """Poisson gain of a cut, in quanta of the sums; minus infinity where a side has no events, which is no split."""
    if left <= 0 or left >= total:
        return -INFINITY
    return deviance_of_part(n, total, n_left, left) + deviance_of_part(n, total, n - n_left, total - left)


cdef inline double outputs_gain(
    const Problem* p, int64_t n, const int64_t* total, int64_t n_left, const int64_t* left,
) noexcept nogil:
    """Gain of a cut from the sums of several numeric targets: the mean of their gains."""
    cdef double gain = 0
    cdef int64_t base
    cdef int32_t o
    for o in range(p.n_outputs):
        if p.impurity == POISSON:
            gain += deviance_gain(n, total[o], n_left, left[o]) * p.y_unit[o]
        else:
            base = 0 if p.weighted else total[o] // n
            gain += linear_gain(n, total[o] - base * n, n_left, left[o] - base * n_left,
                                p.y_unit[o] * p.y_unit[o] / <double> n / p.unit)
    return gain / p.n_outputs


cdef inline double tie_limit(double gain, double risk) noexcept nogil:
    """Gains from here up to `gain` count as equal."""
    return gain - (RELATIVE_TIE * gain + RISK_TIE * risk)


# Release 8 keeps gains in single precision, and many of its choices are ties that this rounding decides.  What follows repeats
# its steps, so that such choices fall as they did.  Counts are sums in fixed point, hence the result does not depend on order.

cdef inline double xlgx(float x) noexcept nogil:
    return x * (log(<double> x) / 0.6931471805599453) if x > 0 else 0.0


cdef inline float single_information(
    const int64_t* counts, const int64_t* rest_of, int32_t n_classes, double unit,
) noexcept nogil:
    """I(counts), or of rest_of - counts if that is given: bits x cases."""
    cdef float s = 0
    cdef float t = 0
    cdef float v
    cdef int32_t k
    for k in range(n_classes):
        v = <float> (<double> (counts[k] if rest_of == NULL else rest_of[k] - counts[k]) * unit)
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
    return single_information(known.counts, NULL, p.n_classes, p.unit) / <float> (<double> known.weight * p.unit)


cdef inline float threshold_gain(
    const Problem* p, const Totals* known, float base, const int64_t* left, int64_t weight,
) noexcept nogil:
    """Gain per case of a threshold that puts `left` on the left; `weight` counts the missing values too."""
    cdef float info = single_information(left, NULL, p.n_classes, p.unit)
    info = info + single_information(left, known.counts, p.n_classes, p.unit)
    return single_gain_of(p, base, info, known.weight, weight, True)


cdef inline double single_slack(const Problem* p, const Totals* known) noexcept nogil:
    """More than the rounding above can change a gain, in bits x weight: K + 4 roundings of numbers up to W lg W."""
    cdef double weight = <double> known.weight * p.unit
    return 2.4e-7 * (p.n_classes + 4) * (xlogx(weight) + weight)


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
    cdef float lost = <float> (<double> (weight - known.weight) * p.unit)
    cdef float part_s, part_t, v
    cdef int64_t g
    part_s = <float> xlgx(lost)
    part_t = lost
    for g in range(q):
        info = info + single_information(&s.group_stat[g * p.width], NULL, p.n_classes, p.unit)
        v = <float> (<double> s.group_w[g] * p.unit)
        part_s = <float> (part_s + xlgx(v))
        part_t = part_t + v
    split[0] = <float> (xlgx(part_t) - part_s) / <float> (<double> weight * p.unit)
    return single_gain_of(p, class_base(p, known), info, known.weight, weight, False)
