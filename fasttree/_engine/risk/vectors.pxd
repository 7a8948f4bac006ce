"""Gains of many cuts at once, and bounds of them, in loops that the compiler can make vectors of.  Header only."""

from libc.stdint cimport int32_t, int64_t


cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>

    /* The gain of every candidate of a chunk, and the largest: a loop that the compiler makes vectors of. */
    static double fasttree_linear_gains(
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
    static double fasttree_surplus_bound(double d)
    {
        double factor = 0.5 + d * (d > 0 ? d * (1.0 / 12) - 1.0 / 6 : d * (1.0 / 3) - 1.0 / 6);
        factor = d > 0 && factor > 0.5 ? 0.5 : factor;
        return d * d * factor;
    }
    static void fasttree_deviance_bounds(
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

    /* A number near the fifth root of x, which has the range of a float: within 8e-5 of it.  A fifth of the logarithm, which the
       bits of a float show, is within 4 %, and one step of Halley's method leaves the cube of that. */
    static double fasttree_near_fifth_root(double x)
    {
        union { float number; int32_t bits; } first;
        double y, power;
        first.number = (float) x;
        first.bits = (int32_t) ((float) first.bits * 0.2f + 851975464.0f);
        y = first.number;
        power = y * y * y * y * y;
        return y * (2 * power + 3 * x) / (3 * power + 2 * x);
    }
    /* No gain by the fifth root of the variance is larger.  per_sum and per_square turn sums into units of the node's deviation,
       to that power, and of its variance.  A variance that may be rounding, or that has few digits beside it, counts as none. */
    static double fasttree_fifth_root_of_side(
        double n, double sum, double squares, double per_sum, double per_square, double least)
    {
        double mean = sum * per_sum / n, square = squares * per_square / n;
        double variance = square - mean * mean;
        return variance > 1e-11 * square + 2 * least ? n * fasttree_near_fifth_root(variance) : 0.0;
    }
    static void fasttree_fifth_root_bounds(
        const int64_t *sums, const int64_t *squares, const int32_t *positions, double *bounds, int64_t m,
        double offset, double n, double sum, double square, const double *scales)
    {
        int64_t j;
        for (j = 0; j < m; j++) {
            double n_left = (double) positions[j] + offset, left = (double) sums[j], left_square = (double) squares[j];
            double risk = fasttree_fifth_root_of_side(n_left, left, left_square, scales[0], scales[1], scales[2])
                + fasttree_fifth_root_of_side(n - n_left, sum - left, square - left_square, scales[0], scales[1], scales[2]);
            bounds[j] = scales[3] - scales[4] * (1 - 1.5e-4) * risk;
        }
    }
    """
    void fifth_root_bounds "fasttree_fifth_root_bounds"(
        const int64_t* sums, const int64_t* squares, const int32_t* positions, double* bounds, int64_t m,
        double offset, double n, double sum, double square, const double* scales) noexcept nogil
    void deviance_bounds "fasttree_deviance_bounds"(
        const double* above, const int32_t* positions, double* bounds, int64_t m,
        double offset, double n, double rest, double mean, double scale) noexcept nogil
    double linear_gains "fasttree_linear_gains"(
        const double* left, const double* weights, const int32_t* positions, double* gains, int64_t m,
        double offset, double n, double total, double scale) noexcept nogil
