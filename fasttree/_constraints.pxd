"""Constraints on growth: values that rise or fall with a feature, and features that may stand on one path.  Header only."""

from libc.math cimport INFINITY, nextafter
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from fasttree._types cimport Block, FeatureSets, Problem, Scratch, Totals, code_of, entry_t, row_of


cdef inline double mean_value(const Problem* p, const int64_t* counts, int64_t sum, int64_t weight) noexcept nogil:
    """What a constraint orders: the mean class index (of two classes: the share of the second), or the mean target in quanta.

    Of two classes it is bit for bit what a leaf predicts, so that no two predictions are out of order.
    """
    cdef double total = 0
    cdef double whole = 0
    cdef int32_t k
    if p.n_classes == 0:
        return <double> sum / <double> weight
    for k in range(p.n_classes):
        total += k * <double> counts[k]
        whole += <double> counts[k]
    return total / whole


cdef inline bint in_order(
    const Problem* p, const Totals* node, int32_t direction, const int64_t* left, int64_t sum, int64_t weight,
) noexcept nogil:
    """May a node be divided into `left` (class weights, or weight and sum) and the rest by a feature that asks for an order?

    Both values must lie within the node's bounds, and not fall (`direction` 1) or rise (-1) from left to right.
    """
    cdef double low = 0
    cdef double high = 0
    cdef double whole_low = 0
    cdef double whole_high = 0
    cdef int32_t k
    if p.n_classes:
        for k in range(p.n_classes):
            low += k * <double> left[k]
            high += k * <double> (node.counts[k] - left[k])
            whole_low += <double> left[k]
            whole_high += <double> (node.counts[k] - left[k])
        low /= whole_low
        high /= whole_high
    else:
        low = <double> sum / <double> weight
        high = <double> (node.sum - sum) / <double> (node.weight - weight)
    return (
        node.low <= low <= node.high and node.low <= high <= node.high
        and (low <= high if direction > 0 else low >= high)
    )


cdef inline double mean_index(const double* value, Py_ssize_t n_classes) noexcept nogil:
    """`mean_value` of a finished node, from its class weights."""
    cdef double total = 0
    cdef double whole = 0
    cdef Py_ssize_t k
    for k in range(n_classes):
        total += k * value[k]
        whole += value[k]
    return total / whole


cdef inline void clip_classes(double* value, Py_ssize_t n_classes, double low, double high) noexcept nogil:
    """Move class weight to the last class, or to the first, until the mean index lies within bounds.

    Of two classes the share that is then predicted is within them whatever the rounding.
    """
    cdef double mean = mean_index(value, n_classes)
    cdef double bound = low if mean < low else high
    cdef Py_ssize_t gains = n_classes - 1 if mean < low else 0
    cdef double whole = 0
    cdef double part
    cdef Py_ssize_t k
    if low <= mean <= high:
        return
    part = (bound - mean) / (gains - mean)
    for k in range(n_classes):
        whole += value[k]
        value[k] *= 1 - part
    value[gains] += part * whole
    while n_classes == 2 and (mean_index(value, 2) < low if gains else mean_index(value, 2) > high):
        value[gains] = nextafter(value[gains], INFINITY)


cdef struct Side:              # the left of a candidate, along a list; its class weights are in s.mark
    int64_t sum
    int64_t weight
    int64_t next               # first entry that is not yet part of it


cdef inline Side start_side(const Problem* p, Scratch* s, const Totals* lost, bint lost_left) noexcept nogil:
    cdef Side side
    cdef int32_t k
    side.sum = lost.sum if lost_left else 0
    side.weight = lost.weight if lost_left else 0
    side.next = lost.n
    for k in range(p.n_classes):
        s.mark[k] = lost.counts[k] if lost_left else 0
    return side


cdef inline int64_t drop_disordered(
    const Problem* p, const Block* block, Scratch* s, const Totals* node, Side* side, const entry_t* entries, int32_t f,
    int64_t m,
) noexcept nogil:
    """Keep the candidates of a chunk that the constraints allow; `side` goes along with them."""
    cdef int64_t kept = 0
    cdef int64_t j, weight
    cdef uint32_t row
    for j in range(m):
        while side.next <= s.positions[j]:
            row = row_of(entries[side.next])
            weight = 1 if block.weight == NULL else block.weight[row]
            side.weight += weight
            if p.n_classes:
                s.mark[block.label[row]] += weight
            else:
                side.sum += block.ysum[row]
            side.next += 1
        if in_order(p, node, p.monotone[f], s.mark, side.sum, side.weight):
            s.positions[kept] = s.positions[j]
            s.a[kept] = s.a[j]
            s.b[kept] = s.b[j]
            kept += 1
    return kept


cdef inline void mark_allowed(
    const FeatureSets* sets, int32_t n_features, const int32_t* parent, const int32_t* feature, int64_t node, uint8_t* allowed,
) noexcept nogil:
    """allowed[f]: does a set hold f and every feature that is tested at `node` and above it?  `node` -1: nothing is tested yet.

    What it costs follows the path and the sets that its features are in.
    """
    cdef int32_t* path = sets.path
    cdef int32_t* hits = sets.hits
    cdef int32_t n = 0
    cdef int32_t i
    cdef int64_t at, j
    cdef int32_t chosen
    memset(allowed, 0, n_features)
    while node >= 0:
        if not allowed[feature[node]]:
            allowed[feature[node]] = 1
            path[n] = feature[node]
            n += 1
        node = parent[node]
    if n == 0 or (sets.pairwise and n == 1):
        memset(allowed, 1, n_features)
        return
    if sets.pairwise:
        return
    for i in range(n):
        for at in range(sets.sets_start[path[i]], sets.sets_start[path[i] + 1]):
            chosen = sets.sets_of[at]
            hits[chosen] += 1
            if hits[chosen] == n:
                for j in range(sets.members_start[chosen], sets.members_start[chosen + 1]):
                    allowed[sets.members[j]] = 1
    for i in range(n):
        for at in range(sets.sets_start[path[i]], sets.sets_start[path[i] + 1]):
            hits[sets.sets_of[at]] = 0
