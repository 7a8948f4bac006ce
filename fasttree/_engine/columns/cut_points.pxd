"""Codes of bins for float32 values, column by column of a few rows at a time.  Header only.

A linear grid over the edges has the code of the lowest value of each bucket; the few edges inside a bucket are compared.
A bucket rises with the value, whatever is rounded, and edges are compared as values that separate the same keys, so the codes are
those of `columns/bins`.  Edges that are too close for the grid are left to those.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from fasttree._engine.columns.keys cimport float_of

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>
    #define FASTTREE_GRID 4096
    #define FASTTREE_ROWS 256

    typedef struct {
        uint8_t first[FASTTREE_GRID];      /* by bucket: code of its lowest value */
        float upper[260];                  /* by code: the largest value of the bin */
        float low, scale;
        int inside;                        /* at most so many edges in a bucket */
    } fasttree_grid;

    /* A loop that the compiler makes vectors of. */
    static inline void fasttree_place(const fasttree_grid *grid, const float *x, int n, int32_t *buckets)
    {
        const float low = grid->low, scale = grid->scale, top = FASTTREE_GRID - 1;
        int32_t most;
        int i;
        memcpy(&most, &top, 4);
        #pragma omp simd
        for (i = 0; i < n; i++) {
            float place = (x[i] - low) * scale;
            int32_t bits;                              /* of numbers that are not negative, they compare like these */
            memcpy(&bits, &place, 4);
            bits &= ~(bits >> 31);
            bits = bits < most ? bits : most;          /* NaN, too */
            memcpy(&place, &bits, 4);
            buckets[i] = (int32_t) place;
        }
    }

    static int fasttree_lay_grid(fasttree_grid *grid, const float *values, int n_bins)
    {
        int32_t buckets[256];
        int b, j, count, code = 1;
        float range;
        if (n_bins < 3) return 0;
        grid->low = values[1];
        range = values[n_bins - 1] - values[1];
        grid->scale = (FASTTREE_GRID - 2) / range;
        if (!(range > 0 && range < 3e38f && grid->scale < 3e38f)) return 0;
        for (b = 0; b < 260; b++) grid->upper[b] = b > 0 && b < n_bins ? values[b] : (float) INFINITY;
        fasttree_place(grid, values + 1, n_bins - 1, buckets);
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
        float x[FASTTREE_ROWS];
        int32_t buckets[FASTTREE_ROWS];
        int i, k;
        if (n < FASTTREE_ROWS) memset(x, 0, sizeof x);
        for (i = 0; i < n; i++) memcpy(&x[i], data + i * stride, 4);
        fasttree_place(grid, x, FASTTREE_ROWS, buckets);
        if (grid->inside <= 1) {
            for (i = 0; i < n; i++) {
                uint32_t code = grid->first[buckets[i]];
                code += x[i] > grid->upper[code];
                lane[i * step] = (uint8_t) (x[i] == x[i] ? code : 0);
            }
            return;
        }
        for (i = 0; i < n; i++) {
            uint32_t code = grid->first[buckets[i]];
            for (k = 0; k < 3; k++) code += x[i] > grid->upper[code];
            lane[i * step] = (uint8_t) (x[i] == x[i] ? code : 0);
        }
    }

    /* Prefetch a share of some rows of floats that are read next; where the compiler cannot do so, only time is lost. */
    CYTHON_UNUSED static inline void fasttree_fetch_share(const char *rows, int64_t stride, int64_t n, int part, int n_parts)
    {
    #if (defined(__GNUC__) || defined(__clang__)) && !defined(FASTTREE_PLAIN_C)
        const int64_t last = n * (part + 1) / n_parts;
        int64_t row, at;
        if (stride > 4 * (int64_t) n_parts || stride <= 0) return;     /* not of a table without gaps, rows first */
        for (row = n * part / n_parts; row < last; row++)
            for (at = 0; at < stride; at += 64) __builtin_prefetch(rows + row * stride + at);
    #else
        (void) rows; (void) stride; (void) n; (void) part; (void) n_parts;
    #endif
    }
    """
    ctypedef struct CodeGrid "fasttree_grid":
        int inside
    enum:
        ROWS_AT_ONCE "FASTTREE_ROWS"
    int lay_values "fasttree_lay_grid"(CodeGrid* grid, const float* values, int n_bins) noexcept nogil
    void code_some "fasttree_code_some"(
        const CodeGrid* grid, const char* data, int64_t stride, int n, uint8_t* lane, int64_t step
    ) noexcept nogil
    void fetch_share "fasttree_fetch_share"(const char* rows, int64_t stride, int64_t n, int part, int n_parts) noexcept nogil


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
    return lay_values(grid, values, n_bins) != 0
