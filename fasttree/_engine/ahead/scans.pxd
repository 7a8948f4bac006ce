"""Passes over the tests of a second view, for the best pairs of leaves before and behind a cut.  Header only."""

from libc.stdint cimport int32_t, int64_t

cimport fasttree._engine.types  # noqa: F401 has FASTTREE_WIDE

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>

    #if defined(FASTTREE_PLAIN_C) || !defined(__GNUC__)
    #define FASTTREE_SIMD(clauses)
    #else
    #define FASTTREE_PRAGMA(text) _Pragma(#text)
    #define FASTTREE_SIMD(clauses) FASTTREE_PRAGMA(omp simd clauses)
    #endif

    /* The sums of a side of the root's cut (lanes), and what a leaf on it needs. */
    typedef struct { const double *sums; double weight, size, least, lightest; } fasttree_ahead_side;

    /* Largest q = sum of squared deviations that a test explains, times W: of any test, and of those with large leaves.
       y, w, size: sums up to each cut; with `whole` they are taken from those of all rows. */
    FASTTREE_WIDE static void fasttree_scan_signed(
        const double *y, const double *w, const double *size, const double *all_y, const double *all_w, const double *all_size,
        const fasttree_ahead_side *one, const fasttree_ahead_side *two, int32_t n, double *gains)
    {
        double S = one->sums[0], W = one->weight, T = two->sums[0], V = two->weight, a = 0, c = 0;
        int32_t r;
        FASTTREE_SIMD(reduction(max:a, c))
        for (r = 0; r < n; r++) {
            double d = y[r] * W - S * w[r], g = w[r] * (W - w[r]);
            double u = all_w[r] - w[r], e = (all_y[r] - y[r]) * V - T * u, h = u * (V - u);
            double q = g > 0 ? d * d / g : 0, p = h > 0 ? e * e / h : 0;
            a = q > a ? q : a;
            c = p > c ? p : c;
        }
        gains[0] = gains[2] = a; gains[1] = gains[3] = c;
        if (one->least <= 1 && one->lightest <= 0) return;
        gains[2] = gains[3] = 0;
        for (r = 0; r < n; r++) {
            double v = W - w[r], s = size[r], d = y[r] * W - S * w[r], q;
            double u = all_w[r] - w[r], x = V - u, z = all_size[r] - s, e = (all_y[r] - y[r]) * V - T * u;
            if (s >= one->least && one->size - s >= one->least && w[r] >= one->lightest && v >= one->lightest) {
                q = d * d / (w[r] * v);
                gains[2] = q > gains[2] ? q : gains[2];
            }
            if (z >= one->least && two->size - z >= one->least && u >= one->lightest && x >= one->lightest) {
                q = e * e / (u * x);
                gains[3] = q > gains[3] ? q : gains[3];
            }
        }
    }

    /* Largest |2 y - S|: the errors of two classes that a test avoids. */
    FASTTREE_WIDE static void fasttree_scan_absolute(
        const double *y, const double *w, const double *size, const double *all_y, const double *all_w, const double *all_size,
        const fasttree_ahead_side *one, const fasttree_ahead_side *two, int32_t n, double *gains)
    {
        double S = one->sums[0], T = two->sums[0], a = 0, c = 0;
        int32_t r;
        FASTTREE_SIMD(reduction(max:a, c))
        for (r = 0; r < n; r++) {
            double q = fabs(2 * y[r] - S), p = fabs(2 * (all_y[r] - y[r]) - T);
            a = q > a ? q : a;
            c = p > c ? p : c;
        }
        gains[0] = gains[2] = a; gains[1] = gains[3] = c;
        if (one->least <= 1 && one->lightest <= 0) return;
        gains[2] = gains[3] = 0;
        for (r = 0; r < n; r++) {
            double s = size[r], v = one->weight - w[r], u = all_w[r] - w[r], x = two->weight - u, z = all_size[r] - s;
            double q = fabs(2 * y[r] - S), p = fabs(2 * (all_y[r] - y[r]) - T);
            if (s >= one->least && one->size - s >= one->least && w[r] >= one->lightest && v >= one->lightest)
                gains[2] = q > gains[2] ? q : gains[2];
            if (z >= one->least && two->size - z >= one->least && u >= one->lightest && x >= one->lightest)
                gains[3] = p > gains[3] ? p : gains[3];
        }
    }

    /* n log2 n; `logs` has those of small whole numbers. */
    static double fasttree_nlogn(const double *logs, int64_t n_logs, double n)
    {
        return n < (double) n_logs ? logs[(int64_t) n] : n * log2(n);
    }

    /* Add a lane of classes to the gains of both branches of each test, before the root's cut (a) and behind it (b). */
    static void fasttree_add_lane(
        int kind, const double *logs, int64_t n_logs, const double *x, const double *all, double left, double right, int32_t n,
        double *a, double *b, double *c, double *d)
    {
        int32_t r;
        if (kind == 1) {
            FASTTREE_SIMD()
            for (r = 0; r < n; r++) {
                double y = x[r], z = left - y, u = all[r] - y, v = right - u;
                a[r] += y * y; b[r] += z * z; c[r] += u * u; d[r] += v * v;
            }
        } else if (kind == 2) {
            for (r = 0; r < n; r++) {
                double y = x[r], z = left - y, u = all[r] - y, v = right - u;
                a[r] += fasttree_nlogn(logs, n_logs, y); b[r] += fasttree_nlogn(logs, n_logs, z);
                c[r] += fasttree_nlogn(logs, n_logs, u); d[r] += fasttree_nlogn(logs, n_logs, v);
            }
        } else {
            FASTTREE_SIMD()
            for (r = 0; r < n; r++) {
                double y = x[r], z = left - y, u = all[r] - y, v = right - u;
                a[r] = y > a[r] ? y : a[r]; b[r] = z > b[r] ? z : b[r];
                c[r] = u > c[r] ? u : c[r]; d[r] = v > d[r] ? v : d[r];
            }
        }
    }
    /* The gain of a leaf from its lanes, and how much of its weight is risk. */
    static double fasttree_leaf(int kind, const double *logs, int64_t n_logs, double a, double w)
    {
        return kind == 1 ? (w > 0 ? a / w : 0) : kind == 2 ? a - fasttree_nlogn(logs, n_logs, w) : a;
    }
    /* What the tests of a block gain at most, by the first leaf at the end of the block before, and the second at its own. */
    static void fasttree_bound_blocks(
        int kind, const double *logs, int64_t n_logs, const double *a, const double *b, const double *w, const double *all_w,
        double weight, int32_t n, double *bounds)
    {
        int32_t r;
        double before = 0, x = 0;
        for (r = 0; r < n; r++) {
            double y = all_w ? all_w[r] - w[r] : w[r];
            bounds[r] = before + fasttree_leaf(kind, logs, n_logs, b[r], weight - y) + (kind == 2 ? 0 : y - x);
            before = fasttree_leaf(kind, logs, n_logs, a[r], y);
            x = y;
        }
    }
    static double fasttree_pair(int kind, const double *logs, int64_t n_logs, double a, double b, double w, double v)
    {
        if (kind == 1) return w > 0 && v > 0 ? (a * v + b * w) / (w * v) : 0;
        if (kind == 2) return a + b - fasttree_nlogn(logs, n_logs, w) - fasttree_nlogn(logs, n_logs, v);
        return a + b;
    }
    static void fasttree_best_pairs(
        int kind, const double *logs, int64_t n_logs, const double *a, const double *b, const double *w, const double *size,
        const double *all_w, const double *all_size, const fasttree_ahead_side *side, int32_t n, double *any, double *large)
    {
        int32_t r;
        for (r = 0; r < n; r++) {
            double x = all_w ? all_w[r] - w[r] : w[r], s = all_w ? all_size[r] - size[r] : size[r], v = side->weight - x;
            double q = fasttree_pair(kind, logs, n_logs, a[r], b[r], x, v);
            *any = q > *any ? q : *any;
            if (s >= side->least && side->size - s >= side->least && x >= side->lightest && v >= side->lightest)
                *large = q > *large ? q : *large;
        }
    }
    """
    ctypedef struct AheadSide "fasttree_ahead_side":
        const double* sums
        double weight, size, least, lightest
    void scan_signed "fasttree_scan_signed"(
        const double*, const double*, const double*, const double*, const double*, const double*, const AheadSide*,
        const AheadSide*, int32_t, double*) noexcept nogil
    void scan_absolute "fasttree_scan_absolute"(
        const double*, const double*, const double*, const double*, const double*, const double*, const AheadSide*,
        const AheadSide*, int32_t, double*) noexcept nogil
    void add_lane "fasttree_add_lane"(
        int, const double*, int64_t, const double*, const double*, double, double, int32_t, double*, double*, double*, double*
    ) noexcept nogil
    void best_pairs "fasttree_best_pairs"(
        int, const double*, int64_t, const double*, const double*, const double*, const double*, const double*, const double*,
        const AheadSide*, int32_t, double*, double*) noexcept nogil
    void bound_blocks "fasttree_bound_blocks"(
        int, const double*, int64_t, const double*, const double*, const double*, const double*, double, int32_t, double*
    ) noexcept nogil
    double nlogn "fasttree_nlogn"(const double*, int64_t, double) noexcept nogil
