"""The best threshold of a few samples that are known by their bits in a mask.  Header only.

A node of at most TWIG samples, a twig, keeps its lists for all that grows on it.  The samples of its descendants are a mask of
the twig's samples, which selects their part of a list when the list is read: nothing is partitioned, and a feature that is not
searched costs nothing.

Few are searched: among all divisions of k targets into two groups the best cuts their ascending order (Fisher 1958), so a feature
whose gain is as large cannot be beaten, and those after it need not be searched.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from fasttree._engine.risk.impurity cimport tie_limit
from fasttree._engine.types cimport TWIG, Problem, Totals


cdef struct Twig:
    int64_t n
    int32_t n_active
    uint32_t row[TWIG]               # of the block, ascending
    int64_t statistic[TWIG]          # by sample: its class, 0 or 1, or its target in fixed point
    int32_t* feature               # of every list
    uint32_t* entries              # n_active x TWIG: code << 16 | sample of the twig, ascending


cdef struct TwigNode:                 # a node of the twig that will be split
    uint64_t members
    uint64_t left
    uint32_t low                   # samples on both sides of the threshold
    uint32_t high
    int32_t feature
    int64_t id
    int64_t depth


cdef struct Few:                   # what the gain of a cut of some samples is made of: see linear_gain
    int64_t n
    int64_t mean                   # statistics are summed less this
    double total
    double scale
    int64_t n_min                  # samples on the left: at least, at most
    int64_t n_max


cdef inline int64_t members_of(const uint32_t* entries, int64_t n, uint64_t members, uint32_t* out) noexcept nogil:
    """The entries of some samples; writes one entry past their end."""
    cdef int64_t kept = 0
    cdef int64_t i
    for i in range(n):
        out[kept] = entries[i]
        kept += (members >> (entries[i] & 0xFFFF)) & 1
    return kept


cdef inline double gains_of_few(const Few* few, const int64_t* statistic, const uint32_t* entries, double* gains) noexcept nogil:
    """Gain of every threshold along a list, minus infinity where there can be none; returns the largest."""
    cdef double n = <double> few.n
    cdef double largest = -INFINITY
    cdef double d, n_left
    cdef int64_t sum = 0
    cdef int64_t i
    for i in range(few.n - 1):
        sum += statistic[entries[i] & 0xFFFF] - few.mean
        gains[i] = -INFINITY
        if (entries[i] ^ entries[i + 1]) >> 16 == 0 or not few.n_min <= i + 1 <= few.n_max:
            continue
        n_left = <double> (i + 1)
        d = n * <double> sum - few.total * n_left
        gains[i] = d * d / (n_left * (n - n_left)) * few.scale
        largest = max(largest, gains[i])
    return largest


cdef inline double most_to_gain(const Few* few, const Twig* twig, uint64_t members) noexcept nogil:
    """The largest gain of any division into two groups, whatever the features."""
    cdef int64_t ordered[TWIG]
    cdef double n = <double> few.n
    cdef double largest = 0
    cdef double d, n_left
    cdef int64_t sum = 0
    cdef int64_t k = 0
    cdef int64_t i, j, x
    for i in range(twig.n):
        if not (members >> i) & 1:
            continue
        x = twig.statistic[i]
        j = k
        while j > 0 and ordered[j - 1] > x:
            ordered[j] = ordered[j - 1]
            j -= 1
        ordered[j] = x
        k += 1
    for i in range(k - 1):
        sum += ordered[i] - few.mean
        n_left = <double> (i + 1)
        d = n * <double> sum - few.total * n_left
        largest = max(largest, d * d / (n_left * (n - n_left)) * few.scale)
    return largest


cdef inline Few few_of(const Problem* p, const Totals* totals, int64_t n_min, int64_t n_max) noexcept nogil:
    cdef Few few
    few.n = totals.n
    few.n_min = n_min
    few.n_max = n_max
    few.mean = 0
    if p.n_classes:
        few.total = <double> totals.counts[1]
        few.scale = 2.0 / <double> totals.n * p.unit
    else:
        few.mean = totals.sum // totals.n
        few.total = <double> (totals.sum - few.mean * totals.n)
        few.scale = p.y_unit[0] * p.y_unit[0] / <double> totals.n / p.unit
    return few


cdef inline double search_twig(
    const Problem* p, const Twig* twig, const Few* few, double risk, double* gain_of, TwigNode* node,
) noexcept nogil:
    """Find the threshold of node.members that a search of all features chooses; returns its gain, or minus infinity.

    The first feature with a gain inside the tie tolerance of the largest wins, and of its thresholds the lowest such one.
    """
    cdef uint32_t entries[TWIG + 1]
    cdef double gains[TWIG]
    cdef double enough = tie_limit(most_to_gain(few, twig, node.members) * (1 - 1e-14), 0) if few.n > 2 else 0
    cdef double largest = -INFINITY
    cdef double limit
    cdef int32_t f
    cdef int32_t n_asked = 0
    cdef int64_t i
    while n_asked < twig.n_active and largest < enough:
        members_of(twig.entries + n_asked * TWIG, twig.n, node.members, entries)
        gain_of[n_asked] = gains_of_few(few, twig.statistic, entries, gains)
        largest = max(largest, gain_of[n_asked])
        n_asked += 1
    if largest == -INFINITY:
        return largest
    limit = tie_limit(largest, risk)
    f = 0
    while gain_of[f] < limit:
        f += 1
    members_of(twig.entries + f * TWIG, twig.n, node.members, entries)
    gains_of_few(few, twig.statistic, entries, gains)
    i = 0
    node.left = <uint64_t> 1 << (entries[0] & 0xFFFF)
    while gains[i] < limit:
        i += 1
        node.left |= <uint64_t> 1 << (entries[i] & 0xFFFF)
    node.low = twig.row[entries[i] & 0xFFFF]
    node.high = twig.row[entries[i + 1] & 0xFFFF]
    node.feature = twig.feature[f]
    return gains[i]
