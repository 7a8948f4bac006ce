"""The best cut of one feature in one node.  Header only.

A continuous or ordinal feature is swept along its sorted list, or along its non-empty codes; categories are divided into two
groups, or get a branch each.  `scan_feature` reads the feature, chooses the search, and lets missing values take part.
"""

from libc.math cimport INFINITY, log2
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from fasttree._engine.random cimport mix
from fasttree._engine.risk.medians cimport lay_out_codes, lay_out_list
from fasttree._engine.risk.release8 cimport in_single, single_branches
from fasttree._engine.scan.counts cimport count_cells, count_codes, groups_from_cells, groups_from_counts, groups_from_list
from fasttree._engine.scan.cut cimport Division, form_of, no_cut, split_information, threshold_information
from fasttree._engine.scan.intervals cimport merge_intervals
from fasttree._engine.scan.missing cimport (
    gain_of_known, judged_by_known, known_totals, missing_of_list, merge_directions, own_branch_allowed, with_known_cut,
    with_own_branch,
)
from fasttree._engine.scan.merged cimport branch_per_block, branch_per_group
from fasttree._engine.scan.message cimport judge_by_message
from fasttree._engine.scan.subsets cimport best_groups, random_groups
from fasttree._engine.scan.thresholds cimport sweep_groups, sweep_list
from fasttree._engine.scan.tiles cimport groups_from_histogram
from fasttree._engine.types cimport (
    BRANCH_CUT, DIRECTION, INTERVALS, INTERVAL_CUT, MAJORITY, MDL_RATIO, MEDIANS, MERGED, MERGE_CUT, NO_CUT, ONE_VS_REST, ORDERED,
    OWN_BRANCH, SUBSET, TO_HEAVIEST, Active, Block, Column, Cut, Problem, Scratch, Search, Totals, code_of, entry_t, row_of,
)


cdef inline int64_t read_feature(
    const Problem* p, const Block* block, Scratch* s, const Search* search, const Active* active, Totals* missing, entry_t width,
) noexcept nogil:
    """Total the missing values, and group the others, but for those of a list that is swept.

    Returns the number of groups, or -1 if no cut of the feature can exist, here or below this node.
    """
    cdef int32_t f = active.feature
    cdef int64_t n = search.totals.n
    cdef const entry_t* entries
    cdef int64_t q
    if active.listed:
        entries = <const entry_t*> (search.lists + active.at)
        if code_of(entries[0]) == code_of(entries[n - 1]):
            return -1
        if form_of(p, f) != ORDERED:
            return groups_from_list(p, block, entries, n, s, missing)
        missing_of_list(p, block, entries, n, missing)
        return 0
    if s.node_histogram != NULL:
        q = groups_from_histogram(p, s, f, missing)
        if q + (missing.n > 0) == 1 and block.single_valued[<size_t> f * 256 + (s.group_code[0] if q else 0)]:
            return -1
        return q
    if active.at:
        q = groups_from_cells(p, search.lists + active.at, p.n_codes[f], True, s, missing)
    elif p.cells:
        count_cells(p, block, f, search.rows, n, s.cells)
        q = groups_from_cells(p, s.cells, p.n_codes[f], False, s, missing)
    else:
        count_codes(p, block, block.codes + <size_t> p.slot[f] * block.n, p.n_codes[f], search.rows, n, s)
        q = groups_from_counts(p, p.n_codes[f], s, missing)
    return -1 if q == 0 or (q == 1 and missing.n == 0) else q


cdef inline void lay_out_parts(
    const Problem* p, const Block* block, Scratch* s, const uint32_t* rows, const Division* division, const entry_t* entries,
) noexcept nogil:
    """Lay out the samples group by group, for medians."""
    cdef int64_t n = division.node.n
    cdef int64_t q = division.n_groups
    p.parts.with_missing = division.total == division.node
    if division.listed:
        lay_out_list(p, entries, n, division.missing.n, q, s.group_n)
    else:
        lay_out_codes(p, s, block.codes + <size_t> p.slot[division.feature] * block.n, rows, n, division.missing.n, q)


cdef inline double value_of(const Problem* p, const Block* block, int32_t f, uint32_t code, uint32_t row) noexcept nogil:
    """The value of a code, which a row has; for an ordinal feature without values, the code."""
    cdef const Column* column = &p.exact[f]
    cdef const char* place = column.data
    if place == NULL:
        return <double> code
    if p.counted[f]:
        place += code * column.stride
    else:
        place += (row if block.origin == NULL else block.origin[row]) * column.stride
    return (<const double*> place)[0] if column.is_double else <double> (<const float*> place)[0]


cdef inline double value_at(
    const Problem* p, const Block* block, const Scratch* s, const Division* division, const entry_t* entries, int64_t i,
) noexcept nogil:
    """The value at a place of the feature's list, or of a group."""
    if division.listed:
        return value_of(p, block, division.feature, code_of(entries[i]), row_of(entries[i]))
    return value_of(p, block, division.feature, s.group_code[i], 0)


cdef inline bint draw_threshold(
    const Problem* p, const Block* block, const Scratch* s, Division* division, const entry_t* entries,
) noexcept nogil:
    """Draw the place of one threshold, uniform between the least and the largest value; False if all known values are equal."""
    cdef int64_t low = division.missing.n if division.listed else 0
    cdef int64_t high = (division.node.n if division.listed else division.n_groups) - 1
    cdef int64_t middle
    cdef double least, most, threshold
    if low > high:
        return False
    least = value_at(p, block, s, division, entries, low)
    most = value_at(p, block, s, division, entries, high)
    if not least < most:
        return False
    threshold = least + <double> (mix(division.chance) >> 11) * 2.0 ** -53 * (most - least)
    if not least <= threshold < most:
        threshold = least
    while high - low > 1:
        middle = low + (high - low) // 2
        if value_at(p, block, s, division, entries, middle) <= threshold:
            low = middle
        else:
            high = middle
    division.only = low if division.listed else s.group_code[low]
    return True


cdef inline Cut best_threshold(
    const Problem* p, const Block* block, Scratch* s, Division* division, const entry_t* entries, bint missing_left,
) noexcept nogil:
    division.missing_left = missing_left
    if division.listed:
        return sweep_list(p, block, s, division, entries)
    return sweep_groups(p, block, s, division)


cdef inline Cut best_division(
    const Problem* p, const Block* block, Scratch* s, Division* division, const entry_t* entries,
) noexcept nogil:
    """The best cut, in the form that the feature's kind has."""
    cdef int32_t form = form_of(p, division.feature)
    cdef Cut cut, other
    if form == SUBSET or form == ONE_VS_REST:
        return random_groups(p, s, division) if p.random else best_groups(p, s, division)
    if form == MERGED:
        return branch_per_block(p, s, division)
    if form != ORDERED:
        if form == INTERVALS:
            division.n_groups = merge_intervals(p, s, division.n_groups)
        cut = branch_per_group(p, s, division)
        if form == INTERVALS and cut.form == BRANCH_CUT:
            cut.form = INTERVAL_CUT
        return cut
    if p.missing != DIRECTION or division.missing.n == 0:
        return best_threshold(p, block, s, division, entries, False)
    other = best_threshold(p, block, s, division, entries, True)
    cut = best_threshold(p, block, s, division, entries, False)
    cut.missing = 1
    other.missing = 0
    merge_directions(&cut, &other, division.node.risk)
    return cut


cdef inline Cut judge_single(
    const Problem* p, const Block* block, Scratch* s, const Division* division, const entry_t* entries, Cut cut,
) noexcept nogil:
    """Compute the figure by which Release 8 compares features; there is no cut if the penalty exceeds a threshold's gain."""
    cdef float cases
    if cut.form == BRANCH_CUT:
        cut.single_gain = single_branches(p, s, division.n_groups, division.total, division.node.weight, &cut.single_info)
        return cut
    # the penalty of choosing among several thresholds (Quinlan 1996)
    cases = <float> (<double> division.node.weight * p.unit)
    cut.penalty = log2(<double> division.tries)
    cut.single_gain = cut.single_gain - <float> (cut.penalty / cases)
    cut.first_gain -= cut.penalty
    if cut.single_gain <= 0:
        return no_cut(division.feature)
    cut.single_info = threshold_information(p, block, s, division, entries, &cut) / cases
    return cut


cdef inline Cut scan_feature(
    const Problem* p, const Block* block, Scratch* s, const Search* search, const Active* active, entry_t width, bint* constant,
) noexcept nogil:
    """Best cut of one feature in one node.  `constant`: no cut of it can exist below this node either.

    `width` only names the width of the list entries.
    """
    cdef const Totals* node = search.totals
    cdef const entry_t* entries = <const entry_t*> (search.lists + active.at) if active.listed else NULL
    cdef Totals missing, known
    cdef Division division
    cdef Cut cut
    cdef double apart = 0
    cdef bint own
    cdef bint varies = False
    missing.counts = s.missing
    missing.sum = 0
    known.counts = s.totals
    division.feature = active.feature
    division.listed = active.listed
    division.node = node
    division.total = node
    division.missing = &missing
    division.at_least = search.at_least
    division.tries = 1
    division.below = -1
    division.only = -1
    division.n_groups = read_feature(p, block, s, search, active, &missing, width)
    if division.n_groups < 0:
        constant[0] = True
        return no_cut(active.feature)
    # the gain of known samples may be a part of what competes
    division.known = -INFINITY if missing.n and (p.missing == DIRECTION or p.missing == OWN_BRANCH) else search.known
    if judged_by_known(p, &missing):
        known_totals(p, node, &missing, &known)
        division.total = &known
        if known.weight <= 0 or (p.release8 and form_of(p, active.feature) == ORDERED
                                 and <double> known.weight * p.unit < 2 * p.min_branch_weight * (1 - 1e-12)):
            return no_cut(active.feature)
    if p.random:
        division.chance = mix(mix(search.key + 1) ^ mix(<uint64_t> active.feature + 1))
        if form_of(p, active.feature) == ORDERED:
            varies = draw_threshold(p, block, s, &division, entries)
        else:
            varies = division.n_groups > 1
    if p.sweep == MEDIANS:
        lay_out_parts(p, block, s, search.rows, &division, entries)
    own = own_branch_allowed(p, &missing)
    if own:
        apart = gain_of_known(p, s, node, &missing)
        division.at_least = max(search.at_least - apart, 0.0) if search.at_least > -INFINITY else search.at_least
    cut = best_division(p, block, s, &division, entries)
    cut.whole = missing.n == 0
    if own:
        cut = with_own_branch(p, node, &missing, cut, apart, search.at_least)
    elif division.total != node:
        cut.missing = TO_HEAVIEST if p.missing == MAJORITY or p.missing == OWN_BRANCH else -1
    if p.missing == DIRECTION and missing.n > 0 and not varies:
        cut = with_known_cut(p, s, node, &missing, cut, search.at_least)
    if cut.form != NO_CUT and cut.form != MERGE_CUT and p.rank and not p.release8:
        cut.split_info = split_information(p, block, s, &division, entries, &cut)
    if cut.form != NO_CUT and in_single(p) and cut.form != MERGE_CUT:
        cut = judge_single(p, block, s, &division, entries, cut)
    elif cut.form != NO_CUT and p.rank == MDL_RATIO:
        cut = judge_by_message(p, block, s, &division, entries, cut)
    return cut
