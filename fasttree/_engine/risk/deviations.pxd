"""Bounds of the gains of absolute error along a feature, which spare the search of most features.  Header only.

The deviations of samples from their median are an integral over thresholds of targets: at each, the smaller one of the samples
below and above.  Samples move to the left in short runs.  How many of them are between the node's median and each of a few
thresholds is enough to bound what a cut inside a run gains, wherever the samples are between two thresholds: see docs/exact.md.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.types cimport Medians, Problem, entry_t


cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #define FASTTREE_GROWTH 1.25
    #define FASTTREE_NARROWEST (0.25 / 34.5)    /* (growth - 1) / (growth ^ side - 1) */
    enum { FASTTREE_SIDE = 16, FASTTREE_THRESHOLDS = 2 * FASTTREE_SIDE };    /* above the median, then below it */

    typedef struct {
        const uint8_t *bin;                             /* by row: how many thresholds are below the target */
        uint8_t inside[2 * FASTTREE_SIDE + 1][FASTTREE_THRESHOLDS];     /* by bin: is it inside of a threshold? */
        float step[FASTTREE_THRESHOLDS];                /* from each threshold to the one that is further out */
        float spare[FASTTREE_THRESHOLDS];               /* samples outside less those inside, on the side of the median */
        float left[FASTTREE_THRESHOLDS];                /* twice the samples inside that have moved */
    } fasttree_binned;

    #if defined(__GNUC__) && !defined(FASTTREE_PLAIN_C)
    typedef uint8_t fasttree_lanes __attribute__((vector_size(FASTTREE_SIDE)));
    #define FASTTREE_COUNT_RUN(name, entry, row)                                            \\
        static void name(const fasttree_binned *b, const entry *entries, int64_t m, uint8_t *out)  \\
        {                                                                                   \\
            fasttree_lanes above = {0}, below = {0}, one;                                   \\
            int64_t j;                                                                      \\
            for (j = 0; j < m; j++) {                                                       \\
                const uint8_t *inside = b->inside[b->bin[(row) entries[j]]];                \\
                memcpy(&one, inside, FASTTREE_SIDE);                                        \\
                above += one;                                                               \\
                memcpy(&one, inside + FASTTREE_SIDE, FASTTREE_SIDE);                        \\
                below += one;                                                               \\
            }                                                                               \\
            memcpy(out, &above, FASTTREE_SIDE);                                             \\
            memcpy(out + FASTTREE_SIDE, &below, FASTTREE_SIDE);                             \\
        }
    #else
    #define FASTTREE_COUNT_RUN(name, entry, row)                                            \\
        static void name(const fasttree_binned *b, const entry *entries, int64_t m, uint8_t *out)  \\
        {                                                                                   \\
            int64_t j, k;                                                                   \\
            memset(out, 0, FASTTREE_THRESHOLDS);                                            \\
            for (j = 0; j < m; j++)                                                         \\
                for (k = 0; k < FASTTREE_THRESHOLDS; k++)                                   \\
                    out[k] += b->inside[b->bin[(row) entries[j]]][k];                       \\
        }
    #endif
    FASTTREE_COUNT_RUN(fasttree_count_short, uint32_t, uint16_t)
    FASTTREE_COUNT_RUN(fasttree_count_long, uint64_t, uint32_t)

    /* What a cut inside a run of m samples gains at most, where n_left are on the left before it; the run is moved. */
    static float fasttree_most_of_run(fasttree_binned *b, const uint8_t *inside, int64_t n_left, int64_t m)
    {
        const float before = (float) n_left, end = (float) (n_left + m);
        float most = 0;
        int k;
        #pragma omp simd reduction(+:most)
        for (k = 0; k < FASTTREE_THRESHOLDS; k++) {
            const float moved = (float) (int) inside[k], sum = b->left[k] + moved;
            const float of_left = end - sum, of_right = b->spare[k] - before + sum;
            const float larger = of_left > of_right ? of_left : of_right;
            most += (larger > 0 ? larger : 0) * b->step[k];
            b->left[k] = sum + moved;
        }
        return most;
    }
    """
    const double GROWTH "FASTTREE_GROWTH"
    const double NARROWEST "FASTTREE_NARROWEST"
    enum: SIDE "FASTTREE_SIDE"
    enum: THRESHOLDS "FASTTREE_THRESHOLDS"
    ctypedef struct Binned "fasttree_binned":
        const uint8_t* bin
        uint8_t inside[33][32]
        float* step
        float* spare
        float* left
    void count_short "fasttree_count_short"(const Binned* b, const uint32_t* entries, int64_t m, uint8_t* out) noexcept nogil
    void count_long "fasttree_count_long"(const Binned* b, const uint64_t* entries, int64_t m, uint8_t* out) noexcept nogil
    float most_of_run "fasttree_most_of_run"(Binned* b, const uint8_t* inside, int64_t n_left, int64_t m) noexcept nogil


cdef enum:
    FEWEST_BINNED = 64             # samples of a node from which bounds pay


cdef inline void bin_targets(const Problem* p, Binned* b, int64_t n) noexcept nogil:
    """Choose thresholds among the targets of a node, after `number_places`: the nearer to the median, the closer together."""
    cdef const Medians* m = &p.medians[0]
    cdef const int64_t* y = m.sorted
    cdef int64_t middle = (n + 1) // 2
    cdef int64_t above[SIDE + 1]
    cdef int64_t below[SIDE + 1]
    cdef double share = 0
    cdef int64_t i, k, j
    for k in range(SIDE):
        above[k] = middle + <int64_t> (<double> (n - middle) * share)
        below[k] = middle - <int64_t> (<double> (middle - 1) * share)
        share = NARROWEST + GROWTH * share
    above[SIDE] = n
    below[SIDE] = 1
    for k in range(SIDE):
        b.step[k] = <float> (y[above[k + 1]] - y[above[k]])
        b.step[SIDE + k] = <float> (y[below[k]] - y[below[k + 1]])
        b.spare[k] = <float> (n - 2 * above[k])
        b.spare[SIDE + k] = <float> (2 * below[k] - 2 - n)
        for j in range(2 * SIDE + 1):
            b.inside[j][k] = j <= SIDE + k
            b.inside[j][SIDE + k] = j >= SIDE - k
    j = SIDE
    k = 0
    b.bin = p.parts.bin
    for i in range(1, n + 1):
        while k < SIDE and i > above[k]:
            k += 1
        while j and i >= below[j - 1]:
            j -= 1
        p.parts.bin[<uint32_t> m.records[i - 1]] = <uint8_t> (SIDE - j + k)


cdef inline double most_along(const Problem* p, Binned* b, const entry_t* entries, int64_t n) noexcept nogil:
    """No cut along a sorted list gains more, in quanta."""
    cdef const int64_t* y = p.medians[0].sorted
    cdef int64_t longest = min(32 + n // 512, 255)
    cdef int64_t i = 0
    cdef int64_t run
    cdef uint8_t inside[THRESHOLDS]
    cdef double most = 0
    memset(b.left, 0, THRESHOLDS * sizeof(float))
    while i < n - 1:
        run = max(min(min(i, n - i) // 4, longest), 1)
        if entry_t is uint32_t:
            count_short(b, entries + i, run, inside)
        else:
            count_long(b, entries + i, run, inside)
        most = max(most, <double> most_of_run(b, inside, i, run))
        i += run
    # counts have 24 bits
    return most * (1 + 1e-5) + 1e-6 * <double> n * <double> (y[n] - y[1])
