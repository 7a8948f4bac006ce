"""Gains of many cuts at once, and bounds of them, in loops that the compiler can make vectors of.  Header only."""

from libc.stdint cimport int32_t, int64_t


cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    /* The gain of every candidate of a chunk, and the largest: a loop that the compiler makes vectors of. */
    CYTHON_UNUSED static double fasttree_linear_gains(
        const double *left, const double *weights, const int32_t *positions, double *gains, int64_t m,
        double offset, double n, double total, double scale)
    {
        double largest = -HUGE_VAL;
        int64_t j;
        if (weights) {
            #pragma omp simd reduction(max:largest)
            for (j = 0; j < m; j++) {
                double d = n * left[j] - total * weights[j];
                double gain = d * d / (weights[j] * (n - weights[j])) * scale;
                gains[j] = gain;
                largest = gain > largest ? gain : largest;
            }
        } else {
            #pragma omp simd reduction(max:largest)
            for (j = 0; j < m; j++) {
                double n_left = (double) positions[j] + offset;
                double d = n * left[j] - total * n_left;
                double gain = d * d / (n_left * (n - n_left)) * scale;
                gains[j] = gain;
                largest = gain > largest ? gain : largest;
            }
        }
        return largest;
    }

    /* No Poisson gain is larger: see docs/exact.md.  A part of weight n_part with mean (1 + d) x mean beats it by mean x n_part x
       ((1 + d) log(1 + d) - d), which is below d^2 (1/2 - d/6 + d^2 c), with c = 1/12 where d is positive and 1/3 elsewhere, and
       below d^2 / 2 where d is positive. */
    CYTHON_UNUSED static double fasttree_surplus_bound(double d)
    {
        double factor = 0.5 + d * (d > 0 ? d * (1.0 / 12) - 1.0 / 6 : d * (1.0 / 3) - 1.0 / 6);
        factor = d > 0 && factor > 0.5 ? 0.5 : factor;
        return d * d * factor;
    }
    CYTHON_UNUSED static void fasttree_deviance_bounds(
        const double *above, const int32_t *positions, double *bounds, int64_t m,
        double offset, double n, double rest, double mean, double scale)
    {
        const double per_mean = 1 / (n * mean);
        int64_t j;
        #pragma omp simd
        for (j = 0; j < m; j++) {
            double n_left = (double) positions[j] + offset;
            double n_right = n - n_left;
            double q = (n * above[j] - rest * n_left) * per_mean;
            double left = n_left * fasttree_surplus_bound(q / n_left);
            double right = n_right * fasttree_surplus_bound(-q / n_right);
            bounds[j] = (left + right) * mean * scale * (1 + 1e-9);
        }
    }

    /* Whether one of the bounds above may reach a gain, for m cuts in turn after `before` samples and more; `most` = the largest
       |above|.  No mean differs by more than `furthest` parts of the whole's, so that no factor is more than that of -furthest.
       Both sides of a cut together are then q^2 n / (n_left n_right) times the factor, and need no quotient. */
    CYTHON_UNUSED static int fasttree_deviance_reaches(
        const double *above, int64_t m, double most, double before, double n, double rest, double mean, double scale,
        double at_least)
    {
        const double first = before + 1, last = n - before - (double) m, slope = rest / n;
        double surplus = -HUGE_VAL, furthest, factor;
        int32_t j;
        furthest = (most + slope * (before + (double) m)) / (mean * (first < last ? first : last)) * (1 + 1e-9);
        furthest = furthest < 1 ? furthest : 1;
        factor = 0.5 + furthest * (1.0 / 6 + furthest * (1.0 / 3));
        factor *= n / mean * scale * (1 + 3e-9);
        #pragma omp simd reduction(max:surplus)
        for (j = 0; j < (int32_t) m; j++) {
            double n_left = first + (double) j;
            double q = above[j] - slope * n_left;
            double more = q * q * factor - at_least * (n_left * (n - n_left));
            surplus = more > surplus ? more : surplus;
        }
        return surplus >= 0;
    }

    /* A number near the fifth root of x, within 1e-4 of it.  A fifth of the logarithm, which the bits of a float show, is within
       4 %, and one step of Halley's method leaves the cube of that. */
    static inline float fasttree_near_fifth_root(float x)
    {
        float y, power;
        int32_t bits;
        memcpy(&bits, &x, sizeof bits);
        bits = (int32_t) ((float) bits * 0.2f + 851975464.0f);
        memcpy(&y, &bits, sizeof bits);
        power = y * y;
        power = power * power * y;
        return y * (2 * power + 3 * x) / (3 * power + 2 * x);
    }
    /* No gain by the fifth root of the variance is larger.  scales: what turns sums into units of the node's deviation, and
       squares into those of its variance; a variance that may be rounding; risk, and risk of a sample.  A variance that may be
       rounding, or that has few digits beside it, counts as none. */
    CYTHON_UNUSED static void fasttree_fifth_root_bounds(
        const int64_t *sums, const int64_t *squares, const int32_t *positions, double *bounds, int64_t m,
        double offset, double n, double sum, double square, const double *scales)
    {
        enum { LANES = 64 };
        double s[LANES], q[LANES];
        float left[LANES], right[LANES], share[LANES];
        const double per_sum = scales[0], per_square = scales[1], least = 2 * scales[2];
        const double sum_all = sum * per_sum, square_all = square * per_square;
        const float slack = 1 - 2e-4f;
        int64_t start, j;
        for (start = 0; start < m; start += LANES) {
            const int64_t k = m - start < LANES ? m - start : LANES;
            for (j = 0; j < k; j++) {
                s[j] = (double) sums[start + j] * per_sum;
                q[j] = (double) squares[start + j] * per_square;
            }
            #pragma omp simd
            for (j = 0; j < k; j++) {
                double n_left = (double) positions[start + j] + offset, n_right = n - n_left;
                double both = 1 / (n_left * n_right), per_left = n_right * both, per_right = n_left * both;
                double mean = s[j] * per_left, of_squares = q[j] * per_left, variance = of_squares - mean * mean;
                left[j] = (float) (variance > 1e-11 * of_squares + least ? variance : 0.0);
                mean = (sum_all - s[j]) * per_right;
                of_squares = (square_all - q[j]) * per_right;
                variance = of_squares - mean * mean;
                right[j] = (float) (variance > 1e-11 * of_squares + least ? variance : 0.0);
                share[j] = (float) n_left;
            }
            #pragma omp simd
            for (j = 0; j < k; j++) {
                float one = left[j], other = right[j];
                one = one > 1e-20f ? fasttree_near_fifth_root(one) : 0.0f;
                other = other > 1e-20f ? fasttree_near_fifth_root(other) : 0.0f;
                left[j] = one * slack * share[j];
                right[j] = other * slack;
            }
            #pragma omp simd
            for (j = 0; j < k; j++)
                bounds[start + j] = scales[3]
                    - scales[4] * ((double) left[j] + (double) right[j] * (n - ((double) positions[start + j] + offset)));
        }
    }
    """
    void fifth_root_bounds "fasttree_fifth_root_bounds"(
        const int64_t* sums, const int64_t* squares, const int32_t* positions, double* bounds, int64_t m,
        double offset, double n, double sum, double square, const double* scales) noexcept nogil
    void deviance_bounds "fasttree_deviance_bounds"(
        const double* above, const int32_t* positions, double* bounds, int64_t m,
        double offset, double n, double rest, double mean, double scale) noexcept nogil
    bint deviance_reaches "fasttree_deviance_reaches"(
        const double* above, int64_t m, double most, double before, double n, double rest, double mean, double scale,
        double at_least) noexcept nogil
    double linear_gains "fasttree_linear_gains"(
        const double* left, const double* weights, const int32_t* positions, double* gains, int64_t m,
        double offset, double n, double total, double scale) noexcept nogil


cdef extern from *:
    """
    #include <math.h>

    /* For a feature of at most 255 bins without missing values: bounds by code, and the largest gain at the end of a bin that
       leaves at least n_min and at most n_max samples on the left.  Gains are those of linear_gain without its scale.  Loops
       that the compiler makes vectors of; `with_ends`: the ends of a bin may be no cuts, so that they count as corners. */
    CYTHON_UNUSED static double fasttree_end_gains(
        const double *n_left, const double *left, double *gains, int m, double n, double total, double n_min, double n_max)
    {
        double largest = -1;
        int b;
        #pragma omp simd reduction(max:largest)
        for (b = 0; b < m; b++) {
            double d = n * left[b] - total * n_left[b];
            double share = n_left[b] * (n - n_left[b]);
            double gain = d * d / (share > 1 ? share : 1);
            double admitted = n_left[b] >= n_min && n_left[b] <= n_max ? gain : -1;
            gains[b] = gain;
            largest = admitted > largest ? admitted : largest;
        }
        return largest;
    }
    CYTHON_UNUSED static void fasttree_pair_bounds(
        const double *n_left, const double *left, const double *gains, double *bounds, int m, double n, double total,
        int with_ends)
    {
        int b;
        #pragma omp simd
        for (b = 1; b < m; b++) {
            double ones = left[b] - left[b - 1];
            double zeros = n_left[b] - n_left[b - 1] - ones;
            double n_ones = n_left[b - 1] + ones;
            double n_zeros = n_left[b - 1] + zeros;
            double d_ones = n * (left[b - 1] + ones) - total * n_ones;
            double d_zeros = n * left[b - 1] - total * n_zeros;
            double share_ones = n_ones * (n - n_ones);
            double share_zeros = n_zeros * (n - n_zeros);
            double gain_ones = d_ones * d_ones / (share_ones > 1 ? share_ones : 1);
            double gain_zeros = d_zeros * d_zeros / (share_zeros > 1 ? share_zeros : 1);
            double high = gains[b] > gains[b - 1] ? gains[b] : gains[b - 1];
            double low = gains[b] > gains[b - 1] ? gains[b - 1] : gains[b];
            double corner = gain_ones > gain_zeros ? gain_ones : gain_zeros;
            double bound = ones > 0 && zeros > 0 ? corner : low;
            bounds[b] = with_ends && high > bound ? high : bound;
        }
    }
    CYTHON_UNUSED static void fasttree_moment_bounds(
        const double *n_left, const double *gains, const double *spread, double *bounds, int m, double n, double scale)
    {
        int b;
        #pragma omp simd
        for (b = 1; b < m; b++) {
            double first = n_left[b - 1], last = n_left[b];
            double size = last - first;
            double high = gains[b] > gains[b - 1] ? gains[b] : gains[b - 1];
            double room = size * size / (last * (n - first) > 1 ? last * (n - first) : 1);
            double narrow_first = first * (n - first), narrow_last = last * (n - last);
            double narrow = narrow_first < narrow_last ? narrow_first : narrow_last;
            double other = narrow > 0 ? size * size / 4 / (narrow > 1 ? narrow : 1) : room;
            double least_room = room < other ? room : other;
            double root = sqrt(high * scale) + spread[b] * sqrt(least_room * n / (size > 1 ? size : 1));
            bounds[b] = root * root;
        }
    }

    /* No entropy gain of two classes is larger: see docs/exact.md.  ones, zeros = weights of the classes on the left, where all
       weight is 1; `share` is class 1's in all.  A side diverges from the whole by the integral of 1 / (t (1 - t)), which is
       convex, with weights that fall to 0: at most two thirds of it at the whole's share and a third at the side's, times half
       the square of their difference.  Neither does it diverge by more than its classes do each alone. */
    CYTHON_UNUSED static void fasttree_bound_pairs(
        const double *ones, const double *zeros, double *bounds, int64_t n, double share, double unit)
    {
        const double scale = unit * 1.4426950408889634, twice = 2 / (share * (1 - share)), least = 1e-300;
        const double of_one = -log(share), of_zero = -log(1 - share);
        int64_t j;
        #pragma omp simd
        for (j = 0; j < n; j++) {
            double x = ones[j] + zeros[j], right = 1 - x, d = ones[j] - share * x;
            double more = share - ones[j], rest = (1 - share) - zeros[j];
            double product = ones[j] * zeros[j], below = x * product * 6, line = ones[j] * of_one + zeros[j] * of_zero;
            double other, above, line_right, curve, curve_right;
            more = more > 0 ? more : 0;
            rest = rest > 0 ? rest : 0;
            other = more * rest;
            above = right * other * 6;
            line_right = more * of_one + rest * of_zero;
            curve = d * d * (twice * product + x * x) / (below > least ? below : least);
            curve_right = d * d * (twice * other + right * right) / (above > least ? above : least);
            bounds[j] = ((curve < line ? curve : line) + (curve_right < line_right ? curve_right : line_right)) * scale;
        }
    }
    """
    double end_gains "fasttree_end_gains"(
        const double* n_left, const double* left, double* gains, int m, double n, double total, double n_min, double n_max
    ) noexcept nogil
    void pair_bounds "fasttree_pair_bounds"(
        const double* n_left, const double* left, const double* gains, double* bounds, int m, double n, double total,
        bint with_ends
    ) noexcept nogil
    void moment_bounds "fasttree_moment_bounds"(
        const double* n_left, const double* gains, const double* spread, double* bounds, int m, double n, double scale
    ) noexcept nogil
    void bound_pairs "fasttree_bound_pairs"(
        const double* ones, const double* zeros, double* bounds, int64_t n, double share, double unit
    ) noexcept nogil
