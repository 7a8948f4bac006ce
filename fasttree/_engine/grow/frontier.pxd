"""Which nodes best-first growth can still reach, in whatever order they are grown.  Header only.

Best-first growth always splits the leaf of the largest worth, weight x gain.  A node's reach is the smallest worth on its path,
its own included.  A split is made before those of smaller reach: when only they are left, none of the leaves that could lead to
it is worth less than them.  So k splits are the k of the largest reach, and once k are known, nothing below the least of these
has to be grown.  This holds for splits into two, each of which adds one leaf.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from fasttree._engine.grow.locks cimport Lock, hold, release

cdef extern from *:
    """
    /* A gain is at most the node's risk, and the gain that a search finds is that of the split, both but for rounding. */
    #define FASTTREE_ROUNDING 1e-9
    """
    const double ROUNDING "FASTTREE_ROUNDING"


cdef struct Frontier:
    double* reach                  # of the splits with the largest so far: a heap, the least first
    int64_t n
    int64_t most                   # splits that are made; 0: all, and nothing is kept
    Lock lock                      # of threads that share it; NULL: there is one


cdef inline double least_reach(const Frontier* frontier) noexcept nogil:
    """What a split must reach to be made: minus infinity while there are too few."""
    cdef double least = -INFINITY
    if frontier.most == 0:
        return least
    hold(frontier.lock)
    if frontier.n == frontier.most:
        least = frontier.reach[0]
    release(frontier.lock)
    return least


cdef inline bint is_beyond(const Frontier* frontier, double reach_above, double risk) noexcept nogil:
    """Is a node never split, because of those above it or because it cannot gain enough?"""
    return min(reach_above, risk) * (1 + ROUNDING) < least_reach(frontier)


cdef inline void note_reach(Frontier* frontier, double reach) noexcept nogil:
    """Count a split as soon as its gain is known, whether it is made or not."""
    cdef double* heap = frontier.reach
    cdef int64_t i, child
    if frontier.most == 0:
        return
    hold(frontier.lock)
    if frontier.n < frontier.most:
        i = frontier.n
        frontier.n += 1
        while i and heap[(i - 1) // 2] > reach:
            heap[i] = heap[(i - 1) // 2]
            i = (i - 1) // 2
        heap[i] = reach
    elif reach > heap[0]:
        i = 0
        while 2 * i + 1 < frontier.n:
            child = 2 * i + 1
            if child + 1 < frontier.n and heap[child + 1] < heap[child]:
                child += 1
            if heap[child] >= reach:
                break
            heap[i] = heap[child]
            i = child
        heap[i] = reach
    release(frontier.lock)
