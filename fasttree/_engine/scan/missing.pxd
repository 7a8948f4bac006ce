"""The effect of missing values on a cut: its gain, and the branch that they take.  Header only."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy, memset

from fasttree._engine.risk.impurity cimport risk_of, tie_limit
from fasttree._engine.risk.medians cimport gain_of_sides, start_sides
from fasttree._engine.scan.counts cimport add_sample
from fasttree._engine.scan.cut cimport bounds_of, no_cut, within
from fasttree._engine.scan.divisions cimport group_gain
from fasttree._engine.types cimport (
    BRANCH_CUT, DIRECTION, KNOWN_CUT, MEDIANS, NO_CUT, OWN_BRANCH, REFUSE, Block, Bounds, Cut, Problem, Scratch, Totals, code_of,
    entry_t, row_of, weight_of,
)


cdef inline void missing_of_list(
    const Problem* p, const Block* block, const entry_t* entries, int64_t n, Totals* missing,
) noexcept nogil:
    """Totals of the missing values, which lead the list."""
    cdef int64_t i = 0
    cdef int32_t k
    cdef uint32_t row
    missing.n = 0
    missing.weight = 0
    missing.sum = 0
    if code_of(entries[0]) != 0:
        return
    if p.n_counts:
        memset(missing.counts, 0, p.n_counts * sizeof(int64_t))
    while i < n and code_of(entries[i]) == 0:
        row = row_of(entries[i])
        if p.n_classes and p.n_outputs == 1:   # nearly all there is to do
            missing.counts[block.label[row]] += weight_of(block, row)
        else:
            add_sample(p, block, missing, row, weight_of(block, row))
        i += 1
    for k in range(p.n_classes if p.n_outputs == 1 else 0):
        missing.weight += missing.counts[k]
    missing.n = i


cdef inline void known_totals(const Problem* p, const Totals* node, const Totals* missing, Totals* known) noexcept nogil:
    """known = node - missing, with its own risk.  known.counts must not alias the others."""
    cdef int32_t k
    known.n = node.n - missing.n
    known.weight = node.weight - missing.weight
    known.sum = node.sum - missing.sum
    known.risk = node.risk
    known.low = node.low
    known.high = node.high
    if missing.n == 0:
        if p.n_counts:
            memcpy(known.counts, node.counts, p.n_counts * sizeof(int64_t))
        return
    for k in range(p.n_counts):
        known.counts[k] = node.counts[k] - missing.counts[k]
    if p.n_classes:
        known.risk = risk_of(p, known.counts)


cdef inline bint judged_by_known(const Problem* p, const Totals* missing) noexcept nogil:
    """Do only the samples whose value is known count in the gain of a cut, and in the size of its sides?"""
    return p.missing != DIRECTION and p.missing != REFUSE and (missing.n > 0 or p.release8)


cdef inline bint own_branch_allowed(const Problem* p, const Totals* missing) noexcept nogil:
    """Are there enough missing values for a branch of their own?  Fewer go to the heaviest one."""
    return p.missing == OWN_BRANCH and 0 < missing.n >= p.min_samples_leaf and (
        <double> missing.weight * p.unit >= p.min_weight_leaf * (1 - 1e-12)
    )


cdef inline bint cut_known_allowed(const Problem* p, const Totals* node, const Totals* missing) noexcept nogil:
    cdef Bounds limits = bounds_of(p, node.n, node.weight, False)
    return missing.n < node.n and within(&limits, node.n - missing.n, node.weight - missing.weight)


cdef inline double gain_of_known(const Problem* p, Scratch* s, const Totals* node, const Totals* missing) noexcept nogil:
    """Gain of known against missing."""
    cdef double gain
    cdef bint with_missing
    if p.sweep != MEDIANS:
        return group_gain(p, node, missing.weight, missing.sum, missing.counts, s.right)
    with_missing = p.parts.with_missing
    p.parts.with_missing = True
    start_sides(p, True)
    gain = gain_of_sides(p)
    p.parts.with_missing = with_missing
    return gain


cdef inline Cut with_own_branch(
    const Problem* p, const Totals* node, const Totals* missing, Cut cut, double apart, double at_least,
) noexcept nogil:
    """`cut` divides the known samples; give the missing ones a branch too, which gains `apart` more.

    If that is the whole gain, or nothing divides the known ones, known against missing wins: it has a branch less.  Where the
    missing values, or all others, have no events, there is no such split.
    """
    cdef Cut known = no_cut(cut.feature)
    if apart == -INFINITY:
        return known
    known.form = KNOWN_CUT
    known.missing = 1
    known.gain = apart
    known.first_gain = apart
    if cut.form == NO_CUT:
        return known if apart >= at_least and cut_known_allowed(p, node, missing) else cut
    cut.gain += apart
    cut.first_gain += apart
    cut.missing = cut.n_branches if cut.form == BRANCH_CUT else 2
    if apart >= (at_least if at_least > -INFINITY else tie_limit(cut.gain, node.risk)):
        known.gain = max(cut.gain, apart)
        return known
    return cut


cdef inline void merge_directions(Cut* right, const Cut* left, double risk) noexcept nogil:
    """The better of `missing right` and `missing left`: the lowest threshold inside the tie tolerance, right on a tie."""
    cdef double gain = max(right.gain, left.gain)
    cdef double limit = tie_limit(gain, risk)
    cdef bint ambiguous = (right.ambiguous and right.gain >= limit) or (left.ambiguous and left.gain >= limit)
    cdef bint right_fits = right.form != NO_CUT and right.first_gain >= limit
    cdef bint left_fits = left.form != NO_CUT and left.first_gain >= limit
    if left_fits and (not right_fits or left.position < right.position):
        right[0] = left[0]
    elif not right_fits and left.gain > right.gain:
        right[0] = left[0]
    right.gain = gain
    right.ambiguous = ambiguous


cdef inline Cut with_known_cut(
    const Problem* p, Scratch* s, const Totals* node, const Totals* missing, Cut cut, double at_least,
) noexcept nogil:
    """`cut` of a feature with missing values, or known against missing if that gains more."""
    cdef Cut other = no_cut(cut.feature)
    if not cut_known_allowed(p, node, missing):
        return cut
    other.form = KNOWN_CUT
    other.missing = 1
    other.gain = gain_of_known(p, s, node, missing)
    other.first_gain = other.gain
    if at_least > -INFINITY:
        return other if cut.form == NO_CUT and other.gain >= at_least else cut
    if other.gain > cut.gain:
        if cut.form == NO_CUT or cut.first_gain < tie_limit(other.gain, node.risk):
            return other
        cut.gain = other.gain
    return cut
