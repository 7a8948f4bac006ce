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
    """
    void deviance_bounds "fasttree_deviance_bounds"(
        const double* above, const int32_t* positions, double* bounds, int64_t m,
        double offset, double n, double rest, double mean, double scale) noexcept nogil
    double linear_gains "fasttree_linear_gains"(
        const double* left, const double* weights, const int32_t* positions, double* gains, int64_t m,
        double offset, double n, double total, double scale) noexcept nogil
