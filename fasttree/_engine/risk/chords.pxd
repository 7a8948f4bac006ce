"""Entropy gains of samples with weights, of a chunk of candidates, from chords of the logarithm.  Header only.

Logarithms at every cut would take most of the time.  Chords tell the gains up to a few millionths, and only those of cuts that
may win are computed exactly.
Between two neighbouring powers of two, 256 chords lie below the logarithm, by at most 1 / (8 x 256^2 x ln 2).
"""

from libc.math cimport INFINITY, log2
from libc.stdint cimport int32_t, int64_t, uint32_t

from fasttree._engine.risk.impurity cimport ENTROPY, class_risk, tie_limit
from fasttree._engine.risk.release8 cimport in_single, single_slack
from fasttree._engine.types cimport (
    Block, Chunk, Left, Problem, Scratch, Totals, code_of, entry_t, row_of, weight_of,
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
    """
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


cdef inline int64_t sweep_entropy(
    const Problem* p, const Block* block, Scratch* s, Left* at, const entry_t* entries, int64_t stop,
) noexcept nogil:
    """a = about the entropy risk on the left and on the right, for weights whose sum is 1 (see `entropy_gains`).

    The sums begin anew with each chunk, so that little rounding adds up.
    """
    cdef const double* chords = p.chords
    cdef double scale = 1.0 / <double> at.total.weight
    cdef int32_t width = p.n_classes
    cdef int64_t* left = s.left
    cdef int64_t* right = s.right
    cdef double* of_left = s.terms
    cdef double* of_right = s.terms + width
    cdef double sum = 0
    cdef double term, term_right
    cdef int64_t weight = at.weight
    cdef int64_t m = 0
    cdef int64_t j, moved
    cdef uint32_t row, k
    for k in range(<uint32_t> width):
        s.near_left[k] = left[k]
        of_left[k] = below_xlogx(<double> left[k] * scale, chords)
        of_right[k] = below_xlogx(<double> right[k] * scale, chords)
        sum += of_left[k] + of_right[k]
    for j in range(at.next, stop):
        row = row_of(entries[j])
        k = block.label[row]
        moved = weight_of(block, row)
        weight += moved
        left[k] += moved
        right[k] -= moved
        term = below_xlogx(<double> left[k] * scale, chords)
        term_right = below_xlogx(<double> right[k] * scale, chords)
        sum += (term - of_left[k]) + (term_right - of_right[k])
        of_left[k] = term
        of_right[k] = term_right
        if code_of(entries[j]) == code_of(entries[j + 1]) or j + 1 - at.first + at.before < at.limits.n_min:
            continue
        if block.weight != NULL and not at.limits.w_min <= weight <= at.limits.w_max:
            continue
        s.positions[m] = <int32_t> j
        s.a[m] = below_xlogx(<double> weight * scale, chords) + below_xlogx(
            <double> (at.total.weight - weight) * scale, chords) - sum
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
    cdef double risks
    cdef int64_t* left = s.near_left
    cdef int64_t* right = s.near_right
    cdef int64_t next_entry = chunk.start
    cdef int64_t moved, j
    cdef int32_t k
    cdef uint32_t row
    for j in range(chunk.n):
        s.gains[j] = total.risk - s.a[j] * weight
        largest = max(largest, s.gains[j])
    if largest + error < at_least:
        return -INFINITY
    largest -= error
    at_least = max(at_least, largest - single_slack(p, total) if in_single(p) else tie_limit(largest, total.risk)) - error
    largest = -INFINITY
    for k in range(p.n_classes):
        right[k] = total.counts[k] - left[k]
    for j in range(chunk.n):
        if s.gains[j] < at_least:
            s.gains[j] = -INFINITY
            continue
        while next_entry <= s.positions[j]:
            row = row_of(entries[next_entry])
            moved = weight_of(block, row)
            left[block.label[row]] += moved
            right[block.label[row]] -= moved
            next_entry += 1
        risks = class_risk(ENTROPY, left, p.n_classes, p.unit) + class_risk(ENTROPY, right, p.n_classes, p.unit)
        s.gains[j] = max(total.risk - risks, 0.0)
        largest = max(largest, s.gains[j])
    return largest
