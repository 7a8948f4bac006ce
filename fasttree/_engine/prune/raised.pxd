"""Branches in C5.0's pruning: light ones, and the one that may take its node's place.  Header only.

Errors of light branches are predicted together.  A raised branch is grown anew: the work stops, and goes on with the new nodes,
which are behind the others.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from fasttree._engine.prune.frames cimport ADD, OPEN, ErrorPruning, Frame, Part, whole_weight
from fasttree._engine.risk.sums cimport spread_weight
from fasttree._engine.types cimport NODE_THRESHOLD

cdef extern from *:
    """
    /* C5.0, as shares of a node's cases: a lighter branch is not raised, and a heavier one not grown anew. */
    #define FASTTREE_RAISED_SHARE 0.1
    #define FASTTREE_ANEW_SHARE 0.95
    #define FASTTREE_NULL_CASES 0.05   /* a lighter branch is a null leaf */
    """
    const double RAISED_SHARE "FASTTREE_RAISED_SHARE"
    const double ANEW_SHARE "FASTTREE_ANEW_SHARE"
    const double NULL_CASES "FASTTREE_NULL_CASES"


cdef inline double branch_weight(const Frame* f, int64_t known) noexcept nogil:
    """Weight of a branch with its share of the samples whose value is unknown, fixed point."""
    return <double> known / <double> f.known * <double> f.total


cdef inline double share_before(const ErrorPruning* p, const Frame* f, int32_t b, int32_t n_branches) noexcept nogil:
    """The share of a branch in the known samples that the node holds; 0 if what it holds does not matter."""
    cdef const int64_t* arrived = p.arrived + p.tree.first_child[p.source[f.node]]
    cdef int64_t known = 0
    cdef int32_t i
    if f.mode != ADD:
        return 0
    for i in range(n_branches):
        known += arrived[i]
    return <double> arrived[b] / <double> known if known else 0


cdef inline int64_t held_part(const Part* part, double before) noexcept nogil:
    """What a branch holds of a sample that is divided: nothing if no known sample had come to it."""
    return spread_weight(part.held, before) if part.held and before > 0 else 0


cdef inline int64_t add_branch(
    const ErrorPruning* p, const Frame* f, int32_t b, int32_t n_branches, int64_t* counts,
) noexcept nogil:
    """Add the class weights of a branch, or what changes in them, to others; returns the number of its samples."""
    cdef const int64_t* of_parts = p.segments + f.segments
    cdef const int64_t* of_rows = of_parts + n_branches + 2
    cdef const int64_t* weights = of_rows + n_branches + 2
    cdef double share = <double> weights[b] / <double> f.known
    cdef double before = share_before(p, f, b, n_branches)
    cdef int64_t i
    for i in range(of_parts[b + 1], of_parts[b + 2]):
        counts[p.label[p.parts[i].row]] += p.parts[i].weight - p.parts[i].held
    for i in range(of_rows[b + 1], of_rows[b + 2]):
        counts[p.label[p.rows[i]]] += whole_weight(p, p.rows[i])
    for i in range(of_parts[0], of_parts[1]):
        counts[p.label[p.parts[i].row]] += spread_weight(p.parts[i].weight, share) - held_part(&p.parts[i], before)
    for i in range(of_rows[0], of_rows[1]):
        counts[p.label[p.rows[i]]] += spread_weight(whole_weight(p, p.rows[i]), share)
    return (
        of_parts[b + 2] - of_parts[b + 1] + of_rows[b + 2] - of_rows[b + 1] + of_parts[1] - of_parts[0] + of_rows[1] - of_rows[0]
    )


cdef inline int32_t raised_branch(const ErrorPruning* p, const Frame* f) noexcept nogil:
    """C5.0: the first branch of most cases that may take the node's place, -1 if there is none."""
    cdef int32_t node = p.source[f.node]
    cdef int64_t most = 0
    cdef int32_t best = -1
    cdef int32_t b, child, test
    for b in range(p.tree.n_branches[node]):
        child = p.tree.first_child[node] + b
        if p.leaf[child] or p.total[child] <= most or <double> p.total[child] < RAISED_SHARE * <double> p.total[f.node]:
            continue
        test = p.source[child]
        if (p.tree.kind[node] == NODE_THRESHOLD and p.tree.kind[test] == NODE_THRESHOLD
                and p.tree.feature[node] == p.tree.feature[test]):
            continue
        best = b
        most = p.total[child]
    return best


cdef inline bint is_grown_anew(const ErrorPruning* p, const Frame* f) noexcept nogil:
    """C5.0: is a branch grown anew with all samples of its node before it takes the node's place?"""
    cdef int32_t child = p.tree.first_child[p.source[f.node]] + f.heaviest
    return p.grows_anew and not f.settled and <double> p.total[child] < ANEW_SHARE * <double> p.total[f.node]


cdef inline int32_t raised_node(const ErrorPruning* p) noexcept nogil:
    """The node whose test the top frame's heaviest branch has."""
    cdef const Frame* f = &p.frames[p.frames_n - 1]
    return p.source[p.tree.first_child[p.source[f.node]] + f.heaviest]


cdef inline void go_on_anew(ErrorPruning* p, int32_t root) noexcept nogil:
    """Let the top frame start again with the test and the children of `root`, the first of the new nodes."""
    cdef Frame* f = &p.frames[p.frames_n - 1]
    p.source[f.node] = root
    f.settled = True
    p.segments_n = f.segments
    p.parts_n = f.parts_top
    f.phase = OPEN
    f.branch = 0
    f.heaviest = -1
    f.clean = True
    f.counted = False
    f.entered = False
    f.errors = 0
    memset(&p.pools[(p.frames_n - 1) * p.n_classes], 0, p.n_classes * sizeof(int64_t))
