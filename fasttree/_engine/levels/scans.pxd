"""Scans of the tests of one view for the best ones before and behind a cut of another.  Header only."""

from libc.math cimport fabs
from libc.stdint cimport int16_t, int32_t, int64_t
from libc.string cimport memset

from fasttree._engine.levels.records cimport SCORES, SIGNS, TreeSearch, cell_t

cdef extern from *:
    """
    #include <stdint.h>

    #define FASTTREE_ENDS(name, type) \
    /* The least and the largest of the sums x of first branches before the root's cut, and of whole - x, behind it. */ \
    static void fasttree_ends_##name(const type *x, const type *whole, int32_t n, double *ends) \
    { \
        type a = x[0], b = x[0], c = (type) (whole[0] - x[0]), d = c; \
        int32_t r; \
        FASTTREE_SIMD(reduction(min:a, c) reduction(max:b, d)) \
        for (r = 0; r < n; r++) { \
            type y = x[r], u = (type) (whole[r] - y); \
            a = y < a ? y : a; \
            b = y > b ? y : b; \
            c = u < c ? u : c; \
            d = u > d ? u : d; \
        } \
        ends[0] = a; ends[1] = b; ends[2] = c; ends[3] = d; \
    }

    #define FASTTREE_SCANS(name, type) \
    /* One lane of the sums of both branches of each test, before the root's cut (a, b) and behind it (c, d): the largest. */ \
    static void fasttree_raise_##name( \
        const type *x, const type *whole, type left, type right, int32_t n, type *a, type *b, type *c, type *d) \
    { \
        int32_t r; \
        FASTTREE_SIMD() \
        for (r = 0; r < n; r++) { \
            type y = x[r], z = (type) (left - y), u = (type) (whole[r] - y), v = (type) (right - u); \
            a[r] = y > a[r] ? y : a[r]; \
            b[r] = z > b[r] ? z : b[r]; \
            c[r] = u > c[r] ? u : c[r]; \
            d[r] = v > d[r] ? v : d[r]; \
        } \
    } \
    static double fasttree_best_##name(const type *a, const type *b, int32_t n) \
    { \
        type best = 0; \
        int32_t r; \
        FASTTREE_SIMD(reduction(max:best)) \
        for (r = 0; r < n; r++) { \
            type sum = (type) (a[r] + b[r]); \
            best = sum > best ? sum : best; \
        } \
        return (double) best; \
    }

    #if defined(FASTTREE_PLAIN_C) || !defined(__GNUC__)
    #define FASTTREE_SIMD(clauses)
    #else
    #define FASTTREE_PRAGMA(text) _Pragma(#text)
    #define FASTTREE_SIMD(clauses) FASTTREE_PRAGMA(omp simd clauses)
    #endif
    /* Sums of x up to each place; 16 bits go eight at a time where the processor can. */
    #if defined(__SSE2__) && !defined(FASTTREE_PLAIN_C)
    #include <emmintrin.h>
    #endif
    static void fasttree_sum_short(const int16_t *x, int32_t n, int16_t *out)
    {
        int32_t r = 0, sum = 0;
    #if defined(__SSE2__) && !defined(FASTTREE_PLAIN_C)
        __m128i before = _mm_setzero_si128();
        for (; r + 8 <= n; r += 8) {
            __m128i v = _mm_loadu_si128((const __m128i *) (x + r));
            v = _mm_add_epi16(v, _mm_slli_si128(v, 2));
            v = _mm_add_epi16(v, _mm_slli_si128(v, 4));
            v = _mm_add_epi16(v, _mm_slli_si128(v, 8));
            v = _mm_add_epi16(v, before);
            _mm_storeu_si128((__m128i *) (out + r), v);
            before = _mm_shuffle_epi32(_mm_shufflehi_epi16(v, 0xFF), 0xFF);
        }
        if (r) sum = out[r - 1];
    #endif
        for (; r < n; r++) out[r] = (int16_t) (sum += x[r]);
    }

    FASTTREE_ENDS(short, int16_t)
    FASTTREE_ENDS(int, int32_t)
    FASTTREE_ENDS(double, double)
    /* Raise the gains of `scan` of two classes, from what `add_up` takes.  A test of no rows changes nothing: its gain is that of
       a leaf.  The sums on both sides of a test are of different rows, so that their difference does not overflow, either. */
    #if defined(__SSE2__) && !defined(FASTTREE_PLAIN_C)
    static __m128i fasttree_larger_half(__m128i least, __m128i largest, __m128i all)
    {
        __m128i zero = _mm_setzero_si128();
        least = _mm_sub_epi16(_mm_sub_epi16(all, least), least);
        largest = _mm_sub_epi16(_mm_sub_epi16(all, largest), largest);
        least = _mm_max_epi16(least, _mm_sub_epi16(zero, least));
        return _mm_max_epi16(least, _mm_max_epi16(largest, _mm_sub_epi16(zero, largest)));
    }
    static void fasttree_raise_by_sums(
        const int16_t *x, const int16_t *whole, int32_t n, int16_t before, int16_t behind, int16_t *out, double *gains)
    {
        static const int16_t first[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
        __m128i sum = _mm_setzero_si128(), a = sum, b = sum, c = sum, d = sum;
        int32_t r, both;
        double left, right;
        (void) out;
        for (r = 0; r < n; r += 8) {               /* reads up to 14 bytes past the end */
            __m128i y = _mm_loadu_si128((const __m128i *) (x + r)), u, in;
            y = _mm_add_epi16(y, _mm_slli_si128(y, 2));
            y = _mm_add_epi16(y, _mm_slli_si128(y, 4));
            y = _mm_add_epi16(y, _mm_slli_si128(y, 8));
            y = _mm_add_epi16(y, sum);
            sum = _mm_shuffle_epi32(_mm_shufflehi_epi16(y, 0xFF), 0xFF);
            u = _mm_sub_epi16(_mm_loadu_si128((const __m128i *) (whole + r)), y);
            if (r + 8 > n) {                       /* what is past the end becomes tests of no rows */
                in = _mm_loadu_si128((const __m128i *) (first + 8 - (n - r)));
                y = _mm_and_si128(in, y);
                u = _mm_and_si128(in, u);
            }
            a = _mm_min_epi16(a, y);
            b = _mm_max_epi16(b, y);
            c = _mm_min_epi16(c, u);
            d = _mm_max_epi16(d, u);
        }
        a = fasttree_larger_half(a, b, _mm_set1_epi16(before));
        c = fasttree_larger_half(c, d, _mm_set1_epi16(behind));
        a = _mm_max_epi16(_mm_unpacklo_epi16(a, c), _mm_unpackhi_epi16(a, c));
        a = _mm_max_epi16(a, _mm_shuffle_epi32(a, 0x4E));
        a = _mm_max_epi16(a, _mm_shuffle_epi32(a, 0xB1));
        both = _mm_cvtsi128_si32(a);
        left = (int16_t) (both & 0xFFFF) / 2.0;
        right = (both >> 16) / 2.0;
        gains[0] = left > gains[0] ? left : gains[0];
        gains[1] = right > gains[1] ? right : gains[1];
    }
    #else
    static void fasttree_raise_by_sums(
        const int16_t *x, const int16_t *whole, int32_t n, int16_t before, int16_t behind, int16_t *out, double *gains)
    {
        double ends[4], gain;
        int k;
        fasttree_sum_short(x, n, out);
        fasttree_ends_short(out, whole, n, ends);
        for (k = 0; k < 4; k++) {
            gain = ends[k] - (k < 2 ? before : behind) / 2.0;
            gain = gain < 0 ? -gain : gain;
            gains[k / 2] = gain > gains[k / 2] ? gain : gains[k / 2];
        }
    }
    #endif
    FASTTREE_SCANS(short, int16_t)
    FASTTREE_SCANS(int, int32_t)
    FASTTREE_SCANS(double, double)

    /* One lane of squares: a, b, c and d add up. */
    static void fasttree_add_squares(
        const double *x, const double *whole, double left, double right, int32_t n, double *a, double *b, double *c, double *d)
    {
        int32_t r;
        FASTTREE_SIMD()
        for (r = 0; r < n; r++) {
            double y = x[r], z = left - y, u = whole[r] - y, v = right - u;
            a[r] += y * y;
            b[r] += z * z;
            c[r] += u * u;
            d[r] += v * v;
        }
    }
    static double fasttree_best_ratio(
        const double *a, const double *b, const double *x, const double *minus, double total, int32_t n)
    {
        double best = 0;
        int32_t r;
        FASTTREE_SIMD(reduction(max:best))
        for (r = 0; r < n; r++) {
            double w = x[r] - minus[r], v = total - w;
            double sum = w > 0 && v > 0 ? a[r] / w + b[r] / v : 0;
            best = sum > best ? sum : best;
        }
        return best;
    }
    """
    void fasttree_sum_short(const int16_t*, int32_t, int16_t*) noexcept nogil
    void fasttree_raise_by_sums(
        const int16_t*, const int16_t*, int32_t, int16_t, int16_t, int16_t*, double*) noexcept nogil
    void fasttree_ends_short(const int16_t*, const int16_t*, int32_t, double*) noexcept nogil
    void fasttree_ends_int(const int32_t*, const int32_t*, int32_t, double*) noexcept nogil
    void fasttree_ends_double(const double*, const double*, int32_t, double*) noexcept nogil
    void fasttree_raise_short(
        const int16_t*, const int16_t*, int16_t, int16_t, int32_t, int16_t*, int16_t*, int16_t*, int16_t*) noexcept nogil
    void fasttree_raise_int(
        const int32_t*, const int32_t*, int32_t, int32_t, int32_t, int32_t*, int32_t*, int32_t*, int32_t*) noexcept nogil
    void fasttree_raise_double(
        const double*, const double*, double, double, int32_t, double*, double*, double*, double*) noexcept nogil
    double fasttree_best_short(const int16_t*, const int16_t*, int32_t) noexcept nogil
    double fasttree_best_int(const int32_t*, const int32_t*, int32_t) noexcept nogil
    double fasttree_best_double(const double*, const double*, int32_t) noexcept nogil
    void fasttree_add_squares(
        const double*, const double*, double, double, int32_t, double*, double*, double*, double*) noexcept nogil
    double fasttree_best_ratio(
        const double*, const double*, const double*, const double*, double, int32_t) noexcept nogil


cdef inline void add_up(const cell_t* x, int32_t n, cell_t* out) noexcept nogil:
    """Sums of x up to each place."""
    cdef int32_t r
    cdef cell_t sum = 0
    if cell_t is int16_t:
        fasttree_sum_short(x, n, out)
    else:
        for r in range(n):
            sum += x[r]
            out[r] = sum


cdef inline void find_ends(const cell_t* x, const cell_t* whole, int32_t n, double* ends) noexcept nogil:
    if cell_t is int16_t:
        fasttree_ends_short(x, whole, n, ends)
    elif cell_t is int32_t:
        fasttree_ends_int(x, whole, n, ends)
    else:
        fasttree_ends_double(x, whole, n, ends)


cdef inline void raise_lane(
    const cell_t* x, const cell_t* whole, cell_t left, cell_t right, int32_t n, cell_t* best,
) noexcept nogil:
    if cell_t is int16_t:
        fasttree_raise_short(x, whole, left, right, n, best, best + n, best + 2 * n, best + 3 * n)
    elif cell_t is int32_t:
        fasttree_raise_int(x, whole, left, right, n, best, best + n, best + 2 * n, best + 3 * n)
    else:
        fasttree_raise_double(x, whole, left, right, n, best, best + n, best + 2 * n, best + 3 * n)


cdef inline double best_sum(const cell_t* a, const cell_t* b, int32_t n) noexcept nogil:
    if cell_t is int16_t:
        return fasttree_best_short(a, b, n)
    elif cell_t is int32_t:
        return fasttree_best_int(a, b, n)
    else:
        return fasttree_best_double(a, b, n)


cdef inline void raise_by_ends(const double* ends, double before, double behind, double* gains) noexcept nogil:
    cdef int k
    for k in range(2):
        gains[0] = max(gains[0], fabs(2 * ends[k] - before) / 2)
        gains[1] = max(gains[1], fabs(2 * ends[2 + k] - behind) / 2)


cdef inline void scan(
    TreeSearch* s, int32_t m, const cell_t* x, const cell_t* whole, const cell_t* before, const cell_t* behind, double* gains,
) noexcept nogil:
    """Raise the gains of the best pairs before and behind a cut to those of one view.

    Parameters
    ----------
    m : number of tests of the view
    x, whole : (lanes, m)
        Sums of the rows in the first branch of each test, of those before the cut, and of all.
    before, behind : (lanes)
        Sums of the rows before the cut, and of those behind it.
    """
    cdef int32_t k
    cdef double ends[4]
    cdef cell_t* best = <cell_t*> s.best_pairs
    if s.kind == SIGNS:
        find_ends(x, whole, m, ends)
        raise_by_ends(ends, <double> before[0], <double> behind[0], gains)
        return
    memset(best, 0, 5 * <int64_t> m * sizeof(cell_t))
    if s.kind == SCORES:
        for k in range(s.lanes):
            raise_lane(x + k * m, whole + k * m, before[k], behind[k], m, best)
        gains[0] = max(gains[0], best_sum(best, best + m, m))
        gains[1] = max(gains[1], best_sum(best + 2 * m, best + 3 * m, m))
    elif cell_t is double:
        for k in range(s.lanes - 1):
            fasttree_add_squares(x + k * m, whole + k * m, before[k], behind[k], m, best, best + m, best + 2 * m, best + 3 * m)
        k = s.lanes - 1
        gains[0] = max(gains[0], fasttree_best_ratio(best, best + m, x + k * m, best + 4 * m, before[k], m))
        gains[1] = max(gains[1], fasttree_best_ratio(best + 2 * m, best + 3 * m, whole + k * m, x + k * m, behind[k], m))


cdef inline double gain_of_sorted(TreeSearch* s, int32_t m, const double* x, const double* minus) noexcept nogil:
    """Gain of the best two groups of categories by their means; sums and weights are x, less `minus` unless it is NULL."""
    cdef int32_t r, at
    cdef int32_t n = 0
    cdef double sum, weight, share
    cdef double total = 0
    cdef double mass = 0
    cdef double best = 0
    for r in range(m):
        sum = x[r] - (minus[r] if minus != NULL else 0)
        weight = x[m + r] - (minus[m + r] if minus != NULL else 0)
        if weight <= 0:
            continue
        share = sum / weight
        at = n
        while at > 0 and s.share[at - 1] > share:
            s.share[at] = s.share[at - 1]
            s.pairs[2 * at], s.pairs[2 * at + 1] = s.pairs[2 * at - 2], s.pairs[2 * at - 1]
            at -= 1
        s.share[at] = share
        s.pairs[2 * at], s.pairs[2 * at + 1] = sum, weight
        total += sum
        mass += weight
        n += 1
    sum = weight = 0
    for at in range(n - 1):
        sum += s.pairs[2 * at]
        weight += s.pairs[2 * at + 1]
        best = max(best, sum * sum / weight + (total - sum) * (total - sum) / (mass - weight))
    return best


cdef inline void scan_groups(
    TreeSearch* s, int32_t m, const cell_t* x, const cell_t* whole, const cell_t* before, const cell_t* behind, double* gains,
) noexcept nogil:
    """Raise the gains of the best pairs before and behind a cut to those of any two groups of the categories of one view.

    For classes, each category goes to the leaf that costs less, for any two predictions.  The parameters are those of `scan`.
    """
    cdef int32_t one, other, r
    cdef double left = 0
    cdef double right = 0
    cdef const cell_t* a
    cdef const cell_t* b
    cdef cell_t u, v
    if s.kind == SIGNS:
        for r in range(m):
            left += fabs(<double> x[r])
            right += fabs(<double> whole[r] - <double> x[r])
        gains[0], gains[1] = max(gains[0], left / 2), max(gains[1], right / 2)
    elif s.kind == SCORES:
        for one in range(s.lanes):
            for other in range(one + 1, s.lanes):
                a, b = x + one * m, x + other * m
                if <double> before[one] + <double> before[other] > gains[0]:
                    left = 0
                    for r in range(m):
                        left += max(a[r], b[r])
                    gains[0] = max(gains[0], left)
                if <double> behind[one] + <double> behind[other] > gains[1]:
                    right = 0
                    for r in range(m):
                        u = <cell_t> (whole[one * m + r] - a[r])
                        v = <cell_t> (whole[other * m + r] - b[r])
                        right += max(u, v)
                    gains[1] = max(gains[1], right)
    elif cell_t is double:
        gains[0] = max(gains[0], gain_of_sorted(s, m, x, NULL))
        gains[1] = max(gains[1], gain_of_sorted(s, m, whole, x))
