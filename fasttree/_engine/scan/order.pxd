"""Monotone constraints: the cuts that keep the values rising or falling with a feature.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint32_t

from fasttree._engine.scan.cut cimport Division
from fasttree._engine.types cimport Block, Problem, Scratch, Totals, entry_t, row_of


cdef inline double mean_value(const Problem* p, const int64_t* counts, int64_t sum, int64_t weight) noexcept nogil:
    """What a constraint orders: the mean class index (of two classes: the share of the second), or the mean target in quanta.

    For two classes it is bit for bit what a leaf predicts, so that no two predictions are out of order.
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
    """May a node be divided into `left` (class weights, or weight and sum) and the rest by a feature with a monotone constraint?

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


cdef struct Side:              # the left of a candidate, along a list; its class weights are in s.mark
    const Totals* total        # what is divided
    int32_t direction
    int64_t sum
    int64_t weight
    int64_t next               # first entry that is not yet part of it


cdef inline Side start_side(const Problem* p, Scratch* s, const Division* division) noexcept nogil:
    cdef const Totals* missing = division.missing
    cdef Side side
    cdef int32_t k
    side.total = division.total
    side.direction = p.monotone[division.feature]
    side.sum = missing.sum if division.missing_left else 0
    side.weight = missing.weight if division.missing_left else 0
    side.next = missing.n
    for k in range(p.n_classes):
        s.mark[k] = missing.counts[k] if division.missing_left else 0
    return side


cdef inline int64_t drop_disordered(
    const Problem* p, const Block* block, Scratch* s, Side* side, const entry_t* entries, int64_t m,
) noexcept nogil:
    """Keep the candidates of a chunk that the constraints allow; `side` moves along with them."""
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
        if in_order(p, side.total, side.direction, s.mark, side.sum, side.weight):
            s.positions[kept] = s.positions[j]
            s.a[kept] = s.a[j]
            s.b[kept] = s.b[j]
            kept += 1
    return kept
