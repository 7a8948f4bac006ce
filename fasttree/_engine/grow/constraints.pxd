"""Which features may be tested below a node.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from fasttree._engine.types cimport FeatureSets


cdef inline void mark_allowed(
    const FeatureSets* sets, int32_t n_features, const int32_t* parent, const int32_t* feature, int64_t node, uint8_t* allowed,
) noexcept nogil:
    """allowed[f]: does a set hold f and every feature that is tested at `node` and above it?  `node` -1: nothing is tested yet.

    Its cost depends on the path and on the sets that contain its features.
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
