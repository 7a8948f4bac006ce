"""Trees on the ordered bins of a feature: the leaf of the largest gain is divided first, or cuts are drawn.  Header only.

A later cut wins by more than 1e-10 of the gain.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t

from fasttree._engine.random cimport mix

cdef enum:
    MOST_LEAVES = 32


cdef struct Leaf:              # bins in order, from `first` to before `stop`
    int64_t first
    int64_t stop
    int64_t cut                # the left side ends before it; 0: there is none
    double gain
    double left                # Newton step of each side
    double right
    double step                # of the leaf
    double low                 # bounds of the steps by a monotone constraint
    double high


cdef struct OrderedBins:              # of the term in turn: running sums in the order of the bins, one more than bins
    double* gradient
    double* curvature
    double* count
    double min_count
    double min_curvature
    double penalty             # that is added to curvatures
    int64_t n
    int monotone


cdef inline double newton(const OrderedBins* bins, int64_t first, int64_t stop) noexcept nogil:
    """Step of a leaf: 0 where nothing weighs."""
    cdef double curvature = bins.curvature[stop] - bins.curvature[first] + bins.penalty
    return (bins.gradient[stop] - bins.gradient[first]) / curvature if curvature > 0 else 0.0


cdef inline double worth(const OrderedBins* bins, int64_t first, int64_t stop) noexcept nogil:
    """What a leaf's step gains."""
    cdef double gradient = bins.gradient[stop] - bins.gradient[first]
    return gradient * newton(bins, first, stop)


cdef inline bint enough(const OrderedBins* bins, int64_t first, int64_t stop) noexcept nogil:
    return (
        bins.count[stop] - bins.count[first] >= bins.min_count
        and bins.curvature[stop] - bins.curvature[first] >= bins.min_curvature
    )


cdef inline double clipped(double value, double low, double high) noexcept nogil:
    return low if value < low else high if value > high else value


cdef inline bint may_cut(const OrderedBins* bins, const Leaf* leaf, int64_t cut) noexcept nogil:
    """Are both sides large enough, and in the order of the constraint?"""
    if not enough(bins, leaf.first, cut) or not enough(bins, cut, leaf.stop):
        return False
    if bins.monotone == 0 or cut == 1:
        return True
    return bins.monotone * (newton(bins, cut, leaf.stop) - newton(bins, leaf.first, cut)) >= 0


cdef inline void find_cut(const OrderedBins* bins, Leaf* leaf, uint64_t key) noexcept nogil:
    """The best cut of a leaf; with a key other than 0, one that is drawn among those allowed."""
    cdef double total = worth(bins, leaf.first, leaf.stop)
    cdef double gain
    cdef int64_t cut
    cdef int64_t n_allowed = 0
    cdef int64_t drawn = -1
    leaf.cut = 0
    leaf.gain = -INFINITY
    if key:
        for cut in range(leaf.first + 1, leaf.stop):
            n_allowed += may_cut(bins, leaf, cut)
        if n_allowed == 0:
            return
        drawn = <int64_t> (key % <uint64_t> n_allowed)
        n_allowed = 0
    for cut in range(leaf.first + 1, leaf.stop):
        if not may_cut(bins, leaf, cut):
            continue
        if key:
            n_allowed += 1
            if n_allowed <= drawn:
                continue
        gain = worth(bins, leaf.first, cut) + worth(bins, cut, leaf.stop) - total
        if gain > leaf.gain + 1e-10 * (gain if gain > 0 else 0.0):
            leaf.gain = gain
            leaf.cut = cut
        if key:
            break
    if leaf.cut:
        leaf.left = clipped(newton(bins, leaf.first, leaf.cut), leaf.low, leaf.high)
        leaf.right = clipped(newton(bins, leaf.cut, leaf.stop), leaf.low, leaf.high)


cdef inline int64_t grow(const OrderedBins* bins, Leaf* leaves, int64_t most_leaves, uint64_t key) noexcept nogil:
    """Divide the bins, the leaf of the largest gain first.  Returns the number of leaves."""
    cdef int64_t n = 1
    cdef int64_t i, best
    cdef Leaf* old
    cdef Leaf* new
    cdef double middle
    leaves[0].first = 0
    leaves[0].stop = bins.n
    leaves[0].low = -INFINITY
    leaves[0].high = INFINITY
    leaves[0].step = newton(bins, 0, bins.n) if enough(bins, 0, bins.n) else 0.0
    find_cut(bins, &leaves[0], key)
    while n < most_leaves:
        best = -1
        for i in range(n):
            if leaves[i].cut and (best < 0 or leaves[i].gain > leaves[best].gain):
                best = i
        if best < 0 or leaves[best].gain < 0:
            break
        old = &leaves[best]
        new = &leaves[n]
        new[0] = old[0]
        new.first = old.cut
        old.stop = old.cut
        old.step = old.left
        new.step = new.right
        if bins.monotone != 0 and old.cut > 1:
            middle = (old.step + new.step) / 2
            if bins.monotone > 0:
                old.high = middle
                new.low = middle
            else:
                old.low = middle
                new.high = middle
        n += 1
        find_cut(bins, old, mix(key + 1) | 1 if key else 0)
        find_cut(bins, new, mix(key + <uint64_t> n) | 1 if key else 0)
    return n


cdef inline void sort_keys(double* key, int32_t* order, int64_t n) noexcept nogil:
    """Order positions by their keys, equal ones by position (Shell 1959)."""
    cdef int64_t gap = 1
    cdef int64_t i, j
    cdef int32_t moved
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            moved = order[i]
            j = i
            while j >= gap and (
                key[order[j - gap]] > key[moved] or (key[order[j - gap]] == key[moved] and order[j - gap] > moved)
            ):
                order[j] = order[j - gap]
                j -= gap
            order[j] = moved
        gap //= 3
