"""Absolute deviations on both sides of every cut along a feature, in constant time for each.  Header only.

Samples leave a list that is sorted by target, one after the other, in the order of the feature.  The median of those that stay is
at its old place then, or next to it, so that links find it (Suomela 2014, Median filtering is equivalent to sorting).  Backwards
along the feature, the same gives the left sides.
It needs samples that count 1, none of which lacks the feature's value; `medians` has the general way.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy

from fasttree._engine.types cimport Block, Medians, Problem, Scratch, entry_t, row_of
from fasttree._engine.watch cimport interrupted


cdef extern from *:
    """
    #include <stdint.h>

    typedef struct {
        uint32_t *link;             /* by place, from 1 on: the next place and the one before; 0 and n + 1 are ends */
        int64_t sum;                /* of those that stay */
        int64_t below;              /* of those below the lower median */
        uint32_t middle;            /* place of the lower median */
    } fasttree_staying;

    static inline void fasttree_unlink(uint32_t *link, size_t place)
    {
        const uint32_t next = link[2 * place], before = link[2 * place + 1];
        link[2 * (size_t) before] = next;
        link[2 * (size_t) next + 1] = before;
    }

    /* Let one of an even number of samples leave: the lower median moves up if it leaves, or one below it. */
    static inline int64_t fasttree_leave_even(fasttree_staying *s, const int64_t *value, uint32_t place)
    {
        const int64_t moves = -(int64_t) (place <= s->middle);
        s->sum -= value[place];
        s->below += (value[s->middle] - value[place]) & moves;
        s->middle += (s->link[2 * (size_t) s->middle] - s->middle) & (uint32_t) moves;
        fasttree_unlink(s->link, place);
        return s->sum - 2 * s->below - value[s->middle];
    }

    /* Let one of an odd number leave: it moves down if it leaves, or one above it. */
    static inline int64_t fasttree_leave_odd(fasttree_staying *s, const int64_t *value, uint32_t place)
    {
        const uint32_t moves = -(uint32_t) (place >= s->middle);
        s->sum -= value[place];
        s->middle += (s->link[2 * (size_t) s->middle + 1] - s->middle) & moves;
        s->below -= value[place + ((s->middle - place) & moves)];
        fasttree_unlink(s->link, place);
        return s->sum - 2 * (s->below + value[s->middle]);
    }

    /* out[i] = deviations on both sides of a cut after i + 1 of n samples.  Two independent chains of steps run side by side. */
    static void fasttree_deviations_along(
        const uint32_t *rows, const uint32_t *place_of, const int64_t *value, fasttree_staying right, fasttree_staying left,
        int64_t n, int64_t *out)
    {
        int64_t i;
        for (i = 0; i < n - 1; i++)
            out[i] = 0;
        i = 0;
        if (n % 2 && n > 1) {
            out[0] += fasttree_leave_odd(&right, value, place_of[rows[0]]);
            out[n - 2] += fasttree_leave_odd(&left, value, place_of[rows[n - 1]]);
            i = 1;
        }
        for (; i < n - 1; i++) {
            out[i] += fasttree_leave_even(&right, value, place_of[rows[i]]);
            out[n - 2 - i] += fasttree_leave_even(&left, value, place_of[rows[n - 1 - i]]);
            if (++i >= n - 1)
                break;
            out[i] += fasttree_leave_odd(&right, value, place_of[rows[i]]);
            out[n - 2 - i] += fasttree_leave_odd(&left, value, place_of[rows[n - 1 - i]]);
        }
    }
    """
    ctypedef struct Staying "fasttree_staying":
        uint32_t* link
        int64_t sum
        int64_t below
        uint32_t middle
    void deviations_along "fasttree_deviations_along"(
        const uint32_t* rows, const uint32_t* place_of, const int64_t* value, Staying right, Staying left, int64_t n, int64_t* out
    ) noexcept nogil


cdef inline void number_places(const Problem* p, int64_t n) noexcept nogil:
    """Prepare the n samples of a node, after `rank_targets`."""
    cdef Medians* m
    cdef int64_t i
    cdef int32_t o
    for o in range(p.n_outputs):
        m = &p.medians[o]
        m.sorted[0] = 0
        m.sorted[n + 1] = 0
        for i in range(n):
            m.place[<uint32_t> m.records[i]] = <uint32_t> i + 1
            m.sorted[i + 1] = m.part[<uint32_t> m.records[i]]
    for i in range(n + 2):
        p.parts.links[2 * i] = <uint32_t> i + 1
        p.parts.links[2 * i + 1] = <uint32_t> (i - 1)


cdef inline Staying all_stay(const Medians* m, uint32_t* link, int64_t n) noexcept nogil:
    cdef Staying s
    cdef int64_t i
    s.link = link
    s.middle = <uint32_t> ((n - 1) // 2 + 1)
    s.below = 0
    s.sum = 0
    for i in range(1, n + 1):
        s.sum += m.sorted[i]
        if i < s.middle:
            s.below += m.sorted[i]
    return s


cdef inline void find_gains_along(const Problem* p, Scratch* s, int64_t n) noexcept nogil:
    """Gains of the cuts after each of `parts.rows`, but the last."""
    cdef const Medians* m
    cdef double* gain = p.parts.gain
    cdef int64_t* both = p.parts.weight
    cdef uint32_t* links = p.parts.links
    cdef size_t size = 2 * (n + 2)
    cdef Staying right, left
    cdef int64_t i, risk
    cdef int32_t o
    if interrupted(s.watch, 4 * n * p.n_outputs):
        for i in range(n):
            gain[i] = 0
        return
    for o in range(p.n_outputs):
        m = &p.medians[o]
        memcpy(links + size, links, size * sizeof(uint32_t))
        memcpy(links + 2 * size, links, size * sizeof(uint32_t))
        right = all_stay(m, links + size, n)
        left = right
        left.link = links + 2 * size
        risk = right.sum - 2 * right.below - m.sorted[right.middle] * (1 if n % 2 else 2)
        deviations_along(p.parts.rows, m.place, m.sorted, right, left, n, both)
        for i in range(n - 1):
            gain[i] = (0 if o == 0 else gain[i]) + <double> (risk - both[i]) * m.unit
    for i in range(n - 1):
        gain[i] = max(gain[i] / p.n_outputs, 0.0)


cdef inline void find_gains_along_list(
    const Problem* p, Scratch* s, const entry_t* entries, int64_t n,
) noexcept nogil:
    """Gains of the cuts after each entry of a sorted list, but the last."""
    cdef int64_t i
    for i in range(n):
        p.parts.rows[i] = row_of(entries[i])
    find_gains_along(p, s, n)
