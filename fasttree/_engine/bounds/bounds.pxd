"""The bounded search: histograms over bins, and the most that a cut inside a bin can gain.  Header only.

A cut inside a bin puts some of the bin's samples on the left.  The risk of a side is a concave function of its class weights, so
the gain is a convex one, and its largest value over the box of all divisions of the bin is reached at a corner: at each class
either none or all of its weight.  For squared error see `moment_bound`.  A bin whose bound falls short of the best gain known
is never searched.
"""

from libc.math cimport INFINITY, log2, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._engine.risk.impurity cimport ENTROPY, GINI, MISCLASSIFICATION
from fasttree._engine.risk.vectors cimport end_gains, moment_bounds, pair_bounds
from fasttree._engine.scan.cut cimport Division, bounds_of, form_of, within
from fasttree._engine.scan.divisions cimport group_gain
from fasttree._engine.scan.tiles cimport groups_from_histogram, histogram_of
from fasttree._engine.types cimport (
    MOMENTS, ORDERED, PAIRS, RELATIVE_TIE, RISK_TIE, WEIGHTS, Block, Bounds, Problem, Scratch, Totals,
)


cdef enum:
    CORNERS = 6                # classes of a bin up to which every corner of its box is tried


cdef inline double moment_bound(
    const Problem* p, const Totals* total, const char* cell, int64_t n_left, double before, double after,
) noexcept nogil:
    """Squared error: no cut inside a bin gains more, where cuts at its two ends gain `before` and `after`.

    Let a cut have n_l samples on the left and n_r on the right, and D be the sum on the left less n_l times the mean target:
    the gain is D^2 n / (n_l n_r).  Were the bin's targets all at their mean, D would move along a straight line from end to end;
    the gain is convex along it, so at most the larger of the two.  A part of a out of b samples has a sum that is off the line
    by at most sqrt(a (b - a) / b x SS) (Cauchy-Schwarz), SS the sum of squares around the bin's mean.  So
    sqrt(gain) <= sqrt(max(before, after)) + sqrt(SS / b x n x max a (b - a) / (n_l n_r)), and a / n_l, (b - a) / n_r grow
    with a and b - a.  Squares are summed in coarse quanta; half a quantum of each sample is added for what that leaves out.
    """
    cdef const int64_t* moments = <const int64_t*> cell
    cdef double b = <double> moments[0]
    cdef double n = <double> total.n
    cdef double first = <double> n_left                  # samples on the left at the lower end, and at the upper one
    cdef double last = first + b
    cdef double spread = <double> moments[2] - <double> moments[3] * (<double> moments[3] / b)
    cdef double room = b * b / (last * (n - first))
    cdef double narrow = min(first * (n - first), last * (n - last))
    # rounding may have taken something off the difference
    spread += 1e-15 * <double> moments[2]
    spread = (sqrt(max(spread, 0.0)) + 0.5 * sqrt(b)) * <double> (<int64_t> 1 << p.coarse_shift) * p.y_unit[0]
    if narrow > 0:
        room = min(room, b * b / 4 / narrow)
    before = sqrt(max(before, after)) + spread * sqrt(room * n / b)
    return before * before


cdef inline double weighted_moment_bound(
    const Problem* p, const Totals* total, const int64_t* group, double square_unit, int64_t w_left, double before, double after,
) noexcept nogil:
    """`moment_bound` of samples with weights: samples, their weight, the sum of their targets and that of the squares.

    A sample of weight w has the target that its share of the sum has.  Its square is rounded up to a multiple of `square_unit`.
    """
    cdef double b = <double> group[1] * p.unit
    cdef double n = <double> total.weight * p.unit
    cdef double first = <double> w_left * p.unit
    cdef double last = first + b
    cdef double sum = <double> group[2] * p.y_unit[0]
    cdef double squares = <double> group[3] * square_unit
    cdef double narrow = min(first * (n - first), last * (n - last))
    cdef double rest = n - first
    cdef double room = b * b / (last * rest) if rest > 0 else INFINITY
    cdef double spread = sqrt(max(squares - sum * (sum / b), 0.0) + 1e-14 * squares)  # rounding may have taken something off
    if narrow > 0:
        room = min(room, b * b / 4 / narrow)
    before = sqrt(max(before, after)) + spread * sqrt(room * n / b)
    return before * before * (1 + 1e-14)


cdef inline double most_of_a_side(
    const Problem* p, const int64_t* side, const int64_t* bin, double weight, double bin_weight,
) noexcept nogil:
    """The largest (minus risk) of a side that takes any part of a bin on top of what it has, or a little more.

    Entropy: a risk never falls where samples join a side, so it is that of the side alone.  Gini: the sum of c^2 over the classes
    is convex in each class weight, hence below the chord from none to all of the bin's weight; if a is the steepest chord,
    weight t adds at most a t.  What remains is monotone in t, but for parts that cancel: both sides together take all of t.
    """
    cdef double sum = 0
    cdef double steepest = 0
    cdef double c, b, most
    cdef int32_t k
    if p.impurity == ENTROPY:
        for k in range(p.n_classes):
            c = <double> side[k] * p.unit
            sum += c * log2(c) if c > 0 else 0.0
        return sum - (weight * log2(weight) if weight > 0 else 0.0)
    for k in range(p.n_classes):
        c = <double> side[k] * p.unit
        b = <double> bin[k] * p.unit
        sum += c * c
        if b > 0:
            steepest = max(steepest, 2 * c + b)
    most = (sum + steepest * bin_weight) / (weight + bin_weight)
    return max(most, sum / weight) if weight > 0 else most


cdef inline double corner_bound(
    const Problem* p, Scratch* s, const Totals* total, int64_t g, const Totals* before, const Bounds* limits,
) noexcept nogil:
    """The largest gain over the corners of a bin's box; INFINITY if there are too many.

    The two corners that are the bin's ends count only where they are no cuts themselves.  A division that takes some of the
    bin's n samples is a mixture of corners in which other ones have a weight of at least 1 / n: so it falls short of the gain
    of an end by an n-th of what the best of those does, for which `with_margin` leaves room.  Where samples have weights, the
    lightest may hardly change an end's gain, so ends always count.
    """
    cdef const int64_t* bin = &s.group_stat[g * p.width]
    cdef int32_t present[CORNERS]
    cdef int32_t n_present = 0
    cdef int32_t k, j
    cdef uint32_t code, changed
    cdef int64_t weight = before.weight
    cdef int64_t end = before.weight + s.group_w[g]
    cdef double most = -INFINITY
    cdef double gain, low_end, high_end
    for k in range(p.n_classes):
        if bin[k] == 0:
            continue
        if n_present == CORNERS:
            return INFINITY
        present[n_present] = k
        n_present += 1
    memcpy(s.left, before.counts, p.n_classes * sizeof(int64_t))
    low_end = group_gain(p, total, weight, 0, s.left, s.right)
    high_end = low_end
    for code in range(1, <uint32_t> 1 << n_present):
        # one class at a time is added or removed, as in a Gray code
        changed = (code ^ (code >> 1)) ^ ((code - 1) ^ ((code - 1) >> 1))
        j = 0
        while not (changed >> j) & 1:
            j += 1
        k = present[j]
        if ((code ^ (code >> 1)) >> j) & 1:
            s.left[k] += bin[k]
            weight += bin[k]
        else:
            s.left[k] -= bin[k]
            weight -= bin[k]
        gain = group_gain(p, total, weight, 0, s.left, s.right)
        if weight == end:
            high_end = gain
        else:
            most = max(most, gain)
    if n_present == 1:
        most = min(low_end, high_end)
    if p.histogram == WEIGHTS or not within(limits, before.n, before.weight):
        most = max(most, low_end)
    if p.histogram == WEIGHTS or not within(limits, before.n + s.group_n[g], end):
        most = max(most, high_end)
    return most


cdef inline double class_bound(
    const Problem* p, Scratch* s, const Totals* total, int64_t g, const Totals* before, const Bounds* limits, double limit,
) noexcept nogil:
    """No cut inside bin g gains more; corners are tried only if a cheaper bound reaches `limit`."""
    cdef const int64_t* bin = &s.group_stat[g * p.width]
    cdef int64_t weight = total.weight - before.weight - s.group_w[g]
    cdef double bound
    cdef double left = 0
    cdef double right = 0
    cdef int32_t k
    if p.n_classes == 2:
        return corner_bound(p, s, total, g, before, limits)
    for k in range(p.n_classes):
        s.right[k] = total.counts[k] - before.counts[k] - bin[k]
    if p.impurity == MISCLASSIFICATION:
        for k in range(p.n_classes):
            left = max(left, <double> (before.counts[k] + bin[k]) * p.unit)
            right = max(right, <double> (s.right[k] + bin[k]) * p.unit)
    else:
        left = most_of_a_side(p, before.counts, bin, <double> before.weight * p.unit, <double> s.group_w[g] * p.unit)
        right = most_of_a_side(p, s.right, bin, <double> weight * p.unit, <double> s.group_w[g] * p.unit)
    bound = left + right + total.risk
    if p.impurity != ENTROPY:
        bound -= <double> total.weight * p.unit
    if bound < limit:
        return bound
    return min(bound, corner_bound(p, s, total, g, before, limits))


cdef inline double with_margin(double bound, int64_t n, double risk) noexcept nogil:
    """A little more than a bound: what rounding may have taken, and what `corner_bound` needs."""
    return bound + (<double> n + 2) * (2 * RELATIVE_TIE * bound + RISK_TIE * risk) if bound > -INFINITY else bound


cdef struct FeatureBounds:         # of a binned feature; those of each bin are in s.code_bound
    double at_ends                 # largest gain at the end of a bin, if it is known
    double inside                  # no cut inside a bin gains more
    int32_t n_used                 # codes that occur


cdef inline bint has_fast_bounds(const Problem* p, const Scratch* s, int32_t f) noexcept nogil:
    """Two classes or numbers, unweighted, and no value missing of a feature that a threshold divides."""
    cdef const char* cells = histogram_of(p, s.node_histogram, f)
    if form_of(p, f) != ORDERED:
        return False
    if p.histogram == PAIRS and p.impurity == GINI:
        return (<const uint64_t*> cells)[0] == 0
    return p.histogram == MOMENTS and (<const int64_t*> cells)[0] == 0


cdef inline FeatureBounds fast_bounds(
    const Problem* p, const Block* block, Scratch* s, const Totals* total, int32_t f,
) noexcept nogil:
    """The bounds of `class_bound` and `moment_bound` for `has_fast_bounds`; `at_ends` is -INFINITY if no end is admissible.

    Bins of one value each have none.
    """
    cdef FeatureBounds found
    cdef const char* cells = histogram_of(p, s.node_histogram, f)
    cdef const uint8_t* single = block.single_valued + <size_t> f * 256
    cdef const int64_t* moments
    cdef Bounds limits = bounds_of(p, total.n, total.weight, False)
    cdef double n_left[256]
    cdef double left[256]
    cdef double gains[256]
    cdef double spread[256]
    cdef int32_t m = <int32_t> p.n_codes[f]
    cdef int64_t n_min = max(limits.n_min, limits.w_min, 1)
    cdef int64_t n_max = min(limits.n_max, limits.w_max, total.n - 1)
    cdef double n = <double> total.n
    cdef bint with_ends = n_min > 1
    cdef int64_t count = 0
    cdef int64_t sum = 0
    cdef int64_t mean = 0
    cdef double all, scale, size, largest
    cdef uint64_t pair
    cdef int32_t b
    n_left[0] = 0
    left[0] = 0
    found.n_used = 0
    if p.histogram == PAIRS:
        for b in range(1, m):
            pair = (<const uint64_t*> cells)[b]
            count += <int64_t> (pair & <uint64_t> 0xFFFFFFFF)
            sum += <int64_t> (pair >> 32)
            found.n_used += pair != 0
            n_left[b] = <double> count
            left[b] = <double> sum
        all = <double> total.counts[1]
        scale = 2.0 / n
    else:
        mean = total.sum // total.n
        for b in range(1, m):
            moments = <const int64_t*> cells + 4 * b
            count += moments[0]
            sum += moments[1] - mean * moments[0]
            found.n_used += moments[0] != 0
            n_left[b] = <double> count
            left[b] = <double> sum
            size = <double> max(moments[0], 1)
            # rounding may have taken something off the difference
            spread[b] = <double> moments[2] * (1 + 1e-15) - <double> moments[3] * (<double> moments[3] / size)
            spread[b] = (sqrt(max(spread[b], 0.0)) + 0.5 * sqrt(size)) * <double> (<int64_t> 1 << p.coarse_shift) * p.y_unit[0]
        all = <double> (total.sum - mean * total.n)
        scale = p.y_unit[0] * p.y_unit[0] / n
    largest = end_gains(n_left, left, gains, m, n, all, <double> n_min, <double> n_max)
    found.at_ends = largest * scale if largest >= 0 else -INFINITY
    found.inside = -INFINITY
    if not p.binned[f]:
        return found
    if p.histogram == PAIRS:
        pair_bounds(n_left, left, gains, s.code_bound, m, n, all, with_ends)
    else:
        moment_bounds(n_left, gains, spread, s.code_bound, m, n, scale)
    for b in range(1, m):
        size = n_left[b] - n_left[b - 1]
        if size < 2 or single[b]:
            s.code_bound[b] = -INFINITY
            continue
        if p.histogram == PAIRS:
            s.code_bound[b] *= scale
        s.code_bound[b] += (size + 2) * (2 * RELATIVE_TIE * s.code_bound[b] + RISK_TIE * total.risk)
        found.inside = max(found.inside, s.code_bound[b])
    return found


cdef inline double bound_groups(
    const Problem* p, const Block* block, Scratch* s, const Division* division, double limit,
) noexcept nogil:
    """Raise s.code_bound of each bin to what a cut inside it may gain, for bins of several values; returns the largest.

    Below `limit` they may be rough.
    """
    cdef const Totals* total = division.total
    cdef int32_t f = division.feature
    cdef const uint8_t* single = block.single_valued + <size_t> f * 256
    cdef const char* cells = histogram_of(p, s.node_histogram, f)
    cdef Totals before
    cdef double gain_before = 0
    cdef double gain_after, bound
    cdef double largest = -INFINITY
    cdef Bounds limits = bounds_of(p, total.n, total.weight, False)
    cdef int64_t g
    start_before(p, s, division.missing, division.missing_left, &before)
    if p.n_classes == 0:
        gain_before = group_gain(p, total, before.weight, before.sum, NULL, NULL)
    for g in range(division.n_groups):
        bound = -INFINITY
        if p.n_classes:
            if s.group_n[g] > 1 and not single[s.group_code[g]]:
                bound = class_bound(p, s, total, g, &before, &limits, limit)
        else:
            gain_after = group_gain(
                p, total, before.weight + s.group_w[g], before.sum + s.group_stat[g], NULL, NULL
            )
            if s.group_n[g] > 1 and not single[s.group_code[g]]:
                bound = moment_bound(p, total, cells + s.group_code[g] * p.cell_size, before.n, gain_before, gain_after)
            gain_before = gain_after
        add_to_before(p, s, g, &before)
        bound = with_margin(bound, s.group_n[g], total.risk)
        s.code_bound[s.group_code[g]] = max(s.code_bound[s.group_code[g]], bound)
        largest = max(largest, bound)
    return largest


cdef inline void start_before(
    const Problem* p, Scratch* s, const Totals* missing, bint missing_left, Totals* before,
) noexcept nogil:
    """Return what is on the left of the first bin; its counts are s.before."""
    before.counts = s.before
    before.n = missing.n if missing_left else 0
    before.weight = missing.weight if missing_left else 0
    before.sum = missing.sum if missing_left else 0
    if p.n_classes and missing_left:
        memcpy(s.before, missing.counts, p.n_classes * sizeof(int64_t))
    elif p.n_classes:
        memset(s.before, 0, p.n_classes * sizeof(int64_t))


cdef inline void add_to_before(const Problem* p, const Scratch* s, int64_t g, Totals* before) noexcept nogil:
    cdef int32_t k
    before.n += s.group_n[g]
    before.weight += s.group_w[g]
    if p.n_classes == 0:
        before.sum += s.group_stat[g]
    for k in range(p.n_classes):
        before.counts[k] += s.group_stat[g * p.width + k]


cdef inline FeatureBounds bound_codes(
    const Problem* p, const Block* block, Scratch* s, const Totals* total, int32_t f, double limit,
) noexcept nogil:
    """Bounds of every bin of a feature; below `limit` they may be rough.  `at_ends` is -INFINITY unless they are fast ones."""
    cdef FeatureBounds found
    cdef Totals missing
    cdef Division division
    cdef uint32_t code
    if has_fast_bounds(p, s, f):
        return fast_bounds(p, block, s, total, f)
    missing.counts = s.missing
    missing.sum = 0
    division.total = total
    division.missing = &missing
    division.missing_left = False
    division.feature = f
    division.n_groups = groups_from_histogram(p, s, f, &missing)
    for code in range(p.n_codes[f]):
        s.code_bound[code] = -INFINITY
    found.inside = bound_groups(p, block, s, &division, limit)
    if missing.n:
        division.missing_left = True
        found.inside = max(found.inside, bound_groups(p, block, s, &division, limit))
    found.n_used = <int32_t> division.n_groups + (missing.n > 0)
    found.at_ends = -INFINITY
    return found
