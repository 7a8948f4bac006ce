"""Gains of the candidates along a sorted list, a chunk at a time.  Header only.

A sweep moves the samples of a list to the left, one after the other, and notes what is on the left at every candidate.  The
gains of a chunk of candidates are computed together, in a loop that the compiler can make vectors of.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

from fasttree._engine.risk.chords cimport entropy_gains, sweep_entropy
from fasttree._engine.risk.impurity cimport (
    ENTROPY, FIFTH_ROOT, GINI, SQUARED_ERROR, class_risk, deviance_gain, tie_limit,
)
from fasttree._engine.risk.medians cimport gain_of_sides, move_sample
from fasttree._engine.risk.roots cimport fifth_root_gains
from fasttree._engine.risk.vectors cimport deviance_bounds, deviance_reaches, linear_gains
from fasttree._engine.scan.counts cimport add_outputs
from fasttree._engine.scan.cut cimport bounds_of
from fasttree._engine.scan.divisions cimport group_gain
from fasttree._engine.types cimport (
    DEVIANCE, GENERIC, LINEAR, MEDIANS, OUTPUTS, SQUARES, TABLE, Block, Bounds, Chunk, Left, Problem, Scratch, Totals, code_of,
    entry_t, row_of, weight_of,
)
from fasttree._engine.watch cimport interrupted


cdef enum:
    MEDIAN_COST = 32           # cells that take about as long as to move a sample across a median


cdef inline Left start_sweep(
    const Problem* p, const Block* block, Scratch* s, const Totals* total, const Totals* missing, bint missing_left,
) noexcept nogil:
    """The left side before any entry has moved; samples that count 1 have one pair of limits, for weight and number alike."""
    cdef Left at
    cdef int32_t k
    at.total = total
    at.limits = bounds_of(p, total.n, total.weight, False)
    if block.weight == NULL:
        at.limits.n_min = max(at.limits.n_min, at.limits.w_min)
        at.limits.n_max = min(at.limits.n_max, at.limits.w_max)
    at.weight = missing.weight if missing_left else 0
    at.before = missing.n if missing_left else 0
    at.first = missing.n
    at.next = missing.n
    at.sum = 0
    at.squares = 0
    at.squares_right = 0
    at.table = 0
    at.table_right = 0
    at.mean = 0
    if p.n_counts == 0:
        if p.sweep == LINEAR and block.weight == NULL:
            at.mean = total.sum // total.n
        if missing_left:
            at.sum = missing.sum - at.mean * missing.n
        return at
    for k in range(p.n_counts):
        s.left[k] = missing.counts[k] if missing_left else 0
        s.right[k] = total.counts[k] - s.left[k]
        if p.sweep == SQUARES or has_output_squares(p, block):
            at.squares += s.left[k] * s.left[k]
            at.squares_right += s.right[k] * s.right[k]
        elif p.sweep == TABLE:
            at.table += p.xlogx[s.left[k]]
            at.table_right += p.xlogx[s.right[k]]
    if p.sweep == LINEAR:
        at.sum = s.left[1]
    return at


# Each sweep moves the entries before `stop` to the left, one after the other, and notes the candidates: positions whose
# follower has another code (and that the weight limits admit).  It returns their number.  The fast ones write every entry, and
# keep a candidate by moving on.

cdef inline int64_t sweep_linear(
    const Problem* p, const Block* block, Scratch* s, Left* at, const entry_t* entries, int64_t stop,
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
    cdef const Totals* all = at.total
    cdef const Bounds* limits = &at.limits
    cdef int64_t sum_all = all.counts[1] if p.n_classes else all.sum
    cdef int64_t right
    cdef int64_t m = 0
    cdef int64_t j
    cdef uint32_t row
    cdef bint lighter
    if weight != NULL:
        for j in range(at.next, stop):
            row = row_of(entries[j])
            total += weight[row]
            sum += weight[row] * label[row] if p.n_classes else ysum[row]
            right = all.weight - total
            lighter = right < total or (right == total and sum_all - sum < sum)
            positions[m] = <int32_t> j
            a[m] = <double> (sum_all - sum if lighter else sum)
            b[m] = <double> (right if lighter else total)
            m += (code_of(entries[j]) != code_of(entries[j + 1])) & (total >= limits.w_min) & (total <= limits.w_max)
    elif p.n_classes:
        for j in range(at.next, stop):
            sum += label[row_of(entries[j])]
            positions[m] = <int32_t> j
            a[m] = <double> sum
            m += code_of(entries[j]) != code_of(entries[j + 1])
    else:
        for j in range(at.next, stop):
            sum += ysum[row_of(entries[j])] - mean
            positions[m] = <int32_t> j
            a[m] = <double> sum
            m += code_of(entries[j]) != code_of(entries[j + 1])
    at.sum = sum
    at.weight = total
    at.next = stop
    return m


cdef inline int64_t sweep_squares(
    const Block* block, Scratch* s, Left* at, const entry_t* entries, int64_t stop,
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
    for j in range(at.next, stop):
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
    at.next = stop
    return m


cdef inline int64_t sweep_table(
    const Problem* p, const Block* block, Scratch* s, Left* at, const entry_t* entries, int64_t stop,
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
    cdef int64_t n_all = at.total.n
    cdef int64_t m = 0
    cdef int64_t j, count, n_left
    cdef uint32_t k
    for j in range(at.next, stop):
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
    at.next = stop
    return m


cdef inline void move_one(
    const Problem* p, const Block* block, Scratch* s, Left* at, int32_t kind, uint32_t row, int64_t weight,
) noexcept nogil:
    """Move a sample to the left."""
    cdef uint32_t k
    at.weight += weight
    if kind == DEVIANCE:
        at.sum += block.ysum[row]
    elif kind == MEDIANS:
        move_sample(p, row, 1)
    elif kind == OUTPUTS:
        add_outputs(p, block, s.left, row, weight)
    else:
        k = block.label[row]
        s.left[k] += weight
        s.right[k] -= weight


cdef inline double statistic(const Problem* p, Scratch* s, Left* at, int32_t kind) noexcept nogil:
    """The gain of a cut here; from class weights of one target the risk that remains."""
    if kind == DEVIANCE:
        return deviance_gain(at.total.weight, at.total.sum, at.weight, at.sum) * p.y_unit[0]
    if kind == MEDIANS:
        return gain_of_sides(p)
    if kind == OUTPUTS:
        return group_gain(p, at.total, at.weight, 0, s.left, s.right)
    return class_risk(p.impurity, s.left, p.n_classes, p.unit) + class_risk(p.impurity, s.right, p.n_classes, p.unit)


cdef inline int64_t sweep_samples(
    const Problem* p, const Block* block, Scratch* s, Left* at, int32_t kind, const entry_t* entries, int64_t stop,
) noexcept nogil:
    """a = the `statistic`, for sweeps that have no short cut."""
    cdef int64_t m = 0
    cdef int64_t j
    cdef uint32_t row
    if interrupted(s.watch, (stop - at.next) * (MEDIAN_COST if kind == MEDIANS else p.width)):
        return 0
    for j in range(at.next, stop):
        row = row_of(entries[j])
        move_one(p, block, s, at, kind, row, weight_of(block, row))
        if code_of(entries[j]) == code_of(entries[j + 1]) or j + 1 - at.first + at.before < at.limits.n_min:
            continue
        if block.weight != NULL and not at.limits.w_min <= at.weight <= at.limits.w_max:
            continue
        s.positions[m] = <int32_t> j
        s.a[m] = statistic(p, s, at, kind)
        m += 1
    at.next = stop
    return m


cdef inline int64_t sweep_output_squares(
    const Problem* p, const Block* block, Scratch* s, Left* at, const entry_t* entries, int64_t stop,
) noexcept nogil:
    """`sweep_squares` for the classes of several targets, whose squares are added up."""
    cdef int32_t n_outputs = p.n_outputs
    cdef const uint16_t* label
    cdef int64_t* left = s.left
    cdef int64_t* right = s.right
    cdef int32_t* positions = s.positions
    cdef double* a = s.a
    cdef double* b = s.b
    cdef int64_t squares = at.squares
    cdef int64_t squares_right = at.squares_right
    cdef int64_t m = 0
    cdef int64_t j, count
    cdef int32_t o
    cdef uint32_t k
    for j in range(at.next, stop):
        label = block.label + <size_t> row_of(entries[j]) * n_outputs
        for o in range(n_outputs):
            k = label[o]
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
    at.next = stop
    return m


cdef inline int64_t sweep_output_sums(
    const Problem* p, const Block* block, Scratch* s, Left* at, const entry_t* entries, int64_t stop,
) noexcept nogil:
    """a = the gain times n_left n_right, from the linear statistics of several numeric targets (see linear_gain)."""
    cdef const Totals* total = at.total
    cdef double n = <double> total.weight
    cdef int64_t n_before = at.next - at.first + at.before
    cdef int64_t start = at.next
    cdef int64_t m = 0
    cdef int64_t j, base, sum
    cdef double rest, d, scale
    cdef size_t n_outputs = p.n_outputs
    cdef int32_t* positions = s.positions
    cdef double* a = s.a
    cdef double* b = s.b
    cdef const int64_t* ysum
    cdef size_t o
    for o in range(n_outputs):
        ysum = block.ysum + o
        base = total.counts[o] // total.n
        rest = <double> (total.counts[o] - base * total.n)
        sum = s.left[o] - base * n_before
        scale = p.y_unit[o] * p.y_unit[o] / n / p.unit / <double> n_outputs
        for j in range(start, stop):
            sum += ysum[row_of(entries[j]) * n_outputs] - base
            d = n * <double> sum - rest * <double> (n_before + 1 + j - start)
            b[j - start] = (b[j - start] if o else 0.0) + d * d * scale
        s.left[o] = sum + base * (n_before + stop - start)
    for j in range(start, stop):
        positions[m] = <int32_t> j
        a[m] = b[j - start]
        m += code_of(entries[j]) != code_of(entries[j + 1])
    at.next = stop
    return m


cdef inline int64_t sweep_events(
    const Problem* p, const Block* block, Scratch* s, Left* at, const entry_t* entries, int64_t stop,
) noexcept nogil:
    """Poisson, samples that count 1: a = the sum on the left, less n_left times the node's mean, rounded down."""
    cdef const int64_t* ysum = block.ysum
    cdef int64_t base = at.total.sum // at.total.n
    cdef int64_t sum = at.sum - base * (at.next - at.first + at.before)
    cdef int64_t of_first = base * (at.before - at.first + 1)
    cdef int32_t* positions = s.positions
    cdef double* a = s.a
    cdef int64_t* exact = <int64_t*> s.b           # the sum itself, which may have more digits than a double
    cdef int64_t m = 0
    cdef int64_t j
    for j in range(at.next, stop):
        sum += ysum[row_of(entries[j])] - base
        positions[m] = <int32_t> j
        a[m] = <double> sum
        exact[m] = sum + of_first + base * j
        m += code_of(entries[j]) != code_of(entries[j + 1])
    at.sum = sum + base * (stop - at.first + at.before)
    at.next = stop
    return m


cdef inline bint pass_events(
    const Problem* p, const Block* block, Scratch* s, Left* at, const entry_t* entries, int64_t stop, double at_least,
) noexcept nogil:
    """Move the entries before `stop` to the left if no cut there may gain `at_least`, as far as a bound says so."""
    cdef const int64_t* ysum = block.ysum
    cdef const Totals* total = at.total
    cdef int64_t base = total.sum // total.n
    cdef double rest = <double> (total.sum - base * total.n)
    cdef int64_t before = at.next - at.first + at.before
    cdef int64_t sum = at.sum - base * before
    cdef double* a = s.a
    cdef int64_t most = 0
    cdef int64_t j
    if not at_least > 0:
        return False
    entries += at.next
    for j in range(stop - at.next):
        sum += ysum[row_of(entries[j])] - base
        a[j] = <double> sum
        most = max(most, sum if sum > 0 else -sum)
    if deviance_reaches(a, stop - at.next, <double> most, <double> before, <double> total.n, rest,
                        <double> base + rest / <double> total.n, p.y_unit[0], at_least):
        return False
    at.sum = sum + base * (stop - at.first + at.before)
    at.next = stop
    return True


cdef inline bint has_moments(const Problem* p) noexcept nogil:
    return p.sweep == OUTPUTS and p.impurity == FIFTH_ROOT and p.n_outputs == 2 and not p.weighted


cdef inline int64_t sweep_moments(
    const Block* block, Scratch* s, Left* at, const entry_t* entries, int64_t stop,
) noexcept nogil:
    """Fifth root of the variance of one target, samples that count 1: a, b = the sums of targets and of squares, as integers."""
    cdef const int64_t* ysum = block.ysum
    cdef int64_t sum = s.left[0]
    cdef int64_t square = s.left[1]
    cdef int32_t* positions = s.positions
    cdef int64_t* a = <int64_t*> s.a
    cdef int64_t* b = <int64_t*> s.b
    cdef int64_t m = 0
    cdef int64_t j
    cdef size_t place
    for j in range(at.next, stop):
        place = <size_t> row_of(entries[j]) * 2
        sum += ysum[place]
        square += ysum[place + 1]
        positions[m] = <int32_t> j
        a[m] = sum
        b[m] = square
        m += code_of(entries[j]) != code_of(entries[j + 1])
    s.left[0] = sum
    s.left[1] = square
    at.next = stop
    return m


cdef inline bint has_output_squares(const Problem* p, const Block* block) noexcept nogil:
    """Do the class counts of several targets have a running sum of squares that fits into 64 bits?"""
    return (
        p.sweep == OUTPUTS and p.impurity == GINI and not p.weighted
        and <double> block.n * <double> block.n * p.n_outputs < 4e18
    )


cdef inline bint has_output_sums(const Problem* p) noexcept nogil:
    return p.sweep == OUTPUTS and p.impurity == SQUARED_ERROR and not p.weighted


cdef inline int64_t sweep_known(const Problem* p, Scratch* s, Left* at, const entry_t* entries, int64_t stop) noexcept nogil:
    """a = the gain, known from `along`."""
    cdef const double* gain = p.parts.gain
    cdef int32_t* positions = s.positions
    cdef double* a = s.a
    cdef int64_t m = 0
    cdef int64_t j
    for j in range(at.next, stop):
        positions[m] = <int32_t> j
        a[m] = gain[j]
        m += code_of(entries[j]) != code_of(entries[j + 1])
    at.next = stop
    return m


cdef inline int64_t sweep(
    const Problem* p, const Block* block, Scratch* s, Left* at, const entry_t* entries, int64_t stop,
) noexcept nogil:
    if p.sweep == LINEAR:
        return sweep_linear(p, block, s, at, entries, stop)
    if p.sweep == SQUARES:
        return sweep_squares(block, s, at, entries, stop)
    if p.sweep == TABLE:
        return sweep_table(p, block, s, at, entries, stop)
    if p.sweep == DEVIANCE and not p.weighted:
        return sweep_events(p, block, s, at, entries, stop)
    if has_output_squares(p, block):
        return sweep_output_squares(p, block, s, at, entries, stop)
    if has_output_sums(p):
        return sweep_output_sums(p, block, s, at, entries, stop)
    if has_moments(p):
        return sweep_moments(block, s, at, entries, stop)
    if p.sweep == DEVIANCE:            # the kind is a constant, so that the compiler makes a loop of each
        return sweep_samples(p, block, s, at, DEVIANCE, entries, stop)
    if p.sweep == MEDIANS and p.parts.has_gains:
        return sweep_known(p, s, at, entries, stop)
    if p.sweep == MEDIANS:
        return sweep_samples(p, block, s, at, MEDIANS, entries, stop)
    if p.sweep == OUTPUTS:
        return sweep_samples(p, block, s, at, OUTPUTS, entries, stop)
    if p.impurity == ENTROPY:
        return sweep_entropy(p, block, s, at, entries, stop)
    return sweep_samples(p, block, s, at, GENERIC, entries, stop)


cdef inline double deviance_gains(
    const Problem* p, Scratch* s, const Totals* total, int64_t m, int64_t offset, double at_least,
) noexcept nogil:
    """Poisson gains of the candidates that may reach `at_least`, or the largest found here; minus infinity for the others."""
    cdef double n = <double> total.n
    cdef double scale = p.y_unit[0]
    cdef double rest = <double> (total.sum - total.sum // total.n * total.n)
    cdef double mean = <double> (total.sum // total.n) + rest / n
    cdef double largest = -INFINITY
    cdef const int64_t* exact = <const int64_t*> s.b
    cdef double* gains = s.gains
    cdef int64_t j
    deviance_bounds(s.a, s.positions, gains, m, <double> offset, n, rest, mean, scale)
    for j in range(m):
        if gains[j] < at_least:
            gains[j] = -INFINITY
            continue
        gains[j] = deviance_gain(total.n, total.sum, s.positions[j] + offset, exact[j]) * scale
        if gains[j] > largest:
            largest = gains[j]
            at_least = max(at_least, tie_limit(largest, total.risk))
    return largest


cdef inline double gains_of_chunk(
    const Problem* p, const Block* block, Scratch* s, Left* at, const entry_t* entries, const Chunk* chunk, double at_least,
) noexcept nogil:
    """Write the gain of every candidate of a chunk; returns the largest.  No split loses: below 0 is rounding.

    A sweep whose gains take long may leave out those below `at_least`, which are minus infinity then; if all are, none is there.
    """
    cdef const Totals* total = at.total
    cdef double n_all = <double> total.weight
    cdef double largest = -INFINITY
    cdef double stat, scale, n_left, base, least, n_outputs
    cdef int64_t offset = 1 - at.first + at.before
    cdef int64_t m = chunk.n
    cdef const int32_t* positions = s.positions
    cdef double* a = s.a
    cdef double* b = s.b
    cdef double* gains = s.gains
    cdef bint is_risk
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
            a, NULL if block.weight == NULL else b, positions, gains, m, <double> offset, n_all, stat, scale
        )
    if p.sweep == SQUARES or has_output_squares(p, block):
        base = 0
        for k in range(p.n_classes):
            base += <double> total.counts[k] * <double> total.counts[k]
        base /= n_all
        n_outputs = <double> p.n_outputs
        for j in range(m):
            n_left = <double> (positions[j] + offset)
            gains[j] = max((a[j] / n_left + b[j] / (n_all - n_left) - base) / n_outputs, 0.0)
            largest = max(largest, gains[j])
    elif has_output_sums(p):
        for j in range(m):
            n_left = <double> (positions[j] + offset)
            gains[j] = a[j] / (n_left * (n_all - n_left))
            largest = max(largest, gains[j])
    elif p.sweep == DEVIANCE and not p.weighted:
        return deviance_gains(p, s, total, m, offset, at_least)
    elif has_moments(p):
        return fifth_root_gains(p, s, total, m, offset, at_least)
    elif p.sweep == GENERIC and p.impurity == ENTROPY:
        return entropy_gains(p, block, s, at, entries, chunk, at_least)
    else:                              # what is left of the risk, or the gain itself
        is_risk = p.sweep == TABLE or p.sweep == GENERIC
        base = total.risk if is_risk else 0
        scale = p.xlogx_unit if p.sweep == TABLE else -1.0 if is_risk else 1.0
        least = 0 if is_risk else -INFINITY
        for j in range(m):
            gains[j] = max(base + a[j] * scale, least)
            largest = max(largest, gains[j])
    return largest
