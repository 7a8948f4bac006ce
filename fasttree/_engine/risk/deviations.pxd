"""Bounds of the gains of absolute error along a feature, which spare the search of most features.  Header only.

Samples move to the left in short runs.  Counts and sums by bins of the node's targets tell the deviations on both sides of a run
up to the bin of the median, in constant time.  A cut inside a run gains at most what the node deviates, less what the samples
before the run and behind it do, and less what those of the run do at least, wherever medians can be: see docs/exact.md.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from fasttree._engine.types cimport CHUNK, Medians, Problem, Scratch, code_of, entry_t, row_of


cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>

    enum { FASTTREE_TARGET_BITS = 7, FASTTREE_TARGET_BINS = 1 << FASTTREE_TARGET_BITS };

    typedef struct {
        const int64_t *packed;          /* by row: target << 7 | bin */
        const int64_t *sorted;          /* targets by place, from 0 */
        int64_t n, shift, n_bins;
        int64_t before[FASTTREE_TARGET_BINS + 1];   /* sum of targets in the bins before */
        int64_t count[FASTTREE_TARGET_BINS], sum[FASTTREE_TARGET_BINS];   /* on the left */
        int64_t n_left, total, spread;  /* on the left: samples, and their sum; absolute targets of a run */
        int64_t bin[2], below[2], sum_below[2];     /* of each side: bin of the median, and what the left has below it */
    } fasttree_binned;

    static void fasttree_move_run(fasttree_binned *b, const int32_t *rows, int64_t m)
    {
        const int64_t left = b->bin[0], right = b->bin[1];
        int64_t n_left = 0, s_left = 0, n_right = 0, s_right = 0, total = 0, spread = 0, j;
        for (j = 0; j < m; j++) {
            const int64_t one = b->packed[(uint32_t) rows[j]], y = one >> FASTTREE_TARGET_BITS;
            const int64_t k = one & (FASTTREE_TARGET_BINS - 1);
            const int64_t in_left = -(int64_t) (k < left), in_right = -(int64_t) (k < right);
            b->count[k]++;
            b->sum[k] += y;
            total += y;
            spread += y < 0 ? -y : y;
            n_left -= in_left;
            s_left += y & in_left;
            n_right -= in_right;
            s_right += y & in_right;
        }
        b->n_left += m;
        b->total += total;
        b->spread = spread;
        b->below[0] += n_left;
        b->sum_below[0] += s_left;
        b->below[1] += n_right;
        b->sum_below[1] += s_right;
    }

    static inline int64_t fasttree_count_of(const fasttree_binned *b, int side, int64_t k)
    {
        const int64_t end = (k + 1) << b->shift;
        return side ? (end < b->n ? end : b->n) - (k << b->shift) - b->count[k] : b->count[k];
    }

    /* At least, and at most, the deviations of a side from its median.  The bin of the median is found first.  out[2]: no median
       is further from the node's after `run` more samples. */
    static void fasttree_sides(fasttree_binned *b, int side, int64_t run, double *out)
    {
        const int64_t size = side ? b->n - b->n_left : b->n_left;
        int64_t k = b->bin[side], below, count, m, sum, sum_below, low, high;
        for (;;) {
            below = side ? (k << b->shift) - b->below[1] : b->below[0];
            count = fasttree_count_of(b, side, k);
            if (2 * below > size) {
                k--;
                b->below[side] -= b->count[k];
                b->sum_below[side] -= b->sum[k];
            } else if (2 * (below + count) < size) {
                b->below[side] += b->count[k];
                b->sum_below[side] += b->sum[k];
                k++;
            } else
                break;
        }
        b->bin[side] = k;
        sum = side ? b->before[k + 1] - b->before[k] - b->sum[k] : b->sum[k];
        sum_below = side ? b->before[k] - b->sum_below[1] : b->sum_below[0];
        out[1] = (double) ((side ? b->before[b->n_bins] - b->total : b->total) - 2 * sum_below);
        out[0] = out[1] - (count ? (double) sum * (1 - (double) (2 * below + count - size) / (double) count) : 0);
        out[1] -= (double) b->sorted[k << b->shift] * (double) (size - 2 * below);
        out[2] = HUGE_VAL;
        low = ((size - run) >> 1) - 1;
        high = ((size + run) >> 1) + 1;
        if (size < run + 2 || high >= size)
            return;
        for (m = below, count += below, sum = k; m > low; )
            m -= fasttree_count_of(b, side, --sum);
        for (; count <= high; )
            count += fasttree_count_of(b, side, ++k);
        low = -b->sorted[sum << b->shift];
        high = (k + 1) << b->shift;
        high = b->sorted[(high < b->n ? high : b->n) - 1];
        out[2] = (double) (low > high ? low : high);
    }
    """
    enum: TARGET_BITS "FASTTREE_TARGET_BITS"
    enum: TARGET_BINS "FASTTREE_TARGET_BINS"
    ctypedef struct Binned "fasttree_binned":
        const int64_t* packed
        const int64_t* sorted
        int64_t n
        int64_t shift
        int64_t n_bins
        int64_t* before
        int64_t* count
        int64_t* sum
        int64_t n_left
        int64_t total
        int64_t spread
        int64_t* bin
        int64_t* below
        int64_t* sum_below
    void move_run "fasttree_move_run"(Binned* b, const int32_t* rows, int64_t m) noexcept nogil
    void sides_of "fasttree_sides"(Binned* b, int side, int64_t run, double* out) noexcept nogil


cdef enum:
    FEWEST_BINNED = 64             # samples of a node from which bounds pay; targets have so few bits there that bins fit, too


cdef inline void bin_targets(const Problem* p, Binned* b, int64_t n) noexcept nogil:
    """Put the targets of a node into bins of equally many, after `number_places`."""
    cdef const Medians* m = &p.medians[0]
    cdef int64_t i, k, sum
    b.packed = p.parts.packed
    b.sorted = m.sorted + 1
    b.n = n
    b.shift = 0
    while (n - 1) >> b.shift >= TARGET_BINS:
        b.shift += 1
    b.n_bins = ((n - 1) >> b.shift) + 1
    sum = 0
    for i in range(n):
        k = i >> b.shift
        if k << b.shift == i:
            b.before[k] = sum
        p.parts.packed[<uint32_t> m.records[i]] = m.sorted[i + 1] * TARGET_BINS + k
        sum += m.sorted[i + 1]
    b.before[b.n_bins] = sum


cdef inline void start_runs(Binned* b) noexcept nogil:
    """All samples are on the right."""
    b.n_left = 0
    b.total = 0
    b.spread = 0
    memset(b.count, 0, TARGET_BINS * sizeof(int64_t))
    memset(b.sum, 0, TARGET_BINS * sizeof(int64_t))
    b.bin[0] = b.bin[1] = b.n_bins // 2
    b.below[0] = b.below[1] = 0
    b.sum_below[0] = b.sum_below[1] = 0


cdef inline double most_along(
    Binned* b, Scratch* s, const entry_t* entries, double risk, int64_t n_min, int64_t n_max, double* least,
) noexcept nogil:
    """No cut along a sorted list gains more, in quanta; `least`: a cut gains this, of those with n_min to n_max on the left."""
    cdef int64_t n = b.n
    cdef int64_t longest = min(32 + n // 512, <int64_t> CHUNK)
    cdef int64_t i = 0
    cdef int64_t run, j
    cdef double left[3]
    cdef double right[3]
    cdef double before, most
    cdef double largest = 0
    start_runs(b)
    while i < n - 1:
        run = max(min(min(i, n - i) // 4, longest), 1)
        sides_of(b, 0, run, left)
        if n_min <= i <= n_max and i and code_of(entries[i - 1]) != code_of(entries[i]):
            least[0] = max(least[0], risk - left[1] - right[1])
        for j in range(run):
            s.positions[j] = <int32_t> row_of(entries[i + j])
        move_run(b, s.positions, run)
        sides_of(b, 1, run, right)
        i += run
        most = risk - left[0] - right[0]
        before = max(left[2], right[2])
        if before < INFINITY:
            most -= max(<double> b.spread - <double> run * before, 0.0)
        largest = max(largest, most)
    return largest
