"""Results of sets of rows, kept under sums of random numbers per row.  Header only."""

from libc.math cimport INFINITY
from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from fasttree._engine.levels.records cimport MOST_LEVELS, WAYS, FoundTree, KeptResult, LevelNode, TreeSearch


cdef inline KeptResult* place_of(TreeSearch* s, const uint64_t* key, int depth, bint to_write) noexcept nogil:
    """Return the result of a set of rows, or NULL; to write, the place for it: a free one, or that of the smallest depth."""
    cdef uint64_t first = (key[0] + <uint64_t> depth) % s.n_results
    cdef KeptResult* found
    cdef KeptResult* worst = NULL
    cdef int i
    for i in range(WAYS):
        found = &s.results[(first + i) % s.n_results]
        if found.depth == depth and found.key[0] == key[0] and found.key[1] == key[1]:
            return found
        if worst == NULL or found.depth < worst.depth:
            worst = found
    return worst if to_write else NULL


cdef inline bint recall(TreeSearch* s, const LevelNode* node, int depth, double budget, FoundTree* out) noexcept nogil:
    """Whether the cache has what a search would find: an exact result, or a bound that is not below the budget."""
    cdef KeptResult* kept = place_of(s, node.key, depth, False) if s.n_results else NULL
    if kept == NULL:
        return False
    out.low = kept.low
    out.value = INFINITY
    if kept.value < budget:
        out.value = kept.value
        memcpy(out.tests, kept.tests, sizeof(kept.tests))
        return True
    return kept.low >= budget or kept.value < INFINITY


cdef inline void widen(TreeSearch* s) noexcept nogil:
    """Make the cache larger; results that find no place are lost."""
    cdef uint64_t old = s.n_results
    cdef KeptResult* results = s.results
    cdef KeptResult* wider
    cdef KeptResult* place
    cdef uint64_t i
    s.n_results = min(<uint64_t> 4 * old, s.most_results)
    wider = <KeptResult*> calloc(s.n_results, sizeof(KeptResult))
    if wider == NULL:
        s.n_results = s.most_results = old
        return
    s.results = wider
    s.n_kept = 0
    for i in range(old):
        if results[i].depth:
            place = place_of(s, results[i].key, results[i].depth, True)
            s.n_kept += place.depth == 0
            place[0] = results[i]
    free(results)


cdef inline void keep(TreeSearch* s, const LevelNode* node, int depth, const FoundTree* found) noexcept nogil:
    """Keep a result; `value` is the optimum, or infinity."""
    cdef KeptResult* kept
    if s.n_results and depth < MOST_LEVELS and not s.over:
        if 2 * s.n_kept > s.n_results and s.n_results < s.most_results:
            widen(s)
        kept = place_of(s, node.key, depth, True)
        s.n_kept += kept.depth == 0
        kept.key[0], kept.key[1] = node.key[0], node.key[1]
        kept.depth = depth
        kept.value = found.value
        kept.low = found.low
        memcpy(kept.tests, found.tests, sizeof(kept.tests))
