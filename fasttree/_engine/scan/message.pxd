"""C5.0's choice of a cut: a price for naming a threshold, and a bound of message length.  Header only.

Gains are in double; what the program stores is rounded to single precision.
"""

from libc.math cimport log2
from libc.stdint cimport int32_t, int64_t

from fasttree._engine.scan.cut cimport Division, exact_of, no_cut, split_information
from fasttree._engine.types cimport (
    CONTINUOUS, MERGED, MERGE_CUT, NO_CUT, THRESHOLD_CUT, Block, Cut, Problem, Scratch, code_of, entry_t, row_of,
)

cdef extern from *:
    """
    #define FASTTREE_MDL_LEAST_GAIN 1e-4
    #define FASTTREE_MDL_NEARLY 0.999       /* what C5.0 takes for equal, or for all */
    #define FASTTREE_MDL_WEIGHT 0.9         /* of the bits that name a feature */
    """
    const double LEAST_GAIN "FASTTREE_MDL_LEAST_GAIN"
    const double NEARLY "FASTTREE_MDL_NEARLY"
    const double MDL_WEIGHT "FASTTREE_MDL_WEIGHT"

cdef enum:
    SMALL = 500            # cases per class up to which the average gain is the bound, and half those from which the message is


cdef inline double intervals_of(
    const Problem* p, const Block* block, const Scratch* s, const Division* division, const entry_t* entries, const Cut* cut,
) noexcept nogil:
    """How many intervals as wide as that of a threshold there are between the least and the largest value of the node."""
    cdef int32_t f = division.feature
    cdef int64_t n = division.node.n
    cdef int64_t first = division.missing.n
    cdef int64_t i = 0
    cdef double low, high, least, most
    if division.listed:
        i = cut.position
        low = exact_of(p, block, f, code_of(entries[i]), row_of(entries[i]))
        high = exact_of(p, block, f, code_of(entries[i + 1]), row_of(entries[i + 1]))
        least = exact_of(p, block, f, code_of(entries[first]), row_of(entries[first]))
        most = exact_of(p, block, f, code_of(entries[n - 1]), row_of(entries[n - 1]))
    else:
        while s.group_code[i] < cut.position:
            i += 1
        low = exact_of(p, block, f, s.group_code[i], 0)
        high = exact_of(p, block, f, s.group_code[i + 1], 0)
        least = exact_of(p, block, f, s.group_code[0], 0)
        most = exact_of(p, block, f, s.group_code[division.n_groups - 1], 0)
    return (most - least) / (high - low) if high > low else 1e300


cdef inline Cut judge_by_message(
    const Problem* p, const Block* block, const Scratch* s, const Division* division, const entry_t* entries, Cut cut,
) noexcept nogil:
    """Gain and split information per case by which the cuts of different features compete; no cut if none can win."""
    cdef double cases = <double> division.node.weight * p.unit
    cdef double tries = <double> division.tries
    if cut.form == MERGE_CUT:  # the search has judged it
        return cut
    if cut.form == THRESHOLD_CUT:
        if p.kind[division.feature] == CONTINUOUS:
            tries = min(tries, intervals_of(p, block, s, division, entries, &cut))
        cut.penalty = log2(tries) if tries > 0 else 0.0
    cut.single_gain = <float> (<double> <float> (cut.first_gain / cases) - cut.penalty / cases)
    cut.first_gain -= cut.penalty
    if cut.form == THRESHOLD_CUT and cut.single_gain <= 0:
        return no_cut(division.feature)
    if cut.single_gain >= LEAST_GAIN:      # logarithms are for those that may win
        cut.single_info = <float> (split_information(p, block, s, division, entries, &cut) / cases)
    return cut


cdef inline double values_of(const Problem* p, int32_t f) noexcept nogil:
    """Categories of a feature, and "not applicable"; 0 if it is continuous."""
    return 0 if p.kind[f] == CONTINUOUS else p.n_codes[f]


cdef inline bint takes_part(const Problem* p, const Cut* cut, bint every) noexcept nogil:
    """Has a cut a gain, and its feature not very many categories?"""
    if cut.form == NO_CUT or not cut.single_gain >= LEAST_GAIN:
        return False
    return every or values_of(p, cut.feature) < 0.3 * p.n_cases


cdef inline double least_gain(const Problem* p, double total, int64_t n, double cases) noexcept nogil:
    """The bound that a gain must reach: of n gains with this sum, their average, or the bits that name one of them."""
    cdef int64_t size = <int64_t> (p.n_cases + 1e-6) // p.n_classes
    cdef double share = min(max(<double> (size - SMALL) / SMALL, 0.0), 1.0)
    return (1 - share) * total / n + share * MDL_WEIGHT * log2(<double> n) / cases


cdef inline int32_t choose_by_message(const Problem* p, const Cut* cuts, int32_t n_cuts, double cases) noexcept nogil:
    """Index of the cut that C5.0 chooses, -1 if none.

    The largest gain ratio wins among the gains above the bound.  A later cut whose ratio is nearly as large wins if it has fewer
    branches, or as many and a larger gain.
    """
    cdef double total = 0
    cdef double least
    cdef float ratio
    cdef float best_ratio = 0
    cdef double branches
    cdef double best_branches = 0
    cdef int64_t n = 0
    cdef int32_t i, f
    cdef int32_t best = -1
    cdef bint every = True
    for f in range(p.n_features if p.nominal != MERGED else 0):
        every = every and values_of(p, f) >= 0.3 * p.n_cases
    for i in range(n_cuts):
        if takes_part(p, &cuts[i], every):
            total += cuts[i].single_gain
            n += 1
    if n == 0:
        return -1
    least = NEARLY * p.bound_share * least_gain(p, total, n, cases)
    for i in range(n_cuts):
        if not takes_part(p, &cuts[i], every) or cuts[i].single_gain < least or cuts[i].single_info <= 0:
            continue
        ratio = cuts[i].single_gain / cuts[i].single_info
        branches = max(values_of(p, cuts[i].feature), 3.0)
        if cuts[i].form == MERGE_CUT:
            branches = cuts[i].n_branches + 1  # "not applicable" is in another group
        if (best < 0 or ratio > best_ratio or (
                ratio > NEARLY * best_ratio
                and (branches < best_branches or (branches == best_branches and cuts[i].single_gain > cuts[best].single_gain)))):
            best = i
            best_ratio = ratio
            best_branches = branches
    return best
