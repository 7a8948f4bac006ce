"""The best cut of one feature in one node.  Header only.

A continuous or ordinal feature is swept along its sorted list, or along its non-empty codes; categories are divided into two
groups, or get a branch each.  All return the same `Cut` and obey one rule for ties.
"""

from libc.math cimport INFINITY, ceil, fabs, floor, log2, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from fasttree._constraints cimport Side, drop_disordered, in_order, start_side
from fasttree._count cimport add_outputs, add_sample, count_codes, groups_from_counts, groups_from_list, widen_cells
from fasttree._histogram cimport groups_from_histogram
from fasttree._impurity cimport (
    deviance_gain, deviance_of_part, linear_gain, linear_gains, outputs_gain, risk_of, single_branches, single_information,
    single_slack, threshold_base, threshold_gain, tie_limit, xlogx,
)
from fasttree._median cimport (
    find_medians, gain_of_parts, gain_of_sides, lay_out_codes, lay_out_list, median_of_part, move_group, move_sample, start_sides,
)
from fasttree._intervals cimport merge_intervals
from fasttree._merge cimport Merge, branches_admitted, merge_groups
from fasttree._types cimport *


cdef inline Cut no_cut(int32_t feature) noexcept nogil:
    cdef Cut cut
    cut.gain = -INFINITY
    cut.first_gain = -INFINITY
    cut.penalty = 0
    cut.split_info = 0
    cut.single_gain = -1
    cut.single_info = 0
    cut.at = -1
    cut.mask = 0
    cut.key = 0
    cut.feature = feature
    cut.form = NO_CUT
    cut.order = 0
    cut.missing = -1
    cut.ambiguous = False
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
            cut.at = at
            return True
        return False
    if gain > cut.gain:
        limit = tie_limit(gain, risk)
        if cut.first_gain < limit:
            if cut.gain >= limit:
                cut.ambiguous = True
            cut.first_gain = gain
            cut.at = at
        cut.gain = gain
    return False


cdef struct Bounds:            # which candidates are admissible
    int64_t n_min              # samples on the left: at least, at most
    int64_t n_max
    int64_t w_min              # weight on the left, fixed point
    int64_t w_max


cdef enum:
    MOST_OF_A_SIDE = 25        # Release 8 asks no more of one side of a threshold, unless m is more


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
    b.n_max = n - p.min_samples_leaf
    if p.release8:
        side = 0.1 * total / p.n_classes
        if side <= p.min_branch_weight:
            side = p.min_branch_weight
        elif side > MOST_OF_A_SIDE:
            side = MOST_OF_A_SIDE
        if side < p.min_branch_weight and not counting:
            side = p.min_branch_weight
        if side > least:
            least = side
    if least > 0:
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


cdef inline double squares_gain(const Problem* p, const Totals* total, int64_t n_left, const int64_t* left) noexcept nogil:
    """Gini gain of a cut of samples that count 1, from integer sums of squares."""
    cdef double n = <double> total.weight
    cdef int64_t squares = 0
    cdef int64_t squares_right = 0
    cdef int64_t right
    cdef int32_t k
    for k in range(p.n_classes):
        right = total.counts[k] - left[k]
        squares += left[k] * left[k]
        squares_right += right * right
    return max(
        <double> squares / <double> n_left + <double> squares_right / (n - <double> n_left) - (n - total.risk), 0.0)


cdef inline double group_gain(
    const Problem* p, const Totals* total, int64_t w_left, int64_t s_left, const int64_t* left, int64_t* right,
) noexcept nogil:
    """Gain of dividing `total` into `left` (class weights or sums of several targets, or weight and sum) and the rest."""
    cdef int32_t k
    cdef int64_t mean = 0
    cdef double n_all = <double> total.weight
    if w_left <= 0 or w_left >= total.weight:
        return 0
    if p.sweep == LINEAR:
        if p.n_classes:
            return linear_gain(total.weight, total.counts[1], w_left, left[1], 2.0 / n_all * p.unit)
        if not p.weighted:
            mean = total.sum // total.weight
        return linear_gain(total.weight, total.sum - mean * total.weight, w_left, s_left - mean * w_left,
                           p.y_unit[0] * p.y_unit[0] / n_all / p.unit)
    if p.sweep == MEDIANS:
        return gain_of_sides(p)
    if p.sweep == DEVIANCE:
        return deviance_gain(total.weight, total.sum, w_left, s_left) * p.y_unit[0]
    if p.n_classes == 0:
        return outputs_gain(p, total.weight, total.counts, w_left, left)
    if p.sweep == SQUARES:
        return squares_gain(p, total, w_left, left)
    for k in range(p.n_classes):
        right[k] = total.counts[k] - left[k]
    return max(total.risk - risk_of(p, left) - risk_of(p, right), 0.0)


cdef struct Left:              # what stands on the left of the current position of a sweep, and what stays on the right
    int64_t weight
    int64_t sum                # class 1's weight, or the sum of the targets less `mean`
    int64_t squares            # of the class counts
    int64_t squares_right
    int64_t table              # of x log2 x over the class counts
    int64_t table_right
    int64_t mean               # squared error: the node's mean, so that sums stay small and exact
    int64_t before             # samples that were on the left at the start
    int32_t n_moved            # classes in s.moved
    int64_t first              # list position of the first known value


cdef inline Left start_sweep(
    const Problem* p, const Block* block, Scratch* s, const Totals* total, const Totals* lost, bint lost_left,
) noexcept nogil:
    cdef Left at
    cdef int32_t k
    at.weight = lost.weight if lost_left else 0
    at.before = lost.n if lost_left else 0
    at.first = lost.n
    at.sum = 0
    at.squares = 0
    at.squares_right = 0
    at.table = 0
    at.table_right = 0
    at.mean = 0
    at.n_moved = 0
    if p.n_counts == 0:
        if p.sweep == LINEAR and block.weight == NULL:
            at.mean = total.sum // total.n
        if lost_left:
            at.sum = lost.sum - at.mean * lost.n
        return at
    for k in range(p.n_counts):
        s.left[k] = lost.counts[k] if lost_left else 0
        s.right[k] = total.counts[k] - s.left[k]
        if p.sweep == SQUARES:
            at.squares += s.left[k] * s.left[k]
            at.squares_right += s.right[k] * s.right[k]
        elif p.sweep == TABLE:
            at.table += p.xlogx[s.left[k]]
            at.table_right += p.xlogx[s.right[k]]
    if p.sweep == LINEAR:
        at.sum = s.left[1]
    elif p.sweep == GENERIC and p.impurity == ENTROPY:
        for k in range(p.n_classes):
            s.moved[k] = k
            s.is_moved[k] = True
        at.n_moved = p.n_classes
    return at


# The four kinds of sweep.  Each moves the entries start..stop to the left, one after the other, and notes the candidates: a
# candidate is a position whose follower has another code (and that the weight limits admit).  An entry is written whether it is
# a candidate or not; only a candidate is kept by moving on.  Each returns the number of candidates.

cdef inline int64_t sweep_linear(
    const Problem* p, const Block* block, Scratch* s, Left* at, const Bounds* limits, const Totals* all,
    const entry_t* entries, int64_t start, int64_t stop,
) noexcept nogil:
    """a = the linear statistic on the left; if samples are weighted, on the lighter side, whose weight is b (see linear_gain)."""
    cdef const uint16_t* label = block.label
    cdef const int64_t* ysum = block.ysum
    cdef const int64_t* weight = block.weight
    cdef int32_t* positions = s.positions
    cdef double* a = s.a
    cdef double* b = s.b
    cdef int64_t sum = at.sum
    cdef int64_t mean = at.mean
    cdef int64_t total = at.weight
    cdef int64_t sum_all = all.counts[1] if p.n_classes else all.sum
    cdef int64_t right
    cdef int64_t m = 0
    cdef int64_t j
    cdef uint32_t row
    cdef bint lighter
    if weight != NULL:
        for j in range(start, stop):
            row = row_of(entries[j])
            total += weight[row]
            sum += weight[row] * label[row] if p.n_classes else ysum[row]
            right = all.weight - total
            lighter = right < total
            positions[m] = <int32_t> j
            a[m] = <double> (sum_all - sum if lighter else sum)
            b[m] = <double> (right if lighter else total)
            m += (code_of(entries[j]) != code_of(entries[j + 1])) & (total >= limits.w_min) & (total <= limits.w_max)
    elif p.n_classes:
        for j in range(start, stop):
            sum += label[row_of(entries[j])]
            positions[m] = <int32_t> j
            a[m] = <double> sum
            m += code_of(entries[j]) != code_of(entries[j + 1])
    else:
        for j in range(start, stop):
            sum += ysum[row_of(entries[j])] - mean
            positions[m] = <int32_t> j
            a[m] = <double> sum
            m += code_of(entries[j]) != code_of(entries[j + 1])
    at.sum = sum
    at.weight = total
    return m


cdef inline int64_t sweep_squares(
    const Block* block, Scratch* s, Left* at, const entry_t* entries, int64_t start, int64_t stop,
) noexcept nogil:
    """a, b = sums of squared class counts on the left and on the right."""
    cdef const uint16_t* label = block.label
    cdef int64_t* left = s.left
    cdef int64_t* right = s.right
    cdef int32_t* positions = s.positions
    cdef double* a = s.a
    cdef double* b = s.b
    cdef int64_t squares = at.squares
    cdef int64_t squares_right = at.squares_right
    cdef int64_t m = 0
    cdef int64_t j, count
    cdef uint32_t k
    for j in range(start, stop):
        k = label[row_of(entries[j])]
        count = left[k]
        squares += 2 * count + 1
        left[k] = count + 1
        count = right[k]
        squares_right -= 2 * count - 1
        right[k] = count - 1
        positions[m] = <int32_t> j
        a[m] = <double> squares
        b[m] = <double> squares_right
        m += code_of(entries[j]) != code_of(entries[j + 1])
    at.squares = squares
    at.squares_right = squares_right
    return m


cdef inline int64_t sweep_table(
    const Problem* p, const Block* block, Scratch* s, Left* at, int64_t n_all,
    const entry_t* entries, int64_t start, int64_t stop,
) noexcept nogil:
    """a = -(entropy risk on the left + on the right), in quanta of the table."""
    cdef const uint16_t* label = block.label
    cdef const int64_t* table = p.xlogx
    cdef int64_t* left = s.left
    cdef int64_t* right = s.right
    cdef int32_t* positions = s.positions
    cdef double* a = s.a
    cdef int64_t sum = at.table
    cdef int64_t sum_right = at.table_right
    cdef int64_t m = 0
    cdef int64_t j, count, n_left
    cdef uint32_t k
    for j in range(start, stop):
        k = label[row_of(entries[j])]
        count = left[k]
        sum += table[count + 1] - table[count]
        left[k] = count + 1
        count = right[k]
        sum_right += table[count - 1] - table[count]
        right[k] = count - 1
        if code_of(entries[j]) != code_of(entries[j + 1]):
            n_left = j + 1 - at.first + at.before
            positions[m] = <int32_t> j
            a[m] = <double> (sum + sum_right - table[n_left] - table[n_all - n_left])
            m += 1
    at.table = sum
    at.table_right = sum_right
    return m


cdef inline double entropy_risks(const Problem* p, Scratch* s, Left* at) noexcept nogil:
    """risk_of(left) + risk_of(right), bit for bit, with logarithms of those classes only that have moved since the last time."""
    cdef int32_t width = p.n_classes
    cdef double* c = s.terms
    cdef int32_t i, k
    cdef double total = 0
    cdef double part = 0
    cdef double left
    for i in range(at.n_moved):
        k = s.moved[i]
        s.is_moved[k] = False
        c[k] = <double> s.left[k] * p.unit
        c[width + k] = xlogx(c[k])
        c[2 * width + k] = <double> s.right[k] * p.unit
        c[3 * width + k] = xlogx(c[2 * width + k])
    at.n_moved = 0
    for k in range(width):
        total += c[k]
        part += c[width + k]
    left = max(xlogx(total) - part, 0.0)
    total = 0
    part = 0
    for k in range(width):
        total += c[2 * width + k]
        part += c[3 * width + k]
    return left + max(xlogx(total) - part, 0.0)


cdef inline int64_t sweep_weights(
    const Problem* p, const Block* block, Scratch* s, Left* at, const Bounds* limits,
    const entry_t* entries, int64_t start, int64_t stop,
) noexcept nogil:
    """a = risk on the left + on the right, from the class weights."""
    cdef int64_t m = 0
    cdef int64_t j, weight
    cdef uint32_t row, k
    cdef bint entropy = p.impurity == ENTROPY
    for j in range(start, stop):
        row = row_of(entries[j])
        k = block.label[row]
        weight = 1 if block.weight == NULL else block.weight[row]
        at.weight += weight
        s.left[k] += weight
        s.right[k] -= weight
        if entropy and not s.is_moved[k]:
            s.is_moved[k] = True
            s.moved[at.n_moved] = <int32_t> k
            at.n_moved += 1
        if code_of(entries[j]) == code_of(entries[j + 1]):
            continue
        if block.weight != NULL and not limits.w_min <= at.weight <= limits.w_max:
            continue
        s.positions[m] = <int32_t> j
        s.a[m] = entropy_risks(p, s, at) if entropy else risk_of(p, s.left) + risk_of(p, s.right)
        m += 1
    return m


cdef inline int64_t sweep_deviance(
    const Problem* p, const Block* block, Scratch* s, Left* at, const Bounds* limits, const Totals* all,
    const entry_t* entries, int64_t start, int64_t stop,
) noexcept nogil:
    """a = the gain, from the sum of the targets and the weight on the left."""
    cdef int64_t m = 0
    cdef int64_t j
    cdef uint32_t row
    for j in range(start, stop):
        row = row_of(entries[j])
        at.weight += 1 if block.weight == NULL else block.weight[row]
        at.sum += block.ysum[row]
        if code_of(entries[j]) == code_of(entries[j + 1]):
            continue
        if block.weight != NULL and not limits.w_min <= at.weight <= limits.w_max:
            continue
        s.positions[m] = <int32_t> j
        s.a[m] = deviance_gain(all.weight, all.sum, at.weight, at.sum) * p.y_unit[0]
        m += 1
    return m


cdef inline int64_t sweep_medians(
    const Problem* p, const Block* block, Scratch* s, Left* at, const Bounds* limits,
    const entry_t* entries, int64_t start, int64_t stop,
) noexcept nogil:
    """a = the gain, from the deviations around the medians of the two sides."""
    cdef int64_t m = 0
    cdef int64_t j
    cdef uint32_t row
    for j in range(start, stop):
        row = row_of(entries[j])
        at.weight += 1 if block.weight == NULL else block.weight[row]
        move_sample(p, row, 1)
        if code_of(entries[j]) == code_of(entries[j + 1]):
            continue
        if block.weight != NULL and not limits.w_min <= at.weight <= limits.w_max:
            continue
        s.positions[m] = <int32_t> j
        s.a[m] = gain_of_sides(p)
        m += 1
    return m


cdef inline int64_t sweep_outputs(
    const Problem* p, const Block* block, Scratch* s, Left* at, const Bounds* limits, const Totals* all,
    const entry_t* entries, int64_t start, int64_t stop,
) noexcept nogil:
    """a = the gain, from the class weights or the sums of several targets."""
    cdef int64_t m = 0
    cdef int64_t j, weight
    cdef uint32_t row
    for j in range(start, stop):
        row = row_of(entries[j])
        weight = 1 if block.weight == NULL else block.weight[row]
        at.weight += weight
        add_outputs(p, block, s.left, row, weight)
        if code_of(entries[j]) == code_of(entries[j + 1]):
            continue
        if block.weight != NULL and not limits.w_min <= at.weight <= limits.w_max:
            continue
        s.positions[m] = <int32_t> j
        s.a[m] = group_gain(p, all, at.weight, 0, s.left, s.right)
        m += 1
    return m


cdef inline int64_t sweep(
    const Problem* p, const Block* block, Scratch* s, Left* at, const Bounds* limits, const Totals* all,
    const entry_t* entries, int64_t start, int64_t stop,
) noexcept nogil:
    if p.sweep == LINEAR:
        return sweep_linear(p, block, s, at, limits, all, entries, start, stop)
    if p.sweep == SQUARES:
        return sweep_squares(block, s, at, entries, start, stop)
    if p.sweep == TABLE:
        return sweep_table(p, block, s, at, all.n, entries, start, stop)
    if p.sweep == DEVIANCE:
        return sweep_deviance(p, block, s, at, limits, all, entries, start, stop)
    if p.sweep == MEDIANS:
        return sweep_medians(p, block, s, at, limits, entries, start, stop)
    if p.sweep == OUTPUTS:
        return sweep_outputs(p, block, s, at, limits, all, entries, start, stop)
    return sweep_weights(p, block, s, at, limits, entries, start, stop)


cdef inline double gains_of_chunk(
    const Problem* p, const Block* block, Scratch* s, const Left* at, const Totals* total, int64_t m,
) noexcept nogil:
    """Write the gain of every candidate of a chunk; returns the largest.  No split loses: below 0 is rounding."""
    cdef double n_all = <double> total.weight
    cdef double largest = -INFINITY
    cdef double stat, scale, n_left, base
    cdef int64_t offset = 1 - at.first + at.before
    cdef int64_t j
    cdef int32_t k
    if p.sweep == LINEAR:
        if p.n_classes:
            stat = <double> total.counts[1]
            scale = 2.0 / n_all * p.unit
        else:
            stat = <double> (total.sum - at.mean * total.n)
            scale = p.y_unit[0] * p.y_unit[0] / n_all / p.unit
        return linear_gains(
            s.a, NULL if block.weight == NULL else s.b, s.positions, s.gains, m, <double> offset, n_all, stat, scale
        )
    if p.sweep == SQUARES:
        base = 0
        for k in range(p.n_classes):
            base += <double> total.counts[k] * <double> total.counts[k]
        base /= n_all
        for j in range(m):
            n_left = <double> (s.positions[j] + offset)
            s.gains[j] = max(s.a[j] / n_left + s.b[j] / (n_all - n_left) - base, 0.0)
            largest = max(largest, s.gains[j])
    elif p.sweep == DEVIANCE or p.sweep == MEDIANS or p.sweep == OUTPUTS:
        for j in range(m):
            s.gains[j] = s.a[j]
            largest = max(largest, s.gains[j])
    elif p.sweep == TABLE:
        for j in range(m):
            s.gains[j] = max(total.risk + s.a[j] * p.xlogx_unit, 0.0)
            largest = max(largest, s.gains[j])
    else:
        for j in range(m):
            s.gains[j] = max(total.risk - s.a[j], 0.0)
            largest = max(largest, s.gains[j])
    return largest


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


cdef inline bint offer_chunk(
    Cut* cut, const Scratch* s, int64_t m, double largest, double risk, double at_least,
) noexcept nogil:
    """`offer` for the candidates of a chunk, whose largest gain is known."""
    cdef double limit = at_least
    cdef int64_t j
    if at_least == -INFINITY:
        if largest <= cut.gain:
            return False
        limit = tie_limit(largest, risk)
        if cut.first_gain >= limit:
            cut.gain = largest
            return False
        cut.ambiguous = cut.gain >= limit
        cut.gain = largest
    for j in range(m):
        if s.gains[j] >= limit:
            cut.first_gain = s.gains[j]
            cut.at = s.positions[j]
            break
    if at_least > -INFINITY and cut.at >= 0:
        cut.gain = cut.first_gain
        return True
    return False


cdef inline void offer_single(
    const Problem* p, const Block* block, Scratch* s, Cut* cut, const Totals* known, int64_t node_weight,
    const entry_t* entries, int64_t start, int64_t m, double largest,
) noexcept nogil:
    """Release 8's choice: candidates near the largest gain compete in single precision, the first of equal ones wins.

    s.mark holds the class weights on the left of `start`, the chunk's first entry.
    """
    cdef double slack = single_slack(p, known)
    cdef float base, gain
    cdef int64_t j
    cdef uint32_t row
    if largest < cut.gain - slack:
        return
    cut.gain = max(cut.gain, largest)
    base = threshold_base(p, known)
    for j in range(m):
        if s.gains[j] < cut.gain - slack:
            continue
        while start <= s.positions[j]:
            row = row_of(entries[start])
            s.mark[block.label[row]] += 1 if block.weight == NULL else block.weight[row]
            start += 1
        gain = threshold_gain(p, known, base, s.mark, node_weight)
        if gain > cut.single_gain:
            cut.single_gain = gain
            cut.first_gain = s.gains[j]
            cut.at = s.positions[j]


cdef inline bint within(const Bounds* limits, int64_t n_left, int64_t w_left) noexcept nogil:
    return limits.n_min <= n_left <= limits.n_max and limits.w_min <= w_left <= limits.w_max


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


cdef inline Cut sweep_list(
    const Problem* p, const Block* block, Scratch* s, const Totals* total, const Totals* lost, bint lost_left,
    const entry_t* entries, int64_t n, int32_t f, double at_least, int64_t* tries, int64_t node_weight,
) noexcept nogil:
    """Best threshold along a sorted list.

    `total` is what the candidates divide.  The missing values `lost` join the left side if `lost_left`; else they stay on the
    right, or are no part of `total` at all.  `tries` counts the admissible candidates.
    """
    cdef Cut cut = no_cut(f)
    cdef Bounds limits = bounds_of(p, total.n, total.weight, False)
    cdef Left at
    cdef Side side
    cdef int64_t low, high, i, m, stop
    cdef double largest
    cdef bint found = False
    cdef bint ordered = p.monotone != NULL and p.monotone[f] != 0
    tries[0] = 0
    if block.weight == NULL:
        limits.n_min = max(limits.n_min, limits.w_min)
        limits.n_max = min(limits.n_max, limits.w_max)
    at = start_sweep(p, block, s, total, lost, lost_left)
    if p.sweep == MEDIANS:
        start_sides(p, lost_left)
    if ordered:
        side = start_side(p, s, lost, lost_left)
    # a cut at position i puts i + 1 - first + before samples on the left
    low = max(limits.n_min + at.first - at.before - 1, at.first)
    high = min(limits.n_max + at.first - at.before - 1, n - 2)
    if low > high:
        return cut
    i = at.first
    while i < low:                     # too few on the left: moved, but no candidates
        stop = min(i + CHUNK, low)
        sweep(p, block, s, &at, &limits, total, entries, i, stop)
        i = stop
    while i <= high and not found:
        stop = min(i + CHUNK, high + 1)
        if p.release8:
            memcpy(s.mark, s.left, p.n_classes * sizeof(int64_t))
        m = sweep(p, block, s, &at, &limits, total, entries, i, stop)
        if m and p.exact[f].data != NULL:
            m = drop_close(p, block, s, entries, f, m)
        if m and ordered:
            m = drop_disordered(p, block, s, total, &side, entries, f, m)
        if m:
            tries[0] += m
            largest = gains_of_chunk(p, block, s, &at, total, m)
            if p.release8:
                offer_single(p, block, s, &cut, total, node_weight, entries, i, m, largest)
            else:
                found = offer_chunk(&cut, s, m, largest, total.risk, at_least)
        i = stop
    if p.release8 and p.min_branch_weight > MOST_OF_A_SIDE:
        tries[0] = tries_along_list(p, block, total, entries, at.first, n, f)
    if cut.at >= 0:
        cut.form = THRESHOLD_CUT
    return cut


cdef inline double gain_of_part(const Problem* p, const Totals* total, const int64_t* part, int64_t weight) noexcept nogil:
    """Numeric targets: what one of any number of branches adds to the gain."""
    cdef double gain = 0
    cdef double above
    cdef int64_t all, base
    cdef int32_t o
    for o in range(p.n_outputs):
        all = total.counts[o] if p.n_counts else total.sum
        if p.impurity == POISSON:
            gain += deviance_of_part(total.weight, all, weight, part[o]) * p.y_unit[o]
        else:
            base = 0 if p.weighted else all // total.weight
            above = <double> (part[o] - base * weight) - <double> (all - base * total.weight) * (
                <double> weight / <double> total.weight)
            gain += above * above / <double> weight * p.y_unit[o] * p.y_unit[o] / p.unit
    return gain / p.n_outputs


cdef inline void add_group(
    const Problem* p, const Scratch* s, int64_t g, int64_t sign, int64_t* n_left, int64_t* w_left, int64_t* s_left,
) noexcept nogil:
    cdef int32_t k
    n_left[0] += sign * s.group_n[g]
    w_left[0] += sign * s.group_w[g]
    if p.sweep == MEDIANS:
        move_group(p, g, sign)
        return
    if p.n_counts:
        for k in range(p.n_counts):
            s.left[k] += sign * s.group_stat[g * p.width + k]
    else:
        s_left[0] += sign * s.group_stat[g]


cdef inline void start_left(
    const Problem* p, const Scratch* s, const Totals* lost, bint lost_left, int64_t* n_left, int64_t* w_left, int64_t* s_left,
) noexcept nogil:
    n_left[0] = lost.n if lost_left else 0
    w_left[0] = lost.weight if lost_left else 0
    s_left[0] = lost.sum if lost_left else 0
    if p.sweep == MEDIANS:
        start_sides(p, lost_left)
        return
    if p.n_counts:
        if lost_left:
            memcpy(s.left, lost.counts, p.n_counts * sizeof(int64_t))
        else:
            memset(s.left, 0, p.n_counts * sizeof(int64_t))


cdef inline Cut sweep_groups(
    const Problem* p, const Block* block, Scratch* s, const Totals* total, const Totals* lost, bint lost_left,
    int64_t q, int32_t f, double at_least, int64_t* tries, int64_t node_weight,
) noexcept nogil:
    """Best threshold between ascending groups: `sweep_list` for a feature that is counted by code."""
    cdef Cut cut = no_cut(f)
    cdef Bounds limits = bounds_of(p, total.n, total.weight, False)
    cdef int64_t g, n_left, w_left, s_left
    cdef double gain
    cdef float base_single = threshold_base(p, total) if p.release8 else 0
    cdef double slack = single_slack(p, total) if p.release8 else 0
    cdef double largest = -INFINITY
    cdef float single
    cdef bint ordered = p.monotone != NULL and p.monotone[f] != 0
    tries[0] = 0
    start_left(p, s, lost, lost_left, &n_left, &w_left, &s_left)
    for g in range(q - 1):
        add_group(p, s, g, 1, &n_left, &w_left, &s_left)
        if not within(&limits, n_left, w_left):
            continue
        if ordered and not in_order(p, total, p.monotone[f], s.left, s_left, w_left):
            continue
        if p.exact[f].data != NULL and not apart(p, block, f, s.group_code[g], 0, s.group_code[g + 1], 0):
            continue
        tries[0] += 1
        gain = group_gain(p, total, w_left, s_left, s.left, s.right)
        if p.release8:
            # near the largest gain so far, the rounding of single precision decides
            if gain < largest - slack:
                continue
            largest = max(largest, gain)
            single = threshold_gain(p, total, base_single, s.left, node_weight)
            if single > cut.single_gain:
                cut.single_gain = single
                cut.first_gain = gain
                cut.gain = gain
                cut.at = s.group_code[g]
            continue
        if offer(&cut, gain, s.group_code[g], total.risk, at_least):
            break
    if p.release8 and p.min_branch_weight > MOST_OF_A_SIDE:
        tries[0] = tries_along_groups(p, block, s, total, q, f)
    if cut.at >= 0:
        cut.form = THRESHOLD_CUT
    return cut


cdef inline int compare_ranked(const void* a, const void* b) noexcept nogil:
    cdef const Ranked* x = <const Ranked*> a
    cdef const Ranked* y = <const Ranked*> b
    if x.key != y.key:
        return -1 if x.key < y.key else 1
    return -1 if x.group < y.group else 1


cdef inline void squared_axis(const Problem* p, const Scratch* s, int64_t q, const double* mean, double* axis) noexcept nogil:
    """The leading eigenvector of a small covariance matrix, by squaring it again and again."""
    cdef int32_t k_n = p.n_counts
    cdef const double* scale_of = s.pca_scale
    cdef double* cov = s.pca
    cdef double* squared = s.pca + SQUARED * SQUARED
    cdef double w, x, scale
    cdef int64_t g
    cdef int32_t i, j, k, best, _step
    memset(cov, 0, k_n * k_n * sizeof(double))
    for g in range(q):
        w = <double> s.group_w[g]
        for k in range(k_n):
            axis[k] = <double> s.group_stat[g * k_n + k] / w * scale_of[k] - mean[k]
        for i in range(k_n):
            for j in range(k_n):
                cov[i * k_n + j] += w * axis[i] * axis[j]
    for _step in range(40):     # S^(2^40) decides any gap between eigenvalues that a double can hold
        scale = 0
        for i in range(k_n * k_n):
            scale = max(scale, fabs(cov[i]))
        if scale == 0:
            break
        for i in range(k_n * k_n):
            cov[i] /= scale
        for i in range(k_n):
            for j in range(k_n):
                x = 0
                for k in range(k_n):
                    x += cov[i * k_n + k] * cov[k * k_n + j]
                squared[i * k_n + j] = x
        memcpy(cov, squared, k_n * k_n * sizeof(double))
    best = 0
    for i in range(k_n):        # S^N is close to v v^T: its column of largest diagonal entry is v, scaled
        if cov[i * k_n + i] > cov[best * k_n + best]:
            best = i
    for k in range(k_n):
        axis[k] = cov[k * k_n + best]


cdef inline void iterated_axis(const Problem* p, const Scratch* s, int64_t q, const double* mean, double* axis) noexcept nogil:
    """The same for many classes: power iteration that never forms the matrix, q x K a step."""
    cdef int32_t k_n = p.n_counts
    cdef const double* scale_of = s.pca_scale
    cdef double* following = axis + k_n
    cdef double w, x, scale, change
    cdef int64_t g
    cdef int32_t k, _step
    for k in range(k_n):
        axis[k] = (mean[k] * (1 - mean[k]) if p.n_classes else 1.0 + k) * (1 if k % 2 else -1)
    for _step in range(100):
        for k in range(k_n):
            following[k] = 0
        for g in range(q):
            w = <double> s.group_w[g]
            x = 0
            for k in range(k_n):
                x += axis[k] * (<double> s.group_stat[g * k_n + k] / w * scale_of[k] - mean[k])
            for k in range(k_n):
                following[k] += x * (<double> s.group_stat[g * k_n + k] * scale_of[k] - w * mean[k])
        scale = 0
        for k in range(k_n):
            scale = max(scale, fabs(following[k]))
        if scale == 0:
            return
        change = 0
        for k in range(k_n):
            change = max(change, fabs(following[k] / scale - axis[k]))
            axis[k] = following[k] / scale
        if change < 1e-12:
            return


cdef inline void principal_scores(const Problem* p, const Scratch* s, int64_t q) noexcept nogil:
    """group_key = p_i . v, v the first principal component of the class shares (Coppersmith, Hong, Hosking 1999).

    v is the leading eigenvector of S = sum_i n_i (p_i - p)(p_i - p)^T, with its largest component positive.  Of several numeric
    targets the means take the place of the shares, for Poisson over the root of the mean, as their impurity near it has it.
    """
    cdef int32_t k_n = p.n_counts
    cdef double* mean = s.pca + 2 * SQUARED * SQUARED
    cdef double* axis = mean + k_n
    cdef double* scale_of = s.pca_scale
    cdef double total = 0
    cdef double x
    cdef int64_t g
    cdef int32_t k, best
    for k in range(k_n):
        mean[k] = 0
    for g in range(q):
        total += <double> s.group_w[g]
        for k in range(k_n):
            mean[k] += <double> s.group_stat[g * k_n + k]
    for k in range(k_n):
        scale_of[k] = 1 if p.n_classes else p.y_unit[k]
        if p.impurity == POISSON and mean[k] > 0:
            scale_of[k] = sqrt(p.y_unit[k] * total / mean[k])
        mean[k] = mean[k] / total * scale_of[k]
    if k_n <= SQUARED:
        squared_axis(p, s, q, mean, axis)
    else:
        iterated_axis(p, s, q, mean, axis)
    best = 0
    for k in range(k_n):
        if fabs(axis[k]) > fabs(axis[best]):
            best = k
    for g in range(q):
        x = 0
        for k in range(k_n):
            x += axis[k] * (<double> s.group_stat[g * k_n + k] / <double> s.group_w[g] * scale_of[k])
        s.group_key[g] = -x if axis[best] < 0 else x


cdef inline void order_by_medians(const Problem* p, Ranked* ranked, int64_t q, int32_t o, int64_t n) noexcept nogil:
    """Sort groups, which come in the order of their means, by the medians of a target; what ties stays as it is."""
    cdef int64_t g
    find_medians(p, o, n, q, False)
    for g in range(q):
        p.parts.weight[g] = ranked[g].group
        ranked[g].key = median_of_part(p, o, ranked[g].group)
        ranked[g].group = g
    qsort(ranked, q, sizeof(Ranked), compare_ranked)
    for g in range(q):
        ranked[g].group = p.parts.weight[ranked[g].group]


cdef inline void order_groups(const Problem* p, Scratch* s, int64_t q, int32_t order, int64_t n) noexcept nogil:
    """ranked[0..q) = the groups of a node of n samples in the order that `order` names: see GroupOrder."""
    cdef Ranked* ranked = s.ranked
    cdef int64_t g
    if order == BY_PRINCIPAL:
        principal_scores(p, s, q)
    else:
        for g in range(q):
            s.group_key[g] = <double> s.group_stat[g * p.width + max(order, 0)] / <double> s.group_w[g]
    for g in range(q):
        ranked[g].key = s.group_key[g]
        ranked[g].group = g
    qsort(ranked, q, sizeof(Ranked), compare_ranked)
    if p.sweep == MEDIANS:
        order_by_medians(p, ranked, q, max(order, 0), n)


cdef inline bint earlier_set(const uint8_t* a, const uint8_t* b, int64_t q) noexcept nogil:
    """Is the ascending list of groups on side 0 in `a` lexicographically before that in `b`?"""
    cdef int64_t g
    cdef int64_t first = -1
    for g in range(q):
        if a[g] != b[g]:
            first = g
            break
    if first < 0:
        return False
    # the list that goes on without this group is first only if it ends here
    for g in range(first + 1, q):
        if a[first] == 0 and b[g] == 0:
            return True
        if b[first] == 0 and a[g] == 0:
            return False
    return a[first] != 0


cdef inline bint earlier_single(const Cut* a, const Cut* b, int64_t q) noexcept nogil:
    """`earlier_set` for one group against the rest, without a look at the sets; of equal sets the one with `missing` right.

    {0} comes first.  All but g come before all but h if g > h: they go on with h where the others lack it.
    """
    cdef int64_t rank_a = q - a.at if a.at > 0 and q > 2 else 0
    cdef int64_t rank_b = q - b.at if b.at > 0 and q > 2 else 0
    return rank_a < rank_b or (rank_a == rank_b and a.missing > b.missing)


cdef inline void canonical_side(uint8_t* side, int64_t q) noexcept nogil:
    """Side 0 is the one that contains the lowest code."""
    cdef int64_t g
    if side[0] == 0:
        return
    for g in range(q):
        side[g] = 1 - side[g]


cdef inline void cut_side(const Problem* p, Scratch* s, int64_t q, const Cut* cut, uint8_t* side) noexcept nogil:
    """Write the side of every group under a GROUP_CUT: `at` ranks of an order, one group, or a mask."""
    cdef Ranked* ranked = s.ranked
    cdef int64_t g
    if cut.order == BY_PARTITION:
        for g in range(q):
            side[g] = 0 if (cut.mask >> g) & 1 else 1
    elif cut.order == BY_SINGLE:
        for g in range(q):
            side[g] = 0 if g == cut.at else 1
    elif cut.order == BY_CODE:
        for g in range(q):
            side[g] = 0 if g <= cut.at else 1
    else:
        for g in range(q):
            side[ranked[g].group] = 0 if g <= cut.at else 1
    canonical_side(side, q)


cdef inline void offer_set(const Problem* p, Scratch* s, int64_t q, const Cut* candidate, Cut* best, double limit) noexcept nogil:
    """Second pass of a subset search: among candidates that reach `limit` the lexicographically first set wins."""
    if candidate.gain < limit:
        return
    cut_side(p, s, q, candidate, s.group_side)
    if best.form == NO_CUT or earlier_set(s.group_side, s.best_side, q):
        best[0] = candidate[0]
        best.form = GROUP_CUT
        memcpy(s.best_side, s.group_side, q * sizeof(uint8_t))


cdef inline Cut halve(
    const Problem* p, Scratch* s, const Totals* total, int64_t q, int32_t f, const Bounds* limits,
) noexcept nogil:
    """The first half of the categories against the others, if it is admissible; missing values go right."""
    cdef Cut cut = no_cut(f)
    cdef int64_t n_left = 0
    cdef int64_t w_left = 0
    cdef int64_t s_left = 0
    cdef int64_t g
    memset(s.left, 0, p.n_counts * sizeof(int64_t))
    for g in range((q + 1) // 2):
        add_group(p, s, g, 1, &n_left, &w_left, &s_left)
    if within(limits, n_left, w_left):
        cut.gain = group_gain(p, total, w_left, s_left, s.left, s.right)
        cut.first_gain = cut.gain
        cut.at = (q + 1) // 2 - 1
        cut.form = GROUP_CUT
        cut.order = BY_CODE
        cut.missing = 1
    return cut


cdef inline Cut best_groups(
    const Problem* p, Scratch* s, const Totals* total, const Totals* lost, int64_t q, int32_t f, double at_least,
) noexcept nogil:
    """Best division of the categories into two groups.

    Two classes or a numeric target: one of the q - 1 cuts of the order by class share or mean (Breiman et al. 1984, theorem 4.5).
    More classes, several targets: every partition up to ten categories, above the principal order and those by class or target.
    Absolute error: the cuts of the order by median of each target, which are good ones and need not hold the best.
    Where no division of more than ten categories gains anything: the first half of them.
    """
    cdef Cut cut = no_cut(f)
    cdef Cut candidate = no_cut(f)
    cdef Bounds limits = bounds_of(p, total.n, total.weight, False)
    cdef Ranked* ranked = s.ranked
    cdef int32_t n_orders, o
    cdef int64_t g, n_left, w_left, s_left
    cdef int32_t sides = 2 if lost.n > 0 and p.missing == DIRECTION else 1
    cdef int32_t lost_left, turn
    cdef uint64_t code, gray, previous, changed
    cdef bint many = p.n_counts > 2 or p.n_outputs > 1
    cdef bint exhaustive = many and q <= EXHAUSTIVE and p.sweep != MEDIANS
    cdef bint single = p.nominal == ONE_VS_REST
    cdef bint alike = q > EXHAUSTIVE and not single and p.sweep != MEDIANS        # may be
    cdef double largest = -INFINITY
    cdef double limit = at_least
    if q < 2:
        return cut
    candidate.form = GROUP_CUT
    n_orders = p.n_counts + (p.sweep != MEDIANS) if many and not exhaustive and not single else 1
    for turn in range(2):                 # first the largest gain, then the first set that reaches it
        if turn == 0 and at_least > -INFINITY:
            continue
        if turn == 1:
            if at_least == -INFINITY:
                for o in range(n_orders):
                    largest = max(largest, s.order_gain[o])
                limit = tie_limit(largest, total.risk)
            if largest == -INFINITY and at_least == -INFINITY:
                return cut
            if at_least == -INFINITY and alike and largest <= RISK_TIE * total.risk:
                # the categories are all alike: to take off one after the other would make a chain of nodes
                cut = halve(p, s, total, q, f, &limits)
                if cut.form != NO_CUT:
                    break
        for o in range(n_orders):
            if turn == 0:
                s.order_gain[o] = -INFINITY
            elif at_least == -INFINITY and s.order_gain[o] < limit:
                continue
            if single:
                candidate.order = BY_SINGLE
            elif exhaustive:
                candidate.order = BY_PARTITION
            elif many:
                candidate.order = o if o < p.n_counts else BY_PRINCIPAL
            else:
                candidate.order = 1 if p.n_classes else BY_MEAN
            if candidate.order > BY_PARTITION:
                order_groups(p, s, q, candidate.order, total.n if p.sweep != MEDIANS or p.parts.with_lost else total.n + lost.n)
            for lost_left in range(sides):
                # the missing values join the first-ranked side here; canonical_side may exchange the two
                start_left(p, s, lost, lost_left, &n_left, &w_left, &s_left)
                if exhaustive and not single:
                    add_group(p, s, 0, 1, &n_left, &w_left, &s_left)
                    previous = 0
                    code = 0
                    while True:
                        gray = code ^ (code >> 1)
                        changed = gray ^ previous
                        if changed:
                            g = 0
                            while not (changed >> g) & 1:
                                g += 1
                            add_group(p, s, g + 1, 1 if (gray >> g) & 1 else -1, &n_left, &w_left, &s_left)
                        previous = gray
                        if gray != (<uint64_t> 1 << (q - 1)) - 1 and within(&limits, n_left, w_left):
                            candidate.gain = group_gain(p, total, w_left, s_left, s.left, s.right)
                            candidate.mask = (gray << 1) | 1
                            candidate.missing = 1 - lost_left
                            if turn == 0:
                                s.order_gain[o] = max(s.order_gain[o], candidate.gain)
                            else:
                                offer_set(p, s, q, &candidate, &cut, limit)
                        code += 1
                        if code >> (q - 1):
                            break
                    continue
                for g in range(q if single else q - 1):
                    if single:
                        start_left(p, s, lost, lost_left, &n_left, &w_left, &s_left)
                    add_group(p, s, g if single else ranked[g].group, 1, &n_left, &w_left, &s_left)
                    if not within(&limits, n_left, w_left):
                        continue
                    candidate.gain = group_gain(p, total, w_left, s_left, s.left, s.right)
                    candidate.at = g
                    if turn == 0:
                        s.order_gain[o] = max(s.order_gain[o], candidate.gain)
                        continue
                    candidate.missing = 1 - lost_left
                    if single:
                        # the side of group 0 is branch 0
                        if g > 0:
                            candidate.missing = lost_left
                        if candidate.gain >= limit and (cut.form == NO_CUT or earlier_single(&candidate, &cut, q)):
                            cut = candidate
                        continue
                    if candidate.gain >= limit:
                        cut_side(p, s, q, &candidate, s.group_side)
                        # the side that the missing values joined may have become branch 1
                        if s.group_side[ranked[g].group] == 1:
                            candidate.missing = lost_left
                        if cut.form == NO_CUT or earlier_set(s.group_side, s.best_side, q) or (
                            candidate.missing > cut.missing and not earlier_set(s.best_side, s.group_side, q)
                        ):
                            cut = candidate
                            memcpy(s.best_side, s.group_side, q * sizeof(uint8_t))
    if cut.form != NO_CUT:
        cut.first_gain = cut.gain
        if at_least == -INFINITY:
            cut.gain = largest
        if lost.n == 0:
            cut.missing = -1
    return cut


cdef inline Cut branch_per_group(
    const Problem* p, Scratch* s, const Totals* total, int64_t q, int32_t f,
) noexcept nogil:
    """The split with a branch per category; `total` holds the samples whose value is known.

    Poisson: none where a branch would have no events, as with two branches.
    """
    cdef Cut cut = no_cut(f)
    cdef int64_t g
    cdef int32_t k
    cdef int64_t reasonable = 0
    cdef int64_t least = 0
    cdef double remaining = 0
    cdef double w
    if q < 2 or total.weight <= 0:
        return cut
    least = <int64_t> ceil(p.min_weight_leaf / p.unit * (1 - 1e-12))
    for g in range(q):
        if s.group_n[g] < p.min_samples_leaf or s.group_w[g] < least:
            return cut
        w = <double> s.group_w[g] * p.unit
        if w >= p.min_branch_weight * (1 - 1e-12):
            reasonable += 1
        for k in range(p.width if p.impurity == POISSON else 0):
            if s.group_stat[g * p.width + k] == 0:
                return cut
        if p.n_classes:
            if not p.release8 or p.min_impurity_decrease > 0 or p.min_gain > -INFINITY:  # else nobody asks for the gain
                remaining += risk_of(p, &s.group_stat[g * p.width])
        else:
            remaining -= gain_of_part(p, total, &s.group_stat[g * p.width], s.group_w[g])
    if p.release8 and reasonable < 2:
        return cut
    cut.gain = max(total.risk - remaining if p.n_classes else -remaining, 0.0)
    if p.sweep == MEDIANS:
        cut.gain = gain_of_parts(p, total.n if p.parts.with_lost else total.n + p.parts.n_lost, q)
    cut.first_gain = cut.gain
    cut.form = BRANCH_CUT
    cut.at = q
    return cut


cdef inline void lost_of_list(
    const Problem* p, const Block* block, const entry_t* entries, int64_t n, Totals* lost,
) noexcept nogil:
    """Totals of the missing values, which lead the list."""
    cdef int64_t i = 0
    cdef uint32_t row
    lost.n = 0
    lost.weight = 0
    lost.sum = 0
    if code_of(entries[0]) != 0:
        return
    if p.n_counts:
        memset(lost.counts, 0, p.n_counts * sizeof(int64_t))
    while i < n and code_of(entries[i]) == 0:
        row = row_of(entries[i])
        add_sample(p, block, lost, row, 1 if block.weight == NULL else block.weight[row])
        i += 1


cdef inline void known_totals(const Problem* p, const Totals* node, const Totals* lost, Totals* known) noexcept nogil:
    """known = node - lost, with its own risk.  known.counts must not alias the others."""
    cdef int32_t k
    known.n = node.n - lost.n
    known.weight = node.weight - lost.weight
    known.sum = node.sum - lost.sum
    known.risk = node.risk
    known.low = node.low
    known.high = node.high
    if lost.n == 0:
        if p.n_counts:
            memcpy(known.counts, node.counts, p.n_counts * sizeof(int64_t))
        return
    for k in range(p.n_counts):
        known.counts[k] = node.counts[k] - lost.counts[k]
    if p.n_classes:
        known.risk = risk_of(p, known.counts)


cdef inline bint judged_by_known(const Problem* p, const Totals* lost) noexcept nogil:
    """Do only the samples whose value is known say how good a cut is, and whether its sides are large enough?"""
    return p.missing != DIRECTION and p.missing != REFUSE and (lost.n > 0 or p.release8)


cdef inline bint own_branch_allowed(const Problem* p, const Totals* lost) noexcept nogil:
    """Are there enough missing values for a branch of their own?  Fewer go to the heaviest one."""
    return p.missing == OWN_BRANCH and 0 < lost.n >= p.min_samples_leaf and (
        <double> lost.weight * p.unit >= p.min_weight_leaf * (1 - 1e-12)
    )


cdef inline bint cut_known_allowed(const Problem* p, const Totals* node, const Totals* lost) noexcept nogil:
    cdef Bounds limits = bounds_of(p, node.n, node.weight, False)
    return lost.n < node.n and within(&limits, node.n - lost.n, node.weight - lost.weight)


cdef inline double gain_of_known(const Problem* p, Scratch* s, const Totals* node, const Totals* lost) noexcept nogil:
    """Gain of known against missing."""
    cdef double gain
    cdef bint with_lost
    if p.sweep != MEDIANS:
        return group_gain(p, node, lost.weight, lost.sum, lost.counts, s.right)
    with_lost = p.parts.with_lost
    p.parts.with_lost = True
    start_sides(p, True)
    gain = gain_of_sides(p)
    p.parts.with_lost = with_lost
    return gain


cdef inline Cut with_own_branch(
    const Problem* p, const Totals* node, const Totals* lost, Cut cut, double apart, double at_least,
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
        return known if apart >= at_least and cut_known_allowed(p, node, lost) else cut
    cut.gain += apart
    cut.first_gain += apart
    cut.missing = <int32_t> cut.at if cut.form == BRANCH_CUT else 2
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
    if left_fits and (not right_fits or left.at < right.at):
        right[0] = left[0]
    elif not right_fits and left.gain > right.gain:
        right[0] = left[0]
    right.gain = gain
    right.ambiguous = ambiguous


cdef inline Cut with_known_cut(
    const Problem* p, Scratch* s, const Totals* node, const Totals* lost, Cut cut, double at_least,
) noexcept nogil:
    """`cut` of a feature with missing values, or known against missing if that gains more."""
    cdef Cut other = no_cut(cut.feature)
    if not cut_known_allowed(p, node, lost):
        return cut
    other.form = KNOWN_CUT
    other.missing = 1
    other.gain = gain_of_known(p, s, node, lost)
    other.first_gain = other.gain
    if at_least > -INFINITY:
        return other if cut.form == NO_CUT and other.gain >= at_least else cut
    if other.gain > cut.gain:
        if cut.form == NO_CUT or cut.first_gain < tie_limit(other.gain, node.risk):
            return other
        cut.gain = other.gain
    return cut


cdef inline int64_t weight_below(
    const Block* block, const Scratch* s, const Active* active, const entry_t* entries, int64_t q, const Cut* cut,
    const Totals* lost, int64_t known,
) noexcept nogil:
    """Weight of the known samples in branch 0 of a threshold or of two groups (s.best_side holds their sides, if several)."""
    cdef int64_t below = 0
    cdef int64_t i
    if cut.form == GROUP_CUT and cut.order == BY_SINGLE:
        return s.group_w[0] if cut.at == 0 else known - s.group_w[cut.at]
    if active.listed and cut.form == THRESHOLD_CUT:
        if block.weight == NULL:
            return cut.at + 1 - lost.n
        for i in range(lost.n, cut.at + 1):
            below += block.weight[row_of(entries[i])]
        return below
    for i in range(q):
        if s.best_side[i] == 0 if cut.form == GROUP_CUT else s.group_code[i] <= cut.at:
            below += s.group_w[i]
    return below


cdef inline float threshold_information(
    const Problem* p, const Block* block, const Scratch* s, const Active* active, const entry_t* entries, int64_t q,
    const Cut* cut, const Totals* lost, const Totals* known,
) noexcept nogil:
    """I(missing, left, right) of a chosen threshold as Release 8 rounds it, bits x cases."""
    cdef int64_t parts[3]
    parts[0] = lost.weight
    parts[1] = weight_below(block, s, active, entries, q, cut, lost, known.weight)
    parts[2] = known.weight - parts[1]
    return single_information(parts, NULL, 3, p.unit)


cdef inline double split_information(
    const Problem* p, const Block* block, const Scratch* s, const Active* active, const entry_t* entries, int64_t q,
    const Cut* cut, const Totals* lost, const Totals* node,
) noexcept nogil:
    """Bits x weight of the branches of a cut.

    Missing values count where they are in training: on their side, or as one more branch where they have one, or where they are
    divided (Quinlan 1993, section 3.1).  Elsewhere the bits are those of the known samples; the weight is always the node's, so
    that gains stay in proportion to the share of the known.
    """
    cdef int64_t known = node.weight - lost.weight
    cdef int64_t first = known
    cdef int64_t second = 0
    cdef int64_t apart = 0
    cdef int64_t i
    cdef double parts = 0
    cdef double info
    if p.missing == FRACTIONAL or (p.missing == OWN_BRANCH and cut.missing >= 0) or cut.form == KNOWN_CUT:
        apart = lost.weight
    if cut.form == BRANCH_CUT or cut.form == INTERVAL_CUT:
        for i in range(q):
            parts += xlogx(<double> s.group_w[i] * p.unit)
    else:
        if cut.form != KNOWN_CUT:
            first = weight_below(block, s, active, entries, q, cut, lost, known)
            second = known - first
            if p.missing == DIRECTION and cut.missing == 0:
                first += lost.weight
            elif p.missing == DIRECTION:
                second += lost.weight
        parts = xlogx(<double> first * p.unit) + xlogx(<double> second * p.unit)
    info = xlogx(<double> (first + second + apart) * p.unit) - parts - xlogx(<double> apart * p.unit)
    return info if first + second + apart == node.weight else info * (<double> node.weight / <double> (first + second + apart))


cdef inline Cut branch_per_block(
    const Problem* p, Scratch* s, const Totals* known, int64_t q, int32_t f, int64_t node_weight,
) noexcept nogil:
    """The split with a branch per group of categories, as C4.5 merges them."""
    cdef Cut cut = no_cut(f)
    cdef Merge m
    cdef int64_t b
    if q < 2 or not merge_groups(p, s, known, q, node_weight, &m) or not branches_admitted(p, s, q, m.n):
        return cut
    cut.gain = known.risk
    for b in range(m.n):
        cut.gain -= risk_of(p, &s.block_stat[b * p.width])
    cut.gain = max(cut.gain, 0.0)
    cut.first_gain = cut.gain
    cut.single_gain = m.gain
    cut.single_info = m.info
    cut.form = MERGE_CUT
    cut.at = m.n
    return cut


cdef inline int32_t form_of(const Problem* p, int32_t f) noexcept nogil:
    """How a feature is split."""
    cdef int32_t form = p.continuous
    if p.kind[f] == NOMINAL:
        form = p.nominal
    elif p.kind[f] == ORDINAL:
        form = p.ordinal
    # two categories leave nothing to group
    return DECLARED if form == MERGED and p.n_codes[f] <= 3 else form


cdef inline Cut scan_feature(
    const Problem* p, const Block* block, Scratch* s, const Totals* node, const Active* active, const char* base,
    const uint32_t* rows, entry_t typed, double at_least, bint* constant,
) noexcept nogil:
    """Best cut of one feature in one node.  `constant`: no cut of it can exist below this node either.

    `typed` only names the width of the list entries.  With `at_least` the search returns the first candidate, in tie order,
    whose gain reaches it.
    """
    cdef int32_t f = active.feature
    cdef int64_t n = node.n
    cdef int64_t q = 0
    cdef int64_t tries, tries_left
    cdef Totals lost
    cdef Totals known
    cdef const Totals* total = node
    cdef Cut cut, other
    cdef int32_t form = form_of(p, f)
    cdef const entry_t* entries = NULL
    cdef float cases
    cdef bint own
    cdef double apart = 0
    cdef double known_at_least = at_least
    lost.counts = s.lost
    lost.sum = 0
    known.counts = s.totals
    cut = no_cut(f)
    if active.listed:
        entries = <const entry_t*> (base + active.at)
        if code_of(entries[0]) == code_of(entries[n - 1]):
            constant[0] = True
            return cut
        if form == ORDERED:
            lost_of_list(p, block, entries, n, &lost)
        else:
            q = groups_from_list(p, block, entries, n, s, &lost)
    elif s.node_histogram != NULL:
        q = groups_from_histogram(p, s, f, &lost)
        if q + (lost.n > 0) == 1 and block.single_valued[<size_t> f * 256 + (s.group_code[0] if q else 0)]:
            constant[0] = True
            return cut
    else:
        if active.at:
            widen_cells(p, <const uint32_t*> (base + active.at), p.n_codes[f], s)
        else:
            count_codes(p, block, block.codes + <size_t> p.slot[f] * block.n, p.n_codes[f], rows, n, s)
        q = groups_from_counts(p, p.n_codes[f], s, &lost)
        if q == 0 or (q == 1 and lost.n == 0):
            constant[0] = True
            return cut
    own = own_branch_allowed(p, &lost)
    if judged_by_known(p, &lost):
        known_totals(p, node, &lost, &known)
        total = &known
        if known.weight <= 0:
            return cut
        if p.release8 and form == ORDERED and <double> known.weight * p.unit < 2 * p.min_branch_weight * (1 - 1e-12):
            return cut
    if p.sweep == MEDIANS:
        p.parts.with_lost = total == node
        if active.listed:
            lay_out_list(p, entries, n, lost.n, q, s.group_n)
        else:
            lay_out_codes(p, block.codes + <size_t> p.slot[f] * block.n, rows, n, lost.n, q, s.group_n, s.group_code,
                          s.branch_of_code)
    if own:
        apart = gain_of_known(p, s, node, &lost)
        known_at_least = max(at_least - apart, 0.0) if at_least > -INFINITY else at_least
    if form == DECLARED or form == PRESENT:
        cut = branch_per_group(p, s, total, q, f)
    elif form == INTERVALS:
        q = merge_intervals(p, s, q)
        cut = branch_per_group(p, s, total, q, f)
        if cut.form == BRANCH_CUT:
            cut.form = INTERVAL_CUT
    elif form == MERGED:
        cut = branch_per_block(p, s, total, q, f, node.weight)
    elif form == SUBSET or form == ONE_VS_REST:
        cut = best_groups(p, s, total, &lost, q, f, known_at_least)
    elif p.missing == DIRECTION and lost.n > 0:
        if active.listed:
            cut = sweep_list(p, block, s, node, &lost, False, entries, n, f, at_least, &tries, node.weight)
            other = sweep_list(p, block, s, node, &lost, True, entries, n, f, at_least, &tries_left, node.weight)
        else:
            cut = sweep_groups(p, block, s, node, &lost, False, q, f, at_least, &tries, node.weight)
            other = sweep_groups(p, block, s, node, &lost, True, q, f, at_least, &tries_left, node.weight)
        cut.missing = 1
        other.missing = 0
        merge_directions(&cut, &other, node.risk)
    elif active.listed:
        cut = sweep_list(p, block, s, total, &lost, False, entries, n, f, known_at_least, &tries, node.weight)
    else:
        cut = sweep_groups(p, block, s, total, &lost, False, q, f, known_at_least, &tries, node.weight)
    if own:
        cut = with_own_branch(p, node, &lost, cut, apart, at_least)
    elif total != node:
        cut.missing = TO_HEAVIEST if p.missing == MAJORITY or p.missing == OWN_BRANCH else -1
    if p.missing == DIRECTION and lost.n > 0:
        cut = with_known_cut(p, s, node, &lost, cut, at_least)
    if p.ratio and not p.release8 and cut.form != NO_CUT:
        cut.split_info = split_information(p, block, s, active, entries, q, &cut, &lost, node)
    if p.release8 and cut.form != NO_CUT and cut.form != MERGE_CUT:
        if cut.form == BRANCH_CUT:
            cut.single_gain = single_branches(p, s, q, total, node.weight, &cut.single_info)
        else:
            # the penalty of choosing among `tries` thresholds (Quinlan 1996)
            cases = <float> (<double> node.weight * p.unit)
            cut.single_gain = cut.single_gain - <float> (log2(<double> tries) / cases)
            cut.penalty = log2(<double> tries)
            cut.first_gain -= cut.penalty
            if cut.single_gain <= 0:
                return no_cut(f)
            cut.single_info = threshold_information(p, block, s, active, entries, q, &cut, &lost, total) / cases
    return cut
