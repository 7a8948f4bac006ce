"""Stretches of a sorted list in which no cut can win are passed over.  Header only.

The weights of two classes, or the sums of targets, are added up to the ends of stretches first, in a fraction of the time of
gains.  A cut inside a stretch puts some of its samples on the left, so that the bounds of bins hold: see `bounds`.  Of several
targets the gain is the mean, and so is the bound.  Gains are computed cut by cut only where the bound reaches the best end.
"""

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from fasttree._engine.risk.impurity cimport ENTROPY, GINI, SQUARED_ERROR, class_risk, tie_limit
from fasttree._engine.risk.release8 cimport in_single, single_slack
from fasttree._engine.risk.vectors cimport bound_pairs, end_gains, moment_bounds, pair_bounds
from fasttree._engine.scan.cut cimport Division, apart
from fasttree._engine.scan.sweeps cimport has_output_squares
from fasttree._engine.types cimport (
    CHUNK, LINEAR, MOST_ENDS, TABLE, Block, Left, Problem, Scratch, Totals, code_of, entry_t, row_of,
)


cdef enum:
    STRETCHES = MOST_ENDS - 1  # at most: their ends and the start
    SHORTEST = 32              # samples
    FEWEST = 4                 # stretches for which it pays


cdef struct Stretches:         # of the candidates of a list; the rest is in the scratch
    int64_t n                  # 0: gains are computed everywhere
    int64_t first              # list position of the first candidate, and behind the last
    int64_t stop
    int64_t length
    int64_t searched           # where a run of stretches ends whose gains are computed
    double least               # no smaller gain is the best of the list, or equal to it


cdef inline bint has_stretches(const Problem* p) noexcept nogil:
    """Is there a bound of stretches for these gains, and does it take less time than these?"""
    cdef int32_t o
    if p.random or p.monotone != NULL:
        return False
    if p.n_classes == 0:
        return p.n_outputs > 1 and p.impurity == SQUARED_ERROR and not p.weighted
    for o in range(p.n_outputs):
        if p.first_class[o + 1] - p.first_class[o] != 2:
            return False
    return p.impurity == ENTROPY or (p.impurity == GINI and (p.n_outputs > 1 or p.weighted))


cdef inline bint has_signed_weights(const Problem* p) noexcept nogil:
    """Is the class of a sample written into its weight?

    That is one look-up, where a node searches all features at once and several of them have lists.
    """
    cdef bint fits = p.weighted and p.n_classes == 2 and p.n_outputs == 1
    return fits and p.several_lists and p.stretches and not p.lazy and not p.histogram


cdef inline void sign_weights(const Block* block, Scratch* s, const uint32_t* rows, int64_t n) noexcept nogil:
    """Write the weights of a node's samples, with the class as the sign."""
    cdef int64_t i
    for i in range(n):
        s.signed_weight[rows[i]] = block.weight[rows[i]] if block.label[rows[i]] else -block.weight[rows[i]]


cdef inline int64_t first_sum(const Problem* p, const Scratch* s, const Left* at, int32_t o) noexcept nogil:
    """What is on the left at the start: the weight of a target's second class, or the sum of a target."""
    if p.sweep == LINEAR:
        return at.sum
    return s.left[2 * o + 1] if p.n_classes else s.left[o]


cdef inline bint is_cut(
    const Problem* p, const Block* block, const entry_t* entries, int32_t f, int64_t j,
) noexcept nogil:
    """Is there a candidate after entry j, but for limits on its sides?"""
    cdef uint32_t code = code_of(entries[j])
    cdef uint32_t after = code_of(entries[j + 1])
    return code != after and (
        not in_single(p) or p.exact[f].data == NULL
        or apart(p, block, f, code, row_of(entries[j]), after, row_of(entries[j + 1]))
    )


cdef inline int64_t count_cuts(
    const Problem* p, const Block* block, const entry_t* entries, int32_t f, int64_t start, int64_t stop,
) noexcept nogil:
    """How many candidates are after the entries start, ..., stop - 1?"""
    cdef int32_t n = 0
    cdef int64_t j
    if in_single(p) and p.exact[f].data != NULL:
        for j in range(start, stop):
            n += is_cut(p, block, entries, f, j)
    else:
        for j in range(start, stop):
            n += code_of(entries[j]) != code_of(entries[j + 1])
    return n


cdef inline int64_t start_of(const Stretches* g, int64_t t) noexcept nogil:
    return min(g.first + t * g.length, g.stop)


cdef inline void start_sums(const Problem* p, const Block* block, Scratch* s, const Left* at, const Stretches* g) noexcept nogil:
    """What is on the left of the first stretch; of samples that count 1 also the weight at all ends."""
    cdef int64_t t
    cdef int32_t o
    s.stretch_weight[0] = at.weight
    for t in range(g.n + 1 if block.weight == NULL else 0):
        s.stretch_weight[t] = start_of(g, t) - at.first + at.before
    for o in range(p.n_outputs):
        s.stretch_sum[o * MOST_ENDS] = first_sum(p, s, at, o)


cdef inline void add_up(
    const Problem* p, const Block* block, Scratch* s, const Left* at, const int32_t* rows, int64_t n, int64_t t,
) noexcept nogil:
    """Add samples to the sums at end t: the weight of each second class, or each target.

    The squares of the differences of targets from the mean of the node are added up, too.
    """
    cdef size_t step = p.n_outputs
    cdef int64_t sum, weight, w, j, base
    cdef double d, squares
    cdef int32_t o
    for o in range(p.n_outputs):
        sum = 0
        if p.n_classes == 0:
            base = at.total.counts[o] // at.total.n
            squares = 0
            for j in range(n):
                w = block.ysum[<size_t> rows[j] * step + o] - base
                d = <double> w
                sum += w
                squares += d * d
            sum += base * n
            s.stretch_spread[o * MOST_ENDS + t] += squares
        elif block.weight == NULL:
            for j in range(n):
                sum += block.label[<size_t> rows[j] * step + o] & 1
        else:
            weight = 0
            for j in range(n):
                w = block.weight[rows[j]]
                weight += w
                sum += w & -<int64_t> (block.label[<size_t> rows[j] * step + o] & 1)
            if o == 0:
                s.stretch_weight[t] += weight
        s.stretch_sum[o * MOST_ENDS + t] += sum


cdef inline void add_up_signed(Scratch* s, const entry_t* entries, int64_t n, int64_t t) noexcept nogil:
    """The same for one target, by weights that have the class as their sign."""
    cdef const int64_t* signed_weight = s.signed_weight
    cdef int64_t weight = 0
    cdef int64_t sum = 0
    cdef int64_t w, j
    for j in range(n):
        w = signed_weight[row_of(entries[j])]
        weight += w if w > 0 else -w
        sum += w
    s.stretch_weight[t] += weight
    s.stretch_sum[t] += (weight + sum) // 2


cdef inline void add_up_entries(
    const Problem* p, const Block* block, Scratch* s, const Left* at, const entry_t* entries, int64_t n, int64_t t,
) noexcept nogil:
    """Add the samples of a piece of a list, at most CHUNK at once."""
    cdef int32_t* rows = s.positions       # C would read it again for each entry
    cdef int64_t start = 0
    cdef int64_t m, j
    while start < n:
        m = min(n - start, <int64_t> CHUNK)
        for j in range(m):
            rows[j] = <int32_t> row_of(entries[start + j])
        add_up(p, block, s, at, rows, m, t)
        start += m


cdef inline double entropy_at(const Problem* p, const Scratch* s, const Totals* total, int64_t t) noexcept nogil:
    """The entropy gain of a cut at end t: the mean of the targets, which have two classes each."""
    cdef double risks = 0
    cdef int64_t pair[2]
    cdef int32_t o
    for o in range(p.n_outputs):
        pair[1] = s.stretch_sum[o * MOST_ENDS + t]
        pair[0] = s.stretch_weight[t] - pair[1]
        risks += class_risk(ENTROPY, pair, 2, p.unit)
        pair[1] = total.counts[2 * o + 1] - pair[1]
        pair[0] = total.counts[2 * o] - pair[0]
        risks += class_risk(ENTROPY, pair, 2, p.unit)
    return total.risk - risks / p.n_outputs


cdef inline void bound_entropy(const Problem* p, Scratch* s, const Left* at, const Stretches* g, int32_t o) noexcept nogil:
    """Add bounds of the gains at the ends, and in the stretches, of a target of two classes."""
    cdef const int64_t* sums = s.stretch_sum + o * MOST_ENDS
    cdef const int64_t* weights = s.stretch_weight
    cdef double scale = 1.0 / <double> at.total.weight
    cdef double share = <double> at.total.counts[2 * o + 1] * scale
    cdef double unit = <double> at.total.weight * p.unit / p.n_outputs
    cdef int64_t t
    if at.total.counts[2 * o] == 0 or at.total.counts[2 * o + 1] == 0:
        return
    for t in range(g.n + 1):
        s.a[t] = <double> sums[t] * scale
        s.b[t] = <double> (weights[t] - sums[t]) * scale
    bound_pairs(s.a, s.b, s.gains, g.n + 1, share, unit)
    bound_pairs(s.a + 1, s.b, s.stretch_rough, g.n, share, unit)
    bound_pairs(s.a, s.b + 1, s.stretch_spread, g.n, share, unit)
    for t in range(g.n):
        s.stretch_gain[t + 1] += s.gains[t + 1]
        s.stretch_bound[t + 1] += max(max(s.gains[t], s.gains[t + 1]), max(s.stretch_rough[t], s.stretch_spread[t]))


cdef inline void bound_squares(const Problem* p, Scratch* s, const Left* at, const Stretches* g, int32_t o) noexcept nogil:
    """The same by the Gini index, or of a numeric target by squared error."""
    cdef const int64_t* sums = s.stretch_sum + o * MOST_ENDS
    cdef double n = <double> at.total.weight
    cdef int64_t base = 0 if p.n_classes else at.total.counts[o] // at.total.n
    cdef double total, scale
    cdef double* bounds = s.stretch_rough
    cdef double* spread = s.stretch_spread + o * MOST_ENDS
    cdef int64_t t
    for t in range(g.n + 1):
        s.a[t] = <double> s.stretch_weight[t]
        s.b[t] = <double> (sums[t] - base * s.stretch_weight[t])
    if p.n_classes:
        total = <double> at.total.counts[2 * o + 1]
        scale = 2.0 / n * p.unit / p.n_outputs
    else:
        total = <double> (at.total.counts[o] - base * at.total.n)
        scale = p.y_unit[o] * p.y_unit[o] / n / p.unit
        for t in range(1, g.n + 1):
            # rounding may have taken something off the difference
            spread[t] = sqrt(max(spread[t] * (1 + 1e-12) - (s.b[t] - s.b[t - 1]) * (
                (s.b[t] - s.b[t - 1]) / (s.a[t] - s.a[t - 1])), 0.0)) * sqrt(scale * n)
    end_gains(s.a, s.b, s.gains, <int> g.n + 1, n, total, 0, n)
    if p.n_classes:
        pair_bounds(s.a, s.b, s.gains, bounds, <int> g.n + 1, n, total, True)
    else:
        moment_bounds(s.a, s.gains, spread, bounds, <int> g.n + 1, n, scale)
        scale /= p.n_outputs
    for t in range(1, g.n + 1):
        s.stretch_gain[t] += s.gains[t] * scale
        s.stretch_bound[t] += bounds[t] * (scale if p.n_classes else 1.0 / p.n_outputs)


cdef inline void mark_stretches(
    const Problem* p, const Block* block, Scratch* s, const Left* at, Stretches* g, const Division* division,
) noexcept nogil:
    """Bounds become INFINITY where gains must be computed, else 0, or minus infinity where there are no candidates.

    Gains at ends that are no cuts are negative.  Those of entropy are bounds: the end of the largest has about the largest gain.
    """
    cdef const Totals* total = at.total
    cdef double weight = <double> total.weight * p.unit
    cdef double rounding = 1e-13 * (weight + total.risk if p.n_classes else total.risk)
    cdef double least = -INFINITY
    cdef const int64_t* weights = s.stretch_weight
    cdef int64_t w_min = at.limits.w_min if block.weight != NULL else 0
    cdef int64_t w_max = at.limits.w_max if block.weight != NULL else total.weight
    cdef int64_t best = 0
    cdef int64_t t
    for t in range(1, g.n + 1):
        if w_min <= weights[t] <= w_max and s.stretch_gain[t] > least:
            least = s.stretch_gain[t]
            best = t
    if best:
        if p.impurity == ENTROPY:
            least = entropy_at(p, s, total, best)
        least = tie_limit(least - (1e-9 * least + rounding), total.risk)
        g.least = least
        least -= single_slack(p, total) if in_single(p) else 0.0
    if not in_single(p):
        least = max(least, max(division.known, division.at_least))
    least -= rounding
    for t in range(g.n):
        if weights[t + 1] < w_min or weights[t] > w_max:
            s.stretch_bound[t + 1] = -INFINITY
        elif weights[t] < w_min or weights[t + 1] > w_max or s.stretch_bound[t + 1] * (1 + 1e-9) >= least:
            s.stretch_bound[t + 1] = INFINITY
        else:
            s.stretch_bound[t + 1] = 0


cdef inline void bound_stretches(
    const Problem* p, const Block* block, Scratch* s, const Left* at, Stretches* g, const Division* division,
) noexcept nogil:
    """Find the stretches in which gains must be computed, from the sums at their ends."""
    cdef int32_t o
    memset(s.stretch_bound, 0, (g.n + 1) * sizeof(double))
    for o in range(p.n_outputs):
        if p.impurity == ENTROPY:
            bound_entropy(p, s, at, g, o)
        else:
            bound_squares(p, s, at, g, o)
    mark_stretches(p, block, s, at, g, division)


cdef inline Stretches divide_list(
    const Problem* p, const Block* block, Scratch* s, const Left* at, const entry_t* entries, int64_t high,
    const Division* division,
) noexcept nogil:
    """Bound the gains of the candidates from the next entry of a sweep up to position `high`."""
    cdef Stretches g
    cdef int64_t n = high + 1 - at.next
    cdef int64_t t, start, stop
    cdef int32_t o
    g.n = 0
    g.least = -INFINITY
    g.first = at.next
    g.stop = high + 1
    g.searched = at.next
    g.length = max(SHORTEST, (n + STRETCHES - 1) // STRETCHES)
    if not p.stretches or n < FEWEST * SHORTEST or division.only >= 0:
        return g
    g.n = (n + g.length - 1) // g.length
    start_sums(p, block, s, at, &g)
    stop = g.first
    for t in range(1, g.n + 1):
        s.stretch_weight[t] = s.stretch_weight[t - 1] if block.weight != NULL else s.stretch_weight[t]
        for o in range(p.n_outputs):
            s.stretch_sum[o * MOST_ENDS + t] = s.stretch_sum[o * MOST_ENDS + t - 1]
            s.stretch_spread[o * MOST_ENDS + t] = 0
        start = stop
        stop = start_of(&g, t)
        if s.signed_weight != NULL:
            add_up_signed(s, entries + start, stop - start, t)
        else:
            add_up_entries(p, block, s, at, entries + start, stop - start, t)
        s.stretch_gain[t] = 0 if is_cut(p, block, entries, division.feature, stop - 1) else -INFINITY
    bound_stretches(p, block, s, at, &g, division)
    return g


cdef inline void put_before(
    const Problem* p, const Block* block, Scratch* s, Left* at, const Stretches* g, int64_t t,
) noexcept nogil:
    """Put all samples before a stretch on the left."""
    cdef int64_t weight = s.stretch_weight[t]
    cdef int64_t sum
    cdef int32_t k
    at.next = start_of(g, t)
    at.weight = weight
    if p.sweep == LINEAR:
        at.sum = s.stretch_sum[t]
        return
    at.squares = 0
    at.squares_right = 0
    for k in range(p.n_counts):
        sum = s.stretch_sum[(k // 2 if p.n_classes else k) * MOST_ENDS + t]
        s.left[k] = weight - sum if p.n_classes and k % 2 == 0 else sum
        s.right[k] = at.total.counts[k] - s.left[k]
        if has_output_squares(p, block):
            at.squares += s.left[k] * s.left[k]
            at.squares_right += s.right[k] * s.right[k]
    if p.sweep == TABLE:
        at.table = p.xlogx[s.left[0]] + p.xlogx[s.left[1]]
        at.table_right = p.xlogx[s.right[0]] + p.xlogx[s.right[1]]


cdef inline int64_t pass_over(
    const Problem* p, const Block* block, Scratch* s, Left* at, const entry_t* entries, Stretches* g, Division* division,
) noexcept nogil:
    """Go on to the next stretch in which gains are computed; returns where it, and those that follow it, end."""
    cdef int64_t t = (at.next - g.first + g.length - 1) // g.length
    if at.next < g.searched or g.n == 0:
        return g.searched if g.n else g.stop
    while t < g.n and s.stretch_bound[t + 1] < INFINITY:
        t += 1
        if p.release8 and s.stretch_bound[t] == 0:
            division.tries += count_cuts(p, block, entries, division.feature, start_of(g, t - 1), start_of(g, t))
    put_before(p, block, s, at, g, t)
    while t < g.n and s.stretch_bound[t + 1] == INFINITY:
        t += 1
    g.searched = start_of(g, t)
    return g.searched
