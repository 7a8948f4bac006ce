"""Codes of bins for float32 values, column by column of a few rows at a time.  Header only.

A linear grid over the edges has the code of the lowest value of each bucket; the few edges inside a bucket are compared.
A bucket rises with the value, whatever is rounded, and values are compared by their keys, so the codes are those of
`columns/bins`.  Edges that are too close for the grid are left to those.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from fasttree._engine.columns.keys cimport float_of

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #define FASTTREE_GRID 4096
    #define FASTTREE_ROWS 256

    typedef struct {
        uint8_t first[FASTTREE_GRID];      /* by bucket: code of its lowest value */
        uint32_t upper[260];               /* by code: the largest key of the bin */
        float low, scale;
        int inside;                        /* at most so many edges in a bucket */
    } fasttree_grid;

    /* Loops that the compiler makes vectors of. */
    static void fasttree_place(const fasttree_grid *grid, const float *x, int n, uint32_t *keys, int32_t *buckets)
    {
        const float low = grid->low, scale = grid->scale, top = FASTTREE_GRID - 1;
        int i;
        #pragma omp simd
        for (i = 0; i < n; i++) {
            float place = (x[i] - low) * scale;
            place = place > 0 ? place : 0;             /* NaN, too */
            place = place < top ? place : top;
            buckets[i] = (int32_t) place;
        }
        for (i = 0; i < n; i++) {
            float value = x[i] + 0.0f;                 /* no -0.0 */
            uint32_t bits, sign;
            memcpy(&bits, &value, 4);
            sign = 0 - (bits >> 31);
            bits ^= sign | 0x80000000u;
            keys[i] = value == value ? bits : 0;
        }
    }

    static int fasttree_lay_grid(fasttree_grid *grid, const uint64_t *edges, const float *values, int n_bins)
    {
        uint32_t keys[256];
        int32_t buckets[256];
        int b, j, count, code = 1;
        float range;
        if (n_bins < 3) return 0;
        grid->low = values[1];
        range = values[n_bins - 1] - values[1];
        grid->scale = (FASTTREE_GRID - 2) / range;
        if (!(range > 0 && range < 3e38f && grid->scale < 3e38f)) return 0;
        for (b = 0; b < 260; b++) grid->upper[b] = b > 0 && b < n_bins ? (uint32_t) edges[b] : 0xFFFFFFFFu;
        fasttree_place(grid, values + 1, n_bins - 1, keys, buckets);
        grid->inside = 0;
        for (b = 0, j = 0; b < FASTTREE_GRID; b++) {
            grid->first[b] = (uint8_t) code;
            for (count = 0; j < n_bins - 1 && buckets[j] == b; j++) count++;
            code += count;
            if (count > grid->inside) grid->inside = count;
        }
        return grid->inside <= 3;
    }

    CYTHON_UNUSED static inline void fasttree_code_some(
        const fasttree_grid *grid, const char *data, int64_t stride, int n, uint8_t *lane, int64_t step)
    {
        float x[FASTTREE_ROWS] = {0};
        uint32_t keys[FASTTREE_ROWS];
        int32_t buckets[FASTTREE_ROWS];
        int i, k;
        for (i = 0; i < n; i++) memcpy(&x[i], data + i * stride, 4);
        fasttree_place(grid, x, n, keys, buckets);
        if (grid->inside <= 1) {
            for (i = 0; i < n; i++) {
                uint32_t code = grid->first[buckets[i]];
                code += keys[i] > grid->upper[code];
                lane[i * step] = (uint8_t) (code & (0 - (uint32_t) (keys[i] != 0)));
            }
            return;
        }
        for (i = 0; i < n; i++) {
            uint32_t code = grid->first[buckets[i]];
            for (k = 0; k < 3; k++) code += keys[i] > grid->upper[code];
            lane[i * step] = (uint8_t) (code & (0 - (uint32_t) (keys[i] != 0)));
        }
    }
    """
    ctypedef struct CodeGrid "fasttree_grid":
        int inside
    enum:
        ROWS_AT_ONCE "FASTTREE_ROWS"
    int lay_values "fasttree_lay_grid"(CodeGrid* grid, const uint64_t* edges, const float* values, int n_bins) noexcept nogil
    void code_some "fasttree_code_some"(
        const CodeGrid* grid, const char* data, int64_t stride, int n, uint8_t* lane, int64_t step
    ) noexcept nogil


cdef inline bint lay_grid(const uint64_t* edges, int n_bins, CodeGrid* grid) noexcept nogil:
    """Prepare to find the codes of values of single precision by the edges of at most 255 bins; False: they are too close."""
    cdef float values[256]
    cdef uint32_t key
    cdef int b
    for b in range(1, n_bins):
        key = <uint32_t> edges[b]
        if key == <uint32_t> 0x7FFFFFFF:
            key -= 1                   # that of no value: the next one below zero
        values[b] = float_of(key)
    return lay_values(grid, edges, values, n_bins) != 0
