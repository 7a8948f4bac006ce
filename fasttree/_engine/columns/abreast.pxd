"""Columns of few integers in the rows of a matrix, read side by side.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from fasttree._engine.columns.integers cimport FARTHEST, WIDEST, codes_of_bytes


cdef extern from *:
    """
    #include <stdint.h>

    #define FASTTREE_ABREAST 64         /* bytes in a row */
    #define FASTTREE_VECTOR 16

    /* Write the low bytes of m columns of integers side by side, at least FASTTREE_VECTOR, less `base`, and extend their ranges;
       `others` says which have other numbers.  A row of bytes has FASTTREE_ABREAST.  The last columns of a row may be looked at
       twice, so that each turn is of as many. */
    static void fasttree_low_bytes_of_rows(
        const char *row, int64_t stride, int64_t n, int64_t m, const int32_t *base, uint8_t *bytes,
        float *low, float *high, int32_t *others)
    {
        int64_t i, j, k, first;
        for (i = 0; i < n; i++, row += stride, bytes += FASTTREE_ABREAST)
            for (k = 0; k < m; k += FASTTREE_VECTOR) {
                const float *x;
                first = k + FASTTREE_VECTOR <= m ? k : m - FASTTREE_VECTOR;
                x = (const float *) row + first;
                #pragma omp simd
                for (j = 0; j < FASTTREE_VECTOR; j++) {
                    float near = x[j] > -FASTTREE_FARTHEST ? x[j] : -FASTTREE_FARTHEST;
                    int32_t integer;
                    near = near < FASTTREE_FARTHEST ? near : FASTTREE_FARTHEST;
                    integer = (int32_t) near;
                    others[first + j] |= (float) integer != x[j];
                    low[first + j] = near < low[first + j] ? near : low[first + j];
                    high[first + j] = near > high[first + j] ? near : high[first + j];
                    bytes[first + j] = (uint8_t) (integer - base[first + j]);
                }
            }
    }
    """
    void low_bytes_of_rows "fasttree_low_bytes_of_rows"(
        const char* row, int64_t stride, int64_t n, int64_t m, const int32_t* base, uint8_t* bytes,
        float* low, float* high, int32_t* others,
    ) noexcept nogil


cdef enum:
    ABREAST = 64                   # as above
    TOGETHER = 8                   # columns whose codes are side by side, where that is wanted


cdef inline void codes_of_columns(
    const char* first, int64_t stride, int64_t n, int32_t m, uint8_t* codes, int32_t step, int32_t* n_codes,
) noexcept nogil:
    """Codes of 16 to 64 columns of float32 side by side, as `codes_of_bytes`: those of `step` columns row by row, 1 or TOGETHER.

    Where `n_codes` is 0 a column is passed over; it becomes 0 where a column is none of few integers close together.  What is
    then written in its place has no meaning, nor what is written for columns after the last, up to a multiple of `step`.
    """
    cdef uint8_t[ABREAST * ABREAST] block
    cdef int32_t[256] integers
    cdef float[ABREAST] low
    cdef float[ABREAST] high
    cdef int32_t[ABREAST] others
    cdef int32_t[ABREAST] base
    cdef int64_t start = 0
    cdef int64_t i, n_rows
    cdef int32_t j
    cdef int32_t n_left = 1
    cdef bint has_base = False
    cdef uint8_t* place
    memset(base, 0, sizeof(base))
    memset(block, 0, sizeof(block))
    for j in range(m):
        low[j], high[j], others[j] = FARTHEST, -FARTHEST, 0
    while start < n and n_left:
        n_rows = min(<int64_t> ABREAST, n - start)
        low_bytes_of_rows(first + start * stride, stride, n_rows, m, base, block, low, high, others)
        if not has_base:
            for j in range(m):
                base[j] = <int32_t> low[j] - 1     # that of all rows, most likely
            has_base = True
            continue
        n_left = 0
        for i in range(n_rows if step > 1 else 0):
            for j in range((m + TOGETHER - 1) // TOGETHER):
                memcpy(codes + (j * n + start + i) * TOGETHER, block + i * ABREAST + j * TOGETHER, TOGETHER)
        for j in range(m):
            if others[j] or high[j] - low[j] > WIDEST:
                n_codes[j] = 0
            if n_codes[j]:
                n_left += 1
                for i in range(n_rows if step == 1 else 0):
                    codes[j * n + start + i] = block[i * ABREAST + j]
        start += n_rows
    for j in range(m):
        if n_codes[j]:
            place = codes + j // step * step * n + j % step
            n_codes[j] = codes_of_bytes(place, n, step, base[j], <int32_t> low[j], <int32_t> high[j], integers)
