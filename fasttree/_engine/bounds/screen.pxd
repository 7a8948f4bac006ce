"""The screen: a quick look at a sorted list, or at counts by code, bounds what a threshold can gain.  Header only.

Most features of a node lose clearly, and exact gains are not needed to see that.  Of samples that count 1, the gain of a cut in
squared error or in the Gini index is proportional to

    sum over k of (n left_k - total_k n_left)^2 / (n_left n_right)

with `left_k` the samples of class k on the left, or of one numeric target the sum.  The divisor depends on the position alone,
and the numerator follows from running sums of integers: of two classes both terms are equal, and the sum is one in which each
sample counts n x (is it of that class) - total.  Single precision bounds the quotient from both sides, with room for its
rounding: the features whose upper bound reaches what another one surely gains are searched, and no other could win.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.risk.impurity cimport tie_limit
from fasttree._engine.types cimport CHUNK, Block, Problem, Scratch, Totals


cdef extern from *:
    """
    #include <stdint.h>

    /* The largest quotient where the next entry has another code: loops that the compiler makes vectors of. */
    static float fasttree_largest_of_counts(const uint32_t *entries, const int32_t *sums, const float *share, int64_t m)
    {
        float largest = 0;
        int64_t j;
        #pragma omp simd reduction(max:largest)
        for (j = 0; j < m; j++) {
            float sum = (float) sums[j];
            float quotient = sum * sum * share[j];
            quotient = (entries[j] ^ entries[j + 1]) >> 16 ? quotient : 0;
            largest = quotient > largest ? quotient : largest;
        }
        return largest;
    }
    static float fasttree_largest_of_sums(const uint32_t *entries, const float *sums, const float *share, int64_t m)
    {
        float largest = 0;
        int64_t j;
        #pragma omp simd reduction(max:largest)
        for (j = 0; j < m; j++) {
            float quotient = sums[j] * sums[j] * share[j];
            quotient = (entries[j] ^ entries[j + 1]) >> 16 ? quotient : 0;
            largest = quotient > largest ? quotient : largest;
        }
        return largest;
    }
    static float fasttree_largest_of_squares(const uint32_t *entries, const float *squares, const float *share, int64_t m)
    {
        float largest = 0;
        int64_t j;
        #pragma omp simd reduction(max:largest)
        for (j = 0; j < m; j++) {
            float quotient = squares[j] * share[j];
            quotient = (entries[j] ^ entries[j + 1]) >> 16 ? quotient : 0;
            largest = quotient > largest ? quotient : largest;
        }
        return largest;
    }
    /* Move the samples of a code to the left; returns how many they are. */
    static int32_t fasttree_move_code(const uint32_t *cells, int32_t *left, int64_t width)
    {
        int32_t moved = 0;
        int64_t k;
        #pragma omp simd reduction(+:moved)
        for (k = 0; k < width; k++) {
            left[k] += (int32_t) cells[k];
            moved += (int32_t) cells[k];
        }
        return moved;
    }
    static float fasttree_square_of(const int32_t *left, const float *total, int64_t width, float n, float n_left)
    {
        float square = 0;
        int64_t k;
        #pragma omp simd reduction(+:square)
        for (k = 0; k < width; k++) {
            float d = n * (float) left[k] - total[k] * n_left;
            square += d * d;
        }
        return square;
    }
    """
    float largest_of_counts "fasttree_largest_of_counts"(
        const uint32_t* entries, const int32_t* sums, const float* share, int64_t m) noexcept nogil
    float largest_of_sums "fasttree_largest_of_sums"(
        const uint32_t* entries, const float* sums, const float* share, int64_t m) noexcept nogil
    float largest_of_squares "fasttree_largest_of_squares"(
        const uint32_t* entries, const float* squares, const float* share, int64_t m) noexcept nogil
    int32_t move_code "fasttree_move_code"(const uint32_t* cells, int32_t* left, int64_t width) noexcept nogil
    float square_of "fasttree_square_of"(
        const int32_t* left, const float* total, int64_t width, float n, float n_left) noexcept nogil


cdef enum:
    MOST_TO_SCREEN = 32768      # samples: fourth powers of their number stay within 64 bits
    LANES = 4                      # counts of 16 bits in a word


cdef struct Screen:            # the figures of a node that a screen needs
    bint possible
    int32_t n_present          # classes that occur
    float least                # smaller quotients gain too little
    float* share               # by samples on the left: 1 / (left x right), or 0 where there can be no cut
    int32_t* step              # two classes: what a sample of each adds to n left - total n_left; several: its bits in a word
    int64_t* cross             # several classes, by class: 2 n total - sum of total^2
    float* total               # by class
    int64_t mean               # of numeric targets, rounded down; they are summed less this
    double scale               # gain of a quotient
    double slack               # what rounding, of the mean or in single precision, can change in the root of a quotient


cdef inline void start_screen(const Problem* p, const Totals* totals, int64_t n_min, int64_t n_max, Screen* g) noexcept nogil:
    """Prepare for the features of a node, and for cuts with n_min to n_max samples on the left."""
    cdef int64_t n = totals.n
    cdef float* share = g.share
    cdef int64_t squares = 0
    cdef int32_t first = -1
    cdef int32_t last = -1
    cdef int32_t i, k, size, start, stop
    g.n_present = 0
    g.least = 0
    g.slack = 0
    g.possible = 2 < n <= MOST_TO_SCREEN
    if not g.possible:
        return
    if p.n_classes == 0:
        g.mean = totals.sum // n
        g.scale = p.y_unit[0] * p.y_unit[0] * <double> n / p.unit
        g.slack = sqrt(<double> n)
    for k in range(p.n_classes):
        g.total[k] = <float> totals.counts[k]
        g.step[k] = 16 * g.n_present
        if totals.counts[k]:
            first, last = last, k
            g.n_present += 1
            squares += totals.counts[k] * totals.counts[k]
    if p.n_classes:
        g.scale = p.unit / <double> n
        # differences of products, and sums over classes of squares whose root is below n
        g.slack = 2.4e-7 * <double> n * sqrt(<double> n) + 3e-8 * <double> g.n_present * <double> n
    if g.n_present == 2:
        g.scale *= 2
        g.step[first] = <int32_t> -totals.counts[last]
        g.step[last] = <int32_t> (n - totals.counts[last])
    elif g.n_present > 2:
        for k in range(p.n_classes):
            g.cross[k] = 2 * n * totals.counts[k] - squares
    size = <int32_t> n
    start = <int32_t> max(n_min, 1)
    stop = <int32_t> min(n_max, n - 1)
    memset(share, 0, (n + 1) * sizeof(float))
    for i in range(start, stop + 1):
        share[i] = <float> 1.0 / (<float> i * <float> (size - i))


cdef inline void expect(Screen* g, double gain) noexcept nogil:
    """Skip features from now on that cannot gain so much."""
    cdef double root
    if g.possible and gain > 0:
        root = sqrt(gain / g.scale) * (1 - 1e-6) - g.slack
        if root > 0:
            g.least = max(g.least, <float> (root * root * (1 - 1e-6)))


cdef inline void count_on(Screen* g, float quotient, double risk) noexcept nogil:
    """Expect at least the gain that a feature with this largest quotient is sure to have, but for a tie."""
    cdef double root = sqrt(quotient) * (1 - 1e-6) - g.slack
    if root > 0:
        expect(g, tie_limit(root * root * g.scale * (1 - 1e-6), risk))


cdef inline void squares_along(
    const Block* block, Scratch* s, const Screen* g, const uint32_t* entries, int64_t n, int64_t start, int64_t m,
    int64_t* moved, int64_t* crossed, uint64_t* word, float* out,
) noexcept nogil:
    """Numerators of m cuts from `start` on: n^2 sum left^2 - n_left (2 n sum left total - n_left sum total^2).

    Counts of few classes are in the lanes of a word, others in s.left: a count in memory must be stored before it is read.
    """
    cdef const uint16_t* label = block.label
    cdef const int32_t* lane = g.step
    cdef const int64_t* cross_of = g.cross
    cdef int64_t* left = s.left
    cdef int64_t squares = moved[0]
    cdef int64_t cross = crossed[0]
    cdef uint64_t counts = word[0]
    cdef int64_t square_of_n = n * n
    cdef int64_t j
    cdef uint32_t k
    if g.n_present <= LANES:
        for j in range(m):
            k = label[entries[start + j] & 0xFFFF]
            squares += 2 * <int64_t> ((counts >> lane[k]) & 0xFFFF) + 1
            counts += <uint64_t> 1 << lane[k]
            cross += cross_of[k]
            out[j] = <float> (square_of_n * squares - (start + j + 1) * cross)
    else:
        for j in range(m):
            k = label[entries[start + j] & 0xFFFF]
            squares += 2 * left[k] + 1
            left[k] += 1
            cross += cross_of[k]
            out[j] = <float> (square_of_n * squares - (start + j + 1) * cross)
    moved[0] = squares
    crossed[0] = cross
    word[0] = counts


cdef inline float largest_along_list(
    const Problem* p, const Block* block, Scratch* s, const Screen* g, const uint32_t* entries, int64_t n,
) noexcept nogil:
    """The largest quotient of a list without missing values."""
    cdef const uint16_t* label = block.label
    cdef const int64_t* ysum = block.ysum
    cdef const int32_t* step = g.step
    cdef int32_t* counts = s.positions
    cdef float* sums = <float*> s.a
    cdef int64_t mean = g.mean
    cdef int64_t sum = 0
    cdef int64_t squares = 0
    cdef uint64_t word = 0
    cdef int32_t count = 0
    cdef int64_t i = 0
    cdef int64_t m, j
    cdef float largest = 0
    if g.n_present > LANES:
        memset(s.left, 0, p.n_classes * sizeof(int64_t))
    while i < n - 1:
        m = min(n - 1 - i, CHUNK)
        if g.n_present == 2:
            for j in range(m):
                count += step[label[entries[i + j] & 0xFFFF]]
                counts[j] = count
            largest = max(largest, largest_of_counts(entries + i, counts, g.share + i + 1, m))
        elif g.n_present:
            squares_along(block, s, g, entries, n, i, m, &squares, &sum, &word, sums)
            largest = max(largest, largest_of_squares(entries + i, sums, g.share + i + 1, m))
        else:
            for j in range(m):
                sum += ysum[entries[i + j] & 0xFFFF] - mean
                sums[j] = <float> sum
            largest = max(largest, largest_of_sums(entries + i, sums, g.share + i + 1, m))
        i += m
    return largest


cdef inline float largest_of_two_classes(const Screen* g, const uint32_t* cells, uint32_t n_codes, int64_t n) noexcept nogil:
    """`largest_by_code` of two classes, without a jump."""
    cdef int32_t size = <int32_t> n
    cdef int32_t n_ones = <int32_t> g.total[1]
    cdef int32_t n_left = 0
    cdef int32_t ones = 0
    cdef int32_t between = 0
    cdef float largest = 0
    cdef float d
    cdef uint32_t code
    for code in range(1, n_codes):
        n_left += <int32_t> (cells[2 * code] + cells[2 * code + 1])
        ones += <int32_t> cells[2 * code + 1]
        between |= (n_left != 0) & (n_left != size)
        d = <float> (size * ones - n_ones * n_left)
        largest = max(largest, d * d * g.share[n_left])
    return largest if between and cells[0] + cells[1] == 0 else -1


cdef inline float largest_by_code(
    const Problem* p, Scratch* s, const Screen* g, const uint32_t* cells, uint32_t n_codes, int64_t n,
) noexcept nogil:
    """The largest quotient of counts by code and class; -1 where values are missing, or all equal."""
    cdef int64_t width = p.width
    cdef int32_t* left = s.positions
    cdef float times = <float> 0.5 if g.n_present == 2 else <float> 1.0
    cdef float largest = -1
    cdef int32_t n_left = 0
    cdef int32_t moved
    cdef uint32_t code
    if width == 2:
        return largest_of_two_classes(g, cells, n_codes, n)
    if width > CHUNK:
        return -1
    memset(left, 0, width * sizeof(int32_t))
    if move_code(cells, left, width):
        return -1
    for code in range(1, n_codes):
        moved = move_code(cells + code * width, left, width)
        n_left += moved
        if n_left == n:
            break
        if moved:
            largest = max(largest, times * square_of(left, g.total, width, <float> n, <float> n_left) * g.share[n_left])
    return largest
