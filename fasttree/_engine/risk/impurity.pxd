"""Risks and gains: risk = weight x impurity, gain = risk(parent) - sum of risk(child).  Header only.

Also the rule for ties: gains that differ by no more than rounding are equal.
"""

from libc.math cimport INFINITY, fabs, llrint, log1p, log2, pow
from libc.stdint cimport int32_t, int64_t

from fasttree._engine.types cimport RELATIVE_TIE, RISK_TIE, TABLE, Problem


cdef enum Impurity:
    GINI
    ENTROPY
    MISCLASSIFICATION
    SQUARED_ERROR
    POISSON           # half the deviance, nats
    ABSOLUTE_ERROR    # around the median
    FIFTH_ROOT        # of the mean variance of the targets; the sums of their squares are those of one more target, the last


cdef inline dict impurity_words():
    """Return the impurities by their words in recipes."""
    return {
        "gini": GINI, "entropy": ENTROPY, "misclassification": MISCLASSIFICATION, "squared_error": SQUARED_ERROR,
        "poisson": POISSON, "absolute_error": ABSOLUTE_ERROR, "fifth_root": FIFTH_ROOT
    }


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


cdef inline int64_t table_entry(int64_t count, double quantum) noexcept nogil:
    """count log2 count in quanta, a power of two."""
    return llrint(xlogx(<double> count) / quantum)


cdef inline double table_risk(const Problem* p, const int64_t* counts) noexcept nogil:
    """Entropy risk of integer counts from the fixed-point table: exact sums, so equal whatever the order.

    Without a table, which would be too large, its entries are computed.
    """
    cdef int64_t total = 0
    cdef int64_t part = 0
    cdef int32_t k
    if p.xlogx == NULL:
        for k in range(p.n_classes):
            total += counts[k]
            part += table_entry(counts[k], p.xlogx_unit)
        return <double> (table_entry(total, p.xlogx_unit) - part) * p.xlogx_unit
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
    Both sides say the same; of the lighter one double precision knows more.  Where they are equally heavy, the smaller statistic
    is taken, so that mirrored cuts gain the same.
    """
    cdef double part, d
    if n_left > n - n_left or (n_left == n - n_left and left > total - left):
        n_left = n - n_left
        left = total - left
    part = <double> n_left
    d = <double> n * <double> left - <double> total * part
    return d * d / (part * (<double> n - part)) * scale


cdef inline double surplus(double d) noexcept nogil:
    """(1 + d) log(1 + d) - d for d >= -1, also where that cancels."""
    if d <= -1:
        return 1
    if fabs(d) < 0.02:
        return d * d * (1 / 2.0 - d * (1 / 6.0 - d * (1 / 12.0 - d * (1 / 20.0 - d * (1 / 30.0 - d * (
            1 / 42.0 - d * (1 / 56.0 - d / 72)))))))
    return (1 + d) * log1p(d) - d


cdef inline double deviation(int32_t impurity, double y, double centre) noexcept nogil:
    """What a target adds to the impurity of a node that predicts `centre`, per unit weight."""
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


cdef inline double fifth_root(const Problem* p, int64_t n, const int64_t* total, const int64_t* less) noexcept nogil:
    """weight x fifth root of the mean variance of a part of this weight, from the sums of its targets and of their mean square.

    The sums are `total` less `less`, which may be NULL.
    A variance below 1e-12 of the mean square of all targets is rounding, whose fifth root would be seen: it counts as none.
    The quantum of the squares is 2^-60 to 2^-61 of their sum.
    """
    cdef double weight = <double> n * p.unit
    cdef int32_t last = p.n_outputs - 1, o
    cdef double squares = 0, mean
    cdef double square = <double> (total[last] - (0 if less == NULL else less[last])) * p.y_unit[last] / weight
    cdef double variance
    for o in range(last):
        mean = <double> (total[o] - (0 if less == NULL else less[o])) * p.y_unit[o] / weight
        squares += mean * mean
    variance = square - squares / last
    if variance <= 1e-13 * square + 1e6 * p.y_unit[last] / p.total_weight:
        return 0
    return weight * pow(variance, 0.2)


cdef inline double add_output(const Problem* p, int32_t o, double risk, double deviations) noexcept nogil:
    """Return the mean deviation of the targets after that of target o is added, from the sum of its deviations from the mean."""
    if p.impurity == FIFTH_ROOT:
        return risk if o == p.n_outputs - 1 else risk + deviations / (p.n_outputs - 1)
    return risk + deviations / p.n_outputs


cdef inline double risk_of_outputs(const Problem* p, double deviations, double weight) noexcept nogil:
    """Return the risk of a node of numeric targets from their mean deviation."""
    return weight * pow(deviations / weight, 0.2) if p.impurity == FIFTH_ROOT else deviations


cdef inline double outputs_gain(
    const Problem* p, int64_t n, const int64_t* total, int64_t n_left, const int64_t* left,
) noexcept nogil:
    """Gain of a cut from the sums of several numeric targets: the mean of their gains."""
    cdef double gain = 0
    cdef int64_t base
    cdef int32_t o
    if p.impurity == FIFTH_ROOT:
        gain = fifth_root(p, n_left, left, NULL)
        gain += fifth_root(p, n - n_left, total, left)
        return max(fifth_root(p, n, total, NULL) - gain, 0.0)
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
