"""The best threshold of a continuous or ordinal feature.  Header only.

The search runs along the feature's sorted list, or along its groups of equal codes.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memcpy

from fasttree._engine.risk.along cimport find_gains_along, find_gains_along_list
from fasttree._engine.risk.chords cimport CHORD_ERROR, terms_of
from fasttree._engine.risk.impurity cimport ENTROPY, tie_limit
from fasttree._engine.risk.medians cimport start_sides
from fasttree._engine.risk.release8 cimport in_single, single_slack, threshold_base, threshold_gain
from fasttree._engine.scan.cut cimport MOST_OF_A_SIDE, Division, apart, bounds_of, no_cut, offer, within
from fasttree._engine.scan.divisions cimport add_group, group_gain, start_left
from fasttree._engine.scan.order cimport Side, drop_disordered, in_order, start_side
from fasttree._engine.scan.stretches cimport Stretches, divide_list, pass_over
from fasttree._engine.scan.sweeps cimport MEDIAN_COST, gains_of_chunk, pass_events, start_sweep, sweep
from fasttree._engine.types cimport (
    CHUNK, DEVIANCE, GENERIC, MEDIANS, THRESHOLD_CUT, Block, Bounds, Chunk, Cut, Left, Problem, Scratch, Totals, code_of, entry_t,
    row_of, weight_of,
)
from fasttree._engine.watch cimport interrupted


cdef inline bint goes_along(const Problem* p, const Block* block, const Division* division) noexcept nogil:
    """Whether deviations along the feature are found from links: samples count 1, and none lacks its value."""
    return (
        block.weight == NULL and division.missing.n == 0 and division.only < 0
        and (p.monotone == NULL or p.monotone[division.feature] == 0)
    )


cdef inline int64_t drop_close(
    const Problem* p, const Block* block, Scratch* s, const entry_t* entries, int32_t f, int64_t m,
) noexcept nogil:
    """C4.5's gap rule: keep the candidates whose two values differ enough."""
    cdef int64_t kept = 0
    cdef int64_t j, at
    for j in range(m):
        at = s.positions[j]
        if apart(p, block, f, code_of(entries[at]), row_of(entries[at]), code_of(entries[at + 1]), row_of(entries[at + 1])):
            s.positions[kept] = s.positions[j]
            s.a[kept] = s.a[j]
            s.b[kept] = s.b[j]
            kept += 1
    return kept


cdef inline bint offer_chunk(Cut* cut, const Scratch* s, const Chunk* chunk, double risk, double at_least) noexcept nogil:
    """`offer` for the candidates of a chunk."""
    cdef double limit = at_least
    cdef int64_t j
    if chunk.largest == -INFINITY:
        return False
    if at_least == -INFINITY:
        if chunk.largest <= cut.gain:
            return False
        limit = tie_limit(chunk.largest, risk)
        if cut.first_gain >= limit:
            cut.gain = chunk.largest
            return False
        cut.ambiguous = cut.gain >= limit
        cut.gain = chunk.largest
    for j in range(chunk.n):
        if s.gains[j] >= limit:
            cut.first_gain = s.gains[j]
            cut.position = s.positions[j]
            break
    if at_least > -INFINITY and cut.position >= 0:
        cut.gain = cut.first_gain
        return True
    return False


cdef inline void offer_single(
    const Problem* p, const Block* block, Scratch* s, Division* division, Cut* cut, const entry_t* entries,
    const Chunk* chunk,
) noexcept nogil:
    """Release 8's choice: candidates near the largest gain compete in single precision, the first of equal ones wins.

    s.mark holds the class weights on the left of the chunk.
    """
    cdef const Totals* known = division.total
    cdef double slack = single_slack(p, known)
    cdef const double* gains = s.gains
    cdef const int32_t* positions = s.positions
    cdef const uint16_t* label = block.label
    cdef int64_t* left = s.mark
    cdef int64_t next_entry = chunk.start
    cdef double least
    cdef float base, gain
    cdef int64_t j
    cdef int32_t k
    cdef uint32_t row
    if chunk.largest < cut.gain - slack:
        return
    cut.gain = max(cut.gain, chunk.largest)
    least = cut.gain - slack
    base = threshold_base(p, known)
    for j in range(chunk.n):
        if gains[j] < least:
            continue
        while next_entry <= positions[j]:
            row = row_of(entries[next_entry])
            left[label[row]] += weight_of(block, row)
            next_entry += 1
        gain = threshold_gain(p, known, base, left, division.node.weight)
        if gain > cut.single_gain:
            cut.single_gain = gain
            cut.first_gain = gains[j]
            cut.position = positions[j]
            division.below = 0
            for k in range(p.n_classes):
                division.below += left[k]


cdef inline int64_t tries_along_list(
    const Problem* p, const Block* block, const Totals* known, const entry_t* entries, int64_t first, int64_t n, int32_t f,
) noexcept nogil:
    """How many thresholds Release 8 counts as tried, where it tries some that it cannot choose."""
    cdef Bounds limits = bounds_of(p, known.n, known.weight, True)
    cdef int64_t weight = 0
    cdef int64_t tries = 0
    cdef int64_t i
    for i in range(first, n - 1):
        weight += 1 if block.weight == NULL else block.weight[row_of(entries[i])]
        if code_of(entries[i]) == code_of(entries[i + 1]) or not within(&limits, i + 1 - first, weight):
            continue
        tries += p.exact[f].data == NULL or apart(
            p, block, f, code_of(entries[i]), row_of(entries[i]), code_of(entries[i + 1]), row_of(entries[i + 1])
        )
    return tries


cdef inline int64_t tries_along_groups(
    const Problem* p, const Block* block, const Scratch* s, const Totals* known, int64_t q, int32_t f,
) noexcept nogil:
    """The same along ascending groups."""
    cdef Bounds limits = bounds_of(p, known.n, known.weight, True)
    cdef int64_t n = 0
    cdef int64_t weight = 0
    cdef int64_t tries = 0
    cdef int64_t g
    for g in range(q - 1):
        n += s.group_n[g]
        weight += s.group_w[g]
        if within(&limits, n, weight):
            tries += p.exact[f].data == NULL or apart(p, block, f, s.group_code[g], 0, s.group_code[g + 1], 0)
    return tries


cdef inline double least_of_interest(const Division* division, const Cut* cut, double risk) noexcept nogil:
    """Smaller gains are neither chosen nor equal to one that is."""
    if division.at_least > -INFINITY:
        return division.at_least
    return max(division.known, tie_limit(cut.gain, risk) if cut.gain > -INFINITY else -INFINITY)


cdef inline Cut sweep_list(
    const Problem* p, const Block* block, Scratch* s, Division* division, const entry_t* entries,
) noexcept nogil:
    """Best threshold along a sorted list."""
    cdef Cut cut = no_cut(division.feature)
    cdef const Totals* total = division.total
    cdef int32_t f = division.feature
    cdef Left at = start_sweep(p, block, s, total, division.missing, division.missing_left)
    cdef Side side
    cdef Chunk chunk
    cdef Stretches stretches
    cdef int64_t low, high, i, stop
    cdef bint found = False
    cdef bint single = in_single(p)
    cdef double slack = single_slack(p, total) if single else 0
    cdef bint ordered = p.monotone != NULL and p.monotone[f] != 0
    division.tries = 0
    if p.sweep == MEDIANS:
        p.parts.has_gains = goes_along(p, block, division)
        if p.parts.has_gains:
            find_gains_along_list(p, s, entries, division.node.n)
        else:
            start_sides(p, division.missing_left)
    if ordered:
        side = start_side(p, s, division)
    # a cut at position i puts i + 1 - first + before samples on the left
    low = max(at.limits.n_min + at.first - at.before - 1, at.first)
    high = min(at.limits.n_max + at.first - at.before - 1, division.node.n - 2)
    if division.only >= 0:
        low, high = max(low, division.only), min(high, division.only)
    if low > high:
        return cut
    i = at.first
    while i < low:                     # too few on the left: moved, but no candidates
        stop = min(i + CHUNK, low)
        sweep(p, block, s, &at, entries, stop)
        i = stop
    stretches = divide_list(p, block, s, &at, entries, high, division)
    if single:
        cut.gain = stretches.least
    while not found:
        stop = pass_over(p, block, s, &at, entries, &stretches, division)
        i = at.next
        if i > high:
            break
        chunk.start = i
        i = min(i + CHUNK, stop)
        if p.sweep == DEVIANCE and not p.weighted and pass_events(
                p, block, s, &at, entries, i, least_of_interest(division, &cut, total.risk)):
            continue
        if single:
            memcpy(s.mark, s.left, p.n_classes * sizeof(int64_t))
        chunk.n = sweep(p, block, s, &at, entries, i)
        at.next = i                    # though growth is interrupted
        if chunk.n and single and p.exact[f].data != NULL:
            chunk.n = drop_close(p, block, s, entries, f, chunk.n)
        if chunk.n and ordered:
            chunk.n = drop_disordered(p, block, s, &side, entries, chunk.n)
        if chunk.n == 0:
            continue
        division.tries += chunk.n
        chunk.largest = gains_of_chunk(
            p, block, s, &at, entries, &chunk, cut.gain - slack if single else least_of_interest(division, &cut, total.risk)
        )
        if single:
            offer_single(p, block, s, division, &cut, entries, &chunk)
        else:
            found = offer_chunk(&cut, s, &chunk, total.risk, division.at_least)
    if single and p.min_branch_weight > MOST_OF_A_SIDE:
        division.tries = tries_along_list(p, block, total, entries, at.first, division.node.n, f)
    if cut.position >= 0:
        cut.form = THRESHOLD_CUT
    return cut


cdef inline bint are_apart(const Problem* p, const Block* block, const Scratch* s, int32_t f, int64_t g) noexcept nogil:
    """C4.5's gap rule for the values of group g and of the next one."""
    return not in_single(p) or p.exact[f].data == NULL or apart(p, block, f, s.group_code[g], 0, s.group_code[g + 1], 0)


cdef inline double screen_groups(
    const Problem* p, const Block* block, Scratch* s, const Division* division, const Bounds* limits, double slack,
) noexcept nogil:
    """Entropy of weights: write about the gain of a cut after each group to s.gains.

    Returns below what such a gain is that of no cut that is chosen, nor one that rounding or a tie could prefer, as in
    `entropy_gains`.
    """
    cdef const Totals* total = division.total
    cdef const double* chords = p.chords
    cdef double scale = 1.0 / <double> total.weight
    cdef double weight = <double> total.weight * p.unit
    cdef double largest = -INFINITY
    cdef double classes = 0
    cdef double* terms = s.terms
    cdef int64_t* left = s.left
    cdef const int64_t* group
    cdef int32_t n_classes = p.n_classes
    cdef int64_t n_left, w_left, s_left, g
    cdef int32_t k
    start_left(p, s, division.missing, division.missing_left, &n_left, &w_left, &s_left)
    for k in range(n_classes):
        terms[k] = terms_of(left[k], total.counts[k] - left[k], scale, chords)
        classes += terms[k]
    for g in range(division.n_groups - 1):
        group = s.group_stat + g * p.width
        n_left += s.group_n[g]
        w_left += s.group_w[g]
        for k in range(n_classes):
            if group[k]:                       # a few classes in small nodes
                left[k] += group[k]
                classes -= terms[k]
                terms[k] = terms_of(left[k], total.counts[k] - left[k], scale, chords)
                classes += terms[k]
        if not within(limits, n_left, w_left) or not are_apart(p, block, s, division.feature, g):
            continue
        s.gains[g] = total.risk + weight * (classes - terms_of(w_left, total.weight - w_left, scale, chords))
        largest = max(largest, s.gains[g])
    largest -= CHORD_ERROR * weight
    return (largest - slack if in_single(p) else tie_limit(largest, total.risk)) - CHORD_ERROR * weight


cdef inline Cut sweep_groups(const Problem* p, const Block* block, Scratch* s, Division* division) noexcept nogil:
    """Best threshold between ascending groups: `sweep_list` for a feature that is counted by code."""
    cdef Cut cut = no_cut(division.feature)
    cdef const Totals* total = division.total
    cdef int32_t f = division.feature
    cdef int64_t q = division.n_groups
    cdef Bounds limits = bounds_of(p, total.n, total.weight, False)
    cdef int64_t g, n_left, w_left, s_left
    cdef double gain
    cdef bint single = in_single(p)
    cdef float base = threshold_base(p, total) if single else 0
    cdef double slack = single_slack(p, total) if single else 0
    cdef double largest = -INFINITY
    cdef float rounded
    cdef bint ordered = p.monotone != NULL and p.monotone[f] != 0
    cdef bint along = p.sweep == MEDIANS and goes_along(p, block, division)
    cdef bint screened = (
        p.sweep == GENERIC and p.impurity == ENTROPY and division.at_least == -INFINITY and not ordered and division.only < 0
        and q <= CHUNK
    )
    cdef double least = screen_groups(p, block, s, division, &limits, slack) if screened else -INFINITY
    division.tries = 0
    if along:
        find_gains_along(p, s, total.n)
        n_left = w_left = s_left = 0
    else:
        start_left(p, s, division.missing, division.missing_left, &n_left, &w_left, &s_left)
    for g in range(q - 1):
        if along:
            n_left += s.group_n[g]
            w_left += s.group_w[g]
        elif p.sweep == MEDIANS and interrupted(s.watch, MEDIAN_COST * s.group_n[g]):
            return cut
        else:
            add_group(p, s, g, 1, &n_left, &w_left, &s_left)
        if not within(&limits, n_left, w_left) or (division.only >= 0 and s.group_code[g] != division.only):
            continue
        if ordered and not in_order(p, total, p.monotone[f], s.left, s_left, w_left):
            continue
        if not are_apart(p, block, s, f, g):
            continue
        division.tries += 1
        if screened and s.gains[g] < least:
            continue
        gain = p.parts.gain[n_left - 1] if along else group_gain(p, total, w_left, s_left, s.left, s.right)
        if single:
            # near the largest gain so far, the rounding of single precision decides
            if gain < largest - slack:
                continue
            largest = max(largest, gain)
            rounded = threshold_gain(p, total, base, s.left, division.node.weight)
            if rounded > cut.single_gain:
                cut.single_gain = rounded
                cut.first_gain = gain
                cut.gain = gain
                cut.position = s.group_code[g]
            continue
        if offer(&cut, gain, s.group_code[g], total.risk, division.at_least):
            break
    if single and p.min_branch_weight > MOST_OF_A_SIDE:
        division.tries = tries_along_groups(p, block, s, total, q, f)
    if cut.position >= 0:
        cut.form = THRESHOLD_CUT
    return cut
