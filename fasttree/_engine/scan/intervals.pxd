"""The values of a node in adjacent intervals whose classes differ: ChiMerge (Kerber 1992).  Header only."""

from libc.math cimport ceil
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy

from fasttree._engine.types cimport Neighbours, Problem, Scratch
from fasttree._engine.watch cimport interrupted


cdef inline float difference(const Problem* p, const Scratch* s, int64_t a, int64_t b) noexcept nogil:
    """1 + Pearson's chi-square of two intervals and the classes.

    In single precision: what differs by the rounding of doubles alone is a tie.  A class that neither has adds nothing.
    """
    cdef const int64_t* in_a = &s.group_stat[a * p.width]
    cdef const int64_t* in_b = &s.group_stat[b * p.width]
    cdef double weight_a = <double> s.group_w[a]
    cdef double weight_b = <double> s.group_w[b]
    cdef double sum = 0
    cdef double d
    cdef int32_t k
    for k in range(p.n_classes):
        if in_a[k] + in_b[k] > 0:
            d = <double> in_a[k] * weight_b - <double> in_b[k] * weight_a
            sum += d * d / <double> (in_a[k] + in_b[k])
    return <float> (1 + sum / (weight_a * weight_b) * p.unit)


cdef inline bint before(const Neighbours* a, const Neighbours* b) noexcept nogil:
    return a.difference < b.difference or (a.difference == b.difference and a.left < b.left)


cdef inline void sift_down(Neighbours* heap, int64_t n, int64_t at) noexcept nogil:
    """Restore the order of a heap, least first, below a place."""
    cdef Neighbours moved = heap[at]
    cdef int64_t child
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and before(&heap[child + 1], &heap[child]):
            child += 1
        if not before(&heap[child], &moved):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved


cdef inline int64_t push(Neighbours* heap, int64_t n, Neighbours added) noexcept nogil:
    cdef int64_t at = n
    while at and before(&added, &heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = added
    return n + 1


cdef inline Neighbours neighbours(const Problem* p, const Scratch* s, int64_t left) noexcept nogil:
    cdef Neighbours pair
    pair.difference = difference(p, s, left, s.following[left])
    pair.left = <int32_t> left
    pair.stamp = s.stamp[left]
    return pair


cdef inline bint too_small(const Problem* p, const Scratch* s, int64_t g, int64_t least) noexcept nogil:
    return s.group_n[g] < p.min_samples_leaf or s.group_w[g] < least


cdef inline int64_t merge_intervals(const Problem* p, Scratch* s, int64_t q) noexcept nogil:
    """Merge ascending groups into intervals, and return their number.

    The two neighbours that differ least, the leftmost on ties, become one until the least difference exceeds the critical value
    and there are not too many.  An interval that is too small for a branch goes on with the neighbour from which it differs
    less.  group_n, group_w and group_stat become those of the intervals, branch_of_group the interval of each group.

    A pair in the heap holds while its stamp is that of its left interval, so n groups take n log n steps.
    """
    cdef Neighbours* heap = s.pairs
    cdef Neighbours pair
    cdef int64_t least = <int64_t> ceil(p.min_weight_leaf / p.unit * (1 - 1e-12))
    cdef int64_t n_intervals = q
    cdef int64_t waiting = max(q - 1, 0)
    cdef int64_t g, b, right
    cdef int32_t k
    for g in range(q):
        s.following[g] = <int32_t> (g + 1)
        s.preceding[g] = <int32_t> (g - 1)
        s.stamp[g] = 0
    for g in range(waiting):
        heap[g] = neighbours(p, s, g)
    for g in range(waiting // 2 - 1, -1, -1):
        sift_down(heap, waiting, g)
    while waiting and not interrupted(s.watch, p.width):
        pair = heap[0]
        waiting -= 1
        heap[0] = heap[waiting]
        sift_down(heap, waiting, 0)
        g = pair.left
        if pair.stamp != s.stamp[g]:
            continue
        right = s.following[g]
        if (
            pair.difference > p.least_difference and n_intervals <= p.max_intervals
            and not too_small(p, s, g, least) and not too_small(p, s, right, least)
        ):
            continue
        s.group_n[g] += s.group_n[right]
        s.group_w[g] += s.group_w[right]
        for k in range(p.width):
            s.group_stat[g * p.width + k] += s.group_stat[right * p.width + k]
        n_intervals -= 1
        s.stamp[right] = -1
        s.stamp[g] += 1
        s.following[g] = s.following[right]
        if s.following[g] < q:
            s.preceding[s.following[g]] = <int32_t> g
            waiting = push(heap, waiting, neighbours(p, s, g))
        if s.preceding[g] >= 0:
            s.stamp[s.preceding[g]] += 1
            waiting = push(heap, waiting, neighbours(p, s, s.preceding[g]))
    b = -1
    for g in range(q):
        if s.stamp[g] >= 0:
            b += 1
            s.group_n[b] = s.group_n[g]
            s.group_w[b] = s.group_w[g]
            memcpy(&s.group_stat[b * p.width], &s.group_stat[g * p.width], p.width * sizeof(int64_t))
        s.branch_of_group[g] = <uint32_t> b
    return n_intervals
