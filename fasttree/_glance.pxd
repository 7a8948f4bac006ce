"""A glance at a sorted list: can a threshold along it gain enough to matter?  Header only.

Most features of a node lose to one that was searched before.  To know that takes no exact gains.  Of unweighted samples with a
numeric target, or of two classes, the gain of a cut is proportional to

    (n left - total n_left)^2 / (n_left n_right)

with `left` the sum of the targets on the left, or the samples of one of the classes.  What is squared is a running sum, and its
divisor depends on the position alone.  Single precision bounds it, with room for its rounding: a feature that a glance rules out
would not have been chosen.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

from fasttree._types cimport CHUNK, LINEAR, Block, Problem, Scratch, Totals


cdef extern from *:
    """
    /* The largest sums[j]^2 x share[j] where the next entry has another code: loops that the compiler makes vectors of. */
    static float fasttree_largest_of_counts(const uint32_t *entries, const int32_t *sums, const float *share, int64_t m)
    {
        float largest = 0;
        int64_t j;
        #pragma omp simd reduction(max:largest)
        for (j = 0; j < m; j++) {
            float sum = (float) sums[j];
            float square = sum * sum * share[j];
            square = (entries[j] ^ entries[j + 1]) >> 16 ? square : 0;
            largest = square > largest ? square : largest;
        }
        return largest;
    }
    static float fasttree_largest_of_sums(const uint32_t *entries, const float *sums, const float *share, int64_t m)
    {
        float largest = 0;
        int64_t j;
        #pragma omp simd reduction(max:largest)
        for (j = 0; j < m; j++) {
            float square = sums[j] * sums[j] * share[j];
            square = (entries[j] ^ entries[j + 1]) >> 16 ? square : 0;
            largest = square > largest ? square : largest;
        }
        return largest;
    }
    """
    float largest_of_counts "fasttree_largest_of_counts"(
        const uint32_t* entries, const int32_t* sums, const float* share, int64_t m) noexcept nogil
    float largest_of_sums "fasttree_largest_of_sums"(
        const uint32_t* entries, const float* sums, const float* share, int64_t m) noexcept nogil


cdef struct Glance:            # what it needs to know of a node
    bint possible
    float least                # squares below this gain too little
    float* share               # by samples on the left: 1 / (left x right)
    int32_t* step              # by class: what a sample adds to n left - total n_left
    int64_t mean               # of numeric targets, rounded down; they are summed less this
    double scale               # gain of a square
    double slack               # what leaving out the rest of the mean can change in the root of a square


cdef inline void start_glances(const Problem* p, const Totals* totals, Glance* g) noexcept nogil:
    """Get ready for the lists of a node of at most 65,535 samples.  Rules nothing out before `expect` was told a gain."""
    cdef int64_t n = totals.n
    cdef int32_t other = -1
    cdef int32_t last = -1
    cdef int32_t k
    cdef int32_t i, size
    g.possible = False
    g.least = 0
    if p.n_classes:
        for k in range(p.n_classes):
            g.step[k] = 0
            if totals.counts[k]:
                if other >= 0:
                    return                 # a third class
                other = last
                last = k
        g.step[last] = <int32_t> (n - totals.counts[last])
        g.step[other] = <int32_t> -totals.counts[last]
        g.scale = 2.0 * p.unit / <double> n
        g.slack = 0
    else:
        g.mean = totals.sum // n
        g.scale = p.y_unit[0] * p.y_unit[0] * <double> n / p.unit
        g.slack = sqrt(<double> n)
    g.possible = True
    size = <int32_t> n
    for i in range(1, size):
        g.share[i] = <float> 1.0 / (<float> i * <float> (size - i))


cdef inline void expect(Glance* g, double gain) noexcept nogil:
    """From now on a list is of interest only if it can gain so much."""
    cdef double root
    if g.possible and gain > 0:
        root = sqrt(gain / g.scale) * (1 - 1e-6) - g.slack
        g.least = <float> (root * root * (1 - 1e-6)) if root > 0 else 0


cdef inline bint is_of_interest(
    const Problem* p, const Block* block, Scratch* s, const Glance* g, const uint32_t* entries, int64_t n,
) noexcept nogil:
    """False: no threshold along this list, which has no missing values, gains what is expected."""
    cdef const uint16_t* label = block.label
    cdef const int64_t* ysum = block.ysum
    cdef const int32_t* step = g.step
    cdef int32_t* counts = s.positions
    cdef float* sums = <float*> s.a
    cdef int64_t mean = g.mean
    cdef int64_t sum = 0
    cdef int32_t count = 0
    cdef int64_t i = 0
    cdef int64_t m, j
    cdef float largest
    while i < n - 1:
        m = min(n - 1 - i, CHUNK)
        if p.n_classes:
            for j in range(m):
                count += step[label[entries[i + j] & 0xFFFF]]
                counts[j] = count
            largest = largest_of_counts(entries + i, counts, g.share + i + 1, m)
        else:
            for j in range(m):
                sum += ysum[entries[i + j] & 0xFFFF] - mean
                sums[j] = <float> sum
            largest = largest_of_sums(entries + i, sums, g.share + i + 1, m)
        if largest >= g.least:
            return True
        i += m
    return False
