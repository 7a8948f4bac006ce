"""Loops over rows: gradients of three losses, and their sums by bin, in C, of which compilers make vectors.  Header only."""

from libc.stdint cimport int64_t, uint16_t


cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #define FASTTREE_BLOCK 256
    #define FASTTREE_COPIES 4   /* of the sums: rows that follow one another add to different ones */

    /* exp for |x| <= 700, the same on every machine: 2^k times a polynomial (Taylor, degree 11, |r| <= ln(2) / 2). */
    static inline double fasttree_exp(double x)
    {
        const double magic = 6755399441055744.0;   /* 1.5 x 2^52: the sum's last bits are the nearest integer */
        double shifted, k, r, power, p;
        int64_t bits;
        x = x > 700.0 ? 700.0 : x;
        x = x < -700.0 ? -700.0 : x;
        shifted = x * 1.4426950408889634 + magic;
        k = shifted - magic;
        r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
        memcpy(&bits, &shifted, 8);
        bits = (int64_t) ((uint64_t) (bits + 1023) << 52);
        memcpy(&power, &bits, 8);
        p = 2.505210838544172e-08;
        p = p * r + 2.755731922398589e-07;
        p = p * r + 2.755731922398589e-06;
        p = p * r + 2.48015873015873e-05;
        p = p * r + 0.0001984126984126984;
        p = p * r + 0.001388888888888889;
        p = p * r + 0.008333333333333333;
        p = p * r + 0.041666666666666664;
        p = p * r + 0.16666666666666666;
        p = p * r + 0.5;
        p = p * r + 1.0;
        p = p * r + 1.0;
        return p * power;
    }

    static void fasttree_shift(double *score, const uint16_t *codes, const double *update, int64_t n)
    {
        int64_t i;
        for (i = 0; i < n; i++) score[i] += update[codes[i]];
    }

    static void fasttree_multiply(double *odds, const uint16_t *codes, const double *factor, int64_t n)
    {
        int64_t i;
        for (i = 0; i < n; i++) odds[i] *= factor[codes[i]];
    }

    /* Gradients and curvatures of up to a block of rows, by the logistic loss, from exp(-score). */
    static inline void fasttree_logistic(
        const double *odds, const double *target, const double *weight, int64_t n, double *gradient, double *curvature)
    {
        int64_t i;
        #pragma omp simd
        for (i = 0; i < n; i++) {
            double p = 1.0 / (1.0 + odds[i]);
            gradient[i] = weight[i] * (target[i] - p);
            curvature[i] = weight[i] * (p * (1.0 - p));
        }
    }

    static inline void fasttree_squared(
        const double *score, const double *target, const double *weight, int64_t n, double *gradient)
    {
        int64_t i;
        #pragma omp simd
        for (i = 0; i < n; i++) gradient[i] = weight[i] * (target[i] - score[i]);
    }

    /* Sums over the classes, which have a row of `step` numbers each. */
    static inline void fasttree_total(const double *odds, int64_t step, int64_t n_classes, int64_t n, double *total)
    {
        int64_t i, k;
        for (i = 0; i < n; i++) total[i] = odds[i];
        for (k = 1; k < n_classes; k++)
            for (i = 0; i < n; i++) total[i] += odds[k * step + i];
    }

    static inline void fasttree_of_class(
        const double *odds, const double *total, const double *target, const double *weight, double k, int64_t n,
        double *gradient, double *curvature)
    {
        int64_t i;
        #pragma omp simd
        for (i = 0; i < n; i++) {
            double p = odds[i] / total[i];
            gradient[i] = weight[i] * ((target[i] == k ? 1.0 : 0.0) - p);
            curvature[i] = weight[i] * (p * (1.0 - p));
        }
    }

    /* Sums by bin; those of bin b in copy c are at sums[2 (c size + b)] and behind. */
    static inline void fasttree_add_both(
        const uint16_t *codes, const double *gradient, const double *curvature, int64_t n, int64_t size, double *sums)
    {
        int64_t i, j;
        for (i = 0; i + FASTTREE_COPIES <= n; i += FASTTREE_COPIES)
            for (j = 0; j < FASTTREE_COPIES; j++) {
                double *cell = sums + 2 * (j * size + codes[i + j]);
                cell[0] += gradient[i + j];
                cell[1] += curvature[i + j];
            }
        for (; i < n; i++) {
            sums[2 * codes[i]] += gradient[i];
            sums[2 * codes[i] + 1] += curvature[i];
        }
    }

    static inline void fasttree_add_gradient(const uint16_t *codes, const double *gradient, int64_t n, int64_t size, double *sums)
    {
        int64_t i, j;
        for (i = 0; i + FASTTREE_COPIES <= n; i += FASTTREE_COPIES)
            for (j = 0; j < FASTTREE_COPIES; j++)
                sums[2 * (j * size + codes[i + j])] += gradient[i + j];
        for (; i < n; i++) sums[2 * codes[i]] += gradient[i];
    }
    """
    enum:
        BLOCK "FASTTREE_BLOCK"
        COPIES "FASTTREE_COPIES"
    double own_exp "fasttree_exp"(double x) noexcept nogil
    void shift "fasttree_shift"(double* score, const uint16_t* codes, const double* update, int64_t n) noexcept nogil
    void multiply "fasttree_multiply"(double* odds, const uint16_t* codes, const double* factor, int64_t n) noexcept nogil
    void logistic "fasttree_logistic"(
        const double* odds, const double* target, const double* weight, int64_t n, double* gradient, double* curvature,
    ) noexcept nogil
    void squared "fasttree_squared"(
        const double* score, const double* target, const double* weight, int64_t n, double* gradient,
    ) noexcept nogil
    void add_classes "fasttree_total"(
        const double* odds, int64_t step, int64_t n_classes, int64_t n, double* total,
    ) noexcept nogil
    void of_class "fasttree_of_class"(
        const double* odds, const double* total, const double* target, const double* weight, double k, int64_t n,
        double* gradient, double* curvature,
    ) noexcept nogil
    void add_both "fasttree_add_both"(
        const uint16_t* codes, const double* gradient, const double* curvature, int64_t n, int64_t size, double* sums,
    ) noexcept nogil
    void add_gradient "fasttree_add_gradient"(
        const uint16_t* codes, const double* gradient, int64_t n, int64_t size, double* sums,
    ) noexcept nogil
