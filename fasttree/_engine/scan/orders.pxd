"""The orders in which categories are divided into two groups.  Header only.

For two classes, one target and medians the categories are sorted by one number; for more classes or targets their shares are
projected on the principal axis of their covariance.
"""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from fasttree._engine.risk.impurity cimport FIFTH_ROOT, POISSON
from fasttree._engine.risk.medians cimport find_medians, median_of_part
from fasttree._engine.types cimport BY_PRINCIPAL, MEDIANS, SQUARED, Problem, Ranked, Scratch


cdef enum:
    FEW_GROUPS = 32                # that are sorted sooner by insertion


cdef inline int compare_ranked(const void* a, const void* b) noexcept nogil:
    cdef const Ranked* x = <const Ranked*> a
    cdef const Ranked* y = <const Ranked*> b
    if x.key != y.key:
        return -1 if x.key < y.key else 1
    return -1 if x.group < y.group else 1


cdef inline void sort_ranked(Ranked* ranked, int64_t q) noexcept nogil:
    """Sort groups, whose numbers ascend, by their keys; ties keep their order.  Mostly they are a few."""
    cdef Ranked moved
    cdef int64_t i, place
    if q > FEW_GROUPS:
        qsort(ranked, q, sizeof(Ranked), compare_ranked)
        return
    for i in range(1, q):
        moved = ranked[i]
        place = i
        while place and moved.key < ranked[place - 1].key:
            ranked[place] = ranked[place - 1]
            place -= 1
        ranked[place] = moved


cdef inline void squared_axis(const Problem* p, const Scratch* s, int64_t q, const double* mean, double* axis) noexcept nogil:
    """The leading eigenvector of a small covariance matrix, by squaring it again and again."""
    cdef int32_t k_n = p.n_counts
    cdef const double* scale_of = s.pca_scale
    cdef double* cov = s.pca
    cdef double* squared = s.pca + SQUARED * SQUARED
    cdef double w, scale, trace, trace_squared
    cdef int64_t g
    cdef int32_t i, j, k, best, _step
    memset(cov, 0, k_n * k_n * sizeof(double))
    for g in range(q):
        w = <double> s.group_w[g]
        for k in range(k_n):
            axis[k] = <double> s.group_stat[g * k_n + k] / w * scale_of[k] - mean[k]
        for i in range(k_n):
            for j in range(k_n):
                cov[i * k_n + j] += w * axis[i] * axis[j]
    for _step in range(40):     # S^(2^40) decides any gap between eigenvalues that a double can hold
        scale = 0
        for i in range(k_n * k_n):
            scale = max(scale, fabs(cov[i]))
        if scale == 0:
            break
        for i in range(k_n * k_n):
            cov[i] /= scale
        trace = trace_squared = 0
        memset(squared, 0, k_n * k_n * sizeof(double))
        for i in range(k_n):
            for k in range(k_n):
                for j in range(k_n):
                    squared[i * k_n + j] += cov[i * k_n + k] * cov[k * k_n + j]
            trace += cov[i * k_n + i]
            trace_squared += squared[i * k_n + i]
        memcpy(cov, squared, k_n * k_n * sizeof(double))
        if trace * trace - trace_squared <= 1e-10 * trace * trace:
            break                   # one eigenvalue is left: the sum of squares is the square of the sum
    best = 0
    for i in range(k_n):        # S^N is close to v v^T: its column of largest diagonal entry is v, scaled
        if cov[i * k_n + i] > cov[best * k_n + best]:
            best = i
    for k in range(k_n):
        axis[k] = cov[k * k_n + best]


cdef inline void iterated_axis(const Problem* p, const Scratch* s, int64_t q, const double* mean, double* axis) noexcept nogil:
    """The same for many classes: power iteration that never forms the matrix, q x K a step."""
    cdef int32_t k_n = p.n_counts
    cdef const double* scale_of = s.pca_scale
    cdef double* following = axis + k_n
    cdef double w, x, scale, change
    cdef int64_t g
    cdef int32_t k, _step
    for k in range(k_n):
        axis[k] = (mean[k] * (1 - mean[k]) if p.n_classes else 1.0 + k) * (1 if k % 2 else -1)
    for _step in range(100):
        for k in range(k_n):
            following[k] = 0
        for g in range(q):
            w = <double> s.group_w[g]
            x = 0
            for k in range(k_n):
                x += axis[k] * (<double> s.group_stat[g * k_n + k] / w * scale_of[k] - mean[k])
            for k in range(k_n):
                following[k] += x * (<double> s.group_stat[g * k_n + k] * scale_of[k] - w * mean[k])
        scale = 0
        for k in range(k_n):
            scale = max(scale, fabs(following[k]))
        if scale == 0:
            return
        change = 0
        for k in range(k_n):
            change = max(change, fabs(following[k] / scale - axis[k]))
            axis[k] = following[k] / scale
        if change < 1e-12:
            return


cdef inline void principal_scores(const Problem* p, const Scratch* s, int64_t q) noexcept nogil:
    """group_key = p_i . v, v the first principal component of the class shares (Coppersmith, Hong, Hosking 1999).

    v is the leading eigenvector of S = sum_i n_i (p_i - p)(p_i - p)^T, with its largest component positive.  Of several numeric
    targets the means take the place of the shares, for Poisson over the root of the mean, as their impurity near it has it.
    """
    cdef int32_t k_n = p.n_counts
    cdef double* mean = s.pca + 2 * SQUARED * SQUARED
    cdef double* axis = mean + k_n
    cdef double* scale_of = s.pca_scale
    cdef double total = 0
    cdef double x
    cdef int64_t g
    cdef int32_t k, best
    for k in range(k_n):
        mean[k] = 0
    for g in range(q):
        total += <double> s.group_w[g]
        for k in range(k_n):
            mean[k] += <double> s.group_stat[g * k_n + k]
    for k in range(k_n):
        scale_of[k] = 1 if p.n_classes else p.y_unit[k]
        if p.impurity == POISSON and mean[k] > 0:
            scale_of[k] = sqrt(p.y_unit[k] * total / mean[k])
        if p.impurity == FIFTH_ROOT and k == k_n - 1:
            scale_of[k] = 0         # the squares are no target
        mean[k] = mean[k] / total * scale_of[k]
    if k_n <= SQUARED:
        squared_axis(p, s, q, mean, axis)
    else:
        iterated_axis(p, s, q, mean, axis)
    best = 0
    for k in range(k_n):
        if fabs(axis[k]) > fabs(axis[best]):
            best = k
    for g in range(q):
        x = 0
        for k in range(k_n):
            x += axis[k] * (<double> s.group_stat[g * k_n + k] / <double> s.group_w[g] * scale_of[k])
        s.group_key[g] = -x if axis[best] < 0 else x


cdef inline void order_by_medians(const Problem* p, Ranked* ranked, int64_t q, int32_t o, int64_t n) noexcept nogil:
    """Sort groups, which come in the order of their means, by the medians of a target; ties keep their order."""
    cdef int64_t g
    find_medians(p, o, n, q, False)
    for g in range(q):
        p.parts.weight[g] = ranked[g].group
        ranked[g].key = median_of_part(p, o, ranked[g].group)
        ranked[g].group = g
    sort_ranked(ranked, q)
    for g in range(q):
        ranked[g].group = p.parts.weight[ranked[g].group]


cdef inline void order_groups(const Problem* p, Scratch* s, int64_t q, int32_t order, int64_t n) noexcept nogil:
    """ranked[0..q) = the groups of a node of n samples in the order that `order` names: see GroupOrder."""
    cdef Ranked* ranked = s.ranked
    cdef int64_t g
    if order == BY_PRINCIPAL:
        principal_scores(p, s, q)
    else:
        for g in range(q):
            s.group_key[g] = <double> s.group_stat[g * p.width + max(order, 0)] / <double> s.group_w[g]
    for g in range(q):
        ranked[g].key = s.group_key[g]
        ranked[g].group = g
    sort_ranked(ranked, q)
    if p.sweep == MEDIANS:
        order_by_medians(p, ranked, q, max(order, 0), n)
