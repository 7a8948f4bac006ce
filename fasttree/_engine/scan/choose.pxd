"""How the best cuts of a node's features compete.  Header only."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t

from fasttree._engine.risk.impurity cimport tie_limit
from fasttree._engine.types cimport (
    CONTINUOUS, MERGED, NO_CUT, PLAIN_RATIO, RELATIVE_TIE, RELEASE8_TOLERANCE, RISK_TIE, Cut, Problem,
)


cdef inline int32_t choose_gain(const Problem* p, Cut* cuts, int32_t n_cuts, double risk, double* limit) noexcept nogil:
    """Index of the winning cut, -1 if none: the lowest feature whose gain lies inside the tie tolerance of the largest."""
    cdef double largest = -INFINITY
    cdef int32_t i
    for i in range(n_cuts):
        if cuts[i].form != NO_CUT and cuts[i].gain > largest:
            largest = cuts[i].gain
    limit[0] = -INFINITY
    if largest == -INFINITY:
        return -1
    limit[0] = tie_limit(largest, risk)
    for i in range(n_cuts):
        if cuts[i].form != NO_CUT and cuts[i].gain >= limit[0]:
            return i
    return -1


cdef inline int32_t choose_ratio(const Problem* p, const Cut* cuts, int32_t n_cuts, double risk) noexcept nogil:
    """Index of the cut of largest gain ratio, plain or among those of at least average gain (Quinlan 1986); -1 if none."""
    cdef double average = 0
    cdef double largest = -INFINITY
    cdef double limit
    cdef int32_t i
    if n_cuts == 0:
        return -1
    for i in range(n_cuts):
        average += cuts[i].first_gain
    average = average / n_cuts
    average = average - (RELATIVE_TIE * fabs(average) + RISK_TIE * risk)
    if p.rank == PLAIN_RATIO:
        average = -INFINITY
    for i in range(n_cuts):
        if cuts[i].first_gain >= average and cuts[i].first_gain / cuts[i].split_info > largest:
            largest = cuts[i].first_gain / cuts[i].split_info
    limit = tie_limit(largest, risk)
    for i in range(n_cuts):
        if cuts[i].first_gain >= average and cuts[i].first_gain / cuts[i].split_info >= limit:
            return i
    return -1


cdef inline int32_t choose_release8(const Problem* p, Cut* cuts, int32_t n_cuts) noexcept nogil:
    """Index of the cut of largest worth; -1 if none.  The first of equal worths wins.

    Gain ratio among gains of at least average (Quinlan 1993, section 2.2), with Release 8's tolerance; features with very many
    values stay out of the average, unless categories are grouped.  Or the gain alone.
    """
    cdef float total = 0
    cdef float average = 1e6
    cdef float worth
    cdef float largest = -RELEASE8_TOLERANCE
    cdef int64_t used = 0
    cdef int32_t i, f
    cdef int32_t best = -1
    cdef bint every = True
    for i in range(n_cuts if p.draws else p.n_features):
        f = cuts[i].feature if p.draws else i
        if p.nominal == MERGED:
            break
        if p.kind[f] == CONTINUOUS or p.n_codes[f] - 1 < 0.3 * p.n_cases:
            every = False
            break
    for i in range(n_cuts):
        f = cuts[i].feature
        if cuts[i].form == NO_CUT or not cuts[i].single_gain > -RELEASE8_TOLERANCE:
            continue
        if every or p.kind[f] == CONTINUOUS or p.n_codes[f] - 1 < 0.3 * p.n_cases:
            total = total + cuts[i].single_gain
            used += 1
    if used:
        average = total / <float> used
    for i in range(n_cuts):
        if cuts[i].form == NO_CUT:
            continue
        worth = -RELEASE8_TOLERANCE
        if p.rank:
            if cuts[i].single_gain >= average - RELEASE8_TOLERANCE and cuts[i].single_info > RELEASE8_TOLERANCE:
                worth = cuts[i].single_gain / cuts[i].single_info
        elif cuts[i].single_info > 0 and cuts[i].single_gain > -RELEASE8_TOLERANCE:
            worth = cuts[i].single_gain
        if worth > largest:
            largest = worth
            best = i
    return best
