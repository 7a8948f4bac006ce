"""Bounds by sets of rows that were searched before and are nearly the same.  Header only.

Let no tree with the root f cost less than b on a set B, and let other rows A lack few rows of B.  A tree that costs a on A costs
at most a, and what the rows of B that are not in A may cost, on B.  So no tree with this root costs less on A than b less what
these rows may cost (the similarity bound of MurTree, for each root; Demirovic et al. 2022; compare the similar support bound of
Hu, Rudin and Seltzer 2019).  Few roots of A must be searched then: in a sequence of cuts, most have bounds far above the best
tree.

A root of A may leave one of its sides without rows of B.  Such a tree costs as much as one without this root, and the penalties
for the leaves that are not there, at least.  This tree may be put on both sides of another cut of f, at the price of its leaves
once more; so penalties of one leaf less are taken off the bounds of roots.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._engine.levels.records cimport LevelNode, SimilarRows, TreeSearch


cdef inline double* lows_of(TreeSearch* s, int depth) noexcept nogil:
    """Bounds of the roots of the node that is searched for trees of `depth` levels."""
    return s.root_low + <int64_t> depth * (s.n_views + 1)


cdef inline void mark_rows(TreeSearch* s, const LevelNode* node, int depth) noexcept nogil:
    """Write the rows of a node as bits."""
    cdef uint64_t* bits = s.bits + depth * s.n_words
    cdef int32_t i
    memset(bits, 0, s.n_words * sizeof(uint64_t))
    for i in range(node.n):
        bits[node.row[i] >> 6] |= <uint64_t> 1 << (node.row[i] & 63)


cdef inline double cost_of_word(const TreeSearch* s, uint64_t rest, int64_t first) noexcept nogil:
    """Worth of the rows of 64 that are marked."""
    cdef double worth = 0
    if s.same_worth > 0:               # count the bits
        rest -= (rest >> 1) & <uint64_t> 0x5555555555555555
        rest = (rest & <uint64_t> 0x3333333333333333) + ((rest >> 2) & <uint64_t> 0x3333333333333333)
        rest = (rest + (rest >> 4)) & <uint64_t> 0x0F0F0F0F0F0F0F0F
        return s.same_worth * <double> ((rest * <uint64_t> 0x0101010101010101) >> 56)
    while rest:
        if rest & 1:
            worth += s.worth[first]
        rest >>= 1
        first += 1
    return worth


cdef inline double cost_of_rest(const TreeSearch* s, const uint64_t* of, const uint64_t* without, double most) noexcept nogil:
    """What the rows of one set that are not in another may cost; `most` or more ends the sum."""
    cdef int64_t w
    cdef uint64_t rest
    cdef double cost = 0
    for w in range(s.n_words):
        rest = of[w] & ~without[w]
        if rest:
            cost += s.slack * cost_of_word(s, rest, 64 * w) if s.slack > 0 else most
            if cost >= most:
                break
    return cost


cdef inline double bound_by_similar(TreeSearch* s, const LevelNode* node, int depth, double least) noexcept nogil:
    """Bound the roots of a node whose rows are marked by the sets of rows that were searched last, and return a bound of all."""
    cdef SimilarRows* known
    cdef int64_t i, at
    cdef int32_t view
    cdef double rest
    cdef double* low = lows_of(s, depth)
    cdef const double* theirs
    for view in range(s.n_views + 1):
        low[view] = least
    for i in range(min(s.n_similar[depth], s.most_similar)):
        at = (depth - 2) * s.most_similar + i
        known = &s.similar[at]
        if known.high - s.slack * (known.worth - node.worth) <= least:
            continue
        rest = cost_of_rest(s, s.similar_bits + at * s.n_words, s.bits + depth * s.n_words, known.high - least)
        if rest < known.high - least:
            theirs = s.similar_low + at * (s.n_views + 1)
            for view in range(s.n_views + 1):
                low[view] = max(low[view], theirs[view] - rest)
    rest = low[s.n_views]
    for view in range(s.n_views):
        rest = min(rest, low[view])
    return max(rest, least)


cdef inline void add_similar(TreeSearch* s, const LevelNode* node, int depth, double least) noexcept nogil:
    """Remember the rows of a node, which are marked, and bounds of its roots; `least` bounds all trees."""
    cdef int64_t at
    cdef int32_t view
    cdef double high = 0
    cdef double* low = lows_of(s, depth)
    cdef double fewer = ((1 << (depth - 1)) - 1) * s.penalty
    if s.most_similar == 0:
        return
    for view in range(s.n_views):
        low[view] = max(low[view] - fewer, least) if node.active[view] else least
        high = max(high, low[view])
    if high <= 0:
        return
    at = (depth - 2) * s.most_similar + s.n_similar[depth] % s.most_similar
    s.n_similar[depth] += 1
    s.similar[at].high = high
    s.similar[at].worth = node.worth
    memcpy(s.similar_low + at * (s.n_views + 1), low, (s.n_views + 1) * sizeof(double))
    memcpy(s.similar_bits + at * s.n_words, s.bits + depth * s.n_words, s.n_words * sizeof(uint64_t))
