"""Entropy gains of samples with weights, of a chunk of candidates, from chords of the logarithm.  Header only.

Logarithms at every cut would take most of the time.  Chords tell the gains up to a few millionths, and only those of cuts that
may win are computed exactly.
Between two neighbouring powers of two, 256 chords lie below the logarithm, by at most 1 / (8 x 256^2 x ln 2).
"""

from libc.math cimport INFINITY, log2
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

from fasttree._engine.risk.impurity cimport ENTROPY, class_risk, tie_limit
from fasttree._engine.risk.release8 cimport in_single, single_slack
from fasttree._engine.types cimport (
    Block, Bounds, Chunk, Left, Problem, Scratch, Totals, code_of, entry_t, row_of, weight_of,
)


cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #define FASTTREE_CHORDS 256
    #define FASTTREE_CHORD_ERROR 2.8e-6   /* more than the chords and the rounding of sums of them leave out */

    /* x log2 x or less, by at most CHORD_ERROR x: the bits of a double show its exponent, and the chord of its digits. */
    static inline double fasttree_below_xlogx(double x, const double *chords)
    {
        uint64_t bits, digits;
        double mantissa;
        const double *chord;
        memcpy(&bits, &x, sizeof bits);
        chord = chords + 2 * (bits >> 44 & (FASTTREE_CHORDS - 1));
        digits = (bits & 0xFFFFFFFFFFFFFu) | 0x3FF0000000000000u;
        memcpy(&mantissa, &digits, sizeof mantissa);
        return x * ((double) (int32_t) (bits >> 52) + (chord[0] + chord[1] * mantissa));
    }

    /* Whether the gain of one of n cuts of two classes may reach `least`, in nats where all weight is 1.  x, y = weight on the
       left, and that of class 1; `share` is class 1's in all.  The divergence of a side from the whole is the integral of
       1 / (t (1 - t)), which is convex, with weights that fall to 0: no more than a third of it at the side's share and two
       thirds at the whole's, times half the square of their difference.  Sides of one class are thought to reach anything. */
    static int fasttree_pairs_reach(const double *x, const double *y, int64_t n, double share, double least)
    {
        const double whole = 1 / (3 * share * (1 - share));
        double most = -1;
        int64_t j;
        #pragma omp simd reduction(max:most)
        for (j = 0; j < n; j++) {
            double right = 1 - x[j], d = y[j] - share * x[j], sides = x[j] * right;
            double of_left = y[j] * (x[j] - y[j]), of_right = (share - y[j]) * (1 - share - (x[j] - y[j])), more;
            of_left = of_left > 0 ? of_left : 0;
            of_right = of_right > 0 ? of_right : 0;
            more = d * d * (whole * of_left * of_right + sides * (x[j] * of_right + right * of_left) * (1.0 / 6))
                - least * sides * of_left * of_right;
            most = more > most ? more : most;
        }
        return most >= 0;
    }
    """
    bint pairs_reach "fasttree_pairs_reach"(
        const double* x, const double* y, int64_t n, double share, double least) noexcept nogil
    enum: CHORDS "FASTTREE_CHORDS"
    const double CHORD_ERROR "FASTTREE_CHORD_ERROR"
    double below_xlogx "fasttree_below_xlogx"(double x, const double* chords) noexcept nogil


cdef inline void fill_chords(double* chords) noexcept nogil:
    """The line of each chord, less the bias of the exponents of doubles."""
    cdef double step = 1.0 / CHORDS
    cdef double low = 0
    cdef double start, high, rise
    cdef int i
    for i in range(CHORDS):
        start = 1.0 + i * step
        high = log2(start + step)
        rise = (high - low) / step
        chords[2 * i] = low - rise * start - 1023.0
        chords[2 * i + 1] = rise
        low = high


cdef enum:
    PAIRS_AT_ONCE = 16         # cuts that are looked at, or passed over, together


cdef inline int64_t sweep_pairs(
    const Block* block, Scratch* s, Left* at, const entry_t* entries, int64_t stop,
) noexcept nogil:
    """`sweep_entropy` of two classes: a, b = weight on the left and class 1's weight there, as shares of all weight."""
    cdef const uint16_t* label = block.label
    cdef const int64_t* weights = block.weight
    cdef Bounds limits = at.limits
    cdef double scale = 1.0 / <double> at.total.weight
    cdef double* a = s.a
    cdef double* b = s.b
    cdef int32_t* positions = s.positions
    cdef int64_t least = limits.n_min + at.first - at.before - 1
    cdef int64_t weight = at.weight
    cdef int64_t ones = s.left[1]
    cdef int64_t m = 0
    cdef int64_t j, moved
    cdef uint32_t row
    s.near_left[0] = s.left[0]
    s.near_left[1] = ones
    s.left[0] -= weight
    for j in range(at.next, stop):
        row = row_of(entries[j])
        moved = 1 if weights == NULL else weights[row]
        weight += moved
        ones += moved & -<int64_t> label[row]
        positions[m] = <int32_t> j
        a[m] = <double> weight * scale
        b[m] = <double> ones * scale
        m += (code_of(entries[j]) != code_of(entries[j + 1])) & (j >= least) & (weight >= limits.w_min) & (weight <= limits.w_max)
    s.left[0] += weight - (ones - s.left[1])
    s.left[1] = ones
    at.weight = weight
    at.next = stop
    return m


cdef inline double pair_gains(
    const Problem* p, Scratch* s, const Totals* total, int64_t m, double at_least, double slack,
) noexcept nogil:
    """About the gains of those cuts of `sweep_pairs` that may reach `at_least`, or the largest less a slack; else -infinity."""
    cdef double weight = <double> total.weight * p.unit
    cdef double share = <double> total.counts[1] / <double> total.weight
    cdef const double* chords = p.chords
    cdef const double* a = s.a
    cdef const double* b = s.b
    cdef double* gains = s.gains
    cdef double largest = -INFINITY
    cdef double x, y, gain
    cdef int64_t start, j
    cdef int64_t stop = 0
    at_least -= 2 * CHORD_ERROR * weight
    while stop < m:
        start = stop
        stop = min(start + PAIRS_AT_ONCE, m)
        if at_least > 0 and not pairs_reach(
                &a[start], &b[start], stop - start, share, at_least / weight * 0.6931471805599453):
            for j in range(start, stop):
                gains[j] = -INFINITY
            continue
        for j in range(start, stop):
            x, y = a[j], b[j]
            x = (
                below_xlogx(y, chords) + below_xlogx(x - y, chords) + below_xlogx(share - y, chords)
                + below_xlogx(1 - x - (share - y), chords) - below_xlogx(x, chords) - below_xlogx(1 - x, chords)
            )
            gain = total.risk + x * weight
            gains[j] = gain
            largest = max(largest, gain)
            at_least = max(at_least, gain - slack - 4 * CHORD_ERROR * weight)
    return largest


cdef enum:
    TOUCHED = 32               # classes that wait for their terms between two cuts


cdef inline double terms_of(int64_t left, int64_t right, double scale, const double* chords) noexcept nogil:
    """About x log2 x for the shares of a class, or of all classes, on the left and on the right."""
    return below_xlogx(<double> left * scale, chords) + below_xlogx(<double> right * scale, chords)


cdef inline int64_t sweep_entropy(
    const Problem* p, const Block* block, Scratch* s, Left* at, const entry_t* entries, int64_t stop,
) noexcept nogil:
    """a = about the entropy risk on the left and on the right, for weights whose sum is 1 (see `entropy_gains`).

    The sums begin anew with each chunk, so that little rounding adds up.  Classes that move between two cuts have no terms until
    the second: columns of few values have many samples between cuts.
    """
    cdef const double* chords = p.chords
    cdef double scale = 1.0 / <double> at.total.weight
    cdef int32_t width = p.n_classes
    cdef int64_t* left = s.left
    cdef int64_t* right = s.right
    cdef double* terms = s.terms
    cdef const uint16_t* label = block.label
    cdef const int64_t* weights = block.weight
    cdef Bounds limits = at.limits
    cdef int64_t least = limits.n_min + at.first - at.before - 1
    cdef uint32_t touched[TOUCHED]
    cdef int32_t n_touched = 0
    cdef double sum = 0
    cdef double old
    cdef int64_t weight = at.weight
    cdef int64_t m = 0
    cdef int64_t j, moved
    cdef int32_t i
    cdef uint32_t row, k
    cdef bint cut
    if width == 2:
        return sweep_pairs(block, s, at, entries, stop)
    for k in range(<uint32_t> width):
        s.near_left[k] = left[k]
        terms[k] = terms_of(left[k], right[k], scale, chords)
        sum += terms[k]
    for j in range(at.next, stop):
        row = row_of(entries[j])
        k = label[row]
        moved = 1 if weights == NULL else weights[row]
        weight += moved
        left[k] += moved
        right[k] -= moved
        cut = code_of(entries[j]) != code_of(entries[j + 1]) and j >= least and (
            weights == NULL or limits.w_min <= weight <= limits.w_max)
        if not cut and n_touched < TOUCHED:
            if terms[k] < INFINITY:
                sum -= terms[k]
                terms[k] = INFINITY            # it waits
                touched[n_touched] = k
                n_touched += 1
            continue
        if terms[k] < INFINITY:
            old = terms[k]
            terms[k] = terms_of(left[k], right[k], scale, chords)
            sum += terms[k] - old
        for i in range(n_touched):
            k = touched[i]
            terms[k] = terms_of(left[k], right[k], scale, chords)
            sum += terms[k]
        n_touched = 0
        if not cut:
            continue
        s.positions[m] = <int32_t> j
        s.a[m] = terms_of(weight, at.total.weight - weight, scale, chords) - sum
        m += 1
    at.weight = weight
    at.next = stop
    return m


cdef inline double entropy_gains(
    const Problem* p, const Block* block, Scratch* s, const Left* at, const entry_t* entries, const Chunk* chunk, double at_least,
) noexcept nogil:
    """Entropy gains of the candidates that may reach `at_least`, or the largest found here; minus infinity for the others.

    `sweep_entropy` knows all gains up to CHORD_ERROR x weight.  For those that may win, the samples of the chunk move once more,
    on copies of the sides: s.near_left is the left of the chunk.
    """
    cdef const Totals* total = at.total
    cdef double weight = <double> total.weight * p.unit
    cdef double error = CHORD_ERROR * weight
    cdef double largest = -INFINITY
    cdef double slack = single_slack(p, total) if in_single(p) else 0
    cdef double risks
    cdef int64_t* left = s.near_left
    cdef int64_t* right = s.near_right
    cdef const int32_t* positions = s.positions
    cdef double* gains = s.gains
    cdef int64_t next_entry = chunk.start
    cdef int64_t moved, j
    cdef int32_t k
    cdef uint32_t row
    if p.n_classes == 2:
        largest = pair_gains(p, s, total, chunk.n, at_least, slack)
    for j in range(chunk.n if p.n_classes != 2 else 0):
        gains[j] = total.risk - s.a[j] * weight
        largest = max(largest, gains[j])
    if largest + error < at_least:
        return -INFINITY
    largest -= error
    at_least = max(at_least, largest - slack if in_single(p) else tie_limit(largest, total.risk)) - error
    largest = -INFINITY
    for k in range(p.n_classes):
        right[k] = total.counts[k] - left[k]
    for j in range(chunk.n):
        if gains[j] < at_least:
            gains[j] = -INFINITY
            continue
        while next_entry <= positions[j]:
            row = row_of(entries[next_entry])
            moved = weight_of(block, row)
            left[block.label[row]] += moved
            right[block.label[row]] -= moved
            next_entry += 1
        risks = class_risk(ENTROPY, left, p.n_classes, p.unit) + class_risk(ENTROPY, right, p.n_classes, p.unit)
        gains[j] = max(total.risk - risks, 0.0)
        largest = max(largest, gains[j])
    return largest
