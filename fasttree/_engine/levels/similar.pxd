"""Bounds by sets of rows that were searched before and are nearly the same.  Header only.

Let a set B have no tree that costs less than b, and let other rows A lack few rows of B.  A tree that costs a on A costs at most
a, and what the rows of B that are not in A may cost, on B.  So no tree on A costs less than b less what these rows may cost (the
similarity bound of MurTree; Demirovic et al. 2022; compare the similar support bound of Hu, Rudin and Seltzer 2019).
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._engine.levels.records cimport SIMILAR, LevelNode, SimilarRows, TreeSearch


cdef inline void mark_rows(TreeSearch* s, const LevelNode* node, int depth) noexcept nogil:
    """Write the rows of a node as bits."""
    cdef uint64_t* bits = s.bits + depth * s.n_words
    cdef int32_t i
    memset(bits, 0, s.n_words * sizeof(uint64_t))
    for i in range(node.n):
        bits[node.row[i] >> 6] |= <uint64_t> 1 << (node.row[i] & 63)


cdef inline double cost_of_rest(const TreeSearch* s, const uint64_t* of, const uint64_t* without, double most) noexcept nogil:
    """What the rows of one set that are not in another may cost; more than `most` ends the sum."""
    cdef int64_t w
    cdef int32_t i
    cdef uint64_t rest
    cdef double cost = 0
    for w in range(s.n_words):
        rest = of[w] & ~without[w]
        i = <int32_t> (64 * w)
        while rest:
            while not rest & 1:
                rest >>= 1
                i += 1
            cost += s.slack * s.worth[i]
            rest >>= 1
            i += 1
            if cost > most or s.slack <= 0:
                return most + 1
    return cost


cdef inline double bound_by_similar(TreeSearch* s, const LevelNode* node, int depth, double low, double enough) noexcept nogil:
    """Raise a bound of a node whose rows are marked by the sets of rows that were searched last, until it is `enough`."""
    cdef SimilarRows* known
    cdef int64_t i, at
    cdef const uint64_t* bits = s.bits + depth * s.n_words
    for i in range(min(s.n_similar[depth], <int64_t> SIMILAR)):
        at = depth * SIMILAR + (s.n_similar[depth] - 1 - i) % SIMILAR
        known = &s.similar[at]
        if known.low <= low or known.low - s.slack * (known.worth - node.worth) <= low:
            continue
        low = max(low, known.low - cost_of_rest(s, s.similar_bits + at * s.n_words, bits, known.low - low))
        if low >= enough:
            break
    return low


cdef inline void add_similar(TreeSearch* s, const LevelNode* node, int depth, double low) noexcept nogil:
    """Remember the rows of a node, which are marked, and a bound."""
    cdef int64_t at = depth * SIMILAR + s.n_similar[depth] % SIMILAR
    s.n_similar[depth] += 1
    s.similar[at].low = low
    s.similar[at].worth = node.worth
    memcpy(s.similar_bits + at * s.n_words, s.bits + depth * s.n_words, s.n_words * sizeof(uint64_t))
