"""A candidate cut, which candidates are admissible, and the information of a split.  Header only.

All searches return the same `Cut` and obey one rule for ties: `offer` keeps the first candidate whose gain is within the tie
tolerance of the largest one.
"""

from libc.math cimport INFINITY, ceil, floor
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from fasttree._engine.risk.impurity cimport tie_limit, xlogx
from fasttree._engine.risk.release8 cimport single_information
from fasttree._engine.types cimport (
    BRANCH_CUT, BY_SINGLE, DECLARED, DIRECTION, FRACTIONAL, GROUP_CUT, INTERVAL_CUT, KNOWN_CUT, MDL_RATIO, MERGED, NOMINAL,
    NO_CUT, ORDINAL, OWN_BRANCH, RELEASE8_GAP, THRESHOLD_CUT, Block, Bounds, Column, Cut, Problem, Scratch, Search, Totals,
    entry_t, row_of,
)


cdef struct Division:          # what the cuts of one feature divide in one node
    const Totals* node         # all samples
    const Totals* total        # those that a cut divides: all, or those whose value is known
    const Totals* missing      # those whose value is missing
    bint missing_left          # they join the left side; else they are on the right, or no part of `total`
    int32_t feature
    bint listed                # the feature has a sorted list
    int64_t n_groups           # of equal values; 0 if a list is swept
    double at_least            # as in Search
    double known               # likewise
    int64_t tries              # admissible thresholds, which the sweep counts
    int64_t below              # weight up to the best threshold of a list; -1: not known
    int64_t only               # random cuts: the position of the threshold that competes; -1: all do
    uint64_t chance            # random cuts: key of the feature in the node


cdef inline Cut no_cut(int32_t feature) noexcept nogil:
    cdef Cut cut
    cut.gain = -INFINITY
    cut.first_gain = -INFINITY
    cut.penalty = 0
    cut.split_info = 0
    cut.single_gain = -1
    cut.single_info = 0
    cut.position = -1
    cut.mask = 0
    cut.key = 0
    cut.feature = feature
    cut.form = NO_CUT
    cut.order = 0
    cut.n_branches = 0
    cut.missing = -1
    cut.ambiguous = False
    cut.whole = False
    return cut


cdef inline bint offer(Cut* cut, double gain, int64_t at, double risk, double at_least) noexcept nogil:
    """Let a candidate compete; candidates come in tie order.  True: an `at_least` search has found its candidate.

    `cut` keeps the largest gain and the first candidate inside its tie tolerance.  Where the largest gain creeps upward in
    steps below the tolerance the first may have been passed over: `ambiguous` asks for a second search with `at_least`.
    """
    cdef double limit
    if at_least > -INFINITY:
        if gain >= at_least:
            cut.gain = gain
            cut.first_gain = gain
            cut.position = at
            return True
        return False
    if gain > cut.gain:
        limit = tie_limit(gain, risk)
        if cut.first_gain < limit:
            if cut.gain >= limit:
                cut.ambiguous = True
            cut.first_gain = gain
            cut.position = at
        cut.gain = gain
    return False


cdef inline void note_known(const Problem* p, Search* search, const Cut* cut) noexcept nogil:
    """Remember that a node has a cut, where gains alone decide between features."""
    if cut.form != NO_CUT and not p.rank and not p.release8:
        search.known = max(search.known, tie_limit(cut.gain, search.totals.risk))


cdef enum:
    MOST_OF_A_SIDE = 25        # Release 8 needs no more on one side of a threshold, unless m is more

cdef extern from *:
    """
    #define FASTTREE_SIDE_SLACK 1e-5    /* C5.0: by which the lower side may be lighter than it must be */
    """
    const double SIDE_SLACK "FASTTREE_SIDE_SLACK"


cdef inline Bounds bounds_of(const Problem* p, int64_t n, int64_t weight, bint counting) noexcept nogil:
    """Limits on the left side of a binary cut of n samples with this weight.

    C4.5: each side at least a tenth of the average class weight, but within [m, 25] (Quinlan 1996, Release 8).  Where m is above
    25, thresholds with 25 on each side still count as tried (`counting`).
    """
    cdef Bounds b
    cdef double least = p.min_weight_leaf
    cdef double total = <double> weight * p.unit
    cdef double side
    b.n_min = p.min_samples_leaf
    if p.side_share:
        b.n_min = max(b.n_min, max(n // p.side_share, <int64_t> 1) + 1)
    b.n_max = n - b.n_min
    if p.release8:
        side = 0.1 * total / (p.n_classes if p.present == NULL else p.all_classes)
        if side <= p.min_branch_weight:
            side = p.min_branch_weight
        elif side > MOST_OF_A_SIDE:
            side = MOST_OF_A_SIDE
        if side < p.min_branch_weight and not counting:
            side = p.min_branch_weight
        if side > least:
            least = side
    if p.rank == MDL_RATIO:
        b.w_min = <int64_t> ceil((least - SIDE_SLACK) / p.unit)
        b.w_max = <int64_t> floor((total - least) / p.unit * (1 + 1e-12))
    elif least > 0:
        # a little slack: a sum that is meant to reach the limit may have been rounded down
        b.w_min = <int64_t> ceil(least / p.unit * (1 - 1e-12))
        b.w_max = <int64_t> floor((total - least) / p.unit * (1 + 1e-12))
    else:
        b.w_min = 0
        b.w_max = weight
    return b


cdef inline double exact_of(const Problem* p, const Block* block, int32_t f, uint32_t code, uint32_t row) noexcept nogil:
    cdef const Column* column = &p.exact[f]
    cdef const char* place
    if p.counted[f]:
        place = column.data + code * column.stride
    else:
        place = column.data + (row if block.origin == NULL else block.origin[row]) * column.stride
    return <float> (<const double*> place)[0] if column.is_double else (<const float*> place)[0]


cdef inline bint apart(
    const Problem* p, const Block* block, int32_t f, uint32_t code, uint32_t row, uint32_t next_code, uint32_t next_row,
) noexcept nogil:
    """C4.5's gap rule: does the next value differ enough?"""
    return exact_of(p, block, f, code, row) < exact_of(p, block, f, next_code, next_row) - RELEASE8_GAP


cdef inline bint within(const Bounds* limits, int64_t n_left, int64_t w_left) noexcept nogil:
    return limits.n_min <= n_left <= limits.n_max and limits.w_min <= w_left <= limits.w_max


cdef inline int32_t form_of(const Problem* p, int32_t f) noexcept nogil:
    """How a feature is split."""
    cdef int32_t form = p.continuous
    if p.kind[f] == NOMINAL:
        form = p.nominal
    elif p.kind[f] == ORDINAL:
        form = p.ordinal
    # two categories leave nothing to group
    return DECLARED if form == MERGED and p.n_codes[f] <= 3 else form


cdef inline int64_t weight_below(
    const Block* block, const Scratch* s, const Division* division, const entry_t* entries, const Cut* cut,
) noexcept nogil:
    """Weight of the known samples in branch 0 of a threshold or of two groups (s.best_side holds their sides, if several)."""
    cdef int64_t n_missing = division.missing.n
    cdef int64_t below = 0
    cdef int64_t i
    if cut.form == GROUP_CUT and cut.order == BY_SINGLE:
        below = s.group_w[cut.position]
        return below if cut.position == 0 else division.node.weight - division.missing.weight - below
    if division.listed and cut.form == THRESHOLD_CUT:
        if block.weight == NULL:
            return cut.position + 1 - n_missing
        if division.below >= 0:
            return division.below
        for i in range(n_missing, cut.position + 1):
            below += block.weight[row_of(entries[i])]
        return below
    for i in range(division.n_groups):
        if s.best_side[i] == 0 if cut.form == GROUP_CUT else s.group_code[i] <= cut.position:
            below += s.group_w[i]
    return below


cdef inline float threshold_information(
    const Problem* p, const Block* block, const Scratch* s, const Division* division, const entry_t* entries, const Cut* cut,
) noexcept nogil:
    """I(missing, left, right) of a chosen threshold as Release 8 rounds it, bits x cases."""
    cdef int64_t parts[3]
    parts[0] = division.missing.weight
    parts[1] = weight_below(block, s, division, entries, cut)
    parts[2] = division.total.weight - parts[1]
    return single_information(p, parts, NULL, 3)


cdef inline double split_information(
    const Problem* p, const Block* block, const Scratch* s, const Division* division, const entry_t* entries, const Cut* cut,
) noexcept nogil:
    """Bits x weight of the branches of a cut.

    Missing values count where they are in training: on their side, or as one more branch where they have one, or where they are
    divided (Quinlan 1993, section 3.1).  Elsewhere the bits are those of the known samples; the weight is always the node's, so
    that gains stay in proportion to the share of the known.
    """
    cdef const Totals* node = division.node
    cdef const Totals* missing = division.missing
    cdef int64_t known = node.weight - missing.weight
    cdef int64_t first = known
    cdef int64_t second = 0
    cdef int64_t apart = 0
    cdef int64_t i
    cdef double parts = 0
    cdef double info
    if p.missing == FRACTIONAL or (p.missing == OWN_BRANCH and cut.missing >= 0) or cut.form == KNOWN_CUT:
        apart = missing.weight
    if cut.form == BRANCH_CUT or cut.form == INTERVAL_CUT:
        for i in range(division.n_groups):
            parts += xlogx(<double> s.group_w[i] * p.unit)
    else:
        if cut.form != KNOWN_CUT:
            first = weight_below(block, s, division, entries, cut)
            second = known - first
            if p.missing == DIRECTION and cut.missing == 0:
                first += missing.weight
            elif p.missing == DIRECTION:
                second += missing.weight
        parts = xlogx(<double> first * p.unit) + xlogx(<double> second * p.unit)
    info = xlogx(<double> (first + second + apart) * p.unit) - parts - xlogx(<double> apart * p.unit)
    # where missing values count nowhere, none are apart
    return info if first + second + apart == node.weight else info * (<double> node.weight / <double> (first + second))
